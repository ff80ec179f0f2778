//! Ranks: their endpoints, their completion and the use of their CPUs.

use super::{NUMBERED, TIME, WORKLOADS};
use crate::measure::Reading;
use crate::measure::declare::{Cell, Cells, Column, ENDPOINT_NAME, Table, list, unit};
use phit_workload::host::Usage;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The record of a rank, with times in ticks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RankRow {
    /// Its number.
    pub rank: u32,
    /// Its job, if there are several.
    pub job: Option<Arc<str>>,
    /// Its endpoint, or its first rail's endpoint.
    pub endpoint: u32,
    /// When its last operation ended.
    pub finish: u64,
    /// Times of its CPUs by activity.
    pub usage: Usage,
}

impl Reading<'_> {
    fn of_ranks<'a, T: Serialize>(&'a self, value: impl Fn(&'a RankRow) -> T) -> Cells {
        list(self.programs().ranks.iter().map(value))
    }
}

pub(super) const TABLE: Table = Table {
    name: "ranks",
    about: "One row for each rank of a workload. With one CPU, the rank's times in calculations, in overhead, waiting \
            and blocked add up to its finish.",
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
            about: "Job of the rank; `null` if there is only one program.",
            cell: Cell::Text,
            values: |at| at.of_ranks(|row| row.job.as_deref()),
        },
        Column {
            name: "endpoint",
            words: "endpoint",
            about: "Endpoint of the rank; the first one, if it has several rails.",
            values: |at| at.of_ranks(|row| row.endpoint),
            ..NUMBERED
        },
        Column { values: |at| at.endpoint_names(at.programs().ranks.iter().map(|row| row.endpoint)), ..ENDPOINT_NAME },
        Column {
            name: "finish",
            words: "finish",
            about: "When its last operation ended; `null` if the run was stopped before the program ended.",
            values: |at| at.of_ranks(|row| at.finish(row).map(|ticks| at.in_cycles(ticks))),
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
            about: "Time in which its CPUs were busy with sending or receiving messages.",
            values: |at| at.of_ranks(|row| at.in_cycles(row.usage.overhead)),
            ..TIME
        },
        Column {
            name: "waiting",
            words: "time waiting",
            about: "Time in which its CPUs were idle and waited for nothing on its way, or for a busy network \
                    interface.",
            values: |at| at.of_ranks(|row| at.in_cycles(row.usage.waiting)),
            ..TIME
        },
        Column {
            name: "blocked",
            words: "time blocked on the network",
            about: "Time in which its CPUs were idle until a message arrived that was on its way.",
            values: |at| at.of_ranks(|row| at.in_cycles(row.usage.blocked)),
            ..TIME
        },
    ],
};
