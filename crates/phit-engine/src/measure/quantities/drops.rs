//! Packets dropped at their sources.

use super::Counts;
use crate::measure::declare::{Quantity, WHOLE};
use serde::{Deserialize, Serialize};
use serde_json::json;

/// Packets that found the admittance queues of their endpoint full.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Drops {
    /// Since the start of the run.
    pub packets: u64,
}

impl Counts for Drops {
    const QUANTITIES: &'static [Quantity] = &[Quantity {
        name: "dropped",
        words: "packets dropped at their sources",
        about: "Packets dropped since the start of the run: the admittance queues of their endpoint were full, or \
                their endpoint failed while they waited.",
        value: |at| json!(at.counters.drops.packets),
        ..WHOLE
    }];

    fn dropped(&mut self, _in_window: bool) {
        self.packets += 1;
    }

    fn merge(&mut self, Self { packets }: &Self) {
        self.packets += packets;
    }
}
