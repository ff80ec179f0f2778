//! Congestion control: nothing is lost, no source is faster than its limiter, results do not depend on execution, and
//! combinations without a meaning are refused.

use crate::common::{assert_close, audit, number, run, run_with, simulation, with};
use phit_engine::run::{self, Options};
use phit_engine::scenario::Scenario;
use serde_json::{Value, json};

/// Many sources and one hot endpoint, so that packets are marked.
fn base() -> Value {
    json!({
        "topology": { "kind": "k_ary_n_tree", "arity": 3, "levels": 2 },
        "router": { "links": { "default": { "vcs": 2, "buffer": 32, "latency": 2 } } },
        "congestion": { "kind": "infiniband", "ccti_timer": 150 },
        "traffic": {
            "load": 0.8, "packet_size": 4,
            "pattern": { "kind": "hotspot", "targets": [4], "share": 0.4 },
        },
        "measure": { "warmup": 100, "cycles": 600 },
    })
}

/// Congestion control together with FBICM, which moves packets between queues and holds them back at their sources.
fn isolated(changes: Value) -> Value {
    let fbicm = json!({
        "routing": "table",
        "queueing": { "kind": "fbicm", "detection": 24, "stop": 16, "go": 8, "cfqs": 2 },
        "router": { "links": { "default": { "vcs": 1, "buffer": 64 } } },
    });
    with(fbicm, changes)
}

/// Changes of [`base`] that touch every way to mark, to notify and to send.
fn variants() -> Vec<Value> {
    let ecn =
        json!({ "kind": "ecn", "threshold": 24, "root_threshold": 40, "root_hysteresis": 4, "delay": 4, "timer": 90 });
    let wormhole = json!({ "switching": "wormhole", "vc_allocation": "stage", "flit_size": 1, "allocator": "islip" });
    let sizes = json!({ "kind": "uniform", "min": 2, "max": 9 });
    let speculative = with(wormhole.clone(), json!({ "vc_allocation": "speculative" }));
    let divided = json!({ "links": { "default": { "vcs": 1, "buffer": 108 } } });
    let sorted = json!({ "kind": "voqsw", "memory": "shared" });
    let dcqcn = json!({
        "kind": "dcqcn", "kmin": 8, "kmax": 40, "pmax": 0.5, "notification_interval": 40, "gain": 0.25,
        "alpha_timer": 60, "increase_timer": 70, "increase_phits": 40, "minimum": 0.01,
    });
    let qcn = json!({
        "kind": "qcn", "set_point": 8, "sample_base": 60, "byte_reset": 60, "time_reset": 90, "threshold": 2,
        "active_increase": 0.05, "hyper_increase": 0.1, "minimum": 0.02, "notification": 2,
    });
    let dragonfly = json!({ "kind": "dragonfly", "p": 2, "a": 4, "h": 2 });
    vec![
        json!({}),
        json!({ "congestion": qcn }),
        isolated(json!({})),
        isolated(json!({ "congestion": ecn })),
        isolated(json!({ "congestion": dcqcn, "queueing": { "marks": "isolated" } })),
        isolated(json!({ "congestion": qcn, "traffic": { "packet_size": sizes } })),
        isolated(json!({ "congestion": dcqcn, "router": { "speedup": 2, "output_buffer": 18 } })),
        json!({ "congestion": with(qcn.clone(), json!({ "weight": 0.0 })), "router": wormhole }),
        json!({
            "congestion": with(qcn, json!({ "notification": 7 })), "topology": dragonfly, "routing": "ugal_l",
            "router": { "latency": 3, "clock": "crossbar", "speedup": 2, "links": { "default": { "vcs": 4 } } },
        }),
        json!({ "congestion": dcqcn }),
        json!({ "congestion": with(dcqcn, json!({ "channels": "own" })), "router": wormhole }),
        json!({ "congestion": { "channels": "own" } }),
        json!({ "congestion": { "index_of": "service_level", "notification": 3, "marking_rate": 3 } }),
        json!({ "congestion": ecn }),
        json!({ "congestion": with(ecn.clone(), json!({ "channels": "own", "doubling": true })) }),
        json!({ "congestion": ecn, "router": wormhole }),
        json!({ "congestion": with(ecn.clone(), json!({ "channels": "own", "notification": 2 })), "router": wormhole }),
        json!({ "router": speculative, "traffic": { "packet_size": sizes } }),
        json!({ "traffic": { "packet_size": sizes, "message": { "packets": 5 } } }),
        json!({ "queueing": "voqsw", "routing": "table", "router": divided }),
        json!({ "congestion": ecn, "queueing": { "kind": "dbbm", "queues": 3 }, "router": divided }),
        json!({ "congestion": ecn, "queueing": sorted, "router": wormhole }),
        json!({
            "congestion": with(ecn.clone(), json!({ "channels": "own" })), "queueing": sorted,
            "router": with(wormhole.clone(), json!({
                "vc_eligible": "with_packet_room", "connection": "packet", "clock": "crossbar", "speedup": 2,
                "output_buffer": 8,
            })),
            "traffic": { "packet_size": sizes, "message": { "packets": 3 } },
        }),
        json!({
            "congestion": with(ecn.clone(), json!({ "channels": "own" })), "queueing": sorted,
            "router": with(wormhole.clone(), json!({
                "vc_eligible": "with_packet_room", "connection": "packet", "clock": "crossbar", "speedup": 2,
                "output_buffer": 8, "control_buffer": 3,
            })),
        }),
        json!({
            "congestion": with(ecn.clone(), json!({
                "channels": "own", "injection": "beside", "turns": "numbers", "counting": "while_delayed",
            })),
            "queueing": sorted,
            "router": with(wormhole.clone(), json!({
                "vc_eligible": "with_packet_room", "connection": "packet", "clock": "crossbar", "speedup": 2,
                "latency": 2, "output_buffer": 4, "output_room": "crossed", "cut_through": "neither",
                "control_buffer": 4, "control_crossing": "beside", "control_room": "both",
                "credit_channel": "one_per_cycle",
            })),
        }),
        json!({ "router": { "output_buffer": 18, "speedup": 2, "links": { "endpoint": { "ejection_buffer": 24 } } } }),
        json!({ "router": {
            "switching": "store_and_forward", "credit_channel": "one_per_cycle", "clock": "crossbar",
        } }),
        json!({
            "topology": dragonfly, "routing": "ugal_l",
            "router": { "links": { "default": { "vcs": 4 } } },
        }),
    ]
}

