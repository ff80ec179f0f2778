//! What heads ask their routing mechanism, and what they take from its answers.

use super::control::router_view;
use crate::engine::NONE;
use crate::fabric::input_queued::endpoints::exchange::first_channel;
use crate::fabric::input_queued::options::kernel::Kernel;
use crate::fabric::input_queued::partition::Partition;
use crate::fabric::input_queued::state::lost::Kind;
use crate::fabric::input_queued::state::records::{Input, Output, Progress, Queue};
use crate::fabric::seams::queueing::Lanes;
use crate::fabric::seams::reservation::Role;
use crate::fabric::seams::routing::{DISCARD, Head, Ports, RouterView, View, advance_leg};
use crate::topology::{Hop, Leg};
use std::hint::select_unpredictable;

/// What the routing mechanism sees of a router: a macro, because it borrows single fields of the partition.
macro_rules! view {
    ($self:ident, $router:expr) => {{
        let at = router_view!($self, $router);
        View { at, rng: &mut $self.rngs[$router], watched: &mut $self.watched, sleeps: false }
    }};
}

impl Partition {
    /// Decides about the packet that has come to the front of `queue` of input `port`, before anyone looks at it, if
    /// what it takes to decide does not change: whether a decision is there is then nothing to be guessed.
    #[inline(always)]
    pub(crate) fn decide_ahead(&mut self, port: u32, queue: u32, packet: u32) {
        let &Input { router, number, .. } = &self.inputs[port];
        let (at, packet) = (|| self.setup.locations[router], &self.packets[packet]);
        self.map.known.with_only_hop(at, packet.destination_router, packet.hops, |out, vc, there| {
            // Whether it has arrived cannot be guessed either.
            let lanes = Lanes {
                first: select_unpredictable(there, 0, vc.into()),
                count: select_unpredictable(there, self.setup.settings.ejection_vcs, 1).into(),
            };
            let out = select_unpredictable(there, packet.ejection_port, out);
            self.queues[queue].decide(port - u32::from(number), lanes, out);
        });
    }

    /// Asks the routing mechanism about the head of `queue` and notes the answer there: no output if there is none.
    #[inline(always)]
    pub(crate) fn route<K: Kernel>(&mut self, router: u32, number: u16, port: u32, queue: u32, lane: u32) {
        let packet = self.queues[queue].first;
        if self.setup.settings.wants::<K>().redecide {
            self.watched.clear();
        }
        let first = port - u32::from(number);
        if let Some(table) = self.map.tabled.as_ref().filter(|_| K::TABLES) {
            // They lead to the endpoint, too.
            let out = table.port(self.setup.routers.number(router), self.packets[packet].destination);
            let lanes = match K::MANAGED {
                // Packets come into the first queue of a buffer.
                true => Lanes::one(0),
                false => self.select(router, queue, Hop { port: out, vc: 0, vcs: 1 }),
            };
            return self.note::<K>(router, first, queue, out, lanes);
        }
        if let Some(hop) = self.ejection::<K>(router, packet) {
            return self.decide::<K>(router, first, queue, hop);
        }
        let hop = if K::SETTLED || self.setup.settings.wants.settled {
            let (at, packet) = (self.setup.routers.number(router), &self.packets[packet]);
            let (config, rngs) = (&self.setup.config, &mut self.rngs);
            let hop = self.map.known.with_leg_hop(
                &*self.map.topology,
                (at, packet.destination_router, Leg::ONLY),
                || packet.hop_state(),
                move || (&config.buffers.vcs[..], &mut rngs[router]),
                |hop| match K::SETTLED {
                    // There is nothing else to be done, for any topology: a hop is neither laid out nor handed on.
                    true => {
                        self.queues[queue].decide(first, hop.into(), hop.port);
                        None
                    }
                    false => Some(hop),
                },
            );
            let Some(hop) = hop else { return };
            hop
        } else {
            let mut view = view!(self, router);
            if K::EXTRAS && self.setup.settings.networks > 1 {
                view.at.network = match self.setup.settings.reserves {
                    true => Role::of(&self.packets[packet]).network(self.setup.settings.networks.into()).into(),
                    false => u32::from(Kind::of(&self.packets[packet]) == Kind::Reply),
                };
            }
            match self.routing.route(&mut view, number, lane as u16, &mut self.packets[packet]) {
                Some(hop) if hop.port != DISCARD => hop,
                answer => {
                    self.queues[queue].output = NONE;
                    self.discards.extend(answer.map(|_| queue));
                    return;
                }
            }
        };
        self.decide::<K>(router, first, queue, hop);
    }

