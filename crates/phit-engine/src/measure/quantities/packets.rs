//! Packets: those that were recorded and those that were lost.

use super::{Counts, Delivery};
use crate::engine::Tick;
use crate::measure::declare::{Quantity, WHOLE};
use crate::packet::Packet;
use serde_json::json;

/// Packets.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Packets {
    /// Recorded.
    pub recorded: u64,
    /// Phits of the recorded ones.
    pub recorded_phits: u64,
    /// Lost since the start of the run.
    pub lost: u64,
    /// Phits of the lost ones.
    pub lost_phits: u64,
}

impl Counts for Packets {
    const QUANTITIES: &'static [Quantity] = &[
        Quantity {
            name: "packets",
            words: "packets measured",
            about: "Recorded packets, which the latencies, hops and shares are about: those delivered in the measured \
                    time, or, with `measure.count = \"generated\"`, those generated in it that have been delivered.",
            rank: Some(13),
            value: |at| json!(at.counters.packets.recorded),
            ..WHOLE
        },
        Quantity {
            name: "packets_lost",
            words: "packets lost",
            about: "Packets lost since the start of the run: on links that broke, at endpoints that failed, and \
                    where no way was left.",
            value: |at| json!(at.counters.packets.lost),
            ..WHOLE
        },
    ];

    #[inline]
    fn recorded(&mut self, it: &Delivery<'_>, _when: Tick) {
        self.recorded += 1;
        self.recorded_phits += it.phits;
    }

    fn lost(&mut self, packet: &Packet, _now: Tick, _in_window: bool) {
        self.lost += 1;
        self.lost_phits += u64::from(packet.size);
    }

    fn merge(&mut self, Self { recorded, recorded_phits, lost, lost_phits }: &Self) {
        self.recorded += recorded;
        self.recorded_phits += recorded_phits;
        self.lost += lost;
        self.lost_phits += lost_phits;
    }
}
