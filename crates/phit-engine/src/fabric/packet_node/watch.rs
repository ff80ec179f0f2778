//! Checks of a network of packet-level nodes while it runs: conservation, and packets that wait for one another for
//! ever.

use super::send::SERVICE;
use super::state::{MOST_VCS, Network};
use crate::engine::NONE;
use crate::fabric::seams::bubble::lattice::Offsets;
use crate::fabric::seams::bubble::{ADAPTIVE, TO_DESTINATION};
use crate::measure::Snapshot;
use crate::packet::MOST_CLASSES;
use std::collections::{HashMap, HashSet};

/// A queue: a link and a virtual channel.
type Place = (u32, u8);

impl Network {
    /// Counters of links and endpoints, in the order of the topology's ports.
    pub(crate) fn snapshot(&self) -> Snapshot {
        let of = &self.link_classes;
        let links = self.links.iter().zip(self.classes.iter());
        let links = links.map(|(link, &class)| of.rate_of_class(class).parts(link.phits));
        let ejected = (0..).zip(self.ejections.iter());
        let ejected = ejected.map(|(number, endpoint)| of.rate_of_endpoint(number).parts(endpoint.phits));
        let injected = (0..).zip(self.endpoints.iter());
        let injected = injected.map(|(number, endpoint)| of.injection_rate(number).parts(endpoint.injected));
        let mut carried: Vec<u64> = links.chain(ejected).chain(injected).collect();
        let (to_endpoints, from_endpoints) =
            (self.links.len() as u32, (self.links.len() + self.ejections.len()) as u32);
        let rate = |link: u32| match self.classes.get(link as usize) {
            Some(&class) => of.rate_of_class(class),
            None if link < from_endpoints => of.rate_of_endpoint(link - to_endpoints),
            None => of.injection_rate(link - from_endpoints),
        };
        self.wires.to_come(rate, |link, parts, _| carried[link as usize] -= parts);
        let injected = carried.split_off(from_endpoints as usize);
        let routers = 0..self.topology.routers();
        let ports = routers.flat_map(|router| {
            let endpoints = router * self.endpoints_per_router..(router + 1) * self.endpoints_per_router;
            let ejected = endpoints.map(|endpoint| to_endpoints + endpoint);
            ejected.chain(self.numbers.of_router(router)).map(|link| carried[link as usize])
        });
        Snapshot {
            ports: ports.collect(),
            injected,
            ejected: None,
            offered: self.offered_phits,
            control: ([0; MOST_CLASSES], 0),
            queueing: Default::default(),
        }
    }

    /// Number of packets that routers have accepted, or that have arrived: it grows as long as anything moves.
    pub(crate) fn progress(&self) -> u64 {
        let injected: u64 = self.endpoints.iter().map(|endpoint| endpoint.injected).sum();
        injected + self.collector.counters.work.packet_hops + self.collector.counters.flow.packets
    }

    /// The queues that wait for one another in a cycle. Each queue's oldest packet, which its link sends first and
    /// again and again, is refused by the next queue, or waits there for room.
    pub fn find_cycle(&self) -> Option<Vec<Place>> {
        // By the numbers of links and channels, which need not equal the numbers of queues.
        let number = |(link, vc): Place| link as usize * MOST_VCS + usize::from(vc);
        let places = (0..self.links.len() as u32).flat_map(|link| (0..MOST_VCS as u8).map(move |vc| (link, vc)));
        let mut stuck: Vec<bool> = places.map(|(link, vc)| self.used(link, vc) > 0).collect();
        // A packet that waits for a queue which is not stuck may move.
        loop {
            let before = stuck.iter().filter(|stuck| **stuck).count();
            for link in 0..self.links.len() as u32 {
                for vc in 0..self.vcs {
                    let waits = self.waits(link, vc);
                    let index = number((link, vc));
                    stuck[index] &= waits.is_some_and(|queues| queues.iter().all(|&place| stuck[number(place)]));
                }
            }
            if stuck.iter().filter(|stuck| **stuck).count() == before {
                break;
            }
        }
        let first = stuck.iter().position(|stuck| *stuck)?;
        let mut at = ((first / MOST_VCS) as u32, (first % MOST_VCS) as u8);
        let mut path: Vec<Place> = Vec::new();
        loop {
            if let Some(start) = path.iter().position(|place| *place == at) {
                return Some(path[start..].to_vec());
            }
            path.push(at);
            at = *self.waits(at.0, at.1)?.last()?;
        }
    }

    /// The queues that the oldest packet of a queue waits for, if it waits. It needs room; or, with answers, it needs
    /// the link, which is busy with queues of higher priority whose packets are refused again and again.
    fn waits(&self, link: u32, vc: u8) -> Option<Vec<Place>> {
        let packet = self.packets_of(link, vc).next()?;
        let first = || {
            let earlier = SERVICE.into_iter().take_while(|other| *other != vc);
            earlier.filter(|&other| self.used(link, other) > 0).map(|other| (link, other)).collect::<Vec<Place>>()
        };
        let room = self.waits_for(link, vc, packet);
        room.or_else(|| Some(first()).filter(|queues| self.landings.is_none() && !queues.is_empty()))
    }

