//! Virtual output queues at switch level.

use super::{Division, Fit, Lanes, Queueing, QueueingContext, QueueingParams};
use crate::engine::Tick;
use crate::error::ScenarioError;
use crate::fabric::seams::routing::told_ahead;
use crate::packet::Packet;
use crate::topology::{Hop, MOST_ENTRIES, RouteTable, Topology};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Virtual output queues at switch level (Anderson, Owicki, Saxe and Thacker, "High-speed switch scheduling for
/// local-area networks", 1993). A port has a queue for each output of its router. A packet takes the queue of its next
/// output. With several virtual channels, each has a queue for each output.
///
/// With `memory = "divided"` the queues have equal parts of the buffer of their virtual channel, and the sender knows
/// the room in each. The next output comes from the routing tables. If the routing mechanism has no tables, it comes
/// from the balanced tables of the routing `table`: it is then the output that deterministic routing would take.
///
/// With `memory = "shared"` the queues share the buffer of their virtual channel, and the sender knows the room in the
/// buffer. A packet is routed when its head arrives, and stands in the queue of that output. Routing must be `minimal`
/// or `dimension_order`.
///
/// ```toml
/// [topology]
/// kind = "k_ary_n_tree"
/// arity = 4
/// levels = 2
///
/// [router]
/// admittance = "per_destination"
///
/// [router.links.default]
/// vcs = 1
/// buffer = 256
///
/// [routing]
/// kind = "table"
///
/// [queueing]
/// kind = "voqsw"
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct VoqSw {
    /// How the queues of a virtual channel have its buffer.
    #[serde(skip_serializing_if = "Memory::is_divided")]
    pub memory: Memory,
}

/// How the queues of a virtual channel have its buffer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "VoqMemory")]
pub enum Memory {
    /// In equal parts, one for each queue.
    #[default]
    Divided,
    /// All together: one queue may fill the buffer.
    Shared,
}

impl Memory {
    fn is_divided(&self) -> bool {
        *self == Self::Divided
    }
}

/// The most ports of any router.
fn radix(topology: &dyn Topology) -> u32 {
    (0..topology.routers()).map(|router| u32::from(topology.ports(router))).max().unwrap_or(1)
}

impl QueueingParams for VoqSw {
    fn division(&self, topology: &dyn Topology) -> Division {
        Division { queues: radix(topology), shared: self.sorts() }
    }

    fn sorts(&self) -> bool {
        self.memory == Memory::Shared
    }

    fn check(&self, fit: &Fit<'_>) -> Result<(), ScenarioError> {
        let (routers, endpoints) = (fit.topology.routers(), fit.topology.endpoints());
        if self.sorts() || u64::from(routers) * u64::from(endpoints) <= MOST_ENTRIES {
            return Ok(());
        }
        let expected = format!(
            "needs tables of {routers} routers for {endpoints} destinations; expected at most {MOST_ENTRIES} entries"
        );
        Err(ScenarioError::new("kind", "\"voqsw\"", expected))
    }

    fn build(&self, context: &QueueingContext) -> Box<dyn Queueing> {
        if self.sorts() {
            let (queues, vcs) = (radix(&*context.topology), context.vcs.clone());
            return Box::new(Sorted { queues, vcs, ticks_per_cycle: context.ticks_per_cycle });
        }
        match context.routes() {
            Some(routes) => Box::new(Rule { queues: radix(&*context.topology), routes }),
            // Checked before: a network too large for tables is not built.
            None => unreachable!("queues by output without a table"),
        }
    }
}

struct Rule {
    queues: u32,
    routes: Arc<RouteTable>,
}

impl Queueing for Rule {
    #[inline]
    fn select(&self, _: &dyn Topology, next: u32, packet: &Packet, hop: Hop) -> Lanes {
        let output = self.routes.port(next, packet.destination);
        Lanes::one((u32::from(hop.vc) * self.queues) as u16 + output)
    }

    fn inject(&self, router: u32, destination: u32) -> Option<u16> {
        Some(self.routes.port(router, destination))
    }
}

/// Queues that share the buffer of their virtual channel.
struct Sorted {
    /// Queues of a virtual channel.
    queues: u32,
    /// Virtual channels per link class.
    vcs: Vec<u8>,
    /// Ticks of a cycle.
    ticks_per_cycle: Tick,
}

impl Queueing for Sorted {
    #[inline]
    fn select(&self, _: &dyn Topology, _: u32, _: &Packet, hop: Hop) -> Lanes {
        Lanes::one((u32::from(hop.vc) * self.queues) as u16)
    }

    fn inject(&self, _: u32, _: u32) -> Option<u16> {
        Some(0)
    }

    fn sorted(&self, topology: &dyn Topology, router: u32, packet: &Packet) -> u16 {
        match packet.destination_router == router {
            true => packet.ejection_port,
            false => told_ahead(topology, (router, self.ticks_per_cycle), packet, packet.hop_state(), &self.vcs).port,
        }
    }
}
