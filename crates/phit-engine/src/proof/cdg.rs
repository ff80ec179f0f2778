//! Deadlock freedom by the channel dependency graph (Dally and Seitz, "Deadlock-free message routing in multiprocessor
//! interconnection networks", IEEE Transactions on Computers 1987).
//!
//! A channel is one virtual channel of a link between two routers. If a packet that holds channel c may ask for channel
//! d next, d is a dependency of c. If the graph of all dependencies of all packets has no cycle, packets cannot wait
//! for one another in a cycle. Endpoints accept every packet and hold no channel that a packet in the network needs, so
//! their links are left out.
//!
//! The routes are followed hop by hop with [`Topology::minimal_hops`] and [`Topology::group_hops`], from every router
//! with endpoints to every target. A hop may depend on the packet's position, the way that it came, its leg, and its
//! hops in this leg. The proof is exact for these routes, and does not cover a mechanism that leaves them. Endpoints
//! that answer requests add dependencies: see [`messages`](super::messages).

use super::dependencies::Dependencies;
use super::messages::Messages;
use super::walk::{self, Packet, Rule, Start, Walk, Way};
use crate::fabric::seams::queueing::{Place, Widening};
use crate::fabric::seams::routing::{Channels, Legs, Routes};
use crate::topology::{Hop, HopState, Hops, Leg, Topology, Words, host_groups, stops, terminals};
use std::fmt;

/// Link classes of a Dragonfly.
const LOCAL: u8 = 1;
const GLOBAL: u8 = 2;

impl Channels {
    /// The first channel of `hop`, over a link of `class`.
    fn first(self, hop: Hop, class: u8, packet: &Packet, leg: Leg) -> u8 {
        let met_at_entry = leg.index == 1 && packet.came.0 == GLOBAL && packet.hops == Hops::default();
        let undecided = leg.of == 1 && packet.hops.of(GLOBAL) == 0;
        match self {
            Self::Next if class == LOCAL && met_at_entry => 1,
            Self::Progressive if class == LOCAL && !undecided => hop.vc.saturating_add(1),
            _ => hop.vc,
        }
    }
}

/// A virtual channel of a link between two routers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Channel {
    /// Router whose output it is.
    pub router: u32,
    /// Output port.
    pub port: u16,
    /// Virtual channel.
    pub vc: u8,
}

impl Channel {
    /// The channel in words.
    fn said(self, words: Words<'_>) -> String {
        format!("{} VC {}", words.port(self.router, self.port), self.vc)
    }
}

/// A successful proof.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Report {
    /// Channels of the network.
    pub channels: usize,
    /// Dependencies between them.
    pub dependencies: usize,
    /// States of packets from which a hop was taken, counted once for each target.
    pub states: usize,
}

/// Why a proof failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Flaw {
    /// Packets can wait for one another in a cycle: each of these channels depends on the next, the last on the first.
    Cycle(Vec<Channel>),
    /// A hop asks for a channel that does not exist: the output leads to no router, or there are too few VCs.
    NoSuchChannel {
        /// Router where the leg began.
        from: u32,
        /// The missing channel.
        channel: Channel,
    },
    /// A leg has more hops than any minimal path.
    TooLong {
        /// Router where the leg began.
        from: u32,
        /// The topology's diameter.
        hops: u32,
    },
    /// A router that is not the target has no hop towards it.
    Stranded {
        /// Router where the leg began.
        from: u32,
        /// Router where it ends too early.
        at: u32,
    },
    /// A route of a table returns to a router that it has visited.
    Loop {
        /// Router where it began.
        from: u32,
        /// Its destination.
        destination: u32,
        /// The router.
        at: u32,
    },
    /// A route of a table ends at the wrong place.
    Astray {
        /// Router where it began.
        from: u32,
        /// Its destination.
        destination: u32,
        /// Router where it ends.
        at: u32,
        /// Port by which it leaves.
        port: u16,
    },
    /// A table has no entry for a destination.
    NoEntry {
        /// Router where it began.
        from: u32,
        /// Its destination.
        destination: u32,
        /// Router where it ends.
        at: u32,
    },
    /// A route of a table has more hops than a packet can count.
    Endless {
        /// Router where it began.
        from: u32,
        /// Its destination.
        destination: u32,
        /// The most hops.
        hops: u32,
    },
}

