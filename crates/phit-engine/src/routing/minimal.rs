//! Minimal routing: every packet takes a shortest path.

use super::{Routing, RoutingContext, RoutingParams, View};
use crate::error::ScenarioError;
use crate::router::packet::Packet;
use crate::topology::{Hop, Leg, Topology};
use crate::verify::{Legs, Proof};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Every packet takes a shortest path, with the topology's rule for virtual channels; ties are broken at random.
///
/// In a Dragonfly that is local, global, local with the missing hops left out (Kim, Dally, Scott and Abts, ISCA 2008); in a
/// mesh, torus or HyperX it is dimension order.
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

    fn build(&self, _: &RoutingContext) -> Box<dyn Routing> {
        Box::new(Rule)
    }
}

struct Rule;

impl Routing for Rule {
    #[inline]
    fn route(&mut self, view: &mut View<'_>, _: u16, _: u16, packet: &mut Packet) -> Option<Hop> {
        let (at, to) = (view.router, packet.destination_router);
        Some(view.topology.minimal_hop(at, to, LEG, packet.hop_state(), view.vcs, view.rng))
    }
}
