//! Networks given as graphs: they are the native ones where both are told the same, families keep their distances, and
//! mechanisms for any network keep theirs.

use crate::common::{assert_close, histogram, number, run, run_with, scenario, with};
use phit_engine::run::{self, Options};
use phit_engine::topology::{Peer, Topology, TopologyKind};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

fn built(topology: &Value) -> Arc<dyn Topology> {
    TopologyKind::from_value("topology", topology).unwrap().build().unwrap()
}

/// The network as a graph, port by port.
fn as_graph(topology: &dyn Topology) -> Value {
    let mut endpoints = vec![0; topology.routers() as usize];
    (0..topology.endpoints()).for_each(|endpoint| endpoints[topology.attachment(endpoint).0 as usize] += 1);
    let mut links = Vec::new();
    for (router, port) in (0..topology.routers()).flat_map(|r| (0..topology.ports(r)).map(move |p| (r, p))) {
        let link = topology.port(router, port);
        if let Peer::Router { router: far, port: there } = link.peer
            && (router, port) < (far, there)
        {
            links.push(json!([router, far, link.class - 1, port, there]));
        }
    }
    let group = topology.group_routers(0).len();
    json!({
        "kind": "graph", "routers": topology.routers(), "endpoints": endpoints, "links": links,
        "classes": topology.classes()[1..], "group": group,
    })
}

fn networks() -> Vec<Value> {
    vec![
        json!({ "kind": "dragonfly", "p": 2, "a": 4, "h": 2 }),
        json!({ "kind": "torus", "dims": [5, 4], "endpoints_per_router": 2 }),
        json!({ "kind": "clos", "down": [4, 3, 4], "up": [2, 3] }),
        json!({ "kind": "k_ary_n_tree", "arity": 3, "levels": 3 }),
    ]
}

fn base(topology: &Value, routing: Value, vcs: u32, load: f64) -> Value {
    json!({
        "topology": topology,
        "router": { "latency": 2, "links": { "default": { "latency": 3, "vcs": vcs, "buffer": 16 } } },
        "routing": routing,
        "traffic": { "load": load, "packet_size": 4 },
        "measure": { "warmup": 200, "cycles": 800, "links": true, "endpoints": true },
    })
}

#[test]
fn under_the_same_tables_a_graph_is_the_native_network_to_the_last_bit() {
    for topology in networks() {
        let native = built(&topology);
        let graph = as_graph(&*native);
        // With one channel, free of deadlock: every port of every router is written into `entries`.
        let up_down = scenario(&base(&topology, json!("up_down"), 1, 0.5));
        let tables = run::routes(&up_down).unwrap();
        let rows = tables.as_array().unwrap().iter().zip(0u64..);
        let entries: Vec<Value> = rows
            .flat_map(|(row, router)| {
                let ports = row.as_array().unwrap().iter().zip(0u64..).filter(|(port, _)| port.as_u64() < Some(65_535));
                ports.map(move |(port, destination)| json!([router, destination, port])).collect::<Vec<_>>()
            })
            .collect();
        let table = json!({ "kind": "table", "layers": [], "entries": entries });
        for (routing, vcs) in [(table, 1), (json!("up_down"), 1), (json!("dfsssp"), 8), (json!("lash"), 8)] {
            let outcome = |topology| run(&base(topology, routing.clone(), vcs, 0.7));
            let (native, graph) = (outcome(&topology), outcome(&graph));
            let kind = &routing["kind"];
            assert!(native.collector().counters.packets.recorded > 500, "{topology} {kind}");
            assert_eq!(native.collector().counters, graph.collector().counters, "{topology} {kind}");
            assert_eq!(native.tables()["links"], graph.tables()["links"], "{topology} {kind}");
            assert_eq!(native.tables()["endpoints"], graph.tables()["endpoints"], "{topology} {kind}");
        }
    }
}

/// Mean of `distance` over all pairs of different endpoints.
fn mean_distance(topology: &dyn Topology) -> f64 {
    let routers: Vec<u32> = (0..topology.endpoints()).map(|endpoint| topology.attachment(endpoint).0).collect();
    let pairs = (0..routers.len()).flat_map(|a| (0..routers.len()).map(move |b| (a, b))).filter(|(a, b)| a != b);
    let sum: u64 = pairs.map(|(a, b)| u64::from(topology.distance(routers[a], routers[b]))).sum();
    sum as f64 / (routers.len() * (routers.len() - 1)) as f64
}

