//! What hosts and what carries their messages say to one another.

use crate::plan::{Released, Which};
use crate::program::Operation;
use serde::{Deserialize, Serialize};

/// A message on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// The rank that sent it.
    pub source: u32,
    /// The rank that it goes to.
    pub destination: u32,
    /// The number of the send at its source.
    pub number: u32,
    /// Size in bytes.
    pub bytes: u64,
    /// Its tag.
    pub tag: u32,
    /// The CPU of the send, and the one that takes it at its destination.
    pub cpu: u8,
    /// The interface, or rail, of the send, and the one that it arrives at.
    pub nic: u8,
    /// When its first byte left the host.
    pub left: u64,
    /// What its carrier knows it by.
    pub mark: u32,
}

/// An operation that has nothing left to wait for but its rank's CPU and interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ready {
    /// Its rank.
    pub rank: u32,
    /// Its number.
    pub number: u32,
    /// What it is.
    pub operation: Operation,
    /// The earliest time at which it can be performed.
    pub at: u64,
}

/// What an event has led to.
#[derive(Debug, Default)]
pub struct Effects {
    /// A message that is sent, and the time at which its first byte leaves the host.
    pub sent: Option<(Message, u64)>,
    /// The send of a message that its receive has taken now, if the sender waits for that:
    /// [`Hosts::taken`](super::Hosts::taken) tells it.
    pub taken: Option<Taken>,
    /// A message that a receive has taken, and when all of it was there for that.
    pub matched: Option<(Message, u64)>,
    /// Operations that have nothing left to wait for, and how many of them have been taken out.
    pub(super) released: Vec<Released>,
    pub(super) taken_out: usize,
    /// Those before this one stand in their order.
    pub(super) in_order: usize,
}

/// A message that a receive has taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Taken {
    /// The rank that sent it.
    pub source: u32,
    /// The number of the send.
    pub number: u32,
    /// The interface, or rail, that it took.
    pub nic: u8,
}

/// What is left when nothing can ever happen again.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Left {
    /// Receives without a message, as (rank, number).
    pub receives: Vec<Which>,
    /// Messages that no receive has taken.
    pub messages: Vec<Message>,
    /// Operations that have never been performed, as (rank, number); receives that are waiting are not among them.
    pub never: Vec<Which>,
}

impl Message {
    /// Puts messages in an order that does not depend on who had them.
    pub fn sort(messages: &mut [Self]) {
        messages.sort_by_key(|message| (message.destination, message.source, message.number, message.left));
    }
}

impl Left {
    /// Adds what is left of other ranks.
    pub fn add(&mut self, Self { receives, messages, never }: Self) {
        self.receives.extend(receives);
        self.messages.extend(messages);
        self.never.extend(never);
    }

    /// Puts everything in an order that does not depend on what was added first.
    pub fn sort(&mut self) {
        self.receives.sort_unstable();
        self.never.sort_unstable();
        Message::sort(&mut self.messages);
    }

    /// True if the program has come to its end.
    pub fn is_empty(&self) -> bool {
        let Self { receives, messages, never } = self;
        receives.is_empty() && messages.is_empty() && never.is_empty()
    }
}
