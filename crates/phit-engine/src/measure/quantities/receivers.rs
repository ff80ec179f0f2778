//! Receivers that deliver packets in order: their memory, and the time that order takes.

use super::Counts;
use crate::engine::Tick;
use crate::measure::Reading;
use crate::measure::declare::{NUMBER, Quantity, WHOLE, When, ratio, unit};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// What receivers have counted, since the start of the run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receivers {
    /// Endpoints of the network that deliver in order; 0 if they count bytes.
    endpoints: u64,
    /// Packets that have waited for earlier ones.
    waited: u64,
    /// Sum of their waiting times in ticks.
    ticks: u64,
    /// Sum of these times, multiplied by the phits of the packets.
    phit_ticks: u64,
    /// Most phits that have waited at an endpoint at once.
    most: u32,
    /// Packets that have been refused.
    refused: u64,
    /// Messages delivered.
    messages: u64,
    /// Sum of their times, in ticks, between the arrival of the last packet and delivery.
    late: u64,
    /// The largest of these times.
    latest: Tick,
}

impl Receivers {
    /// `endpoints` endpoints deliver in order.
    pub fn deliver_in_order(&mut self, endpoints: usize) {
        self.endpoints = endpoints as u64;
    }

    /// A packet of `phits` has waited for `ticks`.
    pub fn packet_waited(&mut self, phits: u16, ticks: Tick) {
        self.waited += 1;
        self.ticks += u64::from(ticks);
        self.phit_ticks += u64::from(phits) * u64::from(ticks);
    }

    /// Packets of so many `phits` wait at an endpoint.
    pub fn holds(&mut self, phits: u32) {
        self.most = self.most.max(phits);
    }

    /// A packet has been refused.
    pub fn packet_refused(&mut self) {
        self.refused += 1;
    }

    /// A message has been delivered, `ticks` after its last packet has come.
    pub fn message_delivered(&mut self, ticks: Tick) {
        self.messages += 1;
        self.late += u64::from(ticks);
        self.latest = self.latest.max(ticks);
    }
}

impl Reading<'_> {
    /// A value of receivers, if they deliver in order.
    fn of_receivers(&self, value: impl Fn(&Receivers) -> Value) -> Value {
        let receivers = &self.counters.receivers;
        if receivers.endpoints > 0 { value(receivers) } else { Value::Null }
    }

    fn cycles_of(&self, ticks: u64, count: u64) -> Value {
        json!(ratio(ticks, count * u64::from(self.window.ticks_per_cycle)))
    }
}

const IN_ORDER: When = When::Some("with `workload.reorder`");

const TIME: Quantity = Quantity { unit: unit::CYCLES, time: true, there: IN_ORDER, ..NUMBER };

impl Counts for Receivers {
    const QUANTITIES: &'static [Quantity] = &[
        Quantity {
            name: "packets_waited",
            words: "packets that waited for order",
            about: "Packets that have waited at receivers for an earlier packet, since the start of the run.",
            there: IN_ORDER,
            value: |at| at.of_receivers(|it| json!(it.waited)),
            ..WHOLE
        },
        Quantity {
            name: "packets_refused",
            words: "packets refused",
            about: "Packets that receivers have refused for want of memory, since the start of the run. Their sources \
                    send them again.",
            there: IN_ORDER,
            value: |at| at.of_receivers(|it| json!(it.refused)),
            ..WHOLE
        },
        Quantity {
            name: "reorder_memory_mean",
            words: "mean memory for reordering",
            unit: unit::PHITS,
            about: "Phits that wait at a receiver for earlier packets, on average over the endpoints of the program \
                    and over time.",
            there: IN_ORDER,
            value: |at| {
                let ticks = at.ticks();
                at.of_receivers(|it| json!(ratio(it.phit_ticks, it.endpoints * ticks)))
            },
            ..NUMBER
        },
        Quantity {
            name: "reorder_memory_max",
            words: "largest memory for reordering",
            unit: unit::PHITS,
            about: "Most phits that waited at one receiver at once.",
            there: IN_ORDER,
            value: |at| at.of_receivers(|it| json!(it.most)),
            ..WHOLE
        },
        Quantity {
            name: "reorder_wait_mean",
            words: "mean wait of a packet for order",
            about: "Mean time that packets waited at receivers for earlier packets, over those that waited.",
            value: |at| at.of_receivers(|it| at.cycles_of(it.ticks, it.waited)),
            ..TIME
        },
        Quantity {
            name: "order_delay_mean",
            words: "mean delay of a message by order",
            about: "Mean time from the arrival of the last byte of a message until its delivery. Order takes this \
                    time: the message waits for earlier messages of its sender.",
            value: |at| at.of_receivers(|it| at.cycles_of(it.late, it.messages)),
            ..TIME
        },
        Quantity {
            name: "order_delay_max",
            words: "largest delay of a message by order",
            about: "The largest of these times.",
            value: |at| at.of_receivers(|it| at.cycles_of(it.latest.into(), 1)),
            ..TIME
        },
    ];

    fn merge(&mut self, other: &Self) {
        let Self { endpoints, waited, ticks, phit_ticks, most, refused, messages, late, latest } = other;
        self.endpoints = self.endpoints.max(*endpoints);
        self.waited += waited;
        self.ticks += ticks;
        self.phit_ticks += phit_ticks;
        self.most = self.most.max(*most);
        self.refused += refused;
        self.messages += messages;
        self.late += late;
        self.latest = self.latest.max(*latest);
    }
}
