//! The buffers between the crossbar and the links: which of them have room, and when to check the others again.
//!
//! A flit takes its room when its output is granted, and returns it once it has started on the link. If the time for
//! which a link is taken determines the contents of the buffer in front of it, nothing else is stored. Otherwise, the
//! starts and sizes of a buffer's flits are stored in a ring. With `router.output_room = "crossed"` the flits of the
//! last tick do not count yet.

use super::Output;
use crate::engine::{Bytes, Table, Tick, bytes_of};
use crate::packet::MOST_CLASSES;

/// The flits in one buffer, whose times and sizes stand in its ring.
#[derive(Debug, Clone, Copy, Default)]
struct Content {
    /// Phits reserved.
    held: u32,
    /// Place of the oldest flit in the ring.
    first: u16,
    /// Flits in the ring.
    count: u16,
}

/// The flits that were granted last for one buffer.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Crossing {
    /// When.
    granted: Tick,
    /// Their phits.
    phits: u32,
}

impl Crossing {
    /// Phits that do not count in tick `now`: those that were granted no more than `crossing` ticks ago.
    #[inline]
    pub(crate) fn uncounted(&self, crossing: Tick, now: Tick) -> u32 {
        if self.granted.saturating_add(crossing) >= now { self.phits } else { 0 }
    }

    /// `phits` have been granted in tick `now`.
    #[inline]
    pub(crate) fn grant(&mut self, phits: u16, now: Tick) {
        if self.granted != now {
            *self = Self { granted: now, phits: 0 };
        }
        self.phits += u32::from(phits);
    }
}

/// The output buffers of all routers of a partition.
#[derive(Debug)]
pub(crate) struct OutputBuffers {
    /// Phits of a buffer; more than any run has if they are unlimited.
    capacity: u32,
    /// True if the time for which its link is taken determines whether a buffer has room.
    by_time: bool,
    /// If so, by class: a buffer is full while its link is taken for at least this many ticks.
    backlog: [Tick; MOST_CLASSES],
    /// If so, by class: in this tick, a buffer is full if its link becomes free in that tick or later.
    full_from: [Tick; MOST_CLASSES],
    /// By port; without entries if buffers are known by time.
    contents: Table<Content>,
    /// Start of transmission of each flit in a buffer, `ring` places per port.
    starts: Table<Tick>,
    /// Its phits.
    phits: Table<u16>,
    /// Places of a ring; 0 where none is needed.
    ring: u32,
    /// Ticks in which a flit crosses before it counts; 0: it counts from its grant on.
    crossing: Tick,
    /// By port, if flits count once they have crossed.
    latest: Table<Crossing>,
}

impl Bytes for OutputBuffers {
    fn bytes(&self) -> usize {
        bytes_of!(self, Self { contents, starts, phits, latest; capacity, by_time, backlog, full_from, ring, crossing })
    }
}

impl OutputBuffers {
    /// Empty buffers of `capacity` phits (`None`: unlimited) for `ports` ports, whose flits have `smallest` phits or
    /// more. `backlog`: by class, the ticks for which the link is taken when a buffer is full. `None` if that time does
    /// not tell. A flit counts `crossing` ticks after its grant.
    pub(crate) fn new(
        capacity: Option<u32>,
        backlog: Option<[Tick; MOST_CLASSES]>,
        ports: usize,
        (smallest, crossing): (u32, Tick),
    ) -> Self {
        let by_time = backlog.is_some();
        // Two flits may be crossing while the buffer is full.
        let more = if crossing > 0 { 3 } else { 1 };
        let ring = if by_time { 0 } else { capacity.map_or(0, |phits| phits / smallest.max(1) + more) };
        Self {
            capacity: capacity.unwrap_or(u32::MAX),
            by_time,
            backlog: backlog.unwrap_or_default(),
            full_from: [0; MOST_CLASSES],
            contents: vec![Content::default(); if by_time { 0 } else { ports }].into(),
            starts: vec![0; ports * ring as usize].into(),
            phits: vec![0; ports * ring as usize].into(),
            ring,
            crossing,
            latest: vec![Crossing::default(); if crossing > 0 { ports } else { 0 }].into(),
        }
    }

    pub(crate) fn fetch(&self) {
        self.starts.fetch();
        self.phits.fetch();
    }

    /// True if the time for which its link is taken determines whether a buffer has room.
    #[inline(always)]
    pub(crate) fn by_time(&self) -> bool {
        self.by_time
    }

    /// Tick `now` begins, for buffers known by time.
    #[inline(always)]
    pub(crate) fn begin(&mut self, now: Tick) {
        self.full_from = self.backlog.map(|backlog| now.saturating_add(backlog));
    }

    /// Buffers to links of `class` are full if their link becomes free in this tick or later; `None` if time is not
    /// enough.
    #[inline(always)]
    pub(crate) fn full_from(&self, class: usize) -> Option<Tick> {
        self.by_time.then(|| self.full_from[class % MOST_CLASSES])
    }

    /// True if the buffer of `output` is full, where that is known by time.
    #[inline(always)]
    pub(crate) fn is_full(&self, output: &Output) -> bool {
        output.free >= self.full_from[output.class as usize % MOST_CLASSES]
    }

    /// The first tick in which the buffer of `output` has room, or has had it, where that is known by time.
    #[inline(always)]
    pub(crate) fn room_from(&self, output: &Output) -> Tick {
        // From then on the backlog is short enough.
        (output.free + 1).saturating_sub(self.backlog[output.class as usize % MOST_CLASSES])
    }

