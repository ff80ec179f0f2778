//! Requests and replies: none is lost, none is too many, no reply waits for a request; the same result however a run is
//! executed.

use crate::common::{number, run_with, scenario, simulation, with};
use phit_engine::run::{self, Options, RunError};
use serde_json::{Value, json};

fn base() -> Value {
    json!({
        "topology": { "kind": "mesh", "dims": [3, 3], "endpoints_per_router": 2 },
        "router": { "links": { "default": { "vcs": 2, "buffer": 16 } } },
        "traffic": {
            "load": 0.9, "requests": { "outstanding": 3, "writes": 0.5, "read_reply": 7, "write_request": 7 },
        },
        "measure": { "warmup": 100, "cycles": 400 },
    })
}

/// Changes of [`base`] that touch every way to send and to keep requests.
fn variants() -> Vec<Value> {
    let wormhole = json!({ "switching": "wormhole", "vc_allocation": "stage", "flit_size": 2 });
    let booksim = json!({
        "switching": "wormhole", "vc_allocation": "stage", "clock": "crossbar", "speedup": 2,
        "credit_channel": "one_per_cycle", "injection_queue": "round_robin",
        "links": { "endpoint": { "vcs": 4, "buffer": 8, "ejection_buffer": 8 } },
    });
    vec![
        json!({}),
        json!({ "traffic": { "requests": { "outstanding": 40 } } }),
        json!({ "traffic": { "requests": { "outstanding": null } } }),
        json!({ "traffic": { "requests": { "virtual_networks": false } } }),
        json!({ "traffic": { "requests": { "source_queue": "together" } } }),
        json!({ "traffic": { "requests": { "room": 7, "outstanding": 20 } } }),
        json!({ "traffic": { "requests": { "room": 9, "service": 40, "think": 5 } } }),
        json!({ "router": wormhole }),
        json!({ "router": wormhole, "traffic": { "requests": { "room": 8 } } }),
        json!({ "router": with(wormhole.clone(), json!({ "vc_allocation": "with_switch" })) , "traffic":
            { "requests": { "virtual_networks": false, "outstanding": 30 } } }),
        json!({ "router": booksim }),
        json!({ "router": { "injection_queue": "destination", "links": { "endpoint": { "vcs": 6 } } } }),
        json!({ "router": { "injection_queue": "destination", "links": { "endpoint": { "vcs": 3 } } } }),
        json!({
            "topology": { "kind": "torus", "dims": [4, 4] }, "routing": "valiant",
            "router": { "links": { "default": { "vcs": 8 } } }, "traffic": { "requests": { "room": 7 } },
        }),
        json!({
            "topology": { "kind": "dragonfly", "p": 2, "a": 4, "h": 2 }, "routing": "ugal_l",
            "router": { "links": { "default": { "vcs": 8 } } }, "traffic": { "pattern": "adversarial" },
        }),
    ]
}

#[test]
fn every_request_is_under_way_or_answered() {
    for changes in variants() {
        let document = with(base(), changes.clone());
        for options in [Options::default(), Options { threads: 1, partitions: Some(3) }] {
            let mut simulation = simulation(&document, options);
            for end in (1..=600).step_by(7) {
                simulation.advance_to(end);
                simulation.fabric().audit().unwrap_or_else(|wrong| panic!("{changes}: {wrong}"));
            }
        }
    }
}

#[test]
fn a_number_of_requests_is_answered_to_the_last() {
    for changes in variants() {
        let mut document = with(base(), changes.clone());
        document["traffic"]["requests"]["count"] = json!(9);
        document["measure"] = json!({ "warmup": 0, "cycles": 4000 });
        let outcome = run_with(&document, Options::default());
        let endpoints = f64::from(scenario(&document).network().unwrap().endpoints());
        let of = |key: &str| number(&outcome, key);
        assert_eq!((of("/requests"), of("/replies")), (9.0 * endpoints, 9.0 * endpoints), "{changes}");
        assert_eq!(of("/packets"), 18.0 * endpoints, "{changes}");
        assert!(of("/requests_completion") < 4000.0);
        if let Some(limit) = document["traffic"]["requests"]["outstanding"].as_f64() {
            assert!(of("/outstanding_max") <= limit, "{changes}: {} outstanding", of("/outstanding_max"));
        }
    }
}

#[test]
fn results_are_the_same_on_any_number_of_partitions_and_threads() {
    for changes in variants() {
        let document = with(base(), changes.clone());
        let summary = |options| run_with(&document, options).summary();
        let one = summary(Options { threads: 1, partitions: Some(1) });
        for options in [Options { threads: 1, partitions: Some(4) }, Options { threads: 2, partitions: Some(3) }] {
            assert_eq!(summary(options), one, "{changes} with {options:?}");
        }
    }
}

/// Endpoints that have room for one request, in a network that carries far more of them than it has virtual channels.
fn crowded(virtual_networks: bool) -> Value {
    with(
        base(),
        json!({
            "traffic": { "requests": { "outstanding": 64, "room": 7, "virtual_networks": virtual_networks } },
            "measure": { "warmup": 0, "cycles": 20_000 },
        }),
    )
}

#[test]
fn endpoints_that_keep_requests_need_a_network_for_replies() {
    let proof = |document: &Value| run::verify(&scenario(document)).unwrap();
    let apart = crowded(true);
    let report = proof(&apart);
    assert_eq!(report["proved"], true, "{report}");
    assert!(number(&run_with(&apart, Options::default()), "/transaction_rate") > 0.01);
    // With the same virtual channels for both, replies wait behind requests that wait for replies to leave.
    let together = crowded(false);
    let report = proof(&together);
    assert_eq!(report["proved"], false, "{report}");
    assert!(!report["cycle"].as_array().unwrap().is_empty());
    match run::run(&scenario(&together), Options::default(), &mut |_, _| true) {
        Err(RunError::Deadlock(_)) => {}
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("expected a deadlock"),
    }
    // Endpoints that take whatever comes let nothing wait.
    let mut taken = together;
    taken["traffic"]["requests"]["room"] = json!(null);
    assert_eq!(proof(&taken)["proved"], true);
}

