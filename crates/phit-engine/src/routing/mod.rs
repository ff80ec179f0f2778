//! The seam `routing`: the output port and virtual channels of a packet at the head of a queue.
//!
//! One file per mechanism. A mechanism sees the network through [`View`] and the packet only.

use crate::engine::Tick;
use crate::engine::rng::Rng;
use crate::engine::table::Table;
use crate::error::ScenarioError;
use crate::router::packet::{Arena, Packet};
use crate::router::state::{Output, OutputVc};
use crate::topology::{Hop, Topology};
use crate::verify::Legs;
use std::sync::Arc;

pub mod dimension_order;
pub mod minimal;
pub mod valiant;

/// What a mechanism sees of the router at which it decides.
pub struct View<'a> {
    /// The graph.
    pub topology: &'a dyn Topology,
    /// This router.
    pub router: u32,
    /// Current tick.
    pub now: Tick,
    /// Virtual channels per link class.
    pub vcs: &'a [u8],
    /// Buffer size per virtual channel and link class, in phits.
    pub capacity: &'a [u32],
    /// This router's random stream.
    pub rng: &'a mut Rng,
    pub(crate) first_port: u32,
    pub(crate) outputs: &'a Table<Output>,
    pub(crate) channels: &'a Table<OutputVc>,
}

impl View<'_> {
    /// Phits charged against virtual channel `vc` of output `port`: in the output buffer, on the link, in the next input
    /// buffer, or on their way back as credits.
    pub fn occupancy(&self, port: u16, vc: u8) -> u32 {
        let output = &self.outputs[self.first_port + u32::from(port)];
        let credits = self.channels[output.vc + u32::from(vc)].credits;
        (self.capacity[output.class as usize] as i32 - credits).max(0) as u32
    }

    /// True if the crossbar side of output `port` can start a transfer now.
    pub fn idle(&self, port: u16) -> bool {
        self.outputs[self.first_port + u32::from(port)].busy <= self.now
    }
}

/// What a mechanism sees when an endpoint injects a packet.
pub struct Injection<'a> {
    /// The graph.
    pub topology: &'a dyn Topology,
    /// The endpoint's router.
    pub router: u32,
    /// Current tick.
    pub now: Tick,
    /// The endpoint's random stream.
    pub rng: &'a mut Rng,
}

/// A packet at the head of a queue that asks for its next hop, for mechanisms that decide for a router at once.
#[derive(Debug, Clone, Copy)]
pub struct Head {
    /// Input port at which it stands.
    pub port: u16,
    /// Queue of that port.
    pub queue: u16,
    /// Index of the packet in the partition's arena.
    pub packet: u32,
    /// The decision; `None` to ask again in the next tick.
    pub hop: Option<Hop>,
}

/// The routing mechanism of one partition's routers; it owns whatever state the mechanism keeps for them.
///
/// The engine advances a packet from one leg to the next when it reaches its intermediate router or group, and ejects it at
/// its destination; a mechanism is asked about every other head.
pub trait Routing: Send {
    /// Which of the optional calls below the mechanism wants; the engine spends nothing on the others.
    fn wants(&self) -> Wants {
        Wants::default()
    }

    /// A packet enters an injection queue: what can be drawn at the source without a look at any queue (an intermediate
    /// router, say) is drawn here.
    fn inject(&mut self, _at: &mut Injection<'_>, _packet: &mut Packet) {}

    /// Next hop of a packet at the head of input (`port`, `queue`); `None` to be asked again in the next tick.
    fn route(&mut self, view: &mut View<'_>, port: u16, queue: u16, packet: &mut Packet) -> Option<Hop>;

    /// Decides for all heads of one router that wait for a decision in this tick, in order of port and queue. Ejections
    /// are not among them.
    fn route_all(&mut self, view: &mut View<'_>, heads: &mut [Head], packets: &mut Arena) {
        for head in heads {
            head.hop = self.route(view, head.port, head.queue, &mut packets[head.packet]);
        }
    }

    /// A packet has come to the front of input (`port`, `queue`) of `router`.
    fn head_arrived(&mut self, _topology: &dyn Topology, _router: u32, _port: u16, _queue: u16, _packet: &mut Packet) {}

    /// The tail of the packet announced by [`Self::head_arrived`] has left that queue.
    fn tail_left(&mut self, _router: u32, _port: u16, _queue: u16) {}
}

/// The optional parts of [`Routing`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Wants {
    /// Decide for all waiting heads of a router at once, by [`Routing::route_all`].
    pub batch: bool,
    /// Ask again, in every tick in which it could be allocated, about a head that has not been granted yet.
    pub redecide: bool,
    /// Call [`Routing::head_arrived`] and [`Routing::tail_left`].
    pub heads: bool,
}

/// What a mechanism is given when it is made for a partition.
#[non_exhaustive]
pub struct RoutingContext {
    /// The graph.
    pub topology: Arc<dyn Topology>,
    /// The partition's routers.
    pub routers: std::ops::Range<u32>,
    /// Virtual channels per link class.
    pub vcs: Vec<u8>,
}

/// What a mechanism's file provides besides the rule.
pub trait RoutingParams {
    /// Checks the mechanism against the graph. Error paths are relative to `routing`.
    fn check(&self, topology: &dyn Topology) -> Result<(), ScenarioError>;
    /// Virtual channels needed per link class (class 0, the endpoints', is ignored), with the reason in words.
    fn vcs_needed(&self, topology: &dyn Topology) -> (Vec<u8>, String);
    /// The routes that its packets may take, if a proof of deadlock freedom can follow them.
    fn legs(&self) -> Option<Legs>;
    /// The mechanism for one partition.
    fn build(&self, context: &RoutingContext) -> Box<dyn Routing>;
}

crate::registry! {
    /// `[routing]`: the routing mechanism.
    pub enum RoutingKind: "routing" as RoutingParams {
        "minimal" => Minimal(minimal::Minimal),
        "valiant" => Valiant(valiant::Valiant),
        "dimension_order" => DimensionOrder(dimension_order::DimensionOrder),
    }
}
