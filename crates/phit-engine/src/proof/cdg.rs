//! Deadlock freedom by the channel dependency graph (Dally and Seitz, "Deadlock-free message routing in multiprocessor
//! interconnection networks", IEEE Transactions on Computers 1987).
//!
//! A channel is one virtual channel of a link between two routers. A packet that holds channel c and may ask for
//! channel d next makes d a dependency of c. If the graph of all dependencies of all packets has no cycle, no packets
//! can wait for one another in a circle. Endpoints take every packet that reaches them and hold no channel that a
//! packet of the network needs, so that their links are left out.
//!
//! The routes are followed hop by hop as [`Topology::minimal_hops`] and [`Topology::group_hops`] give them, from every
//! router with endpoints to every target, with everything that a hop may depend on: where the packet is, how it came,
//! its leg, and its hops in this leg. The proof is exact for these routes and says nothing of a mechanism that leaves
//! them.
//!
//! Endpoints that answer requests ([`Messages`]) do not take every packet: a request waits at its destination until
//! there is room for it, and that is for a reply to leave, which waits in the injection queue of its router. Injection
//! queues are then channels, too, and the graph is that of both kinds of packets (Dally and Towles, *Principles and
//! Practices of Interconnection Networks*, section 14.1.4).

use crate::engine::poll;
use crate::fabric::seams::routing::{Channels, Legs, Routes};
use crate::topology::{Hop, HopState, Hops, Leg, Peer, Topology, host_groups};
use petgraph::algo::kosaraju_scc;
use petgraph::graphmap::DiGraphMap;
use std::collections::{BTreeSet, HashMap, HashSet};
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

impl fmt::Display for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "router {} port {} VC {}", self.router, self.port, self.vc)
    }
}

/// A completed proof.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Report {
    /// Channels of the network.
    pub channels: usize,
    /// Dependencies among them.
    pub dependencies: usize,
    /// States of packets from which a hop was taken, counted once for each target.
    pub states: usize,
}

/// Why a proof failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Flaw {
    /// Packets can wait for one another in a circle: each of these channels depends on the next, the last on the first.
    #[error("the channels wait for one another in a circle: {}", list(.0))]
    Cycle(Vec<Channel>),
    /// A hop asks for a channel that does not exist: an output that leads to no router, or too few VCs.
    #[error("a route from router {from} asks for a channel that does not exist: {channel}")]
    NoSuchChannel {
        /// Router where the leg began.
        from: u32,
        /// The missing channel.
        channel: Channel,
    },
    /// A leg has more hops than any minimal path.
    #[error("a minimal route from router {from} has more than {hops} hops")]
    TooLong {
        /// Router where the leg began.
        from: u32,
        /// The topology's diameter.
        hops: u32,
    },
    /// A router that is not the target has no hop towards it.
    #[error("router {at} has no hop on a route from router {from}")]
    Stranded {
        /// Router where the leg began.
        from: u32,
        /// Router where it ends too early.
        at: u32,
    },
    /// A route of a table comes back to a router where it has been.
    #[error("the route from router {from} to endpoint {destination} comes back to router {at}")]
    Loop {
        /// Router where it began.
        from: u32,
        /// Where it should lead.
        destination: u32,
        /// The router.
        at: u32,
    },
    /// A route of a table ends elsewhere.
    #[error("the route from router {from} to endpoint {destination} ends at router {at}, at port {port}")]
    Astray {
        /// Router where it began.
        from: u32,
        /// Where it should lead.
        destination: u32,
        /// Router where it ends.
        at: u32,
        /// Port by which it leaves.
        port: u16,
    },
    /// A table has no entry for a destination.
    #[error("the route from router {from} to endpoint {destination} ends at router {at}, which has no entry for it")]
    NoEntry {
        /// Router where it began.
        from: u32,
        /// Where it should lead.
        destination: u32,
        /// Router where it ends.
        at: u32,
    },
    /// A route of a table has more hops than a packet can count.
    #[error("the route from router {from} to endpoint {destination} has more than {hops} hops")]
    Endless {
        /// Router where it began.
        from: u32,
        /// Where it should lead.
        destination: u32,
        /// The most hops.
        hops: u32,
    },
}