    /// True if the buffer of output `index` has room for `size` phits in tick `now`.
    #[inline(always)]
    pub(crate) fn has_room(&self, index: u32, output: &Output, size: u32, now: Tick) -> bool {
        if self.by_time {
            return !self.is_full(output);
        }
        let crossing = self.crossing(index, now);
        let fits = |content: Content| content.held - crossing + size <= self.capacity;
        fits(self.contents[index]) || fits(self.remaining(index, now).0)
    }

    /// Phits in the buffer of output `index` that do not count in tick `now`.
    #[inline(always)]
    fn crossing(&self, index: u32, now: Tick) -> u32 {
        if self.crossing == 0 { 0 } else { self.latest[index].uncounted(self.crossing, now) }
    }

    /// `None` if the buffer of output `index` has room for `size` phits in tick `now`. Otherwise, the first tick in
    /// which it has more room, if its ring tells. Room of departed flits is returned when it is needed.
    #[inline(always)]
    pub(crate) fn more_from(&mut self, index: u32, size: u32, now: Tick) -> Option<Tick> {
        if self.contents[index].held + size <= self.capacity {
            return None;
        }
        let (content, oldest) = self.remaining(index, now);
        self.contents[index] = content;
        let held = content.held - self.crossing(index, now);
        oldest.filter(|_| held + size > self.capacity).map(|start| start + Tick::from(self.crossing == 0))
    }

    /// The occupancy of output `index`'s buffer without flits that started on the link before tick `now` or, if flits
    /// count once they have crossed, no later than in tick `now`. Also the start of the oldest remaining flit.
    #[inline(always)]
    fn remaining(&self, index: u32, now: Tick) -> (Content, Option<Tick>) {
        let base = index * self.ring;
        let Content { mut held, mut first, mut count } = self.contents[index];
        let kept = now + Tick::from(self.crossing > 0);
        let mut oldest = None;
        while count > 0 {
            let place = base + u32::from(first);
            let start = self.starts[place];
            if start >= kept {
                oldest = Some(start);
                break;
            }
            held -= u32::from(self.phits[place]);
            count -= 1;
            first = if u32::from(first) + 1 == self.ring { 0 } else { first + 1 };
        }
        (Content { held, first, count }, oldest)
    }

    /// A flit of `phits` for output `index` takes its room in tick `now`; it starts on the link in tick `start`.
    #[inline(always)]
    pub(crate) fn push(&mut self, index: u32, start: Tick, phits: u16, now: Tick) {
        if self.ring == 0 {
            return;
        }
        // A flit that starts when it has crossed never takes room.
        if self.crossing > 0 && start > now + self.crossing {
            self.latest[index].grant(phits, now);
        }
        let content = &mut self.contents[index];
        let mut place = u32::from(content.first) + u32::from(content.count);
        if place >= self.ring {
            place -= self.ring;
        }
        content.count += 1;
        content.held += u32::from(phits);
        let place = index * self.ring + place;
        self.starts[place] = start;
        self.phits[place] = phits;
    }

    /// Phits that are reserved in the buffer of output `index`, where they are counted.
    pub(crate) fn held(&self, index: u32) -> u32 {
        self.contents.get(index as usize).map_or(0, |content| content.held)
    }

    /// Phits of the flits in the ring of output `index` that start on the link after tick `now`; `None` if there is no
    /// ring.
    pub(crate) fn starting_after(&self, index: u32, now: Tick) -> Option<u32> {
        self.starting_from(index, now.saturating_add(1))
    }

    /// Phits of those that start in tick `now` or later; `None` if there is no ring.
    pub(crate) fn starting_from(&self, index: u32, now: Tick) -> Option<u32> {
        let later = || self.flits(index).filter(|(start, _)| *start >= now).map(|(_, phits)| phits).sum();
        (self.ring > 0).then(later)
    }

    /// The flits in the ring of output `index`, the oldest first: start of transmission and phits.
    pub(crate) fn flits(&self, index: u32) -> impl Iterator<Item = (Tick, u32)> {
        let Content { first, count, .. } = self.contents.get(index as usize).copied().unwrap_or_default();
        (0..u32::from(count)).map(move |place| {
            let place = index * self.ring + (u32::from(first) + place) % self.ring;
            (self.starts[place], u32::from(self.phits[place]))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two flits fill the buffer. If flits count once they have crossed, a third comes in the tick after the second.
    #[test]
    fn flits_of_the_last_tick_count_once_they_have_crossed() {
        for (crossing, third) in [(0, Some(11)), (1, None)] {
            let mut buffers = OutputBuffers::new(Some(2), None, 1, (1, crossing));
            buffers.push(0, 10, 1, 4);
            buffers.push(0, 11, 1, 5);
            assert_eq!(buffers.more_from(0, 1, 6), third, "crossing for {crossing} ticks");
        }
        let mut buffers = OutputBuffers::new(Some(2), None, 1, (1, 1));
        (4..7).for_each(|now| buffers.push(0, now + 6, 1, now));
        assert_eq!((buffers.more_from(0, 1, 7), buffers.held(0)), (Some(10), 3));
        // The first leaves. The buffer holds two flits, and they have crossed.
        assert_eq!(buffers.more_from(0, 1, 10), Some(11));
        assert_eq!(buffers.more_from(0, 1, 11), None);
    }
}
