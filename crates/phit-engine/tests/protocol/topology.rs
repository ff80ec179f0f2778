//! Promises of every topology: symmetric wiring, minimal routes of the promised length, and freedom from deadlock with
//! the virtual channels that it requires.

use phit_engine::engine::{Rng, Stream};
use phit_engine::proof::{Flaw, Legs, check};
use phit_engine::topology::{
    Arrangement, Cascade, Channels, Clos, Dragonfly, Faults, Hop, HopState, Hops, HyperX, Interconnection, Leg, Mesh,
    Multistage, Named, Peer, Port, Single, Topology, TopologyKind, Torus, host_groups,
};
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::sync::Arc;

const ARRANGEMENTS: [Arrangement; 3] = [Arrangement::Palmtree, Arrangement::Consecutive, Arrangement::Relative];
const INJECTED: HopState = HopState { came_by: 0, came_in: 0, leg_hops: Hops(0) };

fn dragonfly(p: u32, a: u32, h: u32, groups: Option<u32>, arrangement: Arrangement) -> TopologyKind {
    TopologyKind::Dragonfly(Dragonfly { p, a, h, groups, arrangement, faults: None })
}

fn torus(dims: &[u32]) -> TopologyKind {
    TopologyKind::Torus(Torus { dims: dims.to_vec(), endpoints_per_router: 1, faults: None })
}

fn mesh(dims: &[u32]) -> TopologyKind {
    TopologyKind::Mesh(Mesh { dims: dims.to_vec(), endpoints_per_router: 1, faults: None })
}

fn hyperx(dims: &[u32], parallel: Option<Vec<u32>>) -> TopologyKind {
    TopologyKind::HyperX(HyperX { dims: dims.to_vec(), endpoints_per_router: 1, parallel, lengths: None, faults: None })
}

fn clos(down: &[u32], up: &[u32], faults: Option<Faults>) -> TopologyKind {
    TopologyKind::Clos(Clos { down: down.to_vec(), up: up.to_vec(), faults })
}

prop_compose! {
    fn any_dragonfly()(p in 1u32..3, a in 1u32..5, h in 1u32..6, arrangement in prop::sample::select(&ARRANGEMENTS[..]))
        (groups in prop::option::of(1..=a * h + 1), p in Just(p), a in Just(a), h in Just(h),
        arrangement in Just(arrangement))
        -> TopologyKind
    {
        dragonfly(p, a, h, groups, arrangement)
    }
}

fn any_grid(wraps: bool) -> impl Strategy<Value = TopologyKind> {
    let dims = prop_oneof![
        prop::collection::vec(2u32..12, 1),
        prop::collection::vec(2u32..7, 2),
        prop::collection::vec(2u32..4, 3),
    ];
    (dims, 1u32..3).prop_map(move |(dims, endpoints_per_router)| match wraps {
        true => TopologyKind::Torus(Torus { dims, endpoints_per_router, faults: None }),
        false => TopologyKind::Mesh(Mesh { dims, endpoints_per_router, faults: None }),
    })
}

prop_compose! {
    fn any_hyperx()(sides in prop::collection::vec((2u32..5, 1u32..4), 1..4), endpoints_per_router in 1u32..3,
        all_single in any::<bool>()) -> TopologyKind
    {
        let (dims, parallel) = sides.into_iter().unzip();
        let parallel = (!all_single).then_some(parallel);
        TopologyKind::HyperX(HyperX { dims, endpoints_per_router, parallel, lengths: None, faults: None })
    }
}

prop_compose! {
    /// Any folded Clos network, with some faulty links if it is still whole without them.
    fn any_clos()(sides in prop::collection::vec((1u32..4, 1u32..4), 2..5), faults in 0u32..8, seed in any::<u32>())
        -> TopologyKind
    {
        let (down, mut up): (Vec<u32>, Vec<u32>) = sides.into_iter().unzip();
        up.pop();
        let faulty = Faults { count: Some(faults), seed: seed.into(), ..Faults::default() };
        let kind = clos(&down, &up, Some(faulty));
        let leaves_minimal_routes = |graph: Arc<dyn Topology>| graph.faulty().is_some_and(|it| it.stranded().is_none());
        let taken = faults > 0 && kind.build().is_ok_and(leaves_minimal_routes);
        if taken { kind } else { clos(&down, &up, None) }
    }
}

