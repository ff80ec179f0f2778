//! Iterations of a program: known ones are skipped exactly, others are run until their mean time is known.

use crate::{column, common};
use phit_engine::result::Outcome;
use phit_engine::run::{self, Options};
use phit_engine::scenario::Scenario;
use serde_json::{Map, Value, json};

/// An all-reduce on a ring of routers that forwards packets the same way each time.
fn ring(repeat: Value) -> Value {
    json!({
        "units": { "phit": "4 B" },
        "topology": { "kind": "torus", "dims": [5, 3] },
        "routing": "dimension_order",
        "router": { "links": { "default": { "vcs": 4, "latency": 3 } } },
        "workload": {
            "kind": "collective", "collective": "all_to_all", "bytes": 480, "packet_size": 6,
            "host": { "overhead": 5, "gap": 3 }, "repeat": repeat,
        },
        "measure": { "links": true, "endpoints": true },
    })
}

/// Keys that say how the iterations were run.
const COURSE: [&str; 3] = ["iterations_run", "iterations_skipped", "iterations_period"];

/// Summary and tables of a result without the course of its iterations.
fn results(outcome: &Outcome) -> (Map<String, Value>, Map<String, Value>) {
    let (mut summary, mut tables) = (outcome.summary(), outcome.tables());
    COURSE.iter().for_each(|key| drop(summary.remove(*key)));
    assert!(tables.remove("iterations").is_some());
    (summary, tables)
}

/// Runs the scenario with and without skipping, compares all results, and returns iterations run and skipped.
#[track_caller]
fn skips(document: &Value) -> (u64, u64) {
    let skipping = common::run(document);
    let whole = common::run(&common::with(document.clone(), json!({ "workload": { "repeat": { "skip": false } } })));
    assert_eq!(whole.summary()["iterations_skipped"], 0);
    let [(summary, tables), (all, all_tables)] = [&skipping, &whole].map(results);
    for (key, value) in &all {
        assert_eq!(&summary[key], value, "{key}");
    }
    for (name, table) in &all_tables {
        assert_eq!(&tables[name], table, "table {name}");
    }
    assert_eq!(skipping.collector().counters.latency, whole.collector().counters.latency);
    let count = |key: &str| skipping.summary()[key].as_u64().unwrap();
    assert_eq!(count("iterations_run") + count("iterations_skipped"), count("iterations"));
    (count("iterations_run"), count("iterations_skipped"))
}

#[test]
fn iterations_of_a_network_without_random_choices_are_skipped_exactly() {
    let base = ring(json!({ "iterations": 60 }));
    for change in [
        json!({}),
        json!({ "router": { "allocator": { "kind": "separable_input_first", "arbiter": "least_recently_served" } } }),
        json!({ "router": { "allocator": { "kind": "islip" }, "output_buffer": 12 } }),
        json!({ "router": { "switching": "wormhole", "flit_size": 2 } }),
        json!({
            "router": { "speedup": 2, "links": { "endpoint": { "vcs": 1 } } },
            "queueing": { "kind": "dbbm", "queues": 2 },
        }),
        json!({ "workload": { "host": { "rails": { "count": 2 } } } }),
        json!({ "routing": { "kind": "table", "adaptive": true }, "router": { "links": { "default": { "vcs": 1 } } },
                "topology": { "kind": "mesh", "dims": [5, 3] } }),
        // Receivers in order, and sources with a queue for each destination.
        json!({ "workload": { "reorder": {} } }),
        json!({ "router": { "admittance": "per_destination" } }),
    ] {
        let document = common::with(base.clone(), change.clone());
        let (run, skipped) = skips(&document);
        assert!(skipped > 0, "{change}: {run} iterations run, none skipped");
    }
}

/// The lines of FBICM come and go in every iteration, and its counts grow with those that are skipped.
#[test]
fn iterations_with_isolation_are_skipped_exactly() {
    let mut document = ring(json!({ "iterations": 60 }));
    document["topology"] = json!({ "kind": "clos", "down": [4, 4], "up": [2] });
    document["routing"] = json!("dfsssp");
    document["router"] = json!({ "admittance": "per_destination", "links": { "default": {
        "vcs": 1, "latency": 3, "buffer": 64 } } });
    document["queueing"] = json!({ "kind": "fbicm", "cfqs": 2, "detection": 12, "stop": 12, "go": 6 });
    document["workload"]["collective"] = json!("gather");
    document["workload"]["algorithm"] = json!("direct");
    let (run, skipped) = skips(&document);
    assert!(skipped > 0, "{run} iterations run, none skipped");
    let detections = common::run(&document).summary()["queueing"]["detections"].as_u64().unwrap();
    assert!(detections > 60, "{detections}");
}

