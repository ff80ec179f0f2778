//! Virtual channels by the number of hops, for mechanisms that work on any network: the hop after k others takes the
//! channels of place k (K. D. Günther, "Prevention of deadlocks in packet-switched data transport systems", IEEE
//! Transactions on Communications 1981). Channels rise along every route, whichever links it takes, as long as no route
//! has more hops than there are places. A mechanism sees to that by taking no hop after which a minimal route would not
//! fit any more.

use super::RouterView;
use super::in_transit::DIRECT;
use crate::error::ScenarioError;
use crate::fabric::seams::routing::{Ladder, Standing};
use crate::packet::Packet;
use crate::topology::{Hop, HopState, Hops, Peer, Topology};

/// Most hops of a route: they are counted in a byte.
const MOST_HOPS: u32 = 255;

/// Refuses networks with levels and links that lead one way: there a router may have no way back to its packets'
/// minimal routes.
pub(super) fn check(kind: &str, topology: &dyn Topology) -> Result<(), ScenarioError> {
    let refuse = |expected: &str| Err(ScenarioError::new("kind", format!("{kind:?}"), expected));
    if topology.tree().is_some() {
        return refuse("needs a network without levels; trees have routing.kind = \"clos\"");
    }
    let leads_back = |router: u32, port: u16| match topology.port(router, port).peer {
        Peer::Router { router: far, port: there } => topology.port(far, there).peer == (Peer::Router { router, port }),
        Peer::Endpoint(_) | Peer::None => true,
    };
    let both_ways = |router: u32| (0..topology.ports(router)).all(|port| leads_back(router, port));
    match (0..topology.routers()).all(both_ways) {
        true => Ok(()),
        false => refuse("needs links that lead both ways"),
    }
}

/// Refuses routes of more hops than a packet counts; `key` says how many they are.
pub(super) fn check_hops(key: &str, value: u32, hops: u32) -> Result<(), ScenarioError> {
    match hops <= MOST_HOPS {
        true => Ok(()),
        false => Err(ScenarioError::new(key, value, format!("routes of up to {hops} hops; expected {MOST_HOPS}"))),
    }
}

/// Virtual channels for routes of up to `hops` hops.
pub(super) fn vcs_needed(topology: &dyn Topology, hops: u32) -> (Vec<u8>, String) {
    let mut needed = vec![hops.min(MOST_HOPS) as u8; topology.classes().len()];
    needed[0] = 1;
    (needed, format!("one VC for each hop of a route of up to {hops}"))
}

/// The hop of `packet` over `port`, of a route of up to `hops` hops.
pub(super) fn over(view: &RouterView<'_>, port: u16, packet: &Packet, hops: u32) -> Hop {
    let (vc, vcs) = Ladder::channels(packet.hops.total(), hops, view.vcs()[usize::from(view.class(port))]);
    Hop { port, vc, vcs }
}

/// [`over`] for the routes of one mechanism, whose channels are worked out once.
pub(super) struct Channels {
    /// By link class and hops taken: the first channel, and how many.
    shares: Vec<[(u8, u8); 1 + MOST_HOPS as usize]>,
}

impl Channels {
    /// The channels of routes of up to `hops` hops where links of each class have `vcs` channels.
    pub(super) fn new(vcs: &[u8], hops: u32) -> Self {
        let share = |vcs: u8| std::array::from_fn(|taken| Ladder::channels(taken as u32, hops, vcs));
        Self { shares: vcs.iter().map(|vcs| share(*vcs)).collect() }
    }

    /// The hop of `packet` over `port`.
    #[inline]
    pub(super) fn over(&self, view: &RouterView<'_>, port: u16, packet: &Packet) -> Hop {
        let taken = packet.hops.total().min(MOST_HOPS) as usize;
        let (vc, vcs) = self.shares[usize::from(view.class(port))][taken];
        Hop { port, vc, vcs }
    }
}

/// The step for a proof.
pub(super) fn step(topology: &dyn Topology, packet: &Standing, port: u16, hops: u32, vcs: &[u8]) -> Hop {
    let class = usize::from(topology.port(packet.at, port).class);
    let (vc, vcs) = Ladder::channels(packet.hops.total(), hops, vcs[class]);
    Hop { port, vc, vcs }
}

/// The port of a minimal route of `packet` to router `to`, the same whenever it is asked for.
pub(super) fn minimal_port(view: &RouterView<'_>, packet: &Packet, to: u32) -> u16 {
    let state = packet.hop_state();
    view.topology.minimal_hop(view.router, to, DIRECT, state, view.vcs(), &mut view.rng_of(packet)).port
}

/// All ports of minimal routes.
pub(super) fn minimal_ports(topology: &dyn Topology, packet: &Standing, to: u32) -> Vec<u16> {
    let mut minimal = Vec::new();
    let state = HopState { came_by: packet.came.0, came_in: 0, leg_hops: Hops::default() };
    topology.minimal_hops(packet.at, to, DIRECT, state, &topology.vcs_needed(DIRECT).0, &mut minimal);
    minimal.into_iter().map(|hop| hop.port).collect()
}

/// The router behind a port, if it is one.
pub(super) fn behind(topology: &dyn Topology, router: u32, port: u16) -> Option<u32> {
    match topology.port(router, port).peer {
        Peer::Router { router, .. } => Some(router),
        Peer::Endpoint(_) | Peer::None => None,
    }
}
