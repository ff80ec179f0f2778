//! The rule of routers: probabilities of minimal routes, and the way of notifications.

use super::ports::Waiting;
use super::ports::{Notice, Port, Router};
use super::{Below, PROBABILITY, Point, QcnSwitch};
use crate::engine::{Rng, Tick};
use crate::fabric::seams::routing::RouterView;
use crate::packet::{GROUP, HopState, Hops, MISROUTED_AT_INJECTION, MISROUTED_GLOBALLY, Packet};
use crate::routing::exits::Exits;
use crate::routing::valiant::{self, SecondHalf, Via};
use crate::routing::{Payload, Routing, RoutingContext, See, Site, View, Wants};
use crate::topology::{Hop, Peer, Routers};
use std::collections::VecDeque;

/// Keeps the random numbers of congestion points apart from others of the same seed.
const SALT: u64 = 0x51_43_4e;

/// The state of a packet before its first hop.
const FRESH: HopState = HopState { came_by: 0, came_in: 0, leg_hops: Hops(0) };

pub(super) struct Rule {
    pub(super) params: QcnSwitch,
    pub(super) exits: Exits,
    pub(super) places: Routers,
    pub(super) routers: Vec<Router>,
    pub(super) ticks_per_cycle: Tick,
}

impl Rule {
    pub(super) fn new(params: &QcnSwitch, context: &RoutingContext) -> Self {
        let (topology, tick) = (&*context.topology, context.ticks_per_cycle);
        let due = params.sample_base * tick;
        let port = |router: u32, number: u16| {
            let port = topology.port(router, number);
            let lately = context.latency.get(usize::from(port.class)).copied().unwrap_or(0);
            Port {
                number,
                due,
                before: 0,
                held: Vec::new(),
                recent: VecDeque::new(),
                lately,
                probability: 1.0,
                left: params.recovery.into(),
                heard: (0, 0),
            }
        };
        let router = |router: u32| {
            let leads = |number: &u16| matches!(topology.port(router, *number).peer, Peer::Router { .. });
            let mut numbers = (0..topology.ports(router)).filter(leads).peekable();
            let first = numbers.peek().copied().unwrap_or(0);
            let end = numbers.last().map_or(first, |last| last + 1);
            // Ports between these that lead nowhere stay as they are.
            let ports = (first..end).map(|number| port(router, number)).collect();
            let rng = Rng::keyed(context.seed ^ SALT, router);
            Router { first, ports, rng, check: due, heard: Vec::new() }
        };
        Self {
            exits: Exits::new(context),
            routers: context.routers.iter().map(router).collect(),
            places: context.routers.clone(),
            ticks_per_cycle: tick,
            params: params.clone(),
        }
    }

    /// The port by which packets from this router to router `to` go minimally.
    pub(super) fn minimal_port(&mut self, at: &RouterView<'_>, to: u32) -> u16 {
        at.minimal_hop(to, FRESH, &mut self.routers[at.local as usize].rng).port
    }

    /// Sends a notification from this router to the next, or to its source.
    pub(super) fn passes_on(&mut self, at: &mut Site<'_>, notice: Notice) {
        let (home, port) = at.topology.attachment(notice.source);
        let port = if home == at.router { port } else { self.minimal_port(at, home) };
        let phits = self.params.notification;
        at.pass_on(port, notice.payload(), phits.into());
        self.counts(at.local as usize, port, phits);
    }

    /// `phits` leave place `local` through `port`, whose probability may rise.
    pub(super) fn counts(&mut self, local: usize, port: u16, phits: u16) {
        let router = &mut self.routers[local];
        let Some(place) = router.place(port) else { return };
        let port = &mut router.ports[place];
        port.left -= i64::from(phits);
        if port.left <= 0 {
            port.left = self.params.recovery.into();
            port.probability = self.params.raised(port.probability);
        }
    }

    pub(super) fn lowers(&mut self, local: usize, port: u16, feedback: f64) {
        let router = &mut self.routers[local];
        let Some(place) = router.place(port) else { return };
        let probability = &mut router.ports[place].probability;
        *probability = self.params.lowered(*probability, feedback);
    }

    /// A notification has come to the router of its source, at place `local`, by `port`.
    pub(super) fn reacts(&mut self, local: usize, port: u16, feedback: u8, now: Tick) {
        let router = &mut self.routers[local];
        let Some(place) = router.place(port) else { return };
        router.ports[place].left = self.params.recovery.into();
        let Some(compare) = &self.params.compare else {
            return self.lowers(local, port, f64::from(feedback));
        };
        router.ports[place].heard = (feedback, now);
        let memory = compare.memory.saturating_mul(self.ticks_per_cycle);
        let counts = |heard: Tick| memory == 0 || now - heard < memory;
        let heard = router.ports.iter().map(|port| port.heard).filter(|(_, heard)| counts(*heard));
        let mean = heard.map(|(feedback, _)| u32::from(feedback)).sum::<u32>() / router.ports.len() as u32;
        let above = u32::from(feedback).saturating_sub(mean);
        if above > compare.lower.into() {
            self.lowers(local, port, f64::from(above));
        } else if above <= compare.keep.into() && compare.below == Below::Raise {
            let probability = &mut router.ports[place].probability;
            *probability = self.params.raised(*probability);
        }
    }
}

