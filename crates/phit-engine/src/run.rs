//! One run: check, build, warm up, measure, drain.

use crate::engine::Tick;
use crate::engine::parallel::{Inboxes, advance};
use crate::error::ScenarioError;
use crate::fabric::input_queued::build::Blueprint;
use crate::fabric::input_queued::config::Config;
use crate::fabric::input_queued::params::Switching;
use crate::fabric::input_queued::stuck::Watchdog;
use crate::fabric::input_queued::{Mail, Partition};
use crate::fabric::packet_node::Network;
use crate::measure::collector::{Collector, Looks, Window};
use crate::measure::confidence::mean_of_batches;
use crate::measure::quantities::batches::Batches;
use crate::measure::{Count, SeriesBy, Snapshot, Until, Warmup, warmup};
use crate::probes::ProbeKind;
use crate::proof::{Proof, bubble, cdg, escape};
use crate::queueing::Division;
use crate::result::Outcome;
use crate::scenario::{Scenario, check};
use crate::topology::{Breakdown, Topology};
use crate::traffic::Traffic;
use serde_json::{Value, json};
use std::ops::Range;
use std::sync::Arc;

/// Choices about how a run is executed, which never change its results.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options {
    /// Threads; 0 counts as 1.
    pub threads: usize,
    /// Number of partitions; chosen automatically if `None`.
    pub partitions: Option<usize>,
}

/// Told how far a run is; returns false to stop it.
pub type Progress<'a> = &'a mut dyn FnMut(u32, u32) -> bool;

/// A run was stopped from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the run was stopped")]
pub struct Stopped;

/// A network in motion.
pub struct Simulation {
    scenario: Scenario,
    blueprint: Blueprint,
    partitions: Vec<Partition>,
    /// The network of packet-level nodes that stands in the place of partitions, if the scenario has them.
    network: Option<Box<Network>>,
    inboxes: Inboxes<Mail>,
    lookahead: Tick,
    threads: usize,
    now: Tick,
    watchdog: Watchdog,
    /// Times that links have broken and that routing has got to know of it, in turns.
    breakdowns_seen: usize,
}

/// When a probe looks.
fn looks(probe: &ProbeKind, ticks_per_cycle: Tick) -> Looks {
    Looks { kind: probe.kind(), every: probe.params().every().saturating_mul(ticks_per_cycle) }
}

/// Checks a scenario completely and returns what partitions are made from.
pub fn prepare(scenario: &Scenario) -> Result<Blueprint, ScenarioError> {
    let topology = scenario.topology.build()?;
    check::check(scenario, &*topology)?;
    let division = scenario.queueing.params().division(&*topology);
    let config = Config::new(&scenario.router, topology.classes(), division);
    let max_load = config.links[0].injection_bandwidth.unwrap_or(config.links[0].bandwidth);
    let bisection = config.bisection_load(&*topology);
    let traffic = Traffic::build(&scenario.traffic, &*topology, f64::from(max_load), bisection, scenario.seed)?;
    let cycle = config.ticks_per_cycle;
    let measure = &scenario.measure;
    let (smallest, largest) = traffic.packet_sizes();
    let window = Window {
        ticks_per_cycle: cycle,
        by_generation: measure.count == Count::Generated,
        batch: (measure.cycles / measure.batches).max(1) * cycle,
        histogram: measure.histogram,
        series_bin: measure.series.as_ref().map(|s| s.bin * cycle),
        probes: measure.probes.iter().map(|probe| looks(probe, cycle)).collect(),
        order: measure.order,
        series_by_generation: measure.series.as_ref().is_some_and(|s| s.by == SeriesBy::Generation),
    };
    Ok(Blueprint {
        smallest_flit: u32::from(smallest).min(if config.flit_size > 65535 { u32::MAX } else { 1 }),
        largest_flit: u32::from(largest).min(config.flit_size),
        config: Arc::new(config),
        table: scenario.routing.params().table(&*topology),
        topology,
        routing: scenario.routing.clone(),
        queueing: scenario.queueing.clone(),
        traffic: Arc::new(traffic),
        window,
        probes: measure.probes.clone(),
        seed: scenario.seed,
    })
}

