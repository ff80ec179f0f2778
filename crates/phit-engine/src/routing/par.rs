//! PAR: progressive adaptive routing (Jiang, Kim and Dally, ISCA 2009).

use super::in_transit::{self, GLOBAL, LOCAL};
use super::source_adaptive::{Cost, Queue, Sight, choose, draw, hop, minimal, valiant};
use super::ugal::prefers_minimal;
use super::valiant::{SecondHalf, Stop, Via};
use super::{DRAWN_BY_CYCLE, Injection, Routing, RoutingContext, RoutingParams, View};
use crate::engine::Memory;
use crate::error::ScenarioError;
use crate::fabric::seams::routing::{Channels, Legs, Proof, Routes};
use crate::packet::Packet;
use crate::topology::{Hop, Topology};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Progressive UGAL-L: a packet decides in every router of its source group, as long as it has chosen the minimal
/// route. The Valiant route, once chosen, stays (Jiang, Kim and Dally, ISCA 2009).
///
/// A packet may so take two local hops in its source group: one more local channel than UGAL. For a Dragonfly.
///
/// A Dragonfly needs local virtual channels 0 to 4 and global ones 0 and 1.
///
/// ```toml
/// [topology]
/// kind = "dragonfly"
/// p = 2
/// a = 4
/// h = 2
///
/// [routing]
/// kind = "par"
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Par {
    /// Whether the Valiant route visits a router or a group.
    pub via: Via,
    /// Advantage of the minimal route, in packets of the largest size; negative: of the Valiant route.
    pub threshold: i32,
    /// How queues are measured.
    pub queue: Queue,
}

impl Default for Par {
    fn default() -> Self {
        Self { via: Via::default(), threshold: 20, queue: Queue::Share }
    }
}

impl RoutingParams for Par {
    fn check(&self, topology: &dyn Topology) -> Result<(), ScenarioError> {
        in_transit::check("par", topology)
    }
    fn vcs_needed(&self, _: &dyn Topology) -> (Vec<u8>, String) {
        match self.via {
            Via::Router => (vec![1, 5, 2], "local 0 to 4 and global 0 and 1 along l l g l - l g l".into()),
            Via::Group => (vec![1, 4, 2], "local 0 to 3 and global 0 and 1 along l l g - l g l".into()),
        }
    }
    fn proof(&self) -> Proof {
        let legs = if self.via == Via::Group { Legs::ToGroup } else { Legs::ToRouter };
        let routes = |legs| Routes { legs, channels: Channels::Progressive };
        Proof::Order(vec![routes(Legs::Minimal), routes(legs)])
    }
    fn per_network(&self) -> bool {
        true
    }
    fn build(&self, context: &RoutingContext) -> Box<dyn Routing> {
        let threshold = i64::from(self.threshold) * i64::from(context.packet_size);
        Box::new(Rule { via: self.via, threshold, queue: self.queue })
    }
}

struct Rule {
    via: Via,
    /// Phits.
    threshold: i64,
    queue: Queue,
}

impl Routing for Rule {
    fn remember(&self, memory: &mut Memory) {
        memory.cannot(DRAWN_BY_CYCLE);
    }

    fn inject(&mut self, at: &mut Injection<'_>, packet: &mut Packet) {
        draw(at, packet, self.via, Stop::Elsewhere);
        packet.legs = 1;
    }

    fn route(&mut self, view: &mut View<'_>, _: u16, _: u16, packet: &mut Packet) -> Option<Hop> {
        let group = |router| view.topology.group_of(router);
        let progressing = packet.legs == 1
            && packet.hops.of(GLOBAL) == 0
            && (packet.came_by == 0 || group(packet.destination_router) != group(view.router));
        if progressing {
            let direct = minimal(view, packet, Sight::Local(self.queue));
            let detour = valiant(view, packet, self.via, Sight::Local(self.queue));
            choose(packet, !prefers_minimal(&direct, &detour, Cost::QueueHops, self.threshold));
            if packet.legs == 2 {
                packet.leg_start = packet.hops;
            }
        }
        let mut hop = hop(view, packet, self.via, SecondHalf::Above);
        // Local channel 0 is for the first hop of packets that may still change their minds.
        let undecided = packet.legs == 1 && packet.hops.of(GLOBAL) == 0;
        if view.class(hop.port) == LOCAL && !undecided {
            hop.vc += 1;
        }
        Some(hop)
    }
}
