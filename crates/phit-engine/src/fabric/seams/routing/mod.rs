//! The seam `routing`: the output port and virtual channels of a packet at the head of a queue.
//!
//! A mechanism sees the network through [`View`] and the packet only. The mechanisms are in [`crate::routing`], one
//! file each.

use super::bubble::Bubble;
use super::queueing::Widening;
use crate::engine::{Memory, Tick};
use crate::error::ScenarioError;
use crate::measure::Observable;
use crate::packet::{Arena, Packet};
use crate::topology::{Hop, RouteTable, Routers, Topology};
use std::ops::Range;
use std::sync::Arc;

mod hops;
mod output_buffers;
mod output_channels;
mod output_queues;
mod outputs;
mod proof;
mod view;

pub use hops::minimal_hop;
pub(crate) use hops::{DISCARD, advance_leg, one_channel, told_ahead};
pub(crate) use output_buffers::OutputBuffers;
pub(crate) use output_channels::OutputChannels;
pub(crate) use output_queues::{Leaving, OutputQueues};
pub(crate) use outputs::{Buffers, Granted, Output, OutputTables, OutputVc};
pub use proof::{Adaptive, Channels, Ladder, Legs, Longest, Proof, Routes, Standing, Step};
pub(crate) use view::Changes;
pub use view::{Injection, Payload, RouterView, Site, View};
pub(crate) use view::{Outgoing, Row, Watched, Watches};

/// Receives an observation of a mechanism: the quantity, its port (or another index), and its value.
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
    /// It has been decided about before, and could not go.
    pub again: bool,
    /// The decision; `None` to ask again.
    pub hop: Option<Hop>,
    /// Without a decision: the head is asked about again when one of these output ports gets room. Without ports, and
    /// where heads cannot sleep, it is asked about in the next tick.
    pub waits: Ports,
}

/// Neighbouring ports of a router.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ports {
    /// The first port.
    pub first: u16,
    /// How many there are.
    pub count: u16,
}

impl Ports {
    /// The numbers of the ports.
    pub fn numbers(self) -> Range<u16> {
        self.first..self.first + self.count
    }
}

/// One of several hops for which a head asks at once.
#[derive(Debug, Clone, Copy)]
pub struct Alternative {
    /// The hop, with all the virtual channels that the head would take.
    pub hop: Hop,
    /// It comes after all others.
    pub after: bool,
}

/// The routing mechanism of one partition's routers; it owns all state that the mechanism keeps for them.
///
/// The engine moves a packet from one leg to the next when it reaches its intermediate router or group, and ejects it
/// at its destination. The mechanism is asked about every other head.
pub trait Routing: Send {
    /// Bytes of the mechanism's tables whose size depends on the number of queues of its routers.
    fn bytes(&self) -> usize {
        0
    }

    /// Which of the optional calls below the mechanism needs. The engine spends nothing on the others.
    fn wants(&self) -> Wants {
        Wants::default()
    }

