//! Shift permutation.

use super::{Pattern, PatternParams, at_least_two};
use crate::engine::Rng;
use crate::error::ScenarioError;
use crate::topology::Topology;
use crate::traffic::Destinations;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Shift: endpoint i sends all its packets to endpoint (i + offset) mod N. Fits every topology of at least two
/// endpoints.
///
/// ```toml
/// [traffic.pattern]
/// kind = "shift"
/// offset = 3
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Shift {
    /// Distance from source to destination in endpoint numbers; negative counts backwards.
    pub offset: i64,
    /// Whether endpoints may send to themselves. If not, an offset that leads back to the source is refused.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub include_self: bool,
}

impl Default for Shift {
    fn default() -> Self {
        Self { offset: 1, include_self: false }
    }
}

impl PatternParams for Shift {
    fn build(&self, topology: &dyn Topology, _: u64) -> Result<Arc<dyn Pattern>, ScenarioError> {
        at_least_two("shift", topology)?;
        let endpoints = topology.endpoints();
        match self.offset.rem_euclid(i64::from(endpoints)) as u32 {
            0 if !self.include_self => Err(ScenarioError::new(
                "offset",
                self.offset,
                format!(
                    "expected an offset that leads to another endpoint: not a multiple of the {endpoints} endpoints"
                ),
            )),
            offset => Ok(Arc::new(Shifted { offset, endpoints })),
        }
    }
}

/// Adds `offset` (0..endpoints) modulo the number of endpoints.
#[derive(Debug)]
pub(super) struct Shifted {
    pub(super) offset: u32,
    pub(super) endpoints: u32,
}

impl Shifted {
    #[inline]
    fn moved(&self, source: u32) -> u32 {
        let left = self.endpoints - self.offset;
        if source >= left { source - left } else { source + self.offset }
    }
}

impl Pattern for Shifted {
    #[inline]
    fn destination(&self, source: u32, _: &mut Rng) -> Option<u32> {
        Some(self.moved(source))
    }

    fn words(&self, _source: u32) -> Option<u32> {
        Some(0)
    }

    fn destinations(&self, source: u32) -> Option<Destinations> {
        Some(Destinations::only(self.moved(source)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Stream;
    use crate::traffic::patterns::toy::Toy;

    #[test]
    fn adds_the_offset_modulo_n() {
        let mut rng = Rng::new(1, Stream::Source, 0);
        for offset in [-25, -3, -1, 1, 7, 19, 23] {
            let pattern = Shift { offset, include_self: false }.build(&Toy::new(5, 4, 1), 1).unwrap();
            for i in 0..20 {
                let expected = (i64::from(i) + offset).rem_euclid(20) as u32;
                assert_eq!(pattern.destination(i, &mut rng), Some(expected));
            }
        }
        let around = |include_self| Shift { offset: -40, include_self }.build(&Toy::new(5, 4, 1), 1);
        assert!(around(false).is_err());
        assert_eq!(around(true).unwrap().destination(7, &mut rng), Some(7));
    }
}
