//! Spraying: the ways that packets take, counted on the links.

use crate::{column, common, completion};
use phit_engine::result::Outcome;
use phit_engine::run::{Options, verify};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Two levels: 4 routers of 4 endpoints, and 4 routers above.
fn leaves() -> Value {
    json!({ "kind": "clos", "down": [4, 4], "up": [4] })
}

/// Three levels: 16 endpoints, 2 ways up at each of the first two levels.
fn levels() -> Value {
    json!({ "kind": "clos", "down": [2, 2, 4], "up": [2, 2] })
}

/// A message of 64 packets of a phit from each sender to its receiver.
fn scenario(topology: Value, routing: Value, pairs: &[(u32, u32)], packets: u32) -> Value {
    let ranks = pairs.iter().map(|pair| pair.0.max(pair.1) + 1).max().unwrap();
    let mut goal = format!("num_ranks {ranks}\n");
    for rank in 0..ranks {
        goal += &format!("rank {rank} {{\n");
        for (from, to) in pairs {
            if *from == rank {
                goal += &format!("send {packets}b to {to}\n");
            }
            if *to == rank {
                goal += &format!("recv {packets}b from {from}\n");
            }
        }
        goal += "}\n";
    }
    json!({
        "units": { "phit": "1 B" },
        "topology": topology,
        "router": { "links": { "default": { "vcs": 1, "latency": 2, "buffer": 32 } } },
        "routing": routing,
        "workload": { "kind": "program", "goal": goal, "packet_size": 1 },
        "measure": { "links": true },
    })
}

/// Phits that each link of a class has carried, by router and port; links without any left out.
fn carried(outcome: &Outcome, class: &str) -> BTreeMap<(u64, u64), u64> {
    let (tables, cycles) = (outcome.tables(), completion(outcome) as f64);
    let of = |name| column(&tables, "links", name);
    let links = of("router").iter().zip(of("port")).zip(of("class").iter().zip(of("utilisation")));
    let links = links.filter(|(_, (of, _))| *of == class);
    let counted = links.map(|((router, port), (_, used))| {
        let phits = used.as_f64().unwrap() * cycles;
        ((router.as_u64().unwrap(), port.as_u64().unwrap()), phits.round() as u64)
    });
    counted.filter(|(_, phits)| *phits > 0).collect()
}

/// Phits on the links that lead up from router `router`.
fn up(outcome: &Outcome, router: u64, class: &str, down: u64) -> Vec<u64> {
    let links = carried(outcome, class);
    links.iter().filter(|((from, port), _)| *from == router && *port >= down).map(|(_, phits)| *phits).collect()
}

fn spray(rule: &str) -> Value {
    json!({ "kind": "spray", "rule": rule })
}

/// One flow of 64 packets over 4 ways: 16 packets each, exactly. Over two levels of 2 choices: 32 each of the first,
/// and 16 each of the second.
#[test]
fn ways_taken_in_turn_carry_equal_parts() {
    for turn in ["router", "source"] {
        let routing = json!({ "kind": "spray", "rule": "round_robin", "turn": turn });
        let outcome = common::run(&scenario(leaves(), routing.clone(), &[(0, 12)], 64));
        assert_eq!(up(&outcome, 0, "level1", 4), [16; 4], "{turn}");
        let outcome = common::run(&scenario(levels(), routing, &[(0, 12)], 64));
        assert_eq!(up(&outcome, 0, "level1", 2), [32; 2], "{turn}");
        let second: Vec<u64> = carried(&outcome, "level2")
            .into_iter()
            .filter(|((_, port), _)| *port >= 2)
            .map(|(_, phits)| phits)
            .collect();
        assert_eq!(second[..4], [16; 4], "{turn}");
    }
}

