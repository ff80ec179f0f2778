//! The worked examples of CONTRIBUTING.md, of the page on triggers and of the crates, run from outside the engine.

mod busy;
mod butterfly;
mod first_program;
mod first_run;
mod o1turn;
mod ring;
mod statistical;

use busy::BusyProbe;
use butterfly::Butterfly;
use o1turn::O1Turn;
use phit_engine::probes::ProbeKind;
use phit_engine::proof::{Flaw, Legs, check};
use phit_engine::routing::RoutingKind;
use phit_engine::run::{self, Options};
use phit_engine::scenario::Scenario;
use phit_engine::topology::{TopologyKind, TopologyParams};
use phit_engine::traffic::PatternKind;
use ring::Ring;
use serde_json::{Map, Value, json};
use statistical::Statistical;

fn scenario(value: Value) -> Scenario {
    Scenario::from_value(&value).unwrap_or_else(|e| panic!("{e}"))
}

fn run(scenario: &Scenario) -> Map<String, Value> {
    run::run(scenario, Options::default(), &mut |_, _| true).unwrap_or_else(|e| panic!("{e}")).summary()
}

fn number(summary: &Map<String, Value>, key: &str) -> f64 {
    summary[key].as_f64().unwrap_or_else(|| panic!("{key}: {}", summary[key]))
}

/// Runs a ring of eight routers with one endpoint each.
fn on_a_ring(traffic: Value) -> Scenario {
    let mut scenario = scenario(json!({
        "topology": { "kind": "single", "endpoints": 1 },
        "router": { "links": { "ring": { "latency": 4, "vcs": 2 } } },
        "traffic": traffic,
        "measure": { "warmup": 0, "cycles": 400_000, "histogram": true },
    }));
    scenario.topology = TopologyKind::custom("ring", Ring { routers: 8 });
    scenario
}

/// The code of the section "Example" in the documentation of a `lib.rs`.
fn example(documentation: &str) -> String {
    let lines = documentation.lines().map_while(|line| line.strip_prefix("//!"));
    let after = lines.skip_while(|line| *line != " # Example").skip_while(|line| *line != " ```").skip(1);
    after
        .take_while(|line| *line != " ```")
        .map(|line| line.strip_prefix(' ').unwrap_or(line).to_owned() + "\n")
        .collect()
}

#[test]
fn the_examples_of_the_crates_run() {
    assert_eq!(example(include_str!("../../src/lib.rs")), include_str!("first_run.rs"));
    first_run::main().unwrap();
    assert_eq!(example(include_str!("../../../phit-workload/src/lib.rs")), include_str!("first_program.rs"));
    first_program::main().unwrap();
}

#[test]
fn packets_take_the_shorter_way_round_the_ring() {
    for (offset, distance) in [(1, 1), (3, 3), (4, 4), (6, 2), (-1, 1)] {
        let pattern = json!({ "kind": "shift", "offset": offset });
        let summary = run(&on_a_ring(json!({ "pattern": pattern, "load": 0.001 })));
        // One cycle to the endpoint's link and one over it, one in each router, four over each link between them, one
        // to the endpoint, one for the phit itself. So few packets hardly ever meet.
        assert_eq!(number(&summary, "hops_mean"), f64::from(distance));
        assert_eq!(number(&summary, "latency_p50"), f64::from(1 + 1 + (distance + 1) + 4 * distance + 1 + 1));
    }
}

#[test]
fn the_ring_is_free_of_deadlock_with_a_dateline_only() {
    let ring = Ring { routers: 8 }.build().unwrap();
    assert!(check(&*ring, Legs::Minimal, &[1, 2]).is_ok());
    assert!(check(&*ring, Legs::ToRouter, &[1, 4]).is_ok());
    assert!(matches!(check(&*ring, Legs::ToRouter, &[1, 2]), Err(Flaw::Cycle(_))));
    let mut short = on_a_ring(json!({ "load": 0.1 }));
    short.router = scenario(json!({
        "topology": { "kind": "single", "endpoints": 1 },
        "router": { "links": { "ring": { "vcs": 1 } } },
        "traffic": { "load": 0.1 },
    }))
    .router;
    let refused = run::prepare(&short).err().unwrap().to_string();
    assert!(refused.starts_with("router.links.ring.vcs = 1: routing \"minimal\" needs at least 2"), "{refused}");
}

