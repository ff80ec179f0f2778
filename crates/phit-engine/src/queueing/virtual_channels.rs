//! A queue per virtual channel.

use super::{Lanes, Queueing, QueueingParams};
use crate::error::ScenarioError;
use crate::router::packet::Packet;
use crate::topology::{Hop, Topology};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A queue per virtual channel: a packet stands in the channel that the routing mechanism chose (Dally, 1992).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct VirtualChannels {}

impl QueueingParams for VirtualChannels {
    fn check(&self, _: &dyn Topology, _: &[u16]) -> Result<(), ScenarioError> {
        Ok(())
    }

    fn build(&self, _: &dyn Topology, _: &[u16]) -> Box<dyn Queueing> {
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
