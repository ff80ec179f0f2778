//! The mechanism in running networks, watched from inside.

use super::history::LONGEST;
use super::*;
use crate::routing::RoutingKind;
use crate::scenario::Scenario;
use crate::sim::{Options, Simulation, verify};
use crate::topology::TopologyParams;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

fn scenario(routing: Value, changes: &[(&str, Value)]) -> Value {
    let mut value = json!({
        "topology": { "kind": "clos", "down": [4, 4], "up": [4] },
        "router": { "links": { "default": { "vcs": 1, "buffer": 8 } } },
        "routing": routing,
        "traffic": { "load": 0.9, "pattern": { "kind": "shift", "offset": 4 } },
        "measure": { "warmup": 0, "cycles": 500 },
    });
    for (pointer, change) in changes {
        *value.pointer_mut(pointer).unwrap() = change.clone();
    }
    value
}

/// States of outputs upwards by router, tick and port.
type Seen = Arc<Mutex<HashMap<(u32, Tick, u16), State>>>;

/// The mechanism, with what it thinks that outputs were like compared with what they were like.
struct Watched {
    rule: Rule,
    seen: Seen,
    compared: Arc<Mutex<usize>>,
}

impl Watched {
    fn compare(&mut self, at: &RouterView<'_>) {
        let (tree, history) = (self.rule.tree.as_ref().unwrap(), self.rule.history.as_ref().unwrap());
        let level = tree.level(at.router);
        let mut seen = self.seen.lock().unwrap();
        for port in tree.down(level)..tree.down(level) + tree.up(level) {
            seen.insert((at.router, at.now, port), State::now(at, port, 1));
            let then = self.rule.then(at.now);
            if let Some(was) = seen.get(&(at.router, then, port)) {
                let noted = history.states(at, then).of(port);
                assert_eq!((was.depth, was.free_from), (noted.depth, noted.free_from), "{} {port}", at.now);
                *self.compared.lock().unwrap() += 1;
            }
        }
    }
}

impl Routing for Watched {
    fn wants(&self) -> Wants {
        self.rule.wants()
    }
    fn inject(&mut self, at: &mut Injection<'_>, packet: &mut Packet) {
        self.rule.inject(at, packet);
    }
    fn route(&mut self, view: &mut View<'_>, port: u16, queue: u16, packet: &mut Packet) -> Option<Hop> {
        self.rule.route(view, port, queue, packet)
    }
    fn route_all(&mut self, view: &mut View<'_>, heads: &mut [Head], packets: &mut Arena) {
        assert!(heads.is_sorted_by_key(|head| (head.port, head.queue)), "heads come in the order of ports");
        self.compare(view);
        self.rule.route_all(view, heads, packets);
    }
    fn occupancy_changed(&mut self, at: &mut Site<'_>) {
        self.rule.occupancy_changed(at);
    }
}

struct WatchedParams {
    params: Clos,
    seen: Seen,
    compared: Arc<Mutex<usize>>,
}

impl serde::Serialize for WatchedParams {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.params.serialize(serializer)
    }
}

impl RoutingParams for WatchedParams {
    fn check(&self, topology: &dyn Topology) -> Result<(), ScenarioError> {
        self.params.check(topology)
    }
    fn vcs_needed(&self, topology: &dyn Topology) -> (Vec<u8>, String) {
        self.params.vcs_needed(topology)
    }
    fn proof(&self) -> Proof {
        self.params.proof()
    }
    fn build(&self, context: &RoutingContext) -> Box<dyn Routing> {
        let rule = self.params.rule(context);
        Box::new(Watched { rule, seen: self.seen.clone(), compared: self.compared.clone() })
    }
}

#[test]
fn a_precomputed_decision_sees_the_state_of_the_cycles_before() {
    for precompute in 1..=LONGEST {
        for (size, switching, speedup) in
            [(1, "virtual_cut_through", 1), (3, "wormhole", 1), (1, "virtual_cut_through", 3)]
        {
            let mut value = scenario(
                json!({ "kind": "clos", "allocation": "greedy" }),
                &[("/traffic/load", json!(0.6)), ("/topology/down", json!([4, 2, 2])), ("/topology/up", json!([4, 2]))],
            );
            value["traffic"]["packet_size"] = json!(size);
            value["router"]["switching"] = json!(switching);
            (value["router"]["clock"], value["router"]["speedup"]) = (json!("crossbar"), json!(speedup));
            let mut scenario = Scenario::from_value(&value).unwrap();
            let compared = Arc::new(Mutex::new(0));
            let params = Clos { allocation: Allocation::Greedy, precompute, ..Clos::default() };
            let params = WatchedParams { params, seen: Seen::default(), compared: compared.clone() };
            scenario.routing = RoutingKind::custom("watched", params);
            Simulation::new(&scenario, Options::default()).unwrap().advance_to(500);
            assert!(*compared.lock().unwrap() > 1000, "hardly compared");
        }
    }
}

/// By router, source and destination: when the last packet of the pair that left it was generated, and by which port it left.
type Left = Arc<Mutex<HashMap<(u32, u32, u32), (Tick, u16)>>>;

