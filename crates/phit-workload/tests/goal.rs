//! GOAL: what LogGOPSim makes of schedules, the grammar, and round trips.

use phit_workload::goal::{self, binary, text};
use phit_workload::host::HostParams;
use phit_workload::network::Ideal;
use phit_workload::run::{Finish, run};
use phit_workload::{ANY, Action, Operation, Program, RankProgram, StoredPlan, Transfer, Until};
use proptest::prelude::*;
use std::collections::HashMap;
use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/goal")
}

fn schedule(name: &str) -> Result<Program, phit_workload::Error> {
    let plain = folder().join(format!("{name}.goal"));
    let path = if plain.exists() { plain } else { folder().join(format!("{name}.goal.gz")) };
    goal::read(File::open(path).unwrap())
}

/// The outcome of a schedule, in LogGOPSim's words.
fn outcome(finish: &Finish) -> &'static str {
    if !finish.left.receives.is_empty() || !finish.left.messages.is_empty() {
        "queues_not_empty"
    } else if !finish.left.never.is_empty() {
        "finished_but_ops_never_ran"
    } else {
        "finished"
    }
}

/// All times of every rank, to the last unit, except for operations that LogGOPSim starts too early.
#[test]
fn times_are_those_of_loggopsim() {
    let mut compared = 0;
    let mut known: HashMap<String, Arc<Program>> = HashMap::new();
    for line in std::fs::read_to_string(folder().join("runs.csv")).unwrap().lines().skip(1) {
        let columns: Vec<&str> = line.split(',').collect();
        let &[name, l, o, g, gap_per_byte, overhead_per_byte, eager, expected, violations, total, per_rank] =
            &columns[..]
        else {
            panic!("{line}")
        };
        let number = |text: &str| text.parse::<u64>().unwrap();
        // Its circle of dependencies is refused, instead of left where it is.
        if name == "d04_dependency_cycle" {
            let error = schedule(name).unwrap_err().to_string();
            assert_eq!(error, "rank 0: operations wait for one another: 1 (calc 100) for 2 (calc 100)");
            continue;
        }
        let program = known.entry(name.into()).or_insert_with(|| Arc::new(schedule(name).unwrap())).clone();
        let params = HostParams {
            overhead: number(o),
            gap: number(g),
            gap_per_byte: number(gap_per_byte),
            overhead_per_byte: number(overhead_per_byte),
            eager: number(eager),
        };
        let finish = run(Box::new(StoredPlan::new(program)), params, Ideal(|_, _| number(l)));
        // There a receive of fewer bytes than its message leaves the sender waiting for ever.
        if name == "d06_rendezvous_recv_declared_small" {
            assert_eq!(outcome(&finish), "finished");
            continue;
        }
        assert_eq!(outcome(&finish), expected, "{line}");
        if expected == "finished" && violations == "0" {
            assert_eq!(finish.completion(), number(total), "{line}");
            assert_eq!(finish.ranks, per_rank.split(' ').map(number).collect::<Vec<_>>(), "{line}");
            compared += 1;
        }
    }
    assert_eq!(compared, 164);
}

/// With several CPUs, an operation begins when the operations that it waits for have ended, on any CPU.
#[test]
fn dependencies_hold_across_cpus() {
    let program = Arc::new(schedule("m13_two_cpus_cross_dependency").unwrap());
    let params = HostParams { overhead: 1, gap: 1, gap_per_byte: 1, overhead_per_byte: 0, eager: 0 };
    assert_eq!(run(Box::new(StoredPlan::new(program)), params, Ideal(|_, _| 1)).completion(), 1700);
}

fn read(text: &str) -> Result<Program, String> {
    goal::read(text.as_bytes()).map_err(|error| error.to_string())
}

fn in_rank(body: &str) -> Result<Program, String> {
    read(&format!("num_ranks 2\nrank 0 {{\n{body}\n}}\nrank 1 {{\n}}\n"))
}

#[test]
fn the_grammar_is_read() {
    let program = in_rank(
        "  first: calc 5 cpu 2\r\n\tsend 8b to 1 tag -1 // here it goes\n\n/* a comment\n of two lines */\n\
         second : recv 9 b from -1 tag 3 cpu 1 nic 4\nsecond requires third\nthird irequires first\nthird: calc 1",
    )
    .unwrap();
    let shown: Vec<String> = program.of(0).map(|operation| operation.to_string()).collect();
    assert_eq!(shown, ["calc 5 cpu 2", "send 8b to 1 tag -1", "recv 9b from -1 tag 3 cpu 1 nic 4", "calc 1"]);
    let successors = |number| program.successors(0, number).map(|s| (s.operation, s.until)).collect::<Vec<_>>();
    assert_eq!(successors(0), [(3, Until::Started)]);
    assert_eq!(successors(3), [(2, Until::Done)]);
    assert_eq!(program.len(1), 0);
    // Ranks in another order, and one whose name begins with a keyword.
    let program = read("num_ranks 2\nrank 1 {\nsender: calc 7\n}\nrank 0 {\n}\n").unwrap();
    assert_eq!((program.len(0), program.operation(1, 0)), (0, Operation::calc(7)));
    assert_eq!(in_rank("a: calc 1\nb: calc 2\nb requires a\nb requires a").unwrap().waiting(), [0, 2]);
}

