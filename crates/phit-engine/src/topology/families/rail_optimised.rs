//! Rail-optimised networks: accelerator i of every host at the same leaf switch.

use super::Size;
use crate::error::ScenarioError;
use crate::topology::graph::{Link, Wiring};
use crate::topology::{Faults, Topology, TopologyParams};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A rail-optimised network, like NVIDIA's DGX SuperPOD. A host has `rails` accelerators, joined by a switch in the
/// host. A pod has `hosts` hosts, and accelerator i of all its hosts is linked to leaf switch i, its rail. Spine
/// switches join the leaves of all rails and pods. Without spines the rails are separate: a rail-only network of one
/// pod (Wang, Ghobadi, Shakeri, Zhang and Hasani, "Rail-only: a low-cost high-performance network for training LLMs
/// with trillion parameters", HOTI 2024).
///
/// Each accelerator is a router with one endpoint: the number of accelerator i of host j of pod k is (k `hosts` + j)
/// `rails` + i. The hosts' switches follow, then the leaves (pod by pod, rail by rail) and the spines. Links between
/// accelerators and their host's switch are of class `host`, links to leaves `rail`, links to spines `spine`. Routes
/// between rails may go through a host if that is no longer than over a spine.
///
/// ```toml
/// [topology]
/// kind = "rail_optimised"
/// rails = 8
/// hosts = 32
/// pods = 2      # 512 accelerators, 16 leaves
/// spines = 8
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RailOptimised {
    /// Accelerators of a host, and leaf switches of a pod.
    #[schemars(range(min = 1))]
    pub rails: u32,
    /// Hosts of a pod.
    #[schemars(range(min = 1))]
    pub hosts: u32,
    /// Pods, which the spine joins.
    #[serde(default = "one")]
    #[schemars(range(min = 1))]
    pub pods: u32,
    /// Spine switches. 0 separates the rails, and requires one pod and switches in hosts.
    #[serde(default)]
    pub spines: u32,
    /// Links of a leaf to spines, a multiple of their number. If left out, equal to the number of its hosts. Fewer
    /// links make it oversubscribed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub uplinks: Option<u32>,
    /// Whether a switch joins the accelerators of a host.
    #[serde(default = "yes")]
    pub host_switch: bool,
    /// Links, routers and endpoints that do not work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub faults: Option<Faults>,
}

fn one() -> u32 {
    1
}

fn yes() -> bool {
    true
}

/// Classes of links.
const HOST: u8 = 1;
const RAIL: u8 = 2;
const SPINE: u8 = 3;

impl TopologyParams for RailOptimised {
    fn faults(&self) -> Option<&Faults> {
        self.faults.as_ref()
    }

    fn build(&self) -> Result<Arc<dyn Topology>, ScenarioError> {
        let &Self { rails, hosts, pods, spines, host_switch, .. } = self;
        let uplinks = self.uplinks.unwrap_or(hosts);
        if spines > 0 && !uplinks.is_multiple_of(spines) {
            let (key, value) = self.uplinks.map_or(("spines", spines), |uplinks| ("uplinks", uplinks));
            let expected = format!("{uplinks} links of a leaf cannot be divided evenly among {spines} spines");
            return Err(ScenarioError::new(key, value, expected));
        }
        if spines == 0 && (pods > 1 || (!host_switch && rails > 1)) {
            let expected = "without spines rails and pods are apart; expected spines, or one pod and `host_switch`";
            return Err(ScenarioError::new("spines", spines, expected));
        }
        if let (0, Some(uplinks)) = (spines, self.uplinks) {
            return Err(ScenarioError::new("uplinks", uplinks, "expected `spines` as well"));
        }
        let wide = |numbers: &[u32]| numbers.iter().fold(1u64, |all, &n| all.saturating_mul(n.into()));
        let (accelerators, switches) = (wide(&[pods, hosts, rails]), wide(&[pods, hosts]) * u64::from(host_switch));
        let leaves = wide(&[pods, rails]);
        let at_leaf = u64::from(hosts) + if spines > 0 { u64::from(uplinks) } else { 0 };
        let at_spine = uplinks.checked_div(spines).map_or(0, |each| leaves.saturating_mul(each.into()));
        let size = Size {
            of: ("hosts", hosts.to_string()),
            each: "hosts",
            routers: accelerators.saturating_add(switches).saturating_add(leaves).saturating_add(spines.into()),
            links: at_leaf.max(at_spine).max(rails.into()),
            said: None,
            else_endpoints: 1,
        };
        let (count, _) = size.check()?;
        let (accelerators, switches, leaves) = (accelerators as u32, switches as u32, leaves as u32);
        let mut links = Vec::new();
        let mut link = |a: u32, b: u32, class: u8| links.push(Link { ends: [a, b], class, ports: None });
        for accelerator in 0..accelerators {
            let (host, rail) = (accelerator / rails, accelerator % rails);
            if host_switch {
                link(accelerator, accelerators + host, HOST);
            }
            link(accelerator, accelerators + switches + host / hosts * rails + rail, RAIL);
        }
        for leaf in 0..leaves {
            for up in 0..if spines > 0 { uplinks } else { 0 } {
                link(accelerators + switches + leaf, accelerators + switches + leaves + up % spines, SPINE);
            }
        }
        let endpoints = (0..count).map(|router| u32::from(router < accelerators)).collect();
        let classes = ["host", "rail", "spine"].map(str::to_owned).to_vec();
        Ok(Arc::new(Wiring { classes, endpoints, bandwidth: Vec::new(), links, group: 1 }.build()?))
    }
}
