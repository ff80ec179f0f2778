//! Everything registered runs, in the scenario of its description, and in those of `common/kinds.rs`.

mod common;

use common::kinds::{base, cases};
use common::{described, run, with};
use phit_engine::catalogue::catalogue;
use phit_engine::scenario::{RouterKind, Scenario};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Concept, kind and scenario of all cases.
fn scenarios() -> Vec<(String, String, Value)> {
    let ours = cases().into_iter().map(|(concept, kind, changes)| (concept.into(), kind.into(), with(base(), changes)));
    described::cases().into_iter().chain(ours).collect()
}

#[test]
fn every_kind_has_a_scenario() {
    let have: BTreeSet<_> = scenarios().into_iter().map(|(concept, kind, _)| (concept, kind)).collect();
    for (concept, entries) in catalogue().as_object().expect("a table of concepts") {
        for entry in entries.as_array().expect("a list of kinds") {
            let kind = entry["kind"].as_str().expect("a name");
            assert!(
                have.contains(&(concept.clone(), kind.to_owned())),
                "the {concept} {kind:?} is registered, but its description has no scenario that runs without files: \
                 add one there, or to `cases` in tests/common/kinds.rs"
            );
        }
    }
}

/// The kind of a concept that a scenario uses.
fn used(concept: &str, scenario: &Scenario) -> &'static str {
    let RouterKind::InputQueued(router) = &scenario.router else {
        return match (concept, &scenario.workload) {
            ("router", _) => scenario.router.kind(),
            ("routing", _) => scenario.routing.kind(),
            (other, _) => panic!("{other}: the scenario has another router"),
        };
    };
    match (concept, &scenario.workload) {
        ("topology", _) => scenario.topology.kind(),
        ("routing", _) => scenario.routing.kind(),
        ("queueing", _) => scenario.queueing.kind(),
        ("congestion", _) => scenario.congestion.kind(),
        ("router", _) => scenario.router.kind(),
        ("allocator", _) => router.allocator.kind(),
        ("pattern", _) => scenario.traffic.pattern.kind(),
        ("process", _) => scenario.traffic.process.kind(),
        ("probe", _) => scenario.measure.probes[0].kind(),
        ("packet_size", _) => scenario.traffic.packet_size.kind(),
        ("workload", Some(workload)) => workload.program.kind(),
        ("placement", Some(workload)) => workload.around.placement.kind(),
        (other, _) => panic!("{other:?} is a concept with kinds: say here where in a scenario they stand"),
    }
}

#[test]
fn every_kind_runs() {
    common::functions::register();
    for (concept, kind, mut value) in scenarios() {
        if value.get("workload").is_some() {
            ["traffic", "measure"].iter().for_each(|section| drop(value.as_object_mut().unwrap().remove(*section)));
        }
        let scenario = Scenario::from_value(&value).unwrap_or_else(|error| panic!("{concept} {kind}: {error}"));
        assert_eq!(used(&concept, &scenario), kind, "the scenario for the {concept} {kind:?} uses another one");
        let outcome = run(&value);
        if scenario.workload.is_some() {
            assert!(outcome.summary()["completion"].as_u64() > Some(0), "{concept} {kind}: nothing has happened");
            assert!(outcome.accepted_load() > 0.0 || kind == "program", "{concept} {kind}: nothing was sent");
            continue;
        }
        assert!(outcome.collector().counters.packets.recorded > 100, "{concept} {kind}: hardly a packet arrived");
        // A load of 0.2 saturates none of them. So accepted and offered load agree, except for packets under way.
        let (offered, accepted) = (outcome.offered_load(), outcome.accepted_load());
        if offered < 0.25 {
            assert!((offered - accepted).abs() < 0.04, "{concept} {kind}: offered {offered}, accepted {accepted}");
        }
    }
}

#[test]
fn every_switching_and_stage_runs() {
    for switching in ["virtual_cut_through", "store_and_forward", "wormhole"] {
        for vc_allocation in ["with_switch", "stage", "speculative"] {
            for clock in ["link", "crossbar"] {
                let value = with(
                    base(),
                    json!({
                        "router": {
                            "switching": switching, "flit_size": 2, "vc_allocation": vc_allocation, "clock": clock,
                            "speedup": 2, "output_buffer": 16, "credit_release": "output",
                        },
                        "traffic": { "packet_size": 4, "load": 0.1 },
                    }),
                );
                assert!(run(&value).collector().counters.packets.recorded > 100, "{value}");
            }
        }
    }
}
