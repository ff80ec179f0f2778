//! Recursive doubling and halving: partners at distances that double or halve, among a power of two of members.
//!
//! R. Thakur, R. Rabenseifner and W. Gropp, "Optimization of Collective Communication Operations in MPICH", IJHPCA
//! 19(1), 2005.

use super::{Blocks, Cut, Step, Steps, log2_up};
use smallvec::smallvec;

/// The algorithms with partners at powers of two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exchange {
    /// All-gather: each exchange passes on all blocks that are there: 1, 2, 4...
    Gather,
    /// Reduce-scatter: each exchange passes on half of the remaining blocks.
    Halve,
    /// Rabenseifner's all-reduce: halving, then gathering.
    HalveAndGather,
    /// All-reduce: each exchange passes on the whole vector.
    Whole,
}

/// All-gather by recursive doubling, reduce-scatter by recursive halving, and both together as all-reduce.
#[derive(Debug)]
pub(crate) struct Doubling {
    /// `members` is a power of two.
    pub(crate) cut: Cut,
    pub(crate) exchange: Exchange,
}

impl Steps for Doubling {
    fn step(&self, member: u32, _lane: u32, number: u32) -> Option<Step> {
        let Self { cut, exchange } = *self;
        let rounds = log2_up(cut.members);
        let halves = match exchange {
            Exchange::Halve | Exchange::HalveAndGather => number < rounds,
            Exchange::Gather | Exchange::Whole => false,
        };
        let round = match exchange {
            Exchange::HalveAndGather if !halves => number - rounds,
            _ => number,
        };
        if round >= rounds {
            return None;
        }
        let distance = if halves { cut.members >> (round + 1) } else { 1 << round };
        let peer = member ^ distance;
        // As many blocks as the distance to the partner.
        let of = |member: u32| match exchange {
            Exchange::Whole => Blocks::run(0, cut.members),
            _ => Blocks::run(member & !(distance - 1), distance),
        };
        let (sent, received) = if halves { (of(peer), of(member)) } else { (of(member), of(peer)) };
        Some(Step {
            sends: smallvec![cut.part(peer, sent)],
            receives: smallvec![cut.part(peer, received)],
            reduces: halves || exchange == Exchange::Whole,
        })
    }
}
