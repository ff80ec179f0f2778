//! One tick of one router: route the heads that need it, gather requests, allocate, transfer.

use super::allocator::{Request, Round};
use super::bits::{bit, for_each_member};
use super::partition::{Partition, TAIL_PENDING, advance_leg, kind};
use super::vc_allocation::Waiting;
use crate::engine::NONE;
use crate::queueing::Lanes;
use crate::routing::{Head, View};
use crate::topology::Hop;

/// What becomes of a queue that was looked at.
enum Look {
    /// It requests.
    Request(Request),
    /// It is looked at again in the next tick.
    Again,
    /// It is not looked at before an event makes it ready.
    Later,
    /// It waits for its output port.
    Sleep,
}

impl Partition {
    /// Everything that `router` does in this tick after the arrivals.
    pub(crate) fn step(&mut self, router: u32) {
        self.requests.clear();
        self.waiting.clear();
        if self.wants.batch {
            self.route_batch(router);
        }
        let ports = self.first_port[router as usize + 1] - self.first_port[router as usize];
        let ready = std::mem::take(&mut self.ready_ports[router as usize]);
        for_each_member(ready, ports, |number| self.gather(router, number));
        if !self.waiting.is_empty() {
            self.allocate_channels(router);
        }
        if !self.requests.is_empty() {
            let first_port = self.first_port[router as usize];
            let round = Round {
                first_port,
                ports: self.first_port[router as usize + 1] - first_port,
                rng: &mut self.rngs[router as usize],
            };
            let mut grants = std::mem::take(&mut self.grants);
            self.allocator.allocate(round, &self.requests, &mut grants);
            if self.allocator.ideal() {
                // Everybody wins, but room for one is not room for all: in turn, as far as it goes.
                let turn = self.now as usize % grants.len();
                grants.rotate_left(turn);
                for grant in grants.drain(..) {
                    if self.still_fits(&grant) {
                        self.transfer(grant);
                    }
                }
            }
            for grant in grants.drain(..) {
                self.transfer(grant);
            }
            self.grants = grants;
        }
        if self.ready_ports[router as usize] != 0 {
            self.activate(router);
        }
    }

    /// True if the earlier grants of this tick have left room for `grant`, and its channel to it.
    fn still_fits(&self, grant: &Request) -> bool {
        let q = &self.queues[grant.queue as usize];
        let output = &self.outputs[grant.output as usize];
        let channel = &self.channels[(output.vc + u32::from(grant.vc)) as usize];
        let size = u32::from(grant.size);
        channel.credits >= size as i32
            && (channel.owner == NONE || q.vcs == 0)
            && self.config.output_buffer.is_none_or(|capacity| output.held + size <= capacity)
    }

    /// Collects the requests of one input port; it stays among the router's ready ports if it is to be looked at in the
    /// next tick.
    #[inline]
    fn gather(&mut self, router: u32, number: u32) {
        let port = self.first_port[router as usize] + number;
        let input = self.inputs[port as usize];
        if input.ready == 0 {
            return;
        }
        if input.busy > self.now {
            self.wake_input_when_free(port);
            return;
        }
        let (mut again, mut asleep) = (0, 0);
        for_each_member(input.ready, input.count.into(), |lane| {
            let queue = input.queues + lane;
            match self.look(router, number, queue, lane) {
                Look::Request(request) => {
                    self.requests.push(request);
                    again |= bit(lane);
                }
                Look::Again => again |= bit(lane),
                Look::Later => {}
                Look::Sleep => {
                    asleep |= bit(lane);
                    let output = self.queues[queue as usize].output;
                    self.outputs[output as usize].waiters |= bit(number);
                }
            }
        });
        let input = &mut self.inputs[port as usize];
        input.ready = again;
        input.asleep |= asleep;
        if again != 0 {
            self.ready_ports[router as usize] |= bit(number);
        }
    }

