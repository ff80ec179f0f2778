//! Events in the order of their ticks, and of their filing within a tick.
//!
//! Nearly every event is filed a fixed time ahead that depends on its kind alone, so that the events of a kind are in
//! order as they are filed: a queue for each kind, and the earliest of their heads, is all the sorting that it takes.
//! What comes out of order (packets of several sizes, links of several lengths, sources that wait for their next
//! packet) goes to a heap. And since it is known what is next in each queue, what an event will need can be brought
//! into the cache before its turn.

use crate::engine::{Table, Tick};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// An event: its tick, its number in the order of filing, what it is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) struct Event {
    /// Tick in the upper half, order of filing in the lower: the order of events.
    key: u64,
    /// What it is about.
    pub target: u32,
    /// More about it.
    pub data: u32,
}

impl Event {
    /// The tick.
    #[inline]
    pub(super) fn tick(&self) -> Tick {
        (self.key >> 32) as Tick
    }
}

/// Events in order: a ring.
#[derive(Debug)]
struct Ring {
    /// A power of two of them.
    items: Table<Event>,
    /// Of the first and behind the last, before they are taken modulo the size.
    first: u32,
    behind: u32,
    /// Key of the last.
    last: u64,
}

impl Default for Ring {
    fn default() -> Self {
        Self { items: vec![Event::default(); 16].into(), first: 0, behind: 0, last: 0 }
    }
}

impl Ring {
    #[inline]
    fn place(&self, number: u32) -> u32 {
        number & (self.items.len() as u32 - 1)
    }

    #[inline]
    fn is_empty(&self) -> bool {
        self.first == self.behind
    }

    #[inline]
    fn push(&mut self, event: Event) {
        if self.behind.wrapping_sub(self.first) as usize == self.items.len() {
            self.grow();
        }
        let place = self.place(self.behind);
        self.items[place] = event;
        self.behind = self.behind.wrapping_add(1);
        self.last = event.key;
    }

    /// Takes the first, which must be there; returns it and the key of the next, all ones if there is none.
    #[inline]
    fn pop(&mut self) -> (Event, u64) {
        let event = self.items[self.place(self.first)];
        self.first = self.first.wrapping_add(1);
        let next = if self.is_empty() { u64::MAX } else { self.items[self.place(self.first)].key };
        (event, next)
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        let held = self.behind.wrapping_sub(self.first);
        let mut items: Vec<Event> = (0..held).map(|i| self.items[self.place(self.first.wrapping_add(i))]).collect();
        items.resize(2 * self.items.len(), Event::default());
        (self.items, self.first, self.behind) = (items.into(), 0, held);
    }
}

/// Kinds whose heads are compared together.
const GROUP: usize = 3;
/// Groups of them.
const GROUPS: usize = 3;

/// Filed events of `KINDS` kinds, [`GROUP`] times [`GROUPS`] at most.
#[derive(Debug)]
pub(super) struct Calendar<const KINDS: usize> {
    /// By group, key of the head of each queue; all ones if it is empty.
    heads: [[u64; GROUP]; GROUPS],
    /// By group, the smallest of these: of one event only the heads of its group need be compared again.
    firsts: [u64; GROUPS],
    /// Key of the first of the strays; all ones if there are none.
    stray: u64,
    queues: [Ring; KINDS],
    /// Events out of order, with their kinds.
    strays: BinaryHeap<Reverse<(Event, usize)>>,
    filed: u32,
}

impl<const KINDS: usize> Default for Calendar<KINDS> {
    fn default() -> Self {
        const { assert!(KINDS <= GROUP * GROUPS) };
        Self {
            heads: [[u64::MAX; GROUP]; GROUPS],
            firsts: [u64::MAX; GROUPS],
            stray: u64::MAX,
            queues: std::array::from_fn(|_| Ring::default()),
            strays: BinaryHeap::new(),
            filed: 0,
        }
    }
}

