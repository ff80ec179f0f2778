//! Sizes, degrees and diameters against the tables of the papers.

use crate::topology::{Peer, Topology, TopologyKind};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;

fn built(value: Value) -> Arc<dyn Topology> {
    TopologyKind::from_value("topology", &value)
        .and_then(|kind| kind.build())
        .unwrap_or_else(|e| panic!("{value}: {e}"))
}

fn refused(value: Value) -> String {
    TopologyKind::from_value("topology", &value).and_then(|kind| kind.build()).unwrap_err().to_string()
}

/// The routers linked to each router, once for each link.
fn neighbours(t: &dyn Topology) -> Vec<Vec<u32>> {
    let far = |(router, port)| match t.port(router, port).peer {
        Peer::Router { router, .. } => Some(router),
        _ => None,
    };
    (0..t.routers()).map(|router| (0..t.ports(router)).filter_map(|port| far((router, port))).collect()).collect()
}

/// The fewest and the most links of a router.
fn degrees(t: &dyn Topology) -> (usize, usize) {
    let counts: BTreeSet<usize> = neighbours(t).iter().map(Vec::len).collect();
    (*counts.first().unwrap(), *counts.last().unwrap())
}

fn assert_simple(t: &dyn Topology, what: &Value) {
    for (router, far) in neighbours(t).into_iter().enumerate() {
        let once: BTreeSet<u32> = far.iter().copied().collect();
        assert_eq!(once.len(), far.len(), "{what}: router {router} has two links to another");
        assert!(!once.contains(&(router as u32)));
    }
}

#[test]
fn slim_flies_have_the_published_sizes() {
    // Besta and Hoefler, SC 2014: q, routers, links of a router; q = 5 is the graph of Hoffman and Singleton.
    for (q, routers, links) in [
        (3, 18, 5),
        (4, 32, 6),
        (5, 50, 7),
        (7, 98, 11),
        (8, 128, 12),
        (9, 162, 13),
        (11, 242, 17),
        (17, 578, 25),
        (19, 722, 29),
    ] {
        let value = json!({ "kind": "slim_fly", "q": q });
        let t = built(value.clone());
        assert_eq!((t.routers(), degrees(&*t), t.diameter()), (routers, (links, links), 2), "q = {q}");
        assert_eq!(t.endpoints(), routers * (links as u32).div_ceil(2));
        assert_simple(&*t, &value);
    }
    for q in [6, 10, 12] {
        assert!(
            refused(json!({ "kind": "slim_fly", "q": q })).starts_with(&format!("topology.q = {q}: expected a power"))
        );
    }
}

#[test]
fn polarflies_have_the_published_sizes() {
    for q in [2, 3, 4, 5, 7, 8, 9, 11, 13] {
        let value = json!({ "kind": "polarfly", "q": q });
        let t = built(value.clone());
        let degree = q as usize + 1;
        assert_eq!((t.routers(), degrees(&*t), t.diameter()), (q * q + q + 1, (degree - 1, degree), 2), "q = {q}");
        // The routers with one link fewer are the points orthogonal to themselves.
        assert_eq!(neighbours(&*t).iter().filter(|far| far.len() < degree).count(), degree);
        assert_simple(&*t, &value);
    }
}

#[test]
fn random_graphs_are_regular_and_follow_their_seed() {
    for (routers, links, seed) in [(20, 3, 0), (64, 8, 1), (50, 7, 2), (12, 11, 3)] {
        let value = json!({ "kind": "jellyfish", "routers": routers, "links": links, "seed": seed });
        let t = built(value.clone());
        assert_eq!(degrees(&*t), (links, links), "{value}");
        assert_simple(&*t, &value);
        assert_eq!(neighbours(&*t), neighbours(&*built(value.clone())));
        let other = json!({ "kind": "jellyfish", "routers": routers, "links": links, "seed": seed + 10 });
        assert!(links + 1 == routers || neighbours(&*t) != neighbours(&*built(other)));
    }
    // 5 x 3 ports: one is left.
    assert_eq!(degrees(&*built(json!({ "kind": "jellyfish", "routers": 5, "links": 3 }))), (2, 3));
    let apart = refused(json!({ "kind": "jellyfish", "routers": 8, "links": 1 }));
    assert!(apart.starts_with("topology.seed = 0: the graph falls apart, routers "), "{apart}");
    assert!(apart.contains("try another seed"), "{apart}");
}

