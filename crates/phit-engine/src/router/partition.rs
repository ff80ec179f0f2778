//! A partition: its state, its events, its clock.

use super::admittance::Admittance;
use super::allocator::{Allocator, Request};
use super::bits::{bit, for_each_member};
use super::candidates::Candidates;
use super::config::{Config, General, Kernel, Listed, Plain, Settings, Single, Times};
use super::control::Message;
use super::endpoint::Endpoint;
use super::packet::{Arena, GROUP, Packet};
use super::state::{Input, Output, OutputVc, Queue};
use super::vc_allocation::{VcAllocator, Waiting};
use super::wait_lists::WaitLists;
use crate::engine::parallel::{Post, Runs};
use crate::engine::rng::Rng;
use crate::engine::table::Table;
use crate::engine::wheel::{Event, Wheel};
use crate::engine::{NONE, Tick};
use crate::measure::collector::Collector;
use crate::measure::probes::Observation;
use crate::queueing::{Branch, Manager, Queueing};
use crate::routing::{Head, Outgoing, Routing, Watched};
use crate::scenario::router::Switching;
use crate::topology::Topology;
use crate::traffic::Traffic;
use std::ops::Range;
use std::sync::Arc;

/// What an event does, in the top bits of its target.
pub(crate) mod kind {
    /// A flit arrives in queue `target`: the head of packet `data`, or a later flit if `data` is `NONE`.
    pub const ARRIVAL: u32 = 0;
    /// Credit for output port `target`, or for the endpoint `target` less the number of ports: a virtual channel and a
    /// number of phits, packed in `data` by `pack_credit`.
    pub const CREDIT: u32 = 1;
    /// The tail of packet `target` has reached its endpoint.
    pub const DELIVERY: u32 = 2;
    /// Input port `target` may be free again.
    pub const INPUT: u32 = 3;
    /// Output port `target` may be free again.
    pub const OUTPUT: u32 = 4;
    /// The front of queue `target` may be allocated from now on.
    pub const READY: u32 = 5;
    /// Endpoint `target` may have something to send.
    pub const SEND: u32 = 6;
    /// The tail of the first packet of queue `target` has left it (for mechanisms that count heads).
    pub const TAIL: u32 = 7;
    /// Control message `target` has come.
    pub const MESSAGE: u32 = 8;
    /// The tail of packet `target` has gone over a broken link.
    pub const LOSS: u32 = 9;

    /// A manager wants to review input port `target`.
    pub const REVIEW: u32 = 10;

    /// Bits of the index below the kind.
    pub const SHIFT: u32 = 28;
    /// Largest index.
    pub const MASK: u32 = (1 << SHIFT) - 1;
}

/// In [`Queue::sent`]: the first packet has been granted but its tail is still leaving.
pub(crate) const TAIL_PENDING: u16 = u16::MAX;

/// What crosses from one partition to another.
#[derive(Debug, Default)]
pub struct Mail {
    /// Arrivals of heads: tick and queue in the receiving partition.
    pub(crate) heads: Vec<(Tick, u32)>,
    /// The packets of `heads`, in the same order.
    pub(crate) packets: Vec<Packet>,
    /// Anything else: tick and event.
    pub(crate) events: Vec<(Tick, Event)>,
    /// Control messages and the ticks at which they arrive.
    pub(crate) messages: Vec<(Tick, Message)>,
}

impl Post for Mail {
    fn is_empty(&self) -> bool {
        self.heads.is_empty() && self.events.is_empty() && self.messages.is_empty()
    }

    fn successor(&self, ticks: (Tick, Tick)) -> Self {
        let like = |sent: usize| {
            let expected = sent as u64 * u64::from(ticks.1) / u64::from(ticks.0);
            (expected + expected / 16) as usize
        };
        Self {
            heads: Vec::with_capacity(like(self.heads.len())),
            packets: Vec::with_capacity(like(self.packets.len())),
            events: Vec::with_capacity(like(self.events.len())),
            messages: Vec::with_capacity(like(self.messages.len())),
        }
    }
}

