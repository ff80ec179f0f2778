//! Routers at the points of a box: index = x + kx * (y + ky * (z + ...)), first dimension fastest.

use super::divisor::Divisor;
use super::limits;
use crate::error::ScenarioError;
use crate::packet::MOST_CLASSES;

/// Most dimensions of a grid.
pub const MOST_DIMENSIONS: usize = 6;

// Each dimension is a link class, and the endpoints' links are one.
const _: () = assert!(MOST_DIMENSIONS < MOST_CLASSES);

/// A box of routers.
#[derive(Debug, Clone)]
pub(super) struct Coordinates {
    /// Side lengths.
    pub sides: Vec<u32>,
    /// Number of routers.
    pub routers: u32,
    divisors: Vec<Divisor>,
    /// The positions of every router, a byte for each dimension, the first one lowest. Empty if a side exceeds a byte.
    positions: Vec<u64>,
}

/// Bits of a position in a word of `positions`.
const POSITION: u32 = 8;

impl Coordinates {
    /// Checks the keys `dims` and `endpoints_per_router`.
    pub(super) fn new(dims: &[u32], endpoints: u32) -> Result<Self, ScenarioError> {
        limits::ports("endpoints_per_router", endpoints, u64::from(endpoints))?;
        let points = dims.iter().fold(1u64, |points, &side| points.saturating_mul(u64::from(side)));
        let routers = limits::routers("dims", format!("{dims:?}"), points, u64::from(endpoints))?;
        let divisors: Vec<Divisor> = dims.iter().map(|&side| Divisor::new(side)).collect();
        let mut at = Self { sides: dims.to_vec(), routers, divisors, positions: Vec::new() };
        if dims.iter().all(|&side| side <= 1 << POSITION) {
            at.positions = (0..routers).map(|router| at.word(router)).collect();
        }
        Ok(at)
    }

    /// The lowest dimension in which two routers differ, and their positions in it. For equal routers, the last
    /// dimension.
    #[inline]
    pub(super) fn first_difference(&self, mut at: u32, mut to: u32) -> (usize, u32, u32) {
        if let (Some(a), Some(b)) = (self.positions.get(at as usize), self.positions.get(to as usize)) {
            let d = ((a ^ b).trailing_zeros() / POSITION).min(self.sides.len() as u32 - 1);
            let position = |word: u64| (word >> (d * POSITION)) as u32 & ((1 << POSITION) - 1);
            return (d as usize, position(*a), position(*b));
        }
        let mut found = (0, 0, 0);
        for (d, divisor) in self.divisors.iter().enumerate() {
            let (at_rest, x) = divisor.div_rem(at);
            let (to_rest, y) = divisor.div_rem(to);
            found = (d, x, y);
            if x != y {
                break;
            }
            (at, to) = (at_rest, to_rest);
        }
        found
    }

    /// Positions of two routers in every dimension.
    pub(super) fn pairs(&self, mut a: u32, mut b: u32) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.divisors.iter().map(move |divisor| {
            let (a_rest, x) = divisor.div_rem(a);
            let (b_rest, y) = divisor.div_rem(b);
            (a, b) = (a_rest, b_rest);
            (x, y)
        })
    }

    /// The positions of a router in one word, the first dimension lowest.
    fn word(&self, router: u32) -> u64 {
        self.pairs(router, router).zip(0..).fold(0, |word, ((x, _), d)| word | u64::from(x) << (d * POSITION))
    }

    /// Position of `router` in the first of two dimensions.
    #[inline]
    pub(super) fn column(&self, router: u32) -> u32 {
        self.divisors[0].div_rem(router).1
    }

    /// Position of `router` in the second of two dimensions.
    #[inline]
    pub(super) fn row(&self, router: u32) -> u32 {
        self.divisors[0].quotient(router)
    }

    /// Position of `router` in dimension `d`.
    pub(super) fn position(&self, router: u32, d: usize) -> u32 {
        router / self.stride(d) % self.sides[d]
    }

    /// The router at `position` of dimension `d`, with the other coordinates of `router`.
    pub(super) fn moved(&self, router: u32, d: usize, position: u32) -> u32 {
        let stride = self.stride(d);
        router - self.position(router, d) * stride + position * stride
    }

    fn stride(&self, d: usize) -> u32 {
        self.sides[..d].iter().product()
    }
}

/// Default number of endpoints at each router.
pub(super) fn one() -> u32 {
    1
}

/// Names of the link classes of a box of routers: `endpoint`, `dim0`, `dim1`, ...
pub(super) fn classes(dims: &[u32]) -> Vec<String> {
    std::iter::once("endpoint".to_owned()).chain((0..dims.len()).map(|d| format!("dim{d}"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_dimension_is_fastest() {
        let c = Coordinates::new(&[3, 4, 5], 1).unwrap();
        let router = 2 + 3 * (1 + 4 * 4);
        assert_eq!([0, 1, 2].map(|d| c.position(router, d)), [2, 1, 4]);
        assert_eq!(c.moved(router, 1, 3), 2 + 3 * (3 + 4 * 4));
        assert_eq!(c.first_difference(router, c.moved(router, 2, 0)), (2, 4, 0));
        assert_eq!(c.first_difference(router, router).0, 2);
        assert_eq!(c.pairs(router, 0).collect::<Vec<_>>(), [(2, 0), (1, 0), (4, 0)]);
        // With positions in a table, and without.
        let (short, long) = (Coordinates::new(&[3, 256], 1).unwrap(), Coordinates::new(&[3, 257], 1).unwrap());
        assert!(!short.positions.is_empty() && long.positions.is_empty());
        for (at, to) in [(0, 765), (766, 764), (5, 5), (764, 1)] {
            assert_eq!(short.first_difference(at, to), long.first_difference(at, to));
        }
    }

    #[test]
    fn impossible_boxes_are_refused() {
        let refused = |dims: &[u32]| Coordinates::new(dims, 1).unwrap_err().to_string();
        assert!(refused(&[u32::MAX; 6]).contains("at most"));
    }
}
