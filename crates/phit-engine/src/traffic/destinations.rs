//! Where packets go in the long run, exactly: what bounds of the throughput are computed from.

use serde::Serialize;
use std::ops::Range;

/// The distribution of an endpoint's destinations over all its packets, without a drawing: shares are exact, as the
/// weights of a scenario are.
///
/// ```
/// use phit_engine::traffic::Destinations;
/// // Endpoint 3 of 8 sends to all others.
/// let uniform = Destinations::all_but(8, 3..4);
/// let among = |first, end| Destinations::Among { first, end };
/// assert_eq!(uniform, Destinations::Mix(vec![(3.0, among(0, 3)), (4.0, among(4, 8))]));
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Destinations {
    /// It never sends.
    Nothing,
    /// Each of these endpoints equally often.
    Among {
        /// The first of them.
        first: u32,
        /// One past the last, more than `first`.
        end: u32,
    },
    /// A share of the packets, from 0 to 1, goes one way and the rest another.
    Split {
        /// Of the packets that go to `these`.
        share: f64,
        /// Where the share goes.
        these: Box<Destinations>,
        /// Where the rest goes.
        others: Box<Destinations>,
    },
    /// Several ways in proportion to weights, which have a positive sum.
    Mix(Vec<(f64, Destinations)>),
}

impl Destinations {
    /// One endpoint alone.
    pub fn only(endpoint: u32) -> Self {
        Self::Among { first: endpoint, end: endpoint + 1 }
    }

    /// Each of 0 to `endpoints` equally often except a gap.
    pub fn all_but(endpoints: u32, gap: Range<u32>) -> Self {
        Self::runs(&[(0, gap.start), (gap.end, endpoints)])
    }

    /// Each of these endpoints equally often; they ascend.
    pub fn evenly(endpoints: impl IntoIterator<Item = u32>) -> Self {
        let mut runs: Vec<(u32, u32)> = vec![];
        for endpoint in endpoints {
            match runs.last_mut() {
                Some((_, end)) if *end == endpoint => *end += 1,
                _ => runs.push((endpoint, endpoint + 1)),
            }
        }
        Self::runs(&runs)
    }

    /// Each endpoint of these runs, as (first, end), equally often; runs may be empty.
    fn runs(runs: &[(u32, u32)]) -> Self {
        let of = |(first, end): (u32, u32)| (f64::from(end - first), Self::Among { first, end });
        let mut ways: Vec<_> = runs.iter().filter(|(first, end)| first < end).map(|&run| of(run)).collect();
        match ways.len() {
            0 => Self::Nothing,
            1 => ways.swap_remove(0).1,
            _ => Self::Mix(ways),
        }
    }
}
