//! A network whose messages a caller sends, one by one: the back end of another simulator.
//!
//! Time stands at the end of a tick, up to which everything has been done. Messages that are sent in this tick still
//! take part in it: a packet is sent in the cycle after its generation at the earliest. So a caller that answers a
//! message at the time of its arrival gets the times of a program whose operations depend on each other in the same
//! way.

use super::{Options, RunError, Simulation, Watchdog};
use crate::engine::Tick;
use crate::error::ScenarioError;
use crate::fabric::{LAST, Sent};
use crate::scenario::{Scenario, UnitsParams};
use crate::workload::{AROUND, Called, ProgramKind};
use phit_workload::host::Message;
use phit_workload::{ANY, Operation};
use serde_json::{Map, Value, json};
use std::fmt::Display;
use std::time::Instant;

/// A message that has arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completion {
    /// What [`Network::send`] returned for it.
    pub handle: u32,
    /// The tick in which all of it, and all earlier messages of its source, destination and tag, had arrived.
    pub time: u64,
    /// The rank that sent it.
    pub source: u32,
    /// Its destination rank.
    pub destination: u32,
    /// Size in bytes.
    pub bytes: u64,
    /// Its tag.
    pub tag: u32,
}

/// Totals since the start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stats {
    /// Messages sent.
    pub sent: u64,
    /// Messages that have arrived.
    pub completed: u64,
    /// Bytes of the messages sent.
    pub bytes_sent: u64,
    /// Bytes of the messages that have arrived.
    pub bytes_completed: u64,
    /// Sum of the ticks from a message's send to its arrival.
    pub latency: u128,
    /// The most ticks that a message took.
    pub latency_max: u64,
}

/// A network whose messages a caller sends. It runs on one thread.
pub struct Network {
    simulation: Simulation,
    /// True if the kernel goes tick by tick.
    by_ticks: bool,
    ranks: u32,
    now: u64,
    /// Number of the next message.
    next: u32,
    /// Messages that the kernel has not been given yet.
    waiting: Vec<Sent>,
    arrived: Vec<(u64, Message)>,
    completed: Vec<Completion>,
    stats: Stats,
}

/// Sections of a scenario that a caller replaces, and why.
const REPLACED: [(&str, &str); 4] = [
    ("traffic", "the caller of a network sends its messages"),
    ("planes", "ranks send over one network"),
    ("measure", "the caller of a network measures what it needs"),
    ("sweep", "the caller of a network runs one scenario"),
];

/// Keys of `[workload.host]` about times that a caller has to know itself.
const HOST: [&str; 5] = ["overhead", "gap", "gap_per_byte", "overhead_per_byte", "eager"];

/// Link cycles between two checks whether messages can still arrive.
const LOOK: Tick = 1000;

/// The program that stands in a document while it is read.
const NO_PROGRAM: &str = "num_ranks 1\nrank 0 {\n}\n";

/// The scenario of a document whose `[workload]`, if there is one, has no program.
fn scenario_of(document: &Value) -> Result<Scenario, ScenarioError> {
    let Value::Object(table) = document else {
        return Err(ScenarioError::new("", document, "expected a table with the sections of a scenario"));
    };
    if let Some((section, why)) = REPLACED.iter().find(|(section, _)| table.contains_key(*section)) {
        return Err(ScenarioError::missing(*section, format!("{why}; expected no such section")));
    }
    let mut workload = match table.get("workload") {
        None => Map::new(),
        Some(Value::Object(workload)) => workload.clone(),
        Some(other) => return Err(ScenarioError::new("workload", other, "expected a table without `kind`")),
    };
    for (key, why) in [("kind", "the caller of a network is its program"), ("time_unit", "callers do not calculate")] {
        if let Some(value) = workload.get(key) {
            return Err(ScenarioError::new(format!("workload.{key}"), value, format!("{why}; expected no such key")));
        }
    }
    for (key, value) in workload.get("host").and_then(Value::as_object).into_iter().flatten() {
        if HOST.contains(&key.as_str()) {
            let expected = "the caller of a network knows the times of its hosts; expected no such key";
            return Err(ScenarioError::new(format!("workload.host.{key}"), value, expected));
        }
    }
    if let Some(value) = workload.get("repeat") {
        let expected = "the caller of a network sends again by itself; expected no such key";
        return Err(ScenarioError::new("workload.repeat", value, expected));
    }
    if let Some(key) = workload.keys().find(|key| !AROUND.contains(&key.as_str())) {
        let known = AROUND.into_iter().filter(|key| !["time_unit", "repeat"].contains(key));
        let error = ScenarioError::unknown(format!("workload.{key}"), key, "key", known);
        return Err(ScenarioError { value: None, ..error });
    }
    workload.insert("kind".into(), json!("program"));
    workload.insert("goal".into(), json!(NO_PROGRAM));
    let mut document = table.clone();
    document.insert("workload".into(), workload.into());
    let mut scenario = Scenario::from_value(&document.into())?;
    if let Some(workload) = &mut scenario.workload {
        workload.program = ProgramKind::custom("called", Called {});
    }
    Ok(scenario)
}

