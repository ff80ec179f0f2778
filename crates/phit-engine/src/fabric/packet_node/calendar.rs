//! Events in the order of their ticks, and within a tick in the order of filing.
//!
//! Nearly every event is filed a fixed time ahead that depends on its kind alone. So events of one kind are filed in
//! order. Each kind has a line to which events are appended, and the next tick is the earliest of the lines' first
//! ticks. In that tick, the lines are handled one after another, each up to its first event that was filed after an
//! event of another line. So the handler of a kind is looked up once for many events.
//!
//! Suppose that each event of a kind is followed by an event of another kind with the same data, a fixed time later.
//! Then it is filed once: the second kind is an *echo* of the first, and its line reads the same events some time
//! behind. Events out of order go to a heap: packets of several sizes, links of several lengths, sources that wait for
//! their next packet. Since the next events of each line are known, the memory that an event will need can be
//! prefetched.

use crate::engine::{Table, Tick};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The order of events: the tick, and below it the number in the order of filing.
type Key = u64;

/// The key of the event with this number for this tick.
#[inline(always)]
fn key(tick: Tick, number: u32) -> Key {
    Key::from(tick) << 32 | Key::from(number)
}

/// The tick of a key.
#[inline(always)]
fn tick(key: Key) -> Tick {
    (key >> 32) as Tick
}

/// A filed event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(C, align(16))]
pub(super) struct Event {
    key: Key,
    /// The object of the event.
    pub target: u32,
    /// Further data.
    pub data: u32,
}

/// Filed events of a kind, in order.
#[derive(Debug, Clone, Copy)]
struct Line {
    /// Place of the first event in the pool, and the free place behind the last; equal if there is none. An echo shares
    /// the latter with the kind that it follows.
    first: u32,
    behind: u32,
    /// Tick of the last one.
    last: Tick,
    /// The kind whose events the line has: its own kind, or the kind that it echoes.
    of: usize,
    /// Delay that is added to the keys of its events.
    delay: Key,
    /// True if another kind is its echo.
    is_echoed: bool,
    /// Index of the kind in [`Calendar::firsts`].
    place: usize,
}

impl Event {
    /// The mark behind the last event of a line, and at the end of each chunk.
    const NONE: Self = Self { key: Key::MAX, target: 0, data: 0 };
}

/// Events of a chunk, including the mark at its end.
const CHUNK: u32 = 128;
/// Number of events of a kind between prefetching an event's memory and handling the event.
const AHEAD: u32 = 8;

/// The events of all lines. Chunks are soon used again, so an event is written to memory that has just been read.
#[derive(Debug)]
struct Pool {
    /// Events in chunks of [`CHUNK`], and [`AHEAD`] more that belong to no line.
    events: Table<Event>,
    /// By chunk: the next chunk of its line, or of the free chunks; 0, which belongs to neither, if there is none.
    next: Table<u32>,
    free: u32,
}

impl Default for Pool {
    fn default() -> Self {
        Self { events: vec![Event::NONE; (CHUNK + AHEAD) as usize].into(), next: vec![0].into(), free: 0 }
    }
}

impl Pool {
    /// An empty line for a kind.
    fn line(&mut self, kind: usize) -> Line {
        let first = self.chunk() * CHUNK;
        self.events[first].key = Key::MAX;
        Line { first, behind: first, last: 0, of: kind, delay: 0, is_echoed: false, place: kind }
    }

    fn chunk(&mut self) -> u32 {
        if self.free == 0 {
            for _ in 0..CHUNK {
                self.events.push(Event::NONE);
            }
            self.free = self.next.push(0);
        }
        let chunk = self.free;
        self.free = std::mem::replace(&mut self.next[chunk], 0);
        chunk
    }

    /// An event for tick `at` has been written to the end of a line.
    #[inline(always)]
    fn end(&mut self, line: &mut Line, at: Tick) {
        line.last = at;
        line.behind += 1;
        self.events[line.behind].key = Key::MAX;
        if line.behind % CHUNK == CHUNK - 1 {
            self.lengthen(line);
        }
    }

