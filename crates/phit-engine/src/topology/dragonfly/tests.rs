use super::*;
use crate::engine::Stream;
use crate::schema::kept;
use crate::topology::Hops;

const ALL: [Arrangement; 3] = [Arrangement::Palmtree, Arrangement::Consecutive, Arrangement::Relative];
const INJECTED: HopState = HopState { came_by: 0, came_in: 0, leg_hops: Hops(0) };

fn params(p: u32, a: u32, h: u32) -> Dragonfly {
    Dragonfly { p, a, h, groups: None, arrangement: Arrangement::Palmtree, faults: None }
}

fn build(params: &Dragonfly) -> Arc<dyn Topology> {
    params.build().unwrap()
}

fn leads_to(t: &dyn Topology, router: u32, port: u32) -> (u32, u16) {
    match t.port(router, port as u16).peer {
        Peer::Router { router, port } => (router, port),
        other => panic!("port {port} of router {router}: {other:?}"),
    }
}

#[test]
fn sizes_of_the_network_of_the_contention_paper() {
    let t = build(&params(8, 16, 8));
    assert_eq!((t.groups(), t.routers(), t.endpoints()), (129, 2064, 16512));
    assert_eq!((t.ports(0), t.diameter()), (31, 3));
    assert_eq!(t.attachment(16511), (2063, 7));
}

#[test]
fn global_ports_lead_where_each_arrangement_says() {
    let (p, a, h) = (2, 6, 3);
    let groups = a * h + 1;
    for arrangement in ALL {
        let t = build(&Dragonfly { arrangement, ..params(p, a, h) });
        for (g, slot) in (0..groups).flat_map(|g| (0..a * h).map(move |slot| (g, slot))) {
            let (router, _) = leads_to(&*t, g * a + slot / h, p + a - 1 + slot % h);
            let expected = match arrangement {
                Arrangement::Palmtree => (g + groups - (slot + 1)) % groups,
                Arrangement::Consecutive if slot < g => slot,
                Arrangement::Consecutive => slot + 1,
                Arrangement::Relative => (g + slot + 1) % groups,
            };
            assert_eq!(t.group_of(router), expected, "{arrangement:?}: slot {slot} of group {g}");
        }
    }
}

/// Agreement with FOGSim's numbering. Traffic to the next group leaves each group through its last router and that
/// router's last global port. Traffic to the group h further leaves through that router's first global port. Both
/// arrive in router 0, at the mirrored port.
#[test]
fn palmtree_sends_adversarial_traffic_through_the_last_router() {
    let (p, a, h) = (4, 8, 4);
    let t = build(&params(p, a, h));
    for g in 0..t.groups() {
        for (offset, port) in [(1, h - 1), (h, 0)] {
            let (router, back) = leads_to(&*t, g * a + a - 1, p + a - 1 + port);
            assert_eq!(t.group_of(router), (g + offset) % t.groups());
            assert_eq!((router % a, u32::from(back)), (0, p + a - 1 + h - 1 - port));
        }
    }
}

#[test]
fn local_ports_skip_the_router_itself() {
    let t = build(&params(2, 4, 2));
    let at = |router: u32| (2..5).map(|port| leads_to(&*t, router, port).0).collect::<Vec<_>>();
    assert_eq!(at(4), [5, 6, 7]);
    assert_eq!(at(6), [4, 5, 7]);
    assert_eq!(at(7), [4, 5, 6]);
}

#[test]
fn every_two_groups_are_joined_by_the_same_number_of_links() {
    for (a, h, groups) in [(4, 2, 9), (4, 2, 5), (4, 2, 4), (4, 2, 2), (3, 4, 6), (1, 5, 3), (2, 7, 4)] {
        for arrangement in ALL {
            let t = build(&Dragonfly { groups: Some(groups), arrangement, ..params(1, a, h) });
            let mut links = vec![vec![0; groups as usize]; groups as usize];
            for (router, port) in (0..t.routers()).flat_map(|r| (a..a + h).map(move |p| (r, p))) {
                if let Peer::Router { router: other, .. } = t.port(router, port as u16).peer {
                    links[t.group_of(router) as usize][t.group_of(other) as usize] += 1;
                }
            }
            for (from, to) in (0..groups as usize).flat_map(|f| (0..groups as usize).map(move |t| (f, t))) {
                let expected = if from == to { 0 } else { a * h / (groups - 1) };
                assert_eq!(links[from][to], expected, "{arrangement:?} a={a} h={h} groups={groups}: {from} to {to}");
            }
        }
    }
}

#[test]
fn the_diameter_is_the_longest_distance() {
    for (a, h) in (1..4).flat_map(|a| (1..7).map(move |h| (a, h))) {
        for (groups, arrangement) in (1..=a * h + 1).flat_map(|groups| ALL.map(|arrangement| (groups, arrangement))) {
            let t = build(&Dragonfly { groups: Some(groups), arrangement, ..params(1, a, h) });
            let all = (0..t.routers()).flat_map(|from| (0..t.routers()).map(move |to| (from, to)));
            let longest = all.map(|(from, to)| t.distance(from, to)).max();
            assert_eq!(Some(t.diameter()), longest, "{arrangement:?} a={a} h={h} groups={groups}");
        }
    }
}

