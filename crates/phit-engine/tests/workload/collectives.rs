//! Collectives alone on a network without contention take the time given by alpha and beta.

use crate::{common, completion};
use phit_engine::run::Options;
use serde_json::{Value, json};

const RANKS: u64 = 16;

/// On a crossbar with buffers for all; links carry `BANDWIDTH` bytes a cycle.
fn scenario(collective: &str, algorithm: &str, bytes: u64) -> Value {
    json!({
        "units": { "phit": "1 B" },
        "topology": { "kind": "single", "endpoints": RANKS },
        "router": {
            "latency": LATENCY,
            "allocator": { "kind": "islip", "iterations": 4 },
            "links": { "default": { "latency": LINK, "buffer": 4096, "vcs": 4 } },
        },
        "workload": {
            "kind": "collective", "collective": collective, "algorithm": algorithm, "bytes": bytes,
            "packet_size": PACKET, "host": { "eager": 1u64 << 40 },
        },
    })
}

const LATENCY: u64 = 100;
const LINK: u64 = 400;
const PACKET: u64 = 16;

/// Cycles of a step that sends `bytes`: a cycle to begin, two links and a router, and the phits one after the other.
fn step(bytes: u64) -> f64 {
    (1 + 2 * LINK + LATENCY + bytes) as f64
}

/// Alpha and beta of every collective with every algorithm whose steps use each link once, for P ranks and n bytes.
#[test]
fn collectives_take_what_alpha_and_beta_say() {
    let p = RANKS;
    let log = 4;
    let n = 4096;
    let halving: f64 = (1..=log).map(|k| step(n >> k)).sum();
    let gathering: f64 = (0..log).map(|k| step(n << k)).sum();
    let cases = [
        ("all_reduce", "ring", n, 2.0 * (p - 1) as f64 * step(n / p)),
        ("all_reduce", "recursive_doubling", n, log as f64 * step(n)),
        ("all_reduce", "halving_doubling", n, 2.0 * halving),
        ("all_gather", "ring", n, (p - 1) as f64 * step(n)),
        ("all_gather", "recursive_doubling", n, gathering),
        ("all_gather", "bruck", n, gathering),
        ("reduce_scatter", "ring", n, (p - 1) as f64 * step(n / p)),
        ("reduce_scatter", "recursive_halving", n, halving),
        ("reduce_scatter", "pairwise", n, (p - 1) as f64 * step(n / p)),
        ("all_to_all", "pairwise", n, (p - 1) as f64 * step(n)),
        ("all_to_all", "bruck", n, log as f64 * step(n * p / 2)),
        ("broadcast", "binomial", n, log as f64 * step(n)),
        ("reduce", "binomial", n, log as f64 * step(n)),
        ("broadcast", "chain", n, (p - 1) as f64 * step(n)),
        ("barrier", "dissemination", 0, log as f64 * step(1)),
        ("all_reduce", "binomial", n, 2.0 * log as f64 * step(n)),
        ("all_gather", "pairwise", n, (p - 1) as f64 * step(n)),
        ("all_to_all", "ring", n, (1..p).map(|hops| step(hops * n)).sum()),
        ("gather", "binomial", n, gathering),
        ("scatter", "binomial", n, gathering),
        ("broadcast", "scatter_all_gather", n, halving + (p - 1) as f64 * step(n / p)),
    ];
    for (collective, algorithm, bytes, expected) in cases {
        let outcome = crate::common::run(&scenario(collective, algorithm, bytes));
        let measured = completion(&outcome) as f64;
        let off = measured / expected - 1.0;
        assert!(off.abs() < 0.02, "{collective} by {algorithm}: {measured}, expected {expected}");
    }
}

