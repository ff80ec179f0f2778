//! Schedules of LogGOPSim, from files.

use super::{ProgramParams, Site};
use crate::engine::Patiently;
use crate::error::ScenarioError;
use phit_workload::{Executable, goal};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::BufReader;
use std::sync::Arc;

/// A schedule in the group operation assembly language (GOAL) of LogGOPSim, as text or in its binary form, also
/// compressed by gzip (T. Hoefler, C. Siebert and A. Lumsdaine, ICPP 2009).
///
/// ```toml
/// [workload]
/// kind = "goal"
/// file = "sweep.goal"
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Goal {
    /// The file. Its path is relative to the scenario's folder.
    pub file: String,
    /// Digest of the file's contents, so that results of different contents are kept apart. The package fills it in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
}

impl ProgramParams for Goal {
    fn executable(&self, _site: &Site<'_>) -> Result<Arc<dyn Executable>, ScenarioError> {
        let refuse = |reason: String| ScenarioError::new("file", format!("{:?}", self.file), reason);
        let file = File::open(&self.file).map_err(|error| refuse(format!("cannot be read: {error}")))?;
        let again = || File::open(&self.file).ok();
        let read = goal::read(Patiently(file)).map_err(|error| goal::with_line(error, again));
        let some = read.and_then(|program| program.refuse_empty().map(|()| program));
        Ok(Arc::new(some.map_err(|error| refuse(error.to_string()))?))
    }

    fn place_of(&self, rank: u32, number: u32) -> Option<String> {
        let file = BufReader::new(File::open(&self.file).ok()?);
        let line = goal::line_of(file, rank, number).ok()??;
        Some(format!("line {line}"))
    }
}
