//! Mailboxes of ranks: receives without their message, or messages without their receive.

use crate::lists::{List, Lists};
use crate::program::ANY;
use rustc_hash::FxHashMap;
use std::collections::hash_map::Entry;

/// Source and tag, either of which may be [`ANY`].
pub(crate) type Key = (u32, u32);

/// Most entries that are searched one after another; more have an index.
const FEW: u32 = 8;

/// In [`Mailbox::len`]: there is an index, until no entry is left.
const MANY: u32 = u32::MAX;

/// The mailbox of a rank, in the order of arrival.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Mailbox {
    few: List,
    len: u32,
}

/// Receives that wait at a rank. The first, which is mostly the only one, is stored here.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Posted {
    key: Key,
    /// Its number; [`NOBODY`] if there is none.
    number: u32,
    /// Receives posted after it.
    rest: Mailbox,
}

/// A number that no operation has.
const NOBODY: u32 = u32::MAX;

impl Default for Posted {
    fn default() -> Self {
        Self { key: (ANY, ANY), number: NOBODY, rest: Mailbox::default() }
    }
}

/// The entries of the mailboxes of all ranks.
#[derive(Debug)]
pub(crate) struct Mailboxes<T> {
    few: Lists<(Key, T)>,
    /// By place of the rank.
    many: FxHashMap<usize, Indexed<T>>,
    /// Empty indices, to be reused.
    spare: Vec<Indexed<T>>,
}

/// Most empty indices that are kept.
const MOST_SPARE: usize = 64;

impl<T> Default for Mailboxes<T> {
    fn default() -> Self {
        Self { few: Lists::default(), many: FxHashMap::default(), spare: Vec::new() }
    }
}

impl Mailbox {
    /// True if the mailbox is empty.
    #[inline]
    pub(crate) fn is_empty(self) -> bool {
        self.len == 0
    }
}

impl<T: Copy> Mailboxes<T> {
    /// Appends an entry to the mailbox of the rank at `place`.
    #[inline]
    pub(crate) fn put(&mut self, (mailbox, place): (&mut Mailbox, usize), key: Key, entry: T) {
        if mailbox.len < FEW {
            self.few.push(&mut mailbox.few, (key, entry));
            mailbox.len += 1;
        } else {
            self.put_to_many((mailbox, place), key, entry);
        }
    }

    #[cold]
    fn put_to_many(&mut self, (mailbox, place): (&mut Mailbox, usize), key: Key, entry: T) {
        let Self { few, many, spare } = self;
        let many = many.entry(place).or_insert_with(|| spare.pop().unwrap_or_default());
        mailbox.len = MANY;
        while let Some((key, entry)) = few.pop(&mut mailbox.few) {
            many.put(key, entry);
        }
        many.put(key, entry);
    }

    /// Removes and returns the first matching entry of the rank at `place`.
    #[inline]
    pub(crate) fn take(&mut self, (mailbox, place): (&mut Mailbox, usize), key: Key) -> Option<T> {
        match mailbox.len {
            0 => None,
            MANY => self.take_from_many((mailbox, place), key),
            _ => {
                let (_, entry) = self.few.take(&mut mailbox.few, |(own, _)| fits(*own, key))?;
                mailbox.len -= 1;
                Some(entry)
            }
        }
    }

    #[cold]
    fn take_from_many(&mut self, (mailbox, place): (&mut Mailbox, usize), key: Key) -> Option<T> {
        let many = self.many.get_mut(&place)?;
        let found = many.take(key);
        if many.is_empty() {
            mailbox.len = 0;
            let empty = self.many.remove(&place).filter(|_| self.spare.len() < MOST_SPARE);
            self.spare.extend(empty);
        }
        found
    }

    /// The remaining entries of the rank at `place`, in their order.
    pub(crate) fn iter(&self, mailbox: Mailbox, place: usize) -> Box<dyn Iterator<Item = &T> + '_> {
        match self.many.get(&place) {
            None => Box::new(self.few.iter(mailbox.few).map(|(_, entry)| entry)),
            Some(many) => Box::new(many.entries()),
        }
    }

    /// Brings the entries into the cache, if there have never been more than `most`.
    pub(crate) fn fetch(&self, most: usize) {
        self.few.fetch(most);
    }

    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        self.few.bytes() + self.many.values().chain(&self.spare).map(Indexed::bytes).sum::<usize>()
    }
}

