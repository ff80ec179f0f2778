//! Uniform traffic through the root of a tree.

use super::{Pattern, PatternParams, unfit};
use crate::engine::Rng;
use crate::error::ScenarioError;
use crate::topology::Topology;
use crate::traffic::Destinations;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Worst-case uniform random (wc-UR): every packet passes the top level of the tree. Its destination is drawn uniformly
/// among the endpoints whose only common ancestors with the source are routers of the top level. Fits folded Clos
/// networks. (Kim, Dally and Abts, "Adaptive routing in high-radix Clos network", SC 2006, section 3.2.)
///
/// ```toml
/// [topology]
/// kind = "clos"
/// down = [4, 4]
/// up = [4]
///
/// [traffic.pattern]
/// kind = "worst_case_uniform"
/// ```
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WorstCaseUniform {}

impl PatternParams for WorstCaseUniform {
    fn build(&self, topology: &dyn Topology, _: u64) -> Result<Arc<dyn Pattern>, ScenarioError> {
        let Some(tree) = topology.tree() else {
            return Err(unfit("worst_case_uniform", "this pattern fits topologies with levels (clos)"));
        };
        // The subtrees below the top level are consecutive and of equal size.
        match u32::from(tree.down(tree.levels() - 1)) {
            0 | 1 => {
                let reason = "this pattern fits trees whose top level has two or more down-ports";
                Err(unfit("worst_case_uniform", reason))
            }
            subtrees => {
                let subtree = topology.endpoints() / subtrees;
                Ok(Arc::new(OtherSubtrees { subtree, others: topology.endpoints() - subtree }))
            }
        }
    }
}

#[derive(Debug)]
struct OtherSubtrees {
    /// Endpoints of a subtree.
    subtree: u32,
    /// Endpoints of all other subtrees.
    others: u32,
}

impl Pattern for OtherSubtrees {
    #[inline]
    fn destination(&self, source: u32, rng: &mut Rng) -> Option<u32> {
        let drawn = rng.below(self.others);
        let own = source / self.subtree * self.subtree;
        Some(if drawn < own { drawn } else { drawn + self.subtree })
    }

    fn words(&self, _source: u32) -> Option<u32> {
        Some(1)
    }

    fn destinations(&self, source: u32) -> Option<Destinations> {
        let own = source / self.subtree * self.subtree;
        Some(Destinations::all_but(self.others + self.subtree, own..own + self.subtree))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Stream;
    use crate::topology::{Clos, TopologyParams};
    use crate::traffic::patterns::toy::Toy;

    fn clos(down: &[u32], up: &[u32]) -> Arc<dyn Topology> {
        Clos { down: down.to_vec(), up: up.to_vec(), faults: None }.build().unwrap()
    }

    #[test]
    fn every_packet_crosses_the_root_and_all_such_destinations_are_equally_likely() {
        let topology = clos(&[2, 2, 3], &[2, 2]);
        let pattern = WorstCaseUniform {}.build(&*topology, 1).unwrap();
        let mut rng = Rng::new(2, Stream::Source, 0);
        for source in 0..12 {
            let mut count = [0u32; 12];
            for _ in 0..8000 {
                count[pattern.destination(source, &mut rng).unwrap() as usize] += 1;
            }
            for (destination, count) in (0..).zip(count) {
                let router = |endpoint| topology.attachment(endpoint).0;
                // Six standard deviations of a binomial count of mean 1000.
                match topology.distance(router(source), router(destination)) {
                    4 => assert!(count.abs_diff(1000) < 180, "{source} to {destination}: {count}"),
                    _ => assert_eq!(count, 0, "{source} to {destination}"),
                }
            }
        }
    }

    #[test]
    fn what_has_no_root_between_endpoints_is_refused() {
        let error = WorstCaseUniform {}.build(&Toy::new(4, 2, 1), 1).unwrap_err();
        assert!(error.expected.contains("topologies with levels"), "{error}");
        let error = WorstCaseUniform {}.build(&*clos(&[4, 1], &[1]), 1).unwrap_err();
        assert!(error.expected.contains("two or more down-ports"), "{error}");
    }
}