fn document(changes: &Value) -> Value {
    let mut document = base();
    for section in ["topology", "congestion"] {
        if changes[section].get("kind").is_some() {
            document[section] = json!({});
        }
    }
    with(document, changes.clone())
}

#[test]
fn nothing_is_lost_and_backlogs_are_those_of_the_queues() {
    for changes in variants() {
        audit(&document(&changes), 700);
    }
}

#[test]
fn results_are_the_same_on_any_number_of_partitions_and_threads() {
    for changes in variants() {
        let document = document(&changes);
        let found = |options| {
            let outcome = run_with(&document, options);
            (outcome.summary(), outcome.tables()["sources"].clone())
        };
        let (summary, sources) = found(Options { threads: 1, partitions: Some(1) });
        for key in ["marked", "notifications", "throttled"] {
            assert!(summary["congestion"][key].as_f64() > Some(0.0), "{changes}: {key} of {}", summary["congestion"]);
        }
        if document["queueing"]["kind"] == "fbicm" {
            let stops = summary["queueing"]["stops_sent"].as_f64();
            assert!(stops > Some(0.0), "{changes}: {}", summary["queueing"]);
        }
        for options in [Options { threads: 1, partitions: Some(4) }, Options { threads: 2, partitions: Some(3) }] {
            assert_eq!(found(options), (summary.clone(), sources.clone()), "{changes} with {options:?}");
        }
    }
}

