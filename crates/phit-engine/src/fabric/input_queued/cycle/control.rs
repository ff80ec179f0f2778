//! News for mechanisms, besides the heads that they decide about: heads and tails, periods, changed occupancies, and
//! control messages from neighbours.

use crate::engine::{NONE, Tick};
use crate::fabric::input_queued::options::kernel::{General, Kernel};
use crate::fabric::input_queued::partition::Partition;
use crate::fabric::input_queued::post::messages::{Message, Party};
use crate::fabric::input_queued::state::kind;
use crate::fabric::input_queued::state::records::BROKEN;
use crate::fabric::seams::routing::{Changes, Outgoing, RouterView, Routing, Site, advance_leg};
use crate::packet::MOST_CLASSES;
use crate::topology::{Hop, Peer};

/// The view of a router. It is a macro, because it borrows single fields of the partition.
macro_rules! router_view {
    ($self:ident, $router:expr) => {
        RouterView {
            topology: &*$self.map.topology,
            known: &$self.map.known,
            router: $self.setup.routers.number($router),
            now: $self.now,
            local: $router,
            tables: &$self.tables,
            network: 0,
        }
    };
}
pub(crate) use router_view;

impl Partition {
    /// Runs `visit` with the mechanism at `router` of the partition, and carries out the mechanism's requests.
    #[inline]
    fn visit(&mut self, router: u32, visit: impl FnOnce(&mut dyn Routing, &mut Site<'_>)) {
        let at = router_view!(self, router);
        visit(&mut *self.routing, &mut self.signals.site(at));
        self.carry_out(router);
    }

    /// Carries out the requests of the mechanism at `router`: wakes heads and sends messages.
    #[inline]
    fn carry_out(&mut self, router: u32) {
        while let Some(output) = self.signals.pop_wake() {
            match () {
                () if self.setup.settings.lists => self.output_free_listed(output),
                () if self.setup.settings.at_outputs => self.rouse_output::<General>(output),
                () if self.setup.settings.watches::<General>() => {
                    self.rouse_watchers::<General>(output, Changes::ANNOUNCED);
                }
                () => self.wake::<General>(output),
            }
        }
        if self.signals.has_outgoing() {
            self.send_messages(router);
        }
    }

    /// Gives mechanisms all news of this tick, after its arrivals.
    #[cold]
    #[inline(never)]
    pub(crate) fn control(&mut self) {
        let period = self.setup.settings.wants.period * self.setup.config.links.ticks_per_cycle;
        if self.signals.begins_period(self.now, period) {
            for router in 0..self.setup.routers.len() as u32 {
                if self.routing.awaits_period(router, self.now) {
                    self.visit(router, |routing, site| routing.period(site));
                }
            }
        }
        if self.signals.pauses_change() {
            self.send_frames();
        }
        if self.signals.has_notices() {
            self.relay_notices();
        }
        if self.signals.has_changes() && !self.setup.settings.wants.after_grants {
            self.tell_changes();
        }
        if self.management.has_reviews() {
            self.review();
        }
    }

    /// Tells the mechanism of changed occupancies.
    #[inline(never)]
    pub(crate) fn tell_changes(&mut self) {
        let changed = self.signals.take_changes();
        for &router in &*changed {
            self.visit(router, |routing, site| routing.occupancy_changed(site));
        }
        self.signals.told(changed);
    }

    /// The endpoint at `router` begins to send `packet`.
    #[cold]
    #[inline(never)]
    pub(crate) fn announce_sending(&mut self, router: u32, packet: u32) {
        let at = router_view!(self, router);
        self.routing.sends(&at, &mut self.packets[packet]);
    }

    /// The head of `packet` enters `queue`.
    #[inline(never)]
    pub(crate) fn announce_arrival(&mut self, queue: u32, packet: u32) {
        let input = &self.inputs[self.queues[queue].port];
        let at = router_view!(self, input.router);
        self.routing.arrives(&at, input.number, (queue - input.queues) as u16, &mut self.packets[packet]);
    }

    /// The packet at the front of `queue` has come there.
    #[inline(never)]
    pub(crate) fn announce_head(&mut self, queue: u32) {
        self.announce(queue, false);
    }

    /// The tail of the packet that was at the front of `queue` has left (if `tail`), and the next packet, if any, has
    /// come to the front.
    #[inline(always)]
    pub(crate) fn announce(&mut self, queue: u32, tail: bool) {
        let q = &self.queues[queue];
        let (input, first) = (&self.inputs[q.port], q.first);
        let (router, port, lane) = (input.router, input.number, (queue - input.queues) as u16);
        let at = router_view!(self, router);
        let mut site = self.signals.site(at);
        if tail {
            self.routing.tail_left(&mut site, port, lane);
        }
        if first != NONE {
            let packet = &mut self.packets[first];
            advance_leg(&*self.map.topology, self.setup.routers.number(router), packet);
            self.routing.head_arrived(&mut site, port, lane, packet);
        }
        self.carry_out(router);
    }

    /// The head of `queue` leaves over `output`, in virtual channel `vc`.
    #[inline(always)]
    pub(crate) fn announce_departure(&mut self, queue: u32, output: u32, vc: u16) {
        if self.tables.outputs[output].class == 0 && !self.setup.settings.wants.ejections {
            return;
        }
        let q = &self.queues[queue];
        let (input, packet) = (&self.inputs[q.port], q.first);
        let vc = match self.setup.settings.networks {
            1 => vc,
            _ => self.within(packet, self.tables.outputs[output].class, vc),
        };
        let hop = Hop { port: (output - self.tables.first_port[input.router]) as u16, vc: vc as u8, vcs: 1 };
        let at = router_view!(self, input.router);
        let lane = (queue - input.queues) as u16;
        self.routing.departs(&at, input.number, lane, hop, &mut self.packets[packet]);
    }

    /// Sends the messages that the mechanism has handed over at `router`.
    #[inline(never)]
    fn send_messages(&mut self, router: u32) {
        let mut outgoing = self.signals.take_outgoing();
        for Outgoing { port, payload, phits, through } in outgoing.drain(..) {
            let index = self.tables.first_port[router] + u32::from(port);
            let (to, port) = match self.map.topology.port(self.setup.routers.number(router), port).peer {
                Peer::Router { router, port } => (router, port),
                Peer::Endpoint(_) if through => {
                    self.put_on_link(index, phits);
                    continue;
                }
                Peer::Endpoint(_) | Peer::None => continue,
            };
            if self.tables.outputs[index].far_partition == BROKEN {
                continue;
            }
            let leaves = self.put_on_link(index, phits);
            let output = &self.tables.outputs[index];
            let at = leaves + self.setup.settings.latency[output.class as usize % MOST_CLASSES].max(1);
            let far = output.far_partition;
            let at = if through { self.through_router(at) } else { at };
            self.dispatch(far, at, Message { party: Party::Routing, router: to, port, payload });
        }
        self.signals.sent(outgoing);
    }

    /// Puts a control message of `phits` phits on the link of output `index`, after flits that have been granted
    /// before. Returns the tick at which the message is on the link. A message without phits needs no link.
    pub(crate) fn put_on_link(&mut self, index: u32, phits: u32) -> Tick {
        self.collector.counters.control.messages += 1;
        if phits == 0 {
            return self.now;
        }
        let time = self.link_time(index, phits);
        let output = &mut self.tables.outputs[index];
        let class = output.class as usize % MOST_CLASSES;
        let free = match &mut self.rates {
            Some(rates) => rates.whole_ticks(index, output.free),
            None => output.free,
        };
        let start = self.setup.config.links.align(self.now.max(free));
        let leaves = start + time;
        output.free = leaves;
        output.phits += u64::from(phits);
        self.collector.counters.control.phits[class] += u64::from(phits);
        self.wires.note(index, (start, leaves), phits, true);
        leaves
    }

    /// Files the arrival of a control message here or with partition `far`.
    pub(crate) fn dispatch(&mut self, far: u32, at: Tick, message: Message) {
        match far == self.setup.index {
            true => self.expect(at, message),
            false => self.post.mail_to(far).messages.push((at, message)),
        }
    }

    /// Files the arrival of a control message.
    pub(crate) fn expect(&mut self, at: Tick, message: Message) {
        let place = self.signals.keep(message);
        // As for other mail, a tick too early is as good as the current one.
        let before = self.now.min(at - 1);
        self.file_after(before, at, kind::MESSAGE, place, NONE);
    }

    /// A control message has arrived.
    #[cold]
    #[inline(never)]
    pub(crate) fn hear<K: Kernel>(&mut self, place: u32) {
        let Some(Message { party, router, port, payload }) = self.signals.take_message(place) else { return };
        match party {
            Party::Routing => {}
            Party::Sender => return self.hear_as_sender(router, &payload),
            Party::Port => return self.frame_starts(router),
            Party::Pauses if K::EXTRAS => return self.hear_frame::<K>(router, payload[0] as u8),
            Party::Pauses => return,
            Party::Flow => return self.hear_feedback(&payload),
            Party::Source => return self.signals.keep_notice(router, &payload),
        }
        let router = self.setup.routers.place(router) as u32;
        self.visit(router, |routing, site| routing.hear(site, port, &payload));
    }
}
