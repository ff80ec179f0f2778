//! Mixes of patterns.

use super::{Pattern, PatternKind, PatternParams, part_seed};
use crate::engine::Rng;
use crate::error::ScenarioError;
use crate::topology::Topology;
use crate::traffic::Destinations;
use crate::traffic::weighted::Weighted;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Mix: several patterns at once, in proportion to their weights. The pattern is drawn for every packet, or fixed for
/// every router (the node-level and the router-level combined traffic of the TPR paper). Fits topologies that all parts
/// fit.
///
/// ```toml
/// [traffic.pattern]
/// kind = "mix"
/// parts = [{ weight = 3.0, pattern = "uniform" }, { weight = 1.0, pattern = { kind = "shift", offset = 4 } }]
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Mix {
    /// The patterns and their weights.
    #[schemars(length(min = 1))]
    pub parts: Vec<Part>,
    /// Whether a packet or a router decides which part is followed.
    #[serde(default)]
    pub by: By,
}

/// One pattern of a mix.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct Part {
    /// Weight, relative to the sum of all weights; zero or more.
    #[schemars(range(min = 0))]
    pub weight: f64,
    /// The pattern.
    pub pattern: PatternKind,
}

/// Whether a packet or a router decides which part of a mix is followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum By {
    /// Every packet draws its part.
    #[default]
    Packet,
    /// All endpoints of a router follow one part; the parts are interleaved evenly over the routers with endpoints.
    Router,
}

impl PatternParams for Mix {
    fn build(&self, topology: &dyn Topology, seed: u64) -> Result<Arc<dyn Pattern>, ScenarioError> {
        let given: Vec<f64> = self.parts.iter().map(|p| p.weight).collect();
        let weights = Weighted::new(&given).map_err(|reason| ScenarioError::missing("parts", reason))?;
        let mut parts = Vec::with_capacity(self.parts.len());
        for (i, part) in self.parts.iter().enumerate() {
            let built = part.pattern.build(topology, part_seed(seed, i));
            parts.push(built.map_err(|e| e.under(&format!("parts[{i}].pattern")))?);
        }
        Ok(match self.by {
            By::Packet => Arc::new(PerPacket { weights, given, parts }),
            By::Router => Arc::new(PerRouter { part: interleave(&weights, topology), parts }),
        })
    }
}

/// The part of every endpoint. In order, each router with endpoints takes the part that is furthest below its share.
fn interleave(weights: &Weighted, topology: &dyn Topology) -> Vec<u16> {
    const NONE: u16 = u16::MAX;
    let mut of_router = vec![NONE; topology.routers() as usize];
    let mut has_endpoints = vec![false; topology.routers() as usize];
    for e in 0..topology.endpoints() {
        has_endpoints[topology.attachment(e).0 as usize] = true;
    }
    let mut given = vec![0.0; weights.len()];
    let routers = (0..of_router.len()).filter(|&r| has_endpoints[r]);
    for (done, router) in routers.enumerate() {
        let lag = |i: usize| weights.share(i) * (done + 1) as f64 - given[i];
        let part = (1..weights.len()).fold(0, |best, i| if lag(i) > lag(best) + 1e-9 { i } else { best });
        given[part] += 1.0;
        of_router[router] = part as u16;
    }
    (0..topology.endpoints()).map(|e| of_router[topology.attachment(e).0 as usize]).collect()
}

#[derive(Debug)]
struct PerPacket {
    weights: Weighted,
    /// The weights as they were given.
    given: Vec<f64>,
    parts: Vec<Arc<dyn Pattern>>,
}

impl Pattern for PerPacket {
    fn destination(&self, source: u32, rng: &mut Rng) -> Option<u32> {
        let drawn = self.weights.pick(rng);
        // An endpoint that never sends in one part sends all its packets in the others.
        let (before, from) = self.parts.split_at(drawn);
        from.iter().chain(before).find_map(|part| part.destination(source, rng))
    }

