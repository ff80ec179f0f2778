//! A graph as a topology: ports, shortest paths, and a virtual channel for each hop.

use super::distances::{Distances, Failure, LONGEST, MOST_ROUTERS};
use crate::bandwidth::Bandwidth;
use crate::engine::{Rng, Table};
use crate::error::ScenarioError;
use crate::topology::{Hop, HopState, Leg, Names, Peer, Port, Topology, Words, limits};
use std::ops::Range;
use std::sync::Arc;

/// A link between two routers, in both directions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::topology) struct Link {
    /// The routers.
    pub ends: [u32; 2],
    /// Its class, 1 or more. Class 0 are the endpoints' links.
    pub class: u8,
    /// Its ports; the next free ones if left out.
    pub ports: Option<[u16; 2]>,
}

/// The parts of a network.
#[derive(Debug)]
pub(in crate::topology) struct Wiring {
    /// Names of the classes from 1 on.
    pub classes: Vec<String>,
    /// Endpoints of each router.
    pub endpoints: Vec<u32>,
    /// Phits per cycle of the link of every endpoint; empty if the class's bandwidth holds for all.
    pub bandwidth: Vec<Bandwidth>,
    /// The links.
    pub links: Vec<Link>,
    /// Routers of a group.
    pub group: u32,
}

/// A port to another router.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Far {
    router: u32,
    port: u16,
    class: u8,
}

/// Most different bandwidths of endpoints' links. Together with the classes' bandwidths they are numbered in a byte.
const MOST_BANDWIDTHS: usize = 64;

/// No router.
const NOWHERE: Far = Far { router: u32::MAX, port: 0, class: 0 };

impl Wiring {
    /// [`Self::named`] for a network without names.
    pub(in crate::topology) fn build(self) -> Result<GraphNetwork, ScenarioError> {
        self.named(Names::default())
    }

    /// Checks everything, and measures all distances. Error paths match the keys of [`super::Graph`].
    pub(in crate::topology) fn named(self, names: Names) -> Result<GraphNetwork, ScenarioError> {
        let names = (names != Names::default()).then(|| Arc::new(names));
        let words = Words::of(names.as_ref());
        let routers = self.endpoints.len() as u64;
        if routers > MOST_ROUTERS.into() {
            return Err(ScenarioError::new("routers", routers, format!("expected at most {MOST_ROUTERS} routers")));
        }
        let all: u64 = self.endpoints.iter().map(|&count| u64::from(count)).sum();
        if all == 0 || all > limits::MOST {
            let expected = format!("expected 1 to {} endpoints in all", limits::MOST);
            return Err(ScenarioError::new("endpoints", all, expected));
        }
        if !self.bandwidth.is_empty() && self.bandwidth.len() as u64 != all {
            let expected = format!("expected {all} bandwidths, one for each endpoint");
            return Err(ScenarioError::new(
                "endpoint_bandwidth",
                format!("a list of {}", self.bandwidth.len()),
                expected,
            ));
        }
        let mut kinds = self.bandwidth.clone();
        kinds.sort_unstable();
        kinds.dedup();
        if kinds.len() > MOST_BANDWIDTHS {
            let expected = format!("expected at most {MOST_BANDWIDTHS} different bandwidths");
            return Err(ScenarioError::new("endpoint_bandwidth", kinds.len(), expected));
        }
        if self.group == 0 || !routers.is_multiple_of(u64::from(self.group)) {
            let expected = format!("expected a divisor of {routers}, the number of routers");
            return Err(ScenarioError::new("group", self.group, expected));
        }
        let far = self.ports(words)?;
        let mut classes = vec!["endpoint".to_string()];
        classes.extend(self.classes);
        let attached = self.endpoints.iter().zip(0..).flat_map(|(&count, router)| (0..count).map(move |_| router));
        let first: Vec<u32> = running(self.endpoints.iter().copied());
        let with = |router: &usize| self.endpoints[*router] > 0;
        let hosts = (0..self.endpoints.len()).find(with).unwrap_or(0) as u32
            ..(0..self.endpoints.len()).rfind(with).map_or(0, |last| last as u32 + 1);
        let starts = running(far.iter().map(|ports| ports.len() as u32));
        let peers: Vec<u32> = far.iter().flatten().map(|far| far.router).collect();
        let distances = Distances::new(&starts, &peers).map_err(|failure| {
            let (from, to, what) = match failure {
                Failure::Apart(from, to) => (from, to, "no links lead from one to the other".to_string()),
                Failure::TooFar(from, to) => (from, to, format!("they are more than {LONGEST} links apart")),
            };
            let both = match words.router_name(from).is_some() {
                true => format!("{} and {}", words.router(from), words.router(to)),
                false => format!("routers {from} and {to}"),
            };
            ScenarioError::new("links", both, format!("{what}; expected one network"))
        })?;
        let diameter = distances.longest(hosts.clone());
        let network = GraphNetwork {
            classes,
            first: first.into(),
            attached: attached.collect::<Vec<_>>().into(),
            starts: starts.into(),
            far: far.into_iter().flatten().collect::<Vec<_>>().into(),
            nearest: (self.group > 1).then(|| distances.to_groups(self.group)),
            distances,
            diameter,
            hosts,
            group: self.group,
            names,
            bandwidth: self.bandwidth,
        };
        if let Some(names) = &network.names {
            names.check(&network).map_err(|error| error.under("names"))?;
        }
        Ok(network)
    }

