//! What can stand in a scenario: the kinds of every concept with their descriptions, and the JSON Schema.

use crate::allocators::AllocatorKind;
use crate::probes::ProbeKind;
use crate::queueing::QueueingKind;
use crate::routing::RoutingKind;
use crate::scenario::{MeasureParams, RouterKind, SECTIONS, UnitsParams, routers};
use crate::topology::TopologyKind;
use crate::traffic::TrafficParams;
use crate::traffic::packet_size::PacketSizeKind;
use crate::traffic::patterns::PatternKind;
use crate::traffic::processes::ProcessKind;
use schemars::{JsonSchema, Schema, schema_for};
use serde_json::{Map, Value, json};

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
        "router": entries(RouterKind::schemas()),
        "routing": entries(RoutingKind::schemas()),
        "queueing": entries(QueueingKind::schemas()),
        "allocator": entries(AllocatorKind::schemas()),
        "pattern": entries(PatternKind::schemas()),
        "process": entries(ProcessKind::schemas()),
        "probe": entries(ProbeKind::schemas()),
        "packet_size": entries(PacketSizeKind::schemas()),
    })
}

/// The JSON Schema (draft 2020-12) of a scenario document.
pub fn schema() -> Value {
    let seed = json!({ "type": "integer", "minimum": 0, "default": 1, "description": "Seed of every random stream." });
    let mut definitions = Map::new();
    let mut properties = Map::new();
    properties.insert("seed".into(), seed);
    let mut section = |name: &str, schema: Value| {
        let mut schema = schema;
        if let Some(table) = schema.as_object_mut() {
            table.remove("$schema");
            if let Some(Value::Object(own)) = table.remove("$defs") {
                definitions.extend(own);
            }
        }
        properties.insert(name.into(), schema);
    };
    section("units", section_schema::<UnitsParams>());
    section("topology", section_schema::<TopologyKind>());
    section("router", routers::schema());
    section("routing", section_schema::<RoutingKind>());
    section("queueing", section_schema::<QueueingKind>());
    section("traffic", section_schema::<TrafficParams>());
    section("measure", section_schema::<MeasureParams>());
    debug_assert!(SECTIONS.iter().all(|name| properties.contains_key(*name)));
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Phit scenario",
        "type": "object",
        "additionalProperties": false,
        "required": ["topology", "traffic"],
        "properties": properties,
        "$defs": definitions,
    })
}

fn section_schema<T: JsonSchema>() -> Value {
    schema_for!(T).to_value()
}
