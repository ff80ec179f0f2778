//! Some of many, spread evenly: what is measured to tell what all take.

/// The golden ratio's fraction: its multiples, modulo 1, are spread evenly however many there are, and keep no step
/// with networks of round numbers.
pub const GOLDEN: f64 = 0.618_033_988_749_895;

/// `count` of the numbers below `of`, spread evenly, in ascending order; all of them if there are no more.
#[must_use]
pub fn spread(count: u32, of: u32) -> Vec<u32> {
    if count >= of {
        return (0..of).collect();
    }
    let mut some: Vec<u32> = (0..count).map(|i| ((f64::from(i) * GOLDEN).fract() * f64::from(of)) as u32).collect();
    some.sort_unstable();
    some.dedup();
    some
}
