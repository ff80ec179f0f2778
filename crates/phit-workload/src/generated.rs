//! Programs that are never stored: collectives and calculations one after the other, each step made when it is due.

use crate::collective::{Step, Steps};
use crate::plan::{Plan, Which};
use crate::program::Operation;
use std::sync::Arc;

/// What ranks do in a part of a program. Ranks that a phase does not name go on to the next one.
#[derive(Debug, Clone)]
pub enum Phase {
    /// All ranks compute for so long, in units of time.
    Calc(u64),
    /// A collective in each of some communicators.
    Collective {
        /// Whoever takes part.
        communicators: Vec<Communicator>,
        /// Units of time, for each byte that is combined.
        combine: f64,
    },
}

/// Ranks, in the order of their members, and what they do.
pub type Communicator = (Arc<[u32]>, Arc<dyn Steps>);

/// Phases one after the other: a rank begins one when it has ended the one before.
#[derive(Debug)]
pub struct Generated {
    ranks: u32,
    phases: Vec<Part>,
    state: Vec<State>,
}

/// A phase with an index of who takes part.
#[derive(Debug)]
struct Part {
    phase: Phase,
    /// First tag of its messages.
    tag: u32,
    /// By rank: communicator and member, for a collective; the former all ones if it takes no part.
    place: Vec<(u32, u32)>,
}

/// Where a rank is.
#[derive(Debug, Default)]
struct State {
    /// Phase; as many as there are at the end.
    phase: u32,
    /// Lanes of the phase that have not ended.
    lanes_left: u32,
    lanes: Vec<Lane>,
    /// Operations that have been released, with their lanes: by number.
    operations: Vec<(Operation, u32)>,
    /// Numbers of operations that have ended.
    free: Vec<u32>,
}

/// Where a lane is.
#[derive(Debug, Clone, Default)]
struct Lane {
    /// The step to come next.
    next: u32,
    /// Operations of the current step that have not ended.
    left: u32,
    /// Time of the calculation that ends the current step.
    combine: u64,
}

const NONE: u32 = u32::MAX;

impl Generated {
    /// A program of `ranks` ranks.
    pub fn new(ranks: u32, phases: Vec<Phase>) -> Self {
        let mut tag = 0;
        let mut part = |phase| {
            let mut place = vec![];
            let first = tag;
            if let Phase::Collective { communicators, .. } = &phase {
                place = vec![(NONE, 0); ranks as usize];
                for (number, (members, steps)) in (0..).zip(communicators) {
                    for (member, &rank) in (0..).zip(&**members) {
                        place[rank as usize] = (number, member);
                    }
                    tag = tag.max(first + steps.lanes());
                }
            }
            Part { phase, tag: first, place }
        };
        let phases = phases.into_iter().map(&mut part).collect();
        Self { ranks, phases, state: (0..ranks).map(|_| State::default()).collect() }
    }

    /// Begins phases of a rank until one has something to do.
    fn enter(&mut self, rank: u32, released: &mut Vec<Which>) {
        while let Some(part) = self.phases.get(self.state[rank as usize].phase as usize) {
            let state = &mut self.state[rank as usize];
            match &part.phase {
                Phase::Calc(0) => {}
                Phase::Calc(time) => {
                    state.lanes = vec![Lane { next: NONE, left: 0, combine: *time }];
                }
                Phase::Collective { communicators, .. } => {
                    let (number, _) = part.place[rank as usize];
                    let lanes = communicators.get(number as usize).map_or(0, |(_, steps)| steps.lanes());
                    state.lanes = vec![Lane::default(); lanes as usize];
                }
            }
            state.lanes_left = state.lanes.len() as u32;
            for lane in 0..state.lanes.len() as u32 {
                self.go_on(rank, lane, released);
            }
            if self.state[rank as usize].lanes_left > 0 {
                return;
            }
            let state = &mut self.state[rank as usize];
            state.lanes.clear();
            state.phase += 1;
        }
    }

