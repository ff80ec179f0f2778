//! `routing.kind = "clos"`: its parameters, and what follows from them.

use super::allocation::{self, Allocator};
use super::history::{self, History};
use super::kept::Kept;
use super::{Counters, Rule};
use crate::engine::Rng;
use crate::error::ScenarioError;
use crate::fabric::seams::routing::{Legs, Proof};
use crate::measure::Observable;
use crate::packet::Packet;
use crate::routing::contention::CONTENTION;
use crate::routing::in_transit::DIRECT;
use crate::routing::{Routing, RoutingContext, RoutingParams};
use crate::topology::Topology;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Adaptive routing up to any common ancestor, then down, in a folded Clos network. The upward output of a packet is
/// allocated in every router and router cycle (Kim, Dally and Abts, "Adaptive routing in high-radix Clos network", SC
/// 2006).
///
/// An output is better the fewer phits are charged against its buffer at the next router. Outputs that cannot take a
/// packet now, because another packet is crossing to them or their buffer is full, come last. Ties are broken at
/// random.
///
/// ```toml
/// [topology]
/// kind = "clos"
/// down = [4, 4]
/// up = [4]
///
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
    /// Measure by which outputs are compared; a larger value is worse. With `contention`, "fill" below stands for the
    /// number of heads that have chosen the output, out of the number of the router's ports.
    pub measure: Measure,
    /// Known bits of the fill of a buffer, 0 to 31. With b bits, a fill is known as one of 2^b equal parts of the
    /// buffer. With 0, only whether the output can take a packet now is known. If left out, the fill is known exactly
    /// (section 5.2).
    #[schemars(range(max = 31))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub precision: Option<u32>,
    /// Age in cycles of the state from which a decision is made, 0 to 2. Only with `greedy` and `greedy_r`, which need
    /// no knowledge of other decisions of the same cycle (section 5.3).
    #[schemars(range(max = history::LONGEST))]
    pub precompute: u32,
    /// How an output counts that cannot take a packet now.
    pub busy: Busy,
    /// Whether blocked heads choose again in every router cycle. If not, a head keeps its first decision; with
    /// `oblivious` and `deterministic` it always does.
    pub redecide: bool,
    /// When a packet is decided about.
    pub decide: Decide,
    /// Share of the packets, from 0 to 1, that are routed deterministically whatever the allocation, as traffic that
    /// must be delivered in order (section 3.2.3).
    #[schemars(range(min = 0.0, max = 1.0))]
    pub deterministic_share: f64,
    /// The number that determines the path of a packet that is routed deterministically. Packets of one source and
    /// destination stay in order if endpoints have one injection queue each.
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

/// Measure by which outputs are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// Phits charged against the output's buffer at the next router (as in the paper): of several virtual channels,
    /// against the emptiest.
    Credits,
    /// Phits charged against all of its virtual channels together (the used credits of BookSim's `anca`).
    Port,
    /// Heads of the router's input queues that have chosen it and whose tails have not left yet: contention counters,
    /// which rise before buffers fill (Fuentes et al., IPDPS 2015).
    Contention,
}

/// How busy outputs count.
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
    /// All packets of a source and a destination take one path.
    Deterministic,
    /// Inputs choose in turn, from a random input on in every cycle. Each takes the best output and knows the choices
    /// of earlier inputs. Among equally good outputs it prefers one that no earlier input has taken.
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
    /// True if inputs know the choices of earlier inputs.
    pub(super) fn is_sequential(self) -> bool {
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

/// The number that determines the path of a packet that is routed deterministically. Its digits, in the mixed radix of
/// the up-ports of each level, are the up-ports of the path.
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
    pub(super) fn key(self, packet: &Packet) -> u32 {
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
    fn counts_phits(&self) -> bool {
        self.measure == Measure::Port && self.busy == Busy::Ignored && self.precision.is_none()
    }

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

/// Most pairs of routers of which it is kept whether all outputs upwards lead from one to the other.
const MOST_PAIRS: usize = 1 << 28;

impl Clos {
    pub(super) fn rule(&self, context: &RoutingContext) -> Rule {
        let precision = if self.allocation == Allocation::Availability { Some(0) } else { self.precision };
        // The scenario has been checked: without a tree the mechanism is never asked.
        let tree = context.topology.tree().cloned();
        let lag = self.precompute * context.ticks_per_cycle;
        let once = self.redecide && self.decide == Decide::Cycle && context.ticks_per_cycle > 1;
        let of_ports = self.measure == Measure::Port;
        let whole = context.topology.faulty().is_none() && context.topology.breakdowns().is_empty();
        let compares =
            matches!(self.allocation, Allocation::Sequential | Allocation::Greedy | Allocation::Availability);
        let pairs = context.routers.len().saturating_mul(context.topology.routers() as usize);
        Rule {
            in_rows: compares
                && lag == 0
                // With the others a head counts itself.
                && (self.measure != Measure::Contention || self.allocation.is_sequential())
                && precision.is_none_or(|bits| bits <= allocation::ROW_BITS),
            allocator: Allocator::new(self.allocation.is_sequential(), precision, self.busy),
            history: tree.as_ref().filter(|_| lag > 0).map(|tree| History::new(tree, context, lag, of_ports)),
            of_ports,
            lag,
            contention: (self.measure == Measure::Contention).then(|| Counters::of_ports(context)),
            kept: once.then(|| Kept::new(context)),
            params: self.clone(),
            places: tree.iter().flat_map(|tree| context.routers.iter().map(|router| tree.place(router))).collect(),
            tree,
            whole,
            all_lead: vec![None; if whole || pairs > MOST_PAIRS { 0 } else { pairs }],
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
