//! Mail from one partition to another.

use crate::engine::parallel::Post;
use crate::engine::{Bytes, Event, Pages, Spare, Tick, bytes_of};
use crate::fabric::executor::Word;
use crate::fabric::incoming::Announced;
use crate::fabric::input_queued::post::messages::Message;
use crate::fabric::input_queued::state::lost::{Again, Ending};
use crate::packet::{Hops, Packet};
use zerocopy::{FromBytes, Immutable, IntoBytes};

/// The mail from one partition to another, by the time at which it is due.
#[derive(Debug, Default)]
pub struct Mail {
    /// By [`Slices::of`].
    pub(crate) slices: [Slice; SLICES],
    /// Control messages and the ticks at which they arrive.
    pub(crate) messages: Vec<(Tick, Message)>,
    /// Messages of hosts whose first packet is about to leave.
    pub(crate) announced: Vec<Announced>,
    /// Messages between hosts.
    pub(crate) words: Vec<Word>,
    /// Packets that have been lost, for their sources to send again.
    pub(crate) again: Vec<Again>,
    /// Requests that will get no reply, for the endpoints that wait for it.
    pub(crate) ended: Vec<Ending>,
}

/// An event, and when it takes place.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub(crate) struct Timed {
    /// The tick.
    pub at: Tick,
    /// The event.
    pub event: Event,
}

/// A packet in short form, for packets of one size whose routing mechanism records nothing in them. Most of the mail
/// over long links is packets.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub(crate) struct Brief {
    /// The queue in the receiving partition.
    pub queue: u32,
    /// Tick at which the head arrives there.
    pub at: Tick,
    // These fields stand in a packet in the same order.
    birth: Tick,
    injected: Tick,
    source: u32,
    destination: u32,
    destination_router: u32,
    ejection_port: u16,
    came_by: u8,
    came_in: u8,
    hops: Hops,
}

const _: () = assert!(size_of::<Brief>() == 40);

impl Brief {
    /// The short form of `packet`, which arrives at `queue` at tick `at`.
    #[inline(always)]
    pub(crate) fn of(packet: &Packet, at: Tick, queue: u32) -> Self {
        let &Packet { birth, injected, source, destination, hops, destination_router, .. } = packet;
        let &Packet { ejection_port, came_by, came_in, .. } = packet;
        let brief = Self {
            queue,
            at,
            birth,
            injected,
            source,
            destination,
            hops,
            destination_router,
            ejection_port,
            came_by,
            came_in,
        };
        debug_assert_eq!(brief.packet(packet.size).as_bytes(), Packet { entry: at, next: queue, ..*packet }.as_bytes());
        brief
    }

    /// The packet, of `size` phits, as it arrives.
    #[inline(always)]
    pub(crate) fn packet(&self, size: u16) -> Packet {
        let &Self { queue, at, birth, injected, source, destination, hops, .. } = self;
        let &Self { destination_router, ejection_port, came_by, came_in, .. } = self;
        Packet {
            next: queue,
            entry: at,
            birth,
            injected,
            destination_router,
            hops,
            size,
            came_by,
            came_in,
            ejection_port,
            ..Packet::new(source, destination)
        }
    }
}

/// The mail for one stretch of time.
#[derive(Debug, Default)]
pub(crate) struct Slice {
    /// Packets whose heads arrive: [`Packet::entry`] is the tick, and [`Packet::next`] the queue in the receiving
    /// partition.
    pub heads: Pages<Packet>,
    /// Packets in short form.
    pub briefs: Pages<Brief>,
    /// All other events.
    pub events: Pages<Timed>,
}

impl Slice {
    /// True if the slice is empty.
    pub(crate) fn is_empty(&self) -> bool {
        self.heads.is_empty() && self.briefs.is_empty() && self.events.is_empty()
    }

    /// Number of packets whose heads are in the slice.
    pub(crate) fn packets(&self) -> usize {
        self.heads.len() + self.briefs.len()
    }

    /// Calls `see` with each packet as it arrives. Packets in short form have `size` phits.
    pub(crate) fn for_each_packet(&self, size: u16, mut see: impl FnMut(Packet)) {
        self.heads.iter().copied().for_each(&mut see);
        self.briefs.iter().for_each(|brief| see(brief.packet(size)));
    }
}

