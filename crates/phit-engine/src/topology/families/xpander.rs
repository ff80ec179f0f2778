//! Xpander: a random lift of a complete graph.

use super::{Size, ill_drawn, regular};
use crate::engine::{Rng, Stream};
use crate::error::ScenarioError;
use crate::topology::{Faults, Topology, TopologyParams};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Xpander (Valadarsky, Shahaf, Dinitz and Schapira, "Xpander: towards optimal-performance datacenters", CoNEXT 2016):
/// `links` + 1 meta-nodes of `lift` routers each, with a random matching between the routers of every two meta-nodes.
/// Every router then has `links` links, one to each other meta-node. Groups are the meta-nodes.
///
/// ```toml
/// [topology]
/// kind = "xpander"
/// links = 8
/// lift = 6    # 54 routers
/// endpoints_per_router = 4
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Xpander {
    /// Links of each router.
    #[schemars(range(min = 2, max = 65535))]
    pub links: u32,
    /// Routers of a meta-node.
    #[schemars(range(min = 1))]
    pub lift: u32,
    /// Endpoints at each router.
    #[serde(default = "one")]
    #[schemars(range(min = 1))]
    pub endpoints_per_router: u32,
    /// Seed of the matchings. It is independent of the run's seed, so all runs have the same graph.
    #[serde(default)]
    pub seed: u64,
    /// Links, routers and endpoints that do not work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub faults: Option<Faults>,
}

fn one() -> u32 {
    1
}

impl TopologyParams for Xpander {
    fn faults(&self) -> Option<&Faults> {
        self.faults.as_ref()
    }

    fn needs(&self) -> f64 {
        // The distance table has a byte for each pair of routers.
        let routers = (f64::from(self.links) + 1.0) * f64::from(self.lift);
        routers * routers
    }

    fn build(&self) -> Result<Arc<dyn Topology>, ScenarioError> {
        let nodes = self.links + 1;
        let size = Size {
            of: ("lift", self.lift.to_string()),
            each: "endpoints_per_router",
            routers: u64::from(nodes) * u64::from(self.lift),
            links: self.links.into(),
            said: Some(self.endpoints_per_router),
            else_endpoints: 1,
        };
        let (count, endpoints) = size.check()?;
        let mut rng = Rng::new(self.seed, Stream::Topology, 0);
        let mut matching: Vec<u32> = (0..self.lift).collect();
        let mut links = Vec::new();
        for (a, b) in (0..nodes).flat_map(|a| (a + 1..nodes).map(move |b| (a, b))) {
            rng.shuffle(&mut matching);
            links.extend((0..self.lift).zip(&matching).map(|(i, &j)| [a * self.lift + i, b * self.lift + j]));
        }
        regular(count, endpoints, links.into_iter(), self.lift).map_err(|error| ill_drawn(self.seed, error))
    }
}
