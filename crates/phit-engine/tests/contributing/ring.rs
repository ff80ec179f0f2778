//! A ring: the smallest network in which packets can wait for one another in a circle.

use phit_engine::engine::Rng;
use phit_engine::error::ScenarioError;
use phit_engine::topology::{Hop, HopState, Leg, Peer, Port, Topology, TopologyParams};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Routers in a ring, linked in both directions, with one endpoint each (Dally and Seitz, 1987).
///
/// ```toml
/// [topology]
/// kind = "ring"
/// routers = 8
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ring {
    /// Number of routers, 3 or more.
    pub routers: u32,
}

impl TopologyParams for Ring {
    fn build(&self) -> Result<Arc<dyn Topology>, ScenarioError> {
        if self.routers < 3 {
            return Err(ScenarioError::new("routers", self.routers, "expected 3 routers or more"));
        }
        Ok(Arc::new(RingGraph { classes: ["endpoint", "ring"].map(str::to_owned), routers: self.routers }))
    }
}

/// The built network of [`Ring`]. Ports of a router: its endpoint, the next router, the one before.
#[derive(Debug)]
pub struct RingGraph {
    classes: [String; 2],
    routers: u32,
}

const ENDPOINT: u16 = 0;
const NEXT: u16 = 1;
const BEFORE: u16 = 2;

impl RingGraph {
    /// Hops from `a` to `b` in the direction of growing numbers.
    fn ahead(&self, a: u32, b: u32) -> u32 {
        if b >= a { b - a } else { b + self.routers - a }
    }

    /// A hop in one direction. Of the leg's virtual channels, packets that have yet to cross the link between the last
    /// router and router 0 take the upper half, the others the lower half: neither half's dependencies close the
    /// circle.
    fn hop(&self, port: u16, at: u32, to: u32, leg: Leg, vcs: &[u8]) -> Hop {
        let (first, count) = leg.share(vcs[1]);
        let lower = count / 2;
        let will_cross = if port == NEXT { to < at } else { to > at };
        match (lower, will_cross) {
            (0, _) => Hop { port, vc: first, vcs: count },
            (_, true) => Hop { port, vc: first + lower, vcs: count - lower },
            (_, false) => Hop { port, vc: first, vcs: lower },
        }
    }
}

impl Topology for RingGraph {
    fn classes(&self) -> &[String] {
        &self.classes
    }
    fn routers(&self) -> u32 {
        self.routers
    }
    fn endpoints(&self) -> u32 {
        self.routers
    }
    fn ports(&self, _router: u32) -> u16 {
        3
    }
    fn port(&self, router: u32, port: u16) -> Port {
        match port {
            ENDPOINT => Port { class: 0, peer: Peer::Endpoint(router) },
            NEXT => Port { class: 1, peer: Peer::Router { router: (router + 1) % self.routers, port: BEFORE } },
            _ => {
                Port { class: 1, peer: Peer::Router { router: (router + self.routers - 1) % self.routers, port: NEXT } }
            }
        }
    }
    fn attachment(&self, endpoint: u32) -> (u32, u16) {
        (endpoint, ENDPOINT)
    }

    fn minimal_hops(&self, at: u32, to: u32, leg: Leg, _state: HopState, vcs: &[u8], out: &mut Vec<Hop>) {
        let ahead = self.ahead(at, to);
        if 2 * ahead <= self.routers {
            out.push(self.hop(NEXT, at, to, leg, vcs));
        }
        if 2 * ahead >= self.routers {
            out.push(self.hop(BEFORE, at, to, leg, vcs));
        }
    }

    /// The shorter way round; half a ring away, either.
    fn minimal_hop(&self, at: u32, to: u32, leg: Leg, _state: HopState, vcs: &[u8], rng: &mut Rng) -> Hop {
        let twice = 2 * self.ahead(at, to);
        let back = if twice == self.routers { rng.below(2) == 1 } else { twice > self.routers };
        self.hop(if back { BEFORE } else { NEXT }, at, to, leg, vcs)
    }

    fn vcs_needed(&self, leg: Leg) -> (Vec<u8>, String) {
        let each = 2 * leg.of.max(1);
        (vec![1, each], "two for each leg: for the packets that have yet to cross the dateline and the others".into())
    }

    fn distance(&self, a: u32, b: u32) -> u32 {
        self.ahead(a, b).min(self.ahead(b, a))
    }
    fn diameter(&self) -> u32 {
        self.routers / 2
    }
}