fn list(channels: &[Channel]) -> String {
    channels.iter().map(Channel::to_string).collect::<Vec<_>>().join(" -> ")
}

/// Proves that routes of these legs are free of deadlock on this topology with `vcs` virtual channels in each link
/// class, or shows why not.
///
/// Time and memory grow with the square of the number of routers, and with the number of channels times the number of
/// routers for routes of two legs: meant for networks of up to a few thousand routers.
pub fn check(topology: &dyn Topology, legs: Legs, vcs: &[u8]) -> Result<Report, Flaw> {
    check_all(topology, &[legs.into()], vcs, None)
}

/// Requests and replies, of which both take the routes at hand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Messages {
    /// Each kind has virtual channels of its own, as many as are given.
    Apart,
    /// They share the virtual channels.
    Together,
}

/// Checks the order of channels for packets of which each takes a route of one of several kinds.
pub(crate) fn check_all(
    topology: &dyn Topology,
    routes: &[Routes],
    vcs: &[u8],
    messages: Option<Messages>,
) -> Result<Report, Flaw> {
    let mut walk = Walk::new(topology, vcs, messages);
    for &routes in routes {
        follow(&mut walk, routes)?;
    }
    walk.conclude()
}

fn follow(walk: &mut Walk<'_>, Routes { legs, channels }: Routes) -> Result<(), Flaw> {
    let topology = walk.topology;
    walk.rule = channels;
    let last = legs.last_leg(topology);
    let mut starts: Vec<Packet> = topology.hosts().map(Packet::injected).collect();
    if legs.are_valiant() {
        if channels == Channels::Progressive {
            // A packet may choose the second leg one local hop from its source.
            let hesitant = |i: &u32| walk.ends[*i as usize].class == LOCAL && walk.ends[*i as usize].channel.vc == 0;
            let channels = (0..walk.ends.len() as u32).filter(hesitant);
            starts.extend(channels.map(|channel| walk.arrived(channel, Hops::default())));
        }
        let targets: Vec<Target> = match legs {
            Legs::ToGroup => host_groups(topology).map(Target::Group).collect(),
            _ => topology.hosts().map(Target::Router).collect(),
        };
        let mut ends = HashSet::new();
        for target in targets {
            walk.leg(&starts, target, legs.leg(0), &mut ends)?;
        }
        // A second leg may also begin where a packet is injected: at its intermediate router or group.
        let mut ends: Vec<u32> = ends.into_iter().collect();
        ends.sort_unstable();
        let arrived: Vec<Packet> = ends.into_iter().map(|channel| walk.arrived(channel, Hops::default())).collect();
        starts.extend(arrived);
    }
    for to in topology.hosts() {
        walk.leg(&starts, Target::Router(to), last, &mut HashSet::new())?;
    }
    Ok(())
}

/// Where a leg ends.
#[derive(Debug, Clone, Copy)]
enum Target {
    Router(u32),
    Group(u32),
}

/// The head of a packet in a router.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Packet {
    at: u32,
    /// The channel that it holds; none if it was injected here.
    holds: Option<u32>,
    /// Link class and VC of that channel.
    came: (u8, u8),
    /// Hops taken in this leg.
    hops: Hops,
}

impl Packet {
    fn injected(at: u32) -> Self {
        Self { at, holds: None, came: (0, 0), hops: Hops::default() }
    }
}

/// A channel, and what is at the end of it.
#[derive(Debug, Clone, Copy)]
pub(super) struct End {
    pub(super) channel: Channel,
    pub(super) class: u8,
    pub(super) router: u32,
}

