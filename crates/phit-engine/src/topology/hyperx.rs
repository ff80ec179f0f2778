//! The HyperX (generalised hypercube, Hamming graph): a box of routers, fully connected along every line.

use super::coordinates::{Coordinates, MOST_DIMENSIONS, classes, one};
use super::faults::Faults;
use super::lines::{Lines, Neighbour};
use super::{Hop, HopState, Leg, Peer, Port, Topology, TopologyParams};
use crate::engine::Rng;
use crate::error::ScenarioError;
use crate::packet::MOST_CLASSES;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::iter;
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
    /// Lengths of a step in each dimension, 1 or more, for links that take longer between routers that are farther
    /// apart. Then there is a class of links for each length instead of each dimension. The link between positions x
    /// and y of a line is |x - y| steps long, and links of length 4 are of class `length4`. At most seven lengths.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(inner(range(min = 1, max = 1_000_000)))]
    pub lengths: Option<Vec<u32>>,
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
        let (classes, class_of) = self.classes()?;
        Ok(Arc::new(HyperXGraph {
            classes,
            class_of,
            endpoints: self.endpoints_per_router,
            lines: Lines::new(at, parallel, self.endpoints_per_router, blame)?,
        }))
    }
}

impl HyperX {
    /// The names of the links' classes, and the class of a link by dimension and number of steps.
    fn classes(&self) -> Result<(Vec<String>, Vec<Vec<u8>>), ScenarioError> {
        let Some(lengths) = &self.lengths else {
            let of_dimension = |(d, side): (usize, &u32)| vec![d as u8 + 1; *side as usize];
            return Ok((classes(&self.dims), self.dims.iter().enumerate().map(of_dimension).collect()));
        };
        if lengths.len() != self.dims.len() {
            let expected = format!("expected {} numbers, one for each of `dims`", self.dims.len());
            return Err(ScenarioError::new("lengths", format!("{lengths:?}"), expected));
        }
        let sides = || self.dims.iter().copied().zip(lengths.iter().copied());
        let of_line = |(side, length): (u32, u32)| (1..side).map(move |steps| u64::from(steps) * u64::from(length));
        let found: BTreeSet<u64> = sides().flat_map(of_line).collect();
        if found.len() >= MOST_CLASSES {
            let expected = format!("{} different lengths of links; expected at most {}", found.len(), MOST_CLASSES - 1);
            return Err(ScenarioError::new("lengths", format!("{lengths:?}"), expected));
        }
        let number: BTreeMap<u64, u8> = found.iter().copied().zip(1..).collect();
        let line = |line| iter::once(0).chain(of_line(line).map(|length| number[&length])).collect();
        let names = found.iter().map(|length| format!("length{length}"));
        let names = iter::once("endpoint".to_owned()).chain(names).collect();
        Ok((names, sides().map(line).collect()))
    }
}

/// The built network of [`HyperX`].
///
/// A router's ports: first its endpoints, then its lines (`Lines`).
#[derive(Debug)]
pub(super) struct HyperXGraph {
    classes: Vec<String>,
    /// The class of a link, by dimension and number of steps.
    class_of: Vec<Vec<u8>>,
    endpoints: u32,
    lines: Lines,
}

impl HyperXGraph {
    /// The class of the links between positions `x` and `y` of a line of dimension `d`.
    #[inline]
    fn class(&self, d: usize, x: u32, y: u32) -> u8 {
        self.class_of[d][x.abs_diff(y) as usize]
    }
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
            Some(Neighbour { router: far, port, .. }) => {
                let (d, x, y) = self.lines.at.first_difference(router, far);
                Port { class: self.class(d, x, y), peer: Peer::Router { router: far, port } }
            }
            None => Port { class: 0, peer: Peer::Endpoint(router * self.endpoints + u32::from(port)) },
        }
    }
    fn attachment(&self, endpoint: u32) -> (u32, u16) {
        (endpoint / self.endpoints, (endpoint % self.endpoints) as u16)
    }

    fn minimal_hops(&self, at: u32, to: u32, leg: Leg, _state: HopState, vcs: &[u8], out: &mut Vec<Hop>) {
        let (d, x, y) = self.lines.at.first_difference(at, to);
        let (vc, vcs) = leg.share(vcs[usize::from(self.class(d, x, y))]);
        out.extend(self.lines.ports_to(d, x, y).map(|port| Hop { port, vc, vcs }));
    }

    /// Dimension order, lowest first, over any of the parallel links.
    #[inline]
    fn minimal_hop(&self, at: u32, to: u32, leg: Leg, _state: HopState, vcs: &[u8], rng: &mut Rng) -> Hop {
        let (d, x, y) = self.lines.at.first_difference(at, to);
        let (vc, vcs) = leg.share(vcs[usize::from(self.class(d, x, y))]);
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
        let t = HyperX {
            dims: vec![4, 3],
            endpoints_per_router: 2,
            parallel: Some(vec![1, 2]),
            lengths: None,
            faults: None,
        }
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
        let t = HyperX { dims: vec![3], endpoints_per_router: 1, parallel: Some(vec![3]), lengths: None, faults: None }
            .build()
            .unwrap();
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
            let params = HyperX {
                dims: vec![4, 3],
                endpoints_per_router: 1,
                parallel: Some(parallel),
                lengths: None,
                faults: None,
            };
            kept(params).and_then(|params| params.build()).unwrap_err().to_string()
        };
        assert_eq!(refused(vec![1]), "parallel = [1]: expected 2 numbers, one for each of `dims`");
        assert_eq!(refused(vec![1, 0]), "parallel[1] = 0: expected a whole number, at least 1");
        assert_eq!(
            refused(vec![1, 40000]),
            "parallel = [1, 40000]: a router would have 80004 ports; expected at most 65535"
        );
        let wide = HyperX { dims: vec![70000], endpoints_per_router: 1, parallel: None, lengths: None, faults: None }
            .build()
            .unwrap_err();
        assert_eq!(wide.to_string(), "dims = [70000]: a router would have 70000 ports; expected at most 65535");
    }
}
