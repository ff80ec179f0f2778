//! The order of a program while it runs: the operations that may be performed next.

use crate::inference::Served;
use crate::patience::poll;
use crate::program::{Action, Operation, Program, Transfer, Until};
use crate::ranks::Ranks;
use std::fmt::Debug;
use std::sync::Arc;

/// An operation, as (rank, number).
pub type Which = (u32, u32);

/// An operation that only waits for its rank's CPU and interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Released {
    /// Its rank.
    pub rank: u32,
    /// Its number.
    pub number: u32,
    /// The operation itself.
    pub operation: Operation,
    /// The end of everything that it has waited for, if its CPU does not tell.
    pub earliest: u64,
}

/// A program that can be executed, by one host after another or in several parts of a network, which share it.
pub trait Executable: Debug + Send + Sync {
    /// Number of ranks.
    fn ranks(&self) -> u32;

    /// Number of operations of all ranks, if it is known before the run.
    fn operations(&self) -> Option<u64>;

    /// The part of these ranks, before it begins.
    fn plan(self: Arc<Self>, ranks: Ranks) -> Box<dyn Plan>;

    /// Bytes that all parts share.
    fn bytes(&self) -> usize;

    /// Approximate bytes of the [plans](Plan) of all ranks when they have begun.
    fn state(&self) -> f64;

    /// True if the sizes of all messages, in bytes, are known to satisfy `fits`.
    fn every_size(&self, fits: &dyn Fn(u64) -> bool) -> bool;
}

/// A running program, or its part for some ranks. It knows operations by number, and reports those that have nothing
/// left to wait for. It need not store an operation before it can be performed, or after it has ended.
pub trait Plan: Debug + Send {
    /// The ranks whose operations it knows.
    fn ranks(&self) -> &Ranks;

    /// CPUs of a rank.
    fn cpus(&self) -> usize;

    /// Network interfaces of a rank.
    fn nics(&self) -> usize;

    /// Adds the operations of a rank that wait for nothing to `released`. Called once, at the start.
    fn begin(&mut self, rank: u32, released: &mut Vec<Released>);

    /// The CPU of an operation that has been released and has not ended.
    fn cpu_of(&self, rank: u32, number: u32) -> u8;

    /// An operation; `None` for a plan that generates operations while it runs, and does not store them.
    fn operation(&self, _rank: u32, _number: u32) -> Option<Operation> {
        None
    }

    /// False if no operation waits for the start of another one. Then [`Self::started`] is not called.
    fn hears_of_starts(&self) -> bool {
        true
    }

    /// True if every message is received when it arrives, without a receive of the program.
    fn receives_all(&self) -> bool {
        false
    }

    /// An operation has started at `time`: adds the operations that waited only for this to `released`.
    fn started(&mut self, rank: u32, number: u32, time: u64, released: &mut Vec<Released>);

    /// An operation has ended, or is certain to end, at `time`: adds the operations that waited only for this to
    /// `released`.
    fn done(&mut self, rank: u32, number: u32, time: u64, released: &mut Vec<Released>);

    /// A receive of a rank, given with its place, has ended at `time`. Suppose that the rank goes on with exactly one
    /// send to another rank, of up to `eager` bytes, and one receive on the same CPU. Then this returns both, and the
    /// send counts as performed and ended at that time. Otherwise it returns `None` and changes nothing: the caller
    /// must call [`Self::done`].
    fn exchange(&mut self, _rank: (u32, usize), _number: u32, _time: u64, _eager: u64) -> Option<Exchange> {
        None
    }

    /// Operations of a rank that have not started.
    fn unperformed(&self, rank: u32) -> Vec<u32>;

    /// From now on, records when ranks end their phases, see [`Self::phases`].
    fn note_phases(&mut self) {}

    /// The phases that a rank has ended, in order. A phase is a part of a program that begins when the rank has ended
    /// the part before. Empty for a program without phases, or if they are not recorded.
    fn phases(&self, _rank: u32) -> Vec<Phase> {
        vec![]
    }

    /// The requests to a language model that its ranks know about, in no particular order. Empty for a program without
    /// requests.
    fn served(&self) -> Vec<Served> {
        vec![]
    }

    /// Bytes of the state, without a program that others share.
    fn bytes(&self) -> usize;

    /// Brings the state of all ranks into the cache, if there is little of it.
    fn fetch(&self) {}
}

/// A send, and the receive that is released with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exchange {
    /// The number of the send.
    pub sent: u32,
    /// The message sent.
    pub send: Transfer,
    /// The number of the receive.
    pub awaited: u32,
    /// The message received.
    pub receive: Transfer,
}

/// A part of a program that a rank has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Phase {
    /// Its kind, in a word.
    pub name: &'static str,
    /// When the rank started it.
    pub start: u64,
    /// When the rank ended it.
    pub end: u64,
}

/// Replaces the number of dependencies once an operation has been performed.
const PERFORMED: u32 = u32::MAX;

