//! Routing tables: one output port for every router and destination, and a layer for every route.

use super::{Hop, HopState, Hops, Leg, Topology};
use crate::engine::{NONE, poll};

/// The output port of every router for every destination, as distributed table-based routing has them.
///
/// A column holds the entries of one or several destinations: one endpoint, all endpoints of a router, or some of its
/// endpoints. Every router sends to all of them over one port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RouteTable {
    ports: Ports,
    /// Number of columns: entries of a router.
    columns: u32,
    /// Router and column of each endpoint. Without it, an endpoint's column is its number.
    attached: Option<Vec<Attached>>,
    /// True if columns belong to routers.
    of_routers: bool,
    endpoints: u32,
    layers: Option<Layers>,
    /// Packets that no queue organisation isolates may take any other minimal route instead.
    pub adaptive: bool,
}

/// The position of an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Attached {
    router: u32,
    /// The column of its entries.
    column: u32,
    /// Its port.
    ejection: u16,
}

/// Output ports, row by row: a row for each router.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Ports {
    /// A byte is enough if routers have fewer than 256 ports.
    Bytes(Vec<u8>),
    Words(Vec<u16>),
}

/// True if a byte is enough for the ports of all routers, and for a value that means no port.
fn fit_bytes(topology: &dyn Topology) -> bool {
    (0..topology.routers()).all(|router| topology.ports(router) <= u8::MAX.into())
}

/// The entry of a destination to which a router has no route.
pub const NO_PORT: u16 = u16::MAX;

/// The layer of every route, from 0 on. A layer is a virtual channel that packets keep along the whole route.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layers {
    /// Row by row: the source, then the destination. Empty: all routes are in layer 0.
    pub rows: Vec<u8>,
    /// True if a row belongs to a source endpoint; false if it belongs to the source's router.
    pub by_endpoint: bool,
    /// The channels of layers, where they differ from the layers' own numbers.
    pub channels: Option<ChannelMap>,
}

impl Layers {
    /// All routes in layer 0.
    pub const ONE: Self = Self { rows: Vec::new(), by_endpoint: false, channels: None };
}

/// The virtual channels of layers by input and output port of a router, like the SL-to-VL tables of InfiniBand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChannelMap {
    /// The first row of each router: rows of a router stand by input port, then output port.
    starts: Vec<u32>,
    ports: Vec<u16>,
    channels: Vec<u8>,
    /// Entries of a row, one for each layer.
    layers: u32,
}

impl ChannelMap {
    /// Every layer in the channel with its own number, for `layers` layers.
    pub fn new(topology: &dyn Topology, layers: u8) -> Self {
        let ports: Vec<u16> = (0..topology.routers()).map(|router| topology.ports(router)).collect();
        let starts = ports.iter().scan(0, |rows, &ports| {
            let start = *rows;
            *rows += u32::from(ports) * u32::from(ports);
            Some(start)
        });
        let starts: Vec<u32> = starts.collect();
        let rows = ports.iter().map(|&ports| usize::from(ports) * usize::from(ports)).sum::<usize>();
        let channels = (0..rows).flat_map(|_| 0..layers).collect();
        Self { starts, ports, channels, layers: layers.into() }
    }

    fn row(&self, router: u32, input: u16, output: u16) -> usize {
        let place = u32::from(input) * u32::from(self.ports[router as usize]) + u32::from(output);
        ((self.starts[router as usize] + place) * self.layers) as usize
    }

    /// The channels of all layers from one port to another of `router`.
    pub fn channels_mut(&mut self, router: u32, input: u16, output: u16) -> &mut [u8] {
        let row = self.row(router, input, output);
        &mut self.channels[row..row + self.layers as usize]
    }
}

/// A place on a route, to look up its channel.
#[derive(Debug, Clone, Copy)]
pub struct Crossing {
    /// The router.
    pub router: u32,
    /// Port by which the packet came.
    pub input: u16,
    /// Port by which it leaves.
    pub output: u16,
}

