//! The networks that are timed.

use serde_json::{Value, json};

/// One network and its traffic.
pub(super) struct Case {
    pub name: String,
    pub scenario: Value,
    pub warmup: u32,
    pub cycles: u32,
    /// Under wormhole switching the unit is the flit-hop, else the packet-hop.
    pub flits: bool,
    /// Run only when asked for by its name: a million endpoints, or ten, or a point of a curve.
    pub by_name: bool,
}

/// The canonical Dragonfly of `h` global links per router with FOGSim's pipeline.
fn dragonfly(h: u32, routing: &str, load: f64, fogsim: bool) -> Case {
    let (traffic, pattern) = match routing {
        "valiant" => ("adversarial", json!({ "kind": "adversarial", "offset": 1 })),
        _ => ("uniform", json!("uniform")),
    };
    let (arbiter, update) = if fogsim { ("least_recently_served", "request") } else { ("round_robin", "grant") };
    let scenario = json!({
        "topology": { "kind": "dragonfly", "p": h, "a": 2 * h, "h": h },
        "router": {
            "latency": 5,
            "speedup": 2,
            "output_buffer": 32,
            "credit_release": "output",
            "transit_priority": true,
            "injection_queue": "destination",
            "allocator": { "kind": "separable_input_first", "arbiter": arbiter, "update": update },
            "links": {
                "endpoint": {
                    "latency": 0,
                    "injection_bandwidth": "infinite",
                    "vcs": 3,
                    "buffer": if fogsim { 1000 } else { 32 },
                },
                "local": { "latency": 10, "vcs": if routing == "valiant" { 4 } else { 3 }, "buffer": 32 },
                "global": { "latency": 100, "vcs": 2, "buffer": 256 },
            },
        },
        "routing": routing,
        "traffic": { "pattern": pattern, "load": load, "packet_size": 8 },
    });
    let (warmup, cycles) = if h > 4 { (600, 300) } else { (2000, 3000) };
    let settings = if fogsim { "fogsim-" } else { "" };
    Case {
        name: format!("dragonfly-h{h}-{settings}{traffic}-{load}"),
        scenario,
        warmup,
        cycles,
        flits: false,
        by_name: h > 8,
    }
}

/// The Dragonfly of 16,512 endpoints under uniform traffic with an adaptive mechanism.
fn adaptive(routing: &Value) -> Case {
    let mut case = dragonfly(8, "minimal", 0.3, false);
    let kind = routing["kind"].as_str().unwrap_or_default();
    case.name = format!("dragonfly-h8-{kind}-uniform-0.3");
    case.scenario["routing"] = routing.clone();
    case.scenario["router"]["links"]["local"]["vcs"] = match kind {
        "par" => json!(5),
        "piggyback" | "ugal_l" | "ugal_g" => json!(4),
        _ => json!(3),
    };
    case
}

/// ECtN as FOGSim has it, on its Dragonfly of 1,056 endpoints under ADV+1.
fn ectn_as_fogsim() -> Case {
    let mut case = dragonfly(4, "valiant", 0.3, true);
    case.name = "dragonfly-h4-ectn-fogsim-adversarial-0.3".into();
    case.scenario["router"]["links"]["local"]["vcs"] = json!(3);
    case.scenario["routing"] = json!({
        "kind": "ectn",
        "threshold": 4,
        "comparison": "reaches",
        "crossing": "fifo",
        "combined_threshold": 5,
        "candidates": "local",
    });
    case
}

/// An 8x8x8 torus of BookSim's routers.
fn torus(flits: u32, load: f64) -> Case {
    let scenario = json!({
        "topology": { "kind": "torus", "dims": [8, 8, 8] },
        "router": {
            "latency": 2,
            "vc_allocation": "stage",
            "switching": "wormhole",
            "flit_size": 1,
            "credit_delay": 2,
            "injection_queue": "round_robin",
            "allocator": "islip",
            "links": {
                "endpoint": { "latency": 1, "ejection_latency": 0, "vcs": 4, "buffer": 8 },
                "default": { "latency": 1, "vcs": 4, "buffer": 8 },
            },
        },
        "routing": "dimension_order",
        "traffic": { "pattern": "uniform", "load": load, "packet_size": flits },
    });
    let cycles = if load < 0.2 { 3000 } else { 800 };
    Case { name: format!("torus-{flits}flit-{load}"), scenario, warmup: 1000, cycles, flits: true, by_name: false }
}

