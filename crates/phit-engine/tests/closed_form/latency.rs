//! Zero-load latency: a packet that meets no other takes exactly the cycles that its path adds up to.
//!
//! With T ticks per cycle (1, or the speedup S under `clock = "crossbar"`), all times in ticks: consider a packet of L
//! phits generated at g. Its head is sent at g + T, and reaches its router's input an endpoint latency later. In every
//! router it waits `allocation_delay`, plus one tick if virtual channels are allocated in a separate stage. It reaches
//! the output `latency` after the grant. There it starts in the next link cycle, or later if its phits arrive more
//! slowly than the link takes them. It reaches the next router a link's latency after that. The tail follows the head
//! over the ejection link: latency plus serialisation.
//!
//! The expected value is computed here, hop by hop, from these rules and the path alone, independently of the engine.

use crate::common::{histogram, number, run, with};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The parameters of the expectation, in the scenario's units.
#[derive(Clone, Copy)]
struct Model {
    latency: u64,
    allocation_delay: u64,
    speedup: u64,
    crossbar_clock: bool,
    stage: bool,
    store_and_forward: bool,
    /// Phits per flit; the packet's size where the packet is the flit.
    flit: u64,
    size: u64,
    injection: Link,
    ejection: Link,
}

/// Latency and bandwidth.
type Link = (u64, Bandwidth);

/// A number of phits in a number of cycles.
type Bandwidth = (u64, u64);

impl Model {
    /// Cycles for a path over `links`. Every flit is followed through every resource that its predecessors used. Times
    /// are exact to a part of a tick; a flit is granted, arrives and is delivered in whole ticks.
    fn cycles(&self, links: &[Link]) -> u64 {
        const PARTS: u64 = 1 << 16;
        let fast = |(phits, cycles): Bandwidth| phits > self.flit * cycles;
        let several = |(phits, cycles): Bandwidth| phits.div_ceil(self.flit * cycles);
        // Ticks of a router cycle: a link carries at most a flit in a tick.
        let fine = links.iter().chain([&self.ejection]).map(|link| several(link.1)).max().unwrap_or(1);
        let t = fine * if self.crossbar_clock { self.speedup } else { 1 };
        let sizes: Vec<u64> =
            (0..self.size).step_by(self.flit as usize).map(|at| self.flit.min(self.size - at)).collect();
        let time = |phits: u64, (over, under): Bandwidth| (phits * under * t * PARTS).div_ceil(over);
        // When each flit's first phit is at the input of the router, and the bandwidth with which it comes.
        let (mut came, mut own) = (self.injection.1, self.ejection.1);
        let mut sent = t * PARTS;
        let mut at: Vec<u64> = Vec::new();
        for &phits in &sizes {
            at.push(sent / PARTS + self.injection.0 * t);
            sent += time(phits, came);
        }
        for (hop, &(latency, bandwidth)) in links.iter().chain([&self.ejection]).enumerate() {
            // Ports of slow links ask in the first tick of a router cycle.
            let asks = |tick: u64| if fast(came) || fast(bandwidth) { tick } else { tick.next_multiple_of(fine) };
            let (mut crossbar, mut link) = (0, 0);
            let (mut starts, mut ends) = (Vec::new(), 0);
            for (flit, &phits) in sizes.iter().enumerate() {
                let mut grant = at[flit].max(crossbar / PARTS);
                let arrives = at[flit] * PARTS + time(phits, came);
                if flit == 0 {
                    if self.store_and_forward {
                        grant = grant.max(arrives.div_ceil(PARTS));
                    }
                    grant = asks(grant + self.allocation_delay * fine);
                    grant += u64::from(self.stage);
                }
                grant = asks(grant);
                let begins = (grant * PARTS).max(crossbar);
                let serialisation = time(phits, bandwidth);
                let mut needed = time(phits, own).min(serialisation).div_ceil(self.speedup);
                if own.0.max(bandwidth.0) == 1 && own.1.min(bandwidth.1) == 1 {
                    needed = needed.next_multiple_of(PARTS);
                }
                crossbar = (begins + needed).max(arrives);
                let enters = (begins + serialisation).max(crossbar) - serialisation + self.latency * fine * PARTS;
                // A link that has rested starts with a cycle.
                let start = if link >= enters { link } else { enters.next_multiple_of(t * PARTS) };
                link = start + serialisation;
                starts.push(start.div_ceil(PARTS) + latency * t);
                ends = link.div_ceil(PARTS) + latency * t;
            }
            if hop == links.len() {
                return ends / t;
            }
            (at, came, own) = (starts, bandwidth, bandwidth);
        }
        unreachable!("the last hop is the ejection")
    }
}

