//! Adaptive routing in folded Clos networks (Kim, Dally and Abts, "Adaptive routing in high-radix Clos network", SC
//! 2006).
//!
//! A packet goes up to any common ancestor of its source and its destination, and from there down. On the way up every
//! output upwards is minimal, and which input gets which output is an *allocation* (section 4 of the paper), made in
//! every router and router cycle for all heads that wait there. On the way down there is no choice.
//!
//! * `allocation` is the rule of section 4.1: what an input chooses among the outputs, and what the inputs after it
//!   know of it.
//! * `history` keeps the states of outputs of some cycles ago (section 5.3).
//! * `kept` keeps decisions that are made once in a cycle.

use super::contention::{CONTENTION, Counters};
use super::in_transit::DIRECT;
use super::{Head, Injection, RouterView, Routing, RoutingContext, RoutingParams, See, Site, View, Wants};
use crate::engine::{Rng, Tick};
use crate::error::ScenarioError;
use crate::fabric::seams::routing::{Legs, Proof};
use crate::measure::Observable;
use crate::packet::{Arena, Packet};
use crate::topology::{Hop, Place, Topology, Tree};
use allocation::{Allocator, Output};
use history::{History, State};
use kept::Kept;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

mod allocation;
mod history;
mod kept;
#[cfg(test)]
mod spy;
#[cfg(test)]
mod tests;

/// Up to any common ancestor, then down, in a folded Clos network: which of the outputs upwards a packet takes is
/// allocated in every router and router cycle (Kim, Dally and Abts, "Adaptive routing in high-radix Clos network", SC
/// 2006).
///
/// An output is the better the fewer phits are charged against its buffer at the next router. Outputs that cannot take
/// a packet now, because another one is crossing to them or their buffer is full, come after all others. Ties are
/// broken at random.
///
/// ```toml
/// [routing]
/// kind = "clos"
/// allocation = "greedy_r"
/// samples = 2
/// precision = 2
/// precompute = 1
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Clos {
    /// How outputs are given to inputs.
    pub allocation: Allocation,
    /// Outputs drawn for each head, of which the best is taken, with `sequential_r` and `greedy_r`: 1 to 4,096. An
    /// output may be drawn twice.
    #[schemars(range(min = 1, max = 4096))]
    pub samples: u32,
    /// What makes an output worse. With `contention`, "fill" below stands for the heads that have chosen the output,
    /// out of as many as the router has ports.
    pub measure: Measure,
    /// Bits of the fill of a buffer that are known, 0 to 31: with b bits, in which of 2^b equal parts of the buffer it
    /// ends. 0: only whether the output can take a packet now. If left out, the fill is known exactly (section 5.2).
    #[schemars(range(max = 31))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub precision: Option<u32>,
    /// Cycles between the state that a decision is made from and the decision, 0 to 2; with `greedy` and `greedy_r`
    /// only, which need no knowledge of other decisions of the same cycle (section 5.3).
    #[schemars(range(max = history::LONGEST))]
    pub precompute: u32,
    /// What it counts for that an output cannot take a packet now.
    pub busy: Busy,
    /// Whether blocked heads are decided about again in every router cycle. If not, a head keeps its first decision;
    /// with `oblivious` and `deterministic` it always does.
    pub redecide: bool,
    /// When a packet is decided about.
    pub decide: Decide,
    /// Share of the packets, from 0 to 1, that are routed deterministically whatever the allocation, as traffic that
    /// must be delivered in order (section 3.2.3).
    #[schemars(range(min = 0.0, max = 1.0))]
    pub deterministic_share: f64,
    /// What the way of a packet routed deterministically depends on. Packets of one source and destination stay in
    /// order if endpoints have one injection queue each.
    pub deterministic_by: Path,
    /// What an oblivious draw does about links from which there is no way to the destination.
    pub around_faults: AroundFaults,
}

impl Default for Clos {
    fn default() -> Self {
        Self {
            allocation: Allocation::Sequential,
            samples: 2,
            measure: Measure::Credits,
            precision: None,
            precompute: 0,
            busy: Busy::Last,
            redecide: true,
            decide: Decide::Round,
            deterministic_share: 0.0,
            deterministic_by: Path::Destination,
            around_faults: AroundFaults::Uniform,
        }
    }
}