/// Flows of 64 packets from 4 endpoints of a router: routers take turns over all of them, so each link carries a
/// quarter of 256 packets. Sources take turns by themselves, and each gives each link a quarter, too.
#[test]
fn turns_of_routers_and_of_sources_divide_all_flows() {
    let pairs: Vec<(u32, u32)> = (0..4).map(|endpoint| (endpoint, endpoint + 12)).collect();
    for turn in ["router", "source"] {
        let routing = json!({ "kind": "spray", "rule": "round_robin", "turn": turn });
        let outcome = common::run(&scenario(leaves(), routing, &pairs, 64));
        assert_eq!(up(&outcome, 0, "level1", 4), [64; 4], "{turn}");
    }
}

/// A flow takes one way with `flow`, at most as many as labels with `entropy`, and with many labels all of them. With
/// n labels and packets in turn, a way carries a multiple of 64 / n packets.
#[test]
fn a_flow_has_a_way_for_each_of_its_labels() {
    let ways = |routing: Value, seed: u64| {
        let mut value = scenario(leaves(), routing, &[(0, 12)], 64);
        value["seed"] = json!(seed);
        up(&common::run(&value), 0, "level1", 4)
    };
    let mut used = [0; 5];
    for seed in 0..24 {
        assert_eq!(ways(spray("flow"), seed), [64]);
        let two = ways(json!({ "kind": "spray", "rule": "entropy", "labels": 2 }), seed);
        assert!(two == [64] || two == [32, 32], "{two:?}");
        let four = ways(json!({ "kind": "spray", "rule": "entropy", "labels": 4 }), seed);
        assert!(four.iter().all(|phits| phits % 16 == 0), "{four:?}");
        used[four.len()] += 1;
        assert_eq!(ways(json!({ "kind": "spray", "rule": "entropy" }), seed).len(), 4);
    }
    // Four labels hashed to four ways: all different with probability 4! / 4^4 = 0.094, all equal 0.016.
    assert!(used[2] + used[3] > 16 && used[4] <= 8, "{used:?}");
}

/// Over seeds, the way of a flow is each of the four in a quarter of the runs: 200 runs, 50 each, with a deviation of
/// sqrt(200 / 4 * 3 / 4) = 6.1.
#[test]
fn another_seed_hashes_flows_otherwise() {
    let mut seen = BTreeMap::new();
    for seed in 0..200 {
        let mut value = scenario(leaves(), spray("flow"), &[(0, 12)], 1);
        value["seed"] = json!(seed);
        let links = carried(&common::run(&value), "level1");
        let port = links.keys().find(|(router, _)| *router == 0).unwrap().1;
        *seen.entry(port).or_insert(0i32) += 1;
    }
    assert_eq!(seen.len(), 4);
    assert!(seen.values().all(|runs| (runs - 50).abs() <= 25), "{seen:?}");
}

/// A flow changes its way after a pause and not before: packets start a cycle apart, or with a host's gap, 10 cycles.
#[test]
fn a_flow_changes_its_way_after_a_pause() {
    let sends = |count: u32, pause: u32| {
        let (mut sender, mut receiver) = (String::new(), String::new());
        for i in 0..count {
            sender += &format!("s{i}: send 1b to 12\n");
            receiver += "recv 1b from 0\n";
            if i > 0 {
                sender += &format!("c{i}: calc {pause}\nc{i} requires s{}\ns{i} requires c{i}\n", i - 1);
            }
        }
        let idle: String = (1..12).map(|rank| format!("rank {rank} {{\n}}\n")).collect();
        format!("num_ranks 13\nrank 0 {{\n{sender}}}\n{idle}rank 12 {{\n{receiver}}}\n")
    };
    for rule in
        [json!({ "rule": "random" }), json!({ "rule": "entropy" }), json!({ "rule": "round_robin", "turn": "source" })]
    {
        let ways = |flowlet: u32, pause: u32| {
            let routing = common::with(json!({ "kind": "spray", "flowlet": flowlet }), rule.clone());
            let mut value = scenario(leaves(), routing, &[(0, 12)], 1);
            value["units"]["cycle"] = json!("1 ns");
            value["workload"]["goal"] = json!(sends(40, pause));
            up(&common::run(&value), 0, "level1", 4).len()
        };
        // Packets start `pause` cycles apart.
        assert_eq!([ways(21, 20), ways(2, 1)], [1, 1], "{rule}");
        assert_eq!([ways(20, 20), ways(1, 1)], [4, 4], "{rule}");
    }
}

