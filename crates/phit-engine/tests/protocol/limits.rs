//! What does not fit in the engine's counters is refused, not wrapped around.

use phit_engine::run::{Options, Simulation};
use phit_engine::scenario::Scenario;
use serde_json::{Value, json};

fn refusal(value: Value) -> String {
    let built = Scenario::from_value(&value).and_then(|scenario| Simulation::new(&scenario, Options::default()));
    built.err().map_or("accepted".into(), |error| error.to_string())
}

#[test]
fn an_output_buffer_of_more_flits_than_are_counted() {
    let with = |phits: Value| {
        json!({
            "topology": { "kind": "single", "endpoints": 2 },
            "router": { "output_buffer": phits },
            "traffic": { "load": 0.1 },
        })
    };
    assert_eq!(
        refusal(with(json!(70_000))),
        "router.output_buffer = 70000: expected a whole number of phits, at most 65534, or \"infinite\""
    );
    assert_eq!(refusal(with(json!(65_534))), "accepted");
    assert_eq!(refusal(with(json!("infinite"))), "accepted");
}

#[test]
fn more_hops_in_a_dimension_than_are_counted() {
    let with = |kind: &str, side: u32, routing: &str| {
        json!({
            "topology": { "kind": kind, "dims": [side] },
            "router": { "links": { "default": { "vcs": 4 } } },
            "routing": routing,
            "traffic": { "load": 0.1 },
        })
    };
    for (kind, side, routing) in [("mesh", 256, "minimal"), ("torus", 511, "minimal"), ("mesh", 128, "valiant")] {
        assert_eq!(refusal(with(kind, side, routing)), "accepted");
        let refused = refusal(with(kind, side + 1, routing));
        assert!(
            refused.starts_with(&format!("topology.dims[0] = {}: routes of up to 256 hops", side + 1)),
            "{refused}"
        );
    }
    assert_eq!(refusal(with("hyperx", 300, "valiant")), "accepted");
}
