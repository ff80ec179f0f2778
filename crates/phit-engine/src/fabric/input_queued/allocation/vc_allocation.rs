//! Allocation of output virtual channels in a stage of its own. Every head asks for the free channels among those it
//! may use. Every channel grants one head in turn, and every head accepts one channel in turn. The round-robin pointers
//! move on accepted grants only (Dally and Towles, chapter 16).

use crate::engine::bits::{first_from, for_each_member, turn};
use crate::engine::{Memory, Rng, Tick};
use crate::fabric::seams::allocator::{Allocator, Best, InTurn, Request, Round};

/// A head without a channel.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Waiting {
    /// Its queue in the partition.
    pub queue: u32,
    /// The packet.
    pub packet: u32,
    /// Its router.
    pub router: u32,
    /// First of the channels in the partition that it may use.
    pub first: u32,
    /// The free ones among these channels: a bit each, from `first` on.
    pub free: u64,
    /// Place of its request for the crossbar among all; `NONE` if it has made none.
    pub request: u32,
    /// Its queue's number in the router (input port times queues per port, plus queue).
    pub number: u16,
    /// Channels from `first` on that it may use.
    pub count: u8,
    /// The bit of the output in its router (see [`crate::engine::bits`]).
    pub output: u8,
    /// Class of the link behind it.
    pub class: u8,
}

const _: () = assert!(size_of::<Waiting>() == 40);

/// An allocator to which queues are inputs and channels outputs.
pub(crate) struct Asked {
    allocator: Box<dyn Allocator>,
    /// Numbers of queues, and of channels, that each router has.
    width: u32,
    requests: Vec<Request>,
    grants: Vec<u32>,
}

impl Asked {
    pub(crate) fn new(allocator: Box<dyn Allocator>, width: u32) -> Self {
        Self { allocator, width, requests: Vec::new(), grants: Vec::new() }
    }

    /// Matches the heads of a router with channels, the first of which is `first_channel`; calls `won(head, channel)`
    /// for every pair. `birth` is the tick of generation of a head, or the rank of its class, `class` the rank of its
    /// request for a channel.
    pub(crate) fn allocate(
        &mut self,
        (now, rng, first_channel): (Tick, &mut Rng, u32),
        waiting: &[Waiting],
        (birth, class): (impl Fn(&Waiting) -> Tick, impl Fn(&Waiting, u32) -> u8),
        mut won: impl FnMut(&Waiting, u32),
    ) {
        let Some(router) = waiting.first().map(|head| head.router) else { return };
        let first_port = router * self.width;
        for (head, place) in waiting.iter().zip(0..) {
            for_each_member(head.free, 64, |vc| {
                self.requests.push(Request {
                    queue: place,
                    port: first_port + u32::from(head.number),
                    output: first_port + head.first - first_channel + vc,
                    router,
                    birth: birth(head),
                    input: head.number,
                    lane: vc as u16,
                    vc: vc as u16,
                    size: 1,
                    class: class(head, head.first + vc),
                    granted: false,
                });
            });
        }
        match &self.requests[..] {
            [alone] => {
                self.allocator.grant_alone(first_port, now, alone);
                self.grants.push(0);
            }
            all => self.allocator.allocate(Round { first_port, now, rng }, all, &mut self.grants),
        }
        for place in self.grants.drain(..) {
            let request = &self.requests[place as usize];
            won(&waiting[request.queue as usize], request.output - first_port + first_channel);
        }
        self.requests.clear();
    }

    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        self.allocator.bytes() + self.requests.capacity() * size_of::<Request>() + self.grants.capacity() * 4
    }
}

/// The stage of one partition.
pub(crate) enum VcAllocator {
    /// Arbiters at its channels and queues.
    Arbiters(Arbiters),
    /// The scenario's allocator.
    Asked(Asked),
}

impl VcAllocator {
    /// Adds the turns of channels and queues to `memory`.
    pub(crate) fn remember(&self, memory: &mut Memory) {
        match self {
            Self::Arbiters(arbiters) => {
                memory.add_all(arbiters.grant.iter().copied());
                memory.add_all(arbiters.accept.iter().copied());
            }
            Self::Asked(asked) => asked.allocator.remember(memory),
        }
    }

