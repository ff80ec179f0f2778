//! The minimal routes that are lost, and those that remain.

use super::super::{HopState, Hops, Leg, Peer, Topology, Wires};
use crate::engine::{NONE, poll};
use std::collections::BTreeSet;

/// The only leg of a minimal route, and the state of a packet at its start. Only the ports of its hops matter here.
pub(super) const ANY: (Leg, HopState) =
    (Leg { index: 0, of: 1, to_group: false }, HopState { came_by: 0, came_in: 0, leg_hops: Hops(0) });

/// The pairs of a router and a destination without a minimal route between them. Each router that has lost a
/// destination has a row of bits.
#[derive(Debug)]
pub(super) struct Lost {
    /// Each router's row; `NONE` if it has lost nothing.
    pub(super) row: Vec<u32>,
    bits: Vec<u64>,
    /// Words of a row.
    stride: usize,
    first: u32,
}

impl Lost {
    /// Follows the loss backwards along minimal routes, from the ends of dead links. A router has lost a destination
    /// when all its minimal hops lead over dead links or to routers that have lost it.
    ///
    /// The losses of one destination do not depend on other destinations, so destinations are handled in turn. For 64
    /// destinations at a time there is a word for every router, which is small enough for the cache. At the end, the
    /// word is stored in the router's row.
    pub(super) fn new(graph: &dyn Topology, wires: &Wires, dead: &BTreeSet<(u32, u16)>) -> Self {
        let hosts = graph.hosts();
        let routers = graph.routers() as usize;
        let stride = hosts.len().div_ceil(64);
        let mut lost = Self { row: vec![NONE; routers], bits: Vec::new(), stride, first: hosts.start };
        let vcs = graph.vcs_needed(ANY.0).0;
        let mut at_dead = vec![false; routers];
        dead.iter().for_each(|&(router, _)| at_dead[router as usize] = true);
        let affected: Vec<u32> = (0..graph.routers()).filter(|&router| at_dead[router as usize]).collect();
        let (mut words, mut losers) = (vec![0u64; routers], Vec::new());
        // Routers that may have lost the destination. Each is given with the port to the router that has, if that is
        // the reason.
        let mut open: Vec<(u32, Option<u16>)> = Vec::new();
        let mut hops = Vec::new();
        for to in hosts.clone() {
            let place = to - hosts.start;
            let bit = 1 << (place % 64);
            open.extend(affected.iter().map(|&router| (router, None)));
            while let Some((at, by)) = open.pop() {
                poll();
                if at == to || words[at as usize] & bit != 0 {
                    continue;
                }
                hops.clear();
                graph.minimal_hops(at, to, ANY.0, ANY.1, &vcs, &mut hops);
                let leads = |port: u16| match graph.port(at, port).peer {
                    Peer::Router { router, .. } => {
                        words[router as usize] & bit == 0 && !(at_dead[at as usize] && dead.contains(&(at, port)))
                    }
                    Peer::Endpoint(_) | Peer::None => false,
                };
                let elsewhere = by.is_some_and(|by| hops.iter().all(|hop| hop.port != by));
                if elsewhere || hops.iter().any(|hop| leads(hop.port)) {
                    continue;
                }
                if words[at as usize] == 0 {
                    losers.push(at);
                }
                words[at as usize] |= bit;
                open.extend(
                    wires.incoming(at).iter().map(|&place| wires.owner(place)).map(|(r, port)| (r, Some(port))),
                );
            }
            if place % 64 == 63 || to + 1 == hosts.end {
                for router in losers.drain(..) {
                    lost.add(router, place as usize / 64, std::mem::take(&mut words[router as usize]));
                }
            }
        }
        lost
    }

    /// A router has lost the destinations of a word.
    fn add(&mut self, router: u32, place: usize, word: u64) {
        let row = &mut self.row[router as usize];
        if *row == NONE {
            *row = (self.bits.len() / self.stride) as u32;
            self.bits.resize(self.bits.len() + self.stride, 0);
        }
        self.bits[*row as usize * self.stride + place] = word;
    }

    /// True if no minimal route is left from `router` to router `to`.
    #[inline]
    pub(super) fn has(&self, router: u32, to: u32) -> bool {
        let row = self.row[router as usize];
        let to = (to - self.first) as usize;
        row != NONE && self.bits[row as usize * self.stride + to / 64] >> (to % 64) & 1 == 1
    }
}
