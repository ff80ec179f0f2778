//! Jobs, and the packets and messages received by their endpoints.

use super::{NUMBERED, TIME};
use crate::engine::Tick;
use crate::measure::declare::{Cell, Cells, Column, Table, When, list, ratio, unit};
use crate::measure::{Histogram, Reading};
use crate::workload::{MadeJob, Workload};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A job, and the packets and messages received by its endpoints.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobRow {
    /// Its name.
    pub name: Arc<str>,
    /// Cycle in which it started.
    pub start: u32,
    /// Its endpoints: by rank and rail, or in the order of its traffic.
    pub endpoints: Arc<[u32]>,
    /// True for a job of traffic, false for a program.
    pub traffic: bool,
    /// Packets received by its endpoints.
    pub packets: u64,
    /// Their phits.
    pub phits: u64,
    /// Sum of these packets' latencies in ticks, from generation to the arrival of the last phit.
    pub latency: u64,
    /// Histogram of these latencies, if asked for.
    pub latencies: Option<Histogram>,
    /// Messages received by its ranks from other ranks.
    pub messages: u64,
    /// Sum of these messages' latencies in ticks: from the departure of the first byte to the arrival of the last.
    pub message_latency: u64,
    /// Histogram of these latencies, if asked for.
    pub message_latencies: Option<Histogram>,
}

impl JobRow {
    /// The named jobs of a workload, with all counts 0. `distributed`: histograms of latencies are asked for.
    pub(super) fn of(workload: &Workload, distributed: bool) -> Vec<Self> {
        let row = |(number, job): (u32, &MadeJob)| {
            let endpoints = match workload.traffic.iter().find(|beside| beside.job == number) {
                Some(beside) => beside.endpoints.clone(),
                None => {
                    let own = |endpoint: &&u32| workload.owners[**endpoint as usize] == number;
                    workload.endpoints.iter().filter(own).copied().collect()
                }
            };
            let (name, start, traffic) = (job.name.clone()?, job.start, job.source.is_none());
            let [latencies, message_latencies] = [(); 2].map(|()| distributed.then(Histogram::new));
            let (packets, phits, latency) = (0, 0, 0);
            let (messages, message_latency) = (0, 0);
            Some(Self {
                name,
                start,
                endpoints,
                traffic,
                packets,
                phits,
                latency,
                latencies,
                messages,
                message_latency,
                message_latencies,
            })
        };
        (0..).zip(&workload.jobs).filter_map(row).collect()
    }

    /// A packet arrives, `ticks` after its generation.
    pub(super) fn came(&mut self, phits: u16, ticks: Tick) {
        self.packets += 1;
        self.phits += u64::from(phits);
        self.latency += u64::from(ticks);
        if let Some(latencies) = &mut self.latencies {
            latencies.record(ticks.into());
        }
    }

    /// A message arrives, `ticks` after its first byte left its host.
    pub(super) fn message_came(&mut self, ticks: u64) {
        self.messages += 1;
        self.message_latency += ticks;
        if let Some(latencies) = &mut self.message_latencies {
            latencies.record(ticks);
        }
    }

    /// Bytes of memory in its histograms.
    pub(super) fn bytes(&self) -> usize {
        [&self.latencies, &self.message_latencies].into_iter().flatten().map(Histogram::bytes).sum()
    }

    /// Adds the counts of another part of the network.
    pub(super) fn add(&mut self, part: &Self) {
        self.packets += part.packets;
        self.phits += part.phits;
        self.latency += part.latency;
        self.messages += part.messages;
        self.message_latency += part.message_latency;
        let both = [(&mut self.latencies, &part.latencies), (&mut self.message_latencies, &part.message_latencies)];
        for (mine, theirs) in both {
            if let (Some(mine), Some(theirs)) = (mine, theirs) {
                mine.merge(theirs);
            }
        }
    }
}

impl Reading<'_> {
    fn of_jobs<T: Serialize>(&self, value: impl Fn(&JobRow) -> T) -> Cells {
        list(self.programs().jobs.iter().map(value))
    }

    /// A mean of the jobs, of ticks that are added up.
    fn mean_of_jobs(&self, sum: impl Fn(&JobRow) -> (u64, u64)) -> Cells {
        let cycle = f64::from(self.window.ticks_per_cycle);
        self.of_jobs(|job| {
            let (ticks, count) = sum(job);
            ratio(ticks, count).map(|ticks| ticks / cycle)
        })
    }

    /// A quantile of the jobs, in cycles.
    fn quantile_of_jobs(&self, histogram: impl Fn(&JobRow) -> &Option<Histogram>, share: f64) -> Cells {
        self.of_jobs(|job| {
            let ticks = histogram(job).as_ref().and_then(|histogram| histogram.quantile(share));
            ticks.map(|ticks| self.in_cycles(ticks))
        })
    }

    /// When the last rank of a job has finished, in ticks.
    fn finish_of(&self, job: &JobRow) -> Option<u64> {
        let own = self.programs().ranks.iter().filter(|rank| rank.job.as_ref() == Some(&job.name));
        own.filter_map(|rank| self.finish(rank)).max()
    }

    /// Phits per cycle received by a job's endpoints, from its start until its program or the run ended.
    fn load_of(&self, job: &JobRow) -> Option<f64> {
        let cycle = f64::from(self.window.ticks_per_cycle);
        let end = self.finish_of(job).map_or(self.cycles as f64, |ticks| ticks as f64 / cycle);
        let cycles = (end - f64::from(job.start)) * job.endpoints.len() as f64;
        (cycles > 0.0).then(|| job.phits as f64 / cycles)
    }
}

