//! `[workload.placement]`: the endpoint of each rank.

use crate::engine::{Rng, Stream};
use crate::error::ScenarioError;
use crate::topology::{Lookup, Named, Topology};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fs;

/// Endpoints that have no rank yet.
pub struct Free<'a> {
    /// The graph.
    pub topology: &'a dyn Topology,
    /// The free endpoints, in ascending order, at least as many as there are ranks.
    pub endpoints: &'a [u32],
    /// Seed of the scenario.
    pub seed: u64,
    /// Number of the ranks' job.
    pub job: u32,
    /// Number of endpoints per rank: one for each of its rails.
    pub rails: u32,
}

impl Free<'_> {
    /// Finds endpoints by their numbers or names.
    fn lookup(&self) -> Lookup<'_> {
        Lookup::new(self.topology)
    }

    /// Sets of adjacent endpoints, each large enough for a rank.
    fn sets(&self) -> std::slice::ChunksExact<'_, u32> {
        self.endpoints.chunks_exact(self.rails as usize)
    }
}

/// A rule that assigns ranks to endpoints.
pub trait PlacementParams: std::fmt::Debug {
    /// The endpoints of `ranks` ranks, by rank and rail, each once. Error paths are relative to the table.
    fn endpoints(&self, ranks: u32, among: &Free<'_>) -> Result<Vec<u32>, ScenarioError>;
}

crate::registry::registry! {
    /// `[workload.placement]`: the endpoint of each rank.
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
        let (count, free, rails) = (among.topology.endpoints(), among.endpoints.len(), among.rails);
        if ranks as usize > free / rails as usize {
            let each = if rails > 1 { format!(" of {rails} endpoints each") } else { String::new() };
            let reason = match free == count as usize {
                true => format!("the program has {ranks} ranks{each}; the topology has {count} endpoints"),
                false => {
                    format!("the program has {ranks} ranks{each}; {free} endpoints are left by the jobs before it")
                }
            };
            return Err(ScenarioError::missing("", reason));
        }
        let found = self.params().endpoints(ranks, among)?;
        let mut taken = vec![None; count as usize];
        for (slot, &endpoint) in found.iter().enumerate() {
            let rank = slot / rails as usize;
            let there = among.topology.words().endpoint(endpoint);
            let reason = match taken.get_mut(endpoint as usize) {
                None => format!("rank {rank} at endpoint {endpoint}: expected one below {count}"),
                Some(Some(other)) => {
                    format!("ranks {other} and {rank} at {there}: expected one rank at an endpoint")
                }
                Some(_) if among.endpoints.binary_search(&endpoint).is_err() => {
                    format!("rank {rank} at {there}, which a job before it has")
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

/// In order: each rank takes the next free endpoint, or as many adjacent ones as it has rails.
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
///
/// [workload.placement]
/// kind = "linear"
/// first = 2
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Linear {
    /// The endpoint of rank 0, by its number or its name, or the next one that is free.
    pub first: Named,
    /// Distance in endpoints from one rail of a rank to its next, if they are not adjacent. For networks whose planes
    /// are numbered one after another, it is the number of endpoints of a plane.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub stride: Option<u32>,
}

impl PlacementParams for Linear {
    fn endpoints(&self, ranks: u32, among: &Free<'_>) -> Result<Vec<u32>, ScenarioError> {
        let rails = among.rails as usize;
        if let Some(stride) = self.stride.filter(|stride| *stride > 1 && rails == 1) {
            let expected = "expected `workload.host.rails` as well: each rank has one endpoint";
            return Err(ScenarioError::new("stride", stride, expected));
        }
        let stride = self.stride.map_or(1, |stride| stride as usize);
        // Each block of endpoints holds all rails of `stride` ranks.
        let place = |rank: usize, rail: usize| rank / stride * stride * rails + rank % stride + rail * stride;
        let ranks = ranks as usize;
        let last = (0..ranks).map(|rank| place(rank, rails - 1)).max().unwrap_or(0);
        let first = among.lookup().endpoint(|| "first".into(), &self.first)?;
        let from = among.endpoints.partition_point(|endpoint| *endpoint < first);
        let own = &among.endpoints[from..];
        if last < own.len() {
            return Ok((0..ranks).flat_map(|rank| (0..rails).map(move |rail| own[place(rank, rail)])).collect());
        }
        Err(match among.endpoints.len().checked_sub(last + 1).map(|most| among.endpoints[most]) {
            Some(most) => {
                let as_many = match last + 1 == ranks {
                    true => "as many".to_owned(),
                    false => (last + 1).to_string(),
                };
                let expected = format!("expected at most {most}: {ranks} ranks need {as_many} endpoints from there on");
                ScenarioError::new("first", &self.first, expected)
            }
            None => {
                let expected = format!("{ranks} ranks need {} endpoints; {} are free", last + 1, among.endpoints.len());
                ScenarioError::new("stride", stride, expected)
            }
        })
    }
}

/// At random: each rank takes a free endpoint, or several adjacent ones, drawn with the scenario's seed.
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
///
/// [workload.placement]
/// kind = "random"
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Random {}

impl PlacementParams for Random {
    fn endpoints(&self, ranks: u32, among: &Free<'_>) -> Result<Vec<u32>, ScenarioError> {
        let mut all: Vec<&[u32]> = among.sets().collect();
        let mut rng = Rng::new(among.seed, Stream::Placement, among.job.into());
        for place in 0..ranks {
            let other = place + rng.below(all.len() as u32 - place);
            all.swap(place as usize, other as usize);
        }
        all.truncate(ranks as usize);
        Ok(all.concat())
    }
}

/// The parts of the network that ranks are dealt to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Over {
    /// Groups of routers, as defined by the topology.
    #[default]
    Groups,
    /// Routers.
    Routers,
}

/// Round robin: ranks are dealt in turn to all groups, or all routers, and take the first free endpoint there, or
/// several adjacent ones.
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
///
/// [workload.placement]
/// kind = "round_robin"
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RoundRobin {
    /// The parts of the network that ranks are dealt to.
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
        let mut all: Vec<(u32, u32, &[u32])> = among
            .sets()
            .map(|set| {
                let of = of(set[0]);
                let turn = dealt[of as usize];
                dealt[of as usize] += 1;
                (turn, of, set)
            })
            .collect();
        all.sort_unstable();
        Ok(all.into_iter().take(ranks as usize).flat_map(|(.., set)| set).copied().collect())
    }
}

/// Listed: a list gives each rank's endpoint.
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
///
/// [workload.placement]
/// kind = "list"
/// endpoints = [5, 2, 9, 0, 1, 3, 4, 6]
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct List {
    /// The endpoint of every rank, from rank 0 on, by numbers or names; the list may be longer. With several rails: all
    /// endpoints of rank 0, then all of rank 1, and so on.
    pub endpoints: Vec<Named>,
}

impl PlacementParams for List {
    fn endpoints(&self, ranks: u32, among: &Free<'_>) -> Result<Vec<u32>, ScenarioError> {
        among.lookup().listed_endpoints("endpoints", first(&self.endpoints, ranks, among.rails, "endpoints")?)
    }
}

/// The endpoints of the first `ranks` ranks in `list`, which is the value of key `path`.
fn first<'a, T>(list: &'a [T], ranks: u32, rails: u32, path: &str) -> Result<&'a [T], ScenarioError> {
    match list.get(..ranks as usize * rails as usize) {
        Some(list) => Ok(list),
        None => {
            let each = if rails == 1 { "one".to_owned() } else { rails.to_string() };
            let reason = format!("{} endpoints are listed; expected {each} for each of {ranks} ranks", list.len());
            Err(ScenarioError::missing(path, reason))
        }
    }
}

/// From a file: each line gives a rank's endpoint.
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
///
/// [workload.placement]
/// kind = "file"
/// file = "endpoints.txt"
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct File {
    /// A text file whose lines give the endpoint of each rank, from rank 0 on, or the endpoints of its rails, separated
    /// by blanks. Endpoints have their numbers or names. The path is relative to the scenario's folder.
    pub file: String,
}

impl PlacementParams for File {
    fn endpoints(&self, ranks: u32, among: &Free<'_>) -> Result<Vec<u32>, ScenarioError> {
        let refuse = |reason: String| ScenarioError::new("file", format!("{:?}", self.file), reason);
        // Only regular files: reading a device or a pipe may never end.
        if fs::metadata(&self.file).is_ok_and(|file| !file.is_file()) {
            return Err(refuse("not a regular file".into()));
        }
        let text = fs::read_to_string(&self.file).map_err(|error| refuse(format!("cannot be read: {error}")))?;
        let lookup = among.lookup();
        let named = among.topology.words().endpoint_name(0).is_some();
        let numbers = |(index, line): (usize, &str)| {
            let expected = match (among.rails, named) {
                (1, false) => "the number of an endpoint".to_owned(),
                (1, true) => "the number or the name of an endpoint".to_owned(),
                (rails, false) => format!("the numbers of {rails} endpoints"),
                (rails, true) => format!("the numbers or names of {rails} endpoints"),
            };
            let number = |text: &str| match text.parse() {
                Ok(number) => Some(number),
                Err(_) => lookup.endpoint(String::new, &Named::Name(text.to_owned())).ok(),
            };
            // A name can have blanks. It is the whole line if a rank has one endpoint.
            let numbers: Option<Vec<u32>> = match among.rails {
                1 => number(line.trim()).map(|one| vec![one]),
                _ => line.split_whitespace().map(number).collect(),
            };
            let numbers = numbers.filter(|numbers| numbers.len() == among.rails as usize);
            numbers.ok_or_else(|| refuse(format!("line {}: {:.40?}; expected {expected}", index + 1, line)))
        };
        let lines: Vec<Vec<u32>> = text.lines().enumerate().map(numbers).collect::<Result<_, _>>()?;
        first(&lines.concat(), ranks, among.rails, "file").map(<[u32]>::to_vec)
    }
}
