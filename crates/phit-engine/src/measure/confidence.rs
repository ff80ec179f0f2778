//! Confidence intervals of a single run, from its batches: one rule for every mean.
//!
//! The measured time is cut into several hundred short batches. Neighbouring batches are correlated while the network
//! remembers its earlier contents. So batches are merged in pairs until a test finds no correlation (von Neumann's
//! ratio; Fishman, *Principles of Discrete Event Simulation*, 1978, section 5.7). Batches four times as long give the
//! variance of the mean, with Student's t distribution. The method resembles Skart (Tafazzoli, Wilson, Lada and
//! Steiger, "Performance of Skart", *INFORMS Journal on Computing* 23(2), 2011).
//!
//! A run that is short compared with the network's memory cannot tell how far its mean is off, and gets no interval.
//! `docs/measuring.md` gives the share of runs with an interval, and the share of intervals that cover the true mean.

use super::student::t_quantile;

/// A mean and the half-width of its confidence interval, in the unit of the values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// Point estimate.
    pub mean: f64,
    /// Half-width: the interval is `mean - half_width ..= mean + half_width`.
    pub half_width: f64,
}

impl Interval {
    /// Half-width relative to the mean; 0 if both are 0, infinite if only the mean is.
    pub fn relative(&self) -> f64 {
        if self.half_width == 0.0 { 0.0 } else { self.half_width / self.mean.abs() }
    }
}

/// One batch of a quantity that is a sum over packets, or over time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Batch {
    /// Sum over the packets of the batch, for example of their latencies in cycles.
    pub sum: u64,
    /// Number of packets.
    pub count: u64,
}

/// Number of batches of a run, or up to twice this number.
pub(crate) const BATCHES: u32 = 400;

/// Fewest uncorrelated batches of a run that can be called steady or not.
const STEADY: usize = 12;

/// Number of times that uncorrelated batches are merged in pairs before their variance is used. A correlation too weak
/// for the test is weaker still in longer batches.
const MARGIN: usize = 2;

/// Fewest batches from which a variance is taken.
const LEAST: usize = 6;

/// Fewest batches of a run that can have an interval.
pub(crate) const LEAST_BATCHES: u32 = (LEAST as u32) << MARGIN;

/// Number of batches in which a trend is sought, or up to twice this number.
const OF_TREND: usize = 20;

/// The 0.9 quantile of the normal distribution: the test that ends merging.
const SIGNIFICANT: f64 = 1.281_551_565_544_6;

/// The 0.99 quantile of the normal distribution: the stricter test of all longer batches, of which there are several.
const CERTAIN: f64 = 2.326_347_874_040_8;

/// Largest correlation that is assumed: with few batches, a larger one looks like 1.
const LARGEST: f64 = 0.9;

/// Longer batches count, too, if their variance exceeds the shorter batches' by this multiple of its random error.
const LARGER: f64 = 0.84;

/// Relative change over the run below which a trend is ignored, even if it is significant.
const SMALL_CHANGE: f64 = 0.02;

/// Relative change over the run from which a significant trend means that the run is not steady.
const LARGE_CHANGE: f64 = 0.1;

/// The estimate of a mean from the batches of a run.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Estimate {
    /// The mean and the half-width of its interval, or the reason why there is no interval.
    pub interval: Result<Interval, Missing>,
    /// Number of batches that the variance is taken from; 0 without an interval.
    pub batches: usize,
    /// Correlation of neighbours among these batches.
    pub correlation: f64,
    /// Whether the batches show a steady state.
    pub steady: Steady,
}

impl Estimate {
    /// This estimate in a unit that is `factor` times as large.
    pub(super) fn scaled(self, factor: f64) -> Self {
        let scaled = |i: Interval| Interval { mean: i.mean * factor, half_width: i.half_width * factor };
        Self { interval: self.interval.map(scaled), ..self }
    }
}

/// Why a mean has no interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Missing {
    /// There are no values.
    Nothing,
    /// Too few batches have packets.
    Few,
    /// There are too few uncorrelated batches.
    Short,
    /// The batches have a trend.
    Trend,
    /// In every cycle, the offered load exceeds the accepted load.
    Saturated,
    /// The backlog at the sources has grown by more than the width of the interval.
    Backlog,
    /// What is measured is a program: it has an end and no steady state.
    Program,
    /// The traffic or the network changes in the measured time: this is the change.
    Changing(&'static str),
}

