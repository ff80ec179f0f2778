//! When a contention counter is too high.

use crate::routing::RoutingContext;
use schemars::JsonSchema;
use serde::de::{Deserializer, Error, Unexpected, Visitor};
use serde::{Deserialize, Serialize, Serializer};

/// Whether a counter that equals the threshold triggers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Comparison {
    /// No: a counter triggers when it exceeds the threshold (the paper's text, section III-B).
    #[default]
    Exceeds,
    /// Yes: a counter triggers when it reaches the threshold (FOGSim, and so the paper's figures).
    Reaches,
}

/// A threshold: a number of heads, or `"auto"`: twice the mean number of queues per input port, rounded up, so that
/// misrouting is rare under saturated uniform traffic (section VI-A).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Threshold {
    /// Computed from ports and virtual channels.
    #[default]
    Auto,
    /// This many heads.
    Heads(u16),
}

impl Threshold {
    /// The number of heads for the routers of `context`.
    pub fn heads(self, context: &RoutingContext) -> u16 {
        match self {
            Self::Heads(heads) => heads,
            Self::Auto => {
                let topology = &context.topology;
                let ports: u32 = context.routers.iter().map(|router| u32::from(topology.ports(router))).sum();
                let of_port = |router, port| u32::from(context.queues[topology.port(router, port).class as usize]);
                let of_router = |router| (0..topology.ports(router)).map(|port| of_port(router, port)).sum::<u32>();
                let queues: u32 = context.routers.iter().map(of_router).sum();
                (2 * queues).div_ceil(ports.max(1)) as u16
            }
        }
    }
}

/// A threshold with its comparison, ready for use.
#[derive(Debug, Clone, Copy)]
pub struct Limit {
    /// The threshold.
    heads: u16,
    /// The least count that triggers.
    first: u16,
}

impl Limit {
    /// The counts that trigger at `threshold` heads.
    pub fn new(threshold: Threshold, comparison: Comparison, context: &RoutingContext) -> Self {
        let heads = threshold.heads(context);
        Self { heads, first: heads + u16::from(comparison == Comparison::Exceeds) }
    }

    /// True if `count` triggers.
    #[inline]
    pub fn is_over(self, count: u16) -> bool {
        count >= self.first
    }

    /// True if `count` leaves room for packets that come from elsewhere: it is below the threshold.
    #[inline]
    pub fn is_under(self, count: u16) -> bool {
        count < self.heads
    }

    /// True if it makes a difference whether a counter is at `higher` or one less.
    #[inline]
    pub fn was_crossed(self, higher: u16) -> bool {
        higher == self.first || higher == self.heads
    }

    /// How far `count` is beyond the last that does not trigger; 0 if it does not.
    pub fn excess(self, count: u16) -> u16 {
        (count + 1).saturating_sub(self.first)
    }
}

impl Serialize for Threshold {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Auto => s.serialize_str("auto"),
            Self::Heads(heads) => s.serialize_u16(*heads),
        }
    }
}

impl<'de> Deserialize<'de> for Threshold {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct Heads;
        impl Visitor<'_> for Heads {
            type Value = Threshold;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a number of heads from 1 to 10000, or \"auto\"")
            }
            fn visit_u64<E: Error>(self, v: u64) -> Result<Threshold, E> {
                match v {
                    1..=10_000 => Ok(Threshold::Heads(v as u16)),
                    _ => Err(E::invalid_value(Unexpected::Unsigned(v), &self)),
                }
            }
            fn visit_i64<E: Error>(self, v: i64) -> Result<Threshold, E> {
                u64::try_from(v)
                    .map_err(|_| E::invalid_value(Unexpected::Signed(v), &self))
                    .and_then(|v| self.visit_u64(v))
            }
            fn visit_str<E: Error>(self, v: &str) -> Result<Threshold, E> {
                match v {
                    "auto" => Ok(Threshold::Auto),
                    _ => Err(E::invalid_value(Unexpected::Str(v), &self)),
                }
            }
        }
        d.deserialize_any(Heads)
    }
}

impl JsonSchema for Threshold {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "contention_threshold".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({"anyOf": [{"type": "integer", "minimum": 1, "maximum": 10_000}, {"const": "auto"}]})
    }
}
