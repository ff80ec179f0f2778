//! Mesh and torus (k-ary n-mesh and k-ary n-cube, with a side of its own in every dimension).

use super::coordinates::{Coordinates, MOST_DIMENSIONS, classes, one};
use super::faults::Faults;
use super::{Hop, HopState, Known, Leg, Peer, Port, Topology, TopologyParams, limits};
use crate::engine::Rng;
use crate::error::ScenarioError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A mesh: every router is linked to its two neighbours in every dimension, except at the edges.
///
/// ```toml
/// [topology]
/// kind = "mesh"
/// dims = [8, 8]
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Mesh {
    /// Routers along each side: 1 to 6 numbers of 2 or more. Router index = x + kx * (y + ky * (z + ...)).
    #[schemars(length(min = 1, max = MOST_DIMENSIONS), inner(range(min = 2)))]
    pub dims: Vec<u32>,
    /// Endpoints at each router.
    #[serde(default = "one")]
    #[schemars(range(min = 1))]
    pub endpoints_per_router: u32,
    /// Links, routers and endpoints that do not work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub faults: Option<Faults>,
}

/// A torus: a mesh whose edges are linked to the opposite edges. A side of 2 has two parallel links between its two
/// routers, one for each direction.
///
/// ```toml
/// [topology]
/// kind = "torus"
/// dims = [8, 8]
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Torus {
    /// Routers along each side: 1 to 6 numbers of 2 or more. Router index = x + kx * (y + ky * (z + ...)).
    #[schemars(length(min = 1, max = MOST_DIMENSIONS), inner(range(min = 2)))]
    pub dims: Vec<u32>,
    /// Endpoints at each router.
    #[serde(default = "one")]
    #[schemars(range(min = 1))]
    pub endpoints_per_router: u32,
    /// Links, routers and endpoints that do not work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub faults: Option<Faults>,
}

impl TopologyParams for Mesh {
    fn faults(&self) -> Option<&Faults> {
        self.faults.as_ref()
    }

    fn build(&self) -> Result<Arc<dyn Topology>, ScenarioError> {
        Ok(Arc::new(GridGraph::new(&self.dims, self.endpoints_per_router, false)?))
    }
}

impl TopologyParams for Torus {
    fn faults(&self) -> Option<&Faults> {
        self.faults.as_ref()
    }

    fn build(&self) -> Result<Arc<dyn Topology>, ScenarioError> {
        Ok(Arc::new(GridGraph::new(&self.dims, self.endpoints_per_router, true)?))
    }
}

/// The built network of [`Mesh`] and [`Torus`].
///
/// Ports of a router: its endpoints; then, for each dimension, the port in the positive direction and the port in the
/// negative direction. A port at the edge of a mesh leads nowhere.
#[derive(Debug)]
pub struct GridGraph {
    classes: Vec<String>,
    endpoints: u32,
    wraps: bool,
    at: Coordinates,
}

/// The directions of minimal paths along one line.
#[derive(Debug, Clone, Copy)]
struct Directions {
    plus: bool,
    minus: bool,
}

impl GridGraph {
    fn new(dims: &[u32], endpoints: u32, wraps: bool) -> Result<Self, ScenarioError> {
        let at = Coordinates::new(dims, endpoints)?;
        limits::ports("endpoints_per_router", endpoints, u64::from(endpoints) + 2 * dims.len() as u64)?;
        Ok(Self { classes: classes(dims), endpoints, wraps, at })
    }

    #[inline]
    fn port_of(&self, d: usize, minus: bool) -> u16 {
        (self.endpoints + 2 * d as u32 + u32::from(minus)) as u16
    }

    /// Directions of the minimal paths from position `x` to another position `y`. There are two if they are half a ring
    /// apart.
    #[inline]
    fn directions(&self, d: usize, x: u32, y: u32) -> Directions {
        if !self.wraps {
            return Directions { plus: y > x, minus: y < x };
        }
        let side = self.at.sides[d];
        let forward = if y >= x { y - x } else { y + side - x };
        Directions { plus: 2 * forward <= side, minus: 2 * forward >= side }
    }

    /// The range of VCs (first, number) of a hop in dimension `d`.
    ///
    /// In a torus, the leg's VCs are two halves. Packets in one half never cross the wraparound link of the ring, and
    /// packets in the other all do. So in neither half can a chain of waiting packets close around the ring. As in
    /// BookSim's `dim_order_torus`, the half is chosen on entering the dimension and kept in it. In the positive
    /// direction, packets that will cross take the upper half; in the negative direction, packets that will not cross.
    /// In both directions these are the packets whose target is below the position where they entered.
    #[inline]
    fn range(&self, d: usize, x: u32, y: u32, leg: Leg, state: HopState, vcs: &[u8]) -> (u8, u8) {
        let class = d as u8 + 1;
        let (first, count) = leg.share(vcs[d + 1]);
        let lower = count / 2;
        if !self.wraps || lower == 0 {
            return (first, count);
        }
        // The branch could not be predicted, so none is taken.
        let inside = (state.came_by == class) & (state.leg_hops.of(class) > 0);
        let upper = u8::from(inside & (state.came_in >= first + lower) | !inside & (y < x));
        (first + upper * lower, lower + upper * (count - 2 * lower))
    }
}

