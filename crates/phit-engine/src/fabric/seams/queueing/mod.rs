//! The seam `queueing`: the division of an input port's buffers into queues, and the choice of a packet's queue.
//!
//! A *buffer* belongs to one virtual channel of a link (`router.links.*.buffer`). An organisation determines the number
//! of its queues, and whether they have equal parts of the buffer or share it. The sender holds the credits, so it
//! chooses the queue when it grants the packet. A rule may use the packet, the channels that the routing mechanism
//! permits, and the next router.
//!
//! An organisation is *managed* if it also moves packets between queues, holds queues back or notifies its neighbours:
//! see [`Manager`]. The organisations are in [`crate::queueing`], one file or small folder each.

use crate::error::ScenarioError;
use crate::fabric::seams::routing::{Legs, Proof};
use crate::measure::{Observable, Total};
use crate::packet::Packet;
use crate::topology::{Hop, RouteTable, Routers, Topology};
use std::sync::Arc;

mod manager;

pub use manager::{Branch, Manager, QueueSite};

/// A range of queues of an input port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lanes {
    /// First queue.
    pub first: u16,
    /// Number of queues, at least 1.
    pub count: u16,
}

impl Lanes {
    /// One queue.
    #[inline]
    pub fn one(queue: u16) -> Self {
        Self { first: queue, count: 1 }
    }
}

impl From<Hop> for Lanes {
    fn from(hop: Hop) -> Self {
        Self { first: hop.vc.into(), count: hop.vcs.into() }
    }
}

/// The queue organisation of one partition's input buffers.
pub trait Queueing: Send {
    /// The queues of the next input port that the packet may enter by `hop`. `next` is the router behind the port.
    fn select(&self, topology: &dyn Topology, next: u32, packet: &Packet, hop: Hop) -> Lanes;

    /// The queue of its injection port into which an endpoint of `router` puts a packet for `destination`. `None`
    /// leaves the choice to `router.injection_queue`.
    fn inject(&self, _router: u32, _destination: u32) -> Option<u16> {
        None
    }

    /// The queues that `packet` may enter by `hop` from `router` ([`QueueingParams::looks_ahead`]); for an ejected
    /// packet, the endpoint's queue.
    fn ahead(&self, _topology: &dyn Topology, _router: u32, _packet: &Packet, hop: Hop) -> Lanes {
        hop.into()
    }

    /// The queues of its injection port that an endpoint of `router` may put `packet` into
    /// ([`QueueingParams::looks_ahead`]).
    fn enters(&self, _topology: &dyn Topology, _router: u32, _packet: &Packet) -> Lanes {
        Lanes::one(0)
    }

    /// The queue of its virtual channel that `packet` goes into when its head arrives at `router`
    /// ([`QueueingParams::sorts`]).
    fn sorted(&self, _topology: &dyn Topology, _router: u32, _packet: &Packet) -> u16 {
        0
    }

    /// True if its choices depend on nothing but the packet's destination, the routers and the hop: they are the same
    /// at any time. Defaults to organisations that leave the routing mechanism's range unchanged.
    fn timeless(&self) -> bool {
        self.transparent()
    }

    /// True if all packets of a queue have one destination.
    fn by_destination(&self) -> bool {
        false
    }

    /// True if [`Self::select`] returns the routing mechanism's range unchanged, and [`Self::inject`] returns `None`.
    fn transparent(&self) -> bool {
        false
    }
}

/// The division of a buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Division {
    /// Queues of each virtual channel, at least 1.
    pub queues: u32,
    /// True if packets enter only the first queue, which has the whole buffer, and are moved from there or sorted on
    /// arrival. False if each queue has an equal part.
    pub shared: bool,
}

impl Division {
    /// One queue with the whole buffer.
    pub const WHOLE: Self = Self { queues: 1, shared: false };

    /// Number of parts of a buffer that belong to a queue.
    pub fn parts(self) -> u32 {
        if self.shared { 1 } else { self.queues }
    }

    /// Equal parts.
    pub fn equal(queues: u32) -> Self {
        Self { queues, shared: false }
    }
}

/// The context in which an organisation is built for a partition.
#[non_exhaustive]
pub struct QueueingContext {
    /// The graph.
    pub topology: Arc<dyn Topology>,
    /// The partition's routers.
    pub routers: Routers,
    /// Virtual channels per link class.
    pub vcs: Vec<u8>,
    /// The routing mechanism's tables, if it has any.
    pub table: Option<Arc<RouteTable>>,
    /// Phits of the largest packet.
    pub packet_size: u32,
    /// Ticks per link cycle.
    pub ticks_per_cycle: u32,
    /// The longest routes, if packets take the channels of their places on them ([`Proof::reference`]).
    pub reference: Option<Legs>,
}

impl QueueingContext {
    /// The positions of the partition's ports, by their indices.
    pub fn places(&self) -> Vec<PortPlace> {
        let mut places = vec![];
        for router in self.routers.iter() {
            let (first, ports) = (places.len() as u32, self.topology.ports(router));
            let end = first + u32::from(ports);
            let class = |port: u16| self.topology.port(router, port).class;
            places.extend((0..ports).map(|port| PortPlace { router, first, end, class: class(port) }));
        }
        places
    }

    /// The tables of the routing mechanism, or balanced ones if it has none.
    pub fn routes(&self) -> Option<Arc<RouteTable>> {
        self.table.clone().or_else(|| RouteTable::balanced(&*self.topology).map(Arc::new))
    }
}

