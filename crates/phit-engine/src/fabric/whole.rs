//! Shared by kernels that carry whole messages: what endpoints have sent and received, and the results of a program.

use crate::engine::{Memory, Tick, poll};
use crate::error::ScenarioError;
use crate::fabric::{Blueprint, Caller, Demands, Fabric, Progress, SAMPLED, spread};
use crate::measure::{
    Collector, MessageRow, OperationRow, PhaseRow, Programs, RankRow, Rate, RequestRow, Snapshot, TrackRow,
};
use crate::topology::Topology;
use crate::workload::{Packets, Workload};
use phit_workload::Ranks;
use phit_workload::host::{Hosts, Left, Message, Usage};
use phit_workload::network::{Hop, Network};
use phit_workload::run::{Carried, Finish, Running};
use std::any::Any;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// Phits of a message, including its packets' headers.
pub(super) fn phits(packets: &Packets, bytes: u64) -> u64 {
    let (count, last) = packets.cut(bytes);
    (count - 1).saturating_mul(packets.full().into()).saturating_add(last.into())
}

/// Sum of all counts, or the largest number if it overflows.
pub(super) fn sum(counts: &[u64]) -> u64 {
    counts.iter().fold(0, |sum, count| sum.saturating_add(*count))
}

/// Counts the phits of messages as they enter the network.
pub(super) struct Counted<N> {
    pub inner: N,
    /// Phits that each endpoint has sent, and has received.
    pub count: (Vec<u64>, Vec<u64>),
    pub of: Arc<Workload>,
}

impl<N: Network> Network for Counted<N> {
    fn hop(&mut self, message: &Message, hops: u32, now: u64) -> Hop {
        poll();
        if hops == 0 && message.source != message.destination {
            let phits = phits(&self.of.packets, message.bytes);
            for (counts, rank) in [(&mut self.count.0, message.source), (&mut self.count.1, message.destination)] {
                let count = &mut counts[self.of.endpoint(rank, message.nic) as usize];
                *count = count.saturating_add(phits);
            }
        }
        self.inner.hop(message, hops, now)
    }

    fn queued(&self, rank: u32, rail: u8, now: u64) -> u64 {
        self.inner.queued(rank, rail, now)
    }

    fn is_ideal(&self) -> bool {
        self.inner.is_ideal()
    }

    fn overtakes(&self) -> bool {
        self.inner.overtakes()
    }

    fn next(&mut self) -> Option<u64> {
        self.inner.next()
    }

    fn advance(&mut self, now: u64, arrived: &mut Vec<(u64, Message)>) {
        self.inner.advance(now, arrived);
    }
}

/// The rows of a program's results.
pub(super) fn rows(finish: &Finish, workload: &Workload) -> Programs {
    let rank = |((rank, &finish), &usage): ((u32, &u64), _)| RankRow {
        rank,
        job: workload.job_of(rank).name.clone(),
        endpoint: workload.endpoint(rank, 0),
        finish,
        usage,
    };
    let message = |carried: &Carried| {
        let row = MessageRow::new(&carried.message, workload.rails);
        MessageRow { last: Some(carried.arrived), matched: carried.matched, ..row }
    };
    Programs {
        ranks: (0..).zip(&finish.ranks).zip(&finish.usage).map(rank).collect(),
        messages: finish.messages.iter().map(message).collect(),
        operations: finish.operations.iter().map(|span| OperationRow(*span)).collect(),
        tracks: finish.stretches.iter().map(|stretch| TrackRow(*stretch)).collect(),
        requests: finish.served.iter().map(|one| RequestRow::new(one.clone(), workload)).collect(),
        phases: (0..).zip(&finish.phases).flat_map(|(rank, phases)| PhaseRow::of(rank, phases.clone())).collect(),
        ..Programs::default()
    }
}

/// What carries the messages of a kernel.
pub(super) trait Carries: Network + Send + 'static {
    /// Phits that the link behind a port has carried: port `port` of `router`, the `number`th of all ports.
    fn carried(&self, _number: usize, _router: u32, _port: u16) -> u64 {
        0
    }

    /// Bytes of its tables, by name.
    fn tables(&self) -> Vec<(&'static str, usize)> {
        Vec::new()
    }
}

/// A function that makes what carries the messages of a program.
type Make<C> = Box<dyn Fn(&Blueprint, &Arc<Workload>) -> C + Send>;

/// A network of a kernel that carries whole messages. The whole program runs, event by event, when the run begins; or a
/// caller drives it.
pub(super) struct WholeNetwork<C> {
    blueprint: Blueprint,
    workload: Arc<Workload>,
    /// Links between routers are told apart.
    links: bool,
    /// Makes what carries the messages.
    make: Make<C>,
    /// The program at its end, and what carried its messages.
    finished: Option<(Finish, Counted<C>)>,
    /// What came before this iteration of a program that is repeated.
    earlier: Earlier,
    /// The messages of a caller, if there is one.
    called: Option<Box<Running<Counted<C>>>>,
    collector: Collector,
}

