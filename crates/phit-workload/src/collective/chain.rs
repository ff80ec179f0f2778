//! Broadcast and reduction along a chain.
//!
//! E. Chan, M. Heimlich, A. Purkayastha and R. van de Geijn, "Collective Communication: Theory, Practice, and
//! Experience", CCPE 19(13), 2007.

use super::binomial::Way;
use super::{Blocks, Cut, Step, Steps};

/// A chain from the root on, in segments: while a segment arrives, the one before it is passed on.
#[derive(Debug)]
pub(crate) struct Chain {
    pub(crate) members: u32,
    pub(crate) bytes: u64,
    pub(crate) root: u32,
    pub(crate) way: Way,
    pub(crate) segments: u32,
}

impl Steps for Chain {
    fn step(&self, member: u32, _lane: u32, number: u32) -> Option<Step> {
        let Self { members, bytes, root, way, segments } = *self;
        let ring = Cut { members, bytes };
        let cut = Cut { members: segments, bytes };
        let place = ring.back(member, root);
        // Its place in the direction of the data.
        let along = if way == Way::Down { place } else { members - 1 - place };
        let (has_before, has_after) = (along > 0, along + 1 < members);
        let sent = if has_before { number.checked_sub(1) } else { Some(number) };
        let sent = sent.filter(|segment| *segment < segments && has_after);
        let received = Some(number).filter(|segment| *segment < segments && has_before);
        if sent.is_none() && received.is_none() {
            return None;
        }
        let part = |on: bool, segment| {
            let peer = if on == (way == Way::Down) { ring.next(member, 1) } else { ring.back(member, 1) };
            cut.part(peer, Blocks::one(segment))
        };
        Some(Step {
            sends: sent.map(|segment| part(true, segment)).into_iter().collect(),
            receives: received.map(|segment| part(false, segment)).into_iter().collect(),
            reduces: way == Way::Up && received.is_some(),
        })
    }
}
