//! LASH: shortest routes, each in the first layer in which it closes no circle.

use super::layered::{Dependencies, Destinations, Layered, MOST_LAYERS, Made, apart, shortest, too_many_layers};
use crate::engine::{NONE, poll};
use crate::error::ScenarioError;
use crate::topology::{Layers, RouteTable, Topology, Wires};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Layered shortest path routing, LASH (O. Lysne, T. Skeie, S.-A. Reinemo and I. Theiss, "Layered routing in irregular
/// networks", IEEE Transactions on Parallel and Distributed Systems 2006). It has shortest routes between all routers.
/// One pair of routers after another gets the first layer in which its route closes no cycle of dependencies. A layer
/// is a virtual channel; there must be as many as the network needs.
///
/// Deterministic. The shortest paths are balanced over the links. Pairs come by their sources, then by their
/// destinations, in the order of routers.
///
/// ```toml
/// [routing]
/// kind = "lash"
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Lash {
    #[serde(skip)]
    #[schemars(skip)]
    made: Made,
}

fn make(topology: &dyn Topology) -> Result<RouteTable, ScenarioError> {
    let wires = Wires::new(topology);
    let table = shortest(topology, &wires, &Destinations::routers(&wires), false, |_| {})?;
    let graph = Graph::new(&wires);
    let routers = wires.routers() as usize;
    let mut rows = vec![0u8; routers * routers];
    let (mut layers, mut standings): (Vec<Layer>, Vec<Vec<Standing>>) = (Vec::new(), Vec::new());
    let mut route = Route::default();
    for from in wires.hosts() {
        for to in wires.hosts().filter(|&to| to != from) {
            poll();
            route.follow(&graph, &table, from, to)?;
            let layer = 'found: loop {
                for (standings, first) in standings.iter_mut().zip((0..).step_by(TOGETHER)) {
                    let (mut there, mut refused) = (u16::MAX, 0);
                    for &dependency in &route.dependencies {
                        let standing = standings[dependency as usize];
                        there &= standing.present;
                        refused |= standing.refused;
                    }
                    let others = (0..TOGETHER.min(layers.len() - first)).filter(|bit| refused >> bit & 1 == 0);
                    for bit in others {
                        if there >> bit & 1 == 1 || layers[first + bit].take(&graph, &route, standings, bit) {
                            break 'found first + bit;
                        }
                    }
                }
                // Alone in a layer no route closes a circle.
                if layers.len() as u32 == MOST_LAYERS {
                    return Err(too_many_layers());
                }
                if layers.len() % TOGETHER == 0 {
                    standings.push(vec![Standing::default(); graph.dependencies.count()]);
                }
                layers.push(Layer::new(&graph));
            };
            rows[from as usize * routers + to as usize] = layer as u8;
        }
    }
    Ok(table.with_layers(Layers { rows, ..Layers::ONE }))
}

/// Layers of which a dependency has its standings in one word.
const TOGETHER: usize = 16;

/// The state of a dependency in some layers, a bit each.
#[derive(Debug, Clone, Copy, Default)]
struct Standing {
    /// It is there.
    present: u16,
    /// It would close a circle. Dependencies only come, so it always will.
    refused: u16,
}

/// The links, and which can follow which.
struct Graph<'a> {
    wires: &'a Wires,
    dependencies: Dependencies,
    /// By link, its rank among those that lead to the same router.
    ranks: Vec<u32>,
    /// Words of a set of links of one router.
    words: usize,
}

impl<'a> Graph<'a> {
    fn new(wires: &'a Wires) -> Self {
        let mut ranks = vec![0; wires.places()];
        let mut most = 1;
        for router in 0..wires.routers() {
            (0..).zip(wires.incoming(router)).for_each(|(rank, &place)| ranks[place as usize] = rank);
            most = most.max(wires.incoming(router).len()).max(wires.ports(router) as usize);
        }
        Self { wires, dependencies: Dependencies::new(wires), ranks, words: most.div_ceil(64) }
    }

    /// The links behind one that a set of theirs holds.
    fn behind<'s>(&self, link: u32, set: &'s [u64]) -> impl Iterator<Item = u32> + 's {
        let first = self.wires.first(self.wires.far(link).router);
        members(set).map(move |port| first + port as u32)
    }

    /// The links before one that a set of theirs holds.
    fn before<'s>(&'s self, link: u32, set: &'s [u64]) -> impl Iterator<Item = u32> + 's {
        let incoming = self.wires.incoming(self.wires.owner(link).0);
        members(set).map(move |rank| incoming[rank])
    }
}

