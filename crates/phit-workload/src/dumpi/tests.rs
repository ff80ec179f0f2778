use super::*;
use crate::collective::Algorithm;
use std::fmt::Write as _;

/// A call from `start` to `end`, in microseconds, with its parameters a line each.
fn call(name: &str, start: u64, end: u64, lines: &[&str]) -> String {
    let at = |word, time: u64| {
        let (seconds, part) = (time / 1_000_000, time % 1_000_000 * 1000);
        format!("{name} {word} at walltime {seconds}.{part:09}, cputime 0.000000000 seconds in thread 0.\n")
    };
    let mut text = at("entering", start);
    lines.iter().for_each(|line| writeln!(text, "{line}").unwrap());
    text + &at("returning", end)
}

const WORLD: &str = "MPI_Comm comm=2 (MPI_COMM_WORLD)";
const DOUBLE: &str = "MPI_Datatype datatype=11 (MPI_DOUBLE)";

fn read(ranks: &[String]) -> Result<Program, String> {
    let parsed: Result<Vec<_>, Error> = (0..)
        .zip(ranks)
        .map(|(rank, text)| {
            let input = Box::new(BufReader::new(std::io::Cursor::new(text.clone().into_bytes())));
            calls(input, ranks.len() as u32).map(|calls| calls.all).map_err(|error| error.of(rank))
        })
        .collect();
    let options = Options { algorithms: [(Collective::Barrier, Algorithm::Direct)].into(), ..Options::default() };
    let program = parsed
        .and_then(|calls| assemble(calls, &options))
        .map(|noted| noted.program)
        .map_err(|error| error.to_string())?;
    program.check().unwrap();
    Ok(program)
}

fn shown(program: &Program, rank: u32) -> Vec<String> {
    program.of(rank).map(|operation| operation.to_string()).collect()
}

/// The operations that each operation of a rank waits for.
fn waits(program: &Program, rank: u32) -> Vec<Vec<u32>> {
    let mut all = vec![vec![]; program.len(rank) as usize];
    program.rank(rank).dependencies().for_each(|(before, after, _)| all[after as usize].push(before));
    all
}

#[test]
fn calls_become_operations_with_the_time_between_them() {
    let init = call("MPI_Init", 1_000_000, 1_000_010, &["int argc=1", "string argv[1]=<IGNORED>"]);
    let first = init.clone()
        + &call(
            "MPI_Irecv",
            1_000_015,
            1_000_016,
            &[
                "int count=4",
                DOUBLE,
                "int source=-1 (MPI_ANY_SOURCE)",
                "int tag=-1 (MPI_ANY_TAG)",
                WORLD,
                "MPI_Request request=[5]",
            ],
        )
        + &call("MPI_Send", 1_000_018, 1_000_050, &["int count=100", DOUBLE, "int dest=1", "int tag=7", WORLD])
        + &call(
            "MPI_Waitall",
            1_000_050,
            1_000_060,
            &["int count=2", "MPI_Request requests[2]=[5, 0]", "MPI_Status statuses[2]=<IGNORED>"],
        )
        + &call("MPI_Finalize", 1_000_061, 1_000_062, &[])
        + "MPI_Send called 1 times and ignored 0 times\n";
    let second =
        init + &call(
            "MPI_Recv",
            1_000_010,
            1_000_055,
            &[
                "int count=100",
                DOUBLE,
                "int source=0",
                "int tag=7",
                WORLD,
                "MPI_Status status=[{bytes=800, cancelled=0, source=0, tag=7, error=0}]",
            ],
        ) + &call(
            "MPI_Send",
            1_000_055,
            1_000_056,
            &["int count=3", "MPI_Datatype datatype=30 (user-defined-datatype)", "int dest=0", "int tag=1", WORLD],
        ) + "Datatype 30 (user-defined-datatype) has size 11\n";
    let program = read(&[first, second]).unwrap();
    let tag = |tag: u64| tag + (1 << 31);
    assert_eq!(
        shown(&program, 0),
        [
            "calc 5000".to_string(),
            "recv 32b from -1 tag -1".into(),
            "calc 2000".into(),
            format!("send 800b to 1 tag {}", tag(7)),
            "calc 1000".into()
        ]
    );
    // Operations after the wait also wait for the message.
    assert_eq!(
        waits(&program, 0),
        [vec![], vec![0], vec![0], vec![2], vec![3, 1]].map(|mut w| {
            w.sort_unstable();
            w
        })
    );
    assert_eq!(
        shown(&program, 1),
        [format!("recv 800b from 0 tag {}", tag(7)), format!("send 33b to 0 tag {}", tag(1))]
    );
}