prop_compose! {
    /// One Cascade group, or several with any number of links between them.
    fn any_cascade()(rows in 2u32..4, columns in 2u32..5, row_links in 1u32..3, column_links in 1u32..4,
        endpoints in 1u32..3, global_ports in 1u32..4)
        (groups in 1..=rows * columns * global_ports + 1, one in any::<bool>(),
        rows in Just(rows), columns in Just(columns),
        row_links in Just(row_links), column_links in Just(column_links), endpoints in Just(endpoints),
        global_ports in Just(global_ports), rise in any::<bool>()) -> TopologyKind
    {
        let groups = if one { 1 } else { groups.min(7) };
        let endpoints_per_router = Some(endpoints);
        let channels = if one && rise { Channels::Rising } else { Channels::One };
        TopologyKind::Cascade(Cascade {
            faults: None,
            rows, columns, row_links, column_links, endpoints_per_router, groups, global_ports, channels,
        })
    }
}

fn any_multistage() -> impl Strategy<Value = TopologyKind> {
    (2u32..5, 1u32..4, any::<bool>()).prop_map(|(arity, stages, shuffled)| {
        let pattern = if shuffled { Interconnection::PerfectShuffle } else { Interconnection::Butterfly };
        TopologyKind::Multistage(Multistage { arity, stages, pattern, faults: None })
    })
}

/// Whether a port's output and input lead to different routers.
fn one_way(kind: &TopologyKind) -> bool {
    matches!(kind, TopologyKind::Multistage(_))
}

fn any_topology() -> impl Strategy<Value = TopologyKind> {
    prop_oneof![
        4 => any_dragonfly(),
        4 => any_cascade(),
        2 => any_grid(false),
        2 => any_grid(true),
        2 => any_hyperx(),
        3 => any_clos(),
        1 => (1u32..9).prop_map(|endpoints| TopologyKind::Single(Single { endpoints, faults: None })),
        2 => any_multistage(),
    ]
}

fn needed(t: &dyn Topology, legs: Legs) -> Vec<u8> {
    t.vcs_needed(legs.leg(0)).0
}

fn next(t: &dyn Topology, at: u32, hop: Hop) -> (u32, u8) {
    let port = t.port(at, hop.port);
    match port.peer {
        Peer::Router { router, .. } => (router, port.class),
        other => panic!("hop of router {at} leads to {other:?}"),
    }
}

/// Distances from `from` in the graph itself.
fn breadth_first(t: &dyn Topology, from: u32) -> Vec<u32> {
    let mut distance = vec![u32::MAX; t.routers() as usize];
    distance[from as usize] = 0;
    let mut layer = vec![from];
    for d in 1.. {
        let mut outer = Vec::new();
        for (router, port) in layer.iter().flat_map(|&r| (0..t.ports(r)).map(move |p| (r, p))) {
            if let Peer::Router { router: to, .. } = t.port(router, port).peer
                && distance[to as usize] == u32::MAX
            {
                distance[to as usize] = d;
                outer.push(to);
            }
        }
        if outer.is_empty() {
            break;
        }
        layer = outer;
    }
    distance
}

