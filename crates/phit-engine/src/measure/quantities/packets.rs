//! Packets: those that were recorded and those that were lost.

use super::{Counts, Delivery};
use crate::engine::Tick;
use crate::measure::declare::{Quantity, WHOLE};
use crate::packet::{DETOURED, Packet};
use serde::{Deserialize, Serialize};
use serde_json::json;

/// Numbers of packets.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Packets {
    /// Recorded packets.
    pub recorded: u64,
    /// Phits of the recorded packets.
    pub recorded_phits: u64,
    /// Packets lost since the start of the run.
    pub lost: u64,
    /// Phits of the lost packets.
    pub lost_phits: u64,
    /// Packets sent again since the start of the run.
    pub repeated: u64,
    /// Phits of the packets sent again.
    pub repeated_phits: u64,
    /// Recorded packets that took a detour around a fault.
    pub detoured: u64,
}

impl Packets {
    /// A packet of `phits` is sent again.
    pub fn sent_again(&mut self, phits: u16) {
        self.repeated += 1;
        self.repeated_phits += u64::from(phits);
    }
}

impl Counts for Packets {
    const QUANTITIES: &'static [Quantity] = &[
        Quantity {
            name: "packets",
            words: "packets measured",
            about: "Recorded packets: the packets that latencies, hops and shares describe. They are the packets \
                    delivered in the measured time, or, with `measure.count = \"generated\"`, the packets generated in \
                    it and delivered.",
            rank: Some(14),
            value: |at| json!(at.counters.packets.recorded),
            ..WHOLE
        },
        Quantity {
            name: "packets_lost",
            words: "packets lost",
            about: "Packets lost since the start of the run: on broken links, at failed endpoints, and where no route \
                    was left. Where sources send packets again, only packets that were given up count.",
            value: |at| json!(at.counters.packets.lost),
            ..WHOLE
        },
        Quantity {
            name: "packets_retransmitted",
            words: "packets sent again",
            about: "Number of times that sources have sent a lost packet again, since the start of the run.",
            value: |at| json!(at.counters.packets.repeated),
            ..WHOLE
        },
        Quantity {
            name: "packets_detoured",
            words: "packets on detours",
            about: "Recorded packets that took a detour around a fault on their last way.",
            value: |at| json!(at.counters.packets.detoured),
            ..WHOLE
        },
    ];

    #[inline]
    fn recorded(&mut self, it: &Delivery<'_>, _when: Tick) {
        self.recorded += 1;
        self.recorded_phits += it.phits;
        self.detoured += u64::from(it.packet.misrouted & DETOURED != 0);
    }

    fn lost(&mut self, packet: &Packet, _now: Tick, _in_window: bool) {
        self.lost += 1;
        self.lost_phits += u64::from(packet.size);
    }

    fn merge(&mut self, other: &Self) {
        let Self { recorded, recorded_phits, lost, lost_phits, repeated, repeated_phits, detoured } = other;
        self.recorded += recorded;
        self.recorded_phits += recorded_phits;
        self.lost += lost;
        self.lost_phits += lost_phits;
        self.repeated += repeated;
        self.repeated_phits += repeated_phits;
        self.detoured += detoured;
    }
}
