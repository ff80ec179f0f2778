//! SMSRP and LHRP: packets that are dropped, the shares of a hot endpoint, and networks without congestion.
//!
//! Claims of the paper (Jiang, Dennison and Dally, SC 2015) are held here on small networks: reservations cost nothing
//! without congestion, a hot endpoint is used up, and its packets do not hold up others.

use crate::common::{assert_close, number, run, with};
use phit_engine::result::Outcome;
use serde_json::{Value, json};

const FLITS: u32 = 8;

/// A network of routers of `arity` ports below, whose protocol is `congestion`.
fn network(arity: u32, levels: u32, congestion: &Value) -> Value {
    let vcs = match congestion["kind"].as_str() {
        Some("lhrp") => 3,
        Some("smsrp") => 5,
        _ => 1,
    };
    let topology = match levels {
        1 => json!({ "kind": "single", "endpoints": arity }),
        _ => json!({ "kind": "k_ary_n_tree", "arity": arity, "levels": levels }),
    };
    json!({
        "topology": topology,
        "router": {
            "switching": "wormhole", "vc_allocation": "stage", "vc_eligible": "with_packet_room",
            "allocator": { "kind": "separable_input_first", "priority": "class" },
            "links": { "default": { "vcs": vcs, "buffer": 64 } },
        },
        "congestion": congestion,
        "traffic": { "packet_size": FLITS },
        "measure": { "endpoints": true },
    })
}

fn smsrp() -> Value {
    json!({ "kind": "smsrp", "time_to_live": 12, "estimate": false })
}

fn lhrp() -> Value {
    json!({ "kind": "lhrp", "threshold": 20, "overhead": 5.0 })
}

/// A crossbar and output buffers that keep links busy.
fn fast() -> Value {
    json!({ "router": { "clock": "crossbar", "speedup": 2, "output_buffer": 32, "connection": "packet" } })
}

/// `sources` endpoints of one switch of eight send a packet to endpoint 7 in one cycle.
fn burst(congestion: &Value, sources: u32) -> Outcome {
    let trace: Vec<Value> = (0..sources).map(|source| json!([0, source, 7, FLITS])).collect();
    run(&with(
        network(8, 1, congestion),
        json!({
            "router": { "links": { "default": { "latency": 10 } } },
            "traffic": { "load": 0.0, "trace": trace },
            "measure": { "warmup": 0, "cycles": 1000, "histogram": true },
        }),
    ))
}

/// With a time to live of 12 cycles the packets survive that wait for 0 and for 8 cycles, the time of one packet. The
/// others have waited for 16 cycles and more. Each of them is reserved once.
#[test]
fn smsrp_drops_packets_that_wait_too_long() {
    for sources in 2..=7 {
        let outcome = burst(&smsrp(), sources);
        let summary = outcome.summary();
        let dropped = sources.saturating_sub(2);
        for (key, expected) in [
            ("speculative", sources),
            ("dropped", dropped),
            ("reservations", dropped),
            ("grants", dropped),
            ("acknowledgements", sources - dropped),
        ] {
            assert_eq!(summary["congestion"][key], json!(expected), "{key} of {sources} sources");
        }
        assert_eq!(summary["packets"], json!(sources));
    }
}

/// All heads arrive in one cycle, with 8 phits each. The router drops packets until no more than 20 phits are left: it
/// keeps two. A dropped packet takes 5 times 8 cycles of the schedule. The first one is sent again as soon as its
/// refusal has come, after its time. The others come exactly at their times, 40 cycles apart.
#[test]
fn lhrp_drops_packets_beyond_the_threshold() {
    for sources in 2..=7 {
        let outcome = burst(&lhrp(), sources);
        let summary = outcome.summary();
        let dropped = sources.saturating_sub(2);
        for (key, expected) in [
            ("speculative", sources),
            ("dropped", dropped),
            ("reservations", 0),
            ("grants", 0),
            ("acknowledgements", sources - dropped),
        ] {
            assert_eq!(summary["congestion"][key], json!(expected), "{key} of {sources} sources");
        }
        assert_eq!(summary["packets"], json!(sources));
        let latencies = &outcome.tables()["histogram"]["latency"];
        let latencies: Vec<u64> = latencies.as_array().into_iter().flatten().filter_map(Value::as_u64).collect();
        assert_eq!(latencies.len(), sources as usize, "{latencies:?}");
        let in_time = dropped.saturating_sub(1) as usize;
        let gaps = latencies[latencies.len() - in_time..].windows(2).map(|two| two[1] - two[0]);
        assert!(gaps.clone().all(|gap| gap == 40), "{latencies:?}");
    }
}

/// Phits of data that endpoint `endpoint` accepts in a cycle, in `cycles` cycles.
fn data(outcome: &Outcome, endpoint: usize, cycles: f64) -> f64 {
    let tables = outcome.tables();
    let column = |table: &str, key: &str| -> Vec<f64> {
        let column = tables.get(table).and_then(|table| table[key].as_array());
        column.into_iter().flatten().filter_map(Value::as_f64).collect()
    };
    match column("sources", "data_received") {
        received if received.is_empty() => column("endpoints", "accepted_load")[endpoint],
        received => {
            let place = column("sources", "endpoint").iter().position(|one| *one == endpoint as f64);
            place.map_or(0.0, |place| received[place] / cycles)
        }
    }
}

