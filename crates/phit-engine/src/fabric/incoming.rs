//! Messages that are on their way to the ranks of an executor.
//!
//! A packet is identified by the endpoint that sent it and the cycle of its generation, which no two packets of an
//! endpoint share. The packets of a message have consecutive cycles.
//!
//! Messages of one source, destination and tag arrive in the order of sending. Over one endpoint, this is the order of
//! their first packets, so it is enough to learn of a message when its first packet is made. Over several rails, a
//! message may arrive before the packets of an earlier one are made. There, messages are announced and numbered when
//! they are sent.

use crate::engine::{NONE, Tick, fetch};
use crate::packet::Packet;
use phit_workload::Ranks;
use phit_workload::host::Message;
use phit_workload::lists::{List, Lists};
use phit_workload::rails::InOrder;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The announcement of a message before its first packet arrives.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Announced {
    pub(super) message: Message,
    /// The endpoint that sends it.
    pub(super) from: u32,
    /// Cycle of its first packet.
    pub(super) first: u32,
    /// Packets.
    pub(super) packets: u32,
}

/// A message under way.
#[derive(Debug, Clone, Copy)]
struct Coming {
    message: Message,
    key: Key,
    /// Packets that have yet to come.
    left: u32,
}

/// Times of arrival of a message.
#[derive(Debug, Clone, Copy)]
pub(super) struct Times {
    /// Tick at which its first packet was injected.
    pub(super) injected: Tick,
    /// Tick of the first phit.
    pub(super) first: Tick,
    /// Tick of the last phit, when all have arrived.
    pub(super) last: Tick,
    /// Tick of generation of the latest packet that has arrived.
    latest: Tick,
    /// Packets that arrived after a later one of the message.
    pub(super) overtaken: u32,
}

impl Default for Times {
    fn default() -> Self {
        Self { injected: NONE, first: NONE, last: 0, latest: 0, overtaken: 0 }
    }
}

/// A message that has arrived.
#[derive(Debug, Clone, Copy)]
pub(super) struct Come {
    pub(super) message: Message,
    /// Its times of arrival, if they are recorded.
    pub(super) times: Times,
}

/// The endpoint that sends a message, and the cycle of its first packet.
type Key = (u32, u32);

/// The complete arrival of a message. Its order is the one in which messages of one tick are taken in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Arrival {
    /// Place of the destination.
    pub(super) place: u32,
    source: u32,
    key: Key,
    /// When its first byte left its host.
    pub(super) posted: u64,
}

/// Most messages that are searched one after another; more have an index.
const FEW: u32 = 8;

/// Most messages of a rank that are prefetched.
const MOST_FETCHED: usize = 4;

/// In [`OfRank::len`]: there is an index, until no message is left.
const MANY: u32 = u32::MAX;

/// Messages under way to a rank. Messages of one endpoint are in the order of sending. The first message, mostly the
/// only one, is stored here.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
struct OfRank {
    /// [`NOTHING`] if there is none, or if there is an index.
    first: Coming,
    /// The messages after it.
    rest: List,
    len: u32,
}

const _: () = assert!(size_of::<OfRank>() == 64);

impl OfRank {
    const NONE: Self = Self { first: NOTHING, rest: List::EMPTY, len: 0 };

    /// The message that is stored here.
    #[inline]
    fn first(&self) -> Option<&Coming> {
        (self.first.key != NOBODY).then_some(&self.first)
    }
}

/// A key that no message has.
const NOBODY: Key = (NONE, NONE);

/// No message.
const NOTHING: Coming = Coming {
    message: Message { source: 0, destination: 0, number: 0, bytes: 0, tag: 0, cpu: 0, nic: 0, left: 0, mark: 0 },
    key: NOBODY,
    left: 0,
};

/// Messages under way to some ranks.
pub(super) struct Incoming {
    ranks: Ranks,
    /// By place of the destination.
    heads: Vec<OfRank>,
    /// For ranks with few messages: those after the first.
    few: Lists<Coming>,
    /// For ranks with many messages, by place of the destination.
    many: FxHashMap<u32, BTreeMap<Key, Coming>>,
    /// Messages that have arrived in this tick.
    come: Vec<Arrival>,
    /// Times of arrival, by place and key, if they are recorded.
    times: Option<FxHashMap<(u32, Key), Times>>,
    /// Messages that have arrived over several rails, in order.
    order: Option<InOrder<Come>>,
}

