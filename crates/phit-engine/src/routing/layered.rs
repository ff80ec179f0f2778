//! Shared by mechanisms with tables and layers: the rule, a store of tables, and trees of routes that are balanced over
//! the links.

use super::{Injection, Proof, Routing, RoutingContext, RoutingParams, View};
use crate::engine::{Memory, NONE, Tick, poll};
use crate::error::ScenarioError;
use crate::packet::Packet;
use crate::topology::{Crossing, Hop, MOST_ENTRIES, NO_PORT, Peer, RouteTable, Topology, Wire, Wires};
use std::cmp::Reverse;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

/// Most layers: a virtual channel each.
pub(super) const MOST_LAYERS: u32 = 255;

/// A mechanism that is tables with layers and nothing else.
pub(super) trait Layered {
    /// The tables of a network, made once.
    fn tables(&self, topology: &dyn Topology) -> Result<Arc<RouteTable>, ScenarioError>;
}

impl<T: Layered> RoutingParams for T {
    fn check(&self, topology: &dyn Topology) -> Result<(), ScenarioError> {
        self.tables(topology).map(drop)
    }

    fn vcs_needed(&self, topology: &dyn Topology) -> (Vec<u8>, String) {
        channels_needed(topology, self.tables(topology).ok().as_deref(), 1)
    }

    fn proof(&self) -> Proof {
        Proof::Tables
    }

    fn per_network(&self) -> bool {
        true
    }

    fn table(&self, topology: &dyn Topology) -> Option<Arc<RouteTable>> {
        self.tables(topology).ok()
    }

    fn build(&self, context: &RoutingContext) -> Box<dyn Routing> {
        Box::new(Rule::new(context.table.as_ref(), 1))
    }
}

/// Every packet takes the port of its destination, in a virtual channel of its layer.
pub(super) struct Rule {
    table: Arc<RouteTable>,
    /// Virtual channels of a layer.
    width: u8,
}

impl Rule {
    pub(super) fn new(table: Option<&Arc<RouteTable>>, width: u8) -> Self {
        match table {
            Some(table) => Self { table: table.clone(), width },
            // The scenario has been checked: a network without tables is not built.
            None => unreachable!("layers without a table"),
        }
    }
}

impl Routing for Rule {
    fn remember(&self, _memory: &mut Memory) {}

    fn inject(&mut self, at: &mut Injection<'_>, packet: &mut Packet) {
        packet.flags = self.table.layer(at.router, packet.source, packet.destination);
    }

    fn rerouted(&mut self, _: Tick, _: usize, table: Option<&Arc<RouteTable>>) {
        if let Some(table) = table {
            self.table = table.clone();
        }
    }

    #[inline]
    fn route(&mut self, view: &mut View<'_>, input: u16, _: u16, packet: &mut Packet) -> Option<Hop> {
        let port = self.table.port(view.router, packet.destination);
        let vc = self.table.channel(packet.flags, Crossing { router: view.router, input, output: port });
        Some(Hop { port, vc: vc * self.width, vcs: self.width })
    }
}

/// The tables that parameters have made last, so that checks and runs of one scenario do not make them again.
#[derive(Clone, Default)]
pub(super) struct Made(Arc<Mutex<Option<Entry>>>);

/// A hash of everything that determines tables, and the tables.
type Entry = (u64, Result<Arc<RouteTable>, ScenarioError>);

/// Parameters are equal whatever tables they have made.
impl PartialEq for Made {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl fmt::Debug for Made {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("..")
    }
}

impl Made {
    /// The tables of a network, and of parameters that `said` stands for.
    pub(super) fn get(
        &self,
        topology: &dyn Topology,
        said: impl Hash,
        make: impl FnOnce() -> Result<RouteTable, ScenarioError>,
    ) -> Result<Arc<RouteTable>, ScenarioError> {
        self.get_by(key(topology, &said), || make().map(Arc::new))
    }

