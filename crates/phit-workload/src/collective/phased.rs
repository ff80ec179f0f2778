//! Algorithms one after another, each in one or several smaller communicators.

use super::{Blocks, Part, Step, Steps};
use std::sync::Arc;

/// The position of a smaller communicator's blocks among all blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Where {
    /// The blocks are equal.
    Same,
    /// Any block means all of this many blocks.
    All(u32),
    /// Block b means `count` blocks from `first` + b·`each` on, `stride` from one to the next.
    At { first: u32, each: u32, count: u32, stride: u32 },
}

impl Where {
    fn blocks(self, blocks: Blocks) -> Blocks {
        match self {
            Self::Same => blocks,
            Self::All(count) => Blocks::run(0, count),
            Self::At { first, each, count: 1, .. } => {
                Blocks { first: first + blocks.first * each, count: blocks.count, stride: each }
            }
            Self::At { first, each, count, stride } => {
                debug_assert_eq!(blocks.count, 1);
                Blocks { first: first + blocks.first * each, count, stride }
            }
        }
    }
}

/// The part of a member in a phase.
#[derive(Debug, Clone)]
pub(crate) struct Own {
    /// The members of its communicator.
    pub(crate) members: Arc<[u32]>,
    /// Its place among them.
    pub(crate) place: u32,
    pub(crate) steps: Arc<dyn Steps>,
    pub(crate) blocks: Where,
}

impl Own {
    fn step(&self, number: u32) -> Option<Step> {
        let mut step = self.steps.step(self.place, 0, number)?;
        let rename = |part: &mut Part| {
            part.peer = self.members[part.peer as usize];
            part.blocks = self.blocks.blocks(part.blocks);
        };
        step.sends.iter_mut().chain(&mut step.receives).for_each(rename);
        Some(step)
    }
}

/// A phase.
#[derive(Debug)]
pub(crate) enum Phase {
    /// All members take part in one algorithm.
    All(Arc<dyn Steps>),
    /// By member. Some take no part.
    Each(Vec<Option<Own>>),
}

impl Phase {
    /// Each communicator with its algorithm, and the position of its blocks.
    pub(crate) fn of(members: u32, all: impl IntoIterator<Item = (Arc<[u32]>, Arc<dyn Steps>, Where)>) -> Self {
        let mut found = vec![None; members as usize];
        for (members, steps, blocks) in all {
            for (place, member) in (0..).zip(&*members) {
                found[*member as usize] = Some(Own { members: members.clone(), place, steps: steps.clone(), blocks });
            }
        }
        Self::Each(found)
    }

    fn step(&self, member: u32, number: u32) -> Option<Step> {
        match self {
            Self::All(steps) => steps.step(member, 0, number),
            Self::Each(own) => own[member as usize].as_ref()?.step(number),
        }
    }

    fn count(&self, member: u32) -> u32 {
        match self {
            Self::All(steps) => steps.count(member, 0),
            Self::Each(own) => own[member as usize].as_ref().map_or(0, |own| own.steps.count(own.place, 0)),
        }
    }
}

/// Phases one after another, each of one lane.
#[derive(Debug)]
pub(crate) struct Phased(pub(crate) Vec<Phase>);

impl Steps for Phased {
    fn step(&self, member: u32, _lane: u32, mut number: u32) -> Option<Step> {
        for phase in &self.0 {
            let count = phase.count(member);
            match number.checked_sub(count) {
                None => return phase.step(member, number),
                Some(later) => number = later,
            }
        }
        None
    }

    fn count(&self, member: u32, _lane: u32) -> u32 {
        self.0.iter().map(|phase| phase.count(member)).sum()
    }
}