/// Of `endpoints` endpoints each sends packets of 8 phits to the next, as many as it may.
fn ring(endpoints: u32, congestion: Value) -> Value {
    json!({
        "topology": { "kind": "single", "endpoints": endpoints },
        "router": { "links": { "default": { "vcs": 2, "buffer": 64 } } },
        "traffic": {
            "load": 1.0, "packet_size": 8, "process": "periodic", "pattern": { "kind": "shift", "offset": 1 },
        },
        "congestion": congestion,
        "measure": { "warmup": 1000, "cycles": 20_000 },
    })
}

/// Without marks, the index stays at its smallest value: entry m / 2^s leaves 1 / (1 + m / 2^s) of the link.
#[test]
fn a_source_sends_at_the_rate_of_its_table_entry() {
    let multipliers = json!([0, 1, 3, 8, 100]);
    let shifts = json!([0, 0, 1, 2, 3]);
    for (index, entry) in [0.0, 1.0, 1.5, 2.0, 12.5].into_iter().enumerate() {
        for index_of in ["queue_pair", "service_level"] {
            let congestion = json!({
                "kind": "infiniband", "threshold": 0, "ccti_min": index, "index_of": index_of,
                "multipliers": multipliers, "shifts": shifts,
            });
            let outcome = run(&ring(4, congestion));
            // A packet begins or ends outside of the measured time.
            let accepted = number(&outcome, "/accepted_load");
            assert_close(accepted, 1.0 / (1.0 + entry), 8.0 / 20_000.0, &format!("entry {index}, {index_of}"));
            assert_eq!(number(&outcome, "/congestion/marked"), 0.0);
            // Of a cycle of 8 * (1 + entry) ticks the source is held back all but 8.
            let throttled = number(&outcome, "/congestion/throttled") / (4.0 * 20_000.0);
            assert_close(throttled, entry / (1.0 + entry), 0.01, &format!("held back at entry {index}"));
        }
    }
}

/// With flows to two destinations, each has the rate of its entry; if all packets of an endpoint share the index, both
/// together have it.
#[test]
fn queue_pairs_have_rates_of_their_own() {
    for (index_of, entry, expected) in [("queue_pair", 3, 0.5), ("service_level", 3, 0.25), ("queue_pair", 1, 1.0)] {
        let congestion = json!({ "kind": "infiniband", "threshold": 0, "ccti_min": entry, "index_of": index_of });
        // Endpoint 0 sends to 1 and 2, and all others are silent.
        let trace: Vec<Value> = (0..3000).map(|n| json!([0, 0, 1 + n % 2, 8])).collect();
        let mut document = ring(4, congestion);
        document["traffic"] = json!({ "load": 0.0, "packet_size": 8, "trace": trace });
        let accepted = number(&run(&document), "/accepted_load") * 4.0;
        assert_close(accepted, expected, 0.002, &format!("{index_of} at entry {entry}"));
    }
}

/// `sources` endpoints send to endpoint 0 all that they may.
fn incast(sources: u32, congestion: Value) -> Value {
    with(
        ring(sources + 1, congestion),
        json!({ "traffic": { "pattern": { "kind": "hotspot", "targets": [0], "share": 1.0 } },
                "measure": { "warmup": 40_000, "cycles": 100_000, "endpoints": true } }),
    )
}

/// In the steady state an index falls by 1 in every period of the timer, and rises by the increase with every
/// notification. Over many periods both are equal, for any number of sources, if the index ends at no bound. Entry i is
/// i / 8, so n sources share the link at entry n - 1, which is index 8 (n - 1).
#[test]
fn notifications_and_the_timer_keep_the_balance_at_every_source() {
    for (sources, increase, timer) in [(3, 1, 100), (4, 1, 100), (6, 1, 80), (8, 1, 100), (8, 2, 200)] {
        let congestion = json!({
            "kind": "infiniband", "ccti_increase": increase, "ccti_timer": timer, "threshold": 8,
            "multipliers": (0..128).collect::<Vec<u32>>(), "shifts": vec![3; 128],
        });
        let outcome = run(&incast(sources, congestion));
        let table = outcome.tables()["sources"].clone();
        let column = |key: &str| -> Vec<f64> {
            table[key].as_array().unwrap().iter().map(|value| value.as_f64().unwrap()).collect()
        };
        let of_sources = column("endpoint").into_iter().zip(column("notifications_received"));
        let received: Vec<f64> =
            of_sources.filter(|(endpoint, _)| *endpoint > 0.0).map(|(_, received)| received).collect();
        assert_eq!(received.len(), sources as usize);
        let periods = 100_000.0 / f64::from(timer);
        for received in received {
            let risen = received * f64::from(increase);
            assert!((risen - periods).abs() < 64.0, "{sources} sources: {risen} of {periods}");
        }
        // Close to the entry at which the sources share the link, the link is nearly full.
        let loads = outcome.tables()["endpoints"]["accepted_load"].clone();
        assert!(loads[0].as_f64().unwrap() > 0.9, "{sources} sources: {loads}");
    }
}

