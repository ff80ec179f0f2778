//! Priority-based flow control: no buffer overflows, and results do not depend on execution. Pauses last as long as
//! theory says. A cycle of pauses is found before the run and in it.

use crate::common::{assert_close, audit, number, run, run_with, scenario, with};
use phit_engine::run::{self, Options, RunError};
use phit_engine::scenario::Scenario;
use serde_json::{Value, json};

/// Many sources and one hot endpoint.
fn base() -> Value {
    json!({
        "topology": { "kind": "k_ary_n_tree", "arity": 3, "levels": 2 },
        "router": {
            "flow_control": "pfc", "pfc": { "frame": 2 }, "output_buffer": 8, "injection_queue": "round_robin",
            "links": { "default": { "vcs": 2, "buffer": 90, "latency": 2 } },
        },
        "traffic": {
            "load": 0.9, "packet_size": 4,
            "pattern": { "kind": "hotspot", "targets": [4], "share": 0.5 },
        },
        "measure": { "warmup": 100, "cycles": 800 },
    })
}

/// Changes of [`base`] that touch every way to fill, to pause and to go on.
fn variants() -> Vec<Value> {
    let wormhole = json!({ "switching": "wormhole", "vc_allocation": "stage", "flit_size": 1, "allocator": "islip" });
    let sizes = json!({ "kind": "uniform", "min": 2, "max": 9 });
    let dcqcn = json!({
        "kind": "dcqcn", "kmin": 8, "kmax": 40, "pmax": 0.5, "notification_interval": 40, "gain": 0.25,
        "alpha_timer": 60, "increase_timer": 70, "increase_phits": 40, "minimum": 0.01,
    });
    let fast = json!({ "endpoint": { "vcs": 2, "buffer": 300, "bandwidth": 0.5, "injection_bandwidth": "infinite" } });
    vec![
        json!({}),
        json!({ "router": { "pfc": { "frame": 9, "hysteresis": 0 } } }),
        json!({ "router": { "pfc": { "headroom": 80 } } }),
        json!({ "router": wormhole }),
        json!({ "router": with(wormhole, json!({ "flit_size": 3, "vc_allocation": "speculative" })),
                "traffic": { "packet_size": sizes } }),
        json!({ "traffic": { "packet_size": sizes, "message": { "packets": 5 } }, "router": {
            "output_buffer": 9, "links": { "default": { "buffer": 130 } } } }),
        json!({ "router": { "speedup": 2, "latency": 3, "clock": "crossbar", "credit_release": "output" } }),
        json!({ "router": { "switching": "store_and_forward", "links": { "default": { "latency": 5 } } } }),
        json!({ "router": { "links": fast } }),
        json!({ "congestion": dcqcn }),
        json!({ "congestion": with(dcqcn, json!({ "channels": "own" })) }),
        json!({ "topology": { "kind": "dragonfly", "p": 2, "a": 4, "h": 2 }, "routing": "valiant",
                "router": { "links": { "default": { "vcs": 4 } } } }),
        json!({ "traffic": { "load": 0.9, "pattern": "uniform", "requests": { "outstanding": 20, "read_reply": 4 } } }),
    ]
}

fn document(changes: &Value) -> Value {
    let mut document = base();
    if changes["topology"].get("kind").is_some() {
        document["topology"] = json!({});
    }
    if changes["traffic"]["pattern"].is_string() {
        document["traffic"] = json!({});
    }
    with(document, changes.clone())
}

/// The audit compares what every buffer counts with what stands in it, and with its size.
#[test]
fn buffers_never_overflow_with_the_least_headroom() {
    for changes in variants() {
        audit(&document(&changes), 900);
    }
}

#[test]
fn results_are_the_same_on_any_number_of_partitions_and_threads() {
    for changes in variants() {
        let document = document(&changes);
        let found = |options| run_with(&document, options).summary();
        let summary = found(Options { threads: 1, partitions: Some(1) });
        for key in ["frames", "begun", "time", "headroom"] {
            assert!(summary["pauses"][key].as_f64() > Some(0.0), "{changes}: {key} of {}", summary["pauses"]);
        }
        for options in [Options { threads: 1, partitions: Some(4) }, Options { threads: 2, partitions: Some(3) }] {
            assert_eq!(found(options), summary, "{changes} with {options:?}");
        }
    }
}

/// One source sends all it may to an endpoint whose link carries `rate` phits per cycle.
fn slow_end(rate: f64) -> Value {
    let trace: Vec<Value> = (0..20_000).map(|n| json!([n, 0, 1, 8])).collect();
    json!({
        "topology": { "kind": "single", "endpoints": 2 },
        "router": {
            "flow_control": "pfc", "output_buffer": 16,
            "links": { "endpoint": {
                "vcs": 1, "buffer": 400, "latency": 3, "bandwidth": rate, "injection_bandwidth": 1,
            } },
        },
        "traffic": { "load": 0.0, "packet_size": 8, "trace": trace },
        "measure": { "warmup": 2000, "cycles": 16_000 },
    })
}

