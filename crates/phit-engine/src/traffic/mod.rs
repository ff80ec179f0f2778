//! Who sends what to whom and when: spatial patterns, injection processes, packet sizes.

use crate::engine::rng::Rng;
use crate::error::ScenarioError;
use crate::topology::Topology;
use std::sync::Arc;

/// A packet that an endpoint generates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Generated {
    /// Cycle of generation; never decreases from one packet of an endpoint to the next.
    pub cycle: u32,
    /// Destination endpoint.
    pub destination: u32,
    /// Size in phits.
    pub size: u16,
}

/// The seam `traffic`, spatial part: the destination of a packet.
pub trait Pattern: Send + Sync + std::fmt::Debug {
    /// Destination of a packet that `source` generates now; `None` if this endpoint never sends under the pattern.
    fn destination(&self, source: u32, rng: &mut Rng) -> Option<u32>;
}