/// The order of a stored program: 4 bytes per operation, 12 if ranks have several CPUs.
#[derive(Debug)]
pub struct StoredPlan {
    program: Arc<Program>,
    ranks: Ranks,
    /// The first operation of each rank in the tables below.
    first: Vec<usize>,
    /// Number of operations that each one waits for, rank by rank; [`PERFORMED`] later.
    waiting: Vec<u32>,
    /// If ranks have several CPUs: the latest end of the operations that each one has waited for. With one CPU, the
    /// time at which it is free is enough.
    earliest: Option<Vec<u64>>,
}

impl StoredPlan {
    /// A program before it begins.
    pub fn new(program: Arc<Program>) -> Self {
        let ranks = Ranks::all(program.ranks());
        Self::of(program, ranks)
    }

    /// The part of these ranks.
    pub fn of(program: Arc<Program>, ranks: Ranks) -> Self {
        let mut first = Vec::with_capacity(ranks.len());
        let count: usize = ranks.iter().map(|rank| program.len(rank) as usize).sum();
        let mut waiting = vec![0; count];
        let mut next = 0;
        for rank in ranks.iter() {
            first.push(next);
            let end = next + program.len(rank) as usize;
            program.count_waiting(rank, &mut waiting[next..end]);
            next = end;
        }
        let earliest = (program.cpus() > 1).then(|| vec![0; count]);
        Self { program, ranks, first, waiting, earliest }
    }

    fn index(&self, rank: u32, number: u32) -> usize {
        self.first[self.ranks.place(rank)] + number as usize
    }

    fn release(&mut self, (rank, number): Which, until: Until, time: u64, released: &mut Vec<Released>) {
        let first = self.index(rank, 0);
        let Self { program, waiting, earliest, .. } = self;
        for successor in program.successors(rank, number).filter(|successor| successor.until == until) {
            let index = first + successor.operation as usize;
            if let Some(earliest) = earliest {
                earliest[index] = earliest[index].max(time);
            }
            waiting[index] -= 1;
            if waiting[index] == 0 {
                let (number, earliest) = (successor.operation, earliest.as_ref().map_or(0, |earliest| earliest[index]));
                released.push(Released { rank, number, operation: program.operation(rank, number), earliest });
            }
        }
    }
}

impl Executable for Program {
    fn ranks(&self) -> u32 {
        self.ranks()
    }

    fn operations(&self) -> Option<u64> {
        Some(self.operations() as u64)
    }

    fn plan(self: Arc<Self>, ranks: Ranks) -> Box<dyn Plan> {
        Box::new(StoredPlan::of(self, ranks))
    }

    fn bytes(&self) -> usize {
        self.bytes()
    }

    fn state(&self) -> f64 {
        let each = size_of::<u32>() + if self.cpus() > 1 { size_of::<u64>() } else { 0 };
        (self.operations() * each) as f64 + f64::from(self.ranks()) * size_of::<usize>() as f64
    }

    fn every_size(&self, fits: &dyn Fn(u64) -> bool) -> bool {
        let of = |rank| {
            poll();
            self.of(rank).all(|operation| !matches!(operation.action, Action::Send(transfer) if !fits(transfer.bytes)))
        };
        (0..self.ranks()).all(of)
    }
}

impl Plan for StoredPlan {
    fn ranks(&self) -> &Ranks {
        &self.ranks
    }

    fn cpus(&self) -> usize {
        self.program.cpus()
    }

    fn nics(&self) -> usize {
        self.program.nics()
    }

    fn begin(&mut self, rank: u32, released: &mut Vec<Released>) {
        let first = self.index(rank, 0);
        let waits = |number: &u32| self.waiting[first + *number as usize] == 0;
        released.extend((0..self.program.len(rank)).filter(waits).map(|number| Released {
            rank,
            number,
            operation: self.program.operation(rank, number),
            earliest: 0,
        }));
    }

    fn operation(&self, rank: u32, number: u32) -> Option<Operation> {
        Some(self.program.operation(rank, number))
    }

    fn cpu_of(&self, rank: u32, number: u32) -> u8 {
        self.program.operation(rank, number).cpu
    }

    fn started(&mut self, rank: u32, number: u32, time: u64, released: &mut Vec<Released>) {
        let index = self.index(rank, number);
        self.waiting[index] = PERFORMED;
        self.release((rank, number), Until::Started, time, released);
    }

    fn done(&mut self, rank: u32, number: u32, time: u64, released: &mut Vec<Released>) {
        self.release((rank, number), Until::Done, time, released);
    }

    fn unperformed(&self, rank: u32) -> Vec<u32> {
        let first = self.index(rank, 0);
        let waits = |number: &u32| self.waiting[first + *number as usize] != PERFORMED;
        (0..self.program.len(rank)).filter(waits).collect()
    }

    fn bytes(&self) -> usize {
        let Self { program: _, ranks: _, first, waiting, earliest } = self;
        first.capacity() * size_of::<usize>()
            + waiting.capacity() * size_of::<u32>()
            + earliest.as_ref().map_or(0, |earliest| earliest.capacity() * size_of::<u64>())
    }
}
