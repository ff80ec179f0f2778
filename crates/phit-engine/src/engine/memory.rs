//! The state of an empty network between two iterations of a program, reduced to 128 bits.
//!
//! Two networks with equal memories go on alike: each part that can affect later ticks adds its state. Times are added
//! relative to the present, because a network does not know when its run began. A part whose state cannot be compared
//! says so. Two different states have the same 128 bits with a probability of about 3e-39.

use super::{Rng, Tick};
use std::collections::BTreeSet;
use std::fmt::{self, Debug, Write};

/// The state of a network at one tick.
#[derive(Debug, Clone)]
pub struct Memory {
    now: Tick,
    words: [u64; 2],
    missing: BTreeSet<String>,
}

/// Two odd multipliers without a common structure.
const KEYS: [u64; 2] = [0x9e37_79b9_7f4a_7c15, 0xd1b5_4a32_d192_ed03];

impl Memory {
    /// The memory at tick `now`, of which nothing is known yet.
    pub(crate) fn new(now: Tick) -> Self {
        Self { now, words: KEYS, missing: BTreeSet::new() }
    }

    /// The 128 bits, or the names of the parts that cannot be compared.
    pub(crate) fn words(&self) -> Result<[u64; 2], String> {
        match self.missing.is_empty() {
            true => Ok(self.words),
            false => Err(self.missing.iter().map(String::as_str).collect::<Vec<_>>().join(", ")),
        }
    }

    /// The present tick.
    pub(crate) fn now(&self) -> Tick {
        self.now
    }

    /// Adds a number.
    #[inline]
    pub(crate) fn add(&mut self, word: impl Into<u64>) {
        let word = word.into();
        for (own, key) in self.words.iter_mut().zip(KEYS) {
            let product = u128::from(*own ^ word) * u128::from(key) + u128::from(word.rotate_left(29));
            *own = own.rotate_left(23) ^ (product as u64) ^ ((product >> 64) as u64);
        }
    }

    /// Adds a list of numbers.
    pub(crate) fn add_all<T: Into<u64>>(&mut self, words: impl IntoIterator<Item = T>) {
        let mut count = 0u64;
        words.into_iter().for_each(|word| {
            self.add(word);
            count += 1;
        });
        self.add(count);
    }

    /// Adds a tick from which on something is free. All ticks up to the present are one.
    #[inline]
    pub(crate) fn free_from(&mut self, tick: Tick) {
        self.add(tick.saturating_sub(self.now));
    }

    /// Adds the position of a random stream.
    pub(crate) fn stream(&mut self, rng: &Rng) {
        let mut ahead = rng.clone();
        self.add_all([ahead.bits(), ahead.bits(), ahead.bits()]);
    }

    /// Adds a state without ticks, as its debug text shows it.
    pub(crate) fn text(&mut self, state: &impl Debug) {
        // Writing to a memory never fails.
        write!(self, "{state:?}").unwrap_or(());
    }

    /// A part has a state that cannot be compared.
    pub(crate) fn cannot(&mut self, part: impl Into<String>) {
        self.missing.insert(part.into());
    }
}

impl Write for Memory {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.add_all(text.bytes());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Stream;

    fn words(at: Tick, add: impl Fn(&mut Memory)) -> [u64; 2] {
        let mut memory = Memory::new(at);
        add(&mut memory);
        memory.words().unwrap()
    }

    #[test]
    fn a_memory_tells_states_apart_and_knows_only_relative_times() {
        let base = words(100, |memory| memory.add_all([1u32, 2, 3]));
        assert_ne!(base, words(100, |memory| memory.add_all([1u32, 3, 2])));
        assert_ne!(base, words(100, |memory| memory.add_all([1u32, 2])));
        assert_ne!(words(0, |memory| memory.add_all([0u32; 2])), words(0, |memory| memory.add_all([0u32; 3])));
        assert_eq!(words(100, |memory| memory.free_from(105)), words(200, |memory| memory.free_from(205)));
        assert_eq!(words(100, |memory| memory.free_from(7)), words(200, |memory| memory.free_from(200)));
        let (fresh, mut drawn) = (Rng::new(1, Stream::Router, 0), Rng::new(1, Stream::Router, 0));
        drawn.bits();
        assert_ne!(words(0, |memory| memory.stream(&fresh)), words(0, |memory| memory.stream(&drawn)));
        let mut memory = Memory::new(0);
        ["b", "a", "b"].into_iter().for_each(|part| memory.cannot(part));
        assert_eq!(memory.words(), Err("a, b".to_owned()));
    }
}
