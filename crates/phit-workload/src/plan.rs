//! Which operation may be performed next: the order of a program while it runs.

use crate::program::{Operation, Program, Until};
use std::fmt::Debug;
use std::sync::Arc;

/// An operation, as (rank, number).
pub type Which = (u32, u32);

/// A program while it runs: knows its operations by number, and says which ones have nothing left to wait for. It need
/// not hold an operation before it can be performed, nor after it has ended.
pub trait Plan: Debug + Send {
    /// Number of ranks.
    fn ranks(&self) -> u32;

    /// CPUs of a rank.
    fn cpus(&self) -> usize;

    /// Network interfaces of a rank.
    fn nics(&self) -> usize;

    /// Adds the operations of a rank that wait for nothing to `released`: asked once, at the start.
    fn begin(&mut self, rank: u32, released: &mut Vec<Which>);

    /// An operation that has been released, and has not ended.
    fn operation(&self, rank: u32, number: u32) -> Operation;

    /// An operation has started at `time`: adds what waited for this alone to `released`.
    fn started(&mut self, rank: u32, number: u32, time: u64, released: &mut Vec<Which>);

    /// An operation has ended, or is sure to end, at `time`: adds what waited for this alone to `released`.
    fn done(&mut self, rank: u32, number: u32, time: u64, released: &mut Vec<Which>);

    /// The end of all that a released operation has waited for, if this is not known from its CPU.
    fn earliest(&self, _rank: u32, _number: u32) -> u64 {
        0
    }

    /// Operations of a rank that have not been started.
    fn unperformed(&self, rank: u32) -> Vec<u32>;

    /// Bytes of the state, without those of a program that others use, too.
    fn bytes(&self) -> usize;
}

/// An operation has been performed: what stands instead of a number of dependencies.
const PERFORMED: u32 = u32::MAX;

/// The order of a program that is stored: 4 bytes an operation, 12 if ranks have several CPUs.
#[derive(Debug)]
pub struct StoredPlan {
    program: Arc<Program>,
    /// How many operations each one waits for, rank by rank; [`PERFORMED`] later.
    waiting: Vec<u32>,
    /// The end of what each operation has waited for so far, if ranks have several CPUs: with one, the time at which
    /// that is free says it.
    earliest: Option<Vec<u64>>,
}

impl StoredPlan {
    /// A program before it begins.
    pub fn new(program: Arc<Program>) -> Self {
        let earliest = (program.cpus() > 1).then(|| vec![0; program.operations()]);
        Self { waiting: program.waiting(), earliest, program }
    }

    fn release(&mut self, (rank, number): Which, until: Until, time: u64, released: &mut Vec<Which>) {
        let Self { program, waiting, earliest } = self;
        for successor in program.successors(rank, number).filter(|successor| successor.until == until) {
            let index = program.index(rank, successor.operation);
            if let Some(earliest) = earliest {
                earliest[index] = earliest[index].max(time);
            }
            waiting[index] -= 1;
            if waiting[index] == 0 {
                released.push((rank, successor.operation));
            }
        }
    }
}

impl Plan for StoredPlan {
    fn ranks(&self) -> u32 {
        self.program.ranks()
    }

    fn cpus(&self) -> usize {
        self.program.cpus()
    }

    fn nics(&self) -> usize {
        self.program.nics()
    }

    fn begin(&mut self, rank: u32, released: &mut Vec<Which>) {
        let waits = |number: &u32| self.waiting[self.program.index(rank, *number)] == 0;
        released.extend((0..self.program.len(rank)).filter(waits).map(|number| (rank, number)));
    }

    fn operation(&self, rank: u32, number: u32) -> Operation {
        self.program.operation(rank, number)
    }

    fn started(&mut self, rank: u32, number: u32, time: u64, released: &mut Vec<Which>) {
        let index = self.program.index(rank, number);
        self.waiting[index] = PERFORMED;
        self.release((rank, number), Until::Started, time, released);
    }

    fn done(&mut self, rank: u32, number: u32, time: u64, released: &mut Vec<Which>) {
        self.release((rank, number), Until::Done, time, released);
    }

    fn earliest(&self, rank: u32, number: u32) -> u64 {
        self.earliest.as_ref().map_or(0, |earliest| earliest[self.program.index(rank, number)])
    }

    fn unperformed(&self, rank: u32) -> Vec<u32> {
        let waits = |number: &u32| self.waiting[self.program.index(rank, *number)] != PERFORMED;
        (0..self.program.len(rank)).filter(waits).collect()
    }

    fn bytes(&self) -> usize {
        let Self { program: _, waiting, earliest } = self;
        waiting.capacity() * size_of::<u32>()
            + earliest.as_ref().map_or(0, |earliest| earliest.capacity() * size_of::<u64>())
    }
}
