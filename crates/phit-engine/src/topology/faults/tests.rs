//! Tests of faults.

use super::lost::ANY;
use super::*;
use crate::engine::NONE;
use crate::proof::{Legs, check};
use crate::topology::clos::Clos;
use crate::topology::hyperx::HyperX;
use crate::topology::{TopologyKind, TopologyParams, Torus};

fn clos(down: &[u32], up: &[u32], faults: Faults) -> Result<Arc<dyn Topology>, ScenarioError> {
    let params = Clos { down: down.to_vec(), up: up.to_vec(), faults: Some(faults) };
    TopologyKind::Clos(params).build()
}

fn numbers(numbers: &[u32]) -> Vec<Named> {
    numbers.iter().copied().map(Named::from).collect()
}

fn pairs(pairs: &[[u32; 2]]) -> Vec<[Named; 2]> {
    pairs.iter().map(|pair| pair.map(Named::from)).collect()
}

fn ports(graph: &dyn Topology, at: u32, to: u32) -> Vec<u16> {
    let mut hops = Vec::new();
    graph.minimal_hops(at, to, ANY.0, ANY.1, &[1; 8], &mut hops);
    hops.iter().map(|hop| hop.port).collect()
}

#[test]
fn an_uplink_is_a_candidate_only_if_the_destination_can_be_reached_from_its_end() {
    // Figure 8 of Kim, Dally and Abts: radix 8, R4 above R0 to R3, the link between R4 and R0 is faulty.
    let t = clos(&[4, 4], &[4], Faults { links: pairs(&[[4, 0]]), ..Faults::default() }).unwrap();
    assert_eq!(t.port(4, 0).peer, Peer::None);
    assert_eq!(t.port(0, 4).peer, Peer::None);
    assert_eq!(ports(&*t, 1, 0), [5, 6, 7], "not by R4 to R0");
    assert_eq!(ports(&*t, 1, 2), [4, 5, 6, 7], "by R4 to anyone else");
    assert_eq!(ports(&*t, 0, 1), [5, 6, 7], "R0 cannot go up to R4");
    assert_eq!((ports(&*t, 5, 0), ports(&*t, 4, 0)), (vec![0], vec![]));
    let mut rng = Rng::new(1, Stream::Router, 0);
    let mut drawn = [0u32; 8];
    for _ in 0..3000 {
        drawn[usize::from(t.minimal_hop(1, 0, ANY.0, ANY.1, &[1; 8], &mut rng).port)] += 1;
    }
    // Six standard deviations of a binomial count of mean 1000.
    assert!(drawn[..5] == [0; 5] && drawn[5..].iter().all(|n| n.abs_diff(1000) < 155), "{drawn:?}");
}

#[test]
fn losses_spread_down_to_where_there_is_a_choice() {
    // Three levels of two: routers 0 to 3 at the endpoints, 4 to 7, and 8 to 11 (four copies of the whole). Router 4,
    // above 0 and 1, loses router 0. Its parents 8 and 9 reach router 0 over 4 alone, and router 6 leads up to these
    // two alone.
    let t = clos(&[2, 2, 2], &[2, 2], Faults { links: pairs(&[[0, 4]]), ..Faults::default() }).unwrap();
    assert_eq!(t.routers(), 12);
    for (router, left) in [(4, vec![]), (8, vec![]), (9, vec![]), (6, vec![]), (10, vec![0]), (7, vec![2, 3])] {
        assert_eq!(ports(&*t, router, 0), left, "router {router}");
    }
    assert_eq!(ports(&*t, 2, 0), [3], "by router 7 only");
    assert_eq!(ports(&*t, 2, 1), [2, 3]);
    assert_eq!(ports(&*t, 0, 3), [3], "router 0 has one way up");
    assert!(check(&*t, Legs::Minimal, &[1, 1, 1]).is_ok());
}

#[test]
fn faults_are_drawn_among_the_links_asked_for() {
    let drawn = |seed| {
        let faults = Faults { count: Some(16), routers: numbers(&[32, 33]), seed, ..Faults::default() };
        let t = clos(&[32, 32], &[32], faults).unwrap();
        let dead = |router: u32| (0..t.ports(router)).filter(|&p| t.port(router, p).peer == Peer::None).count();
        assert_eq!(dead(32) + dead(33), 16);
        assert_eq!((0..32).map(dead).sum::<usize>(), 16);
        assert_eq!((34..64).map(dead).sum::<usize>(), 0);
        (0..32).map(dead).collect::<Vec<_>>()
    };
    assert_eq!(drawn(1), drawn(1));
    assert_ne!(drawn(1), drawn(2));
    // A whole router at the top.
    let t = clos(&[4, 4], &[4], Faults { routers: numbers(&[5]), ..Faults::default() }).unwrap();
    assert!((0..4).all(|port| t.port(5, port).peer == Peer::None));
    assert_eq!(ports(&*t, 0, 3), [4, 6, 7]);
}

