//! Tables with layers: statements of the proof are true, and packets follow the tables.

use crate::common::{histogram, run, scenario, with};
use phit_engine::run::{self, Options};
use phit_engine::scenario::Scenario;
use phit_engine::topology::{Peer, Topology};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

const KINDS: [&str; 3] = ["up_down", "dfsssp", "lash"];

fn verified(value: &Value) -> Value {
    run::verify(&scenario(value)).unwrap_or_else(|error| panic!("{error}\n{value}"))
}

fn refused(value: &Value) -> String {
    let prepared = Scenario::from_value(value).and_then(|scenario| run::prepare(&scenario).map(drop));
    prepared.unwrap_err().to_string()
}

fn network(value: &Value) -> Arc<dyn Topology> {
    scenario(value).topology.build().unwrap()
}

/// A network under all its packets, to be delivered to the last.
fn base(topology: Value, routing: Value, vcs: u32) -> Value {
    json!({
        "topology": topology,
        "router": { "links": { "default": { "vcs": vcs, "buffer": 8 } } },
        "routing": routing,
        "traffic": { "load": 0.6, "packet_size": 4 },
        "measure": { "warmup": 0, "cycles": 300, "count": "generated", "max_drain": 100_000 },
    })
}

/// A tree and some links more, with few endpoints.
fn any_network() -> impl Strategy<Value = Value> {
    (3u32..14).prop_flat_map(|routers| {
        let tree = (1..routers).map(|router| (0..router).prop_map(move |to| [to, router])).collect::<Vec<_>>();
        let more = prop::collection::vec((0..routers, 0..routers), 0..16);
        let endpoints = prop::collection::vec(0u32..3, routers as usize);
        (tree, more, endpoints).prop_map(move |(tree, more, mut endpoints)| {
            endpoints[0] = 1;
            endpoints[1] = 2;
            let more = more.into_iter().filter(|(a, b)| a != b).map(|(a, b)| [a, b]);
            let links: Vec<[u32; 2]> = tree.into_iter().chain(more).collect();
            json!({ "kind": "graph", "routers": routers, "endpoints": endpoints, "links": links })
        })
    })
}

/// Scenarios of one network share its tables. Scenarios with another link, endpoint, fault, root or mechanism do not.
#[test]
fn tables_are_made_once_for_the_scenarios_of_a_network() {
    let ring = |links: Value, endpoints: u32, routing: Value| {
        let topology = json!({ "kind": "graph", "routers": 5, "endpoints": endpoints, "links": links });
        base(topology, routing, 4)
    };
    let table = |value: &Value| run::prepare(&scenario(value)).unwrap().table.unwrap();
    let links = json!([[0, 1], [1, 2], [2, 3], [3, 4], [4, 0]]);
    for kind in KINDS {
        let one = ring(links.clone(), 2, json!(kind));
        let first = table(&one);
        assert!(Arc::ptr_eq(&first, &table(&with(one.clone(), json!({ "traffic": { "load": 0.1 } })))));
        let mut others = vec![
            ring(json!([[0, 1], [1, 2], [2, 3], [3, 4], [4, 1]]), 2, json!(kind)),
            ring(links.clone(), 1, json!(kind)),
            with(one.clone(), json!({ "topology": { "faults": { "routers": [3] } } })),
        ];
        others.extend(KINDS.iter().filter(|&&of| of != kind).map(|of| ring(links.clone(), 2, json!(of))));
        for other in &others {
            assert!(!Arc::ptr_eq(&first, &table(other)), "{other}");
        }
    }
    // One routing's table is never another's, whatever they have in common.
    let kinds = || KINDS.into_iter().chain(["minhop"]).map(|kind| table(&ring(links.clone(), 2, json!(kind))));
    assert!(
        kinds().enumerate().all(|(a, one)| kinds().enumerate().all(|(b, other)| Arc::ptr_eq(&one, &other) == (a == b)))
    );
    let rooted = |root: u32| table(&ring(links.clone(), 2, json!({ "kind": "up_down", "root": root })));
    assert!(Arc::ptr_eq(&rooted(1), &rooted(1)) && !Arc::ptr_eq(&rooted(1), &rooted(2)));
}

