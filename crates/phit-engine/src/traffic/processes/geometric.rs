//! The waiting time for a success in independent trials.
//!
//! Logarithms come from the `libm` crate, whose bits are equal on every machine. The bits of C libraries differ between
//! libraries and processors.
//!
//! Most numbers are drawn without a logarithm. A guide table gives the random words at which the number grows by one
//! (Devroye, *Non-Uniform Random Variate Generation*, 1986, section III.2.4). Where the table cannot decide, the number
//! is computed. So the results are equal with and without the table.

use crate::engine::Rng;
use std::sync::Arc;

/// Number of failures before the first success in independent trials of one probability.
#[derive(Debug, Clone, PartialEq)]
pub struct Geometric {
    /// 1 / ln(1 - p): minus infinity if p is 0, and 0 if p is 1.
    scale: f64,
    /// Guide table, indexed by the first bits of the random word, where it is worth its memory.
    guide: Option<Arc<Guide>>,
}

/// The numbers of failures for random words with equal first eight bits.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Words {
    /// First 32 bits of a word from which on there is one more failure. For words with these very bits, only the
    /// logarithm can tell. All ones if there is no such word.
    more_from: u32,
    /// Failures of the words before `more_from`; [`COMPUTED`] if they must be computed.
    failures: u32,
}

type Guide = [Words; 256];

/// In [`Words::failures`]: several numbers are possible, or rounding decides between them.
const COMPUTED: u32 = u32::MAX;

impl Geometric {
    /// Independent trials, each a success with probability `p`, 0 to 1.
    pub(crate) fn new(p: f64) -> Self {
        let scale = libm::log1p(-p.clamp(0.0, 1.0)).recip();
        // With a smaller probability, hardly any cell has only one step.
        let worthwhile = (1.0 / 128.0..1.0).contains(&p);
        Self { scale, guide: worthwhile.then(|| Arc::new(guide(scale))) }
    }

    /// Draws a number of failures; `u64::MAX` if there is never a success. It uses one random word and inverts the
    /// distribution function: P(failures >= k) = (1 - p)^k.
    #[inline]
    pub(crate) fn draw(&self, rng: &mut Rng) -> u64 {
        let bits = rng.bits();
        if let Some(guide) = &self.guide {
            let first = (bits >> 32) as u32;
            let Words { more_from, failures } = guide[(first >> 24) as usize];
            if failures != COMPUTED && first != more_from {
                return u64::from(failures) + u64::from(first > more_from);
            }
        }
        self.invert(bits)
    }

    /// The number of failures for a random word.
    #[inline(never)]
    fn invert(&self, bits: u64) -> u64 {
        // In (0, 1]: its logarithm is finite.
        let u = 1.0 - Rng::unit_of(bits);
        let failures = libm::log(u) * self.scale;
        // `0 * infinity`, for u = 1 and p = 0, is not a number. Conversions of numbers beyond 64 bits saturate.
        if failures.is_nan() { u64::MAX } else { failures as u64 }
    }
}

/// The guide for a `scale` that is neither zero nor infinite.
///
/// There are at least k failures if the random word's unit u = word / 2^64 is at least 1 - exp(k / scale). The table
/// knows this step to a small part of 2^-32, that is, among words with equal first 32 bits. The logarithm, its product
/// with the scale and the scale itself have relative errors of 2^-52, which moves the step by less than 2^-46. If a
/// step is within 2^-42 of the next word with other first bits, the logarithm decides for it and the cells around it.
/// The logarithm also decides in the last cell, which has no last step.
fn guide(scale: f64) -> Guide {
    const MARGIN: f64 = 1.0 / 1024.0;
    let mut cells = [Words { more_from: u32::MAX, failures: 0 }; 256];
    for failures in 1..COMPUTED {
        let step = -libm::expm1(f64::from(failures) / scale) * (1u64 << 32) as f64;
        let at = step as u32;
        let cell = (at >> 24) as usize;
        let clear = (MARGIN..1.0 - MARGIN).contains(&(step - f64::from(at)));
        let several = cells[cell].more_from != u32::MAX || cell == cells.len() - 1;
        cells[cell].more_from = at;
        cells[cell + 1..].iter_mut().filter(|cell| cell.failures != COMPUTED).for_each(|cell| cell.failures = failures);
        if several || !clear {
            let cells = &mut cells[(at.saturating_sub(1) >> 24) as usize..=(at.saturating_add(1) >> 24) as usize];
            cells.iter_mut().for_each(|cell| cell.failures = COMPUTED);
        }
        if cell == 255 {
            break;
        }
    }
    cells
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Stream;

    /// The guide agrees with the logarithm around every step, and in between.
    #[test]
    fn the_guide_tells_what_the_logarithm_does() {
        for p in [1.0 / 128.0, 0.0125, 0.0375, 0.1, 0.3, 0.5, 0.875, 0.999] {
            let geometric = Geometric::new(p);
            let guide = geometric.guide.as_ref().expect("worth its memory");
            let mut told = 0u64;
            for (cell, words) in (0u64..).zip(guide.iter()) {
                let near = (0..64).map(|offset| (u64::from(words.more_from) << 32).wrapping_add(offset << 27));
                let near =
                    near.chain([1, 2, 3].map(|back| (u64::from(words.more_from) << 32).wrapping_sub(back << 11)));
                let ends =
                    (0..256).flat_map(|part| [cell << 56 | part << 48, cell << 56 | part << 48 | ((1 << 48) - 1)]);
                for bits in near.chain(ends).filter(|bits| bits >> 56 == cell) {
                    let first = (bits >> 32) as u32;
                    if words.failures != COMPUTED && first != words.more_from {
                        let failures = u64::from(words.failures) + u64::from(first > words.more_from);
                        assert_eq!(failures, geometric.invert(bits), "{p}, {bits:x}");
                        told += 1;
                    }
                }
            }
            assert!(told > 100, "{p}: {told}");
        }
    }

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
