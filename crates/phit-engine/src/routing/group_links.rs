//! The global links of a Dragonfly's groups, for mechanisms whose routers tell one another about them.

use super::RoutingContext;
use super::in_transit::{GLOBAL, LOCAL};
use crate::topology::{Routers, Topology};
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
}

impl GroupLinks {
    pub(super) fn new(context: &RoutingContext) -> Self {
        let topology = &*context.topology;
        let first = context.routers.first();
        let ports = |class| topology.class_ports(first, class);
        let (local, global) = (ports(LOCAL), ports(GLOBAL));
        let count = topology.group_routers(topology.group_of(first)).len() * global.len();
        Self { routers: context.routers.clone(), local, global, count }
    }

    /// The place of `router` among those of the partition.
    pub(super) fn index(&self, router: u32) -> usize {
        self.routers.place(router)
    }

    /// The number of a global port of `owner` in its group.
    pub(super) fn number(&self, topology: &dyn Topology, owner: u32, port: u16) -> u16 {
        let first = topology.group_routers(topology.group_of(owner)).start;
        (owner - first) as u16 * self.global.len() as u16 + port - self.global.start
    }

    /// The entries of `router`.
    pub(super) fn of(&self, router: u32) -> Range<usize> {
        let first = self.index(router) * self.count;
        first..first + self.count
    }

    /// The entries that `router` has for the links of `owner`, a router of its group.
    pub(super) fn owned(&self, topology: &dyn Topology, router: u32, owner: u32) -> Range<usize> {
        let first = self.of(router).start + usize::from(self.number(topology, owner, self.global.start));
        first..first + self.global.len()
    }
}
