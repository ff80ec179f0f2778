//! Dimension-order routing on grids.

use super::{Routing, RoutingContext, RoutingParams, View, minimal::Minimal, minimal_hop};
use crate::engine::{Memory, Rng};
use crate::error::ScenarioError;
use crate::fabric::seams::routing::{Adaptive, Legs, Proof, Standing, Step, Wants};
use crate::packet::{HopState, Packet};
use crate::topology::{Hop, Leg, Topology};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which half of the virtual channels a packet takes in a ring of a torus.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Rings {
    /// One for packets that will cross the wraparound link, the other for those that will not.
    #[default]
    Dateline,
    /// Packets that will cross the wraparound link take the upper half. Packets that will cross the middle of the line
    /// take the lower half. Packets that will cross neither take a random half (BookSim's `dim_order_bal`). This
    /// balances the halves.
    Balanced,
    /// Packets enter a ring in the lower half, and change halves in the router at position 0 of the ring. Packets that
    /// turn there from another dimension take the half in which they did not come. A packet that is half a ring from
    /// its destination goes in the positive direction, not in a random one. The lower half carries most packets. On a
    /// mesh, only packets that turn at position 0 can take the upper half. (SST's merlin.)
    Toggled,
    /// As `dateline`, but of an odd number of virtual channels both halves have the one in the middle (BookSim's
    /// `dim_order`). In this channel, packets of both halves can wait for each other in a cycle: the network is not
    /// free of deadlock.
    Overlapping,
    /// No halves. A packet takes any channel. But to enter a ring, from an endpoint or another dimension, it needs room
    /// in the channel for itself and for one more packet of the largest size. So a ring always has room for a packet,
    /// and moves on. (Carrion, Beivide, Gregorio and Vallejo, "A flow control mechanism to avoid message deadlock in
    /// k-ary n-cube networks", HiPC 1997; CAMINOS' `bubble`.) It takes the channel with most room. Packets move as a
    /// whole.
    Bubble,
}

impl Rings {
    fn is_dateline(&self) -> bool {
        *self == Self::Dateline
    }
}

/// Dimension order, lowest dimension first, on a mesh, torus or HyperX; datelines on a torus (Dally and Seitz, 1987).
///
/// It is the grids' minimal hop rule under its usual name, and refuses other topologies.
///
/// A ring needs 2 virtual channels, except with `rings = "bubble"`. A mesh or HyperX needs 1.
///
/// ```toml
/// [topology]
/// kind = "torus"
/// dims = [4, 4]
///
/// [routing]
/// kind = "dimension_order"
/// rings = "dateline"
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DimensionOrder {
    /// How virtual channels are used in the rings of a torus.
    #[serde(skip_serializing_if = "Rings::is_dateline")]
    pub rings: Rings,
}

impl DimensionOrder {
    fn bubble(&self) -> bool {
        self.rings == Rings::Bubble
    }
}

/// True if a packet by this hop goes on in the dimension in which it came.
fn goes_on(topology: &dyn Topology, at: u32, state: HopState, hop: Hop) -> bool {
    let class = topology.port(at, hop.port).class;
    state.came_by == class && state.leg_hops.of(class) > 0
}

impl RoutingParams for DimensionOrder {
    fn check(&self, topology: &dyn Topology) -> Result<(), ScenarioError> {
        if topology.grid().is_none() {
            let expected = "needs a topology with dimensions: mesh, torus or hyperx; use minimal here";
            return Err(ScenarioError::new("kind", "\"dimension_order\"", expected));
        }
        let line: u32 = topology.grid().unwrap_or_default().iter().map(|side| side - 1).sum();
        match (self.rings, topology.wraps()) {
            (Rings::Toggled, false) if topology.diameter() != line => {
                Err(ScenarioError::new("rings", "\"toggled\"", "needs a torus or a mesh"))
            }
            (Rings::Dateline | Rings::Toggled, _) | (_, true) => Ok(()),
            (Rings::Balanced | Rings::Overlapping | Rings::Bubble, false) => {
                let rings = match self.rings {
                    Rings::Bubble => "\"bubble\"",
                    Rings::Overlapping => "\"overlapping\"",
                    _ => "\"balanced\"",
                };
                Err(ScenarioError::new("rings", rings, "needs a torus: elsewhere there are no rings"))
            }
        }
    }

