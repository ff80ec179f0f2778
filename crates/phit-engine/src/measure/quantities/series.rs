//! The time series: the whole run in bins of equal length.

use super::{Counts, Delivery, merge_bins, slot};
use crate::engine::{Bytes, Tick, bytes_of};
use crate::measure::Reading;
use crate::measure::collector::Window;
use crate::measure::declare::{Cell, Column, Table, When, list, ratio, unit};
use crate::packet::{MISROUTED_GLOBALLY, Packet};
use serde::{Deserialize, Serialize};
use serde_json::json;

/// The bins of the series, from cycle 0.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Series {
    /// Ticks of a bin, if a series is asked for.
    width: Option<Tick>,
    /// True: packets are counted at the time of their generation; false: at the time of their delivery.
    by_generation: bool,
    /// Bins in order of time.
    pub bins: Vec<Bin>,
}

/// A bin: sums over its packets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bin {
    /// Packets.
    pub packets: u64,
    /// Sum of latencies in cycles.
    pub latency: u64,
    /// Sum of network latencies in cycles.
    pub network_latency: u64,
    /// Packets misrouted in any way.
    pub misrouted: u64,
    /// Packets misrouted globally.
    pub misrouted_globally: u64,
    /// Phits delivered in this time, no matter when they were generated.
    pub phits: u64,
    /// Packets lost in this time, no matter when they were generated.
    pub lost: u64,
}

impl Bin {
    fn add(&mut self, other: &Self) {
        let Self { packets, latency, network_latency, misrouted, misrouted_globally, phits, lost } = other;
        self.packets += packets;
        self.latency += latency;
        self.network_latency += network_latency;
        self.misrouted += misrouted;
        self.misrouted_globally += misrouted_globally;
        self.phits += phits;
        self.lost += lost;
    }
}

impl Reading<'_> {
    /// Cycles of a bin of the series.
    pub(super) fn bin_cycles(&self) -> u32 {
        self.window.series_bin.map_or(1, |ticks| ticks / self.window.ticks_per_cycle)
    }

    /// How many bins are shown.
    pub(super) fn series_bins(&self) -> usize {
        self.series().len()
    }

    /// The bins that are shown.
    fn series(&self) -> &[Bin] {
        // Bins by generation after the end of the window lack the packets that are still in the network.
        let by_generation = self.window.by_generation && self.window.series_by_generation;
        let after = if by_generation { 0 } else { self.drain_cycles };
        let last = (self.warmup_cycles + self.cycles + after).div_ceil(self.bin_cycles().into());
        let bins = &self.counters.series.bins;
        &bins[..bins.len().min(last as usize)]
    }
}

impl Series {
    /// Counts a delivered packet in bins of `width`. Few runs need it, so it is kept out of the function that counts
    /// everything. Values are passed one by one, so that the caller need not store the delivery in memory.
    #[inline(never)]
    fn add(&mut self, packet: &Packet, now: Tick, latency: u64, network_latency: u64, width: Tick) {
        let at = if self.by_generation { packet.birth } else { now } / width;
        let bin = slot(&mut self.bins, at);
        bin.packets += 1;
        bin.latency += latency;
        bin.network_latency += network_latency;
        bin.misrouted += u64::from(packet.detours() != 0);
        bin.misrouted_globally += u64::from(packet.misrouted & MISROUTED_GLOBALLY != 0);
        slot(&mut self.bins, now / width).phits += u64::from(packet.size);
    }
}

impl Counts for Series {
    const TABLES: &'static [Table] = &[Table {
        name: "series",
        about: "The whole run over time, from cycle 0, warm-up and drain included: one row for each bin.",
        there: When::Some("with `[measure.series]`"),
        asked: |at| at.window.series_bin.is_some(),
        columns: &[
            Column {
                name: "cycle",
                words: "cycle",
                unit: unit::NONE,
                about: "First cycle of the bin.",
                cell: Cell::Whole,
                values: |at| list((0..at.series().len() as u64).map(|bin| bin * u64::from(at.bin_cycles()))),
            },
            Column {
                name: "packets",
                words: "packets",
                unit: unit::NONE,
                about: "Packets generated in the bin, or delivered in it, as `measure.series.by` says.",
                cell: Cell::Whole,
                values: |at| list(at.series().iter().map(|bin| bin.packets)),
            },
            Column {
                name: "latency_mean",
                words: "mean packet latency",
                unit: unit::CYCLES,
                about: "Mean latency of these packets.",
                cell: Cell::Number,
                values: |at| list(at.series().iter().map(|bin| json!(ratio(bin.latency, bin.packets)))),
            },
            Column {
                name: "network_latency_mean",
                words: "mean latency in the network",
                unit: unit::CYCLES,
                about: "Mean network latency of these packets: the time after the head has left its injection queue.",
                cell: Cell::Number,
                values: |at| list(at.series().iter().map(|bin| json!(ratio(bin.network_latency, bin.packets)))),
            },
            Column {
                name: "misrouted",
                words: "misrouted packets",
                unit: unit::PACKETS,
                about: "Share of these packets that left their minimal route in any way.",
                cell: Cell::Number,
                values: |at| list(at.series().iter().map(|bin| json!(ratio(bin.misrouted, bin.packets)))),
            },
            Column {
                name: "misrouted_globally",
                words: "globally misrouted packets",
                unit: unit::PACKETS,
                about: "Share of these packets that went through an intermediate router or group.",
                cell: Cell::Number,
                values: |at| list(at.series().iter().map(|bin| json!(ratio(bin.misrouted_globally, bin.packets)))),
            },
            Column {
                name: "accepted_load",
                words: "accepted load",
                unit: unit::LOAD,
                about: "Phits delivered in the bin, no matter when they were generated.",
                cell: Cell::Number,
                values: |at| {
                    let per_cycle = f64::from(at.bin_cycles()) * at.window.load.of_all();
                    list(at.series().iter().map(|bin| bin.phits as f64 / per_cycle))
                },
            },
            Column {
                name: "lost",
                words: "packets lost",
                unit: unit::NONE,
                about: "Packets lost in the bin, no matter when they were generated: see `packets_lost`.",
                cell: Cell::Whole,
                values: |at| list(at.series().iter().map(|bin| bin.lost)),
            },
        ],
    }];

    fn new(window: &Window) -> Self {
        Self { width: window.series_bin, by_generation: window.series_by_generation, bins: Vec::new() }
    }

    #[inline]
    fn delivered(&mut self, it: &Delivery<'_>) {
        if let Some(width) = self.width {
            self.add(it.packet, it.now, it.latency, it.network_latency, width);
        }
    }

    fn lost(&mut self, _packet: &Packet, now: Tick, _in_window: bool) {
        if let Some(width) = self.width {
            slot(&mut self.bins, now / width).lost += 1;
        }
    }

    fn merge(&mut self, Self { width: _, by_generation: _, bins }: &Self) {
        merge_bins(&mut self.bins, bins, Bin::add);
    }

    fn bytes(&self) -> usize {
        bytes_of!(self, Self { bins; width, by_generation })
    }
}
