//! Plausible results: a network far below saturation accepts the offered load.

use crate::common::{number, run, scenario, simulation, with};
use phit_engine::run::{Options, Simulation};
use serde_json::{Value, json};

/// Small networks, each with a load far below what saturates it.
fn networks() -> Vec<Value> {
    let minimal = |topology: Value, vcs: u32| {
        json!({
            "topology": topology,
            "router": { "links": { "default": { "vcs": vcs } } },
            "traffic": { "load": 0.2, "packet_size": 1 },
            "measure": { "warmup": 100, "cycles": 1000 },
        })
    };
    vec![
        minimal(json!({ "kind": "single", "endpoints": 4 }), 1),
        minimal(json!({ "kind": "mesh", "dims": [3, 3] }), 1),
        minimal(json!({ "kind": "torus", "dims": [4, 4] }), 2),
        minimal(json!({ "kind": "hyperx", "dims": [3, 2], "endpoints_per_router": 2 }), 1),
        minimal(json!({ "kind": "clos", "down": [3, 3], "up": [3] }), 1),
        minimal(json!({ "kind": "dragonfly", "p": 2, "a": 4, "h": 2 }), 3),
    ]
}

/// A packet of one phit leaves its port free for the next tick: the packet behind it comes to the front between two
/// rounds of one tick.
#[test]
fn more_rounds_of_allocation_accept_what_one_accepts() {
    let options = [
        json!({}),
        json!({ "allocator": "islip" }),
        json!({ "allocator": { "kind": "separable_input_first", "arbiter": "least_recently_served" } }),
        json!({ "switching": "store_and_forward" }),
        json!({ "output_buffer": 2, "latency": 3 }),
        json!({ "clock": "crossbar", "speedup": 2, "allocation_delay": 1 }),
    ];
    for network in networks() {
        for options in &options {
            for rounds in [2, 3] {
                let change = with(json!({ "allocation_rounds": rounds }), options.clone());
                let network = with(network.clone(), json!({ "router": change }));
                let outcome = run(&network);
                let (offered, accepted) = (number(&outcome, "/offered_load"), number(&outcome, "/accepted_load"));
                // The network holds a few dozen of some thousand packets.
                assert!((accepted / offered - 1.0).abs() < 0.03, "{accepted} of {offered}: {network}");
                let mut simulation = simulation(&network, Options::default());
                for tick in 1..=200 {
                    simulation.advance_to(tick);
                    simulation.fabric().audit().unwrap_or_else(|wrong| panic!("{wrong}: {network}"));
                }
            }
        }
    }
}

/// Detours lead over one output, and such heads ask for several.
#[test]
fn heads_that_ask_for_several_outputs_take_no_detours() {
    let mesh = json!({
        "topology": { "kind": "mesh", "dims": [3, 3], "faults": { "links": [[0, 1]] } },
        "router": { "links": { "default": { "vcs": 3 } }, "vc_allocation": "stage", "vc_allocator": "islip" },
        "routing": "minimal_adaptive",
        "traffic": { "load": 0.05 },
    });
    let error = Simulation::new(&scenario(&mesh), Options::default()).err().expect("a refusal").to_string();
    assert!(error.starts_with("topology.faults: heads of this routing mechanism"), "{error}");
}
