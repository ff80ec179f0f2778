//! Histograms of latencies with a bounded relative error.

use serde::{Deserialize, Serialize};

/// Counts of whole numbers (cycles) with three significant digits: exact below 2048, within 0.1% above. Memory grows
/// with the logarithm of the largest value. A count stops at 2^32 - 1.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(from = "Vec<(u64, u64)>", into = "Vec<(u64, u64)>")]
pub struct Histogram {
    /// Counts of the values below [`EXACT`], which are nearly all; no longer than the largest such value needs.
    exact: Vec<u32>,
    /// Counts of larger values; allocated with the first of them.
    above: Option<hdrhistogram::Histogram<u32>>,
    max: u64,
}

/// Significant decimal digits that are kept.
const DIGITS: u8 = 3;
/// Values below this bound have a count of their own with [`DIGITS`] digits.
const EXACT: usize = 2048;

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

impl PartialEq for Histogram {
    /// Equal if every recorded value has an equal count.
    fn eq(&self, other: &Self) -> bool {
        self.max == other.max && self.iter().eq(other.iter())
    }
}

impl Eq for Histogram {}

impl From<Histogram> for Vec<(u64, u64)> {
    fn from(histogram: Histogram) -> Self {
        histogram.iter().collect()
    }
}

impl From<Vec<(u64, u64)>> for Histogram {
    fn from(counts: Vec<(u64, u64)>) -> Self {
        let mut histogram = Self::new();
        counts.into_iter().for_each(|(value, count)| histogram.record_n(value, count as u32));
        histogram
    }
}

/// An empty histogram of the library's.
fn empty() -> hdrhistogram::Histogram<u32> {
    let Ok(counts) = hdrhistogram::Histogram::new(DIGITS) else {
        unreachable!("three digits are within the library's 0 to 5")
    };
    counts
}

impl Histogram {
    /// A histogram without values.
    pub fn new() -> Self {
        Self { exact: Vec::new(), above: None, max: 0 }
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        (self.exact.capacity() + self.above.as_ref().map_or(0, |above| above.distinct_values())) * size_of::<u32>()
    }

    /// Counts `value` once.
    #[inline]
    pub fn record(&mut self, value: u64) {
        self.record_n(value, 1);
    }

    /// Counts `value` `count` times.
    #[inline]
    pub fn record_n(&mut self, value: u64, count: u32) {
        match self.exact.get_mut(value as usize) {
            Some(counted) => *counted = counted.saturating_add(count),
            None => self.record_beyond(value, count),
        }
        if count > 0 {
            self.max = self.max.max(value);
        }
    }

    #[cold]
    #[inline(never)]
    fn record_beyond(&mut self, value: u64, count: u32) {
        if value < EXACT as u64 {
            self.exact.resize((value as usize + 1).next_power_of_two(), 0);
            return self.record_n(value, count);
        }
        // Cannot fail: the histogram grows as needed.
        let recorded = self.above.get_or_insert_with(empty).record_n(value, count);
        debug_assert!(recorded.is_ok());
    }

    /// Counts everything that `other` has counted. The order of merging does not matter.
    pub fn merge(&mut self, other: &Self) {
        self.exact.resize(self.exact.len().max(other.exact.len()), 0);
        for (mine, theirs) in self.exact.iter_mut().zip(&other.exact) {
            *mine = mine.saturating_add(*theirs);
        }
        if let Some(theirs) = &other.above {
            // Cannot fail: the histogram grows as needed.
            let merged = self.above.get_or_insert_with(empty).add(theirs);
            debug_assert!(merged.is_ok());
        }
        self.max = self.max.max(other.max);
    }

    /// Number of values counted.
    pub fn len(&self) -> u64 {
        let exact = self.exact.iter().map(|count| u64::from(*count)).sum::<u64>();
        exact + self.above.as_ref().map_or(0, |above| above.len())
    }

    /// True if nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Largest value, exact; 0 if nothing was counted.
    pub fn max(&self) -> u64 {
        self.max
    }

