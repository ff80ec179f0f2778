//! The state of a managed queue organisation.

use super::{LooksAt, Observation, ProbeParams};
use crate::measure::{Place, Record};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The state of a managed queue organisation for every port, by name. FBICM has `input lines` and `output lines` in
/// use, `nfq phits` and `cfq phits`, and `cam on`, which is 1 while the port's memory is switched on, so that its mean
/// is a share of time. Other organisations have none.
///
/// ```toml
/// [topology]
/// kind = "k_ary_n_tree"
/// arity = 4
/// levels = 2
///
/// [router]
/// admittance = "per_destination"
///
/// [router.links.default]
/// vcs = 1
/// buffer = 256
///
/// [routing]
/// kind = "table"
///
/// [queueing]
/// kind = "fbicm"
/// detection = 16
/// stop = 16
/// go = 8
///
/// [[measure.probes]]
/// kind = "queueing"
/// every = 50
/// ```
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