    fn get_by(
        &self,
        key: u64,
        make: impl FnOnce() -> Result<Arc<RouteTable>, ScenarioError>,
    ) -> Result<Arc<RouteTable>, ScenarioError> {
        let mut made = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &*made {
            Some((of, table)) if *of == key => table.clone(),
            _ => {
                let table = make();
                *made = Some((key, table.clone()));
                table
            }
        }
    }

    /// The tables of a mechanism of this kind that depend on the links alone. Tables made for earlier scenarios are
    /// reused.
    pub(super) fn of_links(
        &self,
        kind: &str,
        topology: &dyn Topology,
        said: impl Hash,
        make: impl FnOnce() -> Result<RouteTable, ScenarioError>,
    ) -> Result<Arc<RouteTable>, ScenarioError> {
        let said = (kind, said);
        let key = key(topology, &said);
        self.get_by(key, || match Lately::find(key) {
            Some(table) => Ok(table),
            None => make().map(Arc::new).inspect(|table| Lately::keep(key, table)),
        })
    }
}

/// Tables that this process has made lately, the last at the end: a check and the run after it, and the points of a
/// sweep, often have one network.
struct Lately;

static LATELY: Mutex<Vec<(u64, Arc<RouteTable>)>> = Mutex::new(Vec::new());

impl Lately {
    /// Bytes of tables that are kept, the last one left out.
    const BYTES: usize = 1 << 27;

    fn find(key: u64) -> Option<Arc<RouteTable>> {
        let kept = LATELY.lock().unwrap_or_else(PoisonError::into_inner);
        kept.iter().find(|(of, _)| *of == key).map(|(_, table)| table.clone())
    }

    fn keep(key: u64, table: &Arc<RouteTable>) {
        let mut kept = LATELY.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|(of, _)| *of != key);
        let mut bytes = 0;
        let fits = |(_, table): &&(u64, Arc<RouteTable>)| {
            bytes += table.bytes();
            bytes <= Self::BYTES
        };
        let some = kept.iter().rev().take_while(fits).count();
        let others = kept.len() - some;
        kept.drain(..others);
        kept.push((key, table.clone()));
    }
}

/// A hash of everything that determines tables.
fn key(topology: &dyn Topology, said: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    said.hash(&mut hasher);
    hash_network(topology, &mut hasher);
    hasher.finish()
}

fn hash_network(topology: &dyn Topology, hasher: &mut impl Hasher) {
    for router in 0..topology.routers() {
        poll();
        (topology.ports(router), topology.faulty().is_some_and(|faulty| faulty.is_down(router))).hash(hasher);
        for port in 0..topology.ports(router) {
            let link = topology.port(router, port);
            link.class.hash(hasher);
            match link.peer {
                Peer::Endpoint(endpoint) => (0, endpoint, 0).hash(hasher),
                Peer::Router { router, port } => (1, router, port).hash(hasher),
                Peer::None => (2, 0, 0).hash(hasher),
            }
        }
    }
}

/// Virtual channels for the layers of a table.
pub(super) fn channels_needed(topology: &dyn Topology, table: Option<&RouteTable>, width: u8) -> (Vec<u8>, String) {
    let count = table.map_or(1, RouteTable::channel_count).clamp(1, MOST_LAYERS);
    let all = count.saturating_mul(width.into()).min(MOST_LAYERS);
    let mut needed = vec![all as u8; topology.classes().len()];
    needed[0] = 1;
    let layers = if count == 1 { "1 layer".into() } else { format!("{count} layers") };
    let each = if width == 1 { "one virtual channel".into() } else { format!("{width} virtual channels") };
    (needed, format!("its routes are in {layers} of {each} each"))
}

/// Refuses networks of more routers than tables are made for.
pub(super) fn refuse_large(topology: &dyn Topology) -> Result<(), ScenarioError> {
    let routers = topology.routers();
    match u64::from(routers) * u64::from(routers) > MOST_ENTRIES {
        true => Err(too_large(routers, routers)),
        false => Ok(()),
    }
}