/// The scenario for a network that BookSim configures: [`torus`] with buffered endpoints, credits that take turns, and
/// an allocator for channels. For the fat tree of 1,024 endpoints it also has routers that speculate, four times as
/// fast as their links.
fn booksim(name: &str, load: f64) -> Case {
    let mut case = torus(1, load);
    case.name = format!("booksim-{name}-{load}");
    let (vcs, buffer) = if name == "fat-tree" { (1, 16) } else { (4, 8) };
    case.scenario["traffic"]["pattern"] = json!({ "kind": "uniform", "include_self": true });
    let router = &mut case.scenario["router"];
    (router["clock"], router["credit_channel"]) = (json!("crossbar"), json!("one_per_cycle"));
    router["vc_allocator"] = json!("islip");
    for class in ["endpoint", "default"] {
        let link = &mut router["links"][class];
        (link["vcs"], link["buffer"]) = (json!(vcs), json!(buffer));
    }
    router["links"]["endpoint"]["ejection_buffer"] = json!(buffer);
    if name == "fat-tree" {
        (router["speedup"], router["credit_delay"]) = (json!(4), json!(0));
        (router["vc_allocation"], router["speculation"]) = (json!("speculative"), json!("alike"));
        router["cut_through"] = json!("input");
        case.scenario["topology"] = json!({ "kind": "clos", "down": [32, 32], "up": [32] });
        case.scenario["routing"] = json!({ "kind": "clos", "allocation": "oblivious" });
    }
    case
}

/// A torus of `side`^3 packet-level nodes as in the OutFlank paper's runs, under messages of 96 packets to uniform
/// destinations. A span is the time from one message of a node to the next.
fn nodes(side: u32, name: &str, routing: &Value, load: f64) -> Case {
    let scenario = json!({
        "units": { "cycle": "1/60 ns" },
        "topology": { "kind": "torus", "dims": [side, side, side] },
        "router": {
            "node": { "answer": "10 B", "injection_rate": 2.4, "injection_room": "more_than_half" },
            "links": {
                "default": { "latency": "200 ns", "bandwidth": "20 Gb/s", "vcs": 3, "buffer": "4096 B" },
                "endpoint": { "latency": "80 ns", "bandwidth": "64 Gb/s", "vcs": 1, "buffer": "4096 B" },
            },
        },
        "routing": routing,
        "traffic": {
            "pattern": { "kind": "uniform", "include_self": true },
            "load": load,
            "load_unit": "bisection",
            "packet_size": "512 B",
            "process": { "kind": "periodic", "phase": "zero" },
            "message": { "packets": 96 },
        },
    });
    // 96 packets of 204.8 ns, 60 cycles each ns; the bisection carries 8 / side of a link for each node.
    let period = f64::from(side) / 8.0 * 96.0 * 204.8 * 60.0 / load;
    let name = format!("nodes-{side}-{name}-{load}");
    Case { name, scenario, warmup: (2.0 * period) as u32, cycles: period as u32, flits: false, by_name: false }
}

/// A folded Clos network of three levels of radix-64 routers with 27,648 endpoints, under uniform traffic.
fn clos(allocation: &str) -> Case {
    let scenario = json!({
        "topology": { "kind": "clos", "down": [32, 32, 27], "up": [32, 32] },
        "router": {
            "latency": 2,
            "speedup": 2,
            "links": { "endpoint": { "latency": 1, "vcs": 1 }, "default": { "latency": 10, "vcs": 1, "buffer": 64 } },
        },
        "routing": { "kind": "clos", "allocation": allocation },
        "traffic": { "pattern": "uniform", "load": 0.5, "packet_size": 8 },
    });
    Case {
        name: format!("clos-27648-{allocation}-0.5"),
        scenario,
        warmup: 400,
        cycles: 100,
        flits: false,
        by_name: false,
    }
}

