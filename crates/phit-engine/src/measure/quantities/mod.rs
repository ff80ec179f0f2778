//! Counters of a run and the quantities that follow from them: one file per idea.
//!
//! A file holds a struct of counters, which receives the events it needs, and declares the quantities and tables
//! computed from them. A `mod` line and a line in the list below add it to every run, the summary and the catalogue.

use super::collector::Window;
use super::declare::{Quantity, Table};
use crate::engine::Tick;
use crate::packet::Packet;
use serde::{Deserialize, Serialize};

mod batches;
mod classes;
mod congestion;
mod control;
mod drops;
mod endpoints;
mod flow;
mod flows;
mod latency;
mod links;
mod load;
mod machine;
mod misrouting;
mod order;
mod packets;
mod paths;
mod pauses;
mod precision;
mod probes;
mod queueing;
mod receivers;
mod saturation;
mod series;
mod time;
mod transactions;
mod units;
mod work;
mod workload;

pub(crate) use flow::Flow;
pub use precision::Precision;
pub(crate) use precision::Precisions;
pub(crate) use probes::{Line, Records};
pub use probes::{Place, Record};
pub use receivers::Receivers;
pub(crate) use saturation::SATURATED_BELOW;
pub use workload::{Iterations, MessageRow, OperationRow, PhaseRow, Programs, RankRow, RequestRow, TrackRow};

/// The tail of a packet reaches its endpoint.
#[derive(Debug, Clone, Copy)]
pub(super) struct Delivery<'a> {
    /// The packet.
    pub packet: &'a Packet,
    /// The present tick.
    pub now: Tick,
    /// Cycles since it was generated.
    pub latency: u64,
    /// Cycles since its head left its injection queue.
    pub network_latency: u64,
    /// Its size.
    pub phits: u64,
    /// Ticks since the start of the window, if the present is in the window.
    pub in_window: Option<Tick>,
    /// Whether it was generated in the window.
    pub born_in_window: bool,
}

/// Counters of one partition: integers, so that merging them in any order gives the same result.
///
/// Every event does nothing by default. All counters' events are compiled into one function.
pub(super) trait Counts: Default {
    /// Its quantities in the summary, in order.
    const QUANTITIES: &'static [Quantity] = &[];
    /// Its tables.
    const TABLES: &'static [Table] = &[];

    /// Nothing counted.
    fn new(_window: &Window) -> Self {
        Self::default()
    }

    /// A packet of `phits` is generated in the window.
    #[inline]
    fn generated(&mut self, _phits: u16) {}

    /// A packet has been dropped at its source. `in_window`: it was generated in the window.
    #[inline]
    fn dropped(&mut self, _in_window: bool) {}

    /// `packet` is lost at tick `now`. `in_window`: it was generated in the window.
    #[inline]
    fn lost(&mut self, _packet: &Packet, _now: Tick, _in_window: bool) {}

