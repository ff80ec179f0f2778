//! Classes of packets: nothing is lost, no endpoint forgets a packet, and the classes add up to the whole. Results do
//! not depend on execution, and unsupported combinations are refused.

use crate::common::{assert_close, number, run_with, simulation, with};
use phit_engine::run::{self, Options};
use phit_engine::scenario::Scenario;
use serde_json::{Value, json};

fn base() -> Value {
    json!({
        "topology": { "kind": "mesh", "dims": [3, 3], "endpoints_per_router": 2 },
        "router": { "links": { "default": { "vcs": 2, "buffer": 16 } } },
        "traffic": {
            "load": 0.5,
            "classes": [
                { "name": "bulk", "weight": 3, "packet_size": 6 },
                { "weight": 1, "pattern": { "kind": "shift", "offset": 5 }, "priority": 1, "process": "periodic" },
                { "weight": 2, "packet_size": { "kind": "uniform", "min": 1, "max": 4 }, "priority": 1 },
            ],
        },
        "measure": { "warmup": 100, "cycles": 400, "histogram": true },
    })
}

/// Changes of [`base`] that touch every way to send.
fn variants() -> Vec<Value> {
    let wormhole = json!({ "switching": "wormhole", "vc_allocation": "stage", "flit_size": 1, "allocator": "islip" });
    let booksim = json!({
        "switching": "wormhole", "vc_allocation": "stage", "clock": "crossbar", "speedup": 2,
        "credit_channel": "one_per_cycle", "injection_queue": "round_robin",
        "allocator": { "kind": "islip", "priority": "class" },
        "vc_allocator": { "kind": "separable_input_first", "priority": "class" },
        "links": { "endpoint": { "vcs": 4, "buffer": 8, "ejection_buffer": 8 } },
    });
    let changes = json!([{ "cycle": 150, "load": 0.9 }, { "cycle": 260, "pattern": "transpose" }]);
    vec![
        json!({}),
        json!({ "router": { "allocator": { "kind": "separable_input_first", "priority": "class" } } }),
        json!({ "router": wormhole }),
        json!({ "router": with(wormhole.clone(), json!({ "connection": "packet" })) }),
        json!({ "router": with(wormhole.clone(),
            json!({ "vc_reuse": "empty", "links": { "default": { "vcs": 1 } } })) }),
        json!({ "router": with(wormhole, json!({ "vc_allocation": "speculative",
            "allocator": { "kind": "wavefront", "priority": "class" } })) }),
        json!({ "router": booksim }),
        json!({ "router": { "injection_queue": "destination", "links": { "endpoint": { "vcs": 6 } } } }),
        json!({
            "topology": { "kind": "dragonfly" }, "routing": "ugal_l",
            "router": { "links": { "default": { "vcs": 4 } } }, "traffic": { "load": 0.4 },
        }),
        json!({ "topology": { "dims": [4, 4], "endpoints_per_router": 1 }, "traffic": { "changes": changes },
                "measure": { "count": "generated" } }),
    ]
}

fn document(changes: &Value) -> Value {
    let mut document = with(base(), changes.clone());
    if document["topology"]["kind"] == "dragonfly" {
        document["topology"] = json!({ "kind": "dragonfly", "p": 2, "a": 4, "h": 2 });
    }
    document
}

#[test]
fn nothing_is_lost_and_no_endpoint_forgets_what_it_has_to_send() {
    for changes in variants() {
        for options in [Options::default(), Options { threads: 1, partitions: Some(3) }] {
            let mut simulation = simulation(&document(&changes), options);
            for end in (1..=600).step_by(7) {
                simulation.advance_to(end);
                simulation.fabric().audit().unwrap_or_else(|wrong| panic!("{changes}: {wrong}"));
            }
        }
    }
}