impl Mail {
    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.heads.capacity() * 8
            + self.packets.capacity() * size_of::<Packet>()
            + self.events.capacity() * 12
            + self.messages.capacity() * size_of::<(Tick, Message)>()
    }
}

/// Routers, endpoints and packets of one partition.
pub struct Partition {
    pub(crate) index: u32,
    pub(crate) config: Arc<Config>,
    pub(crate) topology: Arc<dyn Topology>,
    pub(crate) traffic: Arc<Traffic>,
    pub(crate) routing: Box<dyn Routing>,
    pub(crate) settings: Settings,
    /// Ticks that flits take, by size in phits.
    pub(crate) times: Vec<Times>,
    pub(crate) queueing: Box<dyn Queueing>,
    /// What a managed queue organisation does besides.
    pub(crate) manager: Option<Box<dyn Manager>>,
    pub(crate) allocator: Box<dyn Allocator>,
    pub(crate) vc_allocator: Option<VcAllocator>,

    pub(crate) routers: Range<u32>,
    /// First port of each router; one more at the end.
    pub(crate) first_port: Table<u32>,
    pub(crate) rngs: Table<Rng>,
    pub(crate) inputs: Table<Input>,
    pub(crate) queues: Table<Queue>,
    pub(crate) outputs: Table<Output>,
    pub(crate) channels: Table<OutputVc>,
    /// The queue that holds each channel until its packet's tail is granted; `NONE` if free. Without entries if no channel
    /// is ever held ([`Settings::single`]).
    pub(crate) owners: Table<u32>,
    /// Tick at which the latest flit entered each queue; without entries if every packet is one flit.
    pub(crate) latest: Table<Tick>,
    /// Tick from which on each input port may send its next credit; without entries if they wait for no turn.
    pub(crate) next_credit: Table<Tick>,
    /// Output buffers: start of transmission of each flit, `ring` places per port.
    pub(crate) rings: Table<Tick>,
    /// Output buffers: phits of each flit.
    pub(crate) ring_phits: Table<u16>,
    pub(crate) ring: u32,

    pub(crate) first_endpoint: u32,
    pub(crate) endpoints: Table<Endpoint>,
    /// The admittance queues of each endpoint; without entries if they have none.
    pub(crate) admittances: Vec<Admittance>,

    /// First destination of each injection queue but the first, where the destination decides: queue
    /// `destination * queues / endpoints`.
    pub(crate) injection_bounds: Vec<u32>,

    /// Most queues of any input port.
    pub(crate) widest: u32,
    /// Queues to be looked at at the next look.
    pub(crate) candidates: Candidates,
    /// Queues that are being looked at.
    pub(crate) looking: Vec<u32>,
    /// Queues of these to be looked at again in the next tick.
    pub(crate) again: Vec<u32>,
    /// Queues that wait, by what they wait for; without entries unless [`Settings::lists`].
    pub(crate) lists: WaitLists,
    /// Tick of the next look at the candidates: this one until it has taken place.
    pub(crate) next_look: Tick,
    /// Endpoints that may have something to send in this tick.
    pub(crate) senders: Vec<u32>,

    pub(crate) packets: Arena,
    pub(crate) wheel: Wheel,
    pub(crate) now: Tick,
    /// What is for other partitions; lent by the thread that runs this one.
    pub(crate) outbox: Vec<Mail>,
    pub(crate) collector: Collector,
    /// Phits generated in the window, sent or not; known when it has closed.
    pub(crate) offered_phits: u64,

    pub(crate) requests: Vec<Request>,
    /// Indices of the granted requests.
    pub(crate) grants: Vec<u32>,
    pub(crate) heads: Vec<Head>,
    pub(crate) waiting: Vec<Waiting>,