    /// The smallest value that at least the share `quantile` (0 to 1) of all values does not exceed. It is at most 0.1%
    /// too large; `None` if nothing was counted.
    pub fn quantile(&self, quantile: f64) -> Option<u64> {
        let mut all = self.above.clone().unwrap_or_else(empty);
        for (value, count) in self.exact.iter().enumerate().filter(|(_, count)| **count > 0) {
            let recorded = all.record_n(value as u64, *count);
            debug_assert!(recorded.is_ok());
        }
        (!all.is_empty()).then(|| all.value_at_quantile(quantile).min(self.max))
    }

    /// `(value, count)` of all counted values, in ascending order. Values with equal significant digits are counted
    /// together, under the largest of them.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let exact =
            (0..).zip(&self.exact).filter(|(_, count)| **count > 0).map(|(value, count)| (value, (*count).into()));
        let above = self.above.iter().flat_map(|above| above.iter_recorded());
        exact.chain(above.map(|bin| (bin.value_iterated_to().min(self.max), bin.count_at_value().into())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_values_are_exact_and_large_ones_within_a_thousandth() {
        let mut histogram = Histogram::new();
        (1..=1000).for_each(|v| histogram.record(v));
        assert_eq!(histogram.quantile(0.5), Some(500));
        assert_eq!(histogram.quantile(0.99), Some(990));
        assert_eq!(histogram.quantile(0.999), Some(999));
        assert_eq!(histogram.quantile(1.0), Some(1000));
        histogram.record(0);
        assert_eq!(histogram.iter().next(), Some((0, 1)));
        assert_eq!(histogram.len(), 1001);
        for value in [2048, 123_456, 987_654_321, 4_000_000_000] {
            let mut one = Histogram::new();
            one.record(value);
            one.record(value * 3);
            let median = one.quantile(0.5).unwrap();
            assert!(median >= value && (median - value) as f64 <= value as f64 * 1e-3, "{value} {median}");
            assert_eq!(one.max(), value * 3);
            assert_eq!(one.quantile(1.0), Some(value * 3));
        }
    }

    #[test]
    fn merging_is_independent_of_the_order() {
        let parts: Vec<Histogram> = (0..4u64)
            .map(|i| {
                let mut part = Histogram::new();
                (0..500).for_each(|k| part.record((k * 7919 + i * 104_729) % (10u64.pow(i as u32 * 2 + 1))));
                part
            })
            .collect();
        let merge = |order: [usize; 4]| {
            let mut all = Histogram::new();
            order.iter().for_each(|&i| all.merge(&parts[i]));
            all
        };
        let reference = merge([0, 1, 2, 3]);
        assert_eq!(reference.len(), 2000);
        for order in [[3, 2, 1, 0], [2, 0, 3, 1]] {
            assert_eq!(merge(order), reference);
        }
        assert_eq!(reference.iter().map(|(_, count)| count).sum::<u64>(), 2000);
        assert_ne!(merge([0, 1, 2, 2]), reference);
    }

    #[test]
    fn a_histogram_is_read_as_it_was_written() {
        let mut histogram = Histogram::new();
        for value in [0, 7, 2047, 2048, 2050, 123_456, 123_457, 987_654_321] {
            histogram.record_n(value, 3 + value as u32 % 5);
        }
        let again = Histogram::from(Vec::from(histogram.clone()));
        assert_eq!((again.max(), again.len()), (histogram.max(), histogram.len()));
        assert_eq!(again, histogram);
        let quantile = |of: &Histogram| (1..100).map(|share| of.quantile(f64::from(share) / 100.0)).collect::<Vec<_>>();
        assert_eq!(quantile(&again), quantile(&histogram));
        assert_eq!(Histogram::from(Vec::from(Histogram::new())), Histogram::new());
    }

    #[test]
    fn nothing_has_no_quantile() {
        assert_eq!((Histogram::new().quantile(0.5), Histogram::new().max()), (None, 0));
        assert!(Histogram::new().is_empty());
    }
}
