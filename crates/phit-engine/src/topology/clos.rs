//! The folded Clos network, also called fat tree.

use super::faults::Faults;
use super::tree::Tree;
use super::{Hop, HopState, Known, Leg, Peer, Port, Topology, TopologyParams, limits};
use crate::engine::Rng;
use crate::error::ScenarioError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::sync::Arc;

/// A folded Clos network, or fat tree: levels of routers above the endpoints. It has all links that make every path up
/// to a common ancestor minimal (Clos, 1953; Leiserson, 1985; in this general form Öhring et al., "On generalized fat
/// trees", IPPS 1995).
///
/// The example is the network of 1,024 endpoints of Kim, Dally and Abts ("Adaptive routing in high-radix Clos network",
/// SC 2006, figure 3), with routers 0 to 31 of radix 64 at the endpoints and 32 to 63 above:
///
/// ```toml
/// [topology]
/// kind = "clos"
/// down = [32, 32]
/// up = [32]
/// ```
///
/// A k-ary n-tree has n times k down-ports and n - 1 times k up-ports. Three levels of radix-64 routers, whose top
/// level uses all ports downwards, have 65,536 endpoints with `down = [32, 32, 64]` and `up = [32, 32]`. Fewer ports up
/// than down make a tapered tree: `down = [48, 32]`, `up = [16]` is tapered 3 to 1.
///
/// Endpoints are numbered router by router, and routers level by level from the endpoints up. The links between the
/// first level and the second are of class `level1`, the links above `level2` and so on. `level7` includes all levels
/// from the seventh on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Clos {
    /// Ports of a router towards the endpoints, one number for each level from the endpoints up: 2 to 32 numbers. The
    /// first is the number of endpoints at each router of the first level.
    #[schemars(length(min = 2, max = MOST_LEVELS), inner(range(min = 1)))]
    pub down: Vec<u32>,
    /// Ports of a router towards the next level, one number for each level but the last.
    #[schemars(inner(range(min = 1)))]
    pub up: Vec<u32>,
    /// Links, routers and endpoints that do not work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub faults: Option<Faults>,
}

/// Most levels; packets count their hops of one class in 8 bits.
const MOST_LEVELS: usize = 32;
/// Link classes besides the endpoints'.
const CLASSES: usize = 7;

impl Clos {
    fn tree(&self) -> Result<Tree, ScenarioError> {
        let Self { down, up, .. } = self;
        if up.len() != down.len() - 1 {
            let expected = format!("expected {} numbers, one for each level of `down` but the last", down.len() - 1);
            return Err(ScenarioError::new("up", format!("{up:?}"), expected));
        }
        for (level, &down) in down.iter().enumerate() {
            let ports = u64::from(down) + u64::from(up.get(level).copied().unwrap_or(0));
            limits::ports(&format!("down[{level}]"), down, ports)?;
        }
        let narrow = |counts: &[u32]| counts.iter().map(|&count| count as u16).collect::<Vec<_>>();
        Tree::new(&narrow(down), &narrow(up), limits::MOST).ok_or_else(|| {
            let expected = format!("too large; expected at most {} endpoints and as many routers", limits::MOST);
            ScenarioError::new("down", format!("{down:?}"), expected)
        })
    }
}

impl TopologyParams for Clos {
    fn faults(&self) -> Option<&Faults> {
        self.faults.as_ref()
    }

    fn build(&self) -> Result<Arc<dyn Topology>, ScenarioError> {
        let tree = self.tree()?;
        let links = (1..tree.levels().min(CLASSES + 1)).map(|level| format!("level{level}"));
        let classes = std::iter::once("endpoint".to_owned()).chain(links).collect();
        Ok(Arc::new(ClosGraph { classes, tree }))
    }
}

/// The built network of [`Clos`]. A router's first ports lead towards the endpoints, in the order of the routers or
/// endpoints below; the others lead to the next level.
#[derive(Debug)]
pub struct ClosGraph {
    classes: Vec<String>,
    tree: Tree,
}

/// The class of the links between `level` and the next.
fn class_above(level: usize) -> u8 {
    (level + 1).min(CLASSES) as u8
}

impl ClosGraph {
    /// The virtual channels of a hop over a link of `class`. Channels are ordered like the links: first all up-links
    /// from the endpoints up, then all down-links from the top down. Every route rises in this order.
    fn channels(leg: Leg, class: u8, vcs: &[u8]) -> (u8, u8) {
        leg.share(vcs[usize::from(class)])
    }
}

impl Topology for ClosGraph {
    fn known(self: Arc<Self>) -> Known {
        Known::Clos(self)
    }

    fn classes(&self) -> &[String] {
        &self.classes
    }
    fn routers(&self) -> u32 {
        self.tree.total()
    }
    fn endpoints(&self) -> u32 {
        self.tree.routers(0).end * u32::from(self.tree.down(0))
    }
    fn ports(&self, router: u32) -> u16 {
        let level = self.tree.level(router);
        self.tree.down(level) + self.tree.up(level)
    }
    fn port(&self, router: u32, port: u16) -> Port {
        let place = self.tree.place(router);
        let down = self.tree.down(place.level);
        let (class, (router, port)) = match (place.level, port.checked_sub(down)) {
            (level, Some(up)) => (class_above(level), self.tree.parent(place, up)),
            (0, None) => {
                let endpoint = router * u32::from(down) + u32::from(port);
                return Port { class: 0, peer: Peer::Endpoint(endpoint) };
            }
            (level, None) => (class_above(level - 1), self.tree.child(place, port)),
        };
        Port { class, peer: Peer::Router { router, port } }
    }
    fn attachment(&self, endpoint: u32) -> (u32, u16) {
        let down = u32::from(self.tree.down(0));
        (endpoint / down, (endpoint % down) as u16)
    }

