//! The queue of future events, by time.

use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Events by time; events of one time are in the order in which they were added.
///
/// An event may find that it must wait for something, such as a CPU, until a later time. Events that wait for one thing
/// form a line, and only its first event is checked: while the first must wait, so must the others.
#[derive(Debug)]
pub struct Queue<E> {
    heap: BinaryHeap<Reverse<(u64, u64, u32)>>,
    /// The present time,
    now: u64,
    /// and, with their numbers, events added for the present. Most events are, and are over at once.
    today: Vec<(u64, E)>,
    /// Number of these that have been taken out.
    taken: usize,
    /// Events of other times, and events that had to wait.
    events: Vec<Entry<E>>,
    free: Vec<u32>,
    number: u64,
    lines: Vec<Line>,
    /// Lines by the thing that they wait for, and the time until which.
    by_need: FxHashMap<(Need, u64), u32>,
    free_lines: Vec<u32>,
}

/// The thing that an event waits for. At one time, events with equal needs wait equally long.
pub type Need = (usize, usize);

/// The answer that an event must wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wait {
    /// The time until which it waits.
    pub until: u64,
    /// The thing that it waits for.
    pub need: Need,
}

#[derive(Debug, Clone, Copy)]
struct Entry<E> {
    event: E,
    /// Its number; [`OVER`] if it is over.
    number: u64,
    /// The line that it is in, or came from; [`NOWHERE`] if there is none.
    line: u32,
}

const OVER: u64 = u64::MAX;
const NOWHERE: u32 = u32::MAX;

/// Number of events kept after they have been taken out, before their room is reused.
const MANY: usize = 1024;

/// Events that wait for one thing, by number and place. The first of them is in the heap.
#[derive(Debug)]
struct Line {
    need: Need,
    until: u64,
    events: BinaryHeap<Reverse<(u64, u32)>>,
}

/// An event that has been taken out of its queue, with its place among the events of its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Due {
    /// When it was due.
    pub time: u64,
    number: u64,
    /// The place where it is kept; [`NOWHERE`] if it was due as soon as it was added.
    place: u32,
}

impl<E> Default for Queue<E> {
    fn default() -> Self {
        Self {
            heap: BinaryHeap::new(),
            now: 0,
            today: Vec::new(),
            taken: 0,
            events: Vec::new(),
            free: Vec::new(),
            number: 0,
            lines: Vec::new(),
            by_need: FxHashMap::default(),
            free_lines: Vec::new(),
        }
    }
}

impl<E: Copy> Queue<E> {
    /// Adds an event at `time`, after other events of that time.
    #[inline]
    pub fn add(&mut self, time: u64, event: E) {
        let number = self.number;
        self.number += 1;
        if time == self.now {
            return self.today.push((number, event));
        }
        let place = self.keep(number, event);
        self.heap.push(Reverse((time, number, place)));
    }

    /// Finds room for an event.
    fn keep(&mut self, number: u64, event: E) -> u32 {
        let entry = Entry { event, number, line: NOWHERE };
        match self.free.pop() {
            Some(place) => {
                self.events[place as usize] = entry;
                place
            }
            None => {
                self.events.push(entry);
                self.events.len() as u32 - 1
            }
        }
    }

    /// The present moves on to `now`.
    pub fn reach(&mut self, now: u64) {
        if self.today.is_empty() {
            self.now = now;
        }
    }

    /// True if an event is due by `time`.
    #[inline]
    pub fn is_due(&self, time: u64) -> bool {
        !self.today.is_empty() && self.now <= time || self.heap.peek().is_some_and(|Reverse((at, ..))| *at <= time)
    }