impl Flaw {
    /// The flaw in words.
    pub fn said(&self, words: Words<'_>) -> String {
        let route = |from: u32, destination: u32| {
            format!("the route from {} to {}", words.router(from), words.endpoint(destination))
        };
        match *self {
            Self::Cycle(ref channels) => {
                let list: Vec<String> = channels.iter().map(|channel| channel.said(words)).collect();
                format!("the channels wait for one another in a circle: {}", list.join(" -> "))
            }
            Self::NoSuchChannel { from, channel } => {
                let (from, channel) = (words.router(from), channel.said(words));
                format!("a route from {from} asks for a channel that does not exist: {channel}")
            }
            Self::TooLong { from, hops } => {
                format!("a minimal route from {} has more than {hops} hops", words.router(from))
            }
            Self::Stranded { from, at } => {
                format!("{} has no hop on a route from {}", words.router(at), words.router(from))
            }
            Self::Loop { from, destination, at } => {
                format!("{} comes back to {}", route(from, destination), words.router(at))
            }
            Self::Astray { from, destination, at, port } => {
                let port = words.port_alone(at, port);
                format!("{} ends at {}, at port {port}", route(from, destination), words.router(at))
            }
            Self::NoEntry { from, destination, at } => {
                format!("{} ends at {}, which has no entry for it", route(from, destination), words.router(at))
            }
            Self::Endless { from, destination, hops } => {
                format!("{} has more than {hops} hops", route(from, destination))
            }
        }
    }
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.said(Words::default()))
    }
}

impl std::error::Error for Flaw {}

/// Proves that routes of these legs are free of deadlock on this topology with `vcs` virtual channels in each link
/// class, or shows why not.
///
/// Time grows with the number of routers times the number of channels.
pub fn check(topology: &dyn Topology, legs: Legs, vcs: &[u8]) -> Result<Report, Flaw> {
    check_all(topology, &[legs.into()], vcs, None, &[])
}

/// Checks the order of channels for packets that take routes of several kinds. With `widenings`, hops may take more
/// channels than the routes name, and a blocked packet waits for the highest of them. Packets of each are in the
/// network together.
pub(crate) fn check_all(
    topology: &dyn Topology,
    routes: &[Routes],
    vcs: &[u8],
    messages: Option<Messages>,
    widenings: &[&dyn Widening],
) -> Result<Report, Flaw> {
    let mut walk = Walk::new(topology, vcs);
    for &routes in routes {
        if widenings.is_empty() {
            follow(&mut walk, routes, None)?;
        }
        for &widening in widenings {
            follow(&mut walk, routes, Some(widening))?;
        }
    }
    walk.conclude(messages)
}

/// [`check_all`] for packets that may begin at any router.
pub(crate) fn check_from_everywhere(topology: &dyn Topology, routes: &[Routes], vcs: &[u8]) -> Result<Report, Flaw> {
    let mut walk = Walk::new(topology, vcs);
    for &routes in routes {
        follow_from(&mut walk, routes, None, (0..topology.routers()).collect())?;
    }
    walk.conclude(None)
}

fn follow(walk: &mut Walk<'_>, routes: Routes, widening: Option<&dyn Widening>) -> Result<(), Flaw> {
    let starts = terminals(walk.topology);
    follow_from(walk, routes, widening, starts)
}

