//! On/off process.

use super::{Geometric, HORIZON, NEVER, Process, ProcessParams, ProcessState};
use crate::engine::Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// On/off: every endpoint is a Markov chain of two states, on and off. In every cycle of the on state it generates a
/// packet with probability peak / (mean packet size), and in the off state it generates none. Bursts last a geometric
/// number of cycles with mean `burst`. The pauses between them also last a geometric number of cycles, with the mean
/// that yields `traffic.load`. After a change of the load, every endpoint draws a new state. (Dally and Towles,
/// *Principles and Practices of Interconnection Networks*, section 24.2.2.)
///
/// ```toml
/// [traffic.process]
/// kind = "on_off"
/// burst = 8.0
/// peak = 0.8
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OnOff {
    /// Mean length of a burst in cycles, at least 1.
    #[schemars(range(min = 1))]
    #[schemars(extend("x-unit" = "cycles"))]
    pub burst: f64,
    /// Load within a burst, in the unit of `traffic.load` (in phits/(endpoint·cycle) with `load_unit = "bisection"`).
    /// More than 0, and at least `traffic.load`.
    #[serde(default = "one")]
    #[schemars(extend("exclusiveMinimum" = 0))]
    #[schemars(extend("x-unit" = "load"))]
    pub peak: f64,
}

fn one() -> f64 {
    1.0
}

impl ProcessParams for OnOff {
    fn build(&self, load: f64, mean_size: f64) -> Result<Box<dyn Process>, String> {
        let Self { burst, peak } = *self;
        if peak > mean_size {
            return Err(format!(
                "expected a `process.peak` of at most the mean packet size, {mean_size}: one packet per cycle, not \
                 {peak}"
            ));
        }
        if load > peak {
            return Err(format!("expected at most the load within a burst, `process.peak` = {peak}"));
        }
        let duty = load / peak;
        let stop = if duty < 1.0 { 1.0 / burst } else { 0.0 };
        // In equilibrium, equally many endpoints start and stop: (1 - duty) * go = duty * stop.
        let go = if duty < 1.0 { stop * duty / (1.0 - duty) } else { 1.0 };
        // The tolerance allows rounding for a load at the limit; probabilities are clamped to 1.
        if go > 1.0 + 1e-9 {
            let most = peak * burst / (burst + 1.0);
            return Err(format!(
                "expected at most {most} or exactly {peak}: pauses between bursts of {burst} cycles last at least one \
                 cycle"
            ));
        }
        let chance = peak / mean_size;
        let packet = Geometric::new(chance);
        // Cycles k apart have the covariance chance^2 duty (1 - duty) (1 - stop - go)^k.
        let memory = 1.0 - stop - go.min(1.0);
        let lasting = if duty < 1.0 { 2.0 * memory / (1.0 - memory) } else { 0.0 };
        let variance = duty * chance * (1.0 - duty * chance) + chance * chance * duty * (1.0 - duty) * lasting;
        let moments = (duty * chance, variance);
        Ok(Box::new(TwoStates { duty, packet, stop: Geometric::new(stop), go: Geometric::new(go), moments }))
    }

    fn build_in(&self, one: f64, load: f64, mean_size: f64) -> Result<Box<dyn Process>, String> {
        Self { burst: self.burst, peak: self.peak * one }.build(load, mean_size)
    }
}

#[derive(Debug)]
struct TwoStates {
    /// Share of the cycles in the on state.
    duty: f64,
    /// Cycles without a packet in the on state.
    packet: Geometric,
    /// Cycles of a burst beyond the first.
    stop: Geometric,
    /// Cycles of a pause beyond the first.
    go: Geometric,
    /// Mean and variance of the number of packets in a long time, per cycle.
    moments: (f64, f64),
}

impl TwoStates {
    /// The next burst after a pause that begins in cycle `from`.
    fn burst_after(&self, from: u64, rng: &mut Rng) -> ProcessState {
        let start = from.saturating_add(1).saturating_add(self.go.draw(rng));
        ProcessState { cycle: start, mark: self.end_of_burst(start, rng) }
    }

