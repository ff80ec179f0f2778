//! One tick of one router: route the heads that need it, gather requests, allocate, transfer.

use super::allocator::{Request, Round};
use super::bits::{bit, for_each_member};
use super::packet::Packet;
use super::partition::{Partition, advance_leg, kind};
use super::state::Input;
use super::vc_allocation::Waiting;
use crate::engine::{NONE, Tick};
use crate::queueing::Lanes;
use crate::routing::{Head, View};
use crate::topology::{Hop, Peer};

/// What becomes of a queue that was looked at.
enum Look {
    /// It requests.
    Request,
    /// It is looked at again in the next tick.
    Again,
    /// It is not looked at before an event makes it ready.
    Later,
    /// It waits for this output port.
    Sleep(u32),
}

/// What the routing mechanism sees of a router: a macro, because it borrows single fields of the partition.
macro_rules! view {
    ($self:ident, $router:expr) => {{
        View {
            topology: &*$self.topology,
            router: $router + $self.routers.start,
            now: $self.now,
            vcs: &$self.config.vcs,
            capacity: &$self.config.capacity,
            rng: &mut $self.rngs[$router],
            first_port: $self.first_port[$router],
            outputs: &$self.outputs,
            channels: &$self.channels,
        }
    }};
}

impl Partition {
    /// Everything that `router` does in this tick after the arrivals.
    pub(crate) fn step<const SINGLE: bool>(&mut self, router: u32) {
        self.requests.clear();
        self.waiting.clear();
        if self.settings.wants.batch {
            self.route_batch(router);
        }
        let ports = self.first_port[router + 1] - self.first_port[router];
        let ready = std::mem::take(&mut self.ready_ports[router]);
        for_each_member(ready, ports, |number| self.gather::<SINGLE>(router, number));
        if !SINGLE && !self.waiting.is_empty() {
            self.allocate_channels(router);
        }
        if !self.requests.is_empty() {
            let round = Round { first_port: self.first_port[router], now: self.now, rng: &mut self.rngs[router] };
            if let [request] = self.requests[..] {
                self.allocator.grant_alone(round, &request);
                self.transfer::<SINGLE>(&request);
            } else {
                self.grants.clear();
                self.allocator.allocate(round, &self.requests, &mut self.grants);
                for index in 0..self.grants.len() {
                    let grant = self.requests[self.grants[index] as usize];
                    // Only the ideal allocator lets several flits take the same room in one tick.
                    if !self.settings.ideal || self.still_fits(&grant) {
                        self.transfer::<SINGLE>(&grant);
                    }
                }
            }
        }
        if self.ready_ports[router] != 0 {
            self.activate(router);
        }
    }

    /// Collects the requests of one input port; it stays among the router's ready ports if it is to be looked at in the
    /// next tick.
    #[inline]
    fn gather<const SINGLE: bool>(&mut self, router: u32, number: u32) {
        let port = self.first_port[router] + number;
        let &Input { ready, queues, count, busy, class, .. } = &self.inputs[port];
        if ready == 0 {
            return;
        }
        if busy > self.now {
            self.wake_input_when_free(port);
            return;
        }
        let injected = u8::from(self.config.transit_priority && class == 0);
        let (mut again, mut asleep) = (0, 0);
        for_each_member(ready, count.into(), |lane| {
            match self.look::<SINGLE>(router, number, queues + lane, lane, injected) {
                Look::Request => again |= bit(lane),
                Look::Again => again |= bit(lane),
                Look::Later => {}
                Look::Sleep(output) => {
                    asleep |= bit(lane);
                    self.outputs[output].waiters |= bit(number);
                }
            }
        });
        let input = &mut self.inputs[port];
        input.ready = again;
        input.asleep |= asleep;
        if again != 0 {
            self.ready_ports[router] |= bit(number);
        }
    }

