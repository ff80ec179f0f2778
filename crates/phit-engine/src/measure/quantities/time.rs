//! The length of a run in cycles.

use super::Counts;
use crate::measure::declare::{Quantity, Shape, TEXT, WHOLE, When, unit};
use serde::{Deserialize, Serialize};
use serde_json::json;

/// Has no counters: the run provides the values.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Time;

const CYCLES: Quantity = Quantity { unit: unit::CYCLES, time: true, ..WHOLE };

impl Counts for Time {
    const QUANTITIES: &'static [Quantity] = &[
        Quantity {
            name: "cycles",
            words: "measured time",
            about: "Measured cycles: `measure.cycles`, or more with `measure.until` or `measure.precision`.",
            rank: Some(15),
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
            about: "Whether the run reached its goal: the intervals are as narrow as `measure.until` or \
                    `measure.precision` asks for, all recorded packets were delivered or lost, the program ended. \
                    False for a run that was stopped.",
            shape: Shape::Flag,
            there: When::Some("if the run was asked for one of these, or was stopped"),
            value: |at| json!(at.is_precise()),
            ..WHOLE
        },
        Quantity {
            name: "steady",
            words: "steady",
            about: "Whether the measured time shows a steady state: `yes`; `no` if the mean latency has a trend or the \
                    backlog at the sources grows without end; `unknown` if the run is too short to tell, or if its \
                    traffic changes.",
            rank: Some(18),
            heading: Some("steady"),
            there: When::Some("of runs of traffic"),
            value: |at| json!(at.steady().map(|steady| steady.word())),
            ..TEXT
        },
        Quantity {
            name: "steady_reason",
            words: "why the run is not known to be steady",
            about: "Why `steady` is `no` or `unknown`, in words.",
            there: When::Some("of runs of traffic that are not steady, or not known to be"),
            value: |at| json!(at.steady().and_then(|steady| steady.why()).map(|why| why.words())),
            ..TEXT
        },
    ];
}
