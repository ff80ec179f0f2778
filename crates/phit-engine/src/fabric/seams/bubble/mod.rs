//! The seam `bubble`: the decision at a packet's source in adaptive bubble routing (ABR), Pick Orthant routing (POR),
//! OutFlank routing (OFR) and GOAL, on tori and meshes.
//!
//! All of them move packets alike (Puente et al., "The Adaptive Bubble Router", JPDC 2001). A packet prefers any
//! adaptive queue on its route. Where none has room, it takes dimension order through an *escape* queue. It may enter
//! an escape queue from elsewhere only if it leaves a free slot (a *bubble*) there. The mechanisms differ in the
//! [`Plan`] of a new packet: the minimal route, a route through another orthant, or a route through an intermediate
//! destination (F. Versaci, "OutFlank Routing: Increasing Throughput in Toroidal Interconnection Networks", ICPADS
//! 2013).
//!
//! A link has three virtual channels: [`ADAPTIVE`], [`TO_DESTINATION`] (the paper's VS2) and [`TO_INTERMEDIATE`] (VS1).
//! Both of Phit's routers use these rules: the input-queued router through a routing mechanism, the packet-level node
//! by itself.

use crate::engine::Rng;
use crate::error::ScenarioError;
use crate::topology::Topology;
use std::fmt::Debug;
use std::sync::Arc;

pub(crate) mod choices;
pub(crate) mod lattice;
pub(crate) mod profit;

use choices::Choices;
use lattice::{HalfWay, Lattice, Offsets};
use profit::{PackedSlots, Slots};

/// Virtual channel of the adaptive queue of a link.
pub(crate) const ADAPTIVE: u8 = 0;
/// Virtual channel of the escape queue for packets that head for their destination.
pub(crate) const TO_DESTINATION: u8 = 1;
/// Virtual channel of the escape queue for packets that head for an intermediate destination.
pub(crate) const TO_INTERMEDIATE: u8 = 2;

/// How a packet was derouted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(u8)]
pub enum Derouted {
    /// Not at all.
    #[default]
    No = 0,
    /// Through an orthant that is not minimal (POR).
    Orthant = 1,
    /// Through an OutFlank intermediate destination.
    OutFlank = 2,
    /// Through a wraparound intermediate destination.
    Wraparound = 3,
}

/// The plan of a new packet, made at its source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Plan {
    /// Intermediate destination.
    pub via: Option<u32>,
    /// The route to the intermediate destination, or to the destination.
    pub way: Offsets,
    /// Hops to the destination.
    pub hops: u16,
    /// Its kind.
    pub derouted: Derouted,
}

/// The use of the escape queues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Escape {
    /// Slots that a packet leaves free in an escape queue that it enters from elsewhere. With 0, packets can wait for
    /// one another around a ring.
    pub bubble: u16,
    /// Virtual channel of packets that head for an intermediate destination; `None` if packets have none.
    pub to_intermediate: Option<u8>,
}

impl Escape {
    /// The escape queue of a packet with this remaining route, by dimension order: its direction and virtual channel,
    /// and the free slots that the packet needs there. Within its ring, where it came by this direction and channel
    /// (`came`), the last slot is enough. From elsewhere it needs `elsewhere` slots: [`Self::room`] by the bubble rule.
    #[inline]
    pub fn queue(
        &self,
        way: &Offsets,
        to_intermediate: bool,
        came: Option<(usize, u8)>,
        elsewhere: u16,
    ) -> Option<(usize, u8, u16)> {
        Some(self.queue_in(dimension_order(way)?, to_intermediate, came, elsewhere))
    }

    /// [`Self::queue`] for a packet whose direction in dimension order is known.
    #[inline]
    pub fn queue_in(
        &self,
        direction: usize,
        to_intermediate: bool,
        came: Option<(usize, u8)>,
        elsewhere: u16,
    ) -> (usize, u8, u16) {
        let ahead = self.to_intermediate.unwrap_or(TO_DESTINATION);
        let vc = if to_intermediate { ahead } else { TO_DESTINATION };
        let within = came.is_some_and(|(through, by)| (through == direction) & (by == vc));
        let room = if within { 1 } else { elsewhere };
        (direction, vc, room)
    }

