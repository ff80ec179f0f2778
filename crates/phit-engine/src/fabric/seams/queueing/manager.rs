//! Managed queue organisations: they move packets between the queues of a port, hold queues back, and notify their
//! neighbours.

use crate::engine::{Memory, Tick};
use crate::fabric::seams::routing::Payload;
use crate::measure::{Observable, Total};
use crate::packet::Packet;

/// The actions of a managed organisation at its input ports and endpoints.
///
/// Packets enter the first queue of a virtual channel's buffer, and its credits stand for the whole buffer. The manager
/// learns of every arrival and departure. After all arrivals of a tick, and before any decision, it reviews the ports
/// with arrivals or departures, each once and in order.
pub trait Manager: Send {
    /// A packet has entered `queue` of input `port` (an index in the partition). True if the port is to be reviewed.
    fn arrived(&mut self, port: u32, queue: u16, packet: &Packet) -> bool;
    /// A packet has been granted and has left `queue` of input `port`, at tick `now`. True if the port is to be
    /// reviewed.
    fn left(&mut self, port: u32, queue: u16, packet: &Packet, now: Tick) -> bool;
    /// Something has happened at input `port` since the last review.
    fn review(&mut self, site: &mut dyn QueueSite, port: u32);
    /// A message has arrived from the input port behind output `port`. Messages of one tick have no particular order,
    /// and there is at most one from each port. A review of all input ports of the router follows.
    fn hear(&mut self, site: &mut dyn QueueSite, port: u32, message: &Payload);
    /// A message has arrived at endpoint number `endpoint` of the partition from its injection port.
    fn hear_endpoint(&mut self, site: &mut dyn QueueSite, endpoint: u32, message: &Payload);
    /// The rank of a request: of the requests of one input port, the smallest rank goes first. `entry` is the tick at
    /// which its packet arrived at the port.
    fn rank(&self, port: u32, queue: u16, entry: Tick) -> u64;
    /// True if a congestion control does not tell the sources of packets that leave `queue` of an input port.
    fn spares(&self, _queue: u16) -> bool {
        false
    }
    /// True if a request of an input port's first queue always goes before requests of its other queues: then these
    /// need not be made.
    fn first_leads(&self) -> bool {
        false
    }
    /// Adds the state to `memory`, when no packet and no message is in the network. Organisations whose state cannot be
    /// compared need not define this.
    fn remember(&self, memory: &mut Memory) {
        memory.cannot("the queue organisation's state");
    }
    /// For probes: calls `see` with each quantity kept for input `port` at tick `now` and its value. The quantities are
    /// declared in [`QueueingParams::observables`](super::QueueingParams::observables).
    fn observe(&self, port: u32, now: Tick, see: &mut dyn FnMut(&'static Observable, u32));
    /// Calls `see` for every set of packets that is isolated at `port`, at its input or its output.
    fn trees(&self, port: u32, see: &mut dyn FnMut(&Branch<'_>));
    /// The counts since the start of the run, as declared in [`QueueingParams::totals`](super::QueueingParams::totals).
    fn totals(&self, now: Tick) -> Vec<(&'static Total, u64)>;
    /// For checks: the first error in the state of input `port`, given the phits in its queues.
    fn audit(&self, port: u32, held: &dyn Fn(u16) -> u32) -> Result<(), String>;
    /// Bytes held.
    fn bytes(&self) -> usize;
}

/// A part of a congestion tree at one port.
#[derive(Debug, Clone, Copy)]
pub struct Branch<'a> {
    /// True at an input, false at an output.
    pub input: bool,
    /// Virtual channel.
    pub vc: u8,
    /// Line of the memory in which it stands.
    pub line: u8,
    /// Links to the congested point.
    pub hops: u8,
    /// At an input, the output port that it leads to. A manager gives its index in the partition, a partition its
    /// number in the router.
    pub output: Option<u32>,
    /// Destinations, ascending.
    pub destinations: &'a [u32],
    /// Phits in its queue, at an input.
    pub phits: u32,
    /// True if it is stopped.
    pub stopped: bool,
    /// At an input, the output's line that it is linked to, by virtual channel and number.
    pub next: Option<(u8, u8)>,
    /// At an input, true if the far end has a line for it.
    pub mapped: bool,
}

/// The routers of a partition, as a manager sees and controls them. Ports are indices in the partition; input and
/// output of one port share an index. The manager knows the position of each port from the beginning
/// ([`QueueingContext::places`](super::QueueingContext::places)).
pub trait QueueSite {
    /// Current tick.
    fn now(&self) -> Tick;
    /// The packet at the front of `queue` of input `port`.
    fn head(&self, port: u32, queue: u16) -> Option<&Packet>;
    /// Moves the packet at the front of one queue of input `port` to the end of another.
    fn move_head(&mut self, port: u32, from: u16, to: u16);
    /// Holds `queue` of input `port` back, or releases it: a held queue makes no requests.
    fn hold(&mut self, port: u32, queue: u16, held: bool);
    /// Asks for a review of input `port` at the future tick `at`.
    fn review_at(&mut self, port: u32, at: Tick);
    /// Stops endpoint number `endpoint` of the partition from sending to `destination`, or lets it send again.
    fn hold_destination(&mut self, endpoint: u32, destination: u32, held: bool);
    /// Sends a message of `phits` phits, at least 1, to the sender behind input `port`: the output port of a router, or
    /// an endpoint. The message uses the link in the opposite direction, after everything granted before, and keeps it
    /// busy.
    fn notify(&mut self, port: u32, message: Payload, phits: u32);
}
