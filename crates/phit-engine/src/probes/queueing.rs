//! What a managed queue organisation keeps.

use super::{LooksAt, Observation, ProbeParams};
use crate::measure::{Place, Record};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a managed queue organisation keeps for every port, by name. FBICM: `input lines` and `output lines` in use,
/// `nfq phits` and `cfq phits`, and `cam on`, 1 where the port's memory is switched on, so that its mean is a share
/// of time. Others keep nothing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct QueueingProbe {
    /// Cycles between two looks, at least 1.
    #[schemars(range(min = 1))]
    #[schemars(extend("x-unit" = "cycles"))]
    pub every: u32,
}

impl Default for QueueingProbe {
    fn default() -> Self {
        Self { every: 1000 }
    }
}

impl ProbeParams for QueueingProbe {
    fn every(&self) -> u32 {
        self.every
    }

    fn looks_at(&self) -> LooksAt {
        LooksAt::Queueing
    }

    fn look(&self, at: &dyn Observation, record: Record<'_>) {
        for router in at.routers() {
            for port in 0..at.topology().ports(router) {
                at.queueing(router, port, &mut |quantity, value| record(quantity, Place::default(), value));
            }
        }
    }
}
