//! The counters of one partition: integers, so that merging them in any order gives the same result.

use super::histogram::Histogram;
use super::records::Records;
use crate::engine::Tick;
use crate::packet::{MISROUTED_AT_INJECTION, MISROUTED_GLOBALLY, MISROUTED_LOCALLY, Packet};
use std::collections::HashMap;
use std::ops::Range;

/// Which packets are recorded, and how.
#[derive(Debug, Clone)]
pub struct Window {
    /// Ticks per cycle.
    pub ticks_per_cycle: Tick,
    /// True: packets generated in the window, whenever they are delivered; false: packets delivered in it.
    pub by_generation: bool,
    /// Ticks per batch.
    pub batch: Tick,
    /// Record the distribution of latencies.
    pub histogram: bool,
    /// Width in ticks of a bin of the time series.
    pub series_bin: Option<Tick>,
    /// True: the series' bins are by generation; false: by delivery.
    pub series_by_generation: bool,
    /// Watch whether the packets of a source and a destination come in the order of their generation.
    pub order: bool,
}

/// Sums over packets. Latencies are in cycles.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sums {
    /// Packets.
    pub packets: u64,
    /// Phits.
    pub phits: u64,
    /// Latency, from generation to the arrival of the tail.
    pub latency: u64,
    /// Squared latency.
    pub latency_squared: u128,
    /// Part of the latency after the head left its injection queue.
    pub network_latency: u64,
    /// Hops by link class.
    pub hops: [u64; 8],
    /// Packets misrouted in any way.
    pub misrouted: u64,
    /// Packets misrouted globally.
    pub misrouted_globally: u64,
    /// Packets misrouted locally.
    pub misrouted_locally: u64,
    /// Packets that left their minimal route at the head of their injection queue.
    pub misrouted_at_injection: u64,
}

impl Sums {
    fn add(&mut self, other: &Self) {
        self.packets += other.packets;
        self.phits += other.phits;
        self.latency += other.latency;
        self.latency_squared += other.latency_squared;
        self.network_latency += other.network_latency;
        for (mine, theirs) in self.hops.iter_mut().zip(other.hops) {
            *mine += theirs;
        }
        self.misrouted += other.misrouted;
        self.misrouted_globally += other.misrouted_globally;
        self.misrouted_locally += other.misrouted_locally;
        self.misrouted_at_injection += other.misrouted_at_injection;
    }
}

/// A batch of the measured window, or a bin of the time series.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Bin {
    /// Packets.
    pub packets: u64,
    /// Phits delivered in this span, whenever generated.
    pub phits: u64,
    /// Sum of latencies in cycles.
    pub latency: u64,
    /// Sum of network latencies in cycles.
    pub network_latency: u64,
    /// Packets misrouted in any way.
    pub misrouted: u64,
    /// Packets misrouted globally.
    pub misrouted_globally: u64,
}

impl Bin {
    fn add(&mut self, other: &Self) {
        self.packets += other.packets;
        self.phits += other.phits;
        self.latency += other.latency;
        self.network_latency += other.network_latency;
        self.misrouted += other.misrouted;
        self.misrouted_globally += other.misrouted_globally;
    }
}

