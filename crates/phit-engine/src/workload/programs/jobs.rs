//! Several programs at once.

use super::{Made, MadeJob, ProgramKind, ProgramParams, Site};
use crate::error::ScenarioError;
use crate::topology::check_name;
use crate::traffic::TrafficParams;
use crate::workload::beside::Beside;
use crate::workload::placement::PlacementKind;
use phit_workload::Executable;
use phit_workload::together::Together;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Several programs at once, each at its own endpoints and independent of the others. Jobs are placed one after
/// another, each at endpoints that the jobs before left free. All share the parameters of hosts and packets. In
/// results, the ranks of each job are numbered after those of the job before.
///
/// A job may have traffic instead of a program: its endpoints exchange packets among themselves, with a pattern and a
/// process. The run ends when all programs have ended.
///
/// ```toml
/// [topology]
/// kind = "torus"
/// dims = [8, 8]
///
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
/// [[workload.job]]
/// name = "aggressor"
/// traffic = { pattern = "uniform", load = 0.6, packet_size = 8 }
/// endpoints = 8
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Jobs {
    /// The programs, and the traffic beside them.
    #[schemars(length(min = 1))]
    pub job: Vec<Job>,
}

/// A program beside others, or traffic.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct Job {
    /// Name of the job in results; if left out, its number, from 0 on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The program of its ranks, as in `[workload]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<ProgramKind>,
    /// Traffic of its endpoints instead of a program, as in `[traffic]` without `requests`. Endpoints are numbered from
    /// 0 within the job, in the order of its placement. Cycles count from its start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traffic: Option<TrafficParams>,
    /// Number of endpoints of a job with traffic; if left out, all free endpoints.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub endpoints: Option<u32>,
    /// Which free endpoints the job takes; if left out, `[workload.placement]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placement: Option<PlacementKind>,
    /// Cycle in which the job starts.
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
        let (mut endpoints, mut jobs, mut traffic) = (Vec::new(), Vec::<MadeJob>::new(), Vec::new());
        let mut free = site.free.to_vec();
        for (number, job) in self.job.iter().enumerate() {
            let path = format!("job[{number}]");
            let name = job.called(number);
            check_name(format!("{path}.name"), &name)?;
            if jobs.iter().any(|other| other.name.as_deref() == Some(&*name)) {
                let reason = "expected another name: a job before it is called so";
                return Err(ScenarioError::new(format!("{path}.name"), format!("{name:?}"), reason));
            }
            let placement = job.placement.as_ref().unwrap_or(site.placement);
            let own = Site { free: &free, job: number as u32, placement, ..*site };
            let places = match (&job.program, &job.traffic) {
                (Some(program), None) => {
                    let (program, places) = job.place_program(program, &own).map_err(|e| e.under(&path))?;
                    let first = together.add(program, u64::from(job.start) * u64::from(site.ticks_per_cycle));
                    let source = job.program.as_ref().map(ProgramKind::shared);
                    jobs.push(MadeJob { name: Some(name.into()), first, start: job.start, source });
                    endpoints.extend(&places);
                    places
                }
                (None, Some(params)) => {
                    let made = job.place_traffic(params, &own).map_err(|e| e.under(&path))?;
                    let places = made.endpoints.to_vec();
                    // A job of traffic has no ranks.
                    jobs.push(MadeJob {
                        name: Some(name.into()),
                        first: endpoints.len() as u32 / site.rails,
                        start: job.start,
                        source: None,
                    });
                    traffic.push(made);
                    places
                }
                _ => {
                    let reason = "expected a `program` or `traffic`, one of the two";
                    return Err(ScenarioError::missing(path, reason));
                }
            };
            let mut taken = places;
            taken.sort_unstable();
            free.retain(|endpoint| taken.binary_search(endpoint).is_err());
        }
        if endpoints.is_empty() {
            let reason = "expected a job with a `program`: the run ends when the programs do";
            return Err(ScenarioError::missing("job", reason));
        }
        Ok(Made { program: Arc::new(together), endpoints, jobs, traffic })
    }
}

impl Job {
    /// The program and the endpoints of its ranks. Error paths are relative to the job.
    fn place_program(
        &self,
        kind: &ProgramKind,
        site: &Site<'_>,
    ) -> Result<(Arc<dyn Executable>, Vec<u32>), ScenarioError> {
        if matches!(kind, ProgramKind::Jobs(_)) {
            let reason = "expected a program: jobs do not consist of jobs";
            return Err(ScenarioError::new("program.kind", "\"jobs\"", reason));
        }
        if let Some(endpoints) = self.endpoints {
            let reason = "a program says how many ranks it has; leave it out";
            return Err(ScenarioError::new("endpoints", endpoints, reason));
        }
        let program = kind.params().executable(site).map_err(|e| e.under("program"))?;
        let places = site.place(program.ranks())?;
        Ok((program, places))
    }

    /// The traffic at its endpoints. Error paths are relative to the job.
    fn place_traffic(&self, params: &TrafficParams, site: &Site<'_>) -> Result<Beside, ScenarioError> {
        let site = &Site { rails: 1, ..*site };
        let &Site { topology, seed, free, job, rates, bisection, .. } = site;
        let endpoints = self.endpoints.unwrap_or(free.len() as u32);
        if endpoints as usize > free.len() {
            let expected = format!("expected at most {}: so many are left by the jobs before it", free.len());
            return Err(ScenarioError::new("endpoints", endpoints, expected));
        }
        if endpoints == 0 {
            return Err(ScenarioError::missing("traffic", "no endpoints are left by the jobs before it"));
        }
        if !topology.breakdowns().is_empty() {
            let reason = "the end of a program is not known beside traffic where links break during the run";
            return Err(ScenarioError::missing("traffic", reason));
        }
        Beside::new(params, (job, self.start), &site.place(endpoints)?, topology, (rates, bisection), seed)
    }
}

impl ProgramParams for Jobs {
    fn executable(&self, site: &Site<'_>) -> Result<Arc<dyn Executable>, ScenarioError> {
        self.make(site).map(|made| made.program)
    }

    fn jobs(&self, site: &Site<'_>) -> Option<Result<Made, ScenarioError>> {
        Some(self.make(site))
    }

    fn programs(&self) -> Vec<&ProgramKind> {
        self.job.iter().filter_map(|job| job.program.as_ref()).collect()
    }

    fn traffic(&self) -> Vec<(String, &TrafficParams)> {
        let jobs = self.job.iter().enumerate();
        jobs.filter_map(|(number, job)| Some((format!("job[{number}].traffic"), job.traffic.as_ref()?))).collect()
    }

    fn counts_nanoseconds(&self) -> bool {
        self.job.iter().filter_map(|job| job.program.as_ref()).any(|program| program.params().counts_nanoseconds())
    }
}
