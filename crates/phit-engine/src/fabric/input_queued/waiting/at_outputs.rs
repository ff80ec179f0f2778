//! Heads that sleep at their output: sets of queues, and the outputs whose turn it is. `cycle/sleeping.rs` says when a
//! head sleeps, and who goes when it is the output's turn.

use super::candidates::{Candidates, Members};
use crate::engine::bits::bit;
use crate::engine::{Bytes, NONE, Table, bytes_of};
use crate::fabric::input_queued::state::records::Output;
use crate::fabric::seams::allocator::Request;

/// The heads that sleep at the outputs of a partition, and the outputs whose turn it is.
///
/// The heads that sleep at one output are a set: a bit for each queue of its router, in the order of queues. Before
/// these stand the bits of the virtual channels that they may take. Outputs without sleeping heads have no set.
/// [`Output::waiters`] has the bits of the input ports of sleeping heads, and perhaps of heads that have slept there.
#[derive(Debug, Default)]
pub(crate) struct AtOutputs {
    /// By output port, the place of its set in `sets`; `NONE` if nobody sleeps there.
    places: Table<u32>,
    /// Sets: a word of virtual channels and `words` words of queues each. The place of a set is its first word of
    /// queues.
    sets: Table<u64>,
    words: u32,
    /// Places of sets that are empty.
    free: Vec<u32>,
    /// Outputs whose turn it is at the next look.
    due: Candidates,
    /// Outputs whose turn it is now.
    serving: Members,
    /// Scratch: the due outputs of one router that can take a flit in this tick.
    open: Vec<u32>,
    /// Scratch: the union of the sets of those open outputs of one router that look at all their heads.
    all: Vec<u64>,
    /// Scratch: the requests of sleeping heads in this tick.
    requests: Vec<Request>,
    /// No input port has more than one queue.
    lone: bool,
    /// Every input port of a router has a bit of its own.
    told_apart: bool,
}

impl Bytes for AtOutputs {
    fn bytes(&self) -> usize {
        bytes_of!(self, Self { places, sets, free, due, serving, open, all, requests; words, lone, told_apart })
    }
}

impl AtOutputs {
    /// Nobody sleeps at any of `ports` ports, of routers with up to `radix` ports and up to `queues` queues, up to
    /// `widest` in a port.
    pub(crate) fn new(ports: usize, radix: u32, queues: u32, widest: u32) -> Self {
        Self {
            places: vec![NONE; ports].into(),
            words: queues.div_ceil(64),
            due: Candidates::new(ports),
            lone: widest == 1,
            told_apart: radix <= u64::BITS,
            ..Self::default()
        }
    }

    /// Queue number `lane` of the router, of input port `number`, sleeps at `output`, port `index` of the partition.
    #[inline(always)]
    pub(crate) fn enter(
        &mut self,
        (lane, number): (u32, u16),
        vcs: std::ops::Range<u16>,
        output: &mut Output,
        index: u32,
    ) {
        if self.places[index] == NONE {
            self.add_set(index);
        }
        let place = self.places[index];
        self.sets[place + lane / 64] |= 1 << (lane % 64);
        vcs.into_iter().for_each(|vc| self.sets[place - 1] |= bit(vc.into()));
        output.waiters |= bit(number.into());
    }

    /// Gives output `index` an empty set.
    #[inline(never)]
    fn add_set(&mut self, index: u32) {
        self.places[index] = self.free.pop().unwrap_or_else(|| {
            let place = self.sets.len() as u32 + 1;
            for _ in 0..=self.words {
                self.sets.push(0);
            }
            place
        });
    }

    /// Queue number `lane` of the router sleeps no more at `output`, if it did. `own`: the queues of its input port,
    /// number `number`.
    #[inline(always)]
    pub(crate) fn leave(
        &mut self,
        (lane, number): (u32, u16),
        own: std::ops::Range<u32>,
        output: &mut Output,
        index: u32,
    ) {
        let place = self.places[index];
        if place == NONE {
            return;
        }
        self.sets[place + lane / 64] &= !(1 << (lane % 64));
        let left = (0..self.words).fold(0, |left, word| left | self.sets[place + word]);
        if left == 0 {
            self.free_set(output, index);
        } else if self.next(place, own.start).is_none_or(|next| next >= own.end) {
            // With more than 64 ports, inputs share bits. The bit then stays set, which costs at most one look.
            output.waiters &= if self.told_apart { !bit(number.into()) } else { u64::MAX };
        }
    }