/// FOGSim's router and links (Table I of the Dragonfly papers): crossbar of 5 cycles and twice the frequency, local
/// links of 10 cycles, global links of 100, packets of 8 phits.
fn fogsim() -> Value {
    json!({
        "topology": { "kind": "dragonfly", "p": 2, "a": 4, "h": 2 },
        "router": {
            "latency": 5, "speedup": 2, "clock": "link", "output_buffer": 32, "credit_release": "output",
            "links": {
                "endpoint": { "latency": 0, "vcs": 3, "buffer": 1000 },
                "local": { "latency": 10, "vcs": 4, "buffer": 32 },
                "global": { "latency": 100, "vcs": 2, "buffer": 256 },
            },
        },
        // Packets so rare that none meets another: a mean of 80000 cycles between two of an endpoint.
        "traffic": { "load": 0.0001, "packet_size": 8, "pattern": { "kind": "uniform", "include_self": true } },
        "measure": { "warmup": 0, "cycles": 4_000_000 },
    })
}

/// The latencies that occur, each with its packets.
fn latencies(value: &Value) -> BTreeMap<u64, u64> {
    histogram(&run(value)).into_iter().collect()
}

/// All packets take `expected` cycles, except a few that have met another packet.
#[track_caller]
fn assert_all(value: &Value, expected: u64) {
    let seen = latencies(value);
    let all: u64 = seen.values().sum();
    let (&least, _) = seen.iter().next().unwrap_or_else(|| panic!("no packet\n{value}"));
    let exact = seen.get(&expected).copied().unwrap_or(0);
    assert!(all >= 20, "only {all} packets\n{value}");
    assert!(least == expected && exact * 20 >= all * 19, "expected {expected} cycles, not {seen:?}\n{value}");
}

#[test]
fn fogsim_paths_take_14_29_134_and_149_cycles() {
    // No link, l, l-g (or g-l), l-g-l as FOGSim has them; g alone comes to 119.
    let seen: Vec<u64> =
        latencies(&fogsim()).into_iter().filter(|(_, packets)| *packets > 20).map(|(l, _)| l).collect();
    assert_eq!(seen, [14, 29, 119, 134, 149]);
}

/// The settings under which every path is tried, with the part of the scenario that they stand for.
fn settings() -> Vec<(Model, Value)> {
    let base = Model {
        latency: 1,
        allocation_delay: 0,
        speedup: 1,
        crossbar_clock: false,
        stage: false,
        store_and_forward: false,
        flit: 8,
        size: 8,
        injection: (1, (1, 1)),
        ejection: (1, (1, 1)),
    };
    vec![
        (base, json!({})),
        (Model { latency: 4, allocation_delay: 2, ..base }, json!({ "latency": 4, "allocation_delay": 2 })),
        (Model { latency: 0, ..base }, json!({ "latency": 0 })),
        (
            Model { latency: 0, speedup: 3, crossbar_clock: true, stage: true, ..base },
            json!({ "latency": 0, "speedup": 3, "clock": "crossbar", "vc_allocation": "stage" }),
        ),
        (Model { stage: true, ..base }, json!({ "vc_allocation": "stage" })),
        // A head that meets nobody gets channel and crossbar in one cycle.
        (base, json!({ "vc_allocation": "speculative" })),
        (
            Model { flit: 2, speedup: 2, crossbar_clock: true, ..base },
            json!({
                "switching": "wormhole", "flit_size": 2, "speedup": 2, "clock": "crossbar", "connection": "packet",
                "vc_allocation": "speculative", "speculation": "alike",
            }),
        ),
        (Model { speedup: 3, latency: 5, ..base }, json!({ "speedup": 3, "latency": 5 })),
        (
            Model { speedup: 3, latency: 5, crossbar_clock: true, stage: true, ..base },
            json!({ "speedup": 3, "latency": 5, "clock": "crossbar", "vc_allocation": "stage" }),
        ),
        (
            Model { store_and_forward: true, allocation_delay: 1, ..base },
            json!({ "switching": "store_and_forward", "allocation_delay": 1 }),
        ),
        (
            Model { store_and_forward: true, speedup: 2, crossbar_clock: true, ..base },
            json!({ "switching": "store_and_forward", "speedup": 2, "clock": "crossbar" }),
        ),
        (Model { flit: 1, ..base }, json!({ "switching": "wormhole", "flit_size": 1 })),
        (
            Model { flit: 3, stage: true, allocation_delay: 1, latency: 2, ..base },
            json!({
                "switching": "wormhole", "flit_size": 3, "vc_allocation": "stage", "allocation_delay": 1, "latency": 2,
            }),
        ),
        (
            Model { flit: 2, speedup: 2, crossbar_clock: true, ..base },
            json!({ "switching": "wormhole", "flit_size": 2, "speedup": 2, "clock": "crossbar" }),
        ),
        (
            Model { injection: (3, (2, 1)), ejection: (6, (4, 1)), ..base },
            json!({ "links": { "endpoint": {
                "latency": 3, "ejection_latency": 6, "bandwidth": 4, "injection_bandwidth": 2,
            } } }),
        ),
        (
            Model { injection: (0, (1, 1)), ejection: (0, (1, 1)), ..base },
            json!({ "links": { "endpoint": { "latency": 0, "injection_bandwidth": "infinite" } } }),
        ),
        (
            Model { injection: (1, (3, 4)), ejection: (1, (1, 3)), ..base },
            json!({ "links": { "endpoint": { "bandwidth": 1.0 / 3.0, "injection_bandwidth": 0.75 } } }),
        ),
        (Model { size: 1, flit: 1, latency: 2, ..base }, json!({ "latency": 2, "size": 1 })),
        (Model { size: 5, flit: 5, ..base }, json!({ "size": 5 })),
        (Model { size: 5, flit: 2, ..base }, json!({ "size": 5, "switching": "wormhole", "flit_size": 2 })),
    ]
}

