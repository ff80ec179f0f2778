//! Iterations of a program that is repeated.

use super::{NUMBERED, TIME};
use crate::measure::Reading;
use crate::measure::confidence::{Batch, Estimate, LEAST_BATCHES, Missing, estimate};
use crate::measure::declare::{Cells, Column, NUMBER, Quantity, TEXT, Table, WHOLE, When, list, unit};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// An iteration that has been run, with times in ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Iteration {
    /// Its number, from 0.
    number: u64,
    /// When it began.
    start: u64,
    /// Until its last rank had ended.
    time: u64,
}

/// The iterations of a program, with times in ticks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Iterations {
    /// Iterations that the scenario asks for.
    asked: u64,
    /// Iterations that have been run.
    run: Vec<Iteration>,
    /// The time of every iteration that has been run, or is known exactly.
    times: Vec<u64>,
    /// Iterations that come again and again, and ticks from the first of them to the next time.
    period: Option<(u64, u64)>,
    /// Iterations that are known exactly and have not been run.
    skipped: u64,
    /// Why none are skipped.
    pub reason: Option<String>,
}

impl Iterations {
    /// Fewest iterations whose mean time can have an interval.
    pub const LEAST: u64 = LEAST_BATCHES as u64;

    /// No iteration yet, of those `asked` for; and why none can be skipped, if that is known.
    pub fn new(asked: u32, reason: Option<String>) -> Self {
        Self { asked: asked.into(), reason, ..Self::default() }
    }

    /// An iteration has been run.
    pub fn add(&mut self, start: u64, time: u64) {
        self.run.push(Iteration { number: self.done(), start, time });
        self.times.push(time);
    }

    /// Iterations that are over: run, or skipped.
    pub fn done(&self) -> u64 {
        self.times.len() as u64
    }

    /// Share of the iterations that are over, for estimates of the time left.
    pub fn share(&self) -> f64 {
        (self.done() as f64 + 0.5) / self.asked.max(1) as f64
    }

    /// The iterations from number `first` on come again and again. Skips as many whole turns of them as are left, and
    /// returns their number.
    pub fn skip(&mut self, first: u64) -> u64 {
        let period = self.done() - first;
        let times = self.asked.saturating_sub(self.done()) / period;
        let turn = self.times[first as usize..].to_vec();
        (0..times).for_each(|_| self.times.extend_from_slice(&turn));
        self.skipped = times * period;
        self.period = Some((period, first));
        times
    }

    /// The mean time in ticks, and how well it is known.
    fn estimate(&self, confidence: f64) -> Estimate {
        let batches: Vec<Batch> = self.times.iter().map(|&sum| Batch { sum, count: 1 }).collect();
        estimate(&batches, confidence)
    }

    /// True if the mean time is known to a relative `precision`.
    pub fn is_known(&self, precision: f64, confidence: f64) -> bool {
        self.estimate(confidence).interval.is_ok_and(|interval| interval.relative() <= precision)
    }

    /// Sum of all times.
    fn sum(&self) -> u128 {
        self.times.iter().map(|&time| u128::from(time)).sum()
    }

    /// Bytes of memory outside the struct.
    pub(super) fn bytes(&self) -> usize {
        self.run.capacity() * size_of::<Iteration>() + self.times.capacity() * size_of::<u64>()
    }
}

/// Why the mean time of an iteration has no interval.
fn words(why: Missing) -> String {
    match why {
        Missing::Nothing => "iterations take no time".into(),
        Missing::Few => format!("fewer than {LEAST_BATCHES} iterations"),
        Missing::Short => "too few independent iterations: their times are correlated with their neighbours'".into(),
        Missing::Trend => "the time of an iteration rises or falls throughout the run".into(),
        other => other.words(),
    }
}

impl Reading<'_> {
    fn iterations(&self) -> Option<&Iterations> {
        self.programs().iterations.as_ref()
    }

    /// The interval of the mean time in cycles: its half-width and its batches.
    fn iteration_interval(&self) -> Option<Result<(f64, usize), Missing>> {
        let found = self.iterations()?.estimate(self.confidence);
        let cycle = f64::from(self.window.ticks_per_cycle);
        Some(found.interval.map(|interval| (interval.half_width / cycle, found.batches)))
    }

    /// Cycles until all iterations that were asked for have ended.
    fn completion_estimated(&self) -> Option<f64> {
        let (all, cycle) = (self.iterations()?, f64::from(self.window.ticks_per_cycle));
        let completion = self.programs().completion()? as f64;
        let left = all.asked.saturating_sub(all.done()) as f64;
        let (first, last) = (all.run.first()?, all.run.last()?);
        let each = match last.number {
            0 => last.time as f64,
            number => (last.start - first.start) as f64 / number as f64,
        };
        Some((completion + left * each) / cycle)
    }

    fn of_iterations<T: Serialize>(&self, value: impl Fn(&Iteration) -> T) -> Cells {
        list(self.iterations().iter().flat_map(|all| &all.run).map(value))
    }
}

