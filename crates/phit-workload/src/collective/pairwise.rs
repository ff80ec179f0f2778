//! Pairwise exchange and direct messages: what a member has for another one goes straight there.

use super::{Blocks, Cut, Part, Step, Steps};

/// What a member has for another one.
#[derive(Debug, Clone)]
pub(crate) enum Sizes {
    /// Its own block, of the vector that is gathered: all-gather.
    Own(Cut),
    /// The other one's block, summed up there: reduce-scatter.
    Theirs(Cut),
    /// So many bytes for each, one's own block: all-to-all.
    Equal(u64),
    /// Bytes by source and destination, row by row: all-to-all.
    Matrix(Vec<u64>),
}

impl Sizes {
    fn part(&self, members: u32, peer: u32, source: u32, destination: u32) -> Part {
        let one = |first| Blocks { first, count: 1 };
        match self {
            Self::Own(cut) => cut.part(peer, one(source)),
            Self::Theirs(cut) => cut.part(peer, one(destination)),
            Self::Equal(bytes) => Part { peer, bytes: *bytes, blocks: one(destination) },
            Self::Matrix(matrix) => {
                let bytes = matrix[source as usize * members as usize + destination as usize];
                Part { peer, bytes, blocks: one(destination) }
            }
        }
    }
}

/// A member exchanges with those 1, 2, ... places on: `at_once` of them in a step.
#[derive(Debug)]
pub(crate) struct Pairwise {
    pub(crate) members: u32,
    pub(crate) sizes: Sizes,
    pub(crate) at_once: u32,
}

impl Steps for Pairwise {
    fn step(&self, member: u32, _lane: u32, number: u32) -> Option<Step> {
        let Self { members, sizes, at_once } = self;
        let first = number.checked_mul(*at_once)?.checked_add(1)?;
        if first >= *members {
            return None;
        }
        let cut = Cut { members: *members, bytes: 0 };
        let distances = first..first.saturating_add(*at_once).min(*members);
        let to = |distance| cut.next(member, distance);
        let from = |distance| cut.back(member, distance);
        let mut step = Step {
            sends: distances.clone().map(|d| sizes.part(*members, to(d), member, to(d))).collect(),
            receives: distances.map(|d| sizes.part(*members, from(d), from(d), member)).collect(),
            reduces: matches!(sizes, Sizes::Theirs(_)),
        };
        // Nothing is sent where the matrix has nothing.
        if matches!(sizes, Sizes::Matrix(_)) {
            step.sends.retain(|part| part.bytes > 0);
            step.receives.retain(|part| part.bytes > 0);
        }
        Some(step)
    }
}

/// All-to-all over a ring: what is not for the next member goes on with it.
#[derive(Debug)]
pub(crate) struct Relay {
    pub(crate) members: u32,
    /// Of a member for another one.
    pub(crate) bytes: u64,
}

impl Steps for Relay {
    fn step(&self, member: u32, _lane: u32, number: u32) -> Option<Step> {
        let Self { members, bytes } = *self;
        let count = members.checked_sub(number + 1).filter(|count| *count > 0)?;
        let cut = Cut { members, bytes };
        let part = |peer| Part { peer, bytes: bytes * u64::from(count), blocks: Blocks { first: 0, count } };
        Some(Step { sends: vec![part(cut.next(member, 1))], receives: vec![part(cut.back(member, 1))], reduces: false })
    }
}