fn refused(key: &str, value: impl Display, expected: impl Into<String>) -> RunError {
    RunError::Scenario(ScenarioError::new(key, value.to_string(), expected))
}

impl Network {
    /// The network of a document, empty, at tick 0. Refused if it is expected to take more than `memory` bytes.
    pub fn new(document: &Value, memory: Option<u64>) -> Result<Self, ScenarioError> {
        let scenario = scenario_of(document)?;
        let options = Options { threads: 1, partitions: Some(1) };
        let mut simulation = Simulation::within(&scenario, options, memory)?;
        if simulation.fabric.caller().is_none() {
            let kind = format!("{:?}", scenario.router.kind());
            let expected = "this router has no callers; expected \"input_queued\", \"fluid\" or \"ideal\"";
            return Err(ScenarioError::new("router.kind", kind, expected));
        }
        simulation.fabric.open_window(0..Tick::MAX);
        let mut network = Self {
            by_ticks: simulation.fabric.last() == u64::from(LAST),
            ranks: simulation.blueprint.workload.as_ref().map_or(0, |workload| workload.program.ranks()),
            simulation,
            now: 0,
            next: 0,
            waiting: Vec::new(),
            arrived: Vec::new(),
            completed: Vec::new(),
            stats: Stats::default(),
        };
        if network.by_ticks {
            // After its first tick, the kernel knows when something happens next. Without messages, that tick cannot
            // fail.
            while let Ok(false) = network.step(0, false) {}
        }
        Ok(network)
    }

    /// Number of ranks: they send messages, and messages go to them.
    pub fn ranks(&self) -> u32 {
        self.ranks
    }

    /// The tick up to which everything has been done.
    pub fn now(&self) -> u64 {
        self.now
    }

    /// Ticks in a cycle.
    pub fn ticks_per_cycle(&self) -> u32 {
        self.simulation.blueprint.links.ticks_per_cycle
    }

    /// Length of a cycle in seconds, if the scenario gives it.
    pub fn cycle_seconds(&self) -> Option<f64> {
        self.simulation.scenario.units.as_ref()?.cycle_seconds()
    }

    /// The scenario, with every default filled in.
    pub fn scenario(&self) -> &Scenario {
        &self.simulation.scenario
    }

    /// The ticks of a time such as "5 us", given as `key`.
    pub fn ticks(&self, key: &str, text: &str) -> Result<u64, RunError> {
        let units = self.simulation.scenario.units.clone().unwrap_or_default();
        let ticks = units.parts_of_cycles(text, self.ticks_per_cycle());
        ticks.map_err(|reason| refused(key, format!("{text:?}"), reason))
    }

    /// The bytes of a size such as "64 KiB", given as `key`.
    pub fn bytes(key: &str, text: &str) -> Result<u64, RunError> {
        UnitsParams::bytes(text).map_err(|reason| refused(key, format!("{text:?}"), reason))
    }