/// Condition of quantities that exist only for repeated programs.
const REPEATED: When = When::Some("of runs with `workload.repeat`");

fn whole(at: &Reading<'_>, value: impl Fn(&Iterations) -> Option<u64>) -> Value {
    json!(at.iterations().and_then(value))
}

pub(super) const QUANTITIES: [Quantity; 10] = [
    Quantity {
        name: "iterations",
        words: "iterations",
        about: "Iterations of the program that the results describe: run, or known exactly.",
        there: REPEATED,
        value: |at| whole(at, |all| Some(all.done())),
        ..WHOLE
    },
    Quantity {
        name: "iterations_run",
        words: "iterations run",
        about: "Iterations that have been run.",
        rank: Some(22),
        there: REPEATED,
        value: |at| whole(at, |all| Some(all.run.len() as u64)),
        ..WHOLE
    },
    Quantity {
        name: "iterations_skipped",
        words: "iterations skipped",
        about: "Iterations that have not been run, because the network had come back to an earlier state.",
        rank: Some(23),
        there: REPEATED,
        value: |at| whole(at, |all| Some(all.skipped)),
        ..WHOLE
    },
    Quantity {
        name: "iterations_period",
        words: "iterations that come again",
        about: "Iterations after which the network came back to an earlier state.",
        there: When::Recorded("with `workload.repeat`, if the network came back to an earlier state"),
        value: |at| whole(at, |all| all.period.map(|(period, _)| period)),
        ..WHOLE
    },
    Quantity {
        name: "iterations_reason",
        words: "why no iterations are skipped",
        about: "The parts of the network or the measurement that make it impossible to skip iterations.",
        there: When::Recorded("with `workload.repeat`, if states of the network cannot be compared"),
        value: |at| json!(at.iterations().and_then(|all| all.reason.clone())),
        ..TEXT
    },
    Quantity {
        name: "iteration_time",
        words: "mean time of an iteration",
        unit: unit::CYCLES,
        about: "Cycles from the beginning of an iteration until its last rank has finished; mean over all iterations.",
        interval: Some("iteration_time_ci"),
        heading: Some("iteration"),
        time: true,
        rank: Some(24),
        there: REPEATED,
        value: |at| {
            let cycle = f64::from(at.window.ticks_per_cycle);
            json!(at.iterations().map(|all| all.sum() as f64 / all.done().max(1) as f64 / cycle))
        },
        ..NUMBER
    },
    Quantity {
        name: "iteration_time_ci",
        words: "half width of the interval of an iteration's mean time",
        unit: unit::CYCLES,
        about: "Half width of the confidence interval of `iteration_time`, computed as for all intervals of a single \
                run, with the iterations as batches.",
        time: true,
        there: When::Recorded("with `workload.repeat`, if enough iterations are independent"),
        value: |at| json!(at.iteration_interval().and_then(Result::ok).map(|(half, _)| half)),
        ..NUMBER
    },
    Quantity {
        name: "iteration_time_ci_batches",
        words: "batches of the interval of an iteration's mean time",
        about: "Batches of iterations whose variance gives `iteration_time_ci`: one more than its degrees of freedom.",
        there: When::Recorded("with `iteration_time_ci`"),
        value: |at| json!(at.iteration_interval().and_then(Result::ok).map(|(_, batches)| batches)),
        ..WHOLE
    },
    Quantity {
        name: "iteration_time_ci_reason",
        words: "why the mean time of an iteration has no interval",
        about: "Why there is no `iteration_time_ci`, in words.",
        there: When::Recorded("with `workload.repeat`, without `iteration_time_ci`"),
        value: |at| json!(at.iteration_interval().and_then(Result::err).map(words)),
        ..TEXT
    },
    Quantity {
        name: "completion_estimated",
        words: "completion of all iterations",
        unit: unit::CYCLES,
        about: "Cycles until all iterations that the scenario asks for have ended: `completion`, and for each \
                iteration that was left out the mean time from the beginning of one to the next.",
        time: true,
        rank: Some(25),
        there: REPEATED,
        value: |at| json!(at.completion_estimated()),
        ..NUMBER
    },
];

pub(super) const TABLE: Table = Table {
    name: "iterations",
    about: "One row for each iteration of a repeated program that has been run. Iterations that are known exactly and \
            skipped have none.",
    there: REPEATED,
    asked: |at| at.iterations().is_some(),
    columns: &[
        Column {
            name: "iteration",
            words: "iteration",
            about: "Number of the iteration, from 0.",
            values: |at| at.of_iterations(|row| row.number),
            ..NUMBERED
        },
        Column {
            name: "start",
            words: "start",
            about: "When it began, if skipped iterations take no time.",
            values: |at| at.of_iterations(|row| at.in_cycles(row.start)),
            ..TIME
        },
        Column {
            name: "time",
            words: "time",
            about: "Time from its beginning until its last rank had finished.",
            values: |at| at.of_iterations(|row| at.in_cycles(row.time)),
            ..TIME
        },
    ],
};
