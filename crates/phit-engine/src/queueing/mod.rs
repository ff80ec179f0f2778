//! The seam `queueing`: which queue of the next input port a packet stands in.
//!
//! One file per organisation. The sender holds credits per queue, so it chooses the queue when it grants the packet: a
//! rule may look at the packet, at the channels that the routing mechanism permits, and at the next router.

use crate::error::ScenarioError;
use crate::router::packet::Packet;
use crate::topology::{Hop, Topology};

pub mod virtual_channels;

/// A range of queues of an input port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lanes {
    /// First queue.
    pub first: u16,
    /// Number of queues, at least 1.
    pub count: u16,
}

impl From<Hop> for Lanes {
    fn from(hop: Hop) -> Self {
        Self { first: hop.vc.into(), count: hop.vcs.into() }
    }
}

/// The queue organisation of one partition's input buffers.
pub trait Queueing: Send {
    /// The queues of the next input port that the packet may enter by `hop`. `next` is the router behind the port.
    fn select(&self, topology: &dyn Topology, next: u32, packet: &Packet, hop: Hop) -> Lanes;

    /// True if [`Self::select`] returns the routing mechanism's range as it is.
    fn transparent(&self) -> bool {
        false
    }
}

/// What an organisation's file provides besides the rule.
pub trait QueueingParams {
    /// Checks the organisation against the number of queues per class. Error paths are relative to `queueing`.
    fn check(&self, topology: &dyn Topology, queues: &[u16]) -> Result<(), ScenarioError>;
    /// The rule for one partition; `queues` is the number of queues per link class.
    fn build(&self, topology: &dyn Topology, queues: &[u16]) -> Box<dyn Queueing>;
}

crate::registry! {
    /// `[queueing]`: the queue organisation.
    pub enum QueueingKind: "queueing" as QueueingParams {
        "virtual_channels" => VirtualChannels(virtual_channels::VirtualChannels),
    }
}
