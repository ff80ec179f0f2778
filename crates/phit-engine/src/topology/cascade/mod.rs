//! The Cray Cascade (Faanes et al., "Cray Cascade: a scalable HPC system based on a Dragonfly network", SC 2012). Its
//! groups are routers in rows and columns, fully connected in both, and global links join the groups.

mod bundles;

use super::coordinates::Coordinates;
use super::divisor::Divisor;
use super::faults::Faults;
use super::lines::{Lines, Neighbour};
use super::{Hop, HopState, Leg, Peer, Port, Topology, TopologyParams, limits};
use crate::engine::Rng;
use crate::error::ScenarioError;
use bundles::Bundles;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::sync::Arc;

/// One group of a Cray Cascade, or several: `rows` x `columns` routers each, all to all in every row and every column
/// (Faanes et al., SC 2012; one group: Faizian et al., HOTI 2016).
///
/// A minimal route in a group takes one hop in its row, one in its column, or both in either order. The order, and the
/// choice of a parallel link, are drawn at every hop. Between groups, a route takes a global link that gives it fewest
/// hops. In a single group, the global ports are traffic endpoints. Each router is then a group of its own to patterns
/// and to Valiant routing.
///
/// ```toml
/// [topology]
/// kind = "cascade"
/// rows = 2
/// columns = 4
/// groups = 3
/// global_ports = 2
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Cascade {
    /// Rows of a group (chassis), 2 or more.
    #[schemars(range(min = 2))]
    pub rows: u32,
    /// Columns of a group (slots of a chassis), 2 or more. Router index in its group = row * columns + column.
    #[schemars(range(min = 2))]
    pub columns: u32,
    /// Parallel links between two routers of a row.
    #[schemars(range(min = 1))]
    pub row_links: u32,
    /// Parallel links between two routers of a column.
    #[schemars(range(min = 1))]
    pub column_links: u32,
    /// Endpoints at each router; 18 in a single group and 8 otherwise if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub endpoints_per_router: Option<u32>,
    /// Number of groups, 1 to rows * columns * global_ports + 1.
    #[schemars(range(min = 1))]
    pub groups: u32,
    /// Ports of each router to other groups; a single group has none. Every two groups are joined by floor(rows *
    /// columns * global_ports / (groups - 1)) links, spread evenly over their routers. The remaining ports stay
    /// unconnected.
    pub global_ports: u32,
    /// The virtual channels that hops may take.
    pub channels: Channels,
    /// Links, routers and endpoints that do not work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub faults: Option<Faults>,
}

/// Virtual channels of hops. They rise along every route, which prevents cycles of waiting packets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Channels {
    /// One channel for each hop: the next channel of the longest route. In a single group, its number is the number of
    /// hops taken.
    #[default]
    One,
    /// All channels above the last hop's that leave enough for the hops to come. Short routes then spread over more
    /// buffers. Only in a single group.
    Rising,
}

impl Default for Cascade {
    fn default() -> Self {
        Self {
            rows: 6,
            columns: 16,
            row_links: 1,
            column_links: 3,
            endpoints_per_router: None,
            groups: 1,
            global_ports: 10,
            channels: Channels::One,
            faults: None,
        }
    }
}

impl TopologyParams for Cascade {
    fn faults(&self) -> Option<&Faults> {
        self.faults.as_ref()
    }

    fn needs(&self) -> f64 {
        // The distance table has a byte for each pair of routers of a group.
        let routers = f64::from(self.rows) * f64::from(self.columns);
        routers * routers
    }

    fn build(&self) -> Result<Arc<dyn Topology>, ScenarioError> {
        let endpoints = self.endpoints_per_router.unwrap_or(if self.groups > 1 { 8 } else { 18 });
        limits::ports("endpoints_per_router", endpoints, u64::from(endpoints))?;
        let of_group = u64::from(self.rows) * u64::from(self.columns);
        limits::routers("columns", self.columns, of_group, u64::from(endpoints))?;
        let slots = of_group * u64::from(self.global_ports);
        if u64::from(self.groups - 1) > slots {
            let expected = format!("expected at most {}: a group has {slots} global ports", slots + 1);
            return Err(ScenarioError::new("groups", self.groups, expected));
        }
        if self.channels == Channels::Rising && self.groups > 1 {
            return Err(ScenarioError::new("channels", "\"rising\"", "needs groups = 1"));
        }
        let routers = of_group.saturating_mul(self.groups.into());
        let routers = limits::routers("groups", self.groups, routers, u64::from(endpoints))?;
        let at = Coordinates::new(&[self.columns, self.rows], endpoints)?;
        let (row, column) = (self.row_links, self.column_links);
        let blame = match u64::from(row) * u64::from(self.columns) > u64::from(column) * u64::from(self.rows) {
            true => ("row_links", row.to_string()),
            false => ("column_links", column.to_string()),
        };
        let lines = Lines::new(at, vec![row, column], endpoints, blame)?;
        let global = if self.groups > 1 { self.global_ports } else { 0 };
        limits::ports("global_ports", global, u64::from(lines.end()) + u64::from(global))?;
        Ok(Arc::new(CascadeGraph::new(lines, endpoints, self.groups, global, routers, self.channels)))
    }
}

