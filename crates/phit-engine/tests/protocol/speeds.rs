//! Phits, loads and crossbars keep their meaning at all bandwidths of links. An unused link has no effect, a network in
//! other units gives equal results, and every port works at the rate of its own link.

use super::common::{assert_close, number, run, with};
use phit_engine::scenario::Scenario;
use serde_json::{Map, Value, json};

/// Slower and faster than a phit in a cycle, whole and not, up to far more than a packet in a cycle.
const SPEEDS: [f64; 12] = [0.01, 0.08, 0.16, 6.0 / 11.0, 0.8, 1.25, 2.0, 2.5, 4.0, 12.5, 25.0, 100.0];

/// How packets move, with the smallest flit.
fn ways() -> Vec<(&'static str, Value)> {
    vec![
        ("cut-through", json!({ "traffic": { "packet_size": 8 } })),
        ("single phits", json!({ "traffic": { "packet_size": 1 } })),
        ("stored", json!({ "router": { "switching": "store_and_forward" }, "traffic": { "packet_size": 5 } })),
        ("wormhole", json!({ "router": { "switching": "wormhole" }, "traffic": { "packet_size": 6 } })),
        (
            "stage",
            json!({
                "router": { "switching": "wormhole", "vc_allocation": "stage", "latency": 3 },
                "traffic": { "packet_size": 4 },
            }),
        ),
        (
            "islip at twice the clock",
            json!({
                "router": { "allocator": "islip", "speedup": 2, "clock": "crossbar", "latency": 2 },
                "traffic": { "packet_size": 3 },
            }),
        ),
        (
            "adaptive",
            json!({
                "routing": "ugal_l", "traffic": { "packet_size": 8 },
                "router": { "output_buffer": 16, "links": { "default": { "vcs": 8 } } },
            }),
        ),
    ]
}

fn summary(value: &Value) -> Map<String, Value> {
    let mut summary = run(value).summary();
    // The spare link is one of the class.
    summary.remove("link_utilisation");
    summary.remove("control_utilisation");
    // Batches are counted in ticks, of which a cycle has more where links are faster: sums are rounded otherwise.
    for key in ["accepted_ci", "latency_ci"] {
        if let Some(half) = summary.get(key).and_then(Value::as_f64) {
            summary.insert(key.into(), json!(format!("{half:.9}")));
        }
    }
    summary
}

/// Two switches with four endpoints each, and a third one without any on a link of its own class.
fn with_spare(bandwidth: f64) -> Value {
    json!({
        "topology": {
            "kind": "graph", "routers": 3, "endpoints": [4, 4, 0], "classes": ["trunk", "spare"],
            "links": [[0, 1], [0, 1], [1, 2, 1]],
        },
        "router": { "links": {
            "default": { "vcs": 4, "buffer": 32, "latency": 2 },
            "spare": { "bandwidth": bandwidth },
        } },
        "traffic": { "load": 0.6 },
        "measure": { "warmup": 200, "cycles": 600 },
    })
}

#[test]
fn a_link_that_carries_nothing_changes_nothing() {
    for (name, way) in ways() {
        let at = |bandwidth: f64| summary(&with(with_spare(bandwidth), way.clone()));
        let expected = at(1.0);
        for bandwidth in SPEEDS {
            assert_eq!(at(bandwidth), expected, "{name}, spare link of {bandwidth}");
        }
    }
}

/// Four endpoints at each of two switches that a link of `bandwidth` joins, all sending to the other switch.
fn over_trunk(bandwidth: f64, load: f64) -> Value {
    json!({
        "topology": { "kind": "graph", "routers": 2, "endpoints": 4, "classes": ["trunk"], "links": [[0, 1]] },
        "router": { "links": {
            "endpoint": { "vcs": 4, "buffer": 64 },
            "trunk": { "vcs": 4, "buffer": 256, "bandwidth": bandwidth },
        } },
        "traffic": { "load": load, "pattern": { "kind": "shift", "offset": 4 } },
        "measure": { "warmup": 3000, "cycles": 6000, "links": true },
    })
}