#[test]
fn vcs_increase_along_valiant_routes() {
    let t = build(&params(2, 4, 2));
    let hop = |leg, leg_hops, local: bool| {
        // Router 1 of group 0 reaches its own group by a local hop, and the group of its first global port by a global
        // hop.
        let to = if local { 0 } else { leads_to(&*t, 1, 2 + 3).0 };
        let state = HopState { leg_hops, ..INJECTED };
        let mut rng = Rng::new(1, Stream::Router, 0);
        t.minimal_hop(1, to, leg, state, &[1, 4, 2], &mut rng).vc
    };
    let none = Hops::default();
    let mut one = Hops::default();
    one.add(GLOBAL);
    for (to_group, expected) in [(false, [0, 0, 1, 2, 1, 3]), (true, [0, 0, 1, 1, 1, 2])] {
        let leg = |index| Leg { index, of: 2, to_group };
        let vcs = [
            hop(leg(0), none, true),
            hop(leg(0), none, false),
            hop(leg(0), one, true),
            hop(leg(1), none, true),
            hop(leg(1), none, false),
            hop(leg(1), one, true),
        ];
        assert_eq!(vcs, expected, "to_group: {to_group}");
    }
}

#[test]
fn vcs_needed_and_why() {
    let needed = |t: &dyn Topology, of, to_group| t.vcs_needed(Leg { index: 0, of, to_group });
    let t = build(&params(2, 4, 2));
    assert_eq!(needed(&*t, 1, false).0, [1, 2, 1]);
    assert_eq!(needed(&*t, 2, true).0, [1, 3, 2]);
    let (vcs, why) = needed(&*t, 2, false);
    assert_eq!(vcs, [1, 4, 2]);
    assert_eq!(why, "VCs must increase along a route, which is l0 g0 l1 l2 g1 l3");
    let one_group = build(&Dragonfly { groups: Some(1), ..params(2, 4, 2) });
    assert_eq!(needed(&*one_group, 1, false).0, [1, 1, 1]);
    assert_eq!(needed(&*one_group, 2, false).0, [1, 2, 1]);
}

#[test]
fn parallel_links_are_chosen_evenly_among_the_shortest_routes() {
    // Two groups of four routers with two global links each: every router has two links to the other group.
    let t = build(&Dragonfly { groups: Some(2), ..params(1, 4, 2) });
    let leg = Leg { index: 0, of: 1, to_group: false };
    let mut rng = Rng::new(1, Stream::Router, 0);
    let mut count = [0u32; 6];
    for _ in 0..10_000 {
        count[usize::from(t.group_hop(1, 1, leg, INJECTED, &[1, 2, 1], &mut rng).port)] += 1;
    }
    assert_eq!(count[..4], [0; 4], "no local hop: the router has links of its own");
    // Five standard deviations.
    assert!(count[4].abs_diff(5_000) < 250, "{count:?}");
}

#[test]
fn impossible_parameters_are_refused() {
    let refused = |params: Dragonfly| kept(params).and_then(|params| params.build()).unwrap_err().to_string();
    assert_eq!(refused(params(0, 4, 2)), "p = 0: expected a whole number, at least 1");
    assert_eq!(refused(params(2, 4, 0)), "h = 0: expected a whole number, at least 1");
    assert_eq!(
        refused(Dragonfly { groups: Some(10), ..params(2, 4, 2) }),
        "groups = 10: no arrangement of a = 4, h = 2 wires this many groups; expected 1 to a*h + 1 = 9"
    );
    assert!(refused(Dragonfly { groups: Some(0), ..params(2, 4, 2) }).starts_with("groups = 0: "));
    assert_eq!(refused(params(70000, 4, 2)), "p = 70000: a router would have 70005 ports; expected at most 65535");
    assert_eq!(
        refused(params(32, 4000, 64)),
        "a = 4000: 1024004000 routers with 32 endpoints each; expected at most 2147483647 endpoints in all"
    );
    assert!(refused(params(u32::MAX, u32::MAX, u32::MAX)).contains("ports"));
}

/// The branch-free computation agrees with the plain one.
#[test]
fn the_only_hop_is_the_minimal_one_wherever_the_packet_is() {
    for (arrangement, groups) in
        ALL.into_iter().flat_map(|arrangement| [13, 9, 5, 1].map(|groups| (arrangement, groups)))
    {
        let graph = DragonflyGraph::new(&Dragonfly { arrangement, ..params(2, 4, 3) }, groups, groups * 4);
        let mut seen = 0;
        for (at, to) in (0..graph.routers).flat_map(|at| (0..graph.routers).map(move |to| (at, to))) {
            graph.with_only_hop(graph.location(at), to, Hops(0), |_, _, there| assert_eq!(there, at == to));
            for hops in [Hops(0), Hops(1 << (8 * GLOBAL))].into_iter().filter(|_| at != to) {
                let state = HopState { leg_hops: hops, ..INJECTED };
                let hop = graph.minimal_hop(at, to, Leg::ONLY, state, &[], &mut Rng::new(1, Stream::Router, 0));
                graph.with_only_hop(graph.location(at), to, hops, |port, vc, _| {
                    assert_eq!((port, vc), (hop.port, hop.vc), "{arrangement:?}, {groups:?} groups: {at} to {to}");
                    seen += 1;
                });
                assert_eq!(graph.only_port(at, to), graph.has_one_link().then_some(hop.port));
            }
        }
        assert_eq!(seen > 0, graph.has_one_link(), "{arrangement:?}, {groups:?} groups");
    }
}
