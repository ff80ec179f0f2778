//! Confidence intervals from batch means.
//!
//! The measured time is cut into batches of equal length. The batches' values are nearly independent if a batch is long
//! against the time over which the network's state is correlated, so that Student's t distribution gives an interval
//! (Law, *Simulation Modeling and Analysis*, 5th edition, section 9.5.3; Dally and Towles, *Principles and Practices of
//! Interconnection Networks*, section 24.3.2).

use statrs::distribution::{ContinuousCDF, StudentsT};

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

/// The `(1 + confidence) / 2` quantile of Student's t distribution, by which a standard error is multiplied. `None` for
/// no degrees of freedom or a `confidence` outside (0, 1).
pub(super) fn t_quantile(confidence: f64, degrees_of_freedom: usize) -> Option<f64> {
    if !(confidence > 0.0 && confidence < 1.0) {
        return None;
    }
    let t = StudentsT::new(0.0, 1.0, degrees_of_freedom as f64).ok()?;
    Some(t.inverse_cdf(0.5 + confidence / 2.0))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Rng, Stream};

    #[test]
    fn t_quantiles_are_those_of_the_table() {
        let table = [
            (0.95, 1, 12.7062),
            (0.95, 2, 4.3027),
            (0.95, 9, 2.2622),
            (0.95, 19, 2.0930),
            (0.95, 999, 1.9623),
            (0.99, 1, 63.6567),
            (0.99, 10, 3.1693),
            (0.99, 19, 2.8609),
            (0.90, 5, 2.0150),
            (0.999, 19, 3.8834),
        ];
        for (confidence, freedom, expected) in table {
            let t = t_quantile(confidence, freedom).unwrap();
            assert!((t - expected).abs() < 6e-5, "{confidence} {freedom}: {t}");
        }
        assert_eq!(t_quantile(0.95, 0), None);
        assert_eq!(t_quantile(1.0, 5), None);
    }

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

    #[test]
    fn relative_half_widths() {
        assert_eq!(Interval { mean: 50.0, half_width: 1.0 }.relative(), 0.02);
        assert_eq!(Interval { mean: 0.0, half_width: 0.0 }.relative(), 0.0);
        assert_eq!(Interval { mean: 0.0, half_width: 1.0 }.relative(), f64::INFINITY);
    }
}
