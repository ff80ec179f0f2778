//! LASH: shortest routes, each in the first layer in which it closes no circle.

use super::layered::{Dependencies, Layered, MOST_LAYERS, Made, apart, shortest, too_many_layers};
use crate::engine::poll;
use crate::error::ScenarioError;
use crate::topology::{Layers, RouteTable, Topology, Wires};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Layered shortest path routing, LASH (O. Lysne, T. Skeie, S.-A. Reinemo and I. Theiss, "Layered routing in irregular
/// networks", IEEE Transactions on Parallel and Distributed Systems 2006): shortest routes between all routers, and for
/// one pair of routers after another the first layer in which its route closes no circle of dependencies. A layer is a
/// virtual channel; there must be as many as the network takes.
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
    let table = shortest(topology, &wires, |_| {})?;
    let dependencies = Dependencies::new(&wires);
    let routers = wires.routers() as usize;
    let mut rows = vec![0u8; routers * routers];
    let mut layers: Vec<Layer<'_>> = Vec::new();
    let mut path = Vec::new();
    for from in wires.hosts() {
        for to in wires.hosts().filter(|&to| to != from) {
            path.clear();
            let mut at = from;
            while at != to {
                // The table has a route between any two of these routers.
                let Some(place) = wires.place(at, table.towards(at, to)) else { return Err(apart(at, to)) };
                path.push(place);
                at = wires.far(place).router;
            }
            let layer = match layers.iter_mut().position(|layer| layer.take(&path)) {
                Some(layer) => layer,
                None if layers.len() as u32 == MOST_LAYERS => return Err(too_many_layers()),
                None => {
                    // Alone in its layer no route closes a circle.
                    let mut layer = Layer::new(&wires, &dependencies);
                    layer.take(&path);
                    layers.push(layer);
                    layers.len() - 1
                }
            };
            rows[from as usize * routers + to as usize] = layer as u8;
        }
    }
    Ok(table.with_layers(Layers { rows, ..Layers::ONE }))
}

/// A layer: its dependencies, and its links in an order that agrees with them.
///
/// A dependency that agrees with the order needs no search; for another the links between its two are put in order
/// anew, which shows a circle if there is one (D. J. Pearce and P. H. J. Kelly, "A dynamic topological sort algorithm
/// for directed acyclic graphs", Journal of Experimental Algorithmics 2006).
struct Layer<'a> {
    wires: &'a Wires,
    dependencies: &'a Dependencies,
    /// By dependency: it is there.
    present: Vec<bool>,
    /// By dependency: it would close a circle. Dependencies only come, so it always will.
    refused: Vec<bool>,
    /// The place of each link in the order.
    order: Vec<u32>,
    /// By link, the last search that came to it.
    seen: Vec<u32>,
    search: u32,
}

impl<'a> Layer<'a> {
    fn new(wires: &'a Wires, dependencies: &'a Dependencies) -> Self {
        Self {
            wires,
            dependencies,
            present: vec![false; dependencies.count()],
            refused: vec![false; dependencies.count()],
            order: (0..wires.places() as u32).collect(),
            seen: vec![0; wires.places()],
            search: 0,
        }
    }

    /// Adds the dependencies of a route if they close no circle; true if so.
    fn take(&mut self, path: &[u32]) -> bool {
        let on = |pair: &[u32]| self.dependencies.on(pair[0], self.wires.owner(pair[1]).1);
        if path.windows(2).any(|pair| self.refused[on(pair)]) {
            return false;
        }
        let mut added = Vec::new();
        for pair in path.windows(2) {
            let dependency = self.dependencies.on(pair[0], self.wires.owner(pair[1]).1);
            if self.present[dependency] {
                continue;
            }
            if !self.put_in_order(pair[0], pair[1]) {
                // With the others of this route it may close a circle that it does not close without them.
                let with_others = !added.is_empty();
                added.into_iter().for_each(|dependency: usize| self.present[dependency] = false);
                self.refused[dependency] = !(with_others && self.put_in_order(pair[0], pair[1]));
                return false;
            }
            self.present[dependency] = true;
            added.push(dependency);
        }
        true
    }

    /// Changes the order so that `first` comes before `then`; false if there is none.
    fn put_in_order(&mut self, first: u32, then: u32) -> bool {
        let (low, high) = (self.order[then as usize], self.order[first as usize]);
        if high < low {
            return true;
        }
        let Some(mut behind) = self.reach(then, |order| order <= high, Self::after, first) else { return false };
        let Some(mut before) = self.reach(first, |order| order >= low, Self::before, then) else { return false };
        behind.sort_unstable_by_key(|&link| self.order[link as usize]);
        before.sort_unstable_by_key(|&link| self.order[link as usize]);
        let moved: Vec<u32> = before.into_iter().chain(behind).collect();
        let mut places: Vec<u32> = moved.iter().map(|&link| self.order[link as usize]).collect();
        places.sort_unstable();
        moved.into_iter().zip(places).for_each(|(link, place)| self.order[link as usize] = place);
        true
    }

    /// All links that `next` leads to from one, within bounds of the order; `None` if `end` is among them.
    fn reach(
        &mut self,
        start: u32,
        within: impl Fn(u32) -> bool,
        next: impl Fn(&Self, u32, &mut Vec<u32>),
        end: u32,
    ) -> Option<Vec<u32>> {
        self.search += 1;
        self.seen[start as usize] = self.search;
        let (mut found, mut around, mut at) = (vec![start], Vec::new(), 0);
        while let Some(&link) = found.get(at) {
            poll();
            at += 1;
            if link == end {
                return None;
            }
            around.clear();
            next(self, link, &mut around);
            for &link in &around {
                if self.seen[link as usize] != self.search && within(self.order[link as usize]) {
                    self.seen[link as usize] = self.search;
                    found.push(link);
                }
            }
        }
        Some(found)
    }

    /// The links on which one depends.
    fn after(&self, link: u32, out: &mut Vec<u32>) {
        let there = self.wires.far(link).router;
        let on = |(place, _): &(u32, _)| self.present[self.dependencies.on(link, self.wires.owner(*place).1)];
        out.extend(self.wires.leaving(there).filter(on).map(|(place, _)| place));
    }

    /// The links that depend on one.
    fn before(&self, link: u32, out: &mut Vec<u32>) {
        let (router, port) = self.wires.owner(link);
        let on = |place: &&u32| self.present[self.dependencies.on(**place, port)];
        out.extend(self.wires.incoming(router).iter().filter(on));
    }
}

impl Layered for Lash {
    fn tables(&self, topology: &dyn Topology) -> Result<Arc<RouteTable>, ScenarioError> {
        self.made.of_links("lash", topology, (), || make(topology))
    }
}
