//! Virtual output queues at switch level.

use super::{Division, Fit, Lanes, Queueing, QueueingContext, QueueingParams};
use crate::error::ScenarioError;
use crate::packet::Packet;
use crate::topology::{Hop, MOST_ENTRIES, RouteTable, Topology};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Virtual output queues at switch level (Anderson, Owicki, Saxe and Thacker, "High-speed switch scheduling for
/// local-area networks", 1993). A port has a queue for each output of its router, all of equal size. A packet takes the
/// queue of its next output. With several virtual channels, each has a queue for each output.
///
/// The next output comes from the routing tables. If the routing mechanism has no tables, it comes from the balanced
/// tables of the routing `table`: it is then the output that deterministic routing would take.
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
pub struct VoqSw {}

/// The most ports of any router.
fn radix(topology: &dyn Topology) -> u32 {
    (0..topology.routers()).map(|router| u32::from(topology.ports(router))).max().unwrap_or(1)
}

impl QueueingParams for VoqSw {
    fn division(&self, topology: &dyn Topology) -> Division {
        Division::equal(radix(topology))
    }

    fn check(&self, fit: &Fit<'_>) -> Result<(), ScenarioError> {
        let (routers, endpoints) = (fit.topology.routers(), fit.topology.endpoints());
        if u64::from(routers) * u64::from(endpoints) <= MOST_ENTRIES {
            return Ok(());
        }
        let expected = format!(
            "needs tables of {routers} routers for {endpoints} destinations; expected at most {MOST_ENTRIES} entries"
        );
        Err(ScenarioError::new("kind", "\"voqsw\"", expected))
    }

    fn build(&self, context: &QueueingContext) -> Box<dyn Queueing> {
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