/// Follows all routes of a scenario and proves, or disproves, that no packets can wait for one another in a circle. Fewer
/// virtual channels than the routing mechanism asks for are no error here: the report shows what comes of them.
pub fn verify(scenario: &Scenario) -> Result<Value, ScenarioError> {
    let topology = scenario.topology.build()?;
    check::graph(scenario, &*topology)?;
    let vcs = Config::new(&scenario.router, topology.classes(), Division::WHOLE).vcs;
    let (argument, result) = match scenario.routing.params().proof() {
        Proof::Order(routes) => (ORDER, cdg::check_all(&*topology, &routes, &vcs)),
        Proof::Escape(_) if scenario.router.switching == Switching::Wormhole => {
            let reason = "under wormhole switching a channel need not take all of a packet";
            return Ok(json!({ "proved": null, "argument": ESCAPE, "reason": reason }));
        }
        Proof::Escape(mechanism) => (ESCAPE, escape::check(&*topology, &*mechanism, &vcs)),
        Proof::Bubble(_) if scenario.router.switching == Switching::Wormhole && scenario.router.node.is_none() => {
            let reason = "under wormhole switching a channel need not take all of a packet";
            return Ok(json!({ "proved": null, "argument": BUBBLE, "reason": reason }));
        }
        Proof::Bubble(rule) => (BUBBLE, bubble::check(&*topology, rule, &vcs)),
        Proof::Unknown => {
            return Ok(json!({ "proved": null, "reason": "the routing mechanism's routes cannot be followed" }));
        }
    };
    Ok(match result {
        Ok(report) => json!({
            "proved": true, "argument": argument, "channels": report.channels,
            "dependencies": report.dependencies, "states": report.states,
        }),
        Err(flaw) => {
            let channel = |c: &cdg::Channel| json!({ "router": c.router, "port": c.port, "vc": c.vc });
            let cycle = match &flaw {
                cdg::Flaw::Cycle(channels) => channels.iter().map(channel).collect(),
                _ => vec![],
            };
            json!({ "proved": false, "argument": argument, "reason": flaw.to_string(), "cycle": cycle })
        }
    })
}

/// The routing tables of a scenario: for each router the output port for every destination. Refuses a routing mechanism without
/// tables.
pub fn routes(scenario: &Scenario) -> Result<Value, ScenarioError> {
    let topology = scenario.topology.build()?;
    check::graph(scenario, &*topology)?;
    let Some(table) = scenario.routing.params().table(&*topology) else {
        let kind = format!("{:?}", scenario.routing.kind());
        return Err(ScenarioError::new("routing.kind", kind, "has no tables; expected \"table\""));
    };
    let of =
        |router: u32| (0..table.endpoints()).map(|destination| table.port(router, destination)).collect::<Vec<_>>();
    Ok(json!((0..topology.routers()).map(of).collect::<Vec<_>>()))
}

/// The arguments of [`verify`] in words.
const ORDER: &str = "the virtual channels can be put in an order that rises along every route";
const ESCAPE: &str =
    "a blocked packet may always take a hop to a higher virtual channel, which has room for whole packets";

const BUBBLE: &str =
    "escape queues keep a free slot in every ring, and the rings can be put in an order that rises along every route";

/// Contiguous ranges of whole groups, as equal as can be.
fn ranges(topology: &dyn Topology, parts: usize) -> Vec<Range<u32>> {
    let groups = topology.groups();
    let parts = (parts as u32).clamp(1, groups);
    (0..parts)
        .map(|part| {
            let bound = |part: u32| match (u64::from(groups) * u64::from(part) / u64::from(parts)) as u32 {
                group if group == groups => topology.routers(),
                group => topology.group_routers(group).start,
            };
            bound(part)..bound(part + 1)
        })
        .collect()
}

/// Epochs shorter than this do not pay for switching from one partition to the next on one thread.
const WORTHWHILE_EPOCH: Tick = 32;
/// Endpoints whose state fits a private cache while they run an epoch.
const ENDPOINTS_PER_BLOCK: u32 = 256;

impl Simulation {
    /// Checks `scenario` and builds its network, empty, at cycle 0.
    pub fn new(scenario: &Scenario, options: Options) -> Result<Self, ScenarioError> {
        let blueprint = prepare(scenario)?;
        let threads = options.threads.max(1);
        let topology = &*blueprint.topology;
        let blocked = |parts: usize| {
            let ranges = ranges(topology, parts);
            let lookahead = blueprint.lookahead(&ranges);
            (ranges, lookahead)
        };
        let alone = blueprint.routing.params().reads_everything().then_some(1);
        let (ranges, lookahead) = match alone.or(options.partitions) {
            Some(parts) => blocked(parts),
            None => {
                let blocks = (topology.endpoints() / ENDPOINTS_PER_BLOCK).max(1) as usize;
                let (fine, lookahead) = blocked(blocks.max(threads));
                if lookahead >= WORTHWHILE_EPOCH { (fine, lookahead) } else { blocked(threads) }
            }
        };
        let network = Network::new(scenario, &blueprint).map(Box::new);
        let partitions = if network.is_some() { vec![] } else { blueprint.build(ranges) };
        Ok(Self {
            network,
            watchdog: Watchdog::new(0, blueprint.longest_wait()),
            scenario: scenario.clone(),
            inboxes: Inboxes::new(partitions.len()),
            blueprint,
            partitions,
            lookahead,
            threads,
            now: 0,
            breakdowns_seen: 0,
        })
    }

