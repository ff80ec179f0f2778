//! Documents: scenarios whose results are recorded, mixed with one another and changed by their schema.

use crate::scenarios;
use phit_engine::engine::Rng;
use phit_engine::scenario::{numbers, schema};
use serde_json::{Map, Value, json};

pub struct Corpus {
    documents: Vec<Value>,
}

/// Numbers at which limits are likely.
const EDGES: [u64; 14] = [
    0,
    1,
    2,
    3,
    255,
    256,
    65_535,
    65_536,
    1_000_000,
    i32::MAX as u64,
    1 << 31,
    u32::MAX as u64,
    u32::MAX as u64 + 1,
    u64::MAX,
];

const TEXTS: [&str; 9] =
    ["", "x", "auto", "infinite", "8 B", "1.5 us", "100 Gb/s", "\u{0}\u{1b}[31m\u{202e}", "../../etc/passwd"];

fn one<'a, T>(rng: &mut Rng, of: &'a [T]) -> &'a T {
    &of[rng.below(of.len() as u32) as usize]
}

impl Corpus {
    pub fn new() -> Self {
        Self { documents: scenarios::all().into_values().collect() }
    }

    /// A document: one of the recorded ones, short, perhaps with sections of others, and some values changed.
    pub fn draw(&self, rng: &mut Rng) -> Value {
        let mut document = one(rng, &self.documents).clone();
        shorten(&mut document, rng);
        while rng.below(4) == 0 {
            let other = one(rng, &self.documents);
            let section =
                *one(rng, &["topology", "router", "routing", "queueing", "congestion", "traffic", "measure", "units"]);
            match other.get(section) {
                Some(value) => document[section] = value.clone(),
                None => drop(document.as_object_mut().map(|table| table.shift_remove(section))),
            }
            shorten(&mut document, rng);
        }
        let changes = *one(rng, &[0, 1, 1, 1, 2, 2, 3, 5, 8]);
        for _ in 0..changes {
            change(&mut document, rng);
        }
        document
    }
}

/// Few cycles are enough: an error in many cycles shows in few.
fn shorten(document: &mut Value, rng: &mut Rng) {
    if document.get("workload").is_some() {
        return;
    }
    let measure = &mut document["measure"];
    if !measure.is_object() {
        *measure = json!({});
    }
    for (key, most) in [("warmup", 120), ("cycles", 150)] {
        measure[key] = json!(1 + rng.below(most));
    }
    for key in ["batches", "until", "precision", "max_cycles", "max_warmup", "max_drain"] {
        if rng.below(3) > 0 {
            measure.as_object_mut().map(|table| table.shift_remove(key));
        }
    }
}

/// The pointers of all values in a document.
fn places(value: &Value, at: String, found: &mut Vec<String>) {
    match value {
        Value::Object(table) => table.iter().for_each(|(key, inner)| {
            let key = key.replace('~', "~0").replace('/', "~1");
            found.push(format!("{at}/{key}"));
            places(inner, format!("{at}/{key}"), found);
        }),
        // Only the first elements of long lists.
        Value::Array(list) => list.iter().enumerate().take(6).for_each(|(index, inner)| {
            found.push(format!("{at}/{index}"));
            places(inner, format!("{at}/{index}"), found);
        }),
        _ => {}
    }
}

/// Changes a value, leaves a key out, puts one in or gives it another name.
fn change(document: &mut Value, rng: &mut Rng) {
    let mut found = Vec::new();
    places(document, String::new(), &mut found);
    if found.is_empty() {
        return;
    }
    let place = one(rng, &found).clone();
    let (table, key) = place.rsplit_once('/').unwrap_or(("", ""));
    match rng.below(10) {
        0 => drop(document.pointer_mut(table).and_then(Value::as_object_mut).map(|table| table.shift_remove(key))),
        1 => {
            if let Some(table) = document.pointer_mut(table).and_then(Value::as_object_mut)
                && let Some(value) = table.shift_remove(key)
            {
                table.insert(format!("{key}{}", one(rng, &["s", "_", ""])), value);
            }
        }
        2..=5 => {
            let value = of_schema(document, &place, rng);
            if let Some(at) = document.pointer_mut(&place) {
                *at = value;
            }
        }
        6 => put_in(document, &place, rng),
        7 => {
            let value = anything(rng, 2);
            if let Some(at) = document.pointer_mut(&place) {
                *at = value;
            }
        }
        _ => {
            if let Some(at) = document.pointer_mut(&place) {
                nudge(at, rng);
            }
        }
    }
}

