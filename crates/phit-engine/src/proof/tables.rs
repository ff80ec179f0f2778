//! Routes of tables, each followed from its source to its destination. The result says where they lead, how many share
//! a link, and whether their channels wait for one another in a cycle.
//!
//! A packet stays in the layer of its route, so the channels of a layer depend only on one another. With SL-to-VL
//! tables, the channels are those that the tables name. The proof follows the very table that a run uses, entry by
//! entry, and assumes nothing about its origin.

use super::cdg::{Channel, Flaw, Report};
use super::dependencies::Dependencies;
use super::messages::{self, Messages};
use crate::engine::{NONE, poll};
use crate::topology::{Crossing, NO_PORT, RouteTable, Topology, Wires, terminals};
use std::collections::BTreeMap;

/// Packets count their hops in 8 bits.
const MOST_HOPS: u32 = 255;

/// Statistics of all routes. Pairs are ordered pairs of different endpoints.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Survey {
    /// Number of all pairs.
    pub(crate) pairs: u64,
    /// Number of pairs whose route arrives, by its number of links between routers.
    pub(crate) hops: BTreeMap<u32, u64>,
    /// Number of pairs whose route takes more links than a shortest route.
    pub(crate) nonminimal: u64,
    /// Number of links between routers, per direction, by the number of pairs whose routes take them.
    pub(crate) loads: BTreeMap<u64, u64>,
    /// Number of layers of routes.
    pub(crate) layers: usize,
    /// Number of virtual channels that routes take on links between routers.
    pub(crate) channels: usize,
}

/// Endpoints that need not be distinguished: one of them, their router, and their number.
#[derive(Debug, Clone, Copy)]
struct Group {
    endpoint: u32,
    router: u32,
    count: u64,
}

/// The endpoints of working routers, grouped by key. Endpoints with equal keys must share a router.
fn groups(topology: &dyn Topology, keys: u32, key: impl Fn(u32) -> u32) -> Vec<Group> {
    let mut found: Vec<Group> = Vec::new();
    let mut numbers = vec![NONE; keys as usize];
    for endpoint in 0..topology.endpoints() {
        let router = topology.attachment(endpoint).0;
        if topology.faulty().is_some_and(|faulty| faulty.is_down(router)) {
            continue;
        }
        let number = &mut numbers[key(endpoint) as usize];
        match *number {
            NONE => {
                *number = found.len() as u32;
                found.push(Group { endpoint, router, count: 1 });
            }
            number => found[number as usize].count += 1,
        }
    }
    found
}

/// The sources: each by itself, or grouped by router.
fn sources(topology: &dyn Topology, apart: bool) -> Vec<Group> {
    match apart {
        true => groups(topology, topology.endpoints(), |endpoint| endpoint),
        false => groups(topology, topology.routers(), |endpoint| topology.attachment(endpoint).0),
    }
}

/// The destinations, grouped by column of the table.
fn targets(topology: &dyn Topology, table: &RouteTable) -> Vec<Group> {
    groups(topology, table.columns(), |endpoint| table.column(endpoint))
}

/// Follows every route. Returns statistics of the routes, and the proof or the first flaw found. If there are fewer
/// virtual channels than layers, the last layers share one.
pub(crate) fn check(
    topology: &dyn Topology,
    table: &RouteTable,
    vcs: &[u8],
    messages: Option<Messages>,
) -> (Survey, Result<Report, Flaw>) {
    let wires = Wires::new(topology);
    let mut dependencies = Dependencies::new(topology, vcs);
    let first = |place: u32| {
        let (router, port) = wires.owner(place);
        dependencies.number(Channel { router, port, vc: 0 }).unwrap_or(NONE)
    };
    let channels: Vec<u32> = (0..wires.places() as u32).map(first).collect();
    let layers = table.layers();
    let by_lane = layers.is_some_and(|layers| layers.channels.is_some());
    let apart = by_lane || layers.is_some_and(|layers| layers.by_endpoint);
    let sources = sources(topology, apart);
    let targets = targets(topology, table);
    let mut survey = Survey::default();
    let (mut loads, mut flaw) = (vec![0u64; wires.places()], None);
    let (mut met_layers, mut met_channels) = ([false; 256], [false; 256]);
    let seen = vec![0; wires.routers() as usize];
    let mut follower = Follower { wires: &wires, table, seen, number: 0, path: Vec::new() };
    let (mut distances, mut order, mut measured) = (Vec::new(), Vec::new(), NONE);
    for target in &targets {
        let end = Target::new(topology, target.endpoint);
        if target.router != measured {
            measured = target.router;
            wires.towards(measured, &mut distances, &mut order);
        }
        for source in &sources {
            poll();
            // Endpoints that are both source and destination.
            let shared = match () {
                () if source.router != target.router => 0,
                () if !apart => target.count,
                () => u64::from(table.column(source.endpoint) == table.column(target.endpoint)),
            };
            let pairs = source.count * target.count - shared;
            if pairs == 0 {
                continue;
            }
            survey.pairs += pairs;
            let layer = table.layer(source.router, source.endpoint, target.endpoint);
            let from = (source.router, topology.attachment(source.endpoint).1);
            if let Err(found) = follower.follow(from, &end, layer) {
                flaw = flaw.or(Some(found));
                continue;
            }
            let path = &follower.path;
            *survey.hops.entry(path.len() as u32).or_default() += pairs;
            survey.nonminimal += if path.len() as u32 > distances[source.router as usize] { pairs } else { 0 };
            met_layers[usize::from(layer)] = true;
            let mut held: Option<u32> = None;
            for &(place, channel) in path {
                loads[place as usize] += pairs;
                met_channels[usize::from(channel)] = true;
                let there = vcs.get(usize::from(wires.far(place).class)).copied().unwrap_or(1).max(1);
                let vc = channel.min(there - 1);
                let taken = channels[place as usize] + u32::from(vc);
                match held {
                    Some(held) => dependencies.add(held, taken),
                    None => dependencies.entered[taken as usize] = true,
                }
                held = Some(taken);
            }
            if let Some(held) = held {
                dependencies.left[held as usize] = true;
            }
        }
    }
    for place in (0..wires.places() as u32).filter(|&place| wires.far(place).router != NONE) {
        *survey.loads.entry(loads[place as usize]).or_default() += 1;
    }
    let count = |met: &[bool]| met.iter().filter(|met| **met).count();
    (survey.layers, survey.channels) = (count(&met_layers), count(&met_channels));
    let states = survey.hops.values().sum::<u64>() as usize;
    let result = match (flaw, messages) {
        (Some(flaw), _) => Err(flaw),
        (None, None) => dependencies.conclude(states),
        (None, Some(kind)) => messages::conclude(&dependencies, topology, vcs, kind, states),
    };
    (survey, result)
}

