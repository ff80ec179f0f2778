//! Histograms of latencies with a bounded relative error.

use serde::{Deserialize, Serialize};

/// Counts of whole numbers (cycles) with three significant digits: exact below 2048, within 0.1% above. Memory grows
/// with the logarithm of the largest value. What is recorded one by one stops at 2^32 - 1 a value; merging goes on.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(from = "Vec<(u64, u64)>", into = "Vec<(u64, u64)>")]
pub struct Histogram {
    /// Counts of the values below [`EXACT`], which are nearly all; no longer than the largest such value needs.
    exact: Vec<u32>,
    /// Counts of larger values; allocated with the first of them.
    above: Option<hdrhistogram::Histogram<u32>>,
    /// Counts besides those above, once histograms with more than 2^32 - 1 counts were merged.
    wide: Option<Box<hdrhistogram::Histogram<u64>>>,
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
        counts.into_iter().for_each(|(value, count)| match u32::try_from(count) {
            Ok(count) => histogram.record_n(value, count),
            Err(_) => {
                histogram.widen().record_n(value, count).unwrap_or_default();
                histogram.max = histogram.max.max(value);
            }
        });
        histogram
    }
}

/// An empty histogram of the library's.
fn empty<C: hdrhistogram::Counter>() -> hdrhistogram::Histogram<C> {
    let Ok(counts) = hdrhistogram::Histogram::new(DIGITS) else {
        unreachable!("three digits are within the library's 0 to 5")
    };
    counts
}

impl Histogram {
    /// A histogram without values.
    pub fn new() -> Self {
        Self { exact: Vec::new(), above: None, wide: None, max: 0 }
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        (self.exact.capacity() + self.above.as_ref().map_or(0, |above| above.distinct_values())) * size_of::<u32>()
            + self.wide.as_ref().map_or(0, |wide| wide.distinct_values() * size_of::<u64>())
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
        if self.len() + other.len() > u32::MAX.into() {
            // Cannot fail: the histogram grows as needed.
            let merged = self.widen().add(other.widened());
            debug_assert!(merged.is_ok());
        } else {
            self.merge_narrow(other);
        }
        self.max = self.max.max(other.max);
    }

    fn merge_narrow(&mut self, other: &Self) {
        self.exact.resize(self.exact.len().max(other.exact.len()), 0);
        for (mine, theirs) in self.exact.iter_mut().zip(&other.exact) {
            *mine += *theirs;
        }
        if let Some(theirs) = &other.above {
            // Cannot fail: the histogram grows as needed.
            let merged = self.above.get_or_insert_with(empty).add(theirs);
            debug_assert!(merged.is_ok());
        }
    }

    /// All counts, each of 64 bits.
    fn widened(&self) -> hdrhistogram::Histogram<u64> {
        let mut all = self.wide.as_deref().cloned().unwrap_or_else(empty);
        let exact = (0..).zip(&self.exact).map(|(value, count)| (value, *count));
        let above = self.above.iter().flat_map(|above| above.iter_recorded());
        let above = above.map(|bin| (bin.value_iterated_to(), bin.count_at_value()));
        for (value, count) in exact.chain(above).filter(|(_, count)| *count > 0) {
            let recorded = all.record_n(value, count.into());
            debug_assert!(recorded.is_ok());
        }
        all
    }

    /// Moves all counts to those of 64 bits.
    fn widen(&mut self) -> &mut hdrhistogram::Histogram<u64> {
        let all = self.widened();
        (self.exact, self.above) = (Vec::new(), None);
        self.wide.insert(Box::new(all))
    }

    /// Number of values counted.
    pub fn len(&self) -> u64 {
        let exact = self.exact.iter().map(|count| u64::from(*count)).sum::<u64>();
        let wide = self.wide.as_ref().map_or(0, |wide| wide.len());
        exact + self.above.as_ref().map_or(0, |above| above.len()) + wide
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
        let all = self.widened();
        (!all.is_empty()).then(|| all.value_at_quantile(quantile).min(self.max))
    }

    /// `(value, count)` of all counted values, in ascending order. Values with equal significant digits are counted
    /// together, under the largest of them.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let wide: Option<Vec<(u64, u64)>> = self.wide.is_some().then(|| {
            let all = self.widened();
            all.iter_recorded().map(|bin| (bin.value_iterated_to().min(self.max), bin.count_at_value())).collect()
        });
        let narrow = wide.is_none().then(|| {
            let exact =
                (0..).zip(&self.exact).filter(|(_, count)| **count > 0).map(|(value, count)| (value, (*count).into()));
            let above = self.above.iter().flat_map(|above| above.iter_recorded());
            exact.chain(above.map(|bin| (bin.value_iterated_to().min(self.max), bin.count_at_value().into())))
        });
        narrow.into_iter().flatten().chain(wide.into_iter().flatten())
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

    /// As when iterations come again and again: 2^40 times the same.
    #[test]
    fn merged_counts_go_beyond_32_bits() {
        let mut histogram = Histogram::new();
        [(3, 2), (2047, 1), (5000, 1)].into_iter().for_each(|(value, count)| histogram.record_n(value, count));
        let one = histogram.clone();
        for _ in 0..40 {
            let same = histogram.clone();
            histogram.merge(&same);
        }
        assert_eq!(histogram.len(), 4 << 40);
        let times = |of: &Histogram| of.iter().map(|(value, count)| (value, count << 40)).collect::<Vec<_>>();
        assert_eq!(histogram.iter().collect::<Vec<_>>(), times(&one));
        for quantile in [0.1, 0.5, 0.6, 0.75, 0.9, 1.0] {
            assert_eq!(histogram.quantile(quantile), one.quantile(quantile), "{quantile}");
        }
        histogram.record(4);
        assert_eq!(histogram.len(), (4 << 40) + 1);
        let mut other = one.clone();
        other.merge(&histogram);
        histogram.merge(&one);
        assert_eq!(histogram, other);
        assert_eq!(Histogram::from(Vec::from(histogram.clone())), histogram);
    }

    #[test]
    fn nothing_has_no_quantile() {
        assert_eq!((Histogram::new().quantile(0.5), Histogram::new().max()), (None, 0));
        assert!(Histogram::new().is_empty());
    }
}
