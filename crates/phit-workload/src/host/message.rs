//! The messages and reports between hosts and the network that carries their messages.

use crate::plan::{Released, Which};
use crate::program::Operation;
use serde::{Deserialize, Serialize};

/// A message under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// The rank that sent it.
    pub source: u32,
    /// Its destination rank.
    pub destination: u32,
    /// The number of the send at its source.
    pub number: u32,
    /// Size in bytes.
    pub bytes: u64,
    /// Its tag.
    pub tag: u32,
    /// The CPU of the send, which is also the CPU that receives it at its destination.
    pub cpu: u8,
    /// The interface, or rail, of the send, and of its arrival.
    pub nic: u8,
    /// When its first byte left the host.
    pub left: u64,
    /// The carrier's mark for it.
    pub mark: u32,
}

/// An operation that only waits for its rank's CPU and interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ready {
    /// Its rank.
    pub rank: u32,
    /// Its number.
    pub number: u32,
    /// The operation itself.
    pub operation: Operation,
    /// The earliest time at which it can be performed.
    pub at: u64,
}

/// The consequences of an event.
#[derive(Debug, Default)]
pub struct Effects {
    /// A message sent, and the time at which its first byte leaves the host.
    pub sent: Option<(Message, u64)>,
    /// The send of a message that its receive has matched now, if the sender waits for this:
    /// [`Hosts::taken`](super::Hosts::taken) must be told.
    pub taken: Option<Taken>,
    /// A message matched by a receive, and the time at which all of it was there for the receive.
    pub matched: Option<(Message, u64)>,
    /// Operations that have nothing left to wait for, and the number of them already taken out.
    pub(super) released: Vec<Released>,
    pub(super) taken_out: usize,
    /// Number of these that are in their final order.
    pub(super) in_order: usize,
}

/// A message that a receive has matched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Taken {
    /// The rank that sent it.
    pub source: u32,
    /// The number of the send.
    pub number: u32,
    /// Its interface, or rail.
    pub nic: u8,
}

/// The unfinished part of a program, when nothing can happen any more.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Left {
    /// Receives without a message, as (rank, number).
    pub receives: Vec<Which>,
    /// Messages that no receive has matched.
    pub messages: Vec<Message>,
    /// Operations that have never been performed, as (rank, number), without waiting receives.
    pub never: Vec<Which>,
}

impl Message {
    /// Sorts messages, so that their order does not depend on the hosts that had them.
    pub fn sort(messages: &mut [Self]) {
        messages.sort_by_key(|message| (message.destination, message.source, message.number, message.left));
    }
}

impl Left {
    /// Adds the unfinished part of other ranks.
    pub fn add(&mut self, Self { receives, messages, never }: Self) {
        self.receives.extend(receives);
        self.messages.extend(messages);
        self.never.extend(never);
    }

    /// Sorts everything, so that the order does not depend on the order of additions.
    pub fn sort(&mut self) {
        self.receives.sort_unstable();
        self.never.sort_unstable();
        Message::sort(&mut self.messages);
    }

    /// True if the program has reached its end.
    pub fn is_empty(&self) -> bool {
        let Self { receives, messages, never } = self;
        receives.is_empty() && messages.is_empty() && never.is_empty()
    }
}