/// Follows routes one after another.
struct Follower<'a> {
    wires: &'a Wires,
    table: &'a RouteTable,
    /// By router, the number of the last route that was there.
    seen: Vec<u64>,
    number: u64,
    /// The links of the last route, by their places, each with its virtual channel.
    path: Vec<(u32, u8)>,
}

impl Follower<'_> {
    /// The route from a router, entered by a port, to a target.
    fn follow(&mut self, (from, mut input): (u32, u16), target: &Target, layer: u8) -> Result<(), Flaw> {
        let (destination, mut at) = (target.endpoint, from);
        self.number += 1;
        self.path.clear();
        loop {
            if self.seen[at as usize] == self.number {
                return Err(Flaw::Loop { from, destination, at });
            }
            self.seen[at as usize] = self.number;
            let port = self.table.port(at, destination);
            let Some((place, next)) = step(self.wires, from, at, port, target)? else { return Ok(()) };
            self.path.push((place, self.table.channel(layer, Crossing { router: at, input, output: port })));
            (at, input) = next;
            if self.path.len() as u32 > MOST_HOPS {
                return Err(Flaw::Endless { from, destination, hops: MOST_HOPS });
            }
        }
    }
}

/// An endpoint, its router and its port there.
struct Target {
    endpoint: u32,
    router: u32,
    port: u16,
}

impl Target {
    fn new(topology: &dyn Topology, endpoint: u32) -> Self {
        let (router, port) = topology.attachment(endpoint);
        Self { endpoint, router, port }
    }
}

/// A link, by its place, and where it leads, as router and port.
type Step = (u32, (u32, u16));

/// The link by which a packet leaves router `at`; `None` at the target.
fn step(wires: &Wires, from: u32, at: u32, port: u16, target: &Target) -> Result<Option<Step>, Flaw> {
    let destination = target.endpoint;
    if port == NO_PORT {
        return Err(Flaw::NoEntry { from, destination, at });
    }
    if (at, port) == (target.router, target.port) {
        return Ok(None);
    }
    match wires.place(at, port).map(|place| (place, wires.far(place))) {
        Some((place, wire)) if wire.router != NONE => Ok(Some((place, (wire.router, wire.port)))),
        _ => Err(Flaw::Astray { from, destination, at, port }),
    }
}

/// Proves that every route arrives, which a run assumes of its tables. Each entry on some route is checked once.
pub(crate) fn arrive(topology: &dyn Topology, table: &RouteTable) -> Result<(), Flaw> {
    const ON_THE_WAY: u32 = NONE - 1;
    let wires = Wires::new(topology);
    let mut hops = Vec::new();
    let mut way = Vec::new();
    let sources = terminals(topology);
    for group in targets(topology, table) {
        let target = Target::new(topology, group.endpoint);
        let destination = target.endpoint;
        hops.clear();
        hops.resize(wires.routers() as usize, NONE);
        for &from in &sources {
            let mut at = from;
            let mut left = loop {
                match hops[at as usize] {
                    NONE => hops[at as usize] = ON_THE_WAY,
                    ON_THE_WAY => return Err(Flaw::Loop { from, destination, at }),
                    left => break left,
                }
                match step(&wires, from, at, table.port(at, destination), &target)? {
                    Some((_, (next, _))) => {
                        way.push(at);
                        at = next;
                    }
                    None => {
                        hops[at as usize] = 0;
                        break 0;
                    }
                }
            };
            for router in way.drain(..).rev() {
                left += 1;
                hops[router as usize] = left;
            }
            if hops[from as usize] > MOST_HOPS {
                return Err(Flaw::Endless { from, destination, hops: MOST_HOPS });
            }
        }
    }
    Ok(())
}
