//! Occupancy of every port.

use super::{Observation, ProbeParams};
use crate::measure::{Observable, Place, Record, unit};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Phits in all queues of every input port, as `port phits` with the router and the port; empty ports are left out.
///
/// ```toml
/// [[measure.probes]]
/// kind = "ports"
/// every = 50
/// ```
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

const PHITS: Observable = Observable {
    name: "port phits",
    words: "phits in a port",
    unit: unit::PHITS,
    about: "Phits in all queues of an input port, for each port that holds any.",
};

impl ProbeParams for PortsProbe {
    fn every(&self) -> u32 {
        self.every
    }

    fn observables(&self) -> &'static [Observable] {
        &[PHITS]
    }

    fn look(&self, at: &dyn Observation, record: Record<'_>) {
        for router in at.routers() {
            for port in 0..at.topology().ports(router) {
                let phits: u32 = (0..at.queues(router, port)).map(|queue| at.input_phits(router, port, queue)).sum();
                if phits > 0 {
                    record(&PHITS, Place::port(router, port), phits);
                }
            }
        }
    }
}
