//! The counters of one partition, and the measured window in which they count.

use super::Sorting;
use super::confidence::{Batch, Estimate, estimate};
use super::quantities::{Counters, Counts, Delivery, SATURATED_BELOW};
use super::student::t_quantile;
use crate::engine::{Tick, bytes_of};
use crate::packet::Packet;
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::sync::Arc;

/// The unit of loads: phits per cycle at a load of 1.
#[derive(Debug, Clone)]
pub struct Loads {
    /// Phits per cycle of each endpoint; empty if it is 1 for all.
    each: Arc<[f64]>,
    /// Phits per cycle of all endpoints together.
    all: f64,
}

impl Loads {
    /// The loads of `endpoints` endpoints, of which each has these phits per cycle. Empty: 1 for all.
    pub fn new(endpoints: u32, each: Vec<f64>) -> Self {
        let all = if each.is_empty() { f64::from(endpoints) } else { each.iter().sum() };
        Self { each: each.into(), all }
    }

    /// Phits per cycle of all endpoints together at a load of 1.
    pub fn of_all(&self) -> f64 {
        self.all
    }

    /// Phits per cycle of one endpoint at a load of 1.
    pub fn of(&self, endpoint: u32) -> f64 {
        self.each.get(endpoint as usize).copied().unwrap_or(1.0)
    }
}

/// Degrees of freedom with which Student's t distribution is nearly the normal distribution.
const LARGE: usize = 1000;

/// The phits that all endpoints together generate in a long time, per cycle.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Offered {
    /// Mean.
    pub mean: f64,
    /// Variance.
    pub variance: f64,
}

/// Which packets are recorded, and how.
#[derive(Debug, Clone)]
pub struct Window {
    /// Ticks per cycle.
    pub ticks_per_cycle: Tick,
    /// The unit of loads.
    pub load: Loads,
    /// What the sources generate; `None` if replies or a list of messages decide.
    pub offered: Option<Offered>,
    /// True: packets generated in the window, whenever they are delivered; false: packets delivered in it.
    pub by_generation: bool,
    /// How the window is divided into batches, and the batches into parts.
    pub division: Division,
    /// Record the distribution of latencies.
    pub histogram: bool,
    /// Width in ticks of a bin of the time series.
    pub series_bin: Option<Tick>,
    /// True: the series' bins are by generation; false: by delivery.
    pub series_by_generation: bool,
    /// Watch whether packets from one source to one destination arrive in the order of their generation.
    pub order: bool,
    /// Count the sums from which the precision of means follows.
    pub precise: bool,
    /// Number of classes of packets, each counted by itself; 0 if all packets are alike.
    pub classes: usize,
    /// Flows that are counted by themselves.
    pub flows: Sorting,
}

impl Window {
    /// The load, as results state it, of one phit that all endpoints together accept in each tick.
    pub fn load_of_a_tick(&self) -> f64 {
        f64::from(self.ticks_per_cycle) / self.load.of_all()
    }

    /// Half the width of the interval in which the offered load of `cycles` cycles lies by chance.
    pub(super) fn offered_by_chance(&self, cycles: u32, confidence: f64) -> f64 {
        let Some(Offered { variance, .. }) = self.offered else { return 0.0 };
        let quantile = t_quantile(confidence, LARGE).unwrap_or(0.0);
        quantile * (variance / f64::from(cycles)).sqrt() / self.load.of_all()
    }

    /// The estimate of the accepted load, from the phits and ticks of batches of `cycles` cycles.
    ///
    /// Near saturation a network delivers more evenly than its sources generate, so batches differ little. But in the
    /// long run a network that sustains its load accepts what is generated. So its interval is at least as wide as that
    /// of the offered load.
    pub(super) fn accepted(&self, batches: &[Batch], cycles: u32, confidence: f64) -> Estimate {
        let mut found = estimate(batches, confidence).scaled(self.load_of_a_tick());
        if let (Ok(interval), Some(offered)) = (&mut found.interval, self.offered)
            && interval.mean * self.load.of_all() >= SATURATED_BELOW * offered.mean
        {
            interval.half_width = interval.half_width.max(self.offered_by_chance(cycles, confidence));
        }
        found
    }
}

/// How the window is divided into batches of equal length, and each batch into parts of nearly equal length.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Division {
    /// Ticks of a batch, at least 1.
    pub batch: Tick,
    /// Parts of a batch, from 1 to its ticks.
    pub parts: Tick,
}

impl Division {
    /// The part, counted from the start of the window, that has the tick `at` of the window.
    pub fn place(self, at: Tick) -> u32 {
        let within = u64::from(at % self.batch) * u64::from(self.parts) / u64::from(self.batch);
        // `within` is less than the parts of a batch.
        at / self.batch * self.parts + within as u32
    }

