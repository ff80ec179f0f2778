//! Traffic through its public interface: rates, distributions, changes and laziness, over whole populations of
//! endpoints.

use phit_engine::topology::{Clos, Topology, TopologyParams};
use phit_engine::traffic::{Generated, PatternKind, Traffic, TrafficParams};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeMap;

#[path = "../../src/traffic/patterns/toy.rs"]
mod toy;
use toy::Toy;

fn traffic(value: Value, topology: &dyn Topology, seed: u64) -> Traffic {
    let params = TrafficParams::from_value("traffic", &value).unwrap();
    Traffic::build(&params, topology, f64::INFINITY, None, seed).unwrap()
}

/// All packets of `endpoint` generated before cycle `end`.
fn packets(traffic: &Traffic, endpoint: u32, seed: u64, end: u32) -> Vec<Generated> {
    let mut source = traffic.source(endpoint, seed);
    std::iter::from_fn(|| traffic.next(endpoint, &mut source)).take_while(|p| p.cycle < end).collect()
}

/// Phits per endpoint and cycle in `from..to`.
fn load(traffic: &Traffic, endpoints: u32, seed: u64, from: u32, to: u32) -> f64 {
    let phits: u64 = (0..endpoints)
        .flat_map(|e| packets(traffic, e, seed, to))
        .filter(|p| p.cycle >= from)
        .map(|p| u64::from(p.size))
        .sum();
    phits as f64 / f64::from(endpoints) / f64::from(to - from)
}

#[test]
fn every_process_generates_its_load() {
    let toy = Toy::new(50, 2, 1);
    let processes = [json!("bernoulli"), json!({ "kind": "on_off", "burst": 30 }), json!("periodic")];
    let sizes = [json!(1), json!(8), json!({ "kind": "choice", "sizes": [1, 5] })];
    for process in &processes {
        for size in &sizes {
            for wanted in [0.0, 0.05, 0.5, 0.95] {
                let table = json!({ "load": wanted, "process": process, "packet_size": size });
                let measured = load(&traffic(table, &toy, 1), 100, 1, 0, 20_000);
                // 2 million endpoint-cycles. Bernoulli packets of 8 phits: standard deviation at most
                // 8 * sqrt(2e6 / 16) / 2e6 = 0.0014; bursts of 30 cycles: at most sqrt(2 * 30 / 2e6) / 2 = 0.0027.
                assert!((measured - wanted).abs() < 0.01, "{process} {size} {wanted}: {measured}");
            }
        }
    }
    let full = traffic(json!({ "load": 1 }), &toy, 1);
    assert!(packets(&full, 0, 1, 1000).into_iter().map(|p| p.cycle).eq(0..1000), "a packet in every cycle");
}

#[test]
fn bernoulli_cycles_are_independent_and_equally_likely() {
    let toy = Toy::new(10_000, 2, 1);
    let traffic = traffic(json!({ "load": 0.25 }), &toy, 1);
    let (mut per_cycle, mut pairs) = ([0u32; 8], 0u32);
    for e in 0..20_000 {
        let cycles: Vec<u32> = packets(&traffic, e, 5, 8).iter().map(|p| p.cycle).collect();
        cycles.iter().for_each(|&c| per_cycle[c as usize] += 1);
        pairs += u32::from(cycles.contains(&3) && cycles.contains(&4));
    }
    // Standard deviations 61 and 34.
    assert!(per_cycle.iter().all(|&c| (c as i32 - 5000).abs() < 245), "{per_cycle:?}");
    assert!((pairs as i32 - 1250).abs() < 140, "{pairs}");
}

