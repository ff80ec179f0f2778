//! The length of a cycle.

use super::Counts;
use crate::measure::declare::{NUMBER, Of, Quantity, When, unit};
use serde::{Deserialize, Serialize};
use serde_json::json;

/// Has no counters.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Units;

impl Counts for Units {
    const QUANTITIES: &'static [Quantity] = &[Quantity {
        name: "cycle_seconds",
        words: "length of a cycle",
        unit: unit::SECONDS,
        about: "The time that a cycle stands for, by `[units]` or by the units of the scenario's numbers.",
        of: Of::Scenario,
        rank: Some(16),
        there: When::Some("of scenarios whose units are known"),
        value: |at| json!(at.cycle_seconds),
        ..NUMBER
    }];
}
