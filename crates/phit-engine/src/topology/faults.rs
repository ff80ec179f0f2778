//! Faulty links: any graph without some of its links, and minimal routes around them.

use super::{Breakdown, Hop, HopState, Hops, Leg, Peer, Port, Topology, Tree};
use crate::engine::{NONE, Rng, Stream, poll};
use crate::error::ScenarioError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

/// Links that do not work, in both directions. Routing knows of them beforehand: a packet takes a link only if a
/// minimal route leads on from there. A network in which some endpoints have no minimal route to some others any more
/// is refused.
///
/// ```toml
/// # 16 of the links of routers 32 and 33, as in section 3.2.4 of Kim, Dally and Abts (SC 2006)
/// [topology.faults]
/// count = 16
/// routers = [32, 33]
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Faults {
    /// Faulty links, each as a pair of routers: one link between the two, the next one if the pair stands there again.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<[u32; 2]>,
    /// This many links more, drawn at random.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u32>,
    /// The links are drawn among those of these routers; if no `count` is given, all links of these routers are faulty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub routers: Vec<u32>,
    /// Seed of the draw: the same faults whatever the seed of the run.
    pub seed: u64,
    /// Links that break during the run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub later: Vec<Later>,
}

/// Links that break during the run. What is on them arrives. Whatever is sent over them before routing knows is lost,
/// and so is later whatever has no minimal route left where it stands; the run counts these packets (`packets_lost`).
/// Packets must move as a whole, under virtual cut-through or store-and-forward.
///
/// ```toml
/// [[topology.faults.later]]
/// cycle = 2000
/// delay = 100
/// links = [[0, 33]]
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Later {
    /// Cycle from which on the links are broken, from the start of the run, after that of the entry before.
    #[schemars(extend("x-unit" = "cycles"))]
    pub cycle: u32,
    /// Cycles until all routers know; over before the next entry's cycle.
    #[schemars(extend("x-unit" = "cycles"))]
    pub delay: u32,
    /// As in `topology.faults`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<[u32; 2]>,
    /// As in `topology.faults`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u32>,
    /// As in `topology.faults`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub routers: Vec<u32>,
    /// As in `topology.faults`.
    pub seed: u64,
}

impl Faults {
    /// `graph` without the faulty links, if there are any. Error paths start at `faults`.
    pub fn apply_to(faults: &Option<Self>, graph: Arc<dyn Topology>) -> Result<Arc<dyn Topology>, ScenarioError> {
        match faults {
            Some(faults) => faults.apply(graph).map_err(|error| error.under("faults")),
            None => Ok(graph),
        }
    }

    /// `graph` without the faulty links. Error paths are relative to the table of the faults.
    pub fn apply(&self, graph: Arc<dyn Topology>) -> Result<Arc<dyn Topology>, ScenarioError> {
        let mut dead = BTreeSet::new();
        self.add_dead(&*graph, &mut dead)?;
        let mut first = self.without(&graph, &dead)?;
        first.breakdowns = self.breakdowns(&graph, dead)?;
        Ok(Arc::new(first))
    }

    /// What breaks during the run, after `dead`.
    fn breakdowns(
        &self,
        graph: &Arc<dyn Topology>,
        mut dead: BTreeSet<(u32, u16)>,
    ) -> Result<Vec<Breakdown>, ScenarioError> {
        let mut found: Vec<Breakdown> = Vec::new();
        for (index, Later { cycle, delay, links, count, routers, seed }) in self.later.iter().cloned().enumerate() {
            let under = |error: ScenarioError| error.under(&format!("later[{index}]"));
            let from = found.last().map_or(0, |before| before.cycle + before.delay + 1);
            if cycle < from || cycle.checked_add(delay).is_none_or(|known| known > LATEST) {
                let expected = format!("expected a cycle from {from}, with its delay up to {LATEST}");
                return Err(under(ScenarioError::new("cycle", cycle, expected)));
            }
            let more = Self { links, count, routers, seed, later: Vec::new() };
            let before = dead.clone();
            more.add_dead(&**graph, &mut dead).map_err(under)?;
            let graph = Arc::new(more.without(graph, &dead).map_err(under)?);
            found.push(Breakdown { cycle, delay, dead: dead.difference(&before).copied().collect(), graph });
        }
        Ok(found)
    }

