//! The exchanges of a fast Fourier transform.

use super::{Pattern, PatternParams, unfit};
use crate::engine::Rng;
use crate::error::ScenarioError;
use crate::topology::Topology;
use crate::traffic::Destinations;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The exchanges of a fast Fourier transform or a bitonic sort (butterfly). Message m of an endpoint goes to the
/// endpoint whose number differs in bit m mod log2 N alone. Packets without messages differ in a bit drawn at random.
/// Fits topologies whose number of endpoints N is a power of two, 2 or more.
///
/// ```toml
/// [traffic.pattern]
/// kind = "fft"
/// ```
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Fft {
    /// If given, all messages differ in this bit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bit: Option<u32>,
}

impl PatternParams for Fft {
    fn build(&self, topology: &dyn Topology, _: u64) -> Result<Arc<dyn Pattern>, ScenarioError> {
        let endpoints = topology.endpoints();
        if endpoints < 2 || !endpoints.is_power_of_two() {
            let reason = format!("fits a power of two endpoints, 2 or more; this topology has {endpoints}");
            return Err(unfit("fft", reason));
        }
        let bits = endpoints.ilog2();
        match self.bit {
            Some(bit) if bit >= bits => Err(ScenarioError::new(
                "bit",
                bit,
                format!("expected a bit of an endpoint's number, 0 to {}", bits - 1),
            )),
            Some(bit) => Ok(Arc::new(Exchange { first: bit, bits: 1 })),
            None => Ok(Arc::new(Exchange { first: 0, bits })),
        }
    }
}

#[derive(Debug)]
struct Exchange {
    first: u32,
    bits: u32,
}

impl Pattern for Exchange {
    fn destination(&self, source: u32, rng: &mut Rng) -> Option<u32> {
        Some(source ^ 1 << (self.first + rng.below(self.bits)))
    }

    fn message_destination(&self, source: u32, number: u32, _: &mut Rng) -> Option<u32> {
        Some(source ^ 1 << (self.first + number % self.bits))
    }

    fn words(&self, _source: u32) -> Option<u32> {
        Some(1)
    }

    fn destinations(&self, source: u32) -> Option<Destinations> {
        let bits = self.first..self.first + self.bits;
        Some(Destinations::Mix(bits.map(|bit| (1.0, Destinations::only(source ^ 1 << bit))).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Stream;
    use crate::traffic::patterns::toy::Toy;

    #[test]
    fn messages_go_through_the_bits_in_turn() {
        let pattern = Fft::default().build(&Toy::new(8, 1, 1), 1).unwrap();
        let mut rng = Rng::new(1, Stream::Source, 0);
        let sent: Vec<u32> = (0..5).map(|m| pattern.message_destination(5, m, &mut rng).unwrap()).collect();
        assert_eq!(sent, [4, 7, 1, 4, 7]);
        assert!((0..50).all(|_| (pattern.destination(5, &mut rng).unwrap() ^ 5).is_power_of_two()));
        let fixed = Fft { bit: Some(2) }.build(&Toy::new(8, 1, 1), 1).unwrap();
        assert_eq!(fixed.message_destination(5, 4, &mut rng), Some(1));
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let error = Fft::default().build(&Toy::new(12, 1, 1), 1).unwrap_err();
        assert!(error.expected.contains("this topology has 12"), "{error}");
        assert_eq!(Fft { bit: Some(3) }.build(&Toy::new(8, 1, 1), 1).unwrap_err().path, "bit");
    }
}