/// The position of a port of a partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PortPlace {
    /// Router of the port, by its number in the network.
    pub router: u32,
    /// First port of its router, as an index in the partition.
    pub first: u32,
    /// First port of the next router.
    pub end: u32,
    /// Link class of the port.
    pub class: u8,
}

/// The context in which an organisation is checked.
pub struct Fit<'a> {
    /// The graph.
    pub topology: &'a dyn Topology,
    /// Virtual channels per link class.
    pub vcs: &'a [u16],
    /// Phits of the buffer of a virtual channel, per link class.
    pub buffer: &'a [u32],
    /// Phits of the largest packet.
    pub packet_size: u32,
    /// True if all packets from a source to a destination take one route.
    pub deterministic: bool,
    /// True if a congestion control slows sources down.
    pub throttled: bool,
    /// True if endpoints have a source queue for each destination.
    pub by_destination: bool,
    /// True if the packet is the flit.
    pub whole_packets: bool,
    /// Virtual networks, which have equal parts of the virtual channels.
    pub networks: u16,
    /// The longest routes, if packets take the channels of their places on them ([`Proof::reference`]).
    pub reference: Option<Legs>,
}

/// The place of a hop on its route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Link class of the hop.
    pub class: u8,
    /// True if it leads to an intermediate router or group, false if to the destination.
    pub first_leg: bool,
    /// True if it begins in the group of that target.
    pub at_target: bool,
}

/// The channels that hops may take, for an organisation that permits more of them than the routing mechanism names.
pub trait Widening: Send + Sync {
    /// The number of channels that a hop may take: the lowest ones of its link, at least one. A blocked packet can
    /// always wait for the highest of them.
    fn count(&self, place: Place) -> u8;
    /// Why the channels of the places that a proof knows are not exactly those that packets may take, if they are not.
    fn unproved(&self) -> Option<&'static str> {
        None
    }
}

/// The parameters of an organisation.
pub trait QueueingParams {
    /// The division of the buffers of `topology`.
    fn division(&self, _topology: &dyn Topology) -> Division {
        Division::WHOLE
    }
    /// Checks the organisation. Room for a packet in each queue has been checked before. Error paths are relative to
    /// `queueing`.
    fn check(&self, _fit: &Fit<'_>) -> Result<(), ScenarioError> {
        Ok(())
    }
    /// True if the organisation leaves buffers undivided: one queue for each virtual channel.
    fn undivided(&self) -> bool {
        false
    }
    /// True if the organisation chooses by the packet's hop at the next router, and leaves buffers undivided. The
    /// routing mechanism must then tell its hops ahead ([`RoutingParams::told_ahead`]), and [`Queueing::ahead`] and
    /// [`Queueing::enters`] are called instead of the other functions.
    ///
    /// [`RoutingParams::told_ahead`]: crate::fabric::seams::routing::RoutingParams::told_ahead
    fn looks_ahead(&self) -> bool {
        false
    }
    /// True if the router sorts packets on arrival. All queues of a virtual channel share its buffer, and packets are
    /// sent to the first queue. A packet stands in the queue that [`Queueing::sorted`] names. The routing mechanism
    /// must tell its hops ahead ([`RoutingParams::told_ahead`]).
    ///
    /// [`RoutingParams::told_ahead`]: crate::fabric::seams::routing::RoutingParams::told_ahead
    fn sorts(&self) -> bool {
        false
    }
    /// Why packets cannot wait for one another for ever, for an organisation that looks ahead and does not use the
    /// channels of the routing mechanism.
    fn proof(&self) -> Option<Proof> {
        None
    }
    /// True if the channels of a hop follow from its place on the longest route of the routing mechanism. The mechanism
    /// must have such routes ([`Proof::reference`]). If it compares queues, it must know these channels
    /// ([`RoutingParams::knows_widening`]).
    ///
    /// [`RoutingParams::knows_widening`]: crate::fabric::seams::routing::RoutingParams::knows_widening
    fn follows_positions(&self) -> bool {
        false
    }
    /// The channels that hops may take with `vcs` virtual channels per link class, if the organisation permits more of
    /// them than the routing mechanism names.
    fn widening(&self, _reference: Legs, _vcs: &[u8]) -> Option<Arc<dyn Widening>> {
        None
    }
    /// Those of requests, if replies have channels of their own beside them.
    fn widening_of_requests(&self, _reference: Legs, _vcs: &[u8]) -> Option<Arc<dyn Widening>> {
        None
    }
    /// True if replies have channels that requests never take.
    fn parts_replies(&self) -> bool {
        false
    }
    /// True if the organisation sends control messages.
    fn sends_messages(&self) -> bool {
        false
    }
    /// The observables of a managed organisation ([`Manager::observe`]).
    fn observables(&self) -> &'static [Observable] {
        &[]
    }
    /// The totals of a managed organisation ([`Manager::totals`]).
    fn totals(&self) -> Vec<&'static Total> {
        Vec::new()
    }
    /// The rule for one partition.
    fn build(&self, context: &QueueingContext) -> Box<dyn Queueing>;
    /// The manager of a managed organisation, for one partition of `ports` ports and `endpoints` endpoints.
    fn manager(&self, _context: &QueueingContext, _ports: u32, _endpoints: u32) -> Option<Box<dyn Manager>> {
        None
    }
}
