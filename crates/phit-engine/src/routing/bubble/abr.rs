//! Adaptive bubble routing.

use super::choices::{Choice, Weighing};
use super::lattice::{HalfWay, Lattice, Offsets, Position};
use super::profit::{EmptyQueue, FullWay, Profit};
use super::{Bubble, Deroute, Escape, bubble_routing};
use crate::error::ScenarioError;
use crate::topology::Topology;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Adaptive bubble routing (ABR) on a torus or mesh. A packet prefers the minimal adaptive queue with most free slots.
/// If these queues are full, it takes dimension order through escape queues. It may enter an escape queue from
/// elsewhere only if it leaves a free slot there (Puente et al., "The Adaptive Bubble Router", JPDC 2001).
///
/// ```toml
/// [routing]
/// kind = "abr"
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Abr {
    /// The direction of a packet that is half a ring from its target.
    pub half_way: HalfWay,
    /// Slots that a packet leaves free in an escape queue that it enters from elsewhere; 0 breaks the bubble rule.
    pub bubble: u16,
}

impl Default for Abr {
    fn default() -> Self {
        Self { half_way: HalfWay::default(), bubble: 1 }
    }
}

bubble_routing!(Abr);

impl Bubble for Abr {
    fn escape(&self) -> Escape {
        Escape { bubble: self.bubble, to_intermediate: None }
    }

    fn deroute(&self, topology: &dyn Topology) -> Result<Arc<dyn Deroute>, ScenarioError> {
        Ok(Arc::new(Minimal { lattice: Lattice::of(topology, "abr")?, half_way: self.half_way }))
    }
}

/// No packet is derouted.
#[derive(Debug)]
struct Minimal {
    lattice: Lattice,
    half_way: HalfWay,
}

impl Weighing for Minimal {
    fn lattice(&self) -> &Lattice {
        &self.lattice
    }

    fn half_way(&self) -> HalfWay {
        self.half_way
    }

    fn profit(&self) -> &Profit {
        &Profit { eta: 0.0, empty_queue: EmptyQueue::OwnWay, full_way: FullWay::Counted }
    }

    fn least_distance(&self) -> u32 {
        u32::MAX
    }

    fn ways(&self, _: &Position, _: &Position, _: &Offsets, _: u32, _: impl FnMut(&Choice)) {}
}
