//! The mechanism in running networks, watched from inside.

use super::history::LONGEST;
use super::params::{Measure, Path};
use super::spy::{Watch, watched};
use super::*;
use crate::run::{Options, Simulation, verify};
use crate::scenario::Scenario;
use crate::topology::{Faults, Peer, Topology, TopologyParams};
use proptest::prelude::ProptestConfig;
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

/// Runs the scenario for so many ticks with these parameters, watched.
fn watch<W: Watch>(value: &Value, params: Clos, watch: W, ticks: Tick) -> Arc<Mutex<W>> {
    let mut scenario = Scenario::from_value(value).unwrap();
    let (routing, watch) = watched(params, watch);
    scenario.routing = routing;
    Simulation::new(&scenario, Options::default()).unwrap().advance_to(ticks);
    watch
}

/// Compares what the mechanism thinks that outputs were like with what they were like.
#[derive(Default)]
struct States {
    /// By router, tick and port.
    seen: HashMap<(u32, Tick, u16), State>,
    compared: usize,
}

impl Watch for States {
    fn asked(&mut self, rule: &Rule, at: &RouterView<'_>, heads: &[Head], _: &Arena) {
        assert!(heads.is_sorted_by_key(|head| (head.port, head.queue)), "heads come in the order of ports");
        let (tree, history) = (rule.tree.as_ref().unwrap(), rule.history.as_ref().unwrap());
        let level = tree.level(at.router);
        for port in tree.down(level)..tree.down(level) + tree.up(level) {
            self.seen.insert((at.router, at.now, port), State::now(at, port, 1, false));
            let then = rule.then(at.now);
            if let Some(was) = self.seen.get(&(at.router, then, port)) {
                let noted = history.states(at, then).of(port);
                assert_eq!((was.depth, was.free_from), (noted.depth, noted.free_from), "{} {port}", at.now);
                self.compared += 1;
            }
        }
    }
}

#[test]
fn a_precomputed_decision_sees_the_state_of_the_cycles_before() {
    for precompute in 1..=LONGEST {
        for (size, switching, speedup) in
            [(1, "virtual_cut_through", 1), (3, "wormhole", 1), (1, "virtual_cut_through", 3)]
        {
            let mut value = scenario(
                json!("clos"),
                &[("/traffic/load", json!(0.6)), ("/topology/down", json!([4, 2, 2])), ("/topology/up", json!([4, 2]))],
            );
            value["traffic"]["packet_size"] = json!(size);
            value["router"]["switching"] = json!(switching);
            (value["router"]["clock"], value["router"]["speedup"]) = (json!("crossbar"), json!(speedup));
            let params = Clos { allocation: Allocation::Greedy, precompute, ..Clos::default() };
            let states = watch(&value, params, States::default(), 500);
            assert!(states.lock().unwrap().compared > 1000, "hardly compared");
        }
    }
}

/// Watches that packets routed deterministically stay in order.
#[derive(Default)]
struct Order {
    /// By router, source and destination: when the last packet of the pair that left it was generated, and its port.
    left: HashMap<(u32, u32, u32), (Tick, u16)>,
}

impl Watch for Order {
    fn departs(&mut self, at: &RouterView<'_>, hop: Hop, packet: &Packet) {
        if packet.flags & IN_ORDER != 0 {
            let pair = (at.router, packet.source, packet.destination);
            if let Some((birth, port)) = self.left.insert(pair, (packet.birth, hop.port)) {
                assert!(birth < packet.birth, "{pair:?}: a packet has been overtaken");
                assert_eq!(port, hop.port, "{pair:?}: two ways");
            }
        }
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
        let params = Clos { allocation, deterministic_by, deterministic_share: 0.5, ..Clos::default() };
        let order = watch(&value, params, Order::default(), 2000);
        assert!(order.lock().unwrap().left.len() > 30, "hardly a packet");
    }
}

/// Counts the heads that are asked about, and those that leave; looks at those that sleep.
#[derive(Default)]
struct Asleep {
    asked: usize,
    asleep: usize,
    left: usize,
}

