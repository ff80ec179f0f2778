//! The counters that a routing mechanism keeps.

use super::{Observation, ProbeParams};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The counters that the routing mechanism keeps in each router, by name: `contention` (heads that want an output port),
/// `partial` and `combined` of ECtN (heads that want a global link of the group), `flag` of PB (a global link is flagged: 1).
///
/// Each value is one counter of one router.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CountersProbe {
    /// Cycles between two looks, at least 1.
    #[schemars(range(min = 1))]
    #[schemars(extend("x-unit" = "cycles"))]
    pub every: u32,
}

impl Default for CountersProbe {
    fn default() -> Self {
        Self { every: 100 }
    }
}

impl ProbeParams for CountersProbe {
    fn every(&self) -> u32 {
        self.every
    }

    fn look(&self, at: &Observation<'_>, record: &mut dyn FnMut(&str, u32)) {
        for router in at.routers() {
            at.mechanism(router, &mut |name, _, value| record(name, value));
        }
    }
}
