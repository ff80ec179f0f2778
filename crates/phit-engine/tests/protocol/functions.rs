//! Functions of somebody else decide as the engine's own rules do, to the last bit, and however a run is executed.

use crate::common::functions::{register, source};
use crate::common::{run_with, scenario, with};
use phit_engine::run::{Options, prepare};
use serde_json::{Map, Value, json};

/// The results of a run, without its scenario and its cost.
fn measured(document: &Value, options: Options) -> (Map<String, Value>, Value) {
    let outcome = run_with(document, options);
    (outcome.summary(), json!(outcome.tables()))
}

fn dragonfly(routing: Value) -> Value {
    json!({
        "topology": { "kind": "dragonfly", "p": 2, "a": 4, "h": 2 },
        "router": {
            "latency": 3, "speedup": 2, "output_buffer": 16,
            "links": {
                "endpoint": { "vcs": 3 },
                "local": { "latency": 3, "vcs": 3, "buffer": 16 },
                "global": { "latency": 10, "vcs": 2, "buffer": 48 },
            },
        },
        "routing": routing,
        "traffic": { "pattern": { "kind": "adversarial", "offset": 1 }, "load": 0.35, "packet_size": 4 },
        "measure": { "warmup": 500, "cycles": 2000, "probes": ["counters"] },
    })
}

fn function(kind: &str, name: &str, parameters: Value) -> Value {
    json!({ "kind": kind, "function": name, "source": source(name), "parameters": parameters })
}

#[test]
fn base_as_a_function_is_base() {
    register();
    for threshold in [2, 4] {
        let base =
            measured(&dragonfly(json!({ "kind": "contention_base", "threshold": threshold })), Options::default());
        assert!(base.0["misrouted_globally"].as_f64() > Some(0.2), "{:?}", base.0["misrouted_globally"]);
        for name in ["base", "mindful"] {
            let own = dragonfly(function("python_trigger", name, json!({ "threshold": threshold })));
            for options in [
                Options::default(),
                Options { threads: 2, partitions: Some(3) },
                Options { threads: 1, partitions: Some(usize::MAX) },
            ] {
                assert_eq!(measured(&own, options), base, "{name}, {threshold}, {options:?}");
            }
            let asked = with(own, json!({ "router": { "redecision": "every_cycle" } }));
            assert_eq!(measured(&asked, Options::default()), base, "{name}, {threshold}, asked in every cycle");
        }
    }
}

#[test]
fn a_trigger_that_reads_outputs_is_asked_when_they_change() {
    register();
    let own = dragonfly(function("python_trigger", "fuller", json!({})));
    let found = measured(&own, Options::default());
    assert!(found.0["misrouted"].as_f64() > Some(0.02), "{:?}", found.0["misrouted"]);
    let asked = with(own, json!({ "router": { "redecision": "every_cycle" } }));
    assert_eq!(measured(&asked, Options::default()), found);
}

#[test]
fn counters_on_a_graph_as_a_function_are_those_of_the_engine() {
    register();
    let of = |routing: Value| {
        json!({
            "topology": { "kind": "slim_fly", "q": 3 },
            "router": { "links": { "default": { "vcs": 3, "latency": 2, "buffer": 16 } } },
            "routing": routing,
            "traffic": { "pattern": "permutation", "load": 0.7, "packet_size": 4 },
            "measure": { "warmup": 500, "cycles": 2000, "probes": ["counters"] },
        })
    };
    // The engine finds nonminimal packets by the lengths of their routes; its own mechanism finds them by the counter's
    // decision.
    let found = |document: &Value, options: Options| {
        let (mut summary, tables) = measured(document, options);
        let misrouted = summary["misrouted"].as_f64();
        summary.retain(|key, _| !key.starts_with("misrouted"));
        (summary, tables, misrouted)
    };
    let engine = found(&of(json!({ "kind": "contention_graph", "threshold": 2 })), Options::default());
    assert!(engine.2 > Some(0.02), "{:?}", engine.2);
    let mut own = function("python_rule", "counters", json!({ "threshold": 2 }));
    own["hops"] = json!(3);
    for options in [Options::default(), Options { threads: 2, partitions: Some(3) }] {
        let (summary, tables, misrouted) = found(&of(own.clone()), options);
        assert_eq!((&summary, &tables), (&engine.0, &engine.1), "{options:?}");
        assert!(Some(0.02) < misrouted && misrouted <= engine.2, "{misrouted:?} of {:?}", engine.2);
    }
    // A minimal route is shorter than the longest.
    own["hops"] = json!(1);
    let refused = prepare(&scenario(&of(own))).err().map(|error| error.to_string()).unwrap_or_default();
    assert!(refused.starts_with("routing.hops = 1: minimal routes have up to 2 links"), "{refused}");
}