/// The members of a set, in order.
fn members(set: &[u64]) -> impl Iterator<Item = usize> + '_ {
    (0..).step_by(64).zip(set).flat_map(|(first, &word)| {
        let mut rest = word;
        std::iter::from_fn(move || {
            let member = (rest != 0).then(|| first + rest.trailing_zeros() as usize);
            rest &= rest.wrapping_sub(1);
            member
        })
    })
}

/// The links of a route, and the dependencies of each on the next.
#[derive(Default)]
struct Route {
    links: Vec<u32>,
    dependencies: Vec<u32>,
}

impl Route {
    fn follow(&mut self, graph: &Graph<'_>, table: &RouteTable, from: u32, to: u32) -> Result<(), ScenarioError> {
        let wires = graph.wires;
        self.links.clear();
        self.dependencies.clear();
        let mut at = from;
        while at != to {
            let port = table.towards(at, to);
            // The table has a route between any two of these routers.
            let Some(place) = wires.place(at, port) else { return Err(apart(wires, at, to)) };
            self.dependencies.extend(self.links.last().map(|&held| graph.dependencies.on(held, port) as u32));
            self.links.push(place);
            at = wires.far(place).router;
        }
        Ok(())
    }
}

/// A layer: its dependencies, and its links in an order that agrees with them.
///
/// A dependency that agrees with the order needs no search. For another one, a search proceeds from both its ends in
/// turn, among the links between them. If the two meet, there is a cycle. If one of them is exhausted, the links that
/// it has found are moved to the other side of the other end, and the order agrees (B. Haeupler, T. Kavitha, R. Mathew,
/// S. Sen and R. E. Tarjan, "Incremental cycle detection, topological ordering, and strong component maintenance", ACM
/// Transactions on Algorithms 2012). Most cycles need no search, either: they lead through one of 64 marked links.
/// Every link has a bit for each marked link to which it leads, and for each that leads to it.
struct Layer {
    /// By link, a number that rises along the order, and the links after and before it there.
    labels: Vec<u64>,
    next: Vec<u32>,
    last: Vec<u32>,
    /// By link, the set of those on which it depends, and of those that depend on it.
    behind: Vec<u64>,
    before: Vec<u64>,
    /// By link, the marked ones to which it leads, and those that lead to it; itself is one of both.
    reached: Vec<u64>,
    reaching: Vec<u64>,
    /// By link, the last search that came to it.
    seen: Vec<u32>,
    searches: u32,
}

impl Layer {
    fn new(graph: &Graph<'_>) -> Self {
        let count = graph.wires.places();
        let mut marks = vec![0; count];
        // Links only: the order of the others says nothing.
        let links: Vec<usize> = (0..count).filter(|&place| graph.wires.far(place as u32).router != NONE).collect();
        for bit in 0..64 {
            if let Some(&link) = links.get(links.len() * (2 * bit + 1) / 128) {
                marks[link] |= 1 << bit;
            }
        }
        let mut layer = Self {
            labels: vec![0; count],
            next: (1..count as u32).chain([NONE]).take(count).collect(),
            last: (0..count as u32).map(|place| place.wrapping_sub(1)).collect(),
            behind: vec![0; count * graph.words],
            before: vec![0; count * graph.words],
            reached: marks.clone(),
            reaching: marks,
            seen: vec![0; count],
            searches: 0,
        };
        layer.number(0);
        layer
    }

    /// Numbers the links, the first of which is this one, in their order.
    fn number(&mut self, first: u32) {
        let step = u64::MAX / (self.labels.len() as u64 + 1);
        let (mut at, mut label) = (first, 0);
        while at != NONE {
            poll();
            label += step;
            self.labels[at as usize] = label;
            at = self.next[at as usize];
        }
    }

    /// Adds the dependencies of a route if they close no circle; true if so.
    fn take(&mut self, graph: &Graph<'_>, route: &Route, standings: &mut [Standing], bit: usize) -> bool {
        let pairs = || route.links.windows(2).map(|pair| (pair[0], pair[1])).zip(&route.dependencies);
        // The dependencies that this route has added, by their places in it.
        let mut added = Vec::new();
        for (place, ((held, wanted), &dependency)) in pairs().enumerate() {
            if standings[dependency as usize].present >> bit & 1 == 1 {
                continue;
            }
            if !self.put_in_order(graph, held, wanted) {
                // With the others of this route it may close a circle that it does not close without them.
                let with_others = !added.is_empty();
                for place in added {
                    let place: usize = place;
                    standings[route.dependencies[place] as usize].present &= !(1 << bit);
                    self.toggle(graph, route.links[place], route.links[place + 1]);
                }
                if !(with_others && self.put_in_order(graph, held, wanted)) {
                    standings[dependency as usize].refused |= 1 << bit;
                }
                return false;
            }
            standings[dependency as usize].present |= 1 << bit;
            self.toggle(graph, held, wanted);
            added.push(place);
        }
        added.into_iter().for_each(|place| self.mark(graph, route.links[place], route.links[place + 1]));
        true
    }

