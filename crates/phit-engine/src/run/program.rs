//! A run of a program: from its start to its end, or until nothing can happen any more.

use super::{Measured, Progress, RunError, Simulation, Stopped};
use crate::engine::Tick;
use crate::fabric::LAST;
use crate::measure::Snapshot;
use crate::result::Outcome;
use crate::workload::Workload;
use phit_workload::Ranks;
use phit_workload::host::{Left, Message};

/// Link cycles between two checks whether a program has ended.
const LOOK: Tick = 1000;

/// Most operations that a message names.
const MOST_NAMED: usize = 8;

impl Simulation {
    pub(super) fn run_program(
        mut self,
        workload: &Workload,
        progress: Progress<'_>,
    ) -> Result<Option<Outcome>, RunError> {
        if let Some(repeat) = workload.repeat {
            return self.run_iterations(workload, repeat, progress);
        }
        let cycle = self.blueprint.links.ticks_per_cycle;
        let all = workload.program.operations();
        let beside = !workload.traffic.is_empty();
        let before = self.fabric.snapshot();
        self.fabric.open_window(0..Tick::MAX);
        self.watchdog = super::Watchdog::new(0, self.fabric.longest_wait());
        loop {
            self.refuse_beyond()?;
            // The program can end before the time of an operation that nothing waits for has passed.
            if self.fabric.at_rest() && (!beside || u64::from(self.now) >= self.fabric.finish()) {
                break;
            }
            let idle = if beside { 0 } else { self.fabric.idle_until(LAST) };
            if idle > self.now {
                self.advance_to(idle);
                self.watchdog = super::Watchdog::new(idle, self.fabric.longest_wait());
            }
            let end = self.now.saturating_add(LOOK.saturating_mul(cycle));
            let end = end.min(self.watchdog.next()).min(LAST);
            while self.now < end {
                let step = self.step_towards(end, end);
                let (done, performed) = (self.now / cycle, self.fabric.performed());
                let share = all.map_or(1.0, |all| performed as f64 / all.max(1) as f64);
                let planned = (f64::from(done) / share.max(1e-6)) as u32;
                if !self.goes_on(step, progress, done, planned) {
                    return Err(Stopped { partial: self.partial_program(before).map(Box::new) }.into());
                }
            }
            if self.now >= self.watchdog.next() {
                self.watchdog.look(&*self.fabric).map_err(RunError::Deadlock)?;
            }
        }
        self.refuse_left(workload)?;
        if beside {
            // Traffic beside the program goes on until the end of the program is noticed.
            self.fabric.open_window(0..self.now);
        }
        let Some(mut outcome) = self.close_program(before, 0) else { return Ok(None) };
        outcome.converged = Some(true);
        let ticks = outcome.collector.counters.programs.completion().unwrap_or(0);
        outcome.cycles = match beside {
            true => u64::from(self.now / cycle),
            false => ticks.div_ceil(cycle.into()).max(1),
        };
        Ok(Some(outcome))
    }

    /// Refuses to go on beyond the last tick.
    pub(super) fn refuse_beyond(&self) -> Result<(), RunError> {
        if !self.fabric.beyond() && self.now < LAST {
            return Ok(());
        }
        Err(RunError::Unfinished(format!(
            "the program goes on beyond cycle {}, the last that can be simulated: choose a longer cycle in [units], or \
             fewer operations",
            self.fabric.last() / u64::from(self.blueprint.links.ticks_per_cycle)
        )))
    }

    /// Refuses a program that cannot go on and has not ended.
    pub(super) fn refuse_left(&self, workload: &Workload) -> Result<(), RunError> {
        let (left, lost) = self.fabric.left();
        match left.is_empty() && lost.is_empty() {
            true => Ok(()),
            false => Err(RunError::Unfinished(explain(workload, &left, &lost))),
        }
    }

    /// The results of a program that was stopped. `None` before the first cycle is over.
    pub(super) fn partial_program(&mut self, before: Snapshot) -> Option<Outcome> {
        let cycle = self.blueprint.links.ticks_per_cycle;
        self.advance_to(self.now.next_multiple_of(cycle));
        let cycles = self.now / cycle;
        if cycles == 0 {
            return None;
        }
        self.fabric.open_window(0..self.now);
        let mut outcome = self.close_program(before, cycles)?;
        outcome.collector.counters.programs.stopped = true;
        outcome.stopped = true;
        Some(outcome)
    }

    /// Ends the measurement of a program after `cycles` cycles, and gathers its records in the first process.
    pub(super) fn close_program(&mut self, before: Snapshot, cycles: u32) -> Option<Outcome> {
        self.fabric.close_window();
        self.fabric.close_program();
        let measured = Measured { cycles, drained: 0, converged: Some(false), after: self.fabric.snapshot() };
        let mut outcome = self.outcome(0, before, measured)?;
        outcome.collector.counters.programs.sort();
        Some(outcome)
    }
}

/// Who waits for what when nothing can happen any more.
fn explain(workload: &Workload, left: &Left, lost: &[Message]) -> String {
    let Left { receives, messages, never } = left;
    let place = |rank: u32, number: u32| workload.place_of(rank, number);
    let mut parts = Vec::new();
    let mut part = |what: &str, named: Vec<String>, count: usize| {
        if count > 0 {
            let more = if count > named.len() { format!("; and {} more", count - named.len()) } else { String::new() };
            parts.push(format!("{what}: {}{more}", named.join("; ")));
        }
    };
    let program = workload.program.clone();
    let plan = program.clone().plan(Ranks::all(program.ranks()));
    let shown = |rank: u32, number: u32| match plan.operation(rank, number) {
        Some(operation) => format!("{}: {operation}", place(rank, number)),
        None => place(rank, number),
    };
    let of = |list: &[(u32, u32)]| list.iter().take(MOST_NAMED).map(|&(rank, number)| shown(rank, number)).collect();
    part("receives without a message", of(receives), receives.len());
    let message = |message: &Message| {
        let Message { source, destination, bytes, tag, number, .. } = *message;
        format!("{bytes} bytes with tag {tag} to rank {destination}, sent by {}", place(source, number))
    };
    let of_messages = |list: &[Message]| list.iter().take(MOST_NAMED).map(message).collect();
    part("messages that no receive has taken", of_messages(messages), messages.len());
    part("messages lost over links that broke", of_messages(lost), lost.len());
    part("operations that wait for these", of(never), never.len());
    format!("the program can never end; {}", parts.join(". "))
}