/// Follows [`Topology::minimal_hop`], or [`Topology::group_hop`] if `group` is given, and returns the number of hops.
fn follow(t: &dyn Topology, from: u32, to: u32, group: Option<u32>, legs: Legs, index: u8, rng: &mut Rng) -> u32 {
    let (leg, vcs) = (legs.leg(index), needed(t, legs));
    let (mut at, mut state, mut length) = (from, INJECTED, 0);
    loop {
        let arrived = group.map_or(at == to, |group| t.group_of(at) == group);
        if arrived {
            return length;
        }
        let mut all = Vec::new();
        let hop = match group {
            None => {
                t.minimal_hops(at, to, leg, state, &vcs, &mut all);
                t.minimal_hop(at, to, leg, state, &vcs, rng)
            }
            Some(group) => {
                t.group_hops(at, group, leg, state, &vcs, &mut all);
                t.group_hop(at, group, leg, state, &vcs, rng)
            }
        };
        assert!(all.contains(&hop), "{hop:?} is not among {all:?}");
        assert!((1..all.len()).all(|i| !all[i..].contains(&all[i - 1])), "twice in {all:?}");
        let (router, class) = next(t, at, hop);
        assert!(hop.vcs >= 1 && hop.vc + hop.vcs <= vcs[usize::from(class)], "{hop:?} of class {class}, VCs {vcs:?}");
        at = router;
        state.came_by = class;
        state.came_in = hop.vc + rng.below(u32::from(hop.vcs)) as u8;
        state.leg_hops.add(class);
        length += 1;
        assert!(length <= t.diameter(), "from {from} to {to}: too long");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn wiring_is_symmetric(kind in any_topology()) {
        let t = kind.build().unwrap();
        let mut endpoints = 0;
        let mut ends = BTreeSet::new();
        for (router, port) in (0..t.routers()).flat_map(|r| (0..t.ports(r)).map(|p| (r, p)).collect::<Vec<_>>()) {
            let Port { class, peer } = t.port(router, port);
            prop_assert!(usize::from(class) < t.classes().len());
            match peer {
                Peer::Endpoint(e) => {
                    prop_assert_eq!((class, t.attachment(e)), (0, (router, port)));
                    endpoints += 1;
                }
                Peer::Router { router: other, port: back } => {
                    prop_assert!(class > 0 && other != router && other < t.routers() && back < t.ports(other));
                    match one_way(&kind) {
                        true => prop_assert_eq!(t.port(other, back).class, class),
                        false => {
                            let peer = Peer::Router { router, port };
                            prop_assert_eq!(t.port(other, back), Port { class, peer })
                        }
                    }
                    prop_assert!(ends.insert((other, back)), "two links end at port {} of router {}", back, other);
                }
                Peer::None => prop_assert!(class > 0),
            }
        }
        prop_assert_eq!(endpoints, t.endpoints());
        prop_assert_eq!(t.classes()[0].as_str(), "endpoint");
    }

    #[test]
    fn groups_are_equal_ranges(kind in any_topology()) {
        let t = kind.build().unwrap();
        let all: Vec<u32> = (0..t.groups()).flat_map(|g| t.group_routers(g)).collect();
        prop_assert_eq!(all, (0..t.routers()).collect::<Vec<_>>());
        for g in 0..t.groups() {
            prop_assert_eq!(t.group_routers(g).len(), t.group_routers(0).len());
            prop_assert!(t.group_routers(g).all(|r| t.group_of(r) == g));
        }
    }

    #[test]
    fn distance_is_that_of_the_graph(kind in any_topology()) {
        let t = kind.build().unwrap();
        let mut longest = 0;
        for from in t.hosts() {
            for (to, bfs) in t.hosts().zip(breadth_first(&*t, from)) {
                let distance = t.distance(from, to);
                longest = longest.max(distance);
                // Minimal routes between groups are hierarchical: a path through a third group may be shorter.
                match kind {
                    TopologyKind::Dragonfly(_) => prop_assert!(distance >= bfs && distance <= 3),
                    TopologyKind::Cascade(Cascade { groups: 2.., .. }) => {
                        prop_assert!(distance >= bfs && distance <= 5);
                        prop_assert!(t.group_of(from) != t.group_of(to) || distance == bfs);
                    }
                    _ => prop_assert_eq!(distance, bfs, "from {} to {}", from, to),
                }
            }
        }
        prop_assert_eq!(t.diameter(), longest);
    }

    #[test]
    fn every_minimal_hop_is_one_step_nearer(kind in any_topology()) {
        let t = kind.build().unwrap();
        let vcs = needed(&*t, Legs::Minimal);
        // Where links go one way, a router may be on no path to `to`.
        let sources = if one_way(&kind) { t.hosts() } else { 0..t.routers() };
        for (from, to) in sources.flat_map(|f| t.hosts().map(move |to| (f, to))) {
            if from == to { continue; }
            let mut hops = Vec::new();
            t.minimal_hops(from, to, Legs::Minimal.leg(0), INJECTED, &vcs, &mut hops);
            prop_assert!(!hops.is_empty() || !t.hosts().contains(&from));
            for hop in hops {
                prop_assert_eq!(t.distance(next(&*t, from, hop).0, to) + 1, t.distance(from, to));
            }
        }
    }

    #[test]
    fn routes_have_the_length_of_the_distance(kind in any_topology(), seed: u64) {
        let t = kind.build().unwrap();
        let mut rng = Rng::new(seed, Stream::Router, 0);
        for (from, to) in t.hosts().flat_map(|f| t.hosts().map(move |to| (f, to))) {
            for legs in Legs::ALL {
                for index in 0..legs.leg(0).of {
                    prop_assert_eq!(follow(&*t, from, to, None, legs, index, &mut rng), t.distance(from, to));
                }
            }
        }
    }

    #[test]
    fn routes_to_a_group_end_at_its_nearest_router(kind in any_topology(), seed: u64) {
        let t = kind.build().unwrap();
        let mut rng = Rng::new(seed, Stream::Router, 0);
        for (from, group) in t.hosts().flat_map(|f| host_groups(&*t).map(move |g| (f, g))) {
            let nearest = t.group_routers(group).map(|r| t.distance(from, r)).min();
            prop_assert_eq!(Some(follow(&*t, from, 0, Some(group), Legs::ToGroup, 0, &mut rng)), nearest);
        }
    }

    #[test]
    fn legs_share_the_vcs_without_gap_or_overlap(vcs in 1u8.., of in 1u8..9) {
        let shares: Vec<(u8, u8)> = (0..of).map(|index| Leg { index, of, to_group: false }.share(vcs)).collect();
        prop_assert!(shares.iter().all(|&(first, count)| count >= 1 && first + (count - 1) < vcs));
        if of <= vcs {
            let all: Vec<u8> = shares.iter().flat_map(|&(first, count)| (0..count).map(move |i| first + i)).collect();
            prop_assert_eq!(all, (0..vcs).collect::<Vec<_>>());
            let sizes = || shares.iter().map(|share| share.1);
            prop_assert!(sizes().max().unwrap() - sizes().min().unwrap() <= 1);
        }
    }

    #[test]
    fn scenarios_round_trip(kind in any_topology()) {
        let value = kind.to_value();
        prop_assert_eq!(TopologyKind::from_value("topology", &value).unwrap(), kind.clone());
        // TOML has no null: a default that stands for "computed" must be left out.
        prop_assert!(toml::to_string(&value).is_ok());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_vcs_asked_for_keep_routes_free_of_deadlock(kind in any_topology(), spare in 0u8..2) {
        let t = kind.build().unwrap();
        for legs in Legs::ALL {
            let mut vcs = needed(&*t, legs);
            vcs.iter_mut().skip(1).for_each(|count| *count += spare);
            prop_assert!(check(&*t, legs, &vcs).is_ok(), "{:?}: {:?}", legs, check(&*t, legs, &vcs));
        }
    }
}

#[test]
fn dragonflies_are_free_of_deadlock() {
    for arrangement in ARRANGEMENTS {
        for groups in [None, Some(5), Some(4), Some(2), Some(1)] {
            let t = dragonfly(1, 4, 2, groups, arrangement).build().unwrap();
            for legs in Legs::ALL {
                let proof = check(&*t, legs, &needed(&*t, legs));
                assert!(proof.is_ok(), "{arrangement:?}, groups {groups:?}, {legs:?}: {proof:?}");
            }
        }
    }
}

#[test]
fn folded_clos_networks_are_free_of_deadlock() {
    let faults = |links: &[[u32; 2]]| {
        Some(Faults { links: links.iter().map(|pair| pair.map(Named::from)).collect(), ..Faults::default() })
    };
    let kinds = [
        clos(&[4, 4], &[4], None),
        clos(&[4, 4], &[4], faults(&[[4, 0], [5, 1]])),
        clos(&[2, 3, 4], &[2, 3], None),
        clos(&[3, 2, 2], &[2, 2], faults(&[[0, 4], [3, 6]])),
        clos(&[1, 2, 2, 2, 2], &[2, 2, 2, 2], None),
    ];
    for (kind, legs) in kinds.iter().flat_map(|kind| Legs::ALL.map(|legs| (kind, legs))) {
        let t = kind.build().unwrap();
        let proof = check(&*t, legs, &needed(&*t, legs));
        assert!(proof.is_ok(), "{kind:?}, {legs:?}: {proof:?}");
    }
    // With one channel, Valiant routes close cycles: down to the stop, and up again.
    let t = kinds[0].build().unwrap();
    let merged = |_, hop: Hop, _| Hop { vc: 0, vcs: 1, ..hop };
    assert!(matches!(revised(kinds[0].clone(), Legs::ToRouter, merged), Err(Flaw::Cycle(_))));
    assert!(check(&*t, Legs::Minimal, &[1, 1]).is_ok());
}

#[test]
fn a_large_clos_network_is_built_and_routed_by_arithmetic() {
    // Radix 64, three levels, a full top: 65,536 endpoints on 2048 + 2048 + 1024 routers.
    let t = clos(&[32, 32, 64], &[32, 32], None).build().unwrap();
    assert_eq!((t.endpoints(), t.routers(), t.hosts(), t.diameter()), (65_536, 5120, 0..2048, 4));
    let mut rng = Rng::new(1, Stream::Router, 0);
    for (from, to, hops) in [(0, 2047, 4), (0, 31, 2), (32, 31, 4), (64, 95, 2), (1000, 1001, 2)] {
        assert_eq!(follow(&*t, from, to, None, Legs::Minimal, 0, &mut rng), hops);
        assert_eq!(t.distance(from, to), hops);
    }
    // One faulty link above router 0 costs router 2048 that destination, its 32 parents too, and the 63 others below
    // these.
    let faults = Faults { links: vec![[0, 2048].map(Named::from)], ..Faults::default() };
    let t = clos(&[32, 32, 64], &[32, 32], Some(faults)).build().unwrap();
    let without = |to: u32| {
        let mut hops = Vec::new();
        let stuck = |&router: &u32| {
            hops.clear();
            t.minimal_hops(router, to, Legs::Minimal.leg(0), INJECTED, &[1; 3], &mut hops);
            hops.is_empty() && router != to
        };
        (0..t.routers()).filter(stuck).count()
    };
    assert_eq!((without(0), without(1)), (1 + 32 + 63, 0));
    assert_eq!(follow(&*t, 2047, 0, None, Legs::Minimal, 0, &mut rng), 4);
}

#[test]
fn grids_and_hyperx_are_free_of_deadlock() {
    let parallel = Some(vec![1, 3]);
    let kinds = [
        mesh(&[4, 4]),
        mesh(&[3, 2, 3]),
        torus(&[8]),
        torus(&[4, 5]),
        torus(&[2, 2]),
        torus(&[3, 4, 2]),
        hyperx(&[4, 3], parallel),
        hyperx(&[3, 3, 2], None),
    ];
    for (kind, legs) in kinds.iter().flat_map(|kind| Legs::ALL.map(|legs| (kind, legs))) {
        let t = kind.build().unwrap();
        let proof = check(&*t, legs, &needed(&*t, legs));
        assert!(proof.is_ok(), "{kind:?}, {legs:?}: {proof:?}");
    }
}

#[test]
fn cascades_are_free_of_deadlock() {
    for (rows, columns, groups, global_ports) in [(2, 3, 1, 0), (3, 2, 2, 1), (2, 2, 3, 2), (2, 3, 5, 1), (2, 2, 9, 2)]
    {
        let cascade = Cascade { rows, columns, groups, global_ports, ..Cascade::default() };
        let t = TopologyKind::Cascade(cascade).build().unwrap();
        for legs in Legs::ALL {
            let proof = check(&*t, legs, &needed(&*t, legs));
            assert!(proof.is_ok(), "{rows} x {columns}, {groups} groups, {legs:?}: {proof:?}");
        }
    }
    // With the channels of the two dimensions merged, packets that take them in opposite orders wait for one another.
    let merged = |_, hop: Hop, _| Hop { vc: 0, vcs: 1, ..hop };
    let group = TopologyKind::Cascade(Cascade { rows: 2, columns: 2, ..Cascade::default() });
    assert!(matches!(revised(group, Legs::Minimal, merged), Err(Flaw::Cycle(_))));
}

/// A topology whose hops take other VCs than it says.
#[derive(Debug)]
struct Revised {
    inner: Arc<dyn Topology>,
    /// VCs that the inner topology is told of.
    vcs: Vec<u8>,
    /// From link class, hop and number of VCs of the class to the revised hop.
    revise: fn(u8, Hop, u8) -> Hop,
}

impl Revised {
    fn all(&self, at: u32, out: &mut [Hop]) {
        for hop in out {
            let class = self.inner.port(at, hop.port).class;
            *hop = (self.revise)(class, *hop, self.vcs[usize::from(class)]);
        }
    }
}

impl Topology for Revised {
    fn classes(&self) -> &[String] {
        self.inner.classes()
    }
    fn routers(&self) -> u32 {
        self.inner.routers()
    }
    fn endpoints(&self) -> u32 {
        self.inner.endpoints()
    }
    fn ports(&self, router: u32) -> u16 {
        self.inner.ports(router)
    }
    fn port(&self, router: u32, port: u16) -> Port {
        self.inner.port(router, port)
    }
    fn attachment(&self, endpoint: u32) -> (u32, u16) {
        self.inner.attachment(endpoint)
    }
    fn hosts(&self) -> std::ops::Range<u32> {
        self.inner.hosts()
    }
    fn minimal_hops(&self, at: u32, to: u32, leg: Leg, state: HopState, _: &[u8], out: &mut Vec<Hop>) {
        self.inner.minimal_hops(at, to, leg, state, &self.vcs, out);
        self.all(at, out);
    }
    fn minimal_hop(&self, at: u32, to: u32, leg: Leg, state: HopState, _: &[u8], rng: &mut Rng) -> Hop {
        let mut hop = [self.inner.minimal_hop(at, to, leg, state, &self.vcs, rng)];
        self.all(at, &mut hop);
        hop[0]
    }
    fn vcs_needed(&self, leg: Leg) -> (Vec<u8>, String) {
        self.inner.vcs_needed(leg)
    }
    fn distance(&self, a: u32, b: u32) -> u32 {
        self.inner.distance(a, b)
    }
    fn diameter(&self) -> u32 {
        self.inner.diameter()
    }
    fn groups(&self) -> u32 {
        self.inner.groups()
    }
    fn group_of(&self, router: u32) -> u32 {
        self.inner.group_of(router)
    }
    fn group_routers(&self, group: u32) -> std::ops::Range<u32> {
        self.inner.group_routers(group)
    }
    fn group_hops(&self, at: u32, group: u32, leg: Leg, state: HopState, _: &[u8], out: &mut Vec<Hop>) {
        self.inner.group_hops(at, group, leg, state, &self.vcs, out);
        self.all(at, out);
    }
}

fn revised(kind: TopologyKind, legs: Legs, revise: fn(u8, Hop, u8) -> Hop) -> Result<(), Flaw> {
    let inner = kind.build().unwrap();
    let vcs = needed(&*inner, legs);
    check(&Revised { inner, vcs: vcs.clone(), revise }, legs, &vcs).map(|_| ())
}

/// The channels of a cycle form a walk: each leads to the router of the next.
fn assert_cycle(kind: TopologyKind, proof: Result<(), Flaw>) {
    let t = kind.build().unwrap();
    let Err(Flaw::Cycle(channels)) = proof else { panic!("{kind:?}: {proof:?}") };
    assert!(channels.len() > 1);
    for (i, channel) in channels.iter().enumerate() {
        let Peer::Router { router, .. } = t.port(channel.router, channel.port).peer else { panic!("{channel:?}") };
        assert_eq!(router, channels[(i + 1) % channels.len()].router, "{channels:?}");
    }
}

#[test]
fn a_torus_with_merged_halves_deadlocks() {
    let merged = |_, hop: Hop, vcs| Hop { vc: 0, vcs, ..hop };
    // In a ring of three no packet takes two hops, so that none waits while it holds a link of the same ring.
    assert_eq!(revised(torus(&[3]), Legs::Minimal, merged), Ok(()));
    for dims in [&[4][..], &[5], &[3, 4]] {
        assert_cycle(torus(dims), revised(torus(dims), Legs::Minimal, merged));
    }
    assert_eq!(revised(mesh(&[5, 5]), Legs::Minimal, merged), Ok(()));
    for kind in [mesh(&[3, 3]), hyperx(&[3, 3], None)] {
        assert_cycle(kind.clone(), revised(kind, Legs::ToRouter, merged));
    }
}

#[test]
fn a_dragonfly_with_fewer_vcs_than_it_asks_for_deadlocks() {
    let one_local = |class, hop: Hop, _| Hop { vc: if class == 1 { 0 } else { hop.vc }, ..hop };
    let one_global = |class, hop: Hop, _| Hop { vc: if class == 2 { 0 } else { hop.vc }, ..hop };
    let three_local = |class, hop: Hop, _| Hop { vc: if class == 1 { hop.vc.min(2) } else { hop.vc }, ..hop };
    let two_local = |class, hop: Hop, _| Hop { vc: if class == 1 { hop.vc.min(1) } else { hop.vc }, ..hop };
    for arrangement in ARRANGEMENTS {
        let kind = dragonfly(1, 4, 2, None, arrangement);
        for legs in Legs::ALL {
            assert_cycle(kind.clone(), revised(kind.clone(), legs, one_local));
        }
        assert_cycle(kind.clone(), revised(kind.clone(), Legs::ToGroup, two_local));
        assert_cycle(kind.clone(), revised(kind.clone(), Legs::ToRouter, three_local));
        assert_cycle(kind.clone(), revised(kind.clone(), Legs::ToGroup, one_global));
        assert_cycle(kind.clone(), revised(kind.clone(), Legs::ToRouter, one_global));
        assert!(matches!(
            check(&*kind.build().unwrap(), Legs::ToRouter, &needed(&*kind.build().unwrap(), Legs::Minimal)),
            Err(Flaw::NoSuchChannel { .. })
        ));
    }
}

#[test]
fn errors_name_key_value_and_expectation() {
    let refused = |toml: &str| {
        let value = serde_json::to_value(toml::from_str::<toml::Table>(toml).unwrap()).unwrap();
        TopologyKind::from_value("topology", &value).and_then(|kind| kind.build()).unwrap_err().to_string()
    };
    assert_eq!(
        refused("kind = \"dragonfly\"\np = 2\na = 4\nh = 2\ngroups = 12"),
        "topology.groups = 12: no arrangement of a = 4, h = 2 wires this many groups; expected 1 to a*h + 1 = 9"
    );
    assert_eq!(refused("kind = \"torus\"\ndims = [8, 0]"), "topology.dims[1] = 0: expected a whole number, at least 2");
    assert!(refused("kind = \"dragonfly\"\np = 2\na = 4\nh = 2\narrangment = \"palmtree\"").contains("arrangement"));
    assert!(refused("kind = \"dragonfly\"\np = 2\na = 4\nh = 2\narrangement = \"palm\"").contains("palmtree"));
    assert!(refused("kind = \"mesh\"").starts_with("topology.dims"));
    assert_eq!(
        refused("kind = \"clos\"\ndown = [4]\nup = []"),
        "topology.down = [4]: expected a list of 2 to 32 values"
    );
    assert_eq!(
        refused("kind = \"clos\"\ndown = [4, 4]\nup = [4, 4]"),
        "topology.up = [4, 4]: expected 1 numbers, one for each level of `down` but the last"
    );
    assert_eq!(
        refused("kind = \"clos\"\ndown = [4, 4]\nup = [0]"),
        "topology.up[0] = 0: expected a whole number, at least 1"
    );
    assert!(
        refused("kind = \"clos\"\ndown = [4, 60000, 60000]\nup = [9, 9]")
            .starts_with("topology.down = [4, 60000, 60000]: too large")
    );
    // 2^62 lines, of which 32 times as many are counted.
    assert!(refused("kind = \"multistage\"\narity = 4\nstages = 31").starts_with("topology.arity = 4: too large"));
    assert!(
        refused("kind = \"clos\"\ndown = [4, 4]\nup = [4]\nfaults = { links = [[0, 9]] }")
            .starts_with("topology.faults")
    );
}
