//! The arrival of a packet: its next queue, or its refusal.

use super::ahead::Ahead;
use super::state::{Network, Origin, QUEUES_OF_WORD, Record, Word, kind};
use crate::engine::{NONE, Rng, Tick};
use crate::fabric::seams::bubble::lattice::Offsets;
use crate::fabric::seams::bubble::profit::{PackedDirections, PackedSlots, Slots};
use crate::fabric::seams::bubble::{ADAPTIVE, Plan};

impl Network {
    /// A packet has arrived at the router of `back`, the link opposite to the one it came by: it is accepted or
    /// refused.
    #[inline(always)]
    pub(super) fn arrive(&mut self, back: u32, word: Word) {
        if !self.take(back, word) {
            self.refused.0 += 1;
            self.answers.push(&mut self.links[back], word.answered(false));
            self.try_link(back);
        }
    }

    /// [`Self::arrive`] for a packet out of order, which is rare.
    #[inline(never)]
    pub(super) fn arrive_out_of_order(&mut self, back: u32, word: Word) {
        self.arrive(back, word);
    }

    /// Puts a packet into a queue of the router of `back`, and sends the answer; returns false if there is no room.
    #[inline(always)]
    pub(super) fn take(&mut self, back: u32, word: Word) -> bool {
        let router = self.numbers.router(back);
        let came = self.numbers.direction(back) ^ 1;
        let record = &self.records[word.packet()];
        let (mut ahead, mut via, destination) = (Ahead::of(&record.way).after(came), record.via, record.destination);
        if ahead.is_done() {
            if via == NONE {
                return self.take_to_endpoint(back, word, destination);
            }
            // It is at its intermediate destination, and heads for the final one.
            via = NONE;
            ahead = Ahead::of(&self.way_from(router, word.packet()));
            if ahead.is_done() {
                return self.take_to_endpoint(back, word, destination);
            }
        }
        let Some((link, vc)) = self.queue(router, ahead, via, Some((came as usize, word.vc()))) else { return false };
        let record = &mut self.records[word.packet()];
        (record.way, record.via) = (ahead.way(), via);
        self.count_hop(back, word.packet());
        let answer = word.answered(true);
        let there = &self.links[back];
        // The answer precedes the packet if both return by the same link.
        if there.busy <= self.now && there.answer == NONE && link != back {
            self.put(link, vc, word.packet());
            self.send_answer(back, answer);
        } else {
            self.answers.push(&mut self.links[back], answer);
            self.put(link, vc, word.packet());
            self.try_link(back);
        }
        true
    }

    /// A packet has arrived over the link opposite to `back`.
    #[inline(always)]
    fn count_hop(&mut self, back: u32, packet: u32) {
        let record = &mut self.records[packet];
        record.hops.add(self.classes[back]);
        debug_assert!(record.hops.total() <= record.longest.into(), "a packet has gone astray: {record:?}");
        self.collector.counters.work.packet_hops += 1;
        self.collector.counters.work.flit_hops += 1;
    }

    /// [`Self::take`] of a packet that is at the router of its endpoint.
    #[inline(always)]
    fn take_to_endpoint(&mut self, back: u32, word: Word, endpoint: u32) -> bool {
        if self.ejections[endpoint].held >= self.ejection_capacity {
            return false;
        }
        let record = &mut self.records[word.packet()];
        (record.way, record.via) = (Offsets::default(), NONE);
        self.count_hop(back, word.packet());
        self.answers.push(&mut self.links[back], word.answered(true));
        self.put_to_endpoint(word.packet(), endpoint);
        self.try_link(back);
        true
    }

    /// The minimal route of a packet from `router` to its destination.
    pub(super) fn way_from(&self, router: u32, packet: u32) -> Offsets {
        let target = self.records[packet].destination / self.endpoints_per_router;
        let origin = &self.origins[packet];
        let mut rng = Rng::keyed(u64::from(origin.source) << 32 | u64::from(origin.birth), router);
        let coins = self.deroute.half_way().coins(&mut rng);
        self.lattice.way(&self.lattice.position(router), &self.lattice.position(target), coins)
    }

    /// The queue for a packet at `router` with this remaining route, if there is one with room: an adaptive queue, or
    /// else the escape queue. `came` is the direction and virtual channel by which it came, `None` from an endpoint.
    #[inline(always)]
    fn queue(&self, router: u32, ahead: Ahead, via: u32, came: Option<(usize, u8)>) -> Option<(u32, u8)> {
        let (adaptive_room, escape_room) = match came {
            Some(_) => (1, self.escape.room()),
            None => self.injection_room,
        };
        let first = self.numbers.first_link(router);
        let queues = self.numbers.queue(first, ADAPTIVE);
        let (best, slots) = ahead.most_free(self.scores, |from| self.used_from(queues + from));
        let (escape, vc, room) = self.escape.queue_in(ahead.first(), via != NONE, came, escape_room);
        // The choice between the two is not a branch: the processor could not predict it.
        let adaptive = slots >= adaptive_room.into();
        let direction = if adaptive { best } else { escape as u32 };
        let vc = if adaptive { ADAPTIVE } else { vc };
        let room = if adaptive { 0 } else { room };
        let link = first + direction;
        (self.free_slots(link, vc) >= room).then_some((link, vc))
    }

    /// Puts an accepted packet into the queue in front of its endpoint.
    #[inline]
    fn put_to_endpoint(&mut self, packet: u32, endpoint: u32) {
        let capacity = self.ejection_capacity;
        let there = &mut self.ejections[endpoint];
        let at = there.first + there.held;
        let at = if at >= capacity { at - capacity } else { at };
        there.held += 1;
        self.arrived[endpoint * u32::from(capacity) + u32::from(at)] = packet;
        self.try_ejection(endpoint);
    }

