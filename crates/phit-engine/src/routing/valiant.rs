//! Valiant's randomised routing: minimally to a random intermediate, then minimally to the destination.

use super::{Injection, RouterView, Routing, RoutingContext, RoutingParams, View};
use crate::engine::Rng;
use crate::error::ScenarioError;
use crate::fabric::seams::routing::{Channels, Legs, Proof, Routes};
use crate::packet::{GROUP, MISROUTED_GLOBALLY, Packet};
use crate::topology::{Hop, Leg, Topology, host_groups};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the first half of a Valiant route leads to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Via {
    /// One random router.
    #[default]
    Router,
    /// Any router of one random group: in a Dragonfly the local hop to a particular router of it is saved.
    Group,
}

/// Where the intermediate router (or group) may be.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// Outside the source's group.
    #[default]
    Elsewhere,
    /// Anywhere, the source's and the destination's routers included (Valiant's own rule).
    Anywhere,
}

/// Which packets go minimally all the same.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Within {
    /// None.
    #[default]
    Nowhere,
    /// Those whose destination is on the source's router.
    Router,
    /// Those whose destination is in the source's group.
    Group,
}

/// Which virtual channels the second half of a route takes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SecondHalf {
    /// Those above the first half's.
    #[default]
    Above,
    /// The next in the order local 0, global 0, local 1, local 2, global 1, local 3 of the longest route through a
    /// router of a Dragonfly: a packet whose first global hop ends at its intermediate router goes on over local
    /// channel 1, not 2 (fits FOGSim's numbers best). Channels still rise along every route, so none can wait in a
    /// circle.
    Next,
}

/// Every packet goes minimally to a random router (or group), outside its source group unless told otherwise, and from
/// there minimally to its destination (Valiant, 1982; on the Dragonfly Kim et al., ISCA 2008).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Valiant {
    /// A random router or a random group.
    pub via: Via,
    /// Where it may be.
    pub stop: Stop,
    /// Which packets are routed minimally instead.
    pub minimal_within: Within,
    /// Virtual channels of the second half.
    pub second_half: SecondHalf,
}

/// Link classes of a Dragonfly.
const LOCAL: u8 = 1;
const GLOBAL: u8 = 2;

impl RoutingParams for Valiant {
    fn check(&self, topology: &dyn Topology) -> Result<(), ScenarioError> {
        check("valiant", topology)?;
        if self.second_half == SecondHalf::Next && (self.via != Via::Router || !topology.is_dragonfly()) {
            return Err(ScenarioError::new("second_half", "\"next\"", "needs a dragonfly and via = \"router\""));
        }
        Ok(())
    }

    fn vcs_needed(&self, topology: &dyn Topology) -> (Vec<u8>, String) {
        topology.vcs_needed(Leg { index: 0, of: 2, to_group: self.via == Via::Group })
    }

    fn proof(&self) -> Proof {
        match (self.second_half, self.via) {
            (SecondHalf::Next, _) => Proof::Order(vec![next_routes()]),
            (SecondHalf::Above, Via::Router) => Proof::legs(Legs::ToRouter),
            (SecondHalf::Above, Via::Group) => Proof::legs(Legs::ToGroup),
        }
    }

    fn per_network(&self) -> bool {
        true
    }

    fn avoids_faults(&self) -> bool {
        self.via == Via::Router
    }

    fn build(&self, _: &RoutingContext) -> Box<dyn Routing> {
        Box::new(Rule(self.clone()))
    }
}

/// Refuses networks in which there is nowhere to go first.
pub(super) fn check(kind: &str, topology: &dyn Topology) -> Result<(), ScenarioError> {
    match host_groups(topology).len() < 2 {
        true => {
            let expected = "needs a topology of at least two groups or routers";
            Err(ScenarioError::new("kind", format!("{kind:?}"), expected))
        }
        false => Ok(()),
    }
}

struct Rule(Valiant);

impl Routing for Rule {
    fn inject(&mut self, at: &mut Injection<'_>, packet: &mut Packet) {
        let topology = at.topology;
        let here = topology.group_of(at.router);
        let minimal = match self.0.minimal_within {
            Within::Nowhere => false,
            Within::Router => packet.destination_router == at.router,
            Within::Group => topology.group_of(packet.destination_router) == here,
        };
        packet.legs = 2;
        if minimal {
            packet.leg = 1;
            return;
        }
        packet.misrouted |= MISROUTED_GLOBALLY;
        packet.intermediate = draw(topology, at.router, self.0.via, self.0.stop, at.rng);
    }

    #[inline]
    fn route(&mut self, view: &mut View<'_>, _: u16, _: u16, packet: &mut Packet) -> Option<Hop> {
        Some(hop(&view.at, packet, self.0.via, self.0.second_half, view.rng))
    }
}

/// The routes of [`SecondHalf::Next`].
pub(super) fn next_routes() -> Routes {
    Routes { legs: Legs::ToRouter, channels: Channels::Next }
}

/// A random router with endpoints for a packet from `router`, or a group of such routers (marked by [`GROUP`]).
pub(super) fn draw(topology: &dyn Topology, router: u32, via: Via, stop: Stop, rng: &mut Rng) -> u32 {
    let here = topology.group_of(router);
    let (mark, among, own) = match via {
        Via::Router => (0, topology.hosts(), topology.group_routers(here)),
        Via::Group => (GROUP, host_groups(topology), here..here + 1),
    };
    let left_out = if stop == Stop::Elsewhere { own.len() as u32 } else { 0 };
    let drawn = among.start + rng.below(among.len() as u32 - left_out);
    mark | if left_out == 0 || drawn < own.start { drawn } else { drawn + left_out }
}

/// The next hop of a packet with two legs.
#[inline]
pub(super) fn hop(view: &RouterView<'_>, packet: &Packet, via: Via, second_half: SecondHalf, rng: &mut Rng) -> Hop {
    let leg = packet.current_leg(via == Via::Group);
    let (at, state) = (view.router, packet.hop_state());
    let (topology, vcs) = (view.topology, view.vcs());
    let mut hop = match packet.intermediate {
        u32::MAX => topology.minimal_hop(at, packet.destination_router, leg, state, vcs, rng),
        group if group & GROUP != 0 => topology.group_hop(at, group & !GROUP, leg, state, vcs, rng),
        router => topology.minimal_hop(at, router, leg, state, vcs, rng),
    };
    let met_at_entry = packet.leg == 1 && state.came_by == GLOBAL && packet.hops == packet.leg_start;
    if second_half == SecondHalf::Next && met_at_entry && topology.port(at, hop.port).class == LOCAL {
        hop.vc = 1;
    }
    hop
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::{Dragonfly, HyperX, TopologyParams};

    #[test]
    fn the_next_channels_are_those_of_a_dragonfly_through_a_router() {
        let next = |via| Valiant { via, second_half: SecondHalf::Next, ..Default::default() };
        let dragonfly = Dragonfly { p: 2, a: 4, h: 2, groups: None, arrangement: Default::default(), faults: None }
            .build()
            .unwrap();
        let hyperx = HyperX { dims: vec![4, 4], endpoints_per_router: 1, parallel: None, lengths: None, faults: None }
            .build()
            .unwrap();
        assert!(next(Via::Router).check(&*dragonfly).is_ok());
        for (params, topology) in [(next(Via::Group), dragonfly), (next(Via::Router), hyperx)] {
            let error = params.check(&*topology).unwrap_err().to_string();
            assert!(error.starts_with("second_half = \"next\": needs a dragonfly"), "{error}");
        }
    }
}
