//! Packet sizes.

use super::weighted::Weighted;
use crate::engine::Rng;
use crate::error::{ScenarioError, carried, read};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json};
use std::fmt::Debug;
use std::sync::Arc;

/// The distribution of packet sizes.
pub trait Sizes: Send + Sync + Debug {
    /// Size of the next packet in phits, at least 1.
    fn draw(&self, rng: &mut Rng) -> u16;
    /// Mean size in phits.
    fn mean(&self) -> f64;
    /// Variance of the size in phits^2.
    fn variance(&self) -> f64;
    /// Smallest and largest size in phits.
    fn range(&self) -> (u16, u16);
    /// The size of every packet, if it is not drawn.
    fn fixed(&self) -> Option<u16> {
        None
    }
}

/// The parameters of a distribution of packet sizes.
pub trait PacketSizeParams {
    /// Checks the parameters. Error paths are relative to the distribution's table.
    fn build(&self) -> Result<Arc<dyn Sizes>, ScenarioError>;
}

crate::registry::registry! {
    /// `traffic.packet_size`: the number of phits of a packet.
    pub enum PacketSizeKind: "packet size" as PacketSizeParams {
        "fixed" => Fixed(Fixed),
        "choice" => Choice(Choice),
        "uniform" => Uniform(Uniform),
    }
}

impl Default for PacketSizeKind {
    fn default() -> Self {
        Self::Fixed(Fixed { phits: 1 })
    }
}

impl PacketSizeKind {
    /// All packets of this size, in phits.
    pub fn phits(phits: u16) -> Self {
        Self::Fixed(Fixed { phits })
    }

    /// Reads the value found at `path`: a whole number of phits, or a table with `kind`. Checks the ranges.
    pub fn read(path: &str, value: &Value) -> Result<Self, ScenarioError> {
        let read = match value {
            Value::Number(_) => Self::Fixed(Fixed { phits: read::<Phits>(path, value)?.0 }),
            _ => Self::from_value(path, value)?,
        };
        read.params().build().map_err(|e| e.under(path))?;
        Ok(read)
    }
}

/// Reads a packet size, for `#[serde(deserialize_with)]`.
pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PacketSizeKind, D::Error> {
    let value = Value::deserialize(deserializer)?;
    PacketSizeKind::read("", &value).map_err(|e| serde::de::Error::custom(carried(&e)))
}

/// Reads a packet size that may be left out.
pub(super) fn deserialize_some<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<PacketSizeKind>, D::Error> {
    deserialize(deserializer).map(Some)
}

/// A whole number of phits, or a table with `kind`.
pub(super) fn schema(generator: &mut SchemaGenerator) -> Schema {
    let number = json!({ "type": "integer", "minimum": 1, "maximum": u16::MAX, "x-unit": "phits" });
    json_schema!({ "anyOf": [number, generator.subschema_for::<PacketSizeKind>()] })
}

/// A whole number of phits given without a table.
struct Phits(u16);

impl<'de> Deserialize<'de> for Phits {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let phits = value.as_u64().and_then(|n| u16::try_from(n).ok()).filter(|&n| n > 0);
        phits.map(Self).ok_or_else(|| serde::de::Error::custom(EXPECTED))
    }
}

const EXPECTED: &str = "expected a whole number of phits, 1 to 65535";

/// Fixed size: all packets have one size in phits.
///
/// ```toml
/// [traffic.packet_size]
/// kind = "fixed"
/// phits = 8
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Fixed {
    /// Size in phits.
    #[schemars(range(min = 1))]
    #[schemars(extend("x-unit" = "phits"))]
    pub phits: u16,
}

impl PacketSizeParams for Fixed {
    fn build(&self) -> Result<Arc<dyn Sizes>, ScenarioError> {
        Ok(Arc::new(self.clone()))
    }
}

impl Sizes for Fixed {
    #[inline]
    fn draw(&self, _: &mut Rng) -> u16 {
        self.phits
    }
    fn mean(&self) -> f64 {
        f64::from(self.phits)
    }
    fn variance(&self) -> f64 {
        0.0
    }
    fn range(&self) -> (u16, u16) {
        (self.phits, self.phits)
    }
    fn fixed(&self) -> Option<u16> {
        Some(self.phits)
    }
}

/// Choice of sizes: each packet draws one of several sizes, independently.
///
/// ```toml
/// [traffic.packet_size]
/// kind = "choice"
/// sizes = [1, 8]
/// weights = [3.0, 1.0]
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Choice {
    /// Sizes in phits.
    #[schemars(length(min = 1), inner(range(min = 1)))]
    #[schemars(extend("x-unit" = "phits"))]
    pub sizes: Vec<u16>,
    /// Weights of the sizes by number of packets, relative to their sum; if empty, all sizes are equally likely.
    #[serde(default)]
    #[schemars(inner(range(min = 0)))]
    pub weights: Vec<f64>,
}

impl PacketSizeParams for Choice {
    fn build(&self) -> Result<Arc<dyn Sizes>, ScenarioError> {
        let weights = match self.weights.len() {
            0 => Weighted::new(&vec![1.0; self.sizes.len()]),
            n if n == self.sizes.len() => Weighted::new(&self.weights),
            n => Err(format!("expected one weight per size: {}, not {n}", self.sizes.len())),
        };
        let weights = weights.map_err(|reason| ScenarioError::new("weights", json!(self.weights), reason))?;
        Ok(Arc::new(Chosen { sizes: self.sizes.clone(), weights }))
    }
}

