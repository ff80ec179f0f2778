//! Collective operations, step by step: what each member of a communicator sends and receives.
//!
//! A member's part is one or more *lanes*, each a sequence of *steps*. A step begins when everything of the step before
//! it in its lane has ended. Lanes are independent. So any step can be computed from the numbers of its member, lane
//! and step, and a collective need never be stored, see [`Steps`].
//!
//! The vector, or the exchanged data, is cut into one *block* for each member. Sizes of blocks differ by at most one
//! byte. A step names the blocks that it sends, so that a test can follow the data.

mod binomial;
mod bruck;
mod chain;
mod chunked;
mod doubling;
mod folded;
mod hierarchical;
mod kinds;
mod linear;
mod pairs;
mod pairwise;
mod phased;
mod relay;
mod ring;
mod spread;
mod two_trees;

pub use kinds::{Algorithm, Collective, Members};
pub use pairs::Pairs;

use smallvec::SmallVec;

/// Blocks at equal distances; after the last block, numbers continue at 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Blocks {
    /// The first block.
    pub first: u32,
    /// Number of blocks.
    pub count: u32,
    /// Distance from one block to the next.
    pub stride: u32,
}

impl Blocks {
    /// Consecutive blocks.
    pub const fn run(first: u32, count: u32) -> Self {
        Self { first, count, stride: 1 }
    }

    /// One block.
    pub const fn one(first: u32) -> Self {
        Self::run(first, 1)
    }
}

/// A message of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// The other member.
    pub peer: u32,
    /// Size in bytes.
    pub bytes: u64,
    /// The blocks that it holds.
    pub blocks: Blocks,
}

/// A step with one message in each direction.
#[derive(Debug, Clone, Copy)]
pub struct Pair {
    /// The message that a member sends.
    pub send: Part,
    /// The message that it waits for.
    pub receive: Part,
    /// See [`Step::reduces`].
    pub reduces: bool,
}

impl From<Pair> for Step {
    #[inline]
    fn from(Pair { send, receive, reduces }: Pair) -> Self {
        Self { sends: Parts::from_buf([send]), receives: Parts::from_buf([receive]), reduces }
    }
}

/// Messages of a step: mostly one.
pub type Parts = SmallVec<[Part; 1]>;

/// A step: messages that a member sends and receives at once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Step {
    /// Messages that it sends.
    pub sends: Parts,
    /// Messages that it waits for.
    pub receives: Parts,
    /// True if received data is combined with the member's own, by a calculation after the messages.
    pub reduces: bool,
}

impl Step {
    /// Bytes that are combined.
    pub fn reduced(&self) -> u64 {
        if self.reduces { total(self.receives.iter().map(|part| part.bytes)) } else { 0 }
    }
}

/// The sum of sizes, or the largest number if it overflows: no message of that size ever ends.
pub(crate) fn total(sizes: impl IntoIterator<Item = u64>) -> u64 {
    sizes.into_iter().fold(0, u64::saturating_add)
}

/// An algorithm of a collective for a communicator of one size.
pub trait Steps: std::fmt::Debug + Send + Sync {
    /// Number of lanes of each member.
    fn lanes(&self) -> u32 {
        1
    }

    /// The step of this number; `None` after the last. A step may be empty.
    fn step(&self, member: u32, lane: u32, number: u32) -> Option<Step>;

    /// The step as a pair, if it is known to be one without computing the step.
    fn pair(&self, _member: u32, _lane: u32, _number: u32) -> Option<Pair> {
        None
    }

    /// Number of steps of a lane.
    fn count(&self, member: u32, lane: u32) -> u32 {
        (0..).take_while(|number| self.step(member, lane, *number).is_some()).count() as u32
    }

    /// True if the sizes of all messages satisfy `fits`; `None` if only the steps can tell.
    fn every_size(&self, _fits: &dyn Fn(u64) -> bool) -> Option<bool> {
        None
    }
}

/// Number of bytes, and their division into blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cut {
    /// Number of members, and of blocks.
    pub(crate) members: u32,
    /// Bytes of all blocks.
    pub(crate) bytes: u64,
}

impl Cut {
    /// A block by itself.
    #[inline]
    pub(crate) fn block(self, peer: u32, block: u32) -> Part {
        let (each, longer) = (self.bytes / u64::from(self.members), self.bytes % u64::from(self.members));
        Part { peer, bytes: each + u64::from(u64::from(block) < longer), blocks: Blocks::one(block) }
    }

    /// Bytes of these blocks.
    pub(crate) fn size(self, blocks: Blocks) -> u64 {
        debug_assert_eq!(blocks.stride, 1);
        let Self { members, bytes } = self;
        let (each, longer) = (bytes / u64::from(members), bytes % u64::from(members));
        let before = |block: u64| block * each + block.min(longer);
        // Divisions take long, and most of the time there is nothing to divide.
        let first = if blocks.first < members { blocks.first } else { blocks.first % members };
        let (first, count) = (u64::from(first), u64::from(blocks.count));
        let end = first + count;
        match end.checked_sub(u64::from(members)) {
            None | Some(0) => before(end) - before(first),
            Some(over) => bytes - before(first) + before(over),
        }
    }

    /// True if the size of every block `fits`.
    pub(crate) fn every_size(self, fits: &dyn Fn(u64) -> bool) -> bool {
        let (each, longer) = (self.bytes / u64::from(self.members), self.bytes % u64::from(self.members));
        fits(each) && (longer == 0 || fits(each + 1))
    }

    pub(crate) fn part(self, peer: u32, blocks: Blocks) -> Part {
        Part { peer, bytes: self.size(blocks), blocks }
    }

    /// All blocks, as one message.
    pub(crate) fn whole(self, peer: u32) -> Part {
        self.part(peer, Blocks::run(0, self.members))
    }

    /// The member `by` places further on.
    pub(crate) fn next(self, member: u32, by: u32) -> u32 {
        let (place, members) = (u64::from(member) + u64::from(by), u64::from(self.members));
        let place = if place < 2 * members { place } else { place % members };
        (if place < members { place } else { place - members }) as u32
    }

    /// The member `by` places before.
    pub(crate) fn back(self, member: u32, by: u32) -> u32 {
        let by = if by < self.members { by } else { by % self.members };
        self.next(member, self.members - by)
    }
}

/// The smallest number of doublings that reaches `members`.
pub(crate) fn log2_up(members: u32) -> u32 {
    members.max(1).next_power_of_two().trailing_zeros()
}

#[cfg(test)]
mod tests;
