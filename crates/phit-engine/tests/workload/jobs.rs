//! Several programs at once.

use crate::{column, completion, numbers};
use serde_json::{Value, json};

/// All of one job send to its first rank.
fn incast(ranks: u32, bytes: u32) -> String {
    let receives: String = (1..ranks).map(|rank| format!("recv {bytes}b from {rank}\n")).collect();
    let sends: String = (1..ranks).map(|rank| format!("rank {rank} {{\nsend {bytes}b to 0\n}}\n")).collect();
    format!("num_ranks {ranks}\nrank 0 {{\n{receives}}}\n{sends}")
}

fn scenario(jobs: &[Value]) -> Value {
    json!({
        "units": { "phit": "8 B" },
        "topology": { "kind": "torus", "dims": [4, 4] },
        "router": { "latency": 2, "links": { "default": { "vcs": 4, "latency": 3 } } },
        "routing": "dimension_order",
        "workload": { "kind": "jobs", "packet_size": 8, "job": jobs },
    })
}

/// By job: endpoints of its ranks, and when the last of them has finished.
fn of_job(outcome: &phit_engine::result::Outcome, job: &str) -> (Vec<u64>, u64) {
    let tables = outcome.tables();
    let own = column(&tables, "ranks", "job").iter().map(|name| name == job);
    let (endpoints, finish) = (numbers(outcome, "ranks", "endpoint"), numbers(outcome, "ranks", "finish"));
    let rows: Vec<_> = own.zip(endpoints.into_iter().zip(finish)).filter(|(own, _)| *own).map(|(_, row)| row).collect();
    (rows.iter().map(|row| row.0).collect(), rows.iter().map(|row| row.1).max().unwrap_or(0))
}

/// Jobs in rows of their own never meet under dimension-order routing: each takes as long as it does alone. Where their
/// routes cross, one is in the other's way.
#[test]
fn jobs_meet_in_the_network_alone() {
    let job = |name: &str, endpoints: [u32; 4]| {
        let placement = json!({ "kind": "list", "endpoints": endpoints });
        json!({ "name": name, "program": { "kind": "program", "goal": incast(4, 2000) }, "placement": placement })
    };
    let alone = |job: &Value| completion(&crate::common::run(&scenario(std::slice::from_ref(job))));
    let (first, second) = (job("a", [0, 1, 2, 3]), job("b", [4, 5, 6, 7]));
    let both = crate::common::run(&scenario(&[first.clone(), second.clone()]));
    assert_eq!(of_job(&both, "a"), (vec![0, 1, 2, 3], alone(&first)));
    assert_eq!(of_job(&both, "b"), (vec![4, 5, 6, 7], alone(&second)));
    // In turns along one row, whose links both use.
    let (first, second) = (job("a", [0, 5, 2, 7]), job("b", [1, 4, 3, 6]));
    let both = crate::common::run(&scenario(&[first.clone(), second.clone()]));
    assert!(of_job(&both, "a").1 >= alone(&first) && of_job(&both, "b").1 >= alone(&second));
}

/// A job that begins later ends so much later, and takes what endpoints the others have left.
#[test]
fn jobs_begin_when_they_are_to() {
    let barrier = |ranks: u32| json!({ "kind": "collective", "collective": "barrier", "ranks": ranks });
    let later = |start: u32| {
        let jobs = [json!({ "program": barrier(2) }), json!({ "program": barrier(4), "start": start })];
        of_job(&crate::common::run(&scenario(&jobs)), "1")
    };
    let (endpoints, at_once) = later(0);
    assert_eq!(endpoints, [2, 3, 4, 5]);
    assert_eq!(later(5000), (endpoints, at_once + 5000));
}
