//! Up*/down* routing: every link leads up or down, and no route goes up after it has gone down.

use super::layered::{Balance, Layered, Made, apart, empty};
use crate::engine::{NONE, poll};
use crate::error::ScenarioError;
use crate::topology::{Layers, RouteTable, Topology, Wire, Wires};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Up*/down* routing on any network (M. D. Schroeder et al., "Autonet: a high-speed, self-configuring local area
/// network using point-to-point links", IEEE Journal on Selected Areas in Communications 1991): a breadth-first tree
/// gives every router a level, and a link leads up to the router of the lower level, at equal levels to that of the
/// lower number. A route goes up, if it must, and then down: so one virtual channel is free of deadlock.
///
/// Deterministic, by tables with a port for each destination router: where some way leads down all along, the shortest
/// such one, else up, on the shortest way that such tables have. Of several the one that is least used so far.
///
/// ```toml
/// [routing]
/// kind = "up_down"
/// root = 0
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct UpDown {
    /// Router at the root; if left out the one with the least sum of distances to all others, of several the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub root: Option<u32>,
    #[serde(skip)]
    #[schemars(skip)]
    made: Made,
}

impl UpDown {
    /// With this root.
    pub fn from(root: Option<u32>) -> Self {
        Self { root, made: Made::default() }
    }

    fn make(&self, topology: &dyn Topology) -> Result<RouteTable, ScenarioError> {
        let wires = Wires::new(topology);
        if let Some(place) = wires.one_way() {
            let (router, port) = wires.owner(place);
            let expected = format!(
                "the link of {} leads one way; expected links that lead both",
                wires.words().port(router, port)
            );
            return Err(ScenarioError::missing("kind", expected));
        }
        if let Some(root) = self.root.filter(|&root| root >= wires.routers()) {
            return Err(ScenarioError::new("root", root, format!("expected a router below {}", wires.routers())));
        }
        // Too many routers are refused before the root is looked for.
        let table = empty(topology)?;
        let levels = Levels::new(&wires, self.root)?;
        Ok(tables(table, &wires, &levels).with_layers(Layers::ONE))
    }
}

/// Routes up, if they must, and then down, balanced over the links, in a table that has none.
pub(super) fn tables(table: RouteTable, wires: &Wires, levels: &Levels) -> RouteTable {
    let mut balance = Balance::new(wires, table);
    let (senders, receivers) = (Above::senders(wires, levels), Above::receivers(wires, levels));
    let mut ways = Ways::default();
    for to in wires.hosts() {
        ways.find(&senders, &receivers, levels, to);
        let leads = |at: u32, wire: Wire| {
            let (here, next) = (at as usize, wire.router as usize);
            // Few links are of the right length: whether one leads up is asked last. All ones and one more are 0, the
            // length of no way.
            match ways.down[here] {
                NONE => ways.length[next].wrapping_add(1) == ways.length[here] && levels.is_up(at, wire.router),
                down => ways.down[next].wrapping_add(1) == down && !levels.is_up(at, wire.router),
            }
        };
        balance.tree(&ways.order, leads);
    }
    balance.into_table()
}

/// The level of every router.
pub(super) struct Levels {
    levels: Vec<u32>,
    /// The routers, the root first, every other behind all to which a link leads up.
    order: Vec<u32>,
}

impl Levels {
    fn new(wires: &Wires, root: Option<u32>) -> Result<Self, ScenarioError> {
        let (mut levels, mut order) = (Vec::new(), Vec::new());
        let root = root.unwrap_or_else(|| {
            let sums = wires.sums();
            (0..wires.routers()).min_by_key(|&router| sums[router as usize]).unwrap_or(0)
        });
        wires.towards(root, &mut levels, &mut order);
        if let Some(lost) = wires.hosts().find(|&host| levels[host as usize] == NONE) {
            return Err(apart(wires, lost, root));
        }
        order.sort_unstable_by_key(|&router| (levels[router as usize], router));
        Ok(Self { levels, order })
    }

    /// Of routers in an order, one of these on each level: the first is the root, and of every other some link leads
    /// up.
    pub(super) fn of(order: Vec<u32>, routers: u32) -> Self {
        let mut levels = vec![NONE; routers as usize];
        (0..).zip(&order).for_each(|(level, &router)| levels[router as usize] = level);
        Self { levels, order }
    }

    /// By router, its level; all ones if it has none.
    pub(super) fn levels(&self) -> &[u32] {
        &self.levels
    }

    /// The same levels, for these routers alone, in their order.
    pub(super) fn among(&self, order: Vec<u32>) -> Self {
        Self { levels: self.levels.clone(), order }
    }

    /// True if a link from one router to another leads up.
    pub(super) fn is_up(&self, from: u32, to: u32) -> bool {
        (self.levels[to as usize], to) < (self.levels[from as usize], from)
    }
}

/// By router the routers above it that it has links with, once for each link: a list that is gone through for every
/// destination.
struct Above {
    /// Where the list of a router ends, and that of the next begins.
    ends: Vec<u32>,
    above: Vec<u32>,
}

impl Above {
    /// Those that have links to it.
    fn senders(wires: &Wires, levels: &Levels) -> Self {
        Self::new(wires, levels, |router| wires.incoming(router).iter().map(|&place| wires.owner(place).0))
    }

    /// Those to which it has links.
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
struct Ways {
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

impl Ways {
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
                let least = receivers.of(router).iter().map(|&above| self.length[above as usize]).min();
                // The root has a way down to every router.
                self.length[router as usize] = least.unwrap_or(0) + 1;
                self.order.push(router);
            }
        }
        self.sort();
    }

    /// Sorts the routers by the lengths of their ways, which are small, those of one length as they stand.
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
        self.made.of_links("up_down", topology, self.root, || self.make(topology))
    }
}
