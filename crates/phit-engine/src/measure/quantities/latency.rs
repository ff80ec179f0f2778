//! Latency: the time from the generation of a packet to the arrival of its last phit.

use super::{Counts, Delivery};
use crate::engine::Tick;
use crate::measure::collector::Window;
use crate::measure::declare::{Cell, Column, NUMBER, Of, Quantity, Shape, TEXT, Table, WHOLE, When, list, ratio, unit};
use crate::measure::{Histogram, Reading};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Latencies of the recorded packets, in cycles.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// Sum of the latencies.
    pub sum: u64,
    /// Sum of their squares.
    pub squares: u128,
    /// Sum of the network latencies: the time after the head left its injection queue.
    pub network: u64,
    /// Histogram of the latencies, if asked for.
    pub histogram: Option<Histogram>,
}

/// Condition of a mean over packets.
pub(super) const PACKETS: When = When::Recorded("if packets were recorded");

const QUANTILES: When = When::Recorded("with `measure.histogram`, if packets were recorded");

/// A quantity that is a latency.
const LATENCY: Quantity =
    Quantity { unit: unit::CYCLES, time: true, diverges: true, steady: true, there: PACKETS, ..NUMBER };

/// A quantity that is a quantile of the latency.
const QUANTILE: Quantity = Quantity { there: QUANTILES, shape: Shape::Whole, ..LATENCY };

impl Reading<'_> {
    /// Mean latency of the recorded packets in cycles.
    pub fn latency_mean(&self) -> Option<f64> {
        ratio(self.counters.latency.sum, self.counters.packets.recorded)
    }

    fn network_latency_mean(&self) -> Option<f64> {
        ratio(self.counters.latency.network, self.counters.packets.recorded)
    }

    fn latency_std(&self) -> Option<f64> {
        let packets = self.counters.packets.recorded;
        let variance = self.latency_mean().filter(|_| packets > 1).map(|mean| {
            let n = packets as f64;
            ((self.counters.latency.squares as f64 - n * mean * mean) / (n - 1.0)).max(0.0)
        });
        variance.map(f64::sqrt)
    }

    fn latency_quantile(&self, share: f64) -> Value {
        json!(self.counters.latency.histogram.as_ref().and_then(|histogram| histogram.quantile(share)))
    }

    fn histogram(&self) -> impl Iterator<Item = (u64, u64)> {
        self.counters.latency.histogram.iter().flat_map(Histogram::iter)
    }
}

