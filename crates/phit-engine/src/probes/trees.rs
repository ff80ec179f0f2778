//! Which ports hold which congestion trees.

use super::{Observation, ProbeParams};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The congestion trees that a managed queue organisation has found: one name for every line in use, such as
/// `in 12 3 hops 1 line 0 to 32,40` for input port 3 of router 12 with the destinations 32 and 40, or `out` for an output port; the
/// value is the phits in its queue, and 0 at outputs. A stopped line has ` stopped` after its name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TreesProbe {
    /// Cycles between two looks, at least 1.
    #[schemars(range(min = 1))]
    #[schemars(extend("x-unit" = "cycles"))]
    pub every: u32,
}

impl Default for TreesProbe {
    fn default() -> Self {
        Self { every: 10_000 }
    }
}

impl ProbeParams for TreesProbe {
    fn every(&self) -> u32 {
        self.every
    }

    fn look(&self, at: &dyn Observation, record: &mut dyn FnMut(&str, u32)) {
        for router in at.routers() {
            for port in 0..at.topology().ports(router) {
                at.trees(router, port, &mut |branch| {
                    let list: Vec<String> = branch.destinations.iter().map(u32::to_string).collect();
                    let side = if branch.input { "in" } else { "out" };
                    let state = if branch.stopped { " stopped" } else { "" };
                    let (line, hops) = (branch.line, branch.hops);
                    let name = format!("{side} {router} {port} hops {hops} line {line} to {}{state}", list.join(","));
                    record(&name, branch.phits);
                });
            }
        }
    }
}
