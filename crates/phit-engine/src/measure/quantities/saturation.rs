//! Saturation: the one rule by which a run is called saturated.

use super::Counts;
use crate::measure::declare::{Quantity, Shape, WHOLE};
use serde::{Deserialize, Serialize};
use serde_json::json;

/// A run is saturated if its accepted load, with the load that was lost, is less than this share of the offered load.
/// All three belong to the measured time.
pub(crate) const SATURATED_BELOW: f64 = 0.97;

/// Has no counters.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Saturation;

impl Counts for Saturation {
    const QUANTITIES: &'static [Quantity] = &[Quantity {
        name: "saturated",
        words: "saturated",
        about: "Whether the accepted load, with the load that was lost, is less than a share of 0.97 of the load \
                offered in the measured time.",
        shape: Shape::Flag,
        rank: Some(17),
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