#[test]
fn an_xpander_links_every_router_to_every_other_meta_node() {
    let value = json!({ "kind": "xpander", "links": 6, "lift": 5, "endpoints_per_router": 2 });
    let t = built(value.clone());
    assert_eq!((t.routers(), t.endpoints(), t.groups()), (35, 70, 7));
    for (router, far) in neighbours(&*t).into_iter().enumerate() {
        let nodes: BTreeSet<u32> = far.iter().map(|&far| t.group_of(far)).collect();
        let others: BTreeSet<u32> = (0..7).filter(|&node| node != t.group_of(router as u32)).collect();
        assert_eq!(nodes, others, "router {router}");
    }
}

#[test]
fn groups_of_a_dragonfly_plus_are_joined_evenly() {
    for (leaves, spines, ports, groups) in [(2, 2, 2, 5), (4, 4, 4, 9), (4, 4, 4, 17), (3, 2, 5, 3), (4, 3, 2, 2)] {
        let value = json!({
            "kind": "dragonfly_plus", "leaves": leaves, "spines": spines, "global_ports": ports, "groups": groups,
        });
        let t = built(value.clone());
        let links = spines * ports / (groups - 1);
        assert_eq!((t.groups(), t.endpoints()), (groups, groups * leaves * spines));
        let far = neighbours(&*t);
        for group in 0..groups {
            let mut across = vec![0; groups as usize];
            for router in t.group_routers(group) {
                let spine = router - t.group_routers(group).start >= leaves;
                let beyond = far[router as usize].iter().filter(|&&far| t.group_of(far) != group);
                beyond.clone().for_each(|&far| across[t.group_of(far) as usize] += 1);
                assert_eq!(beyond.count() as u32, if spine { ports } else { 0 }, "{value}: router {router}");
            }
            let expected: Vec<u32> = (0..groups).map(|other| if other == group { 0 } else { links }).collect();
            assert_eq!(across, expected, "{value}");
        }
    }
    // As many groups as there can be: leaf, spine, spine, leaf.
    let whole = built(json!({ "kind": "dragonfly_plus", "leaves": 2, "spines": 2 }));
    let farthest = (0..whole.endpoints()).map(|e| whole.distance(0, whole.attachment(e).0)).max();
    assert_eq!((whole.groups(), farthest), (5, Some(3)));
    let uneven = refused(json!({ "kind": "dragonfly_plus", "leaves": 2, "spines": 2, "groups": 4 }));
    assert!(uneven.contains("topology.groups = 4") && uneven.contains("expected a divisor of 4 and 1"), "{uneven}");
}

#[test]
fn sizes_are_refused_by_the_keys_that_say_them() {
    for (value, expected) in [
        (
            json!({ "kind": "slim_fly", "q": 5, "endpoints_per_router": 65_530 }),
            "topology.endpoints_per_router = 65530: a router would have 65537 ports; expected at most 65535",
        ),
        (
            json!({ "kind": "slim_fly", "q": 181, "endpoints_per_router": 60_000 }),
            "topology.endpoints_per_router = 60000: 65522 routers with 60000 endpoints each",
        ),
        (
            json!({ "kind": "polarfly", "q": 3, "endpoints_per_router": 70_000 }),
            "topology.endpoints_per_router = 70000",
        ),
        (
            json!({ "kind": "jellyfish", "routers": 65_537, "links": 3 }),
            "topology.routers = 65537: 65537 routers; expec",
        ),
        (json!({ "kind": "jellyfish", "routers": 9, "links": 9 }), "topology.links = 9: expected fewer than 9"),
        (
            json!({ "kind": "jellyfish", "routers": 9, "links": 3, "endpoints_per_router": 4_000_000 }),
            "topology.endpoints_per_router = 4000000: a router would have 4000003 ports",
        ),
        (json!({ "kind": "xpander", "links": 9, "lift": 6_554 }), "topology.lift = 6554: 65540 routers; expected"),
        (
            json!({ "kind": "dragonfly_plus", "leaves": 4_000, "spines": 4_000 }),
            "topology.spines = 4000: 128000008000 routers; expected at most 65536",
        ),
        (
            json!({ "kind": "dragonfly_plus", "leaves": 2, "spines": 2, "endpoints_per_leaf": 65_534 }),
            "topology.endpoints_per_leaf = 65534: a router would have 65536 ports",
        ),
        (json!({ "kind": "hamming_mesh", "board": [2, 2], "boards": [200, 200] }), "topology.boards = [200, 200]"),
        (
            json!({ "kind": "hamming_mesh", "board": [1, 1], "boards": [9, 1], "switch_ports": 4 }),
            "topology.boards = [9, 1]: 18 ends of a row or column need more than two levels",
        ),
        (json!({ "kind": "xgft", "children": [300, 300], "parents": [2, 2] }), "topology.children = [300, 300]"),
        (json!({ "kind": "xgft", "children": [3, 3], "parents": [2] }), "topology.parents = [2]: expected 2 numbers"),
        (json!({ "kind": "rail_optimised", "rails": 300, "hosts": 300 }), "topology.hosts = 300: 90600 routers"),
        (json!({ "kind": "rail_optimised", "rails": 2, "hosts": 3, "spines": 2 }), "topology.spines = 2: 3 links of a"),
        (json!({ "kind": "rail_optimised", "rails": 2, "hosts": 3, "pods": 2 }), "topology.spines = 0: without spines"),
    ] {
        let error = refused(value.clone());
        assert!(error.starts_with(expected), "{value}: {error}");
    }
}

