//! What a cycle stands for.

use super::Counts;
use crate::measure::declare::{NUMBER, Of, Quantity, When, unit};
use serde_json::json;

/// Counts nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Units;

impl Counts for Units {
    const QUANTITIES: &'static [Quantity] = &[Quantity {
        name: "cycle_seconds",
        words: "length of a cycle",
        unit: unit::SECONDS,
        about: "The time that a cycle stands for.",
        of: Of::Scenario,
        rank: Some(12),
        there: When::Some("of scenarios that say what a cycle is, by `[units]` or by quantities with units"),
        value: |at| json!(at.cycle_seconds),
        ..NUMBER
    }];
}
