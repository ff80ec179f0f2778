//! Flits start on links from output buffers in which packets without data go first, or packets wait for credits.

use crate::engine::Tick;
use crate::fabric::input_queued::endpoints::exchange::{channels_of_network, first_channel};
use crate::fabric::input_queued::options::kernel::Kernel;
use crate::fabric::input_queued::partition::Partition;
use crate::fabric::input_queued::state::kind::{self, ROOM, pack_credit};
use crate::fabric::input_queued::state::records::{BROKEN, Input};
use crate::fabric::input_queued::wiring::passage::Passage;
use crate::fabric::links::align;
use crate::fabric::seams::allocator::Request;
use crate::fabric::seams::routing::Leaving;
use crate::packet::{MOST_CLASSES, REPLY};

impl Partition {
    /// True if the first packet of `queue` carries no data.
    pub(crate) fn is_control(&self, queue: u32) -> bool {
        self.uses_control_buffer(self.queues[queue].first)
    }

    /// True if `packet` has no data, and such packets have an output buffer of their own.
    fn uses_control_buffer(&self, packet: u32) -> bool {
        self.setup.settings.choices.control_buffer.is_some() && self.packets[packet].misrouted & REPLY != 0
    }

    /// True if there are such output buffers, and the one of `output` has no room for `size` phits of the first packet
    /// of `queue`.
    #[inline(never)]
    pub(crate) fn lacks_room(&mut self, queue: u32, output: u32, size: u32) -> bool {
        let (control, now) = (self.is_control(queue), self.now);
        let both = control && self.setup.settings.choices.control_waits_for_data;
        self.tables.queues.as_mut().is_some_and(|queues| {
            !queues.has_room(output, control, size, now) || both && !queues.has_room(output, false, size, now)
        })
    }

    /// True if the first packet of `queue` is one without data that crosses whatever the crossbar connects.
    pub(crate) fn crosses_freely(&self, queue: u32) -> bool {
        self.is_control(queue) && (!self.setup.settings.choices.control_crosses_beside || self.is_in_own_channel(queue))
    }

    /// True if the first packet of `queue` stands in a virtual channel of its own kind of packets: not a refusal that
    /// has just been made of a speculative packet.
    fn is_in_own_channel(&self, queue: u32) -> bool {
        let (config, settings) = (&self.setup.config, &self.setup.settings);
        if !settings.reserves {
            return true;
        }
        let q = &self.queues[queue];
        let Input { queues, class, .. } = self.inputs[q.port];
        let first = u32::from(first_channel(config, settings, &self.packets[q.first], class));
        (queue - queues).wrapping_sub(first) < channels_of_network(config, settings, class).into()
    }

    /// A granted flit of `packet` comes into the buffer of its output.
    #[inline(never)]
    pub(crate) fn enters_output(&mut self, grant: &Request, packet: u32, ready: Tick, (head, tail): (bool, bool)) {
        let control = self.uses_control_buffer(packet);
        let flit = Leaving { ready, packet, size: grant.size, vc: grant.vc, head, tail };
        let (free, now) = (self.tables.outputs[grant.output].free, self.now);
        let next = match &mut self.tables.lines {
            Some(lines) => lines.push(grant.output, flit, (free, now + 1)),
            None => self.tables.queues.as_mut().and_then(|queues| queues.push(grant.output, control, flit, free, now)),
        };
        self.tell_link(grant.output, next);
    }

    /// Tells the link behind `output` when to take a flit.
    fn tell_link(&mut self, output: u32, next: Option<Tick>) {
        let cycle = self.setup.settings.ticks_per_cycle;
        if let Some(next) = next {
            self.file(align(next, cycle).max(self.now + 1), kind::DEPARTURE, output, 0);
        }
    }