#[test]
fn large_random_graphs_are_drawn_in_little_time() {
    // Steps grow with the number of links times the bits of the number of routers: a second or two unoptimised.
    let t = built(json!({ "kind": "jellyfish", "routers": 3_000, "links": 6, "seed": 1 }));
    assert_eq!(degrees(&*t), (6, 6));
}

/// Largest distance from a router with endpoints to another, in links.
fn farthest(t: &dyn Topology) -> u32 {
    let hosts: BTreeSet<u32> = (0..t.endpoints()).map(|endpoint| t.attachment(endpoint).0).collect();
    hosts.iter().flat_map(|&a| hosts.iter().map(move |&b| t.distance(a, b))).max().unwrap()
}

/// Links of a class, each counted once.
fn links_of(t: &dyn Topology, class: &str) -> usize {
    let ports = (0..t.routers()).flat_map(|router| (0..t.ports(router)).map(move |port| (router, port)));
    ports.filter(|&(router, port)| t.classes()[usize::from(t.port(router, port).class)] == class).count() / 2
}

#[test]
fn hamming_meshes_have_the_published_sizes_and_diameters() {
    // Hoefler et al., SC 2022: some 1,000 accelerators, board, boards and diameter. A route crosses two links of a line
    // in each dimension, and on boards of 4 a link to the edge and one from it: 2 (2 + 0) and 2 (2 + 2).
    for (board, boards, accelerators, diameter) in
        [([1, 1], [32, 32], 1024, 4), ([2, 2], [16, 16], 1024, 4), ([4, 4], [8, 8], 1024, 8)]
    {
        let t = built(json!({ "kind": "hamming_mesh", "board": board, "boards": boards }));
        assert_eq!((t.endpoints(), farthest(&*t), t.diameter()), (accelerators, diameter, diameter), "{board:?}");
        // Every accelerator has four links: to others of its board, or to lines.
        let far = neighbours(&*t);
        assert!(far[..accelerators as usize].iter().all(|far| far.len() == 4));
        let lines = board[1] * boards[1] + board[0] * boards[0];
        assert_eq!(t.routers(), accelerators + lines);
        assert!(far[accelerators as usize..].iter().all(|far| far.len() == 2 * boards[0] as usize));
    }
    // Lines of two levels: two links more in each dimension, and switches within their ports.
    for (boards, ports) in [(8, 8), (11, 8), (5, 6), (9, 7)] {
        let t = built(json!({
            "kind": "hamming_mesh", "board": [2, 2], "boards": [boards, 1], "switch_ports": ports
        }));
        // Up, over the spine and down in a row; columns have one board, and a switch.
        assert_eq!(t.diameter(), 4 + 1, "{boards} boards");
        assert!(neighbours(&*t)[4 * boards..].iter().all(|far| far.len() <= ports));
    }
}

