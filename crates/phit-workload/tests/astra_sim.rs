//! ASTRA-sim's system layer: collectives in chunks, with a delay at the endpoints and the time of reductions.

mod shared;

use phit_workload::StoredPlan;
use phit_workload::chakra::{self, Compute, Dependencies, Memory};
use phit_workload::collective::{Algorithm, Blocks, Collective, Members, Part, Step, Steps};
use phit_workload::compose::Composer;
use phit_workload::host::{HostParams, Message};
use phit_workload::network::{Hop, Link, Network};
use phit_workload::run::{Finish, run};
use phit_workload::script::Costs;
use smallvec::smallvec;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// Its all-to-all over a ring: each block is handed on by itself, N(N - 1)/2 messages one after the other.
#[derive(Debug)]
struct OneByOne {
    npus: u32,
    bytes: u64,
}

impl Steps for OneByOne {
    fn step(&self, member: u32, _lane: u32, number: u32) -> Option<Step> {
        let Self { npus, bytes } = *self;
        let part = |peer| smallvec![Part { peer, bytes, blocks: Blocks::one(0) }];
        let (next, before) = ((member + 1) % npus, (member + npus - 1) % npus);
        (number < npus * (npus - 1) / 2).then(|| Step { sends: part(next), receives: part(before), reduces: false })
    }
}

/// Its halving and doubling: partners at distances 1, 2, 4... with half, a quarter... of the vector, then back. Data
/// received in the last halving step is not combined. The other steps are charged by the size of the next step.
#[derive(Debug)]
struct Halving {
    npus: u32,
    bytes: u64,
    reduces: bool,
    gathers: bool,
}

impl Steps for Halving {
    fn step(&self, member: u32, _lane: u32, number: u32) -> Option<Step> {
        let Self { npus, bytes, reduces, gathers } = *self;
        let rounds = npus.ilog2();
        let (halves, round) = match reduces && number < rounds {
            true => (true, number),
            false => (false, (rounds - 1).checked_sub(number - if reduces { rounds } else { 0 })?),
        };
        if !halves && !gathers {
            return None;
        }
        let peer = member ^ (1 << round);
        let part = || smallvec![Part { peer, bytes: bytes >> (round + 1), blocks: Blocks::one(0) }];
        Some(Step { sends: part(), receives: part(), reduces: halves && round + 1 < rounds })
    }
}

/// Its network without contention: the latency of each hop, and the time of the bytes once.
struct Unaware {
    link: Link,
    hops: fn(&str, u32, u32, u32) -> u32,
    topology: String,
    npus: u32,
}

impl Network for Unaware {
    fn hop(&mut self, message: &Message, _hops: u32, now: u64) -> Hop {
        let hops = (self.hops)(&self.topology, self.npus, message.source, message.destination);
        Hop::Arrives(now + (f64::from(hops) * self.link.latency + message.bytes as f64 / self.link.bandwidth) as u64)
    }

    fn is_ideal(&self) -> bool {
        true
    }
}

fn hops(topology: &str, npus: u32, source: u32, destination: u32) -> u32 {
    let on = (destination + npus - source) % npus;
    match topology {
        "Ring" => on.min(npus - on),
        "Switch" => 2,
        _ => 1,
    }
}

/// A collective of `bytes`, and the times of its calculations.
fn steps(name: &str, algorithm: &str, npus: u32, bytes: u64, [delay, combine]: [f64; 2]) -> (Arc<dyn Steps>, Costs) {
    let collective = Collective::all().find(|collective| name.starts_with(collective.name())).unwrap();
    let share = bytes / u64::from(npus);
    // There the bytes of an all-to-all are those for all.
    let (own, all) = match collective {
        Collective::AllToAll => (share, bytes),
        Collective::AllGather => (bytes, bytes * u64::from(npus)),
        _ => (bytes, bytes),
    };
    // The time of one message, in whole nanoseconds.
    let combined = 3.0 * (share as f64 * combine / 3.0).floor() / share as f64;
    let known = |algorithm| Members::new(collective, algorithm, npus, own).steps().unwrap();
    let (steps, combine): (Arc<dyn Steps>, f64) = match algorithm {
        "ring" if collective == Collective::AllToAll => (Arc::new(OneByOne { npus, bytes: own }), combine),
        "ring" => (known(Algorithm::Ring), combined),
        // Data from all other members at once is combined in the time for one of them.
        "direct" => (known(Algorithm::Direct), combined / f64::from(npus - 1)),
        _ => {
            let (reduces, gathers) = (collective != Collective::AllGather, collective != Collective::ReduceScatter);
            (Arc::new(Halving { npus, bytes: all, reduces, gathers }), combine / 2.0)
        }
    };
    (steps, Costs { start: delay as u64, step: delay as u64, combine })
}

