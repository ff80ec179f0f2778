//! Any network, given by its links.

mod distances;
mod network;

use super::faults::Faults;
use super::{Names, Topology, TopologyParams};
use crate::bandwidth::Bandwidth;
use crate::error::ScenarioError;
use crate::packet::MOST_CLASSES;
pub(super) use distances::MOST_ROUTERS;
pub(super) use network::{Link, Wiring};
use schemars::JsonSchema;
use serde::de::{Error, SeqAccess, Visitor};
use serde::ser::SerializeSeq;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::sync::Arc;

/// Any network of routers and links. Minimal routes are all shortest paths. The virtual channel of a hop follows from
/// the number of hops taken before it (K. D. Günther, "Prevention of deadlocks in packet-switched data transport
/// systems", IEEE Transactions on Communications 1981). Routes of at most d hops need d virtual channels, and Valiant
/// routes twice as many.
///
/// Ports of a router: its endpoints, then its links in the order of `links`. On the command line and in Python, `file`
/// names a file of links instead: an edge list, GraphML, or node-link JSON.
///
/// ```toml
/// # A ring of five routers with two endpoints each
/// [topology]
/// kind = "graph"
/// routers = 5
/// endpoints = 2
/// links = [[0, 1], [1, 2], [2, 3], [3, 4], [4, 0]]
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Graph {
    /// Number of routers.
    #[schemars(range(min = 1))]
    pub routers: u32,
    /// Endpoints at each router: one number for all, or a list with a number for each.
    #[serde(default)]
    pub endpoints: Endpoints,
    /// Phits per cycle of the link of every endpoint, in their order. If left out, `router.links.endpoint` holds for
    /// all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-unit" = "phits/cycle"))]
    pub endpoint_bandwidth: Vec<Bandwidth>,
    /// Links, each as two routers. Three more numbers may follow: the number of its class in `classes`, the port at the
    /// first router, and the port at the second. A pair that occurs twice has two parallel links.
    pub links: Vec<GraphLink>,
    /// Names of the classes of links, for `router.links`.
    #[serde(default = "one_class")]
    #[schemars(length(min = 1, max = MOST_CLASSES - 1))]
    pub classes: Vec<String>,
    /// Number of consecutive routers that form a group, for adversarial traffic and Valiant routes by groups.
    #[serde(default = "one")]
    #[schemars(range(min = 1))]
    pub group: u32,
    /// Names of routers, endpoints and ports in the real network.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub names: Option<Names>,
    /// Links, routers and endpoints that do not work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub faults: Option<Faults>,
    /// Parts of the network's file that carry no traffic. The package fills this in.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOut>,
}

/// Parts of one kind in the file of a network that carry no traffic.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct LeftOut {
    /// Their kind, in the plural.
    pub what: String,
    /// How many there are.
    #[schemars(range(min = 1))]
    pub count: u64,
    /// Position of the first of them in the file.
    pub first: String,
}

fn one() -> u32 {
    1
}

fn one_class() -> Vec<String> {
    vec!["link".into()]
}

/// Number of endpoints at routers.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Endpoints {
    /// One number for every router.
    Each(u32),
    /// A number for each router.
    Listed(Vec<u32>),
}

impl Default for Endpoints {
    fn default() -> Self {
        Self::Each(1)
    }
}

impl<'de> Deserialize<'de> for Endpoints {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct Counts;
        impl<'de> Visitor<'de> for Counts {
            type Value = Endpoints;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a number of endpoints, or a list of one for each router")
            }
            fn visit_u64<E: Error>(self, count: u64) -> Result<Endpoints, E> {
                let each = u32::try_from(count).map(Endpoints::Each);
                each.map_err(|_| E::invalid_value(serde::de::Unexpected::Unsigned(count), &self))
            }
            fn visit_i64<E: Error>(self, count: i64) -> Result<Endpoints, E> {
                match u64::try_from(count) {
                    Ok(count) => self.visit_u64(count),
                    Err(_) => Err(E::invalid_value(serde::de::Unexpected::Signed(count), &self)),
                }
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut row: A) -> Result<Endpoints, A::Error> {
                let mut counts = Vec::new();
                while let Some(count) = row.next_element()? {
                    counts.push(count);
                }
                Ok(Endpoints::Listed(counts))
            }
        }
        d.deserialize_any(Counts)
    }
}