impl Mailboxes<u32> {
    /// Appends a receive to those of the rank at `place`.
    #[inline]
    pub(crate) fn post(&mut self, (posted, place): (&mut Posted, usize), key: Key, number: u32) {
        match posted.number == NOBODY && posted.rest.is_empty() {
            true => (posted.key, posted.number) = (key, number),
            false => self.put((&mut posted.rest, place), key, number),
        }
    }

    /// Removes and returns the first matching receive of the rank at `place`.
    #[inline]
    pub(crate) fn claim(&mut self, (posted, place): (&mut Posted, usize), key: Key) -> Option<u32> {
        if posted.number != NOBODY && fits(posted.key, key) {
            let number = posted.number;
            let next = match posted.rest.len {
                0 | MANY => None,
                _ => self.few.pop(&mut posted.rest.few),
            };
            posted.rest.len -= u32::from(next.is_some());
            (posted.key, posted.number) = next.unwrap_or((key, NOBODY));
            return Some(number);
        }
        self.take((&mut posted.rest, place), key)
    }

    /// The receives of the rank at `place`, in their order.
    pub(crate) fn all(&self, posted: Posted, place: usize) -> impl Iterator<Item = u32> + '_ {
        let first = Some(posted.number).filter(|number| *number != NOBODY);
        first.into_iter().chain(self.iter(posted.rest, place).copied())
    }
}

impl Posted {
    /// Removes and returns the only receive, if it matches; `Err` if there are several.
    #[inline]
    pub(crate) fn claim_only(&mut self, key: Key) -> Result<Option<u32>, ()> {
        match self.rest.is_empty() {
            false => Err(()),
            true if self.number != NOBODY && fits(self.key, key) => {
                Ok(Some(std::mem::replace(&mut self.number, NOBODY)))
            }
            true => Ok(None),
        }
    }
}

/// Entries with an index by key. A question with [`ANY`] in it needs a search.
#[derive(Debug)]
struct Indexed<T> {
    slots: Vec<Slot<T>>,
    /// The first free slot; `after` leads to the next one.
    free: u32,
    /// The first and the last entry, in the order of arrival.
    ends: Ends,
    /// The first and the last entry of each key.
    of: FxHashMap<Key, Ends>,
    /// Number of entries with [`ANY`] in their key.
    wild: usize,
    next: u64,
}

/// An entry, which is in the list of all entries and in the list of its key.
#[derive(Debug)]
struct Slot<T> {
    key: Key,
    entry: T,
    /// Number of entries that arrived before it.
    number: u64,
    before: u32,
    after: u32,
    /// The next entry of its key.
    same: u32,
}

/// The ends of a list of slots.
#[derive(Debug, Clone, Copy)]
struct Ends {
    first: u32,
    last: u32,
}

/// No slot.
const NONE: u32 = u32::MAX;

impl Ends {
    const EMPTY: Self = Self { first: NONE, last: NONE };
}

impl<T> Default for Indexed<T> {
    fn default() -> Self {
        Self { slots: Vec::new(), free: NONE, ends: Ends::EMPTY, of: FxHashMap::default(), wild: 0, next: 0 }
    }
}

fn is_wild(key: Key) -> bool {
    key.0 == ANY || key.1 == ANY
}

fn fits(a: Key, b: Key) -> bool {
    let same = |a, b| a == b || a == ANY || b == ANY;
    same(a.0, b.0) && same(a.1, b.1)
}

impl<T: Copy> Indexed<T> {
    fn put(&mut self, key: Key, entry: T) {
        self.wild += usize::from(is_wild(key));
        let slot = Slot { key, entry, number: self.next, before: self.ends.last, after: NONE, same: NONE };
        self.next += 1;
        let place = match self.slots.get_mut(self.free as usize) {
            Some(free) => {
                let place = std::mem::replace(&mut self.free, free.after);
                *free = slot;
                place
            }
            None => {
                self.slots.push(slot);
                self.slots.len() as u32 - 1
            }
        };
        match self.slots.get_mut(self.ends.last as usize) {
            Some(last) => last.after = place,
            None => self.ends.first = place,
        }
        self.ends.last = place;
        let of = self.of.entry(key).or_insert(Ends::EMPTY);
        match self.slots.get_mut(of.last as usize) {
            Some(last) => last.same = place,
            None => of.first = place,
        }
        of.last = place;
    }

