//! Busy scenarios of adaptive routing, for the tests of the engine from inside and from outside.

use serde_json::{Value, json};

/// All adaptive mechanisms for Dragonflies, with thresholds that make them work hard in a small one.
pub(crate) fn mechanisms() -> Vec<Value> {
    let restriction = json!({ "coefficient": 1.5, "packets": 1 });
    let mut all = vec![
        json!({ "kind": "olm" }),
        json!({ "kind": "olm", "restriction": restriction }),
        json!({ "kind": "contention_base", "threshold": 3, "comparison": "reaches" }),
        json!({ "kind": "contention_base", "threshold": 2, "trigger": { "probability": 0.3 } }),
        json!({ "kind": "contention_hybrid", "threshold": 3 }),
        json!({ "kind": "contention_hybrid", "candidates": "any", "restriction": restriction }),
        json!({ "kind": "ectn", "threshold": 3, "combined_threshold": 4, "candidates": "local" }),
        json!({ "kind": "contention_base", "threshold": 4, "comparison": "reaches", "crossing": "fifo" }),
        json!({ "kind": "contention_hybrid", "threshold": 3, "candidates": "any", "crossing": "fifo" }),
        json!({ "kind": "ectn", "threshold": 3, "combined_threshold": 4, "crossing": "fifo" }),
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
    all.extend([
        json!({ "kind": "src_adp", "flag_queue": "minimal_port", "coefficient": 1, "global_threshold": 0 }),
        json!({ "kind": "qcn_switch", "set_point": 20, "sample_base": 20, "own": true }),
        json!({ "kind": "qcn_switch", "point": "input_and_link", "set_point": 30, "compare": { "below": "raise" } }),
        json!({ "kind": "qcn_switch", "point": "output", "set_point": 12, "sample_base": 15 }),
    ]);
    all
}

/// A small busy Dragonfly. `groups`: fewer than nine have parallel links.
pub(crate) fn dragonfly(routing: &Value, groups: u32, load: f64, offset: Option<u32>, seed: u64) -> Value {
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

/// A busy grid with contention counters.
pub(crate) fn grid(kind: &str, dims: &[u32], alternatives: &str, load: f64) -> Value {
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

/// Grids of every kind with the alternatives that contention counters have there.
pub(crate) fn grids() -> Vec<Value> {
    let cases = [
        ("mesh", vec![4, 5], "minimal"),
        ("torus", vec![5, 4], "minimal"),
        ("torus", vec![4, 3, 4], "minimal"),
        ("hyperx", vec![4, 3], "minimal"),
        ("hyperx", vec![5], "nonminimal"),
        ("hyperx", vec![4, 3, 3], "nonminimal"),
    ];
    cases.into_iter().map(|(kind, dims, alternatives)| grid(kind, &dims, alternatives, 0.9)).collect()
}
