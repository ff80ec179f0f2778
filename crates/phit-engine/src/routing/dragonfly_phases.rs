//! Routes of a Dragonfly in phases, each with a virtual channel of its own, as BookSim's `dragonflynew` has them.

use super::in_transit::{DIRECT, GLOBAL};
use super::source_adaptive::choose;
use super::valiant::{self, SecondHalf, Stop, Via};
use super::{Injection, Routing, RoutingContext, RoutingParams, View, Wants};
use crate::engine::NONE;
use crate::error::ScenarioError;
use crate::fabric::seams::routing::{Legs, Proof};
use crate::packet::Packet;
use crate::topology::{Hop, Topology};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Minimal or UGAL routes of a Dragonfly whose virtual channel is the number of the phase, also on the link to the
/// endpoint (BookSim's `dragonflynew`).
///
/// Minimal routes have a phase before the global link and a phase from it on. With UGAL, phase 0 leads to a random
/// router, phase 1 from there (or from the source) to the last global link, and phase 2 is from that link on, or within
/// a group. Local links before and after the global link share a channel in phase 0. So packets could wait for one
/// another in a cycle, and no proof excludes it.
///
/// A Dragonfly needs 3 virtual channels, one for each phase.
///
/// ```toml
/// [topology]
/// kind = "dragonfly"
/// p = 2
/// a = 4
/// h = 2
///
/// [routing]
/// kind = "dragonfly_phases"
/// adaptive = true
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DragonflyPhases {
    /// UGAL: a packet to another group is compared once, at its source router, with a route over a random router of the
    /// network, unless that is in its own group.
    pub adaptive: bool,
    /// Factor of UGAL's comparison: a packet goes minimally unless the phits in the first output's queues, over all
    /// virtual channels, exceed `factor` times the other route's phits plus `threshold`.
    #[schemars(range(max = 1024))]
    pub factor: u32,
    /// Phits that the comparison adds to the other route's.
    #[schemars(range(max = 1_000_000))]
    #[schemars(extend("x-unit" = "phits"))]
    pub threshold: u32,
}

impl Default for DragonflyPhases {
    fn default() -> Self {
        Self { adaptive: true, factor: 2, threshold: 30 }
    }
}

impl RoutingParams for DragonflyPhases {
    fn check(&self, topology: &dyn Topology) -> Result<(), ScenarioError> {
        if !topology.is_dragonfly() {
            return Err(ScenarioError::new("kind", "\"dragonfly_phases\"", "needs a dragonfly"));
        }
        if self.adaptive { valiant::check("dragonfly_phases", topology) } else { Ok(()) }
    }

    fn counts_phits(&self) -> bool {
        true
    }

    fn reads_buffers(&self) -> bool {
        self.adaptive
    }

    fn vcs_needed(&self, _: &dyn Topology) -> (Vec<u8>, String) {
        match self.adaptive {
            true => (vec![3; 3], "one for each phase: to a random router, to the last global link, from it on".into()),
            false => (vec![2; 3], "one for each phase: before the global link, from it on".into()),
        }
    }

    fn proof(&self) -> Proof {
        if self.adaptive { Proof::Unknown } else { Proof::legs(Legs::Minimal) }
    }

    fn build(&self, _: &RoutingContext) -> Box<dyn Routing> {
        Box::new(Rule(self.clone()))
    }
}

struct Rule(DragonflyPhases);

impl Rule {
    /// The phase of a packet on its last leg; `within`: its source is in the group of its destination.
    fn last_phase(&self, packet: &Packet, over_global: bool, within: bool) -> u8 {
        let crossed = over_global || packet.hop_state().leg_hops.of(GLOBAL) > 0;
        match self.0.adaptive {
            true => 1 + u8::from(crossed || within),
            false => crossed.into(),
        }
    }
}

impl Routing for Rule {
    fn wants(&self) -> Wants {
        Wants { ejects: true, ..Wants::default() }
    }

    fn inject(&mut self, at: &mut Injection<'_>, packet: &mut Packet) {
        let group = |router| at.topology.group_of(router);
        packet.scratch = NONE;
        if self.0.adaptive && group(packet.destination_router) != group(at.router) {
            let ends = (at.router, packet.destination_router);
            let drawn = valiant::draw(at.topology, ends, Via::Router, Stop::Anywhere, at.rng);
            if group(drawn) != group(at.router) {
                packet.scratch = drawn;
            }
        }
    }

    fn route(&mut self, view: &mut View<'_>, _: u16, _: u16, packet: &mut Packet) -> Option<Hop> {
        let (at, to) = (view.router, packet.destination_router);
        let direct = view.topology.minimal_hop(at, to, DIRECT, packet.hop_state(), view.vcs(), view.rng);
        if packet.came_by == 0 && packet.scratch != NONE {
            let detour =
                view.topology.minimal_hop(at, packet.scratch, DIRECT, packet.hop_state(), view.vcs(), view.rng);
            let [minimal, other] = [direct, detour].map(|hop| u64::from(view.port_occupancy(hop.port)));
            let valiant = minimal > u64::from(self.0.factor) * other + u64::from(self.0.threshold);
            choose(packet, valiant);
            packet.scratch = NONE;
        }
        if packet.legs == 2 && packet.leg == 0 {
            let hop = valiant::hop(&view.at, packet, Via::Router, SecondHalf::Above, view.rng);
            return Some(Hop { vc: 0, vcs: 1, ..hop });
        }
        let within = packet.legs == 1 && view.topology.group_of(at) == view.topology.group_of(to);
        let over_global = view.topology.port(at, direct.port).class == GLOBAL;
        Some(Hop { vc: self.last_phase(packet, over_global, within), vcs: 1, ..direct })
    }

    fn ejection(&self, packet: &Packet) -> u8 {
        self.last_phase(packet, false, packet.legs == 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::routing::source_adaptive::tests::packet;

    #[test]
    fn the_channel_of_the_last_leg_is_its_phase() {
        let phases = |adaptive, legs, within| {
            let rule = Rule(DragonflyPhases { adaptive, ..DragonflyPhases::default() });
            let mut at = packet(0, 1, NONE);
            at.legs = legs;
            let before = [false, true].map(|over_global| rule.last_phase(&at, over_global, within));
            at.hops.add(GLOBAL);
            let behind = rule.last_phase(&at, false, false);
            // The second leg begins here.
            at.leg_start = at.hops;
            [before[0], before[1], behind, rule.last_phase(&at, false, within)]
        };
        assert_eq!(phases(false, 1, false), [0, 1, 1, 0]);
        assert_eq!(phases(true, 1, false), [1, 2, 2, 1]);
        assert_eq!(phases(true, 2, false), [1, 2, 2, 1]);
        // Within a group there is one phase.
        assert_eq!(phases(true, 1, true)[0], 2);
        assert_eq!(phases(false, 1, true)[0], 0);
    }
}