/// The class of global links. Lower classes are rows and columns.
const GLOBAL: u8 = 3;

/// Hops of a minimal route inside a group, at most.
const INSIDE: u8 = 2;

/// The built network of [`Cascade`].
///
/// Router r of group g is router g * rows * columns + r. A router's ports: first its endpoints, then its row and column
/// (`Lines`), then its global ports.
#[derive(Debug)]
pub(super) struct CascadeGraph {
    classes: Vec<String>,
    endpoints: Divisor,
    groups: u32,
    routers: u32,
    /// Routers of a group.
    size: Divisor,
    lines: Lines,
    bundles: Bundles,
    rising: bool,
    diameter: u32,
}

/// The next step of a router.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// Goes towards this router of its group.
    Inside(u32),
    /// Takes this global port.
    Global(u32),
}

impl CascadeGraph {
    fn new(lines: Lines, endpoints: u32, groups: u32, global: u32, routers: u32, channels: Channels) -> Self {
        let classes: &[&str] =
            if groups > 1 { &["endpoint", "row", "column", "global"] } else { &["endpoint", "row", "column"] };
        let bundles = Bundles::new(&lines.at, groups, global);
        Self {
            classes: classes.iter().map(|&class| class.to_owned()).collect(),
            endpoints: Divisor::new(endpoints),
            groups,
            routers,
            size: Divisor::new(lines.at.routers),
            diameter: if groups > 1 { bundles.longest(&lines.at, 2 * u32::from(INSIDE)) } else { INSIDE.into() },
            lines,
            bundles,
            rising: channels == Channels::Rising,
        }
    }

    /// True if there is only one group: then its routers act as groups for patterns and Valiant routing.
    fn flat(&self) -> bool {
        self.groups == 1
    }

    /// Number of local channels between two global hops of a route: for one visit of a group, or for two if a leg ends
    /// at a given router there.
    fn between(leg: Leg) -> u8 {
        if leg.to_group { INSIDE } else { 2 * INSIDE }
    }

    /// The channel of the next hop: the lowest above the channel of the hop before. The order is l0 l1 g0 l2 .. l5 g1
    /// l6 l7 for the longest route of two legs. If the first leg ends wherever it enters a group, only l2 and l3
    /// precede g1. Rows and columns are numbered together. In a single group, the channel is the number of hops taken.
    #[inline]
    fn channel(&self, class: u8, leg: Leg, state: HopState) -> u8 {
        let between = Self::between(leg);
        match (class, state.came_by) {
            (GLOBAL, 0) => 0,
            (GLOBAL, GLOBAL) => state.came_in + 1,
            (GLOBAL, _) if state.came_in < INSIDE => 0,
            (GLOBAL, _) => 1 + (state.came_in - INSIDE) / between,
            (_, 0) => 0,
            (_, GLOBAL) => INSIDE + state.came_in * between,
            _ => state.came_in + 1,
        }
    }

    /// The channels of a hop inside the group towards router `to`, `left` hops away.
    #[inline]
    fn channels(&self, class: u8, left: u8, leg: Leg, state: HopState, vcs: &[u8]) -> (u8, u8) {
        let first = self.channel(class, leg, state);
        if !self.rising {
            return (first, 1);
        }
        let to_come = (left - 1) + INSIDE * (leg.of - 1 - leg.index);
        (first, (vcs[1].min(vcs[2]) - to_come - first).max(1))
    }

