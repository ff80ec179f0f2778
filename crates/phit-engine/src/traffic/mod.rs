//! Offered traffic: spatial patterns, injection processes, packet sizes.
//!
//! The packets of an endpoint follow from the scenario and its seed alone. They are drawn lazily from the endpoint's
//! own random stream, so they do not depend on the time of the request.

use crate::error::{ScenarioError, join};
use crate::schema::parse;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

mod classes;
mod destinations;
mod packet_size;
mod patterns;
mod planes;
mod processes;
mod rates;
mod requests;
mod source;
mod trace;
mod weighted;

pub(crate) use classes::WeightedPattern;
pub use classes::{ClassParams, Classes};
pub use destinations::Destinations;
pub use packet_size::{PacketSizeKind, PacketSizeParams};
pub use patterns::{Pattern, PatternKind, PatternParams};
pub use planes::{Plane, PlaneChoice, PlaneInjection, PlanesParams};
pub use processes::{ProcessKind, ProcessParams};
pub use rates::Rates;
pub use requests::{RequestParams, Requests, SourceQueue};
pub use source::{Generated, Source, Traffic};

/// `[traffic]`: the offered traffic.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TrafficParams {
    /// Destinations of each endpoint's packets.
    #[serde(default)]
    pub pattern: PatternKind,
    /// Offered load of every endpoint, as a mean over time. A number is the share of the capacity of the endpoint's
    /// link, which is phits/(endpoint·cycle) if the link carries a phit per cycle. A rate such as "40 Gb/s" holds for
    /// each endpoint, whatever its link. Zero or more, and at most the capacity of an endpoint's injection port.
    #[schemars(range(min = 0))]
    #[schemars(extend("x-unit" = "load"))]
    pub load: f64,
    /// Unit of `load`, of the loads in `changes` and of the loads in results. If left out: `"link"`, or `"phits"` if
    /// `load` is a rate.
    #[serde(default, skip_serializing_if = "is_default")]
    pub load_unit: LoadUnit,
    /// Times at which each endpoint generates a packet, or a message.
    #[serde(default)]
    pub process: ProcessKind,
    /// Packets are generated in messages: several at once, for one destination. If left out, packets are generated one
    /// by one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<MessageParams>,
    /// Packets are requests, and their destinations answer them. If left out, packets are not answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<RequestParams>,
    /// Classes of packets. Every endpoint generates packets of each class. A class takes missing keys from the keys
    /// beside, and `load` is the load of all classes together. If left out, all packets are of one class.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 8))]
    pub classes: Vec<ClassParams>,
    /// Packet size: a whole number of phits, or a table that describes a distribution of sizes.
    #[serde(default, deserialize_with = "packet_size::deserialize")]
    #[schemars(schema_with = "packet_size::schema")]
    pub packet_size: PacketSizeKind,
    /// List of messages in the order of their cycles, each with cycle of generation, source, destination and phits.
    /// Endpoints have their numbers or names. Messages longer than the (largest) packet are sent in several packets.
    /// With a trace, `pattern` and `process` are not used, and `load` must be 0. On the command line and in Python,
    /// `trace` can name a file instead.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trace: Vec<trace::Message>,
    /// Changes of pattern or load during the run, in the order of their cycles. If left out, nothing changes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<Change>,
}

/// The unit of a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum LoadUnit {
    /// The capacity of the endpoint's link.
    #[default]
    Link,
    /// One phit/(endpoint·cycle), independent of the endpoint's link.
    Phits,
    /// The load that saturates the bisection of a torus or mesh under uniform traffic. Results use
    /// phits/(endpoint·cycle).
    Bisection,
}

/// Messages: packets that an endpoint generates together for one destination.
///
/// ```toml
/// [traffic.message]
/// packets = 96
/// count = 32
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct MessageParams {
    /// Packets of a message, 1 to 1000000.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub packets: u32,
    /// Messages that each endpoint generates in total; if left out, it never stops.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u32>,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// A change of the traffic during the run: of the pattern, of the load, or of both.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct Change {
    /// First cycle of the change: packets generated in this cycle and later follow it.
    #[schemars(extend("x-unit" = "cycles"))]
    pub cycle: u32,
    /// The new pattern; if left out, the pattern stays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<PatternKind>,
    /// The new load, in the unit of `load`; if left out, the load stays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    #[schemars(extend("x-unit" = "load"))]
    pub load: Option<f64>,
}

