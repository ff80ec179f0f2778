//! Checks that refuse scenarios for which input-queued routers are not made.

use super::headroom::MOST_PRIORITIES;
use super::params::{
    Admittance, Clock, Connection, ControlCrossing, ControlRoom, CreditChannel, CreditRelease, CreditUse, Decision,
    Ejection, FlowControl, HoldLimit, InjectionQueue, OutputOrder, OutputRoom, RouterParams, Sharing, Speculation,
    Switching, VcAllocation, VcChoice, VcEligible, VcPreferred, VcReuse, VcTurns,
};
use crate::error::ScenarioError;
use crate::fabric::checks::{check, check_room, described, fits};
use crate::fabric::links::{LinkParams, Phits};
use crate::fabric::seams::allocator::AllocatorParams;
use crate::fabric::seams::queueing::{Division, Fit};
use crate::fabric::{Demands, FabricParams, RoutingProperty};
use crate::registry::Chosen;
use crate::topology::{Peer, Topology};
use std::fmt::Display;

/// Queues of a port are numbered in 12 bits of a credit.
const MOST_QUEUES: u32 = 4096;

impl<A: Chosen<dyn AllocatorParams + Send + Sync>> RouterParams<A> {
    /// Refuses options that do not fit the graph, or one another.
    pub(crate) fn check_options(&self, topology: &dyn Topology) -> Result<(), ScenarioError> {
        self.allocator.shared().check().map_err(|e| e.under("router.allocator"))?;
        check(&self.links, topology, self.sharing.is_some())?;
        if let Some(allocator) = &self.vc_allocator {
            allocator.shared().check().map_err(|e| e.under("router.vc_allocator"))?;
            if !allocator.shared().matches() {
                let expected = "gives a channel to several packets at once; expected an allocator that gives it to one";
                return Err(ScenarioError::missing("router.vc_allocator", expected));
            }
            if self.vc_allocation == VcAllocation::WithSwitch {
                let expected =
                    "expected \"stage\" or \"speculative\": without a stage, channels come with the crossbar";
                return Err(ScenarioError::new("router.vc_allocation", "\"with_switch\"", expected));
            }
        }
        self.stage()?;
        self.passes_at_once(topology)?;
        if self.transit_priority && !self.allocator.shared().ranks() {
            let expected = "expected false with this router.allocator, which puts no request before another";
            return Err(ScenarioError::new("router.transit_priority", "true", expected));
        }
        let speculative = self.vc_allocation == VcAllocation::Speculative;
        if speculative && self.speculation == Speculation::After && !self.allocator.shared().ranks() {
            let expected = "expected \"alike\" with this router.allocator, which puts no request before another";
            return Err(ScenarioError::new("router.speculation", "\"after\"", expected));
        }
        if !speculative && self.speculation != Speculation::After {
            let expected = "expected router.vc_allocation = \"speculative\": elsewhere no request is speculative";
            return Err(ScenarioError::new("router.speculation", "\"alike\"", expected));
        }
        self.rounds()?;
        self.ejection()?;
        self.choice()?;
        self.decision()?;
        self.control_buffers()?;
        if self.connection == Connection::Packet && self.switching != Switching::Wormhole {
            let expected = "expected router.switching = \"wormhole\": elsewhere the packet is the flit";
            return Err(ScenarioError::new("router.connection", "\"packet\"", expected));
        }
        if self.output_room == OutputRoom::Crossed && self.switching != Switching::Wormhole {
            let expected = "expected router.switching = \"wormhole\": elsewhere the packet is the flit";
            return Err(ScenarioError::new("router.output_room", "\"crossed\"", expected));
        }
        if self.vc_reuse == VcReuse::Empty && self.switching != Switching::Wormhole {
            let expected = "expected router.switching = \"wormhole\": elsewhere no packet holds a virtual channel";
            return Err(ScenarioError::new("router.vc_reuse", "\"empty\"", expected));
        }
        for (class, params) in &self.links {
            let path = |key: &str| format!("router.links.{class}.{key}");
            if self.vc_allocation != VcAllocation::WithSwitch && params.vcs > 64 {
                return Err(ScenarioError::new(
                    path("vcs"),
                    params.vcs,
                    "expected at most 64 virtual channels with router.vc_allocation = \"stage\" or \"speculative\"",
                ));
            }
        }
        Ok(())
    }

