//! Networks that carry whole messages: what stands in for routers where only the hosts are of interest.

use crate::host::Message;

/// Where a message is after a hop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hop {
    /// At its destination, at this time.
    Arrives(u64),
    /// At the next place on its way, at this time.
    Next(u64),
}

/// Carries messages.
pub trait Network {
    /// A message that has taken `hops` hops goes on at `now`. Asked in the order of time.
    fn hop(&mut self, message: &Message, hops: u32, now: u64) -> Hop;

    /// What is yet to be sent over a rail of `rank` at `now`, in whatever unit: for those that choose the least.
    fn queued(&self, _rank: u32, _rail: u8, _now: u64) -> u64 {
        0
    }

    /// True if messages never wait for one another, so that the order in which they are asked for does not matter.
    fn is_ideal(&self) -> bool {
        false
    }
}

/// Every message takes the same time, L of LogGOPS, or one that depends on its source and destination.
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

/// Each hop takes in all of a message before it sends it on; a link carries one message at a time, in the order in
/// which they come.
#[derive(Debug)]
pub struct StoreAndForward<R> {
    links: Vec<Link>,
    /// The next hop's link, from source, destination and hops taken; `None` at the destination.
    route: R,
    /// When each link is free.
    free: Vec<u64>,
}

impl<R: Fn(u32, u32, u32) -> Option<u32>> StoreAndForward<R> {
    /// A network of these links; `route` gives the link of a hop by source, destination and number of hops taken, and
    /// nothing at the destination.
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