    /// Looks at the front of one queue.
    #[inline]
    fn look(&mut self, router: u32, number: u32, queue: u32, lane: u32) -> Look {
        let now = self.now;
        let q = self.queues[queue as usize];
        if q.first == NONE || q.eligible > now || q.sent == TAIL_PENDING {
            return Look::Later;
        }
        let head = q.sent == 0;
        if q.output == NONE || (self.wants.redecide && head && q.vcs != 0) {
            self.route(router, number, queue, lane);
        }
        let q = self.queues[queue as usize];
        if q.output == NONE {
            return Look::Again;
        }
        let packet = &self.packets[q.first];
        let available = if q.first == q.last { q.arrived } else { packet.flits };
        if q.sent >= available {
            return Look::Later;
        }
        let size = self.config.flit_phits(packet.size, q.sent);
        let birth = packet.birth;
        let sleep = if self.wants.redecide && head { Look::Again } else { Look::Sleep };
        let output = self.outputs[q.output as usize];

        let vc = if q.vcs == 0 {
            if self.channels[(output.vc + u32::from(q.vc)) as usize].credits < size as i32 {
                return sleep;
            }
            q.vc
        } else if self.vc_allocator.is_some() {
            return match self.ask_for_channel(queue, number, lane) {
                true => Look::Again,
                false => sleep,
            };
        } else {
            let fits = |vc: &u16| {
                let channel = &self.channels[(output.vc + u32::from(*vc)) as usize];
                channel.credits >= size as i32 && channel.owner == NONE
            };
            // The channel with most credits, the first of equals.
            let credits = |vc: &u16| self.channels[(output.vc + u32::from(*vc)) as usize].credits;
            let best = match q.vcs {
                1 => Some(q.vc).filter(fits),
                _ => (q.vc..q.vc + q.vcs).filter(fits).reduce(|a, b| if credits(&b) > credits(&a) { b } else { a }),
            };
            match best {
                Some(vc) => vc,
                None => return sleep,
            }
        };

        if output.busy > now {
            // A port that is free in the next tick is simply asked again.
            if output.busy == now + 1 {
                return Look::Again;
            }
            self.wake_output_at(q.output, output.busy);
            return sleep;
        }
        if let Some(capacity) = self.config.output_buffer {
            self.expire(q.output);
            let output = &self.outputs[q.output as usize];
            if output.held + size > capacity {
                let oldest = self.rings[(q.output * self.ring + u32::from(output.ring_first)) as usize].0;
                self.wake_output_at(q.output, oldest + 1);
                return sleep;
            }
        }
        Look::Request(Request {
            queue,
            output: q.output,
            input: number as u16,
            lane: lane as u16,
            vc,
            class: u8::from(self.config.transit_priority && self.inputs[q.port as usize].injects),
            size: size as u16,
            birth,
        })
    }

    /// Asks the routing mechanism about the head of `queue` and notes the answer.
    #[inline]
    fn route(&mut self, router: u32, number: u32, queue: u32, lane: u32) {
        let packet = self.queues[queue as usize].first;
        let Some(hop) = self.ejection(router, packet).or_else(|| {
            let first = self.first_port[router as usize] as usize;
            let mut view = View {
                topology: &*self.topology,
                router: router + self.routers.start,
                now: self.now,
                vcs: &self.config.vcs,
                capacity: &self.config.capacity,
                rng: &mut self.rngs[router as usize],
                outputs: &self.outputs[first..self.first_port[router as usize + 1] as usize],
                channels: &self.channels[self.outputs[first].vc as usize..],
            };
            self.routing.route(&mut view, number as u16, lane as u16, &mut self.packets[packet])
        }) else {
            self.queues[queue as usize].output = NONE;
            return;
        };
        self.decide(router, queue, hop);
    }

    /// Notes `hop` as the decision for the head of `queue`.
    #[inline]
    fn decide(&mut self, router: u32, queue: u32, hop: Hop) {
        let output = self.first_port[router as usize] + u32::from(hop.port);
        let lanes = if self.queueing.transparent() || self.outputs[output as usize].class == 0 {
            Lanes::from(hop)
        } else {
            let port = self.topology.port(router + self.routers.start, hop.port);
            match port.peer {
                crate::topology::Peer::Router { router: next, .. } => {
                    let packet = &self.packets[self.queues[queue as usize].first];
                    self.queueing.select(&*self.topology, next, packet, hop)
                }
                _ => Lanes::from(hop),
            }
        };
        let q = &mut self.queues[queue as usize];
        q.output = output;
        q.vc = lanes.first;
        q.vcs = lanes.count;
    }

