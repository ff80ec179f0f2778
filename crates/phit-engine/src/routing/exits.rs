//! Random intermediates behind the links that leave a group: for oblivious nonminimal routing and its relatives.

use super::valiant::{self, SecondHalf, Via, draw_within};
use super::{RoutingContext, View};
use crate::engine::{NONE, Rng};
use crate::error::ScenarioError;
use crate::fabric::seams::routing::advance_leg;
use crate::packet::{GROUP, MISROUTED_GLOBALLY, Packet};
use crate::topology::{Hop, Peer, Routers, Topology, host_groups};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// The links behind which an intermediate group is drawn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reach {
    /// The links of the source's router to other groups (CRG): the route begins with such a link.
    Router,
    /// The links of all routers of the source's group to other groups (RRG). A router without such links draws among
    /// these, too.
    #[default]
    Group,
}

/// Where an intermediate may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    /// The links behind which it is.
    pub reach: Reach,
    /// Whether it is a router or a group.
    pub via: Via,
    /// Packets to the source's group have it in that group.
    pub within: bool,
    /// Other packets have it there with the probability that the router of a random endpoint is another one of it.
    pub own_group: bool,
}

/// The groups behind the links of the routers of a partition.
#[derive(Debug)]
pub(super) struct Exits {
    routers: Routers,
    /// The groups behind links, group by group and router by router.
    behind: Vec<u32>,
    /// By router: the places in `behind` of its own links, and of those of its group.
    places: Vec<(Range<u32>, Range<u32>)>,
}

/// The groups with endpoints behind the links of `router` to other groups.
fn behind(topology: &dyn Topology, router: u32) -> impl Iterator<Item = u32> + '_ {
    let (here, hosts) = (topology.group_of(router), host_groups(topology));
    (0..topology.ports(router)).filter_map(move |port| match topology.port(router, port).peer {
        Peer::Router { router: next, .. } => {
            Some(topology.group_of(next)).filter(|group| *group != here && hosts.contains(group))
        }
        Peer::Endpoint(_) | Peer::None => None,
    })
}

/// Refuses networks with a group of endpoints from which no link leads to another one.
pub(super) fn check(kind: &str, topology: &dyn Topology) -> Result<(), ScenarioError> {
    let leads_out = |group: u32| topology.group_routers(group).any(|router| behind(topology, router).next().is_some());
    let groups = host_groups(topology);
    match groups.len() > 1 && groups.clone().all(leads_out) {
        true => Ok(()),
        false => {
            let expected = "needs a topology of at least two groups with endpoints, and links from each of them to \
                            another one (dragonfly, cascade, or several routers joined directly)";
            Err(ScenarioError::new("kind", format!("{kind:?}"), expected))
        }
    }
}

impl Exits {
    pub(super) fn new(context: &RoutingContext) -> Self {
        let topology = &*context.topology;
        let (mut all, mut places) = (Vec::new(), Vec::new());
        // The latest group, and the places of its links.
        let (mut latest, mut of_group) = (NONE, 0..0);
        for router in context.routers.iter() {
            let group = topology.group_of(router);
            if group != latest {
                let first = all.len() as u32;
                topology.group_routers(group).for_each(|router| all.extend(behind(topology, router)));
                (latest, of_group) = (group, first..all.len() as u32);
            }
            let before: usize =
                (topology.group_routers(group).start..router).map(|other| behind(topology, other).count()).sum();
            let first = of_group.start + before as u32;
            places.push((first..first + behind(topology, router).count() as u32, of_group.clone()));
        }
        Self { routers: context.routers.clone(), behind: all, places }
    }

    /// A random intermediate for a packet from `router`, of this partition, to another one.
    pub(super) fn draw(&self, topology: &dyn Topology, (router, to): (u32, u32), place: Place, rng: &mut Rng) -> u32 {
        let here = topology.group_of(router);
        let others = topology.group_routers(here).len() as u32 - 1;
        let group = match place {
            Place { within: true, .. } if topology.group_of(to) == here => here,
            Place { own_group: true, .. } if rng.below(topology.routers()) < others => here,
            Place { reach, .. } => {
                let (own, of_group) = &self.places[self.routers.place(router)];
                let links = if reach == Reach::Router && !own.is_empty() { own } else { of_group };
                self.behind[(links.start + rng.below(links.len() as u32)) as usize]
            }
        };
        match place.via {
            Via::Group => GROUP | group,
            Via::Router => draw_within(topology, group, Via::Router, rng),
        }
    }

    /// The group behind the link of `router` that belongs to its port `port`, if it has any.
    pub(super) fn of_port(&self, router: u32, port: u16) -> Option<u32> {
        let own = &self.places[self.routers.place(router)].0;
        let place = u32::from(port).checked_rem(own.len() as u32)?;
        Some(self.behind[(own.start + place) as usize])
    }

