//! `[router]` with `kind = "ideal"`.

use super::network::carrier;
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

/// An ideal network without routers. Whole messages wait for one another only at the link into the network. With
/// `endpoint_links` they also wait at the link out of it, and with `store_and_forward` at every link. Programs run in
/// the model of their hosts. The additional time of the same scenario with routers is the cost of contention. Only
/// latency and bandwidth of the links are used.
///
/// ```toml
/// [router]
/// kind = "ideal"
/// latency = 5
///
/// [units]
/// phit = "2 B"
/// cycle = "1 ns"
///
/// [workload]
/// kind = "collective"
/// collective = "all_reduce"
/// ranks = 8
/// bytes = 4096
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Ideal {
    /// The time that messages take.
    pub model: Model,
    /// With `model = "constant"`: cycles from one end to the other (L of LogGOPS). With the other models: cycles inside
    /// each router.
    #[schemars(range(max = LONGEST))]
    #[schemars(extend("x-unit" = "cycles"))]
    pub latency: u32,
    /// Links by class; `default` stands for the classes that are not listed.
    pub links: LinkTable,
}

impl Default for Ideal {
    fn default() -> Self {
        Self { model: Model::ZeroLoad, latency: 1, links: LinkTable::new() }
    }
}

/// The time that messages take.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Model {
    /// The latency of a minimal route, plus the time of all phits on its slowest link. The messages of an endpoint
    /// enter the network one after another.
    #[default]
    ZeroLoad,
    /// Like `zero_load`, with two differences. The bandwidth of the link to an endpoint is limited, too: messages that
    /// arrive at the same time take it in the order of sending. The packets of a message may go over different links
    /// between routers, so only all links from the first router to others limit them. The additional time of a program
    /// on real routers is then due to the links between routers alone.
    EndpointLinks,
    /// `latency`, whatever their size and route.
    Constant,
    /// Each link of a minimal route receives a message completely before the next link does. A link carries one message
    /// at a time, in the order of arrival.
    StoreAndForward,
}

impl FabricParams for Ideal {
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
        only_messages(demands, "ideal", "probes look into routers: the ideal network has none; leave it out")
    }

    fn counts_phits(&self) -> bool {
        self.model != Model::Constant
    }

    fn needs(&self, blueprint: &Blueprint, _: &Load) -> BTreeMap<&'static str, f64> {
        // Phits sent and received, and two snapshots, by endpoint and port.
        let (endpoints, ports) = (blueprint.topology.endpoints(), ports(&*blueprint.topology));
        BTreeMap::from([("carried", 32.0 * f64::from(endpoints) + 16.0 * ports)])
    }

    fn build(&self, blueprint: &Blueprint, _: Options) -> Box<dyn Fabric> {
        let (model, latency) = (self.model, self.latency as Tick);
        let links = model == Model::StoreAndForward;
        Box::new(WholeNetwork::new(blueprint, links, move |blueprint, of| carrier(model, latency, blueprint, of)))
    }
}