    /// The decision for the packet behind the first one of `queue`, which is about to leave; `None` without a packet.
    #[cold]
    pub(crate) fn decide_next<K: Kernel>(&mut self, queue: u32) -> Option<Queue> {
        let before = self.queues[queue];
        if before.first == before.last {
            return None;
        }
        let &Input { queues, router, number, .. } = &self.inputs[before.port];
        self.queues[queue].first = self.packets[before.first].next;
        self.route::<K>(router, number, before.port, queue, queue - queues);
        Some(std::mem::replace(&mut self.queues[queue], before))
    }

    /// Notes `hop` as the decision for the head of `queue`; `first` is the router's first port.
    #[inline(always)]
    pub(crate) fn decide<K: Kernel>(&mut self, router: u32, first: u32, queue: u32, hop: Hop) {
        let mut lanes = match () {
            () if K::BARE || self.setup.settings.transparent => Lanes::from(hop),
            () if K::EXTRAS && !K::LISTS && self.setup.settings.looks_ahead => self.look_ahead(router, queue, hop),
            () => self.select(router, queue, hop),
        };
        if K::EXTRAS && self.setup.settings.parts_channels {
            let output = first + u32::from(hop.port);
            let class = self.tables.outputs.get(output as usize).map_or(0, |output| output.class);
            lanes.first += self.first_channel(self.queues[queue].first, class);
        }
        self.note::<K>(router, first, queue, hop.port, lanes);
    }

    /// Notes `lanes` of output `port` of `router` as the decision for the head of `queue`.
    #[inline(always)]
    pub(crate) fn note<K: Kernel>(&mut self, router: u32, first: u32, queue: u32, port: u16, lanes: Lanes) {
        // The tables are not checked from here on: a mechanism that names what does not exist must be stopped here.
        if !K::SETTLED {
            let channels = u32::from(lanes.first) + u32::from(lanes.count);
            let leads = |output: &Output| output.router == router && channels <= u32::from(output.vcs);
            let output = first + u32::from(port);
            let there = lanes.count > 0 && self.tables.outputs.get(output as usize).is_some_and(leads);
            assert!(there, "the routing mechanism chose {lanes:?} of port {port}, which router {router} does not have");
        }
        if K::CONTROLS && self.setup.settings.controls {
            self.turns_backlog(queue, first + u32::from(port));
        }
        self.queues[queue].decide(first, lanes, port);
    }

    /// The queues of the next input port for the head of `queue`, by the queue organisation's rule.
    #[inline(never)]
    pub(crate) fn select(&self, router: u32, queue: u32, hop: Hop) -> Lanes {
        // Whether the mechanism names a port that exists is checked afterwards.
        match self.map.neighbours.get((self.tables.first_port[router] + u32::from(hop.port)) as usize) {
            None | Some(&NONE) => hop.into(),
            Some(&next) => {
                let packet = &self.packets[self.queues[queue].first];
                self.queueing.select(&*self.map.topology, next, packet, hop)
            }
        }
    }

    /// The queues of the next input port for the head of `queue`, by the hop that it will take behind that.
    #[cold]
    #[inline(never)]
    pub(crate) fn look_ahead(&self, router: u32, queue: u32, hop: Hop) -> Lanes {
        let packet = &self.packets[self.queues[queue].first];
        self.queueing.ahead(&*self.map.topology, self.setup.routers.number(router), packet, hop)
    }

