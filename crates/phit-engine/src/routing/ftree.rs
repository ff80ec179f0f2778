//! Fat-tree routing: every endpoint has a spine of its own, by which all routes to it come down.

use super::layered::{Balance, Destinations, Group, Layered, Made, Ways, refuse_large};
use super::up_down::{self, Ascent, Levels, central, refuse_one_way};
use crate::engine::{NONE, poll};
use crate::error::ScenarioError;
use crate::topology::{Layers, Lookup, Named, RouteTable, Topology, Wire, Wires};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::sync::Arc;

/// Fat-tree routing (E. Zahavi, G. Johnson, D. J. Kerbyson and M. Lang, "Optimized InfiniBand fat-tree routing for
/// shift all-to-all communication patterns", Concurrency and Computation 2010), like OpenSM's `ftree`. Routes go up and
/// then down. All routes to an endpoint come down over one set of links: those over which routes to the fewest other
/// endpoints come down. In a complete k-ary n-tree, the up-ports are the digits of the destination (d-mod-k). Then
/// packets of shifts do not share links.
///
/// Deterministic, by tables with a port for each endpoint; one virtual channel is free of deadlock. In an incomplete
/// tree, some routers have no route over the endpoint's own links. Such a router takes the shortest other route; among
/// several, the one over whose link it reaches the fewest endpoints. Networks that are not trees are refused.
///
/// ```toml
/// [topology]
/// kind = "clos"
/// down = [4, 4]
/// up = [4]
///
/// [routing]
/// kind = "ftree"
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Ftree {
    /// Routers at the roots, by their numbers or names. If left out, the routers that have nearly all endpoints at one
    /// distance. For an InfiniBand fabric, in Python and on the command line, the value may be the name of a file of
    /// GUIDs, one per line, as for OpenSM's option `-a`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub roots: Option<Vec<Named>>,
    #[serde(skip)]
    #[schemars(skip)]
    made: Made,
}

/// The key that gives roots, and their numbers.
type Roots<'a> = (&'a str, &'a [u32]);

impl Ftree {
    /// The levels of a tree without faults. Refuses a network that is not a tree.
    fn levels(topology: &dyn Topology, wires: &Wires, said: Option<Roots>) -> Result<Levels, ScenarioError> {
        let levels = up_down::levels(topology, wires, said)?.ok_or_else(|| {
            let expected = "expected a fat tree: no routers have nearly all endpoints at one distance; `roots` names \
                            the spines of a tree in which they are not found";
            ScenarioError::missing("kind", expected)
        })?;
        let flat = |&place: &u32| {
            let far = wires.far(place).router;
            let level = |router: u32| levels.levels()[router as usize];
            far != NONE && level(far) != NONE && level(far) == level(wires.owner(place).0)
        };
        match (0..wires.places() as u32).find(flat) {
            Some(place) => {
                let (router, port) = wires.owner(place);
                let expected = format!(
                    "{} leads to {}, on the same level; expected a tree, whose links lead from level to level",
                    wires.words().port(router, port),
                    wires.words().router(wires.far(place).router)
                );
                Err(ScenarioError::missing("kind", expected))
            }
            None => Ok(levels),
        }
    }

    fn make(topology: &dyn Topology, roots: Option<&[u32]>) -> Result<RouteTable, ScenarioError> {
        let said = roots.map(|roots| ("roots", roots));
        refuse_large(topology)?;
        let wires = Wires::new(topology);
        refuse_one_way(&wires)?;
        let levels = match topology.faulty() {
            None => Self::levels(topology, &wires, said)?,
            // The working part of a tree with faults is routed, whatever its shape.
            Some(faulty) => {
                let whole = &**faulty.whole();
                Self::levels(whole, &Wires::new(whole), said)?;
                match up_down::levels(topology, &wires, said)? {
                    Some(levels) => levels,
                    None => central(&wires)?,
                }
            }
        };
        let destinations = Destinations::endpoints(topology, &wires);
        let mut balance = Balance::new(topology, &wires, &destinations)?;
        let mut ascent = Ascent::new(&wires, &levels);
        let mut descents = Descents::new(&wires, &levels);
        for groups in destinations.by_router() {
            ascent.find(groups[0].router)?;
            for group in groups {
                poll();
                descents.own(&ascent, group);
                for &router in ascent.order().iter().skip(1) {
                    balance.choose(router, descents.way(&ascent, router, group));
                }
                balance.settle(ascent.order(), group);
            }
        }
        Ok(balance.into_table().with_layers(Layers::ONE))
    }
}

