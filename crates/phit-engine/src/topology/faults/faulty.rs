//! A graph with faults.

use super::super::{Breakdown, Hop, HopState, Leg, Peer, Port, Topology, Tree, Wires, Words};
use super::Retransmit;
use super::lost::Lost;
use super::outage::Outage;
use crate::bandwidth::Bandwidth;
use crate::engine::{NONE, Rng, poll};
use std::ops::Range;
use std::sync::Arc;

/// A graph without its faulty links.
///
/// Its minimal routes are the remaining minimal routes of the whole graph, so their lengths and virtual channels are
/// unchanged. Where none remains, a minimal hop is a hop of the whole graph, which ends at a faulty link.
#[derive(Debug, Clone)]
pub struct Faulty {
    graph: Arc<dyn Topology>,
    /// Outputs of both ends of the faulty links, in order.
    dead: Arc<[(u32, u16)]>,
    lost: Arc<Lost>,
    /// Routers with a faulty link, or with a link to a router that has lost a destination.
    near: Arc<[bool]>,
    /// Routers that have failed, in order.
    down: Vec<u32>,
    /// True if a failed router has endpoints.
    host_down: bool,
    /// Failed endpoints, and endpoints of failed routers, in order.
    off: Vec<u32>,
    /// Two routers with working endpoints and no minimal route between them.
    stranded: Option<(u32, u32)>,
    /// Routers without endpoints where no route may break its journey: they have failed, or lack some minimal route to
    /// or from them. In order.
    closed: Vec<u32>,
    /// Where no hop is left, the hops of the whole graph are listed.
    all_hops: bool,
    /// The failures and repairs during the run.
    pub(super) breakdowns: Vec<Breakdown>,
    /// Whether and how sources send lost packets again.
    pub(super) retransmit: Option<Retransmit>,
}

/// Number of random draws of a hop before all hops are listed.
const DRAWS: u32 = 64;

impl Faulty {
    /// True if everything works, now and later.
    pub fn is_whole(&self) -> bool {
        self.dead.is_empty() && self.down.is_empty() && self.off.is_empty() && self.breakdowns.is_empty()
    }

    pub(super) fn new(graph: &Arc<dyn Topology>, wires: &Wires, outage: &Outage) -> Self {
        let lost = Lost::new(&**graph, wires, &outage.links);
        let mut near = vec![false; graph.routers() as usize];
        for &(router, port) in &outage.links {
            near[router as usize] = true;
            if let Peer::Router { router, .. } = graph.port(router, port).peer {
                near[router as usize] = true;
            }
        }
        for router in (0..graph.routers()).filter(|&router| lost.row[router as usize] != NONE) {
            poll();
            wires.incoming(router).iter().for_each(|&place| near[wires.owner(place).0 as usize] = true);
        }
        let works = |router: &u32| !outage.routers.contains(router) && wires.endpoints(*router) > 0;
        let losers = wires.hosts().filter(|&from| lost.row[from as usize] != NONE).filter(works);
        let pairs = losers.flat_map(|from| wires.hosts().map(move |to| (from, to)));
        let hosts: Vec<u32> = wires.hosts().filter(works).collect();
        let apart = |router: u32, host: u32| lost.has(router, host) || lost.has(host, router);
        let closed = |router: &u32| {
            wires.endpoints(*router) == 0
                && (outage.routers.contains(router) || hosts.iter().any(|&host| apart(*router, host)))
        };
        let closed = graph.hosts().filter(closed).collect();
        let stranded = pairs.into_iter().find(|(from, to)| works(to) && lost.has(*from, *to));
        Self {
            graph: graph.clone(),
            dead: outage.links.iter().copied().collect(),
            lost: lost.into(),
            near: near.into(),
            all_hops: false,
            closed,
            down: outage.routers.iter().copied().collect(),
            host_down: outage.routers.iter().any(|&router| wires.endpoints(router) > 0),
            off: outage.endpoints.iter().copied().collect(),
            stranded,
            breakdowns: Vec::new(),
            retransmit: None,
        }
    }

