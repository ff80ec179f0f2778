//! Ring: every member sends to the next one, and receives from the one before it.
//!
//! P. Patarasuk and X. Yuan, "Bandwidth Optimal All-reduce Algorithms for Clusters of Workstations", JPDC 69(2), 2009.

use super::{Cut, Pair, Step, Steps};

/// The data that goes round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Around {
    /// Blocks, until all have them all.
    Gather,
    /// Sums of blocks, until each member has the sum of its own block.
    Reduce,
    /// Sums, then blocks.
    Both,
}

/// Reduce-scatter, all-gather, or all-reduce as both in sequence.
#[derive(Debug)]
pub(crate) struct Ring {
    pub(crate) cut: Cut,
    pub(crate) around: Around,
}

impl Steps for Ring {
    fn step(&self, member: u32, lane: u32, number: u32) -> Option<Step> {
        self.pair(member, lane, number).map(Step::from)
    }

    fn pair(&self, member: u32, _lane: u32, number: u32) -> Option<Pair> {
        let Self { cut, around } = *self;
        let once = cut.members - 1;
        let reduces = around != Around::Gather && number < once;
        let number = match around {
            Around::Both if number >= once => number - once,
            _ => number,
        };
        if number >= once {
            return None;
        }
        // A block is combined on its way to its member, which then begins to pass it on.
        let sent = cut.back(member, if reduces { number + 1 } else { number });
        Some(Pair {
            send: cut.block(cut.next(member, 1), sent),
            receive: cut.block(cut.back(member, 1), cut.back(sent, 1)),
            reduces,
        })
    }

    fn count(&self, _member: u32, _lane: u32) -> u32 {
        (self.cut.members - 1) * if self.around == Around::Both { 2 } else { 1 }
    }

    fn every_size(&self, fits: &dyn Fn(u64) -> bool) -> Option<bool> {
        Some(self.cut.every_size(fits))
    }
}
