//! The ticks in which probes look.

use crate::engine::Tick;
use crate::fabric::seams::probe::{Observation, Probes};
use crate::measure::Records;

/// The probes of a partition, and the tick in which some of them look next.
#[derive(Clone)]
pub(crate) struct Probing {
    probes: Probes,
    /// The tick of the next look; the last tick of all if there is none.
    next: Tick,
}

impl Probing {
    /// Probes that have not looked yet.
    pub(crate) fn new(probes: Probes) -> Self {
        Self { next: if probes.is_empty() { Tick::MAX } else { 0 }, probes }
    }

    /// Tick of the next look.
    #[inline(always)]
    pub(crate) fn next(&self) -> Tick {
        self.next
    }

    /// Lets the probes look whose time is tick `now`.
    pub(crate) fn look(&self, at: &dyn Observation, now: Tick, records: &mut Records) {
        self.probes.look(at, now, records);
    }

    /// Probes have looked in tick `now`, if it is measured.
    pub(crate) fn pass(&mut self, now: Tick) {
        self.next = self.probes.next(now + 1);
    }
}