#[test]
fn the_classes_come_to_the_whole_on_any_number_of_partitions_and_threads() {
    for changes in variants() {
        let document = document(&changes);
        let found = |options| {
            let outcome = run_with(&document, options);
            (outcome.summary(), outcome.tables()["classes"].clone())
        };
        let (summary, classes) = found(Options { threads: 1, partitions: Some(1) });
        for options in [Options { threads: 1, partitions: Some(4) }, Options { threads: 2, partitions: Some(3) }] {
            assert_eq!(found(options), (summary.clone(), classes.clone()), "{changes} with {options:?}");
        }
        let column = |key: &str| -> Vec<f64> {
            classes[key].as_array().unwrap().iter().map(|value| value.as_f64().unwrap_or(0.0)).collect()
        };
        let sum = |key: &str| column(key).iter().sum::<f64>();
        assert_eq!(classes["class"], json!(["bulk", "1", "2"]));
        assert_eq!(json!(sum("packets") as u64), summary["packets"], "{changes}");
        for load in ["offered_load", "accepted_load"] {
            assert_close(sum(load), summary[load].as_f64().unwrap(), 1e-9, &format!("{load} {changes}"));
        }
        for mean in ["latency_mean", "network_latency_mean", "hops_mean"] {
            let all: f64 = column(mean).iter().zip(column("packets")).map(|(mean, packets)| mean * packets).sum();
            assert_close(all / sum("packets"), summary[mean].as_f64().unwrap(), 1e-6, &format!("{mean} {changes}"));
        }
        // The shares of the load, of a few thousand packets.
        if document["traffic"]["changes"].is_null() {
            for (offered, weight) in column("offered_load").iter().zip([3.0, 1.0, 2.0]) {
                let expected = document["traffic"]["load"].as_f64().unwrap() * weight / 6.0;
                assert_close(*offered, expected, 0.15 * expected, &format!("offered {changes}"));
            }
        }
    }
}

/// Accepted loads and latencies of two classes at a switch.
fn at_a_switch(endpoints: u32, allocator: Value, classes: Value, load: f64, pattern: Value) -> (Vec<f64>, Vec<f64>) {
    let document = json!({
        "topology": { "kind": "single", "endpoints": endpoints },
        "router": { "links": { "default": { "vcs": 2, "buffer": 16 } }, "allocator": allocator },
        "traffic": { "load": load, "classes": classes, "pattern": pattern },
        "measure": { "warmup": 1000, "cycles": 20_000 },
    });
    let table = run_with(&document, Options::default()).tables()["classes"].clone();
    let column = |key: &str| table[key].as_array().unwrap().iter().map(|value| value.as_f64().unwrap()).collect();
    (column("accepted_load"), column("latency_mean"))
}

#[test]
fn a_higher_class_leaves_its_source_as_if_it_were_alone() {
    // Each sends to the other alone, as much as the link carries. A packet of a phit takes 5 cycles: one in its source,
    // two over links, one in the switch and one for the phit.
    let other = json!({ "kind": "shift", "offset": 1 });
    let classes = |priority: u8| json!([{ "weight": 9 }, { "weight": 1, "priority": priority }]);
    let (_, latency) = at_a_switch(2, json!("separable_input_first"), classes(1), 1.0, other.clone());
    assert_eq!(latency[1], 5.0);
    assert!(latency[0] > 20.0, "{latency:?}");
    // In turn the class that sends little hardly waits either: for one phit of the other at most.
    let (_, latency) = at_a_switch(2, json!("separable_input_first"), classes(0), 1.0, other);
    assert!(5.05 < latency[1] && latency[1] <= 6.0 && latency[0] > 20.0, "{latency:?}");
}

#[test]
fn classes_of_equal_priority_share_the_link_of_their_endpoint_in_turn() {
    // Packets of one phit and of four, flit by flit. If both classes have more than they can send, each has half of the
    // link. A class that needs less than half gets all it needs.
    let classes =
        |light: f64| json!([{ "weight": 1.0 - light, "packet_size": 4 }, { "weight": light, "process": "periodic" }]);
    for (light, accepted) in [(0.25, [0.75, 0.25]), (0.5, [0.5, 0.5])] {
        let document = json!({
            "topology": { "kind": "single", "endpoints": 2 },
            "router": {
                "switching": "wormhole", "vc_allocation": "stage", "injection_queue": "round_robin",
                "links": { "default": { "vcs": 2, "buffer": 16 } },
            },
            "traffic": { "load": 1.0, "pattern": { "kind": "shift", "offset": 1 }, "classes": classes(light) },
            "measure": { "warmup": 1000, "cycles": 20_000 },
        });
        let table = run_with(&document, Options::default()).tables()["classes"].clone();
        for (class, expected) in accepted.into_iter().enumerate() {
            let load = table["accepted_load"][class].as_f64().unwrap();
            assert_close(load, expected, 0.02, &format!("class {class} of {light}"));
        }
    }
}

