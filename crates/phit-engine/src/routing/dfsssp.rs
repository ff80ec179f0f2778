//! DFSSSP: balanced shortest routes, moved to further layers until no layer has a circle.

use super::layered::{
    Dependencies, Destinations, Layered, MOST_LAYERS, Made, TOGETHER, Tree, are_chosen_again, shortest, too_many_layers,
};
use crate::engine::{NONE, poll};
use crate::error::ScenarioError;
use crate::topology::{Layers, MOST_ENTRIES, RouteTable, Topology, Wires};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::sync::Arc;

/// Deadlock-free single-source-shortest-path routing, DFSSSP (J. Domke, T. Hoefler and W. E. Nagel, "Deadlock-free
/// oblivious routing for arbitrary topologies", IPDPS 2011).
///
/// Shortest routes are chosen to one endpoint after another, over the links with the least load from earlier routes. In
/// networks of up to a million routes, further rounds choose them again, with all others known. All routes begin in the
/// first layer. As long as the layer's dependencies have a cycle, the dependency of the cycle that the fewest routes
/// share is cut. Then the links have an order. Routes with a dependency against it move to the next layer, where this
/// repeats. A layer is a virtual channel; there must be as many as the network needs.
///
/// Deterministic. When a dependency is cut, its routes no longer count for other dependencies; in a layer with millions
/// of routes, this holds only for a dependency shared by many. In the paper, all routes of cut dependencies move,
/// including some that the order would allow to stay, so it needs a few layers more.
///
/// ```toml
/// [routing]
/// kind = "dfsssp"
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Dfsssp {
    #[serde(skip)]
    #[schemars(skip)]
    made: Made,
}

/// Routes of one layer that are many: their counts are followed less closely.
const MANY: u64 = 1 << 22;

/// A router on the routes to a destination. The nodes of one destination are adjacent, each before the nodes behind it:
/// the destination, then each router that sends to it, followed by all routers that send over that one.
#[derive(Debug, Clone, Copy)]
struct Node {
    /// The dependency of its outgoing link on the next link of the route; `NONE` if the packet arrives there.
    dependency: u32,
    /// Distance, in nodes, back to the node of the next router; 0 at the destination.
    up: u16,
    /// The router, and the marks `WAITS` and `GONE`. A table has no more than 2^14 routers.
    router: u16,
}

/// The route that begins here has no layer yet.
const WAITS: u16 = 1 << 15;
/// It has been taken off the counts of this layer.
const GONE: u16 = 1 << 14;
const _: () = assert!(MOST_ENTRIES <= (GONE as u64) * (GONE as u64), "routers fit below the marks");

/// The routes that have no layer yet.
struct Routes<'a> {
    wires: &'a Wires,
    dependencies: Dependencies,
    nodes: Vec<Node>,
    /// Where the nodes of each destination end.
    trees: Vec<usize>,
    /// Routes that share each dependency.
    shared: Vec<u32>,
    /// By destination, in the order of `trees`, then source.
    layers: Vec<u8>,
    /// By router: scratch memory for the nodes of one destination.
    places: Vec<u16>,
    counts: Vec<u32>,
}

impl<'a> Routes<'a> {
    fn new(wires: &'a Wires, destinations: &Destinations) -> Self {
        let dependencies = Dependencies::new(wires);
        let routers = wires.routers() as usize;
        let entries = destinations.routes(wires);
        Self {
            wires,
            shared: vec![0; dependencies.count()],
            dependencies,
            nodes: Vec::with_capacity(entries),
            trees: Vec::new(),
            layers: Vec::with_capacity(entries),
            places: vec![0; routers],
            counts: vec![0; routers],
        }
    }

