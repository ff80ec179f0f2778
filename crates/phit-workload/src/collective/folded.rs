//! All-reduce of any number of members by an algorithm for a power of two. Members beyond it pass their vector to a
//! neighbour, and get the result from it.
//!
//! R. Rabenseifner, "Optimization of Collective Reduction Operations", ICCS 2004.

use super::{Cut, Part, Step, Steps};
use smallvec::smallvec;

/// The first 2·r of p = 2^k + r members fold in pairs: the even member of a pair pauses.
#[derive(Debug)]
pub(crate) struct Folded<A> {
    pub(crate) members: u32,
    pub(crate) bytes: u64,
    /// The algorithm among the largest power of two of members.
    pub(crate) inner: A,
}

impl<A> Folded<A> {
    fn extra(&self) -> u32 {
        self.members - largest_power(self.members)
    }

    /// The member with this number in the power of two.
    fn outside(&self, inner: u32) -> u32 {
        if inner < self.extra() { 2 * inner + 1 } else { inner + self.extra() }
    }
}

/// The largest power of two that is at most `members`.
pub(crate) fn largest_power(members: u32) -> u32 {
    1 << members.ilog2()
}

impl<A: Steps> Steps for Folded<A> {
    fn step(&self, member: u32, lane: u32, number: u32) -> Option<Step> {
        let extra = self.extra();
        if member >= 2 * extra {
            return self.inside(member - extra, lane, number);
        }
        let cut = Cut { members: largest_power(self.members), bytes: self.bytes };
        let whole = |peer| smallvec![cut.whole(peer)];
        if member.is_multiple_of(2) {
            return match number {
                0 => Some(Step { sends: whole(member + 1), ..Step::default() }),
                1 => Some(Step { receives: whole(member + 1), ..Step::default() }),
                _ => None,
            };
        }
        if number == 0 {
            return Some(Step { receives: whole(member - 1), reduces: true, ..Step::default() });
        }
        let last = || Step { sends: whole(member - 1), ..Step::default() };
        self.inside(member / 2, lane, number - 1).or_else(|| {
            let is_next = number == 1 || self.inner.step(member / 2, lane, number - 2).is_some();
            is_next.then(last)
        })
    }
}

impl<A: Steps> Folded<A> {
    fn inside(&self, inner: u32, lane: u32, number: u32) -> Option<Step> {
        let mut step = self.inner.step(inner, lane, number)?;
        let rename = |part: &mut Part| part.peer = self.outside(part.peer);
        step.sends.iter_mut().chain(&mut step.receives).for_each(rename);
        Some(step)
    }
}