#[derive(Debug)]
struct Chosen {
    sizes: Vec<u16>,
    weights: Weighted,
}

impl Chosen {
    /// `(size in phits, probability)` of the sizes that occur.
    fn occurring(&self) -> impl Iterator<Item = (u16, f64)> {
        self.sizes.iter().enumerate().map(|(i, &s)| (s, self.weights.share(i))).filter(|&(_, share)| share > 0.0)
    }
}

impl Sizes for Chosen {
    fn draw(&self, rng: &mut Rng) -> u16 {
        self.sizes[self.weights.pick(rng)]
    }
    fn mean(&self) -> f64 {
        self.occurring().map(|(size, share)| f64::from(size) * share).sum()
    }
    fn variance(&self) -> f64 {
        let mean = self.mean();
        self.occurring().map(|(size, share)| (f64::from(size) - mean).powi(2) * share).sum()
    }
    fn range(&self) -> (u16, u16) {
        self.occurring().fold((u16::MAX, 0), |(min, max), (size, _)| (min.min(size), max.max(size)))
    }
}

/// Uniform sizes: each packet draws a whole number of phits between two bounds, all equally likely.
///
/// ```toml
/// [traffic.packet_size]
/// kind = "uniform"
/// min = 1
/// max = 8
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Uniform {
    /// Smallest size in phits.
    #[schemars(range(min = 1))]
    #[schemars(extend("x-unit" = "phits"))]
    pub min: u16,
    /// Largest size in phits, at least `min`.
    #[schemars(range(min = 1))]
    #[schemars(extend("x-unit" = "phits"))]
    pub max: u16,
}

impl PacketSizeParams for Uniform {
    fn build(&self) -> Result<Arc<dyn Sizes>, ScenarioError> {
        if self.max < self.min {
            return Err(ScenarioError::new("max", self.max, format!("expected at least `min` = {} phits", self.min)));
        }
        Ok(Arc::new(self.clone()))
    }
}

impl Sizes for Uniform {
    fn draw(&self, rng: &mut Rng) -> u16 {
        self.min + rng.below(u32::from(self.max - self.min) + 1) as u16
    }
    fn mean(&self) -> f64 {
        (f64::from(self.min) + f64::from(self.max)) / 2.0
    }
    fn variance(&self) -> f64 {
        let count = f64::from(self.max - self.min) + 1.0;
        (count * count - 1.0) / 12.0
    }
    fn range(&self) -> (u16, u16) {
        (self.min, self.max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Stream;

    fn build(value: Value) -> Result<Arc<dyn Sizes>, ScenarioError> {
        PacketSizeKind::read("packet_size", &value)?.params().build()
    }

    #[test]
    fn draws_have_the_stated_mean_and_range() {
        let cases = [
            (json!(8), 8.0, (8, 8)),
            (json!({ "kind": "fixed", "phits": 3 }), 3.0, (3, 3)),
            (json!({ "kind": "choice", "sizes": [1, 5] }), 3.0, (1, 5)),
            (json!({ "kind": "choice", "sizes": [1, 5, 9], "weights": [3, 1, 0] }), 2.0, (1, 5)),
            (json!({ "kind": "uniform", "min": 1, "max": 8 }), 4.5, (1, 8)),
            (json!({ "kind": "uniform", "min": 1, "max": 65535 }), 32768.0, (1, 65535)),
        ];
        for (value, mean, range) in cases {
            let sizes = build(value.clone()).unwrap();
            assert_eq!((sizes.mean(), sizes.range()), (mean, range), "{value}");
            let mut rng = Rng::new(1, Stream::Source, 0);
            let drawn: Vec<u16> = (0..100_000).map(|_| sizes.draw(&mut rng)).collect();
            assert!(drawn.iter().all(|s| (range.0..=range.1).contains(s)));
            let average = drawn.iter().map(|&s| f64::from(s)).sum::<f64>() / 1e5;
            // Standard deviation of the average: at most a third of the range, divided by sqrt(100000) = 316. The bound
            // is five of them.
            let bound = f64::from(range.1 - range.0) / 3.0 / 316.0 * 5.0;
            assert!((average - mean).abs() <= bound, "{value}: {average}");
            // The variance's relative standard error is at most sqrt(2 / 100000): 1 / 224.
            let spread = drawn.iter().map(|&s| (f64::from(s) - mean).powi(2)).sum::<f64>() / 1e5;
            assert!((spread - sizes.variance()).abs() <= sizes.variance() * 5.0 / 224.0, "{value}: {spread}");
        }
    }

    #[test]
    fn impossible_sizes_are_refused() {
        let cases = [
            (json!(0), "packet_size"),
            (json!(70000), "packet_size"),
            (json!(-1), "packet_size"),
            (json!({ "kind": "choice", "sizes": [] }), "packet_size.sizes"),
            (json!({ "kind": "choice", "sizes": [1, 0] }), "packet_size.sizes[1]"),
            (json!({ "kind": "choice", "sizes": [1, 2], "weights": [1] }), "packet_size.weights"),
            (json!({ "kind": "choice", "sizes": [1, 2], "weights": [0, 0] }), "packet_size.weights"),
            (json!({ "kind": "uniform", "min": 3, "max": 2 }), "packet_size.max"),
            (json!({ "kind": "uniform", "min": 0, "max": 2 }), "packet_size.min"),
            (json!({ "kind": "fixed", "size": 2 }), "packet_size.size"),
        ];
        for (value, path) in cases {
            assert_eq!(build(value).unwrap_err().path, path);
        }
    }
}