    /// Looks at the front of one queue.
    #[inline]
    fn look<const SINGLE: bool>(&mut self, router: u32, number: u32, queue: u32, lane: u32, class: u8) -> Look {
        let now = self.now;
        let q = &self.queues[queue];
        if q.first == NONE || q.eligible > now {
            return Look::Later;
        }
        let redecides = self.settings.wants.redecide && (SINGLE || q.sent == 0 && q.vcs != 0);
        if q.output == NONE || redecides {
            if !self.settings.wants.batch {
                self.route(router, number, queue, lane);
            }
            if self.queues[queue].output == NONE {
                return Look::Again;
            }
        }
        let q = &self.queues[queue];
        let &Packet { flits, size, birth, .. } = &self.packets[q.first];
        let (size, wormhole) = match SINGLE || flits == 1 {
            true => (size.into(), false),
            false => {
                let available = if q.first == q.last { q.arrived } else { flits };
                if q.sent >= available {
                    return Look::Later;
                }
                (self.config.flit_phits(size, q.sent), true)
            }
        };
        let sleep = if redecides { Look::Again } else { Look::Sleep(q.output) };
        let output = &self.outputs[q.output];

        let vc = match q.vcs {
            0 if !SINGLE => Some(q.vc).filter(|vc| self.channels[output.vc + u32::from(*vc)].credits >= size as i32),
            _ if !SINGLE && self.vc_allocator.is_some() => {
                return if self.ask_for_channel(queue, number, lane) { Look::Again } else { sleep };
            }
            1 => Some(q.vc).filter(|vc| self.fits(output.vc, *vc, size, wormhole)),
            // The channel with most credits, the first of equals.
            _ => {
                let credits = |vc: u16| self.channels[output.vc + u32::from(vc)].credits;
                (q.vc..q.vc + q.vcs)
                    .filter(|vc| self.fits(output.vc, *vc, size, wormhole))
                    .reduce(|a, b| if credits(b) > credits(a) { b } else { a })
            }
        };
        let Some(vc) = vc else { return sleep };

        let index = q.output;
        if output.busy > now {
            // A port that is free in the next tick is simply asked again.
            if output.busy == now + 1 {
                return Look::Again;
            }
            self.wake_output_at(index, output.busy);
            return sleep;
        }
        if let Some(capacity) = self.config.output_buffer {
            if let Some(oldest) = self.expire(index, size, capacity) {
                self.wake_output_at(index, oldest + 1);
                return sleep;
            }
        }
        self.requests.push(Request {
            queue,
            output: index,
            input: number as u16,
            lane: lane as u16,
            vc,
            class,
            size: size as u16,
            birth,
        });
        Look::Request
    }

    /// True if virtual channel `vc` of the output whose first is `first` takes a head of `size` phits.
    #[inline]
    fn fits(&self, first: u32, vc: u16, size: u32, wormhole: bool) -> bool {
        let channel = &self.channels[first + u32::from(vc)];
        channel.credits >= size as i32 && !(wormhole && channel.owner != NONE)
    }

    /// Asks the routing mechanism about the head of `queue` and notes the answer.
    #[inline]
    fn route(&mut self, router: u32, number: u32, queue: u32, lane: u32) {
        let packet = self.queues[queue].first;
        let Some(hop) = self.ejection(router, packet).or_else(|| {
            let mut view = view!(self, router);
            self.routing.route(&mut view, number as u16, lane as u16, &mut self.packets[packet])
        }) else {
            self.queues[queue].output = NONE;
            return;
        };
        self.decide(router, queue, hop);
    }

    /// True if the channel and the output buffer still have room after the grants before this one.
    #[cold]
    #[inline(never)]
    fn still_fits(&mut self, grant: &Request) -> bool {
        let (size, first) = (u32::from(grant.size), self.outputs[grant.output].vc);
        let wormhole = self.packets[self.queues[grant.queue].first].flits > 1;
        let held = self.queues[grant.queue].vcs == 0;
        self.fits(first, grant.vc, size, wormhole && !held)
            && self.config.output_buffer.is_none_or(|most| self.expire(grant.output, size, most).is_none())
    }

    /// Notes `hop` as the decision for the head of `queue`.
    #[inline]
    fn decide(&mut self, router: u32, queue: u32, hop: Hop) {
        let output = self.first_port[router] + u32::from(hop.port);
        let lanes = if self.settings.transparent { Lanes::from(hop) } else { self.select(router, queue, hop) };
        let q = &mut self.queues[queue];
        q.output = output;
        q.vc = lanes.first;
        q.vcs = lanes.count;
    }

    /// The queues of the next input port for the head of `queue`, by the queue organisation's rule.
    #[inline(never)]
    fn select(&self, router: u32, queue: u32, hop: Hop) -> Lanes {
        match self.topology.port(router + self.routers.start, hop.port).peer {
            Peer::Router { router: next, .. } => {
                let packet = &self.packets[self.queues[queue].first];
                self.queueing.select(&*self.topology, next, packet, hop)
            }
            Peer::Endpoint(_) | Peer::None => hop.into(),
        }
    }

