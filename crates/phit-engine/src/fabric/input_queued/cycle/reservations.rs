//! Reservation protocols: speculative packets that expire, and what arrives at endpoints.

use crate::engine::NONE;
use crate::fabric::input_queued::endpoints::seam::Sending;
use crate::fabric::input_queued::options::kernel::Kernel;
use crate::fabric::input_queued::partition::Partition;
use crate::fabric::input_queued::state::kind;
use crate::fabric::input_queued::state::records::BROKEN;
use crate::fabric::input_queued::wiring::passage::Passage;
use crate::fabric::seams::allocator::Request;
use crate::fabric::seams::reservation::Role;
use crate::packet::{Hops, MOST_CLASSES, Packet};

impl Partition {
    /// The new packet `index` carries its number and content, and a speculative packet its time to live. Where routes
    /// follow from a packet, they also follow from the tick in which it is sent: a granted packet takes another route
    /// than its speculative copy, and so do packets without data that have the same number.
    #[inline(never)]
    pub(crate) fn stamp(&mut self, index: u32) {
        let (now, draws) = (self.now, self.setup.settings.sorts);
        let Some(reserving) = self.sending.reserving_mut() else { return };
        let p = &mut self.packets[index];
        (p.scratch, p.birth) = reserving.outgoing();
        if draws {
            p.flags = (now.wrapping_mul(0x9e37_79b9) >> 24) as u8;
        }
        p.injected = now;
        let time = reserving.expiring().given(now);
        reserving.expiring_mut().set(index, time);
    }

    /// True if `packet` is sorted into a queue by output, where granted packets are.
    pub(crate) fn is_sorted(&self, packet: u32) -> bool {
        match Role::of(&self.packets[packet]) {
            Role::Granted => true,
            Role::Speculative => self.sending.reserving().is_some_and(|reserving| reserving.sorts_speculative()),
            _ => false,
        }
    }

    /// True if the first packet of `queue` is speculative.
    pub(crate) fn is_speculative(&self, queue: u32) -> bool {
        Role::of(&self.packets[self.queues[queue].first]) == Role::Speculative
    }

    /// True if the first packet of `queue`, a speculative one, is to be dropped: its time is over, or its destination
    /// behind this router has too many packets. The packet asks for `channel`, behind an output of `class`.
    #[inline(never)]
    pub(crate) fn is_to_drop(&mut self, queue: u32, channel: u32, class: u8) -> bool {
        let packet = self.queues[queue].first;
        if self.sending.reserving().is_some_and(|reserving| reserving.reserves_at_last_hop()) {
            let Packet { destination, size, .. } = self.packets[packet];
            let Some(e) = self.place_of(destination).filter(|_| class == 0) else { return false };
            let Some(reserving) = self.sending.reserving_mut().filter(|it| it.is_congested(e)) else { return false };
            // Heads that are looked at later in this tick find less.
            reserving.goes(e, size);
            return true;
        }
        let entry = self.packets[packet].entry;
        let full = self.setup.settings.full[usize::from(class) % MOST_CLASSES];
        let lacking = match class {
            0 if self.setup.config.links[0].ejection_buffer.is_none() => 0,
            _ => (full - self.tables.channels[channel].credits).max(0) as u32,
        };
        let latency = self.setup.settings.latency[usize::from(class) % MOST_CLASSES];
        self.sending.reserving().is_some_and(|it| it.expiring().is_over(packet, entry, (lacking, latency), self.now))
    }

    /// True if a speculative packet gets no virtual channel behind `output` because of granted packets there.
    pub(crate) fn yields_at(&self, output: u32) -> bool {
        self.sending.reserving().is_some_and(|reserving| reserving.has_granted(output))
    }

    /// The first packet of `queue` has been given a virtual channel behind its output.
    pub(crate) fn has_channel(&mut self, queue: u32) {
        let (output, role) = (self.queues[queue].output, Role::of(&self.packets[self.queues[queue].first]));
        if let Some(reserving) = self.sending.reserving_mut().filter(|_| role == Role::Granted) {
            reserving.comes_to_output(output);
        }
    }