    /// `graph` without the links `dead`.
    fn without(&self, graph: &Arc<dyn Topology>, dead: &BTreeSet<(u32, u16)>) -> Result<Faulty, ScenarioError> {
        let graph = graph.clone();
        let lost = Lost::new(&*graph, dead);
        if let Some((from, to)) = lost.strands(&*graph) {
            let expected = format!(
                "router {from} has no minimal route to router {to} without these links; expected faults that leave one \
                 between any two routers with endpoints"
            );
            return Err(ScenarioError::new("", self.text(), expected));
        }
        let mut near = vec![false; graph.routers() as usize];
        for &(router, port) in dead {
            near[router as usize] = true;
            if let Peer::Router { router, .. } = graph.port(router, port).peer {
                near[router as usize] = true;
            }
        }
        for router in (0..graph.routers()).filter(|&router| lost.row[router as usize] != NONE) {
            poll();
            neighbours(&*graph, router).for_each(|(_, other, _)| near[other as usize] = true);
        }
        Ok(Faulty { dead: dead.iter().copied().collect(), lost, near, graph, breakdowns: Vec::new() })
    }

    /// The table as a user would write it.
    fn text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Adds the outputs of both ends of all faulty links, as (router, port), to those that are `dead` already.
    fn add_dead(&self, graph: &dyn Topology, dead: &mut BTreeSet<(u32, u16)>) -> Result<(), ScenarioError> {
        let known = |key: String, router: u32| match router < graph.routers() {
            true => Ok(()),
            false => {
                let expected = format!("expected a router, 0 to {}", graph.routers() - 1);
                Err(ScenarioError::new(key, router, expected))
            }
        };
        let kill = |dead: &mut BTreeSet<_>, (router, port, other, back): (u32, u16, u32, u16)| {
            dead.extend([(router, port), (other, back)]);
        };
        for (index, &[a, b]) in self.links.iter().enumerate() {
            known(format!("links[{index}][0]"), a)?;
            known(format!("links[{index}][1]"), b)?;
            let alive = |link: &(u16, u32, u16)| link.1 == b && !dead.contains(&(a, link.0));
            let Some((port, other, back)) = neighbours(graph, a).find(alive) else {
                let expected = "no (further) link between these two routers";
                return Err(ScenarioError::new(format!("links[{index}]"), format!("[{a}, {b}]"), expected));
            };
            kill(dead, (a, port, other, back));
        }
        for (index, &router) in self.routers.iter().enumerate() {
            known(format!("routers[{index}]"), router)?;
        }
        if self.count.is_none() && self.routers.is_empty() {
            return Ok(());
        }
        let mut drawn: Vec<(u32, u16, u32, u16)> = (0..graph.routers())
            .flat_map(|router| neighbours(graph, router).map(move |(port, other, back)| (router, port, other, back)))
            // Every link once.
            .filter(|&(router, port, other, back)| (router, port) < (other, back) && !dead.contains(&(router, port)))
            .filter(|(a, _, b, _)| self.routers.is_empty() || self.routers.contains(a) || self.routers.contains(b))
            .collect();
        if let Some(count) = self.count {
            if count as usize > drawn.len() {
                let expected = format!("expected at most {}, the links to draw from", drawn.len());
                return Err(ScenarioError::new("count", count, expected));
            }
            Rng::new(self.seed, Stream::Topology, 0).shuffle(&mut drawn);
            drawn.truncate(count as usize);
        }
        drawn.into_iter().for_each(|link| kill(dead, link));
        Ok(())
    }
}

/// Latest cycle in which something may break.
const LATEST: u32 = 1 << 30;

/// The links of `router` to other routers: port, router and port at the far end.
fn neighbours(graph: &dyn Topology, router: u32) -> impl Iterator<Item = (u16, u32, u16)> {
    (0..graph.ports(router)).filter_map(move |port| match graph.port(router, port).peer {
        Peer::Router { router, port: back } => Some((port, router, back)),
        Peer::Endpoint(_) | Peer::None => None,
    })
}

/// The only leg of a minimal route, and a packet at its start: only the ports of its hops are wanted.
const ANY: (Leg, HopState) =
    (Leg { index: 0, of: 1, to_group: false }, HopState { came_by: 0, came_in: 0, leg_hops: Hops(0) });

/// The pairs of a router and a destination between which there is no minimal route any more: a row of bits for each
/// router that has lost a destination.
#[derive(Debug)]
struct Lost {
    /// Each router's row; `NONE` if it has lost nothing.
    row: Vec<u32>,
    bits: Vec<u64>,
    /// Words of a row.
    stride: usize,
    first: u32,
}