#[test]
fn other_graphs_have_faults_too() {
    // Two routers with three parallel links.
    let whole = HyperX { dims: vec![2], endpoints_per_router: 1, parallel: Some(vec![3]), lengths: None, faults: None }
        .build()
        .unwrap();
    let faults = Faults { links: pairs(&[[0, 1], [1, 0]]), ..Faults::default() };
    let t = faults.apply(whole.clone()).unwrap();
    assert_eq!((ports(&*t, 0, 1), ports(&*t, 1, 0)), (vec![3], vec![3]));
    let refused = |faults: Faults| faults.apply(whole.clone()).unwrap_err().to_string();
    let all = Faults { links: pairs(&[[0, 1]; 3]), ..Faults::default() };
    assert!(refused(all).contains("no way is left from router 0 to router 1"));
    let more = Faults { links: pairs(&[[0, 1]; 4]), ..Faults::default() };
    assert_eq!(refused(more), "links[3] = [0, 1]: no (further) link between these two routers");
}

#[test]
fn what_cannot_be_faulty_is_refused() {
    let refused = |faults| clos(&[4, 4], &[4], faults).unwrap_err().to_string();
    let links = |links: &[[u32; 2]]| Faults { links: pairs(links), ..Faults::default() };
    let none = "topology.faults.links[0] = [0, 1]: no (further) link between these two routers";
    assert_eq!(refused(links(&[[0, 1]])), none);
    assert_eq!(refused(links(&[[4, 0], [4, 9]])), "topology.faults.links[1][1] = 9: expected a router, 0 to 7");
    let count = Faults { count: Some(5), routers: numbers(&[4]), ..Faults::default() };
    assert_eq!(refused(count), "topology.faults.count = 5: expected at most 4, the links to draw from");
    assert_eq!(
        refused(Faults { routers: numbers(&[8]), ..Faults::default() }),
        "topology.faults.routers[0] = 8: expected a router, 0 to 7"
    );
    let split = refused(links(&[[0, 4], [0, 5], [0, 6], [0, 7]]));
    assert!(
        split.starts_with("topology.faults = {\"links\":[[0,4],[0,5],[0,6],[0,7]],\"seed\":0}: no way is left from"),
        "{split}"
    );
    let unknown = Faults { endpoints: numbers(&[16]), ..Faults::default() };
    assert_eq!(refused(unknown), "topology.faults.endpoints[0] = 16: expected an endpoint, 0 to 15");
    // A repair follows its failure, and nothing else happens until routing knows.
    let later = |cycle, delay, until| Later { cycle, delay, until, links: pairs(&[[0, 4]]), ..Later::default() };
    let broken = |later: &[Later]| refused(Faults { later: later.to_vec(), ..Faults::default() });
    let expected = |from| format!("expected a cycle from {from}, with its delay up to 1073741824");
    assert_eq!(
        broken(&[later(100, 50, Some(120))]),
        format!("topology.faults.later[0].until = 120: {}", expected(151))
    );
    assert_eq!(
        broken(&[later(100, 50, Some(300)), Later { links: pairs(&[[1, 4]]), ..later(320, 0, None) }]),
        format!("topology.faults.later[1].cycle = 320: {}", expected(351))
    );
    assert_eq!(broken(&[later(100, 0, Some(90))]), format!("topology.faults.later[0].until = 90: {}", expected(101)));
}

#[test]
fn what_is_left_without_a_minimal_route_is_told() {
    let links = |links: &[[u32; 2]]| Faults { links: pairs(links), ..Faults::default() };
    let stranded = |faults| clos(&[4, 4], &[4], faults).unwrap().faulty().unwrap().stranded();
    // R0 keeps its links to R4 and R5, R1 its links to R6 and R7: they have no common ancestor left.
    assert_eq!(stranded(links(&[[0, 6], [0, 7], [1, 4], [1, 5]])), Some((0, 1)));
    assert_eq!(stranded(links(&[[0, 6], [0, 7], [1, 4]])), None);
    // Failed routers are not considered.
    assert_eq!(stranded(Faults { routers: numbers(&[0]), ..links(&[[1, 6], [1, 7]]) }), None);
}