    /// Makes room at the end of a line whose last chunk is full.
    #[cold]
    #[inline(never)]
    fn lengthen(&mut self, line: &mut Line) {
        let chunk = self.chunk();
        self.next[line.behind / CHUNK] = chunk;
        line.behind = chunk * CHUNK;
        self.events[line.behind].key = Key::MAX;
    }

    /// Leaves the first chunk of a line, all of whose events are handled. The chunk is free again unless an echo still
    /// reads it.
    fn shorten(&mut self, line: &mut Line) {
        let chunk = line.first / CHUNK;
        line.first = self.next[chunk] * CHUNK;
        if line.is_echoed {
            return;
        }
        self.next[chunk] = self.free;
        self.free = chunk;
    }
}

/// Most kinds, including the heap.
const MOST: usize = 10;
/// The largest number before all are reduced. A run never has as many events filed at once.
const LAST: u32 = 1 << 31;

/// A part of a tick: events of one kind that come before all others.
#[derive(Debug, Clone, Copy)]
pub(super) struct Run {
    /// The kind; `KINDS` if the next event is out of order, in [`Calendar::stray`].
    pub kind: usize,
    /// When.
    pub tick: Tick,
    /// Its events have smaller keys than this.
    before: Key,
}

/// The progress in a run of events.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reader {
    /// Place of its next event, if the key there is smaller than this.
    place: u32,
    before: Key,
}

/// Filed events of `KINDS` kinds.
#[derive(Debug)]
pub(super) struct Calendar<const KINDS: usize> {
    /// Key of the first event of each line, by place, and of the heap; the largest key if there is none. The lines'
    /// keys are updated when the next run is looked for.
    firsts: [Key; MOST],
    lines: [Line; KINDS],
    pool: Pool,
    /// Events out of order: key, kind, event.
    strays: BinaryHeap<Reverse<(Key, usize, Event)>>,
    /// Number of the last event filed.
    number: u32,
    /// The kind at each place; `KINDS` for the heap.
    kinds: [usize; MOST],
    /// Number of places whose kinds have this fixed order in each tick, see [`Calendar::order`].
    ordered: u32,
    /// One bit for each of these places whose events of tick `tick` are still to come.
    due: u32,
    tick: Tick,
}

impl<const KINDS: usize> Default for Calendar<KINDS> {
    fn default() -> Self {
        const { assert!(KINDS < MOST) };
        let mut pool = Pool::default();
        Self {
            firsts: [Key::MAX; MOST],
            lines: std::array::from_fn(|kind| pool.line(kind)),
            pool,
            strays: BinaryHeap::new(),
            number: 0,
            kinds: std::array::from_fn(|kind| kind),
            ordered: 0,
            due: 0,
            tick: 0,
        }
    }
}

impl<const KINDS: usize> Calendar<KINDS> {
    /// Files an event of `kind` for tick `at`.
    #[inline(always)]
    pub(super) fn file(&mut self, kind: usize, at: Tick, target: u32, data: u32) {
        let line = &mut self.lines[kind];
        if at < line.last {
            return self.file_stray(kind, at, target, data);
        }
        self.number += 1;
        let key = key(at, self.number);
        // Written field by field: a copy of an event put together elsewhere would have to wait for its parts.
        let event = &mut self.pool.events[line.behind];
        event.key = key;
        event.target = target;
        event.data = data;
        self.pool.end(line, at);
    }

    /// Makes kind `echo` the echo of `kind`, `delay` ticks later. Nothing may have been filed yet.
    pub(super) fn echo(&mut self, echo: usize, kind: usize, delay: Tick) {
        self.lines[kind].is_echoed = true;
        let place = self.lines[echo].place;
        self.lines[echo] = Line { of: kind, delay: key(delay, 1), is_echoed: false, place, ..self.lines[kind] };
    }

