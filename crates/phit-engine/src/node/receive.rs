//! A packet arrives: where it goes on from here, or that there is no room for it.

use super::state::{Network, Record, Word, kind};
use crate::engine::NONE;
use crate::engine::rng::Rng;
use crate::routing::bubble::lattice::{Offsets, length};
use crate::routing::bubble::profit::Slots;
use crate::routing::bubble::{ADAPTIVE, Plan, TO_DESTINATION, dimension_order, most_free};

/// Where a packet waits: an output's queue. `None` stands for the queue in front of its endpoint.
type Place = Option<(u32, u8)>;

const ARRIVED: Offsets = [0; 6];

impl Network {
    /// A packet has come to the router of `back`, the link opposite to the one it came by.
    pub(super) fn arrive(&mut self, back: u32, word: Word) {
        let router = self.router_of(back);
        let came = (back % self.directions) as usize ^ 1;
        let record = &self.records[word.packet() as usize];
        let mut way = record.way;
        way[came / 2] -= if came % 2 == 0 { 1 } else { -1 };
        let mut via = record.via;
        if way == ARRIVED && via != NONE {
            // At its intermediate destination: towards the final one.
            via = NONE;
            way = self.way_from(router, record);
        }
        let place = self.place(router, &way, via, Some((came, word.vc())), record.destination);
        // The answer stands in front of the packet if both go back by the same link.
        self.answers.push(&mut self.links[back as usize], word.answered(place.is_some()));
        if let Some(place) = place {
            let class = self.links[back as usize].class;
            let record = &mut self.records[word.packet() as usize];
            (record.way, record.via) = (way, via);
            record.hops.add(class);
            debug_assert!(record.hops.total() <= record.longest.into(), "a packet has gone astray: {record:?}");
            self.collector.packet_hops += 1;
            self.collector.flit_hops += 1;
            self.put(place, word.packet());
        } else {
            self.refused.0 += 1;
        }
        self.try_link(back);
    }

    /// The minimal way of a packet from `router` to its destination.
    fn way_from(&self, router: u32, record: &Record) -> Offsets {
        let target = record.destination / self.endpoints_per_router;
        let mut rng = Rng::keyed(u64::from(record.source) << 32 | u64::from(record.birth), router);
        let coins = self.deroute.half_way().coins(&mut rng);
        self.lattice.way(&self.lattice.position(router), &self.lattice.position(target), coins)
    }

    /// The queue for a packet at `router` with this way ahead, if there is one with room: an adaptive queue, or else the escape
    /// queue. `came` is the direction and virtual channel by which it came, `None` if from an endpoint.
    #[inline]
    fn place(&self, router: u32, way: &Offsets, via: u32, came: Option<(usize, u8)>, endpoint: u32) -> Option<Place> {
        if *way == ARRIVED {
            let room = self.endpoints[endpoint as usize].arrived.len() < self.ejection_capacity.into();
            return room.then_some(None);
        }
        let (adaptive_room, escape_room) = match came {
            Some(_) => (1, 1 + self.escape.bubble),
            None => self.injection_room,
        };
        let first = router * self.directions;
        let free = |direction: usize| u32::from(self.free_slots(first + direction as u32, ADAPTIVE));
        let (best, slots) = most_free(way, free)?;
        if slots >= adaptive_room.into() {
            return Some(Some((first + best as u32, ADAPTIVE)));
        }
        let escape = dimension_order(way)?;
        let vc = if via == NONE { TO_DESTINATION } else { self.escape.to_intermediate.unwrap_or(TO_DESTINATION) };
        // Within its ring a packet takes the last free slot.
        let room = if came == Some((escape, vc)) { 1 } else { escape_room };
        let link = first + escape as u32;
        (self.free_slots(link, vc) >= room).then_some(Some((link, vc)))
    }

    /// Puts an accepted packet into its queue.
    fn put(&mut self, place: Place, packet: u32) {
        let Some((link, vc)) = place else {
            let endpoint = self.records[packet as usize].destination;
            self.endpoints[endpoint as usize].arrived.push_back(packet);
            return self.try_ejection(endpoint);
        };
        let slot = self.slot(link, vc);
        let queue = &mut self.links[link as usize].queues[usize::from(vc)];
        self.slots[slot + usize::from(queue.used)] = packet;
        queue.waiting |= 1 << queue.used;
        queue.used += 1;
        self.try_link(link);
    }

    /// The next packet of `endpoint` has come to its router, which decides on its way, and whether it takes it.
    pub(super) fn offered(&mut self, endpoint: u32) {
        let Some(generated) = self.endpoints[endpoint as usize].next else { return };
        let router = endpoint / self.endpoints_per_router;
        let target = generated.destination / self.endpoints_per_router;
        let plan = if router == target { Plan::default() } else { self.plan(endpoint, router, target) };
        let via = plan.via.unwrap_or(NONE);
        let place = self.place(router, &plan.way, via, None, generated.destination);
        if let Some(place) = place {
            let rest = plan
                .via
                .map_or(0, |via| self.lattice.distance(&self.lattice.position(via), &self.lattice.position(target)));
            let packet = self.create(Record {
                birth: generated.cycle,
                injected: self.now,
                source: endpoint,
                destination: generated.destination,
                via,
                way: plan.way,
                longest: (length(&plan.way) + rest) as u16,
                size: generated.size,
                hops: Default::default(),
                derouted: plan.derouted,
            });
            self.endpoints[endpoint as usize].injected += u64::from(generated.size);
            self.put(place, packet);
        } else {
            self.refused.1 += 1;
        }
        let link = &self.config.links[0];
        let at = self.now + self.serialisation(0, self.answer) + link.ejection_latency;
        self.calendar.file(kind::REPLY, at, endpoint, place.is_some().into());
    }

    fn plan(&mut self, endpoint: u32, router: u32, target: u32) -> Plan {
        let first = router * self.directions;
        for direction in 0..self.directions {
            let link = first + direction;
            let there = self.links[link as usize].far != NONE;
            self.free[direction as usize] = there.then(|| self.free_slots(link, ADAPTIVE));
        }
        let slots = Slots { free: &self.free, capacity: self.capacity };
        self.deroute.plan(router, target, &slots, &mut self.endpoints[endpoint as usize].rng)
    }

    fn create(&mut self, record: Record) -> u32 {
        match self.vacant.pop() {
            Some(index) => {
                self.records[index as usize] = record;
                index
            }
            None => {
                self.records.push(record);
                self.records.len() as u32 - 1
            }
        }
    }

    /// Packet `packet` is at its endpoint.
    pub(super) fn deliver(&mut self, packet: u32) {
        self.collector.delivered(&self.records[packet as usize].packet(), self.now);
        self.vacant.push(packet);
    }
}
