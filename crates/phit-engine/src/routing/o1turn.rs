//! O1TURN: dimension order, lowest or highest dimension first.

use super::ugal::Before;
use super::{Injection, Routing, RoutingContext, RoutingParams, View};
use crate::error::ScenarioError;
use crate::fabric::seams::routing::{Adaptive, Proof, RouterView, Site, Standing, Step, Wants};
use crate::packet::{HopState, Packet};
use crate::topology::{Hop, Leg, Topology};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;

/// The rule by which a packet chooses its order of dimensions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Choice {
    /// By chance, each with probability 1/2 (O1TURN).
    #[default]
    Random,
    /// The order whose first output has fewer phits charged against its virtual channels; by chance if both have as
    /// many (BookSim's `adaptive_xy_yx`).
    Occupancy,
}

/// When a packet chooses its order by occupancy.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum When {
    /// When it first stands at the head of its injection queue.
    #[default]
    Head,
    /// When its endpoint begins to send it, by the queues as they were before that cycle (BookSim, where endpoints
    /// route ahead).
    Sending,
}

impl When {
    fn is_head(&self) -> bool {
        *self == Self::Head
    }
}

/// Minimal routing on a grid, in ascending or in descending order of dimensions. Each packet chooses its order at its
/// source (Seo, Ali, Lim, Rafique and Thottethodi, "Near-optimal worst-case throughput routing for two-dimensional mesh
/// networks", ISCA 2005).
///
/// Each order has half of the virtual channels to itself, the ascending order the lower half. In its half, each order
/// is dimension order and free of deadlock.
///
/// It needs 2 virtual channels, one for each order.
///
/// ```toml
/// [topology]
/// kind = "mesh"
/// dims = [4, 4]
///
/// [routing]
/// kind = "o1turn"
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct O1turn {
    /// The rule by which a packet chooses its order.
    pub choice: Choice,
    /// When it chooses by occupancy.
    #[serde(skip_serializing_if = "When::is_head")]
    pub decide: When,
}

/// In [`Packet::flags`]: the order of this packet, 0 for the ascending one.
const DESCENDING: u8 = 1;

/// The virtual channels of an order: the topology divides them evenly as it does for a route of two legs.
fn channels_of(order: u8) -> Leg {
    Leg { index: order, of: 2, to_group: false }
}

/// The router at which a packet from `at` to `to` has gone all the way in the highest dimension in which they differ.
fn corner(sides: &[u32], at: u32, to: u32) -> u32 {
    let (mut found, mut stride) = (at, 1);
    for side in sides {
        let (x, y) = (at / stride % side, to / stride % side);
        if x != y {
            found = at - x * stride + y * stride;
        }
        stride *= side;
    }
    found
}

impl RoutingParams for O1turn {
    fn check(&self, topology: &dyn Topology) -> Result<(), ScenarioError> {
        if topology.grid().is_none() {
            let expected = "needs a topology with dimensions: mesh, torus or hyperx";
            return Err(ScenarioError::new("kind", "\"o1turn\"", expected));
        }
        if self.decide == When::Sending && self.choice == Choice::Random {
            return Err(ScenarioError::new("decide", "\"sending\"", "needs choice = \"occupancy\""));
        }
        Ok(())
    }

    fn vcs_needed(&self, topology: &dyn Topology) -> (Vec<u8>, String) {
        let (needed, why) = topology.vcs_needed(channels_of(0));
        (needed, format!("{why}, and each order of dimensions has half of them"))
    }

    fn proof(&self) -> Proof {
        Proof::Steps(Box::new(Orders))
    }

    fn reads_buffers(&self) -> bool {
        self.choice == Choice::Occupancy
    }

    fn counts_phits(&self) -> bool {
        true
    }

    fn per_network(&self) -> bool {
        self.choice == Choice::Random
    }

    fn build(&self, context: &RoutingContext) -> Box<dyn Routing> {
        let sides = context.topology.grid().unwrap_or_default().to_vec();
        let compares = self.choice == Choice::Occupancy;
        let before = (self.decide == When::Sending).then(|| Before::new(context));
        Box::new(Rule { sides, compares, before })
    }
}

struct Rule {
    sides: Vec<u32>,
    /// Packets choose by occupancy,
    compares: bool,
    /// which is what it was, if they do when they are sent.
    before: Option<Before>,
}