/// The scenario of one setting: `router` may hold `size`, which belongs to the traffic.
fn build(topology: Value, links: Value, pattern: Value, router: &Value) -> Value {
    let mut router = router.clone();
    let size = router.as_object_mut().unwrap().remove("size").unwrap_or(json!(8));
    let value = json!({
        "topology": topology,
        "router": { "links": links },
        // A packet in 40000 cycles or in 5000: each is gone long before the next one comes.
        "traffic": { "load": 0.0002, "packet_size": size, "pattern": pattern },
        "measure": { "warmup": 0, "cycles": 4_000_000 },
    });
    with(value, json!({ "router": router }))
}

const SLOW: Link = (7, (1, 1));
const WIDE: Link = (3, (2, 1));
/// Slower than a phit in a cycle.
const NARROW: Link = (2, (2, 5));

fn bandwidth((phits, cycles): Bandwidth) -> Value {
    if cycles == 1 { json!(phits) } else { json!(phits as f64 / cycles as f64) }
}

fn link(link: Link) -> Value {
    json!({ "latency": link.0, "bandwidth": bandwidth(link.1), "vcs": 6, "buffer": 64 })
}

#[test]
fn one_router() {
    for (model, router) in settings() {
        let links = json!({ "endpoint": { "latency": 1, "buffer": 64 } });
        let value =
            build(json!({ "kind": "single", "endpoints": 8 }), links, json!({ "kind": "shift", "offset": 3 }), &router);
        assert_all(&value, model.cycles(&[]));
    }
}

#[test]
fn a_line_of_five_in_one_direction() {
    // Neighbours around a ring of five: one link each, over the same class.
    for (model, router) in settings() {
        for (offset, hops) in [(1, 1), (2, 2), (3, 2)] {
            for there in [SLOW, WIDE, NARROW] {
                let links = json!({ "endpoint": { "latency": 1, "buffer": 64 }, "dim0": link(there) });
                let pattern = json!({ "kind": "shift", "offset": offset });
                let value = build(json!({ "kind": "torus", "dims": [5] }), links, pattern, &router);
                assert_all(&value, model.cycles(&vec![there; hops]));
            }
        }
    }
}

#[test]
fn two_dimensions_with_different_links() {
    // Shift by 6 on a 5 x 5 torus: one hop in each dimension (two in the second where the first wraps around).
    for (model, router) in settings() {
        let links = json!({
            "endpoint": { "latency": 1, "buffer": 64 }, "dim0": link(SLOW), "dim1": link(WIDE),
        });
        for kind in ["torus", "hyperx"] {
            let value = build(
                json!({ "kind": kind, "dims": [5, 5] }),
                links.clone(),
                json!({ "kind": "shift", "offset": 6 }),
                &router,
            );
            let seen = latencies(&value);
            // In a HyperX a second hop in the same dimension is never needed.
            let wrapped = if kind == "torus" { vec![SLOW, WIDE, WIDE] } else { vec![SLOW, WIDE] };
            let expected = [model.cycles(&[SLOW, WIDE]), model.cycles(&wrapped)];
            let all: u64 = seen.values().sum();
            let exact: u64 = seen.iter().filter(|(l, _)| expected.contains(l)).map(|(_, n)| n).sum();
            assert!(all > 20 && exact * 20 >= all * 19, "{expected:?} expected, not {seen:?}\n{value}");
            for latency in expected {
                assert!(seen.contains_key(&latency), "{latency} expected, not {seen:?}\n{value}");
            }
        }
    }
}