/// With a gain of 0 alpha stays 1, and without increase every notification halves the rate of its flow. Three sources
/// are notified until they send a quarter of their link's rate each, and the hot link is not full any more.
#[test]
fn a_rate_falls_by_halves_until_nothing_is_marked() {
    let congestion = json!({
        "kind": "dcqcn", "kmin": 16, "kmax": 17, "notification_interval": 5000, "gain": 0.0,
        "increase_timer": 100_000_000, "increase_phits": 4_000_000_000_u32,
    });
    let outcome = run(&incast(3, congestion));
    let table = outcome.tables()["endpoints"]["injected_load"].clone();
    for endpoint in 1..4 {
        let load = table[endpoint].as_f64().unwrap();
        assert_close(load, 0.25, 8.0 / 100_000.0, &format!("endpoint {endpoint}"));
    }
    assert_eq!(number(&outcome, "/congestion/notifications"), 0.0);
}

/// Without increase a rate falls with every notification, until the backlog stays at the set point. Three sources then
/// send no more than the hot link carries, and nobody is notified any more.
#[test]
fn rates_fall_until_the_backlog_is_below_the_set_point() {
    let congestion = json!({
        "kind": "qcn", "set_point": 48, "sample_base": 400, "byte_reset": 4_000_000_000_u32, "time_reset": 100_000_000,
    });
    let outcome = run(&incast(3, congestion));
    let table = outcome.tables()["endpoints"]["injected_load"].clone();
    let loads: Vec<f64> = (1..4).map(|endpoint| table[endpoint].as_f64().unwrap()).collect();
    let sum = loads.iter().sum::<f64>();
    // Rates fall until the backlog has gone, and not only until they fit: at most by half again.
    assert!((0.25..1.0).contains(&sum), "{loads:?}");
    assert_eq!(number(&outcome, "/congestion/notifications"), 0.0);
}

/// Four sources keep a hot link busy near the set point. Each notification goes over one link, to one of them.
#[test]
fn reaction_points_keep_a_link_busy_and_every_notification_reaches_a_source() {
    let congestion = json!({
        "kind": "qcn", "set_point": 48, "sample_base": 400, "byte_reset": 400, "time_reset": 1600,
        "active_increase": 0.005, "hyper_increase": 0.02, "minimum": 0.01, "notification": 8,
    });
    let outcome = run(&incast(4, congestion));
    let loads = outcome.tables()["endpoints"].clone();
    assert!(loads["accepted_load"][0].as_f64().unwrap() > 0.95, "{loads}");
    for endpoint in 1..5 {
        let load = loads["injected_load"][endpoint].as_f64().unwrap();
        assert!((0.05..0.7).contains(&load), "endpoint {endpoint}: {load}");
    }
    let sent = number(&outcome, "/congestion/notifications");
    assert!(sent > 100.0);
    // Some are on their way when the measured time begins, and when it ends.
    assert_close(number(&outcome, "/control_messages"), sent, 4.0, "frames on links");
    let received = outcome.tables()["sources"]["notifications_received"].clone();
    let received: f64 = received.as_array().unwrap().iter().filter_map(Value::as_f64).sum();
    assert_close(received, sent, 4.0, "received");
}

