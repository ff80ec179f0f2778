//! Breadth-first searches from 64 routers at a time. Every router has a word with a bit for each search, and a step
//! along all links is an operation on words (Then et al., "The more the merrier: efficient multi-source graph
//! traversal", PVLDB 2014).

use crate::engine::poll;

/// Number of routers that one search begins at.
pub(super) const BATCH: usize = 64;

/// The words of a search.
pub(super) struct Breadth {
    seen: Vec<u64>,
    front: Vec<u64>,
    next: Vec<u64>,
}

impl Breadth {
    /// A search in a graph of `routers` routers.
    pub(super) fn new(routers: usize) -> Self {
        Self { seen: vec![0; routers], front: vec![0; routers], next: vec![0; routers] }
    }

    /// Searches from the routers from `first` on. The neighbours of a router are `peers[starts[router]..starts[router +
    /// 1]]`.
    ///
    /// Calls `found(router, bits, distance)` for each router: `bits` has a bit for each start whose shortest path to
    /// the router has this length. Returns, for every router, the starts that have any path to it.
    pub(super) fn towards<E>(
        &mut self,
        (starts, peers): (&[u32], &[u32]),
        first: usize,
        mut found: impl FnMut(usize, u64, u32) -> Result<(), E>,
    ) -> Result<&[u64], E> {
        let Self { seen, front, next } = self;
        let routers = seen.len();
        seen.fill(0);
        front.fill(0);
        for bit in 0..(routers - first).min(BATCH) {
            seen[first + bit] = 1 << bit;
            front[first + bit] = 1 << bit;
            found(first + bit, 1 << bit, 0)?;
        }
        let mut distance = 0;
        loop {
            let mut moved = false;
            distance += 1;
            for router in 0..routers {
                poll();
                let around = &peers[starts[router] as usize..starts[router + 1] as usize];
                let reached = around.iter().fold(0, |reached, &peer| reached | front[peer as usize]);
                let new = reached & !seen[router];
                next[router] = new;
                if new != 0 {
                    moved = true;
                    found(router, new, distance)?;
                }
            }
            if !moved {
                return Ok(seen);
            }
            seen.iter_mut().zip(&*next).for_each(|(seen, new)| *seen |= new);
            std::mem::swap(front, next);
        }
    }
}

/// The positions of the set bits of a word, from the lowest on.
#[inline]
pub(super) fn places(mut word: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let place = (word != 0).then(|| word.trailing_zeros() as usize);
        word &= word.wrapping_sub(1);
        place
    })
}
