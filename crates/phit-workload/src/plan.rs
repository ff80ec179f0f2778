//! Which operation may be performed next: the order of a program while it runs.

use crate::patience::poll;
use crate::program::{Action, Operation, Program, Transfer, Until};
use crate::ranks::Ranks;
use std::fmt::Debug;
use std::sync::Arc;

/// An operation, as (rank, number).
pub type Which = (u32, u32);

/// An operation that has nothing left to wait for but its rank's CPU and interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Released {
    /// Its rank.
    pub rank: u32,
    /// Its number.
    pub number: u32,
    /// What it is.
    pub operation: Operation,
    /// The end of all that it has waited for, if this is not known from its CPU.
    pub earliest: u64,
}

/// A program that can be executed, by one host after the other or in several parts of a network: what they share.
pub trait Executable: Debug + Send + Sync {
    /// Number of ranks.
    fn ranks(&self) -> u32;

    /// Operations of all ranks, if that is known before it runs.
    fn operations(&self) -> Option<u64>;

    /// The part of some ranks, before it begins.
    fn plan(self: Arc<Self>, ranks: Ranks) -> Box<dyn Plan>;

    /// Bytes of what all parts share.
    fn bytes(&self) -> usize;

    /// Bytes that the [plans](Plan) of all ranks take when they have begun, about.
    fn state(&self) -> f64;

    /// True if it is known that every message has a size, in bytes, that `fits`.
    fn every_size(&self, fits: &dyn Fn(u64) -> bool) -> bool;
}

/// A program while it runs, or the part of some ranks: knows their operations by number, and says which ones have
/// nothing left to wait for. It need not hold an operation before it can be performed, nor after it has ended.
pub trait Plan: Debug + Send {
    /// Whose operations it knows.
    fn ranks(&self) -> &Ranks;

    /// CPUs of a rank.
    fn cpus(&self) -> usize;

    /// Network interfaces of a rank.
    fn nics(&self) -> usize;

    /// Adds the operations of a rank that wait for nothing to `released`: asked once, at the start.
    fn begin(&mut self, rank: u32, released: &mut Vec<Released>);

    /// The CPU of an operation that has been released, and has not ended.
    fn cpu_of(&self, rank: u32, number: u32) -> u8;

    /// An operation; `None` of a plan that makes its operations while it runs, and does not hold them.
    fn operation(&self, _rank: u32, _number: u32) -> Option<Operation> {
        None
    }

    /// False if no operation waits for the start of another one: [`Self::started`] is not called then.
    fn hears_of_starts(&self) -> bool {
        true
    }

    /// An operation has started at `time`: adds what waited for this alone to `released`.
    fn started(&mut self, rank: u32, number: u32, time: u64, released: &mut Vec<Released>);

    /// An operation has ended, or is sure to end, at `time`: adds what waited for this alone to `released`.
    fn done(&mut self, rank: u32, number: u32, time: u64, released: &mut Vec<Released>);

    /// A receive of a rank, which is said with its place, has ended at `time`. If the rank goes on with one send of up
    /// to `eager` bytes to another rank, and one receive on the same CPU: these, where the send has been performed and
    /// has ended at that time, too. `None` of all else, where nothing has changed: [`Self::done`] is to be called.
    fn exchange(&mut self, _rank: (u32, usize), _number: u32, _time: u64, _eager: u64) -> Option<Exchange> {
        None
    }

    /// Operations of a rank that have not been started.
    fn unperformed(&self, rank: u32) -> Vec<u32>;

    /// Notes from now on when ranks end their phases, see [`Self::phases`].
    fn note_phases(&mut self) {}

    /// The phases that a rank has ended, one after the other: parts that it begins when it has ended the one before.
    /// None of a program that knows of no such parts, or that has not been told to note them.
    fn phases(&self, _rank: u32) -> Vec<Phase> {
        vec![]
    }

    /// Bytes of the state, without those of a program that others use, too.
    fn bytes(&self) -> usize;

    /// Brings the state of all ranks into the cache, if there is little of it.
    fn fetch(&self) {}
}

/// A send, and the receive that is released with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exchange {
    /// The number of the send.
    pub sent: u32,
    /// What is sent.
    pub send: Transfer,
    /// The number of the receive.
    pub awaited: u32,
    /// What is received.
    pub receive: Transfer,
}

/// A part of a program that a rank has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Phase {
    /// What it was, in a word.
    pub name: &'static str,
    /// When the rank began it.
    pub start: u64,
    /// When the rank ended it.
    pub end: u64,
}

/// An operation has been performed: what stands instead of a number of dependencies.
const PERFORMED: u32 = u32::MAX;

/// The order of a program that is stored: 4 bytes an operation, 12 if ranks have several CPUs.
#[derive(Debug)]
pub struct StoredPlan {
    program: Arc<Program>,
    ranks: Ranks,
    /// The first operation of each rank in the tables below.
    first: Vec<usize>,
    /// How many operations each one waits for, rank by rank; [`PERFORMED`] later.
    waiting: Vec<u32>,
    /// The end of what each operation has waited for so far, if ranks have several CPUs: with one, the time at which
    /// that is free says it.
    earliest: Option<Vec<u64>>,
}

impl StoredPlan {
    /// A program before it begins.
    pub fn new(program: Arc<Program>) -> Self {
        let ranks = Ranks::all(program.ranks());
        Self::of(program, ranks)
    }

    /// The part of some ranks.
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