    /// Refuses a scenario that the kernel could not simulate as described.
    pub(crate) fn check_demands(&self, demands: &Demands<'_>) -> Result<(), ScenarioError> {
        self.retransmission(demands)?;
        self.queues(demands)?;
        self.allocators(demands.topology)?;
        let (what, switching) = match self.switching {
            Switching::VirtualCutThrough => ("packet", "virtual cut-through"),
            Switching::StoreAndForward => ("packet", "store-and-forward"),
            Switching::Wormhole => ("flit", "wormhole"),
        };
        let unit = self.flit(demands.packet_size);
        check_room(&self.links, demands, unit, what, switching)?;
        fits("router.output_buffer".into(), self.output_buffer, unit, what, switching)?;
        self.sharing(demands, unit)?;
        self.room(demands)?;
        self.alternatives(demands)?;
        self.pauses_fit(demands)?;
        self.credits_at_link(demands)?;
        self.assumptions(demands)
    }

    /// Checks credits that are taken at the link: they need packets that move as a whole, a limited output buffer, and
    /// mechanisms that ask for nothing but the room in it.
    fn credits_at_link(&self, demands: &Demands<'_>) -> Result<(), ScenarioError> {
        if self.credit_use == CreditUse::Grant {
            return Ok(());
        }
        let with = "with router.credit_use = \"link\"";
        if !self.buffers_end() {
            let expected = format!("expected a number of phits {with}: packets wait for credits in output buffers");
            return Err(ScenarioError::new("router.output_buffer", "\"infinite\"", expected));
        }
        let topology = demands.topology;
        let endpoint = described(&self.links, &topology.classes()[0]).1;
        let beside = [
            (
                "router.switching",
                self.switching == Switching::Wormhole,
                "flits of packets in several channels would mix",
            ),
            (
                "router.vc_allocation",
                self.vc_allocation != VcAllocation::WithSwitch,
                "a channel is held until the packet has left the output buffer",
            ),
            (
                "router.sharing",
                self.sharing.is_some(),
                "virtual channels that share a buffer have no room of their own",
            ),
            ("router.flow_control", self.pfc().is_some(), "pauses are without credits"),
            ("router.ejection", self.ejection == Ejection::EndpointIdle, "grants do not wait for endpoints"),
            (
                "router.credit_release",
                self.credit_release == CreditRelease::Output,
                "it is not known at the grant when a packet starts on the link",
            ),
            ("router.output_speedup", self.output_speedup > 1, "two packets could take the same room"),
            ("router.links.endpoint.ejection_buffer", endpoint.ejection_buffer.is_some(), "endpoints take what comes"),
            ("topology.faults.later", !topology.breakdowns().is_empty(), "packets that wait for a broken link stay"),
            ("congestion.kind", demands.throttled, "packets are marked when they are granted"),
        ];
        if let Some((key, _, why)) = beside.iter().find(|(_, given, _)| *given) {
            return Err(ScenarioError::missing(*key, format!("{why}; expected the default {with}")));
        }
        let mut between = topology.classes().iter().skip(1).map(|class| described(&self.links, class));
        if let Some((path, link)) = between.find(|(_, link)| link.latency == 0) {
            let expected = format!("expected at least 1 {with}");
            return Err(ScenarioError::new(format!("{path}.latency"), link.latency, expected));
        }
        if !demands.queueing.undivided() {
            let expected = format!("expected \"virtual_channels\" {with}: credits are for a channel");
            return Err(ScenarioError::new("queueing.kind", format!("{:?}", demands.queueing_kind), expected));
        }
        let fits: RoutingProperty = |routing| {
            let rooms = routing.counts_on_room() || routing.packets_per_buffer() > 1;
            !rooms && !routing.samples_output_buffers() && !routing.loads_links()
        };
        match fits(demands.routing) {
            true => Ok(()),
            false => {
                let expected = format!(
                    "{with} a router does not know how full the next buffer is; those that need not know are: {}",
                    (demands.routings)(fits)
                );
                Err(ScenarioError::new("routing.kind", format!("{:?}", demands.routing_kind), expected))
            }
        }
    }

    /// Checks ejection to idle endpoints: it needs packets that move as a whole, and outputs with one grant in a tick.
    fn ejection(&self) -> Result<(), ScenarioError> {
        let expected = match () {
            () if self.ejection == Ejection::OutputFree => return Ok(()),
            () if self.switching == Switching::Wormhole => {
                "expected \"output_free\" with router.switching = \"wormhole\""
            }
            () if self.input_speedup.max(self.output_speedup) > 1 => {
                "expected \"output_free\" with router.input_speedup or router.output_speedup"
            }
            () if !self.allocator.shared().matches() => {
                "expected \"output_free\" with this router.allocator, which grants all"
            }
            () => return Ok(()),
        };
        Err(ScenarioError::new("router.ejection", "\"endpoint_idle\"", expected))
    }

