//! Networks with a routing mechanism of the tests' own: one that deadlocks, and one that wants to be asked differently.

use crate::engine::{NONE, Tick};
use crate::error::ScenarioError;
use crate::fabric::input_queued::config::{Policies, Settings};
use crate::fabric::input_queued::events::kind;
use crate::fabric::input_queued::stuck::find_cycle;
use crate::measure::Counters;
use crate::packet::Packet;
use crate::proof::{Legs, Proof};
use crate::routing::{Payload, RouterView, Routing, RoutingContext, RoutingKind, RoutingParams, Site, View, Wants};
use crate::run::{Options, RunError, Simulation};
use crate::scenario::Scenario;
use crate::topology::{Hop, HopState, Leg, Peer, Topology};
use serde_json::{Value, json};
use std::collections::HashMap;

fn simulation(value: &Value, partitions: usize) -> Simulation {
    let scenario = Scenario::from_value(value).unwrap();
    Simulation::new(&scenario, Options { threads: 1, partitions: Some(partitions) }).unwrap()
}

/// Always the same way round the ring, always in the same channel.
struct Round;

impl Routing for Round {
    fn route(&mut self, _: &mut View<'_>, _: u16, _: u16, _: &mut Packet) -> Option<Hop> {
        Some(Hop { port: 1, vc: 0, vcs: 1 })
    }
}

/// A ring on which everybody sends half way round, all at once, with room for one packet in a channel.
fn ring(switching: &str) -> Value {
    json!({
        "topology": { "kind": "torus", "dims": [4] },
        "router": {
            "switching": switching, "flit_size": 2,
            "links": { "default": { "buffer": 8, "vcs": 2 }, "endpoint": { "vcs": 1 } },
        },
        "traffic": { "load": 1, "packet_size": 8, "pattern": { "kind": "shift", "offset": 2 },
            "process": { "kind": "periodic", "phase": "zero" } },
        "measure": { "warmup": 0, "cycles": 20000 },
    })
}

fn with_routing(mut simulation: Simulation, routing: impl Fn() -> Box<dyn Routing>) -> Simulation {
    for partition in simulation.parts_mut() {
        partition.routing = routing();
        let old = partition.settings;
        let wants = partition.routing.wants();
        partition.settings = Settings::new(
            &partition.config,
            &Policies {
                wants,
                transparent: old.transparent,
                managed: old.managed,
                ideal: old.ideal,
                by_age: old.by_age,
                own_topology: old.own_topology,
                messages: !old.timed,
                sizes: (old.size as u16, old.size as u16),
            },
        );
    }
    simulation
}

#[test]
fn a_ring_without_a_dateline_deadlocks_and_the_watchdog_names_the_circle() {
    for switching in ["virtual_cut_through", "wormhole"] {
        let mut messages = Vec::new();
        for partitions in [1, 2, 4] {
            let mut stuck = with_routing(simulation(&ring(switching), partitions), || Box::new(Round));
            for tick in 1..1000 {
                stuck.advance_to(tick);
                stuck.fabric().audit().unwrap();
            }
            let cycle = find_cycle(stuck.kernel().unwrap()).expect("every buffer of the ring waits for the next");
            let mut routers: Vec<u32> = cycle.iter().map(|w| w.router).collect();
            routers.sort_unstable();
            assert_eq!(routers, [0, 1, 2, 3]);
            assert!(cycle.iter().all(|w| (w.port, w.queue, w.output, w.vc, w.vcs) == (2, 0, 1, 0, 1)), "{cycle:?}");

            let fresh = with_routing(simulation(&ring(switching), partitions), || Box::new(Round));
            match fresh.run(&mut |_, _| true) {
                Err(RunError::Deadlock(message)) => messages.push(message),
                other => panic!("{:?}", other.map(|o| o.summary())),
            }
        }
        let message = &messages[0];
        assert!(messages.iter().all(|m| m == message), "{messages:#?}");
        assert!(
            message.starts_with("deadlock: ") && message.contains("in queue 0 of input 2 of router 3"),
            "{message}"
        );
    }
}