/// A trunk of B phits per cycle carries B: each of four endpoints gets a quarter of it, or its offered load.
#[test]
fn links_of_any_bandwidth_are_filled() {
    for (name, way) in ways().into_iter().filter(|(name, _)| *name != "adaptive") {
        for bandwidth in SPEEDS.into_iter().filter(|bandwidth| *bandwidth >= 0.08) {
            let outcome = run(&with(over_trunk(bandwidth, 0.9), way.clone()));
            let expected = (bandwidth / 4.0).min(0.9);
            // A channel waits for its credits, and four endpoints find the crossbar taken.
            let most = if name == "stage" || name == "stored" { 0.12 } else { 0.04 };
            let what = format!("{name}, trunk of {bandwidth}");
            assert_close(number(&outcome, "/accepted_load"), expected, most * expected, &what);
        }
    }
}

/// Under wormhole switching, the flits of a packet follow one another, however many of them a link could carry in a
/// tick: from the endpoint into its router, and from router to router.
#[test]
fn flits_stay_in_order_on_fast_links() {
    let way = json!({ "router": { "switching": "wormhole" }, "traffic": { "packet_size": 6 } });
    for bandwidth in [2.0, 3.0, 8.0, 16.0, 64.0, 100.0] {
        let trunk = with(over_trunk(bandwidth, 0.9), way.clone());
        for injection in [1, 8, 100] {
            let changes = json!({ "router": { "links": { "endpoint": { "injection_bandwidth": injection } } } });
            let outcome = run(&with(trunk.clone(), changes));
            let expected = (bandwidth / 4.0).min(0.9);
            let what = format!("trunk of {bandwidth}, injection at {injection}");
            assert_close(number(&outcome, "/accepted_load"), expected, 0.04 * expected, &what);
        }
    }
}

/// Endpoints at their own rates: half of them at a quarter of the others'. A load is a share of each one's own link.
#[test]
fn every_endpoint_has_its_own_rate() {
    let rates = [1.0, 0.25, 1.0, 0.25, 1.0, 0.25];
    let network = |load: f64| {
        json!({
            "topology": {
                "kind": "graph", "routers": 1, "endpoints": 6, "links": [], "endpoint_bandwidth": rates,
            },
            "router": { "links": { "default": { "vcs": 4, "buffer": 64 } } },
            // To the next of its kind.
            "traffic": { "load": load, "packet_size": 8, "pattern": { "kind": "shift", "offset": 2 } },
            "measure": { "warmup": 4000, "cycles": 40_000, "endpoints": true },
        })
    };
    for load in [0.2, 0.9] {
        let outcome = run(&network(load));
        assert_close(number(&outcome, "/offered_load"), load, 0.02, "offered");
        assert_close(number(&outcome, "/accepted_load"), load, 0.02, "accepted");
        let tables = outcome.tables();
        for column in ["injected_load", "accepted_load"] {
            for (endpoint, own) in tables["endpoints"][column].as_array().unwrap().iter().enumerate() {
                assert_close(own.as_f64().unwrap(), load, 0.06, &format!("{column} of endpoint {endpoint} at {load}"));
            }
        }
    }
    // Phits of all endpoints per cycle, as a rate of each.
    let mut absolute = network(0.2);
    absolute["traffic"]["load_unit"] = json!("phits");
    let outcome = run(&absolute);
    assert_close(number(&outcome, "/accepted_load"), 0.2, 0.01, "phits/(endpoint·cycle)");
    let error = |changes: Value| {
        Scenario::from_value(&with(network(0.5), changes))
            .map(|scenario| phit_engine::run::prepare(&scenario).map(drop).unwrap_err().to_string())
    };
    let found = error(json!({ "traffic": { "load": 1.5 } })).unwrap();
    assert!(found.starts_with("traffic.load = 1.5: expected at most 1 phits/(endpoint·cycle)"), "{found}");
    let found = error(json!({ "topology": { "endpoint_bandwidth": [1, 2] } })).unwrap();
    assert_eq!(found, "topology.endpoint_bandwidth = a list of 2: expected 6 bandwidths, one for each endpoint");
}