impl Counts for Latency {
    const QUANTITIES: &'static [Quantity] = &[
        Quantity {
            name: "latency_mean",
            words: "mean packet latency",
            about: "Mean over the recorded packets of the time from generation to the arrival of the last phit.",
            interval: Some("latency_ci"),
            rank: Some(8),
            heading: Some("latency"),
            value: |at| json!(at.latency_mean()),
            ..LATENCY
        },
        Quantity {
            name: "latency_ci",
            words: "half width of the interval of the mean latency",
            about: "Half width of the confidence interval of `latency_mean`, computed as for all intervals of a single \
                    run. If there is none, `latency_ci_reason` says why.",
            there: When::Recorded("if the run is steady and long enough"),
            time: false,
            steady: false,
            value: |at| json!(at.latency_interval().ok().map(|(interval, _)| interval.half_width)),
            ..LATENCY
        },
        Quantity {
            name: "latency_ci_batches",
            words: "batches of the interval of the mean latency",
            about: "Batches whose variance gives `latency_ci`: one more than its degrees of freedom.",
            there: When::Recorded("with `latency_ci`"),
            value: |at| json!(at.latency_interval().ok().map(|(_, batches)| batches)),
            ..WHOLE
        },
        Quantity {
            name: "latency_ci_reason",
            words: "why the mean latency has no interval",
            about: "Why there is no `latency_ci`, in words.",
            there: When::Recorded("without `latency_ci`"),
            value: |at| json!(at.latency_interval().err().map(|why| why.words())),
            ..TEXT
        },
        Quantity {
            name: "confidence",
            words: "level of the confidence intervals",
            about: "The probability with which an interval covers the true mean: `measure.confidence`.",
            of: Of::Scenario,
            value: |at| json!(at.confidence),
            ..NUMBER
        },
        Quantity {
            name: "latency_std",
            words: "standard deviation of packet latency",
            about: "Standard deviation of the latencies of the recorded packets.",
            there: When::Recorded("if two packets were recorded"),
            value: |at| json!(at.latency_std()),
            ..LATENCY
        },
        Quantity {
            name: "latency_p50",
            words: "median packet latency",
            about: "Half of the recorded packets took at most this long; within 0.1 % above 2,048 cycles.",
            rank: Some(9),
            value: |at| at.latency_quantile(0.5),
            ..QUANTILE
        },
        Quantity {
            name: "latency_p90",
            words: "90th percentile of packet latency",
            about: "90 percent of the recorded packets took at most this long.",
            value: |at| at.latency_quantile(0.9),
            ..QUANTILE
        },
        Quantity {
            name: "latency_p99",
            words: "99th percentile of packet latency",
            about: "99 percent of the recorded packets took at most this long.",
            rank: Some(10),
            heading: Some("p99"),
            value: |at| at.latency_quantile(0.99),
            ..QUANTILE
        },
        Quantity {
            name: "latency_p999",
            words: "99.9th percentile of packet latency",
            about: "99.9 percent of the recorded packets took at most this long.",
            value: |at| at.latency_quantile(0.999),
            ..QUANTILE
        },
        Quantity {
            name: "latency_max",
            words: "largest packet latency",
            about: "Longest latency of a recorded packet.",
            value: |at| json!(at.counters.latency.histogram.as_ref().filter(|h| !h.is_empty()).map(|h| h.max())),
            ..QUANTILE
        },
        Quantity {
            name: "source_latency_mean",
            words: "mean latency at the source",
            about: "The part of the mean latency before the head leaves its injection queue.",
            value: |at| {
                let parts = at.latency_mean().zip(at.network_latency_mean());
                json!(parts.map(|(all, network)| all - network))
            },
            ..LATENCY
        },
        Quantity {
            name: "network_latency_mean",
            words: "mean latency in the network",
            about: "Mean network latency: the time after the head has left its injection queue.",
            rank: Some(11),
            value: |at| json!(at.network_latency_mean()),
            ..LATENCY
        },
    ];

    const TABLES: &'static [Table] = &[Table {
        name: "histogram",
        about: "The distribution of the latencies of the recorded packets, one row for each latency that occurred.",
        there: When::Some("with `measure.histogram`"),
        asked: |at| at.counters.latency.histogram.is_some(),
        columns: &[
            Column {
                name: "latency",
                words: "packet latency",
                unit: unit::CYCLES,
                about: "The latency; above 2,048 cycles the largest of a range of 0.1 %.",
                cell: Cell::Whole,
                values: |at| list(at.histogram().map(|(latency, _)| latency)),
            },
            Column {
                name: "packets",
                words: "packets",
                unit: unit::NONE,
                about: "Recorded packets of this latency.",
                cell: Cell::Whole,
                values: |at| list(at.histogram().map(|(_, packets)| packets)),
            },
        ],
    }];

    fn new(window: &Window) -> Self {
        Self { histogram: window.histogram.then(Histogram::new), ..Self::default() }
    }

    #[inline]
    fn recorded(&mut self, it: &Delivery<'_>, _when: Tick) {
        self.sum += it.latency;
        self.squares += u128::from(it.latency) * u128::from(it.latency);
        self.network += it.network_latency;
        if let Some(histogram) = &mut self.histogram {
            histogram.record(it.latency);
        }
    }

    fn merge(&mut self, Self { sum, squares, network, histogram }: &Self) {
        self.sum += sum;
        self.squares += squares;
        self.network += network;
        if let (Some(mine), Some(theirs)) = (&mut self.histogram, histogram) {
            mine.merge(theirs);
        }
    }

    fn bytes(&self) -> usize {
        self.histogram.as_ref().map_or(0, Histogram::bytes)
    }
}
