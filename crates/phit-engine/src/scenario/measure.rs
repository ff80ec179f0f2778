//! `[measure]`: the quantities and tables to measure, and the length of the measurement.

use crate::error::ScenarioError;
use crate::measure::{FlowParams, LEAST_BATCHES, Precision};
use crate::probes::ProbeKind;
use crate::schema::parse;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

/// `[measure]`: the quantities and tables to measure, and the length of the measurement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MeasureParams {
    /// Warm-up in cycles before the measurement begins, or "auto" to measure as soon as the network has settled (see
    /// `max_warmup`).
    #[schemars(extend("x-unit" = "cycles"))]
    pub warmup: Warmup,
    /// Measured cycles, at least 1.
    #[schemars(range(min = 1))]
    #[schemars(extend("x-unit" = "cycles"))]
    pub cycles: u32,
    /// Which packets the latencies describe.
    pub count: Count,
    /// Number of equal parts of the measured time in the table `batches`: 2 to 1000, and at most `cycles` unless
    /// `cycles` is 1. If left out: 20, or fewer for a shorter measurement. The confidence intervals are made from
    /// smaller parts.
    #[schemars(range(min = 2, max = 1000))]
    pub batches: u32,
    /// Confidence level of the intervals, more than 0 and less than 1.
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1))]
    pub confidence: f64,
    /// Continues the measurement beyond `cycles` until the intervals are narrow enough. If left out, the measurement
    /// ends after `cycles`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Until>,
    /// Continues the measurement beyond `cycles` until every mean named here is precise enough. The value of a mean is
    /// the half width of its interval, relative to the mean.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub precision: Option<Precision>,
    /// Most measured cycles with `precision`, at least `cycles`. If left out: a hundred times `cycles`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-unit" = "cycles"))]
    pub max_cycles: Option<u32>,
    /// Records a time series. If left out, there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub series: Option<Series>,
    /// Whether the histogram of latencies is part of the result.
    pub histogram: bool,
    /// Whether the utilisation of every link is part of the result.
    pub links: bool,
    /// Whether the loads of every endpoint are part of the result.
    pub endpoints: bool,
    /// Whether to count the packets that arrive out of order: after a later-generated packet from the same source to
    /// the same destination. The summary has their number and their share since the start of the run, and the extents
    /// of reordering: how many packets arrived too early before each. Tables have the extents by pair, and their
    /// distribution.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub order: bool,
    /// Flows that are counted by themselves, in the tables `flows` and `flow_series`: at most 64. A packet counts in
    /// the first flow that has its source and its destination.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    pub flows: Vec<FlowParams>,
    /// Whether all messages of a workload are part of the result.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub messages: bool,
    /// Whether all operations of a workload are part of the result.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub operations: bool,
    /// Whether the result lists the activity of each rank's CPU: kind, start and end.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub tracks: bool,
    /// Whether the result lists when each rank of a workload ended each phase: each step of a sequence, and each
    /// repetition of a step.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub phases: bool,
    /// Probes: observations of the network besides the delivered packets. If left out, there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub probes: Vec<ProbeKind>,
    /// Longest automatic warm-up in cycles, at least 1. The measurement then begins even if the network has not
    /// settled. If left out: ten times `cycles`.
    #[schemars(range(min = 1))]
    #[schemars(extend("x-unit" = "cycles"))]
    pub max_warmup: u32,
    /// Longest drain in cycles, with `count = "generated"`: the time after the measurement in which its packets are
    /// delivered.
    #[schemars(extend("x-unit" = "cycles"))]
    pub max_drain: u32,
}

