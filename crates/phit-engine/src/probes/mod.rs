//! The seam `probe`: what is looked at while a network runs, besides the packets that it delivers.
//!
//! One file per probe. A probe declares its quantities, reads the state of one partition at a time, at regular times, and records
//! values with what they are about; of each quantity and place the engine keeps the number, sum and largest of the values of every
//! look, so that the result does not depend on partitions or threads.

use crate::engine::NONE;
use crate::error::ScenarioError;
use crate::fabric::input_queued::Partition;
use crate::fabric::input_queued::state::BROKEN;
use crate::measure::declare::Observable;
use crate::measure::quantities::probes::Record;
use crate::queueing::Branch;
use crate::routing::See;
use crate::topology::Topology;
use std::ops::Range;

pub mod buffers;
pub mod counters;
pub mod fullest_buffers;
pub mod ports;
pub mod queueing;
pub mod trees;

/// What a probe sees: the routers of one partition between two ticks.
pub struct Observation<'a> {
    pub(crate) partition: &'a Partition,
}

impl Observation<'_> {
    /// The graph.
    pub fn topology(&self) -> &dyn Topology {
        &*self.partition.topology
    }

    /// The routers in sight.
    pub fn routers(&self) -> Range<u32> {
        self.partition.routers.clone()
    }

    /// Calls `see` with what the routing mechanism keeps for `router`: a quantity, a port (or another index), a value.
    pub fn mechanism(&self, router: u32, see: See<'_>) {
        self.partition.routing.observe(router, self.partition.now + 1, see);
    }

    /// Calls `see` with what a managed queue organisation keeps for `port`: a quantity, a value.
    pub fn queueing(&self, router: u32, port: u16, see: &mut dyn FnMut(&'static Observable, u32)) {
        if let Some(manager) = &self.partition.manager {
            manager.observe(self.port(router, port), self.partition.now, see);
        }
    }

    /// Calls `see` with what a managed queue organisation isolates at `port`.
    pub fn trees(&self, router: u32, port: u16, see: &mut dyn FnMut(&Branch<'_>)) {
        if let Some(manager) = &self.partition.manager {
            manager.trees(self.port(router, port), see);
        }
    }

    fn port(&self, router: u32, port: u16) -> u32 {
        self.partition.first_port[router - self.partition.routers.start] + u32::from(port)
    }

    /// Virtual channels (queues) of `port`.
    pub fn queues(&self, router: u32, port: u16) -> u16 {
        self.partition.inputs[self.port(router, port)].count
    }

    /// Phits of the packets that stand in queue `queue` of input `port`, whether their tails have arrived or not.
    pub fn input_phits(&self, router: u32, port: u16, queue: u16) -> u32 {
        let partition = self.partition;
        let queue = &partition.queues[partition.inputs[self.port(router, port)].queues + u32::from(queue)];
        let (mut at, mut phits) = (queue.first, 0);
        while at != NONE {
            let packet = &partition.packets[at];
            phits += u32::from(packet.size);
            at = if at == queue.last { NONE } else { packet.next };
        }
        phits
    }

    /// Phits charged against virtual channel `vc` of output `port`; `None` if it leads to no router.
    pub fn output_phits(&self, router: u32, port: u16, vc: u16) -> Option<u32> {
        let output = &self.partition.outputs[self.port(router, port)];
        let credits = self.partition.channels[output.vc + u32::from(vc)].credits;
        let config = &self.partition.config;
        let capacity = config.capacity[output.class as usize] as i32;
        let division = config.division;
        let charged = !division.shared || u32::from(vc) % division.queues == 0;
        (output.far_partition < BROKEN).then_some(if charged { (capacity - credits).max(0) as u32 } else { 0 })
    }
}

/// Whose state a probe looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LooksAt {
    /// The engine's: queues, credits.
    State,
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
        LooksAt::State
    }
    /// What it records besides what those that it looks at declare.
    fn observables(&self) -> &'static [Observable] {
        &[]
    }
    /// Looks, and records values.
    fn look(&self, at: &Observation<'_>, record: Record<'_>);
}

crate::registry! {
    /// An entry of `measure.probes`.
    pub enum ProbeKind: "probe" as ProbeParams {
        "counters" => Counters(counters::CountersProbe),
        "buffers" => Buffers(buffers::BuffersProbe),
        "fullest_buffers" => FullestBuffers(fullest_buffers::FullestBuffersProbe),
        "ports" => Ports(ports::PortsProbe),
        "queueing" => Queueing(queueing::QueueingProbe),
        "trees" => Trees(trees::TreesProbe),
    }
}

impl ProbeKind {
    /// Checks what the trait asks for.
    pub(super) fn check(&self) -> Result<(), ScenarioError> {
        match self.params().every() {
            0 => Err(ScenarioError::new("every", 0, "expected a number of cycles, at least 1")),
            _ => Ok(()),
        }
    }
}