#[test]
fn extended_generalised_fat_trees_have_the_sizes_of_their_paper() {
    // Level i of XGFT(h; m; w) has m(i+1) ... m(h) w(1) ... w(i) nodes (Öhring et al., IPPS 1995).
    for (children, parents) in
        [(vec![4, 4], vec![1, 2]), (vec![4, 3], vec![2, 2]), (vec![3, 2, 4], vec![2, 1, 3]), (vec![5], vec![3])]
    {
        let value = json!({ "kind": "xgft", "children": children, "parents": parents });
        let t = built(value.clone());
        let levels = children.len();
        let lowest = usize::from(parents[0] == 1);
        let nodes = |level: usize| children[level..].iter().product::<u32>() * parents[..level].iter().product::<u32>();
        assert_eq!(t.routers(), (lowest..=levels).map(nodes).sum::<u32>(), "{value}");
        assert_eq!(t.endpoints(), nodes(0));
        assert_eq!(farthest(&*t), 2 * (levels - lowest) as u32, "{value}");
        let mut first = 0;
        for level in lowest..=levels {
            let down = if level > lowest { children[level - 1] } else { 0 };
            let degree = (down + parents.get(level).copied().unwrap_or(0)) as usize;
            let of_level = (first..first + nodes(level)).map(|router| neighbours(&*t)[router as usize].len());
            assert!(of_level.clone().all(|links| links == degree), "{value}: level {level}");
            first += nodes(level);
        }
    }
    // One plane is the folded Clos network, link by link.
    let tree = built(json!({ "kind": "clos", "down": [3, 2, 4], "up": [2, 3] }));
    let graph = built(json!({ "kind": "xgft", "children": [3, 2, 4], "parents": [1, 2, 3] }));
    assert_eq!((tree.routers(), tree.endpoints()), (graph.routers(), graph.endpoints()));
    for router in 0..tree.routers() {
        let ports = |t: &dyn Topology| (0..t.ports(router)).map(|port| t.port(router, port)).collect::<Vec<_>>();
        assert_eq!(ports(&*tree), ports(&*graph), "router {router}");
    }
    // Planes are joined by nodes alone, and parallel links are counted.
    let planes = built(json!({ "kind": "xgft", "children": [4, 2], "parents": [2, 2], "parallel": [1, 3] }));
    let far = neighbours(&*planes);
    assert_eq!((planes.routers(), links_of(&*planes, "level0"), links_of(&*planes, "level1")), (8 + 4 + 4, 16, 24));
    let plane = |router: usize| if router < 12 { (router - 8) % 2 } else { (router - 12) / 2 };
    assert!((8..16).all(|router| far[router].iter().all(|&far| far < 8 || plane(far as usize) == plane(router))));
}

#[test]
fn rail_optimised_networks_have_the_published_sizes() {
    // NVIDIA DGX SuperPOD with DGX H100, reference architecture. Scalable units have 32 hosts of 8 accelerators (one
    // host fewer is used), with leaf and spine switches of 64 ports. `cables` are links between leaves and spines.
    for (units, leaves, spines, cables) in [(1, 8, 4, 256), (2, 16, 8, 512), (4, 32, 16, 1024)] {
        let t = built(json!({ "kind": "rail_optimised", "rails": 8, "hosts": 32, "pods": units, "spines": spines }));
        let accelerators = 256 * units;
        assert_eq!((t.endpoints(), t.routers()), (accelerators, accelerators + 32 * units + leaves + spines));
        assert_eq!(links_of(&*t, "spine"), cables);
        assert_eq!((links_of(&*t, "host"), links_of(&*t, "rail")), (accelerators as usize, accelerators as usize));
        let far = neighbours(&*t);
        assert!(far[(t.routers() - leaves - spines) as usize..].iter().all(|far| far.len() == 64));
        // Rail 3 of hosts 0 and 1; rails 3 and 5 of one host; of two hosts over a spine or a host; of two pods.
        assert_eq!([11, 5, 13].map(|to| t.distance(3, to)), [2, 2, 4]);
        assert_eq!(farthest(&*t), 4);
    }
    let rail_only = built(json!({ "kind": "rail_optimised", "rails": 4, "hosts": 3 }));
    assert_eq!((rail_only.routers(), farthest(&*rail_only)), (12 + 3 + 4, 4));
}
