//! Precision of means: `measure.precision`.

use super::{Counts, Delivery, merge_bins, slot};
use crate::engine::{Bytes, Tick, bytes_of};
use crate::measure::collector::{Division, Window};
use crate::measure::confidence::{Batch, Estimate, estimate};
use crate::measure::declare::{Cell, Column, Table, When, list, unit};
use crate::measure::{Counters, Interval, Reading};
use crate::packet::Packet;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// Requested precision of means. Each value is the half-width of an interval relative to its mean, more than 0 and less
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
    /// Precision of the mean packet latency. If left out, none is required.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1))]
    pub latency_mean: Option<f64>,
    /// Precision of the mean network latency: the time after the head has left its injection queue. If left out, none
    /// is required.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1))]
    pub network_latency_mean: Option<f64>,
    /// Precision of the accepted load. If left out, none is required.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1))]
    pub accepted_load: Option<f64>,
    /// Precision of the mean number of hops. If left out, none is required.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1))]
    pub hops_mean: Option<f64>,
}

/// Batches of a run with a requested precision; empty otherwise.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Precisions {
    /// How the window is divided into bins; `None` if no precision is requested.
    division: Option<Division>,
    /// Bins in order of time; the last may be incomplete.
    pub bins: Vec<Sums>,
}

/// Sums of a batch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sums {
    /// Recorded packets.
    packets: u64,
    /// Sum of their latencies in cycles.
    latency: u64,
    /// Sum of their network latencies in cycles.
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

/// A mean whose precision can be requested.
struct Mean {
    /// Its name in the summary.
    name: &'static str,
    /// The requested precision.
    aim: fn(&Precision) -> Option<f64>,
    /// The values that the mean is taken of, for a batch of the given number of ticks.
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

/// The precision that a mean has reached.
struct Reached {
    name: &'static str,
    aim: f64,
    estimate: Estimate,
}

impl Reached {
    fn interval(&self) -> Option<&Interval> {
        self.estimate.interval.as_ref().ok()
    }

    fn met(&self) -> bool {
        self.estimate.interval.is_ok_and(|interval| interval.relative() <= self.aim)
    }
}

impl Precisions {
    /// Counts a recorded packet. Few runs need it, so it is kept out of the function that counts everything. Values are
    /// passed one by one, so that the caller need not store the delivery in memory.
    #[inline(never)]
    fn add(&mut self, packet: &Packet, latency: u64, network: u64, batch: u32) {
        let bin = slot(&mut self.bins, batch);
        bin.packets += 1;
        bin.latency += latency;
        bin.network += network;
        bin.hops += u64::from(packet.hops.total());
    }

    #[inline(never)]
    fn add_phits(&mut self, phits: u64, division: Division, at: Tick) {
        slot(&mut self.bins, division.place(at)).phits += phits;
    }

    /// The precision reached after `cycles` measured cycles, for all requested means.
    fn reached(&self, window: &Window, cycles: u32, asked: &Precision, confidence: f64) -> Vec<Reached> {
        let Some(division) = self.division else { return Vec::new() };
        let ticks = cycles * window.ticks_per_cycle;
        // Empty bins at the end of the window are not stored, but they count.
        let bin = |place: usize| self.bins.get(place).copied().unwrap_or_default();
        let of = |mean: &Mean| {
            let aim = (mean.aim)(asked)?;
            let bins = division.complete(ticks).map(|(place, width)| (mean.batch)(&bin(place), width.into()));
            let bins = bins.collect::<Vec<Batch>>();
            let estimate = match mean.name {
                "accepted_load" => window.accepted(&bins, cycles, confidence),
                _ => estimate(&bins, confidence),
            };
            Some(Reached { name: mean.name, aim, estimate })
        };
        MEANS.iter().filter_map(of).collect()
    }

    /// True if all means have the requested precision.
    pub(crate) fn met(counters: &Counters, window: &Window, cycles: u32, asked: &Precision, confidence: f64) -> bool {
        let reached = counters.precision.reached(window, cycles, asked, confidence);
        reached.iter().all(Reached::met)
    }
}

impl Reading<'_> {
    /// The precision reached. The accepted load has the interval that it has everywhere.
    fn precision(&self) -> Vec<Reached> {
        let Some(asked) = self.precision else { return Vec::new() };
        let mut reached = self.counters.precision.reached(self.window, self.simulated(), asked, self.confidence);
        for one in reached.iter_mut().filter(|one| one.name == "accepted_load") {
            one.estimate.interval = self.load_interval().map(|(interval, _)| interval);
        }
        reached
    }

    /// Whether the run became as precise as requested. Only at its end is it known how much the backlog has grown,
    /// which makes the interval of the accepted load wider.
    pub(super) fn is_precise(&self) -> Option<bool> {
        self.converged.map(|converged| converged && self.precision().iter().all(Reached::met))
    }
}

impl Counts for Precisions {
    const TABLES: &'static [Table] = &[Table {
        name: "precision",
        about: "How precisely the means are known that `measure.precision` names, one row each.",
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
                about: "Relative half width at the end of the run; its level is `measure.confidence`.",
                cell: Cell::Number,
                values: |at| list(at.precision().iter().map(|one| json!(one.interval().map(|i| i.relative())))),
            },
            Column {
                name: "met",
                words: "met",
                unit: unit::NONE,
                about: "Whether the mean has an interval that is as narrow as requested.",
                cell: Cell::Flag,
                values: |at| list(at.precision().iter().map(Reached::met)),
            },
            Column {
                name: "half_width",
                words: "half width of the interval",
                unit: unit::NONE,
                about: "Half width of the interval in the unit of the mean; empty if there is none.",
                cell: Cell::Number,
                values: |at| list(at.precision().iter().map(|one| json!(one.interval().map(|i| i.half_width)))),
            },
            Column {
                name: "batches",
                words: "batches",
                unit: unit::NONE,
                about: "Batches whose variance gives the interval.",
                cell: Cell::Whole,
                values: |at| list(at.precision().iter().map(|one| json!(one.interval().map(|_| one.estimate.batches)))),
            },
            Column {
                name: "correlation",
                words: "correlation of neighbouring batches",
                unit: unit::NONE,
                about: "Correlation of neighbours among these batches.",
                cell: Cell::Number,
                values: |at| {
                    list(at.precision().iter().map(|one| json!(one.interval().map(|_| one.estimate.correlation))))
                },
            },
        ],
    }];

    fn new(window: &Window) -> Self {
        Self { division: window.precise.then_some(window.division), bins: Vec::new() }
    }

    #[inline]
    fn delivered(&mut self, it: &Delivery<'_>) {
        if let (Some(division), Some(at)) = (self.division, it.in_window) {
            self.add_phits(it.phits, division, at);
        }
    }

    #[inline]
    fn recorded(&mut self, it: &Delivery<'_>, when: Tick) {
        if let Some(division) = self.division {
            self.add(it.packet, it.latency, it.network_latency, division.place(when));
        }
    }

    fn merge(&mut self, Self { division: _, bins }: &Self) {
        merge_bins(&mut self.bins, bins, Sums::add);
    }

    fn bytes(&self) -> usize {
        bytes_of!(self, Self { bins; division })
    }
}
