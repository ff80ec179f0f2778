//! The time from one endpoint to another in an otherwise empty network.

use super::{Blueprint, LinkClasses};
use crate::bandwidth::Bandwidth;
use crate::engine::{Rng, Tick};
use crate::topology::{HopState, Hops, Leg, Peer, Topology};
use std::sync::Arc;

/// Minimal routes and their times. Between two endpoints with several shortest routes, it always takes one and the
/// same.
pub(crate) struct Ways {
    topology: Arc<dyn Topology>,
    /// By class: ticks from an output to the next input.
    latency: Vec<Tick>,
    links: LinkClasses,
    vcs: Vec<u8>,
    /// Ticks inside a router.
    inside: Tick,
    ejection: Tick,
}

/// A route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Way {
    /// Ticks that a phit takes.
    pub latency: Tick,
    /// Phits per cycle of the slowest link.
    pub bandwidth: Bandwidth,
}

/// A link of a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Step {
    /// Router and port of its near end. For the link from an endpoint into the network: all ones, and the endpoint.
    pub link: (u32, u32),
    /// Ticks to its far end, and inside the router there.
    pub latency: Tick,
    /// Phits per cycle.
    pub bandwidth: Bandwidth,
}

const WHOLE: Leg = Leg { index: 0, of: 1, to_group: false };

impl Ways {
    /// The routes of a network whose routers take `inside` ticks.
    pub(crate) fn new(blueprint: &Blueprint, inside: Tick) -> Self {
        let links = &blueprint.links;
        Self {
            topology: blueprint.topology.clone(),
            latency: links.iter().map(|link| link.latency).collect(),
            links: links.clone(),
            vcs: links.vcs(blueprint.division),
            inside,
            ejection: links[0].ejection_latency,
        }
    }

    /// Ticks in a link cycle.
    pub(crate) fn ticks_per_cycle(&self) -> Tick {
        self.links.ticks_per_cycle
    }

    /// Phits per cycle from `endpoint` into its router.
    pub(crate) fn injected(&self, endpoint: u32) -> Bandwidth {
        self.links.injection_of(endpoint).unwrap_or(Bandwidth::UNLIMITED)
    }

    /// Phits per cycle from the router of `endpoint` to it.
    pub(crate) fn ejected(&self, endpoint: u32) -> Bandwidth {
        self.links.of_endpoint(endpoint)
    }

    /// The route between two endpoints.
    pub(crate) fn between(&self, from: u32, to: u32) -> Way {
        let mut way = Way { latency: 0, bandwidth: Bandwidth::UNLIMITED };
        self.follow(from, to, |step| {
            way = Way { latency: way.latency + step.latency, bandwidth: way.bandwidth.min(step.bandwidth) };
        });
        way
    }

    /// The route between two endpoints, with the most that the packets of a message can have together. They may take
    /// different links between routers. So only two things limit them: the links of the endpoints, and all links
    /// together that leave the first router.
    pub(crate) fn together(&self, from: u32, to: u32) -> Way {
        let Way { latency, .. } = self.between(from, to);
        let [start, end] = [from, to].map(|endpoint| self.topology.attachment(endpoint).0);
        let ends = self.injected(from).min(self.ejected(to));
        Way { latency, bandwidth: if start == end { ends } else { ends.min(self.leaving(start)) } }
    }

    /// At least the bandwidth of all links from a router to others.
    fn leaving(&self, router: u32) -> Bandwidth {
        let ports = (0..self.topology.ports(router)).map(|port| self.topology.port(router, port));
        let between = ports.filter(|port| matches!(port.peer, Peer::Router { .. }));
        let (mut links, mut fastest) = (0, None);
        for port in between {
            links += 1;
            fastest = fastest.max(Some(self.links[usize::from(port.class)].bandwidth));
        }
        fastest.map_or(Bandwidth::UNLIMITED, |fastest: Bandwidth| fastest.times(links))
    }

    /// The links between two endpoints.
    pub(crate) fn steps(&self, from: u32, to: u32) -> Vec<Step> {
        let mut steps = Vec::new();
        self.follow(from, to, |step| steps.push(step));
        steps
    }

    fn follow(&self, from: u32, to: u32, mut see: impl FnMut(Step)) {
        let Self { topology, latency, links, inside, .. } = self;
        let (mut at, (end, out)) = (topology.attachment(from).0, topology.attachment(to));
        see(Step { link: (u32::MAX, from), latency: latency[0] + inside, bandwidth: self.injected(from) });
        let mut rng = Rng::keyed(from.into(), to);
        let mut state = HopState { came_by: 0, came_in: 0, leg_hops: Hops::default() };
        // A graph whose routes do not arrive has been refused.
        let mut left = topology.diameter() + 1;
        while at != end && left > 0 {
            left -= 1;
            let hop = topology.minimal_hop(at, end, WHOLE, state, &self.vcs, &mut rng);
            let port = topology.port(at, hop.port);
            let Peer::Router { router, .. } = port.peer else { break };
            let class = usize::from(port.class);
            let link = (at, u32::from(hop.port));
            see(Step { link, latency: latency[class] + inside, bandwidth: links[class].bandwidth });
            state.leg_hops.add(port.class);
            (state.came_by, state.came_in) = (port.class, hop.vc);
            at = router;
        }
        see(Step { link: (end, out.into()), latency: self.ejection, bandwidth: links.of_endpoint(to) });
    }
}
