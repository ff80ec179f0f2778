//! Several interfaces of a rank, each at an endpoint of its own.

use crate::{column, common, completion, numbers};
use phit_engine::result::Outcome;
use phit_engine::run::Options;
use proptest::prelude::*;
use serde_json::{Value, json};

/// Both networks: the ideal one, and a crossbar.
fn networks() -> [Value; 2] {
    let crossbar = json!({ "links": { "endpoint": { "latency": 3, "buffer": 400 } } });
    [json!({ "kind": "ideal", "links": { "endpoint": { "latency": 3 } } }), crossbar]
}

fn scenario(router: &Value, goal: &str, rails: Value) -> Value {
    json!({
        "units": { "phit": "1 B" },
        "topology": { "kind": "single", "endpoints": 16 },
        "router": router,
        "workload": { "kind": "program", "goal": goal, "packet_size": 100, "host": { "rails": rails } },
        "measure": { "messages": true },
    })
}

/// Rank 0 sends messages of these sizes, one after the other, all with one tag; rank 1 waits for all of them.
fn line(sizes: &[u32]) -> String {
    let (mut sends, mut receives) = (String::new(), String::new());
    for (i, bytes) in sizes.iter().enumerate() {
        sends.push_str(&format!("s{i}: send {bytes}b to 1\n"));
        receives.push_str(&format!("recv {bytes}b from 0\n"));
        if i > 0 {
            sends.push_str(&format!("s{i} requires s{}\n", i - 1));
        }
    }
    format!("num_ranks 2\nrank 0 {{\n{sends}}}\nrank 1 {{\n{receives}}}\n")
}

/// Each of two ranks sends `messages` messages of 100 bytes to the other.
fn exchange(messages: u32) -> String {
    let rank = |own: u32| {
        let one = format!("send 100b to {0}\nrecv 100b from {0}\n", 1 - own);
        format!("rank {own} {{\n{}}}\n", one.repeat(messages as usize))
    };
    format!("num_ranks 2\n{}{}", rank(0), rank(1))
}

/// Phits that the endpoints have sent.
fn sent(document: &Value) -> (Outcome, Vec<u64>) {
    let mut document = document.clone();
    document["measure"]["endpoints"] = json!(true);
    document["router"] = networks()[1].clone();
    let outcome = common::run(&document);
    let (tables, cycles) = (outcome.tables(), completion(&outcome) as f64);
    let loads = column(&tables, "endpoints", "injected_load").iter();
    let sent = loads.map(|load| (load.as_f64().unwrap() * cycles).round() as u64).collect();
    (outcome, sent)
}

/// Messages of equal size, one behind the other on each link: of r rails each carries one of r, so that n messages take
/// (n / r - 1) 100 cycles longer than one.
#[test]
fn rails_share_out_what_one_link_would_carry() {
    for router in networks() {
        let time = |messages, rails| completion(&common::run(&scenario(&router, &exchange(messages), rails)));
        let one = time(1, json!({ "count": 1 }));
        for rails in [1, 2, 4] {
            for choice in ["round_robin", "least_queued"] {
                let taken = time(24, json!({ "count": rails, "choice": choice }));
                assert_eq!(taken, one + (24 / rails - 1) * 100, "{rails} rails, {choice}, {router}");
            }
        }
        // One flow takes one rail.
        assert_eq!(time(24, json!({ "count": 4, "choice": "hash" })), one + 23 * 100, "{router}");
    }
}

#[test]
fn one_rail_is_none() {
    for router in networks() {
        let with = common::run(&scenario(&router, &exchange(9), json!({ "count": 1 })));
        let without = common::run(&scenario(&router, &exchange(9), json!(null)));
        assert!(with.summary() == without.summary() && with.tables() == without.tables(), "{router}");
        assert!(column(&with.tables(), "messages", "rail").iter().all(Value::is_null), "{router}");
    }
}

