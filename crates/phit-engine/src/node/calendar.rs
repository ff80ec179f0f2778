//! Events in the order of their ticks, and of their filing within a tick.
//!
//! Nearly every event is filed a fixed time ahead that depends on its kind alone, so that the events of a kind are in order as they
//! are filed: a queue for each kind, and the earliest of their heads, is all the sorting that it takes. What comes out of
//! order (packets of several sizes, links of several lengths, sources that wait for their next packet) goes to a heap.

use crate::engine::Tick;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// An event: its tick, its number in the order of filing, what it is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Event {
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
    pub fn tick(&self) -> Tick {
        (self.key >> 32) as Tick
    }
}

/// Filed events of `KINDS` kinds.
#[derive(Debug)]
pub struct Calendar<const KINDS: usize> {
    /// Key of the head of each queue; all ones if it is empty.
    heads: [u64; KINDS],
    queues: [VecDeque<Event>; KINDS],
    /// Events out of order, with their kinds.
    strays: BinaryHeap<Reverse<(Event, usize)>>,
    filed: u32,
}

impl<const KINDS: usize> Default for Calendar<KINDS> {
    fn default() -> Self {
        Self {
            heads: [u64::MAX; KINDS],
            queues: std::array::from_fn(|_| VecDeque::new()),
            strays: BinaryHeap::new(),
            filed: 0,
        }
    }
}

impl<const KINDS: usize> Calendar<KINDS> {
    /// Files an event of `kind` for tick `at`.
    #[inline]
    pub fn file(&mut self, kind: usize, at: Tick, target: u32, data: u32) {
        let event = Event { key: u64::from(at) << 32 | u64::from(self.filed), target, data };
        self.filed = self.filed.wrapping_add(1);
        let queue = &mut self.queues[kind];
        match queue.back() {
            None => self.heads[kind] = event.key,
            Some(last) if last.key > event.key => {
                self.strays.push(Reverse((event, kind)));
                return;
            }
            Some(_) => {}
        }
        queue.push_back(event);
    }

    /// Takes the earliest event before tick `end`, with its kind.
    #[inline]
    pub fn next_before(&mut self, end: Tick) -> Option<(usize, Event)> {
        let (mut kind, mut key) = (0, self.heads[0]);
        for (other, &head) in self.heads.iter().enumerate().skip(1) {
            if head < key {
                (kind, key) = (other, head);
            }
        }
        let stray = self.strays.peek().map_or(u64::MAX, |Reverse((event, _))| event.key);
        if key.min(stray) >> 32 >= u64::from(end) {
            return None;
        }
        if stray < key {
            return self.strays.pop().map(|Reverse((event, kind))| (kind, event));
        }
        let event = self.queues[kind].pop_front()?;
        self.heads[kind] = self.queues[kind].front().map_or(u64::MAX, |next| next.key);
        Some((kind, event))
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        let queued: usize = self.queues.iter().map(VecDeque::capacity).sum();
        queued * size_of::<Event>() + self.strays.capacity() * size_of::<(Event, usize)>()
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
        let mut seen = Vec::new();
        while let Some((kind, event)) = calendar.next_before(9) {
            seen.push((kind, event.tick(), event.target));
        }
        assert_eq!(seen, [(1, 3, 1), (2, 3, 5), (1, 4, 4), (0, 5, 0), (0, 5, 6), (0, 7, 2), (1, 7, 3)]);
        assert_eq!(calendar.next_before(10).map(|(_, event)| event.target), Some(7));
        assert!(calendar.next_before(Tick::MAX).is_none());
    }
}
