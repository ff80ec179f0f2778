//! `[router]` with `kind = "fluid"`.

use super::Rule;
use super::network::carrier;
use super::ways::Ways;
use crate::engine::Tick;
use crate::error::ScenarioError;
use crate::fabric::checks::check;
use crate::fabric::links::{LONGEST, LinkTable};
use crate::fabric::whole::{WholeNetwork, only_messages, ports};
use crate::fabric::{Blueprint, Demands, Fabric, FabricParams, Load, Options};
use crate::topology::Topology;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A network in which each message of a program is a flow on its route. A flow has a rate until its bytes are gone.
/// Rates change when flows begin or end. So the time of a run grows with the number of messages, not with their sizes.
/// Packets have no effect. Buffers and virtual channels decide when an endpoint begins its next message.
/// `phit fidelity` measures the error of a scenario.
///
/// ```toml
/// [router]
/// kind = "fluid"
/// latency = 5
///
/// [units]
/// phit = "2 B"
/// cycle = "1 ns"
///
/// [workload]
/// kind = "collective"
/// collective = "all_to_all"
/// bytes = 4096
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Fluid {
    /// How the flows on a link share its rate.
    pub sharing: Sharing,
    /// How an endpoint sends several messages.
    pub sources: Sources,
    /// True if flows that stand in one queue keep their proportions: behind a flow that waits for a busy link, the
    /// others wait, too (head-of-line blocking).
    pub head_of_line: bool,
    /// Cycles inside each router.
    #[schemars(range(max = LONGEST))]
    #[schemars(extend("x-unit" = "cycles"))]
    pub latency: u32,
    /// Links by class; `default` stands for the classes that are not listed.
    pub links: LinkTable,
}

impl Default for Fluid {
    fn default() -> Self {
        Self {
            sharing: Sharing::PerInput,
            sources: Sources::InTurn,
            head_of_line: false,
            latency: 1,
            links: LinkTable::new(),
        }
    }
}

/// How the flows on a link share its rate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Sharing {
    /// A link divides its rate equally among the inputs that want it, as round-robin arbiters do. An input divides its
    /// part among the inputs of the router before it, and so on back to the endpoints.
    #[default]
    PerInput,
    /// Max-min fairness: no flow can have more without taking from a flow that has as little.
    MaxMin,
}

/// How an endpoint sends several messages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Sources {
    /// One after another, in the order of sending. If a message waits for a busy link, the next one begins as soon as
    /// the buffers before that link have the rest. The latency of a message follows its last byte.
    #[default]
    InTurn,
    /// All at once: they share the link into the network. A message takes its latency first, and a rate after that.
    Shared,
}

impl FabricParams for Fluid {
    fn repeats(&self) -> bool {
        true
    }

    fn links(&self) -> &LinkTable {
        &self.links
    }

    fn has_channels(&self) -> bool {
        false
    }

    fn check_settings(&self, topology: &dyn Topology) -> Result<(), ScenarioError> {
        check(&self.links, topology, false)
    }

    fn check(&self, demands: &Demands<'_>) -> Result<(), ScenarioError> {
        let no_probes = "probes look into routers, which hold no packets in the fluid network; leave it out";
        only_messages(demands, "fluid", no_probes)?;
        if let Some(traffic) = demands.beside.first() {
            let reason = "the fluid network carries messages of programs, no packets of random traffic; leave it out";
            return Err(ScenarioError::missing(traffic, reason));
        }
        if !Ways::can_follow(demands.topology, demands.routing) {
            let reason = "the fluid network cannot follow its routes: they depend on packets on their way; expected \
                          another mechanism, such as \"minimal\" or a table";
            return Err(ScenarioError::new("routing.kind", format!("{:?}", demands.routing_kind), reason));
        }
        if !demands.routing.divides_flows() {
            let reason = "the fluid network divides flows evenly among equal ways, and this rule does not; expected \
                          \"random\", \"least_queued\" or \"round_robin\" without flowlets";
            return Err(ScenarioError::missing("routing.rule", reason));
        }
        Ok(())
    }

    fn needs(&self, blueprint: &Blueprint, _: &Load) -> BTreeMap<&'static str, f64> {
        // Of each link: the link, its clock and what it has carried. Of each endpoint: its messages.
        let (topology, ports) = (&*blueprint.topology, ports(&*blueprint.topology));
        let endpoints = f64::from(topology.endpoints());
        BTreeMap::from([("links", 200.0 * (ports + endpoints)), ("carried", 96.0 * endpoints + 16.0 * ports)])
    }

    fn build(&self, blueprint: &Blueprint, _: Options) -> Box<dyn Fabric> {
        let rule = Rule { sharing: self.sharing, coupled: self.head_of_line };
        let model = (rule, self.sources, self.latency as Tick);
        Box::new(WholeNetwork::new(blueprint, true, move |blueprint, of| carrier(model, blueprint, of)))
    }
}