#[test]
fn an_allocator_by_class_gives_a_full_output_to_the_higher_class_first() {
    // Three endpoints send to the fourth more than its link carries, with room for a packet in each of 16 channels. All
    // channels are full of the lower class, and a packet of the higher class takes the next free one. In turn, it then
    // waits for the others; by class, only for packets of its own class.
    let of = |priority: &str| {
        let document = json!({
            "topology": { "kind": "single", "endpoints": 4 },
            "router": {
                "links": { "default": { "vcs": 16, "buffer": 1 } },
                "allocator": { "kind": "separable_input_first", "priority": priority },
            },
            "traffic": {
                "load": 0.6, "pattern": { "kind": "hotspot", "targets": [3], "share": 1.0 },
                "classes": [{ "weight": 5 }, { "weight": 1, "priority": 7 }],
            },
            "measure": { "warmup": 1000, "cycles": 20_000 },
        });
        let table = run_with(&document, Options::default()).tables()["classes"].clone();
        table["latency_mean"][1].as_f64().unwrap()
    };
    let (alike, by_class) = (of("none"), of("class"));
    // An empty network takes 5 cycles; 16 channels of three inputs, 48 more.
    assert!(by_class < 12.0 && alike > 30.0, "{alike} {by_class}");
}

#[test]
fn what_cannot_be_is_refused() {
    let cases = [
        (
            json!({ "traffic": { "classes": [{ "weight": 0 }] } }),
            "traffic.classes: expected weights with a positive sum",
        ),
        (json!({ "traffic": { "classes": [{ "weight": -1 }] } }), "traffic.classes[0].weight = -1: expected a number"),
        (json!({ "traffic": { "classes": [{ "wieght": 1 }] } }), "did you mean \"weight\"?"),
        (json!({ "traffic": { "classes": vec![json!({}); 9] } }), "expected a list of at most 8 values"),
        (
            json!({ "traffic": { "classes": [{}, { "name": "0" }] } }),
            "traffic.classes[1].name = \"0\": expected another name",
        ),
        (
            json!({ "traffic":
                { "classes": [{}, { "pattern": { "kind": "hotspot", "targets": [99], "share": 1 } }] } }),
            "traffic.classes[1].pattern.targets",
        ),
        (json!({ "traffic": { "pattern": "transpose", "classes": [{}] } }), "traffic.pattern"),
        (json!({ "traffic": { "load": 1.5 } }), "traffic.load = 1.5: expected at most 1"),
        (json!({ "traffic": { "message": { "packets": 3 } } }), "traffic.message: `classes` are of single packets"),
        (json!({ "traffic": { "requests": {} } }), "traffic.requests: `classes` are of single packets"),
        (json!({ "queueing": { "kind": "dbbm", "queues": 2 } }), "queueing.kind = \"dbbm\": endpoints with classes"),
        (
            json!({ "router": { "kind": "packet_node" } }),
            "router.kind = \"packet_node\": this router's endpoints have one source queue",
        ),
        (
            json!({ "router": { "admittance": "per_destination" } }),
            "router.admittance = \"per_destination\": admittance queues leave no place for those of traffic.classes",
        ),
        (
            json!({ "topology": { "faults": { "later": [{ "cycle": 5, "links": [[0, 1]] }] } } }),
            "topology.faults.later: expected nothing that breaks",
        ),
    ];
    for (changes, expected) in cases {
        let document = with(base(), changes);
        let prepared = Scenario::from_value(&document).and_then(|scenario| run::prepare(&scenario).map(|_| ()));
        let error = prepared.expect_err(expected).to_string();
        assert!(error.contains(expected), "{error}\nshould contain\n{expected}");
    }
}

#[test]
fn a_class_alone_is_all_packets() {
    let with_classes = |classes: Value| {
        let traffic = json!({ "load": 0.4, "packet_size": 3, "classes": classes });
        let mut document = with(base(), json!({ "traffic": null }));
        document["traffic"] = traffic;
        run_with(&document, Options::default())
    };
    let (alone, all) = (with_classes(json!([{}])), with_classes(json!([])));
    for key in ["/latency_mean", "/accepted_load", "/packets", "/hops_mean"] {
        assert_eq!(number(&alone, key), number(&all, key), "{key}");
    }
}
