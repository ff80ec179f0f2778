//! Shared by kernels and mechanisms: the handling of a packet that reaches the front of a queue.

use crate::engine::{NONE, Rng, Tick};
use crate::packet::{GROUP, HopState, Packet};
use crate::topology::{Hop, Leg, Topology};

/// In [`Hop::port`]: the packet is discarded where it is, because no route is left.
pub(crate) const DISCARD: u16 = u16::MAX;

/// The next hop of a packet that takes the topology's minimal route to its destination.
#[inline]
pub fn minimal_hop(topology: &dyn Topology, at: u32, packet: &Packet, vcs: &[u8], rng: &mut Rng) -> Hop {
    const LEG: Leg = Leg { index: 0, of: 1, to_group: false };
    topology.minimal_hop(at, packet.destination_router, LEG, packet.hop_state(), vcs, rng)
}

/// The hop that a packet will take at router `at` by [`minimal_hop`], or takes now. If hops are told ahead, every
/// router breaks its ties by the packet's own stream.
#[inline]
pub(crate) fn told_ahead(
    topology: &dyn Topology,
    (at, ticks_per_cycle): (u32, Tick),
    packet: &Packet,
    state: HopState,
    vcs: &[u8],
) -> Hop {
    let mut rng = packet.stream_of_each(at, ticks_per_cycle);
    topology.minimal_hop(at, packet.destination_router, Leg::ONLY, state, vcs, &mut rng)
}

/// Moves a packet to its next leg if it has reached the intermediate router or group that it was heading for.
#[inline]
pub(crate) fn advance_leg(topology: &dyn Topology, router: u32, packet: &mut Packet) {
    if packet.intermediate == NONE {
        return;
    }
    let reached = match packet.intermediate & GROUP {
        0 => packet.intermediate == router,
        _ => packet.intermediate & !GROUP == topology.group_of(router),
    };
    if reached {
        packet.intermediate = NONE;
        packet.leg += 1;
        packet.leg_start = packet.hops;
    }
}

/// The hop of `packet` at `router` over `port`, in the only virtual channel that packets from its source to its
/// destination take there: the first that the topology permits. `hops` is scratch memory.
#[inline]
pub(crate) fn one_channel(
    topology: &dyn Topology,
    router: u32,
    port: u16,
    class: u8,
    packet: &Packet,
    vcs: &[u8],
    hops: &mut Vec<Hop>,
) -> Hop {
    if vcs[usize::from(class)] == 1 {
        return Hop { port, vc: 0, vcs: 1 };
    }
    hops.clear();
    const LEG: Leg = Leg { index: 0, of: 1, to_group: false };
    topology.minimal_hops(router, packet.destination_router, LEG, packet.hop_state(), vcs, hops);
    let vc = hops.iter().find(|hop| hop.port == port).map_or(0, |hop| hop.vc);
    Hop { port, vc, vcs: 1 }
}
