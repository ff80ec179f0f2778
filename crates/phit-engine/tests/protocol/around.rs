//! Faults drawn at random in networks of every kind: whatever is sent arrives or is counted as lost, no packets wait
//! for one another for ever, and the proof holds.

use crate::common::{scenario, simulation, with};
use phit_engine::run::{self, Options, RunError, verify};
use proptest::prelude::*;
use serde_json::{Value, json};

/// A small network of every kind whose links lead both ways.
fn networks() -> Vec<Value> {
    let ring = (0..8).map(|router| json!([router, (router + 1) % 8]));
    let links: Vec<Value> = ring.chain([json!([0, 4]), json!([2, 6]), json!([1, 5])]).collect();
    vec![
        json!({ "kind": "dragonfly", "p": 1, "a": 4, "h": 1 }),
        json!({ "kind": "mesh", "dims": [4, 3] }),
        json!({ "kind": "torus", "dims": [4, 4] }),
        json!({ "kind": "hyperx", "dims": [3, 4] }),
        json!({ "kind": "cascade", "rows": 2, "columns": 3, "column_links": 1, "groups": 3, "global_ports": 2,
            "endpoints_per_router": 1 }),
        json!({ "kind": "clos", "down": [2, 2, 4], "up": [2, 2] }),
        json!({ "kind": "k_ary_n_tree", "arity": 2, "levels": 3 }),
        json!({ "kind": "graph", "routers": 8, "links": links, "endpoints": 2 }),
        // Some routers have no endpoints, others among them have.
        json!({ "kind": "graph", "routers": 8, "links": links, "endpoints": [1, 0, 2, 1, 0, 1, 0, 1] }),
        json!({ "kind": "slim_fly", "q": 3, "endpoints_per_router": 1 }),
        json!({ "kind": "polarfly", "q": 3, "endpoints_per_router": 1 }),
        json!({ "kind": "jellyfish", "routers": 12, "links": 4, "endpoints_per_router": 1 }),
        json!({ "kind": "xpander", "links": 4, "lift": 3, "endpoints_per_router": 1 }),
        json!({ "kind": "dragonfly_plus", "leaves": 2, "spines": 2, "groups": 5 }),
        json!({ "kind": "hamming_mesh", "board": [2, 2], "boards": [2, 2], "switch_ports": 8 }),
        json!({ "kind": "rail_optimised", "rails": 2, "hosts": 4, "pods": 2, "spines": 2 }),
        json!({ "kind": "xgft", "children": [2, 2, 2], "parents": [1, 2, 2] }),
    ]
}

/// The mechanisms that are tried on them, where they fit.
fn mechanisms() -> Vec<Value> {
    let names = [
        "minimal",
        "valiant",
        "ugal_l",
        "ugal_g",
        "par_graph",
        "polarized",
        "contention_graph",
        "table",
        "up_down",
        "dfsssp",
        "lash",
        "ftree",
        "dimension_order",
        "par",
        "piggyback",
        "olm",
        "contention_base",
        "contention_hybrid",
        "ectn",
        "tpr",
        "contention_grid",
        "abr",
        "por",
        "goal",
        "outflank",
    ];
    let mut all: Vec<Value> = names.iter().map(|name| json!({ "kind": name })).collect();
    all.push(json!({ "kind": "valiant", "via": "group" }));
    all.push(json!({ "kind": "table", "adaptive": true }));
    let clos = ["oblivious", "deterministic", "sequential", "greedy", "greedy_r", "availability"];
    all.extend(clos.iter().map(|allocation| json!({ "kind": "clos", "allocation": allocation })));
    all
}

fn base(topology: &Value, routing: &Value, seed: u64) -> Value {
    json!({
        "topology": topology,
        "routing": routing,
        "router": { "links": { "default": { "vcs": 24, "buffer": 12 } } },
        // Sources come to an end, so that none of their packets starves.
        "traffic": { "load": 0.25, "packet_size": 2, "message": { "packets": 1, "count": 50 } },
        "measure": { "warmup": 0, "cycles": 1500, "count": "generated", "max_drain": 20000 },
        "seed": seed,
    })
}