#[test]
fn mistakes_are_named_with_line_and_rank() {
    let cases = [
        ("send 5b to 1 cpu 0 tag 1", r#"line 3, rank 0: "tag": expected "nic" or the end of the line"#),
        ("send 3b to -1", r#"line 3, rank 0: "-1": expected a rank, 0 to 1"#),
        ("calc 8 nic 0", r#"line 3, rank 0: "nic": expected "cpu" or the end of the line"#),
        ("send 8 to 1", r#"line 3, rank 0: "to": expected "b" after the size"#),
        ("send 8b to 2", r#"line 3, rank 0: "2": expected a rank, 0 to 1"#),
        ("a: calc 1\na: calc 2", r#"line 4, rank 0: label "a" is defined a second time"#),
        ("calc 10 calc 20", r#"line 3, rank 0: "calc": expected "cpu" or the end of the line"#),
        ("calc -5", r#"line 3, rank 0: "-": expected a word or a number"#),
        ("calc 5.5", r#"line 3, rank 0: ".": expected a word or a number"#),
        ("# x", r##"line 3: "#": expected a word or a number"##),
        ("Calc 10", r#"line 3, rank 0: "10": expected ":", "requires" or "irequires""#),
        ("a: calc 1\na requires b", r#"line 4, rank 0: label "b" is not defined"#),
        ("a: calc 1\na requires a a", r#"line 4: "a": expected the end of the line"#),
        ("a: calc 1\na requires a", "rank 0: operations wait for one another: 0 (calc 1)"),
        ("/* x */ calc 1 /* y */ calc 2", "line 3: expected one statement on a line"),
        ("a: requires b", r#"line 3, rank 0: "requires": expected "calc", "send" or "recv""#),
        (
            "calc 18446744073709551616",
            r#"line 3, rank 0: "18446744073709551616": expected a time, 0 to 18446744073709551615"#,
        ),
        ("}\nrank 0 {", "line 4: rank 0 is given a second time"),
        ("}\nrank 2 {", "line 4: rank 2: expected a rank below num_ranks = 2"),
        ("/* open", "line 6, rank 0: its \"}\" is missing"),
    ];
    for (body, expected) in cases {
        let error = in_rank(body).unwrap_err();
        // A rank whose end is missing is named by its first line.
        let expected = expected.replace("line 6, rank 0: its", "line 2, rank 0: its");
        assert_eq!(error, expected, "{body}");
    }
    assert_eq!(read("rank 0 {\n}\n").unwrap_err(), "line 1: expected \"num_ranks\" before the first rank");
    assert_eq!(read("num_ranks 2\nrank 0 {\n}\n").unwrap_err(), "rank 1: it is missing: num_ranks says 2");
    assert_eq!(read("rank 0 { calc 1\n").unwrap_err(), "line 1: expected \"num_ranks\" before the first rank");
    assert_eq!(read("num_ranks 1\nrank 0 { calc 1\n").unwrap_err(), r#"line 2: "calc": expected the end of the line"#);
    assert_eq!(read("").unwrap_err(), "expected \"num_ranks\"");
}

/// A program takes 24 bytes an operation and 4 a dependency, and while it is read an eighth more at most.
#[test]
fn programs_take_little_room() {
    let mut body = String::from("a0: calc 1\n");
    (1..400).for_each(|k| body += &format!("a{k}: calc {k}\na{k} requires a{}\n", k - 1));
    let ranks: String = (0..50).map(|rank| format!("rank {rank} {{\n{body}}}\n")).collect();
    let program = read(&format!("num_ranks 50\n{ranks}")).unwrap();
    assert_eq!((program.operations(), program.dependencies()), (20_000, 19_950));
    assert!(program.bytes() <= 32 * 20_000, "{}", program.bytes());
    let mut kept = Program::new(0);
    program.each_rank(&mut kept).unwrap();
    assert!(kept.bytes() <= program.bytes() * 9 / 8 + 64, "{}", kept.bytes());
    assert_eq!(kept, program);
}

#[test]
fn lines_of_operations_are_found_again() {
    let text = "num_ranks 2\nrank 1 {\ncalc 1\n}\n// nothing\nrank 0 {\n\ncalc 2\na: calc 3\n}\n";
    let line = |rank, number| text::line_of(text.as_bytes(), rank, number).unwrap();
    assert_eq!([line(1, 0), line(0, 0), line(0, 1), line(0, 2)], [Some(3), Some(8), Some(9), None]);
}

#[test]
fn spoilt_binary_files_are_refused() {
    let program = schedule("m01_pingpong_1b").unwrap();
    let mut bytes = vec![];
    binary::write(&mut bytes, |ranks| program.each_rank(ranks)).unwrap();
    for length in 0..bytes.len() {
        assert!(goal::read(&bytes[..length]).is_err(), "{length} bytes");
    }
    // No byte that is changed leads to a panic.
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut changed = bytes.clone();
            changed[at] ^= 1 << bit;
            let _ = goal::read(&changed[..]);
        }
    }
    let mut spoilt = bytes.clone();
    spoilt[..8].copy_from_slice(&2342u64.to_le_bytes());
    let error = goal::read(&spoilt[..]).unwrap_err().to_string();
    assert_eq!(error, "LogGOPSim has overwritten this file while it ran (--save-mem)");
}

/// The example of the format: one rank with two calculations, the second after the first.
#[test]
fn the_binary_form_is_loggopsims() {
    let mut bytes = vec![];
    let program = schedule("m13_two_cpus_cross_dependency").unwrap();
    binary::write(&mut bytes, |ranks| program.each_rank(ranks)).unwrap();
    let expected = "7f10000000000000 01000000 01 00 1600000000000000 7400000000000000 02000000 01000000 00000000 \
        00000000 03 00000000 e803000000000000 00000000 00 00 01000000 00000000 00000000 01000000 \
        01000000 03 00000000 bc02000000000000 00000000 01 00 00000000 01000000 00000000 01000000 01000000";
    let shown: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(shown, expected.replace(' ', ""));
}

fn operation(ranks: u32) -> impl Strategy<Value = Operation> {
    let tag = prop_oneof![Just(0), Just(ANY), 1..ANY];
    let size = prop_oneof![Just(0), Just(u64::MAX), 1..1_000_000u64];
    let any = prop_oneof![3 => 0..ranks, 1 => Just(ANY)];
    (0..3, size, 0..ranks, any, tag, 0..4u8, 0..3u8).prop_map(|(kind, bytes, peer, any, tag, cpu, nic)| {
        let (action, nic) = match kind {
            0 => (Action::Calc(bytes), 0),
            1 => (Action::Send(Transfer { bytes, peer, tag }), nic),
            _ => (Action::Recv(Transfer { bytes, peer: any, tag }), nic),
        };
        Operation { action, cpu, nic }
    })
}

fn program() -> impl Strategy<Value = Program> {
    (1..5u32)
        .prop_flat_map(|ranks| {
            let edges = prop::collection::vec(
                (any::<prop::sample::Index>(), any::<prop::sample::Index>(), any::<bool>()),
                0..30,
            );
            let rank = (prop::collection::vec(operation(ranks), 0..20), edges);
            prop::collection::vec(rank, ranks as usize)
        })
        .prop_map(|ranks| {
            let mut program = Program::new(ranks.len() as u32);
            for (rank, (operations, edges)) in (0..).zip(ranks) {
                let mut list = RankProgram::default();
                let count = operations.len();
                for operation in operations {
                    list.push(operation);
                }
                for (a, b, started) in edges.into_iter().filter(|_| count > 1) {
                    let (a, b) = (a.index(count) as u32, b.index(count) as u32);
                    if a != b {
                        list.order(a.min(b), a.max(b), if started { Until::Started } else { Until::Done });
                    }
                }
                program.set(rank, list);
            }
            program
        })
}

proptest! {
    #[test]
    fn what_is_written_is_read_again(program in program()) {
        let mut written = vec![];
        program.each_rank(&mut text::Writer::new(&mut written)).unwrap();
        prop_assert_eq!(&goal::read(&written[..]).unwrap(), &program);
        let mut written = vec![];
        binary::write(&mut written, |ranks| program.each_rank(ranks)).unwrap();
        let read = goal::read(&written[..]).unwrap();
        // In the binary form, successors of an operation's end precede successors of its start.
        for rank in 0..program.ranks() {
            prop_assert!(program.of(rank).eq(read.of(rank)));
            for number in 0..program.len(rank) {
                let of = |program: &Program| {
                    let mut found: Vec<_> = program.successors(rank, number).collect();
                    found.sort_by_key(|successor| successor.until == Until::Started);
                    found
                };
                prop_assert_eq!(of(&program), of(&read));
            }
        }
    }
}
