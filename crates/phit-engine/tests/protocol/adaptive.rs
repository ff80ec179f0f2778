//! Adaptive mechanisms: what partitions and the ways of asking a mechanism must not change, proofs, and what probes
//! see.

use crate::common::adaptive::{dragonfly, grid, grids, mechanisms};
use crate::common::{run_with, scenario};
use phit_engine::result::Outcome;
use phit_engine::routing::RoutingKind;
use phit_engine::run::{Options, Simulation, prepare, verify};
use phit_engine::scenario::Scenario;
use phit_engine::topology::TopologyKind;
use serde_json::{Value, json};

fn run(value: &Value, threads: usize, partitions: usize) -> Outcome {
    run_with(value, Options { threads, partitions: Some(partitions) })
}

#[track_caller]
fn assert_same(one: &Outcome, other: &Outcome, what: &str) {
    assert_eq!(one.collector().counters, other.collector().counters, "{what}");
}

fn packets(outcome: &Outcome) -> u64 {
    outcome.collector().counters.packets.recorded
}

#[test]
fn deciding_again_on_a_change_is_deciding_again_in_every_cycle() {
    for (index, routing) in mechanisms().iter().enumerate() {
        for (load, offset) in [(0.2, Some(1)), (0.6, None), (0.9, Some(2))] {
            let groups = if index % 3 == 0 { 9 } else { 5 };
            let mut value = dragonfly(routing, groups, load, offset, index as u64);
            let on_change = run(&value, 1, 1);
            assert!(packets(&on_change) > 500, "{routing} {load}: {}", packets(&on_change));
            // Threads know nothing of the mechanism, and wait more than they work.
            let threads = if load < 0.5 { 2 } else { 1 };
            assert_same(&run(&value, threads, 3), &on_change, &format!("{routing} {load} {offset:?}: partitions"));
            value["router"]["redecision"] = json!("every_cycle");
            assert_same(&run(&value, 1, 2), &on_change, &format!("{routing} {load} {offset:?}: every cycle"));
        }
    }
}

/// Heads that ask for channels of several outputs sleep while none of these is free.
#[test]
fn asking_for_several_outputs_on_a_change_is_asking_in_every_cycle() {
    let meshes = [
        json!({ "kind": "mesh", "dims": [4, 3], "endpoints_per_router": 2 }),
        json!({ "kind": "hyperx", "dims": [3, 3], "endpoints_per_router": 2 }),
    ];
    for (index, topology) in meshes.iter().enumerate() {
        for router in [
            json!({ "vc_allocator": "islip" }),
            json!({ "switching": "wormhole", "flit_size": 3, "vc_allocator": "islip", "vc_reuse": "empty" }),
            json!({ "vc_allocator": "islip", "vc_eligible": "with_room" }),
            json!({ "switching": "wormhole", "flit_size": 2, "vc_allocator": "islip" }),
        ] {
            for load in [0.3, 1.0] {
                let mut value = json!({
                    "seed": index, "topology": topology, "routing": "minimal_adaptive",
                    "router": { "output_buffer": 16, "links": { "default": { "buffer": 16, "vcs": 3, "latency": 2 } } },
                    "traffic": { "load": load, "packet_size": 6 }, "measure": { "warmup": 0, "cycles": 500 },
                });
                for (key, option) in router.as_object().unwrap() {
                    value["router"][key] = option.clone();
                }
                let on_change = run(&value, 1, 1);
                assert!(packets(&on_change) > 100, "{value}: {}", packets(&on_change));
                assert_same(&run(&value, 1, 3), &on_change, &format!("{value}: partitions"));
                value["router"]["redecision"] = json!("every_cycle");
                assert_same(&run(&value, 1, 1), &on_change, &format!("{value}: every cycle"));
            }
        }
    }
}

