//! One router: a switch by itself, the network of every closed-form result about queueing in a switch.

use super::faults::Faults;
use super::{Hop, HopState, Leg, Peer, Port, Topology, TopologyParams};
use crate::engine::Rng;
use crate::error::ScenarioError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// One router with endpoints at all of its ports.
///
/// ```toml
/// [topology]
/// kind = "single"
/// endpoints = 16
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Single {
    /// Number of endpoints: 1 to 65535.
    #[schemars(range(min = 1, max = 65_535))]
    pub endpoints: u32,
    /// Links, routers and endpoints that do not work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub faults: Option<Faults>,
}

impl TopologyParams for Single {
    fn faults(&self) -> Option<&Faults> {
        self.faults.as_ref()
    }

    fn build(&self) -> Result<Arc<dyn Topology>, ScenarioError> {
        Ok(Arc::new(SingleGraph { classes: ["endpoint".to_owned()], endpoints: self.endpoints }))
    }
}

/// The built network of [`Single`]: endpoint e at port e of router 0. There are no links between routers, so no hop is
/// ever requested.
#[derive(Debug)]
pub(super) struct SingleGraph {
    classes: [String; 1],
    endpoints: u32,
}

impl Topology for SingleGraph {
    fn classes(&self) -> &[String] {
        &self.classes
    }
    fn routers(&self) -> u32 {
        1
    }
    fn endpoints(&self) -> u32 {
        self.endpoints
    }
    fn ports(&self, _router: u32) -> u16 {
        self.endpoints as u16
    }
    fn port(&self, _router: u32, port: u16) -> Port {
        Port { class: 0, peer: Peer::Endpoint(u32::from(port)) }
    }
    fn attachment(&self, endpoint: u32) -> (u32, u16) {
        (0, endpoint as u16)
    }
    fn minimal_hops(&self, _at: u32, _to: u32, _leg: Leg, _state: HopState, _vcs: &[u8], _out: &mut Vec<Hop>) {}
    fn minimal_hop(&self, _at: u32, _to: u32, _leg: Leg, _state: HopState, _vcs: &[u8], _rng: &mut Rng) -> Hop {
        Hop { port: 0, vc: 0, vcs: 1 }
    }
    fn vcs_needed(&self, _leg: Leg) -> (Vec<u8>, String) {
        (vec![1], "one router has no links between routers".into())
    }
    fn distance(&self, _a: u32, _b: u32) -> u32 {
        0
    }
    fn diameter(&self) -> u32 {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::kept;

    #[test]
    fn all_ports_are_endpoints() {
        let t = Single { endpoints: 5, faults: None }.build().unwrap();
        assert_eq!((t.routers(), t.endpoints(), t.ports(0), t.diameter(), t.groups()), (1, 5, 5, 0, 1));
        for e in 0..5 {
            let (r, p) = t.attachment(e);
            assert_eq!(t.port(r, p).peer, Peer::Endpoint(e));
        }
    }

    #[test]
    fn impossible_sizes_are_refused() {
        for endpoints in [0, 70_000] {
            let error = kept(Single { endpoints, faults: None }).unwrap_err().to_string();
            assert_eq!(error, format!("endpoints = {endpoints}: expected a whole number from 1 to 65535"));
        }
    }
}