    /// Puts an accepted packet into a queue.
    #[inline(always)]
    fn put(&mut self, link: u32, vc: u8, packet: u32) {
        let used = &mut self.used[self.numbers.queue(link, vc)];
        let at = *used;
        *used += 1;
        let slot = self.slot(link, vc) + u32::from(at);
        self.slots[slot] = packet;
        let there = &mut self.links[link];
        there.waiting[usize::from(vc)] |= 1 << at;
        if there.busy <= self.now {
            self.send_over(link);
        }
    }

    /// The next packet of `endpoint` has arrived at its router: it is accepted or refused.
    pub(super) fn offered(&mut self, endpoint: u32) {
        let accepted = self.take_new(endpoint);
        self.refused.1 += u64::from(!accepted);
        self.reply(endpoint, accepted);
    }

    /// Plans the route of the next packet of `endpoint` and puts it into a queue of its router. Returns false if there
    /// is no room.
    #[inline(always)]
    pub(super) fn take_new(&mut self, endpoint: u32) -> bool {
        let Some(generated) = self.endpoints[endpoint].next else { return false };
        let router = endpoint / self.endpoints_per_router;
        let target = generated.destination / self.endpoints_per_router;
        let plan = if router == target { Plan::default() } else { self.plan(endpoint, router, target) };
        let via = plan.via.unwrap_or(NONE);
        let ahead = Ahead::of(&plan.way);
        let queue = match ahead.is_done() {
            true => None,
            false => self.queue(router, ahead, via, None),
        };
        if queue.is_none() && !(ahead.is_done() && self.ejections[generated.destination].held < self.ejection_capacity)
        {
            return false;
        }
        let record = Record {
            hops: Default::default(),
            destination: generated.destination,
            via,
            way: plan.way,
            longest: plan.hops,
            size: generated.size,
        };
        let origin = Origin { birth: generated.cycle, injected: self.now, source: endpoint, derouted: plan.derouted };
        let packet = self.create(record, origin);
        self.endpoints[endpoint].injected += u64::from(generated.size);
        // It has arrived as a whole. It counts as arriving from now on, after the packet before.
        let size = generated.size.into();
        let ticks = self.link_classes.injection_ticks(size);
        let link = self.links.len() as u32 + self.ejections.len() as u32 + endpoint;
        let counted = &mut self.endpoints[endpoint].counted;
        let start = self.now.max(*counted);
        *counted = start + ticks;
        self.wires.note(link, (start, start + ticks), size, false);
        match queue {
            Some((link, vc)) => self.put(link, vc, packet),
            None => self.put_to_endpoint(packet, generated.destination),
        }
        true
    }

    /// Answers `endpoint`.
    #[inline]
    pub(super) fn reply(&mut self, endpoint: u32, accepted: bool) {
        self.calendar.file(kind::REPLY, self.now + self.injection_times.1, endpoint, accepted.into());
    }

    fn plan(&mut self, endpoint: u32, router: u32, target: u32) -> Plan {
        let choices = &mut self.choices[endpoint];
        if choices.to() == target || self.deroute.note(router, target, choices) {
            let choices = &self.choices[endpoint];
            return choices.only().unwrap_or_else(|| self.deroute.choose(choices, &self.packed_slots(router)));
        }
        for link in self.numbers.of_router(router) {
            let there = self.far[link] != NONE;
            self.free[self.numbers.direction(link) as usize] = there.then(|| self.free_slots(link, ADAPTIVE));
        }
        let slots = Slots { free: &self.free, capacity: self.capacity };
        self.deroute.plan(router, target, &slots, &mut self.endpoints[endpoint].rng)
    }

    /// Free slots of the adaptive queues of a router.
    fn packed_slots(&self, router: u32) -> PackedSlots {
        let queues = self.numbers.queue(self.numbers.first_link(router), ADAPTIVE);
        let used = match self.numbers.directions as usize > QUEUES_OF_WORD {
            true => [self.used_from(queues), self.used_from(queues + QUEUES_OF_WORD as u32)],
            false => [self.used_from(queues), 0],
        };
        let somewhere = match self.lattice.wraps() {
            true => self.directions,
            false => {
                let links = self.numbers.of_router(router).filter(|&link| self.far[link] != NONE);
                PackedDirections::new(links.fold(0, |set, link| set | 1 << self.numbers.direction(link)))
            }
        };
        PackedSlots::new(used, self.capacity, somewhere)
    }

    fn create(&mut self, record: Record, origin: Origin) -> u32 {
        match self.vacant.pop() {
            Some(index) => {
                (self.records[index], self.origins[index]) = (record, origin);
                index
            }
            None => {
                self.origins.push(origin);
                self.records.push(record)
            }
        }
    }

    /// Packet `packet` is at its endpoint at tick `at`.
    #[inline(always)]
    pub(super) fn deliver(&mut self, packet: u32, at: Tick) {
        self.collector.delivered(&self.origins[packet].packet(&self.records[packet]), at);
        self.vacant.push(packet);
    }

    /// Records the packets that reach their endpoints before tick `end`. Nothing in the network depends on them, so
    /// they need no events: their ticks are enough.
    #[inline]
    pub(super) fn deliver_before(&mut self, end: Tick) {
        while let Some(&(at, packet)) = self.under_way.front().filter(|(at, _)| *at < end) {
            self.under_way.pop_front();
            self.deliver(packet, at);
        }
    }
}