    /// Credit for `phits` of virtual channel `vc` has come to the link behind `output`, where packets wait for it.
    #[inline(never)]
    pub(crate) fn link_credit(&mut self, output: u32, (vc, phits): (u32, i32)) {
        let times = (self.tables.outputs[output].free, self.now + 1);
        let next = self.tables.lines.as_mut().and_then(|lines| lines.credit(output, (vc, phits), times));
        self.tell_link(output, next);
    }

    /// The link behind `output` takes the next packet that has credits. The packet leaves its room in the output buffer
    /// to others from the next tick on.
    #[inline(never)]
    pub(crate) fn link_takes_with_credit<K: Kernel>(&mut self, output: u32) {
        let now = self.now;
        let Some(lines) = self.tables.lines.as_mut().filter(|lines| lines.is_due(output, now)) else { return };
        if let Some(packet) = lines.take(output, now) {
            let end = now + self.link_time(output, packet.size.into());
            self.tables.outputs[output].free = end;
            self.wires.note_between(output, (now, 0, end), packet.size.into(), false);
            self.file(now + 1, kind::CREDIT, output, ROOM | pack_credit(packet.vc.into(), packet.size.into()));
            self.starts::<K>(output, &packet, end);
        }
        let times = (self.tables.outputs[output].free, now + 1);
        let next = self.tables.lines.as_mut().and_then(|lines| lines.told(output, times));
        self.tell_link(output, next);
    }

    /// The link behind `output` takes the next flit.
    #[inline(never)]
    pub(crate) fn link_takes<K: Kernel>(&mut self, output: u32) {
        let now = self.now;
        let flit = self.tables.queues.as_mut().and_then(|queues| queues.take(output, now));
        if let Some(flit) = flit {
            let end = now + self.link_time(output, flit.size.into());
            self.tables.outputs[output].free = end;
            self.wires.note_between(output, (now, 0, end), flit.size.into(), false);
            self.starts::<K>(output, &flit, end);
        }
        let free = self.tables.outputs[output].free;
        let next = self.tables.queues.as_mut().and_then(|queues| queues.told(output, free));
        self.tell_link(output, next);
    }

    /// `flit` starts on the link behind `output` in this tick, and is on it as a whole in tick `end`.
    fn starts<K: Kernel>(&mut self, output: u32, flit: &Leaving, end: Tick) {
        let &Leaving { packet, size, vc, head, tail, .. } = flit;
        let o = &self.tables.outputs[output];
        let (far, far_queue, class, router) = (o.far_partition, o.far_queue, o.class, o.router);
        let class = usize::from(class) % MOST_CLASSES;
        if tail && self.setup.settings.reserves {
            self.tail_starts(output, packet);
        }
        // The parts of a grant that matter on the link.
        let grant = Request {
            queue: 0,
            port: 0,
            output,
            router,
            birth: 0,
            input: 0,
            lane: 0,
            vc,
            size,
            class: 0,
            granted: true,
        };
        let passage = Passage { occupied: 0, held: 0, left: 0, start: self.now, early: 0, free: end, end, class };
        let gone = if far >= BROKEN {
            self.leave::<K>(&grant, packet, &passage, self.tables.outputs[output].vc + u32::from(vc), far, tail);
            false
        } else {
            self.go_on::<K>(&grant, packet, &passage, far, far_queue, head)
        };
        if head {
            self.head_starts::<K>(&grant, packet, far, &passage, tail);
        }
        if tail && gone {
            self.packets.remove(packet);
        }
    }

    /// The head of `packet` starts on the link.
    #[inline(always)]
    pub(crate) fn head_starts<K: Kernel>(
        &mut self,
        grant: &Request,
        packet: u32,
        far: u32,
        passage: &Passage,
        tail: bool,
    ) {
        if K::CONTROLS && self.setup.settings.controls {
            self.heads_for_link(grant, packet, far, (passage.start, passage.end), tail);
        }
        if K::CONTROLS && self.setup.settings.reserves {
            self.speculative_starts(grant, packet, far, passage, tail);
        }
    }
}
