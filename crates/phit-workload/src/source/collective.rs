//! A collective by itself.

use super::{Setting, Source, once, repeated};
use crate::collective::{Algorithm, Collective, Members, Pairs};
use crate::error::Error;
use crate::script::{Calc, Communicator, Communicators, Costs, Script};
use rand_core::SeedableRng;
use rand_xoshiro::SplitMix64;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A collective operation among all ranks, or in each of several communicators at the same time.
///
/// The algorithms of each collective, the usual one first:
///
/// - `all_reduce`: `ring`, `recursive_doubling`, `halving_doubling`, `double_binary_tree`, `binomial`, `direct`,
///   `hierarchical`
/// - `all_gather`: `ring`, `recursive_doubling`, `bruck`, `pairwise`, `direct`, `hierarchical`
/// - `reduce_scatter`: `ring`, `recursive_halving`, `pairwise`, `direct`, `hierarchical`
/// - `all_to_all`: `pairwise`, `bruck`, `direct`, `ring`, `hierarchical`
/// - `broadcast`: `binomial`, `chain`, `double_binary_tree`, `scatter_all_gather`, `direct`, `hierarchical`
/// - `reduce`: `binomial`, `chain`, `double_binary_tree`, `direct`, `hierarchical`
/// - `gather` and `scatter`: `binomial`, `direct`
/// - `barrier`: `dissemination`, `binomial`, `direct`, `hierarchical`
///
/// Source: Thakur, Rabenseifner and Gropp, "Optimization of Collective Communication Operations in MPICH", IJHPCA
/// 19(1), 2005. Each algorithm names its own source.
///
/// ```toml
/// [units]
/// phit = "2 B"
/// cycle = "1 ns"
///
/// [workload]
/// kind = "collective"
/// collective = "all_reduce"
/// ranks = 8
/// bytes = 4096
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct CollectiveParams {
    /// Kind of the collective.
    pub collective: Collective,
    /// Its algorithm; the usual one if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub algorithm: Option<Algorithm>,
    /// Bytes, whose meaning depends on the collective. In an all_reduce, a reduce_scatter, a broadcast or a reduce: the
    /// vector that a member has, or gets. In an all_gather or a gather: the data of one member. In an all_to_all or a
    /// scatter: the data for one member (the mean, with a `skew`). In a barrier: the size of a message.
    #[serde(default)]
    #[schemars(extend("x-unit" = "bytes"))]
    pub bytes: u64,
    /// Number of ranks; equal to the number of endpoints if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub ranks: Option<u32>,
    /// Communicators: lists of ranks, in the order of their members, that perform the collective separately at the same
    /// time. One communicator of all ranks if left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub communicators: Vec<Vec<u32>>,
    /// Root: source of a broadcast or a scatter, destination of a reduce or a gather.
    #[serde(default)]
    pub root: u32,
    /// Number of chunks into which the bytes are cut. Chunks are sent independently.
    #[serde(default = "once")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub chunks: u32,
    /// Number of chunks under way at once: a member begins the next chunk when one has ended. 0 for all.
    #[serde(default)]
    pub at_once: u32,
    /// Segments of a chain, or of each half of a double binary tree. While a segment arrives, the one before it is
    /// passed on.
    #[serde(default = "once")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub segments: u32,
    /// Number of members with which a member exchanges at a time in the direct algorithm. 0 for all.
    #[serde(default)]
    pub window: u32,
    /// Rounds into which the steps of a ring are merged, for programs of thousands of ranks. In a round, a member sends
    /// the data of several steps as one message, without waiting for the member before it. An all-reduce takes as many
    /// rounds for the sums, and again to pass them on. The latency of the steps is left out. All steps if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub rounds: Option<u32>,
    /// Sizes of groups of consecutive members, for the hierarchical algorithm. A single number is repeated. The
    /// network's groups if left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<u32>,
    /// Bytes of an all_to_all by source (row) and destination (column), instead of `bytes`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-unit" = "bytes"))]
    pub matrix: Vec<Vec<u64>>,
    /// Skew of an all_to_all, as among the experts of a mixture. The k-th destination in demand gets a share in
    /// proportion to 1/k^`skew` (Zipf's law) of each member's data. The order of destinations is drawn at random. 0 for
    /// equal shares.
    #[serde(default)]
    #[schemars(range(min = 0))]
    pub skew: f64,
    /// Time to combine a byte, in a reduction.
    #[serde(default)]
    #[schemars(range(min = 0))]
    #[schemars(extend("x-unit" = "units of time"))]
    pub combine: f64,
    /// Time of the endpoint's software before the first step, and after each step's messages have been received.
    #[serde(default)]
    #[schemars(extend("x-unit" = "units of time"))]
    pub delay: u64,
    /// Number of repetitions, one after another.
    #[serde(default = "once")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub times: u32,
    /// Duration of a calculation before each repetition.
    #[serde(default)]
    #[schemars(extend("x-unit" = "units of time"))]
    pub calc: u64,
}