    /// Checks a choice among virtual channels: it needs packets that move as a whole, and channels that come with the
    /// crossbar.
    fn choice(&self) -> Result<(), ScenarioError> {
        let expected = match () {
            () if self.vc_choice == VcChoice::Roomiest => return Ok(()),
            () if self.switching == Switching::Wormhole => "expected \"roomiest\" with router.switching = \"wormhole\"",
            () if self.vc_allocation != VcAllocation::WithSwitch => {
                "expected \"roomiest\" with this router.vc_allocation, which has an allocator for channels"
            }
            () => return Ok(()),
        };
        let value = serde_json::to_string(&self.vc_choice).unwrap_or_default();
        Err(ScenarioError::new("router.vc_choice", value, expected))
    }

    /// Checks decisions at the front of queues: they need packets that move as a whole, and channels that come with the
    /// crossbar.
    fn decision(&self) -> Result<(), ScenarioError> {
        let expected = match () {
            () if self.decision == Decision::InputFree => return Ok(()),
            () if self.switching == Switching::Wormhole => {
                "expected \"input_free\" with router.switching = \"wormhole\""
            }
            () if self.switching == Switching::StoreAndForward => {
                "expected \"input_free\" with router.switching = \"store_and_forward\""
            }
            () if self.vc_allocation != VcAllocation::WithSwitch => {
                "expected \"input_free\" with this router.vc_allocation, which has an allocator for channels"
            }
            () if self.allocation_delay > 0 => "expected \"input_free\" with router.allocation_delay above 0",
            () => return Ok(()),
        };
        Err(ScenarioError::new("router.decision", "\"front\"", expected))
    }

    /// Checks output buffers in which control packets go first: they need channels that are allocated in a stage, links
    /// of a phit per cycle, and credits that do not wait for the link.
    fn control_buffers(&self) -> Result<(), ScenarioError> {
        let Some(phits) = self.control_buffer else {
            let expected = "expected none without router.control_buffer";
            if self.control_crossing != ControlCrossing::Interrupts {
                return Err(ScenarioError::new("router.control_crossing", "\"beside\"", expected));
            }
            if self.control_room != ControlRoom::Own {
                return Err(ScenarioError::new("router.control_room", "\"both\"", expected));
            }
            return match self.output_order {
                OutputOrder::Crossing => Ok(()),
                OutputOrder::Packets => self.chosen_flits("router.output_order", "\"packets\""),
            };
        };
        self.chosen_flits("router.control_buffer", phits)
    }

    /// Checks output buffers whose flits the link chooses, because of the key with this value.
    fn chosen_flits(&self, key: &str, value: impl Display) -> Result<(), ScenarioError> {
        let plain = LinkParams::default();
        let alike = |link: &LinkParams| {
            link.bandwidth == plain.bandwidth && link.injection_bandwidth == plain.injection_bandwidth
        };
        let expected = match () {
            () if self.vc_allocation != VcAllocation::Stage => "expected none without router.vc_allocation = \"stage\"",
            () if self.credit_release == CreditRelease::Output => {
                "expected none with router.credit_release = \"output\""
            }
            () if self.flow_control == FlowControl::Pfc => "expected none with router.flow_control = \"pfc\"",
            () if self.crossbar_bandwidth.is_some() => "expected none with router.crossbar_bandwidth",
            () if self.sharing.is_some() => "expected none with router.sharing",
            () if !self.links.values().all(alike) => "expected none with links of another bandwidth than 1",
            () => return Ok(()),
        };
        Err(ScenarioError::new(key, value, expected))
    }

    /// Checks several rounds of allocation in a cycle: they need packets that move as a whole, and one path between a
    /// port and the crossbar.
    fn rounds(&self) -> Result<(), ScenarioError> {
        let expected = match () {
            () if self.allocation_rounds == 1 => return Ok(()),
            () if self.switching == Switching::Wormhole => "expected 1 with router.switching = \"wormhole\"",
            () if self.vc_allocation != VcAllocation::WithSwitch => {
                "expected 1, or router.vc_allocation = \"with_switch\""
            }
            () if self.input_speedup.max(self.output_speedup) > 1 => {
                "expected 1 with router.input_speedup or router.output_speedup"
            }
            () if !self.allocator.shared().matches() => "expected 1 with this router.allocator, which grants all",
            () => return Ok(()),
        };
        Err(ScenarioError::new("router.allocation_rounds", self.allocation_rounds, expected))
    }

    /// Checks that at most one packet comes to an output in a tick, if the routing mechanism counts on the room that it
    /// finds.
    fn room(&self, demands: &Demands<'_>) -> Result<(), ScenarioError> {
        if !demands.routing.counts_on_room() {
            return Ok(());
        }
        let kind = demands.routing_kind;
        if self.output_speedup > 1 {
            let expected = format!("expected 1 with routing {kind:?}, which counts on the room that it has found");
            return Err(ScenarioError::new("router.output_speedup", self.output_speedup, expected));
        }
        match self.allocator.shared().matches() {
            true => Ok(()),
            false => {
                let expected = format!(
                    "expected one that grants an output to one packet with routing {kind:?}, which counts on the room \
                     that it has found"
                );
                Err(ScenarioError::missing("router.allocator", expected))
            }
        }
    }

