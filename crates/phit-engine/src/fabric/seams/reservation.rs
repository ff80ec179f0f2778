//! The seam of reservation protocols: what a source may send, and what a destination answers.
//!
//! A source asks for a time at which it may send a message, and meanwhile sends packets *speculatively*. Routers drop
//! speculative packets that have waited for too long, and turn each of them into a *refusal* to its source. The
//! destination answers a reservation with a *grant*: from its time on, the source sends packets that no router drops.
//! The destination acknowledges speculative packets that arrive.
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
    /// When routers drop speculative packets.
    pub expiry: Expiry,
}

/// When routers drop speculative packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Expiry {
    /// Cycles that a packet may wait, or travel, before it is dropped.
    pub time_to_live: u32,
    /// True: the cycles since it has been sent count. False: only cycles in input queues.
    pub since_sending: bool,
    /// Phits that the virtual channel may lack credits for before they count as a wait behind the output; `None`: such
    /// a wait does not count.
    pub in_flight: Option<u32>,
    /// Speculative packets are sorted into queues by output where granted packets are.
    pub sorted: bool,
}

/// What a source may send to one destination.
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

    /// The head of the packet that `flow` may send now, with its number.
    fn head(&self, flow: u32) -> Option<(Generated, u32)>;

    /// The head of this packet is sent.
    fn begin(&mut self, flow: u32);

    /// The tail of this packet has been sent.
    fn end(&mut self, flow: u32);

    /// A grant has come to `flow` for its packets below number `end`: from tick `start` on.
    fn granted(&mut self, flow: u32, end: u32, start: Tick, latency: Tick);

    /// An acknowledgement of packet `number` has come.
    fn acknowledged(&mut self, flow: u32, number: u32);

    /// A refusal of packet `number` has come in tick `now`.
    fn refused(&mut self, flow: u32, number: u32, now: Tick);

    /// A reservation of `phits` from `source` has come to `endpoint` of the partition in tick `now`, for packets below
    /// number `end`. The tick in which they may come.
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
