//! Messages that are on their way to the ranks of an executor.
//!
//! A packet is known by the endpoint that sent it and by the cycle of its generation, which no two packets of an
//! endpoint share; the packets of a message count on from its first.
//!
//! Messages of one source, destination and tag arrive in the order in which they were sent. Over one endpoint that is
//! the order of their first packets, and it is enough to know of a message when its first packet is made. Over several
//! rails a message may be there before the packets of one that was sent earlier are made: there messages are known as
//! soon as they are sent, and are numbered.

use crate::engine::{NONE, Tick, fetch};
use crate::packet::Packet;
use phit_workload::Ranks;
use phit_workload::host::Message;
use phit_workload::lists::{List, Lists};
use phit_workload::rails::InOrder;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What is told of a message before its first packet comes.
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

/// A message that is on its way.
#[derive(Debug, Clone, Copy)]
struct Coming {
    message: Message,
    key: Key,
    /// Packets that have yet to come.
    left: u32,
}

/// When what of a message came.
#[derive(Debug, Clone, Copy)]
pub(super) struct Times {
    /// Tick at which the first of its packets was injected.
    pub(super) injected: Tick,
    /// Tick of the first phit.
    pub(super) first: Tick,
    /// Tick of the last phit, when all have come.
    pub(super) last: Tick,
}

impl Default for Times {
    fn default() -> Self {
        Self { injected: NONE, first: NONE, last: 0 }
    }
}

/// A message that has come.
#[derive(Debug, Clone, Copy)]
pub(super) struct Come {
    pub(super) message: Message,
    /// Place of its destination.
    pub(super) place: u32,
    /// When, if this is noted.
    pub(super) times: Times,
}

/// The endpoint that sends a message, and the cycle of its first packet.
type Key = (u32, u32);

/// So many messages are looked at one after the other; of more there is an index.
const FEW: u32 = 8;

/// In [`OfRank::len`]: there is an index, until no message is left.
const MANY: u32 = u32::MAX;

/// Messages on their way to a rank: those of one endpoint in the order in which they were sent.
#[derive(Debug, Clone, Copy, Default)]
struct OfRank {
    few: List,
    len: u32,
}

/// Messages on their way to some ranks.
pub(super) struct Incoming {
    ranks: Ranks,
    /// By place of the destination.
    heads: Vec<OfRank>,
    few: Lists<Coming>,
    /// By place of the destination, of ranks with many.
    many: FxHashMap<u32, BTreeMap<Key, Coming>>,
    /// Messages that have come in this tick: place of the destination, source, and by what they are known.
    come: Vec<(u32, u32, Key)>,
    /// When what of each has come, by place and key, if this is noted.
    times: Option<FxHashMap<(u32, Key), Times>>,
    /// Those that come over several rails.
    order: Option<InOrder<Come>>,
}

impl Incoming {
    /// Nothing on its way to `ranks`, of several rails each or one. `noted`: it is kept when messages come.
    pub(super) fn new(ranks: Ranks, rails: bool, noted: bool) -> Self {
        Self {
            heads: vec![OfRank::default(); ranks.len()],
            ranks,
            few: Lists::default(),
            many: FxHashMap::default(),
            come: Vec::new(),
            times: noted.then(FxHashMap::default),
            order: rails.then(InOrder::default),
        }
    }

    /// Hears of a message before its first packet comes.
    pub(super) fn expect(&mut self, Announced { message, from, first, packets }: Announced) {
        let place = self.ranks.place(message.destination);
        let coming = Coming { message, key: (from, first), left: packets };
        let of_rank = &mut self.heads[place];
        if of_rank.len < FEW {
            of_rank.len += 1;
            self.few.push(&mut of_rank.few, coming);
        } else {
            self.expect_many(place as u32, coming);
        }
        if let Some(order) = &mut self.order {
            order.sent(&message);
        }
    }

    #[cold]
    fn expect_many(&mut self, place: u32, coming: Coming) {
        let (of_rank, many) = (&mut self.heads[place as usize], self.many.entry(place).or_default());
        of_rank.len = MANY;
        while let Some(before) = self.few.pop(&mut of_rank.few) {
            many.insert(before.key, before);
        }
        many.insert(coming.key, coming);
    }

    /// A packet for the rank at `place`, generated in `cycle`, is there at tick `now`; its head was at `head`.
    #[inline]
    pub(super) fn packet(&mut self, place: u32, cycle: u32, packet: &Packet, (head, now): (Tick, Tick)) {
        let Some(coming) = self.of_packet(place, (packet.source, cycle)) else { return };
        coming.left -= 1;
        let (key, source, left) = (coming.key, coming.message.source, coming.left);
        if let Some(times) = &mut self.times {
            let times = times.entry((place, key)).or_default();
            // Packets of several injection queues may overtake one another.
            times.injected = times.injected.min(packet.injected);
            times.first = times.first.min(head);
            times.last = now;
        }
        if left == 0 {
            self.come.push((place, source, key));
        }
    }

