//! Different patterns for different endpoints.

use super::{Pattern, PatternKind, PatternParams, part_seed};
use crate::engine::Rng;
use crate::error::ScenarioError;
use crate::topology::{Lookup, Named, Topology};
use crate::traffic::Destinations;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// By endpoint: each part lists endpoints and their pattern; all other endpoints follow the background, or send
/// nothing. Endpoints of a part without a pattern send nothing, either. Fits topologies that all parts fit.
///
/// ```toml
/// [traffic]
/// load = 1.0
/// [traffic.pattern]
/// kind = "by_endpoint"
/// background = "uniform"
/// parts = [{ endpoints = [3, 7], pattern = "shift" }, { endpoints = [5] }]
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ByEndpoint {
    /// The endpoints with a pattern of their own, each in one part at most.
    pub parts: Vec<Part>,
    /// Pattern of all other endpoints; if left out, they send nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub background: Option<Box<PatternKind>>,
}

/// Endpoints and their pattern.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct Part {
    /// The endpoints, by their numbers or names.
    pub endpoints: Vec<Named>,
    /// Their pattern; if left out, they send nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<PatternKind>,
}

/// In [`Rule::part`]: the endpoint follows the background.
const OTHERS: u16 = u16::MAX;

impl PatternParams for ByEndpoint {
    fn build(&self, topology: &dyn Topology, seed: u64) -> Result<Arc<dyn Pattern>, ScenarioError> {
        if self.parts.len() >= usize::from(OTHERS) {
            return Err(ScenarioError::new("parts", self.parts.len(), format!("expected fewer than {OTHERS} parts")));
        }
        let lookup = Lookup::new(topology);
        let mut part_of = vec![OTHERS; topology.endpoints() as usize];
        let mut parts = Vec::with_capacity(self.parts.len());
        for (i, part) in self.parts.iter().enumerate() {
            let path = format!("parts[{i}].endpoints");
            for (index, endpoint) in lookup.listed_endpoints(&path, &part.endpoints)?.into_iter().enumerate() {
                let place = &mut part_of[endpoint as usize];
                if *place != OTHERS {
                    let path = format!("{path}[{index}]");
                    return Err(ScenarioError::new(path, &part.endpoints[index], "this endpoint is listed twice"));
                }
                *place = i as u16;
            }
            let build = |pattern: &PatternKind| pattern.build(topology, part_seed(seed, i));
            let built = part.pattern.as_ref().map(build).transpose();
            parts.push(built.map_err(|e| e.under(&format!("parts[{i}].pattern")))?);
        }
        let build = |pattern: &PatternKind| pattern.build(topology, part_seed(seed, usize::from(OTHERS)));
        let background = self.background.as_deref().map(build).transpose().map_err(|e| e.under("background"))?;
        Ok(Arc::new(Rule { part: part_of, parts, background }))
    }
}

#[derive(Debug)]
struct Rule {
    /// Part of every endpoint.
    part: Vec<u16>,
    parts: Vec<Option<Arc<dyn Pattern>>>,
    background: Option<Arc<dyn Pattern>>,
}

impl Rule {
    /// The pattern of `source`, if it sends.
    #[inline]
    fn pattern(&self, source: u32) -> Option<&dyn Pattern> {
        let part = self.part[source as usize];
        let pattern = if part == OTHERS { &self.background } else { &self.parts[usize::from(part)] };
        pattern.as_deref()
    }
}

impl Pattern for Rule {
    #[inline]
    fn destination(&self, source: u32, rng: &mut Rng) -> Option<u32> {
        self.pattern(source)?.destination(source, rng)
    }

    fn words(&self, source: u32) -> Option<u32> {
        self.pattern(source)?.words(source)
    }

    fn destinations(&self, source: u32) -> Option<Destinations> {
        self.pattern(source).map_or(Some(Destinations::Nothing), |pattern| pattern.destinations(source))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Stream;
    use crate::traffic::patterns::toy::Toy;
    use serde_json::{Value, json};

    fn build(value: Value) -> Result<Arc<dyn Pattern>, ScenarioError> {
        PatternKind::from_value("", &value)?.build(&Toy::new(5, 4, 1), 1)
    }

    #[test]
    fn everybody_follows_the_own_pattern() {
        let shift = |offset: u32| json!({ "kind": "shift", "offset": offset });
        let pattern = build(json!({ "kind": "by_endpoint", "background": shift(1), "parts": [
            { "endpoints": [3, 7], "pattern": shift(2) }, { "endpoints": [5] },
        ] }))
        .unwrap();
        let mut rng = Rng::new(1, Stream::Source, 0);
        let to: Vec<Option<u32>> = (3..8).map(|source| pattern.destination(source, &mut rng)).collect();
        assert_eq!(to, [Some(5), Some(5), None, Some(7), Some(9)]);
    }

    #[test]
    fn endpoints_and_parts_are_checked() {
        let error = |parts: Value| build(json!({ "kind": "by_endpoint", "parts": parts })).unwrap_err().to_string();
        assert_eq!(
            error(json!([{ "endpoints": [1, 20] }])),
            "parts[0].endpoints[1] = 20: expected an endpoint, 0 to 19"
        );
        assert_eq!(
            error(json!([{ "endpoints": [1] }, { "endpoints": [2, 1] }])),
            "parts[1].endpoints[1] = 1: this endpoint is listed twice"
        );
        assert!(error(json!([{ "endpoints": [1], "pattern": "transpose" }])).starts_with("parts[0].pattern"));
    }
}
