//! Source-adaptive routing whose detours are those of ACOR.

use super::acor::{Adapting, DETOURED_BEFORE, STATE_OF_ROUTER, States};
use super::exits;
use super::hop_count::HopCount;
use super::in_transit;
use super::piggyback::{self, Choice, Detours, FLAG, FlagQueue, Rule};
use super::valiant::{SecondHalf, Via, check_second_half};
use super::{Routing, RoutingContext, RoutingParams, See, View};
use crate::engine::Tick;
use crate::error::ScenarioError;
use crate::fabric::seams::routing::Proof;
use crate::measure::Observable;
use crate::packet::{MISROUTED_AT_INJECTION, Packet};
use crate::topology::Topology;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Piggyback routing with the detours of ACOR: a packet compares its minimal route with the detour of its state, which
/// is redrawn in every decision (Benito et al., "ACOR: Adaptive congestion-oblivious routing in dragonfly networks",
/// JPDC 2019; as FOGSim, version 5, does).
///
/// Queues, flags and the inequality are those of `piggyback`. The states are those of `acor`; with a state per router,
/// only repeated decisions about packets that have preferred a detour before count. For a Dragonfly.
///
/// A Dragonfly needs local virtual channels 0 to 3 and global ones 0 and 1.
///
/// ```toml
/// [topology]
/// kind = "dragonfly"
/// p = 2
/// a = 4
/// h = 2
///
/// [routing]
/// kind = "pb_acor"
/// coefficient = 1.0
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PbAcor {
    /// The states and their changes.
    pub states: States,
    /// Factor of the mean queue of a router's global ports.
    #[schemars(range(min = 0.0))]
    pub coefficient: f64,
    /// Packets of the largest size that a global port may hold in addition.
    pub global_threshold: u32,
    /// Advantage of the minimal route in UGAL's inequality, in packets of the largest size.
    pub local_threshold: i32,
    /// The queue of a global link that its flag depends on.
    pub flag_queue: FlagQueue,
    /// Virtual channels of a detour's second half.
    pub second_half: SecondHalf,
    /// Which hops count in UGAL's inequality.
    pub hop_count: HopCount,
}

impl Default for PbAcor {
    fn default() -> Self {
        Self {
            states: States::default(),
            coefficient: 2.0,
            global_threshold: 3,
            local_threshold: 3,
            flag_queue: FlagQueue::Channel,
            second_half: SecondHalf::Above,
            hop_count: HopCount::Routes,
        }
    }
}

impl RoutingParams for PbAcor {
    fn check(&self, topology: &dyn Topology) -> Result<(), ScenarioError> {
        in_transit::check("pb_acor", topology)?;
        exits::check("pb_acor", topology)?;
        self.states.check().map_err(|error| error.under("states"))?;
        check_second_half(self.second_half, Via::Router, topology)
    }
    fn vcs_needed(&self, _: &dyn Topology) -> (Vec<u8>, String) {
        piggyback::vcs_needed(Via::Router)
    }
    /// A route to a group is a route to the router by which it enters the group, over the same channels.
    fn proof(&self) -> Proof {
        piggyback::proof(self.second_half, Via::Router)
    }
    fn knows_widening(&self) -> bool {
        true
    }
    fn sends_messages(&self) -> bool {
        true
    }
    fn loads_links(&self) -> bool {
        false
    }
    fn observables(&self) -> &'static [Observable] {
        if self.states.are_of_routers() { &[STATE_OF_ROUTER, FLAG] } else { &[FLAG] }
    }
    fn build(&self, context: &RoutingContext) -> Box<dyn Routing> {
        let &Self { coefficient, global_threshold, local_threshold, flag_queue, second_half, hop_count, .. } = self;
        let via = Via::Router;
        let choice = Choice { coefficient, global_threshold, local_threshold, flag_queue, via, second_half, hop_count };
        Box::new(Rule::new(choice, Adapting::new(&self.states, context), context))
    }
}

impl Detours for Adapting {
    fn redraws(&self) -> bool {
        true
    }
    fn redraw(&mut self, view: &mut View<'_>, packet: &mut Packet) {
        if packet.misrouted & MISROUTED_AT_INJECTION != 0 {
            packet.flags |= DETOURED_BEFORE;
        }
        let counts = packet.flags & DETOURED_BEFORE != 0;
        packet.scratch = self.draw(view, packet, counts);
    }
    fn bytes(&self) -> usize {
        Adapting::bytes(self)
    }
    fn observe(&self, router: u32, now: Tick, see: See<'_>) {
        Adapting::observe(self, router, now, see);
    }
}
