//! The global links of a Dragonfly's groups, for mechanisms whose routers tell one another about them.

use super::in_transit::{GLOBAL, LOCAL};
use super::{RouterView, RoutingContext};
use crate::packet::Packet;
use crate::topology::Routers;
use std::ops::Range;

/// Tables with an entry for each router of a partition and each global link of its group. A link is known by its number
/// in the group: the router's place there times h plus the port's place among the router's global ports.
#[derive(Debug, Clone)]
pub(super) struct GroupLinks {
    routers: Routers,
    /// Ports of a router to the others of its group.
    pub local: Range<u16>,
    /// Ports of a router to other groups.
    pub global: Range<u16>,
    /// Global links of a group.
    pub count: usize,
    /// Routers of a group: those of one follow those of another.
    group: u32,
}

impl GroupLinks {
    pub(super) fn new(context: &RoutingContext) -> Self {
        let topology = &*context.topology;
        let first = context.routers.first();
        let ports = |class| topology.class_ports(first, class);
        let (local, global) = (ports(LOCAL), ports(GLOBAL));
        let group = topology.group_routers(topology.group_of(first)).len();
        let count = group * global.len();
        Self { routers: context.routers.clone(), local, global, count, group: group as u32 }
    }

    /// The place of `router` among those of the partition.
    pub(super) fn index(&self, router: u32) -> usize {
        self.routers.place(router)
    }

    /// The number of a global port of `owner` in its group.
    #[inline]
    pub(super) fn number(&self, owner: u32, port: u16) -> u16 {
        self.of_port(owner % self.group, port)
    }

    /// The number of the link over which `packet` leaves its group minimally, at a router of it; `None` if it stays.
    #[inline]
    pub(super) fn minimal(&self, view: &RouterView<'_>, packet: &Packet) -> Option<u16> {
        let rng = || view.rng_of(packet);
        let (owner, port) = view.known.exit(view.topology, view.router, packet.destination_router, rng)?;
        Some(self.of_port(owner, port))
    }

    /// By router of the partition and link of its group, the output of packets that leave the group minimally over that
    /// link. Without entries if there may be several, or the groups are joined by several links.
    pub(super) fn towards(&self, context: &RoutingContext) -> Vec<u16> {
        let topology = &*context.topology;
        let known = context.topology.clone().known();
        let towards = |router: u32| {
            let first = topology.group_routers(topology.group_of(router)).start;
            let known = &known;
            (first..first + self.group).flat_map(move |owner| {
                self.global.clone().map(move |port| match owner == router {
                    true => Some(port),
                    false => known.only_port(router, owner),
                })
            })
        };
        context.routers.iter().flat_map(towards).collect::<Option<_>>().unwrap_or_default()
    }

    /// The number of a global port of the router with the number `owner` in its group.
    #[inline]
    fn of_port(&self, owner: u32, port: u16) -> u16 {
        owner as u16 * self.global.len() as u16 + port - self.global.start
    }

    /// The entries of `router`.
    #[inline]
    pub(super) fn of(&self, router: u32) -> Range<usize> {
        let first = self.index(router) * self.count;
        first..first + self.count
    }

    /// The entries that `router` has for the links of `owner`, a router of its group.
    #[inline]
    pub(super) fn owned(&self, router: u32, owner: u32) -> Range<usize> {
        let first = self.of(router).start + usize::from(self.number(owner, self.global.start));
        first..first + self.global.len()
    }
}
