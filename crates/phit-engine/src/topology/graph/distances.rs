//! Distances between all routers of a graph: a byte for each pair.

use super::super::breadth::{BATCH, Breadth, places};
use crate::engine::Table;

/// Links on a shortest path from every router to every other.
#[derive(Debug)]
pub(super) struct Distances {
    /// Row by row: `to`, then `from`.
    bytes: Table<u8>,
    routers: u32,
}

/// Most routers: pairs of them are numbered in 32 bits.
pub(in crate::topology) const MOST_ROUTERS: u32 = 1 << 16;

/// No path.
const FAR: u8 = u8::MAX;

/// The longest distance: the hops of a route of two legs are counted in a byte.
pub(super) const LONGEST: u32 = 127;

/// Why there are no distances.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Failure {
    /// No path leads from the second router to the first.
    Apart(u32, u32),
    /// The first router is too far from the second.
    TooFar(u32, u32),
}

impl Distances {
    /// The distances in a graph in which the neighbours of a router are `peers[starts[router]..starts[router + 1]]`.
    /// Links lead both ways.
    pub(super) fn new(starts: &[u32], peers: &[u32]) -> Result<Self, Failure> {
        let routers = starts.len() - 1;
        let mut bytes = vec![FAR; routers * routers];
        let mut breadth = Breadth::new(routers);
        for first in (0..routers).step_by(BATCH) {
            let seen = breadth.towards((starts, peers), first, |router, new, distance| {
                if distance > LONGEST {
                    return Err(Failure::TooFar(router as u32, first as u32 + new.trailing_zeros()));
                }
                places(new).for_each(|bit| bytes[(first + bit) * routers + router] = distance as u8);
                Ok(())
            })?;
            let all = u64::MAX >> (BATCH - (routers - first).min(BATCH));
            if let Some(router) = seen.iter().position(|&seen| seen != all) {
                let bit = (!seen[router] & all).trailing_zeros();
                return Err(Failure::Apart(first as u32 + bit, router as u32));
            }
        }
        Ok(Self { bytes: bytes.into(), routers: routers as u32 })
    }

    /// Links on a shortest path.
    #[inline]
    pub(super) fn between(&self, from: u32, to: u32) -> u32 {
        u32::from(self.bytes[to * self.routers + from])
    }

    /// The longest of all distances between `routers`.
    pub(super) fn longest(&self, routers: std::ops::Range<u32>) -> u32 {
        let of = |to: u32| routers.clone().map(move |from| self.between(from, to));
        routers.clone().flat_map(of).max().unwrap_or(0)
    }

    /// Distances to the nearest router of each group of `group` consecutive routers.
    pub(super) fn to_groups(&self, group: u32) -> Self {
        let row = self.routers as usize;
        let of = |rows: &[u8]| {
            (0..row).map(|from| rows.iter().skip(from).step_by(row).copied().min().unwrap_or(FAR)).collect::<Vec<_>>()
        };
        let bytes: Vec<u8> = self.bytes.chunks(row * group as usize).flat_map(of).collect();
        Self { bytes: bytes.into(), routers: self.routers }
    }
}
