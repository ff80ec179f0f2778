//! Deadlock freedom of the bubble family (Puente et al., "The Adaptive Bubble Router", JPDC 2001; theorem 1 of Versaci,
//! "OutFlank Routing", ICPADS 2013), where packets are moved as a whole.
//!
//! The escape channels of one direction along one line of a torus are a *ring*. A packet that enters a ring leaves a
//! free slot in the queue that it enters. A packet within the ring only fills the slot that it leaves behind. So a ring
//! always has a free slot, and its packets move on unless they want to leave it.
//!
//! If the rings do not wait for one another in a cycle, the packets of the last rings leave for their endpoints. Then,
//! from the last to the first, all rings keep moving. A packet in an adaptive queue may wait for an escape queue in its
//! turn.
//!
//! Within an escape channel, packets go in dimension order. A packet with an intermediate destination may go on from
//! there in any direction. If it does so in the channels that all packets share, rings do wait for one another in a
//! cycle.

use super::cdg::{Channel, Flaw, Report};
use crate::engine::poll;
use crate::fabric::seams::bubble::{Escape, TO_DESTINATION};
use crate::topology::{Peer, Topology};
use petgraph::algo::kosaraju_scc;
use petgraph::graphmap::DiGraphMap;
use std::collections::HashMap;

/// A ring: dimension, direction, virtual channel, and the router of the line with the lowest number.
type Ring = (usize, bool, u8, u32);

struct Rings<'a> {
    topology: &'a dyn Topology,
    /// `None`: all channels of a direction are one ring, and packets go in dimension order.
    escape: Option<Escape>,
    strides: Vec<u32>,
    sides: Vec<u32>,
    endpoints: u16,
}

impl Rings<'_> {
    fn port(&self, d: usize, minus: bool) -> u16 {
        self.endpoints + 2 * d as u16 + u16::from(minus)
    }

    fn ring(&self, router: u32, d: usize, minus: bool, vc: u8) -> Ring {
        let position = router / self.strides[d] % self.sides[d];
        (d, minus, vc, router - position * self.strides[d])
    }

    fn directions(&self) -> impl Iterator<Item = (usize, bool)> + use<> {
        (0..self.sides.len()).flat_map(|d| [(d, false), (d, true)])
    }

    /// The escape channels of the packets: for the destination, and for an intermediate destination.
    fn channels(&self) -> Vec<u8> {
        let Some(escape) = self.escape else { return vec![0] };
        let mut channels = vec![TO_DESTINATION];
        channels.extend(escape.to_intermediate.filter(|vc| *vc != TO_DESTINATION));
        channels
    }

    /// True if a packet in channel `vc` of direction `d` may ask for channel `next` of direction `e` at the next
    /// router.
    fn follows(&self, (d, minus, vc): (usize, bool, u8), (e, reversed, next): (usize, bool, u8)) -> bool {
        let in_order = next == vc && (e > d || (e, reversed) == (d, minus));
        let intermediate = self.escape.and_then(|escape| escape.to_intermediate);
        let turns = intermediate == Some(vc) && next == TO_DESTINATION;
        in_order || turns
    }
}

/// Proves that packets of the bubble family cannot wait for one another for ever, or shows why they can. Without escape
/// channels, all channels of a direction keep one free slot together, and packets go in dimension order.
pub(crate) fn check(topology: &dyn Topology, escape: Option<Escape>, vcs: &[u8]) -> Result<Report, Flaw> {
    let sides = topology.grid().unwrap_or_default().to_vec();
    let strides = (0..sides.len()).map(|d| sides[..d].iter().product()).collect();
    let endpoints = (topology.endpoints() / topology.routers()) as u16;
    let rings = Rings { topology, escape, strides, sides, endpoints };
    let escapes = rings.channels();
    let mut graph: DiGraphMap<u32, Channel> = DiGraphMap::new();
    let mut numbers: HashMap<Ring, u32> = HashMap::new();
    let mut number = |ring: Ring| {
        let next = numbers.len() as u32;
        *numbers.entry(ring).or_insert(next)
    };
    let mut report = Report { channels: 0, dependencies: 0, states: 0 };
    for router in 0..topology.routers() {
        poll();
        for ((d, minus), &vc) in rings.directions().flat_map(|way| escapes.iter().map(move |vc| (way, vc))) {
            let port = rings.port(d, minus);
            let Peer::Router { router: there, .. } = topology.port(router, port).peer else { continue };
            if vcs.get(d + 1).is_none_or(|count| *count <= vc) {
                return Err(Flaw::NoSuchChannel { from: router, channel: Channel { router, port, vc } });
            }
            report.channels += 1;
            let held = number(rings.ring(router, d, minus, vc));
            for ((e, reversed), &next) in rings.directions().flat_map(|way| escapes.iter().map(move |vc| (way, vc))) {
                let port = rings.port(e, reversed);
                let leads = matches!(rings.topology.port(there, port).peer, Peer::Router { .. });
                if !leads || !rings.follows((d, minus, vc), (e, reversed, next)) {
                    continue;
                }
                report.dependencies += 1;
                let asked = number(rings.ring(there, e, reversed, next));
                if asked != held {
                    graph.add_edge(held, asked, Channel { router: there, port, vc: next });
                } else if escape.is_some_and(|escape| escape.bubble == 0) && topology.wraps() {
                    return Err(Flaw::Cycle(around(&rings, there, e, port, next)));
                }
            }
        }
    }
    report.states = numbers.len();
    match kosaraju_scc(&graph).into_iter().find(|component| component.len() > 1) {
        None => Ok(report),
        Some(component) => Err(Flaw::Cycle(circle(&graph, &component))),
    }
}

/// The channels of the ring through `router`.
fn around(rings: &Rings<'_>, router: u32, d: usize, port: u16, vc: u8) -> Vec<Channel> {
    let mut channels = Vec::new();
    let mut at = router;
    for _ in 0..rings.sides[d] {
        channels.push(Channel { router: at, port, vc });
        if let Peer::Router { router, .. } = rings.topology.port(at, port).peer {
            at = router;
        }
    }
    channels
}

/// A cycle in a strongly connected component. Each listed channel leaves its ring for the next ring.
fn circle(graph: &DiGraphMap<u32, Channel>, component: &[u32]) -> Vec<Channel> {
    let inside = |from: u32| graph.neighbors(from).filter(|to| component.contains(to)).min();
    let mut path: Vec<u32> = Vec::new();
    let mut at = component.iter().copied().min();
    while let Some(ring) = at {
        if let Some(start) = path.iter().position(|seen| *seen == ring) {
            let around = path[start..].iter().zip(path[start + 1..].iter().chain([&ring]));
            return around.filter_map(|(from, to)| graph.edge_weight(*from, *to).copied()).collect();
        }
        path.push(ring);
        at = inside(ring);
    }
    Vec::new()
}
