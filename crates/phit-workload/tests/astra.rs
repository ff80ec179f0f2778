//! ASTRA-sim's analytical network: whole messages, stored and forwarded.

mod shared;

use phit_workload::collective::{Algorithm, Collective, Members};
use phit_workload::compose::Composer;
use phit_workload::host::HostParams;
use phit_workload::network::Link;
use phit_workload::run::run;
use phit_workload::script::Costs;
use phit_workload::{Operation, Program, RankProgram, StoredPlan};
use std::sync::Arc;

fn program(pattern: &str, npus: u32, source: u32, destination: u32, bytes: u64, chunks: u32) -> Program {
    let collective = |collective, algorithm, bytes| {
        let steps = Members::new(collective, algorithm, npus, bytes).steps().unwrap();
        let mut composer = Composer::new(npus);
        (0..chunks).for_each(|_| {
            let before: Vec<_> = (0..npus).map(|_| vec![]).collect();
            (0..).zip(before).for_each(|(rank, frontier)| composer.set_frontier(rank, frontier));
            composer.collective(&(0..npus).collect::<Vec<_>>(), &steps, Costs::default());
        });
        composer.finish()
    };
    let each = |pairs: &dyn Fn(u32) -> Vec<u32>| {
        let mut program = Program::new(npus);
        let mut lists = vec![RankProgram::default(); npus as usize];
        for source in 0..npus {
            for destination in pairs(source).into_iter().flat_map(|to| std::iter::repeat_n(to, chunks as usize)) {
                lists[source as usize].push(Operation::send(bytes, destination, 0));
                lists[destination as usize].push(Operation::recv(bytes, source, 0));
            }
        }
        (0..).zip(lists).for_each(|(rank, list)| program.set(rank, list));
        program
    };
    match pattern {
        "p2p" => each(&|from| if from == source { vec![destination] } else { vec![] }),
        "direct_src_major" => each(&|from| (0..npus).filter(|to| *to != from).collect()),
        "direct_offset_major" => each(&|from| (1..npus).map(|on| (from + on) % npus).collect()),
        "incast" => each(&|from| if from == 0 { vec![] } else { vec![0] }),
        "outcast" => each(&|from| if from == 0 { (1..npus).collect() } else { vec![] }),
        "ring_allgather" => collective(Collective::AllGather, Algorithm::Ring, bytes),
        "ring_allreduce" => collective(Collective::AllReduce, Algorithm::Ring, bytes * u64::from(npus)),
        _ => panic!("{pattern}"),
    }
}

#[test]
fn messages_arrive_when_they_do_in_astra_sim() {
    let cases = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/astra/cases.csv")).unwrap();
    let mut compared = 0;
    for line in cases.lines().skip(1) {
        let columns: Vec<&str> = line.split(',').collect();
        let number = |i: usize| columns[i].parse::<u32>().unwrap_or(0);
        let real = |i: usize| columns[i].parse::<f64>().unwrap();
        let (topology, npus) = (columns[0], number(1));
        let link = Link { bandwidth: real(2) * (1u64 << 30) as f64 / 1e9, latency: real(3) };
        let program = program(columns[4], npus, number(5), number(6), columns[7].parse().unwrap(), number(8));
        let params = HostParams { overhead: 0, gap: 0, gap_per_byte: 0, overhead_per_byte: 0, eager: u64::MAX };
        let finish =
            run(Box::new(StoredPlan::new(Arc::new(program))), params, shared::astra::network(topology, npus, link));
        assert!(finish.left.is_empty(), "{line}");
        assert_eq!(finish.completion().to_string(), columns[9], "{line}");
        // For the largest cases there is only a digest.
        if !columns[11].starts_with("sha256") {
            let arrivals: Vec<u64> = columns[11].split(' ').map(|time| time.parse().unwrap()).collect();
            assert_eq!(finish.ranks, arrivals, "{line}");
        }
        compared += 1;
    }
    assert_eq!(compared, 164);
}
