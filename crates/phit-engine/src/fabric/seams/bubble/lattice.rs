//! Positions and routes in a torus or mesh, for the bubble family.

use crate::engine::Rng;
use crate::error::ScenarioError;
use crate::topology::Topology;
use serde::{Deserialize, Serialize};

pub(crate) use crate::topology::MOST_DIMENSIONS;

/// Coordinates of a router; those beyond the last dimension are zero.
pub(crate) type Position = [i32; MOST_DIMENSIONS];

/// The remaining route of a packet: hops in each dimension, with the sign of the direction.
pub(crate) type Offsets = [i16; MOST_DIMENSIONS];

/// The direction of a packet that is half a ring from its target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum HalfWay {
    /// Either, at random, for every packet and dimension.
    #[default]
    Random,
    /// In the positive direction.
    Plus,
}

impl HalfWay {
    /// A bit for every dimension: the direction of half a ring there.
    #[inline]
    pub fn coins(self, rng: &mut Rng) -> u32 {
        match self {
            Self::Random => rng.bits() as u32 & ((1 << MOST_DIMENSIONS) - 1),
            Self::Plus => 0,
        }
    }
}

/// A torus or mesh with any sides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lattice {
    sides: Vec<i32>,
    wraps: bool,
}

impl Lattice {
    /// A lattice with these sides.
    pub fn new(sides: &[u32], wraps: bool) -> Self {
        Self { sides: sides.iter().map(|&side| side as i32).collect(), wraps }
    }

    /// The lattice of a torus or mesh. Refuses any other topology, and one with faults, which lacks minimal routes.
    pub fn of(topology: &dyn Topology, kind: &str) -> Result<Self, ScenarioError> {
        let refused = || ScenarioError::new("kind", format!("{kind:?}"), "needs a torus or a mesh");
        let sides = topology.grid().ok_or_else(refused)?;
        let straight = |&side: &u32| if topology.wraps() { side / 2 } else { side - 1 };
        // A HyperX is a grid as well, but its dimensions are one hop wide, and its ports differ.
        let ports = topology.endpoints() / topology.routers() + 2 * sides.len() as u32;
        if topology.diameter() != sides.iter().map(straight).sum::<u32>() || u32::from(topology.ports(0)) != ports {
            return Err(refused());
        }
        Ok(Self::new(sides, topology.wraps()))
    }

    /// Number of dimensions.
    #[inline]
    pub fn dimensions(&self) -> usize {
        self.sides.len()
    }

    /// Length of dimension `d`.
    #[inline]
    pub fn side(&self, d: usize) -> i32 {
        self.sides[d]
    }

    /// True for a torus.
    #[inline]
    pub fn wraps(&self) -> bool {
        self.wraps
    }

    /// The position of `router`.
    #[inline]
    pub fn position(&self, router: u32) -> Position {
        let mut rest = router as i32;
        let mut position = Position::default();
        for (coordinate, &side) in position.iter_mut().zip(&self.sides) {
            *coordinate = rest % side;
            rest /= side;
        }
        position
    }

    /// The router at `position`.
    #[inline]
    pub fn router(&self, position: &Position) -> u32 {
        let fold = |index: i32, (x, side): (&i32, &i32)| index * side + x;
        position[..self.sides.len()].iter().zip(&self.sides).rev().fold(0, fold) as u32
    }

    /// `x` brought into the ring of dimension `d`; `None` if it lies beyond the edge of a mesh.
    #[inline]
    pub fn within(&self, d: usize, x: i32) -> Option<i32> {
        let side = self.sides[d];
        match self.wraps {
            true => Some(x.rem_euclid(side)),
            false => (0..side).contains(&x).then_some(x),
        }
    }

    /// The shortest route from `a` to `b`. Half a ring takes the positive direction, unless bit d of `coins` is set.
    #[inline]
    pub fn way(&self, a: &Position, b: &Position, coins: u32) -> Offsets {
        let mut offsets = Offsets::default();
        for d in 0..self.sides.len() {
            let (side, straight) = (self.sides[d], b[d] - a[d]);
            offsets[d] = if self.wraps {
                // The direction could not be predicted, so there are no branches.
                let ahead = straight + (straight >> 31 & side);
                let coin = (coins >> d & 1) as i32;
                let minus = i32::from(2 * ahead + coin > side);
                (ahead - minus * side) as i16
            } else {
                straight as i16
            };
        }
        offsets
    }

