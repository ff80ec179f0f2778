//! Whether packets are delivered in the order of their generation.

use super::{Counts, Delivery};
use crate::engine::Tick;
use crate::measure::collector::Window;
use crate::measure::declare::{Quantity, WHOLE, When};
use crate::packet::Packet;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::HashMap;

/// Packets that were overtaken, if the run watches the order.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    watched: bool,
    /// Packets delivered after a later-generated packet from the same source to the same destination, since the start
    /// of the run.
    pub overtaken: u64,
    /// Tick of generation of the latest packet of each source and destination.
    #[serde(skip)]
    latest: HashMap<(u32, u32), Tick>,
}

impl Order {
    #[cold]
    #[inline(never)]
    fn watch(&mut self, packet: &Packet) {
        let latest = self.latest.entry((packet.source, packet.destination)).or_default();
        self.overtaken += u64::from(packet.birth < *latest);
        *latest = packet.birth.max(*latest);
    }
}

impl Counts for Order {
    const QUANTITIES: &'static [Quantity] = &[Quantity {
        name: "out_of_order",
        words: "packets out of order",
        about: "Packets delivered after a later-generated packet from the same source to the same destination, since \
                the start of the run.",
        there: When::Some("with `measure.order`"),
        value: |at| json!(at.window.order.then_some(at.counters.order.overtaken)),
        ..WHOLE
    }];

    fn new(window: &Window) -> Self {
        Self { watched: window.order, ..Self::default() }
    }

    #[inline]
    fn delivered(&mut self, it: &Delivery<'_>) {
        if self.watched {
            self.watch(it.packet);
        }
    }

    /// All packets to a destination are delivered in one partition, so `latest` stays with that partition.
    fn merge(&mut self, Self { watched: _, overtaken, latest: _ }: &Self) {
        self.overtaken += overtaken;
    }

    /// A hash table needs one byte more for each place.
    fn bytes(&self) -> usize {
        let Self { watched: _, overtaken: _, latest } = self;
        latest.capacity() * (size_of::<((u32, u32), Tick)>() + 1)
    }
}