/// The error of tables that are too large.
pub(super) fn too_large(routers: u32, destinations: u32) -> ScenarioError {
    let expected =
        format!("tables of {routers} routers for {destinations} destinations; expected at most {MOST_ENTRIES} entries");
    ScenarioError::missing("kind", expected)
}

/// The error of a network whose routes take more layers than there can be.
pub(super) fn too_many_layers() -> ScenarioError {
    ScenarioError::missing("kind", format!("its routes take more than {MOST_LAYERS} layers here; expected fewer"))
}

/// The error of a router from which another cannot be reached.
pub(super) fn apart(wires: &Wires, from: u32, to: u32) -> ScenarioError {
    let (from, to) = (wires.words().router(from), wires.words().router(to));
    let expected = format!("no links lead from {from} to {to}; expected a way from each to each");
    ScenarioError::missing("kind", expected)
}

/// Endpoints of one router to which routes lead the same way.
#[derive(Debug, Clone)]
pub(super) struct Group {
    /// Their router.
    pub(super) router: u32,
    /// Their numbers.
    pub(super) endpoints: Vec<u32>,
}

/// The destinations of routes, in the order in which their routes are chosen.
#[derive(Debug)]
pub(super) struct Destinations {
    groups: Vec<Group>,
    /// A group is all endpoints of a router.
    of_routers: bool,
}

impl Destinations {
    /// Every router with endpoints, in the order of routers: one way to all of its endpoints.
    pub(super) fn routers(wires: &Wires) -> Self {
        // Whose they are says all; nobody asks which ones.
        let group = |router| Group { router, endpoints: Vec::new() };
        Self { groups: wires.hosts().map(group).collect(), of_routers: true }
    }

    /// Every endpoint, the endpoints of one router one after another, like subnet managers, which have a route to every
    /// port. Routers with most endpoints come first. If a table for all endpoints would have more than `MOST_ENTRIES`,
    /// the endpoints of a router share routes in turn, in as many groups as there is room for.
    pub(super) fn endpoints(topology: &dyn Topology, wires: &Wires) -> Self {
        let mut attached = vec![Vec::new(); wires.routers() as usize];
        for endpoint in 0..topology.endpoints() {
            attached[topology.attachment(endpoint).0 as usize].push(endpoint);
        }
        let mut hosts: Vec<u32> = wires.hosts().collect();
        hosts.sort_by_key(|&router| Reverse(wires.endpoints(router)));
        let counts: Vec<u32> = hosts.iter().map(|&router| wires.endpoints(router)).collect();
        let most = most_groups(&counts, wires.routers());
        let mut groups = Vec::new();
        for router in hosts {
            let of_router = &attached[router as usize];
            let count = of_router.len().min(most as usize);
            groups.extend((0..count).map(|first| {
                let endpoints = of_router.iter().copied().skip(first).step_by(count).collect();
                Group { router, endpoints }
            }));
        }
        Self { groups, of_routers: false }
    }

    /// The groups of one router after another.
    pub(super) fn by_router(&self) -> impl Iterator<Item = &[Group]> {
        self.groups.chunk_by(|one, next| one.router == next.router)
    }

    /// Routes from all routers to all groups.
    pub(super) fn routes(&self, wires: &Wires) -> usize {
        self.groups.len() * wires.routers() as usize
    }
}

/// Most groups for the endpoints of a router, in a network of `routers` routers with these endpoints.
fn most_groups(endpoints: &[u32], routers: u32) -> u32 {
    let fits = |most: u32| {
        let columns: u64 = endpoints.iter().map(|&count| u64::from(count.min(most))).sum();
        columns * u64::from(routers) <= MOST_ENTRIES
    };
    let (mut fitting, mut most) = (1, endpoints.iter().copied().max().unwrap_or(1).max(1));
    while fitting < most {
        let middle = fitting + (most - fitting).div_ceil(2);
        if fits(middle) { fitting = middle } else { most = middle - 1 }
    }
    fitting
}

