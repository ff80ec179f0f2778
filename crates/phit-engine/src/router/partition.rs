//! A partition: its state, its events, its clock.

use super::allocator::{Allocator, Request};
use super::bits::{bit, for_each_member};
use super::config::Config;
use super::endpoint::Endpoint;
use super::packet::{Arena, GROUP, Packet};
use super::state::{Input, Output, OutputVc, Queue};
use super::vc_allocation::{VcAllocator, Waiting};
use crate::engine::parallel::{Post, Runs};
use crate::engine::rng::Rng;
use crate::engine::wheel::{Event, Wheel};
use crate::engine::{NONE, Tick};
use crate::measure::collector::Collector;
use crate::queueing::Queueing;
use crate::routing::{Head, Routing, Wants};
use crate::scenario::router::Switching;
use crate::topology::Topology;
use crate::traffic::Traffic;
use std::ops::Range;
use std::sync::Arc;

/// What an event does, in the top bits of its target.
pub(crate) mod kind {
    /// A flit arrives in queue `target`: the head of packet `data`, or a later flit if `data` is `NONE`.
    pub const ARRIVAL: u32 = 0;
    /// `data` phits of credit for output VC `target`.
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

    /// Bits of the index below the kind.
    pub const SHIFT: u32 = 29;
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
}

impl Post for Mail {
    fn is_empty(&self) -> bool {
        self.heads.is_empty() && self.events.is_empty()
    }

    fn append(&mut self, other: &mut Self) {
        self.heads.append(&mut other.heads);
        self.packets.append(&mut other.packets);
        self.events.append(&mut other.events);
    }
}

impl Mail {
    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.heads.capacity() * 8 + self.packets.capacity() * size_of::<Packet>() + self.events.capacity() * 12
    }
}

/// Routers, endpoints and packets of one partition.
pub struct Partition {
    pub(crate) index: u32,
    pub(crate) config: Arc<Config>,
    pub(crate) topology: Arc<dyn Topology>,
    pub(crate) traffic: Arc<Traffic>,
    pub(crate) routing: Box<dyn Routing>,
    pub(crate) wants: Wants,
    pub(crate) queueing: Box<dyn Queueing>,
    pub(crate) allocator: Box<dyn Allocator>,
    pub(crate) vc_allocator: Option<VcAllocator>,

    pub(crate) routers: Range<u32>,
    /// First port of each router; one more at the end.
    pub(crate) first_port: Vec<u32>,
    pub(crate) rngs: Vec<Rng>,
    pub(crate) inputs: Vec<Input>,
    pub(crate) queues: Vec<Queue>,
    pub(crate) outputs: Vec<Output>,
    pub(crate) channels: Vec<OutputVc>,
    /// Output buffers: start of transmission and size of each flit, `ring` places per port.
    pub(crate) rings: Vec<(Tick, u32)>,
    pub(crate) ring: u32,

    pub(crate) first_endpoint: u32,
    pub(crate) endpoints: Vec<Endpoint>,
    /// First channel that belongs to an endpoint's injection queues.
    pub(crate) injection_channels: u32,

    /// Most queues of any input port.
    pub(crate) widest: u32,
    /// Input ports with ready queues, by router.
    pub(crate) ready_ports: Vec<u64>,
    /// Routers with something to do, and whether each is listed.
    pub(crate) active: Vec<u32>,
    pub(crate) stepping: Vec<u32>,
    pub(crate) listed: Vec<bool>,
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
    pub(crate) grants: Vec<Request>,
    pub(crate) heads: Vec<Head>,
    pub(crate) waiting: Vec<Waiting>,
}

impl Runs for Partition {
    type Mail = Mail;

    fn receive(&mut self, mail: &mut Mail) {
        // The wheel takes events later than a tick: the one before the current is as good.
        let before = self.now.saturating_sub(1);
        for ((at, queue), packet) in mail.heads.drain(..).zip(mail.packets.drain(..)) {
            let event = Event { target: kind::ARRIVAL << kind::SHIFT | queue, data: self.packets.insert(packet) };
            self.wheel.insert(before, at, event);
        }
        for (at, event) in mail.events.drain(..) {
            self.wheel.insert(before, at, event);
        }
    }

