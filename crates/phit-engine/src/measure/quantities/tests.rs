//! Every declared quantity is in the result, every quantity of the result is declared, and merged counts equal common
//! counts.

use super::probes::Place;
use super::*;
use crate::measure::Cost;
use crate::measure::collector::{Collector, Division, Loads};
use crate::measure::declare::{Observable, Of, Shape, When};
use crate::packet::{DETOURED, MISROUTED_AT_INJECTION, MISROUTED_GLOBALLY, MISROUTED_LOCALLY};
use crate::result::Outcome;
use crate::run::{Options, run};
use crate::scenario::{Scenario, catalogue};
use crate::topology::Hops;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

fn window(by_generation: bool) -> Window {
    Window {
        ticks_per_cycle: 2,
        load: Loads::new(2, Vec::new()),
        offered: None,
        by_generation,
        division: Division { batch: 50, parts: 4 },
        histogram: true,
        series_bin: Some(30),
        series_by_generation: by_generation,
        order: true,
        precise: true,
        classes: 0,
        flows: Default::default(),
    }
}

const SEEN: Observable = Observable { name: "seen", words: "seen", unit: "", about: "Seen." };

/// Every kind of event that a partition can count happens in partition `number`, at tick `now`.
fn happen(collector: &mut Collector, number: u32, now: Tick) {
    let mut packet = Packet::new(number, now % 3);
    packet.birth = now - now * 37 % 70;
    packet.injected = packet.birth + (now - packet.birth) / 2;
    packet.size = 1 + (now % 4) as u16;
    packet.hops = Hops(u64::from(now % 5) | u64::from(now % 7) << 8);
    let how = [0, MISROUTED_GLOBALLY, MISROUTED_LOCALLY | DETOURED, MISROUTED_AT_INJECTION | MISROUTED_GLOBALLY];
    packet.misrouted = how[now as usize % 4];
    collector.generated(now, packet.size);
    match now % 11 {
        0 => collector.lost(&packet, now),
        1 => collector.dropped(packet.birth),
        _ => collector.delivered(&packet, now),
    }
    let Counters { packets, work, control, probes, .. } = &mut collector.counters;
    packets.sent_again(packet.size);
    work.packet_hops += 1;
    work.flit_hops += u64::from(packet.flits) + 1;
    control.messages += 1;
    control.phits[now as usize % 8] += 2;
    probes.note(now as usize % 2, now - now % 10, |record| record(&SEEN, Place::port(now % 2, 3), now));
}

/// Counting in parts and merging them in any order equals counting in one place. So no counter is missing from a
/// `merge`.
#[test]
fn merging_is_counting_together() {
    for by_generation in [false, true] {
        let new = || {
            let mut collector = Collector::new(window(by_generation));
            collector.open(100..400);
            collector
        };
        let (mut whole, mut parts) = (new(), [new(), new(), new()]);
        for now in 70..600 {
            happen(&mut whole, now % 3, now);
            happen(&mut parts[now as usize % 3], now % 3, now);
        }
        for order in [[0, 1, 2], [2, 0, 1]] {
            let mut merged = new();
            order.into_iter().for_each(|part: usize| merged.merge(&parts[part]));
            // `latest` is not merged: all packets to a destination arrive in one partition.
            let order = std::mem::take(&mut merged.counters.order);
            assert_eq!(order.overtaken, whole.counters.order.overtaken);
            assert!(order.overtaken > 0);
            assert_eq!(merged.counters, Counters { order: Default::default(), ..whole.counters.clone() });
        }
        // No compared counter still has its initial value.
        let Counters {
            load,
            batches,
            precision,
            latency,
            series,
            paths,
            misrouting,
            packets,
            work,
            flow,
            control,
            drops,
            probes,
            ..
        } = &whole.counters;
        let counted = [
            format!("{load:?} {paths:?} {misrouting:?} {packets:?} {work:?} {flow:?} {control:?} {drops:?}"),
            format!("{:?} {:?} {:?} {:?}", latency.sum, latency.squares, latency.network, latency.histogram.is_some()),
            format!("{:?} {:?} {:?}", batches.bins[2], precision.bins[2], series.bins[9]),
        ];
        for text in counted {
            assert!(!text.contains(": 0,") && !text.contains(": 0 "), "{text}");
        }
        assert_ne!(*probes, probes::Records::default());
    }
}

