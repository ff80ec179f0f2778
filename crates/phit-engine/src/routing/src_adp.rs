//! Source-adaptive routing whose detours lie behind chosen links.

use super::exits::{self, Exits, Place, Reach};
use super::hop_count::HopCount;
use super::in_transit;
use super::oblivious::Redraw;
use super::piggyback::{self, Choice, Detours, FLAG, FlagQueue, Rule};
use super::valiant::{SecondHalf, Via, check_second_half};
use super::{Injection, Routing, RoutingContext, RoutingParams, View};
use crate::error::ScenarioError;
use crate::fabric::seams::routing::Proof;
use crate::measure::Observable;
use crate::packet::Packet;
use crate::topology::Topology;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Piggyback routing with the detours of oblivious routing: a packet compares its minimal route with a route through a
/// random router of a group behind a link of its router, or of its group (García et al., "Global misrouting policies
/// in two-level hierarchical networks", INA-OCMC 2013; as FOGSim, version 5, does).
///
/// Queues, flags and the inequality are those of `piggyback`. For a Dragonfly.
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
/// kind = "src_adp"
/// reach = "router"
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SrcAdp {
    /// The links behind which intermediates are.
    pub reach: Reach,
    /// Packets to the source's group have their intermediate in it, instead of leaving the group.
    pub within: bool,
    /// Packets to other groups have their intermediate in the source's group with the probability that the router of a
    /// random endpoint is another router of this group.
    pub own_group: bool,
    /// When it is drawn.
    pub redraw: Redraw,
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

impl Default for SrcAdp {
    fn default() -> Self {
        Self {
            reach: Reach::Group,
            within: true,
            own_group: false,
            redraw: Redraw::Never,
            coefficient: 2.0,
            global_threshold: 3,
            local_threshold: 3,
            flag_queue: FlagQueue::Channel,
            second_half: SecondHalf::Above,
            hop_count: HopCount::Routes,
        }
    }
}

impl RoutingParams for SrcAdp {
    fn check(&self, topology: &dyn Topology) -> Result<(), ScenarioError> {
        in_transit::check("src_adp", topology)?;
        exits::check("src_adp", topology)?;
        check_second_half(self.second_half, Via::Router, topology)
    }
    fn vcs_needed(&self, _: &dyn Topology) -> (Vec<u8>, String) {
        piggyback::vcs_needed(Via::Router)
    }
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
        &[FLAG]
    }
    fn build(&self, context: &RoutingContext) -> Box<dyn Routing> {
        let Self { coefficient, global_threshold, local_threshold, flag_queue, second_half, hop_count, .. } = *self;
        let via = Via::Router;
        let choice = Choice { coefficient, global_threshold, local_threshold, flag_queue, via, second_half, hop_count };
        let Self { reach, within, own_group, redraw, .. } = *self;
        let behind = Behind {
            exits: Exits::new(context),
            place: Place { reach, via, within, own_group },
            redraws: redraw == Redraw::EveryCycle,
        };
        Box::new(Rule::new(choice, behind, context))
    }
}

/// Detours behind links.
struct Behind {
    exits: Exits,
    place: Place,
    redraws: bool,
}

impl Detours for Behind {
    fn inject(&mut self, at: &mut Injection<'_>, packet: &mut Packet) {
        let ends = (at.router, packet.destination_router);
        packet.scratch = self.exits.draw(at.topology, ends, self.place, at.rng);
    }
    fn redraws(&self) -> bool {
        self.redraws
    }
    fn redraw(&mut self, view: &mut View<'_>, packet: &mut Packet) {
        let ends = (view.at.router, packet.destination_router);
        packet.scratch = self.exits.draw(view.at.topology, ends, self.place, view.rng);
    }
    fn bytes(&self) -> usize {
        self.exits.bytes()
    }
}