impl Routing for Rule {
    fn bytes(&self) -> usize {
        let ports = self.routers.iter().flat_map(|router| &router.ports).map(Port::bytes).sum::<usize>();
        self.exits.bytes() + self.routers.capacity() * size_of::<Router>() + ports
    }

    fn wants(&self) -> Wants {
        let input = self.params.point != Point::Output;
        Wants { arrivals: true, departures: true, ejections: input, period: 1, ..Wants::default() }
    }

    fn arrives(&mut self, at: &RouterView<'_>, port: u16, queue: u16, packet: &mut Packet) {
        let (now, point) = (at.now, self.params.point);
        let router = &mut self.routers[at.local as usize];
        let Some(place) = router.place(port) else { return };
        let port = &mut router.ports[place];
        port.due = port.due.saturating_sub(self.ticks_per_cycle);
        router.check = router.check.min(port.due);
        if point == Point::Output {
            return;
        }
        let (phits, source, to) = (packet.size, packet.source, packet.destination_router);
        let packet = Waiting { since: now, queue, phits, source, to };
        port.held.push(packet);
    }

    fn departs(&mut self, at: &RouterView<'_>, port: u16, queue: u16, hop: Hop, packet: &mut Packet) {
        let local = at.local as usize;
        let router = &mut self.routers[local];
        match self.params.point {
            Point::Output => {
                if let Some(place) = router.place(hop.port) {
                    let (phits, source, to) = (packet.size, packet.source, packet.destination_router);
                    let port = &mut router.ports[place];
                    port.held.push(Waiting { since: at.now, queue, phits, source, to });
                    router.check = router.check.min(port.due);
                }
            }
            _ => {
                if let Some(place) = router.place(port) {
                    let port = &mut router.ports[place];
                    let first = port.held.iter().position(|packet| packet.queue == queue);
                    if let Some(packet) = first.map(|first| port.held.remove(first))
                        && self.params.point == Point::InputAndLink
                    {
                        port.recent.push_back(Waiting { since: at.now, ..packet });
                    }
                }
            }
        }
        self.counts(local, hop.port, packet.size);
    }

    fn period(&mut self, at: &mut Site<'_>) {
        let local = at.local as usize;
        if !self.routers[local].heard.is_empty() {
            let mut heard = std::mem::take(&mut self.routers[local].heard);
            heard.sort_unstable();
            for (port, notice) in heard.drain(..) {
                if at.topology.attachment(notice.source).0 == at.router {
                    self.reacts(local, port, notice.feedback, at.now);
                }
                self.passes_on(at, notice);
            }
            self.routers[local].heard = heard;
        }
        if self.routers[local].check <= at.now {
            self.samples(at);
        }
    }

    fn hear(&mut self, at: &mut Site<'_>, port: u16, payload: &Payload) {
        self.routers[at.local as usize].heard.push((port, Notice::of(payload)));
    }

    fn route(&mut self, view: &mut View<'_>, port: u16, _: u16, packet: &mut Packet) -> Option<Hop> {
        let (at, to) = (view.at, packet.destination_router);
        let leaves = |router| at.topology.group_of(router) != at.topology.group_of(to);
        if packet.came_by == 0 && packet.legs == 1 && leaves(at.router) {
            let minimal = at.minimal_hop(to, packet.hop_state(), &mut at.rng_of(packet));
            let router = &self.routers[at.local as usize];
            let exact = router.place(minimal.port).map_or(1.0, |place| router.ports[place].probability);
            let probability = if self.params.whole_percent { (100.0 * exact).floor() / 100.0 } else { exact };
            let behind = self.exits.of_port(at.router, port);
            if let Some(group) = behind.filter(|_| !view.rng.chance(probability)) {
                (packet.legs, packet.intermediate) = (2, GROUP | group);
                packet.misrouted |= MISROUTED_GLOBALLY | MISROUTED_AT_INJECTION;
            }
        }
        Some(match packet.legs {
            1 => at.minimal_hop(to, packet.hop_state(), &mut at.rng_of(packet)),
            _ => valiant::hop(&view.at, packet, Via::Group, SecondHalf::Above, view.rng),
        })
    }

    fn observe(&self, router: u32, _now: Tick, see: See<'_>) {
        for port in &self.routers[self.places.place(router)].ports {
            see(&PROBABILITY, Some(port.number), (100.0 * port.probability).round() as u32);
        }
    }
}