impl<const KINDS: usize> Calendar<KINDS> {
    /// Files an event of `kind` for tick `at`.
    #[inline(always)]
    pub(super) fn file(&mut self, kind: usize, at: Tick, target: u32, data: u32) {
        let event = Event { key: u64::from(at) << 32 | u64::from(self.filed), target, data };
        self.filed = self.filed.wrapping_add(1);
        let queue = &mut self.queues[kind];
        let head = &mut self.heads[kind / GROUP][kind % GROUP];
        if *head == u64::MAX {
            *head = event.key;
            let first = &mut self.firsts[kind / GROUP];
            *first = event.key.min(*first);
        } else if queue.last > event.key {
            return self.file_stray(kind, event);
        }
        queue.push(event);
    }

    #[cold]
    #[inline(never)]
    fn file_stray(&mut self, kind: usize, event: Event) {
        self.strays.push(Reverse((event, kind)));
        self.stray = self.stray.min(event.key);
    }

    /// Takes the earliest event before tick `end`, with its kind.
    #[inline(always)]
    pub(super) fn next_before(&mut self, end: Tick) -> Option<(usize, Event)> {
        let (mut group, mut key) = (GROUPS, self.stray);
        for (other, &first) in self.firsts.iter().enumerate() {
            (group, key) = if first < key { (other, first) } else { (group, key) };
        }
        if key >> 32 >= u64::from(end) {
            return None;
        }
        if group == GROUPS {
            return self.next_stray();
        }
        let heads = &mut self.heads[group];
        // No two events have one key.
        let place = if heads[0] == key { 0 } else { 1 + usize::from(heads[1] != key) };
        let kind = GROUP * group + place;
        let (event, next) = self.queues.get_mut(kind)?.pop();
        heads[place] = next;
        self.firsts[group] = heads[0].min(heads[1]).min(heads[2]);
        Some((kind, event))
    }

    #[cold]
    #[inline(never)]
    fn next_stray(&mut self) -> Option<(usize, Event)> {
        let Reverse((event, kind)) = self.strays.pop()?;
        self.stray = self.strays.peek().map_or(u64::MAX, |Reverse((event, _))| event.key);
        Some((kind, event))
    }

    /// Target and data of the event of `kind` that comes after `ahead` others of its kind. What is told is a guess:
    /// there may be no such event.
    #[inline]
    pub(super) fn guess(&self, kind: usize, ahead: u32) -> (u32, u32) {
        let queue = &self.queues[kind];
        let event = &queue.items[queue.place(queue.first.wrapping_add(ahead))];
        (event.target, event.data)
    }

    /// Bytes held.
    pub(super) fn bytes(&self) -> usize {
        let queued: usize = self.queues.iter().map(|queue| queue.items.bytes()).sum();
        queued + self.strays.capacity() * size_of::<(Event, usize)>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_in_the_order_of_ticks_and_of_filing() {
        let mut calendar = Calendar::<3>::default();
        for (kind, at, target) in
            [(0, 5, 0), (1, 3, 1), (0, 7, 2), (1, 7, 3), (1, 4, 4), (2, 3, 5), (0, 5, 6), (2, 9, 7)]
        {
            calendar.file(kind, at, target, 0);
        }
        assert_eq!(calendar.guess(0, 1), (2, 0));
        let mut seen = Vec::new();
        while let Some((kind, event)) = calendar.next_before(9) {
            seen.push((kind, event.tick(), event.target));
        }
        assert_eq!(seen, [(1, 3, 1), (2, 3, 5), (1, 4, 4), (0, 5, 0), (0, 5, 6), (0, 7, 2), (1, 7, 3)]);
        assert_eq!(calendar.next_before(10).map(|(_, event)| event.target), Some(7));
        assert!(calendar.next_before(Tick::MAX).is_none());
    }

    #[test]
    fn a_full_queue_grows_wherever_it_begins() {
        let mut calendar = Calendar::<1>::default();
        let mut taken = 0;
        for filed in 0..1000 {
            calendar.file(0, filed, filed, 0);
            // Two steps forward, one back, so that the queue wraps around and grows many times.
            if filed % 2 == 1 {
                assert_eq!(calendar.next_before(Tick::MAX).map(|(_, event)| event.target), Some(taken));
                taken += 1;
            }
        }
        while let Some((_, event)) = calendar.next_before(Tick::MAX) {
            assert_eq!(event.target, taken);
            taken += 1;
        }
        assert_eq!(taken, 1000);
    }
}
