//! The memory of a large network.

use phit_engine::run::{Options, Simulation};
use phit_engine::scenario::Scenario;
use serde_json::json;

/// The Dragonfly of 16,512 endpoints under uniform load 0.3, as the benchmarks run it.
#[test]
fn a_large_dragonfly_takes_at_most_2_kb_per_endpoint() {
    let document = json!({
        "topology": { "kind": "dragonfly", "p": 8, "a": 16, "h": 8 },
        "router": {
            "latency": 5,
            "speedup": 2,
            "output_buffer": 32,
            "credit_release": "output",
            "transit_priority": true,
            "injection_queue": "destination",
            "links": {
                "endpoint": { "latency": 0, "injection_bandwidth": "infinite", "vcs": 3, "buffer": 32 },
                "local": { "latency": 10, "vcs": 3, "buffer": 32 },
                "global": { "latency": 100, "vcs": 2, "buffer": 256 },
            },
        },
        "traffic": { "pattern": "uniform", "load": 0.3, "packet_size": 8 },
        "measure": { "warmup": 600, "cycles": 600 },
    });
    let scenario = Scenario::from_value(&document).unwrap();
    let mut simulation = Simulation::new(&scenario, Options::default()).unwrap();
    let endpoints = simulation.blueprint().topology.endpoints() as usize;
    // Several times the longest journey. By then, tables and mail have grown to the size that the load needs.
    simulation.advance_to(1200 * simulation.blueprint().links.ticks_per_cycle);
    let bytes = simulation.bytes() / endpoints;
    assert!(bytes <= 2000, "{bytes} bytes per endpoint");
}
