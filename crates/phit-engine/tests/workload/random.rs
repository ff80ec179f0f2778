//! Random programs over random networks: whatever is sent arrives, once, and no link carries more than it can.

use crate::{column, common, completion, numbers};
use phit_engine::run::{Options, Simulation};
use proptest::prelude::*;
use serde_json::{Value, json};

/// Messages between random ranks, without ranks that wait for each other. There is an order of all operations in which
/// a send precedes its receive, and operations only wait for earlier ones.
fn program(ranks: u32, messages: &[(u32, u32, u32, bool)]) -> String {
    let mut bodies = vec![String::new(); ranks as usize];
    let mut last: Vec<Option<usize>> = vec![None; ranks as usize];
    let mut add = |rank: u32, number: usize, what: String, waits: bool| {
        let body = &mut bodies[rank as usize];
        body.push_str(&format!("{what}\n"));
        if let Some(before) = last[rank as usize].replace(number).filter(|_| waits) {
            body.push_str(&format!("o{number} requires o{before}\n"));
        }
    };
    let mut number = 0;
    for (tag, &(source, destination, bytes, waits)) in messages.iter().enumerate() {
        let (source, destination) = (source % ranks, destination % ranks);
        let send = |number| format!("o{number}: send {bytes}b to {destination} tag {tag}");
        let receive = |number| format!("o{number}: recv {bytes}b from {source} tag {tag}");
        // The send of a large message ends when it has been received: a rank receives its own before it waits for it.
        match source == destination {
            true => add(source, number, receive(number), waits),
            false => add(source, number, send(number), waits),
        }
        number += 1;
        match source == destination {
            true => add(source, number, send(number), false),
            false => add(destination, number, receive(number), waits),
        }
        number += 1;
        if bytes % 3 == 0 {
            add(source, number, format!("o{number}: calc {}", bytes % 997), waits);
            number += 1;
        }
    }
    let rank = |(rank, body): (usize, &String)| format!("rank {rank} {{\n{body}}}\n");
    format!("num_ranks {ranks}\n{}", bodies.iter().enumerate().map(rank).collect::<String>())
}

/// The network of packets of several flits.
const WORMHOLE: u32 = 4;