#[test]
fn every_mechanism_is_proved_free_of_deadlock() {
    for routing in mechanisms() {
        for groups in [3, 6, 9] {
            let report = verify(&scenario(&dragonfly(&routing, groups, 0.1, None, 1))).unwrap();
            assert_eq!(report["proved"], true, "{routing} with {groups} groups: {report}");
            let mut wormhole = dragonfly(&routing, groups, 0.1, None, 1);
            wormhole["router"]["switching"] = json!("wormhole");
            let report = verify(&scenario(&wormhole)).unwrap();
            let escapes = report["argument"].as_str().unwrap().contains("whole packets");
            assert_eq!(report["proved"], if escapes { Value::Null } else { json!(true) }, "{routing}: {report}");
        }
    }
}

/// With six groups of four routers the last router of each has no global link.
#[test]
fn no_packet_is_sent_where_no_link_leads_on() {
    for (index, routing) in mechanisms().iter().enumerate() {
        let mut value = dragonfly(routing, 6, 0.9, Some(1 + index as u32 % 5), index as u64);
        value["traffic"]["message"] = json!({ "packets": 1, "count": 30 });
        value["measure"] = json!({ "warmup": 0, "cycles": 400, "count": "generated", "max_drain": 20_000 });
        let outcome = run(&value, 1, 2);
        let flow = &outcome.collector().counters.flow;
        assert!(flow.generated_packets > 1000, "{routing}: {}", flow.generated_packets);
        assert_eq!(flow.generated_delivered, flow.generated_packets, "{routing}");
    }
}

/// A small network of every kind of topology that has links between routers.
fn networks() -> Vec<Value> {
    vec![
        json!({ "kind": "mesh", "dims": [3, 3] }),
        json!({ "kind": "torus", "dims": [4, 4] }),
        json!({ "kind": "hyperx", "dims": [3, 3] }),
        json!({ "kind": "clos", "down": [2, 2, 2], "up": [2, 2] }),
        json!({ "kind": "k_ary_n_tree", "arity": 2, "levels": 3 }),
        json!({ "kind": "multistage", "arity": 2, "stages": 3 }),
        json!({ "kind": "dragonfly", "p": 1, "a": 2, "h": 1 }),
        json!({ "kind": "cascade", "rows": 2, "columns": 3, "groups": 2, "global_ports": 1 }),
        json!({ "kind": "graph", "routers": 5, "links": [[0, 1], [1, 2], [2, 3], [3, 4], [4, 0]] }),
        json!({ "kind": "slim_fly", "q": 3 }),
        json!({ "kind": "dragonfly_plus", "leaves": 2, "spines": 2, "groups": 3 }),
    ]
}

#[test]
fn no_network_takes_a_mechanism_whose_packets_can_wait_in_a_circle() {
    let mut proved = Vec::new();
    for topology in networks() {
        let graph = TopologyKind::from_value("topology", &topology).unwrap().build().unwrap();
        for kind in RoutingKind::KINDS {
            let Ok(routing) = RoutingKind::from_value("routing", &json!(kind)) else { continue };
            // As many channels as it asks for, and one more.
            let needed = routing.params().vcs_needed(&*graph).0.into_iter().max().unwrap_or(1);
            for vcs in [needed, needed + 1, 2 * needed + 1] {
                let value = json!({
                    "topology": topology, "routing": kind,
                    "router": { "links": { "default": { "vcs": vcs, "buffer": 64 } } },
                    "traffic": { "load": 0.1, "packet_size": 1 }, "measure": { "warmup": 1, "cycles": 10 },
                });
                let Ok(report) = verify(&scenario(&value)) else { continue };
                // Balanced shortest routes in one channel are what OpenSM's engine of that name makes: `phit verify`
                // says of each network whether they are free of deadlock.
                if *kind == "minhop" && report["proved"] == false {
                    continue;
                }
                assert_ne!(report["proved"], false, "{topology} {kind} with {vcs} channels: {report}");
                proved.push((topology["kind"].clone(), *kind));
            }
        }
    }
    for (topology, kind) in [
        ("torus", "ugal_g"),
        ("clos", "ugal_l"),
        ("hyperx", "tpr"),
        ("slim_fly", "ugal_l"),
        ("torus", "contention_graph"),
    ] {
        assert!(proved.contains(&(json!(topology), kind)), "{topology} no longer takes {kind}: {proved:?}");
    }
}

