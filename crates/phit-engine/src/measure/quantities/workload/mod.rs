//! Programs: their end, and the activity, messages and operations of their ranks.

mod iterations;
mod jobs;
mod messages;
mod operations;
mod phases;
mod ranks;
mod requests;
mod tracks;

pub use iterations::Iterations;
use jobs::JobRow;
pub use messages::MessageRow;
pub use operations::OperationRow;
pub use phases::PhaseRow;
pub use ranks::RankRow;
pub use requests::RequestRow;
pub use tracks::TrackRow;

use super::Counts;
use crate::engine::Tick;
use crate::measure::Reading;
use crate::measure::declare::{Cell, Cells, Column, NUMBER, Quantity, Table, WHOLE, When, unit};
use crate::workload::Workload;
use phit_workload::host::Usage;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The record of a program that has ended or was stopped: of all ranks, and of messages, operations and CPUs if asked
/// for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Programs {
    /// Ranks.
    pub ranks: Vec<RankRow>,
    /// Messages.
    pub messages: Vec<MessageRow>,
    /// Operations.
    pub operations: Vec<OperationRow>,
    /// Jobs, if there are several.
    pub jobs: Vec<JobRow>,
    /// Activity of CPUs.
    pub tracks: Vec<TrackRow>,
    /// Phases that ranks have ended.
    pub phases: Vec<PhaseRow>,
    /// Requests to a language model.
    pub requests: Vec<RequestRow>,
    /// Iterations of the program, if it is repeated.
    pub iterations: Option<Iterations>,
    /// The run was stopped before the program had ended.
    pub stopped: bool,
}

impl Programs {
    /// Names the jobs of a workload, with all counts 0. `distributed`: histograms of latencies are asked for.
    pub fn expect(&mut self, workload: &Workload, distributed: bool) {
        self.jobs = JobRow::of(workload, distributed);
    }

    /// A packet arrives at an endpoint of a job, `ticks` after its generation.
    pub fn came(&mut self, job: u32, phits: u16, ticks: Tick) {
        if let Some(job) = self.jobs.get_mut(job as usize) {
            job.came(phits, ticks);
        }
    }

    /// A message arrives at a rank of a job, `ticks` after its first byte left its host.
    pub fn message_came(&mut self, job: u32, ticks: u64) {
        if let Some(job) = self.jobs.get_mut(job as usize) {
            job.message_came(ticks);
        }
    }

    /// Adds the record of another part of the network.
    pub fn add(&mut self, part: Self) {
        let Self { ranks, messages, operations, jobs, tracks, phases, requests, iterations, stopped } = part;
        self.stopped |= stopped;
        self.iterations = self.iterations.take().or(iterations);
        self.ranks.extend(ranks);
        self.messages.extend(messages);
        self.operations.extend(operations);
        self.tracks.extend(tracks);
        self.phases.extend(phases);
        self.requests.extend(requests);
        if self.jobs.is_empty() {
            self.jobs = jobs;
            return;
        }
        self.jobs.iter_mut().zip(jobs).for_each(|(job, part)| job.add(&part));
    }

    /// Sorts all rows, so that their order does not depend on the parts that they came from.
    pub fn sort(&mut self) {
        self.ranks.sort_unstable_by_key(|row| row.rank);
        self.messages.sort_by_key(|row| (row.posted, row.source, row.injected, row.last, row.destination, row.send));
        self.operations.sort_by_key(|OperationRow(span)| (span.rank, span.start, span.number, span.end));
        self.tracks.sort_by_key(|TrackRow(stretch)| (stretch.rank, stretch.cpu, stretch.start));
        requests::join(&mut self.requests);
        self.phases.sort_by_key(|row| (row.rank, row.number));
    }

    /// When the last rank has finished, in ticks; `None` if the program was stopped.
    pub fn completion(&self) -> Option<u64> {
        (!self.stopped).then(|| self.ranks.iter().map(|row| row.finish).max().unwrap_or(0))
    }
}

