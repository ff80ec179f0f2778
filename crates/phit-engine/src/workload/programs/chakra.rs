//! Execution traces of Chakra, from files.

use super::{ProgramParams, Site, traced};
use crate::error::ScenarioError;
use phit_workload::{Executable, chakra};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::Arc;

/// An execution trace of Chakra, a file for each rank: protobuf, also compressed by gzip, or JSON (S. Sridharan et al.,
/// "Chakra: Advancing Performance Benchmarking and Co-design using Standardized Execution Traces", 2023). Its times are
/// nanoseconds, so `units.cycle` is required. Each calculation is rounded to a whole number of cycles.
///
/// ```toml
/// [workload]
/// kind = "chakra"
/// file = "step/step.0.et"
/// [workload.options]
/// dependencies = "data_and_control"
/// algorithms = { all_reduce = "ring" }
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Chakra {
    /// The file of any rank, `PREFIX.RANK.et` or `PREFIX.RANK.json`, or the folder of all. The path is relative to the
    /// scenario's folder.
    pub file: String,
    /// Choices that the trace leaves open.
    #[serde(default)]
    pub options: chakra::Options,
    /// Digest of the files' contents, so that results of different contents are kept apart. The package fills it in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
}

impl ProgramParams for Chakra {
    fn executable(&self, site: &Site<'_>) -> Result<Arc<dyn Executable>, ScenarioError> {
        traced(&self.file, chakra::read_files(Path::new(&self.file), &self.options), site)
    }

    fn place_of(&self, rank: u32, number: u32) -> Option<String> {
        chakra::place_of(Path::new(&self.file), &self.options, rank, number).ok()?
    }

    fn counts_nanoseconds(&self) -> bool {
        true
    }
}