    /// True if it puts heads in the order of their packets' classes.
    pub(crate) fn by_class(&self) -> bool {
        matches!(self, Self::Asked(asked) if asked.allocator.by_class())
    }

    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Arbiters(arbiters) => arbiters.bytes(),
            Self::Asked(asked) => asked.bytes(),
        }
    }
}

/// The numbers of channels by which a queue takes turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Turns {
    /// A channel's place at its output.
    Places,
    /// Its number in the router, of at most [`MOST_NUMBERS`].
    Numbers,
}

/// Most channels of a router that have numbers of their own.
pub(crate) const MOST_NUMBERS: u32 = u8::MAX as u32;

/// The arbiters of one partition's channels and queues.
pub(crate) struct Arbiters {
    /// A head asks for all its channels and picks among the grants, or it picks before asking.
    rule: InTurn,
    turns: Turns,
    grant: Vec<u16>,
    accept: Vec<u8>,
    queues_per_router: u32,
    /// By head of a router that competes with others: a bit for the place of each channel that is granted to it.
    granted: Vec<u64>,
    /// By channel of a router: a bit for the number of each queue whose head asks for it. Empty between two routers.
    heads: Vec<u64>,
    best: Best,
    /// The heads of a router that may meet others at a channel.
    sharing: Vec<Waiting>,
}

impl Arbiters {
    /// For `channels` output VCs and `queues` input queues in routers of at most `queues_per_router` queues and
    /// `channels_per_router` channels.
    pub(crate) fn new(
        (rule, turns): (InTurn, Turns),
        channels: u32,
        queues: u32,
        queues_per_router: u32,
        channels_per_router: u32,
    ) -> Self {
        Self {
            rule,
            turns,
            grant: vec![0; channels as usize],
            accept: vec![0; queues as usize],
            queues_per_router,
            granted: Vec::new(),
            heads: vec![0; channels_per_router as usize],
            best: Best::new(channels_per_router.max(queues_per_router)),
            sharing: Vec::new(),
        }
    }

    /// By channel, the number of the queue whose turn it is.
    pub(crate) fn channel_turns(&mut self) -> &mut [u16] {
        &mut self.grant
    }

    /// Matches the heads of all routers, which stand side by side, with channels. Calls `won(head, channel)` for every
    /// pair, and `lost(head)` for every head that gets none. `first_channel` returns the first channel of a router.
    ///
    /// A head asks for channels of one output only. A head that has its output to itself gets the first free channel in
    /// its turn, whatever the other heads get.
    #[inline(always)]
    pub(crate) fn allocate(
        &mut self,
        waiting: &[Waiting],
        first_channel: impl Fn(u32) -> u32,
        mut won: impl FnMut(&Waiting, u32),
        mut lost: impl FnMut(&Waiting),
    ) {
        let mut rest = waiting;
        while let Some(first) = rest.first() {
            let (mut outputs, mut shared, mut count) = (0, 0, 0);
            for head in rest.iter().take_while(|head| head.router == first.router) {
                let output = 1u64 << head.output;
                (outputs, shared, count) = (outputs | output, shared | outputs & output, count + 1);
            }
            let (run, others) = rest.split_at(count);
            rest = others;
            let base = first_channel(first.router);
            for head in run {
                if shared >> head.output & 1 != 0 {
                    self.sharing.push(*head);
                    continue;
                }
                let channel = head.first + self.choice(head, base, head.free);
                self.take(head, base, channel);
                won(head, channel);
            }
            if shared != 0 {
                let mut sharing = std::mem::take(&mut self.sharing);
                self.match_sharing(base, &sharing, &mut won, &mut lost);
                sharing.clear();
                self.sharing = sharing;
            }
        }
    }

    /// The place of the channel that is `head`'s next in turn. `among` has a bit for each channel to choose from,
    /// `base` is the first channel of the router.
    #[inline(always)]
    fn choice(&self, head: &Waiting, base: u32, among: u64) -> u32 {
        let (pointer, count) = (u32::from(self.accept[head.queue as usize]), u32::from(head.count));
        let from = match self.turns {
            // The pointer may come from an output with more channels.
            Turns::Places if pointer >= count => pointer % count.max(1),
            Turns::Places => pointer,
            // After the last of its channels, and before the first, it is the turn of the first.
            Turns::Numbers => {
                let place = (base + pointer).wrapping_sub(head.first);
                place * u32::from(place < count)
            }
        };
        first_from(among, from)
    }