    /// Takes out the next event, if it is due by `time`.
    pub fn take(&mut self, time: u64) -> Option<(Due, E)> {
        loop {
            let filed = self.heap.peek().map(|Reverse(filed)| *filed);
            if let Some(&(number, event)) = self.today.get(self.taken)
                && filed.is_none_or(|(at, before, _)| (self.now, number) < (at, before))
            {
                if self.now > time {
                    return None;
                }
                self.taken += 1;
                if self.taken == self.today.len() || self.taken >= MANY && 2 * self.taken >= self.today.len() {
                    self.today.drain(..std::mem::take(&mut self.taken));
                }
                return Some((Due { time: self.now, number, place: NOWHERE }, event));
            }
            let (at, number, place) = filed.filter(|(at, ..)| *at <= time)?;
            self.heap.pop();
            self.reach(at);
            // It may be over, or may have moved on with its line.
            let &Entry { event, number: own, line } = &self.events[place as usize];
            if own != number {
                continue;
            }
            if let Some(line) = self.lines.get_mut(line as usize) {
                if line.until != at {
                    continue;
                }
                line.events.pop();
            }
            return Some((Due { time: at, number, place }, event));
        }
    }

    /// The event is over, and its room is free.
    pub fn end(&mut self, due: Due) {
        if due.place == NOWHERE {
            return;
        }
        let entry = &mut self.events[due.place as usize];
        entry.number = OVER;
        let line = entry.line;
        self.free.push(due.place);
        if line != NOWHERE {
            self.look_at_next(line);
        }
    }

    /// The first event of a line is gone. The need of the next one may be satisfied by now.
    fn look_at_next(&mut self, line: u32) {
        let Line { need, until, ref events } = self.lines[line as usize];
        match events.peek() {
            Some(&Reverse((number, place))) => self.heap.push(Reverse((until, number, place))),
            None => {
                self.by_need.remove(&(need, until));
                self.free_lines.push(line);
            }
        }
    }

    /// An event that has been taken out must wait until a later time. There, it keeps its place among the events of
    /// that time.
    pub fn defer(&mut self, mut due: Due, event: E, Wait { until, need }: Wait) {
        if due.place == NOWHERE {
            due.place = self.keep(due.number, event);
        }
        let before = self.events[due.place as usize].line;
        let mut line = match self.lines.get(before as usize) {
            Some(line) if line.need == need => {
                self.by_need.remove(&(need, due.time));
                before
            }
            other => {
                // Its former need is satisfied, but not its present one.
                if other.is_some() {
                    self.look_at_next(before);
                }
                self.new_line(need)
            }
        };
        self.lines[line as usize].until = until;
        self.lines[line as usize].events.push(Reverse((due.number, due.place)));
        self.events[due.place as usize].line = line;
        if let Some(&there) = self.by_need.get(&(need, until)) {
            line = self.join(there, line);
        }
        self.by_need.insert((need, until), line);
        if let Some(&Reverse((number, place))) = self.lines[line as usize].events.peek() {
            self.heap.push(Reverse((until, number, place)));
        }
    }

    /// Adds an event that could not take place at the present time, see [`Self::defer`].
    pub fn put_off(&mut self, event: E, wait: Wait) {
        let due = Due { time: self.now, number: self.number, place: NOWHERE };
        self.number += 1;
        self.defer(due, event, wait);
    }

    fn new_line(&mut self, need: Need) -> u32 {
        match self.free_lines.pop() {
            Some(free) => {
                self.lines[free as usize].need = need;
                free
            }
            None => {
                self.lines.push(Line { need, until: 0, events: BinaryHeap::new() });
                self.lines.len() as u32 - 1
            }
        }
    }

    /// Merges the shorter of two lines into the longer, and returns the longer.
    fn join(&mut self, a: u32, b: u32) -> u32 {
        let len = |line: u32| self.lines[line as usize].events.len();
        let (longer, shorter) = if len(a) < len(b) { (b, a) } else { (a, b) };
        let mut moved = std::mem::take(&mut self.lines[shorter as usize].events);
        for Reverse((_, place)) in &moved {
            self.events[*place as usize].line = longer;
        }
        self.lines[longer as usize].events.append(&mut moved);
        self.free_lines.push(shorter);
        longer
    }