#[test]
fn collectives_finish_when_they_do_in_astra_sim() {
    let runs = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/astra/runs.csv")).unwrap();
    let mut compared = Compared::default();
    for line in runs.lines().skip(1) {
        let columns: Vec<&str> = line.split(',').collect();
        let real = |i: usize| columns[i].parse::<f64>().unwrap();
        let number = |i: usize| columns[i].parse::<u32>().unwrap();
        let (backend, name, topology, npus, algorithm) = (columns[0], columns[1], columns[2], number(3), columns[6]);
        let (splits, active) = (number(7), number(8));
        if algorithm == "doubleBinaryTree" {
            compared.differs += 1;
            assert!(!columns[12].is_empty(), "{line}");
            continue;
        }
        let chunk = (1u64 << 20) / u64::from(splits);
        // Two reads and a write of memory.
        let costs = [real(10), 3.0 / real(9)];
        let (steps, costs) = steps(name, algorithm, npus, chunk, costs);
        let ranks: Vec<u32> = (0..npus).collect();
        let mut composer = Composer::new(npus);
        // `active` chunks at once, each after the chunk whose place it takes.
        let mut ends = vec![vec![vec![]; npus as usize]; active.min(splits) as usize];
        for chunk in 0..splits as usize {
            let place = chunk % ends.len();
            ranks.iter().for_each(|&rank| composer.set_frontier(rank, ends[place][rank as usize].clone()));
            composer.collective(&ranks, &steps, costs);
            ranks.iter().for_each(|&rank| ends[place][rank as usize] = composer.frontier(rank).clone());
        }
        let plan = Box::new(StoredPlan::new(Arc::new(composer.finish())));
        let host = HostParams { overhead: 0, gap: 0, gap_per_byte: 0, overhead_per_byte: 0, eager: u64::MAX };
        let link = Link { bandwidth: real(4) * (1u64 << 30) as f64 / 1e9, latency: real(5) };
        let finish = match backend {
            "congestion_aware" => run(plan, host, shared::astra::network(topology, npus, link)),
            _ => run(plan, host, Unaware { link, hops, topology: topology.into(), npus }),
        };
        compared.add(&finish, columns[11], columns[12], line);
    }
    compared.check([221, 40, 25]);
}

/// A dimension of a network: links of its own, among those that differ in its coordinate alone.
#[derive(Debug, Clone)]
struct Dimension {
    topology: String,
    npus: u32,
    /// From one to the next in this dimension.
    stride: u32,
    link: Link,
}

impl Dimension {
    fn coordinate(&self, rank: u32) -> u32 {
        rank / self.stride % self.npus
    }
}

/// Its network of several dimensions, without contention: of a message the first dimension counts in which its ends
/// differ.
struct Dimensions(Vec<Dimension>);

impl Network for Dimensions {
    fn hop(&mut self, message: &Message, _hops: u32, now: u64) -> Hop {
        let at = |dimension: &Dimension| [message.source, message.destination].map(|rank| dimension.coordinate(rank));
        let found = self.0.iter().find(|dimension| at(dimension)[0] != at(dimension)[1]);
        let Some(dimension) = found else { return Hop::Arrives(now) };
        let [source, destination] = at(dimension);
        let hops = hops(&dimension.topology, dimension.npus, source, destination);
        let Link { latency, bandwidth } = dimension.link;
        Hop::Arrives(now + (f64::from(hops) * latency + message.bytes as f64 / bandwidth) as u64)
    }

    fn is_ideal(&self) -> bool {
        true
    }
}

/// A part of a collective: a collective along one dimension, with its bytes at the start.
struct Along {
    collective: &'static str,
    dimension: usize,
    bytes: u64,
}

