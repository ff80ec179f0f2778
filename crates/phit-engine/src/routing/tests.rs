//! Adaptive mechanisms in randomised networks, watched from outside at every step.

use super::in_transit::{DIRECT, GLOBAL, proof};
use super::source_adaptive::Cost;
use super::*;
use crate::engine::{NONE, Tick};
use crate::error::ScenarioError;
use crate::fabric::input_queued::{Partition, TAIL_PENDING, kind};
use crate::measure::Counters;
use crate::packet::Packet;
use crate::proof::{Flaw, escape};
use crate::run::{Options, Simulation, verify};
use crate::scenario::Scenario;
use crate::topology::{Hop, HopState, Hops, Topology};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// All adaptive mechanisms for Dragonflies, with thresholds that make them work hard in a small one.
fn mechanisms() -> Vec<Value> {
    let restriction = json!({ "coefficient": 1.5, "packets": 1 });
    let mut all = vec![
        json!({ "kind": "olm" }),
        json!({ "kind": "olm", "restriction": restriction }),
        json!({ "kind": "contention_base", "threshold": 3, "comparison": "reaches" }),
        json!({ "kind": "contention_base", "threshold": 2, "trigger": { "probability": 0.3 } }),
        json!({ "kind": "contention_hybrid", "threshold": 3 }),
        json!({ "kind": "contention_hybrid", "candidates": "any", "restriction": restriction }),
        json!({ "kind": "ectn", "threshold": 3, "combined_threshold": 4, "candidates": "local" }),
        json!({ "kind": "piggyback" }),
        json!({ "kind": "piggyback", "second_half": "next", "coefficient": 1, "global_threshold": 0 }),
        json!({ "kind": "piggyback", "via": "group" }),
        json!({ "kind": "piggyback", "hop_count": "consecutive" }),
        json!({ "kind": "ugal_l" }),
        json!({ "kind": "ugal_l", "via": "group", "queue": "share" }),
        json!({ "kind": "ugal_g" }),
        json!({ "kind": "par" }),
        json!({ "kind": "par", "via": "group", "queue": "phits", "threshold": 1 }),
    ];
    for updates in ["free", "full", "nonempty", "incremental", "asynchronous"] {
        all.push(json!({ "kind": "ectn", "threshold": 3, "combined_threshold": 3, "updates": updates }));
    }
    all
}

/// A small busy Dragonfly. `groups`: fewer than nine have parallel links.
fn dragonfly(routing: &Value, groups: u32, load: f64, offset: Option<u32>, seed: u64) -> Value {
    let pattern = match offset {
        Some(offset) => json!({ "kind": "adversarial", "offset": offset }),
        None => json!({ "kind": "uniform" }),
    };
    json!({
        "seed": seed,
        "topology": { "kind": "dragonfly", "p": 2, "a": 4, "h": 2, "groups": groups },
        "router": {
            "latency": 3, "speedup": 2, "output_buffer": 32, "transit_priority": true, "credit_release": "output",
            "links": {
                "endpoint": { "latency": 0, "vcs": 2, "buffer": 64 },
                "local": { "latency": 5, "vcs": 5, "buffer": 24 },
                "global": { "latency": 20, "vcs": 2, "buffer": 64 },
            },
        },
        "routing": routing,
        "traffic": { "pattern": pattern, "load": load, "packet_size": 8 },
        "measure": { "warmup": 0, "cycles": 1200 },
    })
}

fn run(value: &Value, threads: usize, partitions: usize) -> Counters {
    let scenario = Scenario::from_value(value).unwrap();
    let options = Options { threads, partitions: Some(partitions) };
    let outcome = Simulation::new(&scenario, options).unwrap().run(&mut |_, _| true);
    outcome.unwrap_or_else(|error| panic!("{error}")).collector().counters.clone()
}

#[test]
fn deciding_again_on_a_change_is_deciding_again_in_every_cycle() {
    for (index, routing) in mechanisms().iter().enumerate() {
        for (load, offset) in [(0.2, Some(1)), (0.6, None), (0.9, Some(2))] {
            let groups = if index % 3 == 0 { 5 } else { 9 };
            let mut value = dragonfly(routing, groups, load, offset, index as u64);
            let on_change = run(&value, 1, 1);
            assert!(on_change.packets.recorded > 500, "{routing} {load}: {}", on_change.packets.recorded);
            assert_eq!(run(&value, 2, 3), on_change, "{routing} {load} {offset:?}: partitions");
            value["router"]["redecision"] = json!("every_cycle");
            assert_eq!(run(&value, 1, 2), on_change, "{routing} {load} {offset:?}: every cycle");
        }
    }
}

