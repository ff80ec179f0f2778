//! Links that break during a run: packets go around them, and those that cannot are counted.

use crate::common::{number, run, run_with, scenario, simulation, with};
use phit_engine::run::{self, Options};
use phit_engine::scenario::Scenario;
use serde_json::{Value, json};

/// Four routers with four endpoints each under four more, of which one link breaks in cycle 300.
fn breaking(changes: Value) -> Value {
    with(
        json!({
            "topology": {
                "kind": "clos", "down": [4, 4], "up": [4],
                "faults": { "later": [{ "cycle": 300, "links": [[0, 4]] }] },
            },
            "router": { "links": { "default": { "vcs": 1, "buffer": 8 } } },
            "routing": { "kind": "clos" },
            "traffic": { "load": 0.6, "packet_size": 2 },
            "measure": { "warmup": 100, "cycles": 600, "count": "generated" },
        }),
        changes,
    )
}

#[test]
fn nothing_is_lost_without_a_trace_and_nothing_hangs() {
    for routing in [
        json!("minimal"),
        json!({ "kind": "clos", "allocation": "deterministic" }),
        json!({ "kind": "clos", "allocation": "greedy_r" }),
        json!({ "kind": "clos", "allocation": "sequential", "measure": "contention" }),
        json!({ "kind": "clos", "allocation": "greedy", "precompute": 2, "redecide": false, "decide": "arrival" }),
    ] {
        for delay in [0, 50] {
            let later = json!([{ "cycle": 300, "delay": delay, "links": [[0, 4]] }]);
            let value = breaking(json!({ "routing": routing, "topology": { "faults": { "later": later } } }));
            let outcome = run(&value);
            let collector = outcome.collector();
            assert!(
                delay == 0 || collector.counters.packets.lost > 0,
                "{routing}: packets take it until routing knows"
            );
            assert_eq!(
                collector.counters.flow.generated_delivered + collector.counters.flow.generated_lost,
                collector.counters.flow.generated_packets,
                "{routing}, {delay}"
            );
            // One link of sixteen leads down to router 0. It has a buffer of eight phits at its end, and at most four
            // buffers in front of it, before routing knows. The same number applies upwards.
            assert!(
                collector.counters.packets.lost <= 2 * (4 + 1 + 4) * 4 + delay / 2,
                "{routing}: {}",
                collector.counters.packets.lost
            );
            let mut simulation = simulation(&value, Options { threads: 1, partitions: Some(3) });
            for tick in 1..=600 {
                simulation.advance_to(tick);
                if let Err(wrong) = simulation.fabric().audit() {
                    panic!("{wrong}\n{value}");
                }
            }
        }
    }
}

/// Whatever the ticks before did: in most, nothing; in some, an input has become free without anybody waiting for it.
/// Packets to failed endpoints are lost, not left over: an almost empty network is steady, and not saturated.
#[test]
fn lost_packets_are_no_backlog() {
    let of = |load: f64| {
        run(&json!({
            "topology": { "kind": "torus", "dims": [4, 4], "faults": { "endpoints": [3, 9] } },
            "router": { "links": { "default": { "vcs": 2, "buffer": 16 } } },
            "routing": "dimension_order",
            "traffic": { "load": load, "packet_size": 2 },
            "measure": { "warmup": 500, "cycles": 6000 },
        }))
    };
    let few = of(0.1);
    let [offered, accepted, lost] = ["/offered_load", "/accepted_load", "/lost_load"].map(|key| number(&few, key));
    // Of the 15 others, two are gone for a working endpoint: 2 in 15.
    assert!((lost - offered * 2.0 / 15.0).abs() < 0.003, "{lost} of {offered}");
    assert!((offered - accepted - lost).abs() < 0.002, "{accepted} and {lost} of {offered}");
    let summary = few.summary();
    assert_eq!((&summary["saturated"], &summary["steady"]), (&json!(false), &json!("yes")));
    assert!(summary["latency_ci"].is_number() && summary["accepted_ci"].is_number(), "{summary:?}");
    assert_eq!(of(1.0).summary()["saturated"], true);
}