    fn run_until(&mut self, end: Tick, outbox: &mut Vec<Mail>) {
        std::mem::swap(&mut self.outbox, outbox);
        self.run_ticks(end);
        std::mem::swap(&mut self.outbox, outbox);
    }
}

impl Partition {
    fn run_ticks(&mut self, end: Tick) {
        while self.now < end {
            self.wheel.bring_near(self.now);
            let mut cursor = self.wheel.take(self.now);
            while let Some(event) = self.wheel.pop(&mut cursor) {
                self.handle(event);
            }
            // Endpoints look at their credits when all of the tick's have come, or the order would show.
            while let Some(endpoint) = self.senders.pop() {
                self.send(endpoint);
            }
            if !self.active.is_empty() {
                // Whatever is listed from here on is for the next tick.
                std::mem::swap(&mut self.active, &mut self.stepping);
                let stepping = std::mem::take(&mut self.stepping);
                for &router in &stepping {
                    self.listed[router as usize] = false;
                }
                for &router in &stepping {
                    self.step(router);
                }
                self.stepping = stepping;
                self.stepping.clear();
            }
            self.now = match self.active.is_empty() {
                true => self.wheel.next_tick(self.now + 1, end),
                false => self.now + 1,
            };
        }
    }

    /// What has been counted so far.
    pub fn collector(&self) -> &Collector {
        &self.collector
    }

    /// Packets in the network and in injection queues.
    pub fn packets_held(&self) -> u32 {
        self.packets.live()
    }

    /// Bytes of the partition's tables.
    pub fn bytes(&self) -> usize {
        self.first_port.capacity() * 4
            + self.rngs.capacity() * size_of::<Rng>()
            + self.inputs.capacity() * size_of::<Input>()
            + self.queues.capacity() * size_of::<Queue>()
            + self.outputs.capacity() * size_of::<Output>()
            + self.channels.capacity() * size_of::<OutputVc>()
            + self.rings.capacity() * size_of::<(Tick, u32)>()
            + self.endpoints.capacity() * size_of::<Endpoint>()
            + self.ready_ports.capacity() * 8
            + (self.active.capacity() + self.stepping.capacity()) * 4
            + self.listed.capacity()
            + self.senders.capacity() * 4
            + self.packets.bytes()
            + self.wheel.bytes()
            + self.allocator.bytes()
            + self.vc_allocator.as_ref().map_or(0, VcAllocator::bytes)
            + self.collector.bytes()
    }

    #[inline]
    pub(crate) fn file(&mut self, at: Tick, kind: u32, target: u32, data: u32) {
        self.wheel.insert(self.now, at, Event { target: kind << kind::SHIFT | target, data });
    }

    #[inline]
    fn handle(&mut self, event: Event) {
        let target = event.target & kind::MASK;
        match event.target >> kind::SHIFT {
            kind::ARRIVAL => self.arrive(target, event.data),
            kind::CREDIT => self.credit(target, event.data),
            kind::DELIVERY => {
                self.collector.delivered(&self.packets[target], self.now);
                self.packets.remove(target);
            }
            kind::INPUT => {
                if self.inputs[target as usize].ready != 0 {
                    self.activate_port(target);
                }
            }
            kind::OUTPUT => self.wake(target),
            kind::READY => self.make_ready(target),
            kind::SEND => self.senders.push(target),
            _ => self.tail_left(target),
        }
    }

