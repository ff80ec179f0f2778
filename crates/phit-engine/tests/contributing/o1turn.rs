//! O1TURN: dimension order with the order drawn at random.

use phit_engine::error::ScenarioError;
use phit_engine::packet::Packet;
use phit_engine::routing::{Injection, Proof, Routing, RoutingContext, RoutingParams, View};
use phit_engine::topology::{Hop, Leg, Topology};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Minimal routing on a two-dimensional grid: every packet goes first along x and then along y, or the other way, as a
/// coin says (Seo, Ali, Lim, Rafique and Thottethodi, "Near-optimal worst-case throughput routing for two-dimensional
/// mesh networks", ISCA 2005).
///
/// The two orders have virtual channels of their own, so that each is dimension order and free of deadlock by itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct O1Turn {
    /// Share of the packets that go along x first, from 0 to 1.
    pub x_first: f64,
}

impl Default for O1Turn {
    fn default() -> Self {
        Self { x_first: 0.5 }
    }
}

/// In [`Packet::flags`], which is the mechanism's own: the order of this packet.
const Y_FIRST: u8 = 1;

/// The virtual channels of an order: the topology divides them evenly as it does for a route of two legs.
fn channels_of(order: u8) -> Leg {
    Leg { index: order, of: 2, to_group: false }
}

impl RoutingParams for O1Turn {
    fn check(&self, topology: &dyn Topology) -> Result<(), ScenarioError> {
        if topology.grid().is_none_or(|sides| sides.len() != 2) {
            return Err(ScenarioError::new("kind", "\"o1turn\"", "needs a mesh, torus or hyperx of two dimensions"));
        }
        if !(0.0..=1.0).contains(&self.x_first) {
            return Err(ScenarioError::new("x_first", self.x_first, "expected a share from 0 to 1"));
        }
        Ok(())
    }

    fn vcs_needed(&self, topology: &dyn Topology) -> (Vec<u8>, String) {
        topology.vcs_needed(channels_of(0))
    }

    /// The proof follows the topology's own routes only, and one of the orders is not among them.
    fn proof(&self) -> Proof {
        Proof::Unknown
    }

    fn build(&self, context: &RoutingContext) -> Box<dyn Routing> {
        let columns = context.topology.grid().map_or(1, |sides| sides[0]);
        Box::new(Rule { x_first: self.x_first, columns })
    }
}

struct Rule {
    x_first: f64,
    columns: u32,
}

impl Routing for Rule {
    /// A packet with y first is sent to the router of its turn; the engine notes when it has been there.
    fn inject(&mut self, at: &mut Injection<'_>, packet: &mut Packet) {
        let coin = f64::from(at.rng.below(1 << 16)) / f64::from(1 << 16);
        if coin < self.x_first {
            return;
        }
        packet.flags = Y_FIRST;
        let (x, y) = (at.router % self.columns, packet.destination_router / self.columns);
        let turn = x + self.columns * y;
        if turn != at.router && turn != packet.destination_router {
            packet.intermediate = turn;
        }
    }

    /// Dimension order to the turn, which lies in the packet's column, and from there, along its row, to the
    /// destination.
    fn route(&mut self, view: &mut View<'_>, _port: u16, _queue: u16, packet: &mut Packet) -> Option<Hop> {
        let to = if packet.intermediate == u32::MAX { packet.destination_router } else { packet.intermediate };
        let leg = channels_of(packet.flags);
        Some(view.topology.minimal_hop(view.router, to, leg, packet.hop_state(), view.vcs(), view.rng))
    }
}
