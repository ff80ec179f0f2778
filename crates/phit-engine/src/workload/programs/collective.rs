//! Collectives by name.

use super::{ProgramParams, Site};
use crate::error::ScenarioError;
use phit_workload::Executable;
use phit_workload::collective::{Algorithm, Collective, Members};
use phit_workload::script::{Calc, Communicator, Communicators, Costs, Script, Scripts};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::sync::Arc;

/// A collective operation of all ranks, once or several times with calculations between. It is made while it runs, and
/// takes no room however many ranks there are.
///
/// ```toml
/// [workload]
/// kind = "collective"
/// collective = "all_reduce"
/// algorithm = "halving_doubling"
/// bytes = "1 MiB"
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CollectiveProgram {
    /// What is done.
    pub collective: CollectiveName,
    /// How it is done. If left out: `all_reduce`, `all_gather`, `reduce_scatter` by ring, `all_to_all` by pairwise,
    /// `broadcast`, `reduce` by binomial, `barrier` by dissemination.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub algorithm: Option<AlgorithmName>,
    /// Number of ranks; if left out, as many as there are endpoints.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub ranks: Option<u32>,
    /// Bytes: of the vector of each rank; of `all_gather`: that one rank has; of `all_to_all`: from one rank to
    /// another one; of `barrier`: of a message.
    #[serde(default)]
    #[schemars(extend("x-unit" = "bytes"))]
    pub bytes: u64,
    /// Rank from which a broadcast goes out, or to which a reduction comes.
    #[serde(default)]
    pub root: u32,
    /// Parts of the bytes that go their ways independently.
    #[serde(default = "one")]
    #[schemars(range(min = 1))]
    pub chunks: u32,
    /// Segments of a chain, or of each half of the double binary tree.
    #[serde(default = "one")]
    #[schemars(range(min = 1))]
    pub segments: u32,
    /// Units of time of a calculation that combines a byte that was received with one of the rank's own, 0 or more.
    #[serde(default)]
    #[schemars(range(min = 0))]
    pub combine: f64,
    /// Times that the collective is done, one after the other.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 100_000))]
    pub times: u32,
    /// Units of time that every rank computes before each of them.
    #[serde(default)]
    pub calc: u64,
}

fn one() -> u32 {
    1
}

/// What a collective does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum CollectiveName {
    /// All get the sum.
    AllReduce,
    /// All get what each one has.
    AllGather,
    /// Each gets its part of the sum.
    ReduceScatter,
    /// Each has something for every other one.
    AllToAll,
    /// All get what the root has.
    Broadcast,
    /// The root gets the sum.
    Reduce,
    /// None goes on before all are there.
    Barrier,
}

/// How a collective is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum AlgorithmName {
    /// From each rank to the next.
    Ring,
    /// With partners at distances 1, 2, 4 and so on: everything that is there.
    RecursiveDoubling,
    /// With partners at distances that halve: half of what is left.
    RecursiveHalving,
    /// Recursive halving, then recursive doubling (Rabenseifner).
    HalvingDoubling,
    /// Distances 1, 2, 4 and so on, for any number of ranks.
    Bruck,
    /// With each of the others in turn.
    Pairwise,
    /// With all others at once.
    Direct,
    /// A binomial tree.
    Binomial,
    /// A chain, in segments.
    Chain,
    /// Two binary trees, in segments.
    DoubleBinaryTree,
    /// To those 1, 2, 4 and so on places further.
    Dissemination,
    /// Reduce-scatter within each of the topology's groups, all-reduce across them, all-gather within.
    Hierarchical,
}

impl CollectiveName {
    fn collective(self) -> Collective {
        match self {
            Self::AllReduce => Collective::AllReduce,
            Self::AllGather => Collective::AllGather,
            Self::ReduceScatter => Collective::ReduceScatter,
            Self::AllToAll => Collective::AllToAll,
            Self::Broadcast => Collective::Broadcast,
            Self::Reduce => Collective::Reduce,
            Self::Barrier => Collective::Barrier,
        }
    }
}

impl AlgorithmName {
    fn algorithm(self) -> Algorithm {
        match self {
            Self::Ring => Algorithm::Ring,
            Self::RecursiveDoubling => Algorithm::RecursiveDoubling,
            Self::RecursiveHalving => Algorithm::RecursiveHalving,
            Self::HalvingDoubling => Algorithm::HalvingDoubling,
            Self::Bruck => Algorithm::Bruck,
            Self::Pairwise => Algorithm::Pairwise,
            Self::Direct => Algorithm::Direct,
            Self::Binomial => Algorithm::Binomial,
            Self::Chain => Algorithm::Chain,
            Self::DoubleBinaryTree => Algorithm::DoubleBinaryTree,
            Self::Dissemination => Algorithm::Dissemination,
            Self::Hierarchical => Algorithm::Hierarchical,
        }
    }
}

/// How many ranks follow one another in each of the topology's groups.
fn groups(site: &Site<'_>, ranks: u32) -> Result<Vec<u32>, ScenarioError> {
    let group_of = |endpoint: u32| site.topology.group_of(site.topology.attachment(endpoint).0);
    let all: Vec<u32> = site.place(ranks)?.into_iter().map(group_of).collect();
    let runs = || all.chunk_by(|a, b| a == b);
    let mut seen = BTreeSet::new();
    if !runs().all(|run| seen.insert(run[0])) {
        let reason =
            "goes by the topology's groups: expected a placement in which the ranks of each follow one another";
        return Err(ScenarioError::new("algorithm", "\"hierarchical\"", reason));
    }
    Ok(runs().map(|run| run.len() as u32).collect())
}

impl ProgramParams for CollectiveProgram {
    fn executable(&self, site: &Site<'_>) -> Result<Arc<dyn Executable>, ScenarioError> {
        let ranks = self.ranks.unwrap_or(site.topology.endpoints());
        let collective = self.collective.collective();
        let usual = collective.algorithms().first().copied().unwrap_or(Algorithm::Direct);
        let algorithm = self.algorithm.map_or(usual, AlgorithmName::algorithm);
        let mut members = Members::new(collective, algorithm, ranks, self.bytes);
        (members.root, members.chunks, members.segments) = (self.root, self.chunks, self.segments);
        if algorithm == Algorithm::Hierarchical {
            members.groups = groups(site, ranks)?;
        }
        let refuse = |error: phit_workload::Error| match error.key {
            // What follows the key is its value.
            Some(key) => {
                match error.message.strip_prefix(&format!("{key} = ")).and_then(|text| text.split_once(": ")) {
                    Some((value, expected)) => ScenarioError::new(key, value, expected),
                    None => ScenarioError::missing(key, error.message),
                }
            }
            None => ScenarioError::missing("algorithm", error.to_string()),
        };
        let steps = members.steps().map_err(refuse)?;
        let communicator = Communicator { ranks: (0..ranks).collect(), steps, costs: Costs::combining(self.combine) };
        let together: Arc<dyn Script> = Arc::new(Communicators::new(ranks, vec![communicator]));
        let calc: Option<Arc<dyn Script>> = (self.calc > 0).then(|| Arc::new(Calc(self.calc)) as _);
        let once = calc.into_iter().chain([together]);
        Ok(Arc::new(Scripts::new(ranks, (0..self.times).flat_map(|_| once.clone()))))
    }
}
