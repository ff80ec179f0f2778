//! The intermediate destinations of OutFlank routing (Versaci, section 3.1).

use super::lattice::{Lattice, MOST_DIMENSIONS, Offsets, Position, directions, length};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The midpoint between two positions of a ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Midpoint {
    /// The middle of the shorter arc (the paper's figures).
    #[default]
    ShortArc,
    /// The author's simulator: half the sum of the coordinates. If they are more than half a ring apart, half the
    /// remainder of the sum, which is on the longer arc if the sum is less than the side.
    Folded,
}

/// The OIDNs of two nodes that differ in one dimension only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Collinear {
    /// Both sides of every other dimension, among them one OIDN behind the source and one beyond the destination
    /// (equations 13 and 14).
    #[default]
    BothSides,
    /// The negative side of every other dimension (the author's simulator).
    NegativeSide,
}

/// How IDNs are placed.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Idns {
    /// The grid.
    pub lattice: Lattice,
    /// See [`Midpoint`].
    pub midpoint: Midpoint,
    /// See [`Collinear`].
    pub collinear: Collinear,
}

impl Idns {
    /// The middle between `s` and `t` in dimension `d`, and the opposite point of the ring. `way` is the way from s to
    /// t.
    #[inline]
    fn middles(&self, d: usize, s: &Position, t: &Position, way: &Offsets) -> (i32, i32) {
        let side = self.lattice.side(d);
        match self.midpoint {
            Midpoint::ShortArc => {
                let twice = 2 * s[d] + i32::from(way[d]);
                let at =
                    |twice: i32| if self.lattice.wraps() { twice.div_euclid(2).rem_euclid(side) } else { twice / 2 };
                (at(twice), at(twice + side))
            }
            Midpoint::Folded => {
                let sum = s[d] + t[d];
                let wrapped = self.lattice.wraps() && 2 * (s[d] - t[d]).abs() > side;
                let middle = if wrapped { sum % side / 2 } else { sum / 2 };
                (middle, (middle + side / 2) % side)
            }
        }
    }

    /// Calls `see` with the OIDNs of a packet from `s` to `t`, `delta` outside the minimal orthant (section 3.1.2): in
    /// the order of Example 2, continued to any number of dimensions. OIDNs beyond the edge of a mesh are left out.
    #[inline]
    pub(super) fn outflanking(
        &self,
        s: &Position,
        t: &Position,
        way: &Offsets,
        delta: i32,
        mut see: impl FnMut(&Position),
    ) {
        let n = self.lattice.dimensions();
        let mut middle = *s;
        let (mut differing, mut equal) = ([0; MOST_DIMENSIONS], [0; MOST_DIMENSIONS]);
        let (mut m, mut e) = (0, 0);
        for d in 0..n {
            if way[d] == 0 {
                equal[e] = d;
                e += 1;
            } else {
                differing[m] = d;
                m += 1;
                middle[d] = self.middles(d, s, t, way).0;
            }
        }
        let (differing, equal) = (&differing[..m], &equal[..e]);
        // lambda = -1 in a dimension with a minimal link in direction +: behind the source; lambda = 1: beyond the
        // target.
        let behind = |d: usize| s[d] - i32::from(way[d].signum()) * delta;
        let beyond = |d: usize| t[d] + i32::from(way[d].signum()) * delta;
        let mut place = |changes: &[(usize, i32)]| {
            let mut q = middle;
            for &(d, x) in changes {
                let Some(x) = self.lattice.within(d, x) else { return };
                q[d] = x;
            }
            see(&q);
        };
        if let ([d], Collinear::BothSides) = (differing, self.collinear) {
            return collinear(*d, equal, s, delta, behind(*d), beyond(*d), place);
        }
        for &i in differing {
            for &j in differing.iter().filter(|j| **j != i) {
                place(&[(i, behind(i)), (j, beyond(j))]);
            }
        }
        for &d in equal {
            if m > 1 {
                place(&[(d, s[d] + delta)]);
            }
            if m > 0 {
                place(&[(d, s[d] - delta)]);
            }
        }
    }

    /// Calls `see` with the WIDNs of a packet from `s` to `t` (equation 1), including that of the minimal orthant. The
    /// last dimension changes fastest.
    #[inline]
    pub(super) fn wrapping(&self, s: &Position, t: &Position, way: &Offsets, mut see: impl FnMut(&Position)) {
        let n = self.lattice.dimensions();
        let mut middles = [(0, 0); MOST_DIMENSIONS];
        for (d, middle) in middles[..n].iter_mut().enumerate() {
            *middle = self.middles(d, s, t, way);
        }
        for beta in 0..1u32 << n {
            let mut q = Position::default();
            for d in 0..n {
                let (near, far) = middles[d];
                q[d] = if beta >> (n - 1 - d) & 1 == 0 { near } else { far };
            }
            see(&q);
        }
    }

    /// Whether the way over the OIDN `q` is longer than the minimal `way` by 2 n Delta at most (equation 6): of every
    /// OIDN whose coordinates lie on the shorter arcs. The author's midpoints may lie on the longer one, which is
    /// another way round the ring.
    pub(super) fn keeps_bound(&self, s: &Position, q: &Position, t: &Position, way: &Offsets, delta: i32) -> bool {
        let dilation = (self.lattice.distance(s, q) + self.lattice.distance(q, t)) as i32 - length(way) as i32;
        let round = |d: usize| self.lattice.side(d) - 2 * i32::from(way[d].abs());
        let longer: i32 = match self.midpoint {
            Midpoint::ShortArc => 0,
            Midpoint::Folded => (0..self.lattice.dimensions()).filter(|d| way[*d] != 0).map(round).sum(),
        };
        dilation <= 2 * self.lattice.dimensions() as i32 * delta + longer
    }

    /// The ways from `s` to `q` and from `q` to `t`, if `q` is admissible: if both use a link that the minimal way does
    /// not.
    #[inline]
    pub(super) fn admissible(
        &self,
        s: &Position,
        q: &Position,
        t: &Position,
        minimal: u16,
        coins: u32,
    ) -> Option<[Offsets; 2]> {
        let ways = [self.lattice.way(s, q, coins), self.lattice.way(q, t, coins)];
        ways.iter().all(|way| directions(way) & !minimal != 0).then_some(ways)
    }
}

/// Equations (13) and (14), and the four of Example 1 that suffice in two dimensions.
#[inline]
fn collinear(
    along: usize,
    equal: &[usize],
    s: &Position,
    delta: i32,
    behind: i32,
    beyond: i32,
    mut place: impl FnMut(&[(usize, i32)]),
) {
    if let [d] = equal {
        place(&[(*d, s[*d] + delta), (along, behind)]);
        place(&[(*d, s[*d] + delta)]);
        place(&[(*d, s[*d] - delta)]);
        place(&[(*d, s[*d] - delta), (along, beyond)]);
        return;
    }
    for (number, &d) in equal.iter().enumerate() {
        match number {
            0 => place(&[(d, s[d] + delta), (along, beyond)]),
            1 => place(&[(d, s[d] + delta), (along, behind)]),
            _ => place(&[(d, s[d] + delta)]),
        }
        place(&[(d, s[d] - delta)]);
    }
}