    /// The arbiters have given `channel` to `head`.
    #[inline(always)]
    fn take(&mut self, head: &Waiting, base: u32, channel: u32) {
        // After the last number it is the turn of the first, since no number follows.
        self.grant[channel as usize] = head.number + 1;
        let next = (channel - head.first) as u8 + 1;
        self.accept[head.queue as usize] = match self.turns {
            Turns::Places => u8::from(next != head.count) * next,
            Turns::Numbers => (channel - base) as u8 + 1,
        };
    }

    /// Matches heads that may want the same channel.
    #[inline(never)]
    fn match_sharing(
        &mut self,
        base: u32,
        waiting: &[Waiting],
        won: &mut impl FnMut(&Waiting, u32),
        lost: &mut impl FnMut(&Waiting),
    ) {
        self.granted.resize(waiting.len(), 0);
        match self.queues_per_router <= 64 {
            true => self.grant_by_sets(base, waiting),
            false => self.grant_one_by_one(base, waiting),
        }
        for (index, head) in waiting.iter().enumerate() {
            let granted = std::mem::take(&mut self.granted[index]);
            if granted != 0 {
                let channel = head.first + self.choice(head, base, granted);
                self.take(head, base, channel);
                won(head, channel);
            } else {
                lost(head);
            }
        }
    }

    /// The channels for which `head` asks: their places.
    #[inline(always)]
    fn asked(&self, head: &Waiting, base: u32) -> u64 {
        match self.rule {
            InTurn::OutputsFirst => head.free,
            InTurn::InputsFirst => 1 << self.choice(head, base, head.free),
        }
    }

    /// Each requested channel is granted to the head whose turn it is. The loop visits all channels of a head,
    /// requested or not, to avoid unpredictable branches.
    fn grant_by_sets(&mut self, base: u32, waiting: &[Waiting]) {
        for head in waiting {
            let asked = self.asked(head, base);
            let first = (head.first - base) as usize;
            for (place, heads) in self.heads[first..].iter_mut().take(head.count.into()).enumerate() {
                *heads |= (asked >> place & 1) << head.number;
            }
        }
        for (head, granted) in waiting.iter().zip(&mut self.granted) {
            let (first, turns) = ((head.first - base) as usize, &self.grant[head.first as usize..]);
            for (place, (heads, turn)) in self.heads[first..].iter().zip(turns).take(head.count.into()).enumerate() {
                *granted |= u64::from(first_from(*heads, (*turn).into()) == u32::from(head.number)) << place;
            }
        }
        for head in waiting {
            let first = (head.first - base) as usize;
            self.heads[first..first + usize::from(head.count)].fill(0);
        }
    }

    /// [`Self::grant_by_sets`] for a router with more queues than a set holds.
    #[cold]
    fn grant_one_by_one(&mut self, base: u32, waiting: &[Waiting]) {
        for (index, head) in waiting.iter().enumerate() {
            for_each_member(self.asked(head, base), 64, |place| {
                let channel = head.first + place;
                let key = turn(head.number.into(), self.grant[channel as usize], self.queues_per_router);
                self.best.offer(channel - base, key, index as u32);
            });
        }
        let Self { best, granted, .. } = self;
        best.drain(|slot, index| granted[index as usize] |= 1 << (base + slot - waiting[index as usize].first));
    }

    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        self.grant.capacity() * 2
            + self.accept.capacity()
            + (self.granted.capacity() + self.heads.capacity()) * 8
            + self.best.bytes()
            + self.sharing.capacity() * size_of::<Waiting>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::allocators::AllocatorKind;
    use crate::engine::{Rng, Stream};
    use crate::fabric::seams::allocator::AllocatorContext;
    use serde_json::json;
    use std::collections::{BTreeSet, HashSet};

    const RULES: [(InTurn, Turns); 4] = [
        (InTurn::InputsFirst, Turns::Places),
        (InTurn::OutputsFirst, Turns::Places),
        (InTurn::InputsFirst, Turns::Numbers),
        (InTurn::OutputsFirst, Turns::Numbers),
    ];