/// Routes of one leg.
const DIRECT: Leg = Leg { index: 0, of: 1, to_group: false };

/// Most entries of a table.
pub(crate) const MOST_ENTRIES: u64 = 1 << 28;

impl RouteTable {
    /// One minimal route from every router to every destination, balanced over the links: where several hops are
    /// minimal, the destination decides.
    ///
    /// In a tree, the up-port is the destination's digit of the level (Gomez, Gilabert, Gomez, Lopez and Duato,
    /// "Deterministic versus adaptive routing in fat-trees", IPDPS 2007). So consecutive destinations leave a router
    /// over different links, and all packets to a destination come down the same way. Elsewhere, the hop is the
    /// destination's number modulo the number of hops. `None` if the table would have more than `MOST_ENTRIES`.
    pub fn balanced(topology: &dyn Topology) -> Option<Self> {
        let (routers, endpoints) = (topology.routers(), topology.endpoints());
        if u64::from(routers) * u64::from(endpoints) > MOST_ENTRIES {
            return None;
        }
        let vcs = topology.vcs_needed(DIRECT).0;
        let mut ports = Vec::with_capacity(routers as usize * endpoints as usize);
        let mut hops = Vec::new();
        for router in 0..routers {
            poll();
            let mut listed = None;
            for destination in 0..endpoints {
                let (to, ejection) = topology.attachment(destination);
                if to == router {
                    ports.push(ejection);
                    continue;
                }
                if listed != Some(to) {
                    hops.clear();
                    topology.minimal_hops(router, to, DIRECT, START, &vcs, &mut hops);
                    listed = Some(to);
                }
                ports.push(choose(topology, router, to, destination, &hops));
            }
        }
        Some(Self::of_endpoints(topology, ports))
    }

    /// A table without routes. `None` if the table would have more than `MOST_ENTRIES`.
    pub fn empty(topology: &dyn Topology) -> Option<Self> {
        let (routers, endpoints) = (topology.routers(), topology.endpoints());
        let entries = u64::from(routers) * u64::from(endpoints);
        (entries <= MOST_ENTRIES).then(|| Self::of_endpoints(topology, vec![NO_PORT; entries as usize]))
    }

    fn of_endpoints(topology: &dyn Topology, ports: Vec<u16>) -> Self {
        let endpoints = topology.endpoints();
        let byte = |port: u16| port.min(u8::MAX.into()) as u8;
        let ports = match fit_bytes(topology) {
            true => Ports::Bytes(ports.into_iter().map(byte).collect()),
            false => Ports::Words(ports),
        };
        Self { ports, columns: endpoints, attached: None, of_routers: false, endpoints, layers: None, adaptive: false }
    }

    /// A table without routes, with a column for each router: one route leads to all endpoints of a router. It has a
    /// byte for each pair of routers if no router has more than 255 ports. `None` if the table would have more than
    /// `MOST_ENTRIES`.
    pub fn of_routers(topology: &dyn Topology) -> Option<Self> {
        let routers = topology.routers();
        if u64::from(routers) * u64::from(routers) > MOST_ENTRIES {
            return None;
        }
        let mut table = Self::of_columns(topology, routers);
        table.of_routers = true;
        table.attached.iter_mut().flatten().for_each(|attached| attached.column = attached.router);
        Some(table)
    }

    /// A table without routes, with this number of columns. [`Self::assign`] gives endpoints their columns.
    pub(crate) fn of_columns(topology: &dyn Topology, columns: u32) -> Self {
        let entries = topology.routers() as usize * columns as usize;
        let ports = match fit_bytes(topology) {
            true => Ports::Bytes(vec![u8::MAX; entries]),
            false => Ports::Words(vec![NO_PORT; entries]),
        };
        let endpoints = topology.endpoints();
        let attached = |endpoint| {
            let (router, ejection) = topology.attachment(endpoint);
            Attached { router, column: NONE, ejection }
        };
        let attached = Some((0..endpoints).map(attached).collect());
        Self { ports, columns, attached, of_routers: false, endpoints, layers: None, adaptive: false }
    }

