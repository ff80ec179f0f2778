//! From a blueprint to a network of packet-level nodes.

use super::ahead::Scores;
use super::calendar::Calendar;
use super::landing::Landings;
use super::params::{Acceptance, InjectionRoom, NodeParams};
use super::state::{
    Answers, Ejection, Endpoint, Link, MOST_SLOTS, MOST_VCS, Network, Numbers, Origin, PACKET, Period, QUEUES_OF_WORD,
    Record, Times, kind,
};
use crate::engine::{NONE, Rng, Stream, Table, Tick, poll};
use crate::fabric::links::LinkClasses;
use crate::fabric::seams::bubble::choices::Choices;
use crate::fabric::seams::bubble::profit::PackedDirections;
use crate::fabric::wires::Wires;
use crate::fabric::{Blueprint, Load};
use crate::measure::Collector;
use crate::topology::{Peer, Topology};
use std::collections::{BTreeMap, VecDeque};

impl Network {
    /// The network of a checked scenario.
    pub(super) fn new(node: &NodeParams, blueprint: &Blueprint) -> Self {
        let (topology, classes) = (&blueprint.topology, &blueprint.links);
        let Some((bubble, Ok(deroute))) =
            blueprint.routing.bubble().map(|bubble| (bubble, bubble.deroute(&**topology)))
        else {
            unreachable!("a packet-level node with a mechanism that the checks refuse")
        };
        let lattice = deroute.lattice().clone();
        let escape = bubble.escape();
        let numbers = Numbers::new(2 * lattice.dimensions() as u32, topology.routers());
        let endpoints = topology.endpoints();
        let endpoints_per_router = endpoints / topology.routers();
        let vcs = classes.vcs(blueprint.division)[1..].iter().copied().min().unwrap_or(1).min(MOST_VCS as u8);
        let (smallest, size) = blueprint.traffic.packet_sizes();
        let fixed = (smallest == size).then_some(u32::from(size));
        let size = u32::from(size);
        let capacity = (1..classes.len()).map(|class| slots(classes, class, size)).min().unwrap_or(1);
        let ejection_capacity = slots(classes, 0, size);
        let (links, far, class_of) = links(&**topology, endpoints_per_router, numbers);
        let queues = links.len() * MOST_VCS;
        let endpoint = |endpoint: u32| {
            poll();
            Endpoint {
                source: blueprint.traffic.source(endpoint, blueprint.seed),
                rng: Rng::new(blueprint.seed, Stream::Injection, endpoint.into()),
                next: None,
                injected: 0,
                counted: 0,
            }
        };
        let mut network = Self {
            injection_room: match node.injection_room {
                InjectionRoom::Bubble => (1, 1 + escape.bubble),
                InjectionRoom::MoreThanHalf => (capacity / 2 + 1, capacity / 2 + 1),
            },
            injection_period: node
                .injection_rate
                .zip(classes.bisection_load(&**topology))
                .map(|(rate, load)| period(size, rate * load)),
            times: (0..classes.len()).map(|class| times(classes, class, fixed, node.answer)).collect::<Vec<_>>().into(),
            injection_times: injection_times(classes, fixed, node.answer),
            link_classes: classes.clone(),
            topology: topology.clone(),
            traffic: blueprint.traffic.clone(),
            deroute,
            lattice,
            escape,
            numbers,
            directions: PackedDirections::new(((1u32 << numbers.directions) - 1) as u16),
            endpoints_per_router,
            vcs,
            capacity,
            ejection_capacity,
            phits: [size, node.answer],
            now: 0,
            calendar: Calendar::default(),
            far: far.into(),
            classes: class_of.into(),
            scores: Scores::new(capacity),
            used: vec![0; queues + QUEUES_OF_WORD].into(),
            slots: vec![NONE; queues * usize::from(capacity) + MOST_SLOTS as usize].into(),
            answers: Answers::default(),
            landings: (node.acceptance == Acceptance::Credits).then(|| Landings::new(topology.routers())),
            links: links.into(),
            choices: (0..endpoints).map(|_| Choices::default()).collect::<Vec<_>>().into(),
            endpoints: (0..endpoints).map(endpoint).collect::<Vec<_>>().into(),
            ejections: vec![Ejection::default(); endpoints as usize].into(),
            arrived: vec![NONE; endpoints as usize * usize::from(ejection_capacity)].into(),
            records: Table::default(),
            origins: Table::default(),
            vacant: Vec::new(),
            under_way: VecDeque::new(),
            free: vec![None; numbers.directions as usize],
            collector: Collector::new(blueprint.window.clone()),
            offered_phits: 0,
            refused: (0, 0),
            wires: Wires::default(),
        };
        network.find_echoes();
        network.start();
        network
    }
}

