//! Spraying: each packet, or each burst of packets, takes one of the equal ways to its destination.

use super::distances::Distances;
use super::{Injection, RouterView, Routing, RoutingContext, RoutingParams, View, Wants, ladder};
use crate::engine::{Memory, Rng, Tick};
use crate::error::ScenarioError;
use crate::fabric::seams::routing::{Adaptive, Ladder, Legs, Proof, Standing, Step};
use crate::packet::Packet;
use crate::topology::{Hop, Leg, Peer, RouteTable, Topology};
use rustc_hash::FxHashMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// How one of the equal ways is chosen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// At random for each packet, at every router.
    #[default]
    Random,
    /// In turn (see `turn`).
    RoundRobin,
    /// The output with the fewest phits, at random among equals. Phits count in the output's buffer and in the next
    /// router, and so do packets at the heads of other queues that wait for the output. A packet keeps its choice.
    LeastQueued,
    /// By a hash of source, destination and a label. The source gives the packets of a flow its labels in turn, of
    /// which there are `labels`. Routers hash as with ECMP, so a flow takes at most as many ways as it has labels.
    Entropy,
    /// By a hash of source and destination: all packets of a flow take one way (ECMP).
    Flow,
}

/// Who takes the equal ways in turn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Turn {
    /// Every router, for all its packets with equal outputs to choose from.
    #[default]
    Router,
    /// Every source, for its packets to each destination.
    Source,
}

/// Which ways are equal.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Ways {
    /// The ways of the topology's minimal routing, in its virtual channels. In a mesh, torus or HyperX they have
    /// dimension order, so there is a choice among parallel links alone.
    #[default]
    Minimal,
    /// All shortest ways. A mesh, torus or HyperX has many of them, over dimensions in any order.
    Shortest,
}

/// The virtual channels of shortest ways.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Channels {
    /// A channel for each hop, so that channels rise along every way.
    #[default]
    Hops,
    /// Any channel; one is enough. This is free of deadlock in trees, whose ways go up and then down. `phit verify`
    /// says whether it is on a given network.
    Any,
}

/// Spraying: every packet takes one of the equal ways to its destination, whatever way the packets before it took
/// (packet spraying: Dixit, Prakash, Hu and Kompella, "On the impact of packet spraying in data center networks",
/// INFOCOM 2013). A flow is the packets from a source to a destination.
///
/// The rule `flow` is the usual ECMP, one way for each flow, to compare with. `entropy` is spraying with ECMP's hash: a
/// source changes a label in the header, as Ultra Ethernet does. With `flowlet`, a flow changes its way only after a
/// pause (Kandula, Katabi, Sinha and Berger, "Dynamic load balancing without packet reordering", CCR 2007).
///
/// Packets may overtake each other on the way; with `flow` they do so only in other virtual channels. `measure.order`
/// measures how far, and `workload.reorder` what it costs the receivers.
///
/// ```toml
/// [topology]
/// kind = "clos"
/// down = [4, 8]
/// up = [4]
///
/// [routing]
/// kind = "spray"
/// rule = "entropy"
/// labels = 16
/// ```
///
/// All shortest ways of a HyperX:
///
/// ```toml
/// [topology]
/// kind = "hyperx"
/// dims = [4, 4]
///
/// [router.links.default]
/// vcs = 2
///
/// [routing]
/// kind = "spray"
/// ways = "shortest"
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Spray {
    /// How one of the equal ways is chosen.
    pub rule: Rule,
    /// Which ways are equal.
    pub ways: Ways,
    /// With `ways = "shortest"`: their virtual channels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub channels: Option<Channels>,
    /// With `rule = "entropy"`: labels of each flow; 64 if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 65_536))]
    pub labels: Option<u32>,
    /// With `rule = "round_robin"`: who takes the ways in turn; the router if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn: Option<Turn>,
    /// Pause of a flow in cycles, from the start of a packet to the start of the next, after which the flow takes
    /// another way. With the rules by which the source chooses: `random`, `entropy`, and `round_robin` with `turn =
    /// "source"`. Left out: each packet chooses.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    #[schemars(extend("x-unit" = "cycles"))]
    pub flowlet: Option<u32>,
}

/// Labels of a flow, unless `labels` says how many.
const LABELS: u32 = 64;

impl Spray {
    fn turn(&self) -> Turn {
        self.turn.unwrap_or_default()
    }

    /// True if every router takes its outputs in turn.
    fn counts_at_routers(&self) -> bool {
        self.rule == Rule::RoundRobin && self.turn() == Turn::Router
    }

    /// True if every source takes the ways in turn.
    fn counts_at_sources(&self) -> bool {
        self.rule == Rule::RoundRobin && self.turn() == Turn::Source
    }

