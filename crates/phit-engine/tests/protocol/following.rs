//! Packets that are followed: their ways lead from router to router, and their times add up to the latencies that the
//! run has counted.

use crate::common::{CHOICES, histogram, random, run, scenario, with};
use phit_engine::scenario::Scenario;
use phit_engine::topology::{Peer, Topology};
use phit_engine::trace::{Chosen, trace};
use proptest::prelude::*;
use serde_json::{Value, json};

fn follow(scenario: &Scenario, chosen: Chosen) -> Vec<Value> {
    match trace(scenario, &chosen, &mut |_, _| true) {
        Ok(Value::Array(packets)) => packets,
        Ok(other) => panic!("{other}"),
        Err(error) => panic!("{error}"),
    }
}

fn time(value: &Value, key: &str) -> f64 {
    value[key].as_f64().unwrap_or_else(|| panic!("{key} of {value}"))
}

/// The first error in the route of a packet that has arrived.
fn wrong(graph: &dyn Topology, packet: &Value) -> Option<String> {
    let index = |value: &Value| value.as_u64().expect("a whole number") as u32;
    let visits = packet["visits"].as_array().expect("a list");
    let (mut at, mut before) = (graph.attachment(index(&packet["source"])), time(packet, "sent"));
    for (number, visit) in visits.iter().enumerate() {
        if (index(&visit["router"]), index(&visit["input"]) as u16) != at {
            return Some(format!("visit {number} is not at router {} by port {}", at.0, at.1));
        }
        let (entered, left) = (time(visit, "entered"), time(visit, "left"));
        let waited: f64 = visit["waited"].as_object().expect("a table").values().map(|w| w.as_f64().unwrap()).sum();
        if (entered + waited - left).abs() > 1e-6 {
            return Some(format!("visit {number} waits {waited} cycles from {entered} to {left}"));
        }
        if entered < before || time(visit, "tail") < left {
            return Some(format!("visit {number} does not follow the one before"));
        }
        before = left;
        let port = index(&visit["output"]) as u16;
        match graph.port(at.0, port).peer {
            Peer::Router { router, port } => at = (router, port),
            Peer::Endpoint(endpoint) if number + 1 == visits.len() && endpoint == index(&packet["destination"]) => {
                return (time(packet, "end") <= before).then(|| "it arrives before it leaves".to_owned());
            }
            other => return Some(format!("visit {number} leads to {other:?}")),
        }
    }
    Some("its way does not end at its destination".to_owned())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_slowest_packets_are_those_of_the_run(choices in prop::collection::vec(0u32..720_720, CHOICES)) {
        let value = with(random(&choices), json!({ "measure": { "count": "delivered" } }));
        let scenario = scenario(&value);
        let graph = scenario.topology.build().unwrap();
        let packets = follow(&scenario, Chosen::Slowest(3));
        let latencies = packets.iter().map(|packet| (time(packet, "end") - time(packet, "generated")).floor() as u64);
        let counted = histogram(&run(&value));
        prop_assert_eq!(latencies.max(), counted.last().map(|(latency, _)| *latency), "{}", value);
        for packet in packets.iter().filter(|packet| packet["lost"] == false) {
            prop_assert_eq!(wrong(&*graph, packet), None, "{}\n{}", packet, value);
        }
    }
}

/// Two endpoints of a ring of four that send to the next but one, a packet in 40 cycles, over a common link.
fn ring() -> Value {
    json!({
        "topology": { "kind": "torus", "dims": [4] },
        "routing": "dimension_order",
        "router": {
            "latency": 3,
            "links": { "default": { "latency": 5, "vcs": 2, "buffer": 16 }, "endpoint": { "latency": 2 } },
        },
        "traffic": {
            "pattern": { "kind": "shift", "offset": 1 },
            "process": "periodic",
            "load": 0.1,
            "packet_size": 4,
        },
        "measure": { "warmup": 0, "cycles": 200 },
    })
}

