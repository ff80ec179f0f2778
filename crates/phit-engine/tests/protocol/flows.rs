//! Flows that are counted by themselves: together they are the whole, a packet counts once, and no execution changes
//! them.

use crate::common::{number, run, run_with, with};
use phit_engine::run::{Options, prepare};
use phit_engine::scenario::Scenario;
use serde_json::{Value, json};

/// A hot spot at endpoint 4 beside victims; `flows` are the flows to count.
fn document(flows: Value) -> Value {
    json!({
        "topology": { "kind": "mesh", "dims": [3, 3] },
        "traffic": { "load": 0.3, "packet_size": 4, "pattern": { "kind": "hotspot", "targets": [4], "share": 0.2 } },
        "measure": { "warmup": 50, "cycles": 500, "flows": flows },
    })
}

fn sum(column: &Value) -> f64 {
    column.as_array().unwrap().iter().map(|value| value.as_f64().unwrap_or(0.0)).sum()
}

/// The sum of a mean times its number of packets.
fn total(table: &Value, mean: &str) -> f64 {
    let means = table[mean].as_array().unwrap().iter().zip(table["packets"].as_array().unwrap());
    means.map(|(mean, packets)| mean.as_f64().unwrap_or(0.0) * packets.as_f64().unwrap()).sum()
}

#[test]
fn flows_with_all_packets_come_to_the_whole_on_any_number_of_partitions_and_threads() {
    let flows = json!([
        { "name": "hot", "destinations": [4] },
        { "name": "corner", "sources": [0, 8], "destinations": [0, 8, 4] },
        { "name": "others" },
    ]);
    let variants = [
        json!({}),
        json!({ "measure": { "count": "generated" } }),
        json!({ "measure": { "series": { "by": "window", "bin": 70 } } }),
        json!({ "measure": { "series": { "by": "generation", "bin": 70 } }, "router": { "switching": "wormhole" } }),
    ];
    for changes in variants {
        let document = with(document(flows.clone()), changes.clone());
        let found = |options| {
            let outcome = run_with(&document, options);
            (outcome.summary(), outcome.tables())
        };
        let (summary, tables) = found(Options { threads: 1, partitions: Some(1) });
        for options in [Options { threads: 2, partitions: Some(3) }, Options { threads: 1, partitions: Some(9) }] {
            let (again, others) = found(options);
            assert_eq!((&again["packets"], &others["flows"]), (&summary["packets"], &tables["flows"]), "{changes}");
            assert_eq!(others.get("flow_series"), tables.get("flow_series"), "{changes}");
        }
        let table = &tables["flows"];
        assert_eq!(table["flow"], json!(["hot", "corner", "others"]));
        assert!(table["packets"].as_array().unwrap().iter().all(|packets| packets.as_u64().unwrap() > 5), "{table}");
        assert_eq!(sum(&table["packets"]), summary["packets"].as_f64().unwrap(), "{changes}");
        let accepted = summary["accepted_load"].as_f64().unwrap() * 9.0;
        assert!((sum(&table["accepted_rate"]) - accepted).abs() < 1e-9, "{changes}");
        for mean in ["latency_mean", "network_latency_mean"] {
            let whole = summary[mean].as_f64().unwrap() * summary["packets"].as_f64().unwrap();
            assert!((total(table, mean) / whole - 1.0).abs() < 1e-12, "{mean} with {changes}");
        }
        let Some(series) = tables.get("flow_series") else {
            assert!(document["measure"]["series"].is_null(), "{changes}");
            continue;
        };
        let bins = tables["series"]["cycle"].as_array().unwrap().len();
        assert_eq!(series["flow"].as_array().unwrap().len(), 3 * bins, "{changes}");
        assert_eq!(sum(&series["packets"]), sum(&tables["series"]["packets"]), "{changes}");
        let whole = total(&tables["series"], "latency_mean");
        assert!((total(series, "latency_mean") / whole - 1.0).abs() < 1e-12, "{changes}");
        let load = 9.0 * sum(&tables["series"]["accepted_load"]);
        assert!((sum(&series["accepted_rate"]) / load - 1.0).abs() < 1e-9, "{changes}");
    }
}