/// Transpose on a mesh of 8 x 8. With the order x, y, the packets of row r turn at the diagonal. The busiest link, into
/// router (7, 7), carries the packets of the seven other routers. With both orders, one order fills the links of a row
/// on one side of the diagonal, and the other order those on the other side. Each has half of the packets, so the
/// busiest link carries 7/2.
#[test]
fn o1turn_halves_the_load_of_the_busiest_link() {
    let transpose = |routing: Option<O1Turn>, load: f64, cycles: u32| {
        let mut scenario = scenario(json!({
            "topology": { "kind": "mesh", "dims": [8, 8] },
            "router": { "links": { "default": { "vcs": 4 } } },
            "routing": "dimension_order",
            "traffic": { "pattern": "transpose", "load": load },
            "measure": { "warmup": 1000, "cycles": cycles },
        }));
        if let Some(params) = routing {
            scenario.routing = RoutingKind::custom("o1turn", params);
        }
        run(&scenario)
    };
    let busiest = |summary: &Map<String, Value>| {
        let of = |class: &str| summary["link_utilisation"][class]["max"].as_f64().unwrap();
        of("dim0").max(of("dim1"))
    };
    let load = 0.1;
    let (fixed, drawn) = (transpose(None, load, 50_000), transpose(Some(O1Turn::default()), load, 50_000));
    // 35,000 or 17,500 packets over that link: five standard deviations are 3 % and 4 %.
    assert!((busiest(&fixed) / (7.0 * load) - 1.0).abs() < 0.03, "{}", busiest(&fixed));
    assert!((busiest(&drawn) / (3.5 * load) - 1.0).abs() < 0.04, "{}", busiest(&drawn));
    let difference = number(&fixed, "hops_mean") / number(&drawn, "hops_mean") - 1.0;
    assert!(difference.abs() < 0.01, "both are minimal: {difference}");
    // Above 1/7 the one order cannot carry the load; below 2/7 the two together can.
    assert_eq!(transpose(None, 0.2, 6000)["saturated"], true);
    assert_eq!(transpose(Some(O1Turn::default()), 0.2, 6000)["saturated"], false);
    // All packets along x first is dimension order again; a quarter of the packets, so twice the deviation.
    assert!((busiest(&transpose(Some(O1Turn { x_first: 1.0 }), load, 12_500)) / (7.0 * load) - 1.0).abs() < 0.06);
}

#[test]
fn o1turn_needs_two_dimensions() {
    let mut line = scenario(json!({
        "topology": { "kind": "mesh", "dims": [8] },
        "traffic": { "load": 0.1 },
    }));
    line.routing = RoutingKind::custom("o1turn", O1Turn::default());
    let refused = run::prepare(&line).err().unwrap().to_string();
    assert_eq!(refused, "routing.kind = \"o1turn\": needs a mesh, torus or hyperx of two dimensions");
}

/// With three bits, 1 and 4 send to each other and so do 3 and 6, all of them three hops round a ring of eight; the
/// other four endpoints send to themselves.
#[test]
fn the_butterfly_exchanges_the_first_and_the_last_bit() {
    let mut scenario = on_a_ring(json!({ "load": 0.01, "process": "periodic" }));
    scenario.traffic.pattern = PatternKind::custom("butterfly", Butterfly {});
    let outcome = run::run(&scenario, Options::default(), &mut |_, _| true).unwrap_or_else(|e| panic!("{e}"));
    let hops = number(&outcome.summary(), "hops_mean");
    assert!((hops - 4.0 * 3.0 / 8.0).abs() < 0.001, "{hops}");
    assert_eq!(outcome.scenario().to_value()["traffic"]["pattern"], json!({ "kind": "butterfly" }));
}

/// A Dragonfly of 72 endpoints.
fn on_a_dragonfly(pattern: Value, load: f64) -> Scenario {
    scenario(json!({
        "topology": { "kind": "dragonfly", "p": 2, "a": 4, "h": 2 },
        "router": {
            "latency": 5, "speedup": 2, "output_buffer": 32, "transit_priority": true,
            "links": {
                "endpoint": { "vcs": 3 },
                "local": { "latency": 10, "vcs": 3, "buffer": 32 },
                "global": { "latency": 100, "vcs": 2, "buffer": 256 },
            },
        },
        "traffic": { "pattern": pattern, "load": load, "packet_size": 8 },
        "measure": { "warmup": 2000, "cycles": 6000 },
    }))
}

