//! One tick of the routers: route the heads that need it, gather requests, allocate, transfer.

use super::config::{General, Kernel};
use super::control::router_view;
use super::events::kind;
use super::partition::Partition;
use super::state::{Input, Output, Queue};
use super::vc_allocation::Waiting;
use super::wait_lists::Waits;
use crate::engine::bits::bit;
use crate::engine::{NONE, Tick};
use crate::fabric::seams::allocator::Request;
use crate::fabric::seams::queueing::Lanes;
use crate::fabric::seams::routing::{Head, RouterView, View, Watched, advance_leg, minimal_hop};
use crate::packet::Packet;
use crate::topology::{Hop, Peer};
use std::ops::Range;

/// What becomes of a queue that was looked at.
enum Look {
    /// It requests.
    Request(Request),
    /// It is looked at again in the next tick.
    Again,
    /// It is not looked at before an event makes it ready.
    Later,
    /// It waits for this output port.
    Sleep(u32),
    /// It waits in the list of that.
    Wait(Waits),
    /// It waits for what its decision depends on.
    Watch,
}

/// Where the head of a queue goes: an output port and a range of its channels, as in [`Queue`].
struct Decision {
    output: u32,
    vc: u16,
    vcs: u16,
}

impl Decision {
    /// What is noted in `queue`.
    #[inline(always)]
    fn of(queue: &Queue) -> Self {
        Self { output: queue.output, vc: queue.vc, vcs: queue.vcs }
    }
}

/// What the routing mechanism sees of a router: a macro, because it borrows single fields of the partition.
macro_rules! view {
    ($self:ident, $router:expr) => {
        View { at: router_view!($self, $router), rng: &mut $self.rngs[$router], watched: &mut $self.watched }
    };
}

impl Partition {
    /// Everything that the routers do in this tick after the arrivals.
    ///
    /// The candidates are looked at in the order of their queues, whatever order they were listed in; queues of one
    /// port and ports of one router follow one another, so that each router's requests form a run.
    #[inline(never)]
    pub(crate) fn step<K: Kernel>(&mut self) {
        if self.settings.wants::<K>().batch {
            self.candidates.list(&mut self.looking);
            self.route_batches();
            self.looking.clear();
        }
        // What is gone through is taken out of the partition while that changes. A look adds no candidate.
        let mut candidates = std::mem::take(&mut self.candidates);
        let mut requests = std::mem::take(&mut self.requests);
        candidates.drain(|queue| match self.look::<K>(queue) {
            Look::Request(request) => requests.push(request),
            Look::Again => self.again.push(queue),
            Look::Later => {}
            Look::Watch => self.watch(queue),
            Look::Wait(what) => {
                if K::LISTS {
                    self.wait(queue, what);
                }
            }
            Look::Sleep(output) => {
                let input = &mut self.inputs[self.queues[queue].port];
                input.asleep |= bit(queue - input.queues);
                self.outputs[output].waiters |= bit(input.number.into());
            }
        });
        self.candidates = candidates;
        if !K::SINGLE && !self.waiting.is_empty() {
            self.allocate_channels();
        }
        if !K::PLAIN && self.settings.managed {
            self.choose(&mut requests);
        }
        let mut grants = std::mem::take(&mut self.grants);
        self.allocator.allocate_all(self.now, &mut self.rngs, &requests, &mut grants);
        let mut left = requests.len();
        for &place in &grants {
            let grant = &mut requests[place as usize];
            if !self.settings.ideal::<K>() || self.still_fits(grant) {
                self.transfer::<K>(grant);
                grant.queue = NONE;
                left -= 1;
            }
        }
        let granted = (requests.len() - left) as u64;
        self.collector.counters.work.flit_hops += granted;
        if K::SINGLE {
            self.collector.counters.work.packet_hops += granted;
        }
        if left > 0 {
            // The losers try again.
            for &Request { port, queue, .. } in requests.iter().filter(|request| request.queue != NONE) {
                self.offer::<K>(port, queue);
            }
        }
        grants.clear();
        requests.clear();
        (self.grants, self.requests) = (grants, requests);
        while let Some(queue) = self.again.pop() {
            self.offer::<K>(self.queues[queue].port, queue);
        }
    }

