//! Sweep: a wave through a grid of ranks.

use super::grid::{Grid, for_each, one_or_each, one_or_each_schema, size};
use super::{Setting, Source, once, repeated};
use crate::collective::{Blocks, Part, Parts, Step};
use crate::error::Error;
use crate::script::{Script, Task, Work};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Sweep: planes go as waves from corners of a grid of ranks to the opposite corners. For each plane, a rank waits for
/// its neighbours on the side of the corner, computes, and sends to its neighbours on the other side, as in the
/// transport of particles.
///
/// Sources: Koch, Baker and Alcouffe, "Solution of the First-Order Form of the 3-D Discrete Ordinates Equation on a
/// Massively Parallel Processor", Transactions of the ANS 65, 1992; Hoisie, Lubeck and Wasserman, "Performance and
/// Scalability Analysis of Teraflop-Scale Parallel Architectures Using Multidimensional Wavefront Applications", IJHPCA
/// 14(4), 2000.
///
/// ```toml
/// [units]
/// phit = "2 B"
/// cycle = "1 ns"
///
/// [workload]
/// kind = "sweep"
/// dims = [2, 2]
/// bytes = [4096]
/// calc = 100
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct SweepParams {
    /// Ranks in each dimension. Consecutive ranks differ in the first dimension.
    #[schemars(length(min = 1))]
    pub dims: Vec<u32>,
    /// Planes of each wave.
    #[serde(default = "once")]
    #[schemars(range(min = 1, max = 100_000))]
    pub planes: u32,
    /// Number of corners from which waves start, one after another: 1 to 2^dimensions.
    #[serde(default = "once")]
    #[schemars(range(min = 1))]
    pub corners: u32,
    /// Bytes of a plane's edge: one number, or one for each dimension.
    #[serde(deserialize_with = "one_or_each")]
    #[schemars(schema_with = "one_or_each_schema")]
    pub bytes: Vec<u64>,
    /// Duration of the calculation of a plane.
    #[serde(default)]
    #[schemars(extend("x-unit" = "units of time"))]
    pub calc: u64,
    /// Iterations.
    #[serde(default = "once")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub times: u32,
}

impl Source for SweepParams {
    fn ranks(&self) -> Option<u32> {
        Some(size(&self.dims))
    }

    fn scripts(&self, _setting: &Setting) -> Result<Vec<Arc<dyn Script>>, Error> {
        let Self { dims, planes, corners, bytes, calc, times } = self;
        let (grid, bytes) = (Grid::new(dims)?, for_each("bytes", bytes, dims)?);
        let most = 1u32.checked_shl(dims.len() as u32).unwrap_or(u32::MAX);
        if *corners == 0 || *corners > most {
            return Err(Error::key("corners", corners, format!("expected 1 to {most}")));
        }
        if *planes == 0 || planes.checked_mul(*corners).is_none_or(|waves| waves > u32::MAX / 3) {
            return Err(Error::key("planes", planes, "expected 1 to 100000"));
        }
        repeated(vec![Arc::new(Sweep { grid, bytes, planes: *planes, corners: *corners, calc: *calc })], *times)
    }
}

#[derive(Debug)]
struct Sweep {
    grid: Grid,
    bytes: Vec<u64>,
    planes: u32,
    corners: u32,
    calc: u64,
}

impl Script for Sweep {
    fn name(&self) -> &'static str {
        "sweep"
    }

    fn task(&self, rank: u32, _stream: u32, number: u32) -> Option<Task> {
        let (wave, part) = (number / 3, number % 3);
        let corner = wave / self.planes;
        if corner >= self.corners {
            return None;
        }
        // Each bit of the corner's number gives the side of a dimension from which its waves come.
        let parts = |on: bool| -> Parts {
            let part = |(dim, &bytes): (usize, &u64)| {
                let up = on == (corner >> dim & 1 == 0);
                let peer = self.grid.neighbour(rank, dim, up, false)?;
                Some(Part { peer, bytes, blocks: Blocks::one(dim as u32) })
            };
            self.bytes.iter().enumerate().filter_map(part).collect()
        };
        Some(Task::new(match part {
            0 => Work::exchange(Step { receives: parts(false), ..Step::default() }),
            1 => Work::Calc(self.calc),
            _ => Work::exchange(Step { sends: parts(true), ..Step::default() }),
        }))
    }
}
