//! A crossbar whose frequency is no whole multiple of the links': the ticks in which its router works.
//!
//! A link cycle has as many ticks as the speedup, rounded up. The router takes its steps in the first ticks of the
//! cycle: in cycle c, counted from 0, ⌊(c + 1) s⌋ - ⌊c s⌋ steps at a speedup of s.

use super::params::Speedup;
use crate::engine::Tick;

/// The steps of all routers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pace {
    /// Steps of a thousand cycles.
    steps: u64,
    ticks_per_cycle: u64,
}

/// Cycles that have whole numbers of steps at any speedup.
const CYCLES: u64 = Speedup::PARTS as u64;

impl Pace {
    /// The pace of a crossbar with this speedup; `None` if its router takes a step in every tick.
    pub(crate) fn new(speedup: Speedup) -> Option<Self> {
        let ticks_per_cycle = speedup.rounded_up().into();
        (!speedup.is_whole()).then_some(Self { steps: speedup.parts().into(), ticks_per_cycle })
    }

    /// Steps before a cycle.
    #[inline]
    fn before(self, cycle: u64) -> u64 {
        cycle * self.steps / CYCLES
    }

    /// True if routers take a step in `tick`.
    #[inline]
    pub(crate) fn acts_in(self, tick: Tick) -> bool {
        let (cycle, place) = (u64::from(tick) / self.ticks_per_cycle, u64::from(tick) % self.ticks_per_cycle);
        place < self.before(cycle + 1) - self.before(cycle)
    }

    /// The tick that is `steps` steps after the first step in `tick` or later.
    #[inline]
    pub(crate) fn after(self, tick: Tick, steps: Tick) -> Tick {
        let (cycle, place) = (u64::from(tick) / self.ticks_per_cycle, u64::from(tick) % self.ticks_per_cycle);
        let number = (self.before(cycle) + place).min(self.before(cycle + 1)) + u64::from(steps);
        // The first cycle by whose end step `number` has been taken.
        let cycle = ((number + 1) * CYCLES).div_ceil(self.steps) - 1;
        (cycle * self.ticks_per_cycle + number - self.before(cycle)) as Tick
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_follows_the_one_before_it() {
        for parts in [1001, 1250, 1333, 1500, 1700, 1999, 2001, 2500, 3700, 63_999] {
            let Some(pace) = Pace::new(Speedup::of_parts(parts)) else { panic!("{parts} is no whole number") };
            let ticks: Vec<Tick> = (0..20_000).filter(|&tick| pace.acts_in(tick)).collect();
            for (at, pair) in ticks.windows(2).enumerate() {
                assert_eq!(pace.after(pair[0], 1), pair[1], "{parts}");
                assert_eq!(pace.after(0, at as Tick), pair[0], "{parts}");
                // In between, the next step is the first.
                (pair[0] + 1..=pair[1]).for_each(|tick| assert_eq!(pace.after(tick, 0), pair[1], "{parts}"));
            }
            // A thousand cycles have as many steps as the speedup says, and each has a step in its first tick.
            let cycle = parts.div_ceil(1000);
            assert_eq!((0..1000 * cycle).filter(|&tick| pace.acts_in(tick)).count() as u32, parts);
            assert!((0..1000).all(|number| pace.acts_in(number * cycle)), "{parts}");
        }
        assert!(Pace::new(Speedup::of_parts(2000)).is_none());
    }
}
