//! Automatic warm-up: when the network has settled.
//!
//! The rule is MSER (White, "An effective truncation heuristic for bias reduction in simulation output", *Simulation*
//! 69(6), 1997; with means of short intervals as in MSER-5: White, Cobb and Spratt, "A comparison of five steady-state
//! truncation heuristics for simulation", *Winter Simulation Conference* 2000).
//!
//! The observations are the means over n chunks of equal length. MSER drops the first d of them, for the first d that
//! minimises the standard error of the other observations' mean, sum (y - mean)^2 / (n - d)^2. The series has settled
//! if d is at most half of n. During a slow rise, the last chunks alone look settled. So the remaining chunks must be
//! steady, too, by the rule of `confidence.rs`.

use super::confidence::{Batch, Steady, estimate};

/// One chunk of the run's first cycles; all chunks are equally long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Chunk {
    /// Sum of the latencies of the packets delivered in the chunk, in cycles.
    pub latency_sum: u64,
    /// Number of packets delivered.
    pub packets: u64,
    /// Phits delivered.
    pub phits: u64,
}

/// Fewest chunks for a decision.
pub(crate) const FEWEST: usize = 20;

/// Fewest chunks after truncation: the spread of very few chunks is small by chance.
const SHORTEST_REST: usize = 5;

/// A latency grows without end if its growth falls by less than this factor from one third of the time to the next.
const SUSTAINED: f64 = 0.75;

/// A latency that grows without end grows at least by this factor from the first third of the time to the last. A slow
/// approach to a limit also looks like steady growth at first, but seldom goes so far.
const GROWN: f64 = 1.5;

/// The number of first chunks that belong to the warm-up, or `None` if the network has not settled yet.
///
/// Two conditions must hold. The phits delivered per chunk have settled. And the mean latency has settled, too, or it
/// grows steadily, as in a saturated network: there, packets wait in ever longer source queues, and only the accepted
/// load settles.
///
/// Steady growth means two things. The latency grows in the last third of the settled chunks by nearly as much as in
/// the middle third. And it grows by half of itself or more in total. A latency that approaches a limit seldom does
/// both.
pub(crate) fn warmed_up(chunks: &[Chunk]) -> Option<usize> {
    if chunks.len() < FEWEST {
        return None;
    }
    let accepted: Vec<f64> = chunks.iter().map(|c| c.phits as f64).collect();
    let settled = truncation(&accepted)?;
    let latencies = latencies(chunks);
    match truncation(&latencies) {
        Some(latency) => Some(settled.max(latency)).filter(|&dropped| is_steady(&chunks[dropped..])),
        None => grows_steadily(&latencies[settled..]).then_some(settled),
    }
}

/// Whether the latency of these chunks is steady; without packets it is.
fn is_steady(chunks: &[Chunk]) -> bool {
    let batches: Vec<Batch> = chunks.iter().map(|c| Batch { sum: c.latency_sum, count: c.packets }).collect();
    batches.iter().all(|batch| batch.sum == 0) || estimate(&batches, LEVEL).steady == Steady::Yes
}

/// Confidence level of the intervals here, which no result shows.
const LEVEL: f64 = 0.95;

/// Mean latency of each chunk. A chunk without packets has the latency of the chunk before, or of the first with
/// packets.
fn latencies(chunks: &[Chunk]) -> Vec<f64> {
    let mean = |c: &Chunk| (c.packets > 0).then(|| c.latency_sum as f64 / c.packets as f64);
    let mut latest = chunks.iter().find_map(mean).unwrap_or(0.0);
    let mut follow = |c: &Chunk| {
        latest = mean(c).unwrap_or(latest);
        latest
    };
    chunks.iter().map(&mut follow).collect()
}

/// MSER: the number of first values to drop, or `None` if it exceeds half of them.
fn truncation(values: &[f64]) -> Option<usize> {
    let n = values.len();
    // Sums relative to the last value give a constant series a spread of exactly 0.
    let origin = *values.last()?;
    let (mut sum, mut squares) = (0.0, 0.0);
    let (mut best, mut least) = (n, f64::INFINITY);
    for d in (0..n).rev() {
        let value = values[d] - origin;
        sum += value;
        squares += value * value;
        let rest = (n - d) as f64;
        let statistic = (squares - sum * sum / rest).max(0.0) / (rest * rest);
        if n - d >= SHORTEST_REST && statistic <= least {
            (best, least) = (d, statistic);
        }
    }
    (best <= n / 2).then_some(best)
}