impl Missing {
    /// The reason in words, to follow "no interval: ".
    pub(crate) fn words(self) -> String {
        match self {
            Self::Nothing => "nothing was delivered".into(),
            Self::Few => format!("fewer than {LEAST_BATCHES} parts of the measured time have packets"),
            Self::Short => "the run is too short for the time in which this network forgets: its parts are correlated \
                            with their neighbours"
                .into(),
            Self::Trend => "the mean rises or falls throughout the measured time".into(),
            Self::Saturated => "saturated: the backlog at the sources grows without end".into(),
            Self::Backlog => "the backlog at the sources grows".into(),
            Self::Program => "a program has no steady state".into(),
            Self::Changing(how) => format!("{how} in the measured time"),
        }
    }
}

/// Whether a run shows a steady state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Steady {
    /// Long parts of the run are independent of one another, and there is no trend.
    Yes,
    /// There is a trend.
    No(Missing),
    /// The run is too short to tell.
    Unknown(Missing),
}

impl Steady {
    /// The value of the summary's `steady`.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Yes => "yes",
            Self::No(_) => "no",
            Self::Unknown(_) => "unknown",
        }
    }

    /// The reason, if the run is not known to be steady.
    pub(crate) fn why(self) -> Option<Missing> {
        match self {
            Self::Yes => None,
            Self::No(why) | Self::Unknown(why) => Some(why),
        }
    }
}

/// Batches of one length.
struct Level {
    /// For each batch, its sum less the sum expected from its count.
    off: Vec<f64>,
    /// Mean count of a batch.
    count: f64,
    /// Sum of the squares of `off`.
    squares: f64,
    /// Correlation of neighbours: 1 minus half of von Neumann's ratio.
    correlation: f64,
}

impl Level {
    fn new(batches: &[Batch], mean: f64) -> Self {
        let off: Vec<f64> = batches.iter().map(|b| b.sum as f64 - mean * b.count as f64).collect();
        let squares: f64 = off.iter().map(|x| x * x).sum();
        let steps: f64 = off.windows(2).map(|pair| (pair[1] - pair[0]).powi(2)).sum();
        let correlation = if squares > 0.0 { 1.0 - steps / (2.0 * squares) } else { 0.0 };
        let count = batches.iter().map(|b| b.count).sum::<u64>() as f64 / batches.len() as f64;
        Self { off, count, squares, correlation }
    }

    fn batches(&self) -> usize {
        self.off.len()
    }

    /// True if this correlation is significant: independent batches exceed it only beyond this quantile of the normal
    /// distribution.
    fn correlated(&self, quantile: f64) -> bool {
        let n = self.batches() as f64;
        self.correlation > quantile * ((n - 2.0) / (n * n - 1.0)).sqrt()
    }

    /// The variance of the mean if the batches are independent. The mean is a ratio, so its variance is sum of (sum -
    /// mean * count)^2 / (n (n - 1)), divided by the squared mean count (Cochran, *Sampling Techniques*, 3rd edition,
    /// chapter 6).
    fn variance(&self) -> f64 {
        let n = self.batches() as f64;
        self.squares / (n * (n - 1.0)) / (self.count * self.count)
    }

    /// True if the variance exceeds the shorter batches' variance by more than chance. An estimate from n batches has a
    /// relative error of about sqrt(2 / (n - 1)).
    fn is_more_than(&self, shorter: &Self) -> bool {
        let chance = |level: &Self| 2.0 / (level.batches() as f64 - 1.0);
        self.variance() > shorter.variance() * (1.0 + LARGER * (chance(self) + chance(shorter)).sqrt())
    }

    /// Half the width of the interval.
    ///
    /// The correlation has an error of about 1 / sqrt(n). This error, or 1.5 times this error with few batches, is
    /// added to the measured correlation. The interval is then widened as for an autoregressive process with that
    /// correlation.
    fn half_width(&self, confidence: f64) -> Option<f64> {
        let t = t_quantile(confidence, self.batches().checked_sub(1)?)?;
        let unsure = if self.batches() < STEADY { 1.5 } else { 1.0 };
        let left = (self.correlation + unsure / (self.batches() as f64).sqrt()).clamp(0.0, LARGEST);
        Some(t * ((1.0 + left) / (1.0 - left) * self.variance()).sqrt())
    }

