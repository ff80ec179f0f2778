//! Programs composed of collectives and calculations, one after another or in parallel.

use crate::collective::Steps;
use crate::program::{Operation, Program, RankProgram};
use crate::script::{Communicator, Costs, Task, Work, one_task};
use std::sync::Arc;

pub use crate::script::Frontier;

/// A program under construction. An operation added to a rank begins when the operations added before it have ended.
#[derive(Debug)]
pub struct Composer {
    ranks: Vec<RankProgram>,
    frontiers: Vec<Frontier>,
    /// Tag of the next messages: messages of two collectives never match each other.
    tag: u32,
}

impl Composer {
    /// An empty program of this many ranks.
    pub fn new(ranks: u32) -> Self {
        let ranks = ranks as usize;
        Self { ranks: vec![RankProgram::default(); ranks], frontiers: vec![vec![]; ranks], tag: 0 }
    }

    /// The operations that the next operation of `rank` waits for.
    pub fn frontier(&self, rank: u32) -> &Frontier {
        &self.frontiers[rank as usize]
    }

    /// Replaces the operations that the next operation of `rank` waits for. This can go back to an earlier point, in
    /// parallel with later operations, or join several points.
    pub fn set_frontier(&mut self, rank: u32, frontier: Frontier) {
        self.frontiers[rank as usize] = frontier;
    }

    /// `rank` computes for `time`.
    pub fn calc(&mut self, rank: u32, time: u64) {
        self.one(rank, Operation::calc(time));
    }

    /// Adds one operation of a rank.
    pub fn one(&mut self, rank: u32, operation: Operation) {
        let frontier = &mut self.frontiers[rank as usize];
        *frontier = vec![self.ranks[rank as usize].after(frontier, operation)];
    }

    /// Number of operations of `rank` so far.
    pub fn operations(&self, rank: u32) -> u32 {
        self.ranks[rank as usize].len()
    }

    /// Makes room for so many operations of `rank`.
    pub(crate) fn reserve(&mut self, rank: u32, operations: usize) {
        self.ranks[rank as usize].reserve(operations);
    }

    /// A tag that no message has used.
    pub fn tag(&mut self) -> u32 {
        self.tag += 1;
        self.tag - 1
    }

    /// `ranks` execute a collective.
    pub fn collective(&mut self, ranks: &[u32], steps: &Arc<dyn Steps>, costs: Costs) {
        self.collective_on(0, ranks, steps, costs);
    }

    /// [`Self::collective`] on another CPU of each rank.
    pub fn collective_on(&mut self, cpu: u8, ranks: &[u32], steps: &Arc<dyn Steps>, costs: Costs) {
        let communicator = Arc::new(Communicator { ranks: ranks.into(), steps: steps.clone(), costs });
        for (member, &rank) in (0..).zip(ranks) {
            let task = Task { cpu, ..Task::new(Work::Collective(communicator.clone(), member)) };
            let start = std::mem::take(&mut self.frontiers[rank as usize]);
            self.frontiers[rank as usize] = one_task(&mut self.ranks[rank as usize], &task, self.tag, start);
        }
        self.tag += steps.lanes();
    }

    /// The program.
    pub fn finish(self) -> Program {
        let mut program = Program::new(self.ranks.len() as u32);
        (0..).zip(self.ranks).for_each(|(rank, list)| program.set(rank, list));
        program
    }
}
