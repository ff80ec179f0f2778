//! Several programs at once.

use super::{Made, MadeJob, ProgramKind, ProgramParams, Site};
use crate::error::ScenarioError;
use crate::workload::placement::PlacementKind;
use phit_workload::Executable;
use phit_workload::together::Together;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Several programs at once, each at endpoints of its own, that know nothing of one another. Jobs are placed one after
/// the other, among the endpoints that those before have left. Hosts and packets are the same for all. In results the
/// ranks of each job are counted on from those of the job before.
///
/// ```toml
/// [workload]
/// kind = "jobs"
/// packet_size = 16
/// [[workload.job]]
/// name = "training"
/// program = { kind = "collective", collective = "all_reduce", bytes = 65536, ranks = 16 }
/// [[workload.job]]
/// name = "neighbour"
/// program = { kind = "collective", collective = "all_to_all", bytes = 4096, ranks = 16 }
/// placement = "random"
/// start = 1000
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Jobs {
    /// The programs.
    #[schemars(length(min = 1))]
    pub job: Vec<Job>,
}

/// A program beside others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct Job {
    /// What it is called in results; if left out, by its number from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What its ranks do, as in `[workload]`.
    pub program: ProgramKind,
    /// Which of the endpoints that are free each rank stands at; if left out, as `[workload.placement]` says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placement: Option<PlacementKind>,
    /// Cycle in which it begins.
    #[serde(default)]
    #[schemars(extend("x-unit" = "cycles"))]
    pub start: u32,
}

impl Job {
    /// The name of job `number`.
    fn called(&self, number: usize) -> String {
        self.name.clone().unwrap_or_else(|| number.to_string())
    }
}

impl Jobs {
    fn make(&self, site: &Site<'_>) -> Result<Made, ScenarioError> {
        let mut together = Together::default();
        let (mut endpoints, mut jobs) = (Vec::new(), Vec::<MadeJob>::new());
        let mut free = site.free.to_vec();
        for (number, job) in self.job.iter().enumerate() {
            let path = format!("job[{number}]");
            let name = job.called(number);
            if jobs.iter().any(|other| other.name.as_deref() == Some(&*name)) {
                let reason = "expected another name: a job before it is called so";
                return Err(ScenarioError::new(format!("{path}.name"), format!("{name:?}"), reason));
            }
            if matches!(job.program, ProgramKind::Jobs(_)) {
                let reason = "expected a program: jobs do not consist of jobs";
                return Err(ScenarioError::new(format!("{path}.program.kind"), "\"jobs\"", reason));
            }
            let placement = job.placement.as_ref().unwrap_or(site.placement);
            let own = Site { free: &free, job: number as u32, placement, ..*site };
            let params = job.program.params();
            let program = params.executable(&own).map_err(|e| e.under(&format!("{path}.program")))?;
            let places = own.place(program.ranks()).map_err(|e| e.under(&path))?;
            let start = u64::from(job.start) * u64::from(site.ticks_per_cycle);
            let first = together.add(program, start);
            jobs.push(MadeJob { name: Some(name.into()), first, source: job.program.shared() });
            let mut taken = places.clone();
            taken.sort_unstable();
            free.retain(|endpoint| taken.binary_search(endpoint).is_err());
            endpoints.extend(places);
        }
        Ok(Made { program: Arc::new(together), endpoints, jobs })
    }
}

impl ProgramParams for Jobs {
    fn executable(&self, site: &Site<'_>) -> Result<Arc<dyn Executable>, ScenarioError> {
        self.make(site).map(|made| made.program)
    }

    fn jobs(&self, site: &Site<'_>) -> Option<Result<Made, ScenarioError>> {
        Some(self.make(site))
    }

    fn counts_nanoseconds(&self) -> bool {
        self.job.iter().any(|job| job.program.params().counts_nanoseconds())
    }
}