/// Two shortest ways from corner to corner of a HyperX square, one over each dimension: half of the packets each, and
/// with dimension order all over one.
#[test]
fn all_shortest_ways_are_equal() {
    let square = json!({ "kind": "hyperx", "dims": [3, 3] });
    let run = |routing: Value| {
        let mut value = scenario(square.clone(), routing, &[(0, 8)], 64);
        value["router"]["links"]["default"]["vcs"] = json!(2);
        let outcome = common::run(&value);
        let first = ["dim0", "dim1"].map(|class| carried(&outcome, class));
        first
            .map(|links| links.into_iter().filter(|((router, _), _)| *router == 0).map(|(_, phits)| phits).sum::<u64>())
    };
    assert_eq!(run(spray("random")), [64, 0]);
    for channels in ["hops", "any"] {
        let shortest = json!({ "kind": "spray", "rule": "round_robin", "ways": "shortest", "channels": channels });
        assert_eq!(run(shortest), [32, 32]);
    }
}

/// Four flows of 256 packets at full rate, out of a router with four links up and into another. With a way for each
/// flow, the fullest link carries all packets of its flows one after another. The shortest queue leaves none waiting.
#[test]
fn the_shortest_queue_spreads_what_hashes_leave_uneven() {
    let pairs: Vec<(u32, u32)> = (0..4).map(|endpoint| (endpoint, endpoint + 12)).collect();
    let time = |rule: &str, seed: u64| {
        let mut value = scenario(leaves(), spray(rule), &pairs, 256);
        value["seed"] = json!(seed);
        // Fast routers, in which packets hardly wait behind packets to other endpoints.
        value["router"]["speedup"] = json!(4);
        value["router"]["output_buffer"] = json!(64);
        value["router"]["links"]["default"]["buffer"] = json!(128);
        let outcome = common::run(&value);
        (completion(&outcome), up(&outcome, 0, "level1", 4))
    };
    // A packet crosses three routers and four links in fewer cycles.
    const LATENCY: u64 = 40;
    let mut uneven = 0;
    for seed in 0..6 {
        let (taken, carried) = time("flow", seed);
        let fullest = *carried.iter().max().unwrap();
        assert!((fullest..fullest + LATENCY).contains(&taken), "{taken} {carried:?}");
        uneven += u32::from(fullest > 256);
        let (shortest, carried) = time("least_queued", seed);
        assert!((256..256 + LATENCY).contains(&shortest), "{shortest}");
        assert!(carried.iter().all(|phits| phits.abs_diff(256) < 16), "{carried:?}");
        assert!(shortest < time("random", seed).0);
    }
    assert!(uneven >= 4, "one seed in eleven gives every flow a link of its own: {uneven}");
}

#[test]
fn spraying_is_proved_and_runs_equally_in_parts() {
    let graph = json!({
        "kind": "xgft", "children": [3, 3], "parents": [1, 2],
    });
    let square = json!({ "kind": "hyperx", "dims": [3, 3] });
    for (topology, routing, proved) in [
        (leaves(), spray("random"), true),
        (leaves(), spray("least_queued"), true),
        (levels(), spray("round_robin"), true),
        (levels(), json!({ "kind": "spray", "rule": "entropy", "labels": 8, "flowlet": 3 }), true),
        (graph.clone(), spray("flow"), true),
        (graph.clone(), json!({ "kind": "spray", "ways": "shortest", "channels": "any" }), true),
        (square.clone(), json!({ "kind": "spray", "ways": "shortest", "rule": "least_queued" }), true),
        (square, json!({ "kind": "spray", "ways": "shortest", "channels": "any" }), false),
    ] {
        let mut value = scenario(topology, routing, &[(0, 7), (1, 8), (5, 2), (3, 6)], 40);
        value["router"]["links"]["default"]["vcs"] = json!(4);
        let report = verify(&common::scenario(&value)).unwrap();
        assert_eq!(report["proved"], proved, "{value}: {report}");
        let whole = common::run_with(&value, Options { threads: 1, partitions: Some(1) });
        for (threads, partitions) in [(1, 3), (2, 4)] {
            let parts = common::run_with(&value, Options { threads, partitions: Some(partitions) });
            assert_eq!(parts.collector().counters, whole.collector().counters, "{value}");
        }
        value["router"]["redecision"] = json!("every_cycle");
        let again = common::run(&value);
        assert_eq!(again.collector().counters, whole.collector().counters, "{value}: every cycle");
    }
}