/// What makes an output worse than another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// Phits charged against its buffer at the next router (the paper's).
    Credits,
    /// Heads of the router's input queues that have chosen it and whose tails have not left yet: contention counters,
    /// which rise before buffers fill (Fuentes et al., IPDPS 2015).
    Contention,
}

/// What being busy counts for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Busy {
    /// Outputs that cannot take a packet now come after all others.
    Last,
    /// Nothing: the fill of their buffers alone counts (BookSim).
    Ignored,
}

/// How outputs are given to inputs (section 4.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Allocation {
    /// Every packet takes an output drawn at random.
    Oblivious,
    /// All packets of a source and a destination take the same way.
    Deterministic,
    /// One input after the other takes the best output, from an input drawn in every cycle on; each knows what those
    /// before it have taken, and of equally good outputs prefers those that none of them has.
    Sequential,
    /// Every input takes the best output, whatever the others take in the same cycle.
    Greedy,
    /// As `sequential`, but the best of a few outputs drawn at random for each input.
    SequentialR,
    /// As `greedy`, but the best of a few outputs drawn at random for each input.
    GreedyR,
    /// As `sequential`, but knowing only which outputs can take a packet now, as in the CM-5: `precision` 0.
    Availability,
}

impl Allocation {
    /// True if inputs know what those before them have taken.
    fn is_sequential(self) -> bool {
        matches!(self, Self::Sequential | Self::SequentialR | Self::Availability)
    }
}

/// When a packet is decided about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Decide {
    /// At the front of its input queue, whenever the crossbar allocates: a head that lost knows which outputs the
    /// others have taken since.
    Round,
    /// At the front of its input queue, once in a cycle of the links: a head keeps its output until the cycle ends.
    /// Another rule than `round` only where the crossbar allocates several times in a cycle
    /// (`router.clock = "crossbar"` with a `speedup`).
    Cycle,
    /// When its head enters the input queue, whatever stands before it there; from the state of `precompute` cycles
    /// before, at least 1. With `greedy` and `greedy_r` only, which keep the decision (`redecide = false`).
    Arrival,
}

/// What the way of a packet routed deterministically depends on: a number whose digits, in the mixed radix of the
/// up-ports of each level, are the up-ports that it takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Path {
    /// The number of the destination (D-mod-k).
    Destination,
    /// The sum of the numbers of source and destination.
    Sum,
    /// A random number of each pair of source and destination.
    Hash,
}

impl Path {
    fn key(self, packet: &Packet) -> u32 {
        match self {
            Self::Destination => packet.destination,
            Self::Sum => packet.source.wrapping_add(packet.destination),
            Self::Hash => Rng::keyed(u64::from(packet.source) << 32 | u64::from(packet.destination), 0).bits() as u32,
        }
    }
}

/// What an oblivious draw does about links from which there is no way to the destination.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AroundFaults {
    /// It draws among the others.
    Uniform,
    /// It draws among all, and takes the next one in the order of ports that leads to the destination: the neighbours
    /// of faulty links take the load of these on top of their own.
    Next,
}

impl RoutingParams for Clos {
    fn reads_buffers(&self) -> bool {
        !matches!(self.allocation, Allocation::Oblivious | Allocation::Deterministic)
    }

    fn check(&self, topology: &dyn Topology) -> Result<(), ScenarioError> {
        if topology.tree().is_none() {
            return Err(ScenarioError::new("kind", "\"clos\"", "this mechanism needs topology.kind = \"clos\""));
        }
        if self.precompute > 0 && !matches!(self.allocation, Allocation::Greedy | Allocation::GreedyR) {
            let expected = "expected 0: only the allocations \"greedy\" and \"greedy_r\" can be computed beforehand";
            return Err(ScenarioError::new("precompute", self.precompute, expected));
        }
        if self.measure == Measure::Contention && self.precompute > 0 {
            let expected = "expected 0: with measure = \"contention\" the counters are read as they are";
            return Err(ScenarioError::new("precompute", self.precompute, expected));
        }
        self.check_decide()
    }

    fn vcs_needed(&self, topology: &dyn Topology) -> (Vec<u8>, String) {
        topology.vcs_needed(DIRECT)
    }

