//! What crosses from one partition to another.

use super::control::Message;
use crate::engine::Event;
use crate::engine::Tick;
use crate::engine::parallel::Post;
use crate::packet::Packet;

/// What crosses from one partition to another.
#[derive(Debug, Default)]
pub struct Mail {
    /// Arrivals of heads: tick and queue in the receiving partition.
    pub(crate) heads: Vec<(Tick, u32)>,
    /// The packets of `heads`, in the same order.
    pub(crate) packets: Vec<Packet>,
    /// Anything else: tick and event.
    pub(crate) events: Vec<(Tick, Event)>,
    /// Control messages and the ticks at which they arrive.
    pub(crate) messages: Vec<(Tick, Message)>,
}

impl Post for Mail {
    fn is_empty(&self) -> bool {
        self.heads.is_empty() && self.events.is_empty() && self.messages.is_empty()
    }

    fn successor(&self, ticks: (Tick, Tick)) -> Self {
        let like = |sent: usize| {
            let expected = sent as u64 * u64::from(ticks.1) / u64::from(ticks.0);
            (expected + expected / 16) as usize
        };
        Self {
            heads: Vec::with_capacity(like(self.heads.len())),
            packets: Vec::with_capacity(like(self.packets.len())),
            events: Vec::with_capacity(like(self.events.len())),
            messages: Vec::with_capacity(like(self.messages.len())),
        }
    }
}

impl Mail {
    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.heads.capacity() * 8
            + self.packets.capacity() * size_of::<Packet>()
            + self.events.capacity() * 12
            + self.messages.capacity() * size_of::<(Tick, Message)>()
    }
}
