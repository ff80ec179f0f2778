//! Phits are counted on the wire. No link ever carries more than it can, in any window. At the end, links have carried
//! the phits of all packets.

use crate::common::{self, CHOICES, number, random, simulation, with};
use phit_engine::measure::{Rate, Snapshot};
use phit_engine::run::{Options, Simulation};
use phit_engine::topology::Peer;
use proptest::prelude::*;
use serde_json::{Value, json};

/// By port of every plane: how its link counts, and whether it leads to an endpoint.
fn ports(simulation: &Simulation) -> Vec<(Rate, bool)> {
    let blueprint = simulation.blueprint();
    let (topology, links) = (&*blueprint.topology, &blueprint.links);
    let of_router = |router| (0..topology.ports(router)).map(move |port| (router, port));
    let all = (0..topology.routers()).flat_map(of_router);
    let counted = |(router, port)| {
        let to_endpoint = matches!(topology.port(router, port).peer, Peer::Endpoint(_));
        (links.rate_of_port(topology, router, port), to_endpoint)
    };
    let of_plane: Vec<_> = all.map(counted).collect();
    of_plane.repeat(blueprint.planes.len().max(1))
}

/// The first error in the phits that links have carried between two moments, `ticks` ticks apart.
fn possible(simulation: &Simulation, before: &Snapshot, after: &Snapshot, ticks: u32) -> Result<(), String> {
    for (place, ((rate, _), (before, after))) in
        ports(simulation).iter().zip(before.ports().iter().zip(after.ports())).enumerate()
    {
        let most = rate.capacity(ticks.into());
        if after < before || after - before > most {
            return Err(format!("port {place}: {before} to {after} in {ticks} ticks, which carry {most} at most"));
        }
    }
    let links = &simulation.blueprint().links;
    let planes = simulation.blueprint().planes.len().max(1) as u64;
    for (endpoint, (before, after)) in before.injected().iter().zip(after.injected()).enumerate() {
        let most = planes * links.injection_rate(endpoint as u32).capacity(ticks.into());
        if after < before || after - before > most {
            return Err(format!(
                "endpoint {endpoint}: {before} to {after} in {ticks} ticks, which carry {most} at most"
            ));
        }
    }
    Ok(())
}

/// Looks after each of these steps, and from the first look to the last; and looks like this whatever was looked at
/// before.
fn steps(value: &Value, partitions: usize, steps: &[u32]) -> Result<(), String> {
    let options = Options { threads: 1, partitions: Some(partitions) };
    let mut network = simulation(value, options);
    let mut looks = vec![(0, network.fabric().snapshot())];
    for step in steps {
        let (now, before) = looks.last().expect("there is one").clone();
        network.advance_to(now + step);
        let after = network.fabric().snapshot();
        possible(&network, &before, &after, *step)?;
        looks.push((now + step, after));
    }
    let (last, after) = looks.last().expect("there is one");
    for (from, before) in &looks {
        possible(&network, before, after, last - from)?;
    }
    let mut at_once = simulation(value, options);
    at_once.advance_to(*last);
    let again = at_once.fabric().snapshot();
    match again.ports() == after.ports() && again.injected() == after.injected() {
        true => Ok(()),
        false => Err(format!("other counts at tick {last} if nobody looked before")),
    }
}

