//! The routes of flows: the links that the scenario's routing gives a message, with the share of it that takes each.

use super::{FIRST, Flows, Hop};
use crate::engine::{Rng, Tick};
use crate::fabric::Blueprint;
use crate::fabric::seams::routing::{Adaptive, Legs, Proof, RoutingParams, Standing, Step};
use crate::topology::{HopState, Hops, Leg, Peer, RouteTable, Topology, host_groups, stops};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Intermediate routers over which a Valiant flow is split, at most.
const STOPS: u32 = 16;

/// Pairs of endpoints whose routes are remembered, at most.
const REMEMBERED: usize = 1 << 16;

/// A way from one endpoint to another.
#[derive(Debug, Clone)]
pub(super) struct Way {
    pub hops: Arc<[Hop]>,
    /// By hop: phits of the message that the buffer at its end can take.
    buffers: Arc<[f64]>,
    /// Ticks of a phit, on average over its routes.
    pub latency: f64,
}

impl Way {
    /// Phits that buffers can take if hop `held` holds the message back: those of all hops before. Without such a hop,
    /// those of all hops.
    pub(super) fn room(&self, held: Option<u32>) -> f64 {
        self.before(held).iter().sum()
    }

    /// The first hop that some of the last `left` phits have yet to take, at least 1. These phits stand in the buffers
    /// nearest to the hop that holds them back.
    pub(super) fn passed(&self, held: Option<u32>, left: f64) -> u32 {
        let mut room = 0.0;
        let full = |buffer: &f64| {
            room += buffer;
            room >= left
        };
        self.before(held).iter().rposition(full).map_or(1, |last| last as u32 + 1)
    }

    fn before(&self, held: Option<u32>) -> &[f64] {
        &self.buffers[..held.map_or(self.buffers.len() - 1, |held| held as usize)]
    }
}

/// The routes that packets of a message take.
enum Kind {
    /// One, by the mechanism's tables.
    Table(Arc<RouteTable>),
    /// All minimal ones, in equal parts at each router.
    Minimal(Leg),
    /// All minimal ones that the mechanism's steps permit, in equal parts at each router.
    Steps(Box<dyn Adaptive>),
    /// Over intermediate routers, in equal parts.
    Valiant { to_group: bool },
    /// The minimal ones, or over intermediate routers, whichever are asked for less when the message starts.
    Either { to_group: bool, minimal: Leg },
}

/// Makes routes.
pub(super) struct Ways {
    topology: Arc<dyn Topology>,
    kind: Kind,
    seed: u64,
    vcs: Vec<u8>,
    /// By class: ticks over a link and inside the router at its end.
    latency: Vec<f64>,
    /// By class: phits of the buffer of a virtual channel at the end of a link.
    buffers: Vec<f64>,
    ejection: f64,
    /// By router: the number of the link behind its first port. The links into the network come after all of these.
    first: Vec<u32>,
    known: FxHashMap<(u32, u32), (Way, Option<Way>)>,
}

/// Parts of a message at one number of hops: the router, its state, the share, and the hop by which it came.
#[derive(Debug, Clone, Copy)]
struct Stream {
    at: u32,
    state: HopState,
    memo: u32,
    share: f64,
    before: u32,
}

const WHOLE: Leg = Leg { index: 0, of: 1, to_group: false };

impl Kind {
    fn of(topology: &dyn Topology, routing: &dyn RoutingParams, table: Option<Arc<RouteTable>>) -> Option<Self> {
        if let Some(table) = table {
            return Some(Self::Table(table));
        }
        let either = |longest: u32, steps: Option<Box<dyn Adaptive>>| match (longest > topology.diameter(), steps) {
            (true, _) => Self::Either { to_group: false, minimal: topology.direct_leg() },
            (false, Some(steps)) => Self::Steps(steps),
            (false, None) => Self::Minimal(WHOLE),
        };
        Some(match routing.proof() {
            Proof::Order(routes) => {
                let valiant = routes.iter().find(|routes| routes.legs.are_valiant());
                let direct = routes.iter().find(|routes| !routes.legs.are_valiant());
                match (valiant, direct) {
                    (Some(valiant), None) => Self::Valiant { to_group: valiant.legs == Legs::ToGroup },
                    (Some(valiant), Some(direct)) => Self::Either {
                        to_group: valiant.legs == Legs::ToGroup,
                        minimal: direct.legs.last_leg(topology),
                    },
                    (None, _) => Self::Minimal(WHOLE),
                }
            }
            Proof::Steps(steps) | Proof::Escape(steps) => either(steps.longest(topology), Some(steps)),
            Proof::Ladder(ladder) => either((ladder.longest)(topology), ladder.steps),
            Proof::Bubble(_) | Proof::Rings => Self::Minimal(WHOLE),
            Proof::Tables | Proof::Unknown => return None,
        })
    }
}