    /// Looks at the front of one queue.
    #[inline(always)]
    fn look<K: Kernel>(&mut self, queue: u32) -> Look {
        let now = self.now;
        let q = &self.queues[queue];
        if q.first == NONE || q.eligible > now {
            return Look::Later;
        }
        let port = q.port;
        let &Input { queues, busy, router, number, class, .. } = &self.inputs[port];
        if !K::PLAIN && self.settings.managed && self.held[queue] {
            return Look::Later;
        }
        if busy > now {
            return Look::Again;
        }
        let lane = queue - queues;
        let redecides = self.settings.wants::<K>().redecide && (K::SINGLE || q.sent == 0 && q.vcs != 0);
        let watch = if redecides && !self.settings.every_cycle { Look::Watch } else { Look::Again };
        let undecided = q.output == NONE || redecides;
        let decided = if undecided && !self.settings.wants::<K>().batch {
            self.route::<K>(router, number, port, queue, lane)
        } else {
            Some(Decision::of(q)).filter(|decision| decision.output != NONE)
        };
        let Some(Decision { output: index, vc, vcs }) = decided else { return watch };
        let q = &self.queues[queue];
        let &Packet { flits, size, birth, .. } = &self.packets[q.first];
        let size = match K::SINGLE || flits == 1 {
            true => size.into(),
            false => {
                let available = if q.first == q.last { q.arrived } else { flits };
                if q.sent >= available {
                    return Look::Later;
                }
                self.config.flit_phits(size, q.sent)
            }
        };
        let output = &self.outputs[index];
        // An ejection depends on nothing but its output.
        let sleep = match K::LISTS {
            true => Look::Wait(Waits::Output(index)),
            false if redecides && output.class != 0 => watch,
            false => Look::Sleep(index),
        };

        let granted = match vcs {
            0 if !K::SINGLE => Some(vc).filter(|vc| self.channels[output.vc + u32::from(*vc)].credits >= size as i32),
            _ if !K::SINGLE && self.vc_allocator.is_some() => {
                return if self.ask_for_channel(router, number.into(), queue, lane) { Look::Again } else { sleep };
            }
            1 => Some(vc).filter(|vc| self.fits::<K>(output.vc, *vc, size)),
            // The channel with most credits, the first of equals.
            _ => {
                let credits = |vc: u16| self.channels[output.vc + u32::from(vc)].credits;
                (vc..vc + vcs)
                    .filter(|vc| self.fits::<K>(output.vc, *vc, size))
                    .reduce(|a, b| if credits(b) > credits(a) { b } else { a })
            }
        };
        let Some(vc) = granted else {
            return if K::LISTS && vcs == 1 { Look::Wait(Waits::Channel(output.vc + u32::from(vc))) } else { sleep };
        };
        if output.busy > now {
            // A port that is free in the next tick is simply asked again.
            if output.busy == now + 1 {
                return Look::Again;
            }
            self.wake_output_at(index, output.busy);
            return if K::LISTS { Look::Wait(Waits::Crossbar(port, index - self.first_port[router])) } else { sleep };
        }
        // Flits that have left the buffer are counted out when their room is wanted.
        let capacity = self.settings.output_buffer;
        if output.held + size > capacity {
            if let Some(oldest) = self.expire(index, size, capacity) {
                self.wake_output_at(index, oldest + 1);
                return sleep;
            }
        }
        Look::Request(Request {
            queue,
            port,
            output: index,
            router,
            birth,
            input: number,
            lane: lane as u16,
            vc,
            size: size as u16,
            class: u8::from(self.settings.transit_priority && class == 0),
        })
    }

    /// True if virtual channel `vc` of the output whose first is `first` takes a head of `size` phits.
    #[inline(always)]
    fn fits<K: Kernel>(&self, first: u32, vc: u16, size: u32) -> bool {
        let channel = first + u32::from(vc);
        self.channels[channel].credits >= size as i32 && (K::SINGLE || self.owners[channel] == NONE)
    }

    /// Asks the routing mechanism about the head of `queue` and notes the answer.
    #[inline(always)]
    fn route<K: Kernel>(&mut self, router: u32, number: u16, port: u32, queue: u32, lane: u32) -> Option<Decision> {
        let packet = self.queues[queue].first;
        if self.settings.wants::<K>().redecide {
            self.watched.clear();
        }
        let hop = if let Some(hop) = self.ejection::<K>(router, packet) {
            hop
        } else if self.settings.wants.settled {
            let (at, vcs) = (self.routers.number(router), &self.config.buffers.vcs);
            minimal_hop(&*self.topology, at, &self.packets[packet], vcs, &mut self.rngs[router])
        } else {
            let mut view = view!(self, router);
            let Some(hop) = self.routing.route(&mut view, number, lane as u16, &mut self.packets[packet]) else {
                self.queues[queue].output = NONE;
                return None;
            };
            hop
        };
        Some(self.decide::<K>(router, port - u32::from(number), queue, hop))
    }

