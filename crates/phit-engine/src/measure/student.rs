//! Quantiles of Student's t distribution.
//!
//! Sums of powers of a cosine, exact for whole degrees of freedom (Abramowitz and Stegun, *Handbook of Mathematical
//! Functions*, 26.7.3 and 26.7.4). The only other functions are a square root, which every processor rounds correctly,
//! and the arc tangent of the `libm` crate. So the bits are equal on every machine. Libraries of statistics use
//! logarithms and exponentials of the C library, whose bits differ.

use std::f64::consts::FRAC_2_PI;

/// The probability that a variable with `freedom` degrees of freedom lies within `-t..=t`, and its derivative by `t`.
fn within(t: f64, freedom: usize) -> (f64, f64) {
    let nu = freedom as f64;
    let hypotenuse = (nu + t * t).sqrt();
    let (sine, cosine) = (t / hypotenuse, nu.sqrt() / hypotenuse);
    let square = nu / (nu + t * t);
    let angle = square / nu.sqrt();
    let odd = freedom % 2 == 1;
    // Each term is the term before, times (2k - 1) / 2k or 2k / (2k + 1), times the square. The first has k = 0.
    let (mut term, mut sum) = (1.0, 0.0);
    for k in 0..freedom / 2 {
        if k > 0 {
            let twice = 2.0 * k as f64;
            term *= square * if odd { twice / (twice + 1.0) } else { (twice - 1.0) / twice };
        }
        sum += term;
    }
    match (freedom, odd) {
        (1, _) => (FRAC_2_PI * libm::atan(t), FRAC_2_PI * angle),
        (_, false) => (sine * sum, (nu - 1.0) * term * cosine * angle),
        (_, true) => {
            let probability = FRAC_2_PI * (libm::atan(t / nu.sqrt()) + sine * cosine * sum);
            (probability, FRAC_2_PI * (nu - 1.0) * term * square * angle)
        }
    }
}

/// The `(1 + confidence) / 2` quantile of Student's t distribution: the factor from a standard error to a half-width.
/// `None` for 0 degrees of freedom or a `confidence` outside (0, 1).
pub(super) fn t_quantile(confidence: f64, degrees_of_freedom: usize) -> Option<f64> {
    if !(confidence > 0.0 && confidence < 1.0) || degrees_of_freedom == 0 {
        return None;
    }
    // The probability is concave, so Newton's method rises from 0 to the quantile until rounding ends it.
    let mut t = 0.0;
    loop {
        let (probability, slope) = within(t, degrees_of_freedom);
        let next = t + (confidence - probability) / slope;
        if !(next > t && next.is_finite()) {
            return Some(t);
        }
        t = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!(t_quantile(0.0, 5), None);
    }

    #[test]
    fn few_degrees_of_freedom_have_closed_forms() {
        for confidence in [0.01, 0.5, 0.9, 0.95, 0.99, 0.999, 0.999_999_9] {
            let rest = (1.0 - confidence) * (1.0 + confidence);
            let expected = [
                (1, libm::tan(confidence / FRAC_2_PI)),
                (2, confidence * (2.0 / rest).sqrt()),
                (4, 2.0 * (libm::cos(libm::acos(rest.sqrt()) / 3.0) / rest.sqrt() - 1.0).sqrt()),
            ];
            // A number near 1 has lost digits of its distance from 1. The cosine for a small confidence is such a
            // number, too.
            let bound = 1e-13 + 8.0 * f64::EPSILON / rest + 1e-15 / (confidence * confidence);
            for (freedom, expected) in expected {
                let t = t_quantile(confidence, freedom).unwrap();
                assert!((t / expected - 1.0).abs() < bound, "{confidence}, {freedom}: {t}, not {expected}");
            }
        }
    }

    #[test]
    fn bits_are_the_same_everywhere() {
        // Values from one processor; the closed forms above confirm them.
        for (confidence, freedom, expected) in
            [(0.95, 19, 2.093_024_054_408_311), (0.9, 9, 1.833_112_932_656_237_6), (0.99, 999, 2.580_759_637_267_719)]
        {
            assert_eq!(t_quantile(confidence, freedom), Some(expected), "{confidence}, {freedom}");
        }
    }

    #[test]
    fn every_confidence_has_a_quantile() {
        for confidence in [f64::MIN_POSITIVE, 1e-9, 1.0 - f64::EPSILON / 2.0] {
            for freedom in [1, 2, 3, 19, 1000, 100_001] {
                let t = t_quantile(confidence, freedom).unwrap();
                assert!(t > 0.0 && t.is_finite(), "{confidence}, {freedom}: {t}");
            }
        }
    }
}