/// The delay between the packets of a flow is never less than its steps: with the largest delay from the start on, a
/// source sends a packet of P phits in P - 1 + steps * delay cycles.
#[test]
fn a_source_sends_one_packet_in_its_delay() {
    // One notification sets the largest delay, which does not decay in the measured time.
    let congestion = json!({
        "kind": "ecn", "threshold": 9, "root_threshold": 64, "increase": 20, "limit": 20, "delay": 16,
        "timer": 1_000_000,
    });
    let outcome = run(&incast(3, congestion));
    let table = outcome.tables()["endpoints"]["injected_load"].clone();
    for endpoint in 1..4 {
        let load = table[endpoint].as_f64().unwrap();
        assert_close(load, 8.0 / (7.0 + 20.0 * 16.0), 8.0 / 100_000.0, &format!("endpoint {endpoint}"));
    }
}

/// Four sources share the link to the next router, whose buffer stays empty. So this link is the root of the
/// congestion. The output buffer in front of the link is full.
#[test]
fn a_full_output_buffer_does_not_hide_the_root() {
    let found = run(&json!({
        "topology": { "kind": "mesh", "dims": [2], "endpoints_per_router": 4 },
        "router": {
            "switching": "wormhole", "flit_size": 1, "vc_allocation": "stage", "output_buffer": 64,
            "links": { "default": { "vcs": 1, "buffer": 256, "latency": 5 } },
        },
        "congestion": { "kind": "ecn", "threshold": 100, "root_threshold": 32, "root_hysteresis": 0 },
        "traffic": {
            "load": 0.9, "packet_size": 8,
            "pattern": {
                "kind": "by_endpoint",
                "parts": [{ "endpoints": [0, 1, 2, 3], "pattern": {
                    "kind": "hotspot", "targets": [4, 5, 6, 7], "share": 1.0,
                } }],
            },
        },
        "measure": { "warmup": 0, "cycles": 3000 },
    }));
    assert!(number(&found, "/congestion/marked") > 10.0);
}

#[test]
fn notifications_of_their_own_channels_are_proved_free_of_deadlock() {
    for (vcs, proved) in [(4, true), (2, false)] {
        let document = json!({
            "topology": { "kind": "torus", "dims": [5, 5] },
            "router": { "links": { "default": { "vcs": vcs } } },
            "congestion": { "kind": "ecn", "channels": "own" },
            "traffic": { "load": 0.1 },
        });
        let report = run::verify(&Scenario::from_value(&document).unwrap()).unwrap();
        assert_eq!(report["proved"], proved, "{report}");
        assert_eq!(report["classes"], json!({ "data": proved, "notifications": proved }));
    }
}

#[test]
fn sources_of_victims_are_not_told_if_isolated_packets_alone_are_marked() {
    // Endpoints 0 and 1 send to endpoint 4. Their neighbour 2 sends over the same link upwards, to endpoint 8.
    let told = |marks: &str, congestion: Value| {
        let to = |target: u32| json!({ "kind": "hotspot", "targets": [target], "share": 1.0 });
        let document = with(
            isolated(json!({ "congestion": congestion })),
            json!({
                "topology": { "kind": "k_ary_n_tree", "arity": 4, "levels": 2 },
                "queueing": { "marks": marks },
                "traffic": {
                    "load": 0.4, "packet_size": 4,
                    "pattern": { "kind": "by_endpoint", "parts": [
                        { "endpoints": [0, 1, 8, 9, 12], "pattern": to(4) },
                        { "endpoints": [2], "pattern": to(8) },
                    ] },
                },
                "measure": { "warmup": 0, "cycles": 3000 },
            }),
        );
        let sources = run(&document).tables()["sources"].clone();
        let column = |name: &str| sources[name].as_array().unwrap().iter().map(|cell| cell.as_u64().unwrap());
        let received = column("endpoint").zip(column("notifications_received").collect::<Vec<_>>());
        let sum = |of: &dyn Fn(u64) -> bool| received.clone().filter(|(e, _)| of(*e)).map(|(_, n)| n).sum::<u64>();
        (sum(&|endpoint| endpoint == 2), sum(&|endpoint| endpoint != 2))
    };
    let dcqcn = json!({
        "kind": "dcqcn", "kmin": 4, "kmax": 12, "pmax": 1.0, "notification_interval": 20, "alpha_timer": 100,
        "increase_timer": 100, "increase_phits": 1000, "additive": 0.05,
    });
    for congestion in [dcqcn, json!({ "kind": "infiniband", "ccti_timer": 150 })] {
        let (victim, hot) = told("all", congestion.clone());
        assert!(victim > 0 && hot > 0, "all: {victim} and {hot} with {congestion}");
        let (victim, hot) = told("isolated", congestion.clone());
        assert!(victim == 0 && hot > 0, "isolated: {victim} and {hot} with {congestion}");
    }
}

