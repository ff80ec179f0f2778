//! Many heads that want the same outputs: whoever waits at an output gets it in its turn, as if it asked in every tick.

use crate::asking::AskedParams;
use crate::common::{scenario, with};
use phit_engine::routing::{RoutingKind, Wants};
use phit_engine::run::{Options, Simulation};
use serde_json::{Value, json};

/// What is delivered, and when, in a network whose heads wait at their outputs, or decide again until they go.
fn delivered(value: &Value, redecide: bool) -> impl PartialEq + std::fmt::Debug + use<> {
    let mut scenario = scenario(value);
    scenario.routing = RoutingKind::custom("asked", AskedParams { wants: Wants { redecide, ..Wants::default() } });
    let mut run = Simulation::new(&scenario, Options { partitions: Some(1), threads: 1 }).unwrap();
    for tick in (7..250).step_by(7) {
        run.advance_to(tick);
        run.fabric().audit().unwrap_or_else(|wrong| panic!("{wrong}: {value}"));
    }
    let outcome = run.run(&mut |_, _| true).unwrap_or_else(|error| panic!("{error}: {value}"));
    let seen = outcome.collector().counters.clone();
    (seen.packets, seen.latency, seen.paths)
}

/// A crowded network: half of all packets go to two endpoints. `small`: no more ports and queues than a word has bits.
fn crowded(small: bool, allocator: Value, packet_size: Value, transit_priority: bool) -> Value {
    let vcs = if small { 3 } else { 20 };
    json!({
        "topology": { "kind": "mesh", "dims": [3, 2], "endpoints_per_router": if small { 4 } else { 70 } },
        "router": {
            "allocator": allocator, "transit_priority": transit_priority, "speedup": 2, "output_buffer": 14,
            "links": { "default": { "buffer": 14, "vcs": vcs, "latency": 2 } },
        },
        "traffic": {
            "load": if small { 0.6 } else { 0.05 }, "packet_size": packet_size,
            "pattern": { "kind": "hotspot", "targets": [1, 7], "share": 0.5 },
        },
        "measure": { "warmup": 0, "cycles": 260 },
    })
}

#[test]
fn whoever_waits_at_an_output_gets_it_in_its_turn() {
    let separable = |arbiter: &str| json!({ "kind": "separable_input_first", "arbiter": arbiter });
    let eager = json!({ "kind": "separable_input_first", "update": "request" });
    let aged = json!({ "kind": "islip", "priority": "age" });
    let allocators = [
        separable("round_robin"),
        separable("least_recently_served"),
        separable("age"),
        eager,
        json!("islip"),
        aged,
        json!("separable_output_first"),
        json!("wavefront"),
    ];
    for (place, allocator) in allocators.iter().enumerate() {
        for small in [true, false] {
            for sizes in [json!(4), json!({ "kind": "choice", "sizes": [1, 7] })] {
                let value = crowded(small, allocator.clone(), sizes, place % 2 == 0);
                assert_eq!(delivered(&value, false), delivered(&value, true), "{value}");
            }
        }
    }
}

#[test]
fn a_crowd_of_one_queue_a_port_is_served_in_turn() {
    for endpoints in [8, 100] {
        let single = json!({ "topology": { "kind": "single", "endpoints": endpoints } });
        let lanes = json!({ "router": { "links": { "default": { "vcs": 1 } } } });
        for allocator in [json!("separable_input_first"), json!("islip")] {
            let value = with(with(crowded(true, allocator, json!(4), false), single.clone()), lanes.clone());
            assert_eq!(delivered(&value, false), delivered(&value, true), "{value}");
        }
    }
}
