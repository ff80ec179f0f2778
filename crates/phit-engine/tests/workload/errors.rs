//! Programs that cannot be executed are refused, or reported to have no end.

use crate::inline;
use phit_engine::run::{self, Options};
use phit_engine::scenario::Scenario;
use serde_json::{Value, json};

fn error(document: &Value) -> String {
    let run = |scenario: Scenario| run::run(&scenario, Options::default(), &mut |_, _| true);
    match Scenario::from_value(document) {
        Err(error) => error.to_string(),
        Ok(scenario) => match run(scenario) {
            Err(error) => error.to_string(),
            Ok(_) => panic!("no error\n{document}"),
        },
    }
}

const TWO: &str = "num_ranks 2\nrank 0 {\nsend 8b to 1\n}\nrank 1 {\nrecv 8b from 0\n}\n";

/// A calculation of nine units of time, and a message after it.
const LONG: &str = "num_ranks 2\nrank 0 {\na: calc 9\nb: send 8b to 1\nb requires a\n}\nrank 1 {\nrecv 8b from 0\n}\n";

#[test]
fn programs_that_never_end_are_explained() {
    let cases = [
        (
            "num_ranks 2\nrank 0 {\n}\nrank 1 {\ncalc 5\na: recv 8b from 0 tag 4\nb: calc 1\nb requires a\n}\n",
            "the program can never end; receives without a message: rank 1, line 6: recv 8b from 0 tag 4. operations \
             that wait for these: rank 1, line 7: calc 1",
        ),
        (
            "num_ranks 2\nrank 0 {\nsend 8b to 1 tag 2\n}\nrank 1 {\n}\n",
            "the program can never end; messages that no receive has taken: 8 bytes with tag 2 to rank 1, sent by \
             rank 0, line 3",
        ),
        // Each waits for the other's message before it sends its own.
        (
            "num_ranks 2\nrank 0 {\na: recv 8b from 1\nb: send 8b to 1\nb requires a\n}\n\
             rank 1 {\na: recv 8b from 0\nb: send 8b to 0\nb requires a\n}\n",
            "receives without a message: rank 0, line 3: recv 8b from 1; rank 1, line 8: recv 8b from 0",
        ),
        // Each waits until its large message has been taken before it receives.
        (
            "num_ranks 2\nrank 0 {\na: send 70000b to 1\nb: recv 70000b from 1\nb requires a\n}\n\
             rank 1 {\na: send 70000b to 0\nb: recv 70000b from 0\nb requires a\n}\n",
            "messages that no receive has taken: 70000 bytes with tag 0 to rank 0, sent by rank 1, line 8; 70000 bytes",
        ),
    ];
    for (goal, expected) in cases {
        for router in [json!({}), json!({ "kind": "ideal" })] {
            let mut document = inline(2, goal);
            document["router"] = router;
            let error = error(&document);
            assert!(error.contains(expected), "{error}\nshould contain\n{expected}");
        }
    }
}

