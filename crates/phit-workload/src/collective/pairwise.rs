//! Pairwise exchange and direct messages: data goes straight from its member to its destination.

use super::pairs::Pairs;
use super::{Blocks, Cut, Pair, Part, Step, Steps};

/// The data of a member for another one.
#[derive(Debug, Clone)]
pub(crate) enum Sizes {
    /// Its own block, of the vector that is gathered: all-gather.
    Own(Cut),
    /// The other member's block, combined there: reduce-scatter.
    Theirs(Cut),
    /// The data for the other member: all-to-all.
    Each(Pairs),
}

impl Sizes {
    #[inline(always)]
    fn part(&self, members: u32, peer: u32, source: u32, destination: u32) -> Part {
        match self {
            Self::Own(cut) => cut.part(peer, Blocks::one(source)),
            Self::Theirs(cut) => cut.part(peer, Blocks::one(destination)),
            Self::Each(pairs) => {
                Part { peer, bytes: pairs.bytes(members, source, destination), blocks: Blocks::one(destination) }
            }
        }
    }
}

/// A member exchanges with the members 1, 2, ... places on, `in_step` of them in a step. With a window, each lane has
/// every `window`-th of the distances. So `window` exchanges are under way, and where one ends the next begins.
#[derive(Debug)]
pub(crate) struct Pairwise {
    pub(crate) members: u32,
    pub(crate) sizes: Sizes,
    pub(crate) in_step: u32,
    pub(crate) window: u32,
}

impl Pairwise {
    /// With one member after another.
    pub(crate) fn in_turn(members: u32, sizes: Sizes) -> Self {
        Self { members, sizes, in_step: 1, window: 1 }
    }

    /// With all members at once, or with `window` at a time if `window` is not 0.
    pub(crate) fn at_once(members: u32, sizes: Sizes, window: u32) -> Self {
        let others = members.saturating_sub(1).max(1);
        match window == 0 || window >= others {
            true => Self { members, sizes, in_step: others, window: 1 },
            false => Self { members, sizes, in_step: 1, window },
        }
    }
}

impl Pairwise {
    /// The first distance of a step.
    #[inline]
    fn first(&self, lane: u32, number: u32) -> Option<u32> {
        let Self { members, in_step, window, .. } = self;
        number.checked_mul(in_step * window)?.checked_add(lane + 1).filter(|first| first < members)
    }

    /// The messages between a member and the members at this distance.
    #[inline(always)]
    fn at(&self, member: u32, distance: u32) -> Pair {
        let Self { members, sizes, .. } = self;
        // The distance is smaller than the number of members.
        let rest = members - distance;
        let to = if member < rest { member + distance } else { member - rest };
        let from = if member < distance { member + rest } else { member - distance };
        Pair {
            send: sizes.part(*members, to, member, to),
            receive: sizes.part(*members, from, from, member),
            reduces: self.reduces(),
        }
    }

    fn reduces(&self) -> bool {
        matches!(self.sizes, Sizes::Theirs(_))
    }
}

impl Steps for Pairwise {
    fn lanes(&self) -> u32 {
        self.window
    }

    fn step(&self, member: u32, lane: u32, number: u32) -> Option<Step> {
        let first = self.first(lane, number)?;
        let Self { members, sizes, in_step, .. } = self;
        let pair = |distance| self.at(member, distance);
        let mut step = match in_step {
            1 => Step::from(pair(first)),
            _ => {
                let distances = first..first.saturating_add(*in_step).min(*members);
                let (sends, receives) = distances.map(pair).map(|pair| (pair.send, pair.receive)).unzip();
                Step { sends, receives, reduces: self.reduces() }
            }
        };
        // Empty messages are not sent.
        if matches!(sizes, Sizes::Each(pairs) if !pairs.is_equal()) {
            step.sends.retain(|part| part.bytes > 0);
            step.receives.retain(|part| part.bytes > 0);
        }
        Some(step)
    }

    fn pair(&self, member: u32, lane: u32, number: u32) -> Option<Pair> {
        if self.in_step != 1 || matches!(&self.sizes, Sizes::Each(pairs) if !matches!(pairs, Pairs::Equal(_))) {
            return None;
        }
        let distance = self.first(lane, number)?;
        Some(self.at(member, distance))
    }

    fn count(&self, _member: u32, lane: u32) -> u32 {
        let Self { members, in_step, window, .. } = self;
        members.saturating_sub(lane + 1).div_ceil(in_step * window)
    }

    fn every_size(&self, fits: &dyn Fn(u64) -> bool) -> Option<bool> {
        match &self.sizes {
            Sizes::Own(cut) | Sizes::Theirs(cut) => Some(cut.every_size(fits)),
            Sizes::Each(Pairs::Equal(bytes)) => Some(fits(*bytes)),
            Sizes::Each(_) => None,
        }
    }
}
