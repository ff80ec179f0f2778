//! One switch against the closed forms of Karol, Hluchyj and Morgan, "Input versus output queueing on a space-division
//! packet switch" (IEEE Transactions on Communications 35(12), 1987).

use crate::common::{assert_close, histogram, number, run};
use serde_json::{Value, json};

/// N endpoints on one router, packets of one phit to any endpoint with equal probability.
fn switch(endpoints: u32, load: f64, router: Value, cycles: u32) -> Value {
    json!({
        "topology": { "kind": "single", "endpoints": endpoints },
        "router": router,
        "traffic": { "load": load, "pattern": { "kind": "uniform", "include_self": true } },
        "measure": { "warmup": 2000, "cycles": cycles },
    })
}

#[test]
fn an_output_queued_switch_waits_like_m_d_1() {
    // In a slot, each of N inputs sends to a given output with probability rho/N, and one packet leaves it. The mean
    // wait is (N - 1)/N * rho / (2 (1 - rho)), which is the M/D/1 queue's for N to infinity.
    for (endpoints, cycles) in [(2, 600_000), (4, 300_000), (16, 80_000)] {
        for load in [0.2, 0.5, 0.8, 0.9] {
            let outcome = run(&switch(endpoints, load, json!({ "allocator": "ideal" }), cycles));
            let n = f64::from(endpoints);
            let expected = (n - 1.0) / n * load / (2.0 * (1.0 - load));
            let least = histogram(&outcome)[0].0 as f64;
            let wait = number(&outcome, "/latency_mean") - least;
            // Twice the half-width of the 95% interval of 20 long batches: about four standard errors.
            let tolerance = 2.0 * intervals(&outcome).2;
            assert!(tolerance < 0.03 + 0.06 * expected, "too short a run: {tolerance} of {expected}");
            assert_close(wait, expected, tolerance, &format!("wait of {endpoints} endpoints at {load}"));
            assert_close(number(&outcome, "/accepted_load"), load, 0.01, "load");
        }
    }
}

#[test]
fn a_mean_measured_to_a_precision_is_that_precise() {
    // The wait of this queue is within the interval with which the run stopped, in at least nine cases of ten. The
    // level is 95 %, and a run that stops when its interval is narrow stops slightly too often by chance.
    let (n, load, aim, runs) = (4.0, 0.8, 0.03, 120);
    let wait = (n - 1.0) / n * load / (2.0 * (1.0 - load));
    let (mut covered, mut cycles) = (0, 0.0);
    for seed in 0..runs {
        let mut scenario = switch(4, load, json!({ "allocator": "ideal" }), 2000);
        scenario["seed"] = json!(seed);
        scenario["measure"]["precision"] = json!({ "latency_mean": aim });
        let outcome = run(&scenario);
        let tables = outcome.tables();
        let table = &tables["precision"];
        let half = table["half_width"][0].as_f64().expect("a number");
        let off = (number(&outcome, "/latency_mean") - (histogram(&outcome)[0].0 as f64 + wait)).abs();
        covered += u32::from(off <= half);
        assert_eq!((&table["met"][0], &outcome.summary()["converged"]), (&json!(true), &json!(true)));
        assert!(table["reached"][0].as_f64().expect("a number") <= aim);
        cycles += number(&outcome, "/cycles") / f64::from(runs);
    }
    assert!(covered >= runs * 9 / 10, "{covered} of {runs}");
    assert!((5000.0..25_000.0).contains(&cycles), "{cycles}");
}

#[test]
fn an_input_queued_switch_saturates_where_its_heads_block() {
    // One FIFO per input, always full. The heads' destinations are a Markov chain; Karol et al., table I, for any rule
    // by which an output chooses among the heads; 2 - sqrt(2) = 0.586 for N to infinity.
    for (endpoints, expected, tolerance) in
        [(2, 0.75, 0.004), (4, 0.6553, 0.003), (8, 0.6184, 0.003), (64, 0.5885, 0.003)]
    {
        for arbiter in ["random", "round_robin", "least_recently_served"] {
            let router = json!({
                "allocator": { "kind": "separable_input_first", "arbiter": arbiter },
                "links": { "endpoint": { "vcs": 1, "buffer": 16 } },
            });
            let cycles = if endpoints == 64 { 10_000 } else { 60_000 };
            let outcome = run(&switch(endpoints, 1.0, router, cycles));
            let what = format!("{endpoints} endpoints, {arbiter}");
            assert_close(number(&outcome, "/accepted_load"), expected, tolerance, &what);
            assert_close(number(&outcome, "/offered_load"), 1.0, 1e-9, "offered load");
        }
    }
}