    /// How sources send lost packets again, if they do.
    pub fn retransmit(&self) -> Option<Retransmit> {
        self.retransmit
    }

    /// This graph, but where no minimal hop remains it lists the minimal hops of the whole graph.
    /// [`Topology::minimal_hop`] returns one of them in any case. For mechanisms that need at least one hop.
    pub(crate) fn with_all_hops(&self) -> Self {
        Self { all_hops: true, breakdowns: Vec::new(), ..self.clone() }
    }

    /// The graph without faults.
    pub fn whole(&self) -> &Arc<dyn Topology> {
        &self.graph
    }

    /// True if no minimal route is left from router `at` to router `to`, which has endpoints.
    #[inline]
    pub fn has_lost(&self, at: u32, to: u32) -> bool {
        self.near[at as usize] && self.lost.has(at, to)
    }

    /// True if the link of an output does not work.
    #[inline]
    pub fn is_dead(&self, router: u32, port: u16) -> bool {
        self.near[router as usize] && self.dead.binary_search(&(router, port)).is_ok()
    }

    /// True if some link of a router does not work.
    pub fn touches(&self, router: u32) -> bool {
        let first = self.dead.partition_point(|dead| *dead < (router, 0));
        self.near[router as usize] && self.dead.get(first).is_some_and(|dead| dead.0 == router)
    }

    /// True if a router has failed.
    pub fn is_down(&self, router: u32) -> bool {
        self.down.binary_search(&router).is_ok()
    }

    /// True if no route can break its journey at a router, which has no endpoints.
    pub fn is_closed(&self, router: u32) -> bool {
        self.closed.binary_search(&router).is_ok()
    }

    /// Failed endpoints, and endpoints of failed routers, in order.
    pub fn off(&self) -> &[u32] {
        &self.off
    }

    /// Two routers with working endpoints and no minimal route from the first to the second, now or later.
    pub fn stranded(&self) -> Option<(u32, u32)> {
        let later = self.breakdowns.iter().filter_map(|breakdown| breakdown.graph.faulty()?.stranded);
        self.stranded.into_iter().chain(later).next()
    }

    /// True if some router with endpoints fails, now or later.
    pub fn loses_hosts(&self) -> bool {
        let of = |breakdown: &Breakdown| breakdown.graph.faulty().is_some_and(|graph| graph.host_down);
        self.host_down || self.breakdowns.iter().any(of)
    }

    /// True if output `port` of router `at`, which is minimal in the whole graph, still lies on a minimal route to
    /// `to`.
    #[inline]
    fn leads(&self, at: u32, port: u16, to: u32) -> bool {
        !self.near[at as usize]
            || match self.port(at, port).peer {
                Peer::Router { router, .. } => !self.lost.has(router, to),
                Peer::Endpoint(_) | Peer::None => false,
            }
    }
}

/// Removes the hops from place `from` on for which `holds` is false. If `some` and none would remain, it removes none.
fn retain(hops: &mut Vec<Hop>, from: usize, some: bool, holds: impl Fn(&Hop) -> bool) {
    if some && !hops[from..].iter().any(&holds) {
        return;
    }
    let mut kept = from;
    for index in from..hops.len() {
        if holds(&hops[index]) {
            hops[kept] = hops[index];
            kept += 1;
        }
    }
    hops.truncate(kept);
}

impl Topology for Faulty {
    fn classes(&self) -> &[String] {
        self.graph.classes()
    }
    fn routers(&self) -> u32 {
        self.graph.routers()
    }
    fn endpoints(&self) -> u32 {
        self.graph.endpoints()
    }
    fn endpoint_bandwidth(&self, endpoint: u32) -> Option<Bandwidth> {
        self.graph.endpoint_bandwidth(endpoint)
    }
    fn ports(&self, router: u32) -> u16 {
        self.graph.ports(router)
    }
    fn port(&self, router: u32, port: u16) -> Port {
        let whole = self.graph.port(router, port);
        if self.is_dead(router, port) { Port { peer: Peer::None, ..whole } } else { whole }
    }
    fn attachment(&self, endpoint: u32) -> (u32, u16) {
        self.graph.attachment(endpoint)
    }
    fn hosts(&self) -> Range<u32> {
        self.graph.hosts()
    }