#[test]
fn bad_spraying_is_refused_by_key() {
    for (topology, routing, expected) in [
        (leaves(), json!({ "kind": "spray", "labels": 4 }), "routing.labels = 4: expected `rule = \"entropy\"`"),
        (leaves(), json!({ "kind": "spray", "rule": "entropy", "labels": 0 }), "routing.labels = 0: expected"),
        (leaves(), json!({ "kind": "spray", "turn": "source" }), "routing.turn = \"source\": expected `rule"),
        (leaves(), json!({ "kind": "spray", "rule": "flow", "flowlet": 9 }), "routing.flowlet = 9: expected no"),
        (
            leaves(),
            json!({ "kind": "spray", "rule": "round_robin", "flowlet": 9 }),
            "routing.flowlet = 9: expected `turn",
        ),
        (
            leaves(),
            json!({ "kind": "spray", "rule": "least_queued", "flowlet": 9 }),
            "routing.flowlet = 9: expected a rule",
        ),
        (leaves(), json!({ "kind": "spray", "channels": "any" }), "routing.channels = \"any\": expected `ways"),
        (leaves(), json!({ "kind": "spray", "ways": "shortest" }), "routing.ways = \"shortest\": expected \"minimal\""),
        (
            json!({ "kind": "multistage", "arity": 2, "stages": 4 }),
            json!({ "kind": "spray", "ways": "shortest" }),
            "both ways",
        ),
    ] {
        let value = scenario(topology, routing, &[(0, 1)], 1);
        let error = phit_engine::scenario::Scenario::from_value(&value)
            .and_then(|scenario| phit_engine::run::Simulation::new(&scenario, Options::default()).map(drop))
            .unwrap_err()
            .to_string();
        assert!(error.contains(expected), "{error}\nshould contain\n{expected}");
    }
}

/// The fluid network divides flows among equal ways; it refuses rules by which a flow keeps a way.
#[test]
fn the_fluid_network_refuses_rules_that_keep_ways() {
    for (routing, refused) in [
        (spray("random"), false),
        (spray("least_queued"), false),
        (spray("flow"), true),
        (json!({ "kind": "spray", "rule": "entropy" }), true),
        (json!({ "kind": "spray", "flowlet": 5 }), true),
    ] {
        let mut value = scenario(leaves(), routing.clone(), &[(0, 12)], 64);
        value["router"] = json!({ "kind": "fluid" });
        value["measure"] = json!({});
        let error = phit_engine::run::Simulation::new(&common::scenario(&value), Options::default()).err();
        let said = error.map(|error| error.to_string()).unwrap_or_default();
        assert_eq!(said.contains("routing.rule: the fluid network divides flows evenly"), refused, "{routing}: {said}");
    }
}

/// Two ways from router 0 to router 3: over router 1, or over router 2 with links that take longer.
fn two_ways(slower: u32, packets: u32) -> Value {
    let topology = json!({
        "kind": "graph", "routers": 4, "endpoints": [1, 0, 0, 1], "classes": ["short", "long"],
        "links": [[0, 1, 0], [1, 3, 0], [0, 2, 1], [2, 3, 1]],
    });
    let routing = json!({ "kind": "spray", "rule": "round_robin", "turn": "source" });
    let mut value = scenario(topology, routing, &[(0, 1)], packets);
    value["router"]["links"] = json!({
        "default": { "vcs": 2, "latency": 2, "buffer": 4096 }, "long": { "latency": 2 + slower },
    });
    value["measure"] = json!({ "order": true, "messages": true });
    value
}