    /// Up and then down: in the order of all up-links from the endpoints up and all down-links from the top down, the
    /// channels of every route rise.
    fn proof(&self) -> Proof {
        Proof::legs(Legs::Minimal)
    }

    fn avoids_faults(&self) -> bool {
        true
    }

    fn observables(&self) -> &'static [Observable] {
        &[CONTENTION]
    }
    fn build(&self, context: &RoutingContext) -> Box<dyn Routing> {
        Box::new(self.rule(context))
    }
}

impl Clos {
    fn rule(&self, context: &RoutingContext) -> Rule {
        let precision = if self.allocation == Allocation::Availability { Some(0) } else { self.precision };
        // The scenario has been checked: without a tree the mechanism is never asked.
        let tree = context.topology.tree().cloned();
        let lag = self.precompute * context.ticks_per_cycle;
        let once = self.redecide && self.decide == Decide::Cycle && context.ticks_per_cycle > 1;
        let whole = context.topology.faulty().is_none() && context.topology.breakdowns().is_empty();
        let compares =
            matches!(self.allocation, Allocation::Sequential | Allocation::Greedy | Allocation::Availability);
        Rule {
            in_rows: whole
                && compares
                && lag == 0
                && self.measure == Measure::Credits
                && precision.is_none_or(|bits| bits <= allocation::ROW_BITS),
            allocator: Allocator::new(self.allocation.is_sequential(), precision, self.busy),
            history: tree.as_ref().filter(|_| lag > 0).map(|tree| History::new(tree, context, lag)),
            lag,
            contention: (self.measure == Measure::Contention).then(|| Counters::of_ports(context)),
            kept: once.then(|| Kept::new(context)),
            params: self.clone(),
            places: tree.iter().flat_map(|tree| context.routers.iter().map(|router| tree.place(router))).collect(),
            tree,
            whole,
            ways: Vec::new(),
        }
    }

    fn check_decide(&self) -> Result<(), ScenarioError> {
        if self.decide != Decide::Arrival {
            return Ok(());
        }
        let expected = match self.allocation {
            Allocation::Greedy | Allocation::GreedyR if self.redecide => "this needs redecide = false",
            Allocation::Greedy | Allocation::GreedyR if self.precompute == 0 => {
                "this needs precompute = 1 or 2: what else happens in the cycle is not known yet"
            }
            Allocation::Greedy | Allocation::GreedyR => return Ok(()),
            _ => "only the allocations \"greedy\" and \"greedy_r\" can be decided so early",
        };
        Err(ScenarioError::new("decide", "\"arrival\"", expected))
    }
}

/// In [`Packet::flags`]: routed deterministically.
const IN_ORDER: u8 = 1;

struct Rule {
    params: Clos,
    tree: Option<Tree>,
    /// All links work, and will.
    whole: bool,
    /// Of all outputs upwards the best one is taken; all lead to the destination, and are read as they are now.
    in_rows: bool,
    /// Where the partition's routers stand, in their order there.
    places: Vec<Place>,
    allocator: Allocator,
    history: Option<History>,
    kept: Option<Kept>,
    /// Ticks that a decision lags behind.
    lag: Tick,
    /// Heads that have chosen each output, if they are what is measured.
    contention: Option<Counters>,
    /// Outputs upwards that lead to the destination of one head.
    ways: Vec<Hop>,
}

