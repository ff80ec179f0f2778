//! What waits at a rank to be matched: receives without their message, or messages without their receive.

use crate::program::ANY;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::collections::{BTreeMap, VecDeque};

/// Source and tag, either of which may be [`ANY`].
pub(crate) type Key = (u32, u32);

/// So many entries are looked at one after the other; of more there is an index.
const FEW: usize = 8;

/// Entries in the order in which they came.
#[derive(Debug, Clone)]
pub(crate) enum Mailbox<T> {
    /// A few.
    Few(SmallVec<[(Key, T); 1]>),
    /// Many, until none is left.
    Many(Box<Indexed<T>>),
}

impl<T> Default for Mailbox<T> {
    fn default() -> Self {
        Self::Few(SmallVec::new())
    }
}

impl<T> Mailbox<T> {
    /// Adds an entry behind all others.
    pub(crate) fn put(&mut self, key: Key, entry: T) {
        match self {
            Self::Few(few) if few.len() < FEW => few.push((key, entry)),
            Self::Few(few) => {
                let mut many = Box::new(Indexed::default());
                few.drain(..).for_each(|(key, entry)| many.put(key, entry));
                many.put(key, entry);
                *self = Self::Many(many);
            }
            Self::Many(many) => many.put(key, entry),
        }
    }

    /// Takes out the only entry, if it fits; `Err` if there are several.
    #[inline]
    pub(crate) fn take_only(&mut self, key: Key) -> Result<Option<T>, ()> {
        match self {
            Self::Few(few) if few.len() <= 1 => match few.first() {
                Some((own, _)) if fits(*own, key) => Ok(few.pop().map(|(_, entry)| entry)),
                _ => Ok(None),
            },
            _ => Err(()),
        }
    }

    /// True if there is none.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        matches!(self, Self::Few(few) if few.is_empty())
    }

    /// Takes out the first entry that fits.
    pub(crate) fn take(&mut self, key: Key) -> Option<T> {
        match self {
            Self::Few(few) => {
                let place = few.iter().position(|(own, _)| fits(*own, key))?;
                Some(few.remove(place).1)
            }
            Self::Many(many) => {
                let found = many.take(key);
                if many.entries.is_empty() {
                    *self = Self::default();
                }
                found
            }
        }
    }

    /// What is left, in its order.
    pub(crate) fn iter(&self) -> Box<dyn Iterator<Item = &T> + '_> {
        match self {
            Self::Few(few) => Box::new(few.iter().map(|(_, entry)| entry)),
            Self::Many(many) => Box::new(many.entries.values().map(|(_, entry)| entry)),
        }
    }
}

/// Entries of which one is found by its key without a look at the others, unless the question has [`ANY`] in it.
#[derive(Debug, Clone)]
pub(crate) struct Indexed<T> {
    entries: BTreeMap<u64, (Key, T)>,
    /// The numbers of the entries of a key, in their order.
    of: FxHashMap<Key, VecDeque<u64>>,
    /// Entries whose key has [`ANY`] in it.
    wild: usize,
    next: u64,
}

impl<T> Default for Indexed<T> {
    fn default() -> Self {
        Self { entries: BTreeMap::new(), of: FxHashMap::default(), wild: 0, next: 0 }
    }
}

fn is_wild(key: Key) -> bool {
    key.0 == ANY || key.1 == ANY
}

fn fits(a: Key, b: Key) -> bool {
    let same = |a, b| a == b || a == ANY || b == ANY;
    same(a.0, b.0) && same(a.1, b.1)
}

impl<T> Indexed<T> {
    fn put(&mut self, key: Key, entry: T) {
        self.wild += usize::from(is_wild(key));
        self.of.entry(key).or_default().push_back(self.next);
        self.entries.insert(self.next, (key, entry));
        self.next += 1;
    }

    fn take(&mut self, key: Key) -> Option<T> {
        let number = self.first(key)?;
        let (key, entry) = self.entries.remove(&number)?;
        self.wild -= usize::from(is_wild(key));
        if let Some(numbers) = self.of.get_mut(&key) {
            // The first entry that fits is the first one of its key.
            numbers.pop_front();
            if numbers.is_empty() {
                self.of.remove(&key);
            }
        }
        Some(entry)
    }

    fn first(&self, key: Key) -> Option<u64> {
        if self.entries.is_empty() {
            return None;
        }
        if is_wild(key) {
            return self.entries.iter().find(|(_, (own, _))| fits(*own, key)).map(|(number, _)| *number);
        }
        let (source, tag) = key;
        let of = |key| self.of.get(&key).and_then(VecDeque::front).copied();
        if self.wild == 0 {
            return of(key);
        }
        [key, (ANY, tag), (source, ANY), (ANY, ANY)].into_iter().filter_map(of).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn number() -> impl Strategy<Value = u32> {
        prop_oneof![3 => 0..3u32, 1 => Just(ANY)]
    }

    proptest! {
        /// The index finds what a look at one entry after the other finds.
        #[test]
        fn the_first_that_fits_is_taken(steps in prop::collection::vec((any::<bool>(), number(), number()), 0..60)) {
            let mut mailbox = Mailbox::default();
            let mut list: Vec<(Key, usize)> = Vec::new();
            for (i, (put, source, tag)) in steps.into_iter().enumerate() {
                let key = (source, tag);
                if put {
                    mailbox.put(key, i);
                    list.push((key, i));
                } else {
                    let at = list.iter().position(|(own, _)| fits(*own, key));
                    prop_assert_eq!(mailbox.take(key), at.map(|at| list.remove(at).1));
                }
            }
            prop_assert!(mailbox.iter().eq(list.iter().map(|(_, i)| i)));
        }
    }
}
