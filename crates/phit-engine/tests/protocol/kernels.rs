//! Kernels compiled for a known property of a network are faster, and give equal results.

use crate::common::{self, CHOICES, random};
use phit_engine::engine::Rng;
use phit_engine::error::ScenarioError;
use phit_engine::run::{self, Options};
use phit_engine::topology::{
    Breakdown, Faults, Faulty, Hop, HopState, Leg, Port, Topology, TopologyKind, TopologyParams, Tree,
};
use proptest::prelude::*;
use serde::Serialize;
use serde_json::{Value, json};
use std::ops::Range;
use std::sync::Arc;

/// A topology of Phit's own that the engine cannot tell from somebody else's: nothing of it is compiled into a kernel.
#[derive(Debug, Serialize)]
struct Strange(TopologyKind);

impl TopologyParams for Strange {
    fn faults(&self) -> Option<&Faults> {
        self.0.params().faults()
    }
    fn build(&self) -> Result<Arc<dyn Topology>, ScenarioError> {
        Ok(Arc::new(StrangeGraph(self.0.params().build()?)))
    }
}

#[derive(Debug)]
struct StrangeGraph(Arc<dyn Topology>);

impl Topology for StrangeGraph {
    fn classes(&self) -> &[String] {
        self.0.classes()
    }
    fn routers(&self) -> u32 {
        self.0.routers()
    }
    fn endpoints(&self) -> u32 {
        self.0.endpoints()
    }
    fn ports(&self, router: u32) -> u16 {
        self.0.ports(router)
    }
    fn port(&self, router: u32, port: u16) -> Port {
        self.0.port(router, port)
    }
    fn attachment(&self, endpoint: u32) -> (u32, u16) {
        self.0.attachment(endpoint)
    }
    fn hosts(&self) -> Range<u32> {
        self.0.hosts()
    }
    fn minimal_hops(&self, at: u32, to: u32, leg: Leg, state: HopState, vcs: &[u8], out: &mut Vec<Hop>) {
        self.0.minimal_hops(at, to, leg, state, vcs, out);
    }
    fn minimal_hop(&self, at: u32, to: u32, leg: Leg, state: HopState, vcs: &[u8], rng: &mut Rng) -> Hop {
        self.0.minimal_hop(at, to, leg, state, vcs, rng)
    }
    fn vcs_needed(&self, leg: Leg) -> (Vec<u8>, String) {
        self.0.vcs_needed(leg)
    }
    fn direct_leg(&self) -> Leg {
        self.0.direct_leg()
    }
    fn distance(&self, a: u32, b: u32) -> u32 {
        self.0.distance(a, b)
    }
    fn diameter(&self) -> u32 {
        self.0.diameter()
    }
    fn groups(&self) -> u32 {
        self.0.groups()
    }
    fn group_of(&self, router: u32) -> u32 {
        self.0.group_of(router)
    }
    fn group_routers(&self, group: u32) -> Range<u32> {
        self.0.group_routers(group)
    }
    fn group_hops(&self, at: u32, group: u32, leg: Leg, state: HopState, vcs: &[u8], out: &mut Vec<Hop>) {
        self.0.group_hops(at, group, leg, state, vcs, out);
    }
    fn group_hop(&self, at: u32, group: u32, leg: Leg, state: HopState, vcs: &[u8], rng: &mut Rng) -> Hop {
        self.0.group_hop(at, group, leg, state, vcs, rng)
    }
    fn exit(&self, at: u32, to: u32, rng: &mut Rng) -> Option<(u32, u16)> {
        self.0.exit(at, to, rng)
    }
    fn class_ports(&self, router: u32, class: u8) -> Range<u16> {
        self.0.class_ports(router, class)
    }
    fn is_dragonfly(&self) -> bool {
        self.0.is_dragonfly()
    }
    fn grid(&self) -> Option<&[u32]> {
        self.0.grid()
    }
    fn tree(&self) -> Option<&Tree> {
        self.0.tree()
    }
    fn faulty(&self) -> Option<&Faulty> {
        self.0.faulty()
    }
    fn breakdowns(&self) -> &[Breakdown] {
        self.0.breakdowns()
    }
    fn bisection_load(&self, bandwidth: &[f64]) -> Option<f64> {
        self.0.bisection_load(bandwidth)
    }
    fn wraps(&self) -> bool {
        self.0.wraps()
    }
}

