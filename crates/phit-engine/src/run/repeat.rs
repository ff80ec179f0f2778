//! A run of several iterations of a program in one network. Iterations that are known exactly are not run.
//!
//! After each iteration the network is empty, and its state is reduced to a [`Memory`]. If the memory equals an earlier
//! one, the iterations between them come again and again. Only one earlier memory is kept, of the last iteration whose
//! number is a power of two (R. P. Brent, "An Improved Monte Carlo Factorization Algorithm", BIT 20, 1980).

use super::{Progress, RunError, Simulation, Stopped, Watchdog};
use crate::engine::{Memory, Tick};
use crate::fabric::LAST;
use crate::measure::{Collector, Iterations, RankRow, Snapshot};
use crate::result::Outcome;
use crate::workload::{RepeatTable, Workload};

/// Cycles between two looks whether an iteration has ended.
const LOOK: Tick = 100;

/// The network after an iteration, with which later ones are compared.
struct Saved {
    words: [u64; 2],
    /// Iterations up to then.
    done: u64,
    /// When the next one began.
    next: u64,
    snapshot: Snapshot,
    ranks: Vec<RankRow>,
}

/// Iterations that are known to come again and again.
struct Cycle {
    /// How often they come again without being run.
    times: u64,
    /// Ticks that they take.
    ticks: u64,
    /// Their counts.
    counts: Collector,
    before: (Snapshot, Vec<RankRow>),
    after: (Snapshot, Vec<RankRow>),
}

/// What is known about the iterations so far.
struct Course {
    blanks: Vec<Collector>,
    /// Counts up to the saved state.
    counts: Option<Collector>,
    saved: Option<Saved>,
    cycle: Option<Cycle>,
    comparing: bool,
    iterations: Iterations,
}

impl Course {
    /// Adds the counts of a stretch of the run.
    fn add(&mut self, counts: Collector) {
        match &mut self.counts {
            Some(all) => all.merge(&counts),
            none => *none = Some(counts),
        }
    }
}

impl Simulation {
    pub(super) fn run_iterations(
        mut self,
        workload: &Workload,
        repeat: RepeatTable,
        progress: Progress<'_>,
    ) -> Result<Option<Outcome>, RunError> {
        let cycle = self.blueprint.links.ticks_per_cycle;
        let look = u64::from(LOOK.saturating_mul(cycle));
        let before = self.fabric.snapshot();
        self.fabric.open_window(0..Tick::MAX);
        let why = self.not_compared();
        let mut course = Course {
            blanks: self.fabric.collectors().into_iter().cloned().collect(),
            counts: None,
            saved: None,
            cycle: None,
            comparing: repeat.skip && why.is_none(),
            iterations: Iterations::new(repeat.iterations, why.filter(|_| repeat.skip)),
        };
        let (mut start, mut check, mut met) = (0, Iterations::LEAST, false);
        loop {
            match self.iterate(start, look, &course.iterations, progress) {
                Err(RunError::Stopped(_)) => {
                    course.counts.take().into_iter().for_each(|counts| self.fabric.add_counts(&counts));
                    let partial = self.partial_program(before).map(|mut outcome| {
                        outcome.collector.counters.programs.iterations = Some(course.iterations);
                        Box::new(outcome)
                    });
                    return Err(Stopped { partial }.into());
                }
                ended => ended?,
            }
            self.refuse_left(workload)?;
            course.iterations.add(start, self.fabric.finish().saturating_sub(start));
            let next = self.fabric.next_start(self.now, start, look);
            let mut precise = course.cycle.is_some();
            if let Some(precision) = repeat.precision.filter(|_| course.iterations.done() >= check) {
                // As for means over packets, an interval is sometimes too narrow by chance: two checks must agree.
                let now = course.iterations.is_known(precision, self.scenario.measure.confidence);
                precise |= now && met;
                (met, check) = (now, check + check.div_ceil(2));
            }
            if course.iterations.done() >= repeat.iterations.into() || precise && course.cycle.is_none() {
                break;
            }
            if course.comparing {
                self.compare(next, &mut course);
                if course.iterations.done() >= repeat.iterations.into() {
                    break;
                }
            }
            self.fabric.begin_again(next);
            start = next;
        }
        self.close_iterations(before, course, repeat)
    }

    /// Why the state of the network does not say what comes next, or why results of iterations cannot be added up.
    fn not_compared(&self) -> Option<String> {
        let measure = &self.scenario.measure;
        let reasons = [
            ("links that fail or are repaired in the run", !self.blueprint.topology.breakdowns().is_empty()),
            ("measure.order", measure.order),
            ("measure.flows", !measure.flows.is_empty()),
            ("measure.series", measure.series.is_some()),
        ];
        let found: Vec<&str> = reasons.into_iter().filter(|(_, there)| *there).map(|(reason, _)| reason).collect();
        (!found.is_empty()).then(|| found.join(", "))
    }

