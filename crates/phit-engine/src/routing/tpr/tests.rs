//! The regions one by one, and the counters of running networks.

use super::regions::Depends;
use super::regions::{Only, Region};
use super::*;
use crate::engine::NONE;
use crate::measure::Counters;
use crate::routing::{RoutingKind, source_adaptive};
use crate::run::{Options, Simulation, verify};
use crate::scenario::Scenario;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::Mutex;

#[test]
fn the_nine_regions_of_table_iii() {
    let paper = Regions { thr: 0.25, ..Tpr::default().regions() };
    let (benign, mixed, adversarial) = (0.1, 2.0, 5.0);
    let (calm, busy, hot) = (0.1, 0.5, 0.7);
    // Local traffic from left to right, global traffic from top to bottom.
    let expected = [
        [
            (benign, calm, Mechanism::Minimal),
            (mixed, calm, Mechanism::Ugal(-4)),
            (adversarial, calm, Mechanism::Ugal(-48)),
        ],
        [
            (benign, busy, Mechanism::Ugal(64)),
            (mixed, busy, Mechanism::Ugal(-20)),
            (adversarial, busy, Mechanism::Ugal(-64)),
        ],
        [
            (benign, hot, Mechanism::Ugal(48)),
            (mixed, hot, Mechanism::Ugal(-40)),
            (adversarial, hot, Mechanism::Valiant),
        ],
    ];
    for (local, global, mechanism) in expected.into_iter().flatten() {
        assert_eq!(paper.mechanism(local, global), mechanism, "local {local}, global {global}");
    }
    // Where `thr` decides: strictly below it packets go minimally, in both rows.
    assert_eq!(paper.mechanism(0.15, 0.1), Mechanism::Ugal(64), "0.15 + 0.1 is not below 0.25");
    assert_eq!(Regions { thr: 0.7, ..paper.clone() }.mechanism(benign, busy), Mechanism::Minimal);
    // The thresholds themselves are mixed.
    for (local, global) in [(0.8, 0.33), (4.0, 0.6), (0.8, 0.6), (4.0, 0.33)] {
        assert_eq!(paper.mechanism(local, global), Mechanism::Ugal(-20), "local {local}, global {global}");
    }
    let table = [[Region::Only(Only::Minimal); 3]; 3];
    assert_eq!(Regions { table, ..paper }.mechanism(9.0, 9.0), Mechanism::Minimal);
}

