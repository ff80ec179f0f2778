//! How evenly endpoints are served.

use serde::Serialize;

/// Spread of the loads of all endpoints.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Fairness {
    /// Smallest load, in phits/(endpoint·cycle).
    pub min: f64,
    /// Largest load, in phits/(endpoint·cycle).
    pub max: f64,
    /// Jain's index, (sum x)^2 / (n sum x^2). It is 1 if all loads are equal, including all 0, and 1/n if one endpoint
    /// has the whole load.
    ///
    /// Source: Jain, Chiu and Hawe, "A quantitative measure of fairness and discrimination for resource allocation in
    /// shared computer systems", DEC TR-301, 1984.
    pub jain: f64,
}

impl Fairness {
    /// The fairness of these loads; `None` if there are none.
    pub fn of(loads: impl IntoIterator<Item = f64>) -> Option<Self> {
        let (mut n, mut sum, mut squares) = (0.0, 0.0, 0.0);
        let (mut min, mut max) = (f64::INFINITY, f64::NEG_INFINITY);
        for load in loads {
            n += 1.0;
            sum += load;
            squares += load * load;
            min = load.min(min);
            max = load.max(max);
        }
        let jain = if squares > 0.0 { sum * sum / (n * squares) } else { 1.0 };
        (n > 0.0).then_some(Self { min, max, jain })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jain_by_hand() {
        let of = |loads: &[f64]| Fairness::of(loads.iter().copied());
        assert_eq!(of(&[0.5; 4]), Some(Fairness { min: 0.5, max: 0.5, jain: 1.0 }));
        assert_eq!(of(&[0.0, 0.0, 1.0, 0.0]), Some(Fairness { min: 0.0, max: 1.0, jain: 0.25 }));
        // 6^2 / (3 * 14).
        assert!((of(&[1.0, 2.0, 3.0]).unwrap().jain - 6.0 / 7.0).abs() < 1e-12);
        assert_eq!(of(&[0.0, 0.0]).unwrap().jain, 1.0);
        assert_eq!(of(&[]), None);
    }
}
