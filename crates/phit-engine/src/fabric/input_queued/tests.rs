//! Networks with a routing mechanism that deadlocks, and the order of packets.

use super::{InputQueued, Partition};
use crate::engine::{NONE, Rng, Stream};
use crate::fabric::input_queued::options::kernel::{Compiled, forced};
use crate::fabric::input_queued::options::settings::{Policies, Settings};
use crate::fabric::input_queued::state::kind;
use crate::packet::Packet;
use crate::routing::{Routing, View};
use crate::run::{Options, RunError, Simulation};
use crate::scenario::Scenario;
use crate::topology::Hop;
use serde_json::{Value, json};
use std::collections::HashMap;

impl Simulation {
    /// The partitions of a network of input-queued routers.
    pub(crate) fn parts(&self) -> &[Partition] {
        self.kernel::<InputQueued>().expect("input-queued routers").parts().0
    }

    /// The partitions of a network of input-queued routers, for tests that put something of their own into them.
    pub(crate) fn parts_mut(&mut self) -> &mut [Partition] {
        self.kernel_mut::<InputQueued>().expect("input-queued routers").parts_mut()
    }
}

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
        (partition.routing, partition.map.tabled) = (routing(), None);
        let rng = |endpoint| Rng::new(1, Stream::Injection, endpoint);
        partition.injection_rngs = (0..partition.endpoints.len() as u64).map(rng).collect::<Vec<_>>().into();
        let old = partition.setup.settings;
        let wants = partition.routing.wants();
        let settings = Settings::new(
            &partition.setup.config,
            &Policies {
                wants,
                detours: false,
                transparent: old.transparent,
                undivided: old.transparent,
                looks_ahead: old.looks_ahead,
                sorts: old.sorts,
                managed: old.managed,
                parts_replies: old.parts_injection,
                first_leads: old.first_leads,
                lasting: false,
                ideal: old.ideal,
                by_age: !old.alike,
                proposes: old.wastes,
                own_topology: old.own_topology,
                messages: old.backlog.is_none(),
                sizes: (old.size as u16, old.size as u16),
                requests: None,
                ranks: None,
                controls: false,
                reserves: false,
                by_class: (false, false),
                repeats: false,
                serial: old.serial,
                in_turn: old.in_turn,
                radix: old.turns,
            },
        );
        partition.setup.thawed().settings = settings;
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
            let cycle =
                stuck.kernel::<InputQueued>().unwrap().circle().expect("every buffer of the ring waits for the next");
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
            assert_eq!(simulation.kernel::<InputQueued>().unwrap().circle(), None, "tick {tick}");
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

#[test]
fn mail_waits_for_its_stretch_of_time_and_no_longer() {
    for (latency, waits) in [(20, false), (100, true)] {
        let value = json!({
            "topology": { "kind": "dragonfly", "p": 1, "a": 2, "h": 1 },
            "router": {
                "links": {
                    "default": { "buffer": 64, "vcs": 3 },
                    "global": { "latency": latency, "buffer": 256, "vcs": 3 },
                },
            },
            "traffic": { "load": 0.3, "packet_size": 8 },
            "measure": { "warmup": 0, "cycles": 4000 },
        });
        let mut simulation = simulation(&value, 3);
        let mut most = 0;
        for tick in 1..4000 {
            simulation.advance_to(tick);
            most = most.max(simulation.parts().iter().map(|part| part.post.coming().count()).sum());
        }
        simulation.fabric().audit().unwrap();
        // Where epochs are short, all is taken in at once; else a piece for each tick that has not come.
        assert!((most > 0) == waits && most < 1000, "{most} pieces of mail wait");
    }
}

#[test]
fn a_packet_takes_the_channel_that_its_router_prefers() {
    // Both routers of a group send to each other over one link with four channels: up to the third, or the fourth for
    // packets that end there, may be taken, and there is always room.
    let used = |choice: &str| -> Vec<bool> {
        let value = json!({
            "topology": { "kind": "dragonfly", "p": 1, "a": 2, "h": 1 },
            "router": {
                "vc_choice": choice,
                "links": { "default": { "vcs": 2, "buffer": 64 }, "local": { "latency": 5, "vcs": 4, "buffer": 640 } },
            },
            "queueing": "flexvc",
            "traffic": { "load": 0.3, "packet_size": 8 },
            "measure": { "warmup": 0, "cycles": 4000 },
        });
        let mut simulation = simulation(&value, 1);
        let mut used = vec![false; 4];
        for tick in 1..4000 {
            simulation.advance_to(tick);
            for part in simulation.parts() {
                for output in part.tables.outputs.iter().filter(|output| output.class == 1) {
                    for (vc, used) in (output.vc..).zip(&mut used) {
                        *used |= part.tables.channels[vc].credits < 640;
                    }
                }
            }
        }
        used
    };
    assert_eq!(used("lowest"), [true, false, false, false]);
    // Packets that go on in another group take the third, those that end in this one the fourth.
    assert_eq!(used("highest"), [false, false, true, true]);
    assert_eq!(used("random"), [true; 4]);
}