fn read(keys: Value) -> Result<Tpr, String> {
    let mut document = json!({ "kind": "tpr" });
    document.as_object_mut().unwrap().extend(keys.as_object().unwrap().clone());
    match RoutingKind::from_value("routing", &document) {
        Ok(RoutingKind::Tpr(params)) => {
            let graph = crate::topology::TopologyKind::from_value("", &json!("cascade")).unwrap().build().unwrap();
            params.check(&*graph).map_err(|error| error.to_string()).map(|()| params)
        }
        Ok(other) => Err(other.kind().to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

#[test]
fn every_threshold_and_region_is_a_key() {
    let regions = json!([[{ "minimal_or": 5 }, "minimal", 3], ["valiant", 2, 1], [0, -1, { "minimal_or": -2 }]]);
    let params = read(json!({ "thr": 0.1, "local_low": 0.2, "window": 50, "regions": regions })).unwrap();
    assert_eq!(params.regions[0][0], Region::Depends(Depends { minimal_or: 5 }));
    assert_eq!(params.regions[1], [Region::Only(Only::Valiant), Region::Ugal(2), Region::Ugal(1)]);
    assert_eq!(read(serde_json::to_value(&params).unwrap()).unwrap(), params);
    for (keys, expected) in [
        (json!({ "window": 0 }), "window = 0: expected a whole number of cycles, at least 1"),
        (json!({ "local_low": 5.0 }), "local_high = 4: expected a number from local_low = 5 up"),
        (json!({ "global_low": -1.0 }), "global_low = -1.0: expected a number, at least 0"),
        (json!({ "thr": -0.5 }), "thr = -0.5: expected a number, at least 0"),
        (json!({ "minimal_candidates": 0 }), "minimal_candidates = 0: expected a whole number from 1 to 64"),
        (json!({ "regions": [[1, 2, 3]] }), "routing.regions"),
        (json!({ "regions": [["maximal", 2, 3], [1, 2, 3], [1, 2, 3]] }), "routing.regions"),
    ] {
        let error = read(keys).unwrap_err();
        assert!(error.contains(expected), "{error}\nshould contain\n{expected}");
    }
}

/// A small busy Cascade.
fn scenario(routing: Value, groups: u32, load: f64, seed: u64) -> Value {
    let parts = json!([{ "weight": 1, "pattern": "uniform" }, { "weight": 2, "pattern": "adversarial" }]);
    json!({
        "seed": seed,
        "topology": {
            "kind": "cascade", "rows": 2, "columns": 3, "endpoints_per_router": 4, "groups": groups, "global_ports": 1,
        },
        "router": {
            "speedup": 2, "clock": "crossbar",
            "links": { "default": { "latency": 4, "vcs": 8, "buffer": 16 } },
        },
        "routing": routing,
        "traffic": { "load": load, "pattern": { "kind": "mix", "by": "router", "parts": parts } },
        "measure": { "warmup": 0, "cycles": 600 },
    })
}

fn sums(value: &Value, threads: usize, partitions: usize) -> Counters {
    let scenario = Scenario::from_value(value).unwrap();
    let options = Options { threads, partitions: Some(partitions) };
    let outcome = Simulation::new(&scenario, options).unwrap().run(&mut |_, _| true);
    outcome.unwrap_or_else(|error| panic!("{error}")).collector().counters.clone()
}

/// TPR with regions that even a small network visits.
fn lively(changes: Value) -> Value {
    let mut routing = json!({
        "kind": "tpr", "window": 20, "thr": 0.1,
        "local_low": 0.2, "local_high": 0.6, "global_low": 0.1, "global_high": 0.3,
    });
    routing.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
    routing
}

#[test]
fn with_one_offset_everywhere_it_is_ugal() {
    for (offset, groups, size) in [(0, 1, 1), (5, 1, 1), (-3, 1, 1), (0, 3, 1), (2, 1, 3)] {
        let same = json!({ "stop": "anywhere", "minimal_candidates": 2, "valiant_candidates": 2, "queue": "port" });
        let with = |own: Value| {
            let mut routing = same.clone();
            routing.as_object_mut().unwrap().extend(own.as_object().unwrap().clone());
            let mut scenario = scenario(routing, groups, 0.3, 5);
            scenario["traffic"]["packet_size"] = size.into();
            sums(&scenario, 1, 1)
        };
        let row = json!([offset, offset, offset]);
        let tpr = with(json!({ "kind": "tpr", "regions": [row, row, row] }));
        assert_eq!(tpr, with(json!({ "kind": "ugal_l", "threshold": offset })));
        assert!(tpr.packets.recorded > 500 && tpr.misrouting.anyhow > 0);
        let table: Value = serde_json::to_value(TABLE_III).unwrap();
        assert_ne!(tpr, with(json!({ "kind": "tpr", "regions": table })));
    }
}

#[test]
fn partitions_change_nothing() {
    for (changes, groups) in
        [(json!({}), 1), (json!({ "window_kind": "tumbling" }), 3), (json!({ "destinations": "group" }), 3)]
    {
        let value = scenario(lively(changes), groups, 0.5, 3);
        let one = sums(&value, 1, 1);
        assert!(
            one.packets.recorded > 1000 && one.misrouting.anyhow > 0 && one.misrouting.anyhow < one.packets.recorded
        );
        assert_eq!(sums(&value, 2, 3), one);
    }
}

#[test]
fn it_is_proved_free_of_deadlock() {
    for groups in [1, 3] {
        let report = verify(&Scenario::from_value(&scenario(lively(json!({})), groups, 0.1, 1)).unwrap()).unwrap();
        assert_eq!(report["proved"], true, "{report}");
    }
}

/// Departures: router, tick, source or through, destination router, output port.
type Departures = Arc<Mutex<Vec<(u32, Tick, bool, u32, u16)>>>;

/// The mechanism, with a record of what leaves.
struct Watched {
    inner: Box<dyn Routing>,
    seen: Departures,
}

impl Routing for Watched {
    fn wants(&self) -> Wants {
        self.inner.wants()
    }
    fn inject(&mut self, at: &mut Injection<'_>, packet: &mut Packet) {
        self.inner.inject(at, packet);
    }
    fn route(&mut self, view: &mut View<'_>, port: u16, queue: u16, packet: &mut Packet) -> Option<Hop> {
        self.inner.route(view, port, queue, packet)
    }
    fn departs(&mut self, at: &RouterView<'_>, port: u16, queue: u16, hop: Hop, packet: &mut Packet) {
        let own = at.topology.port(at.router, port).class == 0;
        self.seen.lock().unwrap().push((at.router, at.now, own, packet.destination_router, hop.port));
        self.inner.departs(at, port, queue, hop, packet);
    }
    fn observe(&self, router: u32, now: Tick, see: See<'_>) {
        self.inner.observe(router, now, see);
    }
}

struct WatchedParams(Tpr, Departures);

impl serde::Serialize for WatchedParams {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl RoutingParams for WatchedParams {
    fn check(&self, topology: &dyn Topology) -> Result<(), ScenarioError> {
        self.0.check(topology)
    }
    fn vcs_needed(&self, topology: &dyn Topology) -> (Vec<u8>, String) {
        self.0.vcs_needed(topology)
    }
    fn proof(&self) -> Proof {
        self.0.proof()
    }
    fn build(&self, context: &RoutingContext) -> Box<dyn Routing> {
        Box::new(Watched { inner: self.0.build(context), seen: self.1.clone() })
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn counters_are_what_left_within_the_window(
        load in 0.1f64..1.0, window in 1u32..40, tumbling: bool, by_group: bool, groups in 1u32..4, seed: u64
    ) {
        let kind = if tumbling { "tumbling" } else { "sliding" };
        let destinations = if by_group { "group" } else { "router" };
        let routing = lively(json!({ "window": window, "window_kind": kind, "destinations": destinations }));
        let mut scenario = Scenario::from_value(&scenario(routing, groups, load, seed)).unwrap();
        let RoutingKind::Tpr(params) = scenario.routing.clone() else { unreachable!() };
        let seen = Departures::default();
        scenario.routing = RoutingKind::custom("watched", WatchedParams(params, seen.clone()));
        let mut simulation = Simulation::new(&scenario, Options { threads: 1, partitions: Some(2) }).unwrap();
        let (length, mut counted) = (2 * window, 0);
        for now in (1..400u32).step_by(7) {
            // All ticks before `now` have passed.
            simulation.advance_to(now);
            let (from, to) = match tumbling {
                true => ((now / length * length).saturating_sub(length), now / length * length),
                false => (now.saturating_sub(length), now),
            };
            let seen = seen.lock().unwrap();
            let topology = simulation.parts()[0].map.topology.clone();
            let mut expected: HashMap<(u32, &str, u16), u32> = HashMap::new();
            for &(router, at, own, destination, port) in seen.iter() {
                if !(from..to).contains(&at) {
                    continue;
                }
                let here = topology.group_of(router) == topology.group_of(destination);
                let sent = match (by_group, here) {
                    (false, _) => destination,
                    (true, false) => topology.group_of(destination),
                    (true, true) => {
                        topology.groups() + destination - topology.group_routers(topology.group_of(router)).start
                    }
                };
                let key = if own { (router, "sent", sent as u16) } else { (router, "through", port) };
                *expected.entry(key).or_default() += 1;
            }
            counted += expected.len();
            for partition in simulation.parts() {
                for router in partition.setup.routers.iter() {
                    partition.routing.observe(router, now, &mut |quantity, index, value| {
                        let expected = expected.get(&(router, quantity.name, index.unwrap())).copied().unwrap_or(0);
                        assert_eq!(value, expected, "{quantity:?} {index:?} of router {router} at {now}");
                    });
                }
            }
        }
        prop_assert!(counted > 0);
    }
}

/// A decision maker at router 0 of the network of hand-set queues, with counters of a window of 10 cycles.
fn rule(topology: &Arc<dyn Topology>, regions: Table) -> Rule {
    let sent = topology.routers() as usize;
    Rule {
        candidates: Candidates {
            via: Via::Router,
            stop: Stop::Anywhere,
            minimal: 2,
            valiant: 2,
            sight: source_adaptive::tests::LOCAL,
        },
        regions: Regions { local: (1.0, 2.0), global: (1.0, 2.0), thr: 0.0, table: regions },
        window: 10.0,
        packet: 1,
        counted: Counted {
            windows: Windows::new(WindowKind::Sliding, 10, 1, sent + most_ports(&**topology)),
            routers: crate::topology::Routers::of_parts(&vec![0; topology.routers() as usize], 1).remove(0),
            by: Destinations::Router,
            sent,
            topology: topology.clone(),
        },
    }
}

const VALIANT: Region = Region::Only(Only::Valiant);
const MINIMAL: Region = Region::Only(Only::Minimal);

#[test]
fn a_decision_reads_the_counters_of_its_destination_and_its_port() {
    let mut network = source_adaptive::tests::network();
    let topology = network.parts_mut()[0].map.topology.clone();
    source_adaptive::tests::at_source(&mut network, |view| {
        let packet = source_adaptive::tests::packet(3, 1, 5);
        // Valiant routes if local traffic is adversarial, and if global traffic is.
        let local = [[MINIMAL, MINIMAL, VALIANT]; 3];
        let global = [[MINIMAL; 3], [MINIMAL; 3], [VALIANT; 3]];
        let port = rule(&topology, local).candidates.minimal(view, &packet, Cost::Queue).first.port;
        let leaves = |regions: Table, thing: usize, count: u32| {
            let mut rule = rule(&topology, regions);
            let thing = if thing < 100 { thing } else { rule.counted.sent + thing - 100 };
            (0..count).for_each(|_| rule.counted.windows.count(0, thing, view.now));
            rule.decide(view, &packet).stop != NONE
        };
        let through = |port: u16| 100 + usize::from(port);
        // 21 in 10 cycles are more than 2 per cycle, 20 are not.
        assert_eq!([20, 21].map(|count| leaves(local, 1, count)), [false, true]);
        assert_eq!([20, 21].map(|count| leaves(global, through(port), count)), [false, true]);
        assert!(!leaves(local, 2, 99) && !leaves(local, through(port), 99), "others count for nothing");
        assert!(!leaves(global, through(port + 1), 99) && !leaves(global, through(port - 1), 99));
        assert!(!leaves(global, 1, 99));
    });
}

#[test]
fn the_extreme_region_ignores_the_length_of_paths() {
    let mut network = source_adaptive::tests::network();
    for (next, phits) in [(1, 5), (2, 3), (3, 4)] {
        source_adaptive::tests::fill(&mut network, 0, next, 0, phits);
    }
    let topology = network.parts_mut()[0].map.topology.clone();
    let mut others = 0;
    source_adaptive::tests::at_source(&mut network, |view| {
        for number in 0..400 {
            let packet = source_adaptive::tests::packet(number, 1, 1 + number % 5);
            let mut rule = rule(&topology, [[VALIANT; 3]; 3]);
            let taken = rule.decide(view, &packet);
            let by = |cost| {
                let route = rule.candidates.valiant(view, &packet, cost);
                (route.stop, route.draw)
            };
            assert_eq!((taken.stop, taken.draw), by(Cost::Queue));
            others += u32::from(by(Cost::Queue) != by(Cost::QueueHops));
        }
    });
    assert!(others > 20, "{others}");
}
