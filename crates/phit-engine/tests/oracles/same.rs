//! What must change nothing that it should not: another seed, other numbers of routers, endpoints and ranks.

use crate::draw::{one, vary};
use crate::judge::{Judged, Wrong, arrives, outcome, wrong};
use phit_engine::engine::Rng;
use phit_engine::run::Options;
use serde_json::{Value, json};

/// Standard deviations between two means that chance does not explain.
const FAR: f64 = 5.0;

/// Packets that wait for the same others have latencies alike: their mean deviates more than that of independent ones.
const CORRELATED: f64 = 2.0;

/// Packet sizes and arrivals of the processes here deviate more than those of Poisson arrivals of one size.
const SPREAD: f64 = 1.5;

/// Words of scenarios that draw something once and for all, or in bursts as long as a short run.
const ONCE: [&str; 2] = ["\"permutation\"", "\"on_off\""];

/// Words of options that draw anew for every choice, or that take destinations in the order of their numbers: other
/// numbers make other choices.
const DRAWS: [&str; 4] = ["\"random\"", "\"pim\"", "\"per_destination\"", "\"destination\""];

/// What two runs are compared by.
struct Means {
    accepted: f64,
    packets: f64,
    latency: f64,
    deviation: f64,
}

/// Measures a scenario at a load, if the run is known to be steady.
fn means(document: &Value, load: f64, seed: u64) -> Result<Result<Means, &'static str>, Wrong> {
    let mut document = document.clone();
    document["seed"] = json!(seed);
    document["traffic"]["load"] = json!(load);
    document["measure"] = json!({ "warmup": 400, "cycles": 1600 });
    let outcome = match outcome(&document, Options::default())? {
        Ok(outcome) => outcome,
        Err(how) => return Ok(Err(how)),
    };
    let summary = outcome.summary();
    if summary["steady"] != "yes" {
        return Ok(Err("not known to be steady"));
    }
    let of = |key: &str| summary[key].as_f64();
    let (Some(packets), Some(latency), Some(deviation)) = (of("packets"), of("latency_mean"), of("latency_std")) else {
        return Ok(Err("nothing sent"));
    };
    Ok(Ok(Means { accepted: outcome.accepted_load(), packets, latency, deviation }))
}

/// Refuses means that differ by more than chance and `slack`, a share of the latency.
fn near(class: &str, first: &Means, second: &Means, slack: f64) -> Judged {
    let noise = (1.0 / first.packets + 1.0 / second.packets).sqrt();
    let accepted = (first.accepted + second.accepted) / 2.0;
    if (first.accepted - second.accepted).abs() > FAR * SPREAD * noise * accepted {
        let words =
            format!("accepted {:.4} and {:.4} of some {} packets", first.accepted, second.accepted, first.packets);
        return Err(wrong(class, words));
    }
    let deviation = |means: &Means| means.deviation.powi(2) / means.packets;
    let most = FAR * CORRELATED * (deviation(first) + deviation(second)).sqrt() + slack * first.latency + 0.5;
    match (first.latency - second.latency).abs() <= most {
        true => Ok("carries the same"),
        false => Err(wrong(class, format!("latencies {:.2} and {:.2}, ± {most:.2}", first.latency, second.latency))),
    }
}

fn says(document: &Value, words: &[&str]) -> bool {
    let text = document.to_string();
    words.iter().any(|word| text.contains(word))
}

/// Another seed gives the same accepted load and mean latency but for chance, far below saturation.
pub fn seeds(document: &Value, load: f64) -> Judged {
    if says(document, &ONCE) {
        return Ok("draws once, or in bursts");
    }
    let (first, second) = (means(document, load, 11)?, means(document, load, 12)?);
    match (first, second) {
        (Ok(first), Ok(second)) => near("another mean with another seed", &first, &second, 0.02),
        (Err(how), _) | (_, Err(how)) => Ok(how),
    }
}

/// A random order of `0..count`.
fn order(rng: &mut Rng, count: u32) -> Vec<u32> {
    let mut all: Vec<u32> = (0..count).collect();
    (1..count).rev().for_each(|last| all.swap(last as usize, rng.below(last + 1) as usize));
    all
}

/// A connected network of a few routers, with some more links than a tree has.
fn graph(rng: &mut Rng, more: u32) -> Value {
    let routers = 3 + rng.below(5);
    let mut links: Vec<[u32; 2]> = (1..routers).map(|router| [rng.below(router), router]).collect();
    for _ in 0..more {
        let (from, to) = (rng.below(routers), rng.below(routers));
        if from != to && !links.contains(&[from, to]) && !links.contains(&[to, from]) {
            links.push([from, to]);
        }
    }
    // The channels of a minimal hop follow from the distances among all routers between the first and the last router
    // with endpoints: other numbers would leave other routers without endpoints outside.
    let endpoints: Vec<u32> = (0..routers).map(|_| 1 + rng.below(3)).collect();
    json!({ "kind": "graph", "routers": routers, "links": links, "endpoints": endpoints })
}

