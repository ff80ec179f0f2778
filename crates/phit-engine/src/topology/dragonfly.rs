//! The Dragonfly: groups of fully connected routers, every two groups joined by global links (Kim et al.,
//! "Technology-driven, highly-scalable Dragonfly topology", ISCA 2008).

use super::divisor::Divisor;
use super::faults::Faults;
use super::{Hop, HopState, Hops, Known, Leg, Peer, Port, Topology, TopologyParams, limits};
use crate::engine::{Rng, poll};
use crate::error::ScenarioError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::hint::select_unpredictable;
use std::sync::Arc;

/// A Dragonfly: `groups` groups of `a` routers, all linked to one another, with `p` endpoints and `h` global links at
/// each router.
///
/// ```toml
/// [topology]
/// kind = "dragonfly"
/// p = 2
/// a = 4
/// h = 2
/// arrangement = "palmtree"
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Dragonfly {
    /// Endpoints at each router.
    #[schemars(range(min = 1))]
    pub p: u32,
    /// Routers in each group.
    #[schemars(range(min = 1))]
    pub a: u32,
    /// Global links at each router.
    #[schemars(range(min = 1))]
    pub h: u32,
    /// Number of groups, 1 to a*h + 1; a*h + 1 if left out. Every two groups are joined by floor(a*h / (groups - 1))
    /// parallel global links. The a*h mod (groups - 1) last global ports of each group stay unconnected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub groups: Option<u32>,
    /// Which router of a group is linked to which other group.
    #[serde(default)]
    pub arrangement: Arrangement,
    /// Links, routers and endpoints that do not work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub faults: Option<Faults>,
}

/// Arrangement of the global links (Camarero, Vallejo and Beivide, "Topological characterization of Hamming and
/// Dragonfly networks and its implications on routing", ACM TACO 2014).
///
/// A group g numbers its global ports: port j of router A is slot s = A*h + j. G is the number of groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Arrangement {
    /// Slot s leads to group (g - s - 1) mod G.
    #[default]
    Palmtree,
    /// Slot s leads to group s if s < g, else to group s + 1 (also called absolute).
    Consecutive,
    /// Slot s leads to group (g + s + 1) mod G.
    Relative,
}

impl TopologyParams for Dragonfly {
    fn faults(&self) -> Option<&Faults> {
        self.faults.as_ref()
    }

    fn build(&self) -> Result<Arc<dyn Topology>, ScenarioError> {
        let slots = u64::from(self.a) * u64::from(self.h);
        let groups = self.groups.map_or(slots + 1, u64::from);
        if groups > slots + 1 {
            let expected = format!(
                "no arrangement of a = {}, h = {} wires this many groups; expected 1 to a*h + 1 = {}",
                self.a,
                self.h,
                slots + 1
            );
            return Err(ScenarioError::new("groups", groups, expected));
        }
        // The largest parameter is the most likely mistake.
        let (key, value) = [("p", self.p), ("a", self.a), ("h", self.h)]
            .into_iter()
            .fold(("p", 0), |most, next| if next.1 > most.1 { next } else { most });
        let ports = u64::from(self.p) + u64::from(self.a - 1) + u64::from(self.h);
        let routers = groups.saturating_mul(u64::from(self.a));
        limits::ports(key, value, ports)?;
        let routers = limits::routers(key, value, routers, u64::from(self.p))?;
        Ok(Arc::new(DragonflyGraph::new(self, groups as u32, routers)))
    }
}

/// Class of the links inside a group.
const LOCAL: u8 = 1;
/// Class of the links between groups.
const GLOBAL: u8 = 2;

