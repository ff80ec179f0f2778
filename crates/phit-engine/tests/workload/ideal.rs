//! The ideal network: with a constant latency the times are LogGOPSim's, to the last unit and of every rank.

use crate::{completion, inline, numbers};
use phit_engine::run::{self, Options, RunError};
use proptest::prelude::*;
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

/// With one CPU, the times of a rank's activities add up to its finish.
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

/// The link to an endpoint carries no more than it can. Of messages that arrive at once, the last is complete when all
/// of their phits can have arrived. A message that arrives alone takes the time without a limit.
#[test]
fn endpoints_take_in_what_their_links_carry() {
    let senders = 4;
    let receives: String = (1..=senders).map(|rank| format!("recv 800b from {rank}\n")).collect();
    let sends: String = (1..=senders).map(|rank| format!("rank {rank} {{\nsend 800b to 0\n}}\n")).collect();
    let mut scenario = inline(8, &format!("num_ranks {}\nrank 0 {{\n{receives}}}\n{sends}", senders + 1));
    scenario["units"] = json!({ "phit": "8 B" });
    scenario["topology"] = json!({ "kind": "single", "endpoints": 5 });
    scenario["router"] = json!({ "kind": "ideal", "model": "endpoint_links", "latency": 5 });
    scenario["measure"] = json!({ "messages": true });
    let outcome = crate::common::run(&scenario);
    // One cycle to begin, 1 into the network, 5 inside, 1 out of it, and 100 phits of each.
    let (first, phits) = (1 + 1 + 5 + 1, 100);
    let ends: Vec<u64> = (1..=senders).map(|number| first + number * phits).collect();
    assert_eq!(numbers(&outcome, "messages", "last"), ends);
    assert_eq!(completion(&outcome), first + senders * phits);
    scenario["router"]["model"] = json!("zero_load");
    assert_eq!(completion(&crate::common::run(&scenario)), first + phits);
}

/// A program in which everybody sends to several others at once, in rounds that wait for one another: `sizes` are the
/// bytes of its messages, by source, destination and round.
fn rounds(ranks: u32, rounds: u32, bytes: impl Fn(u32, u32, u32) -> u32) -> String {
    let mut goal = format!("num_ranks {ranks}\n");
    for rank in 0..ranks {
        goal.push_str(&format!("rank {rank} {{\n"));
        let mut before: Vec<String> = Vec::new();
        for round in 0..rounds {
            let mut these = Vec::new();
            for other in (0..ranks).filter(|&other| other != rank) {
                for (kind, bytes) in [("send", bytes(rank, other, round)), ("recv", bytes(other, rank, round))] {
                    if bytes == 0 {
                        continue;
                    }
                    let name = format!("{}{round}x{other}", &kind[..1]);
                    let way = if kind == "send" { "to" } else { "from" };
                    goal.push_str(&format!("{name}: {kind} {bytes}b {way} {other} tag {round}\n"));
                    before.iter().for_each(|one| goal.push_str(&format!("{name} requires {one}\n")));
                    these.push(name);
                }
            }
            if !these.is_empty() {
                before = these;
            }
        }
        goal.push_str("}\n");
    }
    goal
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    /// With limited links of endpoints, the ideal network takes at least the time that the busiest endpoint needs for
    /// its bytes, in or out. The program is random: rounds of messages whose hosts have no overhead, on networks with
    /// and without contention inside.
    ///
    /// The ideal network takes no longer than routers in two cases: no message waits for another, or every rank sends
    /// all of its messages to one other rank. In the second case, each link of an endpoint carries the messages of one
    /// sender, always in the same order. Elsewhere, messages that come sooner may change places, and a message that
    /// others wait for may come later (Graham's anomalies).
    #[test]
    fn the_ideal_lies_between_the_busiest_endpoint_and_routers(
        sizes in prop::collection::vec(0u32..1500, 180),
        sparse in 1u32..4,
        count in prop_oneof![2 => Just(1u32), 1 => 2u32..4],
        partner in prop_oneof![1 => Just(None), 1 => (1u32..6).prop_map(Some)],
        network in 0usize..5,
        bandwidth in prop_oneof![Just(0.25), Just(0.5), Just(1.0), Just(2.0)],
    ) {
        let ranks = 6;
        let bytes = |source: u32, destination: u32, round: u32| {
            let at = ((round * ranks + source) * ranks + destination) as usize;
            let bytes = sizes[at % sizes.len()];
            let apart = (destination + ranks - source) % ranks;
            // Some to nobody, some larger.
            let none = bytes % sparse > 0 || partner.is_some_and(|partner| apart != partner);
            if none { 0 } else { bytes * (1 + bytes % 3) }
        };
        let topology = [
            json!({ "kind": "single", "endpoints": 6 }),
            json!({ "kind": "torus", "dims": [6] }),
            json!({ "kind": "mesh", "dims": [3, 2] }),
            json!({ "kind": "dragonfly", "p": 1, "a": 2, "h": 1 }),
            // Packets of a message spread over the links upwards.
            json!({ "kind": "k_ary_n_tree", "arity": 3, "levels": 2 }),
        ][network].clone();
        let links = json!({
            "default": { "vcs": 6, "buffer": 64, "latency": 3, "bandwidth": bandwidth },
            "endpoint": { "vcs": 6, "buffer": 64, "bandwidth": 1 },
        });
        let mut scenario = inline(8, &rounds(ranks, count, bytes));
        scenario["units"] = json!({ "phit": "8 B" });
        scenario["topology"] = topology;
        scenario["router"] = json!({ "latency": 2, "links": links, "speedup": 2 });
        scenario["workload"]["packet_size"] = json!(16);
        let real = completion(&crate::common::run(&scenario));
        scenario["router"] = json!({ "kind": "ideal", "model": "endpoint_links", "latency": 2, "links": links });
        let ideal = completion(&crate::common::run(&scenario));
        let phits = |of: &dyn Fn(u32, u32, u32) -> u32, rank: u32| -> u64 {
            let all = (0..ranks).filter(|&other| other != rank).flat_map(|other| (0..count).map(move |r| (other, r)));
            all.map(|(other, round)| u64::from(of(rank, other, round).div_ceil(8))).sum()
        };
        let least = (0..ranks)
            .flat_map(|rank| [phits(&bytes, rank), phits(&|rank, other, round| bytes(other, rank, round), rank)])
            .max()
            .unwrap_or(0);
        prop_assert!(least <= ideal, "{least} phits at an endpoint, {ideal} cycles\n{scenario}");
        let ordered = count == 1 || partner.is_some();
        prop_assert!(!ordered || ideal <= real, "{ideal} cycles, with routers {real}\n{scenario}");
    }
}
