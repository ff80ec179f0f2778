//! A network run by several processes gives the results of one, whatever is in it; what cannot be shared out is refused
//! with the key.

use crate::common::{CHOICES, random, run_with, scenario, together};
use phit_engine::result::Outcome;
use phit_engine::run::{Options, RunError, Simulation};
use proptest::prelude::*;
use serde_json::{Value, json};

fn shown(outcome: &Outcome) -> Value {
    json!({ "summary": outcome.summary(), "tables": outcome.tables() })
}

fn refused(value: &Value, processes: usize) -> String {
    match together::run(&scenario(value), Options::default(), processes) {
        Err(RunError::Scenario(error)) => error.to_string(),
        other => panic!("{value}: {:?}", other.err()),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 30, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn processes_change_nothing(choices in prop::collection::vec(0u32..720_720, CHOICES)) {
        let value = random(&choices);
        let turn = choices[CHOICES - 1] as usize % 6;
        let (processes, threads) = [(2, 1), (3, 1), (2, 2), (2, 1), (4, 1), (2, 1)][turn];
        let options = Options { threads, partitions: [None, Some(5)][turn % 2] };
        match together::run(&scenario(&value), options, processes) {
            Ok(outcome) => {
                let (again, first) = (shown(&outcome), shown(&run_with(&value, Options::default())));
                if again != first {
                    panic!("{processes} processes of {threads} threads\n{value}\n{first}\n{again}");
                }
            }
            // As many as there are routers at least.
            Err(RunError::Scenario(error)) => {
                let few = value["topology"]["kind"] == "single" || processes == 4 || value["topology"]["a"] == 2;
                prop_assert!(few && error.path == "topology.kind", "{}: {}", value, error);
            }
            Err(error) => panic!("{error}\n{value}"),
        }
    }
}

/// A Dragonfly of 9 groups.
fn dragonfly(changes: &Value) -> Value {
    let links = json!({ "default": { "vcs": 6, "buffer": 32, "latency": 5 }, "global": { "latency": 60, "vcs": 6 } });
    crate::common::with(
        json!({
            "topology": { "kind": "dragonfly", "p": 2, "a": 4, "h": 2 },
            "router": { "links": links },
            "traffic": { "load": 0.3, "packet_size": 4 },
            "measure": { "warmup": 300, "cycles": 400, "links": true, "endpoints": true },
        }),
        changes.clone(),
    )
}

#[test]
fn precision_probes_and_control_messages_are_those_of_one_process() {
    let cases = [
        json!({ "measure": { "precision": { "latency_mean": 0.02 }, "max_cycles": 4000, "order": true } }),
        json!({ "routing": "piggyback", "measure": { "probes": [{ "kind": "buffers", "every": 50 }] } }),
        json!({
            "traffic": null,
            "units": { "phit": "4 B" },
            "workload": { "kind": "collective", "collective": "all_to_all", "bytes": 90, "packet_size": 6 },
            "measure": {
                "messages": true, "operations": true, "phases": true, "tracks": true, "warmup": null, "cycles": null,
            },
        }),
        json!({ "routing": { "kind": "contention_base" }, "measure": { "warmup": "auto", "series": { "bin": 50 } } }),
    ];
    for changes in cases {
        let value = dragonfly(&changes);
        let one = shown(&run_with(&value, Options::default()));
        for (processes, threads) in [(2, 1), (3, 2), (9, 1)] {
            let options = Options { threads, partitions: None };
            let outcome = together::run(&scenario(&value), options, processes);
            let outcome = outcome.unwrap_or_else(|error| panic!("{error}\n{value}"));
            assert_eq!(shown(&outcome), one, "{processes} processes: {value}");
        }
    }
}

#[test]
fn each_process_builds_its_own_share() {
    let value = json!({
        "topology": { "kind": "torus", "dims": [16, 16] },
        "router": { "links": { "default": { "vcs": 4, "buffer": 64 } } },
        "traffic": { "load": 0 },
        "measure": { "warmup": 0, "cycles": 1 },
    });
    let build = |team| Simulation::among(&scenario(&value), Options::default(), None, Some(team)).unwrap();
    let bytes = |processes| together::each(processes, |_, team| build(team).share_bytes());
    let whole = bytes(1)[0];
    for processes in [2, 4] {
        for share in bytes(processes) {
            let ideal = whole / processes;
            assert!(share > ideal / 2 && share < ideal * 5 / 4, "{share} of {whole} bytes, {processes} processes");
        }
    }
}

#[test]
fn what_cannot_be_shared_out_names_its_key() {
    let everything = refused(&dragonfly(&json!({ "routing": "ugal_g" })), 2);
    assert!(everything.starts_with("routing.kind = \"ugal_g\": cannot be run by 2 processes"), "{everything}");
    let program = json!({ "kind": "collective", "collective": "all_reduce", "bytes": 90 });
    let torus = json!({ "kind": "torus", "dims": [4] });
    let units = json!({ "phit": "4 B" });
    let ideal =
        refused(&json!({ "topology": torus, "router": { "kind": "ideal" }, "workload": program, "units": units }), 3);
    assert!(ideal.starts_with("router.kind = \"ideal\": cannot be run by 3 processes"), "{ideal}");
    let few = refused(&json!({ "topology": { "kind": "single", "endpoints": 4 }, "traffic": { "load": 0.1 } }), 2);
    assert!(few.starts_with("topology.kind = \"single\": cannot be run by 2 processes"), "{few}");
}

#[test]
fn when_one_process_stops_all_do_and_what_they_measured_stays() {
    let value = dragonfly(&json!({ "measure": { "cycles": 50_000_000 } }));
    let scenario = scenario(&value);
    let stopped = together::each(3, |rank, team| {
        let network = Simulation::among(&scenario, Options::default(), None, Some(team)).unwrap();
        network.run_together(&mut |cycle, _| rank != 1 || cycle < 2000)
    });
    for (rank, outcome) in stopped.into_iter().enumerate() {
        let Err(RunError::Stopped(stopped)) = outcome else { panic!("process {rank}") };
        assert_eq!(stopped.partial.is_some(), rank == 0);
        let packets = stopped.partial.map_or(1, |outcome| outcome.summary()["packets"].as_u64().unwrap());
        assert!(packets > 0);
    }
}

#[test]
fn a_process_that_is_lost_ends_the_others() {
    let value = dragonfly(&json!({ "measure": { "cycles": 50_000_000 } }));
    let scenario = scenario(&value);
    let ended = together::each(3, |rank, team| {
        let network = Simulation::among(&scenario, Options::default(), None, Some(team)).unwrap();
        // The last one leaves without a word.
        (rank < 2).then(|| network.run_together(&mut |_, _| true).unwrap_err())
    });
    let ended: Vec<RunError> = ended.into_iter().flatten().collect();
    assert_eq!(ended.len(), 2);
    for error in ended {
        assert!(matches!(&error, RunError::Parted(parted) if parted.0.contains("has ended")), "{error}");
    }
}