/// The links by which routes come down.
struct Descents<'a> {
    wires: &'a Wires,
    /// By place, the endpoints of which the link is one of their own, and those to which routes lead over it besides.
    carried: Vec<u32>,
    besides: Vec<u32>,
    /// By router, the endpoints whose own links come from there.
    above: Vec<u32>,
    /// By router, the level of the highest router above it.
    highest: Vec<u32>,
    /// By router, the place of its link among the endpoint's own ones; `NONE` if it has none.
    own: Vec<u32>,
    /// By router, how many routers with own links its way leads through.
    shared: Vec<u32>,
}

impl<'a> Descents<'a> {
    fn new(wires: &'a Wires, levels: &Levels) -> Self {
        let routers = wires.routers() as usize;
        let mut highest = levels.levels().to_vec();
        for &router in levels.order() {
            let above = wires.leaving(router).filter(|(_, wire)| levels.is_up(router, wire.router));
            let least = above.map(|(_, wire)| highest[wire.router as usize]).min();
            highest[router as usize] = least.unwrap_or(NONE).min(highest[router as usize]);
        }
        Self {
            wires,
            carried: vec![0; wires.places()],
            besides: vec![0; wires.places()],
            above: vec![0; routers],
            highest,
            own: vec![NONE; routers],
            shared: vec![0; routers],
        }
    }

    /// Chooses a group's own links, from its router up to a root: links from which routes lead up highest; among them,
    /// links that lead to the fewest endpoints.
    fn own(&mut self, ascent: &Ascent<'_>, group: &Group) {
        let count = group.endpoints.len() as u32;
        self.own.fill(NONE);
        self.shared.fill(0);
        let mut at = group.router;
        self.shared[at as usize] = 1;
        loop {
            let incoming = self.wires.incoming(at).iter().copied();
            let down = incoming.filter(|&place| ascent.leads_down(self.wires.owner(place).0, self.wires.far(place)));
            let order = |&place: &u32| {
                let (router, port) = (self.wires.owner(place).0, self.wires.far(place).port);
                let carried = self.carried[place as usize];
                (self.highest[router as usize], carried, self.above[router as usize], port)
            };
            let Some(place) = down.min_by_key(order) else { return };
            let router = self.wires.owner(place).0;
            self.own[router as usize] = place;
            self.shared[router as usize] = self.shared[at as usize] + 1;
            self.above[router as usize] += count;
            self.carried[place as usize] += count;
            at = router;
        }
    }

    /// The link that a router takes to a group.
    fn way(&mut self, ascent: &Ascent<'_>, router: u32, group: &Group) -> u32 {
        let own = self.own[router as usize];
        if own != NONE {
            return own;
        }
        let ways = self.wires.leaving(router).filter(|(_, wire)| ascent.leads(router, *wire));
        // Over most own links, then where the fewest endpoints are reached so far.
        let order = |(place, wire): (u32, Wire)| {
            let shared = self.shared[wire.router as usize];
            (Reverse(shared), self.besides[place as usize], place)
        };
        let Some((Reverse(shared), _, place)) = ways.map(order).min() else { return NONE };
        self.shared[router as usize] = shared;
        self.besides[place as usize] += group.endpoints.len() as u32;
        place
    }
}

impl Layered for Ftree {
    fn tables(&self, topology: &dyn Topology) -> Result<Arc<RouteTable>, ScenarioError> {
        let roots =
            self.roots.as_ref().map(|roots| Lookup::new(topology).listed_routers("roots", roots)).transpose()?;
        self.made.of_links("ftree", topology, &roots, || Self::make(topology, roots.as_deref()))
    }
}