    /// Runs the iteration that began in tick `start` to its end.
    fn iterate(
        &mut self,
        start: u64,
        look: u64,
        iterations: &Iterations,
        progress: Progress<'_>,
    ) -> Result<(), RunError> {
        let cycle = self.blueprint.links.ticks_per_cycle;
        // The first look that is not before a tick.
        let look_from = |tick: u64| {
            let looks = tick.saturating_sub(start).div_ceil(look);
            Tick::try_from(start.saturating_add(looks.saturating_mul(look))).unwrap_or(LAST).min(LAST)
        };
        self.watchdog = Watchdog::new(self.now, self.fabric.longest_wait());
        loop {
            self.refuse_beyond()?;
            let rests = self.fabric.at_rest();
            if rests && self.fabric.is_empty() {
                return Ok(());
            }
            let idle = look_from(if rests { self.fabric.finish() } else { self.fabric.idle_until(LAST).into() });
            if idle > self.now {
                self.advance_to(idle);
                self.watchdog = Watchdog::new(idle, self.fabric.longest_wait());
                continue;
            }
            let end = look_from(u64::from(self.now) + 1);
            while self.now < end {
                let step = self.step_towards(end.min(self.watchdog.next()), end);
                if self.now >= self.watchdog.next() {
                    self.watchdog.look(&*self.fabric).map_err(RunError::Deadlock)?;
                }
                let (done, share) = (self.now / cycle, iterations.share());
                let planned = (f64::from(done) / share.max(1e-6)) as u32;
                if !self.goes_on(step, progress, done, planned.max(done)) {
                    return Err(Stopped { partial: None }.into());
                }
            }
        }
    }

    /// Compares the network, before an iteration that is to begin in tick `next`, with an earlier state.
    fn compare(&mut self, next: u64, course: &mut Course) {
        let mut memory = Memory::new(self.now);
        self.fabric.remember(&mut memory);
        let words = match memory.words() {
            Ok(words) => words,
            Err(parts) => {
                course.comparing = false;
                course.iterations.reason = Some(parts);
                return;
            }
        };
        let done = course.iterations.done();
        match course.saved.take() {
            Some(saved) if saved.words == words => {
                let Some(counts) = self.fabric.take_counts(&course.blanks) else { return };
                course.add(counts.clone());
                course.comparing = false;
                course.cycle = Some(Cycle {
                    times: course.iterations.skip(saved.done),
                    ticks: next - saved.next,
                    counts,
                    before: (saved.snapshot, saved.ranks),
                    after: (self.fabric.snapshot(), self.fabric.rank_rows()),
                });
            }
            _ if done.is_power_of_two() => {
                let Some(counts) = self.fabric.take_counts(&course.blanks) else { return };
                course.add(counts);
                let (snapshot, ranks) = (self.fabric.snapshot(), self.fabric.rank_rows());
                course.saved = Some(Saved { words, done, next, snapshot, ranks });
            }
            saved => course.saved = saved,
        }
    }

    /// The results of all iterations.
    fn close_iterations(
        mut self,
        before: Snapshot,
        course: Course,
        repeat: RepeatTable,
    ) -> Result<Option<Outcome>, RunError> {
        let Course { counts, cycle: repeated, iterations, .. } = course;
        counts.into_iter().for_each(|counts| self.fabric.add_counts(&counts));
        if let Some(Cycle { times, counts, .. }) = &repeated {
            // The counts of 1, 2, 4, ... turns.
            let (mut turns, mut left) = (counts.clone(), *times);
            while left > 0 {
                if left % 2 == 1 {
                    self.fabric.add_counts(&turns);
                }
                left /= 2;
                if left > 0 {
                    let same = turns.clone();
                    turns.merge(&same);
                }
            }
        }
        let cycle = self.blueprint.links.ticks_per_cycle;
        let Some(mut outcome) = self.close_program(before, 0) else { return Ok(None) };
        if let Some(Cycle { times, ticks, before, after, .. }) = repeated {
            outcome.after.add_difference(&before.0, &after.0, times);
            let rows = outcome.collector.counters.programs.ranks.iter_mut();
            for ((row, before), after) in rows.zip(&before.1).zip(&after.1) {
                row.usage.add(&after.usage.since(&before.usage), times);
                if row.finish > 0 {
                    row.finish = row.finish.saturating_add(ticks.saturating_mul(times));
                }
            }
        }
        let known = iterations.done() >= repeat.iterations.into();
        outcome.converged = Some(known || repeat.precision.is_some());
        let programs = &mut outcome.collector.counters.programs;
        programs.iterations = Some(iterations);
        let cycles = programs.completion().unwrap_or(0).div_ceil(cycle.into());
        outcome.cycles = cycles.max(1);
        Ok(Some(outcome))
    }
}
