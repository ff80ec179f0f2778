//! Credits that packets take when they start on the link, and decisions at the front of queues: nothing is lost, no
//! partition changes anything, packets fill output buffers, and what cannot be so is refused.

use crate::common::{number, run, run_with, scenario, simulation, with};
use phit_engine::run::{Options, verify};
use serde_json::{Value, json};

/// A Dragonfly of 72 endpoints whose channels have 32 phits in front of the link and 48 behind it.
fn dragonfly(routing: &Value, load: f64) -> Value {
    json!({
        "topology": { "kind": "dragonfly", "p": 2, "a": 4, "h": 2 },
        "router": {
            "output_buffer": 32, "credit_use": "link", "decision": "front",
            "links": {
                "default": { "latency": 3, "vcs": 4, "buffer": 48 },
                "endpoint": { "latency": 1, "vcs": 1, "buffer": 48 },
            },
        },
        "routing": routing,
        "traffic": { "load": load, "packet_size": 8, "pattern": "adversarial" },
        "measure": { "warmup": 300, "cycles": 500 },
    })
}

fn ugal() -> Value {
    json!({ "kind": "ugal_l", "via": "group", "stop": "third", "hop_count": "one_and_two", "threshold": 2,
        "decide": "head_and_exit" })
}

#[test]
fn room_and_credits_add_up_and_partitions_change_nothing() {
    let minimal = json!("minimal");
    let slow = json!({ "crossbar_bandwidth": 1, "latency": 2,
        "links": { "default": { "bandwidth": 0.5 }, "endpoint": { "bandwidth": 0.5 } } });
    let documents = [
        dragonfly(&ugal(), 0.6),
        with(dragonfly(&ugal(), 0.3), json!({ "router": { "allocator": "sequential", "speedup": 2 } })),
        with(dragonfly(&minimal, 0.9), json!({ "router": slow, "traffic": { "pattern": "uniform" } })),
        with(
            dragonfly(&json!("olm"), 0.6),
            json!({ "traffic": { "packet_size": { "kind": "uniform", "min": 1, "max": 9 } } }),
        ),
    ];
    for document in documents {
        let mut simulation = simulation(&document, Options { threads: 1, partitions: Some(3) });
        for end in (1..600).step_by(7) {
            simulation.advance_to(end);
            simulation.fabric().audit().unwrap();
        }
        let whole = run_with(&document, Options { threads: 1, partitions: Some(1) });
        let parts = run_with(&document, Options { threads: 2, partitions: Some(3) });
        for pointer in ["/latency_mean", "/accepted_load", "/packet_hops", "/misrouted"] {
            assert_eq!(number(&whole, pointer), number(&parts, pointer), "{document}");
        }
        assert_eq!(verify(&scenario(&document)).unwrap()["proved"], true);
    }
}

/// Endpoints 0 and 1 of a line of three routers send all they can to endpoint 2. Half of the link to it is for endpoint
/// 0, whose packets fill everything behind them. With credits at the link that is an output buffer of 64 phits more,
/// for which a packet waits 128 cycles at this rate. Its injection queue is as full in both cases.
#[test]
fn packets_without_credits_fill_the_output_buffer() {
    let latency = |credit_use: &str| {
        let value = json!({
            "topology": { "kind": "mesh", "dims": [3] },
            "router": {
                "output_buffer": 64, "credit_use": credit_use,
                "links": { "default": { "latency": 1, "vcs": 1, "buffer": 40 } },
            },
            "traffic": { "load": 1.0, "packet_size": 4, "pattern": {
                "kind": "by_endpoint",
                "parts": [{ "endpoints": [0, 1], "pattern": { "kind": "hotspot", "targets": [2], "share": 1.0 } }],
            } },
            "measure": { "warmup": 4000, "cycles": 4000 },
        });
        number(&run(&value), "/network_latency_mean")
    };
    // The mean over both senders.
    let more = latency("link") - latency("grant");
    assert!((more - 64.0).abs() < 2.0, "{more}");
}

#[test]
fn what_does_not_fit_is_refused() {
    let refused = |more: Value, expected: &str| {
        let document = with(dragonfly(&json!("minimal"), 0.1), more);
        let error = phit_engine::run::run(&scenario(&document), Options::default(), &mut |_, _| true).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
    };
    let plain = |key: &str, value: Value| json!({ "router": { "decision": "input_free", (key): value } });
    refused(plain("output_buffer", json!("infinite")), "router.output_buffer = \"infinite\"");
    refused(plain("output_buffer", json!(7)), "router.output_buffer = 7");
    refused(plain("switching", json!("wormhole")), "router.switching: flits");
    refused(plain("vc_allocation", json!("stage")), "router.vc_allocation: a channel");
    refused(plain("sharing", json!({ "private": 8 })), "router.sharing: ");
    refused(plain("ejection", json!("endpoint_idle")), "router.ejection: ");
    refused(plain("credit_release", json!("output")), "router.credit_release: ");
    refused(plain("output_speedup", json!(2)), "router.output_speedup: ");
    refused(json!({ "router": { "links": { "default": { "latency": 0 } } } }), "latency = 0: expected at least 1");
    let larger = json!({ "default": { "buffer": 64 }, "endpoint": { "buffer": 64 } });
    refused(json!({ "queueing": "voqsw", "router": { "links": larger } }), "queueing.kind = \"voqsw\": ");
    refused(json!({ "routing": "qcn_switch" }), "routing.kind = \"qcn_switch\": ");
    refused(json!({ "router": { "credit_use": "grant", "switching": "wormhole" } }), "router.decision = \"front\"");
    refused(json!({ "router": { "credit_use": "grant", "allocation_delay": 1 } }), "router.decision = \"front\"");
}

/// Three endpoints of a leaf send to three other leaves all they can. Their fixed ways up are one link. Packets that
/// find more than half of its output buffer taken go up over the others.
#[test]
fn packets_of_a_tree_leave_the_fixed_way_for_a_shorter_queue() {
    let accepted = |routing: Value| {
        let to = |endpoint: u32, target: u32| {
            json!({ "endpoints": [endpoint],
                "pattern": { "kind": "hotspot", "targets": [target], "share": 1.0 } })
        };
        let value = json!({
            "topology": { "kind": "clos", "down": [4, 4], "up": [4] },
            "router": { "output_buffer": 16, "credit_use": "link", "speedup": 2,
                "links": { "default": { "latency": 2, "vcs": 1, "buffer": 16 } } },
            "routing": routing,
            "traffic": { "load": 1.0, "packet_size": 4, "pattern": {
                "kind": "by_endpoint", "parts": [to(0, 4), to(1, 8), to(2, 12)],
            } },
            "measure": { "warmup": 500, "cycles": 1000 },
        });
        assert_eq!(verify(&scenario(&value)).unwrap()["proved"], true);
        16.0 * run(&value).accepted_load()
    };
    let [fixed, never, half] = [
        json!("ftree"),
        json!({ "kind": "ftree_adaptive", "share": 1.0 }),
        json!({ "kind": "ftree_adaptive", "share": 0.5 }),
    ]
    .map(accepted);
    assert!((fixed - 1.0).abs() < 0.01 && fixed == never && half > 2.5, "{fixed} {never} {half}");
}
