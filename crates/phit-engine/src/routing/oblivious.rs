//! Oblivious nonminimal routing whose intermediates lie behind chosen links: CRG, RRG and their variants.

use super::exits::{self, Exits, Place, Reach, send_through};
use super::valiant::{self, SecondHalf, Via, check_second_half};
use super::{Injection, Routing, RoutingContext, RoutingParams, View, Wants};
use crate::error::ScenarioError;
use crate::fabric::seams::routing::Proof;
use crate::packet::Packet;
use crate::topology::{Hop, Leg, Topology};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// When the intermediate of a packet is drawn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Redraw {
    /// Once.
    #[default]
    Never,
    /// Again in every cycle in which the packet may ask for an output at the head of its injection queue.
    EveryCycle,
}

/// Oblivious nonminimal routing: every packet goes minimally to a random intermediate router, or to any router of a
/// random intermediate group, and from there minimally to its destination. The intermediate group lies behind a random
/// link of the source's router (CRG), or of its whole group (RRG) (García et al., "Global misrouting policies in
/// two-level hierarchical networks", INA-OCMC 2013; as FOGSim, version 5, does).
///
/// With CRG, a route has no local hop before its first global one. The destination's group and the minimal link are not
/// left out. Fits topologies in which links join groups of routers, or routers, directly.
///
/// Virtual channels rise along a route. A Dragonfly needs 4 local and 2 global ones for routes through a router, and 3
/// local ones for routes through a group.
///
/// ```toml
/// [topology]
/// kind = "dragonfly"
/// p = 2
/// a = 4
/// h = 2
///
/// [routing]
/// kind = "oblivious"
/// reach = "router"
/// via = "group"
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Oblivious {
    /// The links behind which intermediates are.
    pub reach: Reach,
    /// A random router or a random group.
    pub via: Via,
    /// Packets to the source's group have their intermediate in it, instead of leaving the group.
    pub within: bool,
    /// Packets to other groups have their intermediate in the source's group with the probability that the router of a
    /// random endpoint is another router of this group.
    pub own_group: bool,
    /// When it is drawn.
    pub redraw: Redraw,
    /// Virtual channels of the second half.
    pub second_half: SecondHalf,
}

impl RoutingParams for Oblivious {
    fn check(&self, topology: &dyn Topology) -> Result<(), ScenarioError> {
        exits::check("oblivious", topology)?;
        check_second_half(self.second_half, self.via, topology)
    }

    fn vcs_needed(&self, topology: &dyn Topology) -> (Vec<u8>, String) {
        topology.vcs_needed(Leg { index: 0, of: 2, to_group: self.via == Via::Group })
    }

    fn proof(&self) -> Proof {
        valiant::proof(self.second_half, self.via)
    }

    fn reads_buffers(&self) -> bool {
        false
    }

    fn build(&self, context: &RoutingContext) -> Box<dyn Routing> {
        Box::new(Rule { params: self.clone(), exits: Exits::new(context) })
    }
}

struct Rule {
    params: Oblivious,
    exits: Exits,
}

impl Rule {
    fn place(&self) -> Place {
        let Oblivious { reach, via, within, own_group, .. } = self.params;
        Place { reach, via, within, own_group }
    }
}

impl Routing for Rule {
    fn bytes(&self) -> usize {
        self.exits.bytes()
    }

    fn wants(&self) -> Wants {
        let again = self.params.redraw == Redraw::EveryCycle;
        Wants { redecide: again, every_tick: again, ..Wants::default() }
    }

    fn inject(&mut self, at: &mut Injection<'_>, packet: &mut Packet) {
        let ends = (at.router, packet.destination_router);
        let stop = self.exits.draw(at.topology, ends, self.place(), at.rng);
        send_through(at.topology, at.router, packet, stop);
    }

    fn route(&mut self, view: &mut View<'_>, _: u16, _: u16, packet: &mut Packet) -> Option<Hop> {
        if packet.came_by == 0 && self.params.redraw == Redraw::EveryCycle {
            let ends = (view.at.router, packet.destination_router);
            let stop = self.exits.draw(view.at.topology, ends, self.place(), view.rng);
            send_through(view.at.topology, view.at.router, packet, stop);
        }
        Some(exits::hop(view, packet, self.params.via, self.params.second_half))
    }
}