/// Paths of folded Clos networks that depend on the destination alone.
#[test]
fn iterations_of_deterministic_clos_are_skipped_exactly() {
    let mut document = ring(json!({ "iterations": 40 }));
    document["topology"] = json!({ "kind": "clos", "down": [4, 4], "up": [2] });
    document["routing"] = json!({ "kind": "clos", "allocation": "deterministic" });
    document["router"] = json!({ "links": { "default": { "vcs": 2, "latency": 3 } } });
    let (run, skipped) = skips(&document);
    assert!(skipped > 0, "{run} iterations run, none skipped");
}

/// Skipped iterations cost nothing, and their cycles need more than 32 bits. Every count grows with the periods.
#[test]
fn cycles_of_iterations_are_counted_beyond_32_bits() {
    let mut exact = ring(json!({}));
    exact["workload"] = json!({
        "kind": "sequence", "packet_size": 6, "host": { "overhead": 5, "gap": 3 }, "steps": [
            { "kind": "calc", "time": 20_000 },
            { "kind": "collective", "collective": "all_to_all", "bytes": 480 },
        ],
    });
    let mut fluid = exact.clone();
    fluid["router"] = json!({ "kind": "fluid", "links": { "default": { "latency": 3 } } });
    for base in [exact, fluid] {
        let run = |iterations: u64| {
            common::run(&common::with(base.clone(), json!({ "workload": { "repeat": { "iterations": iterations } } })))
        };
        let few = run(60);
        let period = few.summary()["iterations_period"].as_u64().unwrap();
        let times = 999_000 / period;
        let [few, more, all] =
            [few, run(60 + period), run(60 + period * times)].map(|run| (run.summary(), run.tables()));
        let grows = |few: &Value, more: &Value, all: &Value| {
            let [few, more, all] = [few, more, all].map(|value| value.as_u64().unwrap());
            assert!(few <= more);
            assert_eq!(few + (more - few) * times, all);
        };
        for key in ["cycles", "total_cycles", "completion", "packets"] {
            grows(&few.0[key], &more.0[key], &all.0[key]);
        }
        assert!(all.0["cycles"].as_u64().unwrap() > 10_000_000_000);
        for rank in 0..15 {
            let of = |tables: &Map<String, Value>| column(tables, "ranks", "finish")[rank].clone();
            grows(&of(&few.1), &of(&more.1), &of(&all.1));
        }
        let [more, all] = [more, all].map(|(summary, _)| summary["accepted_load"].as_f64().unwrap());
        assert!((more / all - 1.0).abs() < 0.02, "{more} {all}");
    }
}

#[test]
fn networks_of_whole_messages_repeat_at_once() {
    for router in
        [json!({ "kind": "fluid" }), json!({ "kind": "ideal" }), json!({ "kind": "ideal", "model": "endpoint_links" })]
    {
        let mut document = ring(json!({ "iterations": 33 }));
        document["router"] = router;
        document["router"]["links"] = json!({ "default": { "latency": 3 } });
        assert_eq!(skips(&document), (2, 31));
    }
}

/// A program of one message takes the same time in every iteration, and the next begins at the next look.
#[test]
fn times_of_iterations_are_those_of_one_run() {
    let goal =
        "num_ranks 2\nrank 0 {\nc: calc 130\ns: send 100b to 1\ns requires c\n}\nrank 1 {\nrecv 100b from 0\n}\n";
    let mut document = crate::inline(2, goal);
    let once = crate::completion(&common::run(&document));
    assert!((131..300).contains(&once));
    document["workload"]["repeat"] = json!({ "iterations": 5 });
    let summary = common::run(&document).summary();
    assert_eq!(summary["iteration_time"].as_f64(), Some(once as f64));
    // An iteration that ends after 200 cycles is seen to have ended after 300.
    let between = once.next_multiple_of(100);
    assert_eq!(summary["completion"], 4 * between + once);
    assert_eq!(summary["completion_estimated"].as_f64(), Some((4 * between + once) as f64));
    assert_eq!(summary["iterations_period"], 1);
    assert_eq!(summary["iteration_time_ci_reason"], "fewer than 24 iterations");
    assert_eq!(summary["iteration_time_ci"], Value::Null);
}

