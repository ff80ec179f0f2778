//! Results stay equal, to the last bit: runs the scenarios in `scenarios/` and compares digests of their results with
//! those in `digests.txt`.
//!
//! After a change that is meant to change results, `make identical RECORD=1` records new digests and prints the
//! differences.

#[path = "../common/mod.rs"]
mod common;
mod digest;
mod parameters;
mod scenarios;

use digest::{Differences, Record, Records};
use phit_engine::catalogue::catalogue;
use phit_engine::result::Outcome;
use phit_engine::run::{self, Options, RunError};
use phit_engine::scenario::{Scenario, numbers};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Ways to execute a run, with a number of processes, which must not affect results. Each scenario is run in the first
/// way and in one of the others; scenarios of the group `partitions` in all of them.
const EXECUTIONS: [(Options, usize); 6] = [
    (Options { threads: 1, partitions: Some(1) }, 1),
    (Options { threads: 1, partitions: Some(3) }, 1),
    (Options { threads: 2, partitions: None }, 1),
    (Options { threads: 3, partitions: Some(5) }, 1),
    (Options { threads: 1, partitions: Some(usize::MAX) }, 1),
    (Options { threads: 1, partitions: None }, 2),
];

fn execute(scenario: &Scenario, (options, processes): (Options, usize)) -> Result<Record, String> {
    let outcome = match processes {
        1 => run::run(scenario, options, &mut |_, _| true),
        _ => match common::together::run(scenario, options, processes) {
            // A network that processes cannot share is refused, and the refusal changes nothing.
            Err(RunError::Scenario(error)) if error.expected.starts_with("cannot be run by") => {
                return execute(scenario, (options, 1));
            }
            outcome => outcome,
        },
    };
    match outcome {
        Ok(outcome) => possible(&outcome).map(|()| digest::record(&outcome)),
        Err(RunError::Deadlock(text)) => Ok([digest::group("deadlock", &json!({ "text": text }))].into()),
        Err(error) => Err(error.to_string()),
    }
}

/// No link carries more than it can, whatever the kernel.
fn possible(outcome: &Outcome) -> Result<(), String> {
    let summary = outcome.summary();
    for (class, used) in summary["link_utilisation"].as_object().into_iter().flatten() {
        if used["max"].as_f64().is_some_and(|max| max > 1.0) {
            return Err(format!("{class} links: {used} of what they can carry"));
        }
    }
    Ok(())
}

/// The digests of the scenario `name`, which must not depend on how it is executed.
fn digests(name: &str, document: &Value) -> Result<Record, String> {
    let scenario = Scenario::from_value(document).map_err(|error| error.to_string())?;
    let one = 1 + crc32fast::hash(name.as_bytes()) as usize % (EXECUTIONS.len() - 1);
    let others = if name.starts_with("partitions/") { &EXECUTIONS[1..] } else { &EXECUTIONS[one..=one] };
    let mut record = execute(&scenario, EXECUTIONS[0])?;
    for other in others {
        let again = execute(&scenario, *other)?;
        let differences = Differences::between(&[("".into(), record.clone())].into(), &[("".into(), again)].into());
        if !differences.is_empty() {
            return Err(format!("not as with {:?}, with {other:?}: {differences}", EXECUTIONS[0]));
        }
    }
    let proof = run::verify(&scenario).map_err(|error| error.to_string())?;
    record.extend([digest::group("proof", &proof)]);
    Ok(record)
}

/// The digests of all scenarios. Panics with the names of scenarios without results, and the reasons.
fn run_all() -> Records {
    common::functions::register();
    let scenarios: Vec<(String, Value)> = scenarios::all().into_iter().collect();
    let (next, results) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        while let Some((name, document)) = scenarios.get(next.fetch_add(1, Ordering::Relaxed)) {
            let result = digests(name, document).map_err(|error| format!("{name}: {error}"));
            results.lock().expect("no thread has panicked").push((name.clone(), result));
        }
    };
    std::thread::scope(|scope| {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        (0..cores).for_each(|_| drop(scope.spawn(work)));
    });
    let results = results.into_inner().expect("no thread has panicked");
    let failures: Vec<&str> =
        results.iter().filter_map(|(_, result)| result.as_ref().err().map(String::as_str)).collect();
    assert!(failures.is_empty(), "scenarios without a result:\n{}", failures.join("\n"));
    results.into_iter().filter_map(|(name, result)| Some((name, result.ok()?))).collect()
}

