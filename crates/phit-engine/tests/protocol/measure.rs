//! Measurement: windows, series, drains and priorities, as an observer from outside can check them.

use crate::common::{histogram, number, run, run_with, scenario, with};
use phit_engine::run::Options;
use phit_engine::traffic::Traffic;
use serde_json::{Value, json};

/// Packets and phits generated in `from..to`, drawn from the sources without a network.
fn generated(value: &Value, from: u32, to: u32) -> (u64, u64) {
    let scenario = scenario(value);
    let topology = scenario.topology.build().unwrap();
    let traffic = Traffic::build(&scenario.traffic, &*topology, f64::INFINITY, None, scenario.seed).unwrap();
    let (mut packets, mut phits) = (0, 0);
    for endpoint in 0..topology.endpoints() {
        let mut source = traffic.source(endpoint, scenario.seed);
        let all = std::iter::from_fn(|| traffic.next(endpoint, &mut source)).take_while(|p| p.cycle < to);
        for packet in all.filter(|p| p.cycle >= from) {
            packets += 1;
            phits += u64::from(packet.size);
        }
    }
    (packets, phits)
}

fn torus(load: f64, measure: Value) -> Value {
    json!({
        "topology": { "kind": "torus", "dims": [4, 4] },
        "traffic": { "load": load, "packet_size": { "kind": "choice", "sizes": [1, 4] } },
        "measure": measure,
    })
}

#[test]
fn the_packets_generated_in_the_window_are_counted_exactly() {
    for load in [0.1, 0.5, 1.0] {
        for speedup in [1, 2] {
            let value = with(
                torus(load, json!({ "warmup": 300, "cycles": 500, "count": "generated" })),
                json!({ "router": { "speedup": speedup, "clock": "crossbar" } }),
            );
            let (packets, phits) = generated(&value, 300, 800);
            for partitions in [1, 3] {
                let outcome = run_with(&value, Options { threads: 1, partitions: Some(partitions) });
                assert_eq!(outcome.collector().counters.packets.recorded, packets, "load {load}");
                assert_eq!(outcome.collector().counters.packets.recorded_phits, phits);
                assert!((outcome.offered_load() - phits as f64 / 16.0 / 500.0).abs() < 1e-12);
                assert_eq!(number(&outcome, "/packets"), packets as f64);
                assert_eq!(outcome.summary()["converged"], true);
                assert_eq!(outcome.summary()["drain_cycles"].as_u64().unwrap() % 200, 0);
            }
        }
    }
}

#[test]
fn a_drain_that_is_too_short_is_not_converged() {
    let value = torus(1.0, json!({ "warmup": 300, "cycles": 2000, "count": "generated", "max_drain": 3 }));
    let outcome = run(&value);
    assert_eq!(outcome.summary()["converged"], false);
    assert_eq!(outcome.summary()["drain_cycles"], 3);
    assert!(outcome.collector().counters.packets.recorded < generated(&value, 300, 2300).0);
}

#[test]
fn an_open_measurement_counts_what_is_generated_in_all_of_it() {
    // The window is moved on while packets wait in the sources.
    let value = torus(
        0.9,
        json!({
            "warmup": 100, "cycles": 200, "count": "generated",
            "until": { "half_width": 0.0001, "max_cycles": 1000 },
        }),
    );
    let outcome = run(&value);
    assert_eq!(outcome.summary()["cycles"], 1000);
    assert_eq!(outcome.summary()["converged"], false);
    assert_eq!(outcome.collector().counters.packets.recorded, generated(&value, 100, 1100).0);
    assert!((outcome.offered_load() - generated(&value, 100, 1100).1 as f64 / 16.0 / 1000.0).abs() < 1e-12);
}

#[test]
fn a_measurement_ends_when_it_is_precise() {
    let measure = json!({ "warmup": 500, "cycles": 1000, "until": { "half_width": 0.05, "max_cycles": 100_000 } });
    let outcome = run(&torus(0.3, measure));
    assert_eq!(outcome.summary()["converged"], true);
    assert!(number(&outcome, "/cycles") < 50_000.0);
    // The interval of the summary has its own level, 0.95, below the 0.99 of `until`: it is narrower.
    assert!(number(&outcome, "/latency_ci") <= 0.05 * number(&outcome, "/latency_mean"));
    assert!(number(&outcome, "/accepted_ci") <= 0.05 * number(&outcome, "/accepted_load"));
}