#[test]
fn changes_act_in_their_cycle() {
    let toy = Toy::new(36, 2, 4);
    let group = |e: u32| e / 8;
    for process in [json!("bernoulli"), json!("periodic"), json!({ "kind": "on_off", "burst": 5, "peak": 1 })] {
        let table = json!({
            "load": 0.0, "pattern": { "kind": "adversarial" }, "process": process,
            "changes": [
                { "cycle": 100, "load": 1.0 },
                { "cycle": 200, "pattern": { "kind": "adversarial", "offset": 3 } },
                { "cycle": 300, "load": 0.0 },
            ],
        });
        let traffic = traffic(table, &toy, 1);
        for e in 0..72 {
            let packets = packets(&traffic, e, 1, 10_000);
            assert!(packets.iter().map(|p| p.cycle).eq(100..300), "at full load a packet in every cycle");
            for p in packets {
                let offset = if p.cycle < 200 { 1 } else { 3 };
                assert_eq!(group(p.destination), (group(e) + offset) % 9, "{p:?}");
            }
        }
    }
}

#[test]
fn the_load_is_right_on_both_sides_of_a_change() {
    let toy = Toy::new(10_000, 2, 1);
    for process in [json!("bernoulli"), json!("periodic"), json!({ "kind": "on_off", "burst": 40 })] {
        let table = json!({ "load": 0.2, "process": process, "changes": [{ "cycle": 50, "load": 0.6 }] });
        let traffic = traffic(table, &toy, 1);
        let mut counts = [0u32; 100];
        for e in 0..20_000 {
            packets(&traffic, e, 1, 100).iter().for_each(|p| counts[p.cycle as usize] += 1);
        }
        for (cycle, &count) in counts.iter().enumerate() {
            let expected = 20_000.0 * traffic.expected_load(cycle as u32);
            // Standard deviation at most 70.
            assert!((f64::from(count) - expected).abs() < 300.0, "{process} {cycle}: {count}");
        }
    }
}

#[test]
fn a_change_of_pattern_alone_keeps_the_times() {
    let toy = Toy::new(16, 1, 1);
    for process in [json!("bernoulli"), json!("periodic"), json!({ "kind": "on_off", "burst": 5 })] {
        let plain = json!({ "load": 0.3, "process": process, "pattern": "shift" });
        let mut changed = plain.clone();
        changed["changes"] = json!([{ "cycle": 500, "pattern": "bit_reverse" }]);
        let times = |t: Value| packets(&traffic(t, &toy, 1), 3, 1, 1000).iter().map(|p| p.cycle).collect::<Vec<_>>();
        assert_eq!(times(plain), times(changed));
    }
}

#[test]
fn sources_and_seeds_differ_and_repeat() {
    let toy = Toy::new(16, 1, 1);
    let traffic = traffic(json!({ "load": 0.3 }), &toy, 1);
    let reference = packets(&traffic, 3, 1, 1000);
    assert_eq!(packets(&traffic, 3, 1, 1000), reference);
    assert_ne!(packets(&traffic, 4, 1, 1000), reference);
    assert_ne!(packets(&traffic, 3, 2, 1000), reference);
}

#[test]
fn a_million_sources_fit() {
    assert!(size_of::<phit_engine::traffic::Source>() <= 48);
}

#[test]
fn every_registered_pattern_generates_packets_somewhere() {
    let toy = Toy::grid(&[4, 4], 4);
    let clos = Clos { down: vec![8, 8], up: vec![8], faults: None }.build().unwrap();
    // A function has to be compiled first: `protocol/functions.rs` has patterns of that kind.
    for &kind in PatternKind::KINDS.iter().filter(|&&kind| kind != "python_pattern") {
        let table = match kind {
            "hotspot" => json!({ "kind": kind, "targets": [3], "share": 0.1 }),
            "mix" => json!({ "kind": kind, "parts": [{ "weight": 1, "pattern": "uniform" }] }),
            "by_endpoint" => {
                json!({ "kind": kind, "parts": [{ "endpoints": [2], "pattern": "shift" }], "background": "uniform" })
            }
            _ => json!({ "kind": kind }),
        };
        let topology: &dyn Topology = if kind == "worst_case_uniform" { &*clos } else { &toy };
        let traffic = traffic(json!({ "load": 0.5, "pattern": table }), topology, 1);
        for e in 0..64 {
            let packets = packets(&traffic, e, 1, 100);
            assert!(!packets.is_empty() && packets.iter().all(|p| p.destination < 64), "{kind}");
        }
    }
}

