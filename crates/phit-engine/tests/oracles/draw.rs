//! Scenarios of every kind, with options as the schema declares them.
//!
//! The values of an option come from the schema of its table. So a new option is drawn without any change here, and
//! reported if no scenario with it is accepted.

use crate::common::kinds;
use crate::common::with;
use crate::stems;
use phit_engine::engine::Rng;
use phit_engine::scenario::numbers;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

/// Tables whose options are drawn. `[workload]` is a program, and `[measure]` sets the length of a run.
const SECTIONS: [&str; 6] = ["topology", "planes", "router", "routing", "queueing", "traffic"];

/// Options that the judge sets itself, or that change the demand and not its transport: traces, and traffic that
/// begins, changes or ends by itself.
const LEFT: [&str; 7] = [
    "/traffic/load",
    "/traffic/load_unit",
    "/traffic/trace",
    "/traffic/changes",
    "/traffic/message",
    "/traffic/requests",
    "/topology/kind",
];

/// Options of links that only the class `endpoint` has.
const ENDPOINTS: [&str; 4] = ["ejection_buffer", "ejection_latency", "injection_bandwidth", "injection_credit_latency"];

/// Values that the schema of an option has because another option shares its table: they are refused in every scenario.
const NEVER: [&str; 1] = ["router.vc_allocator = ideal"];

/// A value for an option.
#[derive(Debug, Clone)]
pub struct Choice {
    /// Its position.
    pub pointer: String,
    /// Its name, without the class of links or the position in a list.
    pub name: String,
    pub value: Value,
}

pub struct Corpus {
    documents: Vec<Value>,
    programs: Vec<Value>,
}

pub fn one<'a, T>(rng: &mut Rng, of: &'a [T]) -> &'a T {
    &of[rng.below(of.len() as u32) as usize]
}

impl Corpus {
    /// All kinds of scenarios with random traffic.
    pub fn new() -> Self {
        let cases = kinds::cases().into_iter().map(|(.., changes)| changes);
        let all = cases.chain(stems::changes()).map(|changes| with(kinds::base(), changes));
        let (mut programs, mut documents): (Vec<Value>, Vec<Value>) =
            all.partition(|document| document.get("workload").is_some());
        for document in documents.iter_mut().chain(&mut programs) {
            if let Some(faults) = document["topology"].get_mut("faults") {
                // Failures during a run lose packets for another reason.
                faults.as_object_mut().map(|faults| faults.shift_remove("later"));
            }
            document.as_object_mut().map(|table| table.shift_remove("measure"));
        }
        programs.iter_mut().for_each(|document| drop(document.as_object_mut().map(|it| it.shift_remove("traffic"))));
        Self { documents, programs }
    }

    pub fn documents(&self) -> &[Value] {
        &self.documents
    }

    pub fn programs(&self) -> &[Value] {
        &self.programs
    }

    /// A scenario with some options of its own choice.
    pub fn draw(&self, rng: &mut Rng) -> (Value, Vec<Choice>) {
        let mut document = one(rng, &self.documents).clone();
        let sizes = [json!(1), json!(1), json!(4), json!(8), json!({ "kind": "choice", "sizes": [1, 5] })];
        document["traffic"]["packet_size"] = one(rng, &sizes).clone();
        let made = vary(&mut document, &SECTIONS, rng);
        (document, made)
    }

    /// A program on a network with some options of its own choice.
    pub fn draw_program(&self, rng: &mut Rng) -> Value {
        let mut document = one(rng, &self.programs).clone();
        vary(&mut document, &["router", "routing", "queueing"], rng);
        document
    }
}

/// Sets some options in these sections.
pub fn vary(document: &mut Value, sections: &[&str], rng: &mut Rng) -> Vec<Choice> {
    let mut made = Vec::new();
    for _ in 0..*one(rng, &[0, 1, 2, 2, 2, 3, 4, 6]) {
        let mut choices = choices(document);
        choices.retain(|choice| sections.iter().any(|section| choice.pointer[1..].starts_with(section)));
        // An option with many values is drawn no more often than one with few.
        let names: Vec<&str> =
            choices.iter().map(|choice| &*choice.name).collect::<BTreeSet<_>>().into_iter().collect();
        let name = *one(rng, &names);
        let same: Vec<&Choice> = choices.iter().filter(|choice| choice.name == name).collect();
        let choice = (*one(rng, &same)).clone();
        choice.set(document);
        made.push(choice);
    }
    made
}