    pub(super) fn packets_of(&self, link: u32, vc: u8) -> impl Iterator<Item = u32> + '_ {
        let base = self.slot(link, vc);
        (base..base + u32::from(self.used(link, vc))).map(|slot| self.slots[slot])
    }

    /// The queues in which `packet` needs room at the far end of `link`, the escape queue last, if it would be refused
    /// there now. Any of them is enough.
    fn waits_for(&self, link: u32, vc: u8, packet: u32) -> Option<Vec<Place>> {
        let back = self.far[link];
        let record = &self.records[packet];
        let (came, router) = (self.numbers.direction(link) as usize, self.numbers.router(back));
        let mut way: Offsets = record.way;
        way[came / 2] -= if came % 2 == 0 { 1 } else { -1 };
        let mut heads_for = record.via;
        if way == [0; 6] && heads_for != NONE {
            heads_for = NONE;
            way = self.way_from(router, packet);
        }
        let (escape, channel, room) =
            self.escape.queue(&way, heads_for != NONE, Some((came, vc)), self.escape.room())?;
        let first = self.numbers.first_link(router);
        let ahead = way.iter().enumerate().filter(|(_, hops)| **hops != 0);
        let adaptive = ahead.map(|(d, hops)| (first + 2 * d as u32 + u32::from(*hops < 0), ADAPTIVE));
        let mut places: Vec<Place> = adaptive.collect();
        if places.iter().any(|&(link, vc)| self.free_slots(link, vc) > 0) {
            return None;
        }
        let next = first + escape as u32;
        places.push((next, channel));
        (self.free_slots(next, channel) < room).then_some(places)
    }

    /// Describes the packets that wait for one another.
    pub(crate) fn describe_stop(&self) -> String {
        let Some(cycle) = self.find_cycle() else { return "no circle of waiting packets was found".into() };
        let words = self.topology.words();
        let place = |&(link, vc): &Place| {
            let packet = self.packets_of(link, vc).next();
            let packet = packet.map_or(String::new(), |packet| {
                let (source, destination) = (self.origins[packet].source, self.records[packet].destination);
                format!(" (packet from {} to {})", words.endpoint(source), words.endpoint_again(destination))
            });
            let (router, output) =
                (self.numbers.router(link), self.endpoints_per_router + self.numbers.direction(link));
            let output = words.port_alone(router, output as u16);
            format!("VC {vc} of output {output} of {}{packet}", words.router(router))
        };
        format!(
            "these queues wait for one another in a circle: {}",
            cycle.iter().map(place).collect::<Vec<_>>().join("; ")
        )
    }

    /// Checks the queues, and that every packet accepted has been delivered or is inside. For tests.
    pub fn audit(&self) -> Result<(), String> {
        self.audit_landings()?;
        let vacant: HashSet<u32> = self.vacant.iter().copied().collect();
        for (number, link) in self.links.iter().enumerate() {
            for (vc, &waiting) in link.waiting.iter().enumerate() {
                let used = self.used(number as u32, vc as u8);
                if used > self.capacity || waiting.checked_shr(used.into()).unwrap_or(0) != 0 {
                    return Err(format!(
                        "queue {vc} of link {number} holds {used} of {}, {waiting:b} waiting",
                        self.capacity
                    ));
                }
                let packets = self.packets_of(number as u32, vc as u8).enumerate();
                let mut waiting = packets.filter(|(slot, _)| waiting >> slot & 1 == 1);
                if let Some((_, packet)) = waiting.find(|(_, packet)| vacant.contains(packet)) {
                    return Err(format!("packet {packet} waits on link {number} although it has arrived"));
                }
            }
        }
        let accepted = self.endpoints.iter().map(|endpoint| endpoint.injected).sum::<u64>();
        let delivered = self.collector.counters.flow.phits;
        let inside = (0..self.records.len() as u32).filter(|packet| !vacant.contains(packet));
        let inside: u64 = inside.map(|packet| u64::from(self.records[packet].size)).sum();
        match accepted == delivered + inside {
            true => Ok(()),
            false => Err(format!("{accepted} phits accepted, {delivered} delivered, {inside} inside")),
        }
    }

    /// Phits put on all links between routers. For tests.
    pub fn link_phits(&self) -> u64 {
        self.links.iter().map(|link| link.phits).sum()
    }

    /// For tests of the bubble rule: the free slots of the fullest ring of escape queues. A ring consists of all queues
    /// of one direction along one line.
    pub fn least_free_of_rings(&self) -> u32 {
        let mut free: HashMap<(u32, u32, u8), u32> = HashMap::new();
        for link in (0..self.topology.routers()).flat_map(|router| self.numbers.of_router(router)) {
            let (router, direction) = (self.numbers.router(link), self.numbers.direction(link));
            let mut position = self.lattice.position(router);
            position[direction as usize / 2] = 0;
            for vc in TO_DESTINATION..self.vcs {
                let ring = (self.lattice.router(&position), direction, vc);
                *free.entry(ring).or_default() += u32::from(self.free_slots(link, vc));
            }
        }
        free.values().copied().min().unwrap_or(0)
    }
}