#[test]
fn a_queue_of_one_destination_keeps_its_decision() {
    for (queueing, keeps) in [("voqnet", true), ("voqsw", false)] {
        let value = json!({
            "topology": { "kind": "k_ary_n_tree", "arity": 2, "levels": 3 },
            "router": { "links": { "default": { "buffer": 64, "vcs": 1, "latency": 2 } } },
            "routing": "table",
            "queueing": queueing,
            "traffic": { "load": 0.6, "packet_size": 4 },
            "measure": { "warmup": 0, "cycles": 500 },
        });
        let mut simulation = simulation(&value, 2);
        for tick in 1..400 {
            simulation.advance_to(tick);
            simulation.fabric().audit().unwrap();
        }
        let table = simulation.blueprint().table.clone().unwrap();
        let mut kept = 0;
        for partition in simulation.parts() {
            for (index, queue) in (0..).zip(partition.queues.iter()) {
                if queue.first == NONE && queue.output != NONE {
                    let input = &partition.inputs[queue.port];
                    let port = partition.inputs[queue.output].number;
                    let destination = index - input.queues;
                    assert_eq!(port, table.port(partition.setup.routers.number(input.router), destination));
                    kept += 1;
                }
            }
        }
        assert_eq!(kept > 0, keeps, "{queueing}: {kept}");
    }
}