#[test]
fn no_control_changes_nothing() {
    let without = |congestion: Option<Value>| {
        let mut document = base();
        document.as_object_mut().unwrap().remove("congestion");
        if let Some(congestion) = congestion {
            document["congestion"] = congestion;
        }
        let outcome = run(&document);
        (outcome.summary(), outcome.scenario().to_value())
    };
    assert_eq!(without(None), without(Some(json!("none"))));
    assert_eq!(without(None).0["congestion"], Value::Null);
}

/// An all-reduce beside an incast, with every control: all messages arrive, in the same ticks however the run is
/// executed, and the control acts.
#[test]
fn programs_end_under_every_control_on_any_number_of_partitions() {
    let controls = [
        json!({ "kind": "infiniband", "ccti_timer": 150 }),
        json!({ "kind": "infiniband", "ccti_timer": 150, "channels": "own", "index_of": "service_level" }),
        json!({ "kind": "ecn", "threshold": 24, "root_threshold": 40, "root_hysteresis": 4, "delay": 4, "timer": 90 }),
        json!({ "kind": "dcqcn", "kmin": 8, "kmax": 40, "pmax": 0.5, "notification_interval": 40, "gain": 0.25,
                "alpha_timer": 60, "increase_timer": 70, "increase_phits": 40, "minimum": 0.01 }),
        json!({ "kind": "qcn", "set_point": 8, "sample_base": 60, "byte_reset": 60, "time_reset": 90, "threshold": 2,
                "active_increase": 0.05, "hyper_increase": 0.1, "minimum": 0.02, "notification": 2 }),
    ];
    for control in controls {
        let document = json!({
            "units": { "phit": "8 B" },
            "topology": { "kind": "k_ary_n_tree", "arity": 4, "levels": 2 },
            "router": { "links": { "default": { "vcs": 2, "buffer": 32, "latency": 2 } } },
            "congestion": control,
            "workload": { "kind": "jobs", "packet_size": 4, "placement": "random", "job": [
                { "name": "victim", "program": {
                    "kind": "collective", "collective": "all_reduce", "bytes": 2000, "ranks": 6, "times": 2 } },
                { "name": "aggressor", "program": { "kind": "incast", "ranks": 8, "bytes": 3000 } },
            ] },
        });
        let found = |options| {
            let outcome = run_with(&document, options);
            (outcome.summary(), outcome.tables()["sources"].clone())
        };
        let alone = found(Options { threads: 1, partitions: Some(1) });
        for key in ["marked", "notifications", "throttled"] {
            assert!(alone.0["congestion"][key].as_f64() > Some(0.0), "{control}: {key} of {}", alone.0["congestion"]);
        }
        // Data of 8 bytes a phit: the incast's 7 * 3000 bytes, and an all-reduce of 6 ranks twice, are all delivered.
        assert!(alone.0["completion"].as_f64() > Some(7.0 * 375.0), "{control}: {}", alone.0["completion"]);
        for options in [Options { threads: 1, partitions: Some(4) }, Options { threads: 2, partitions: Some(3) }] {
            assert_eq!(found(options), alone, "{control} with {options:?}");
        }
        let mut simulation = simulation(&document, Options { threads: 1, partitions: Some(3) });
        for end in (1..=3000).step_by(29) {
            simulation.advance_to(end);
            simulation.fabric().audit().unwrap_or_else(|wrong| panic!("{control}: {wrong}"));
        }
    }
}

