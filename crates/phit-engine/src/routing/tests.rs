//! Adaptive mechanisms in randomised networks, watched from outside at every step.

use super::in_transit::{DIRECT, GLOBAL, proof};
use super::source_adaptive::Cost;
use super::*;
use crate::engine::{NONE, Tick};
use crate::error::ScenarioError;
use crate::fabric::input_queued::{Partition, TAIL_PENDING, kind};
use crate::packet::Packet;
use crate::proof::{Flaw, escape};
use crate::run::{Options, Simulation};
use crate::scenario::Scenario;
use crate::topology::{Hop, HopState, Hops, Topology};
use proptest::prelude::*;
use scenarios::{dragonfly, grids, mechanisms};
use serde_json::Value;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

#[path = "../../tests/common/adaptive.rs"]
mod scenarios;

/// The record of a watched mechanism.
type Told = Arc<Mutex<Heads>>;

#[derive(Debug, Default)]
struct Heads {
    /// The wish of each queue's head, by router, port and queue.
    wishes: HashMap<(u32, u16, u16), Wish>,
    /// The transfers that began and have not all been forgotten.
    transfers: Vec<Crossed>,
}

/// A transfer of a head that was told of.
#[derive(Debug, Clone, Copy)]
struct Crossed {
    /// Tick in which it began, and its output: the order of those at one router.
    began: (Tick, u16),
    /// Router, port and queue from which it came.
    from: (u32, u16, u16),
    wish: Wish,
    /// Its tail has left.
    over: bool,
}

