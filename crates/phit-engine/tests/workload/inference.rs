//! Serving a language model: closed forms of times, conservation of tokens, and the same bits on any partition.

use crate::{common, completion, inline, numbers};
use phit_engine::result::Outcome;
use phit_engine::run::{self, Options};
use phit_engine::scenario::Scenario;
use serde_json::{Value, json};

/// Passes of 1000 units of time, and 10 for each token; keys and values of 64 bytes.
fn served(workload: Value) -> Value {
    let base = json!({
        "units": { "phit": "16 B", "cycle": "1 ns" },
        "topology": { "kind": "torus", "dims": [4, 2] },
        "router": { "links": { "default": { "vcs": 4, "latency": 3 } } },
        "workload": {
            "kind": "inference", "packet_size": 16, "cache_bytes": 64, "activation_bytes": 512,
            "times": { "pass": 1000, "token": 10, "context": 1 },
        },
    });
    common::with(base, json!({ "workload": workload }))
}

fn fixed(tokens: u32) -> Value {
    json!({ "kind": "fixed", "tokens": tokens })
}

/// The time of a message of so many bytes between two ranks of the network.
fn message(document: &Value, bytes: u64, ranks: u32) -> u64 {
    let goal = format!("num_ranks {ranks}\nrank 0 {{\nsend {bytes}b to 1\n}}\nrank 1 {{\nrecv {bytes}b from 0\n}}\n");
    let mut alone = document.clone();
    alone["workload"] = json!({ "kind": "program", "goal": goal, "packet_size": 16 });
    completion(&common::run(&alone))
}

fn number(outcome: &Outcome, key: &str) -> f64 {
    outcome.summary()[key].as_f64().unwrap_or_else(|| panic!("{key} in {:?}", outcome.summary()))
}

/// One request on an idle network: its prompt of 20 tokens takes 1,200 ns, then its keys and values go to the other
/// rank, and each further token takes 1,010 ns and one for each token of its context.
#[test]
fn one_request_takes_its_passes_and_the_transfer() {
    let document = served(json!({ "trace": [[500.0, 20, 4]] }));
    for router in [document["router"].clone(), json!({ "kind": "fluid", "links": document["router"]["links"] })] {
        let mut document = document.clone();
        document["router"] = router;
        let outcome = common::run(&document);
        let transfer = message(&document, 20 * 64, 2);
        let there = 500 + 1200 + transfer;
        assert_eq!(numbers(&outcome, "requests", "started"), [500]);
        assert_eq!(numbers(&outcome, "requests", "first_token"), [1700]);
        assert_eq!(numbers(&outcome, "requests", "cache_there"), [there]);
        let steps: u64 = (1..4).map(|tokens| 1010 + 20 + tokens).sum();
        assert_eq!(numbers(&outcome, "requests", "end"), [there + steps]);
        assert_eq!(completion(&outcome), there + steps);
        assert_eq!(number(&outcome, "time_to_first_token_mean"), 1200.0);
        let between = (transfer + steps) as f64 / 3.0;
        assert!((number(&outcome, "time_between_tokens_mean") - between).abs() < 1e-9);
        assert_eq!(number(&outcome, "time_between_tokens_p99"), (transfer + 1031) as f64);
        assert_eq!(number(&outcome, "tokens_generated"), 4.0);
        let seconds = (there + steps - 500) as f64 * 1e-9;
        assert!((number(&outcome, "tokens_per_second") * seconds / 4.0 - 1.0).abs() < 1e-12);
    }
}

/// Four ranks share each layer: every pass has two all-reduces, each of 4 members by a ring, after a word to each rank.
#[test]
fn ranks_of_a_group_exchange_their_activations() {
    let params = |activation: u32| {
        json!({
            "prefill": { "tensor": 4 }, "decode": { "tensor": 4 }, "trace": [[0.0, 20, 2]], "exchanges": 2,
            "activation_bytes": activation,
        })
    };
    let [none, some] = [0, 512].map(|bytes| common::run(&served(params(bytes))));
    // A follower hears of a pass after the first rank has begun it, so without all-reduces only words take time.
    assert_eq!(numbers(&none, "requests", "first_token"), [1200]);
    let mut ring = served(json!({}));
    ring["workload"] = json!({
        "kind": "collective", "collective": "all_reduce", "bytes": 20 * 512, "ranks": 4, "times": 2, "packet_size": 16,
    });
    let ring = completion(&common::run(&ring));
    let first = numbers(&some, "requests", "first_token")[0];
    // The words delay the first all-reduce by at most the time of a message.
    assert!((1200 + ring..=1200 + ring + 60).contains(&first), "{first} {ring}");
}

