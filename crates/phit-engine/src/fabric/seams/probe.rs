//! The seam `probe`: observations of a network while it runs, besides the delivered packets.
//!
//! A probe declares its quantities. At regular times it reads the state of one partition after another, and records
//! values with their places. For each quantity and place, number, sum and maximum of the values of every look are kept.
//! So the result does not depend on partitions or threads. The probes are in [`crate::probes`], one file each.

use super::queueing::Branch;
use super::routing::See;
use crate::engine::Tick;
use crate::error::ScenarioError;
use crate::measure::{Observable, Record, Records};
use crate::topology::Topology;
use std::sync::Arc;

/// The view of a probe: the routers of one partition between two ticks.
pub trait Observation {
    /// The graph.
    fn topology(&self) -> &dyn Topology;
    /// The visible routers.
    fn routers(&self) -> Box<dyn Iterator<Item = u32> + '_>;
    /// Calls `see` with the routing mechanism's state for `router`: a quantity, a port (or another index), a value.
    fn mechanism(&self, router: u32, see: See<'_>);
    /// Calls `see` with a managed queue organisation's state for `port`: a quantity, a value.
    fn queueing(&self, router: u32, port: u16, see: &mut dyn FnMut(&'static Observable, u32));
    /// Calls `see` with the parts of congestion trees that a managed queue organisation isolates at `port`.
    fn trees(&self, router: u32, port: u16, see: &mut dyn FnMut(&Branch<'_>));
    /// Virtual channels (queues) of `port`.
    fn queues(&self, router: u32, port: u16) -> u16;
    /// Phits in queue `queue` of input `port`, of flits whose heads have arrived and that have not been granted. A
    /// packet of one flit counts from the arrival of its head.
    fn input_phits(&self, router: u32, port: u16, queue: u16) -> u32;
    /// Heads that have entered queue `queue` of input `port` in this cycle of the links and are still in it.
    fn arrivals(&self, router: u32, port: u16, queue: u16) -> u32;
    /// Phits charged against virtual channel `vc` of output `port`; `None` if it leads to no router.
    fn output_phits(&self, router: u32, port: u16, vc: u16) -> Option<u32>;
}

/// The part of a network that a probe observes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LooksAt {
    /// The kernel: queues, credits.
    Kernel,
    /// The routing mechanism, which declares its observables.
    Routing,
    /// A managed queue organisation, which declares its observables.
    Queueing,
}

/// The parameters of a probe.
pub trait ProbeParams {
    /// Cycles between two looks, at least 1.
    fn every(&self) -> u32;
    /// The part of the network that it observes.
    fn looks_at(&self) -> LooksAt {
        LooksAt::Kernel
    }
    /// Its own observables, besides those declared by the observed part.
    fn observables(&self) -> &'static [Observable] {
        &[]
    }
    /// Refuses parameters that this network does not have. Error paths are relative to the probe.
    fn check(&self, _topology: &dyn Topology) -> Result<(), ScenarioError> {
        Ok(())
    }
    /// Looks, and records values.
    fn look(&self, at: &dyn Observation, record: Record<'_>);
}

/// The probes of a run, with the ticks between their looks.
#[derive(Clone, Default)]
pub struct Probes(Vec<(Arc<dyn ProbeParams + Send + Sync>, Tick)>);

impl Probes {
    /// These probes.
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

    /// Lets every probe look whose time has come.
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