#[test]
fn a_packet_alone_is_where_it_must_be() {
    let packets = follow(&scenario(&ring()), Chosen::Numbered { source: 1.into(), numbers: 2..3 });
    let [packet] = &packets[..] else { panic!("{packets:?}") };
    let sent = time(packet, "sent");
    assert_eq!((packet["source"].clone(), packet["number"].clone()), (json!(1), json!(2)));
    assert_eq!((packet["destination"].clone(), packet["size"].clone()), (json!(2), json!(4)));
    assert_eq!(sent, time(packet, "generated") + 1.0);
    // Over the injection link, through a router in three cycles and over a link of five; then likewise to the endpoint,
    // where the tail arrives four phits after the head.
    let entered: Vec<f64> = packet["visits"].as_array().unwrap().iter().map(|visit| time(visit, "entered")).collect();
    assert_eq!(entered, [sent + 2.0, sent + 2.0 + 3.0 + 5.0]);
    assert_eq!(time(packet, "end"), sent + 10.0 + 3.0 + 2.0 + 4.0);
}

#[test]
fn what_a_packet_waits_for_has_a_name() {
    // Everybody sends to one endpoint, whose link carries one of four.
    let hot = json!({
        "routing": "minimal",
        "traffic": { "pattern": { "kind": "hotspot", "targets": [0], "share": 1.0 }, "load": 1.0 },
        "measure": { "cycles": 400 },
    });
    let packets = follow(&scenario(&with(ring(), hot)), Chosen::Slowest(1));
    let visits = packets[0]["visits"].as_array().unwrap();
    let waited = |what: &str| visits.iter().map(|visit| visit["waited"][what].as_f64().unwrap()).sum::<f64>();
    assert!(waited("behind") > 0.0 && waited("switch") > 0.0, "{visits:?}");
    assert_eq!(waited("held"), 0.0);
}

#[test]
fn packets_are_followed_from_one_queue_of_a_port_to_another() {
    // FBICM moves congested packets to queues of their own, and holds these back.
    let tree = json!({
        "topology": { "kind": "k_ary_n_tree", "arity": 2, "levels": 3 },
        "routing": "table",
        "router": {
            "admittance": "per_destination",
            "links": { "default": { "vcs": 1, "buffer": 64, "latency": 1 } },
        },
        "queueing": { "kind": "fbicm", "detection": 8, "stop": 8, "go": 4 },
        "traffic": {
            "pattern": { "kind": "hotspot", "targets": [0], "share": 0.6 },
            "load": 0.9,
            "packet_size": 4,
        },
        "measure": { "warmup": 0, "cycles": 600 },
    });
    let scenario = scenario(&tree);
    let graph = scenario.topology.build().unwrap();
    let packets = follow(&scenario, Chosen::Slowest(20));
    packets.iter().for_each(|packet| assert_eq!(wrong(&*graph, packet), None, "{packet}"));
    let visits = packets.iter().flat_map(|packet| packet["visits"].as_array().unwrap());
    assert!(visits.clone().any(|visit| time(&visit["waited"], "held") > 0.0));
}

#[test]
fn what_cannot_be_followed_is_refused() {
    let refused = |value: &Value, source: u32, number: u32| {
        let chosen = Chosen::Numbered { source: source.into(), numbers: number..number + 1 };
        trace(&scenario(value), &chosen, &mut |_, _| true).unwrap_err().to_string()
    };
    assert!(refused(&ring(), 4, 0).contains("source = 4: expected an endpoint, 0 to 3"), "{}", refused(&ring(), 4, 0));
    let late = refused(&ring(), 0, 90_000);
    assert!(late.contains("number = 90000: endpoint 0 sends 5 packets in 200 cycles"), "{late}");
    let nodes = json!({
        "topology": { "kind": "torus", "dims": [3, 3] },
        "routing": "abr",
        "router": { "kind": "packet_node", "node": { "answer": 2 } },
        "traffic": { "load": 0.1 },
        "measure": { "warmup": 10, "cycles": 50 },
    });
    assert!(refused(&nodes, 0, 0).contains("router.kind: "), "{}", refused(&nodes, 0, 0));
}
