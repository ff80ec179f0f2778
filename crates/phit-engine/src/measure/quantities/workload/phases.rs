//! Phases that ranks have ended.

use super::{NUMBERED, TIME};
use crate::measure::Reading;
use crate::measure::declare::{Cell, Cells, Column, Table, When, list, unit};
use phit_workload::Phase;
use serde::{Deserialize, Serialize};

/// A phase of a program that a rank has ended, with times in ticks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhaseRow {
    /// The rank.
    pub rank: u32,
    /// The number of the phase.
    pub number: u32,
    /// Its kind, start and end.
    #[serde(with = "written")]
    pub phase: Phase,
}

/// The form in which a phase is sent to another process.
mod written {
    use super::Phase;
    use crate::engine::named;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(phase: &Phase, to: S) -> Result<S::Ok, S::Error> {
        (phase.name, phase.start, phase.end).serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Phase, D::Error> {
        let (name, start, end) = <(String, u64, u64)>::deserialize(from)?;
        Ok(Phase { name: named(&name), start, end })
    }
}

impl PhaseRow {
    /// The phases of a rank, in their order.
    pub fn of(rank: u32, phases: Vec<Phase>) -> impl Iterator<Item = Self> {
        (0..).zip(phases).map(move |(number, phase)| Self { rank, number, phase })
    }
}

impl Reading<'_> {
    fn of_phases<T: Serialize>(&self, value: impl Fn(&PhaseRow) -> T) -> Cells {
        list(self.programs().phases.iter().map(value))
    }
}

pub(super) const TABLE: Table = Table {
    name: "phases",
    about: "One row for each phase that a rank of a workload has ended: each step of a sequence, each repetition of a \
            step, and the calculations between them. Programs that are read from files have no phases.",
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
            about: "Kind of the phase: `calc`, `collective`, `halo`, ...",
            cell: Cell::Text,
            values: |at| at.of_phases(|row| row.phase.name),
        },
        Column {
            name: "start",
            words: "start",
            about: "When the rank began the phase: when the phase before had ended.",
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
};