    /// Current tick.
    pub fn now(&self) -> Tick {
        self.now
    }

    /// Number of partitions.
    pub fn partitions(&self) -> usize {
        self.partitions.len()
    }

    /// The partitions, for checks of their state between two calls of [`Self::advance_to`].
    pub fn parts(&self) -> (&[Partition], &Inboxes<Mail>) {
        (&self.partitions, &self.inboxes)
    }

    /// The network of packet-level nodes, if the scenario has them.
    pub fn network(&self) -> Option<&Network> {
        self.network.as_deref()
    }

    /// The partitions, for tests that put something of their own into them.
    #[cfg(test)]
    pub(crate) fn parts_mut(&mut self) -> &mut [Partition] {
        &mut self.partitions
    }

    /// What the partitions were made from.
    pub fn blueprint(&self) -> &Blueprint {
        &self.blueprint
    }

    /// Runs all ticks before `end`.
    pub fn advance_to(&mut self, end: Tick) {
        while let Some((at, breakdown, known)) = self.next_breakdown().filter(|(at, ..)| *at < end) {
            self.run_to(at);
            self.breakdowns_seen += 1;
            for partition in &mut self.partitions {
                match known {
                    false => partition.break_links(&breakdown.dead),
                    true => partition.reroute(&breakdown.graph, &breakdown.dead),
                }
            }
        }
        self.run_to(end);
    }

    fn run_to(&mut self, end: Tick) {
        if end > self.now {
            match &mut self.network {
                Some(network) => network.advance_to(end),
                None => advance(&mut self.partitions, &self.inboxes, self.threads, self.lookahead, self.now, end),
            }
            self.now = end;
        }
    }

    /// The next tick in which links break, or, with `true`, in which routing gets to know of it.
    fn next_breakdown(&self) -> Option<(Tick, Breakdown, bool)> {
        let cycle = self.blueprint.config.ticks_per_cycle;
        let breakdowns = self.blueprint.topology.breakdowns();
        let breakdown = breakdowns.get(self.breakdowns_seen / 2)?;
        let known = self.breakdowns_seen % 2 == 1;
        let cycles = if known { breakdown.cycle + breakdown.delay } else { breakdown.cycle };
        Some((cycles * cycle, breakdown.clone(), known))
    }

    /// Records packets from now on, for `cycles` cycles: what [`Self::run`] does between warming up and measuring.
    pub fn open_window(&mut self, cycles: u32) {
        let end = self.now + cycles * self.blueprint.config.ticks_per_cycle;
        self.open(self.now..end);
    }

    fn open(&mut self, span: Range<Tick>) {
        self.partitions.iter_mut().for_each(|p| p.open_window(span.clone()));
        self.network.iter_mut().for_each(|n| n.open_window(span.clone()));
    }

    fn snapshot(&self) -> Snapshot {
        self.network.as_ref().map_or_else(|| Snapshot::of(&self.partitions), |network| network.snapshot())
    }

    /// Packets generated in the window that have been delivered, or lost over links that broke.
    fn delivered(&self) -> u64 {
        self.collectors()
            .map(|collector| collector.counters.flow.generated_delivered + collector.counters.flow.generated_lost)
            .sum()
    }

    /// What has been counted so far, in parts.
    pub fn collectors(&self) -> impl Iterator<Item = &Collector> {
        self.partitions.iter().map(Partition::collector).chain(self.network.iter().map(|network| network.collector()))
    }

    /// Bytes of all tables.
    pub fn bytes(&self) -> usize {
        let mut bytes = self.partitions.iter().map(Partition::bytes).sum::<usize>();
        bytes += self.network.as_ref().map_or(0, |network| network.bytes());
        self.inboxes.for_each(|_, mail| bytes += mail.bytes());
        bytes
    }

    fn merged(&self) -> Collector {
        let mut all = Collector::new(self.blueprint.window.clone());
        self.collectors().for_each(|collector| all.merge(collector));
        all
    }