/// The channels and dependencies found so far.
pub(super) struct Walk<'a> {
    topology: &'a dyn Topology,
    vcs: &'a [u8],
    pub(super) ends: Vec<End>,
    pub(super) index: HashMap<Channel, u32>,
    rule: Channels,
    pub(super) dependencies: DiGraphMap<u32, ()>,
    pub(super) states: usize,
    messages: Option<Messages>,
    /// Channels that packets in injection queues wait for.
    pub(super) first: BTreeSet<u32>,
    /// Channels in which packets reach their destinations.
    pub(super) last: BTreeSet<u32>,
}

impl<'a> Walk<'a> {
    pub(super) fn new(topology: &'a dyn Topology, vcs: &'a [u8], messages: Option<Messages>) -> Self {
        let mut ends = Vec::new();
        for (router, port) in (0..topology.routers()).flat_map(|r| (0..topology.ports(r)).map(move |p| (r, p))) {
            let link = topology.port(router, port);
            if let Peer::Router { router: to, .. } = link.peer {
                let count = vcs.get(usize::from(link.class)).copied().unwrap_or(0);
                let end = |vc| End { channel: Channel { router, port, vc }, class: link.class, router: to };
                ends.extend((0..count).map(end));
            }
        }
        let index = ends.iter().zip(0..).map(|(end, i)| (end.channel, i)).collect();
        let (dependencies, first, last) = Default::default();
        Self { topology, vcs, ends, index, rule: Channels::OfLegs, dependencies, states: 0, messages, first, last }
    }

    /// A packet at the end of a channel, after `hops` in this leg.
    fn arrived(&self, channel: u32, hops: Hops) -> Packet {
        let end = self.ends[channel as usize];
        Packet { at: end.router, holds: Some(channel), came: (end.class, end.channel.vc), hops }
    }

    /// Follows one leg from all starts to one target, and adds the channels in which packets reach it to `reached`.
    fn leg(&mut self, starts: &[Packet], target: Target, leg: Leg, reached: &mut HashSet<u32>) -> Result<(), Flaw> {
        let mut seen = HashSet::new();
        let mut open: Vec<(u32, Packet)> = starts.iter().map(|&packet| (packet.at, packet)).collect();
        let mut hops = Vec::new();
        while let Some((from, packet)) = open.pop() {
            poll();
            if self.is_at(packet.at, target) {
                if leg.index + 1 >= leg.of {
                    self.last.extend(packet.holds);
                }
                // A leg without hops ends in a channel of the leg before it, which is known already.
                reached.extend(packet.holds.filter(|_| packet.hops != Hops::default()));
                continue;
            }
            if !seen.insert(packet) {
                continue;
            }
            self.states += 1;
            if packet.hops.total() >= self.topology.diameter() {
                return Err(Flaw::TooLong { from, hops: self.topology.diameter() });
            }
            hops.clear();
            self.hops(packet, target, leg, &mut hops);
            if hops.is_empty() {
                return Err(Flaw::Stranded { from, at: packet.at });
            }
            for (hop, i) in hops.iter().flat_map(|hop| (0..hop.vcs).map(move |i| (hop, i))) {
                let class = self.topology.port(packet.at, hop.port).class;
                let vc = self.rule.first(*hop, class, &packet, leg).saturating_add(i);
                let channel = Channel { router: packet.at, port: hop.port, vc };
                let Some(&next) = self.index.get(&channel) else {
                    return Err(Flaw::NoSuchChannel { from, channel });
                };
                match packet.holds {
                    Some(held) => drop(self.dependencies.add_edge(held, next, ())),
                    None => drop(self.first.insert(next)),
                }
                let mut taken = packet.hops;
                taken.add(self.ends[next as usize].class);
                open.push((from, self.arrived(next, taken)));
            }
        }
        Ok(())
    }

    fn is_at(&self, router: u32, target: Target) -> bool {
        match target {
            Target::Router(to) => router == to,
            Target::Group(group) => self.topology.group_of(router) == group,
        }
    }