    /// Releases the next operations of a lane whose step has ended; counts the lane as ended if there are none.
    fn go_on(&mut self, rank: u32, lane: u32, released: &mut Vec<Which>) {
        let part = &self.phases[self.state[rank as usize].phase as usize];
        let state = &mut self.state[rank as usize];
        loop {
            let own = &mut state.lanes[lane as usize];
            let time = std::mem::take(&mut own.combine);
            if time > 0 {
                state.release(rank, lane, Operation::calc(time), released);
                return;
            }
            let step = match &part.phase {
                Phase::Collective { communicators, .. } => {
                    let (number, member) = part.place[rank as usize];
                    communicators[number as usize].1.step(member, lane, own.next)
                }
                Phase::Calc(_) => None,
            };
            let Some(step) = step else {
                state.lanes_left -= 1;
                return;
            };
            own.next += 1;
            if state.take(rank, lane, &step, part, released) {
                return;
            }
        }
    }
}

impl State {
    fn release(&mut self, rank: u32, lane: u32, operation: Operation, released: &mut Vec<Which>) {
        let number = match self.free.pop() {
            Some(number) => {
                self.operations[number as usize] = (operation, lane);
                number
            }
            None => {
                self.operations.push((operation, lane));
                self.operations.len() as u32 - 1
            }
        };
        self.lanes[lane as usize].left += 1;
        released.push((rank, number));
    }

    /// Releases what a step sends and receives; false if that is nothing.
    fn take(&mut self, rank: u32, lane: u32, step: &Step, part: &Part, released: &mut Vec<Which>) -> bool {
        let Phase::Collective { communicators, combine } = &part.phase else { return false };
        let (number, _) = part.place[rank as usize];
        let (members, tag) = (&communicators[number as usize].0, part.tag + lane);
        let peer = |member: u32| members[member as usize];
        for message in &step.sends {
            self.release(rank, lane, Operation::send(message.bytes, peer(message.peer), tag), released);
        }
        for message in &step.receives {
            self.release(rank, lane, Operation::recv(message.bytes, peer(message.peer), tag), released);
        }
        self.lanes[lane as usize].combine = (step.reduced() as f64 * combine).round() as u64;
        self.lanes[lane as usize].left > 0
    }
}

impl Plan for Generated {
    fn ranks(&self) -> u32 {
        self.ranks
    }

    fn cpus(&self) -> usize {
        1
    }

    fn nics(&self) -> usize {
        1
    }

    fn begin(&mut self, rank: u32, released: &mut Vec<Which>) {
        self.enter(rank, released);
    }

    fn operation(&self, rank: u32, number: u32) -> Operation {
        self.state[rank as usize].operations[number as usize].0
    }

    fn started(&mut self, _rank: u32, _number: u32, _time: u64, _released: &mut Vec<Which>) {}

    fn done(&mut self, rank: u32, number: u32, _time: u64, released: &mut Vec<Which>) {
        let state = &mut self.state[rank as usize];
        let (_, lane) = state.operations[number as usize];
        state.free.push(number);
        let left = &mut state.lanes[lane as usize].left;
        *left -= 1;
        if *left > 0 {
            return;
        }
        self.go_on(rank, lane, released);
        let state = &mut self.state[rank as usize];
        if state.lanes_left == 0 {
            state.lanes.clear();
            state.phase += 1;
            self.enter(rank, released);
        }
    }

    fn unperformed(&self, rank: u32) -> Vec<u32> {
        let state = &self.state[rank as usize];
        (0..state.operations.len() as u32).filter(|number| !state.free.contains(number)).collect()
    }

    fn bytes(&self) -> usize {
        let Self { ranks: _, phases, state } = self;
        let of = |state: &State| {
            let State { phase: _, lanes_left: _, lanes, operations, free } = state;
            lanes.capacity() * size_of::<Lane>()
                + operations.capacity() * size_of::<(Operation, u32)>()
                + free.capacity() * size_of::<u32>()
        };
        phases.iter().map(|part| part.place.capacity() * size_of::<(u32, u32)>()).sum::<usize>()
            + state.capacity() * size_of::<State>()
            + state.iter().map(of).sum::<usize>()
    }
}
