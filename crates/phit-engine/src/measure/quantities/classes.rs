//! Classes of packets, each by itself.

use super::{Counts, Delivery};
use crate::engine::Tick;
use crate::measure::collector::Window;
use crate::measure::declare::{Cell, Cells, Column, Table, When, list, ratio, unit};
use crate::measure::{Histogram, Reading};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The counters of each class; empty if all packets are alike.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Classes {
    of: Vec<Class>,
}

/// The counters of one class.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct Class {
    /// Phits of randomly drawn packets generated in the measured time.
    drawn: u64,
    /// Phits of all packets generated in the measured time; known at its end.
    offered: u64,
    /// Phits delivered in the measured time.
    delivered: u64,
    /// Recorded packets.
    packets: u64,
    /// Sum of the recorded packets' latencies in ticks.
    latency: u64,
    /// Sum of their network latencies: the time after the head left its injection queue.
    network: u64,
    /// Sum of their hops over links between routers.
    hops: u64,
    /// Histogram of their latencies, if asked for.
    histogram: Option<Histogram>,
}

impl Classes {
    /// A packet of a class is generated in the measured time.
    pub fn drawn(&mut self, class: usize, phits: u16) {
        self.of[class].drawn += u64::from(phits);
    }

    /// A packet moves into or out of the measured time, because its start or end moves.
    pub fn moved(&mut self, class: usize, phits: u16, before: bool, now: bool) {
        let drawn = &mut self.of[class].drawn;
        *drawn = *drawn + u64::from(phits) * u64::from(now) - u64::from(phits) * u64::from(before);
    }

    /// The measured time ends: `phits` of a class were generated in it without a random draw.
    pub fn closed(&mut self, class: usize, phits: u64) {
        self.of[class].offered = self.of[class].drawn + phits;
    }
}

impl Reading<'_> {
    fn of_classes<T: Serialize>(&self, value: impl Fn(&Class) -> T) -> Cells {
        list(self.counters.classes.of.iter().map(value))
    }

    fn class_load(&self, phits: u64) -> Value {
        json!(phits as f64 / self.full_load())
    }
}

const LOAD: Column =
    Column { name: "", words: "", unit: unit::LOAD, about: "", cell: Cell::Number, values: |_| Cells::ABSENT };

const LATENCY: Column = Column { unit: unit::CYCLES, ..LOAD };

impl Counts for Classes {
    const TABLES: &'static [Table] = &[Table {
        name: "classes",
        about: "One row for each class of packets.",
        there: When::Some("with `traffic.classes`"),
        asked: |at| !at.classes.is_empty(),
        columns: &[
            Column {
                name: "class",
                words: "class",
                unit: unit::NONE,
                about: "Name or number of the class.",
                cell: Cell::Text,
                values: |at| list(at.classes.iter().map(String::as_str)),
            },
            Column {
                name: "offered_load",
                words: "offered load",
                about: "Load that was generated in the measured time.",
                values: |at| at.of_classes(|class| at.class_load(class.offered)),
                ..LOAD
            },
            Column {
                name: "accepted_load",
                words: "accepted load",
                about: "Load that was delivered in the measured time.",
                values: |at| at.of_classes(|class| at.class_load(class.delivered)),
                ..LOAD
            },
            Column {
                name: "packets",
                words: "packets",
                unit: unit::NONE,
                about: "Recorded packets.",
                cell: Cell::Whole,
                values: |at| at.of_classes(|class| class.packets),
            },
            Column {
                name: "latency_mean",
                words: "mean packet latency",
                about: "Mean over the recorded packets of the time from generation to the arrival of the last phit.",
                values: |at| at.of_classes(|class| json!(ratio(class.latency, class.packets))),
                ..LATENCY
            },
            Column {
                name: "network_latency_mean",
                words: "mean latency in the network",
                about: "Mean network latency: the time after the head has left its injection queue.",
                values: |at| at.of_classes(|class| json!(ratio(class.network, class.packets))),
                ..LATENCY
            },
            Column {
                name: "latency_p99",
                words: "99th percentile of packet latency",
                about: "99 percent of the recorded packets took at most this long; with `measure.histogram`.",
                cell: Cell::Whole,
                values: |at| at.of_classes(|class| json!(class.histogram.as_ref().and_then(|it| it.quantile(0.99)))),
                ..LATENCY
            },
            Column {
                name: "hops_mean",
                words: "mean hops",
                unit: unit::LINKS,
                about: "Mean length of the paths of the recorded packets.",
                values: |at| at.of_classes(|class| json!(ratio(class.hops, class.packets))),
                ..LOAD
            },
        ],
    }];

    fn new(window: &Window) -> Self {
        let class = Class { histogram: window.histogram.then(Histogram::new), ..Class::default() };
        Self { of: vec![class; window.classes] }
    }

    #[inline]
    fn delivered(&mut self, it: &Delivery<'_>) {
        if let (Some(class), Some(_)) = (self.of.get_mut(usize::from(it.packet.class())), it.in_window) {
            class.delivered += it.phits;
        }
    }

    #[inline]
    fn recorded(&mut self, it: &Delivery<'_>, _when: Tick) {
        let Some(class) = self.of.get_mut(usize::from(it.packet.class())) else { return };
        class.packets += 1;
        class.latency += it.latency;
        class.network += it.network_latency;
        class.hops += u64::from(it.packet.hops.total());
        if let Some(histogram) = &mut class.histogram {
            histogram.record(it.latency);
        }
    }

    fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.of.iter_mut().zip(&other.of) {
            let Class { drawn, offered, delivered, packets, latency, network, hops, histogram } = theirs;
            mine.drawn += drawn;
            mine.offered += offered;
            mine.delivered += delivered;
            mine.packets += packets;
            mine.latency += latency;
            mine.network += network;
            mine.hops += hops;
            if let (Some(mine), Some(theirs)) = (&mut mine.histogram, histogram) {
                mine.merge(theirs);
            }
        }
    }

    fn bytes(&self) -> usize {
        let histograms = self.of.iter().filter_map(|class| class.histogram.as_ref()).map(Histogram::bytes);
        self.of.capacity() * size_of::<Class>() + histograms.sum::<usize>()
    }
}
