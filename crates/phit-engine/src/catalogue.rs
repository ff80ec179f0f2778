//! What can stand in a scenario: the kinds of every concept with their descriptions, and the JSON Schema.

use crate::measure::MeasureParams;
use crate::measure::probes::ProbeKind;
use crate::queueing::QueueingKind;
use crate::router::allocator::AllocatorKind;
use crate::routing::RoutingKind;
use crate::scenario::{RouterParams, SECTIONS, UnitsParams, units};
use crate::schema;
use crate::topology::TopologyKind;
use crate::traffic::TrafficParams;
use crate::traffic::packet_size::PacketSizeKind;
use crate::traffic::patterns::PatternKind;
use crate::traffic::processes::ProcessKind;
use schemars::{JsonSchema, Schema, json_schema};
use serde_json::{Map, Value, json};
use std::sync::LazyLock;

fn entries(schemas: Vec<(&'static str, Schema)>) -> Value {
    let entry = |(kind, schema): (&str, Schema)| {
        let description = schema.get("description").and_then(Value::as_str).unwrap_or_default().to_owned();
        json!({ "kind": kind, "description": description, "schema": schema })
    };
    schemas.into_iter().map(entry).collect()
}

/// `{concept: [{"kind", "description", "schema"}]}` for every concept with kinds.
pub fn catalogue() -> Value {
    json!({
        "topology": entries(TopologyKind::schemas()),
        "routing": entries(RoutingKind::schemas()),
        "queueing": entries(QueueingKind::schemas()),
        "allocator": entries(AllocatorKind::schemas()),
        "pattern": entries(PatternKind::schemas()),
        "process": entries(ProcessKind::schemas()),
        "probe": entries(ProbeKind::schemas()),
        "packet_size": entries(PacketSizeKind::schemas()),
    })
}

/// The JSON Schema (draft 2020-12) of a scenario document in numbers: of quantities with units it says in `x-unit` what they count.
/// Every definition stands at the root.
pub fn numbers() -> &'static Value {
    static MADE: LazyLock<Value> = LazyLock::new(|| {
        let mut generator = schema::generator();
        let seed =
            json!({ "type": "integer", "minimum": 0, "default": 1, "description": "Seed of every random stream." });
        let mut properties = Map::from_iter([("seed".to_owned(), seed)]);
        let mut section = |name: &str, schema: Schema| properties.insert(name.into(), schema.to_value());
        section("units", UnitsParams::json_schema(&mut generator));
        section("topology", TopologyKind::json_schema(&mut generator));
        section("router", RouterParams::json_schema(&mut generator));
        section("routing", RoutingKind::json_schema(&mut generator));
        section("queueing", QueueingKind::json_schema(&mut generator));
        section("traffic", TrafficParams::json_schema(&mut generator));
        section("measure", MeasureParams::json_schema(&mut generator));
        debug_assert!(SECTIONS.iter().all(|name| properties.contains_key(*name)));
        let mut schema: Schema = json_schema!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": "Phit scenario",
            "type": "object",
            "additionalProperties": false,
            "required": ["topology", "traffic"],
            "properties": properties,
            "$defs": generator.take_definitions(true),
        });
        generator.transforms_mut().for_each(|transform| transform.transform(&mut schema));
        schema.to_value()
    });
    &MADE
}

/// The JSON Schema of a scenario document as it is written: keys that count cycles or phits take quantities with units, too.
pub fn schema() -> Value {
    let mut schema = numbers().clone();
    units::allow(&mut schema);
    if let Some(definitions) = schema.get_mut("$defs").and_then(Value::as_object_mut) {
        definitions.extend(units::definitions());
    }
    schema
}
