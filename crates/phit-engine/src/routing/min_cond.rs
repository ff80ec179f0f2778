//! Minimal routing that leaves the minimal route when the source's output for it has no room.

use super::exits::{self, Exits};
use super::valiant::{self, SecondHalf, Via};
use super::{Routing, RoutingContext, RoutingParams, View};
use crate::error::ScenarioError;
use crate::fabric::seams::routing::{Legs, Proof};
use crate::packet::{GROUP, MISROUTED_AT_INJECTION, MISROUTED_GLOBALLY, Packet};
use crate::topology::{Hop, Leg, Topology};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Minimal routing with a condition: a packet to another group leaves its minimal route if the output for it has no
/// room for a packet when the packet first may ask for it (`PAUSE` of FOGSim, version 5).
///
/// The detour leads over a fixed link to the group behind it: over link number j of the router for the packets that
/// come in by port j, modulo the number of links. From there the packet goes minimally. The decision is never changed:
/// the packet waits for the link. Fits topologies in which links join groups of routers, or routers, directly.
///
/// Virtual channels rise along a route. A Dragonfly needs 3 local and 2 global ones.
///
/// ```toml
/// [topology]
/// kind = "dragonfly"
/// p = 2
/// a = 4
/// h = 2
///
/// [routing]
/// kind = "min_cond"
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MinCond {}

impl RoutingParams for MinCond {
    fn check(&self, topology: &dyn Topology) -> Result<(), ScenarioError> {
        exits::check("min_cond", topology)
    }
    fn vcs_needed(&self, topology: &dyn Topology) -> (Vec<u8>, String) {
        topology.vcs_needed(Leg { index: 0, of: 2, to_group: true })
    }
    fn proof(&self) -> Proof {
        Proof::legs_or_direct(Legs::ToGroup)
    }
    fn build(&self, context: &RoutingContext) -> Box<dyn Routing> {
        Box::new(Rule { exits: Exits::new(context) })
    }
}

struct Rule {
    exits: Exits,
}

impl Routing for Rule {
    fn bytes(&self) -> usize {
        self.exits.bytes()
    }

    fn route(&mut self, view: &mut View<'_>, port: u16, _: u16, packet: &mut Packet) -> Option<Hop> {
        let (at, to) = (view.at, packet.destination_router);
        let leaves = |router| at.topology.group_of(router) != at.topology.group_of(to);
        if packet.came_by == 0 && leaves(at.router) {
            let minimal = at.minimal_hop(to, packet.hop_state(), &mut at.rng_of(packet));
            let behind = self.exits.of_port(at.router, port);
            if let Some(group) = behind.filter(|_| !at.has_room(minimal.port, minimal.vc, packet.size.into())) {
                (packet.legs, packet.intermediate) = (2, GROUP | group);
                packet.misrouted |= MISROUTED_GLOBALLY | MISROUTED_AT_INJECTION;
            }
        }
        Some(match packet.legs {
            1 => at.minimal_hop(to, packet.hop_state(), &mut at.rng_of(packet)),
            _ => valiant::hop(&view.at, packet, Via::Group, SecondHalf::Above, view.rng),
        })
    }
}
