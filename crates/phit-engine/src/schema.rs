//! The schemas of parameter structs: how they are made, and the check of a table against their bounds.
//!
//! A bound (`minimum`, `exclusiveMaximum`, `minItems`, ...) stands once, as an attribute of its field. It appears in
//! the JSON Schema, which provides the check and its message. Conditions between several keys are checked in code.

use crate::error::{REQUIRED, ScenarioError, join, joined, read};
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::any::TypeId;
use std::collections::{HashMap, HashSet};
use std::sync::{LazyLock, Mutex, PoisonError};

/// A generator whose definitions stand at the root, and whose descriptions are plain text.
pub(crate) fn generator() -> SchemaGenerator {
    SchemaSettings::draft2020_12().with_transform(plain_descriptions).into_generator()
}

/// The schema of `T`, with the definitions that it refers to.
pub(crate) fn of<T: JsonSchema>() -> Schema {
    generator().into_root_schema_for::<T>()
}

/// Replaces notation that only rustdoc understands: links become their texts.
fn plain_descriptions(schema: &mut Schema) {
    if let Some(Value::String(text)) = schema.get_mut("description") {
        *text = plain(text);
    }
    schemars::transform::transform_subschemas(&mut plain_descriptions, schema);
}

/// `text` with every link (``[`X`]``, ``[`X`](path)``, `[words](path)`) replaced by its text. Blocks of code are
/// unchanged.
fn plain(text: &str) -> String {
    let mut code = false;
    let lines = text.split('\n').map(|line| {
        let fence = line.trim_start().starts_with("```");
        code ^= fence;
        if fence || code { line.to_owned() } else { without_links(line) }
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn without_links(line: &str) -> String {
    let (mut text, mut rest) = (String::new(), line);
    while let Some(open) = rest.find('[') {
        let (before, from) = rest.split_at(open);
        text.push_str(before);
        // Brackets within backticks are scenario syntax.
        let quoted = text.matches('`').count() % 2 == 1;
        let inside = from[1..].find(']').map(|close| &from[1..=close]);
        let Some(inside) = inside.filter(|_| !quoted) else {
            text.push('[');
            rest = &from[1..];
            continue;
        };
        let after = &from[inside.len() + 2..];
        let target = after.strip_prefix('(').and_then(|path| path.split_once(')'));
        let names_an_item = inside.len() > 2 && inside.starts_with('`') && inside.ends_with('`');
        match target {
            Some((_, behind)) => {
                text.push_str(inside);
                rest = behind;
            }
            None if names_an_item => {
                text.push_str(inside);
                rest = after;
            }
            None => {
                text.push('[');
                rest = &from[1..];
            }
        }
    }
    text + rest
}

/// Reads a value of type `T` found at `path`, and checks it against the bounds of its schema.
pub(crate) fn parse<T: DeserializeOwned + JsonSchema + 'static>(path: &str, value: &Value) -> Result<T, ScenarioError> {
    let broken = check::<T>(path, value);
    match read_all(path, value) {
        // If a list stands in place of a table, errors about the list's values would only distract.
        Err(error) if broken.iter().any(|other| other.expected == TABLE && error.path.starts_with(&other.path)) => {
            joined(Ok(()), broken).and(Err(error))
        }
        read => joined(read, broken),
    }
}

/// Reads a value of type `T` found at `path`. If its table lacks keys, the errors name all of them.
pub(crate) fn read_all<T: DeserializeOwned + JsonSchema>(path: &str, value: &Value) -> Result<T, ScenarioError> {
    read(path, value).map_err(|error| with_all_missing(error, path, value, of::<T>))
}

/// An error about a missing key, with errors for all other missing keys of the table.
fn with_all_missing(mut error: ScenarioError, path: &str, value: &Value, schema: fn() -> Schema) -> ScenarioError {
    let schema = schema();
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    let absent: Vec<&str> = required.filter(|key| value.get(key).is_none()).collect();
    let told: HashSet<String> = error.clone().each().into_iter().map(|one| one.path).collect();
    let paths = absent.iter().map(|key| join(path, key));
    let (known, new): (Vec<String>, Vec<String>) = paths.partition(|path| told.contains(path));
    if !known.is_empty() {
        error.others.extend(new.into_iter().map(|path| ScenarioError::missing(path, REQUIRED)));
    }
    error
}

/// The error for a list in place of a table. The reader of tables would accept a list: as values of the keys in their
/// order of declaration.
const TABLE: &str = "expected a table";

/// The broken bounds of the schema of `T` in the table at `path`.
pub(crate) fn check<T: JsonSchema + 'static>(path: &str, value: &Value) -> Vec<ScenarioError> {
    // No user sees the descriptions of this schema.
    broken(
        TypeId::of::<T>(),
        || SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<T>(),
        path,
        value,
    )
}

/// The broken bounds of the schema of a type, in the table at `path`.
fn broken(of: TypeId, schema: fn() -> Schema, path: &str, value: &Value) -> Vec<ScenarioError> {
    // Schemas are made once: a sweep reads thousands of scenarios.
    static MADE: LazyLock<Mutex<HashMap<TypeId, Option<&'static Value>>>> = LazyLock::new(Mutex::default);
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    let bounds =
        *made.entry(of).or_insert_with(|| bounds(schema().as_value()).map(|bounds| &*Box::leak(Box::new(bounds))));
    drop(made);
    let mut found = Vec::new();
    if let Some(bounds) = bounds {
        Walk { root: bounds }.visit(&Path::Start(path), value, bounds, &mut found);
    }
    found
}

const BOUNDS: [&str; 6] = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minItems", "maxItems"];
const ALTERNATIVES: [&str; 3] = ["oneOf", "anyOf", "allOf"];

/// The parts of a schema that contain bounds, so that long lists without bounds need no visit. `None` if there are
/// none.
fn bounds(schema: &Value) -> Option<Value> {
    // A definition may refer to others, and to itself.
    let definitions = schema.get("$defs").and_then(Value::as_object);
    let mut bounded = HashSet::new();
    loop {
        let open = definitions.into_iter().flatten().filter(|(name, _)| !bounded.contains(name.as_str()));
        let more: Vec<&str> = open.filter(|(_, part)| pruned(part, &bounded).1).map(|(name, _)| &**name).collect();
        if more.is_empty() {
            break;
        }
        bounded.extend(more);
    }
    let (mut kept, any) = pruned(schema, &bounded);
    // Definitions without bounds only list alternatives of a number with a bound.
    let definitions = definitions.into_iter().flatten();
    kept["$defs"] = definitions.map(|(name, part)| (name.clone(), pruned(part, &bounded).0)).collect();
    any.then_some(kept)
}

/// The bounds of a schema, with the path to them and the marks that distinguish alternatives; and whether it has any.
/// `bounded` are the definitions with bounds.
fn pruned(schema: &Value, bounded: &HashSet<&str>) -> (Value, bool) {
    let mut kept = Map::new();
    let mut any = false;
    for (word, part) in schema.as_object().into_iter().flatten() {
        match word.as_str() {
            "properties" => {
                let mut tables = Map::new();
                for (key, table) in part.as_object().into_iter().flatten() {
                    let (inner, has) = pruned(table, bounded);
                    any |= has;
                    if has || table.get("const").is_some() {
                        tables.insert(key.clone(), inner);
                    }
                }
                kept.insert(word.clone(), tables.into());
            }
            "items" | "additionalProperties" => {
                let (inner, has) = pruned(part, bounded);
                if has {
                    any = true;
                    kept.insert(word.clone(), inner);
                }
            }
            "$ref" => {
                let name = part.as_str().and_then(|name| name.strip_prefix("#/$defs/"));
                any |= name.is_some_and(|name| bounded.contains(name));
                kept.insert(word.clone(), part.clone());
            }
            _ if ALTERNATIVES.contains(&word.as_str()) => {
                let parts = part.as_array().into_iter().flatten().map(|part| pruned(part, bounded));
                let (parts, has): (Vec<Value>, Vec<bool>) = parts.unzip();
                any |= has.contains(&true);
                kept.insert(word.clone(), parts.into());
            }
            _ if BOUNDS.contains(&word.as_str()) && !of_the_type(schema, word) => {
                any = true;
                kept.insert(word.clone(), part.clone());
            }
            "type" | "const" | "enum" | "x-unit" => {
                kept.insert(word.clone(), part.clone());
            }
            _ => {}
        }
    }
    (kept.into(), any)
}

/// True for a bound that no number of the field's type can break.
fn of_the_type(schema: &Value, word: &str) -> bool {
    let bound = schema.get(word).and_then(Value::as_u64);
    matches!(
        (schema.get("format").and_then(Value::as_str), word, bound),
        (Some("uint8" | "uint16" | "uint32" | "uint64" | "uint"), "minimum", Some(0))
            | (Some("uint8"), "maximum", Some(255))
            | (Some("uint16"), "maximum", Some(65_535))
    )
}

/// The schemas that apply to `value` at once: references followed, alternatives by the `kind` of the table.
pub(crate) fn applying<'a>(value: &Value, schemas: &[&'a Value], root: &'a Value) -> Vec<&'a Value> {
    let mut open: Vec<&Value> = schemas.to_vec();
    let mut all = Vec::new();
    while let Some(schema) = open.pop() {
        open.extend(referred(schema, root));
        for word in ALTERNATIVES {
            let alternatives = schema.get(word).and_then(Value::as_array).into_iter().flatten();
            open.extend(alternatives.filter(|alternative| is_of_its_kind(value, alternative)));
        }
        all.push(schema);
    }
    all
}

