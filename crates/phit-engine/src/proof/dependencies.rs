//! Channels, their dependencies, and circles among them.

use super::cdg::{Channel, Flaw, Report};
use crate::topology::{Peer, Topology};
use std::ops::Range;

/// A channel, and what is at the end of it.
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
    /// The first channel of each router, and the number of all.
    leaving: Vec<u32>,
    /// By router, the first channel of each port, counted from that of the router, and the number of all.
    ports: Vec<Vec<u32>>,
    /// By channel, a bit for each channel that leaves the router at its end; nothing as long as none is set.
    after: Vec<Box<[u64]>>,
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
        let after = vec![Box::default(); ends.len()];
        Self { ends, leaving, ports, after }
    }

    /// The number of a channel, if it exists.
    #[inline]
    pub(super) fn number(&self, channel: Channel) -> Option<u32> {
        let starts = &self.ports[channel.router as usize];
        let (first, next) = (*starts.get(usize::from(channel.port))?, *starts.get(usize::from(channel.port) + 1)?);
        let place = first + u32::from(channel.vc);
        (place < next).then(|| self.leaving[channel.router as usize] + place)
    }

    /// The channels that leave the router at the end of one.
    fn behind(&self, channel: u32) -> Range<u32> {
        let router = self.ends[channel as usize].router as usize;
        self.leaving[router]..self.leaving[router + 1]
    }

    /// A packet that holds one channel may ask for the other, which leaves the router at its end.
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

    /// A packet that holds one channel may ask for all of a set, as [`Self::set`] makes it.
    #[inline]
    pub(super) fn add_all(&mut self, held: u32, asked: &[u64]) {
        let row = &mut self.after[held as usize];
        match row.is_empty() {
            true => *row = asked.into(),
            false => row.iter_mut().zip(asked).for_each(|(row, asked)| *row |= asked),
        }
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

    /// The channels on which one depends, in order.
    fn of(&self, channel: u32) -> impl Iterator<Item = u32> + '_ {
        let first = self.behind(channel).start;
        self.after[channel as usize].iter().zip(0..).flat_map(move |(&word, index)| {
            let mut rest = word;
            std::iter::from_fn(move || {
                let bit = rest.trailing_zeros();
                (rest != 0).then(|| {
                    rest &= rest - 1;
                    first + 64 * index + bit
                })
            })
        })
    }

    /// Looks for a circle. `states` is for the report.
    pub(super) fn conclude(&self, states: usize) -> Result<Report, Flaw> {
        let count = self.after.iter().flat_map(|row| row.iter()).map(|word| word.count_ones() as usize).sum();
        match self.circle() {
            Some(circle) => Err(Flaw::Cycle(circle.into_iter().map(|i| self.ends[i as usize].channel).collect())),
            None => Ok(Report { channels: self.ends.len(), dependencies: count, states }),
        }
    }

    /// A shortest circle through the lowest channel that is in one.
    ///
    /// Channels on which no other depends are taken away, one after another (A. B. Kahn, "Topological sorting of large
    /// networks", Communications of the ACM 1962): what is left is in circles, or behind them.
    fn circle(&self) -> Option<Vec<u32>> {
        let mut waiting = vec![0u32; self.ends.len()];
        for channel in 0..self.ends.len() as u32 {
            self.of(channel).for_each(|next| waiting[next as usize] += 1);
        }
        let mut free: Vec<u32> = (0..).zip(&waiting).filter(|(_, count)| **count == 0).map(|(free, _)| free).collect();
        while let Some(channel) = free.pop() {
            for next in self.of(channel) {
                waiting[next as usize] -= 1;
                if waiting[next as usize] == 0 {
                    free.push(next);
                }
            }
        }
        let mut left = (0..).zip(&waiting).filter(|(_, count)| **count > 0).map(|(channel, _)| channel);
        left.find_map(|channel| self.circle_through(channel))
    }

    /// A shortest circle through a channel, by a search in breadth.
    fn circle_through(&self, start: u32) -> Option<Vec<u32>> {
        let mut before = vec![u32::MAX; self.ends.len()];
        let mut found = vec![start];
        let mut at = 0;
        while before[start as usize] == u32::MAX {
            let from = *found.get(at)?;
            at += 1;
            for to in self.of(from) {
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
}