    /// Sends a message at tick `at`, or now. Returns its handle: the number of messages sent before.
    pub fn send(
        &mut self,
        (source, destination): (u32, u32),
        bytes: u64,
        tag: u32,
        at: Option<u64>,
    ) -> Result<u32, RunError> {
        for (key, rank) in [("source", source), ("destination", destination)] {
            if rank >= self.ranks {
                return Err(refused(key, rank, format!("expected a rank from 0 to {}", self.ranks.saturating_sub(1))));
            }
        }
        if tag == ANY {
            return Err(refused("tag", tag, format!("expected a number below {ANY}")));
        }
        let at = at.unwrap_or(self.now);
        if at < self.now {
            return Err(self.too_early("at", at));
        }
        if self.next == u32::MAX {
            return Err(refused("messages", self.next, "expected no more messages: handles are 32-bit numbers"));
        }
        let number = self.next;
        self.next += 1;
        self.stats.sent += 1;
        self.stats.bytes_sent = self.stats.bytes_sent.saturating_add(bytes);
        self.waiting.push(Sent { rank: source, number, operation: Operation::send(bytes, destination, tag), at });
        Ok(number)
    }

    /// The refusal of a tick before the present.
    fn too_early(&self, key: &str, at: u64) -> RunError {
        let cycles = |ticks: u64| ticks as f64 / f64::from(self.ticks_per_cycle());
        refused(key, cycles(at), format!("expected {}, the present cycle, or later", cycles(self.now)))
    }

    /// Gives the kernel the messages sent.
    fn hand_over(&mut self) {
        if self.waiting.is_empty() {
            return;
        }
        if let Some(caller) = self.simulation.fabric.caller() {
            caller.send(&self.waiting);
            self.waiting.clear();
            caller.arrived(&mut self.arrived);
            self.take_in();
        }
    }

    /// Takes in the messages that have arrived.
    fn take_in(&mut self) {
        let mut arrived = std::mem::take(&mut self.arrived);
        arrived.drain(..).for_each(|(time, message)| self.complete(time, &message));
        self.arrived = arrived;
    }

    fn complete(&mut self, time: u64, message: &Message) {
        let &Message { number: handle, source, destination, bytes, tag, left, .. } = message;
        self.completed.push(Completion { handle, time, source, destination, bytes, tag });
        let took = time.saturating_sub(left);
        let stats = &mut self.stats;
        stats.completed += 1;
        stats.bytes_completed = stats.bytes_completed.saturating_add(bytes);
        stats.latency += u128::from(took);
        stats.latency_max = stats.latency_max.max(took);
    }

