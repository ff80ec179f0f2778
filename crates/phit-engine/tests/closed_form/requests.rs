//! Requests and replies: cycles and rates of an endpoint with one outstanding request in an empty network.

use crate::common::{assert_close, number, run, with};
use serde_json::{Value, json};

/// A switch with two endpoints, of which each asks the other and is never asked by two.
///
/// A packet of L phits takes 1 cycle in its source, 1 to the switch, 1 in it, 1 to the endpoint and 1 for each phit:
/// 4 + L, and no two packets are on one link at a time.
fn pair(requests: Value) -> Value {
    json!({
        "topology": { "kind": "single", "endpoints": 2 },
        "router": { "links": { "default": { "vcs": 2, "buffer": 16 } } },
        "traffic": { "requests": requests },
        "measure": { "warmup": 1000, "cycles": 12_000 },
    })
}

/// 4 + 1 for a read request, 4 + 5 for its reply.
const READ: u64 = (4 + 1) + (4 + 5);

fn reads(changes: Value) -> Value {
    with(json!({ "outstanding": 1, "read_reply": 5 }), changes)
}

#[test]
fn one_request_under_way_is_answered_once_in_a_round_trip() {
    // (service, think, write): a round trip takes `service` more, and `think` passes between two.
    let write = json!({ "writes": 1, "write_request": 5, "read_reply": 9 });
    let cases = [(0, 0, json!({})), (7, 0, json!({})), (0, 3, json!({})), (30, 11, json!({})), (0, 0, write)];
    for (service, think, changes) in cases {
        let requests = with(reads(json!({ "service": service, "think": think })), changes);
        let outcome = run(&pair(requests.clone()));
        let round_trip = (READ + service) as f64;
        assert_eq!(number(&outcome, "/round_trip_mean"), round_trip, "{requests}");
        let rate = 1.0 / (round_trip + think as f64);
        // A round trip begins or ends outside of the measured time.
        assert_close(number(&outcome, "/transaction_rate"), rate, 1.0 / 12_000.0, &requests.to_string());
        assert_eq!(number(&outcome, "/outstanding_max"), 1.0);
    }
}

#[test]
fn the_rate_grows_with_the_requests_under_way_until_a_link_is_full() {
    // Replies of 5 phits and requests of 1 leave every endpoint: 1/6 requests in a cycle fill its link.
    let full = 1.0 / 6.0;
    for outstanding in [1, 2, 3, 8] {
        let outcome = run(&pair(reads(json!({ "outstanding": outstanding }))));
        let rate = number(&outcome, "/transaction_rate");
        // Two endpoints in step delay one another's packets at their own links, by 5 cycles at most each way.
        let slowest = (f64::from(outstanding) / (READ as f64 + 10.0)).min(full);
        let fastest = (f64::from(outstanding) / READ as f64).min(full);
        assert!(slowest - 0.001 <= rate && rate <= fastest + 0.001, "{outstanding}: {rate}, {slowest} to {fastest}");
        // A full link leaves some of them in their source, where only the next is ever drawn.
        let most = number(&outcome, "/outstanding_max");
        assert!(if rate < 0.99 * full { most == f64::from(outstanding) } else { most <= f64::from(outstanding) });
        assert_close(number(&outcome, "/accepted_load"), 6.0 * rate, 0.01, "phits");
    }
}

#[test]
fn so_many_requests_end_when_they_are_answered() {
    // The first is generated in cycle 0, each after it when the reply to the one before has come.
    let mut scenario = pair(reads(json!({ "count": 20 })));
    scenario["measure"] = json!({ "warmup": 0, "cycles": 1000 });
    let outcome = run(&scenario);
    assert_eq!(number(&outcome, "/requests_completion"), (20 * READ) as f64);
    assert_eq!((number(&outcome, "/requests"), number(&outcome, "/replies")), (40.0, 40.0));
    assert_eq!(number(&outcome, "/packets"), 80.0);
    scenario["measure"]["cycles"] = json!(20 * READ - 5);
    assert!(run(&scenario).summary()["requests_completion"].is_null());
}

#[test]
fn without_a_limit_the_load_is_that_of_requests_and_replies() {
    let requests = json!({ "writes": 0.25, "read_reply": 9, "write_request": 9 });
    let mut scenario = with(
        pair(requests),
        json!({
            "topology": { "kind": "mesh", "dims": [4, 4] }, "traffic": { "load": 0.2 },
            "measure": { "cycles": 20_000, "warmup": 2000 },
        }),
    );
    let outcome = run(&scenario);
    // 16 endpoints with 0.02 transactions in a cycle each: 6,400 in all, whose number has a deviation of 80.
    assert_close(number(&outcome, "/transaction_rate"), 0.02, 4.0 * 0.02 / 80.0, "transactions");
    assert_close(number(&outcome, "/accepted_load"), 0.2, 4.0 * 0.2 / 80.0, "accepted");
    assert_close(number(&outcome, "/offered_load"), 0.2, 4.0 * 0.2 / 80.0, "offered");
    // The offered load of a full network grows with the traffic's load, whatever the network accepts.
    scenario["traffic"]["load"] = json!(0.9);
    scenario["measure"]["warmup"] = json!(100);
    let full = run(&scenario);
    // Replies are offered as requests come: between half of a load of requests alone and all.
    let (offered, accepted) = (number(&full, "/offered_load"), number(&full, "/accepted_load"));
    assert!(accepted < 0.6 && offered > accepted, "{offered} offered, {accepted} accepted");
}

#[test]
fn each_request_is_read_or_written_with_the_sizes_of_its_kind() {
    // A write that takes 3 + 2 phits, a read that takes 1 + 7: one more phit on a third of the ways.
    let sizes = json!({ "read_request": 1, "read_reply": 7, "write_request": 3, "write_reply": 2 });
    let mut scenario = pair(with(sizes, json!({ "outstanding": 1, "writes": 0.4, "count": 3000 })));
    scenario["measure"] = json!({ "warmup": 0, "cycles": 60_000 });
    let outcome = run(&scenario);
    // 6,000 requests, of which 0.4 are writes, with a deviation of 38.
    let phits = number(&outcome, "/accepted_load") * 2.0 * 60_000.0;
    assert_close(phits, 6000.0 * (0.6 * 8.0 + 0.4 * 5.0), 4.0 * 38.0 * 3.0, "phits");
}