/// Any mechanism, with the order in which packets routed deterministically leave each router.
struct Ordered {
    inner: Box<dyn Routing>,
    left: Left,
}

impl Routing for Ordered {
    fn wants(&self) -> Wants {
        Wants { departures: true, settled: false, ..self.inner.wants() }
    }
    fn inject(&mut self, at: &mut Injection<'_>, packet: &mut Packet) {
        self.inner.inject(at, packet);
    }
    fn route(&mut self, view: &mut View<'_>, port: u16, queue: u16, packet: &mut Packet) -> Option<Hop> {
        self.inner.route(view, port, queue, packet)
    }
    fn route_all(&mut self, view: &mut View<'_>, heads: &mut [Head], packets: &mut Arena) {
        self.inner.route_all(view, heads, packets);
    }
    fn departs(&mut self, at: &RouterView<'_>, _: u16, _: u16, hop: Hop, packet: &mut Packet) {
        if packet.flags & IN_ORDER != 0 {
            let pair = (at.router, packet.source, packet.destination);
            if let Some((birth, port)) = self.left.lock().unwrap().insert(pair, (packet.birth, hop.port)) {
                assert!(birth < packet.birth, "{pair:?}: a packet has been overtaken");
                assert_eq!(port, hop.port, "{pair:?}: two ways");
            }
        }
    }
}

struct OrderedParams {
    params: Clos,
    left: Left,
}

impl serde::Serialize for OrderedParams {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.params.serialize(serializer)
    }
}

impl RoutingParams for OrderedParams {
    fn check(&self, topology: &dyn Topology) -> Result<(), ScenarioError> {
        self.params.check(topology)
    }
    fn vcs_needed(&self, topology: &dyn Topology) -> (Vec<u8>, String) {
        self.params.vcs_needed(topology)
    }
    fn proof(&self) -> Proof {
        self.params.proof()
    }
    fn build(&self, context: &RoutingContext) -> Box<dyn Routing> {
        Box::new(Ordered { inner: self.params.build(context), left: self.left.clone() })
    }
}

#[test]
fn packets_routed_deterministically_stay_in_order() {
    for (allocation, deterministic_by) in [
        (Allocation::Sequential, Path::Hash),
        (Allocation::GreedyR, Path::Sum),
        (Allocation::Oblivious, Path::Destination),
    ] {
        // Several channels on the links, one injection queue.
        let vcs = json!({ "default": { "vcs": 3, "buffer": 8 }, "endpoint": { "vcs": 1 } });
        let mut value = scenario(json!("clos"), &[("/router/links", vcs)]);
        value["topology"] = json!({ "kind": "clos", "down": [2, 3, 2], "up": [2, 2], "faults": { "links": [[0, 6]] } });
        let mut scenario = Scenario::from_value(&value).unwrap();
        let left = Left::default();
        let params = Clos { allocation, deterministic_by, deterministic_share: 0.5, ..Clos::default() };
        scenario.routing = RoutingKind::custom("ordered", OrderedParams { params, left: left.clone() });
        Simulation::new(&scenario, Options::default()).unwrap().advance_to(2000);
        assert!(left.lock().unwrap().len() > 30, "hardly a packet");
    }
}

fn sums(value: &Value, threads: usize, partitions: usize) -> crate::measure::collector::Sums {
    let options = Options { threads, partitions: Some(partitions) };
    let outcome = Simulation::new(&Scenario::from_value(value).unwrap(), options).unwrap().run(&mut |_, _| true);
    outcome.unwrap_or_else(|error| panic!("{error}\n{value}")).collector().sums
}

#[test]
fn partitions_and_the_way_of_asking_again_change_nothing() {
    let all = ["oblivious", "deterministic", "sequential", "greedy", "sequential_r", "greedy_r", "availability"];
    for (allocation, load) in all.iter().flat_map(|allocation| [(allocation, 0.4), (allocation, 0.95)]) {
        let routing = json!({ "kind": "clos", "allocation": allocation, "deterministic_share": 0.3 });
        let mut value = scenario(routing, &[("/traffic/load", json!(load))]);
        value["topology"]["faults"] = json!({ "count": 2 });
        let one = sums(&value, 1, 1);
        assert!(one.packets > 2000, "{allocation}: {}", one.packets);
        assert_eq!(sums(&value, 2, 3), one, "{allocation}");
        value["router"]["redecision"] = json!("every_cycle");
        assert_eq!(sums(&value, 1, 2), one, "{allocation}");
    }
}

#[test]
fn decisions_at_arrival_are_the_same_in_any_partition() {
    for (allocation, busy) in [("greedy", "last"), ("greedy_r", "ignored")] {
        let mut routing =
            json!({ "kind": "clos", "allocation": allocation, "busy": busy, "precompute": 2, "redecide": false });
        let at_front = sums(&scenario(routing.clone(), &[]), 1, 1);
        routing["decide"] = json!("arrival");
        let mut value = scenario(routing, &[]);
        let one = sums(&value, 1, 1);
        assert_eq!(sums(&value, 2, 3), one);
        assert_ne!(one, at_front, "{allocation}: packets that wait were decided about before");
        value["topology"]["faults"] = json!({ "count": 2 });
        assert!(sums(&value, 1, 1).packets > 2000);
    }
}

