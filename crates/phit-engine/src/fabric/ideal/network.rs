//! A program on the ideal network. The whole program runs, event by event, when the run begins.

use super::Model;
use super::intake::Intake;
use crate::engine::Tick;
use crate::fabric::whole::{self, Counted, phits, sum};
use crate::fabric::zero_load::{Step, Way, Ways};
use crate::fabric::{Bandwidth, LinkClasses};
use crate::fabric::{Blueprint, Caller, Fabric, Progress};
use crate::measure::{Collector, Rate, Snapshot};
use crate::topology::Topology;
use crate::workload::Workload;
use phit_workload::Ranks;
use phit_workload::host::{Hosts, Left, Message};
use phit_workload::network::{self, Hop, Network};
use phit_workload::run::{Asked, Finish, Running};
use std::any::Any;
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::Arc;

/// A network without routers.
pub(super) struct IdealNetwork {
    model: Model,
    latency: Tick,
    workload: Arc<Workload>,
    topology: Arc<dyn Topology>,
    ways: Arc<Ways>,
    ticks_per_cycle: Tick,
    asked: Asked,
    finish: Option<Finish>,
    /// The messages of a caller, if there is one.
    called: Option<Box<Running<Counted<Carrier>>>>,
    collector: Collector,
    /// Phits that each endpoint has sent, and has received.
    carried: (Vec<u64>, Vec<u64>),
    /// Phits that each link has carried, in the model with links: by router, or endpoint, and port.
    by_link: HashMap<(u32, u32), u64>,
    links: LinkClasses,
}

impl IdealNetwork {
    pub(super) fn new(model: Model, latency: Tick, blueprint: &Blueprint) -> Self {
        let Some(workload) = blueprint.workload.clone() else {
            unreachable!("an ideal network without a program, which the checks refuse")
        };
        let endpoints = blueprint.topology.endpoints() as usize;
        Self {
            model,
            latency,
            workload,
            topology: blueprint.topology.clone(),
            ways: Arc::new(Ways::new(blueprint, latency)),
            ticks_per_cycle: blueprint.links.ticks_per_cycle,
            asked: blueprint.rows,
            finish: None,
            called: None,
            collector: Collector::new(blueprint.window.clone()),
            carried: (vec![0; endpoints], vec![0; endpoints]),
            by_link: HashMap::new(),
            links: blueprint.links.clone(),
        }
    }

    /// The program before it starts.
    fn running(&self) -> Running<Counted<Carrier>> {
        let Workload { program, hosts, unit, rails, .. } = &*self.workload;
        let ranks = Ranks::all(program.ranks());
        let hosts = Hosts::new(program.clone().plan(ranks), *hosts).with_unit(*unit).with_rails(*rails);
        let (ways, of) = (self.ways.clone(), self.workload.clone());
        let endpoints = self.topology.endpoints() as usize;
        let inner = match self.model {
            Model::Constant => Carrier::Constant(self.latency.into()),
            Model::ZeroLoad | Model::EndpointLinks => Carrier::ZeroLoad(ZeroLoad {
                ways,
                of,
                free: vec![0; endpoints],
                intakes: (self.model == Model::EndpointLinks).then(|| vec![Intake::default(); endpoints]),
                known: HashMap::new(),
            }),
            Model::StoreAndForward => {
                Carrier::Links(Links { ways, of, free: HashMap::new(), known: HashMap::new(), carried: HashMap::new() })
            }
        };
        let count = (vec![0; endpoints], vec![0; endpoints]);
        Running::new(hosts, self.asked, Counted { inner, count, of: self.workload.clone() })
    }
}

/// What carries the messages in each model.
enum Carrier {
    /// Every message takes this many ticks.
    Constant(u64),
    ZeroLoad(ZeroLoad),
    Links(Links),
}

impl Network for Carrier {
    fn hop(&mut self, message: &Message, hops: u32, now: u64) -> Hop {
        match self {
            Self::Constant(latency) => network::Ideal(|_, _| *latency).hop(message, hops, now),
            Self::ZeroLoad(ways) => ways.hop(message, hops, now),
            Self::Links(links) => links.hop(message, hops, now),
        }
    }

    fn queued(&self, rank: u32, rail: u8, now: u64) -> u64 {
        match self {
            Self::ZeroLoad(ways) => ways.queued(rank, rail, now),
            Self::Constant(_) | Self::Links(_) => 0,
        }
    }

    fn is_ideal(&self) -> bool {
        matches!(self, Self::Constant(_))
    }
}