    /// The ports of every router after its endpoints.
    fn ports(&self, words: Words<'_>) -> Result<Vec<Vec<Far>>, ScenarioError> {
        let mut far: Vec<Vec<Far>> = vec![Vec::new(); self.endpoints.len()];
        // All places before these are filled with links.
        let mut filled = vec![0; self.endpoints.len()];
        for (index, Link { ends, class, ports }) in self.links.iter().enumerate() {
            let refuse = |expected: String| {
                let value = match ports {
                    Some([p, q]) => format!("[{}, {}, {}, {p}, {q}]", ends[0], ends[1], class - 1),
                    None => format!("[{}, {}]", ends[0], ends[1]),
                };
                Err(ScenarioError::new(format!("links[{index}]"), value, expected))
            };
            if let Some(end) = ends.iter().find(|end| **end as usize >= far.len()) {
                return refuse(format!("there is no router {end}; expected routers below {}", far.len()));
            }
            if ends[0] == ends[1] {
                return refuse("expected two different routers".into());
            }
            let mut at = [0u16; 2];
            for (side, &end) in ends.iter().enumerate() {
                let (own, endpoints) = (&mut far[end as usize], self.endpoints[end as usize]);
                let place = match ports {
                    None => {
                        let free = &mut filled[end as usize];
                        *free += own[*free..].iter().take_while(|far| **far != NOWHERE).count();
                        *free
                    }
                    Some(ports) => match u32::from(ports[side]).checked_sub(endpoints) {
                        Some(place) => place as usize,
                        None => {
                            return refuse(format!(
                                "port {} of {} is an endpoint's; expected {endpoints} or more",
                                ports[side],
                                words.router(end)
                            ));
                        }
                    },
                };
                let end_of_them = u64::from(endpoints) + place as u64 + 1;
                at[side] = limits::ports("links", words.router(end), end_of_them)? - 1;
                if own.len() <= place {
                    own.resize(place + 1, NOWHERE);
                }
                if own[place] != NOWHERE {
                    return refuse(format!("port {} of {} has a link already", at[side], words.router(end)));
                }
                // The port at its far end follows when both ports are known.
                own[place] = Far { router: ends[1 - side], port: 0, class: *class };
            }
            for side in 0..2 {
                let place = u32::from(at[side]) - self.endpoints[ends[side] as usize];
                far[ends[side] as usize][place as usize].port = at[1 - side];
            }
        }
        let hole = |(router, ports): (usize, &Vec<Far>)| {
            ports.iter().position(|far| *far == NOWHERE).map(|place| (router, place as u32 + self.endpoints[router]))
        };
        match far.iter().enumerate().find_map(hole) {
            None => Ok(far),
            Some((router, port)) => {
                let expected = format!("port {port} has no link; expected ports without gaps");
                Err(ScenarioError::new("links", words.router(router as u32), expected))
            }
        }
    }
}

/// The sum of the numbers before each number, and the sum of all.
fn running(numbers: impl Iterator<Item = u32>) -> Vec<u32> {
    let mut sum = 0;
    let mut sums = vec![0];
    sums.extend(numbers.map(|number| {
        sum += number;
        sum
    }));
    sums
}

/// A built graph.
///
/// Ports of a router: its endpoints, then its links.
#[derive(Debug)]
pub(in crate::topology) struct GraphNetwork {
    classes: Vec<String>,
    /// The first endpoint of each router, and the number of all.
    first: Table<u32>,
    /// The router of each endpoint.
    attached: Table<u32>,
    /// The place of each router's first link in `far`, and the number of all.
    starts: Table<u32>,
    far: Table<Far>,
    distances: Distances,
    /// Distances to groups, if groups have several routers.
    nearest: Option<Distances>,
    diameter: u32,
    hosts: Range<u32>,
    group: u32,
    names: Option<Arc<Names>>,
    /// Phits per cycle of the link of every endpoint; empty if the class's bandwidth holds for all.
    bandwidth: Vec<Bandwidth>,
}

impl GraphNetwork {
    #[inline]
    fn endpoints_of(&self, router: u32) -> u32 {
        self.first[router + 1] - self.first[router]
    }

