//! Destination-based buffer management.

use super::{Division, Lanes, Queueing, QueueingContext, QueueingParams};
use crate::packet::Packet;
use crate::topology::{Hop, Topology};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Destination-based buffer management: every port has a few queues of equal size, and a packet takes queue
/// (destination modulo their number). (Nachiondo, Flich and Duato, "Destination-based HoL blocking elimination", ICPADS
/// 2006.)
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
/// kind = "dbbm"
/// queues = 8
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Dbbm {
    /// Number of queues of each virtual channel of a port, 1 to 1024.
    #[schemars(range(min = 1, max = 1024))]
    pub queues: u32,
}

impl Default for Dbbm {
    fn default() -> Self {
        Self { queues: 8 }
    }
}

impl QueueingParams for Dbbm {
    fn division(&self, _: &dyn Topology) -> Division {
        Division::equal(self.queues)
    }

    fn build(&self, _: &QueueingContext) -> Box<dyn Queueing> {
        Box::new(Rule { queues: self.queues })
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
        Lanes::one((u32::from(hop.vc) * self.queues + packet.destination % self.queues) as u16)
    }

    fn inject(&self, _: u32, destination: u32) -> Option<u16> {
        Some((destination % self.queues) as u16)
    }
}
