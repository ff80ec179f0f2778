//! Messages that are on their way to the ranks of an executor.
//!
//! A packet is known by the endpoint that sent it and by the cycle of its generation, which no two packets of an
//! endpoint share; the packets of a message count on from its first.
//!
//! Messages of one source, destination and tag arrive in the order in which they were sent. Over one endpoint that is
//! the order of their first packets, and it is enough to know of a message when its first packet is made. Over several
//! rails a message may be there before the packets of one that was sent earlier are made: there messages are known as
//! soon as they are sent, and are numbered.

use crate::engine::{NONE, Tick};
use crate::packet::Packet;
use phit_workload::Ranks;
use phit_workload::host::Message;
use phit_workload::rails::InOrder;
use std::collections::BTreeMap;

/// What is told of a message before its first packet comes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Announced {
    pub(super) message: Message,
    /// The slot that sends it.
    pub(super) slot: u32,
    /// Cycle of its first packet.
    pub(super) first: u32,
    /// Packets.
    pub(super) packets: u32,
}

/// What has come of a message.
#[derive(Debug, Clone, Copy)]
pub(super) struct Coming {
    pub(super) message: Message,
    /// Packets that have yet to come.
    left: u32,
    /// Tick at which the first of its packets was injected.
    pub(super) injected: Tick,
    /// Tick of the first phit.
    pub(super) first: Tick,
    /// Tick of the last phit, when all have come.
    pub(super) last: Tick,
}

/// Messages on their way to a rank: by the slot that sends them and the cycle of the first packet.
type OfRank = BTreeMap<(u32, u32), Coming>;

/// Messages on their way to some ranks.
pub(super) struct Incoming {
    ranks: Ranks,
    /// By place of the destination.
    coming: Vec<OfRank>,
    /// Messages that have come in this tick, as destination, slot and cycle of the first packet.
    come: Vec<(u32, u32, u32)>,
    /// Those that come over several rails.
    order: Option<InOrder<Coming>>,
}

impl Incoming {
    /// Nothing on its way to `ranks`, of several rails each or one.
    pub(super) fn new(ranks: Ranks, rails: bool) -> Self {
        Self {
            coming: std::iter::repeat_with(OfRank::new).take(ranks.len()).collect(),
            ranks,
            come: Vec::new(),
            order: rails.then(InOrder::default),
        }
    }

    /// Hears of a message before its first packet comes.
    pub(super) fn expect(&mut self, Announced { message, slot, first, packets }: Announced) {
        let place = self.ranks.place(message.destination);
        let coming = Coming { message, left: packets, injected: NONE, first: NONE, last: 0 };
        self.coming[place].insert((slot, first), coming);
        if let Some(order) = &mut self.order {
            order.sent(&message);
        }
    }

    /// A packet for `rank`, of `slot` and generated in `cycle`, is there at tick `now`; its head was at `head`.
    pub(super) fn packet(&mut self, rank: u32, slot: u32, cycle: u32, packet: &Packet, (head, now): (Tick, Tick)) {
        let of_rank = &mut self.coming[self.ranks.place(rank)];
        let before = of_rank.range_mut(..=(slot, cycle)).next_back();
        let Some((&(_, first), coming)) = before.filter(|((own, _), _)| *own == slot) else { return };
        // Packets of several injection queues may overtake one another.
        coming.injected = coming.injected.min(packet.injected);
        coming.first = coming.first.min(head);
        coming.left -= 1;
        if coming.left == 0 {
            coming.last = now;
            self.come.push((rank, slot, first));
        }
    }

    /// Calls `each` with the messages that have come in this tick, and with those that came earlier and had to wait for
    /// them: by destination, by source, and in the order in which they were sent.
    pub(super) fn take_in(&mut self, mut each: impl FnMut(Coming)) {
        let mut come = std::mem::take(&mut self.come);
        come.sort_unstable();
        match &mut self.order {
            None => come.drain(..).for_each(|(destination, slot, first)| {
                take_first(&mut self.coming[self.ranks.place(destination)], slot, first, &mut each);
            }),
            Some(order) => {
                let coming = come.drain(..).filter_map(|(destination, slot, first)| {
                    self.coming[self.ranks.place(destination)].remove(&(slot, first))
                });
                let mut coming: Vec<Coming> = coming.collect();
                let key = |Message { destination, source, mark, .. }: Message| (destination, source, mark);
                coming.sort_unstable_by_key(|coming| key(coming.message));
                coming.into_iter().for_each(|coming| order.come(&coming.message, coming, &mut each));
            }
        }
        self.come = come;
    }

    /// True if no message has come that has not been taken in.
    pub(super) fn at_rest(&self) -> bool {
        self.come.is_empty()
    }

    /// The messages of which not all packets have come.
    pub(super) fn left(&self) -> impl Iterator<Item = Message> + '_ {
        self.coming.iter().flat_map(BTreeMap::values).map(|coming| coming.message)
    }

    /// Bytes held.
    pub(super) fn bytes(&self) -> usize {
        self.coming.capacity() * size_of::<OfRank>()
            + self.coming.iter().map(|of_rank| of_rank.len() * size_of::<((u32, u32), Coming)>()).sum::<usize>()
            + self.order.as_ref().map_or(0, InOrder::bytes)
    }
}

/// Takes out the message of `slot` whose first packet is of cycle `first` and which has come, if no other of its tag is
/// before it; and those that have waited for it.
fn take_first(of_rank: &mut OfRank, slot: u32, first: u32, each: &mut impl FnMut(Coming)) {
    let Some(tag) = of_rank.get(&(slot, first)).map(|coming| coming.message.tag) else { return };
    if of_rank.len() == 1 {
        return of_rank.pop_first().into_iter().for_each(|(_, coming)| each(coming));
    }
    loop {
        let mut of_tag = of_rank.range((slot, 0)..=(slot, NONE)).filter(|(_, coming)| coming.message.tag == tag);
        let Some(next) = of_tag.next().filter(|(_, coming)| coming.left == 0).map(|(next, _)| *next) else { return };
        of_rank.remove(&next).into_iter().for_each(&mut *each);
    }
}
