//! Source routing that chooses between a packet's minimal route and a Valiant route (UGAL and its relatives): the
//! routes, their channels, and the knowledge of their queues.

use super::in_transit::DIRECT;
use super::valiant::{self, SecondHalf, Stop, Via};
use super::{Injection, RouterView};
use crate::engine::NONE;
use crate::fabric::seams::routing::advance_leg;
use crate::packet::{GROUP, MISROUTED_AT_INJECTION, MISROUTED_GLOBALLY, Packet};
use crate::topology::{Hop, HopState, Hops, Leg, Peer};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The first leg of a Valiant route, for a packet.
const FIRST: Leg = Leg { index: 0, of: 2, to_group: false };

/// Draws the intermediate router (or group) of the packet's Valiant route, to be kept in [`Packet::scratch`].
pub(super) fn draw(at: &mut Injection<'_>, packet: &mut Packet, via: Via, stop: Stop) {
    let ends = (at.router, packet.destination_router);
    packet.scratch = valiant::draw(at.topology, ends, via, stop, at.rng);
}

/// Sends `packet` over its Valiant route, or its minimal one.
pub(super) fn choose(packet: &mut Packet, valiant: bool) {
    packet.legs = if valiant { 2 } else { 1 };
    packet.intermediate = if valiant { packet.scratch } else { NONE };
    let mark = MISROUTED_GLOBALLY | MISROUTED_AT_INJECTION;
    packet.misrouted = if valiant { packet.misrouted | mark } else { packet.misrouted & !mark };
}

/// Sends `packet` over `route`, one of several candidates. Which of them it was stays in [`Packet::flags`], because at
/// every router the route's ties are broken as when it was looked at.
pub(super) fn take(view: &RouterView<'_>, packet: &mut Packet, route: &Route) {
    packet.flags = route.draw;
    if route.stop != NONE {
        packet.scratch = route.stop;
    }
    let valiant = route.stop != NONE;
    choose(packet, valiant);
    let first = if valiant { FIRST } else { view.topology.direct_leg() };
    (packet.leg, packet.legs) = (first.index, first.of);
    // A stop here is behind the packet already.
    advance_leg(view.topology, view.router, packet);
}

/// The next hop over the route that has been chosen.
pub(super) fn hop(view: &RouterView<'_>, packet: &Packet, via: Via, second_half: SecondHalf) -> Hop {
    let (to, mut rng) = (packet.destination_router, view.stream_of(packet, view.router, packet.flags));
    match packet.legs {
        1 => view.minimal_hop(to, packet.hop_state(), &mut rng),
        _ => valiant::hop(view, packet, via, second_half, &mut rng),
    }
}

/// How long a queue is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Queue {
    /// In phits.
    #[default]
    Phits,
    /// As a share of its buffer, multiplied by the largest buffer of any link class, in phits. So the phits that are
    /// always under way on long links, which have larger buffers, do not count as a queue.
    Share,
    /// In phits of all virtual channels of the output (the used credits of BookSim's UGAL).
    Port,
}

impl Queue {
    /// Phits of virtual channel `vc` of output `port`, or of all its channels.
    #[inline]
    pub(super) fn length(self, view: &RouterView<'_>, port: u16, vc: u8) -> u32 {
        match self {
            Self::Phits => view.occupancy(port, vc),
            Self::Port => view.port_occupancy(port),
            Self::Share => {
                let largest = view.capacity()[1..].iter().copied().max().unwrap_or(0);
                (view.fill(port, vc) * f64::from(largest)) as u32
            }
        }
    }
}

/// The knowledge of a route.
#[derive(Debug, Clone, Copy)]
pub(super) struct Route {
    /// Its first hop.
    pub first: Hop,
    /// Links on it.
    pub hops: u32,
    /// Phits in the queues that are looked at.
    pub queue: u32,
    /// The router (or group) that a Valiant route leads through; [`NONE`] for a minimal one.
    pub stop: u32,
    /// Which of the packet's streams breaks its ties ([`RouterView::stream_of`]).
    pub draw: u8,
}

/// How far a mechanism sees, and in which measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sight {
    /// The queue of the first hop.
    Local(Queue),
    /// The queues of all hops.
    Global(Queue),
}

/// The cost of a route.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Cost {
    /// The queues that are looked at, times the hops of the route.
    #[default]
    QueueHops,
    /// The queues that are looked at, whatever the length of the route.
    Queue,
}

impl Cost {
    /// The cost of a route.
    pub(super) fn of(self, route: &Route) -> i64 {
        self.of_queue(route.queue, route.hops)
    }

    /// The cost of a route with `queue` phits in its queues and `hops` hops.
    pub(super) fn of_queue(self, queue: u32, hops: u32) -> i64 {
        match self {
            Self::QueueHops => i64::from(queue) * i64::from(hops),
            Self::Queue => i64::from(queue),
        }
    }

    /// The cheapest of some routes, the first of equals.
    fn cheapest(self, mut routes: impl Iterator<Item = Route>, first: Route) -> Route {
        let cheaper = |best: Route, other: Route| if self.of(&other) < self.of(&best) { other } else { best };
        routes.by_ref().fold(first, cheaper)
    }
}

