//! Programs put together from collectives and calculations, one after the other or side by side.

use crate::collective::Steps;
use crate::program::{Operation, Program, RankProgram};

/// What the next operation of a rank waits for: the ends of these operations.
pub type Frontier = Vec<u32>;

/// A program in the making. Whatever is added to a rank begins when what was added to it before has ended.
#[derive(Debug)]
pub struct Composer {
    ranks: Vec<RankProgram>,
    frontiers: Vec<Frontier>,
    /// Of the next messages: those of two collectives never meet.
    tag: u32,
}

impl Composer {
    /// A program of so many ranks.
    pub fn new(ranks: u32) -> Self {
        let ranks = ranks as usize;
        Self { ranks: vec![RankProgram::default(); ranks], frontiers: vec![vec![]; ranks], tag: 0 }
    }

    /// What the next operation of `rank` waits for.
    pub fn frontier(&self, rank: u32) -> &Frontier {
        &self.frontiers[rank as usize]
    }

    /// Lets the next operation of `rank` wait for something else: to go back to an earlier point, beside what has been
    /// added since, or to wait for both.
    pub fn set_frontier(&mut self, rank: u32, frontier: Frontier) {
        self.frontiers[rank as usize] = frontier;
    }

    /// `rank` computes for so long.
    pub fn calc(&mut self, rank: u32, time: u64) {
        self.one(rank, Operation::calc(time));
    }

    /// Adds one operation of a rank.
    pub fn one(&mut self, rank: u32, operation: Operation) {
        let frontier = &mut self.frontiers[rank as usize];
        *frontier = vec![self.ranks[rank as usize].after(frontier, operation)];
    }

    /// A tag that no message has yet.
    pub fn tag(&mut self) -> u32 {
        self.tag += 1;
        self.tag - 1
    }

    /// `ranks` execute a collective. What is received and combined takes a calculation of `combine` of its bytes, if
    /// that is not 0.
    pub fn collective(&mut self, ranks: &[u32], steps: &dyn Steps, combine: impl Fn(u64) -> u64) {
        self.collective_on(0, ranks, steps, combine);
    }

    /// The same on another CPU of each rank.
    pub fn collective_on(&mut self, cpu: u8, ranks: &[u32], steps: &dyn Steps, combine: impl Fn(u64) -> u64) {
        let tag = self.tag;
        self.tag += steps.lanes();
        for (member, &rank) in (0..).zip(ranks) {
            let start = self.frontiers[rank as usize].clone();
            let mut ends = vec![];
            for lane in 0..steps.lanes() {
                let mut last = start.clone();
                for step in (0..).map_while(|number| steps.step(member, lane, number)) {
                    let list = &mut self.ranks[rank as usize];
                    let peer = |peer: u32| ranks[peer as usize];
                    let mut now: Frontier = vec![];
                    for part in &step.sends {
                        now.push(list.after(&last, Operation::send(part.bytes, peer(part.peer), tag + lane).on(cpu)));
                    }
                    let sent = now.len();
                    for part in &step.receives {
                        now.push(list.after(&last, Operation::recv(part.bytes, peer(part.peer), tag + lane).on(cpu)));
                    }
                    let time = combine(step.reduced());
                    if step.reduced() > 0 && time > 0 {
                        let received = now.split_off(sent);
                        now.push(list.after(&received, Operation::calc(time).on(cpu)));
                    }
                    if !now.is_empty() {
                        last = now;
                    }
                }
                ends.extend(last);
            }
            ends.sort_unstable();
            ends.dedup();
            self.frontiers[rank as usize] = ends;
        }
    }

    /// The program.
    pub fn finish(self) -> Program {
        let mut program = Program::new(self.ranks.len() as u32);
        (0..).zip(self.ranks).for_each(|(rank, list)| program.set(rank, list));
        program
    }
}
