//! What a run itself goes by: whether anything moves, has settled, and has arrived. No quantity of the result is made
//! of it.

use super::{Counts, Delivery};
use crate::engine::Tick;
use crate::packet::Packet;
use serde::{Deserialize, Serialize};

/// Everything delivered, and what has become of the packets generated in the window.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flow {
    /// Packets delivered since the start of the run.
    pub packets: u64,
    /// Their phits.
    pub phits: u64,
    /// The sum of their latencies in cycles.
    pub latency: u64,
    /// Packets generated in the window, as far as the sources have been drawn.
    pub generated_packets: u64,
    /// Their phits.
    pub generated_phits: u64,
    /// Those of them that have been delivered, or dropped.
    pub generated_delivered: u64,
    /// Those of them that have been lost on links that broke.
    pub generated_lost: u64,
}

impl Flow {
    /// Adds what others have counted.
    pub(crate) fn add(&mut self, other: &Self) {
        self.merge(other);
    }

    /// A packet that was counted as generated is beyond the end of the window, which has moved to an earlier tick.
    pub(crate) fn not_generated(&mut self, phits: u16) {
        self.generated_packets -= 1;
        self.generated_phits -= u64::from(phits);
    }
}

impl Counts for Flow {
    #[inline]
    fn generated(&mut self, phits: u16) {
        self.generated_packets += 1;
        self.generated_phits += u64::from(phits);
    }

    fn dropped(&mut self, in_window: bool) {
        self.generated_delivered += u64::from(in_window);
    }

    fn lost(&mut self, _packet: &Packet, _now: Tick, in_window: bool) {
        self.generated_lost += u64::from(in_window);
    }

    #[inline]
    fn delivered(&mut self, it: &Delivery<'_>) {
        self.packets += 1;
        self.phits += it.phits;
        self.latency += it.latency;
        self.generated_delivered += u64::from(it.born_in_window);
    }

    fn merge(&mut self, other: &Self) {
        let Self { packets, phits, latency, generated_packets, generated_phits, generated_delivered, generated_lost } =
            other;
        self.packets += packets;
        self.phits += phits;
        self.latency += latency;
        self.generated_packets += generated_packets;
        self.generated_phits += generated_phits;
        self.generated_delivered += generated_delivered;
        self.generated_lost += generated_lost;
    }
}