    /// The tail of `packet` starts on the link behind `output`.
    pub(crate) fn tail_starts(&mut self, output: u32, packet: u32) {
        let role = Role::of(&self.packets[packet]);
        if let Some(reserving) = self.sending.reserving_mut().filter(|_| role == Role::Granted) {
            reserving.leaves_output(output);
        }
    }

    /// The head of `packet` has come to `queue`. At the router of its destination, data count as waiting there.
    #[inline(never)]
    pub(crate) fn comes_to_last_router(&mut self, queue: u32, packet: u32) {
        let Packet { destination, destination_router, size, .. } = self.packets[packet];
        let router = self.setup.routers.number(self.inputs[self.queues[queue].port].router);
        if destination_router != router || Role::of(&self.packets[packet]).is_control() {
            return;
        }
        let Some(e) = self.place_of(destination) else { return };
        if let Some(reserving) = self.sending.reserving_mut().filter(|it| it.reserves_at_last_hop()) {
            reserving.comes(e, size);
        }
    }

    /// Drops the first packets of queues that have been found to be dropped in this tick.
    pub(crate) fn drop_found<K: Kernel>(&mut self) {
        let mut found = std::mem::take(&mut self.discards);
        for queue in found.drain(..) {
            let q = &self.queues[queue];
            let (packet, alone, port) = (q.first, q.first == q.last, q.port);
            self.drop_packet(queue, packet, alone, false);
            self.queues[queue].output = NONE;
            self.offer::<K>(port, queue);
        }
        self.discards = found;
    }

    /// Drops speculative `packet` of `queue`, of which nothing has left: it becomes a refusal to its source, in the
    /// room of its head. Its other flits leave the buffer, now or as they come. `last`: it is the last packet of the
    /// queue.
    fn drop_packet(&mut self, queue: u32, packet: u32, last: bool, at_input: bool) {
        let config = self.setup.config.clone();
        let Packet { size, flits, source, destination, .. } = self.packets[packet];
        let Some(control) = self.sending.reserving().map(|reserving| reserving.control_phits()) else { return };
        let arrived = if last { self.progress(queue).arrived } else { flits };
        // The refusal takes room of the head.
        let (head, entry) = (config.flit_phits(size, 0) - u32::from(control), self.packets[packet].entry);
        if head > 0 {
            self.throw_away(queue, head, entry);
            self.severed.discard(head);
        }
        self.throw_away_flits(queue, packet, 1..arrived, last);
        let (destination_router, ejection_port) = self.map.known.attachment(&*self.map.topology, source);
        let dropped = self.packets[packet];
        let grant = match (self.place_of(destination), self.sending.reserving_mut()) {
            (Some(e), Some(reserving)) if reserving.reserves_at_last_hop() => {
                reserving.reserve_at_last_hop(e, &dropped, self.now)
            }
            _ => self.now,
        };
        let refusal = Packet {
            source: destination,
            destination: source,
            destination_router,
            ejection_port,
            birth: grant,
            injected: self.now,
            hops: Hops(0),
            leg_start: Hops(0),
            came_by: 0,
            came_in: 0,
            size: control,
            flits: 1,
            misrouted: Role::Refusal.mark(),
            ..self.packets[packet]
        };
        if last && self.setup.settings.progress {
            self.progress[queue].arrived = 1;
        }
        let input = &self.inputs[self.queues[queue].port];
        // A router of this partition may still be sending flits of the packet.
        let shared = arrived < flits && input.class > 0 && input.upstream_partition == self.setup.index;
        if let Some(reserving) = self.sending.reserving_mut().filter(|_| arrived < flits) {
            let packet = if shared { packet } else { NONE };
            reserving.expiring_mut().expect(queue, packet, size, (arrived, flits));
        }
        match shared {
            true => self.replace(queue, packet, refusal),
            false => self.packets[packet] = refusal,
        }
        let recorded = self.collector.span().contains(&self.now);
        self.collector.counters.congestion.expired(source, at_input, recorded);
    }

    /// Puts `refusal` into the place of `packet` in `queue`.
    fn replace(&mut self, queue: u32, packet: u32, refusal: Packet) {
        let index = self.packets.insert(refusal);
        let q = &mut self.queues[queue];
        if q.last == packet {
            q.last = index;
        }
        if q.first == packet {
            q.first = index;
            return;
        }
        let mut before = q.first;
        while self.packets[before].next != packet {
            before = self.packets[before].next;
        }
        self.packets[before].next = index;
    }

