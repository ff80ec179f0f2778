//! The seam `routing`: the output port and virtual channels of a packet at the head of a queue.
//!
//! A mechanism sees the network through [`View`] and the packet only. The mechanisms are in [`crate::routing`], one
//! file each.

use super::bubble::Bubble;
use crate::engine::Tick;
use crate::error::ScenarioError;
use crate::measure::Observable;
use crate::packet::{Arena, Packet};
use crate::topology::{Hop, RouteTable, Routers, Topology};
use std::sync::Arc;

mod hops;
mod output_buffers;
mod outputs;
mod proof;
mod view;

pub use hops::minimal_hop;
pub(crate) use hops::{DISCARD, advance_leg, one_channel, told_ahead};
pub(crate) use output_buffers::OutputBuffers;
pub(crate) use outputs::{Buffers, Granted, Output, OutputTables, OutputVc};
pub use proof::{Adaptive, Channels, Ladder, Legs, Longest, Proof, Routes, Standing, Step};
pub use view::{Injection, Payload, RouterView, Site, View};
pub(crate) use view::{Outgoing, Row, Watched, Watches};

/// Takes what a mechanism keeps: the quantity, the port (or another index) that it is about, its value.
pub type See<'a> = &'a mut dyn FnMut(&'static Observable, Option<u16>, u32);

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

/// One of several hops for which a head asks at once.
#[derive(Debug, Clone, Copy)]
pub struct Alternative {
    /// The hop, with all the virtual channels that the head would take.
    pub hop: Hop,
    /// It comes after the others.
    pub after: bool,
}

/// The routing mechanism of one partition's routers; it owns whatever state the mechanism keeps for them.
///
/// The engine advances a packet from one leg to the next when it reaches its intermediate router or group, and ejects
/// it at its destination; a mechanism is asked about every other head.
pub trait Routing: Send {
    /// Which of the optional calls below the mechanism wants; the engine spends nothing on the others.
    fn wants(&self) -> Wants {
        Wants::default()
    }

    /// A packet enters an injection queue: what can be drawn at the source without a look at any queue (an intermediate
    /// router, say) is drawn here.
    fn inject(&mut self, _at: &mut Injection<'_>, _packet: &mut Packet) {}

    /// An endpoint begins to send `packet`, which it has injected: after all that arrives in the tick, and before any
    /// decision ([`Wants::sends`]).
    fn sends(&mut self, _at: &RouterView<'_>, _packet: &mut Packet) {}

    /// Next hop of a packet at the head of input (`port`, `queue`); `None` to be asked again in the next tick.
    fn route(&mut self, view: &mut View<'_>, port: u16, queue: u16, packet: &mut Packet) -> Option<Hop>;

    /// Appends to `out` all the hops for which the head of `packet` asks, of which [`Self::route`] has said one: where
    /// virtual channels are allocated in a stage of their own, it takes whichever it gets ([`Wants::alternatives`]).
    fn alternatives(&self, _at: &RouterView<'_>, _packet: &Packet, _out: &mut Vec<Alternative>) {}

    /// Decides for all heads of one router that wait for a decision in this tick, in order of port and queue. Ejections
    /// are not among them.
    fn route_all(&mut self, view: &mut View<'_>, heads: &mut [Head], packets: &mut Arena) {
        for head in heads {
            head.hop = self.route(view, head.port, head.queue, &mut packets[head.packet]);
        }
    }

    /// The head of `packet` enters the router, whatever stands before it in its queue. Heads of one tick, and credits,
    /// come in no particular order: nothing of this tick may be read, and random numbers come from [`Packet::rng`].
    fn arrives(&mut self, _at: &RouterView<'_>, _packet: &mut Packet) {}

    /// A packet has come to the front of input (`port`, `queue`).
    fn head_arrived(&mut self, _at: &mut Site<'_>, _port: u16, _queue: u16, _packet: &mut Packet) {}

    /// The tail of the packet announced by [`Self::head_arrived`] has left that queue.
    fn tail_left(&mut self, _at: &mut Site<'_>, _port: u16, _queue: u16) {}

    /// The packet at the head of input (`port`, `queue`) has been granted the hop that was decided for it, an ejection
    /// excepted: `hop` names the one virtual channel that it got.
    fn departs(&mut self, _at: &RouterView<'_>, _port: u16, _queue: u16, _hop: Hop, _packet: &mut Packet) {}

    /// Called for every router when [`Wants::period`] has passed, after all that arrives in the tick and before any
    /// decision; first in tick 0.
    fn period(&mut self, _at: &mut Site<'_>) {}

    /// Called, at most once in a tick, after all that arrives in it and before any decision, for a router of which the
    /// occupancy of some output has changed since the last call: by credits up to this tick, by grants up to the one
    /// before. With [`Wants::after_grants`] at the end of the tick instead, and by its grants, too.
    fn occupancy_changed(&mut self, _at: &mut Site<'_>) {}

    /// A control message has come from the router at the far end of `port`. Messages of one tick come in no particular
    /// order.
    fn hear(&mut self, _at: &mut Site<'_>, _port: u16, _payload: &Payload) {}

    /// The tables that say all about [`Self::route`] as long as nothing breaks: a packet leaves every router by the
    /// port that they name for its destination, in the first virtual channel. What the kernel reads there it need not
    /// ask.
    fn tables(&self) -> Option<&Arc<RouteTable>> {
        None
    }

    /// Something has broken or works again, and all routers have got to know of it: from now on the graph is that of
    /// the breakdown with the number `phase` - 1, and the tables, if the mechanism has any, are these.
    fn rerouted(&mut self, _now: Tick, _phase: usize, _table: Option<&Arc<RouteTable>>) {}

    /// The virtual channel in which `packet` is ejected ([`Wants::ejects`]).
    fn ejection(&self, _packet: &Packet) -> u8 {
        0
    }

    /// Calls `see` with the quantities that the mechanism keeps for `router`, for probes: one that is declared in
    /// [`RoutingParams::observables`], a port if it is about one (or another index), a value, as a decision in tick
    /// `now` would find it.
    fn observe(&self, _router: u32, _now: Tick, _see: See<'_>) {}
}

/// The optional parts of [`Routing`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Wants {
    /// Decide for all waiting heads of a router at once, by [`Routing::route_all`].
    pub batch: bool,
    /// Ask again about a head that has not been granted yet, whenever the output chosen for it, or one that it watches
    /// ([`View::watch`]), has changed; with `batch` in every tick, because heads decided about together depend on one
    /// another.
    pub redecide: bool,
    /// Call [`Routing::arrives`].
    pub arrivals: bool,
    /// Call [`Routing::head_arrived`] and [`Routing::tail_left`].
    pub heads: bool,
    /// Call [`Routing::departs`].
    pub departures: bool,
    /// Call [`Routing::occupancy_changed`].
    pub occupancy: bool,
    /// Call it for outputs of this link class only; 0: for all.
    pub occupancy_class: u8,
    /// Call it at the end of a tick.
    pub after_grants: bool,
    /// Call [`Routing::sends`].
    pub sends: bool,
    /// Call [`Routing::period`] every so many cycles; 0: never.
    pub period: u32,
    /// Call neither [`Routing::inject`] nor [`Routing::route`]: every packet goes to its destination by
    /// [`minimal_hop`].
    pub settled: bool,
    /// A packet that passes its destination's router ends there, whatever it was to visit first.
    pub ends_passing: bool,
    /// Call [`Routing::alternatives`]: heads ask for channels of several outputs at once.
    pub alternatives: bool,
    /// Call [`Routing::ejection`]: a packet is ejected in the channel that it names, or the last there is, not in any.
    pub ejects: bool,
}

/// What a mechanism is given when it is made for a partition.
#[non_exhaustive]
pub struct RoutingContext {
    /// The graph.
    pub topology: Arc<dyn Topology>,
    /// The partition's routers.
    pub routers: Routers,
    /// Virtual channels per link class.
    pub vcs: Vec<u8>,
    /// Queues per input port of each link class (class 0: injection queues).
    pub queues: Vec<u16>,
    /// Queues of a virtual channel of which all but the first hold packets that the queue organisation has isolated; 1
    /// if it isolates none.
    pub isolating: u16,
    /// Phits of the largest packet.
    pub packet_size: u32,
    /// Ticks per link cycle.
    pub ticks_per_cycle: Tick,
    /// A queue organisation asks for hops ahead of time ([`RoutingParams::told_ahead`]).
    pub ahead: bool,
    /// The routing tables, for a mechanism that has them ([`RoutingParams::table`]).
    pub table: Option<Arc<RouteTable>>,
}

/// What a mechanism's file provides besides the rule.
pub trait RoutingParams {
    /// Checks the mechanism against the graph. Error paths are relative to `routing`.
    fn check(&self, topology: &dyn Topology) -> Result<(), ScenarioError>;
    /// Virtual channels needed per link class (class 0, the endpoints', is ignored), with the reason in words.
    fn vcs_needed(&self, topology: &dyn Topology) -> (Vec<u8>, String);
    /// Why its packets cannot wait for one another for ever, in a form that can be checked on a network.
    fn proof(&self) -> Proof;
    /// True if packets can be routed around faulty links: all hops are the topology's minimal hops towards a router.
    fn avoids_faults(&self) -> bool {
        false
    }
    /// Virtual channels of every link between routers, the last ones, that [`View`] does not show: the mechanism itself
    /// puts detours there.
    fn reserved(&self) -> u8 {
        0
    }
    /// True if decisions read the state of routers other than their own at once, as only a simulator can: such a run
    /// has one partition.
    fn reads_everything(&self) -> bool {
        false
    }
    /// True if the mechanism sends control messages ([`Site::send`]).
    fn sends_messages(&self) -> bool {
        false
    }
    /// True if any of them has phits, and so takes a link's time.
    fn loads_links(&self) -> bool {
        self.sends_messages()
    }
    /// The mechanism's place in the bubble family, if it is one of it: what the packet-level node takes
    /// ([`crate::fabric::packet_node`]).
    fn bubble(&self) -> Option<&dyn Bubble> {
        None
    }
    /// True if its rules hold for packets that move as a whole only.
    fn needs_whole_packets(&self) -> bool {
        false
    }
    /// True if it may decide for each of several virtual networks by itself: a decision depends on the packet and on
    /// what
    /// [`View`] says of the router's outputs, and on nothing that the mechanism keeps.
    fn per_network(&self) -> bool {
        false
    }
    /// True if its hops can be told before a packet is there: they are those of `told_ahead`, where the context asks
    /// for that.
    fn told_ahead(&self) -> bool {
        false
    }
    /// True if decisions read how full buffers are, each virtual channel's by itself.
    fn reads_buffers(&self) -> bool {
        true
    }
    /// True if all that decisions read of buffers is how many phits are charged against channels, never how much room
    /// there is: that is known where channels share a buffer, too.
    fn counts_phits(&self) -> bool {
        false
    }
    /// True if it compares the buffers of all links between routers, which must then be equal.
    fn compares_buffers(&self) -> bool {
        false
    }
    /// True if heads ask for virtual channels of several outputs at once ([`Wants::alternatives`]).
    fn alternatives(&self) -> bool {
        false
    }
    /// True if these are all over one output, so that a head can ask for the crossbar before it has a channel.
    fn alternatives_of_one_output(&self) -> bool {
        false
    }
    /// True if the room that a decision has found must still be there when the packet is granted: an output takes one
    /// packet in a tick.
    fn counts_on_room(&self) -> bool {
        false
    }
    /// Packets for which the buffer of a link between routers must have room.
    fn packets_per_buffer(&self) -> u32 {
        1
    }
    /// The routing tables, if the way of a packet depends on its destination alone: made once for a network, for the
    /// mechanism and for queue organisations that look ahead.
    fn table(&self, _topology: &dyn Topology) -> Option<Arc<RouteTable>> {
        None
    }
    /// What the mechanism tells probes ([`Routing::observe`]).
    fn observables(&self) -> &'static [Observable] {
        &[]
    }
    /// The mechanism for one partition.
    fn build(&self, context: &RoutingContext) -> Box<dyn Routing>;
}