impl Ways {
    /// True if the routes of the mechanism can be followed.
    pub(super) fn can_follow(topology: &dyn Topology, routing: &dyn RoutingParams) -> bool {
        routing.table(topology).is_some() || Kind::of(topology, routing, None).is_some()
    }

    /// The routes of a network whose routers take `inside` ticks.
    pub(super) fn new(blueprint: &Blueprint, inside: Tick) -> Self {
        let topology = blueprint.topology.clone();
        let Some(kind) = Kind::of(&*topology, &*blueprint.routing, blueprint.table.clone()) else {
            unreachable!("routes that cannot be followed, which the checks refuse")
        };
        let links = &blueprint.links;
        let mut first = Vec::with_capacity(topology.routers() as usize + 1);
        first.push(0);
        for router in 0..topology.routers() {
            first.push(first[router as usize] + u32::from(topology.ports(router)));
        }
        Self {
            kind,
            seed: blueprint.seed,
            vcs: links.vcs(blueprint.division),
            latency: links.iter().map(|link| f64::from(link.latency + inside)).collect(),
            buffers: links.iter().map(|link| f64::from(link.buffer)).collect(),
            ejection: links[0].ejection_latency.into(),
            first,
            topology,
            known: FxHashMap::default(),
        }
    }

    /// The number of the link behind a port.
    pub(super) fn port(&self, router: u32, port: u16) -> u32 {
        self.first[router as usize] + u32::from(port)
    }

    /// Phits of the buffer behind the link from an endpoint, less those that hold up the next message. With one virtual
    /// channel, the next message waits behind all of them. With more channels, it passes those in other channels. The
    /// formula was chosen on the rows of the fidelity matrix that may tune defaults.
    fn injection_room(&self) -> f64 {
        let vcs = f64::from(self.vcs[0].max(1));
        self.buffers[0] * (vcs - 1.0) / (vcs + 1.0)
    }

    /// Ticks of a class, and phits of a buffer.
    fn class(&self, class: u8) -> (f64, f64) {
        (self.latency[usize::from(class)], self.buffers[usize::from(class)])
    }

    /// The number of the link from an endpoint into the network.
    pub(super) fn injection(&self, endpoint: u32) -> u32 {
        self.first[self.first.len() - 1] + endpoint
    }

    /// The way of a message that starts now.
    pub(super) fn way(&mut self, flows: &Flows, from: u32, to: u32) -> Way {
        if !self.known.contains_key(&(from, to)) {
            let found = self.find(from, to);
            if self.known.len() >= REMEMBERED {
                self.known.clear();
            }
            self.known.insert((from, to), found);
        }
        match &self.known[&(from, to)] {
            (way, None) => way.clone(),
            (minimal, Some(other)) => {
                // As UGAL-G, by what waits along each route.
                let cost = |way: &Way| flows.asked_along(&way.hops);
                if cost(minimal) <= cost(other) { minimal.clone() } else { other.clone() }
            }
        }
    }

    /// The ways between two endpoints: one, or the minimal one and another.
    fn find(&self, from: u32, to: u32) -> (Way, Option<Way>) {
        let topology = &*self.topology;
        let ends = (topology.attachment(from).0, topology.attachment(to).0);
        match &self.kind {
            Kind::Table(table) => (self.by_table(table, from, to), None),
            Kind::Minimal(leg) => (self.direct(from, to, *leg), None),
            Kind::Steps(steps) => (self.by_steps(&**steps, from, to), None),
            Kind::Valiant { to_group } => (self.valiant(from, to, *to_group), None),
            Kind::Either { to_group, minimal } => {
                let way = self.direct(from, to, *minimal);
                let other = (ends.0 != ends.1).then(|| self.valiant(from, to, *to_group));
                (way, other)
            }
        }
    }

    fn by_table(&self, table: &RouteTable, from: u32, to: u32) -> Way {
        let topology = &*self.topology;
        let mut way = Making::new(self, from);
        let (mut at, end) = (topology.attachment(from).0, topology.attachment(to));
        let mut before = 0;
        while at != end.0 {
            let port = table.port(at, to);
            let there = topology.port(at, port);
            let Peer::Router { router, .. } = there.peer else { break };
            before = way.add(self.port(at, port), self.class(there.class), 1.0, before);
            at = router;
        }
        way.end(self, end, &[(1.0, before)])
    }