impl TrafficParams {
    /// No traffic, with packets of up to `largest` phits: the traffic of a scenario whose endpoints execute a program.
    pub fn silent(largest: u16) -> Self {
        Self {
            pattern: PatternKind::default(),
            load: 0.0,
            load_unit: LoadUnit::default(),
            process: ProcessKind::default(),
            message: None,
            requests: None,
            classes: Vec::new(),
            packet_size: PacketSizeKind::phits(largest),
            trace: Vec::new(),
            changes: Vec::new(),
        }
    }

    /// Reads the table found at `path`. `load` is required unless there is a trace, or a limit of an endpoint's
    /// requests. Checks everything that does not depend on the topology.
    pub fn from_value(path: &str, value: &Value) -> Result<Self, ScenarioError> {
        let mut value = value.clone();
        if let Some(table) = value.as_object_mut() {
            // A trace lists its messages, so it has no load.
            if table.get("trace").and_then(Value::as_array).is_some_and(|messages| !messages.is_empty()) {
                table.entry("load").or_insert(0.0.into());
            }
        }
        let limited = value.pointer("/requests/outstanding").is_some_and(|limit| !limit.is_null());
        let at_once = limited && value.get("load").is_none();
        if let Some(table) = value.as_object_mut().filter(|_| at_once) {
            table.insert("load".into(), 0.0.into());
        }
        let mut params: Self = parse(path, &value)?;
        if at_once {
            // A limit of requests replaces the load: an endpoint generates a request in every cycle in which it may.
            params.load = params.mean().map_err(|e| e.under(path))?;
        }
        params.check().map_err(|e| e.under(path))?;
        Ok(params)
    }

    /// Phits of the smallest and of the largest packet. Error paths are relative to the table.
    pub fn packet_sizes(&self) -> Result<(u16, u16), ScenarioError> {
        if !self.classes.is_empty() {
            let sizes = self.by_class().map(|class| class.packet_sizes()).collect::<Result<Vec<_>, _>>()?;
            return Ok(sizes.into_iter().fold((u16::MAX, 1), |all, own| (all.0.min(own.0), all.1.max(own.1))));
        }
        let sizes = self.packet_size.params().build().map_err(|e| e.under("packet_size"))?;
        Ok(self.answered(0)?.map_or(sizes.range(), |requests| requests.range()))
    }

    /// Mean phits per event of the process: of a packet, or of a request with its reply.
    fn mean(&self) -> Result<f64, ScenarioError> {
        let sizes = self.packet_size.params().build().map_err(|e| e.under("packet_size"))?;
        Ok(self.answered(0)?.map_or(sizes.mean(), |requests| requests.mean()))
    }

    /// The parameters of requests and replies, if packets are requests.
    pub(crate) fn answered(&self, seed: u64) -> Result<Option<Requests>, ScenarioError> {
        self.requests.as_ref().map(|requests| requests.build(&self.packet_size, seed)).transpose()
    }

