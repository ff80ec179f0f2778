//! The seam of reservation protocols: what a source may send, and what a destination answers.
//!
//! A source asks for a time at which it may send a message, and sends packets *speculatively* before. Routers drop
//! speculative packets, those that have waited for too long or those whose destination has too many packets, and turn
//! each of them into a *refusal* to its source. The destination answers a reservation with a *grant*: from its time on,
//! the source sends packets that no router drops. The destination acknowledges speculative packets that arrive.
//!
//! The kernel has a queue for each destination at every source, virtual channels for each kind of packets, and the time
//! to live of speculative packets. A protocol decides what a source sends next and when a reservation begins. The
//! protocols are in [`crate::congestion`], one file each.

use crate::engine::Tick;
pub(crate) use crate::packet::Role;
use crate::traffic::Generated;

/// The properties of a protocol that the kernel must know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reservations {
    /// Phits of a packet without data.
    pub control: u16,
    /// Whether an endpoint sends control packets beside data in one cycle.
    pub beside: bool,
    /// Reservations are sent beside data of other messages, and need not wait for their turn.
    pub reservations_first: bool,
    /// A source sends packets speculatively right after their reservation. The reservation waits for room for the head
    /// of the first packet.
    pub announces: bool,
    /// Speculative packets are sorted into queues by output where granted packets are.
    pub sorted: bool,
    /// A speculative packet gets no virtual channel behind an output at which a granted packet is.
    pub yields: bool,
    /// Which speculative packets routers drop.
    pub dropping: Dropping,
}

impl Reservations {
    /// Virtual networks of the protocol, the last ones of all [`Role::NETWORKS`]. Reservations and grants have none if
    /// the last router reserves.
    pub fn networks(&self) -> u16 {
        match self.dropping {
            Dropping::Late(_) => Role::NETWORKS,
            Dropping::AtLastHop { .. } => Role::NETWORKS - 2,
        }
    }
}

/// Which speculative packets routers drop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dropping {
    /// Those that have waited for too long, at any router.
    Late(Expiry),
    /// At the router of their destination, while more phits than `threshold` of data wait there for the destination.
    /// The router reserves time at the destination for each packet that it drops, and the refusal is the grant.
    AtLastHop {
        /// Most phits.
        threshold: u32,
    },
}

/// When routers drop speculative packets that wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Expiry {
    /// Cycles that a packet may wait, or travel, before it is dropped.
    pub time_to_live: u32,
    /// True: the cycles since it has been sent count. False: only cycles in input queues.
    pub since_sending: bool,
    /// Phits that the virtual channel may lack credits for before they count as a wait behind the output; `None`: such
    /// a wait does not count.
    pub in_flight: Option<InFlight>,
}

/// Phits for which a virtual channel lacks credits although nothing waits behind its output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InFlight {
    /// The same for every output.
    Phits(u32),
    /// Twice the latency of the link behind the output, in cycles.
    RoundTrip,
}

/// The packet, if any, that a source may send to one destination now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wish {
    /// Nothing, until something arrives or is generated.
    Nothing,
    /// Nothing before this tick.
    Wait(Tick),
    /// A reservation.
    Reservation,
    /// The next packet, speculatively.
    Speculative,
    /// The next packet, granted.
    Granted,
}

/// The rule of a protocol for one partition.
///
/// A *flow* is all packets from one endpoint of the partition to one destination; the kernel numbers flows from 0 on.
/// The packets of a flow have numbers from 0 on, in the order of their generation. Packets of one flow that are
/// generated in one cycle are a message.
pub trait Reserving: Send {
    /// Flow number `flow`, the next one, begins.
    fn begins(&mut self, flow: u32);

    /// A packet of `flow` has been generated.
    fn generated(&mut self, flow: u32, packet: Generated);

    /// All packets of `flow` have been generated that have the cycle of the last one.
    fn complete(&mut self, flow: u32);

    /// What `flow` may send in tick `now`.
    fn wish(&self, flow: u32, now: Tick) -> Wish;

    /// `flow` sends its reservation in tick `now`: its phits, and the number after the last packet that it is for.
    fn reserve(&mut self, flow: u32, now: Tick) -> (u32, u32);

    /// The packet that `flow` is sending or may send in tick `now`, with its number; the packet that follows a
    /// reservation, if the flow may send one.
    fn head(&self, flow: u32, now: Tick) -> Option<(Generated, u32)>;

    /// The head of this packet is sent.
    fn begin(&mut self, flow: u32, now: Tick);

    /// The tail of this packet has been sent.
    fn end(&mut self, flow: u32);

    /// A grant has come to `flow` for its packets below number `end`: from tick `start` on. It has taken `latency`
    /// ticks. With [`Dropping::AtLastHop`] the refusal of packet number `end - 1` is the grant.
    fn granted(&mut self, flow: u32, end: u32, start: Tick, latency: Tick);

    /// An acknowledgement of packet `number` has come.
    fn acknowledged(&mut self, flow: u32, number: u32);

    /// A refusal of packet `number` has come in tick `now`.
    fn refused(&mut self, flow: u32, number: u32, now: Tick);

    /// A reservation of `phits` from `source` has come to `endpoint` of the partition in tick `now`, for packets below
    /// number `end`, or the last router has dropped packet number `end - 1`. The tick in which they may come.
    fn asked(&mut self, endpoint: u32, source: u32, phits: u32, end: u32, now: Tick) -> Tick;

    /// True if `endpoint` takes the speculative packet `number` of `source`: its reservation has come.
    fn expects(&self, endpoint: u32, source: u32, number: u32) -> bool;

    /// Packet `number` of `source` has come to `endpoint`; false if it had come before.
    fn received(&mut self, endpoint: u32, source: u32, number: u32) -> bool;

    /// True if `flow` has no message.
    fn is_idle(&self, flow: u32) -> bool;

    /// Bytes of memory.
    fn bytes(&self) -> usize;
}