/// Each rail waits for its own gap, the CPU of a rank for all of them.
#[test]
fn gaps_are_of_rails_and_overheads_of_cpus() {
    let router = json!({ "kind": "ideal", "model": "constant", "latency": 7 });
    let posted = |rails: u32, overhead: u32| {
        let mut document = scenario(&router, &line(&[8; 6]), json!({ "count": rails }));
        document["workload"]["host"]["gap"] = json!(100);
        document["workload"]["host"]["overhead"] = json!(overhead);
        numbers(&common::run(&document), "messages", "posted")
    };
    assert_eq!(posted(1, 0), [0, 100, 200, 300, 400, 500]);
    assert_eq!(posted(2, 0), [0, 0, 100, 100, 200, 200]);
    assert_eq!(posted(3, 0), [0, 0, 0, 100, 100, 100]);
    // Messages leave when the CPU has been busy with them.
    assert_eq!(posted(2, 30), [30, 60, 130, 160, 230, 260]);
}

/// A short message on a rail of its own is there before a long one that was sent earlier, and waits for it.
#[test]
fn messages_of_one_tag_are_received_in_the_order_in_which_they_were_sent() {
    for router in networks() {
        let outcome = common::run(&scenario(&router, &line(&[1000, 10, 10]), json!({ "count": 2 })));
        let (send, last, matched) = ["send", "last", "matched"].map(|name| numbers(&outcome, "messages", name)).into();
        let of = |list: &[u64], number: u64| list[send.iter().position(|own| *own == number).unwrap()];
        assert!(of(&last, 1) + 800 < of(&last, 0), "{router}: {last:?}");
        assert_eq!([of(&matched, 0), of(&matched, 1)], [of(&last, 0); 2], "{router}");
        assert!(of(&matched, 2) >= of(&last, 2) && of(&last, 2) >= of(&last, 0), "{router}");
    }
}

#[test]
fn the_choice_says_which_rail_a_message_takes() {
    // Rank 0 has endpoints 0 to 2, and rank 1 has endpoints 3 to 5.
    let of = |goal: &str, choice: &str| sent(&scenario(&json!({}), goal, json!({ "count": 3, "choice": choice }))).1;
    assert_eq!(of(&line(&[300, 10, 20, 30, 40]), "round_robin")[..3], [330, 50, 20]);
    // The first behind nothing; the others where least is left.
    assert_eq!(of(&line(&[300, 10, 20, 30, 40]), "least_queued")[..3], [300, 10 + 30, 20 + 40]);
    let one = of(&line(&[300, 10, 20]), "hash");
    assert_eq!((one[..3].iter().max(), one.iter().sum()), (Some(&330), 330));
    let named = "num_ranks 2\nrank 0 {\nsend 50b to 1 nic 2\nsend 70b to 1 nic 1\nsend 80b to 1 nic 2\n}\n\
                 rank 1 {\nrecv 50b from 0\nrecv 70b from 0\nrecv 80b from 0\n}\n";
    assert_eq!(of(named, "program")[..3], [0, 70, 130]);
    for router in networks() {
        let outcome = common::run(&scenario(&router, named, json!({ "count": 3, "choice": "program" })));
        let [send, rail] = ["send", "rail"].map(|name| numbers(&outcome, "messages", name));
        let mut taken: Vec<(u64, u64)> = send.into_iter().zip(rail).collect();
        taken.sort_unstable();
        assert_eq!(taken, [(0, 2), (1, 1), (2, 2)], "{router}");
    }
}

/// Tags and pairs of ranks are spread over all rails.
#[test]
fn flows_are_spread() {
    let mut goal = String::from("num_ranks 2\nrank 0 {\n");
    (0..64).for_each(|tag| goal.push_str(&format!("send 10b to 1 tag {tag}\n")));
    goal.push_str("}\nrank 1 {\n");
    (0..64).for_each(|tag| goal.push_str(&format!("recv 10b from 0 tag {tag}\n")));
    goal.push_str("}\n");
    let sent = sent(&scenario(&json!({}), &goal, json!({ "count": 4, "choice": "hash" }))).1;
    // 16 of 64 each, with a deviation of 3.5.
    assert!(sent[..4].iter().all(|phits| phits.abs_diff(160) <= 105), "{sent:?}");
}