fn quantity(outcome: &Outcome, name: &str) -> f64 {
    outcome.summary()[name].as_f64().unwrap_or_else(|| panic!("{name}: {:?}", outcome.summary()[name]))
}

/// Packets leave a cycle apart and take the two ways in turn. The long way takes D = 2 s cycles more: s for each of its
/// links. A packet of the short way arrives D - 1 cycles before the packet of the long way that left a cycle
/// earlier. D is even, so packets of the two ways arrive in different cycles.
///
/// D - 1 cycles pass between the arrival of the first packet after a late one and the late packet itself, with a packet
/// in each. So late packets have an extent of D - 1: D / 2 packets of the short way, and D / 2 - 1 late ones. The first
/// late packets have fewer late ones before them, and the last ones fewer packets after them.
#[test]
fn two_ways_of_different_length_have_the_extents_of_arithmetic() {
    for slower in [1, 2, 5, 8] {
        let (late, apart) = (100u64, 2 * u64::from(slower));
        let outcome = common::run(&two_ways(slower, 2 * late as u32));
        let half = apart / 2;
        // The long way has the first packet, the third and so on, or the second, the fourth and so on. In the latter
        // case nothing is sent after the last packet, so it is in order.
        let first_is_late = quantity(&outcome, "out_of_order") as u64 == late;
        let overtaken = if first_is_late { late } else { late - 1 };
        assert_eq!(quantity(&outcome, "out_of_order") as u64, overtaken, "{slower}");
        assert_eq!(quantity(&outcome, "out_of_order_share"), overtaken as f64 / 200.0);
        let extent = |k: u64| {
            // Packets of the short way that left after it and arrived before, of those that there are.
            let after = half.min(overtaken - k);
            let before = (half - 1).min(k);
            after + before
        };
        let extents: Vec<u64> = (0..overtaken).map(extent).collect();
        assert_eq!(quantity(&outcome, "order_extent_max") as u64, *extents.iter().max().unwrap(), "{slower}");
        let sum: u64 = extents.iter().sum();
        assert_eq!(quantity(&outcome, "order_extent_mean"), sum as f64 / overtaken as f64, "{slower}");
        let tables = outcome.tables();
        let rows = column(&tables, "order_extents", "extent").iter().zip(column(&tables, "order_extents", "packets"));
        let counted: BTreeMap<u64, u64> = rows.map(|(e, n)| (e.as_u64().unwrap(), n.as_u64().unwrap())).collect();
        let mut expected = BTreeMap::new();
        extents.iter().for_each(|extent| *expected.entry(*extent).or_insert(0) += 1);
        assert_eq!(counted, expected, "{slower}");
        let pair = ["source", "destination", "packets", "out_of_order", "extent_max"]
            .map(|name| column(&tables, "order", name)[0].as_u64().unwrap());
        assert_eq!(pair, [0, 1, 200, overtaken, *extents.iter().max().unwrap()]);
        assert_eq!(column(&tables, "messages", "out_of_order"), [json!(overtaken)]);
    }
}

/// With one way nothing is out of order, and the order of packets in results does not depend on partitions.
#[test]
fn order_is_kept_on_one_way_and_is_the_same_in_parts() {
    let mut value = two_ways(4, 100);
    value["routing"]["rule"] = json!("flow");
    value["routing"].as_object_mut().unwrap().remove("turn");
    let outcome = common::run(&value);
    assert_eq!(quantity(&outcome, "out_of_order"), 0.0);
    assert_eq!(outcome.summary()["order_extent_max"], Value::Null);
    let value = two_ways(4, 100);
    let whole = common::run_with(&value, Options { threads: 1, partitions: Some(1) });
    for partitions in [2, 4] {
        let parts = common::run_with(&value, Options { threads: 2, partitions: Some(partitions) });
        assert_eq!(parts.collector().counters, whole.collector().counters);
        assert_eq!(parts.tables(), whole.tables());
    }
}