/// The built network of [`Dragonfly`].
///
/// Router A of group g is router g*a + A; endpoint k of router r is endpoint r*p + k. Ports of a router: p endpoints;
/// a - 1 local ports (port i of router A leads to router i if i < A, else i + 1); h global ports.
///
/// A minimal route is hierarchical: local hop, global hop, local hop, without the hops that are not needed. With one
/// link between every two groups, there is exactly one minimal route between two routers. With parallel links, the
/// routes over all of them are compared, and the routes with fewest hops are equally likely. In rare cases, a path
/// through a third group has as few links or fewer (two global hops against three hops). It is not a minimal route, and
/// neither [`Topology::distance`] nor [`Topology::diameter`] counts it.
///
/// There are no tables: the other end of a link follows from the arrangement by arithmetic.
#[derive(Debug)]
pub struct DragonflyGraph {
    classes: [String; 3],
    p: Divisor,
    a: Divisor,
    h: Divisor,
    groups: u32,
    routers: u32,
    arrangement: Arrangement,
    /// Other groups: the slots of one round of links to each of them (at least 1).
    others: u32,
    /// Parallel links between every two groups: rounds of slots.
    links: u32,
    diameter: u32,
    /// See [`Self::exits`].
    exits: Vec<Exit>,
}

/// The position of a router.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Location {
    /// Its group.
    group: u32,
    /// Its number in the group.
    number: u32,
}

/// A global link at its near end.
#[derive(Debug, Clone, Copy)]
struct Exit {
    /// Router of the group.
    router: u16,
    /// Its port.
    port: u16,
}

/// The next step of a group's router.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// Go to this router of the same group.
    Local(u32),
    /// Take this global port.
    Global(u32),
}

/// The global links from one group to another.
#[derive(Debug, Clone, Copy)]
struct Bundle {
    /// Slot of the first link at the near end.
    near: u32,
    /// Slot of the first link at the far end.
    far: u32,
}

impl DragonflyGraph {
    fn new(params: &Dragonfly, groups: u32, routers: u32) -> Self {
        let others = (groups - 1).max(1);
        let mut graph = Self {
            classes: ["endpoint", "local", "global"].map(str::to_owned),
            p: Divisor::new(params.p),
            a: Divisor::new(params.a),
            h: Divisor::new(params.h),
            groups,
            routers,
            arrangement: params.arrangement,
            others,
            links: if groups > 1 { params.a * params.h / others } else { 0 },
            diameter: 0,
            exits: Vec::new(),
        };
        graph.diameter = graph.longest_route();
        graph.exits = graph.exits();
        graph
    }

    /// Slot, in the first round, of the link from group `from` to group `to`. Meaningless for equal groups.
    #[inline]
    fn slot(&self, from: u32, to: u32) -> u32 {
        match self.arrangement {
            Arrangement::Palmtree => self.ahead(to, from).wrapping_sub(1),
            Arrangement::Relative => self.ahead(from, to).wrapping_sub(1),
            Arrangement::Consecutive => to - u32::from(to > from),
        }
    }

    /// The group to which a slot of the first round leads.
    fn slot_group(&self, from: u32, slot: u32) -> u32 {
        match self.arrangement {
            Arrangement::Palmtree => (from + self.groups - slot - 1) % self.groups,
            Arrangement::Relative => (from + slot + 1) % self.groups,
            Arrangement::Consecutive => slot + u32::from(slot >= from),
        }
    }

    /// (to - from) mod G.
    #[inline]
    fn ahead(&self, from: u32, to: u32) -> u32 {
        // The branch could not be predicted.
        to.wrapping_sub(from).wrapping_add(select_unpredictable(to >= from, 0, self.groups))
    }

    #[inline]
    fn bundle(&self, from: u32, to: u32) -> Bundle {
        Bundle { near: self.slot(from, to), far: self.slot(to, from) }
    }

    /// Router of the group and global port at the near end of a link of a bundle.
    #[inline]
    fn near(&self, bundle: Bundle, link: u32) -> (u32, u32) {
        self.h.div_rem(bundle.near + link * self.others)
    }

