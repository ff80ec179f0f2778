//! Bruck's algorithms, with distances that double, for any number of members; and the dissemination barrier, which has
//! their pattern.
//!
//! J. Bruck, C.-T. Ho, S. Kipnis, E. Upfal and D. Weathersby, "Efficient Algorithms for All-to-All Communications in
//! Multiport Message-Passing Systems", IEEE TPDS 8(11), 1997. D. Hensgen, R. Finkel and U. Manber, "Two Algorithms for
//! Barrier Synchronization", IJPP 17(1), 1988.

use super::pairs::Pairs;
use super::{Blocks, Cut, Part, Step, Steps, log2_up, total};
use smallvec::smallvec;

/// All-gather: each member collects the blocks of the members after it.
#[derive(Debug)]
pub(crate) struct BruckGather {
    pub(crate) cut: Cut,
}

impl Steps for BruckGather {
    fn step(&self, member: u32, _lane: u32, number: u32) -> Option<Step> {
        let cut = self.cut;
        if number >= log2_up(cut.members) {
            return None;
        }
        let distance = 1 << number;
        let count = distance.min(cut.members - distance);
        let from = cut.next(member, distance);
        Some(Step {
            sends: smallvec![cut.part(cut.back(member, distance), Blocks::run(member, count))],
            receives: smallvec![cut.part(from, Blocks::run(from, count))],
            reduces: false,
        })
    }
}

/// All-to-all: a block moves by each power of two in the distance to its destination. `blocks` of a message count from
/// 0: their identity depends on their origin.
#[derive(Debug)]
pub(crate) struct BruckAllToAll {
    pub(crate) members: u32,
    pub(crate) pairs: Pairs,
}

impl Steps for BruckAllToAll {
    fn step(&self, member: u32, _lane: u32, number: u32) -> Option<Step> {
        let Self { members, pairs } = self;
        if number >= log2_up(*members) {
            return None;
        }
        let distance = 1 << number;
        let moved = || (1..*members).filter(|on| on & distance != 0);
        let count = moved().count() as u32;
        let cut = Cut { members: *members, bytes: 0 };
        let part = |peer, sender| {
            let bytes = match pairs {
                Pairs::Equal(bytes) => bytes * u64::from(count),
                // The blocks for the member `on` places further have arrived in all combinations of smaller powers of
                // two.
                _ => {
                    let source = |on: u32| cut.back(sender, on & (distance - 1));
                    total(moved().map(|on| pairs.bytes(*members, source(on), cut.next(source(on), on))))
                }
            };
            Part { peer, bytes, blocks: Blocks::run(0, count) }
        };
        let from = cut.back(member, distance);
        Some(Step {
            sends: smallvec![part(cut.next(member, distance), member)],
            receives: smallvec![part(from, from)],
            reduces: false,
        })
    }
}

/// Barrier: after the last step, each member has heard of all members.
#[derive(Debug)]
pub(crate) struct Dissemination {
    pub(crate) members: u32,
    /// Bytes of a message.
    pub(crate) bytes: u64,
}

impl Steps for Dissemination {
    fn step(&self, member: u32, _lane: u32, number: u32) -> Option<Step> {
        let Self { members, bytes } = *self;
        if number >= log2_up(members) {
            return None;
        }
        let (cut, distance) = (Cut { members, bytes }, 1 << number);
        // The known members: this member and those before it.
        let known = |member| {
            let count = distance.min(members);
            Blocks::run(cut.back(member, count - 1), count)
        };
        let (to, from) = (cut.next(member, distance), cut.back(member, distance));
        Some(Step {
            sends: smallvec![Part { peer: to, bytes, blocks: known(member) }],
            receives: smallvec![Part { peer: from, bytes, blocks: known(from) }],
            reduces: false,
        })
    }
}