/// What a watched mechanism has told: what the head of each queue wants, by router, port and queue.
type Told = Arc<Mutex<HashMap<(u32, u16, u16), Wish>>>;

/// The minimal output of a head, and the group's link that it is counted for.
#[derive(Debug, Clone, Copy)]
struct Wish {
    port: u16,
    link: Option<u16>,
}

/// A mechanism of the in-transit family under observation.
struct Watched {
    inner: Box<dyn Routing>,
    told: Told,
    rules: Box<dyn Adaptive>,
}

fn in_transit_rules() -> Box<dyn Adaptive> {
    match proof() {
        crate::proof::Proof::Escape(rules) => rules,
        _ => unreachable!("the family escapes"),
    }
}

impl Routing for Watched {
    fn wants(&self) -> Wants {
        self.inner.wants()
    }
    fn route(&mut self, view: &mut View<'_>, port: u16, queue: u16, packet: &mut Packet) -> Option<Hop> {
        if self.inner.wants().heads {
            let told = self.told.lock().unwrap();
            assert!(told.contains_key(&(view.router, port, queue)), "decides about a packet that is not at the head");
        }
        let standing = Standing {
            at: view.router,
            to: packet.destination_router,
            came: (packet.came_by, packet.came_in),
            hops: packet.hops,
            memo: packet.flags.into(),
        };
        let mut steps = Vec::new();
        self.rules.steps(view.topology, &standing, view.vcs, &mut steps);
        let hop = self.inner.route(view, port, queue, packet);
        let known = |hop: &Hop| steps.iter().any(|step| step.hop == *hop);
        assert!(hop.as_ref().is_none_or(known), "{hop:?} of {packet:?} is not what was proved");
        hop
    }
    fn departs(&mut self, at: &RouterView<'_>, port: u16, queue: u16, hop: Hop, packet: &mut Packet) {
        self.inner.departs(at, port, queue, hop, packet);
    }
    fn head_arrived(&mut self, at: &mut Site<'_>, port: u16, queue: u16, packet: &mut Packet) {
        let (router, topology, to) = (at.router, at.topology, packet.destination_router);
        let mut hops = Vec::new();
        let state = HopState { came_by: 0, came_in: 0, leg_hops: Hops::default() };
        if router != to {
            topology.minimal_hops(router, to, DIRECT, state, at.vcs, &mut hops);
        }
        assert!(hops.len() <= 1 || topology.grid().is_some(), "one link between two groups: one minimal port");
        let wanted = hops.first().map_or(packet.ejection_port, |hop| hop.port);
        let first = topology.group_routers(topology.group_of(router)).start;
        let global = topology.class_ports(router, GLOBAL);
        let counted = at.class(port) != 1;
        let link = topology.exit(router, to, &mut packet.rng(router)).filter(|_| counted);
        let link = link.map(|(owner, port)| (owner - first) as u16 * global.len() as u16 + port - global.start);
        self.told.lock().unwrap().insert((router, port, queue), Wish { port: wanted, link });
        self.inner.head_arrived(at, port, queue, packet);
    }
    fn tail_left(&mut self, at: &mut Site<'_>, port: u16, queue: u16) {
        self.told.lock().unwrap().remove(&(at.router, port, queue));
        self.inner.tail_left(at, port, queue);
    }
    fn period(&mut self, at: &mut Site<'_>) {
        self.inner.period(at);
    }
    fn hear(&mut self, at: &mut Site<'_>, port: u16, payload: &Payload) {
        self.inner.hear(at, port, payload);
    }
    fn observe(&self, router: u32, now: Tick, see: See<'_>) {
        self.inner.observe(router, now, see);
    }
}

struct WatchedParams {
    inner: RoutingKind,
    told: Told,
}

impl serde::Serialize for WatchedParams {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.inner.serialize(serializer)
    }
}

impl RoutingParams for WatchedParams {
    fn check(&self, topology: &dyn Topology) -> Result<(), ScenarioError> {
        self.inner.params().check(topology)
    }
    fn vcs_needed(&self, topology: &dyn Topology) -> (Vec<u8>, String) {
        self.inner.params().vcs_needed(topology)
    }
    fn proof(&self) -> Proof {
        self.inner.params().proof()
    }
    fn sends_messages(&self) -> bool {
        self.inner.params().sends_messages()
    }
    fn build(&self, context: &RoutingContext) -> Box<dyn Routing> {
        let inner = self.inner.params().build(context);
        let crate::proof::Proof::Escape(rules) = self.inner.params().proof() else { unreachable!("no escape") };
        Box::new(Watched { inner, told: self.told.clone(), rules })
    }
}

