//! `[workload.placement]`: which endpoint each rank stands at.

use crate::engine::{Rng, Stream};
use crate::error::ScenarioError;
use crate::topology::Topology;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fs;

/// Endpoints that have no rank yet.
pub struct Free<'a> {
    /// The graph.
    pub topology: &'a dyn Topology,
    /// The endpoints, in ascending order: as many as there are ranks, or more.
    pub endpoints: &'a [u32],
    /// Seed of the scenario.
    pub seed: u64,
    /// Number of the job whose ranks they are.
    pub job: u32,
}

/// A way to put ranks at endpoints.
pub trait PlacementParams: std::fmt::Debug {
    /// The endpoints of so many ranks, by rank, each once. Error paths are relative to the table.
    fn endpoints(&self, ranks: u32, among: &Free<'_>) -> Result<Vec<u32>, ScenarioError>;
}

crate::registry::registry! {
    /// `[workload.placement]`: which endpoint each rank stands at.
    pub enum PlacementKind: "placement" as PlacementParams {
        "linear" => Linear(Linear),
        "random" => Random(Random),
        "round_robin" => RoundRobin(RoundRobin),
        "list" => List(List),
        "file" => File(File),
    }
}

impl PlacementKind {
    /// The endpoints of `ranks` ranks. Error paths are relative to the table.
    pub(super) fn place(&self, ranks: u32, among: &Free<'_>) -> Result<Vec<u32>, ScenarioError> {
        let (count, free) = (among.topology.endpoints(), among.endpoints.len());
        if ranks as usize > free {
            let reason = match free == count as usize {
                true => format!("the program has {ranks} ranks; the topology has {count} endpoints"),
                false => format!("the program has {ranks} ranks; {free} endpoints are left by the jobs before it"),
            };
            return Err(ScenarioError::missing("", reason));
        }
        let found = self.params().endpoints(ranks, among)?;
        let mut taken = vec![None; count as usize];
        for (rank, &endpoint) in found.iter().enumerate() {
            let reason = match taken.get_mut(endpoint as usize) {
                None => format!("rank {rank} at endpoint {endpoint}: expected one below {count}"),
                Some(Some(other)) => {
                    format!("ranks {other} and {rank} at endpoint {endpoint}: expected one rank at an endpoint")
                }
                Some(_) if among.endpoints.binary_search(&endpoint).is_err() => {
                    format!("rank {rank} at endpoint {endpoint}, which a job before it has")
                }
                Some(nobody) => {
                    *nobody = Some(rank);
                    continue;
                }
            };
            return Err(ScenarioError::missing("", reason));
        }
        Ok(found)
    }
}

/// Rank after rank at one endpoint after the other, among those that are free.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Linear {
    /// The endpoint of rank 0, or the next one that is free.
    pub first: u32,
}

impl PlacementParams for Linear {
    fn endpoints(&self, ranks: u32, among: &Free<'_>) -> Result<Vec<u32>, ScenarioError> {
        let from = among.endpoints.partition_point(|endpoint| *endpoint < self.first);
        match among.endpoints[from..].get(..ranks as usize) {
            Some(found) => Ok(found.to_vec()),
            None => {
                let most = among.endpoints[among.endpoints.len() - ranks as usize];
                let expected = format!("expected at most {most}: {ranks} ranks need as many endpoints from there on");
                Err(ScenarioError::new("first", self.first, expected))
            }
        }
    }
}

/// Each rank at any endpoint that is free; which one depends on the seed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Random {}

impl PlacementParams for Random {
    fn endpoints(&self, ranks: u32, among: &Free<'_>) -> Result<Vec<u32>, ScenarioError> {
        let mut all = among.endpoints.to_vec();
        let mut rng = Rng::new(among.seed, Stream::Placement, among.job.into());
        for place in 0..ranks {
            let other = place + rng.below(all.len() as u32 - place);
            all.swap(place as usize, other as usize);
        }
        all.truncate(ranks as usize);
        Ok(all)
    }
}

/// What ranks are dealt out to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Over {
    /// Groups of routers, as the topology has them.
    #[default]
    Groups,
    /// Routers.
    Routers,
}

/// Rank after rank in one group, or at one router, after the other, at its first endpoint that is free; around again
/// after the last.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RoundRobin {
    /// What ranks are dealt out to.
    pub over: Over,
}

impl PlacementParams for RoundRobin {
    fn endpoints(&self, ranks: u32, among: &Free<'_>) -> Result<Vec<u32>, ScenarioError> {
        let topology = among.topology;
        let of = |endpoint: u32| {
            let router = topology.attachment(endpoint).0;
            match self.over {
                Over::Routers => router,
                Over::Groups => topology.group_of(router),
            }
        };
        let mut dealt = vec![0u32; topology.routers().max(topology.groups()) as usize];
        let mut all: Vec<(u32, u32, u32)> = among
            .endpoints
            .iter()
            .map(|&endpoint| {
                let of = of(endpoint);
                let turn = dealt[of as usize];
                dealt[of as usize] += 1;
                (turn, of, endpoint)
            })
            .collect();
        all.sort_unstable();
        Ok(all.into_iter().take(ranks as usize).map(|(.., endpoint)| endpoint).collect())
    }
}

/// Each rank where the list says.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct List {
    /// The endpoint of every rank, from rank 0 on; there may be more than there are ranks.
    pub endpoints: Vec<u32>,
}

impl PlacementParams for List {
    fn endpoints(&self, ranks: u32, _among: &Free<'_>) -> Result<Vec<u32>, ScenarioError> {
        first(&self.endpoints, ranks, "endpoints")
    }
}

/// The first `ranks` of `list`, which stands at `path`.
fn first(list: &[u32], ranks: u32, path: &str) -> Result<Vec<u32>, ScenarioError> {
    match list.get(..ranks as usize) {
        Some(list) => Ok(list.to_vec()),
        None => {
            let reason = format!("{} endpoints are listed; expected one for each of {ranks} ranks", list.len());
            Err(ScenarioError::missing(path, reason))
        }
    }
}

/// Each rank where a line of a file says.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct File {
    /// Text with the endpoint of a rank in each line, from rank 0 on; found from the scenario's folder.
    pub file: String,
}

impl PlacementParams for File {
    fn endpoints(&self, ranks: u32, _among: &Free<'_>) -> Result<Vec<u32>, ScenarioError> {
        let refuse = |reason: String| ScenarioError::new("file", format!("{:?}", self.file), reason);
        let text = fs::read_to_string(&self.file).map_err(|error| refuse(format!("cannot be read: {error}")))?;
        let number = |(index, line): (usize, &str)| {
            let wrong = || refuse(format!("line {}: {:.40?}; expected the number of an endpoint", index + 1, line));
            line.trim().parse().map_err(|_| wrong())
        };
        let list: Vec<u32> = text.lines().enumerate().map(number).collect::<Result<_, _>>()?;
        first(&list, ranks, "file")
    }
}