#[test]
fn only_what_was_asked_for_is_reached_or_not() {
    let converged = |measure: Value| run(&torus(0.3, measure)).summary()["converged"].clone();
    assert_eq!(converged(json!({ "warmup": 100, "cycles": 400 })), Value::Null);
    assert_eq!(converged(json!({ "warmup": "auto", "cycles": 400 })), Value::Null);
    assert_eq!(converged(json!({ "warmup": 100, "cycles": 400, "count": "generated" })), true);
    let precision = json!({ "latency_mean": 0.0001 });
    let measure = json!({ "warmup": 100, "cycles": 400, "max_cycles": 500, "precision": precision });
    assert_eq!(converged(measure), false);
}

#[test]
fn every_place_has_the_same_interval() {
    let precision = json!({ "latency_mean": 0.2, "accepted_load": 0.2 });
    let outcome = run(&torus(0.4, json!({ "warmup": 500, "cycles": 2000, "precision": precision })));
    let (summary, tables) = (outcome.summary(), outcome.tables());
    for (row, half) in ["latency_ci", "accepted_ci"].into_iter().enumerate() {
        assert!(summary[half].is_f64());
        assert_eq!(tables["precision"]["half_width"][row], summary[half]);
        assert_eq!(tables["precision"]["batches"][row], summary[&format!("{half}_batches")]);
    }
    // The rows of `batches` have nothing to do with it.
    let with = |batches: u32| {
        let outcome = run(&torus(0.4, json!({ "warmup": 500, "cycles": 2000, "batches": batches })));
        (outcome.tables()["batches"]["batch"].as_array().unwrap().len(), outcome.summary()["latency_ci"].clone())
    };
    let (rows, half) = with(5);
    assert_eq!((rows, with(20)), (5, (20, half)));
}

#[test]
fn traffic_that_changes_has_no_interval() {
    let with_change = |cycle: u32| {
        let mut value = torus(0.3, json!({ "warmup": 500, "cycles": 2000 }));
        value["traffic"]["changes"] = json!([{ "cycle": cycle, "load": 0.4 }]);
        run(&value).summary()
    };
    let summary = with_change(1000);
    assert!(summary["latency_ci"].is_null() && summary["accepted_ci"].is_null() && summary["steady"] == "unknown");
    assert!(summary["latency_ci_reason"].as_str().unwrap().contains("traffic.changes"), "{summary:?}");
    // Before the measured time it is part of the warm-up.
    assert_eq!(with_change(100)["steady"], "yes");
}

#[test]
fn tables_agree_with_the_summary() {
    let value =
        torus(0.4, json!({ "warmup": 0, "cycles": 1000, "series": { "by": "window", "bin": 50 }, "endpoints": true }));
    let outcome = run(&value);
    let tables = Value::Object(outcome.tables());
    let sum = |pointer: &str| -> f64 {
        tables.pointer(pointer).and_then(Value::as_array).unwrap().iter().filter_map(Value::as_f64).sum()
    };
    let packets = outcome.collector().counters.packets.recorded as f64;
    assert_eq!(histogram(&outcome).iter().map(|(_, n)| n).sum::<u64>() as f64, packets);
    let total: u64 = histogram(&outcome).iter().map(|(latency, n)| latency * n).sum();
    assert!((total as f64 / packets - number(&outcome, "/latency_mean")).abs() < 1e-9, "exact below 2048 cycles");
    assert_eq!(sum("/batches/packets"), packets);
    assert_eq!(sum("/series/packets"), packets);
    let accepted = number(&outcome, "/accepted_load");
    assert!((sum("/series/accepted_load") / 20.0 - accepted).abs() < 1e-9);
    assert!((sum("/batches/accepted_load") / 20.0 - accepted).abs() < 1e-9);
    // Links count when a flit is granted, deliveries when a tail arrives: the difference is on its way.
    assert!((sum("/endpoints/accepted_load") / 16.0 - accepted).abs() < 0.01);
}