fn network(choice: u32) -> Value {
    let links = |vcs: u32| json!({ "default": { "vcs": vcs, "buffer": 40, "latency": 3 }, "endpoint": { "vcs": 2 } });
    [
        json!({ "topology": { "kind": "single", "endpoints": 9 }, "router": { "links": links(2) } }),
        json!({ "topology": { "kind": "torus", "dims": [3, 3] }, "router": { "links": links(4) } }),
        json!({
            "topology": { "kind": "dragonfly", "p": 1, "a": 3, "h": 1 },
            "router": { "links": links(5), "latency": 4, "speedup": 2 },
            "routing": "par",
        }),
        json!({
            "topology": { "kind": "clos", "down": [3, 3], "up": [3] },
            "router": { "links": links(2), "clock": "crossbar", "speedup": 2 },
            "routing": { "kind": "clos" },
        }),
        json!({
            "topology": { "kind": "mesh", "dims": [3, 3] },
            "router": { "links": links(2), "switching": "wormhole", "flit_size": 4 },
        }),
    ][choice as usize]
        .clone()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn what_is_sent_arrives_and_no_link_carries_more_than_it_can(
        choice in 0..5u32,
        ranks in 2..9u32,
        messages in prop::collection::vec((any::<u32>(), any::<u32>(), 0..700u32, any::<bool>()), 1..40),
        (eager, overhead, header) in (0..800u64, 0..30u32, 0..3u32),
        (rails, rail) in (1..4u32, 0..3usize),
        partitions in 1..5usize,
    ) {
        // All have room at nine endpoints.
        let ranks = ranks.min(9 / rails);
        let goal = program(ranks, &messages);
        let mut scenario = network(choice);
        scenario["units"] = json!({ "phit": "4 B" });
        scenario["workload"] = json!({
            "kind": "program", "goal": goal, "packet_size": 20, "header": header,
            "host": { "eager": eager, "overhead": overhead }, "placement": "random",
        });
        if rails > 1 {
            let choice = ["round_robin", "hash", "least_queued"][rail];
            scenario["workload"]["host"]["rails"] = json!({ "count": rails, "choice": choice });
        }
        scenario["measure"] = json!({ "messages": true, "tracks": true, "links": true, "endpoints": true });
        let run = |options| common::run_with(&scenario, options);
        let outcome = run(Options { threads: 1, partitions: Some(1) });

        // Every message has come, with the bytes that were sent, after it was posted, and a receive has it.
        let sizes = |mut sizes: Vec<u64>| { sizes.sort_unstable(); sizes };
        prop_assert_eq!(
            sizes(numbers(&outcome, "messages", "bytes")),
            sizes(messages.iter().map(|message| message.2.into()).collect())
        );
        let tables = outcome.tables();
        let at = |name: &str| -> Vec<Option<f64>> {
            column(&tables, "messages", name).iter().map(Value::as_f64).collect()
        };
        let (posted, injected, first, last, matched) =
            (at("posted"), at("injected"), at("first"), at("last"), at("matched"));
        let phits = |bytes: u64| {
            let (all, payload) = (bytes.div_ceil(4), u64::from(20 - header));
            all + all.div_ceil(payload).max(1) * u64::from(header)
        };
        let mut sent = vec![0; ranks as usize];
        let (from, to) = (numbers(&outcome, "messages", "source"), numbers(&outcome, "messages", "destination"));
        for (i, bytes) in numbers(&outcome, "messages", "bytes").into_iter().enumerate() {
            let (posted, last) = (posted[i].unwrap(), last[i].unwrap());
            prop_assert!(matched[i].unwrap() >= last);
            if from[i] == to[i] {
                prop_assert!(injected[i].is_none() && last == posted);
                continue;
            }
            sent[from[i] as usize] += phits(bytes).max(1);
            let (injected, first) = (injected[i].unwrap(), first[i].unwrap());
            prop_assert!(posted < injected && injected < first && first <= last);
            // The link to the endpoint carries a phit per cycle. For packets of several flits, the time of the first
            // phit is not known.
            let time = last - first + 1.0;
            prop_assert!(choice == WORMHOLE || time >= phits(bytes).max(1) as f64, "{bytes} bytes: {first} to {last}");
        }

        // Phits sent by ranks equal phits sent by their endpoints, and no utilisation exceeds 1.
        let completion = completion(&outcome) as f64;
        let endpoints = numbers(&outcome, "ranks", "endpoint");
        let injected = column(&tables, "endpoints", "injected_load");
        for (rank, sent) in sent.iter().enumerate() {
            // Its rails are next to one another.
            let own = &injected[endpoints[rank] as usize..][..rails as usize];
            let load: f64 = own.iter().map(|load| load.as_f64().unwrap()).sum();
            prop_assert!((load * completion.max(1.0) - *sent as f64).abs() < 1e-6, "rank {rank}: {load}, {sent} phits");
        }
        for used in column(&tables, "links", "utilisation") {
            prop_assert!(used.as_f64().unwrap() <= 1.0);
        }

        // With one CPU, the times of a rank's activities add up to its finish.
        let of = |name: &str| column(&tables, "ranks", name).iter().map(|v| v.as_f64().unwrap()).collect::<Vec<_>>();
        let parts = [of("calc"), of("overhead"), of("waiting"), of("blocked")];
        for (rank, finish) in of("finish").into_iter().enumerate() {
            let sum: f64 = parts.iter().map(|part| part[rank]).sum();
            prop_assert!((sum - finish).abs() < 1e-9, "rank {rank}: {sum}, {finish}");
        }

        // So do the times of its track, which follow one another.
        let (of_rank, state) = (numbers(&outcome, "tracks", "rank"), column(&tables, "tracks", "state"));
        let times = |name: &str| -> Vec<f64> {
            column(&tables, "tracks", name).iter().map(|v| v.as_f64().unwrap()).collect()
        };
        let (start, end) = (times("start"), times("end"));
        let mut reached = vec![0.0; ranks as usize];
        let mut sums = vec![vec![0.0; ranks as usize]; 4];
        for (i, &rank) in of_rank.iter().enumerate() {
            prop_assert!(start[i] == reached[rank as usize] && start[i] < end[i], "rank {rank}, {}", start[i]);
            reached[rank as usize] = end[i];
            let part = match state[i].as_str().unwrap() {
                "calc" => 0,
                "send" | "receive" => 1,
                "waiting" => 2,
                _ => 3,
            };
            sums[part][rank as usize] += end[i] - start[i];
        }
        for (sum, part) in sums.iter().flatten().zip(parts.iter().flatten()) {
            prop_assert!((sum - part).abs() < 1e-9);
        }

        // Results are equal on any number of partitions.
        let other = run(Options { threads: 2, partitions: Some(partitions) });
        prop_assert!(other.summary() == outcome.summary() && other.tables() == tables);
    }
}

/// The network keeps its rules while hosts drive it.
#[test]
fn audits_find_nothing() {
    let messages: Vec<(u32, u32, u32, bool)> =
        (0..60).map(|i| (i * 7 % 9, i * 5 % 9, i * 37 % 600, i % 3 == 0)).collect();
    for choice in 0..5 {
        let mut scenario = network(choice);
        scenario["units"] = json!({ "phit": "4 B" });
        scenario["workload"] = json!({
            "kind": "program", "goal": program(9, &messages), "packet_size": 20, "host": { "eager": 300 },
        });
        let mut simulation = common::simulation(&scenario, Options { threads: 1, partitions: Some(3) });
        let mut moved = false;
        for tick in (1..9000).step_by(7) {
            Simulation::advance_to(&mut simulation, tick);
            simulation.fabric().audit().unwrap_or_else(|wrong| panic!("network {choice}, tick {tick}: {wrong}"));
            moved |= simulation.fabric().progress().held > 0;
        }
        assert!(moved && simulation.fabric().at_rest(), "network {choice}");
    }
}
