//! Lost packets that their sources send again.
//!
//! Where a packet is lost, a notice goes to its source, which gets it when the timeout is over. The source then sends
//! the packet before all packets that it has not sent yet. The packet itself records how often it has been sent again.

use super::endpoint::Endpoint;
use crate::engine::{NONE, Tick};
use crate::fabric::input_queued::options::settings::Settings;
use crate::fabric::input_queued::state::lost::{Again, Ending, Kind};
use crate::measure::Collector;
use crate::packet::{MOST_REPEATS, Packet};
use crate::topology::Retransmit;
use crate::traffic::Generated;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;
use std::sync::Arc;

/// The packets that the endpoints of a partition are to send again.
pub(crate) struct Repeats {
    rule: Retransmit,
    /// By endpoint of the network: its partition.
    homes: Arc<[u32]>,
    /// Kinds of packets for which an endpoint has separate queues, and of which it may send one each at a time: one, or
    /// requests and replies.
    kinds: u32,
    /// By endpoint of the partition and kind: the packets that wait.
    waiting: Vec<BinaryHeap<Reverse<Again>>>,
    /// By endpoint of the partition and kind: the packet that has been sent in part.
    begun: Vec<Option<Again>>,
}

impl Repeats {
    /// For `endpoints` endpoints with `kinds` kinds of packets, before anything has been lost.
    pub(crate) fn new(rule: Retransmit, homes: Arc<[u32]>, endpoints: usize, kinds: u32) -> Self {
        let places = endpoints * kinds as usize;
        Self { rule, homes, kinds, waiting: vec![BinaryHeap::new(); places], begun: vec![None; places] }
    }

    /// The place of packets of one kind of endpoint `e`.
    fn place(&self, e: u32, kind: Kind) -> usize {
        (e * self.kinds + if self.kinds > 1 { kind as u32 } else { 0 }) as usize
    }

    /// The places of all packets of endpoint `e`.
    fn places(&self, e: u32) -> Range<usize> {
        (e * self.kinds) as usize..((e + 1) * self.kinds) as usize
    }

    /// True if no packet is to be sent again.
    pub(crate) fn is_empty(&self) -> bool {
        self.all().next().is_none()
    }

    /// True if endpoint `e` has a packet to send again.
    pub(crate) fn waits(&self, e: u32) -> bool {
        self.places(e).any(|place| !self.waiting[place].is_empty())
    }

    /// The packets that are to be sent again, including those sent in part.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Again> {
        self.waiting.iter().flatten().map(|Reverse(again)| again).chain(self.begun.iter().flatten())
    }

    /// Number of packets to be sent again of which no flit has been sent.
    pub(crate) fn unsent(&self) -> u64 {
        self.waiting.iter().map(|waiting| waiting.len() as u64).sum()
    }

    /// The packet of one kind that endpoint `e` is sending again, or sends again next.
    pub(crate) fn next(&self, e: u32, kind: Kind) -> Option<Again> {
        let place = self.place(e, kind);
        self.begun[place].or_else(|| self.waiting[place].peek().map(|Reverse(again)| *again))
    }

    /// True if endpoint `e` has sent a part of a packet of this kind that it sends again.
    pub(crate) fn has_begun(&self, e: u32, kind: Kind) -> bool {
        self.begun[self.place(e, kind)].is_some()
    }

    /// Endpoint `e` has sent its next packet of this kind again, or a part of it if `more` flits are to come. Returns
    /// the packet when it has been sent completely.
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

    /// Takes out a packet that endpoint `e` can send again in tick `now`.
    pub(crate) fn due(&mut self, e: u32, now: Tick) -> Option<Again> {
        self.places(e).find_map(|place| {
            let due = self.waiting[place].peek().is_some_and(|Reverse(again)| again.at <= now);
            if due { self.waiting[place].pop().map(|Reverse(again)| again) } else { None }
        })
    }

    /// Endpoint `e` is to send a packet again.
    pub(crate) fn take_back(&mut self, e: u32, again: Again) {
        let place = self.place(e, again.kind());
        self.waiting[place].push(Reverse(again));
    }

    /// Takes out a packet that endpoint `e` has begun to send again, or should have begun in tick `now` or before.
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

    /// The tick, at the beginning of a cycle, in which a source learns of a packet lost at tick `now`. `None` if that
    /// cycle is beyond `cycles`, the cycles that can be simulated.
    fn heard(&self, now: Tick, ticks_per_cycle: Tick, cycles: Tick) -> Option<Tick> {
        let cycle = (u64::from(now).div_ceil(ticks_per_cycle.into())) + u64::from(self.rule.timeout);
        Some(Tick::try_from(cycle).ok().filter(|cycle| *cycle < cycles)? * ticks_per_cycle)
    }

    /// The repetition of a packet that was lost at tick `now`; `None` if the packet is not sent again.
    pub(crate) fn after(&self, packet: &Packet, now: Tick, ticks_per_cycle: Tick, cycles: Tick) -> Option<Again> {
        if packet.repeats() >= self.rule.attempts {
            return None;
        }
        Some(Again {
            at: self.heard(now, ticks_per_cycle, cycles)?,
            cycle: packet.birth / ticks_per_cycle,
            destination: packet.destination,
            size: packet.size,
            // A refused packet is sent again any number of times, and counts no further.
            times: (packet.repeats() + 1).min(MOST_REPEATS),
            source: packet.source,
            reply: self.kinds > 1 && Kind::of(packet) == Kind::Reply,
        })
    }

    /// The end of a request, if `packet` (the request or its reply) is lost at tick `now` and not sent again.
    pub(crate) fn ending(&self, packet: &Packet, now: Tick, ticks_per_cycle: Tick, cycles: Tick) -> Option<Ending> {
        let at = self.heard(now, ticks_per_cycle, cycles)?;
        let &Packet { source, destination, birth, .. } = packet;
        Some(match Kind::of(packet) {
            Kind::Request => Ending { at, asked: destination, cycle: birth / ticks_per_cycle, source },
            Kind::Reply => Ending { at, asked: source, cycle: NONE, source: destination },
        })
    }
}

/// `endpoint` does not send a lost packet again: counts it as lost.
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
