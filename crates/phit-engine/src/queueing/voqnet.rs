//! Virtual output queues at network level.

use super::{Division, Lanes, Queueing, QueueingContext, QueueingParams};
use crate::packet::Packet;
use crate::topology::{Hop, Topology};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Virtual output queues at network level: every port has a queue for each destination of the network, all of equal
/// size. So no packet ever waits behind a packet for another endpoint. (Dally, Carvey and Dennison, "Architecture of
/// the Avici terabit switch/router", Hot Interconnects 1998.)
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
/// kind = "voqnet"
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct VoqNet {}

impl QueueingParams for VoqNet {
    fn division(&self, topology: &dyn Topology) -> Division {
        Division::equal(topology.endpoints())
    }

    fn build(&self, context: &QueueingContext) -> Box<dyn Queueing> {
        Box::new(Rule { queues: context.topology.endpoints() })
    }
}

struct Rule {
    queues: u32,
}

impl Queueing for Rule {
    fn timeless(&self) -> bool {
        true
    }

    #[inline]
    fn select(&self, _: &dyn Topology, _: u32, packet: &Packet, hop: Hop) -> Lanes {
        Lanes::one((u32::from(hop.vc) * self.queues + packet.destination) as u16)
    }

    fn inject(&self, _: u32, destination: u32) -> Option<u16> {
        Some(destination as u16)
    }

    fn by_destination(&self) -> bool {
        true
    }
}
