//! How many queues hold anything.

use phit_engine::measure::{Observable, Place, Record};
use phit_engine::probes::{Observation, ProbeParams};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Whether input queues hold anything, by class of links.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct BusyProbe {
    /// Cycles between two looks, at least 1.
    #[schemars(range(min = 1))]
    #[schemars(extend("x-unit" = "cycles"))]
    pub every: u32,
}

impl Default for BusyProbe {
    fn default() -> Self {
        Self { every: 100 }
    }
}

const BUSY: Observable = Observable {
    name: "busy",
    words: "busy input queues",
    unit: "share of queues",
    about: "1 for an input queue that holds anything, 0 for the others.",
};

impl ProbeParams for BusyProbe {
    fn every(&self) -> u32 {
        self.every
    }

    fn observables(&self) -> &'static [Observable] {
        &[BUSY]
    }

    fn look(&self, at: &dyn Observation, record: Record<'_>) {
        for router in at.routers() {
            for port in 0..at.topology().ports(router) {
                let class = at.topology().port(router, port).class;
                for queue in 0..at.queues(router, port) {
                    let busy = at.input_phits(router, port, queue) > 0;
                    record(&BUSY, Place::class(class), busy.into());
                }
            }
        }
    }
}