#[test]
fn islip_and_virtual_output_queues_carry_everything() {
    // With a queue per output (the injection queue follows the destination) one iteration of iSLIP desynchronises its
    // pointers and carries 100% of uniform traffic (McKeown 1999, section III).
    let router = json!({
        "allocator": { "kind": "islip", "iterations": 1 },
        "injection_queue": "destination",
        "links": { "endpoint": { "vcs": 8, "buffer": 1000 } },
    });
    let outcome = run(&switch(8, 0.97, router.clone(), 40_000));
    assert_close(number(&outcome, "/accepted_load"), 0.97, 0.01, "accepted load");
    // Round robin that ignores the outputs' acceptances is worse.
    let mut separable = router;
    separable["allocator"] = json!({ "kind": "separable_input_first", "update": "request" });
    let outcome = run(&switch(8, 1.0, separable, 20_000));
    assert!(number(&outcome, "/accepted_load") < 0.97);
}

/// Saturation of a switch with many ports and FIFO inputs, whose outputs each take up to `speedup` packets in a slot:
/// the load at which an output has one head on average. The heads for an output are a queue with Poisson arrivals, of
/// which up to `speedup` leave in a slot (Oie, Murata, Kubota and Miyahara, "Effect of speedup in nonblocking packet
/// switch", ICC 1989).
fn saturation_with_output_speedup(speedup: usize) -> f64 {
    const HEADS: usize = 60;
    let mean_heads = |load: f64| {
        let mut arrivals = [0.0; HEADS];
        let mut term = (-load).exp();
        for (k, arrival) in arrivals.iter_mut().enumerate() {
            *arrival = term;
            term *= load / (k as f64 + 1.0);
        }
        let mut heads = [0.0; HEADS];
        heads[0] = 1.0;
        for _ in 0..3000 {
            let mut next = [0.0; HEADS];
            for (count, share) in heads.iter().enumerate() {
                let left = count.saturating_sub(speedup);
                for (arrival, probability) in arrivals.iter().enumerate().take(HEADS - left) {
                    next[left + arrival] += share * probability;
                }
            }
            heads = next;
        }
        heads.iter().enumerate().map(|(count, share)| count as f64 * share).sum::<f64>()
    };
    let (mut low, mut high) = (0.3, 1.0);
    for _ in 0..20 {
        let middle = (low + high) / 2.0;
        if mean_heads(middle) < 1.0 { low = middle } else { high = middle }
    }
    low
}

#[test]
fn a_speedup_of_outputs_alone_moves_the_head_of_line_limit() {
    assert_close(saturation_with_output_speedup(1), 2.0 - 2f64.sqrt(), 1e-3, "the rule itself");
    for speedup in [2, 4] {
        let expected = saturation_with_output_speedup(speedup);
        let router = |inputs: &str| {
            json!({
                "clock": "crossbar", "speedup": speedup, "inputs": inputs, "cut_through": "input",
                "allocator": { "kind": "separable_input_first", "arbiter": "random" },
                "links": { "endpoint": { "vcs": 1, "buffer": 16 } },
            })
        };
        let accepted = |inputs: &str| number(&run(&switch(64, 1.0, router(inputs), 6000)), "/accepted_load");
        // 64 inputs reach slightly more than many do: 0.5885 against 0.5858 without a speedup.
        assert_close(accepted("link"), expected + 0.001, 0.004, &format!("outputs {speedup} times as fast"));
        if speedup == 2 {
            // Inputs that also send twice in a cycle catch up on their losses.
            assert!(accepted("crossbar") > expected + 0.05);
        }
    }
}

#[test]
fn queues_for_each_destination_carry_uniform_traffic_and_one_queue_does_not() {
    // Under uniform traffic, every link of a k-ary n-tree with balanced tables has the load of the endpoints. With a
    // queue for each destination, no packet waits behind one for another destination, and all links are full except for
    // losses of the one-iteration allocator. A single queue also loses throughput to head-of-line blocking in each of
    // three stages.
    let accepted = |queueing: &str, buffer: u32| {
        let outcome = run(&json!({
            "topology": { "kind": "k_ary_n_tree", "arity": 4, "levels": 2 },
            "router": { "admittance": "per_destination", "links": { "default": { "vcs": 1, "buffer": buffer } } },
            "routing": "table",
            "queueing": queueing,
            "traffic": { "load": 1.0, "packet_size": 64, "pattern": { "kind": "uniform", "include_self": true } },
            "measure": { "warmup": 20_000, "cycles": 40_000, "order": true },
        }));
        assert_eq!(outcome.collector().counters.order.overtaken, 0, "one way and one queue for each destination");
        number(&outcome, "/accepted_load")
    };
    let (voqnet, voqsw, single) =
        (accepted("voqnet", 4096), accepted("voqsw", 8192), accepted("virtual_channels", 8192));
    assert!(voqnet > 0.94, "{voqnet}");
    assert!(voqsw > 0.92, "{voqsw}");
    assert!((0.6..0.85).contains(&single), "{single}");
}