    /// A hop inside the group. If `from` and `to` differ in both dimensions, it takes either.
    #[inline]
    fn inside(&self, from: u32, to: u32, leg: Leg, state: HopState, vcs: &[u8], rng: &mut Rng) -> Hop {
        let mut crossing = (0, self.lines.at.column(from), self.lines.at.column(to));
        let other = (1, self.lines.at.row(from), self.lines.at.row(to));
        let both = crossing.1 != crossing.2 && other.1 != other.2;
        if crossing.1 == crossing.2 || both && rng.below(2) == 1 {
            crossing = other;
        }
        let (d, x, y) = crossing;
        let (vc, vcs) = self.channels(d as u8 + 1, 1 + u8::from(both), leg, state, vcs);
        Hop { port: self.lines.any_port_to(d, x, y, rng), vc, vcs }
    }

    /// All hops that [`Self::inside`] may return.
    fn all_inside(&self, from: u32, to: u32, leg: Leg, state: HopState, vcs: &[u8], out: &mut Vec<Hop>) {
        let left = self.bundles.inside(from, to) as u8;
        for (d, (x, y)) in self.lines.at.pairs(from, to).enumerate().filter(|(_, (x, y))| x != y) {
            let (vc, vcs) = self.channels(d as u8 + 1, left, leg, state, vcs);
            out.extend(self.lines.ports_to(d, x, y).map(|port| Hop { port, vc, vcs }));
        }
    }

    #[inline]
    fn global_port(&self, port: u32) -> u16 {
        self.lines.end() + port as u16
    }

    /// The step of router `from` of a group over a link of the bundle to the group `ahead` of it.
    #[inline]
    fn step(&self, ahead: u32, link: u32, from: u32) -> Step {
        let (router, port) = self.bundles.near(ahead, link);
        if router == from { Step::Global(port) } else { Step::Inside(router) }
    }

    #[inline]
    fn hop(&self, step: Step, from: u32, leg: Leg, state: HopState, vcs: &[u8], rng: &mut Rng) -> Hop {
        match step {
            Step::Inside(to) => self.inside(from, to, leg, state, vcs, rng),
            Step::Global(port) => Hop { port: self.global_port(port), vc: self.channel(GLOBAL, leg, state), vcs: 1 },
        }
    }

    /// The hop of router `from` of a group towards router `to`, or any router, of the group `ahead` of it.
    #[inline]
    fn across(
        &self,
        (ahead, from): (u32, u32),
        to: Option<u32>,
        leg: Leg,
        state: HopState,
        vcs: &[u8],
        rng: &mut Rng,
    ) -> Hop {
        let link = self.bundles.draw(ahead, from, to, rng);
        self.hop(self.step(ahead, link, from), from, leg, state, vcs, rng)
    }

    /// All hops that [`Self::across`] may return, each once.
    fn all_across(
        &self,
        (ahead, from): (u32, u32),
        to: Option<u32>,
        leg: Leg,
        state: HopState,
        vcs: &[u8],
        out: &mut Vec<Hop>,
    ) {
        let first = out.len();
        let mut found = Vec::new();
        for link in self.bundles.best(ahead, from, to) {
            match self.step(ahead, link, from) {
                Step::Inside(to) => self.all_inside(from, to, leg, state, vcs, &mut found),
                step @ Step::Global(_) => found.push(self.hop(step, from, leg, state, vcs, &mut Rng::keyed(0, 0))),
            }
        }
        for hop in found {
            if !out[first..].contains(&hop) {
                out.push(hop);
            }
        }
    }
}

impl Topology for CascadeGraph {
    fn classes(&self) -> &[String] {
        &self.classes
    }
    fn routers(&self) -> u32 {
        self.routers
    }
    fn endpoints(&self) -> u32 {
        self.routers * self.endpoints.get()
    }
    fn ports(&self, _router: u32) -> u16 {
        self.lines.end() + self.bundles.ports() as u16
    }

    fn port(&self, router: u32, port: u16) -> Port {
        let (group, from) = self.size.div_rem(router);
        if u32::from(port) < self.endpoints.get() {
            return Port { class: 0, peer: Peer::Endpoint(router * self.endpoints.get() + u32::from(port)) };
        }
        if let Some(Neighbour { dimension, router, port }) = self.lines.neighbour(from, port) {
            let peer = Peer::Router { router: group * self.size.get() + router, port };
            return Port { class: dimension as u8 + 1, peer };
        }
        let peer = match self.bundles.far_end(from, u32::from(port - self.lines.end())) {
            Some((ahead, to, back)) => {
                let group = (group + ahead) % self.groups;
                Peer::Router { router: group * self.size.get() + to, port: self.global_port(back) }
            }
            None => Peer::None,
        };
        Port { class: GLOBAL, peer }
    }

