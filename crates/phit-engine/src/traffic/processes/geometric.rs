//! The waiting time for a success in independent trials.
//!
//! Logarithms are those of the `libm` crate, whose bits are the same everywhere: those of C libraries differ from
//! one to
//! another, and from processor to processor.

use crate::engine::Rng;

/// Number of failures before the first success in independent trials of one probability.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Geometric {
    /// 1 / ln(1 - p): minus infinity if p is 0, zero if p is 1.
    scale: f64,
}

impl Geometric {
    /// Trials that succeed with probability `p`, 0 to 1.
    pub(crate) fn new(p: f64) -> Self {
        Self { scale: libm::log1p(-p.clamp(0.0, 1.0)).recip() }
    }

    /// Draws a number of failures; `u64::MAX` if there is never a success. One random word, by inversion of the
    /// distribution function: P(failures >= k) = (1 - p)^k.
    #[inline]
    pub(crate) fn draw(self, rng: &mut Rng) -> u64 {
        // In (0, 1]: its logarithm is finite.
        let u = 1.0 - rng.unit();
        let failures = libm::log(u) * self.scale;
        // Zero times infinity, for u = 1 and p = 0. The conversion of anything larger than 64 bits saturates.
        if failures.is_nan() { u64::MAX } else { failures as u64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Stream;

    #[test]
    fn the_distribution_is_geometric() {
        for p in [0.9, 0.5, 0.1, 0.003] {
            let geometric = Geometric::new(p);
            let mut rng = Rng::new(1, Stream::Source, 0);
            let n = 200_000;
            let thresholds = [0, 1, 2, 24, 32, 40];
            let mut at_least = [0u32; 6];
            for _ in 0..n {
                let drawn = geometric.draw(&mut rng);
                for (threshold, count) in thresholds.iter().zip(&mut at_least) {
                    *count += u32::from(drawn >= *threshold);
                }
            }
            for (threshold, count) in thresholds.into_iter().zip(at_least) {
                let expected = (1.0 - p).powi(threshold as i32);
                let sigma = (expected * (1.0 - expected) / f64::from(n)).sqrt();
                let measured = f64::from(count) / f64::from(n);
                assert!((measured - expected).abs() <= 4.0 * sigma + 1e-12, "{p} {threshold}: {measured} {expected}");
            }
        }
    }

    #[test]
    fn certain_and_impossible_successes() {
        let mut rng = Rng::new(1, Stream::Source, 0);
        for _ in 0..1000 {
            assert_eq!(Geometric::new(1.0).draw(&mut rng), 0);
            assert_eq!(Geometric::new(0.0).draw(&mut rng), u64::MAX);
            assert!(Geometric::new(1e-300).draw(&mut rng) > 1 << 40);
        }
    }
}
