//! A program on the fluid network. The whole program runs, event by event, when the run begins.

use super::flows::Key;
use super::ways::{Way, Ways};
use super::{Flows, Rule, Sources};
use crate::engine::{Tick, poll};
use crate::fabric::whole::{self, Counted, phits, sum};
use crate::fabric::{Bandwidth, Blueprint, Caller, Fabric, LinkClasses, Progress};
use crate::measure::{Collector, Rate, Snapshot};
use crate::topology::{Peer, Topology};
use crate::workload::Workload;
use phit_workload::Ranks;
use phit_workload::host::{Hosts, Left, Message};
use phit_workload::network::{Hop, Network};
use phit_workload::run::{Asked, Finish, Running};
use std::any::Any;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::ops::Range;
use std::sync::Arc;

/// A network of flows.
pub(super) struct FluidNetwork {
    rule: Rule,
    sources: Sources,
    latency: Tick,
    blueprint: Blueprint,
    workload: Arc<Workload>,
    asked: Asked,
    finish: Option<Finish>,
    /// The messages of a caller, if there is one.
    called: Option<Box<Running<Counted<Carrier>>>>,
    collector: Collector,
    /// Phits that each endpoint has sent, and has received.
    carried: (Vec<u64>, Vec<u64>),
    /// Phits that each link has carried, by number of the link.
    by_link: Vec<f64>,
    /// Bytes of the flows, at the end.
    held: usize,
    links: LinkClasses,
}

impl FluidNetwork {
    pub(super) fn new(rule: Rule, sources: Sources, latency: Tick, blueprint: &Blueprint) -> Self {
        let Some(workload) = blueprint.workload.clone() else {
            unreachable!("a fluid network without a program, which the checks refuse")
        };
        let endpoints = blueprint.topology.endpoints() as usize;
        Self {
            rule,
            sources,
            latency,
            workload,
            asked: blueprint.rows,
            finish: None,
            called: None,
            collector: Collector::new(blueprint.window.clone()),
            carried: (vec![0; endpoints], vec![0; endpoints]),
            by_link: Vec::new(),
            held: 0,
            links: blueprint.links.clone(),
            blueprint: blueprint.clone(),
        }
    }

    fn topology(&self) -> &dyn Topology {
        &*self.blueprint.topology
    }

    /// Phits per tick of all links: those behind ports, then those from endpoints.
    fn rates(&self) -> Vec<f64> {
        let topology = self.topology();
        let ticks = f64::from(self.links.ticks_per_cycle);
        let ports =
            (0..topology.routers()).flat_map(|router| (0..topology.ports(router)).map(move |port| (router, port)));
        let of_port = |(router, port)| match topology.port(router, port).peer {
            Peer::None => 1.0,
            Peer::Endpoint(_) | Peer::Router { .. } => self.links.of_port(topology, router, port).to_f64() / ticks,
        };
        let of_endpoint = |endpoint| {
            let rate = self.links.injection_of(endpoint).unwrap_or(Bandwidth::UNLIMITED);
            rate.to_f64() / ticks
        };
        ports.map(of_port).chain((0..topology.endpoints()).map(of_endpoint)).collect()
    }

    /// The program before it starts.
    fn running(&self) -> Running<Counted<Carrier>> {
        let Workload { program, hosts, unit, rails, .. } = &*self.workload;
        let ranks = Ranks::all(program.ranks());
        let hosts = Hosts::new(program.clone().plan(ranks), *hosts).with_unit(*unit).with_rails(*rails);
        let rates = self.rates();
        let by_link = vec![0.0; rates.len()];
        let endpoints = self.topology().endpoints() as usize;
        let carrier = Carrier {
            of: self.workload.clone(),
            sources: self.sources,
            cycle: self.links.ticks_per_cycle.into(),
            ways: Ways::new(&self.blueprint, self.latency),
            flows: Flows::new(rates, self.rule),
            under_way: Vec::new(),
            free: Vec::new(),
            due: BinaryHeap::new(),
            number: 0,
            queues: vec![Queue::default(); if self.sources == Sources::InTurn { endpoints } else { 0 }],
            unsent: vec![0; endpoints],
            ended: Vec::new(),
            by_link,
            held: 0,
        };
        let count = (vec![0; endpoints], vec![0; endpoints]);
        Running::new(hosts, self.asked, Counted { inner: carrier, count, of: self.workload.clone() })
    }
}

/// Messages that an endpoint sends in turn.
#[derive(Debug, Clone, Default)]
struct Queue {
    /// True while it sends one.
    busy: bool,
    /// The messages after it.
    next: VecDeque<u32>,
}