    fn direct(&self, from: u32, to: u32, leg: Leg) -> Way {
        let topology = &*self.topology;
        let mut way = Making::new(self, from);
        let end = topology.attachment(to);
        let arrived = self.leg(&mut way, &[Stream::at(topology.attachment(from).0)], Some(end.0), None, leg);
        way.end(self, end, &Stream::ends(&arrived))
    }

    fn valiant(&self, from: u32, to: u32, to_group: bool) -> Way {
        let topology = &*self.topology;
        let mut way = Making::new(self, from);
        let (start, end) = (topology.attachment(from).0, topology.attachment(to));
        let groups = host_groups(topology);
        let own = topology.group_of(start);
        let others = groups.len() as u32 - u32::from(groups.contains(&own));
        let count = others.clamp(1, STOPS);
        let mut rng = Rng::keyed(self.seed ^ (u64::from(from) << 32), to);
        let offset = rng.below(others.max(1));
        let mut arrived = Vec::new();
        for number in 0..count {
            // Spread over all other groups, one router in each.
            let place = (offset + (u64::from(number) * u64::from(others) / u64::from(count)) as u32) % others.max(1);
            let group = groups.start + place + u32::from(groups.start + place >= own && others > 0);
            let routers = topology.group_routers(group.min(groups.end - 1));
            let within: Vec<u32> = stops(topology).filter(|router| routers.contains(router)).collect();
            let stop = match within.len() {
                0 => start,
                some => within[rng.below(some as u32) as usize],
            };
            let begin = Stream { share: 1.0 / f64::from(count), ..Stream::at(start) };
            let goal = if to_group { None } else { Some(stop) };
            let leg = |index| Leg { index, of: 2, to_group };
            let half = self.leg(&mut way, &[begin], goal, Some(topology.group_of(stop)), leg(0));
            let again: Vec<Stream> =
                half.iter().map(|stream| Stream { state: Stream::at(0).state_after(stream), ..*stream }).collect();
            arrived.extend(self.leg(&mut way, &again, Some(end.0), None, leg(1)));
        }
        way.end(self, end, &Stream::ends(&arrived))
    }

    /// Takes streams to router `goal`, or, without a goal, to any router of `group`. Returns them as they arrive.
    fn leg(
        &self,
        way: &mut Making,
        streams: &[Stream],
        goal: Option<u32>,
        group: Option<u32>,
        leg: Leg,
    ) -> Vec<Stream> {
        let topology = &*self.topology;
        let (mut now, mut arrived, mut hops) = (streams.to_vec(), Vec::new(), Vec::new());
        let mut left = 2 * topology.diameter() + 2;
        while !now.is_empty() && left > 0 {
            left -= 1;
            let mut next: Vec<Stream> = Vec::new();
            for stream in now {
                hops.clear();
                match (goal, group) {
                    (Some(goal), _) if stream.at == goal => arrived.push(stream),
                    (Some(goal), _) => {
                        topology.minimal_hops(stream.at, goal, leg, stream.state, &self.vcs, &mut hops);
                    }
                    (None, Some(group)) if topology.group_of(stream.at) == group => arrived.push(stream),
                    (None, Some(group)) => {
                        topology.group_hops(stream.at, group, leg, stream.state, &self.vcs, &mut hops);
                    }
                    (None, None) => arrived.push(stream),
                }
                let found: Vec<(u16, u8, u32)> = hops.iter().map(|hop| (hop.port, hop.vc, 0)).collect();
                self.split(way, stream, &found, &mut next);
            }
            now = next;
        }
        arrived
    }

    /// A stream goes on over some ports, in equal parts. Parts that meet become one.
    fn split(&self, way: &mut Making, stream: Stream, hops: &[(u16, u8, u32)], next: &mut Vec<Stream>) {
        let topology = &*self.topology;
        for &(port, vc, memo) in hops {
            let there = topology.port(stream.at, port);
            let Peer::Router { router, .. } = there.peer else { continue };
            let share = stream.share / hops.len() as f64;
            let link = self.port(stream.at, port);
            let before = way.add(link, self.class(there.class), share, stream.before);
            let mut state = stream.state;
            state.leg_hops.add(there.class);
            (state.came_by, state.came_in) = (there.class, vc);
            match next.iter_mut().find(|other| other.at == router && other.memo == memo) {
                Some(other) => other.share += share,
                None => next.push(Stream { at: router, state, memo, share, before }),
            }
        }
    }

