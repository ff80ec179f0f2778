//! The bubble family on tori and meshes: adaptive bubble routing (ABR), Pick Orthant routing (POR), OutFlank routing
//! (OFR), GOAL.
//!
//! One file per member. The common rules, and the decision in which members differ, are the seam
//! [`crate::fabric::seams::bubble`].

use crate::error::ScenarioError;
use crate::topology::Topology;

mod abr;
mod goal;
mod idn;
mod kernel;
mod outflank;
mod por;

pub(super) use abr::Abr;
pub(super) use goal::Goal;
pub(super) use outflank::Outflank;
pub(super) use por::Por;

pub(super) use crate::fabric::seams::bubble::{
    ADAPTIVE, Bubble, Deroute, Derouted, Escape, Plan, TO_DESTINATION, TO_INTERMEDIATE, most_free,
};
pub(crate) use crate::fabric::seams::bubble::{choices, lattice, profit};
use lattice::Lattice;

/// Makes a member of the family a routing mechanism of the input-queued kernel.
macro_rules! bubble_routing {
    ($params:ty) => {
        impl $crate::routing::RoutingParams for $params {
            fn check(&self, topology: &dyn $crate::topology::Topology) -> Result<(), $crate::error::ScenarioError> {
                $crate::routing::bubble::Bubble::deroute(self, topology).map(drop)
            }
            fn vcs_needed(&self, topology: &dyn $crate::topology::Topology) -> (Vec<u8>, String) {
                $crate::routing::bubble::Bubble::escape(self).vcs_needed(topology)
            }
            fn proof(&self) -> $crate::routing::Proof {
                $crate::routing::Proof::Bubble($crate::routing::bubble::Bubble::escape(self))
            }
            fn build(&self, context: &$crate::routing::RoutingContext) -> Box<dyn $crate::routing::Routing> {
                $crate::routing::bubble::kernel::build(self, context)
            }
            fn bubble(&self) -> Option<&dyn $crate::routing::bubble::Bubble> {
                Some(self)
            }
            fn needs_whole_packets(&self) -> bool {
                true
            }
            fn compares_buffers(&self) -> bool {
                true
            }
            fn packets_per_buffer(&self) -> u32 {
                1 + u32::from($crate::routing::bubble::Bubble::escape(self).bubble)
            }
        }
    };
}
use bubble_routing;

/// Refuses a grid without wraparound links.
fn torus_only(topology: &dyn Topology, kind: &str) -> Result<Lattice, ScenarioError> {
    let lattice = Lattice::of(topology, kind)?;
    match lattice.wraps() {
        true => Ok(lattice),
        false => Err(ScenarioError::new("kind", format!("{kind:?}"), "needs a torus: its orthants wrap around")),
    }
}

#[cfg(test)]
mod tests;