    /// Checks heads that ask for virtual channels of several outputs: they need an allocator that accepts such
    /// requests.
    fn alternatives(&self, demands: &Demands<'_>) -> Result<(), ScenarioError> {
        if !demands.routing.alternatives() {
            return Ok(());
        }
        let with = format!("with routing {:?}, whose heads ask for channels of several outputs", demands.routing_kind);
        match self.vc_allocation {
            VcAllocation::Stage => {}
            VcAllocation::Speculative if demands.routing.alternatives_of_one_output() => {}
            VcAllocation::Speculative => {
                let expected = format!("expected \"stage\" {with}: it is known too late over which it may go");
                return Err(ScenarioError::new("router.vc_allocation", "\"speculative\"", expected));
            }
            VcAllocation::WithSwitch => {
                let expected = format!("expected \"stage\" {with}");
                return Err(ScenarioError::new("router.vc_allocation", "\"with_switch\"", expected));
            }
        }
        if self.vc_allocator.is_none() {
            return Err(ScenarioError::missing("router.vc_allocator", format!("expected an allocator {with}")));
        }
        if self.vc_preferred != VcPreferred::Any {
            return Err(ScenarioError::new("router.vc_preferred", "\"empty\"", format!("expected \"any\" {with}")));
        }
        match demands.queueing.undivided() {
            true => Ok(()),
            false => {
                let kind = format!("{:?}", demands.queueing_kind);
                Err(ScenarioError::new("queueing.kind", kind, format!("expected \"virtual_channels\" {with}")))
            }
        }
    }

    /// Checks the rules of a stage that allocates virtual channels: they need such a stage.
    fn stage(&self) -> Result<(), ScenarioError> {
        let empty = self.vc_preferred == VcPreferred::Empty;
        let ruled = [
            (self.vc_eligible == VcEligible::WithRoom, "router.vc_eligible", "\"with_room\""),
            (self.vc_eligible == VcEligible::WithPacketRoom, "router.vc_eligible", "\"with_packet_room\""),
            (empty, "router.vc_preferred", "\"empty\""),
            (self.vc_turns == VcTurns::Queues, "router.vc_turns", "\"queues\""),
        ];
        let given = ruled.iter().find(|(given, ..)| *given);
        if let Some((_, key, value)) = given.filter(|_| self.vc_allocation == VcAllocation::WithSwitch) {
            let expected =
                "expected router.vc_allocation = \"stage\" or \"speculative\": elsewhere heads ask for no channel";
            return Err(ScenarioError::new(*key, *value, expected));
        }
        if empty && !self.vc_allocator.as_ref().is_some_and(|allocator| allocator.shared().ranks()) {
            let expected = "expected a router.vc_allocator that puts requests before others";
            return Err(ScenarioError::new("router.vc_preferred", "\"empty\"", expected));
        }
        Ok(())
    }

    /// Checks that everything takes at least a cycle from one router to the next, and back to the sender.
    fn passes_at_once(&self, topology: &dyn Topology) -> Result<(), ScenarioError> {
        if self.latency > 0 {
            return Ok(());
        }
        if self.credit_release == CreditRelease::Output {
            let expected = "expected \"input\" with router.latency = 0";
            return Err(ScenarioError::new("router.credit_release", "\"output\"", expected));
        }
        let mut between = topology.classes().iter().skip(1).map(|class| described(&self.links, class));
        match between.find(|(_, link)| link.latency == 0) {
            None => Ok(()),
            Some((path, _)) => {
                let expected = "expected 1 or more with router.latency = 0: from router to router it takes a cycle";
                Err(ScenarioError::new(format!("{path}.latency"), 0, expected))
            }
        }
    }

    /// Checks that an allocator for channels can number the queues of a router, and its channels.
    fn allocators(&self, topology: &dyn Topology) -> Result<(), ScenarioError> {
        if self.vc_allocator.is_none() {
            return Ok(());
        }
        let radix = (0..topology.routers()).map(|router| topology.ports(router)).max().unwrap_or(0);
        let classes = topology.classes().iter();
        let widest = classes.map(|class| described(&self.links, class).1.vcs).max().unwrap_or(1);
        let queues = u32::from(radix) * u32::from(widest);
        match queues > u16::MAX.into() {
            true => {
                let expected =
                    format!("expected none: a router has {queues} queues, of which it numbers {} at most", u16::MAX);
                Err(ScenarioError::missing("router.vc_allocator", expected))
            }
            false => Ok(()),
        }
    }
}