impl Rule {
    /// The router to which a packet of this order goes next, along one dimension, or the first of them.
    fn towards(&self, order: u8, at: u32, to: u32) -> u32 {
        if order == DESCENDING { corner(&self.sides, at, to) } else { to }
    }
}

impl Rule {
    /// Chooses the order whose first output has fewer phits by `phits`.
    fn choose(&self, at: &RouterView<'_>, packet: &mut Packet, phits: impl Fn(u16) -> u32) {
        if packet.destination_router == at.router {
            return;
        }
        let occupied = [0, DESCENDING].map(|order| {
            let to = self.towards(order, at.router, packet.destination_router);
            let (leg, state, mut rng) = (channels_of(order), packet.hop_state(), at.rng_of(packet));
            phits(at.topology.minimal_hop(at.router, to, leg, state, at.vcs(), &mut rng).port)
        });
        match occupied[0].cmp(&occupied[1]) {
            Ordering::Less => packet.flags = 0,
            Ordering::Greater => packet.flags = DESCENDING,
            // The coin has been thrown.
            Ordering::Equal => {}
        }
    }
}

impl Routing for Rule {
    fn wants(&self) -> Wants {
        let early = self.before.is_some();
        Wants { sends: early, occupancy: early, after_grants: early, ..Wants::default() }
    }

    fn inject(&mut self, at: &mut Injection<'_>, packet: &mut Packet) {
        packet.flags = at.rng.below(2) as u8;
    }

    fn sends(&mut self, at: &RouterView<'_>, packet: &mut Packet) {
        if let Some(before) = &self.before {
            self.choose(at, packet, |port| before.phits(at, port));
        }
    }

    fn occupancy_changed(&mut self, at: &mut Site<'_>) {
        if let Some(before) = &mut self.before {
            before.note(at);
        }
    }

    fn route(&mut self, view: &mut View<'_>, _: u16, _: u16, packet: &mut Packet) -> Option<Hop> {
        if packet.came_by == 0 && self.compares && self.before.is_none() {
            let at: &RouterView<'_> = view;
            self.choose(at, packet, |port| at.port_occupancy(port));
        }
        let (order, at) = (packet.flags, view.router);
        let to = self.towards(order, at, packet.destination_router);
        // Half a ring from where it goes, it takes the direction whose queue it has looked at.
        let mut rng = view.rng_of(packet);
        let state = packet.hop_state();
        Some(view.topology.minimal_hop(at, to, channels_of(order), state, view.vcs(), &mut rng))
    }
}

/// The hops of both orders, for a proof to follow. A packet's memory is its order, from 1 on; 0 before it has chosen.
struct Orders;

impl Adaptive for Orders {
    fn steps(&self, topology: &dyn Topology, packet: &Standing, vcs: &[u8], out: &mut Vec<Step>) {
        let &Standing { at, to, came, hops, memo } = packet;
        let state = HopState { came_by: came.0, came_in: came.1, leg_hops: hops };
        let mut found = Vec::new();
        for order in (0..=DESCENDING).filter(|order| memo == 0 || memo == u32::from(*order) + 1) {
            let next = if order == DESCENDING { corner(topology.grid().unwrap_or_default(), at, to) } else { to };
            topology.minimal_hops(at, next, channels_of(order), state, vcs, &mut found);
            let memo = u32::from(order) + 1;
            out.extend(found.drain(..).map(|hop| Step { hop, memo, escape: true }));
        }
    }

    fn longest(&self, topology: &dyn Topology) -> u32 {
        topology.diameter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_corner_is_where_the_highest_dimension_has_been_taken() {
        // (1, 2, 3) of 3 x 4 x 5 to (2, 0, 3), and back.
        let at = |x: u32, y: u32, z: u32| x + 3 * (y + 4 * z);
        assert_eq!(corner(&[3, 4, 5], at(1, 2, 3), at(2, 0, 3)), at(1, 0, 3));
        assert_eq!(corner(&[3, 4, 5], at(2, 0, 3), at(1, 2, 4)), at(2, 0, 4));
        assert_eq!(corner(&[3, 4, 5], at(1, 0, 3), at(2, 0, 3)), at(2, 0, 3));
    }
}
