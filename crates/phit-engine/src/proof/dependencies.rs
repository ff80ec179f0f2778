//! Channels, their dependencies, and cycles of dependencies.

use super::cdg::{Channel, Flaw, Report};
use crate::topology::{Peer, Topology};
use std::ops::Range;

/// A channel, and the input at its end.
#[derive(Debug, Clone, Copy)]
pub(super) struct End {
    pub(super) channel: Channel,
    pub(super) class: u8,
    pub(super) router: u32,
}

/// The channels of a network, numbered router by router, port by port, and the dependencies found so far.
pub(super) struct Dependencies {
    /// All channels.
    pub(super) ends: Vec<End>,
    /// The first channel of each router, and the number of all channels.
    leaving: Vec<u32>,
    /// By router: the first channel of each port, counted from the router's first, and the router's number of channels.
    ports: Vec<Vec<u32>>,
    /// By channel: a bit for each channel that leaves the router at its end. Empty until a bit is set.
    after: Vec<Box<[u64]>>,
    /// Channels that packets in injection queues wait for.
    pub(super) entered: Vec<bool>,
    /// Channels in which packets reach their destinations.
    pub(super) left: Vec<bool>,
}

impl Dependencies {
    pub(super) fn new(topology: &dyn Topology, vcs: &[u8]) -> Self {
        let (mut ends, mut leaving, mut ports) = (Vec::new(), vec![0], Vec::new());
        for router in 0..topology.routers() {
            let first = ends.len();
            let mut starts = vec![0];
            for port in 0..topology.ports(router) {
                let link = topology.port(router, port);
                if let Peer::Router { router: to, .. } = link.peer {
                    let count = vcs.get(usize::from(link.class)).copied().unwrap_or(0);
                    let end = |vc| End { channel: Channel { router, port, vc }, class: link.class, router: to };
                    ends.extend((0..count).map(end));
                }
                starts.push((ends.len() - first) as u32);
            }
            leaving.push(ends.len() as u32);
            ports.push(starts);
        }
        let (after, unknown) = (vec![Box::default(); ends.len()], vec![false; ends.len()]);
        Self { ends, leaving, ports, after, entered: unknown.clone(), left: unknown }
    }

    /// The number of a channel, if it exists.
    #[inline]
    pub(super) fn number(&self, channel: Channel) -> Option<u32> {
        let starts = &self.ports[channel.router as usize];
        let (first, next) = (*starts.get(usize::from(channel.port))?, *starts.get(usize::from(channel.port) + 1)?);
        let place = first + u32::from(channel.vc);
        (place < next).then(|| self.leaving[channel.router as usize] + place)
    }

    /// The channels that leave the router at the end of `channel`.
    fn behind(&self, channel: u32) -> Range<u32> {
        let router = self.ends[channel as usize].router as usize;
        self.leaving[router]..self.leaving[router + 1]
    }

    /// Records that a packet that holds one channel may ask for the other, which leaves the router at its end.
    #[inline]
    pub(super) fn add(&mut self, held: u32, asked: u32) {
        let behind = self.behind(held);
        let place = (asked - behind.start) as usize;
        let row = &mut self.after[held as usize];
        if row.is_empty() {
            *row = vec![0; behind.len().div_ceil(64)].into();
        }
        row[place / 64] |= 1 << (place % 64);
    }

    /// Records that a packet that holds a channel may ask for all channels of a set made by [`Self::set`].
    #[inline]
    pub(super) fn add_all(&mut self, held: u32, asked: &[u64]) {
        let row = &mut self.after[held as usize];
        match row.is_empty() {
            true => *row = asked.into(),
            false => row.iter_mut().zip(asked).for_each(|(row, asked)| *row |= asked),
        }
    }

    /// Records that a packet in an injection queue of `router` may ask for all channels of a set made by [`Self::set`].
    pub(super) fn enter(&mut self, router: u32, asked: &[u64]) {
        let first = self.leaving[router as usize];
        members(asked).for_each(|place| self.entered[(first + place) as usize] = true);
    }

    /// A set of channels that leave `router`.
    pub(super) fn set(&self, router: u32, channels: impl Iterator<Item = u32>) -> Vec<u64> {
        let (first, end) = (self.leaving[router as usize], self.leaving[router as usize + 1]);
        let mut set = vec![0; ((end - first) as usize).div_ceil(64)];
        for place in channels.map(|channel| (channel - first) as usize) {
            set[place / 64] |= 1 << (place % 64);
        }
        set
    }

    /// The channels that `channel` depends on, in order.
    pub(super) fn of(&self, channel: u32) -> impl Iterator<Item = u32> + '_ {
        let first = self.behind(channel).start;
        members(&self.after[channel as usize]).map(move |place| first + place)
    }

    /// Looks for a cycle. `states` is for the report.
    pub(super) fn conclude(&self, states: usize) -> Result<Report, Flaw> {
        let count = self.after.iter().flat_map(|row| row.iter()).map(|word| word.count_ones() as usize).sum();
        match circle(self.ends.len(), |channel| self.of(channel)) {
            Some(circle) => Err(Flaw::Cycle(circle.into_iter().map(|i| self.ends[i as usize].channel).collect())),
            None => Ok(Report { channels: self.ends.len(), dependencies: count, states }),
        }
    }
}

/// The members of a set of bits, in order.
fn members(set: &[u64]) -> impl Iterator<Item = u32> + '_ {
    set.iter().zip(0..).flat_map(|(&word, index)| {
        let mut rest = word;
        std::iter::from_fn(move || {
            let bit = rest.trailing_zeros();
            (rest != 0).then(|| {
                rest &= rest - 1;
                64 * index + bit
            })
        })
    })
}

/// A shortest cycle through the lowest of `count` channels that is in a cycle. `of` returns the channels that a channel
/// depends on.
///
/// Channels without a dependent are removed, one after another (A. B. Kahn, "Topological sorting of large networks",
/// Communications of the ACM 1962). The remaining channels are in cycles, or depend on no others than these do.
pub(super) fn circle<I: Iterator<Item = u32>>(count: usize, of: impl Fn(u32) -> I) -> Option<Vec<u32>> {
    let mut waiting = vec![0u32; count];
    for channel in 0..count as u32 {
        of(channel).for_each(|next| waiting[next as usize] += 1);
    }
    let mut free: Vec<u32> = (0..).zip(&waiting).filter(|(_, count)| **count == 0).map(|(free, _)| free).collect();
    while let Some(channel) = free.pop() {
        for next in of(channel) {
            waiting[next as usize] -= 1;
            if waiting[next as usize] == 0 {
                free.push(next);
            }
        }
    }
    let mut left = (0..).zip(&waiting).filter(|(_, count)| **count > 0).map(|(channel, _)| channel);
    left.find_map(|channel| circle_through(channel, count, &of))
}

/// A shortest cycle through a channel, by breadth-first search.
fn circle_through<I: Iterator<Item = u32>>(start: u32, count: usize, of: impl Fn(u32) -> I) -> Option<Vec<u32>> {
    let mut before = vec![u32::MAX; count];
    let mut found = vec![start];
    let mut at = 0;
    while before[start as usize] == u32::MAX {
        let from = *found.get(at)?;
        at += 1;
        for to in of(from) {
            if before[to as usize] == u32::MAX {
                before[to as usize] = from;
                found.push(to);
            }
        }
    }
    let mut circle = vec![start];
    let mut at = before[start as usize];
    while at != start {
        circle.push(at);
        at = before[at as usize];
    }
    circle[1..].reverse();
    Some(circle)
}
