//! The event wheel: a bucket per tick for the near future, with a list per kind of event, and a heap for the rest.
//!
//! Events of one tick come out in no particular order. Handlers must not depend on it, because the order differs with
//! the number of partitions.

use super::table::Table;
use super::{NONE, Tick};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use zerocopy::{FromBytes, Immutable, IntoBytes};

/// Something that happens to `target` at its tick; the meaning belongs to the owner of the wheel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub(crate) struct Event {
    /// The object of the event.
    pub target: u32,
    /// Further data.
    pub data: u32,
}

#[derive(Debug, Clone, Copy)]
struct Node {
    event: Event,
    next: u32,
}

/// Lists of each tick. Handlers take one kind of event after another, each in a loop of its own. So no branch that
/// depends on the kind must be predicted.
pub(crate) const LISTS: u32 = 8;

/// The events of one list of one tick, while they are taken out.
#[derive(Debug)]
pub(crate) struct Due {
    first: u32,
    next: u32,
    last: u32,
}

/// Lists are intrusive, over one pool of nodes. So memory depends on the number of pending events, and the nodes in use
/// stay in the cache.
#[derive(Debug)]
pub(crate) struct Wheel {
    /// First node of every list: [`LISTS`] of each tick.
    heads: Table<u32>,
    nodes: Table<Node>,
    free: u32,
    mask: u32,
    /// First tick that has no bucket yet.
    end: Tick,
    far: BinaryHeap<Reverse<(Tick, u32, Event)>>,
}

impl Wheel {
    /// A wheel whose buckets cover at least `horizon` ticks.
    pub(crate) fn new(horizon: Tick) -> Self {
        let size = horizon.max(64).next_power_of_two();
        Self {
            heads: vec![NONE; (size * LISTS) as usize].into(),
            nodes: Table::default(),
            free: NONE,
            mask: size - 1,
            end: size,
            far: BinaryHeap::new(),
        }
    }

    /// Ticks covered by the buckets.
    pub(crate) fn horizon(&self) -> Tick {
        self.mask + 1
    }

    /// Files `event` in `list` of tick `at`, which must be later than `now`.
    #[inline(always)]
    pub(crate) fn insert(&mut self, now: Tick, at: Tick, list: u32, event: Event) {
        debug_assert!(at > now && list < LISTS);
        if at >= self.end {
            self.insert_far(at, list, event);
        } else {
            self.insert_near(at, list, event);
        }
    }

    #[cold]
    #[inline(never)]
    fn insert_far(&mut self, at: Tick, list: u32, event: Event) {
        self.far.push(Reverse((at, list, event)));
    }

    #[inline(always)]
    fn insert_near(&mut self, at: Tick, list: u32, event: Event) {
        let head = (at & self.mask) * LISTS + list;
        if self.free == NONE {
            self.grow();
        }
        let index = self.free;
        let node = &mut self.nodes[index];
        self.free = node.next;
        *node = Node { event, next: std::mem::replace(&mut self.heads[head], index) };
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        self.free = self.nodes.push(Node { event: Event { target: 0, data: 0 }, next: NONE });
    }

    /// Moves events that are now within the horizon from the heap to their buckets. Must be called before
    /// [`Self::take`] whenever time has advanced.
    #[inline]
    pub(crate) fn bring_near(&mut self, now: Tick) {
        self.end = now.saturating_add(self.horizon());
        if !self.far.is_empty() {
            self.bring_near_now();
        }
    }

    #[cold]
    fn bring_near_now(&mut self) {
        while let Some(Reverse((at, list, event))) = self.far.peek().copied() {
            if at >= self.end {
                break;
            }
            self.far.pop();
            self.insert_near(at, list, event);
        }
    }

    /// Detaches `list` of tick `now`; walk it with [`Self::pop`].
    #[inline(always)]
    pub(crate) fn take(&mut self, now: Tick, list: u32) -> Due {
        let head = (now & self.mask) * LISTS + list;
        let first = std::mem::replace(&mut self.heads[head], NONE);
        Due { first, next: first, last: NONE }
    }

    /// The next event of a detached list; `None` at the end, where the nodes of the list become free all at once.
    #[inline(always)]
    pub(crate) fn pop(&mut self, due: &mut Due) -> Option<Event> {
        if due.next == NONE {
            if due.last != NONE {
                self.nodes[due.last].next = self.free;
                self.free = due.first;
                due.last = NONE;
            }
            return None;
        }
        let node = self.nodes[due.next];
        due.last = due.next;
        due.next = node.next;
        Some(node.event)
    }

    /// Calls `see` with the events of a list of tick `at`, which must have a bucket.
    #[inline(always)]
    pub(crate) fn for_each_of(&self, at: Tick, list: u32, mut see: impl FnMut(Event)) {
        let mut cursor = self.heads[(at & self.mask) * LISTS + list];
        while cursor != NONE {
            let node = self.nodes[cursor];
            see(node.event);
            cursor = node.next;
        }
    }

    /// The first tick in `from..limit` that has an event, or `limit`.
    pub(crate) fn next_tick(&self, from: Tick, limit: Tick) -> Tick {
        let far = self.far.peek().map_or(limit, |Reverse((at, ..))| (*at).clamp(from, limit));
        let ahead = (far - from).min(self.horizon());
        // A bucket must be checked before time moves on in any case, so an index of busy buckets would not be faster.
        let busy = |at: &Tick| {
            let first = ((at & self.mask) * LISTS) as usize;
            self.heads.get(first..first + LISTS as usize).is_some_and(|heads| heads.iter().any(|head| *head != NONE))
        };
        (from..from + ahead).find(busy).unwrap_or(far)
    }

    /// For checks, when all ticks before `now` have been taken: calls `see` with the tick, the list and the event of
    /// everything pending, in no particular order.
    pub(crate) fn for_each(&self, now: Tick, mut see: impl FnMut(Tick, u32, Event)) {
        for (bucket, &head) in self.heads.iter().enumerate() {
            let at = now + ((bucket as u32 / LISTS).wrapping_sub(now) & self.mask);
            let mut cursor = head;
            while cursor != NONE {
                let node = self.nodes[cursor];
                see(at, bucket as u32 % LISTS, node.event);
                cursor = node.next;
            }
        }
        self.far.iter().for_each(|Reverse((at, list, event))| see(*at, *list, *event));
    }

    /// Brings the wheel into the cache, see [`Table::fetch`].
    pub(crate) fn fetch(&self) {
        self.heads.fetch();
        self.nodes.fetch();
    }

    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        self.heads.bytes() + self.nodes.bytes() + self.far.capacity() * size_of::<Reverse<(Tick, u32, Event)>>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_out_at_their_tick_whatever_the_distance() {
        let mut wheel = Wheel::new(64);
        for at in [1u32, 2, 63, 64, 65, 200, 1000] {
            wheel.insert(0, at, at % LISTS, Event { target: at, data: 0 });
        }
        let mut seen = Vec::new();
        let mut now = 0;
        while now < 2000 {
            wheel.bring_near(now);
            for list in 0..LISTS {
                let mut due = wheel.take(now, list);
                while let Some(event) = wheel.pop(&mut due) {
                    assert_eq!((event.target, event.target % LISTS), (now, list));
                    seen.push(event.target);
                }
            }
            now = wheel.next_tick(now + 1, 2000);
        }
        assert_eq!(seen, [1, 2, 63, 64, 65, 200, 1000]);
    }
}