impl Topology for GridGraph {
    fn known(self: Arc<Self>) -> Known {
        Known::Grid(self)
    }

    fn classes(&self) -> &[String] {
        &self.classes
    }
    fn routers(&self) -> u32 {
        self.at.routers
    }
    fn endpoints(&self) -> u32 {
        self.at.routers * self.endpoints
    }
    fn ports(&self, _router: u32) -> u16 {
        self.port_of(self.at.sides.len(), false)
    }
    fn port(&self, router: u32, port: u16) -> Port {
        let port = u32::from(port);
        if port < self.endpoints {
            return Port { class: 0, peer: Peer::Endpoint(router * self.endpoints + port) };
        }
        let (d, minus) = (((port - self.endpoints) / 2) as usize, (port - self.endpoints) % 2 == 1);
        let (side, x) = (self.at.sides[d], self.at.position(router, d));
        let at_edge = if minus { x == 0 } else { x == side - 1 };
        let peer = if at_edge && !self.wraps {
            Peer::None
        } else {
            let y = if minus { x + side - 1 } else { x + 1 } % side;
            Peer::Router { router: self.at.moved(router, d, y), port: self.port_of(d, !minus) }
        };
        Port { class: d as u8 + 1, peer }
    }
    fn attachment(&self, endpoint: u32) -> (u32, u16) {
        (endpoint / self.endpoints, (endpoint % self.endpoints) as u16)
    }

    fn minimal_hops(&self, at: u32, to: u32, leg: Leg, state: HopState, vcs: &[u8], out: &mut Vec<Hop>) {
        let (d, x, y) = self.at.first_difference(at, to);
        let (vc, vcs) = self.range(d, x, y, leg, state, vcs);
        let Directions { plus, minus } = self.directions(d, x, y);
        for (minimal, minus) in [(plus, false), (minus, true)] {
            if minimal {
                out.push(Hop { port: self.port_of(d, minus), vc, vcs });
            }
        }
    }

    /// Dimension order, lowest first. A packet that is half a ring from its target takes a random direction. After one
    /// hop, this direction is the shorter one.
    #[inline(always)]
    fn minimal_hop(&self, at: u32, to: u32, leg: Leg, state: HopState, vcs: &[u8], rng: &mut Rng) -> Hop {
        let (d, x, y) = self.at.first_difference(at, to);
        let (vc, vcs) = self.range(d, x, y, leg, state, vcs);
        let Directions { plus, minus } = self.directions(d, x, y);
        let minus = if plus && minus { rng.below(2) == 1 } else { minus };
        Hop { port: self.port_of(d, minus), vc, vcs }
    }

    fn direct_leg(&self) -> Leg {
        Leg::SECOND
    }
    fn vcs_needed(&self, leg: Leg) -> (Vec<u8>, String) {
        let (each, why) = if self.wraps {
            (
                2,
                "dimension order in rings: two VCs for each leg, for the packets that cross the wraparound link and \
                 the others",
            )
        } else {
            (1, "dimension order in a mesh: one VC for each leg")
        };
        let mut needed = vec![leg.of.max(1).saturating_mul(each); self.classes.len()];
        needed[0] = 1;
        (needed, why.into())
    }