    fn take(&mut self, key: Key) -> Option<T> {
        let place = self.first(key)?;
        let Slot { key, entry, before, after, same, .. } = self.slots[place as usize];
        self.wild -= usize::from(is_wild(key));
        // The first matching entry is the first one of its key.
        if let Entry::Occupied(mut of) = self.of.entry(key) {
            match same {
                NONE => drop(of.remove()),
                same => of.get_mut().first = same,
            }
        }
        match self.slots.get_mut(before as usize) {
            Some(before) => before.after = after,
            None => self.ends.first = after,
        }
        match self.slots.get_mut(after as usize) {
            Some(after) => after.before = before,
            None => self.ends.last = before,
        }
        self.slots[place as usize].after = std::mem::replace(&mut self.free, place);
        Some(entry)
    }

    /// The slot of the first matching entry.
    fn first(&self, key: Key) -> Option<u32> {
        if self.is_empty() {
            return None;
        }
        if is_wild(key) {
            return self.places().find(|&place| fits(self.slots[place as usize].key, key));
        }
        let (source, tag) = key;
        let of = |key| self.of.get(&key).map(|of| of.first);
        if self.wild == 0 {
            return of(key);
        }
        let all = [key, (ANY, tag), (source, ANY), (ANY, ANY)].into_iter().filter_map(of);
        all.min_by_key(|&place| self.slots[place as usize].number)
    }
}

impl<T> Indexed<T> {
    fn is_empty(&self) -> bool {
        self.ends.first == NONE
    }

    /// The slots of all entries, in the order of arrival.
    fn places(&self) -> impl Iterator<Item = u32> + '_ {
        let there = |place: u32| (place != NONE).then_some(place);
        std::iter::successors(there(self.ends.first), move |&place| there(self.slots[place as usize].after))
    }

    fn entries(&self) -> impl Iterator<Item = &T> {
        self.places().map(|place| &self.slots[place as usize].entry)
    }

    /// Bytes held.
    fn bytes(&self) -> usize {
        self.slots.capacity() * size_of::<Slot<T>>() + self.of.capacity() * size_of::<(Key, Ends)>()
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
        /// The index finds the entries that a linear search finds.
        #[test]
        fn the_first_that_fits_is_taken(steps in prop::collection::vec((any::<bool>(), number(), number()), 0..60)) {
            let (mut mailboxes, mut mailbox) = (Mailboxes::default(), Mailbox::default());
            let (mut receives, mut posted) = (Mailboxes::default(), Posted::default());
            let mut list: Vec<(Key, usize)> = Vec::new();
            for (i, (put, source, tag)) in steps.into_iter().enumerate() {
                let key = (source, tag);
                if put {
                    mailboxes.put((&mut mailbox, 5), key, i);
                    receives.post((&mut posted, 5), key, i as u32);
                    list.push((key, i));
                } else {
                    let at = list.iter().position(|(own, _)| fits(*own, key));
                    let expected = at.map(|at| list.remove(at).1);
                    prop_assert_eq!(mailboxes.take((&mut mailbox, 5), key), expected);
                    let expected = expected.map(|number| number as u32);
                    match posted.claim_only(key) {
                        Ok(claimed) => prop_assert_eq!(claimed, expected),
                        Err(()) => prop_assert_eq!(receives.claim((&mut posted, 5), key), expected),
                    }
                }
            }
            prop_assert!(mailboxes.iter(mailbox, 5).eq(list.iter().map(|(_, i)| i)));
            prop_assert!(receives.all(posted, 5).eq(list.iter().map(|(_, i)| *i as u32)));
            prop_assert_eq!(mailbox.is_empty(), list.is_empty());
        }
    }
}