/// A message between its send and the end of its flow.
#[derive(Debug, Clone)]
struct Sending {
    message: Message,
    phits: u64,
    /// The endpoints.
    ends: (u32, u32),
    /// When its flow may begin.
    start: f64,
    /// Its way, from the time at which the flow begins or its latency starts.
    way: Option<Way>,
}

/// Messages under way.
struct Carrier {
    of: Arc<Workload>,
    sources: Sources,
    /// Ticks in a cycle.
    cycle: u64,
    ways: Ways,
    flows: Flows,
    under_way: Vec<Option<Sending>>,
    free: Vec<u32>,
    /// Messages whose flow begins at a known time, in the order of sending.
    due: BinaryHeap<Reverse<(Key, u64, u32)>>,
    number: u64,
    queues: Vec<Queue>,
    /// By endpoint: phits that have been posted and have not been sent completely.
    unsent: Vec<u64>,
    ended: Vec<u32>,
    /// Phits that each link has carried.
    by_link: Vec<f64>,
    /// Bytes of the flows, at most so far.
    held: usize,
}

/// Rounding of a time to a tick: a flow that ends this little after a tick ends with it.
const ROUNDING: f64 = 1e-6;

/// The first tick that is not before a time.
fn tick(time: f64) -> u64 {
    (time - ROUNDING - time * 1e-12).ceil() as u64
}

impl Carrier {
    /// The flow of message `place` begins at its time.
    fn file(&mut self, place: u32, start: f64) {
        self.due.push(Reverse((Key(start), self.number, place)));
        self.number += 1;
    }

    /// The flow of message `place` begins now.
    fn begin(&mut self, place: u32) {
        let Some(sending) = &mut self.under_way[place as usize] else { return };
        let (from, to) = sending.ends;
        let way = sending.way.get_or_insert_with(|| self.ways.way(&self.flows, from, to));
        for hop in &*way.hops {
            self.by_link[hop.link as usize] += sending.phits as f64 * hop.share;
        }
        let hops = way.hops.clone();
        self.flows.begin(hops, sending.phits as f64, place);
    }

    /// The flow of message `place` has ended. Its endpoint sends the next message.
    fn end(&mut self, place: u32, arrived: &mut Vec<(u64, Message)>) {
        let Some(sending) = self.under_way[place as usize].take() else { return };
        self.free.push(place);
        let now = self.flows.now();
        let from = sending.ends.0 as usize;
        self.unsent[from] = self.unsent[from].saturating_sub(sending.phits);
        let latency = match self.sources {
            Sources::InTurn => sending.way.map_or(0.0, |way| way.latency),
            Sources::Shared => 0.0,
        };
        arrived.push((tick(now + latency), sending.message));
        let Some(queue) = self.queues.get_mut(from) else { return };
        match queue.next.pop_front() {
            None => queue.busy = false,
            Some(next) => {
                let start = self.under_way[next as usize].as_ref().map_or(now, |sending| sending.start);
                match start <= now {
                    true => self.begin(next),
                    false => self.file(next, start),
                }
            }
        }
    }

    /// When something happens next.
    fn next_time(&mut self) -> Option<f64> {
        let due = self.due.peek().map(|Reverse((Key(time), ..))| *time);
        let end = self.flows.next_end();
        due.into_iter().chain(end).reduce(f64::min)
    }
}

impl Network for Carrier {
    fn hop(&mut self, message: &Message, _hops: u32, now: u64) -> Hop {
        if message.source == message.destination {
            return Hop::Arrives(now);
        }
        let ends @ (from, to) =
            (self.of.endpoint(message.source, message.nic), self.of.endpoint(message.destination, message.nic));
        let phits = phits(&self.of.packets, message.bytes);
        // Like every packet, it starts in the cycle after its generation.
        let start = now.div_ceil(self.cycle).saturating_add(1).saturating_mul(self.cycle) as f64;
        let mut sending = Sending { message: *message, phits, ends, start, way: None };
        self.unsent[from as usize] = self.unsent[from as usize].saturating_add(phits);
        if self.sources == Sources::Shared {
            let way = self.ways.way(&self.flows, from, to);
            sending.start += way.latency;
            sending.way = Some(way);
        }
        let start = sending.start;
        let place = self.free.pop().unwrap_or_else(|| {
            self.under_way.push(None);
            self.under_way.len() as u32 - 1
        });
        self.under_way[place as usize] = Some(sending);
        match self.queues.get_mut(from as usize) {
            Some(queue) if queue.busy => queue.next.push_back(place),
            queue => {
                queue.into_iter().for_each(|queue| queue.busy = true);
                self.file(place, start);
            }
        }
        Hop::UnderWay
    }