/// What one partition has counted.
#[derive(Debug, Clone)]
pub struct Collector {
    window: Window,
    span: Range<Tick>,
    /// Flits granted in any router since the start of the run.
    pub flit_hops: u64,
    /// Heads granted in any router since the start of the run.
    pub packet_hops: u64,
    /// Phits of control messages since the start of the run, by link class.
    pub control_phits: [u64; 8],
    /// Control messages sent since the start of the run.
    pub control_messages: u64,
    /// Since the start of the run: everything delivered.
    pub total: Bin,
    /// Phits generated in the window, as far as the sources have been drawn.
    pub generated_phits: u64,
    /// Packets generated in the window, as far as the sources have been drawn.
    pub generated_packets: u64,
    /// Packets dropped at their sources since the start of the run.
    pub dropped_packets: u64,
    /// Packets of [`Self::generated_packets`] that have been delivered, or dropped.
    pub generated_delivered: u64,
    /// Packets of [`Self::generated_packets`] that have been lost on links that broke.
    pub generated_lost: u64,
    /// Packets lost since the start of the run.
    pub lost_packets: u64,
    /// Their phits.
    pub lost_phits: u64,
    /// Phits delivered in the window, whenever generated.
    pub delivered_phits: u64,
    /// Packets delivered after one of the same source and destination that was generated later, since the start of the run.
    pub out_of_order: u64,
    /// Tick of generation of the latest packet of each source and destination.
    latest: HashMap<(u32, u32), Tick>,
    /// The recorded packets.
    pub sums: Sums,
    /// The recorded packets by batch.
    pub batches: Vec<Bin>,
    /// Latencies of the recorded packets in cycles.
    pub histogram: Option<Histogram>,
    /// Time series over the whole run, from cycle 0.
    pub series: Vec<Bin>,
    /// What probes have recorded.
    pub records: Records,
}

impl Collector {
    /// Nothing counted; the window is empty until [`Self::open`].
    pub fn new(window: Window) -> Self {
        let histogram = window.histogram.then(Histogram::new);
        Self {
            window,
            span: Tick::MAX..Tick::MAX,
            flit_hops: 0,
            packet_hops: 0,
            control_phits: [0; 8],
            control_messages: 0,
            total: Bin::default(),
            generated_phits: 0,
            generated_packets: 0,
            generated_delivered: 0,
            generated_lost: 0,
            lost_packets: 0,
            lost_phits: 0,
            dropped_packets: 0,
            delivered_phits: 0,
            out_of_order: 0,
            latest: HashMap::new(),
            sums: Sums::default(),
            batches: Vec::new(),
            histogram,
            series: Vec::new(),
            records: Records::default(),
        }
    }

    /// Opens the window, or moves its end. Packets already generated but not yet sent are the caller's to count.
    pub fn open(&mut self, span: Range<Tick>) {
        self.span = span;
    }

    /// The window in ticks.
    pub fn span(&self) -> Range<Tick> {
        self.span.clone()
    }

    /// A packet is generated at tick `birth`.
    #[inline]
    pub fn generated(&mut self, birth: Tick, size: u16) {
        if self.span.contains(&birth) {
            self.generated_phits += u64::from(size);
            self.generated_packets += 1;
        }
    }

    /// `packet` has been sent over a link that is broken.
    #[cold]
    pub fn lost(&mut self, packet: &Packet) {
        self.lost_packets += 1;
        self.lost_phits += u64::from(packet.size);
        self.generated_lost += u64::from(self.span.contains(&packet.birth));
    }

    /// A packet generated at tick `birth` has been dropped at its source.
    pub fn dropped(&mut self, birth: Tick) {
        self.dropped_packets += 1;
        self.generated_delivered += u64::from(self.span.contains(&birth));
    }

    #[cold]
    #[inline(never)]
    fn watch_order(&mut self, packet: &Packet) {
        let latest = self.latest.entry((packet.source, packet.destination)).or_default();
        self.out_of_order += u64::from(packet.birth < *latest);
        *latest = packet.birth.max(*latest);
    }