#[test]
fn contention_counters_work_on_grids() {
    for mut value in grids() {
        let report = verify(&scenario(&value)).unwrap();
        assert_eq!(report["proved"], true, "{value}: {report}");
        let on_change = run(&value, 1, 1);
        assert_same(&run(&value, 2, 3), &on_change, &format!("{value}: partitions"));
        value["router"]["redecision"] = json!("every_cycle");
        assert_same(&run(&value, 1, 2), &on_change, &format!("{value}: every cycle"));
    }
    let refused = scenario(&grid("torus", &[4, 4], "nonminimal", 0.1));
    let error = verify(&refused).unwrap_err().to_string();
    assert!(error.contains("alternatives = \"nonminimal\": needs topology.kind = \"hyperx\""), "{error}");
}

#[test]
fn contention_counters_beat_dimension_order_where_one_link_serves_a_line() {
    // Tornado on a HyperX sends all endpoints of a router to the next but one: one link of the line, and three other
    // ways.
    let accepted = |routing: Value| {
        let mut value = grid("hyperx", &[5], "nonminimal", 0.9);
        value["routing"] = routing;
        run(&value, 1, 1).collector().counters.packets.recorded_phits
    };
    let dimension_order = accepted(json!("dimension_order"));
    let counters = accepted(json!({ "kind": "contention_grid", "threshold": 2, "alternatives": "nonminimal" }));
    assert!(counters as f64 > 1.5 * dimension_order as f64, "{counters} against {dimension_order}");
}

#[test]
fn updates_on_the_links_take_their_share() {
    // 8 links of a group, 4 bits each: one phit of 40 bits to each of 3 neighbours every 50 cycles.
    let routing = json!({ "kind": "ectn", "updates": "full", "period": 50, "phit_bits": 40 });
    let scenario = scenario(&dragonfly(&routing, 9, 0.3, None, 1));
    let outcome = Simulation::new(&scenario, Options::default()).unwrap().run(&mut |_, _| true).unwrap();
    let summary = outcome.summary();
    assert_eq!(summary["control_messages"], 36 * 3 * 1200 / 50);
    assert_eq!(summary["control_utilisation"]["local"], 1.0 / 50.0);
    assert_eq!(summary["control_utilisation"]["global"], 0.0);
}

/// Of minimal packets to the next group, one link of eight endpoints takes an eighth.
#[test]
fn notifications_lead_packets_around_congested_links() {
    let summary = |routing: &Value, load, offset| {
        let mut value = dragonfly(routing, 9, load, offset, 1);
        value["measure"] = json!({ "warmup": 2000, "cycles": 1500 });
        Value::Object(run(&value, 1, 2).summary())
    };
    let number = |summary: &Value, key: &str| summary[key].as_f64().unwrap();
    let minimal = summary(&json!("minimal"), 0.3, Some(1));
    assert!(number(&minimal, "accepted_load") < 0.126, "{minimal}");
    for (point, set_point, own) in [("input", 10, true), ("input_and_link", 20, true), ("output", 16, false)] {
        let routing = json!({ "kind": "qcn_switch", "point": point, "set_point": set_point, "own": own });
        let adversarial = summary(&routing, 0.3, Some(1));
        assert!(number(&adversarial, "accepted_load") > 0.25, "{point}: {adversarial}");
        assert!(number(&adversarial, "misrouted") > 0.5, "{point}: {adversarial}");
        let calm = summary(&routing, 0.02, None);
        assert!(number(&calm, "misrouted") < 0.1, "{point}: {calm}");
        assert!(number(&calm, "control_messages") < 10.0, "{point}: {calm}");
    }
    let mut unlimited = dragonfly(&json!({ "kind": "qcn_switch", "point": "output" }), 9, 0.3, None, 1);
    unlimited["router"]["output_buffer"] = json!("infinite");
    let refused = Scenario::from_value(&unlimited).and_then(|scenario| prepare(&scenario).map(|_| ())).unwrap_err();
    assert!(refused.to_string().contains("router.output_buffer"), "{refused}");
    // A link in use has a queue, even if no packet waits.
    let routing = json!({ "kind": "qcn_switch", "point": "input_and_link", "set_point": 4 });
    assert!(number(&summary(&routing, 0.02, None), "control_messages") > 50.0);
}

