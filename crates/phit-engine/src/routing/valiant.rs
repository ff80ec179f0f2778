//! Valiant's randomised routing: minimally to a random intermediate, then minimally to the destination.

use super::{Injection, RouterView, Routing, RoutingContext, RoutingParams, View};
use crate::engine::{Memory, Rng};
use crate::error::ScenarioError;
use crate::fabric::seams::routing::{Channels, Legs, Proof, Routes, Wants};
use crate::packet::{GROUP, MISROUTED_GLOBALLY, Packet};
use crate::topology::{Hop, Leg, Topology, host_groups, stops};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// The intermediate destination of a Valiant route.
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
    /// In the source's group if the destination is there, otherwise outside of it (FOGSim, versions 4 and 5).
    LikeDestination,
    /// In a third group, which is neither the source's nor the destination's. Packets within a group go minimally.
    /// (SST's merlin.)
    Third,
    /// Anywhere, the source's and the destination's routers included (Valiant's own rule).
    Anywhere,
    /// In a mesh, torus or HyperX: any router in the box spanned by the source's and the destination's router. In
    /// dimensions in which they agree, the packet does not move (the flattened butterfly of Kim et al., ISCA 2007).
    Between,
    /// In a mesh on a minimal route: in every dimension anywhere from the source's position to the destination's, so
    /// that no packet goes farther than it must (ROMM: Nesson and Johnsson, "ROMM routing on mesh and torus networks",
    /// SPAA 1995).
    Minimal,
}

/// Which packets go minimally all the same.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Within {
    /// None.
    #[default]
    Nowhere,
    /// Packets whose destination is on the source's router.
    Router,
    /// Packets whose destination is in the source's group.
    Group,
}

/// The fate of a packet that passes its destination's router before it has visited its intermediate one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Passing {
    /// It goes on, and comes back.
    #[default]
    GoesOn,
    /// It ends there (BookSim on the flattened butterfly).
    Ends,
}

impl Passing {
    fn goes_on(&self) -> bool {
        *self == Self::GoesOn
    }
}

/// Which virtual channels the second half of a route takes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SecondHalf {
    /// The channels above the first half's.
    #[default]
    Above,
    /// The next channel in the order local 0, global 0, local 1, local 2, global 1, local 3 of a Dragonfly's longest
    /// route through a router. A packet whose first global hop ends at its intermediate router goes on over local
    /// channel 1, not 2 (this fits FOGSim's numbers best). Channels still rise along every route, which prevents cycles
    /// of waiting packets.
    Next,
}

/// Every packet goes minimally to a random router (or group), by default outside its source group, and from there
/// minimally to its destination (Valiant, 1982; on the Dragonfly Kim et al., ISCA 2008).
///
/// Virtual channels rise along a route. By default, a Dragonfly needs 4 local and 2 global ones for routes through a
/// router, and 3 local ones for routes through a group.
///
/// ```toml
/// [topology]
/// kind = "dragonfly"
/// p = 2
/// a = 4
/// h = 2
///
/// [routing]
/// kind = "valiant"
/// via = "router"
/// ```
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
    /// The fate of a packet that passes its destination on its route.
    #[serde(skip_serializing_if = "Passing::goes_on")]
    pub passing: Passing,
}

/// Link classes of a Dragonfly.
const LOCAL: u8 = 1;
const GLOBAL: u8 = 2;

/// Refuses `second_half = "next"` outside of a Dragonfly, and for routes through a group.
pub(super) fn check_second_half(
    second_half: SecondHalf,
    via: Via,
    topology: &dyn Topology,
) -> Result<(), ScenarioError> {
    match second_half == SecondHalf::Next && (via != Via::Router || !topology.is_dragonfly()) {
        true => Err(ScenarioError::new("second_half", "\"next\"", "needs a dragonfly and via = \"router\"")),
        false => Ok(()),
    }
}

/// The proof of routes whose two halves are always taken.
pub(super) fn proof(second_half: SecondHalf, via: Via) -> Proof {
    match (second_half, via) {
        (SecondHalf::Next, _) => Proof::Order(vec![next_routes()]),
        (SecondHalf::Above, Via::Router) => Proof::legs(Legs::ToRouter),
        (SecondHalf::Above, Via::Group) => Proof::legs(Legs::ToGroup),
    }
}

impl RoutingParams for Valiant {
    fn check(&self, topology: &dyn Topology) -> Result<(), ScenarioError> {
        check("valiant", topology)?;
        check_stop(topology, self.via, self.stop)?;
        check_second_half(self.second_half, self.via, topology)
    }

    fn vcs_needed(&self, topology: &dyn Topology) -> (Vec<u8>, String) {
        topology.vcs_needed(Leg { index: 0, of: 2, to_group: self.via == Via::Group })
    }

    fn proof(&self) -> Proof {
        proof(self.second_half, self.via)
    }

