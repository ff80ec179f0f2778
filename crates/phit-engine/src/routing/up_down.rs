//! Up*/down* routing: every link leads up or down, and no route goes up after it has gone down.

use super::layered::{Destinations, Layered, Made, Ways, apart, balanced, refuse_large};
use crate::engine::{NONE, poll};
use crate::error::ScenarioError;
use crate::topology::{Layers, Lookup, Named, RouteTable, Topology, Wire, Wires};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Up*/down* routing on any network (M. D. Schroeder et al., "Autonet: a high-speed, self-configuring local area
/// network using point-to-point links", IEEE Journal on Selected Areas in Communications 1991). Every router has a
/// level, its distance from the nearest root. A link leads up to the router of the lower level, or, at equal levels, of
/// the lower number. A route goes up, if it must, and then down. So one virtual channel is free of deadlock.
///
/// Deterministic, by tables with a port for each endpoint. If a route leads down all the way, the shortest such route
/// is taken. Otherwise the route goes up, by the shortest way that such tables allow. Among several, the least used one
/// so far is taken.
///
/// In a tree the roots are all of its spines, as OpenSM's `updn` finds them: the routers that have nearly all endpoints
/// at one distance. Other networks have one root, and so have networks in which faults leave no way over the roots.
///
/// ```toml
/// [routing]
/// kind = "up_down"
/// roots = [0, 1]
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct UpDown {
    /// Router at the root, if there is one, by its number or its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub root: Option<Named>,
    /// Routers at the roots, by their numbers or names. If both keys are left out: in a tree the spines; otherwise the
    /// router with the smallest sum of distances to all others; among several, the first. For an InfiniBand fabric, in
    /// Python and on the command line, the value may be the name of a file of GUIDs, one per line, as for OpenSM's
    /// option `-a`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub roots: Option<Vec<Named>>,
    #[serde(skip)]
    #[schemars(skip)]
    made: Made,
}

/// A key that gives roots, and their numbers.
pub(super) type Said = (&'static str, Vec<u32>);

impl UpDown {
    /// With this root.
    pub fn from(root: Option<u32>) -> Self {
        Self { root: root.map(Named::Number), ..Self::default() }
    }

    /// The numbers of the roots, with the key that gives them.
    fn said(&self, topology: &dyn Topology) -> Result<Option<Said>, ScenarioError> {
        let lookup = Lookup::new(topology);
        Ok(match (&self.root, &self.roots) {
            (Some(root), Some(_)) => {
                return Err(ScenarioError::new("root", root, "expected `root` or `roots`, not both"));
            }
            (None, None) => None,
            (Some(root), None) => Some(("root", vec![lookup.router(|| "root".into(), root)?])),
            (None, Some(roots)) => Some(("roots", lookup.listed_routers("roots", roots)?)),
        })
    }

    fn make(topology: &dyn Topology, said: Option<&Said>) -> Result<RouteTable, ScenarioError> {
        refuse_large(topology)?;
        let wires = Wires::new(topology);
        refuse_one_way(&wires)?;
        let said = said.map(|(key, roots)| (*key, &roots[..]));
        let levels = match levels(topology, &wires, said)? {
            Some(levels) => levels,
            None => central(&wires)?,
        };
        let table = tables(topology, &wires, &levels, &Destinations::endpoints(topology, &wires))?;
        Ok(table.with_layers(Layers::ONE))
    }
}

/// Refuses links that lead one way.
pub(super) fn refuse_one_way(wires: &Wires) -> Result<(), ScenarioError> {
    let Some(place) = wires.one_way() else { return Ok(()) };
    let (router, port) = wires.owner(place);
    let port = wires.words().port(router, port);
    let expected = format!("the link of {port} leads one way; expected links that lead both");
    Err(ScenarioError::missing("kind", expected))
}

/// The levels below the roots that a key names, or below the spines of a tree. Nothing if there are none, or if faults
/// leave no way over the roots.
pub(super) fn levels(
    topology: &dyn Topology,
    wires: &Wires,
    said: Option<(&str, &[u32])>,
) -> Result<Option<Levels>, ScenarioError> {
    let Some((key, roots)) = said else { return Ok(spines(topology, wires)) };
    if roots.is_empty() {
        return Err(ScenarioError::new(key, "[]", "expected a router or more"));
    }
    let joined = Levels::new(wires, roots).and_then(|levels| match levels.connect(wires) {
        Ok(()) => Ok(levels),
        Err((from, to)) => Err(no_way(wires, key, roots, (from, to))),
    });
    match joined {
        Err(_) if topology.faulty().is_some() => Ok(None),
        joined => joined.map(Some),
    }
}

/// The levels below the router with the least sum of distances to all others, of several the first.
pub(super) fn central(wires: &Wires) -> Result<Levels, ScenarioError> {
    let sums = wires.sums();
    let root = (0..wires.routers()).min_by_key(|&router| sums[router as usize]).unwrap_or(0);
    Levels::new(wires, &[root])
}

/// The error of roots from which not all routers with endpoints are joined.
fn no_way(wires: &Wires, key: &str, roots: &[u32], (from, to): (u32, u32)) -> ScenarioError {
    let (from, to) = (wires.words().router(from), wires.words().router(to));
    let expected =
        format!("no way leads from {from} up and then down to {to}; expected roots above all routers with endpoints");
    let said: Vec<String> = roots.iter().map(|&root| wires.words().router_value(root)).collect();
    ScenarioError::new(key, format!("[{}]", said.join(", ")), expected)
}

/// Routes up, if they must, and then down, balanced over the links.
pub(super) fn tables(
    topology: &dyn Topology,
    wires: &Wires,
    levels: &Levels,
    destinations: &Destinations,
) -> Result<RouteTable, ScenarioError> {
    balanced(topology, wires, destinations, &mut Ascent::new(wires, levels), |_| {})
}

/// The levels of a tree with all of its spines as roots; `None` if the network is not a tree.
///
/// A spine has nearly all endpoints at one distance (OpenSM's rule: nine tenths at one distance, and less than a
/// twentieth at any other). No other router's distance is smaller. A router without endpoints that all links lead up
/// to, such as a spine that has lost some links, is put above its neighbours. A spine with its own endpoints, from
/// which some others cannot be reached downwards, is not a root: it is put below its neighbours.
fn spines(topology: &dyn Topology, wires: &Wires) -> Option<Levels> {
    let endpoints = |router: u32| u64::from(wires.endpoints(router));
    let (all, hosts) = (wires.hosts().map(endpoints).sum::<u64>(), wires.hosts().count() as u64);
    let works = |router: u32| topology.faulty().is_none_or(|faulty| !faulty.is_down(router));
    // It has fewer endpoints than others; where all have as many nothing is looked for.
    let open: Vec<u32> =
        (0..wires.routers()).filter(|&router| works(router) && endpoints(router) * hosts < all).collect();
    if open.is_empty() {
        return None;
    }
    let mut candidates: Vec<(u32, u32)> = Vec::new();
    let around = wires.endpoints_around();
    for router in open {
        let mut many = (0..).zip(&around[router as usize]).filter(|(_, count)| **count * 20 > all);
        if let (Some((distance, count)), None) = (many.next(), many.next())
            && *count * 10 > all * 9
        {
            candidates.push((distance, router));
        }
    }
    let least = candidates.iter().map(|(distance, _)| *distance).min().filter(|&least| least > 0)?;
    let mut roots: Vec<u32> =
        candidates.into_iter().filter(|(distance, _)| *distance == least).map(|(_, router)| router).collect();
    while !roots.is_empty() {
        let mut levels = Levels::new(wires, &roots).ok()?;
        levels.raise(wires);
        let Err((from, to)) = levels.connect(wires) else { return Some(levels) };
        let lonely = [from, to].into_iter().find(|router| roots.contains(router))?;
        roots.retain(|&root| root != lonely);
    }
    None
}

/// The level of every router.
pub(super) struct Levels {
    levels: Vec<u32>,
    /// The routers, the roots first, every other behind all to which a link leads up.
    order: Vec<u32>,
}

impl Levels {
    /// By distances from the nearest root.
    pub(super) fn new(wires: &Wires, roots: &[u32]) -> Result<Self, ScenarioError> {
        let (mut levels, mut order) = (vec![NONE; wires.routers() as usize], Vec::new());
        for &root in roots {
            if levels[root as usize] == NONE {
                levels[root as usize] = 0;
                order.push(root);
            }
        }
        let mut next = 0;
        while let Some(&router) = order.get(next) {
            next += 1;
            for &place in wires.incoming(router) {
                let before = wires.owner(place).0;
                if levels[before as usize] == NONE {
                    levels[before as usize] = levels[router as usize] + 1;
                    order.push(before);
                }
            }
        }
        if let (Some(lost), Some(&root)) = (wires.hosts().find(|&host| levels[host as usize] == NONE), roots.first()) {
            return Err(apart(wires, lost, root));
        }
        let mut levels = Self { levels, order };
        levels.sort();
        Ok(levels)
    }

    fn sort(&mut self) {
        let Self { levels, order } = self;
        order.sort_unstable_by_key(|&router| (levels[router as usize], router));
    }

    /// Puts routers without endpoints, to which no link leads down from above to below, above their neighbours.
    fn raise(&mut self, wires: &Wires) {
        for router in self.order.iter().copied().filter(|&router| wires.endpoints(router) == 0) {
            let own = self.levels[router as usize];
            let around = || wires.leaving(router).map(|(_, wire)| self.levels[wire.router as usize]);
            if around().all(|level| level < own)
                && let Some(level) = around().min().and_then(|least| least.checked_sub(1))
            {
                self.levels[router as usize] = level;
            }
        }
        self.sort();
    }

    /// Two routers with endpoints between which no way leads up and then down, if there are any.
    fn connect(&self, wires: &Wires) -> Result<(), (u32, u32)> {
        let mut ascent = Ascent::new(wires, self);
        for to in wires.hosts() {
            poll();
            ascent.ways.find(&ascent.senders, &ascent.receivers, self, to);
            if let Some(from) = wires.hosts().find(|&from| ascent.ways.length[from as usize] == NONE) {
                return Err((from, to));
            }
        }
        Ok(())
    }

    /// Levels of routers in an order, one router per level. The first is the root, and every other router has a link
    /// that leads up.
    pub(super) fn of(order: Vec<u32>, routers: u32) -> Self {
        let mut levels = vec![NONE; routers as usize];
        (0..).zip(&order).for_each(|(level, &router)| levels[router as usize] = level);
        Self { levels, order }
    }

    /// By router, its level; all ones if it has none.
    pub(super) fn levels(&self) -> &[u32] {
        &self.levels
    }

    /// These levels for these routers alone, in their order.
    pub(super) fn among(&self, order: Vec<u32>) -> Self {
        Self { levels: self.levels.clone(), order }
    }

    /// The routers, every one behind all to which a link leads up.
    pub(super) fn order(&self) -> &[u32] {
        &self.order
    }

    /// True if a link from one router to another leads up.
    pub(super) fn is_up(&self, from: u32, to: u32) -> bool {
        (self.levels[to as usize], to) < (self.levels[from as usize], from)
    }
}

/// The ways up and then down to one router after another.
pub(super) struct Ascent<'a> {
    levels: &'a Levels,
    senders: Above,
    receivers: Above,
    ways: UpAndDown,
}

impl<'a> Ascent<'a> {
    pub(super) fn new(wires: &Wires, levels: &'a Levels) -> Self {
        let (senders, receivers) = (Above::senders(wires, levels), Above::receivers(wires, levels));
        Self { levels, senders, receivers, ways: UpAndDown::default() }
    }

    /// True if the shortest way down from a router leads over this link of it.
    pub(super) fn leads_down(&self, at: u32, wire: Wire) -> bool {
        self.ways.down[at as usize] != NONE && self.leads(at, wire)
    }
}

impl Ways for Ascent<'_> {
    fn find(&mut self, to: u32) -> Result<(), ScenarioError> {
        self.ways.find(&self.senders, &self.receivers, self.levels, to);
        Ok(())
    }

    /// By the length of their ways.
    fn order(&self) -> &[u32] {
        &self.ways.order
    }

    fn leads(&self, at: u32, wire: Wire) -> bool {
        let (here, next) = (at as usize, wire.router as usize);
        let UpAndDown { down, length, .. } = &self.ways;
        // Few links are of the right length: whether one leads up is asked last. All ones and one more are 0, the
        // length of no way.
        match down[here] {
            NONE => length[next].wrapping_add(1) == length[here] && self.levels.is_up(at, wire.router),
            links => down[next].wrapping_add(1) == links && !self.levels.is_up(at, wire.router),
        }
    }
}

