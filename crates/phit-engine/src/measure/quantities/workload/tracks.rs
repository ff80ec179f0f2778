//! Activity of the CPUs of ranks over time.

use super::{NUMBERED, TIME};
use crate::measure::Reading;
use crate::measure::declare::{Cell, Cells, Column, Table, When, list, unit};
use phit_workload::host::{Doing, Stretch};
use serde::{Deserialize, Serialize};

/// An interval, in ticks, in which a CPU of a rank had one activity.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrackRow(pub Stretch);

impl Reading<'_> {
    fn of_tracks<T: Serialize>(&self, value: impl Fn(&Stretch) -> T) -> Cells {
        list(self.programs().tracks.iter().map(|TrackRow(stretch)| value(stretch)))
    }
}

pub(super) const TABLE: Table = Table {
    name: "tracks",
    about: "One row for each interval in which a CPU of a rank had one activity, CPU by CPU in the order of time. The \
            intervals of a CPU have no gaps until it has nothing left to do. Those of a rank add up to its times in \
            the table `ranks`.",
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
            about: "When the interval began.",
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
};