/// Trees of routes towards one destination after another, chosen by the load that links carry already.
pub(super) struct Balance<'a> {
    wires: &'a Wires,
    /// Pairs of endpoints whose route takes a link, by its place.
    loads: Vec<u64>,
    /// Sum of the loads on the chosen route from each router.
    costs: Vec<u64>,
    /// By router, the place of the link of that way; all ones if there is none.
    chosen: Vec<u32>,
    /// Endpoints whose packets go through each router.
    sources: Vec<u64>,
    columns: Columns,
}

/// A table and its next columns, which are entered together: rows lie far apart, so that an entry takes as long as a
/// row of entries.
struct Columns {
    table: RouteTable,
    routers: usize,
    /// Columns that have been given to endpoints.
    used: u32,
    /// The columns that wait.
    waiting: Vec<u32>,
    /// The ports of all routers, one waiting column after another; `NO_PORT` if there is none.
    ports: Vec<u16>,
    /// The router of the last destination, and the different columns of its endpoints.
    last: u32,
    different: Vec<(u32, Vec<u16>)>,
}

/// Columns that are entered together: a byte each, they fill a line of a cache.
pub(super) const TOGETHER: usize = 64;

impl Columns {
    fn new(table: RouteTable, routers: u32) -> Self {
        let (waiting, ports, different) = (Vec::new(), Vec::new(), Vec::new());
        Self { table, routers: routers as usize, used: 0, waiting, ports, last: NONE, different }
    }

    /// Adds the ports of all routers towards a group; true if no group of its router has had the same ones.
    fn add(&mut self, group: &Group, ports: Vec<u16>) -> bool {
        if self.table.is_of_routers() {
            self.wait(group.router, &ports);
            return true;
        }
        if self.last != group.router {
            self.last = group.router;
            self.different.clear();
        }
        let known = self.different.iter().find(|(_, of)| *of == ports).map(|(column, _)| *column);
        let column = known.unwrap_or(self.used);
        group.endpoints.iter().for_each(|&endpoint| self.table.assign(endpoint, column));
        if known.is_none() {
            self.used += 1;
            self.wait(column, &ports);
            self.different.push((column, ports));
        }
        known.is_none()
    }

    fn wait(&mut self, column: u32, ports: &[u16]) {
        if self.waiting.len() == TOGETHER {
            self.enter();
        }
        self.waiting.push(column);
        self.ports.extend_from_slice(ports);
    }

    fn enter(&mut self) {
        for router in 0..self.routers {
            for (place, &column) in self.waiting.iter().enumerate() {
                let port = self.ports[place * self.routers + router];
                if port != NO_PORT {
                    self.table.set(router as u32, column, port);
                }
            }
        }
        self.waiting.clear();
        self.ports.clear();
    }

    fn into_table(mut self) -> RouteTable {
        self.enter();
        if !self.table.is_of_routers() {
            self.table.narrow(self.used);
        }
        self.table
    }
}

impl<'a> Balance<'a> {
    /// Trees towards these destinations, which are entered into a table of `topology`.
    pub(super) fn new(
        topology: &dyn Topology,
        wires: &'a Wires,
        destinations: &Destinations,
    ) -> Result<Self, ScenarioError> {
        refuse_large(topology)?;
        // A column more, for endpoints of routers that have failed.
        let of_groups = || RouteTable::of_columns(topology, destinations.groups.len() as u32 + 1);
        let of_routers = destinations.of_routers.then(|| RouteTable::of_routers(topology)).flatten();
        let table = of_routers.unwrap_or_else(of_groups);
        let routers = wires.routers() as usize;
        Ok(Self {
            wires,
            loads: vec![0; wires.places()],
            costs: vec![0; routers],
            chosen: vec![NONE; routers],
            sources: vec![0; routers],
            columns: Columns::new(table, wires.routers()),
        })
    }

    /// The table with all trees.
    pub(super) fn into_table(self) -> RouteTable {
        self.columns.into_table()
    }

