//! Confidence intervals from batch means.
//!
//! The measured time is cut into batches of equal length. The batches' values are nearly independent if a batch is long
//! against the time over which the network's state is correlated, so that Student's t distribution gives an interval
//! (Law, *Simulation Modeling and Analysis*, 5th edition, section 9.5.3; Dally and Towles, *Principles and Practices of
//! Interconnection Networks*, section 24.3.2).

use super::student::t_quantile;

/// A mean and the half-width of its confidence interval, in the unit of the values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// Point estimate.
    pub mean: f64,
    /// Half-width: the interval is `mean - half_width ..= mean + half_width`.
    pub half_width: f64,
}

impl Interval {
    /// Half-width relative to the mean; 0 if both are 0, infinite if only the mean is.
    pub fn relative(&self) -> f64 {
        if self.half_width == 0.0 { 0.0 } else { self.half_width / self.mean.abs() }
    }
}

/// One batch of a quantity that is a sum over packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Batch {
    /// Sum over the packets of the batch, for example of their latencies in cycles.
    pub sum: u64,
    /// Number of packets.
    pub count: u64,
}

/// The mean of values that every batch has, such as the accepted load: an empty batch counts with its value 0. `None`
/// if there are fewer than two batches.
pub(crate) fn mean_of_batches(values: &[f64], confidence: f64) -> Option<Interval> {
    let n = values.len();
    let t = t_quantile(confidence, n.checked_sub(1)?)?;
    let mean = values.iter().sum::<f64>() / n as f64;
    let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
    let half_width = t * (squares / (n as f64 - 1.0) / n as f64).sqrt();
    Some(Interval { mean, half_width })
}

/// The mean per packet, such as the latency: the ratio of all sums to all counts, so that a batch weighs as much as it
/// has packets. Its standard error is that of the ratio estimator, sqrt(sum of (sum - mean * count)^2 / (n (n - 1)))
/// over the mean count, from the n batches that have packets (Cochran, *Sampling Techniques*, 3rd edition, chapter 6).
/// `None` if fewer than two batches have packets.
pub(super) fn mean_per_packet(batches: &[Batch], confidence: f64) -> Option<Interval> {
    let n = batches.iter().filter(|b| b.count > 0).count();
    let t = t_quantile(confidence, n.checked_sub(1)?)?;
    let sums: u128 = batches.iter().map(|b| u128::from(b.sum)).sum();
    let counts: u128 = batches.iter().map(|b| u128::from(b.count)).sum();
    let (n, count) = (n as f64, counts as f64);
    let mean = sums as f64 / count;
    let squares: f64 = batches.iter().map(|b| (b.sum as f64 - mean * b.count as f64).powi(2)).sum();
    let half_width = t * (squares / (n * (n - 1.0))).sqrt() / (count / n);
    Some(Interval { mean, half_width })
}

/// Batches below which they are not merged any more, and of whose correlation a test says something.
pub(crate) const LEAST_BATCHES: usize = 10;

/// The interval of a mean whose batches may be correlated.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Estimate {
    /// The mean, and half the width of its interval.
    pub interval: Interval,
    /// Batches that were left when their correlation was no longer significant, or when they were too few to merge.
    pub batches: usize,
    /// Correlation of neighbours among these.
    pub correlation: f64,
    /// Whether it is no longer significant.
    pub independent: bool,
}