#[test]
fn what_cannot_be_is_refused() {
    let cases = [
        (
            json!({ "congestion": { "threshold": 16 } }),
            "congestion.threshold = 16: expected a whole number, at most 15",
        ),
        (json!({ "congestion": { "ccti_min": 9, "ccti_limit": 9 } }), "congestion.ccti_min = 9: expected less than"),
        (json!({ "congestion": { "ccti_timer": 0 } }), "congestion.ccti_timer = 0"),
        (
            json!({ "congestion": { "multipliers": [1, 20_000] } }),
            "congestion.multipliers = 20000: expected at most 16383",
        ),
        (
            json!({ "congestion": { "multipliers": [1, 2], "shifts": [4, 0] } }),
            "congestion.shifts = 4: expected at most 3",
        ),
        (json!({ "congestion": { "shifts": [0] } }), "congestion.shifts = 1 shifts: expected one for each of the 0"),
        (json!({ "congestion": { "notification": 5 } }), "congestion.notification = 5: expected at most 4 phits"),
        (json!({ "congestion": { "marking": 1 } }), "did you mean \"marking_rate\"?"),
        (
            json!({ "congestion": { "kind": "ecn", "threshold": 9, "hysteresis": 9 } }),
            "congestion.hysteresis = 9: expected less than `threshold` = 9",
        ),
        (
            json!({ "congestion": { "kind": "ecn", "root_threshold": 8 } }),
            "congestion.root_hysteresis = 8: expected less than `root_threshold` = 8",
        ),
        (
            json!({ "congestion": { "kind": "dcqcn", "kmax": 600 } }),
            "congestion.kmax = 600: expected more than `kmin` = 625",
        ),
        (json!({ "congestion": { "kind": "dcqcn", "pmax": 1.5 } }), "congestion.pmax = 1.5"),
        (json!({ "congestion": { "kind": "dcqcn", "minimum": 0.0 } }), "congestion.minimum = 0"),
        (json!({ "congestion": { "kind": "qcn", "minimum": 0.0 } }), "congestion.minimum = 0"),
        (json!({ "congestion": { "kind": "qcn", "set_point": 0 } }), "congestion.set_point = 0"),
        (json!({ "congestion": { "kind": "infinband" } }), "did you mean \"infiniband\"?"),
        (
            json!({ "congestion": { "channels": "own" }, "router": { "links": { "default": { "vcs": 3 } } } }),
            "vcs = 3: expected an even number: half of the virtual channels are for notifications",
        ),
        (
            json!({ "router": { "admittance": "per_destination" } }),
            "router.admittance = \"per_destination\": admittance queues leave no place",
        ),
        (json!({ "traffic": { "requests": {} } }), "traffic.requests: replies have source queues of their own"),
        (json!({ "traffic": { "classes": [{}, {}] } }), "traffic.classes: classes have source queues of their own"),
        (json!({ "router": { "kind": "ideal" } }), "router.kind = \"ideal\": this router's endpoints"),
        (
            json!({ "congestion": { "channels": "own" }, "queueing": "dbbm" }),
            "queueing.kind = \"dbbm\": endpoints choose the virtual channel of notifications",
        ),
        (
            isolated(json!({
                "congestion": { "kind": "none" }, "queueing": { "marks": "isolated" },
                "router": { "admittance": "per_destination" },
            })),
            "queueing.marks = \"isolated\": decides of which packets a congestion control tells sources",
        ),
    ];
    for (changes, expected) in cases {
        let mut document = document(&changes);
        if changes["router"]["kind"] == "ideal" {
            document["router"] = json!({ "kind": "ideal" });
        }
        let error = Scenario::from_value(&document)
            .and_then(|scenario| run::prepare(&scenario).map(drop))
            .expect_err(&format!("{changes} is accepted"))
            .to_string();
        assert!(error.contains(expected), "{changes}: {error}\nand not {expected}");
    }
}
