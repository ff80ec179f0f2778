//! A granted flit leaves its queue: crossbar, output buffer, link, credit.
//!
//! Credits and room in the output buffer were taken with the grant, so nothing can stop the flit any more: when it starts
//! on the link, when it arrives and when its credit is back are known here, and are filed at once.

use super::config::{Kernel, Times};
use super::events::{kind, pack_credit};
use super::partition::Partition;
use super::state::TAIL_PENDING;
use super::state::{BROKEN, Input, SINK};
use crate::engine::wheel::Event;
use crate::engine::{NONE, Tick};
use crate::fabric::links::align;
use crate::fabric::seams::allocator::Request;

impl Partition {
    #[inline(always)]
    pub(crate) fn transfer<K: Kernel>(&mut self, grant: &Request) {
        let now = self.now;
        let size = u32::from(grant.size);
        if self.settings.wants::<K>().departures && (K::SINGLE || self.queues[grant.queue].sent == 0) {
            self.announce_departure(grant.queue, grant.output, grant.vc);
        }
        if !K::PLAIN && self.settings.rereads {
            self.occupied::<K>(grant.output);
        }
        let q = &self.queues[grant.queue];
        let (packet, port) = (q.first, q.port);
        let p = &mut self.packets[packet];
        let flits = p.flits;
        // The flit may still be arriving. One with another behind it has arrived completely.
        let (head, tail, entry) = match K::SINGLE || flits == 1 {
            true => (true, true, p.entry),
            false => {
                let last = q.first == q.last && q.sent + 1 == q.arrived;
                (q.sent == 0, q.sent + 1 == flits, if last { self.latest[grant.queue] } else { 0 })
            }
        };

        let (settings, ideal) = (&self.settings, self.settings.ideal::<K>());
        let input = &mut self.inputs[port];
        let &mut Input { class: came_by, upstream_partition, upstream, .. } = input;
        let came_by = came_by as usize % 8;
        let output = &mut self.outputs[grant.output];
        let class = output.class as usize % 8;

        let times = match self.times.get(size as usize) {
            Some(times) => times,
            None => &Times::new(&self.config, settings, size),
        };
        // A cut-through transfer lasts until the flit's last phit is in.
        let arriving = (entry + times.arrival[came_by]).saturating_sub(now);
        let crossing = if ideal { 0 } else { times.crossing.max(arriving) };
        let busy = now + crossing;
        let serialisation = times.serialisation[class];
        let enters = now + settings.router_latency;
        let earliest = enters.max(output.free).max((enters + crossing.max(arriving)).saturating_sub(serialisation));
        let start = align(earliest, settings.ticks_per_cycle);
        let occupied = if !K::PLAIN && settings.inputs_at_link_rate {
            busy.max(now - now % settings.ticks_per_cycle + size * settings.ticks_per_cycle)
        } else {
            busy
        };
        input.busy = occupied;
        output.busy = if settings.cut_through_holds_output { busy } else { now + times.crossing };
        output.free = start + serialisation;
        output.phits += u64::from(size);
        if self.ring != 0 {
            let mut place = u32::from(output.ring_first) + u32::from(output.ring_count);
            if place >= self.ring {
                place -= self.ring;
            }
            let place = grant.output * self.ring + place;
            self.rings[place] = start;
            self.ring_phits[place] = grant.size;
            output.ring_count += 1;
            output.held += size;
        }
        let (far, far_queue, channel) = (output.far_partition, output.far_queue, output.vc + u32::from(grant.vc));

        if head {
            if !K::SINGLE {
                self.collector.counters.work.packet_hops += 1;
            }
            if came_by == 0 {
                p.injected = now;
            }
            if class != 0 {
                p.hops.add(class as u8);
            }
        }
        let mut released = if settings.credit_at_output { start } else { now + crossing.max(arriving).max(1) };
        if !K::PLAIN && settings.credits_in_turn {
            let next = &mut self.next_credit[port];
            released = align(released.max(*next), settings.ticks_per_cycle);
            *next = released + settings.ticks_per_cycle;
        }
        let credit_at = released + settings.credit_latency[came_by];
        let at = start + settings.latency[class];

        if far >= BROKEN {
            if !K::PLAIN && settings.endpoints_fill && far == SINK {
                self.channels[channel].credits -= size as i32;
                let consumed = at + serialisation + settings.ticks_per_cycle;
                let credit = pack_credit(grant.vc.into(), size);
                self.wheel.insert(
                    now,
                    consumed + settings.credit_latency[0],
                    Event { target: kind::CREDIT << kind::SHIFT | grant.output, data: credit },
                );
            }
            if tail {
                self.file(at + serialisation, if far == SINK { kind::DELIVERY } else { kind::LOSS }, packet, 0);
            }
            if far == BROKEN {
                self.channels[channel].credits -= size as i32;
            }
        } else {
            self.channels[channel].credits -= size as i32;
            let queue = far_queue + u32::from(grant.vc);
            if head {
                // Mechanisms know virtual channels, not the queues that these are divided into.
                let vc = if K::PLAIN || settings.transparent {
                    grant.vc
                } else {
                    (u32::from(grant.vc) / settings.queues) as u16
                };
                (p.came_by, p.came_in) = (class as u8, vc as u8);
                if far == self.index {
                    self.file(at, kind::ARRIVAL, queue, packet);
                } else {
                    let mail = &mut self.outbox[far as usize];
                    mail.heads.push((at, queue));
                    mail.packets.push(*p);
                }
            } else {
                self.post(far, at, Event { target: kind::ARRIVAL << kind::SHIFT | queue, data: NONE });
            }
        }
        if !K::SINGLE && (flits > 1 || self.vc_allocator.is_some()) {
            self.owners[channel] = if tail { NONE } else { grant.queue };
            if tail {
                self.wake::<K>(grant.output);
            }
        }

        let mut lane = u32::from(grant.lane);
        if !K::PLAIN && self.settings.managed {
            // The credits of all queues of a buffer are those of its first.
            lane -= lane % self.settings.queues;
        }
        let data = pack_credit(lane, size);
        self.post(upstream_partition, credit_at, Event { target: kind::CREDIT << kind::SHIFT | upstream, data });

        if !K::PLAIN && self.settings.managed {
            self.gone(grant.queue, packet);
        }
        if tail {
            self.pop::<K>(grant.queue, packet, occupied, far != self.index && far < BROKEN);
            return;
        }
        let q = &mut self.queues[grant.queue];
        q.sent += 1;
        q.vc = grant.vc;
        q.vcs = 0;
        if q.first != q.last || q.sent < q.arrived {
            self.offer::<K>(port, grant.queue);
        }
    }