    /// Files an event of `kind` for tick `at`, and an event of `echo` with the same data `delay` ticks later. If `echo`
    /// is the echo of `kind`, `delay` must be its delay.
    #[inline(always)]
    pub(super) fn file_both(&mut self, kind: usize, echo: usize, at: Tick, delay: Tick, target: u32, data: u32) {
        let line = &mut self.lines[kind];
        if !line.is_echoed || at < line.last {
            return self.file_apart(kind, echo, at, delay, target, data);
        }
        let first = key(at, self.number + 1);
        self.number += 2;
        let place = line.behind;
        let event = &mut self.pool.events[place];
        event.key = first;
        event.target = target;
        event.data = data;
        self.pool.end(line, at);
    }

    /// [`Self::file_both`] without an echo, or for an event out of order.
    #[inline(never)]
    fn file_apart(&mut self, kind: usize, echo: usize, at: Tick, delay: Tick, target: u32, data: u32) {
        for (kind, at) in [(kind, at), (echo, at + delay)] {
            if self.lines[kind].of == kind && !self.lines[kind].is_echoed {
                self.file(kind, at, target, data);
            } else {
                self.file_stray(kind, at, target, data);
            }
        }
    }

    /// [`Self::file`] for an event that may be so far ahead that later events of its kind should not have to follow it.
    pub(super) fn file_some_time(&mut self, kind: usize, at: Tick, now: Tick, target: u32) {
        /// Ticks.
        const FAR: Tick = 1 << 16;
        if at - now < FAR {
            return self.file(kind, at, target, 0);
        }
        self.file_stray(kind, at, target, 0);
    }

    #[cold]
    #[inline(never)]
    fn file_stray(&mut self, kind: usize, tick: Tick, target: u32, data: u32) {
        self.number += 1;
        let key = key(tick, self.number);
        self.strays.push(Reverse((key, kind, Event { key, target, data })));
        self.firsts[KINDS] = self.firsts[KINDS].min(key);
    }

    /// Each kind is always filed a fixed number of ticks ahead; or, given as `None`, any number of them, which is rare.
    /// If these numbers differ, the kinds of a tick come in a fixed order: the ones filed longest ago first.
    pub(super) fn order(&mut self, ahead: [Option<Tick>; KINDS]) {
        let mut kinds: Vec<usize> = (0..KINDS).collect();
        kinds.sort_by_key(|&kind| Reverse(ahead[kind]));
        let ordered = kinds.iter().filter(|&&kind| ahead[kind].is_some()).count();
        let alike = kinds[..ordered].windows(2).any(|pair| ahead[pair[0]] == ahead[pair[1]]);
        if alike || kinds[..ordered].iter().any(|&kind| ahead[kind] == Some(0)) {
            return;
        }
        for (place, kind) in kinds.into_iter().enumerate() {
            (self.kinds[place], self.lines[kind].place) = (kind, place);
        }
        self.ordered = ordered as u32;
    }

    /// The next events before tick `end`.
    #[inline(always)]
    pub(super) fn next_run(&mut self, end: Tick) -> Option<Run> {
        if self.due == 0 {
            for line in &self.lines {
                self.firsts[line.place] = self.pool.events[line.first].key.saturating_add(line.delay);
            }
            // In pairs, so that no comparison must wait for all comparisons before it.
            let [a, b, c, d, e, f, g, h, i, j] = self.firsts;
            let first = a.min(b).min(c.min(d)).min(e.min(f).min(g.min(h))).min(i.min(j));
            if first >= key(end, 0) {
                return None;
            }
            let last = first | Key::from(u32::MAX);
            let due = self.firsts.iter().zip(0..).fold(0, |due, (&key, place)| due | u32::from(key <= last) << place);
            if due >> self.ordered != 0 {
                return self.next_run_of_any();
            }
            if self.number > LAST {
                self.renumber();
            }
            (self.due, self.tick) = (due, tick(first));
        }
        let kind = self.kinds[self.due.trailing_zeros() as usize];
        self.due &= self.due - 1;
        Some(Run { kind, tick: self.tick, before: key(self.tick, u32::MAX) })
    }