    /// The time of the next event, or an earlier one.
    pub fn next(&self) -> Option<u64> {
        let today = self.today.first().map(|_| self.now);
        self.heap.peek().map(|Reverse((time, ..))| *time).into_iter().chain(today).min()
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        let waiting: usize = self.lines.iter().map(|line| line.events.capacity()).sum();
        self.heap.capacity() * size_of::<Reverse<(u64, u64, u32)>>()
            + self.today.capacity() * size_of::<(u64, E)>()
            + self.events.capacity() * size_of::<Entry<E>>()
            + (self.free.capacity() + self.free_lines.capacity()) * size_of::<u32>()
            + self.lines.capacity() * size_of::<Line>()
            + self.by_need.capacity() * size_of::<((Need, u64), u32)>()
            + waiting * size_of::<Reverse<(u64, u32)>>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    /// An event that needs one or both of two resources for some time. It leads to other events at later times.
    #[derive(Debug, Clone, Copy)]
    struct Event {
        takes: [Option<u64>; 2],
        then: Option<u64>,
    }

    fn event() -> impl Strategy<Value = Event> {
        let time = || prop::option::of(0..6u64);
        (time(), time(), time()).prop_map(|(a, b, then)| Event { takes: [a, b], then })
    }

    /// The resources, and the events that took place, with time and number.
    #[derive(Default)]
    struct World {
        free: [u64; 2],
        done: Vec<(u64, u64)>,
    }

    impl World {
        fn take_place(&mut self, event: Event, number: u64, now: u64) -> Result<(), Wait> {
            let until = (0..2).filter(|i| event.takes[*i].is_some()).map(|i| self.free[i]).max().unwrap_or(0);
            if until > now {
                let [a, b] = event.takes.map(|time| usize::from(time.is_some()));
                return Err(Wait { until, need: (a, b) });
            }
            for (free, time) in self.free.iter_mut().zip(event.takes) {
                *free = time.map_or(*free, |time| now + time);
            }
            self.done.push((now, number));
            Ok(())
        }
    }

    proptest! {
        /// Lines change no result: all events take place as if every waiting event were checked.
        #[test]
        fn what_waits_takes_place_in_its_order(
            first in prop::collection::vec((0..20u64, event()), 1..40),
            second in prop::collection::vec(event(), 40),
        ) {
            let mut plain = World::default();
            let mut all: BTreeSet<(u64, u64)> = (0..).zip(&first).map(|(number, (time, _))| (*time, number)).collect();
            let mut events: Vec<Event> = first.iter().map(|(_, event)| *event).collect();
            while let Some((now, number)) = all.pop_first() {
                let event = events[number as usize];
                match plain.take_place(event, number, now) {
                    Err(wait) => drop(all.insert((wait.until, number))),
                    Ok(()) => if let Some((after, next)) = event.then.zip(second.get(events.len() - first.len())) {
                        all.insert((now + after, events.len() as u64));
                        events.push(*next);
                    },
                }
            }

            let mut lines = World::default();
            let mut queue = Queue::default();
            first.iter().for_each(|(time, event)| queue.add(*time, *event));
            let mut added = 0;
            while let Some((due, event)) = queue.take(u64::MAX) {
                prop_assert!(queue.next().is_none_or(|next| next >= due.time));
                match lines.take_place(event, due.number, due.time) {
                    Err(wait) => queue.defer(due, event, wait),
                    Ok(()) => {
                        queue.end(due);
                        if let Some((after, next)) = event.then.zip(second.get(added)) {
                            queue.add(due.time + after, *next);
                            added += 1;
                        }
                    }
                }
            }
            prop_assert_eq!(plain.done, lines.done);
            prop_assert!(queue.by_need.is_empty() && queue.free_lines.len() == queue.lines.len());
        }
    }

    /// A thousand times as many waiting events take a thousand times as many checks, not a million.
    #[test]
    fn a_line_is_not_asked_through() {
        let mut queue = Queue::default();
        (0..100_000).for_each(|_| queue.add(0, Event { takes: [Some(1), None], then: None }));
        let (mut world, mut looks) = (World::default(), 0);
        while let Some((due, event)) = queue.take(u64::MAX) {
            looks += 1;
            match world.take_place(event, due.number, due.time) {
                Err(wait) => queue.defer(due, event, wait),
                Ok(()) => queue.end(due),
            }
        }
        assert_eq!(world.done.len(), 100_000);
        assert!(looks < 4 * 100_000, "{looks}");
    }
}