    /// The first tick of a part.
    pub fn first(self, place: u32) -> Tick {
        let before = (u64::from(place % self.parts) * u64::from(self.batch)).div_ceil(u64::from(self.parts));
        // `before` is less than the ticks of a batch. Beyond the last tick, the result saturates.
        (place / self.parts).saturating_mul(self.batch).saturating_add(before as u32)
    }

    /// The parts that have ended before a tick, and the ticks of each.
    pub fn complete(self, ticks: Tick) -> impl Iterator<Item = (usize, Tick)> {
        let mut first = self.first(0);
        (0..self.place(ticks)).map(move |place| {
            let next = self.first(place + 1);
            (place as usize, next - std::mem::replace(&mut first, next))
        })
    }
}

/// The counters of one partition and their window.
#[derive(Debug, Clone)]
pub struct Collector {
    window: Window,
    span: Range<Tick>,
    /// The counters.
    pub counters: Counters,
}

impl Collector {
    /// A collector without counts. Its window is empty until [`Self::open`].
    pub fn new(window: Window) -> Self {
        Self { counters: Counters::new(&window), window, span: Tick::MAX..Tick::MAX }
    }

    /// Opens the window, or moves its end. The caller counts packets that are already generated but not yet sent.
    pub fn open(&mut self, span: Range<Tick>) {
        self.span = span;
    }

    /// The window in ticks.
    pub fn span(&self) -> Range<Tick> {
        self.span.clone()
    }

    /// Which packets are recorded, and how.
    pub fn window(&self) -> &Window {
        &self.window
    }

    /// A packet is generated at tick `birth`.
    #[inline]
    pub fn generated(&mut self, birth: Tick, phits: u16) {
        if self.span.contains(&birth) {
            self.counters.generated(phits);
        }
    }

    /// `packet` is lost at tick `now`: on a broken link, or because no route is left.
    #[cold]
    pub fn lost(&mut self, packet: &Packet, now: Tick) {
        if self.span.contains(&now) {
            self.counters.load.lost_phits += u64::from(packet.size);
        }
        self.counters.lost(packet, now, self.span.contains(&packet.birth));
    }

    /// A packet generated at tick `birth` has been dropped at its source.
    pub fn dropped(&mut self, birth: Tick) {
        self.counters.dropped(self.span.contains(&birth));
    }

    /// The tail of `packet` reaches its endpoint at tick `now`.
    #[inline]
    pub fn delivered(&mut self, packet: &Packet, now: Tick) {
        let cycle = self.window.ticks_per_cycle;
        let since = |tick: Tick| self.span.contains(&tick).then(|| tick - self.span.start);
        let (in_window, born) = (since(now), since(packet.birth));
        let it = Delivery {
            packet,
            now,
            latency: u64::from((now - packet.birth) / cycle),
            network_latency: u64::from((now - packet.injected) / cycle),
            phits: u64::from(packet.size),
            in_window,
            born_in_window: born.is_some(),
        };
        self.counters.delivered(&it);
        if let Some(when) = if self.window.by_generation { born } else { in_window } {
            self.counters.recorded(&it, when);
        }
    }

    /// Adds the counts of another partition.
    pub fn merge(&mut self, other: &Self) {
        self.counters.merge(&other.counters);
    }

    /// Adds the counts of another process's partitions.
    pub(crate) fn add(&mut self, counters: &Counters) {
        self.counters.merge(counters);
    }

    /// Bytes of memory in use.
    pub fn bytes(&self) -> usize {
        bytes_of!(self, Self { counters; window, span })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_batches_follow_one_another() {
        for (batch, parts) in [(50, 20), (7, 7), (13, 4), (400, 1), (1, 1), (1000, 333)] {
            let division = Division { batch, parts };
            for at in 0..3 * batch {
                let place = division.place(at);
                assert!((division.first(place)..division.first(place + 1)).contains(&at), "{division:?} {at}");
            }
            assert_eq!(division.place(2 * batch), 2 * parts, "a batch ends with a part");
            let complete: Vec<_> = division.complete(2 * batch).collect();
            assert_eq!(complete.iter().map(|(_, ticks)| ticks).sum::<u32>(), 2 * batch);
            assert_eq!(complete.len(), 2 * parts as usize);
            let lengths: Vec<u32> = complete.into_iter().map(|(_, ticks)| ticks).collect();
            assert!(lengths.iter().max().unwrap() - lengths.iter().min().unwrap() <= 1);
        }
    }

    #[test]
    fn a_program_is_one_batch() {
        let division = Division { batch: Tick::MAX, parts: 1 };
        assert_eq!((division.place(Tick::MAX - 1), division.first(0), division.first(1)), (0, 0, Tick::MAX));
    }
}
