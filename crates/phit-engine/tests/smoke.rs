//! Everything registered runs: one small scenario for each kind of each concept.
//!
//! A kind that is registered without a scenario in `common/kinds.rs` fails `every_kind_has_a_scenario` by name.

mod common;

use common::kinds::{base, cases};
use common::{run, with};
use phit_engine::allocators::AllocatorKind;
use phit_engine::probes::ProbeKind;
use phit_engine::queueing::QueueingKind;
use phit_engine::routing::RoutingKind;
use phit_engine::scenario::{RouterKind, Scenario};
use phit_engine::topology::TopologyKind;
use phit_engine::traffic::{PacketSizeKind, PatternKind, ProcessKind};
use phit_engine::workload::{PlacementKind, ProgramKind};
use serde_json::json;
use std::collections::BTreeSet;

#[test]
fn every_kind_has_a_scenario() {
    let have: BTreeSet<(&str, &str)> = cases().iter().map(|(concept, kind, _)| (*concept, *kind)).collect();
    let registries: [(&str, &[&str]); 11] = [
        ("topology", TopologyKind::KINDS),
        ("router", RouterKind::KINDS),
        ("routing", RoutingKind::KINDS),
        ("queueing", QueueingKind::KINDS),
        ("allocator", AllocatorKind::KINDS),
        ("pattern", PatternKind::KINDS),
        ("process", ProcessKind::KINDS),
        ("probe", ProbeKind::KINDS),
        ("packet size", PacketSizeKind::KINDS),
        ("workload", ProgramKind::KINDS),
        ("placement", PlacementKind::KINDS),
    ];
    for (concept, kinds) in registries {
        for kind in kinds {
            assert!(
                have.contains(&(concept, *kind)),
                "the {concept} {kind:?} is registered, but no scenario in tests/common/kinds.rs runs it: \
                 add one to `cases`"
            );
        }
    }
}

#[test]
fn every_kind_runs() {
    for (concept, kind, changes) in cases() {
        let mut value = with(base(), changes);
        if value.get("workload").is_some() {
            ["traffic", "measure"].iter().for_each(|section| drop(value.as_object_mut().unwrap().remove(*section)));
        }
        let scenario = Scenario::from_value(&value).unwrap_or_else(|error| panic!("{concept} {kind}: {error}"));
        let used = match concept {
            "topology" => scenario.topology.kind(),
            "routing" => scenario.routing.kind(),
            "queueing" => scenario.queueing.kind(),
            "router" => scenario.router.kind(),
            "allocator" => match &scenario.router {
                RouterKind::InputQueued(router) => router.allocator.kind(),
                other => panic!("{} has no allocator", other.kind()),
            },
            "pattern" => scenario.traffic.pattern.kind(),
            "process" => scenario.traffic.process.kind(),
            "probe" => scenario.measure.probes[0].kind(),
            _ => scenario.traffic.packet_size.kind(),
        };
        let used = match (concept, &scenario.workload) {
            ("workload", Some(workload)) => workload.program.kind(),
            ("placement", Some(workload)) => workload.around.placement.kind(),
            _ => used,
        };
        assert_eq!(used, kind, "the scenario for the {concept} {kind:?} uses another one");
        let outcome = run(&value);
        if scenario.workload.is_some() {
            assert!(outcome.summary()["completion"].as_u64() > Some(0), "{concept} {kind}: nothing has happened");
            assert!(outcome.accepted_load() > 0.0 || kind == "program", "{concept} {kind}: nothing was sent");
            continue;
        }
        assert!(outcome.collector().counters.packets.recorded > 100, "{concept} {kind}: hardly a packet arrived");
        // A load of 0.2 saturates none of them. So accepted and offered load agree, except for packets under way.
        let (offered, accepted) = (outcome.offered_load(), outcome.accepted_load());
        assert!((offered - accepted).abs() < 0.04, "{concept} {kind}: offered {offered}, accepted {accepted}");
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
