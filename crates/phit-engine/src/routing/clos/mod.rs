//! Adaptive routing in folded Clos networks (Kim, Dally and Abts, "Adaptive routing in high-radix Clos network", SC
//! 2006).
//!
//! A packet goes up to any common ancestor of its source and its destination, and from there down. On the way up, every
//! upward output is minimal. An *allocation* (section 4 of the paper) decides which input gets which output, in every
//! router and router cycle, for all heads that wait there. On the way down, there is no choice.
//!
//! * `allocation` is the rule of section 4.1: how an input chooses among the outputs, and how it accounts for earlier
//!   inputs.
//! * `history` keeps the states of outputs during the last cycles (section 5.3).
//! * `params` has the parameters.
//! * `kept` keeps decisions that are made once per cycle.

use super::contention::{CONTENTION, Counters};
use super::in_transit::DIRECT;
use super::{DRAWN_BY_CYCLE, Head, Injection, RouterView, Routing, See, Site, View, Wants};
use crate::engine::{Memory, Rng, Tick};
use crate::fabric::seams::routing::Ports;
use crate::packet::{Arena, Packet};
use crate::topology::{Hop, Place, RouteTable, Tree};
use allocation::{Allocator, Output};
use history::{History, State};
use kept::Kept;
use std::sync::Arc;

mod allocation;
mod history;
mod kept;
mod params;
#[cfg(test)]
mod spy;
#[cfg(test)]
mod tests;

pub(super) use params::{Allocation, AroundFaults, Busy, Clos, Decide};

/// In [`Packet::flags`]: routed deterministically.
const IN_ORDER: u8 = 1;

struct Rule {
    params: Clos,
    tree: Option<Tree>,
    /// All links work throughout the run.
    whole: bool,
    /// A head takes the best of all outputs upwards, by their present state. They are laid out once for all heads of a
    /// cycle.
    in_rows: bool,
    /// By router and destination's router, whether all upward outputs lead there; without entries if no link may break.
    all_lead: Vec<Option<bool>>,
    /// Where the partition's routers stand, in their order there.
    places: Vec<Place>,
    allocator: Allocator,
    history: Option<History>,
    kept: Option<Kept>,
    /// Ticks that a decision lags behind.
    lag: Tick,
    /// All virtual channels of an output count.
    of_ports: bool,
    /// Heads that have chosen each output, if the mechanism counts them.
    contention: Option<Counters>,
    /// Outputs upwards that lead to the destination of one head.
    ways: Vec<Hop>,
}

impl Rule {
    /// The hop of one head, after those decided before it in this cycle, from the state of tick `then`. `chosen`: the
    /// output chosen before, if it has been counted.
    #[inline(never)]
    fn decide(&mut self, at: &RouterView<'_>, rng: &mut Rng, then: Tick, packet: &Packet, chosen: Option<u16>) -> Hop {
        let (place, down) = self.standing(at, packet);
        let deterministic = packet.flags & IN_ORDER != 0 || self.params.allocation == Allocation::Deterministic;
        let Some(place) = place.filter(|_| down.is_none()) else {
            let hop = match down {
                Some(port) if self.whole => self.only(at, port),
                _ => any(at, rng, packet),
            };
            return if deterministic { self.one_channel(hop, packet) } else { hop };
        };
        let hop = match (deterministic, self.params.allocation) {
            (true, _) => self.in_order(at, rng, packet, place),
            (_, Allocation::Oblivious | Allocation::Deterministic) => self.drawn(at, rng, packet, place),
            (_, Allocation::Sequential | Allocation::Greedy | Allocation::Availability) => {
                if self.in_rows && self.all_lead(at, packet, place) {
                    return self.best_in_row(at, rng, packet, place);
                }
                self.list(at, packet);
                match self.ways.is_empty() {
                    // Links have broken, and the packet is lost on its way to one of them.
                    true => any(at, rng, packet),
                    false => self.best(at, rng, then, packet, chosen),
                }
            }
            (_, Allocation::SequentialR | Allocation::GreedyR) => {
                self.ways.clear();
                for _ in 0..self.params.samples {
                    self.ways.push(any(at, rng, packet));
                }
                self.best(at, rng, then, packet, chosen)
            }
        };
        self.give(at, packet, hop.port);
        hop
    }