pub(super) const TABLE: Table = Table {
    name: "jobs",
    about: "One row for each job, of a program or of traffic, in a workload with several jobs.",
    there: When::Some("of workloads with jobs"),
    asked: |at| !at.programs().jobs.is_empty(),
    columns: &[
        Column {
            name: "job",
            words: "job",
            unit: unit::NONE,
            about: "Name of the job.",
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
            name: "endpoint_names",
            words: "names of the endpoints",
            unit: unit::NONE,
            about: "Names of its endpoints, in the same order, in networks that have names for them.",
            cell: Cell::Texts,
            values: |at| at.names_of_endpoints(at.programs().jobs.iter().map(|job| Some(&job.endpoints[..]))),
        },
        Column {
            name: "start",
            words: "start",
            about: "When the job began.",
            values: |at| at.of_jobs(|job| job.start),
            ..TIME
        },
        Column {
            name: "finish",
            words: "finish",
            about: "When the job's last rank finished; `null` for traffic, which lasts as long as the run, and if the \
                    run was stopped before the program ended.",
            values: |at| at.of_jobs(|job| at.finish_of(job).map(|ticks| at.in_cycles(ticks))),
            ..TIME
        },
        Column {
            name: "packets",
            words: "packets",
            about: "Packets that arrived at the job's endpoints.",
            values: |at| at.of_jobs(|job| job.packets),
            ..NUMBERED
        },
        Column {
            name: "accepted_load",
            words: "accepted load",
            unit: unit::LOAD,
            about: "Phits that came to its endpoints, from its start until it had finished, or until the run \
                    ended.",
            values: |at| at.of_jobs(|job| at.load_of(job)),
            ..TIME
        },
        Column {
            name: "latency_mean",
            words: "mean packet latency",
            about: "Mean time of these packets from generation to the arrival of the last phit.",
            values: |at| at.mean_of_jobs(|job| (job.latency, job.packets)),
            ..TIME
        },
        Column {
            name: "latency_p50",
            words: "median packet latency",
            about: "Half of these packets took at most this long. All percentiles of jobs need `measure.histogram`.",
            values: |at| at.quantile_of_jobs(|job| &job.latencies, 0.5),
            ..TIME
        },
        Column {
            name: "latency_p99",
            words: "99th percentile of packet latency",
            about: "99 percent of these packets took at most this long.",
            values: |at| at.quantile_of_jobs(|job| &job.latencies, 0.99),
            ..TIME
        },
        Column {
            name: "latency_p999",
            words: "99.9th percentile of packet latency",
            about: "99.9 percent of these packets took at most this long.",
            values: |at| at.quantile_of_jobs(|job| &job.latencies, 0.999),
            ..TIME
        },
        Column {
            name: "latency_max",
            words: "largest packet latency",
            about: "Longest latency of these packets.",
            values: |at| at.quantile_of_jobs(|job| &job.latencies, 1.0),
            ..TIME
        },
        Column {
            name: "messages",
            words: "messages",
            about: "Messages that came to its ranks from other ranks; none of traffic.",
            values: |at| at.of_jobs(|job| job.messages),
            ..NUMBERED
        },
        Column {
            name: "message_latency_mean",
            words: "mean message latency",
            about: "Mean time of these messages from the departure of the first byte to the arrival of the last.",
            values: |at| at.mean_of_jobs(|job| (job.message_latency, job.messages)),
            ..TIME
        },
        Column {
            name: "message_latency_p50",
            words: "median message latency",
            about: "Half of these messages took at most this long.",
            values: |at| at.quantile_of_jobs(|job| &job.message_latencies, 0.5),
            ..TIME
        },
        Column {
            name: "message_latency_p99",
            words: "99th percentile of message latency",
            about: "99 percent of these messages took at most this long.",
            values: |at| at.quantile_of_jobs(|job| &job.message_latencies, 0.99),
            ..TIME
        },
        Column {
            name: "message_latency_max",
            words: "largest message latency",
            about: "Longest latency of these messages.",
            values: |at| at.quantile_of_jobs(|job| &job.message_latencies, 1.0),
            ..TIME
        },
    ],
};