    fn queued(&self, rank: u32, rail: u8, _now: u64) -> u64 {
        self.unsent[self.of.endpoint(rank, rail) as usize]
    }

    fn overtakes(&self) -> bool {
        self.sources == Sources::Shared
    }

    fn next(&mut self) -> Option<u64> {
        self.next_time().map(tick)
    }

    fn advance(&mut self, now: u64, arrived: &mut Vec<(u64, Message)>) {
        while let Some(time) = self.next_time()
            && tick(time) <= now
        {
            poll();
            let mut ended = std::mem::take(&mut self.ended);
            self.flows.advance(time, &mut ended);
            // Ends come in the order of the flows' clocks; messages are in the order of sending.
            ended.sort_unstable_by_key(|&place| {
                self.under_way[place as usize].as_ref().map(|sending| (sending.message.source, sending.message.number))
            });
            ended.drain(..).for_each(|place| self.end(place, arrived));
            self.ended = ended;
            while let Some(&Reverse((Key(start), _, place))) = self.due.peek()
                && start <= time
            {
                self.due.pop();
                self.begin(place);
            }
        }
        self.held = self.held.max(self.flows.bytes_at_least());
    }
}

impl Fabric for FluidNetwork {
    fn advance(&mut self, _end: Tick) {
        if self.finish.is_none() {
            let mut running = self.running();
            running.go_on(u64::MAX);
            let (finish, network) = running.finish();
            self.carried = network.count;
            (self.by_link, self.held) = (network.inner.by_link, network.inner.held);
            self.finish = Some(finish);
        }
    }

    fn open_window(&mut self, span: Range<Tick>) {
        self.collector.open(span);
    }

    fn close_window(&mut self) -> u64 {
        self.collector.counters.load.delivered_phits = sum(&self.carried.1);
        0
    }

    fn snapshot(&self) -> Snapshot {
        let topology = self.topology();
        let ports =
            (0..topology.routers()).flat_map(|router| (0..topology.ports(router)).map(move |port| (router, port)));
        let carried = |(number, (router, port)): (usize, (u32, u16))| {
            let phits = self.by_link.get(number).copied().unwrap_or(0.0);
            self.links.rate_of_port(topology, router, port).parts(phits.round() as u64)
        };
        let parts = |rate: &dyn Fn(u32) -> Rate, phits: &[u64]| -> Vec<u64> {
            (0..).zip(phits).map(|(endpoint, &phits)| rate(endpoint).parts(phits)).collect()
        };
        Snapshot {
            ports: ports.enumerate().map(carried).collect(),
            injected: parts(&|endpoint| self.links.injection_rate(endpoint), &self.carried.0),
            ejected: Some(parts(&|endpoint| self.links.rate_of_endpoint(endpoint), &self.carried.1)),
            offered: sum(&self.carried.0),
            ..Snapshot::default()
        }
    }

    fn collectors(&self) -> Vec<&Collector> {
        vec![&self.collector]
    }

    fn tables(&self) -> BTreeMap<&'static str, usize> {
        let carried = (self.carried.0.capacity() + self.carried.1.capacity()) * size_of::<u64>()
            + self.by_link.capacity() * size_of::<f64>();
        BTreeMap::from([("carried", carried), ("flows", self.held), ("program", self.workload.program.bytes())])
    }

    fn caller(&mut self) -> Option<&mut dyn Caller> {
        if self.called.is_none() {
            self.called = Some(Box::new(self.running().with_caller()));
        }
        Some(self.called.as_deref_mut()?)
    }

    fn progress(&self) -> Progress {
        Progress::default()
    }

    fn longest_wait(&self) -> Tick {
        2000 * self.links.ticks_per_cycle
    }

    fn stuck(&self) -> String {
        String::new()
    }

    fn at_rest(&self) -> bool {
        self.finish.is_some()
    }

    fn beyond(&self) -> bool {
        // Times that are too large are replaced by the largest time.
        self.finish.as_ref().is_some_and(|finish| finish.ranks.contains(&self.last()))
    }

    fn last(&self) -> u64 {
        u64::MAX
    }

    fn performed(&self) -> u64 {
        self.finish.as_ref().map_or(0, |finish| finish.events)
    }

    fn left(&self) -> (Left, Vec<Message>) {
        let left = self.finish.as_ref().map(|finish| {
            let Left { receives, messages, never } = &finish.left;
            Left { receives: receives.clone(), messages: messages.clone(), never: never.clone() }
        });
        (left.unwrap_or_default(), Vec::new())
    }

    fn close_program(&mut self) {
        let Some(finish) = &self.finish else { return };
        self.collector.counters.programs.add(whole::rows(finish, &self.workload));
    }

    fn audit(&self) -> Result<(), String> {
        Ok(())
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }
}
