//! Shared by the integration tests: running a scenario, and drawing random ones.
#![allow(dead_code)]

pub mod adaptive;
pub mod described;
pub mod functions;
pub mod kinds;
pub mod together;

use phit_engine::queueing::QueueingKind;
use phit_engine::result::Outcome;
use phit_engine::routing::RoutingKind;
use phit_engine::run::{self, Options, Simulation};
use phit_engine::scenario::Scenario;
use phit_engine::topology::TopologyKind;
use serde_json::{Value, json};

/// `base` with the keys of `changes` on top, table by table.
pub fn with(mut base: Value, changes: Value) -> Value {
    fn merge(base: &mut Value, changes: Value) {
        match (base, changes) {
            (Value::Object(base), Value::Object(changes)) if !changes.contains_key("kind") => {
                for (key, change) in changes {
                    merge(base.entry(key).or_insert(Value::Null), change);
                }
            }
            (base, changes) => *base = changes,
        }
    }
    merge(&mut base, changes);
    base
}

pub fn scenario(value: &Value) -> Scenario {
    Scenario::from_value(value).unwrap_or_else(|error| panic!("{error}\n{value}"))
}

pub fn run_with(value: &Value, options: Options) -> Outcome {
    run::run(&scenario(value), options, &mut |_, _| true).unwrap_or_else(|error| panic!("{error}\n{value}"))
}

pub fn run(value: &Value) -> Outcome {
    run_with(value, Options::default())
}

pub fn simulation(value: &Value, options: Options) -> Simulation {
    Simulation::new(&scenario(value), options).unwrap_or_else(|error| panic!("{error}\n{value}"))
}

/// Runs a scenario in one part and in three, and checks every few cycles that the network's state is consistent.
pub fn audit(value: &Value, cycles: u32) {
    for options in [Options::default(), Options { threads: 1, partitions: Some(3) }] {
        let mut simulation = simulation(value, options);
        for end in (1..=cycles).step_by(7) {
            simulation.advance_to(end);
            simulation.fabric().audit().unwrap_or_else(|wrong| panic!("until {end}: {wrong}\n{value}"));
        }
    }
}

/// `(latency, packets)` of every latency that occurred.
pub fn histogram(outcome: &Outcome) -> Vec<(u64, u64)> {
    outcome.collector().counters.latency.histogram.as_ref().expect("the histogram is on by default").iter().collect()
}

/// A number of the summary, by JSON pointer.
pub fn number(outcome: &Outcome, pointer: &str) -> f64 {
    let summary = Value::Object(outcome.summary());
    summary.pointer(pointer).and_then(Value::as_f64).unwrap_or_else(|| panic!("{pointer} in {summary}"))
}

#[track_caller]
pub fn assert_close(measured: f64, expected: f64, tolerance: f64, what: &str) {
    assert!((measured - expected).abs() <= tolerance, "{what}: {measured}, expected {expected} ± {tolerance}");
}

/// Choices from a list of numbers, in order. Small numbers mean the simple alternatives, so that a failing case
/// shrinks.
pub struct Choices<'a>(std::slice::Iter<'a, u32>);

/// Most numbers that [`random`] takes.
pub const CHOICES: usize = 100;

impl Choices<'_> {
    fn below(&mut self, n: u32) -> u32 {
        self.0.next().expect("enough choices") % n
    }

    fn of<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u32) as usize].clone()
    }

    fn bool(&mut self) -> bool {
        self.below(2) == 1
    }
}