    /// A packet is delivered, at any time.
    #[inline]
    fn delivered(&mut self, _it: &Delivery<'_>) {}

    /// A recorded packet is delivered; it counts `when` ticks after the start of the window. Called after
    /// [`Self::delivered`].
    #[inline]
    fn recorded(&mut self, _it: &Delivery<'_>, _when: Tick) {}

    /// Adds what another partition has counted.
    fn merge(&mut self, _other: &Self) {}

    /// Bytes of memory outside the struct. The default compiles only for counters that hold no such memory.
    fn bytes(&self) -> usize {
        const { assert!(!std::mem::needs_drop::<Self>(), "counters with tables say how many bytes these hold") };
        0
    }
}

/// Composes the counters of all files, and lists their declarations.
macro_rules! counters {
    ($(#[$meta:meta])* $vis:vis struct $name:ident { $($(#[$doc:meta])* $field:ident: $counts:ty,)+ }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
        $vis struct $name {
            $($(#[$doc])* pub $field: $counts,)+
        }

        impl $name {
            /// All quantities, in the order of the summary.
            pub fn quantities() -> impl Iterator<Item = &'static Quantity> {
                [$(<$counts as Counts>::QUANTITIES),+].into_iter().flatten()
            }

            /// All tables.
            pub fn tables() -> impl Iterator<Item = &'static Table> {
                [$(<$counts as Counts>::TABLES),+].into_iter().flatten()
            }
        }

        impl Counts for $name {
            fn new(window: &Window) -> Self {
                Self { $($field: Counts::new(window)),+ }
            }

            #[inline]
            fn generated(&mut self, phits: u16) {
                $(self.$field.generated(phits);)+
            }

            #[inline]
            fn dropped(&mut self, in_window: bool) {
                $(self.$field.dropped(in_window);)+
            }

            #[inline]
            fn lost(&mut self, packet: &Packet, now: Tick, in_window: bool) {
                $(self.$field.lost(packet, now, in_window);)+
            }

            #[inline]
            fn delivered(&mut self, it: &Delivery<'_>) {
                $(self.$field.delivered(it);)+
            }

            #[inline]
            fn recorded(&mut self, it: &Delivery<'_>, when: Tick) {
                $(self.$field.recorded(it, when);)+
            }

            fn merge(&mut self, other: &Self) {
                $(self.$field.merge(&other.$field);)+
            }

            fn bytes(&self) -> usize {
                [$(self.$field.bytes()),+].iter().sum()
            }
        }
    };
}

counters! {
    /// All counters of a partition, in the order of the summary.
    pub struct Counters {
        /// Programs.
        programs: workload::Programs,
        /// Loads.
        load: load::Load,
        /// Length of a cycle.
        units: units::Units,
        /// Batches and their intervals.
        batches: batches::Batches,
        /// Batches of a run that has a requested precision.
        precision: precision::Precisions,
        /// Latency.
        latency: latency::Latency,
        /// The time series.
        series: series::Series,
        /// Lengths of paths.
        paths: paths::Paths,
        /// Misrouted packets.
        misrouting: misrouting::Misrouting,
        /// Packets.
        packets: packets::Packets,
        /// Work of the routers.
        work: work::Work,
        /// Length of the run.
        time: time::Time,
        /// Saturation.
        saturation: saturation::Saturation,
        /// Service of endpoints.
        endpoints: endpoints::Endpoints,
        /// Utilisation of links.
        links: links::Links,
        /// Records of probes.
        probes: probes::Records,
        /// Packets out of order.
        order: order::Order,
        /// Receivers that deliver in order.
        receivers: receivers::Receivers,
        /// Packets dropped at their sources.
        drops: drops::Drops,
        /// Classes of packets.
        classes: classes::Classes,
        /// Flows that are counted by themselves.
        flows: flows::Flows,
        /// Requests and their replies.
        transactions: transactions::Transactions,
        /// Totals of a managed queue organisation.
        queueing: queueing::Queueing,
        /// Congestion control.
        congestion: congestion::Congestion,
        /// Pauses of links.
        pauses: pauses::Pauses,
        /// Control messages.
        control: control::Control,
        /// Execution of the run.
        machine: machine::Machinery,
        /// Counters for the control of the run.
        flow: flow::Flow,
    }
}

/// The bin at `index`. Missing bins before it are added.
#[inline]
fn slot<B: Clone + Default>(bins: &mut Vec<B>, index: u32) -> &mut B {
    let index = index as usize;
    if index >= bins.len() {
        bins.resize(index + 1, B::default());
    }
    &mut bins[index]
}

fn merge_bins<B: Clone + Default>(mine: &mut Vec<B>, theirs: &[B], add: impl Fn(&mut B, &B)) {
    if mine.len() < theirs.len() {
        mine.resize(theirs.len(), B::default());
    }
    mine.iter_mut().zip(theirs).for_each(|(mine, theirs)| add(mine, theirs));
}

#[cfg(test)]
mod tests;
