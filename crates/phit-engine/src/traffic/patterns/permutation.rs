//! Random permutation.

use super::{Pattern, PatternParams, Table, at_least_two};
use crate::engine::{Rng, Stream};
use crate::error::ScenarioError;
use crate::topology::Topology;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Random permutation: a permutation of the endpoints, drawn uniformly before the run. Every endpoint sends all its
/// packets to one other endpoint, and receives from one. Fits every topology of at least two endpoints.
///
/// ```toml
/// [traffic.pattern]
/// kind = "permutation"
/// seed = 7
/// ```
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Permutation {
    /// Seed of the permutation; if left out, it follows from the scenario's seed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Whether endpoints may send to themselves. If not, the permutation is drawn uniformly among those without fixed
    /// points.
    pub fixed_points: bool,
}

impl PatternParams for Permutation {
    fn build(&self, topology: &dyn Topology, seed: u64) -> Result<Arc<dyn Pattern>, ScenarioError> {
        at_least_two("permutation", topology)?;
        let mut rng = Rng::new(self.seed.unwrap_or(seed), Stream::Pattern, 0);
        let mut image: Vec<u32> = (0..topology.endpoints()).collect();
        loop {
            rng.shuffle(&mut image);
            // About one permutation in e has no fixed points, so few are rejected.
            if self.fixed_points || image.iter().enumerate().all(|(i, &d)| i as u32 != d) {
                return Ok(Arc::new(Table(image)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traffic::patterns::toy::Toy;

    fn image(params: &Permutation, endpoints: u32, seed: u64) -> Vec<u32> {
        let pattern = params.build(&Toy::new(endpoints, 1, 1), seed).unwrap();
        let mut rng = Rng::new(9, Stream::Source, 0);
        (0..endpoints).map(|i| pattern.destination(i, &mut rng).unwrap()).collect()
    }

    #[test]
    fn the_key_seed_overrides_the_scenario_seed() {
        let (free, fixed) = (Permutation::default(), Permutation { seed: Some(5), fixed_points: false });
        assert_eq!(image(&free, 50, 1), image(&free, 50, 1));
        assert_ne!(image(&free, 50, 1), image(&free, 50, 2));
        assert_eq!(image(&fixed, 50, 1), image(&fixed, 50, 2));
        assert_eq!(image(&fixed, 50, 1), image(&free, 50, 5));
    }

    #[test]
    fn every_derangement_is_equally_likely() {
        // Four endpoints have nine derangements and 24 permutations.
        for (fixed_points, kinds, limit) in [(false, 9, 26.1), (true, 24, 49.7)] {
            let mut counts = std::collections::HashMap::new();
            for seed in 0..9000 {
                *counts.entry(image(&Permutation { seed: None, fixed_points }, 4, seed)).or_insert(0u32) += 1;
            }
            assert_eq!(counts.len(), kinds);
            let mean = 9000.0 / kinds as f64;
            // 8 and 23 degrees of freedom, exceeded once in a thousand.
            let chi: f64 = counts.values().map(|&c| (f64::from(c) - mean).powi(2) / mean).sum();
            assert!(chi < limit, "{chi}");
        }
    }
}
