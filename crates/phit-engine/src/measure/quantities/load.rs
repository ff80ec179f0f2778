//! Loads: offered, accepted and lost.

use super::{Counts, Delivery};
use crate::measure::declare::{NUMBER, Of, Quantity, When, unit};
use serde::{Deserialize, Serialize};
use serde_json::json;

/// Phits delivered and lost in the window, whenever they were generated.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Load {
    /// Phits delivered.
    pub delivered_phits: u64,
    /// Phits lost, as the packets of `packets_lost`.
    pub lost_phits: u64,
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
            name: "lost_load",
            words: "lost load",
            unit: unit::LOAD,
            about: "Phits lost in the measured time, no matter when they were generated: see `packets_lost`.",
            rank: Some(6),
            steady: true,
            there: When::Some("of runs that lost packets in the measured time"),
            value: |at| json!((at.counters.load.lost_phits > 0).then(|| at.lost_load())),
            ..NUMBER
        },
        Quantity {
            name: "bisection_load",
            words: "load that saturates the bisection",
            unit: unit::LOAD,
            about: "The load of uniform traffic that fills the links between the halves of the network.",
            of: Of::Scenario,
            rank: Some(7),
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

    fn merge(&mut self, Self { delivered_phits, lost_phits }: &Self) {
        self.delivered_phits += delivered_phits;
        self.lost_phits += lost_phits;
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

    /// Load lost in the measured window, in phits/(endpoint·cycle).
    pub fn lost_load(&self) -> f64 {
        self.counters.load.lost_phits as f64 / self.full_load()
    }
}