/// The parts of a collective over dimensions of these sizes, one after the other.
fn parts(name: &str, sizes: &[u32], optimization: &str, bytes: u64) -> Vec<Along> {
    let part = |collective, dimension, bytes| Along { collective, dimension, bytes };
    // Bytes before each dimension of a reduce-scatter, and after all of them.
    let mut left = vec![bytes];
    sizes.iter().for_each(|&size| left.push(left[left.len() - 1] / u64::from(size)));
    let all = 0..sizes.len();
    match name {
        _ if name.starts_with("reduce_scatter") => all.map(|d| part("reduce_scatter", d, left[d])).collect(),
        _ if name.starts_with("all_to_all") => all.map(|d| part("all_to_all", d, bytes)).collect(),
        _ if name.starts_with("all_gather") => {
            let mut bytes = bytes;
            let gather = |d: usize| {
                let before = bytes;
                bytes *= u64::from(sizes[d]);
                part("all_gather", d, before)
            };
            all.rev().map(gather).collect()
        }
        _ if optimization == "baseline" => all.map(|d| part("all_reduce", d, bytes)).collect(),
        _ => {
            let last = sizes.len() - 1;
            let scatter = (0..last).map(|d| part("reduce_scatter", d, left[d]));
            let gather = (0..last).rev().map(|d| part("all_gather", d, left[d + 1]));
            scatter.chain([part("all_reduce", last, left[last])]).chain(gather).collect()
        }
    }
}

/// Collectives over several dimensions: along one after the other, each chunk by itself; in each dimension one chunk at
/// a time.
#[test]
fn collectives_over_dimensions_finish_when_they_do_in_astra_sim() {
    let runs = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/astra/dimensions.csv")).unwrap();
    let mut compared = Compared::default();
    for line in runs.lines().skip(1) {
        let columns: Vec<&str> = line.split(',').collect();
        let &[name, topologies, npus, bandwidths, latencies, algorithms, splits, optimization, finish, differs] =
            &columns[..]
        else {
            panic!("{line}")
        };
        let list = |column: &str| -> Vec<f64> { column.split('/').map(|text| text.parse().unwrap()).collect() };
        let sizes: Vec<u32> = list(npus).iter().map(|npus| *npus as u32).collect();
        let mut stride = 1;
        let dimension = |((topology, &npus), (bandwidth, latency)): ((&str, &u32), (f64, f64))| {
            let link = Link { bandwidth: bandwidth * (1u64 << 30) as f64 / 1e9, latency };
            let own = Dimension { topology: topology.into(), npus, stride, link };
            stride *= npus;
            own
        };
        let links = list(bandwidths).into_iter().zip(list(latencies));
        let dimensions: Vec<Dimension> = topologies.split('/').zip(&sizes).zip(links).map(dimension).collect();
        let splits: u64 = splits.parse().unwrap();
        let all: u32 = sizes.iter().product();
        let chunk = (1u64 << 20) / splits;
        // All in one ring, whatever the dimensions.
        let flat = algorithms == "oneRing";
        let sizes = if flat { vec![all] } else { sizes };
        let mut composer = Composer::new(all);
        let parts = parts(name, &sizes, optimization, chunk);
        // Where each chunk is, and what each dimension has been used for, by rank.
        let mut chunks = vec![vec![vec![]; all as usize]; splits as usize];
        let mut used = vec![vec![vec![]; all as usize]; sizes.len()];
        for Along { collective, dimension, bytes } in parts {
            let algorithm = if flat { "ring" } else { algorithms.split('/').nth(dimension).unwrap() };
            let (steps, costs) = steps(collective, algorithm, sizes[dimension], bytes, [10.0, 3.0 / 1600.0]);
            for at in &mut chunks {
                for rank in 0..all {
                    let both = at[rank as usize].iter().chain(&used[dimension][rank as usize]).copied().collect();
                    composer.set_frontier(rank, both);
                }
                let stride = if flat { 1 } else { dimensions[dimension].stride };
                for first in (0..all).filter(|rank| rank / stride % sizes[dimension] == 0) {
                    let ranks: Vec<u32> = (0..sizes[dimension]).map(|on| first + on * stride).collect();
                    composer.collective_on(dimension as u8, &ranks, &steps, costs);
                }
                for rank in 0..all {
                    at[rank as usize] = composer.frontier(rank).clone();
                    used[dimension][rank as usize] = at[rank as usize].clone();
                }
            }
        }
        let plan = Box::new(StoredPlan::new(Arc::new(composer.finish())));
        let host = HostParams { overhead: 0, gap: 0, gap_per_byte: 0, overhead_per_byte: 0, eager: u64::MAX };
        compared.add(&run(plan, host, Dimensions(dimensions)), finish, differs, line);
    }
    compared.check([44, 0, 0]);
}

