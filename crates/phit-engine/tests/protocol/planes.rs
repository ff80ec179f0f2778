//! Parallel planes: each packet takes one of them, and nothing passes between them. Features that need all of them
//! together are refused.

use crate::common::{CHOICES, number, random, run_with, scenario, simulation, with};
use phit_engine::run::{self, Options};
use phit_engine::traffic::{Generated, Plane, PlanesParams, Traffic};
use proptest::prelude::*;
use serde_json::{Value, json};

/// A random network in several planes, as far as it can be.
fn several(choices: &[u32]) -> Value {
    let mut value = random(choices);
    let mut turn = choices[CHOICES - 1] as usize;
    let mut of = |names: &[&'static str]| {
        let name = names[turn % names.len()];
        turn /= names.len();
        name
    };
    if let Some(table) = value["topology"].as_object_mut() {
        table.remove("faults");
    }
    value["planes"] = json!({ "count": 2 + of(&["", "", "x"]).len(), "choice": of(&["random", "round_robin"]) });
    let apart = value["router"]["admittance"] == "per_destination" || value["traffic"]["classes"] != json!([]);
    if !apart {
        value["planes"]["injection"] = json!(of(&["serial", "parallel"]));
    }
    value
}

fn result(value: &Value, threads: usize, partitions: Option<usize>) -> Value {
    let outcome = run_with(value, Options { threads, partitions });
    json!({ "summary": outcome.summary(), "tables": outcome.tables() })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn everything_is_conserved_in_every_tick(
        choices in prop::collection::vec(0u32..720_720, CHOICES),
        partitions in 1usize..4,
    ) {
        let value = several(&choices);
        let mut simulation = simulation(&value, Options { threads: 1, partitions: Some(partitions) });
        for tick in 1..=300 {
            simulation.advance_to(tick);
            if let Err(wrong) = simulation.fabric().audit() {
                panic!("{wrong}\n{partitions} partitions of\n{value}");
            }
        }
    }

    #[test]
    fn threads_and_partitions_change_nothing(choices in prop::collection::vec(0u32..720_720, CHOICES)) {
        let value = several(&choices);
        let first = result(&value, 1, None);
        for (threads, partitions) in [(1, Some(3)), (2, Some(2))] {
            let again = result(&value, threads, partitions);
            if first != again {
                panic!("{threads} threads, {partitions:?} partitions\n{value}\n{first}\n{again}");
            }
        }
    }
}

fn mesh(changes: Value) -> Value {
    with(
        json!({
            "topology": { "kind": "mesh", "dims": [3, 3] },
            "router": { "links": { "default": { "buffer": 16, "vcs": 2 } } },
            "traffic": { "load": 0.6, "packet_size": { "kind": "choice", "sizes": [2, 5] } },
            "measure": { "warmup": 100, "cycles": 400 },
        }),
        changes,
    )
}

/// The first packets of an endpoint in each plane, with the first cycle in which each can be sent, if that is known.
fn sequences(value: &Value, endpoint: u32, packets: usize) -> Vec<Vec<(Generated, Option<u32>)>> {
    let scenario = scenario(value);
    let topology = scenario.network().unwrap();
    let build = || Traffic::build(&scenario.traffic, &*topology, 9.0, None, scenario.seed).unwrap();
    let draw = |traffic: Traffic, seed| {
        let mut source = traffic.source(endpoint, seed);
        let next = || traffic.next(endpoint, &mut source).map(|packet| (packet, traffic.begins(&source)));
        std::iter::from_fn(next).take(packets).collect()
    };
    match &scenario.planes {
        None => vec![draw(build(), scenario.seed)],
        Some(params) => (0..params.count)
            .map(|number| {
                let plane = Plane::new(params, number, scenario.seed, Some((2, 3)));
                draw(build().on_plane(&plane), Plane::seed(scenario.seed, number))
            })
            .collect(),
    }
}

#[test]
fn planes_share_out_one_sequence_of_packets() {
    let traffic = json!({ "traffic": { "message": { "packets": 2 } } });
    for base in [mesh(json!({})), mesh(traffic), mesh(json!({ "traffic": { "packet_size": 4 } }))] {
        let [whole] = &sequences(&base, 4, 300)[..] else { panic!("one network") };
        for count in [2, 3] {
            // Where they take turns nothing is drawn besides: the third goes on where the second stands, from 4 modulo
            // their number.
            let value = with(base.clone(), json!({ "planes": { "count": count, "choice": "round_robin" } }));
            let planes = sequences(&value, 4, 300 / count);
            let merged: Vec<_> = (0..300).map(|k| planes[(4 + k) % count][k / count]).collect();
            assert_eq!(&merged, whole);
        }
    }
}