impl Default for MeasureParams {
    fn default() -> Self {
        Self {
            warmup: Warmup::Cycles(5000),
            cycles: 10_000,
            count: Count::Delivered,
            batches: BATCHES,
            confidence: 0.95,
            until: None,
            precision: None,
            max_cycles: None,
            series: None,
            histogram: true,
            links: false,
            endpoints: false,
            order: false,
            flows: Vec::new(),
            messages: false,
            operations: false,
            tracks: false,
            phases: false,
            probes: Vec::new(),
            max_warmup: 100_000,
            max_drain: 100_000,
        }
    }
}

/// Keys for random traffic only: a program has a beginning and an end of its own.
pub(super) const OF_TRAFFIC: [&str; 10] = [
    "warmup",
    "cycles",
    "count",
    "batches",
    "confidence",
    "until",
    "precision",
    "max_cycles",
    "max_warmup",
    "max_drain",
];

/// Default number of batches, for a measurement of at least as many cycles.
const BATCHES: u32 = 20;

/// Time before the measurement begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Warmup {
    /// A fixed number of cycles.
    Cycles(u32),
    /// Until the network has settled (`measure/warmup.rs`).
    Auto,
}

impl Serialize for Warmup {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Cycles(cycles) => serializer.serialize_u32(*cycles),
            Self::Auto => serializer.serialize_str("auto"),
        }
    }
}

impl<'de> Deserialize<'de> for Warmup {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        match (value.as_u64().and_then(|cycles| u32::try_from(cycles).ok()), value.as_str()) {
            (Some(cycles), _) => Ok(Self::Cycles(cycles)),
            (_, Some("auto")) => Ok(Self::Auto),
            _ => Err(serde::de::Error::custom("expected a whole number of cycles, or \"auto\"")),
        }
    }
}

impl JsonSchema for Warmup {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "warmup".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [{ "type": "integer", "minimum": 0, "maximum": u32::MAX }, { "const": "auto" }] })
    }
}

/// Which packets the latencies describe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Count {
    /// Packets delivered in the measured cycles, no matter when they were generated.
    #[default]
    Delivered,
    /// Packets generated in the measured cycles. After the measurement, the run continues until all of them are
    /// delivered.
    Generated,
}

/// When a measurement without a fixed length is precise enough.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(inline)]
pub struct Until {
    /// Half-width of the intervals of mean latency and accepted load relative to their means, more than 0 and less
    /// than 1.
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1))]
    pub half_width: f64,
    /// Confidence level of these intervals, more than 0 and less than 1.
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1))]
    pub confidence: f64,
    /// Most measured cycles, at least `cycles`. If left out: a hundred times `cycles`.
    #[schemars(extend("x-unit" = "cycles"))]
    pub max_cycles: u32,
}

impl Default for Until {
    fn default() -> Self {
        Self { half_width: 0.03, confidence: 0.99, max_cycles: 1_000_000 }
    }
}

/// A time series.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(inline)]
pub struct Series {
    /// Which time of a packet decides its bin.
    pub by: SeriesBy,
    /// Length of a bin in cycles, at least 1.
    #[schemars(range(min = 1))]
    #[schemars(extend("x-unit" = "cycles"))]
    pub bin: u32,
}

impl Default for Series {
    fn default() -> Self {
        Self { by: SeriesBy::Generation, bin: 100 }
    }
}

/// Which time of a packet decides its bin in a time series.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum SeriesBy {
    /// The cycle in which the packet was generated. A bin shows the fate of packets generated together.
    Generation,
    /// The cycle in which the packet was delivered. A bin shows what the network does at that time.
    Window,
}

impl MeasureParams {
    /// Reads the table found at `path`; every key may be left out.
    pub fn from_value(path: &str, value: &Value) -> Result<Self, ScenarioError> {
        let mut params: Self = parse(path, value)?;
        let given = |key: &str| value.get(key).is_some();
        if !given("batches") {
            params.batches = params.cycles.clamp(2, BATCHES);
        }
        if !given("max_warmup") {
            params.max_warmup = params.cycles.saturating_mul(10);
        }
        if let Some(until) = &mut params.until
            && value.pointer("/until/max_cycles").is_none()
        {
            until.max_cycles = params.cycles.saturating_mul(100);
        }
        if params.precision.is_some() && params.max_cycles.is_none() {
            params.max_cycles = Some(params.cycles.saturating_mul(100));
        }
        params.check(given("batches")).map_err(|e| e.under(path))?;
        Ok(params)
    }