    /// True if the earlier grants of this tick have left room for `grant`, and its channel to it.
    #[cold]
    #[inline(never)]
    fn still_fits(&mut self, grant: &Request) -> bool {
        let output = &self.outputs[grant.output];
        let channel = output.vc + u32::from(grant.vc);
        let size = u32::from(grant.size);
        self.channels[channel].credits >= size as i32
            && (self.owner(channel) == NONE || self.queues[grant.queue].vcs == 0)
            && self.expire(grant.output, size, self.settings.output_buffer).is_none()
    }

    /// Notes `hop` as the decision for the head of `queue`; `first` is the router's first port.
    #[inline(always)]
    fn decide<K: Kernel>(&mut self, router: u32, first: u32, queue: u32, hop: Hop) -> Decision {
        let output = first + u32::from(hop.port);
        let lanes =
            if K::PLAIN || self.settings.transparent { Lanes::from(hop) } else { self.select(router, queue, hop) };
        // The tables are not checked from here on: a mechanism that names what does not exist must be stopped here.
        let channels = u32::from(lanes.first) + u32::from(lanes.count);
        let leads = |output: &Output| output.router == router && channels <= u32::from(output.vcs);
        let there = lanes.count > 0 && self.outputs.get(output as usize).is_some_and(leads);
        assert!(there, "the routing mechanism chose {hop:?}, which router {router} does not have");
        let q = &mut self.queues[queue];
        (q.output, q.vc, q.vcs) = (output, lanes.first, lanes.count);
        Decision::of(q)
    }

    /// The queues of the next input port for the head of `queue`, by the queue organisation's rule.
    #[inline(never)]
    fn select(&self, router: u32, queue: u32, hop: Hop) -> Lanes {
        match self.topology.port(self.routers.number(router), hop.port).peer {
            Peer::Router { router: next, .. } => {
                let packet = &self.packets[self.queues[queue].first];
                self.queueing.select(&*self.topology, next, packet, hop)
            }
            Peer::Endpoint(_) | Peer::None => hop.into(),
        }
    }

    /// The ejection hop of `packet` if it has reached its destination's router.
    #[inline(always)]
    fn ejection<K: Kernel>(&mut self, router: u32, packet: u32) -> Option<Hop> {
        let router = self.routers.number(router);
        let packet = &mut self.packets[packet];
        if !self.settings.wants::<K>().heads {
            advance_leg(&*self.topology, router, packet);
        }
        if packet.destination_router != router || packet.intermediate != NONE {
            return None;
        }
        Some(Hop { port: packet.ejection_port, vc: 0, vcs: self.settings.ejection_vcs })
    }

    /// Lets a mechanism that decides for a whole router do so, router by router.
    #[inline(never)]
    fn route_batches(&mut self) {
        let mut start = 0;
        while start < self.looking.len() {
            let router_of = |queue: u32| self.inputs[self.queues[queue].port].router;
            let router = router_of(self.looking[start]);
            let run = self.looking[start..].iter().take_while(|queue| router_of(**queue) == router).count();
            self.route_batch(router, start..start + run);
            start += run;
        }
    }

    /// Lets the mechanism decide for the undecided heads of `router` among the queues being looked at.
    fn route_batch(&mut self, router: u32, run: Range<usize>) {
        let first = self.first_port[router];
        self.heads.clear();
        for place in run {
            let queue = self.looking[place];
            let q = self.queues[queue];
            let &Input { busy, queues, number, .. } = &self.inputs[q.port];
            let undecided = q.output == NONE || (self.settings.wants.redecide && q.sent == 0 && q.vcs != 0);
            if q.first == NONE || q.eligible > self.now || busy > self.now || !undecided {
                continue;
            }
            match self.ejection::<General>(router, q.first) {
                Some(hop) => {
                    self.decide::<General>(router, first, queue, hop);
                }
                None => {
                    let lane = (queue - queues) as u16;
                    self.heads.push(Head { port: number, queue: lane, packet: q.first, hop: None });
                }
            }
        }
        if self.heads.is_empty() {
            return;
        }
        let mut view = view!(self, router);
        self.routing.route_all(&mut view, &mut self.heads, &mut self.packets);
        let heads = std::mem::take(&mut self.heads);
        for head in &heads {
            let queue = self.inputs[first + u32::from(head.port)].queues + u32::from(head.queue);
            match head.hop {
                Some(hop) => {
                    self.decide::<General>(router, first, queue, hop);
                }
                None => self.queues[queue].output = NONE,
            }
        }
        self.heads = heads;
    }

