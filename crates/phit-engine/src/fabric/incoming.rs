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
use phit_workload::rails::InOrder;
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
use std::collections::BTreeMap;

/// What is told of a message before its first packet comes.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Announced {
    pub(super) message: Message,
    /// The slot that sends it, and its endpoint.
    pub(super) slot: u32,
    pub(super) from: u32,
    /// Cycle of its first packet.
    pub(super) first: u32,
    /// Packets.
    pub(super) packets: u32,
}

/// What has come of a message.
#[derive(Debug, Clone, Copy)]
pub(super) struct Coming {
    pub(super) message: Message,
    key: Key,
    slot: u32,
    /// Packets that have yet to come.
    left: u32,
    /// Tick at which the first of its packets was injected.
    pub(super) injected: Tick,
    /// Tick of the first phit.
    pub(super) first: Tick,
    /// Tick of the last phit, when all have come.
    pub(super) last: Tick,
}

/// The endpoint that sends a message, and the cycle of its first packet.
type Key = (u32, u32);

/// So many messages are looked at one after the other; of more there is an index.
const FEW: usize = 8;

/// Messages on their way to a rank.
enum OfRank {
    /// A few: those of one endpoint in the order in which they were sent.
    Few(SmallVec<[Coming; 1]>),
    /// Many, until none is left.
    Many(BTreeMap<Key, Coming>),
}

impl OfRank {
    fn add(&mut self, coming: Coming) {
        match self {
            Self::Few(few) if few.len() < FEW => few.push(coming),
            Self::Few(few) => {
                *self = Self::Many(few.drain(..).chain([coming]).map(|coming| (coming.key, coming)).collect());
            }
            Self::Many(many) => drop(many.insert(coming.key, coming)),
        }
    }

    /// The message of which an endpoint has generated a packet in `cycle`.
    fn of_packet(&mut self, (from, cycle): Key) -> Option<&mut Coming> {
        match self {
            Self::Few(few) => few.iter_mut().rfind(|coming| coming.key.0 == from && coming.key.1 <= cycle),
            Self::Many(many) => {
                let (_, coming) = many.range_mut(..=(from, cycle)).next_back()?;
                (coming.key.0 == from).then_some(coming)
            }
        }
    }

    fn remove(&mut self, key: Key) -> Option<Coming> {
        match self {
            Self::Few(few) => few.iter().position(|coming| coming.key == key).map(|place| few.remove(place)),
            Self::Many(many) => {
                let coming = many.remove(&key);
                if many.is_empty() {
                    *self = Self::Few(SmallVec::new());
                }
                coming
            }
        }
    }

    /// Takes out the message of `key`, which has come, if no other of its sender and tag is before it; and those that
    /// have waited for it.
    fn take_first(&mut self, key: Key, each: &mut impl FnMut(Coming)) {
        if let Self::Few(few) = self
            && few.len() == 1
        {
            return few.pop().into_iter().for_each(each);
        }
        let Some(tag) = self.get(key).map(|coming| coming.message.tag) else { return };
        while let Some(first) = self.first_of(key.0, tag).filter(|coming| coming.left == 0) {
            let first = first.key;
            self.remove(first).into_iter().for_each(&mut *each);
        }
    }

    /// The message of `tag` that an endpoint has sent first.
    fn first_of(&self, from: u32, tag: u32) -> Option<&Coming> {
        match self {
            Self::Few(few) => few.iter().find(|coming| coming.key.0 == from && coming.message.tag == tag),
            Self::Many(many) => {
                many.range((from, 0)..=(from, NONE)).map(|(_, coming)| coming).find(|coming| coming.message.tag == tag)
            }
        }
    }

    fn get(&self, key: Key) -> Option<&Coming> {
        match self {
            Self::Few(few) => few.iter().find(|coming| coming.key == key),
            Self::Many(many) => many.get(&key),
        }
    }

    fn all(&self) -> Vec<&Coming> {
        match self {
            Self::Few(few) => few.iter().collect(),
            Self::Many(many) => many.values().collect(),
        }
    }

    /// Bytes held elsewhere.
    fn bytes(&self) -> usize {
        match self {
            Self::Few(few) => {
                if few.spilled() {
                    few.capacity() * size_of::<Coming>()
                } else {
                    0
                }
            }
            Self::Many(many) => many.len() * size_of::<(Key, Coming)>(),
        }
    }
}