    fn reads_buffers(&self) -> bool {
        false
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

/// Refuses stops in a box where there is none.
pub(super) fn check_stop(topology: &dyn Topology, via: Via, stop: Stop) -> Result<(), ScenarioError> {
    let grid = topology.grid().filter(|_| via == Via::Router);
    match (stop, grid) {
        (Stop::Between, None) => {
            Err(ScenarioError::new("stop", "\"between\"", "needs a mesh, torus or hyperx and via = \"router\""))
        }
        (Stop::Third, _) if host_groups(topology).len() < 3 => {
            Err(ScenarioError::new("stop", "\"third\"", "needs at least three groups"))
        }
        (Stop::Minimal, grid) if !grid.is_some_and(|sides| is_mesh(topology, sides)) => {
            Err(ScenarioError::new("stop", "\"minimal\"", "needs a mesh and via = \"router\""))
        }
        _ => Ok(()),
    }
}

/// True if routers along a side form a line. With sides of at most two, a HyperX counts as one, too.
fn is_mesh(topology: &dyn Topology, sides: &[u32]) -> bool {
    !topology.wraps() && topology.diameter() == sides.iter().map(|side| side - 1).sum::<u32>()
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
    fn remember(&self, _memory: &mut Memory) {}

    fn wants(&self) -> Wants {
        Wants { ends_passing: self.0.passing == Passing::Ends, ..Wants::default() }
    }

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
        if self.0.stop != Stop::Minimal {
            packet.misrouted |= MISROUTED_GLOBALLY;
        }
        let ends = (at.router, packet.destination_router);
        packet.intermediate = draw(topology, ends, self.0.via, self.0.stop, at.rng);
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

/// A random router with endpoints for a packet from `router` to another, or a group of such routers (marked by
/// [`GROUP`]).
pub(super) fn draw(topology: &dyn Topology, (router, to): (u32, u32), via: Via, stop: Stop, rng: &mut Rng) -> u32 {
    match (stop, topology.grid()) {
        (Stop::Between, Some(sides)) => return draw_between(sides, (router, to), rng),
        (Stop::Minimal, Some(sides)) => return draw_on_a_minimal_route(sides, (router, to), rng),
        _ => {}
    }
    let here = topology.group_of(router);
    let stop = match stop {
        Stop::LikeDestination if topology.group_of(to) == here => return draw_within(topology, here, via, rng),
        Stop::LikeDestination => Stop::Elsewhere,
        Stop::Third => return draw_third(topology, (router, to), via, rng),
        stop => stop,
    };
    let (mark, among, own) = match via {
        Via::Router => (0, topology.hosts(), topology.group_routers(here)),
        Via::Group => (GROUP, host_groups(topology), here..here + 1),
    };
    let left_out = if stop == Stop::Elsewhere { own.len() as u32 } else { 0 };
    let mut draw = || {
        let drawn = among.start + rng.below(among.len() as u32 - left_out);
        if left_out == 0 || drawn < own.start { drawn } else { drawn + left_out }
    };
    let drawn = draw();
    match topology.faulty() {
        Some(faulty) if mark == 0 && faulty.is_closed(drawn) => draw_open(topology, &own, left_out > 0, rng),
        _ => mark | drawn,
    }
}

/// A random router with endpoints outside the groups of two routers, or such a group. Within a group, it is that group
/// or the first router.
fn draw_third(topology: &dyn Topology, (router, to): (u32, u32), via: Via, rng: &mut Rng) -> u32 {
    let (from, to) = (topology.group_of(router), topology.group_of(to));
    let (mark, among) = match via {
        Via::Router => (0, topology.hosts()),
        Via::Group => (GROUP, host_groups(topology)),
    };
    if from == to {
        return if via == Via::Group { GROUP | from } else { router };
    }
    let open = |drawn| mark != 0 || topology.faulty().is_none_or(|faulty| !faulty.is_closed(drawn));
    // There are at least three groups, but their routers may all be closed.
    for _ in 0..1000 {
        let drawn = among.start + rng.below(among.len() as u32);
        let group = if mark == 0 { topology.group_of(drawn) } else { drawn };
        if group != from && group != to && open(drawn) {
            return mark | drawn;
        }
    }
    if via == Via::Group { GROUP | to } else { router }
}

/// A random router with endpoints of `group`, or the group.
pub(super) fn draw_within(topology: &dyn Topology, group: u32, via: Via, rng: &mut Rng) -> u32 {
    if via == Via::Group {
        return GROUP | group;
    }
    let (own, hosts) = (topology.group_routers(group), topology.hosts());
    let (start, end) = (own.start.max(hosts.start), own.end.min(hosts.end));
    let drawn = start + rng.below(end - start);
    match topology.faulty() {
        Some(faulty) if faulty.is_closed(drawn) => {
            let open: Vec<u32> = stops(topology).filter(|router| own.contains(router)).collect();
            if open.is_empty() { start } else { open[rng.below(open.len() as u32) as usize] }
        }
        _ => drawn,
    }
}

/// A random router of those where faults let a route break its journey, not one of `own` if these are left out; the
/// first of `own` if there is none.
#[cold]
fn draw_open(topology: &dyn Topology, own: &Range<u32>, leave_out: bool, rng: &mut Rng) -> u32 {
    let open: Vec<u32> = stops(topology).filter(|router| !leave_out || !own.contains(router)).collect();
    match open.len() as u32 {
        0 => own.start,
        count => open[rng.below(count) as usize],
    }
}

/// A random router in the box that two routers span.
fn draw_between(sides: &[u32], (mut from, mut to): (u32, u32), rng: &mut Rng) -> u32 {
    let (mut drawn, mut stride) = (0, 1);
    for &side in sides {
        let (x, y) = (from % side, to % side);
        drawn += stride * if x == y { x } else { rng.below(side) };
        (from, to, stride) = (from / side, to / side, stride * side);
    }
    drawn
}

/// A random router of the part of a mesh whose corners are two routers.
fn draw_on_a_minimal_route(sides: &[u32], (mut from, mut to): (u32, u32), rng: &mut Rng) -> u32 {
    let (mut drawn, mut stride) = (0, 1);
    for &side in sides {
        let (x, y) = (from % side, to % side);
        drawn += stride * (x.min(y) + rng.below(x.abs_diff(y) + 1));
        (from, to, stride) = (from / side, to / side, stride * side);
    }
    drawn
}

/// The next hop of a packet with two legs.
#[inline]
pub(super) fn hop(view: &RouterView<'_>, packet: &Packet, via: Via, second_half: SecondHalf, rng: &mut Rng) -> Hop {
    let leg = packet.current_leg(via == Via::Group);
    let (at, state) = (view.router, packet.hop_state());
    let (topology, vcs) = (view.topology, view.vcs());
    let mut hop = match packet.intermediate {
        u32::MAX => view.known.leg_hop(topology, (at, packet.destination_router, leg), state, vcs, rng),
        group if group & GROUP != 0 => topology.group_hop(at, group & !GROUP, leg, state, vcs, rng),
        router => view.known.leg_hop(topology, (at, router, leg), state, vcs, rng),
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
    use crate::engine::Stream;
    use crate::topology::{Dragonfly, HyperX, TopologyParams};

    #[test]
    fn stops_between_two_routers_are_anywhere_in_the_dimensions_in_which_they_differ() {
        let mut rng = Rng::new(1, Stream::Injection, 0);
        let mut seen = std::collections::BTreeSet::new();
        // (1, 2, 3) and (1, 0, 4) of 3 x 4 x 5.
        let at = |x: u32, y: u32, z: u32| x + 3 * (y + 4 * z);
        for _ in 0..2000 {
            seen.insert(draw_between(&[3, 4, 5], (at(1, 2, 3), at(1, 0, 4)), &mut rng));
        }
        let expected = (0..4).flat_map(|y| (0..5).map(move |z| at(1, y, z))).collect();
        assert_eq!(seen, expected);
    }

    #[test]
    fn stops_on_a_minimal_route_are_anywhere_between_two_routers() {
        let mut rng = Rng::new(1, Stream::Injection, 0);
        let mut seen = std::collections::BTreeMap::new();
        // (4, 1, 2) and (2, 1, 3) of 5 x 3 x 6.
        let at = |x: u32, y: u32, z: u32| x + 5 * (y + 3 * z);
        for _ in 0..6000 {
            *seen.entry(draw_on_a_minimal_route(&[5, 3, 6], (at(4, 1, 2), at(2, 1, 3)), &mut rng)).or_insert(0u32) += 1;
        }
        let expected: Vec<u32> = (2..4).flat_map(|z| (2..5).map(move |x| at(x, 1, z))).collect();
        assert_eq!(seen.keys().copied().collect::<Vec<_>>(), expected);
        // Each with the same probability, within five standard deviations.
        assert!(seen.values().all(|count| count.abs_diff(1000) < 150), "{seen:?}");
    }

    #[test]
    fn a_third_group_is_neither_of_two() {
        let dragonfly = |groups| Dragonfly { p: 2, a: 4, h: 2, groups, arrangement: Default::default(), faults: None };
        let network = dragonfly(None).build().unwrap();
        let mut rng = Rng::new(1, Stream::Injection, 0);
        for via in [Via::Group, Via::Router] {
            let mut seen = std::collections::BTreeSet::new();
            for _ in 0..500 {
                let drawn = draw(&*network, (5, 14), via, Stop::Third, &mut rng);
                seen.insert(if via == Via::Group { drawn & !GROUP } else { network.group_of(drawn) });
            }
            assert_eq!(seen, [0, 2, 4, 5, 6, 7, 8].into());
        }
        // Within a group.
        assert_eq!(draw(&*network, (5, 6), Via::Group, Stop::Third, &mut rng), GROUP | 1);
        assert_eq!(draw(&*network, (5, 6), Via::Router, Stop::Third, &mut rng), 5);
        let error = check_stop(&*dragonfly(Some(2)).build().unwrap(), Via::Group, Stop::Third).unwrap_err();
        assert!(error.to_string().contains("needs at least three groups"), "{error}");
    }

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
