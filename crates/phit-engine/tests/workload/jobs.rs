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

/// An all-reduce of four ranks beside traffic from everybody else to one endpoint of theirs.
fn disturbed(load: f64) -> [Value; 2] {
    let all_reduce = json!({ "kind": "collective", "collective": "all_reduce", "ranks": 4, "bytes": 4000 });
    let placement = json!({ "kind": "list", "endpoints": [0, 5, 10, 15] });
    let pattern = json!({ "kind": "hotspot", "targets": [3], "share": 1.0 });
    [
        json!({ "name": "victim", "program": all_reduce, "placement": placement }),
        json!({ "name": "aggressor", "traffic": { "pattern": pattern, "load": load, "packet_size": 8 } }),
    ]
}

/// Traffic of a job goes to endpoints of the job alone. It begins at its start, with its load.
#[test]
fn traffic_stays_within_its_job() {
    let mut jobs = disturbed(0.5);
    jobs[1] = json!({
        "name": "aggressor", "endpoints": 6, "placement": "random", "start": 3000,
        "traffic": { "load": 0.3, "packet_size": 4 },
    });
    jobs[0]["program"] = json!({ "kind": "program", "goal": "num_ranks 1\nrank 0 {\ncalc 12000\n}\n" });
    let mut document = scenario(&jobs);
    document["measure"] = json!({ "endpoints": true });
    let outcome = crate::common::run(&document);
    assert_eq!(completion(&outcome), 12_000);
    let tables = outcome.tables();
    let load = |key: &str| -> Vec<f64> {
        column(&tables, "endpoints", key).iter().map(|value| value.as_f64().unwrap()).collect()
    };
    let (sent, came) = (load("injected_load"), load("accepted_load"));
    let busy = |loads: &[f64]| loads.iter().map(|load| *load > 0.0).collect::<Vec<_>>();
    assert_eq!(busy(&sent).iter().filter(|busy| **busy).count(), 6);
    assert_eq!(busy(&sent), busy(&came));
    assert_eq!(column(&tables, "jobs", "job"), &[json!("victim"), json!("aggressor")]);
    assert_eq!(column(&tables, "jobs", "kind"), &[json!("program"), json!("traffic")]);
    assert_eq!(column(&tables, "jobs", "finish"), &[json!(12_000), json!(null)]);
    let endpoints = column(&tables, "jobs", "endpoints");
    assert_eq!((&endpoints[0], endpoints[1].as_array().unwrap().len()), (&json!([0]), 6));
    // 9,000 cycles or some more of 6 endpoints with 0.075 packets each: 4,050 of them, with a deviation of 64.
    let accepted = column(&tables, "jobs", "accepted_load")[1].as_f64().unwrap();
    assert!((accepted - 0.3).abs() < 4.0 * 0.3 * 64.0 / 4050.0, "{accepted}");
    let offered = crate::common::number(&outcome, "/offered_load");
    let share = crate::common::number(&outcome, "/accepted_load");
    assert!((offered - share).abs() < 0.02 * share, "{offered} offered, {share} accepted");
}

/// The cost of an aggressor to a program, equal on any number of partitions and threads.
#[test]
fn traffic_is_in_the_way_of_a_program() {
    use phit_engine::run::Options;
    let alone = completion(&crate::common::run(&scenario(&disturbed(0.5)[..1])));
    let both = crate::common::run(&scenario(&disturbed(0.5)));
    assert!(completion(&both) > alone + alone / 10, "{} beside traffic, {alone} alone", completion(&both));
    // Traffic that is hardly there hardly matters.
    let calm = completion(&crate::common::run(&scenario(&disturbed(0.000_1))));
    assert!(calm <= alone + alone / 10, "{calm} beside hardly any traffic, {alone} alone");
    for admittance in ["single", "per_destination"] {
        let mut document = scenario(&disturbed(0.9));
        document["router"]["admittance"] = json!(admittance);
        let run = |options| {
            let outcome = crate::common::run_with(&document, options);
            (outcome.summary(), outcome.tables())
        };
        let one = run(Options { threads: 1, partitions: Some(1) });
        for options in [Options { threads: 1, partitions: Some(3) }, Options { threads: 2, partitions: Some(5) }] {
            assert_eq!(run(options), one, "{admittance} with {options:?}");
        }
    }
}