/// Each of these channels is behind the one before, the first behind the last.
fn assert_circle(value: &Value, report: &Value) {
    let topology = network(value);
    let cycle = report["cycle"].as_array().unwrap();
    assert!(cycle.len() > 1, "{report}");
    let number = |channel: &Value, key: &str| channel[key].as_u64().unwrap();
    for (channel, next) in cycle.iter().zip(cycle.iter().cycle().skip(1)) {
        let port = topology.port(number(channel, "router") as u32, number(channel, "port") as u16);
        let Peer::Router { router, .. } = port.peer else { panic!("{report}") };
        assert_eq!(u64::from(router), number(next, "router"), "{report}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn every_route_arrives_and_is_proved(topology in any_network()) {
        for kind in KINDS {
            let value = base(topology.clone(), json!(kind), 8);
            let report = verified(&value);
            prop_assert_eq!(&report["proved"], true, "{} {}", kind, report);
            let routes = &report["routes"];
            let endpoints = u64::from(network(&value).endpoints());
            prop_assert_eq!(&routes["pairs"], endpoints * (endpoints - 1));
            prop_assert_eq!(&routes["pairs"], &routes["reachable"]);
            if kind != "up_down" {
                prop_assert_eq!(&routes["nonminimal"], 0);
            }
            // Every pair that takes h links counts on each of them.
            let hops: u64 = pairs(&routes["hops"]).map(|(hops, pairs)| hops * pairs).sum();
            let loads: u64 = pairs(&routes["loads"]).map(|(load, links)| load * links).sum();
            prop_assert_eq!(hops, loads);
            let outcome = run(&value);
            prop_assert_eq!(&outcome.summary()["converged"], true);
            // With one channel it is free of deadlock if there is one layer, and a circle is shown if there are more.
            let merged = with(value.clone(), json!({ "router": { "links": { "default": { "vcs": 1 } } } }));
            let report = verified(&merged);
            match routes["layers"].as_u64() {
                Some(1) => prop_assert_eq!(&report["proved"], true),
                _ if kind == "dfsssp" => {
                    // Routes that were moved to a further layer had closed a cycle.
                    prop_assert_eq!(&report["proved"], false);
                    assert_circle(&merged, &report);
                }
                _ => {}
            }
        }
    }

    /// No route goes up after it has gone down, whatever the roots.
    #[test]
    fn up_down_goes_up_and_then_down(topology in any_network(), roots in prop::collection::vec(0u32..3, 1..3)) {
        let routing = match roots[..] {
            [root] => json!({ "kind": "up_down", "root": root }),
            _ => json!({ "kind": "up_down", "roots": roots }),
        };
        let value = base(topology, routing, 1);
        // With several roots, they need not all be connected.
        prop_assume!(roots.len() == 1 || run::prepare(&scenario(&value)).is_ok());
        let graph = network(&value);
        let routers = graph.routers();
        let shape = &*graph;
        let peer = move |router: u32, port: u16| match shape.port(router, port).peer {
            Peer::Router { router, .. } => Some(router),
            _ => None,
        };
        let peers = |router: u32| (0..shape.ports(router)).filter_map(move |port| peer(router, port));
        let mut level = vec![u32::MAX; routers as usize];
        roots.iter().for_each(|&root| level[root as usize] = 0);
        for distance in 0..routers {
            for router in (0..routers).filter(|router| level[*router as usize] == distance).collect::<Vec<_>>() {
                peers(router).for_each(|peer| level[peer as usize] = level[peer as usize].min(distance + 1));
            }
        }
        let tables = run::routes(&scenario(&value)).unwrap();
        for (from, to) in (0..routers).flat_map(|from| (0..graph.endpoints()).map(move |to| (from, to))) {
            let (end, _) = graph.attachment(to);
            let sends = (0..graph.endpoints()).any(|source| graph.attachment(source).0 == from);
            let (mut at, mut down) = (from, false);
            while sends && at != end {
                let port = tables[at as usize][to as usize].as_u64().unwrap() as u16;
                let Peer::Router { router, .. } = graph.port(at, port).peer else { panic!("{value}") };
                let up = (level[router as usize], router) < (level[at as usize], at);
                prop_assert!(!(up && down), "from {} to endpoint {}: {}", from, to, value);
                down |= !up;
                at = router;
            }
        }
    }

    /// In trees with any numbers of leaves, endpoints and parallel links, every route is as short as possible, and one
    /// channel is enough. Under `ftree`, all routes to an endpoint come down over one link.
    #[test]
    fn trees_are_routed_over_all_their_spines(tree in any_tree()) {
        for kind in ["minhop", "up_down", "ftree", "dfsssp"] {
            let value = base(tree.clone(), json!(kind), 1);
            let report = verified(&value);
            prop_assert_eq!(&report["proved"], true, "{} {}", kind, report);
            let routes = &report["routes"];
            prop_assert_eq!((&routes["nonminimal"], &routes["layers"]), (&json!(0), &json!(1)), "{}", kind);
            prop_assert_eq!(&routes["pairs"], &routes["reachable"]);
            prop_assert_eq!(&run(&value).summary()["converged"], true);
            if kind == "ftree" {
                for (endpoint, links) in downs(&value).iter().enumerate() {
                    prop_assert!(links.len() <= 1, "endpoint {} comes down over {:?}", endpoint, links);
                }
            }
        }
    }
}

/// Leaves with different numbers of endpoints below spines, with one or two links between each two.
fn any_tree() -> impl Strategy<Value = Value> {
    (2u32..6, 2u32..5, 1u32..3).prop_flat_map(|(leaves, spines, parallel)| {
        prop::collection::vec(1u32..6, leaves as usize).prop_map(move |endpoints| {
            let endpoints: Vec<u32> = endpoints.into_iter().chain((0..spines).map(|_| 0)).collect();
            let link = move |leaf: u32, spine: u32| (0..parallel).map(move |_| [leaf, leaves + spine]);
            let links: Vec<[u32; 2]> = (0..leaves)
                .flat_map(|leaf| (0..spines).map(move |spine| (leaf, spine)))
                .flat_map(|(leaf, spine)| link(leaf, spine))
                .collect();
            json!({ "kind": "graph", "routers": leaves + spines, "endpoints": endpoints, "links": links })
        })
    })
}

/// By endpoint, the links by which routes from other routers come to its router, as (router, port).
fn downs(value: &Value) -> Vec<BTreeSet<(u32, u64)>> {
    let graph = network(value);
    let tables = run::routes(&scenario(value)).unwrap();
    let mut found = vec![BTreeSet::new(); graph.endpoints() as usize];
    for (source, to) in (0..graph.endpoints()).flat_map(|source| (0..graph.endpoints()).map(move |to| (source, to))) {
        let (mut at, end) = (graph.attachment(source).0, graph.attachment(to).0);
        while at != end {
            let port = tables[at as usize][to as usize].as_u64().unwrap();
            let Peer::Router { router, .. } = graph.port(at, port as u16).peer else { panic!("{value}") };
            if router == end {
                found[to as usize].insert((at, port));
            }
            at = router;
        }
    }
    found
}

/// Two leaves of 8 endpoints below 4 spines: 64 pairs go each way, over 4 links up and 4 down, so 16 over each of the
/// 16 links. LASH has one route for each pair of switches: all 64 over one link of each leaf, up and down, as OpenSM
/// has.
#[test]
fn a_tree_of_two_leaves_is_routed_over_all_its_links() {
    let links: Vec<[u32; 2]> = (0..2).flat_map(|leaf| (2..6).map(move |spine| [leaf, spine])).collect();
    let tree = json!({ "kind": "graph", "routers": 6, "endpoints": [8, 8, 0, 0, 0, 0], "links": links });
    for kind in ["minhop", "up_down", "ftree", "dfsssp"] {
        let report = verified(&base(tree.clone(), json!(kind), 1));
        assert_eq!(report["proved"], true, "{kind}");
        assert_eq!(report["routes"]["loads"], json!([[16, 16]]), "{kind}");
    }
    let report = verified(&base(tree.clone(), json!("lash"), 1));
    assert_eq!(report["routes"]["loads"], json!([[0, 12], [64, 4]]));
    // One root is one spine.
    let report = verified(&base(tree, json!({ "kind": "up_down", "root": 2 }), 1));
    assert_eq!(report["routes"]["loads"], json!([[0, 12], [64, 4]]));
}

/// A spine with an endpoint of its own and without a cable to one leaf is reached from below; the other two are the
/// roots.
#[test]
fn a_spine_from_which_no_way_leads_down_to_a_leaf_is_no_root() {
    let all = (0..5u32).flat_map(|leaf| (5..8u32).map(move |spine| [leaf, spine]));
    let links: Vec<[u32; 2]> = all.filter(|&link| link != [4, 5]).collect();
    let tree = json!({ "kind": "graph", "routers": 8, "endpoints": [8, 8, 8, 8, 1, 1, 0, 0], "links": links });
    let value = base(tree, json!("up_down"), 1);
    let report = verified(&value);
    let routes = &report["routes"];
    assert_eq!((&report["proved"], &routes["pairs"]), (&json!(true), &routes["reachable"]), "{report}");
    // 26 endpoints are elsewhere, for which a leaf of 8 has two links. A single root's links would carry more than 200.
    let most = pairs(&routes["loads"]).map(|(load, _)| load).max().unwrap();
    assert!((104..120).contains(&most), "{routes}");
}

/// In a complete k-ary n-tree the up-ports are the digits of the destination, as `table` has them there.
#[test]
fn ftree_is_d_mod_k() {
    for (arity, levels) in [(2, 2), (2, 4), (3, 3), (4, 2)] {
        let tree = json!({ "kind": "k_ary_n_tree", "arity": arity, "levels": levels });
        let value = base(tree.clone(), json!("ftree"), 1);
        let tables = run::routes(&scenario(&value)).unwrap();
        let digits = run::routes(&scenario(&base(tree, json!("table"), 1))).unwrap();
        let graph = network(&value);
        for (source, to) in (0..graph.endpoints()).flat_map(|source| (0..graph.endpoints()).map(move |to| (source, to)))
        {
            let (mut at, end) = (graph.attachment(source).0, graph.attachment(to).0);
            while at != end {
                let port = &tables[at as usize][to as usize];
                assert_eq!(port, &digits[at as usize][to as usize], "{arity} {levels}: router {at} to {to}");
                let Peer::Router { router, .. } = graph.port(at, port.as_u64().unwrap() as u16).peer else { panic!() };
                at = router;
            }
        }
    }
}

/// A spine that has lost all cables but one is used by the leaf that it is left with, and a leaf that has lost one by
/// the others.
#[test]
fn a_tree_that_has_lost_cables_is_a_tree() {
    // Four leaves of four endpoints, four spines; leaf 3 has no cable to spines 6 and 7.
    let all = (0..4u32).flat_map(|leaf| (4..8u32).map(move |spine| [leaf, spine]));
    let links: Vec<[u32; 2]> = all.filter(|&[leaf, spine]| leaf < 3 || spine < 6).collect();
    let tree = json!({ "kind": "graph", "routers": 8, "endpoints": [4, 4, 4, 4, 0, 0, 0, 0], "links": links });
    for kind in ["up_down", "ftree"] {
        let report = verified(&base(tree.clone(), json!(kind), 1));
        let routes = &report["routes"];
        assert_eq!((&report["proved"], &routes["nonminimal"]), (&json!(true), &json!(0)), "{kind} {report}");
        // 48 pairs leave leaf 3 over two links, and no link carries more than these 24, nor none.
        let loads: Vec<u64> = pairs(&routes["loads"]).map(|(load, _)| load).collect();
        assert_eq!((loads[0] > 0, loads[loads.len() - 1]), (true, 24), "{kind} {routes}");
    }
}

/// `[[a, b], ...]` as pairs.
fn pairs(list: &Value) -> impl Iterator<Item = (u64, u64)> + '_ {
    list.as_array().unwrap().iter().map(|pair| (pair[0].as_u64().unwrap(), pair[1].as_u64().unwrap()))
}

