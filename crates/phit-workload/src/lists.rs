//! Many lists that are mostly short, in one arena: none of them takes more room than what is in it, and what one gives
//! back, which is in the cache yet, the next one gets.

use crate::cache::fetch;
use std::ops::{Index, IndexMut};

/// No item.
const NONE: u32 = u32::MAX;

/// One list of an arena.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct List {
    first: u32,
    last: u32,
}

impl Default for List {
    fn default() -> Self {
        Self { first: NONE, last: NONE }
    }
}

impl List {
    /// True if nothing is in it.
    #[inline]
    pub fn is_empty(self) -> bool {
        self.first == NONE
    }

    /// The place of the item that is its only one.
    #[inline]
    pub fn only(self) -> Option<u32> {
        (self.first == self.last && self.first != NONE).then_some(self.first)
    }
}

#[derive(Debug, Clone, Copy)]
struct Item<T> {
    item: T,
    /// The next one of its list, or the next free place.
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
    /// Adds an item behind all others of its list; returns its place.
    #[inline]
    pub fn push(&mut self, list: &mut List, item: T) -> u32 {
        let new = Item { item, next: NONE };
        let place = match self.items.get_mut(self.free as usize) {
            Some(free) => {
                let place = std::mem::replace(&mut self.free, free.next);
                *free = new;
                place
            }
            None => {
                self.items.push(new);
                self.items.len() as u32 - 1
            }
        };
        match list.first {
            NONE => list.first = place,
            _ => self.items[list.last as usize].next = place,
        }
        list.last = place;
        place
    }

    /// Takes the first item out.
    #[inline]
    pub fn pop(&mut self, list: &mut List) -> Option<T> {
        let place = list.first;
        let first = self.items.get_mut(place as usize)?;
        let next = std::mem::replace(&mut first.next, self.free);
        self.free = place;
        *list = if next == NONE { List::default() } else { List { first: next, ..*list } };
        Some(first.item)
    }

    /// Takes out the first item that fits.
    #[inline]
    pub fn take(&mut self, list: &mut List, fits: impl Fn(&T) -> bool) -> Option<T> {
        let mut before = NONE;
        let mut place = list.first;
        loop {
            let &Item { item, next } = self.items.get(place as usize)?;
            if !fits(&item) {
                (before, place) = (place, next);
                continue;
            }
            if before == NONE {
                return self.pop(list);
            }
            self.items[before as usize].next = next;
            if list.last == place {
                list.last = before;
            }
            self.items[place as usize].next = self.free;
            self.free = place;
            return Some(item);
        }
    }

    /// The places of a list's items, in their order.
    #[inline]
    pub fn places(&self, list: List) -> impl Iterator<Item = u32> + '_ {
        let next = |&place: &u32| Some(self.items[place as usize].next).filter(|next| *next != NONE);
        std::iter::successors(Some(list.first).filter(|first| *first != NONE), next)
    }

    /// The items of a list, in their order.
    pub fn iter(&self, list: List) -> impl Iterator<Item = &T> + '_ {
        self.places(list).map(|place| &self[place])
    }

    /// Brings all items into the cache.
    pub fn fetch(&self) {
        fetch(&self.items);
    }

    /// Bytes held.
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
        /// Lists of one arena are what lists by themselves are, and use places again.
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
                    prop_assert_eq!(list.only().map(|place| arena[place]), plain.front().copied().filter(|_| plain.len() == 1));
                }
            }
            prop_assert_eq!(arena.items.len(), most);
        }
    }
}