    fn vcs_needed(&self, topology: &dyn Topology) -> (Vec<u8>, String) {
        match self.rings {
            Rings::Bubble => (vec![1; topology.classes().len()], "rings keep room for a packet".into()),
            Rings::Toggled => {
                let mut needed = vec![2; topology.classes().len()];
                needed[0] = 1;
                (needed, "one before and one after the router at position 0".into())
            }
            _ => Minimal {}.vcs_needed(topology),
        }
    }

    fn proof(&self) -> Proof {
        match self.rings {
            Rings::Dateline => Proof::legs(Legs::Minimal),
            Rings::Toggled => Proof::Steps(Box::new(Toggled)),
            Rings::Balanced => Proof::Steps(Box::new(Balanced)),
            Rings::Overlapping => Proof::Steps(Box::new(Overlapping)),
            Rings::Bubble => Proof::Rings,
        }
    }

    fn reads_buffers(&self) -> bool {
        self.bubble()
    }

    fn needs_whole_packets(&self) -> bool {
        self.bubble()
    }

    fn packets_per_buffer(&self) -> u32 {
        if self.bubble() { 2 } else { 1 }
    }

    fn counts_on_room(&self) -> bool {
        self.bubble()
    }

    fn per_network(&self) -> bool {
        !self.bubble()
    }

    fn told_ahead(&self) -> bool {
        self.rings == Rings::Dateline
    }

    fn avoids_faults(&self) -> bool {
        self.rings == Rings::Dateline
    }

    fn build(&self, context: &RoutingContext) -> Box<dyn Routing> {
        match self.rings {
            Rings::Dateline => Minimal {}.build(context),
            Rings::Balanced => Box::new(Balanced),
            Rings::Toggled => Box::new(Toggled),
            Rings::Overlapping => Box::new(Overlapping),
            Rings::Bubble => Box::new(Bubbled { largest: context.packet_size }),
        }
    }
}

/// The rule of [`Rings::Bubble`].
struct Bubbled {
    /// Phits of the largest packet.
    largest: u32,
}

impl Routing for Bubbled {
    fn wants(&self) -> Wants {
        Wants { redecide: true, ..Wants::default() }
    }

    fn route(&mut self, view: &mut View<'_>, _: u16, _: u16, packet: &mut Packet) -> Option<Hop> {
        // Half a ring from where it goes, it waits in one direction.
        let (at, state, mut rng) = (view.router, packet.hop_state(), view.rng_of(packet));
        let hop = view.topology.minimal_hop(at, packet.destination_router, Leg::ONLY, state, view.vcs(), &mut rng);
        let class = usize::from(view.class(hop.port));
        let vcs = view.at.vcs()[class];
        view.watch(hop.port..hop.port + 1);
        if goes_on(view.topology, at, state, hop) {
            return Some(Hop { vc: 0, vcs, ..hop });
        }
        let occupied = |vc: &u8| view.occupancy(hop.port, *vc);
        let vc = (0..vcs).min_by_key(occupied)?;
        let room = view.capacity()[class].saturating_sub(occupied(&vc));
        (room >= u32::from(packet.size) + self.largest).then_some(Hop { vc, vcs: 1, ..hop })
    }
}

/// The rule of [`Rings::Balanced`].
struct Balanced;

