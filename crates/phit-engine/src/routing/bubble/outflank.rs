//! OutFlank routing.

use super::choices::{Choice, Weighing};
use super::idn::{Collinear, Idns, Midpoint};
use super::lattice::{HalfWay, Lattice, Offsets, Position, directions, length};
use super::profit::{EmptyQueue, FullWay, Profit};
use super::{Bubble, Deroute, Derouted, Escape, Plan, TO_DESTINATION, TO_INTERMEDIATE, bubble_routing};
use crate::error::ScenarioError;
use crate::topology::Topology;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// OutFlank routing (OFR) on a torus or mesh. A new packet that finds its minimal links congested is sent through an
/// intermediate destination (IDN). A profit chooses the IDN: it weighs the queues at the source against the dilation of
/// the route. OutFlank IDNs are a few hops outside the minimal orthant and lengthen the route by at most a constant.
/// Wraparound IDNs are in the other orthants (F. Versaci, "OutFlank Routing: Increasing Throughput in Toroidal
/// Interconnection Networks", ICPADS 2013).
///
/// ```toml
/// [routing]
/// kind = "outflank"
/// delta = 2
/// eta = 2.0
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Outflank {
    /// Hops by which an OutFlank IDN lies outside the minimal orthant, Delta of section 3.1.2; 1 to the longest side.
    pub delta: u32,
    /// If given, Delta is this share of the packet's minimal distance instead, rounded, and at least 1 (section 3.1.2).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1))]
    pub delta_share: Option<f64>,
    /// Weight of the dilation against the congestion, eta of equation (15); 0 or more.
    #[schemars(range(min = 0))]
    pub eta: f64,
    /// Which intermediate destinations are considered. A mesh has OutFlank IDNs only.
    pub idns: Considered,
    /// Packets with a shorter way than this, in hops, are not derouted.
    pub least_distance: u32,
    /// The midpoint between two positions of a ring.
    pub midpoint: Midpoint,
    /// The OutFlank IDNs of two nodes that differ in one dimension only.
    pub collinear: Collinear,
    /// Divisor of the free slots in the queues towards an IDN, which gives their mean.
    pub mean: IdnMean,
    /// The congestion term if some adaptive queue of the source is empty.
    pub empty_queue: EmptyQueue,
    /// The profit of a route whose queues have no free slot.
    pub full_way: FullWay,
    /// The direction of a packet that is half a ring from its target.
    pub half_way: HalfWay,
    /// Slots that a packet leaves free in an escape queue that it enters from elsewhere; 0 breaks the bubble rule.
    pub bubble: u16,
    /// The escape queues of packets on their way to an IDN.
    pub escape: EscapeNetwork,
}

/// Which intermediate destinations are considered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Considered {
    /// OutFlank and wraparound IDNs.
    #[default]
    Both,
    /// OutFlank IDNs.
    Outflank,
    /// Wraparound IDNs.
    Wraparound,
}

/// Divisor of the free slots in the queues towards an IDN, which gives their mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum IdnMean {
    /// Their number.
    #[default]
    FirstLeg,
    /// The number of minimal directions from the IDN to the destination (the author's simulator).
    SecondLeg,
}

/// The escape queues of packets on their way to an IDN.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum EscapeNetwork {
    /// Queues of their own, the virtual subnetwork VS1 (theorem 1).
    #[default]
    Split,
    /// The queues of all packets: these can then wait for one another in a circle.
    Shared,
}

impl Default for Outflank {
    fn default() -> Self {
        Self {
            delta: 2,
            delta_share: None,
            eta: 2.0,
            idns: Considered::default(),
            least_distance: 1,
            midpoint: Midpoint::default(),
            collinear: Collinear::default(),
            mean: IdnMean::default(),
            empty_queue: EmptyQueue::default(),
            full_way: FullWay::default(),
            half_way: HalfWay::default(),
            bubble: 1,
            escape: EscapeNetwork::default(),
        }
    }
}

bubble_routing!(Outflank);

impl Bubble for Outflank {
    fn escape(&self) -> Escape {
        let channel = if self.escape == EscapeNetwork::Split { TO_INTERMEDIATE } else { TO_DESTINATION };
        Escape { bubble: self.bubble, to_intermediate: Some(channel) }
    }

    fn deroute(&self, topology: &dyn Topology) -> Result<Arc<dyn Deroute>, ScenarioError> {
        let lattice = Lattice::of(topology, "outflank")?;
        if !lattice.wraps() && self.idns != Considered::Outflank {
            let given = if self.idns == Considered::Both { "\"both\"" } else { "\"wraparound\"" };
            return Err(ScenarioError::new("idns", given, "a mesh does not wrap around; expected \"outflank\""));
        }
        let longest = (0..lattice.dimensions()).map(|d| lattice.side(d)).max().unwrap_or(1) as u32;
        if !(1..=longest).contains(&self.delta) {
            let expected = format!("expected 1 to {longest} hops, the longest side");
            return Err(ScenarioError::new("delta", self.delta, expected));
        }
        Ok(Arc::new(OutFlanking::new(self, lattice)))
    }
}

/// The rule.
#[derive(Debug)]
pub(super) struct OutFlanking {
    pub(super) idns: Idns,
    profit: Profit,
    params: Outflank,
}

impl OutFlanking {
    pub(super) fn new(params: &Outflank, lattice: Lattice) -> Self {
        Self {
            idns: Idns { lattice, midpoint: params.midpoint, collinear: params.collinear },
            profit: Profit { eta: params.eta, empty_queue: params.empty_queue, full_way: params.full_way },
            params: params.clone(),
        }
    }

    /// Delta for a packet of this distance.
    pub(super) fn delta(&self, distance: u32) -> i32 {
        match self.params.delta_share {
            Some(share) => ((share * f64::from(distance)).round() as i32).max(1),
            None => self.params.delta as i32,
        }
    }
}

impl Weighing for OutFlanking {
    fn lattice(&self) -> &Lattice {
        &self.idns.lattice
    }

    fn half_way(&self) -> HalfWay {
        self.params.half_way
    }

    fn profit(&self) -> &Profit {
        &self.profit
    }

    fn least_distance(&self) -> u32 {
        self.params.least_distance
    }

    /// Section 3.2: OutFlank IDNs before wraparound IDNs.
    #[inline]
    fn ways(&self, s: &Position, t: &Position, minimal: &Offsets, coins: u32, mut see: impl FnMut(&Choice)) {
        let (distance, links) = (length(minimal), directions(minimal));
        let mut weigh = |q: &Position, derouted: Derouted| {
            let Some([way, rest]) = self.idns.admissible(s, q, t, links, coins) else { return };
            let (first, hops) = (directions(&way), length(&way) + length(&rest));
            let counted = if self.params.mean == IdnMean::SecondLeg { directions(&rest) } else { first };
            see(&Choice {
                shortness: self.profit.eta / (f64::from(hops) / f64::from(distance)),
                directions: first,
                count: counted.count_ones() as u16,
                plan: Plan { via: Some(self.idns.lattice.router(q)), way, hops: hops as u16, derouted },
            });
        };
        if self.params.idns != Considered::Wraparound {
            let delta = self.delta(distance);
            self.idns.outflanking(s, t, minimal, delta, |q| {
                debug_assert!(
                    self.idns.keeps_bound(s, q, t, minimal, delta),
                    "{s:?} {q:?} {t:?}: beyond the bound (6)"
                );
                weigh(q, Derouted::OutFlank);
            });
        }
        if self.params.idns != Considered::Outflank {
            self.idns.wrapping(s, t, minimal, |q| weigh(q, Derouted::Wraparound));
        }
    }
}
