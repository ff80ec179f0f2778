//! The lines of the content-addressable memories (figure 3.3).

use crate::engine::Tick;

/// What the first packet of a queue asks for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Demand {
    /// The output port (in the partition).
    pub output: u32,
    /// Virtual channel of that port.
    pub vc: u8,
    pub destination: u32,
    /// Phits of the packet.
    pub size: u16,
}

/// A line at an input port, with its CFQ.
#[derive(Debug, Clone, Default)]
pub(super) struct Line {
    pub active: bool,
    /// The output port (in the partition) to which its packets go: CP in the first version, which the new one can do
    /// without.
    pub output: u32,
    /// Links to the congested point.
    pub hops: u8,
    /// Destinations, ascending: all are behind `output`.
    pub destinations: Vec<u32>,
    /// The line of the output port that it is linked to, NextCAM, by virtual channel and number.
    pub next: Option<(u8, u8)>,
    /// The output port (or endpoint) at the other end of the link has a line for this one.
    pub mapped: bool,
    /// That line has been stopped.
    pub sent_stop: bool,
    /// Destinations that the other end has not been told of.
    pub unsent: Vec<u32>,
    /// Phits in the CFQ.
    pub phits: u32,
    /// The CFQ is held back.
    pub held: bool,
    /// Tick at which the CFQ became empty, or the line was allocated.
    pub empty_since: Tick,
    /// Tick of the allocation.
    pub since: Tick,
    /// Of the first packet of the CFQ, once it has been asked for.
    pub front: Option<Demand>,
    /// Something that its state follows from has changed since it was last tended.
    pub stirred: bool,
    /// Tick for which a review has been asked for.
    pub due: Tick,
}

impl Line {
    #[inline]
    pub(super) fn has(&self, destination: u32) -> bool {
        self.active && self.destinations.binary_search(&destination).is_ok()
    }

    /// Makes it a line for packets to `output`; the destinations are to be added.
    pub(super) fn allocate(&mut self, output: u32, hops: u8, next: Option<(u8, u8)>, now: Tick) {
        let (mut destinations, mut unsent) = (std::mem::take(&mut self.destinations), std::mem::take(&mut self.unsent));
        destinations.clear();
        unsent.clear();
        *self = Self {
            active: true,
            output,
            hops,
            destinations,
            next,
            unsent,
            empty_since: now,
            since: now,
            stirred: true,
            ..Self::default()
        };
    }

    /// Adds a destination that it does not have; a mapped line notes that the other end is to be told.
    pub(super) fn add(&mut self, destination: u32) {
        insert(&mut self.destinations, destination);
        if self.mapped {
            insert(&mut self.unsent, destination);
            self.stirred = true;
        }
    }
}

/// A line at an output port, or at an endpoint: a copy of the line at the input port behind it, which has the same
/// number.
#[derive(Debug, Clone, Default)]
pub(super) struct Copy {
    pub active: bool,
    pub stopped: bool,
    /// Links to the congested point from here.
    pub hops: u8,
    /// Destinations, ascending.
    pub destinations: Vec<u32>,
}

impl Copy {
    #[inline]
    pub(super) fn has(&self, destination: u32) -> bool {
        self.active && self.destinations.binary_search(&destination).is_ok()
    }
}

/// Adds a number to an ascending list, once.
pub(super) fn insert(list: &mut Vec<u32>, number: u32) {
    if let Err(place) = list.binary_search(&number) {
        list.insert(place, number);
    }
}