/// Routers in a ring: port 0 to the endpoint; [`clockwise`] to the next one.
fn ring(routers: u32) -> Value {
    let links: Vec<[u32; 2]> = (0..routers).map(|router| [router, (router + 1) % routers]).collect();
    json!({ "kind": "graph", "routers": routers, "links": links })
}

fn clockwise(router: u32) -> u32 {
    if router == 0 { 1 } else { 2 }
}

#[test]
fn shortest_routes_of_a_ring_need_two_layers() {
    for (kind, routers) in ["dfsssp", "lash"].into_iter().flat_map(|kind| (5..10).map(move |routers| (kind, routers))) {
        let two = base(ring(routers), json!(kind), 2);
        let report = verified(&two);
        assert_eq!((&report["proved"], &report["routes"]["layers"]), (&json!(true), &json!(2)), "{kind} {report}");
        assert_eq!(run(&two).summary()["converged"], true);
        let one = base(ring(routers), json!(kind), 1);
        let report = verified(&one);
        assert_eq!(report["proved"], false, "{kind} {routers}");
        assert_circle(&one, &report);
        let error = refused(&one);
        assert!(error.contains("router.links.default.vcs = 1"), "{error}");
        assert!(error.contains("needs at least 2 virtual channels") && error.contains("2 layers"), "{error}");
    }
}