    /// First cycle after a burst whose first remaining cycle is `start`.
    fn end_of_burst(&self, start: u64, rng: &mut Rng) -> u64 {
        start.saturating_add(1).saturating_add(self.stop.draw(rng))
    }
}

/// `mark` is the first cycle after the current or next burst, which begins no later than `cycle`.
impl Process for TwoStates {
    fn start(&self, start: u64, rng: &mut Rng) -> ProcessState {
        // The rest of a geometric period has the distribution of a whole one.
        if rng.chance(self.duty) {
            ProcessState { cycle: start, mark: self.end_of_burst(start, rng) }
        } else {
            self.burst_after(start, rng)
        }
    }

    fn moments(&self) -> (f64, f64) {
        self.moments
    }

    fn next(&self, state: &mut ProcessState, rng: &mut Rng) -> u64 {
        while state.cycle < HORIZON {
            let cycle = state.cycle.saturating_add(self.packet.draw(rng));
            if cycle < state.mark {
                state.cycle = cycle.saturating_add(1);
                return cycle;
            }
            *state = self.burst_after(state.mark, rng);
        }
        NEVER
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Stream;

    /// Cycles of the packets of one endpoint before `end`, packets of one phit.
    fn cycles(params: &OnOff, load: f64, index: u64, end: u64) -> Vec<u64> {
        let process = params.build(load, 1.0).unwrap();
        let mut rng = Rng::new(1, Stream::Source, index);
        let mut state = process.start(0, &mut rng);
        std::iter::from_fn(|| Some(process.next(&mut state, &mut rng))).take_while(|&c| c < end).collect()
    }

    #[test]
    fn bursts_and_pauses_have_their_mean_lengths() {
        // A peak of one phit per cycle puts a packet into every cycle of a burst, so the packets show the bursts.
        let cycles = cycles(&OnOff { burst: 20.0, peak: 1.0 }, 0.25, 0, 4_000_000);
        let bursts = 1 + cycles.windows(2).filter(|w| w[1] > w[0] + 1).count();
        let mean = cycles.len() as f64 / bursts as f64;
        // About 50000 bursts with a standard deviation of 19.5: their mean has 0.09.
        assert!((mean - 20.0).abs() < 0.4, "{mean}");
        let load = cycles.len() as f64 / 4e6;
        assert!((load - 0.25).abs() < 0.006, "{load}");
    }

    #[test]
    fn the_load_is_right_from_the_first_cycle_on() {
        let params = OnOff { burst: 100.0, peak: 0.5 };
        let first: usize = (0..100_000).map(|i| cycles(&params, 0.2, i, 2).len()).sum();
        // Two cycles of 100000 endpoints at 0.2, correlated: standard deviation about 0.0011.
        assert!((first as f64 / 2e5 - 0.2).abs() < 0.005, "{first}");
    }

    #[test]
    fn the_extremes() {
        assert!(cycles(&OnOff { burst: 10.0, peak: 1.0 }, 0.0, 0, 100_000).is_empty());
        assert_eq!(cycles(&OnOff { burst: 10.0, peak: 1.0 }, 1.0, 0, 1000).len(), 1000);
        assert_eq!(cycles(&OnOff { burst: 1.0, peak: 1.0 }, 0.5, 0, 1000).len(), 500);
    }

    #[test]
    fn loads_that_no_chain_has_are_refused() {
        let params = OnOff { burst: 9.0, peak: 0.5 };
        assert!(params.build(0.51, 1.0).unwrap_err().contains("at most the load within a burst"));
        assert!(params.build(0.46, 1.0).unwrap_err().contains("at most 0.45"));
        assert!(params.build(0.45, 1.0).is_ok());
        assert!(params.build(0.5, 1.0).is_ok());
        assert!(params.build(0.1, 0.4).unwrap_err().contains("mean packet size"));
    }
}