fn referred<'a>(schema: &Value, root: &'a Value) -> Option<&'a Value> {
    let reference = schema.get("$ref").and_then(Value::as_str)?;
    // `pointer` would allocate each step, and a scenario takes this path a hundred times.
    let mut steps = reference.trim_start_matches('#').split('/').skip(1);
    steps.try_fold(root, |schema, step| schema.get(step))
}

/// False for the schema of a table with another `kind` than `value` has.
fn is_of_its_kind(value: &Value, schema: &Value) -> bool {
    let kind = schema.get("properties").and_then(|properties| properties.get("kind")?.get("const"));
    kind.is_none() || value.get("kind").is_none() || kind == value.get("kind")
}

/// The position of a value, put into words only for an error.
enum Path<'a> {
    Start(&'a str),
    Key(&'a Path<'a>, &'a str),
    Index(&'a Path<'a>, usize),
}

impl Path<'_> {
    fn words(&self) -> String {
        match self {
            Self::Start(path) => (*path).to_owned(),
            Self::Key(table, key) => join(&table.words(), key),
            Self::Index(list, index) => format!("{}[{index}]", list.words()),
        }
    }
}

struct Walk<'a> {
    root: &'a Value,
}

impl Walk<'_> {
    fn visit(&self, path: &Path, value: &Value, schema: &Value, found: &mut Vec<ScenarioError>) {
        // Every entry of a trace takes this path. A loop over the few words is faster than looking them up.
        let (mut items, mut least, mut most) = (None, None, None);
        for (word, part) in schema.as_object().into_iter().flatten() {
            match (word.as_str(), part) {
                ("$ref", _) => {
                    if let Some(inner) = referred(schema, self.root) {
                        self.visit(path, value, inner, found);
                    }
                }
                ("allOf", Value::Array(parts)) => {
                    parts.iter().for_each(|part| self.visit(path, value, part, found));
                }
                ("oneOf" | "anyOf", Value::Array(parts)) => self.any(path, value, parts, found),
                ("items", _) => items = Some(part),
                ("minItems", _) => least = part.as_u64(),
                ("maxItems", _) => most = part.as_u64(),
                _ => {}
            }
        }
        match value {
            Value::Number(number) => {
                let parts = self.alternatives(schema);
                if let Some(expected) = number.as_f64().and_then(|number| out_of_bounds(number, schema, parts)) {
                    found.push(ScenarioError::new(path.words(), value, expected));
                }
            }
            Value::Array(list) => {
                if is_table(schema) {
                    found.push(ScenarioError::new(path.words(), value, TABLE));
                }
                if let Some(expected) = wrong_length(list.len(), least, most) {
                    found.push(ScenarioError::new(path.words(), value, expected));
                }
                if let Some(inner) = items {
                    for (index, item) in list.iter().enumerate() {
                        self.visit(&Path::Index(path, index), item, inner, found);
                    }
                }
            }
            Value::Object(table) => {
                let others = schema.get("additionalProperties");
                for (key, item) in table {
                    let inner = schema.get("properties").and_then(|properties| properties.get(key)).or(others);
                    if let Some(inner) = inner {
                        self.visit(&Path::Key(path, key), item, inner, found);
                    }
                }
            }
            _ => {}
        }
    }

    /// The alternatives of a schema, or of the schema that it refers to.
    fn alternatives<'b>(&'b self, schema: &'b Value) -> &'b [Value] {
        let of = |schema: &'b Value| schema.get("anyOf").and_then(Value::as_array);
        of(schema).or_else(|| of(referred(schema, self.root)?)).map_or(&[], Vec::as_slice)
    }

    /// Among the alternatives for such a value, takes the one that fits best.
    fn any(&self, path: &Path, value: &Value, parts: &[Value], found: &mut Vec<ScenarioError>) {
        let about = parts.iter().filter(|part| is_of_its_kind(value, part) && is_about(value, part));
        let broken = about.map(|part| {
            let mut broken = Vec::new();
            self.visit(path, value, part, &mut broken);
            let own = broken.iter_mut().filter(|error| value.is_number() && error.path == path.words());
            own.for_each(|error| error.expected += &or_named(parts));
            broken
        });
        found.extend(broken.min_by_key(Vec::len).into_iter().flatten());
    }
}

