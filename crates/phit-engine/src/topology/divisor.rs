//! Division by a number known when the network is built, on the path of every hop.

/// A divisor that divides by multiplying: exact for every 32-bit dividend, and several times faster than a division.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Divisor {
    by: u32,
    /// m = (2^64 - 1 - r) / by with r < by. The quotient q of n = q by + s is the upper half of (n + 1) m (Robison,
    /// "N-bit unsigned division via N-bit multiply-add", 2005).
    ///
    /// Proof: n + 1 is at most (q + 1) by, so (n + 1) m is less than (q + 1) 2^64. It equals q 2^64 - q (r + 1) + (s +
    /// 1) m, where q (r + 1) is at most n and m is more than 2^32, so it is at least q 2^64.
    reciprocal: u64,
}

impl Divisor {
    /// A divisor from 1 to 2^31 - 1.
    pub(super) fn new(by: u32) -> Self {
        debug_assert!(by > 0 && by < 1 << 31);
        Self { by, reciprocal: u64::MAX / u64::from(by.max(1)) }
    }

    /// The divisor itself.
    #[inline]
    pub(super) fn get(self) -> u32 {
        self.by
    }

    /// `n / self`.
    #[inline]
    pub(super) fn quotient(self, n: u32) -> u32 {
        ((u128::from(u64::from(n) + 1) * u128::from(self.reciprocal)) >> 64) as u32
    }

    /// (`n / self`, `n % self`).
    #[inline]
    pub(super) fn div_rem(self, n: u32) -> (u32, u32) {
        let quotient = self.quotient(n);
        (quotient, n - quotient * self.by)
    }
}

#[cfg(test)]
mod tests {
    use super::Divisor;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn divides_exactly(n: u32, by in 1u32..1 << 31, small in 1u32..200) {
            for by in [by, small] {
                prop_assert_eq!(Divisor::new(by).div_rem(n), (n / by, n % by));
            }
        }
    }

    #[test]
    fn divides_exactly_at_the_extremes() {
        for by in [1, 2, 3, 7, (1 << 31) - 1] {
            for n in [
                0,
                1,
                by - 1,
                by,
                by + 1,
                u32::MAX - 1,
                u32::MAX,
                u32::MAX / by * by,
                (u32::MAX / by * by).wrapping_sub(1),
            ] {
                assert_eq!(Divisor::new(by).div_rem(n), (n / by, n % by), "{n} / {by}");
            }
        }
    }
}
