use super::distances::{Distances, Failure};
use super::*;
use crate::engine::{Rng, Stream};
use crate::packet::{HopState, Hops, Leg};
use crate::topology::{Hop, Peer, TopologyKind};
use proptest::prelude::*;
use serde_json::{Value, json};

const LEG: Leg = Leg { index: 0, of: 1, to_group: false };
const INJECTED: HopState = HopState { came_by: 0, came_in: 0, leg_hops: Hops(0) };

fn built(value: Value) -> Result<Arc<dyn Topology>, ScenarioError> {
    let mut value = value;
    value["kind"] = json!("graph");
    TopologyKind::from_value("topology", &value).and_then(|kind| kind.build())
}

/// Neighbours by router, from pairs, as [`Distances::new`] takes them.
fn neighbours(routers: u32, links: &[(u32, u32)]) -> (Vec<u32>, Vec<u32>) {
    let (mut starts, mut peers) = (vec![0], Vec::new());
    for router in 0..routers {
        let far = |&(a, b): &(u32, u32)| if a == router { Some(b) } else { (b == router).then_some(a) };
        peers.extend(links.iter().filter_map(far));
        starts.push(peers.len() as u32);
    }
    (starts, peers)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// More than 64 routers, so that there are several batches, with a tree that connects all routers.
    #[test]
    fn distances_are_shortest(routers in 2u32..150, seed: u64, extra in 0u32..150) {
        let mut rng = Rng::new(seed, Stream::Topology, 0);
        let mut links: Vec<(u32, u32)> = (1..routers).map(|router| (router, rng.below(router))).collect();
        links.extend((0..extra).map(|_| (rng.below(routers), rng.below(routers))).filter(|(a, b)| a != b));
        let (starts, peers) = neighbours(routers, &links);
        match Distances::new(&starts, &peers) {
            Ok(distances) => {
                // Floyd and Warshall.
                let n = routers as usize;
                let mut expected = vec![vec![u32::MAX / 2; n]; n];
                (0..n).for_each(|router| expected[router][router] = 0);
                for &(a, b) in &links {
                    (expected[a as usize][b as usize], expected[b as usize][a as usize]) = (1, 1);
                }
                for (via, from, to) in (0..n).flat_map(|v| (0..n).flat_map(move |f| (0..n).map(move |t| (v, f, t)))) {
                    expected[from][to] = expected[from][to].min(expected[from][via] + expected[via][to]);
                }
                for (from, row) in expected.iter().enumerate() {
                    for (to, &distance) in row.iter().enumerate() {
                        prop_assert_eq!(distances.between(from as u32, to as u32), distance);
                    }
                }
            }
            Err(failure) => prop_assert!(matches!(failure, Failure::TooFar(..)), "{:?}", failure),
        }
    }
}

#[test]
fn routers_that_are_apart_or_too_far_apart_are_named() {
    let (starts, peers) = neighbours(4, &[(0, 1), (2, 3)]);
    assert_eq!(Distances::new(&starts, &peers).unwrap_err(), Failure::Apart(2, 0));
    let line = |routers: u32| {
        let links: Vec<(u32, u32)> = (1..routers).map(|router| (router - 1, router)).collect();
        let (starts, peers) = neighbours(routers, &links);
        Distances::new(&starts, &peers).map(|distances| distances.longest(0..routers))
    };
    assert_eq!(line(128).unwrap(), 127);
    assert_eq!(line(129).unwrap_err(), Failure::TooFar(128, 0));
}

/// The Petersen graph: ten routers of three links, no two of them more than two links apart.
fn petersen() -> Value {
    let ring = (0..5).map(|i| json!([i, (i + 1) % 5]));
    let star = (0..5).map(|i| json!([5 + i, 5 + (i + 2) % 5]));
    let spokes = (0..5).map(|i| json!([i, 5 + i]));
    json!({ "routers": 10, "links": ring.chain(star).chain(spokes).collect::<Vec<_>>() })
}

#[test]
fn the_petersen_graph_has_one_shortest_path_between_any_two_routers() {
    let t = built(petersen()).unwrap();
    assert_eq!((t.routers(), t.endpoints(), t.ports(0), t.diameter()), (10, 10, 4, 2));
    let mut two = 0;
    for (at, to) in (0..10).flat_map(|at| (0..10).map(move |to| (at, to))).filter(|(at, to)| at != to) {
        let mut hops = Vec::new();
        t.minimal_hops(at, to, LEG, INJECTED, &[1, 2], &mut hops);
        assert_eq!(hops.len(), 1, "{at} to {to}");
        two += u32::from(t.distance(at, to) == 2);
    }
    assert_eq!(two, 10 * 6);
}

