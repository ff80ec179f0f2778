use super::*;
use crate::engine::Stream;
use crate::schema::kept;
use crate::topology::{Hops, Topology};

const LEG: Leg = Leg { index: 0, of: 1, to_group: false };
const INJECTED: HopState = HopState { came_by: 0, came_in: 0, leg_hops: Hops(0) };

fn built(params: Cascade) -> Arc<dyn Topology> {
    params.build().unwrap()
}

#[test]
fn the_group_of_the_paper_has_96_routers_of_48_ports() {
    let t = built(Cascade::default());
    assert_eq!((t.routers(), t.endpoints(), t.ports(0), t.diameter()), (96, 1728, 18 + 15 + 15, 2));
    assert_eq!((t.class_ports(0, 1), t.class_ports(0, 2)), (18..33, 33..48));
    // Router 37 is in row 2, column 5: its first row link leads to column 0, its last column link to row 5.
    assert_eq!(t.port(37, 18).peer, Peer::Router { router: 32, port: 18 + 4 });
    assert_eq!(t.port(37, 47).peer, Peer::Router { router: 85, port: 33 + 2 * 5 + 2 });
    // Each router is a group to patterns and Valiant routing.
    assert_eq!((t.groups(), t.group_of(7), t.group_routers(7)), (96, 7, 7..8));
}

#[test]
fn a_full_cascade_spreads_its_links_evenly() {
    let t = built(Cascade { groups: 9, ..Cascade::default() });
    assert_eq!((t.endpoints(), t.ports(0)), (9 * 96 * 8, 8 + 30 + 10));
    assert_eq!((t.groups(), t.group_of(96), t.group_routers(2)), (9, 1, 192..288));
    for group in 1..9 {
        // 960 ports for 8 other groups: 120 links to each, 1.25 from every router.
        let to = |router: u32| {
            let leads = |port: &u16| match t.port(router, *port).peer {
                Peer::Router { router, .. } => t.group_of(router) == group,
                _ => false,
            };
            t.class_ports(router, GLOBAL).filter(leads).count()
        };
        let links: Vec<usize> = (0..96).map(to).collect();
        assert_eq!(links.iter().sum::<usize>(), 120);
        assert!(links.iter().all(|count| (1..=2).contains(count)), "{links:?}");
    }
    // As many links as to two groups do not fit: 960 / 7 leaves one port of each group unconnected.
    let t = built(Cascade { groups: 8, ..Cascade::default() });
    let unconnected = |router| t.class_ports(router, GLOBAL).filter(|&p| t.port(router, p).peer == Peer::None).count();
    assert_eq!((0..96).map(unconnected).sum::<usize>(), 960 % 7);
}

#[test]
fn orders_and_parallel_links_are_drawn_evenly() {
    let t = built(Cascade::default());
    let mut rng = Rng::new(1, Stream::Router, 0);
    let mut counts = std::collections::BTreeMap::new();
    for _ in 0..60_000 {
        // From row 0, column 0 to row 2, column 5.
        *counts.entry(t.minimal_hop(0, 37, LEG, INJECTED, &[1, 4, 4], &mut rng).port).or_insert(0u32) += 1;
    }
    // Row first over its one link, or column first over one of three; five standard deviations.
    let row = 18 + 4;
    let column = [0, 1, 2].map(|link| 33 + 5 * link + 1);
    assert_eq!(counts.len(), 4, "{counts:?}");
    assert!(counts[&row].abs_diff(30_000) < 613, "{counts:?}");
    assert!(column.iter().all(|port| counts[port].abs_diff(10_000) < 457), "{counts:?}");
}

#[test]
fn links_between_groups_are_drawn_evenly() {
    // Two groups of 2 x 3 routers, two links between every router and its image: two ways of one hop.
    let t = built(Cascade { rows: 2, columns: 3, groups: 2, global_ports: 2, ..Cascade::default() });
    let (vcs, _) = t.vcs_needed(LEG);
    let mut hops = Vec::new();
    t.minimal_hops(0, 6, LEG, INJECTED, &vcs, &mut hops);
    let ports: Vec<u16> = hops.iter().map(|hop| hop.port).collect();
    assert_eq!(ports, t.class_ports(0, GLOBAL).collect::<Vec<_>>());
    let mut rng = Rng::new(1, Stream::Router, 0);
    let drawn = (0..10_000).filter(|_| t.minimal_hop(0, 6, LEG, INJECTED, &vcs, &mut rng).port == ports[0]).count();
    // Five standard deviations.
    assert!(drawn.abs_diff(5000) < 250, "{drawn}");
}