/// Large messages wait for their receive; the word of it comes back to the rail that they took.
#[test]
fn large_messages_wait_for_their_receive() {
    let goal = "num_ranks 2\nrank 0 {\na: send 400b to 1 tag 1\nb: send 400b to 1 tag 2\nc: calc 5\nc requires a\n\
                c requires b\n}\nrank 1 {\nd: calc 5000\na: recv 400b from 0 tag 1\na requires d\n\
                b: recv 400b from 0 tag 2\nb requires d\n}\n";
    for router in networks() {
        let mut document = scenario(&router, goal, json!({ "count": 2 }));
        document["workload"]["host"]["eager"] = json!(100);
        let finish = numbers(&common::run(&document), "ranks", "finish");
        assert!(finish[0] > 5000 && finish[0] < 5050 && finish[1] == 5000, "{finish:?}");
    }
}

/// The endpoints of all ranks, rank by rank.
fn places(placement: Value, endpoints: u32, jobs: u32) -> Vec<Value> {
    let barrier = |ranks: u32| json!({ "kind": "collective", "collective": "barrier", "ranks": ranks });
    let jobs: Vec<Value> = (0..jobs).map(|_| json!({ "program": barrier(3) })).collect();
    let outcome = common::run(&json!({
        "units": { "phit": "1 B" },
        "topology": { "kind": "mesh", "dims": [endpoints / 2], "endpoints_per_router": 2 },
        "workload": { "kind": "jobs", "job": jobs, "placement": placement, "host": { "rails": { "count": 2 } } },
    }));
    assert_eq!(numbers(&outcome, "ranks", "endpoint").len(), 3 * jobs.len());
    let tables = outcome.tables();
    column(&tables, "jobs", "endpoints").to_vec()
}

#[test]
fn ranks_are_placed_with_all_of_their_rails() {
    assert_eq!(places(json!("linear"), 12, 2), [json!([0, 1, 2, 3, 4, 5]), json!([6, 7, 8, 9, 10, 11])]);
    let stride = json!({ "kind": "linear", "stride": 3 });
    assert_eq!(places(stride, 12, 2), [json!([0, 3, 1, 4, 2, 5]), json!([6, 9, 7, 10, 8, 11])]);
    let planes = json!({ "kind": "linear", "stride": 8 });
    assert_eq!(places(planes, 16, 1), [json!([0, 8, 1, 9, 2, 10])]);
    let last = json!({ "kind": "linear", "stride": 2, "first": 4 });
    assert_eq!(places(last, 12, 1), [json!([4, 6, 5, 7, 8, 10])]);
    let routers = json!({ "kind": "round_robin", "over": "routers" });
    assert_eq!(places(routers, 8, 1), [json!([0, 1, 2, 3, 4, 5])]);
    let list = json!({ "kind": "list", "endpoints": [5, 0, 1, 9, 3, 2] });
    assert_eq!(places(list, 12, 1), [json!([5, 0, 1, 9, 3, 2])]);
    let file = json!({ "kind": "file", "file": "identical/files/pairs.txt" });
    assert_eq!(places(file, 12, 1), [json!([4, 6, 0, 2, 9, 1])]);
    let random: Vec<u64> = serde_json::from_value(places(json!("random"), 40, 1)[0].clone()).unwrap();
    assert!(random.chunks(2).all(|pair| pair[0] % 2 == 0 && pair[1] == pair[0] + 1), "{random:?}");
}