#[test]
fn corner_to_corner_of_a_mesh() {
    // Bit complement on a 4 x 4 mesh: 3 + 3, 3 + 1, 1 + 3 and 1 + 1 hops.
    for (model, router) in settings() {
        let links = json!({
            "endpoint": { "latency": 1, "buffer": 64 }, "dim0": link(WIDE), "dim1": link(SLOW),
        });
        let value = build(json!({ "kind": "mesh", "dims": [4, 4] }), links, json!("bit_complement"), &router);
        let seen = latencies(&value);
        let path = |x: usize, y: usize| [vec![WIDE; x], vec![SLOW; y]].concat();
        let mut expected = [(1, 1), (1, 3), (3, 1), (3, 3)].map(|(x, y)| model.cycles(&path(x, y)));
        expected.sort_unstable();
        let all: u64 = seen.values().sum();
        let frequent: Vec<u64> = seen.iter().filter(|(_, n)| **n * 20 > all).map(|(l, _)| *l).collect();
        let mut distinct = expected.to_vec();
        distinct.dedup();
        assert_eq!(frequent, distinct, "{seen:?}\n{value}");
    }
}

#[test]
fn every_path_type_of_a_dragonfly() {
    // One endpoint per router: the uniform pattern has the paths l, g, lg, gl, lgl.
    for (model, router) in settings() {
        let links = json!({
            "endpoint": { "latency": 1, "buffer": 64 }, "local": link(SLOW), "global": link((40, (2, 1))),
        });
        let topology = json!({ "kind": "dragonfly", "p": 1, "a": 4, "h": 2 });
        let value = build(topology, links, json!("uniform"), &router);
        let seen = latencies(&value);
        let (l, g) = (SLOW, (40, (2, 1)));
        let expected: Vec<u64> =
            [&[l][..], &[g], &[l, g], &[g, l], &[l, g, l]].iter().map(|path| model.cycles(path)).collect();
        let all: u64 = seen.values().sum();
        let exact: u64 = seen.iter().filter(|(latency, _)| expected.contains(latency)).map(|(_, n)| n).sum();
        assert!(exact * 20 >= all * 19, "{expected:?} expected, not {seen:?}\n{value}");
        for latency in expected {
            assert!(seen.contains_key(&latency), "{latency} expected, not {seen:?}\n{value}");
        }
    }
}

#[test]
fn valiant_paths_of_a_dragonfly() {
    // With FOGSim's settings every local link adds 15 cycles and every global link 105 to the 14 of no link. Via a
    // group the local hops lie at three places: before, between and after the two global ones. Via a router there is
    // one more between: to the intermediate router and away from it.
    for (via, most_locals, vcs) in [("group", 3, 4), ("router", 4, 4)] {
        let value = with(
            fogsim(),
            json!({
                "routing": { "kind": "valiant", "via": via },
                "router": { "links": { "local": { "vcs": vcs } } },
                "traffic": { "load": 0.0002, "pattern": { "kind": "adversarial", "offset": 1 } },
            }),
        );
        let seen = latencies(&value);
        let all: u64 = seen.values().sum();
        let expected: Vec<u64> = (0..=most_locals).map(|locals| 14 + 15 * locals + 105 * 2).collect();
        let exact: u64 = seen.iter().filter(|(latency, _)| expected.contains(latency)).map(|(_, n)| n).sum();
        // The intermediate group may be the destination's: then one global hop.
        let direct: u64 = (0..=3).filter_map(|locals| seen.get(&(119 + 15 * locals))).sum();
        assert!((exact + direct) * 20 >= all * 19, "{via}: {expected:?} expected, not {seen:?}");
        for latency in expected {
            assert!(seen.contains_key(&latency), "{via}: {latency} expected, not {seen:?}");
        }
    }
}

#[test]
fn latency_includes_the_source_queue() {
    // Two endpoints exchange packets of 8 phits in every fourth cycle over links that need 8 cycles for one. The source
    // queue grows by one packet in 8 cycles. So packets delivered at cycle 2t were generated at t, and have waited t.
    let value = json!({
        "topology": { "kind": "single", "endpoints": 2 },
        "router": { "links": { "endpoint": { "injection_bandwidth": 2 } } },
        "traffic": {
            "load": 2, "packet_size": 8, "pattern": { "kind": "shift" }, "process": { "kind": "periodic" },
        },
        "measure": { "warmup": 1000, "cycles": 1000 },
    });
    let outcome = run(&value);
    // Delivered at 1500 on average, generated at half of that.
    let (mean, network) = (number(&outcome, "/latency_mean"), number(&outcome, "/network_latency_mean"));
    assert!((mean - 750.0).abs() < 20.0, "{mean}");
    assert!(network < 20.0, "{network}");
    assert!((number(&outcome, "/accepted_load") - 1.0).abs() < 0.01);
    assert!((number(&outcome, "/offered_load") - 2.0).abs() < 0.01);
}