/// What the earlier iterations of a program have left. An iteration has a clock of its own, and finds an empty network.
#[derive(Default)]
struct Earlier {
    /// When this iteration has begun.
    start: u64,
    /// By rank.
    usage: Vec<Usage>,
    /// By port.
    carried: Vec<u64>,
    /// Phits that each endpoint has sent, and has received.
    counts: Option<(Vec<u64>, Vec<u64>)>,
    events: u64,
    /// Phits that have been received and counted.
    counted: u64,
}

impl<C: Carries> WholeNetwork<C> {
    pub(super) fn new(
        blueprint: &Blueprint,
        links: bool,
        make: impl Fn(&Blueprint, &Arc<Workload>) -> C + Send + 'static,
    ) -> Self {
        let Some(workload) = blueprint.workload.clone() else {
            unreachable!("a network of messages without a program, which the checks refuse")
        };
        let collector = Collector::new(blueprint.window.clone());
        let (blueprint, make) = (blueprint.clone(), Box::new(make));
        Self { blueprint, workload, links, make, finished: None, earlier: Earlier::default(), called: None, collector }
    }

    /// The program before it starts.
    fn running(&self) -> Running<Counted<C>> {
        let Workload { program, hosts, unit, rails, .. } = &*self.workload;
        let ranks = Ranks::all(program.ranks());
        let hosts = Hosts::new(program.clone().plan(ranks), *hosts).with_unit(*unit).with_rails(*rails);
        let inner = (self.make)(&self.blueprint, &self.workload);
        Running::new(hosts, self.blueprint.rows, Counted { inner, count: self.counts(), of: self.workload.clone() })
    }

    fn finish(&self) -> Option<&Finish> {
        self.finished.as_ref().map(|(finish, _)| finish)
    }

    fn carrier(&self) -> Option<&C> {
        self.finished.as_ref().map(|(_, network)| &network.inner)
    }

    /// Phits that each endpoint has sent, and has received.
    fn counts(&self) -> (Vec<u64>, Vec<u64>) {
        let none = || vec![0; self.blueprint.topology.endpoints() as usize];
        let earlier = || self.earlier.counts.clone().unwrap_or_else(|| (none(), none()));
        self.finished.as_ref().map_or_else(earlier, |(_, network)| network.count.clone())
    }

    /// Counts the phits that have been received since the last call.
    fn count_delivered(&mut self) {
        let all = sum(&self.counts().1);
        let counted = std::mem::replace(&mut self.earlier.counted, all);
        self.collector.counters.load.delivered_phits += all - counted;
    }

    /// All ports, as router and port.
    fn ports(&self) -> impl Iterator<Item = (u32, u16)> {
        let topology = &*self.blueprint.topology;
        let routers = if self.links { topology.routers() } else { 0 };
        (0..routers).flat_map(|router| (0..topology.ports(router)).map(move |port| (router, port)))
    }

    /// Phits that the link behind a port has carried: port `port` of `router`, the `number`th of all ports.
    fn carried(&self, number: usize, router: u32, port: u16) -> u64 {
        let now = self.carrier().map_or(0, |carrier| carrier.carried(number, router, port));
        now.saturating_add(self.earlier.carried.get(number).copied().unwrap_or(0))
    }

    /// The rows of the program's results, of all iterations so far.
    fn rows(&self) -> Programs {
        let Some((finish, _)) = &self.finished else { return Programs::default() };
        let mut rows = rows(finish, &self.workload);
        for row in &mut rows.ranks {
            row.finish = row.finish.saturating_add(self.earlier.start);
            if let Some(earlier) = self.earlier.usage.get(row.rank as usize) {
                row.usage.add(earlier, 1);
            }
        }
        rows
    }
}

impl<C: Carries> Fabric for WholeNetwork<C> {
    fn advance(&mut self, _end: Tick) {
        if self.finished.is_none() {
            let mut running = self.running();
            running.go_on(u64::MAX);
            self.finished = Some(running.finish());
        }
    }

    fn open_window(&mut self, span: Range<Tick>) {
        self.collector.open(span);
    }

    fn close_window(&mut self) -> u64 {
        self.count_delivered();
        0
    }