/// Number of runs that are equal, near, and known to differ.
#[derive(Debug, Default)]
struct Compared {
    exact: u32,
    near: u32,
    differs: u32,
    wrong: Vec<String>,
}

impl Compared {
    /// Compares the times of all ranks: `expected` has one for all, or one for each.
    fn add(&mut self, finish: &Finish, expected: &str, differs: &str, line: &str) {
        let expected: Vec<u64> = expected.split(' ').map(|time| time.parse().unwrap()).collect();
        let apart = |(time, expected): (&u64, &u64)| time.abs_diff(*expected) as f64 / *expected as f64;
        let most = finish.ranks.iter().zip(expected.iter().cycle()).map(apart).fold(0.0, f64::max);
        match (finish.left.is_empty(), most) {
            (true, 0.0) => self.exact += 1,
            (true, most) if most <= 0.001 => self.near += 1,
            _ if !differs.is_empty() => {
                self.differs += 1;
                return;
            }
            _ => self.wrong.push(format!("{most:.4}: {:?} {:?} {line}", finish.ranks, finish.left)),
        }
        if !differs.is_empty() {
            self.wrong.push(format!("the same, and said to differ: {line}"));
        }
    }

    fn check(&self, expected: [u32; 3]) {
        assert!(self.wrong.is_empty(), "{self:?}\n{}", self.wrong.join("\n"));
        assert_eq!([self.exact, self.near, self.differs], expected);
    }
}

/// Traces with calculations, messages and collectives: its workload layer.
#[test]
fn traces_finish_when_they_do_in_astra_sim() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/astra");
    let mut compared = Compared::default();
    for line in std::fs::read_to_string(folder.join("traces.csv")).unwrap().lines().skip(1) {
        let columns: Vec<&str> = line.split(',').collect();
        let &[trace, topology, npus, algorithm, splits, roofline, rendezvous, outcome, expected, differs] =
            &columns[..]
        else {
            panic!("{line}")
        };
        let path = folder.join("traces").join(trace);
        let groups = std::fs::read_to_string(path.join("comm_groups.json"));
        let groups = groups.map_or_else(|_| BTreeMap::new(), |text| serde_json::from_str(&text).unwrap());
        let algorithm = if algorithm == "direct" { Algorithm::Direct } else { Algorithm::Ring };
        let npus: u32 = npus.parse().unwrap();
        let options = chakra::Options {
            streams: chakra::Streams::AsGiven,
            dependencies: Dependencies::DataAndControl,
            compute: match roofline {
                "1" => Compute::Roofline { peak: 900e3, bandwidth: 1600.0 },
                _ => Compute::Duration,
            },
            memory: Some(Memory { latency: 100.0, bandwidth: 50.0 }),
            algorithms: Collective::all()
                .filter(|collective| collective.algorithms().contains(&algorithm))
                .map(|collective| (collective, algorithm))
                .collect(),
            chunks: splits.parse().unwrap(),
            delay: 10,
            combine: if algorithm == Algorithm::Direct { 3.0 / 1600.0 / f64::from(npus - 1) } else { 3.0 / 1600.0 },
            groups,
        };
        let program = match chakra::read_files(&path, &options) {
            Ok(program) => program,
            Err(error) => {
                match (outcome, differs.is_empty()) {
                    ("error", true) => compared.exact += 1,
                    (_, false) => compared.differs += 1,
                    _ => compared.wrong.push(format!("{error}: {line}")),
                }
                continue;
            }
        };
        // A send node ends when its message has arrived. Sends of collectives delay nothing.
        let eager = if rendezvous == "1" { 0 } else { u64::MAX };
        let host = HostParams { overhead: 0, gap: 0, gap_per_byte: 0, overhead_per_byte: 0, eager };
        let link = Link { bandwidth: 50.0 * (1u64 << 30) as f64 / 1e9, latency: 500.0 };
        let plan = Box::new(StoredPlan::new(Arc::new(program)));
        let finish = run(plan, host, shared::astra::network(topology, npus, link));
        match outcome {
            "finished" => compared.add(&finish, expected, differs, line),
            "stalled_no_finish" if !finish.left.is_empty() => compared.exact += 1,
            _ if !differs.is_empty() => compared.differs += 1,
            _ => compared.wrong.push(format!("{:?} {line}", finish.ranks)),
        }
    }
    compared.check([21, 29, 34]);
}