    fn by_steps(&self, steps: &dyn Adaptive, from: u32, to: u32) -> Way {
        let topology = &*self.topology;
        let mut way = Making::new(self, from);
        let end = topology.attachment(to);
        let (mut now, mut arrived) = (vec![Stream::at(topology.attachment(from).0)], Vec::new());
        let mut found: Vec<Step> = Vec::new();
        let mut left = 2 * topology.diameter() + 2;
        while !now.is_empty() && left > 0 {
            left -= 1;
            let mut next: Vec<Stream> = Vec::new();
            for stream in now {
                if stream.at == end.0 {
                    arrived.push(stream);
                    continue;
                }
                let state = stream.state;
                let came = (state.came_by, state.came_in);
                let packet = Standing { at: stream.at, to: end.0, came, hops: state.leg_hops, memo: stream.memo };
                found.clear();
                steps.steps(topology, &packet, &self.vcs, &mut found);
                // The escape is for packets that find nothing else.
                let any = found.iter().any(|step| !step.escape);
                let mut hops: Vec<(u16, u8, u32)> = Vec::new();
                for step in found.iter().filter(|step| !any || !step.escape) {
                    if !hops.iter().any(|&(port, _, memo)| (port, memo) == (step.hop.port, step.memo)) {
                        hops.push((step.hop.port, step.hop.vc, step.memo));
                    }
                }
                self.split(&mut way, stream, &hops, &mut next);
            }
            now = next;
        }
        way.end(self, end, &Stream::ends(&arrived))
    }
}

impl Stream {
    /// A whole message at its router.
    fn at(router: u32) -> Self {
        let state = HopState { came_by: 0, came_in: 0, leg_hops: Hops::default() };
        Self { at: router, state, memo: 0, share: 1.0, before: 0 }
    }

    /// The state of `stream` at the start of a new leg.
    fn state_after(&self, stream: &Self) -> HopState {
        HopState { leg_hops: self.state.leg_hops, ..stream.state }
    }

    /// Share and last hop of streams.
    fn ends(streams: &[Self]) -> Vec<(f64, u32)> {
        streams.iter().map(|stream| (stream.share, stream.before)).collect()
    }
}

/// A way that is being made.
struct Making {
    hops: Vec<Hop>,
    buffers: Vec<f64>,
    latency: f64,
}

impl Making {
    fn new(ways: &Ways, from: u32) -> Self {
        let hops = vec![Hop { link: ways.injection(from), share: 1.0, before: FIRST }];
        Self { hops, buffers: vec![ways.injection_room()], latency: ways.latency[0] }
    }

    /// Adds a share of the flow to a link, and returns the number of the hop.
    fn add(&mut self, link: u32, (latency, buffer): (f64, f64), share: f64, before: u32) -> u32 {
        self.latency += latency * share;
        if let Some(place) = self.hops.iter().position(|hop| hop.link == link) {
            self.hops[place].share += share;
            return place as u32;
        }
        self.hops.push(Hop { link, share, before });
        self.buffers.push(buffer);
        self.hops.len() as u32 - 1
    }

    /// The way to the endpoint at this router and port, from the hops by which its parts arrive.
    fn end(mut self, ways: &Ways, (router, port): (u32, u16), parts: &[(f64, u32)]) -> Way {
        let largest = parts.iter().copied().reduce(|a, b| if b.0 > a.0 { b } else { a });
        let before = largest.map_or(0, |(_, before)| before);
        self.hops.push(Hop { link: ways.port(router, port), share: 1.0, before });
        self.buffers.push(0.0);
        Way { hops: self.hops.into(), buffers: self.buffers.into(), latency: self.latency + ways.ejection }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn way(links: &[u32], buffers: &[f64], latency: f64) -> Way {
        Way { hops: Hop::route(links), buffers: buffers.into(), latency }
    }

    #[test]
    fn the_rest_stands_before_the_busy_hop() {
        let way = way(&[0, 1, 2, 3], &[8.0, 16.0, 32.0, 0.0], 0.0);
        let cases = [
            // Held at the last hop, or nowhere: all buffers. Hop 2 ends in 32 phits, hop 1 in 16 more.
            (None, 56.0, [(32.0, 3), (33.0, 2), (48.0, 2), (49.0, 1), (99.0, 1)]),
            (Some(3), 56.0, [(32.0, 3), (33.0, 2), (48.0, 2), (49.0, 1), (99.0, 1)]),
            (Some(2), 24.0, [(1.0, 2), (16.0, 2), (17.0, 1), (24.0, 1), (25.0, 1)]),
            (Some(0), 0.0, [(0.0, 1), (1.0, 1), (2.0, 1), (3.0, 1), (4.0, 1)]),
        ];
        for (held, room, passed) in cases {
            assert_eq!(way.room(held), room, "{held:?}");
            for (left, first) in passed {
                assert_eq!(way.passed(held, left), first, "{held:?} {left}");
            }
        }
    }
}