impl Rule {
    /// The hop of one head, after those decided before it in this cycle, from the state of tick `then`. `chosen`: the
    /// output chosen before, if it has been counted.
    #[inline(never)]
    fn decide(&mut self, at: &RouterView<'_>, rng: &mut Rng, then: Tick, packet: &Packet, chosen: Option<u16>) -> Hop {
        let (place, down) = self.standing(at, packet);
        let deterministic = packet.flags & IN_ORDER != 0 || self.params.allocation == Allocation::Deterministic;
        let Some(place) = place.filter(|_| down.is_none()) else {
            let hop = match down {
                Some(port) if self.whole => self.only(at, port),
                _ => any(at, rng, packet),
            };
            return if deterministic { self.one_channel(hop, packet) } else { hop };
        };
        let hop = match (deterministic, self.params.allocation) {
            (true, _) => self.in_order(at, rng, packet, place),
            (_, Allocation::Oblivious | Allocation::Deterministic) => self.drawn(at, rng, packet, place),
            (_, Allocation::Sequential | Allocation::Greedy | Allocation::Availability) => {
                if self.in_rows {
                    if let Some(hop) = self.best_in_row(at, rng, packet, place) {
                        return hop;
                    }
                }
                self.list(at, packet);
                match self.ways.is_empty() {
                    // Links have broken, and the packet is lost on its way to one of them.
                    true => any(at, rng, packet),
                    false => self.best(at, rng, then, packet, chosen),
                }
            }
            (_, Allocation::SequentialR | Allocation::GreedyR) => {
                self.ways.clear();
                for _ in 0..self.params.samples {
                    self.ways.push(any(at, rng, packet));
                }
                self.best(at, rng, then, packet, chosen)
            }
        };
        self.give(at, packet, hop);
        hop
    }

    /// The way down over `port`, where there is no other: all its channels, as the topology says.
    #[inline]
    fn only(&self, at: &RouterView<'_>, port: u16) -> Hop {
        Hop { port, vc: 0, vcs: at.vcs()[usize::from(at.class(port))].max(1) }
    }

    /// Those after `packet` in this cycle know that it has `hop`.
    fn give(&mut self, at: &RouterView<'_>, packet: &Packet, hop: Hop) {
        self.allocator.give(hop.port, if self.contention.is_some() { 1 } else { at.first_flit(packet) });
    }

    /// Where the router stands if `packet` has to go further up.
    fn ascends(&self, at: &RouterView<'_>, packet: &Packet) -> Option<Place> {
        let (place, down) = self.standing(at, packet);
        place.filter(|_| down.is_none())
    }

    /// Where the router stands, and the port that leads `packet` down from there, if it need not go further up.
    #[inline]
    fn standing(&self, at: &RouterView<'_>, packet: &Packet) -> (Option<Place>, Option<u16>) {
        let place = self.places.get(at.local as usize).copied();
        let down =
            self.tree.as_ref().zip(place).and_then(|(tree, place)| tree.descent(place, packet.destination_router));
        (place, down)
    }

    /// Lists all outputs upwards that lead to the destination.
    fn list(&mut self, at: &RouterView<'_>, packet: &Packet) {
        self.ways.clear();
        let to = packet.destination_router;
        at.topology.minimal_hops(at.router, to, DIRECT, packet.hop_state(), at.vcs(), &mut self.ways);
    }

    /// Takes the best output upwards where all of them have one channel each; `None` if it is not so simple.
    #[inline]
    fn best_in_row(&mut self, at: &RouterView<'_>, rng: &mut Rng, packet: &Packet, place: Place) -> Option<Hop> {
        let phits = at.first_flit(packet);
        if !self.allocator.has_row(phits) {
            let tree = self.tree.as_ref()?;
            let first = tree.down(place.level);
            let row = at.lane(first..first + tree.up(place.level), 0).row()?;
            self.allocator.lay_out(first, row, phits);
        }
        let port = self.allocator.choose_in_row(rng);
        self.allocator.give(port, phits);
        Some(Hop { port, vc: 0, vcs: 1 })
    }