impl Heads {
    /// The transfers that are over, but not all of those that `same` finds alike and that began before.
    fn held_up(&self, same: impl Fn(&Wish, &Wish) -> bool) -> Vec<Crossed> {
        let before = |a: &Crossed, b: &Crossed| a.from.0 == b.from.0 && same(&a.wish, &b.wish) && a.began < b.began;
        let held = |late: &&Crossed| late.over && self.transfers.iter().any(|one| !one.over && before(one, late));
        self.transfers.iter().filter(held).copied().collect()
    }
}

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
            assert!(
                told.wishes.contains_key(&(view.router, port, queue)),
                "decides about a packet that is not at the head"
            );
        }
        let standing = Standing {
            at: view.router,
            to: packet.destination_router,
            came: (packet.came_by, packet.came_in),
            hops: packet.hops,
            memo: packet.flags.into(),
        };
        let mut steps = Vec::new();
        self.rules.steps(view.topology, &standing, view.vcs(), &mut steps);
        let hop = self.inner.route(view, port, queue, packet);
        let known = |hop: &Hop| steps.iter().any(|step| step.hop == *hop);
        assert!(hop.as_ref().is_none_or(known), "{hop:?} of {packet:?} is not what was proved");
        hop
    }
    fn departs(&mut self, at: &RouterView<'_>, port: u16, queue: u16, hop: Hop, packet: &mut Packet) {
        let mut told = self.told.lock().unwrap();
        let from = (at.router, port, queue);
        if let Some(&wish) = told.wishes.get(&from) {
            told.transfers.push(Crossed { began: (at.now, hop.port), from, wish, over: false });
        }
        drop(told);
        self.inner.departs(at, port, queue, hop, packet);
    }
    fn head_arrived(&mut self, at: &mut Site<'_>, port: u16, queue: u16, packet: &mut Packet) {
        let (router, topology, to) = (at.router, at.topology, packet.destination_router);
        let mut hops = Vec::new();
        let state = HopState { came_by: 0, came_in: 0, leg_hops: Hops::default() };
        if router != to {
            topology.minimal_hops(router, to, DIRECT, state, at.vcs(), &mut hops);
        }
        assert!(hops.len() <= 1 || topology.grid().is_some(), "one link between two groups: one minimal port");
        let wanted = hops.first().map_or(packet.ejection_port, |hop| hop.port);
        let first = topology.group_routers(topology.group_of(router)).start;
        let global = topology.class_ports(router, GLOBAL);
        let counted = at.class(port) != 1;
        let link = topology.exit(router, to, &mut at.rng_of(packet)).filter(|_| counted);
        let link = link.map(|(owner, port)| (owner - first) as u16 * global.len() as u16 + port - global.start);
        self.told.lock().unwrap().wishes.insert((router, port, queue), Wish { port: wanted, link });
        self.inner.head_arrived(at, port, queue, packet);
    }
    fn tail_left(&mut self, at: &mut Site<'_>, port: u16, queue: u16) {
        let mut told = self.told.lock().unwrap();
        let from = (at.router, port, queue);
        told.wishes.remove(&from);
        told.transfers.iter_mut().filter(|transfer| transfer.from == from).for_each(|transfer| transfer.over = true);
        drop(told);
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
    fn loads_links(&self) -> bool {
        self.inner.params().loads_links()
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

/// The mechanism's observables for `router`: (name, port or link) to value.
fn observed(partition: &Partition, router: u32) -> HashMap<(&'static str, u16), u32> {
    let mut seen = HashMap::new();
    partition.routing.observe(router, partition.now, &mut |quantity, at, value| {
        seen.insert((quantity.name, at.unwrap_or(0)), value);
    });
    seen
}

/// The queues whose head is counted: it stands there, or its tail is leaving.
fn occupied(partition: &Partition) -> usize {
    let counted =
        |queue: &u32| partition.queues[*queue].first != NONE || partition.progress(*queue).sent == TAIL_PENDING;
    (0..partition.queues.len() as u32).filter(counted).count()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn counters_are_what_heads_want(
        which in 0usize..20, load in 0.1f64..1.0, offset in 0u32..4, seed: u64, partitions in 1usize..4
    ) {
        let others = ["piggyback", "ugal_l", "ugal_g", "par", "qcn_switch"];
        let family = |routing: &Value| !others.contains(&routing["kind"].as_str().unwrap());
        let all: Vec<Value> = mechanisms().into_iter().filter(family).collect();
        let routing = &all[which % all.len()];
        check_counters(routing, load, (offset > 0).then_some(offset), seed, partitions)?;
    }
}

#[test]
fn heads_that_leave_in_turn_are_counted_until_their_turn() {
    for routing in mechanisms().iter().filter(|routing| routing["crossing"] == "fifo") {
        check_counters(routing, 0.9, Some(1), 1, 2).unwrap_or_else(|wrong| panic!("{wrong}: {routing}"));
    }
}

/// Runs the mechanism in a small Dragonfly and compares its counters with its record.
fn check_counters(
    routing: &Value,
    load: f64,
    offset: Option<u32>,
    seed: u64,
    partitions: usize,
) -> Result<(), TestCaseError> {
    let value = dragonfly(routing, 9, load, offset, seed);
    let (mut simulation, told) = watched(&value, partitions);
    let counts = routing["kind"] != "olm";
    let mut longest = 0;
    // Partial arrays as they were broadcast last.
    let mut sent: HashMap<(u32, u16), u32> = HashMap::new();
    let mut heard = sent.clone();
    for tick in (0..500u32).step_by(5) {
        simulation.advance_to(tick + 1);
        simulation.fabric().audit().unwrap_or_else(|wrong| panic!("{wrong}: {routing}"));
        let partitions = simulation.parts();
        for partition in partitions {
            partition.post.for_each(partition.now, |_, list, event| {
                if let (kind::DELIVERY, packet) = kind::of_listed(list, event) {
                    longest = longest.max(partition.packets[packet].hops.total());
                }
            });
        }
        if !counts {
            continue;
        }
        let mut told = told.lock().unwrap();
        prop_assert_eq!(told.wishes.len(), partitions.iter().map(occupied).sum::<usize>());
        let seen: HashMap<u32, _> = partitions
            .iter()
            .flat_map(|p| p.setup.routers.iter().map(move |router| (router, observed(p, router))))
            .collect();
        let mut wanted: HashMap<(u32, &str, u16), u32> = HashMap::new();
        let mut want = |router: u32, name: &'static str, at: u16| *wanted.entry((router, name, at)).or_default() += 1;
        for (&(router, _, _), wish) in &told.wishes {
            want(router, "contention", wish.port);
            wish.link.into_iter().for_each(|link| want(router, "partial", link));
        }
        if routing["crossing"] == "fifo" {
            told.held_up(|a, b| a.port == b.port).iter().for_each(|it| want(it.from.0, "contention", it.wish.port));
            let links = told.held_up(|a, b| a.link.is_some() && a.link == b.link);
            links.iter().for_each(|it| want(it.from.0, "partial", it.wish.link.unwrap()));
        }
        // Transfers that nothing delays any longer do not delay others, either.
        let first = told.transfers.iter().position(|transfer| !transfer.over).unwrap_or(told.transfers.len());
        told.transfers.drain(..first);
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
            sent = seen
                .iter()
                .flat_map(|(&router, seen)| (0..8).map(move |link| ((router, link), seen[&("partial", link)])))
                .collect();
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
    Ok(())
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
    let check = |spoil| escape::check(&*topology, &Spoilt(spoil), &[2, 3, 2], None);
    assert!(check(|_, _| {}).is_ok());
    assert!(matches!(check(|step, _| step.hop.vc = 0), Err(Flaw::Cycle(_))));
    assert!(matches!(check(|step, packet| step.escape &= packet.came.0 == 0), Err(Flaw::Stranded { .. })));
    assert!(matches!(check(|step, _| step.escape = true), Err(Flaw::Cycle(_))));
    assert!(matches!(check(|step, _| step.hop.vc += 1), Err(Flaw::NoSuchChannel { .. })));
}

#[test]
fn counters_on_grids_allow_only_what_was_proved() {
    for value in grids() {
        let mut simulation = watched(&value, 2).0;
        for tick in (5..150).step_by(5) {
            simulation.advance_to(tick);
            simulation.fabric().audit().unwrap_or_else(|wrong| panic!("{wrong}: {value}"));
        }
    }
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