impl Lost {
    /// Follows the loss from the ends of dead links backwards along minimal routes: a router has lost a destination
    /// when all its minimal hops are over dead links or to routers that have lost it.
    fn new(graph: &dyn Topology, dead: &BTreeSet<(u32, u16)>) -> Self {
        let hosts = graph.hosts();
        let mut lost = Self {
            row: vec![NONE; graph.routers() as usize],
            bits: Vec::new(),
            stride: hosts.len().div_ceil(64),
            first: hosts.start,
        };
        let vcs = graph.vcs_needed(ANY.0).0;
        let mut hops = Vec::new();
        let mut minimal = |at: u32, to: u32| -> Vec<u16> {
            hops.clear();
            graph.minimal_hops(at, to, ANY.0, ANY.1, &vcs, &mut hops);
            hops.iter().map(|hop| hop.port).collect()
        };
        let affected: BTreeSet<u32> = dead.iter().map(|&(router, _)| router).collect();
        let mut open: Vec<(u32, u32)> =
            affected.iter().flat_map(|&router| hosts.clone().map(move |to| (router, to))).collect();
        while let Some((at, to)) = open.pop() {
            poll();
            if at == to || lost.has(at, to) {
                continue;
            }
            let leads = |port: &u16| match graph.port(at, *port).peer {
                Peer::Router { router, .. } => !dead.contains(&(at, *port)) && !lost.has(router, to),
                Peer::Endpoint(_) | Peer::None => false,
            };
            if minimal(at, to).iter().any(leads) {
                continue;
            }
            lost.add(at, to);
            for (_, other, back) in neighbours(graph, at) {
                if other != to && minimal(other, to).contains(&back) {
                    open.push((other, to));
                }
            }
        }
        lost
    }

    fn add(&mut self, router: u32, to: u32) {
        let row = &mut self.row[router as usize];
        if *row == NONE {
            *row = (self.bits.len() / self.stride) as u32;
            self.bits.resize(self.bits.len() + self.stride, 0);
        }
        let to = (to - self.first) as usize;
        self.bits[*row as usize * self.stride + to / 64] |= 1 << (to % 64);
    }

    #[inline]
    fn has(&self, router: u32, to: u32) -> bool {
        let row = self.row[router as usize];
        let to = (to - self.first) as usize;
        row != NONE && self.bits[row as usize * self.stride + to / 64] >> (to % 64) & 1 == 1
    }

    /// A router with endpoints that has lost another one.
    fn strands(&self, graph: &dyn Topology) -> Option<(u32, u32)> {
        let hosts = graph.hosts();
        let losers = hosts.clone().filter(|&from| self.row[from as usize] != NONE);
        losers.flat_map(|from| hosts.clone().map(move |to| (from, to))).find(|&(from, to)| self.has(from, to))
    }
}

/// A graph without its faulty links.
///
/// Its routes are those of the whole graph that are still there, so that they have the same lengths and need the same
/// virtual channels.
#[derive(Debug)]
struct Faulty {
    graph: Arc<dyn Topology>,
    /// Outputs of both ends of the faulty links, in order.
    dead: Vec<(u32, u16)>,
    lost: Lost,
    /// What breaks during the run.
    breakdowns: Vec<Breakdown>,
    /// Routers some of whose links are faulty or lead to a router that has lost a destination.
    near: Vec<bool>,
}

/// Draws of a hop before all hops are listed.
const DRAWS: u32 = 64;

impl Faulty {
    #[inline]
    fn is_dead(&self, router: u32, port: u16) -> bool {
        self.near[router as usize] && self.dead.binary_search(&(router, port)).is_ok()
    }

    /// True if a minimal route to `to` leads over output `port` of router `at`, a minimal one in the whole graph.
    #[inline]
    fn leads(&self, at: u32, port: u16, to: u32) -> bool {
        !self.near[at as usize]
            || match self.port(at, port).peer {
                Peer::Router { router, .. } => !self.lost.has(router, to),
                Peer::Endpoint(_) | Peer::None => false,
            }
    }
}

impl Topology for Faulty {
    fn classes(&self) -> &[String] {
        self.graph.classes()
    }
    fn routers(&self) -> u32 {
        self.graph.routers()
    }
    fn endpoints(&self) -> u32 {
        self.graph.endpoints()
    }
    fn ports(&self, router: u32) -> u16 {
        self.graph.ports(router)
    }
    fn port(&self, router: u32, port: u16) -> Port {
        let whole = self.graph.port(router, port);
        if self.is_dead(router, port) { Port { peer: Peer::None, ..whole } } else { whole }
    }
    fn attachment(&self, endpoint: u32) -> (u32, u16) {
        self.graph.attachment(endpoint)
    }
    fn hosts(&self) -> Range<u32> {
        self.graph.hosts()
    }