    /// Chooses the routes of all routers in `order` to its first one. In `order`, every router comes after all routers
    /// to which `leads` lets it send packets. It takes the route with the least load to the end; among equals, the one
    /// with the lowest port.
    fn least(&mut self, order: &[u32], leads: impl Fn(u32, Wire) -> bool) {
        let Some((&to, others)) = order.split_first() else { return };
        self.costs[to as usize] = 0;
        for &router in others {
            let ways = self.wires.leaving(router).filter(|(_, wire)| leads(router, *wire));
            let cost =
                |(place, wire): (u32, Wire)| (self.costs[wire.router as usize] + self.loads[place as usize], place);
            let (cost, place) = ways.map(cost).min().unwrap_or((0, NONE));
            self.costs[router as usize] = cost;
            self.chosen[router as usize] = place;
        }
    }

    /// [`Self::least`], which also adds each router's own load to the links at once. A router takes the route with the
    /// least sum of squared loads, including its own, so that heavily loaded links are spared.
    fn least_with_own(&mut self, order: &[u32], group: &Group, leads: impl Fn(u32, Wire) -> bool) {
        let Some((&to, others)) = order.split_first() else { return };
        for &router in others {
            let own = u64::from(self.wires.endpoints(router)) * group.endpoints.len() as u64;
            let ways = self.wires.leaving(router).filter(|(_, wire)| leads(router, *wire));
            let cost = |(place, _): (u32, Wire)| {
                let squares = self.way(place, to).map(|place| (self.loads[place as usize] + own).saturating_pow(2));
                (squares.fold(0u64, u64::saturating_add), place)
            };
            let place = ways.map(cost).min().map_or(NONE, |(_, place)| place);
            self.chosen[router as usize] = place;
            let mut next = place;
            while next != NONE {
                self.loads[next as usize] += own;
                next = self.behind(next, to);
            }
        }
    }

    /// The chosen link behind the one at a place; `NONE` if that leads to router `to`.
    fn behind(&self, place: u32, to: u32) -> u32 {
        let router = self.wires.far(place).router;
        if router == to { NONE } else { self.chosen[router as usize] }
    }

    /// The link at a place, and the chosen ones behind it, up to router `to`.
    fn way(&self, place: u32, to: u32) -> impl Iterator<Item = u32> + '_ {
        std::iter::successors(Some(place), move |&place| Some(self.behind(place, to)).filter(|&next| next != NONE))
    }

    /// Has a router take the link at a place.
    pub(super) fn choose(&mut self, router: u32, place: u32) {
        self.chosen[router as usize] = place;
    }

    /// Enters the chosen ways of all routers but the first of `order`, to which they lead, into the table, and counts
    /// what their links carry. True if no group of the same router is reached in the same ways.
    pub(super) fn settle(&mut self, order: &[u32], group: &Group) -> bool {
        let Some((_, others)) = order.split_first() else { return false };
        let mut ports = vec![NO_PORT; self.chosen.len()];
        for &router in others.iter().filter(|&&router| self.chosen[router as usize] != NONE) {
            ports[router as usize] = (self.chosen[router as usize] - self.wires.first(router)) as u16;
        }
        self.carry(order, group, |load, pairs| *load += pairs);
        self.columns.add(group, ports)
    }

    /// Changes the loads of the links on the chosen routes, by the pairs of endpoints on these routes.
    fn carry(&mut self, order: &[u32], group: &Group, change: impl Fn(&mut u64, u64)) {
        let Some((&to, others)) = order.split_first() else { return };
        for &router in others {
            self.sources[router as usize] = self.wires.endpoints(router).into();
        }
        self.sources[to as usize] = 0;
        let count = match group.endpoints.len() as u64 {
            0 => self.wires.endpoints(to).into(),
            count => count,
        };
        for &router in others.iter().rev() {
            let place = self.chosen[router as usize];
            if place == NONE {
                continue;
            }
            let passing = self.sources[router as usize];
            change(&mut self.loads[place as usize], passing * count);
            self.sources[self.wires.far(place).router as usize] += passing;
        }
    }

    /// Chooses all routes, and then chooses those to one group after another again, now that the loads of all others
    /// are known. Returns, by group, the links that routers take. The round counts that leaves the least load on the
    /// busiest link.
    fn refine(&mut self, destinations: &Destinations, ways: &mut impl Ways) -> Result<Vec<Vec<u32>>, ScenarioError> {
        let mut all: Vec<Vec<u32>> = vec![Vec::new(); destinations.groups.len()];
        let (mut best, mut since) = ((u64::MAX, Vec::new()), 0);
        let mut groups: Vec<(usize, &Group)> = destinations.groups.iter().enumerate().collect();
        for round in 0..ROUNDS {
            let mut found = NONE;
            for &(number, group) in &groups {
                poll();
                if found != group.router {
                    found = group.router;
                    ways.find(found)?;
                }
                if round == 0 {
                    self.least(ways.order(), |at, wire| ways.leads(at, wire));
                    self.carry(ways.order(), group, |load, pairs| *load += pairs);
                } else {
                    self.chosen.clone_from(&all[number]);
                    self.carry(ways.order(), group, |load, pairs| *load -= pairs);
                    self.least_with_own(ways.order(), group, |at, wire| ways.leads(at, wire));
                }
                all[number].clone_from(&self.chosen);
            }
            // From both ends by turns.
            groups.reverse();
            let most = self.loads.iter().copied().max().unwrap_or(0);
            since += 1;
            if most < best.0 {
                (best, since) = ((most, all.clone()), 0);
            } else if since == IN_VAIN {
                break;
            }
        }
        self.loads.fill(0);
        Ok(best.1)
    }
}