    /// Adds the routes to a destination, those routers left out that no packets come through.
    fn add(&mut self, tree: &Tree<'_>) {
        let Some((&to, others)) = tree.order.split_first() else { return };
        let wires = self.wires;
        let next = |router: u32| wires.far(tree.chosen[router as usize]).router as usize;
        let passed = || others.iter().copied().filter(|&router| tree.passing[router as usize] > 0);
        tree.order.iter().for_each(|&router| self.counts[router as usize] = 1);
        for router in passed().rev() {
            self.counts[next(router)] += self.counts[router as usize];
        }
        let base = self.nodes.len();
        let root = Node { dependency: NONE, up: 0, router: to as u16 };
        self.nodes.resize(base + self.counts[to as usize] as usize, root);
        self.layers.resize(self.layers.len() + wires.routers() as usize, 0);
        // From here on, the `counts` entry of a router is the place of the next node that sends to it.
        self.places[to as usize] = 0;
        self.counts[to as usize] = 1;
        for router in passed() {
            let (at, above) = (router as usize, next(router));
            let place = self.counts[above];
            self.counts[above] += self.counts[at];
            self.counts[at] = place + 1;
            self.places[at] = place as u16;
            let dependency = if above == to as usize {
                NONE
            } else {
                let port = tree.chosen[above] - wires.first(above as u32);
                self.dependencies.on(tree.chosen[at], port as u16) as u32
            };
            let waits = if wires.endpoints(router) > 0 { WAITS } else { 0 };
            let up = place as u16 - self.places[above];
            self.nodes[base + place as usize] = Node { dependency, up, router: router as u16 | waits };
        }
        self.trees.push(self.nodes.len());
    }

    /// Divides the routes among layers without circles: rows by source, with `columns` entries each, one for every
    /// destination.
    fn divide(mut self, columns: u32) -> Result<Vec<u8>, ScenarioError> {
        let agrees = vec![!0; self.shared.len().div_ceil(64)];
        // All wait for the first layer: what shares each dependency is counted.
        let mut waiting = self.sort(&agrees, None);
        for layer in 0..MOST_LAYERS {
            let order = self.order(waiting);
            let agrees = self.agreeing(&order);
            waiting = self.sort(&agrees, Some(layer as u8));
            if waiting == 0 {
                self.nodes = Vec::new();
                return Ok(self.rows(columns as usize));
            }
        }
        Err(too_many_layers())
    }

    /// By dependency, a bit: true if an order of links has the link that is held before the other one.
    fn agreeing(&self, order: &[u32]) -> Vec<u64> {
        let mut agrees = vec![0; self.shared.len().div_ceil(64)];
        for place in 0..self.wires.places() as u32 {
            let there = self.wires.far(place).router;
            if there == NONE {
                continue;
            }
            for (wanted, _) in self.wires.leaving(there) {
                let dependency = self.dependencies.on(place, (wanted - self.wires.first(there)) as u16);
                let agree = order[place as usize] < order[wanted as usize];
                agrees[dependency / 64] |= u64::from(agree) << (dependency % 64);
            }
        }
        agrees
    }

    /// Puts the routes whose dependencies all agree into a layer, counts the dependencies of the others, and drops
    /// nodes that no remaining route visits. Returns the number of remaining routes.
    fn sort(&mut self, agrees: &[u64], layer: Option<u8>) -> u64 {
        let Self { nodes, shared, layers, places, counts, .. } = self;
        let routers = places.len();
        shared.fill(0);
        let (mut start, mut kept, mut waiting) = (0, 0, 0);
        for (tree, layers) in self.trees.iter_mut().zip(layers.chunks_mut(routers)) {
            poll();
            let end = *tree;
            // For the nodes of this destination: 1 if all dependencies from here on agree.
            places[0] = 1;
            counts[0] = 0;
            for at in 1..end - start {
                let Node { dependency, up, router } = nodes[start + at];
                let agree = dependency == NONE || agrees[dependency as usize / 64] >> (dependency % 64) & 1 == 1;
                let all = places[at - usize::from(up)] & u16::from(agree);
                places[at] = all;
                counts[at] = 0;
                if router & WAITS != 0 {
                    let router = router & !(WAITS | GONE);
                    match layer.filter(|_| all == 1) {
                        Some(layer) => {
                            layers[usize::from(router)] = layer;
                            nodes[start + at].router = router;
                        }
                        None => {
                            counts[at] = 1;
                            nodes[start + at].router = router | WAITS;
                        }
                    }
                }
            }
            for at in (1..end - start).rev() {
                let (node, count) = (nodes[start + at], counts[at]);
                counts[at - usize::from(node.up)] += count;
                if node.dependency != NONE {
                    shared[node.dependency as usize] += count;
                }
            }
            waiting += u64::from(counts[0]);
            // Now the places that the nodes get.
            (places[0], nodes[kept]) = (0, nodes[start]);
            let mut next = 1;
            for at in 1..end - start {
                if counts[at] > 0 {
                    let node = nodes[start + at];
                    places[at] = next;
                    let up = next - places[at - usize::from(node.up)];
                    nodes[kept + usize::from(next)] = Node { up, ..node };
                    next += 1;
                }
            }
            start = end;
            kept += usize::from(next);
            *tree = kept;
        }
        nodes.truncate(kept);
        waiting
    }

