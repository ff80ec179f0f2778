//! The transposes of a Fourier transform of a cube.

use super::{CollectiveParams, Setting, Source, once, repeated};
use crate::collective::{Algorithm, Collective};
use crate::error::Error;
use crate::script::{Calc, Communicator, Communicators, Costs, Script};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The Fourier transform of a cube in pencils. Ranks stand in rows and columns. They transform along one axis, exchange
/// all to all within each row, transform along the next axis, exchange within each column, and transform along the last
/// axis.
///
/// Source: Pekurovsky, "P3DFFT: A Framework for Parallel Computations of Fourier Transforms in Three Dimensions", SIAM
/// Journal on Scientific Computing 34(4), 2012.
///
/// ```toml
/// [units]
/// phit = "2 B"
/// cycle = "1 ns"
///
/// [workload]
/// kind = "fft"
/// rows = 2
/// columns = 2
/// bytes = 4096
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct FftParams {
    /// Rows of ranks.
    #[schemars(range(min = 1))]
    pub rows: u32,
    /// Ranks of a row, which are consecutive.
    #[schemars(range(min = 1))]
    pub columns: u32,
    /// Bytes of a rank's part of the cube, all of which enter each transpose.
    #[schemars(extend("x-unit" = "bytes"))]
    pub bytes: u64,
    /// The algorithm of a transpose.
    #[serde(default = "pairwise")]
    #[schemars(with = "String")]
    pub algorithm: Algorithm,
    /// Time of a rank's transforms along one axis.
    #[serde(default)]
    #[schemars(extend("x-unit" = "units of time"))]
    pub calc: u64,
    /// Whether the inverse transform follows, with the transposes in the other order.
    #[serde(default)]
    pub inverse: bool,
    /// Iterations.
    #[serde(default = "once")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub times: u32,
}

fn pairwise() -> Algorithm {
    Algorithm::Pairwise
}

impl Source for FftParams {
    fn ranks(&self) -> Option<u32> {
        self.rows.checked_mul(self.columns)
    }

    fn scripts(&self, setting: &Setting) -> Result<Vec<Arc<dyn Script>>, Error> {
        let Self { rows, columns, bytes, algorithm, calc, inverse, times } = *self;
        if self.ranks().is_none_or(|ranks| ranks == 0) {
            return Err(Error::key("rows", rows, "expected rows and columns of 1 rank or more"));
        }
        let within = |count: u32, members: u32, rank: &dyn Fn(u32, u32) -> u32| -> Result<Arc<dyn Script>, Error> {
            let each = CollectiveParams {
                algorithm: Some(algorithm),
                ..CollectiveParams::new(Collective::AllToAll, bytes / u64::from(members))
            };
            let steps = each.members(members, setting)?.steps()?;
            let ranks = |number| (0..members).map(|member| rank(number, member)).collect();
            let of = |number| Communicator { ranks: ranks(number), steps: steps.clone(), costs: Costs::default() };
            Ok(Arc::new(Communicators::new(setting.ranks, (0..count).map(of).collect())))
        };
        let in_rows = within(rows, columns, &|row, column| row * columns + column)?;
        let in_columns = within(columns, rows, &|column, row| row * columns + column)?;
        let axis: Arc<dyn Script> = Arc::new(Calc(calc));
        let mut once = vec![axis.clone(), in_rows.clone(), axis.clone(), in_columns.clone(), axis.clone()];
        if inverse {
            once.extend([axis.clone(), in_columns, axis.clone(), in_rows, axis]);
        }
        repeated(once, times)
    }
}