/// Kinds of packets and switching: whole packets; packets whose flits occupy several buffers, with and without a stage
/// that allocates channels; a queue for each destination at the source; requests and replies, whole or in flits.
fn manners() -> Vec<Value> {
    let wormhole = |more: Value| {
        let links = json!({ "default": { "vcs": 24, "buffer": 4 } });
        let router = with(json!({ "switching": "wormhole", "flit_size": 2, "links": links }), more);
        json!({ "router": router, "traffic": { "packet_size": 9 } })
    };
    let requests = json!({ "measure": { "cycles": 4000 }, "traffic": {
        "message": null, "requests": { "outstanding": 3, "count": 12, "virtual_networks": false },
    } });
    vec![
        json!({}),
        wormhole(json!({})),
        wormhole(json!({ "vc_allocation": "stage", "clock": "crossbar", "speedup": 2, "credit_release": "output" })),
        json!({ "router": { "admittance": "per_destination" } }),
        requests.clone(),
        with(wormhole(json!({ "credit_channel": "one_per_cycle" })), requests),
    ]
}

/// Mechanisms that need a whole packet in one buffer.
fn fits(pair: &(Value, Value), manner: &Value) -> bool {
    run::prepare(&scenario(&with(base(&pair.0, &pair.1, 1), manner.clone()))).is_ok()
}

/// The networks with the mechanisms that fit them.
fn fitting() -> Vec<(Value, Value)> {
    let pairs =
        networks().into_iter().flat_map(|network| mechanisms().into_iter().map(move |it| (network.clone(), it)));
    pairs.filter(|(network, mechanism)| run::prepare(&scenario(&base(network, mechanism, 1))).is_ok()).collect()
}

/// Faults by numbers: from the start, and three times later, repaired or not. With requests, only links fail, and lost
/// packets are sent again.
fn drawn(numbers: &[u32], routers: u32, endpoints: u32, requests: bool) -> Value {
    let mut numbers = numbers.iter().copied();
    let mut below = |n: u32| numbers.next().unwrap_or(0) % n;
    let mut outage = |most: u32| {
        let mut table = json!({ "seed": below(1000) });
        match below(4) {
            _ if requests => table["count"] = json!(below(most) + 1),
            0 => table["routers"] = json!([below(routers)]),
            1 => table["endpoints"] = json!([below(endpoints)]),
            _ => table["count"] = json!(below(most) + 1),
        }
        table
    };
    let mut faults = outage(3);
    if is_even(&faults) {
        faults = json!({});
    }
    let mut later = Vec::new();
    for entry in 0..3u32 {
        let mut table = outage(2);
        table["cycle"] = json!(60 + 100 * entry);
        table["delay"] = json!([0, 7, 30][entry as usize]);
        if is_even(&table) {
            table["until"] = json!(105 + 100 * entry);
        }
        later.push(table);
    }
    faults["later"] = json!(later);
    if below(2) == 0 || requests {
        faults["retransmit"] = json!({ "timeout": 3 + below(200), "attempts": 1 + below(7) });
    }
    faults
}

/// Every other time.
fn is_even(outage: &Value) -> bool {
    outage["seed"].as_u64().is_some_and(|seed| seed % 2 == 0)
}

/// The result of a case.
#[derive(Debug, Default, Clone, Copy)]
struct Tally {
    runs: u64,
    cut: u64,
    packets: u64,
    lost: u64,
}

/// Runs a network with faults, and returns the first error.
fn tried(value: &Value, tally: &mut Tally, audits: bool) -> Result<(), String> {
    let read = scenario(value);
    match run::prepare(&read) {
        Ok(_) => {}
        Err(error) if error.to_string().contains("no way is left") => {
            tally.cut += 1;
            return Ok(());
        }
        Err(error) => return Err(error.to_string()),
    }
    if audits {
        let mut simulation = simulation(value, Options { threads: 1, partitions: Some(2) });
        for tick in 1..=420 {
            simulation.advance_to(tick);
            simulation.fabric().audit().map_err(|wrong| format!("tick {tick}: {wrong}"))?;
        }
    }
    let outcome = match run::run(&read, Options::default(), &mut |_, _| true) {
        Ok(outcome) => outcome,
        Err(RunError::Deadlock(text)) => return Err(format!("deadlock: {text}")),
        Err(error) => return Err(error.to_string()),
    };
    let (flow, packets) = (&outcome.collector().counters.flow, outcome.collector().counters.packets.lost);
    let asked = &outcome.collector().counters.transactions;
    if asked.requests != asked.replies + asked.given_up {
        let (answered, given_up) = (asked.replies, asked.given_up);
        return Err(format!("{} requests, {answered} answered and {given_up} given up", asked.requests));
    }
    tally.runs += 1;
    tally.packets += flow.generated_packets;
    tally.lost += packets;
    match flow.generated_delivered + flow.generated_lost == flow.generated_packets {
        true => Ok(()),
        false => Err(format!(
            "{} packets generated, {} delivered, {} lost",
            flow.generated_packets, flow.generated_delivered, flow.generated_lost
        )),
    }
}