    /// The relative change along the fitted line, from the first batch to the last, and a test of its significance at a
    /// level. The test allows for the correlation of the residuals.
    fn trend(&self, mean: f64) -> (f64, impl Fn(f64) -> bool) {
        let n = self.batches() as f64;
        let place = |i: usize| i as f64 - (n - 1.0) / 2.0;
        let of_places = n * (n * n - 1.0) / 12.0;
        let slope = self.off.iter().enumerate().map(|(i, x)| place(i) * x).sum::<f64>() / of_places;
        let rest: Vec<f64> = self.off.iter().enumerate().map(|(i, x)| x - slope * place(i)).collect();
        let squares: f64 = rest.iter().map(|x| x * x).sum();
        let steps: f64 = rest.windows(2).map(|pair| (pair[1] - pair[0]).powi(2)).sum();
        let left = if squares > 0.0 { (1.0 - steps / (2.0 * squares)).clamp(0.0, LARGEST) } else { 0.0 };
        let error = (squares / (n - 2.0) / of_places * (1.0 + left) / (1.0 - left)).sqrt();
        let freedom = self.batches().saturating_sub(2);
        let significant =
            move |level: f64| t_quantile(level, freedom).is_some_and(|t| slope.abs() > t * error && slope != 0.0);
        (slope * (n - 1.0) / self.count / mean, significant)
    }
}

/// Neighbours merged in pairs. If their number is odd, the first is left out: it is nearest to the warm-up.
fn merged(batches: &[Batch]) -> Vec<Batch> {
    let pairs = batches[batches.len() % 2..].chunks_exact(2);
    pairs.map(|p| Batch { sum: p[0].sum + p[1].sum, count: p[0].count + p[1].count }).collect()
}

