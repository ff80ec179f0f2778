//! The bubble family in the input-queued router: queues at the inputs, credits.
//!
//! The free slots of a queue are those of the buffer at the far end of a link, as the sender knows them by its credits.
//! Packets choose again until they are granted; one from an endpoint gets another plan when the free slots are others.

use super::choices::Choices;
use super::lattice::{MOST_DIMENSIONS, Offsets, Position};
use super::profit::{PackedSlots, Slots};
use super::{ADAPTIVE, Bubble, Deroute, Derouted, Escape, Plan, most_free};
use crate::engine::{NONE, Tick};
use crate::fabric::seams::routing::Changes;
use crate::packet::{MISROUTED_GLOBALLY, MISROUTED_LOCALLY, Packet};
use crate::routing::by_queue::ByQueue;
use crate::routing::{RouterView, Routing, RoutingContext, View, Wants};
use crate::topology::{Hop, Peer, RouteTable, Topology};
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
    let links = |router: u32| leading_on(topology, router, first_port, directions);
    let heads = ByQueue::new(context, Ahead::default());
    let choices = if deroute.weighs_queues() { heads.notes.len() } else { 0 };
    Box::new(Rule {
        escape: params.escape(),
        first_port,
        size: context.packet_size,
        links: context.routers.iter().map(links).collect(),
        whole: vec![None; context.routers.len()],
        free: vec![None; directions],
        weighs: deroute.weighs_queues(),
        choices: vec![None; choices],
        heads,
        deroute,
    })
}

/// The plan and the way of a packet at the head of a queue.
#[derive(Debug, Clone, Copy, Default)]
struct Ahead {
    way: Offsets,
    /// At its source, its plan, and the free slots by direction for which it was made.
    plan: Plan,
    free: [u16; 2 * MOST_DIMENSIONS],
}

struct Rule {
    deroute: Arc<dyn Deroute>,
    escape: Escape,
    /// Port of direction 0.
    first_port: u16,
    /// Phits of a slot.
    size: u32,
    /// By router, a bit for each direction that leads to another one.
    links: Vec<u16>,
    /// By router, a bit for each direction whose link is not broken. `None` until a plan asks for it after a fault.
    whole: Vec<Option<u16>>,
    free: Vec<Option<u16>>,
    /// Whether plans depend on the free slots.
    weighs: bool,
    heads: ByQueue<Ahead>,
    /// The routes that packets at their sources choose among, by the places of `heads`. Noted when a packet gets its
    /// second plan: most have one. Without entries if plans do not depend on the free slots.
    choices: Vec<Option<Box<Choices>>>,
}

/// Most slots of a queue that [`PackedSlots`] counts.
const MOST_PACKED: u32 = 127;

/// In [`Packet::flags`], bit d: the packet goes in direction minus in dimension d. Above them:
const SECOND_WAY: u8 = 1 << 7;

impl Rule {
    /// Free slots of a queue; as many as can be counted, of one without limit.
    fn free_slots(&self, view: &RouterView<'_>, direction: usize, vc: u8) -> u32 {
        let port = self.first_port + direction as u16;
        let free = view.capacity()[view.class(port) as usize].saturating_sub(view.occupancy(port, vc));
        (free / self.size).min(u16::MAX.into())
    }

    /// Free slots of the adaptive queues, by direction; none where it leads nowhere.
    fn free(&self, view: &RouterView<'_>) -> [u16; 2 * MOST_DIMENSIONS] {
        let (mut free, links) = ([0; 2 * MOST_DIMENSIONS], self.links[view.local as usize]);
        for (direction, free) in free.iter_mut().enumerate().take(self.free.len()) {
            if links >> direction & 1 == 1 {
                *free = self.free_slots(view, direction, ADAPTIVE) as u16;
            }
        }
        free
    }