    /// Removes and returns the messages that have arrived since the last call, in the order of their times.
    pub fn completed(&mut self) -> std::vec::Drain<'_, Completion> {
        self.completed.drain(..)
    }

    /// The first tick in which a message may arrive, or an earlier one that is not before the present. `None` if no
    /// message is under way any more, or none can arrive.
    pub fn next_event(&mut self) -> Option<u64> {
        self.hand_over();
        if self.stats.completed == self.stats.sent {
            return None;
        }
        let within = self.simulation.fabric.caller().and_then(|caller| caller.next());
        let repair = match self.by_ticks && !self.simulation.fabric.at_rest() {
            true => self.simulation.next_breakdown().map(|(at, ..)| at.into()),
            false => None,
        };
        within.into_iter().chain(repair).min().map(|next| next.max(self.now))
    }

    /// Goes on to the end of tick `until`. `goes_on` is asked now and then whether to do so.
    pub fn advance(&mut self, until: u64, goes_on: &mut dyn FnMut() -> bool) -> Result<(), RunError> {
        self.check(until)?;
        self.hand_over();
        while !self.step(until, false)? {
            if !goes_on() {
                return Err(super::Stopped { partial: None }.into());
            }
        }
        Ok(())
    }

    /// Goes on to the end of the first tick in which a message arrives, `until` at the latest; at once if messages that
    /// have arrived have not been fetched. Without `until`, false says that no message can arrive any more.
    pub fn advance_to_completion(
        &mut self,
        until: Option<u64>,
        goes_on: &mut dyn FnMut() -> bool,
    ) -> Result<bool, RunError> {
        until.map_or(Ok(()), |until| self.check(until))?;
        self.hand_over();
        while self.completed.is_empty() {
            let end = match until {
                Some(until) => until,
                None => match self.next_event() {
                    Some(next) => self.look_at(next),
                    None => return Ok(false),
                },
            };
            while !self.step(end, true)? && self.completed.is_empty() {
                if !goes_on() {
                    return Err(super::Stopped { partial: None }.into());
                }
            }
            if until.is_some() {
                break;
            }
            if self.now == end && end == self.last() {
                return Err(self.beyond());
            }
        }
        Ok(true)
    }

    /// When to look whether messages can still arrive, if something happens at tick `next`. Messages may be lost.
    fn look_at(&self, next: u64) -> u64 {
        match self.by_ticks {
            true => next.saturating_add(u64::from(LOOK * self.ticks_per_cycle())).min(self.last()),
            false => self.last(),
        }
    }

    /// The last tick that can be simulated.
    fn last(&self) -> u64 {
        self.simulation.fabric.last() - 1
    }

    fn check(&self, until: u64) -> Result<(), RunError> {
        if until < self.now {
            return Err(self.too_early("until", until));
        }
        if until > self.last() {
            let most = self.last() / u64::from(self.ticks_per_cycle());
            let cycles = until / u64::from(self.ticks_per_cycle());
            return Err(refused("until", cycles, format!("expected at most {most}, the last cycle of a network")));
        }
        Ok(())
    }

    fn beyond(&self) -> RunError {
        let cycle = self.last() / u64::from(self.ticks_per_cycle());
        RunError::Unfinished(format!(
            "messages go on beyond cycle {cycle}, the last that can be simulated: choose a longer cycle in [units], or \
             fewer messages"
        ))
    }

    /// Goes on towards the end of tick `until`, for a tenth of a second or so. With `first`, no further than to the
    /// first tick in which a message arrives. True if everything up to `until` has been done.
    fn step(&mut self, until: u64, first: bool) -> Result<bool, RunError> {
        let mut end = until;
        if self.by_ticks {
            if u64::from(self.simulation.now) > end {
                return Ok(true);
            }
            match self.stretch(end)? {
                Some(stretch) => end = stretch,
                None => return Ok(false),
            }
        }
        let start = Instant::now();
        let Some(caller) = self.simulation.fabric.caller() else { return Ok(true) };
        let reached = caller.go_on(end, first);
        caller.arrived(&mut self.arrived);
        self.now = self.now.max(reached.unwrap_or(0));
        if self.by_ticks {
            let next = reached.map_or(0, |reached| reached as Tick + 1);
            self.simulation.pace.took(next - self.simulation.now, start.elapsed());
            self.simulation.now = next;
        }
        self.take_in();
        match self.simulation.fabric.beyond() {
            true => Err(self.beyond()),
            false => Ok(reached.is_some_and(|reached| reached >= until)),
        }
    }

    /// For a kernel that goes tick by tick: the tick, `end` at the latest, up to which it may go before the run has to
    /// look at it again. `None` if links have broken.
    fn stretch(&mut self, end: u64) -> Result<Option<u64>, RunError> {
        let simulation = &mut self.simulation;
        // The caller of this function checks that ticks are those of the kernel.
        let (next, mut end) = (simulation.now, end as Tick);
        if let Some((at, breakdown, known)) = simulation.next_breakdown().filter(|(at, ..)| *at <= end) {
            if at <= next {
                simulation.break_down(&breakdown, known);
                return Ok(None);
            }
            end = at - 1;
        }
        let idle = simulation.fabric.idle_until(end + 1);
        if idle > next {
            simulation.watchdog = Watchdog::new(idle, simulation.fabric.longest_wait());
            return Ok(Some((idle - 1).into()));
        }
        if simulation.watchdog.next() <= next {
            simulation.watchdog.look(&*simulation.fabric).map_err(RunError::Deadlock)?;
        }
        let most = simulation.pace.next(end - next + 1);
        Ok(Some((next + most - 1).min(end).min(simulation.watchdog.next().saturating_sub(1)).into()))
    }

    /// Totals since the start.
    pub fn stats(&self) -> Stats {
        self.stats
    }

    /// Totals since the start by name, with times in cycles.
    pub fn summary(&self) -> Map<String, Value> {
        let Stats { sent, completed, bytes_sent, bytes_completed, latency, latency_max } = self.stats;
        let cycles = |ticks: f64| json!(ticks / f64::from(self.ticks_per_cycle()));
        let mean = if completed == 0 { Value::Null } else { cycles(latency as f64 / completed as f64) };
        let named = [
            ("sent", json!(sent)),
            ("completed", json!(completed)),
            ("bytes_sent", json!(bytes_sent)),
            ("bytes_completed", json!(bytes_completed)),
            ("latency_mean", mean),
            ("latency_max", if completed == 0 { Value::Null } else { cycles(latency_max as f64) }),
        ];
        named.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }
}
