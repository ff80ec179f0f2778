//! Exact fractions.

use std::fmt;

/// A nonnegative fraction in lowest terms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fraction {
    pub(super) over: u128,
    pub(super) under: u128,
}

pub(super) fn gcd(a: u128, b: u128) -> u128 {
    if b == 0 { a } else { gcd(b, a % b) }
}

impl Fraction {
    pub(super) const ONE: Self = Self { over: 1, under: 1 };

    /// The fraction `over / under`; `None` if it does not fit.
    pub(super) fn new(over: u128, under: u128) -> Option<Self> {
        let common = gcd(over, under);
        (under != 0).then(|| Self { over: over / common, under: under / common })
    }

    pub(super) fn times(self, other: Self) -> Option<Self> {
        // Reduced crosswise first, so that the products stay small.
        let (a, b) = (Self::new(self.over, other.under)?, Self::new(other.over, self.under)?);
        Self::new(a.over.checked_mul(b.over)?, a.under.checked_mul(b.under)?)
    }

    pub(super) fn inverse(self) -> Option<Self> {
        Self::new(self.under, self.over)
    }

    pub(super) fn per(self, other: Self) -> Option<Self> {
        self.times(other.inverse()?)
    }

    /// The largest fraction of which both are whole multiples.
    pub(super) fn common(self, other: Self) -> Option<Self> {
        let (a, b) = (self.over.checked_mul(other.under)?, other.over.checked_mul(self.under)?);
        Self::new(gcd(a, b), self.under.checked_mul(other.under)?)
    }

    /// The number, if it is a whole one.
    pub(super) fn whole(self) -> Option<u128> {
        (self.under == 1).then_some(self.over)
    }

    pub(super) fn to_f64(self) -> f64 {
        self.over as f64 / self.under as f64
    }
}

impl fmt::Display for Fraction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.under {
            1 => write!(f, "{}", self.over),
            under => write!(f, "{}/{under}", self.over),
        }
    }
}