/// Which ways lead to a router.
pub(super) trait Ways {
    /// Finds the ways to a router.
    fn find(&mut self, to: u32) -> Result<(), ScenarioError>;
    /// The routers that have a route: first the destination, then every other router after all to which it may send.
    fn order(&self) -> &[u32];
    /// True if a way of router `at` leads over this link of it.
    fn leads(&self, at: u32, wire: Wire) -> bool;
}

/// Most rounds in which ways are chosen, and those without success after which it ends.
const ROUNDS: usize = 10;
const IN_VAIN: usize = 3;

/// Most routes, from routers to groups, that are chosen in rounds. In larger networks the routes that come later make
/// up for those before.
const CHOSEN_AGAIN: usize = 1 << 20;

/// Routes from all routers to all destinations, balanced over the links. For one destination after another, the
/// available route is taken that has the least load from earlier routes. In networks that are not large, further rounds
/// choose again, with all other routes known. The routes of each column of the table are shown to `each`.
pub(super) fn balanced(
    topology: &dyn Topology,
    wires: &Wires,
    destinations: &Destinations,
    ways: &mut impl Ways,
    mut each: impl FnMut(&Tree<'_>),
) -> Result<RouteTable, ScenarioError> {
    let mut balance = Balance::new(topology, wires, destinations)?;
    let again = !destinations.of_routers && destinations.routes(wires) <= CHOSEN_AGAIN;
    let mut known = if again { balance.refine(destinations, ways)? } else { Vec::new() }.into_iter();
    for groups in destinations.by_router() {
        ways.find(groups[0].router)?;
        for group in groups {
            poll();
            match known.next() {
                Some(chosen) => balance.chosen = chosen,
                None => balance.least(ways.order(), |at, wire| ways.leads(at, wire)),
            }
            if balance.settle(ways.order(), group) {
                each(&Tree { order: ways.order(), chosen: &balance.chosen, passing: &balance.sources });
            }
        }
    }
    Ok(balance.into_table())
}

/// The shortest ways.
struct Shortest<'a> {
    wires: &'a Wires,
    distances: Vec<u32>,
    order: Vec<u32>,
}

