//! Permutation: every rank sends to one rank, and receives from one.

use super::collective::shuffled;
use super::{Setting, Source, after_calc, once};
use crate::collective::{Blocks, Part, Step};
use crate::error::Error;
use crate::script::{Script, Task, Work};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use smallvec::smallvec;
use std::sync::Arc;

/// Permutation: every rank sends to one other rank, and receives from one. Ranks that are their own partners do
/// nothing.
///
/// ```toml
/// [units]
/// phit = "2 B"
/// cycle = "1 ns"
///
/// [workload]
/// kind = "permutation"
/// ranks = 8
/// bytes = 4096
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct PermutationParams {
    /// Number of ranks; equal to the number of endpoints if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub ranks: Option<u32>,
    /// The permutation.
    #[serde(default)]
    pub order: Order,
    /// Distance of the order `shift`.
    #[serde(default = "once")]
    pub by: u32,
    /// Bytes of a message.
    #[schemars(extend("x-unit" = "bytes"))]
    pub bytes: u64,
    /// Messages of each rank, all at once.
    #[serde(default = "once")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub messages: u32,
    /// Duration of a calculation before each repetition.
    #[serde(default)]
    #[schemars(extend("x-unit" = "units of time"))]
    pub calc: u64,
    /// Number of repetitions: a rank goes on when it has sent and received all messages.
    #[serde(default = "once")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub times: u32,
}

/// The partners in a permutation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Order {
    /// Drawn at random with the seed; all permutations are equally likely.
    #[default]
    Random,
    /// To the rank `by` places on.
    Shift,
    /// The first rank to the last, the second to the last but one, and so on.
    Reverse,
}

impl Source for PermutationParams {
    fn ranks(&self) -> Option<u32> {
        self.ranks
    }

    fn scripts(&self, setting: &Setting) -> Result<Vec<Arc<dyn Script>>, Error> {
        let Self { ranks: _, order, by, bytes, messages, calc, times } = *self;
        let ranks = setting.ranks;
        let to: Vec<u32> = match order {
            Order::Random => shuffled(ranks, setting.seed),
            Order::Shift => {
                (0..ranks).map(|rank| ((u64::from(rank) + u64::from(by)) % u64::from(ranks)) as u32).collect()
            }
            Order::Reverse => (0..ranks).rev().collect(),
        };
        let mut from = vec![0; to.len()];
        (0..).zip(&to).for_each(|(source, &destination)| from[destination as usize] = source);
        after_calc(calc, Permutation { to, from, bytes, messages }, times)
    }
}

#[derive(Debug)]
struct Permutation {
    to: Vec<u32>,
    from: Vec<u32>,
    bytes: u64,
    messages: u32,
}

impl Script for Permutation {
    fn name(&self) -> &'static str {
        "permutation"
    }

    fn task(&self, rank: u32, _stream: u32, number: u32) -> Option<Task> {
        let Self { to, from, bytes, messages } = self;
        let parts = |peer| smallvec![Part { peer, bytes: *bytes, blocks: Blocks::one(0) }; *messages as usize];
        let (to, from) = (to[rank as usize], from[rank as usize]);
        let work = || Work::exchange(Step { sends: parts(to), receives: parts(from), reduces: false });
        (number == 0 && to != rank).then(|| Task::new(work()))
    }
}
