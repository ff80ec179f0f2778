//! Jobs, and what has come to their endpoints.

use super::{NUMBERED, TIME};
use crate::engine::Tick;
use crate::measure::Reading;
use crate::measure::declare::{Cell, Column, Table, When, list, ratio, unit};
use crate::workload::{MadeJob, Workload};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::sync::Arc;

/// A job, and what has come to its endpoints.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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

impl JobRow {
    /// The jobs of a workload that have names, to which nothing has come yet.
    pub(super) fn of(workload: &Workload) -> Vec<Self> {
        let row = |(number, job): (u32, &MadeJob)| {
            let endpoints = match workload.traffic.iter().find(|beside| beside.job == number) {
                Some(beside) => beside.endpoints.clone(),
                None => {
                    let own = |endpoint: &&u32| workload.owners[**endpoint as usize] == number;
                    workload.endpoints.iter().filter(own).copied().collect()
                }
            };
            let (name, start, traffic) = (job.name.clone()?, job.start, job.source.is_none());
            Some(Self { name, start, endpoints, traffic, packets: 0, phits: 0, latency: 0 })
        };
        (0..).zip(&workload.jobs).filter_map(row).collect()
    }

    /// A packet has come, so many ticks after its generation.
    pub(super) fn came(&mut self, phits: u16, ticks: Tick) {
        self.packets += 1;
        self.phits += u64::from(phits);
        self.latency += u64::from(ticks);
    }

    /// Adds what has come in another part of the network.
    pub(super) fn add(&mut self, part: &Self) {
        self.packets += part.packets;
        self.phits += part.phits;
        self.latency += part.latency;
    }
}

impl Reading<'_> {
    fn of_jobs<T: Into<Value>>(&self, value: impl Fn(&JobRow) -> T) -> Value {
        list(self.programs().jobs.iter().map(value))
    }

    /// When the last rank of a job has finished, in ticks.
    fn finish_of(&self, job: &JobRow) -> Option<u64> {
        let own = self.programs().ranks.iter().filter(|rank| rank.job.as_ref() == Some(&job.name));
        own.filter_map(|rank| self.finish(rank)).max()
    }

    /// Phits that came to the endpoints of a job in a cycle, from its start until its program ended, or the run.
    fn load_of(&self, job: &JobRow) -> Option<f64> {
        let cycle = f64::from(self.window.ticks_per_cycle);
        let end = self.finish_of(job).map_or(f64::from(self.cycles), |ticks| ticks as f64 / cycle);
        let cycles = (end - f64::from(job.start)) * job.endpoints.len() as f64;
        (cycles > 0.0).then(|| job.phits as f64 / cycles)
    }
}

pub(super) const TABLE: Table = Table {
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
            about: "When its last rank had finished; `null` of traffic, which goes on as long as the run, and if the \
                    run was stopped before the program ended.",
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
};
