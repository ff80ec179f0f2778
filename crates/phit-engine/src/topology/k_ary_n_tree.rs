//! The k-ary n-tree.

use super::clos::Clos;
use super::faults::Faults;
use super::{Topology, TopologyParams};
use crate::error::ScenarioError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A k-ary n-tree: n levels of k^(n-1) routers with k ports down and k ports up, and k^n endpoints (Petrini and
/// Vanneschi, "k-ary n-trees: high performance networks for massively parallel architectures", IPPS 1997). It is the
/// folded Clos network [`Clos`] with n times k ports down and n - 1 times k ports up. At the top level, the k up-ports
/// have no links.
/// level could grow further have no links.
///
/// ```toml
/// [topology]
/// kind = "k_ary_n_tree"
/// arity = 4
/// levels = 3
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KAryNTree {
    /// Ports of a router in either direction, k: 1 or more.
    #[schemars(range(min = 1))]
    pub arity: u32,
    /// Levels of routers, n: 2 to 32.
    #[schemars(range(min = 2, max = 32))]
    pub levels: u32,
    /// Links, routers and endpoints that do not work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub faults: Option<Faults>,
}

impl TopologyParams for KAryNTree {
    fn faults(&self) -> Option<&Faults> {
        self.faults.as_ref()
    }

    fn build(&self) -> Result<Arc<dyn Topology>, ScenarioError> {
        let levels = self.levels as usize;
        let ports = |count: usize| vec![self.arity; count];
        let clos = Clos { down: ports(levels), up: ports(levels - 1), faults: None };
        clos.build().map_err(|error| ScenarioError::new("arity", self.arity, error.expected))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::kept;

    #[test]
    fn the_networks_of_table_5_1() {
        for (levels, endpoints, routers) in [(3, 64, 48), (4, 256, 256)] {
            let tree = KAryNTree { arity: 4, levels, faults: None }.build().unwrap();
            assert_eq!((tree.endpoints(), tree.routers()), (endpoints, routers));
            assert_eq!(tree.ports(0), 8);
        }
    }

    #[test]
    fn impossible_sizes_are_refused() {
        let error = |arity, levels| {
            let read = kept(KAryNTree { arity, levels, faults: None });
            read.and_then(|params| params.build()).unwrap_err().to_string()
        };
        assert_eq!(error(0, 3), "arity = 0: expected a whole number, at least 1");
        assert_eq!(error(4, 1), "levels = 1: expected a whole number from 2 to 32");
        assert!(error(4, 32).starts_with("arity = 4: too large"));
        assert!(error(40_000, 2).starts_with("arity = 40000: a router would have 80000 ports"));
    }
}
