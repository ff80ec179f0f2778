//! Collectives without a tree: the root exchanges with all others at once.

use super::binomial::Way;
use super::{Blocks, Cut, Step, Steps};
use smallvec::smallvec;

/// The data between the root and the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Has {
    /// The whole vector: broadcast, reduction.
    Whole,
    /// A block for each: scatter, gather.
    Blocks,
}

/// The root sends to all, or receives from all.
#[derive(Debug)]
pub(crate) struct Linear {
    pub(crate) cut: Cut,
    pub(crate) root: u32,
    pub(crate) way: Way,
    pub(crate) has: Has,
}

impl Steps for Linear {
    fn step(&self, member: u32, _lane: u32, number: u32) -> Option<Step> {
        let Self { cut, root, way, has } = *self;
        if number > 0 || cut.members == 1 {
            return None;
        }
        let part = |peer, other| match has {
            Has::Whole => cut.whole(peer),
            Has::Blocks => cut.part(peer, Blocks::one(other)),
        };
        let (parts, is_root) = match member == root {
            true => ((1..cut.members).map(|on| cut.next(root, on)).map(|other| part(other, other)).collect(), true),
            false => (smallvec![part(root, member)], false),
        };
        Some(match is_root == (way == Way::Down) {
            true => Step { sends: parts, ..Step::default() },
            false => Step { receives: parts, reduces: way == Way::Up && has == Has::Whole, ..Step::default() },
        })
    }
}