/// By router the routers above it that it has links with, once for each link: a list that is gone through for every
/// destination.
struct Above {
    /// By router: the end of its list, and the end of the next one's.
    ends: Vec<u32>,
    above: Vec<u32>,
}

impl Above {
    /// For each router, the routers with links to it.
    fn senders(wires: &Wires, levels: &Levels) -> Self {
        Self::new(wires, levels, |router| wires.incoming(router).iter().map(|&place| wires.owner(place).0))
    }

    /// For each router, the routers to which it has links.
    fn receivers(wires: &Wires, levels: &Levels) -> Self {
        Self::new(wires, levels, |router| wires.leaving(router).map(|(_, wire)| wire.router))
    }

    fn new<I: Iterator<Item = u32>>(wires: &Wires, levels: &Levels, linked: impl Fn(u32) -> I) -> Self {
        let (mut ends, mut above) = (vec![0], Vec::new());
        for router in 0..wires.routers() {
            above.extend(linked(router).filter(|&other| levels.is_up(router, other)));
            ends.push(above.len() as u32);
        }
        Self { ends, above }
    }

    fn of(&self, router: u32) -> &[u32] {
        let at = router as usize;
        &self.above[self.ends[at] as usize..self.ends[at + 1] as usize]
    }
}

/// The ways to one destination.
#[derive(Default)]
struct UpAndDown {
    /// Links of the shortest way down from each router; all ones if there is none.
    down: Vec<u32>,
    /// Links of the way from each router.
    length: Vec<u32>,
    /// The routers by these lengths.
    order: Vec<u32>,
    /// For sorting them: by length, where the next one goes; and where they go.
    next: Vec<u32>,
    sorted: Vec<u32>,
}

