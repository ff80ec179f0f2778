//! Scenarios with options that need others beside them: the schema declares them, but no kind's own scenario can have
//! them.

use serde_json::{Value, json};

/// What to change in the base that all scenarios share.
pub fn changes() -> Vec<Value> {
    let router = |table: Value| json!({ "router": table });
    let routed = |topology: Value, routing: Value| json!({ "topology": topology, "routing": routing });
    let clos = || json!({ "kind": "clos", "down": [4, 4], "up": [4] });
    let mesh = || json!({ "kind": "mesh", "dims": [4, 3] });
    let dragonfly = || json!({ "kind": "dragonfly", "p": 2, "a": 4, "h": 2 });
    let tree = || json!({ "kind": "k_ary_n_tree", "arity": 3, "levels": 2 });
    let ring = || json!([[0, 1], [1, 2], [2, 3], [3, 0]]);
    let mut all = vec![
        json!({ "planes": { "count": 2 } }),
        router(json!({ "allocator": "separable_input_first" })),
        router(json!({ "switching": "wormhole" })),
        router(json!({ "vc_allocation": "stage" })),
        router(json!({ "vc_allocation": "speculative" })),
        router(json!({
            "switching": "wormhole", "vc_allocation": "stage", "vc_allocator": { "kind": "separable_input_first" },
        })),
        router(json!({ "vc_allocation": "stage", "sharing": {} })),
        router(json!({ "vc_allocation": "stage", "sharing": { "limit": "fixed", "most": 8 } })),
        router(json!({
            "flow_control": "pfc", "output_buffer": 8, "injection_queue": "round_robin", "pfc": { "frame": 3 },
            "links": { "default": { "vcs": 2, "buffer": 100 } },
        })),
        router(json!({ "credit_use": "link", "output_buffer": 32 })),
        router(json!({
            "switching": "wormhole", "vc_allocation": "speculative",
            "vc_preferred": "empty", "vc_eligible": "with_room",
            "vc_allocator": { "kind": "separable_input_first", "among": "outputs" },
        })),
        json!({
            "router": {
                "switching": "wormhole", "flit_size": 1, "vc_allocation": "stage",
                "output_buffer": 8, "control_buffer": 3,
            },
            "congestion": { "kind": "ecn", "threshold": 20, "channels": "own" },
        }),
        json!({ "routing": "minimal", "topology": tree(), "queueing": { "kind": "voqsw", "memory": "shared" } }),
        json!({
            "routing": "table", "topology": tree(), "router": { "links": { "default": { "vcs": 1 } } },
            "queueing": { "kind": "fbicm", "detection": 24, "stop": 16, "go": 8, "cfqs": 2, "marks": "isolated" },
            "congestion": { "kind": "infiniband" },
        }),
        routed(clos(), json!({ "kind": "clos" })),
        routed(clos(), json!({ "kind": "clos", "allocation": "greedy", "precompute": 2, "redecide": false })),
        routed(json!({ "kind": "hyperx", "dims": [4, 3] }), json!("contention_grid")),
        routed(dragonfly(), json!({ "kind": "valiant", "via": "router" })),
        routed(json!({ "kind": "cascade", "rows": 2, "columns": 3 }), json!("minimal")),
        routed(json!({ "kind": "torus", "dims": [4, 4] }), json!("up_down")),
    ];
    let mut faulty =
        routed(json!({ "kind": "torus", "dims": [4, 4], "faults": { "links": [[0, 1]] } }), json!("minimal"));
    faulty["router"] = json!({ "links": { "default": { "vcs": 5 } } });
    all.push(faulty);
    let one = json!({ "kind": "ugal_l", "queue": "port", "minimal_candidates": 1, "valiant_candidates": 1 });
    all.push(routed(dragonfly(), one));
    for kind in ["valiant", "ugal_l", "ugal_g", "tpr", "par_graph"] {
        let routing = if kind == "par_graph" { json!(kind) } else { json!({ "kind": kind, "via": "router" }) };
        let mut stem = routed(mesh(), routing);
        stem["router"] = json!({ "links": { "default": { "vcs": 12 } } });
        all.push(stem);
    }
    for more in [
        json!({ "endpoint_bandwidth": [1, 1, 2, 1] }),
        json!({ "left_out": [{ "what": "cables", "count": 1, "first": "line 1" }] }),
    ] {
        let mut topology = json!({ "kind": "graph", "routers": 4, "links": ring() });
        topology.as_object_mut().zip(more.as_object()).into_iter().for_each(|(to, from)| to.extend(from.clone()));
        all.push(json!({ "topology": topology }));
    }
    let parts = || json!([{ "weight": 1, "pattern": "uniform" }, { "weight": 1, "pattern": "tornado" }]);
    let some = || json!([{ "endpoints": [0, 5], "pattern": "shift" }]);
    let mix = || json!({ "kind": "mix", "parts": parts() });
    let by_endpoint = || json!({ "kind": "by_endpoint", "background": "uniform", "parts": some() });
    for (topology, background) in
        [(mesh(), mix()), (mesh(), by_endpoint()), (clos(), json!("worst_case_uniform")), (mesh(), function())]
    {
        for pattern in [
            json!({ "kind": "by_endpoint", "background": background, "parts": some() }),
            json!({ "kind": "hotspot", "targets": [3], "share": 0.1, "background": background }),
        ] {
            all.push(json!({ "topology": topology, "traffic": { "pattern": pattern } }));
        }
    }
    all
}

/// A pattern that a function of the tests draws.
fn function() -> Value {
    let source = crate::common::functions::source("others");
    json!({ "kind": "python_pattern", "function": "others", "source": source })
}
