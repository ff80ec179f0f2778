//! Ring: every member sends to the next one, and receives from the one before it.
//!
//! P. Patarasuk and X. Yuan, "Bandwidth Optimal All-reduce Algorithms for Clusters of Workstations", JPDC 69(2), 2009.

use super::{Blocks, Cut, Pair, Step, Steps};

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

/// A ring whose steps are merged into rounds: a member sends the blocks of several steps as one message. It takes fewer
/// messages, and leaves out the latency of the steps.
#[derive(Debug)]
pub(crate) struct RingInRounds {
    pub(crate) ring: Ring,
    /// Rounds of sums, and rounds of blocks; at most as many as steps.
    pub(crate) rounds: u32,
}

impl RingInRounds {
    /// Rounds in which the data goes round once.
    fn once(&self) -> u32 {
        self.rounds.min(self.ring.cut.members - 1)
    }
}

impl Steps for RingInRounds {
    fn step(&self, member: u32, lane: u32, number: u32) -> Option<Step> {
        self.pair(member, lane, number).map(Step::from)
    }

    fn pair(&self, member: u32, lane: u32, number: u32) -> Option<Pair> {
        let Ring { cut, around } = self.ring;
        if number >= self.count(member, lane) {
            return None;
        }
        let (once, steps) = (self.once(), cut.members - 1);
        let reduces = around != Around::Gather && number < once;
        let round = u64::from(number % once);
        // The steps of this round, from the first of its kind on.
        let [first, end] = [round, round + 1].map(|round| (round * u64::from(steps) / u64::from(once)) as u32);
        // A step sends the block before that of the step before it.
        let last = cut.back(member, end - 1 + u32::from(reduces));
        let sent = Blocks::run(last, end - first);
        let received = Blocks::run(cut.back(last, 1), end - first);
        Some(Pair {
            send: cut.part(cut.next(member, 1), sent),
            receive: cut.part(cut.back(member, 1), received),
            reduces,
        })
    }

    fn count(&self, _member: u32, _lane: u32) -> u32 {
        self.once() * if self.ring.around == Around::Both { 2 } else { 1 }
    }
}