    /// Router of the group at the far end of a link of a bundle.
    #[inline]
    fn far(&self, bundle: Bundle, link: u32) -> u32 {
        self.h.quotient(bundle.far + link * self.others)
    }

    /// Hops from router `from` of a group over a link to router `to` of the other group, or to any router of it.
    #[inline]
    fn hops(&self, bundle: Bundle, link: u32, from: u32, to: Option<u32>) -> u32 {
        let before = u32::from(self.near(bundle, link).0 != from);
        let after = u32::from(to.is_some_and(|to| self.far(bundle, link) != to));
        before + 1 + after
    }

    /// Fewest hops over any link of a bundle, and the number of links over which it takes that many.
    #[inline]
    fn fewest(&self, bundle: Bundle, from: u32, to: Option<u32>) -> (u32, u32) {
        if self.links == 1 {
            return (self.hops(bundle, 0, from, to), 1);
        }
        let mut best = (u32::MAX, 0);
        for link in 0..self.links {
            let hops = self.hops(bundle, link, from, to);
            if hops < best.0 {
                best = (hops, 1);
            } else if hops == best.0 {
                best.1 += 1;
            }
        }
        best
    }

    /// The step of router `from` towards a link of a bundle.
    #[inline]
    fn step_to(&self, bundle: Bundle, link: u32, from: u32) -> Step {
        let (router, port) = self.near(bundle, link);
        if router == from { Step::Global(port) } else { Step::Local(router) }
    }

    /// The step of router `from` of group `here` towards router `to`, or any router, of group `there`.
    #[inline(always)]
    fn cross(&self, (here, there): (u32, u32), from: u32, to: Option<u32>, rng: &mut Rng) -> Step {
        match self.links {
            0 | 1 => self.only_step(here, there, from),
            _ => self.cross_in_parallel(self.bundle(here, there), from, to, rng),
        }
    }

    /// [`Self::cross`] with one link between two groups.
    #[inline(always)]
    fn only_step(&self, here: u32, there: u32, from: u32) -> Step {
        let (router, port) = self.h.div_rem(self.slot(here, there));
        if router == from { Step::Global(port) } else { Step::Local(router) }
    }

    /// [`Self::cross`] over one of several links.
    #[inline(never)]
    fn cross_in_parallel(&self, bundle: Bundle, from: u32, to: Option<u32>, rng: &mut Rng) -> Step {
        let (hops, count) = self.fewest(bundle, from, to);
        let mut left = if count > 1 { rng.below(count) } else { 0 };
        for link in 0..self.links {
            if self.hops(bundle, link, from, to) == hops {
                if left == 0 {
                    return self.step_to(bundle, link, from);
                }
                left -= 1;
            }
        }
        self.step_to(bundle, 0, from)
    }

    /// All hops that [`Self::cross`] may lead to, each once.
    fn all_across(&self, bundle: Bundle, from: u32, to: Option<u32>, mut push: impl FnMut(Step)) {
        let (hops, _) = self.fewest(bundle, from, to);
        let mut seen = Vec::new();
        for link in (0..self.links).filter(|&link| self.hops(bundle, link, from, to) == hops) {
            let step = self.step_to(bundle, link, from);
            if !seen.contains(&step) {
                seen.push(step);
                push(step);
            }
        }
    }

    /// The difference in local VCs between a leg and the leg before: the number that a leg uses. A leg that ends on
    /// entering a group uses one, as does a leg in a single group. A leg that ends at a given router uses two.
    #[inline]
    fn locals_of_leg(&self, leg: Leg) -> u8 {
        if leg.to_group || self.groups == 1 { 1 } else { 2 }
    }

    /// Port of a step of router `from` of a group.
    #[inline(always)]
    fn port_of(&self, step: Step, from: u32) -> u16 {
        match step {
            Step::Local(to) => (self.p.get() + to - u32::from(to > from)) as u16,
            Step::Global(port) => (self.p.get() + self.a.get() - 1 + port) as u16,
        }
    }

