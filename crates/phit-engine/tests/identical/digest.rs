//! The record of a result, as text, and the differences between two records.
//!
//! A record is a block of lines:
//!
//! ```text
//! [routing/dimension_order]
//! scenario: measure=#99aabbcc queueing=#fdedec9c router=#00112233 ...
//! summary: accepted_load=0.2009375 latency_mean=14.219 ... latency_p50=13 latency_std=#5a7d0c11 ...
//! table links: class=#1b2c3d4e port=#0a1b2c3d ...
//! ```
//!
//! Numbers are written in the shortest form that reads back as the same number. Texts longer than eight characters are
//! replaced by a `#` and their CRC-32. Only the [`HEADLINES`] are written in full, to show the size and direction of a
//! change.

use phit_engine::result::Outcome;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Keys of the summary that are written in full.
const HEADLINES: [&str; 7] =
    ["accepted_load", "latency_mean", "hops_mean", "misrouted", "packets", "packet_hops", "flit_hops"];

/// The group of items that describe the scenario; all others describe its results.
const SCENARIO: &str = "scenario";

/// The record of one scenario: a text by group (`summary`, `table links`, `scenario`, ...) and key.
pub type Record = BTreeMap<String, BTreeMap<String, String>>;

/// The records of all scenarios by name.
pub type Records = BTreeMap<String, Record>;

/// `value` as text, independent of the order of keys.
fn text(value: &Value) -> String {
    match value {
        Value::Object(table) => {
            let sorted: BTreeMap<&String, &Value> = table.iter().collect();
            let items: Vec<String> = sorted.iter().map(|(key, value)| format!("{key:?}:{}", text(value))).collect();
            format!("{{{}}}", items.join(","))
        }
        Value::Array(list) => format!("[{}]", list.iter().map(text).collect::<Vec<_>>().join(",")),
        other => other.to_string(),
    }
}

/// A short text that stands for `value`.
fn short(value: &Value) -> String {
    let text = text(value);
    match text.len() <= 8 && !text.contains(char::is_whitespace) {
        true => text,
        false => format!("#{:08x}", crc32fast::hash(text.as_bytes())),
    }
}

/// The items of a table: a short text for every key, headlines in full.
fn items(table: &Value) -> BTreeMap<String, String> {
    let of = |(key, value): (&String, &Value)| {
        let in_full = HEADLINES.contains(&key.as_str()) && !value.is_array();
        (key.clone(), if in_full { text(value) } else { short(value) })
    };
    table.as_object().into_iter().flatten().map(of).collect()
}

/// A group of a record, with the keys of `table`.
pub fn group(name: &str, table: &Value) -> (String, BTreeMap<String, String>) {
    (name.to_owned(), items(table))
}

/// The record of a run.
pub fn record(outcome: &Outcome) -> Record {
    let tables = outcome.tables().into_iter().map(|(name, columns)| group(&format!("table {name}"), &columns));
    let others = [group("summary", &Value::Object(outcome.summary())), group(SCENARIO, &outcome.scenario().to_value())];
    tables.chain(others).collect()
}

/// Reads what [`write`] has written.
pub fn read(file: &str) -> Result<Records, String> {
    let mut records = Records::new();
    let (mut name, mut group) = (None, "");
    for line in file.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if let Some(heading) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            name = Some(heading);
            continue;
        }
        let wrong = || format!("not a line of digests: {line:?}");
        let mut rest = line.trim_start();
        if rest.len() == line.len() {
            (group, rest) = line.split_once(": ").ok_or_else(wrong)?;
        }
        let record = records.entry(name.ok_or_else(wrong)?.to_owned()).or_default();
        let group = record.entry(group.to_owned()).or_default();
        for item in rest.split(' ') {
            let (key, value) = item.split_once('=').ok_or_else(wrong)?;
            group.insert(key.to_owned(), value.to_owned());
        }
    }
    Ok(records)
}

/// Longest line of the file.
const WIDTH: usize = 128;