/// Checks queues chosen by a hop that the packet has not come to yet: such hops must be told ahead.
fn told_ahead(demands: &Demands<'_>) -> Result<(), ScenarioError> {
    let Demands { topology, routing, queueing_kind: kind, .. } = *demands;
    if !routing.told_ahead() {
        let expected = format!(
            "with queueing.kind = {kind:?} it must be known which hop a packet will take at the next router; it is \
             with: {}",
            (demands.routings)(|routing| routing.told_ahead())
        );
        return Err(ScenarioError::new("routing.kind", format!("{:?}", demands.routing_kind), expected));
    }
    if topology.faulty().is_some() {
        let expected = format!("expected none with queueing.kind = {kind:?}: hops are not what they are without");
        return Err(ScenarioError::missing("topology.faults", expected));
    }
    Ok(())
}

/// Checks channels that follow from the places of hops: the routing mechanism must have such routes.
fn positions(demands: &Demands<'_>) -> Result<(), ScenarioError> {
    let any: RoutingProperty = |routing| routing.proof().reference().is_some() && routing.knows_widening();
    let unknowing: RoutingProperty = |routing| routing.proof().reference().is_some() && !routing.reads_buffers();
    // Which channels are compared would depend on the kind of packet.
    let has = if demands.queueing.parts_replies() { unknowing } else { any };
    match has(demands.routing) {
        true => Ok(()),
        false => {
            let expected = format!(
                "with queueing.kind = {:?} channels follow from the places of hops on the longest route; they do with: \
                 {}",
                demands.queueing_kind,
                (demands.routings)(has)
            );
            Err(ScenarioError::new("routing.kind", format!("{:?}", demands.routing_kind), expected))
        }
    }
}

/// Checks queues chosen by the hop after next. They need at least one virtual channel for every output.
fn looks_ahead(demands: &Demands<'_>, vcs: &[u16]) -> Result<(), ScenarioError> {
    let Demands { topology, routing, queueing_kind: kind, .. } = *demands;
    let radix = (0..topology.routers()).map(|router| topology.ports(router)).max().unwrap_or(1);
    let needed = routing.vcs_needed(topology).0;
    for ((class, &vcs), needed) in topology.classes().iter().zip(vcs).zip(needed) {
        let least = u32::from(radix) * u32::from(needed.max(1));
        if u32::from(vcs) < least {
            let expected =
                format!("expected at least {least} with queueing.kind = {kind:?}: one for each of {radix} outputs");
            return Err(ScenarioError::new(format!("router.links.{class}.vcs"), vcs, expected));
        }
    }
    Ok(())
}

impl<A> RouterParams<A> {
    /// Checks pauses: nothing is lost if every buffer has the headroom, and nothing asks for credits.
    fn pauses_fit(&self, demands: &Demands<'_>) -> Result<(), ScenarioError> {
        let Some(pfc) = self.pfc() else {
            return match self.pfc {
                None => Ok(()),
                Some(_) => {
                    let expected = "expected \"pfc\" with router.pfc, and router.pfc with it alone";
                    Err(ScenarioError::new("router.flow_control", "\"credits\"", expected))
                }
            };
        };
        self.pauses_alone(demands)?;
        let (topology, largest) = (demands.topology, demands.packet_size);
        for (number, class) in topology.classes().iter().enumerate() {
            let (path, link) = described(&self.links, class);
            let buffer = link.buffer.or_huge();
            if link.vcs > MOST_PRIORITIES {
                let expected = format!("expected at most {MOST_PRIORITIES} with router.flow_control = \"pfc\"");
                return Err(ScenarioError::new(format!("{path}.vcs"), link.vcs, expected));
            }
            let needed = self.headroom(topology, number, self.unit(largest), pfc.frame);
            if let Some(headroom) = pfc.headroom.filter(|headroom| *headroom < needed) {
                let expected = format!(
                    "expected at least {needed} phits: so many may come over a link of class {class:?} before a pause \
                     is heeded (docs: congestion)"
                );
                return Err(ScenarioError::new("router.pfc.headroom", headroom, expected));
            }
            let headroom = pfc.headroom.unwrap_or(needed);
            let least = headroom.saturating_add(pfc.hysteresis.unwrap_or(1).max(1));
            if buffer < least {
                let expected = format!(
                    "expected at least {least} phits with router.flow_control = \"pfc\": a headroom of {headroom} for \
                     what comes before a pause is heeded, and some up to xoff"
                );
                return Err(ScenarioError::new(format!("{path}.buffer"), buffer, expected));
            }
        }
        Ok(())
    }