#[test]
fn a_ring_with_a_dateline_does_not() {
    for switching in ["virtual_cut_through", "wormhole"] {
        let mut simulation = simulation(&ring(switching), 2);
        for tick in 1..3000 {
            simulation.advance_to(tick);
            assert_eq!(find_cycle(simulation.kernel().unwrap()), None, "tick {tick}");
        }
        assert!(simulation.run(&mut |_, _| true).is_ok());
    }
}

#[test]
fn an_idle_or_nearly_idle_network_is_no_deadlock() {
    for load in [0.0, 0.00001, 0.001] {
        let mut value = ring("virtual_cut_through");
        value["traffic"]["load"] = json!(load);
        value["measure"]["cycles"] = json!(300_000);
        assert!(simulation(&value, 1).run(&mut |_, _| true).is_ok());
    }
}

/// Dimension order on a mesh, asked in the ways that a mechanism can ask for. Checks what it is told.
struct Asked {
    wants: Wants,
    /// The packet at the head of each queue, by router, port and queue.
    heads: HashMap<(u32, u16, u16), (u32, u32)>,
    /// Tick in which the occupancy of each router's outputs last changed.
    changed: HashMap<u32, Tick>,
    /// Messages heard.
    heard: u32,
}

/// Cycles between two messages, and cycles that they take.
const PERIOD: u32 = 50;
const LATENCY: u32 = 3;

impl Drop for Asked {
    fn drop(&mut self) {
        let told = self.heard > 0 && !self.changed.is_empty();
        assert!(self.wants.period == 0 || told || std::thread::panicking(), "no message was heard");
    }
}

#[derive(serde::Serialize)]
struct AskedParams {
    #[serde(skip)]
    wants: Wants,
}

impl RoutingParams for AskedParams {
    fn check(&self, _: &dyn Topology) -> Result<(), ScenarioError> {
        Ok(())
    }
    fn vcs_needed(&self, _: &dyn Topology) -> (Vec<u8>, String) {
        (vec![1, 1], String::new())
    }
    fn proof(&self) -> Proof {
        Proof::legs(Legs::Minimal)
    }
    fn sends_messages(&self) -> bool {
        true
    }
    fn build(&self, _: &RoutingContext) -> Box<dyn Routing> {
        Box::new(Asked { wants: self.wants, heads: HashMap::new(), changed: HashMap::new(), heard: 0 })
    }
}

impl Routing for Asked {
    fn wants(&self) -> Wants {
        self.wants
    }

    fn route(&mut self, view: &mut View<'_>, port: u16, queue: u16, packet: &mut Packet) -> Option<Hop> {
        if self.wants.heads {
            let head = self.heads.get(&(view.router, port, queue));
            assert_eq!(head, Some(&(packet.source, packet.birth)), "asked about a head that was not announced");
        }
        let leg = Leg { index: 0, of: 1, to_group: false };
        let state: HopState = packet.hop_state();
        Some(view.topology.minimal_hop(view.router, packet.destination_router, leg, state, view.vcs, view.rng))
    }

    fn head_arrived(&mut self, at: &mut Site<'_>, port: u16, queue: u16, packet: &mut Packet) {
        let before = self.heads.insert((at.router, port, queue), (packet.source, packet.birth));
        assert_eq!(before, None, "a head arrived before the tail of the one before had left");
    }

    fn tail_left(&mut self, at: &mut Site<'_>, port: u16, queue: u16) {
        assert!(self.heads.remove(&(at.router, port, queue)).is_some(), "a tail left without a head");
    }

    fn departs(&mut self, at: &RouterView<'_>, _: u16, _: u16, hop: Hop, packet: &mut Packet) {
        assert!(matches!(at.topology.port(at.router, hop.port).peer, Peer::Router { .. }));
        packet.scratch += 1;
        assert_eq!(packet.scratch, packet.hops.total() + 1, "a departure was not told, or told twice");
    }

    /// Tells the neighbours the time, and that it is to be heard a link's latency later.
    fn period(&mut self, at: &mut Site<'_>) {
        assert_eq!(at.now % PERIOD, 0);
        for port in 0..at.topology.ports(at.router) {
            at.send(port, vec![at.now as u16].into(), 0);
        }
        at.wake_all();
    }

    fn occupancy_changed(&mut self, at: &mut Site<'_>) {
        let before = self.changed.insert(at.router, at.now);
        assert_ne!(before, Some(at.now), "told twice in a tick");
    }

