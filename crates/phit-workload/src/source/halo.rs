//! Halo exchange: every rank of a grid with its neighbours.

use super::grid::{Grid, for_each, one_or_each, one_or_each_schema, size};
use super::{Setting, Source, once, repeated};
use crate::collective::{Blocks, Part, Step};
use crate::error::Error;
use crate::script::{Script, Task, Work};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Halo exchange in any number of dimensions. In each iteration a rank computes, and then exchanges the faces of its
/// part of a grid with its neighbours in all dimensions at once, as stencils of finite differences require.
///
/// ```toml
/// [units]
/// phit = "2 B"
/// cycle = "1 ns"
///
/// [workload]
/// kind = "halo"
/// dims = [2, 2]
/// bytes = [4096]
/// periodic = true
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct HaloParams {
    /// Ranks in each dimension. Consecutive ranks differ in the first dimension.
    #[schemars(length(min = 1))]
    pub dims: Vec<u32>,
    /// Whether the last rank of a dimension is a neighbour of the first one.
    #[serde(default)]
    pub periodic: bool,
    /// Bytes of a face: one number, or one for each dimension.
    #[serde(deserialize_with = "one_or_each")]
    #[schemars(schema_with = "one_or_each_schema")]
    pub bytes: Vec<u64>,
    /// Duration of the calculation before each exchange.
    #[serde(default)]
    #[schemars(extend("x-unit" = "units of time"))]
    pub calc: u64,
    /// Iterations.
    #[serde(default = "once")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub times: u32,
}

impl Source for HaloParams {
    fn ranks(&self) -> Option<u32> {
        Some(size(&self.dims))
    }

    fn scripts(&self, _setting: &Setting) -> Result<Vec<Arc<dyn Script>>, Error> {
        let grid = Grid::new(&self.dims)?;
        let bytes = for_each("bytes", &self.bytes, &self.dims)?;
        repeated(vec![Arc::new(Halo { grid, bytes, periodic: self.periodic, calc: self.calc })], self.times)
    }
}

#[derive(Debug)]
struct Halo {
    grid: Grid,
    bytes: Vec<u64>,
    periodic: bool,
    calc: u64,
}

impl Script for Halo {
    fn name(&self) -> &'static str {
        "halo"
    }

    fn task(&self, rank: u32, _stream: u32, number: u32) -> Option<Task> {
        let parts = |flip: bool| {
            let part = |(dim, &bytes): (usize, &u64), up: bool| {
                let peer = self.grid.neighbour(rank, dim, up, self.periodic)?;
                Some(Part { peer, bytes, blocks: Blocks::one(dim as u32) })
            };
            // If both neighbours are one rank, the message that it sends down first arrives from above.
            let both = |face| [part(face, flip), part(face, !flip)];
            self.bytes.iter().enumerate().flat_map(both).flatten().collect()
        };
        match number {
            0 => Some(Task::new(Work::Calc(self.calc))),
            1 => Some(Task::new(Work::exchange(Step { sends: parts(false), receives: parts(true), reduces: false }))),
            _ => None,
        }
    }
}