    /// [`Self::next_run`] if some kinds have no fixed order within a tick.
    #[inline(never)]
    fn next_run_of_any(&mut self) -> Option<Run> {
        let (mut first, mut place) = (Key::MAX, MOST);
        for (other, &key) in self.firsts.iter().enumerate() {
            if key < first {
                (first, place) = (key, other);
            }
        }
        if place == MOST {
            return None;
        }
        if self.number > LAST {
            self.renumber();
            first = self.firsts[place];
        }
        let (kind, tick) = (self.kinds[place], tick(first));
        self.firsts[place] = Key::MAX;
        let mut before = key(tick, u32::MAX);
        for &key in &self.firsts {
            before = before.min(key);
        }
        // If two kinds have the oldest possible event, one event goes first.
        Some(Run { kind, tick, before: before.max(first + 1) })
    }

    /// Reduces all numbers by as much as possible. Very old events become equal in age.
    #[cold]
    #[inline(never)]
    fn renumber(&mut self) {
        let by = self.number / 2;
        let less = |key: &mut Key| *key -= Key::from((*key as u32).min(by));
        for line in self.lines.iter().filter(|line| !line.is_echoed) {
            let (mut place, behind) = (line.first, self.lines[line.of].behind);
            while place != behind {
                less(&mut self.pool.events[place].key);
                place += 1;
                if place % CHUNK == CHUNK - 1 {
                    place = self.pool.next[place / CHUNK] * CHUNK;
                }
            }
        }
        self.strays = self
            .strays
            .drain()
            .map(|Reverse((mut key, kind, event))| {
                less(&mut key);
                Reverse((key, kind, event))
            })
            .collect();
        self.firsts.iter_mut().filter(|key| **key != Key::MAX).for_each(less);
        self.number -= by;
    }

    /// Begins to read a run of `kind`.
    #[inline(always)]
    pub(super) fn read(&self, kind: usize, run: Run) -> Reader {
        let line = &self.lines[kind];
        Reader { place: line.first, before: run.before - line.delay }
    }

    /// Takes the next event of a run of `kind`, and returns its object and data.
    #[inline(always)]
    pub(super) fn next(&mut self, kind: usize, reader: &mut Reader) -> Option<(u32, u32)> {
        if self.pool.events[reader.place].key >= reader.before {
            if reader.place % CHUNK == CHUNK - 1 {
                return self.next_of_chunk(kind, reader);
            }
            self.lines[kind].first = reader.place;
            return None;
        }
        let event = &self.pool.events[reader.place];
        reader.place += 1;
        Some((event.target, event.data))
    }

    /// [`Self::next`] at the end of a chunk.
    #[inline(never)]
    fn next_of_chunk(&mut self, kind: usize, reader: &mut Reader) -> Option<(u32, u32)> {
        let line = &mut self.lines[kind];
        line.first = reader.place;
        self.pool.shorten(line);
        reader.place = line.first;
        self.next(kind, reader)
    }

    /// The object and data of the event [`AHEAD`] events after the next one. If the chunk ends before that, any event's
    /// object and data.
    #[inline(always)]
    pub(super) fn guess(&self, reader: &Reader) -> (u32, u32) {
        let event = &self.pool.events[reader.place + AHEAD];
        (event.target, event.data)
    }

    /// Takes the first event that is out of order, with its kind.
    #[cold]
    pub(super) fn stray(&mut self) -> Option<(usize, Event)> {
        let Reverse((.., kind, event)) = self.strays.pop()?;
        self.firsts[KINDS] = self.strays.peek().map_or(Key::MAX, |Reverse((key, ..))| *key);
        Some((kind, event))
    }

    /// Bytes held.
    pub(super) fn bytes(&self) -> usize {
        let strays = self.strays.capacity() * size_of::<(Key, usize, Event)>();
        self.pool.events.bytes() + self.pool.next.bytes() + strays
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Rng, Stream};
    use std::collections::BTreeMap;