    /// The links of router `at` on shortest paths to `to`, counted from its first link. `distances` are distances to
    /// routers, or to groups.
    #[inline]
    fn shortest<'a>(&'a self, distances: &'a Distances, at: u32, to: u32) -> impl Iterator<Item = u32> + 'a {
        let links = self.starts[at]..self.starts[at + 1];
        let (first, here) = (links.start, distances.between(at, to));
        let nearer = move |link: &u32| distances.between(self.far[*link].router, to) + 1 == here;
        links.filter(nearer).map(move |link| link - first)
    }

    /// A random one of these.
    #[inline]
    fn any(&self, distances: &Distances, at: u32, to: u32, rng: &mut Rng) -> u32 {
        let ways = self.shortest(distances, at, to).count() as u32;
        let drawn = if ways > 1 { rng.below(ways) } else { 0 };
        self.shortest(distances, at, to).nth(drawn as usize).unwrap_or(0)
    }

    /// The virtual channels of a hop over a link of `class`. The channels of a class are divided among the hops of the
    /// longest route, in their order.
    #[inline]
    fn channels(&self, class: u8, leg: Leg, state: HopState, vcs: &[u8]) -> (u8, u8) {
        let taken = u32::from(leg.index) * self.diameter + state.leg_hops.total();
        let of = u32::from(leg.of.max(1)) * self.diameter;
        Leg { index: taken as u8, of: of as u8, to_group: false }.share(vcs[usize::from(class)])
    }

    #[inline]
    fn hop(&self, at: u32, link: u32, leg: Leg, state: HopState, vcs: &[u8]) -> Hop {
        let (vc, vcs) = self.channels(self.far[self.starts[at] + link].class, leg, state, vcs);
        Hop { port: (self.endpoints_of(at) + link) as u16, vc, vcs }
    }
}

impl Topology for GraphNetwork {
    fn classes(&self) -> &[String] {
        &self.classes
    }
    fn routers(&self) -> u32 {
        self.starts.len() as u32 - 1
    }
    fn endpoints(&self) -> u32 {
        self.attached.len() as u32
    }
    fn ports(&self, router: u32) -> u16 {
        (self.endpoints_of(router) + self.starts[router + 1] - self.starts[router]) as u16
    }
    fn port(&self, router: u32, port: u16) -> Port {
        match u32::from(port).checked_sub(self.endpoints_of(router)) {
            None => Port { class: 0, peer: Peer::Endpoint(self.first[router] + u32::from(port)) },
            Some(link) => {
                let Far { router, port, class } = self.far[self.starts[router] + link];
                Port { class, peer: Peer::Router { router, port } }
            }
        }
    }
    fn endpoint_bandwidth(&self, endpoint: u32) -> Option<Bandwidth> {
        self.bandwidth.get(endpoint as usize).copied()
    }
    fn attachment(&self, endpoint: u32) -> (u32, u16) {
        let router = self.attached[endpoint];
        (router, (endpoint - self.first[router]) as u16)
    }
    fn hosts(&self) -> Range<u32> {
        self.hosts.clone()
    }
    fn words(&self) -> Words<'_> {
        Words::of(self.names.as_ref())
    }

    fn minimal_hops(&self, at: u32, to: u32, leg: Leg, state: HopState, vcs: &[u8], out: &mut Vec<Hop>) {
        out.extend(self.shortest(&self.distances, at, to).map(|link| self.hop(at, link, leg, state, vcs)));
    }

    fn minimal_hop(&self, at: u32, to: u32, leg: Leg, state: HopState, vcs: &[u8], rng: &mut Rng) -> Hop {
        self.hop(at, self.any(&self.distances, at, to, rng), leg, state, vcs)
    }

    fn vcs_needed(&self, leg: Leg) -> (Vec<u8>, String) {
        let hops = (u32::from(leg.of.max(1)) * self.diameter).clamp(1, 255) as u8;
        let mut needed = vec![hops; self.classes.len()];
        needed[0] = 1;
        (needed, format!("one VC for each hop of a route of up to {hops}"))
    }

    fn distance(&self, a: u32, b: u32) -> u32 {
        self.distances.between(a, b)
    }
    fn diameter(&self) -> u32 {
        self.diameter
    }
    fn groups(&self) -> u32 {
        self.routers() / self.group
    }
    fn group_of(&self, router: u32) -> u32 {
        router / self.group
    }
    fn group_routers(&self, group: u32) -> Range<u32> {
        group * self.group..(group + 1) * self.group
    }
    fn group_hops(&self, at: u32, group: u32, leg: Leg, state: HopState, vcs: &[u8], out: &mut Vec<Hop>) {
        let distances = self.nearest.as_ref().unwrap_or(&self.distances);
        out.extend(self.shortest(distances, at, group).map(|link| self.hop(at, link, leg, state, vcs)));
    }
    fn group_hop(&self, at: u32, group: u32, leg: Leg, state: HopState, vcs: &[u8], rng: &mut Rng) -> Hop {
        let distances = self.nearest.as_ref().unwrap_or(&self.distances);
        self.hop(at, self.any(distances, at, group, rng), leg, state, vcs)
    }
}