#[test]
fn errors_of_traffic_beside_programs_name_the_key() {
    let job = |change: Value| {
        let mut jobs = disturbed(0.5).to_vec();
        jobs[1] = crate::common::with(jobs[1].clone(), change);
        scenario(&jobs)
    };
    let only = scenario(&disturbed(0.5)[1..]);
    let hotspot = |target: u32| json!({ "kind": "hotspot", "targets": [target], "share": 1.0 });
    let cases = [
        (job(json!({ "endpoints": 13 })), "workload.job[1].endpoints = 13: expected at most 12"),
        (job(json!({ "traffic": { "load": 1.5 } })), "workload.job[1].traffic.load = 1.5: expected at most 1"),
        (job(json!({ "traffic": { "lod": 1 } })), "did you mean \"load\"?"),
        (job(json!({ "traffic": { "pattern": hotspot(12) } })), "workload.job[1].traffic.pattern.targets"),
        (job(json!({ "traffic": { "requests": {} } })), "workload.job[1].traffic.requests: the traffic of a job"),
        (job(json!({ "traffic": { "pattern": "shuffle" } })), "workload.job[1].traffic.pattern = \"shuffle\""),
        (job(json!({ "traffic": null })), "workload.job[1]: expected a `program` or `traffic`"),
        (
            job(json!({ "program": { "kind": "incast", "bytes": 8 } })),
            "workload.job[1]: expected a `program` or `traffic`",
        ),
        (job(json!({ "traffic": { "packet_size": 99 } })), "router.links.default.buffer"),
        (only, "workload.job: expected a job with a `program`"),
    ];
    for (document, expected) in cases {
        let read = phit_engine::scenario::Scenario::from_value(&document);
        let error = read.and_then(|read| phit_engine::run::prepare(&read).map(|_| ())).expect_err(expected).to_string();
        assert!(error.contains(expected), "{error}\nshould contain\n{expected}");
    }
}

/// Packets and messages of each job have percentiles of their own, whatever the parts of the network.
#[test]
fn jobs_have_percentiles_of_packets_and_messages() {
    let mut value = scenario(&disturbed(0.3));
    value["measure"] = json!({ "messages": true });
    let outcome = crate::common::run(&value);
    let tables = outcome.tables();
    // The victim's latencies are those in the table of messages.
    let (posted, last) = (numbers(&outcome, "messages", "posted"), numbers(&outcome, "messages", "last"));
    let mut took: Vec<u64> = posted.iter().zip(&last).map(|(posted, last)| last - posted).collect();
    took.sort_unstable();
    let of = |name: &str| column(&tables, "jobs", name).to_vec();
    assert_eq!(of("messages"), [json!(took.len()), json!(0)]);
    assert_eq!(of("message_latency_p50")[0], json!(took[took.len().div_ceil(2) - 1]));
    assert_eq!(of("message_latency_max")[0], json!(took[took.len() - 1]));
    let mean = took.iter().sum::<u64>() as f64 / took.len() as f64;
    assert!((of("message_latency_mean")[0].as_f64().unwrap() - mean).abs() < 1e-9);
    assert_eq!((&of("message_latency_p99")[1], &of("message_latency_mean")[1]), (&Value::Null, &Value::Null));
    for job in 0..2 {
        let at = |name: &str| of(name)[job].as_f64().unwrap();
        let quantiles = ["latency_p50", "latency_p99", "latency_p999", "latency_max"].map(at);
        assert!(quantiles.is_sorted() && at("latency_mean") < quantiles[3], "{quantiles:?}");
    }
    // In each part, other packets of the aggressor meet the victim's packets.
    let parts = crate::common::run_with(&value, phit_engine::run::Options { threads: 2, partitions: Some(3) });
    assert_eq!(parts.tables()["jobs"], tables["jobs"]);
    value["measure"] = json!({ "histogram": false });
    let without = crate::common::run(&value).tables();
    assert_eq!(column(&without, "jobs", "latency_p99"), [Value::Null, Value::Null]);
}
