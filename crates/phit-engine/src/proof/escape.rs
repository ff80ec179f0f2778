//! Deadlock freedom by escape, for mechanisms whose packets may wait for one another in a cycle but never have to.
//!
//! Under virtual cut-through (or store-and-forward), a packet needs room for all of itself in the next channel, and
//! nothing else. Suppose that every packet, wherever it is, is always permitted one *escape* hop for which it can wait.
//! Suppose also that the channels have an order in which every escape hop leads upwards. Then no packet waits for ever:
//! packets in the last channels are ejected, and so, from the last to the first, every channel keeps moving. García et
//! al. use this argument for OLM (ICPP 2013). It is Duato's argument for escape channels, with channels that all
//! packets share. A packet must not commit itself to another hop while it is blocked.
//!
//! The hops of all packets are followed from every router to every router, but only escape hops are dependencies. If
//! all hops are dependencies and there is still no cycle, packets cannot wait for one another at all, as in `cdg`.

use super::cdg::{Flaw, Report};
use super::dependencies::Dependencies;
use super::messages::Messages;
use super::walk::{self, Packet, Rule, Start, Walk, Way};
use crate::fabric::seams::routing::{Adaptive, Standing, Step};
use crate::topology::{Peer, Topology, terminals};

/// Proves that every packet can always escape, or shows why not.
pub(crate) fn check(
    topology: &dyn Topology,
    mechanism: &dyn Adaptive,
    vcs: &[u8],
    messages: Option<Messages>,
) -> Result<Report, Flaw> {
    followed(topology, mechanism, vcs, messages, false)
}

/// Proves that channels do not wait for one another in a cycle, whichever of its hops a packet waits for, or shows how
/// they do.
pub(crate) fn check_all(
    topology: &dyn Topology,
    mechanism: &dyn Adaptive,
    vcs: &[u8],
    messages: Option<Messages>,
) -> Result<Report, Flaw> {
    followed(topology, mechanism, vcs, messages, true)
}

fn followed(
    topology: &dyn Topology,
    mechanism: &dyn Adaptive,
    vcs: &[u8],
    messages: Option<Messages>,
    all: bool,
) -> Result<Report, Flaw> {
    let mut walk = Walk::new(topology, vcs);
    let terminals = terminals(topology);
    let starts: Vec<Start> = terminals.iter().copied().map(Start::injected).collect();
    let longest = mechanism.longest(topology);
    let mut ends = vec![false; walk.dependencies.ends.len()];
    for to in terminals {
        let mut steps = Steps { topology, mechanism, vcs, to, longest, all, steps: Vec::new() };
        walk.follow(&starts, &mut steps, |channel| ends[channel as usize] = true)?;
    }
    walk.dependencies.left = ends;
    walk.conclude(messages)
}

/// The steps of packets towards one router.
struct Steps<'a> {
    topology: &'a dyn Topology,
    mechanism: &'a dyn Adaptive,
    vcs: &'a [u8],
    to: u32,
    /// Links on the longest route.
    longest: u32,
    /// True if packets may wait for any hop, not only for escape hops.
    all: bool,
    steps: Vec<Step>,
}

impl Steps<'_> {
    fn standing(&self, &Packet { at, came, hops, memo }: &Packet) -> Standing {
        Standing { at, to: self.to, came, hops, memo }
    }
}

impl Rule for Steps<'_> {
    fn counts_hops(&self) -> bool {
        self.mechanism.counts_hops()
    }

    fn is_there(&self, packet: &Packet) -> bool {
        self.mechanism.has_arrived(&self.standing(packet))
    }

    fn ways(
        &mut self,
        dependencies: &Dependencies,
        packet: &Packet,
        from: u32,
        out: &mut Vec<Way>,
    ) -> Result<(), Flaw> {
        let too_long = Flaw::TooLong { from, hops: self.longest };
        if packet.hops.total() >= self.longest {
            return Err(too_long);
        }
        let standing = self.standing(packet);
        self.steps.clear();
        self.mechanism.steps(self.topology, &standing, self.vcs, &mut self.steps);
        if !self.steps.iter().any(|step| step.escape) {
            return Err(Flaw::Stranded { from, at: packet.at });
        }
        if !self.counts_hops() {
            // Then every step leads nearer to the target, which bounds the route.
            let apart = |router| self.topology.distance(router, self.to);
            let nearer = |step: &Step| match self.topology.port(packet.at, step.hop.port).peer {
                Peer::Router { router, .. } => apart(router) < apart(packet.at),
                Peer::Endpoint(_) | Peer::None => true,
            };
            if !self.steps.iter().all(nearer) {
                return Err(too_long);
            }
        }
        for step in &self.steps {
            walk::channels(dependencies, packet.at, step.hop, from, |channel| {
                out.push(Way { channel, memo: step.memo, waits: self.all || step.escape });
            })?;
        }
        Ok(())
    }
}
