//! `[workload.repeat]`: iterations of the program.

use crate::error::ScenarioError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The program is run several times, one iteration after another, in one network.
///
/// Cycles of an iteration are counted from its beginning. When it has ended, the network is looked at every 100 cycles.
/// The next iteration begins at the first look that finds all ranks at their end and the network empty: no packet and
/// no credit is on its way. The network keeps the state of its arbiters, its routing mechanism and its random streams.
///
/// **Iterations that repeat.** If an iteration ends in the state in which an earlier one ended, all later iterations
/// are known. Phit does not run them, and the result is the result of running them, to the last bit. Random choices
/// prevent it. `iterations_reason` says which part of the network has a state that Phit cannot
/// compare, if there is one.
///
/// **Other iterations.** With `precision`, Phit stops as soon as the mean time of an iteration is known well enough.
///
/// ```toml
/// [workload]
/// kind = "collective"
/// collective = "all_reduce"
/// bytes = 16384
///
/// [workload.repeat]
/// iterations = 1000
/// precision = 0.01
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct RepeatTable {
    /// Number of iterations.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub iterations: u32,
    /// Half-width of the confidence interval of an iteration's mean time, relative to the mean, at which the run stops.
    /// If left out, all iterations are run, or known exactly. `measure.confidence` is the level.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1))]
    pub precision: Option<f64>,
    /// Skip iterations that are known exactly. `false` runs them, which gives the same result.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub skip: bool,
}

fn yes() -> bool {
    true
}

fn is_yes(skip: &bool) -> bool {
    *skip
}

impl RepeatTable {
    /// Refuses a precision that no interval can have. Error paths are relative to the table.
    pub(super) fn check(&self) -> Result<(), ScenarioError> {
        match self.precision {
            Some(precision) if !(precision > 0.0 && precision < 1.0) => {
                Err(ScenarioError::new("precision", precision, "expected more than 0 and less than 1"))
            }
            _ => Ok(()),
        }
    }
}
