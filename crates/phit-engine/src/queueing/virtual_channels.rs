//! A queue per virtual channel.

use super::{Lanes, Queueing, QueueingContext, QueueingParams};
use crate::packet::Packet;
use crate::topology::{Hop, Topology};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A queue per virtual channel: a packet takes the channel that the routing mechanism chose (Dally, 1992). With one
/// channel, this is the single queue of the textbook's input-queued switch.
///
/// ```toml
/// [queueing]
/// kind = "virtual_channels"
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct VirtualChannels {}

impl QueueingParams for VirtualChannels {
    fn undivided(&self) -> bool {
        true
    }

    fn build(&self, _: &QueueingContext) -> Box<dyn Queueing> {
        Box::new(Rule)
    }
}

struct Rule;

impl Queueing for Rule {
    fn select(&self, _: &dyn Topology, _: u32, _: &Packet, hop: Hop) -> Lanes {
        hop.into()
    }

    fn transparent(&self) -> bool {
        true
    }
}
