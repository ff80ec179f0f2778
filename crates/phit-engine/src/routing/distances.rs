//! Distances from the routers behind the ports of a router, for mechanisms on any network that look at many of them.

use super::{RouterView, RoutingContext, ladder};
use crate::topology::Topology;
use std::cell::Cell;
use std::ops::Range;

/// Most distances that a partition keeps: a byte each.
const MOST: usize = 1 << 28;

/// Distances from the routers of a partition and their neighbours to all routers, in links. Each is measured when it is
/// first asked for.
pub(super) struct Distances {
    /// The ports of the routers of the partition that lead to other routers, with the routers behind them.
    links: Vec<(u16, Place)>,
    /// The first link of each router, and the number of all links at the end.
    first_link: Vec<u32>,
    /// By place, the number of the router. The routers of the partition come first, then their neighbours.
    routers: Vec<u32>,
    /// By router of the network and place: the distance and 1; 0 if it is not known. Without entries in a network where
    /// they are too many.
    known: Vec<Cell<u8>>,
}

/// The place of a router among the routers whose distances are kept.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place(u32);

impl Distances {
    pub(super) fn new(context: &RoutingContext) -> Self {
        const NOWHERE: u32 = u32::MAX;
        let topology = &*context.topology;
        let mut routers: Vec<u32> = context.routers.iter().collect();
        let mut places = vec![NOWHERE; topology.routers() as usize];
        routers.iter().zip(0..).for_each(|(&router, place)| places[router as usize] = place);
        let (mut links, mut first_link) = (Vec::new(), vec![0]);
        for router in context.routers.iter() {
            for port in 0..topology.ports(router) {
                let Some(next) = ladder::behind(topology, router, port) else { continue };
                let place = &mut places[next as usize];
                if *place == NOWHERE {
                    *place = routers.len() as u32;
                    routers.push(next);
                }
                links.push((port, Place(*place)));
            }
            first_link.push(links.len() as u32);
        }
        let distances = routers.len().saturating_mul(topology.routers() as usize);
        Self { links, first_link, routers, known: vec![Cell::new(0); if distances <= MOST { distances } else { 0 }] }
    }

    /// Forgets all distances: the graph is another one.
    pub(super) fn forget(&mut self) {
        self.known.fill(Cell::new(0));
    }

    #[inline]
    fn range(&self, view: &RouterView<'_>) -> Range<usize> {
        let local = view.local as usize;
        self.first_link[local] as usize..self.first_link[local + 1] as usize
    }

    /// The ports of this router that lead to other ones, each with the router behind it.
    #[inline]
    pub(super) fn links(&self, view: &RouterView<'_>) -> impl ExactSizeIterator<Item = (u16, Place)> + '_ {
        self.links[self.range(view)].iter().copied()
    }

    /// The router behind `port`, if it leads to one.
    #[inline]
    pub(super) fn behind(&self, view: &RouterView<'_>, port: u16) -> Option<Place> {
        self.links(view).find(|link| link.0 == port).map(|(_, place)| place)
    }

    /// This router.
    #[inline]
    pub(super) fn here(&self, view: &RouterView<'_>) -> Place {
        Place(view.local)
    }

    /// Links between two routers.
    #[inline(always)]
    pub(super) fn between(&self, view: &RouterView<'_>, Place(place): Place, to: u32) -> u32 {
        match self.known.get(to as usize * self.routers.len() + place as usize) {
            Some(known) if known.get() > 0 => {
                let distance = u32::from(known.get()) - 1;
                debug_assert_eq!(distance, view.topology.distance(self.routers[place as usize], to));
                distance
            }
            _ => self.measure(view.topology, place, to),
        }
    }

    #[cold]
    #[inline(never)]
    fn measure(&self, topology: &dyn Topology, place: u32, to: u32) -> u32 {
        let distance = topology.distance(self.routers[place as usize], to);
        if let Some(known) = self.known.get(to as usize * self.routers.len() + place as usize) {
            // One that fits in no byte is measured every time.
            known.set(u8::try_from(distance + 1).unwrap_or(0));
        }
        distance
    }
}
