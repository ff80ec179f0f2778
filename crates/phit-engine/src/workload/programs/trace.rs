//! Traces of MPI calls, from files.

use super::{ProgramParams, Site, traced};
use crate::error::ScenarioError;
use phit_workload::{Executable, dumpi};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::Arc;

/// A trace of MPI calls. One form is text printed by `dumpi2ascii` from DUMPI, the profiling library of the Structural
/// Simulation Toolkit (SST): a file for each rank, also compressed by gzip. The other is an archive in the Open Trace
/// Format 2 (OTF2), which the package reads with `phit[otf2]`. The times between calls are nanoseconds, so
/// `units.cycle` is required; each is rounded to a whole number of cycles. The duration of the calls themselves follows
/// from the simulated network.
///
/// ```toml
/// [workload]
/// kind = "trace"
/// file = "run/dumpi-0000.txt"
/// [workload.options]
/// algorithms = { all_reduce = "recursive_doubling" }
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Trace {
    /// The file of any rank, `PREFIX-RANK.txt`, `.ascii` or `.dumpi`, or the anchor file `NAME.otf2` of an archive. The
    /// path is relative to the scenario's folder.
    pub file: String,
    /// Choices that the trace leaves open.
    #[serde(default)]
    pub options: dumpi::Options,
    /// Digest of the files' contents, so that results of different contents are kept apart. The package fills it in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
}

impl ProgramParams for Trace {
    fn executable(&self, site: &Site<'_>) -> Result<Arc<dyn Executable>, ScenarioError> {
        traced(&self.file, dumpi::read_files(Path::new(&self.file), &self.options), site)
    }

    fn place_of(&self, rank: u32, number: u32) -> Option<String> {
        dumpi::place_of(Path::new(&self.file), &self.options, rank, number).ok()?
    }

    fn counts_nanoseconds(&self) -> bool {
        true
    }
}