impl Network {
    /// If all links between routers have equal times, a packet arrives a fixed time after its link becomes free: then
    /// arrivals are echoes.
    fn find_echoes(&mut self) {
        let Some((first, others)) = self.times.get(1..).and_then(<[_]>::split_first) else { return };
        let [packet, answer] = first.ticks;
        if packet != 0 && others.iter().all(|times| times == first) {
            self.calendar.echo(kind::ARRIVAL, kind::FREE, first.latency);
            self.calendar.echo(kind::ANSWER, kind::FREE_OF_ANSWER, first.latency);
            let mut ahead = [None; kind::COUNT];
            let endpoint = &self.link_classes[0];
            for (kind, ticks) in [
                (kind::ARRIVAL, packet + first.latency),
                (kind::FREE, packet),
                (kind::ANSWER, answer + first.latency),
                (kind::FREE_OF_ANSWER, answer),
                (kind::OFFER, self.injection_times.0 + endpoint.latency),
                (kind::REPLY, self.injection_times.1),
                (kind::EJECTION, self.times[0].ticks[PACKET]),
            ] {
                ahead[kind] = Some(ticks);
            }
            self.calendar.order(ahead);
        }
    }
}

/// Slots of the queues of a class, for packets of `size` phits.
fn slots(classes: &LinkClasses, class: usize, size: u32) -> u16 {
    (classes[class].buffer / size).min(MOST_SLOTS) as u16
}

impl Network {
    /// Bytes of the network's tables by name, estimated before they are made: see [`Self::new`].
    pub(super) fn needs(blueprint: &Blueprint, load: &Load) -> BTreeMap<&'static str, f64> {
        /// Bytes of events and pending answers about a packet between two routers.
        const EVENTS: f64 = 48.0;
        let (topology, classes) = (&*blueprint.topology, &blueprint.links);
        let size = u32::from(blueprint.traffic.packet_sizes().1);
        let capacity = (1..classes.len()).map(|class| slots(classes, class, size)).min().unwrap_or(1);
        let directions = 2 * topology.grid().map_or(1, <[u32]>::len) as u32;
        let (routers, endpoints) = (f64::from(topology.routers()), f64::from(topology.endpoints()));
        let links = routers * f64::from(directions.next_power_of_two());
        let queue = size_of::<u8>() + size_of::<u32>() * usize::from(capacity);
        let link = size_of::<Link>() + size_of::<u32>() + size_of::<u8>() + MOST_VCS * queue;
        let arrived = size_of::<u32>() * usize::from(slots(classes, 0, size));
        let endpoint = size_of::<Endpoint>() + size_of::<Choices>() + size_of::<Ejection>() + arrived;
        let packet = size_of::<Record>() + size_of::<Origin>();
        BTreeMap::from([
            ("links", links * link as f64),
            ("endpoints", endpoints * endpoint as f64),
            // Some packets wait in front of each router, whatever the load.
            ("packets", (load.packets + endpoints / 4.0) * (packet as f64 + EVENTS) * 1.1),
            ("looks", 16.0 * (routers * (f64::from(directions) + 1.0) + endpoints)),
        ])
    }
}

/// The links of all routers, their opposite links, and their classes.
fn links(topology: &dyn Topology, endpoints: u32, numbers: Numbers) -> (Vec<Link>, Vec<u32>, Vec<u8>) {
    let idle = Link { waiting: [0; MOST_VCS], busy: 0, answer: NONE, last: NONE, phits: 0 };
    let links = vec![idle; numbers.links as usize];
    let mut opposite = vec![NONE; links.len()];
    let mut classes = vec![0; links.len()];
    for router in 0..topology.routers() {
        poll();
        for link in numbers.of_router(router) {
            let port = topology.port(router, (endpoints + numbers.direction(link)) as u16);
            let far = match port.peer {
                Peer::Router { router, port } => numbers.first_link(router) + u32::from(port) - endpoints,
                Peer::Endpoint(_) | Peer::None => NONE,
            };
            opposite[link as usize] = far;
            classes[link as usize] = port.class;
        }
    }
    (links, opposite, classes)
}

/// The times of a link class. `size` is the size of all packets, if they are equal.
fn times(links: &LinkClasses, class: usize, size: Option<u32>, answer: u32) -> Times {
    let link = &links[class];
    Times {
        ticks: [
            size.map_or(0, |size| links.serialisation(size, link.bandwidth)),
            links.serialisation(answer, link.bandwidth),
        ],
        latency: link.latency,
    }
}

/// See [`Network::injection_times`].
fn injection_times(links: &LinkClasses, size: Option<u32>, answer: u32) -> (Tick, Tick) {
    let link = &links[0];
    let packet = size.map_or(0, |size| links.injection_ticks(size));
    (packet, links.serialisation(answer, link.bandwidth) + link.ejection_latency)
}

/// The time of a packet of `size` phits at `load` phits per tick.
fn period(size: u32, load: f64) -> Period {
    const PARTS: f64 = (1u64 << 20) as f64;
    let ticks = f64::from(size) / load;
    // A period is whole if only the rounding of its inputs separates it from a whole number.
    let whole = ticks.round();
    if whole >= 1.0 && (ticks - whole).abs() < 1e-9 * ticks {
        return Period { numerator: whole as u64, denominator: 1 };
    }
    Period { numerator: ((ticks * PARTS).round() as u64).max(1), denominator: PARTS as u64 }
}