/// Messages on their way to some ranks.
pub(super) struct Incoming {
    ranks: Ranks,
    /// By place of the destination.
    coming: Vec<OfRank>,
    /// Messages that have come in this tick: destination, slot, and by what they are known.
    come: Vec<(u32, u32, Key)>,
    /// Those that come over several rails.
    order: Option<InOrder<Coming>>,
}

impl Incoming {
    /// Nothing on its way to `ranks`, of several rails each or one.
    pub(super) fn new(ranks: Ranks, rails: bool) -> Self {
        Self {
            coming: std::iter::repeat_with(|| OfRank::Few(SmallVec::new())).take(ranks.len()).collect(),
            ranks,
            come: Vec::new(),
            order: rails.then(InOrder::default),
        }
    }

    /// Hears of a message before its first packet comes.
    pub(super) fn expect(&mut self, Announced { message, slot, from, first, packets }: Announced) {
        let place = self.ranks.place(message.destination);
        let (key, left) = ((from, first), packets);
        self.coming[place].add(Coming { message, key, slot, left, injected: NONE, first: NONE, last: 0 });
        if let Some(order) = &mut self.order {
            order.sent(&message);
        }
    }

    /// A packet for `rank`, generated in `cycle`, is there at tick `now`; its head was at `head`.
    pub(super) fn packet(&mut self, rank: u32, cycle: u32, packet: &Packet, (head, now): (Tick, Tick)) {
        let Some(coming) = self.coming[self.ranks.place(rank)].of_packet((packet.source, cycle)) else { return };
        // Packets of several injection queues may overtake one another.
        coming.injected = coming.injected.min(packet.injected);
        coming.first = coming.first.min(head);
        coming.left -= 1;
        if coming.left == 0 {
            coming.last = now;
            self.come.push((rank, coming.slot, coming.key));
        }
    }

    /// Calls `each` with the messages that have come in this tick, and with those that came earlier and had to wait for
    /// them: by destination, by source, and in the order in which they were sent.
    pub(super) fn take_in(&mut self, mut each: impl FnMut(Coming)) {
        if self.come.is_empty() {
            return;
        }
        let mut come = std::mem::take(&mut self.come);
        come.sort_unstable();
        match &mut self.order {
            None => come.drain(..).for_each(|(destination, _, key)| {
                self.coming[self.ranks.place(destination)].take_first(key, &mut each);
            }),
            Some(order) => {
                let coming = come
                    .drain(..)
                    .filter_map(|(destination, _, key)| self.coming[self.ranks.place(destination)].remove(key));
                let mut coming: Vec<Coming> = coming.collect();
                let key = |Message { destination, source, mark, .. }: Message| (destination, source, mark);
                coming.sort_unstable_by_key(|coming| key(coming.message));
                coming.into_iter().for_each(|coming| order.come(&coming.message, coming, &mut each));
            }
        }
        self.come = come;
    }

    /// Brings what is known of all ranks into the cache.
    pub(super) fn fetch(&self) {
        fetch(&self.coming);
    }

    /// True if no message has come that has not been taken in.
    pub(super) fn at_rest(&self) -> bool {
        self.come.is_empty()
    }

    /// The messages of which not all packets have come.
    pub(super) fn left(&self) -> impl Iterator<Item = Message> + '_ {
        self.coming.iter().flat_map(|of_rank| {
            let mut all = of_rank.all();
            all.sort_unstable_by_key(|coming| (coming.slot, coming.key));
            all.into_iter().map(|coming| coming.message)
        })
    }

    /// Bytes held.
    pub(super) fn bytes(&self) -> usize {
        self.coming.capacity() * size_of::<OfRank>()
            + self.coming.iter().map(OfRank::bytes).sum::<usize>()
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
            let mut incoming = Incoming::new(Ranks::all(1), false);
            let mut next = [0; 3];
            let mut packets: Vec<(u32, u32, usize)> = Vec::new();
            for (number, &(source, tag, count)) in sent.iter().enumerate() {
                let first = next[source as usize];
                next[source as usize] += count;
                let message = message(source, number as u32, tag);
                // Endpoints stand in another order than ranks.
                incoming.expect(Announced { message, slot: source, from: 9 - source, first, packets: count });
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
