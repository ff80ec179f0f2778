//! The source of all quantities: the counts of a run and their context.

use super::Precision;
use super::collector::Window;
use super::declare::{Cells, list, named};
use super::quantities::Counters;
use super::steadiness::Estimates;
use super::{Rate, Snapshot};
use crate::topology::Topology;

/// The counts of a run and their context, from which quantities and columns are computed.
pub struct Reading<'a> {
    /// The counters, merged over partitions.
    pub counters: &'a Counters,
    /// Which packets were recorded, and how.
    pub window: &'a Window,
    /// The graph.
    pub topology: &'a dyn Topology,
    /// Number of networks of that graph; every endpoint has a port in each.
    pub planes: u32,
    /// Phits per cycle of the link behind a port of a router.
    pub bandwidth: &'a dyn Fn(u32, u16) -> f64,
    /// How phits on that link are counted.
    pub rate: &'a dyn Fn(u32, u16) -> Rate,
    /// How phits on the link to an endpoint are counted.
    pub ejection: &'a dyn Fn(u32) -> Rate,
    /// How phits on the link from an endpoint into the network are counted.
    pub injection: &'a dyn Fn(u32) -> Rate,
    /// How phits on links of a class between routers are counted.
    pub rate_of_class: &'a dyn Fn(u8) -> Rate,
    /// Counters of links and endpoints when the measured time began.
    pub before: &'a Snapshot,
    /// Counters of links and endpoints when the measured time ended.
    pub after: &'a Snapshot,
    /// Cycles before the measurement.
    pub warmup_cycles: u64,
    /// Measured cycles.
    pub cycles: u64,
    /// Cycles after the measurement.
    pub drain_cycles: u64,
    /// Whether the run became as precise as requested; `None` if no precision was requested.
    pub converged: Option<bool>,
    /// The change of traffic or network in the measured time, if there is one.
    pub changing: Option<&'static str>,
    /// Level of the confidence intervals.
    pub confidence: f64,
    /// The requested precision of means, if any.
    pub precision: Option<&'a Precision>,
    /// The load that fills the bisection, where the bisection is known.
    pub bisection_load: Option<f64>,
    /// Seconds in a cycle, if the scenario gives them.
    pub cycle_seconds: Option<f64>,
    /// Kinds of the probes.
    pub probes: &'a [&'static str],
    /// The table of links is asked for.
    pub links: bool,
    /// The table of endpoints is asked for.
    pub endpoints: bool,
    /// The run executes a program.
    pub workload: bool,
    /// Packets are requests and replies.
    pub requests: bool,
    /// There is congestion control.
    pub congestion: bool,
    /// Buffers pause their senders.
    pub pauses: bool,
    /// Names of the classes of packets, if there are several.
    pub classes: &'a [String],
    /// Names of the flows that are counted by themselves.
    pub flows: &'a [&'a str],
    /// The table of messages is asked for.
    pub messages: bool,
    /// The table of operations is asked for.
    pub operations: bool,
    /// The table of CPU activity is asked for.
    pub tracks: bool,
    /// The table of phases is asked for.
    pub phases: bool,
    /// Execution and cost of the run.
    pub machine: Machine,
    /// What the batches say about means, kept for the quantities that tell of it.
    pub(crate) estimates: Estimates,
}

/// Execution and cost of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Machine {
    /// Threads.
    pub threads: usize,
    /// Partitions.
    pub partitions: usize,
    /// Bytes of the engine's tables at the end of the run.
    pub engine_bytes: usize,
    /// Cost, as measured by the caller.
    pub cost: Cost,
}

/// Cost of a run, as measured from outside the engine.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Cost {
    /// Processor time of all threads in seconds.
    pub cpu_seconds: f64,
    /// Time from start to end in seconds.
    pub wall_seconds: f64,
    /// Largest resident set of the process so far, in bytes, if the system reports it.
    pub peak_memory_bytes: Option<u64>,
}

impl Reading<'_> {
    /// Capacity of a link in the measured time, in parts of a phit.
    pub fn capacity(&self, rate: Rate) -> u64 {
        rate.capacity(self.ticks())
    }

    /// Measured ticks.
    pub fn ticks(&self) -> u64 {
        self.cycles.saturating_mul(self.window.ticks_per_cycle.into())
    }

    /// The load carried in the measured time, in phits per cycle, from a link's counter before and after.
    pub fn load(&self, rate: Rate, (before, after): (u64, u64)) -> f64 {
        (after - before) as f64 / (rate.per_phit as f64 * self.cycles as f64)
    }

    /// Measured cycles, added up over all endpoints.
    pub fn endpoint_cycles(&self) -> f64 {
        f64::from(self.topology.endpoints()) * self.cycles as f64
    }
    /// A column of the names of routers; those of each plane are numbered on after those of the plane before.
    pub(super) fn router_names(&self, routers: impl Iterator<Item = Option<u32>>) -> Cells {
        let (words, count) = (self.topology.words(), self.topology.routers());
        let name = |router: Option<u32>| words.router_name(router? % count);
        named(routers.map(name), words.names().is_some_and(|names| !names.routers.is_empty()))
    }

    /// A column of what ports are called, each given by its router as well.
    pub(super) fn port_names(&self, ports: impl Iterator<Item = Option<(u32, u16)>>) -> Cells {
        let (words, count) = (self.topology.words(), self.topology.routers());
        let name = |port: Option<(u32, u16)>| port.and_then(|(router, port)| words.port_name(router % count, port));
        named(ports.map(name), words.names().is_some_and(|names| !names.ports.is_empty()))
    }

    /// A column of the names of endpoints.
    pub(super) fn endpoint_names(&self, endpoints: impl Iterator<Item = u32>) -> Cells {
        let words = self.topology.words();
        let there = words.names().is_some_and(|names| !names.endpoints.is_empty());
        named(endpoints.map(|endpoint| words.endpoint_name(endpoint)), there)
    }

    /// A column of the names of several endpoints.
    pub(super) fn names_of_endpoints<'a>(&self, endpoints: impl Iterator<Item = Option<&'a [u32]>>) -> Cells {
        let words = self.topology.words();
        let names = |endpoints: &[u32]| -> Vec<Option<&str>> {
            endpoints.iter().map(|&endpoint| words.endpoint_name(endpoint)).collect()
        };
        match words.names().is_some_and(|names| !names.endpoints.is_empty()) {
            true => list(endpoints.map(|these| these.map(names))),
            false => Cells::ABSENT,
        }
    }

    /// Phits of a load of 1, over the measured time.
    pub fn full_load(&self) -> f64 {
        self.window.load.of_all() * self.cycles as f64
    }
}
