//! The bubble family, in the packet-level node and in the input-queued router. No packet goes astray, and rings keep
//! their bubble. Deadlocks occur only where they must, and are detected.

use crate::common::{self, number, run, simulation, with};
use phit_engine::fabric::packet_node::Network;
use phit_engine::run::{self, Options, RunError, Simulation};
use phit_engine::scenario::Scenario;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// A small network of packet-level nodes with short queues, more loaded than it can carry.
fn node(dims: &[u32], routing: Value, pattern: &str) -> Value {
    json!({
        "topology": { "kind": "torus", "dims": dims },
        "router": {
            "node": { "answer": 1 },
            "links": {
                "default": { "latency": 7, "vcs": 3, "buffer": 16 },
                "endpoint": { "latency": 3, "bandwidth": 3, "buffer": 16 },
            },
        },
        "routing": routing,
        "traffic": {
            "pattern": pattern, "load": 0.9, "load_unit": "phits", "packet_size": 8, "message": { "packets": 12 },
        },
        "measure": { "warmup": 2000, "cycles": 20_000 },
    })
}

fn outflank(changes: Value) -> Value {
    with(json!({ "kind": "outflank", "eta": 0.5, "delta": 1 }), changes)
}

fn routings() -> Vec<Value> {
    let author =
        json!({ "mean": "second_leg", "midpoint": "folded", "collinear": "negative_side", "full_way": "worthless" });
    vec![
        json!({ "kind": "abr" }),
        json!({ "kind": "por" }),
        json!({ "kind": "goal" }),
        outflank(json!({})),
        outflank(with(author, json!({ "empty_queue": "every_way", "half_way": "plus" }))),
    ]
}

/// The scenario with credits instead of answers.
fn credited(value: Value) -> Value {
    with(value, json!({ "router": { "node": { "acceptance": "credits" } } }))
}

/// A saturated run that keeps moving, loses nothing and breaks no bubble; its network at the end.
fn keeps_moving(value: &Value) -> Simulation {
    let mut run = simulation(value, Options::default());
    let mut moved = 0;
    for step in 1..=80 {
        run.advance_to(100 * step);
        let network = run.kernel::<Network>().expect("a network of nodes");
        network.audit().unwrap_or_else(|wrong| panic!("{wrong}: {value}"));
        assert!(network.least_free_of_rings() > 0, "a ring without a bubble: {value}");
        if step % 10 == 0 {
            let now = network.collector().counters.flow.packets;
            assert!(now > moved, "nothing delivered in 1000 cycles: {value}");
            moved = now;
        }
    }
    run
}

#[test]
fn saturated_tori_of_every_dimension_keep_moving_and_lose_nothing() {
    // Packets that take more hops than their plan has panic in builds for tests.
    for dims in [&[4, 4][..], &[5, 3, 4], &[3, 2, 3, 2], &[2, 3, 2, 2, 2], &[2, 2, 2, 2, 2, 2]] {
        for routing in routings() {
            let value = node(dims, routing, "uniform");
            let run = keeps_moving(&value);
            assert!(run.kernel::<Network>().unwrap().refused().0 > 1000, "hardly saturated: {value}");
            keeps_moving(&credited(value));
        }
    }
}

#[test]
fn with_credits_every_packet_crosses_a_link_once() {
    for routing in routings() {
        let finite = json!({ "traffic": { "message": { "count": 20 } } });
        let value = with(node(&[4, 3, 3], routing, "uniform"), finite);
        let phits = |value: &Value| {
            let mut run = simulation(value, Options::default());
            run.advance_to(100_000);
            let network = run.kernel::<Network>().unwrap();
            assert_eq!(
                (network.packets_held(), network.collector().counters.flow.packets),
                (0, 36 * 20 * 12),
                "{value}"
            );
            // 8 phits of the packet there, 1 of what comes back.
            (network.link_phits(), 9 * network.collector().counters.work.packet_hops)
        };
        let (answers, least) = phits(&value);
        assert!(answers > least, "nothing was refused: {value}");
        let (credits, least) = phits(&credited(value));
        assert_eq!(credits, least);
    }
}

#[test]
fn below_saturation_answers_and_credits_are_the_same() {
    for routing in routings() {
        let value = with(
            node(&[4, 4, 3], routing, "uniform"),
            json!({
                "traffic": { "load": 0.3, "message": { "packets": 1 } },
                "router": { "links": { "default": { "buffer": 64 } } },
            }),
        );
        let (answers, credits) = (run(&value), run(&credited(value.clone())));
        for measure in ["/latency_mean", "/hops_mean", "/accepted_load"] {
            let (one, other) = (number(&answers, measure), number(&credits, measure));
            assert!((one / other - 1.0).abs() < 0.005, "{measure} {one} {other}: {value}");
        }
    }
}

