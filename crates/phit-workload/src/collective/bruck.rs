//! Bruck's algorithms: distances that double, for any number of members; and the dissemination barrier, which has their
//! pattern.
//!
//! J. Bruck, C.-T. Ho, S. Kipnis, E. Upfal and D. Weathersby, "Efficient Algorithms for All-to-All Communications in
//! Multiport Message-Passing Systems", IEEE TPDS 8(11), 1997. D. Hensgen, R. Finkel and U. Manber, "Two Algorithms for
//! Barrier Synchronization", IJPP 17(1), 1988.

use super::{Blocks, Cut, Part, Step, Steps, log2_up};

/// All-gather: each member collects the blocks of those after it.
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
            sends: vec![cut.part(cut.back(member, distance), Blocks { first: member, count })],
            receives: vec![cut.part(from, Blocks { first: from, count })],
            reduces: false,
        })
    }
}

/// All-to-all: a block moves on by each power of two in the distance to its destination. `blocks` of a message counts
/// from 0: which ones they are depends on where they come from.
#[derive(Debug)]
pub(crate) struct BruckAllToAll {
    pub(crate) members: u32,
    /// Of a member for another one.
    pub(crate) bytes: u64,
}

impl Steps for BruckAllToAll {
    fn step(&self, member: u32, _lane: u32, number: u32) -> Option<Step> {
        let Self { members, bytes } = *self;
        if number >= log2_up(members) {
            return None;
        }
        let distance = 1 << number;
        let count = (1..members).filter(|offset| offset & distance != 0).count() as u32;
        let cut = Cut { members, bytes };
        let part = |peer| Part { peer, bytes: bytes * u64::from(count), blocks: Blocks { first: 0, count } };
        Some(Step {
            sends: vec![part(cut.next(member, distance))],
            receives: vec![part(cut.back(member, distance))],
            reduces: false,
        })
    }
}

/// Barrier: after the last step each member has heard of all.
#[derive(Debug)]
pub(crate) struct Dissemination {
    pub(crate) members: u32,
    /// Of a message.
    pub(crate) bytes: u64,
}

impl Steps for Dissemination {
    fn step(&self, member: u32, _lane: u32, number: u32) -> Option<Step> {
        let Self { members, bytes } = *self;
        if number >= log2_up(members) {
            return None;
        }
        let (cut, distance) = (Cut { members, bytes }, 1 << number);
        // What is known of: this member and those before it.
        let known = |member| {
            let count = distance.min(members);
            Blocks { first: cut.back(member, count - 1), count }
        };
        let (to, from) = (cut.next(member, distance), cut.back(member, distance));
        Some(Step {
            sends: vec![Part { peer: to, bytes, blocks: known(member) }],
            receives: vec![Part { peer: from, bytes, blocks: known(from) }],
            reduces: false,
        })
    }
}
