//! Deadlock freedom of routes whose virtual channels are numbered by their hops (`routing/ladder.rs`).
//!
//! A packet takes any hop after which a minimal route fits into the remaining hops. So its hops depend only on its
//! router, the number of hops taken, and its destination. The packets at a router after k hops form a set of
//! destinations, as do the packets that a link may carry, and one operation follows 64 destinations. The resulting
//! dependencies equal those that [`escape::check_all`] finds destination by destination.

use super::cdg::{Flaw, Report};
use super::dependencies::Dependencies;
use super::escape;
use super::messages::{self, Messages};
use super::walk;
use crate::engine::poll;
use crate::fabric::seams::routing::{Adaptive, Ladder, Standing, Step};
use crate::topology::{Hop, Peer, Topology, terminals};
use std::ops::Range;

/// Destinations that are followed together: 64 in a word.
const WORDS: usize = 8;
const TOGETHER: usize = 64 * WORDS;

/// A set of destinations.
type Set = [u64; WORDS];

const NOBODY: Set = [0; WORDS];

/// Proves that channels do not wait for one another in a cycle, or shows how they do.
pub(crate) fn check(
    topology: &dyn Topology,
    routes: &Ladder,
    vcs: &[u8],
    messages: Option<Messages>,
) -> Result<Report, Flaw> {
    let longest = (routes.longest)(topology);
    let found = match follow(topology, longest, vcs, TOGETHER) {
        Some((dependencies, states)) => match messages {
            None => dependencies.conclude(states),
            Some(kind) => messages::conclude(&dependencies, topology, vcs, kind, states),
        },
        // Packet by packet: this finds out which packet has no channel or no hop.
        None => escape::check_all(topology, &Within { longest }, vcs, messages),
    };
    match &routes.steps {
        Some(steps) if found.is_err() => escape::check_all(topology, &**steps, vcs, messages),
        _ => found,
    }
}

/// A link between two routers.
struct Link {
    port: u16,
    class: usize,
    to: usize,
}

/// All dependencies, and the number of states of packets from which a hop was taken. At most `together` destinations
/// are followed at a time. `None` if a packet has no hop, or asks for a channel that does not exist.
fn follow(topology: &dyn Topology, longest: u32, vcs: &[u8], together: usize) -> Option<(Dependencies, usize)> {
    let mut dependencies = Dependencies::new(topology, vcs);
    let link = |router: u32, port: u16| {
        let link = topology.port(router, port);
        match link.peer {
            Peer::Router { router: to, .. } => Some(Link { port, class: link.class.into(), to: to as usize }),
            Peer::Endpoint(_) | Peer::None => None,
        }
    };
    let links: Vec<Vec<Link>> = (0..topology.routers())
        .map(|router| (0..topology.ports(router)).filter_map(|port| link(router, port)).collect())
        .collect();
    let sources = terminals(topology);
    let mut states = 0;
    for targets in sources.chunks(together) {
        let towards = Towards { topology, longest, vcs, links: &links, sources: &sources, targets };
        states += towards.follow(&mut dependencies)?;
    }
    Some((dependencies, states))
}

/// Packets for some destinations.
struct Towards<'a> {
    topology: &'a dyn Topology,
    longest: u32,
    vcs: &'a [u8],
    /// By router.
    links: &'a [Vec<Link>],
    sources: &'a [u32],
    targets: &'a [u32],
}

impl Towards<'_> {
    /// By router, the destinations that are at most `hops` links away.
    fn near(&self, distances: &[Vec<u32>], hops: u32) -> Vec<Set> {
        let within = |row: &Vec<u32>| {
            let mut set = NOBODY;
            let near = row.iter().enumerate().filter(|(_, distance)| **distance <= hops);
            near.for_each(|(place, _)| set[place / 64] |= 1 << (place % 64));
            set
        };
        distances.iter().map(within).collect()
    }

    /// The channels of the hop over `link` after `taken` others.
    fn channels(&self, dependencies: &Dependencies, at: usize, link: &Link, taken: u32) -> Option<Range<u32>> {
        let available = self.vcs.get(link.class).copied().unwrap_or(0);
        let (vc, vcs) = Ladder::channels(taken, self.longest, available);
        let hop = Hop { port: link.port, vc, vcs };
        let (mut first, mut count) = (None, 0);
        let see = |channel| {
            first.get_or_insert(channel);
            count += 1;
        };
        walk::channels(dependencies, at as u32, hop, at as u32, see).ok()?;
        first.map(|first: u32| first..first + count)
    }

    /// Adds the dependencies of these packets, hop by hop.
    fn follow(&self, dependencies: &mut Dependencies) -> Option<usize> {
        let row = |router| self.targets.iter().map(|&target| self.topology.distance(router, target)).collect();
        let distances: Vec<Vec<u32>> = (0..self.topology.routers()).map(row).collect();
        let itself = self.near(&distances, 0);
        // After k hops: by router, the destinations of packets there that go on.
        let mut there = vec![NOBODY; self.links.len()];
        for host in self.sources.iter().map(|&host| host as usize) {
            let all = !0 >> (63 - (self.targets.len() - 1) % 64);
            let full = self.targets.len().div_ceil(64);
            there[host][..full].fill(!0);
            there[host][full - 1] = all;
            there[host] = but(&there[host], &itself[host]);
        }
        let mut states: usize = there.iter().map(members).sum();
        let mut near = self.near(&distances, self.longest.saturating_sub(1));
        for taken in 0..self.longest {
            poll();
            let after = match self.longest.checked_sub(taken + 2) {
                Some(left) => self.near(&distances, left),
                None => vec![NOBODY; near.len()],
            };
            let mut next = vec![NOBODY; there.len()];
            for (at, here) in there.iter().enumerate().filter(|(_, here)| **here != NOBODY) {
                let mut taken_by = NOBODY;
                for link in &self.links[at] {
                    let carried = and(here, &near[link.to]);
                    if carried == NOBODY {
                        continue;
                    }
                    taken_by = or(&taken_by, &carried);
                    let channels = self.channels(dependencies, at, link, taken)?;
                    if taken == 0 {
                        channels.clone().for_each(|channel| dependencies.entered[channel as usize] = true);
                    }
                    if and(&carried, &itself[link.to]) != NOBODY {
                        channels.clone().for_each(|channel| dependencies.left[channel as usize] = true);
                    }
                    let onward = but(&carried, &itself[link.to]);
                    if onward == NOBODY {
                        continue;
                    }
                    states += channels.len() * members(&onward);
                    next[link.to] = or(&next[link.to], &onward);
                    let asked = self.links[link.to].iter().filter(|link| and(&onward, &after[link.to]) != NOBODY);
                    for link_after in asked {
                        for asked in self.channels(dependencies, link.to, link_after, taken + 1)? {
                            channels.clone().for_each(|held| dependencies.add(held, asked));
                        }
                    }
                }
                if taken_by != *here {
                    return None;
                }
            }
            (there, near) = (next, after);
        }
        there.iter().all(|here| *here == NOBODY).then_some(states)
    }
}