    /// Gives an endpoint a column.
    pub(crate) fn assign(&mut self, endpoint: u32, column: u32) {
        if let Some(attached) = self.attached.as_mut().and_then(|all| all.get_mut(endpoint as usize)) {
            attached.column = column;
        }
    }

    /// Keeps the `used` first columns. If an endpoint has no column, a column without entries is added for it: no route
    /// leads there.
    pub(crate) fn narrow(&mut self, used: u32) {
        let mut columns = used;
        for attached in self.attached.iter_mut().flatten().filter(|attached| attached.column == NONE) {
            (attached.column, columns) = (used, used + 1);
        }
        match &mut self.ports {
            Ports::Bytes(ports) => cut(ports, self.columns as usize, columns as usize),
            Ports::Words(ports) => cut(ports, self.columns as usize, columns as usize),
        }
        self.columns = columns;
    }

    /// The table with these layers.
    pub fn with_layers(mut self, layers: Layers) -> Self {
        self.layers = Some(layers);
        self
    }

    #[inline]
    fn entry(&self, router: u32, column: u32) -> u16 {
        let place = router as usize * self.columns as usize + column as usize;
        match &self.ports {
            Ports::Words(ports) => ports[place],
            Ports::Bytes(ports) if ports[place] == u8::MAX => NO_PORT,
            Ports::Bytes(ports) => ports[place].into(),
        }
    }

    /// The output port of `router` for `destination`; [`NO_PORT`] if it has none.
    #[inline]
    pub fn port(&self, router: u32, destination: u32) -> u16 {
        match &self.attached {
            None => self.entry(router, destination),
            Some(attached) => match attached[destination as usize] {
                Attached { router: to, ejection, .. } if to == router => ejection,
                Attached { column, .. } => self.entry(router, column),
            },
        }
    }

    /// The output port of `router` for another router, in a table with a column for each router.
    #[inline]
    pub fn towards(&self, router: u32, to: u32) -> u16 {
        debug_assert!(self.is_of_routers(), "columns of routers");
        self.entry(router, to)
    }

    /// Number of columns.
    pub(crate) fn columns(&self) -> u32 {
        self.columns
    }

    /// The column of a destination. Destinations of one column are endpoints of one router.
    #[inline]
    pub(crate) fn column(&self, destination: u32) -> u32 {
        self.attached.as_ref().map_or(destination, |attached| attached[destination as usize].column)
    }

    /// Replaces the output port of `router` for a column: a destination, or a router in a table whose columns belong to
    /// routers.
    pub fn set(&mut self, router: u32, column: u32, port: u16) {
        let place = router as usize * self.columns as usize + column as usize;
        match &mut self.ports {
            Ports::Words(ports) => ports[place] = port,
            Ports::Bytes(ports) => ports[place] = port.min(u8::MAX.into()) as u8,
        }
    }

    /// True if one route leads to all endpoints of a router.
    pub fn is_of_routers(&self) -> bool {
        self.of_routers
    }

    /// The layers of routes, if they have any. Without layers, the topology determines the channel of a hop.
    pub fn layers(&self) -> Option<&Layers> {
        self.layers.as_ref()
    }

    /// Number of layers, 0 if there are none.
    pub fn layer_count(&self) -> u32 {
        let most = |layers: &Layers| layers.rows.iter().copied().max().unwrap_or(0);
        self.layers.as_ref().map_or(0, |layers| u32::from(most(layers)) + 1)
    }

    /// Number of virtual channels that layers take on some link; 0 if there are none.
    pub fn channel_count(&self) -> u32 {
        let map = self.layers.as_ref().and_then(|layers| layers.channels.as_ref());
        map.map_or(self.layer_count(), |map| map.channels.iter().max().map_or(0, |&most| u32::from(most) + 1))
    }