    /// Decides for `heads`, one after the other, where outputs upwards are compared in rows.
    #[inline]
    fn route_in_rows<'h>(&mut self, view: &mut View<'_>, heads: impl Iterator<Item = &'h mut Head>, packets: &Arena) {
        let then = self.then(view.now);
        let place = self.places.get(view.local as usize).copied();
        for head in heads {
            let packet = &packets[head.packet];
            let (at, rng) = (&view.at, &mut *view.rng);
            let hop = match (&self.tree, place) {
                (Some(tree), Some(place)) if packet.flags & IN_ORDER == 0 => {
                    match tree.descent(place, packet.destination_router) {
                        Some(port) => Some(self.only(at, port)),
                        None => self.best_in_row(at, rng, packet, place),
                    }
                }
                _ => None,
            };
            head.hop = match hop {
                None => Some(self.decide(at, rng, then, packet, None)),
                found => found,
            };
        }
    }

    /// The best of the listed outputs.
    fn best(&mut self, at: &RouterView<'_>, rng: &mut Rng, then: Tick, packet: &Packet, chosen: Option<u16>) -> Hop {
        let phits = at.first_flit(packet);
        let states = self.history.as_ref().map(|history| history.states(at, then));
        let outputs = self.ways.iter().map(|&hop| {
            let state = states.map_or_else(|| State::now(at, hop.port, phits), |states| states.of(hop.port));
            let ready = state.free_from <= then;
            match &self.contention {
                None => {
                    let capacity = at.capacity()[usize::from(at.class(hop.port))];
                    Output { hop, depth: state.depth, capacity, ready }
                }
                Some(counters) => {
                    // Without the head itself.
                    let heads = counters.of(at, hop.port) - u16::from(chosen == Some(hop.port));
                    Output { hop, depth: heads.into(), capacity: at.topology.ports(at.router).into(), ready }
                }
            }
        });
        // Heads take no room.
        let phits = if self.contention.is_some() { 0 } else { phits };
        self.allocator.choose(outputs, phits, rng)
    }

    /// The output of the packet's own way: the same for all packets of its source and destination.
    fn in_order(&mut self, at: &RouterView<'_>, rng: &mut Rng, packet: &Packet, place: Place) -> Hop {
        let key = self.params.deterministic_by.key(packet);
        let up = self.tree.as_ref().map_or(0, |tree| tree.digit(place.level, key));
        let hop = self.next_from(at, rng, packet, place, up);
        self.one_channel(hop, packet)
    }

    /// The hop over one of its channels, the same for all packets of a source and destination: in several they would
    /// overtake one another.
    fn one_channel(&self, hop: Hop, packet: &Packet) -> Hop {
        let channel = self.params.deterministic_by.key(packet) % u32::from(hop.vcs);
        Hop { vc: hop.vc + channel as u8, vcs: 1, ..hop }
    }

    fn drawn(&mut self, at: &RouterView<'_>, rng: &mut Rng, packet: &Packet, place: Place) -> Hop {
        match (self.params.around_faults, self.tree.as_ref().map(|tree| tree.up(place.level))) {
            (AroundFaults::Next, Some(ports)) => {
                let drawn = rng.below(ports.into()) as u16;
                self.next_from(at, rng, packet, place, drawn)
            }
            _ => any(at, rng, packet),
        }
    }

    /// The first output that leads to the destination, from up-port `up` on and around.
    fn next_from(&mut self, at: &RouterView<'_>, rng: &mut Rng, packet: &Packet, place: Place, up: u16) -> Hop {
        self.list(at, packet);
        let port = self.tree.as_ref().map_or(0, |tree| tree.down(place.level)) + up;
        let found = self.ways.iter().find(|hop| hop.port >= port).or(self.ways.first());
        found.copied().unwrap_or_else(|| any(at, rng, packet))
    }

    /// True if `hop`, decided when the packet arrived, is a way to its destination: links may have broken since.
    fn still_leads(&mut self, at: &RouterView<'_>, packet: &Packet, hop: Hop) -> bool {
        self.list(at, packet);
        self.ways.iter().any(|way| way.port == hop.port)
    }

    /// Counts what the heads of a router have chosen, if that is measured.
    fn count(&mut self, at: &RouterView<'_>, heads: &[Head]) {
        if let Some(counters) = &mut self.contention {
            for head in heads {
                counters.choose(at, head.port, head.queue, head.hop.map(|hop| hop.port));
            }
        }
    }

    /// The tick whose state a decision in tick `now` is made from.
    fn then(&self, now: Tick) -> Tick {
        now.saturating_sub(self.lag)
    }
}

/// Any hop that leads to the destination: upwards drawn at random, downwards the only one.
fn any(at: &RouterView<'_>, rng: &mut Rng, packet: &Packet) -> Hop {
    at.minimal_hop(packet.destination_router, packet.hop_state(), rng)
}

/// A hop as [`Packet::scratch`] keeps it; never 0, because it has a channel.
fn pack(hop: Hop) -> u32 {
    u32::from(hop.port) | u32::from(hop.vc) << 16 | u32::from(hop.vcs) << 24
}