    /// Checks that nothing beside pauses needs credits, or delays frames.
    fn pauses_alone(&self, demands: &Demands<'_>) -> Result<(), ScenarioError> {
        let topology = demands.topology;
        let with = "with router.flow_control = \"pfc\"";
        if !self.buffers_end() {
            let expected = format!("expected a number of phits {with}: what has been granted cannot be paused");
            return Err(ScenarioError::new("router.output_buffer", "\"infinite\"", expected));
        }
        let endpoint = described(&self.links, &topology.classes()[0]).1;
        let credits = format!("expected none {with}: there are no credits");
        let beside = [
            ("router.sharing", self.sharing.is_some(), "virtual channels that share a buffer have credits"),
            ("router.credit_delay", self.credit_delay > 0, &*credits),
            (
                "router.credit_release",
                self.credit_release == CreditRelease::Allocation,
                "a buffer asks for pauses by the phits that are in it",
            ),
            ("router.ejection", self.ejection == Ejection::EndpointIdle, "frames take the time of endpoints' links"),
            ("router.credit_channel", self.credit_channel != CreditChannel::Unlimited, &*credits),
            ("router.vc_reuse", self.vc_reuse == VcReuse::Empty, "a sender does not know when a buffer is empty"),
            ("router.vc_preferred", self.vc_preferred == VcPreferred::Empty, "a sender does not know which are empty"),
            ("router.links.endpoint.ejection_buffer", endpoint.ejection_buffer.is_some(), "endpoints pause no router"),
            ("topology.faults.later", !topology.breakdowns().is_empty(), "a broken link brings no frames"),
        ];
        if let Some((key, _, why)) = beside.iter().find(|(_, given, _)| *given) {
            return Err(ScenarioError::missing(*key, format!("{why}; expected none {with}")));
        }
        if self.injection_queue == InjectionQueue::LeastOccupied && endpoint.vcs > 1 {
            let expected = format!("expected another rule {with}: an endpoint does not know how full its queues are");
            return Err(ScenarioError::new("router.injection_queue", "\"least_occupied\"", expected));
        }
        if !demands.queueing.undivided() {
            let expected = format!("expected \"virtual_channels\" {with}: a pause is for a channel");
            return Err(ScenarioError::new("queueing.kind", format!("{:?}", demands.queueing_kind), expected));
        }
        let unknowing: RoutingProperty = |routing| {
            let reads = routing.reads_buffers() || routing.counts_on_room() || routing.compares_buffers();
            !reads && !routing.loads_links() && routing.packets_per_buffer() == 1
        };
        if !unknowing(demands.routing) {
            let expected = format!(
                "{with} a router does not know how full the next buffer is; those that need not know are: {}",
                (demands.routings)(unknowing)
            );
            return Err(ScenarioError::new("routing.kind", format!("{:?}", demands.routing_kind), expected));
        }
        let back = |router: u32, port: u16| match topology.port(router, port).peer {
            Peer::Router { router: to, port: into } => {
                let peer = topology.port(to, into).peer;
                matches!(peer, Peer::Router { router: far, port: out } if (far, out) == (router, port))
            }
            Peer::Endpoint(_) | Peer::None => true,
        };
        let one_way =
            (0..topology.routers()).find(|&router| (0..topology.ports(router)).any(|port| !back(router, port)));
        match one_way {
            None => Ok(()),
            Some(router) => {
                let expected = format!(
                    "expected links in both directions {with}: over some link of router {router} no frame can go back"
                );
                Err(ScenarioError::missing("topology.kind", expected))
            }
        }
    }

    /// Checks that sources learn of a loss no sooner than the news could have travelled.
    fn retransmission(&self, demands: &Demands<'_>) -> Result<(), ScenarioError> {
        let (topology, Some((key, timeout))) = (demands.topology, demands.timeout) else { return Ok(()) };
        let ticks = if self.clock == Clock::Link { 1 } else { self.speedup.rounded_up() };
        let links = topology.classes().iter().skip(1).map(|class| described(&self.links, class).1.latency);
        let least = (self.latency.div_ceil(ticks) + links.max().unwrap_or(0)).max(1);
        let expected = format!("expected at least {least}, the cycles of a router and the longest link");
        match timeout < least {
            true => Err(ScenarioError::new(key, timeout, expected)),
            false => Ok(()),
        }
    }

