//! Shortest routes by tables, balanced, in one virtual channel.

use super::layered::{Destinations, Layered, Made, shortest};
use crate::error::ScenarioError;
use crate::topology::{Layers, RouteTable, Topology, Wires};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Shortest routes by tables with a port for each endpoint, in one virtual channel, as OpenSM's `minhop` and `sssp`
/// have them (T. Hoefler, T. Schneider and A. Lumsdaine, "Optimized routing for large-scale InfiniBand networks", Hot
/// Interconnects 2009): those to one endpoint after another, of which each endpoint's take the links that the routes
/// before use least.
///
/// Deterministic. Nothing keeps packets from waiting for one another in a circle, except in networks whose shortest
/// routes close none, such as fat trees: `phit verify` says whether they do. `dfsssp` has the same routes, in as many
/// layers as it takes.
///
/// ```toml
/// [routing]
/// kind = "minhop"
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Minhop {
    #[serde(skip)]
    #[schemars(skip)]
    made: Made,
}

impl Layered for Minhop {
    fn tables(&self, topology: &dyn Topology) -> Result<Arc<RouteTable>, ScenarioError> {
        self.made.of_links("minhop", topology, (), || {
            let wires = Wires::new(topology);
            let table = shortest(topology, &wires, &Destinations::endpoints(topology, &wires), true, |_| {})?;
            Ok(table.with_layers(Layers::ONE))
        })
    }
}
