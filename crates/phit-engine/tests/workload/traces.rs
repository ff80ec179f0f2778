//! Programs read from traces: their times in cycles, and errors for programs that cannot be executed.

use crate::{column, completion, numbers};
use phit_engine::run::{self, Options};
use phit_engine::scenario::Scenario;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

/// An empty folder for this test.
fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("phit-traces-{}-{name}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// A trace of Chakra: the nodes of each rank.
fn chakra(folder: &Path, ranks: &[&[&str]]) -> String {
    for (rank, nodes) in ranks.iter().enumerate() {
        let text = format!("{{\"version\": \"0.0.4\"}}\n{}\n", nodes.join("\n"));
        fs::write(folder.join(format!("step.{rank}.json")), text).unwrap();
    }
    folder.join("step.0.json").display().to_string()
}

/// A call of MPI from `start` to `end`, in nanoseconds, with its parameters a line each.
fn call(name: &str, start: u32, end: u32, lines: &[&str]) -> String {
    let at = |word: &str, time: u32| {
        format!("{name} {word} at walltime 7.{time:09}, cputime 0.000000000 seconds in thread 0.\n")
    };
    let lines: String = lines.iter().map(|line| format!("{line}\n")).collect();
    at("entering", start) + &lines + &at("returning", end)
}

fn scenario(kind: &str, file: &str, cycle: &str) -> Value {
    json!({
        "units": { "cycle": cycle, "phit": "1 B" },
        "topology": { "kind": "single", "endpoints": 3 },
        "router": { "kind": "ideal", "model": "constant", "latency": 10 },
        "workload": { "kind": kind, "file": file },
    })
}

fn error(document: &Value) -> String {
    match Scenario::from_value(document) {
        Err(error) => error.to_string(),
        Ok(scenario) => match run::run(&scenario, Options::default(), &mut |_, _| true) {
            Err(error) => error.to_string(),
            Ok(_) => panic!("no error\n{document}"),
        },
    }
}

const CALC: &str = r#"{"id": "1", "type": "COMP_NODE", "durationMicros": "3"}"#;
const SEND: &str = r#"{"id": "2", "type": "COMM_SEND_NODE", "dataDeps": ["1"], "attr": [
    {"name": "comm_dst", "int64Val": "1"}, {"name": "comm_size", "int64Val": "100"}]}"#;
const RECV: &str = r#"{"id": "5", "name": "halo", "type": "COMM_RECV_NODE", "attr": [
    {"name": "comm_src", "int64Val": "0"}, {"name": "comm_size", "int64Val": "100"}]}"#;
const AFTER: &str = r#"{"id": "6", "type": "COMP_NODE", "durationMicros": "1", "dataDeps": ["5"]}"#;