    fn minimal_hops(&self, at: u32, to: u32, leg: Leg, state: HopState, vcs: &[u8], out: &mut Vec<Hop>) {
        let before = out.len();
        self.graph.minimal_hops(at, to, leg, state, vcs, out);
        retain(out, before, self.all_hops, |hop| self.leads(at, hop.port, to));
    }

    /// A hop of the whole graph, drawn repeatedly until it leads to the destination.
    #[inline]
    fn minimal_hop(&self, at: u32, to: u32, leg: Leg, state: HopState, vcs: &[u8], rng: &mut Rng) -> Hop {
        for _ in 0..DRAWS {
            let hop = self.graph.minimal_hop(at, to, leg, state, vcs, rng);
            if self.leads(at, hop.port, to) {
                return hop;
            }
        }
        // Few of many links are left, so all hops are listed.
        let mut left = Vec::new();
        self.minimal_hops(at, to, leg, state, vcs, &mut left);
        match left.len() as u32 {
            0 => self.graph.minimal_hop(at, to, leg, state, vcs, rng),
            count => left[rng.below(count) as usize],
        }
    }

    fn direct_leg(&self) -> Leg {
        self.graph.direct_leg()
    }
    fn vcs_needed(&self, leg: Leg) -> (Vec<u8>, String) {
        self.graph.vcs_needed(leg)
    }
    fn distance(&self, a: u32, b: u32) -> u32 {
        self.graph.distance(a, b)
    }
    fn diameter(&self) -> u32 {
        self.graph.diameter()
    }
    fn class_ports(&self, router: u32, class: u8) -> Range<u16> {
        self.graph.class_ports(router, class)
    }
    fn grid(&self) -> Option<&[u32]> {
        self.graph.grid()
    }
    fn tree(&self) -> Option<&Tree> {
        self.graph.tree()
    }
    fn groups(&self) -> u32 {
        self.graph.groups()
    }
    fn group_of(&self, router: u32) -> u32 {
        self.graph.group_of(router)
    }
    fn group_routers(&self, group: u32) -> Range<u32> {
        self.graph.group_routers(group)
    }
    fn group_hops(&self, at: u32, group: u32, leg: Leg, state: HopState, vcs: &[u8], out: &mut Vec<Hop>) {
        if self.graph.group_routers(group).len() == 1 {
            return self.minimal_hops(at, self.graph.group_routers(group).start, leg, state, vcs, out);
        }
        let before = out.len();
        self.graph.group_hops(at, group, leg, state, vcs, out);
        retain(out, before, self.all_hops, |hop| !self.is_dead(at, hop.port));
    }
    fn group_hop(&self, at: u32, group: u32, leg: Leg, state: HopState, vcs: &[u8], rng: &mut Rng) -> Hop {
        if self.graph.group_routers(group).len() == 1 {
            return self.minimal_hop(at, self.graph.group_routers(group).start, leg, state, vcs, rng);
        }
        let mut hop = self.graph.group_hop(at, group, leg, state, vcs, rng);
        for _ in 1..DRAWS {
            if !self.is_dead(at, hop.port) {
                break;
            }
            hop = self.graph.group_hop(at, group, leg, state, vcs, rng);
        }
        hop
    }
    fn exit(&self, at: u32, to: u32, rng: &mut Rng) -> Option<(u32, u16)> {
        self.graph.exit(at, to, rng)
    }
    fn is_dragonfly(&self) -> bool {
        self.graph.is_dragonfly()
    }
    fn words(&self) -> Words<'_> {
        self.graph.words()
    }
    fn faulty(&self) -> Option<&Faulty> {
        Some(self)
    }
    fn breakdowns(&self) -> &[Breakdown] {
        &self.breakdowns
    }
    fn bisection_load(&self, bandwidth: &[f64]) -> Option<f64> {
        self.graph.bisection_load(bandwidth)
    }
    fn wraps(&self) -> bool {
        self.graph.wraps()
    }
}