#[test]
fn links_break_in_any_tick() {
    for cycle in 300..360 {
        let later = json!([{ "cycle": cycle, "links": [[1, 5]] }]);
        let value = breaking(json!({
            "topology": { "down": [3, 3], "up": [3], "faults": { "links": [[0, 3], [2, 4]], "later": later } },
            "queueing": "voqnet",
            "router": {
                "speedup": 3,
                "clock": "crossbar",
                "vc_allocation": "stage",
                "injection_queue": "destination",
                "links": { "default": { "latency": 9, "bandwidth": 2, "buffer": 36 } },
            },
            "routing": { "kind": "clos", "allocation": "availability", "redecide": false },
            "traffic": { "load": 0.7, "packet_size": 4, "process": "periodic" },
            "measure": { "cycles": 300 },
        }));
        let outcome = run(&value);
        let collector = outcome.collector();
        let (arrived, lost) = (collector.counters.flow.generated_delivered, collector.counters.flow.generated_lost);
        assert_eq!(arrived + lost, collector.counters.flow.generated_packets, "{cycle}");
    }
}

/// Each queue of a broken link's buffer takes what comes without limit, which is more than a number holds for all
/// together.
#[test]
fn buffers_may_be_divided_into_queues() {
    let routing = json!({ "kind": "clos", "allocation": "greedy", "precompute": 1 });
    let value = breaking(json!({ "routing": routing, "queueing": { "kind": "dbbm", "queues": 4 } }));
    let outcome = run(&value);
    let collector = outcome.collector();
    assert_eq!(
        collector.counters.flow.generated_delivered + collector.counters.flow.generated_lost,
        collector.counters.flow.generated_packets
    );
    assert!(collector.counters.flow.generated_delivered > 2800, "{}", collector.counters.flow.generated_delivered);
}

/// The utilisation of a link in the window.
fn utilisation(value: &Value, router: u64, port: u64) -> f64 {
    let links = run(value).tables()["links"].clone();
    let place = (0..).find(|&place| links["router"][place] == router && links["port"][place] == port).unwrap();
    links["utilisation"][place].as_f64().unwrap()
}

#[test]
fn nobody_takes_a_broken_link_that_routing_knows_of() {
    // In a window that opens when everything on the link has arrived, router 0 sends over its other links only.
    let value = breaking(json!({ "measure": { "warmup": 320, "cycles": 1000, "links": true } }));
    assert_eq!((utilisation(&value, 0, 4), utilisation(&value, 4, 0)), (0.0, 0.0));
    // Three links carry what leaves router 0, 12 of 15 parts of its load, and what comes to it.
    for other in 5..8 {
        let (out, back) = (utilisation(&value, 0, other), utilisation(&value, other, 0));
        assert!((out - 4.0 * 0.6 * 0.8 / 3.0).abs() < 0.05, "{out}");
        assert!((back - 4.0 * 0.6 * 0.8 / 3.0).abs() < 0.05, "{back}");
    }
}

#[test]
fn heads_that_wait_for_a_broken_link_are_decided_about_again() {
    // Minimal routing keeps its decisions. The link has taken a buffer's worth, and the others wait for it until
    // routing knows: the window opens in that very cycle.
    let later = json!([{ "cycle": 300, "delay": 50, "links": [[0, 4]] }]);
    let value = breaking(json!({
        "routing": "minimal", "traffic": { "load": 0.9 },
        "topology": { "down": [3, 3], "up": [3], "faults": { "links": [[0, 3], [2, 4]], "later": later } },
        "measure": { "warmup": 350, "cycles": 200, "links": true },
    }));
    assert_eq!(utilisation(&value, 0, 4), 0.0);
    let before = with(value, json!({ "measure": { "warmup": 300, "cycles": 50 } }));
    assert_eq!(utilisation(&before, 0, 4) * 50.0, 8.0, "the buffer's eight phits");
}

#[test]
fn a_link_that_breaks_is_seen_alike_by_all_threads() {
    let later = json!([{ "cycle": 250, "delay": 30, "count": 1, "seed": 5 }, { "cycle": 400, "routers": [7] }]);
    for routing in [json!("minimal"), json!("clos"), json!({ "kind": "clos", "allocation": "greedy_r" })] {
        let value = breaking(json!({ "routing": routing, "topology": { "faults": { "later": later } } }));
        let result = |threads, partitions| {
            let outcome = run_with(&value, Options { threads, partitions });
            json!({ "summary": outcome.summary(), "tables": outcome.tables() })
        };
        let one = result(1, None);
        assert!(one["summary"]["packets_lost"].as_u64() > Some(0));
        for (threads, partitions) in [(2, None), (1, Some(8)), (3, Some(5))] {
            assert_eq!(result(threads, partitions), one, "{threads} threads, {partitions:?} partitions");
        }
    }
}

