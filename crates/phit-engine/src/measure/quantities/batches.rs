//! Batches: the equal parts of the measured time whose means give the confidence intervals.

use super::{Counts, Delivery, merge_bins, slot};
use crate::engine::{Bytes, Tick, bytes_of};
use crate::measure::collector::Window;
use crate::measure::confidence::{Batch, mean_of_batches, mean_per_packet};
use crate::measure::declare::{Cell, Column, NUMBER, Quantity, Table, When, list, ratio, unit};
use crate::measure::{Interval, Reading};
use serde::{Deserialize, Serialize};
use serde_json::json;

/// The batches of the window.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Batches {
    /// Ticks of a batch.
    width: Tick,
    /// In their order; the last may not have ended.
    pub bins: Vec<Bin>,
    /// The one in which something was counted last.
    #[serde(skip)]
    latest: Latest,
}

/// A batch, and the ticks of the window from its first one on that are in it: none before anything is counted.
#[derive(Debug, Clone, Copy, Default)]
struct Latest {
    place: u32,
    first: Tick,
    width: Tick,
}

impl PartialEq for Batches {
    fn eq(&self, other: &Self) -> bool {
        (self.width, &self.bins) == (other.width, &other.bins)
    }
}

/// A batch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bin {
    /// Recorded packets.
    pub packets: u64,
    /// Sum of their latencies in cycles.
    pub latency: u64,
    /// Phits delivered in this time, whenever generated.
    pub phits: u64,
}

impl Bin {
    fn add(&mut self, Self { packets, latency, phits }: &Self) {
        self.packets += packets;
        self.latency += latency;
        self.phits += phits;
    }
}

impl Batches {
    /// The batch of tick `at` of the window: nearly always that of the packet before.
    #[inline(always)]
    fn bin(&mut self, at: Tick) -> &mut Bin {
        if at.wrapping_sub(self.latest.first) >= self.latest.width {
            self.find(at);
        }
        &mut self.bins[self.latest.place as usize]
    }

    #[cold]
    #[inline(never)]
    fn find(&mut self, at: Tick) {
        let place = at / self.width;
        slot(&mut self.bins, place);
        self.latest = Latest { place, first: place * self.width, width: self.width };
    }

    /// The interval of the mean latency.
    pub fn latency(bins: &[Bin], confidence: f64) -> Option<Interval> {
        let batches: Vec<Batch> = bins.iter().map(|bin| Batch { sum: bin.latency, count: bin.packets }).collect();
        mean_per_packet(&batches, confidence)
    }
}

impl Reading<'_> {
    /// The complete batches of the window.
    pub(super) fn batches(&self) -> &[Bin] {
        let bins = &self.counters.batches.bins;
        let complete = (self.cycles * self.window.ticks_per_cycle / self.window.batch) as usize;
        &bins[..complete.min(bins.len())]
    }

    /// The accepted load of each batch.
    fn batch_loads(&self) -> Vec<f64> {
        let cycles = f64::from(self.window.batch / self.window.ticks_per_cycle) * self.window.load.of_all();
        self.batches().iter().map(|bin| bin.phits as f64 / cycles).collect()
    }
}

impl Counts for Batches {
    const QUANTITIES: &'static [Quantity] = &[Quantity {
        name: "accepted_ci",
        words: "half width of the interval of the accepted load",
        unit: unit::LOAD,
        about: "Half width of the confidence interval of `accepted_load`, from the means of the batches.",
        there: When::Recorded("if two batches are complete"),
        value: |at| json!(mean_of_batches(&at.batch_loads(), at.confidence).map(|i| i.half_width)),
        ..NUMBER
    }];

    const TABLES: &'static [Table] = &[Table {
        name: "batches",
        about: "One row for each complete batch of the measured time, from whose means the intervals are made.",
        there: When::Some("of runs of traffic"),
        asked: |at| !at.workload,
        columns: &[
            Column {
                name: "batch",
                words: "batch",
                unit: unit::NONE,
                about: "Number of the batch, from 0.",
                cell: Cell::Whole,
                values: |at| list(0..at.batches().len()),
            },
            Column {
                name: "packets",
                words: "packets",
                unit: unit::NONE,
                about: "Recorded packets.",
                cell: Cell::Whole,
                values: |at| list(at.batches().iter().map(|bin| bin.packets)),
            },
            Column {
                name: "latency_mean",
                words: "mean packet latency",
                unit: unit::CYCLES,
                about: "Mean latency of these packets.",
                cell: Cell::Number,
                values: |at| list(at.batches().iter().map(|bin| json!(ratio(bin.latency, bin.packets)))),
            },
            Column {
                name: "accepted_load",
                words: "accepted load",
                unit: unit::LOAD,
                about: "Phits delivered in the batch, whenever they were generated.",
                cell: Cell::Number,
                values: |at| json!(at.batch_loads()),
            },
        ],
    }];

    fn new(window: &Window) -> Self {
        Self { width: window.batch, ..Self::default() }
    }

    #[inline]
    fn delivered(&mut self, it: &Delivery<'_>) {
        if let Some(at) = it.in_window {
            self.bin(at).phits += it.phits;
        }
    }

    #[inline]
    fn recorded(&mut self, it: &Delivery<'_>, when: Tick) {
        let bin = self.bin(when);
        bin.packets += 1;
        bin.latency += it.latency;
    }

    fn merge(&mut self, Self { width: _, bins, latest: _ }: &Self) {
        merge_bins(&mut self.bins, bins, Bin::add);
    }

    fn bytes(&self) -> usize {
        bytes_of!(self, Self { bins; width, latest })
    }
}