    /// A packet enters an injection queue. Random choices at the source that do not depend on queues, such as an
    /// intermediate router, are made here.
    fn inject(&mut self, _at: &mut Injection<'_>, _packet: &mut Packet) {}

    /// An endpoint begins to send `packet`, which it has injected. Called after all arrivals of the tick, and before
    /// any decision ([`Wants::sends`]).
    fn sends(&mut self, _at: &RouterView<'_>, _packet: &mut Packet) {}

    /// Next hop of a packet at the head of input (`port`, `queue`); `None` to be asked again in the next tick.
    fn route(&mut self, view: &mut View<'_>, port: u16, queue: u16, packet: &mut Packet) -> Option<Hop>;

    /// Appends to `out` all hops that the head of `packet` requests, including the hop that [`Self::route`] returned.
    /// If virtual channels are allocated in a separate stage, the head takes any hop whose channel it gets
    /// ([`Wants::alternatives`]).
    fn alternatives(&self, _at: &RouterView<'_>, _packet: &Packet, _out: &mut Vec<Alternative>) {}

    /// Decides for all heads of one router that wait for a decision in this tick, except ejections, in order of port
    /// and queue.
    fn route_all(&mut self, view: &mut View<'_>, heads: &mut [Head], packets: &mut Arena) {
        for head in heads {
            head.hop = self.route(view, head.port, head.queue, &mut packets[head.packet]);
        }
    }

    /// The head of `packet` enters input (`port`, `queue`), even if other packets precede it in its queue. Heads of one
    /// tick, and credits, have no particular order. So nothing of this tick may be read, and random numbers come from
    /// [`RouterView::rng_of`].
    fn arrives(&mut self, _at: &RouterView<'_>, _port: u16, _queue: u16, _packet: &mut Packet) {}

    /// A packet has reached the front of input (`port`, `queue`).
    fn head_arrived(&mut self, _at: &mut Site<'_>, _port: u16, _queue: u16, _packet: &mut Packet) {}

    /// The tail of the packet announced by [`Self::head_arrived`] has left that queue.
    fn tail_left(&mut self, _at: &mut Site<'_>, _port: u16, _queue: u16) {}

    /// The packet at the head of input (`port`, `queue`) has been granted its hop, which is not an ejection unless the
    /// mechanism asks for these too ([`Wants::ejections`]). `hop` names the one virtual channel that it got.
    fn departs(&mut self, _at: &RouterView<'_>, _port: u16, _queue: u16, _hop: Hop, _packet: &mut Packet) {}

    /// Called for every router when [`Wants::period`] has passed, after all that arrives in the tick and before any
    /// decision; first in tick 0.
    fn period(&mut self, _at: &mut Site<'_>) {}

    /// False if [`Self::period`] would do nothing in tick `now` at router number `local` of the partition. Then it need
    /// not be called there.
    fn awaits_period(&self, _local: u32, _now: Tick) -> bool {
        true
    }

    /// Called for a router if the occupancy of some output has changed since the last call: by credits up to this tick,
    /// or by grants up to the tick before. Called at most once in a tick, after all its arrivals and before any
    /// decision. With [`Wants::after_grants`], it is called at the end of the tick instead, and includes the tick's
    /// grants.
    fn occupancy_changed(&mut self, _at: &mut Site<'_>) {}

    /// A control message has arrived from the router at the far end of `port`. Messages of one tick have no particular
    /// order.
    fn hear(&mut self, _at: &mut Site<'_>, _port: u16, _payload: &Payload) {}

    /// The tables that determine [`Self::route`] completely as long as nothing fails. A packet leaves every router by
    /// the port that they name for its destination, in the first virtual channel. The kernel then reads the tables
    /// instead of asking.
    fn tables(&self) -> Option<&Arc<RouteTable>> {
        None
    }

    /// After a failure or repair, all routers have learned of it. From now on, breakdown number `phase` - 1 determines
    /// the graph. `table` has the mechanism's tables for it, if the mechanism has any.
    fn rerouted(&mut self, _now: Tick, _phase: usize, _table: Option<&Arc<RouteTable>>) {}

    /// The virtual channel in which `packet` is ejected ([`Wants::ejects`]).
    fn ejection(&self, _packet: &Packet) -> u8 {
        0
    }

    /// Adds the mechanism's state to `memory`, when no packet is in the network. The engine adds the routers' random
    /// streams. A mechanism whose memory cannot be compared need not define this.
    fn remember(&self, memory: &mut Memory) {
        memory.cannot("the routing mechanism's state");
    }

    /// For probes: calls `see` with the quantities that the mechanism keeps for `router`, as a decision in tick `now`
    /// would find them. Each has a declaration from [`RoutingParams::observables`], a port (or another index) if it
    /// belongs to one, and a value.
    fn observe(&self, _router: u32, _now: Tick, _see: See<'_>) {}
}

/// The optional parts of [`Routing`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Wants {
    /// Decide for all waiting heads of a router at once, by [`Routing::route_all`].
    pub batch: bool,
    /// Ask again about a head that has not been granted yet, whenever its chosen output, or one that it watches
    /// ([`View::watch`]), has changed. With `batch`, ask in every tick, because common decisions depend on one another,
    /// except about heads that sleep ([`Self::sleeps`]).
    pub redecide: bool,
    /// With `batch` and `redecide`: heads that no output can take sleep until one can ([`Head::waits`]).
    pub sleeps: bool,
    /// With `redecide`, ask about such a head in every tick, whatever has changed: the decision draws again, or counts.
    pub every_tick: bool,
    /// Call [`Routing::arrives`].
    pub arrivals: bool,
    /// Call [`Routing::head_arrived`] and [`Routing::tail_left`].
    pub heads: bool,
    /// Call [`Routing::departs`].
    pub departures: bool,
    /// Call it for packets that are ejected, too.
    pub ejections: bool,
    /// Call [`Routing::occupancy_changed`].
    pub occupancy: bool,
    /// Call it for outputs of this link class only; 0: for all.
    pub occupancy_class: u8,
    /// Call it at the end of a tick.
    pub after_grants: bool,
    /// Call [`Routing::sends`].
    pub sends: bool,
    /// Call [`Routing::period`] every `period` cycles; 0: never.
    pub period: u32,
    /// Call neither [`Routing::inject`] nor [`Routing::route`]: every packet goes to its destination by
    /// [`minimal_hop`].
    pub settled: bool,
    /// A packet that passes its destination's router ends there, even before its intermediate destination.
    pub ends_passing: bool,
    /// Call [`Routing::alternatives`]: heads request channels of several outputs at once.
    pub alternatives: bool,
    /// Call [`Routing::ejection`]: a packet is ejected in that channel, or in the last one, instead of any.
    pub ejects: bool,
}

/// The context in which a mechanism is built for a partition.
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
    /// Queues of a virtual channel. All except the first hold packets that the queue organisation has isolated; 1 if it
    /// isolates none.
    pub isolating: u16,
    /// Phits of the largest packet.
    pub packet_size: u32,
    /// Ticks per link cycle.
    pub ticks_per_cycle: Tick,
    /// Ticks that the first phit takes over a link, per link class.
    pub latency: Vec<Tick>,
    /// True if a queue organisation needs hops ahead of time ([`RoutingParams::told_ahead`]).
    pub ahead: bool,
    /// The seed of the run.
    pub seed: u64,
    /// The routing tables, for a mechanism that has them ([`RoutingParams::table`]).
    pub table: Option<Arc<RouteTable>>,
    /// The channels that hops may take, if the queue organisation permits more of them than the mechanism names.
    pub widening: Option<Arc<dyn Widening>>,
}

/// The parameters of a mechanism.
pub trait RoutingParams {
    /// Checks the mechanism against the graph. Error paths are relative to `routing`.
    fn check(&self, topology: &dyn Topology) -> Result<(), ScenarioError>;
    /// Virtual channels needed per link class (class 0, the endpoints', is ignored), with the reason in words.
    fn vcs_needed(&self, topology: &dyn Topology) -> (Vec<u8>, String);
    /// Why its packets cannot wait for one another for ever, in a form that can be checked on a network.
    fn proof(&self) -> Proof;
    /// True if packets can be routed around faulty links: all hops are minimal hops of the topology towards a router.
    fn avoids_faults(&self) -> bool {
        false
    }
    /// Number of the last virtual channels, on every link between routers, that [`View`] does not show: the mechanism
    /// itself uses them for detours.
    fn reserved(&self) -> u8 {
        0
    }
    /// True if decisions immediately read the state of other routers, which only a simulator can do. The run then has
    /// one partition.
    fn reads_everything(&self) -> bool {
        false
    }
    /// True if the mechanism sends control messages ([`Site::send`]).
    fn sends_messages(&self) -> bool {
        false
    }
    /// True if some of these messages have phits, and so take time on links.
    fn loads_links(&self) -> bool {
        self.sends_messages()
    }
    /// The mechanism as a member of the bubble family, if it is one, for the packet-level node
    /// ([`crate::fabric::packet_node`]).
    fn bubble(&self) -> Option<&dyn Bubble> {
        None
    }
    /// True if its rules only hold for packets that move as a whole.
    fn needs_whole_packets(&self) -> bool {
        false
    }
    /// True if it may decide separately for each of several virtual networks. A decision must depend only on the packet
    /// and on the router's outputs in [`View`], not on the mechanism's own state.
    fn per_network(&self) -> bool {
        false
    }
    /// True if, in the long run, equal parts of every flow take each of the equal hops at a router. It holds for
    /// mechanisms that choose hop by hop and packet by packet.
    fn divides_flows(&self) -> bool {
        true
    }
    /// True if its hops can be told before a packet arrives: if the context asks for it, they are the hops of
    /// `told_ahead`.
    fn told_ahead(&self) -> bool {
        false
    }
    /// True if decisions read the occupancy of each virtual channel's buffer.
    fn reads_buffers(&self) -> bool {
        true
    }
    /// True if decisions only read the phits charged against channels, never the free room. These are known even if
    /// channels share a buffer.
    fn counts_phits(&self) -> bool {
        false
    }
    /// True if it compares the buffers of all links between routers, which must then be equal.
    fn compares_buffers(&self) -> bool {
        false
    }
    /// True if it samples output buffers ([`RouterView::waiting`]), which must then be limited.
    fn samples_output_buffers(&self) -> bool {
        false
    }
    /// True if decisions know the channels that the queue organisation permits ([`RoutingContext::widening`]).
    fn knows_widening(&self) -> bool {
        !self.reads_buffers()
    }
    /// True if heads request virtual channels of several outputs at once ([`Wants::alternatives`]).
    fn alternatives(&self) -> bool {
        false
    }
    /// True if these are all of one output, so that a head can request the crossbar before it has a channel.
    fn alternatives_of_one_output(&self) -> bool {
        false
    }
    /// True if the room found by a decision must still be there when the packet is granted: an output then accepts one
    /// packet in a tick.
    fn counts_on_room(&self) -> bool {
        false
    }
    /// Packets for which the buffer of a link between routers must have room.
    fn packets_per_buffer(&self) -> u32 {
        1
    }
    /// The routing tables, if a packet's route depends on its destination alone. They are made once for a network, for
    /// the mechanism and for queue organisations that look ahead.
    fn table(&self, _topology: &dyn Topology) -> Option<Arc<RouteTable>> {
        None
    }
    /// The mechanism's observables ([`Routing::observe`]).
    fn observables(&self) -> &'static [Observable] {
        &[]
    }
    /// The mechanism for one partition.
    fn build(&self, context: &RoutingContext) -> Box<dyn Routing>;
}
