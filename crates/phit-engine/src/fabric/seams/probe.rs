//! The seam `probe`: what is looked at while a network runs, besides the packets that it delivers.
//!
//! A probe declares its quantities, reads the state of one partition at a time, at regular times, and records values
//! with what they are about; of each quantity and place the number, sum and largest of the values of every look are
//! kept, so that the result does not depend on partitions or threads. The probes are in [`crate::probes`], one file
//! each.

use super::queueing::Branch;
use super::routing::See;
use crate::engine::Tick;
use crate::measure::{Observable, Record, Records};
use crate::topology::Topology;
use std::sync::Arc;

/// What a probe sees: the routers of one partition between two ticks.
pub trait Observation {
    /// The graph.
    fn topology(&self) -> &dyn Topology;
    /// The routers in sight.
    fn routers(&self) -> Box<dyn Iterator<Item = u32> + '_>;
    /// Calls `see` with what the routing mechanism keeps for `router`: a quantity, a port (or another index), a value.
    fn mechanism(&self, router: u32, see: See<'_>);
    /// Calls `see` with what a managed queue organisation keeps for `port`: a quantity, a value.
    fn queueing(&self, router: u32, port: u16, see: &mut dyn FnMut(&'static Observable, u32));
    /// Calls `see` with what a managed queue organisation isolates at `port`.
    fn trees(&self, router: u32, port: u16, see: &mut dyn FnMut(&Branch<'_>));
    /// Virtual channels (queues) of `port`.
    fn queues(&self, router: u32, port: u16) -> u16;
    /// Phits in queue `queue` of input `port`: of flits whose heads have arrived and that have not been granted. A
    /// packet that is one flit is there from its head on.
    fn input_phits(&self, router: u32, port: u16, queue: u16) -> u32;
    /// Heads that have entered queue `queue` of input `port` in this cycle of the links and have not left it yet.
    fn arrivals(&self, router: u32, port: u16, queue: u16) -> u32;
    /// Phits charged against virtual channel `vc` of output `port`; `None` if it leads to no router.
    fn output_phits(&self, router: u32, port: u16, vc: u16) -> Option<u32>;
}

/// Whose state a probe looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LooksAt {
    /// The kernel's: queues, credits.
    Kernel,
    /// The routing mechanism's, which declares what it tells.
    Routing,
    /// A managed queue organisation's, which declares what it tells.
    Queueing,
}

/// What a probe's file provides.
pub trait ProbeParams {
    /// Cycles between two looks, at least 1.
    fn every(&self) -> u32;
    /// Whose state it looks at.
    fn looks_at(&self) -> LooksAt {
        LooksAt::Kernel
    }
    /// What it records besides what those that it looks at declare.
    fn observables(&self) -> &'static [Observable] {
        &[]
    }
    /// Looks, and records values.
    fn look(&self, at: &dyn Observation, record: Record<'_>);
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
            if now.is_multiple_of(*every) {
                records.note(index, now, |record| probe.look(at, record));
            }
        }
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
