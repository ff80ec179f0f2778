//! The ideal network: with a constant latency the times are LogGOPSim's, to the last unit and of every rank.

use crate::{completion, inline, numbers};
use phit_engine::run::{self, Options, RunError};
use serde_json::json;
use std::fs;
use std::path::PathBuf;

fn schedules() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../phit-workload/tests/goal")
}

/// Every schedule of the workload crate with every set of parameters, through a scenario.
#[test]
fn times_are_those_of_loggopsim() {
    let (mut compared, mut refused) = (0, 0);
    for line in fs::read_to_string(schedules().join("runs.csv")).unwrap().lines().skip(1) {
        let columns: Vec<&str> = line.split(',').collect();
        let &[name, l, o, g, gap_per_byte, overhead_per_byte, eager, expected, violations, total, per_rank] =
            &columns[..]
        else {
            panic!("{line}")
        };
        if name == "d04_dependency_cycle" {
            continue;
        }
        let number = |text: &str| text.parse::<u64>().unwrap();
        let plain = schedules().join(format!("{name}.goal"));
        let path = if plain.exists() { plain } else { schedules().join(format!("{name}.goal.gz")) };
        let ranks: Vec<u64> = per_rank.split(' ').filter_map(|text| text.parse().ok()).collect();
        let scenario = json!({
            "topology": { "kind": "single", "endpoints": 512 },
            "router": { "kind": "ideal", "model": "constant", "latency": number(l) },
            "workload": {
                "kind": "goal",
                "file": path.to_str().unwrap(),
                "host": {
                    "overhead": number(o),
                    "gap": number(g),
                    "gap_per_byte": number(gap_per_byte),
                    "overhead_per_byte": number(overhead_per_byte),
                    "eager": number(eager),
                },
            },
        });
        match run::run(&crate::common::scenario(&scenario), Options::default(), &mut |_, _| true) {
            Ok(outcome) if expected == "finished" && violations == "0" => {
                assert_eq!(completion(&outcome), number(total), "{line}");
                assert_eq!(numbers(&outcome, "ranks", "finish"), ranks, "{line}");
                compared += 1;
            }
            Ok(_) => assert!(expected == "finished" || name == "d06_rendezvous_recv_declared_small", "{line}"),
            Err(RunError::Unfinished(text)) => {
                assert_eq!(expected, "queues_not_empty", "{line}: {text}");
                refused += 1;
            }
            Err(error) => panic!("{line}: {error}"),
        }
    }
    assert_eq!((compared, refused), (164, 20));
}

/// What a rank did, with one CPU, comes to its finish.
#[test]
fn the_times_of_a_rank_come_to_its_finish() {
    let goal = "num_ranks 2\nrank 0 {\na: calc 100\nb: send 40b to 1\nb requires a\nc: recv 8b from 1\n}\n\
                rank 1 {\na: recv 40b from 0\nb: calc 7\nb requires a\nc: send 8b to 0\nc requires b\n}\n";
    let mut scenario = inline(2, goal);
    scenario["router"] = json!({ "kind": "ideal", "model": "constant", "latency": 50 });
    scenario["workload"]["host"] = json!({ "overhead": 3 });
    let outcome = crate::common::run(&scenario);
    // 100, o, L, o, 7, o, L, o.
    assert_eq!(numbers(&outcome, "ranks", "finish"), [219, 166]);
    assert_eq!(numbers(&outcome, "ranks", "calc"), [100, 7]);
    assert_eq!(numbers(&outcome, "ranks", "overhead"), [6, 6]);
    // Rank 1 has waited for what rank 0 had not sent until 103, then for the network; rank 0 until 166.
    assert_eq!(numbers(&outcome, "ranks", "waiting"), [63, 103]);
    assert_eq!(numbers(&outcome, "ranks", "blocked"), [50, 50]);
}

/// The zero-load latency of a route, and the time of all phits on its slowest link; messages of one endpoint enter one
/// after the other.
#[test]
fn zero_load_latencies_follow_the_route() {
    let goal = "num_ranks 2\nrank 0 {\nsend 100b to 1 tag 1\nsend 100b to 1 tag 2\n}\n\
                rank 1 {\nrecv 100b from 0 tag 1\nrecv 100b from 0 tag 2\n}\n";
    let mut scenario = inline(1, goal);
    scenario["topology"] = json!({ "kind": "torus", "dims": [8] });
    scenario["workload"]["placement"] = json!({ "kind": "list", "endpoints": [0, 3] });
    scenario["router"] = json!({ "kind": "ideal", "latency": 5, "links": {
        "endpoint": { "latency": 2, "bandwidth": 4 }, "default": { "latency": 10, "bandwidth": 2 },
    } });
    scenario["measure"] = json!({ "messages": true });
    let outcome = crate::common::run(&scenario);
    // One cycle to begin, 3 hops of 10, 4 routers of 5, 2 into the network and 2 out, and 100 phits by two.
    let first = 1 + 3 * 10 + 4 * 5 + 2 + 2 + 50;
    assert_eq!(numbers(&outcome, "messages", "last"), [first, first + 25]);
    // Each link takes in all of it: 25 by four, 50 by two, 25 by four; the second is behind the first on each.
    scenario["router"]["model"] = json!("store_and_forward");
    let outcome = crate::common::run(&scenario);
    let first = 25 + 3 * 50 + 25 + 3 * 10 + 4 * 5 + 2 + 2;
    assert_eq!(numbers(&outcome, "messages", "last"), [first, first + 50]);
}