#[test]
fn scenarios_that_make_no_sense_are_refused() {
    let with = |change: Value| crate::common::with(inline(2, TWO), change);
    let cases = [
        (inline(1, TWO), "workload.placement: the program has 2 ranks; the topology has 1 endpoints"),
        (
            with(json!({ "workload": { "placement": { "kind": "list", "endpoints": [1, 1] } } })),
            "workload.placement: ranks 0 and 1 at endpoint 1: expected one rank at an endpoint",
        ),
        (
            with(json!({ "workload": { "placement": { "kind": "list", "endpoints": [2, 1] } } })),
            "workload.placement.endpoints[0] = 2: expected an endpoint, 0 to 1",
        ),
        (
            with(json!({ "workload": { "placement": { "kind": "list", "endpoints": [1] } } })),
            "workload.placement.endpoints: 1 endpoints are listed; expected one for each of 2 ranks",
        ),
        (
            with(json!({ "workload": { "placement": { "kind": "linear", "first": 1 } } })),
            "workload.placement.first = 1: expected at most 0",
        ),
        (with(json!({ "traffic": { "load": 0.1 } })), "traffic: a [workload] sends its own messages"),
        (with(json!({ "measure": { "warmup": 3 } })), "measure.warmup = 3: a run of a [workload] begins and ends"),
        (
            with(json!({ "measure": { "max_drain": 3 } })),
            "measure.max_drain = 3: a run of a [workload] begins and ends",
        ),
        (with(json!({ "units": { "phit": null } })), "units.phit: the messages of a workload have bytes"),
        (
            with(json!({ "router": { "node": {} }, "routing": "abr", "topology": { "kind": "torus", "dims": [4] } })),
            "router.kind = \"packet_node\": router.node carries traffic that is drawn",
        ),
        (
            json!({ "topology": { "kind": "single", "endpoints": 2 }, "router": { "kind": "ideal" },
                    "traffic": { "load": 0.1 } }),
            "router.kind = \"ideal\": carries the messages of a program",
        ),
        (
            json!({ "topology": { "kind": "single", "endpoints": 2 }, "traffic": { "load": 0.1 },
                    "measure": { "messages": true } }),
            "measure.messages = true: is a table of a [workload]",
        ),
        (json!({ "topology": { "kind": "single", "endpoints": 2 } }), "traffic: this section is required"),
        (
            inline(2, "num_ranks 2\nrank 0 {\nsend 8b to 2\n}\nrank 1 {\n}\n"),
            "workload.goal: line 3, rank 0: \"2\": expected a rank, 0 to 1",
        ),
        (
            with(json!({ "workload": { "kind": "goal", "file": "no/such.goal" } })),
            "workload.file = \"no/such.goal\": cannot be read",
        ),
        (
            with(json!({ "workload": {
                "kind": "collective", "collective": "all_gather", "algorithm": "recursive_doubling", "ranks": 3,
            }, "topology": { "kind": "single", "endpoints": 4 } })),
            "workload.algorithm: all_gather by recursive_doubling needs a power of two of members, not 3",
        ),
        (
            with(json!({ "workload": { "kind": "collective", "collective": "reduce", "root": 7 } })),
            "workload.root = 7: expected a member below 2",
        ),
        (
            with(json!({ "workload": { "kind": "jobs", "job": [
                { "program": { "kind": "program", "goal": TWO } },
                { "program": { "kind": "collective", "collective": "barrier", "ranks": 1 } },
            ] } })),
            "workload.job[1].placement: the program has 1 ranks; 0 endpoints are left by the jobs before it",
        ),
        (
            with(json!({ "topology": { "kind": "single", "endpoints": 5 }, "workload": { "kind": "jobs", "job": [
                { "program": { "kind": "program", "goal": TWO } },
                { "program": { "kind": "program", "goal": TWO }, "placement": { "kind": "list", "endpoints": [4, 1] } },
            ] } })),
            "workload.job[1].placement: rank 1 at endpoint 1, which a job before it has",
        ),
        (
            with(json!({ "topology": { "kind": "single", "endpoints": 5 }, "workload": { "kind": "jobs", "job": [
                { "name": "a", "program": { "kind": "program", "goal": TWO } },
                { "name": "a", "program": { "kind": "program", "goal": TWO } },
            ] } })),
            "workload.job[1].name = \"a\": expected another name",
        ),
        (with(json!({ "workload": { "kind": "jobs", "job": [] } })), "workload.job = []: expected"),
        (
            with(json!({ "workload": { "time_unit": 3_000_000_000u32, "goal": LONG } })),
            "the program goes on beyond cycle 2147483648",
        ),
    ];
    for (mut document, expected) in cases {
        if document["units"]["phit"].is_null() && document.get("units").is_some() {
            document.as_object_mut().unwrap().remove("units");
        }
        let error = error(&document);
        assert!(error.contains(expected), "{error}\nshould contain\n{expected}");
    }
}