impl Incoming {
    /// No messages under way to `ranks`. `rails`: each has several rails. `noted`: times of arrival are recorded.
    pub(super) fn new(ranks: Ranks, rails: bool, noted: bool) -> Self {
        Self {
            heads: vec![OfRank::NONE; ranks.len()],
            ranks,
            few: Lists::default(),
            many: FxHashMap::default(),
            come: Vec::new(),
            times: noted.then(FxHashMap::default),
            order: rails.then(InOrder::default),
        }
    }

    /// Learns of a message before its first packet arrives.
    pub(super) fn expect(&mut self, Announced { message, from, first, packets }: Announced) {
        let place = self.ranks.place(message.destination);
        let coming = Coming { message, key: (from, first), left: packets };
        let of_rank = &mut self.heads[place];
        match of_rank.len {
            0 => (of_rank.first, of_rank.len) = (coming, 1),
            len if len < FEW => {
                of_rank.len += 1;
                self.few.push(&mut of_rank.rest, coming);
            }
            _ => self.expect_many(place as u32, coming),
        }
        if let Some(order) = &mut self.order {
            order.sent(&message);
        }
    }

    #[cold]
    fn expect_many(&mut self, place: u32, coming: Coming) {
        let (of_rank, many) = (&mut self.heads[place as usize], self.many.entry(place).or_default());
        if let Some(first) = of_rank.first() {
            many.insert(first.key, *first);
        }
        (of_rank.first, of_rank.len) = (NOTHING, MANY);
        while let Some(before) = self.few.pop(&mut of_rank.rest) {
            many.insert(before.key, before);
        }
        many.insert(coming.key, coming);
    }

    /// A packet for the rank at `place`, generated in `cycle`, has arrived at tick `now`; its head was there at `head`.
    /// Returns the message if this was its last packet.
    #[inline]
    pub(super) fn packet(
        &mut self,
        place: u32,
        cycle: u32,
        packet: &Packet,
        (head, now): (Tick, Tick),
    ) -> Option<Arrival> {
        let coming = self.of_packet(place, (packet.source, cycle))?;
        coming.left -= 1;
        let (key, source, left, posted) = (coming.key, coming.message.source, coming.left, coming.message.left);
        if let Some(times) = &mut self.times {
            let times = times.entry((place, key)).or_default();
            // Packets of several injection queues may overtake one another.
            times.injected = times.injected.min(packet.injected);
            times.first = times.first.min(head);
            times.last = times.last.max(now);
            times.overtaken += u32::from(packet.birth < times.latest);
            times.latest = times.latest.max(packet.birth);
        }
        (left == 0).then_some(Arrival { place, source, key, posted })
    }

    /// A message has arrived. It is taken in when all messages of the tick have arrived.
    #[inline]
    pub(super) fn note(&mut self, arrival: Arrival) {
        self.come.push(arrival);
    }

    /// The message to the rank at `place` whose packet an endpoint generated in `cycle`.
    #[inline]
    fn of_packet(&mut self, place: u32, (from, cycle): Key) -> Option<&mut Coming> {
        let of_rank = &mut self.heads[place as usize];
        if !of_rank.rest.is_empty() {
            let is_it = |at: &u32| self.few[*at].key.0 == from && self.few[*at].key.1 <= cycle;
            if let Some(at) = self.few.places(of_rank.rest).filter(is_it).last() {
                return Some(&mut self.few[at]);
            }
        }
        if of_rank.len == MANY {
            let (_, coming) = self.many.get_mut(&place)?.range_mut(..=(from, cycle)).next_back()?;
            return (coming.key.0 == from).then_some(coming);
        }
        let first = &mut of_rank.first;
        (first.key.0 == from && first.key.1 <= cycle).then_some(first)
    }

