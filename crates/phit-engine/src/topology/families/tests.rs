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

/// Links of all routers: the fewest, the most.
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
        // As many routers with a link less as points orthogonal to themselves.
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
    assert!(apart.contains("falls apart") && apart.contains("try another seed"), "{apart}");
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
