//! The number of heads that arrive at a router at once.

use super::{Observation, ProbeParams};
use crate::measure::{Observable, Place, Record};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Number of heads that enter the input queues of a router in one cycle, as `arrived`, and whether there are two or
/// more, as `several`. Both are recorded by the number of the router's ports, which is their `index`. (Kim, Dally and
/// Abts, "Adaptive routing in high-radix Clos network", SC 2006, figure 11.)
///
/// The look comes after the allocations of the cycle, so heads allocated in the cycle of their arrival are not counted.
/// With `allocation_delay` of the router, 1 or more, there are no such heads.
///
/// ```toml
/// [[measure.probes]]
/// kind = "arrivals"
/// every = 50
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ArrivalsProbe {
    /// Cycles between two looks, at least 1.
    #[schemars(range(min = 1))]
    #[schemars(extend("x-unit" = "cycles"))]
    pub every: u32,
}

impl Default for ArrivalsProbe {
    fn default() -> Self {
        Self { every: 10 }
    }
}

const ARRIVED: Observable = Observable {
    name: "arrived",
    words: "heads that arrive",
    unit: "heads",
    about: "Heads that enter the input queues of a router in one cycle, by the number of its ports.",
};

const SEVERAL: Observable = Observable {
    name: "several",
    words: "share of cycles with two or more heads",
    unit: "share of cycles",
    about: "1 if two or more heads enter the input queues of a router in one cycle, otherwise 0, by the number of its \
            ports.",
};

impl ProbeParams for ArrivalsProbe {
    fn every(&self) -> u32 {
        self.every
    }

    fn observables(&self) -> &'static [Observable] {
        &[ARRIVED, SEVERAL]
    }

    fn look(&self, at: &dyn Observation, record: Record<'_>) {
        for router in at.routers() {
            let ports = at.topology().ports(router);
            let queues = (0..ports).flat_map(|port| (0..at.queues(router, port)).map(move |queue| (port, queue)));
            let heads = queues.map(|(port, queue)| at.arrivals(router, port, queue)).sum();
            let place = || Place { index: Some(ports), ..Place::default() };
            record(&ARRIVED, place(), heads);
            record(&SEVERAL, place(), u32::from(heads > 1));
        }
    }
}
