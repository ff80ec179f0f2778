//! Operations that have been performed.

use super::{NUMBERED, TIME};
use crate::measure::Reading;
use crate::measure::declare::{Cell, Cells, Column, Table, When, list, unit};
use phit_workload::Action;
use phit_workload::host::Span;
use serde::{Deserialize, Serialize};

/// An operation that has been performed, with times in ticks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperationRow(pub Span);

impl Reading<'_> {
    fn of_operations<T: Serialize>(&self, value: impl Fn(&Span) -> T) -> Cells {
        list(self.programs().operations.iter().map(|OperationRow(span)| value(span)))
    }
}

pub(super) const TABLE: Table = Table {
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
            about: "Number of the operation within its rank. In a program that is generated during the run, numbers of \
                    ended operations are used again.",
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
            about: "The rank at the other end; `null` for a calculation, and for a receive from any rank.",
            values: |at| {
                at.of_operations(|span| match span.operation.action {
                    Action::Send(transfer) | Action::Recv(transfer) => {
                        (transfer.peer != phit_workload::ANY).then_some(transfer.peer)
                    }
                    Action::Calc(_) => None,
                })
            },
            ..NUMBERED
        },
        Column {
            name: "bytes",
            words: "size",
            unit: unit::BYTES,
            about: "Bytes of the message; `null` for a calculation.",
            values: |at| {
                at.of_operations(|span| match span.operation.action {
                    Action::Send(transfer) | Action::Recv(transfer) => Some(transfer.bytes),
                    Action::Calc(_) => None,
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
            about: "When it ended; `null` of a send that nobody has taken, and of what was under way when the run was \
                    stopped.",
            values: |at| at.of_operations(|span| span.end.map(|end| at.in_cycles(end))),
            ..TIME
        },
    ],
};
