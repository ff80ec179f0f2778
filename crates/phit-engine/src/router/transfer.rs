//! A granted flit leaves its queue: crossbar, output buffer, link, credit.
//!
//! Credits and room in the output buffer were taken with the grant, so nothing can stop the flit any more: when it starts
//! on the link, when it arrives and when its credit is back are known here, and are filed at once.

use super::allocator::Request;
use super::bits::bit;
use super::partition::{Partition, TAIL_PENDING, kind};
use super::state::{Far, Input};
use crate::engine::wheel::Event;
use crate::engine::{NONE, Tick};

impl Partition {
    pub(crate) fn transfer(&mut self, grant: Request) {
        let now = self.now;
        let size = u32::from(grant.size);
        let q = self.queues[grant.queue as usize];
        let packet = q.first;
        let flits = self.packets[packet].flits;
        let (head, tail) = (q.sent == 0, q.sent + 1 == flits);
        self.collector.flit_hops += 1;

        // The flit may still be arriving: a cut-through transfer lasts until its last phit is in. A flit with another
        // behind it has arrived completely.
        let entry = match flits {
            1 => self.packets[packet].entry,
            _ if q.first == q.last && q.sent + 1 == q.arrived => q.entry,
            _ => 0,
        };
        let config = &*self.config;
        // The packet itself may already say by which link its head goes on.
        let arriving = match self.inputs[q.port as usize].injects {
            true => config.links[0].injection_bandwidth.map_or(0, |b| config.serialisation(size, b)),
            false => config.serialisation(size, config.links[self.outputs[q.port as usize].class as usize].bandwidth),
        };
        let arriving = (entry + arriving).saturating_sub(now);
        let crossing = if self.allocator.ideal() { 0 } else { config.crossing(size).max(arriving) };

        let output = &mut self.outputs[grant.output as usize];
        let class = output.class;
        let link = &config.links[class as usize];
        let serialisation = config.serialisation(size, link.bandwidth);
        let enters = now + config.latency;
        let start =
            config.align(enters.max(output.free).max((enters + crossing.max(arriving)).saturating_sub(serialisation)));
        output.busy = now + crossing;
        output.free = start + serialisation;
        output.phits += u64::from(size);
        if config.output_buffer.is_some() {
            let place = (u32::from(output.ring_first) + u32::from(output.ring_count)) % self.ring;
            self.rings[(grant.output * self.ring + place) as usize] = (start, size);
            output.ring_count += 1;
            output.held += size;
        }
        let far = output.far;
        let channel = (output.vc + u32::from(grant.vc)) as usize;

        let input = &mut self.inputs[q.port as usize];
        input.busy = now + crossing;
        let busy = input.busy;
        let released = if config.credit_at_output { start } else { (now + crossing.max(arriving)).max(now + 1) };
        let credit_at = released + input.credit_latency;
        let (upstream, credited) = (input.upstream_partition, input.upstream_vc + u32::from(grant.lane));
        let injects = input.injects;

        if head {
            let p = &mut self.packets[packet];
            self.collector.packet_hops += 1;
            if injects {
                p.injected = now;
            }
            if class != 0 {
                p.hops.add(class);
            }
        }
        match far {
            Far::Endpoint => {
                if tail {
                    self.file(start + link_latency(self, class) + serialisation, kind::DELIVERY, packet, 0);
                }
            }
            Far::Queues { partition, first } => {
                self.channels[channel].credits -= size as i32;
                let at = start + link_latency(self, class);
                let queue = first + u32::from(grant.vc);
                self.depart(head, packet, (class, grant.vc), (partition, queue, at));
            }
            Far::Nothing => debug_assert!(false, "a packet was sent to a port without a link"),
        }
        if flits > 1 || self.vc_allocator.is_some() {
            self.channels[channel].owner = if tail { NONE } else { grant.queue };
            if tail {
                self.wake(grant.output);
            }
        }

        let event = Event { target: kind::CREDIT << kind::SHIFT | credited, data: size };
        self.post(upstream, credit_at, event);

        if tail {
            self.pop(grant.queue, packet, busy, far);
        } else {
            let q = &mut self.queues[grant.queue as usize];
            q.sent += 1;
            q.vc = grant.vc;
            q.vcs = 0;
        }
        // A port that will be busy in the next tick need not be looked at then.
        let Input { ready, router, .. } = self.inputs[q.port as usize];
        if (busy > now + 1 || ready == 0) && self.ports_of(router) <= 64 {
            self.ready_ports[router as usize] &= !bit(grant.input.into());
        }
        if busy > now + 1 && ready != 0 {
            self.wake_input_when_free(q.port);
        }
    }

    fn ports_of(&self, router: u32) -> u32 {
        self.first_port[router as usize + 1] - self.first_port[router as usize]
    }

    /// The flit goes to `queue` of `partition`, to arrive at `at`.
    #[inline]
    fn depart(&mut self, head: bool, packet: u32, by: (u8, u16), to: (u32, u32, Tick)) {
        let (partition, queue, at) = to;
        if !head {
            let event = Event { target: kind::ARRIVAL << kind::SHIFT | queue, data: NONE };
            self.post(partition, at, event);
            return;
        }
        let p = &mut self.packets[packet];
        if partition == self.index {
            (p.came_by, p.came_in) = (by.0, by.1 as u8);
            self.file(at, kind::ARRIVAL, queue, packet);
        } else {
            let mut copy = *p;
            (copy.came_by, copy.came_in) = (by.0, by.1 as u8);
            let mail = &mut self.outbox[partition as usize];
            mail.heads.push((at, queue));
            mail.packets.push(copy);
        }
    }

    /// Files an event here or with another partition.
    #[inline]
    fn post(&mut self, partition: u32, at: Tick, event: Event) {
        if partition == self.index {
            self.wheel.insert(self.now, at, event);
        } else {
            self.outbox[partition as usize].events.push((at, event));
        }
    }

    /// The tail of the first packet of `queue` has been granted; the next may follow once the port is free at `free`.
    fn pop(&mut self, queue: u32, packet: u32, free: Tick, far: Far) {
        let port = self.queues[queue as usize].port;
        let input = &mut self.inputs[port as usize];
        if input.count <= 64 {
            input.ready &= !bit(queue - input.queues);
        }
        let gone = match far {
            Far::Queues { partition, .. } => partition != self.index,
            Far::Endpoint | Far::Nothing => false,
        };
        let next = self.packets[packet].next;
        if gone {
            self.packets.remove(packet);
        }
        let q = &mut self.queues[queue as usize];
        let empty = q.first == q.last;
        if empty {
            q.last = NONE;
            q.output = NONE;
        }
        q.first = if empty { NONE } else { next };
        if self.wants.heads {
            q.sent = TAIL_PENDING;
            self.file(free.max(self.now + 1), kind::TAIL, queue, 0);
        } else if !empty {
            self.come_to_front(queue, free);
        }
    }
}

fn link_latency(partition: &Partition, class: u8) -> Tick {
    let link = &partition.config.links[class as usize];
    if class == 0 { link.ejection_latency } else { link.latency }
}
