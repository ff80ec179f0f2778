//! An outage: the parts of a network that do not work at a time.

use super::super::{Peer, Topology, Wires};
use std::collections::BTreeSet;

/// The parts of a network that do not work.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Outage {
    /// Outputs to routers, as (router, port).
    pub(super) links: BTreeSet<(u32, u16)>,
    /// Routers.
    pub(super) routers: BTreeSet<u32>,
    /// Endpoints, including all endpoints of failed routers.
    pub(super) endpoints: BTreeSet<u32>,
}

impl Outage {
    /// Adds the link of an output; a bidirectional link fails in both directions.
    pub(super) fn add_link(&mut self, graph: &dyn Topology, router: u32, port: u16) {
        self.links.insert((router, port));
        if let Peer::Router { router: other, port: back } = graph.port(router, port).peer
            && graph.port(other, back).peer == (Peer::Router { router, port })
        {
            self.links.insert((other, back));
        }
    }

    /// Adds a router, with its links and endpoints.
    pub(super) fn add_router(&mut self, graph: &dyn Topology, wires: &Wires, router: u32) {
        self.routers.insert(router);
        for port in 0..graph.ports(router) {
            match graph.port(router, port).peer {
                Peer::Router { .. } => self.add_link(graph, router, port),
                Peer::Endpoint(endpoint) => drop(self.endpoints.insert(endpoint)),
                Peer::None => {}
            }
        }
        self.links.extend(wires.incoming(router).iter().map(|&place| wires.owner(place)));
    }

    /// The union of these outages.
    pub(super) fn union<'a>(all: impl IntoIterator<Item = &'a Self>) -> Self {
        let mut union = Self::default();
        for outage in all {
            union.links.extend(&outage.links);
            union.routers.extend(&outage.routers);
            union.endpoints.extend(&outage.endpoints);
        }
        union
    }

    /// The outputs that lead nowhere: over links, and to endpoints.
    pub(super) fn outputs(&self, graph: &dyn Topology) -> BTreeSet<(u32, u16)> {
        let mut outputs = self.links.clone();
        outputs.extend(self.endpoints.iter().map(|&endpoint| graph.attachment(endpoint)));
        outputs
    }

    /// Two routers with endpoints, both working, of which the second cannot be reached from the first.
    pub(super) fn parts(&self, wires: &Wires) -> Option<(u32, u32)> {
        let works = |router: &u32| !self.routers.contains(router);
        let first = wires.hosts().find(works)?;
        let mut reached = vec![false; wires.routers() as usize];
        reached[first as usize] = true;
        let mut open = vec![first];
        while let Some(router) = open.pop() {
            for (place, wire) in wires.leaving(router) {
                if !self.links.contains(&wires.owner(place)) && !reached[wire.router as usize] {
                    reached[wire.router as usize] = true;
                    open.push(wire.router);
                }
            }
        }
        let lost = wires.hosts().filter(works).find(|&router| !reached[router as usize])?;
        Some((first, lost))
    }
}