/// The folded Clos network of 1,024 endpoints of the study of adaptive routing: packets of one flit, input
/// buffers without limit.
fn clos_study(allocation: &str, load: f64) -> Case {
    let scenario = json!({
        "topology": { "kind": "clos", "down": [32, 32], "up": [32] },
        "router": {
            "latency": 1,
            "clock": "crossbar",
            "speedup": 4,
            "inputs": "link",
            "cut_through": "input",
            "credit_delay": 2,
            "links": { "default": { "latency": 0, "vcs": 1, "buffer": "infinite" } },
        },
        "routing": { "kind": "clos", "decide": "cycle", "allocation": allocation },
        "traffic": { "pattern": "worst_case_uniform", "load": load, "packet_size": 1 },
    });
    Case {
        name: format!("clos-1024-{allocation}-{load}"),
        scenario,
        warmup: 500,
        cycles: 200,
        flits: false,
        by_name: false,
    }
}

/// One Cascade group of 1,728 endpoints with BookSim's routers, under uniform traffic.
fn cascade(name: &str, routing: Value) -> Case {
    let scenario = json!({
        "topology": { "kind": "cascade", "channels": "rising" },
        "router": {
            "latency": 2,
            "speedup": 2,
            "clock": "crossbar",
            "vc_allocation": "stage",
            "switching": "wormhole",
            "flit_size": 1,
            "credit_delay": 2,
            "injection_queue": "round_robin",
            "links": {
                "endpoint": { "latency": 1, "ejection_latency": 0, "vcs": 4, "buffer": 32 },
                "default": { "latency": 10, "vcs": 4, "buffer": 32 },
            },
        },
        "routing": routing,
        "traffic": { "pattern": "uniform", "load": 0.4, "packet_size": 1 },
    });
    Case {
        name: format!("cascade-{name}-uniform-0.4"),
        scenario,
        warmup: 500,
        cycles: 500,
        flits: true,
        by_name: false,
    }
}

/// Networks of some 4,000 endpoints with links of 10 cycles, between groups of 100: cut at links of any topology.
fn long(name: &str, topology: Value, load: f64) -> Case {
    let mut scenario = json!({
        "topology": topology,
        "router": {
            "latency": 2,
            "speedup": 2,
            "links": {
                "endpoint": { "latency": 1, "vcs": 1 },
                "default": { "latency": 10, "vcs": 4, "buffer": 32 },
            },
        },
        "traffic": { "pattern": "uniform", "load": load, "packet_size": 8 },
    });
    if name == "cascade" {
        scenario["router"]["links"]["global"] = json!({ "latency": 100, "vcs": 4, "buffer": 256 });
    }
    Case { name: format!("long-{name}-{load}"), scenario, warmup: 500, cycles: 400, flits: false, by_name: false }
}

fn long_cases() -> Vec<Case> {
    vec![
        long("torus", json!({ "kind": "torus", "dims": [16, 16, 16] }), 0.3),
        long("mesh", json!({ "kind": "mesh", "dims": [64, 64] }), 0.04),
        long("hyperx", json!({ "kind": "hyperx", "dims": [16, 16], "endpoints_per_router": 16 }), 0.5),
        long("tree", json!({ "kind": "k_ary_n_tree", "arity": 8, "levels": 4 }), 0.4),
        long("multistage", json!({ "kind": "multistage", "arity": 8, "stages": 4, "pattern": "butterfly" }), 0.3),
        long(
            "cascade",
            json!({
                "kind": "cascade", "rows": 4, "columns": 8, "endpoints_per_router": 4, "groups": 33, "global_ports": 2,
            }),
            0.3,
        ),
    ]
}