    fn minimal_hops(&self, at: u32, to: u32, leg: Leg, state: HopState, vcs: &[u8], out: &mut Vec<Hop>) {
        let before = out.len();
        self.graph.minimal_hops(at, to, leg, state, vcs, out);
        let mut kept = before;
        for index in before..out.len() {
            if self.leads(at, out[index].port, to) {
                out[kept] = out[index];
                kept += 1;
            }
        }
        out.truncate(kept);
    }

    /// A hop of the whole graph, drawn again until it leads to the destination.
    #[inline]
    fn minimal_hop(&self, at: u32, to: u32, leg: Leg, state: HopState, vcs: &[u8], rng: &mut Rng) -> Hop {
        for _ in 0..DRAWS {
            let hop = self.graph.minimal_hop(at, to, leg, state, vcs, rng);
            if self.leads(at, hop.port, to) {
                return hop;
            }
        }
        // Few of many links are left.
        let mut left = Vec::new();
        self.minimal_hops(at, to, leg, state, vcs, &mut left);
        match left.len() as u32 {
            0 => self.graph.minimal_hop(at, to, leg, state, vcs, rng),
            count => left[rng.below(count) as usize],
        }
    }

    fn direct_leg(&self) -> Leg {
        self.graph.direct_leg()
    }
    fn vcs_needed(&self, leg: Leg) -> (Vec<u8>, String) {
        self.graph.vcs_needed(leg)
    }
    fn distance(&self, a: u32, b: u32) -> u32 {
        self.graph.distance(a, b)
    }
    fn diameter(&self) -> u32 {
        self.graph.diameter()
    }
    fn class_ports(&self, router: u32, class: u8) -> Range<u16> {
        self.graph.class_ports(router, class)
    }
    fn grid(&self) -> Option<&[u32]> {
        self.graph.grid()
    }
    fn tree(&self) -> Option<&Tree> {
        self.graph.tree()
    }
    fn groups(&self) -> u32 {
        self.graph.groups()
    }
    fn group_of(&self, router: u32) -> u32 {
        self.graph.group_of(router)
    }
    fn group_routers(&self, group: u32) -> Range<u32> {
        self.graph.group_routers(group)
    }
    fn exit(&self, at: u32, to: u32, rng: &mut Rng) -> Option<(u32, u16)> {
        self.graph.exit(at, to, rng)
    }
    fn is_dragonfly(&self) -> bool {
        self.graph.is_dragonfly()
    }
    fn faulty(&self) -> bool {
        true
    }
    fn breakdowns(&self) -> &[Breakdown] {
        &self.breakdowns
    }
    fn wraps(&self) -> bool {
        self.graph.wraps()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proof::{Legs, check};
    use crate::topology::TopologyParams;
    use crate::topology::clos::Clos;
    use crate::topology::hyperx::HyperX;

    fn clos(down: &[u32], up: &[u32], faults: Faults) -> Result<Arc<dyn Topology>, ScenarioError> {
        Clos { down: down.to_vec(), up: up.to_vec(), faults: Some(faults) }.build()
    }

    fn ports(graph: &dyn Topology, at: u32, to: u32) -> Vec<u16> {
        let mut hops = Vec::new();
        graph.minimal_hops(at, to, ANY.0, ANY.1, &[1; 8], &mut hops);
        hops.iter().map(|hop| hop.port).collect()
    }

    #[test]
    fn an_uplink_is_a_candidate_only_if_the_destination_can_be_reached_from_its_end() {
        // Figure 8 of Kim, Dally and Abts: radix 8, R4 above R0 to R3, the link between R4 and R0 is faulty.
        let t = clos(&[4, 4], &[4], Faults { links: vec![[4, 0]], ..Faults::default() }).unwrap();
        assert_eq!(t.port(4, 0).peer, Peer::None);
        assert_eq!(t.port(0, 4).peer, Peer::None);
        assert_eq!(ports(&*t, 1, 0), [5, 6, 7], "not by R4 to R0");
        assert_eq!(ports(&*t, 1, 2), [4, 5, 6, 7], "by R4 to anyone else");
        assert_eq!(ports(&*t, 0, 1), [5, 6, 7], "R0 cannot go up to R4");
        assert_eq!((ports(&*t, 5, 0), ports(&*t, 4, 0)), (vec![0], vec![]));
        let mut rng = Rng::new(1, Stream::Router, 0);
        let mut drawn = [0u32; 8];
        for _ in 0..3000 {
            drawn[usize::from(t.minimal_hop(1, 0, ANY.0, ANY.1, &[1; 8], &mut rng).port)] += 1;
        }
        // Six standard deviations of a binomial count of mean 1000.
        assert!(drawn[..5] == [0; 5] && drawn[5..].iter().all(|n| n.abs_diff(1000) < 155), "{drawn:?}");
    }

    #[test]
    fn losses_spread_down_to_where_there_is_a_choice() {
        // Three levels of two: routers 0 to 3 at the endpoints, 4 to 7, 8 to 11 (four copies of the whole). Router 4,
        // above 0 and 1, loses router 0; its parents 8 and 9 lead to 0 over 4 alone, and router 6 leads up to these two
        // alone.
        let t = clos(&[2, 2, 2], &[2, 2], Faults { links: vec![[0, 4]], ..Faults::default() }).unwrap();
        assert_eq!(t.routers(), 12);
        for (router, left) in [(4, vec![]), (8, vec![]), (9, vec![]), (6, vec![]), (10, vec![0]), (7, vec![2, 3])] {
            assert_eq!(ports(&*t, router, 0), left, "router {router}");
        }
        assert_eq!(ports(&*t, 2, 0), [3], "by router 7 only");
        assert_eq!(ports(&*t, 2, 1), [2, 3]);
        assert_eq!(ports(&*t, 0, 3), [3], "router 0 has one way up");
        assert!(check(&*t, Legs::Minimal, &[1, 1, 1]).is_ok());
    }

    #[test]
    fn faults_are_drawn_among_the_links_asked_for() {
        let drawn = |seed| {
            let faults = Faults { count: Some(16), routers: vec![32, 33], seed, ..Faults::default() };
            let t = clos(&[32, 32], &[32], faults).unwrap();
            let dead = |router: u32| (0..t.ports(router)).filter(|&p| t.port(router, p).peer == Peer::None).count();
            assert_eq!(dead(32) + dead(33), 16);
            assert_eq!((0..32).map(dead).sum::<usize>(), 16);
            assert_eq!((34..64).map(dead).sum::<usize>(), 0);
            (0..32).map(dead).collect::<Vec<_>>()
        };
        assert_eq!(drawn(1), drawn(1));
        assert_ne!(drawn(1), drawn(2));
        // A whole router at the top.
        let t = clos(&[4, 4], &[4], Faults { routers: vec![5], ..Faults::default() }).unwrap();
        assert!((0..4).all(|port| t.port(5, port).peer == Peer::None));
        assert_eq!(ports(&*t, 0, 3), [4, 6, 7]);
    }

    #[test]
    fn other_graphs_have_faults_too() {
        // Two routers with three parallel links.
        let whole =
            HyperX { dims: vec![2], endpoints_per_router: 1, parallel: Some(vec![3]), faults: None }.build().unwrap();
        let faults = Faults { links: vec![[0, 1], [1, 0]], ..Faults::default() };
        let t = faults.apply(whole.clone()).unwrap();
        assert_eq!((ports(&*t, 0, 1), ports(&*t, 1, 0)), (vec![3], vec![3]));
        let refused = |faults: Faults| faults.apply(whole.clone()).unwrap_err().to_string();
        let all = Faults { links: vec![[0, 1]; 3], ..Faults::default() };
        assert!(refused(all).contains("router 0 has no minimal route to router 1 without these links"));
        let more = Faults { links: vec![[0, 1]; 4], ..Faults::default() };
        assert_eq!(refused(more), "links[3] = [0, 1]: no (further) link between these two routers");
    }

    #[test]
    fn what_cannot_be_faulty_is_refused() {
        let refused = |faults| clos(&[4, 4], &[4], faults).unwrap_err().to_string();
        let links = |links: &[[u32; 2]]| Faults { links: links.to_vec(), ..Faults::default() };
        assert_eq!(refused(links(&[[0, 1]])), "faults.links[0] = [0, 1]: no (further) link between these two routers");
        assert_eq!(refused(links(&[[4, 0], [4, 9]])), "faults.links[1][1] = 9: expected a router, 0 to 7");
        let count = Faults { count: Some(5), routers: vec![4], ..Faults::default() };
        assert_eq!(refused(count), "faults.count = 5: expected at most 4, the links to draw from");
        assert_eq!(
            refused(Faults { routers: vec![8], ..Faults::default() }),
            "faults.routers[0] = 8: expected a router, 0 to 7"
        );
        // R0 keeps its links to R4 and R5, R1 its links to R6 and R7: they have no common ancestor left.
        let split = refused(links(&[[0, 6], [0, 7], [1, 4], [1, 5]]));
        assert!(
            split.starts_with("faults = {\"links\":[[0,6],[0,7],[1,4],[1,5]],\"seed\":0}: router 0 has no"),
            "{split}"
        );
    }
}