#[test]
fn results_are_identical() {
    let path = scenarios::folder().join("digests.txt");
    let recording = std::env::var_os("PHIT_RECORD_DIGESTS").is_some_and(|value| !value.is_empty());
    let before = match digest::read(&fs::read_to_string(&path).unwrap_or_default()) {
        Ok(before) => before,
        // A merge may have left a file that cannot be read.
        Err(_) if recording => Records::new(),
        Err(wrong) => panic!("{}: {wrong}", path.display()),
    };
    let now = run_all();
    let differences = Differences::between(&before, &now);
    if recording {
        fs::write(&path, digest::write(&now)).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        println!("{} scenarios recorded\n{differences}", now.len());
        return;
    }
    assert!(differences.is_empty(), "{differences}\nIf results are meant to change: make identical RECORD=1");
}

/// The places of a concept's kinds in a scenario: all tables reached by one of these paths. `*` means every element of
/// a list, or every key of a table.
fn places(concept: &str) -> &'static [&'static [&'static str]] {
    match concept {
        "topology" => &[&["topology"]],
        "router" => &[&["router"]],
        "routing" => &[&["routing"]],
        "queueing" => &[&["queueing"]],
        "congestion" => &[&["congestion"]],
        "allocator" => &[&["router", "allocator"]],
        "pattern" => &[
            &["traffic", "pattern"],
            &["traffic", "changes", "*", "pattern"],
            &["traffic", "pattern", "parts", "*", "pattern"],
            &["traffic", "pattern", "background"],
        ],
        "process" => &[&["traffic", "process"]],
        "probe" => &[&["measure", "probes", "*"]],
        "packet_size" => &[&["traffic", "packet_size"]],
        "workload" => &[&["workload"], &["workload", "job", "*", "program"]],
        "placement" => &[&["workload", "placement"], &["workload", "job", "*", "placement"]],
        other => panic!("{other:?} is a concept with kinds: say here where in a scenario they stand"),
    }
}

/// Calls `see` with everything in `value` that `path` leads to.
fn follow<'a>(value: &'a Value, path: &[&str], see: &mut dyn FnMut(&'a Value)) {
    match (path, value) {
        ([], value) => see(value),
        (["*", rest @ ..], Value::Array(list)) => list.iter().for_each(|value| follow(value, rest, see)),
        (["*", rest @ ..], Value::Object(table)) => table.values().for_each(|value| follow(value, rest, see)),
        ([key, rest @ ..], value) => value.get(*key).into_iter().for_each(|value| follow(value, rest, see)),
    }
}

#[test]
fn every_kind_has_a_scenario() {
    let document = |value: &Value| {
        let scenario = common::scenario(value);
        let mut document = scenario.to_value();
        // The kind of this router may be left out of a document.
        document["router"]["kind"] = json!(scenario.router.kind());
        document["congestion"]["kind"] = json!(scenario.congestion.kind());
        document
    };
    let documents: Vec<Value> = scenarios::all().values().map(document).collect();
    let catalogue = catalogue();
    for (concept, entries) in catalogue.as_object().expect("a table of concepts") {
        let mut used = BTreeSet::new();
        for document in &documents {
            for path in places(concept) {
                follow(document, path, &mut |table| {
                    used.extend(table.get("kind").and_then(Value::as_str).map(str::to_owned));
                });
            }
        }
        for entry in entries.as_array().expect("a list of kinds") {
            let kind = entry["kind"].as_str().expect("a name");
            assert!(
                used.contains(kind),
                "the {concept} {kind:?} is registered, but occurs in no scenario of a description and in none of \
                 tests/identical/scenarios: add one"
            );
        }
    }
}

/// Every value of every option, where options are few, and at least two values of any other parameter.
#[test]
fn every_parameter_takes_different_values() {
    let documents: Vec<Value> = scenarios::all().values().map(|value| common::scenario(value).to_value()).collect();
    let mut missing = BTreeSet::new();
    let catalogue = catalogue();
    for (concept, entries) in catalogue.as_object().expect("a table of concepts") {
        for entry in entries.as_array().expect("a list of kinds") {
            let mut tables = vec![];
            for (document, path) in
                documents.iter().flat_map(|document| places(concept).iter().map(move |p| (document, p)))
            {
                follow(document, path, &mut |table| tables.push(table));
            }
            tables.retain(|table| table.get("kind") == Some(&entry["kind"]));
            let place = format!("{concept} {}", entry["kind"].as_str().expect("a name"));
            parameters::same(&place, false, &entry["schema"], &entry["schema"], &tables, &mut missing);
        }
    }
    for section in ["planes", "router", "traffic", "measure", "workload"] {
        let tables: Vec<&Value> = documents.iter().map(|document| &document[section]).collect();
        parameters::same(section, false, &numbers()["properties"][section], numbers(), &tables, &mut missing);
    }
    let list: Vec<String> = missing.into_iter().collect();
    assert!(
        list.is_empty(),
        "no scenario of a description, and none in tests/identical/scenarios, has\n  {}",
        list.join("\n  ")
    );
}