    /// Port and VC of a step of router `from` of a group. VCs increase along the route. With l for a local and g for a
    /// global hop:
    ///
    /// - one leg: l0 g0 l1;
    /// - two legs that meet at a router: l0 g0 l1 - l2 g1 l3;
    /// - two legs that meet at a group: l0 g0 - l1 g1 l2.
    #[inline]
    fn hop(&self, step: Step, from: u32, leg: Leg, state: HopState) -> Hop {
        let vc = match step {
            Step::Local(_) => leg.index * self.locals_of_leg(leg) + state.leg_hops.of(GLOBAL),
            Step::Global(_) => leg.index,
        };
        Hop { port: self.port_of(step, from), vc, vcs: 1 }
    }

    /// True if no two groups are joined by more than one link.
    #[inline(always)]
    pub(super) fn has_one_link(&self) -> bool {
        !self.exits.is_empty()
    }

    /// [`Topology::exit`] with one link between two groups, and the router as its number in the group.
    #[inline(always)]
    pub(super) fn only_exit(&self, at: u32, to: u32) -> Option<(u32, u16)> {
        let (here, there) = (self.a.quotient(at), self.a.quotient(to));
        let exit = &self.exits[self.exit_index(here, there) as usize];
        (here != there).then_some((exit.router.into(), exit.port))
    }

    /// The position of a router.
    #[inline(always)]
    pub(super) fn location(&self, router: u32) -> Location {
        let (group, number) = self.a.div_rem(router);
        Location { group, number }
    }

    /// Passes on port and virtual channel of the next hop of a one-leg packet at router `at` to router `to`, and
    /// whether the packet has arrived. In that case, and where parallel links lead to `to`, port and channel are
    /// meaningless.
    ///
    /// A branch on whether the packet stays in the group, or leaves it here, could not be predicted. So all cases are
    /// computed, and the right one is selected.
    #[inline(always)]
    pub(super) fn with_only_hop(&self, at: Location, to: u32, hops: Hops, then: impl FnOnce(u16, u8, bool)) {
        let to = self.location(to);
        let Some((port, leaves)) = self.only_way(at, to) else { return };
        then(port, select_unpredictable(leaves, 0, hops.of(GLOBAL)), at == to);
    }

    /// The port of the only minimal hop of a packet at router `at` to router `to`, and whether it leads out of the
    /// group. `None` with parallel links. Meaningless for a packet that has arrived.
    #[inline(always)]
    fn only_way(&self, at: Location, to: Location) -> Option<(u16, bool)> {
        let exit = self.exits.get(self.exit_index(at.group, to.group) as usize)?;
        let inside = at.group == to.group;
        let leaves = !inside & (u32::from(exit.router) == at.number);
        let goal = select_unpredictable(inside, to.number, exit.router.into());
        let local = self.port_of(Step::Local(goal), at.number);
        Some((select_unpredictable(leaves, exit.port, local), leaves))
    }

    /// The index in [`Self::exits`] of the link from group `here` to group `there`. Where links depend only on the
    /// distance between the groups, the index is this distance.
    #[inline(always)]
    fn exit_index(&self, here: u32, there: u32) -> u32 {
        match self.arrangement {
            Arrangement::Palmtree | Arrangement::Relative => self.ahead(there, here),
            Arrangement::Consecutive => self.slot(here, there) + 1,
        }
    }

    /// The links by which packets leave a group, in the order of [`Self::exit_index`], if two groups have one link
    /// between them. Entries for packets within their group are placeholders.
    fn exits(&self) -> Vec<Exit> {
        if self.links > 1 || self.a.get().saturating_add(self.p.get()) > u16::MAX.into() {
            return Vec::new();
        }
        let mut exits = vec![Exit { router: 0, port: 0 }; self.groups as usize + 1];
        // The distance between groups alone matters, so one group stands for all.
        for there in 1..self.groups {
            let (router, port) = self.h.div_rem(self.slot(0, there));
            exits[self.exit_index(0, there) as usize] =
                Exit { router: router as u16, port: self.port_of(Step::Global(port), router) };
        }
        exits
    }

