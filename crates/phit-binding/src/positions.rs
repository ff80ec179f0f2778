//! The positions of the keys of a TOML document.

use serde_json::{Map, Value};
use toml::de::{DeTable, DeValue};

/// The line of every key and of every element of a list, by its path, as in `sweep.curves[1].routing.kind`. Empty if
/// the text is not TOML.
pub fn lines(text: &str) -> Map<String, Value> {
    let starts: Vec<usize> = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
    let mut found = Map::new();
    if let Ok(table) = DeTable::parse(text) {
        visit_table("", table.get_ref(), &starts, &mut found);
    }
    found
}

fn visit_table(path: &str, table: &DeTable<'_>, starts: &[usize], found: &mut Map<String, Value>) {
    for (key, value) in table {
        let path = if path.is_empty() { key.get_ref().to_string() } else { format!("{path}.{}", key.get_ref()) };
        visit(path, key.span().start, value.get_ref(), starts, found);
    }
}

fn visit(path: String, at: usize, value: &DeValue<'_>, starts: &[usize], found: &mut Map<String, Value>) {
    match value {
        DeValue::Table(table) => visit_table(&path, table, starts, found),
        DeValue::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                visit(format!("{path}[{index}]"), item.span().start, item.get_ref(), starts, found);
            }
        }
        _ => {}
    }
    found.insert(path, starts.partition_point(|&start| start <= at).into());
}
