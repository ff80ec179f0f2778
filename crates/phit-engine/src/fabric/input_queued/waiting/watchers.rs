//! Heads that are decided about again, and the changes that each of them waits for.
//!
//! A mechanism that decides again names the changes of outputs that could unblock a head ([`Changes`]). The head sleeps
//! until one of them takes place. Each output keeps a set of sleeping heads for every kind of change, and wakes the
//! heads of that set alone:
//!
//! * **Room**: the output is free, its buffer has room, and the virtual channel has credits. Every channel has a set.
//! * **Free**: the output is free and its buffer has room, whatever the credits.
//! * **Fall** and **rise**: the occupancy of a virtual channel has become less, by a credit, or more, by a grant. A
//!   head may say how far it has to fall or rise. An output wakes its heads when one of them may have been meant.
//! * **Announced**: the mechanism says so ([`crate::fabric::seams::routing::Site::wake`]).
//!
//! A head that is woken by one output stays in the sets of others. These wake it only if it sleeps again, and then it
//! most often watches them again.

use crate::engine::{Bytes, Table, bytes_of};
use crate::fabric::seams::routing::{Changes, Output};
use std::ops::Range;

/// Kinds of changes for which an output has one set: all except [`Changes::ROOM`], whose bit is the lowest.
const KINDS: u32 = Changes::ALL.bits().count_ones() - 1;
const _: () = assert!(Changes::ROOM.bits() == 1);

/// The sleeping heads of a partition, and the changes that wake them.
///
/// [`Output::waiters`] has the bits of the kinds of changes for which the output has heads in its sets.
#[derive(Debug, Default)]
pub(crate) struct Watchers {
    /// By output port: a word of the virtual channels whose credits count as falls, then `words` words for each kind of
    /// change. These have a bit for each queue of the router, in the order of queues.
    sets: Table<u64>,
    /// By output port: the occupancies to which a channel must fall, at least, or rise to wake any head, if heads wait
    /// for that.
    levels: Table<Levels>,
    /// By virtual channel: the set of heads that wait for room in it.
    room: Table<u64>,
    /// By router: the queues that sleep.
    asleep: Table<u64>,
    /// By router: its first queue.
    first: Table<u32>,
    words: u32,
    /// Changes are told apart. If not, every change wakes everybody in the sets of the output.
    exact: bool,
}

/// How far the occupancy of a virtual channel has to fall or to rise, in phits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Levels {
    /// Falls to so much or less.
    pub to: u32,
    /// Rises to so much or more.
    pub from: u32,
}

impl Levels {
    /// Any fall, and any rise.
    pub(crate) const ANY: Self = Self { to: u32::MAX, from: 0 };
}

impl Bytes for Watchers {
    fn bytes(&self) -> usize {
        bytes_of!(self, Self { sets, levels, room, asleep, first; words, exact })
    }
}

impl Watchers {
    /// Nobody sleeps at any of `ports` ports with `channels` virtual channels. `first` are the first queues of the
    /// routers, which have up to `queues` queues.
    pub(crate) fn new((ports, channels): (usize, usize), first: Vec<u32>, queues: u32, exact: bool) -> Self {
        let words = queues.div_ceil(u64::BITS);
        Self {
            sets: vec![0; ports * (1 + KINDS * words) as usize].into(),
            levels: vec![Levels::ANY; ports].into(),
            room: vec![0; channels * words as usize].into(),
            asleep: vec![0; first.len() * words as usize].into(),
            first: first.into(),
            words,
            exact,
        }
    }

    /// The first word of the sets of output `index`.
    #[inline(always)]
    fn place(&self, index: u32) -> u32 {
        index * (1 + KINDS * self.words)
    }

    /// Queue number `lane` of `router` falls asleep.
    #[inline(always)]
    pub(crate) fn fall_asleep(&mut self, router: u32, lane: u32) {
        self.asleep[router * self.words + lane / 64] |= 1 << (lane % 64);
    }

    /// Puts queue number `lane` of the router into the sets of `output`, port `index` of the partition, for `changes`
    /// in virtual channels `vcs`, of falls and rises those of `levels`.
    #[inline(always)]
    pub(crate) fn enter(
        &mut self,
        lane: u32,
        (changes, levels): (Changes, Levels),
        vcs: Range<u32>,
        output: &mut Output,
        index: u32,
    ) {
        let before = Changes::of_bits(output.waiters as u8);
        output.waiters |= u64::from(changes.bits());
        let (word, bit) = (lane / 64, 1 << (lane % 64));
        if changes.has(Changes::ROOM) {
            let vcs = vcs.start..vcs.end.min(output.vcs.into());
            vcs.for_each(|vc| self.room[(output.vc + vc) * self.words + word] |= bit);
        }
        let others = changes.without(Changes::ROOM);
        if others == Changes::NONE {
            return;
        }
        let place = self.place(index);
        let Levels { to, from } = &mut self.levels[index];
        if others.has(Changes::FALL) {
            self.sets[place] |= bits_of(vcs);
            *to = if before.has(Changes::FALL) { (*to).max(levels.to) } else { levels.to };
        }
        if others.has(Changes::RISE) {
            *from = if before.has(Changes::RISE) { (*from).min(levels.from) } else { levels.from };
        }
        for kind in 0..KINDS {
            if others.bits() >> (kind + 1) & 1 != 0 {
                self.sets[place + 1 + kind * self.words + word] |= bit;
            }
        }
    }

