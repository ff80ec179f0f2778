//! What mechanisms with tables and layers have in common: the rule, the tables that have been made, and the trees of
//! routes that are balanced over the links.

use super::{Injection, Proof, Routing, RoutingContext, RoutingParams, View};
use crate::engine::{NONE, Tick, poll};
use crate::error::ScenarioError;
use crate::packet::Packet;
use crate::topology::{Crossing, Hop, MOST_ENTRIES, NO_PORT, Peer, RouteTable, Topology, Wire, Wires};
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

/// What tables were made of, as a hash, and the tables.
type Entry = (u64, Result<Arc<RouteTable>, ScenarioError>);

/// Parameters are equal if what they say is.
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

    /// The same for tables that follow from the links alone, by the mechanism of this kind: those of scenarios before
    /// serve, too.
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

/// What tables are made of, as a hash.
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

/// An empty table with a column for each router.
pub(super) fn empty(topology: &dyn Topology) -> Result<RouteTable, ScenarioError> {
    RouteTable::of_routers(topology).ok_or_else(|| too_large(topology.routers(), topology.routers()))
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

/// Trees of routes towards one router after another, each chosen by what the links carry already.
pub(super) struct Balance<'a> {
    wires: &'a Wires,
    /// Pairs of endpoints whose route takes a link, by its place.
    loads: Vec<u64>,
    /// Of the chosen way from each router, the sum of these.
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
    /// The routers whose columns these are.
    to: Vec<u32>,
    /// The ports of all routers, column by column; `NO_PORT` if there is none.
    ports: Vec<u16>,
}

/// Columns that are entered together: a byte each, they fill a line of a cache.
pub(super) const TOGETHER: usize = 64;

impl Columns {
    fn new(table: RouteTable, routers: u32) -> Self {
        Self { table, routers: routers as usize, to: Vec::new(), ports: Vec::new() }
    }

    /// A column of no ports, to be filled.
    fn next(&mut self, to: u32) -> &mut [u16] {
        if self.to.len() == TOGETHER {
            self.enter();
        }
        let start = self.ports.len();
        self.to.push(to);
        self.ports.resize(start + self.routers, NO_PORT);
        &mut self.ports[start..]
    }

    fn enter(&mut self) {
        for router in 0..self.routers {
            for (column, &to) in self.to.iter().enumerate() {
                let port = self.ports[column * self.routers + router];
                if port != NO_PORT {
                    self.table.set(router as u32, to, port);
                }
            }
        }
        self.to.clear();
        self.ports.clear();
    }
}

impl<'a> Balance<'a> {
    /// Trees that are entered into `table`, which has a column for each router.
    pub(super) fn new(wires: &'a Wires, table: RouteTable) -> Self {
        let routers = wires.routers() as usize;
        Self {
            wires,
            loads: vec![0; wires.places()],
            costs: vec![0; routers],
            chosen: vec![NONE; routers],
            sources: vec![0; routers],
            columns: Columns::new(table, wires.routers()),
        }
    }

    /// The table with all trees.
    pub(super) fn into_table(mut self) -> RouteTable {
        self.columns.enter();
        self.columns.table
    }

    /// Enters the routes to the first router of `order` into the table. The others follow in an order in which every
    /// router stands behind all those to which `leads` lets it send packets; of these ways it takes the one that is
    /// least used up to the end, and of equal ones that of the lowest port.
    pub(super) fn tree(&mut self, order: &[u32], leads: impl Fn(u32, Wire) -> bool) {
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
        self.settle(order);
    }

    /// Enters the chosen ways of all routers but the first of `order`, to which they lead, into the table, and counts
    /// what their links carry.
    fn settle(&mut self, order: &[u32]) {
        let Some((&to, others)) = order.split_first() else { return };
        let ports = self.columns.next(to);
        for &router in others {
            self.sources[router as usize] = self.wires.endpoints(router).into();
        }
        self.sources[to as usize] = 0;
        for &router in others.iter().rev() {
            let place = self.chosen[router as usize];
            if place == NONE {
                continue;
            }
            ports[router as usize] = (place - self.wires.first(router)) as u16;
            let passing = self.sources[router as usize];
            self.loads[place as usize] += passing * u64::from(self.wires.endpoints(to));
            self.sources[self.wires.far(place).router as usize] += passing;
        }
    }
}

/// The routes to one router.
pub(super) struct Tree<'a> {
    /// The routers that have a way, first the one to which it leads, every other behind the next one on its way.
    pub(super) order: &'a [u32],
    /// By router, the place of the link that it takes.
    pub(super) chosen: &'a [u32],
    /// By router, the endpoints whose packets come from it or go through it; those of the first router are left out.
    pub(super) passing: &'a [u64],
}

/// Shortest routes between all routers with endpoints, balanced over the links: for one destination after another, of
/// the shortest paths that which the routes before use least (T. Hoefler, T. Schneider and A. Lumsdaine, "Optimized
/// routing for large-scale InfiniBand networks", Hot Interconnects 2009). Each destination's are shown to `each`.
pub(super) fn shortest(
    topology: &dyn Topology,
    wires: &Wires,
    mut each: impl FnMut(&Tree<'_>),
) -> Result<RouteTable, ScenarioError> {
    let mut balance = Balance::new(wires, empty(topology)?);
    let routers = wires.routers() as usize;
    // The links that lead to each router, in one list: where they come from, and their places.
    let (mut ends, mut links) = (vec![0], Vec::new());
    for router in 0..wires.routers() {
        links.extend(wires.incoming(router).iter().map(|&place| (wires.owner(place).0, place)));
        ends.push(links.len());
    }
    let (mut distances, mut order) = (vec![NONE; routers], Vec::with_capacity(routers));
    for to in wires.hosts() {
        poll();
        distances.fill(NONE);
        distances[to as usize] = 0;
        order.clear();
        order.push(to);
        balance.costs[to as usize] = 0;
        let mut next = 0;
        // All ways of a router lead to such as are nearer, which have their turn before it: when it comes, its own is
        // chosen.
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
        balance.settle(&order);
        each(&Tree { order: &order, chosen: &balance.chosen, passing: &balance.sources });
    }
    Ok(balance.into_table())
}

/// Dependencies of links on links, numbered: a packet that came over one link leaves over the next. Those of one link
/// stand together, by the port of the other.
#[derive(Debug)]
pub(super) struct Dependencies {
    /// By place: the number of the first one, and that of the next link's.
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

    /// Those of the link at a place.
    #[inline]
    pub(super) fn of(&self, place: u32) -> Range<u32> {
        self.ends[place as usize]..self.ends[place as usize + 1]
    }

    /// The place of the link that a dependency is of.
    pub(super) fn held(&self, dependency: u32) -> u32 {
        self.ends.partition_point(|&end| end <= dependency) as u32 - 1
    }

    /// That of the link at a place on the one that leaves its far end by a port.
    #[inline]
    pub(super) fn on(&self, place: u32, port: u16) -> usize {
        self.shifts[place as usize].wrapping_add(port.into()) as usize
    }
}