/// A graph takes all shortest paths, where a torus takes dimension order and a Dragonfly local, global, local. If two
/// groups are joined by fewer links over a third one, the graph's routes are shorter. Each hop is a router of 2 cycles
/// and a link of 3. At a low load the rest is queueing, of less than half a cycle on average, which differs by less
/// than a tenth.
#[test]
fn under_minimal_routing_a_graph_is_as_fast_as_the_native_network() {
    for topology in networks() {
        let native = built(&topology);
        let graph_section = as_graph(&*native);
        let graph = built(&graph_section);
        let shorter = mean_distance(&*native) - mean_distance(&*graph);
        assert!((0.0..0.2).contains(&shorter), "{topology}: {shorter}");
        assert!(shorter == 0.0 || topology["kind"] == "dragonfly", "{topology}: {shorter}");
        let latency = |topology: &Value, routing: &str| {
            let mut value = base(topology, json!(routing), 16, 0.05);
            value["measure"] = json!({ "warmup": 200, "cycles": 6000 });
            let outcome = run(&value);
            (number(&outcome, "/latency_mean"), number(&outcome, "/latency_ci"))
        };
        let legs = [("minimal", 1.0), ("valiant", 2.0)];
        for (routing, legs) in legs.into_iter().filter(|(routing, _)| *routing == "minimal" || shorter == 0.0) {
            let ((a, wide_a), (b, wide_b)) = (latency(&topology, routing), latency(&graph_section, routing));
            // Three standard errors of the difference, from intervals of 95 %.
            let bound = 1.5 * (wide_a * wide_a + wide_b * wide_b).sqrt() + 0.1;
            assert_close(b + legs * 5.0 * shorter, a, bound, &format!("{topology} {routing}"));
        }
    }
}

fn families() -> Vec<Value> {
    vec![
        json!({ "kind": "slim_fly", "q": 4, "endpoints_per_router": 1 }),
        json!({ "kind": "polarfly", "q": 4, "endpoints_per_router": 2 }),
        json!({ "kind": "jellyfish", "routers": 20, "links": 3, "seed": 2 }),
        json!({ "kind": "xpander", "links": 3, "lift": 5 }),
        json!({ "kind": "dragonfly_plus", "leaves": 2, "spines": 2 }),
        json!({ "kind": "hamming_mesh", "board": [2, 2], "boards": [2, 2] }),
        json!({ "kind": "rail_optimised", "rails": 3, "hosts": 4, "pods": 2, "spines": 2 }),
        json!({ "kind": "xgft", "children": [4, 3], "parents": [2, 2] }),
    ]
}

/// Packets so rare that none meets another: one cycle until it is sent, 2 cycles for each of h + 1 routers, 3 for each
/// of h + 2 links, and the 4 phits of the packet over the last link. The number of pairs of endpoints at each h follows
/// from the distances.
#[test]
fn without_load_a_packet_in_a_family_takes_a_shortest_path() {
    for topology in families() {
        let graph = built(&topology);
        let mut due: BTreeMap<u64, f64> = BTreeMap::new();
        let routers: Vec<u32> = (0..graph.endpoints()).map(|endpoint| graph.attachment(endpoint).0).collect();
        let all = (routers.len() * (routers.len() - 1)) as f64;
        for (a, b) in (0..routers.len()).flat_map(|a| (0..routers.len()).map(move |b| (a, b))).filter(|(a, b)| a != b) {
            let hops = u64::from(graph.distance(routers[a], routers[b]));
            *due.entry(1 + 2 * (hops + 1) + 3 * (hops + 2) + 4).or_default() += 1.0 / all;
        }
        for routing in ["minimal", "ugal_l", "contention_graph", "polarized", "par_graph"] {
            if routing == "polarized" && topology["kind"] != "slim_fly" && topology["kind"] != "polarfly" {
                continue;
            }
            let value = with(
                base(&topology, json!(routing), 16, 0.001),
                json!({ "measure": { "warmup": 0, "cycles": 80_000 } }),
            );
            let seen: BTreeMap<u64, u64> = histogram(&run(&value)).into_iter().collect();
            let count = seen.values().sum::<u64>() as f64;
            assert!(count > 200.0);
            for (latency, share) in &due {
                let found = seen.get(latency).copied().unwrap_or(0) as f64 / count;
                // Fewer than 1 in 50 meets another; 5 standard deviations.
                let bound = 5.0 * (share * (1.0 - share) / count).sqrt() + 0.03;
                assert_close(found, *share, bound, &format!("{topology} {routing}: latency {latency} {seen:?}"));
            }
        }
    }
}

