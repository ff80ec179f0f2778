//! UGAL: universal globally-adaptive load-balanced routing, with local and with global information.

use super::source_adaptive::{self, Queue, Sight, choose, draw, hop};
use super::valiant::{SecondHalf, Valiant, Via};
use super::{Injection, Routing, RoutingContext, RoutingParams, View};
use crate::error::ScenarioError;
use crate::router::packet::Packet;
use crate::topology::{Hop, Topology};
use crate::verify::{Legs, Proof};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Source routing by the queues of the source router: minimally, unless `queue x hops` of the first minimal hop exceeds that of
/// the first hop of a random Valiant route by more than a threshold (Singh, 2005; on the Dragonfly Kim et al., ISCA 2008).
///
/// A packet decides once, when it first stands at the head of its injection queue.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct UgalL {
    /// What the Valiant route leads through.
    pub via: Via,
    /// Advantage of the minimal route, in packets of the largest size; negative: of the Valiant route.
    pub threshold: i32,
    /// How queues are measured.
    pub queue: Queue,
}

impl Default for UgalL {
    fn default() -> Self {
        Self { via: Via::default(), threshold: 3, queue: Queue::Phits }
    }
}

/// UGAL with the queues of all hops of both routes, in all routers, known at once (UGAL-G): no router can know them, which makes
/// it the ideal that others are measured against. Otherwise as `ugal_l`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct UgalG {
    /// What the Valiant route leads through.
    pub via: Via,
    /// Advantage of the minimal route, in packets of the largest size; negative: of the Valiant route.
    pub threshold: i32,
    /// How queues are measured.
    pub queue: Queue,
}

impl Default for UgalG {
    fn default() -> Self {
        Self { via: Via::default(), threshold: 0, queue: Queue::Phits }
    }
}

/// The Valiant mechanism whose routes and channels are used.
fn routes(via: Via) -> Valiant {
    Valiant { via, ..Valiant::default() }
}

fn proof(via: Via) -> Proof {
    Proof::legs_or_minimal(if via == Via::Group { Legs::ToGroup } else { Legs::ToRouter })
}

impl RoutingParams for UgalL {
    fn check(&self, topology: &dyn Topology) -> Result<(), ScenarioError> {
        routes(self.via).check(topology)
    }
    fn vcs_needed(&self, topology: &dyn Topology) -> (Vec<u8>, String) {
        routes(self.via).vcs_needed(topology)
    }
    fn proof(&self) -> Proof {
        proof(self.via)
    }
    fn build(&self, context: &RoutingContext) -> Box<dyn Routing> {
        Box::new(Rule::new(self.via, self.threshold, Sight::Local(self.queue), context))
    }
}

impl RoutingParams for UgalG {
    fn check(&self, topology: &dyn Topology) -> Result<(), ScenarioError> {
        routes(self.via).check(topology)
    }
    fn vcs_needed(&self, topology: &dyn Topology) -> (Vec<u8>, String) {
        routes(self.via).vcs_needed(topology)
    }
    fn proof(&self) -> Proof {
        proof(self.via)
    }
    fn reads_everything(&self) -> bool {
        true
    }
    fn build(&self, context: &RoutingContext) -> Box<dyn Routing> {
        Box::new(Rule::new(self.via, self.threshold, Sight::Global(self.queue), context))
    }
}

struct Rule {
    via: Via,
    /// Phits.
    threshold: i64,
    sight: Sight,
}

impl Rule {
    fn new(via: Via, packets: i32, sight: Sight, context: &RoutingContext) -> Self {
        Self { via, threshold: i64::from(packets) * i64::from(context.packet_size), sight }
    }
}

/// UGAL's inequality: the minimal route if its queue times its hops is no more than the other's plus the threshold.
pub(super) fn prefers_minimal(
    minimal: &source_adaptive::Route,
    valiant: &source_adaptive::Route,
    threshold: i64,
) -> bool {
    let cost = |route: &source_adaptive::Route| i64::from(route.queue) * i64::from(route.hops);
    cost(minimal) <= cost(valiant) + threshold
}

impl Routing for Rule {
    fn inject(&mut self, at: &mut Injection<'_>, packet: &mut Packet) {
        draw(at, packet, self.via);
    }

    fn route(&mut self, view: &mut View<'_>, _: u16, _: u16, packet: &mut Packet) -> Option<Hop> {
        if packet.came_by == 0 {
            let minimal = source_adaptive::minimal(view, packet, self.sight);
            let valiant = source_adaptive::valiant(view, packet, self.via, self.sight);
            choose(packet, !prefers_minimal(&minimal, &valiant, self.threshold));
        }
        Some(hop(view, packet, self.via, SecondHalf::Above))
    }
}