    /// The next event before tick `end`: kind, tick, target and data.
    fn take(calendar: &mut Calendar<9>, end: Tick) -> Option<(usize, Tick, u32, u32)> {
        let run = calendar.next_run(end)?;
        let (kind, event) = match run.kind {
            9 => calendar.stray()?,
            kind => {
                // One event, then the run is left.
                let line = &calendar.lines[kind];
                let first = calendar.pool.events[line.first].key + line.delay;
                let run = Run { before: run.before.min(first + 1), ..run };
                let mut reader = calendar.read(kind, run);
                let (target, data) = calendar.next(kind, &mut reader)?;
                assert_eq!(calendar.next(kind, &mut reader), None);
                (kind, Event { key: first, target, data })
            }
        };
        assert_eq!(run.tick, tick(event.key));
        Some((kind, run.tick, event.target, event.data))
    }

    #[test]
    fn events_come_in_the_order_of_ticks_and_of_filing() {
        let mut calendar = Calendar::default();
        for (kind, at, target) in
            [(0, 5, 0), (1, 3, 1), (0, 7, 2), (1, 7, 3), (1, 4, 4), (2, 3, 5), (0, 5, 6), (2, 9, 7)]
        {
            calendar.file(kind, at, target, 0);
        }
        let mut seen = Vec::new();
        while let Some((kind, tick, target, _)) = take(&mut calendar, 9) {
            seen.push((kind, tick, target));
        }
        assert_eq!(seen, [(1, 3, 1), (2, 3, 5), (1, 4, 4), (0, 5, 0), (0, 5, 6), (0, 7, 2), (1, 7, 3)]);
        assert_eq!(take(&mut calendar, 10), Some((2, 9, 7, 0)));
        assert_eq!(take(&mut calendar, Tick::MAX), None);
    }

    /// Compared with a map: each kind is filed a different time ahead, one of them at any time, and events file others.
    #[test]
    fn kinds_with_times_of_their_own_come_in_the_order_of_these() {
        let ahead = [Some(40), Some(7), Some(25), Some(5), Some(6), None, Some(30), Some(1), None];
        let mut rng = Rng::new(1, Stream::Pattern, 0);
        let mut calendar = Calendar::<9> { number: LAST - 5000, ..Calendar::default() };
        calendar.echo(0, 2, 15);
        calendar.order(ahead);
        assert_eq!(calendar.ordered, 7);
        let (mut expected, mut filed, mut runs) = (BTreeMap::new(), 0u32, 0);
        let mut file = |calendar: &mut Calendar<9>, expected: &mut BTreeMap<_, _>, now: Tick, rng: &mut Rng| {
            filed += 2;
            let kind = [1, 2, 2, 2, 3, 4, 5, 6, 7][rng.below(9) as usize];
            let tick = now + ahead[kind].unwrap_or_else(|| rng.below(60));
            expected.insert((tick, filed), filed);
            match kind {
                2 => {
                    expected.insert((tick + 15, filed + 1), filed);
                    calendar.file_both(2, 0, tick, 15, filed, 0);
                }
                5 => calendar.file_some_time(5, tick, now, filed),
                _ => calendar.file(kind, tick, filed, 0),
            }
        };
        for now in (0..40_000).step_by(20) {
            (0..3 + rng.below(30)).for_each(|_| file(&mut calendar, &mut expected, now, &mut rng));
            while let Some(run) = calendar.next_run(now + 20) {
                runs += 1;
                let mut reader = (run.kind < 9).then(|| calendar.read(run.kind, run));
                loop {
                    let event = match &mut reader {
                        Some(reader) => calendar.next(run.kind, reader).map(|event| event.0),
                        None => calendar.stray().map(|(_, event)| event.target),
                    };
                    let Some(event) = event else { break };
                    let first = expected.pop_first();
                    assert_eq!(Some((run.tick, event)), first.map(|((tick, _), target)| (tick, target)));
                    if rng.below(3) == 0 {
                        file(&mut calendar, &mut expected, run.tick, &mut rng);
                    }
                    if reader.is_none() {
                        break;
                    }
                }
            }
        }
        assert!(expected.len() < 2000 && runs > 10_000 && calendar.number < LAST, "{runs}");
    }

