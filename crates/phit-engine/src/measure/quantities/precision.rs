//! How precisely means are known, with the correlation of neighbouring batches tested: `measure.precision`.

use super::{Counts, Delivery, merge_bins, slot};
use crate::engine::{Bytes, Tick, bytes_of};
use crate::measure::collector::Window;
use crate::measure::confidence::{Batch, Estimate, mean_of_correlated};
use crate::measure::declare::{Cell, Column, Table, When, list, unit};
use crate::measure::{Counters, Reading};
use crate::packet::Packet;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// How precisely means are to be known: half widths of their intervals relative to the means, each more than 0 and less
/// than 1. The level of the intervals is `measure.confidence`.
///
/// ```toml
/// [measure]
/// cycles = 5000
/// precision = { latency_mean = 0.01, accepted_load = 0.005 }
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(inline)]
pub struct Precision {
    /// Of the mean packet latency. If left out, it is not asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1))]
    pub latency_mean: Option<f64>,
    /// Of the part of it after the head has left its injection queue. If left out, it is not asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1))]
    pub network_latency_mean: Option<f64>,
    /// Of the accepted load. If left out, it is not asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1))]
    pub accepted_load: Option<f64>,
    /// Of the mean number of hops. If left out, it is not asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1))]
    pub hops_mean: Option<f64>,
}

/// The batches of a run that is to be precise; empty of any other.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Precisions {
    /// Ticks of a batch; 0 if nobody asks.
    width: Tick,
    /// In their order; the last may not have ended.
    pub bins: Vec<Sums>,
}

/// What a batch has counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sums {
    /// Recorded packets.
    packets: u64,
    /// Sum of their latencies in cycles.
    latency: u64,
    /// The same from their injection on.
    network: u64,
    /// Sum of their hops.
    hops: u64,
    /// Phits delivered in this time, whenever generated.
    phits: u64,
}

impl Sums {
    fn add(&mut self, Self { packets, latency, network, hops, phits }: &Self) {
        self.packets += packets;
        self.latency += latency;
        self.network += network;
        self.hops += hops;
        self.phits += phits;
    }
}

/// A mean whose precision may be asked for.
struct Mean {
    /// Its name in the summary.
    name: &'static str,
    /// What is asked for.
    aim: fn(&Precision) -> Option<f64>,
    /// What it is the mean of, of a batch of so many endpoint cycles.
    batch: fn(&Sums, u64) -> Batch,
}

const MEANS: &[Mean] = &[
    Mean {
        name: "latency_mean",
        aim: |precision| precision.latency_mean,
        batch: |of, _| Batch { sum: of.latency, count: of.packets },
    },
    Mean {
        name: "network_latency_mean",
        aim: |precision| precision.network_latency_mean,
        batch: |of, _| Batch { sum: of.network, count: of.packets },
    },
    Mean {
        name: "accepted_load",
        aim: |precision| precision.accepted_load,
        batch: |of, time| Batch { sum: of.phits, count: time },
    },
    Mean {
        name: "hops_mean",
        aim: |precision| precision.hops_mean,
        batch: |of, _| Batch { sum: of.hops, count: of.packets },
    },
];

/// How precisely a mean is known.
struct Reached {
    name: &'static str,
    aim: f64,
    /// `None` without recorded packets.
    estimate: Option<Estimate>,
}

impl Reached {
    fn met(&self) -> bool {
        self.estimate.is_some_and(|estimate| estimate.independent && estimate.interval.relative() <= self.aim)
    }
}

impl Precisions {
    /// Counts a recorded packet. What few runs ask for is kept out of the function that counts everything, here and
    /// in the next; values are handed on one by one, so that the delivery itself need not be laid out.
    #[inline(never)]
    fn add(&mut self, packet: &Packet, latency: u64, network: u64, batch: u32) {
        let bin = slot(&mut self.bins, batch);
        bin.packets += 1;
        bin.latency += latency;
        bin.network += network;
        bin.hops += u64::from(packet.hops.total());
    }

    #[inline(never)]
    fn add_phits(&mut self, phits: u64, batch: u32) {
        slot(&mut self.bins, batch).phits += phits;
    }

