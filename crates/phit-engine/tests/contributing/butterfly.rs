//! The butterfly permutation.

use phit_engine::engine::Rng;
use phit_engine::error::ScenarioError;
use phit_engine::topology::Topology;
use phit_engine::traffic::{Pattern, PatternParams};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Butterfly: endpoint i sends to the endpoint whose number is i with its first and last bits exchanged. Fits a power
/// of two endpoints, 4 or more.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Butterfly {}

impl PatternParams for Butterfly {
    fn build(&self, topology: &dyn Topology, _seed: u64) -> Result<Arc<dyn Pattern>, ScenarioError> {
        match topology.endpoints() {
            n if n >= 4 && n.is_power_of_two() => Ok(Arc::new(Rule { last: n.ilog2() - 1 })),
            n => {
                let reason = format!("fits a power of two endpoints, 4 or more; this topology has {n}");
                Err(ScenarioError::new("", "\"butterfly\"", reason))
            }
        }
    }
}

#[derive(Debug)]
struct Rule {
    last: u32,
}

impl Pattern for Rule {
    fn destination(&self, source: u32, _rng: &mut Rng) -> Option<u32> {
        let differ = (source ^ (source >> self.last)) & 1;
        Some(source ^ differ ^ (differ << self.last))
    }
}