#[test]
fn dfsssp_of_a_torus_needs_layers_and_up_down_does_not() {
    let torus = json!({ "kind": "torus", "dims": [5, 5] });
    let report = verified(&base(torus.clone(), json!("dfsssp"), 8));
    assert_eq!(report["proved"], true);
    assert!(report["routes"]["layers"].as_u64().unwrap() > 1, "{report}");
    let merged = base(torus.clone(), json!("dfsssp"), 1);
    assert_circle(&merged, &verified(&merged));
    let report = verified(&base(torus, json!("up_down"), 1));
    assert_eq!((&report["proved"], &report["routes"]["layers"]), (&json!(true), &json!(1)));
}

/// All routes lead clockwise round a ring of n routers. For each h from 1 to n - 1, n pairs are h links apart. So
/// n (n - 1) / 2 pairs share every link of that direction, and none takes the other direction. Routes of more than half
/// of the ring are not minimal.
#[test]
fn the_survey_of_a_ring_is_as_counted_by_hand() {
    let n = 6u32;
    let way = |router: u32, to: u32| if router == to { 0 } else { clockwise(router) };
    let entries: Vec<[u32; 3]> =
        (0..n).flat_map(|router| (0..n).map(move |to| [router, to, way(router, to)])).collect();
    let value = base(ring(n), json!({ "kind": "table", "layers": [], "entries": entries }), 1);
    let report = verified(&value);
    let routes = &report["routes"];
    assert_eq!(routes["hops"], json!([[1, 6], [2, 6], [3, 6], [4, 6], [5, 6]]));
    assert_eq!(routes["loads"], json!([[0, 6], [15, 6]]));
    assert_eq!((&routes["pairs"], &routes["nonminimal"]), (&json!(30), &json!(12)));
    assert_eq!((routes["hops_mean"].as_f64(), routes["load_mean"].as_f64()), (Some(3.0), Some(7.5)));
    assert_eq!(report["proved"], false);
    assert_eq!(report["cycle"].as_array().unwrap().len(), 6);
    assert_circle(&value, &report);
}