fn assert_same(value: &Value) {
    let result = |strange: bool| {
        let mut scenario = common::scenario(value);
        if strange {
            scenario.topology = TopologyKind::custom("strange", Strange(scenario.topology));
        }
        let outcome = run::run(&scenario, Options::default(), &mut |_, _| true)
            .unwrap_or_else(|error| panic!("{error}\n{value}"));
        let mut summary = outcome.summary();
        // The name of the topology, the time that the run took and what its tables hold.
        for key in ["scenario", "cpu_seconds", "wall_seconds", "memory_bytes", "scenario_hash"] {
            summary.remove(key);
        }
        (summary, outcome.tables())
    };
    let (own, strange) = (result(false), result(true));
    for (key, number) in &own.0 {
        assert_eq!(Some(number), strange.0.get(key), "{key}\n{value}");
    }
    assert_eq!(own.1, strange.1, "{value}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_known_topology_changes_nothing(choices in prop::collection::vec(0u32..720_720, CHOICES)) {
        assert_same(&random(&choices));
    }

    /// Endpoints whose room lasts just as long as their credits need, or less, or longer; credits that take turns; and
    /// heads that speculate.
    #[test]
    fn routers_of_other_simulators_change_nothing(
        tree in any::<bool>(),
        (latency, credit_delay, ejection_latency) in (1u32..4, 0u32..4, 0u32..3),
        spare in -3i64..3,
        (speedup, input_speedup) in (prop::sample::select(vec![1u32, 1, 2, 4]), 1u32..3),
        in_turn in any::<bool>(),
        speculates in prop::bool::weighted(0.7),
        (channels, after, separable) in (prop::sample::select(vec![1u32, 1, 2, 3]), any::<bool>(), any::<bool>()),
        (size, flit_size, load) in (prop::sample::select(vec![1u32, 1, 1, 2]), 1u32..3, 0.2f64..1.0),
    ) {
        // A ring needs two; with one, a port of the tree has one queue and one channel.
        let vcs = if tree { channels } else { 2 * channels };
        let round_trip = latency + 1 + ejection_latency + 1 + 1 + credit_delay;
        let mut value = json!({
            "topology": { "kind": "torus", "dims": [4, 3] },
            "router": {
                "latency": latency,
                "vc_allocation": if speculates { "speculative" } else { "stage" },
                "switching": "wormhole",
                "flit_size": flit_size,
                "clock": "crossbar",
                "speedup": speedup,
                "input_speedup": if speculates { 1 } else { input_speedup },
                "credit_delay": credit_delay,
                "credit_channel": if in_turn { "one_per_cycle" } else { "unlimited" },
                "injection_queue": "round_robin",
                "allocator": if separable { "separable_input_first" } else { "islip" },
                "links": {
                    "endpoint": {
                        "latency": 1,
                        "vcs": vcs,
                        "buffer": 4,
                        "ejection_latency": ejection_latency,
                        "ejection_buffer": (i64::from(round_trip) + spare).max(size.into()),
                    },
                    "default": { "latency": 1, "vcs": vcs, "buffer": 4 },
                },
            },
            "routing": "dimension_order",
            "traffic": { "load": load, "packet_size": size },
            "measure": { "warmup": 50, "cycles": 250 },
        });
        if speculates && !after {
            value["router"]["speculation"] = json!("alike");
        }
        if tree {
            value["topology"] = json!({ "kind": "clos", "down": [3, 3], "up": [3] });
            value["routing"] = json!({ "kind": "clos", "allocation": "oblivious" });
        }
        assert_same(&value);
    }
}
