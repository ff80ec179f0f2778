//! The exact long-run distribution of destinations, from which bounds of the throughput are computed.

use serde::Serialize;
use std::ops::Range;

/// The distribution of an endpoint's destinations over all its packets. It is computed without drawing: shares are as
/// exact as the weights in a scenario.
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
    /// The endpoint never sends.
    Nothing,
    /// Each of these endpoints equally often.
    Among {
        /// The first of them.
        first: u32,
        /// One past the last, more than `first`.
        end: u32,
    },
    /// A share of the packets, from 0 to 1, has these destinations, and the rest has others.
    Split {
        /// Share of the packets that go to `these`.
        share: f64,
        /// Destinations of the share.
        these: Box<Destinations>,
        /// Destinations of the rest.
        others: Box<Destinations>,
    },
    /// Several distributions in proportion to weights, which have a positive sum.
    Mix(Vec<(f64, Destinations)>),
}

impl Destinations {
    /// One endpoint alone.
    pub fn only(endpoint: u32) -> Self {
        Self::Among { first: endpoint, end: endpoint + 1 }
    }

    /// Each of the endpoints from 0 up to `endpoints` equally often, except those in `gap`.
    pub fn all_but(endpoints: u32, gap: Range<u32>) -> Self {
        Self::runs(&[(0, gap.start), (gap.end, endpoints)])
    }

    /// Each of these endpoints equally often. They are given in ascending order.
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

    /// Each endpoint of these runs equally often. A run is (first, end), and may be empty.
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
