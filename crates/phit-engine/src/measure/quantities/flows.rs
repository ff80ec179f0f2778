//! Packets of chosen sources and destinations, each flow by itself: a victim beside the packets of a hot spot.

use super::{Counts, Delivery, merge_bins, slot};
use crate::engine::Tick;
use crate::measure::collector::Window;
use crate::measure::declare::{Cell, Cells, Column, Table, When, list, ratio, unit};
use crate::measure::flows::Sorting;
use crate::measure::{Histogram, Reading};
use crate::packet::Packet;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// The counters of each flow; empty if none is counted by itself.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Flows {
    of: Vec<Flow>,
    /// Ticks of a bin, if a series is asked for.
    width: Option<Tick>,
    /// True: packets are counted in the bin of their generation; false: in that of their delivery.
    by_generation: bool,
    #[serde(skip)]
    sorting: Sorting,
}

/// The counters of one flow.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct Flow {
    /// Phits delivered in the measured time.
    delivered: u64,
    /// Recorded packets.
    packets: u64,
    /// Sum of their latencies in cycles.
    latency: u64,
    /// Sum of their network latencies in cycles: the time after the head left its injection queue.
    network: u64,
    /// Histogram of their latencies, if asked for.
    histogram: Option<Histogram>,
    /// The series, from cycle 0.
    bins: Vec<Bin>,
}

/// Packets of a flow in a bin of time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Bin {
    packets: u64,
    latency: u64,
    phits: u64,
}

impl Flows {
    /// The counters of the flow of a packet.
    fn flow(&mut self, packet: &Packet) -> Option<&mut Flow> {
        let flow = self.sorting.of(packet.source, packet.destination)?;
        self.of.get_mut(flow)
    }

    /// Counts a delivered packet. Few runs need it, so it is kept out of the function that counts everything.
    #[cold]
    #[inline(never)]
    fn add(&mut self, packet: &Packet, now: Tick, latency: u64, in_window: bool) {
        let (width, by_generation) = (self.width, self.by_generation);
        let Some(flow) = self.flow(packet) else { return };
        let phits = u64::from(packet.size);
        flow.delivered += phits * u64::from(in_window);
        if let Some(width) = width {
            let bin = slot(&mut flow.bins, if by_generation { packet.birth } else { now } / width);
            bin.packets += 1;
            bin.latency += latency;
            slot(&mut flow.bins, now / width).phits += phits;
        }
    }

    #[cold]
    #[inline(never)]
    fn record(&mut self, packet: &Packet, latency: u64, network_latency: u64) {
        let Some(flow) = self.flow(packet) else { return };
        flow.packets += 1;
        flow.latency += latency;
        flow.network += network_latency;
        if let Some(histogram) = &mut flow.histogram {
            histogram.record(latency);
        }
    }
}

impl Reading<'_> {
    fn of_flows<T: Serialize>(&self, value: impl Fn(&Flow) -> T) -> Cells {
        list(self.counters.flows.of.iter().map(value))
    }

    fn quantile_of_flows(&self, share: f64) -> Cells {
        self.of_flows(|flow| json!(flow.histogram.as_ref().and_then(|it| it.quantile(share))))
    }

    /// A value for each bin of each flow, flow by flow. Every flow has the bins of the whole series.
    fn of_flow_bins<T: Serialize>(&self, value: impl Fn(&str, usize, &Bin) -> T) -> Cells {
        let count = self.series_bins();
        list(self.flows.iter().zip(&self.counters.flows.of).flat_map(|(name, flow)| {
            let value = &value;
            (0..count).map(move |i| value(name, i, flow.bins.get(i).unwrap_or(&Bin::default())))
        }))
    }
}

const NAME: Column = Column {
    name: "flow",
    words: "flow",
    unit: unit::NONE,
    about: "Name of the flow.",
    cell: Cell::Text,
    values: |at| list(at.flows.iter()),
};

const LATENCY: Column = Column {
    name: "latency_mean",
    words: "mean packet latency",
    unit: unit::CYCLES,
    about: "Mean over the recorded packets of the time from generation to the arrival of the last phit.",
    cell: Cell::Number,
    values: |at| at.of_flows(|flow| json!(ratio(flow.latency, flow.packets))),
};

const PACKETS: Column = Column {
    name: "packets",
    words: "packets",
    unit: unit::NONE,
    about: "Recorded packets.",
    cell: Cell::Whole,
    values: |at| at.of_flows(|flow| flow.packets),
};

const RATE: Column = Column {
    name: "accepted_rate",
    words: "accepted rate",
    unit: unit::RATE,
    about: "Phits delivered in a cycle, to all destinations of the flow together; mean over the measured time. A \
            packet counts as a whole when its last phit arrives.",
    cell: Cell::Number,
    values: |at| at.of_flows(|flow| flow.delivered as f64 / at.cycles as f64),
};

