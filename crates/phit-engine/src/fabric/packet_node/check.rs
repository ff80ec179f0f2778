//! Checks of a scenario for the packet-level node.

use super::params::PacketNode;
use super::state::{MOST_SLOTS, MOST_VCS, Network};
use crate::bandwidth::Injection;
use crate::error::ScenarioError;
use crate::fabric::checks::{check, check_room};
use crate::fabric::links::{LinkParams, LinkTable, Phits, link};
use crate::fabric::{Blueprint, Demands, Fabric, FabricParams, Load, Options};
use crate::topology::Topology;
use std::collections::BTreeMap;

impl FabricParams for PacketNode {
    fn links(&self) -> &LinkTable {
        &self.links
    }

    fn check_settings(&self, topology: &dyn Topology) -> Result<(), ScenarioError> {
        check(&self.links, topology, false)
    }

    fn check(&self, demands: &Demands<'_>) -> Result<(), ScenarioError> {
        let Demands { topology, routing_kind, queueing_kind, .. } = *demands;
        if demands.workload {
            let reason = "router.node carries traffic that is drawn: expected input_queued or ideal";
            return Err(ScenarioError::new("router.kind", "\"packet_node\"", reason));
        }
        if demands.queueing.undivided() {
            check_room(&self.links, demands, demands.packet_size, "packet", "store-and-forward")?;
        }
        let Some(bubble) = demands.routing.bubble() else {
            let family = (demands.routings)(|routing| routing.bubble().is_some());
            let reason = format!("router.node works with the bubble family: {family}");
            return Err(ScenarioError::new("routing.kind", format!("{routing_kind:?}"), reason));
        };
        bubble.deroute(topology).map_err(|e| e.under("routing"))?;
        if !demands.queueing.undivided() {
            let reason = "router.node has queues of its own: expected \"virtual_channels\", or no such key";
            return Err(ScenarioError::new("queueing.kind", format!("{queueing_kind:?}"), reason));
        }
        if let Some(probe) = demands.probes.first() {
            let reason = "probes look into the input-queued router: router.node has none; leave it out";
            return Err(ScenarioError::new("measure.probes", format!("{probe:?}"), reason));
        }
        let links = Links { table: &self.links, packet: demands.packet_size };
        links.endpoint()?;
        links.queues(topology)
    }

    fn needs(&self, blueprint: &Blueprint, load: &Load) -> BTreeMap<&'static str, f64> {
        Network::needs(blueprint, load)
    }

    fn build(&self, blueprint: &Blueprint, _: Options) -> Box<dyn Fabric> {
        Box::new(Network::new(&self.node, blueprint))
    }
}

/// The links of a scenario, and the phits of its largest packet.
struct Links<'a> {
    table: &'a LinkTable,
    packet: u32,
}

impl Links<'_> {
    /// The class whose table describes the links of `class`.
    fn table<'b>(&self, class: &'b str) -> &'b str {
        if self.table.contains_key(class) { class } else { "default" }
    }

    fn error(&self, class: &str, key: &str, value: impl ToString, expected: impl Into<String>) -> ScenarioError {
        ScenarioError::new(format!("router.links.{}.{key}", self.table(class)), value.to_string(), expected)
    }

    /// Packets for which a queue has room.
    fn slots(&self, link: &LinkParams) -> u32 {
        link.buffer.or_huge() / self.packet
    }

    /// Refuses settings of endpoints' links that only the input-queued router has.
    fn endpoint(&self) -> Result<(), ScenarioError> {
        const CLASS: &str = "endpoint";
        let of = |class: &str| link(self.table, class);
        let link = of(CLASS);
        if let Some(Phits::Finite(phits)) = link.ejection_buffer {
            let reason = "has no effect with router.node, whose endpoints take whatever comes; leave it out";
            return Err(self.error(CLASS, "ejection_buffer", phits, reason));
        }
        if link.injection_bandwidth == Some(Injection::Infinite) {
            let expected = "router.node sends packets phit by phit: expected a number of phits per cycle";
            return Err(self.error(CLASS, "injection_bandwidth", "\"infinite\"", expected));
        }
        // A number for all classes is not meant for injection queues.
        if link.vcs != 1 && link.vcs != of("default").vcs {
            let expected = "router.node has no injection queues: expected 1, or no such key";
            return Err(self.error(CLASS, "vcs", link.vcs, expected));
        }
        Ok(())
    }

    /// Requires equal queues at all outputs, small enough for their masks, and at most three virtual channels.
    fn queues(&self, topology: &dyn Topology) -> Result<(), ScenarioError> {
        for class in topology.classes() {
            let own = link(self.table, class);
            let given =
                [("credit_latency", own.credit_latency), ("injection_credit_latency", own.injection_credit_latency)];
            if let Some((key, Some(cycles))) = given.into_iter().find(|(_, cycles)| cycles.is_some()) {
                let reason =
                    "has no effect with router.node, whose answers and credits take the link's `latency`; leave it out";
                return Err(self.error(class, key, cycles, reason));
            }
        }
        for class in topology.classes() {
            let link = link(self.table, class);
            if !(1..=MOST_SLOTS).contains(&self.slots(&link)) {
                let size = self.packet;
                let expected =
                    format!("expected room for 1 to {MOST_SLOTS} packets of {size} phits: a queue of packets");
                return Err(self.error(class, "buffer", link.buffer.or_huge(), expected));
            }
        }
        let between = || topology.classes().iter().skip(1);
        for class in between() {
            let link = link(self.table, class);
            if usize::from(link.vcs) > MOST_VCS {
                let expected = format!(
                    "router.node has {MOST_VCS} queues at most for a link, an adaptive one and two for escape: \
                     expected {MOST_VCS} or less"
                );
                return Err(self.error(class, "vcs", link.vcs, expected));
            }
        }
        let slots = |class: &String| self.slots(&link(self.table, class));
        let Some(first) = between().next() else { return Ok(()) };
        match between().find(|class| slots(class) != slots(first)) {
            None => Ok(()),
            Some(class) => {
                let (there, size) = (slots(first), self.packet);
                let expected = format!(
                    "the queues of router.node are equal: expected room for {there} packets of {size} phits, as in \
                     class {first:?}"
                );
                Err(self.error(class, "buffer", link(self.table, class).buffer.or_huge(), expected))
            }
        }
    }
}