/// The mean of batches in their order, as in [`mean_per_packet`], whose neighbours are merged by two as long as they
/// are significantly correlated and enough of them are left.
///
/// The correlation is 1 less half of von Neumann's ratio, which of n independent batches is nearly normal with variance
/// (n - 2) / (n^2 - 1); it is significant where one in ten of these is as large (Fishman, *Principles of Discrete Event
/// Simulation*, 1978, section 5.7). What is left of it, significant or not, widens the interval as an autoregressive
/// process of that correlation would. `None` if fewer than two batches count.
pub(super) fn mean_of_correlated(batches: &[Batch], confidence: f64) -> Option<Estimate> {
    /// The 0.9 quantile of the normal distribution.
    const SIGNIFICANT: f64 = 1.281_551_565_544_6;
    /// A few batches cannot tell a larger correlation from one.
    const LARGEST: f64 = 0.9;
    let mut batches: Vec<Batch> = batches.iter().filter(|batch| batch.count > 0).copied().collect();
    let sums: u128 = batches.iter().map(|b| u128::from(b.sum)).sum();
    let counts: u128 = batches.iter().map(|b| u128::from(b.count)).sum();
    let mean = sums as f64 / counts as f64;
    loop {
        let whole = batches.len();
        let n = whole as f64;
        let t = t_quantile(confidence, whole.checked_sub(1)?)?;
        let off: Vec<f64> = batches.iter().map(|b| b.sum as f64 - mean * b.count as f64).collect();
        let squares: f64 = off.iter().map(|x| x * x).sum();
        let steps: f64 = off.windows(2).map(|pair| (pair[1] - pair[0]).powi(2)).sum();
        let correlation = if squares > 0.0 { 1.0 - steps / (2.0 * squares) } else { 0.0 };
        let independent = correlation <= SIGNIFICANT * ((n - 2.0) / (n * n - 1.0)).sqrt();
        if independent || whole < 2 * LEAST_BATCHES {
            let count = batches.iter().map(|b| b.count).sum::<u64>() as f64 / n;
            let left = correlation.clamp(0.0, LARGEST);
            let half_width = t * ((1.0 + left) / (1.0 - left) * squares / (n * (n - 1.0))).sqrt() / count;
            return Some(Estimate {
                interval: Interval { mean, half_width },
                batches: whole,
                correlation,
                independent,
            });
        }
        // Of an odd number the first, nearest to the warm-up, is left out of the variance.
        let pairs = batches[whole % 2..].chunks_exact(2);
        batches = pairs.map(|p| Batch { sum: p[0].sum + p[1].sum, count: p[0].count + p[1].count }).collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Rng, Stream};

    #[test]
    fn batch_means_by_hand() {
        // Mean 5, squares 10, variance 2.5, standard error sqrt(0.5), t(0.95, 4) = 2.7764.
        let interval = mean_of_batches(&[3.0, 4.0, 5.0, 6.0, 7.0], 0.95).unwrap();
        assert_eq!(interval.mean, 5.0);
        assert!((interval.half_width - 2.7764 * 0.5f64.sqrt()).abs() < 1e-3);
        assert_eq!(mean_of_batches(&[3.0], 0.95), None);
        assert_eq!(mean_of_batches(&[], 0.95), None);
        assert_eq!(mean_of_batches(&[2.0; 4], 0.95).unwrap().half_width, 0.0);
    }

    #[test]
    fn equal_counts_make_the_ratio_an_ordinary_mean() {
        let batches = [30, 40, 50, 60, 70].map(|sum| Batch { sum, count: 10 });
        let ratio = mean_per_packet(&batches, 0.95).unwrap();
        let plain = mean_of_batches(&[3.0, 4.0, 5.0, 6.0, 7.0], 0.95).unwrap();
        assert!((ratio.mean - plain.mean).abs() < 1e-12 && (ratio.half_width - plain.half_width).abs() < 1e-12);
    }

    #[test]
    fn batches_without_packets_say_nothing_about_latency() {
        let full = [(30, 10), (44, 11), (50, 10)].map(|(sum, count)| Batch { sum, count });
        let mut holes = full.to_vec();
        holes.insert(1, Batch::default());
        holes.push(Batch::default());
        assert_eq!(mean_per_packet(&holes, 0.95), mean_per_packet(&full, 0.95));
        assert_eq!(mean_per_packet(&[full[0], Batch::default()], 0.95), None);
        assert_eq!(mean_per_packet(&[], 0.95), None);
    }

    #[test]
    fn the_interval_covers_the_truth_as_often_as_it_says() {
        // 20 batches of 5 to 14 packets of latency uniform in 0..=100: the truth is 50.
        let mut covered = 0;
        for seed in 0..2000 {
            let mut rng = Rng::new(seed, Stream::Source, 0);
            let batches: Vec<Batch> = (0..20)
                .map(|_| {
                    let count = 5 + u64::from(rng.below(10));
                    Batch { sum: (0..count).map(|_| u64::from(rng.below(101))).sum(), count }
                })
                .collect();
            let interval = mean_per_packet(&batches, 0.9).unwrap();
            covered += u32::from((interval.mean - 50.0).abs() <= interval.half_width);
        }
        // 1800 expected, standard deviation 13.4.
        assert!((1740..=1860).contains(&covered), "{covered}");
    }

    /// Batches of 100 packets whose sums follow an autoregressive process about 1000 with correlation `rho`.
    fn correlated(seed: u64, rho: f64, count: usize) -> Vec<Batch> {
        let mut rng = Rng::new(seed, Stream::Source, 0);
        let mut value = 0.0;
        let mut next = || {
            // Nearly normal, of variance 1.
            let noise: f64 = (0..12).map(|_| f64::from(rng.below(1 << 20)) / f64::from(1 << 20)).sum::<f64>() - 6.0;
            value = rho * value + noise;
            Batch { sum: (1000.0 + 20.0 * value).round() as u64, count: 100 }
        };
        let batches: Vec<Batch> = (0..50 + count).map(|_| next()).collect();
        batches[50..].to_vec()
    }

    #[test]
    fn correlated_batches_are_merged_until_the_interval_covers_the_truth() {
        for (rho, least) in [(0.0, 920), (0.5, 900), (0.9, 860)] {
            let (mut covered, mut plain) = (0, 0);
            for seed in 0..1000 {
                let batches = correlated(seed, rho, 320);
                let estimate = mean_of_correlated(&batches, 0.95).unwrap();
                let off = (estimate.interval.mean - 10.0).abs();
                covered += u32::from(off <= estimate.interval.half_width);
                plain += u32::from(off <= mean_per_packet(&batches, 0.95).unwrap().half_width);
                assert!(estimate.batches >= LEAST_BATCHES);
            }
            assert!(covered >= least && covered <= 975, "{rho}: {covered}");
            assert!(rho < 0.4 || plain < 780, "{rho}: {plain} without the test");
        }
    }

    #[test]
    fn independent_batches_are_left_alone() {
        let batches: Vec<Batch> = [30, 40, 30, 50, 40, 30].map(|sum| Batch { sum, count: 10 }).to_vec();
        let estimate = mean_of_correlated(&batches, 0.95).unwrap();
        assert_eq!((estimate.batches, estimate.independent), (6, true));
        assert_eq!(estimate.interval, mean_per_packet(&batches, 0.95).unwrap());
        // A ramp is correlated, however it is merged; what is left of it widens the interval.
        let ramp: Vec<Batch> = (0..80).map(|i| Batch { sum: 100 + i, count: 10 }).collect();
        let estimate = mean_of_correlated(&ramp, 0.95).unwrap();
        assert_eq!((estimate.batches, estimate.independent), (10, false));
        assert!(estimate.correlation > 0.8);
        assert_eq!(mean_of_correlated(&ramp[..1], 0.95), None);
        let same = [Batch { sum: 7, count: 2 }; 30];
        assert_eq!(mean_of_correlated(&same, 0.95).unwrap().interval, Interval { mean: 3.5, half_width: 0.0 });
    }

    #[test]
    fn relative_half_widths() {
        assert_eq!(Interval { mean: 50.0, half_width: 1.0 }.relative(), 0.02);
        assert_eq!(Interval { mean: 0.0, half_width: 0.0 }.relative(), 0.0);
        assert_eq!(Interval { mean: 0.0, half_width: 1.0 }.relative(), f64::INFINITY);
    }
}