#[test]
fn special_cases_of_the_allocations_are_one_another() {
    let results = |routing: Value| sums(&scenario(routing, &[]), 1, 1);
    let clos = |allocation: &str, key: &str, value: Value| {
        let mut routing = json!({ "kind": "clos", "allocation": allocation });
        routing[key] = value;
        results(routing)
    };
    assert_eq!(clos("oblivious", "samples", json!(3)), results(json!("minimal")));
    assert_eq!(clos("availability", "precision", json!(3)), clos("sequential", "precision", json!(0)));
    // One sample that is kept is an oblivious choice.
    let one = json!({ "kind": "clos", "allocation": "greedy_r", "samples": 1, "redecide": false });
    assert_eq!(results(one), results(json!("minimal")));
    assert_eq!(clos("deterministic", "samples", json!(3)), clos("oblivious", "deterministic_share", json!(1.0)));
    assert_ne!(clos("sequential", "precision", json!(1)), clos("sequential", "precision", json!(4)));
    assert_ne!(clos("greedy", "precompute", json!(1)), clos("greedy", "precompute", json!(0)));
}

#[test]
fn every_allocation_is_proved_free_of_deadlock() {
    for faults in [json!({}), json!({ "count": 2 })] {
        let mut value = scenario(json!({ "kind": "clos", "allocation": "greedy" }), &[]);
        value["topology"]["faults"] = faults;
        let report = verify(&Scenario::from_value(&value).unwrap()).unwrap();
        assert_eq!(report["proved"], true, "{report}");
    }
}

#[test]
fn ways_of_packets_in_order() {
    assert_eq!(Path::Destination.key(&blank(5, 9)), 9);
    assert_eq!(Path::Sum.key(&blank(5, 9)), 14);
    assert_ne!(Path::Hash.key(&blank(5, 9)), Path::Hash.key(&blank(9, 5)));
    // Digits of 23 in a tree with 4 and then 3 ways up: 23 mod 4, and 23 / 4 mod 3.
    let params = crate::topology::clos::Clos { down: vec![4, 4, 3], up: vec![4, 3], faults: None };
    let graph = params.build().unwrap();
    let tree = graph.tree().unwrap();
    assert_eq!((tree.digit(0, 23), tree.digit(1, 23), tree.digit(2, 23)), (3, 2, 0));
}

fn blank(source: u32, destination: u32) -> Packet {
    Packet {
        next: 0,
        entry: 0,
        birth: 0,
        injected: 0,
        source,
        destination,
        destination_router: 0,
        intermediate: 0,
        hops: Default::default(),
        leg_start: Default::default(),
        size: 1,
        flits: 1,
        came_by: 0,
        came_in: 0,
        leg: 0,
        legs: 1,
        scratch: 0,
        misrouted: 0,
        flags: 0,
        ejection_port: 0,
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let refused = |routing: Value, changes: &[(&str, Value)]| {
        let scenario = Scenario::from_value(&scenario(routing, changes)).unwrap();
        verify(&scenario).unwrap_err().to_string()
    };
    let mesh = [("/topology", json!({ "kind": "mesh", "dims": [4, 4] }))];
    assert_eq!(refused(json!("clos"), &mesh), "routing.kind = \"clos\": this mechanism needs topology.kind = \"clos\"");
    for (routing, expected) in [
        (
            json!({ "allocation": "sequential" }),
            "only the allocations \"greedy\" and \"greedy_r\" can be decided so early",
        ),
        (json!({ "allocation": "greedy" }), "this needs redecide = false"),
        (
            json!({ "allocation": "greedy", "redecide": false }),
            "this needs precompute = 1 or 2: what else happens in the cycle is not known yet",
        ),
    ] {
        let mut routing = routing;
        (routing["kind"], routing["decide"]) = (json!("clos"), json!("arrival"));
        assert_eq!(refused(routing, &[]), format!("routing.decide = \"arrival\": {expected}"));
    }
    for (key, value, expected) in [
        ("samples", json!(0), "routing.samples = 0: expected a whole number, 1 or more"),
        ("precision", json!(32), "routing.precision = 32: expected a number of bits, 0 to 31, or no such key"),
        ("precompute", json!(3), "routing.precompute = 3: expected 0, 1 or 2 cycles"),
        ("deterministic_share", json!(1.5), "routing.deterministic_share = 1.5: expected a share from 0 to 1"),
        (
            "precompute",
            json!(1),
            "routing.precompute = 1: expected 0: only the allocations \"greedy\" and \"greedy_r\" can be computed beforehand",
        ),
    ] {
        let mut routing = json!({ "kind": "clos" });
        routing[key] = value;
        assert_eq!(refused(routing, &[]), expected);
    }
}