fn watched(value: &Value, partitions: usize) -> (Simulation, Told) {
    let mut scenario = Scenario::from_value(value).unwrap();
    let told = Told::default();
    let params = WatchedParams { inner: scenario.routing.clone(), told: told.clone() };
    scenario.routing = RoutingKind::custom("watched", params);
    let options = Options { threads: 1, partitions: Some(partitions) };
    (Simulation::new(&scenario, options).unwrap(), told)
}

/// What the mechanism says of `router`: (name, port or link) to value.
fn observed(partition: &Partition, router: u32) -> HashMap<(&'static str, u16), u32> {
    let mut seen = HashMap::new();
    partition.routing.observe(router, partition.now, &mut |quantity, at, value| {
        seen.insert((quantity.name, at.unwrap_or(0)), value);
    });
    seen
}

/// The queues whose head is counted: it stands there, or its tail is leaving.
fn occupied(partition: &Partition) -> usize {
    partition.queues.iter().filter(|q| q.first != NONE || q.sent == TAIL_PENDING).count()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn counters_are_what_heads_want(
        which in 0usize..20, load in 0.1f64..1.0, offset in 0u32..4, seed: u64, partitions in 1usize..4
    ) {
        let others = ["piggyback", "ugal_l", "ugal_g", "par"];
        let family = |routing: &Value| !others.contains(&routing["kind"].as_str().unwrap());
        let all: Vec<Value> = mechanisms().into_iter().filter(family).collect();
        let routing = &all[which % all.len()];
        let value = dragonfly(routing, 9, load, (offset > 0).then_some(offset), seed);
        let (mut simulation, told) = watched(&value, partitions);
        let counts = routing["kind"] != "olm";
        let mut longest = 0;
        // Partial arrays as they were broadcast last.
        let mut sent: HashMap<(u32, u16), u32> = HashMap::new();
        let mut heard = sent.clone();
        for tick in 0..500u32 {
            simulation.advance_to(tick + 1);
            simulation.fabric().audit().unwrap_or_else(|wrong| panic!("{wrong}: {routing}"));
            let partitions = simulation.parts();
            for partition in partitions {
                partition.wheel.for_each(partition.now, |_, event| {
                    if event.target >> kind::SHIFT == kind::DELIVERY {
                        longest = longest.max(partition.packets[event.target & kind::MASK].hops.total());
                    }
                });
            }
            if !counts {
                continue;
            }
            let told = told.lock().unwrap();
            prop_assert_eq!(told.len(), partitions.iter().map(occupied).sum::<usize>());
            let seen: HashMap<u32, _> = partitions.iter()
                .flat_map(|p| p.routers.iter().map(move |router| (router, observed(p, router)))).collect();
            let mut wanted: HashMap<(u32, &str, u16), u32> = HashMap::new();
            for (&(router, _, _), wish) in told.iter() {
                *wanted.entry((router, "contention", wish.port)).or_default() += 1;
                if let Some(link) = wish.link {
                    *wanted.entry((router, "partial", link)).or_default() += 1;
                }
            }
            for (router, seen) in &seen {
                for (&(name, at), &value) in seen.iter().filter(|((name, _), _)| *name != "combined") {
                    let expected = wanted.get(&(*router, name, at)).copied().unwrap_or(0);
                    prop_assert_eq!(value, expected, "{} {} of router {} at tick {}", name, at, router, tick);
                }
            }
            if routing["kind"] != "ectn" || routing["updates"].as_str().is_some_and(|updates| updates != "free") {
                continue;
            }
            // A broadcast is known everywhere in the group five cycles later, the latency of a local link.
            if tick % 100 == 0 {
                sent = seen.iter().flat_map(|(&router, seen)| {
                    (0..8).map(move |link| ((router, link), seen[&("partial", link)]))
                }).collect();
            }
            if tick % 100 == 5 {
                heard = sent.clone();
            }
            for (&router, seen) in &seen {
                let group = router / 4 * 4..router / 4 * 4 + 4;
                for link in 0..8 {
                    let others = group.clone().filter(|&other| other != router);
                    let others: u32 = others.map(|other| heard.get(&(other, link)).copied().unwrap_or(0)).sum();
                    prop_assert_eq!(seen[&("combined", link)], seen[&("partial", link)] + others);
                }
            }
        }
        prop_assert!(longest <= 8, "a route of {} hops", longest);
    }
}