/// One case: a network, a mechanism, how packets move, and faults.
fn case(
    pair: &(Value, Value),
    manner: &Value,
    numbers: &[u32],
    tally: &mut Tally,
    audits: bool,
) -> Result<Value, String> {
    let plain = with(base(&pair.0, &pair.1, 1), manner.clone());
    let topology = scenario(&plain).network().map_err(|error| error.to_string())?;
    let requests = !plain["traffic"]["requests"].is_null();
    let faults = drawn(numbers, topology.routers(), topology.endpoints(), requests);
    let value = with(plain, json!({ "topology": { "faults": faults } }));
    tried(&value, tally, audits).map_err(|wrong| format!("{wrong}\n{value}"))?;
    Ok(value)
}

/// The proof holds with the faults if it does without.
fn proved(value: &Value) -> Result<(), String> {
    let holds = |value: &Value| verify(&scenario(value)).map_or(json!(null), |report| report["proved"].clone());
    let without = with(value.clone(), json!({ "topology": { "faults": null } }));
    let (before, after) = (holds(&without), holds(value));
    let cut = run::prepare(&scenario(value)).is_err();
    if cut || before == after { Ok(()) } else { Err(format!("proved {before}, with faults {after}\n{value}")) }
}

#[test]
#[ignore = "a long run: 1,000 sets of faults for each kind of network"]
fn a_thousand_sets_of_faults_for_each_network() {
    let cases: u64 = std::env::var("CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(1000);
    let kind = std::env::var("NETWORK").ok();
    let manners = match std::env::var("MANNER").ok().and_then(|manner| manner.parse::<usize>().ok()) {
        Some(one) => vec![manners()[one].clone()],
        None => manners(),
    };
    let mut wrong = Vec::new();
    for network in networks().into_iter().filter(|network| kind.as_ref().is_none_or(|kind| network["kind"] == **kind)) {
        let fitting: Vec<_> = fitting().into_iter().filter(|(other, _)| *other == network).collect();
        let mut tally = Tally::default();
        let mut number = 0;
        while tally.runs < cases && number < 20 * cases {
            let pair = &fitting[number as usize % fitting.len()];
            number += 1;
            let mut rng = phit_engine::engine::Rng::new(number, phit_engine::engine::Stream::Topology, 7);
            let numbers: Vec<u32> = (0..40).map(|_| rng.below(1 << 20)).collect();
            let manner = &manners[number as usize % manners.len()];
            if !fits(pair, manner) {
                continue;
            }
            let done = case(pair, manner, &numbers, &mut tally, number % 16 == 0);
            let result = done.and_then(|value| proved(&value));
            if let Err(what) = result {
                println!("WRONG {what}");
                wrong.push(what);
            }
        }
        println!("{}: {} mechanisms, {tally:?}", network["kind"], fitting.len());
    }
    assert!(wrong.is_empty(), "{} cases are wrong", wrong.len());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_fails_packets_arrive_or_are_counted(
        numbers in prop::collection::vec(any::<u32>(), 40),
        place in any::<prop::sample::Index>(),
        manner in any::<prop::sample::Index>(),
    ) {
        let (pairs, manners, mut tally) = (fitting(), manners(), Tally::default());
        let (pair, manner) = (place.get(&pairs), manner.get(&manners));
        prop_assume!(fits(pair, manner));
        let done = case(pair, manner, &numbers, &mut tally, true).and_then(|value| proved(&value));
        prop_assert!(done.is_ok(), "{}", done.unwrap_err());
    }
}