    /// The layer of the route from an endpoint of router `from` to another endpoint.
    #[inline]
    pub fn layer(&self, from: u32, source: u32, destination: u32) -> u8 {
        let Some(layers) = self.layers.as_ref().filter(|layers| !layers.rows.is_empty()) else { return 0 };
        let row = if layers.by_endpoint { source } else { from };
        layers.rows[row as usize * self.columns as usize + self.column(destination) as usize]
    }

    /// The virtual channel that packets of a layer take behind a router.
    #[inline]
    pub fn channel(&self, layer: u8, at: Crossing) -> u8 {
        let map = self.layers.as_ref().and_then(|layers| layers.channels.as_ref());
        map.map_or(layer, |map| map.channels[map.row(at.router, at.input, at.output) + usize::from(layer)])
    }

    /// The destinations that `router` reaches over `port`, in order.
    pub fn behind(&self, router: u32, port: u16) -> impl Iterator<Item = u32> + '_ {
        (0..self.endpoints).filter(move |destination| self.port(router, *destination) == port)
    }

    /// Number of endpoints.
    pub fn endpoints(&self) -> u32 {
        self.endpoints
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        let ports = match &self.ports {
            Ports::Bytes(ports) => ports.capacity(),
            Ports::Words(ports) => ports.capacity() * 2,
        };
        let layers = |layers: &Layers| {
            let map = layers.channels.as_ref().map_or(0, |map| map.channels.capacity());
            layers.rows.capacity() + map
        };
        let attached = self.attached.as_ref().map_or(0, |attached| attached.capacity() * size_of::<Attached>());
        ports + attached + self.layers.as_ref().map_or(0, layers)
    }
}

/// The state of a packet before its first hop.
const START: HopState = HopState { came_by: 0, came_in: 0, leg_hops: Hops(0) };

/// Cuts rows of `from` entries to their first `to` entries.
fn cut<T: Copy>(entries: &mut Vec<T>, from: usize, to: usize) {
    let rows = entries.len().checked_div(from).unwrap_or(0);
    (0..rows).for_each(|row| entries.copy_within(row * from..row * from + to, row * to));
    entries.truncate(rows * to);
    entries.shrink_to_fit();
}

