//! Whether a run shows a steady state, and which of its means have an interval.

use super::Reading;
use super::confidence::{Estimate, Interval, Missing, Steady};
use super::quantities::SATURATED_BELOW;
use std::cell::OnceCell;

/// The estimates of a run's means. Each is computed when it is first asked for.
#[derive(Debug, Default)]
pub(crate) struct Estimates {
    latency: OnceCell<Estimate>,
    load: OnceCell<Estimate>,
}

impl Reading<'_> {
    /// Measured cycles of drawn traffic, of which every one is simulated. Only programs come to more.
    pub(super) fn simulated(&self) -> u32 {
        u32::try_from(self.cycles).unwrap_or(u32::MAX)
    }

    /// Whether the load accepted in the measured time is less than a fixed share of the offered load.
    pub(super) fn saturated(&self) -> bool {
        // A lost packet waits nowhere: it is no part of a backlog.
        self.accepted_load() + self.lost_load() < SATURATED_BELOW * self.offered_load()
    }

    fn latency_estimate(&self) -> &Estimate {
        let ticks = self.simulated().saturating_mul(self.window.ticks_per_cycle);
        self.estimates.latency.get_or_init(|| self.counters.batches.latency(ticks, self.confidence))
    }

    /// The estimate of the accepted load.
    fn load_estimate(&self) -> &Estimate {
        let estimate = || self.counters.batches.load(self.window, self.simulated(), self.confidence);
        self.estimates.load.get_or_init(estimate)
    }

    /// Whether the run shows a steady state; `None` for a program, which has no steady state.
    pub(super) fn steady(&self) -> Option<Steady> {
        let of_traffic = || match self.changing {
            Some(how) => Steady::Unknown(Missing::Changing(how)),
            None if self.saturated() => Steady::No(Missing::Saturated),
            None => self.latency_estimate().steady,
        };
        (!self.workload).then(of_traffic)
    }

    /// Refuses intervals of what has no single state to be measured.
    fn has_one_state(&self) -> Result<(), Missing> {
        match self.changing {
            Some(how) => Err(Missing::Changing(how)),
            None if self.workload => Err(Missing::Program),
            None => Ok(()),
        }
    }

    /// The interval of the mean latency and its number of batches, or the reason why there is none.
    pub(super) fn latency_interval(&self) -> Result<(Interval, usize), Missing> {
        self.has_one_state()?;
        if self.saturated() {
            return Err(Missing::Saturated);
        }
        let found = self.latency_estimate();
        Ok((found.interval?, found.batches))
    }

    /// The interval of the accepted load and its number of batches, or the reason why there is none.
    ///
    /// A saturated network accepts a steady load. Below saturation the sources' backlog must not grow: otherwise the
    /// accepted load is less than it will become. A network that sustains its load accepts the mean offered load in the
    /// long run. The accepted load of a run differs from that mean for two reasons: chance in what was offered, and the
    /// growth of the backlog, which was measured. So the interval is at least as wide as the sum of both.
    pub(super) fn load_interval(&self) -> Result<(Interval, usize), Missing> {
        self.has_one_state()?;
        let found = self.load_estimate();
        let mut interval = found.interval?;
        if !self.saturated() {
            if let Steady::No(why) = &self.latency_estimate().steady {
                return Err(*why);
            }
            let growth = (self.offered_load() - self.accepted_load() - self.lost_load()).abs();
            if growth > interval.half_width {
                return Err(Missing::Backlog);
            }
            let chance = self.window.offered_by_chance(self.simulated(), self.confidence);
            interval.half_width = interval.half_width.max(chance + growth);
        }
        Ok((interval, found.batches))
    }
}
