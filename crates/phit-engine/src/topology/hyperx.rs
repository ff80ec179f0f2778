//! The HyperX (generalised hypercube, Hamming graph): a box of routers, fully connected along every line.

use super::coordinates::{Coordinates, MOST_DIMENSIONS, classes, one};
use super::faults::Faults;
use super::lines::{Lines, Neighbour};
use super::{Hop, HopState, Leg, Peer, Port, Topology, TopologyParams};
use crate::engine::Rng;
use crate::error::ScenarioError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A box of routers in which every router is linked to all others that differ in one coordinate (Ahn et al., "HyperX:
/// topology, routing, and packaging of efficient large-scale networks", SC 2009). A Cascade group is a HyperX of 16 x 6
/// routers with three parallel links in its second dimension.
///
/// ```toml
/// [topology]
/// kind = "hyperx"
/// dims = [16, 6]
/// parallel = [1, 3]
/// endpoints_per_router = 8
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HyperX {
    /// Routers along each side: 1 to 6 numbers of 2 or more. Router index = x + kx * (y + ky * (z + ...)).
    #[schemars(length(min = 1, max = MOST_DIMENSIONS), inner(range(min = 2)))]
    pub dims: Vec<u32>,
    /// Endpoints at each router.
    #[serde(default = "one")]
    #[schemars(range(min = 1))]
    pub endpoints_per_router: u32,
    /// Parallel links between two neighbours, one number for each dimension; 1 in every dimension if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(inner(range(min = 1)))]
    pub parallel: Option<Vec<u32>>,
    /// Links, routers and endpoints that do not work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub faults: Option<Faults>,
}

impl TopologyParams for HyperX {
    fn faults(&self) -> Option<&Faults> {
        self.faults.as_ref()
    }

    fn build(&self) -> Result<Arc<dyn Topology>, ScenarioError> {
        let at = Coordinates::new(&self.dims, self.endpoints_per_router)?;
        let parallel = self.parallel.clone().unwrap_or_else(|| vec![1; self.dims.len()]);
        if parallel.len() != self.dims.len() {
            let expected = format!("expected {} numbers, one for each of `dims`", self.dims.len());
            return Err(ScenarioError::new("parallel", format!("{parallel:?}"), expected));
        }
        let blame = match &self.parallel {
            Some(parallel) => ("parallel", format!("{parallel:?}")),
            None => ("dims", format!("{:?}", self.dims)),
        };
        Ok(Arc::new(HyperXGraph {
            classes: classes(&self.dims),
            endpoints: self.endpoints_per_router,
            lines: Lines::new(at, parallel, self.endpoints_per_router, blame)?,
        }))
    }
}

/// The built network of [`HyperX`].
///
/// Ports of a router: its endpoints, then those of its lines (`Lines`).
#[derive(Debug)]
pub(super) struct HyperXGraph {
    classes: Vec<String>,
    endpoints: u32,
    lines: Lines,
}

impl Topology for HyperXGraph {
    fn classes(&self) -> &[String] {
        &self.classes
    }
    fn routers(&self) -> u32 {
        self.lines.at.routers
    }
    fn endpoints(&self) -> u32 {
        self.lines.at.routers * self.endpoints
    }
    fn ports(&self, _router: u32) -> u16 {
        self.lines.end()
    }
    fn port(&self, router: u32, port: u16) -> Port {
        match self.lines.neighbour(router, port) {
            Some(Neighbour { dimension, router, port }) => {
                Port { class: dimension as u8 + 1, peer: Peer::Router { router, port } }
            }
            None => Port { class: 0, peer: Peer::Endpoint(router * self.endpoints + u32::from(port)) },
        }
    }
    fn attachment(&self, endpoint: u32) -> (u32, u16) {
        (endpoint / self.endpoints, (endpoint % self.endpoints) as u16)
    }

    fn minimal_hops(&self, at: u32, to: u32, leg: Leg, _state: HopState, vcs: &[u8], out: &mut Vec<Hop>) {
        let (d, x, y) = self.lines.at.first_difference(at, to);
        let (vc, vcs) = leg.share(vcs[d + 1]);
        out.extend(self.lines.ports_to(d, x, y).map(|port| Hop { port, vc, vcs }));
    }

    /// Dimension order, lowest first, over any of the parallel links.
    #[inline]
    fn minimal_hop(&self, at: u32, to: u32, leg: Leg, _state: HopState, vcs: &[u8], rng: &mut Rng) -> Hop {
        let (d, x, y) = self.lines.at.first_difference(at, to);
        let (vc, vcs) = leg.share(vcs[d + 1]);
        Hop { port: self.lines.any_port_to(d, x, y, rng), vc, vcs }
    }

    fn direct_leg(&self) -> Leg {
        Leg::SECOND
    }
    fn vcs_needed(&self, leg: Leg) -> (Vec<u8>, String) {
        let mut needed = vec![leg.of.max(1); self.classes.len()];
        needed[0] = 1;
        (needed, "dimension order takes one hop in a dimension and never returns to it: one VC for each leg".into())
    }

    fn distance(&self, a: u32, b: u32) -> u32 {
        self.lines.at.pairs(a, b).map(|(x, y)| u32::from(x != y)).sum()
    }
    fn diameter(&self) -> u32 {
        self.lines.at.sides.len() as u32
    }
    fn grid(&self) -> Option<&[u32]> {
        Some(&self.lines.at.sides)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Stream;
    use crate::schema::kept;
    use crate::topology::Hops;

    #[test]
    fn ports_are_numbered_by_dimension_then_parallel_link() {
        let t = HyperX { dims: vec![4, 3], endpoints_per_router: 2, parallel: Some(vec![1, 2]), faults: None }
            .build()
            .unwrap();
        assert_eq!((t.routers(), t.endpoints(), t.ports(0), t.diameter()), (12, 24, 2 + 3 + 2 * 2, 2));
        // Router 5 is (1, 1).
        let routers: Vec<u32> = (2..9)
            .map(|p| match t.port(5, p).peer {
                Peer::Router { router, .. } => router,
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(routers, [4, 6, 7, 1, 9, 1, 9]);
        assert_eq!(t.port(5, 1), Port { class: 0, peer: Peer::Endpoint(11) });
    }

    #[test]
    fn parallel_links_are_taken_evenly() {
        let t =
            HyperX { dims: vec![3], endpoints_per_router: 1, parallel: Some(vec![3]), faults: None }.build().unwrap();
        let leg = Leg { index: 0, of: 1, to_group: false };
        let state = HopState { came_by: 0, came_in: 0, leg_hops: Hops::default() };
        let mut rng = Rng::new(1, Stream::Router, 0);
        let mut count = [0u32; 7];
        for _ in 0..9_000 {
            count[usize::from(t.minimal_hop(0, 2, leg, state, &[1, 1], &mut rng).port)] += 1;
        }
        for (port, count) in count.into_iter().enumerate() {
            // The second port of each parallel link; five standard deviations.
            assert!(count.abs_diff(if [2, 4, 6].contains(&port) { 3_000 } else { 0 }) < 225, "{port}: {count}");
        }
    }

    #[test]
    fn impossible_parallel_links_are_refused() {
        let refused = |parallel: Vec<u32>| {
            let params = HyperX { dims: vec![4, 3], endpoints_per_router: 1, parallel: Some(parallel), faults: None };
            kept(params).and_then(|params| params.build()).unwrap_err().to_string()
        };
        assert_eq!(refused(vec![1]), "parallel = [1]: expected 2 numbers, one for each of `dims`");
        assert_eq!(refused(vec![1, 0]), "parallel[1] = 0: expected a whole number, at least 1");
        assert_eq!(
            refused(vec![1, 40000]),
            "parallel = [1, 40000]: a router would have 80004 ports; expected at most 65535"
        );
        let wide =
            HyperX { dims: vec![70000], endpoints_per_router: 1, parallel: None, faults: None }.build().unwrap_err();
        assert_eq!(wide.to_string(), "dims = [70000]: a router would have 70000 ports; expected at most 65535");
    }
}