impl Counts for Flows {
    const TABLES: &'static [Table] = &[
        Table {
            name: "flows",
            about: "One row for each flow that is counted by itself. A packet counts in the first flow that has its \
                    source and its destination.",
            there: When::Some("with `measure.flows`"),
            asked: |at| !at.flows.is_empty(),
            columns: &[
                NAME,
                RATE,
                PACKETS,
                LATENCY,
                Column {
                    name: "network_latency_mean",
                    words: "mean latency in the network",
                    about: "Mean network latency: the time after the head has left its injection queue.",
                    values: |at| at.of_flows(|flow| json!(ratio(flow.network, flow.packets))),
                    ..LATENCY
                },
                Column {
                    name: "latency_p50",
                    words: "median packet latency",
                    about: "Half of the recorded packets took at most this long; with `measure.histogram`.",
                    cell: Cell::Whole,
                    values: |at| at.quantile_of_flows(0.5),
                    ..LATENCY
                },
                Column {
                    name: "latency_p99",
                    words: "99th percentile of packet latency",
                    about: "99 percent of the recorded packets took at most this long; with `measure.histogram`.",
                    cell: Cell::Whole,
                    values: |at| at.quantile_of_flows(0.99),
                    ..LATENCY
                },
                Column {
                    name: "latency_max",
                    words: "largest packet latency",
                    about: "Longest latency of a recorded packet; with `measure.histogram`.",
                    cell: Cell::Whole,
                    values: |at| at.quantile_of_flows(1.0),
                    ..LATENCY
                },
            ],
        },
        Table {
            name: "flow_series",
            about: "One row for each flow that is counted by itself and each bin of the time series, flow by flow.",
            there: When::Some("with `measure.flows` and `measure.series`"),
            asked: |at| !at.flows.is_empty() && at.window.series_bin.is_some(),
            columns: &[
                Column { values: |at| at.of_flow_bins(|name, _, _| name.to_owned()), ..NAME },
                Column {
                    name: "cycle",
                    words: "start of the bin",
                    unit: unit::CYCLES,
                    about: "First cycle of the bin.",
                    cell: Cell::Whole,
                    values: |at| {
                        let width = u64::from(at.bin_cycles());
                        at.of_flow_bins(|_, index, _| index as u64 * width)
                    },
                },
                Column {
                    about: "Packets of the bin: generated or delivered in it, as `measure.series.by` says.",
                    values: |at| at.of_flow_bins(|_, _, bin| bin.packets),
                    ..PACKETS
                },
                Column {
                    about: "Mean over these packets of the time from generation to the arrival of the last phit.",
                    values: |at| at.of_flow_bins(|_, _, bin| json!(ratio(bin.latency, bin.packets))),
                    ..LATENCY
                },
                Column {
                    about: "Phits delivered in a cycle of the bin, to all destinations of the flow together.",
                    values: |at| {
                        let width = f64::from(at.bin_cycles());
                        at.of_flow_bins(|_, _, bin| bin.phits as f64 / width)
                    },
                    ..RATE
                },
            ],
        },
    ];

    fn new(window: &Window) -> Self {
        let flow = Flow { histogram: window.histogram.then(Histogram::new), ..Flow::default() };
        Self {
            of: vec![flow; window.flows.flows],
            width: window.series_bin,
            by_generation: window.series_by_generation,
            sorting: window.flows.clone(),
        }
    }

    #[inline]
    fn delivered(&mut self, it: &Delivery<'_>) {
        if !self.of.is_empty() {
            self.add(it.packet, it.now, it.latency, it.in_window.is_some());
        }
    }

    #[inline]
    fn recorded(&mut self, it: &Delivery<'_>, _when: Tick) {
        if !self.of.is_empty() {
            self.record(it.packet, it.latency, it.network_latency);
        }
    }

    fn merge(&mut self, Self { of, width: _, by_generation: _, sorting: _ }: &Self) {
        for (mine, theirs) in self.of.iter_mut().zip(of) {
            let Flow { delivered, packets, latency, network, histogram, bins } = theirs;
            mine.delivered += delivered;
            mine.packets += packets;
            mine.latency += latency;
            mine.network += network;
            if let (Some(mine), Some(theirs)) = (&mut mine.histogram, histogram) {
                mine.merge(theirs);
            }
            merge_bins(&mut mine.bins, bins, |mine, Bin { packets, latency, phits }| {
                mine.packets += packets;
                mine.latency += latency;
                mine.phits += phits;
            });
        }
    }

    fn bytes(&self) -> usize {
        let of_flow =
            |flow: &Flow| flow.histogram.as_ref().map_or(0, Histogram::bytes) + flow.bins.capacity() * size_of::<Bin>();
        self.of.capacity() * size_of::<Flow>() + self.of.iter().map(of_flow).sum::<usize>()
    }
}