/// A value near this one.
fn nudge(value: &mut Value, rng: &mut Rng) {
    let changed = match &*value {
        Value::Number(number) => match (number.as_u64(), number.as_f64()) {
            (Some(whole), _) => match rng.below(5) {
                0 => json!(whole.wrapping_add(1)),
                1 => json!(whole.saturating_sub(1)),
                2 => json!(whole.saturating_mul(2)),
                3 => json!(one(rng, &EDGES)),
                _ => json!(-(whole as f64)),
            },
            (None, Some(real)) => json!(real * [-1.0, 0.5, 2.0, 1e9, 1e-12][rng.below(5) as usize]),
            _ => Value::Null,
        },
        Value::Bool(it) => json!(!it),
        Value::Array(list) => {
            let mut list = list.clone();
            match (list.pop(), rng.below(3)) {
                (Some(last), 0) => list.extend([last.clone(), last]),
                (Some(last), 1) => list.insert(0, last),
                _ => {}
            }
            Value::Array(list)
        }
        Value::String(text) => json!(format!("{text}{}", one(rng, &TEXTS))),
        Value::Object(_) => json!({}),
        Value::Null => json!(0),
    };
    *value = changed;
}

/// A value that has nothing to do with where it stands.
fn anything(rng: &mut Rng, depth: u32) -> Value {
    match rng.below(if depth > 0 { 9 } else { 6 }) {
        0 => Value::Null,
        1 => json!(rng.below(2) == 1),
        2 => json!(one(rng, &EDGES)),
        3 => json!(-(i64::from(rng.below(1000)))),
        4 => json!(one(rng, &[0.5, 1e-300, 1e300, -0.0, 0.1, 0.999_999_999_999])),
        5 => json!(one(rng, &TEXTS)),
        6 => (0..rng.below(4)).map(|_| anything(rng, depth - 1)).collect(),
        7 => json!({ "kind": one(rng, &TEXTS) }),
        _ => (0..rng.below(3)).map(|i| (format!("k{i}"), anything(rng, depth - 1))).collect::<Map<_, _>>().into(),
    }
}

/// Adds a key of the schema to the table at a place, or to the table around it.
fn put_in(document: &mut Value, place: &str, rng: &mut Rng) {
    let table = match document.pointer(place) {
        Some(Value::Object(_)) => place,
        _ => place.rsplit_once('/').map_or("", |(table, _)| table),
    };
    let Some(schema) = schema_at(document, table) else { return };
    let keys: Vec<String> = keys(&schema);
    if keys.is_empty() {
        return;
    }
    let key = one(rng, &keys).clone();
    let value = of_schema(document, &format!("{table}/{key}"), rng);
    if let Some(Value::Object(table)) = document.pointer_mut(table) {
        table.insert(key, value);
    }
}

fn keys(schemas: &[&'static Value]) -> Vec<String> {
    let tables = schemas.iter().filter_map(|schema| schema.get("properties")?.as_object());
    tables.flat_map(|table| table.keys().cloned()).collect()
}

fn root() -> &'static Value {
    static BOTH: std::sync::LazyLock<Value> = std::sync::LazyLock::new(schema);
    // Quantities with units are in the one, plain bounds in the other.
    if BOTH.is_null() { numbers() } else { &BOTH }
}

/// The schemas that may apply where a pointer leads to.
fn schema_at(document: &Value, pointer: &str) -> Option<Vec<&'static Value>> {
    let mut here = vec![root()];
    let mut value = Some(document);
    for step in pointer.split('/').skip(1) {
        let all = open(&here, value);
        here = all
            .iter()
            .filter_map(|schema| {
                let named = schema.get("properties").and_then(|properties| properties.get(step));
                named
                    .or_else(|| schema.get("additionalProperties").filter(|it| it.is_object()))
                    .or_else(|| schema.get("items"))
            })
            .collect();
        value = value.and_then(|value| match value {
            Value::Array(list) => list.get(step.parse::<usize>().ok()?),
            _ => value.get(step),
        });
    }
    let all = open(&here, value);
    (!all.is_empty()).then_some(all)
}