    /// A mechanism that reads occupancies again must know in the next tick that one has grown.
    #[inline(always)]
    fn occupied<K: Kernel>(&mut self, output: u32) {
        if self.settings.wants.occupancy {
            self.changed.insert(self.outputs[output].router);
        }
        if self.settings.wants.redecide && self.outputs[output].waiters != 0 {
            self.wake::<K>(output);
        }
    }

    /// Files an event here or with another partition.
    #[inline(always)]
    fn post(&mut self, partition: u32, at: Tick, event: Event) {
        if partition == self.index {
            self.wheel.insert(self.now, at, event);
        } else {
            self.outbox[partition as usize].events.push((at, event));
        }
    }

    /// The tail of the first packet of `queue` has been granted; the next may follow once the port is free at `free`.
    /// `gone`: the packet lives on in another partition.
    #[inline(always)]
    fn pop<K: Kernel>(&mut self, queue: u32, packet: u32, free: Tick, gone: bool) {
        let next = self.packets[packet].next;
        if gone {
            self.packets.remove(packet);
        }
        let q = &mut self.queues[queue];
        let empty = q.first == q.last;
        if empty {
            q.last = NONE;
            q.output = NONE;
        }
        q.first = if empty { NONE } else { next };
        if self.settings.wants::<K>().heads {
            q.sent = TAIL_PENDING;
            q.eligible = Tick::MAX;
            self.file(free.max(self.now + 1), kind::TAIL, queue, 0);
        } else if !empty {
            self.come_to_front::<K>(queue, free);
        }
    }
}