/// Packets of 4 phits that sources stop to generate, and are all delivered in the end.
fn ending(choices: &[u32]) -> Value {
    let mut value = random(choices);
    value["topology"]["faults"] = Value::Null;
    if value["topology"]["kind"] == "clos" {
        value["topology"]["faults"] = json!({ "links": [] });
    }
    value["traffic"]["packet_size"] = json!(4);
    value["traffic"]["load"] = json!(0.3);
    value["traffic"]["changes"] = json!([{ "cycle": 100, "load": 0 }]);
    value["traffic"]["classes"] = json!([]);
    value
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_link_carries_more_than_it_can(
        choices in prop::collection::vec(0u32..720_720, CHOICES),
        partitions in 1usize..5,
        ticks in prop::collection::vec(1u32..40, 20),
    ) {
        let value = random(&choices);
        let wrong = steps(&value, partitions, &ticks);
        prop_assert!(wrong.is_ok(), "{}\n{partitions} partitions of\n{value}", wrong.unwrap_err());
    }

    /// At the end, links have carried the phits of all flits that routers granted, and links to endpoints the phits
    /// delivered.
    #[test]
    fn links_have_carried_what_was_granted(
        choices in prop::collection::vec(0u32..720_720, CHOICES),
        partitions in 1usize..5,
    ) {
        let value = ending(&choices);
        let scenario = phit_engine::scenario::Scenario::from_value(&value);
        prop_assume!(scenario.is_ok_and(|scenario| phit_engine::run::prepare(&scenario).is_ok()));
        let mut network = simulation(&value, Options { threads: 1, partitions: Some(partitions) });
        network.open_window(5_000_000);
        // Slow links with short buffers take long: until nothing is held and the wires are empty.
        for end in (20_000..=2_000_000).step_by(20_000) {
            network.advance_to(end);
            if network.fabric().progress().held == 0 {
                network.advance_to(end + 20_000);
                break;
            }
        }
        prop_assert_eq!(network.fabric().progress().held, 0, "{}", value);
        let snapshot = network.fabric().snapshot();
        let (mut all, mut ejected) = (0, 0);
        for ((rate, to_endpoint), parts) in ports(&network).iter().zip(snapshot.ports()) {
            prop_assert_eq!(parts % rate.per_phit, 0, "{}", value);
            all += parts / rate.per_phit;
            ejected += if *to_endpoint { parts / rate.per_phit } else { 0 };
        }
        let (mut flits, mut delivered, mut control) = (0, 0, 0);
        for collector in network.fabric().collectors() {
            flits += collector.counters.work.flit_hops;
            delivered += collector.counters.flow.phits;
            control += collector.counters.control.phits.iter().sum::<u64>();
        }
        prop_assert_eq!(ejected, delivered, "{}", value);
        let flit = match value["router"]["switching"] == "wormhole" {
            true => value["router"]["flit_size"].as_u64().unwrap().min(4),
            false => 4,
        };
        // Flits of 3 phits leave one of a single phit.
        prop_assert!(flit == 3 || all == flits * flit + control, "{all}, {flits} of {flit}, {control}\n{value}");
    }

    /// At any time, no buffer holds more than it has room for.
    #[test]
    fn no_buffer_holds_more_than_it_can(choices in prop::collection::vec(0u32..720_720, CHOICES)) {
        let mut value = random(&choices);
        value["measure"]["probes"] = json!([{ "kind": "buffers", "every": 7 }]);
        value["router"]["sharing"] = Value::Null;
        let tables = common::run(&value).tables();
        let of = |name: &str| tables["probes"][name].as_array().unwrap().clone();
        for ((quantity, class), most) in of("quantity").iter().zip(of("class")).zip(of("max")) {
            if let Some(room) = value["router"]["links"][class.as_str().unwrap()]["buffer"].as_u64() {
                prop_assert!(most.as_u64() <= Some(room), "{quantity} of {class}: {most} of {room}\n{value}");
            }
        }
    }
}

/// A switch whose crossbar is faster than its links and whose output buffers take whatever comes: what waits in a
/// buffer is not on the wire. A link that always has something to send is used wholly, not more, from whichever cycle
/// on, even if its packets or flits end within cycles.
#[test]
fn what_waits_in_an_output_buffer_is_not_on_the_wire() {
    for (bandwidth, kernel) in [(1.0, json!({})), (2.0, json!({})), (0.6, json!({ "latency": 9 }))] {
        for switching in ["virtual_cut_through", "wormhole"] {
            let value = json!({
                "topology": { "kind": "single", "endpoints": 8 },
                "router": with(json!({
                    "speedup": 4, "switching": switching, "flit_size": 2,
                    "links": { "endpoint": { "buffer": 64, "bandwidth": bandwidth, "injection_bandwidth": 1 } },
                }), kernel.clone()),
                "traffic": {
                    "load": 0.4, "packet_size": 6, "pattern": { "kind": "hotspot", "targets": [0], "share": 1.0 },
                },
                "measure": { "warmup": 303, "cycles": 501, "links": true },
            });
            let outcome = common::run(&value);
            let used = number(&outcome, "/link_utilisation/endpoint/max");
            assert!((used - 1.0).abs() < 1e-9, "{used}: {value}");
        }
    }
}

/// The other kernels: packet-level nodes, with answers on their links, and networks side by side.
#[test]
fn no_link_of_other_kernels_carries_more_than_it_can() {
    let torus = json!({ "kind": "torus", "dims": [4, 4] });
    let node = |more: Value| {
        with(
            json!({
                "topology": torus, "routing": "outflank",
                "router": { "kind": "packet_node", "links": { "default": { "buffer": 40, "vcs": 3, "bandwidth": 1 } } },
                "traffic": { "load": 0.9, "packet_size": 5 }, "measure": { "warmup": 0, "cycles": 1000 },
            }),
            more,
        )
    };
    let planes = json!({
        "topology": torus, "routing": "dimension_order", "planes": { "count": 2 },
        "router": { "speedup": 2, "links": { "default": { "vcs": 4 } } },
        "traffic": { "load": 1.8, "packet_size": 4 }, "measure": { "warmup": 0, "cycles": 1000 },
    });
    let sizes = json!({ "traffic": { "packet_size": { "kind": "choice", "sizes": [1, 5] } } });
    for value in [node(json!({})), node(sizes), planes] {
        steps(&value, 1, &[1, 2, 3, 50, 7, 1, 1, 1, 100, 33]).unwrap_or_else(|wrong| panic!("{wrong}\n{value}"));
    }
}
