//! Source routing that chooses between a packet's minimal route and a Valiant route (UGAL and its kin): the routes, their
//! channels, and what is known of their queues.

use super::in_transit::DIRECT;
use super::valiant::{self, SecondHalf, Via};
use super::{Injection, RouterView};
use crate::engine::NONE;
use crate::router::packet::{GROUP, MISROUTED_AT_INJECTION, MISROUTED_GLOBALLY, Packet};
use crate::topology::{Hop, HopState, Hops, Leg, Peer};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Draws the intermediate router (or group) of the packet's Valiant route, to be kept in [`Packet::scratch`].
pub(super) fn draw(at: &mut Injection<'_>, packet: &mut Packet, via: Via) {
    packet.scratch = valiant::draw(at, via);
}

/// Sends `packet` over its Valiant route, or its minimal one.
pub(super) fn choose(packet: &mut Packet, valiant: bool) {
    packet.legs = if valiant { 2 } else { 1 };
    packet.intermediate = if valiant { packet.scratch } else { NONE };
    let mark = MISROUTED_GLOBALLY | MISROUTED_AT_INJECTION;
    packet.misrouted = if valiant { packet.misrouted | mark } else { packet.misrouted & !mark };
}

/// The next hop over the route that has been chosen.
pub(super) fn hop(view: &RouterView<'_>, packet: &Packet, via: Via, second_half: SecondHalf) -> Hop {
    let (at, to, mut rng) = (view.router, packet.destination_router, packet.rng(view.router));
    match packet.legs {
        1 => view.topology.minimal_hop(at, to, DIRECT, packet.hop_state(), view.vcs, &mut rng),
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
    /// As a share of its buffer, in phits of the largest buffer of any link class: the phits that are always under way on long
    /// links, which have larger buffers, do not count as a queue.
    Share,
}

impl Queue {
    /// Phits of virtual channel `vc` of output `port`.
    fn length(self, view: &RouterView<'_>, port: u16, vc: u8) -> u32 {
        match self {
            Self::Phits => view.occupancy(port, vc),
            Self::Share => {
                let largest = view.capacity[1..].iter().copied().max().unwrap_or(0);
                (view.fill(port, vc) * f64::from(largest)) as u32
            }
        }
    }
}

/// What is known of a route.
#[derive(Debug, Clone, Copy)]
pub(super) struct Route {
    /// Its first hop.
    pub first: Hop,
    /// Links on it.
    pub hops: u32,
    /// Phits in the queues that are looked at.
    pub queue: u32,
}

/// How far a mechanism sees, and in which measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sight {
    /// The queue of the first hop.
    Local(Queue),
    /// The queues of all hops.
    Global(Queue),
}

/// The minimal route of `packet` from here, which is not its destination's router.
pub(super) fn minimal(view: &RouterView<'_>, packet: &Packet, sight: Sight) -> Route {
    follow(view, packet, DIRECT, &[packet.destination_router], sight)
}

/// The route by the stop that was drawn for `packet`, outside this group.
pub(super) fn valiant(view: &RouterView<'_>, packet: &Packet, via: Via, sight: Sight) -> Route {
    let leg = Leg { index: 0, of: 2, to_group: via == Via::Group };
    follow(view, packet, leg, &[packet.scratch, packet.destination_router], sight)
}

/// The hop of a route from router `at` towards a router or group.
fn towards(view: &RouterView<'_>, packet: &Packet, at: u32, stop: u32, leg: Leg, state: HopState) -> Hop {
    let mut rng = packet.rng(at);
    match stop & GROUP {
        0 => view.topology.minimal_hop(at, stop, leg, state, view.vcs, &mut rng),
        _ => view.topology.group_hop(at, stop & !GROUP, leg, state, view.vcs, &mut rng),
    }
}

/// Follows a route from stop to stop; `leg` is its first leg.
fn follow(view: &RouterView<'_>, packet: &Packet, mut leg: Leg, stops: &[u32], sight: Sight) -> Route {
    let mut state = HopState { leg_hops: Hops::default(), ..packet.hop_state() };
    let first = towards(view, packet, view.router, stops[0], leg, state);
    let (Sight::Local(measure) | Sight::Global(measure)) = sight;
    let far_sighted = matches!(sight, Sight::Global(_));
    let mut route = Route { first, hops: 0, queue: measure.length(view, first.port, first.vc) };
    if !far_sighted && stops.iter().all(|stop| stop & GROUP == 0) {
        let mut at = view.router;
        for &stop in stops {
            route.hops += view.topology.distance(at, stop);
            at = stop;
        }
        return route;
    }
    let mut at = view.router;
    for &stop in stops {
        let there = |at| match stop & GROUP {
            0 => stop == at,
            _ => stop & !GROUP == view.topology.group_of(at),
        };
        while !there(at) {
            let hop = towards(view, packet, at, stop, leg, state);
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
