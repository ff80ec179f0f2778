//! Dragonfly+, or Megafly: groups of two levels, joined by their upper levels.

use super::Size;
use crate::error::ScenarioError;
use crate::topology::graph::{Link, Wiring};
use crate::topology::{Faults, Topology, TopologyParams};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A Dragonfly+ (Shpiner, Haramaty, Eliad, Zdornov, Gafni and Zahavi, "Dragonfly+: low cost topology for scaling
/// datacenters", HiPINEB 2017), or Megafly (Flajslik, Borch and Parker, "Megafly: a topology for exascale systems", ISC
/// 2018). A group has `leaves` routers with endpoints and `spines` routers without. Each leaf is linked to each spine,
/// and each spine has `global_ports` links to other groups. Every two groups are joined by equally many links.
///
/// The groups' global links are numbered spine by spine; link l of a group leads to the (l mod (g - 1) + 1)-th group
/// behind it. Router numbers: group by group, leaves first.
///
/// ```toml
/// [topology]
/// kind = "dragonfly_plus"
/// leaves = 4
/// spines = 4
/// endpoints_per_leaf = 4
/// global_ports = 4
/// groups = 9    # two links between every two groups
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DragonflyPlus {
    /// Routers with endpoints in a group.
    #[schemars(range(min = 1))]
    pub leaves: u32,
    /// Routers with global links in a group.
    #[schemars(range(min = 1))]
    pub spines: u32,
    /// Endpoints of a leaf; as many as it has links if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub endpoints_per_leaf: Option<u32>,
    /// Global links of a spine; as many as it has local links if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub global_ports: Option<u32>,
    /// Number of groups. The links of a group must divide evenly among the other groups. If left out, the largest
    /// number, with one link between any two groups.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 2))]
    pub groups: Option<u32>,
    /// Links, routers and endpoints that do not work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub faults: Option<Faults>,
}

impl TopologyParams for DragonflyPlus {
    fn faults(&self) -> Option<&Faults> {
        self.faults.as_ref()
    }

    fn build(&self) -> Result<Arc<dyn Topology>, ScenarioError> {
        let Self { leaves, spines, .. } = *self;
        let ports = self.global_ports.unwrap_or(leaves);
        let links = u64::from(spines) * u64::from(ports);
        let groups = self.groups.map_or(links + 1, u64::from);
        if links % (groups - 1) != 0 {
            let expected = format!("the {links} global links of a group cannot be divided evenly among the others");
            return Err(ScenarioError::new(
                "groups",
                groups,
                format!("{expected}; expected a divisor of {links} and 1"),
            ));
        }
        let size = |links, endpoints| Size {
            of: self.groups.map_or(("spines", spines.to_string()), |groups| ("groups", groups.to_string())),
            each: "endpoints_per_leaf",
            routers: groups.saturating_mul(u64::from(leaves) + u64::from(spines)),
            links,
            said: endpoints,
            else_endpoints: 0,
        };
        size(u64::from(leaves) + u64::from(ports), None).check()?;
        let each = self.endpoints_per_leaf.unwrap_or(spines);
        let (count, each) = size(spines.into(), Some(each)).check()?;
        let (group, groups, links) = (leaves + spines, groups as u32, links as u32);
        let mut wiring = Vec::new();
        for (g, leaf, spine) in
            (0..groups).flat_map(|g| (0..leaves).flat_map(move |l| (0..spines).map(move |s| (g, l, s))))
        {
            wiring.push(Link { ends: [g * group + leaf, g * group + leaves + spine], class: 1, ports: None });
        }
        // The link l of group g to the group d behind it belongs to that group, too: there it leads to the group groups
        // - d behind, and has the same number among the links between the two.
        let spine = |g: u32, link: u32| g * group + leaves + link / ports;
        for (g, link) in (0..groups).flat_map(|g| (0..links).map(move |link| (g, link))) {
            let (round, ahead) = (link / (groups - 1), link % (groups - 1) + 1);
            let far = (g + ahead) % groups;
            let back = round * (groups - 1) + groups - ahead - 1;
            if g < far {
                wiring.push(Link { ends: [spine(g, link), spine(far, back)], class: 2, ports: None });
            }
        }
        let endpoints = (0..count).map(|router| if router % group < leaves { each } else { 0 }).collect();
        let wiring = Wiring {
            classes: vec!["local".into(), "global".into()],
            endpoints,
            bandwidth: Vec::new(),
            links: wiring,
            group,
        };
        Ok(Arc::new(wiring.build()?))
    }
}
