//! The JSON Schema of a scenario document.

use super::{MeasureParams, SECTIONS, UnitsParams, routers, units};
use crate::congestion::CongestionKind;
use crate::queueing::QueueingKind;
use crate::routing::RoutingKind;
use crate::schema;
use crate::topology::TopologyKind;
use crate::traffic::{PlanesParams, TrafficParams};
use crate::workload::WorkloadParams;
use schemars::{JsonSchema, Schema, json_schema};
use serde_json::{Map, Value, json};
use std::sync::LazyLock;

/// The JSON Schema (draft 2020-12) of a scenario document whose quantities are plain numbers.
///
/// `x-unit` says what a key counts. Every definition stands at the root.
pub fn numbers() -> &'static Value {
    static MADE: LazyLock<Value> = LazyLock::new(|| {
        let mut generator = schema::generator();
        let seed =
            json!({ "type": "integer", "minimum": 0, "default": 1, "description": "Seed of every random stream." });
        let mut properties = Map::from_iter([("seed".to_owned(), seed)]);
        let mut section = |name: &str, schema: Schema| properties.insert(name.into(), schema.to_value());
        section("units", UnitsParams::json_schema(&mut generator));
        section("topology", TopologyKind::json_schema(&mut generator));
        section("planes", PlanesParams::json_schema(&mut generator));
        section("router", routers::schema(&mut generator));
        section("routing", RoutingKind::json_schema(&mut generator));
        section("queueing", QueueingKind::json_schema(&mut generator));
        section("congestion", CongestionKind::json_schema(&mut generator));
        section("traffic", TrafficParams::json_schema(&mut generator));
        section("workload", WorkloadParams::json_schema(&mut generator));
        section("measure", MeasureParams::json_schema(&mut generator));
        debug_assert!(SECTIONS.iter().all(|name| properties.contains_key(*name)));
        let mut schema: Schema = json_schema!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": "Phit scenario",
            "type": "object",
            "additionalProperties": false,
            "required": ["topology"],
            "anyOf": [{ "required": ["traffic"] }, { "required": ["workload"] }],
            "properties": properties,
            "$defs": generator.take_definitions(true),
        });
        generator.transforms_mut().for_each(|transform| transform.transform(&mut schema));
        schema.to_value()
    });
    &MADE
}

