//! Reservation protocols: nothing is lost, a dropped packet is sent again, results do not depend on execution, and
//! combinations without a meaning are refused.

use crate::common::{audit, run, run_with, with};
use phit_engine::run::{self, Options};
use phit_engine::scenario::Scenario;
use serde_json::{Value, json};

/// Many sources and one hot endpoint, so that speculative packets are dropped.
fn base() -> Value {
    json!({
        "topology": { "kind": "k_ary_n_tree", "arity": 3, "levels": 2 },
        "router": {
            "switching": "wormhole", "vc_allocation": "stage", "vc_eligible": "with_packet_room",
            "allocator": { "kind": "separable_input_first", "priority": "class" },
            "links": { "default": { "vcs": 5, "buffer": 32, "latency": 2 } },
        },
        "congestion": { "kind": "srp", "time_to_live": 12, "in_flight": 4, "chunk": 24 },
        "traffic": {
            "load": 0.7, "packet_size": 4, "message": { "packets": 5 },
            "pattern": { "kind": "hotspot", "targets": [4], "share": 0.5 },
        },
        "measure": { "warmup": 100, "cycles": 600 },
    })
}

/// Changes of [`base`] that touch every way to reserve, to drop and to send.
fn variants() -> Vec<Value> {
    let sorted = json!({ "kind": "voqsw", "memory": "shared" });
    let authors = json!({ "control_buffer": 8,
        "vc_eligible": "with_packet_room", "connection": "packet", "clock": "crossbar", "speedup": 2, "latency": 2,
        "output_buffer": 8, "links": { "endpoint": { "latency": 0, "ejection_buffer": 64 } },
    });
    let crossing = json!({
        "control_crossing": "beside", "control_room": "both", "output_room": "crossed", "cut_through": "neither",
        "credit_channel": "one_per_cycle", "allocator": { "among": "outputs" },
    });
    let own = json!({ "injection": "beside", "late_refusals": "send" });
    let sizes = json!({ "kind": "uniform", "min": 2, "max": 9 });
    let last_hop = json!({ "links": { "default": { "vcs": 3 } } });
    vec![
        json!({}),
        json!({ "congestion": { "expiry": "since_sending", "time_to_live": 20 } }),
        json!({ "congestion": { "estimate": false, "reservations": "in_turn" } }),
        json!({ "congestion": { "late_refusals": "send", "deduction": 0.0, "time_to_live": 0 } }),
        json!({ "congestion": { "resend": true, "overhead": 1.25 } }),
        json!({ "congestion": { "post_wait": true, "least": 12 }, "traffic": { "packet_size": sizes } }),
        json!({ "congestion": own, "queueing": sorted, "router": authors }),
        json!({ "congestion": with(own.clone(), json!({ "sorted": true })), "queueing": sorted, "router": authors }),
        json!({
            "congestion": with(own.clone(), json!({ "sorted": true, "yields": true, "round_trip": true })),
            "queueing": sorted,
            "router": with(with(authors.clone(), crossing.clone()), json!({ "output_order": "packets" })),
        }),
        json!({ "congestion": own, "queueing": sorted, "router": with(authors.clone(), crossing) }),
        json!({ "router": { "flit_size": 3, "credit_channel": "one_per_cycle" }, "congestion": { "control": 2 } }),
        json!({ "router": { "switching": "virtual_cut_through", "credit_release": "output" } }),
        json!({ "router": { "switching": "store_and_forward" }, "traffic": { "packet_size": sizes } }),
        json!({
            "topology": { "kind": "dragonfly", "p": 2, "a": 4, "h": 2 }, "routing": "minimal",
            "router": { "links": { "default": { "vcs": 10 } } },
        }),
        json!({ "congestion": { "kind": "smsrp", "time_to_live": 12, "in_flight": 4 } }),
        json!({ "congestion": { "kind": "smsrp", "time_to_live": 8, "estimate": false, "speculation": "always" } }),
        json!({
            "congestion": { "kind": "smsrp", "time_to_live": 8, "injection": "beside", "sorted": true },
            "queueing": sorted, "router": authors,
        }),
        json!({ "congestion": { "kind": "lhrp", "threshold": 20 }, "router": last_hop }),
        json!({
            "congestion": { "kind": "lhrp", "threshold": 7, "speculation": "always", "overhead": 1.1 },
            "router": last_hop, "traffic": { "packet_size": sizes },
        }),
        json!({
            "congestion": { "kind": "lhrp", "threshold": 20, "injection": "beside", "sorted": true },
            "queueing": sorted, "router": with(authors, json!({ "links": {
                "default": { "vcs": 3 }, "endpoint": { "vcs": 3 },
            } })),
        }),
        json!({
            "topology": { "kind": "dragonfly", "p": 2, "a": 4, "h": 2 }, "routing": "minimal",
            "congestion": { "kind": "lhrp", "threshold": 16 },
            "router": { "links": { "default": { "vcs": 6 } }, "switching": "virtual_cut_through" },
        }),
    ]
}

