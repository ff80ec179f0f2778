//! Parameters that have one value in all scenarios, by the schema of their table.

use serde_json::Value;
use std::collections::BTreeSet;

/// `schema`, or what it refers to in `root`, with its alternatives.
fn alternatives<'a>(schema: &'a Value, root: &'a Value) -> Vec<&'a Value> {
    let reference =
        schema.get("$ref").and_then(Value::as_str).and_then(|path| root.pointer(path.trim_start_matches('#')));
    if let Some(schema) = reference {
        return alternatives(schema, root);
    }
    let lists = ["oneOf", "anyOf"].into_iter().filter_map(|key| schema.get(key).and_then(Value::as_array)).flatten();
    let inner: Vec<&Value> = lists.flat_map(|schema| alternatives(schema, root)).collect();
    if inner.is_empty() { vec![schema] } else { inner }
}

/// The values that a schema lists.
fn listed(schema: &Value) -> Vec<Value> {
    let constant =
        schema.get("const").into_iter().chain(schema.get("enum").and_then(Value::as_array).into_iter().flatten());
    match schema.get("type").and_then(Value::as_str) {
        Some("boolean") => vec![true.into(), false.into()],
        _ => constant.filter(|value| !value.is_null()).cloned().collect(),
    }
}

/// Adds to `missing` the parameters of `schema` with too few values in `tables`. If the values can be listed, each must
/// occur; otherwise, two of them must. Within nested tables of a kind (`within`), only values that can be listed count.
pub fn same(
    place: &str,
    within: bool,
    schema: &Value,
    root: &Value,
    tables: &[&Value],
    missing: &mut BTreeSet<String>,
) {
    for (key, property) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        let place = format!("{place}: {key}");
        let values: BTreeSet<String> = tables.iter().filter_map(|table| table.get(key)).map(Value::to_string).collect();
        let given: Vec<&Value> = tables.iter().filter_map(|table| table.get(key)).collect();
        // Kinds are checked separately.
        if tables.is_empty() || key == "kind" || given.iter().any(|value| value.get("kind").is_some()) {
            continue;
        }
        let forms = alternatives(property, root);
        let listed: Vec<Value> = forms.iter().flat_map(|form| listed(form)).collect();
        let lacking: Vec<&Value> = listed.iter().filter(|value| !given.contains(value)).collect();
        // A missing key counts as one of the values.
        let absent = given.len() < tables.len();
        match (listed.is_empty(), lacking.len()) {
            (true, _) if within || values.len() + usize::from(absent) > 1 => {}
            (true, _) => drop(missing.insert(format!("{place} other than {values:?}"))),
            (false, 1) if absent => {}
            (false, _) => missing.extend(lacking.iter().map(|value| format!("{place} = {value}"))),
        }
        let objects = given.iter().copied().filter(|value| value.is_object()).collect();
        // Elements with a kind are checked separately, too.
        let elements = given.iter().filter_map(|value| value.as_array()).flatten();
        let elements = elements.filter(|element| element.get("kind").is_none()).collect();
        let entries = given.iter().filter_map(|value| value.as_object()).flat_map(|table| table.values()).collect();
        let tables: [(Option<&str>, Vec<&Value>); 3] =
            [(None, objects), (Some("items"), elements), (Some("additionalProperties"), entries)];
        for (inner, tables) in &tables {
            let schemas = forms.iter().filter_map(|form| inner.map_or(Some(*form), |key| form.get(key)));
            for schema in schemas.flat_map(|schema| alternatives(schema, root)) {
                same(&place, true, schema, root, tables, missing);
            }
        }
    }
}