    /// The ejection hop of `packet` if it has reached its destination's router.
    #[inline]
    fn ejection(&mut self, router: u32, packet: u32) -> Option<Hop> {
        let router = router + self.routers.start;
        let packet = &mut self.packets[packet];
        if !self.wants.heads {
            advance_leg(&*self.topology, router, packet);
        }
        if packet.destination_router != router || packet.intermediate != NONE {
            return None;
        }
        let (_, port) = self.topology.attachment(packet.destination);
        Some(Hop { port, vc: 0, vcs: self.config.vcs[0] })
    }

    /// Lets a mechanism that decides for a whole router do so.
    fn route_batch(&mut self, router: u32) {
        let first = self.first_port[router as usize];
        self.heads.clear();
        let ports = self.first_port[router as usize + 1] - first;
        for_each_member(self.ready_ports[router as usize], ports, |number| {
            let input = self.inputs[(first + number) as usize];
            if input.busy > self.now {
                return;
            }
            for_each_member(input.ready, input.count.into(), |lane| {
                let q = self.queues[(input.queues + lane) as usize];
                let undecided = q.output == NONE || (self.wants.redecide && q.sent == 0 && q.vcs != 0);
                if q.first == NONE || q.eligible > self.now || q.sent == TAIL_PENDING || !undecided {
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
        let mut view = View {
            topology: &*self.topology,
            router: router + self.routers.start,
            now: self.now,
            vcs: &self.config.vcs,
            capacity: &self.config.capacity,
            rng: &mut self.rngs[router as usize],
            outputs: &self.outputs[first as usize..self.first_port[router as usize + 1] as usize],
            channels: &self.channels[self.outputs[first as usize].vc as usize..],
        };
        self.routing.route_all(&mut view, &mut self.heads, &mut self.packets);
        let heads = std::mem::take(&mut self.heads);
        for head in &heads {
            let queue = self.inputs[(first + u32::from(head.port)) as usize].queues + u32::from(head.queue);
            match head.hop {
                Some(hop) => self.decide(router, queue, hop),
                None => self.queues[queue as usize].output = NONE,
            }
        }
        self.heads = heads;
    }

    /// Lists the head of `queue` for VC allocation; false if none of its channels is free.
    fn ask_for_channel(&mut self, queue: u32, number: u32, lane: u32) -> bool {
        let q = self.queues[queue as usize];
        let first = self.outputs[q.output as usize].vc + u32::from(q.vc);
        let free = (0..q.vcs)
            .filter(|vc| self.channels[(first + u32::from(*vc)) as usize].owner == NONE)
            .fold(0u64, |free, vc| free | 1 << vc);
        if free == 0 {
            return false;
        }
        let number = number * self.widest + lane;
        self.waiting.push(Waiting { queue, number, first, count: q.vcs as u8, free });
        true
    }

    /// The VC allocation stage of `router`: winners hold their channel and request the crossbar from the next tick on.
    fn allocate_channels(&mut self, router: u32) {
        let first_channel = self.outputs[self.first_port[router as usize] as usize].vc;
        let Some(allocator) = &mut self.vc_allocator else { return };
        let (queues, channels, outputs) = (&mut self.queues, &mut self.channels, &self.outputs);
        allocator.allocate(first_channel, &self.waiting, |head, channel| {
            let q = &mut queues[head.queue as usize];
            q.vc = (channel - outputs[q.output as usize].vc) as u16;
            q.vcs = 0;
            channels[channel as usize].owner = head.queue;
        });
    }

    /// Files a wake-up of those who wait for `output`.
    fn wake_output_at(&mut self, output: u32, at: u32) {
        let o = &mut self.outputs[output as usize];
        if o.wake <= self.now || o.wake > at {
            o.wake = at;
            self.file(at, kind::OUTPUT, output, 0);
        }
    }

    /// Frees the output buffer's room of flits that started on the link before this tick.
    #[inline]
    pub(crate) fn expire(&mut self, output: u32) {
        let o = &mut self.outputs[output as usize];
        let base = output * self.ring;
        while o.ring_count > 0 {
            let (start, size) = self.rings[(base + u32::from(o.ring_first)) as usize];
            if start >= self.now {
                break;
            }
            o.held -= size;
            o.ring_count -= 1;
            o.ring_first = if u32::from(o.ring_first) + 1 == self.ring { 0 } else { o.ring_first + 1 };
        }
    }
}