/// The numbers in a list.
fn numbers(list: &Value) -> Vec<u32> {
    list.as_array().into_iter().flatten().filter_map(Value::as_u64).map(|number| number as u32).collect()
}

/// The first endpoint of each router, and after them the number of all.
fn firsts(endpoints: &[u32]) -> Vec<u32> {
    let sums = endpoints.iter().scan(0, |sum, count| {
        *sum += count;
        Some(*sum)
    });
    std::iter::once(0).chain(sums).collect()
}

/// The same network and traffic in which router `r` has the number `order[r]`: ports stay as they are.
pub fn renumbered(document: &Value, order: &[u32]) -> Value {
    let mut document = document.clone();
    let endpoints = match &document["topology"]["endpoints"] {
        Value::Array(_) => numbers(&document["topology"]["endpoints"]),
        each => vec![each.as_u64().unwrap_or(1) as u32; order.len()],
    };
    let mut there = vec![0; order.len()];
    endpoints.iter().zip(order).for_each(|(count, to)| there[*to as usize] = *count);
    let (here_first, there_first) = (firsts(&endpoints), firsts(&there));
    let moved = |endpoint: u32| {
        let router = here_first.partition_point(|first| *first <= endpoint) - 1;
        there_first[order[router] as usize] + endpoint - here_first[router]
    };
    document["topology"]["endpoints"] = json!(there);
    for link in document["topology"]["links"].as_array_mut().into_iter().flatten() {
        *link = numbers(link).iter().map(|router| json!(order[*router as usize])).collect();
    }
    for message in document["traffic"]["trace"].as_array_mut().into_iter().flatten() {
        let old = numbers(message);
        *message = json!([old[0], moved(old[1]), moved(old[2]), old[3]]);
    }
    if let Some(root) = document["routing"].get_mut("root") {
        *root = json!(order[numbers(&json!([root.clone()]))[0] as usize]);
    }
    document
}

/// Links and channels enough for any mechanism in so small a network.
fn routed(rng: &mut Rng, topology: Value, kinds: &[&str]) -> Value {
    let kind = *one(rng, kinds);
    let routing = if kind == "up_down" { json!({ "kind": kind, "root": 1 }) } else { json!({ "kind": kind }) };
    let mut document = json!({
        "topology": topology,
        "router": { "links": { "default": { "vcs": 16 } } },
        "routing": routing,
        "traffic": { "packet_size": *one(rng, &[1, 1, 4, 7]) },
    });
    vary(&mut document, &["router"], rng);
    document
}

/// A tree with messages that are given one by one, of which other numbers change nothing at all, and an order.
pub fn traced(rng: &mut Rng) -> (Value, Vec<u32>) {
    let topology = graph(rng, 0);
    let routers = numbers(&json!([topology["routers"]]))[0];
    let count = *firsts(&numbers(&topology["endpoints"])).last().expect("the number of all");
    let mut document = routed(rng, topology, &["minimal", "up_down", "dfsssp", "lash", "minhop"]);
    let (mut cycle, mut trace) = (0, Vec::new());
    for _ in 0..80 {
        cycle += rng.below(4);
        let (from, to) = (rng.below(count), rng.below(count));
        trace.push(json!([cycle, from, to, 1 + rng.below(9)]));
    }
    document["traffic"]["load"] = json!(0);
    document["traffic"]["trace"] = json!(trace);
    document["measure"] =
        json!({ "warmup": 0, "cycles": cycle + 1, "count": "generated", "max_drain": 100_000, "links": true });
    (document, order(rng, routers))
}

/// Routers and endpoints with other numbers: the same packets take the same times.
pub fn numbers_of_a_tree(document: &Value, order: &[u32]) -> Judged {
    let first = match arrives(document, Options::default())? {
        Ok(first) => first,
        Err(how) => return Ok(how),
    };
    let second = match arrives(&renumbered(document, order), Options::default())? {
        Ok(second) => second,
        Err(how) => return Err(wrong("refused with other numbers", how.into())),
    };
    if says(document, &DRAWS) {
        return Ok("arrives, and draws");
    }
    let (first, second) = (first.summary(), second.summary());
    let keys = ["packets", "packet_hops", "flit_hops", "latency_max", "latency_p50", "latency_mean", "latency_std"];
    let keys = keys.into_iter().chain(["network_latency_mean", "hops_mean", "drain_cycles", "accepted_load"]);
    let differing: Vec<String> = keys
        .filter(|key| first.get(*key) != second.get(*key))
        .map(|key| format!("{key} {} and {}", first[key], second[key]))
        .collect();
    match differing.is_empty() {
        true => Ok("carries the same"),
        false => Err(wrong("another result with other numbers", differing.join(", "))),
    }
}