    fn destinations(&self, source: u32) -> Option<Destinations> {
        let ways: Vec<Destinations> = self.parts.iter().map(|part| part.destinations(source)).collect::<Option<_>>()?;
        let sends = |i: &usize| ways[*i] != Destinations::Nothing;
        let count = ways.len();
        let mut weights = vec![0.0; count];
        for (drawn, weight) in self.given.iter().enumerate() {
            // As in `destination`: take the next part in which it sends.
            let Some(part) = (drawn..drawn + count).map(|i| i % count).find(sends) else {
                return Some(Destinations::Nothing);
            };
            weights[part] += weight;
        }
        Some(Destinations::Mix(weights.into_iter().zip(ways).filter(|(weight, _)| *weight > 0.0).collect()))
    }
}

#[derive(Debug)]
struct PerRouter {
    /// Part of every endpoint.
    part: Vec<u16>,
    parts: Vec<Arc<dyn Pattern>>,
}

impl Pattern for PerRouter {
    #[inline]
    fn destination(&self, source: u32, rng: &mut Rng) -> Option<u32> {
        self.parts[usize::from(self.part[source as usize])].destination(source, rng)
    }

    fn words(&self, source: u32) -> Option<u32> {
        self.parts[usize::from(self.part[source as usize])].words(source)
    }

    fn destinations(&self, source: u32) -> Option<Destinations> {
        self.parts[usize::from(self.part[source as usize])].destinations(source)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Stream;
    use crate::traffic::patterns::toy::Toy;
    use serde_json::json;

    fn mix(by: &str, weights: [f64; 2]) -> Result<Arc<dyn Pattern>, ScenarioError> {
        let parts = [(weights[0], 1), (weights[1], 2)]
            .map(|(weight, offset)| json!({ "weight": weight, "pattern": { "kind": "shift", "offset": offset } }));
        let value = json!({ "kind": "mix", "by": by, "parts": parts });
        PatternKind::from_value("", &value)?.build(&Toy::new(10, 2, 1), 1)
    }

    #[test]
    fn packets_follow_the_weights() {
        let pattern = mix("packet", [1.0, 4.0]).unwrap();
        let mut rng = Rng::new(1, Stream::Source, 0);
        let ones = (0..100_000).filter(|_| pattern.destination(5, &mut rng) == Some(6)).count();
        // The standard deviation is 126.
        assert!((ones as f64 - 20_000.0).abs() < 500.0, "{ones}");
    }

    #[test]
    fn routers_interleave_in_proportion() {
        let mut rng = Rng::new(1, Stream::Source, 0);
        let mut offsets = |weights| -> Vec<u32> {
            let pattern = mix("router", weights).unwrap();
            (0..20).map(|e| (pattern.destination(e, &mut rng).unwrap() + 20 - e) % 20).collect()
        };
        let half = offsets([0.5, 0.5]);
        assert!((0..20).all(|e| half[e] == if e / 2 % 2 == 0 { 1 } else { 2 }), "{half:?}");
        let fifth = offsets([20.0, 80.0]);
        assert_eq!(fifth.iter().filter(|&&o| o == 1).count(), 4);
        assert!((0..20).step_by(2).all(|e| fifth[e] == fifth[e + 1]), "one part per router");
    }

    #[test]
    fn weights_and_parts_are_checked() {
        assert!(mix("packet", [0.0, 0.0]).unwrap_err().expected.contains("sum"));
        assert!(mix("packet", [-1.0, 2.0]).unwrap_err().to_string().starts_with("parts[0].weight = -1.0: expected"));
        let value = json!({ "kind": "mix", "parts": [{ "weight": 1, "pattern": "transpose" }] });
        let error = PatternKind::from_value("", &value).unwrap().build(&Toy::new(10, 2, 1), 1).unwrap_err();
        assert_eq!(error.path, "parts[0].pattern");
    }
}