#[test]
fn destinations_share_a_queue_as_their_numbers_say() {
    // Two queues: while endpoint 0 is busy with packets from elsewhere, what waits behind one for it are even
    // destinations only.
    let delivered = |queues: u32, other: u32| {
        let outcome = run(&json!({
            "topology": { "kind": "single", "endpoints": 8 },
            "router": { "links": { "endpoint": { "vcs": 1, "buffer": 64 } } },
            "routing": "table",
            "queueing": { "kind": "dbbm", "queues": queues },
            "traffic": { "load": 0, "packet_size": 4, "trace": [
                [0, 1, 0, 400], [0, 2, 0, 400], [0, 3, 0, 8], [8, 3, other, 40],
            ] },
            "measure": { "warmup": 0, "cycles": 100, "endpoints": true },
        }));
        outcome.tables()["endpoints"]["accepted_load"][other as usize].as_f64().unwrap() * 100.0
    };
    // Alone in its queue: all of it is through in time. Behind packets for 0: these have to wait for their turns first.
    assert_close(delivered(2, 5), 40.0, 1e-6, "phits for 5");
    assert_close(delivered(1, 5), delivered(2, 4), 1e-6, "phits in the queue of endpoint 0");
}

#[test]
fn adaptive_tables_share_the_ways_up() {
    // A 4-ary 2-tree under bit reverse. Of each leaf's four endpoints, one sends to the leaf itself. The others send to
    // destinations with equal last digits, which the tables send up over one link: (3 * 1/3 + 1) / 4 = 1/2 of the load
    // is carried. All four links together could carry everything. Adaptive routing comes near, except where heads of
    // one cycle choose alike; nearest, where waiting packets do not hold up others.
    let accepted = |adaptive: bool, queueing: Value| {
        let outcome = run(&json!({
            "topology": { "kind": "k_ary_n_tree", "arity": 4, "levels": 2 },
            "routing": { "kind": "table", "adaptive": adaptive },
            "router": {
                "admittance": "per_destination",
                "links": { "default": { "vcs": 1, "buffer": 64, "latency": 1 } },
            },
            "queueing": queueing,
            "traffic": { "load": 1.0, "packet_size": 4, "pattern": "bit_reverse" },
            "measure": { "warmup": 1000, "cycles": 4000 },
        }));
        number(&outcome, "/accepted_load")
    };
    let isolating = json!({ "kind": "fbicm", "detection": 32, "stop": 16, "go": 8 });
    for (queueing, least) in [(json!("virtual_channels"), 0.8), (isolating, 0.95)] {
        assert_close(accepted(false, queueing.clone()), 0.5, 0.01, "tables");
        assert!(accepted(true, queueing.clone()) > least, "adaptive tables, {queueing}");
    }
}

#[test]
fn a_packet_for_one_output_waits_behind_none_for_another_under_next_hop_queueing() {
    // A line of four. Endpoint 0 sends all it can to endpoint 2, which takes a phit in eight cycles. Its packets fill
    // the channels to router 2 that they may take. From time to time, endpoint 1 sends a packet to endpoint 3. It takes
    // a channel from the share of another output of router 2, which is empty, over a link on which next to nothing
    // moves.
    let packets = (0..5).map(|turn| json!([400 + 97 * turn, 1, 3, 4]));
    let value = |queueing: &str, flood: bool| {
        let flood = (0..if flood { 40 } else { 0 }).map(|turn| json!([8 * turn, 0, 2, 4]));
        json!({
            "topology": { "kind": "mesh", "dims": [4] },
            "router": {
                "switching": "wormhole", "vc_allocation": "stage", "output_buffer": 2,
                "links": {
                    "endpoint": { "vcs": 3, "buffer": 4, "bandwidth": 0.125, "injection_bandwidth": 1 },
                    "dim0": { "vcs": 3, "buffer": 4 },
                },
            },
            "queueing": queueing,
            "traffic": { "load": 0, "packet_size": 4, "trace": flood.chain(packets.clone()).collect::<Vec<_>>() },
            "measure": { "warmup": 400, "cycles": 500, "count": "generated" },
        })
    };
    let latency = |queueing: &str, flood: bool| {
        let outcome = run(&value(queueing, flood));
        assert_eq!(number(&outcome, "/packets"), 5.0, "{queueing} {flood}");
        number(&outcome, "/latency_mean")
    };
    let alone = latency("noq", false);
    assert_eq!(alone, latency("virtual_channels", false));
    // A flit of the flood may have the crossbar before each of the four flits.
    let (ahead, shared) = (latency("noq", true), latency("virtual_channels", true));
    assert!(ahead <= alone + 4.0, "{ahead} {alone}");
    // Where channels are anybody's, all of them are full, and the next is free when a packet has left.
    assert!(shared > alone + 20.0, "{shared} {alone}");
}

