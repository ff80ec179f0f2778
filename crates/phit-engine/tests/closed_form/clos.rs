//! Folded Clos networks: cycles of every kind of path, loads of links, and the result of a good allocation, by
//! counting.

use crate::common::{assert_close, histogram, number, run, with};
use serde_json::{Value, json};

const ADAPTIVE: [&str; 5] = ["sequential", "greedy", "sequential_r", "greedy_r", "availability"];

/// The network of figure 3 of Kim, Dally and Abts with 64 endpoints: 8 routers of radix 16, and 8 above. Input-queued
/// routers of one cycle, buffers without limit, packets of one flit.
fn figure_3(routing: Value, pattern: Value, load: f64) -> Value {
    json!({
        "topology": { "kind": "clos", "down": [8, 8], "up": [8] },
        "router": { "links": { "default": { "vcs": 1, "buffer": "infinite" } } },
        "routing": routing,
        "traffic": { "load": load, "pattern": pattern },
        "measure": { "warmup": 500, "cycles": 4000 },
    })
}

fn clos(allocation: &str) -> Value {
    json!({ "kind": "clos", "allocation": allocation })
}

fn accepted(value: &Value) -> f64 {
    number(&run(value), "/accepted_load")
}

#[test]
fn every_kind_of_path_takes_its_cycles() {
    // One cycle to the link of the endpoint and one over it. In each of 1, 3 or 5 routers, three cycles. Links take
    // four cycles between the first and the second level, and six above. Then one cycle to the endpoint, and one for
    // each phit.
    let cycles =
        |links: &[u64], phits: u64| 1 + 1 + 3 * (links.len() as u64 + 1) + links.iter().sum::<u64>() + 1 + phits;
    let all = ["oblivious", "deterministic"].iter().chain(&ADAPTIVE);
    for (allocation, phits) in all.flat_map(|allocation| [(allocation, 1), (allocation, 5)]) {
        for faults in [json!({}), json!({ "links": [[0, 8], [3, 10], [8, 16]] })] {
            let value = json!({
                "topology": { "kind": "clos", "down": [2, 2, 4], "up": [2, 2], "faults": faults },
                "router": {
                    "latency": 3,
                    "links": {
                        "default": { "vcs": 1, "buffer": 16 }, "level1": { "latency": 4 }, "level2": { "latency": 6 },
                    },
                },
                "routing": clos(allocation),
                "traffic": { "load": 0.0005, "packet_size": phits },
                "measure": { "warmup": 0, "cycles": 2_000_000 },
            });
            let seen = histogram(&run(&value));
            let all: u64 = seen.iter().map(|(_, packets)| packets).sum();
            let often: Vec<u64> =
                seen.iter().filter(|(_, packets)| packets * 50 > all).map(|(latency, _)| *latency).collect();
            let expected = [&[][..], &[4, 4], &[4, 6, 6, 4]].map(|links| cycles(links, phits));
            assert_eq!(often, expected, "{allocation}, {faults}: {seen:?}");
        }
    }
}

#[test]
fn a_permutation_without_conflicts_takes_the_same_time_at_every_load() {
    // Bit complement sends the endpoints of a router to one other router. Outputs given one by one are all different,
    // and from a router of the top level one input leads down to each output: nobody waits anywhere (figure 4d).
    let pattern = json!("bit_complement");
    for allocation in ["sequential", "availability"] {
        let seen = histogram(&run(&figure_3(clos(allocation), pattern.clone(), 0.95)));
        // 1 + 1 + 3 routers + 2 links + 1 + 1 phit.
        assert!(seen.iter().all(|(latency, _)| *latency == 9), "{allocation}: {seen:?}");
    }
    let oblivious = run(&figure_3(clos("oblivious"), pattern, 0.5));
    assert!(number(&oblivious, "/latency_mean") > 9.5);
}