/// Requests that come faster than they are served keep the prefill rank busy; slower ones do not wait.
#[test]
fn utilisation_follows_from_arrivals() {
    let all = |interval: u32| {
        let requests = json!({
            "requests": 50, "arrivals": { "kind": "fixed", "interval": interval }, "prompt": fixed(100),
            "output": fixed(1),
        });
        common::run(&served(requests))
    };
    // A prompt takes 2,000 ns.
    let slow = all(4000);
    assert_eq!(number(&slow, "time_to_first_token_mean"), 2000.0);
    assert_eq!(completion(&slow), 49 * 4000 + 2000);
    assert_eq!(numbers(&slow, "ranks", "calc"), [50 * 2000, 0]);
    let fast = all(1000);
    assert_eq!(completion(&fast), 50 * 2000);
    // Request n waits n times as long as it comes too early.
    assert_eq!(number(&fast, "time_to_first_token_mean"), 2000.0 + 1000.0 * 49.0 / 2.0);
    assert_eq!(number(&fast, "time_to_first_token_p50"), 2000.0 + 1000.0 * 24.0);
    assert_eq!(number(&fast, "requests_done"), 50.0);
}

/// Requests join the pass after the arrival of their keys and values, and leave when they have ended.
#[test]
fn requests_join_and_leave_between_passes() {
    let trace = json!([[0.0, 100, 6], [0.0, 100, 6], [0.0, 100, 2]]);
    let times = json!({ "pass": 1000, "token": 10, "context": 0 });
    let ends = |batch: u32, room: Option<u32>| {
        let mut decode = json!({ "batch": batch });
        room.into_iter().for_each(|room| decode["cache_tokens"] = json!(room));
        let outcome = common::run(&served(json!({ "trace": trace, "times": times, "decode": decode })));
        assert_eq!(number(&outcome, "tokens_generated"), 14.0);
        [numbers(&outcome, "requests", "cache_there"), numbers(&outcome, "requests", "end")]
    };
    let [there, alone] = ends(1, None);
    assert_eq!(alone[0], there[0] + 5 * 1010);
    // One after another: each begins when the one before has ended.
    assert_eq!(alone[1], alone[0] + 5 * 1010);
    assert_eq!(alone[2], alone[1] + 1010);
    let [same, together] = ends(8, None);
    assert_eq!(same, there);
    // Requests join the first pass after they are there. A pass takes 10 ns for each of its requests.
    let (mut left, mut ends_at, mut now) = ([5, 5, 1], [0; 3], there[0]);
    while left.iter().any(|left| *left > 0) {
        let inside: Vec<usize> = (0..3).filter(|&request| there[request] <= now && left[request] > 0).collect();
        now += 1000 + 10 * inside.len() as u64;
        for request in inside {
            left[request] -= 1;
            ends_at[request] = now;
        }
    }
    assert_eq!(together, ends_at);
    assert!(together[2] < alone[2]);
    // Memory for one request is like a batch of one.
    assert_eq!(ends(8, Some(110))[1], alone);
}

/// Every drawn token is generated, whatever the groups; and the seed alone decides.
#[test]
fn tokens_are_conserved_and_results_are_the_same_on_any_partition() {
    let drawn = json!({
        "prefill": { "groups": 2, "batch": 2 }, "decode": { "groups": 2, "tensor": 3, "batch": 4 },
        "requests": 40, "arrivals": { "kind": "poisson", "rate": 1_000_000.0 },
        "prompt": { "kind": "lognormal", "mean": 50.0, "sigma": 0.7 }, "output": { "kind": "geometric", "mean": 8.0 },
    });
    let document = served(drawn);
    let one = common::run(&document);
    let wanted: u64 = numbers(&one, "requests", "output").iter().sum();
    assert_eq!((number(&one, "tokens_generated") as u64, number(&one, "requests_done")), (wanted, 40.0));
    assert!((150..700).contains(&wanted), "{wanted}");
    for partitions in [2, 4] {
        let several = common::run_with(&document, Options { threads: 2, partitions: Some(partitions) });
        assert_eq!(several.summary(), one.summary());
        assert_eq!(several.tables(), one.tables());
    }
    let ideal = common::with(document.clone(), json!({ "router": { "kind": "ideal" } }));
    assert_eq!(number(&common::run(&ideal), "tokens_generated") as u64, wanted);
    // A job among others serves its own requests.
    let mut jobs = document.clone();
    let mut program = document["workload"].clone();
    program.as_object_mut().unwrap().remove("packet_size");
    jobs["topology"] = json!({ "kind": "torus", "dims": [4, 4] });
    jobs["workload"] = json!({ "kind": "jobs", "packet_size": 16, "job": [
        { "name": "train", "program": { "kind": "collective", "collective": "all_reduce", "bytes": 9000, "ranks": 4 } },
        { "name": "serve", "program": program },
    ] });
    let beside = common::run(&jobs);
    assert_eq!(number(&beside, "tokens_generated") as u64, wanted);
    assert!(beside.tables()["requests"]["job"].as_array().unwrap().iter().all(|job| job == "serve"));
}