#[test]
fn what_rails_cannot_do_is_refused() {
    let with = |change: Value| common::with(scenario(&networks()[1], &line(&[8]), json!({ "count": 2 })), change);
    let place = |placement: Value| with(json!({ "workload": { "placement": placement } }));
    let rails = |rails: Value| with(json!({ "workload": { "host": { "rails": rails } } }));
    let named = "num_ranks 2\nrank 0 {\nsend 50b to 1 nic 2\n}\nrank 1 {\nrecv 50b from 0\n}\n";
    let pairs = "identical/files/pairs.txt";
    let cases = [
        (rails(json!({ "count": 0 })), "workload.host.rails.count = 0: expected"),
        (rails(json!({ "count": 65 })), "workload.host.rails.count = 65: expected"),
        (rails(json!({ "choice": "robin" })), "workload.host.rails.choice = \"robin\""),
        (rails(json!({ "cont": 2 })), "did you mean \"count\"?"),
        (
            rails(json!({ "count": 9 })),
            "workload.placement: the program has 2 ranks of 9 endpoints each; the topology has 16 endpoints",
        ),
        (
            place(json!({ "kind": "list", "endpoints": [1, 2, 3] })),
            "workload.placement.endpoints: 3 endpoints are listed; expected 2 for each of 2 ranks",
        ),
        (
            place(json!({ "kind": "list", "endpoints": [1, 2, 3, 1] })),
            "workload.placement: ranks 0 and 1 at endpoint 1: expected one rank at an endpoint",
        ),
        (place(json!({ "kind": "linear", "first": 13 })), "workload.placement.first = 13: expected at most 12"),
        (place(json!({ "kind": "linear", "stride": 15 })), "workload.placement.stride = 15: 2 ranks need 17 endpoints"),
        (place(json!({ "kind": "linear", "stride": 0 })), "workload.placement.stride = 0: expected"),
        (
            with(json!({ "workload": { "host": { "rails": { "count": 1 } },
                "placement": { "kind": "linear", "stride": 4 } } })),
            "workload.placement.stride = 4: expected `workload.host.rails` as well",
        ),
        (
            with(json!({ "workload": { "host": { "rails": { "count": 3 } },
                "placement": { "kind": "file", "file": pairs } } })),
            "line 1: \"4 6\"; expected the numbers of 3 endpoints",
        ),
        (
            with(json!({ "workload": { "goal": named, "host": { "rails": { "choice": "program" } } } })),
            "workload.host.rails.count = 2: expected at least 3: so many interfaces are named by the program",
        ),
    ];
    for (document, expected) in cases {
        let read = phit_engine::scenario::Scenario::from_value(&document);
        let error = read.and_then(|read| phit_engine::run::prepare(&read).map(|_| ())).expect_err(expected).to_string();
        assert!(error.contains(expected), "{error}\nshould contain\n{expected}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, ..ProptestConfig::default() })]

    /// Receives that wait take messages of one tag in the order in which these were sent: each when all before it are
    /// there. On any number of partitions.
    #[test]
    fn receives_take_messages_in_their_order(
        sizes in prop::collection::vec(1..600u32, 1..25),
        (count, choice, network) in (1..5u32, 0..4usize, 0..3usize),
        partitions in 2..6usize,
    ) {
        let choice = ["round_robin", "hash", "least_queued", "program"][choice];
        let rails = json!({ "count": count, "choice": choice });
        let mut document = scenario(&networks()[network.min(1)], &line(&sizes), rails);
        if network == 2 {
            document["topology"] = json!({ "kind": "torus", "dims": [4, 4] });
            document["routing"] = json!("dimension_order");
            document["router"] = json!({ "links": { "default": { "vcs": 4, "buffer": 100, "latency": 9 } } });
        }
        let run = |options| common::run_with(&document, options);
        let outcome = run(Options { threads: 1, partitions: Some(1) });
        let number = |name: &str| numbers(&outcome, "messages", name);
        let (send, last, matched) = (number("send"), number("last"), number("matched"));
        let mut rows: Vec<(u64, u64, u64)> = (0..sizes.len()).map(|i| (send[i], last[i], matched[i])).collect();
        rows.sort_unstable();
        let mut all = 0;
        for (send, last, matched) in rows {
            all = all.max(last);
            prop_assert_eq!(matched, all, "send {}", send);
        }
        let other = run(Options { threads: 2, partitions: Some(partitions) });
        prop_assert!(other.summary() == outcome.summary() && other.tables() == outcome.tables());
    }
}