#[test]
fn probes_see_the_same_whatever_the_partitions() {
    let routing = json!({ "kind": "ectn", "threshold": 3, "combined_threshold": 3 });
    let mut value = dragonfly(&routing, 9, 0.9, None, 7);
    value["measure"] = json!({
        "warmup": 150, "cycles": 600,
        "probes": [{ "kind": "counters", "every": 50 }, { "kind": "buffers", "every": 100 }],
    });
    let scenario = scenario(&value);
    let outcome = |partitions| {
        let options = Options { threads: 1, partitions: Some(partitions) };
        Simulation::new(&scenario, options).unwrap().run(&mut |_, _| true).unwrap()
    };
    let (one, three) = (outcome(1), outcome(3));
    assert_eq!(one.tables()["probes"], three.tables()["probes"]);
    let table = &one.tables()["probes"];
    let column = |name: &str| table[name].as_array().unwrap().clone();
    // 12 looks of three counters from cycle 150 to 700, 6 looks from 200 to 700 at 3 kinds of input and 2 of output.
    assert_eq!(column("cycle").len(), 12 * 3 + 6 * 5);
    assert_eq!(column("cycle").iter().filter(|cycle| **cycle == 150).count(), 3);
    for ((quantity, class), count) in column("quantity").iter().zip(column("class")).zip(column("count")) {
        let ports = match (quantity.as_str().unwrap(), class.as_str()) {
            ("contention", None) => 36 * 7,
            ("partial" | "combined", None) => 36 * 8,
            ("input", Some("endpoint")) => 36 * 2 * 2,
            ("input" | "output", Some("local")) => 36 * 3 * 5,
            ("input" | "output", Some("global")) => 36 * 2 * 2,
            other => panic!("unknown quantity {other:?}"),
        };
        assert_eq!(count, ports, "{quantity} {class}");
    }
    assert!(column("router").iter().chain(&column("index")).all(Value::is_null), "all routers together");
    let means = &one.summary()["probes"];
    // Busy queues: 2 at each of 2 endpoint ports, channels 0 to 2 of 3 local ports, 2 at each of 2 global ports.
    let contention = means["contention"].as_f64().unwrap();
    assert!(contention > 0.7 && contention <= 17.0 / 7.0, "{contention}");
    assert!(means["input local"].as_f64().unwrap() > 0.0);
}

