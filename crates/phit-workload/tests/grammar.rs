//! Odd and malformed schedules: what becomes of each, beside what LogGOPSim and its `txt2bin` made of it.

use phit_workload::StoredPlan;
use phit_workload::goal;
use phit_workload::host::HostParams;
use phit_workload::network::Ideal;
use phit_workload::run::run;
use std::sync::Arc;

/// LogGOPSim's default parameters.
const HOST: HostParams = HostParams { overhead: 1500, gap: 1000, gap_per_byte: 6, overhead_per_byte: 0, eager: 65535 };

fn outcome(text: &str) -> Result<Vec<u64>, String> {
    let program = goal::read(text.as_bytes()).map_err(|error| error.to_string())?;
    Ok(run(Box::new(StoredPlan::new(Arc::new(program))), HOST, Ideal(|_, _| 2500)).ranks)
}

fn one(body: &str) -> String {
    format!("num_ranks 1\nrank 0 {{\n{body}\n}}\n")
}

fn two(first: &str, second: &str) -> String {
    format!("num_ranks 2\nrank 0 {{\n{first}\n}}\nrank 1 {{\n{second}\n}}\n")
}

/// Schedules that LogGOPSim can read, with equal times.
#[test]
fn what_is_odd_there_is_odd_here() {
    let cases: &[(&str, String, &[u64])] = &[
        ("e09 a rank without operations", two("", "calc 12"), &[0, 12]),
        ("e14 lines that end in CR LF", one("calc 11\r\n").replace('\n', "\r\n"), &[11]),
        ("e16 a label that begins with a keyword", one("recvd: calc 9"), &[9]),
        ("e20 blanks before the colon, or none after it", one("p : calc 10\nq:calc 6\nq requires p"), &[16]),
        ("e23 a dependency twice", one("p: calc 10\nq: calc 6\nq requires p\nq requires p"), &[16]),
    ];
    for (name, text, times) in cases {
        assert_eq!(outcome(text).as_deref(), Ok(*times), "{name}");
    }
}

/// Schedules that LogGOPSim refuses, or reads wrongly, although they have a meaning.
#[test]
fn more_is_read_than_there() {
    // A message of 6 bytes: 2 o + L + 5 G.
    let message = 2 * 1500 + 2500 + 5 * 6;
    let cases: &[(&str, String, &[u64])] = &[
        ("e00 lines that are indented", two("  send 6b to 1", "\trecv 6b from 0"), &[1500, message]),
        ("e01 a label before its line", one("p: calc 2\np requires q\nq: calc 3"), &[5]),
        (
            "e08 ranks in another order",
            "num_ranks 2\nrank 1 {\nrecv 6b from 0\n}\nrank 0 {\nsend 6b to 1\n}\n".into(),
            &[1500, message],
        ),
        ("e10 no operation at all", one(""), &[0]),
        ("e15 a comment after an operation", one("calc 14 // so long"), &[14]),
        ("e28 a comment before an operation", one("/* so long */ calc 14"), &[14]),
    ];
    for (name, text, times) in cases {
        assert_eq!(outcome(text).as_deref(), Ok(*times), "{name}");
    }
}

/// Schedules that are refused. LogGOPSim refuses most of them, too. It reads the last ones in its own way, crashes, or
/// never ends.
#[test]
fn what_means_nothing_is_refused() {
    let cases: &[(&str, String, &str)] = &[
        (
            "e02 options in another order",
            two("send 6b to 1 cpu 0 tag 1", "recv 6b from 0 tag 1"),
            r#"line 3, rank 0: "tag": expected "nic" or the end of the line"#,
        ),
        (
            "e03 a send to any rank",
            two("send 6b to -1 tag 1", "recv 6b from 0 tag 1"),
            r#"line 3, rank 0: "-1": expected a rank, 0 to 1"#,
        ),
        (
            "e04 a calculation on an interface",
            one("calc 6 nic 0"),
            r#"line 3, rank 0: "nic": expected "cpu" or the end of the line"#,
        ),
        (
            "e05 a size without unit",
            two("send 6 to 1", "recv 6b from 0"),
            r#"line 3, rank 0: "to": expected "b" after the size"#,
        ),
        (
            "e12 two operations on a line",
            one("calc 6 calc 7"),
            r#"line 3, rank 0: "calc": expected "cpu" or the end of the line"#,
        ),
        (
            "e13 an operation beside the brace",
            "num_ranks 1\nrank 0 { calc 6\n}\n".into(),
            r#"line 2: "calc": expected the end of the line"#,
        ),
        ("e17 a negative time", one("calc -6"), r#"line 3, rank 0: "-": expected a word or a number"#),
        ("e18 a fraction", one("calc 6.5"), r#"line 3, rank 0: ".": expected a word or a number"#),
        ("e19 a comment of another kind", one("# no\ncalc 6"), r##"line 3: "#": expected a word or a number"##),
        ("e21 a keyword in capitals", one("Calc 6"), r#"line 3, rank 0: "6": expected ":", "requires" or "irequires""#),
        (
            "e22 several dependencies on a line",
            one("p: calc 1\nq: calc 2\nr: calc 3\nr requires p q"),
            r#"line 6: "q": expected the end of the line"#,
        ),
        (
            "e27 no number of ranks",
            "rank 0 {\ncalc 6\n}\n".into(),
            "line 1: expected \"num_ranks\" before the first rank",
        ),
        // There the second operation of that name has none.
        (
            "e06 a label twice",
            one("p: calc 5\np: calc 7\nq: calc 11\nq requires p"),
            r#"line 4, rank 0: label "p" is defined a second time"#,
        ),
        // There the end of the file ends the rank.
        ("e07 no brace at the end", "num_ranks 1\nrank 0 {\ncalc 6\n".into(), "line 2, rank 0: its \"}\" is missing"),
        // There it crashes.
        ("e11 a rank that is none", one("send 6b to 5"), r#"line 3, rank 0: "5": expected a rank, 0 to 0"#),
        (
            "e24 an operation that waits for itself",
            one("p: calc 6\np requires p"),
            "rank 0: operations wait for one another: 0 (calc 6)",
        ),
        // There it never ends.
        (
            "e25 fewer ranks than declared",
            "num_ranks 3\nrank 0 {\ncalc 6\n}\nrank 1 {\n}\n".into(),
            "rank 2: it is missing: num_ranks says 3",
        ),
        // There it is left out.
        (
            "e26 more ranks than declared",
            "num_ranks 1\nrank 0 {\ncalc 6\n}\nrank 1 {\ncalc 600\n}\n".into(),
            "line 5: rank 1: expected a rank below num_ranks = 1",
        ),
    ];
    assert_eq!(cases.len() + 6 + 5, 29, "the cases of LogGOPSim's grammar");
    for (name, text, message) in cases {
        assert_eq!(outcome(text).unwrap_err(), *message, "{name}");
        // Rank by rank, it is the same that is refused, at a line.
        let mut totals = phit_workload::Totals::default();
        assert!(goal::each_rank(text.as_bytes(), &mut totals).is_err(), "{name}");
    }
}
