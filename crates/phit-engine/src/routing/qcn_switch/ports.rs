//! What a router knows of its ports to others, and notifications.

use crate::engine::{Rng, Tick};
use crate::routing::Payload;
use std::collections::VecDeque;

/// A packet in a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Waiting {
    /// When it came to the queue, or left it.
    pub(super) since: Tick,
    /// The queue of its port.
    pub(super) queue: u16,
    pub(super) phits: u16,
    /// Endpoint that sent it, and router to which it goes.
    pub(super) source: u32,
    pub(super) to: u32,
}

/// A port to another router: congestion point and output.
#[derive(Debug)]
pub(super) struct Port {
    pub(super) number: u16,
    /// Tick of the next sample.
    pub(super) due: Tick,
    /// The queue at the last sample.
    pub(super) before: u32,
    /// Packets in the input buffer, or those that may be in the output buffer.
    pub(super) held: Vec<Waiting>,
    /// Packets that have left lately, with the tick of that ([`Point::InputAndLink`]).
    pub(super) recent: VecDeque<Waiting>,
    /// Ticks for which they count.
    pub(super) lately: Tick,
    /// The probability of routing minimally.
    pub(super) probability: f64,
    /// Phits until it rises.
    pub(super) left: i64,
    /// The latest feedback, and when it came.
    pub(super) heard: (u8, Tick),
}

impl Port {
    /// Phits of the queue in tick `now`.
    pub(super) fn phits(&mut self, now: Tick) -> u32 {
        let lately = self.lately;
        while self.recent.front().is_some_and(|packet| packet.since + lately < now) {
            self.recent.pop_front();
        }
        self.packets().map(|packet| u32::from(packet.phits)).sum()
    }

    /// The packets of the queue.
    pub(super) fn packets(&self) -> impl Iterator<Item = &Waiting> {
        self.recent.iter().chain(&self.held)
    }

    pub(super) fn bytes(&self) -> usize {
        size_of::<Self>() + (self.held.capacity() + self.recent.capacity()) * size_of::<Waiting>()
    }
}

/// A router: its ports to other routers, and the notifications that it has heard in this cycle.
#[derive(Debug)]
pub(super) struct Router {
    /// The first of these ports.
    pub(super) first: u16,
    pub(super) ports: Vec<Port>,
    pub(super) rng: Rng,
    /// The first tick in which a sample may be due.
    pub(super) check: Tick,
    /// Notifications by port.
    pub(super) heard: Vec<(u16, Notice)>,
}

impl Router {
    pub(super) fn place(&self, port: u16) -> Option<usize> {
        port.checked_sub(self.first).map(usize::from).filter(|place| *place < self.ports.len())
    }
}

/// A notification: the endpoint to which it goes, and the feedback.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Notice {
    pub(super) source: u32,
    pub(super) feedback: u8,
}

impl Notice {
    pub(super) fn payload(self) -> Payload {
        [(self.source >> 16) as u16, self.source as u16, self.feedback.into()].into()
    }

    pub(super) fn of(payload: &[u16]) -> Self {
        let source = u32::from(payload[0]) << 16 | u32::from(payload[1]);
        Self { source, feedback: payload[2] as u8 }
    }
}
