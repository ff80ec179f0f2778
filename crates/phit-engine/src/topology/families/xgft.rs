//! Extended generalised fat trees: any number of parents on every level, including several planes.

use super::Size;
use crate::error::ScenarioError;
use crate::topology::graph::{Link, Wiring};
use crate::topology::{Faults, Topology, TopologyParams};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// An extended generalised fat tree XGFT(h; m1, ..., mh; w1, ..., wh) (Öhring, Ibel, Das and Kumar, "On generalized fat
/// trees", IPPS 1995). It has h levels of routers above the nodes of level 0. A node of level i has m_i children, and a
/// node of level i - 1 has w_i parents. With `parallel`, each of these links is several links: a PGFT (Zahavi,
/// "Fat-tree routing and node ordering providing contention free traffic for MPI global collectives", Journal of
/// Parallel and Distributed Computing 2012).
///
/// With w1 = 2 or more, every node has links to several separate trees: planes, or rails. Each node of level 0 is then
/// a router with one endpoint, and chooses the plane. With w1 = 1, the endpoints are at the routers of level 1, as in
/// `clos`. The oversubscription of a level is m_i divided by the w of the level above.
///
/// Within its level, a node's number consists of digits. The digits of its subtree come first. Then come those among
/// the copies of its subtree, which begin with the plane. Routers are numbered level by level from the lowest up, and
/// their first ports lead to their children. The links between level i and the next are of class `level(i)`; the
/// seventh class includes all higher levels.
///
/// ```toml
/// # Two planes of a fat tree of 64 nodes, oversubscribed 2 to 1
/// [topology]
/// kind = "xgft"
/// children = [8, 8]
/// parents = [2, 4]
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Xgft {
    /// Children of a router, m, one number for each level from the lowest up.
    #[schemars(length(min = 1, max = MOST_LEVELS), inner(range(min = 1)))]
    pub children: Vec<u32>,
    /// Parents of a node of the level below, w, one number for each level; the first is the number of planes.
    #[schemars(inner(range(min = 1)))]
    pub parents: Vec<u32>,
    /// Parallel links from a node to each of its parents, one number for each level; 1 if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(inner(range(min = 1)))]
    pub parallel: Option<Vec<u32>>,
    /// Links, routers and endpoints that do not work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub faults: Option<Faults>,
}

/// Most levels. Routes go up and down again, and their hops are counted in a byte.
const MOST_LEVELS: usize = 32;
/// Most classes of links.
const CLASSES: usize = 7;

impl Xgft {
    fn check_lengths(&self) -> Result<(), ScenarioError> {
        let levels = self.children.len();
        let wrong = |key: &str, numbers: &[u32]| {
            let expected = format!("expected {levels} numbers, one for each of `children`");
            (numbers.len() != levels).then(|| ScenarioError::new(key, format!("{numbers:?}"), expected))
        };
        let parallel = self.parallel.as_ref().and_then(|parallel| wrong("parallel", parallel));
        wrong("parents", &self.parents).or(parallel).map_or(Ok(()), Err)
    }
}

impl TopologyParams for Xgft {
    fn faults(&self) -> Option<&Faults> {
        self.faults.as_ref()
    }

    fn build(&self) -> Result<Arc<dyn Topology>, ScenarioError> {
        self.check_lengths()?;
        let levels = self.children.len();
        let parallel = self.parallel.clone().unwrap_or_else(|| vec![1; levels]);
        let product = |numbers: &[u32]| numbers.iter().fold(1u64, |all, &n| all.saturating_mul(n.into()));
        // Nodes of level i: subtrees times copies.
        let subtrees: Vec<u64> = (0..=levels).map(|level| product(&self.children[level..])).collect();
        let copies: Vec<u64> = (0..=levels).map(|level| product(&self.parents[..level])).collect();
        let nodes = |level: usize| subtrees[level].saturating_mul(copies[level]);
        // Nodes with one link are endpoints of the router above.
        let lowest = if self.parents[0] == 1 && parallel[0] == 1 { 1 } else { 0 };
        let each = if lowest == 1 { self.children[0] } else { 1 };
        let links_of = |level: usize| {
            let down = match level.checked_sub(1) {
                Some(below) if level > lowest => u64::from(self.children[below]) * u64::from(parallel[below]),
                _ => 0,
            };
            down + self.parents.get(level).map_or(0, |&up| u64::from(up) * u64::from(parallel[level]))
        };
        let size = Size {
            of: ("children", format!("{:?}", self.children)),
            each: "children",
            routers: (lowest..=levels).map(nodes).fold(0, u64::saturating_add),
            links: (lowest..=levels).map(links_of).max().unwrap_or(0),
            said: None,
            else_endpoints: each.into(),
        };
        size.check()?;
        let mut firsts = vec![0u32; levels + 2];
        for level in lowest..=levels {
            firsts[level + 1] = firsts[level] + nodes(level) as u32;
        }
        let number = |level: usize, subtree: u64, copy: u64| firsts[level] + (subtree * copies[level] + copy) as u32;
        let mut links = Vec::new();
        for level in lowest..levels {
            let (children, parents) = (u64::from(self.children[level]), u64::from(self.parents[level]));
            let class = (level - lowest + 1).min(CLASSES) as u8;
            for (subtree, copy) in (0..subtrees[level]).flat_map(|s| (0..copies[level]).map(move |c| (s, c))) {
                for up in 0..parents {
                    let above = number(level + 1, subtree / children, copy * parents + up);
                    let link = Link { ends: [number(level, subtree, copy), above], class, ports: None };
                    links.extend(std::iter::repeat_n(link, parallel[level] as usize));
                }
            }
        }
        let hosts = nodes(lowest) as u32;
        let endpoints = (0..firsts[levels + 1]).map(|router| if router < hosts { each } else { 0 }).collect();
        let names = (lowest..levels.max(lowest + 1)).take(CLASSES).map(|level| format!("level{level}"));
        Ok(Arc::new(Wiring { classes: names.collect(), endpoints, bandwidth: Vec::new(), links, group: 1 }.build()?))
    }
}
