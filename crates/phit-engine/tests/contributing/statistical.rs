//! A trigger of one's own: contended outputs are left with a probability that grows with the contention.

use phit_engine::error::ScenarioError;
use phit_engine::packet::Packet;
use phit_engine::routing::contention::Counters;
use phit_engine::routing::in_transit::{self, Candidate, InTransit, Trigger};
use phit_engine::routing::{Proof, RouterView, Routing, RoutingContext, RoutingParams, Site, Wants};
use phit_engine::topology::{Hop, Topology};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// In-transit adaptive routing in which the share of packets that leave a contended minimal output grows with the
/// contention: none up to `first` heads, all from `last` heads on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Statistical {
    /// Heads that no packet minds.
    pub first: u16,
    /// Heads from which on every packet leaves.
    pub last: u16,
}

impl Default for Statistical {
    fn default() -> Self {
        Self { first: 3, last: 9 }
    }
}

impl RoutingParams for Statistical {
    fn check(&self, topology: &dyn Topology) -> Result<(), ScenarioError> {
        if self.last <= self.first {
            return Err(ScenarioError::new("last", self.last, format!("expected more than `first` = {}", self.first)));
        }
        in_transit::check("statistical", topology)
    }
    fn vcs_needed(&self, _: &dyn Topology) -> (Vec<u8>, String) {
        in_transit::vcs_needed()
    }
    fn proof(&self) -> Proof {
        in_transit::proof()
    }
    fn build(&self, context: &RoutingContext) -> Box<dyn Routing> {
        let trigger = Rule { params: self.clone(), counters: Counters::of_ports(context) };
        Box::new(InTransit::new(trigger, context))
    }
}

struct Rule {
    params: Statistical,
    counters: Counters,
}

impl Trigger for Rule {
    type Reason = ();

    fn wants(&self) -> Wants {
        Wants { heads: true, ..Wants::default() }
    }

    fn head_arrived(&mut self, at: &mut Site<'_>, port: u16, queue: u16, packet: &Packet) {
        let wanted = in_transit::minimal_port(at, packet);
        self.counters.arrived(at, port, queue, wanted);
        at.wake(wanted);
    }

    fn tail_left(&mut self, at: &mut Site<'_>, port: u16, queue: u16) {
        if let Some((wanted, _)) = self.counters.left(at, port, queue) {
            at.wake(wanted);
        }
    }

    fn fires(&self, view: &RouterView<'_>, head: &Candidate<'_>) -> Option<()> {
        let Statistical { first, last } = self.params;
        let contention = self.counters.of(view, head.minimal.port);
        let share = f64::from(contention.saturating_sub(first)) / f64::from(last - first);
        // One number per packet and router, so that a blocked packet does not try its luck again and again.
        (view.rng_of(head.packet).unit() < share).then_some(())
    }

    fn admits(&self, view: &RouterView<'_>, _: &Candidate<'_>, (): (), (other, _): (Hop, u32)) -> bool {
        self.counters.of(view, other.port) < self.params.first
    }
}