/// The mean per packet, estimated from batches in order of time: the ratio of all sums to all counts. Batches without
/// packets are ignored.
pub(super) fn estimate(batches: &[Batch], confidence: f64) -> Estimate {
    let none = |steady: Steady, why: Missing| Estimate { interval: Err(why), batches: 0, correlation: 0.0, steady };
    let mut batches: Vec<Batch> = batches.iter().filter(|batch| batch.count > 0).copied().collect();
    let sums: u128 = batches.iter().map(|b| u128::from(b.sum)).sum();
    let counts: u128 = batches.iter().map(|b| u128::from(b.count)).sum();
    if sums == 0 {
        return none(Steady::Unknown(Missing::Nothing), Missing::Nothing);
    }
    if batches.len() < STEADY {
        return none(Steady::Unknown(Missing::Few), Missing::Few);
    }
    let mean = sums as f64 / counts as f64;
    while batches.len() >= 2 * BATCHES as usize {
        batches = merged(&batches);
    }
    let mut levels = Vec::new();
    while batches.len() >= LEAST {
        levels.push(Level::new(&batches, mean));
        batches = merged(&batches);
    }

    let of_trend = levels.iter().find(|level| level.batches() < 2 * OF_TREND);
    let (change, significant) = match of_trend {
        Some(level) => level.trend(mean),
        None => return none(Steady::Unknown(Missing::Few), Missing::Few),
    };
    if change.abs() > LARGE_CHANGE && significant(0.99) {
        return none(Steady::No(Missing::Trend), Missing::Trend);
    }
    // The shortest uncorrelated batches: neither they nor longer ones show a correlation. A true correlation also shows
    // in batches of twice or half the length; a random one seldom does.
    let shown = |i: usize| levels.get(i).is_some_and(|level| level.correlated(SIGNIFICANT));
    let sure = |i: &usize| levels[*i].correlated(CERTAIN) && (shown(i + 1) || i.checked_sub(1).is_some_and(shown));
    let surely = (0..levels.len()).rev().find(sure).map_or(0, |last| last + 1);
    let first = surely + levels[surely..].iter().take_while(|level| level.correlated(SIGNIFICANT)).count();
    let enough = |level: &Level| level.batches() >= STEADY;
    if !levels.get(first).is_some_and(enough) {
        let why = if levels[0].batches() < LEAST_BATCHES as usize { Missing::Few } else { Missing::Short };
        return none(Steady::Unknown(why), why);
    }
    if change.abs() > SMALL_CHANGE && significant(0.95) {
        return none(Steady::Unknown(Missing::Trend), Missing::Trend);
    }
    let Some(shortest) = levels.get(first + MARGIN) else {
        let why = if levels[0].batches() < LEAST_BATCHES as usize { Missing::Few } else { Missing::Short };
        return none(Steady::Yes, why);
    };
    // A larger variance of longer batches reveals a slow process.
    let longer = levels[first + MARGIN..].iter().filter(|level| level.is_more_than(shortest));
    let widths = std::iter::once(shortest).chain(longer).filter_map(|l| Some((l, l.half_width(confidence)?)));
    let Some((level, half_width)) = widths.reduce(|widest, one| if one.1 > widest.1 { one } else { widest }) else {
        return none(Steady::Yes, Missing::Few);
    };
    Estimate {
        interval: Ok(Interval { mean, half_width }),
        batches: level.batches(),
        correlation: level.correlation,
        steady: Steady::Yes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Rng, Stream};

    /// Nearly normal, of variance 1.
    fn noise(rng: &mut Rng) -> f64 {
        (0..12).map(|_| f64::from(rng.below(1 << 20)) / f64::from(1 << 20)).sum::<f64>() - 6.0
    }

    /// Batches of 100 packets with a mean of 1000. Their sums are an autoregressive process with correlation `rho`,
    /// plus independent noise of equal variance.
    fn correlated(seed: u64, rho: f64, count: usize) -> Vec<Batch> {
        let mut rng = Rng::new(seed, Stream::Source, 0);
        let mut value = 0.0;
        let mut next = || {
            value = rho * value + (1.0 - rho * rho).sqrt() * noise(&mut rng);
            Batch { sum: (1000.0 + 20.0 * (value + noise(&mut rng))).round() as u64, count: 100 }
        };
        let batches: Vec<Batch> = (0..1000 + count).map(|_| next()).collect();
        batches[1000..].to_vec()
    }

    /// The number of runs in 1000 that have an interval, and the number whose interval covers the truth.
    fn coverage(of: impl Fn(u64) -> Vec<Batch>, truth: f64) -> (u32, u32) {
        let (mut given, mut covered) = (0, 0);
        for seed in 0..1000 {
            if let Ok(interval) = estimate(&of(seed), 0.95).interval {
                given += 1;
                covered += u32::from((interval.mean - truth).abs() <= interval.half_width);
            }
        }
        (given, covered)
    }

    /// True if nine of ten intervals cover the truth, less two standard deviations of this many draws.
    fn enough(given: u32, covered: u32) -> bool {
        let given = f64::from(given);
        f64::from(covered) >= 0.9 * given - 2.0 * (0.09 * given).sqrt()
    }

    #[test]
    fn intervals_cover_the_truth_or_are_not_given() {
        // The correlation falls to a third within 1 / -ln(rho) batches: 0, 2, 6, 20 and 100 of 400. `least` and `most`
        // bound the number of intervals in 1000 runs.
        for (rho, least, most) in [(0.0, 930, 1000), (0.6, 700, 1000), (0.85, 150, 900), (0.95, 0, 150)] {
            let (given, covered) = coverage(|seed| correlated(seed, rho, 400), 10.0);
            assert!((least..=most).contains(&given), "{rho}: {given} intervals");
            assert!(enough(given, covered), "{rho}: {covered} of {given} hold");
        }
        // A run of four correlation lengths is too short; by chance, one in a hundred looks long enough.
        let (given, _) = coverage(|seed| correlated(seed, 0.99, 400), 10.0);
        assert!(given <= 10, "{given} intervals");
        // A run ten times as long has intervals again.
        let (given, covered) = coverage(|seed| correlated(seed, 0.95, 4000), 10.0);
        assert!(given >= 500 && enough(given, covered), "{covered} of {given} hold");
    }

    #[test]
    fn batches_weigh_as_much_as_they_have_packets() {
        // 5 to 14 packets of latency uniform in 0..=100: the truth is 50.
        let of = |seed| {
            let mut rng = Rng::new(seed, Stream::Source, 0);
            let mut batch = || {
                let count = 5 + u64::from(rng.below(10));
                Batch { sum: (0..count).map(|_| u64::from(rng.below(101))).sum(), count }
            };
            (0..100).map(|_| batch()).collect::<Vec<_>>()
        };
        let (given, covered) = coverage(of, 50.0);
        assert!(given >= 930 && covered * 100 >= 95 * given, "{covered} of {given} hold");
        // Batches without packets change nothing.
        let full = of(1);
        let holes: Vec<Batch> = full.iter().flat_map(|&batch| [Batch::default(), batch, Batch::default()]).collect();
        assert_eq!(estimate(&holes, 0.95), estimate(&full, 0.95));
    }

    #[test]
    fn the_variance_is_that_of_batches_four_times_as_long() {
        // 24 batches, alternately 3 and 5, have a negative correlation. Merged in fours, the six batches have no
        // variance at all.
        let batches: Vec<Batch> = (0..24).map(|i| Batch { sum: 3 + 2 * (i % 2), count: 1 }).collect();
        let found = estimate(&batches, 0.95);
        assert_eq!((found.batches, found.steady), (6, Steady::Yes));
        assert_eq!(found.interval, Ok(Interval { mean: 4.0, half_width: 0.0 }));
        // Sums of four: 12, 20, 12, 20, .. They are off by 4, so squares = 96 and variance = 96 / (6 * 5) / 16 = 0.2.
        // t(0.95, 5) = 2.5706. The correlation is 1 - 5 * 64 / (2 * 96) = -2/3; plus 1 / sqrt(6), it is still below 0.
        let batches: Vec<Batch> = (0..24).map(|i| Batch { sum: 3 + 2 * (i / 4 % 2), count: 1 }).collect();
        let level = Level::new(&merged(&merged(&batches)), 4.0);
        assert!((level.variance() - 0.2).abs() < 1e-12 && (level.correlation + 2.0 / 3.0).abs() < 1e-12);
        assert!((level.half_width(0.95).unwrap() - 2.5706 * 0.2f64.sqrt()).abs() < 1e-4);
    }

    #[test]
    fn too_little_has_no_interval_and_says_why() {
        let same = |n: usize| vec![Batch { sum: 7, count: 2 }; n];
        let of = |batches: &[Batch]| {
            let found = estimate(batches, 0.95);
            (found.interval.map(|i| (i.mean, i.half_width)), found.steady)
        };
        assert_eq!(of(&same(24)), (Ok((3.5, 0.0)), Steady::Yes));
        assert_eq!(of(&same(23)), (Err(Missing::Few), Steady::Yes));
        assert_eq!(of(&same(11)), (Err(Missing::Few), Steady::Unknown(Missing::Few)));
        assert_eq!(of(&[]), (Err(Missing::Nothing), Steady::Unknown(Missing::Nothing)));
        assert_eq!(of(&[Batch { sum: 0, count: 9 }; 99]).0, Err(Missing::Nothing));
    }

    #[test]
    fn a_trend_is_no_steady_state() {
        // 400 batches about 1000 that rise by `rise` in total, with noise of 20.
        let ramp = |seed: u64, rise: f64| -> Vec<Batch> {
            let mut rng = Rng::new(seed, Stream::Source, 0);
            let mut value = |i: usize| 1000.0 + rise * i as f64 / 400.0 + 20.0 * noise(&mut rng);
            (0..400).map(|i| Batch { sum: value(i).round() as u64, count: 100 }).collect()
        };
        for seed in 0..20 {
            assert_eq!(estimate(&ramp(seed, 200.0), 0.95).steady, Steady::No(Missing::Trend));
            assert_eq!(estimate(&ramp(seed, -200.0), 0.95).steady, Steady::No(Missing::Trend));
            let small = estimate(&ramp(seed, 50.0), 0.95);
            assert!(small.interval.is_err() && matches!(small.steady, Steady::Unknown(_)), "{small:?}");
        }
    }

    #[test]
    fn relative_half_widths() {
        assert_eq!(Interval { mean: 50.0, half_width: 1.0 }.relative(), 0.02);
        assert_eq!(Interval { mean: 0.0, half_width: 0.0 }.relative(), 0.0);
        assert_eq!(Interval { mean: 0.0, half_width: 1.0 }.relative(), f64::INFINITY);
    }
}
