//! The records of a partition's routers: input ports and queues, output ports and virtual channels.

use crate::engine::{NONE, Tick};
use crate::fabric::links::align;
use crate::fabric::seams::queueing::Lanes;
pub(crate) use crate::fabric::seams::routing::{Output, OutputTables, OutputVc};

/// An input queue: packets in order, the first of which may have arrived or been sent in part.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Queue {
    /// First packet.
    pub first: u32,
    /// Last packet.
    pub last: u32,
    /// Input port.
    pub port: u32,
    /// Output port chosen for the first packet; `NONE` before routing.
    pub output: u32,
    /// First permitted output VC; the VC itself once held.
    pub vc: u16,
    /// Number of permitted output VCs; 0 once one is held.
    pub vcs: u16,
}

const _: () = assert!(size_of::<Queue>() == 20);

impl Queue {
    /// An empty queue of input port `port`.
    pub(crate) fn new(port: u32) -> Self {
        Self { first: NONE, last: NONE, port, output: NONE, vc: 0, vcs: 1 }
    }

    /// Notes the decision for its first packet: `lanes` of output `port` of the router whose first port is `first`.
    #[inline(always)]
    pub(crate) fn decide(&mut self, first: u32, lanes: Lanes, port: u16) {
        (self.output, self.vc, self.vcs) = (first + u32::from(port), lanes.first, lanes.count);
    }
}

/// How far the first and the last packet of a queue have come.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Progress {
    /// Earliest tick at which the front flit may be allocated.
    pub eligible: Tick,
    /// Flits of the last packet that have arrived.
    pub arrived: u16,
    /// Flits of the first packet that have been granted.
    pub sent: u16,
}

impl Default for Progress {
    /// The progress of a packet of one flit that may be allocated at once.
    fn default() -> Self {
        Self { eligible: 0, arrived: 1, sent: 0 }
    }
}

/// An input port.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Input {
    /// First tick at which the port's path to the crossbar is free.
    pub busy: Tick,
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
    /// A wake-up has been filed for it.
    pub waking: bool,
    /// Queues that may request (see [`crate::engine::bits`]).
    pub ready: u16,
    /// Queues that wait for their output.
    pub asleep: u16,
}

const _: () = assert!(size_of::<Input>() == 32);

/// In [`Output::far_partition`]: an endpoint that consumes whatever comes.
pub(crate) const SINK: u32 = u32::MAX;

/// Credits of an output that consumes whatever comes.
pub(crate) const UNLIMITED: i32 = i32::MAX / 2;

/// In [`Output::far_partition`]: a link that has broken during the run. Flits sent over it are lost.
pub(crate) const BROKEN: u32 = u32::MAX - 1;

/// In [`Progress::sent`]: the first packet has been granted but its tail is still leaving.
pub(crate) const TAIL_PENDING: u16 = u16::MAX;

/// The turns of an input port's credits. Flits that leave in one tick send their credits together, if all of these can
/// be sent then.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct CreditTurn {
    /// The first tick in which other credits can be sent.
    pub next: Tick,
    /// The tick in which the flits left whose credits were sent last.
    left: Tick,
}

impl CreditTurn {
    /// The tick in which the credits of flits are sent that leave in tick `now`. They could be sent from tick `ready`
    /// on, and one port sends credits once in `cycle` ticks.
    #[inline]
    pub(crate) fn take(&mut self, now: Tick, ready: Tick, cycle: Tick) -> Tick {
        let shared = self.left == now && self.next > 0 && ready + cycle <= self.next;
        if shared {
            return self.next - cycle;
        }
        let sent = self.take_alone(ready, cycle);
        self.left = now;
        sent
    }

    /// [`Self::take`], for the credit of one flit, which goes alone.
    #[inline]
    pub(crate) fn take_alone(&mut self, ready: Tick, cycle: Tick) -> Tick {
        let sent = align(ready.max(self.next), cycle);
        *self = Self { next: sent + cycle, left: Tick::MAX };
        sent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credits_of_one_tick_go_together_if_they_can() {
        let mut turn = CreditTurn::default();
        assert_eq!(turn.take(7, 8, 1), 8);
        assert_eq!(turn.take(7, 8, 1), 8, "left at once");
        assert_eq!(turn.take(7, 10, 1), 10, "cannot be sent before tick 10");
        assert_eq!(turn.take(8, 9, 1), 11, "waits for its turn");
        assert_eq!(turn.take_alone(9, 1), 12);
        assert_eq!(turn.take(8, 9, 1), 13, "goes with none that goes alone");
        // Credits go at the beginning of a cycle of four ticks.
        let mut turn = CreditTurn::default();
        assert_eq!((turn.take(5, 6, 4), turn.take(5, 6, 4), turn.take(6, 7, 4)), (8, 8, 12));
    }
}
