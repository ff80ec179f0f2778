//! The records of a partition's routers: input ports and queues, output ports and virtual channels.

use crate::engine::{NONE, Tick};
pub(super) use crate::fabric::seams::routing::{Output, OutputVc};

/// An input queue: packets in order, the first of which may have arrived or been sent in part.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Queue {
    /// First packet.
    pub first: u32,
    /// Last packet.
    pub last: u32,
    /// Earliest tick at which the front flit may be allocated.
    pub eligible: Tick,
    /// Input port.
    pub port: u32,
    /// Output port chosen for the first packet; `NONE` before routing.
    pub output: u32,
    /// Flits of the last packet that have arrived.
    pub arrived: u16,
    /// Flits of the first packet that have been granted.
    pub sent: u16,
    /// First permitted output VC; the VC itself once held.
    pub vc: u16,
    /// Number of permitted output VCs; 0 once one is held.
    pub vcs: u16,
}

const _: () = assert!(size_of::<Queue>() == 28);

impl Queue {
    /// An empty queue of input port `port`.
    pub(crate) fn new(port: u32) -> Self {
        Self { first: NONE, last: NONE, eligible: 0, port, output: NONE, arrived: 0, sent: 0, vc: 0, vcs: 1 }
    }
}

/// An input port.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Input {
    /// Queues that may request (see [`crate::engine::bits`]).
    pub ready: u64,
    /// Queues that wait for their output.
    pub asleep: u64,
    /// First tick at which the port's path to the crossbar is free.
    pub busy: Tick,
    /// Tick of the latest wake-up filed for it.
    pub wake: Tick,
    /// Its first queue.
    pub queues: u32,
    /// Its router.
    pub router: u32,
    /// Partition that holds the sender at the far end of the link.
    pub upstream_partition: u32,
    /// The output port of the sender there; an endpoint counts from the number of ports on.
    pub upstream: u32,
    /// Port number in the router.
    pub number: u16,
    /// Number of queues.
    pub count: u16,
    /// Link class; 0 if an endpoint injects here.
    pub class: u8,
}

const _: () = assert!(size_of::<Input>() == 48);

/// In [`Output::far_partition`]: an endpoint that consumes whatever comes.
pub(super) const SINK: u32 = u32::MAX;

/// In [`Output::far_partition`]: a link that has broken during the run; what is sent over it is lost.
pub(super) const BROKEN: u32 = u32::MAX - 1;

/// In [`Queue::sent`]: the first packet has been granted but its tail is still leaving.
pub(crate) const TAIL_PENDING: u16 = u16::MAX;
