//! Managed queue organisations: those that move packets between the queues of a port, hold queues back, and tell their
//! neighbours.

use crate::engine::Tick;
use crate::fabric::seams::routing::Payload;
use crate::measure::{Observable, Total};
use crate::packet::Packet;

/// What a managed organisation does at its input ports and endpoints.
///
/// Packets enter the first queue of a virtual channel's buffer, whose credits stand for all of it. The manager hears of
/// what comes and goes; after all that arrives in a tick, and before any decision, it reviews the ports where something
/// has, once each and in order.
pub trait Manager: Send {
    /// A packet has come into `queue` of input `port` (an index in the partition); true if the port is to be reviewed.
    fn arrived(&mut self, port: u32, queue: u16, packet: &Packet) -> bool;
    /// A packet has been granted and has left `queue` of input `port`; `now` is the tick. True if the port is to be
    /// reviewed.
    fn left(&mut self, port: u32, queue: u16, packet: &Packet, now: Tick) -> bool;
    /// Something has happened at input `port` since the last review.
    fn review(&mut self, site: &mut dyn QueueSite, port: u32);
    /// A message has come from the input port behind output `port`. Messages of one tick come in no particular order,
    /// at most one from each port. To be followed by a review of all input ports of the router.
    fn hear(&mut self, site: &mut dyn QueueSite, port: u32, message: &Payload);
    /// A message has come to endpoint number `endpoint` of the partition from its injection port.
    fn hear_endpoint(&mut self, site: &mut dyn QueueSite, endpoint: u32, message: &Payload);
    /// Which of the requests of one input port goes forward: the one with the smallest number. `entry` is the tick at
    /// which its packet came to the port.
    fn rank(&self, port: u32, queue: u16, entry: Tick) -> u64;
    /// True if a request of the first queue of any input port goes before those of the others, whatever their packets:
    /// these need not request then.
    fn first_leads(&self) -> bool {
        false
    }
    /// Calls `see` with the quantities kept for input `port` at tick `now`, for probes: one that is declared
    /// in [`QueueingParams::observables`](super::QueueingParams::observables), and its value.
    fn observe(&self, port: u32, now: Tick, see: &mut dyn FnMut(&'static Observable, u32));
    /// Calls `see` for every set of packets that is isolated at `port`, at its input or its output.
    fn trees(&self, port: u32, see: &mut dyn FnMut(&Branch<'_>));
    /// What has been counted since the start of the run, as declared in
    /// [`QueueingParams::totals`](super::QueueingParams::totals).
    fn totals(&self, now: Tick) -> Vec<(&'static Total, u64)>;
    /// Says what is wrong with the state of input `port`, given the phits in its queues: for checks.
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
    /// The output port that it leads to, at an input: an index in the partition from a manager, of the router from a
    /// partition.
    pub output: Option<u32>,
    /// Destinations, ascending.
    pub destinations: &'a [u32],
    /// Phits in its queue, at an input.
    pub phits: u32,
    /// True if it is held back.
    pub stopped: bool,
    /// The output's line that it is linked to, by virtual channel and number, at an input.
    pub next: Option<(u8, u8)>,
    /// True if the far end has a line for it, at an input.
    pub mapped: bool,
}

/// What a manager sees and can do at the routers of its partition. Ports are indices in the partition; input and output
/// of one port have the same. Where each is, a manager knows from the beginning
/// ([`QueueingContext::places`](super::QueueingContext::places)).
pub trait QueueSite {
    /// Current tick.
    fn now(&self) -> Tick;
    /// The packet at the front of `queue` of input `port`.
    fn head(&self, port: u32, queue: u16) -> Option<&Packet>;
    /// Moves the packet at the front of one queue of input `port` to the end of another.
    fn move_head(&mut self, port: u32, from: u16, to: u16);
    /// Holds `queue` of input `port` back, or lets it go: while it is held, it requests nothing.
    fn hold(&mut self, port: u32, queue: u16, held: bool);
    /// Asks for a review of input `port` at tick `at`, which is to come.
    fn review_at(&mut self, port: u32, at: Tick);
    /// Lets endpoint number `endpoint` of the partition send nothing to `destination`, or lets it send again.
    fn hold_destination(&mut self, endpoint: u32, destination: u32, held: bool);
    /// Sends a message of `phits` phits, at least 1, to the sender behind input `port`: to the output port of a router,
    /// or to the endpoint. It goes over the link in the other direction, after what has been granted before, and keeps
    /// it busy.
    fn notify(&mut self, port: u32, message: Payload, phits: u32);
}
