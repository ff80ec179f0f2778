//! How full the buffers are.

use super::{Observation, ProbeParams};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Phits in input queues and phits charged against the virtual channels of outputs, by link class: `input local`, `output
/// global` and so on. Each value is one queue or virtual channel.
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

impl ProbeParams for BuffersProbe {
    fn every(&self) -> u32 {
        self.every
    }

    fn look(&self, at: &dyn Observation, record: &mut dyn FnMut(&str, u32)) {
        let names = |side: &str| -> Vec<String> {
            at.topology().classes().iter().map(|class| format!("{side} {class}")).collect()
        };
        let (inputs, outputs) = (names("input"), names("output"));
        for router in at.routers() {
            for port in 0..at.topology().ports(router) {
                let class = at.topology().port(router, port).class as usize;
                for queue in 0..at.queues(router, port) {
                    record(&inputs[class], at.input_phits(router, port, queue));
                    if let Some(phits) = at.output_phits(router, port, queue) {
                        record(&outputs[class], phits);
                    }
                }
            }
        }
    }
}