/// Results are equal to the bit for any threads and partitions, with several CPUs, rendezvous, chunks and calculations,
/// on a network with contention.
#[test]
fn results_do_not_depend_on_partitions() {
    let mut scenario = json!({
        "seed": 3,
        "units": { "phit": "8 B" },
        "topology": { "kind": "dragonfly", "p": 2, "a": 4, "h": 2 },
        "router": { "links": { "default": { "vcs": 5, "latency": 10, "buffer": 64 }, "global": { "latency": 40 } } },
        "workload": {
            "kind": "collective", "collective": "all_reduce", "algorithm": "ring", "bytes": 5000, "chunks": 2,
            "ranks": 14, "combine": 0.1, "calc": 70, "times": 2,
            "host": { "overhead": 15, "gap": 10, "overhead_per_byte": 0, "eager": 64 },
            "placement": "random",
        },
        "measure": { "messages": true, "operations": true, "links": true, "endpoints": true },
    });
    for routing in ["minimal", "par", "ugal_l"] {
        scenario["routing"] = json!({ "kind": routing });
        let results = |options: Options| {
            let outcome = crate::common::run_with(&scenario, options);
            (outcome.summary(), outcome.tables())
        };
        let one = results(Options { threads: 1, partitions: Some(1) });
        assert!(one.0["blocked"].as_f64().unwrap() > 0.0);
        for (threads, partitions) in [(1, 9), (2, 5), (3, 36)] {
            let options = Options { threads, partitions: Some(partitions) };
            assert!(results(options) == one, "{routing}, {threads} threads, {partitions} partitions");
        }
    }
}

/// Whether somebody wants to know of each message and operation changes nothing: without, steps of one message each way
/// are taken without a queue.
fn change_nothing(workload: &Value) {
    // Ranks are not all equally far from one another: messages come before they are waited for.
    let scenario = |asked: bool| {
        json!({
            "units": { "phit": "1 B" },
            "topology": { "kind": "dragonfly", "p": 2, "a": 4, "h": 2 },
            "router": { "latency": 4, "speedup": 2, "links": {
                "local": { "latency": 7, "vcs": 3, "buffer": 64 },
                "global": { "latency": 50, "vcs": 2, "buffer": 128 },
            } },
            "workload": workload,
            "measure": { "messages": asked, "operations": asked, "tracks": asked, "phases": true },
        })
    };
    let run = |asked, partitions| {
        let options = Options { threads: 1, partitions: Some(partitions) };
        let outcome = common::run_with(&scenario(asked), options);
        let (summary, tables) = (outcome.summary(), outcome.tables());
        let numbers = ["completion", "packets", "packet_hops", "latency_mean"].map(|key| summary[key].clone());
        (numbers, tables["ranks"].clone(), tables["phases"].clone())
    };
    let told = run(true, 1);
    assert_eq!(run(false, 1), told, "{workload}");
    assert_eq!(run(false, 4), told, "{workload}");
}

#[test]
fn steps_that_are_taken_at_once_change_nothing() {
    let program = |collective: &str, algorithm: &str, bytes: u64| {
        json!({
            "kind": "collective", "collective": collective, "algorithm": algorithm, "bytes": bytes, "times": 2,
        })
    };
    let programs = [
        program("all_reduce", "ring", 60 * 16),
        program("all_reduce", "ring", 60 * 16 + 7),
        program("all_to_all", "pairwise", 16),
        program("all_to_all", "pairwise", 50),
        program("all_gather", "bruck", 32),
    ];
    let hosts = [
        json!({}),
        json!({ "gap": 9 }),
        json!({ "eager": 20 }),
        json!({ "overhead": 5, "gap_per_byte": 1 }),
        json!({ "rails": { "count": 2, "choice": "round_robin" } }),
    ];
    for mut workload in programs {
        workload["packet_size"] = json!(16);
        workload["placement"] = json!("random");
        for host in &hosts {
            workload["ranks"] = json!(if host.get("rails").is_some() { 32 } else { 60 });
            workload["host"] = host.clone();
            change_nothing(&workload);
        }
    }
}

/// Likewise if the programs of several jobs take such steps, one of which begins while the other is under way.
#[test]
fn steps_of_several_jobs_that_are_taken_at_once_change_nothing() {
    let job = |collective: &str, algorithm: &str, start: u32| {
        let program = json!({
            "kind": "collective", "collective": collective, "algorithm": algorithm, "bytes": 480, "times": 2,
            "ranks": 30,
        });
        json!({ "name": algorithm, "program": program, "placement": "random", "start": start })
    };
    for host in [json!({}), json!({ "gap": 9 }), json!({ "eager": 20 })] {
        let jobs = [job("all_reduce", "ring", 0), job("all_to_all", "pairwise", 300)];
        change_nothing(&json!({ "kind": "jobs", "packet_size": 16, "host": host, "job": jobs }));
    }
}