impl CollectiveParams {
    /// A collective of `bytes` bytes, with the usual algorithm.
    pub fn new(collective: Collective, bytes: u64) -> Self {
        Self {
            collective,
            algorithm: None,
            bytes,
            ranks: None,
            communicators: vec![],
            root: 0,
            chunks: 1,
            at_once: 0,
            segments: 1,
            window: 0,
            rounds: None,
            groups: vec![],
            matrix: vec![],
            skew: 0.0,
            combine: 0.0,
            delay: 0,
            times: 1,
            calc: 0,
        }
    }

    /// The parameters for communicators of `members` members.
    pub(crate) fn members(&self, members: u32, setting: &Setting) -> Result<Members, Error> {
        let pairs = match (self.matrix.is_empty(), self.skew > 0.0) {
            (true, false) => None,
            (true, true) => {
                let places = shuffled(members, setting.seed);
                Some(Pairs::skewed(members, self.bytes, self.skew, |member| places[member as usize]))
            }
            (false, true) => return Err(Error::key("skew", self.skew, "expected none with a matrix")),
            (false, false) => {
                if let Some(row) = self.matrix.iter().find(|row| row.len() != members as usize) {
                    let expected = format!("expected {members} columns in each row of the matrix");
                    return Err(Error::key("matrix", format!("a row of {}", row.len()), expected));
                }
                Some(Pairs::Matrix(self.matrix.iter().flatten().copied().collect()))
            }
        };
        let is_all = members == setting.ranks;
        Ok(Members {
            collective: self.collective,
            algorithm: self.algorithm.unwrap_or(self.collective.usual()),
            members,
            bytes: self.bytes,
            root: self.root,
            chunks: self.chunks,
            at_once: self.at_once,
            segments: self.segments,
            window: self.window,
            rounds: self.rounds.unwrap_or(0),
            pairs,
            groups: if self.groups.is_empty() && is_all { setting.groups.clone() } else { self.groups.clone() },
        })
    }
}

/// The numbers below `count` in random order.
pub(crate) fn shuffled(count: u32, seed: u64) -> Vec<u32> {
    use rand_core::RngCore;
    let mut random = SplitMix64::seed_from_u64(seed);
    let mut order: Vec<u32> = (0..count).collect();
    for last in (1..count as usize).rev() {
        // 2^64 values are spread over far fewer places: no place is preferred by more than 1 in 2^32.
        order.swap(last, (random.next_u64() % (last as u64 + 1)) as usize);
    }
    order
}

impl Source for CollectiveParams {
    fn ranks(&self) -> Option<u32> {
        self.ranks
    }

    fn scripts(&self, setting: &Setting) -> Result<Vec<Arc<dyn Script>>, Error> {
        for (key, value) in [("skew", self.skew), ("combine", self.combine)] {
            if !(value.is_finite() && value >= 0.0) {
                return Err(Error::key(key, value, "expected 0 or more"));
            }
        }
        if self.rounds == Some(0) {
            return Err(Error::key("rounds", 0, "expected 1 or more"));
        }
        let all: Vec<Arc<[u32]>> = match self.communicators.is_empty() {
            true => vec![(0..setting.ranks).collect()],
            false => self.communicators.iter().map(|ranks| ranks.as_slice().into()).collect(),
        };
        let mut seen = vec![false; setting.ranks as usize];
        for &rank in all.iter().flat_map(|ranks| ranks.iter()) {
            match seen.get_mut(rank as usize) {
                None => {
                    let expected = format!("expected a rank below {}", setting.ranks);
                    return Err(Error::key("communicators", format!("[[..., {rank}, ...]]"), expected));
                }
                Some(true) => {
                    let expected = "expected each rank once at most";
                    return Err(Error::key("communicators", format!("[[..., {rank}, ...]]"), expected));
                }
                Some(seen) => *seen = true,
            }
        }
        let mut communicators: Vec<Communicator> = vec![];
        for ranks in all {
            let members = ranks.len() as u32;
            let known = communicators.iter().find(|known| known.ranks.len() == ranks.len());
            let steps = match known {
                Some(known) => known.steps.clone(),
                None => self.members(members, setting)?.steps()?,
            };
            let costs = Costs { start: self.delay, step: self.delay, combine: self.combine };
            communicators.push(Communicator { ranks, steps, costs });
        }
        let mut once: Vec<Arc<dyn Script>> = vec![];
        if self.calc > 0 {
            once.push(Arc::new(Calc(self.calc)));
        }
        once.push(Arc::new(Communicators::new(setting.ranks, communicators)));
        repeated(once, self.times)
    }
}