    fn minimal_hops(&self, at: u32, to: u32, leg: Leg, _state: HopState, vcs: &[u8], out: &mut Vec<Hop>) {
        let place = self.tree.place(at);
        if let Some(port) = self.tree.descent(place, to) {
            let (vc, vcs) = Self::channels(leg, class_above(place.level - 1), vcs);
            out.push(Hop { port, vc, vcs });
            return;
        }
        let (vc, vcs) = Self::channels(leg, class_above(place.level), vcs);
        let first = self.tree.down(place.level);
        out.extend((first..first + self.tree.up(place.level)).map(|port| Hop { port, vc, vcs }));
    }

    /// Over any link upwards to a common ancestor, then down.
    #[inline(always)]
    fn minimal_hop(&self, at: u32, to: u32, leg: Leg, _state: HopState, vcs: &[u8], rng: &mut Rng) -> Hop {
        let level = self.tree.level(at);
        if level > 0
            && let Some(port) = self.tree.descent(self.tree.place_in(level, at), to)
        {
            let (vc, vcs) = Self::channels(leg, class_above(level - 1), vcs);
            return Hop { port, vc, vcs };
        }
        let (vc, vcs) = Self::channels(leg, class_above(level), vcs);
        let up = rng.below(self.tree.up(level).into()) as u16;
        Hop { port: self.tree.down(level) + up, vc, vcs }
    }

    fn direct_leg(&self) -> Leg {
        Leg::SECOND
    }
    fn vcs_needed(&self, leg: Leg) -> (Vec<u8>, String) {
        let mut needed = vec![leg.of.max(1); self.classes.len()];
        needed[0] = 1;
        (needed, "a route goes up and then down and never up again: one VC for each leg".into())
    }

    /// Links on a minimal path between two routers. At least one of them must have endpoints.
    fn distance(&self, a: u32, b: u32) -> u32 {
        let (a, b) = if b < self.hosts().end { (a, b) } else { (b, a) };
        let place = self.tree.place(a);
        if place.level == 0 {
            return 2 * self.tree.meeting(a, b) as u32;
        }
        let under = place.subtree * self.tree.leaves(place.level);
        let top = self.tree.meeting(under, b).max(place.level);
        (2 * top - place.level) as u32
    }
    fn diameter(&self) -> u32 {
        2 * self.tree.meeting(0, self.hosts().end - 1) as u32
    }
    fn hosts(&self) -> Range<u32> {
        self.tree.routers(0)
    }
    fn tree(&self) -> Option<&Tree> {
        Some(&self.tree)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn build(down: &[u32], up: &[u32]) -> Arc<dyn Topology> {
        Clos { down: down.to_vec(), up: up.to_vec(), faults: None }.build().unwrap()
    }

    fn far(t: &dyn Topology, router: u32, port: u16) -> (u32, u16) {
        match t.port(router, port).peer {
            Peer::Router { router, port } => (router, port),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn figure_3_of_the_paper() {
        let t = build(&[32, 32], &[32]);
        assert_eq!((t.endpoints(), t.routers(), t.diameter(), t.ports(0), t.ports(32)), (1024, 64, 2, 64, 32));
        assert_eq!((t.attachment(0), t.attachment(1023), t.attachment(992)), ((0, 0), (31, 31), (31, 0)));
        assert_eq!(t.classes(), ["endpoint", "level1"]);
        for (router, above) in [(0, 0), (3, 17), (31, 31)] {
            assert_eq!(far(&*t, router, 32 + above), (32 + u32::from(above), router as u16));
            assert_eq!(far(&*t, 32 + u32::from(above), router as u16), (router, 32 + above));
        }
    }

    #[test]
    fn a_tapered_tree_of_three_levels() {
        // Two endpoints at each of 3 x 4 routers; pairs of routers above each three, and a top of 2 x 2.
        let t = build(&[2, 3, 4], &[2, 2]);
        assert_eq!((t.endpoints(), t.routers()), (24, 12 + 8 + 4));
        assert_eq!(t.tree().unwrap().routers(1), 12..20);
        assert_eq!(t.classes(), ["endpoint", "level1", "level2"]);
        // Router 5 is in the second group of three, whose routers above are 14 and 15; these lead to 20, 21 and 22, 23.
        assert_eq!((far(&*t, 5, 2), far(&*t, 5, 3)), ((14, 2), (15, 2)));
        assert_eq!((far(&*t, 14, 3), far(&*t, 15, 3)), ((20, 1), (22, 1)));
        assert_eq!(
            [t.distance(5, 4), t.distance(5, 6), t.distance(14, 5), t.distance(14, 6), t.distance(23, 6)],
            [2, 4, 1, 3, 2]
        );
        assert_eq!((t.port(14, 0).class, t.port(14, 3).class, t.port(20, 0).class), (1, 2, 2));
    }

    #[test]
    fn many_levels_share_the_last_class() {
        let t = build(&[2; 12], &[2; 11]);
        assert_eq!((t.endpoints(), t.diameter(), t.classes().len()), (4096, 22, 8));
        assert_eq!(t.classes()[7], "level7");
        let top = t.tree().unwrap().routers(11);
        assert_eq!((t.port(top.start, 0).class, t.ports(top.start)), (7, 2));
    }
}
