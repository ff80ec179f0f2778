//! Programs: when they end, what ranks did until then, their messages and operations.

use super::Counts;
use crate::engine::Tick;
use crate::measure::Reading;
use crate::measure::declare::{Cell, Column, NUMBER, Quantity, Table, WHOLE, When, list, ratio, unit};
use crate::workload::{MadeJob, Workload};
use phit_workload::host::{Doing, Message, Span, Stretch, Usage};
use phit_workload::{Action, Phase};
use serde_json::{Value, json};
use std::sync::Arc;

/// How a rank has fared, in ticks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RankRow {
    /// Its number.
    pub rank: u32,
    /// The job that it takes part in, beside others.
    pub job: Option<Arc<str>>,
    /// Its endpoint, or that of its first rail.
    pub endpoint: u32,
    /// When its last operation ended.
    pub finish: u64,
    /// What its CPUs did.
    pub usage: Usage,
}

/// A message that has come, in ticks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageRow {
    /// The rank that sent it.
    pub source: u32,
    /// The rank that it went to.
    pub destination: u32,
    /// The number of the send.
    pub send: u32,
    /// Bytes.
    pub bytes: u64,
    /// Tag.
    pub tag: u32,
    /// When its first byte left the host.
    pub posted: u64,
    /// When the first of its packets left an injection queue; nothing of a message of a rank to itself.
    pub injected: Option<u64>,
    /// When its first phit reached the endpoint.
    pub first: Option<u64>,
    /// When its last phit did.
    pub last: Option<u64>,
    /// When a receive had it.
    pub matched: Option<u64>,
}

impl MessageRow {
    /// A message that has not gone anywhere yet.
    pub fn new(message: &Message) -> Self {
        let &Message { source, destination, number: send, bytes, tag, left: posted, .. } = message;
        let (injected, first, last, matched) = (None, None, None, None);
        Self { source, destination, send, bytes, tag, posted, injected, first, last, matched }
    }
}

/// An operation that has been performed, in ticks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OperationRow(pub Span);

/// A job, and what has come to its endpoints.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobRow {
    /// Its name.
    pub name: Arc<str>,
    /// Cycle in which it began.
    pub start: u32,
    /// Its endpoints: by rank and rail, or as its traffic counts them.
    pub endpoints: Arc<[u32]>,
    /// It has traffic in place of a program.
    pub traffic: bool,
    /// Packets that have come to its endpoints.
    pub packets: u64,
    /// Their phits.
    pub phits: u64,
    /// Ticks from their generation to the arrival of their last phits, added up.
    pub latency: u64,
}

/// A time in which a CPU of a rank did one thing, in ticks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrackRow(pub Stretch);

/// A phase of a program that a rank has ended, in ticks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PhaseRow {
    /// The rank.
    pub rank: u32,
    /// The number of the phase.
    pub number: u32,
    /// What it was, from when until when.
    pub phase: Phase,
}

impl PhaseRow {
    /// The phases of a rank, in their order.
    pub fn of(rank: u32, phases: Vec<Phase>) -> impl Iterator<Item = Self> {
        (0..).zip(phases).map(move |(number, phase)| Self { rank, number, phase })
    }
}

/// What is known of a program when it has ended: of all ranks, and of messages, operations and CPUs if asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Programs {
    /// Ranks.
    pub ranks: Vec<RankRow>,
    /// Messages.
    pub messages: Vec<MessageRow>,
    /// Operations.
    pub operations: Vec<OperationRow>,
    /// Jobs, if there are such.
    pub jobs: Vec<JobRow>,
    /// What CPUs did.
    pub tracks: Vec<TrackRow>,
    /// Phases that ranks have ended.
    pub phases: Vec<PhaseRow>,
}