/// A network in quantities: rates of links between switches and of some endpoints differ from the others'.
fn in_quantities(rate: f64, time: f64) -> Value {
    let gigabits = |number: f64| json!(format!("{} Gb/s", number * rate));
    let nanoseconds = |number: f64| json!(format!("{} ns", number * time));
    let endpoints = [100.0, 100.0, 100.0, 25.0, 100.0, 25.0].map(gigabits);
    json!({
        "topology": {
            "kind": "graph", "routers": 3, "endpoints": 2, "classes": ["fast", "slow"],
            "links": [[0, 1], [1, 2, 1], [2, 0]],
            "endpoint_bandwidth": endpoints,
        },
        "router": {
            "latency": nanoseconds(64.0),
            "links": {
                "default": { "vcs": 4, "buffer": "8 KiB", "latency": nanoseconds(128.0) },
                "endpoint": { "bandwidth": gigabits(100.0) },
                "fast": { "bandwidth": gigabits(400.0) },
                "slow": { "bandwidth": gigabits(600.0 / 11.0) },
            },
        },
        "traffic": { "load": 0.5, "packet_size": "512 B" },
        "measure": { "warmup": nanoseconds(40_960.0), "cycles": nanoseconds(409_600.0) },
    })
}

/// All rates doubled and all times halved: the same network, bit by bit, in cycles half as long.
#[test]
fn twice_the_rates_and_half_the_times_change_nothing() {
    let of = |rate: f64, time: f64| {
        let mut found = summary(&in_quantities(rate, time));
        let seconds = found.remove("cycle_seconds").and_then(|seconds| seconds.as_f64()).unwrap();
        (found, seconds)
    };
    let ((base, cycle), (doubled, half)) = (of(1.0, 1.0), of(2.0, 0.5));
    assert_eq!(base, doubled);
    assert_close(cycle / half, 2.0, 1e-9, "cycles");
}

/// The network without units: bandwidths of 2, and half as many cycles for everything. Packets are generated in cycles
/// twice as long; apart from that, results are equal.
#[test]
fn bandwidths_in_plain_numbers_scale_all_that_moves() {
    let network = |bandwidth: f64, cycles: u32| {
        json!({
            "topology": { "kind": "mesh", "dims": [4, 2] },
            "router": {
                "latency": 2 * cycles,
                "links": { "default": { "vcs": 4, "buffer": 64, "bandwidth": bandwidth, "latency": 4 * cycles } },
            },
            "traffic": { "load": 0.5, "packet_size": 16 },
            "measure": { "warmup": 1000 * cycles, "cycles": 30_000 * cycles },
        })
    };
    let (plain, fast) = (run(&network(1.0, 2)), run(&network(2.0, 1)));
    assert_close(number(&plain, "/accepted_load"), number(&fast, "/accepted_load"), 0.01, "accepted");
    let (latency, half) = (number(&plain, "/latency_mean"), number(&fast, "/latency_mean"));
    assert_close(half / latency, 0.5, 0.02, "latency");
}

/// The network in other units: shorter cycles and smaller phits give the results of the longest cycle.
#[test]
fn other_units_give_the_same_results() {
    let chosen = run(&in_quantities(1.0, 1.0));
    let nanoseconds = |outcome: &phit_engine::result::Outcome| {
        number(outcome, "/latency_mean") * number(outcome, "/cycle_seconds") * 1e9
    };
    for units in [json!({ "cycle": "2.56 ns" }), json!({ "cycle": "1.28 ns", "phit": "4 B" }), json!({ "phit": "1 B" })]
    {
        let other = run(&with(in_quantities(1.0, 1.0), json!({ "units": units.clone() })));
        for key in ["/accepted_load", "/offered_load"] {
            assert_close(number(&other, key), number(&chosen, key), 0.02, &format!("{units} {key}"));
        }
        let (these, those) = (nanoseconds(&other), nanoseconds(&chosen));
        assert_close(these / those, 1.0, 0.03, &format!("{units}: {these} ns, {those} ns"));
    }
}