#[test]
fn a_tapered_tree_carries_its_share() {
    // Eight endpoints share four links upwards, and nothing turns round below the top.
    for allocation in ["oblivious", "sequential"] {
        let value = with(
            figure_3(clos(allocation), json!("worst_case_uniform"), 1.0),
            json!({ "topology": { "up": [4] }, "router": { "speedup": 4, "clock": "crossbar" } }),
        );
        assert_close(accepted(&value), 0.5, 0.01, allocation);
    }
}

#[test]
fn deterministic_ways_share_links_as_their_numbers_do() {
    // Shifted by two routers. The destinations below one router have eight different numbers modulo 8: every link has
    // one flow. The sums 2 i + 16 have four: every other link has two.
    let shift = json!({ "kind": "shift", "offset": 16 });
    for (by, expected) in [("destination", 1.0), ("sum", 0.5)] {
        let mut routing = clos("deterministic");
        routing["deterministic_by"] = json!(by);
        assert_close(accepted(&figure_3(routing, shift.clone(), 1.0)), expected, 0.01, by);
    }
}

#[test]
fn adaptive_traffic_goes_round_deterministic_traffic() {
    // Half of the traffic in order: the links with two such flows are full with it, at load 1. The other half fits
    // exactly on the other links if it goes there, and with oblivious routing each link has half a flow of it on top: 1
    // / 1.5 (figure 7a).
    let shift = json!({ "kind": "shift", "offset": 16 });
    let mixed = |allocation: &str, load| {
        let mut routing = clos(allocation);
        (routing["deterministic_by"], routing["deterministic_share"]) = (json!("sum"), json!(0.5));
        let speedup = json!({ "router": { "speedup": 4, "clock": "crossbar" } });
        accepted(&with(figure_3(routing, shift.clone(), load), speedup))
    };
    assert_close(mixed("oblivious", 0.6), 0.6, 0.01, "below 2/3");
    assert!(mixed("oblivious", 0.9) < 0.75);
    assert_close(mixed("sequential", 0.9), 0.9, 0.01, "above 2/3");
}

#[test]
fn all_packets_of_a_pair_take_one_way() {
    // A link carries the whole of two flows of 0.4, or nothing.
    let mut value = figure_3(clos("deterministic"), json!({ "kind": "shift", "offset": 16 }), 0.4);
    value["routing"]["deterministic_by"] = json!("sum");
    value["measure"]["links"] = json!(true);
    let tables = run(&value).tables();
    let (class, load) =
        (tables["links"]["class"].as_array().unwrap(), tables["links"]["utilisation"].as_array().unwrap());
    let loads: Vec<f64> =
        class.iter().zip(load).filter(|(c, _)| **c == "level1").map(|(_, l)| l.as_f64().unwrap()).collect();
    assert_eq!(loads.len(), 2 * 64);
    let used = loads.iter().filter(|load| **load > 0.0).count();
    assert_eq!(used, 64, "every other link");
    assert!(loads.iter().all(|load| *load == 0.0 || (load - 0.8).abs() < 0.05), "{loads:?}");
}

#[test]
fn the_next_way_round_a_fault_bears_two_loads() {
    // Router 8 has lost router 0. Of the packets to router 0, one in eight draws router 8, and takes router 9 instead.
    // So the link from 9 down to 0 has two eighths of the load of eight endpoints. With an even draw it has one
    // seventh.
    let carried = |around: &str| {
        let mut routing = clos("oblivious");
        routing["around_faults"] = json!(around);
        let mut value = figure_3(routing, json!("worst_case_uniform"), 0.3);
        value["topology"]["faults"] = json!({ "links": [[0, 8]] });
        value["measure"]["links"] = json!(true);
        let tables = run(&value).tables();
        let links = &tables["links"];
        let column = |name: &str| links[name].as_array().unwrap().clone();
        let rows = column("router").into_iter().zip(column("port")).zip(column("utilisation"));
        let found =
            rows.filter(|((router, port), _)| *router == 9 && *port == 0).map(|(_, load)| load.as_f64().unwrap());
        found.sum::<f64>()
    };
    // 4000 cycles at a load of 0.3 to 0.6: 0.6 with a standard deviation of about 0.01.
    assert_close(carried("next"), 0.6, 0.05, "next");
    assert_close(carried("uniform"), 8.0 * 0.3 / 7.0, 0.05, "uniform");
}