/// False if `value` cannot be meant by a schema: it has another type, or differs from the only allowed value.
fn is_about(value: &Value, schema: &Value) -> bool {
    let of_type = |name: &Value| match name.as_str() {
        Some("integer" | "number") => value.is_number(),
        Some("string") => value.is_string(),
        Some("boolean") => value.is_boolean(),
        Some("array") => value.is_array(),
        Some("object") => value.is_object(),
        Some("null") => value.is_null(),
        _ => true,
    };
    let types = match schema.get("type") {
        Some(Value::Array(names)) => names.iter().any(of_type),
        Some(name) => of_type(name),
        None => true,
    };
    let listed = schema.get("enum").and_then(Value::as_array).is_none_or(|names| names.contains(value));
    types && listed && schema.get("const").is_none_or(|only| only == value)
}

/// True for the schema of a table that may be left out.
fn is_table(schema: &Value) -> bool {
    match schema.get("type") {
        Some(Value::Array(names)) => names.contains(&"object".into()) && !names.contains(&"array".into()),
        name => name == Some(&"object".into()),
    }
}

/// The names that are accepted in place of a number, as `, or "infinite"`.
fn or_named(parts: &[Value]) -> String {
    let names = parts.iter().filter_map(|part| part.get("const").filter(|only| only.is_string()));
    names.map(|name| format!(", or {name}")).collect()
}

