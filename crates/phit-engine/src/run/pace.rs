//! The pace of a run: the length of the steps between two checks for progress and stopping.

use crate::engine::Tick;
use std::time::Duration;

/// Longest step: nobody should wait longer for an answer to Ctrl-C.
const LONG: Duration = Duration::from_millis(100);

/// Shortest step: shorter ones would check too often.
const SHORT: Duration = Duration::from_millis(20);

/// Longest epoch that is not cut. Every part of a cut epoch reads the tables of all partitions again. A network of a
/// million endpoints, whose epoch takes seconds, would run at a quarter of its speed in steps of a tenth of a second.
const PATIENCE: Duration = Duration::from_secs(4);

/// The length of a step, from the duration of the step before. Steps may end anywhere without affecting results. But a
/// step that ends within an epoch cuts it in two, and the partitions take turns twice.
#[derive(Debug)]
pub(super) struct Pace {
    step: Tick,
    epoch: Tick,
}

impl Pace {
    /// For a network whose partitions run ahead by an `epoch`, if there are several.
    pub(super) fn new(epoch: Tick) -> Self {
        Self { step: 16, epoch: if epoch == Tick::MAX { 1 } else { epoch.max(1) } }
    }

    /// Ticks of the next step, which never has more than `most`.
    pub(super) fn next(&self, most: Tick) -> Tick {
        let step = self.step.clamp(1, most.max(1));
        if step > self.epoch { step - step % self.epoch } else { step }
    }

    /// Reports that a step of `ticks` took `time`.
    pub(super) fn took(&mut self, ticks: Tick, time: Duration) {
        let within_epoch = ticks <= self.epoch && self.epoch > 1;
        if !within_epoch && time > LONG {
            self.step = (ticks / 2).max(self.epoch);
        } else if within_epoch && time > PATIENCE {
            self.step = (ticks / 2).max(1);
        } else if time < SHORT {
            self.step = self.step.max(ticks.saturating_mul(2));
        } else if ticks < self.epoch && time < PATIENCE / 2 {
            // A longer part of an epoch takes less time per tick.
            self.step = self.step.max((2 * ticks).min(self.epoch));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_take_about_as_long_as_they_may() {
        for cost in [1, 1_000, 300_000, 50_000_000, 1_000_000_000] {
            let mut pace = Pace::new(Tick::MAX);
            let mut all = Vec::new();
            for _ in 0..60 {
                let ticks = pace.next(1 << 20);
                let time = Duration::from_nanos(u64::from(ticks) * cost);
                pace.took(ticks, time);
                all.push((ticks, time));
            }
            let (ticks, time) = *all.last().unwrap();
            assert!(ticks == 1 || time <= LONG, "{cost}: {ticks} ticks in {time:?}");
            assert!(ticks == 1 << 20 || time >= SHORT, "{cost}: {ticks} ticks in {time:?}");
            // A step cut short by another limit does not shorten later ones.
            pace.took(1, Duration::ZERO);
            assert!(pace.next(1 << 20) >= ticks);
        }
    }

    #[test]
    fn epochs_are_cut_only_where_they_take_too_long() {
        let settled = |nanoseconds: u64| {
            let mut pace = Pace::new(101);
            for _ in 0..60 {
                let ticks = pace.next(1000);
                pace.took(ticks, Duration::from_nanos(u64::from(ticks) * nanoseconds));
            }
            pace.next(1000)
        };
        assert_eq!(settled(1_000), 909);
        // Epochs of 20, 90 and 900 ms, and of 3, 5 and 20 s.
        let epochs = [200_000, 900_000, 9_000_000, 30_000_000, 50_000_000, 200_000_000];
        assert_eq!(epochs.map(settled), [101, 101, 101, 101, 64, 16]);
    }
}
