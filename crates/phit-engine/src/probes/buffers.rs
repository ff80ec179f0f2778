//! Occupancy of the buffers.

use super::{Observation, ProbeParams};
use crate::measure::{Observable, Place, Record, unit};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Phits in input queues, as `input`, and phits charged against the virtual channels of outputs, as `output`, by
/// class of links. Each value is one queue or virtual channel.
///
/// ```toml
/// [[measure.probes]]
/// kind = "buffers"
/// every = 50
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct BuffersProbe {
    /// Cycles between two looks, at least 1.
    #[schemars(range(min = 1))]
    #[schemars(extend("x-unit" = "cycles"))]
    pub every: u32,
}

impl Default for BuffersProbe {
    fn default() -> Self {
        Self { every: 100 }
    }
}

const INPUT: Observable = Observable {
    name: "input",
    words: "phits in an input queue",
    unit: unit::PHITS,
    about: "Phits in an input queue, for each queue.",
};

const OUTPUT: Observable = Observable {
    name: "output",
    words: "phits charged against an output",
    unit: unit::PHITS,
    about: "Phits charged against the buffer behind a virtual channel of an output, for each channel of the outputs \
            that lead to a router.",
};

impl ProbeParams for BuffersProbe {
    fn every(&self) -> u32 {
        self.every
    }

    fn observables(&self) -> &'static [Observable] {
        &[INPUT, OUTPUT]
    }

    fn look(&self, at: &dyn Observation, record: Record<'_>) {
        for router in at.routers() {
            for port in 0..at.topology().ports(router) {
                let class = at.topology().port(router, port).class;
                for queue in 0..at.queues(router, port) {
                    record(&INPUT, Place::class(class), at.input_phits(router, port, queue));
                    if let Some(phits) = at.output_phits(router, port, queue) {
                        record(&OUTPUT, Place::class(class), phits);
                    }
                }
            }
        }
    }
}