/// Packets on their way down that nothing leads on are lost, also where another way down has never worked.
#[test]
fn nothing_waits_where_no_way_is_left() {
    let clos = json!({ "kind": "clos", "down": [2, 2, 4], "up": [2, 2] });
    let later = |seed: u32, count: u32| json!([{ "seed": seed, "count": count, "cycle": 60 }]);
    for (topology, faults, routing) in [
        (
            &clos,
            json!({ "seed": 835, "count": 3, "later": later(909, 1) }),
            json!({ "kind": "clos", "allocation": "oblivious" }),
        ),
        (&clos, json!({ "later": later(4, 2) }), json!({ "kind": "table", "adaptive": true })),
        (
            &json!({ "kind": "k_ary_n_tree", "arity": 2, "levels": 3 }),
            json!({ "seed": 627, "count": 1, "later": later(59, 2) }),
            json!({ "kind": "clos", "allocation": "sequential" }),
        ),
    ] {
        let mut topology = topology.clone();
        topology["faults"] = faults;
        let value = json!({
            "topology": topology,
            "routing": routing,
            "router": { "links": { "default": { "vcs": 24, "buffer": 12 } } },
            "traffic": { "load": 0.25, "packet_size": 2, "message": { "packets": 1, "count": 50 } },
            "measure": { "warmup": 0, "cycles": 1500, "count": "generated", "max_drain": 20_000 },
        });
        let counters = run(&value).collector().counters.clone();
        let (flow, packets) = (&counters.flow, &counters.packets);
        assert!(packets.lost > 0, "{value}");
        assert_eq!(flow.generated_delivered + flow.generated_lost, flow.generated_packets, "{value}");
    }
}

/// A torus in which links, a router and endpoints fail for a time, and sources send lost packets again.
fn repeating(changes: Value) -> Value {
    with(
        json!({
            "topology": { "kind": "torus", "dims": [4, 4], "faults": {
                "retransmit": { "timeout": 60, "attempts": 7 },
                "later": [
                    { "cycle": 150, "delay": 40, "until": 420, "links": [[0, 1], [5, 6]] },
                    { "cycle": 240, "delay": 20, "until": 300, "routers": [10], "endpoints": [3] },
                ],
            } },
            "routing": "minimal",
            "router": { "links": { "default": { "vcs": 5, "latency": 2, "buffer": 12 } } },
            "traffic": { "load": 0.3, "packet_size": 2 },
            "measure": { "warmup": 100, "cycles": 500, "count": "generated", "series": { "bin": 25 } },
        }),
        changes,
    )
}

#[test]
fn what_is_sent_again_arrives_or_is_given_up() {
    for routing in ["minimal", "valiant", "up_down", "dfsssp"] {
        for (timeout, attempts) in [(3, 7), (60, 1), (60, 7), (400, 2)] {
            let retransmit = json!({ "timeout": timeout, "attempts": attempts });
            let value = repeating(json!({ "topology": { "faults": { "retransmit": retransmit } } }));
            let value = with(value, json!({ "routing": routing }));
            let outcome = run(&value);
            let counters = &outcome.collector().counters;
            let (flow, packets) = (&counters.flow, &counters.packets);
            assert_eq!(flow.generated_delivered + flow.generated_lost, flow.generated_packets, "{value}");
            assert!(packets.repeated > 0, "{value}");
            // Links are long back when the seventh attempt is over, but in the one case.
            assert!(packets.lost == 0 || timeout < 60 || attempts < 7 || routing != "minimal", "{packets:?} {value}");
            let mut simulation = simulation(&value, Options { threads: 1, partitions: Some(3) });
            for tick in 140..=500 {
                simulation.advance_to(tick);
                if let Err(wrong) = simulation.fabric().audit() {
                    panic!("tick {tick}: {wrong}\n{value}");
                }
            }
        }
    }
}

