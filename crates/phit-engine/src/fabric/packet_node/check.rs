//! What a scenario may not ask of the packet-level node.

use super::state::{MOST_SLOTS, MOST_VCS};
use crate::error::ScenarioError;
use crate::fabric::input_queued::params::{LinkParams, Phits, RouterParams, Switching};
use crate::scenario::Scenario;
use crate::topology::Topology;

/// Refuses a scenario that the packet-level node could not simulate as described.
pub fn check(scenario: &Scenario, topology: &dyn Topology) -> Result<(), ScenarioError> {
    if scenario.router.node.is_none() {
        return Ok(());
    }
    let Some(bubble) = scenario.routing.params().bubble() else {
        let reason = "router.node works with the bubble family: abr, por, outflank, goal";
        return Err(ScenarioError::new("routing.kind", format!("{:?}", scenario.routing.kind()), reason));
    };
    bubble.deroute(topology).map_err(|e| e.under("routing"))?;
    unread(&scenario.router)?;
    if scenario.queueing.kind() != "virtual_channels" {
        let reason = "router.node has queues of its own: expected \"virtual_channels\", or no such key";
        return Err(ScenarioError::new("queueing.kind", format!("{:?}", scenario.queueing.kind()), reason));
    }
    if let Some(probe) = scenario.measure.probes.first() {
        let reason = "probes look into the input-queued router: router.node has none; leave it out";
        return Err(ScenarioError::new("measure.probes", format!("{:?}", probe.kind()), reason));
    }
    let packet = scenario.traffic.packet_size.params().build().map_err(|e| e.under("traffic.packet_size"))?;
    let links = Links { router: &scenario.router, packet: packet.range().1.into() };
    links.endpoint()?;
    links.queues(topology)
}

/// Refuses settings of the input-queued router, which would have no effect.
fn unread(router: &RouterParams) -> Result<(), ScenarioError> {
    let read = RouterParams {
        node: router.node.clone(),
        links: router.links.clone(),
        // A node stores and forwards by itself: saying so is no contradiction.
        switching: if router.switching == Switching::StoreAndForward {
            router.switching
        } else {
            Switching::VirtualCutThrough
        },
        ..Default::default()
    };
    let (given, read) = (serde_json::to_value(router), serde_json::to_value(&read));
    if let (Ok(serde_json::Value::Object(given)), Ok(serde_json::Value::Object(read))) = (given, read) {
        if let Some((key, value)) = given.iter().find(|(key, value)| read.get(*key) != Some(value)) {
            let reason = "has no effect with router.node; leave it out";
            return Err(ScenarioError::new(format!("router.{key}"), value, reason));
        }
    }
    Ok(())
}

/// The links of a scenario, and the phits of its largest packet.
struct Links<'a> {
    router: &'a RouterParams,
    packet: u32,
}

impl Links<'_> {
    /// The class whose table describes the links of `class`.
    fn table<'b>(&self, class: &'b str) -> &'b str {
        if self.router.links.contains_key(class) { class } else { "default" }
    }

    fn error(&self, class: &str, key: &str, value: impl ToString, expected: impl Into<String>) -> ScenarioError {
        ScenarioError::new(format!("router.links.{}.{key}", self.table(class)), value.to_string(), expected)
    }

    /// Packets for which a queue has room.
    fn slots(&self, link: &LinkParams) -> u32 {
        link.buffer.or_huge() / self.packet
    }

    /// What only the input-queued router knows of the links of endpoints.
    fn endpoint(&self) -> Result<(), ScenarioError> {
        const CLASS: &str = "endpoint";
        let link = self.router.link(CLASS);
        if let Some(Phits::Finite(phits)) = link.ejection_buffer {
            let reason = "has no effect with router.node, whose endpoints take whatever comes; leave it out";
            return Err(self.error(CLASS, "ejection_buffer", phits, reason));
        }
        if link.injection_bandwidth == Some(Phits::Infinite) {
            let expected = "router.node sends packets phit by phit: expected a number of phits per cycle";
            return Err(self.error(CLASS, "injection_bandwidth", "\"infinite\"", expected));
        }
        // A number for all classes is not one of injection queues.
        if link.vcs != 1 && link.vcs != self.router.link("default").vcs {
            let expected = "router.node has no injection queues: expected 1, or no such key";
            return Err(self.error(CLASS, "vcs", link.vcs, expected));
        }
        Ok(())
    }

    /// The queues of all outputs are equal: of so many packets, in three virtual channels at most.
    fn queues(&self, topology: &dyn Topology) -> Result<(), ScenarioError> {
        for class in topology.classes() {
            if let Some(cycles) = self.router.link(class).credit_latency {
                let reason =
                    "has no effect with router.node, whose answers and credits take the link's `latency`; leave it out";
                return Err(self.error(class, "credit_latency", cycles, reason));
            }
        }
        for class in topology.classes() {
            let link = self.router.link(class);
            if !(1..=MOST_SLOTS).contains(&self.slots(&link)) {
                let size = self.packet;
                let expected =
                    format!("expected room for 1 to {MOST_SLOTS} packets of {size} phits: a queue of packets");
                return Err(self.error(class, "buffer", link.buffer.or_huge(), expected));
            }
        }
        let between = || topology.classes().iter().skip(1);
        for class in between() {
            let link = self.router.link(class);
            if usize::from(link.vcs) > MOST_VCS {
                let expected = format!(
                    "router.node has {MOST_VCS} queues at most for a link, an adaptive one and two for escape: expected {MOST_VCS} or \
                     less"
                );
                return Err(self.error(class, "vcs", link.vcs, expected));
            }
        }
        let slots = |class: &String| self.slots(&self.router.link(class));
        let Some(first) = between().next() else { return Ok(()) };
        match between().find(|class| slots(class) != slots(first)) {
            None => Ok(()),
            Some(class) => {
                let (there, size) = (slots(first), self.packet);
                let expected = format!(
                    "the queues of router.node are equal: expected room for {there} packets of {size} phits, as in class \
                     {first:?}"
                );
                Err(self.error(class, "buffer", self.router.link(class).buffer.or_huge(), expected))
            }
        }
    }
}