/// A crossbar that is told its own rate keeps it: three endpoints that feed one another over links of 4 get 2.
#[test]
fn a_crossbar_of_its_own_rate_is_the_limit() {
    let accepted = |router: Value| {
        let outcome = run(&with(
            json!({
                "topology": { "kind": "single", "endpoints": 3 },
                "router": { "links": { "endpoint": { "bandwidth": 4, "buffer": 64 } } },
                "traffic": { "load": 0.95, "packet_size": 8, "pattern": { "kind": "shift" } },
                "measure": { "warmup": 1000, "cycles": 4000 },
            }),
            json!({ "router": router }),
        ));
        number(&outcome, "/accepted_load")
    };
    assert_close(accepted(json!({})), 0.95, 0.02, "links");
    assert_close(accepted(json!({ "crossbar_bandwidth": 2 })), 0.5, 0.01, "own");
    assert_close(accepted(json!({ "crossbar_bandwidth": 1, "speedup": 2 })), 0.5, 0.01, "sped up");
}

#[test]
fn plain_numbers_beside_quantities_are_refused() {
    let refused = |changes: Value| {
        let base = json!({
            "topology": { "kind": "single", "endpoints": 2 }, "traffic": { "load": 0.5, "packet_size": 8 },
        });
        Scenario::from_value(&with(base, changes)).unwrap_err().to_string()
    };
    let times =
        refused(json!({ "router": { "links": { "default": { "latency": "5 us" } } }, "measure": { "cycles": 9 } }));
    assert_eq!(
        times,
        "measure.cycles = 9: a plain number of cycles beside router.links.default.latency = \"5 us\": expected a time \
         such as \"200 ns\", or say what it stands for and write, for example, [units] cycle = \"1 ns\""
    );
    let sizes = refused(json!({ "router": { "links": { "default": { "buffer": "4 KiB" } } } }));
    assert!(sizes.starts_with("traffic.packet_size = 8: a plain number of phits beside"), "{sizes}");
    assert!(sizes.ends_with("[units] phit = \"4 KiB\""), "{sizes}");
    let rates = refused(json!({ "router": { "links": {
        "default": { "bandwidth": "40 Gb/s" }, "endpoint": { "bandwidth": 2 },
    } } }));
    assert!(rates.starts_with("router.links.endpoint.bandwidth"), "{rates}");
    let load = refused(json!({ "traffic": { "load": "40 Gb/s" } }));
    assert!(load.contains("write [router.links.endpoint] bandwidth = \"100 Gb/s\""), "{load}");
    // Rates of links alone say nothing of cycles and phits.
    let rates =
        json!({ "router": { "links": { "default": { "bandwidth": "40 Gb/s" } } }, "traffic": { "load": "10 Gb/s" } });
    let outcome = run(&with(
        json!({
            "topology": { "kind": "single", "endpoints": 2 }, "traffic": { "packet_size": 8 },
            "measure": { "warmup": 100, "cycles": 20_000 },
        }),
        rates,
    ));
    assert_close(number(&outcome, "/accepted_load"), 0.25, 0.01, "a quarter of the link");
}

#[test]
fn awkward_units_come_with_comfortable_ones() {
    let network = |latency: &str, units: Value| {
        json!({
            "topology": { "kind": "single", "endpoints": 2 },
            "units": units,
            "router": { "links": { "default": { "latency": latency, "bandwidth": "100 Gb/s", "buffer": "64 KiB" } } },
            "traffic": { "load": 0.5, "packet_size": "4 KiB" },
            "measure": { "cycles": "1 ms", "warmup": "1 ms" },
        })
    };
    let error = |value: Value| Scenario::from_value(&value).unwrap_err().to_string();
    let uneven = error(network("200 ns", json!({ "cycle": "3 ns", "phit": "1 B" })));
    let latency = "router.links.default.latency: comes to 66.66666666666667 cycles of 3 ns; expected a whole number, \
                   as with \"198 ns\" or \"201 ns\"; or choose [units] cycle = \"1 ns\", or leave them out";
    assert!(uneven.contains(latency), "{uneven}");
    // 327.68 ns for a packet, and 200.003 ns.
    let short = error(network("200.003 ns", json!({})));
    assert!(short.contains("router.links.default.latency = \"200.003 ns\" makes the cycle so short"), "{short}");
}
