//! Programs on networks that carry whole messages, event by event.

use crate::host::{Effects, HostParams, Hosts, Left, Message};
use crate::network::{Hop, Network};
use crate::plan::Plan;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What happens at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Event {
    /// Operation `number` of `rank` is due.
    Operation { rank: u32, number: u32 },
    /// A message arrives.
    Message(Message),
    /// A message is on its way, after so many hops.
    Hop { message: Message, hops: u32 },
}

/// Events by time; those of one time in the order in which they were said.
#[derive(Debug, Default)]
struct Queue {
    heap: BinaryHeap<Reverse<(u64, u64, u32)>>,
    events: Vec<Event>,
    free: Vec<u32>,
    number: u64,
}

impl Queue {
    fn add(&mut self, time: u64, event: Event) {
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
}

/// What came of a program.
#[derive(Debug, PartialEq, Eq)]
pub struct Finish {
    /// When each rank has finished.
    pub ranks: Vec<u64>,
    /// What is left, if the program did not come to its end.
    pub left: Left,
    /// Events.
    pub events: u64,
}

impl Finish {
    /// When the last rank has finished.
    pub fn completion(&self) -> u64 {
        self.ranks.iter().copied().max().unwrap_or(0)
    }
}

/// Executes a program over a network.
pub fn run(plan: Box<dyn Plan>, params: HostParams, mut network: impl Network) -> Finish {
    let mut hosts = Hosts::new(plan, params);
    let mut queue = Queue::default();
    let mut effects = Effects::default();
    let ranks = hosts.plan().ranks();
    for rank in 0..ranks {
        hosts.begin(rank, &mut effects);
    }
    settle(&hosts, &mut effects, &mut queue, &mut network, 0);
    let mut events = 0;
    while let Some(Reverse((now, number, place))) = queue.heap.pop() {
        let outcome = match queue.events[place as usize] {
            Event::Operation { rank, number } => hosts.perform(rank, number, now, &mut effects),
            Event::Message(message) => hosts.arrive(message, now, &mut effects),
            Event::Hop { message, hops } => {
                go_on(message, hops, now, &mut queue, &mut network);
                Ok(())
            }
        };
        match outcome {
            // It keeps its place among those of the same time.
            Err(later) => queue.heap.push(Reverse((later, number, place))),
            Ok(()) => {
                events += 1;
                queue.free.push(place);
                if let Some(taken) = effects.taken.take() {
                    hosts.taken(taken, now, &mut effects);
                }
                settle(&hosts, &mut effects, &mut queue, &mut network, now);
            }
        }
    }
    Finish { ranks: (0..ranks).map(|rank| hosts.finish(rank)).collect(), left: hosts.left(), events }
}

/// Queues what an event at `now` has led to.
fn settle(hosts: &Hosts, effects: &mut Effects, queue: &mut Queue, network: &mut impl Network, now: u64) {
    if let Some((message, time)) = effects.sent.take() {
        match time == now || network.is_ideal() {
            true => go_on(message, 0, time, queue, network),
            false => queue.add(time, Event::Hop { message, hops: 0 }),
        }
    }
    hosts.ready(effects, |ready| {
        queue.add(ready.at, Event::Operation { rank: ready.rank, number: ready.number });
    });
}

fn go_on(message: Message, hops: u32, now: u64, queue: &mut Queue, network: &mut impl Network) {
    match network.hop(&message, hops, now) {
        Hop::Arrives(time) => queue.add(time, Event::Message(message)),
        Hop::Next(time) => queue.add(time, Event::Hop { message, hops: hops + 1 }),
    }
}