    /// Free slots that a packet needs in an escape queue that it enters from elsewhere: its own and the bubble.
    #[inline]
    pub fn room(&self) -> u16 {
        1 + self.bubble
    }

    /// Virtual channels per link class, with the reason in words.
    pub(crate) fn vcs_needed(&self, topology: &dyn Topology) -> (Vec<u8>, String) {
        let (each, why) = match self.to_intermediate {
            Some(TO_INTERMEDIATE) => {
                (3, "an adaptive one and two for escape: to the intermediate and to the final destination")
            }
            _ => (2, "an adaptive one and one for escape"),
        };
        let mut needed = vec![each; topology.classes().len()];
        needed[0] = 1;
        (needed, why.into())
    }
}

/// A member of the family: its use of the escape queues, and the decision at the source.
pub trait Bubble {
    /// Its use of the escape queues.
    fn escape(&self) -> Escape;
    /// The decision at the source on a network, or the reason why the network does not fit. Error paths are relative to
    /// `routing`.
    fn deroute(&self, topology: &dyn Topology) -> Result<Arc<dyn Deroute>, ScenarioError>;
}

/// The decision at the source, in which the members of the family differ.
pub trait Deroute: Send + Sync + Debug {
    /// The grid.
    fn lattice(&self) -> &Lattice;

    /// The direction of routes of half a ring.
    fn half_way(&self) -> HalfWay;

    /// The plan of a packet from router `from` to another router `to`, given the adaptive queues of `from`.
    fn plan(&self, from: u32, to: u32, slots: &Slots<'_>, rng: &mut Rng) -> Plan;

    /// False if `plan` is the same whatever the adaptive queues hold.
    fn weighs_queues(&self) -> bool {
        true
    }

    /// Records the choices of `plan`. Returns false, and records nothing, if they depend on chance.
    fn note(&self, _from: u32, _to: u32, _choices: &mut Choices) -> bool {
        false
    }

    /// Records the choices of `plan` for one packet, whose random numbers are `rng`. Returns false, and records
    /// nothing, if nothing is chosen among.
    fn note_of_packet(&self, _from: u32, _to: u32, _rng: &mut Rng, _choices: &mut Choices) -> bool {
        false
    }

    /// The plan of a packet whose choices have been recorded.
    fn choose(&self, choices: &Choices, _slots: &PackedSlots) -> Plan {
        choices.only().unwrap_or_default()
    }
}

/// The direction on `way` whose adaptive queue has most free slots; among equals, the lowest dimension. This is a
/// packet's preference. `free` returns the free slots of a direction. It is called for every dimension, even if no hops
/// remain there.
#[inline]
pub(crate) fn most_free(way: &[i16], free: impl Fn(usize) -> u32) -> Option<(usize, u32)> {
    // Free slots plus one, combined with the dimension counted from the other end: the greatest of these numbers is the
    // choice. No comparison is a branch that the processor must predict.
    const DIMENSIONS: u32 = lattice::MOST_DIMENSIONS.next_power_of_two() as u32;
    let best = way.iter().zip(0..).fold(0, |best: u32, (&hops, d)| {
        let slots = free(lattice::direction(d as usize, hops < 0));
        best.max(if hops != 0 { (slots + 1) * DIMENSIONS + (DIMENSIONS - 1 - d) } else { 0 })
    });
    let d = (DIMENSIONS - 1 - best % DIMENSIONS) as usize;
    (best != 0).then(|| (lattice::direction(d, way[d] < 0), best / DIMENSIONS - 1))
}

/// The direction of dimension order: of the lowest dimension with remaining hops.
#[inline]
pub(crate) fn dimension_order(way: &Offsets) -> Option<usize> {
    way.iter().position(|&hops| hops != 0).map(|d| lattice::direction(d, way[d] < 0))
}