#[test]
fn what_is_sent_again_is_the_same_for_all_threads() {
    for routing in ["minimal", "up_down"] {
        let value = repeating(json!({ "routing": routing, "measure": { "endpoints": true } }));
        let result = |threads, partitions| {
            let outcome = run_with(&value, Options { threads, partitions });
            json!({ "summary": outcome.summary(), "tables": outcome.tables() })
        };
        let one = result(1, None);
        assert!(one["summary"]["packets_retransmitted"].as_u64() > Some(20), "{}", one["summary"]);
        for (threads, partitions) in [(2, None), (1, Some(16)), (3, Some(5))] {
            assert_eq!(result(threads, partitions), one, "{threads} threads, {partitions:?} partitions");
        }
    }
}

/// Scenarios with packets of several flits, or several waiting packets of a source: packets that occupy several
/// buffers, a queue for each destination, requests and replies.
fn otherwise() -> Vec<Value> {
    let wormhole = json!({ "router": {
        "switching": "wormhole", "flit_size": 2, "links": { "default": { "vcs": 6, "buffer": 4 } },
    }, "traffic": { "packet_size": 11 } });
    let requests = json!({
        "router": { "links": { "default": { "vcs": 10 } } },
        "traffic": { "requests": {
            "outstanding": 3, "count": 30, "service": 5, "virtual_networks": false,
        } },
        "measure": { "cycles": 3000 },
        // Endpoints that fail are for traffic that is not answered.
        "topology": { "kind": "torus", "dims": [4, 4], "faults": {
            "retransmit": { "timeout": 60, "attempts": 2 },
            "later": [{ "cycle": 150, "delay": 40, "until": 420, "links": [[0, 1], [5, 6], [6, 7]] }],
        } },
    });
    let staged = json!({ "vc_allocation": "stage", "clock": "crossbar", "speedup": 2, "connection": "packet" });
    let stores = json!({ "router": { "admittance": "per_destination", "admittance_room": 40, "switching":
        "store_and_forward" } });
    vec![
        wormhole.clone(),
        with(wormhole.clone(), json!({ "router": staged, "routing": "valiant" })),
        with(wormhole.clone(), json!({ "routing": "up_down" })),
        with(wormhole.clone(), json!({ "router": { "credit_channel": "one_per_cycle" }, "routing": "dfsssp" })),
        json!({ "router": { "admittance": "per_destination" } }),
        stores,
        requests.clone(),
        with(requests.clone(), json!({ "traffic": { "requests": { "room": 8 } } })),
        with(requests.clone(), json!({ "traffic": { "requests": { "source_queue": "together" } } })),
        with(
            requests.clone(),
            json!({ "traffic": { "requests": { "virtual_networks": true } }, "topology": {
            "kind": "clos", "down": [4, 4], "up": [4], "faults": {
                "retransmit": { "timeout": 20 },
                "later": [{ "cycle": 150, "delay": 60, "until": 420, "links": [[0, 4], [0, 5], [1, 4]] }],
            },
        } }),
        ),
        with(with(wormhole, requests), json!({ "router": { "links": { "default": { "vcs": 12 } } } })),
    ]
}

#[test]
fn whatever_is_lost_in_part_is_lost_whole_and_once() {
    for changes in otherwise() {
        let value = repeating(changes);
        let outcome = run(&value);
        let counters = &outcome.collector().counters;
        let (flow, packets, asked) = (&counters.flow, &counters.packets, &counters.transactions);
        assert_eq!(flow.generated_delivered + flow.generated_lost, flow.generated_packets, "{value}");
        assert!(packets.repeated > 2, "{packets:?} {value}");
        assert_eq!(asked.requests, asked.replies + asked.given_up, "{value}");
        for partitions in [Some(1), Some(3)] {
            let mut simulation = simulation(&value, Options { threads: 1, partitions });
            for tick in 140..=560 {
                simulation.advance_to(tick);
                if let Err(wrong) = simulation.fabric().audit() {
                    panic!("tick {tick}, {partitions:?}: {wrong}\n{value}");
                }
            }
        }
    }
}