/// The expectation for a number that breaks a bound of a schema with these alternatives.
fn out_of_bounds(number: f64, schema: &Value, parts: &[Value]) -> Option<String> {
    let bound = |word: &str| schema.get(word).and_then(Value::as_f64);
    let (least, most) = (bound("minimum"), bound("maximum"));
    let (above, below) = (bound("exclusiveMinimum"), bound("exclusiveMaximum"));
    let kept = least.is_none_or(|least| number >= least)
        && most.is_none_or(|most| number <= most)
        && above.is_none_or(|above| number > above)
        && below.is_none_or(|below| number < below);
    if kept {
        return None;
    }
    let is_whole = |schema: &Value| schema.get("type").is_some_and(|name| name.to_string().contains("integer"));
    let whole = is_whole(schema) || parts.iter().any(is_whole);
    let what = if whole { "a whole number" } else { "a number" };
    let of = match schema.get("x-unit").and_then(Value::as_str) {
        Some("load") => " of phits/(endpoint·cycle)".to_owned(),
        Some(unit) => format!(" of {unit}"),
        None => String::new(),
    };
    let range = match (least, most) {
        (Some(least), Some(most)) => format!(" from {least} to {most}"),
        _ => {
            let words = [("at least", least), ("more than", above), ("at most", most), ("less than", below)];
            let words = words.iter().filter_map(|(word, bound)| Some(format!("{word} {}", (*bound)?)));
            let words = words.collect::<Vec<_>>().join(" and ");
            format!("{} {words}", if words.starts_with("at ") { "," } else { "" })
        }
    };
    Some(format!("expected {what}{of}{range}{}", or_named(parts)))
}