    fn snapshot(&self) -> Snapshot {
        let Blueprint { topology, links, .. } = &self.blueprint;
        let topology = &**topology;
        let carried = |(number, (router, port)): (usize, (u32, u16))| {
            links.rate_of_port(topology, router, port).parts(self.carried(number, router, port))
        };
        let parts = |rate: &dyn Fn(u32) -> Rate, phits: &[u64]| -> Vec<u64> {
            (0..).zip(phits).map(|(endpoint, &phits)| rate(endpoint).parts(phits)).collect()
        };
        let (sent, received) = self.counts();
        Snapshot {
            ports: self.ports().enumerate().map(carried).collect(),
            injected: parts(&|endpoint| links.injection_rate(endpoint), &sent),
            ejected: Some(parts(&|endpoint| links.rate_of_endpoint(endpoint), &received)),
            offered: sum(&sent),
            ..Snapshot::default()
        }
    }

    fn collectors(&self) -> Vec<&Collector> {
        vec![&self.collector]
    }

    fn tables(&self) -> BTreeMap<&'static str, usize> {
        let endpoints = self.blueprint.topology.endpoints() as usize;
        let mut tables = BTreeMap::from([("program", self.workload.program.bytes())]);
        *tables.entry("carried").or_default() += 2 * endpoints * size_of::<u64>();
        for (name, bytes) in self.carrier().map(Carries::tables).into_iter().flatten() {
            *tables.entry(name).or_default() += bytes;
        }
        tables
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
        2000 * self.blueprint.links.ticks_per_cycle
    }

    fn stuck(&self) -> String {
        String::new()
    }

    fn at_rest(&self) -> bool {
        self.finished.is_some()
    }

    fn finish(&self) -> u64 {
        WholeNetwork::finish(self).map_or(0, |finish| self.earlier.start.saturating_add(finish.completion()))
    }

    fn begin_again(&mut self, at: u64) {
        let rows = self.rows();
        let carried = self.ports().enumerate().map(|(number, (router, port))| self.carried(number, router, port));
        let earlier = Earlier {
            start: at,
            usage: rows.ranks.iter().map(|row| row.usage).collect(),
            carried: carried.collect(),
            counts: Some(self.counts()),
            events: self.performed(),
            counted: self.earlier.counted,
        };
        (self.earlier, self.finished) = (earlier, None);
    }

    fn next_start(&self, _now: Tick, start: u64, look: u64) -> u64 {
        let took = Fabric::finish(self).saturating_sub(start);
        start.saturating_add(took.max(1).next_multiple_of(look))
    }

    fn remember(&self, _memory: &mut Memory) {
        // Every iteration finds the network as the first one did.
    }

    fn take_counts(&mut self, blanks: &[Collector]) -> Option<Collector> {
        self.count_delivered();
        Some(std::mem::replace(&mut self.collector, blanks.first()?.clone()))
    }

    fn add_counts(&mut self, counts: &Collector) {
        self.collector.merge(counts);
    }

    fn rank_rows(&self) -> Vec<RankRow> {
        self.rows().ranks
    }

    fn beyond(&self) -> bool {
        // Times that are too large are replaced by the largest time.
        WholeNetwork::finish(self).is_some_and(|finish| finish.ranks.contains(&self.last()))
    }

    fn last(&self) -> u64 {
        u64::MAX
    }

    fn performed(&self) -> u64 {
        self.earlier.events + WholeNetwork::finish(self).map_or(0, |finish| finish.events)
    }

    fn left(&self) -> (Left, Vec<Message>) {
        let left = WholeNetwork::finish(self).map(|finish| {
            let Left { receives, messages, never } = &finish.left;
            Left { receives: receives.clone(), messages: messages.clone(), never: never.clone() }
        });
        (left.unwrap_or_default(), Vec::new())
    }

    fn close_program(&mut self) {
        let rows = self.rows();
        self.collector.counters.programs.add(rows);
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

/// Refuses what is no message: `kind` is the kernel, `no_probes` why there is nothing to probe.
pub(super) fn only_messages(demands: &Demands<'_>, kind: &str, no_probes: &str) -> Result<(), ScenarioError> {
    if !demands.workload {
        let reason = "carries the messages of a program: expected [workload] in place of [traffic]";
        return Err(ScenarioError::new("router.kind", format!("{kind:?}"), reason));
    }
    if let Some(key) = demands.telling_packets_apart.first() {
        let reason = format!("tells packets apart, and router.kind = {kind:?} has none; leave it out");
        return Err(ScenarioError::missing(*key, reason));
    }
    match demands.probes.first() {
        Some(probe) => Err(ScenarioError::new("measure.probes", format!("{probe:?}"), no_probes)),
        None => Ok(()),
    }
}

/// The number of all ports, estimated from some routers.
pub(super) fn ports(topology: &dyn Topology) -> f64 {
    let some = spread(SAMPLED, topology.routers());
    let ports: f64 = some.iter().map(|&router| f64::from(topology.ports(router))).sum();
    ports * (f64::from(topology.routers()) / f64::from(SAMPLED)).max(1.0)
}