    /// The tail of `packet` reaches its endpoint at tick `now`.
    #[inline]
    pub fn delivered(&mut self, packet: &Packet, now: Tick) {
        let cycle = self.window.ticks_per_cycle;
        let latency = u64::from((now - packet.birth) / cycle);
        let network = u64::from((now - packet.injected) / cycle);
        let phits = u64::from(packet.size);
        self.total.packets += 1;
        self.total.phits += phits;
        self.total.latency += latency;

        if self.window.order {
            self.watch_order(packet);
        }
        if let Some(width) = self.window.series_bin {
            let bin = if self.window.series_by_generation { packet.birth } else { now } / width;
            let bin = bin_at(&mut self.series, bin as usize);
            bin.packets += 1;
            bin.latency += latency;
            bin.network_latency += network;
            bin.misrouted += u64::from(packet.misrouted != 0);
            bin.misrouted_globally += u64::from(packet.misrouted & MISROUTED_GLOBALLY != 0);
            bin_at(&mut self.series, (now / width) as usize).phits += phits;
        }

        let in_window = self.span.contains(&now);
        let born_in_window = self.span.contains(&packet.birth);
        self.generated_delivered += u64::from(born_in_window);
        if in_window {
            self.delivered_phits += phits;
            let batch = ((now - self.span.start) / self.window.batch) as usize;
            bin_at(&mut self.batches, batch).phits += phits;
        }
        let when = if self.window.by_generation {
            if !born_in_window {
                return;
            }
            packet.birth
        } else {
            if !in_window {
                return;
            }
            now
        };
        let batch = bin_at(&mut self.batches, ((when - self.span.start) / self.window.batch) as usize);
        batch.packets += 1;
        batch.latency += latency;
        batch.network_latency += network;
        if packet.misrouted != 0 {
            batch.misrouted += 1;
            batch.misrouted_globally += u64::from(packet.misrouted & MISROUTED_GLOBALLY != 0);
        }

        let sums = &mut self.sums;
        sums.packets += 1;
        sums.phits += phits;
        sums.latency += latency;
        sums.latency_squared += u128::from(latency) * u128::from(latency);
        sums.network_latency += network;
        let mut hops = packet.hops.0;
        let mut class = 0;
        while hops != 0 {
            sums.hops[class] += hops & 0xff;
            hops >>= 8;
            class += 1;
        }
        if packet.misrouted != 0 {
            sums.misrouted += 1;
            sums.misrouted_locally += u64::from(packet.misrouted & MISROUTED_LOCALLY != 0);
            sums.misrouted_at_injection += u64::from(packet.misrouted & MISROUTED_AT_INJECTION != 0);
            sums.misrouted_globally += u64::from(packet.misrouted & MISROUTED_GLOBALLY != 0);
        }
        if let Some(histogram) = &mut self.histogram {
            histogram.record(latency);
        }
    }

    /// Adds what another partition has counted.
    pub fn merge(&mut self, other: &Self) {
        self.flit_hops += other.flit_hops;
        self.packet_hops += other.packet_hops;
        self.control_phits.iter_mut().zip(other.control_phits).for_each(|(mine, theirs)| *mine += theirs);
        self.control_messages += other.control_messages;
        self.total.add(&other.total);
        self.generated_phits += other.generated_phits;
        self.generated_packets += other.generated_packets;
        self.generated_delivered += other.generated_delivered;
        self.generated_lost += other.generated_lost;
        self.lost_packets += other.lost_packets;
        self.lost_phits += other.lost_phits;
        self.dropped_packets += other.dropped_packets;
        self.delivered_phits += other.delivered_phits;
        self.out_of_order += other.out_of_order;
        self.sums.add(&other.sums);
        merge_bins(&mut self.batches, &other.batches);
        merge_bins(&mut self.series, &other.series);
        self.records.merge(&other.records);
        if let (Some(mine), Some(theirs)) = (&mut self.histogram, &other.histogram) {
            mine.merge(theirs);
        }
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        (self.batches.capacity() + self.series.capacity()) * size_of::<Bin>()
            + self.histogram.as_ref().map_or(0, Histogram::bytes)
    }
}

#[inline]
fn bin_at(bins: &mut Vec<Bin>, index: usize) -> &mut Bin {
    if index >= bins.len() {
        bins.resize(index + 1, Bin::default());
    }
    &mut bins[index]
}

fn merge_bins(mine: &mut Vec<Bin>, theirs: &[Bin]) {
    if mine.len() < theirs.len() {
        mine.resize(theirs.len(), Bin::default());
    }
    for (mine, theirs) in mine.iter_mut().zip(theirs) {
        mine.add(theirs);
    }
}