/// A 4-ary 4-tree of input-queued switches at full load, with packets of 64 phits and 8192 phits in each port.
fn tree(queueing: &Value) -> Case {
    let kind = queueing["kind"].as_str().unwrap_or_default();
    let buffer = if kind == "voqnet" { 256 * 256 } else { 8192 };
    let scenario = json!({
        "topology": { "kind": "k_ary_n_tree", "arity": 4, "levels": 4 },
        "router": { "admittance": "per_destination", "links": { "default": { "vcs": 1, "buffer": buffer } } },
        "routing": "table",
        "queueing": queueing,
        "traffic": { "load": 1.0, "packet_size": 64 },
    });
    Case { name: format!("tree-256-{kind}-1"), scenario, warmup: 20_000, cycles: 10_000, flits: false, by_name: false }
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for h in [8, 4] {
        for routing in ["minimal", "valiant"] {
            cases.extend([0.1, 0.3, 0.45].map(|load| dragonfly(h, routing, load, false)));
        }
        cases.push(dragonfly(h, "minimal", 0.3, true));
    }
    cases.extend([16, 23, 40].map(|h| dragonfly(h, "minimal", 0.3, false)));
    // For curves over size and load.
    let curves = [2, 3, 6, 12].map(|h| (h, 0.3)).into_iter();
    let loads = [0.02, 0.05, 0.2, 0.6, 0.8].into_iter().flat_map(|load| [(4, load), (8, load)]);
    cases.extend(curves.chain(loads).map(|(h, load)| Case { by_name: true, ..dragonfly(h, "minimal", load, false) }));
    for kind in ["piggyback", "olm", "ugal_l", "ugal_g", "par"] {
        cases.push(adaptive(&json!({ "kind": kind })));
    }
    cases.push(adaptive(&json!({ "kind": "contention_base", "threshold": 6 })));
    cases.push(adaptive(&json!({ "kind": "contention_hybrid", "threshold": 7 })));
    cases.push(adaptive(&json!({ "kind": "ectn", "threshold": 6, "combined_threshold": 10 })));
    cases.push(ectn_as_fogsim());
    cases.extend(["oblivious", "sequential"].map(clos));
    cases.extend(
        [("oblivious", 0.3), ("oblivious", 0.9), ("sequential", 0.3), ("sequential", 0.9)]
            .map(|(a, load)| clos_study(a, load)),
    );
    cases.extend(long_cases());
    let candidates = |kind: &str| {
        json!({
            "kind": kind, "stop": "anywhere", "queue": "port", "minimal_candidates": 2, "valiant_candidates": 2,
        })
    };
    cases.push(cascade("minimal", json!("minimal")));
    cases.push(cascade("valiant", json!({ "kind": "valiant", "stop": "anywhere" })));
    cases.extend(["ugal_l", "ugal_g", "tpr"].map(|kind| cascade(kind, candidates(kind))));
    for queueing in ["virtual_channels", "dbbm", "voqsw", "voqnet", "fbicm"] {
        cases.push(tree(&json!({ "kind": queueing })));
    }
    for flits in [1, 4] {
        cases.extend([0.1, 0.5].map(|load| torus(flits, load)));
    }
    cases.extend([("torus", 0.5), ("fat-tree", 0.3), ("fat-tree", 0.7)].map(|(name, load)| booksim(name, load)));
    let choices = |kind: &str, of_its_own: Value| {
        let mut table = json!({
            "kind": kind, "half_way": "plus", "empty_queue": "every_way", "full_way": "worthless", "least_distance": 2,
        });
        of_its_own.as_object().into_iter().flatten().for_each(|(key, value)| table[key] = value.clone());
        table
    };
    let por = choices("por", json!({ "mean": "all_dimensions" }));
    let idns = json!({ "midpoint": "folded", "collinear": "negative_side", "mean": "second_leg" });
    let outflank = choices("outflank", idns);
    for (side, loads) in [(8, [0.55, 0.7]), (16, [0.7, 0.8])] {
        cases.push(nodes(side, "abr", &json!({ "kind": "abr", "half_way": "plus" }), loads[0]));
        cases.push(nodes(side, "por", &por, loads[1]));
        cases.push(nodes(side, "outflank", &outflank, loads[1]));
    }
    cases
}
