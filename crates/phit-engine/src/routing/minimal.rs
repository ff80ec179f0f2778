//! Minimal routing: every packet takes a shortest path.

use super::{Routing, RoutingContext, RoutingParams, View, Wants, minimal_hop};
use crate::engine::Memory;
use crate::error::ScenarioError;
use crate::fabric::seams::routing::{Legs, Proof};
use crate::packet::Packet;
use crate::topology::{Hop, Leg, Topology};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Every packet takes a shortest path, with the topology's rule for virtual channels; ties are broken at random.
///
/// In a Dragonfly that is local, global, local with the missing hops left out (Kim, Dally, Scott and Abts, ISCA 2008);
/// in a mesh, torus or HyperX it is dimension order.
///
/// ```toml
/// [topology]
/// kind = "hyperx"
/// dims = [4, 4]
///
/// [routing]
/// kind = "minimal"
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Minimal {}

const LEG: Leg = Leg { index: 0, of: 1, to_group: false };

impl RoutingParams for Minimal {
    fn check(&self, _: &dyn Topology) -> Result<(), ScenarioError> {
        Ok(())
    }

    fn vcs_needed(&self, topology: &dyn Topology) -> (Vec<u8>, String) {
        topology.vcs_needed(LEG)
    }

    fn proof(&self) -> Proof {
        Proof::legs(Legs::Minimal)
    }

    fn avoids_faults(&self) -> bool {
        true
    }

    fn reads_buffers(&self) -> bool {
        false
    }

    fn per_network(&self) -> bool {
        true
    }

    fn told_ahead(&self) -> bool {
        true
    }

    fn build(&self, context: &RoutingContext) -> Box<dyn Routing> {
        match context.ahead {
            true => Box::new(Ahead),
            false => Box::new(Rule),
        }
    }
}

/// Minimal routing whose hops are told ahead.
struct Ahead;

impl Routing for Ahead {
    fn route(&mut self, view: &mut View<'_>, _: u16, _: u16, packet: &mut Packet) -> Option<Hop> {
        Some(view.told_ahead(packet))
    }
}

struct Rule;

impl Routing for Rule {
    fn remember(&self, _memory: &mut Memory) {}

    fn wants(&self) -> Wants {
        Wants { settled: true, ..Wants::default() }
    }

    fn route(&mut self, view: &mut View<'_>, _: u16, _: u16, packet: &mut Packet) -> Option<Hop> {
        Some(minimal_hop(view.topology, view.router, packet, view.vcs(), view.rng))
    }
}
