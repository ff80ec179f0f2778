//! Networks that carry whole messages. They replace routers where only the hosts are of interest.

use crate::host::Message;

/// The state of a message after a hop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hop {
    /// It arrives at its destination at this time.
    Arrives(u64),
    /// It arrives at the next place of its route at this time.
    Next(u64),
    /// It is under way. [`Network::advance`] says when it arrives.
    UnderWay,
}

/// A network that carries messages.
pub trait Network {
    /// A message that has taken `hops` hops goes on at `now`. Called in the order of time.
    fn hop(&mut self, message: &Message, hops: u32, now: u64) -> Hop;

    /// The amount yet to be sent over a rail of `rank` at `now`, in any unit, for the choice of the least queued rail.
    fn queued(&self, _rank: u32, _rail: u8, _now: u64) -> u64 {
        0
    }

    /// True if messages never wait for one another, so that the order of calls does not matter.
    fn is_ideal(&self) -> bool {
        false
    }

    /// True if a message may arrive before an earlier one of the same source, destination and tag. Such messages are
    /// then received in the order of sending.
    fn overtakes(&self) -> bool {
        false
    }

    /// When something happens next to the messages that are under way.
    fn next(&mut self) -> Option<u64> {
        None
    }

    /// Goes on to `now`, which is [`Self::next`]. Appends messages with their times of arrival, from `now` on.
    fn advance(&mut self, _now: u64, _arrived: &mut Vec<(u64, Message)>) {}
}

/// Every message takes a time L (LogGOPS), constant or depending on source and destination.
#[derive(Debug)]
pub struct Ideal<L>(pub L);

impl<L: Fn(u32, u32) -> u64> Network for Ideal<L> {
    fn hop(&mut self, message: &Message, _hops: u32, now: u64) -> Hop {
        Hop::Arrives(now.saturating_add(self.0(message.source, message.destination)))
    }

    fn is_ideal(&self) -> bool {
        true
    }
}

/// A link.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Link {
    /// Time from one end to the other.
    pub latency: f64,
    /// Bytes in a unit of time.
    pub bandwidth: f64,
}

/// A store-and-forward network. Each hop receives a message completely before it sends it on. A link carries one
/// message at a time, in the order of arrival.
#[derive(Debug)]
pub struct StoreAndForward<R> {
    links: Vec<Link>,
    /// The next hop's link, from source, destination and hops taken; `None` at the destination.
    route: R,
    /// When each link is free.
    free: Vec<u64>,
}

impl<R: Fn(u32, u32, u32) -> Option<u32>> StoreAndForward<R> {
    /// A network of these links. `route` returns the link of a hop by source, destination and number of hops taken, and
    /// `None` at the destination.
    pub fn new(links: Vec<Link>, route: R) -> Self {
        Self { free: vec![0; links.len()], links, route }
    }
}

impl<R: Fn(u32, u32, u32) -> Option<u32>> Network for StoreAndForward<R> {
    fn hop(&mut self, message: &Message, hops: u32, now: u64) -> Hop {
        let Message { source, destination, bytes, .. } = *message;
        let Some(number) = (self.route)(source, destination, hops) else { return Hop::Arrives(now) };
        let Link { latency, bandwidth } = self.links[number as usize];
        let free = &mut self.free[number as usize];
        let (start, time) = (now.max(*free), bytes as f64 / bandwidth);
        *free = start + time as u64;
        let there = start + (latency + time) as u64;
        match (self.route)(source, destination, hops + 1) {
            None => Hop::Arrives(there),
            Some(_) => Hop::Next(there),
        }
    }
}