/// The expectation for a list that is too short or too long.
fn wrong_length(length: usize, least: Option<u64>, most: Option<u64>) -> Option<String> {
    let length = length as u64;
    match (least, most) {
        (least, most) if least.is_none_or(|least| length >= least) && most.is_none_or(|most| length <= most) => None,
        (Some(least), Some(most)) if least == most => Some(format!("expected a list of {least} values")),
        (Some(least), Some(most)) => Some(format!("expected a list of {least} to {most} values")),
        (Some(1), None) => Some("expected a list of at least one value".into()),
        (Some(least), None) => Some(format!("expected a list of at least {least} values")),
        (None, most) => Some(format!("expected a list of at most {} values", most.unwrap_or_default())),
    }
}

/// `params` if they keep the bounds of their schema, as they do when they are read from a document.
#[cfg(test)]
pub(crate) fn kept<T: JsonSchema + serde::Serialize + 'static>(params: T) -> Result<T, ScenarioError> {
    joined(Ok(()), check::<T>("", &serde_json::json!(params))).map(|()| params)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn links_of_rustdoc_are_their_texts() {
        for (text, expected) in [
            ("the folded Clos network [`Clos`] with", "the folded Clos network `Clos` with"),
            ("a [`View`](super::View), and [words](x.md)!", "a `View`, and words!"),
            ("`[traffic]`: the offered [0, 1] traffic", "`[traffic]`: the offered [0, 1] traffic"),
            ("```toml\nlinks = [[0, 33]]\n[`x`]\n```\n[`x`]", "```toml\nlinks = [[0, 33]]\n[`x`]\n```\n`x`"),
            ("open [ and `x[`", "open [ and `x[`"),
        ] {
            assert_eq!(plain(text), expected);
        }
    }

    /// The errors for a value of 0 at key `a`.
    fn broken(schema: Value, value: Value) -> Vec<String> {
        let root = bounds(&schema).unwrap();
        let mut found = Vec::new();
        Walk { root: &root }.visit(&Path::Start("a"), &value, &root, &mut found);
        found.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn messages_come_from_the_schema() {
        let least = json!({ "type": "integer", "minimum": 1, "x-unit": "cycles" });
        assert_eq!(broken(least, json!(0)), ["a = 0: expected a whole number of cycles, at least 1"]);
        let open = json!({ "type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1 });
        assert_eq!(broken(open.clone(), json!(1)), ["a = 1: expected a number more than 0 and less than 1"]);
        assert!(broken(open, json!(0.5)).is_empty());
        let both = json!({ "type": "integer", "minimum": 2, "maximum": 1000 });
        assert_eq!(broken(both, json!(1)), ["a = 1: expected a whole number from 2 to 1000"]);
        let list = json!({ "type": "array", "minItems": 1, "items": { "type": "number", "minimum": 0.0 } });
        assert_eq!(broken(list.clone(), json!([])), ["a = []: expected a list of at least one value"]);
        assert_eq!(broken(list, json!([1, -1, 2])), ["a[1] = -1: expected a number, at least 0"]);
    }

    #[test]
    fn of_alternatives_only_those_of_the_value_count() {
        let either = json!({ "anyOf": [{ "type": "integer", "minimum": 1 }, { "const": "all" }] });
        assert!(broken(either.clone(), json!("all")).is_empty() && broken(either.clone(), json!(1)).is_empty());
        assert_eq!(broken(either, json!(0)).len(), 1);
        let part = |kind: &str, least: u32| {
            let b = json!({ "type": "integer", "minimum": least });
            json!({ "type": "object", "properties": { "kind": { "const": kind }, "b": b } })
        };
        let kinds = json!({ "oneOf": [part("x", 1), part("y", 2)] });
        assert_eq!(broken(kinds.clone(), json!({ "kind": "y", "b": 1 })).len(), 1);
        assert!(broken(kinds, json!({ "kind": "x", "b": 1 })).is_empty());
    }
}
