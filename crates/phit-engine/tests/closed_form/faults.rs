//! Packets lost on broken links, and their arrival if their source sends them again.

use crate::common::{histogram, number, run, with};
use serde_json::{Value, json};

/// Phits of a packet.
const SIZE: u64 = 3;

/// Cycle in which the packet is generated.
const BORN: u64 = 20;

/// Cycles from the generation of a packet until its last phit has arrived, over `links` links. One to the link of the
/// endpoint and one over it; one in every router; four over each link; one to the endpoint; and the packet's phits.
fn zero_load(links: u64) -> u64 {
    1 + 1 + (links + 1) + 4 * links + 1 + SIZE
}

/// Cycles from the generation of a packet until its last phit has gone over the first link.
const LOST: u64 = 1 + 1 + 1 + 4 + SIZE;

/// Four routers in a ring. The link from router 0 to router 1 does not work from cycle 10 to cycle 300, and routing
/// knows of either 100 cycles later. One packet takes it, or would.
fn ring(retransmit: Value) -> Value {
    json!({
        "topology": { "kind": "torus", "dims": [4], "faults": {
            "retransmit": retransmit,
            "later": [{ "cycle": 10, "delay": 100, "until": 300, "links": [[0, 1]] }],
        } },
        "routing": "minimal",
        "router": { "latency": 1, "links": {
            "endpoint": { "latency": 1 }, "default": { "latency": 4, "vcs": 3, "buffer": 32 },
        } },
        "traffic": { "packet_size": SIZE, "trace": [[BORN, 0, 1, SIZE]] },
        "measure": { "warmup": 0, "cycles": 200, "count": "generated", "max_drain": 5000 },
    })
}

/// Checks when the packet arrives, how often it was sent again, and how often it took a detour.
fn comes(timeout: u64, latency: u64, repeats: f64, detoured: f64) {
    let outcome = run(&ring(json!({ "timeout": timeout, "attempts": 7 })));
    assert_eq!(histogram(&outcome), [(latency, 1)], "after {timeout} cycles");
    let counts = ["/packets_lost", "/packets_retransmitted", "/packets_detoured"].map(|key| number(&outcome, key));
    assert_eq!(counts, [0.0, repeats, detoured], "after {timeout} cycles");
}

#[test]
fn a_packet_sent_again_when_the_link_works_takes_it() {
    // It is sent in the very cycle in which it may, and not in the one after, as one that is generated in it.
    // Sent in cycle 399 it stands at router 0 in cycle 400.
    for timeout in [369, 400, 1000] {
        comes(timeout, LOST + timeout + zero_load(1) - 1, 1.0, 0.0);
    }
}

#[test]
fn a_packet_sent_again_when_routing_knows_takes_the_other_way_round() {
    // Lost in cycle 30, and standing at router 0 in cycle 110 at the earliest and 399 at the latest.
    for timeout in [79, 100, 250, 368] {
        comes(timeout, LOST + timeout + zero_load(3) - 1, 1.0, 1.0);
    }
}

#[test]
fn a_packet_sent_again_too_early_is_lost_again() {
    // Lost in cycle 30, sent in 108, at router 0 in 109, lost in 117 and sent in 195.
    comes(78, 2 * (LOST + 78 - 1) + zero_load(3), 2.0, 1.0);
    // Sent in cycles 40, 59, 78 and 97, and lost each time; in 116 routing knows.
    comes(10, 5 * (LOST + 10 - 1) + zero_load(3), 5.0, 1.0);
}

#[test]
fn a_packet_is_given_up_after_the_last_attempt() {
    for attempts in 1..5 {
        let outcome = run(&ring(json!({ "timeout": 10, "attempts": attempts })));
        let counts = ["/packets_lost", "/packets_retransmitted", "/packets"].map(|key| number(&outcome, key));
        assert_eq!(counts, [1.0, f64::from(attempts), 0.0]);
    }
    let never = run(&with(ring(json!({})), json!({ "topology": { "faults": { "retransmit": null } } })));
    assert_eq!(["/packets_lost", "/packets_retransmitted"].map(|key| number(&never, key)), [1.0, 0.0]);
}

/// A packet sent again precedes packets that have not been sent: of two packets, the first is lost.
#[test]
fn what_is_sent_again_goes_first() {
    let mut value = ring(json!({ "timeout": 400 }));
    // The second is generated one cycle before the first is sent again, and leaves as soon as that has: a phit a cycle.
    let again = BORN + LOST + 400;
    for (second, latency) in
        [(again - 1, zero_load(1) + SIZE), (again - 2, zero_load(1)), (again, zero_load(1) + SIZE - 1)]
    {
        value["traffic"]["trace"] = json!([[BORN, 0, 1, SIZE], [second, 0, 1, SIZE]]);
        value["measure"]["cycles"] = json!(500);
        let first = LOST + 400 + zero_load(1) - 1 + if second == again - 2 { SIZE - 1 } else { 0 };
        assert_eq!(histogram(&run(&value)), [(latency, 1), (first, 1)], "{second}");
    }
}

/// An endpoint that has failed when it should send again has given its packet up.
#[test]
fn a_source_that_has_failed_sends_nothing_again() {
    let mut value = ring(json!({ "timeout": 100 }));
    let later = value["topology"]["faults"]["later"].as_array_mut().unwrap();
    later[0]["until"] = json!(600);
    later.push(json!({ "cycle": 125, "until": 200, "endpoints": [0] }));
    for (timeout, lost) in [(90, 0.0), (94, 0.0), (95, 1.0), (150, 1.0), (169, 1.0), (170, 0.0), (300, 0.0)] {
        value["topology"]["faults"]["retransmit"]["timeout"] = json!(timeout);
        let outcome = run(&value);
        let counts = ["/packets_lost", "/packets"].map(|key| number(&outcome, key));
        assert_eq!(counts, [lost, 1.0 - lost], "{timeout}");
    }
}