    /// Runs the whole scenario.
    pub fn run(mut self, progress: Progress<'_>) -> Result<Outcome, RunError> {
        let measure = self.scenario.measure.clone();
        let cycle = self.blueprint.config.ticks_per_cycle;
        let planned_warmup = match measure.warmup {
            Warmup::Cycles(cycles) => cycles,
            Warmup::Auto => measure.cycles,
        };
        let mut planned = planned_warmup + measure.cycles;
        self.watchdog = Watchdog::new(self.now, self.blueprint.longest_wait());

        match measure.warmup {
            Warmup::Cycles(cycles) => self.advance_reporting(cycles * cycle, planned, progress)?,
            Warmup::Auto => self.warm_up(measure.cycles, measure.max_warmup, &mut planned, progress)?,
        }
        let start = self.now;
        let before = self.snapshot();

        let mut end = start + measure.cycles * cycle;
        let mut converged = true;
        loop {
            self.open(start..end);
            self.advance_reporting(end, planned, progress)?;
            let Some(until) = &measure.until else { break };
            converged = precise(&self.merged(), until);
            let measured = (end - start) / cycle;
            if converged || measured >= until.max_cycles {
                break;
            }
            let more =
                (measure.cycles / 2).max(measure.cycles / measure.batches).min(until.max_cycles - measured).max(1);
            end += more * cycle;
            planned += more;
        }
        let labelled = self.partitions.iter_mut().map(Partition::close_window).sum::<u64>()
            + self.network.as_mut().map_or(0, |network| network.close_window());
        let after = self.snapshot();

        let mut drained = 0;
        if measure.count == Count::Generated {
            while self.delivered() < labelled && drained < measure.max_drain {
                let step = DRAIN_STEP.min(measure.max_drain - drained);
                drained += step;
                self.advance_reporting(self.now + step * cycle, planned + drained, progress)?;
            }
            converged &= self.delivered() >= labelled;
        }
        Ok(Outcome {
            collector: self.merged(),
            warmup_cycles: start / cycle,
            cycles: (end - start) / cycle,
            drain_cycles: drained,
            converged,
            before,
            after,
            bytes: self.bytes(),
            partitions: self.partitions.len().max(1),
            threads: self.threads,
            topology: self.blueprint.topology.clone(),
            config: self.blueprint.config.clone(),
            scenario: self.scenario,
        })
    }

    fn advance_reporting(&mut self, end: Tick, planned: u32, progress: Progress<'_>) -> Result<(), RunError> {
        let cycle = self.blueprint.config.ticks_per_cycle;
        let step = (planned / 100).max(1).saturating_mul(cycle).max(self.lookahead.min(1000));
        while self.now < end {
            self.advance_to(self.now.saturating_add(step).min(end).min(self.watchdog.next()));
            if self.now == self.watchdog.next() {
                let mut watchdog = self.watchdog.clone();
                watchdog.look(self).map_err(RunError::Deadlock)?;
                self.watchdog = watchdog;
            }
            if !progress(self.now / cycle, planned.max(self.now / cycle)) {
                return Err(Stopped.into());
            }
        }
        Ok(())
    }

    /// Runs until the latency and the accepted load have settled.
    fn warm_up(&mut self, cycles: u32, limit: u32, planned: &mut u32, progress: Progress<'_>) -> Result<(), RunError> {
        let cycle = self.blueprint.config.ticks_per_cycle;
        let chunk = (cycles / 20).max(50);
        let mut chunks = Vec::new();
        let mut last = self.merged().counters.flow;
        while self.now / cycle < limit {
            self.advance_reporting(self.now + chunk * cycle, *planned, progress)?;
            let total = self.merged().counters.flow;
            chunks.push(warmup::Chunk {
                packets: total.packets - last.packets,
                latency_sum: total.latency - last.latency,
                phits: total.phits - last.phits,
            });
            last = total;
            if warmup::warmed_up(&chunks).is_some() {
                break;
            }
            *planned = (*planned).max(self.now / cycle + chunk + cycles);
        }
        Ok(())
    }
}

/// True if the intervals of mean latency and accepted load are as narrow as asked for.
fn precise(collector: &Collector, until: &Until) -> bool {
    let bins = &collector.counters.batches.bins;
    let load: Vec<f64> = bins.iter().map(|bin| bin.phits as f64).collect();
    [Batches::latency(bins, until.confidence), mean_of_batches(&load, until.confidence)]
        .iter()
        .all(|interval| interval.as_ref().is_some_and(|i| i.relative() <= until.half_width))
}

/// Cycles between two looks at whether all labelled packets have been delivered.
const DRAIN_STEP: u32 = 200;

/// Checks, builds and runs a scenario.
pub fn run(scenario: &Scenario, options: Options, progress: Progress<'_>) -> Result<Outcome, RunError> {
    Simulation::new(scenario, options)?.run(progress)
}

/// Why a run has no result.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The scenario cannot be simulated.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// The run was stopped.
    #[error(transparent)]
    Stopped(#[from] Stopped),
    /// Packets wait for one another in a circle, or for ever: which ones.
    #[error("{0}")]
    Deadlock(String),
}
