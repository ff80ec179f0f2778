//! Packets that were lost, and are sent again by their sources.
//!
//! Where a packet is lost, a word of it goes to its source, which is there when the time is over; the source then sends
//! it before whatever it has not sent yet. The packet itself says how often that has happened.

use super::config::Kernel;
use super::events::kind;
use super::partition::Partition;
use crate::engine::{Event, Tick};
use crate::fabric::links::align;
use crate::packet::{Packet, repeated};
use crate::topology::Retransmit;
use crate::traffic::Generated;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

/// A packet that is to be sent again. They stand in the order of their times, whatever the partitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Again {
    /// Tick from which on it can be sent.
    pub at: Tick,
    /// Cycle of its generation.
    cycle: u32,
    destination: u32,
    /// Phits.
    pub size: u16,
    /// How often it will have been sent again.
    times: u8,
    source: u32,
}

impl Again {
    fn generated(&self) -> Generated {
        Generated { cycle: self.cycle, destination: self.destination, size: self.size }
    }
}

/// What the endpoints of a partition are to send again.
pub(crate) struct Repeats {
    rule: Retransmit,
    /// By endpoint of the network: its partition.
    homes: Arc<[u32]>,
    /// By endpoint of the partition.
    waiting: Vec<BinaryHeap<Reverse<Again>>>,
}

impl Repeats {
    /// Of so many endpoints, before anything has been lost.
    pub(super) fn new(rule: Retransmit, homes: Arc<[u32]>, endpoints: usize) -> Self {
        Self { rule, homes, waiting: vec![BinaryHeap::new(); endpoints] }
    }

    /// True if nothing is to be sent again.
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.iter().all(BinaryHeap::is_empty)
    }

    /// True if endpoint `e` is to send something again.
    pub(super) fn waits(&self, e: u32) -> bool {
        !self.waiting[e as usize].is_empty()
    }

    /// Phits of all that is to be sent again.
    pub(super) fn phits(&self) -> u64 {
        self.waiting.iter().flatten().map(|Reverse(again)| u64::from(again.size)).sum()
    }

    /// Bytes held.
    pub(super) fn bytes(&self) -> usize {
        let heap = |heap: &BinaryHeap<_>| heap.capacity() * size_of::<Again>() + size_of::<BinaryHeap<Again>>();
        self.waiting.iter().map(heap).sum()
    }

    /// What becomes of a packet that was lost at tick `now`, if it is sent again: a time that fits in what can be
    /// simulated, at the beginning of a cycle.
    fn after(&self, packet: &Packet, now: Tick, ticks_per_cycle: Tick, cycles: Tick) -> Option<Again> {
        if packet.repeats() >= self.rule.attempts {
            return None;
        }
        let cycle = (u64::from(now).div_ceil(ticks_per_cycle.into())) + u64::from(self.rule.timeout);
        let at = Tick::try_from(cycle).ok().filter(|cycle| *cycle < cycles)? * ticks_per_cycle;
        Some(Again {
            at,
            cycle: packet.birth / ticks_per_cycle,
            destination: packet.destination,
            size: packet.size,
            times: packet.repeats() + 1,
            source: packet.source,
        })
    }
}

impl Partition {
    /// A packet is lost: its source hears of it, or it is given up.
    #[cold]
    #[inline(never)]
    pub(super) fn lose(&mut self, index: u32) {
        let packet = self.packets[index];
        self.packets.remove(index);
        let (cycle, cycles) = (self.settings.ticks_per_cycle, self.settings.cycles);
        let again = self.repeats.as_ref().and_then(|repeats| {
            let again = repeats.after(&packet, self.now, cycle, cycles)?;
            Some((repeats.homes[packet.source as usize], again))
        });
        match again {
            None => self.collector.lost(&packet, self.now),
            Some((home, again)) if home == self.index => self.take_back(again, self.now),
            Some((home, again)) => self.outbox.mail[home as usize].again.push(again),
        }
    }

    /// An endpoint of this partition is to send a packet again; everything before tick `now` has been handled.
    pub(super) fn take_back(&mut self, again: Again, now: Tick) {
        let Ok(e) = self.endpoints.binary_search_by_key(&again.source, |endpoint| endpoint.number) else { return };
        let Some(repeats) = &mut self.repeats else { return };
        repeats.waiting[e].push(Reverse(again));
        let event = Event { target: kind::SEND << kind::SHIFT | e as u32, data: 0 };
        self.wheel.insert(now, again.at, kind::list(kind::SEND), event);
    }

    /// Endpoint `e` gives up what it should have sent again before tick `now`, or in it: it does not work.
    pub(super) fn give_up(&mut self, e: u32, now: Tick) {
        let Some(repeats) = &mut self.repeats else { return };
        let waiting = &mut repeats.waiting[e as usize];
        while let Some(Reverse(again)) = waiting.peek().copied().filter(|Reverse(again)| again.at <= now) {
            waiting.pop();
            let birth = again.cycle * self.settings.ticks_per_cycle;
            let packet = Packet { birth, size: again.size, ..Packet::new(again.source, again.destination) };
            self.collector.lost(&packet, self.now);
        }
    }

    /// Sends what endpoint `e` can send now, what it sends again first, and files its next attempt.
    #[inline(never)]
    pub(super) fn send_repeating<K: Kernel>(&mut self, e: u32) {
        if self.silent.iter().any(|(silent, _)| *silent == e) {
            return self.give_up(e, self.now);
        }
        loop {
            let Some(repeats) = &self.repeats else { return };
            let (endpoint, cycle) = (&self.endpoints[e], self.settings.ticks_per_cycle);
            let free = align(endpoint.free, cycle);
            let again = repeats.waiting[e as usize].peek().map(|Reverse(again)| *again);
            // A packet generated in one cycle can be sent in the next.
            let due = [again.map(|again| again.at), endpoint.next.map(|packet| (packet.cycle + 1) * cycle)];
            let [first, second] = due.map(|tick| tick.map(|tick| tick.max(free)));
            let is_due = |tick: Option<Tick>| tick.is_some_and(|tick| tick <= self.now);
            let (packet, mark) = match (again, endpoint.next) {
                (Some(again), _) if is_due(first) => (again.generated(), repeated(again.times)),
                (_, Some(packet)) if is_due(second) => (packet, 0),
                _ => return self.attempt_at(e, first.into_iter().chain(second).min()),
            };
            let size = u32::from(packet.size);
            let Some(lane) = self.injection_lane::<K>(endpoint, packet, size) else {
                self.endpoints[e].blocked = true;
                return;
            };
            if mark != 0 {
                self.collector.counters.packets.sent_again(packet.size);
                self.repeats.as_mut().map(|repeats| repeats.waiting[e as usize].pop());
            }
            self.send_flit::<K>(e, packet, lane, size, mark);
            if mark == 0 {
                self.draw::<K>(e);
            }
        }
    }
}