/// Receivers that deliver in order.
fn in_order(mut value: Value, reorder: Value) -> Value {
    value["workload"]["reorder"] = reorder;
    value
}

/// Each packet of the short way waits for the packet of the long way that left a cycle before it, D - 1 cycles. One
/// arrives in every two cycles, so D / 2 packets wait at once. With that much memory nothing is refused.
#[test]
fn memory_and_waits_are_those_of_two_ways() {
    for slower in [1, 3, 8] {
        let apart = 2 * u64::from(slower);
        for memory in [
            json!({}),
            json!({ "memory": apart / 2, "timeout": 30 }),
            json!({ "memory": apart / 2, "sharing": "source", "timeout": 30 }),
        ] {
            let outcome = common::run(&in_order(two_ways(slower, 200), memory.clone()));
            let waited = quantity(&outcome, "packets_waited");
            assert!(waited == 100.0 || waited == 99.0, "{waited}");
            assert_eq!(quantity(&outcome, "reorder_wait_mean"), apart as f64 - 1.0, "{memory}");
            assert_eq!(quantity(&outcome, "reorder_memory_max") as u64, apart / 2, "{memory}");
            assert_eq!(quantity(&outcome, "packets_refused"), 0.0);
            // A phit for each packet, and two endpoints.
            let mean = waited * (apart as f64 - 1.0) / (2.0 * completion(&outcome) as f64);
            assert!((quantity(&outcome, "reorder_memory_mean") - mean).abs() < 1e-12);
            // A single message ends with its last packet, whatever the order of the others.
            assert_eq!(completion(&outcome), completion(&common::run(&two_ways(slower, 200))));
            assert_eq!(quantity(&outcome, "order_delay_max"), 0.0);
        }
        // One phit less: packets are refused, sent again, and arrive in the end.
        let less = json!({ "memory": apart / 2 - 1, "timeout": 30 });
        let outcome = common::run(&in_order(two_ways(slower, 200), less));
        assert!(quantity(&outcome, "packets_refused") > 0.0);
        assert_eq!(quantity(&outcome, "packets_refused"), quantity(&outcome, "packets_retransmitted"));
        assert_eq!(quantity(&outcome, "packets_lost"), 0.0);
        assert_eq!(quantity(&outcome, "packets"), 200.0);
        assert!((quantity(&outcome, "reorder_memory_max") as u64) < apart / 2);
    }
}

/// Two messages of a packet each: the first takes the long way, the second the short one. The second is there D - 1
/// cycles before the first, and is delivered with it.
#[test]
fn a_message_waits_for_earlier_messages_of_its_sender() {
    let mut value = two_ways(6, 1);
    value["workload"]["goal"] = json!(
        "num_ranks 2\nrank 0 {\na: send 1b to 1 tag 1\nb: send 1b to 1 tag 2\nb requires a\n}\n\
         rank 1 {\nrecv 1b from 0 tag 1\nrecv 1b from 0 tag 2\n}\n"
    );
    let mut seen = Vec::new();
    for seed in 0..8 {
        value["seed"] = json!(seed);
        let bytes = common::run(&value);
        let ordered = common::run(&in_order(value.clone(), json!({})));
        assert_eq!(completion(&ordered), completion(&bytes));
        let late = quantity(&bytes, "out_of_order");
        let expected = if late > 0.0 { 11.0 } else { 0.0 };
        assert_eq!(quantity(&ordered, "order_delay_max"), expected);
        assert_eq!(quantity(&ordered, "order_delay_mean"), expected / 2.0);
        seen.push(late);
    }
    assert!(seen.contains(&0.0) && seen.contains(&1.0), "{seen:?}");
}