#[test]
fn every_mechanism_is_proved_free_of_deadlock() {
    for routing in mechanisms() {
        for groups in [3, 9] {
            let report = verify(&Scenario::from_value(&dragonfly(&routing, groups, 0.1, None, 1)).unwrap()).unwrap();
            assert_eq!(report["proved"], true, "{routing} with {groups} groups: {report}");
            let mut wormhole = dragonfly(&routing, groups, 0.1, None, 1);
            wormhole["router"]["switching"] = json!("wormhole");
            let report = verify(&Scenario::from_value(&wormhole).unwrap()).unwrap();
            let escapes = report["argument"].as_str().unwrap().contains("whole packets");
            assert_eq!(report["proved"], if escapes { Value::Null } else { json!(true) }, "{routing}: {report}");
        }
    }
}

#[test]
fn a_family_that_cannot_escape_is_found_out() {
    /// The family with its channels or its escapes spoilt.
    struct Spoilt(fn(&mut Step, &Standing));
    impl Adaptive for Spoilt {
        fn steps(&self, topology: &dyn Topology, packet: &Standing, vcs: &[u8], out: &mut Vec<Step>) {
            in_transit_rules().steps(topology, packet, vcs, out);
            out.iter_mut().for_each(|step| (self.0)(step, packet));
        }
        fn longest(&self, _: &dyn Topology) -> u32 {
            8
        }
    }
    let scenario = Scenario::from_value(&dragonfly(&mechanisms()[0], 9, 0.1, None, 1)).unwrap();
    let topology = scenario.topology.build().unwrap();
    let check = |spoil| escape::check(&*topology, &Spoilt(spoil), &[2, 3, 2]);
    assert!(check(|_, _| {}).is_ok());
    assert!(matches!(check(|step, _| step.hop.vc = 0), Err(Flaw::Cycle(_))));
    assert!(matches!(check(|step, packet| step.escape &= packet.came.0 == 0), Err(Flaw::Stranded { .. })));
    assert!(matches!(check(|step, _| step.escape = true), Err(Flaw::Cycle(_))));
    assert!(matches!(check(|step, _| step.hop.vc += 1), Err(Flaw::NoSuchChannel { .. })));
}

/// A busy grid with contention counters.
fn grid(kind: &str, dims: &[u32], alternatives: &str, load: f64) -> Value {
    json!({
        "topology": { "kind": kind, "dims": dims, "endpoints_per_router": 2 },
        "router": {
            "latency": 2, "speedup": 2, "output_buffer": 16,
            "links": { "default": { "latency": 3, "vcs": 3, "buffer": 16 } },
        },
        "routing": { "kind": "contention_grid", "threshold": 2, "alternatives": alternatives },
        "traffic": { "pattern": "tornado", "load": load, "packet_size": 4 },
        "measure": { "warmup": 0, "cycles": 800 },
    })
}

#[test]
fn contention_counters_work_on_grids() {
    let cases = [
        ("mesh", vec![4, 5], "minimal"),
        ("torus", vec![5, 4], "minimal"),
        ("torus", vec![4, 3, 4], "minimal"),
        ("hyperx", vec![4, 3], "minimal"),
        ("hyperx", vec![5], "nonminimal"),
        ("hyperx", vec![4, 3, 3], "nonminimal"),
    ];
    for (kind, dims, alternatives) in cases {
        let mut value = grid(kind, &dims, alternatives, 0.9);
        let report = verify(&Scenario::from_value(&value).unwrap()).unwrap();
        assert_eq!(report["proved"], true, "{kind} {dims:?} {alternatives}: {report}");
        let on_change = run(&value, 1, 1);
        assert_eq!(run(&value, 2, 3), on_change, "{kind} {dims:?} {alternatives}: partitions");
        value["router"]["redecision"] = json!("every_cycle");
        assert_eq!(run(&value, 1, 2), on_change, "{kind} {dims:?} {alternatives}: every cycle");
        let mut simulation = watched(&value, 2).0;
        for tick in 1..300 {
            simulation.advance_to(tick);
            simulation.fabric().audit().unwrap_or_else(|wrong| panic!("{wrong}: {kind}"));
        }
    }
    let refused = Scenario::from_value(&grid("torus", &[4, 4], "nonminimal", 0.1)).unwrap();
    let error = verify(&refused).unwrap_err().to_string();
    assert!(error.contains("alternatives = \"nonminimal\": needs topology.kind = \"hyperx\""), "{error}");
}

#[test]
fn contention_counters_beat_dimension_order_where_one_link_serves_a_line() {
    // Tornado on a HyperX sends all endpoints of a router to the next but one: one link of the line, and three other
    // ways.
    let accepted = |routing: Value| {
        let mut value = grid("hyperx", &[5], "nonminimal", 0.9);
        value["routing"] = routing;
        run(&value, 1, 1).packets.recorded_phits
    };
    let dimension_order = accepted(json!("dimension_order"));
    let counters = accepted(json!({ "kind": "contention_grid", "threshold": 2, "alternatives": "nonminimal" }));
    assert!(counters as f64 > 1.5 * dimension_order as f64, "{counters} against {dimension_order}");
}

