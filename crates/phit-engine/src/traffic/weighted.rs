//! Choice among a few items in proportion to weights.

use crate::engine::Rng;

/// A discrete distribution over `0..len`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Weighted {
    shares: Vec<f64>,
    cumulative: Vec<f64>,
}

impl Weighted {
    /// A distribution with these weights, relative to their sum; or the reason why they cannot be weights.
    pub(super) fn new(weights: &[f64]) -> Result<Self, String> {
        if let Some(bad) = weights.iter().find(|w| !(w.is_finite() && **w >= 0.0)) {
            return Err(format!("expected weights of zero or more, found {bad}"));
        }
        let sum: f64 = weights.iter().sum();
        if !(sum.is_finite() && sum > 0.0) {
            return Err(format!("expected weights with a positive sum, found {sum}"));
        }
        let shares: Vec<f64> = weights.iter().map(|w| w / sum).collect();
        let mut total = 0.0;
        let mut cumulative: Vec<f64> = shares
            .iter()
            .map(|share| {
                total += share;
                total
            })
            .collect();
        // Rounding must not leave a remainder beyond the last item that can be drawn.
        let last = shares.iter().rposition(|&s| s > 0.0).unwrap_or(0);
        cumulative[last..].fill(1.0);
        Ok(Self { shares, cumulative })
    }

    /// Number of items.
    pub(super) fn len(&self) -> usize {
        self.shares.len()
    }

    /// Probability of item `i`.
    pub(super) fn share(&self, i: usize) -> f64 {
        self.shares[i]
    }

    /// Draws an item.
    #[inline]
    pub(super) fn pick(&self, rng: &mut Rng) -> usize {
        let u = rng.unit();
        self.cumulative.iter().position(|&c| u < c).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Stream;

    #[test]
    fn items_of_weight_zero_are_never_drawn() {
        let weighted = Weighted::new(&[0.0, 0.1, 0.0, 0.3, 0.0]).unwrap();
        let mut rng = Rng::new(1, Stream::Source, 0);
        let mut counts = [0; 5];
        for _ in 0..40_000 {
            counts[weighted.pick(&mut rng)] += 1;
        }
        assert_eq!((counts[0], counts[2], counts[4]), (0, 0, 0));
        // The standard deviation is 87.
        assert!((counts[1] - 10_000i32).abs() < 350, "{counts:?}");
    }

    #[test]
    fn bad_weights_are_refused() {
        for bad in [&[][..], &[0.0], &[-1.0, 2.0], &[f64::NAN], &[f64::INFINITY]] {
            assert!(Weighted::new(bad).is_err());
        }
    }
}