impl Choice {
    /// The document with this option.
    pub fn set(&self, document: &mut Value) {
        let mut here = document;
        for step in self.pointer.split('/').skip(1) {
            match here {
                Value::Object(_) => {}
                // A bare name becomes a table with that kind.
                Value::String(kind) => *here = json!({ "kind": kind }),
                _ => *here = json!({}),
            }
            here = &mut here[step];
        }
        *here = self.value.clone();
    }

    /// The option with its value, if the value has a name.
    pub fn label(&self) -> String {
        match &self.value {
            Value::String(name) => format!("{} = {name}", self.name),
            Value::Object(table) => match table.get("kind").and_then(Value::as_str) {
                Some(kind) => format!("{} = {kind}", self.name),
                None => self.name.clone(),
            },
            _ => self.name.clone(),
        }
    }
}

/// The options that a document sets itself, by their labels.
pub fn present(document: &Value) -> BTreeSet<String> {
    let set = |choice: Choice| {
        let value = document.pointer(&choice.pointer).filter(|value| !value.is_null())?.clone();
        Some(Choice { value, ..choice }.label())
    };
    choices(document).into_iter().filter_map(set).collect()
}

/// Everything that could be set in a document: every option of its tables, with some values.
pub fn choices(document: &Value) -> Vec<Choice> {
    let mut found = Vec::new();
    for section in SECTIONS {
        let schema = &numbers()["properties"][section];
        let pointer = format!("/{section}");
        below(document, &pointer, section, schema, &mut found);
    }
    found.retain(|choice| !NEVER.contains(&&*choice.label()));
    found
}

/// The choices at `pointer`, and below it.
fn below(document: &Value, pointer: &str, name: &str, schema: &'static Value, found: &mut Vec<Choice>) {
    // A background of a background is no other option.
    if LEFT.contains(&pointer) || pointer.ends_with("/background/background") {
        return;
    }
    let here = document.pointer(pointer);
    let is_section = pointer.matches('/').count() == 1;
    let tables = variants(schema);
    let kinds = tables.iter().any(|table| kind_of(table).is_some());
    let classes = |table: &'static Value| table.get("additionalProperties").filter(|inner| inner.is_object());
    // Another kind of network has other link classes. A section without kinds is present or not.
    if pointer != "/topology" && (!is_section || kinds) && !tables.iter().any(|table| classes(table).is_some()) {
        add(pointer, name, schema, found);
    }
    let own_kind = here.and_then(|here| here.get("kind").unwrap_or(here).as_str());
    for table in tables {
        let kind = kind_of(table);
        // Tables that may be left out are set as a whole.
        let there = is_section || here.is_some_and(|here| here.is_object() || here.is_string());
        if !there || kind.is_some() && kind != own_kind {
            continue;
        }
        let name = kind.map_or_else(|| name.to_owned(), |kind| format!("{name}.{kind}"));
        for (key, inner) in properties(table).filter(|(_, inner)| inner.get("const").is_none()) {
            below(document, &format!("{pointer}/{key}"), &format!("{name}.{key}"), inner, found);
        }
        for link in classes(table).into_iter().flat_map(variants) {
            for (key, inner) in properties(link) {
                add(&format!("{pointer}/endpoint/{key}"), &format!("{name}.endpoint.{key}"), inner, found);
                if !ENDPOINTS.contains(&&**key) {
                    add(&format!("{pointer}/default/{key}"), &format!("{name}.default.{key}"), inner, found);
                }
            }
        }
    }
}

fn add(pointer: &str, name: &str, schema: &'static Value, found: &mut Vec<Choice>) {
    found.extend(samples(schema, 2).into_iter().map(|value| Choice {
        pointer: pointer.into(),
        name: name.into(),
        value,
    }));
}

fn properties(table: &'static Value) -> impl Iterator<Item = (&'static String, &'static Value)> {
    table.get("properties").and_then(Value::as_object).into_iter().flatten()
}