    /// A flit other than a head has come to `queue`; true if its packet has been dropped.
    #[inline(never)]
    pub(crate) fn swallow_dropped(&mut self, queue: u32) -> bool {
        let Some(reserving) = self.sending.reserving_mut() else { return false };
        let Some((size, flit, over)) = reserving.expiring_mut().swallow(queue) else { return false };
        let phits = self.setup.config.flit_phits(size, flit);
        self.throw_away(queue, phits, self.now);
        self.severed.discard(phits);
        if over != NONE {
            self.packets.remove(over);
        }
        true
    }

    /// The head of `packet` leaves its input queue: a wait of a speculative packet there is over.
    #[inline(never)]
    pub(crate) fn speculative_leaves(&mut self, packet: u32) {
        if Role::of(&self.packets[packet]) != Role::Speculative {
            return;
        }
        let (entry, now) = (self.packets[packet].entry, self.now);
        if let Some(reserving) = self.sending.reserving_mut() {
            let left = reserving.expiring().after(packet, entry, now);
            reserving.expiring_mut().set(packet, left);
        }
    }

    /// The head of `packet` starts on the link with `grant`. A speculative packet takes its time along; the endpoint
    /// looks at its head.
    #[inline(never)]
    pub(crate) fn speculative_starts(&mut self, grant: &Request, packet: u32, far: u32, passage: &Passage, tail: bool) {
        let role = Role::of(&self.packets[packet]);
        if far >= BROKEN && !role.is_control() {
            let Packet { destination, size, .. } = self.packets[packet];
            if let (Some(e), Some(reserving)) = (self.place_of(destination), self.sending.reserving_mut()) {
                reserving.goes(e, size);
            }
        }
        if role != Role::Speculative {
            return;
        }
        let latency = self.setup.settings.latency[passage.class];
        if far >= BROKEN {
            if !tail {
                self.file(passage.end + latency, kind::HEAD, packet, 0);
            }
            return;
        }
        let late = self.sending.reserving().filter(|reserving| !reserving.reserves_at_last_hop());
        let Some(left) = late.map(|reserving| reserving.expiring().left(packet)) else { return };
        let queue = self.tables.outputs[grant.output].far_queue + u32::from(grant.vc);
        self.send_event(far, passage.start + latency, kind::MARK, queue, left as u32);
    }

    /// The head that has entered `queue` in this tick is speculative, and has the time `left`. It is dropped if none is
    /// left.
    #[cold]
    pub(crate) fn speculative_arrived<K: Kernel>(&mut self, queue: u32, left: u32) {
        let queue = self.management.sorted(queue).unwrap_or(queue);
        let packet = self.queues[queue].last;
        let (entry, now) = (self.packets[packet].entry, self.now);
        let Some(reserving) = self.sending.reserving_mut() else { return };
        reserving.expiring_mut().set(packet, left as i32);
        if reserving.expiring().is_over(packet, entry, (0, 0), now) {
            let first = self.queues[queue].first == packet;
            self.drop_packet(queue, packet, true, true);
            if first {
                self.queues[queue].output = NONE;
            }
        }
    }

    /// The head of a speculative packet has reached its endpoint, and its tail has not.
    #[cold]
    pub(crate) fn speculative_head_received(&mut self, index: u32) {
        let packet = self.packets[index];
        let Some(e) = self.place_of(packet.destination) else { return };
        let (Sending::Reserved(reserving), mut site) = self.sending_of(e) else {
            return;
        };
        if reserving.head_arrived(e, &packet, &mut site) {
            self.packets[index].misrouted = Role::Unwanted.mark();
            self.agenda.add_sender(e);
        }
    }

    /// The tail of a packet has reached its endpoint; true if it is data that have not come before.
    #[inline(never)]
    pub(crate) fn taken(&mut self, index: u32) -> bool {
        let packet = self.packets[index];
        let Some(e) = self.place_of(packet.destination) else { return true };
        let (Sending::Reserved(reserving), mut site) = self.sending_of(e) else {
            return true;
        };
        let taken = reserving.arrived(e, &packet, &mut site);
        self.agenda.add_sender(e);
        taken
    }
}
