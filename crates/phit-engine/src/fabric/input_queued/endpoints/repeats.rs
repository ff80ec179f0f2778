//! Packets that were lost, and are sent again by their sources.
//!
//! Where a packet is lost, a word of it goes to its source, which is there when the time is over; the source then sends
//! it before whatever it has not sent yet. The packet itself says how often that has happened.

use super::exchange::Kind;
use crate::engine::{NONE, Tick};
use crate::fabric::input_queued::options::kernel::Kernel;
use crate::fabric::input_queued::partition::Partition;
use crate::fabric::input_queued::state::kind;
use crate::packet::{Packet, repeated};
use crate::topology::Retransmit;
use crate::traffic::Generated;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;
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
    /// It answers a request.
    reply: bool,
}

impl Again {
    pub(crate) fn generated(&self) -> Generated {
        Generated { cycle: self.cycle, destination: self.destination, size: self.size }
    }

    /// How often it will have been sent again, as its packet says it.
    pub(crate) fn mark(&self) -> u8 {
        repeated(self.times)
    }

    /// As its source sends it.
    fn kind(&self) -> Kind {
        if self.reply { Kind::Reply } else { Kind::Request }
    }
}

/// There will be no reply to a request: it has been given up, or its reply has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Ending {
    /// Tick in which who has asked knows of it.
    pub at: Tick,
    /// Who was asked.
    pub asked: u32,
    /// Cycle in which the request was generated; all ones if it is its reply that was given up.
    pub cycle: u32,
    /// Who asked.
    pub source: u32,
}

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
    fn after(&self, packet: &Packet, now: Tick, ticks_per_cycle: Tick, cycles: Tick) -> Option<Again> {
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
    fn ending(&self, packet: &Packet, now: Tick, ticks_per_cycle: Tick, cycles: Tick) -> Option<Ending> {
        let at = self.heard(now, ticks_per_cycle, cycles)?;
        let &Packet { source, destination, birth, .. } = packet;
        Some(match Kind::of(packet) {
            Kind::Request => Ending { at, asked: destination, cycle: birth / ticks_per_cycle, source },
            Kind::Reply => Ending { at, asked: source, cycle: NONE, source: destination },
        })
    }
}

impl Partition {
    /// A packet is lost: its source hears of it, or it is given up.
    #[cold]
    #[inline(never)]
    pub(crate) fn lose(&mut self, index: u32) {
        let packet = self.packets[index];
        self.part_ends(index);
        let (cycle, cycles) = (self.settings.ticks_per_cycle, self.settings.cycles);
        let Some(repeats) = &self.repeats else { return self.collector.lost(&packet, self.now) };
        let home = |endpoint: u32| repeats.homes[endpoint as usize];
        match repeats.after(&packet, self.now, cycle, cycles) {
            Some(again) => match home(again.source) {
                home if home == self.index => self.take_back(again, self.now),
                home => self.post.mail_to(home).again.push(again),
            },
            None => {
                let asked = self.settings.exchanges;
                let ending = asked.then(|| repeats.ending(&packet, self.now, cycle, cycles)).flatten();
                match ending.map(|ending| (home(ending.source), ending)) {
                    Some((home, ending)) if home == self.index => self.expect_ending(ending, self.now),
                    Some((home, ending)) => self.post.mail_to(home).ended.push(ending),
                    None => {}
                }
                self.collector.lost(&packet, self.now);
            }
        }
    }

    /// An endpoint of this partition is to send a packet again; everything before tick `now` has been handled.
    pub(crate) fn take_back(&mut self, again: Again, now: Tick) {
        let Ok(e) = self.endpoints.binary_search_by_key(&again.source, |endpoint| endpoint.number) else { return };
        let Some(repeats) = &mut self.repeats else { return };
        let place = repeats.place(e as u32, again.kind());
        repeats.waiting[place].push(Reverse(again));
        self.file_after(now, again.at, kind::SEND, e as u32, 0);
    }

    /// Endpoint `e` gives up what it should have sent again before tick `now`, or in it: it does not work.
    pub(crate) fn give_up(&mut self, e: u32, now: Tick) {
        while let Some(repeats) = &mut self.repeats {
            let begun = repeats.places(e).find_map(|place| repeats.begun[place].take());
            let Some(again) = begun.or_else(|| repeats.due(e, now)) else { return };
            self.lost_for_good(e, again.generated());
        }
    }

    /// Endpoint `e` does not send again what was lost.
    pub(crate) fn lost_for_good(&mut self, e: u32, packet: Generated) {
        let birth = packet.cycle * self.settings.ticks_per_cycle;
        let source = self.endpoints[e].number;
        let packet = Packet { birth, size: packet.size, ..Packet::new(source, packet.destination) };
        self.collector.lost(&packet, self.now);
    }

    /// Sends what endpoint `e` can send now, what it sends again first, and files its next attempt.
    #[inline(never)]
    pub(crate) fn send_repeating<K: Kernel>(&mut self, e: u32) {
        if self.outages.is_silent(e) {
            return self.give_up(e, self.now);
        }
        loop {
            let Some(repeats) = &self.repeats else { return };
            let (endpoint, cycle) = (&self.endpoints[e], self.settings.ticks_per_cycle);
            let free = endpoint.free;
            let again = repeats.next(e, Kind::Request);
            // A packet generated in one cycle can be sent in the next.
            let due = [again.map(|again| again.at), endpoint.next.map(|packet| (packet.cycle + 1) * cycle)];
            let [first, second] = due.map(|tick| tick.map(|tick| tick.max(free)));
            let is_due = |tick: Option<Tick>| tick.is_some_and(|tick| tick <= self.now);
            // Flits of two packets do not mix.
            let own = endpoint.sent > 0 && !repeats.has_begun(e, Kind::Request);
            let (packet, mark) = match (again, endpoint.next) {
                (Some(again), _) if is_due(first) && !own => (again.generated(), again.mark()),
                (_, Some(packet)) if is_due(second) => (packet, 0),
                _ => return self.attempt_at(e, first.into_iter().chain(second).min()),
            };
            let size = self.config.flit_phits(packet.size, endpoint.sent);
            let Some(lane) = self.injection_lane::<K>(endpoint, packet, size) else {
                self.endpoints[e].blocked = true;
                return;
            };
            self.send_flit::<K>(e, packet, lane, size, mark);
            let more = self.endpoints[e].sent > 0;
            match mark {
                0 if more => {}
                0 => self.draw::<K>(e),
                _ => self.sent_again(e, Kind::Request, more),
            }
        }
    }

    /// Endpoint `e` has sent a flit of a packet again, of which `more` are to come.
    pub(crate) fn sent_again(&mut self, e: u32, kind: Kind, more: bool) {
        if let Some(again) = self.repeats.as_mut().and_then(|repeats| repeats.sent(e, kind, more)) {
            self.collector.counters.packets.sent_again(again.size);
        }
    }
}
