//! The queues to be looked at next, in order.

use crate::engine::{Bytes, Table};
use std::ops::{Deref, Range};

/// Words of the summary that are looked at together.
const BLOCK: usize = 8;

/// A set of small numbers whose cost grows with its members, not with its range. Each number has a bit, and each word
/// that is not empty has a bit in a summary. Members come out in ascending order without sorting.
#[derive(Debug, Clone, Default)]
pub(crate) struct Candidates {
    words: Table<u64>,
    summary: Table<u64>,
}

impl Candidates {
    /// An empty set of numbers below `size`.
    pub(crate) fn new(size: usize) -> Self {
        let words = size.div_ceil(64);
        Self { words: vec![0; words].into(), summary: vec![0; words.div_ceil(64)].into() }
    }

    /// True if the set is empty.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.summary.iter().all(|word| *word == 0)
    }

    /// Adds `index`, which may be there already.
    #[inline]
    pub(crate) fn insert(&mut self, index: u32) {
        let word = index / 64;
        self.words[word] |= 1 << (index % 64);
        self.summary[word / 64] |= 1 << (word % 64);
    }

    /// Adds the numbers from `first` on whose bits are set.
    #[inline]
    pub(crate) fn insert_all(&mut self, first: u32, bits: u64) {
        let (word, shift) = (first / 64, first % 64);
        self.insert_word(word, bits << shift);
        if shift != 0 {
            self.insert_word(word + 1, bits >> (64 - shift));
        }
    }

    #[inline]
    fn insert_word(&mut self, word: u32, bits: u64) {
        if bits != 0 {
            self.words[word] |= bits;
            self.summary[word / 64] |= 1 << (word % 64);
        }
    }

    /// True if `index` is there.
    pub(crate) fn contains(&self, index: u32) -> bool {
        self.words.get(index as usize / 64).is_some_and(|word| word >> (index % 64) & 1 == 1)
    }

    /// Takes out the members in `range`, in ascending order. When all members have been taken out in parts,
    /// [`Self::forget`] makes the set empty.
    #[inline(always)]
    pub(crate) fn drain_range(&mut self, range: Range<u32>, mut member: impl FnMut(u32)) {
        let (first, last) = (range.start / 64, (range.end - 1) / 64);
        for word in first..=last {
            let from = if word == first { u64::MAX << (range.start % 64) } else { u64::MAX };
            let to = if word == last { u64::MAX >> (63 - (range.end - 1) % 64) } else { u64::MAX };
            let all = self.words[word];
            let mut bits = all & from & to;
            self.words[word] = all & !bits;
            while bits != 0 {
                member(word * 64 + bits.trailing_zeros());
                bits &= bits - 1;
            }
        }
    }

    /// The set is empty: all members have been taken out in parts.
    #[inline]
    pub(crate) fn forget(&mut self) {
        debug_assert!(self.words.iter().all(|word| *word == 0));
        self.summary.fill(0);
    }

    /// Takes all members out, in ascending order.
    ///
    /// A branch on the number of members of a word would be unpredictable, but a word hardly ever has more than two.
    /// Two are therefore always written. If the word has only one, the next word's member overwrites the second.
    #[inline(always)]
    pub(crate) fn drain_into(&mut self, members: &mut Members) {
        let mut count = 0;
        for (block, summaries) in self.summary.chunks_mut(BLOCK).enumerate() {
            // Where there are many queues, most of these words are empty.
            if summaries.iter().fold(0, |any, summary| any | summary) == 0 {
                continue;
            }
            for (place, summary) in summaries.iter_mut().enumerate() {
                let base = (block * BLOCK + place) as u32 * 64;
                let mut summary = std::mem::take(summary);
                members.make_room(count + 2 * 64);
                while summary != 0 {
                    let word = base + summary.trailing_zeros();
                    summary &= summary - 1;
                    let bits = std::mem::take(&mut self.words[word]);
                    let others = bits & bits.wrapping_sub(1);
                    // If there is no such member, any bit will do.
                    members.all[count] = word * 64 + (bits | 1 << 63).trailing_zeros();
                    members.all[count + 1] = word * 64 + (others | 1 << 63).trailing_zeros();
                    count += 1 + u32::from(others != 0);
                    let mut rest = others & others.wrapping_sub(1);
                    if rest != 0 {
                        members.make_room(count + 64 + 2 * 64);
                    }
                    while rest != 0 {
                        members.all[count] = word * 64 + rest.trailing_zeros();
                        count += 1;
                        rest &= rest - 1;
                    }
                }
            }
        }
        members.count = count;
    }

    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        self.words.bytes() + self.summary.bytes()
    }
}

/// The members of a set that have been taken out of it, in ascending order.
#[derive(Debug, Default)]
pub(crate) struct Members {
    all: Table<u32>,
    /// Number of members at the beginning of `all`.
    count: u32,
}

impl Members {
    /// Makes room for `count` members in all.
    #[inline(always)]
    fn make_room(&mut self, count: u32) {
        if (self.all.len() as u32) < count {
            self.grow(count);
        }
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, count: u32) {
        while (self.all.len() as u32) < count {
            self.all.push(0);
        }
    }
}

impl Deref for Members {
    type Target = [u32];
    #[inline]
    fn deref(&self) -> &[u32] {
        self.all.get(..self.count as usize).unwrap_or_default()
    }
}

impl Bytes for Members {
    fn bytes(&self) -> usize {
        self.all.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_of_a_word_go_in_together_wherever_they_begin() {
        for first in [0, 64, 100, 127] {
            let mut set = Candidates::new(4_096);
            set.insert_all(first, 1 | 1 << 5 | 1 << 63);
            let mut members = Members::default();
            set.drain_into(&mut members);
            assert_eq!(*members, [0, 5, 63].map(|member| first + member));
        }
    }

    #[test]
    fn members_come_out_in_parts_wherever_these_end() {
        let mut set = Candidates::new(300);
        [0, 63, 64, 99, 100, 101, 127, 128, 299].into_iter().for_each(|index| set.insert(index));
        let parts = [0..1, 1..100, 100..101, 101..128, 128..300].map(|range| {
            let mut list = Vec::new();
            set.drain_range(range, |member| list.push(member));
            list
        });
        assert_eq!(parts, [vec![0], vec![63, 64, 99], vec![100], vec![101, 127], vec![128, 299]]);
        assert!(!set.is_empty());
        set.forget();
        assert!(set.is_empty());
    }

    #[test]
    fn members_come_out_once_and_in_order() {
        let mut set = Candidates::new(10_000);
        for index in [9_999, 5, 64, 63, 4_096, 5, 0] {
            set.insert(index);
        }
        assert!(set.contains(4_096) && !set.contains(4_097) && !set.is_empty());
        let mut members = Members::default();
        set.drain_into(&mut members);
        assert_eq!(*members, [0, 5, 63, 64, 4_096, 9_999]);
        assert!(set.is_empty() && !set.contains(5));
        // The members that were taken out are gone, and there is room for as many as a set can have.
        (0..10_000).for_each(|index| set.insert(index));
        set.drain_into(&mut members);
        assert!(members.iter().copied().eq(0..10_000));
        set.drain_into(&mut members);
        assert!(members.is_empty());
    }
}
