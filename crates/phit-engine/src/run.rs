//! One run: check, build, warm up, measure, drain. A program that has a scenario and wants its results starts here.

use crate::engine::{Parted, Team, Tick};
use crate::error::ScenarioError;
use crate::fabric::joint::Joint;
use crate::fabric::planes::Planes;
use crate::fabric::{Blueprint, Fabric, News, Whole};
use crate::measure::{Collector, Counters, Flow, Precisions, Snapshot, Written, warmup};
use crate::needs::{self};
use crate::result::Outcome;
use crate::scenario::{Count, Scenario, Until, Warmup};
use crate::topology::Breakdown;
use crate::workload::WorkloadParams;
use pace::Pace;
use prepare::blueprint;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::{Duration, Instant};
use watchdog::Watchdog;

mod network;
mod pace;
mod prepare;
mod program;
mod repeat;
mod verify;
mod watchdog;

pub use crate::fabric::Options;
pub use network::{Completion, Network, Stats};
pub use prepare::{check_seeds, needs, prepare};
pub use verify::{channels, routes, verify};

/// Receives the progress of a run; returns false to stop it.
pub type Progress<'a> = &'a mut dyn FnMut(u32, u32) -> bool;

/// A run was stopped from outside.
#[derive(Debug, thiserror::Error)]
#[error("the run was stopped")]
pub struct Stopped {
    /// The results up to then, if there are any.
    pub partial: Option<Box<Outcome>>,
}

/// A network in motion.
pub struct Simulation {
    scenario: Scenario,
    blueprint: Blueprint,
    fabric: Box<dyn Fabric>,
    threads: usize,
    /// The processes that run it together, if there are several.
    team: Option<Team>,
    now: Tick,
    watchdog: Watchdog,
    /// Number of changes seen: each failure counts when links break, and once more when routing learns of it.
    breakdowns_seen: usize,
    pace: Pace,
}

impl Simulation {
    /// Checks `scenario` and builds its network, empty, at cycle 0.
    pub fn new(scenario: &Scenario, options: Options) -> Result<Self, ScenarioError> {
        Self::within(scenario, options, None)
    }

    /// [`Self::new`], unless more than `memory` bytes are expected to be needed.
    pub fn within(scenario: &Scenario, options: Options, memory: Option<u64>) -> Result<Self, ScenarioError> {
        Self::among(scenario, options, memory, None)
    }

    /// [`Self::within`] for this process's share, where the processes of `team` run the network together. Each has its
    /// own number of threads and limit of memory. All of them must make the same calls.
    pub fn among(
        scenario: &Scenario,
        options: Options,
        memory: Option<u64>,
        team: Option<Team>,
    ) -> Result<Self, ScenarioError> {
        let team = team.filter(|team| team.count() > 1);
        let count = team.as_ref().map_or(1, Team::count);
        let (blueprint, graph) = blueprint(scenario, memory)?;
        scenario.registered()?;
        if memory.is_some() {
            needs::of_run(scenario, &blueprint, graph).within(scenario, memory, count)?;
        }
        if team.is_some() && blueprint.workload.as_ref().is_some_and(|workload| workload.repeat.is_some()) {
            let expected = format!("cannot be run by {count} processes; expected one process, or no repeat");
            return Err(ScenarioError::missing("workload.repeat", expected));
        }
        let together = |workload: &WorkloadParams| workload.program.decides_together();
        if team.is_some() && scenario.workload.as_ref().is_some_and(together) {
            let expected = format!("cannot be run by {count} processes; expected one process");
            return Err(ScenarioError::new("workload.kind", "\"inference\"", expected));
        }
        let mut fabric = match &team {
            None if blueprint.planes.is_empty() => scenario.router.params().build(&blueprint, options),
            None => Box::new(Planes::new(&blueprint, |plane| scenario.router.params().build(plane, options))),
            Some(_) if !blueprint.planes.is_empty() => {
                let expected = format!("cannot be run by {count} processes; expected one");
                return Err(ScenarioError::new("planes.count", blueprint.planes.len(), expected));
            }
            Some(team) => {
                let own = scenario.router.params().share(&blueprint, options, team);
                Box::new(Joint::new(own.map_err(|whole| not_shared(scenario, whole, count))?, team.clone()))
            }
        };
        if let Some(faulty) = blueprint.topology.faulty().filter(|faulty| !faulty.off().is_empty()) {
            // Faults from the start.
            let graph = &blueprint.topology;
            let dead: Vec<_> = faulty.off().iter().map(|&endpoint| graph.attachment(endpoint)).collect();
            fabric.break_links(&dead, &[]);
            fabric.reroute(&News { graph, dead: &dead, phase: 0, table: None });
        }
        let epoch = fabric.epoch();
        Ok(Self {
            watchdog: Watchdog::new(0, fabric.longest_wait()),
            scenario: scenario.clone(),
            blueprint,
            fabric,
            threads: options.threads.max(1) * count,
            team,
            now: 0,
            breakdowns_seen: 0,
            pace: Pace::new(epoch),
        })
    }