    /// The steps of packets over shortest ways.
    fn followed(&self) -> Followed {
        Followed { channels: self.channels.unwrap_or_default() }
    }
}

impl RoutingParams for Spray {
    fn check(&self, topology: &dyn Topology) -> Result<(), ScenarioError> {
        let only =
            |key: &str, value: String, with: &str| Err(ScenarioError::new(key, value, format!("expected {with}")));
        if let Some(labels) = self.labels.filter(|_| self.rule != Rule::Entropy) {
            return only("labels", labels.to_string(), "`rule = \"entropy\"`, whose flows have labels");
        }
        if let Some(turn) = self.turn.filter(|_| self.rule != Rule::RoundRobin) {
            let turn = format!("\"{}\"", if turn == Turn::Router { "router" } else { "source" });
            return only("turn", turn, "`rule = \"round_robin\"`, which takes ways in turn");
        }
        let at_routers = self.rule == Rule::LeastQueued || self.counts_at_routers();
        if let Some(flowlet) = self.flowlet.filter(|_| at_routers || self.rule == Rule::Flow) {
            let with = match self.rule {
                Rule::Flow => "no flowlets with `rule = \"flow\"`: a flow keeps its way for ever",
                Rule::RoundRobin => "`turn = \"source\"`: routers do not know flows",
                _ => "a rule by which the source chooses: \"random\", \"entropy\", or \"round_robin\" with `turn`",
            };
            return only("flowlet", flowlet.to_string(), with);
        }
        match (self.ways, self.channels) {
            (Ways::Minimal, Some(channels)) => {
                let channels = format!("\"{}\"", if channels == Channels::Any { "any" } else { "hops" });
                only("channels", channels, "`ways = \"shortest\"`; minimal routing has the topology's channels")
            }
            (Ways::Minimal, None) => Ok(()),
            (Ways::Shortest, _) if topology.tree().is_some() => {
                only("ways", "\"shortest\"".into(), "\"minimal\": in this tree these are all shortest ways")
            }
            (Ways::Shortest, _) => {
                ladder::check("spray", topology)?;
                ladder::check_hops("ways", topology.diameter(), topology.diameter())
            }
        }
    }

    fn vcs_needed(&self, topology: &dyn Topology) -> (Vec<u8>, String) {
        match (self.ways, self.channels.unwrap_or_default()) {
            (Ways::Minimal, _) => topology.vcs_needed(Leg::ONLY),
            (Ways::Shortest, Channels::Hops) => ladder::vcs_needed(topology, topology.diameter()),
            (Ways::Shortest, Channels::Any) => {
                (vec![1; topology.classes().len()], "`phit verify` says whether one is enough".into())
            }
        }
    }

    fn proof(&self) -> Proof {
        match (self.ways, self.channels.unwrap_or_default()) {
            (Ways::Minimal, _) => Proof::legs(Legs::Minimal),
            (Ways::Shortest, Channels::Hops) => Proof::Ladder(Ladder {
                longest: Box::new(|topology: &dyn Topology| topology.diameter()),
                steps: Some(Box::new(self.followed())),
            }),
            (Ways::Shortest, Channels::Any) => Proof::Steps(Box::new(self.followed())),
        }
    }

    fn avoids_faults(&self) -> bool {
        self.ways == Ways::Minimal
    }

    fn reads_buffers(&self) -> bool {
        self.rule == Rule::LeastQueued
    }

    fn counts_phits(&self) -> bool {
        true
    }

    fn per_network(&self) -> bool {
        self.rule != Rule::LeastQueued && !self.counts_at_routers()
    }

    fn divides_flows(&self) -> bool {
        !matches!(self.rule, Rule::Entropy | Rule::Flow) && self.flowlet.is_none()
    }

    fn build(&self, context: &RoutingContext) -> Box<dyn Routing> {
        let topology = &*context.topology;
        let radix = context.routers.iter().map(|router| topology.ports(router)).max().unwrap_or(0);
        // Routers that began with their first outputs would send their first packets to the same next routers.
        let first = |router: u32| Rng::keyed(salt(context.seed), router).bits() as u32;
        let firsts = context.routers.iter().flat_map(|router| std::iter::repeat_n(first(router), radix.into()));
        let turns = if self.counts_at_routers() { firsts.collect() } else { Vec::new() };
        let waiting = if self.rule == Rule::LeastQueued { context.routers.len() * usize::from(radix) } else { 0 };
        Box::new(Sprayed {
            params: self.clone(),
            labels: self.labels.unwrap_or(LABELS),
            pause: self.flowlet.map(|cycles| cycles.saturating_mul(context.ticks_per_cycle)),
            salt: salt(context.seed),
            flows: FxHashMap::default(),
            turns,
            waiting: vec![0; waiting],
            radix: radix.into(),
            shortest: (self.ways == Ways::Shortest).then(|| Distances::new(context)),
            longest: topology.diameter(),
            hops: Vec::new(),
            best: Vec::new(),
        })
    }
}