fn outcome(scenario: Value) -> Outcome {
    let scenario = Scenario::from_value(&scenario).unwrap_or_else(|error| panic!("{error}"));
    run(&scenario, Options::default(), &mut |_, _| true).unwrap_or_else(|error| panic!("{error}"))
}

/// Scenarios in which every quantity has a value and every table is there.
fn everything() -> Vec<Outcome> {
    let tree = json!({ "kind": "k_ary_n_tree", "arity": 4, "levels": 2 });
    let pattern = json!({ "kind": "hotspot", "targets": [0], "share": 0.5 });
    let links = json!({ "default": { "vcs": 1, "latency": 2, "buffer": 64 } });
    let measure = |probes: Value| {
        json!({
            "warmup": 300, "cycles": 700, "order": true, "links": true, "endpoints": true, "series": { "bin": 100 },
            "flows": [{ "name": "some", "sources": [0, 1] }, { "name": "others" }],
            "probes": probes,
        })
    };
    vec![
        outcome(json!({
            "units": { "cycle": "2 ns" },
            "topology": tree,
            "router": { "admittance": "per_destination", "links": links },
            "routing": "table",
            "queueing": { "kind": "fbicm", "detection": 8, "stop": 8, "go": 4 },
            "traffic": { "pattern": pattern, "load": 0.9, "packet_size": 4 },
            "measure": measure(json!(["queueing", { "kind": "trees", "every": 50 }, { "kind": "ports", "every": 50 }])),
        })),
        outcome(json!({
            "topology": { "kind": "torus", "dims": [4, 4] },
            "traffic": { "load": 0.1 },
            "measure": { "cycles": 500, "precision": { "latency_mean": 0.1 } },
        })),
        outcome(json!({
            "topology": { "kind": "dragonfly", "p": 2, "a": 4, "h": 2 },
            "router": { "links": { "local": { "vcs": 4 }, "global": { "vcs": 2 } } },
            "routing": "ectn",
            "traffic": { "load": 0.3 },
            "measure": measure(json!(["buffers", { "kind": "counters", "by_index": true }, "counters"])),
        })),
        outcome(json!({
            "topology": { "kind": "single", "endpoints": 4 },
            "traffic": { "requests": { "outstanding": 2, "count": 9 } },
            "measure": { "warmup": 0, "cycles": 400 },
        })),
        outcome(json!({
            "topology": { "kind": "mesh", "dims": [2, 2] },
            "traffic": { "load": 0.5, "classes": [{}, { "name": "second" }] },
            "measure": { "warmup": 0, "cycles": 400, "histogram": true },
        })),
        outcome(json!({
            "topology": tree,
            "router": { "links": links },
            "routing": "table",
            "congestion": { "kind": "infiniband", "threshold": 15 },
            "traffic": { "pattern": pattern, "load": 0.9, "packet_size": 4 },
            "measure": { "warmup": 300, "cycles": 700 },
        })),
        // Routers, endpoints and ports have names.
        outcome(json!({
            "topology": {
                "kind": "graph", "routers": 2, "endpoints": [2, 1], "links": [[0, 1]], "names": {
                    "routers": ["leaf", "spine"], "endpoints": ["a", "b", "c"], "ports": [["1", "2", "3"], ["4", "5"]],
                },
            },
            "traffic": { "load": 0.4 },
            "measure": measure(json!([{ "kind": "ports", "every": 50 }, "buffers"])),
        })),
        outcome(json!({
            "units": { "phit": "1 B" },
            "topology": {
                "kind": "graph", "routers": 2, "endpoints": 1, "links": [[0, 1]], "names": { "endpoints": ["a", "b"] },
            },
            "workload": { "kind": "collective", "collective": "broadcast", "bytes": 9 },
        })),
        outcome(json!({
            "units": { "phit": "1 B" },
            "topology": {
                "kind": "graph", "routers": 2, "endpoints": 1, "links": [[0, 1]], "names": { "endpoints": ["a", "b"] },
            },
            "workload": { "kind": "jobs", "job": [
                { "name": "all", "program": { "kind": "collective", "collective": "broadcast", "bytes": 9 } },
            ] },
        })),
        // Isolated packets to an endpoint with a name.
        outcome(json!({
            "topology": {
                "kind": "graph", "routers": 3, "endpoints": [2, 2, 1], "links": [[0, 2], [1, 2]],
                "names": { "endpoints": ["a", "b", "c", "d", "e"] },
            },
            "router": { "admittance": "per_destination", "links": links },
            "routing": "up_down",
            "queueing": { "kind": "fbicm", "detection": 8, "stop": 8, "go": 4 },
            "traffic": {
                "pattern": { "kind": "hotspot", "targets": [4], "share": 0.9 }, "load": 0.9, "packet_size": 4,
            },
            "measure": measure(json!([{ "kind": "trees", "every": 50 }])),
        })),
        outcome(json!({
            "topology": { "kind": "k_ary_n_tree", "arity": 2, "levels": 2 },
            "router": {
                "flow_control": "pfc", "output_buffer": 16, "injection_queue": "destination",
                "links": { "default": { "buffer": 128 } },
            },
            "routing": "table",
            "traffic": { "load": 0.4 },
            "measure": { "warmup": 0, "cycles": 100 },
        })),
        // A lost packet is sent again, and is lost again until routing learns of the fault.
        outcome(json!({
            "topology": {
                "kind": "torus", "dims": [4], "faults": {
                    "later": [{ "cycle": 40, "delay": 300, "links": [[0, 1]] }],
                    "retransmit": { "timeout": 60, "attempts": 1 },
                },
            },
            "router": { "links": { "default": { "vcs": 5 } } },
            "traffic": { "load": 0.5, "requests": { "virtual_networks": false } },
            "measure": { "warmup": 0, "cycles": 400 },
        })),
        outcome(json!({
            "units": { "phit": "1 B" },
            "topology": { "kind": "single", "endpoints": 4 },
            "workload": { "kind": "jobs", "job": [
                { "program": { "kind": "collective", "collective": "broadcast", "bytes": 9 } },
            ] },
            "measure": { "messages": true, "operations": true, "tracks": true, "phases": true },
        })),
        // Each of two ranks has two endpoints.
        outcome(json!({
            "units": { "phit": "1 B" },
            "topology": { "kind": "single", "endpoints": 4 },
            "workload": {
                "kind": "collective", "collective": "broadcast", "bytes": 9, "ranks": 2,
                "host": { "rails": { "count": 2 } },
            },
            "measure": { "messages": true },
        })),
        // Packets take two ways of different length in turn, and wait for one another at their receiver.
        outcome(json!({
            "units": { "phit": "1 B" },
            "topology": {
                "kind": "graph", "routers": 4, "endpoints": [1, 0, 0, 1], "classes": ["short", "long"],
                "links": [[0, 1, 0], [1, 3, 0], [0, 2, 1], [2, 3, 1]],
            },
            "router": { "links": { "default": { "vcs": 2, "buffer": 64 }, "long": { "latency": 9 } } },
            "routing": { "kind": "spray", "rule": "round_robin", "turn": "source" },
            "workload": {
                "kind": "collective", "collective": "broadcast", "bytes": 40, "packet_size": 1, "reorder": {},
            },
            "measure": { "order": true },
        })),
        // Iterations that come again, and others whose states cannot be compared.
        outcome(repeated(30, false)),
        outcome(repeated(2, true)),
        outcome(served(|program| program)),
        outcome(served(|program| json!({ "kind": "jobs", "job": [{ "program": program }] }))),
    ]
}