/// Llama 3 8B on an H100: a prompt of 4,096 tokens takes its operations, and a token its bytes from memory.
#[test]
fn times_follow_from_model_and_accelerator() {
    let document = common::with(
        served(json!({ "trace": [[0.0, 4096, 2]] })),
        json!({ "workload": { "model": { "name": "llama3_8b" }, "accelerator": { "name": "h100" } } }),
    );
    let mut document = document;
    for key in ["times", "cache_bytes", "activation_bytes"] {
        document["workload"].as_object_mut().unwrap().remove(key);
    }
    document["router"] = json!({ "kind": "ideal" });
    let outcome = common::run(&document);
    let (hidden, inner, kv) = (4096.0, 14336.0, 1024.0);
    let matrices = 2.0 * hidden * hidden + 2.0 * hidden * kv + 3.0 * hidden * inner;
    let operations = 32.0 * 4096.0 * (2.0 * matrices + 4.0 * 4096.0 * hidden);
    let prefill = operations / 989.4e3;
    let first = number(&outcome, "time_to_first_token_mean");
    assert!((first / prefill - 1.0).abs() < 0.01, "{first} {prefill}");
    let end = numbers(&outcome, "requests", "end")[0] - numbers(&outcome, "requests", "cache_there")[0];
    let cache = 4097.0 * 131_072.0;
    let step = (2.0 * (32.0 * matrices + hidden * 128_256.0) + cache) / 3350.0;
    assert!((end as f64 / step - 1.0).abs() < 0.01, "{end} {step}");
}

#[test]
fn requests_that_cannot_be_served_are_refused() {
    for (change, expected) in [
        (json!({}), "required without a `trace`"),
        (json!({ "trace": [[0.0, 5, 2]], "requests": 3 }), "requests are those of `trace`"),
        (json!({ "trace": [[5.0, 5, 2], [1.0, 5, 2]] }), "workload.trace"),
        (json!({ "trace": [[0.0, 5, 0]] }), "workload.trace"),
        (json!({ "trace": [[0.0, 5, 2]], "prefill": { "tensor": 0 } }), "workload.prefill.tensor"),
        (json!({ "trace": [[0.0, 5, 2]], "decode": { "cache_tokens": 6 } }), "workload.decode.cache_tokens = 6"),
        (json!({ "trace": [[0.0, 5, 2]], "accelerator": { "name": "h100" } }), "workload.accelerator"),
        (json!({ "trace": [[0.0, 5, 2]], "repeat": { "iterations": 2 } }), "workload.repeat"),
        (json!({ "trace": [[0.0, 5, 2]], "decode": { "tensor": 9 } }), "ranks"),
        (
            json!({
                "requests": 3, "arrivals": { "kind": "poisson", "rate": 0.0 }, "prompt": fixed(1), "output": fixed(1),
            }),
            "workload.arrivals",
        ),
        (
            json!({ "requests": 3, "arrivals": { "kind": "fixed", "interval": 1.0 }, "prompt": fixed(1),
                    "output": { "kind": "uniform", "least": 3, "most": 2 } }),
            "workload.output",
        ),
    ] {
        let document = served(change);
        let error = match Scenario::from_value(&document) {
            Err(error) => error.to_string(),
            Ok(scenario) => match run::run(&scenario, Options::default(), &mut |_, _| true) {
                Err(error) => error.to_string(),
                Ok(_) => panic!("no error\n{document}"),
            },
        };
        assert!(error.contains(expected), "{error}\nshould contain\n{expected}");
    }
    // Times are nanoseconds.
    let mut document = inline(4, "");
    document["workload"] = served(json!({ "trace": [[0.0, 5, 2]] }))["workload"].clone();
    let error = Scenario::from_value(&document).and_then(|scenario| run::prepare(&scenario).map(drop));
    assert!(error.unwrap_err().to_string().contains("units.cycle"));
}