/// In the long run the source sends as much as the slow link carries, so it is paused for the rest of the time. The
/// slow link is never idle. A frame pauses, the next lets go on.
#[test]
fn a_source_is_paused_for_the_time_in_which_it_must_not_send() {
    for rate in [0.25, 0.5, 0.75] {
        let outcome = run(&slow_end(rate));
        let accepted = number(&outcome, "/accepted_load") * 2.0;
        assert_close(accepted, 1.0, 0.002, &format!("share of a link of rate {rate}"));
        let (frames, begun) = (number(&outcome, "/pauses/frames"), number(&outcome, "/pauses/begun"));
        // A packet of 8 phits that has begun when a pause comes is sent to its end.
        let (paused, silent) = (number(&outcome, "/pauses/time"), (1.0 - rate) * 16_000.0);
        assert!((silent - 40.0..=silent + 8.0 * begun + 40.0).contains(&paused), "{paused} of {silent}, {begun} times");
        assert_close(frames, 2.0 * begun, 1.0, "frames");
        assert_close(number(&outcome, "/control_messages"), frames, 1.0, "frames on links");
    }
}

/// Twelve sources keep the link of one endpoint full: buffers hold enough until their senders go on.
#[test]
fn an_incast_leaves_no_time_of_the_hot_link_unused() {
    let document = json!({
        "topology": { "kind": "single", "endpoints": 13 },
        "router": {
            "flow_control": "pfc", "output_buffer": 16,
            "links": { "endpoint": { "vcs": 1, "buffer": 200, "latency": 10 } },
        },
        "traffic": { "load": 1.0, "packet_size": 8, "pattern": { "kind": "hotspot", "targets": [0], "share": 1.0 } },
        "measure": { "warmup": 2000, "cycles": 10_000, "endpoints": true },
    });
    let outcome = run(&document);
    let hot = outcome.tables()["endpoints"]["accepted_load"][0].as_f64().unwrap();
    assert_close(hot, 1.0, 0.001, "hot link");
}

/// A ring of one virtual channel in which all packets go round in one direction, over three links each.
fn ring() -> Value {
    let port = |router: u32, to: u32| if router == to { 0 } else { 1 + u32::from(router > 0) };
    let entries: Vec<[u32; 3]> = (0..16).map(|n| [n / 4, n % 4, port(n / 4, n % 4)]).collect();
    json!({
        "topology": { "kind": "graph", "routers": 4, "links": [[0, 1], [1, 2], [2, 3], [3, 0]] },
        "routing": { "kind": "table", "entries": entries, "layers": [[0, 1, 0]] },
        "router": { "flow_control": "pfc", "output_buffer": 8, "links": { "default": { "vcs": 1, "buffer": 90 } } },
        "traffic": { "load": 1.0, "packet_size": 4, "pattern": { "kind": "shift", "offset": 3 } },
        "measure": { "warmup": 0, "cycles": 20_000 },
    })
}

#[test]
fn a_deadlock_of_pauses_is_found_by_the_proof_and_by_the_watchdog() {
    let report = run::verify(&scenario(&ring())).unwrap();
    assert_eq!(report["proved"], false, "{report}");
    match run::run(&scenario(&ring()), Options::default(), &mut |_, _| true) {
        Err(RunError::Deadlock(text)) => {
            for router in 0..4 {
                assert!(text.contains(&format!("of router {router}, waits for VC 0")), "{text}");
            }
        }
        other => panic!("{:?}", other.map(|outcome| outcome.summary())),
    }
}

/// The headroom behind a link between routers: the frame waits for 1 + 4 + 1 cycles of the router, 8 phits of output
/// buffer, a packet of 4 and a frame of 2. It takes 2 + 2 + 1 cycles to the sender. There 6 cycles of the router and 8
/// phits of output buffer follow, and 2 cycles of the link. These are 41 phits, and two packets more.
#[test]
fn a_headroom_that_loses_phits_is_refused_with_the_number_needed() {
    let error = |changes: Value| {
        let document = document(&changes);
        let scenario = Scenario::from_value(&document).and_then(|scenario| run::prepare(&scenario).map(drop));
        scenario.expect_err(&format!("{changes} is accepted")).to_string()
    };
    let pfc = |headroom: u32| json!({ "router": { "pfc": { "headroom": headroom } } });
    let refused = error(pfc(48));
    assert!(refused.starts_with("router.pfc.headroom = 48: expected at least 49 phits"), "{refused}");
    let small = error(json!({ "router": { "links": { "default": { "buffer": 49 } } } }));
    assert!(small.contains("router.links.default.buffer = 49: expected at least"), "{small}");
    let cases = [
        (json!({ "router": { "output_buffer": "infinite" } }), "router.output_buffer = \"infinite\""),
        (json!({ "router": { "flow_control": "credits" } }), "router.flow_control = \"credits\": expected \"pfc\""),
        (json!({ "router": { "credit_delay": 1 } }), "router.credit_delay: expected none"),
        (json!({ "router": { "injection_queue": "least_occupied" } }), "router.injection_queue = \"least_occupied\""),
        (json!({ "router": { "links": { "endpoint": { "buffer": 90, "ejection_buffer": 9 } } } }), "ejection_buffer"),
        (json!({ "router": { "links": { "default": { "vcs": 9 } } } }), "vcs = 9: expected at most 8"),
        (json!({ "queueing": "dbbm", "router": { "links": { "default": { "vcs": 1 } } } }), "queueing.kind = \"dbbm\""),
        (json!({ "routing": "clos" }), "routing.kind = \"clos\": with router.flow_control = \"pfc\" a router does not"),
        (json!({ "congestion": { "kind": "qcn" } }), "router.flow_control = \"pfc\": notifications of routers"),
        (json!({ "topology": { "kind": "multistage", "arity": 2, "stages": 2 } }), "no frame can go back"),
    ];
    for (changes, expected) in cases {
        let refused = error(changes.clone());
        assert!(refused.contains(expected), "{changes}: {refused}\nand not {expected}");
    }
}