#[test]
fn each_packet_is_drawn_into_one_plane() {
    let value = mesh(json!({ "planes": { "count": 4 }, "traffic": { "packet_size": 2 } }));
    let planes = sequences(&value, 7, 2000);
    let mut cycles: Vec<u32> = planes.iter().flatten().map(|(packet, _)| packet.cycle).collect();
    cycles.sort_unstable();
    let all = cycles.len();
    cycles.dedup();
    assert_eq!(cycles.len(), all, "an endpoint generates a packet in a cycle at most");
    // 0.3 packets a cycle, a quarter of them in each plane: 2,000 take 26,667 cycles, with a standard deviation of 575.
    for plane in &planes {
        let last = f64::from(plane[1999].0.cycle);
        assert!((last - 26_667.0).abs() < 4.0 * 575.0, "{last}");
    }
}

#[test]
fn one_after_another_means_in_all_planes() {
    let value = mesh(json!({ "planes": { "count": 3, "injection": "serial" }, "traffic": { "load": 0.6 } }));
    let planes = sequences(&value, 2, 500);
    let least = planes.iter().map(|plane| plane[499].0.cycle).min().unwrap();
    let mut all: Vec<_> = planes.into_iter().flatten().filter(|(packet, _)| packet.cycle < least).collect();
    all.sort_unstable_by_key(|(packet, _)| packet.cycle);
    let mut free = 0;
    for (packet, begins) in all {
        let expected = free.max(packet.cycle + 1);
        assert_eq!(begins, Some(expected));
        // Two phits in three cycles.
        free = expected + (3 * u32::from(packet.size)).div_ceil(2);
    }
}

#[test]
fn one_plane_is_the_network_itself() {
    let alone = mesh(json!({ "planes": { "count": 1, "choice": "round_robin", "injection": "serial" } }));
    assert_eq!(result(&mesh(json!({})), 1, None), result(&alone, 1, None));
}

#[test]
fn tables_have_the_links_of_all_planes_and_each_endpoint_once() {
    let value = mesh(json!({ "planes": { "count": 2 }, "measure": { "links": true, "endpoints": true } }));
    let outcome = run_with(&value, Options::default());
    let tables = outcome.tables();
    let rows = |table: &str, column: &str| tables[table][column].as_array().unwrap().clone();
    // 24 directions of links between 9 routers, and 9 to endpoints.
    assert_eq!(rows("links", "router").len(), 2 * (24 + 9));
    assert_eq!(rows("links", "router").iter().filter_map(Value::as_u64).max(), Some(17));
    let (from, to) = (rows("links", "router"), rows("links", "to"));
    assert!(from.iter().zip(&to).any(|(from, to)| from == 9 && to == "router 10"), "{to:?}");
    for (from, to) in from.iter().zip(&to) {
        if let Some(router) = to.as_str().and_then(|to| to.strip_prefix("router ")) {
            assert_eq!(router.parse::<u64>().unwrap() / 9, from.as_u64().unwrap() / 9, "{from} to {to}");
        }
    }
    let accepted: Vec<f64> = rows("endpoints", "accepted_load").iter().filter_map(Value::as_f64).collect();
    assert_eq!(accepted.len(), 9);
    let mean = accepted.iter().sum::<f64>() / 9.0;
    // Phits are delivered after they have been put on the link: a packet of 5 in either plane, in 400 cycles.
    assert!((mean - number(&outcome, "/accepted_load")).abs() < 10.0 / 400.0, "{mean}");
    let injected: f64 = rows("endpoints", "injected_load").iter().filter_map(Value::as_f64).sum();
    assert!((injected / 9.0 - 0.6).abs() < 0.1, "{injected}");
}

#[test]
fn what_does_not_go_with_planes_is_refused_by_its_key() {
    let planes = |changes| with(mesh(json!({ "planes": { "count": 2 } })), changes);
    let serial = |changes| with(planes(json!({ "planes": { "injection": "serial" } })), changes);
    let cases = [
        (planes(json!({ "router": { "kind": "packet_node" } })), "router.kind"),
        (planes(json!({ "traffic": { "packet_size": 2, "requests": {} } })), "traffic.requests"),
        (planes(json!({ "topology": { "faults": { "links": [[0, 1]] } } })), "topology.faults"),
        (planes(json!({ "measure": { "order": true } })), "measure.order"),
        (planes(json!({ "measure": { "probes": [{ "kind": "buffers" }] } })), "measure.probes"),
        (serial(json!({ "traffic": { "classes": [{}, {}] } })), "planes.injection"),
        (serial(json!({ "router": { "admittance": "per_destination" } })), "planes.injection"),
        (serial(json!({ "traffic": { "load": 1.2 } })), "traffic.load"),
        (planes(json!({ "traffic": { "load": 2.2 } })), "traffic.load"),
    ];
    for (value, path) in cases {
        let mut value = value;
        if path == "router.kind" {
            value["router"] = json!({ "kind": "packet_node" });
        }
        match run::prepare(&scenario(&value)) {
            Err(error) => assert_eq!(error.path, path, "{error}"),
            Ok(_) => panic!("{path} is not refused"),
        }
    }
    assert!(run::prepare(&scenario(&planes(json!({ "traffic": { "load": 1.9 } })))).is_ok());
    let params = PlanesParams { count: 2, choice: Default::default(), injection: Default::default() };
    assert!(!params.is_serial());
}
