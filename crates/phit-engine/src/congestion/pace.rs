//! The times at which a flow sends at a rate.

use crate::engine::Tick;

/// The last packet of a flow, from which the time of the next packet follows.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Pace {
    /// Tick at which the packet should have started at the rate of that time.
    start: f64,
    /// Its phits.
    size: u16,
}

impl Pace {
    /// The first tick of the next packet at `rate` phits per tick.
    pub(super) fn due(&self, rate: f64) -> Tick {
        // A float beyond the last tick becomes the last tick.
        self.exactly(rate).ceil() as Tick
    }

    /// A packet of `phits` has started in tick `start`, at `rate` phits per tick.
    pub(super) fn sent(&mut self, phits: u16, start: Tick, rate: f64) {
        let due = self.exactly(rate);
        // A start at the first tick after a fractional time costs the flow nothing.
        let late = f64::from(start) - due;
        self.start = if (0.0..1.0).contains(&late) { due } else { f64::from(start) };
        self.size = phits;
    }

    fn exactly(&self, rate: f64) -> f64 {
        self.start + f64::from(self.size) / rate
    }
}
