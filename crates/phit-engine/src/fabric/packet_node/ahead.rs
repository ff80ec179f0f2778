//! The remaining route of a packet, as words that hold several dimensions each, so that one operation handles all of
//! them.

use super::state::MOST_SLOTS;
use crate::fabric::seams::bubble::lattice::{MOST_DIMENSIONS, Offsets};

/// Dimensions of a word, 16 bits each.
const DIMENSIONS: u32 = 4;
const ONES: u64 = 0x0001_0001_0001_0001;
/// The lower byte of each dimension. In the word of a router's used slots, with one byte for each queue, it is the
/// queue in direction plus. The upper byte is the queue in direction minus.
const BYTES: u64 = 0x00ff * ONES;
/// Marks the dimension of a score: 7 for the first, down to 0 for none.
const MARKS: u16 = 8;

const _: () = assert!(MOST_DIMENSIONS <= 6 && (MOST_SLOTS + 2) * MARKS as u32 <= 1 << 15);

/// The remaining hops in each dimension, with the sign of the direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ahead {
    low: u64,
    /// Hops in the dimensions beyond the fourth.
    high: u32,
}

impl Ahead {
    /// These hops.
    #[inline(always)]
    pub(super) fn of(way: &Offsets) -> Self {
        let word = |from: usize| u64::from(way[from] as u16) | (u64::from(way[from + 1] as u16) << 16);
        Self { low: word(0) | (word(2) << 32), high: word(4) as u32 }
    }

    /// The hops by dimension.
    #[inline(always)]
    pub(super) fn way(self) -> Offsets {
        let Self { low, high } = self;
        [low as i16, (low >> 16) as i16, (low >> 32) as i16, (low >> 48) as i16, high as i16, (high >> 16) as i16]
    }

    /// True if no hop remains.
    #[inline(always)]
    pub(super) fn is_done(self) -> bool {
        self.low == 0 && self.high == 0
    }

    /// The remaining hops after a hop in `direction`.
    #[inline(always)]
    pub(super) fn after(self, direction: u32) -> Self {
        let (d, step) = (direction / 2, if direction.is_multiple_of(2) { u16::MAX } else { 1 });
        let stepped = |word: u64, bits: u32| {
            let before = (word >> bits) as u16;
            word ^ (u64::from(before ^ before.wrapping_add(step)) << bits)
        };
        match d < DIMENSIONS {
            true => Self { low: stepped(self.low, 16 * d), ..self },
            false => Self { high: stepped(self.high.into(), 16 * (d - DIMENSIONS)) as u32, ..self },
        }
    }

    /// The direction of dimension order: of the lowest dimension with a remaining hop.
    #[inline(always)]
    pub(super) fn first(self) -> usize {
        let (word, from) = match self.low {
            0 => (u64::from(self.high), DIMENSIONS),
            low => (low, 0),
        };
        let d = word.trailing_zeros() / 16;
        (2 * (from + d) + (word >> (16 * d + 15) & 1) as u32) as usize
    }

    /// The direction whose queue has most free slots, and these slots. There is at least one direction ahead. Among
    /// equals, the lowest dimension wins. `used` returns the used slots of eight queues from the given one on, a byte
    /// each.
    #[inline(always)]
    pub(super) fn most_free(self, scores: Scores, used: impl Fn(u32) -> u64) -> (u32, u32) {
        let mut best = best(self.low, used(0), scores.low);
        if self.high != 0 {
            best = best.max(self::best(self.high.into(), used(2 * DIMENSIONS), scores.high));
        }
        let d = u32::from(MARKS) - 1 - best % u32::from(MARKS);
        let minus = match d < DIMENSIONS {
            true => self.low >> (16 * d + 15) & 1,
            false => u64::from(self.high) >> (16 * (d & 1) + 15) & 1,
        };
        (2 * d + minus as u32, (best / u32::from(MARKS)).wrapping_sub(1))
    }
}

/// The scores of the dimensions if their queues are empty: see [`best`].
#[derive(Debug, Clone, Copy)]
pub(super) struct Scores {
    low: u64,
    high: u64,
}

impl Scores {
    /// For queues of this capacity in slots.
    pub(super) fn new(capacity: u16) -> Self {
        let score = |d: u16| u64::from((capacity + 1) * MARKS + MARKS - 1 - d);
        let word = |from: u16| (0..4).map(|d| score((from + d).min(MARKS - 1)) << (16 * d)).sum();
        Self { low: word(0), high: word(4) }
    }
}

/// The greatest score of the dimensions of a word that have hops ahead; 0 if none has. A score is the number of free
/// slots plus one, times [`MARKS`], plus the dimension counted from the other end. No comparison is a branch that the
/// processor must predict.
#[inline(always)]
fn best(hops: u64, used: u64, scores: u64) -> u32 {
    const POSITIVE: u64 = 0x7fff * ONES;
    let minus = (hops >> 15 & ONES) * 0xffff;
    let used = ((used >> 8 & minus) | (used & !minus)) & BYTES;
    let ahead = (((hops & POSITIVE) + POSITIVE) | hops) >> 15 & ONES;
    let scores = (scores - used * u64::from(MARKS)) & (ahead * 0xffff);
    let (low, high) = (scores as u32, (scores >> 32) as u32);
    let greatest = |word: u32| (word & 0xffff).max(word >> 16);
    greatest(low).max(greatest(high))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Rng, Stream};
    use crate::fabric::seams::bubble::{dimension_order, most_free};

    #[test]
    fn all_dimensions_together_are_as_one_after_the_other() {
        let mut rng = Rng::new(1, Stream::Pattern, 0);
        for _ in 0..20_000 {
            let capacity = 1 + rng.below(MOST_SLOTS) as u16;
            let way: Offsets = std::array::from_fn(|_| [0, 1, -1, 7, -300][rng.below(5) as usize]);
            let used: [u8; 16] = std::array::from_fn(|_| rng.below(u32::from(capacity) + 1) as u8);
            let ahead = Ahead::of(&way);
            assert_eq!(ahead.way(), way);
            assert_eq!(ahead.is_done(), way == [0; 6]);
            let expected = most_free(&way, |direction| u32::from(capacity - u16::from(used[direction])));
            let word = |from: u32| u64::from_le_bytes(std::array::from_fn(|i| used[from as usize + i]));
            let found = (!ahead.is_done()).then(|| ahead.most_free(Scores::new(capacity), word));
            assert_eq!(found.map(|(direction, slots)| (direction as usize, slots)), expected, "{way:?} {used:?}");
            dimension_order(&way).inspect(|&direction| assert_eq!(ahead.first(), direction, "{way:?}"));
            let direction = rng.below(12);
            let mut left = way;
            left[direction as usize / 2] -= if direction.is_multiple_of(2) { 1 } else { -1 };
            assert_eq!(ahead.after(direction).way(), left);
        }
    }
}