    /// Bytes held.
    pub(super) fn bytes(&self) -> usize {
        self.behind.capacity() * 4 + self.places.capacity() * size_of::<(Range<u32>, Range<u32>)>()
    }
}

/// The next hop of `packet`, which may be behind its stop at the router of its destination.
pub(super) fn hop(view: &mut View<'_>, packet: &Packet, via: Via, second_half: SecondHalf) -> Hop {
    match packet.intermediate == NONE && packet.destination_router == view.at.router {
        true => Hop { port: packet.ejection_port, vc: 0, vcs: 1 },
        false => valiant::hop(&view.at, packet, via, second_half, view.rng),
    }
}

/// Sends `packet`, which stands in an injection queue of `router`, through `stop`. A stop here is behind it already.
pub(super) fn send_through(topology: &dyn Topology, router: u32, packet: &mut Packet, stop: u32) {
    (packet.leg, packet.legs, packet.intermediate) = (0, 2, stop);
    advance_leg(topology, router, packet);
    match packet.leg {
        0 => packet.misrouted |= MISROUTED_GLOBALLY,
        _ => packet.misrouted &= !MISROUTED_GLOBALLY,
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::engine::Stream;
    use crate::topology::{Dragonfly, TopologyParams};
    use std::collections::BTreeMap;

    /// All routers of a Dragonfly of nine groups of four routers with two global links each.
    pub(in crate::routing) fn context() -> RoutingContext {
        let params = Dragonfly { p: 1, a: 4, h: 2, groups: None, arrangement: Default::default(), faults: None };
        let topology = params.build().unwrap();
        let routers = topology.routers();
        RoutingContext {
            topology,
            routers: Routers::some((0..routers).collect(), routers),
            vcs: vec![1, 4, 2],
            queues: vec![1, 4, 2],
            isolating: 1,
            packet_size: 8,
            ticks_per_cycle: 1,
            latency: vec![1, 10, 100],
            ahead: false,
            seed: 1,
            table: None,
            widening: None,
        }
    }

    /// How often each group is drawn for packets from router 5, in group 1, to router `to`.
    fn drawn(to: u32, place: Place) -> BTreeMap<u32, u32> {
        let context = context();
        let (exits, mut rng) = (Exits::new(&context), Rng::new(1, Stream::Injection, 0));
        let mut groups = BTreeMap::new();
        for _ in 0..8000 {
            let stop = exits.draw(&*context.topology, (5, to), place, &mut rng);
            let group = if stop & GROUP == 0 { context.topology.group_of(stop) } else { stop & !GROUP };
            assert_eq!(stop & GROUP == 0, place.via == Via::Router);
            *groups.entry(group).or_insert(0) += 1;
        }
        groups
    }

    #[test]
    fn intermediates_are_behind_links_of_the_router_or_of_its_group() {
        let place = Place { reach: Reach::Router, via: Via::Group, within: true, own_group: false };
        // Router 1 of group 1 has slots 2 and 3 of the palm tree, which lead to groups 1 - 3 and 1 - 4 (modulo 9). Each
        // is drawn with the same probability, within five standard deviations.
        let near = drawn(30, place);
        assert_eq!(near.keys().copied().collect::<Vec<_>>(), [6, 7]);
        assert!(near.values().all(|count| count.abs_diff(4000) < 224), "{near:?}");
        let far = drawn(30, Place { reach: Reach::Group, via: Via::Router, ..place });
        assert_eq!(far.keys().copied().collect::<Vec<_>>(), [0, 2, 3, 4, 5, 6, 7, 8]);
        assert!(far.values().all(|count| count.abs_diff(1000) < 148), "{far:?}");
        // Packets within the group stay in it, if they may.
        assert_eq!(drawn(6, Place { via: Via::Router, ..place }).keys().copied().collect::<Vec<_>>(), [1]);
        assert_eq!(drawn(6, Place { within: false, ..place }).len(), 2);
        // Three of 36 routers are others of this group.
        let own = drawn(30, Place { own_group: true, via: Via::Router, ..place })[&1];
        assert!(own.abs_diff(667) < 124, "{own}");
    }

    #[test]
    fn a_stop_at_the_source_is_behind_the_packet() {
        let context = context();
        let topology = &*context.topology;
        let sent = |stop| {
            let mut packet = Packet::new(0, 30);
            send_through(topology, 5, &mut packet, stop);
            (packet.leg, packet.intermediate, packet.misrouted & MISROUTED_GLOBALLY != 0)
        };
        assert_eq!(sent(6), (0, 6, true));
        assert_eq!(sent(5), (1, NONE, false));
        assert_eq!(sent(GROUP | 1), (1, NONE, false));
        assert_eq!(sent(GROUP | 2), (0, GROUP | 2, true));
    }

    #[test]
    fn a_port_has_the_link_of_its_number() {
        let exits = Exits::new(&context());
        assert_eq!([0, 1, 2, 3].map(|port| exits.of_port(5, port)), [Some(7), Some(6), Some(7), Some(6)]);
    }
}