#[test]
fn the_probe_sees_the_fullest_buffer_of_each_router_at_the_top() {
    let mut value = figure_3(clos("oblivious"), json!("worst_case_uniform"), 0.5);
    value["measure"]["probes"] = json!([{ "kind": "fullest_buffers", "every": 100, "by_router": true }]);
    let tables = run(&value).tables();
    let table = &tables["probes"];
    let column = |name: &str| table[name].as_array().unwrap().clone();
    let rows: Vec<(Value, Value)> = column("quantity").into_iter().zip(column("router")).collect();
    let at = |quantity: &str, router: Value, key: &str| -> Vec<u64> {
        let wanted = (json!(quantity), router);
        let found = rows.iter().zip(column(key)).filter(|(row, _)| **row == wanted);
        found.map(|(_, value)| value.as_f64().unwrap() as u64).collect()
    };
    let of = |quantity: &str, key: &str| at(quantity, Value::Null, key);
    assert_eq!(of("fullest", "count"), [8; 40], "eight routers at the top, forty looks");
    assert_eq!(of("all", "count"), [64; 40], "of eight input queues each");
    assert_eq!(of("fullest", "max"), of("all", "max"));
    let largest = |look: usize| (8..16).map(|router| at("fullest", json!(router), "max")[look]).max().unwrap();
    assert_eq!((0..40).map(largest).collect::<Vec<_>>(), of("fullest", "max"));
    assert!(of("fullest", "max").iter().any(|phits| *phits > 0));
}

#[test]
fn the_probe_sees_the_heads_that_arrive_in_one_cycle() {
    // Routers of 16 ports below, 8 above. Each input gets the head of a packet in a cycle with a probability of the
    // load over the flits of a packet, nearly independently of the others.
    for (flits, crossbar) in [(1, 1), (1, 2), (4, 1)] {
        let (load, cycles) = (0.4, 4000);
        let mut value = figure_3(clos("oblivious"), json!("worst_case_uniform"), load);
        value["traffic"]["packet_size"] = json!(flits);
        value["router"]["allocation_delay"] = json!(1);
        (value["router"]["clock"], value["router"]["speedup"]) = (json!("crossbar"), json!(crossbar));
        value["measure"]["probes"] = json!([{ "kind": "arrivals", "every": 1 }]);
        let tables = run(&value).tables();
        let column = |name: &str| tables["probes"][name].as_array().unwrap().clone();
        let rows: Vec<(Value, Value)> = column("quantity").into_iter().zip(column("index")).collect();
        let mean = |quantity: &str, ports: u32| {
            let wanted = (json!(quantity), json!(ports));
            let found = rows.iter().zip(column("mean")).filter(|(row, _)| **row == wanted);
            let values: Vec<f64> = found.map(|(_, value)| value.as_f64().unwrap()).collect();
            assert_eq!(values.len(), cycles, "{quantity} of {ports} ports");
            values.iter().sum::<f64>() / cycles as f64
        };
        for ports in [16, 8] {
            let (n, p) = (f64::from(ports), load / f64::from(flits));
            // Eight routers for 4,000 cycles: a standard deviation of less than 0.5 % of a head.
            assert_close(mean("arrived", ports), n * p, 0.02, "heads");
            let one_or_none = (1.0 - p).powf(n) + n * p * (1.0 - p).powf(n - 1.0);
            assert_close(mean("several", ports), 1.0 - one_or_none, 0.03, "two or more");
        }
    }
}