/// Requests to a language model, as `workload` has them.
fn served(workload: impl Fn(Value) -> Value) -> Value {
    let program = json!({
        "kind": "inference", "cache_bytes": 8, "times": { "pass": 100 }, "trace": [[0.0, 10, 3], [50.0, 10, 1]],
    });
    json!({
        "units": { "phit": "1 B", "cycle": "1 ns" },
        "topology": { "kind": "single", "endpoints": 4 },
        "workload": workload(program),
    })
}

/// A program that is repeated.
fn repeated(iterations: u32, order: bool) -> Value {
    json!({
        "units": { "phit": "1 B" },
        "topology": { "kind": "single", "endpoints": 4 },
        "workload": {
            "kind": "collective", "collective": "broadcast", "bytes": 9, "repeat": { "iterations": iterations },
        },
        "measure": { "order": order },
    })
}

fn is_of(shape: Shape, value: &Value) -> bool {
    let table = |holds: &dyn Fn(&Value) -> bool| value.as_object().is_some_and(|t| t.values().all(holds));
    let number = |v: &Value| v.is_f64() || v.is_null();
    let parts = |parts: &[crate::measure::declare::Part], v: &Value| {
        // Names of links appear in networks that have names.
        let there = |t: &Map<String, Value>| -> Vec<&str> {
            parts.iter().map(|part| part.name).filter(|name| *name != "busiest" || t.contains_key(*name)).collect()
        };
        let number = |(name, v): (&String, &Value)| if name == "busiest" { v.is_string() } else { v.is_number() };
        v.as_object().is_some_and(|t| t.keys().eq(there(t).iter()) && t.iter().all(number))
    };
    match shape {
        Shape::Number => value.is_f64(),
        Shape::Whole => value.is_u64(),
        Shape::Flag => value.is_boolean(),
        Shape::Text => value.is_string(),
        Shape::Parts(names) => parts(names, value),
        Shape::ByClass | Shape::NumbersByName => table(&number),
        Shape::PartsByClass(names) => table(&|v| parts(names, v)),
        Shape::WholesByName => table(&Value::is_u64),
    }
}

