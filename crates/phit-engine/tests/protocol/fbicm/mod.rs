//! Shared by the tests of FBICM: its lines as seen from outside, and the conditions that they must satisfy after every
//! tick.

mod random;
mod rules;

use crate::common::simulation;
use phit_engine::fabric::input_queued::{InputQueued, Partition};
use phit_engine::run::{Options, Simulation};
use serde_json::{Value, json};

/// The partitions of a network of input-queued routers.
pub fn parts(simulation: &Simulation) -> &[Partition] {
    simulation.kernel::<InputQueued>().expect("input-queued routers").parts().0
}

/// A test's view of a line.
#[derive(Debug, Clone, PartialEq)]
pub struct Seen {
    pub router: u32,
    pub port: u16,
    pub input: bool,
    pub vc: u8,
    pub line: u8,
    pub hops: u8,
    pub destinations: Vec<u32>,
    pub phits: u32,
    pub stopped: bool,
    pub next: Option<u8>,
    /// The output, and virtual channel and line there, of an input's line that is linked to it.
    pub link: Option<(u16, u8, u8)>,
    /// The output to which an input's line leads.
    pub output: Option<u16>,
    pub mapped: bool,
}

pub fn lines(simulation: &Simulation) -> Vec<Seen> {
    let partitions = parts(simulation);
    let mut seen = Vec::new();
    for partition in partitions {
        for router in 0..simulation.blueprint().topology.routers() {
            partition.trees(router, &mut |port, branch| {
                seen.push(Seen {
                    router,
                    port,
                    input: branch.input,
                    vc: branch.vc,
                    line: branch.line,
                    hops: branch.hops,
                    destinations: branch.destinations.to_vec(),
                    phits: branch.phits,
                    stopped: branch.stopped,
                    next: branch.next.map(|(_, line)| line),
                    link: branch.next.map(|(vc, line)| (branch.output.unwrap() as u16, vc, line)),
                    output: branch.output.map(|output| output as u16),
                    mapped: branch.mapped,
                });
            });
        }
    }
    seen
}

pub fn base(topology: Value, version: &str) -> Value {
    json!({
        "topology": topology,
        "routing": "table",
        "router": {
            "admittance": "per_destination",
            "links": { "default": { "vcs": 1, "buffer": 64, "latency": 1 } },
        },
        "queueing": {
            "kind": "fbicm", "version": version, "cfqs": 4, "destinations": 2, "detection": 8, "stop": 8, "go": 4,
        },
        "traffic": { "load": 0, "packet_size": 4 },
        "measure": { "warmup": 0, "cycles": 100, "order": true },
    })
}

/// Messages of `phits` from each of `sources` to `destination` in cycle `cycle`.
pub fn messages(trace: &mut Vec<[u32; 4]>, cycle: u32, sources: &[u32], destination: u32, phits: u32) {
    trace.extend(sources.iter().map(|&source| [cycle, source, destination, phits]));
    trace.sort_by_key(|message| message[0]);
}

