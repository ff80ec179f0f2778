//! `[router]` with `kind = "ideal"`.

use super::network::IdealNetwork;
use crate::engine::Tick;
use crate::error::ScenarioError;
use crate::fabric::checks::check;
use crate::fabric::links::{LONGEST, LinkTable};
use crate::fabric::{Blueprint, Demands, Fabric, FabricParams, Load, Options, SAMPLED, spread};
use crate::topology::Topology;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// No routers: whole messages that never wait for one another, but at the link into the network and, with
/// `endpoint_links`, at the link out of it or, with `store_and_forward`, at every link. Programs run on it in the model
/// of their hosts: what the same scenario with routers takes longer is what contention costs. Of the links it reads
/// latency and bandwidth.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Ideal {
    /// How long messages take.
    pub model: Model,
    /// Cycles from one end to the other with `model = "constant"` (L of LogGOPS); cycles inside each router with the
    /// others.
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

/// How long messages take.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Model {
    /// The latency of a minimal route, and the time of all phits on its slowest link. The messages of an endpoint enter
    /// the network one after the other.
    #[default]
    ZeroLoad,
    /// As `zero_load`, and the link to an endpoint carries no more than it can, either: messages that come at the same
    /// time take it in the order in which they were sent. What a program takes longer on real routers is then due to
    /// the links between routers alone.
    EndpointLinks,
    /// `latency`, whatever their size and way.
    Constant,
    /// Each link of a minimal route takes in all of a message before the next one does; it carries one message at a
    /// time, in the order in which they come.
    StoreAndForward,
}

impl FabricParams for Ideal {
    fn links(&self) -> &LinkTable {
        &self.links
    }

    fn has_channels(&self) -> bool {
        false
    }

    fn check_settings(&self, topology: &dyn Topology) -> Result<(), ScenarioError> {
        check(&self.links, topology)
    }

    fn check(&self, demands: &Demands<'_>) -> Result<(), ScenarioError> {
        if !demands.workload {
            let reason = "carries the messages of a program: expected [workload] in place of [traffic]";
            return Err(ScenarioError::new("router.kind", "\"ideal\"", reason));
        }
        if let Some(probe) = demands.probes.first() {
            let reason = "probes look into routers: the ideal network has none; leave it out";
            return Err(ScenarioError::new("measure.probes", format!("{probe:?}"), reason));
        }
        Ok(())
    }

    fn counts_phits(&self) -> bool {
        self.model != Model::Constant
    }

    fn needs(&self, blueprint: &Blueprint, _: &Load) -> BTreeMap<&'static str, f64> {
        // Phits sent and got, and looks at both, by endpoint and port.
        let topology = &*blueprint.topology;
        let ports: f64 =
            spread(SAMPLED, topology.routers()).iter().map(|&router| f64::from(topology.ports(router))).sum();
        let ports = ports * (f64::from(topology.routers()) / f64::from(SAMPLED)).max(1.0);
        BTreeMap::from([("carried", 32.0 * f64::from(topology.endpoints()) + 16.0 * ports)])
    }

    fn build(&self, blueprint: &Blueprint, _: Options) -> Box<dyn Fabric> {
        Box::new(IdealNetwork::new(self.model, self.latency as Tick, blueprint))
    }
}