impl Balanced {
    /// The halves, 0 and 1, that a packet to router `to` may take from `hop` at router `at` on. `None` if it has taken
    /// one in this ring already, which the topology keeps.
    fn halves(topology: &dyn Topology, (at, to): (u32, u32), state: HopState, hop: Hop) -> Option<[bool; 2]> {
        if goes_on(topology, at, state, hop) {
            return None;
        }
        let class = topology.port(at, hop.port).class;
        let (before, side) = topology.grid()?.split_at(usize::from(class) - 1);
        let (stride, side) = (before.iter().product::<u32>(), side[0]);
        let (x, y, middle) = (at / stride % side, to / stride % side, (side - 1) / 2);
        // The ports of a dimension are adjacent, the positive direction first.
        let minus = topology.port(at, hop.port - 1).class == class;
        let (wraps, halfway) = match minus {
            false => (x > y, x <= middle && y > middle),
            true => (x < y, x > middle && y <= middle),
        };
        Some([!wraps, wraps || !halfway])
    }

    /// `hop` in one of the halves.
    fn half(topology: &dyn Topology, at: u32, hop: Hop, vcs: &[u8], upper: bool) -> Hop {
        let count = vcs[usize::from(topology.port(at, hop.port).class)];
        let lower = count / 2;
        match upper {
            false => Hop { vc: 0, vcs: lower, ..hop },
            true => Hop { vc: lower, vcs: count - lower, ..hop },
        }
    }

    /// `hop` in the channels that a packet takes.
    fn chosen(topology: &dyn Topology, ends: (u32, u32), state: HopState, hop: Hop, vcs: &[u8], rng: &mut Rng) -> Hop {
        match Self::halves(topology, ends, state, hop) {
            None => hop,
            Some([true, true]) => Self::half(topology, ends.0, hop, vcs, rng.below(2) == 1),
            Some([_, upper]) => Self::half(topology, ends.0, hop, vcs, upper),
        }
    }
}

impl Routing for Balanced {
    fn remember(&self, _memory: &mut Memory) {}

    fn route(&mut self, view: &mut View<'_>, _: u16, _: u16, packet: &mut Packet) -> Option<Hop> {
        let hop = minimal_hop(view.topology, view.router, packet, view.vcs(), view.rng);
        let ends = (view.router, packet.destination_router);
        Some(Self::chosen(view.topology, ends, packet.hop_state(), hop, view.at.vcs(), view.rng))
    }
}

/// The rule of [`Rings::Toggled`].
struct Toggled;

impl Toggled {
    /// `hop` of a packet to router `to` at router `at`: in the positive direction if both are as long, and in its half
    /// of the channels.
    fn turned(topology: &dyn Topology, (at, to): (u32, u32), state: HopState, hop: Hop, vcs: &[u8]) -> Hop {
        let class = topology.port(at, hop.port).class;
        let Some((before, side)) = topology.grid().and_then(|sides| sides.split_at_checked(usize::from(class) - 1))
        else {
            return hop;
        };
        let (stride, side) = (before.iter().product::<u32>(), side[0]);
        let (x, y) = (at / stride % side, to / stride % side);
        // The ports of a dimension are adjacent, the positive direction first.
        let minus = topology.port(at, hop.port - 1).class == class;
        let port = hop.port - u16::from(topology.wraps() && minus && 2 * x.abs_diff(y) == side);
        let came_upper = state.came_by != 0 && state.came_in >= vcs[usize::from(state.came_by)] / 2;
        let upper = match x {
            _ if state.came_by == 0 => false,
            0 => !came_upper,
            _ => came_upper && goes_on(topology, at, state, hop),
        };
        Balanced::half(topology, at, Hop { port, ..hop }, vcs, upper)
    }
}

impl Routing for Toggled {
    fn route(&mut self, view: &mut View<'_>, _: u16, _: u16, packet: &mut Packet) -> Option<Hop> {
        let hop = minimal_hop(view.topology, view.router, packet, view.vcs(), view.rng);
        let ends = (view.router, packet.destination_router);
        Some(Self::turned(view.topology, ends, packet.hop_state(), hop, view.at.vcs()))
    }
}

impl Adaptive for Toggled {
    fn steps(&self, topology: &dyn Topology, packet: &Standing, vcs: &[u8], out: &mut Vec<Step>) {
        let &Standing { at, to, came, hops, .. } = packet;
        let state = HopState { came_by: came.0, came_in: came.1, leg_hops: hops };
        let mut found = Vec::new();
        topology.minimal_hops(at, to, Leg::ONLY, state, vcs, &mut found);
        // Of two directions, the positive one comes first.
        if let Some(&hop) = found.first() {
            out.push(Step { hop: Self::turned(topology, (at, to), state, hop, vcs), memo: 0, escape: true });
        }
    }

