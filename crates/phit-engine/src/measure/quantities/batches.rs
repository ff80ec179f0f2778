//! Batches: the equal parts of the measured time. Each is divided further, into the parts that give the confidence
//! intervals.

use super::{Counts, Delivery, merge_bins, slot};
use crate::engine::{Bytes, Tick, bytes_of};
use crate::measure::Reading;
use crate::measure::collector::{Division, Window};
use crate::measure::confidence::{Batch, Estimate, estimate};
use crate::measure::declare::{Cell, Column, NUMBER, Quantity, TEXT, Table, WHOLE, When, list, ratio, unit};
use serde::{Deserialize, Serialize};
use serde_json::json;

/// The batches of the window.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Batches {
    /// How the window is divided into bins.
    division: Division,
    /// Parts of batches in order of time; the last may be incomplete.
    pub bins: Vec<Bin>,
    /// The bin of the latest count.
    #[serde(skip)]
    latest: Latest,
}

/// A bin, and the range of window ticks that it covers; empty before the first count.
#[derive(Debug, Clone, Copy, Default)]
struct Latest {
    place: u32,
    first: Tick,
    width: Tick,
}

impl PartialEq for Batches {
    fn eq(&self, other: &Self) -> bool {
        (self.division, &self.bins) == (other.division, &other.bins)
    }
}

/// A batch, or a part of one.
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
    /// The bin of tick `at` of the window: usually the bin of the packet before.
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
        let place = self.division.place(at);
        slot(&mut self.bins, place);
        let first = self.division.first(place);
        self.latest = Latest { place, first, width: self.division.first(place + 1) - first };
    }

    /// The mean latency in cycles, estimated from the first `ticks` of the window.
    pub(crate) fn latency(&self, ticks: Tick, confidence: f64) -> Estimate {
        let batches: Vec<Batch> =
            self.complete(ticks).map(|(bin, _)| Batch { sum: bin.latency, count: bin.packets }).collect();
        estimate(&batches, confidence)
    }

    /// The accepted load, estimated from the first `cycles` of the window.
    pub(crate) fn load(&self, window: &Window, cycles: u32, confidence: f64) -> Estimate {
        let ticks = cycles * window.ticks_per_cycle;
        let batches: Vec<Batch> =
            self.complete(ticks).map(|(bin, width)| Batch { sum: bin.phits, count: width.into() }).collect();
        window.accepted(&batches, cycles, confidence)
    }

    /// The complete bins within the first `ticks`, and the ticks of each. Empty bins at the end of the window are not
    /// stored, but they count.
    fn complete(&self, ticks: Tick) -> impl Iterator<Item = (Bin, Tick)> + '_ {
        self.division.complete(ticks).map(|(place, width)| (self.bins.get(place).copied().unwrap_or_default(), width))
    }
}

impl Reading<'_> {
    /// The complete batches of the window.
    pub(super) fn batches(&self) -> Vec<Bin> {
        let Batches { bins, division, .. } = &self.counters.batches;
        let complete = (self.ticks() / u64::from(division.batch)) as usize;
        let whole = bins.chunks(division.parts as usize).take(complete);
        let sum = |parts: &[Bin]| {
            let mut sum = Bin::default();
            parts.iter().for_each(|part| sum.add(part));
            sum
        };
        whole.map(sum).collect()
    }

    /// The accepted load of each batch.
    fn batch_loads(&self) -> Vec<f64> {
        let batch = self.window.division.batch / self.window.ticks_per_cycle;
        let cycles = f64::from(batch) * self.window.load.of_all();
        self.batches().iter().map(|bin| bin.phits as f64 / cycles).collect()
    }
}

impl Counts for Batches {
    const QUANTITIES: &'static [Quantity] = &[
        Quantity {
            name: "accepted_ci",
            words: "half width of the interval of the accepted load",
            unit: unit::LOAD,
            about: "Half width of the confidence interval of `accepted_load`, computed as for all intervals of a \
                    single run. If there is none, `accepted_ci_reason` says why.",
            there: When::Recorded("if the run is long enough and its backlog does not grow, or grows steadily"),
            value: |at| json!(at.load_interval().ok().map(|(interval, _)| interval.half_width)),
            ..NUMBER
        },
        Quantity {
            name: "accepted_ci_batches",
            words: "batches of the interval of the accepted load",
            about: "Batches whose variance gives `accepted_ci`: one more than its degrees of freedom.",
            there: When::Recorded("with `accepted_ci`"),
            value: |at| json!(at.load_interval().ok().map(|(_, batches)| batches)),
            ..WHOLE
        },
        Quantity {
            name: "accepted_ci_reason",
            words: "why the accepted load has no interval",
            about: "Why there is no `accepted_ci`, in words.",
            there: When::Recorded("without `accepted_ci`"),
            value: |at| json!(at.load_interval().err().map(|why| why.words())),
            ..TEXT
        },
    ];

    const TABLES: &'static [Table] = &[Table {
        name: "batches",
        about: "One row for each complete batch of the measured time.",
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
                about: "Phits delivered in the batch, no matter when they were generated.",
                cell: Cell::Number,
                values: |at| list(at.batch_loads()),
            },
        ],
    }];

    fn new(window: &Window) -> Self {
        Self { division: window.division, ..Self::default() }
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

    fn merge(&mut self, Self { division: _, bins, latest: _ }: &Self) {
        merge_bins(&mut self.bins, bins, Bin::add);
    }

    fn bytes(&self) -> usize {
        bytes_of!(self, Self { bins; division, latest })
    }
}