#[test]
fn channels_rise_along_the_longest_route() {
    let graph = CascadeGraph::new(
        Lines::new(Coordinates::new(&[4, 3], 1).unwrap(), vec![1, 1], 1, ("", String::new())).unwrap(),
        1,
        3,
        1,
        36,
        Channels::One,
    );
    let channels = |route: &[u8], to_group: bool| -> Vec<u8> {
        let mut state = INJECTED;
        let leg = Leg { index: 0, of: 2, to_group };
        let mut next = |&class: &u8| {
            let channel = graph.channel(class, leg, state);
            (state.came_by, state.came_in) = (class, channel);
            channel
        };
        route.iter().map(&mut next).collect()
    };
    let (row, column) = (1, 2);
    assert_eq!(
        channels(&[row, column, GLOBAL, row, column, column, row, GLOBAL, column, row], false),
        [0, 1, 0, 2, 3, 4, 5, 1, 6, 7]
    );
    assert_eq!(channels(&[row, column, GLOBAL, row, column, GLOBAL, column, row], true), [0, 1, 0, 2, 3, 1, 4, 5]);
    assert_eq!(channels(&[GLOBAL, row, column, GLOBAL, row], false), [0, 2, 3, 1, 6]);
    assert_eq!(channels(&[GLOBAL, GLOBAL, row], false), [0, 1, 6]);
    assert_eq!(channels(&[row, column, row, column, GLOBAL, row], false), [0, 1, 2, 3, 1, 6]);
}

#[test]
fn short_routes_have_more_channels_if_these_may_rise() {
    let t = built(Cascade { channels: Channels::Rising, ..Cascade::default() });
    let mut rng = Rng::new(1, Stream::Router, 0);
    let mut channels = |to, index, of, came_in: Option<u8>| {
        let leg = Leg { index, of, to_group: false };
        let state = HopState { came_by: u8::from(came_in.is_some()), came_in: came_in.unwrap_or(0), ..INJECTED };
        let hop = t.minimal_hop(0, to, leg, state, &[1, 4, 4], &mut rng);
        hop.vc..hop.vc + hop.vcs
    };
    // Minimal: one hop away, two hops away, the second of two hops.
    assert_eq!((channels(1, 0, 1, None), channels(17, 0, 1, None), channels(1, 0, 1, Some(1))), (0..4, 0..3, 2..4));
    // Valiant: two channels are left to the second leg, whether it needs them or not.
    assert_eq!((channels(1, 0, 2, None), channels(17, 0, 2, None), channels(17, 1, 2, Some(0))), (0..2, 0..1, 1..3));
    let several = Cascade { channels: Channels::Rising, groups: 2, ..Cascade::default() };
    assert_eq!(several.build().unwrap_err().to_string(), "channels = \"rising\": needs groups = 1");
}

#[test]
fn impossible_cascades_are_refused() {
    let refused = |params: Cascade| kept(params).and_then(|params| params.build()).unwrap_err().to_string();
    assert_eq!(refused(Cascade { rows: 1, ..Cascade::default() }), "rows = 1: expected a whole number, at least 2");
    assert_eq!(
        refused(Cascade { column_links: 0, ..Cascade::default() }),
        "column_links = 0: expected a whole number, at least 1"
    );
    assert_eq!(
        refused(Cascade { groups: 962, ..Cascade::default() }),
        "groups = 962: expected at most 961: a group has 960 global ports"
    );
    assert_eq!(
        refused(Cascade { groups: 2, global_ports: 0, ..Cascade::default() }),
        "groups = 2: expected at most 1: a group has 0 global ports"
    );
    assert!(refused(Cascade { row_links: 5000, ..Cascade::default() }).starts_with("row_links = 5000: a router"));
    assert!(refused(Cascade { endpoints_per_router: Some(70_000), ..Cascade::default() }).contains("at most 65535"));
    assert!(refused(Cascade { rows: 70_000, columns: 70_000, ..Cascade::default() }).contains("endpoints in all"));
}