#[test]
fn proofs_follow_requests_and_replies_over_every_kind_of_route() {
    let tree = json!({ "kind": "k_ary_n_tree", "arity": 2, "levels": 3 });
    let dragonfly = json!({ "kind": "dragonfly", "p": 2, "a": 4, "h": 2 });
    let grid = json!({ "kind": "torus", "dims": [4, 4] });
    let cases = [
        (&grid, "dimension_order", 4),
        (&grid, "valiant", 8),
        (&dragonfly, "ugal_l", 8),
        (&dragonfly, "par", 10),
        (&tree, "table", 2),
        (&tree, "minimal", 2),
        (&grid, "dfsssp", 8),
    ];
    for (topology, routing, vcs) in cases {
        let document = |apart: bool| {
            json!({
                "topology": topology, "routing": routing, "router": { "links": { "default": { "vcs": vcs } } },
                "traffic": { "load": 0.1, "packet_size": 4, "requests": { "room": 8, "virtual_networks": apart } },
            })
        };
        let verify = |apart| run::verify(&scenario(&document(apart))).unwrap();
        let (apart, together) = (verify(true), verify(false));
        let alone = with(document(true), json!({ "traffic": { "requests": null } }));
        let channels = &run::verify(&scenario(&alone)).unwrap()["channels"];
        assert_eq!(apart["proved"], true, "{routing}: {apart}");
        assert_eq!(together["proved"], false, "{routing}: {together}");
        // The channels are equal in both cases.
        assert_eq!(&apart["channels"], channels, "{routing}");
    }
    // Two routers with a channel in each direction, in both networks. Each channel depends on the injection queue of
    // its kind and router. Channels of requests lead to the injection queues of replies, as do injection queues of
    // requests at the same router.
    let line = json!({
        "topology": { "kind": "mesh", "dims": [2] }, "router": { "links": { "default": { "vcs": 2 } } },
        "traffic": { "load": 0.1, "requests": { "room": 1 } },
    });
    let report = run::verify(&scenario(&line)).unwrap();
    assert_eq!((&report["channels"], &report["dependencies"]), (&json!(4), &json!(4 + 2 + 2)));
    // One virtual channel of each network is too few for a torus.
    let mut few = json!({
        "topology": grid, "router": { "links": { "default": { "vcs": 2 } } },
        "traffic": { "load": 0.1, "requests": {} },
    });
    assert_eq!(run::verify(&scenario(&few)).unwrap()["proved"], false);
    few["router"]["links"]["default"]["vcs"] = json!(4);
    assert_eq!(run::verify(&scenario(&few)).unwrap()["proved"], true);
}

#[test]
fn errors_name_key_value_and_expectation() {
    let cases = [
        (
            json!({ "router": { "links": { "default": { "vcs": 3 } } } }),
            "router.links.default.vcs = 3: expected an even",
        ),
        (
            json!({ "topology": { "kind": "torus", "dims": [4, 4] } }),
            "router.links.default.vcs = 2: routing \"minimal\" needs at least 4 virtual channels",
        ),
        (json!({ "queueing": { "kind": "dbbm", "queues": 2 } }), "queueing.kind = \"dbbm\": endpoints with requests"),
        (json!({ "routing": { "kind": "tpr" } }), "routing.kind = \"tpr\": this mechanism decides"),
        (json!({ "traffic": { "requests": { "room": 6 } } }), "traffic.requests.room = 6: expected at least 7 phits"),
        (
            json!({ "traffic": { "requests": { "room": 9, "source_queue": "together" } } }),
            "traffic.requests.room = 9: expected source_queue = \"apart\"",
        ),
        (json!({ "traffic": { "requests": { "outstanding": 0 } } }), "traffic.requests.outstanding = 0"),
        (json!({ "traffic": { "requests": { "writes": 1.5 } } }), "traffic.requests.writes = 1.5"),
        (json!({ "traffic": { "requests": { "outstandng": 2 } } }), "did you mean \"outstanding\"?"),
        (json!({ "traffic": { "message": { "packets": 3 } } }), "traffic.message: `requests` are packets"),
        (
            json!({ "traffic": { "packet_size": { "kind": "uniform", "min": 1, "max": 4 } } }),
            "traffic.packet_size = \"uniform\": expected a number of phits",
        ),
        (
            json!({ "router": { "kind": "packet_node" } }),
            "router.kind = \"packet_node\": this router's endpoints answer no requests",
        ),
        (
            json!({ "router": { "links": { "endpoint": { "ejection_buffer": 9, "vcs": 2 } } },
                    "traffic": { "requests": { "room": 7 } } }),
            "traffic.requests.room = 7: router.links.endpoint.ejection_buffer",
        ),
        (
            json!({ "measure": { "precision": { "latency_mean": 0.1 } }, "traffic": { "requests": { "count": 5 } } }),
            "`traffic.requests.count` ends",
        ),
    ];
    for (changes, expected) in cases {
        let document = with(base(), changes);
        let prepared =
            phit_engine::scenario::Scenario::from_value(&document).and_then(|s| run::prepare(&s).map(|_| ()));
        let error = prepared.expect_err(expected).to_string();
        assert!(error.contains(expected), "{error}\nshould contain\n{expected}");
    }
}