fn document(changes: &Value) -> Value {
    let mut document = base();
    if changes["topology"].get("kind").is_some() {
        document["topology"] = json!({});
    }
    with(document, changes.clone())
}

#[test]
fn no_phit_is_lost_and_credits_add_up() {
    for changes in variants() {
        audit(&document(&changes), 700);
    }
}

/// Every way to drop a packet is taken, and each part of the network can be divided.
#[test]
fn results_are_the_same_on_any_number_of_partitions_and_threads() {
    let mut arriving = 0.0;
    for changes in variants() {
        let document = document(&changes);
        let found = |options| {
            let outcome = run_with(&document, options);
            (outcome.summary(), outcome.tables()["sources"].clone())
        };
        let (summary, sources) = found(Options { threads: 1, partitions: Some(1) });
        let at_last_hop = changes["congestion"]["kind"] == "lhrp";
        for (key, expected) in [
            ("reservations", !at_last_hop),
            ("grants", !at_last_hop),
            ("acknowledgements", true),
            ("dropped", true),
            ("speculative", true),
        ] {
            let count = summary["congestion"][key].as_f64();
            assert_eq!(count > Some(0.0), expected, "{changes}: {key} of {}", summary["congestion"]);
        }
        arriving +=
            sources["dropped_arriving"].as_array().map_or(0.0, |all| all.iter().filter_map(Value::as_f64).sum::<f64>());
        for options in [Options { threads: 1, partitions: Some(4) }, Options { threads: 2, partitions: Some(3) }] {
            assert_eq!(found(options), (summary.clone(), sources.clone()), "{changes} with {options:?}");
        }
    }
    assert!(arriving > 0.0, "no packet was dropped on arrival");
}

/// A trace ends: all its packets arrive, each once, whatever has been dropped.
#[test]
fn every_packet_of_a_trace_arrives_once() {
    let trace: Vec<Value> = (0..40u32)
        .flat_map(|cycle| (0..9u32).map(move |source| (cycle, source)))
        .filter(|(cycle, source)| (cycle + source) % 4 == 0 && *source != 4)
        .map(|(cycle, source)| json!([cycle, source, if cycle % 3 == 0 { 4 } else { (source + 1) % 9 }, 20]))
        .collect();
    for changes in variants().into_iter().filter(|changes| changes["topology"].is_null()) {
        let mut document = document(&changes);
        document["traffic"] = json!({ "load": 0.0, "packet_size": 4, "trace": trace });
        document["measure"] = json!({ "warmup": 0, "cycles": 30_000 });
        let outcome = run(&document);
        let summary = outcome.summary();
        assert_eq!(summary["packets"], json!(5 * trace.len()), "{changes}: {}", summary["congestion"]);
    }
}

#[test]
fn combinations_without_a_meaning_are_refused_by_key() {
    let refused = |changes: Value, key: &str| {
        let document = document(&changes);
        let scenario = Scenario::from_value(&document).unwrap_or_else(|wrong| panic!("{changes}: {wrong}"));
        match run::prepare(&scenario) {
            Ok(_) => panic!("{changes} is not refused"),
            Err(wrong) => assert!(wrong.to_string().starts_with(key), "{changes}: {wrong}"),
        }
    };
    refused(json!({ "router": { "vc_allocation": "with_switch", "vc_eligible": "free" } }), "router.vc_allocation");
    refused(json!({ "router": { "links": { "default": { "vcs": 4 } } } }), "router.links");
    refused(json!({ "router": { "sharing": {} } }), "router.sharing");
    refused(json!({ "congestion": { "control": 2 } }), "congestion.control");
    refused(json!({ "congestion": { "kind": "smsrp", "control": 2 } }), "congestion.control");
    refused(json!({ "congestion": { "kind": "lhrp" } }), "router.links");
    refused(json!({ "queueing": { "kind": "dbbm" } }), "queueing.kind");
    refused(json!({ "routing": "valiant", "router": { "links": { "default": { "vcs": 10 } } } }), "routing.kind");
}

/// Each kind of packets has channels of its own, and refusals may begin at any router.
#[test]
fn each_class_is_proved() {
    let scenario = Scenario::from_value(&base()).expect("a scenario");
    let report = run::verify(&scenario).expect("a report");
    assert_eq!(report["proved"], json!(true));
    let classes = ["reservations", "grants", "acknowledgements", "speculative", "granted"];
    assert!(classes.iter().all(|name| report["classes"][name] == json!(true)), "{report}");
    let changes = json!({ "congestion": { "kind": "lhrp" }, "router": { "links": { "default": { "vcs": 3 } } } });
    let scenario = Scenario::from_value(&document(&changes)).expect("a scenario");
    let report = run::verify(&scenario).expect("a report");
    assert_eq!(report["classes"], json!({ "acknowledgements": true, "speculative": true, "granted": true }));
}