impl Watch for Asleep {
    fn asked(&mut self, _: &Rule, _: &RouterView<'_>, heads: &[Head], _: &Arena) {
        self.asked += heads.len();
    }
    fn decided(&mut self, _: &Rule, at: &RouterView<'_>, heads: &[Head], packets: &Arena) {
        for head in heads {
            let phits = at.first_flit(&packets[head.packet]);
            assert_eq!(head.hop.is_none(), head.waits.count > 0, "{head:?} neither goes nor waits");
            assert!(!head.waits.numbers().any(|port| at.takes_any(port, phits)), "{head:?} sleeps, but could go");
            self.asleep += usize::from(head.hop.is_none());
        }
    }
    fn departs(&mut self, _: &RouterView<'_>, _: Hop, _: &Packet) {
        self.left += 1;
    }
}

#[test]
fn heads_that_no_output_can_take_sleep() {
    for (size, vcs) in [(1, 1), (3, 2)] {
        let mut value = scenario(
            json!("clos"),
            &[("/topology/down", json!([8, 8])), ("/topology/up", json!([8])), ("/traffic/load", json!(1.0))],
        );
        value["traffic"]["packet_size"] = json!(size);
        value["traffic"]["pattern"] = json!({ "kind": "hotspot", "targets": [0, 63], "share": 1.0 });
        value["router"]["links"]["default"]["vcs"] = json!(vcs);
        let asleep = watch(&value, Clos::default(), Asleep::default(), 3000);
        let Asleep { asked, asleep, left } = *asleep.lock().unwrap();
        // Some hundred heads wait in every tick.
        assert!(asleep > 500 && left > 500, "hardly anything happens: {asleep} sleep, {left} leave");
        assert!(asked < 40 * left, "{asked} heads were asked about, of which {left} left");
    }
}

/// Watches that no packet goes where there is no way on, by following all ways.
#[derive(Default)]
struct DeadEnds {
    ways: HashMap<(u32, u32), bool>,
    hops: usize,
}

/// True if a minimal route of the whole graph leads from `at` to `to` over links that `graph` still has.
fn leads(graph: &dyn Topology, whole: &dyn Topology, at: u32, to: u32) -> bool {
    let mut hops = Vec::new();
    if at != to {
        whole.minimal_hops(at, to, DIRECT, Packet::new(0, 0).hop_state(), &[1; 8], &mut hops);
    }
    at == to
        || hops.iter().any(|hop| match graph.port(at, hop.port).peer {
            Peer::Router { router, .. } => leads(graph, whole, router, to),
            Peer::Endpoint(_) | Peer::None => false,
        })
}

const DOWN: [u32; 3] = [2, 3, 3];
const UP: [u32; 2] = [3, 2];

fn whole() -> Arc<dyn Topology> {
    crate::topology::Clos { down: DOWN.to_vec(), up: UP.to_vec(), faults: None }.build().unwrap()
}

impl Watch for DeadEnds {
    fn departs(&mut self, at: &RouterView<'_>, hop: Hop, packet: &Packet) {
        let Peer::Router { router, .. } = at.topology.port(at.router, hop.port).peer else {
            panic!("a packet goes over a faulty link of router {}", at.router);
        };
        let to = packet.destination_router;
        let way = self.ways.entry((router, to)).or_insert_with(|| leads(at.topology, &*whole(), router, to));
        assert!(*way, "a packet from router {} to router {to} goes to router {router}: a dead end", at.router);
        self.hops += 1;
    }
}

