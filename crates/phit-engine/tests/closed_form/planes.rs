//! Parallel planes: an endpoint with a port in each of n networks sends and takes n times as much, and as fast.

use crate::common::{assert_close, histogram, number, run, with};
use serde_json::{Value, json};

/// Endpoints around one router, of which each sends to the next whatever the router takes.
fn star(changes: Value) -> Value {
    with(
        json!({
            "topology": { "kind": "single", "endpoints": 6 },
            "router": { "links": { "default": { "buffer": 32, "latency": 3 } } },
            "traffic": { "load": 1, "packet_size": 8, "pattern": "shift" },
            "measure": { "warmup": 1000, "cycles": 8000 },
        }),
        changes,
    )
}

#[test]
fn endpoints_inject_into_all_planes_at_once_or_into_one_after_another() {
    let accepted = |value: &Value| number(&run(value), "/accepted_load");
    let one = accepted(&star(json!({})));
    // One phit per cycle, except when a source has nothing to send. The mean number of packets is 1,000, with a
    // standard deviation of 3 %, among 6 endpoints.
    assert_close(one, 1.0, 0.04, "one plane");
    for count in [2u32, 4] {
        let planes = json!({ "planes": { "count": count, "choice": "round_robin" }, "traffic": { "load": count } });
        assert_close(accepted(&star(planes)), f64::from(count) * one, 0.04 * f64::from(count), "several");
        let serial = json!({ "planes": { "count": count, "injection": "serial" } });
        assert_close(accepted(&star(serial)), one, 0.04, "one after another");
    }
}

#[test]
fn a_packet_takes_as_long_in_a_plane_as_in_one_network() {
    // Packets that never meet: one in a hundred cycles.
    let trace: Vec<Value> = (0..36u32).map(|k| json!([100 * k, k % 9, (k / 9 + 5 * k + 1) % 9, 8])).collect();
    let value = json!({
        "topology": { "kind": "mesh", "dims": [3, 3] },
        "router": { "links": { "default": { "buffer": 16, "latency": 4, "vcs": 2 } } },
        "traffic": { "packet_size": 8, "trace": trace },
        "measure": { "warmup": 0, "cycles": 4000 },
    });
    let one = histogram(&run(&value));
    assert!(one.len() >= 4, "{one:?}");
    for injection in ["parallel", "serial"] {
        let planes = with(value.clone(), json!({ "planes": { "count": 3, "injection": injection } }));
        assert_eq!(histogram(&run(&planes)), one);
    }
}

#[test]
fn packets_of_one_cycle_wait_for_those_that_they_share_a_port_with() {
    // Four packets of 8 phits that endpoint 0 generates in one cycle, in two planes in turn. The first takes L; those
    // behind it wait for 8 cycles each, the third and fourth in their plane if both are filled at once.
    let trace: Vec<Value> = (1..5).map(|to| json!([10, 0, to, 8])).collect();
    let value = star(json!({ "traffic": { "load": 0, "pattern": "uniform", "trace": trace } }));
    let value = with(value, json!({ "measure": { "warmup": 0 } }));
    let first = histogram(&run(&value))[0].0;
    let waits = |planes: Value| {
        let found = histogram(&run(&with(value.clone(), planes)));
        found.into_iter().map(|(latency, packets)| (latency - first, packets)).collect::<Vec<_>>()
    };
    let turns = |injection: &str| json!({ "planes": { "count": 2, "choice": "round_robin", "injection": injection } });
    assert_eq!(waits(json!({})), [(0, 1), (8, 1), (16, 1), (24, 1)]);
    assert_eq!(waits(turns("serial")), [(0, 1), (8, 1), (16, 1), (24, 1)]);
    assert_eq!(waits(turns("parallel")), [(0, 2), (8, 2)]);
}

#[test]
fn bounds_count_the_links_of_all_planes() {
    let links = |changes: Value| {
        let value = with(star(json!({ "topology": { "kind": "mesh", "dims": [4] } })), changes);
        let network = phit_engine::flow::network(&crate::common::scenario(&value)).unwrap();
        let link = network["links"][0][4].as_f64().unwrap();
        (link, network["injection"].as_f64().unwrap(), network["ejection"].as_f64().unwrap())
    };
    assert_eq!(links(json!({})), (1.0, 1.0, 1.0));
    assert_eq!(links(json!({ "planes": { "count": 3 } })), (3.0, 3.0, 3.0));
    assert_eq!(links(json!({ "planes": { "count": 3, "injection": "serial" } })), (3.0, 1.0, 3.0));
}