    /// Longest time, in cycles, that a run of this measurement can take.
    pub fn most_cycles(&self) -> u64 {
        let warmup = match self.warmup {
            Warmup::Cycles(cycles) => cycles,
            Warmup::Auto => self.max_warmup,
        };
        let open = self.until.as_ref().map(|until| until.max_cycles).or(self.max_cycles);
        let measured = open.unwrap_or(self.cycles);
        let drain = if self.count == Count::Generated { self.max_drain } else { 0 };
        u64::from(warmup) + u64::from(measured) + u64::from(drain)
    }

    /// Checks conditions between several keys. Error paths are relative to the table.
    fn check(&self, batches_given: bool) -> Result<(), ScenarioError> {
        if batches_given && self.batches > self.cycles.max(2) {
            let expected = format!("expected at most one part per measured cycle, `cycles` = {}", self.cycles);
            return Err(ScenarioError::new("batches", self.batches, expected));
        }
        if let Some(until) = &self.until
            && until.max_cycles < self.cycles
        {
            let expected = format!("expected at least `cycles` = {}", self.cycles);
            return Err(ScenarioError::new("until.max_cycles", until.max_cycles, expected));
        }
        self.check_precision()?;
        let most = self.most_cycles();
        if most > u64::from(u32::MAX) {
            let reason = format!(
                "warm-up, measurement and drain can take {most} cycles together; expected at most {}",
                u32::MAX
            );
            return Err(ScenarioError::new("cycles", self.cycles, reason));
        }
        Ok(())
    }

