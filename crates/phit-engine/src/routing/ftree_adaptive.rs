//! Fat-tree routing whose packets leave their fixed way up when its queue is long.

use super::ftree::Ftree;
use super::layered::Layered;
use super::{Routing, RoutingContext, RoutingParams, View};
use crate::error::ScenarioError;
use crate::fabric::seams::routing::{Legs, Proof};
use crate::packet::Packet;
use crate::topology::{Hop, Leg, RouteTable, Topology};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Fat-tree routing (`ftree`) whose packets leave their fixed port upwards when its queue fills more than a share of
/// its buffer (the adaptive routing of SST's merlin on a fat tree). They take the port upwards with the shortest queue,
/// the lowest of several, if it is shorter than that of the fixed port. Ways down are fixed.
///
/// A packet decides once in each router, when it comes to the front of its queue. Routes go up and then down, so one
/// virtual channel is free of deadlock. With `router.credit_use = "link"`, the queue is that of the output buffer, as
/// in merlin; otherwise that of the next router's buffer.
///
/// ```toml
/// [topology]
/// kind = "clos"
/// down = [4, 4]
/// up = [4]
///
/// [routing]
/// kind = "ftree_adaptive"
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FtreeAdaptive {
    /// A packet stays while the queue of its fixed port fills at most this share of the buffer.
    #[schemars(range(min = 0, max = 1))]
    pub share: f64,
    #[serde(skip)]
    #[schemars(skip)]
    fixed: Ftree,
}

impl Default for FtreeAdaptive {
    fn default() -> Self {
        Self { share: 0.5, fixed: Ftree::default() }
    }
}

const LEG: Leg = Leg { index: 0, of: 1, to_group: false };

impl RoutingParams for FtreeAdaptive {
    fn check(&self, topology: &dyn Topology) -> Result<(), ScenarioError> {
        self.fixed.tables(topology).map(drop)
    }

    fn vcs_needed(&self, topology: &dyn Topology) -> (Vec<u8>, String) {
        topology.vcs_needed(LEG)
    }

    fn proof(&self) -> Proof {
        Proof::legs(Legs::Minimal)
    }

    fn build(&self, context: &RoutingContext) -> Box<dyn Routing> {
        match self.fixed.tables(&*context.topology) {
            Ok(table) => Box::new(Rule { table, share: self.share, hops: Vec::new() }),
            // The scenario has been checked: a network without tables is not built.
            Err(_) => unreachable!("fat-tree routing without a table"),
        }
    }
}

struct Rule {
    /// The fixed ports.
    table: Arc<RouteTable>,
    share: f64,
    hops: Vec<Hop>,
}

impl Routing for Rule {
    fn route(&mut self, view: &mut View<'_>, _: u16, _: u16, packet: &mut Packet) -> Option<Hop> {
        let own = self.table.port(view.router, packet.destination);
        let (state, to) = (packet.hop_state(), packet.destination_router);
        self.hops.clear();
        view.topology.minimal_hops(view.router, to, LEG, state, view.vcs(), &mut self.hops);
        let fixed = self.hops.iter().position(|hop| hop.port == own).unwrap_or(0);
        let queue = |hop: &Hop| view.occupancy(hop.port, hop.vc);
        let fixed = *self.hops.get(fixed)?;
        let limit = self.share * f64::from(view.capacity()[usize::from(view.class(fixed.port))]);
        let mut best = fixed;
        if f64::from(queue(&fixed)) > limit {
            for hop in &self.hops {
                if queue(hop) < queue(&best) {
                    best = *hop;
                }
            }
        }
        Some(Hop { vcs: 1, ..best })
    }
}