/// A link of a [`Graph`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GraphLink {
    /// The routers at its ends.
    pub ends: [u32; 2],
    /// Its class, counted from 0 among `classes`.
    pub class: u8,
    /// Its ports at both routers; the next free ones if left out.
    pub ports: Option<[u16; 2]>,
}

impl Serialize for GraphLink {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        let [a, b] = self.ends;
        let numbers = match (self.ports, self.class) {
            (Some([p, q]), class) => vec![a, b, class.into(), p.into(), q.into()],
            (None, 0) => vec![a, b],
            (None, class) => vec![a, b, class.into()],
        };
        let mut seq = s.serialize_seq(Some(numbers.len()))?;
        numbers.iter().try_for_each(|number| seq.serialize_element(number))?;
        seq.end()
    }
}

impl<'de> Deserialize<'de> for GraphLink {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct Row;
        impl<'de> Visitor<'de> for Row {
            type Value = GraphLink;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("two routers, or two routers and a class, or two routers, a class and two ports")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut row: A) -> Result<GraphLink, A::Error> {
                let mut numbers = [0u32; 5];
                let mut count = 0;
                while let Some(number) = row.next_element::<u32>()? {
                    match numbers.get_mut(count) {
                        Some(place) => *place = number,
                        None => return Err(A::Error::invalid_length(count + 1, &self)),
                    }
                    count += 1;
                }
                let [a, b, class, p, q] = numbers;
                let class = u8::try_from(class).map_err(|_| A::Error::custom(format!("no class {class}")))?;
                let port = |port: u32| u16::try_from(port).map_err(|_| A::Error::custom(format!("no port {port}")));
                let ports = match count {
                    2 | 3 => None,
                    5 => Some([port(p)?, port(q)?]),
                    _ => return Err(A::Error::invalid_length(count, &self)),
                };
                Ok(GraphLink { ends: [a, b], class, ports })
            }
        }
        d.deserialize_seq(Row)
    }
}

impl JsonSchema for GraphLink {
    fn schema_name() -> Cow<'static, str> {
        "graph_link".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "Router, router, and if needed: class, port at the first, port at the second.",
            "type": "array", "items": {"type": "integer", "minimum": 0}, "minItems": 2, "maxItems": 5
        })
    }
}

impl TopologyParams for Graph {
    fn faults(&self) -> Option<&Faults> {
        self.faults.as_ref()
    }

    fn needs(&self) -> f64 {
        // The distance table has a byte for each pair of routers.
        let routers = f64::from(self.routers);
        routers * routers
    }

    fn build(&self) -> Result<Arc<dyn Topology>, ScenarioError> {
        let routers = self.routers as usize;
        let endpoints = match &self.endpoints {
            Endpoints::Each(count) => vec![*count; routers],
            Endpoints::Listed(counts) if counts.len() == routers => counts.clone(),
            Endpoints::Listed(counts) => {
                let expected = format!("expected {routers} numbers, one for each router");
                return Err(ScenarioError::new("endpoints", format!("a list of {}", counts.len()), expected));
            }
        };
        let link = |(index, link): (usize, &GraphLink)| {
            let GraphLink { ends, class, ports } = *link;
            match usize::from(class) < self.classes.len() {
                true => Ok(Link { ends, class: class + 1, ports }),
                false => {
                    let expected = format!("expected the number of one of {} classes, from 0 on", self.classes.len());
                    Err(ScenarioError::new(format!("links[{index}]"), format!("class {class}"), expected))
                }
            }
        };
        let links = self.links.iter().enumerate().map(link).collect::<Result<_, _>>()?;
        let bandwidth = self.endpoint_bandwidth.clone();
        let wiring = Wiring { classes: self.classes.clone(), endpoints, bandwidth, links, group: self.group };
        Ok(Arc::new(wiring.named(self.names.clone().unwrap_or_default())?))
    }
}

#[cfg(test)]
mod tests;