    /// The plan of a packet that still stands at its source, by the free slots of the adaptive queues.
    #[inline(never)]
    fn plan(&mut self, view: &RouterView<'_>, packet: &Packet, free: &[u16]) -> Plan {
        let whole = self.whole(view);
        for ((direction, slots), &free) in self.free.iter_mut().enumerate().zip(free) {
            *slots = (whole >> direction & 1 == 1).then_some(free);
        }
        let capacity = self.capacity(view) as u16;
        let slots = Slots { free: &self.free, capacity };
        let mut rng = view.rng_of(packet);
        self.deroute.plan(view.router, packet.destination_router, &slots, &mut rng)
    }

    /// [`Self::plan`] for a packet that has got one already, when the free slots were others.
    #[inline(never)]
    fn plan_again(&mut self, view: &RouterView<'_>, packet: &Packet, place: usize, free: &[u16]) -> Plan {
        let capacity = self.capacity(view);
        if capacity > MOST_PACKED {
            return self.plan(view, packet, free);
        }
        let whole = self.whole(view);
        let choices = self.choices[place].get_or_insert_default();
        if choices.to() != packet.destination_router {
            let mut rng = view.rng_of(packet);
            if !self.deroute.note_of_packet(view.router, packet.destination_router, &mut rng, choices) {
                return self.plan(view, packet, free);
            }
        }
        if let Some(only) = choices.only() {
            return only;
        }
        let mut slots = PackedSlots { free: [0; 2], capacity: capacity as u16 };
        for (direction, &free) in free.iter().enumerate().take(self.free.len()) {
            if whole >> direction & 1 == 1 {
                slots.free[direction / 8] |= u64::from(free) << (8 * (direction % 8));
            }
        }
        self.deroute.choose(choices, &slots)
    }

    /// A bit for each direction with a link that is not broken.
    fn whole(&mut self, view: &RouterView<'_>) -> u16 {
        let (first_port, directions) = (self.first_port, self.free.len());
        let find = || leading_on(view.topology, view.router, first_port, directions);
        *self.whole[view.local as usize].get_or_insert_with(find)
    }

    /// Slots of an adaptive queue.
    fn capacity(&self, view: &RouterView<'_>) -> u32 {
        (view.capacity()[1] / self.size).min(u16::MAX.into())
    }

    /// The plan and the way of a packet at the head of a queue.
    fn ahead(&mut self, view: &RouterView<'_>, head: (u16, u16), packet: &mut Packet) -> Ahead {
        let injected = packet.came_by == 0;
        let way = u64::from(packet.intermediate) | u64::from(packet.flags) << 32;
        let (place, first) = self.heads.asked(view, head, packet, if injected { 0 } else { way });
        let mut ahead = self.heads.notes[place];
        let free = if injected && self.weighs { self.free(view) } else { ahead.free };
        let changed = first || free != ahead.free;
        if changed {
            ahead.free = free;
            if injected && first {
                self.forget_choices(place);
                ahead.plan = self.plan(view, packet, &free);
            } else if injected {
                ahead.plan = self.plan_again(view, packet, place, &free);
            }
        }
        if injected {
            let Plan { via, way, derouted, .. } = &ahead.plan;
            packet.intermediate = via.unwrap_or(NONE);
            packet.legs = 1 + u8::from(via.is_some());
            packet.scratch = *derouted as u32;
            packet.flags = signs(way);
        }
        if changed || is_new_leg(packet) {
            ahead.way = self.way(view, packet);
            self.heads.notes[place] = ahead;
        }
        ahead
    }

    /// Another packet stands at the head of a queue.
    #[inline]
    fn forget_choices(&mut self, place: usize) {
        if let Some(Some(choices)) = self.choices.get_mut(place) {
            **choices = Choices::default();
        }
    }

