//! Programs that endpoints execute: the model of the hosts, the network under it, and what goes wrong.

#[path = "../common/mod.rs"]
mod common;

mod collectives;
mod errors;
mod fluid;
mod ideal;
mod inference;
mod jobs;
mod patience;
mod rails;
mod random;
mod repeat;
mod spray;
mod traces;

use phit_engine::result::Outcome;
use serde_json::{Value, json};

/// A column of a table.
fn column<'a>(tables: &'a serde_json::Map<String, Value>, table: &str, name: &str) -> &'a [Value] {
    tables[table][name].as_array().unwrap_or_else(|| panic!("{table}.{name}"))
}

/// A column of whole numbers.
fn numbers(outcome: &Outcome, table: &str, name: &str) -> Vec<u64> {
    let tables = outcome.tables();
    column(&tables, table, name)
        .iter()
        .map(|value| value.as_u64().unwrap_or_else(|| panic!("{name}: {value}")))
        .collect()
}

fn completion(outcome: &Outcome) -> u64 {
    outcome.summary()["completion"].as_u64().expect("a program has a completion")
}

/// A program inside the scenario, on a crossbar of `endpoints` endpoints.
fn inline(endpoints: u32, goal: &str) -> Value {
    json!({
        "units": { "phit": "1 B" },
        "topology": { "kind": "single", "endpoints": endpoints },
        "workload": { "kind": "program", "goal": goal },
    })
}