/// A calculation takes the whole number of cycles next to its nanoseconds, whatever a unit of time is elsewhere.
#[test]
fn nanoseconds_become_cycles() {
    let folder = folder("cycles");
    let file = chakra(&folder, &[&[CALC, SEND], &[RECV, AFTER]]);
    for (cycle, unit, first, second) in [
        ("1 ns", 1, 3000, 1000),
        ("2 ns", 1, 1500, 500),
        ("0.5 ns", 1, 6000, 2000),
        // 428.6 and 142.9.
        ("7 ns", 1, 429, 143),
        // 214.3 and 71.4 of two cycles.
        ("7 ns", 2, 428, 142),
    ] {
        let mut document = scenario("chakra", &file, cycle);
        document["workload"]["time_unit"] = unit.into();
        let outcome = crate::common::run(&document);
        assert_eq!(numbers(&outcome, "ranks", "finish"), [first, first + 10 + second], "{cycle}, {unit}");
    }
    // Likewise for MPI: 900 ns between two calls.
    let bytes =
        ["int count=100", "MPI_Datatype datatype=2 (MPI_CHAR)", "int tag=0", "MPI_Comm comm=2 (MPI_COMM_WORLD)"];
    let with = |peer| bytes.iter().copied().chain([peer]).collect::<Vec<_>>();
    // Both traces are whole: the first calls MPI_Finalize as soon as it has sent.
    let end = call("MPI_Finalize", 1100, 1100, &[]);
    let first = call("MPI_Init", 0, 100, &[]) + &call("MPI_Send", 1000, 1100, &with("int dest=1")) + &end;
    let second = call("MPI_Recv", 500, 5000, &with("int source=0")) + &call("MPI_Finalize", 5070, 5080, &[]);
    fs::write(folder.join("run-0.txt"), first).unwrap();
    fs::write(folder.join("run-1.txt"), second).unwrap();
    let file = folder.join("run-1.txt").display().to_string();
    let outcome = crate::common::run(&scenario("trace", &file, "2 ns"));
    assert_eq!(numbers(&outcome, "ranks", "finish"), [450, 450 + 10 + 35]);
    // Beside another program, and of a job that starts later.
    let mut document = scenario("chakra", "", "2 ns");
    document["workload"] = json!({ "kind": "jobs", "job": [
        { "program": { "kind": "program", "goal": "num_ranks 1\nrank 0 {\ncalc 7\n}\n" } },
        { "program": { "kind": "trace", "file": file }, "start": 20 },
    ] });
    assert_eq!(numbers(&crate::common::run(&document), "ranks", "finish"), [7, 470, 515]);
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn what_cannot_be_executed_is_named() {
    let folder = folder("errors");
    let good = chakra(&folder, &[&[CALC, SEND], &[RECV, AFTER]]);
    let with = |options: Value| {
        let mut document = scenario("chakra", &good, "1 ns");
        document["workload"]["options"] = options;
        document
    };
    let mut untimed = scenario("chakra", &good, "1 ns");
    untimed["units"].as_object_mut().unwrap().remove("cycle");
    for (document, expected) in [
        (untimed, "units.cycle: the times of this program are nanoseconds"),
        (with(json!({ "chunks": 0 })), "workload.options.chunks = 0: expected"),
        (with(json!({ "chonks": 2 })), "did you mean \"chunks\"?"),
        (with(json!({ "dependencies": "control" })), "workload.options.dependencies = \"control\""),
        (
            with(json!({ "compute": { "roofline": { "peak": 0.0, "bandwidth": 1.0 } } })),
            "workload.options.compute.roofline.peak = 0: expected a number above 0",
        ),
        (
            with(json!({ "memory": { "latency": 0.0, "bandwidth": -1.0 } })),
            "workload.options.memory.bandwidth = -1: expected a number above 0",
        ),
        (with(json!({ "combine": -0.5 })), "workload.options.combine = -0.5: expected 0 or more"),
        (scenario("chakra", "no/such.0.et", "1 ns"), "workload.file = \"no/such.0.et\": no/such.0.et: cannot be read"),
        (
            scenario("trace", "no/such-0.txt", "1 ns"),
            "workload.file = \"no/such-0.txt\": no/such-0.txt: cannot be read",
        ),
    ] {
        let error = error(&document);
        assert!(error.contains(expected), "{error}\nshould contain\n{expected}");
    }
    // A receive whose message never comes, and what waits for it.
    let file = chakra(&folder, &[&[CALC], &[RECV, AFTER]]);
    let found = error(&scenario("chakra", &file, "1 ns"));
    for expected in [
        "receives without a message: rank 1, node 5 (receive \"halo\"): recv 100b from 0 tag 2147483648 cpu 2",
        "operations that wait for these: rank 1, node 6 (computation): calc 1000 cpu 1",
    ] {
        assert!(found.contains(expected), "{found}");
    }
    // A type that nobody knows: the file, the rank and the node.
    let file = chakra(&folder, &[&[CALC], &[r#"{"id": "9", "type": 8}"#]]);
    let found = error(&scenario("chakra", &file, "1 ns"));
    assert!(found.contains("step.1.json: line 2, rank 1: node 9 (node): is of type 8, expected 0 to 7"), "{found}");
    // A call that nobody answers, by its line.
    let lines = ["int count=1", "MPI_Datatype datatype=2 (MPI_CHAR)", "int source=0", "int tag=4"];
    let lines: Vec<&str> = lines.into_iter().chain(["MPI_Comm comm=2 (MPI_COMM_WORLD)"]).collect();
    let text = call("MPI_Init", 0, 100, &[]) + &call("MPI_Recv", 1000, 1100, &lines);
    fs::write(folder.join("run-0.txt"), &text).unwrap();
    let found = error(&scenario("trace", &folder.join("run-0.txt").display().to_string(), "1 ns"));
    assert!(found.contains("receives without a message: rank 0, line 3: recv 1b from 0 tag 2147483652"), "{found}");
    fs::write(folder.join("run-0.txt"), text.replace("MPI_Recv", "MPI_Put")).unwrap();
    let found = error(&scenario("trace", &folder.join("run-0.txt").display().to_string(), "1 ns"));
    assert!(found.contains("run-0.txt: line 3, rank 0: MPI_Put: this call is not known to the reader"), "{found}");
    fs::remove_dir_all(folder).unwrap();
}

/// A phase begins when a rank has ended the one before, and the last one ends when the rank has finished.
#[test]
fn phases_are_the_parts_of_a_program() {
    let mut document = scenario("chakra", "", "1 ns");
    document["workload"] = json!({ "kind": "sequence", "times": 2, "steps": [
        { "kind": "calc", "time": 40 },
        { "kind": "incast", "bytes": 8, "ranks": 3 },
    ] });
    document["measure"] = json!({ "phases": true, "tracks": true });
    let outcome = crate::common::run(&document);
    assert_eq!(completion(&outcome), 40 + 10 + 40);
    let tables = outcome.tables();
    let of = |name: &str| numbers(&outcome, "phases", name);
    // Rank 0 waits for the messages of the others, which calculate on: the second ones come when it has done so, too.
    assert_eq!(of("rank"), [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2]);
    assert_eq!(of("phase"), [0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3]);
    assert_eq!(of("start"), [0, 40, 50, 90, 0, 40, 40, 80, 0, 40, 40, 80]);
    assert_eq!(of("end"), [40, 50, 90, 90, 40, 40, 80, 80, 40, 40, 80, 80]);
    assert_eq!(column(&tables, "phases", "kind")[..4], ["calc", "incast", "calc", "incast"]);
    assert_eq!(numbers(&outcome, "tracks", "rank"), [0, 0, 0, 1, 1, 2, 2]);
    assert_eq!(numbers(&outcome, "tracks", "start"), [0, 40, 50, 0, 40, 0, 40]);
    assert_eq!(column(&tables, "tracks", "state")[..3], ["calc", "blocked", "calc"]);
}
