//! Saturation: the one rule by which a run is called saturated.

use super::Counts;
use crate::measure::declare::{Quantity, Shape, WHOLE};
use serde::{Deserialize, Serialize};
use serde_json::json;

/// A run is saturated if it accepts less than this share of the load offered in the measured time.
pub(crate) const SATURATED_BELOW: f64 = 0.97;

/// Counts nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Saturation;

impl Counts for Saturation {
    const QUANTITIES: &'static [Quantity] = &[Quantity {
        name: "saturated",
        words: "saturated",
        about: "Whether less than a share of 0.97 of the load offered in the measured time was accepted in it.",
        shape: Shape::Flag,
        rank: Some(16),
        heading: Some("saturated"),
        value: |at| json!(at.saturated()),
        ..WHOLE
    }];
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_names_the_rule() {
        assert!(Saturation::QUANTITIES[0].about.contains(&SATURATED_BELOW.to_string()));
    }
}
