//! Pick Orthant routing.

use super::choices::{Choice, Weighing};
use super::lattice::{HalfWay, Lattice, Offsets, Position, directions, length};
use super::profit::{EmptyQueue, FullWay, Profit};
use super::{Bubble, Deroute, Derouted, Escape, Plan, bubble_routing, torus_only};
use crate::error::ScenarioError;
use crate::topology::Topology;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Pick Orthant routing (POR) on a torus. A new packet chooses one of the 2^n orthants around its source by OutFlank
/// routing's profit, and travels within it as under adaptive bubble routing. It represents the GAL, GOAL and CQR
/// policies in F. Versaci, "OutFlank Routing" (ICPADS 2013, section 3.2, remark 3).
///
/// ```toml
/// [routing]
/// kind = "por"
/// eta = 1.0
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Por {
    /// Weight of the dilation against the congestion, eta of equation (15); 0 or more.
    #[schemars(range(min = 0))]
    pub eta: f64,
    /// Packets with a shorter way than this, in hops, are not derouted.
    pub least_distance: u32,
    /// Divisor of the free slots in an orthant's queues, which gives their mean.
    pub mean: OrthantMean,
    /// The congestion term if some adaptive queue of the source is empty.
    pub empty_queue: EmptyQueue,
    /// The profit of a route whose queues have no free slot.
    pub full_way: FullWay,
    /// The direction of a packet that is half a ring from its target.
    pub half_way: HalfWay,
    /// Slots that a packet leaves free in an escape queue that it enters from elsewhere; 0 breaks the bubble rule.
    pub bubble: u16,
}

/// Divisor of the free slots in an orthant's queues, which gives their mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum OrthantMean {
    /// The number of dimensions in which the packet has a way to go.
    #[default]
    OwnDimensions,
    /// The number of all dimensions, so that packets with a way in few of them keep to the minimal one (the author's
    /// simulator).
    AllDimensions,
}

impl Default for Por {
    fn default() -> Self {
        Self {
            eta: 1.0,
            least_distance: 1,
            mean: OrthantMean::default(),
            empty_queue: EmptyQueue::default(),
            full_way: FullWay::default(),
            half_way: HalfWay::default(),
            bubble: 1,
        }
    }
}

bubble_routing!(Por);

impl Bubble for Por {
    fn escape(&self) -> Escape {
        Escape { bubble: self.bubble, to_intermediate: None }
    }

    fn deroute(&self, topology: &dyn Topology) -> Result<Arc<dyn Deroute>, ScenarioError> {
        let lattice = torus_only(topology, "por")?;
        let profit = Profit { eta: self.eta, empty_queue: self.empty_queue, full_way: self.full_way };
        Ok(Arc::new(PickOrthant { lattice, profit, params: self.clone() }))
    }
}

#[derive(Debug)]
struct PickOrthant {
    lattice: Lattice,
    profit: Profit,
    params: Por,
}

impl Weighing for PickOrthant {
    fn lattice(&self) -> &Lattice {
        &self.lattice
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

    /// The ways within all orthants, the minimal one among them.
    #[inline]
    fn ways(&self, s: &Position, t: &Position, minimal: &Offsets, _: u32, mut see: impl FnMut(&Choice)) {
        let n = self.lattice.dimensions();
        let distance = length(minimal);
        let differing = (0..n).filter(|&d| minimal[d] != 0).fold(0u32, |set, d| set | 1 << d);
        for orthant in (0..1u32 << n).filter(|orthant| orthant & !differing == 0) {
            let way = self.lattice.way_round(s, t, orthant);
            let (directions, hops) = (directions(&way), length(&way));
            let all = self.params.mean == OrthantMean::AllDimensions;
            see(&Choice {
                shortness: self.profit.eta / (f64::from(hops) / f64::from(distance)),
                directions,
                count: if all { n as u16 } else { directions.count_ones() as u16 },
                plan: Plan { via: None, way, hops: hops as u16, derouted: Derouted::Orthant },
            });
        }
    }
}