impl Reading<'_> {
    fn programs(&self) -> &Programs {
        &self.counters.programs
    }

    /// When a rank has finished, in ticks; `None` if the program was stopped.
    fn finish(&self, row: &RankRow) -> Option<u64> {
        (!self.programs().stopped).then_some(row.finish)
    }

    /// Ticks as cycles.
    fn in_cycles(&self, ticks: u64) -> Value {
        let cycle = u64::from(self.window.ticks_per_cycle);
        match ticks % cycle {
            0 => json!(ticks / cycle),
            _ => json!(ticks as f64 / cycle as f64),
        }
    }

    /// The mean over ranks of a kind of time, as a share of the time until completion.
    fn share(&self, part: impl Fn(&Usage) -> u64) -> Value {
        let programs = self.programs();
        let all = programs.completion().unwrap_or(0) as f64 * programs.ranks.len() as f64;
        let sum: f64 = programs.ranks.iter().map(|row| part(&row.usage) as f64).sum();
        json!((all > 0.0).then(|| sum / all))
    }
}

const TIME: Column =
    Column { name: "", words: "", unit: unit::CYCLES, about: "", cell: Cell::Number, values: |_| Cells::ABSENT };
const NUMBERED: Column = Column { unit: unit::NONE, cell: Cell::Whole, ..TIME };

/// Condition of quantities that exist only for programs.
const WORKLOADS: When = When::Some("of runs of a workload");

impl Counts for Programs {
    const QUANTITIES: &'static [Quantity] = &[
        Quantity {
            name: "completion",
            words: "completion",
            unit: unit::CYCLES,
            about: "Cycles until the last rank of the workload has finished; `null` if the run was stopped before.",
            rank: Some(1),
            heading: Some("completion"),
            time: true,
            there: WORKLOADS,
            value: |at| {
                let cycle = u64::from(at.window.ticks_per_cycle);
                let ticks = at.programs().completion().filter(|_| at.workload);
                json!(ticks.map(|ticks| ticks.div_ceil(cycle)))
            },
            ..WHOLE
        },
        Quantity {
            name: "calculating",
            words: "time in calculations",
            unit: "share of completion",
            about: "Share of the time until completion in which ranks calculated; mean over ranks.",
            rank: Some(2),
            there: WORKLOADS,
            value: |at| at.share(|usage| usage.calc),
            ..NUMBER
        },
        Quantity {
            name: "blocked",
            words: "time blocked on the network",
            unit: "share of completion",
            about: "Share of the time until completion in which ranks were idle until a message arrived that was on \
                    its way; mean over ranks.",
            rank: Some(3),
            there: WORKLOADS,
            value: |at| at.share(|usage| usage.blocked),
            ..NUMBER
        },
        iterations::QUANTITIES[0],
        iterations::QUANTITIES[1],
        iterations::QUANTITIES[2],
        iterations::QUANTITIES[3],
        iterations::QUANTITIES[4],
        iterations::QUANTITIES[5],
        iterations::QUANTITIES[6],
        iterations::QUANTITIES[7],
        iterations::QUANTITIES[8],
        iterations::QUANTITIES[9],
        requests::COUNTS[0],
        requests::COUNTS[1],
        requests::COUNTS[2],
        requests::SPANS[0],
        requests::SPANS[1],
        requests::SPANS[2],
        requests::SPANS[3],
        requests::SPANS[4],
        requests::SPANS[5],
        requests::SPANS[6],
        requests::SPANS[7],
        requests::SPANS[8],
    ];

    const TABLES: &'static [Table] = &[
        ranks::TABLE,
        requests::TABLE,
        iterations::TABLE,
        jobs::TABLE,
        messages::TABLE,
        operations::TABLE,
        tracks::TABLE,
        phases::TABLE,
    ];

    fn merge(&mut self, other: &Self) {
        self.add(other.clone());
    }

    fn bytes(&self) -> usize {
        let Self { ranks, messages, operations, jobs, tracks, phases, requests, iterations, stopped: _ } = self;
        ranks.capacity() * size_of::<RankRow>()
            + messages.capacity() * size_of::<MessageRow>()
            + operations.capacity() * size_of::<OperationRow>()
            + jobs.capacity() * size_of::<JobRow>()
            + jobs.iter().map(JobRow::bytes).sum::<usize>()
            + tracks.capacity() * size_of::<TrackRow>()
            + phases.capacity() * size_of::<PhaseRow>()
            + requests.capacity() * size_of::<RequestRow>()
            + requests.iter().map(|row| row.served.tokens.capacity() * size_of::<u64>()).sum::<usize>()
            + iterations.as_ref().map_or(0, Iterations::bytes)
    }
}
