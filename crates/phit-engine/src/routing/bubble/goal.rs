//! Globally oblivious, locally adaptive routing.

use super::lattice::{HalfWay, Lattice, length};
use super::profit::Slots;
use super::{Bubble, Deroute, Derouted, Escape, Plan, bubble_routing, torus_only};
use crate::engine::Rng;
use crate::error::ScenarioError;
use crate::topology::Topology;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// GOAL on a torus. In every dimension, a new packet goes the shorter way round with the probability that balances the
/// ring's links, (k - distance) / k, and the longer way otherwise. Within this orthant, it travels as under adaptive
/// bubble routing (Singh, Dally, Gupta and Towles, "GOAL: a load-balanced adaptive routing algorithm for torus
/// networks", ISCA 2003; its deadlock avoidance differs).
///
/// ```toml
/// [routing]
/// kind = "goal"
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Goal {
    /// Slots that a packet leaves free in an escape queue that it enters from elsewhere; 0 breaks the bubble rule.
    pub bubble: u16,
}

impl Default for Goal {
    fn default() -> Self {
        Self { bubble: 1 }
    }
}

bubble_routing!(Goal);

impl Bubble for Goal {
    fn escape(&self) -> Escape {
        Escape { bubble: self.bubble, to_intermediate: None }
    }

    fn deroute(&self, topology: &dyn Topology) -> Result<Arc<dyn Deroute>, ScenarioError> {
        Ok(Arc::new(Balanced { lattice: torus_only(topology, "goal")? }))
    }
}

#[derive(Debug)]
struct Balanced {
    lattice: Lattice,
}

impl Deroute for Balanced {
    fn lattice(&self) -> &Lattice {
        &self.lattice
    }

    fn half_way(&self) -> HalfWay {
        HalfWay::Random
    }

    fn weighs_queues(&self) -> bool {
        false
    }

    /// The way of a hops ahead and k - a back is gone ahead with the probability (k - a) / k.
    fn plan(&self, from: u32, to: u32, _: &Slots<'_>, rng: &mut Rng) -> Plan {
        let (s, t) = (self.lattice.position(from), self.lattice.position(to));
        let mut minus = 0;
        let mut longer = false;
        for d in 0..self.lattice.dimensions() {
            let side = self.lattice.side(d);
            let ahead = (t[d] - s[d]).rem_euclid(side);
            if (rng.below(side as u32) as i32) < ahead {
                minus |= 1 << d;
                longer |= 2 * ahead < side;
            } else {
                longer |= 2 * ahead > side;
            }
        }
        let derouted = if longer { Derouted::Orthant } else { Derouted::No };
        let way = self.lattice.way_round(&s, &t, minus);
        Plan { via: None, way, hops: length(&way) as u16, derouted }
    }
}
