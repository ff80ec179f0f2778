//! Follows packets of all sources towards a target over all their possible hops.
//!
//! A packet's hops depend on its router, the way that it came and its memory, not on the channel that it holds. So
//! packets that differ only in that channel are handled together, and each hop is computed once.

use super::cdg::{Channel, Flaw, Report};
use super::dependencies::Dependencies;
use super::messages::{self, Messages};
use crate::engine::poll;
use crate::topology::{Hop, Hops, Topology};
use rustc_hash::{FxHashMap, FxHashSet};

/// The head of a packet in a router: the parts of its state that determine its next hop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Packet {
    pub(super) at: u32,
    /// Link class and virtual channel by which it came.
    pub(super) came: (u8, u8),
    /// Hops taken in this leg.
    pub(super) hops: Hops,
    /// The mechanism's memory in the packet.
    pub(super) memo: u32,
}

/// Packets that differ only in the channels that they hold. Packets without a channel were injected here.
#[derive(Debug, Clone)]
pub(super) struct Start {
    pub(super) packet: Packet,
    pub(super) holds: Vec<Option<u32>>,
}

impl Start {
    /// Packets of endpoints of a router.
    pub(super) fn injected(at: u32) -> Self {
        Self { packet: Packet { at, came: (0, 0), hops: Hops::default(), memo: 0 }, holds: vec![None] }
    }
}

/// A hop that packets may take: its channel, their memory after it, and whether a packet may wait for it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Way {
    pub(super) channel: u32,
    pub(super) memo: u32,
    pub(super) waits: bool,
}

/// The rule that determines packets' hops.
pub(super) trait Rule {
    /// True if the packet has reached its target.
    fn is_there(&self, packet: &Packet) -> bool;
    /// False if a packet's hops do not depend on the number of hops taken. Then hops are not counted.
    fn counts_hops(&self) -> bool {
        true
    }
    /// All hops that the packet may take. `from` is the start of the route.
    fn ways(&mut self, dependencies: &Dependencies, packet: &Packet, from: u32, out: &mut Vec<Way>)
    -> Result<(), Flaw>;
}

/// The channels and dependencies found so far.
pub(super) struct Walk<'a> {
    pub(super) topology: &'a dyn Topology,
    pub(super) vcs: &'a [u8],
    pub(super) dependencies: Dependencies,
    /// States of packets from which a hop was taken, counted once for each target.
    pub(super) states: usize,
    /// By channel: the last search that followed a packet in it, and that packet's memory.
    seen: Vec<(u32, Hops, u32)>,
    /// By channel: the memories of further packets of this search.
    more: FxHashSet<(u32, Hops, u32)>,
    search: u32,
}

/// A search towards one target.
struct Search<'r, R> {
    rule: &'r mut R,
    /// Packets whose hops are known, by their places in `asked`.
    known: FxHashMap<Packet, u32>,
    /// Sets of the channels that packets may ask for and wait for.
    asked: Vec<Vec<u64>>,
    /// Packets to be followed: the start of their route, the channel that they hold, and their state.
    open: Vec<(u32, u32, Packet)>,
    ways: Vec<Way>,
}

impl<R: Rule> Search<'_, R> {
    /// The channels that a packet may ask for and wait for. When they are computed for the first time, the packets
    /// behind all its hops are queued to be followed.
    fn asked(&mut self, dependencies: &Dependencies, packet: &Packet, from: u32) -> Result<&[u64], Flaw> {
        let place = match self.known.get(packet) {
            Some(&place) => place as usize,
            None => {
                self.ways.clear();
                self.rule.ways(dependencies, packet, from, &mut self.ways)?;
                for way in &self.ways {
                    let mut hops = packet.hops;
                    if self.rule.counts_hops() {
                        hops.add(dependencies.ends[way.channel as usize].class);
                    }
                    self.open.push((from, way.channel, dependencies.arrived(way.channel, hops, way.memo)));
                }
                let waits = self.ways.iter().filter(|way| way.waits).map(|way| way.channel);
                self.known.insert(*packet, self.asked.len() as u32);
                self.asked.push(dependencies.set(packet.at, waits));
                self.asked.len() - 1
            }
        };
        Ok(&self.asked[place])
    }
}

impl Dependencies {
    /// A packet at the end of a channel.
    fn arrived(&self, channel: u32, hops: Hops, memo: u32) -> Packet {
        let end = self.ends[channel as usize];
        Packet { at: end.router, came: (end.class, end.channel.vc), hops, memo }
    }
}