#[test]
fn the_statistical_trigger_keeps_minimal_routes_in_use() {
    let misrouted = |pattern: Value, load: f64, params: Statistical| {
        let mut scenario = on_a_dragonfly(pattern, load);
        scenario.routing = RoutingKind::custom("statistical", params);
        let summary = run(&scenario);
        (number(&summary, "misrouted_globally"), number(&summary, "accepted_load"))
    };
    let adversarial = json!({ "kind": "adversarial", "offset": 1 });
    let (quiet, _) = misrouted(json!("uniform"), 0.1, Statistical::default());
    let (gentle, much) = misrouted(adversarial.clone(), 0.3, Statistical { first: 1, last: 9 });
    let (abrupt, _) = misrouted(adversarial, 0.3, Statistical { first: 1, last: 2 });
    assert!(quiet < 0.01, "uniform traffic does not contend: {quiet}");
    assert!(much > 0.29, "the minimal link alone carries 1/8: {much}");
    assert!(gentle + 0.02 < abrupt, "a gentle slope leaves more packets on the minimal link: {gentle} {abrupt}");
    let mut wrong = on_a_dragonfly(json!("uniform"), 0.1);
    wrong.routing = RoutingKind::custom("statistical", Statistical { first: 3, last: 3 });
    let refused = run::prepare(&wrong).err().unwrap().to_string();
    assert_eq!(refused, "routing.last = 3: expected more than `first` = 3");
}

#[test]
fn kinds_that_a_program_adds_are_kinds_like_any_other() {
    assert!(RoutingKind::add::<Statistical>("statistical"));
    assert!(TopologyKind::add::<Ring>("ring"));
    // The first kind of a name stays, and the engine's own kinds are not replaced.
    assert!(!RoutingKind::add::<O1Turn>("statistical"));
    assert!(!RoutingKind::add::<O1Turn>("minimal"));
    assert_eq!(RoutingKind::kinds().last(), Some(&"statistical"));
    let (kind, schema) = RoutingKind::schemas().pop().unwrap();
    assert_eq!((kind, &schema.as_value()["properties"]["last"]["default"]), ("statistical", &json!(9)));

    let adversarial = json!({ "kind": "adversarial", "offset": 1 });
    let mut document = on_a_dragonfly(adversarial.clone(), 0.3).to_value();
    document["routing"] = json!({ "kind": "statistical", "first": 1 });
    let named = run(&scenario(document.clone()));
    let mut custom = on_a_dragonfly(adversarial, 0.3);
    custom.routing = RoutingKind::custom("statistical", Statistical { first: 1, last: 9 });
    assert_eq!(named, run(&custom));
    let read = scenario(document.clone());
    assert_eq!(read.routing.to_value(), json!({ "kind": "statistical", "first": 1, "last": 9 }));
    assert_eq!(scenario(read.to_value()), read);

    let mut refused = |routing: Value| {
        document["routing"] = routing;
        Scenario::from_value(&document).err().map(|error| error.to_string()).unwrap_or_default()
    };
    let slip = refused(json!({ "kind": "statistical", "frist": 1 }));
    assert!(slip.contains("did you mean \"first\""), "{slip}");
    let slip = refused(json!("statistcal"));
    assert!(slip.contains("did you mean \"statistical\""), "{slip}");
    // Bounds of its schema are checked like those of other kinds.
    let ring = json!({ "topology": { "kind": "ring", "routers": -1 }, "traffic": { "load": 0.1 } });
    let outside = Scenario::from_value(&ring).err().map(|error| error.to_string()).unwrap_or_default();
    assert!(outside.starts_with("topology.routers = -1: expected"), "{outside}");
}

#[test]
fn busy_queues_hold_what_the_buffers_hold() {
    let mut scenario = on_a_ring(json!({ "load": 0.3 }));
    scenario.measure.cycles = 10_000;
    scenario.measure.probes = vec![
        ProbeKind::custom("busy", BusyProbe { every: 10 }),
        ProbeKind::from_value("", &json!({ "kind": "buffers", "every": 10 })).unwrap(),
    ];
    let outcome = run::run(&scenario, Options::default(), &mut |_, _| true).unwrap_or_else(|e| panic!("{e}"));
    let table = &outcome.tables()["probes"];
    let column = |name: &str| table[name].as_array().unwrap().clone();
    // Eight routers with two ports to the ring, of two channels each, in every one of a thousand looks.
    let rows = column("quantity").into_iter().zip(column("class")).zip(column("count"));
    let counts = rows.filter(|(row, _)| *row == (json!("busy"), json!("ring"))).map(|(_, count)| count);
    assert_eq!(counts.collect::<Vec<_>>(), vec![json!(8 * 2 * 2); 1000]);
    // A packet is one phit, so that a busy queue holds from one up to as many as its buffer.
    let means = &outcome.summary()["probes"];
    let (busy, held) = (means["busy ring"].as_f64().unwrap(), means["input ring"].as_f64().unwrap());
    let buffer = f64::from(scenario.router.params().links()["ring"].buffer.or_huge());
    assert!(0.0 < busy && busy <= held && held <= busy * buffer, "{busy} busy, {held} phits");
}
