//! Dimension-order routing on grids.

use super::{Routing, RoutingContext, RoutingParams, minimal::Minimal};
use crate::error::ScenarioError;
use crate::fabric::seams::routing::{Legs, Proof};
use crate::topology::Topology;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Dimension order, lowest dimension first, on a mesh, torus or HyperX; datelines on a torus (Dally and Seitz, 1987).
///
/// It is the grids' minimal hop rule under its usual name, and refuses other topologies.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DimensionOrder {}

impl RoutingParams for DimensionOrder {
    fn check(&self, topology: &dyn Topology) -> Result<(), ScenarioError> {
        match topology.grid() {
            Some(_) => Ok(()),
            None => Err(ScenarioError::new(
                "kind",
                "\"dimension_order\"",
                "needs a topology with dimensions: mesh, torus or hyperx; use minimal here",
            )),
        }
    }

    fn vcs_needed(&self, topology: &dyn Topology) -> (Vec<u8>, String) {
        Minimal {}.vcs_needed(topology)
    }

    fn proof(&self) -> Proof {
        Proof::legs(Legs::Minimal)
    }

    fn reads_buffers(&self) -> bool {
        false
    }

    fn per_network(&self) -> bool {
        true
    }

    fn avoids_faults(&self) -> bool {
        true
    }

    fn build(&self, context: &RoutingContext) -> Box<dyn Routing> {
        Minimal {}.build(context)
    }
}