    /// The message of which an endpoint has generated a packet in `cycle`, on its way to the rank at `place`.
    #[inline]
    fn of_packet(&mut self, place: u32, (from, cycle): Key) -> Option<&mut Coming> {
        let OfRank { few, len } = self.heads[place as usize];
        if len == MANY {
            let (_, coming) = self.many.get_mut(&place)?.range_mut(..=(from, cycle)).next_back()?;
            return (coming.key.0 == from).then_some(coming);
        }
        let is_it = |at: &u32| self.few[*at].key.0 == from && self.few[*at].key.1 <= cycle;
        let at = self.few.places(few).filter(is_it).last()?;
        Some(&mut self.few[at])
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
                let coming = self.few.take(&mut of_rank.few, |coming| coming.key == key)?;
                of_rank.len -= 1;
                coming
            }
        };
        let times = self.times.as_mut().and_then(|times| times.remove(&(place, key))).unwrap_or_default();
        Some(Come { message: coming.message, place, times })
    }

    /// Takes out the message of `key`, which has come, if no other of its sender and tag is before it; and those that
    /// have waited for it.
    #[inline]
    fn take_first(&mut self, place: u32, key: Key, each: &mut impl FnMut(Come)) {
        let only = self.heads[place as usize].few.only();
        if only.is_some_and(|only| self.few[only].key == key) {
            return self.remove(place, key).into_iter().for_each(each);
        }
        let Some(tag) = self.get(place, key).map(|coming| coming.message.tag) else { return };
        while let Some(first) = self.first_of(place, key.0, tag).filter(|coming| coming.left == 0) {
            let first = first.key;
            self.remove(place, first).into_iter().for_each(&mut *each);
        }
    }

    /// The message of `tag` that an endpoint has sent first.
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
        self.few.iter(self.heads[place as usize].few)
    }

    /// Calls `each` with the messages that have come in this tick, and with those that came earlier and had to wait for
    /// them: by destination, by source, and in the order in which they were sent.
    #[inline]
    pub(super) fn take_in(&mut self, mut each: impl FnMut(Come)) {
        if self.come.is_empty() {
            return;
        }
        let mut come = std::mem::take(&mut self.come);
        if come.len() > 1 {
            come.sort_unstable();
        }
        match self.order.take() {
            None => come.drain(..).for_each(|(place, _, key)| self.take_first(place, key, &mut each)),
            Some(mut order) => {
                let coming = come.drain(..).filter_map(|(place, _, key)| self.remove(place, key));
                let mut coming: Vec<Come> = coming.collect();
                let key = |Message { destination, source, mark, .. }: Message| (destination, source, mark);
                coming.sort_unstable_by_key(|coming| key(coming.message));
                coming.into_iter().for_each(|coming| order.come(&coming.message, coming, &mut each));
                self.order = Some(order);
            }
        }
        self.come = come;
    }

    /// Brings what is known of all ranks into the cache.
    pub(super) fn fetch(&self) {
        fetch(&self.heads);
        self.few.fetch();
    }

    /// True if no message has come that has not been taken in.
    pub(super) fn at_rest(&self) -> bool {
        self.come.is_empty()
    }

    /// The messages of which not all packets have come.
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
        /// However packets overtake one another, each is counted for its own message, and messages of one source and
        /// tag arrive in the order in which they were sent, each as soon as it and all of these before it have come: a
        /// few on their way at once, or many.
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
                // Endpoints stand in another order than ranks.
                incoming.expect(Announced { message, from: 9 - source, first, packets: count });
                packets.extend((first..first + count).map(|cycle| (9 - source, cycle, number)));
            }
            let places = packets.iter().zip(&shuffle).map(|(packet, key)| (*key, *packet));
            let mut coming: Vec<_> = places.collect();
            coming.sort_unstable();
            let mut left: Vec<u32> = sent.iter().map(|(_, _, count)| *count).collect();
            let (mut there, mut gone) = (vec![false; sent.len()], vec![false; sent.len()]);
            for (tick, (_, (from, cycle, number))) in (1..).zip(coming) {
                incoming.packet(0, cycle, &Packet::new(from, 0), (tick, tick));
                left[number] -= 1;
                there[number] = left[number] == 0;
                prop_assert_eq!(incoming.at_rest(), !there[number]);
                let mut come = Vec::new();
                incoming.take_in(|coming| come.push(coming));
                let (source, tag, _) = sent[number];
                let own = (0..sent.len()).filter(|one| (sent[*one].0, sent[*one].1) == (source, tag));
                let ready: Vec<usize> = own.take_while(|one| there[*one]).filter(|one| !gone[*one]).collect();
                prop_assert_eq!(come.iter().map(|coming| coming.message.number as usize).collect::<Vec<_>>(), ready);
                come.iter().for_each(|coming| gone[coming.message.number as usize] = true);
                let missing = incoming.left().count();
                prop_assert_eq!(missing, gone.iter().filter(|gone| !**gone).count());
            }
            prop_assert!(gone.iter().all(|gone| *gone));
        }
    }
}