    /// Checks conditions between several keys. Error paths are relative to the table.
    pub(crate) fn check(&self) -> Result<(), ScenarioError> {
        if !self.trace.is_empty() && (self.load != 0.0 || !self.changes.is_empty()) {
            return Err(ScenarioError::new(
                "load",
                self.load,
                "expected 0 and no `changes`: the `trace` lists all messages",
            ));
        }
        if !self.trace.is_empty() && self.message.is_some() {
            return Err(ScenarioError::missing("message", "the `trace` lists all messages; leave this out"));
        }
        self.check_classes()?;
        self.packet_sizes()?;
        let beside = [("trace", !self.trace.is_empty()), ("message", self.message.is_some())];
        if let (Some(_), Some((key, _))) = (&self.requests, beside.iter().find(|(_, given)| *given)) {
            return Err(ScenarioError::missing(*key, "`requests` are packets of a pattern; leave one of the two out"));
        }
        for (i, change) in self.changes.iter().enumerate() {
            let path = format!("changes[{i}]");
            if change.pattern.is_none() && change.load.is_none() {
                return Err(ScenarioError::missing(path, "a change needs a `pattern` or a `load`"));
            }
            if let Some(earlier) = self.changes[..i].last().filter(|earlier| earlier.cycle >= change.cycle) {
                let expected =
                    format!("changes must be in the order of their cycles; the one before is at {}", earlier.cycle);
                return Err(ScenarioError::new(join(&path, "cycle"), change.cycle, expected));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(value: Value) -> Result<TrafficParams, ScenarioError> {
        TrafficParams::from_value("traffic", &value)
    }

    #[test]
    fn defaults_are_filled_in_and_read_back() {
        let params = read(json!({ "load": 0.3 })).unwrap();
        let complete = serde_json::to_value(&params).unwrap();
        assert_eq!(
            complete,
            json!({
                "pattern": { "kind": "uniform", "include_self": false },
                "load": 0.3,
                "process": { "kind": "bernoulli" },
                "packet_size": { "kind": "fixed", "phits": 1 },
            })
        );
        assert_eq!(read(complete).unwrap(), params);
    }

    #[test]
    fn every_form_is_read_back_as_it_was_written() {
        let params = read(json!({
            "load": 0.2,
            "pattern": { "kind": "mix", "parts": [
                { "weight": 1, "pattern": "uniform" },
                { "weight": 2, "pattern": {
                    "kind": "hotspot", "targets": [1], "share": 0.5, "background": "shuffle",
                } },
            ] },
            "process": { "kind": "on_off", "burst": 50 },
            "packet_size": { "kind": "choice", "sizes": [1, 5], "weights": [0.5, 0.5] },
            "changes": [{ "cycle": 10, "load": 0.4 }, { "cycle": 20, "pattern": "adversarial" }],
        }))
        .unwrap();
        assert_eq!(read(serde_json::to_value(&params).unwrap()).unwrap(), params);
        assert_eq!(read(json!({ "load": 0.2, "packet_size": 8 })).unwrap().packet_size.kind(), "fixed");
    }

    #[test]
    fn a_trace_needs_no_load_and_takes_no_messages() {
        assert_eq!(read(json!({ "trace": [[0, 0, 1, 8]] })).unwrap().load, 0.0);
        let beside = read(json!({ "trace": [[0, 0, 1, 8]], "message": { "packets": 2 } })).unwrap_err();
        assert_eq!(beside.to_string(), "traffic.message: the `trace` lists all messages; leave this out");
        assert_eq!(read(json!({ "trace": [] })).unwrap_err().path, "traffic.load");
    }

    #[test]
    fn errors_name_the_innermost_key() {
        let cases = [
            (json!({}), "traffic.load: this key is required"),
            (json!({ "load": -0.1 }), "traffic.load = -0.1: expected a number of phits/(endpoint·cycle), at least 0"),
            (json!({ "load": "x" }), "traffic.load = \"x\": expected a number"),
            (json!({ "load": 0.1, "lod": 1 }), "did you mean \"load\"?"),
            (json!({ "load": 0.1, "pattern": "unifrom" }), "traffic.pattern.kind = \"unifrom\""),
            (json!({ "load": 0.1, "pattern": { "kind": "shift", "ofset": 2 } }), "traffic.pattern.ofset = 2"),
            (json!({ "load": 0.1, "process": { "kind": "on_off" } }), "traffic.process.burst: this key is required"),
            (json!({ "load": 0.1, "process": { "kind": "on_off", "burst": 0 } }), "traffic.process.burst = 0"),
            (json!({ "load": 0.1, "packet_size": 0 }), "traffic.packet_size = 0"),
            (json!({ "load": 0.1, "packet_size": 2.5 }), "traffic.packet_size = 2.5: expected a whole number"),
            (json!({ "load": 0.1, "packet_size": "big" }), "traffic.packet_size.kind = \"big\""),
            (json!({ "load": 0.1, "changes": [{ "cycle": 5 }] }), "traffic.changes[0]: a change needs"),
            (
                json!({ "load": 0.1, "changes": [{ "cycle": 5, "load": 0 }, { "cycle": 5, "load": 1 }] }),
                "traffic.changes[1].cycle = 5: changes must be in the order",
            ),
            (
                json!({ "load": 0.1, "changes": [{ "cycle": 5, "pattern": "tornadoo" }] }),
                "traffic.changes[0].pattern.kind = \"tornadoo\"",
            ),
            (
                json!({ "load": 0.1, "pattern": { "kind": "mix", "parts": [{ "weight": 1, "pattern": "mesh" }] } }),
                "traffic.pattern.parts[0].pattern.kind = \"mesh\"",
            ),
        ];
        for (value, expected) in cases {
            let error = read(value).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}\nshould contain\n{expected}");
        }
    }

    #[test]
    fn the_schema_has_no_dangling_references() {
        let schema = crate::schema::of::<TrafficParams>().to_value();
        fn references(value: &Value, out: &mut Vec<String>) {
            match value {
                Value::Object(table) => {
                    out.extend(table.get("$ref").and_then(Value::as_str).map(str::to_owned));
                    table.values().for_each(|v| references(v, out));
                }
                Value::Array(items) => items.iter().for_each(|v| references(v, out)),
                _ => {}
            }
        }
        let mut found = Vec::new();
        references(&schema, &mut found);
        assert!(!found.is_empty());
        for reference in found {
            let pointer = reference.strip_prefix('#').unwrap();
            assert!(schema.pointer(pointer).is_some(), "{reference}");
        }
    }
}
