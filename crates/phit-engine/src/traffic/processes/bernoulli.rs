//! Bernoulli process.

use super::{Geometric, NEVER, Process, ProcessParams, ProcessState};
use crate::engine::Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Bernoulli: in every cycle an endpoint generates a packet with probability load / (mean packet size), independently
/// of all other cycles.
///
/// ```toml
/// [traffic.process]
/// kind = "bernoulli"
/// ```
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Bernoulli {}

impl ProcessParams for Bernoulli {
    fn build(&self, load: f64, mean_size: f64) -> Result<Box<dyn Process>, String> {
        let chance = load / mean_size;
        Ok(Box::new(Independent { chance, gap: Geometric::new(chance) }))
    }
}

/// Draws the geometric number of cycles without a packet, instead of one random number per cycle.
#[derive(Debug)]
struct Independent {
    /// Probability of a packet in a cycle.
    chance: f64,
    gap: Geometric,
}

impl Process for Independent {
    fn start(&self, start: u64, _: &mut Rng) -> ProcessState {
        // Cycles are independent, so there is nothing to remember.
        ProcessState { cycle: start, mark: NEVER }
    }

    fn moments(&self) -> (f64, f64) {
        (self.chance, self.chance * (1.0 - self.chance))
    }

    fn independent(&self) -> Option<Geometric> {
        Some(self.gap.clone())
    }

    #[inline]
    fn next(&self, state: &mut ProcessState, rng: &mut Rng) -> u64 {
        let cycle = state.cycle.saturating_add(self.gap.draw(rng));
        state.cycle = cycle.saturating_add(1);
        cycle
    }
}
