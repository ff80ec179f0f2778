//! Lost packets, as their sources learn of them.

use crate::engine::Tick;
use crate::packet::{Packet, REPLY, repeated};
use crate::traffic::Generated;
use serde::{Deserialize, Serialize};

/// The two kinds of packets, where some answer others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Request,
    Reply,
}

impl Kind {
    /// The kind of `packet`.
    #[inline]
    pub(crate) fn of(packet: &Packet) -> Self {
        if packet.misrouted & REPLY == 0 { Self::Request } else { Self::Reply }
    }

    /// The mark of this kind in a packet.
    pub(crate) fn mark(self) -> u8 {
        match self {
            Self::Request => 0,
            Self::Reply => REPLY,
        }
    }
}

/// A packet that is to be sent again. The order is by time, and does not depend on partitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Again {
    /// Tick from which on it can be sent.
    pub at: Tick,
    /// Cycle of its generation.
    pub cycle: u32,
    /// Its destination.
    pub destination: u32,
    /// Phits.
    pub size: u16,
    /// How often it will have been sent again, this time included.
    pub times: u8,
    /// Its source.
    pub source: u32,
    /// It answers a request.
    pub reply: bool,
}

impl Again {
    pub(crate) fn generated(&self) -> Generated {
        Generated { cycle: self.cycle, destination: self.destination, size: self.size }
    }

    /// The mark in the packet of how often it has been sent again.
    pub(crate) fn mark(&self) -> u8 {
        repeated(self.times)
    }

    /// The kind of the packet.
    pub(crate) fn kind(&self) -> Kind {
        if self.reply { Kind::Reply } else { Kind::Request }
    }
}

/// A request that will get no reply: the request has been given up, or its reply has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Ending {
    /// Tick in which the endpoint that asked knows of it.
    pub at: Tick,
    /// The endpoint that was asked.
    pub asked: u32,
    /// Cycle in which the request was generated; all ones if its reply was given up.
    pub cycle: u32,
    /// The endpoint that asked.
    pub source: u32,
}
