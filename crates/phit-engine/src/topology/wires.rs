//! All links of a network in flat arrays, for algorithms that follow many routes.

use super::breadth::{BATCH, Breadth, places};
use super::{Names, Peer, Topology, Words};
use crate::engine::{NONE, poll};
use std::convert::Infallible;
use std::sync::Arc;

/// Where an output leads: the input side of a port of another router.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Wire {
    /// Router at the far end; all ones if it is an endpoint, or nothing.
    pub(crate) router: u32,
    /// Its port.
    pub(crate) port: u16,
    /// Class of the link.
    pub(crate) class: u8,
}

/// The ports of all routers, one after another. A port's position in this list is its place, and also the number of the
/// link that leaves by it.
#[derive(Debug)]
pub(crate) struct Wires {
    starts: Vec<u32>,
    wires: Vec<Wire>,
    /// By router, the places of the links that lead to it.
    incoming: Vec<Vec<u32>>,
    /// The router of each place.
    owners: Vec<u32>,
    /// Endpoints of each router.
    endpoints: Vec<u32>,
    names: Option<Arc<Names>>,
}

impl Wires {
    pub(crate) fn new(topology: &dyn Topology) -> Self {
        let routers = topology.routers();
        let (mut starts, mut wires, mut owners) = (vec![0], Vec::new(), Vec::new());
        for router in 0..routers {
            poll();
            for port in 0..topology.ports(router) {
                let link = topology.port(router, port);
                wires.push(match link.peer {
                    Peer::Router { router, port } => Wire { router, port, class: link.class },
                    Peer::Endpoint(_) | Peer::None => Wire { router: NONE, port: 0, class: link.class },
                });
                owners.push(router);
            }
            starts.push(wires.len() as u32);
        }
        let mut incoming = vec![Vec::new(); routers as usize];
        for (wire, place) in wires.iter().zip(0..).filter(|(wire, _)| wire.router != NONE) {
            incoming[wire.router as usize].push(place);
        }
        let mut endpoints = vec![0; routers as usize];
        for endpoint in 0..topology.endpoints() {
            endpoints[topology.attachment(endpoint).0 as usize] += 1;
        }
        // A failed router has none.
        if let Some(faulty) = topology.faulty() {
            (0..routers).filter(|&router| faulty.is_down(router)).for_each(|router| endpoints[router as usize] = 0);
        }
        Self { starts, wires, incoming, owners, endpoints, names: topology.words().names().cloned() }
    }