    fn remove(&mut self, place: u32, key: Key) -> Option<Come> {
        let of_rank = &mut self.heads[place as usize];
        let coming = match of_rank.len {
            MANY => {
                let many = self.many.get_mut(&place)?;
                let coming = many.remove(&key)?;
                if many.is_empty() {
                    self.many.remove(&place);
                    of_rank.len = 0;
                }
                coming
            }
            _ => {
                let coming = match of_rank.first.key == key {
                    true => {
                        let next = self.few.pop(&mut of_rank.rest);
                        std::mem::replace(&mut of_rank.first, next.unwrap_or(NOTHING))
                    }
                    false => self.few.take(&mut of_rank.rest, |coming| coming.key == key)?,
                };
                of_rank.len -= 1;
                coming
            }
        };
        let times = self.times.as_mut().and_then(|times| times.remove(&(place, key))).unwrap_or_default();
        Some(Come { message: coming.message, times })
    }

    /// Takes out the message of `key`, which has arrived, if no earlier one of its sender and tag is missing. Also
    /// takes out messages that have waited for it.
    fn take_first(&mut self, place: u32, key: Key, each: &mut impl FnMut(Come)) {
        let Some(tag) = self.get(place, key).map(|coming| coming.message.tag) else { return };
        while let Some(first) = self.first_of(place, key.0, tag).filter(|coming| coming.left == 0) {
            let first = first.key;
            self.remove(place, first).into_iter().for_each(&mut *each);
        }
    }

    /// The earliest message of `tag` from an endpoint.
    fn first_of(&self, place: u32, from: u32, tag: u32) -> Option<&Coming> {
        match self.many.get(&place) {
            None => self.few(place).find(|coming| coming.key.0 == from && coming.message.tag == tag),
            Some(many) => {
                many.range((from, 0)..=(from, NONE)).map(|(_, coming)| coming).find(|coming| coming.message.tag == tag)
            }
        }
    }

    fn get(&self, place: u32, key: Key) -> Option<&Coming> {
        match self.many.get(&place) {
            None => self.few(place).find(|coming| coming.key == key),
            Some(many) => many.get(&key),
        }
    }

    fn few(&self, place: u32) -> impl Iterator<Item = &Coming> {
        let of_rank = &self.heads[place as usize];
        of_rank.first().into_iter().chain(self.few.iter(of_rank.rest))
    }

    /// The messages that have arrived in this tick, by destination, source and order of sending. The caller must [give
    /// back](Self::give_back) the list.
    #[inline]
    pub(super) fn come(&mut self) -> Vec<Arrival> {
        let mut come = std::mem::take(&mut self.come);
        if come.len() > 1 {
            come.sort_unstable();
        }
        come
    }

    /// Takes back an emptied list of arrivals.
    #[inline]
    pub(super) fn give_back(&mut self, mut come: Vec<Arrival>) {
        come.clear();
        self.come = come;
    }

    /// The message of an arrival, if it can be taken in alone: no earlier one of its sender is missing, and none has
    /// waited for it. `None` also if times of arrival are recorded.
    #[inline]
    pub(super) fn alone(&self, &Arrival { place, key, .. }: &Arrival) -> Option<Message> {
        let of_rank = &self.heads[place as usize];
        if self.order.is_some() || self.times.is_some() {
            return None;
        }
        if of_rank.len == 1 {
            return Some(of_rank.first.message);
        }
        let mut found = None;
        for coming in self.few(place) {
            match coming.key.0 == key.0 {
                true if coming.key == key => found = Some(coming.message),
                true if found.is_none() || coming.left == 0 => return None,
                _ => {}
            }
        }
        found
    }

    /// The message of an arrival that was [alone](Self::alone) has been taken in.
    #[inline]
    pub(super) fn taken(&mut self, &Arrival { place, key, .. }: &Arrival) {
        let of_rank = &mut self.heads[place as usize];
        match of_rank.len {
            1 => (of_rank.first.key, of_rank.len) = (NOBODY, 0),
            _ => drop(self.remove(place, key)),
        }
    }

    /// Calls `each` with a rank's messages that have arrived in this tick, and with earlier arrivals that had to wait
    /// for them: by source, and in the order of sending.
    pub(super) fn take_in(&mut self, of_rank: &[Arrival], mut each: impl FnMut(Come)) {
        let Some(mut order) = self.order.take() else {
            return of_rank.iter().for_each(|arrival| self.take_first(arrival.place, arrival.key, &mut each));
        };
        let mut come: Vec<Come> =
            of_rank.iter().filter_map(|arrival| self.remove(arrival.place, arrival.key)).collect();
        come.sort_unstable_by_key(|come| (come.message.source, come.message.mark));
        come.into_iter().for_each(|come| order.come(&come.message, come, &mut each));
        self.order = Some(order);
    }