/// A network with several ways, traffic that is drawn, and an order.
pub fn drawn(rng: &mut Rng) -> (Value, Vec<u32>) {
    let more = rng.below(8);
    let topology = graph(rng, more);
    let routers = numbers(&json!([topology["routers"]]))[0];
    let kinds = ["minimal", "dfsssp", "lash", "minhop", "ugal_l", "ugal_g", "contention_graph", "par_graph"];
    (routed(rng, topology, &kinds), order(rng, routers))
}

/// Routers and endpoints with other numbers: the same load is accepted and takes as long, but for chance and ties.
pub fn numbers_of_a_graph(document: &Value, order: &[u32], load: f64) -> Judged {
    let (first, second) = (means(document, load, 11)?, means(&renumbered(document, order), load, 11)?);
    match (first, second) {
        (Ok(first), Ok(second)) => near("another mean with other numbers", &first, &second, 0.1),
        (Err(how), _) | (_, Err(how)) => Ok(how),
    }
}

/// A step of a rank.
type Step = (bool, u32, u32, u32, bool);

/// A program of messages between ranks at given endpoints of a torus, as text by rank.
#[derive(Clone)]
pub struct Program {
    ranks: Vec<Vec<Step>>,
    endpoints: Vec<u32>,
    network: Value,
}

pub fn program(rng: &mut Rng) -> (Program, Vec<u32>) {
    let count = 3 + rng.below(4);
    let mut ranks = vec![Vec::new(); count as usize];
    for tag in 0..12 {
        let (from, to) = (rng.below(count), rng.below(count));
        if from != to {
            let bytes = 1 + rng.below(300);
            ranks[from as usize].push((true, to, bytes, tag, rng.below(2) == 0));
            ranks[to as usize].push((false, from, bytes, tag, rng.below(2) == 0));
        }
    }
    let endpoints = order(rng, 16)[..count as usize].to_vec();
    let mut network = json!({
        "topology": { "kind": "torus", "dims": [4, 4] },
        "router": { "links": { "default": { "vcs": 4 } } },
        "routing": one(rng, &["minimal", "valiant", "ugal_l", "dimension_order"]),
        "units": { "phit": "2 B" },
    });
    vary(&mut network, &["router"], rng);
    (Program { ranks, endpoints, network }, order(rng, count))
}

impl Program {
    /// The scenario in which rank `r` has the number `order[r]`.
    pub fn scenario(&self, order: &[u32]) -> Value {
        let mut blocks = vec![String::new(); self.ranks.len()];
        let mut endpoints = vec![0; self.ranks.len()];
        for (rank, operations) in self.ranks.iter().enumerate() {
            let to = order[rank] as usize;
            endpoints[to] = self.endpoints[rank];
            let mut text = format!("rank {to} {{\n");
            for (number, &(sends, other, bytes, tag, waits)) in operations.iter().enumerate() {
                let (kind, way) = if sends { ("send", "to") } else { ("recv", "from") };
                let other = order[other as usize];
                text.push_str(&format!("o{number}: {kind} {bytes}b {way} {other} tag {tag}\n"));
                // A message may wait only for those with lower numbers: no rank waits for itself.
                if waits && number > 0 {
                    text.push_str(&format!("o{number} requires o{}\n", number - 1));
                }
            }
            blocks[to] = text + "}\n";
        }
        let mut scenario = self.network.clone();
        scenario["workload"] = json!({
            "kind": "program", "goal": format!("num_ranks {}\n{}", blocks.len(), blocks.concat()),
            "placement": { "kind": "list", "endpoints": endpoints },
        });
        scenario
    }

    /// Ranks with other numbers at the same endpoints: the program takes the same time.
    pub fn judge(&self, order: &[u32]) -> Judged {
        let same: Vec<u32> = (0..order.len() as u32).collect();
        let (first, second) = (self.scenario(&same), self.scenario(order));
        match (outcome(&first, Options::default())?, outcome(&second, Options::default())?) {
            (Err(how), Err(_)) => Ok(how),
            (Ok(one), Ok(other)) => {
                let keys = ["completion", "packets", "latency_mean", "latency_max", "packet_hops"];
                let (one, other) = (one.summary(), other.summary());
                let differing: Vec<String> = keys
                    .into_iter()
                    .filter(|key| one.get(*key) != other.get(*key))
                    .map(|key| format!("{key} {} and {}", one[key], other[key]))
                    .collect();
                match differing.is_empty() {
                    true => Ok("carries the same"),
                    false => {
                        Err(wrong("another result with other ranks", format!("{}\n{second}", differing.join(", "))))
                    }
                }
            }
            (Err(how), Ok(_)) | (Ok(_), Err(how)) => {
                Err(wrong("refused with other ranks", format!("{how}\n{first}\n{second}")))
            }
        }
    }
}