    fn longest(&self, topology: &dyn Topology) -> u32 {
        topology.diameter()
    }
}

/// The rule of [`Rings::Overlapping`].
struct Overlapping;

impl Overlapping {
    /// True if a packet that enters the ring of `class` at router `at` goes in the upper half there: its target lies
    /// below.
    fn upper(topology: &dyn Topology, class: u8, at: u32, to: u32) -> bool {
        let Some(sides) = topology.grid() else { return false };
        let (before, side) = sides.split_at(usize::from(class) - 1);
        let (stride, side) = (before.iter().product::<u32>(), side[0]);
        at / stride % side > to / stride % side
    }

    /// `hop` in a half of `count` channels, one more than a half of an odd number.
    fn half(hop: Hop, count: u8, upper: bool) -> Hop {
        Hop { vc: u8::from(upper) * (count / 2), vcs: count.div_ceil(2), ..hop }
    }
}

impl Routing for Overlapping {
    fn remember(&self, _memory: &mut Memory) {}

    fn route(&mut self, view: &mut View<'_>, _: u16, _: u16, packet: &mut Packet) -> Option<Hop> {
        let hop = minimal_hop(view.topology, view.router, packet, view.vcs(), view.rng);
        let class = view.class(hop.port);
        // A packet enters each of its rings where its source is in it: in dimension order it has not moved along it.
        let (source, _) = view.topology.attachment(packet.source);
        let upper = Self::upper(view.topology, class, source, packet.destination_router);
        Some(Self::half(hop, view.vcs()[usize::from(class)], upper))
    }
}

/// A packet's memory is its half in its present ring: 1 or 2, and 0 for a packet from an endpoint.
impl Adaptive for Overlapping {
    fn steps(&self, topology: &dyn Topology, packet: &Standing, vcs: &[u8], out: &mut Vec<Step>) {
        let &Standing { at, to, came, hops, memo } = packet;
        let state = HopState { came_by: came.0, came_in: came.1, leg_hops: hops };
        let mut found = Vec::new();
        topology.minimal_hops(at, to, Leg::ONLY, state, vcs, &mut found);
        for hop in found {
            let class = topology.port(at, hop.port).class;
            let upper = match goes_on(topology, at, state, hop) {
                true => memo == 2,
                false => Self::upper(topology, class, at, to),
            };
            let hop = Self::half(hop, vcs[usize::from(class)], upper);
            out.push(Step { hop, memo: 1 + u32::from(upper), escape: true });
        }
    }

    fn longest(&self, topology: &dyn Topology) -> u32 {
        topology.diameter()
    }
}

impl Adaptive for Balanced {
    fn steps(&self, topology: &dyn Topology, packet: &Standing, vcs: &[u8], out: &mut Vec<Step>) {
        let &Standing { at, to, came, hops, .. } = packet;
        let state = HopState { came_by: came.0, came_in: came.1, leg_hops: hops };
        let mut found = Vec::new();
        topology.minimal_hops(at, to, Leg::ONLY, state, vcs, &mut found);
        for hop in found {
            let mut step = |hop: Hop| out.push(Step { hop, memo: 0, escape: true });
            match Self::halves(topology, (at, to), state, hop) {
                None => step(hop),
                Some(halves) => {
                    let halves = [false, true].into_iter().zip(halves).filter(|(_, may)| *may);
                    halves.for_each(|(upper, _)| step(Self::half(topology, at, hop, vcs, upper)));
                }
            }
        }
    }

