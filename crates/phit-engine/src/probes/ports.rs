//! How full every port is.

use super::{Observation, ProbeParams};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Phits in all queues of every input port, by a name such as `12 3` for port 3 of router 12; empty ports are left out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PortsProbe {
    /// Cycles between two looks, at least 1.
    #[schemars(range(min = 1))]
    #[schemars(extend("x-unit" = "cycles"))]
    pub every: u32,
}

impl Default for PortsProbe {
    fn default() -> Self {
        Self { every: 10_000 }
    }
}

impl ProbeParams for PortsProbe {
    fn every(&self) -> u32 {
        self.every
    }

    fn look(&self, at: &dyn Observation, record: &mut dyn FnMut(&str, u32)) {
        for router in at.routers() {
            for port in 0..at.topology().ports(router) {
                let phits: u32 = (0..at.queues(router, port)).map(|queue| at.input_phits(router, port, queue)).sum();
                if phits > 0 {
                    record(&format!("{router} {port}"), phits);
                }
            }
        }
    }
}
