//! Small scenarios for kinds, beside those of their descriptions ([`super::described`]): with options that are not the
//! defaults, or with files and functions of these tests.

use super::{functions, with};
use serde_json::{Value, json};

/// A program of one rank, which only calculates.
const ONE: &str = "num_ranks 1\nrank 0 {\ncalc 5\n}\n";

/// A table with a function of the tests.
fn function(mut table: Value, name: &str) -> Value {
    functions::register();
    (table["function"], table["source"]) = (json!(name), json!(functions::source(name)));
    table
}

/// A scenario that every kind changes in one place.
pub fn base() -> Value {
    json!({
        "topology": { "kind": "torus", "dims": [4, 4] },
        "router": { "links": { "default": { "vcs": 4 } } },
        "traffic": { "load": 0.2 },
        "measure": { "warmup": 200, "cycles": 400 },
    })
}

/// Scenarios for kinds: concept, kind, what to change in [`base`].
pub fn cases() -> Vec<(&'static str, &'static str, Value)> {
    let topology = |table: Value| json!({ "topology": table });
    let routing = |table: Value| json!({ "routing": table });
    let pattern = |table: Value| json!({ "traffic": { "pattern": table } });
    let process = |table: Value| json!({ "traffic": { "process": table } });
    let size = |table: Value| json!({ "traffic": { "packet_size": table } });
    let allocator = |table: Value| json!({ "router": { "allocator": table } });
    let program = |table: Value| {
        let workload = json!({ "kind": "collective", "collective": "all_gather", "ranks": 4, "bytes": 999 });
        with(json!({ "workload": workload, "units": { "phit": "2 B" } }), table)
    };
    let workload = |table: Value| json!({ "workload": table, "units": { "phit": "2 B", "cycle": "1 ns" } });
    let placement = |table: Value| program(json!({ "workload": { "placement": table } }));
    // Enough local channels for the greediest of the mechanisms for Dragonflies.
    let on_dragonfly = |table: Value| {
        let local = json!({ "router": { "links": { "local": { "vcs": 5 } } } });
        with(with(topology(json!({ "kind": "dragonfly", "p": 2, "a": 4, "h": 2 })), local), routing(table))
    };
    // A tree with tables, and endpoints that can hold single destinations back.
    let queueing = |table: Value| {
        json!({
            "topology": { "kind": "k_ary_n_tree", "arity": 2, "levels": 3 },
            "routing": "table",
            "router": { "admittance": "per_destination", "links": { "default": { "vcs": 1, "buffer": 64 } } },
            "queueing": table,
        })
    };
    vec![
        ("topology", "dragonfly", topology(json!({ "kind": "dragonfly", "p": 2, "a": 4, "h": 2 }))),
        ("topology", "mesh", topology(json!({ "kind": "mesh", "dims": [4, 3], "endpoints_per_router": 2 }))),
        ("topology", "torus", topology(json!({ "kind": "torus", "dims": [4, 2, 3] }))),
        ("topology", "hyperx", topology(json!({ "kind": "hyperx", "dims": [4, 3], "parallel": [1, 2] }))),
        (
            "topology",
            "cascade",
            topology(json!({ "kind": "cascade", "rows": 2, "columns": 3, "groups": 4, "global_ports": 2 })),
        ),
        (
            "topology",
            "clos",
            topology(json!({ "kind": "clos", "down": [2, 2, 3], "up": [2, 2], "faults": { "links": [[0, 6]] } })),
        ),
        (
            "topology",
            "torus",
            with(
                topology(json!({ "kind": "torus", "dims": [4, 4], "faults": {
                    "retransmit": { "timeout": 50, "attempts": 3 },
                    "later": [{ "cycle": 100, "delay": 30, "until": 200, "links": [[0, 1]], "endpoints": [5] }],
                } })),
                json!({ "router": { "links": { "default": { "vcs": 5 } } } }),
            ),
        ),
        ("topology", "k_ary_n_tree", topology(json!({ "kind": "k_ary_n_tree", "arity": 3, "levels": 2 }))),
        (
            "topology",
            "multistage",
            topology(json!({ "kind": "multistage", "arity": 3, "stages": 2, "pattern": "perfect_shuffle" })),
        ),
        ("topology", "single", topology(json!({ "kind": "single", "endpoints": 8 }))),
        (
            "topology",
            "graph",
            topology(json!({ "kind": "graph", "routers": 4, "links": [[0, 1], [1, 2], [2, 3], [3, 0], [0, 2]] })),
        ),
        ("topology", "slim_fly", topology(json!({ "kind": "slim_fly", "q": 3 }))),
        ("topology", "polarfly", topology(json!({ "kind": "polarfly", "q": 3 }))),
        ("topology", "jellyfish", topology(json!({ "kind": "jellyfish", "routers": 12, "links": 4 }))),
        ("topology", "xpander", topology(json!({ "kind": "xpander", "links": 4, "lift": 3 }))),
        ("topology", "dragonfly_plus", topology(json!({ "kind": "dragonfly_plus", "leaves": 2, "spines": 2 }))),
        ("topology", "hamming_mesh", topology(json!({ "kind": "hamming_mesh", "board": [2, 2], "boards": [2, 2] }))),
        (
            "topology",
            "rail_optimised",
            topology(json!({ "kind": "rail_optimised", "rails": 2, "hosts": 2, "pods": 2, "spines": 2 })),
        ),
        ("topology", "xgft", topology(json!({ "kind": "xgft", "children": [3, 3], "parents": [2, 2] }))),
        ("routing", "minimal", routing(json!({ "kind": "minimal" }))),
        ("routing", "valiant", routing(json!({ "kind": "valiant", "via": "router" }))),
        (
            "routing",
            "valiant",
            with(
                topology(json!({ "kind": "dragonfly", "p": 2, "a": 4, "h": 2 })),
                routing(json!({ "kind": "valiant", "via": "group", "minimal_within": "group" })),
            ),
        ),
        ("routing", "ugal_l", on_dragonfly(json!({ "kind": "ugal_l" }))),
        (
            "routing",
            "dragonfly_phases",
            with(
                on_dragonfly(json!({ "kind": "dragonfly_phases" })),
                json!({ "router": { "links": { "default": { "vcs": 3 } } } }),
            ),
        ),
        ("routing", "ugal_g", on_dragonfly(json!({ "kind": "ugal_g", "via": "group" }))),
        ("routing", "tpr", on_dragonfly(json!({ "kind": "tpr", "via": "group", "destinations": "group" }))),
        ("routing", "par", on_dragonfly(json!({ "kind": "par" }))),
        ("routing", "piggyback", on_dragonfly(json!({ "kind": "piggyback" }))),
        ("routing", "olm", on_dragonfly(json!({ "kind": "olm" }))),
        ("routing", "contention_base", on_dragonfly(json!({ "kind": "contention_base" }))),
        ("routing", "contention_hybrid", on_dragonfly(json!({ "kind": "contention_hybrid" }))),
        ("routing", "ectn", on_dragonfly(json!({ "kind": "ectn" }))),
        (
            "routing",
            "python_trigger",
            on_dragonfly(function(json!({ "kind": "python_trigger", "parameters": { "threshold": 4 } }), "base")),
        ),
        (
            "routing",
            "python_rule",
            with(
                topology(json!({ "kind": "slim_fly", "q": 3 })),
                routing(function(json!({ "kind": "python_rule", "parameters": { "threshold": 4 } }), "counters")),
            ),
        ),
        ("routing", "contention_grid", routing(json!({ "kind": "contention_grid" }))),
        (
            "routing",
            "contention_graph",
            with(topology(json!({ "kind": "slim_fly", "q": 3 })), routing(json!({ "kind": "contention_graph" }))),
        ),
        (
            "routing",
            "par_graph",
            with(
                topology(json!({ "kind": "slim_fly", "q": 3 })),
                json!({ "router": { "links": { "default": { "vcs": 5 } } }, "routing": "par_graph" }),
            ),
        ),
        (
            "routing",
            "polarized",
            with(
                topology(json!({ "kind": "slim_fly", "q": 3 })),
                json!({ "router": { "links": { "default": { "vcs": 5 } } }, "routing": "polarized" }),
            ),
        ),
        ("routing", "dimension_order", routing(json!({ "kind": "dimension_order" }))),
        (
            "routing",
            "clos",
            with(
                topology(json!({ "kind": "clos", "down": [4, 4], "up": [4] })),
                routing(json!({ "kind": "clos", "allocation": "greedy_r", "precompute": 2, "precision": 2 })),
            ),
        ),
        ("routing", "abr", routing(json!({ "kind": "abr" }))),
        ("routing", "por", routing(json!({ "kind": "por", "mean": "all_dimensions" }))),
        ("routing", "goal", routing(json!({ "kind": "goal" }))),
        ("routing", "outflank", routing(json!({ "kind": "outflank", "delta": 1 }))),
        ("routing", "minimal_adaptive", {
            let mesh = topology(json!({ "kind": "mesh", "dims": [4, 3] }));
            let stage = json!({ "router": { "vc_allocation": "stage", "vc_allocator": "islip" } });
            let links = json!({ "router": { "links": { "default": { "vcs": 3 } } } });
            with(with(with(mesh, stage), links), routing(json!({ "kind": "minimal_adaptive" })))
        }),
        ("routing", "o1turn", {
            let mesh = topology(json!({ "kind": "mesh", "dims": [4, 3] }));
            with(mesh, routing(json!({ "kind": "o1turn", "choice": "occupancy" })))
        }),
        ("routing", "table", on_dragonfly(json!({ "kind": "table", "entries": [[0, 1, 1]] }))),
        ("routing", "table", routing(json!({ "kind": "table", "layers": [[0, 5, 1]] }))),
        ("routing", "up_down", routing(json!({ "kind": "up_down", "root": 3 }))),
        ("routing", "dfsssp", routing(json!({ "kind": "dfsssp" }))),
        ("routing", "lash", routing(json!({ "kind": "lash" }))),
        (
            "routing",
            "minhop",
            with(topology(json!({ "kind": "clos", "down": [4, 4], "up": [4] })), routing(json!({ "kind": "minhop" }))),
        ),
        (
            "routing",
            "ftree",
            with(
                topology(json!({ "kind": "clos", "down": [4, 4], "up": [4] })),
                routing(json!({ "kind": "ftree", "roots": [4, 5, 6, 7] })),
            ),
        ),
        (
            "routing",
            "ftree_adaptive",
            with(
                topology(json!({ "kind": "clos", "down": [4, 4], "up": [4] })),
                routing(json!({ "kind": "ftree_adaptive", "share": 0.25 })),
            ),
        ),
        ("queueing", "virtual_channels", json!({ "queueing": { "kind": "virtual_channels" } })),
        ("queueing", "dbbm", queueing(json!({ "kind": "dbbm", "queues": 4 }))),
        ("queueing", "noq", {
            let mut value = queueing(json!({ "kind": "noq" }));
            value["routing"] = json!("minimal");
            value["router"]["links"]["default"]["vcs"] = json!(16);
            value["router"]["links"]["endpoint"] = json!({ "vcs": 16 });
            value
        }),
        ("queueing", "voqsw", queueing(json!({ "kind": "voqsw" }))),
        ("queueing", "voqnet", queueing(json!({ "kind": "voqnet" }))),
        ("queueing", "fbicm", queueing(json!({ "kind": "fbicm", "detection": 8, "stop": 8, "go": 4, "cfqs": 4 }))),
        ("router", "input_queued", json!({ "router": { "kind": "input_queued", "latency": 2 } })),
        (
            "router",
            "packet_node",
            json!({ "router": { "kind": "packet_node", "node": { "answer": 2 } }, "routing": "abr" }),
        ),
        ("allocator", "separable_input_first", allocator(json!({ "kind": "separable_input_first", "arbiter": "age" }))),
        ("allocator", "islip", allocator(json!({ "kind": "islip", "iterations": 2 }))),
        ("allocator", "separable_output_first", allocator(json!({ "kind": "separable_output_first" }))),
        ("allocator", "pim", allocator(json!({ "kind": "pim", "iterations": 2 }))),
        ("allocator", "wavefront", allocator(json!({ "kind": "wavefront" }))),
        ("allocator", "lonely_output", allocator(json!("lonely_output"))),
        ("allocator", "sequential", allocator(json!("sequential"))),
        ("allocator", "maximum_matching", allocator(json!("maximum_matching"))),
        ("allocator", "ideal", allocator(json!({ "kind": "ideal" }))),
        ("pattern", "uniform", pattern(json!({ "kind": "uniform" }))),
        ("pattern", "adversarial", pattern(json!({ "kind": "adversarial", "offset": 1 }))),
        ("pattern", "shift", pattern(json!({ "kind": "shift", "offset": 3 }))),
        ("pattern", "bit_complement", pattern(json!({ "kind": "bit_complement" }))),
        ("pattern", "bit_reverse", pattern(json!({ "kind": "bit_reverse" }))),
        ("pattern", "transpose", pattern(json!({ "kind": "transpose" }))),
        ("pattern", "shuffle", pattern(json!({ "kind": "shuffle" }))),
        ("pattern", "fft", pattern(json!({ "kind": "fft" }))),
        ("pattern", "rotation", pattern(json!({ "kind": "rotation" }))),
        ("pattern", "tornado", pattern(json!({ "kind": "tornado" }))),
        ("pattern", "neighbor", pattern(json!({ "kind": "neighbor" }))),
        ("pattern", "permutation", pattern(json!({ "kind": "permutation" }))),
        ("pattern", "hotspot", pattern(json!({ "kind": "hotspot", "targets": [3], "share": 0.1 }))),
        (
            "pattern",
            "worst_case_uniform",
            with(
                topology(json!({ "kind": "clos", "down": [4, 4], "up": [4] })),
                pattern(json!({ "kind": "worst_case_uniform" })),
            ),
        ),
        (
            "pattern",
            "mix",
            pattern(json!({ "kind": "mix", "parts": [
                { "weight": 1, "pattern": "uniform" }, { "weight": 1, "pattern": "tornado" },
            ] })),
        ),
        (
            "pattern",
            "by_endpoint",
            pattern(json!({ "kind": "by_endpoint", "background": "uniform", "parts": [
                { "endpoints": [0, 5], "pattern": "shift" },
            ] })),
        ),
        ("process", "bernoulli", process(json!({ "kind": "bernoulli" }))),
        ("process", "on_off", process(json!({ "kind": "on_off", "burst": 20 }))),
        ("process", "periodic", process(json!({ "kind": "periodic" }))),
        ("probe", "counters", json!({ "measure": { "probes": ["counters"] } })),
        ("probe", "buffers", json!({ "measure": { "probes": ["buffers"] } })),
        ("probe", "fullest_buffers", json!({ "measure": { "probes": ["fullest_buffers"] } })),
        ("probe", "arrivals", json!({ "measure": { "probes": ["arrivals"] } })),
        ("probe", "ports", json!({ "measure": { "probes": [{ "kind": "ports", "every": 50 }] } })),
        ("probe", "queueing", json!({ "measure": { "probes": ["queueing"] } })),
        ("probe", "trees", json!({ "measure": { "probes": ["trees"] } })),
        (
            "probe",
            "python_probe",
            json!({ "measure": { "probes": [function(json!({ "kind": "python_probe" }), "held")] } }),
        ),
        ("pattern", "python_pattern", pattern(function(json!({ "kind": "python_pattern" }), "others"))),
        ("router", "ideal", program(json!({ "router": { "kind": "ideal" } }))),
        ("router", "fluid", program(json!({ "router": { "kind": "fluid" } }))),
        ("workload", "goal", workload(json!({ "kind": "goal", "file": "identical/files/ring.goal" }))),
        (
            "workload",
            "chakra",
            workload(json!({ "kind": "chakra", "file": "identical/files/step.0.json", "options": {
                "memory": { "latency": 40, "bandwidth": 16 }, "groups": { "1": [0, 1] },
            } })),
        ),
        ("workload", "trace", workload(json!({ "kind": "trace", "file": "identical/files/calls-0.txt" }))),
        ("congestion", "none", json!({ "congestion": "none" })),
        ("congestion", "ecn", json!({ "congestion": { "kind": "ecn", "channels": "own" } })),
        ("congestion", "dcqcn", json!({ "congestion": "dcqcn" })),
        ("congestion", "infiniband", json!({ "congestion": "infiniband" })),
        ("workload", "collective", workload(json!({ "kind": "collective", "collective": "all_to_all", "bytes": 99 }))),
        ("workload", "program", workload(json!({ "kind": "program", "goal": ONE }))),
        (
            "workload",
            "training",
            workload(json!({ "kind": "training", "data": 2, "pipeline": 2, "layers": 2, "forward": 9,
                "activation_bytes": 40, "gradient_bytes": 60 })),
        ),
        ("workload", "halo", workload(json!({ "kind": "halo", "dims": [2, 2], "bytes": [40], "periodic": true }))),
        ("workload", "sweep", workload(json!({ "kind": "sweep", "dims": [2, 2], "bytes": [40], "calc": 3 }))),
        ("workload", "fft", workload(json!({ "kind": "fft", "rows": 2, "columns": 2, "bytes": 80 }))),
        ("workload", "incast", workload(json!({ "kind": "incast", "ranks": 4, "bytes": 40 }))),
        ("workload", "permutation", workload(json!({ "kind": "permutation", "bytes": 40 }))),
        (
            "workload",
            "sequence",
            workload(json!({ "kind": "sequence", "steps": [
                { "kind": "calc", "time": 9 },
                { "kind": "collective", "collective": "barrier", "ranks": 4 },
            ] })),
        ),
        (
            "workload",
            "jobs",
            workload(json!({ "kind": "jobs", "job": [
                { "program": { "kind": "collective", "collective": "barrier", "ranks": 3 } },
                { "program": { "kind": "collective", "collective": "broadcast", "ranks": 3, "bytes": 50 } },
                { "traffic": { "load": 0.3 } },
            ] })),
        ),
        ("placement", "linear", placement(json!({ "kind": "linear", "first": 2 }))),
        ("placement", "random", placement(json!({ "kind": "random" }))),
        ("placement", "round_robin", placement(json!({ "kind": "round_robin" }))),
        ("placement", "list", placement(json!({ "kind": "list", "endpoints": [5, 2, 9, 0] }))),
        ("placement", "file", placement(json!({ "kind": "file", "file": "identical/files/four.txt" }))),
        ("packet_size", "fixed", size(json!({ "kind": "fixed", "phits": 8 }))),
        ("packet_size", "choice", size(json!({ "kind": "choice", "sizes": [1, 5] }))),
        ("packet_size", "uniform", size(json!({ "kind": "uniform", "min": 2, "max": 6 }))),
    ]
}