impl Bytes for Slice {
    fn bytes(&self) -> usize {
        bytes_of!(self, Self { heads, briefs, events; })
    }
}

/// Pages of mail that has been read, kept for new mail.
#[derive(Debug)]
pub struct Room {
    pub(crate) heads: Spare<Packet>,
    pub(crate) briefs: Spare<Brief>,
    pub(crate) events: Spare<Timed>,
}

impl Room {
    /// Keeps `pages` pages of each kind.
    pub(crate) fn new(pages: usize) -> Self {
        Self { heads: Spare::new(pages), briefs: Spare::new(pages), events: Spare::new(pages) }
    }

    /// Runs `work` with room for any number of pages. Afterwards, as many pages are kept as before.
    pub(crate) fn unbounded<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> T {
        let kept = [self.heads.keep(usize::MAX), self.briefs.keep(usize::MAX), self.events.keep(usize::MAX)];
        let done = work(self);
        let [heads, briefs, events] = kept;
        self.heads.keep(heads);
        self.briefs.keep(briefs);
        self.events.keep(events);
        done
    }

    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        bytes_of!(self, Self { heads, briefs, events; })
    }
}

/// Pages that are kept for each partition.
const KEPT: usize = 4;

impl Post for Mail {
    type Room = Room;

    fn room(partitions: usize) -> Room {
        Room::new(KEPT * partitions)
    }

    fn is_empty(&self) -> bool {
        self.slices.iter().all(Slice::is_empty)
            && self.messages.is_empty()
            && self.announced.is_empty()
            && self.words.is_empty()
            && self.again.is_empty()
            && self.ended.is_empty()
    }
}

impl Mail {
    /// Bytes held.
    pub fn bytes(&self) -> usize {
        bytes_of!(self, Self { slices, messages, announced, words, again, ended; })
    }

    /// Number of packets whose heads are in the mail.
    pub(crate) fn packets(&self) -> usize {
        self.slices.iter().map(Slice::packets).sum()
    }
}

/// Number of stretches of time that are told apart.
pub(crate) const SLICES: usize = 8;

/// The division of time into stretches of 2^`shift` ticks, which are numbered in turn.
///
/// A partition takes in its mail one stretch after another. Packets that are on their way for a whole epoch then need
/// room in the partition's arena for a part of that time, and in the mail for the rest.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Slices {
    shift: u32,
}

impl Slices {
    /// Shorter epochs are not worth the division.
    const WORTHWHILE: Tick = 64;

    /// For epochs of `epoch` ticks: together the slices are at least as long.
    pub(crate) fn new(epoch: Tick) -> Self {
        let length = epoch.div_ceil(SLICES as Tick).checked_next_power_of_two();
        match length {
            Some(length) if epoch >= Self::WORTHWHILE => Self { shift: length.trailing_zeros() },
            _ => Self { shift: Tick::BITS - 1 },
        }
    }

    /// The slice of tick `at`.
    #[inline(always)]
    pub(crate) fn of(self, at: Tick) -> usize {
        (at >> self.shift) as usize % SLICES
    }

    /// The first tick after the slice of `at`.
    pub(crate) fn end(self, at: Tick) -> Tick {
        (at | ((1 << self.shift) - 1)).saturating_add(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_follow_one_another_and_cover_an_epoch() {
        for epoch in [1, 8, 63, 64, 105, 1000, 1 << 20, Tick::MAX] {
            let slices = Slices::new(epoch);
            let (mut at, mut seen) = (epoch / 3, Vec::new());
            while at < (epoch / 3).saturating_add(epoch) && seen.len() <= SLICES {
                let end = slices.end(at);
                assert!(end > at && slices.of(end - 1) == slices.of(at), "{at} of {epoch}");
                assert!(end == Tick::MAX || slices.of(end) == (slices.of(at) + 1) % SLICES, "{end} of {epoch}");
                seen.push(slices.of(at));
                at = end;
            }
            assert!(seen.len() <= SLICES + 1, "{epoch}");
        }
    }
}