    /// The ejection hop of `packet` if it has reached its destination's router.
    #[inline(always)]
    pub(crate) fn ejection<K: Kernel>(&mut self, router: u32, packet: u32) -> Option<Hop> {
        let router = self.setup.routers.number(router);
        let packet = &mut self.packets[packet];
        // Minimal routes have one leg.
        if !K::SETTLED && !self.setup.settings.wants::<K>().heads {
            advance_leg(&*self.map.topology, router, packet);
        }
        if packet.destination_router != router {
            return None;
        }
        if !K::SETTLED && packet.intermediate != NONE {
            if !self.setup.settings.wants::<K>().ends_passing {
                return None;
            }
            packet.intermediate = NONE;
        }
        if K::EXTRAS && self.setup.settings.wants.ejects {
            let vc = self.routing.ejection(packet).min(self.setup.settings.ejection_vcs - 1);
            return Some(Hop { port: packet.ejection_port, vc, vcs: 1 });
        }
        Some(Hop { port: packet.ejection_port, vc: 0, vcs: self.setup.settings.ejection_vcs })
    }

    /// Lets a mechanism that decides for a whole router do so, router by router, for the heads of the queues `looking`.
    #[inline(never)]
    pub(crate) fn route_batches<K: Kernel>(&mut self, looking: &[u32]) {
        let mut heads = std::mem::take(&mut self.heads);
        let mut latest = NONE;
        for &queue in looking {
            let q = &self.queues[queue];
            let (packet, decided, held) = (q.first, q.output != NONE, q.vcs == 0);
            let &Input { busy, queues, number, router, .. } = &self.inputs[q.port];
            let lane = queue - queues;
            let busy = match K::EXTRAS && self.setup.settings.several_paths {
                true => self.input_path_busy(q.port, lane),
                false => busy,
            };
            if router != latest {
                if !heads.is_empty() {
                    self.route_heads::<K>(latest, &mut heads);
                }
                latest = router;
            }
            if packet == NONE || busy > self.now || K::EXTRAS && self.setup.settings.fine > 1 && self.rests(queue) {
                continue;
            }
            if self.setup.settings.progress::<K>() {
                let Progress { eligible, sent, .. } = self.progress[queue];
                let again = self.setup.settings.wants::<K>().redecide && sent == 0 && !held;
                if eligible > self.now || decided && !again {
                    continue;
                }
            } else if decided && !self.setup.settings.wants::<K>().redecide {
                continue;
            }
            match self.ejection::<K>(router, packet) {
                Some(hop) => {
                    self.decide::<K>(router, self.tables.first_port[router], queue, hop);
                }
                None => {
                    let (queue, again) = (lane as u16, decided);
                    heads.push(Head { port: number, queue, packet, again, hop: None, waits: Ports::default() });
                }
            }
        }
        if !heads.is_empty() {
            self.route_heads::<K>(latest, &mut heads);
        }
        self.heads = heads;
    }

    /// Lets the mechanism decide for the undecided heads of `router`, and forgets them.
    #[inline(never)]
    pub(crate) fn route_heads<K: Kernel>(&mut self, router: u32, heads: &mut Vec<Head>) {
        let first = self.tables.first_port[router];
        let mut view = view!(self, router);
        view.sleeps = self.setup.settings.batches_sleep && view.at.round() == 0;
        self.routing.route_all(&mut view, heads, &mut self.packets);
        if self.setup.settings.batches_sleep && heads.iter().any(|head| head.hop.is_none()) {
            self.lay_to_sleep::<K>(router, heads);
        }
        for head in heads.drain(..) {
            let queue = self.inputs[first + u32::from(head.port)].queues + u32::from(head.queue);
            match head.hop {
                Some(hop) if hop.port != DISCARD => {
                    self.decide::<K>(router, first, queue, hop);
                }
                answer => {
                    self.queues[queue].output = NONE;
                    self.discards.extend(answer.map(|_| queue));
                }
            }
        }
    }

    /// The first virtual channel over links of `class` for `packet`, which the routing mechanism counts as 0.
    #[inline]
    pub(crate) fn first_channel(&self, packet: u32, class: u8) -> u16 {
        first_channel(&self.setup.config, &self.setup.settings, &self.packets[packet], class)
    }

    /// Virtual channel `vc` of a link of `class` as the routing mechanism of `packet` counts it.
    #[inline]
    pub(crate) fn within(&self, packet: u32, class: u8, vc: u16) -> u16 {
        vc - self.setup.settings.channel_of(self.first_channel(packet, class).into()) as u16
    }
}