    /// An order of links that agrees with all dependencies left when every cycle is opened at its weakest dependency. A
    /// depth-first search finds the cycles, and continues after each cut. Links that it has left reach no cycle.
    fn order(&mut self, waiting: u64) -> Vec<u32> {
        let wires = self.wires;
        let list = List::new(self, self.least(waiting));
        let link = |place: u32| {
            let Range { start, end } = self.dependencies.of(place);
            let shift = match wires.far(place).router {
                NONE => 0,
                there => wires.first(there).wrapping_sub(self.dependencies.on(place, 0) as u32),
            };
            Link { state: NEW, next: start, end, shift }
        };
        let mut links: Vec<Link> = (0..wires.places() as u32).map(link).collect();
        let mut order = vec![0; links.len()];
        let mut last = links.len() as u32;
        let (mut way, mut emptied): (Vec<Visit>, Vec<u32>) = (Vec::new(), Vec::new());
        for start in 0..links.len() as u32 {
            if links[start as usize].state != NEW {
                continue;
            }
            links[start as usize].state = 0;
            way.push(Visit::new(start));
            while let Some(&Visit { link: held, .. }) = way.last() {
                poll();
                let (here, at) = (way.len() - 1, &mut links[held as usize]);
                if at.next == at.end {
                    at.state = LEFT;
                    last -= 1;
                    order[held as usize] = last;
                    way.pop();
                    continue;
                }
                let dependency = at.next;
                at.next += 1;
                let wanted = dependency.wrapping_add(at.shift);
                let shared = self.shared[dependency as usize];
                if shared == 0 || links[wanted as usize].state == LEFT {
                    continue;
                }
                let mut weaker = (here as u32).wrapping_sub(1);
                while weaker != NONE && way[weaker as usize].shared >= shared {
                    weaker = way[weaker as usize].weaker;
                }
                way[here] = Visit { link: held, dependency, shared, weaker };
                let first = links[wanted as usize].state;
                if first == NEW {
                    links[wanted as usize].state = way.len() as u32;
                    way.push(Visit::new(wanted));
                    continue;
                }
                // A circle.
                let mut weakest = here as u32;
                while (first..NONE).contains(&way[weakest as usize].weaker) {
                    weakest = way[weakest as usize].weaker;
                }
                let cut = way[weakest as usize].dependency;
                emptied.clear();
                self.take_off(&list, cut, &mut emptied);
                self.shared[cut as usize] = 0;
                // The way is none any more behind a dependency that no route has.
                let on_way = |&dependency: &u32| {
                    let place = links[self.dependencies.held(dependency) as usize].state;
                    way.get(place as usize).is_some_and(|visit| visit.dependency == dependency).then_some(place)
                };
                let end = emptied.iter().filter_map(on_way).min().unwrap_or(weakest).min(weakest);
                for visit in way.drain(end as usize + 1..) {
                    let link = &mut links[visit.link as usize];
                    link.state = NEW;
                    // It looks again at the dependency that it has taken, if any.
                    link.next -= u32::from(visit.dependency != NONE);
                }
            }
        }
        order
    }

    /// Fewest routes of a dependency whose routes are subtracted from other counts when it is cut. With few waiting
    /// routes, all are subtracted. With many, a weak dependency has a small part of them: to follow each would take
    /// longer than everything else, and would hardly change the choice of the weakest ones.
    fn least(&self, waiting: u64) -> u32 {
        let some = self.shared.iter().filter(|&&shared| shared > 0).count() as u64;
        let all: u64 = self.shared.iter().map(|&shared| u64::from(shared)).sum();
        // From none at all to half as many again as the mean.
        let least = all as f64 / some.max(1) as f64 * (waiting as f64 / MANY as f64).min(1.5);
        (least as u32).max(1)
    }