    fn hear(&mut self, at: &mut Site<'_>, port: u16, payload: &Payload) {
        assert!(matches!(at.topology.port(at.router, port).peer, Peer::Router { .. }));
        assert_eq!(at.now, u32::from(payload[0]) + LATENCY);
        self.heard += 1;
    }
}

/// A busy mesh in which routes are unique, so that asking again cannot change them.
fn mesh(switching: &str, stage: &str, load: f64) -> Value {
    json!({
        "topology": { "kind": "mesh", "dims": [4, 3] },
        "router": {
            "switching": switching, "flit_size": 3, "vc_allocation": stage, "speedup": 2, "output_buffer": 12,
            "latency": 2, "links": { "default": { "buffer": 12, "vcs": 2, "latency": LATENCY } },
        },
        "traffic": { "load": load, "packet_size": { "kind": "choice", "sizes": [1, 7] } },
        "measure": { "warmup": 0, "cycles": 800 },
    })
}

#[test]
fn how_a_mechanism_is_asked_does_not_change_what_it_answers() {
    // A queue that sleeps until it is woken must move in the very tick in which one that asks in every tick moves.
    for switching in ["virtual_cut_through", "store_and_forward", "wormhole"] {
        for stage in ["with_switch", "stage"] {
            for load in [0.2, 0.9] {
                let mut results = Vec::new();
                for mask in 0..16 {
                    let told = mask & 8 != 0;
                    let wants = Wants {
                        batch: mask & 1 != 0,
                        redecide: mask & 2 != 0,
                        arrivals: told,
                        heads: mask & 4 != 0,
                        departures: told,
                        occupancy: told,
                        occupancy_class: 0,
                        period: if told { PERIOD } else { 0 },
                        settled: false,
                    };
                    let mut value = mesh(switching, stage, load);
                    if mask % 5 == 2 {
                        value["router"]["redecision"] = json!("every_cycle");
                    }
                    let mut scenario = Scenario::from_value(&value).unwrap();
                    scenario.routing = RoutingKind::custom("asked", AskedParams { wants });
                    let partitions = Some(1 + mask % 3);
                    let mut run = Simulation::new(&scenario, Options { partitions, threads: 1 }).unwrap();
                    for tick in 1..=400 {
                        run.advance_to(tick);
                        run.fabric()
                            .audit()
                            .unwrap_or_else(|wrong| panic!("{wrong}: {wants:?} {switching} {stage} {load}"));
                    }
                    let outcome = run.run(&mut |_, _| true).unwrap_or_else(|error| panic!("{error}"));
                    let Counters { packets, latency, paths, misrouting, .. } = outcome.collector().counters.clone();
                    results.push((wants, (packets, latency, paths, misrouting)));
                }
                for (wants, recorded) in &results {
                    assert_eq!(*recorded, results[0].1, "{wants:?} {switching} {stage} {load}");
                }
            }
        }
    }
}

#[test]
fn packets_between_two_endpoints_arrive_in_order() {
    // One path and one channel from end to end: first in, first out.
    for switching in ["virtual_cut_through", "wormhole"] {
        let mut value = mesh(switching, "with_switch", 0.8);
        value["router"]["links"] = json!({ "default": { "buffer": 12, "vcs": 1, "latency": 3 } });
        let mut simulation = simulation(&value, 3);
        let mut last: HashMap<(u32, u32), u32> = HashMap::new();
        let mut delivered = 0;
        for tick in 1..4000 {
            simulation.advance_to(tick);
            for partition in simulation.parts() {
                // Those whose tail arrives in the tick that comes next.
                partition.wheel.for_each(partition.now, |at, event| {
                    if at == tick && event.target >> kind::SHIFT == kind::DELIVERY {
                        let packet = partition.packets[event.target & kind::MASK];
                        let before = last.insert((packet.source, packet.destination), packet.birth);
                        assert!(
                            before.is_none_or(|before| before < packet.birth),
                            "{packet:?} after one of {before:?}"
                        );
                        assert_ne!(packet.injected, NONE);
                        delivered += 1;
                    }
                });
            }
        }
        assert!(delivered > 1000, "{delivered}");
    }
}