/// A fat tree whose packets go up at random.
fn random(repeat: Value) -> Value {
    let mut document = ring(repeat);
    document["topology"] = json!({ "kind": "clos", "down": [2, 2, 2], "up": [2, 2] });
    document["routing"] = json!("minimal");
    document["router"] = json!({ "links": { "default": { "vcs": 1, "latency": 3 } } });
    document
}

#[test]
fn other_iterations_run_until_their_mean_time_is_known() {
    let outcome = common::run(&random(json!({ "iterations": 5000, "precision": 0.02 })));
    let summary = outcome.summary();
    let run = summary["iterations_run"].as_u64().unwrap();
    assert!((24..1000).contains(&run), "{run}");
    assert_eq!((&summary["iterations_skipped"], &summary["converged"]), (&json!(0), &json!(true)));
    let [mean, half] = ["iteration_time", "iteration_time_ci"].map(|key| summary[key].as_f64().unwrap());
    assert!(half > 0.0 && half <= 0.02 * mean, "{mean} ± {half}");
    let tables = outcome.tables();
    let times = column(&tables, "iterations", "time");
    let sum: f64 = times.iter().map(|time| time.as_f64().unwrap()).sum();
    assert_eq!((times.len() as u64, sum / run as f64), (run, mean));
    let [estimated, completion] = ["completion_estimated", "completion"].map(|key| summary[key].as_f64().unwrap());
    assert!((estimated / completion / (5000.0 / run as f64) - 1.0).abs() < 0.05, "{estimated} {completion}");
    // Too few iterations say no more than their mean.
    let few = common::run(&random(json!({ "iterations": 9, "precision": 0.02 }))).summary();
    assert_eq!((&few["iterations_run"], &few["iteration_time_ci"]), (&json!(9), &Value::Null));
}

#[test]
fn results_are_the_same_on_any_partition() {
    for document in [ring(json!({ "iterations": 7 })), random(json!({ "iterations": 7 }))] {
        let one = common::run(&document);
        for partitions in [2, 3] {
            let several = common::run_with(&document, Options { threads: 2, partitions: Some(partitions) });
            assert_eq!(several.summary(), one.summary());
            assert_eq!(several.tables(), one.tables());
        }
    }
}

#[test]
fn states_that_cannot_be_compared_are_named() {
    for (change, reason) in [
        (
            json!({ "topology": { "kind": "dragonfly", "p": 2, "a": 2, "h": 1 }, "routing": "ugal_l" }),
            "random choices by the cycle of a packet's generation",
        ),
        (
            json!({ "topology": { "kind": "dragonfly", "p": 2, "a": 2, "h": 1 }, "routing": "contention_base" }),
            "the routing mechanism's state",
        ),
        (json!({ "measure": { "order": true } }), "measure.order"),
        (
            json!({ "queueing": "voqsw", "routing": "dimension_order", "topology": { "kind": "mesh", "dims": [5, 3] },
                "router": { "links": { "default": { "vcs": 1 } } } }),
            "the queue organisation's choices",
        ),
    ] {
        let summary = common::run(&common::with(ring(json!({ "iterations": 3 })), change)).summary();
        assert_eq!(summary["iterations_reason"], reason);
        assert_eq!((&summary["iterations_run"], &summary["iterations_skipped"]), (&json!(3), &json!(0)));
    }
}

#[test]
fn iterations_that_cannot_be_are_refused() {
    for (change, expected) in [
        (json!({ "workload": { "repeat": { "iterations": 0 } } }), "workload.repeat.iterations = 0"),
        (json!({ "workload": { "repeat": { "precision": 1.0 } } }), "workload.repeat.precision = 1"),
        (json!({ "workload": { "repeat": { "precison": 0.1 } } }), "workload.repeat.precison"),
        (json!({ "measure": { "messages": true } }), "measure.messages = true"),
        (json!({ "measure": { "probes": [{ "kind": "buffers", "every": 10 }] } }), "measure.probes"),
    ] {
        let document = common::with(ring(json!({ "iterations": 2 })), change);
        let error = match Scenario::from_value(&document) {
            Err(error) => error.to_string(),
            Ok(scenario) => match run::run(&scenario, Options::default(), &mut |_, _| true) {
                Err(error) => error.to_string(),
                Ok(_) => panic!("no error\n{document}"),
            },
        };
        assert!(error.contains(expected), "{error}\nshould contain\n{expected}");
    }
}