impl<'a> Walk<'a> {
    pub(super) fn new(topology: &'a dyn Topology, vcs: &'a [u8]) -> Self {
        let dependencies = Dependencies::new(topology, vcs);
        let seen = vec![(0, Hops::default(), 0); dependencies.ends.len()];
        Self { topology, vcs, dependencies, states: 0, seen, more: FxHashSet::default(), search: 0 }
    }

    /// Packets that begin a leg at the ends of these channels, merged where possible.
    pub(super) fn starts(&self, channels: impl Iterator<Item = u32>) -> Vec<Start> {
        let mut places: FxHashMap<Packet, usize> = FxHashMap::default();
        let mut starts: Vec<Start> = Vec::new();
        for channel in channels {
            let packet = self.dependencies.arrived(channel, Hops::default(), 0);
            let place = *places.entry(packet).or_insert_with(|| {
                starts.push(Start { packet, holds: Vec::new() });
                starts.len() - 1
            });
            starts[place].holds.push(Some(channel));
        }
        starts
    }

    /// True if this search has not yet followed a packet with this channel and this memory.
    fn is_new(&mut self, channel: u32, hops: Hops, memo: u32) -> bool {
        let (search, first) = (self.search, &mut self.seen[channel as usize]);
        match first {
            (last, ..) if *last != search => {
                *first = (search, hops, memo);
                true
            }
            (_, of, noted) if (*of, *noted) == (hops, memo) => false,
            _ => self.more.insert((channel, hops, memo)),
        }
    }

    /// Follows packets from all starts. Calls `reached` with the channels in which they reach their target.
    pub(super) fn follow(
        &mut self,
        starts: &[Start],
        rule: &mut impl Rule,
        mut reached: impl FnMut(u32),
    ) -> Result<(), Flaw> {
        self.search += 1;
        self.more.clear();
        let (known, asked, open, ways) = (FxHashMap::default(), Vec::new(), Vec::new(), Vec::new());
        let mut search = Search { rule, known, asked, open, ways };
        for Start { packet, holds } in starts {
            // A leg without hops ends in a channel of the leg before it, which is known already.
            if search.rule.is_there(packet) {
                continue;
            }
            search.asked(&self.dependencies, packet, packet.at)?;
            for &held in holds {
                match held {
                    None => {
                        self.states += 1;
                        let asked = search.asked(&self.dependencies, packet, packet.at)?;
                        self.dependencies.enter(packet.at, asked);
                    }
                    Some(channel) => self.hold(channel, packet, packet.at, &mut search)?,
                }
            }
            while let Some((from, channel, packet)) = search.open.pop() {
                poll();
                match search.rule.is_there(&packet) {
                    true => reached(channel),
                    false => self.hold(channel, &packet, from, &mut search)?,
                }
            }
        }
        Ok(())
    }

    /// Looks for a cycle among the dependencies, including those that endpoints add.
    pub(super) fn conclude(&self, messages: Option<Messages>) -> Result<Report, Flaw> {
        match messages {
            None => self.dependencies.conclude(self.states),
            Some(kind) => messages::conclude(&self.dependencies, self.topology, self.vcs, kind, self.states),
        }
    }

    /// Adds the channels that a packet in `channel` may ask for, unless they are known.
    fn hold<R: Rule>(
        &mut self,
        channel: u32,
        packet: &Packet,
        from: u32,
        search: &mut Search<'_, R>,
    ) -> Result<(), Flaw> {
        if self.is_new(channel, packet.hops, packet.memo) {
            self.states += 1;
            let asked = search.asked(&self.dependencies, packet, from)?;
            self.dependencies.add_all(channel, asked);
        }
        Ok(())
    }
}

/// Calls `see` with the numbers of the channels of a hop at router `at`, or returns the channel that does not exist.
pub(super) fn channels(
    dependencies: &Dependencies,
    at: u32,
    hop: Hop,
    from: u32,
    mut see: impl FnMut(u32),
) -> Result<(), Flaw> {
    for vc in hop.vc..hop.vc.saturating_add(hop.vcs) {
        let channel = Channel { router: at, port: hop.port, vc };
        see(dependencies.number(channel).ok_or(Flaw::NoSuchChannel { from, channel })?);
    }
    Ok(())
}