    /// Checks queues: the kernel must be able to number them, and the queue organisation has conditions of its own.
    fn queues(&self, demands: &Demands<'_>) -> Result<(), ScenarioError> {
        let topology = demands.topology;
        let (params, links) =
            (demands.queueing, topology.classes().iter().map(|class| described(&self.links, class).1));
        let whole_packets = self.switching != Switching::Wormhole && self.vc_allocation == VcAllocation::WithSwitch;
        let (vcs, buffer): (Vec<u16>, Vec<u32>) = links.map(|link| (link.vcs, link.buffer.or_huge())).unzip();
        let fit = Fit {
            topology,
            vcs: &vcs,
            buffer: &buffer,
            packet_size: demands.packet_size,
            deterministic: demands.routing.table(topology).is_some(),
            throttled: demands.throttled,
            by_destination: demands.throttled || self.admittance == Admittance::PerDestination,
            whole_packets,
            networks: demands.networks,
            reference: demands.routing.proof().reference(),
        };
        params.check(&fit).map_err(|e| e.under("queueing"))?;
        if params.follows_positions() {
            positions(demands)?;
        }
        if params.looks_ahead() || params.sorts() {
            told_ahead(demands)?;
        }
        if params.looks_ahead() {
            looks_ahead(demands, &vcs)?;
        }
        let division = params.division(topology);
        for (class, vcs) in topology.classes().iter().zip(&vcs) {
            let all = u32::from(*vcs).saturating_mul(division.queues);
            if all > MOST_QUEUES {
                let expected = format!(
                    "{vcs} virtual channels of {} queues each make {all} queues of a port of class {class}; expected \
                     at most {MOST_QUEUES}",
                    division.queues
                );
                return Err(ScenarioError::new("queueing.kind", format!("{:?}", demands.queueing_kind), expected));
            }
        }
        if self.vc_reuse == VcReuse::Empty && division.queues > 1 {
            let expected = "expected queueing.kind = \"virtual_channels\": elsewhere queues share a buffer";
            return Err(ScenarioError::new("router.vc_reuse", "\"empty\"", expected));
        }
        self.paths(topology, &division)?;
        if vcs[0] > 1 && division.queues > 1 && !params.sorts() {
            let path = format!("{}.vcs", described(&self.links, &topology.classes()[0]).0);
            let expected = format!("expected 1: the queueing {:?} divides the injection queue", demands.queueing_kind);
            return Err(ScenarioError::new(path, vcs[0], expected));
        }
        if self.admittance == Admittance::PerDestination && !whole_packets {
            let expected = "needs switching of whole packets, and virtual channels allocated with the switch";
            return Err(ScenarioError::new("router.admittance", "\"per_destination\"", expected));
        }
        self.admittance_room(demands)
    }

    /// Checks the room of admittance queues: they must have room for any packet. With a program, which waits for each
    /// of its messages, they must not drop packets.
    fn admittance_room(&self, demands: &Demands<'_>) -> Result<(), ScenarioError> {
        let Phits::Finite(room) = self.admittance_room else { return Ok(()) };
        let expected = match () {
            () if self.admittance == Admittance::Single => return Ok(()),
            () if demands.workload => {
                "expected \"infinite\" with a workload: packets that find no room are dropped, and their messages \
                 never arrive"
                    .into()
            }
            () if room < demands.packet_size => {
                let size = demands.packet_size;
                format!("expected at least {size} phits, the size of the largest packet, which finds no room otherwise")
            }
            () => return Ok(()),
        };
        Err(ScenarioError::new("router.admittance_room", room, expected))
    }

    /// Checks several paths between a port and the crossbar. They need queues that can be dealt out among them. The
    /// allocator, to which every path is a port, must be able to number them.
    fn paths(&self, topology: &dyn Topology, division: &Division) -> Result<(), ScenarioError> {
        let most = self.input_speedup.max(self.output_speedup);
        if most == 1 {
            return Ok(());
        }
        let key = if self.input_speedup == most { "router.input_speedup" } else { "router.output_speedup" };
        if division.queues > 1 {
            let expected = "expected 1, or queueing.kind = \"virtual_channels\": they have one queue each";
            return Err(ScenarioError::new(key, most, expected));
        }
        let radix = (0..topology.routers()).map(|router| topology.ports(router)).max().unwrap_or(0);
        if u32::from(radix) * most > u32::from(u16::MAX) {
            let expected = format!("a router of {radix} ports would have more than {} of them", u16::MAX);
            return Err(ScenarioError::new(key, most, expected));
        }
        Ok(())
    }

