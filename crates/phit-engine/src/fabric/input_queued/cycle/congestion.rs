//! Congestion control: the backlogs of outputs, marks, and the arrival of notifications.

use crate::engine::{NONE, Tick};
use crate::fabric::input_queued::endpoints::seam::Sending;
use crate::fabric::input_queued::endpoints::throttle::{Arrived, Departing};
use crate::fabric::input_queued::options::kernel::Kernel;
use crate::fabric::input_queued::partition::Partition;
use crate::fabric::input_queued::state::kind;
use crate::fabric::input_queued::state::lost::Kind;
use crate::fabric::input_queued::state::records::BROKEN;
use crate::fabric::seams::allocator::Request;
use crate::fabric::seams::congestion::Leaving;
use crate::packet::{MARKED, MOST_CLASSES};

impl Partition {
    /// A flit enters `queue`: the head of `packet`, or another flit of the last packet if `packet` is `NONE`.
    #[inline(never)]
    pub(crate) fn joins_backlog<K: Kernel>(&mut self, queue: u32, packet: u32) {
        let phits = self.entering::<K>(queue, packet);
        if let Sending::Throttled(throttle) = &mut self.sending {
            throttle.backlogs_mut().enters(queue, phits);
        }
    }

    /// Phits of the flit that enters `queue`: the head of `packet`, or another flit of the last packet.
    pub(crate) fn entering<K: Kernel>(&self, queue: u32, packet: u32) -> u32 {
        let (packet, before) = match packet {
            NONE => (self.queues[queue].last, self.progress(queue).arrived),
            head => (head, 0),
        };
        let size = self.packets[packet].size;
        if K::WHOLE { size.into() } else { self.setup.config.flit_phits(size, before) }
    }

    /// `packet` moves from one queue to another.
    #[inline(never)]
    pub(crate) fn moves_backlog(&mut self, queues: (u32, u32), packet: u32) {
        let phits = self.packets[packet].size.into();
        if let Sending::Throttled(throttle) = &mut self.sending {
            throttle.backlogs_mut().moves(queues, phits);
        }
    }

    /// The head of `queue` is to leave through `output`.
    #[inline(never)]
    pub(crate) fn turns_backlog(&mut self, queue: u32, output: u32) {
        if let Sending::Throttled(throttle) = &mut self.sending {
            throttle.backlogs_mut().turns(queue, output);
        }
    }

    /// A flit of the first packet of a queue leaves through the output of `grant`, before anything else is noted of it.
    #[inline(never)]
    pub(crate) fn leaves_backlog<K: Kernel>(&mut self, grant: &Request) {
        let head = K::WHOLE || self.progress(grant.queue).sent == 0;
        let Sending::Throttled(throttle) = &mut self.sending else { return };
        if head {
            throttle.backlogs_mut().turns(grant.queue, grant.output);
        }
        throttle.backlogs_mut().leaves(grant.queue, grant.size.into());
    }

    /// The head of `packet`, with which `grant` was carried out, is put on the link in tick `start`: a router marks
    /// packets of data there.
    #[inline(never)]
    pub(crate) fn heads_for_link(
        &mut self,
        grant: &Request,
        packet: u32,
        far: u32,
        (start, end): (Tick, Tick),
        tail: bool,
    ) {
        let p = self.packets[packet];
        let Sending::Throttled(throttle) = &mut self.sending else { return };
        if Kind::of(&p) == Kind::Reply {
            return;
        }
        let stays = far >= BROKEN;
        if stays && !tail && throttle.notifies_heads() {
            let class = self.tables.outputs[grant.output].class as usize % MOST_CLASSES;
            self.file(end + self.setup.settings.latency[class], kind::HEAD, packet, 0);
        }
        if self.management.manager().is_some_and(|manager| manager.spares(grant.lane)) {
            return;
        }
        let Sending::Throttled(throttle) = &mut self.sending else { return };
        let (packet, ends) = (if stays { packet } else { NONE }, (p.source, p.destination));
        let departing = Departing { packet, ends, start, phits: p.size, vc: grant.vc };
        throttle.departs(grant.output, departing);
        if start > self.now {
            self.file(start, kind::DEPARTURE, grant.output, 0);
        } else {
            self.departs(grant.output);
        }
    }

