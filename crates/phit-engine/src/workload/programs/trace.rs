//! Traces of MPI calls, from files.

use super::{ProgramParams, Site, traced};
use crate::error::ScenarioError;
use phit_workload::{Executable, dumpi};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::Arc;

/// A trace of MPI calls as `dumpi2ascii` prints those of DUMPI, the profiling library of the Structural Simulation
/// Toolkit (SST): a file for each rank, also compressed by gzip; or an archive in the Open Trace Format 2 (OTF2), which
/// the package reads with `phit[otf2]`. The times between calls are nanoseconds, so that `units.cycle` has to be said;
/// each takes the whole number of cycles next to its own. How long a call took is for the network to say.
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
    /// The file of any rank, `PREFIX-RANK.txt`, `.ascii` or `.dumpi`, or the anchor file `NAME.otf2` of an archive;
    /// found from the scenario's folder.
    pub file: String,
    /// What the trace leaves open.
    #[serde(default)]
    pub options: dumpi::Options,
    /// What tells the files' contents from others: results of two digests are kept apart. The package fills it in.
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