/// A small random scenario that is valid and free of deadlock.
pub fn random(choices: &[u32]) -> Value {
    let mut draw = Choices(choices.iter());
    let topology = draw.of(&[
        json!({ "kind": "torus", "dims": [4] }),
        json!({ "kind": "single", "endpoints": 4 }),
        json!({ "kind": "mesh", "dims": [3, 2], "endpoints_per_router": 2 }),
        json!({ "kind": "torus", "dims": [3, 3] }),
        json!({ "kind": "hyperx", "dims": [3, 2], "endpoints_per_router": 2, "parallel": [1, 2] }),
        json!({ "kind": "dragonfly", "p": 1, "a": 2, "h": 1 }),
        json!({ "kind": "dragonfly", "p": 2, "a": 3, "h": 2, "groups": 4 }),
        json!({ "kind": "clos", "down": [3, 3], "up": [3], "faults": { "links": [[0, 3], [2, 4]] } }),
        json!({ "kind": "clos", "down": [2, 2, 2], "up": [2, 1] }),
        json!({ "kind": "cascade", "rows": 2, "columns": 3, "endpoints_per_router": 2, "channels": "rising" }),
        json!({
            "kind": "cascade", "rows": 2, "columns": 2, "endpoints_per_router": 1, "groups": 3, "global_ports": 2,
        }),
    ]);
    let kind = topology["kind"].as_str().unwrap().to_owned();
    let dragonfly = kind == "dragonfly";
    let routing = match kind.as_str() {
        "single" => json!("minimal"),
        "dragonfly" => draw.of(&[
            json!("minimal"),
            json!({ "kind": "valiant", "via": "router" }),
            json!({ "kind": "valiant", "via": "group", "minimal_within": "group" }),
        ]),
        "clos" => {
            let mut routing = json!({ "kind": "clos" });
            let allocations =
                ["sequential", "greedy", "sequential_r", "greedy_r", "availability", "oblivious", "deterministic"];
            let allocation = draw.of(&allocations);
            routing["allocation"] = json!(allocation);
            if allocation.starts_with("greedy") {
                routing["precompute"] = json!(draw.below(3));
            }
            if draw.bool() {
                routing["precision"] = json!(draw.below(5));
            }
            routing["redecide"] = json!(draw.bool());
            if routing["precompute"].as_u64() > Some(0) && routing["redecide"] == false {
                routing["decide"] = draw.of(&["round", "cycle", "arrival"]).into();
            }
            if routing["precompute"].as_u64().unwrap_or(0) == 0 {
                routing["measure"] = draw.of(&["credits", "contention"]).into();
            }
            routing["busy"] = draw.of(&["last", "ignored"]).into();
            routing["deterministic_share"] = draw.of(&[json!(0), json!(0.5)]);
            routing["deterministic_by"] = draw.of(&["destination", "sum", "hash"]).into();
            routing["around_faults"] = draw.of(&["uniform", "next"]).into();
            draw.of(&[routing.clone(), routing.clone(), routing, json!("minimal"), json!("valiant")])
        }
        "cascade" => draw.of(&[
            json!("minimal"),
            json!({ "kind": "valiant", "stop": "anywhere" }),
            json!({ "kind": "ugal_l", "queue": "port", "minimal_candidates": 2, "valiant_candidates": 3 }),
            json!({ "kind": "tpr", "window": 10, "local_low": 0.1, "local_high": 0.3, "destinations": "group" }),
            json!({ "kind": "tpr", "stop": "anywhere", "window_kind": "tumbling", "window": 7, "global_low": 0.1 }),
        ]),
        _ => draw.of(&[
            json!("dimension_order"),
            json!("minimal"),
            json!({ "kind": "valiant" }),
            json!("o1turn"),
            json!({ "kind": "o1turn", "choice": "occupancy" }),
            json!({ "kind": "o1turn", "choice": "occupancy", "decide": "sending" }),
            match kind.as_str() {
                "torus" => json!({ "kind": "dimension_order", "rings": "balanced" }),
                "mesh" => json!({ "kind": "valiant", "stop": "minimal" }),
                _ => json!("dimension_order"),
            },
        ]),
    };
    let graph = TopologyKind::from_value("", &topology).unwrap().build().unwrap();
    let (needed, _) = RoutingKind::from_value("", &routing).unwrap().params().vcs_needed(&*graph);

    let (size, largest, mean) = draw.of(&[
        (json!(1), 1, 1.0),
        (json!(4), 4, 4.0),
        (json!({ "kind": "choice", "sizes": [1, 5] }), 5, 3.0),
        (json!({ "kind": "uniform", "min": 1, "max": 6 }), 6, 3.5),
        (json!({ "kind": "choice", "sizes": [2, 7, 9], "weights": [2, 1, 1] }), 9, 5.0),
    ]);
    let switching = draw.of(&["virtual_cut_through", "store_and_forward", "wormhole"]);
    let mut topology = topology;
    if switching != "wormhole" && topology["faults"].is_object() {
        let later = json!([{ "cycle": 90, "delay": draw.of(&[0, 1, 40]), "links": [[1, 5]] }]);
        topology["faults"]["later"] = draw.of(&[json!([]), later]);
    }
    let flit = 1 + draw.below(4);
    let unit: u32 = if switching == "wormhole" { flit.min(largest) } else { largest };
    let buffer = |draw: &mut Choices| match draw.below(5) {
        0 => json!(2 * unit),
        1 => json!(unit),
        2 => json!(unit + 1),
        3 => json!(4 * unit),
        _ => json!("infinite"),
    };
    // Buffers divided into queues of at least a packet each. Then injection queues are divided, too.
    let queueing = draw.of(&[
        json!("virtual_channels"),
        json!("virtual_channels"),
        json!({ "kind": "dbbm", "queues": 2 }),
        json!("voqsw"),
        json!("voqnet"),
    ]);
    let whole = QueueingKind::from_value("", &queueing).unwrap().params().division(&*graph).queues;
    let vc_allocation = draw.of(&["with_switch", "stage"]);
    let mut links = serde_json::Map::new();
    for (class, needed) in graph.classes().iter().zip(&needed) {
        let mut link = json!({
            "latency": draw.of(&[1, 0, 2, 5, 9]),
            "credit_latency": draw.of(&[json!(null), json!(0), json!(7)]),
            "bandwidth": draw.of(&[1, 2, 3]),
            "vcs": u32::from(*needed) + draw.below(3),
            "buffer": buffer(&mut draw),
        });
        if let Some(phits) = link["buffer"].as_u64() {
            link["buffer"] = json!(phits * u64::from(whole));
        }
        if class == "endpoint" {
            if whole > 1 {
                link["vcs"] = json!(1);
            }
            link["ejection_latency"] = draw.of(&[json!(null), json!(0), json!(3)]);
            link["injection_credit_latency"] = draw.of(&[json!(null), json!(0), json!(2)]);
            link["ejection_buffer"] = draw.of(&[json!(null), json!(2 * unit), json!(unit)]);
            link["injection_bandwidth"] = draw.of(&[json!(null), json!("infinite"), json!(2)]);
        } else {
            // Slower than a phit per cycle. Endpoints' links cannot be so slow under these loads.
            link["bandwidth"] = draw.of(&[link["bandwidth"].clone(), json!(0.5), json!(0.6)]);
        }
        links.insert(class.clone(), link);
    }
    let arbiter = draw.of(&["round_robin", "least_recently_served", "random", "age"]);
    let update = draw.of(&["grant", "request"]);
    let allocator = match draw.below(4) {
        0 | 1 => json!({ "kind": "separable_input_first", "arbiter": arbiter, "update": update }),
        2 => json!({
            "kind": "islip", "iterations": 1 + draw.below(3),
            "priority": if update == "grant" { "age" } else { "none" },
        }),
        _ => json!("ideal"),
    };
    let admits = draw.bool() && switching != "wormhole" && vc_allocation == "with_switch";
    let router = json!({
        "latency": 1 + draw.below(4),
        "allocation_delay": draw.below(3),
        "speedup": 1 + draw.below(3),
        "clock": draw.of(&["link", "crossbar"]),
        "switching": switching,
        "flit_size": flit,
        "vc_allocation": vc_allocation,
        "admittance": if admits { "per_destination" } else { "single" },
        "admittance_room": draw.of(&[json!("infinite"), json!(20)]),
        "allocator": allocator,
        "output_buffer": buffer(&mut draw),
        "credit_release": draw.of(&["input", "output"]),
        "credit_channel": draw.of(&["unlimited", "one_per_cycle"]),
        "credit_delay": draw.of(&[0, 1, 3]),
        "transit_priority": draw.bool(),
        "injection_queue": draw.of(&["least_occupied", "round_robin", "destination"]),
        "links": links,
    });
    let pattern = draw.of(&[
        json!("uniform"),
        json!({ "kind": "shift", "offset": 1 }),
        json!("permutation"),
        json!({ "kind": "hotspot", "targets": [0], "share": 0.5 }),
        if dragonfly { json!("adversarial") } else { json!({ "kind": "uniform", "include_self": true }) },
    ]);
    let load = draw.of(&[0.1, 0.02, 0.4, 0.7, 1.0]);
    let process = draw.of(&[json!("bernoulli"), json!("periodic"), json!({ "kind": "on_off", "burst": 20 })]);
    let load = if process["kind"] == "on_off" { f64::min(load, 0.6) } else { f64::min(load, mean) };
    let changes = draw.of(&[
        json!([]),
        json!([{ "cycle": 150, "pattern": { "kind": "shift", "offset": 2 } }]),
        json!([{ "cycle": 120, "load": 0.5 }, { "cycle": 260, "load": 0 }]),
    ]);
    let mut measure = json!({
        "warmup": draw.of(&[json!(100), json!(0), json!("auto")]),
        "cycles": draw.of(&[200, 157]),
        "batches": 10,
        "max_warmup": 400,
        "count": draw.of(&["delivered", "generated"]),
        "links": true,
        "endpoints": true,
        "max_drain": 700,
    });
    match draw.below(3) {
        0 => {}
        1 => measure["series"] = json!({ "by": "generation", "bin": 20 }),
        _ => measure["series"] = json!({ "by": "window", "bin": 33 }),
    }
    if draw.below(3) == 2 {
        measure["until"] = json!({ "half_width": 0.2, "max_cycles": 600 });
    }
    let mut router = router;
    let kinds = ["pim", "wavefront", "lonely_output", "maximum_matching", "islip", "separable_output_first"];
    if vc_allocation == "stage" && draw.bool() {
        router["vc_allocator"] = draw.of(&kinds).into();
    }
    // An allocator that gives no request priority.
    let kind = draw.of(&kinds);
    if allocator["kind"] == "islip"
        && draw.bool()
        && (kind != "maximum_matching" || router["transit_priority"] == false)
    {
        router["allocator"] = kind.into();
    }
    if whole == 1 {
        router["input_speedup"] = draw.of(&[json!(1), json!(1), json!(2), json!(3)]);
        router["output_speedup"] = draw.of(&[json!(1), json!(1), json!(2), json!(3)]);
        if switching == "wormhole" {
            router["vc_reuse"] = draw.of(&["tail", "empty"]).into();
            router["connection"] = draw.of(&["flit", "packet"]).into();
        }
    }
    if router["allocator"]["arbiter"] != "random" && router["allocator"]["kind"] == "separable_input_first" {
        router["allocator"]["among"] = draw.of(&["queues", "outputs"]).into();
    }
    if vc_allocation == "stage" && draw.bool() {
        router["vc_allocation"] = "speculative".into();
        let ranks = router["allocator"] != "maximum_matching";
        router["speculation"] = if ranks { draw.of(&["after", "alike"]) } else { "alike" }.into();
    }
    let mut routing = routing;
    let staged = router["vc_allocation"] == "stage" && !router["vc_allocator"].is_null();
    let grid = topology["kind"] == "mesh" || topology["kind"] == "hyperx";
    if staged && whole == 1 && routing == "minimal" && grid {
        routing = json!("minimal_adaptive");
        for class in graph.classes().iter().skip(1) {
            router["links"][class]["vcs"] = json!(2 + draw.below(3));
        }
    }
    // A virtual channel for every output, of those that a packet may take.
    let mut queueing = queueing;
    let told = RoutingKind::from_value("", &routing).unwrap().params().told_ahead();
    if whole == 1 && told && topology["faults"].is_null() && router["vc_allocator"].is_null() && draw.below(3) == 0 {
        queueing = json!("noq");
        let radix = (0..graph.routers()).map(|router| u32::from(graph.ports(router))).max().unwrap();
        for (class, needed) in graph.classes().iter().zip(&needed) {
            router["links"][class]["vcs"] = json!(radix * u32::from(*needed) + draw.below(radix + 1));
        }
    }
    let held = whole == 1 && (switching == "wormhole" || vc_allocation == "stage");
    let reads = RoutingKind::from_value("", &routing).unwrap().params().reads_buffers();
    let breaks = topology["faults"]["later"].as_array().is_some_and(|later| !later.is_empty());
    let least = graph.classes().iter().map(|class| {
        let link = &router["links"][class];
        link["buffer"].as_u64().unwrap_or(0).min(link["ejection_buffer"].as_u64().unwrap_or(u64::MAX))
    });
    let least = least.min().unwrap_or(0);
    if held && !reads && !breaks && least >= u64::from(unit) && draw.below(3) > 0 {
        let private = if least > u64::from(unit) { unit + draw.below(2) } else { unit };
        let limits: &[&str] =
            if least >= 2 * u64::from(unit) { &["none", "fixed", "even", "halved"] } else { &["none"] };
        let limit = draw.of(limits);
        router["sharing"] = json!({ "private": private, "limit": limit });
        if limit == "fixed" {
            router["sharing"]["most"] = json!(unit + draw.below(3 * unit));
        }
        router["output_speedup"] = json!(1);
    }
    let rounds = switching != "wormhole"
        && router["vc_allocation"] == "with_switch"
        && router["allocator"] != "ideal"
        && [&router["input_speedup"], &router["output_speedup"]].iter().all(|paths| paths.as_u64().unwrap_or(1) == 1);
    if rounds {
        router["allocation_rounds"] = draw.of(&[json!(1), json!(1), json!(2), json!(3)]);
    }
    let seed = draw.below(1000);
    let mut classes = vec![];
    if !admits && !breaks && queueing == "virtual_channels" && draw.below(3) == 2 {
        for number in 0..1 + draw.below(3) {
            let mut class =
                json!({ "weight": f64::from(draw.below(3) + u32::from(number == 0)), "priority": draw.below(2) });
            if draw.bool() {
                class["packet_size"] = json!(1 + draw.below(largest));
                class["pattern"] = json!({ "kind": "shift", "offset": 1 + number });
            }
            classes.push(class);
        }
        if router["allocator"]["priority"] == "age" && draw.bool() {
            router["allocator"]["priority"] = "class".into();
        }
        if router["vc_allocator"] == "islip" {
            router["vc_allocator"] = json!({ "kind": "islip", "priority": draw.of(&["none", "class", "age"]) });
        }
    }
    json!({
        "seed": seed,
        "topology": topology,
        "routing": routing,
        "router": router,
        "queueing": queueing,
        "traffic": {
            "pattern": pattern, "load": load, "load_unit": "phits", "process": process, "packet_size": size,
            "changes": changes,
            "classes": classes,
        },
        "measure": measure,
    })
}