    /// The head of a packet of data is put on the link behind `output`.
    #[cold]
    #[inline(never)]
    pub(crate) fn departs(&mut self, output: u32) {
        let Sending::Throttled(throttle) = &mut self.sending else { return };
        let Some(departing) = throttle.departing(output) else { return };
        let o = &self.tables.outputs[output];
        let (partition, queue) = (o.far_partition, o.far_queue.wrapping_add(u32::from(departing.vc)));
        let class = o.class as usize % MOST_CLASSES;
        let channel = o.vc + u32::from(departing.vc);
        let (credits, full) = (self.tables.channels[channel].credits, self.setup.settings.full[class]);
        let limited = class > 0 || self.setup.config.links[0].ejection_buffer.is_some();
        let known = match &self.tables.queues {
            Some(queues) => Some(queues.waiting(output)),
            None => self.tables.buffers.starting_after(output, self.now),
        };
        let waiting = known.unwrap_or_else(|| {
            // The link is taken for as long as it sends this flit and the flits behind it.
            let cycles =
                f64::from(o.free.saturating_sub(departing.start)) / f64::from(self.setup.settings.ticks_per_cycle);
            let phits = (cycles * self.setup.settings.bandwidth[class].to_f64()).round() as u32;
            phits.saturating_sub(self.setup.config.flit_phits(departing.phits, 0))
        });
        let at = Leaving {
            output,
            router: self.setup.routers.number(o.router),
            port: (output - self.tables.first_port[o.router]) as u16,
            class: o.class,
            phits: departing.phits,
            backlog: throttle.backlogs().of(output),
            outstanding: match limited {
                true => (full.saturating_sub(credits).max(0) as u32).saturating_sub(waiting),
                false => 0,
            },
            has_room: !limited || credits >= i32::from(self.setup.traffic.packet_sizes().1),
        };
        let notice = throttle.notice(&at);
        if notice.is_none() && !throttle.marks(&at) {
            return;
        }
        let recorded = self.collector.span().contains(&self.now);
        self.collector.counters.congestion.marked(recorded);
        if let Some((phits, feedback)) = notice {
            self.collector.counters.congestion.told(phits, recorded);
            return self.notify_source(at.router, departing.ends, feedback);
        }
        match departing.packet {
            NONE => {
                let arrives = departing.start + self.setup.settings.latency[class];
                self.send_event(partition, arrives, kind::MARK, queue, 0);
            }
            packet => self.packets[packet].misrouted |= MARKED,
        }
    }

    /// The head that has entered `queue` in this tick has been marked.
    #[cold]
    pub(crate) fn mark_arrived(&mut self, queue: u32) {
        let queue = self.management.sorted(queue).unwrap_or(queue);
        let packet = self.queues[queue].last;
        self.packets[packet].misrouted |= MARKED;
    }

    /// The head of `packet` has reached its endpoint.
    #[cold]
    pub(crate) fn head_received(&mut self, packet: u32) {
        let packet = self.packets[packet];
        let Some(e) = self.place_of(packet.destination) else { return };
        let (Sending::Throttled(throttle), mut site) = self.sending_of(e) else { return };
        if throttle.seen(e, &packet, &mut site) == Arrived::Notified {
            self.agenda.add_sender(e);
        }
    }

    /// The tail of `packet` has reached its endpoint. True if the packet is a notification.
    #[inline(never)]
    pub(crate) fn received(&mut self, packet: u32) -> bool {
        let packet = self.packets[packet];
        let Some(e) = self.place_of(packet.destination) else { return false };
        let (Sending::Throttled(throttle), mut site) = self.sending_of(e) else { return false };
        let arrived = throttle.arrived(e, &packet, &mut site);
        if arrived != Arrived::Data {
            self.agenda.add_sender(e);
        }
        arrived == Arrived::Notification
    }
}