/// A link of bandwidth 1 that L of N (N - 1) pairs of endpoints share carries L / (N - 1) of the load of an endpoint:
/// the most loaded link is full at (N - 1) / L. Below, everything is accepted; above, it is not, and the link is full.
#[test]
fn a_network_saturates_where_its_tables_say() {
    for topology in [
        json!({ "kind": "polarfly", "q": 3, "endpoints_per_router": 4 }),
        json!({ "kind": "slim_fly", "q": 3, "endpoints_per_router": 4 }),
        json!({ "kind": "xgft", "children": [4, 4], "parents": [1, 2] }),
        json!({ "kind": "torus", "dims": [4, 4], "endpoints_per_router": 2 }),
    ] {
        // One channel, and a queue for each output: no head blocks packets for other outputs.
        let value = |load: f64| {
            let mut value = base(&topology, json!("up_down"), 1, load);
            value["router"]["speedup"] = json!(2);
            value["router"]["output_buffer"] = json!(32);
            value["router"]["links"]["default"]["buffer"] = json!(512);
            value["queueing"] = json!("voqsw");
            // The crossbar is twice as fast only for packets of several phits.
            value["traffic"]["packet_size"] = json!(8);
            value["measure"] = json!({ "warmup": 1500, "cycles": 3000, "links": true });
            value
        };
        let report = run::verify(&scenario(&value(0.1))).unwrap();
        let loads = report["routes"]["loads"].as_array().unwrap();
        let most = loads.iter().map(|row| row[0].as_u64().unwrap()).max().unwrap();
        let endpoints = built(&topology).endpoints();
        let bound = f64::from(endpoints - 1) / most as f64;
        assert!((0.02..0.95).contains(&bound), "{topology}: {bound}");
        let accepted = |load: f64| number(&run(&value(load)), "/accepted_load") / load;
        let below = accepted(0.9 * bound);
        assert!(below > 0.97, "{topology} below {bound}: {below}");
        let above = run(&value(1.2 * bound));
        let accepted = number(&above, "/accepted_load") / (1.2 * bound);
        assert!(accepted < 0.98, "{topology} above {bound}: {accepted}");
        let tables = above.tables();
        let busy = tables["links"]["utilisation"].as_array().unwrap().iter().filter_map(Value::as_f64);
        let busiest = busy.fold(0.0, f64::max);
        assert!(busiest > 0.97, "{topology} above {bound}: {busiest}");
    }
}

/// With as many channels as it asks for a mechanism is proved; with one fewer a circle is shown, each channel of which
/// leads to the router of the next.
#[test]
fn mechanisms_for_any_network_are_proved_and_need_their_channels() {
    let ring = json!({ "kind": "torus", "dims": [5] });
    let slim_fly = json!({ "kind": "slim_fly", "q": 3, "endpoints_per_router": 1 });
    let tree = json!({ "kind": "graph", "routers": 6, "links": [[0, 1], [0, 2], [1, 3], [1, 4], [2, 5], [4, 5]] });
    for (topology, routing, needed) in [
        (&ring, json!({ "kind": "polarized" }), 5),
        (&slim_fly, json!({ "kind": "polarized" }), 5),
        (&slim_fly, json!({ "kind": "polarized", "strong": true }), 4),
        (&slim_fly, json!({ "kind": "polarized", "hops": 3 }), 3),
        (&tree, json!({ "kind": "polarized" }), 9),
        (&ring, json!({ "kind": "par_graph" }), 5),
        (&slim_fly, json!({ "kind": "par_graph" }), 5),
        (&slim_fly, json!({ "kind": "par_graph", "decisions": 0 }), 4),
        (&tree, json!({ "kind": "par_graph", "decisions": 2 }), 8),
    ] {
        let report = run::verify(&scenario(&base(topology, routing.clone(), needed, 0.1))).unwrap();
        assert_eq!(report["proved"], true, "{topology} {routing}: {report}");
        let few = base(topology, routing.clone(), 2, 0.1);
        let report = run::verify(&scenario(&few)).unwrap();
        assert_eq!(report["proved"], false, "{topology} {routing}: {report}");
        let graph = built(topology);
        let cycle = report["cycle"].as_array().unwrap();
        assert!(cycle.len() > 1, "{report}");
        for (channel, next) in cycle.iter().zip(cycle.iter().cycle().skip(1)) {
            let place = |key: &str| channel[key].as_u64().unwrap();
            let Peer::Router { router, .. } = graph.port(place("router") as u32, place("port") as u16).peer else {
                panic!("{report}")
            };
            assert_eq!(u64::from(router), next["router"].as_u64().unwrap(), "{report}");
        }
        let error = run::prepare(&scenario(&base(topology, routing.clone(), needed - 1, 0.1)))
            .map(drop)
            .unwrap_err()
            .to_string();
        assert!(error.contains(&format!("needs at least {needed} virtual channels")), "{error}");
    }
    let short = json!({ "kind": "polarized", "hops": 1 });
    let error = run::verify(&scenario(&base(&slim_fly, short, 5, 0.1))).unwrap_err().to_string();
    assert_eq!(error, "routing.hops = 1: minimal routes have up to 2 hops; expected as many or more");
    let clos = json!({ "kind": "clos", "down": [2, 2], "up": [2] });
    for kind in ["polarized", "par_graph", "contention_graph"] {
        let error = run::verify(&scenario(&base(&clos, json!(kind), 5, 0.1))).unwrap_err().to_string();
        assert!(error.starts_with(&format!("routing.kind = \"{kind}\": needs a network without levels")), "{error}");
    }
}