    fn longest(&self, topology: &dyn Topology) -> u32 {
        topology.diameter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Hops;
    use crate::topology::{TopologyParams, Torus};

    #[test]
    fn halves_of_an_odd_number_share_the_channel_in_the_middle() {
        let hop = Hop { port: 1, vc: 0, vcs: 1 };
        let half = |count, upper| {
            let Hop { vc, vcs, .. } = Overlapping::half(hop, count, upper);
            (vc, vcs)
        };
        assert_eq!([half(2, false), half(2, true)], [(0, 1), (1, 1)]);
        assert_eq!([half(3, false), half(3, true)], [(0, 2), (1, 2)]);
        assert_eq!([half(7, false), half(7, true)], [(0, 4), (3, 4)]);
        // A torus of 4 x 3 routers, in the second dimension: from the last row to the first, and back.
        let torus = Torus { dims: vec![4, 3], endpoints_per_router: 1, faults: None }.build().unwrap();
        assert!(Overlapping::upper(&*torus, 2, 11, 3));
        assert!(!Overlapping::upper(&*torus, 2, 3, 11));
    }

    #[test]
    fn halves_toggle_at_the_first_router_of_a_ring() {
        let torus = Torus { dims: vec![4, 6], endpoints_per_router: 1, faults: None }.build().unwrap();
        let turned = |at, to, came_by: u8, came_in| {
            let mut leg_hops = Hops::default();
            (0..u8::from(came_by > 0)).for_each(|_| leg_hops.add(came_by));
            let (state, vcs, mut hops) = (HopState { came_by, came_in, leg_hops }, [1, 2, 2], Vec::new());
            torus.minimal_hops(at, to, Leg::ONLY, state, &vcs, &mut hops);
            let found = hops.iter().map(|&hop| Toggled::turned(&*torus, (at, to), state, hop, &vcs));
            let mut found: Vec<(u16, u8, u8)> = found.map(|hop| (hop.port, hop.vc, hop.vcs)).collect();
            found.dedup();
            found
        };
        // From endpoints, along both dimensions and both ways round; half a ring away the positive one.
        assert_eq!(turned(0, 12, 0, 0), [(3, 0, 1)]);
        assert_eq!(turned(0, 16, 0, 0), [(4, 0, 1)]);
        assert_eq!(turned(1, 3, 0, 0), [(1, 0, 1)]);
        // On from the first router of a ring, and past others.
        assert_eq!([turned(0, 1, 1, 0), turned(0, 1, 1, 1)], [[(1, 1, 1)], [(1, 0, 1)]]);
        assert_eq!([turned(1, 2, 1, 0), turned(1, 2, 1, 1)], [[(1, 0, 1)], [(1, 1, 1)]]);
        // Packets that turn: at the first router and elsewhere.
        assert_eq!([turned(1, 5, 1, 0), turned(1, 5, 1, 1)], [[(3, 1, 1)], [(3, 0, 1)]]);
        assert_eq!([turned(5, 9, 1, 0), turned(5, 9, 1, 1)], [[(3, 0, 1)]; 2]);
    }

    #[test]
    fn who_crosses_neither_end_nor_middle_of_a_ring_may_take_either_half() {
        let ring = Torus { dims: vec![8], endpoints_per_router: 1, faults: None }.build().unwrap();
        let injected = HopState { came_by: 0, came_in: 0, leg_hops: Hops(0) };
        let halves = |at, to| {
            let mut hops = Vec::new();
            ring.minimal_hops(at, to, Leg::ONLY, injected, &[1, 4], &mut hops);
            Balanced::halves(&*ring, (at, to), injected, hops[0]).unwrap()
        };
        // Forwards: within either part of the line, over its middle, over its end.
        assert_eq!([halves(0, 3), halves(4, 7)], [[true, true]; 2]);
        assert_eq!([halves(3, 4), halves(2, 5)], [[true, false]; 2]);
        assert_eq!([halves(7, 0), halves(6, 1)], [[false, true]; 2]);
        // And backwards.
        assert_eq!([halves(3, 0), halves(7, 4)], [[true, true]; 2]);
        assert_eq!([halves(4, 3), halves(5, 2)], [[true, false]; 2]);
        assert_eq!([halves(0, 7), halves(1, 6)], [[false, true]; 2]);
    }
}