fn follow_from(
    walk: &mut Walk<'_>,
    Routes { legs, channels }: Routes,
    widening: Option<&dyn Widening>,
    starts: Vec<u32>,
) -> Result<(), Flaw> {
    let (topology, vcs) = (walk.topology, walk.vcs);
    let terminals = terminals(topology);
    let mut starts: Vec<Start> = starts.into_iter().map(Start::injected).collect();
    let towards = |target, leg| Towards { topology, vcs, channels, widening, target, leg, hops: Vec::new() };
    if legs.are_valiant() {
        if channels == Channels::Progressive {
            // A packet may choose the second leg one local hop after its source.
            let ends = walk.dependencies.ends.iter().zip(0..);
            let hesitant = ends.filter(|(end, _)| end.class == LOCAL && end.channel.vc == 0);
            starts.extend(walk.starts(hesitant.map(|(_, channel)| channel)));
        }
        let targets: Vec<Target> = match legs {
            Legs::ToGroup => host_groups(topology).map(Target::Group).collect(),
            _ => stops(topology).map(Target::Router).collect(),
        };
        let mut ends = vec![false; walk.dependencies.ends.len()];
        for target in targets {
            walk.follow(&starts, &mut towards(target, legs.leg(0)), |channel| ends[channel as usize] = true)?;
        }
        // A second leg may also begin at injection: at its intermediate router or group.
        let ends = (0..).zip(ends).filter_map(|(channel, is_end)| is_end.then_some(channel));
        starts.extend(walk.starts(ends));
    }
    let last = legs.last_leg(topology);
    let mut ends = vec![false; walk.dependencies.ends.len()];
    for to in terminals {
        walk.follow(&starts, &mut towards(Target::Router(to), last), |channel| ends[channel as usize] = true)?;
        // A last leg may have no hops.
        let there = starts.iter().filter(|start| start.packet.at == to);
        there.flat_map(|start| start.holds.iter().flatten()).for_each(|&channel| ends[channel as usize] = true);
    }
    walk.dependencies.left.iter_mut().zip(ends).for_each(|(left, is_end)| *left |= is_end);
    Ok(())
}

/// The end of a leg.
#[derive(Debug, Clone, Copy)]
enum Target {
    Router(u32),
    Group(u32),
}

/// A leg towards a target.
struct Towards<'a> {
    topology: &'a dyn Topology,
    vcs: &'a [u8],
    channels: Channels,
    widening: Option<&'a dyn Widening>,
    target: Target,
    leg: Leg,
    hops: Vec<Hop>,
}

impl Towards<'_> {
    /// The channels that a hop over a link of `class` may take, and of these the one that it can always wait for.
    fn widened(&self, packet: &Packet, class: u8) -> Option<(u8, u8)> {
        let group = match self.target {
            Target::Router(to) => self.topology.group_of(to),
            Target::Group(group) => group,
        };
        let place = Place {
            class,
            first_leg: self.leg.of == 2 && self.leg.index == 0,
            at_target: self.topology.group_of(packet.at) == group,
        };
        self.widening.map(|widening| widening.count(place)).map(|count| (count, count.saturating_sub(1)))
    }
}

impl Rule for Towards<'_> {
    fn is_there(&self, packet: &Packet) -> bool {
        match self.target {
            Target::Router(to) => packet.at == to,
            Target::Group(group) => self.topology.group_of(packet.at) == group,
        }
    }

    fn ways(
        &mut self,
        dependencies: &Dependencies,
        packet: &Packet,
        from: u32,
        out: &mut Vec<Way>,
    ) -> Result<(), Flaw> {
        let &mut Self { topology, vcs, channels, target, leg, .. } = self;
        if packet.hops.total() >= topology.diameter() {
            return Err(Flaw::TooLong { from, hops: topology.diameter() });
        }
        let state = HopState { came_by: packet.came.0, came_in: packet.came.1, leg_hops: packet.hops };
        self.hops.clear();
        match target {
            Target::Router(to) => topology.minimal_hops(packet.at, to, leg, state, vcs, &mut self.hops),
            Target::Group(group) => topology.group_hops(packet.at, group, leg, state, vcs, &mut self.hops),
        }
        if self.hops.is_empty() {
            return Err(Flaw::Stranded { from, at: packet.at });
        }
        for hop in &self.hops {
            let class = topology.port(packet.at, hop.port).class;
            let (hop, waits_for) = match self.widened(packet, class) {
                Some((count, highest)) => (Hop { vc: 0, vcs: count, ..*hop }, Some(highest)),
                None => (Hop { vc: channels.first(*hop, class, packet, leg), ..*hop }, None),
            };
            walk::channels(dependencies, packet.at, hop, from, |channel| {
                let vc = dependencies.ends[channel as usize].channel.vc;
                out.push(Way { channel, memo: 0, waits: waits_for.is_none_or(|highest| vc == highest) });
            })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