/// These schemas with those that they refer to and their alternatives, of which some may be about another kind.
fn open(schemas: &[&'static Value], value: Option<&Value>) -> Vec<&'static Value> {
    let (mut left, mut all) = (schemas.to_vec(), Vec::<&'static Value>::new());
    while let Some(schema) = left.pop() {
        let kind = schema.pointer("/properties/kind/const");
        let other = kind.is_some() && value.and_then(|value| value.get("kind")).is_some_and(|own| Some(own) != kind);
        if other || all.len() > 200 {
            continue;
        }
        if let Some(name) = schema.get("$ref").and_then(Value::as_str) {
            left.extend(root().pointer(&name[1..]));
        }
        for word in ["oneOf", "anyOf", "allOf"] {
            left.extend(schema.get(word).and_then(Value::as_array).into_iter().flatten());
        }
        all.push(schema);
    }
    all
}

/// A value as the schema of a place allows it, at its bounds more often than not, sometimes just beyond them.
fn of_schema(document: &Value, pointer: &str, rng: &mut Rng) -> Value {
    match schema_at(document, pointer) {
        Some(schemas) => made(&schemas, rng, 4),
        None => anything(rng, 1),
    }
}

fn made(schemas: &[&'static Value], rng: &mut Rng, depth: u32) -> Value {
    let telling =
        |schema: &&&Value| ["type", "const", "enum", "properties"].iter().any(|word| schema.get(word).is_some());
    let telling: Vec<&'static Value> = schemas.iter().filter(telling).copied().collect();
    if telling.is_empty() {
        return anything(rng, 1);
    }
    let schema = *one(rng, &telling);
    if let Some(only) = schema.get("const") {
        return only.clone();
    }
    if let Some(names) = schema.get("enum").and_then(Value::as_array).filter(|names| !names.is_empty()) {
        return one(rng, names).clone();
    }
    let types: Vec<&str> = match schema.get("type") {
        Some(Value::String(name)) => vec![name],
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        _ => vec!["object"],
    };
    let bound = |word: &str| schema.get(word).and_then(Value::as_f64);
    let (least, most) = (
        bound("minimum").or_else(|| bound("exclusiveMinimum")).unwrap_or(0.0),
        bound("maximum").or_else(|| bound("exclusiveMaximum")),
    );
    match *one(rng, &types) {
        "integer" => match rng.below(8) {
            0 => json!(least as u64),
            1 => json!((least as i64).saturating_sub(1)),
            2 => json!(most.unwrap_or(u32::MAX.into()) as u64),
            3 => json!((most.unwrap_or(u32::MAX.into()) as u64).saturating_add(1)),
            4 => json!(one(rng, &EDGES)),
            _ => json!(least as u64 + u64::from(rng.below(8))),
        },
        "number" => match rng.below(6) {
            0 => json!(least),
            1 => json!(most.unwrap_or(1.0)),
            2 => json!(one(rng, &[1e-300, 1e300, -1.0, 0.5, 1e18])),
            _ => json!(least + (most.unwrap_or(least + 1.0) - least) * rng.unit()),
        },
        "string" => json!(one(rng, &TEXTS)),
        "boolean" => json!(rng.below(2) == 1),
        "null" => Value::Null,
        "array" if depth > 0 => {
            let items: Vec<&'static Value> = schema.get("items").into_iter().collect();
            let count = [0, 1, 1, 2, 3, 4][rng.below(6) as usize];
            (0..count).map(|_| made(&open(&items, None), rng, depth - 1)).collect()
        }
        "object" if depth > 0 => {
            let mut table = Map::new();
            let required: Vec<&str> = schema
                .get("required")
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .collect();
            for (key, inner) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
                if required.contains(&key.as_str()) && rng.below(20) > 0 || rng.below(4) == 0 {
                    table.insert(key.clone(), made(&open(&[inner], None), rng, depth - 1));
                }
            }
            if let Some(inner) = schema.get("additionalProperties").filter(|inner| inner.is_object()) {
                let key = *one(rng, &["default", "endpoint", "local", "global", "link", "x"]);
                table.insert(key.into(), made(&open(&[inner], None), rng, depth - 1));
            }
            table.into()
        }
        _ => json!({}),
    }
}