/// Packets so rare that none meets another: one cycle until it is sent, 2 cycles for each of h + 1 routers, 3 for each
/// of h + 2 links, and the phits of the packet over the last link.
#[test]
fn without_load_a_packet_takes_its_routes_links() {
    let links = json!([[0, 1], [1, 2], [2, 3], [3, 4], [4, 0], [1, 3], [2, 5]]);
    let topology = json!({ "kind": "graph", "routers": 6, "links": links });
    for routing in [json!("dfsssp"), json!("lash"), json!({ "kind": "up_down", "root": 5 })] {
        let value = json!({
            "topology": topology,
            "router": { "latency": 2, "links": { "default": { "latency": 3, "vcs": 4, "buffer": 16 } } },
            "routing": routing,
            "traffic": { "load": 0.0005, "packet_size": 4 },
            "measure": { "warmup": 0, "cycles": 600_000 },
        });
        let report = verified(&value);
        let routes = &report["routes"];
        let seen: BTreeMap<u64, u64> = histogram(&run(&value)).into_iter().collect();
        let all = seen.values().sum::<u64>() as f64;
        for (hops, pairs) in pairs(&routes["hops"]) {
            let expected = 1 + 2 * (hops + 1) + 3 * (hops + 2) + 4;
            let share = seen.get(&expected).copied().unwrap_or(0) as f64 / all;
            let due = pairs as f64 / routes["pairs"].as_f64().unwrap();
            // 450 packets on average, of which fewer than 1 in 100 meets another; 5 standard deviations.
            let bound = 5.0 * (due * (1.0 - due) / all).sqrt() + 0.02;
            assert!((share - due).abs() < bound, "{hops} hops: {share}, not {due}, of {all}\n{value}\n{seen:?}");
        }
    }
}

