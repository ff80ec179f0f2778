//! Contention counters on any network (Fuentes et al., IPDPS 2015, section VI-D).

use super::base::{Base, Contention};
use super::crossing::Alone;
use super::{CONTENTION, Comparison, Threshold};
use crate::engine::Tick;
use crate::error::ScenarioError;
use crate::fabric::seams::routing::{Adaptive, Changes, Proof, Standing, Step};
use crate::measure::Observable;
use crate::packet::{MISROUTED_LOCALLY, Packet};
use crate::routing::distances::Distances;
use crate::routing::in_transit::Trigger;
use crate::routing::{RouterView, Routing, RoutingContext, RoutingParams, See, Site, View, Wants, ladder};
use crate::topology::{Hop, RouteTable, Topology};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Where a packet may leave its minimal route.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Where {
    /// At its source's router alone. Needs one virtual channel more than minimal routes.
    #[default]
    Source,
    /// At any router of its way, once. Needs twice the virtual channels of minimal routes.
    Anywhere,
}

/// Minimal routes that a packet leaves once, when too many heads want its next output, for an output to any other
/// router that few want; from there it goes minimally. Contention counters on any network whose links lead both ways
/// (Fuentes et al., IPDPS 2015, section VI-D, which leaves it open). With `credit_threshold` it is the paper's Hybrid.
///
/// The virtual channel of a hop is the number of hops taken before it, so that channels rise along every route.
///
/// ```toml
/// [topology]
/// kind = "slim_fly"
/// q = 5
///
/// [routing]
/// kind = "contention_graph"
/// threshold = 4
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Graph {
    /// Heads that an output may have waiting for it before packets leave it.
    pub threshold: Threshold,
    /// Whether the threshold itself triggers.
    pub comparison: Comparison,
    /// Where packets may leave their minimal routes.
    pub misroute: Where,
    /// Hybrid: a packet also leaves a minimal output that cannot take it, if another output's share of occupied phits
    /// is at most this factor times the minimal output's share. If left out, only contention decides.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0))]
    pub credit_threshold: Option<f64>,
}

impl RoutingParams for Graph {
    fn check(&self, topology: &dyn Topology) -> Result<(), ScenarioError> {
        ladder::check("contention_graph", topology)
    }
    fn vcs_needed(&self, topology: &dyn Topology) -> (Vec<u8>, String) {
        ladder::vcs_needed(topology, longest(self.misroute, topology))
    }
    fn proof(&self) -> Proof {
        Proof::Escape(Box::new(AnyCounters(self.misroute)))
    }
    fn observables(&self) -> &'static [Observable] {
        &[CONTENTION]
    }
    fn build(&self, context: &RoutingContext) -> Box<dyn Routing> {
        let base = Base { threshold: self.threshold, comparison: self.comparison, ..Base::default() };
        Box::new(Rule {
            misroute: self.misroute,
            credits: self.credit_threshold,
            hops: longest(self.misroute, &*context.topology),
            contention: Contention::new(&base, context),
            distances: Distances::new(context),
            found: Vec::new(),
        })
    }
}

/// Hops of the longest route: a minimal one, before or after a hop that is not.
fn longest(misroute: Where, topology: &dyn Topology) -> u32 {
    match misroute {
        Where::Source => topology.diameter() + 1,
        Where::Anywhere => 2 * topology.diameter(),
    }
    .max(1)
}

/// True if a packet that stands at `at` after `taken` hops may leave its minimal route.
fn may_leave(misroute: Where, taken: u32, misrouted: bool) -> bool {
    match misroute {
        Where::Source => taken == 0,
        Where::Anywhere => !misrouted,
    }
}

/// True if a packet may leave its minimal route for a router from which there are `left` links to its destination: no
/// more than minimal routes have.
fn fits(topology: &dyn Topology, left: u32) -> bool {
    left <= topology.diameter()
}

/// The mechanism for proofs: counters may have any values.
struct AnyCounters(Where);

impl Adaptive for AnyCounters {
    fn steps(&self, topology: &dyn Topology, packet: &Standing, vcs: &[u8], out: &mut Vec<Step>) {
        let &Standing { at, to, hops, memo, .. } = packet;
        let taken = hops.total();
        let hop = |port: u16| ladder::step(topology, packet, port, longest(self.0, topology), vcs);
        for first in ladder::minimal_ports(topology, packet, to) {
            out.push(Step { hop: hop(first), memo, escape: true });
            if may_leave(self.0, taken, memo == 1) {
                let near = |port: &u16| {
                    ladder::behind(topology, at, *port).is_some_and(|next| fits(topology, topology.distance(next, to)))
                };
                let others = (0..topology.ports(at)).filter(|&port| port != first).filter(near);
                out.extend(others.map(|port| Step { hop: hop(port), memo: 1, escape: false }));
            }
        }
    }
    fn longest(&self, topology: &dyn Topology) -> u32 {
        longest(self.0, topology)
    }
}