    /// Current tick.
    pub fn now(&self) -> Tick {
        self.now
    }

    /// The network, for checks of its state between two calls of [`Self::advance_to`].
    pub fn fabric(&self) -> &dyn Fabric {
        &*self.fabric
    }

    /// The network, if it is one of this kernel's.
    pub fn kernel<T: Fabric + 'static>(&self) -> Option<&T> {
        self.fabric.as_any().downcast_ref()
    }

    /// The network, if it is one of this kernel's, for tests that put something of their own into it.
    #[cfg(test)]
    pub(crate) fn kernel_mut<T: Fabric + 'static>(&mut self) -> Option<&mut T> {
        self.fabric.as_any_mut().downcast_mut()
    }

    /// The blueprint of the network.
    pub fn blueprint(&self) -> &Blueprint {
        &self.blueprint
    }

    /// Runs all ticks before `end`.
    pub fn advance_to(&mut self, end: Tick) {
        while let Some((at, breakdown, known)) = self.next_breakdown().filter(|(at, ..)| *at < end) {
            self.run_to(at);
            self.break_down(&breakdown, known);
        }
        self.run_to(end);
    }

    /// Links break now, or (with `known`) routing learns of it.
    fn break_down(&mut self, breakdown: &Breakdown, known: bool) {
        self.breakdowns_seen += 1;
        let Breakdown { graph, dead, back, .. } = breakdown;
        match known {
            false => self.fabric.break_links(dead, back),
            true => {
                let table = self.blueprint.routing.table(&**graph);
                self.fabric.reroute(&News { graph, dead, phase: self.breakdowns_seen / 2, table });
            }
        }
    }

    /// Runs some ticks, at most `most`, before `end`: as many as take about a tenth of a second.
    fn step_towards(&mut self, end: Tick, most: Tick) -> Step {
        let (from, start) = (self.now, Instant::now());
        self.advance_to(end.min(from.saturating_add(self.pace.next(most))));
        Step { ticks: self.now - from, time: start.elapsed() }
    }

    /// True if no process wants the run to stop after this step. `progress` is asked.
    fn goes_on(&mut self, step: Step, progress: Progress<'_>, done: u32, planned: u32) -> bool {
        let mut agreed = (step.time, progress(done, planned));
        if let Some(team) = &self.team {
            // One exchange answers both questions.
            for (time, goes_on) in team.each(agreed) {
                agreed = (agreed.0.max(time), agreed.1 && goes_on);
            }
        }
        self.pace.took(step.ticks, agreed.0);
        agreed.1
    }

    fn run_to(&mut self, end: Tick) {
        if end > self.now {
            self.fabric.advance(end);
            self.now = end;
        }
    }

    /// The next tick in which links break, or (with `true`) in which routing learns of it.
    fn next_breakdown(&self) -> Option<(Tick, Breakdown, bool)> {
        let cycle = self.blueprint.links.ticks_per_cycle;
        let breakdowns = self.blueprint.topology.breakdowns();
        let breakdown = breakdowns.get(self.breakdowns_seen / 2)?;
        let known = self.breakdowns_seen % 2 == 1;
        let cycles = if known { breakdown.cycle + breakdown.delay } else { breakdown.cycle };
        Some((cycles * cycle, breakdown.clone(), known))
    }

    /// Records packets from now on, for `cycles` cycles: the step of [`Self::run`] between warming up and measuring.
    pub fn open_window(&mut self, cycles: u32) {
        let end = self.now + cycles * self.blueprint.links.ticks_per_cycle;
        self.fabric.open_window(self.now..end);
    }

    /// Packets generated in the window that have been delivered, or lost on broken links.
    fn delivered(&self) -> u64 {
        let Flow { generated_delivered, generated_lost, .. } = self.flow();
        generated_delivered + generated_lost
    }

    /// The counters for the control of the run.
    fn flow(&self) -> Flow {
        let mut all = Flow::default();
        self.fabric.collectors().iter().for_each(|collector| all.add(&collector.counters.flow));
        let Some(team) = &self.team else { return all };
        let mut of_all = Flow::default();
        team.each(all).iter().for_each(|flow| of_all.add(flow));
        of_all
    }

    /// Bytes of the tables that are in this process.
    pub fn share_bytes(&self) -> usize {
        self.fabric.bytes_here()
    }

    /// Bytes of all tables, by name.
    pub fn tables(&self) -> BTreeMap<&'static str, usize> {
        self.fabric.tables()
    }

    /// Bytes of all tables.
    pub fn bytes(&self) -> usize {
        self.fabric.bytes()
    }

    /// The counts of this process's partitions.
    fn own(&self) -> Collector {
        let mut own = Collector::new(self.blueprint.window.clone());
        self.fabric.collectors().iter().for_each(|collector| own.merge(collector));
        own
    }

    /// The counts of all processes.
    fn merged(&self) -> Collector {
        let own = self.own();
        match &self.team {
            None => own,
            Some(team) => self.sum(team.each(own.counters)),
        }
    }

    /// The sum of the processes' counts.
    fn sum(&self, parts: Vec<Counters>) -> Collector {
        let mut all = Collector::new(self.blueprint.window.clone());
        parts.iter().for_each(|counters| all.add(counters));
        all
    }

    /// The counts of all processes, and the snapshots before and after. Only the first process receives them.
    fn gathered(&self, before: Snapshot, after: Snapshot) -> Option<(Collector, Snapshot, Snapshot)> {
        let own = self.own();
        let (Some(team), Some(share)) = (&self.team, self.fabric.share()) else { return Some((own, before, after)) };
        let named = before.clone();
        let part = (share, before.written(), after.written(), own.counters);
        let (mut shares, mut before, mut after, mut counters) = (vec![], vec![], vec![], vec![]);
        for part in team.for_first(part)? {
            shares.push(part.0);
            before.push(part.1);
            after.push(part.2);
            counters.push(part.3);
        }
        let whole = |parts: Vec<Written>| named.whole(shares.iter().zip(parts).collect(), &*self.blueprint.topology);
        Some((self.sum(counters), whole(before), whole(after)))
    }

    /// Runs the whole scenario. If several processes run it, the first gets the outcome and the others `None`.
    pub fn run_together(self, progress: Progress<'_>) -> Result<Option<Outcome>, RunError> {
        match catch_unwind(AssertUnwindSafe(|| self.run_to_end(progress))) {
            Ok(done) => done,
            Err(payload) => match payload.downcast::<Parted>() {
                Ok(parted) => Err(RunError::Parted(*parted)),
                Err(other) => resume_unwind(other),
            },
        }
    }

    /// Runs the whole scenario, in this process alone.
    pub fn run(self, progress: Progress<'_>) -> Result<Outcome, RunError> {
        let alone = || RunError::Parted(Parted("the outcome is with the first process of the run".into()));
        self.run_together(progress)?.ok_or_else(alone)
    }

    fn run_to_end(mut self, progress: Progress<'_>) -> Result<Option<Outcome>, RunError> {
        if let Some(workload) = self.blueprint.workload.clone() {
            return self.run_program(&workload, progress);
        }
        let measure = self.scenario.measure.clone();
        let planned_warmup = match measure.warmup {
            Warmup::Cycles(cycles) => cycles,
            Warmup::Auto => measure.cycles,
        };
        let mut planned = planned_warmup + measure.cycles;
        self.watchdog = Watchdog::new(self.now, self.fabric.longest_wait());
        let cycle = self.blueprint.links.ticks_per_cycle;
        match measure.warmup {
            Warmup::Cycles(cycles) => self.advance_reporting(cycles * cycle, planned, progress)?,
            Warmup::Auto => self.warm_up(measure.cycles, measure.max_warmup, &mut planned, progress)?,
        }
        let (start, before) = (self.now, self.fabric.snapshot());
        match self.measure(planned, progress) {
            Ok(measured) => Ok(self.outcome(start, before, measured)),
            Err(RunError::Stopped(_)) => Err(Stopped { partial: self.partial(start, before).map(Box::new) }.into()),
            Err(error) => Err(error),
        }
    }

    /// Measures from now on, as long as the scenario asks, and waits for recorded packets.
    fn measure(&mut self, mut planned: u32, progress: Progress<'_>) -> Result<Measured, RunError> {
        let measure = self.scenario.measure.clone();
        let cycle = self.blueprint.links.ticks_per_cycle;
        let start = self.now;
        let mut end = start + measure.cycles * cycle;
        let asked = measure.until.is_some() || measure.precision.is_some() || measure.count == Count::Generated;
        let (mut converged, mut before_met) = (true, false);
        loop {
            self.fabric.open_window(start..end);
            self.advance_reporting(end, planned, progress)?;
            let measured = (end - start) / cycle;
            let batch = (measure.cycles / measure.batches).max(1);
            let (most, more) = match (&measure.until, measure.max_cycles) {
                (Some(until), _) => {
                    converged = self.precise(until, measured);
                    (until.max_cycles, (measure.cycles / 2).max(measure.cycles / measure.batches))
                }
                (None, Some(most)) => {
                    // By chance, an interval is sometimes too narrow, and more often so with more checks. So the time
                    // grows by half between checks, and two checks in a row must find the interval narrow enough.
                    let met = self.precision_met(measured);
                    converged = met && (before_met || measured >= most);
                    before_met = met;
                    (most, (measured / 2).next_multiple_of(batch))
                }
                (None, None) => break,
            };
            if converged || measured >= most {
                break;
            }
            let more = more.min(most - measured).max(1);
            end += more * cycle;
            planned += more;
        }
        let labelled = self.fabric.close_window();
        let after = self.fabric.snapshot();

        let mut drained = 0;
        if measure.count == Count::Generated {
            while self.delivered() < labelled && drained < measure.max_drain {
                let step = DRAIN_STEP.min(measure.max_drain - drained);
                drained += step;
                self.advance_reporting(self.now + step * cycle, planned + drained, progress)?;
            }
            converged &= self.delivered() >= labelled;
            // Packets that were still under way also belong to batches.
            converged &= self.precision_met((end - start) / cycle);
        }
        Ok(Measured { cycles: (end - start) / cycle, drained, converged: asked.then_some(converged), after })
    }

    /// The results since `start` of a run that was stopped, as if it had been meant to end now. `None` before the first
    /// cycle is over.
    fn partial(&mut self, start: Tick, before: Snapshot) -> Option<Outcome> {
        let cycle = self.blueprint.links.ticks_per_cycle;
        self.advance_to(self.now.next_multiple_of(cycle));
        let end = self.now.min(self.fabric.collectors().first()?.span().end);
        if end < start + cycle {
            return None;
        }
        self.fabric.open_window(start..end);
        self.fabric.close_window();
        let after = self.fabric.snapshot();
        let measured = Measured { cycles: (end - start) / cycle, drained: 0, converged: Some(false), after };
        Some(Outcome { stopped: true, ..self.outcome(start, before, measured)? })
    }

    /// The results since `start`; see [`Self::run_together`].
    fn outcome(&self, start: Tick, before: Snapshot, measured: Measured) -> Option<Outcome> {
        let cycle = self.blueprint.links.ticks_per_cycle;
        let Measured { cycles, drained, converged, after } = measured;
        let bytes = self.bytes();
        let (collector, before, after) = self.gathered(before, after)?;
        Some(Outcome {
            collector,
            warmup_cycles: u64::from(start / cycle),
            cycles: cycles.into(),
            drain_cycles: drained.into(),
            converged,
            stopped: false,
            before,
            after,
            bytes,
            partitions: self.fabric.partitions(),
            threads: self.threads,
            topology: self.blueprint.topology.clone(),
            links: self.blueprint.links.clone(),
            scenario: self.scenario.clone(),
        })
    }

    /// True if, after `cycles` measured cycles, means have the precision that `measure.precision` asks for.
    fn precision_met(&self, cycles: u32) -> bool {
        let measure = &self.scenario.measure;
        let Some(asked) = &measure.precision else { return true };
        Precisions::met(&self.merged().counters, &self.blueprint.window, cycles, asked, measure.confidence)
    }

    /// True if, after `cycles` measured cycles, the intervals of mean latency and accepted load are as narrow as
    /// `measure.until` asks for.
    fn precise(&self, until: &Until, cycles: u32) -> bool {
        let window = &self.blueprint.window;
        let batches = self.merged().counters.batches;
        let latency = batches.latency(cycles * window.ticks_per_cycle, until.confidence);
        [latency, batches.load(window, cycles, until.confidence)]
            .iter()
            .all(|estimate| estimate.interval.is_ok_and(|interval| interval.relative() <= until.half_width))
    }

    fn advance_reporting(&mut self, end: Tick, planned: u32, progress: Progress<'_>) -> Result<(), RunError> {
        let cycle = self.blueprint.links.ticks_per_cycle;
        let most = (planned / 100).max(1).saturating_mul(cycle).max(self.fabric.epoch().min(1000));
        while self.now < end {
            let step = self.step_towards(end.min(self.watchdog.next()), most);
            if self.now == self.watchdog.next() {
                self.watchdog.look(&*self.fabric).map_err(RunError::Deadlock)?;
            }
            let done = self.now / cycle;
            if !self.goes_on(step, progress, done, planned.max(done)) {
                return Err(Stopped { partial: None }.into());
            }
        }
        Ok(())
    }

    /// Runs until the latency and the accepted load have settled.
    fn warm_up(&mut self, cycles: u32, limit: u32, planned: &mut u32, progress: Progress<'_>) -> Result<(), RunError> {
        let cycle = self.blueprint.links.ticks_per_cycle;
        let chunk = (cycles / 20).max(50);
        let mut chunks = Vec::new();
        let mut last = self.flow();
        while self.now / cycle < limit {
            self.advance_reporting(self.now + chunk * cycle, *planned, progress)?;
            let total = self.flow();
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

/// The error for a network that `count` processes cannot share.
fn not_shared(scenario: &Scenario, whole: Whole, count: usize) -> ScenarioError {
    let (key, kind, why) = match whole {
        Whole::Router => (
            "router.kind",
            scenario.router.kind(),
            "a kind whose networks are cut into parts, such as \"input_queued\"",
        ),
        Whole::Routing => {
            ("routing.kind", scenario.routing.kind(), "a mechanism that looks no further than its router")
        }
        Whole::Topology => ("topology.kind", scenario.topology.kind(), "a network of more routers, or fewer processes"),
    };
    let why = format!("cannot be run by {count} processes; expected {why}");
    ScenarioError::new(key, format!("{kind:?}"), why)
}

/// The part of a run between two checks for progress and stopping, in this process.
#[derive(Clone, Copy)]
struct Step {
    ticks: Tick,
    time: Duration,
}

/// The end of a measurement.
struct Measured {
    cycles: u32,
    drained: u32,
    converged: Option<bool>,
    after: Snapshot,
}

/// Cycles between two checks whether all recorded packets have been delivered.
const DRAIN_STEP: u32 = 200;

/// Checks, builds and runs a scenario.
pub fn run(scenario: &Scenario, options: Options, progress: Progress<'_>) -> Result<Outcome, RunError> {
    Simulation::new(scenario, options)?.run(progress)
}

/// The reason why a run has no result.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The scenario cannot be simulated.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// The run was stopped.
    #[error(transparent)]
    Stopped(#[from] Stopped),
    /// Packets wait for one another in a cycle, or for ever: the text names them.
    #[error("{0}")]
    Deadlock(String),
    /// The processes that ran it together have lost contact.
    #[error(transparent)]
    Parted(#[from] Parted),
    /// A program can never end, or not within the times that can be simulated: the text says who waits for what.
    #[error("{0}")]
    Unfinished(String),
}
