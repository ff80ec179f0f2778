//! DFSSSP: balanced shortest routes, moved to further layers until no layer has a circle.

use super::layered::{Dependencies, Layered, MOST_LAYERS, Made, apart, shortest, too_many_layers};
use crate::engine::{NONE, poll};
use crate::error::ScenarioError;
use crate::topology::{Layers, RouteTable, Topology, Wires};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Deadlock-free single-source-shortest-path routing, DFSSSP (J. Domke, T. Hoefler and W. E. Nagel, "Deadlock-free
/// oblivious routing for arbitrary topologies", IPDPS 2011): shortest routes, of which each destination's take those
/// links that the routes before use least. All begin in the first layer; as long as its dependencies have a circle, the
/// routes of that dependency of the circle that the fewest routes share move to the next layer, and so on with that. A
/// layer is a virtual channel; there must be as many as the network takes.
///
/// Deterministic.
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

/// The routes, each in a layer, and how many of the last two layers share each dependency.
struct Routes<'a> {
    wires: &'a Wires,
    table: &'a RouteTable,
    dependencies: Dependencies,
    /// By source, then destination.
    layers: Vec<u8>,
    /// Routes of the layer at hand, by dependency.
    here: Vec<u32>,
    /// Those of the next one.
    next: Vec<u32>,
    moved: u64,
    /// Dependencies of links on links that the last moves have left without routes.
    opened: Vec<(u32, u32)>,
}

/// A link in a search for circles.
#[derive(Debug, Clone, Copy)]
struct Visit {
    link: u32,
    /// The port of the far end that is looked at next.
    port: u16,
}

impl<'a> Routes<'a> {
    fn new(wires: &'a Wires, table: &'a RouteTable) -> Result<Self, ScenarioError> {
        let dependencies = Dependencies::new(wires);
        let routers = wires.routers() as usize;
        let count = dependencies.count();
        let mut routes = Self {
            wires,
            table,
            dependencies,
            layers: vec![0; routers * routers],
            here: vec![0; count],
            next: vec![0; count],
            moved: 0,
            opened: Vec::new(),
        };
        for from in wires.hosts() {
            for to in wires.hosts().filter(|&to| to != from) {
                let mut held = None;
                let mut at = from;
                while at != to {
                    let port = table.towards(at, to);
                    let Some(place) = wires.place(at, port) else { return Err(apart(at, to)) };
                    if let Some(held) = held {
                        routes.here[routes.dependencies.on(held, port)] += 1;
                    }
                    held = Some(place);
                    at = wires.far(place).router;
                }
            }
        }
        Ok(routes)
    }

    /// Divides the routes among layers without circles.
    fn divide(mut self) -> Result<Vec<u8>, ScenarioError> {
        for layer in 0.. {
            self.moved = 0;
            self.clear(layer);
            if self.moved == 0 {
                break;
            }
            if u32::from(layer) + 1 == MOST_LAYERS {
                return Err(too_many_layers());
            }
            std::mem::swap(&mut self.here, &mut self.next);
            self.next.fill(0);
        }
        Ok(self.layers)
    }

    /// Moves routes from a layer to the next until its dependencies have no circle: a search in depth, which goes on
    /// from where a circle was opened. What it has left behind reaches no circle, and loses nothing but dependencies.
    fn clear(&mut self, layer: u8) {
        const NEW: u32 = NONE;
        const LEFT: u32 = NONE - 1;
        // Each link's place on the way of the search, or one of these.
        let mut state = vec![NEW; self.wires.places()];
        let mut way: Vec<Visit> = Vec::new();
        for start in 0..self.wires.places() as u32 {
            if state[start as usize] != NEW || self.wires.far(start).router == NONE {
                continue;
            }
            state[start as usize] = 0;
            way.push(Visit { link: start, port: 0 });
            while let Some(visit) = way.last_mut() {
                poll();
                let (link, there) = (visit.link, self.wires.far(visit.link).router);
                let Some(next) = self.wires.place(there, visit.port) else {
                    state[link as usize] = LEFT;
                    way.pop();
                    continue;
                };
                let port = visit.port;
                visit.port += 1;
                if self.here[self.dependencies.on(link, port)] == 0 {
                    continue;
                }
                match state[next as usize] {
                    LEFT => {}
                    NEW => {
                        state[next as usize] = way.len() as u32;
                        way.push(Visit { link: next, port: 0 });
                    }
                    first => {
                        self.open(&way[first as usize..], layer);
                        // The way is no longer one behind a dependency that is gone.
                        let on_way = |&(held, wanted): &(u32, u32)| {
                            let place = state[held as usize];
                            way.get(place as usize + 1).is_some_and(|visit| visit.link == wanted).then_some(place)
                        };
                        if let Some(last) = self.opened.iter().filter_map(on_way).min() {
                            way.drain(last as usize + 1..).for_each(|visit| state[visit.link as usize] = NEW);
                        }
                    }
                }
            }
        }
    }

    /// Opens a circle of links: the routes of its dependency that the fewest share move to the next layer.
    fn open(&mut self, circle: &[Visit], layer: u8) {
        let link = |place: usize| circle[place % circle.len()].link;
        let shared = |&place: &usize| {
            let port = self.wires.owner(link(place + 1)).1;
            self.here[self.dependencies.on(link(place), port)]
        };
        let Some(weakest) = (0..circle.len()).min_by_key(shared) else { return };
        let (held, wanted) = (link(weakest), link(weakest + 1));
        let ((router, port), (behind, next_port)) = (self.wires.owner(held), self.wires.owner(wanted));
        let mut sources = Vec::new();
        let wires = self.wires;
        let table = self.table;
        self.opened.clear();
        for to in table.columns_over(router, port).filter(|&to| behind != to && table.towards(behind, to) == next_port)
        {
            // All routers whose way to this one leads over the two links.
            sources.clear();
            sources.push(router);
            while let Some(from) = sources.pop() {
                poll();
                if wires.endpoints(from) > 0 && self.layer(from, to) == layer {
                    self.shift(from, to);
                }
                let before = wires.incoming(from).iter().map(|&place| wires.owner(place));
                sources
                    .extend(before.filter(|&(from, port)| self.table.towards(from, to) == port).map(|(from, _)| from));
            }
        }
    }

    fn layer(&self, from: u32, to: u32) -> u8 {
        self.layers[from as usize * self.wires.routers() as usize + to as usize]
    }

    /// Moves a route to the next layer.
    fn shift(&mut self, from: u32, to: u32) {
        self.layers[from as usize * self.wires.routers() as usize + to as usize] += 1;
        self.moved += 1;
        let (mut held, mut at) = (None, from);
        while at != to {
            let port = self.table.towards(at, to);
            let Some(place) = self.wires.place(at, port) else { return };
            if let Some(held) = held {
                let dependency = self.dependencies.on(held, port);
                self.here[dependency] -= 1;
                self.next[dependency] += 1;
                if self.here[dependency] == 0 {
                    self.opened.push((held, place));
                }
            }
            held = Some(place);
            at = self.wires.far(place).router;
        }
    }
}

impl Layered for Dfsssp {
    fn tables(&self, topology: &dyn Topology) -> Result<Arc<RouteTable>, ScenarioError> {
        self.made.of_links("dfsssp", topology, (), || {
            let wires = Wires::new(topology);
            let table = shortest(topology, &wires)?;
            let rows = Routes::new(&wires, &table)?.divide()?;
            Ok(table.with_layers(Layers { rows, ..Layers::ONE }))
        })
    }
}