#[test]
fn updates_on_the_links_take_their_share() {
    // 8 links of a group, 4 bits each: one phit of 40 bits to each of 3 neighbours every 50 cycles.
    let routing = json!({ "kind": "ectn", "updates": "full", "period": 50, "phit_bits": 40 });
    let scenario = Scenario::from_value(&dragonfly(&routing, 9, 0.3, None, 1)).unwrap();
    let outcome = Simulation::new(&scenario, Options::default()).unwrap().run(&mut |_, _| true).unwrap();
    let summary = outcome.summary();
    assert_eq!(summary["control_messages"], 36 * 3 * 1200 / 50);
    assert_eq!(summary["control_utilisation"]["local"], 1.0 / 50.0);
    assert_eq!(summary["control_utilisation"]["global"], 0.0);
}

#[test]
fn probes_see_the_same_whatever_the_partitions() {
    let routing = json!({ "kind": "ectn", "threshold": 3, "combined_threshold": 3 });
    let mut value = dragonfly(&routing, 9, 0.9, None, 7);
    value["measure"] = json!({
        "warmup": 150, "cycles": 600,
        "probes": [{ "kind": "counters", "every": 50 }, { "kind": "buffers", "every": 100 }],
    });
    let scenario = Scenario::from_value(&value).unwrap();
    let outcome = |partitions| {
        let options = Options { threads: 1, partitions: Some(partitions) };
        Simulation::new(&scenario, options).unwrap().run(&mut |_, _| true).unwrap()
    };
    let (one, three) = (outcome(1), outcome(3));
    assert_eq!(one.tables()["probes"], three.tables()["probes"]);
    let table = &one.tables()["probes"];
    let column = |name: &str| table[name].as_array().unwrap().clone();
    // 12 looks of three counters from cycle 150 to 700, 6 looks from 200 to 700 at 3 kinds of input and 2 of output.
    assert_eq!(column("cycle").len(), 12 * 3 + 6 * 5);
    assert_eq!(column("cycle").iter().filter(|cycle| **cycle == 150).count(), 3);
    for ((quantity, class), count) in column("quantity").iter().zip(column("class")).zip(column("count")) {
        let ports = match (quantity.as_str().unwrap(), class.as_str()) {
            ("contention", None) => 36 * 7,
            ("partial" | "combined", None) => 36 * 8,
            ("input", Some("endpoint")) => 36 * 2 * 2,
            ("input" | "output", Some("local")) => 36 * 3 * 5,
            ("input" | "output", Some("global")) => 36 * 2 * 2,
            other => panic!("unknown quantity {other:?}"),
        };
        assert_eq!(count, ports, "{quantity} {class}");
    }
    assert!(column("router").iter().chain(&column("index")).all(Value::is_null), "all routers together");
    let means = &one.summary()["probes"];
    // Busy queues: 2 at each of 2 endpoint ports, channels 0 to 2 of 3 local ports, 2 at each of 2 global ports.
    let contention = means["contention"].as_f64().unwrap();
    assert!(contention > 0.7 && contention <= 17.0 / 7.0, "{contention}");
    assert!(means["input local"].as_f64().unwrap() > 0.0);
}

#[test]
fn ugal_weighs_queues_by_hops() {
    let first = Hop { port: 0, vc: 0, vcs: 1 };
    let route = |queue, hops| source_adaptive::Route { first, hops, queue, stop: NONE, draw: 0 };
    let by = |cost| move |q, h, qv, hv, t| ugal::prefers_minimal(&route(q, h), &route(qv, hv), cost, t);
    let minimal = by(Cost::QueueHops);
    assert!(minimal(0, 3, 0, 6, 0), "ties go to the minimal route");
    assert!(minimal(16, 3, 8, 6, 0));
    assert!(!minimal(17, 3, 8, 6, 0));
    assert!(minimal(17, 3, 8, 6, 3));
    assert!(!minimal(16, 3, 8, 6, -1), "a negative threshold favours the Valiant route");
    assert!(!minimal(0, 1, 0, 4, -1), "even if nobody waits");
    assert!(minimal(5, 2, 5, 4, -10) && !minimal(5, 2, 5, 4, -11));
    let oblivious = by(Cost::Queue);
    assert!(oblivious(8, 3, 8, 1, 0) && !oblivious(9, 1, 8, 6, 0) && oblivious(9, 1, 8, 6, 1));
}
