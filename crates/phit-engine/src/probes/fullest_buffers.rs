//! Occupancy of the fullest buffers.

use super::{Observation, ProbeParams};
use crate::measure::{Observable, Place, Record, unit};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Phits in the fullest input queue of each router, as `fullest`, and in all input queues of these routers, as `all`.
/// In a folded Clos network, only routers of the top level (its middle stage) are observed. (Kim, Dally and Abts,
/// "Adaptive routing in high-radix Clos network", SC 2006, figure 6.)
///
/// ```toml
/// [[measure.probes]]
/// kind = "fullest_buffers"
/// every = 50
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FullestBuffersProbe {
    /// Cycles between two looks, at least 1.
    #[schemars(range(min = 1))]
    #[schemars(extend("x-unit" = "cycles"))]
    pub every: u32,
    /// Whether the fullest queue of each router is also recorded by router.
    pub by_router: bool,
}

impl Default for FullestBuffersProbe {
    fn default() -> Self {
        Self { every: 100, by_router: false }
    }
}

const FULLEST: Observable = Observable {
    name: "fullest",
    words: "phits in the fullest queue",
    unit: unit::PHITS,
    about: "Phits in the fullest input queue of a router, for each router looked at.",
};

const ALL: Observable = Observable {
    name: "all",
    words: "phits in a queue",
    unit: unit::PHITS,
    about: "Phits in an input queue, for each queue of the routers looked at.",
};

impl ProbeParams for FullestBuffersProbe {
    fn every(&self) -> u32 {
        self.every
    }

    fn observables(&self) -> &'static [Observable] {
        &[FULLEST, ALL]
    }

    fn look(&self, at: &dyn Observation, record: Record<'_>) {
        let top = at.topology().tree().map_or(0, |tree| tree.routers(tree.levels() - 1).start);
        for router in at.routers().filter(|&router| router >= top) {
            let mut fullest = 0;
            for port in 0..at.topology().ports(router) {
                for queue in 0..at.queues(router, port) {
                    let phits = at.input_phits(router, port, queue);
                    record(&ALL, Place::default(), phits);
                    fullest = fullest.max(phits);
                }
            }
            record(&FULLEST, Place::default(), fullest);
            if self.by_router {
                record(&FULLEST, Place::router(router), fullest);
            }
        }
    }
}