    /// The way ahead of a packet, whose directions are fixed.
    fn way(&self, view: &RouterView<'_>, packet: &mut Packet) -> Offsets {
        let lattice = self.deroute.lattice();
        let to = if packet.intermediate == NONE { packet.destination_router } else { packet.intermediate };
        let (here, there): (Position, Position) = (lattice.position(view.router), lattice.position(to));
        if is_new_leg(packet) {
            let coins = self.deroute.half_way().coins(&mut view.rng_of(packet));
            packet.flags = SECOND_WAY | signs(&lattice.way(&here, &there, coins));
        }
        match lattice.wraps() {
            true => lattice.way_round(&here, &there, packet.flags.into()),
            false => lattice.way(&here, &there, 0),
        }
    }
}

/// A bit for each direction that leads to another router. `first_port`: the port of direction 0.
fn leading_on(topology: &dyn Topology, router: u32, first_port: u16, directions: usize) -> u16 {
    let leads = |d: usize| matches!(topology.port(router, first_port + d as u16).peer, Peer::Router { .. });
    (0..directions).fold(0, |set, d| set | u16::from(leads(d)) << d)
}

/// True if the intermediate destination of a packet lies behind it, and its directions from there are not fixed yet.
fn is_new_leg(packet: &Packet) -> bool {
    packet.leg > 0 && packet.flags & SECOND_WAY == 0
}

fn signs(way: &Offsets) -> u8 {
    way.iter().enumerate().fold(0, |set, (d, hops)| set | u8::from(*hops < 0) << d)
}

impl Routing for Rule {
    fn bytes(&self) -> usize {
        let noted =
            |choices: &Option<Box<Choices>>| choices.as_ref().map_or(0, |noted| size_of::<Choices>() + noted.bytes());
        let choices = self.choices.capacity() * size_of::<Option<Box<Choices>>>();
        self.heads.bytes() + choices + self.choices.iter().map(noted).sum::<usize>()
    }

    fn wants(&self) -> Wants {
        Wants { redecide: true, departures: true, ..Wants::default() }
    }

    fn route(&mut self, view: &mut View<'_>, port: u16, queue: u16, packet: &mut Packet) -> Option<Hop> {
        let injected = packet.came_by == 0;
        let weighed = injected && self.weighs;
        let Ahead { way, free, .. } = self.ahead(view, (port, queue), packet);
        let slots = |direction: usize| match (way[direction / 2], weighed) {
            (0, _) => 0,
            (_, true) => free[direction].into(),
            (_, false) => self.free_slots(view, direction, ADAPTIVE),
        };
        let (best, slots) = most_free(&way, slots)?;
        // No decision depends on whether an output is free. A plan may depend on all queues of the source. A choice of
        // direction changes if the chosen direction has less room, or another one more.
        let (first_port, vcs) = (self.first_port, ADAPTIVE..ADAPTIVE + 1);
        view.watch_chosen_for(Changes::RISE);
        match weighed && self.free.len() > 2 {
            true => {
                let changes = Changes::FALL.and(Changes::RISE);
                view.watch_for(changes, first_port..first_port + self.free.len() as u16, vcs);
            }
            false => {
                for (d, hops) in (0..).zip(way).filter(|(_, hops)| *hops != 0) {
                    let port = first_port + 2 * d + u16::from(hops < 0);
                    view.watch_for(Changes::FALL, port..port + 1, vcs.clone());
                }
            }
        }
        if slots > 0 {
            return Some(Hop { port: first_port + best as u16, vc: ADAPTIVE, vcs: 1 });
        }
        // A packet that came in a direction stands at the port of the opposite one.
        let came = (!injected).then(|| (usize::from(port - first_port) ^ 1, packet.came_in));
        let (escape, vc, room) = self.escape.queue(&way, packet.intermediate != NONE, came, self.escape.room())?;
        let hop = Hop { port: first_port + escape as u16, vc, vcs: 1 };
        if self.free_slots(view, escape, vc) < room.into() {
            view.watch_for(Changes::FALL, hop.port..hop.port + 1, vc..vc + 1);
            return None;
        }
        Some(hop)
    }

    fn rerouted(&mut self, _: Tick, _: usize, _: Option<&Arc<RouteTable>>) {
        self.heads.forget();
        self.whole.fill(None);
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
