//! The waiting time for a success in independent trials.
//!
//! Logarithms are those of the `libm` crate, whose bits are the same everywhere: those of C libraries differ from
//! one to
//! another, and from processor to processor.
//!
//! Most numbers are drawn without one: a table says between which random words the number grows by one (a guide
//! table; Devroye, *Non-Uniform Random Variate Generation*, 1986, section III.2.4). What it cannot tell is computed, so
//! that the numbers are the same with the table and without it.

use crate::engine::Rng;
use std::sync::Arc;

/// Number of failures before the first success in independent trials of one probability.
#[derive(Debug, Clone, PartialEq)]
pub struct Geometric {
    /// 1 / ln(1 - p): minus infinity if p is 0, zero if p is 1.
    scale: f64,
    /// The numbers by the first bits of the random word, where that is worth its memory.
    guide: Option<Arc<Guide>>,
}

/// The numbers of failures of the random words that begin with the same eight bits.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Words {
    /// First 32 bits of a word from which on there is a failure more: of that word only a logarithm can tell. All ones
    /// if there is none.
    more_from: u32,
    /// Failures of the words before it; [`COMPUTED`] if this must be computed.
    failures: u32,
}

type Guide = [Words; 256];

/// In [`Words::failures`]: several numbers are possible, or they change where rounding counts.
const COMPUTED: u32 = u32::MAX;

impl Geometric {
    /// Trials that succeed with probability `p`, 0 to 1.
    pub(crate) fn new(p: f64) -> Self {
        let scale = libm::log1p(-p.clamp(0.0, 1.0)).recip();
        // With a smaller probability there is hardly a cell with a single step.
        let worthwhile = (1.0 / 128.0..1.0).contains(&p);
        Self { scale, guide: worthwhile.then(|| Arc::new(guide(scale))) }
    }

    /// Draws a number of failures; `u64::MAX` if there is never a success. One random word, by inversion of the
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
        // Zero times infinity, for u = 1 and p = 0. The conversion of anything larger than 64 bits saturates.
        if failures.is_nan() { u64::MAX } else { failures as u64 }
    }
}

/// The guide for a `scale` that is neither zero nor infinite.
///
/// There are k failures or more if the unit u of the random word, u = word / 2^64, is 1 - exp(k / scale) or more. Where
/// this step lies is known to a small part of 2^-32, that is, of the words that begin with the same 32 bits. The
/// logarithm, its product with the scale and the scale itself are right to 2^-52 of their values each, which moves the
/// step by less than 2^-46. A step that is nearer than 2^-42 to the words that begin otherwise is left to the
/// logarithm, with the cells around it, and so is the last cell, in which there is no last step.
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

    /// Around every step, and in between, what the guide says is what the logarithm says.
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
