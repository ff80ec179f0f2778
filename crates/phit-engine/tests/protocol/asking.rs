//! The options by which a routing mechanism chooses when it is asked: its view is right, and its answers do not change.

use crate::common::scenario;
use phit_engine::engine::Tick;
use phit_engine::error::ScenarioError;
use phit_engine::packet::Packet;
use phit_engine::proof::{Legs, Proof};
use phit_engine::routing::{
    Payload, RouterView, Routing, RoutingContext, RoutingKind, RoutingParams, Site, View, Wants,
};
use phit_engine::run::{Options, Simulation};
use phit_engine::topology::{Hop, HopState, Leg, Peer, Topology};
use serde_json::{Value, json};
use std::collections::HashMap;

/// Dimension order on a mesh, with each of these options. Checks its view.
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
pub(crate) struct AskedParams {
    #[serde(skip)]
    pub(crate) wants: Wants,
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
        Some(view.topology.minimal_hop(view.router, packet.destination_router, leg, state, view.vcs(), view.rng))
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
                        sleeps: false,
                        every_tick: false,
                        arrivals: told,
                        heads: mask & 4 != 0,
                        departures: told,
                        ejections: false,
                        occupancy: told,
                        occupancy_class: 0,
                        after_grants: false,
                        sends: told,
                        period: if told { PERIOD } else { 0 },
                        settled: false,
                        ends_passing: false,
                        alternatives: false,
                        ejects: false,
                    };
                    let mut value = mesh(switching, stage, load);
                    if mask % 5 == 2 {
                        value["router"]["redecision"] = json!("every_cycle");
                    }
                    let mut scenario = scenario(&value);
                    scenario.routing = RoutingKind::custom("asked", AskedParams { wants });
                    let partitions = Some(1 + mask % 3);
                    let mut run = Simulation::new(&scenario, Options { partitions, threads: 1 }).unwrap();
                    for tick in (5..=400).step_by(5) {
                        run.advance_to(tick);
                        run.fabric()
                            .audit()
                            .unwrap_or_else(|wrong| panic!("{wrong}: {wants:?} {switching} {stage} {load}"));
                    }
                    let outcome = run.run(&mut |_, _| true).unwrap_or_else(|error| panic!("{error}"));
                    let seen = outcome.collector().counters.clone();
                    results.push((wants, (seen.packets, seen.latency, seen.paths, seen.misrouting)));
                }
                for (wants, recorded) in &results {
                    assert_eq!(*recorded, results[0].1, "{wants:?} {switching} {stage} {load}");
                }
            }
        }
    }
}