struct Rule {
    misroute: Where,
    /// See [`Graph::credit_threshold`].
    credits: Option<f64>,
    /// Hops of the longest route.
    hops: u32,
    contention: Contention<Alone>,
    distances: Distances,
    /// Hops found for one head.
    found: Vec<Hop>,
}

/// Why a packet leaves its minimal route.
#[derive(Clone, Copy)]
enum Reason {
    Contention,
    /// With the largest share of another output that is occupied.
    Credits(f64),
}

impl Rule {
    /// Why `packet` should not take its minimal output `first`, if it should not.
    fn reason(&self, view: &RouterView<'_>, first: u16, packet: &Packet) -> Option<Reason> {
        if self.contention.is_contended(view, first) {
            return Some(Reason::Contention);
        }
        let (share, hop) = (self.credits?, ladder::over(view, first, packet, self.hops));
        let full = |vc: u8| !view.takes(first, vc, packet.size.into());
        let blocked = (hop.vc..hop.vc.saturating_add(hop.vcs)).all(full);
        blocked.then(|| Reason::Credits(share * view.fill(first, hop.vc)))
    }
}

/// In [`Packet::flags`]: has left its minimal route.
const LEFT: u8 = 1;

impl Routing for Rule {
    fn wants(&self) -> Wants {
        Wants { redecide: true, heads: true, departures: true, ..Wants::default() }
    }

    fn route(&mut self, view: &mut View<'_>, port: u16, queue: u16, packet: &mut Packet) -> Option<Hop> {
        packet.scratch = 0;
        let to = packet.destination_router;
        let counted = self.contention.wanted(view, port, queue);
        let first = counted.unwrap_or_else(|| ladder::minimal_port(view, packet, to));
        let may_leave = may_leave(self.misroute, packet.hops.total(), packet.flags == LEFT);
        let reason = if may_leave { self.reason(view, first, packet) } else { None };
        // The fuller the minimal output, the fuller may be another.
        view.watch_chosen_for(match (may_leave, self.credits) {
            (false, _) => Changes::NONE,
            (true, None) => Changes::ANNOUNCED,
            (true, Some(_)) => Changes::ANNOUNCED.and(Changes::RISE),
        });
        if let Some(reason) = reason {
            let Self { found, contention, hops, distances, .. } = self;
            found.clear();
            for (port, place) in distances.links(view).filter(|(port, _)| *port != first) {
                let hop = || ladder::over(view, port, packet, *hops);
                let admitted = match reason {
                    Reason::Contention => contention.is_calm(view, port),
                    Reason::Credits(most) => view.fill(port, hop().vc) <= most,
                };
                if !admitted {
                    let changes = match reason {
                        Reason::Contention => Changes::ANNOUNCED,
                        Reason::Credits(_) => Changes::FALL,
                    };
                    view.watch_for(changes, port..port + 1, hop().vc..hop().vc + 1);
                } else if fits(view.topology, distances.between(view, place, to)) {
                    let hop = hop();
                    match view.takes(port, hop.vc, packet.size.into()) {
                        true => found.push(hop),
                        false => view.watch_for(Changes::ROOM, port..port + 1, hop.vc..hop.vc + 1),
                    }
                }
            }
            if !found.is_empty() {
                packet.scratch = 1;
                return Some(found[view.rng.below(found.len() as u32) as usize]);
            }
        }
        Some(ladder::over(view, first, packet, self.hops))
    }

    fn departs(&mut self, _: &RouterView<'_>, _: u16, _: u16, _: Hop, packet: &mut Packet) {
        if packet.scratch == 1 {
            packet.flags = LEFT;
            packet.misrouted |= MISROUTED_LOCALLY;
        }
    }

    fn head_arrived(&mut self, at: &mut Site<'_>, port: u16, queue: u16, packet: &mut Packet) {
        let wanted = match packet.destination_router == at.router {
            true => packet.ejection_port,
            false => ladder::minimal_port(at, packet, packet.destination_router),
        };
        self.contention.count(at, port, queue, wanted);
    }

    fn tail_left(&mut self, at: &mut Site<'_>, port: u16, queue: u16) {
        self.contention.tail_left(at, port, queue);
    }

    fn rerouted(&mut self, _: Tick, _: usize, _: Option<&Arc<RouteTable>>) {
        self.distances.forget();
    }

    fn observe(&self, router: u32, _: Tick, see: See<'_>) {
        self.contention.observe(router, see);
    }
}
