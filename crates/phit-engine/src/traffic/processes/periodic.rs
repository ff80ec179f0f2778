//! Periodic process.

use super::{NEVER, Process, ProcessParams, ProcessState};
use crate::engine::Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Periodic: every endpoint generates a packet every (mean packet size) / load cycles. If the period is not a whole
/// number of cycles, the k-th packet is generated in cycle floor(phase + k * period). A change of the load starts a new
/// sequence in its cycle.
///
/// ```toml
/// [traffic.process]
/// kind = "periodic"
/// ```
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Periodic {
    /// When the first packet of each endpoint is generated.
    pub phase: Phase,
}

/// Time of an endpoint's first packet under the periodic process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Phase {
    /// Uniform within the first period, independently for every endpoint.
    #[default]
    Random,
    /// In the first cycle, at all endpoints.
    Zero,
}

impl ProcessParams for Periodic {
    fn build(&self, load: f64, mean_size: f64) -> Result<Box<dyn Process>, String> {
        Ok(Box::new(EachPeriod { period: whole(mean_size / load), phase: self.phase }))
    }
}

/// The period, rounded to a whole number if only rounding of its inputs, such as a load of 0.15, separates it from one.
fn whole(period: f64) -> f64 {
    let nearest = period.round();
    if (period - nearest).abs() < 1e-12 * period { nearest } else { period }
}

#[derive(Debug)]
struct EachPeriod {
    /// In cycles, at least 1; infinite for a load of 0.
    period: f64,
    phase: Phase,
}

/// A time in whole cycles and 2^-64 parts of a cycle.
fn fixed_point(cycles: f64) -> (u64, u64) {
    (cycles as u64, (cycles.fract() * 2f64.powi(64)) as u64)
}

/// `cycle` and `mark` are the whole cycles and the 2^-64 parts of a cycle of the next packet's time.
impl Process for EachPeriod {
    fn start(&self, start: u64, rng: &mut Rng) -> ProcessState {
        if self.period.is_infinite() {
            return ProcessState { cycle: NEVER, mark: 0 };
        }
        let phase = match self.phase {
            Phase::Random => rng.unit() * self.period,
            Phase::Zero => 0.0,
        };
        let (whole, part) = fixed_point(phase);
        ProcessState { cycle: start.saturating_add(whole), mark: part }
    }

    fn moments(&self) -> (f64, f64) {
        // The numbers of packets in two equal times differ by one at most, however long the times are.
        (1.0 / self.period, 0.0)
    }

    fn next(&self, state: &mut ProcessState, _: &mut Rng) -> u64 {
        let cycle = state.cycle;
        let (whole, part) = fixed_point(self.period);
        let (mark, carry) = state.mark.overflowing_add(part);
        *state = ProcessState { cycle: cycle.saturating_add(whole).saturating_add(u64::from(carry)), mark };
        cycle
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Stream;

    fn cycles(phase: Phase, load: f64, size: f64, index: u64) -> Vec<u64> {
        let process = Periodic { phase }.build(load, size).unwrap();
        let mut rng = Rng::new(1, Stream::Source, index);
        let mut state = process.start(100, &mut rng);
        std::iter::from_fn(|| Some(process.next(&mut state, &mut rng))).take_while(|&c| c < 1100).collect()
    }

    #[test]
    fn packets_are_one_period_apart() {
        // 8 phits at 0.3 phits per cycle: 26 2/3 cycles.
        let expected: Vec<u64> = (0..38).map(|k| 100 + k * 80 / 3).filter(|&c| c < 1100).collect();
        assert_eq!(cycles(Phase::Zero, 0.3, 8.0, 0), expected);
        assert!(cycles(Phase::Zero, 1.0, 1.0, 0).into_iter().eq(100..1100));
        assert!(cycles(Phase::Zero, 0.0, 1.0, 0).is_empty());
        assert!(cycles(Phase::Random, 0.0, 1.0, 0).is_empty());
    }

    #[test]
    fn random_phases_fill_the_period() {
        let firsts: Vec<u64> = (0..1000).map(|i| cycles(Phase::Random, 0.25, 1.0, i)[0]).collect();
        for c in 100..104 {
            let count = firsts.iter().filter(|&&f| f == c).count();
            // The standard deviation is 13.7.
            assert!((200..300).contains(&count), "{c}: {count}");
        }
    }
}
