//! The scenarios: one TOML file for each group, in `scenarios/`, and the group `described`, the scenarios in the
//! descriptions of kinds.
//!
//! A file has tables of two sorts. `[base.NAME]` is a scenario from which others are derived. Any other table is a
//! scenario. It consists of the table `base` that its key `base` names, and its own keys on top, table by table. A
//! table with a `kind` replaces the base's table.

use crate::common::{described, with};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

/// The folder of this test.
pub fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("identical")
}

/// All scenarios by name: group, `/`, name in the group.
pub fn all() -> BTreeMap<String, Value> {
    let mut scenarios = BTreeMap::new();
    for (concept, kind, scenario) in described::cases() {
        let name = format!("described/{concept} {kind}");
        let same = scenarios.keys().filter(|other: &&String| other.starts_with(&*name)).count();
        scenarios.insert(if same == 0 { name } else { format!("{name}, {}", same + 1) }, scenario);
    }
    for entry in fs::read_dir(folder().join("scenarios")).expect("a folder of scenarios") {
        let path = entry.expect("a readable folder").path();
        let group = path.file_stem().and_then(|stem| stem.to_str()).expect("a name").to_owned();
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let file: Value = toml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let Value::Object(mut tables) = file else { panic!("{}: no tables", path.display()) };
        let bases = tables.remove("base").unwrap_or_default();
        for (name, mut changes) in tables {
            let name = format!("{group}/{name}");
            let base = changes.as_object_mut().and_then(|table| table.remove("base"));
            let base = base.as_ref().and_then(Value::as_str).unwrap_or_else(|| panic!("{name}: no key `base`"));
            let base = bases.get(base).unwrap_or_else(|| panic!("{name}: no table [base.{base}]")).clone();
            scenarios.insert(name, with(base, changes));
        }
    }
    scenarios
}
