//! The seam `probe`: what is looked at while a network runs, besides the packets that it delivers.
//!
//! A probe reads the state of one partition at a time, at regular times, and records named values; of each
//! name the number, sum and largest of the values of every time are kept, so that the result does not depend on
//! partitions or threads. The probes are in [`crate::probes`], one file each.

use super::queueing::Branch;
use crate::engine::Tick;
use crate::measure::records::Records;
use crate::topology::Topology;
use std::ops::Range;
use std::sync::Arc;

/// What a probe sees: the routers of one partition between two ticks.
pub trait Observation {
    /// The graph.
    fn topology(&self) -> &dyn Topology;
    /// The routers in sight.
    fn routers(&self) -> Range<u32>;
    /// Calls `see` with what the routing mechanism keeps for `router`: a name, a port (or another index), a value.
    fn mechanism(&self, router: u32, see: &mut dyn FnMut(&'static str, Option<u16>, u32));
    /// Calls `see` with what a managed queue organisation keeps for `port`: a name, a value.
    fn queueing(&self, router: u32, port: u16, see: &mut dyn FnMut(&str, u32));
    /// Calls `see` with what a managed queue organisation isolates at `port`.
    fn trees(&self, router: u32, port: u16, see: &mut dyn FnMut(&Branch<'_>));
    /// Virtual channels (queues) of `port`.
    fn queues(&self, router: u32, port: u16) -> u16;
    /// Phits of the packets that stand in queue `queue` of input `port`, whether their tails have arrived or not.
    fn input_phits(&self, router: u32, port: u16, queue: u16) -> u32;
    /// Phits charged against virtual channel `vc` of output `port`; `None` if it leads to no router.
    fn output_phits(&self, router: u32, port: u16, vc: u16) -> Option<u32>;
}

/// What a probe's file provides.
pub trait ProbeParams {
    /// Cycles between two looks, at least 1.
    fn every(&self) -> u32;
    /// Looks, and records values by name.
    fn look(&self, at: &dyn Observation, record: &mut dyn FnMut(&str, u32));
}

/// The probes of a run, with the ticks between their looks.
#[derive(Clone, Default)]
pub struct Probes(Vec<(Arc<dyn ProbeParams + Send + Sync>, Tick)>);

impl Probes {
    /// The given ones.
    pub fn new(probes: impl Iterator<Item = Arc<dyn ProbeParams + Send + Sync>>, ticks_per_cycle: Tick) -> Self {
        let with_period = |probe: Arc<dyn ProbeParams + Send + Sync>| {
            let every = probe.every().saturating_mul(ticks_per_cycle);
            (probe, every)
        };
        Self(probes.map(with_period).collect())
    }

    /// The first tick from `from` on in which some probe looks.
    pub(crate) fn next(&self, from: Tick) -> Tick {
        let next = |every: Tick| from.checked_next_multiple_of(every).unwrap_or(Tick::MAX);
        self.0.iter().map(|(_, every)| next(*every)).min().unwrap_or(Tick::MAX)
    }

    /// Lets the probes look whose time has come.
    pub(crate) fn look(&self, at: &dyn Observation, now: Tick, records: &mut Records) {
        for (index, (probe, every)) in self.0.iter().enumerate() {
            if now % every == 0 {
                records.note(index, now, |record| probe.look(at, record));
            }
        }
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
