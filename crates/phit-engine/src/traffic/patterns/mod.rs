//! Spatial patterns: the destinations of packets. One file per pattern; a new one comes here.

use crate::engine::{Rng, Stream};
use crate::error::ScenarioError;
use crate::topology::Topology;
use crate::traffic::Destinations;
use std::sync::Arc;

mod adversarial;
mod bits;
mod by_endpoint;
mod fft;
mod groups;
mod hotspot;
mod mix;
mod neighbor;
mod permutation;
mod python;
mod rotation;
mod shift;
mod tornado;
#[cfg(test)]
pub(super) mod toy;
mod uniform;
mod worst_case_uniform;

pub(crate) use uniform::Anyone;

/// The seam `traffic`, spatial part: the destination of a packet.
pub trait Pattern: Send + Sync + std::fmt::Debug {
    /// Destination of a packet that endpoint `source` generates now; `None` if this endpoint never sends under the
    /// pattern. A packet to `source` itself is an ordinary packet: its router delivers it.
    fn destination(&self, source: u32, rng: &mut Rng) -> Option<u32>;

    /// Destination of message `number` of `source`, counted from 0. For patterns that take their destinations in turn.
    fn message_destination(&self, source: u32, _number: u32, rng: &mut Rng) -> Option<u32> {
        self.destination(source, rng)
    }

    /// The long-run distribution of the destinations of `source`. `None` if the pattern does not know it: then bounds
    /// of the throughput cannot be computed.
    fn destinations(&self, _source: u32) -> Option<Destinations> {
        None
    }

    /// Random words that every destination of `source` takes, if that is the same number for all, and there is always
    /// one. Then packets can be counted without drawing their destinations.
    fn words(&self, _source: u32) -> Option<u32> {
        None
    }

    /// The uniform pattern, if this is one: every packet goes to any endpoint, or to any other.
    fn uniform(&self) -> Option<Anyone> {
        None
    }
}

/// The parameters of a pattern.
pub trait PatternParams {
    /// Fits the pattern to a topology, or says why it does not fit. Error paths are relative to the pattern's table.
    /// `seed` is for patterns that are drawn at random once, before the run.
    fn build(&self, topology: &dyn Topology, seed: u64) -> Result<Arc<dyn Pattern>, ScenarioError>;
}

crate::registry::registry! {
    /// `traffic.pattern`: destinations of each endpoint's packets.
    pub enum PatternKind: "traffic pattern" as PatternParams {
        "uniform" => Uniform(uniform::Uniform),
        "adversarial" => Adversarial(adversarial::Adversarial),
        "shift" => Shift(shift::Shift),
        "bit_complement" => BitComplement(bits::BitComplement),
        "bit_reverse" => BitReverse(bits::BitReverse),
        "transpose" => Transpose(bits::Transpose),
        "shuffle" => Shuffle(bits::Shuffle),
        "fft" => Fft(fft::Fft),
        "rotation" => Rotation(rotation::Rotation),
        "tornado" => Tornado(tornado::Tornado),
        "neighbor" => Neighbor(neighbor::Neighbor),
        "permutation" => Permutation(permutation::Permutation),
        "hotspot" => Hotspot(hotspot::Hotspot),
        "worst_case_uniform" => WorstCaseUniform(worst_case_uniform::WorstCaseUniform),
        "mix" => Mix(mix::Mix),
        "by_endpoint" => ByEndpoint(by_endpoint::ByEndpoint),
        "python_pattern" => Python(python::PythonPattern),
    }
}

impl Default for PatternKind {
    fn default() -> Self {
        Self::Uniform(Default::default())
    }
}

impl PatternKind {
    /// Fits the pattern to a topology. Error paths are relative to the pattern's table.
    pub fn build(&self, topology: &dyn Topology, seed: u64) -> Result<Arc<dyn Pattern>, ScenarioError> {
        self.params().build(topology, seed)
    }
}

/// The seed of the `index`-th pattern inside another one, so that two random permutations in one mix differ.
pub(crate) fn part_seed(seed: u64, index: usize) -> u64 {
    Rng::new(seed, Stream::Pattern, 1 + index as u64).bits()
}

/// The error for a pattern that does not fit the topology.
fn unfit(kind: &str, reason: impl Into<String>) -> ScenarioError {
    ScenarioError::new("", format!("{kind:?}"), reason)
}

/// Refuses a network with fewer than two endpoints.
fn at_least_two(kind: &str, topology: &dyn Topology) -> Result<(), ScenarioError> {
    match topology.endpoints() {
        n if n >= 2 => Ok(()),
        n => Err(unfit(kind, format!("this pattern fits any topology of at least 2 endpoints; this one has {n}"))),
    }
}

/// A permutation held as a table of destinations, four bytes per endpoint.
#[derive(Debug)]
struct Table(Vec<u32>);

impl Pattern for Table {
    #[inline]
    fn destination(&self, source: u32, _: &mut Rng) -> Option<u32> {
        self.0.get(source as usize).copied()
    }

    fn words(&self, source: u32) -> Option<u32> {
        self.0.get(source as usize).map(|_| 0)
    }

