//! What a run counts and what follows from it: one file per idea.
//!
//! A file holds a struct of counters, which hears of the events it needs, and the quantities and tables that are
//! computed from them. A `mod` line and a line in the list below make it part of every run, of the summary, and of
//! the catalogue.

use super::collector::Window;
use super::declare::{Quantity, Table};
use crate::engine::Tick;
use crate::packet::Packet;
use serde::{Deserialize, Serialize};

mod batches;
mod classes;
mod control;
mod drops;
mod endpoints;
mod flow;
mod latency;
mod links;
mod load;
mod machine;
mod misrouting;
mod order;
mod packets;
mod paths;
mod precision;
mod probes;
mod queueing;
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
pub(crate) use saturation::SATURATED_BELOW;
pub use workload::{MessageRow, OperationRow, PhaseRow, Programs, RankRow, TrackRow};

/// The tail of a packet reaches its endpoint.
#[derive(Debug, Clone, Copy)]
pub(super) struct Delivery<'a> {
    /// The packet.
    pub packet: &'a Packet,
    /// When.
    pub now: Tick,
    /// Cycles since it was generated.
    pub latency: u64,
    /// Cycles since its head left its injection queue.
    pub network_latency: u64,
    /// Its size.
    pub phits: u64,
    /// Ticks from the start of the window until now, if this is in the window.
    pub in_window: Option<Tick>,
    /// Whether it was generated in the window.
    pub born_in_window: bool,
}

/// Counters of one partition: integers, so that merging them in any order gives the same result.
///
/// All events are empty by default, and are compiled into one function for all counters.
pub(super) trait Counts: Default {
    /// What the summary has of it, in order.
    const QUANTITIES: &'static [Quantity] = &[];
    /// What tables have of it.
    const TABLES: &'static [Table] = &[];

    /// Nothing counted.
    fn new(_window: &Window) -> Self {
        Self::default()
    }

    /// A packet of `phits` is generated in the window.
    #[inline]
    fn generated(&mut self, _phits: u16) {}

    /// A packet has been dropped at its source; whether it was generated in the window.
    #[inline]
    fn dropped(&mut self, _in_window: bool) {}

    /// `packet` is lost at tick `now`; whether it was generated in the window.
    #[inline]
    fn lost(&mut self, _packet: &Packet, _now: Tick, _in_window: bool) {}

    /// A packet is delivered, at any time.
    #[inline]
    fn delivered(&mut self, _it: &Delivery<'_>) {}

    /// A packet is delivered that is recorded: it counts `when` ticks after the start of the window. Comes after
    /// [`Self::delivered`].
    #[inline]
    fn recorded(&mut self, _it: &Delivery<'_>, _when: Tick) {}

    /// Adds what another partition has counted.
    fn merge(&mut self, _other: &Self) {}

    /// Bytes held outside the struct. Counters that hold memory do not compile without a count of their own.
    fn bytes(&self) -> usize {
        const { assert!(!std::mem::needs_drop::<Self>(), "counters with tables say how many bytes these hold") };
        0
    }
}

/// Composes the counters of all files, and lists what they declare.
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
    /// Everything that a partition counts. The order is that of the summary.
    pub struct Counters {
        /// Programs.
        programs: workload::Programs,
        /// Loads.
        load: load::Load,
        /// What a cycle stands for.
        units: units::Units,
        /// Batches and their intervals.
        batches: batches::Batches,
        /// Batches of a run that is to be precise.
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
        /// What routers have moved.
        work: work::Work,
        /// How long the run took.
        time: time::Time,
        /// Saturation.
        saturation: saturation::Saturation,
        /// How endpoints are served.
        endpoints: endpoints::Endpoints,
        /// How much links are used.
        links: links::Links,
        /// What probes have recorded.
        probes: probes::Records,
        /// Packets out of order.
        order: order::Order,
        /// Packets dropped at their sources.
        drops: drops::Drops,
        /// Classes of packets.
        classes: classes::Classes,
        /// Requests and their replies.
        transactions: transactions::Transactions,
        /// What a managed queue organisation counts.
        queueing: queueing::Queueing,
        /// Control messages.
        control: control::Control,
        /// How the run was executed.
        machine: machine::Machinery,
        /// What the run itself goes by.
        flow: flow::Flow,
    }
}

/// The bin at `index`; bins before it are made if they are not there.
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