#[test]
fn whatever_is_lost_in_part_is_the_same_for_all_threads() {
    for changes in otherwise() {
        let value = repeating(with(changes, json!({ "measure": { "endpoints": true, "links": true } })));
        let result = |threads, partitions| {
            let outcome = run_with(&value, Options { threads, partitions });
            json!({ "summary": outcome.summary(), "tables": outcome.tables() })
        };
        let one = result(1, Some(1));
        for (threads, partitions) in [(2, None), (1, Some(16)), (3, Some(5))] {
            assert_eq!(result(threads, partitions), one, "{threads} threads, {partitions:?} partitions of {value}");
        }
    }
}

/// An endpoint learns of a request that is given up, and sends another one: none is missing in the end.
#[test]
fn a_request_that_is_given_up_makes_room_for_another() {
    let value = repeating(json!({
        "router": { "links": { "default": { "vcs": 10 } } },
        "traffic": { "load": 0.4, "requests": { "outstanding": 1, "count": 40, "virtual_networks": false } },
        "topology": { "kind": "torus", "dims": [4, 4], "faults": {
            "retransmit": { "timeout": 3, "attempts": 1 },
            "later": [{ "cycle": 120, "delay": 200, "links": [[0, 1], [1, 2], [0, 4], [5, 6]] }],
        } },
        "measure": { "cycles": 4000 },
    }));
    let outcome = run(&value);
    let asked = &outcome.collector().counters.transactions;
    assert_eq!((asked.requests, asked.done), (16 * 40, 16), "{asked:?}");
    assert!(asked.given_up > 0 && asked.requests == asked.replies + asked.given_up, "{asked:?}");
    let summary = outcome.summary();
    assert_eq!(summary["requests_given_up"], json!(asked.given_up));
    assert_eq!(summary["packets_lost"], json!(asked.given_up), "a request or its reply, once");
}

/// A program ends if its packets are sent again, in the same cycle whatever the partitions; if not, it never does.
#[test]
fn a_program_ends_though_links_break() {
    let faults = json!({ "later": [{ "cycle": 30, "delay": 50, "until": 700, "links": [[0, 1], [5, 6]] }] });
    let program = |faults: Value| {
        json!({
            "units": { "phit": "1 B" },
            "topology": { "kind": "torus", "dims": [4, 4], "faults": faults },
            "routing": "minimal",
            "router": { "links": { "default": { "vcs": 5, "latency": 2, "buffer": 32 } } },
            "workload": { "kind": "collective", "collective": "all_reduce", "algorithm": "ring", "bytes": 1024 },
        })
    };
    let lost = run::run(&scenario(&program(faults.clone())), Options::default(), &mut |_, _| true);
    let lost = lost.err().map(|error| error.to_string()).unwrap_or_default();
    assert!(lost.contains("the program can never end") && lost.contains("lost over links that broke"), "{lost}");
    let value = program(with(faults, json!({ "retransmit": { "timeout": 200 } })));
    let ends = |partitions| run_with(&value, Options { threads: 1, partitions }).summary();
    let whole = ends(Some(1));
    assert!(whole["packets_retransmitted"].as_u64() > Some(0) && whole["packets_lost"] == 0, "{whole:?}");
    for partitions in [Some(4), Some(16)] {
        let parts = ends(partitions);
        let same = |key: &str| assert_eq!(parts[key], whole[key], "{key}");
        ["completion", "packets_retransmitted", "latency_mean"].iter().for_each(|key| same(key));
    }
}

#[test]
fn what_cannot_be_sent_again_is_refused() {
    let refused = |changes: Value| {
        let value = repeating(changes);
        run::prepare(&scenario(&value)).err().unwrap_or_else(|| panic!("accepted: {value}")).to_string()
    };
    let early = refused(json!({ "topology": { "faults": { "retransmit": { "timeout": 2 } } } }));
    let least = "topology.faults.retransmit.timeout = 2: expected at least 3, the cycles of a router and the longest";
    assert!(early.starts_with(least), "{early}");
    let requests = json!({ "router": { "links": { "default": { "vcs": 10 } } }, "traffic": {
        "requests": { "virtual_networks": false },
    } });
    let failing = refused(requests.clone());
    assert!(failing.starts_with("traffic.requests: what waits for an endpoint that has failed"), "{failing}");
    let never = json!([{ "cycle": 150, "links": [[0, 1]] }]);
    let never = json!({ "topology": { "kind": "torus", "dims": [4, 4], "faults": { "later": never } } });
    let never = refused(with(requests, never));
    assert!(never.starts_with("topology.faults.later: a request that is lost is never answered"), "{never}");
    let many = Scenario::from_value(&repeating(json!({
        "topology": { "faults": { "retransmit": { "attempts": 8 } } },
    })));
    let many = many.err().map(|error| error.to_string()).unwrap_or_default();
    assert!(many.contains("topology.faults.retransmit.attempts = 8") && many.contains('7'), "{many}");
}