    /// The route from `a` to `b` in direction minus in the dimensions whose bit is set in `minus`, and in direction
    /// plus in the others (a torus only).
    #[inline]
    pub fn way_round(&self, a: &Position, b: &Position, minus: u32) -> Offsets {
        let mut offsets = Offsets::default();
        for d in 0..self.sides.len() {
            let ahead = (b[d] - a[d]).rem_euclid(self.sides[d]);
            offsets[d] = match (ahead, minus >> d & 1) {
                (0, _) => 0,
                (ahead, 0) => ahead as i16,
                (ahead, _) => (ahead - self.sides[d]) as i16,
            };
        }
        offsets
    }

    /// Hops between `a` and `b`.
    #[inline]
    pub fn distance(&self, a: &Position, b: &Position) -> u32 {
        length(&self.way(a, b, 0))
    }
}

/// Hops of a route.
#[inline]
pub(crate) fn length(way: &Offsets) -> u32 {
    way.iter().map(|hops| u32::from(hops.unsigned_abs())).sum()
}

/// Direction number of dimension `d`: 2 d for the positive, 2 d + 1 for the negative direction, in the order of a
/// router's ports.
#[inline]
pub(crate) fn direction(d: usize, minus: bool) -> usize {
    2 * d + usize::from(minus)
}

/// The directions of a route, one bit each.
#[inline]
pub(crate) fn directions(way: &Offsets) -> u16 {
    let mut set = 0;
    for (d, &hops) in way.iter().enumerate() {
        if hops != 0 {
            set |= 1 << direction(d, hops < 0);
        }
    }
    set
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_and_routers_are_inverse() {
        let lattice = Lattice::new(&[3, 4, 5], true);
        for router in 0..60 {
            assert_eq!(lattice.router(&lattice.position(router)), router);
        }
        assert_eq!(lattice.position(2 + 3 * (1 + 4 * 4))[..3], [2, 1, 4]);
    }

    #[test]
    fn ways_are_shortest_and_half_a_ring_goes_where_the_coin_says() {
        let lattice = Lattice::new(&[8, 5], true);
        let at = |x, y| [x, y, 0, 0, 0, 0];
        assert_eq!(lattice.way(&at(6, 1), &at(1, 4), 0)[..2], [3, -2]);
        assert_eq!(lattice.way(&at(1, 0), &at(5, 0), 0)[..2], [4, 0]);
        assert_eq!(lattice.way(&at(1, 0), &at(5, 0), 1)[..2], [-4, 0]);
        assert_eq!(lattice.way_round(&at(1, 0), &at(2, 0), 0b11)[..2], [-7, 0]);
        assert_eq!(lattice.distance(&at(6, 1), &at(1, 4)), 5);
        let mesh = Lattice::new(&[8, 5], false);
        assert_eq!(mesh.way(&at(6, 1), &at(1, 4), 3)[..2], [-5, 3]);
        assert_eq!((mesh.within(0, -1), mesh.within(0, 7), lattice.within(0, -1)), (None, Some(7), Some(7)));
    }

    #[test]
    fn a_hyperx_is_refused() {
        for dims in [[2, 2], [4, 3]] {
            let table = serde_json::json!({ "kind": "hyperx", "dims": dims });
            let hyperx = crate::topology::TopologyKind::from_value("", &table).unwrap().build().unwrap();
            let error = Lattice::of(&*hyperx, "abr").unwrap_err();
            assert_eq!(error.to_string(), "kind = \"abr\": needs a torus or a mesh");
        }
    }

    #[test]
    fn directions_are_numbered_like_ports() {
        assert_eq!(directions(&[3, -2, 0, 0, 0, 1]), 1 | 1 << 3 | 1 << 10);
    }
}