/// The routes that a mechanism compares: how many, through where, and how far it sees.
#[derive(Debug, Clone, Copy)]
pub(super) struct Candidates {
    /// Whether Valiant routes visit a router or a group.
    pub via: Via,
    /// Where their stops may be.
    pub stop: Stop,
    /// Minimal routes, 1 or more.
    pub minimal: u8,
    /// Valiant routes, 1 or more.
    pub valiant: u8,
    /// The queues that are known.
    pub sight: Sight,
}

/// Most candidates of a kind.
pub(super) const MOST_CANDIDATES: u8 = 64;

/// Numbers of the packet's streams that break the ties of Valiant candidates, and of those that draw their stops.
const VALIANT: u8 = MOST_CANDIDATES;
const STOPS: u8 = 2 * MOST_CANDIDATES;

impl Candidates {
    /// The cheapest minimal route of `packet` from here, which is not its destination's router.
    pub(super) fn minimal(&self, view: &RouterView<'_>, packet: &Packet, cost: Cost) -> Route {
        let leg = view.topology.direct_leg();
        let route = |draw| follow(view, packet, leg, &[packet.destination_router], self.sight, draw);
        cost.cheapest((1..self.minimal).map(route), route(0))
    }

    /// Its cheapest Valiant route: one leads through the stop that was drawn when it was injected, the others through
    /// stops drawn now.
    pub(super) fn valiant(&self, view: &RouterView<'_>, packet: &Packet, cost: Cost) -> Route {
        let leg = Leg { index: 0, of: 2, to_group: self.via == Via::Group };
        let route = |draw: u8| {
            let stop = match draw {
                0 => packet.scratch,
                _ => {
                    let mut rng = view.stream_of(packet, view.router, STOPS + draw);
                    let ends = (view.router, packet.destination_router);
                    valiant::draw(view.topology, ends, self.via, self.stop, &mut rng)
                }
            };
            let stops = [stop, packet.destination_router];
            Route { stop, ..follow(view, packet, leg, &stops, self.sight, VALIANT + draw) }
        };
        cost.cheapest((1..self.valiant).map(route), route(0))
    }
}

/// The minimal route of `packet` from here, which is not its destination's router.
pub(super) fn minimal(view: &RouterView<'_>, packet: &Packet, sight: Sight) -> Route {
    follow(view, packet, DIRECT, &[packet.destination_router], sight, 0)
}

/// The route by the stop that was drawn for `packet`, outside this group.
pub(super) fn valiant(view: &RouterView<'_>, packet: &Packet, via: Via, sight: Sight) -> Route {
    let leg = Leg { index: 0, of: 2, to_group: via == Via::Group };
    let route = follow(view, packet, leg, &[packet.scratch, packet.destination_router], sight, 0);
    Route { stop: packet.scratch, ..route }
}

/// True if router `at` is the router `stop`, or in the group that it names.
fn is_at(view: &RouterView<'_>, at: u32, stop: u32) -> bool {
    match stop & GROUP {
        0 => stop == at,
        _ => stop & !GROUP == view.topology.group_of(at),
    }
}

/// Follows a route from stop to stop; `leg` is its first leg, `draw` which of the packet's streams breaks its ties.
fn follow(view: &RouterView<'_>, packet: &Packet, mut leg: Leg, stops: &[u32], sight: Sight, draw: u8) -> Route {
    let mut state = HopState { leg_hops: Hops::default(), ..packet.hop_state() };
    let towards = |at: u32, stop: u32, leg: Leg, state: HopState| {
        let mut rng = view.stream_of(packet, at, draw);
        match stop & GROUP {
            0 => view.known.leg_hop(view.topology, (at, stop, leg), state, view.vcs(), &mut rng),
            _ => view.topology.group_hop(at, stop & !GROUP, leg, state, view.vcs(), &mut rng),
        }
    };
    // A stop here is behind the packet already.
    let ahead = stops.iter().position(|&stop| !is_at(view, view.router, stop)).unwrap_or(0);
    let stops = &stops[ahead..];
    leg.index += ahead as u8;
    let first = towards(view.router, stops[0], leg, state);
    let (Sight::Local(measure) | Sight::Global(measure)) = sight;
    let far_sighted = matches!(sight, Sight::Global(_));
    let queue = measure.length(view, first.port, first.vc);
    let mut route = Route { first, hops: 0, queue, stop: NONE, draw };
    if !far_sighted && stops.iter().all(|stop| stop & GROUP == 0) {
        let mut at = view.router;
        for &stop in stops {
            route.hops += view.known.distance(view.topology, at, stop);
            at = stop;
        }
        return route;
    }
    let mut at = view.router;
    for &stop in stops {
        while !is_at(view, at, stop) {
            let hop = towards(at, stop, leg, state);
            let port = view.topology.port(at, hop.port);
            let Peer::Router { router: next, .. } = port.peer else { return route };
            if route.hops > 0 && far_sighted {
                route.queue += measure.length(&view.elsewhere(at), hop.port, hop.vc);
            }
            route.hops += 1;
            state.leg_hops.add(port.class);
            (at, state.came_by, state.came_in) = (next, port.class, hop.vc);
        }
        leg.index += 1;
        state.leg_hops = Hops::default();
    }
    route
}

#[cfg(test)]
pub(super) mod tests;