    fn attachment(&self, endpoint: u32) -> (u32, u16) {
        let (router, port) = self.endpoints.div_rem(endpoint);
        (router, port as u16)
    }

    fn minimal_hops(&self, at: u32, to: u32, leg: Leg, state: HopState, vcs: &[u8], out: &mut Vec<Hop>) {
        let ((here, from), (there, to)) = (self.size.div_rem(at), self.size.div_rem(to));
        match self.bundles.ahead(here, there) {
            0 => self.all_inside(from, to, leg, state, vcs, out),
            ahead => self.all_across((ahead, from), Some(to), leg, state, vcs, out),
        }
    }

    /// A few instructions inside a group; to another group, work proportional to the number of links between the two.
    #[inline]
    fn minimal_hop(&self, at: u32, to: u32, leg: Leg, state: HopState, vcs: &[u8], rng: &mut Rng) -> Hop {
        let ((here, from), (there, to)) = (self.size.div_rem(at), self.size.div_rem(to));
        match self.bundles.ahead(here, there) {
            0 => self.inside(from, to, leg, state, vcs, rng),
            ahead => self.across((ahead, from), Some(to), leg, state, vcs, rng),
        }
    }

    fn vcs_needed(&self, leg: Leg) -> (Vec<u8>, String) {
        let legs = leg.of.max(1);
        if self.flat() {
            let local = legs.saturating_mul(INSIDE);
            return (vec![1, local, local], "VCs rise from hop to hop: two for each leg".into());
        }
        let between = Self::between(leg);
        let local = (legs - 1).saturating_mul(between).saturating_add(2 * INSIDE);
        let visits = (0..=legs).map(|visit| match visit {
            0 => "l0 l1".to_owned(),
            visit => {
                let first = INSIDE + (visit - 1) * between;
                let last = if visit == legs { first + INSIDE } else { first + between } - 1;
                format!("g{} l{first}..l{last}", visit - 1)
            }
        });
        let route: Vec<String> = visits.collect();
        (vec![1, local, local, legs], format!("VCs must increase along a route, which is {}", route.join(" ")))
    }

    fn distance(&self, a: u32, b: u32) -> u32 {
        let ((here, from), (there, to)) = (self.size.div_rem(a), self.size.div_rem(b));
        match self.bundles.ahead(here, there) {
            0 => self.bundles.inside(from, to),
            ahead => self.bundles.fewest(ahead, from, Some(to)).0,
        }
    }
    fn diameter(&self) -> u32 {
        self.diameter
    }

    fn groups(&self) -> u32 {
        if self.flat() { self.routers } else { self.groups }
    }
    #[inline]
    fn group_of(&self, router: u32) -> u32 {
        if self.flat() { router } else { self.size.quotient(router) }
    }
    fn group_routers(&self, group: u32) -> Range<u32> {
        let size = if self.flat() { 1 } else { self.size.get() };
        group * size..(group + 1) * size
    }
    fn group_hops(&self, at: u32, group: u32, leg: Leg, state: HopState, vcs: &[u8], out: &mut Vec<Hop>) {
        if self.flat() {
            return self.minimal_hops(at, group, leg, state, vcs, out);
        }
        let (here, from) = self.size.div_rem(at);
        self.all_across((self.bundles.ahead(here, group), from), None, leg, state, vcs, out);
    }
    fn group_hop(&self, at: u32, group: u32, leg: Leg, state: HopState, vcs: &[u8], rng: &mut Rng) -> Hop {
        if self.flat() {
            return self.minimal_hop(at, group, leg, state, vcs, rng);
        }
        let (here, from) = self.size.div_rem(at);
        self.across((self.bundles.ahead(here, group), from), None, leg, state, vcs, rng)
    }
    fn exit(&self, at: u32, to: u32, rng: &mut Rng) -> Option<(u32, u16)> {
        let ((here, from), (there, to)) = (self.size.div_rem(at), self.size.div_rem(to));
        match self.bundles.ahead(here, there) {
            0 => None,
            ahead => {
                let link = self.bundles.draw(ahead, from, Some(to), rng);
                let (router, port) = self.bundles.near(ahead, link);
                Some((here * self.size.get() + router, self.global_port(port)))
            }
        }
    }
}

#[cfg(test)]
mod tests;
