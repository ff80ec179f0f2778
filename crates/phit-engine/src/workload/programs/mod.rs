//! The kinds of programs. One file each; a new one comes here.

use super::beside::Beside;
use super::placement::{Free, PlacementKind};
use crate::engine::Tick;
use crate::error::ScenarioError;
use crate::topology::Topology;
use crate::traffic::Rates;
use crate::traffic::TrafficParams;
use phit_workload::source::{self, Source};
use phit_workload::{Executable, Program};
use std::fmt::Debug;
use std::sync::Arc;

mod called;
mod chakra;
mod collective;
mod goal;
mod inference;
mod inline;
mod jobs;
mod made;
mod trace;

pub use called::Called;

/// The context in which a program is built.
pub struct Site<'a> {
    /// The graph.
    pub topology: &'a dyn Topology,
    /// Seed of the scenario.
    pub seed: u64,
    /// Ticks in a cycle.
    pub ticks_per_cycle: Tick,
    /// Rates of the endpoints.
    pub rates: &'a Rates,
    /// The load that saturates the network's bisection, if it has one, in phits/(endpoint·cycle).
    pub bisection: Option<f64>,
    /// Units of time of calculations in a nanosecond, as a fraction, if the length of a cycle is known.
    pub nanosecond: Option<(u128, u128)>,
    /// Ticks in a unit of time of calculations.
    pub unit: u64,
    /// Free endpoints, in ascending order.
    pub free: &'a [u32],
    /// Number of the job.
    pub job: u32,
    /// Placement of the ranks, unless the program gives its own.
    pub placement: &'a PlacementKind,
    /// Endpoints that each rank has.
    pub rails: u32,
}

impl Site<'_> {
    /// The endpoints of `ranks` ranks, by rank and rail.
    pub fn place(&self, ranks: u32) -> Result<Vec<u32>, ScenarioError> {
        let &Self { topology, seed, free, job, placement, rails, .. } = self;
        let among = Free { topology, endpoints: free, seed, job, rails };
        placement.place(ranks, &among).map_err(|e| e.under("placement"))
    }
}

/// A program, and the endpoints of its ranks.
pub struct Made {
    /// The program.
    pub program: Arc<dyn Executable>,
    /// The endpoints of all ranks, by rank and rail.
    pub endpoints: Vec<u32>,
    /// Its jobs, in the order of their ranks.
    pub jobs: Vec<MadeJob>,
    /// The traffic beside it.
    pub traffic: Vec<Beside>,
}

/// A part of a workload: a program, alone or beside others, or traffic beside programs.
#[derive(Debug)]
pub struct MadeJob {
    /// Its name; `None` for a program alone.
    pub name: Option<Arc<str>>,
    /// Its first rank.
    pub first: u32,
    /// Cycle in which it starts.
    pub start: u32,
    /// The source of the program; `None` for traffic, which has no ranks.
    pub source: Option<Arc<dyn ProgramParams + Send + Sync>>,
}

/// A source of programs: the parameters of one kind.
pub trait ProgramParams: Debug {
    /// The program. Error paths are relative to the table.
    fn executable(&self, site: &Site<'_>) -> Result<Arc<dyn Executable>, ScenarioError>;

    /// The jobs, if this kind is a list of jobs. `executable` is then not called.
    fn jobs(&self, _site: &Site<'_>) -> Option<Result<Made, ScenarioError>> {
        None
    }

    /// The programs of a list of jobs.
    fn programs(&self) -> Vec<&ProgramKind> {
        Vec::new()
    }

    /// The traffic beside the program, with the paths of its tables.
    fn traffic(&self) -> Vec<(String, &TrafficParams)> {
        Vec::new()
    }

    /// The position of an operation in the source, as `line 7`.
    fn place_of(&self, _rank: u32, _number: u32) -> Option<String> {
        None
    }

    /// True if its ranks decide together while it runs, so that one process must run all of them, and once.
    fn decides_together(&self) -> bool {
        false
    }

    /// True if its times are nanoseconds, so that the length of a cycle must be known.
    fn counts_nanoseconds(&self) -> bool {
        false
    }
}

/// The program of these parameters, for the number of ranks that they imply, or for all free endpoints. It is generated
/// while it runs, so its memory does not depend on the number of ranks.
fn made(params: &dyn Source, site: &Site<'_>) -> Result<Arc<dyn Executable>, ScenarioError> {
    let ranks = params.ranks().unwrap_or(site.free.len() as u32 / site.rails);
    let scripts = source::timed_scripts(params, Some(ranks), &[], site.seed, site.nanosecond);
    scripts.map(|scripts| -> Arc<dyn Executable> { Arc::new(scripts) }).map_err(|error| at_key(error, ""))
}

/// An error at the parameter that it names, or at `table` if it names none.
fn at_key(error: phit_workload::Error, table: &str) -> ScenarioError {
    match error.key {
        // The value follows the key.
        Some(key) => match error.message.strip_prefix(&format!("{key} = ")).and_then(|text| text.split_once(": ")) {
            Some((value, expected)) => ScenarioError::new(key, value, expected),
            None => {
                let message = error.message.strip_prefix(&format!("{key}: ")).unwrap_or(&error.message);
                ScenarioError::missing(key, message)
            }
        },
        None => ScenarioError::missing(table, error.message),
    }
}

/// The program of a trace in `file`, whose times are nanoseconds.
fn traced(
    file: &str,
    read: Result<Program, phit_workload::Error>,
    site: &Site<'_>,
) -> Result<Arc<dyn Executable>, ScenarioError> {
    let checked = |program: Program| program.refuse_empty().and_then(|()| program.check()).map(|()| program);
    let mut program = read.and_then(checked).map_err(|error| match error.key {
        Some(_) => at_key(error, "options").under("options"),
        None => ScenarioError::new("file", format!("{file:?}"), error.to_string()),
    })?;
    if let Some(nanosecond) = site.nanosecond {
        program.rescale(nanosecond);
    }
    program.shrink();
    Ok(Arc::new(program))
}

impl ProgramKind {
    /// True if the ranks of a program decide together, see [`ProgramParams::decides_together`].
    pub(crate) fn decides_together(&self) -> bool {
        let params = self.params();
        params.decides_together() || params.programs().iter().any(|program| program.decides_together())
    }

    /// The program with the endpoints of its ranks. Error paths are relative to the table.
    pub(super) fn make(&self, site: &Site<'_>) -> Result<Made, ScenarioError> {
        let params = self.params();
        if let Some(made) = params.jobs(site) {
            return made;
        }
        let program = params.executable(site)?;
        let endpoints = site.place(program.ranks())?;
        let job = MadeJob { name: None, first: 0, start: 0, source: Some(self.shared()) };
        Ok(Made { program, endpoints, jobs: vec![job], traffic: Vec::new() })
    }
}

crate::registry::registry! {
    /// `[workload]`: the source of the program.
    pub enum ProgramKind: "workload" as ProgramParams {
        "goal" => Goal(goal::Goal),
        "chakra" => Chakra(chakra::Chakra),
        "trace" => Trace(trace::Trace),
        "collective" => Collective(source::CollectiveParams),
        "training" => Training(source::TrainingParams),
        "inference" => Inference(phit_workload::inference::InferenceParams),
        "halo" => Halo(source::HaloParams),
        "sweep" => Sweep(source::SweepParams),
        "fft" => Fft(source::FftParams),
        "incast" => Incast(source::IncastParams),
        "permutation" => Permutation(source::PermutationParams),
        "sequence" => Sequence(source::SequenceParams),
        "program" => Inline(inline::Inline),
        "jobs" => Jobs(jobs::Jobs),
    }
}