/// Two sources share a link nearly equally. With LHRP only data take the link to the destination. With SMSRP
/// reservations take it, too, a phit for each packet that is dropped.
#[test]
fn two_sources_share_a_destination() {
    for congestion in [json!({ "kind": "smsrp", "time_to_live": 60 }), json!({ "kind": "lhrp", "threshold": 40 })] {
        let document = with(
            with(network(4, 1, &congestion), fast()),
            json!({
                "traffic": { "load": 1.0, "pattern": {
                    "kind": "by_endpoint",
                    "parts": [{ "endpoints": [0, 1], "pattern": { "kind": "hotspot", "targets": [3], "share": 1.0 } }],
                } },
                "measure": {
                    "warmup": 2000, "cycles": 20_000,
                    "flows": [{ "name": "0", "sources": [0] }, { "name": "1", "sources": [1] }],
                },
            }),
        );
        let outcome = run(&document);
        let control = number(&outcome, "/congestion/reservations") / 20_000.0;
        let kind = &congestion["kind"];
        let load = data(&outcome, 3, 20_000.0);
        assert_close(load + control, 1.0, 0.001, &format!("{kind}: load of the link, {control} of it reservations"));
        assert_eq!(control > 0.0, kind == "smsrp");
        let rates = &outcome.tables()["flows"]["accepted_rate"];
        let rates: Vec<f64> = rates.as_array().into_iter().flatten().filter_map(Value::as_f64).collect();
        assert_close(rates[0], 0.5 * load, 0.06, &format!("{kind}: rates {rates:?}"));
    }
}

/// Uniform traffic far from saturation: nothing is dropped or reserved, and all is accepted, as without a protocol.
#[test]
fn nothing_is_reserved_without_congestion() {
    let changes = json!({
        "traffic": { "load": 0.4, "pattern": "uniform" }, "measure": { "warmup": 1000, "cycles": 10_000 },
    });
    let without = number(&run(&with(network(4, 2, &json!({ "kind": "none" })), changes.clone())), "/accepted_load");
    for kind in ["smsrp", "lhrp"] {
        let outcome = run(&with(network(4, 2, &json!({ "kind": kind })), changes.clone()));
        let congestion = &outcome.summary()["congestion"];
        assert_eq!([&congestion["reservations"], &congestion["dropped"]], [&json!(0), &json!(0)], "{kind}");
        let accepted = (0..16).map(|endpoint| data(&outcome, endpoint, 10_000.0)).sum::<f64>() / 16.0;
        assert_close(accepted, without, 0.005, &format!("{kind}: accepted load"));
    }
}

/// Six of 16 endpoints send to endpoint 5, 2.4 times as much as its link carries. All others send to any endpoint but
/// those seven. The hot link is used up, and the others keep their load. Without a protocol they lose much of it.
#[test]
fn victims_keep_their_load_beside_a_hot_spot() {
    let hot = [0, 3, 6, 9, 12, 15];
    let others = [1, 2, 4, 7, 8, 10, 11, 13, 14];
    let changes = json!({
        "traffic": { "load": 0.4, "pattern": {
            "kind": "by_endpoint", "background": { "kind": "hotspot", "targets": others, "share": 1.0 },
            "parts": [{ "endpoints": hot, "pattern": { "kind": "hotspot", "targets": [5], "share": 1.0 } }],
        } },
        "measure": { "warmup": 4000, "cycles": 10_000 },
    });
    let victims = |congestion: &Value| {
        let outcome = run(&with(with(network(4, 2, congestion), fast()), changes.clone()));
        let rest = others.iter().map(|endpoint| data(&outcome, *endpoint, 10_000.0)).sum();
        let sources = outcome.tables();
        let load = &sources["endpoints"]["accepted_load"][5];
        (data(&outcome, 5, 10_000.0), load.as_f64().unwrap_or(0.0), rest)
    };
    // With this seed.
    let offered = 0.966 * 0.4 * 10.0;
    let (_, _, rest): (f64, f64, f64) = victims(&json!({ "kind": "none" }));
    assert!(rest < 0.75 * offered, "without a protocol {rest}");
    for (congestion, least) in [
        (json!({ "kind": "smsrp", "time_to_live": 100 }), 0.84),
        (json!({ "kind": "lhrp", "threshold": 40 }), 0.95),
        (json!({ "kind": "lhrp", "threshold": 100 }), 0.95),
    ] {
        let (hot, link, rest) = victims(&congestion);
        assert_close(rest, offered, 0.01 * offered, &format!("{congestion}: load of the others"));
        // Endpoint 5 also receives acknowledgements of its own packets, and reservations.
        assert_close(link, 1.0, 0.001, &format!("{congestion}: load of the hot link"));
        assert!(hot > least, "{congestion}: data on the hot link {hot}");
    }
}