#[test]
fn channels_may_follow_from_the_way_through_a_router() {
    // Shortest routes in a ring of five. Routes that cross the link between routers 4 and 0 are in layer 1. It has
    // channel 0 before that link, and channel 1 on it and behind it, in both directions.
    let n = 5u32;
    let crosses = |from: u32, to: u32| match (to + n - from) % n {
        1 | 2 => to < from,
        _ => to > from,
    };
    let pairs = (0..n).flat_map(|from| (0..n).map(move |to| (from, to))).filter(|(from, to)| from != to);
    let layers: Vec<[u32; 3]> = pairs.map(|(from, to)| [from, to, u32::from(crosses(from, to))]).collect();
    let counter = |router: u32| 3 - clockwise(router);
    // By input port: the endpoint, or the link that leads on in the same direction.
    let turn = |router: u32, output: u32, input: u32, channel: u8| json!([router, input, output, [0, channel]]);
    let mut channels = Vec::new();
    for (router, channel) in [(3, 0), (4, 1), (0, 1)] {
        channels.extend([0, counter(router)].map(|input| turn(router, clockwise(router), input, channel)));
    }
    for (router, channel) in [(1, 0), (0, 1), (4, 1)] {
        channels.extend([0, clockwise(router)].map(|input| turn(router, counter(router), input, channel)));
    }
    let with_map = base(ring(n), json!({ "kind": "table", "layers": layers, "channels": channels }), 2);
    let report = verified(&with_map);
    assert_eq!((&report["proved"], &report["routes"]["channels"]), (&json!(true), &json!(2)), "{report}");
    assert_eq!(report["routes"]["nonminimal"], 0);
    assert_eq!(run(&with_map).summary()["converged"], true);
    let one = base(ring(n), json!({ "kind": "table", "layers": [] }), 2);
    assert_circle(&one, &verified(&one));
}

#[test]
fn layers_by_endpoint_and_by_router_are_the_same_where_they_agree() {
    // Two endpoints at each router of a ring: the second sends in layer 1.
    let mut topology = ring(4);
    topology["endpoints"] = json!(2);
    let layers: Vec<[u32; 3]> =
        (0..8).flat_map(|from| (0..8).map(move |to| [from, to, from % 2])).filter(|row| row[0] != row[1]).collect();
    let apart = base(topology.clone(), json!({ "kind": "table", "layers": layers }), 2);
    let report = verified(&apart);
    assert_eq!((&report["routes"]["layers"], &report["routes"]["pairs"]), (&json!(2), &json!(56)));
    let together: Vec<[u32; 3]> = layers.iter().map(|&[from, to, _]| [from, to, to % 2]).collect();
    let by_router = base(topology.clone(), json!({ "kind": "table", "layers": together }), 2);
    let other = verified(&by_router);
    for key in ["pairs", "hops", "loads", "layers", "nonminimal"] {
        assert_eq!(report["routes"][key], other["routes"][key], "{key}");
    }
    assert_eq!(run(&apart).summary()["converged"], true);
}

