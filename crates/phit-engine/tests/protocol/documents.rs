//! A document means the same in each notation, and with all defaults; and its demands stay within the engine's
//! counters.

use crate::common::{number, run, scenario, with};
use phit_engine::run::{Options, RunError, Simulation, needs};
use phit_engine::scenario::Scenario;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Map, Value, json};
use std::time::Instant;

fn completed(value: &Value) -> Value {
    serde_json::from_str(&scenario(value).to_value().to_string()).unwrap()
}

/// A network whose links to endpoints say that they say nothing of credits.
fn explicit() -> Value {
    json!({
        "topology": { "kind": "torus", "dims": [4, 4] },
        "router": { "links": {
            "default": { "latency": 2, "vcs": 2, "buffer": 8, "credit_latency": 60 },
            "endpoint": { "latency": 1, "vcs": 1, "buffer": 8, "credit_latency": null },
        } },
        "traffic": { "load": 0.9, "packet_size": 4 },
        "measure": { "warmup": 200, "cycles": 500 },
    })
}

#[test]
fn a_key_that_is_null_is_left_out() {
    let mut bare = explicit();
    bare["router"]["links"]["endpoint"].as_object_mut().unwrap().shift_remove("credit_latency");
    assert_eq!(scenario(&explicit()), scenario(&bare));
    assert_eq!(scenario(&completed(&explicit())), scenario(&bare));
    let latency = |value: &Value| number(&run(value), "/latency_mean");
    assert_eq!(latency(&explicit()), latency(&completed(&explicit())));
    let workload = with(explicit(), json!({ "workload": null, "seed": null, "measure": { "series": null } }));
    assert_eq!(scenario(&workload), scenario(&bare));
    let missing = with(explicit(), json!({ "traffic": { "load": null } }));
    assert_eq!(Scenario::from_value(&missing).unwrap_err().path, "traffic.load");
}

#[test]
fn a_list_is_no_table() {
    for (place, list) in
        [("/measure", json!([1000])), ("/router/links/default", json!([3])), ("/traffic/requests", json!([1]))]
    {
        let mut value = explicit();
        let (table, key) = place.rsplit_once('/').unwrap();
        value.pointer_mut(table).unwrap()[key] = list;
        let error = Scenario::from_value(&value).unwrap_err();
        assert!(error.to_string().contains("expected a table"), "{error}");
        assert_eq!(error.path, place[1..].replace('/', "."));
    }
}

#[test]
fn one_measured_cycle_is_one() {
    let value = with(explicit(), json!({ "measure": { "cycles": 1 } }));
    assert_eq!(scenario(&completed(&value)), scenario(&value));
    let batches = with(explicit(), json!({ "measure": { "cycles": 3, "batches": 4 } }));
    assert_eq!(Scenario::from_value(&batches).unwrap_err().path, "measure.batches");
}

#[test]
fn what_is_filled_in_is_the_same_document() {
    let mut runner = TestRunner::new(Config { cases: 60, ..Config::default() });
    let choices = proptest::collection::vec(proptest::num::u32::ANY, crate::common::CHOICES);
    let result = runner.run(&choices, |choices| {
        let mut value = crate::common::random(&choices);
        // Any number of binary digits, as a user's program may compute it.
        value["traffic"]["load"] = json!(f64::from(choices[0]) / f64::from(u32::MAX) * 0.5);
        let once = completed(&value);
        proptest::prop_assert_eq!(&completed(&once), &once);
        proptest::prop_assert_eq!(scenario(&once), scenario(&value));
        Ok(())
    });
    result.unwrap_or_else(|failed| panic!("{failed}"));
}

/// A Dragonfly under traffic from each group to the next.
fn dragonfly(routing: Value) -> Value {
    json!({
        "topology": { "kind": "dragonfly", "p": 2, "a": 4, "h": 2 },
        "routing": routing,
        "router": { "links": {
            "local": { "latency": 2, "vcs": 4, "buffer": 32 },
            "global": { "latency": 5, "vcs": 2, "buffer": 32 },
        } },
        "traffic": { "load": 0.5, "packet_size": 8, "pattern": { "kind": "adversarial", "offset": 1 } },
        "measure": { "warmup": 300, "cycles": 600, "series": { "by": "window", "bin": 50 } },
    })
}

fn results(value: &Value) -> (Map<String, Value>, Map<String, Value>) {
    let outcome = run(value);
    (outcome.summary(), outcome.tables())
}