    /// The way down over `port`, where there is no other: all its channels, as the topology says.
    #[inline]
    fn only(&self, at: &RouterView<'_>, port: u16) -> Hop {
        Hop { port, vc: 0, vcs: at.vcs()[usize::from(at.class(port))].max(1) }
    }

    /// Records that `packet` has `port`, for later inputs in this cycle.
    fn give(&mut self, at: &RouterView<'_>, packet: &Packet, port: u16) {
        self.allocator.give(port, if self.contention.is_some() { 1 } else { at.first_flit(packet) });
    }

    /// Where the router stands if `packet` has to go further up.
    fn ascends(&self, at: &RouterView<'_>, packet: &Packet) -> Option<Place> {
        let (place, down) = self.standing(at, packet);
        place.filter(|_| down.is_none())
    }

    /// Where the router stands, and the port that leads `packet` down from there, if it need not go further up.
    #[inline]
    fn standing(&self, at: &RouterView<'_>, packet: &Packet) -> (Option<Place>, Option<u16>) {
        let place = self.places.get(at.local as usize).copied();
        let down =
            self.tree.as_ref().zip(place).and_then(|(tree, place)| tree.descent(place, packet.destination_router));
        (place, down)
    }

    /// Lists all outputs upwards that lead to the destination.
    fn list(&mut self, at: &RouterView<'_>, packet: &Packet) {
        self.ways.clear();
        let to = packet.destination_router;
        at.topology.minimal_hops(at.router, to, DIRECT, packet.hop_state(), at.vcs(), &mut self.ways);
    }

    /// True if all outputs upwards lead to the destination.
    fn all_lead(&mut self, at: &RouterView<'_>, packet: &Packet, place: Place) -> bool {
        if self.whole {
            return true;
        }
        let pair = at.local as usize * at.topology.routers() as usize + packet.destination_router as usize;
        if let Some(&Some(known)) = self.all_lead.get(pair) {
            return known;
        }
        self.list(at, packet);
        let all = self.tree.as_ref().is_some_and(|tree| self.ways.len() == usize::from(tree.up(place.level)));
        if let Some(known) = self.all_lead.get_mut(pair) {
            *known = Some(all);
        }
        all
    }

    /// Takes the best output upwards.
    #[inline]
    fn best_in_row(&mut self, at: &RouterView<'_>, rng: &mut Rng, packet: &Packet, place: Place) -> Hop {
        let phits = at.first_flit(packet);
        if !self.allocator.has_row(phits) {
            self.lay_out(at, phits, place);
        }
        let port = self.allocator.choose_in_row(rng);
        self.give(at, packet, port);
        self.only(at, port)
    }

    /// Lays out the outputs upwards for heads whose first flits have `phits`.
    fn lay_out(&mut self, at: &RouterView<'_>, phits: u32, place: Place) {
        let ports = self.tree.as_ref().map_or(0..0, |tree| {
            let first = tree.down(place.level);
            first..first + tree.up(place.level)
        });
        let first = ports.start;
        if self.contention.is_none()
            && !self.of_ports
            && let Some(row) = at.lane(ports.clone(), 0).row()
        {
            return self.allocator.lay_out(first, row, phits);
        }
        let (capacity, of_ports, contention) = (self.capacity(at, first), self.of_ports, &self.contention);
        let outputs = ports.map(|port| {
            let State { depth, free_from } = State::now(at, port, phits, of_ports);
            let depth = contention.as_ref().map_or(depth, |counters| counters.of(at, port).into());
            (depth, free_from <= at.now)
        });
        // Heads take no room.
        let takes = if contention.is_some() { 0 } else { phits };
        self.allocator.lay_out_each((first, phits), (capacity, takes), outputs);
    }