    /// Takes the routes of a listed dependency off the counts; adds the dependencies that no routes are left of.
    fn take_off(&mut self, list: &List, dependency: u32, emptied: &mut Vec<u32>) {
        let Self { nodes, shared, counts, .. } = self;
        let mut less = |dependency: u32, count: u32| {
            let shared = &mut shared[dependency as usize];
            // One that is cut has none any more.
            if *shared > 0 {
                *shared -= count;
                if *shared == 0 {
                    emptied.push(dependency);
                }
            }
        };
        for &first in list.of(dependency) {
            poll();
            let first = first as usize;
            // The node and all that send over it.
            let mut end = first + 1;
            while nodes.get(end).is_some_and(|node| node.up > 0 && end - usize::from(node.up) >= first) {
                end += 1;
            }
            let mut count = 0;
            counts[..end - first].fill(0);
            for at in (first..end).rev() {
                let node = &mut nodes[at];
                count = counts[at - first] + u32::from(node.router & (WAITS | GONE) == WAITS);
                node.router |= GONE;
                if count > 0 {
                    less(node.dependency, count);
                    if at > first {
                        counts[at - usize::from(node.up) - first] += count;
                    }
                }
            }
            if count == 0 {
                continue;
            }
            let mut at = first;
            loop {
                at -= usize::from(nodes[at].up);
                match nodes[at].dependency {
                    NONE => break,
                    dependency => less(dependency, count),
                }
            }
        }
    }

    /// The layers by source, then destination.
    fn rows(&self, columns: usize) -> Vec<u8> {
        let routers = self.places.len();
        let mut rows = vec![0; routers * columns];
        // Columns of one line of a cache at a time.
        for (layers, first) in self.layers.chunks(TOGETHER * routers).zip((0..).step_by(TOGETHER)) {
            poll();
            for (from, row) in rows.chunks_mut(columns).enumerate() {
                let layers = layers.iter().skip(from).step_by(routers);
                row[first..].iter_mut().zip(layers).for_each(|(entry, &layer)| *entry = layer);
            }
        }
        rows
    }
}

/// A link in a search for circles.
#[derive(Debug, Clone, Copy)]
struct Link {
    /// Its place on the way of the search, or `NEW` or `LEFT`.
    state: u32,
    /// The dependency to be checked next. Earlier ones lead to no cycle any more.
    next: u32,
    /// Where its dependencies end.
    end: u32,
    /// Shift that gives the place of the other link from a dependency's number.
    shift: u32,
}

const NEW: u32 = NONE;
const LEFT: u32 = NONE - 1;

/// A link on the way of a search, and the dependency on the next one.
#[derive(Debug, Clone, Copy)]
struct Visit {
    link: u32,
    dependency: u32,
    /// Routes that share it, or shared it when the search took it.
    shared: u32,
    /// The last one before it on the way that fewer routes share; `NONE` if there is none.
    weaker: u32,
}

impl Visit {
    /// A link that has taken no dependency yet.
    fn new(link: u32) -> Self {
        Self { link, dependency: NONE, shared: 0, weaker: NONE }
    }
}

/// The nodes that have each of some dependencies.
struct List {
    /// By dependency: the first of its nodes, and the first of the next dependency's.
    starts: Vec<u32>,
    nodes: Vec<u32>,
}

impl List {
    /// The nodes of the dependencies that at least `least` routes share.
    fn new(routes: &Routes<'_>, least: u32) -> Self {
        let listed = || {
            let all = (0..).zip(&routes.nodes).filter(|(_, node)| node.dependency != NONE);
            all.filter(|(_, node)| routes.shared[node.dependency as usize] >= least)
        };
        let mut starts = vec![0; routes.shared.len() + 1];
        listed().for_each(|(_, node)| starts[node.dependency as usize] += 1);
        // Where each ends, from which its nodes are entered backwards.
        let mut sum = 0;
        for start in &mut starts {
            sum += *start;
            *start = sum;
        }
        let mut nodes = vec![0; sum as usize];
        for (at, node) in listed() {
            let start = &mut starts[node.dependency as usize];
            *start -= 1;
            nodes[*start as usize] = at;
        }
        Self { starts, nodes }
    }