    fn check_precision(&self) -> Result<(), ScenarioError> {
        let Some(precision) = &self.precision else {
            let reason = "limits the measurement with `precision`, which is not given; leave one out or add the other";
            return self.max_cycles.map_or(Ok(()), |cycles| Err(ScenarioError::new("max_cycles", cycles, reason)));
        };
        if *precision == Precision::default() {
            let expected = "expected one of latency_mean, network_latency_mean, accepted_load, hops_mean, or several";
            return Err(ScenarioError::new("precision", "{}", expected));
        }
        if self.until.is_some() {
            let reason = "`until` sets this precision, too; expected one of the two";
            return Err(ScenarioError::missing("precision", reason));
        }
        if self.cycles < LEAST_BATCHES {
            let expected = format!("expected at least {LEAST_BATCHES} with `precision`: a shorter run has no interval");
            return Err(ScenarioError::new("cycles", self.cycles, expected));
        }
        match self.max_cycles {
            Some(most) if most < self.cycles => {
                let expected = format!("expected at least `cycles` = {}", self.cycles);
                Err(ScenarioError::new("max_cycles", most, expected))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(value: Value) -> Result<MeasureParams, ScenarioError> {
        MeasureParams::from_value("measure", &value)
    }

    #[test]
    fn defaults_are_filled_in_and_read_back() {
        let params = read(json!({})).unwrap();
        assert_eq!(params, MeasureParams::default());
        assert_eq!(
            serde_json::to_value(&params).unwrap(),
            json!({
                "warmup": 5000, "cycles": 10000, "count": "delivered", "batches": 20, "confidence": 0.95,
                "histogram": true, "links": false, "endpoints": false, "max_warmup": 100000, "max_drain": 100000,
            })
        );
        let all = json!({
            "warmup": "auto", "cycles": 500, "count": "generated", "batches": 10, "confidence": 0.99,
            "until": { "half_width": 0.01 }, "series": { "by": "window", "bin": 10 }, "histogram": false, "links": true,
            "endpoints": true, "max_drain": 7,
        });
        let params = read(all).unwrap();
        assert_eq!(params.warmup, Warmup::Auto);
        assert_eq!(params.max_warmup, 5000);
        assert_eq!(params.until, Some(Until { half_width: 0.01, confidence: 0.99, max_cycles: 50_000 }));
        assert_eq!(read(serde_json::to_value(&params).unwrap()).unwrap(), params);
        assert_eq!(params.most_cycles(), 5000 + 50_000 + 7);
    }

    #[test]
    fn a_short_measurement_has_fewer_batches() {
        assert_eq!(read(json!({ "cycles": 7 })).unwrap().batches, 7);
        assert_eq!(read(json!({ "cycles": 1 })).unwrap().batches, 2);
        let short = read(json!({ "cycles": 7 })).unwrap();
        assert_eq!(read(serde_json::to_value(&short).unwrap()).unwrap(), short);
    }

    #[test]
    fn errors_name_key_value_and_expectation() {
        let cases = [
            (
                json!({ "warmup": "never" }),
                "measure.warmup = \"never\": expected a whole number of cycles, or \"auto\"",
            ),
            (json!({ "warmup": -1 }), "measure.warmup = -1: expected a whole number of cycles, or \"auto\""),
            (json!({ "cycles": 0 }), "measure.cycles = 0: expected a whole number of cycles, at least 1"),
            (json!({ "batches": 1 }), "measure.batches = 1: expected a whole number from 2 to 1000"),
            (
                json!({ "batches": 20, "cycles": 10 }),
                "measure.batches = 20: expected at most one part per measured cycle",
            ),
            (json!({ "confidence": 1 }), "measure.confidence = 1: expected a number more than 0 and less than 1"),
            (json!({ "until": { "half_width": 0 } }), "measure.until.half_width = 0: expected a number more than 0"),
            (
                json!({ "precision": {} }),
                "measure.precision = {}: expected one of latency_mean, network_latency_mean, accepted_load",
            ),
            (json!({ "precision": { "latency_mean": 0.0 } }), "measure.precision.latency_mean = 0"),
            (json!({ "precision": { "latency_mean": 1.5 } }), "measure.precision.latency_mean = 1.5"),
            (json!({ "precision": { "latency_p99": 0.1 } }), "measure.precision.latency_p99"),
            (json!({ "max_cycles": 10 }), "measure.max_cycles = 10: limits the measurement with `precision`"),
            (
                json!({ "precision": { "hops_mean": 0.1 }, "max_cycles": 10 }),
                "measure.max_cycles = 10: expected at least `cycles` = 10000",
            ),
            (json!({ "precision": { "hops_mean": 0.1 }, "cycles": 5 }), "measure.cycles = 5: expected at least 24"),
            (
                json!({ "precision": { "hops_mean": 0.1 }, "until": {} }),
                "measure.precision: `until` sets this precision, too",
            ),
            (
                json!({ "until": { "max_cycles": 10 } }),
                "measure.until.max_cycles = 10: expected at least `cycles` = 10000",
            ),
            (
                json!({ "series": { "bin": 0 } }),
                "measure.series.bin = 0: expected a whole number of cycles, at least 1",
            ),
            (json!({ "probes": [{ "kind": "counter" }] }), "did you mean \"counters\"?"),
            (json!({ "probes": ["buffers", { "kind": "counters", "every": 0 }] }), "measure.probes[1].every = 0"),
            (json!({ "count": "deliverd" }), "did you mean \"delivered\"?"),
            (json!({ "warm_up": 5 }), "did you mean \"warmup\"?"),
            (json!({ "cycles": 4294967295u32 }), "cycles together"),
            (json!({ "cycles": 10, "max_warmup": 0 }), "measure.max_warmup = 0"),
        ];
        for (value, expected) in cases {
            let error = read(value).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}\nshould contain\n{expected}");
        }
    }
}
