//! Misrouting: packets that left their minimal routes.

use super::latency::PACKETS;
use super::{Counts, Delivery};
use crate::engine::Tick;
use crate::measure::declare::{NUMBER, Quantity, ratio, unit};
use crate::packet::{MISROUTED_AT_INJECTION, MISROUTED_GLOBALLY, MISROUTED_LOCALLY};
use serde::{Deserialize, Serialize};
use serde_json::json;

/// The recorded packets that left their minimal routes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Misrouting {
    /// In any way.
    pub anyhow: u64,
    /// Through an intermediate router or group.
    pub globally: u64,
    /// By a nonminimal hop within a group.
    pub locally: u64,
    /// At the head of their injection queue.
    pub at_injection: u64,
}

const SHARE: Quantity = Quantity { unit: unit::PACKETS, steady: true, there: PACKETS, ..NUMBER };

impl Counts for Misrouting {
    const QUANTITIES: &'static [Quantity] = &[
        Quantity {
            name: "misrouted",
            words: "misrouted packets",
            about: "Share of the recorded packets that left their minimal route in any way.",
            rank: Some(13),
            heading: Some("misrouted"),
            value: |at| json!(ratio(at.counters.misrouting.anyhow, at.counters.packets.recorded)),
            ..SHARE
        },
        Quantity {
            name: "misrouted_globally",
            words: "globally misrouted packets",
            about: "Share of the recorded packets that went through an intermediate router or group.",
            value: |at| json!(ratio(at.counters.misrouting.globally, at.counters.packets.recorded)),
            ..SHARE
        },
        Quantity {
            name: "misrouted_locally",
            words: "locally misrouted packets",
            about: "Share of the recorded packets that took a nonminimal hop within a group.",
            value: |at| json!(ratio(at.counters.misrouting.locally, at.counters.packets.recorded)),
            ..SHARE
        },
        Quantity {
            name: "misrouted_at_injection",
            words: "packets misrouted at injection",
            about: "Share of the recorded packets that left their minimal route at the head of their injection queue.",
            value: |at| json!(ratio(at.counters.misrouting.at_injection, at.counters.packets.recorded)),
            ..SHARE
        },
    ];

    #[inline]
    fn recorded(&mut self, it: &Delivery<'_>, _when: Tick) {
        let how = it.packet.detours();
        if how != 0 {
            self.anyhow += 1;
            self.globally += u64::from(how & MISROUTED_GLOBALLY != 0);
            self.locally += u64::from(how & MISROUTED_LOCALLY != 0);
            self.at_injection += u64::from(how & MISROUTED_AT_INJECTION != 0);
        }
    }

    fn merge(&mut self, Self { anyhow, globally, locally, at_injection }: &Self) {
        self.anyhow += anyhow;
        self.globally += globally;
        self.locally += locally;
        self.at_injection += at_injection;
    }
}