impl Programs {
    /// Names the jobs of a workload, to which nothing has come yet.
    pub fn expect(&mut self, workload: &Workload) {
        let row = |(number, job): (u32, &MadeJob)| {
            let endpoints = match workload.traffic.iter().find(|beside| beside.job == number) {
                Some(beside) => beside.endpoints.clone(),
                None => {
                    let own = |endpoint: &&u32| workload.owners[**endpoint as usize] == number;
                    workload.endpoints.iter().filter(own).copied().collect()
                }
            };
            let (name, start, traffic) = (job.name.clone()?, job.start, job.source.is_none());
            Some(JobRow { name, start, endpoints, traffic, packets: 0, phits: 0, latency: 0 })
        };
        self.jobs = (0..).zip(&workload.jobs).filter_map(row).collect();
    }

    /// A packet has come to an endpoint of a job, so many ticks after its generation.
    pub fn came(&mut self, job: u32, phits: u16, ticks: Tick) {
        if let Some(job) = self.jobs.get_mut(job as usize) {
            job.packets += 1;
            job.phits += u64::from(phits);
            job.latency += u64::from(ticks);
        }
    }

    /// Adds what one part of the network knows.
    pub fn add(&mut self, part: Self) {
        let Self { ranks, messages, operations, jobs, tracks, phases } = part;
        self.ranks.extend(ranks);
        self.messages.extend(messages);
        self.operations.extend(operations);
        self.tracks.extend(tracks);
        self.phases.extend(phases);
        if self.jobs.is_empty() {
            self.jobs = jobs;
            return;
        }
        for (job, JobRow { packets, phits, latency, .. }) in self.jobs.iter_mut().zip(jobs) {
            (job.packets, job.phits, job.latency) = (job.packets + packets, job.phits + phits, job.latency + latency);
        }
    }

    /// Puts everything in its order, which does not depend on the parts that it came from.
    pub fn sort(&mut self) {
        self.ranks.sort_unstable_by_key(|row| row.rank);
        self.messages.sort_by_key(|row| (row.posted, row.source, row.injected, row.last, row.destination, row.send));
        self.operations.sort_by_key(|OperationRow(span)| (span.rank, span.start, span.number, span.end));
        self.tracks.sort_by_key(|TrackRow(stretch)| (stretch.rank, stretch.cpu, stretch.start));
        self.phases.sort_by_key(|row| (row.rank, row.number));
    }

    /// When the last rank has finished, in ticks.
    pub fn completion(&self) -> u64 {
        self.ranks.iter().map(|row| row.finish).max().unwrap_or(0)
    }
}

impl Reading<'_> {
    fn programs(&self) -> &Programs {
        &self.counters.programs
    }

    /// Ticks as cycles.
    fn in_cycles(&self, ticks: u64) -> Value {
        let cycle = u64::from(self.window.ticks_per_cycle);
        match ticks % cycle {
            0 => json!(ticks / cycle),
            _ => json!(ticks as f64 / cycle as f64),
        }
    }

    fn of_ranks<T: Into<Value>>(&self, value: impl Fn(&RankRow) -> T) -> Value {
        list(self.programs().ranks.iter().map(value))
    }

    fn of_messages<T: Into<Value>>(&self, value: impl Fn(&MessageRow) -> T) -> Value {
        list(self.programs().messages.iter().map(value))
    }

    fn message_times(&self, time: impl Fn(&MessageRow) -> Option<u64>) -> Value {
        self.of_messages(|row| time(row).map_or(Value::Null, |ticks| self.in_cycles(ticks)))
    }

    fn of_jobs<T: Into<Value>>(&self, value: impl Fn(&JobRow) -> T) -> Value {
        list(self.programs().jobs.iter().map(value))
    }

    /// When the last rank of a job has finished, in ticks.
    fn finish_of(&self, job: &JobRow) -> Option<u64> {
        let own = self.programs().ranks.iter().filter(|rank| rank.job.as_ref() == Some(&job.name));
        own.map(|rank| rank.finish).max()
    }

    /// Phits that came to the endpoints of a job in a cycle, from its start until its program ended, or the run.
    fn load_of(&self, job: &JobRow) -> Option<f64> {
        let cycle = f64::from(self.window.ticks_per_cycle);
        let end = self.finish_of(job).map_or(f64::from(self.cycles), |ticks| ticks as f64 / cycle);
        let cycles = (end - f64::from(job.start)) * job.endpoints.len() as f64;
        (cycles > 0.0).then(|| job.phits as f64 / cycles)
    }

    fn of_operations<T: Into<Value>>(&self, value: impl Fn(&Span) -> T) -> Value {
        list(self.programs().operations.iter().map(|OperationRow(span)| value(span)))
    }

    fn of_tracks<T: Into<Value>>(&self, value: impl Fn(&Stretch) -> T) -> Value {
        list(self.programs().tracks.iter().map(|TrackRow(stretch)| value(stretch)))
    }

    fn of_phases<T: Into<Value>>(&self, value: impl Fn(&PhaseRow) -> T) -> Value {
        list(self.programs().phases.iter().map(value))
    }

    /// The mean over the ranks of a part of the time until the program has ended.
    fn share(&self, part: impl Fn(&Usage) -> u64) -> Value {
        let programs = self.programs();
        let all = programs.completion() as f64 * programs.ranks.len() as f64;
        let sum: f64 = programs.ranks.iter().map(|row| part(&row.usage) as f64).sum();
        json!((all > 0.0).then(|| sum / all))
    }
}