/// See [`Model::ZeroLoad`] and [`Model::EndpointLinks`].
struct ZeroLoad {
    ways: Arc<Ways>,
    of: Arc<Workload>,
    /// By endpoint: when its link into the network is free.
    free: Vec<u64>,
    /// By endpoint: its link out of the network, if that has a limit.
    intakes: Option<Vec<Intake>>,
    known: HashMap<(u32, u32), Way>,
}

impl Network for ZeroLoad {
    fn hop(&mut self, message: &Message, _hops: u32, now: u64) -> Hop {
        let Message { source, destination, bytes, nic, .. } = *message;
        if source == destination {
            return Hop::Arrives(now);
        }
        let [from, to] = [source, destination].map(|rank| self.of.endpoint(rank, nic));
        let way = *self.known.entry((from, to)).or_insert_with(|| self.ways.between(from, to));
        let phits = phits(&self.of.packets, bytes);
        let cycle = u64::from(self.ways.ticks_per_cycle());
        let time = |bandwidth: Bandwidth| bandwidth.cycles_of_message(phits).saturating_mul(cycle);
        let free = &mut self.free[from as usize];
        // Like every packet, it starts in the cycle after its generation.
        let start = now.div_ceil(cycle).saturating_add(1).saturating_mul(cycle).max(*free);
        *free = start.saturating_add(time(self.ways.injected(from)).max(cycle));
        let first = start.saturating_add(way.latency.into());
        let last = first.saturating_add(time(way.bandwidth));
        Hop::Arrives(match &mut self.intakes {
            Some(intakes) => intakes[to as usize].take(first, time(self.ways.ejected(to))).max(last),
            None => last,
        })
    }

    fn queued(&self, rank: u32, rail: u8, now: u64) -> u64 {
        self.free[self.of.endpoint(rank, rail) as usize].saturating_sub(now)
    }
}

/// See [`Model::StoreAndForward`].
struct Links {
    ways: Arc<Ways>,
    of: Arc<Workload>,
    /// By router, or endpoint, and port: when the link is free.
    free: HashMap<(u32, u32), u64>,
    known: HashMap<(u32, u32), Vec<Step>>,
    /// Phits that it has carried.
    carried: HashMap<(u32, u32), u64>,
}

impl Network for Links {
    fn hop(&mut self, message: &Message, hops: u32, now: u64) -> Hop {
        let Message { source, destination, bytes, nic, .. } = *message;
        if source == destination {
            return Hop::Arrives(now);
        }
        let [from, to] = [source, destination].map(|rank| self.of.endpoint(rank, nic));
        let steps = self.known.entry((from, to)).or_insert_with(|| self.ways.steps(from, to));
        let Some(step) = steps.get(hops as usize) else { return Hop::Arrives(now) };
        let phits = phits(&self.of.packets, bytes);
        let time = step.bandwidth.cycles_of_message(phits).saturating_mul(self.ways.ticks_per_cycle().into());
        let carried = self.carried.entry(step.link).or_default();
        *carried = carried.saturating_add(phits);
        let free = self.free.entry(step.link).or_default();
        *free = now.max(*free).saturating_add(time);
        let there = free.saturating_add(step.latency.into());
        match hops as usize + 1 == steps.len() {
            true => Hop::Arrives(there),
            false => Hop::Next(there),
        }
    }
}

impl Fabric for IdealNetwork {
    fn advance(&mut self, _end: Tick) {
        if self.finish.is_none() {
            let mut running = self.running();
            running.go_on(u64::MAX);
            let (finish, network) = running.finish();
            self.carried = network.count;
            if let Carrier::Links(links) = network.inner {
                self.by_link = links.carried;
            }
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
        let topology = &*self.topology;
        let carried = |router: u32, port: u16| {
            let phits = self.by_link.get(&(router, u32::from(port))).copied().unwrap_or(0);
            self.links.rate_of_port(topology, router, port).parts(phits)
        };
        let ports = |router| (0..topology.ports(router)).map(move |port| carried(router, port));
        let routers = if self.model == Model::StoreAndForward { topology.routers() } else { 0 };
        let parts = |rate: &dyn Fn(u32) -> Rate, phits: &[u64]| -> Vec<u64> {
            (0..).zip(phits).map(|(endpoint, &phits)| rate(endpoint).parts(phits)).collect()
        };
        Snapshot {
            ports: (0..routers).flat_map(ports).collect(),
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
        let carried = (self.carried.0.capacity() + self.carried.1.capacity()) * size_of::<u64>();
        BTreeMap::from([("carried", carried), ("program", self.workload.program.bytes())])
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
        2000 * self.ticks_per_cycle
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