    fn distance(&self, a: u32, b: u32) -> u32 {
        let length = |(&side, (x, y)): (&u32, (u32, u32))| {
            let straight = x.abs_diff(y);
            if self.wraps { straight.min(side - straight) } else { straight }
        };
        self.at.sides.iter().zip(self.at.pairs(a, b)).map(length).sum()
    }
    fn diameter(&self) -> u32 {
        self.at.sides.iter().map(|&side| if self.wraps { side / 2 } else { side - 1 }).sum()
    }
    fn grid(&self) -> Option<&[u32]> {
        Some(&self.at.sides)
    }
    /// A cut across dimension d divides its positions into a and b = k - a. In each direction a share a b / k^2 of all
    /// packets crosses it. There is one link for every k routers, or two in a torus. For an even side this is 8 / k of
    /// a link's bandwidth.
    fn bisection_load(&self, bandwidth: &[f64]) -> Option<f64> {
        let links = if self.wraps { 2.0 } else { 1.0 };
        let cut = |(d, &side): (usize, &u32)| {
            let (k, a) = (f64::from(side), f64::from(side / 2));
            bandwidth[d + 1] * links * k / (a * (k - a)) / f64::from(self.endpoints)
        };
        self.at.sides.iter().enumerate().map(cut).reduce(f64::min)
    }
    fn wraps(&self) -> bool {
        self.wraps
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Stream;
    use crate::schema::kept;
    use crate::topology::Hops;

    const LEG: Leg = Leg { index: 0, of: 1, to_group: false };
    const INJECTED: HopState = HopState { came_by: 0, came_in: 0, leg_hops: Hops(0) };

    fn torus(dims: &[u32]) -> Arc<dyn Topology> {
        Torus { dims: dims.to_vec(), endpoints_per_router: 1, faults: None }.build().unwrap()
    }

    #[test]
    fn ports_are_plus_then_minus_in_each_dimension() {
        let t = torus(&[4, 3]);
        let peers: Vec<Peer> = (0..5).map(|p| t.port(0, p).peer).collect();
        let router = |router, port| Peer::Router { router, port };
        assert_eq!(peers, [Peer::Endpoint(0), router(1, 2), router(3, 1), router(4, 4), router(8, 3)]);
        let mesh = Mesh { dims: vec![4, 3], endpoints_per_router: 1, faults: None }.build().unwrap();
        assert_eq!([2, 4].map(|p| mesh.port(0, p).peer), [Peer::None; 2]);
        assert_eq!([1, 3].map(|p| mesh.port(11, p).peer), [Peer::None; 2]);
    }

    #[test]
    fn a_side_of_two_has_two_parallel_links() {
        let t = torus(&[2]);
        assert_eq!(t.port(0, 1).peer, Peer::Router { router: 1, port: 2 });
        assert_eq!(t.port(0, 2).peer, Peer::Router { router: 1, port: 1 });
        assert_eq!((t.distance(0, 1), t.diameter()), (1, 1));
    }

    #[test]
    fn half_a_ring_is_split_evenly_between_the_directions() {
        let t = torus(&[6, 6]);
        let mut rng = Rng::new(1, Stream::Router, 0);
        let plus = (0..10_000).filter(|_| t.minimal_hop(0, 3, LEG, INJECTED, &[1, 2, 2], &mut rng).port == 1).count();
        // Five standard deviations.
        assert!(plus.abs_diff(5_000) < 250, "{plus}");
    }

    #[test]
    fn halves_are_labelled_as_in_booksim() {
        let t = torus(&[8]);
        let half = |at, to| {
            let mut hops = Vec::new();
            t.minimal_hops(at, to, LEG, INJECTED, &[1, 4], &mut hops);
            assert_eq!(hops.len(), 1);
            (hops[0].port, hops[0].vc, hops[0].vcs)
        };
        assert_eq!(half(1, 3), (1, 0, 2), "positive, not crossing: lower");
        assert_eq!(half(6, 1), (1, 2, 2), "positive, crossing: upper");
        assert_eq!(half(3, 1), (2, 2, 2), "negative, not crossing: upper");
        assert_eq!(half(1, 6), (2, 0, 2), "negative, crossing: lower");
    }

    #[test]
    fn the_half_is_kept_after_the_dateline_and_chosen_anew_by_the_next_leg() {
        let t = torus(&[8]);
        let mut leg_hops = Hops::default();
        leg_hops.add(1);
        let crossed = HopState { came_by: 1, came_in: 3, leg_hops };
        let mut rng = Rng::new(1, Stream::Router, 0);
        assert_eq!(t.minimal_hop(0, 1, LEG, crossed, &[1, 4], &mut rng), Hop { port: 1, vc: 2, vcs: 2 });
        let second = Leg { index: 1, of: 2, to_group: false };
        let fresh = HopState { leg_hops: Hops::default(), ..crossed };
        assert_eq!(t.minimal_hop(0, 1, second, fresh, &[1, 8], &mut rng), Hop { port: 1, vc: 4, vcs: 2 });
    }

    #[test]
    fn impossible_grids_are_refused() {
        let refused =
            |dims: Vec<u32>| kept(Torus { dims, endpoints_per_router: 0, faults: None }).unwrap_err().to_string();
        let no_endpoint = "endpoints_per_router = 0: expected a whole number, at least 1";
        let said = |dims: &str| format!("{dims}\n{no_endpoint}");
        assert_eq!(refused(vec![8, 1]), said("dims[1] = 1: expected a whole number, at least 2"));
        assert_eq!(refused(vec![]), said("dims = []: expected a list of 1 to 6 values"));
        assert_eq!(refused(vec![2; 7]), said("dims = [2,2,2,2,2,2,2]: expected a list of 1 to 6 values"));
        let error = Mesh { dims: vec![60000, 60000], endpoints_per_router: 1, faults: None }.build().unwrap_err();
        assert!(error.to_string().ends_with("expected at most 2147483647 endpoints in all"), "{error}");
        let error = Mesh { dims: vec![2], endpoints_per_router: 65535, faults: None }.build().unwrap_err();
        let expected = "endpoints_per_router = 65535: a router would have 65537 ports; expected at most 65535";
        assert_eq!(error.to_string(), expected);
    }
}