/// True if the last third grows nearly as much as the middle third, and the total growth is considerable.
fn grows_steadily(values: &[f64]) -> bool {
    let third = values.len() / 3;
    if third == 0 {
        return false;
    }
    let end = values.len();
    let mean = |from: usize| values[from..from + third].iter().sum::<f64>() / third as f64;
    let (first, middle, last) = (mean(end - 3 * third), mean(end - 2 * third), mean(end - third));
    last >= GROWN * first && last - middle >= SUSTAINED * (middle - first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Rng, Stream};

    /// Chunks of about 1000 packets with the given mean latency and throughput, and a noise of 1% of each.
    fn chunks(n: usize, latency: impl Fn(f64) -> f64, phits: impl Fn(f64) -> f64) -> Vec<Chunk> {
        let mut rng = Rng::new(7, Stream::Source, 0);
        let mut noise = || 1.0 + 0.02 * (rng.unit() - 0.5);
        (0..n)
            .map(|i| {
                let phits = phits(i as f64) * noise();
                let packets = (phits / 8.0) as u64;
                let latency_sum = (packets as f64 * latency(i as f64) * noise()) as u64;
                Chunk { latency_sum, packets, phits: phits as u64 }
            })
            .collect()
    }

    /// For a run that decides after every chunk: the chunk at which it stops, and the number that it drops.
    fn first_decision(all: &[Chunk]) -> Option<(usize, usize)> {
        (1..=all.len()).find_map(|n| warmed_up(&all[..n]).map(|d| (n, d)))
    }

    #[test]
    fn a_constant_series_is_settled_at_once() {
        let constant = vec![Chunk { latency_sum: 5000, packets: 100, phits: 800 }; FEWEST];
        assert_eq!(warmed_up(&constant), Some(0));
        assert_eq!(warmed_up(&constant[1..]), None, "too short to say");
        assert_eq!(warmed_up(&vec![Chunk::default(); FEWEST]), Some(0), "no traffic at all");
    }

    #[test]
    fn an_exponential_approach_is_cut_where_it_ends() {
        // Time constant of 10 chunks: e^-4 = 1.8% of the rise is left after 40.
        let rise = |i: f64| 1.0 - (-i / 10.0f64).exp();
        let all = chunks(200, |i| 50.0 + 100.0 * rise(i), |i| 8000.0 * (0.5 + 0.5 * rise(i)));
        let dropped = warmed_up(&all).unwrap();
        assert!((25..=70).contains(&dropped), "{dropped}");
        let (n, dropped) = first_decision(&all).unwrap();
        assert!(n >= 2 * dropped && dropped >= 20, "{n} {dropped}");
    }

    #[test]
    fn a_network_that_still_fills_is_not_settled() {
        let all = chunks(100, |_| 50.0, |i| 100.0 * (i + 1.0));
        assert_eq!(first_decision(&all), None);
        // A run whose latency is still far from its limit has not settled, even if its throughput is constant.
        let all = chunks(40, |i| 50.0 + 1000.0 * (1.0 - (-i / 15.0f64).exp()), |_| 8000.0);
        assert_eq!(warmed_up(&all), None);
        // A slow rise has not settled: it looks linear at first, or so flat that the last chunks hardly rise.
        for slow in [100.0, 200.0] {
            let all = chunks(120, |i| 100.0 + 100.0 * (1.0 - (-i / slow).exp()), |_| 8000.0);
            assert_eq!(first_decision(&all), None);
        }
        let all = chunks(60, |i| 100.0 + 100.0 * (1.0 - (-i / 50.0f64).exp()), |_| 8000.0);
        assert_eq!(first_decision(&all), None);
    }

    #[test]
    fn a_saturated_network_is_settled_when_its_accepted_load_is() {
        let filling = |i: f64| if i < 15.0 { 8000.0 * (i + 1.0) / 16.0 } else { 8000.0 };
        let all = chunks(120, |i| 50.0 + 30.0 * i, filling);
        let (n, dropped) = first_decision(&all).unwrap();
        assert!((14..=18).contains(&dropped), "{dropped}");
        assert!(n <= 45, "{n}");
        assert!((14..=18).contains(&warmed_up(&all).unwrap()));
    }

    #[test]
    fn chunks_without_packets_take_the_latency_of_their_neighbours() {
        let mut some = vec![Chunk { latency_sum: 50, packets: 1, phits: 1 }; 4];
        some[0] = Chunk::default();
        some[2] = Chunk::default();
        some[3].latency_sum = 60;
        assert_eq!(latencies(&some), [50.0, 50.0, 50.0, 60.0]);
    }

    #[test]
    fn a_ramp_grows_steadily_and_an_approach_to_a_limit_does_not() {
        let values = |latency: fn(f64) -> f64| (0..30).map(|i| latency(f64::from(i))).collect::<Vec<_>>();
        assert!(grows_steadily(&values(|i| 50.0 + 10.0 * i)));
        assert!(!grows_steadily(&values(|i| 50.0 + 1000.0 * (1.0 - (-i / 15.0).exp()))), "growth falls by half");
        assert!(!grows_steadily(&values(|i| 500.0 + i)), "hardly any growth");
        assert!(!grows_steadily(&values(|i| 500.0 - 10.0 * i)));
        assert!(!grows_steadily(&[1.0, 2.0]));
    }

    #[test]
    fn the_later_of_load_and_latency_decides() {
        let chunk = |i: u64, phits| Chunk { latency_sum: 50, packets: 1, phits: if i < 12 { 100 * i } else { phits } };
        let all: Vec<Chunk> = (0..40).map(|i| chunk(i, 1200)).collect();
        assert_eq!(warmed_up(&all), Some(12));
    }

    #[test]
    fn mser_by_hand() {
        // Without the two outliers there is no spread, so dropping more values gains nothing.
        assert_eq!(truncation(&[9.0, 5.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]), Some(2));
        assert_eq!(truncation(&[8.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0, 1.0, 1.0, 1.0, 1.0]), None);
    }
}
