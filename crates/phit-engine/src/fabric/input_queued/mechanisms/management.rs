//! A managed queue organisation: its manager, the ports to be reviewed, and the queues that are held back.

use crate::engine::{Bytes, NONE, Table, Tick, tables_of};
use crate::fabric::input_queued::waiting::candidates::{Candidates, Members};
use crate::fabric::seams::queueing::Manager;
use crate::packet::Packet;

/// The manager of a partition's queues, if there is one.
pub(crate) struct Management {
    manager: Option<Box<dyn Manager>>,
    /// Input ports to be reviewed.
    reviews: Candidates,
    /// Input ports that are being reviewed.
    reviewing: Members,
    /// Queues that are held back; without entries if there is no manager.
    held: Table<bool>,
    /// By input port: the first tick at which the wire for messages to its sender is free; the last tick of all where
    /// messages go over a link. Without entries if there is no manager.
    ways_back: Table<Tick>,
    /// By queue, where packets are sorted on arrival: the queue that took the latest packet to enter it; `NONE` before.
    /// Without entries elsewhere.
    sorted: Table<u32>,
}

impl Management {
    /// Nothing is held back in any of `queues` queues; `ways_back` are the wires of input ports.
    pub(crate) fn new(manager: Option<Box<dyn Manager>>, queues: usize, ways_back: Vec<Tick>, sorts: bool) -> Self {
        let managed = manager.is_some();
        Self {
            reviews: Candidates::new(ways_back.len()),
            reviewing: Members::default(),
            held: vec![false; if managed { queues } else { 0 }].into(),
            ways_back: ways_back.into(),
            sorted: vec![NONE; if sorts { queues } else { 0 }].into(),
            manager,
        }
    }

    /// The manager.
    pub(crate) fn manager(&self) -> Option<&dyn Manager> {
        self.manager.as_deref()
    }

    /// The queue that took the latest packet to enter `queue`, `NONE` before the first; nothing unless packets are
    /// sorted on arrival.
    #[inline(always)]
    pub(crate) fn sorted(&self, queue: u32) -> Option<u32> {
        self.sorted.get(queue as usize).copied()
    }

    /// The packet that enters `queue` stands in queue `into`.
    #[inline(always)]
    pub(crate) fn sort(&mut self, queue: u32, into: u32) {
        self.sorted[queue] = into;
    }

    /// Takes the manager out, which is put back with [`Self::put_back`].
    pub(crate) fn take(&mut self) -> Option<Box<dyn Manager>> {
        self.manager.take()
    }

    /// Puts the manager back.
    pub(crate) fn put_back(&mut self, manager: Box<dyn Manager>) {
        self.manager = Some(manager);
    }

    /// Input `port` is to be reviewed.
    pub(crate) fn review(&mut self, port: u32) {
        self.reviews.insert(port);
    }

    /// `packet` has come into queue `lane` of input `port`.
    #[inline(always)]
    pub(crate) fn arrived(&mut self, port: u32, lane: u16, packet: &Packet) {
        if self.manager.as_mut().is_some_and(|manager| manager.arrived(port, lane, packet)) {
            self.reviews.insert(port);
        }
    }

    /// `packet` leaves queue `lane` of input `port` in tick `now`.
    #[inline(always)]
    pub(crate) fn left(&mut self, port: u32, lane: u16, packet: &Packet, now: Tick) {
        if self.manager.as_mut().is_some_and(|manager| manager.left(port, lane, packet, now)) {
            self.reviews.insert(port);
        }
    }

    /// True if there are ports to be reviewed.
    #[inline(always)]
    pub(crate) fn has_reviews(&self) -> bool {
        !self.reviews.is_empty()
    }

    /// Ports to be reviewed, in order; [`Self::reviewed`] gives the list back.
    pub(crate) fn take_reviews(&mut self) -> Members {
        let mut ports = std::mem::take(&mut self.reviewing);
        self.reviews.drain_into(&mut ports);
        ports
    }

    /// `ports` have been reviewed.
    pub(crate) fn reviewed(&mut self, ports: Members) {
        self.reviewing = ports;
    }

    /// True if `queue` is held back; there must be a manager.
    #[inline(always)]
    pub(crate) fn holds(&self, queue: u32) -> bool {
        self.held[queue]
    }

    /// True if there is a manager that holds `queue` back.
    pub(crate) fn may_hold(&self, queue: u32) -> bool {
        self.held.get(queue as usize) == Some(&true)
    }

    /// Holds `queue` back, or lets it go; true if it was held back before.
    pub(crate) fn hold(&mut self, queue: u32, held: bool) -> bool {
        std::mem::replace(&mut self.held[queue], held)
    }

    /// The wire for messages to the sender of input `port` is taken for `time` ticks from tick `now` on. Returns when
    /// it is free; `None` if messages go over a link.
    pub(crate) fn take_way_back(&mut self, port: u32, now: Tick, time: Tick) -> Option<Tick> {
        let free = self.ways_back[port];
        if free == Tick::MAX {
            return None;
        }
        let leaves = free.max(now) + time;
        self.ways_back[port] = leaves;
        Some(leaves)
    }

    /// Bytes by table.
    pub(crate) fn tables(&self) -> Vec<(&'static str, usize)> {
        let mut tables = tables_of!(self, Self { reviews, reviewing, held, ways_back, sorted; manager });
        tables.push(("manager", self.manager.as_ref().map_or(0, |manager| manager.bytes())));
        tables
    }
}