#[test]
fn packets_between_two_endpoints_arrive_in_order() {
    // One path and one channel from end to end: first in, first out.
    for switching in ["virtual_cut_through", "wormhole"] {
        let value = json!({
            "topology": { "kind": "mesh", "dims": [4, 3] },
            "router": {
                "switching": switching, "flit_size": 3, "speedup": 2, "output_buffer": 12, "latency": 2,
                "links": { "default": { "buffer": 12, "vcs": 1, "latency": 3 } },
            },
            "traffic": { "load": 0.8, "packet_size": { "kind": "choice", "sizes": [1, 7] } },
            "measure": { "warmup": 0, "cycles": 800 },
        });
        let mut simulation = simulation(&value, 3);
        let mut last: HashMap<(u32, u32), u32> = HashMap::new();
        let mut delivered = 0;
        for tick in 1..4000 {
            simulation.advance_to(tick);
            for partition in simulation.parts() {
                // Packets whose tail arrives in the next tick.
                partition.post.for_each(partition.now, |at, list, event| {
                    let (what, packet) = kind::of_listed(list, event);
                    if at == tick && what == kind::DELIVERY {
                        let packet = partition.packets[packet];
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

/// Networks of all kinds that have kernels of their own, one of each.
fn networks() -> Vec<Value> {
    let dragonfly = json!({
        "topology": { "kind": "dragonfly", "p": 2, "a": 4, "h": 2 },
        "router": {
            "latency": 3, "speedup": 2, "output_buffer": 16,
            "links": {
                "endpoint": { "vcs": 3 },
                "local": { "latency": 3, "vcs": 5, "buffer": 16 },
                "global": { "latency": 10, "vcs": 2, "buffer": 48 },
            },
        },
    });
    let torus = json!({
        "topology": { "kind": "torus", "dims": [4, 4] },
        "routing": "minimal",
        "router": { "links": { "default": { "vcs": 4, "latency": 2, "buffer": 16 } } },
    });
    let switch = json!({
        "topology": { "kind": "single", "endpoints": 6 },
        "routing": "minimal",
        "router": { "links": { "default": { "vcs": 1, "latency": 2, "buffer": 16 } } },
    });
    let clos = json!({
        "topology": { "kind": "clos", "down": [4, 4], "up": [4] },
        "router": { "links": { "default": { "vcs": 1, "buffer": 16 } } },
        "traffic": { "pattern": "worst_case_uniform" },
    });
    let tree = json!({
        "topology": { "kind": "k_ary_n_tree", "arity": 2, "levels": 3 },
        "routing": "table",
        "router": { "links": { "default": { "vcs": 1, "latency": 2, "buffer": 64 } } },
        "traffic": { "pattern": { "kind": "hotspot", "targets": [3], "share": 0.3 } },
    });
    let isolating = json!({
        "router": { "admittance": "per_destination" },
        "queueing": { "kind": "fbicm", "detection": 8, "stop": 8, "go": 4, "cfqs": 4 },
    });
    let sorted = json!({ "kind": "voqsw", "memory": "shared" });
    let cut_through = json!({
        "switching": "wormhole", "flit_size": 2, "vc_allocation": "stage", "vc_eligible": "with_packet_room",
        "connection": "packet", "output_buffer": 8,
        "links": { "default": { "vcs": 2, "latency": 2, "buffer": 16 } },
    });
    let notified = json!({ "kind": "ecn", "threshold": 6, "root_threshold": 12, "channels": "own" });
    let changes = [
        (&dragonfly, json!({ "routing": "minimal" })),
        (&dragonfly, json!({ "routing": "valiant" })),
        (&dragonfly, json!({ "routing": "ugal_l" })),
        (&dragonfly, json!({ "routing": "olm" })),
        (&dragonfly, json!({ "routing": "minimal", "router": { "vc_allocation": "speculative" } })),
        (&torus, json!({})),
        (&torus, json!({ "router": { "vc_allocation": "stage" } })),
        (&torus, json!({ "router": { "vc_allocation": "speculative" } })),
        (&torus, json!({ "router": { "vc_allocation": "stage", "vc_eligible": "with_room" } })),
        (&torus, json!({ "router": { "vc_allocation": "stage", "switching": "wormhole", "flit_size": 2 } })),
        (&switch, json!({})),
        (&switch, json!({ "router": { "vc_allocation": "speculative" } })),
        (&switch, json!({ "queueing": "voqsw", "router": { "links": { "default": { "buffer": 24 } } } })),
        (&clos, json!({ "routing": { "kind": "clos" } })),
        (&clos, json!({ "routing": { "kind": "clos", "allocation": "oblivious" } })),
        (&clos, json!({ "routing": "minimal", "router": { "vc_allocation": "speculative" } })),
        (&tree, json!({})),
        (&tree, json!({ "queueing": "voqnet" })),
        (&tree, json!({ "queueing": "voqsw", "router": { "allocation_delay": 1 } })),
        (&tree, isolating),
        (&tree, json!({ "routing": "minimal", "queueing": sorted })),
        (&tree, json!({ "routing": "minimal", "queueing": sorted, "router": cut_through })),
        (&tree, json!({ "routing": "minimal", "queueing": sorted, "router": cut_through, "congestion": notified })),
    ];
    changes
        .map(|(base, change)| {
            let mut network = base.clone();
            merge(&mut network, &change);
            network
        })
        .to_vec()
}

/// Puts the keys of `change` into `into`.
fn merge(into: &mut Value, change: &Value) {
    match (into, change) {
        (Value::Object(into), Value::Object(change)) => {
            change.iter().for_each(|(key, value)| merge(into.entry(key).or_insert(Value::Null), value));
        }
        (into, change) => *into = change.clone(),
    }
}

/// The results of a run of a network, in all digits, and the kernel that ran it.
fn outcome(network: &Value, partitions: usize, row: Option<Compiled>) -> (String, Compiled) {
    let start = || simulation(network, partitions);
    let mut simulation = row.map_or_else(start, |row| forced(row, start));
    let kernel = simulation.parts()[0].setup.settings.kernel;
    let mut steps = Vec::new();
    for tick in [97, 211, 400] {
        simulation.advance_to(tick);
        simulation.fabric().audit().unwrap();
        steps.push(simulation.fabric().progress());
    }
    let summary = simulation.run(&mut |_, _| true).map(|outcome| format!("{:?}", outcome.summary()));
    (format!("{steps:?} {summary:?}"), kernel)
}

#[test]
fn every_kernel_that_admits_a_network_gives_the_same_results() {
    let mut rng = Rng::new(40, Stream::Router, 0);
    let mut compared: Vec<Compiled> = Vec::new();
    for network in networks() {
        for size in [json!(1), json!(4), json!({ "kind": "uniform", "min": 1, "max": 4 })] {
            let load = [0.2, 0.5, 0.9];
            let mut network = network.clone();
            let drawn = json!({
                "seed": rng.below(1000),
                "traffic": { "load": load[rng.below(3) as usize], "packet_size": size },
                "measure": { "warmup": 50, "cycles": 350 },
            });
            merge(&mut network, &drawn);
            let partitions = 1 + rng.below(3) as usize;
            let (expected, kernel) = outcome(&network, partitions, None);
            for &row in Compiled::ALL.iter().filter(|row| **row != kernel) {
                let (found, forced) = outcome(&network, partitions, Some(row));
                if forced == row {
                    assert_eq!(found, expected, "{kernel:?} and {row:?} of {network}");
                    compared.push(kernel);
                }
            }
        }
    }
    let alone = [Compiled::General, Compiled::Single, Compiled::Listed];
    let missing: Vec<_> = Compiled::ALL.iter().filter(|row| !compared.contains(row) && !alone.contains(row)).collect();
    assert!(missing.is_empty(), "no network has compared {missing:?} with another kernel");
}