proptest::proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_packet_enters_a_dead_end(seed in 0u64..1_000_000, count in 1u32..18, kind in 0usize..7) {
        let faults = json!({ "count": count, "seed": seed });
        let traffic = [("/traffic/load", json!(0.5)), ("/traffic/pattern", json!("uniform"))];
        let mut value = scenario(json!("clos"), &traffic);
        value["topology"] = json!({ "kind": "clos", "down": DOWN, "up": UP, "faults": faults });
        // The faults alone, whatever they cut off.
        let dead = Faults { count: Some(count), seed, ..Faults::default() };
        let (whole, mut cut) = (whole(), None);
        match dead.apply(whole.clone()) {
            Ok(graph) if graph.faulty().is_none_or(|faulty| faulty.stranded().is_none()) => {
                let pairs = graph.hosts().flat_map(|from| graph.hosts().map(move |to| (from, to)));
                cut = cut.or(pairs.into_iter().find(|&(from, to)| !leads(&*graph, &*whole, from, to)));
                proptest::prop_assert_eq!(cut, None);
                let allocations = [
                    Allocation::Oblivious, Allocation::Deterministic, Allocation::Sequential, Allocation::Greedy,
                    Allocation::SequentialR, Allocation::GreedyR, Allocation::Availability,
                ];
                let around_faults = if seed % 2 == 0 { AroundFaults::Next } else { AroundFaults::Uniform };
                let allocation = allocations[kind];
                let params = Clos { allocation, around_faults, deterministic_share: 0.3, ..Clos::default() };
                let ends = watch(&value, params, DeadEnds::default(), 300);
                proptest::prop_assert!(ends.lock().unwrap().hops > 300);
            }
            // Some packets take detours, which have channels of their own.
            Ok(graph) => {
                let (from, to) = graph.faulty().and_then(|faulty| faulty.stranded()).unwrap();
                proptest::prop_assert!(!leads(&*graph, &*whole, from, to));
                value["router"]["links"]["default"]["vcs"] = json!(2);
                let report = verify(&Scenario::from_value(&value).unwrap()).unwrap();
                proptest::prop_assert_eq!(&report["proved"], true);
                proptest::prop_assert!(report["detours"]["dependencies"].as_u64() > Some(0));
            }
            Err(error) => {
                let text = error.to_string();
                proptest::prop_assert!(text.contains("no way is left from router"), "{}", text);
                let refused = verify(&Scenario::from_value(&value).unwrap()).unwrap_err().to_string();
                proptest::prop_assert!(refused.starts_with("topology.faults = "), "{}", refused);
            }
        }
    }
}

/// Counts by itself which heads have chosen which output, and compares.
#[derive(Default)]
struct Chosen {
    by_queue: HashMap<(u32, u16, u16), u16>,
    before: HashMap<(u32, u16, u16), u16>,
    compared: usize,
    /// Of these heads, those that have found others at some output.
    contended: usize,
}

impl Chosen {
    fn heads_at(chosen: &HashMap<(u32, u16, u16), u16>, router: u32, port: u16, but: (u32, u16, u16)) -> usize {
        chosen.iter().filter(|(queue, to)| queue.0 == router && **to == port && **queue != but).count()
    }
}

impl Watch for Chosen {
    fn asked(&mut self, _: &Rule, _: &RouterView<'_>, _: &[Head], _: &Arena) {
        self.before = self.by_queue.clone();
    }

    /// With `greedy`: every head that goes up has taken an output that can take it, if any can, and of these one with
    /// the fewest other heads of the cycle before.
    fn decided(&mut self, rule: &Rule, at: &RouterView<'_>, heads: &[Head], packets: &Arena) {
        for head in heads {
            let (packet, hop) = (&packets[head.packet], head.hop.unwrap());
            let queue = (at.router, head.port, head.queue);
            self.by_queue.insert(queue, hop.port);
            if rule.ascends(at, packet).is_some() {
                let demerit = |port: u16| {
                    let heads = Self::heads_at(&self.before, at.router, port, queue);
                    (State::now(at, port, at.first_flit(packet), false).free_from > at.now, heads)
                };
                let mut ways = Vec::new();
                at.topology.minimal_hops(
                    at.router,
                    packet.destination_router,
                    DIRECT,
                    packet.hop_state(),
                    at.vcs(),
                    &mut ways,
                );
                let best = ways.iter().map(|way| demerit(way.port)).min();
                assert_eq!(Some(demerit(hop.port)), best, "router {} at {}", at.router, at.now);
                self.compared += 1;
                self.contended += usize::from(ways.iter().any(|way| demerit(way.port).1 > 0));
            }
        }
        let counters = rule.contention.as_ref().unwrap();
        for port in 0..at.topology.ports(at.router) {
            let heads = Self::heads_at(&self.by_queue, at.router, port, (u32::MAX, 0, 0));
            assert_eq!(usize::from(counters.of(at, port)), heads, "output {port} of router {}", at.router);
        }
    }

