//! A sample of many objects, spread evenly, from which all are estimated.

/// The fractional part of the golden ratio. Its multiples, modulo 1, are spread evenly for any number of them, and do
/// not fall into step with networks of round sizes.
pub const GOLDEN: f64 = 0.618_033_988_749_895;

/// `count` of the numbers below `of`, spread evenly, in ascending order. All of them if there are no more.
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