#[test]
fn mechanisms_for_any_network_deliver_everything_whatever_the_partitions() {
    let slim_fly = json!({ "kind": "slim_fly", "q": 4, "endpoints_per_router": 4 });
    let megafly = json!({ "kind": "dragonfly_plus", "leaves": 3, "spines": 3, "groups": 4 });
    let line = json!({ "kind": "graph", "routers": 6, "endpoints": [1, 1, 1, 1, 1, 1],
        "links": [[0, 1], [1, 2], [2, 3], [3, 4], [4, 5]] });
    for topology in [slim_fly, megafly, line] {
        let base_counters = json!({ "kind": "contention_graph", "misroute": "anywhere", "threshold": 3 });
        let hybrid = json!({ "kind": "contention_graph", "misroute": "anywhere", "credit_threshold": 0.35 });
        for routing in [json!("polarized"), json!("par_graph"), base_counters, hybrid] {
            let mut value = base(&topology, routing.clone(), 18, 0.9);
            value["traffic"]["pattern"] = json!("adversarial");
            value["traffic"]["changes"] = json!([{ "cycle": 300, "load": 0 }]);
            value["router"]["links"]["default"]["buffer"] = json!(4);
            value["measure"] = json!({ "warmup": 0, "cycles": 300, "count": "generated", "max_drain": 100_000 });
            let outcome = |partitions| run_with(&value, Options { threads: 1, partitions: Some(partitions) });
            let one = outcome(1);
            assert_eq!(one.summary()["converged"], true, "{topology} {routing}");
            assert_eq!(one.collector().counters, outcome(3).collector().counters, "{topology} {routing}");
            value["router"]["redecision"] = json!("every_cycle");
            let every = run_with(&value, Options { threads: 1, partitions: Some(2) });
            assert_eq!(one.collector().counters, every.collector().counters, "{topology} {routing}: every cycle");
        }
    }
}

/// All endpoints of a router of a Slim Fly send to the endpoints of one other router. At a distance of 1, there is only
/// one minimal link. Polarized routing and PAR take other routes, too.
#[test]
fn mechanisms_for_any_network_take_other_ways() {
    let topology = json!({ "kind": "slim_fly", "q": 5, "endpoints_per_router": 4 });
    let accepted = |routing: &str| {
        let mut value = base(&topology, json!(routing), 5, 0.6);
        value["traffic"]["pattern"] = json!({ "kind": "shift", "offset": 4 });
        value["measure"] = json!({ "warmup": 500, "cycles": 1000 });
        number(&run(&value), "/accepted_load")
    };
    let minimal = accepted("minimal");
    for routing in ["polarized", "par_graph"] {
        assert!(accepted(routing) > 1.4 * minimal, "{routing}: {} against {minimal}", accepted(routing));
    }
}
