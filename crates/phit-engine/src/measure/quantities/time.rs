//! How long a run took, in cycles.

use super::Counts;
use crate::measure::declare::{Quantity, Shape, WHOLE, unit};
use serde::{Deserialize, Serialize};
use serde_json::json;

/// Counts nothing: the run knows it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Time;

const CYCLES: Quantity = Quantity { unit: unit::CYCLES, time: true, ..WHOLE };

impl Counts for Time {
    const QUANTITIES: &'static [Quantity] = &[
        Quantity {
            name: "cycles",
            words: "measured time",
            about: "Measured cycles: `measure.cycles`, or more with `measure.until` or `measure.precision`.",
            rank: Some(14),
            value: |at| json!(at.cycles),
            ..CYCLES
        },
        Quantity {
            name: "warmup_cycles",
            words: "warm-up",
            about: "Cycles before the measurement began.",
            value: |at| json!(at.warmup_cycles),
            ..CYCLES
        },
        Quantity {
            name: "drain_cycles",
            words: "drain",
            about: "Cycles after the measurement in which the packets generated in it were delivered, with \
                    `measure.count = \"generated\"`; 0 otherwise. A run drains in steps of 200 cycles, \
                    `measure.max_drain` at most.",
            value: |at| json!(at.drain_cycles),
            ..CYCLES
        },
        Quantity {
            name: "total_cycles",
            words: "simulated time",
            about: "Warm-up, measurement and drain together.",
            value: |at| json!(at.warmup_cycles + at.cycles + at.drain_cycles),
            ..CYCLES
        },
        Quantity {
            name: "converged",
            words: "converged",
            about: "Whether the run has got as far as it was to: the intervals are as narrow as `measure.until` \
                    or `measure.precision` asks for, and all packets that count have been delivered \
                    or lost. True if neither is asked for.",
            shape: Shape::Flag,
            value: |at| json!(at.converged),
            ..WHOLE
        },
    ];
}
