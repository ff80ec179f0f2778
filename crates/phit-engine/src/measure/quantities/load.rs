//! Loads: offered and accepted.

use super::{Counts, Delivery};
use crate::measure::declare::{NUMBER, Of, Quantity, When, unit};
use serde::{Deserialize, Serialize};
use serde_json::json;

/// Phits delivered in the window, whenever they were generated.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Load {
    /// Phits.
    pub delivered_phits: u64,
}

impl Counts for Load {
    const QUANTITIES: &'static [Quantity] = &[
        Quantity {
            name: "offered_load",
            words: "offered load",
            unit: unit::LOAD,
            about: "Phits generated in the measured time, sent or not.",
            rank: Some(4),
            steady: true,
            value: |at| json!(at.offered_load()),
            ..NUMBER
        },
        Quantity {
            name: "accepted_load",
            words: "accepted load",
            unit: unit::LOAD,
            about: "Phits delivered in the measured time, no matter when they were generated.",
            interval: Some("accepted_ci"),
            rank: Some(5),
            steady: true,
            heading: Some("accepted"),
            value: |at| json!(at.accepted_load()),
            ..NUMBER
        },
        Quantity {
            name: "bisection_load",
            words: "load that saturates the bisection",
            unit: unit::LOAD,
            about: "The load of uniform traffic that fills the links between the halves of the network.",
            of: Of::Scenario,
            rank: Some(6),
            there: When::Some("of networks whose bisection is known"),
            value: |at| json!(at.bisection_load),
            ..NUMBER
        },
    ];

    #[inline]
    fn delivered(&mut self, it: &Delivery<'_>) {
        if it.in_window.is_some() {
            self.delivered_phits += it.phits;
        }
    }

    fn merge(&mut self, Self { delivered_phits }: &Self) {
        self.delivered_phits += delivered_phits;
    }
}

impl crate::measure::Reading<'_> {
    /// Generated load in the measured window, in phits/(endpoint·cycle).
    pub fn offered_load(&self) -> f64 {
        self.after.offered as f64 / self.full_load()
    }

    /// Delivered load in the measured window, in phits/(endpoint·cycle).
    pub fn accepted_load(&self) -> f64 {
        self.counters.load.delivered_phits as f64 / self.full_load()
    }
}