    /// Nobody sleeps at `output` any more.
    #[inline(always)]
    pub(crate) fn free_set(&mut self, output: &mut Output, index: u32) {
        output.waiters = 0;
        let place = std::mem::replace(&mut self.places[index], NONE);
        self.sets[place - 1] = 0;
        self.free.push(place);
    }

    /// True if somebody who sleeps at output `index` may take virtual channel `vc`.
    #[inline(always)]
    pub(crate) fn wants(&self, index: u32, vc: u32) -> bool {
        let place = self.places[index];
        place != NONE && self.sets[place - 1] & bit(vc) != 0
    }

    /// The first queue from number `from` of the router on in the set at `place`.
    #[inline(always)]
    fn next(&self, place: u32, from: u32) -> Option<u32> {
        let mut ahead = u64::MAX << (from % 64);
        for word in from / 64..self.words {
            let found = self.sets[place + word] & ahead;
            if found != 0 {
                return Some(word * 64 + found.trailing_zeros());
            }
            ahead = u64::MAX;
        }
        None
    }

    /// Adds the heads that sleep at `output` to the union of sets.
    #[inline(always)]
    pub(crate) fn add_all(&mut self, output: u32) {
        let place = self.places[output];
        self.all.resize(self.words as usize, 0);
        for (word, all) in self.all.iter_mut().enumerate() {
            *all |= self.sets[place + word as u32];
        }
    }

    /// True if queue number `lane` of its router sleeps at output `index`.
    #[inline]
    pub(crate) fn holds(&self, index: u32, lane: u32) -> bool {
        self.places
            .get(index as usize)
            .is_some_and(|&place| place != NONE && self.sets[place + lane / 64] >> (lane % 64) & 1 == 1)
    }

    /// It is the turn of `output` at the next look.
    #[inline(always)]
    pub(crate) fn call(&mut self, output: u32) {
        self.due.insert(output);
    }

    /// True if it is the turn of some output at the next look.
    #[inline(always)]
    pub(crate) fn has_due(&self) -> bool {
        !self.due.is_empty()
    }

    /// True if it is the turn of `output` at the next look.
    #[inline(always)]
    pub(crate) fn is_due(&self, output: u32) -> bool {
        self.due.contains(output)
    }

    /// Takes out the outputs whose turn it is. [`Self::served`] gives their list back.
    #[inline(always)]
    pub(crate) fn take_due(&mut self) -> Members {
        let mut serving = std::mem::take(&mut self.serving);
        self.due.drain_into(&mut serving);
        serving
    }

    /// The outputs of `serving` have had their turn.
    #[inline(always)]
    pub(crate) fn served(&mut self, serving: Members) {
        self.serving = serving;
    }

    /// Empty lists for a turn, to be given back: the outputs that can take a flit, and the requests of sleeping heads.
    #[inline(always)]
    pub(crate) fn lists(&mut self) -> (&mut Vec<u32>, &mut Vec<Request>) {
        (&mut self.open, &mut self.requests)
    }

    /// No input port has more than one queue.
    #[inline(always)]
    pub(crate) fn lone(&self) -> bool {
        self.lone
    }

    /// Words of a set of queues.
    #[inline(always)]
    pub(crate) fn words(&self) -> u32 {
        self.words
    }

    /// Where the set of heads that sleep at `output` stands; `NONE` if nobody does.
    #[inline(always)]
    pub(crate) fn place(&self, output: u32) -> u32 {
        self.places[output]
    }

    /// Word `word` of the set at `place`.
    #[inline(always)]
    pub(crate) fn word(&self, place: u32, word: u32) -> u64 {
        self.sets[place + word]
    }

    /// Takes the queues of word `word` out of the set at `place`, which no output has any more.
    #[inline(always)]
    pub(crate) fn take_word(&mut self, place: u32, word: u32) -> u64 {
        std::mem::take(&mut self.sets[place + word])
    }

    /// The union of the sets that have been added up, a word after another; empty if none has been.
    #[inline(always)]
    pub(crate) fn all(&mut self) -> &mut Vec<u64> {
        &mut self.all
    }
}