    /// Names or numbers for messages about the network.
    pub(crate) fn words(&self) -> Words<'_> {
        Words::of(self.names.as_ref())
    }

    /// Number of routers.
    pub(crate) fn routers(&self) -> u32 {
        self.endpoints.len() as u32
    }

    /// Number of ports of all routers.
    pub(crate) fn places(&self) -> usize {
        self.wires.len()
    }

    /// Number of ports of a router.
    #[inline]
    pub(crate) fn ports(&self, router: u32) -> u32 {
        self.starts[router as usize + 1] - self.starts[router as usize]
    }

    /// The place of a router's first port.
    #[inline]
    pub(crate) fn first(&self, router: u32) -> u32 {
        self.starts[router as usize]
    }

    /// The place of a port; `None` if the router has no such port.
    #[inline]
    pub(crate) fn place(&self, router: u32, port: u16) -> Option<u32> {
        (u32::from(port) < self.ports(router)).then(|| self.starts[router as usize] + u32::from(port))
    }

    /// The router and the port of a place.
    #[inline]
    pub(crate) fn owner(&self, place: u32) -> (u32, u16) {
        let router = self.owners[place as usize];
        (router, (place - self.starts[router as usize]) as u16)
    }

    /// Where the link of a place leads.
    #[inline]
    pub(crate) fn far(&self, place: u32) -> Wire {
        self.wires[place as usize]
    }

    /// The links that leave a router for others: their places, and where they lead.
    #[inline]
    pub(crate) fn leaving(&self, router: u32) -> impl Iterator<Item = (u32, Wire)> + '_ {
        let places = self.starts[router as usize]..self.starts[router as usize + 1];
        places.map(|place| (place, self.far(place))).filter(|(_, wire)| wire.router != NONE)
    }

    /// The places of the links that lead to a router.
    #[inline]
    pub(crate) fn incoming(&self, router: u32) -> &[u32] {
        &self.incoming[router as usize]
    }

    /// Number of endpoints of a router.
    #[inline]
    pub(crate) fn endpoints(&self, router: u32) -> u32 {
        self.endpoints[router as usize]
    }

    /// The routers that have endpoints.
    pub(crate) fn hosts(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.routers()).filter(|&router| self.endpoints(router) > 0)
    }

    /// A link that leads one way only, as its place.
    pub(crate) fn one_way(&self) -> Option<u32> {
        (0..self.wires.len() as u32).find(|&place| {
            let Wire { router, port, .. } = self.far(place);
            router != NONE && {
                let back = self.place(router, port).map(|back| self.far(back));
                back.is_none_or(|back| (back.router, back.port) != self.owner(place))
            }
        })
    }

    /// By router, the sum of the lengths of the shortest paths to it from all routers. Routers without a path count
    /// 2^32 - 1.
    pub(crate) fn sums(&self) -> Vec<u64> {
        match self.is_long() {
            true => self.sums_of_each(),
            false => self.sums_of_batches(),
        }
    }

    /// True if single searches are faster than searches for [`BATCH`] routers at a time. Each step of such a search
    /// looks at all routers, which is slow in long networks.
    fn is_long(&self) -> bool {
        let (mut distances, mut order) = (Vec::new(), Vec::new());
        let Some(linked) = (0..self.routers()).find(|&router| !self.incoming(router).is_empty()) else { return false };
        self.towards(linked, &mut distances, &mut order);
        order.last().is_some_and(|&farthest| distances[farthest as usize] as usize >= BATCH)
    }

    /// By router, the number of endpoints at each distance from it, from 0 on.
    pub(crate) fn endpoints_around(&self) -> Vec<Vec<u64>> {
        let routers = self.endpoints.len();
        let mut around: Vec<Vec<u64>> = vec![Vec::new(); routers];
        let mut count = |router: usize, host: u32, distance: u32| {
            let (row, distance) = (&mut around[router], distance as usize);
            row.resize(row.len().max(distance + 1), 0);
            row[distance] += u64::from(self.endpoints(host));
        };
        if self.is_long() {
            let (mut distances, mut order) = (Vec::new(), Vec::new());
            for host in self.hosts() {
                poll();
                self.towards(host, &mut distances, &mut order);
                order.iter().for_each(|&router| count(router as usize, host, distances[router as usize]));
            }
            return around;
        }
        let (starts, peers) = self.neighbours();
        let mut breadth = Breadth::new(routers);
        for first in (0..routers).step_by(BATCH) {
            let reached = breadth.towards((&starts, &peers), first, |host, new, distance| {
                places(new).for_each(|bit| count(first + bit, host as u32, distance));
                Ok::<(), Infallible>(())
            });
            let Ok(_) = reached;
        }
        around
    }

    /// The neighbours of all routers, one router after another, and the place where each router's neighbours begin.
    fn neighbours(&self) -> (Vec<u32>, Vec<u32>) {
        let (mut starts, mut peers) = (vec![0], Vec::new());
        for router in 0..self.routers() {
            peers.extend(self.leaving(router).map(|(_, wire)| wire.router));
            starts.push(peers.len() as u32);
        }
        (starts, peers)
    }

    fn sums_of_each(&self) -> Vec<u64> {
        let (mut distances, mut order) = (Vec::new(), Vec::new());
        let sum = |to| {
            self.towards(to, &mut distances, &mut order);
            distances.iter().map(|&links| u64::from(links)).sum()
        };
        (0..self.routers()).map(sum).collect()
    }

    fn sums_of_batches(&self) -> Vec<u64> {
        let routers = self.endpoints.len();
        let (starts, peers) = self.neighbours();
        let mut sums = vec![0; routers];
        let mut breadth = Breadth::new(routers);
        for first in (0..routers).step_by(BATCH) {
            let reached = breadth.towards((&starts, &peers), first, |_, new, distance| {
                places(new).for_each(|bit| sums[first + bit] += u64::from(distance));
                Ok::<(), Infallible>(())
            });
            let Ok(reached) = reached;
            let batch = &mut sums[first..routers.min(first + BATCH)];
            for (bit, sum) in batch.iter_mut().enumerate() {
                let apart = reached.iter().filter(|&&seen| seen >> bit & 1 == 0).count();
                *sum += apart as u64 * u64::from(NONE);
            }
        }
        sums
    }

    /// The length of a shortest path to `to` from every router (all ones if there is none), and the routers with a
    /// path, the nearest first.
    pub(crate) fn towards(&self, to: u32, distances: &mut Vec<u32>, order: &mut Vec<u32>) {
        distances.clear();
        distances.resize(self.endpoints.len(), NONE);
        distances[to as usize] = 0;
        order.clear();
        order.push(to);
        let mut next = 0;
        while let Some(&router) = order.get(next) {
            next += 1;
            for &place in self.incoming(router) {
                let before = self.owners[place as usize];
                if distances[before as usize] == NONE {
                    distances[before as usize] = distances[router as usize] + 1;
                    order.push(before);
                }
            }
        }
    }
}