#[test]
fn a_network_at_rest_loses_nothing() {
    let outcome = run(&breaking(json!({ "traffic": { "load": 0.001 }, "measure": { "cycles": 3000 } })));
    assert_eq!(number(&outcome, "/packets_lost"), 0.0);
}

#[test]
fn other_networks_have_faults_where_a_minimal_route_is_left() {
    for topology in [
        // Four links from each router of one group to one of the other, two parallel links between neighbours in a
        // line.
        json!({ "kind": "dragonfly", "p": 2, "a": 2, "h": 4, "groups": 2, "faults": { "links": [[0, 2]] } }),
        json!({ "kind": "hyperx", "dims": [3, 2], "endpoints_per_router": 2, "parallel": [2, 2],
            "faults": { "links": [[0, 1]] } }),
    ] {
        let next = if topology["kind"] == "hyperx" { json!([[1, 2]]) } else { json!([[1, 3]]) };
        let mut value = json!({
            "topology": topology, "routing": "minimal",
            "router": { "links": { "default": { "vcs": 4, "buffer": 16 } } },
            "traffic": { "load": 0.3 }, "measure": { "warmup": 0, "cycles": 1000, "count": "generated" },
        });
        value["topology"]["faults"]["later"] = json!([{ "cycle": 200, "links": next, "delay": 20 }]);
        let outcome = run(&value);
        let collector = outcome.collector();
        assert_eq!(
            collector.counters.flow.generated_delivered + collector.counters.flow.generated_lost,
            collector.counters.flow.generated_packets
        );
        assert!(collector.counters.packets.lost < 30, "{}", collector.counters.packets.lost);
        // Mechanisms that do not look for the minimal routes that are left take detours, in a channel more.
        for routing in [json!({ "kind": "ugal_l" }), json!({ "kind": "valiant", "via": "group" })] {
            value["routing"] = routing;
            let refused = run::prepare(&scenario(&value)).err().map(|error| error.to_string()).unwrap_or_default();
            assert!(refused.is_empty() || refused.contains("and one for detours around topology.faults"), "{refused}");
            value["router"]["links"]["default"]["vcs"] = json!(8);
            let outcome = run(&value);
            let flow = &outcome.collector().counters.flow;
            assert_eq!(flow.generated_delivered + flow.generated_lost, flow.generated_packets);
        }
    }
}

#[test]
fn what_cannot_break_is_refused() {
    let refused = |later: Value, changes: Value| {
        let value = with(breaking(json!({ "topology": { "faults": { "later": later } } })), changes);
        run::prepare(&scenario(&value)).err().unwrap_or_else(|| panic!("accepted: {value}")).to_string()
    };
    let early = refused(
        json!([{ "cycle": 100, "delay": 50, "links": [[0, 4]] }, { "cycle": 120, "links": [[0, 5]] }]),
        json!({}),
    );
    assert!(early.starts_with("topology.faults.later[1].cycle = 120: expected a cycle from 151"), "{early}");
    let cut = refused(
        json!([{ "cycle": 5, "links": [[0, 4], [0, 5]] }, { "cycle": 9, "links": [[0, 6], [0, 7]] }]),
        json!({}),
    );
    assert!(
        cut.starts_with("topology.faults.later[1] = ") && cut.contains("no way is left from router 0 to router 1"),
        "{cut}"
    );
    let unknown = refused(json!([{ "cycle": 5, "links": [[0, 1]] }]), json!({}));
    assert_eq!(unknown, "topology.faults.later[0].links[0] = [0, 1]: no (further) link between these two routers");
}