/// The mean latency, if it has an interval how wide half of it is, and half the width of the interval that 20 batches
/// would have if they were independent.
fn intervals(outcome: &phit_engine::result::Outcome) -> (f64, Option<f64>, f64) {
    let tables = outcome.tables();
    let column = |name: &str| -> Vec<f64> {
        let cells = tables["batches"][name].as_array().expect("a column");
        cells.iter().map(|cell| cell.as_f64().unwrap_or(0.0)).collect()
    };
    let (packets, means) = (column("packets"), column("latency_mean"));
    let mean = number(outcome, "/latency_mean");
    let squares: f64 = packets.iter().zip(&means).map(|(n, x)| (n * (x - mean)).powi(2)).sum();
    // t(0.95, 19) = 2.093.
    let plain = 2.093 * (squares / (20.0 * 19.0)).sqrt() / (packets.iter().sum::<f64>() / 20.0);
    (mean, outcome.summary()["latency_ci"].as_f64(), plain)
}

#[test]
fn intervals_of_short_runs_hold_or_are_not_given() {
    // This queue remembers its contents for hundreds of cycles at a load of 0.95, and for a few cycles at 0.5. Then:
    // the least and the largest number of runs in 100 that have an interval.
    let (n, runs) = (4.0, 100);
    for (load, cycles, least, most) in
        [(0.5, 1000, 80, 100), (0.8, 4000, 40, 100), (0.9, 4000, 0, 60), (0.95, 4000, 0, 20), (0.95, 100_000, 60, 100)]
    {
        let wait = (n - 1.0) / n * load / (2.0 * (1.0 - load));
        let (mut given, mut held, mut plain_held) = (0, 0, 0);
        let runs = if cycles > 10_000 { runs / 5 } else { runs };
        for seed in 0..runs {
            let mut scenario = switch(4, load, json!({ "allocator": "ideal" }), cycles);
            scenario["seed"] = json!(seed);
            let outcome = run(&scenario);
            let (mean, half, plain) = intervals(&outcome);
            let off = (mean - (histogram(&outcome)[0].0 as f64 + wait)).abs();
            given += u32::from(half.is_some());
            held += u32::from(half.is_some_and(|half| off <= half));
            plain_held += u32::from(off <= plain);
            assert!(half.is_some() != outcome.summary()["latency_ci_reason"].is_string());
            assert!(half.is_none() || outcome.summary()["steady"] == "yes");
        }
        let per_hundred = 100 / runs;
        assert!((least..=most).contains(&(given * per_hundred)), "load {load}: {given} of {runs} have an interval");
        // Nine of ten, less two standard deviations of as many draws.
        let expected = f64::from(given);
        let least = 0.9 * expected - 2.0 * (0.09 * expected).sqrt();
        assert!(f64::from(held) >= least, "load {load}: {held} of {given} hold");
        // Taken as independent, batches would give intervals that do not hold.
        assert!(load != 0.95 || cycles > 4000 || plain_held * per_hundred < 80, "{plain_held} of {runs}");
    }
}

#[test]
fn a_queue_that_fills_is_not_steady() {
    // From empty, a queue at a load of 0.99 takes some 10,000 cycles to its mean; at 1.1 of what an output carries it
    // has none.
    let steady = |load: f64, cycles: u32| {
        let mut scenario = switch(8, load, json!({ "allocator": "ideal" }), cycles);
        scenario["measure"]["warmup"] = json!(0);
        let summary = run(&scenario).summary();
        (summary["steady"].clone(), summary["latency_ci"].clone(), summary["steady_reason"].clone())
    };
    let (word, half, why) = steady(0.99, 3000);
    assert!(word != "yes" && half.is_null() && why.is_string(), "{word} {half} {why}");
    let (word, half, why) = steady(0.5, 10_000);
    assert!(word == "yes" && half.is_f64() && why.is_null(), "{word} {half} {why}");
    let full = json!({
        "topology": { "kind": "single", "endpoints": 8 },
        "traffic": { "load": 0.3, "pattern": { "kind": "hotspot", "targets": [0], "share": 1 } },
        "measure": { "warmup": 1000, "cycles": 4000 },
    });
    let summary = run(&full).summary();
    assert_eq!((&summary["saturated"], &summary["steady"]), (&json!(true), &json!("no")));
    assert!(summary["latency_ci"].is_null() && summary["accepted_ci"].is_f64(), "{summary:?}");
}
