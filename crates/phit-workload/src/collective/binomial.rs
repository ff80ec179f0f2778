//! Broadcast and reduction by a binomial tree.
//!
//! R. Thakur, R. Rabenseifner and W. Gropp, "Optimization of Collective Communication Operations in MPICH", IJHPCA
//! 19(1), 2005.

use super::{Cut, Parts, Step, Steps, log2_up};
use smallvec::smallvec;

/// The direction of the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// From the root: broadcast.
    Down,
    /// To the root, combined: reduction.
    Up,
}

/// In round k of a broadcast, each of the first 2^k members sends to the member 2^k further on. A reduction runs
/// backwards.
#[derive(Debug)]
pub(crate) struct Binomial {
    pub(crate) cut: Cut,
    pub(crate) root: u32,
    pub(crate) way: Way,
}

impl Steps for Binomial {
    fn step(&self, member: u32, _lane: u32, number: u32) -> Option<Step> {
        let Self { cut, root, way } = *self;
        let place = cut.back(member, root);
        // Rounds in which the member has a child: all rounds after the one with its parent.
        let own = place.checked_ilog2().map_or(0, |round| round + 1);
        let children = log2_up(cut.members).saturating_sub(own);
        let steps = children + u32::from(place > 0);
        if number >= steps {
            return None;
        }
        let part = |place| cut.whole(cut.next(place, root));
        let (parent_at, round) = match way {
            Way::Down => (0, own + number.saturating_sub(u32::from(place > 0))),
            Way::Up => (children, (own + children - 1).saturating_sub(number)),
        };
        if place > 0 && number == parent_at {
            let parent = smallvec![part(place - (1 << (own - 1)))];
            return Some(match way {
                Way::Down => Step { receives: parent, ..Step::default() },
                Way::Up => Step { sends: parent, ..Step::default() },
            });
        }
        let child: Parts =
            (place + (1 << round) < cut.members).then(|| part(place + (1 << round))).into_iter().collect();
        Some(match way {
            Way::Down => Step { sends: child, ..Step::default() },
            Way::Up => Step { reduces: !child.is_empty(), receives: child, ..Step::default() },
        })
    }
}