    /// Heads of a router of 12 queues and 8 channels, four of them after each of two outputs.
    fn heads(rng: &mut Rng, taken: u64) -> Vec<Waiting> {
        (0..12)
            .filter_map(|queue| {
                let first = 4 * rng.below(2);
                let free =
                    (0..4u64).filter(|vc| taken >> (u64::from(first) + vc) & 1 == 0).fold(0, |f, vc| f | 1 << vc);
                let (number, output, request) = (queue as u16, (first / 4) as u8, 0);
                let waiting =
                    Waiting { queue, packet: 0, router: 0, first, free, request, number, count: 4, output, class: 1 };
                (free != 0 && rng.below(3) > 0).then_some(waiting)
            })
            .collect()
    }

    #[test]
    fn no_channel_goes_to_two_heads_and_no_head_gets_two() {
        for rule in RULES {
            let mut allocator = Arbiters::new(rule, 8, 12, 12, 8);
            let mut rng = Rng::new(1, Stream::Router, 0);
            for _ in 0..5000 {
                let taken = rng.bits() & 0xff;
                let waiting = heads(&mut rng, taken);
                let (mut channels, mut queues, mut losers) = (HashSet::new(), HashSet::new(), Vec::new());
                allocator.allocate(
                    &waiting,
                    |_| 0,
                    |head, channel| {
                        assert!(channels.insert(channel), "channel {channel} granted twice");
                        assert!(queues.insert(head.queue), "two channels for queue {}", head.queue);
                        assert!(head.free >> (channel - head.first) & 1 == 1, "channel {channel} is not free");
                    },
                    |head| losers.push(head.queue),
                );
                assert_eq!(queues.is_empty(), waiting.is_empty());
                assert_eq!(queues.len() + losers.len(), waiting.len());
                assert!(losers.iter().all(|queue| !queues.contains(queue)));
            }
        }
    }

    /// The scenario's allocators that choose in turn, and the arbiters that stand for them.
    #[test]
    fn arbiters_do_what_allocators_in_turn_do() {
        let among_outputs = json!({ "kind": "separable_input_first", "among": "outputs" });
        for kind in [json!({ "kind": "islip" }), json!({ "kind": "separable_output_first" }), among_outputs] {
            let params: AllocatorKind = serde_json::from_value(kind.clone()).expect("an allocator");
            let params = params.shared();
            let rule = params.in_turn().expect("an allocator whose arbiters choose in turn");
            let context = AllocatorContext { ports: 24, radix: 12, queues: 64 };
            let mut asked = Asked::new(params.build(&context), 12);
            let mut arbiters = Arbiters::new((rule, Turns::Numbers), 16, 24, 12, 8);
            let mut rng = Rng::new(1, Stream::Router, 0);
            let mut unused = rng.clone();
            for now in 0..5000 {
                let taken = rng.bits() & 0xff;
                // The second of two routers.
                let of_second = |h: Waiting| Waiting { router: 1, queue: h.queue + 12, first: h.first + 8, ..h };
                let waiting: Vec<Waiting> = heads(&mut rng, taken).into_iter().map(of_second).collect();
                let (mut theirs, mut ours) = (BTreeSet::new(), BTreeSet::new());
                let pair = |head: &Waiting, channel: u32| (head.queue, channel);
                let round = (now, &mut unused, 8);
                asked.allocate(round, &waiting, (|_: &Waiting| 0, |_: &Waiting, _| 0), |head, channel| {
                    theirs.insert(pair(head, channel));
                });
                arbiters.allocate(&waiting, |_| 8, |head, channel| _ = ours.insert(pair(head, channel)), |_| {});
                assert_eq!(ours, theirs, "{kind}, tick {now}: {waiting:?}");
            }
        }
    }

    #[test]
    fn channels_go_round_the_heads() {
        for rule in RULES {
            let mut allocator = Arbiters::new(rule, 1, 3, 3, 3);
            let waiting: Vec<Waiting> = (0..3)
                .map(|queue| Waiting {
                    queue,
                    packet: 0,
                    router: 0,
                    first: 0,
                    free: 1,
                    request: 0,
                    number: queue as u16,
                    count: 1,
                    output: 0,
                    class: 1,
                })
                .collect();
            let mut winners = Vec::new();
            for _ in 0..6 {
                allocator.allocate(&waiting, |_| 0, |head, _| winners.push(head.queue), |_| {});
            }
            assert_eq!(winners, [0, 1, 2, 0, 1, 2]);
        }
    }
}