#[test]
fn collectives_are_those_of_all_ranks() {
    let rank = |rank: u64| {
        call("MPI_Barrier", 10 * rank, 100, &[WORLD])
            + &call("MPI_Bcast", 105, 120, &["int count=8", DOUBLE, "int root=1", WORLD])
    };
    let program = read(&[rank(0), rank(1), rank(2)]).unwrap();
    assert_eq!(program.of(0).filter(|one| matches!(one.action, crate::Action::Send(_))).count(), 2);
    let sent: u64 = (0..3)
        .flat_map(|rank| program.of(rank).collect::<Vec<_>>())
        .map(|one| match one.action {
            crate::Action::Send(transfer) => transfer.bytes,
            _ => 0,
        })
        .sum();
    // One byte in each direction between rank 0 and the others, then the vector to both others.
    assert_eq!(sent, 4 + 2 * 64);
    let other = rank(0).replace("Bcast", "Reduce");
    assert_eq!(
        read(&[rank(0), other]).unwrap_err(),
        "line 4, rank 1: comes to reduce with root 1, and rank 0 to broadcast with root 1"
    );
    assert_eq!(
        read(&[rank(0), call("MPI_Barrier", 1, 2, &[WORLD])]).unwrap_err(),
        "rank 1: comes to the end, and rank 0 to broadcast with root 1"
    );
}

#[test]
fn what_is_not_known_is_named() {
    let send = |lines: [&str; 5]| read(&[call("MPI_Send", 1, 2, &lines)]).unwrap_err();
    let [count, dest, tag] = ["int count=1", "int dest=0", "int tag=0"];
    assert_eq!(
        send([count, DOUBLE, dest, tag, "MPI_Comm comm=5 (user-defined-comm)"]),
        "line 1, rank 0: MPI_Send: comm = 5 (user-defined-comm): expected MPI_COMM_WORLD"
    );
    assert_eq!(
        send([count, "MPI_Datatype datatype=40 (mine)", dest, tag, WORLD]),
        "line 1, rank 0: MPI_Send: datatype = 40 (mine): expected a type of known size (dumpi2ascii -X prints the \
         sizes)"
    );
    assert_eq!(
        send([count, DOUBLE, "int dest=1", tag, WORLD]),
        "line 1, rank 0: MPI_Send: dest = 1 (): expected a rank, 0 to 0"
    );
    assert_eq!(
        send(["int count=-1", DOUBLE, dest, tag, WORLD]),
        "line 1, rank 0: MPI_Send: count = -1: expected 0 or more"
    );
    assert_eq!(send([count, DOUBLE, dest, "", WORLD]), "line 1, rank 0: MPI_Send: has no tag");
    let one = |text: &str| read(&[text.to_string()]).unwrap_err();
    assert_eq!(
        one(&call("MPI_Comm_split", 1, 2, &[])),
        "line 1, rank 0: MPI_Comm_split: this call is not known to the reader"
    );
    let open = "MPI_Init entering at walltime 1.0, cputime 0.0 seconds in thread 0.\n";
    assert_eq!(one(open), "line 1, rank 0: \"MPI_Init\" never returns");
    assert_eq!(one(&(open.to_string() + open)), "line 2, rank 0: \"MPI_Init\": expected that MPI_Init returns first");
    assert_eq!(one(&open.replace("1.0", "x")), "line 1, rank 0: \"x\": expected a time in seconds");
}

#[test]
fn a_rank_that_ends_before_the_others_is_refused() {
    let folder = std::env::temp_dir().join(format!("phit-dumpi-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let end = call("MPI_Finalize", 20, 21, &[]);
    let write = |rank: u32, text: &str| std::fs::write(folder.join(format!("x-{rank}.txt")), text).unwrap();
    let read = || read_files(&folder.join("x-0.txt"), &Options::default()).map_err(|error| error.to_string());
    write(0, &(call("MPI_Init", 1, 2, &[]) + &end));
    write(1, &(call("MPI_Init", 1, 2, &[]) + &end));
    assert!(read().is_ok());
    write(1, &call("MPI_Init", 1, 2, &[]));
    assert!(read().unwrap_err().contains("x-1.txt: rank 1: ends after 1 calls without MPI_Finalize, which rank 0 has"));
    write(1, "nothing of the kind\n");
    assert!(read().unwrap_err().contains("x-1.txt: rank 1: no call of MPI"));
    std::fs::remove_dir_all(&folder).unwrap();
}
