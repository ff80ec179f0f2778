//! Many lists that are mostly short, in one arena. A list only takes room for its items. Freed room, which is still in
//! the cache, is reused first.

use crate::cache::fetch;
use std::ops::{Index, IndexMut};

/// No item.
const NONE: u32 = u32::MAX;

/// One list of an arena: the place of its last item, whose `next` is the first item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct List(u32);

impl Default for List {
    fn default() -> Self {
        Self::EMPTY
    }
}

impl List {
    /// The empty list.
    pub const EMPTY: Self = Self(NONE);

    /// True if the list is empty.
    #[inline]
    pub fn is_empty(self) -> bool {
        self.0 == NONE
    }
}

#[derive(Debug, Clone, Copy)]
struct Item<T> {
    item: T,
    /// The next item of the list; for the last item, the first. In free places, the next free place.
    next: u32,
}

/// The items of all lists, by place.
#[derive(Debug)]
pub struct Lists<T> {
    items: Vec<Item<T>>,
    /// The first free place.
    free: u32,
}

impl<T> Default for Lists<T> {
    fn default() -> Self {
        Self { items: Vec::new(), free: NONE }
    }
}

impl<T> Index<u32> for Lists<T> {
    type Output = T;
    #[inline]
    fn index(&self, place: u32) -> &T {
        &self.items[place as usize].item
    }
}

impl<T> IndexMut<u32> for Lists<T> {
    #[inline]
    fn index_mut(&mut self, place: u32) -> &mut T {
        &mut self.items[place as usize].item
    }
}

impl<T: Copy> Lists<T> {
    /// Appends an item to its list, and returns its place.
    #[inline]
    pub fn push(&mut self, list: &mut List, item: T) -> u32 {
        let place = match self.items.get(self.free as usize) {
            Some(free) => std::mem::replace(&mut self.free, free.next),
            None => {
                self.items.push(Item { item, next: NONE });
                self.items.len() as u32 - 1
            }
        };
        let next = match self.items.get_mut(list.0 as usize) {
            Some(last) => std::mem::replace(&mut last.next, place),
            None => place,
        };
        self.items[place as usize] = Item { item, next };
        list.0 = place;
        place
    }

    /// Removes and returns the first item.
    #[inline]
    pub fn pop(&mut self, list: &mut List) -> Option<T> {
        let first = self.items.get(list.0 as usize)?.next;
        Some(self.unlink(list, list.0, first))
    }

    /// Removes and returns the first item for which `fits` is true.
    #[inline]
    pub fn take(&mut self, list: &mut List, fits: impl Fn(&T) -> bool) -> Option<T> {
        let mut before = list.0;
        loop {
            let place = self.items.get(before as usize)?.next;
            if fits(&self[place]) {
                return Some(self.unlink(list, before, place));
            }
            if place == list.0 {
                return None;
            }
            before = place;
        }
    }

    /// Removes the item at `place`, which follows the item at `before`.
    #[inline]
    fn unlink(&mut self, list: &mut List, before: u32, place: u32) -> T {
        let Item { item, next } = self.items[place as usize];
        self.items[before as usize].next = next;
        if place == list.0 {
            list.0 = if place == before { NONE } else { before };
        }
        self.items[place as usize].next = self.free;
        self.free = place;
        item
    }

    /// The places of a list's items, in their order.
    #[inline]
    pub fn places(&self, List(last): List) -> impl Iterator<Item = u32> + '_ {
        let first = self.items.get(last as usize).map(|last| last.next);
        let next = move |&place: &u32| (place != last).then(|| self.items[place as usize].next);
        std::iter::successors(first, next)
    }

    /// The items of a list, in their order.
    pub fn iter(&self, list: List) -> impl Iterator<Item = &T> + '_ {
        self.places(list).map(|place| &self[place])
    }

    /// Brings all items into the cache, if there have never been more than `most`.
    pub fn fetch(&self, most: usize) {
        if self.items.len() <= most {
            fetch(&self.items);
        }
    }

    /// Bytes of memory in use.
    pub fn bytes(&self) -> usize {
        self.items.capacity() * size_of::<Item<T>>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        /// Lists in one arena behave like separate lists, and reuse places.
        #[test]
        fn lists_share_an_arena(steps in prop::collection::vec((0..3usize, 0..4u8, 0..5u32), 0..100)) {
            let (mut arena, mut lists) = (Lists::default(), [List::default(); 3]);
            let mut plain: [VecDeque<u32>; 3] = Default::default();
            let mut most = 0;
            for (which, step, item) in steps {
                let (list, plain_one) = (&mut lists[which], &mut plain[which]);
                match step {
                    0 | 1 => {
                        let place = arena.push(list, item);
                        plain_one.push_back(item);
                        prop_assert_eq!(arena[place], item);
                    }
                    2 => prop_assert_eq!(arena.pop(list), plain_one.pop_front()),
                    _ => {
                        let at = plain_one.iter().position(|one| *one == item);
                        prop_assert_eq!(arena.take(list, |one| *one == item), at.and_then(|at| plain_one.remove(at)));
                    }
                }
                most = most.max(plain.iter().map(VecDeque::len).sum());
                for (list, plain) in lists.iter().zip(&plain) {
                    prop_assert!(arena.iter(*list).eq(plain));
                    prop_assert_eq!(list.is_empty(), plain.is_empty());
                }
            }
            prop_assert_eq!(arena.items.len(), most);
        }
    }
}