/// A number of the seed. With another number, all hashes differ.
fn salt(seed: u64) -> u64 {
    Rng::keyed(seed, 0).bits()
}

/// Packets on shortest ways, for proofs.
struct Followed {
    channels: Channels,
}

impl Adaptive for Followed {
    fn steps(&self, topology: &dyn Topology, packet: &Standing, vcs: &[u8], out: &mut Vec<Step>) {
        let (at, to) = (packet.at, packet.to);
        let left = topology.distance(at, to);
        for port in 0..topology.ports(at) {
            let link = topology.port(at, port);
            let Peer::Router { router, .. } = link.peer else { continue };
            if topology.distance(router, to) + 1 != left {
                continue;
            }
            let hop = match self.channels {
                Channels::Hops => ladder::step(topology, packet, port, topology.diameter(), vcs),
                Channels::Any => Hop { port, vc: 0, vcs: vcs[usize::from(link.class)] },
            };
            out.push(Step { hop, memo: 0, escape: true });
        }
    }

    fn longest(&self, topology: &dyn Topology) -> u32 {
        topology.diameter()
    }

    fn counts_hops(&self) -> bool {
        self.channels == Channels::Hops
    }
}

/// The state of a flow at its source.
#[derive(Debug, Clone, Copy)]
struct Flow {
    /// The label of its latest packet.
    label: u32,
    /// When that was sent.
    latest: Tick,
}

struct Sprayed {
    params: Spray,
    labels: u32,
    /// Ticks.
    pause: Option<Tick>,
    /// Part of every hash: see [`salt`].
    salt: u64,
    /// By source and destination, for rules that depend on the packet before.
    flows: FxHashMap<(u32, u32), Flow>,
    /// By router and its first equal output: packets that have chosen among these outputs.
    turns: Vec<u32>,
    /// By router and output: phits of packets that have chosen it and not been granted it.
    waiting: Vec<u32>,
    radix: usize,
    /// With `ways = "shortest"`.
    shortest: Option<Distances>,
    /// Hops of the longest way.
    longest: u32,
    /// The equal hops of one packet.
    hops: Vec<Hop>,
    /// Places of the hops with the shortest queue.
    best: Vec<u32>,
}

impl Sprayed {
    /// The label of a packet of `flow` that is sent now. Routers make their choice from it.
    fn label(&mut self, flow: (u32, u32), now: Tick, rng: &mut Rng) -> u32 {
        let Spray { rule, .. } = self.params;
        let fresh = |rng: &mut Rng| match rule {
            Rule::Entropy => rng.below(self.labels),
            _ => rng.bits() as u32,
        };
        match (rule, self.pause) {
            // Routers choose by themselves.
            (Rule::Flow | Rule::LeastQueued, _) => return 0,
            (Rule::RoundRobin, _) if self.params.counts_at_routers() => return 0,
            (Rule::Random, None) => return fresh(rng),
            _ => {}
        }
        let labels = self.labels;
        match self.flows.entry(flow) {
            std::collections::hash_map::Entry::Vacant(entry) => {
                entry.insert(Flow { label: fresh(rng), latest: now }).label
            }
            std::collections::hash_map::Entry::Occupied(mut entry) => {
                let flow = entry.get_mut();
                if self.pause.is_none_or(|pause| now - flow.latest >= pause) {
                    flow.label = match rule {
                        Rule::Random => rng.bits() as u32,
                        Rule::Entropy => (flow.label + 1) % labels,
                        _ => flow.label.wrapping_add(1),
                    };
                }
                flow.latest = now;
                flow.label
            }
        }
    }

    /// Finds the equal hops of `packet` here.
    fn find(&mut self, at: &RouterView<'_>, packet: &Packet) {
        self.hops.clear();
        let to = packet.destination_router;
        let Some(distances) = &self.shortest else {
            at.topology.minimal_hops(at.router, to, Leg::ONLY, packet.hop_state(), at.vcs(), &mut self.hops);
            return;
        };
        let left = distances.between(at, distances.here(at), to);
        for (port, next) in distances.links(at) {
            if distances.between(at, next, to) + 1 == left {
                self.hops.push(match self.params.channels.unwrap_or_default() {
                    Channels::Hops => ladder::over(at, port, packet, self.longest),
                    Channels::Any => Hop { port, vc: 0, vcs: at.vcs()[usize::from(at.class(port))] },
                });
            }
        }
    }

    /// A number below `count` that source, destination, label and router determine.
    fn hash(&self, at: &RouterView<'_>, packet: &Packet, count: u32) -> usize {
        // An odd factor spreads labels over all bits.
        let label = u64::from(packet.scratch).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let flow = u64::from(packet.source) << 32 | u64::from(packet.destination);
        Rng::keyed(flow ^ label ^ self.salt, at.router).below(count) as usize
    }

