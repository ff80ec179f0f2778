//! Packets that were lost, as their sources hear of them.

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

    /// What is noted in its packets.
    pub(crate) fn mark(self) -> u8 {
        match self {
            Self::Request => 0,
            Self::Reply => REPLY,
        }
    }
}

/// A packet that is to be sent again. They stand in the order of their times, whatever the partitions.
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
    /// How often it will have been sent again.
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

    /// How often it will have been sent again, as its packet says it.
    pub(crate) fn mark(&self) -> u8 {
        repeated(self.times)
    }

    /// As its source sends it.
    pub(crate) fn kind(&self) -> Kind {
        if self.reply { Kind::Reply } else { Kind::Request }
    }
}

/// There will be no reply to a request: it has been given up, or its reply has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Ending {
    /// Tick in which who has asked knows of it.
    pub at: Tick,
    /// Who was asked.
    pub asked: u32,
    /// Cycle in which the request was generated; all ones if it is its reply that was given up.
    pub cycle: u32,
    /// Who asked.
    pub source: u32,
}
