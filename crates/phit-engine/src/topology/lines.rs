//! Boxes of routers whose lines are fully connected, with parallel links: the structure of a HyperX, and of a Cascade
//! group.

use super::coordinates::Coordinates;
use super::limits;
use crate::engine::Rng;
use crate::error::ScenarioError;

/// The links of such a box.
/// A router's ports for these links follow one another, dimension by dimension, and within a dimension parallel link by
/// parallel link. For each parallel link, they lead to the k - 1 other routers of the line in increasing order. Index i
/// leads to position i if i is below the router's own position, else to i + 1.
#[derive(Debug, Clone)]
pub(super) struct Lines {
    /// Positions of the routers.
    pub at: Coordinates,
    /// First port of each dimension; last entry: the first port after all of them.
    first: Vec<u16>,
    /// Parallel links between two neighbours, by dimension.
    pub parallel: Vec<u32>,
}

/// The far end of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Neighbour {
    /// Dimension of the link.
    pub dimension: usize,
    /// Router there.
    pub router: u32,
    /// Port of the router there.
    pub port: u16,
}

impl Lines {
    /// The links of a box whose routers' first port is `first`. If there are too many ports, the error names `key` and
    /// `value`.
    pub(super) fn new(
        at: Coordinates,
        parallel: Vec<u32>,
        first: u32,
        (key, value): (&str, String),
    ) -> Result<Self, ScenarioError> {
        let mut next = u64::from(first);
        let mut firsts = vec![next];
        for (&side, &links) in at.sides.iter().zip(&parallel) {
            next = next.saturating_add(u64::from(side - 1).saturating_mul(u64::from(links)));
            firsts.push(next);
        }
        limits::ports(key, value, next)?;
        Ok(Self { at, first: firsts.iter().map(|&port| port as u16).collect(), parallel })
    }

    /// The first port after these.
    pub(super) fn end(&self) -> u16 {
        self.first[self.parallel.len()]
    }

    /// Port from position `x` to position `y` of a line of dimension `d`, over parallel link `link`.
    #[inline]
    pub(super) fn port_to(&self, d: usize, x: u32, y: u32, link: u32) -> u16 {
        let others = self.at.sides[d] - 1;
        self.first[d] + (link * others + y - u32::from(y > x)) as u16
    }

    /// Port from position `x` to position `y` of a line of dimension `d`, over any of the parallel links.
    #[inline]
    pub(super) fn any_port_to(&self, d: usize, x: u32, y: u32, rng: &mut Rng) -> u16 {
        let links = self.parallel[d];
        let link = if links > 1 { rng.below(links) } else { 0 };
        self.port_to(d, x, y, link)
    }

    /// All ports from position `x` to position `y` of a line of dimension `d`.
    pub(super) fn ports_to(&self, d: usize, x: u32, y: u32) -> impl Iterator<Item = u16> + '_ {
        (0..self.parallel[d]).map(move |link| self.port_to(d, x, y, link))
    }

    /// The router and port at the far end of `port` of `router`; `None` if `port` is not one of these.
    pub(super) fn neighbour(&self, router: u32, port: u16) -> Option<Neighbour> {
        let d = self.first.partition_point(|&first| first <= port);
        if d == 0 || d > self.parallel.len() {
            return None;
        }
        let dimension = d - 1;
        let others = self.at.sides[dimension] - 1;
        let index = u32::from(port - self.first[dimension]);
        let (link, index) = (index / others, index % others);
        let x = self.at.position(router, dimension);
        let y = index + u32::from(index >= x);
        let port = self.port_to(dimension, y, x, link);
        Some(Neighbour { dimension, router: self.at.moved(router, dimension, y), port })
    }
}