    /// The place of output `port` of this router.
    fn output(&self, at: &RouterView<'_>, port: u16) -> usize {
        at.local as usize * self.radix + usize::from(port)
    }

    /// The hop with the shortest queue, in which `packet` waits from now on.
    fn join_shortest(&mut self, view: &mut View<'_>, packet: &mut Packet) -> Hop {
        self.leave(view, packet);
        self.best.clear();
        let mut least = u32::MAX;
        for (place, hop) in self.hops.iter().enumerate() {
            let held: u32 = (hop.vc..hop.vc + hop.vcs).map(|vc| view.occupancy(hop.port, vc)).sum();
            let queue = held.saturating_add(self.waiting[self.output(view, hop.port)]);
            if queue < least {
                least = queue;
                self.best.clear();
            }
            if queue == least {
                self.best.push(place as u32);
            }
        }
        let place = match self.best[..] {
            [only] => only,
            ref equal => equal[view.rng.below(equal.len() as u32) as usize],
        };
        let hop = self.hops[place as usize];
        let output = self.output(view, hop.port);
        self.waiting[output] += u32::from(packet.size);
        packet.scratch = u32::from(hop.port) + 1;
        hop
    }

    /// `packet` waits for no output of this router any more. [`Packet::scratch`] is the output and 1, or 0.
    fn leave(&mut self, at: &RouterView<'_>, packet: &mut Packet) {
        if let Some(port) = std::mem::take(&mut packet.scratch).checked_sub(1) {
            let output = self.output(at, port as u16);
            let waiting = &mut self.waiting[output];
            // After a failure, packets that have been lost are not subtracted: the counts begin again.
            *waiting = waiting.saturating_sub(packet.size.into());
        }
    }
}

impl Routing for Sprayed {
    fn remember(&self, memory: &mut Memory) {
        let mut flows: Vec<_> = self.flows.iter().collect();
        flows.sort_unstable_by_key(|(flow, _)| **flow);
        for (&(from, to), &Flow { label, latest }) in flows {
            // Only a pause tells when the packet before was sent.
            let since = self.pause.map_or(0, |pause| (memory.now() - latest).min(pause));
            memory.add_all([from, to, label, since]);
        }
        memory.add_all(self.turns.iter().chain(&self.waiting).copied());
    }

    /// A hash table needs one byte more for each place.
    fn bytes(&self) -> usize {
        let flow = size_of::<((u32, u32), Flow)>() + 1;
        self.flows.capacity() * flow + (self.turns.capacity() + self.waiting.capacity()) * size_of::<u32>()
    }

    fn wants(&self) -> Wants {
        let departures = self.params.rule == Rule::LeastQueued || self.params.counts_at_sources();
        Wants { departures, ..Wants::default() }
    }

    fn inject(&mut self, at: &mut Injection<'_>, packet: &mut Packet) {
        packet.scratch = self.label((packet.source, packet.destination), at.now, at.rng);
    }

    fn route(&mut self, view: &mut View<'_>, _: u16, _: u16, packet: &mut Packet) -> Option<Hop> {
        self.find(view, packet);
        let count = self.hops.len() as u32;
        let place = match (count, self.params.rule) {
            // A way has broken, and routing does not know yet.
            (0, _) => {
                let mut rng = view.rng_of(packet);
                return Some(view.minimal_hop(packet.destination_router, packet.hop_state(), &mut rng));
            }
            (_, Rule::LeastQueued) => return Some(self.join_shortest(view, packet)),
            (1, _) => 0,
            (_, Rule::RoundRobin) if self.params.turn() == Turn::Source => (packet.scratch % count) as usize,
            (_, Rule::RoundRobin) => {
                let output = self.output(view, self.hops[0].port);
                let turn = &mut self.turns[output];
                *turn = turn.wrapping_add(1);
                (*turn % count) as usize
            }
            (_, Rule::Random | Rule::Entropy | Rule::Flow) => self.hash(view, packet, count),
        };
        Some(self.hops[place])
    }

    fn departs(&mut self, at: &RouterView<'_>, _: u16, _: u16, _: Hop, packet: &mut Packet) {
        if self.params.rule == Rule::LeastQueued {
            return self.leave(at, packet);
        }
        // The ways of a source are numbered by the digits of a number with a digit for each choice. The next choice
        // takes the next digit.
        self.find(at, packet);
        packet.scratch /= (self.hops.len() as u32).max(1);
    }

    fn rerouted(&mut self, _: Tick, _: usize, _: Option<&Arc<RouteTable>>) {
        self.waiting.fill(0);
        if let Some(distances) = &mut self.shortest {
            distances.forget();
        }
    }
}