    /// Adds a dependency to the sets of its links, or takes it from there.
    fn toggle(&mut self, graph: &Graph<'_>, held: u32, wanted: u32) {
        let (port, rank) = (usize::from(graph.wires.owner(wanted).1), graph.ranks[held as usize] as usize);
        self.behind[held as usize * graph.words + port / 64] ^= 1 << (port % 64);
        self.before[wanted as usize * graph.words + rank / 64] ^= 1 << (rank % 64);
    }

    /// Tells all links about the marked ones that a new dependency leads to, and from.
    fn mark(&mut self, graph: &Graph<'_>, held: u32, wanted: u32) {
        let Self { behind, before, reached, reaching, .. } = self;
        let set = |link: u32| link as usize * graph.words..(link as usize + 1) * graph.words;
        let (new, old) = (reached[wanted as usize], reaching[held as usize]);
        spread(reached, held, new, |link| graph.before(link, &before[set(link)]));
        spread(reaching, wanted, old, |link| graph.behind(link, &behind[set(link)]));
    }

    /// Changes the order so that `first` comes before `then`; false if there is none.
    fn put_in_order(&mut self, graph: &Graph<'_>, first: u32, then: u32) -> bool {
        let Self { labels, behind, before, reached, reaching, seen, .. } = self;
        let (low, high) = (labels[then as usize], labels[first as usize]);
        if high < low {
            return true;
        }
        let (from_then, to_first) = (reached[then as usize], reaching[first as usize]);
        if from_then & to_first != 0 {
            return false;
        }
        self.searches += 2;
        let (ahead, back) = (self.searches - 1, self.searches);
        seen[then as usize] = ahead;
        seen[first as usize] = back;
        let set = |link: u32| link as usize * graph.words..(link as usize + 1) * graph.words;
        // For each search: the links found, the position in them, and the progress at that link.
        let (mut behind_then, mut at_behind, mut ahead_work) = (vec![then], 0, 0);
        let (mut before_first, mut at_before, mut back_work) = (vec![first], 0, 0);
        let is_behind = loop {
            poll();
            if at_behind == behind_then.len() {
                break true;
            }
            if at_before == before_first.len() {
                break false;
            }
            if ahead_work <= back_work {
                let link = behind_then[at_behind];
                at_behind += 1;
                for next in graph.behind(link, &behind[set(link)]) {
                    ahead_work += 1;
                    let met = &mut seen[next as usize];
                    if *met == back || reached[next as usize] & to_first != 0 {
                        return false;
                    }
                    if *met != ahead && labels[next as usize] < high {
                        *met = ahead;
                        behind_then.push(next);
                    }
                }
                ahead_work += 1;
            } else {
                let link = before_first[at_before];
                at_before += 1;
                for last in graph.before(link, &before[set(link)]) {
                    back_work += 1;
                    let met = &mut seen[last as usize];
                    if *met == ahead || reaching[last as usize] & from_then != 0 {
                        return false;
                    }
                    if *met != back && labels[last as usize] > low {
                        *met = back;
                        before_first.push(last);
                    }
                }
                back_work += 1;
            }
        };
        match is_behind {
            true => self.displace(behind_then, |layer| (first, layer.next[first as usize])),
            false => self.displace(before_first, |layer| (layer.last[then as usize], then)),
        }
        true
    }

    /// Moves links, in the order that they have, to between two that stand side by side when these are gone.
    fn displace(&mut self, mut links: Vec<u32>, between: impl Fn(&Self) -> (u32, u32)) {
        links.sort_unstable_by_key(|&link| self.labels[link as usize]);
        for &link in &links {
            self.join(self.last[link as usize], self.next[link as usize]);
        }
        let (start, end) = between(self);
        let low = self.labels.get(start as usize).map_or(0, |&label| label);
        let high = self.labels.get(end as usize).map_or(u64::MAX, |&label| label);
        let step = (high - low) / (links.len() as u64 + 1);
        let (mut at, mut label) = (start, low);
        for &link in &links {
            label += step;
            self.labels[link as usize] = label;
            self.join(at, link);
            at = link;
        }
        self.join(at, end);
        if step == 0 {
            let first =
                std::iter::successors(Some(at), |&at| Some(self.last[at as usize]).filter(|&last| last != NONE));
            if let Some(first) = first.last() {
                self.number(first);
            }
        }
    }

    /// Has one link stand before another; all ones for none.
    fn join(&mut self, first: u32, then: u32) {
        if let Some(next) = self.next.get_mut(first as usize) {
            *next = then;
        }
        if let Some(last) = self.last.get_mut(then as usize) {
            *last = first;
        }
    }
}