    /// Tick of the mechanism's next period; the last tick of all if it has none.
    pub(crate) next_period: Tick,
    /// Tick in which probes look next; the last tick of all if never.
    pub(crate) next_probe: Tick,
    /// Routers of which the occupancy of some output has changed, if the mechanism wants to know.
    pub(crate) changed: Candidates,
    /// Those that are being visited.
    pub(crate) changing: Vec<u32>,
    /// Input ports that a manager is to review.
    pub(crate) reviews: Candidates,
    /// Those that are being reviewed.
    pub(crate) reviewing: Vec<u32>,
    /// Of each input port to whose sender no link leads back: the first tick at which the wire for a manager's messages is free; the
    /// last tick of all where messages go over a link. Without entries if there is no manager.
    pub(crate) ways_back: Table<Tick>,
    /// Queues that a manager holds back; without entries if there is none.
    pub(crate) held: Table<bool>,
    /// Outputs watched by the head that is being routed, as the mechanism named them.
    pub(crate) watched: Vec<Watched>,
    /// Outputs whose watchers the mechanism wakes.
    pub(crate) wakes: Vec<u32>,
    /// Control messages that the mechanism sends.
    pub(crate) outgoing: Vec<Outgoing>,
    /// Control messages on their way to this partition's routers, by the index that their events carry.
    pub(crate) messages: Vec<Option<Message>>,
    /// Free places in `messages`.
    pub(crate) free_messages: Vec<u32>,
}

impl Runs for Partition {
    type Mail = Mail;

    fn fetch(&self) {
        self.packets.fetch();
        self.wheel.fetch();
        self.inputs.fetch();
        self.queues.fetch();
        self.outputs.fetch();
        self.channels.fetch();
        self.rings.fetch();
        self.ring_phits.fetch();
        self.endpoints.fetch();
    }

    fn receive(&mut self, mail: Mail) {
        // The wheel takes events later than a tick: the one before the current is as good.
        let before = self.now.saturating_sub(1);
        for (&(at, queue), packet) in mail.heads.iter().zip(&mail.packets) {
            let event = Event { target: kind::ARRIVAL << kind::SHIFT | queue, data: self.packets.insert(*packet) };
            self.wheel.insert(before, at, event);
        }
        for (at, event) in mail.events {
            self.wheel.insert(before, at, event);
        }
        for (at, message) in mail.messages {
            self.expect(at, message);
        }
    }

    fn run_until(&mut self, end: Tick, outbox: &mut Vec<Mail>) {
        std::mem::swap(&mut self.outbox, outbox);
        match self.settings {
            Settings { plain: true, single: true, .. } => self.run_ticks::<Plain>(end),
            Settings { lists: true, .. } => self.run_ticks::<Listed>(end),
            Settings { single: true, .. } => self.run_ticks::<Single>(end),
            _ => self.run_ticks::<General>(end),
        }
        std::mem::swap(&mut self.outbox, outbox);
    }
}

impl Partition {
    /// Runs all ticks before `end`.
    #[inline(never)]
    fn run_ticks<K: Kernel>(&mut self, end: Tick) {
        while self.now < end {
            self.next_look = self.now;
            self.wheel.bring_near(self.now);
            let mut due = self.wheel.take(self.now);
            while let Some(event) = self.wheel.pop(&mut due) {
                self.handle::<K>(event);
            }
            // Endpoints look at their credits when all of the tick's have come, or the order would show.
            while let Some(endpoint) = self.senders.pop() {
                self.send::<K>(endpoint);
            }
            if !K::PLAIN && (self.now == self.next_period || !self.changed.is_empty() || !self.reviews.is_empty()) {
                self.control();
            }
            if !self.candidates.is_empty() {
                self.next_look = self.now + 1;
                self.step::<K>();
            }
            if self.now == self.next_probe {
                self.probe();
            }
            self.now =
                match self.candidates.is_empty() && (K::PLAIN || self.changed.is_empty() && self.reviews.is_empty()) {
                    true => self.wheel.next_tick(self.now + 1, end.min(self.next_period).min(self.next_probe)),
                    false => self.now + 1,
                };
        }
    }

