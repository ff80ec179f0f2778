//! Notes about the head of every input queue. A mechanism computes such a note once, however often a blocked head is
//! asked about.

use super::{RouterView, RoutingContext};
use crate::packet::{Hops, Packet};

/// A note for every input queue of the routers of a partition, about the packet that was asked about last.
#[derive(Debug)]
pub(super) struct ByQueue<T> {
    /// First port of each router with notes.
    first: usize,
    /// Ports of a router with notes.
    radix: usize,
    widest: usize,
    heads: Vec<Option<Head>>,
    /// By queue, in the order of [`Self::asked`].
    pub notes: Vec<T>,
}

/// The properties of a packet by which mechanisms route it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Head {
    source: u32,
    destination: u32,
    birth: u32,
    hops: Hops,
    drawn: u64,
}

impl<T: Clone> ByQueue<T> {
    /// `nothing`: the first note about every queue.
    pub(super) fn new(context: &RoutingContext, nothing: T) -> Self {
        let radix = context.routers.iter().map(|router| context.topology.ports(router)).max().unwrap_or(0).into();
        let widest = context.queues.iter().copied().max().unwrap_or(1).into();
        Self::of_ports(context, (0, radix), widest, nothing)
    }

    /// Notes about injection queues alone, of routers whose ports to endpoints have the same numbers.
    pub(super) fn of_injection(context: &RoutingContext, nothing: T) -> Self {
        let ports = context.topology.class_ports(context.routers.first(), 0);
        let widest = context.queues.first().copied().unwrap_or(1).into();
        Self::of_ports(context, (ports.start.into(), ports.len()), widest, nothing)
    }

    fn of_ports(context: &RoutingContext, (first, radix): (usize, usize), widest: usize, nothing: T) -> Self {
        let count = context.routers.len() * radix * widest;
        Self { first, radix, widest, heads: vec![None; count], notes: vec![nothing; count] }
    }

    /// The mechanism is asked about `packet` at the head of a queue. Returns the place of its note, and whether this is
    /// the first time that it is asked about it here. `drawn`: what else its way depends on, if anything.
    #[inline]
    pub(super) fn asked(
        &mut self,
        at: &RouterView<'_>,
        (port, queue): (u16, u16),
        packet: &Packet,
        drawn: u64,
    ) -> (usize, bool) {
        let place =
            (at.local as usize * self.radix + usize::from(port) - self.first) * self.widest + usize::from(queue);
        let &Packet { source, destination, birth, hops, .. } = packet;
        let head = Some(Head { source, destination, birth, hops, drawn });
        let first = self.heads[place] != head;
        self.heads[place] = head;
        (place, first)
    }

    /// Bytes held.
    pub(super) fn bytes(&self) -> usize {
        self.heads.capacity() * size_of::<Option<Head>>() + self.notes.capacity() * size_of::<T>()
    }

    /// Every packet is asked about for the first time: the graph is another one.
    pub(super) fn forget(&mut self) {
        self.heads.fill(None);
    }
}