#[test]
fn what_is_repaired_works_as_before() {
    let later = [
        Later { cycle: 10, until: Some(50), links: pairs(&[[0, 4]]), ..Later::default() },
        Later { cycle: 20, delay: 5, until: Some(40), routers: numbers(&[0]), ..Later::default() },
        Later { cycle: 30, until: Some(60), endpoints: numbers(&[1]), ..Later::default() },
    ];
    let graph = clos(&[4, 4], &[4], Faults { later: later.to_vec(), ..Faults::default() }).unwrap();
    let changes = graph.breakdowns();
    assert_eq!(changes.iter().map(|it| it.cycle).collect::<Vec<_>>(), [10, 20, 30, 40, 50, 60]);
    assert_eq!((changes[0].dead.clone(), changes[0].back.clone()), (vec![(0, 4), (4, 0)], vec![]));
    // Router 0 with its four endpoints and its remaining links.
    assert_eq!(changes[1].dead.len(), 4 + 2 * 3);
    assert_eq!(changes[1].graph.faulty().unwrap().off(), [0, 1, 2, 3]);
    assert!(changes[1].graph.faulty().unwrap().is_down(0));
    // Endpoint 1 was off before, so it stays off when its router is repaired. The link stays broken.
    assert_eq!((changes[2].dead.len(), changes[2].back.len()), (0, 0));
    assert_eq!((changes[3].dead.len(), changes[3].back.len()), (0, 3 + 2 * 3));
    assert_eq!(changes[3].graph.faulty().unwrap().off(), [1]);
    assert_eq!(changes[3].graph.port(0, 4).peer, Peer::None);
    assert_eq!(changes[4].back, [(0, 4), (4, 0)]);
    assert_eq!((changes[5].back.clone(), changes[5].graph.faulty().unwrap().off().len()), (vec![(0, 1)], 0));
}

/// More destinations than a word has bits, and not a multiple of that.
#[test]
fn a_router_has_lost_what_no_minimal_hop_leads_to() {
    for (dims, count) in [(vec![6, 25], 9), (vec![10, 7, 2], 20)] {
        let faults = Faults { count: Some(count), seed: 3, ..Faults::default() };
        let torus = Torus { dims, endpoints_per_router: 1, faults: Some(faults) };
        let graph = TopologyKind::Torus(torus).build().unwrap();
        let faulty = graph.faulty().unwrap();
        let (whole, mut lost, mut hops) = (faulty.whole(), 0, Vec::new());
        for to in 0..graph.routers() {
            let mut nearest: Vec<u32> = (0..graph.routers()).collect();
            nearest.sort_by_key(|&at| whole.distance(at, to));
            let mut leads = vec![false; nearest.len()];
            for at in nearest {
                hops.clear();
                whole.minimal_hops(at, to, ANY.0, ANY.1, &[1; 8], &mut hops);
                leads[at as usize] = at == to
                    || hops.iter().any(|hop| match graph.port(at, hop.port).peer {
                        Peer::Router { router, .. } => leads[router as usize],
                        Peer::Endpoint(_) | Peer::None => false,
                    });
                assert_eq!(faulty.has_lost(at, to), !leads[at as usize], "{at} {to}");
                lost += u32::from(!leads[at as usize]);
            }
        }
        assert!(lost > 500, "{lost}");
    }
}

#[test]
fn routes_that_are_too_long_are_refused_before_faults_are_followed_along_them() {
    // Some 10^9 pairs of routers would have lost their route.
    let faults = Some(Faults { links: pairs(&[[0, 1]]), ..Faults::default() });
    let ring = Torus { dims: vec![65_535], endpoints_per_router: 1, faults };
    let error = TopologyKind::Torus(ring).build().unwrap_err().to_string();
    assert_eq!(error, "topology.dims[0] = 65535: routes of up to 32767 hops in one dimension; expected at most 255");
}

#[test]
fn sums_of_distances_are_those_of_single_searches() {
    // A failed router has no route to others, and others have none to it. The second torus is a long network.
    let faults = Some(Faults { routers: numbers(&[5]), links: pairs(&[[1, 2]]), ..Faults::default() });
    for dims in [vec![9, 8], vec![3, 150]] {
        let torus = Torus { dims, endpoints_per_router: 1, faults: faults.clone() };
        let wires = Wires::new(&*TopologyKind::Torus(torus).build().unwrap());
        let (mut distances, mut order) = (Vec::new(), Vec::new());
        let single = (0..wires.routers()).map(|to| {
            wires.towards(to, &mut distances, &mut order);
            distances.iter().map(|&links| u64::from(links)).sum::<u64>()
        });
        let single: Vec<u64> = single.collect();
        assert_eq!(wires.sums(), single);
        assert!(single[5] > single[0] && single.iter().all(|&sum| sum >= u64::from(NONE)), "{single:?}");
    }
}
