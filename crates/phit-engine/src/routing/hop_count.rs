//! Which hops count where a queue is multiplied with the hops of its route.

use super::in_transit::GLOBAL;
use super::source_adaptive::Route;
use super::{RouterView, RoutingContext, View};
use crate::engine::Rng;
use crate::packet::{GROUP, Packet};
use crate::topology::{Arrangement, Dragonfly, Peer, Topology, TopologyParams};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Numbers of hops that a queue is multiplied with.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HopCount {
    /// The hops of the routes.
    #[default]
    Routes,
    /// The hops that the routes would have with a consecutive arrangement of global links, whatever their arrangement
    /// is, and without the local hop to the intermediate router. For a route through a group, an intermediate router is
    /// drawn in it, for the count alone (FOGSim).
    Consecutive,
    /// The minimal route has the hops that it would have with a consecutive arrangement of global links. The other one
    /// has those of the network; for a route through a group, a router is drawn in it, for the count alone (FOGSim,
    /// version 5).
    MinimalConsecutive,
    /// One for the minimal route and two for the other one, whatever their lengths are (SST's merlin).
    OneAndTwo,
}

impl HopCount {
    /// Not a choice that must be written down.
    pub(super) fn is_of_routes(&self) -> bool {
        *self == Self::Routes
    }

    /// The alternative count of hops, if one is chosen.
    pub(super) fn counted(self, context: &RoutingContext) -> Option<Counted> {
        match self {
            Self::Routes => None,
            Self::OneAndTwo => Some(Counted { network: None, both: false }),
            Self::Consecutive | Self::MinimalConsecutive => {
                let network = consecutive(context)?;
                Some(Counted { network: Some(network), both: self == Self::Consecutive })
            }
        }
    }
}

/// The network whose hops count; without it, one and two.
pub(super) struct Counted {
    network: Option<Arc<dyn Topology>>,
    /// They count for both routes, not for the minimal one alone.
    both: bool,
}

/// The number of the packet's stream that draws a router in its intermediate group.
const ROUTER: u8 = 255;

impl Counted {
    /// A number that chooses a router of the group that a packet goes through, for decisions that draw again: each of
    /// them counts the hops over another router.
    pub(super) fn draw(view: &mut View<'_>) -> u32 {
        view.rng.bits() as u32
    }

    /// Counts the hops of the two routes of `packet` again. `drawn` chooses the router of the group that it goes
    /// through; without it, every count of a packet at a router chooses the same.
    pub(super) fn count(
        &self,
        view: &RouterView<'_>,
        packet: &Packet,
        (minimal, valiant): (&mut Route, &mut Route),
        drawn: Option<u32>,
    ) {
        let Some(network) = self.network.as_deref() else {
            (minimal.hops, valiant.hops) = (1, 2);
            return;
        };
        let to = packet.destination_router;
        let stop = match packet.scratch {
            group if group & GROUP != 0 => {
                let routers = view.topology.group_routers(group & !GROUP);
                let count = routers.len() as u32;
                let kept = || view.stream_of(packet, view.router, ROUTER).below(count);
                routers.start + drawn.map_or_else(kept, |drawn| drawn % count.max(1))
            }
            router => router,
        };
        minimal.hops = network.distance(view.router, to);
        valiant.hops = match self.both {
            true => hops_to_group(network, view.router, stop) + network.distance(stop, to),
            false => view.topology.distance(view.router, stop) + view.topology.distance(stop, to),
        };
    }
}

/// The Dragonfly of the same size with global links arranged consecutively.
fn consecutive(context: &RoutingContext) -> Option<Arc<dyn Topology>> {
    let topology = &*context.topology;
    let ports = |class| u32::from(topology.class_ports(context.routers.first(), class).len() as u16);
    let a = topology.group_routers(0).len() as u32;
    let groups = Some(topology.groups());
    Dragonfly { p: ports(0), a, h: ports(GLOBAL), groups, arrangement: Arrangement::Consecutive, faults: None }
        .build()
        .ok()
}

/// Hops from router `at` to the router by which a minimal route to router `stop` enters its group.
fn hops_to_group(topology: &dyn Topology, at: u32, stop: u32) -> u32 {
    let exit = topology.exit(at, stop, &mut Rng::keyed(0, 0));
    match exit.map(|(router, port)| (router, topology.port(router, port).peer)) {
        Some((router, Peer::Router { .. })) => topology.distance(at, router) + 1,
        _ => topology.distance(at, stop),
    }
}