    /// Puts queue number `lane` of the router into the set of `output` for room in virtual channel `vc`.
    #[inline(always)]
    pub(crate) fn enter_channel(&mut self, lane: u32, vc: u32, output: &mut Output) {
        output.waiters |= u64::from(Changes::ROOM.bits());
        if vc < output.vcs.into() {
            self.room[(output.vc + vc) * self.words + lane / 64] |= 1 << (lane % 64);
        }
    }

    /// Puts the queues `set` of the router, a word for every 64, into the sets of `output` for room in any channel.
    pub(crate) fn enter_for_room(&mut self, set: &[u64], output: &mut Output) {
        output.waiters |= u64::from(Changes::ROOM.bits());
        let first = output.vc * self.words;
        for (word, bits) in (0..).zip(set.iter().cycle().take(usize::from(output.vcs) * set.len())) {
            self.room[first + word] |= bits;
        }
    }

    /// True if queue number `lane` of `router` sleeps.
    pub(crate) fn sleeps(&self, router: u32, lane: u32) -> bool {
        self.asleep[router * self.words + lane / 64] >> (lane % 64) & 1 != 0
    }

    /// True if some change of `output`, port `index` of the partition, wakes queue number `lane` of its router.
    pub(crate) fn knows(&self, output: &Output, index: u32, lane: u32) -> bool {
        let (word, bit) = (lane / 64, 1 << (lane % 64));
        let set = self.place(index) + 1 + word;
        let in_room = |vc: u32| self.room[(output.vc + vc) * self.words + word] & bit != 0;
        (0..output.vcs.into()).any(in_room) || (0..KINDS).any(|kind| self.sets[set + kind * self.words] & bit != 0)
    }

    /// Words of a set.
    #[inline(always)]
    pub(crate) fn words(&self) -> u32 {
        self.words
    }

    /// Changes are told apart. If not, every change wakes everybody in the sets of the output.
    #[inline(always)]
    pub(crate) fn is_exact(&self) -> bool {
        self.exact
    }

    /// True if somebody waits for room in `channel`, or has done so.
    #[inline(always)]
    pub(crate) fn is_wanted(&self, channel: u32) -> bool {
        (0..self.words).any(|word| self.room[channel * self.words + word] != 0)
    }

    /// True if a fall in virtual channel `vc` of output `index` to `occupancy` phits wakes somebody.
    #[inline(always)]
    pub(crate) fn minds_fall(&self, index: u32, vc: u32, occupancy: u32) -> bool {
        has_channel(self.sets[self.place(index)], vc) && occupancy <= self.levels[index].to
    }

    /// True if a rise in a virtual channel of output `index` to `occupancy` phits wakes somebody, if somebody waits for
    /// rises.
    #[inline(always)]
    pub(crate) fn minds_rise(&self, index: u32, occupancy: u32) -> bool {
        occupancy >= self.levels[index].from
    }

    /// Takes out the queues of word `word` that wait for room in `channel`. Returns the queues of `router` that slept.
    #[inline(always)]
    pub(crate) fn take_for_room(&mut self, router: u32, channel: u32, word: u32) -> u64 {
        let set = std::mem::take(&mut self.room[channel * self.words + word]);
        self.awaken(router, word, set)
    }

    /// Takes out the queues of word `word` that wait for `changes` of output `index` other than room. Returns the
    /// queues of `router` that slept.
    #[inline(always)]
    pub(crate) fn take(&mut self, router: u32, index: u32, changes: Changes, word: u32) -> u64 {
        let (place, words) = (self.place(index), self.words);
        if changes.has(Changes::FALL) {
            self.sets[place] = 0;
        }
        let mut woken = 0;
        for kind in 0..KINDS {
            if changes.bits() >> (kind + 1) & 1 != 0 {
                woken |= std::mem::take(&mut self.sets[place + 1 + kind * words + word]);
            }
        }
        self.awaken(router, word, woken)
    }

    /// Wakes the queues `set` of word `word` of `router`. Returns the queues that slept.
    #[inline(always)]
    fn awaken(&mut self, router: u32, word: u32, set: u64) -> u64 {
        let asleep = &mut self.asleep[router * self.words + word];
        let woken = set & *asleep;
        *asleep ^= woken;
        woken
    }

    /// The queue of `router` that the lowest bit of word `word` stands for.
    #[inline(always)]
    pub(crate) fn first_of(&self, router: u32, word: u32) -> u32 {
        self.first[router] + word * 64
    }

    /// Number of `queue` in its `router`.
    #[inline(always)]
    pub(crate) fn lane(&self, router: u32, queue: u32) -> u32 {
        queue - self.first[router]
    }
}

/// The bits of virtual channels `vcs` of an output. Channels of numbers from 63 on share the last bit.
#[inline(always)]
fn bits_of(vcs: Range<u32>) -> u64 {
    let below = |vc: u32| if vc < 63 { (1u64 << vc) - 1 } else { u64::MAX >> 1 };
    let last = if vcs.end > 63 { 1 << 63 } else { 0 };
    below(vcs.end) & !below(vcs.start) | last
}

/// True if `set` has virtual channel `vc`.
#[inline(always)]
fn has_channel(set: u64, vc: u32) -> bool {
    set >> vc.min(63) & 1 != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn channels_beyond_the_word_share_its_last_bit() {
        for (from, to) in [(0, 1), (0, 3), (2, 5), (0, 63), (60, 64), (62, 63), (63, 64), (63, 100), (70, 80), (0, 255)]
        {
            let set = bits_of(from..to);
            for vc in 0..260 {
                let member = (from..to).contains(&vc) || vc >= 63 && to > 63;
                assert_eq!(has_channel(set, vc), member, "{vc} in {from}..{to}");
            }
        }
    }
}