#[test]
fn partitions_and_the_way_of_asking_again_change_no_allocation() {
    let all = ["oblivious", "deterministic", "sequential", "greedy", "sequential_r", "greedy_r", "availability"];
    let loads = [("credits", 0.4), ("credits", 0.95), ("contention", 0.95)];
    for (allocation, (measure, load)) in all.iter().flat_map(|allocation| loads.map(|load| (allocation, load))) {
        let routing =
            json!({ "kind": "clos", "allocation": allocation, "measure": measure, "deterministic_share": 0.3 });
        let mut value = json!({
            "topology": { "kind": "clos", "down": [4, 4], "up": [4], "faults": { "count": 2 } },
            "router": { "links": { "default": { "vcs": 1, "buffer": 8 } } },
            "routing": routing,
            "traffic": { "load": load, "pattern": { "kind": "shift", "offset": 4 } },
            "measure": { "warmup": 0, "cycles": 500 },
        });
        let one = run(&value, 1, 1);
        assert!(packets(&one) > 2000, "{allocation}: {}", packets(&one));
        let threads = if load < 0.5 { 2 } else { 1 };
        assert_same(&run(&value, threads, 3), &one, allocation);
        value["router"]["redecision"] = json!("every_cycle");
        assert_same(&run(&value, 1, 2), &one, allocation);
        value["routing"]["decide"] = json!("cycle");
        for (key, given) in [("clock", "crossbar"), ("inputs", "link"), ("cut_through", "input")] {
            value["router"][key] = json!(given);
        }
        value["router"]["speedup"] = json!(2);
        assert_same(&run(&value, 1, 3), &run(&value, 1, 1), &format!("{allocation}, decided once in a cycle"));
    }
}

#[test]
fn halves_that_overlap_are_not_proved() {
    let torus = |rings: &str, vcs: u32| {
        json!({
            "topology": { "kind": "torus", "dims": [5, 4] },
            "router": { "links": { "default": { "vcs": vcs, "buffer": 8 } } },
            "routing": { "kind": "dimension_order", "rings": rings },
            "traffic": { "load": 0.2, "packet_size": 2 },
            "measure": { "warmup": 200, "cycles": 500 },
        })
    };
    let proved = |rings: &str, vcs: u32| verify(&scenario(&torus(rings, vcs))).unwrap()["proved"].clone();
    for vcs in [2, 4] {
        assert_eq!(proved("overlapping", vcs), true, "{vcs} channels");
    }
    for vcs in [3, 5] {
        assert_eq!(proved("overlapping", vcs), false, "{vcs} channels");
        assert_eq!(proved("dateline", vcs), true, "{vcs} channels");
    }
    // With an even number of channels, there is none in the middle.
    assert_same(&run(&torus("overlapping", 4), 1, 2), &run(&torus("dateline", 4), 1, 1), "halves of four channels");
}

/// Occupancies of a port's channels are equal if each channel has all of its memory to itself.
#[test]
fn a_memory_of_which_nothing_is_shared_is_compared_like_buffers() {
    let cases = [
        (json!({ "kind": "mesh", "dims": [4, 4] }), json!({ "kind": "o1turn", "choice": "occupancy" })),
        (json!({ "kind": "hyperx", "dims": [4, 4] }), json!({ "kind": "ugal_l", "queue": "port" })),
        (json!({ "kind": "hyperx", "dims": [4, 4] }), json!({ "kind": "ugal_l" })),
        (
            json!({ "kind": "clos", "down": [4, 4], "up": [4] }),
            json!({
                "kind": "clos", "allocation": "greedy_r", "precompute": 2, "decide": "arrival", "redecide": false,
                "busy": "ignored", "measure": "port",
            }),
        ),
    ];
    for (topology, routing) in cases {
        let outcome = |sharing: Value, partitions| {
            let value = json!({
                "topology": topology,
                "router": {
                    "switching": "wormhole", "flit_size": 1, "vc_allocation": "stage", "sharing": sharing,
                    "links": {
                        "default": { "vcs": 4, "buffer": 4, "latency": 2 }, "endpoint": { "vcs": 4, "buffer": 4 },
                    },
                },
                "routing": routing,
                "traffic": { "load": 0.4, "packet_size": 3 },
                "measure": { "warmup": 200, "cycles": 1000 },
            });
            run(&value, 1, partitions)
        };
        let (shared, own) = (outcome(json!({ "private": 4 }), 2), outcome(Value::Null, 1));
        assert!(packets(&own) > 1000, "{routing}: {}", packets(&own));
        assert_same(&shared, &own, &routing.to_string());
    }
}