    /// A flit enters `queue`: the head of `packet`, or another flit of the last packet if `packet` is `NONE`.
    pub(crate) fn arrive(&mut self, queue: u32, packet: u32) {
        let now = self.now;
        let q = &mut self.queues[queue as usize];
        q.entry = now;
        if packet == NONE {
            q.arrived += 1;
            if q.first == q.last && q.eligible <= now {
                self.make_ready(queue);
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
        if was_empty && self.queues[queue as usize].sent != TAIL_PENDING {
            self.come_to_front(queue, now);
        }
    }

    /// The first packet of `queue` stands at its front from tick `from` on.
    pub(crate) fn come_to_front(&mut self, queue: u32, from: Tick) {
        let q = &mut self.queues[queue as usize];
        let packet = q.first;
        q.output = NONE;
        q.sent = 0;
        let mut eligible = from + self.config.allocation_delay;
        if self.config.switching == Switching::StoreAndForward {
            let class = self.packets[packet].came_by as usize;
            let (size, entry) = (u32::from(self.packets[packet].size), self.packets[packet].entry);
            let bandwidth = match class {
                0 => self.config.links[0].injection_bandwidth,
                _ => Some(self.config.links[class].bandwidth),
            };
            let transfer = bandwidth.map_or(0, |b| self.config.serialisation(size, b));
            eligible = eligible.max(entry + transfer + self.config.allocation_delay);
        }
        self.queues[queue as usize].eligible = eligible;
        if self.wants.heads {
            let input = &self.inputs[self.queues[queue as usize].port as usize];
            let (router, lane) = (input.router + self.routers.start, (queue - input.queues) as u16);
            let packet = &mut self.packets[packet];
            advance_leg(&*self.topology, router, packet);
            self.routing.head_arrived(&*self.topology, router, input.number, lane, packet);
        }
        if eligible > self.now {
            self.file(eligible, kind::READY, queue, 0);
        } else {
            self.make_ready(queue);
        }
    }

    /// A mechanism that counts heads hears that the first packet has left `queue`, and only then of the next.
    fn tail_left(&mut self, queue: u32) {
        let input = &self.inputs[self.queues[queue as usize].port as usize];
        let (router, lane) = (input.router + self.routers.start, (queue - input.queues) as u16);
        self.routing.tail_left(router, input.number, lane);
        self.queues[queue as usize].sent = 0;
        if self.queues[queue as usize].first != NONE {
            self.come_to_front(queue, self.now);
        }
    }

    /// The front of `queue` may request from now on.
    pub(crate) fn make_ready(&mut self, queue: u32) {
        let port = self.queues[queue as usize].port;
        let input = &mut self.inputs[port as usize];
        input.ready |= bit(queue - input.queues);
        if input.busy > self.now {
            self.wake_input_when_free(port);
        } else {
            self.activate_port(port);
        }
    }

    /// Puts `port` among the ports that its router looks at.
    #[inline]
    pub(crate) fn activate_port(&mut self, port: u32) {
        let input = &self.inputs[port as usize];
        self.ready_ports[input.router as usize] |= bit(input.number.into());
        self.activate(input.router);
    }

    #[inline]
    pub(crate) fn activate(&mut self, router: u32) {
        if !self.listed[router as usize] {
            self.listed[router as usize] = true;
            self.active.push(router);
        }
    }

    /// Files a wake-up of input `port` for the tick at which its path to the crossbar is free.
    pub(crate) fn wake_input_when_free(&mut self, port: u32) {
        let input = &mut self.inputs[port as usize];
        if input.wake != input.busy {
            input.wake = input.busy;
            let at = input.busy;
            self.file(at, kind::INPUT, port, 0);
        }
    }

    /// Credit comes back for `channel`.
    fn credit(&mut self, channel: u32, phits: u32) {
        let vc = &mut self.channels[channel as usize];
        vc.credits += phits as i32;
        let output = vc.output;
        if channel >= self.injection_channels {
            self.senders.push(output);
        } else {
            self.wake(output);
        }
    }

    /// Lets those who wait for `output` try again.
    #[inline]
    pub(crate) fn wake(&mut self, output: u32) {
        let Output { router, waiters, .. } = self.outputs[output as usize];
        if waiters == 0 {
            return;
        }
        self.outputs[output as usize].waiters = 0;
        let (first, next) = (self.first_port[router as usize], self.first_port[router as usize + 1]);
        let inputs = &mut self.inputs[first as usize..next as usize];
        for_each_member(waiters, next - first, |number| {
            let input = &mut inputs[number as usize];
            input.ready |= std::mem::take(&mut input.asleep);
        });
        self.ready_ports[router as usize] |= waiters;
        self.activate(router);
    }
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