/// All-to-all over sprayed ways, with receivers of every kind: all messages arrive, memory keeps its limit, and no
/// limited memory is faster than an unlimited one by more than chance. Parts of a network give the same bits.
#[test]
fn receivers_keep_their_limits_and_lose_nothing() {
    let run = |reorder: Option<Value>, partitions: usize| {
        let mut value = json!({
            "units": { "phit": "8 B" },
            "topology": leaves(),
            "router": { "links": { "default": { "vcs": 1, "latency": 3, "buffer": 64 } } },
            "routing": { "kind": "spray" },
            "workload": { "kind": "collective", "collective": "all_to_all", "bytes": 512, "packet_size": 4 },
            "measure": { "order": true },
        });
        if let Some(reorder) = reorder {
            value["workload"]["reorder"] = reorder;
        }
        common::run_with(&value, Options { threads: 1, partitions: Some(partitions) })
    };
    let bytes = run(None, 1);
    assert!(quantity(&bytes, "out_of_order") > 0.0);
    assert_eq!(bytes.summary()["packets_waited"], Value::Null);
    let unlimited = run(Some(json!({})), 1);
    let needed = quantity(&unlimited, "reorder_memory_max");
    assert!(needed > 8.0, "{needed}");
    assert_eq!(quantity(&unlimited, "packets"), quantity(&bytes, "packets"));
    for memory in [0, 4, 8, needed as u32] {
        for sharing in ["endpoint", "source"] {
            let reorder = json!({ "memory": memory, "sharing": sharing, "timeout": 40 });
            let limited = run(Some(reorder.clone()), 1);
            assert_eq!(quantity(&limited, "packets"), quantity(&bytes, "packets"), "{reorder}");
            assert_eq!(quantity(&limited, "packets_refused"), quantity(&limited, "packets_retransmitted"));
            assert_eq!(quantity(&limited, "packets_lost"), 0.0);
            if sharing == "endpoint" {
                assert!(quantity(&limited, "reorder_memory_max") <= f64::from(memory), "{reorder}");
            }
            let refused = quantity(&limited, "packets_refused");
            // Sources that each have this much need no more than all of them together.
            match sharing {
                "endpoint" => assert_eq!(refused > 0.0, f64::from(memory) < needed, "{reorder}: {refused}"),
                _ => assert!(refused == 0.0 || f64::from(memory) < needed, "{reorder}: {refused}"),
            }
            assert!(completion(&limited) >= completion(&unlimited), "{reorder}");
            let parts = run(Some(reorder.clone()), 3);
            assert_eq!(parts.collector().counters, limited.collector().counters, "{reorder}");
        }
    }
}

#[test]
fn bad_receivers_are_refused_by_key() {
    for (changes, expected) in [
        (json!({ "workload": { "reorder": { "memory": 4 } } }), "workload.reorder.timeout: say after how many cycles"),
        (json!({ "workload": { "reorder": { "timeout": 40 } } }), "workload.reorder.timeout = 40: nothing is refused"),
        (
            json!({ "workload": { "reorder": { "memory": 4, "timeout": 1 } } }),
            "workload.reorder.timeout = 1: expected at least",
        ),
        (json!({ "workload": { "reorder": { "memery": 4 } } }), "did you mean \"memory\""),
        (
            json!({ "workload": { "reorder": {} }, "router": { "kind": "ideal" } }),
            "router.kind = \"ideal\": receivers of this",
        ),
        (
            json!({
                "workload": { "reorder": { "memory": 4, "timeout": 40 } },
                "congestion": { "kind": "ecn" },
            }),
            "workload.reorder.memory = 4: expected none with `congestion`",
        ),
    ] {
        let mut value = common::with(two_ways(4, 10), changes);
        if value["router"]["kind"] == "ideal" {
            value["measure"] = json!({});
        }
        let error = phit_engine::scenario::Scenario::from_value(&value)
            .and_then(|scenario| phit_engine::run::Simulation::new(&scenario, Options::default()).map(drop))
            .unwrap_err()
            .to_string();
        assert!(error.contains(expected), "{error}\nshould contain\n{expected}");
    }
}
