//! The interface of input-queued routers to the rest of Phit: their parameters are checked, and networks are built.

use crate::engine::{Team, Tick};
use crate::error::ScenarioError;
use crate::fabric::checks::described;
use crate::fabric::input_queued::options::pace::Pace;
use crate::fabric::input_queued::options::params::{Admittance, Clock, RouterParams, Switching, VcAllocation};
use crate::fabric::input_queued::partitions::build::Plan;
use crate::fabric::input_queued::partitions::network::InputQueued;
use crate::fabric::links::LinkTable;
use crate::fabric::seams::allocator::AllocatorParams;
use crate::fabric::{Blueprint, Demands, Fabric, FabricParams, Load, Options, Whole};
use crate::registry::Chosen;
use crate::topology::Topology;
use std::collections::BTreeMap;

impl<A: Chosen<dyn AllocatorParams + Send + Sync>> FabricParams for RouterParams<A> {
    fn repeats(&self) -> bool {
        true
    }

    fn links(&self) -> &LinkTable {
        &self.links
    }

    fn ticks_per_cycle(&self) -> Tick {
        match self.clock {
            Clock::Link => 1,
            Clock::Crossbar => self.speedup.rounded_up(),
        }
    }

    fn fills(&self) -> f64 {
        match (Pace::new(self.speedup).filter(|_| self.clock == Clock::Crossbar), self.crossbar_bandwidth) {
            (Some(_), _) => 0.0,
            (None, Some(rate)) => rate.to_f64() * f64::from(self.speedup.rounded_up()),
            (None, None) => f64::INFINITY,
        }
    }

    fn router_cycles(&self) -> u32 {
        self.speedup.rounded_up() * self.allocation_rounds
    }

    fn inside(&self) -> Tick {
        self.latency + self.allocation_delay
    }

    fn flit(&self, packet: u32) -> u32 {
        self.unit(packet)
    }

    fn whole_packets(&self) -> bool {
        self.switching != Switching::Wormhole
    }

    fn breaks(&self) -> bool {
        true
    }

    fn shares(&self) -> bool {
        self.sharing.is_some()
    }

    fn keeps_room(&self, topology: &dyn Topology, packet: u32) -> bool {
        let Some(sharing) = self.sharing else { return true };
        let unit = self.flit(packet);
        let private = |class: &String| described(&self.links, class).1.private.unwrap_or(sharing.private);
        topology.classes().iter().skip(1).all(|class| private(class) >= unit)
    }

    fn puts_control_first(&self) -> bool {
        self.control_buffer.is_some()
    }

    fn stages_channels(&self) -> bool {
        self.vc_allocation == VcAllocation::Stage
    }

    fn pauses(&self) -> bool {
        self.pfc().is_some()
    }

    fn parallel(&self) -> bool {
        true
    }

    fn several_source_queues(&self) -> bool {
        self.admittance == Admittance::Single
    }

    fn check_settings(&self, topology: &dyn Topology) -> Result<(), ScenarioError> {
        self.check_options(topology)
    }

    fn check(&self, demands: &Demands<'_>) -> Result<(), ScenarioError> {
        self.check_demands(demands)
    }

    fn needs(&self, blueprint: &Blueprint, load: &Load) -> BTreeMap<&'static str, f64> {
        Plan::new(self, blueprint).needs(load)
    }

    fn build(&self, blueprint: &Blueprint, options: Options) -> Box<dyn Fabric> {
        Box::new(InputQueued::new(&Plan::new(self, blueprint), options))
    }

    fn share(&self, blueprint: &Blueprint, options: Options, team: &Team) -> Result<Box<dyn Fabric>, Whole> {
        if blueprint.routing.reads_everything() {
            return Err(Whole::Routing);
        }
        let share = InputQueued::share_of(&Plan::new(self, blueprint), options, team).ok_or(Whole::Topology)?;
        Ok(Box::new(share))
    }
}