/// The JSON Schema of a scenario document as users write it: keys that count cycles or phits also accept quantities
/// with units.
pub fn schema() -> Value {
    let mut schema = numbers().clone();
    units::allow(&mut schema);
    if let Some(definitions) = schema.get_mut("$defs").and_then(Value::as_object_mut) {
        definitions.extend(units::definitions());
    }
    schema
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::{ScenarioError, join};
    use crate::scenario::Scenario;
    use crate::scenario::catalogue::catalogue;

    /// A function that puts a value into its place in a document.
    type Put<'a> = &'a dyn Fn(Value) -> Value;

    /// A value at a path, which either breaks a bound or just keeps it.
    struct Case {
        path: String,
        value: Value,
        document: Value,
        breaks: bool,
        /// 1 for a bound above, -1 for one below.
        outward: f64,
    }

    impl Case {
        /// True if this value is at, or beyond, a value that breaks a narrower bound.
        fn is_beyond(&self, other: &Self) -> bool {
            let (Some(a), Some(b)) = (self.value.as_f64(), other.value.as_f64()) else { return false };
            other.breaks && self.path == other.path && self.outward == other.outward && (a - b) * self.outward >= 0.0
        }
    }

    /// All cases for the bounds in a schema.
    struct Bounds<'a> {
        root: &'a Value,
        cases: Vec<Case>,
        /// The definitions around the present one: patterns hold patterns, so the visit must not enter a definition
        /// twice.
        within: Vec<String>,
    }

    impl Bounds<'_> {
        fn visit(&mut self, path: &str, schema: &Value, put: Put) {
            if let Some(name) = schema.get("$ref").and_then(Value::as_str)
                && !self.within.iter().any(|open| open == name)
            {
                self.within.push(name.to_owned());
                self.visit(path, self.root.pointer(&name[1..]).unwrap(), put);
                self.within.pop();
            }
            for word in ["oneOf", "anyOf"] {
                for part in schema.get(word).and_then(Value::as_array).into_iter().flatten() {
                    self.visit(path, part, put);
                }
            }
            if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
                // A kind that needs no key may be given by its name alone.
                let table = match smallest(schema, self.root) {
                    Value::String(kind) => json!({ "kind": kind }),
                    table => table,
                };
                for (key, inner) in properties {
                    let put = |value: Value| {
                        let mut table = table.clone();
                        table[key] = value;
                        put(table)
                    };
                    self.visit(&join(path, key), inner, &put);
                }
            }
            if let Some(inner) = schema.get("additionalProperties").filter(|inner| inner.is_object()) {
                self.visit(&join(path, "default"), inner, &|value| put(json!({ "default": value })));
            }
            if let Some(inner) = schema.get("items") {
                let least = schema.get("minItems").and_then(Value::as_u64).unwrap_or(0).max(1) as usize;
                let other = smallest(inner, self.root);
                let put = |value: Value| {
                    put(std::iter::once(value).chain(std::iter::repeat_n(other.clone(), least - 1)).collect())
                };
                self.visit(&format!("{path}[0]"), inner, &put);
            }
            self.bounds(path, schema, put);
        }

        fn bounds(&mut self, path: &str, schema: &Value, put: Put) {
            let whole = schema.get("type").is_none_or(|name| name.to_string().contains("integer"));
            for (word, outward, open) in [
                ("minimum", -1.0, false),
                ("maximum", 1.0, false),
                ("exclusiveMinimum", -1.0, true),
                ("exclusiveMaximum", 1.0, true),
            ] {
                let Some(bound) = schema.get(word).and_then(Value::as_f64) else { continue };
                let value = |number: f64| if whole { json!(number as i64) } else { json!(number) };
                let step = if whole { 1.0 } else { 1e-6 };
                let (out, within) =
                    if open { (bound, bound - outward * step) } else { (bound + outward * step, bound) };
                self.add(path, value(out), put, true, outward);
                self.add(path, value(within), put, false, outward);
            }
            for (word, outward) in [("minItems", -1), ("maxItems", 1)] {
                let Some(bound) = schema.get(word).and_then(Value::as_i64) else { continue };
                let list = |length: i64| (0..length).map(|_| smallest(&schema["items"], self.root)).collect::<Value>();
                let (out, within) = (list(bound + outward), list(bound));
                self.add(path, out, put, true, 0.0);
                self.add(path, within, put, false, 0.0);
            }
        }

        fn add(&mut self, path: &str, value: Value, put: Put, breaks: bool, outward: f64) {
            self.cases.push(Case { path: path.to_owned(), document: put(value.clone()), value, breaks, outward });
        }
    }

    /// The smallest value that fulfils a schema: it has the required keys only.
    fn smallest(schema: &Value, root: &Value) -> Value {
        if let Some(name) = schema.get("$ref").and_then(Value::as_str) {
            return smallest(root.pointer(&name[1..]).unwrap(), root);
        }
        if let Some(only) = schema.get("const").or_else(|| schema.get("enum")?.get(0)) {
            return only.clone();
        }
        for word in ["oneOf", "anyOf"] {
            if let Some(first) = schema.get(word).and_then(|parts| parts.get(0)) {
                return smallest(first, root);
            }
        }
        match schema.get("type").and_then(Value::as_str).unwrap_or("null") {
            "integer" => schema.get("minimum").cloned().unwrap_or(json!(1)),
            "number" => json!(schema.get("minimum").and_then(Value::as_f64).unwrap_or(0.5)),
            "string" => json!("x"),
            "boolean" => json!(false),
            "array" => {
                let least = schema.get("minItems").and_then(Value::as_u64).unwrap_or(0);
                (0..least).map(|_| smallest(&schema["items"], root)).collect()
            }
            "object" => {
                let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
                let keys = required.filter_map(Value::as_str);
                keys.map(|key| (key.to_owned(), smallest(&schema["properties"][key], root))).collect()
            }
            _ => Value::Null,
        }
    }

    fn errors(document: &Value) -> Vec<ScenarioError> {
        Scenario::from_value(document).map_or_else(ScenarioError::each, |_| Vec::new())
    }

    #[test]
    fn every_bound_of_the_schema_is_checked() {
        let mut all = Bounds { root: numbers(), cases: Vec::new(), within: Vec::new() };
        for (name, schema) in numbers()["properties"].as_object().unwrap() {
            let put = |value: Value| {
                let mut document =
                    json!({ "topology": { "kind": "single", "endpoints": 4 }, "traffic": { "load": 0.0 } });
                document[name] = value;
                if name == "workload" {
                    document.as_object_mut().unwrap().shift_remove("traffic");
                }
                document
            };
            all.visit(name, schema, &put);
        }
        assert!(all.cases.len() > 300, "{}", all.cases.len());
        let cases = all.cases.iter().filter(|case| case.breaks || !all.cases.iter().any(|other| case.is_beyond(other)));
        for Case { path, value, document, breaks, .. } in cases {
            let found = errors(document);
            let about = found.iter().filter(|e| e.path == *path || path.starts_with(&format!("{}[", e.path)));
            let said: Vec<&ScenarioError> = about.collect();
            // A step of a sequence is read as a whole, so the error shows the whole step.
            let step = |e: &ScenarioError| {
                path.contains(".steps[") && path.starts_with(&format!("{}.", e.path)) && e.value.is_some()
            };
            let told = found.iter().any(|e| (e.path == *path && e.value == Some(value.to_string())) || step(e));
            match breaks {
                true => assert!(told, "{path} = {value} is not refused as it should: {found:?}"),
                // A value within its bounds may still be refused for another reason, such as another key.
                false => assert!(
                    said.iter().all(|e| !(e.expected.starts_with("expected a whole number")
                        || e.expected.starts_with("expected a number")
                        || e.expected.starts_with("expected a list"))),
                    "{path} = {value} is refused: {said:?}"
                ),
            }
        }
    }

    #[test]
    fn references_stand_at_the_root_and_descriptions_are_plain() {
        fn visit(schema: &Value, root: &Value, depth: usize) {
            match schema {
                Value::Object(table) => {
                    if let Some(name) = table.get("$ref").and_then(Value::as_str) {
                        assert!(root.pointer(&name[1..]).is_some(), "{name}");
                    }
                    assert!(depth == 0 || !table.contains_key("$defs"), "definitions below the root: {schema}");
                    if let Some(text) = table.get("description").and_then(Value::as_str) {
                        assert!(!text.contains("[`") && !text.contains("](") && !text.contains("::"), "{text}");
                    }
                    table.values().for_each(|inner| visit(inner, root, depth + 1));
                }
                Value::Array(parts) => parts.iter().for_each(|inner| visit(inner, root, depth + 1)),
                _ => {}
            }
        }
        visit(&schema(), &schema(), 0);
        visit(numbers(), numbers(), 0);
        for entry in catalogue().as_object().unwrap().values().flat_map(|entries| entries.as_array().unwrap()) {
            visit(&entry["schema"], &entry["schema"], 0);
        }
    }
}