    /// The port of router `at` that leads to router `to`. Meaningless with parallel links, and for equal routers.
    #[inline(always)]
    pub(super) fn only_port(&self, at: u32, to: u32) -> Option<u16> {
        self.only_way(self.location(at), self.location(to)).map(|(port, _)| port)
    }

    /// The diameter: the number of hops of the longest minimal route.
    fn longest_route(&self) -> u32 {
        let a = self.a.get();
        let inside = u32::from(a > 1);
        if self.groups == 1 {
            return inside;
        }
        // With fewer links than routers, some router of each group has no link to the other group.
        if self.links < a {
            return 1 + 2 * inside;
        }
        let mut longest = 1;
        for (from, to) in (0..self.groups).flat_map(|from| (0..self.groups).map(move |to| (from, to))) {
            poll();
            if from == to {
                continue;
            }
            let bundle = self.bundle(from, to);
            let mut ends: Vec<(u32, u32)> =
                (0..self.links).map(|link| (self.near(bundle, link).0, self.far(bundle, link))).collect();
            ends.sort_unstable();
            ends.dedup();
            let distinct = |mut routers: Vec<u32>| {
                routers.sort_unstable();
                routers.dedup();
                routers.len() as u32
            };
            let near = distinct(ends.iter().map(|end| end.0).collect());
            let far = distinct(ends.iter().map(|end| end.1).collect());
            // A router in either group has no link to the other group, so the route is local, global, local.
            if near < a && far < a {
                return 3;
            }
            if (ends.len() as u64) < u64::from(a) * u64::from(a) {
                longest = 2;
            }
        }
        longest
    }
}

impl Topology for DragonflyGraph {
    fn known(self: Arc<Self>) -> Known {
        Known::Dragonfly(self)
    }

    fn is_dragonfly(&self) -> bool {
        true
    }
    fn classes(&self) -> &[String] {
        &self.classes
    }
    fn routers(&self) -> u32 {
        self.routers
    }
    fn endpoints(&self) -> u32 {
        self.routers * self.p.get()
    }
    fn ports(&self, _router: u32) -> u16 {
        (self.p.get() + self.a.get() - 1 + self.h.get()) as u16
    }

    fn port(&self, router: u32, port: u16) -> Port {
        let (group, from) = self.a.div_rem(router);
        let (port, a) = (u32::from(port), self.a.get());
        if port < self.p.get() {
            return Port { class: 0, peer: Peer::Endpoint(router * self.p.get() + port) };
        }
        let local = port - self.p.get();
        if local < a - 1 {
            let to = local + u32::from(local >= from);
            let back = (self.p.get() + from - u32::from(from > to)) as u16;
            return Port { class: LOCAL, peer: Peer::Router { router: group * a + to, port: back } };
        }
        let slot = from * self.h.get() + local - (a - 1);
        let (round, slot) = (slot / self.others, slot % self.others);
        if round >= self.links {
            return Port { class: GLOBAL, peer: Peer::None };
        }
        let other = self.slot_group(group, slot);
        let (to, back) = self.near(self.bundle(other, group), round);
        let peer = Peer::Router { router: other * a + to, port: (self.p.get() + a - 1 + back) as u16 };
        Port { class: GLOBAL, peer }
    }

    fn attachment(&self, endpoint: u32) -> (u32, u16) {
        let (router, port) = self.p.div_rem(endpoint);
        (router, port as u16)
    }

