//! The bubble family in the input-queued router: queues at the inputs, credits.
//!
//! The free slots of a queue are those of the buffer at the far end of a link, as the sender knows them by its credits.
//! Packets choose again until they are granted; one from an endpoint gets its plan anew each time.

use super::lattice::{Offsets, Position};
use super::profit::Slots;
use super::{ADAPTIVE, Bubble, Deroute, Derouted, Escape, most_free};
use crate::engine::NONE;
use crate::packet::{MISROUTED_GLOBALLY, MISROUTED_LOCALLY, Packet};
use crate::routing::{RouterView, Routing, RoutingContext, View, Wants};
use crate::topology::{Hop, Peer};
use std::sync::Arc;

/// Makes a member of the family for one partition.
///
/// # Panics
///
/// If the topology has not been checked.
pub(crate) fn build(params: &dyn Bubble, context: &RoutingContext) -> Box<dyn Routing> {
    let topology = &*context.topology;
    let Ok(deroute) = params.deroute(topology) else {
        panic!("the mechanism was not checked against the topology");
    };
    let first_port = (topology.endpoints() / topology.routers()) as u16;
    let directions = 2 * deroute.lattice().dimensions();
    Box::new(Rule {
        escape: params.escape(),
        first_port,
        size: context.packet_size,
        free: vec![None; directions],
        deroute,
    })
}

struct Rule {
    deroute: Arc<dyn Deroute>,
    escape: Escape,
    /// Port of direction 0.
    first_port: u16,
    /// Phits of a slot.
    size: u32,
    free: Vec<Option<u16>>,
}

/// In [`Packet::flags`], bit d: the packet goes in direction minus in dimension d. Above them:
const SECOND_WAY: u8 = 1 << 7;

impl Rule {
    /// Free slots of a queue; as many as can be counted, of one without limit.
    fn free_slots(&self, view: &RouterView<'_>, direction: usize, vc: u8) -> u32 {
        let port = self.first_port + direction as u16;
        let free = view.capacity()[view.class(port) as usize].saturating_sub(view.occupancy(port, vc));
        (free / self.size).min(u16::MAX.into())
    }

    /// The plan of a packet that still stands at its source.
    fn plan(&mut self, view: &RouterView<'_>, packet: &mut Packet) {
        for direction in 0..self.free.len() {
            let port = self.first_port + direction as u16;
            let there = matches!(view.topology.port(view.router, port).peer, Peer::Router { .. });
            self.free[direction] = there.then(|| self.free_slots(view, direction, ADAPTIVE) as u16);
        }
        let capacity = (view.capacity()[1] / self.size).min(u16::MAX.into()) as u16;
        let slots = Slots { free: &self.free, capacity };
        let mut rng = packet.rng(view.router);
        let plan = self.deroute.plan(view.router, packet.destination_router, &slots, &mut rng);
        packet.intermediate = plan.via.unwrap_or(NONE);
        packet.legs = 1 + u8::from(plan.via.is_some());
        packet.scratch = plan.derouted as u32;
        packet.flags = signs(&plan.way);
    }

    /// The way ahead of a packet, whose directions are fixed.
    fn way(&self, router: u32, packet: &mut Packet) -> Offsets {
        let lattice = self.deroute.lattice();
        let to = if packet.intermediate == NONE { packet.destination_router } else { packet.intermediate };
        let (here, there): (Position, Position) = (lattice.position(router), lattice.position(to));
        if packet.leg > 0 && packet.flags & SECOND_WAY == 0 {
            // The intermediate destination lies behind it.
            let coins = self.deroute.half_way().coins(&mut packet.rng(router));
            packet.flags = SECOND_WAY | signs(&lattice.way(&here, &there, coins));
        }
        match lattice.wraps() {
            true => lattice.way_round(&here, &there, packet.flags.into()),
            false => lattice.way(&here, &there, 0),
        }
    }
}

fn signs(way: &Offsets) -> u8 {
    way.iter().enumerate().fold(0, |set, (d, hops)| set | u8::from(*hops < 0) << d)
}

impl Routing for Rule {
    fn wants(&self) -> Wants {
        Wants { redecide: true, departures: true, ..Wants::default() }
    }

    fn route(&mut self, view: &mut View<'_>, port: u16, _queue: u16, packet: &mut Packet) -> Option<Hop> {
        let injected = packet.came_by == 0;
        if injected {
            self.plan(view, packet);
        }
        let way = self.way(view.router, packet);
        if injected && self.free.len() > 2 {
            // The plan depends on all queues of the source.
            view.watch(self.first_port..self.first_port + self.free.len() as u16);
        }
        let free =
            |direction: usize| if way[direction / 2] == 0 { 0 } else { self.free_slots(view, direction, ADAPTIVE) };
        let (best, slots) = most_free(&way, free)?;
        let first_port = self.first_port;
        for direction in
            way.iter().enumerate().filter(|(_, hops)| **hops != 0).map(|(d, h)| 2 * d as u16 + u16::from(*h < 0))
        {
            view.watch(first_port + direction..first_port + direction + 1);
        }
        if slots > 0 {
            return Some(Hop { port: first_port + best as u16, vc: ADAPTIVE, vcs: 1 });
        }
        // A packet that came in a direction stands at the port of the opposite one.
        let came = (!injected).then(|| (usize::from(port - first_port) ^ 1, packet.came_in));
        let (escape, vc, room) = self.escape.queue(&way, packet.intermediate != NONE, came, self.escape.room())?;
        let hop = Hop { port: first_port + escape as u16, vc, vcs: 1 };
        (self.free_slots(view, escape, vc) >= room.into()).then_some(hop)
    }

    fn departs(&mut self, _at: &RouterView<'_>, _port: u16, _queue: u16, _hop: Hop, packet: &mut Packet) {
        if packet.came_by == 0 {
            packet.misrouted |= match packet.scratch {
                d if d == Derouted::No as u32 => 0,
                d if d == Derouted::OutFlank as u32 => MISROUTED_LOCALLY,
                _ => MISROUTED_GLOBALLY,
            };
        }
    }
}
