//! Programs that stand in the scenario itself.

use super::{ProgramParams, Site};
use crate::error::ScenarioError;
use phit_workload::{Executable, goal};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A program in the scenario itself, as text in the group operation assembly language (GOAL).
///
/// ```toml
/// [workload]
/// kind = "program"
/// goal = """
/// num_ranks 2
/// rank 0 {
///   send 8b to 1
/// }
/// rank 1 {
///   recv 8b from 0
/// }
/// """
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Inline {
    /// Text of the schedule, as in a file of the kind `goal`.
    pub goal: String,
}

impl ProgramParams for Inline {
    fn executable(&self, _site: &Site<'_>) -> Result<Arc<dyn Executable>, ScenarioError> {
        let text = || Some(self.goal.as_bytes());
        let refuse = |error| ScenarioError::missing("goal", goal::with_line(error, text).to_string());
        Ok(Arc::new(goal::read(self.goal.as_bytes()).map_err(refuse)?))
    }

    fn place_of(&self, rank: u32, number: u32) -> Option<String> {
        let line = goal::line_of(self.goal.as_bytes(), rank, number).ok()??;
        Some(format!("line {line}"))
    }
}