    /// Brings the state of all ranks into the cache.
    pub(super) fn fetch(&self) {
        fetch(&self.heads);
        self.few.fetch(MOST_FETCHED * self.heads.len());
    }

    /// True if every message that has arrived has been taken in.
    pub(super) fn at_rest(&self) -> bool {
        self.come.is_empty()
    }

    /// The messages that have not arrived completely.
    pub(super) fn left(&self) -> impl Iterator<Item = Message> + '_ {
        (0..self.ranks.len() as u32).flat_map(|place| {
            let mut all: Vec<&Coming> = match self.many.get(&place) {
                None => self.few(place).collect(),
                Some(many) => many.values().collect(),
            };
            all.sort_unstable_by_key(|coming| (coming.message.source, coming.message.nic, coming.key));
            all.into_iter().map(|coming| coming.message)
        })
    }

    /// Bytes held.
    pub(super) fn bytes(&self) -> usize {
        self.heads.capacity() * size_of::<OfRank>()
            + self.few.bytes()
            + self.many.values().map(|many| many.len() * size_of::<(Key, Coming)>()).sum::<usize>()
            + self.order.as_ref().map_or(0, InOrder::bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn message(source: u32, number: u32, tag: u32) -> Message {
        Message { source, destination: 0, number, bytes: 1, tag, cpu: 0, nic: 0, left: 0, mark: 0 }
    }

    proptest! {
        /// Packets may overtake one another in any way, and each is still counted for its own message. Messages of one
        /// source and tag arrive in the order of sending, each as soon as it and all earlier ones are complete. There
        /// are few or many messages under way.
        #[test]
        fn messages_arrive_in_order(
            sent in prop::collection::vec((0..3u32, 0..2u32, 1..4u32), 1..40),
            shuffle in prop::collection::vec(any::<u32>(), 160),
        ) {
            let mut incoming = Incoming::new(Ranks::all(1), false, false);
            let mut next = [0; 3];
            let mut packets: Vec<(u32, u32, usize)> = Vec::new();
            for (number, &(source, tag, count)) in sent.iter().enumerate() {
                let first = next[source as usize];
                next[source as usize] += count;
                let message = message(source, number as u32, tag);
                // Endpoints are numbered otherwise than ranks.
                incoming.expect(Announced { message, from: 9 - source, first, packets: count });
                packets.extend((first..first + count).map(|cycle| (9 - source, cycle, number)));
            }
            let places = packets.iter().zip(&shuffle).map(|(packet, key)| (*key, *packet));
            let mut coming: Vec<_> = places.collect();
            coming.sort_unstable();
            let mut left: Vec<u32> = sent.iter().map(|(_, _, count)| *count).collect();
            let (mut there, mut gone) = (vec![false; sent.len()], vec![false; sent.len()]);
            for (tick, (_, (from, cycle, number))) in (1..).zip(coming) {
                let last = incoming.packet(0, cycle, &Packet::new(from, 0), (tick, tick));
                left[number] -= 1;
                there[number] = left[number] == 0;
                prop_assert_eq!(last.is_some(), there[number]);
                let mut come = Vec::new();
                match last.and_then(|last| Some((last, incoming.alone(&last)?))) {
                    Some((last, message)) => {
                        come.push(message);
                        incoming.taken(&last);
                    }
                    None => {
                        last.into_iter().for_each(|last| incoming.note(last));
                        let arrived = incoming.come();
                        incoming.take_in(&arrived, |coming| come.push(coming.message));
                        incoming.give_back(arrived);
                    }
                }
                let (source, tag, _) = sent[number];
                let own = (0..sent.len()).filter(|one| (sent[*one].0, sent[*one].1) == (source, tag));
                let ready: Vec<usize> = own.take_while(|one| there[*one]).filter(|one| !gone[*one]).collect();
                prop_assert_eq!(come.iter().map(|message| message.number as usize).collect::<Vec<_>>(), ready);
                come.iter().for_each(|message| gone[message.number as usize] = true);
                let missing = incoming.left().count();
                prop_assert_eq!(missing, gone.iter().filter(|gone| !**gone).count());
            }
            prop_assert!(gone.iter().all(|gone| *gone));
        }
    }
}