    fn of(&self, dependency: u32) -> &[u32] {
        let dependency = dependency as usize;
        &self.nodes[self.starts[dependency] as usize..self.starts[dependency + 1] as usize]
    }
}

/// Virtual lanes for data that switches of InfiniBand commonly have.
const LANES: u8 = 8;

impl Layered for Dfsssp {
    fn tables(&self, topology: &dyn Topology) -> Result<Arc<RouteTable>, ScenarioError> {
        self.made.of_links("dfsssp", topology, (), || {
            let wires = Wires::new(topology);
            let destinations = Destinations::endpoints(topology, &wires);
            let make = |again| -> Result<(RouteTable, Vec<u8>), ScenarioError> {
                let mut routes = Routes::new(&wires, &destinations);
                let table = shortest(topology, &wires, &destinations, again, |tree| routes.add(tree))?;
                let rows = routes.divide(table.columns())?;
                Ok((table, rows))
            };
            // Ways that are chosen again share links better, but can close more circles: they count where they need
            // fewer layers, or no more than switches have lanes.
            let mut made = make(false);
            if are_chosen_again(&wires, &destinations) {
                let most = |(_, rows): &(RouteTable, Vec<u8>)| rows.iter().copied().max();
                made = match (made, make(true)) {
                    (Ok(once), Ok(again)) => Ok(if most(&again) < Some(LANES).max(most(&once)) { again } else { once }),
                    (Err(_), again) => again,
                    (once, Err(_)) => once,
                };
            }
            let (table, rows) = made?;
            Ok(table.with_layers(Layers { rows, ..Layers::ONE }))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::TopologyKind;
    use serde_json::json;

    /// The links of a route.
    type Links = Vec<u32>;

    /// The rule without any of its tables: every route is followed for each count.
    fn by_hand(topology: &dyn Topology, wires: &Wires, table: &RouteTable) -> Vec<u8> {
        let columns = table.columns();
        let mut rows = vec![0; (wires.routers() * columns) as usize];
        let mut waiting: Vec<(usize, Links)> = Vec::new();
        let mut met = vec![false; columns as usize];
        for to in 0..topology.endpoints() {
            let column = table.column(to);
            if std::mem::replace(&mut met[column as usize], true) {
                continue;
            }
            for from in wires.hosts() {
                let (mut at, mut links) = (from, Vec::new());
                while at != topology.attachment(to).0 {
                    let place = wires.place(at, table.port(at, to)).unwrap();
                    links.push(place);
                    at = wires.far(place).router;
                }
                waiting.push(((from * columns + column) as usize, links));
            }
        }
        for layer in 0.. {
            let order = order(wires, &waiting);
            let agrees = |links: &Links| links.windows(2).all(|pair| order[pair[0] as usize] < order[pair[1] as usize]);
            waiting.iter().for_each(|(row, _)| rows[*row] = layer);
            waiting.retain(|(_, links)| !agrees(links));
            if waiting.is_empty() {
                break;
            }
        }
        rows
    }

    fn order(wires: &Wires, routes: &[(usize, Links)]) -> Vec<u32> {
        let mut cut: Vec<[u32; 2]> = Vec::new();
        let shared = |cut: &[[u32; 2]], held: u32, wanted: u32| {
            let has = |links: &Links, [held, wanted]: [u32; 2]| links.windows(2).any(|pair| pair == [held, wanted]);
            let left = routes.iter().filter(|(_, links)| !cut.iter().any(|&cut| has(links, cut)));
            left.filter(|(_, links)| has(links, [held, wanted])).count()
        };
        let places = wires.places();
        let (mut order, mut last) = (vec![u32::MAX; places], places as u32);
        for start in 0..places as u32 {
            if order[start as usize] != u32::MAX {
                continue;
            }
            // Links, each with the routes that shared its dependency on the next when it was taken.
            let mut way: Vec<(u32, usize)> = vec![(start, 0)];
            while let Some(&(held, _)) = way.last() {
                let there = wires.far(held).router;
                let behind: Vec<u32> = match there {
                    NONE => Vec::new(),
                    _ => wires.leaving(there).map(|(place, _)| place).collect(),
                };
                let open = |&wanted: &u32| order[wanted as usize] == u32::MAX && shared(&cut, held, wanted) > 0;
                let Some(wanted) = behind.into_iter().find(open) else {
                    last -= 1;
                    order[held as usize] = last;
                    way.pop();
                    continue;
                };
                way.last_mut().unwrap().1 = shared(&cut, held, wanted);
                let Some(first) = way.iter().position(|&(link, _)| link == wanted) else {
                    way.push((wanted, 0));
                    continue;
                };
                let next = |place: usize| way.get(place + 1).map_or(wanted, |&(link, _)| link);
                let weakest = (first..way.len()).rev().min_by_key(|&place| way[place].1).unwrap();
                cut.push([way[weakest].0, next(weakest)]);
                let gone = (0..way.len()).find(|&place| shared(&cut, way[place].0, next(place)) == 0).unwrap();
                way.truncate(gone + 1);
            }
        }
        order
    }

    #[test]
    fn layers_are_as_by_hand() {
        let mut layers = 0;
        for topology in [
            json!({ "kind": "torus", "dims": [4, 4] }),
            json!({ "kind": "jellyfish", "routers": 20, "links": 3, "endpoints_per_router": 2, "seed": 5 }),
            json!({ "kind": "jellyfish", "routers": 16, "links": 5, "endpoints_per_router": 1, "seed": 6 }),
            json!({ "kind": "k_ary_n_tree", "arity": 3, "levels": 2 }),
            json!({ "kind": "dragonfly", "p": 1, "a": 4, "h": 1 }),
            // Routers with and without endpoints, and links side by side.
            json!({ "kind": "graph", "routers": 7, "endpoints": [1, 0, 2, 1, 0, 1, 1], "links":
                [[0, 1], [1, 2], [2, 3], [3, 4], [4, 5], [5, 6], [6, 0], [1, 4], [1, 4], [2, 6]] }),
        ] {
            let said = topology.to_string();
            let topology = TopologyKind::from_value("topology", &topology).unwrap().build().unwrap();
            let wires = Wires::new(&*topology);
            let destinations = Destinations::endpoints(&*topology, &wires);
            let mut routes = Routes::new(&wires, &destinations);
            let table = shortest(&*topology, &wires, &destinations, true, |tree| routes.add(tree)).unwrap();
            let rows = routes.divide(table.columns()).unwrap();
            assert!(rows == by_hand(&*topology, &wires, &table), "{said}");
            layers += rows.iter().max().unwrap();
        }
        assert!(layers >= 4, "several networks take several layers: {layers}");
    }

    #[test]
    fn counts_of_many_routes_follow_those_of_many_alone() {
        // 160,000 routes of ten links on average are a twenty-fifth of many, and share 4,800 dependencies.
        let topology = json!({ "kind": "torus", "dims": [20, 20] });
        let topology = TopologyKind::from_value("topology", &topology).unwrap().build().unwrap();
        let wires = Wires::new(&*topology);
        let destinations = Destinations::endpoints(&*topology, &wires);
        let mut routes = Routes::new(&wires, &destinations);
        shortest(&*topology, &wires, &destinations, false, |tree| routes.add(tree)).unwrap();
        let waiting = routes.sort(&vec![!0; routes.shared.len().div_ceil(64)], None);
        assert_eq!(waiting, 400 * 399);
        let least = routes.least(waiting);
        assert!((2..100).contains(&least), "{least}");
        // Dependencies of few routes are not listed, so nothing is subtracted for them.
        let list = List::new(&routes, least);
        let (few, many) =
            (0..routes.shared.len() as u32).partition::<Vec<_>, _>(|&at| routes.shared[at as usize] < least);
        assert!(few.iter().all(|&dependency| list.of(dependency).is_empty()));
        let before = routes.shared.clone();
        let mut emptied = Vec::new();
        let one = many[many.len() / 2];
        routes.take_off(&list, one, &mut emptied);
        assert!(emptied.contains(&one));
        let less: u64 = before.iter().zip(&routes.shared).map(|(&old, &new)| u64::from(old - new)).sum();
        assert!(less > u64::from(before[one as usize]), "routes have other dependencies: {less}");
        let most = routes.divide(400).unwrap().into_iter().max();
        assert!(most < Some(8), "{most:?}");
    }
}