    /// The most phits that the measure can count at `port`, or the most heads.
    fn capacity(&self, at: &RouterView<'_>, port: u16) -> u32 {
        let class = usize::from(at.class(port));
        match (&self.contention, self.of_ports) {
            (Some(_), _) => at.ports().into(),
            (None, true) => at.capacity()[class].saturating_mul(at.vcs()[class].into()),
            (None, false) => at.capacity()[class],
        }
    }

    /// Decides for `heads`, one after the other, where outputs upwards are compared in rows and all lead everywhere.
    #[inline]
    fn route_in_rows<'h>(&mut self, view: &mut View<'_>, heads: impl Iterator<Item = &'h mut Head>, packets: &Arena) {
        let then = self.then(view.now);
        let place = self.places.get(view.local as usize).copied();
        for head in heads {
            let packet = &packets[head.packet];
            let (at, rng) = (&view.at, &mut *view.rng);
            let hop = match (&self.tree, place) {
                (Some(tree), Some(place)) if packet.flags & IN_ORDER == 0 => {
                    match tree.descent(place, packet.destination_router) {
                        Some(port) => Some(self.only(at, port)),
                        None => Some(self.best_in_row(at, rng, packet, place)),
                    }
                }
                _ => None,
            };
            head.hop = match hop {
                None => Some(self.decide(at, rng, then, packet, None)),
                found => found,
            };
        }
    }

    /// Lets heads sleep that could not go before and that no output can take now. A head that goes down sleeps until
    /// its only output has room, a head that goes up until any of its outputs has room. Returns whether other heads are
    /// left. The router draws random numbers for these alone.
    fn lay_to_sleep(&mut self, at: &RouterView<'_>, heads: &mut [Head], packets: &Arena) -> bool {
        let (Some(tree), Some(&place)) = (&self.tree, self.places.get(at.local as usize)) else { return true };
        let ups = Ports { first: tree.down(place.level), count: tree.up(place.level) };
        // Most packets are of one size.
        let mut upwards = None;
        let mut left = false;
        for head in heads {
            let packet = &packets[head.packet];
            if !head.again || packet.flags & IN_ORDER != 0 {
                left = true;
                continue;
            }
            let phits = at.first_flit(packet);
            let (ports, takes) = match tree.descent(place, packet.destination_router) {
                Some(port) => (Ports { first: port, count: 1 }, at.takes_any(port, phits)),
                None => {
                    let takes = match upwards {
                        Some((size, takes)) if size == phits => takes,
                        _ => ups.numbers().any(|port| at.takes_any(port, phits)),
                    };
                    upwards = Some((phits, takes));
                    (ups, takes)
                }
            };
            match takes {
                true => left = true,
                false => head.waits = ports,
            }
        }
        left
    }

    /// The best of the listed outputs.
    fn best(&mut self, at: &RouterView<'_>, rng: &mut Rng, then: Tick, packet: &Packet, chosen: Option<u16>) -> Hop {
        let phits = at.first_flit(packet);
        // All are upwards, and of one link class.
        let capacity = self.ways.first().map_or(0, |hop| self.capacity(at, hop.port));
        let states = self.history.as_ref().map(|history| history.states(at, then));
        let outputs = self.ways.iter().map(|&hop| {
            let now = || State::now(at, hop.port, phits, self.of_ports);
            let state = states.map_or_else(now, |states| states.of(hop.port));
            let ready = state.free_from <= then;
            // Without the head itself.
            let heads = |counters: &Counters| counters.of(at, hop.port) - u16::from(chosen == Some(hop.port));
            let depth = self.contention.as_ref().map_or(state.depth, |counters| heads(counters).into());
            Output { hop, depth, capacity, ready }
        });
        // Heads take no room.
        let phits = if self.contention.is_some() { 0 } else { phits };
        self.allocator.choose(outputs, phits, rng)
    }

    /// The output on the packet's deterministic path, which all packets of its source and destination share.
    fn in_order(&mut self, at: &RouterView<'_>, rng: &mut Rng, packet: &Packet, place: Place) -> Hop {
        let key = self.params.deterministic_by.key(packet);
        let up = self.tree.as_ref().map_or(0, |tree| tree.digit(place.level, key));
        let hop = self.next_from(at, rng, packet, place, up);
        self.one_channel(hop, packet)
    }

    /// The hop restricted to one of its channels, which all packets of a source and destination share. In several
    /// channels they could overtake each other.
    fn one_channel(&self, hop: Hop, packet: &Packet) -> Hop {
        let channel = self.params.deterministic_by.key(packet) % u32::from(hop.vcs);
        Hop { vc: hop.vc + channel as u8, vcs: 1, ..hop }
    }

    fn drawn(&mut self, at: &RouterView<'_>, rng: &mut Rng, packet: &Packet, place: Place) -> Hop {
        match (self.params.around_faults, self.tree.as_ref().map(|tree| tree.up(place.level))) {
            (AroundFaults::Next, Some(ports)) => {
                let drawn = rng.below(ports.into()) as u16;
                self.next_from(at, rng, packet, place, drawn)
            }
            _ => any(at, rng, packet),
        }
    }

    /// The first output that leads to the destination, from up-port `up` on and around.
    fn next_from(&mut self, at: &RouterView<'_>, rng: &mut Rng, packet: &Packet, place: Place, up: u16) -> Hop {
        self.list(at, packet);
        let port = self.tree.as_ref().map_or(0, |tree| tree.down(place.level)) + up;
        let found = self.ways.iter().find(|hop| hop.port >= port).or(self.ways.first());
        found.copied().unwrap_or_else(|| any(at, rng, packet))
    }

    /// True if `hop`, decided when the packet arrived, is a way to its destination: links may have broken since.
    fn still_leads(&mut self, at: &RouterView<'_>, packet: &Packet, hop: Hop) -> bool {
        self.list(at, packet);
        self.ways.iter().any(|way| way.port == hop.port)
    }

    /// Counts the choices of a router's heads, if the mechanism counts them.
    fn count(&mut self, at: &RouterView<'_>, heads: &[Head]) {
        if let Some(counters) = &mut self.contention {
            for head in heads {
                counters.choose(at, head.port, head.queue, head.hop.map(|hop| hop.port));
            }
        }
    }

    /// The tick whose state a decision in tick `now` is made from.
    fn then(&self, now: Tick) -> Tick {
        now.saturating_sub(self.lag)
    }
}

