//! One Cascade group and several: latencies of an empty network, mean hops, and what channel loads allow.

use crate::common::{assert_close, histogram, number, run, with};
use serde_json::{Value, json};

/// BookSim's router: three stages of half a cycle each, links of ten cycles.
fn group(topology: Value, routing: Value, load: f64) -> Value {
    let links = json!({
        "endpoint": { "latency": 1, "ejection_latency": 0, "vcs": 4, "buffer": 32 },
        "default": { "latency": 10, "vcs": 8, "buffer": 32 },
        "global": { "latency": 100, "vcs": 2, "buffer": 256 },
    });
    let mut value = json!({
        "topology": topology,
        "router": {
            "latency": 2, "speedup": 2, "clock": "crossbar", "vc_allocation": "stage", "switching": "wormhole",
            "flit_size": 1, "injection_queue": "round_robin", "links": links,
        },
        "routing": routing,
        "traffic": { "load": load, "packet_size": 1, "pattern": { "kind": "uniform", "include_self": true } },
        "measure": { "warmup": 1000, "cycles": 3000 },
    });
    if topology_groups(&value) == 1 {
        value["router"]["links"].as_object_mut().unwrap().remove("global");
    }
    value
}

fn topology_groups(value: &Value) -> u64 {
    value["topology"]["groups"].as_u64().unwrap_or(1)
}

/// Source, injection and ejection take a cycle each, every router two, every link its latency.
fn latency(local: u64, global: u64) -> u64 {
    3 + 2 * (local + global + 1) + 10 * local + 100 * global
}

/// Latencies of more than one packet in a hundred; rarer ones met other packets.
fn frequent(value: &Value) -> Vec<u64> {
    let seen = histogram(&run(value));
    let all: u64 = seen.iter().map(|(_, packets)| packets).sum();
    assert!(all > 2000, "{all}");
    seen.into_iter().filter(|(_, packets)| packets * 100 > all).map(|(latency, _)| latency).collect()
}

#[test]
fn an_empty_group_takes_as_long_as_its_hops() {
    let cascade = json!({ "kind": "cascade" });
    let measured = json!({ "measure": { "cycles": 20_000 } });
    // Of 96 routers, one is the source's own, 20 are one hop away and 75 are two.
    let minimal = with(group(cascade.clone(), json!("minimal"), 0.0005), measured.clone());
    assert_eq!(frequent(&minimal), [latency(0, 0), latency(1, 0), latency(2, 0)]);
    assert_eq!([0, 1, 2].map(|hops| latency(hops, 0)), [5, 17, 29]);
    let valiant = json!({ "kind": "valiant", "stop": "anywhere" });
    let valiant = with(group(cascade, valiant, 0.0005), measured);
    assert_eq!(frequent(&valiant), [2, 3, 4].map(|hops| latency(hops, 0)));
}

#[test]
fn an_empty_cascade_takes_as_long_as_its_hops() {
    // Two groups of 2 x 3 routers with one port each: six links between them.
    let topology = json!({
        "kind": "cascade", "rows": 2, "columns": 3, "groups": 2, "global_ports": 1, "endpoints_per_router": 2,
    });
    let value = with(group(topology, json!("minimal"), 0.001), json!({ "measure": { "cycles": 300_000 } }));
    let inside = [0, 1, 2].map(|local| latency(local, 0));
    // Link k joins router k of one group with router k of the other: as many local hops as between the two routers'
    // places.
    let across = [0, 1, 2].map(|local| latency(local, 1));
    assert_eq!(frequent(&value), [inside, across].concat());
}

#[test]
fn mean_hops_are_those_of_the_graph() {
    // 15/16 of the packets change their column, 5/6 their row.
    let minimal = 15.0 / 16.0 + 5.0 / 6.0;
    let cases = [
        (json!("minimal"), minimal),
        (json!({ "kind": "valiant", "stop": "anywhere" }), 2.0 * minimal),
        // Without the own router among 96, and the destination uniform.
        (json!({ "kind": "valiant" }), minimal * 96.0 / 95.0 + minimal),
    ];
    for (routing, expected) in cases {
        let short = json!({ "measure": { "warmup": 200, "cycles": 2000 } });
        let outcome = run(&with(group(json!({ "kind": "cascade" }), routing.clone(), 0.1), short));
        // 350,000 packets; standard deviation of the hops of a packet at most 0.7.
        assert_close(number(&outcome, "/hops_mean"), expected, 0.005, &routing.to_string());
    }
}

fn accepted(value: &Value) -> f64 {
    number(&run(value), "/accepted_load")
}

#[test]
fn channel_loads_bound_what_a_group_carries() {
    // p endpoints send (k - 1)/k of their packets to other places of a line of k, over (k - 1) links (and their
    // parallels): at most k * parallel / p each. Here rows of four with single links, columns of three with three: 4/6
    // and 9/6.
    let small = json!({
        "kind": "cascade", "rows": 3, "columns": 4, "endpoints_per_router": 6, "channels": "rising",
    });
    for (routing, bound) in
        [(json!("minimal"), 4.0 / 6.0), (json!({ "kind": "valiant", "stop": "anywhere" }), 2.0 / 6.0)]
    {
        let over = accepted(&group(small.clone(), routing.clone(), 0.9));
        assert!(over <= bound * 1.01 && over >= bound * 0.85, "{routing}: {over} of {bound}");
        let load = 0.85 * bound;
        assert_close(accepted(&group(small.clone(), routing, load)), load, 0.03 * load, "85 % of the bound");
    }
    // With two links in each row, the columns of three single links are the bound: 3/6.
    let columns = json!({
        "kind": "cascade", "rows": 3, "columns": 4, "row_links": 2, "column_links": 1, "endpoints_per_router": 6,
        "channels": "rising",
    });
    let over = accepted(&group(columns, json!("minimal"), 0.9));
    assert!((0.5 * 0.85..=0.5 * 1.01).contains(&over), "{over}");
}

#[test]
fn adversarial_traffic_leaves_a_router_one_link() {
    // Router i sends to router i + 1, always within a row except for the last router of each row. So 18 endpoints share
    // one link. The last router of a row has two routes to the first of the next row, so 6 of 96 routers may send twice
    // as much.
    let adversarial = json!({
        "traffic": { "pattern": { "kind": "adversarial", "offset": 1 } },
        "measure": { "warmup": 300, "cycles": 700 },
    });
    let value = |load| with(group(json!({ "kind": "cascade" }), json!("minimal"), load), adversarial.clone());
    let outcome = run(&value(0.2));
    let most = (90.0 + 6.0 * 2.0) / 96.0 / 18.0;
    let over = number(&outcome, "/accepted_load");
    assert!(over <= most * 1.01 && over >= 0.95 / 18.0, "{over}, between {} and {most}", 1.0 / 18.0);
    assert_close(accepted(&value(0.05)), 0.05, 0.001, "below saturation");
}
