//! Uniform random traffic.

use super::{Pattern, PatternParams, at_least_two};
use crate::engine::Rng;
use crate::error::ScenarioError;
use crate::topology::Topology;
use crate::traffic::Destinations;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Uniform random (UN): every packet goes to an endpoint drawn uniformly and independently. Fits every topology of at
/// least two endpoints.
///
/// ```toml
/// [traffic.pattern]
/// kind = "uniform"
/// ```
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Uniform {
    /// Whether an endpoint may draw itself. Some simulators allow it (BookSim); their loads on the network are lower by
    /// 1/N.
    pub include_self: bool,
}

impl PatternParams for Uniform {
    fn build(&self, topology: &dyn Topology, _: u64) -> Result<Arc<dyn Pattern>, ScenarioError> {
        let endpoints = topology.endpoints();
        if self.include_self {
            return Ok(Arc::new(Anyone { among: endpoints, skipped: 0 }));
        }
        at_least_two("uniform", topology)?;
        Ok(Arc::new(Anyone { among: endpoints - 1, skipped: 1 }))
    }
}

/// Any endpoint, or any except the source.
#[derive(Debug, Clone, Copy)]
pub struct Anyone {
    /// Endpoints to choose from.
    among: u32,
    /// 1 if the source is excluded; 0 if it is included.
    skipped: u32,
}

impl Anyone {
    #[inline]
    pub(crate) fn draw(self, source: u32, rng: &mut Rng) -> u32 {
        let drawn = rng.below(self.among);
        drawn + (u32::from(drawn >= source) & self.skipped)
    }
}

impl Pattern for Anyone {
    #[inline]
    fn destination(&self, source: u32, rng: &mut Rng) -> Option<u32> {
        Some(self.draw(source, rng))
    }

    fn uniform(&self) -> Option<Self> {
        Some(*self)
    }

    fn words(&self, _source: u32) -> Option<u32> {
        Some(1)
    }

    fn destinations(&self, source: u32) -> Option<Destinations> {
        Some(match self.skipped {
            0 => Destinations::Among { first: 0, end: self.among },
            _ => Destinations::all_but(self.among + 1, source..source + 1),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Stream;
    use crate::traffic::patterns::toy::Toy;

    /// Pearson's statistic of 40000 draws over the endpoints that may be drawn.
    fn chi_square(params: Uniform, source: u32, cells: usize) -> f64 {
        let pattern = params.build(&Toy::new(5, 4, 1), 1).unwrap();
        let mut rng = Rng::new(3, Stream::Source, u64::from(source));
        let mut counts = [0u32; 20];
        for _ in 0..40_000 {
            counts[pattern.destination(source, &mut rng).unwrap() as usize] += 1;
        }
        if cells == 19 {
            assert_eq!(counts[source as usize], 0);
        }
        let mean = 40_000.0 / cells as f64;
        counts.iter().filter(|&&c| c > 0).map(|&c| (f64::from(c) - mean).powi(2) / mean).sum()
    }

    #[test]
    fn all_others_are_equally_likely_and_the_source_is_never_drawn() {
        for source in [0, 7, 19] {
            // 18 degrees of freedom: 42.3 is exceeded once in a thousand.
            assert!(chi_square(Uniform::default(), source, 19) < 42.3);
        }
    }

    #[test]
    fn the_source_may_be_included() {
        // 19 degrees of freedom: 43.8 is exceeded once in a thousand.
        assert!(chi_square(Uniform { include_self: true }, 7, 20) < 43.8);
    }

    #[test]
    fn a_single_endpoint_has_nobody_to_send_to() {
        let error = Uniform::default().build(&Toy::new(1, 1, 1), 1).unwrap_err();
        assert!(error.to_string().contains("at least 2 endpoints"), "{error}");
    }
}
