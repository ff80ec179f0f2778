//! Packets that were lost, and are sent again by their sources.
//!
//! Where a packet is lost, a word of it goes to its source, which is there when the time is over; the source then sends
//! it before whatever it has not sent yet. The packet itself says how often that has happened.

use super::endpoint::Endpoint;
use crate::engine::{NONE, Tick};
use crate::fabric::input_queued::options::settings::Settings;
use crate::fabric::input_queued::state::lost::{Again, Ending, Kind};
use crate::measure::Collector;
use crate::packet::Packet;
use crate::topology::Retransmit;
use crate::traffic::Generated;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;
use std::sync::Arc;

/// What the endpoints of a partition are to send again.
pub(crate) struct Repeats {
    rule: Retransmit,
    /// By endpoint of the network: its partition.
    homes: Arc<[u32]>,
    /// Packets that an endpoint may be sending at one time, and has queues of: one, or a request and a reply.
    kinds: u32,
    /// By endpoint of the partition and kind.
    waiting: Vec<BinaryHeap<Reverse<Again>>>,
    /// By endpoint of the partition and kind: the one of which flits are missing.
    begun: Vec<Option<Again>>,
}

impl Repeats {
    /// Of so many endpoints, with so many kinds of packets, before anything has been lost.
    pub(crate) fn new(rule: Retransmit, homes: Arc<[u32]>, endpoints: usize, kinds: u32) -> Self {
        let places = endpoints * kinds as usize;
        Self { rule, homes, kinds, waiting: vec![BinaryHeap::new(); places], begun: vec![None; places] }
    }

    /// Where packets of a kind of endpoint `e` stand.
    fn place(&self, e: u32, kind: Kind) -> usize {
        (e * self.kinds + if self.kinds > 1 { kind as u32 } else { 0 }) as usize
    }

    /// All of endpoint `e`.
    fn places(&self, e: u32) -> Range<usize> {
        (e * self.kinds) as usize..((e + 1) * self.kinds) as usize
    }

    /// True if nothing is to be sent again.
    pub(crate) fn is_empty(&self) -> bool {
        self.all().next().is_none()
    }

    /// True if endpoint `e` is to send something again.
    pub(crate) fn waits(&self, e: u32) -> bool {
        self.places(e).any(|place| !self.waiting[place].is_empty())
    }

    /// What is to be sent again, or has been in part.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Again> {
        self.waiting.iter().flatten().map(|Reverse(again)| again).chain(self.begun.iter().flatten())
    }

    /// What is to be sent again and has not been begun.
    pub(crate) fn unsent(&self) -> u64 {
        self.waiting.iter().map(|waiting| waiting.len() as u64).sum()
    }

    /// What endpoint `e` sends again next of a kind, or is sending again.
    pub(crate) fn next(&self, e: u32, kind: Kind) -> Option<Again> {
        let place = self.place(e, kind);
        self.begun[place].or_else(|| self.waiting[place].peek().map(|Reverse(again)| *again))
    }

    /// True if endpoint `e` has sent a part of what it sends again of a kind.
    pub(crate) fn has_begun(&self, e: u32, kind: Kind) -> bool {
        self.begun[self.place(e, kind)].is_some()
    }

    /// What endpoint `e` sends again next of a kind has been sent, in part if `more` is to come; `Some` when all has.
    pub(crate) fn sent(&mut self, e: u32, kind: Kind, more: bool) -> Option<Again> {
        let place = self.place(e, kind);
        let again = self.begun[place].take().or_else(|| self.waiting[place].pop().map(|Reverse(again)| again));
        match more {
            true => {
                self.begun[place] = again;
                None
            }
            false => again,
        }
    }

    /// What endpoint `e` can send again in tick `now`, no more to be sent from here.
    pub(crate) fn due(&mut self, e: u32, now: Tick) -> Option<Again> {
        self.places(e).find_map(|place| {
            let due = self.waiting[place].peek().is_some_and(|Reverse(again)| again.at <= now);
            if due { self.waiting[place].pop().map(|Reverse(again)| again) } else { None }
        })
    }

    /// A packet is to be sent again by endpoint `e`.
    pub(crate) fn take_back(&mut self, e: u32, again: Again) {
        let place = self.place(e, again.kind());
        self.waiting[place].push(Reverse(again));
    }

    /// Takes out what endpoint `e` should have sent again before tick `now`, or in it.
    pub(crate) fn give_up(&mut self, e: u32, now: Tick) -> Option<Again> {
        let begun = self.places(e).find_map(|place| self.begun[place].take());
        begun.or_else(|| self.due(e, now))
    }

    /// The partition of an endpoint of the network.
    pub(crate) fn home(&self, endpoint: u32) -> u32 {
        self.homes[endpoint as usize]
    }

    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        let heap = |heap: &BinaryHeap<_>| heap.capacity() * size_of::<Again>() + size_of::<BinaryHeap<Again>>();
        self.waiting.iter().map(heap).sum::<usize>() + self.begun.capacity() * size_of::<Option<Again>>()
    }

    /// The tick, at the beginning of a cycle, in which a source hears of what was lost at tick `now`, if that fits in
    /// what can be simulated.
    fn heard(&self, now: Tick, ticks_per_cycle: Tick, cycles: Tick) -> Option<Tick> {
        let cycle = (u64::from(now).div_ceil(ticks_per_cycle.into())) + u64::from(self.rule.timeout);
        Some(Tick::try_from(cycle).ok().filter(|cycle| *cycle < cycles)? * ticks_per_cycle)
    }

    /// What becomes of a packet that was lost at tick `now`, if it is sent again.
    pub(crate) fn after(&self, packet: &Packet, now: Tick, ticks_per_cycle: Tick, cycles: Tick) -> Option<Again> {
        if packet.repeats() >= self.rule.attempts {
            return None;
        }
        Some(Again {
            at: self.heard(now, ticks_per_cycle, cycles)?,
            cycle: packet.birth / ticks_per_cycle,
            destination: packet.destination,
            size: packet.size,
            times: packet.repeats() + 1,
            source: packet.source,
            reply: self.kinds > 1 && Kind::of(packet) == Kind::Reply,
        })
    }

    /// What becomes of a request of which `packet`, or its reply, is lost at tick `now` and not sent again.
    pub(crate) fn ending(&self, packet: &Packet, now: Tick, ticks_per_cycle: Tick, cycles: Tick) -> Option<Ending> {
        let at = self.heard(now, ticks_per_cycle, cycles)?;
        let &Packet { source, destination, birth, .. } = packet;
        Some(match Kind::of(packet) {
            Kind::Request => Ending { at, asked: destination, cycle: birth / ticks_per_cycle, source },
            Kind::Reply => Ending { at, asked: source, cycle: NONE, source: destination },
        })
    }
}

/// `endpoint` does not send again what was lost.
pub(crate) fn lost_for_good(
    endpoint: &Endpoint,
    packet: Generated,
    (now, settings): (Tick, &Settings),
    collector: &mut Collector,
) {
    let birth = packet.cycle * settings.ticks_per_cycle;
    let packet = Packet { birth, size: packet.size, ..Packet::new(endpoint.number, packet.destination) };
    collector.lost(&packet, now);
}
