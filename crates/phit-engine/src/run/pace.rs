//! How far a run goes from one look at the outside world to the next.

use crate::engine::Tick;
use std::time::Duration;

/// Longer than this nobody should wait for an answer to Ctrl-C.
const LONG: Duration = Duration::from_millis(100);

/// Shorter than this looks come too often.
const SHORT: Duration = Duration::from_millis(20);

/// The length of a step, by how long the one before took. Steps end anywhere: nothing that is measured depends on them.
#[derive(Debug)]
pub(super) struct Pace {
    step: Tick,
}

impl Pace {
    pub(super) fn new() -> Self {
        Self { step: 16 }
    }

    /// Ticks of the next step, which never has more than `most`.
    pub(super) fn next(&self, most: Tick) -> Tick {
        self.step.clamp(1, most.max(1))
    }

    /// A step of `ticks` took so long.
    pub(super) fn took(&mut self, ticks: Tick, time: Duration) {
        if time > LONG {
            self.step = (ticks / 2).max(1);
        } else if time < SHORT {
            self.step = self.step.max(ticks.saturating_mul(2));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_take_about_as_long_as_they_may() {
        for cost in [1, 1_000, 300_000, 50_000_000, 1_000_000_000] {
            let mut pace = Pace::new();
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
            // A step that is cut short by something else does not make later ones short.
            pace.took(1, Duration::ZERO);
            assert!(pace.next(1 << 20) >= ticks);
        }
    }
}