    fn hops(&self, packet: Packet, target: Target, leg: Leg, out: &mut Vec<Hop>) {
        let state = HopState { came_by: packet.came.0, came_in: packet.came.1, leg_hops: packet.hops };
        match target {
            Target::Router(to) => self.topology.minimal_hops(packet.at, to, leg, state, self.vcs, out),
            Target::Group(group) => self.topology.group_hops(packet.at, group, leg, state, self.vcs, out),
        }
    }

    /// The dependencies of requests and of replies, with those that endpoints make of them: channels of requests, of
    /// replies if these have some of their own, then injection queues by network and router.
    fn with_messages(&mut self, messages: Messages) {
        let (count, routers) = (self.ends.len() as u32, self.topology.routers());
        let replies = match messages {
            Messages::Apart => 1,
            Messages::Together => 0,
        };
        let injection = |network: u32, router: u32| (1 + replies) * count + network * routers + router;
        let mut all = DiGraphMap::new();
        for network in 0..=replies {
            let of = |channel: u32| network * count + channel;
            all.extend(self.dependencies.all_edges().map(|(from, to, _)| (of(from), of(to))));
            let starts = self.first.iter().map(|&channel| (channel, self.ends[channel as usize].channel.router));
            all.extend(starts.map(|(channel, router)| (injection(network, router), of(channel))));
        }
        let ends = self.last.iter().map(|&channel| (channel, self.ends[channel as usize].router));
        all.extend(ends.map(|(channel, router)| (channel, injection(replies, router))));
        // A request may be for an endpoint of its own router.
        all.extend(self.topology.hosts().map(|router| (injection(0, router), injection(replies, router))));
        self.dependencies = all;
        let mut more = Vec::new();
        for end in self.ends.iter().filter(|_| replies == 1) {
            let (Channel { vc, .. }, own) = (end.channel, self.vcs[usize::from(end.class)]);
            more.push(End { channel: Channel { vc: vc.saturating_add(own), ..end.channel }, ..*end });
        }
        for (network, router) in (0..=replies).flat_map(|network| (0..routers).map(move |router| (network, router))) {
            let to_endpoint = |&port: &u16| matches!(self.topology.port(router, port).peer, Peer::Endpoint(_));
            let port = (0..self.topology.ports(router)).find(to_endpoint).unwrap_or(0);
            let vc = network as u8 * self.vcs.first().copied().unwrap_or(1);
            more.push(End { channel: Channel { router, port, vc }, class: 0, router });
        }
        self.ends.extend(more);
    }

    /// Looks for a cycle among the dependencies.
    pub(super) fn conclude(mut self) -> Result<Report, Flaw> {
        let channels = self.ends.len() * if self.messages == Some(Messages::Apart) { 2 } else { 1 };
        if let Some(messages) = self.messages {
            self.with_messages(messages);
        }
        let waiting = |&channel: &u32| self.dependencies.contains_edge(channel, channel);
        for component in kosaraju_scc(&self.dependencies) {
            if component.len() > 1 || component.iter().any(waiting) {
                let cycle = self.cycle_in(&component);
                return Err(Flaw::Cycle(cycle.into_iter().map(|i| self.ends[i as usize].channel).collect()));
            }
        }
        Ok(Report { channels, dependencies: self.dependencies.edge_count(), states: self.states })
    }

    /// A shortest cycle through the first channel of a strongly connected component, by breadth-first search.
    fn cycle_in(&self, component: &[u32]) -> Vec<u32> {
        let Some(&start) = component.iter().min() else { return Vec::new() };
        let mut before = HashMap::new();
        let mut layer = vec![start];
        while !layer.is_empty() && !before.contains_key(&start) {
            let mut next = Vec::new();
            for &from in &layer {
                for to in self.dependencies.neighbors(from) {
                    before.entry(to).or_insert_with(|| {
                        next.push(to);
                        from
                    });
                }
            }
            layer = next;
        }
        let mut cycle = vec![start];
        let mut at = start;
        while let Some(&from) = before.get(&at) {
            if from == start {
                break;
            }
            cycle.push(from);
            at = from;
        }
        cycle[1..].reverse();
        cycle
    }
}

#[cfg(test)]
mod tests;