fn choose(topology: &dyn Topology, router: u32, to: u32, destination: u32, hops: &[Hop]) -> u16 {
    let ascent = topology.tree().and_then(|tree| {
        let place = tree.place(router);
        let up = || tree.down(place.level) + tree.digit(place.level, destination);
        tree.descent(place, to).is_none().then(up)
    });
    let chosen = match ascent {
        // With faulty links: the next port, in cyclic order, that leads there.
        Some(port) => hops.iter().find(|hop| hop.port >= port).or(hops.first()),
        None => hops.get(destination as usize % hops.len().max(1)),
    };
    chosen.map_or(0, |hop| hop.port)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::{Peer, TopologyKind};
    use serde_json::json;

    fn built(value: serde_json::Value) -> (std::sync::Arc<dyn Topology>, RouteTable) {
        let topology = TopologyKind::from_value("topology", &value).unwrap().build().unwrap();
        let table = RouteTable::balanced(&*topology).unwrap();
        (topology, table)
    }

    /// Links from `source` to `destination`, following the table.
    fn route(topology: &dyn Topology, table: &RouteTable, source: u32, destination: u32) -> Vec<(u32, u16)> {
        let mut at = topology.attachment(source).0;
        let mut links = Vec::new();
        loop {
            let port = table.port(at, destination);
            match topology.port(at, port).peer {
                Peer::Endpoint(endpoint) => {
                    assert_eq!(endpoint, destination);
                    return links;
                }
                Peer::Router { router, .. } => {
                    links.push((at, port));
                    at = router;
                }
                Peer::None => panic!("the route from {source} to {destination} ends at router {at}"),
            }
        }
    }

    #[test]
    fn a_tree_carries_the_same_load_on_every_link() {
        // k-ary n-trees: every link of a stage carries equally many pairs, and each down-link has one destination.
        for (arity, levels) in [(2, 2), (2, 4), (4, 3), (3, 3)] {
            let (topology, table) = built(json!({ "kind": "k_ary_n_tree", "arity": arity, "levels": levels }));
            let n = topology.endpoints();
            let mut loads = std::collections::BTreeMap::new();
            let mut below = std::collections::BTreeMap::new();
            for (source, destination) in (0..n).flat_map(|s| (0..n).map(move |d| (s, d))) {
                let links = route(&*topology, &table, source, destination);
                let (a, b) = (topology.attachment(source).0, topology.attachment(destination).0);
                assert_eq!(links.len() as u32, topology.distance(a, b), "minimal");
                for link in links {
                    *loads.entry(link).or_insert(0) += 1;
                    let tree = topology.tree().unwrap();
                    if link.1 < tree.down(tree.level(link.0)) {
                        assert_eq!(
                            *below.entry(link).or_insert(destination),
                            destination,
                            "one destination below {link:?}"
                        );
                    }
                }
            }
            let tree = topology.tree().unwrap();
            for level in 0..tree.levels() {
                let up: Vec<u32> = loads
                    .iter()
                    .filter(|((r, p), _)| tree.level(*r) == level && *p >= tree.down(level))
                    .map(|(_, load)| *load)
                    .collect();
                assert!(up.iter().all(|load| *load == up[0]), "up-links of level {level}: {up:?}");
                assert_eq!(up.len() as u32, if level + 1 < tree.levels() { n } else { 0 });
            }
        }
    }

    #[test]
    fn consecutive_destinations_leave_over_different_links() {
        let (topology, table) = built(json!({ "kind": "k_ary_n_tree", "arity": 4, "levels": 3 }));
        let tree = topology.tree().unwrap();
        // From router 0: destinations 16 to 19 are elsewhere, and take up-ports 0 to 3.
        assert_eq!((16..20).map(|d| table.port(0, d) - tree.down(0)).collect::<Vec<_>>(), [0, 1, 2, 3]);
        // One level up the next digit decides.
        assert_eq!((16..24).map(|d| table.port(16, d) - tree.down(1)).collect::<Vec<_>>(), [0, 0, 0, 0, 1, 1, 1, 1]);
    }

    #[test]
    fn every_route_of_any_topology_is_minimal() {
        for value in [
            json!({ "kind": "dragonfly", "p": 2, "a": 4, "h": 2 }),
            json!({ "kind": "mesh", "dims": [3, 4] }),
            json!({ "kind": "hyperx", "dims": [3, 2], "parallel": [2, 1] }),
            json!({ "kind": "clos", "down": [3, 3], "up": [3], "faults": { "links": [[0, 3], [2, 4]] } }),
        ] {
            let (topology, table) = built(value);
            for (s, d) in (0..topology.endpoints()).flat_map(|s| (0..topology.endpoints()).map(move |d| (s, d))) {
                let distance = topology.distance(topology.attachment(s).0, topology.attachment(d).0);
                assert_eq!(route(&*topology, &table, s, d).len() as u32, distance);
            }
        }
    }

    #[test]
    fn a_port_has_its_destinations_behind_it() {
        let (_, mut table) = built(json!({ "kind": "k_ary_n_tree", "arity": 2, "levels": 2 }));
        // Router 0 has endpoints 0 and 1; 2 and 3 are reached over its up-ports 2 and 3.
        assert_eq!(table.behind(0, 2).collect::<Vec<_>>(), [2]);
        table.set(0, 3, 2);
        assert_eq!(table.behind(0, 2).collect::<Vec<_>>(), [2, 3]);
        assert_eq!(table.behind(0, 3).count(), 0);
    }
}