fn unpack(scratch: u32) -> Option<Hop> {
    let hop = Hop { port: scratch as u16, vc: (scratch >> 16) as u8, vcs: (scratch >> 24) as u8 };
    (hop.vcs > 0).then_some(hop)
}

impl Routing for Rule {
    fn wants(&self) -> Wants {
        let Clos { allocation, deterministic_share, around_faults, redecide, decide, .. } = self.params;
        match allocation {
            // The topology's own draw.
            Allocation::Oblivious => Wants {
                settled: deterministic_share == 0.0 && around_faults == AroundFaults::Uniform,
                ..Wants::default()
            },
            Allocation::Deterministic => Wants::default(),
            _ => Wants {
                batch: decide != Decide::Arrival,
                redecide,
                occupancy: self.history.is_some(),
                arrivals: decide == Decide::Arrival,
                heads: self.contention.is_some(),
                ..Wants::default()
            },
        }
    }

    fn inject(&mut self, at: &mut Injection<'_>, packet: &mut Packet) {
        let share = self.params.deterministic_share;
        if share > 0.0 && at.rng.chance(share) {
            packet.flags |= IN_ORDER;
        }
    }

    /// Decides about a packet that keeps the decision, if it has to go further up.
    fn arrives(&mut self, at: &RouterView<'_>, packet: &mut Packet) {
        packet.scratch = match self.ascends(at, packet) {
            Some(_) => pack(self.decide(at, &mut packet.rng(at.router), self.then(at.now), packet, None)),
            None => 0,
        };
    }

    fn route(&mut self, view: &mut View<'_>, _: u16, _: u16, packet: &mut Packet) -> Option<Hop> {
        if let Some(hop) = unpack(packet.scratch).filter(|hop| self.still_leads(view, packet, *hop)) {
            return Some(hop);
        }
        self.allocator.begin();
        let then = self.then(view.now);
        Some(self.decide(&view.at, view.rng, then, packet, None))
    }

    /// One input after the other; in a sequential allocation the first is drawn, for fairness.
    fn route_all(&mut self, view: &mut View<'_>, heads: &mut [Head], packets: &mut Arena) {
        self.allocator.begin();
        let sequential = self.params.allocation.is_sequential();
        let start = if sequential { view.rng.below(view.topology.ports(view.router).into()) as u16 } else { 0 };
        let then = self.then(view.now);
        if sequential && self.contention.is_some() {
            // What they chose in earlier cycles is void; each knows what those before it choose now.
            self.count(&view.at, heads);
        }
        if self.kept.is_some() {
            for head in heads.iter_mut() {
                let packet = &packets[head.packet];
                head.hop = self.kept.as_ref().and_then(|kept| kept.decided(view.router, view.now, head, packet));
                if let Some(hop) = head.hop {
                    self.give(&view.at, packet, hop);
                }
            }
        }
        let (before, after) = heads.split_at_mut(heads.partition_point(|head| head.port < start));
        if self.in_rows && self.kept.is_none() {
            return self.route_in_rows(view, after.iter_mut().chain(before), packets);
        }
        for head in after.iter_mut().chain(before).filter(|head| head.hop.is_none()) {
            let packet = &packets[head.packet];
            let chosen = self.contention.as_ref().and_then(|c| c.wanted(view, head.port, head.queue));
            let hop = self.decide(&view.at, view.rng, then, packet, chosen);
            head.hop = Some(hop);
            if let Some(kept) = &mut self.kept {
                kept.note(view.router, view.now, head, packet, hop);
            }
        }
        self.count(&view.at, heads);
    }

    fn tail_left(&mut self, at: &mut Site<'_>, port: u16, queue: u16) {
        if let Some(counters) = &mut self.contention {
            counters.choose(at, port, queue, None);
        }
    }

    fn observe(&self, router: u32, _now: Tick, see: See<'_>) {
        for (port, count) in self.contention.iter().flat_map(|counters| counters.all(router)).enumerate() {
            see(&CONTENTION, Some(port as u16), (*count).into());
        }
    }

    fn occupancy_changed(&mut self, at: &mut Site<'_>) {
        if let (Some(history), Some(tree)) = (&mut self.history, &self.tree) {
            history.note(at, tree);
        }
    }
}