    #[test]
    fn kinds_with_the_same_time_have_no_order() {
        for ahead in [[Some(5), Some(5), Some(3)], [Some(5), None, Some(0)]] {
            let mut calendar = Calendar::<3>::default();
            calendar.order(ahead);
            assert_eq!((calendar.ordered, calendar.kinds[..3].to_vec()), (0, vec![0, 1, 2]));
        }
    }

    #[test]
    fn a_run_ends_where_another_kind_has_filed() {
        // Also with numbers that are reduced in between.
        for number in std::iter::once(0).chain(LAST - 7..LAST + 2) {
            let mut calendar = Calendar::<9> { number, ..Calendar::default() };
            for (kind, target) in [(4, 0), (4, 1), (2, 2), (2, 3), (2, 4), (4, 5)] {
                calendar.file(kind, 8, target, 0);
            }
            let mut runs = Vec::new();
            while let Some(run) = calendar.next_run(9) {
                let mut reader = calendar.read(run.kind, run);
                let events = std::iter::from_fn(|| calendar.next(run.kind, &mut reader));
                runs.push((run.kind, events.map(|event| event.0).collect::<Vec<_>>()));
            }
            assert_eq!(runs, [(4, vec![0, 1]), (2, vec![2, 3, 4]), (4, vec![5])], "{number}");
        }
    }

    /// Comparison with a map. Events are in order, out of order, and for the present tick. Lines have many chunks, or
    /// none. Events of two kinds are filed together, with and without an echo.
    #[test]
    fn any_filing_comes_out_in_order() {
        for (seed, reaches) in [(1, [1, 3, 70, 2000, 100_000]), (2, [1, 1, 1, 2, 3]), (3, [50, 60, 70, 80, 90])] {
            let mut rng = Rng::new(seed, Stream::Pattern, 0);
            // Some thousand events before numbers are reduced.
            let mut calendar = Calendar::<9> { number: LAST - 5000, ..Calendar::default() };
            if seed != 2 {
                calendar.echo(3, 2, 40);
            }
            let mut expected = BTreeMap::new();
            let (mut now, mut most, mut filed) = (0, 0, 0u32);
            for step in 0..60_000u32 {
                for _ in 0..rng.below(3) + u32::from(step % 7 == 0) + step / 1000 % 2 {
                    let kind = rng.below(9) as usize;
                    let reach = reaches[rng.below(5) as usize];
                    let ahead = if kind < 4 { kind as u32 * 40 } else { rng.below(reach) };
                    let (tick, target, data) = (now + ahead, rng.bits() as u32, if kind == 8 { 0 } else { step });
                    filed += 2;
                    match kind {
                        2 | 3 => {
                            let tick = now + 80 - u32::from(rng.below(50) == 0);
                            calendar.file_both(2, 3, tick, 40, target, data);
                            expected.insert((tick, filed), (2, tick, target, data));
                            expected.insert((tick + 40, filed + 1), (3, tick + 40, target, data));
                            continue;
                        }
                        8 => calendar.file_some_time(kind, tick, now, target),
                        _ => calendar.file(kind, tick, target, data),
                    }
                    expected.insert((tick, filed), (kind, tick, target, data));
                }
                most = most.max(expected.len());
                for _ in 0..rng.below(5) {
                    let end = now + 1 + rng.below(20);
                    let first = expected.first_key_value().map(|(_, due)| *due).filter(|due| due.1 < end);
                    assert_eq!(take(&mut calendar, end), first);
                    now = first.map_or(end, |due| due.1);
                    if first.is_some() {
                        expected.pop_first();
                    }
                }
            }
            assert!(most > 200 && calendar.number < LAST, "{most}");
            while let Some((_, due)) = expected.pop_first() {
                assert_eq!(take(&mut calendar, Tick::MAX), Some(due));
            }
            assert_eq!(take(&mut calendar, Tick::MAX), None);
        }
    }
}