/// Where the watchdog finds packets that wait for one another: virtual channels, outputs and routers, as it says it.
fn deadlock(value: &Value) -> Vec<String> {
    match run::run(&common::scenario(value), Options::default(), &mut |_, _| true) {
        Err(RunError::Deadlock(text)) => {
            assert!(text.starts_with("deadlock: "), "{text}");
            let (_, circle) = text.split_once("these queues wait for one another in a circle: ").expect(&text);
            circle.split("; ").map(|place| place.split(" (").next().unwrap_or_default().to_string()).collect()
        }
        Ok(outcome) => panic!("it ran: {:?}", outcome.accepted_load()),
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn an_escape_network_that_is_not_split_deadlocks_and_the_watchdog_says_where() {
    // Theorem 1, in the flesh: many packets by way of intermediate destinations, all bubbles in place.
    let few_slots = json!({
        "seed": 1,
        "router": { "links": { "default": { "latency": 1 }, "endpoint": { "latency": 1, "bandwidth": 8 } } },
        "traffic": { "load": 6.0 },
        "measure": { "warmup": 0, "cycles": 60_000 },
    });
    for dims in [&[3, 3][..], &[4, 4], &[3, 3, 3]] {
        let rule = |escape: &str| outflank(json!({ "eta": 0.0, "full_way": "worthless", "escape": escape }));
        let network = |escape: &str| with(node(dims, rule(escape), "uniform"), few_slots.clone());
        let circle = deadlock(&network("shared"));
        // Not a ring, which its bubble keeps free: a circle of rings of several dimensions.
        let escapes: Vec<&str> = circle.iter().filter_map(|place| place.strip_prefix("VC 1 of output ")).collect();
        let dimension = |place: &str| (place.split(' ').next().unwrap().parse::<usize>().unwrap() - 1) / 2;
        let dimensions: BTreeSet<usize> = escapes.iter().map(|place| dimension(place)).collect();
        assert!(dimensions.len() > 1, "{circle:?}");
        keeps_moving(&network("split"));
    }
}

#[test]
fn without_the_bubble_rule_packets_deadlock_and_the_watchdog_says_where() {
    // A ring in which all go the same way round.
    let answers = with(
        node(&[8], json!({ "kind": "abr", "bubble": 0, "half_way": "plus" }), "tornado"),
        json!({ "measure": { "cycles": 400_000 } }),
    );
    for deadlocking in [answers.clone(), credited(answers)] {
        let report = run::verify(&common::scenario(&deadlocking)).unwrap();
        assert_eq!(report["proved"], json!(false), "{report}");
        assert_eq!(report["cycle"].as_array().unwrap().len(), 8, "the channels of the ring");
        deadlock(&deadlocking);
        let sound = with(deadlocking, json!({ "routing": { "bubble": 1 }, "measure": { "cycles": 50_000 } }));
        assert_eq!(run::verify(&common::scenario(&sound)).unwrap()["proved"], json!(true));
        assert!(run(&sound).accepted_load() > 0.1);
    }
}

#[test]
fn an_escape_network_that_is_not_split_has_a_circle() {
    // Theorem 1.
    for dims in [&[4, 4][..], &[4, 4, 4]] {
        let shared = node(dims, outflank(json!({ "escape": "shared" })), "uniform");
        let report = run::verify(&common::scenario(&shared)).unwrap();
        assert_eq!(report["proved"], json!(false));
        let cycle = report["cycle"].as_array().unwrap();
        assert!(cycle.len() >= 2 && cycle.iter().all(|channel| channel["vc"] == 1), "{report}");
        let split = node(dims, outflank(json!({})), "uniform");
        assert_eq!(run::verify(&common::scenario(&split)).unwrap()["proved"], json!(true));
    }
    let too_few = with(
        node(&[4, 4], outflank(json!({})), "uniform"),
        json!({ "router": { "links": { "default": { "vcs": 2 } } } }),
    );
    assert!(
        run::prepare(&common::scenario(&too_few))
            .err()
            .expect("refused")
            .to_string()
            .contains("needs at least 3 virtual channels")
    );
}

#[test]
fn meshes_have_outflank_idns_only() {
    let mesh = json!({ "topology": { "kind": "mesh", "dims": [5, 4, 3] } });
    let refused = with(node(&[4], outflank(json!({})), "uniform"), mesh.clone());
    let error = run::prepare(&common::scenario(&refused)).err().expect("refused").to_string();
    assert_eq!(error, "routing.idns = \"both\": a mesh does not wrap around; expected \"outflank\"");
    let value = with(node(&[4], outflank(json!({ "idns": "outflank" })), "uniform"), mesh);
    assert_eq!(run::verify(&common::scenario(&value)).unwrap()["proved"], json!(true));
    let outcome = run(&value);
    assert!(number(&outcome, "/misrouted_locally") > 0.02);
    assert_eq!(number(&outcome, "/misrouted_globally"), 0.0);
}

#[test]
fn an_empty_network_takes_the_time_of_its_links() {
    // One packet of 8 phits: 8/3 -> 3 to the router and 3 on the way, 8 + 7 for each hop, 3 + 3 to the endpoint; it is
    // sent in the cycle after its generation.
    let value = with(
        node(&[8], json!({ "kind": "abr" }), "uniform"),
        json!({
            "traffic": { "pattern": { "kind": "shift", "offset": 2 },
                "load": 0.001, "message": { "packets": 1, "count": 1 },
                "process": { "kind": "periodic", "phase": "zero" } },
            "measure": { "warmup": 0, "cycles": 100, "count": "generated" },
        }),
    );
    // Two hops, in the direction in which no answers go.
    for value in [value.clone(), credited(value)] {
        assert_eq!(number(&run(&value), "/latency_mean"), f64::from(1 + 6 + 2 * 15 + 6));
    }
}

#[test]
fn the_input_queued_router_runs_the_family_under_every_switching_that_moves_whole_packets() {
    for switching in ["virtual_cut_through", "store_and_forward"] {
        for routing in routings() {
            let value = json!({
                "topology": { "kind": "torus", "dims": [4, 4, 3] },
                "router": { "switching": switching, "links": { "default": { "latency": 5, "vcs": 3, "buffer": 16 } } },
                "routing": routing,
                "traffic": { "load": 0.9, "packet_size": 8, "message": { "packets": 6 } },
                "measure": { "warmup": 500, "cycles": 500 },
            });
            let results = [1, 3].map(|partitions| {
                let options = Options { partitions: Some(partitions), threads: 1 };
                let mut run = simulation(&value, options);
                for tick in 1..=100 {
                    run.advance_to(5 * tick);
                    run.fabric().audit().unwrap_or_else(|wrong| panic!("{wrong}: {routing} {switching}"));
                }
                let outcome = run.run(&mut |_, _| true).unwrap_or_else(|error| panic!("{error}: {routing}"));
                assert!(outcome.accepted_load() > 0.2, "{routing} {switching}: {}", outcome.accepted_load());
                outcome.summary()
            });
            assert_eq!(results[0], results[1], "{routing} {switching}");
            let every_cycle = with(value.clone(), json!({ "router": { "redecision": "every_cycle" } }));
            assert_eq!(run(&every_cycle).summary(), results[0], "{routing} {switching}");
        }
    }
}

#[test]
fn an_escape_buffer_must_have_room_for_two_packets() {
    let value = with(
        node(&[4, 4], json!({ "kind": "abr" }), "uniform"),
        json!({ "router": { "links": { "default": { "buffer": 15 } } } }),
    );
    let error = run::prepare(&common::scenario(&value)).err().expect("refused").to_string();
    assert!(
        error.starts_with("router.links.default.buffer = 15: routing \"abr\" needs room for 2 packets of 8 phits"),
        "{error}"
    );
}

#[test]
fn what_the_family_cannot_do_is_refused() {
    let error = |routing: Value, changes: Value| {
        let torus = json!({
            "topology": { "kind": "torus", "dims": [4, 4] },
            "router": { "links": { "default": { "vcs": 3, "buffer": 64 } } },
            "routing": routing,
            "traffic": { "load": 0.1, "packet_size": 8 },
        });
        run::prepare(&common::scenario(&with(torus, changes))).err().expect("refused").to_string()
    };
    assert_eq!(
        error(outflank(json!({})), json!({ "router": { "links": { "dim1": { "buffer": 128 } } } })),
        "router.links.dim1.buffer = 128: routing \"outflank\" compares the queues of all directions: expected 64 \
         phits, as in class \"dim0\""
    );
    assert_eq!(
        error(json!({ "kind": "abr" }), json!({ "router": { "switching": "wormhole" } })),
        "router.switching = \"wormhole\": routing \"abr\" leaves room for whole packets: expected \
         \"virtual_cut_through\" or \"store_and_forward\""
    );
    for delta in [0, 5, 3_000_000_000_u32] {
        let message = error(outflank(json!({ "delta": delta })), json!({}));
        assert_eq!(message, format!("routing.delta = {delta}: expected 1 to 4 hops, the longest side"));
    }
}

#[test]
fn settings_that_the_node_does_not_read_are_refused() {
    let error = |changes: Value| {
        let value = with(node(&[4, 4], json!({ "kind": "abr" }), "uniform"), changes);
        let prepared = Scenario::from_value(&value).and_then(|scenario| run::prepare(&scenario));
        prepared.err().expect("refused").to_string()
    };
    let link =
        |class: &str, key: &str, value: Value| error(json!({ "router": { "links": { class: { key: value } } } }));
    let expectations = [
        (
            error(json!({ "router": { "speedup": 2 } })),
            "router.speedup = 2: has no effect with router.node; leave it out",
        ),
        (
            error(json!({ "routing": { "kind": "minimal" } })),
            "routing.kind = \"minimal\": router.node works with the bubble family: abr, por, goal, outflank",
        ),
        (
            error(json!({ "router": { "node": { "answer": 0 } } })),
            "router.node.answer = 0: expected a whole number of phits from 1 to 1000000",
        ),
        (
            error(json!({ "measure": { "probes": [{ "kind": "ports" }] } })),
            "measure.probes = \"ports\": probes look into the input-queued router: router.node has none; leave it out",
        ),
        (
            link("endpoint", "ejection_buffer", json!(64)),
            "router.links.endpoint.ejection_buffer = 64: has no effect with router.node, whose endpoints take whatever \
             comes; leave it out",
        ),
        (
            link("endpoint", "injection_bandwidth", json!("infinite")),
            "router.links.endpoint.injection_bandwidth = \"infinite\": router.node sends packets phit by phit: \
             expected a number of phits per cycle",
        ),
        (
            link("dim0", "credit_latency", json!(500)),
            "router.links.dim0.credit_latency = 500: has no effect with router.node, whose answers and credits take \
             the link's `latency`; leave it out",
        ),
        (
            link("endpoint", "vcs", json!(4)),
            "router.links.endpoint.vcs = 4: router.node has no injection queues: expected 1, or no such key",
        ),
        (
            link("default", "vcs", json!(4)),
            "router.links.default.vcs = 4: router.node has 3 queues at most for a link, an adaptive one and two for \
             escape: expected 3 or less",
        ),
        (
            link("dim1", "buffer", json!(32)),
            "router.links.dim1.buffer = 32: the queues of router.node are equal: expected room for 2 packets of 8 \
             phits, as in class \"dim0\"",
        ),
    ];
    for (said, expected) in expectations {
        assert_eq!(said, expected);
    }
    let same =
        json!({ "endpoint": { "vcs": 1, "ejection_buffer": "infinite" }, "dim1": { "buffer": 23, "latency": 9 } });
    let taken = with(node(&[4, 4], json!({ "kind": "abr" }), "uniform"), json!({ "router": { "links": same } }));
    assert!(run::prepare(&common::scenario(&taken)).is_ok());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// Rings keep a free slot, nothing is lost, and everything is delivered, whatever the network and the traffic.
    #[test]
    fn random_networks_deliver_everything(
        dims in prop::collection::vec(2u32..5, 1..4),
        slots in 2u32..9,
        routing in 0usize..5,
        packets in 1u32..20,
        latency in 1u32..30,
        pattern in 0usize..3,
        seed in 0u64..1000,
        room in 0usize..2,
        acceptance in 0usize..2,
    ) {
        let value = with(
            node(&dims, routings()[routing].clone(), ["uniform", "neighbor", "shift"][pattern]),
            json!({
                "seed": seed,
                "router": {
                    "node": {
                        "injection_room": (["bubble", "more_than_half"][room]),
                        "acceptance": (["answers", "credits"][acceptance]),
                    },
                    "links": { "default": { "buffer": 8 * slots, "latency": latency } },
                },
                "traffic": { "message": { "packets": packets, "count": 4 } },
                "measure": { "warmup": 0, "cycles": 4000, "count": "generated", "max_drain": 1_000_000 },
            }),
        );
        let mut run: Simulation = simulation(&value, Options::default());
        for step in 1..=30 {
            run.advance_to(100 * step);
            let network = run.kernel::<Network>().unwrap();
            prop_assert_eq!(network.audit(), Ok(()));
            prop_assert!(network.least_free_of_rings() > 0);
        }
        let endpoints: u64 = dims.iter().map(|&side| u64::from(side)).product();
        let again = common::run(&value);
        prop_assert_eq!(number(&again, "/packets") as u64, endpoints * 4 * u64::from(packets));
        prop_assert!(again.summary()["converged"] == json!(true));
        // Whatever the threads.
        let threads = common::run_with(&value, Options { threads: 2, partitions: Some(2) });
        prop_assert_eq!(threads.summary(), again.summary());
    }
}