    fn minimal_hops(&self, at: u32, to: u32, leg: Leg, state: HopState, _vcs: &[u8], out: &mut Vec<Hop>) {
        let ((here, from), (there, to)) = (self.a.div_rem(at), self.a.div_rem(to));
        if here == there {
            out.push(self.hop(Step::Local(to), from, leg, state));
        } else {
            let bundle = self.bundle(here, there);
            self.all_across(bundle, from, Some(to), |step| out.push(self.hop(step, from, leg, state)));
        }
    }

    /// A few multiplications if two groups are joined by one link; otherwise, work proportional to the number of
    /// parallel links.
    #[inline(always)]
    fn minimal_hop(&self, at: u32, to: u32, leg: Leg, state: HopState, _vcs: &[u8], rng: &mut Rng) -> Hop {
        let ((here, from), (there, to)) = (self.a.div_rem(at), self.a.div_rem(to));
        let step = if here == there { Step::Local(to) } else { self.cross((here, there), from, Some(to), rng) };
        self.hop(step, from, leg, state)
    }

    fn vcs_needed(&self, leg: Leg) -> (Vec<u8>, String) {
        let legs = leg.of.max(1);
        let (per_leg, last) = (self.locals_of_leg(leg), if self.groups == 1 { 1 } else { 2 });
        let local = match self.a.get() {
            1 => 1,
            _ => (legs - 1).saturating_mul(per_leg).saturating_add(last),
        };
        let global = if self.groups == 1 { 1 } else { legs };
        let route: Vec<String> = (0..legs)
            .map(|i| {
                let (l, g) = (u32::from(i) * u32::from(per_leg), i);
                match (self.groups, leg.to_group && i + 1 < legs) {
                    (1, _) => format!("l{l}"),
                    (_, true) => format!("l{l} g{g}"),
                    (_, false) => format!("l{l} g{g} l{}", l + 1),
                }
            })
            .collect();
        (vec![1, local, global], format!("VCs must increase along a route, which is {}", route.join(" ")))
    }

    fn distance(&self, a: u32, b: u32) -> u32 {
        let ((here, from), (there, to)) = (self.a.div_rem(a), self.a.div_rem(b));
        match here == there {
            true => u32::from(from != to),
            false => self.fewest(self.bundle(here, there), from, Some(to)).0,
        }
    }
    fn diameter(&self) -> u32 {
        self.diameter
    }

    fn exit(&self, at: u32, to: u32, rng: &mut Rng) -> Option<(u32, u16)> {
        let ((here, from), (there, to)) = (self.a.div_rem(at), self.a.div_rem(to));
        if here == there {
            return None;
        }
        let bundle = self.bundle(here, there);
        let (hops, count) = self.fewest(bundle, from, Some(to));
        let chosen = if count > 1 { rng.below(count) } else { 0 };
        let mut best = (0..self.links).filter(|&link| self.hops(bundle, link, from, Some(to)) == hops);
        let (router, port) = self.near(bundle, best.nth(chosen as usize)?);
        Some((here * self.a.get() + router, (self.p.get() + self.a.get() - 1 + port) as u16))
    }
    fn groups(&self) -> u32 {
        self.groups
    }
    #[inline]
    fn group_of(&self, router: u32) -> u32 {
        self.a.quotient(router)
    }
    fn group_routers(&self, group: u32) -> std::ops::Range<u32> {
        let a = self.a.get();
        group * a..(group + 1) * a
    }
    fn group_hops(&self, at: u32, group: u32, leg: Leg, state: HopState, _vcs: &[u8], out: &mut Vec<Hop>) {
        let (here, from) = self.a.div_rem(at);
        self.all_across(self.bundle(here, group), from, None, |step| out.push(self.hop(step, from, leg, state)));
    }
    #[inline]
    fn group_hop(&self, at: u32, group: u32, leg: Leg, state: HopState, _vcs: &[u8], rng: &mut Rng) -> Hop {
        let (here, from) = self.a.div_rem(at);
        self.hop(self.cross((here, group), from, None, rng), from, leg, state)
    }
}

#[cfg(test)]
mod tests;
