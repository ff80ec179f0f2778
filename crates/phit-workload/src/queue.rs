//! What is to happen, by time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Events by time; those of one time in the order in which they were said.
#[derive(Debug)]
pub struct Queue<E> {
    heap: BinaryHeap<Reverse<(u64, u64, u32)>>,
    events: Vec<E>,
    free: Vec<u32>,
    number: u64,
}

/// An event that has been taken out of its queue, with its place among those of its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Due {
    /// When it was due.
    pub time: u64,
    number: u64,
    place: u32,
}

impl<E> Default for Queue<E> {
    fn default() -> Self {
        Self { heap: BinaryHeap::new(), events: Vec::new(), free: Vec::new(), number: 0 }
    }
}

impl<E: Copy> Queue<E> {
    /// Adds an event at `time`, behind those of that time.
    pub fn add(&mut self, time: u64, event: E) {
        let number = self.number;
        self.number += 1;
        let place = match self.free.pop() {
            Some(place) => {
                self.events[place as usize] = event;
                place
            }
            None => {
                self.events.push(event);
                self.events.len() as u32 - 1
            }
        };
        self.heap.push(Reverse((time, number, place)));
    }

    /// Takes out the next event, if it is due by `time`.
    pub fn take(&mut self, time: u64) -> Option<(Due, E)> {
        self.heap.peek().filter(|Reverse((at, ..))| *at <= time)?;
        let Reverse((time, number, place)) = self.heap.pop()?;
        Some((Due { time, number, place }, self.events[place as usize]))
    }

    /// The event is over: its room is free.
    pub fn end(&mut self, due: Due) {
        self.free.push(due.place);
    }

    /// The event cannot take place before `later`, where it keeps its place among those of the same time.
    pub fn defer(&mut self, due: Due, later: u64) {
        self.heap.push(Reverse((later, due.number, due.place)));
    }

    /// The time of the next event.
    pub fn next(&self) -> Option<u64> {
        self.heap.peek().map(|Reverse((time, ..))| *time)
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.heap.capacity() * size_of::<Reverse<(u64, u64, u32)>>()
            + self.events.capacity() * size_of::<E>()
            + self.free.capacity() * size_of::<u32>()
    }
}
