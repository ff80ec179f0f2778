//! FBICM in random runs: nothing is lost, reordered or left, whatever the network and the thresholds.

use super::{agree, base, lines, quiet_at_the_end, summed};
use crate::common::{run_with, simulation, with};
use phit_engine::run::Options;
use proptest::prelude::*;
use serde_json::{Value, json};

/// Bursts of messages between random endpoints, some of them towards one.
fn burst(choices: &[u32], endpoints: u32) -> Vec<[u32; 4]> {
    let mut trace: Vec<[u32; 4]> = choices
        .chunks_exact(4)
        .map(|c| {
            let to = if c[0] % 2 == 0 { c[0] / 2 % 3 } else { c[2] };
            [c[3] % 400, c[1] % endpoints, to % endpoints, 4 * (1 + c[0] % 30)]
        })
        .collect();
    trace.sort_by_key(|message| message[0]);
    trace
}

fn random(choices: &[u32]) -> (Value, u64) {
    let (head, rest) = choices.split_at(8);
    let (topology, endpoints, vcs) = match head[0] % 5 {
        0 => (json!({ "kind": "k_ary_n_tree", "arity": 2, "levels": 3 }), 8, 1),
        1 => (json!({ "kind": "single", "endpoints": 5 }), 5, 1),
        2 => (json!({ "kind": "mesh", "dims": [3], "endpoints_per_router": 2 }), 6, 1),
        3 => {
            let pattern = if head[0] / 5 % 2 == 0 { "butterfly" } else { "perfect_shuffle" };
            let stages = 2 + head[0] / 10 % 2;
            (json!({ "kind": "multistage", "arity": 2, "stages": stages, "pattern": pattern }), 1 << stages, 1)
        }
        _ => (json!({ "kind": "dragonfly", "p": 1, "a": 3, "h": 1 }), 12, 2),
    };
    let trace = burst(rest, endpoints);
    let phits = trace.iter().map(|message| u64::from(message[3])).sum();
    let value = with(
        base(topology, if head[1] % 2 == 0 { "new" } else { "first" }),
        json!({
            "router": {
                "latency": 1 + head[6] % 3,
                "links": {
                    "default": { "vcs": vcs, "buffer": 64, "latency": 1 + head[2] % 4 }, "endpoint": { "vcs": 1 },
                },
            },
            "traffic": { "trace": trace },
        }),
    );
    let queueing = json!({
        "kind": "fbicm", "version": if head[1] % 2 == 0 { "new" } else { "first" },
        "cfqs": 1 + head[3] % 4, "destinations": 1 + head[4] % 3, "detection": 4 * (1 + head[5] % 4),
        "stop": 8 + 4 * (head[5] % 3), "go": 4, "timer": 7 * (head[7] % 3), "phit_bits": 1 + head[7] % 8,
    });
    (with(value, json!({ "queueing": queueing })), phits)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 240, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_is_lost_reordered_or_left(choices in prop::collection::vec(0u32..720_720, 88), partitions in 1usize..4) {
        let (value, phits) = random(&choices);
        let mut s = simulation(&value, Options { threads: 1, partitions: Some(partitions) });
        let mut before = lines(&s);
        for tick in 1..=700 {
            s.advance_to(tick);
            let seen = lines(&s);
            if let Err(wrong) = s.fabric().audit().and_then(|()| agree(&s, &before, &seen)) {
                panic!("{wrong} at tick {tick}\n{value}");
            }
            before = seen;
        }
        s.advance_to(30_000);
        quiet_at_the_end(&mut s, 30_001, phits);
        assert_eq!(summed(&s, "lines_allocated"), summed(&s, "lines_freed"));
        if value["queueing"]["version"] == "first" {
            assert_eq!(summed(&s, "updates_sent"), 0, "the first version has no updates\n{value}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn threads_and_partitions_change_nothing(choices in prop::collection::vec(0u32..720_720, 88)) {
        let (mut value, _) = random(&choices);
        value["measure"] = json!({
            "warmup": 0, "cycles": 1200, "links": true, "series": { "bin": 50, "by": "window" },
            "probes": [
                { "kind": "queueing", "every": 10 }, { "kind": "trees", "every": 50 }, { "kind": "ports", "every": 50 },
            ],
        });
        let result = |threads, partitions| {
            let outcome = run_with(&value, Options { threads, partitions });
            json!({ "summary": outcome.summary(), "tables": outcome.tables() })
        };
        let first = result(1, Some(1));
        for (threads, partitions) in [(1, Some(2)), (2, Some(3)), (1, Some(1000))] {
            let again = result(threads, partitions);
            if first != again {
                panic!("{threads} threads, {partitions:?} partitions\n{value}\n{first}\n{again}");
            }
        }
    }
}
