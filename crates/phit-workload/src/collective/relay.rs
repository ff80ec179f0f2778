//! All-to-all over a ring: the next member passes on everything that is not for itself.

use super::pairs::Pairs;
use super::{Blocks, Cut, Part, Step, Steps, total};
use smallvec::smallvec;

/// In step k, a member passes on the data from the member k places before it, without the part for itself.
#[derive(Debug)]
pub(crate) struct Relay {
    pub(crate) members: u32,
    pub(crate) pairs: Pairs,
}

impl Steps for Relay {
    fn step(&self, member: u32, _lane: u32, number: u32) -> Option<Step> {
        let Self { members, pairs } = self;
        let count = members.checked_sub(number + 1).filter(|count| *count > 0)?;
        let cut = Cut { members: *members, bytes: 0 };
        let part = |peer, sender| {
            let source = cut.back(sender, number);
            let bytes = match pairs {
                Pairs::Equal(bytes) => bytes * u64::from(count),
                _ => total((number + 1..*members).map(|on| pairs.bytes(*members, source, cut.next(source, on)))),
            };
            Part { peer, bytes, blocks: Blocks::run(0, count) }
        };
        let before = cut.back(member, 1);
        Some(Step {
            sends: smallvec![part(cut.next(member, 1), member)],
            receives: smallvec![part(before, before)],
            reduces: false,
        })
    }

    fn count(&self, _member: u32, _lane: u32) -> u32 {
        self.members - 1
    }
}