#[test]
fn both_ends_of_a_link_agree() {
    let links = json!([[0, 1], [0, 1], [1, 2, 1], [2, 0, 1, 3, 3]]);
    let t = built(json!({ "routers": 3, "endpoints": [1, 0, 2], "links": links, "classes": ["short", "long"] }));
    let t = t.unwrap();
    assert_eq!(t.classes(), ["endpoint", "short", "long"]);
    assert_eq!((0..3).map(|endpoint| t.attachment(endpoint)).collect::<Vec<_>>(), [(0, 0), (2, 0), (2, 1)]);
    assert_eq!((0..3).map(|router| t.ports(router)).collect::<Vec<_>>(), [4, 3, 4]);
    for (router, port) in (0..3).flat_map(|router| (0..t.ports(router)).map(move |port| (router, port))) {
        match t.port(router, port).peer {
            Peer::Endpoint(endpoint) => assert_eq!(t.attachment(endpoint), (router, port)),
            Peer::Router { router: far, port: there } => {
                let back = t.port(far, there);
                assert_eq!((back.peer, back.class), (Peer::Router { router, port }, t.port(router, port).class));
            }
            Peer::None => panic!("router {router} port {port}"),
        }
    }
    // The two parallel links share the traffic.
    let mut rng = Rng::new(1, Stream::Router, 0);
    let first = (0..400).filter(|_| t.minimal_hop(0, 1, LEG, INJECTED, &[1, 2, 2], &mut rng).port == 1).count();
    assert!((140..260).contains(&first), "{first}");
}

#[test]
fn each_hop_has_channels_of_its_own() {
    let t = built(petersen()).unwrap();
    assert_eq!(t.vcs_needed(LEG).0, [1, 2]);
    assert_eq!(t.vcs_needed(Leg::SECOND).0, [1, 4]);
    let hop = |leg: Leg, taken: u64, vcs: u8| {
        let state = HopState { leg_hops: Hops(taken << 8), ..INJECTED };
        let Hop { vc, vcs, .. } = t.minimal_hop(0, 1, leg, state, &[1, vcs], &mut Rng::keyed(0, 0));
        (vc, vcs)
    };
    let first = Leg { index: 0, of: 2, to_group: false };
    assert_eq!([hop(LEG, 0, 2), hop(LEG, 1, 2)], [(0, 1), (1, 1)]);
    assert_eq!([hop(LEG, 0, 5), hop(LEG, 1, 5)], [(0, 2), (2, 3)]);
    let legs = [hop(first, 0, 4), hop(first, 1, 4), hop(Leg::SECOND, 0, 4), hop(Leg::SECOND, 1, 4)];
    assert_eq!(legs, [(0, 1), (1, 1), (2, 1), (3, 1)]);
}

#[test]
fn a_group_is_entered_where_it_is_nearest() {
    let line: Vec<Value> = (1..8).map(|router| json!([router - 1, router])).collect();
    let t = built(json!({ "routers": 8, "links": line, "group": 4 })).unwrap();
    assert_eq!((t.groups(), t.group_of(5), t.group_routers(1)), (2, 1, 4..8));
    let hops = |at: u32, group: u32| {
        let mut hops = Vec::new();
        t.group_hops(at, group, LEG, INJECTED, &[1, 7], &mut hops);
        hops.iter().map(|hop| hop.port).collect::<Vec<_>>()
    };
    // Ports: the endpoint, the link to the router before, the link to the one behind.
    assert_eq!(hops(1, 1), [2]);
    assert_eq!(hops(6, 0), [1]);
}

#[test]
fn links_are_kept_as_they_were_written() {
    let links = json!([[0, 1], [1, 2, 1], [2, 0, 1, 1, 1]]);
    let value = json!({ "kind": "graph", "routers": 3, "endpoints": 0, "links": links, "classes": ["a", "b"] });
    let kind = TopologyKind::from_value("topology", &value).unwrap();
    assert_eq!(serde_json::to_value(&kind).unwrap()["links"], links);
}

#[test]
fn errors_name_the_link_and_the_router() {
    let refused = |changes: Value| {
        let mut value = json!({ "routers": 3, "links": [[0, 1], [1, 2]] });
        value.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
        built(value).unwrap_err().to_string()
    };
    for (changes, expected) in [
        (json!({ "links": [[0, 1]] }), "topology.links = routers 2 and 0: no links lead from one to the other"),
        (json!({ "links": [[0, 3]] }), "topology.links[0] = [0, 3]: there is no router 3; expected routers below 3"),
        (json!({ "links": [[0, 1], [1, 1]] }), "topology.links[1] = [1, 1]: expected two different routers"),
        (json!({ "links": [[0, 1], [1, 2, 1]] }), "topology.links[1] = class 1: expected the number of one of 1 class"),
        (json!({ "links": [[0, 1, 0, 0, 1]] }), "port 0 of router 0 is an endpoint's; expected 1 or more"),
        (json!({ "links": [[0, 1, 0, 1, 1], [0, 2, 0, 1, 1]] }), "port 1 of router 0 has a link already"),
        (json!({ "links": [[0, 1, 0, 2, 1], [1, 2]] }), "topology.links = router 0: port 1 has no link"),
        (json!({ "links": [[0, 1, 2, 3]] }), "two routers"),
        (json!({ "endpoints": [1, 1] }), "topology.endpoints = a list of 2: expected 3 numbers, one for each router"),
        (json!({ "endpoints": 0 }), "topology.endpoints = 0: expected 1 to"),
        (json!({ "endpoints": "x" }), "expected a number of endpoints"),
        (json!({ "group": 2 }), "topology.group = 2: expected a divisor of 3"),
    ] {
        let error = refused(changes.clone());
        assert!(error.contains(expected), "{changes}: {error}");
    }
}