impl Ways for Shortest<'_> {
    fn find(&mut self, to: u32) -> Result<(), ScenarioError> {
        self.wires.towards(to, &mut self.distances, &mut self.order);
        match self.wires.hosts().find(|&from| self.distances[from as usize] == NONE) {
            Some(from) => Err(apart(self.wires, from, to)),
            None => Ok(()),
        }
    }

    fn order(&self) -> &[u32] {
        &self.order
    }

    fn leads(&self, at: u32, wire: Wire) -> bool {
        self.distances[wire.router as usize].wrapping_add(1) == self.distances[at as usize]
    }
}

/// The routes to one group of endpoints.
pub(super) struct Tree<'a> {
    /// The routers that have a way, first the one to which it leads, every other behind the next one on its way.
    pub(super) order: &'a [u32],
    /// By router, the place of the link that it takes.
    pub(super) chosen: &'a [u32],
    /// By router: the number of endpoints whose packets come from it or pass through it, without those of the first
    /// router.
    pub(super) passing: &'a [u64],
}

/// True if routes are few enough to be chosen again in rounds.
pub(super) fn are_chosen_again(wires: &Wires, destinations: &Destinations) -> bool {
    !destinations.of_routers && destinations.routes(wires) <= CHOSEN_AGAIN
}

/// Shortest routes from all routers to all destinations, balanced over the links: for one destination after another, of
/// the shortest paths that which the routes before use least (T. Hoefler, T. Schneider and A. Lumsdaine, "Optimized
/// routing for large-scale InfiniBand networks", Hot Interconnects 2009). The routes of each column of the table are
/// shown to `each`. With `again`, ways are chosen again in rounds where routes are few.
pub(super) fn shortest(
    topology: &dyn Topology,
    wires: &Wires,
    destinations: &Destinations,
    again: bool,
    mut each: impl FnMut(&Tree<'_>),
) -> Result<RouteTable, ScenarioError> {
    if again && are_chosen_again(wires, destinations) {
        let mut ways = Shortest { wires, distances: Vec::new(), order: Vec::new() };
        return balanced(topology, wires, destinations, &mut ways, each);
    }
    // By the rule of `balanced`, where all are chosen once: the ways are found and weighed at once.
    let mut balance = Balance::new(topology, wires, destinations)?;
    let routers = wires.routers() as usize;
    // The links that lead to each router, in one list: where they come from, and their places.
    let (mut ends, mut links) = (vec![0], Vec::new());
    for router in 0..wires.routers() {
        links.extend(wires.incoming(router).iter().map(|&place| (wires.owner(place).0, place)));
        ends.push(links.len());
    }
    let (mut distances, mut order) = (vec![NONE; routers], Vec::with_capacity(routers));
    for group in &destinations.groups {
        poll();
        let to = group.router;
        distances.fill(NONE);
        distances[to as usize] = 0;
        order.clear();
        order.push(to);
        balance.costs[to as usize] = 0;
        let mut next = 0;
        // All routes of a router lead to routers that are nearer, which have their turn before it. So its own route is
        // chosen in its turn.
        while let Some(&router) = order.get(next) {
            let at = router as usize;
            next += 1;
            let (distance, cost) = (distances[at] + 1, balance.costs[at]);
            for &(before, place) in &links[ends[at]..ends[at + 1]] {
                let known = distances[before as usize];
                if known < distance {
                    continue;
                }
                let way = (cost + balance.loads[place as usize], place);
                if known == NONE {
                    distances[before as usize] = distance;
                    order.push(before);
                } else if (balance.costs[before as usize], balance.chosen[before as usize]) <= way {
                    continue;
                }
                (balance.costs[before as usize], balance.chosen[before as usize]) = way;
            }
        }
        if let Some(from) = wires.hosts().find(|&from| distances[from as usize] == NONE) {
            return Err(apart(wires, from, to));
        }
        if balance.settle(&order, group) {
            each(&Tree { order: &order, chosen: &balance.chosen, passing: &balance.sources });
        }
    }
    Ok(balance.into_table())
}

/// Dependencies of links on links, numbered: a packet that came over one link leaves over the next. The dependencies of
/// one link are adjacent, ordered by the port of the other link.
#[derive(Debug)]
pub(super) struct Dependencies {
    /// By place: the number of the link's first dependency, and of the next link's.
    ends: Vec<u32>,
    /// By place, what makes a number of a port of the far end.
    shifts: Vec<u32>,
}

impl Dependencies {
    pub(super) fn new(wires: &Wires) -> Self {
        // Ports of endpoints, at either end of a router's, have no numbers.
        let ports = |router: u32| {
            let first = wires.first(router);
            let mut links = wires.leaving(router).map(|(place, _)| place - first);
            let low = links.next().unwrap_or(0);
            low..links.last().unwrap_or(low) + 1
        };
        let ports: Vec<_> = (0..wires.routers()).map(ports).collect();
        let (mut ends, mut shifts) = (vec![0u32], Vec::new());
        for place in 0..wires.places() as u32 {
            let start = ends[place as usize];
            let ports = match wires.far(place).router {
                NONE => 0..0,
                router => ports[router as usize].clone(),
            };
            shifts.push(start.wrapping_sub(ports.start));
            ends.push(start + (ports.end - ports.start));
        }
        Self { ends, shifts }
    }

    /// Number of all.
    pub(super) fn count(&self) -> usize {
        self.ends.last().map_or(0, |&end| end as usize)
    }

    /// The dependencies of the link at a place.
    #[inline]
    pub(super) fn of(&self, place: u32) -> Range<u32> {
        self.ends[place as usize]..self.ends[place as usize + 1]
    }

    /// The place of the link that a dependency is of.
    pub(super) fn held(&self, dependency: u32) -> u32 {
        self.ends.partition_point(|&end| end <= dependency) as u32 - 1
    }

    /// The dependency of the link at a place on the link that leaves its far end by a port.
    #[inline]
    pub(super) fn on(&self, place: u32, port: u16) -> usize {
        self.shifts[place as usize].wrapping_add(port.into()) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::TopologyKind;
    use serde_json::json;

    #[test]
    fn endpoints_share_ways_where_tables_would_be_too_large() {
        // 2^13 routers have room for 2^15 columns: four each.
        assert_eq!(most_groups(&[3; 1 << 13], 1 << 13), 3);
        assert_eq!(most_groups(&[9; 1 << 13], 1 << 13), 4);
        // Half of them with one endpoint leave seven to the others.
        let some: Vec<u32> = (0..1 << 13).map(|router| if router % 2 == 0 { 1 } else { 9 }).collect();
        assert_eq!(most_groups(&some, 1 << 13), 7);
        assert_eq!(most_groups(&[40; 1 << 14], 1 << 14), 1);
        assert_eq!(most_groups(&[], 1 << 14), 1);
    }

    #[test]
    fn endpoints_to_which_the_ways_are_the_same_share_a_column() {
        let columns = |topology: serde_json::Value| {
            let topology = TopologyKind::from_value("topology", &topology).unwrap().build().unwrap();
            let wires = Wires::new(&*topology);
            let table =
                shortest(&*topology, &wires, &Destinations::endpoints(&*topology, &wires), true, |_| {}).unwrap();
            (0..topology.endpoints()).map(|endpoint| table.column(endpoint)).collect::<Vec<_>>()
        };
        // Between routers that are linked to each other there is one shortest route.
        let linked = json!({ "kind": "hyperx", "dims": [3], "endpoints_per_router": 3 });
        assert_eq!(columns(linked), [0, 0, 0, 1, 1, 1, 2, 2, 2]);
        // Two links between two routers: each is the route to one of two endpoints, and one of them also to the third.
        let links = json!([[0, 1], [0, 1]]);
        let two = json!({ "kind": "graph", "routers": 2, "endpoints": [1, 3], "links": links });
        assert_eq!(columns(two), [2, 0, 1, 0]);
    }
}