    fn destinations(&self, source: u32) -> Option<Destinations> {
        self.0.get(source as usize).map(|&only| Destinations::only(only))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::{Topology, TopologyKind};
    use serde_json::{Value, json};

    /// Adds the `share` of packets with these destinations to the shares of endpoints.
    fn add(destinations: &Destinations, share: f64, shares: &mut [f64]) {
        match destinations {
            Destinations::Nothing => {}
            Destinations::Among { first, end } => {
                for endpoint in *first..*end {
                    shares[endpoint as usize] += share / f64::from(end - first);
                }
            }
            Destinations::Split { share: part, these, others } => {
                add(these, share * part, shares);
                add(others, share * (1.0 - part), shares);
            }
            Destinations::Mix(ways) => {
                let sum: f64 = ways.iter().map(|(weight, _)| weight).sum();
                ways.iter().for_each(|(weight, way)| add(way, share * weight / sum, shares));
            }
        }
    }

    fn topology(document: &Value) -> Arc<dyn Topology> {
        TopologyKind::from_value("topology", document).unwrap().build().unwrap()
    }

    #[test]
    fn packets_go_where_the_pattern_says() {
        const DRAWN: u32 = 2000;
        let grid = topology(&json!({ "kind": "mesh", "dims": [4, 4] }));
        let tree = topology(&json!({ "kind": "clos", "down": [4, 4], "up": [4] }));
        let uneven = topology(&json!({ "kind": "cascade", "rows": 2, "columns": 3, "endpoints_per_router": 2 }));
        let silent = json!({ "kind": "by_endpoint", "parts": [{ "endpoints": [0, 1, 2], "pattern": "uniform" }] });
        // In the second part, endpoints from 3 on never send. If packets draw their parts, these endpoints follow the
        // others.
        let parts = json!([
            { "weight": 3, "pattern": "neighbor" }, { "weight": 2, "pattern": silent },
            { "weight": 1, "pattern": "uniform" },
        ]);
        let cases = [
            (&grid, json!("uniform")),
            (&grid, json!({ "kind": "uniform", "include_self": true })),
            (&grid, json!({ "kind": "adversarial", "offset": 3 })),
            (&uneven, json!({ "kind": "adversarial", "offset": -1 })),
            (&grid, json!({ "kind": "shift", "offset": 5 })),
            (&grid, json!("bit_complement")),
            (&grid, json!("bit_reverse")),
            (&grid, json!("transpose")),
            (&grid, json!("shuffle")),
            (&grid, json!("fft")),
            (&grid, json!({ "kind": "fft", "bit": 2 })),
            (&grid, json!("rotation")),
            (&grid, json!("tornado")),
            (&grid, json!("neighbor")),
            (&grid, json!("permutation")),
            (&grid, json!({ "kind": "hotspot", "targets": [3, 7], "share": 0.3 })),
            (&grid, json!({ "kind": "hotspot", "targets": [3], "share": 1.0 })),
            (&tree, json!("worst_case_uniform")),
            (&grid, json!({ "kind": "mix", "parts": parts })),
            (&grid, json!({ "kind": "mix", "by": "router", "parts": parts })),
            (&grid, silent.clone()),
        ];
        // A function's distribution is not known.
        for &kind in PatternKind::KINDS.iter().filter(|kind| **kind != "python_pattern") {
            let named = |document: &Value| document == kind || document["kind"] == kind;
            assert!(cases.iter().any(|(_, document)| named(document)), "no case for {kind}");
        }
        for (topology, document) in cases {
            let pattern = PatternKind::from_value("", &document).unwrap().build(&**topology, 1).unwrap();
            for source in 0..topology.endpoints() {
                let destinations = pattern.destinations(source).unwrap();
                let mut shares = vec![0.0; topology.endpoints() as usize];
                add(&destinations, 1.0, &mut shares);
                let mut rng = Rng::new(1, Stream::Source, u64::from(source));
                let mut counts = vec![0u32; shares.len()];
                for _ in 0..DRAWN {
                    match pattern.destination(source, &mut rng) {
                        Some(destination) => counts[destination as usize] += 1,
                        None => assert_eq!(destinations, Destinations::Nothing, "{document}, endpoint {source}"),
                    }
                }
                let whole: f64 = shares.iter().sum();
                let expected = if destinations == Destinations::Nothing { 0.0 } else { 1.0 };
                assert!((whole - expected).abs() < 1e-9, "{document}, endpoint {source}: shares of {whole}");
                for (to, (&share, &count)) in shares.iter().zip(&counts).enumerate() {
                    let mean = share * f64::from(DRAWN);
                    // Five standard deviations of a binomial distribution, which is exceeded once in a million.
                    let far = 5.0 * (mean * (1.0 - share)).max(0.0).sqrt();
                    let off = (f64::from(count) - mean).abs();
                    assert!(off <= far + 1e-6, "{document}: {source} to {to}: {count} of {DRAWN}, expected {mean}");
                }
            }
        }
    }

    #[test]
    fn what_a_hot_spot_leaves_to_nobody_has_no_shares() {
        let grid = topology(&json!({ "kind": "mesh", "dims": [4] }));
        let silent = json!({ "kind": "by_endpoint", "parts": [] });
        let document = json!({ "kind": "hotspot", "targets": [3], "share": 0.3, "background": silent });
        let pattern = PatternKind::from_value("", &document).unwrap().build(&*grid, 1).unwrap();
        assert_eq!((pattern.destinations(0), pattern.destinations(3)), (None, Some(Destinations::Nothing)));
    }
}