const TIME: Column =
    Column { name: "", words: "", unit: unit::CYCLES, about: "", cell: Cell::Number, values: |_| Value::Null };
const NUMBERED: Column = Column { unit: unit::NONE, cell: Cell::Whole, ..TIME };

/// Of what has a value in runs of a program only.
const WORKLOADS: When = When::Some("of runs of a workload");

impl Counts for Programs {
    const QUANTITIES: &'static [Quantity] = &[
        Quantity {
            name: "completion",
            words: "completion",
            unit: unit::CYCLES,
            about: "Cycles until the last rank of the workload has finished.",
            rank: Some(1),
            heading: Some("completion"),
            time: true,
            there: WORKLOADS,
            value: |at| {
                let cycle = u64::from(at.window.ticks_per_cycle);
                json!(at.workload.then(|| at.programs().completion().div_ceil(cycle)))
            },
            ..WHOLE
        },
        Quantity {
            name: "calculating",
            words: "time in calculations",
            unit: "share of completion",
            about: "Share of the time until completion in which ranks calculated, their mean.",
            rank: Some(2),
            there: WORKLOADS,
            value: |at| at.share(|usage| usage.calc),
            ..NUMBER
        },
        Quantity {
            name: "blocked",
            words: "time blocked on the network",
            unit: "share of completion",
            about: "Share of the time until completion in which ranks had nothing to do until a message came that was \
                    on its way, their mean.",
            rank: Some(3),
            there: WORKLOADS,
            value: |at| at.share(|usage| usage.blocked),
            ..NUMBER
        },
    ];

    const TABLES: &'static [Table] = &[
        Table {
            name: "ranks",
            about: "One row for each rank of a workload. With one CPU a rank's times in calculations, in overhead, \
                    waiting and blocked come to its finish.",
            there: WORKLOADS,
            asked: |at| at.workload,
            columns: &[
                Column {
                    name: "rank",
                    words: "rank",
                    about: "Number of the rank.",
                    values: |at| at.of_ranks(|row| row.rank),
                    ..NUMBERED
                },
                Column {
                    name: "job",
                    words: "job",
                    unit: unit::NONE,
                    about: "The job that it takes part in; `null` of a program that is alone.",
                    cell: Cell::Text,
                    values: |at| at.of_ranks(|row| row.job.as_deref().map_or(Value::Null, Value::from)),
                },
                Column {
                    name: "endpoint",
                    words: "endpoint",
                    about: "The endpoint that it stands at; the first of them, if it has several rails.",
                    values: |at| at.of_ranks(|row| row.endpoint),
                    ..NUMBERED
                },
                Column {
                    name: "finish",
                    words: "finish",
                    about: "When its last operation ended.",
                    values: |at| at.of_ranks(|row| at.in_cycles(row.finish)),
                    ..TIME
                },
                Column {
                    name: "calc",
                    words: "time in calculations",
                    about: "Time in which its CPUs calculated.",
                    values: |at| at.of_ranks(|row| at.in_cycles(row.usage.calc)),
                    ..TIME
                },
                Column {
                    name: "overhead",
                    words: "time in overhead",
                    about: "Time in which its CPUs sent messages or took them in.",
                    values: |at| at.of_ranks(|row| at.in_cycles(row.usage.overhead)),
                    ..TIME
                },
                Column {
                    name: "waiting",
                    words: "time waiting",
                    about: "Time in which its CPUs had nothing to do, and nothing that they waited for was on its way; \
                            or in which an interface was taken.",
                    values: |at| at.of_ranks(|row| at.in_cycles(row.usage.waiting)),
                    ..TIME
                },
                Column {
                    name: "blocked",
                    words: "time blocked on the network",
                    about: "Time in which its CPUs had nothing to do until a message came that was on its way.",
                    values: |at| at.of_ranks(|row| at.in_cycles(row.usage.blocked)),
                    ..TIME
                },
            ],
        },
        Table {
            name: "jobs",
            about: "One row for each job of a workload that has several, of programs and of traffic.",
            there: When::Some("of workloads with jobs"),
            asked: |at| !at.programs().jobs.is_empty(),
            columns: &[
                Column {
                    name: "job",
                    words: "job",
                    unit: unit::NONE,
                    about: "Its name.",
                    cell: Cell::Text,
                    values: |at| at.of_jobs(|job| job.name.to_string()),
                },
                Column {
                    name: "kind",
                    words: "kind",
                    unit: unit::NONE,
                    about: "`program` or `traffic`.",
                    cell: Cell::Text,
                    values: |at| at.of_jobs(|job| if job.traffic { "traffic" } else { "program" }),
                },
                Column {
                    name: "endpoints",
                    words: "endpoints",
                    about: "Its endpoints: by rank and rail, or in the order in which its pattern counts them.",
                    cell: Cell::Wholes,
                    values: |at| at.of_jobs(|job| job.endpoints.to_vec()),
                    ..NUMBERED
                },
                Column {
                    name: "start",
                    words: "start",
                    about: "When it began.",
                    values: |at| at.of_jobs(|job| job.start),
                    ..TIME
                },
                Column {
                    name: "finish",
                    words: "finish",
                    about: "When its last rank had finished; `null` of traffic, which goes on as long as the run.",
                    values: |at| at.of_jobs(|job| at.finish_of(job).map_or(Value::Null, |ticks| at.in_cycles(ticks))),
                    ..TIME
                },
                Column {
                    name: "packets",
                    words: "packets",
                    about: "Packets that came to its endpoints.",
                    values: |at| at.of_jobs(|job| job.packets),
                    ..NUMBERED
                },
                Column {
                    name: "accepted_load",
                    words: "accepted load",
                    unit: unit::LOAD,
                    about: "Phits that came to its endpoints, from its start until it had finished, or until the run \
                            ended.",
                    values: |at| at.of_jobs(|job| json!(at.load_of(job))),
                    ..TIME
                },
                Column {
                    name: "latency_mean",
                    words: "mean packet latency",
                    about: "Mean time of these packets from generation to the arrival of the last phit.",
                    values: |at| {
                        let cycle = f64::from(at.window.ticks_per_cycle);
                        at.of_jobs(|job| json!(ratio(job.latency, job.packets).map(|ticks| ticks / cycle)))
                    },
                    ..TIME
                },
            ],
        },
        Table {
            name: "messages",
            about: "One row for each message of a workload that has come, in the order in which they were posted.",
            there: When::Some("with `measure.messages`"),
            asked: |at| at.messages,
            columns: &[
                Column {
                    name: "source",
                    words: "source",
                    about: "The rank that sent it.",
                    values: |at| at.of_messages(|row| row.source),
                    ..NUMBERED
                },
                Column {
                    name: "destination",
                    words: "destination",
                    about: "The rank that it went to.",
                    values: |at| at.of_messages(|row| row.destination),
                    ..NUMBERED
                },
                Column {
                    name: "send",
                    words: "number of the send",
                    about: "The number of the send among the operations of its source.",
                    values: |at| at.of_messages(|row| row.send),
                    ..NUMBERED
                },
                Column {
                    name: "bytes",
                    words: "size",
                    unit: unit::BYTES,
                    about: "Its size.",
                    values: |at| at.of_messages(|row| row.bytes),
                    ..NUMBERED
                },
                Column {
                    name: "tag",
                    words: "tag",
                    about: "Its tag.",
                    values: |at| at.of_messages(|row| row.tag),
                    ..NUMBERED
                },
                Column {
                    name: "posted",
                    words: "posted",
                    about: "When its first byte left the host.",
                    values: |at| at.message_times(|row| Some(row.posted)),
                    ..TIME
                },
                Column {
                    name: "injected",
                    words: "injected",
                    about: "When the first of its packets left an injection queue; `null` of a message that a rank \
                            sent to itself.",
                    values: |at| at.message_times(|row| row.injected),
                    ..TIME
                },
                Column {
                    name: "first",
                    words: "first phit",
                    about: "When its first phit reached the endpoint. Of packets of several flits, the time at which \
                            the first would have if all had followed without a gap.",
                    values: |at| at.message_times(|row| row.first),
                    ..TIME
                },
                Column {
                    name: "last",
                    words: "last phit",
                    about: "When its last phit reached the endpoint.",
                    values: |at| at.message_times(|row| row.last),
                    ..TIME
                },
                Column {
                    name: "matched",
                    words: "matched",
                    about: "When a receive had it.",
                    values: |at| at.message_times(|row| row.matched),
                    ..TIME
                },
            ],
        },
        Table {
            name: "operations",
            about: "One row for each operation of a workload, rank by rank in the order in which they started.",
            there: When::Some("with `measure.operations`"),
            asked: |at| at.operations,
            columns: &[
                Column {
                    name: "rank",
                    words: "rank",
                    about: "Number of the rank.",
                    values: |at| at.of_operations(|span| span.rank),
                    ..NUMBERED
                },
                Column {
                    name: "operation",
                    words: "operation",
                    about: "Number of the operation within its rank. Of a program that is made while it runs the \
                            numbers of operations that have ended are given again.",
                    values: |at| at.of_operations(|span| span.number),
                    ..NUMBERED
                },
                Column {
                    name: "kind",
                    words: "kind",
                    unit: unit::NONE,
                    about: "`calc`, `send` or `recv`.",
                    cell: Cell::Text,
                    values: |at| {
                        at.of_operations(|span| match span.operation.action {
                            Action::Calc(_) => "calc",
                            Action::Send(_) => "send",
                            Action::Recv(_) => "recv",
                        })
                    },
                },
                Column {
                    name: "peer",
                    words: "peer",
                    about: "The rank at the other end; `null` of a calculation, and of a receive from any rank.",
                    values: |at| {
                        at.of_operations(|span| match span.operation.action {
                            Action::Send(transfer) | Action::Recv(transfer) if transfer.peer != phit_workload::ANY => {
                                json!(transfer.peer)
                            }
                            _ => Value::Null,
                        })
                    },
                    ..NUMBERED
                },
                Column {
                    name: "bytes",
                    words: "size",
                    unit: unit::BYTES,
                    about: "Bytes of its message; `null` of a calculation.",
                    values: |at| {
                        at.of_operations(|span| match span.operation.action {
                            Action::Send(transfer) | Action::Recv(transfer) => json!(transfer.bytes),
                            Action::Calc(_) => Value::Null,
                        })
                    },
                    ..NUMBERED
                },
                Column {
                    name: "start",
                    words: "start",
                    about: "When it started.",
                    values: |at| at.of_operations(|span| at.in_cycles(span.start)),
                    ..TIME
                },
                Column {
                    name: "end",
                    words: "end",
                    about: "When it ended; `null` of a send that nobody has taken.",
                    values: |at| at.of_operations(|span| span.end.map_or(Value::Null, |end| at.in_cycles(end))),
                    ..TIME
                },
            ],
        },
        Table {
            name: "tracks",
            about: "One row for each time in which a CPU of a rank did one thing, CPU by CPU in the order of time. \
                    They follow one another without a gap until the CPU has nothing left to do; those of a rank come \
                    to its times in the table `ranks`.",
            there: When::Some("with `measure.tracks`"),
            asked: |at| at.tracks,
            columns: &[
                Column {
                    name: "rank",
                    words: "rank",
                    about: "Number of the rank.",
                    values: |at| at.of_tracks(|stretch| stretch.rank),
                    ..NUMBERED
                },
                Column {
                    name: "cpu",
                    words: "CPU",
                    about: "The CPU of the rank.",
                    values: |at| at.of_tracks(|stretch| stretch.cpu),
                    ..NUMBERED
                },
                Column {
                    name: "state",
                    words: "state",
                    unit: unit::NONE,
                    about: "`calc`, `send` or `receive` (overhead of a message), `waiting` or `blocked`, as in \
                            `ranks`.",
                    cell: Cell::Text,
                    values: |at| {
                        at.of_tracks(|stretch| match stretch.doing {
                            Doing::Calc => "calc",
                            Doing::Send => "send",
                            Doing::Receive => "receive",
                            Doing::Waiting => "waiting",
                            Doing::Blocked => "blocked",
                        })
                    },
                },
                Column {
                    name: "start",
                    words: "start",
                    about: "When it began.",
                    values: |at| at.of_tracks(|stretch| at.in_cycles(stretch.start)),
                    ..TIME
                },
                Column {
                    name: "end",
                    words: "end",
                    about: "When it ended.",
                    values: |at| at.of_tracks(|stretch| at.in_cycles(stretch.end)),
                    ..TIME
                },
            ],
        },
        Table {
            name: "phases",
            about: "One row for each phase that a rank of a workload has ended: each step of a sequence, each of \
                    several times, the calculation between them. Programs that are read from files have none.",
            there: When::Some("with `measure.phases`"),
            asked: |at| at.phases,
            columns: &[
                Column {
                    name: "rank",
                    words: "rank",
                    about: "Number of the rank.",
                    values: |at| at.of_phases(|row| row.rank),
                    ..NUMBERED
                },
                Column {
                    name: "phase",
                    words: "phase",
                    about: "Number of the phase within the program.",
                    values: |at| at.of_phases(|row| row.number),
                    ..NUMBERED
                },
                Column {
                    name: "kind",
                    words: "kind",
                    unit: unit::NONE,
                    about: "What it is: `calc`, `collective`, `halo`, ...",
                    cell: Cell::Text,
                    values: |at| at.of_phases(|row| row.phase.name),
                },
                Column {
                    name: "start",
                    words: "start",
                    about: "When the rank began it: when it had ended the one before.",
                    values: |at| at.of_phases(|row| at.in_cycles(row.phase.start)),
                    ..TIME
                },
                Column {
                    name: "end",
                    words: "end",
                    about: "When the rank ended it.",
                    values: |at| at.of_phases(|row| at.in_cycles(row.phase.end)),
                    ..TIME
                },
            ],
        },
    ];

    fn merge(&mut self, other: &Self) {
        self.add(other.clone());
    }

    fn bytes(&self) -> usize {
        let Self { ranks, messages, operations, jobs, tracks, phases } = self;
        ranks.capacity() * size_of::<RankRow>()
            + messages.capacity() * size_of::<MessageRow>()
            + operations.capacity() * size_of::<OperationRow>()
            + jobs.capacity() * size_of::<JobRow>()
            + tracks.capacity() * size_of::<TrackRow>()
            + phases.capacity() * size_of::<PhaseRow>()
    }
}