#[test]
fn patterns_and_probes_as_functions_are_those_of_the_engine() {
    register();
    let of = |pattern: Value, probe: Value| {
        json!({
            "topology": { "kind": "torus", "dims": [4, 4] },
            "router": { "links": { "default": { "vcs": 4 } } },
            "traffic": { "pattern": pattern, "load": 0.3 },
            "measure": { "warmup": 200, "cycles": 1000, "probes": [probe] },
        })
    };
    let ports = json!({ "kind": "ports", "every": 50 });
    let uniform = measured(&of(json!("uniform"), ports.clone()), Options::default());
    let own = measured(&of(function("python_pattern", "others", json!({})), ports.clone()), Options::default());
    assert_eq!(own, uniform);
    let opposite = measured(&of(json!({ "kind": "shift", "offset": 8 }), ports.clone()), Options::default());
    assert_eq!(measured(&of(function("python_pattern", "turn", json!({})), ports), Options::default()), opposite);

    let mut held = function("python_probe", "held", json!({}));
    (held["every"], held["by"], held["unit"]) = (json!(50), json!("port"), json!("phits"));
    let (summary, tables) = measured(&of(json!("uniform"), held), Options::default());
    assert_eq!(summary["accepted_load"], uniform.0["accepted_load"]);
    for column in ["cycle", "router", "port", "count", "mean", "max"] {
        assert!(tables["probes"][column].is_array(), "{column}");
        assert_eq!(tables["probes"][column], uniform.1["probes"][column], "{column}");
    }
    assert_eq!(tables["probes"]["quantity"][0], json!("held"));
}

#[test]
fn what_nobody_has_registered_is_refused_where_it_would_run() {
    let own = dragonfly(function("python_trigger", "nobody", json!({})));
    assert!(prepare(&scenario(&own)).is_ok(), "it can be looked at");
    let refused = phit_engine::run::Simulation::new(&scenario(&own), Options::default()).err();
    let refused = refused.map(|error| error.to_string()).unwrap_or_default();
    assert!(refused.starts_with("routing.function = \"nobody\": this function is not registered"), "{refused}");
    let patterned = with(
        dragonfly(json!("minimal")),
        json!({ "traffic": { "pattern": { "kind": "mix", "parts": [
            { "weight": 1, "pattern": "uniform" },
            { "weight": 1, "pattern": function("python_pattern", "nobody", json!({})) },
        ] } } }),
    );
    let refused = phit_engine::run::Simulation::new(&scenario(&patterned), Options::default()).err();
    let refused = refused.map(|error| error.to_string()).unwrap_or_default();
    assert!(refused.starts_with("traffic.pattern.parts[1].pattern.function = \"nobody\""), "{refused}");
    for (key, table) in [
        ("function", json!({ "kind": "python_rule", "source": ["x"] })),
        ("source", json!({ "kind": "python_rule", "function": "f" })),
    ] {
        let document = with(dragonfly(json!("minimal")), json!({ "routing": table }));
        let refused = prepare(&scenario(&document)).err().map(|error| error.to_string()).unwrap_or_default();
        assert!(refused.starts_with(&format!("routing.{key}: ")), "{refused}");
    }
}

#[test]
fn routes_of_any_rule_are_proved() {
    let own = json!({
        "topology": { "kind": "slim_fly", "q": 3 },
        "router": { "links": { "default": { "vcs": 4 } } },
        "routing": function("python_rule", "nobody", json!({})),
        "traffic": { "load": 0.1 },
    });
    let report = phit_engine::run::verify(&scenario(&own)).unwrap();
    assert_eq!(report["proved"], true, "{report}");
    let short = with(own, json!({ "router": { "links": { "default": { "vcs": 3 } } } }));
    assert_eq!(phit_engine::run::verify(&scenario(&short)).unwrap()["proved"], false);
}
