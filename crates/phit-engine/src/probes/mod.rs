//! The seam `probe`: what is looked at while a network runs, besides the packets that it delivers.
//!
//! One file per probe. A probe reads the state of one partition at a time, at regular times, and records named values; of each
//! name the engine keeps the number, sum and largest of the values of every time, so that the result does not depend on
//! partitions or threads.

use crate::engine::{NONE, Tick};
use crate::fabric::input_queued::Partition;
use crate::fabric::input_queued::state::BROKEN;
use crate::queueing::Branch;
use crate::topology::Topology;
use std::collections::BTreeMap;
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

    /// Calls `see` with what the routing mechanism keeps for `router`: a name, a port (or another index), a value.
    pub fn mechanism(&self, router: u32, see: &mut dyn FnMut(&'static str, Option<u16>, u32)) {
        self.partition.routing.observe(router, self.partition.now + 1, see);
    }

    /// Calls `see` with what a managed queue organisation keeps for `port`: a name, a value.
    pub fn queueing(&self, router: u32, port: u16, see: &mut dyn FnMut(&str, u32)) {
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

/// What a probe's file provides.
pub trait ProbeParams {
    /// Cycles between two looks, at least 1.
    fn every(&self) -> u32;
    /// Looks, and records values by name.
    fn look(&self, at: &Observation<'_>, record: &mut dyn FnMut(&str, u32));
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

/// Number, sum and largest of some values.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Values.
    pub count: u64,
    /// Their sum.
    pub sum: u64,
    /// The largest.
    pub max: u32,
}

impl Tally {
    fn add(&mut self, other: Self) {
        self.count += other.count;
        self.sum += other.sum;
        self.max = self.max.max(other.max);
    }
}

/// What the probes of a run have recorded.
#[derive(Debug, Clone, Default)]
pub struct Records {
    /// The probes and the ticks between their looks.
    probes: Vec<(ProbeKind, Tick)>,
    /// By probe, name and tick.
    tallies: BTreeMap<(usize, String, Tick), Tally>,
}

impl Records {
    /// Nothing recorded yet.
    pub fn new(probes: &[ProbeKind], ticks_per_cycle: Tick) -> Self {
        let with_period = |probe: &ProbeKind| (probe.clone(), probe.params().every().saturating_mul(ticks_per_cycle));
        Self { probes: probes.iter().map(with_period).collect(), tallies: BTreeMap::new() }
    }

    /// The first tick from `from` on in which some probe looks.
    pub(crate) fn next(&self, from: Tick) -> Tick {
        let next = |every: Tick| from.checked_next_multiple_of(every).unwrap_or(Tick::MAX);
        self.probes.iter().map(|(_, every)| next(*every)).min().unwrap_or(Tick::MAX)
    }

    /// Lets the probes look whose time has come.
    pub(crate) fn look(&mut self, at: &Observation<'_>, now: Tick) {
        for (index, (probe, every)) in self.probes.iter().enumerate() {
            if now % every == 0 {
                let mut found: BTreeMap<String, Tally> = BTreeMap::new();
                probe.params().look(at, &mut |name, value| {
                    let one = Tally { count: 1, sum: value.into(), max: value };
                    match found.get_mut(name) {
                        Some(tally) => tally.add(one),
                        None => {
                            found.insert(name.to_owned(), one);
                        }
                    }
                });
                for (name, tally) in found {
                    self.tallies.entry((index, name, now)).or_default().add(tally);
                }
            }
        }
    }

    /// Takes in what was recorded in another partition.
    pub fn merge(&mut self, other: &Self) {
        for (key, tally) in &other.tallies {
            self.tallies.entry(key.clone()).or_default().add(*tally);
        }
    }

    /// All records in order: kind of probe, name, tick, tally.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &str, Tick, Tally)> {
        self.tallies.iter().map(|((index, name, at), tally)| (self.probes[*index].0.kind(), name.as_str(), *at, *tally))
    }

    /// True if there are no probes.
    pub fn is_empty(&self) -> bool {
        self.probes.is_empty()
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.tallies.len() * (size_of::<(usize, String, Tick, Tally)>() + 24)
    }
}