#[test]
fn thresholds_in_packets_do_not_wrap() {
    let piggyback =
        |packets: u32| dragonfly(json!({ "kind": "piggyback", "coefficient": 0.0, "global_threshold": packets }));
    // 2^29 packets of 8 phits are 2^32 phits.
    assert_eq!(results(&piggyback(1 << 29)), results(&piggyback((1 << 29) - 1)));
    assert_ne!(results(&piggyback(1 << 29)), results(&piggyback(0)));
    let olm =
        |packets: u32| dragonfly(json!({ "kind": "olm", "restriction": { "coefficient": 0.5, "packets": packets } }));
    assert_eq!(results(&olm(1 << 29)), results(&olm((1 << 29) - 1)));
    assert_ne!(results(&olm(1 << 29)), results(&olm(0)));
    let late = with(
        dragonfly(json!("minimal")),
        json!({ "router": { "links": {
        "endpoint": { "ejection_latency": u32::MAX },
    } } }),
    );
    assert_eq!(Scenario::from_value(&late).unwrap_err().path, "router.links.endpoint.ejection_latency");
}

#[test]
fn a_queue_at_the_limit_is_not_beyond_it() {
    // A queue of a global port holds four packets: more than three of them are four, more than four are none.
    let beyond = |packets: u32| {
        results(&dragonfly(json!({ "kind": "piggyback", "coefficient": 0.0, "global_threshold": packets })))
    };
    assert_eq!(beyond(4), beyond(1000));
    assert_ne!(beyond(3), beyond(4));
}

#[test]
fn a_message_of_34_gb_is_counted_and_not_walked_through() {
    let start = Instant::now();
    let value = json!({
        "topology": { "kind": "torus", "dims": [4, 4] },
        "traffic": { "packet_size": 8, "trace": [[10, 0, 3, u32::MAX], [10, 1, 3, 17], [70, 1, 3, 100]] },
        "measure": { "warmup": 0, "cycles": 50 },
    });
    let outcome = run(&value);
    let offered = (f64::from(u32::MAX) + 17.0) / 16.0 / 50.0;
    assert!((outcome.offered_load() - offered).abs() < 1e-6 * offered, "{}", outcome.offered_load());
    let messages = with(
        explicit(),
        json!({
            "traffic": { "load": 1.0, "process": "periodic", "message": { "packets": 1_000_000 } },
            "measure": { "warmup": 0, "cycles": 50 },
        }),
    );
    assert!(run(&messages).offered_load() >= 0.0);
    assert!(start.elapsed().as_secs() < 10, "{:?}", start.elapsed());
}

#[test]
fn what_a_stopped_run_has_measured_is_that_of_a_shorter_one() {
    let long = with(dragonfly(json!("piggyback")), json!({ "measure": { "cycles": 6000, "batches": 300 } }));
    let mut stopped = None;
    let result = Simulation::new(&scenario(&long), Options::default()).unwrap().run(&mut |done, _| {
        stopped = Some(done);
        done < 900
    });
    let Err(RunError::Stopped(error)) = result else { panic!("{result:?}") };
    let partial = error.partial.unwrap();
    let cycles = stopped.unwrap() - 300;
    let short = run(&with(long.clone(), json!({ "measure": { "cycles": cycles, "batches": cycles / 20 } })));
    assert!(partial.stopped() && !short.stopped());
    for key in ["cycles", "packets", "offered_load", "accepted_load", "latency_mean", "hops_mean", "misrouted"] {
        assert_eq!(partial.summary()[key], short.summary()[key], "{key}");
    }
    assert_eq!(partial.summary()["converged"], json!(false));
    assert_eq!(partial.tables()["batches"], short.tables()["batches"]);
}

#[test]
fn what_does_not_fit_is_refused_with_the_numbers() {
    let huge = json!({
        "topology": { "kind": "torus", "dims": [90, 90, 90] },
        "traffic": { "load": 0.1, "packet_size": 8 },
    });
    let refused = Simulation::within(&scenario(&huge), Options::default(), Some(1 << 30)).map(|_| ()).unwrap_err();
    assert_eq!(refused.path, "topology");
    let words = refused.to_string();
    assert!(words.contains("729,000 endpoints and 729,000 routers take about") && words.contains("1.1 GB"), "{words}");
    let graph = json!({
        "topology": { "kind": "jellyfish", "routers": 60_000, "links": 3 },
        "traffic": { "load": 0.1 },
    });
    let refused = Simulation::within(&scenario(&graph), Options::default(), Some(1 << 30)).map(|_| ()).unwrap_err();
    assert!(refused.to_string().contains("its graph alone takes about 3.6 GB"), "{refused}");
    assert!(needs(&scenario(&explicit())).unwrap().bytes() < 2e6);
}