#[test]
fn a_packet_counts_in_the_first_flow_that_has_its_source_and_its_destination() {
    // Endpoint 0 sends to endpoint 1, 1 to 2, and 2 to 0, one packet of four phits in ten cycles.
    let shift = |flows: Value| {
        let document = json!({
            "topology": { "kind": "single", "endpoints": 3 },
            "traffic": {
                "load": 0.4, "packet_size": 4, "process": "periodic", "pattern": { "kind": "shift", "offset": 1 },
            },
            "measure": { "warmup": 0, "cycles": 1000, "flows": flows },
        });
        let outcome = run(&document);
        (outcome.tables()["flows"].clone(), number(&outcome, "/latency_mean"))
    };
    let (table, latency) = shift(json!([
        { "name": "nobody", "sources": [0], "destinations": [2] },
        { "name": "one", "sources": [0, 1], "destinations": [1] },
        { "name": "again", "sources": [0], "destinations": [1] },
        { "name": "two", "sources": [1] },
    ]));
    // Packets of endpoint 2 are in no flow.
    let packets = table["packets"].as_array().unwrap();
    assert_eq!((&packets[0], &packets[2]), (&json!(0), &json!(0)), "{table}");
    assert!(packets[1].as_u64().unwrap() >= 99 && packets[3].as_u64().unwrap() >= 99, "{table}");
    assert_eq!(table["latency_mean"], json!([null, latency, null, latency]), "all packets take equally long");
    let whole = json!(latency as u64);
    assert_eq!((&table["latency_p99"][1], &table["latency_max"][1]), (&whole, &whole));
}

#[test]
fn counting_flows_changes_nothing_else() {
    let mut plain = document(json!([]));
    let mut flows = document(json!([{ "name": "hot", "destinations": [4] }]));
    for document in [&mut plain, &mut flows] {
        document["measure"]["series"] = json!({ "by": "window", "bin": 100 });
    }
    let (plain, flows) = (run(&plain), run(&flows));
    assert_eq!(plain.tables().get("flows"), None);
    assert_eq!(plain.tables()["series"], flows.tables()["series"]);
    let known = |outcome: &phit_engine::result::Outcome| {
        let summary = outcome.summary();
        ["packets", "latency_mean", "accepted_load", "latency_ci", "flit_hops"].map(|key| summary[key].clone())
    };
    assert_eq!(known(&plain), known(&flows));
}

fn refused(document: &Value) -> String {
    let prepared = Scenario::from_value(document).and_then(|scenario| prepare(&scenario).map(|_| ()));
    prepared.map_or_else(|error| error.to_string(), |()| "accepted".into())
}

#[test]
fn impossible_flows_are_refused_by_key() {
    let many: Vec<Value> = (0..65).map(|index| json!({ "name": index.to_string() })).collect();
    let cases = [
        (json!([{ "name": "a", "sources": [9] }]), "measure.flows[0].sources[0] = 9"),
        (json!([{ "name": "a" }, { "name": "b", "destinations": ["spine"] }]), "measure.flows[1].destinations[0]"),
        (json!([{ "name": "a", "destinations": [] }]), "measure.flows[0].destinations = []: expected one endpoint"),
        (json!([{ "name": "a" }, { "name": "a" }]), "measure.flows[1].name = \"a\": expected a name that no other"),
        (json!([{ "name": "" }]), "measure.flows[0].name = \"\": expected a name of 1 to 200 visible characters"),
        (json!([{ "name": "a", "sources": [1, 2, 1] }]), "measure.flows[0].sources[2] = 1: expected another endpoint"),
        (json!([{ "sources": [1] }]), "measure.flows[0]"),
        (json!([{ "name": "a", "source": [1] }]), "did you mean \"sources\"?"),
        (json!(many), "expected a list of at most 64 values"),
    ];
    for (flows, expected) in cases {
        let error = refused(&document(flows));
        assert!(error.contains(expected), "{error}\nshould contain\n{expected}");
    }
    let program = json!({
        "topology": { "kind": "single", "endpoints": 4 },
        "units": { "cycle": "1 ns", "phit": "8 B" },
        "router": { "kind": "fluid" },
        "workload": { "kind": "collective", "collective": "all_reduce", "algorithm": "ring", "bytes": 1024 },
        "measure": { "flows": [{ "name": "a" }] },
    });
    let error = refused(&program);
    assert!(error.contains("measure.flows: tells packets apart"), "{error}");
    let exact = with(program, json!({ "router": { "kind": "input_queued" } }));
    let outcome = run(&exact);
    assert_eq!(sum(&outcome.tables()["flows"]["packets"]), number(&outcome, "/packets"), "packets of a program");
}