/// Any hop that leads to the destination: upwards drawn at random, downwards the only one.
fn any(at: &RouterView<'_>, rng: &mut Rng, packet: &Packet) -> Hop {
    at.minimal_hop(packet.destination_router, packet.hop_state(), rng)
}

/// A hop as [`Packet::scratch`] keeps it; never 0, because it has a channel.
fn pack(hop: Hop) -> u32 {
    u32::from(hop.port) | u32::from(hop.vc) << 16 | u32::from(hop.vcs) << 24
}

fn unpack(scratch: u32) -> Option<Hop> {
    let hop = Hop { port: scratch as u16, vc: (scratch >> 16) as u8, vcs: (scratch >> 24) as u8 };
    (hop.vcs > 0).then_some(hop)
}

impl Routing for Rule {
    /// Decisions kept from an earlier cycle are void, and nothing else outlasts the packets.
    fn remember(&self, memory: &mut Memory) {
        let Self { params, history, contention, .. } = self;
        if params.decide == Decide::Arrival && params.allocation != Allocation::Deterministic {
            memory.cannot(DRAWN_BY_CYCLE);
        }
        if history.is_some() {
            memory.cannot("decisions from the state of earlier cycles");
        }
        contention.iter().for_each(|counters| counters.remember(memory));
    }

    fn wants(&self) -> Wants {
        let Clos { allocation, deterministic_share, around_faults, redecide, decide, .. } = self.params;
        match allocation {
            // The topology's own draw.
            Allocation::Oblivious => Wants {
                settled: deterministic_share == 0.0 && around_faults == AroundFaults::Uniform,
                ..Wants::default()
            },
            Allocation::Deterministic => Wants::default(),
            _ => Wants {
                batch: decide != Decide::Arrival,
                redecide,
                sleeps: redecide,
                occupancy: self.history.is_some(),
                arrivals: decide == Decide::Arrival,
                heads: self.contention.is_some(),
                ..Wants::default()
            },
        }
    }