#[test]
fn a_change_of_pattern_shows_in_the_series_by_generation_in_its_cycle() {
    // One hop around the ring until cycle 1000, two from then on; nobody meets anybody.
    let value = json!({
        "topology": { "kind": "torus", "dims": [6] },
        "router": { "links": { "default": { "latency": 20 } } },
        "traffic": {
            "load": 0.05, "process": "periodic", "pattern": { "kind": "shift", "offset": 1 },
            "changes": [{ "cycle": 1000, "pattern": { "kind": "shift", "offset": 2 } }],
        },
        "measure": { "warmup": 0, "cycles": 2000, "count": "generated", "series": { "by": "generation", "bin": 10 } },
    });
    let outcome = run(&value);
    let series = &outcome.tables()["series"];
    let (cycles, means) = (series["cycle"].as_array().unwrap(), series["latency_mean"].as_array().unwrap());
    // Injection 1 + 20, per router 1, per link 20, ejection 20 + 1.
    let (one, two) = (64.0, 85.0);
    let mut seen = [0, 0];
    for (cycle, mean) in cycles.iter().zip(means) {
        let Some(mean) = mean.as_f64() else { continue };
        let after = usize::from(cycle.as_u64().unwrap() >= 1000);
        assert_eq!(mean, [one, two][after], "packets generated from cycle {cycle}");
        seen[after] += 1;
    }
    assert!(seen[0] > 50 && seen[1] > 50, "{seen:?}");
}

#[test]
fn transit_goes_before_injection() {
    // Endpoint 0 reaches endpoint 2 through router 1, where endpoint 1 joins. Without priority they share the last link
    // equally; with it endpoint 1 gets what endpoint 0 leaves.
    let value = |priority: bool, load: f64| {
        json!({
            "topology": { "kind": "mesh", "dims": [3] },
            "router": {
                "transit_priority": priority,
                "links": { "default": { "vcs": 1, "buffer": 32 } },
            },
            "traffic": { "load": load, "pattern": { "kind": "hotspot", "targets": [2], "share": 1 } },
            "measure": { "warmup": 1000, "cycles": 5000, "endpoints": true },
        })
    };
    let injected = |priority: bool, load: f64| -> (f64, f64) {
        let table = run(&value(priority, load)).tables()["endpoints"]["injected_load"].clone();
        (table[0].as_f64().unwrap(), table[1].as_f64().unwrap())
    };
    let (far, near) = injected(false, 1.0);
    assert!((far - 0.5).abs() < 0.02 && (near - 0.5).abs() < 0.02, "{far} {near}");
    let (far, near) = injected(true, 1.0);
    assert!(far > 0.99 && near < 0.01, "{far} {near}");
    let (far, near) = injected(true, 0.7);
    assert!((far - 0.7).abs() < 0.03 && (near - 0.3).abs() < 0.03, "{far} {near}");
}

#[test]
fn injection_queues_follow_their_rule() {
    let value = |queue: &str, arbiter: &str, update: &str| {
        json!({
            "topology": { "kind": "single", "endpoints": 4 },
            "router": {
                "injection_queue": queue,
                "allocator": { "kind": "separable_input_first", "arbiter": arbiter, "update": update },
                "links": { "endpoint": { "vcs": 4, "buffer": 8 } },
            },
            "traffic": { "load": 1.0, "pattern": { "kind": "uniform", "include_self": true } },
            "measure": { "warmup": 1000, "cycles": 20000 },
        })
    };
    let load =
        |queue: &str, arbiter: &str, update: &str| number(&run(&value(queue, arbiter, update)), "/accepted_load");
    // By destination, no head blocks another. The only loss is at the source's FIFO, when one of the queues is full.
    assert!(load("destination", "round_robin", "grant") > 0.8);
    // Otherwise, there are two kinds of input arbiters. One moves on grants only, and insists on one head until it has
    // won. One moves on every time, and requests for each queue's head in every fourth tick, like four switches in
    // turn. With both, the queues are as good as one FIFO: 0.6553 for four ports. Only a random choice gains more, up
    // to 1 - (1 - 1/4)^4 = 0.684 if the heads were independent.
    for queue in ["round_robin", "least_occupied"] {
        for update in ["grant", "request"] {
            let in_turn = load(queue, "round_robin", update);
            assert!((in_turn - 0.6553).abs() < 0.006, "{queue}, {update}: {in_turn}");
        }
        let at_random = load(queue, "random", "grant");
        assert!(at_random > 0.67 && at_random < 0.69, "{queue}: {at_random}");
    }
}

#[test]
fn packets_far_in_the_future_are_not_generated_early() {
    // Their tick, two per cycle, does not fit in 32 bits.
    let value = json!({
        "topology": { "kind": "single", "endpoints": 200 },
        "router": { "speedup": 16, "clock": "crossbar" },
        "traffic": { "load": 1e-9 },
        "measure": { "warmup": 0, "cycles": 100_000 },
    });
    let outcome = run(&value);
    assert_eq!(outcome.collector().counters.packets.recorded, generated(&value, 0, 100_000).0);
}