fn and(a: &Set, b: &Set) -> Set {
    std::array::from_fn(|i| a[i] & b[i])
}

fn or(a: &Set, b: &Set) -> Set {
    std::array::from_fn(|i| a[i] | b[i])
}

fn but(a: &Set, b: &Set) -> Set {
    std::array::from_fn(|i| a[i] & !b[i])
}

fn members(set: &Set) -> usize {
    set.iter().map(|word| word.count_ones() as usize).sum()
}

/// The routes of the ladder, packet by packet.
struct Within {
    longest: u32,
}

impl Adaptive for Within {
    fn steps(&self, topology: &dyn Topology, packet: &Standing, vcs: &[u8], out: &mut Vec<Step>) {
        let taken = packet.hops.total();
        for port in 0..topology.ports(packet.at) {
            let link = topology.port(packet.at, port);
            let Peer::Router { router: next, .. } = link.peer else { continue };
            if topology.distance(next, packet.to) < self.longest - taken {
                let available = vcs.get(usize::from(link.class)).copied().unwrap_or(0);
                let (vc, vcs) = Ladder::channels(taken, self.longest, available);
                out.push(Step { hop: Hop { port, vc, vcs }, memo: 0, escape: true });
            }
        }
    }

    fn longest(&self, _: &dyn Topology) -> u32 {
        self.longest
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::{Jellyfish, Mesh, TopologyParams};

    /// The results with sets of destinations, and packet by packet.
    fn both(
        topology: &dyn Topology,
        longest: u32,
        vcs: &[u8],
        messages: Option<Messages>,
    ) -> [Result<Report, Flaw>; 2] {
        let routes = Ladder { longest: Box::new(move |_| longest), steps: None };
        let packets = escape::check_all(topology, &Within { longest }, vcs, messages);
        [check(topology, &routes, vcs, messages), packets]
    }

    #[test]
    fn sets_of_destinations_find_what_following_each_packet_finds() {
        for seed in 0..12 {
            let [routers, links] = [[8, 3], [13, 4], [30, 4]][seed as usize % 3];
            let graph = Jellyfish { routers, links, endpoints_per_router: 1, seed, faults: None }.build().unwrap();
            // As many channels as hops, more, and too few; routes as long as the diameter, and longer.
            for (longest, vcs) in [(0, 0), (2, 0), (3, 3), (2, -1), (4, -2)].map(|(more, vcs)| {
                let longest = graph.diameter() + more;
                (longest, longest.saturating_add_signed(vcs).max(1) as u8)
            }) {
                for messages in [None, Some(Messages::Apart), Some(Messages::Together)] {
                    let [sets, packets] = both(&*graph, longest, &[1, vcs], messages);
                    assert_eq!(sets, packets, "{routers} {links} {seed} {longest} {vcs} {messages:?}");
                }
            }
            // Where no minimal route fits, a packet has no hop.
            let [sets, packets] = both(&*graph, graph.diameter() - 1, &[1, 8], None);
            assert_eq!(sets, packets);
            assert!(sets.is_err());
        }
    }

    #[test]
    fn destinations_may_be_followed_in_any_number_of_sets() {
        let graph =
            Jellyfish { routers: 40, links: 3, endpoints_per_router: 1, seed: 5, faults: None }.build().unwrap();
        let longest = graph.diameter() + 2;
        let found = |together| {
            let (found, states) = follow(&*graph, longest, &[1, longest as u8], together).unwrap();
            let after: Vec<Vec<u32>> =
                (0..found.ends.len() as u32).map(|channel| found.of(channel).collect()).collect();
            (after, found.entered, found.left, states)
        };
        let all = found(TOGETHER);
        for together in [1, 7, 39] {
            assert!(found(together) == all, "{together}");
        }
    }

    #[test]
    fn links_of_several_classes() {
        let mesh = Mesh { dims: vec![3, 4], endpoints_per_router: 1, faults: None }.build().unwrap();
        let [sets, packets] = both(&*mesh, 6, &[1, 6, 7], None).map(Result::unwrap);
        assert_eq!((sets.channels, sets.dependencies), (packets.channels, packets.dependencies));
    }
}