/// The lines of a router agree with one another, `before` a tick and `now`, after it. A line of an input has
/// destinations behind its output only, and at most one is newly found congested in a tick. A linked line finds its
/// line at the output, with a destination of its own, and is not released while that one is stopped. No line is taken
/// as a root if the output knew better.
pub fn agree(simulation: &Simulation, before: &[Seen], now: &[Seen]) -> Result<(), String> {
    let table = simulation.blueprint().table.as_ref().unwrap();
    let one_channel = simulation.blueprint().links.vcs(simulation.blueprint().division).iter().all(|&vcs| vcs == 1);
    let place = |l: &Seen| (l.router, l.port, l.input, l.vc, l.line);
    let share = |a: &Seen, b: &Seen| a.destinations.iter().any(|d| b.destinations.contains(d));
    let same = |all: &[Seen], one: &Seen| all.iter().find(|l| place(l) == place(one)).cloned();
    let linked = |line: &Seen, all: &[Seen]| {
        let (output, vc, number) = line.link?;
        let there = (line.router, output, false, vc, number);
        all.iter().find(|copy| place(copy) == there && share(copy, line)).cloned()
    };
    for line in now.iter().filter(|line| line.input) {
        if line.destinations.iter().any(|d| Some(table.port(line.router, *d)) != line.output) {
            return Err(format!("not all destinations are behind its output: {line:?}"));
        }
        if line.link.is_some() && linked(line, now).is_none() {
            return Err(format!("its output has no line that this one could be linked to: {line:?}"));
        }
        let knew = |copy: &&Seen| {
            let of_output = !copy.input && (copy.router, Some(copy.port)) == (line.router, line.output);
            of_output && share(copy, line) && same(now, copy).is_some()
        };
        if one_channel
            && line.link.is_none()
            && same(before, line).is_none()
            && let Some(copy) = before.iter().find(knew)
        {
            return Err(format!("taken for a root, but its output knew better: {line:?}, {copy:?}"));
        }
    }
    let detected = |line: &&Seen| {
        line.input && line.hops == 0 && same(before, line).is_none_or(|old| old.destinations != line.destinations)
    };
    for line in now.iter().filter(detected) {
        let of_port = |l: &&Seen| (l.router, l.port, l.vc) == (line.router, line.port, line.vc);
        if now.iter().filter(detected).filter(of_port).count() > 1 {
            return Err(format!("not the only detection at its port: {line:?}"));
        }
    }
    for line in before.iter().filter(|line| line.input && same(now, line).is_none()) {
        let stopped = |all| linked(line, all).is_some_and(|copy| copy.stopped);
        if stopped(before) && stopped(now) {
            return Err(format!("given up while it was held back: {line:?}"));
        }
    }
    Ok(())
}

/// Runs with `trace` until `done`, with an audit of every tick; returns the tick.
#[track_caller]
pub fn until(simulation: &mut Simulation, limit: u32, what: &str, done: impl Fn(&[Seen]) -> bool) -> u32 {
    let mut before = lines(simulation);
    while simulation.now() < limit {
        let now = simulation.now();
        simulation.advance_to(now + 1);
        simulation.fabric().audit().unwrap();
        let seen = lines(simulation);
        agree(simulation, &before, &seen).unwrap();
        if done(&seen) {
            return now;
        }
        before = seen;
    }
    panic!("{what}: not before tick {limit}; lines: {:#?}", lines(simulation));
}

pub fn start(mut value: Value, trace: &[[u32; 4]]) -> Simulation {
    value["traffic"]["trace"] = json!(trace);
    simulation(&value, Options::default())
}

/// Everything has been delivered in order, and all is as if there had never been any congestion.
#[track_caller]
pub fn quiet_at_the_end(simulation: &mut Simulation, limit: u32, phits: u64) {
    let delivered = |s: &Simulation| parts(s).iter().map(|p| p.collector().counters.flow.phits).sum::<u64>();
    let mut before = lines(simulation);
    while simulation.now() < limit && (delivered(simulation) < phits || !before.is_empty()) {
        let now = simulation.now();
        simulation.advance_to(now + 1);
        simulation.fabric().audit().unwrap();
        let seen = lines(simulation);
        agree(simulation, &before, &seen).unwrap();
        before = seen;
    }
    assert_eq!(delivered(simulation), phits, "packets are missing");
    assert_eq!(lines(simulation), [], "lines are left at tick {}", simulation.now());
    assert_eq!(parts(simulation).iter().map(|p| p.collector().counters.order.overtaken).sum::<u64>(), 0);
    assert_eq!(parts(simulation).iter().map(|p| p.packets_held()).sum::<u32>(), 0);
}

pub fn summed(simulation: &Simulation, name: &str) -> u64 {
    parts(simulation)
        .iter()
        .flat_map(|p| p.queueing_totals())
        .filter(|(total, _)| total.name == name)
        .map(|(_, count)| count)
        .sum()
}