/// The text of a file with all records.
pub fn write(records: &Records) -> String {
    let mut file = HEADING.to_owned();
    for (name, record) in records {
        file += &format!("\n[{name}]\n");
        for (group, items) in record {
            let mut line = format!("{group}:");
            let (first, others) = in_order(items.keys());
            for key in first.into_iter().chain(others) {
                let item = format!(" {key}={}", items[key]);
                if line.len() + item.len() > WIDTH {
                    file += &(line + "\n");
                    line = " ".to_owned();
                }
                line += &item;
            }
            file += &(line + "\n");
        }
    }
    file
}

/// First line of the file.
const HEADING: &str =
    "# Digests of the results of the scenarios in `scenarios/`; `make identical RECORD=1` writes this file.\n";

/// Headlines in their order, and other keys.
fn in_order<'a>(keys: impl Iterator<Item = &'a String>) -> (Vec<&'a String>, BTreeSet<&'a String>) {
    let place = |key: &str| HEADLINES.iter().position(|headline| *headline == key);
    let (mut headlines, mut others) = (Vec::new(), BTreeSet::new());
    for key in keys {
        match place(key) {
            Some(_) if headlines.contains(&key) => {}
            Some(_) => headlines.push(key),
            None => drop(others.insert(key)),
        }
    }
    headlines.sort_by_key(|key| place(key));
    (headlines, others)
}

/// The differences between records.
#[derive(Default)]
pub struct Differences {
    /// Lines about results: name of the scenario and what differs.
    pub results: Vec<String>,
    /// Lines about the scenarios that results repeat.
    pub scenarios: Vec<String>,
}

impl Differences {
    /// The differences of `now` from `before`.
    pub fn between(before: &Records, now: &Records) -> Self {
        let mut differences = Self::default();
        for (name, was) in before {
            match now.get(name) {
                None => differences.scenarios.push(format!("{name}: removed")),
                Some(is) => {
                    let (of_scenario, of_results): (Vec<_>, Vec<_>) =
                        differing(was, is).into_iter().partition(|(group, _)| *group == SCENARIO);
                    let line = |parts: Vec<(&str, String)>| {
                        let parts: Vec<String> = parts.iter().map(|(group, what)| format!("{group}: {what}")).collect();
                        (!parts.is_empty()).then(|| format!("{name}: {}", parts.join("; ")))
                    };
                    differences.results.extend(line(of_results));
                    differences.scenarios.extend(line(of_scenario));
                }
            }
        }
        let new = now.keys().filter(|name| !before.contains_key(*name));
        differences.scenarios.extend(new.map(|name| format!("{name}: new")));
        differences
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.results.is_empty() && self.scenarios.is_empty()
    }
}

impl std::fmt::Display for Differences {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (lines, what) in [(&self.results, "other results"), (&self.scenarios, "other scenarios")] {
            if !lines.is_empty() {
                writeln!(f, "{} with {what}:", lines.len())?;
                lines.iter().try_for_each(|line| writeln!(f, "  {line}"))?;
            }
        }
        Ok(())
    }
}

/// Groups that differ, with the items of each that do.
fn differing<'a>(was: &'a Record, is: &'a Record) -> Vec<(&'a str, String)> {
    let groups: BTreeSet<&String> = was.keys().chain(is.keys()).collect();
    let what = |group: &'a String| match (was.get(group), is.get(group)) {
        (Some(before), Some(now)) => differing_items(before, now),
        (Some(_), None) => "removed".to_owned(),
        _ => "new".to_owned(),
    };
    groups.into_iter().map(|group| (group.as_str(), what(group))).filter(|(_, what)| !what.is_empty()).collect()
}

/// Items that differ; headlines with both values.
fn differing_items(before: &BTreeMap<String, String>, now: &BTreeMap<String, String>) -> String {
    let (headlines, others) = in_order(before.keys().chain(now.keys()));
    let what = |key: &String| match (before.get(key), now.get(key)) {
        (Some(was), Some(is)) if was == is => None,
        (Some(was), Some(is)) if was.starts_with('#') && is.starts_with('#') => Some(key.clone()),
        (Some(was), Some(is)) => Some(format!("{key} {was} -> {is}")),
        (Some(_), None) => Some(format!("{key} removed")),
        _ => Some(format!("{key} new")),
    };
    headlines.into_iter().chain(others).filter_map(what).collect::<Vec<_>>().join(", ")
}
