//! The scenarios in the descriptions of kinds.
//!
//! The description of a kind has one scenario or more, as a reader would paste it. So a new kind is tested as soon as
//! it is registered.

use super::with;
use phit_engine::catalogue::catalogue;
use serde_json::{Value, json};

/// A scenario for the sections that a description leaves out.
fn base() -> Value {
    json!({
        "units": { "phit": "8 B", "cycle": "1 ns" },
        "topology": { "kind": "torus", "dims": [4, 4] },
        "router": { "links": { "default": { "vcs": 8 } } },
        "traffic": { "load": 0.1 },
        "measure": { "warmup": 200, "cycles": 800 },
    })
}

/// The scenarios of a description.
fn blocks(text: &str) -> impl Iterator<Item = Value> {
    let parts = text.split("```toml\n").skip(1);
    parts.map(|part| {
        let block = part.split("```").next().unwrap_or_default();
        toml::from_str(block).unwrap_or_else(|error| panic!("{error}: {block}"))
    })
}

/// True if a table of `value` names a file or a function of a user.
fn names_users_own(value: &Value) -> bool {
    match value {
        Value::Object(table) => {
            table.contains_key("file") || table.contains_key("function") || table.values().any(names_users_own)
        }
        Value::Array(list) => list.iter().any(names_users_own),
        _ => false,
    }
}

/// True if a table of `value` is of this kind.
pub fn uses(value: &Value, kind: &str) -> bool {
    match value {
        Value::Object(table) => table.values().any(|value| uses(value, kind)),
        Value::Array(list) => list.iter().any(|value| uses(value, kind)),
        value => value == kind,
    }
}

/// The scenarios that need nothing else: concept, kind, scenario, complete.
pub fn cases() -> Vec<(String, String, Value)> {
    let mut found = Vec::new();
    for (concept, entries) in catalogue().as_object().expect("a table of concepts") {
        for entry in entries.as_array().expect("a list of kinds") {
            let kind = entry["kind"].as_str().expect("a name");
            for own in blocks(entry["description"].as_str().unwrap_or_default()) {
                assert!(uses(&own, kind), "the {concept} {kind:?} does not occur in the scenario of its description");
                if !names_users_own(&own) {
                    found.push((concept.clone(), kind.to_owned(), complete(own)));
                }
            }
        }
    }
    found
}

/// The scenario of a description, with the sections that it leaves out.
fn complete(own: Value) -> Value {
    let mut base = base();
    if own.get("workload").is_some() {
        base.as_object_mut().expect("a table").retain(|key, _| key != "traffic" && key != "measure");
    }
    with(base, own)
}