#[test]
fn summaries_have_what_is_declared_and_nothing_else() {
    let mut seen = BTreeSet::new();
    for outcome in everything() {
        let mut summary = outcome.summary();
        summary.extend(outcome.execution(Cost { peak_memory_bytes: Some(1), ..Cost::default() }));
        assert!(summary.keys().eq(Counters::quantities().map(|quantity| quantity.name)), "{summary:?}");
        for quantity in Counters::quantities() {
            let value = &summary[quantity.name];
            let there = !value.is_null();
            assert!(there || quantity.there != When::Always, "{} is not always there", quantity.name);
            assert!(!there || is_of(quantity.shape, value), "{}: {value}", quantity.name);
            seen.extend(there.then_some(quantity.name));
        }
    }
    let missing: Vec<&str> = Counters::quantities().map(|q| q.name).filter(|name| !seen.contains(name)).collect();
    assert!(missing.is_empty(), "never there: {missing:?}");
}

#[test]
fn tables_have_what_is_declared_and_nothing_else() {
    let mut seen = BTreeSet::new();
    for tables in everything().iter().map(Outcome::tables) {
        for (name, columns) in &tables {
            let table = Counters::tables().find(|table| table.name == name).unwrap_or_else(|| panic!("{name}"));
            let columns = columns.as_object().unwrap();
            // Names appear in networks that have them.
            let there =
                |name: &&str| !(name.ends_with("_name") || name.ends_with("_names")) || columns.contains_key(*name);
            assert!(columns.keys().eq(table.columns.iter().map(|column| column.name).filter(there)), "{name}");
            let lengths: BTreeSet<usize> = columns.values().map(rows).collect();
            assert_eq!(lengths.len(), 1, "{name}: columns of one length");
            // In most networks all packets are in order.
            assert!(!lengths.contains(&0) || name.starts_with("order"), "{name} is empty");
            for column in table.columns.iter().filter(|column| columns.contains_key(column.name)) {
                let filled = columns[column.name].as_array().unwrap().iter().any(|cell| !cell.is_null());
                seen.extend(filled.then_some((table.name, column.name)));
            }
        }
    }
    for table in Counters::tables() {
        for column in table.columns {
            assert!(seen.contains(&(table.name, column.name)), "{}.{} never has a value", table.name, column.name);
        }
    }
}

