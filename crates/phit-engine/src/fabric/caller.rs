//! A network that a caller drives: it sends messages one by one, and learns of their arrival.

use phit_workload::Operation;
use phit_workload::host::Message;
use phit_workload::network::Network;
use phit_workload::run::Running;

/// A message that a caller sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sent {
    /// The rank that sends it.
    pub rank: u32,
    /// Its number; later messages have larger numbers.
    pub number: u32,
    /// The send.
    pub operation: Operation,
    /// The tick of the send.
    pub at: u64,
}

/// A network as its caller sees it. Time stands at the end of a tick, up to which everything has been done; before the
/// first call of [`Self::go_on`], nothing has been done.
pub trait Caller {
    /// Sends messages, at the tick at which time stands or later. Messages of one rank and tick are sent in this order.
    fn send(&mut self, sent: &[Sent]);

    /// Goes on to the end of tick `until`. With `first`, it stops in the first tick in which a message arrives, at its
    /// end or before it. It may stop earlier, after some work. Returns the tick that has been reached, if there is one.
    fn go_on(&mut self, until: u64, first: bool) -> Option<u64>;

    /// The first tick in which something may happen, or an earlier one; `None` if nothing will happen any more.
    fn next(&mut self) -> Option<u64>;

    /// Appends the messages that have arrived since the last call to `list`, with their ticks.
    fn arrived(&mut self, list: &mut Vec<(u64, Message)>);
}

impl<N: Network> Caller for Running<N> {
    fn send(&mut self, sent: &[Sent]) {
        sent.iter().for_each(|&Sent { rank, number, operation, at }| self.call((rank, number), operation, at));
    }

    fn go_on(&mut self, until: u64, first: bool) -> Option<u64> {
        self.go_on_for_caller(until, first)
    }

    fn next(&mut self) -> Option<u64> {
        self.next_time()
    }

    fn arrived(&mut self, list: &mut Vec<(u64, Message)>) {
        list.append(self.told());
    }
}