    /// Lists the head of `queue` for VC allocation; false if none of its channels is free.
    #[inline(never)]
    fn ask_for_channel(&mut self, router: u32, port: u32, queue: u32, lane: u32) -> bool {
        let q = self.queues[queue];
        let first = self.outputs[q.output].vc + u32::from(q.vc);
        let free =
            (0..q.vcs).filter(|vc| self.owners[first + u32::from(*vc)] == NONE).fold(0u64, |free, vc| free | 1 << vc);
        if free == 0 {
            return false;
        }
        let number = port * self.widest + lane;
        self.waiting.push(Waiting { queue, router, number, first, count: q.vcs as u8, free });
        true
    }

    /// The VC allocation stage of all routers: winners hold their channel and request the crossbar from the next tick
    /// on.
    #[inline(never)]
    fn allocate_channels(&mut self) {
        let Some(allocator) = &mut self.vc_allocator else { return };
        let (queues, owners, outputs) = (&mut self.queues, &mut self.owners, &self.outputs);
        for waiting in self.waiting.chunk_by(|a, b| a.router == b.router) {
            let first_channel = outputs[self.first_port[waiting[0].router]].vc;
            allocator.allocate(first_channel, waiting, |head, channel| {
                let q = &mut queues[head.queue];
                q.vc = (channel - outputs[q.output].vc) as u16;
                q.vcs = 0;
                owners[channel] = head.queue;
            });
        }
        self.waiting.clear();
    }

    /// Lets `queue` wait until the output chosen for it changes, or one of those that its mechanism watches.
    #[cold]
    #[inline(never)]
    fn watch(&mut self, queue: u32) {
        let &Queue { port, output, first: packet, .. } = &self.queues[queue];
        let input = &mut self.inputs[port];
        let (router, number) = (input.router, input.number);
        input.asleep |= bit(queue - input.queues);
        let size = u32::from(self.packets[packet].size).min(self.config.buffers.flit_size);
        let (first, end) = (self.first_port[router], self.first_port[router + 1]);
        // That time alone wakes those who wait for the chosen output has been seen to when it was looked at.
        if output != NONE {
            self.outputs[output].waiters |= bit(number.into());
        }
        if self.watched.is_empty() {
            (first..end).for_each(|output| self.watch_output(output, number, size));
        }
        for index in 0..self.watched.len() {
            let Watched { ports, time } = self.watched[index].clone();
            for output in first + u32::from(ports.start)..(first + u32::from(ports.end)).min(end) {
                match time {
                    true => self.watch_output(output, number, size),
                    false => self.outputs[output].waiters |= bit(number.into()),
                }
            }
        }
    }

    /// Puts the input port `number` among those who wait for `output`, and sees to it that time alone wakes them.
    fn watch_output(&mut self, output: u32, number: u16, size: u32) {
        self.outputs[output].waiters |= bit(number.into());
        let busy = self.outputs[output].busy;
        if busy > self.now {
            self.wake_output_at(output, busy);
        } else if let Some(capacity) = self.config.buffers.output_buffer {
            if let Some(oldest) = self.expire(output, size, capacity) {
                self.wake_output_at(output, oldest + 1);
            }
        }
    }

    /// Files a wake-up of those who wait for `output`.
    #[inline(never)]
    pub(crate) fn wake_output_at(&mut self, output: u32, at: u32) {
        let o = &mut self.outputs[output];
        if o.wake <= self.now || o.wake > at {
            o.wake = at;
            self.file(at, kind::OUTPUT, output, 0);
        }
    }

    /// Frees the output buffer's room of flits that started on the link before this tick. If there is still no room for
    /// `size` phits, returns the tick at which the oldest flit starts.
    #[inline(always)]
    fn expire(&mut self, output: u32, size: u32, capacity: u32) -> Option<Tick> {
        let o = &mut self.outputs[output];
        let base = output * self.ring;
        let (mut held, mut first, mut count) = (o.held, o.ring_first, o.ring_count);
        let mut oldest = None;
        while count > 0 {
            let place = base + u32::from(first);
            let start = self.rings[place];
            if start >= self.now {
                oldest = (held + size > capacity).then_some(start);
                break;
            }
            held -= u32::from(self.ring_phits[place]);
            count -= 1;
            first = if u32::from(first) + 1 == self.ring { 0 } else { first + 1 };
        }
        (o.held, o.ring_first, o.ring_count) = (held, first, count);
        oldest
    }
}
