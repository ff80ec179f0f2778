//! Bit permutations: the destination's number is a rearrangement of the source's bits.
//!
//! Definitions follow Dally and Towles, *Principles and Practices of Interconnection Networks*, section 3.2, and
//! BookSim. They act on endpoint numbers, not on coordinates, and need a power of two of endpoints. Endpoints whose
//! number is a fixed point send packets to themselves, which their router delivers.

use super::{Pattern, PatternParams, unfit};
use crate::engine::Rng;
use crate::error::ScenarioError;
use crate::topology::Topology;
use crate::traffic::Destinations;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Bit complement: every bit of the endpoint number is inverted, so endpoint i sends to N - 1 - i. Fits topologies
/// whose number of endpoints N is a power of two.
///
/// ```toml
/// [traffic.pattern]
/// kind = "bit_complement"
/// ```
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BitComplement {}

/// Bit reverse: the bits of the endpoint number in opposite order. Palindromes send to themselves. Fits topologies
/// whose number of endpoints is a power of two.
///
/// ```toml
/// [traffic.pattern]
/// kind = "bit_reverse"
/// ```
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BitReverse {}

/// Transpose: the upper and the lower half of the endpoint number's bits change places. This transposes a square matrix
/// that is stored row by row. The diagonal sends to itself. Acts on bits, not on a grid's coordinates. Fits topologies
/// whose number of endpoints is a power of four.
///
/// ```toml
/// [traffic.pattern]
/// kind = "transpose"
/// ```
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Transpose {}

/// Perfect shuffle: the bits of the endpoint number rotated left by one. Endpoints 0 and N - 1 send to themselves. Fits
/// topologies whose number of endpoints N is a power of two.
///
/// ```toml
/// [traffic.pattern]
/// kind = "shuffle"
/// ```
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Shuffle {}

impl PatternParams for BitComplement {
    fn build(&self, topology: &dyn Topology, _: u64) -> Result<Arc<dyn Pattern>, ScenarioError> {
        rearranged("bit_complement", topology, 1, |i, bits| !i & mask(bits))
    }
}

impl PatternParams for BitReverse {
    fn build(&self, topology: &dyn Topology, _: u64) -> Result<Arc<dyn Pattern>, ScenarioError> {
        rearranged("bit_reverse", topology, 1, |i, bits| i.reverse_bits() >> (32 - bits))
    }
}

impl PatternParams for Transpose {
    fn build(&self, topology: &dyn Topology, _: u64) -> Result<Arc<dyn Pattern>, ScenarioError> {
        rearranged("transpose", topology, 2, |i, bits| rotate(i, bits, bits / 2))
    }
}

impl PatternParams for Shuffle {
    fn build(&self, topology: &dyn Topology, _: u64) -> Result<Arc<dyn Pattern>, ScenarioError> {
        rearranged("shuffle", topology, 1, |i, bits| rotate(i, bits, 1))
    }
}

/// The lowest `bits` bits (1..=31).
fn mask(bits: u32) -> u32 {
    (1 << bits) - 1
}

/// `i`, a number of `bits` bits, rotated left by `by`.
fn rotate(i: u32, bits: u32, by: u32) -> u32 {
    (i << by | i >> (bits - by)) & mask(bits)
}

/// The pattern of `rule(endpoint, bits)`, if the number of bits is a positive multiple of `multiple`.
fn rearranged(
    kind: &str,
    topology: &dyn Topology,
    multiple: u32,
    rule: fn(u32, u32) -> u32,
) -> Result<Arc<dyn Pattern>, ScenarioError> {
    let endpoints = topology.endpoints();
    let bits = endpoints.max(1).ilog2();
    if !endpoints.is_power_of_two() || bits == 0 || !bits.is_multiple_of(multiple) {
        let power = if multiple == 2 { "four" } else { "two" };
        let reason = format!(
            "this pattern fits topologies whose number of endpoints is a power of {power}; this one has {endpoints}"
        );
        return Err(unfit(kind, reason));
    }
    Ok(Arc::new(Rearranged { bits, rule }))
}

#[derive(Debug)]
struct Rearranged {
    bits: u32,
    rule: fn(u32, u32) -> u32,
}

impl Pattern for Rearranged {
    #[inline]
    fn destination(&self, source: u32, _: &mut Rng) -> Option<u32> {
        Some((self.rule)(source, self.bits))
    }

    fn words(&self, _source: u32) -> Option<u32> {
        Some(0)
    }

    fn destinations(&self, source: u32) -> Option<Destinations> {
        Some(Destinations::only((self.rule)(source, self.bits)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Stream;
    use crate::traffic::patterns::PatternKind;
    use crate::traffic::patterns::toy::Toy;

    fn image(kind: &str, endpoints: u32) -> Vec<u32> {
        let pattern = PatternKind::from_value("", &kind.into()).unwrap().build(&Toy::new(endpoints, 1, 1), 1).unwrap();
        let mut rng = Rng::new(1, Stream::Source, 0);
        (0..endpoints).map(|i| pattern.destination(i, &mut rng).unwrap()).collect()
    }

    #[test]
    fn sixteen_endpoints_by_hand() {
        assert_eq!(image("bit_complement", 16)[0b0010], 0b1101);
        assert_eq!(image("bit_reverse", 16)[0b0010], 0b0100);
        assert_eq!(image("transpose", 16)[0b0110], 0b1001);
        assert_eq!(image("transpose", 16)[0b0001], 0b0100);
        assert_eq!(image("shuffle", 16)[0b1010], 0b0101);
        assert_eq!(image("shuffle", 2), [0, 1]);
    }

    #[test]
    fn they_are_permutations() {
        for kind in ["bit_complement", "bit_reverse", "transpose", "shuffle"] {
            for endpoints in [4, 64, 1024] {
                let mut sorted = image(kind, endpoints);
                sorted.sort_unstable();
                assert!(sorted.into_iter().eq(0..endpoints), "{kind} {endpoints}");
            }
        }
    }

    #[test]
    fn other_sizes_are_refused() {
        for (kind, endpoints) in [("bit_reverse", 12), ("shuffle", 1), ("transpose", 32), ("bit_complement", 72)] {
            let kind = PatternKind::from_value("", &kind.into()).unwrap();
            let error = kind.build(&Toy::new(endpoints, 1, 1), 1).unwrap_err();
            assert!(error.expected.contains(&format!("this one has {endpoints}")), "{error}");
        }
    }
}