    /// Checks channels that share a buffer: their private parts and limits, and the mechanisms that read occupancies.
    fn sharing(&self, demands: &Demands<'_>, unit: u32) -> Result<(), ScenarioError> {
        let Some(Sharing { private, limit, most }) = self.sharing else { return Ok(()) };
        let topology = demands.topology;
        let of = |key: &str| format!("router.sharing.{key}");
        // A packet that moves as a whole holds no channel, and leaves none half way.
        let whole = self.switching != Switching::Wormhole && self.vc_allocation == VcAllocation::WithSwitch;
        if whole && matches!(limit, HoldLimit::Even | HoldLimit::Halved) {
            let expected = "expected \"none\" or \"fixed\" with this router.switching and router.vc_allocation: the \
                            others count the channels that packets hold, and here they hold none";
            return Err(ScenarioError::new(of("limit"), serde_json::to_string(&limit).unwrap_or_default(), expected));
        }
        if private < unit && !whole {
            let expected = format!("expected at least {unit}, the phits of a flit: a channel must be able to go on");
            return Err(ScenarioError::new(of("private"), private, expected));
        }
        if (limit == HoldLimit::Fixed) != most.is_some() {
            let expected = "expected a number of phits with limit = \"fixed\", and with it alone";
            return Err(ScenarioError::missing(of("most"), expected));
        }
        if let Some(most) = most.filter(|most| *most < unit) {
            let expected = format!("expected at least {unit}, the phits of a flit");
            return Err(ScenarioError::new(of("most"), most, expected));
        }
        for class in topology.classes() {
            let (path, link) = described(&self.links, class);
            let Some(buffer) = link.buffer.finite() else {
                let expected = "expected a number of phits with router.sharing";
                return Err(ScenarioError::new(format!("{path}.buffer"), "\"infinite\"", expected));
            };
            let (vcs, room) = (u32::from(link.vcs), link.ejection_buffer.and_then(Phits::finite).unwrap_or(buffer));
            let least = buffer.min(room);
            if let Some(own) = link.private.filter(|own| !whole && *own < unit || *own > least) {
                let first = if whole { 0 } else { unit };
                let expected = format!("expected {first} to {least}, the share of a channel in class {class:?}");
                return Err(ScenarioError::new(format!("{path}.private"), own, expected));
            }
            if link.private.is_none() && least < private {
                let expected = format!("expected at most {least}, the share of a channel in class {class:?}");
                return Err(ScenarioError::new(of("private"), private, expected));
            }
            let all = u64::from(vcs) * u64::from(buffer.max(room));
            if all > i32::MAX as u64 / 2 {
                let expected =
                    format!("{vcs} channels of so many phits are too much; expected at most {} in all", i32::MAX / 2);
                return Err(ScenarioError::new(format!("{path}.buffer"), buffer, expected));
            }
            let quartered = (u64::from(vcs) * u64::from(least)) >> vcs.next_power_of_two().ilog2();
            if limit == HoldLimit::Halved && quartered < u64::from(unit) {
                let expected = format!("{vcs} channels held in class {class:?} leave less than a flit for each");
                return Err(ScenarioError::new(of("limit"), "\"halved\"", expected));
            }
        }
        if self.output_speedup > 1 {
            let expected = "expected 1 with router.sharing: two flits could take the same place";
            return Err(ScenarioError::new("router.output_speedup", self.output_speedup, expected));
        }
        if demands.queueing.division(topology).queues > 1 {
            let expected = "expected \"virtual_channels\" with router.sharing";
            return Err(ScenarioError::new("queueing.kind", format!("{:?}", demands.queueing_kind), expected));
        }
        if !topology.breakdowns().is_empty() {
            let expected = "expected none with router.sharing: a broken link keeps no account of its buffer";
            return Err(ScenarioError::missing("topology.faults.later", expected));
        }
        if demands.routing.reads_buffers() && !demands.routing.counts_phits() {
            let expected = format!(
                "with router.sharing the buffer of a channel has no size by which to compare it; those that read none \
                 or count phits alone are: {}",
                (demands.routings)(|routing| !routing.reads_buffers() || routing.counts_phits())
            );
            return Err(ScenarioError::new("routing.kind", format!("{:?}", demands.routing_kind), expected));
        }
        Ok(())
    }

    /// Checks the assumptions of the routing mechanism about switching and buffers.
    fn assumptions(&self, demands: &Demands<'_>) -> Result<(), ScenarioError> {
        if demands.routing.needs_whole_packets() && self.switching == Switching::Wormhole {
            let expected = format!(
                "routing {:?} leaves room for whole packets: expected \"virtual_cut_through\" or \"store_and_forward\"",
                demands.routing_kind
            );
            return Err(ScenarioError::new("router.switching", "\"wormhole\"", expected));
        }
        if demands.routing.samples_output_buffers() && self.output_buffer.finite().is_none() {
            let expected = format!(
                "routing {:?} samples output buffers: expected a number of phits, or another routing.point",
                demands.routing_kind
            );
            return Err(ScenarioError::new("router.output_buffer", "\"infinite\"", expected));
        }
        if !demands.routing.compares_buffers() {
            return Ok(());
        }
        let topology = demands.topology;
        let mut between = topology.classes().iter().skip(1).map(|class| (class, described(&self.links, class)));
        let Some((first, (_, there))) = between.next() else { return Ok(()) };
        match between.find(|(_, (_, link))| link.buffer != there.buffer) {
            None => Ok(()),
            Some((_, (path, link))) => {
                let (kind, size) = (demands.routing_kind, there.buffer.or_huge());
                let expected = format!(
                    "routing {kind:?} compares the queues of all directions: expected {size} phits, as in class \
                     {first:?}"
                );
                Err(ScenarioError::new(format!("{path}.buffer"), link.buffer.or_huge(), expected))
            }
        }
    }
}