    /// Lets probes look, if this tick is measured.
    #[cold]
    #[inline(never)]
    fn probe(&mut self) {
        let mut records = std::mem::take(&mut self.collector.records);
        if self.collector.span().contains(&self.now) {
            records.look(&Observation { partition: self }, self.now);
        }
        self.next_probe = records.next(self.now + 1);
        self.collector.records = records;
    }

    /// What has been counted so far.
    pub fn collector(&self) -> &Collector {
        &self.collector
    }

    /// The queue that holds `channel`; `NONE` if it is free.
    #[inline]
    pub(crate) fn owner(&self, channel: u32) -> u32 {
        if self.settings.single { NONE } else { self.owners[channel] }
    }

    /// Calls `see` with every set of packets that a managed queue organisation isolates at `router` of the network: port, branch.
    pub fn trees(&self, router: u32, see: &mut dyn FnMut(u16, &Branch<'_>)) {
        let Some(manager) = self.manager.as_ref().filter(|_| self.routers.contains(&router)) else { return };
        let local = router - self.routers.start;
        let first = self.first_port[local];
        for port in first..self.first_port[local + 1] {
            manager.trees(port, &mut |branch| {
                let output = branch.output.map(|output| output - first);
                see(self.inputs[port].number, &Branch { output, ..*branch });
            });
        }
    }

    /// What a managed queue organisation has counted since the start of the run, by name.
    pub fn queueing_totals(&self) -> Vec<(&'static str, u64)> {
        self.manager.as_ref().map_or_else(Vec::new, |manager| manager.totals(self.now))
    }

    /// Packets in the network and in injection queues.
    pub fn packets_held(&self) -> u32 {
        self.packets.live()
    }

    /// Bytes of the partition's tables.
    pub fn bytes(&self) -> usize {
        self.times.capacity() * size_of::<Times>()
            + self.first_port.bytes()
            + self.rngs.bytes()
            + self.inputs.bytes()
            + self.queues.bytes()
            + self.outputs.bytes()
            + self.channels.bytes()
            + self.owners.bytes()
            + self.latest.bytes()
            + self.next_credit.bytes()
            + self.rings.bytes()
            + self.ring_phits.bytes()
            + self.endpoints.bytes()
            + self.candidates.bytes()
            + self.lists.bytes()
            + (self.looking.capacity() + self.again.capacity()) * 4
            + self.senders.capacity() * 4
            + self.packets.bytes()
            + self.wheel.bytes()
            + self.allocator.bytes()
            + self.vc_allocator.as_ref().map_or(0, VcAllocator::bytes)
            + self.manager.as_ref().map_or(0, |manager| manager.bytes())
            + self.held.bytes()
            + self.ways_back.bytes()
            + self.admittances.iter().map(Admittance::bytes).sum::<usize>()
            + self.reviews.bytes()
            + self.collector.bytes()
    }

    #[inline]
    pub(crate) fn file(&mut self, at: Tick, kind: u32, target: u32, data: u32) {
        self.wheel.insert(self.now, at, Event { target: kind << kind::SHIFT | target, data });
    }

    #[inline(always)]
    fn handle<K: Kernel>(&mut self, event: Event) {
        let target = event.target & kind::MASK;
        match event.target >> kind::SHIFT {
            kind::ARRIVAL => self.arrive::<K>(target, event.data),
            kind::CREDIT => self.credit::<K>(target, event.data),
            kind::DELIVERY => {
                self.collector.delivered(&self.packets[target], self.now);
                self.packets.remove(target);
            }
            kind::INPUT => self.input_free::<K>(target),
            kind::OUTPUT => self.wake::<K>(target),
            kind::READY => self.make_ready::<K>(target),
            kind::SEND => self.senders.push(target),
            kind::MESSAGE => self.hear(target),
            kind::LOSS => {
                self.collector.lost(&self.packets[target]);
                self.packets.remove(target);
            }
            kind::REVIEW => self.reviews.insert(target),
            _ => self.tail_left::<K>(target),
        }
    }

    /// A flit enters `queue`: the head of `packet`, or another flit of the last packet if `packet` is `NONE`.
    #[inline(always)]
    pub(crate) fn arrive<K: Kernel>(&mut self, queue: u32, packet: u32) {
        let now = self.now;
        if !K::SINGLE && !self.settings.single {
            self.latest[queue] = now;
        }
        if (K::SINGLE || packet != NONE) && self.settings.wants::<K>().arrivals {
            self.announce_arrival(queue, packet);
        }
        if !K::PLAIN && self.settings.managed {
            self.came(queue, packet);
        }
        let q = &mut self.queues[queue];
        let free = q.first == NONE && (!self.settings.wants::<K>().heads || q.sent != TAIL_PENDING);
        if free && (K::SINGLE || packet != NONE) && (K::PLAIN || self.settings.immediate) {
            // By far the most frequent case: the head may be allocated at once.
            *q = Queue { first: packet, last: packet, eligible: now, output: NONE, arrived: 1, sent: 0, ..*q };
            let port = q.port;
            self.packets[packet].entry = now;
            if self.settings.wants::<K>().heads {
                self.announce(queue, false);
            }
            self.offer::<K>(port, queue);
            return;
        }
        if !K::SINGLE && packet == NONE {
            q.arrived += 1;
            if q.first == q.last && q.eligible <= now {
                self.make_ready::<K>(queue);
            }
            return;
        }
        let was_empty = q.first == NONE;
        if was_empty {
            q.first = packet;
        } else {
            let last = q.last;
            self.packets[last].next = packet;
        }
        q.last = packet;
        q.arrived = 1;
        self.packets[packet].entry = now;
        if was_empty && self.queues[queue].sent != TAIL_PENDING {
            if self.settings.wants::<K>().heads {
                self.announce(queue, false);
            }
            self.come_to_front::<K>(queue, now);
        }
    }

    /// The first packet of `queue` stands at its front from tick `from` on.
    #[inline(always)]
    pub(crate) fn come_to_front<K: Kernel>(&mut self, queue: u32, from: Tick) {
        let q = &mut self.queues[queue];
        q.output = NONE;
        q.sent = 0;
        if K::PLAIN || self.settings.immediate {
            q.eligible = from;
            let port = q.port;
            self.offer::<K>(port, queue);
        } else {
            self.come_to_front_later::<K>(queue, from);
        }
    }

    /// The same with an allocation delay or under store-and-forward.
    #[cold]
    #[inline(never)]
    fn come_to_front_later<K: Kernel>(&mut self, queue: u32, from: Tick) {
        let packet = self.queues[queue].first;
        let mut eligible = from + self.config.allocation_delay;
        if self.config.switching == Switching::StoreAndForward {
            let class = self.inputs[self.queues[queue].port].class as usize % 8;
            let Packet { size, entry, .. } = self.packets[packet];
            let transfer = self.config.serialisation(size.into(), self.settings.arrival_bandwidth[class]);
            eligible = eligible.max(entry + transfer + self.config.allocation_delay);
        }
        self.queues[queue].eligible = eligible;
        if eligible > self.now {
            self.file(eligible, kind::READY, queue, 0);
        } else {
            self.make_ready::<K>(queue);
        }
    }

    /// A mechanism that counts heads hears that the first packet has left `queue`, and only then of the next.
    #[inline(never)]
    fn tail_left<K: Kernel>(&mut self, queue: u32) {
        self.announce(queue, true);
        self.queues[queue].sent = 0;
        if self.queues[queue].first != NONE {
            self.come_to_front::<K>(queue, self.now);
        }
    }

    /// The front of `queue` may request from now on.
    #[inline(always)]
    pub(crate) fn make_ready<K: Kernel>(&mut self, queue: u32) {
        self.offer::<K>(self.queues[queue].port, queue);
    }

    /// Puts `queue` of input `port` among the candidates of the next look, or lets it wait until the port is free.
    #[inline(always)]
    pub(crate) fn offer<K: Kernel>(&mut self, port: u32, queue: u32) {
        if K::LISTS {
            return self.offer_listed(port, queue);
        }
        let input = &mut self.inputs[port];
        if input.busy > self.next_look {
            input.ready |= bit(queue - input.queues);
            self.wake_input_when_free(port);
        } else {
            self.candidates.insert(queue);
        }
    }

    /// The queues of `port` that have waited for its path to the crossbar may be looked at.
    fn input_free<K: Kernel>(&mut self, port: u32) {
        if K::LISTS {
            return self.input_free_listed(port);
        }
        let input = &mut self.inputs[port];
        let (first, count) = (input.queues, input.count.into());
        for_each_member(std::mem::take(&mut input.ready), count, |lane| self.offer::<K>(port, first + lane));
    }

    /// Files a wake-up of input `port` for the tick at which its path to the crossbar is free.
    #[inline(never)]
    pub(crate) fn wake_input_when_free(&mut self, port: u32) {
        let input = &mut self.inputs[port];
        if input.wake != input.busy {
            input.wake = input.busy;
            let at = input.busy;
            self.file(at, kind::INPUT, port, 0);
        }
    }

    /// Credit comes back to a sender.
    #[inline(always)]
    fn credit<K: Kernel>(&mut self, target: u32, data: u32) {
        let (vc, phits) = unpack_credit(data);
        if let Some(output) = self.outputs.get(target as usize) {
            self.channels[output.vc + vc].credits += phits;
            if self.settings.wants::<K>().occupancy {
                self.changed.insert(output.router);
            }
            if K::LISTS {
                let channel = output.vc + vc;
                self.credit_listed(target, channel);
            } else if output.waiters != 0 {
                self.wake::<K>(target);
            }
        } else {
            let endpoint = target - self.outputs.len() as u32;
            let endpoint_record = &self.endpoints[endpoint];
            self.channels[endpoint_record.channel + vc].credits += phits;
            if endpoint_record.blocked {
                self.senders.push(endpoint);
            }
        }
    }

    /// Lets those who wait for `output` try again.
    #[inline(never)]
    pub(crate) fn wake<K: Kernel>(&mut self, output: u32) {
        if K::LISTS {
            return self.output_free_listed(output);
        }
        let &Output { router, waiters, .. } = &self.outputs[output];
        if waiters == 0 {
            return;
        }
        self.outputs[output].waiters = 0;
        let (first, next) = (self.first_port[router], self.first_port[router + 1]);
        for_each_member(waiters, next - first, |number| {
            let port = first + number;
            let input = &mut self.inputs[port];
            let (queues, count) = (input.queues, input.count.into());
            for_each_member(std::mem::take(&mut input.asleep), count, |lane| self.offer::<K>(port, queues + lane));
        });
    }
}

/// A virtual channel (up to 1,024) and a flit's size in phits in one word.
#[inline]
pub(crate) fn pack_credit(vc: u32, phits: u32) -> u32 {
    vc << 20 | phits
}

#[inline]
pub(crate) fn unpack_credit(data: u32) -> (u32, i32) {
    (data >> 20, (data & 0xf_ffff) as i32)
}

/// Moves a packet to its next leg if it has reached the intermediate router or group that it was heading for.
#[inline]
pub(crate) fn advance_leg(topology: &dyn Topology, router: u32, packet: &mut Packet) {
    if packet.intermediate == NONE {
        return;
    }
    let reached = match packet.intermediate & GROUP {
        0 => packet.intermediate == router,
        _ => packet.intermediate & !GROUP == topology.group_of(router),
    };
    if reached {
        packet.intermediate = NONE;
        packet.leg += 1;
        packet.leg_start = packet.hops;
    }
}