/// Adds marks to a link, and to all reachable links that lack them.
fn spread<I: Iterator<Item = u32>>(marks: &mut [u64], start: u32, new: u64, around: impl Fn(u32) -> I) {
    let mut told = vec![];
    if new & !marks[start as usize] != 0 {
        marks[start as usize] |= new;
        told.push(start);
    }
    while let Some(link) = told.pop() {
        poll();
        let new = marks[link as usize];
        for other in around(link) {
            if new & !marks[other as usize] != 0 {
                marks[other as usize] |= new;
                told.push(other);
            }
        }
    }
}

impl Layered for Lash {
    fn tables(&self, topology: &dyn Topology) -> Result<Arc<RouteTable>, ScenarioError> {
        self.made.of_links("lash", topology, (), || make(topology))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::TopologyKind;
    use serde_json::json;
    use std::collections::BTreeMap;

    /// True if `then` leads to `end`.
    fn leads(layer: &BTreeMap<u32, Vec<u32>>, then: u32, end: u32) -> bool {
        let (mut found, mut at) = (vec![then], 0);
        while let Some(&link) = found.get(at) {
            at += 1;
            for &next in layer.get(&link).into_iter().flatten() {
                if !found.contains(&next) {
                    found.push(next);
                }
            }
        }
        found.contains(&end)
    }

    #[test]
    fn every_route_is_in_the_first_layer_that_it_closes_no_circle_in() {
        let mut most = 0;
        // Two routers with 66 links each, two words of a set.
        let star: Vec<[u32; 2]> = (2..68).flat_map(|leaf| [[0, leaf], [1, leaf]]).collect();
        let endpoints: Vec<u32> = (0..68).map(|router| u32::from(!(12..63).contains(&router))).collect();
        for topology in [
            json!({ "kind": "torus", "dims": [4, 5] }),
            json!({ "kind": "jellyfish", "routers": 30, "links": 3, "endpoints_per_router": 2, "seed": 5 }),
            json!({ "kind": "jellyfish", "routers": 40, "links": 5, "endpoints_per_router": 1, "seed": 6 }),
            json!({ "kind": "slim_fly", "q": 4, "endpoints_per_router": 1 }),
            json!({ "kind": "graph", "routers": 68, "endpoints": endpoints, "links": star }),
        ] {
            let said = topology.to_string();
            let topology = TopologyKind::from_value("topology", &topology).unwrap().build().unwrap();
            let wires = Wires::new(&*topology);
            let table = make(&*topology).unwrap();
            let rows = &table.layers().unwrap().rows;
            let mut layers: Vec<BTreeMap<u32, Vec<u32>>> = vec![BTreeMap::new(); 256];
            for (from, to) in wires.hosts().flat_map(|from| wires.hosts().map(move |to| (from, to))) {
                let (mut at, mut links) = (from, Vec::new());
                while at != to {
                    links.push(wires.place(at, table.towards(at, to)).unwrap());
                    at = wires.far(links[links.len() - 1]).router;
                }
                let first = layers.iter_mut().position(|layer| {
                    let mut with = layer.clone();
                    links.windows(2).for_each(|pair| with.entry(pair[0]).or_default().push(pair[1]));
                    let fits = links.windows(2).all(|pair| !leads(&with, pair[1], pair[0]));
                    if fits {
                        *layer = with;
                    }
                    fits
                });
                let layer = rows[(from * wires.routers() + to) as usize];
                assert_eq!(first, Some(layer.into()), "from {from} to {to} of {said}");
                most = most.max(layer);
            }
        }
        assert!(most > 1, "some network takes several layers: {most}");
    }

    #[test]
    fn links_that_find_no_room_are_numbered_anew() {
        let topology = json!({ "kind": "torus", "dims": [4, 4] });
        let topology = TopologyKind::from_value("topology", &topology).unwrap().build().unwrap();
        let wires = Wires::new(&*topology);
        let graph = Graph::new(&wires);
        let mut layer = Layer::new(&graph);
        // Each is put right behind the first: room is halved, and gone after some 58 of them.
        for turn in 0..200 {
            let link = 1 + turn % 60;
            layer.displace(vec![link], |layer| (0, layer.next[0]));
            assert_eq!((layer.next[0], layer.last[link as usize]), (link, 0));
            let next = |&at: &u32| Some(layer.next[at as usize]).filter(|&next| next != NONE);
            let order: Vec<u32> = std::iter::successors(Some(0), next).collect();
            assert_eq!(order.len(), wires.places());
            assert!(order.is_sorted_by_key(|&link| layer.labels[link as usize]));
            assert!(order.windows(2).all(|pair| layer.labels[pair[0] as usize] != layer.labels[pair[1] as usize]));
        }
    }
}