    fn tail_left(&mut self, router: u32, port: u16, queue: u16) {
        self.by_queue.remove(&(router, port, queue));
    }
}

#[test]
fn contention_counts_the_heads_that_have_chosen_an_output() {
    for (size, redecide) in [(1, true), (3, true), (3, false)] {
        // More inputs than outputs.
        let mut value = scenario(json!("clos"), &[("/topology", json!({ "kind": "clos", "down": [8, 4], "up": [3] }))]);
        value["traffic"] = json!({ "load": 0.9, "packet_size": size, "pattern": "uniform" });
        let params = Clos { allocation: Allocation::Greedy, measure: Measure::Contention, redecide, ..Clos::default() };
        let chosen = watch(&value, params, Chosen::default(), 400);
        let chosen = chosen.lock().unwrap();
        assert!(chosen.compared > 1000 && chosen.contended > 50, "{} {}", chosen.compared, chosen.contended);
    }
}

/// Watches that inputs decided about together share an output only if there is no other as good.
#[derive(Default)]
struct Shared {
    shared: usize,
    apart: usize,
}

impl Watch for Shared {
    fn decided(&mut self, rule: &Rule, at: &RouterView<'_>, heads: &[Head], packets: &Arena) {
        let up: Vec<&Head> = heads.iter().filter(|head| rule.ascends(at, &packets[head.packet]).is_some()).collect();
        let mut taken: HashMap<u16, u32> = HashMap::new();
        for head in &up {
            *taken.entry(head.hop.unwrap().port).or_default() += 1;
        }
        let depth = |port: u16| State::now(at, port, 1, false);
        for (&port, &inputs) in taken.iter().filter(|(_, inputs)| **inputs > 1) {
            self.shared += 1;
            let tree = rule.tree.as_ref().unwrap();
            let level = tree.level(at.router);
            let others = (tree.down(level)..tree.down(level) + tree.up(level)).filter(|port| !taken.contains_key(port));
            for free in others.filter(|&free| depth(free).free_from <= at.now) {
                // The last of the inputs has found the others' phits there.
                let shared = depth(port).depth + inputs - 1;
                assert!(depth(free).depth > shared, "{inputs} inputs to output {port}, none to {free}: {heads:?}");
            }
        }
        self.apart += taken.values().filter(|inputs| **inputs == 1).count();
    }
}

#[test]
fn a_sequential_allocation_shares_no_output_while_an_equally_good_one_is_free() {
    for redecide in [true, false] {
        // Heads are sometimes more than outputs, so that some must share.
        let mut value = scenario(json!("clos"), &[("/topology", json!({ "kind": "clos", "down": [8, 4], "up": [5] }))]);
        value["traffic"] = json!({ "load": 0.55, "pattern": { "kind": "shift", "offset": 8 } });
        let params = Clos { redecide, ..Clos::default() };
        let seen = watch(&value, params, Shared::default(), 1500);
        let seen = seen.lock().unwrap();
        assert!(seen.shared > 100 && seen.apart > 100, "{} shared, {} apart", seen.shared, seen.apart);
    }
}

/// The outputs that heads are given several times in a cycle of the links, of as many ticks.
struct Repeated {
    ticks_per_cycle: Tick,
    /// By router, port, queue, cycle, source and birth of a head: the output that it was given.
    given: HashMap<(u32, u16, u16, Tick, u32, Tick), u16>,
    /// Heads asked about again in the same cycle.
    again: u32,
    /// Those of them that got another output.
    changed: u32,
}