/// Any pattern that is a permutation of 64 endpoints, on any of three shapes.
fn permutations() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(json!("bit_complement")),
        Just(json!("bit_reverse")),
        Just(json!("transpose")),
        Just(json!("shuffle")),
        Just(json!("tornado")),
        any::<u64>().prop_map(|seed| json!({ "kind": "permutation", "seed": seed })),
        any::<u64>().prop_map(|seed| json!({ "kind": "permutation", "seed": seed, "fixed_points": true })),
        (1i64..64).prop_map(|offset| json!({ "kind": "shift", "offset": offset })),
        (-63i64..0).prop_map(|offset| json!({ "kind": "shift", "offset": offset })),
    ]
}

fn shapes() -> impl Strategy<Value = Toy> {
    prop_oneof![
        Just(Toy::new(1, 64, 1)),
        Just(Toy::new(16, 4, 4)),
        Just(Toy::new(16, 4, 4).with_bare_routers(8)),
        Just(Toy::grid(&[8, 4], 2)),
        Just(Toy::grid(&[4, 4, 4], 1))
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn permutations_are_bijective(pattern in permutations(), toy in shapes(), seed: u64) {
        let all_move = pattern["kind"] == "permutation" && pattern["fixed_points"].is_null();
        let deranged = pattern["kind"] == "shift" || all_move;
        let traffic = traffic(json!({ "load": 1, "pattern": pattern }), &toy, seed);
        let mut received = [0; 64];
        for e in 0..64 {
            let packets = packets(&traffic, e, seed, 5);
            prop_assert!(packets.iter().all(|p| p.destination == packets[0].destination));
            prop_assert!(!deranged || packets[0].destination != e);
            received[packets[0].destination as usize] += 1;
        }
        prop_assert_eq!(received, [1; 64]);
    }

    #[test]
    fn sequences_do_not_depend_on_interleaving(order in prop::collection::vec(0u32..8, 0..400), seed: u64) {
        let table = json!({
            "load": 0.4, "process": { "kind": "on_off", "burst": 10 },
            "packet_size": { "kind": "uniform", "min": 1, "max": 3 },
            "changes": [{ "cycle": 60, "pattern": "bit_reverse", "load": 0.2 }],
        });
        let traffic = traffic(table, &Toy::new(8, 1, 1), seed);
        let mut sources: Vec<_> = (0..8).map(|e| traffic.source(e, seed)).collect();
        let mut drawn: BTreeMap<u32, Vec<Generated>> = BTreeMap::new();
        for e in order {
            drawn.entry(e).or_default().extend(traffic.next(e, &mut sources[e as usize]));
        }
        for (e, packets) in drawn {
            let mut alone = traffic.source(e, seed);
            let expected: Vec<_> = packets.iter().filter_map(|_| traffic.next(e, &mut alone)).collect();
            prop_assert_eq!(packets, expected);
        }
    }

    #[test]
    fn cycles_never_decrease_and_packets_are_valid(
        load in 0.0..1.0f64, burst in 1.0..100.0f64, cycle in 0u32..200, later in 0.0..1.0f64, kind in 0..3usize,
        seed: u64,
    ) {
        let bursts = json!({ "kind": "on_off", "burst": burst });
        let process = [json!("bernoulli"), json!("periodic"), bursts][kind].clone();
        let table = json!({
            "load": load, "process": process, "packet_size": { "kind": "choice", "sizes": [1, 4] },
            "changes": [{ "cycle": cycle, "load": later }],
        });
        let params = TrafficParams::from_value("traffic", &table).unwrap();
        // Some pairs of load and burst length have no on/off process.
        let Ok(traffic) = Traffic::build(&params, &Toy::new(9, 1, 1), 1.0, None, seed) else { return Ok(()) };
        for e in 0..9 {
            let packets = packets(&traffic, e, seed, 1000);
            prop_assert!(packets.windows(2).all(|w| w[0].cycle < w[1].cycle));
            prop_assert!(packets.iter().all(|p| p.destination < 9 && p.destination != e && [1, 4].contains(&p.size)));
        }
    }
}
