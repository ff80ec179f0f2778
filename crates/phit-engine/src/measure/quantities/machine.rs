//! Execution and cost of a run.

use super::Counts;
use crate::measure::declare::{NUMBER, Of, Quantity, Shape, When, unit};
use serde::{Deserialize, Serialize};
use serde_json::json;

/// Has no counters: the run and its caller provide the values.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machinery;

const NUMBER_OF: Quantity = Quantity { of: Of::Machine, ..NUMBER };

const WHOLE_OF: Quantity = Quantity { shape: Shape::Whole, ..NUMBER_OF };

impl Counts for Machinery {
    const QUANTITIES: &'static [Quantity] = &[
        Quantity {
            name: "threads",
            words: "threads",
            about: "Threads of the run.",
            value: |at| json!(at.machine.threads),
            ..WHOLE_OF
        },
        Quantity {
            name: "partitions",
            words: "partitions",
            about: "Parts into which the network was cut.",
            value: |at| json!(at.machine.partitions),
            ..WHOLE_OF
        },
        Quantity {
            name: "engine_bytes",
            words: "memory of the engine",
            unit: unit::BYTES,
            about: "The engine's tables at the end of the run.",
            value: |at| json!(at.machine.engine_bytes),
            ..WHOLE_OF
        },
        Quantity {
            name: "cpu_seconds",
            words: "CPU time",
            unit: unit::SECONDS,
            about: "Processor time of all threads of the process during the run.",
            rank: Some(21),
            value: |at| json!(at.machine.cost.cpu_seconds),
            ..NUMBER_OF
        },
        Quantity {
            name: "wall_seconds",
            words: "wall time",
            unit: unit::SECONDS,
            about: "Time from the start of the run to its end.",
            value: |at| json!(at.machine.cost.wall_seconds),
            ..NUMBER_OF
        },
        Quantity {
            name: "peak_memory_bytes",
            words: "largest memory of the process",
            unit: unit::BYTES,
            about: "Largest resident set of the process so far, other runs in it included.",
            there: When::Some("where the system tells it"),
            value: |at| json!(at.machine.cost.peak_memory_bytes),
            ..WHOLE_OF
        },
    ];
}