    fn inject(&mut self, at: &mut Injection<'_>, packet: &mut Packet) {
        let share = self.params.deterministic_share;
        if share > 0.0 && at.rng.chance(share) {
            packet.flags |= IN_ORDER;
        }
    }

    /// Decides about a packet that keeps the decision, if it has to go further up.
    fn arrives(&mut self, at: &RouterView<'_>, _: u16, _: u16, packet: &mut Packet) {
        packet.scratch = match self.ascends(at, packet) {
            Some(_) => pack(self.decide(at, &mut at.rng_of(packet), self.then(at.now), packet, None)),
            None => 0,
        };
    }

    fn route(&mut self, view: &mut View<'_>, _: u16, _: u16, packet: &mut Packet) -> Option<Hop> {
        if let Some(hop) = unpack(packet.scratch).filter(|hop| self.still_leads(view, packet, *hop)) {
            return Some(hop);
        }
        self.allocator.begin();
        let then = self.then(view.now);
        Some(self.decide(&view.at, view.rng, then, packet, None))
    }

    /// One input after the other; in a sequential allocation the first is drawn, for fairness.
    fn route_all(&mut self, view: &mut View<'_>, heads: &mut [Head], packets: &mut Arena) {
        let rows = self.in_rows && self.whole && self.kept.is_none() && self.contention.is_none();
        if rows && view.sleeps && !self.lay_to_sleep(&view.at, heads, packets) {
            return;
        }
        self.allocator.begin();
        let sequential = self.params.allocation.is_sequential();
        let start = if sequential { view.rng.below(view.topology.ports(view.router).into()) as u16 } else { 0 };
        let then = self.then(view.now);
        if sequential && self.contention.is_some() {
            // Choices of earlier cycles are void; each head knows the choices of the heads before it in this cycle.
            self.count(&view.at, heads);
        }
        if self.kept.is_some() {
            for head in heads.iter_mut() {
                let packet = &packets[head.packet];
                head.hop = self.kept.as_ref().and_then(|kept| kept.decided(view.router, view.now, head, packet));
                if let Some(hop) = head.hop {
                    self.give(&view.at, packet, hop.port);
                }
            }
        }
        let (before, after) = heads.split_at_mut(heads.partition_point(|head| head.port < start));
        if rows {
            let awake = after.iter_mut().chain(before).filter(|head| head.waits.count == 0);
            return self.route_in_rows(view, awake, packets);
        }
        for head in after.iter_mut().chain(before).filter(|head| head.hop.is_none()) {
            let packet = &packets[head.packet];
            let chosen = self.contention.as_ref().and_then(|c| c.wanted(view, head.port, head.queue));
            let hop = self.decide(&view.at, view.rng, then, packet, chosen);
            head.hop = Some(hop);
            if let Some(kept) = &mut self.kept {
                kept.note(view.router, view.now, head, packet, hop);
            }
        }
        self.count(&view.at, heads);
    }

    fn rerouted(&mut self, _: Tick, _: usize, _: Option<&Arc<RouteTable>>) {
        self.all_lead.fill(None);
    }

    fn tail_left(&mut self, at: &mut Site<'_>, port: u16, queue: u16) {
        if let Some(counters) = &mut self.contention {
            counters.choose(at, port, queue, None);
        }
    }

    fn observe(&self, router: u32, _now: Tick, see: See<'_>) {
        for (port, count) in self.contention.iter().flat_map(|counters| counters.all(router)).enumerate() {
            see(&CONTENTION, Some(port as u16), (*count).into());
        }
    }

    fn occupancy_changed(&mut self, at: &mut Site<'_>) {
        if let (Some(history), Some(tree)) = (&mut self.history, &self.tree) {
            history.note(at, tree);
        }
    }
}