fn kind_of(schema: &'static Value) -> Option<&'static str> {
    schema.pointer("/properties/kind/const").and_then(Value::as_str)
}

/// The alternatives of a schema, and of the schemas that they refer to.
fn variants(schema: &'static Value) -> Vec<&'static Value> {
    let (mut left, mut all) = (vec![schema], Vec::new());
    while let Some(schema) = left.pop() {
        if let Some(name) = schema.get("$ref").and_then(Value::as_str) {
            left.extend(numbers().pointer(&name[1..]));
        }
        for word in ["oneOf", "anyOf", "allOf"] {
            left.extend(schema.get(word).and_then(Value::as_array).into_iter().flatten().rev());
        }
        if ["type", "const", "enum", "properties"].iter().any(|word| schema.get(word).is_some()) {
            all.push(schema);
        }
    }
    all
}

/// Ordinary values for an option: extreme values are tested elsewhere.
fn samples(schema: &'static Value, depth: u32) -> Vec<Value> {
    let unit = schema.get("x-unit").and_then(Value::as_str);
    let mut found: Vec<Value> = variants(schema).iter().flat_map(|schema| samples_of(schema, unit, depth)).collect();
    let mut seen = BTreeSet::new();
    found.retain(|value| !value.is_null() && seen.insert(value.to_string()));
    found
}

fn samples_of(schema: &'static Value, unit: Option<&str>, depth: u32) -> Vec<Value> {
    if let Some(only) = schema.get("const") {
        return vec![only.clone()];
    }
    if let Some(names) = schema.get("enum").and_then(Value::as_array) {
        return names.clone();
    }
    let bound = |word: &str| schema.get(word).and_then(Value::as_f64);
    let least = bound("minimum").or_else(|| bound("exclusiveMinimum"));
    let most = bound("maximum").or_else(|| bound("exclusiveMaximum")).unwrap_or(f64::MAX);
    let is = |name: &str| match schema.get("type") {
        Some(Value::String(only)) => only == name,
        Some(Value::Array(several)) => several.iter().any(|it| it == name),
        _ => name == "object" && schema.get("properties").is_some(),
    };
    let mut found = Vec::new();
    if is("integer") {
        let least = least.unwrap_or(0.0);
        let offered: &[f64] = match unit {
            Some("cycles") => &[0.0, 1.0, 3.0, 8.0],
            Some("phits") => &[1.0, 8.0, 20.0, 64.0],
            _ => &[0.0, 1.0, 2.0, 3.0, 4.0],
        };
        let near = offered.iter().map(|it| if unit.is_some() { it.max(least) } else { least + it });
        found.extend(near.filter(|it| *it <= most).map(|it| json!(it as u64)));
    }
    if is("number") {
        let least = least.unwrap_or(0.0);
        let offered = [0.0, 0.1, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0];
        found.extend(offered.iter().filter(|it| (least..=most).contains(it)).map(|it| json!(it)));
    }
    if is("boolean") {
        found.extend([json!(false), json!(true)]);
    }
    if is("array") && depth > 0 {
        let items = schema.get("items").map_or(vec![], |items| samples(items, depth - 1));
        let least = schema.get("minItems").and_then(Value::as_u64).unwrap_or(1).max(1) as usize;
        if !items.is_empty() {
            found.push(items.iter().cycle().take(least).cloned().collect());
        }
        if least == 1 && items.len() > 1 {
            found.push(items[..2].iter().cloned().collect());
        }
    }
    if is("object") && depth > 0 {
        let mut least = Map::new();
        if let Some(kind) = schema.pointer("/properties/kind/const") {
            least.insert("kind".into(), kind.clone());
        }
        let required: Vec<&str> =
            schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
        for (key, inner) in properties(schema).filter(|(key, _)| required.contains(&key.as_str()) && *key != "kind") {
            if let Some(value) = samples(inner, depth - 1).into_iter().next_back() {
                least.insert(key.clone(), value);
            }
        }
        found.push(least.clone().into());
        // Tables with a kind are entered if they are present.
        if schema.pointer("/properties/kind/const").is_none() {
            for (key, inner) in properties(schema) {
                for value in samples(inner, depth - 1) {
                    let mut more = least.clone();
                    more.insert(key.clone(), value);
                    found.push(more.into());
                }
            }
        }
    }
    found
}
