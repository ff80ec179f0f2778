//! The lines of the content-addressable memories (figure 3.3).

use crate::engine::Tick;

/// The lines of a memory that may have a destination. Hardware compares all lines at once. Here, a byte for every
/// destination modulo 64, all in one cache line, tells which lines must be compared. Bit i is set if line i, or i + 8,
/// i + 16 and so on, has one of these destinations.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
pub(super) struct Signatures([u8; 64]);

impl Default for Signatures {
    fn default() -> Self {
        Self([0; 64])
    }
}

impl Signatures {
    /// Distance between the numbers of lines that share a bit.
    const APART: usize = 8;

    /// Line `line` has `destination`.
    #[inline]
    pub(super) fn add(&mut self, line: usize, destination: u32) {
        self.0[destination as usize % 64] |= 1 << (line % Self::APART);
    }

    /// Line `line` of `count` is empty now; the other lines have these lists.
    pub(super) fn clear<'a>(&mut self, line: usize, count: usize, list: impl Fn(usize) -> &'a [u32]) {
        let shared = line % Self::APART;
        self.0.iter_mut().for_each(|lines| *lines &= !(1 << shared));
        for other in (shared..count).step_by(Self::APART).filter(|other| *other != line) {
            list(other).iter().for_each(|destination| self.add(other, *destination));
        }
    }

    /// The first of `count` lines for which `has` is true, among those that may have the destination.
    #[inline]
    pub(super) fn find(&self, destination: u32, count: usize, has: impl Fn(usize) -> bool) -> Option<usize> {
        let mut lines = self.0[destination as usize % 64];
        while lines != 0 {
            let first = lines.trailing_zeros() as usize;
            if let Some(line) = (first..count).step_by(Self::APART).find(|line| has(*line)) {
                return Some(line);
            }
            lines &= lines - 1;
        }
        None
    }
}

/// The demand of a queue's first packet.
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
    /// The output port (in the partition) of its packets: CP in the first version. The new version can do without it.
    pub output: u32,
    /// Links to the congested point.
    pub hops: u8,
    /// Destinations, ascending; all are behind `output`. Empty if the line is not in use.
    pub destinations: Vec<u32>,
    /// The line of the output port that it is linked to, NextCAM, by virtual channel and number.
    pub next: Option<(u8, u8)>,
    /// True if the output port (or endpoint) at the other end of the link has a line for this one.
    pub mapped: bool,
    /// True if the line at the other end has been stopped.
    pub sent_stop: bool,
    /// Destinations that the other end does not know of yet.
    pub unsent: Vec<u32>,
    /// Phits in the CFQ.
    pub phits: u32,
    /// True if the CFQ is held back.
    pub held: bool,
    /// Tick at which the CFQ became empty, or the line was allocated.
    pub empty_since: Tick,
    /// Tick of the allocation.
    pub since: Tick,
    /// The demand of the CFQ's first packet, once it has been computed.
    pub front: Option<Demand>,
    /// True if something that determines its state has changed since it was last tended.
    pub stirred: bool,
    /// Tick for which a review has been asked for.
    pub due: Tick,
}

impl Line {
    /// Makes it a line for packets to `output`. The destinations are added later.
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
}

/// A line at an output port, or at an endpoint: a copy of the line with this number at the input port behind it.
#[derive(Debug, Clone, Default)]
pub(super) struct Copy {
    pub active: bool,
    pub stopped: bool,
    /// Links to the congested point from here.
    pub hops: u8,
    /// Destinations, ascending. Empty if the line is not in use.
    pub destinations: Vec<u32>,
}

/// True if an ascending list has a number.
#[inline]
pub(super) fn has(list: &[u32], number: u32) -> bool {
    list.binary_search(&number).is_ok()
}

/// Adds a number to an ascending list, once.
pub(super) fn insert(list: &mut Vec<u32>, number: u32) {
    if let Err(place) = list.binary_search(&number) {
        list.insert(place, number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_found_by_their_destinations_whatever_shares_a_bit_or_a_byte() {
        // Lines 1 and 9 share a bit, destinations 5 and 69 a byte.
        let mut lists = vec![vec![]; 10];
        let mut signatures = Signatures::default();
        for (line, destination) in [(1, 5), (9, 69), (9, 6), (0, 133), (3, 200)] {
            insert(&mut lists[line], destination);
            signatures.add(line, destination);
        }
        let find = |signatures: &Signatures, lists: &[Vec<u32>], destination| {
            signatures.find(destination, lists.len(), |line| has(&lists[line], destination))
        };
        for (destination, line) in [(5, Some(1)), (69, Some(9)), (6, Some(9)), (133, Some(0)), (200, Some(3))] {
            assert_eq!(find(&signatures, &lists, destination), line);
        }
        assert_eq!(find(&signatures, &lists, 197), None);
        lists[1].clear();
        signatures.clear(1, lists.len(), |line| &lists[line]);
        assert_eq!([5, 69, 6, 133].map(|to| find(&signatures, &lists, to)), [None, Some(9), Some(9), Some(0)]);
    }
}