    /// The ejection hop of `packet` if it has reached its destination's router.
    #[inline]
    fn ejection(&mut self, router: u32, packet: u32) -> Option<Hop> {
        let router = router + self.routers.start;
        let packet = &mut self.packets[packet];
        if !self.settings.wants.heads {
            advance_leg(&*self.topology, router, packet);
        }
        if packet.destination_router != router || packet.intermediate != NONE {
            return None;
        }
        Some(Hop { port: packet.ejection_port, vc: 0, vcs: self.config.vcs[0] })
    }

    /// Lets a mechanism that decides for a whole router do so.
    #[inline(never)]
    fn route_batch(&mut self, router: u32) {
        let first = self.first_port[router];
        self.heads.clear();
        let ports = self.first_port[router + 1] - first;
        for_each_member(self.ready_ports[router], ports, |number| {
            let input = self.inputs[first + number];
            if input.busy > self.now {
                return;
            }
            for_each_member(input.ready, input.count.into(), |lane| {
                let q = self.queues[input.queues + lane];
                let undecided = q.output == NONE || (self.settings.wants.redecide && q.sent == 0 && q.vcs != 0);
                if q.first == NONE || q.eligible > self.now || !undecided {
                    return;
                }
                match self.ejection(router, q.first) {
                    Some(hop) => self.decide(router, input.queues + lane, hop),
                    None => {
                        let (port, queue) = (number as u16, lane as u16);
                        self.heads.push(Head { port, queue, packet: q.first, hop: None });
                    }
                }
            });
        });
        if self.heads.is_empty() {
            return;
        }
        let mut view = view!(self, router);
        self.routing.route_all(&mut view, &mut self.heads, &mut self.packets);
        let heads = std::mem::take(&mut self.heads);
        for head in &heads {
            let queue = self.inputs[first + u32::from(head.port)].queues + u32::from(head.queue);
            match head.hop {
                Some(hop) => self.decide(router, queue, hop),
                None => self.queues[queue].output = NONE,
            }
        }
        self.heads = heads;
    }

    /// Lists the head of `queue` for VC allocation; false if none of its channels is free.
    #[inline(never)]
    fn ask_for_channel(&mut self, queue: u32, number: u32, lane: u32) -> bool {
        let q = self.queues[queue];
        let first = self.outputs[q.output].vc + u32::from(q.vc);
        let free = (0..q.vcs)
            .filter(|vc| self.channels[first + u32::from(*vc)].owner == NONE)
            .fold(0u64, |free, vc| free | 1 << vc);
        if free == 0 {
            return false;
        }
        let number = number * self.widest + lane;
        self.waiting.push(Waiting { queue, number, first, count: q.vcs as u8, free });
        true
    }

    /// The VC allocation stage of `router`: winners hold their channel and request the crossbar from the next tick on.
    #[inline(never)]
    fn allocate_channels(&mut self, router: u32) {
        let first_channel = self.outputs[self.first_port[router]].vc;
        let Some(allocator) = &mut self.vc_allocator else { return };
        let (queues, channels, outputs) = (&mut self.queues, &mut self.channels, &self.outputs);
        allocator.allocate(first_channel, &self.waiting, |head, channel| {
            let q = &mut queues[head.queue];
            q.vc = (channel - outputs[q.output].vc) as u16;
            q.vcs = 0;
            channels[channel].owner = head.queue;
        });
    }

    /// Files a wake-up of those who wait for `output`.
    #[inline(never)]
    fn wake_output_at(&mut self, output: u32, at: u32) {
        let o = &mut self.outputs[output];
        if o.wake <= self.now || o.wake > at {
            o.wake = at;
            self.file(at, kind::OUTPUT, output, 0);
        }
    }

    /// Frees the output buffer's room of flits that started on the link before this tick. If there is still no room for
    /// `size` phits, returns the tick at which the oldest flit starts.
    #[inline]
    fn expire(&mut self, output: u32, size: u32, capacity: u32) -> Option<Tick> {
        let o = &mut self.outputs[output];
        let base = output * self.ring;
        while o.ring_count > 0 {
            let (start, phits) = self.rings[base + u32::from(o.ring_first)];
            if start >= self.now {
                return (o.held + size > capacity).then_some(start);
            }
            o.held -= phits;
            o.ring_count -= 1;
            o.ring_first = if u32::from(o.ring_first) + 1 == self.ring { 0 } else { o.ring_first + 1 };
        }
        None
    }
}