fn rows(column: &Value) -> usize {
    column.as_array().map_or(0, Vec::len)
}

fn names(list: &Value) -> BTreeSet<String> {
    list.as_array().unwrap().iter().map(|entry| entry["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn probes_and_queue_organisations_tell_what_is_declared() {
    let catalogue = catalogue::quantities();
    let mut recorded: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for outcome in everything() {
        let tables = outcome.tables();
        let Some(table) = tables.get("probes") else { continue };
        let text = |column: &str| table[column].as_array().unwrap().clone();
        for (probe, quantity) in text("probe").iter().zip(text("quantity")) {
            let entry = recorded.entry(probe.as_str().unwrap().to_owned()).or_default();
            entry.insert(quantity.as_str().unwrap().to_owned());
        }
        let totals = outcome.summary()["queueing"].as_object().unwrap().keys().cloned().collect::<BTreeSet<_>>();
        assert!(totals.is_empty() || totals == names(&catalogue["totals"]), "{totals:?}");
    }
    for (probe, quantities) in recorded {
        let declared = names(&catalogue["observables"][&probe]);
        assert!(quantities.is_subset(&declared), "{probe} records {quantities:?}, declared are {declared:?}");
        assert!(
            probe == "counters" || quantities == declared,
            "{probe} declares {declared:?}, recorded are {quantities:?}"
        );
    }
}

/// No number of a router or port becomes part of a name. So the table of runs has equal columns for every network size.
#[test]
fn names_in_summaries_have_no_numbers_of_places() {
    for outcome in everything() {
        let summary = outcome.summary();
        for name in summary["probes"].as_object().unwrap().keys() {
            assert!(!name.contains(|c: char| c.is_ascii_digit()) || name.contains("level"), "{name}");
        }
    }
}

#[test]
fn declarations_are_complete_and_agree() {
    let names: BTreeSet<&str> = Counters::quantities().map(|quantity| quantity.name).collect();
    assert_eq!(names.len(), Counters::quantities().count(), "a name stands for one quantity");
    let ranks: Vec<u8> = Counters::quantities().filter_map(|quantity| quantity.rank).collect();
    assert_eq!(ranks.iter().collect::<BTreeSet<_>>().len(), ranks.len(), "every rank once");
    for quantity in Counters::quantities() {
        let said = [quantity.name, quantity.words, quantity.about];
        assert!(said.iter().all(|text| !text.is_empty()), "{}", quantity.name);
        assert!(quantity.about.ends_with('.') && !quantity.words.ends_with('.'), "{}", quantity.name);
        assert!(!quantity.time || quantity.unit == "cycles", "{}: only cycles are times", quantity.name);
        if let Some(interval) = quantity.interval {
            let unit = Counters::quantities().find(|q| q.name == interval).map(|q| q.unit);
            assert_eq!(unit, Some(quantity.unit), "{interval}");
            for more in ["batches", "reason"] {
                assert!(names.contains(format!("{interval}_{more}").as_str()), "{interval}_{more}");
            }
        }
    }
    let mut columns = Counters::tables().flat_map(|table| table.columns);
    assert!(columns.all(|c| !c.words.is_empty() && c.about.ends_with('.')));
    let machine: Map<String, Value> = Counters::quantities()
        .filter(|quantity| quantity.of == Of::Machine)
        .map(|quantity| (quantity.name.to_owned(), json!(true)))
        .collect();
    assert_eq!(machine.len(), 6);
}