    /// What is reached after so many measured cycles, of all that is asked for.
    fn reached(&self, window: &Window, cycles: u32, asked: &Precision, confidence: f64) -> Vec<Reached> {
        let complete = (cycles * window.ticks_per_cycle / window.batch) as usize;
        let time = (f64::from(window.batch / window.ticks_per_cycle) * window.load.of_all()).round() as u64;
        // A batch in which nothing was delivered at the end of the window is not there, but counts.
        let bins = (0..complete).map(|i| self.bins.get(i).copied().unwrap_or_default());
        let of = |mean: &Mean| {
            let aim = (mean.aim)(asked)?;
            let batches: Vec<Batch> = bins.clone().map(|bin| (mean.batch)(&bin, time)).collect();
            Some(Reached { name: mean.name, aim, estimate: mean_of_correlated(&batches, confidence) })
        };
        MEANS.iter().filter_map(of).collect()
    }

    /// True if all means are known as precisely as asked for.
    pub(crate) fn met(counters: &Counters, window: &Window, cycles: u32, asked: &Precision, confidence: f64) -> bool {
        let reached = counters.precision.reached(window, cycles, asked, confidence);
        reached.iter().all(Reached::met)
    }
}

impl Reading<'_> {
    fn precision(&self) -> Vec<Reached> {
        let Some(asked) = self.precision else { return Vec::new() };
        self.counters.precision.reached(self.window, self.cycles, asked, self.confidence)
    }
}

impl Counts for Precisions {
    const TABLES: &'static [Table] = &[Table {
        name: "precision",
        about: "How precisely the means are known that `measure.precision` names, one row each. Batches that are \
                significantly correlated with their neighbours are merged by two, as long as 10 are left.",
        there: When::Some("with `measure.precision`"),
        asked: |at| at.precision.is_some(),
        columns: &[
            Column {
                name: "quantity",
                words: "quantity",
                unit: unit::NONE,
                about: "Name of the mean in the summary.",
                cell: Cell::Text,
                values: |at| list(at.precision().iter().map(|one| one.name)),
            },
            Column {
                name: "aim",
                words: "relative half width asked for",
                unit: unit::NONE,
                about: "Half width of the interval relative to the mean that `measure.precision` asks for.",
                cell: Cell::Number,
                values: |at| list(at.precision().iter().map(|one| one.aim)),
            },
            Column {
                name: "reached",
                words: "relative half width reached",
                unit: unit::NONE,
                about: "The same as it is at the end of the run; its level is `measure.confidence`.",
                cell: Cell::Number,
                values: |at| list(at.precision().iter().map(|one| json!(one.estimate.map(|e| e.interval.relative())))),
            },
            Column {
                name: "met",
                words: "met",
                unit: unit::NONE,
                about: "Whether it is as narrow as asked for, and the batches no longer correlated.",
                cell: Cell::Flag,
                values: |at| list(at.precision().iter().map(Reached::met)),
            },
            Column {
                name: "half_width",
                words: "half width of the interval",
                unit: unit::NONE,
                about: "Half width of the interval in the unit of the mean.",
                cell: Cell::Number,
                values: |at| list(at.precision().iter().map(|one| json!(one.estimate.map(|e| e.interval.half_width)))),
            },
            Column {
                name: "batches",
                words: "batches",
                unit: unit::NONE,
                about: "Batches that were left after merging, from which the interval is made.",
                cell: Cell::Whole,
                values: |at| list(at.precision().iter().map(|one| json!(one.estimate.map(|e| e.batches)))),
            },
            Column {
                name: "correlation",
                words: "correlation of neighbouring batches",
                unit: unit::NONE,
                about: "Correlation of neighbours among these batches.",
                cell: Cell::Number,
                values: |at| list(at.precision().iter().map(|one| json!(one.estimate.map(|e| e.correlation)))),
            },
        ],
    }];

    fn new(window: &Window) -> Self {
        Self { width: if window.precise { window.batch } else { 0 }, bins: Vec::new() }
    }

    #[inline]
    fn delivered(&mut self, it: &Delivery<'_>) {
        if let Some(batch) = it.in_window.and_then(|at| at.checked_div(self.width)) {
            self.add_phits(it.phits, batch);
        }
    }

    #[inline]
    fn recorded(&mut self, it: &Delivery<'_>, when: Tick) {
        if let Some(batch) = when.checked_div(self.width) {
            self.add(it.packet, it.latency, it.network_latency, batch);
        }
    }

    fn merge(&mut self, Self { width: _, bins }: &Self) {
        merge_bins(&mut self.bins, bins, Sums::add);
    }

    fn bytes(&self) -> usize {
        bytes_of!(self, Self { bins; width })
    }
}