impl UpAndDown {
    fn find(&mut self, senders: &Above, receivers: &Above, levels: &Levels, to: u32) {
        self.down.clear();
        self.down.resize(levels.levels.len(), NONE);
        self.down[to as usize] = 0;
        self.order.clear();
        self.order.push(to);
        let mut next = 0;
        while let Some(&router) = self.order.get(next) {
            poll();
            next += 1;
            for &before in senders.of(router) {
                if self.down[before as usize] == NONE {
                    self.down[before as usize] = self.down[router as usize] + 1;
                    self.order.push(before);
                }
            }
        }
        self.length.clone_from(&self.down);
        for &router in &levels.order {
            if self.down[router as usize] == NONE {
                // Where there are several roots, some have no way.
                let least = receivers.of(router).iter().map(|&above| self.length[above as usize]).min();
                if let Some(least) = least.filter(|&least| least != NONE) {
                    self.length[router as usize] = least + 1;
                    self.order.push(router);
                }
            }
        }
        self.sort();
    }

    /// Sorts the routers by the lengths of their routes, which are small. Equal lengths keep their order.
    fn sort(&mut self) {
        let Self { length, order, next, sorted, .. } = self;
        let most = order.iter().map(|&router| length[router as usize]).max().unwrap_or(0);
        next.clear();
        next.resize(most as usize + 2, 0);
        order.iter().for_each(|&router| next[length[router as usize] as usize + 1] += 1);
        for place in 1..next.len() {
            next[place] += next[place - 1];
        }
        sorted.clear();
        sorted.resize(order.len(), 0);
        for &router in &*order {
            let place = &mut next[length[router as usize] as usize];
            sorted[*place as usize] = router;
            *place += 1;
        }
        std::mem::swap(order, sorted);
    }
}

impl Layered for UpDown {
    fn tables(&self, topology: &dyn Topology) -> Result<Arc<RouteTable>, ScenarioError> {
        // Tables are kept by the links of their network, which can have other names.
        let said = self.said(topology)?;
        self.made.of_links("up_down", topology, &said, || Self::make(topology, said.as_ref()))
    }
}