impl Watch for Repeated {
    fn decided(&mut self, _: &Rule, at: &RouterView<'_>, heads: &[Head], packets: &Arena) {
        for head in heads {
            let (packet, cycle) = (&packets[head.packet], at.now / self.ticks_per_cycle);
            let key = (at.router, head.port, head.queue, cycle, packet.source, packet.birth);
            let Some(Hop { port, .. }) = head.hop else { continue };
            if let Some(before) = self.given.insert(key, port) {
                self.again += 1;
                self.changed += u32::from(before != port);
            }
        }
    }
}

#[test]
fn a_head_keeps_its_output_for_a_cycle_if_decisions_are_made_once() {
    for decide in [Decide::Cycle, Decide::Round] {
        for allocation in [Allocation::Greedy, Allocation::Sequential, Allocation::GreedyR] {
            let mut value = scenario(json!("clos"), &[("/measure/cycles", json!(1000))]);
            (value["router"]["clock"], value["router"]["speedup"]) = (json!("crossbar"), json!(2));
            value["router"]["inputs"] = json!("link");
            let params = Clos { allocation, decide, ..Clos::default() };
            let repeated = Repeated { ticks_per_cycle: 2, given: HashMap::new(), again: 0, changed: 0 };
            let repeated = watch(&value, params, repeated, 2000);
            let Repeated { again, changed, .. } = *repeated.lock().unwrap();
            assert!(again > 20, "{allocation:?}: {again} heads have lost");
            assert_eq!(changed == 0, decide == Decide::Cycle, "{allocation:?} {decide:?}: {changed} of {again}");
        }
    }
}

fn sums(value: &Value, threads: usize, partitions: usize) -> crate::measure::Counters {
    let options = Options { threads, partitions: Some(partitions) };
    let outcome = Simulation::new(&Scenario::from_value(value).unwrap(), options).unwrap().run(&mut |_, _| true);
    outcome.unwrap_or_else(|error| panic!("{error}\n{value}")).collector().counters.clone()
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
        assert!(sums(&value, 1, 1).packets.recorded > 2000);
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
    for measure in ["credits", "contention"] {
        let one =
            json!({ "kind": "clos", "allocation": "greedy_r", "samples": 1, "redecide": false, "measure": measure });
        assert_eq!(results(one), results(json!("minimal")));
    }
    assert_ne!(clos("greedy", "measure", json!("contention")), clos("greedy", "measure", json!("credits")));
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
    assert_eq!(Path::Destination.key(&Packet::new(5, 9)), 9);
    assert_eq!(Path::Sum.key(&Packet::new(5, 9)), 14);
    assert_ne!(Path::Hash.key(&Packet::new(5, 9)), Path::Hash.key(&Packet::new(9, 5)));
    // Digits of 23 in a tree with 4 and then 3 ways up: 23 mod 4, and 23 / 4 mod 3.
    let params = crate::topology::Clos { down: vec![4, 4, 3], up: vec![4, 3], faults: None };
    let graph = params.build().unwrap();
    let tree = graph.tree().unwrap();
    assert_eq!((tree.digit(0, 23), tree.digit(1, 23), tree.digit(2, 23)), (3, 2, 0));
}

#[test]
fn what_does_not_fit_is_refused() {
    let refused = |routing: Value, changes: &[(&str, Value)]| {
        let read = Scenario::from_value(&scenario(routing, changes));
        read.and_then(|scenario| verify(&scenario)).unwrap_err().to_string()
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
        ("samples", json!(0), "routing.samples = 0: expected a whole number from 1 to 4096"),
        ("precision", json!(32), "routing.precision = 32: expected a whole number, at most 31"),
        ("precompute", json!(3), "routing.precompute = 3: expected a whole number, at most 2"),
        ("deterministic_share", json!(1.5), "routing.deterministic_share = 1.5: expected a number from 0 to 1"),
        (
            "precompute",
            json!(1),
            "routing.precompute = 1: expected 0: only the allocations \"greedy\" and \"greedy_r\" can be computed \
             beforehand",
        ),
    ] {
        let mut routing = json!({ "kind": "clos" });
        routing[key] = value;
        assert_eq!(refused(routing, &[]), expected);
    }
}
