//! Which minimal routes are left.

use super::super::{HopState, Hops, Leg, Peer, Topology, Wires};
use crate::engine::{NONE, poll};
use std::collections::BTreeSet;

/// The only leg of a minimal route, and a packet at its start: only the ports of its hops are wanted.
pub(super) const ANY: (Leg, HopState) =
    (Leg { index: 0, of: 1, to_group: false }, HopState { came_by: 0, came_in: 0, leg_hops: Hops(0) });

/// The pairs of a router and a destination between which there is no minimal route any more: a row of bits for each
/// router that has lost a destination.
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
    /// Follows the loss from the ends of dead links backwards along minimal routes: a router has lost a destination
    /// when all its minimal hops are over dead links or to routers that have lost it.
    pub(super) fn new(graph: &dyn Topology, wires: &Wires, dead: &BTreeSet<(u32, u16)>) -> Self {
        let hosts = graph.hosts();
        let mut lost = Self {
            row: vec![NONE; graph.routers() as usize],
            bits: Vec::new(),
            stride: hosts.len().div_ceil(64),
            first: hosts.start,
        };
        let vcs = graph.vcs_needed(ANY.0).0;
        let mut hops = Vec::new();
        let mut minimal = |at: u32, to: u32| -> Vec<u16> {
            hops.clear();
            graph.minimal_hops(at, to, ANY.0, ANY.1, &vcs, &mut hops);
            hops.iter().map(|hop| hop.port).collect()
        };
        let affected: BTreeSet<u32> = dead.iter().map(|&(router, _)| router).collect();
        let mut open: Vec<(u32, u32)> =
            affected.iter().flat_map(|&router| hosts.clone().map(move |to| (router, to))).collect();
        while let Some((at, to)) = open.pop() {
            poll();
            if at == to || lost.has(at, to) {
                continue;
            }
            let leads = |port: &u16| match graph.port(at, *port).peer {
                Peer::Router { router, .. } => !dead.contains(&(at, *port)) && !lost.has(router, to),
                Peer::Endpoint(_) | Peer::None => false,
            };
            if minimal(at, to).iter().any(leads) {
                continue;
            }
            lost.add(at, to);
            for &place in wires.incoming(at) {
                let (other, port) = wires.owner(place);
                if other != to && minimal(other, to).contains(&port) {
                    open.push((other, to));
                }
            }
        }
        lost
    }

    fn add(&mut self, router: u32, to: u32) {
        let row = &mut self.row[router as usize];
        if *row == NONE {
            *row = (self.bits.len() / self.stride) as u32;
            self.bits.resize(self.bits.len() + self.stride, 0);
        }
        let to = (to - self.first) as usize;
        self.bits[*row as usize * self.stride + to / 64] |= 1 << (to % 64);
    }

    /// True if no minimal route is left from `router` to router `to`.
    #[inline]
    pub(super) fn has(&self, router: u32, to: u32) -> bool {
        let row = self.row[router as usize];
        let to = (to - self.first) as usize;
        row != NONE && self.bits[row as usize * self.stride + to / 64] >> (to % 64) & 1 == 1
    }
}