#[test]
fn routes_that_do_not_arrive_are_named() {
    let good = |router: u32, to: u32| if router == to { 0 } else { clockwise(router) };
    let with_entry = |change: Option<[u32; 3]>| {
        let entry = |router: u32, to: u32| [router, to, good(router, to)];
        let mut entries: Vec<[u32; 3]> = (0..4).flat_map(|router| (0..4).map(move |to| entry(router, to))).collect();
        match change {
            Some(change) => entries.push(change),
            None => entries.retain(|entry| entry[..2] != [2, 0]),
        }
        base(ring(4), json!({ "kind": "table", "layers": [], "entries": entries }), 1)
    };
    for (value, expected) in [
        (with_entry(Some([1, 3, 1])), "the route from router 0 to endpoint 3 comes back to router 0"),
        (with_entry(Some([1, 3, 0])), "the route from router 0 to endpoint 3 ends at router 1, at port 0"),
        (with_entry(Some([3, 3, 2])), "comes back to router"),
        (with_entry(None), "the route from router 1 to endpoint 0 ends at router 2, which has no entry for it"),
    ] {
        let report = verified(&value);
        assert_eq!(report["proved"], false);
        let reachable = report["routes"]["reachable"].as_u64().unwrap();
        assert!((8..12).contains(&reachable), "{report}");
        assert!(report["reason"].as_str().unwrap().contains(expected), "{report}");
        let error = refused(&value);
        assert!(error.contains("routing.entries") && error.contains("the route from router"), "{error}");
    }
    for (routing, expected) in [
        (json!({ "kind": "table", "layers": [[0, 9, 0]] }), "routing.layers[0][1] = 9: expected an endpoint, 0 to 3"),
        (
            json!({ "kind": "table", "layers": [], "entries": [[0, 1, 3]] }),
            "routing.entries[0][2] = 3: expected a port of router 0, 0 to 2",
        ),
        (json!({ "kind": "table", "layers": [], "adaptive": true }), "routing.adaptive = true"),
        (json!({ "kind": "table", "channels": [[0, 0, 1, [0]]] }), "routing.channels: expected `layers`"),
        (
            json!({ "kind": "table", "layers": [], "channels": [[0, 0, 3, [0]]] }),
            "routing.channels[0] = [0, 0, 3, [0]]",
        ),
        (json!({ "kind": "up_down", "root": 4 }), "routing.root = 4: expected a router, 0 to 3"),
        (json!({ "kind": "up_down", "roots": [0, 4] }), "routing.roots[1] = 4: expected a router, 0 to 3"),
        (json!({ "kind": "up_down", "roots": [] }), "routing.roots = []: expected a router or more"),
        (json!({ "kind": "up_down", "root": 1, "roots": [1] }), "routing.root = 1: expected `root` or `roots`"),
        // Up is to the lower number: from router 1 to 3 and back only downwards over 0 or 2, which are no roots.
        (json!({ "kind": "up_down", "roots": [1, 3] }), "routing.roots = [1, 3]: no way leads from router"),
        (json!("ftree"), "routing.kind: expected a fat tree"),
        (json!({ "kind": "ftree", "roots": [9] }), "routing.roots[0] = 9: expected a router, 0 to 3"),
    ] {
        let error = refused(&base(ring(4), routing.clone(), 1));
        assert!(error.contains(expected), "{routing}: {error}");
    }
    let one_way = json!({ "kind": "multistage", "arity": 2, "stages": 2 });
    for kind in ["up_down", "ftree"] {
        let error = refused(&base(one_way.clone(), json!(kind), 1));
        assert!(error.contains("leads one way"), "{error}");
    }
    // Routers 1 and 2 are both next to the root, and linked.
    let triangle = json!({ "kind": "graph", "routers": 3, "links": [[0, 1], [0, 2], [1, 2]] });
    let error = refused(&base(triangle, json!({ "kind": "ftree", "roots": [0] }), 1));
    assert!(error.contains("router 1 port 2 leads to router 2, on the same level"), "{error}");
}

#[test]
fn partitions_change_nothing() {
    let topology = json!({ "kind": "jellyfish", "routers": 24, "links": 4, "endpoints_per_router": 2, "seed": 3 });
    let value = base(topology, json!("lash"), 8);
    let outcome = |threads, partitions| {
        let options = Options { threads, partitions: Some(partitions) };
        run::run(&scenario(&value), options, &mut |_, _| true).unwrap().summary()
    };
    assert_eq!(outcome(1, 1), outcome(1, 3));
}
