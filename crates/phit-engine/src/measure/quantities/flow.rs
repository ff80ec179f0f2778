//! Counters for the control of a run: is anything moving, has the network settled, have the packets arrived? They enter
//! no quantity of the result.

use super::{Counts, Delivery};
use crate::engine::Tick;
use crate::packet::Packet;
use serde::{Deserialize, Serialize};

/// All deliveries, and the fate of the packets generated in the window.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flow {
    /// Packets delivered since the start of the run.
    pub packets: u64,
    /// Their phits.
    pub phits: u64,
    /// The sum of their latencies in cycles.
    pub latency: u64,
    /// Packets generated in the window, up to the time to which sources have been drawn.
    pub generated_packets: u64,
    /// Their phits.
    pub generated_phits: u64,
    /// Packets generated in the window that have been delivered or dropped.
    pub generated_delivered: u64,
    /// Packets generated in the window that have been lost on broken links.
    pub generated_lost: u64,
}

impl Flow {
    /// Adds the counts of another part.
    pub(crate) fn add(&mut self, other: &Self) {
        self.merge(other);
    }

    /// A packet already counted as generated falls out of the window, whose end has moved to an earlier tick.
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
