//! Distances between all routers of a graph: a byte for each pair.

use crate::engine::{Table, poll};

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
    /// Of a graph in which `starts[router]..starts[router + 1]` are the places of a router's neighbours in `peers`.
    /// Links lead both ways.
    ///
    /// A search in breadth for 64 routers at a time: a bit for each in a word for every router, and a step along all
    /// links is an operation on words (Then et al., "The more the merrier: efficient multi-source graph traversal",
    /// PVLDB 2014).
    pub(super) fn new(starts: &[u32], peers: &[u32]) -> Result<Self, Failure> {
        let routers = starts.len() - 1;
        let mut bytes = vec![FAR; routers * routers];
        let mut seen = vec![0u64; routers];
        let (mut front, mut next) = (seen.clone(), seen.clone());
        for first in (0..routers).step_by(64) {
            let batch = (routers - first).min(64);
            let all = u64::MAX >> (64 - batch);
            seen.fill(0);
            front.fill(0);
            for bit in 0..batch {
                seen[first + bit] = 1 << bit;
                front[first + bit] = 1 << bit;
                bytes[(first + bit) * routers + first + bit] = 0;
            }
            let mut distance = 0;
            loop {
                let mut moved = false;
                for router in 0..routers {
                    poll();
                    let around = &peers[starts[router] as usize..starts[router + 1] as usize];
                    let reached = around.iter().fold(0, |reached, &peer| reached | front[peer as usize]);
                    let mut new = reached & !seen[router];
                    next[router] = new;
                    moved |= new != 0;
                    if new != 0 && distance == LONGEST {
                        return Err(Failure::TooFar(router as u32, first as u32 + new.trailing_zeros()));
                    }
                    while new != 0 {
                        bytes[(first + new.trailing_zeros() as usize) * routers + router] = distance as u8 + 1;
                        new &= new - 1;
                    }
                }
                if !moved {
                    break;
                }
                seen.iter_mut().zip(&next).for_each(|(seen, new)| *seen |= new);
                std::mem::swap(&mut front, &mut next);
                distance += 1;
            }
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

    /// The same to the nearest router of each group of `group` consecutive routers.
    pub(super) fn to_groups(&self, group: u32) -> Self {
        let row = self.routers as usize;
        let of = |rows: &[u8]| {
            (0..row).map(|from| rows.iter().skip(from).step_by(row).copied().min().unwrap_or(FAR)).collect::<Vec<_>>()
        };
        let bytes: Vec<u8> = self.bytes.chunks(row * group as usize).flat_map(of).collect();
        Self { bytes: bytes.into(), routers: self.routers }
    }
}
