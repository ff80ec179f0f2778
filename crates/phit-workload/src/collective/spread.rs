//! Scatter and gather by a binomial tree whose subtrees are consecutive members.
//!
//! R. Thakur, R. Rabenseifner and W. Gropp, "Optimization of Collective Communication Operations in MPICH", IJHPCA
//! 19(1), 2005.

use super::binomial::Way;
use super::{Blocks, Cut, Step, Steps, log2_up};
use smallvec::smallvec;

/// A member passes on the blocks of the member 2^k places on and of those after it, k = ..., 1, 0. A gather runs
/// backwards.
#[derive(Debug)]
pub(crate) struct Spread {
    pub(crate) cut: Cut,
    pub(crate) root: u32,
    pub(crate) way: Way,
}

impl Steps for Spread {
    fn step(&self, member: u32, _lane: u32, number: u32) -> Option<Step> {
        let Self { cut, root, way } = *self;
        let place = cut.back(member, root);
        // Number of doublings that reach the members behind it.
        let reach = if place == 0 { log2_up(cut.members) } else { place.trailing_zeros() };
        let steps = reach + u32::from(place > 0);
        if number >= steps {
            return None;
        }
        let part = |peer, first: u32, reach: u32| {
            let count = (1 << reach).min(cut.members - first);
            cut.part(cut.next(peer, root), Blocks::run(cut.next(first, root), count))
        };
        let is_parents = place > 0 && number == if way == Way::Down { 0 } else { reach };
        let parts = if is_parents {
            smallvec![part(place & (place - 1), place, reach)]
        } else {
            let round = if way == Way::Down { number - u32::from(place > 0) } else { reach - 1 - number };
            let child = place + (1 << (reach - 1 - round));
            (child < cut.members).then(|| part(child, child, reach - 1 - round)).into_iter().collect()
        };
        Some(match is_parents == (way == Way::Up) {
            true => Step { sends: parts, ..Step::default() },
            false => Step { receives: parts, ..Step::default() },
        })
    }
}
