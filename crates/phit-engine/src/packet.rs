//! Packets, and the arena that holds the packets of one partition.
//!
//! A packet carries its destination, legs, hops by class, and fields for its routing mechanism.
//! routing mechanism.

use crate::engine::{NONE, Rng, Table, Tick, reserve_gently};
use zerocopy::{FromBytes, Immutable, IntoBytes};

/// Set in [`Packet::intermediate`] when it names a group, not a router.
pub const GROUP: u32 = 1 << 31;

/// In [`Packet::misrouted`]: sent through an intermediate router or group.
pub const MISROUTED_GLOBALLY: u8 = 1;
/// In [`Packet::misrouted`]: took a nonminimal hop within a group.
pub const MISROUTED_LOCALLY: u8 = 2;

/// In [`Packet::misrouted`]: left its minimal route at the head of an injection queue.
pub const MISROUTED_AT_INJECTION: u8 = 4;

/// In [`Packet::misrouted`]: took a detour around a fault.
pub const DETOURED: u8 = 8;

/// In [`Packet::misrouted`]: the lowest of the bits that count how often the packet has been sent again.
const REPEATED: u32 = 4;

/// Most times that a packet is sent again, which the bits of the count can hold.
pub const MOST_REPEATS: u8 = 7;

/// Most classes of packets. A class's number takes the bits of that count, where packets are not sent again.
pub const MOST_TRAFFIC_CLASSES: usize = 1 + MOST_REPEATS as usize;

/// In [`Packet::misrouted`]: it answers a request, or it is a notification of the congestion control.
pub const REPLY: u8 = 1 << 7;

/// In [`Packet::misrouted`]: the congestion control has marked it. The bit is one of a class's number, and classes are
/// refused with congestion control.
pub const MARKED: u8 = 1 << REPEATED;

/// The value of [`Packet::misrouted`] for a packet that is sent again for the given time, up to [`MOST_REPEATS`].
pub const fn repeated(times: u8) -> u8 {
    (times & MOST_REPEATS) << REPEATED
}

/// The value of [`Packet::misrouted`] for a packet of the given class, below [`MOST_TRAFFIC_CLASSES`].
pub const fn classified(class: u8) -> u8 {
    repeated(class)
}

/// A packet under way, one cache line long.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable)]
#[repr(C, align(64))]
pub struct Packet {
    /// Next packet of the queue that holds the tail (for the engine).
    pub next: u32,
    /// Tick at which the head entered its queue (for the engine).
    pub entry: Tick,
    /// Tick of generation.
    pub birth: Tick,
    /// Tick at which the head left its injection queue; all ones before.
    pub injected: Tick,
    /// Source endpoint.
    pub source: u32,
    /// Destination endpoint.
    pub destination: u32,
    /// Router of the destination.
    pub destination_router: u32,
    /// Port of the destination's router that leads to the destination.
    pub ejection_port: u16,
    /// Class of the link of the last hop (0: injected).
    pub came_by: u8,
    /// Virtual channel of the last hop.
    pub came_in: u8,
    /// Hops taken over links, by class.
    pub hops: Hops,
    /// `hops` when the current leg began.
    pub leg_start: Hops,
    /// Router (or group, with [`GROUP`]) to be visited first; all ones if none is left.
    pub intermediate: u32,
    /// Size in phits.
    pub size: u16,
    /// Size in flits.
    pub flits: u16,
    /// Free for the routing mechanism.
    pub scratch: u32,
    /// Current leg.
    pub leg: u8,
    /// Legs of the route.
    pub legs: u8,
    /// Flags of misrouting: a sum of [`MISROUTED_GLOBALLY`], [`MISROUTED_LOCALLY`] and [`MISROUTED_AT_INJECTION`]. In
    /// the other bits: [`DETOURED`]; the number of times that it has been sent again ([`repeated`]), or its class
    /// ([`classified`]); and [`REPLY`] for a reply.
    pub misrouted: u8,
    /// Free for the routing mechanism. With layered tables, it holds the layer of the route.
    pub flags: u8,
}

const _: () = assert!(size_of::<Packet>() == 64);

impl Packet {
    /// A packet of one phit before its first hop, on a route of one leg.
    #[inline]
    pub const fn new(source: u32, destination: u32) -> Self {
        Self {
            next: NONE,
            entry: 0,
            birth: 0,
            injected: NONE,
            source,
            destination,
            destination_router: 0,
            intermediate: NONE,
            hops: Hops(0),
            leg_start: Hops(0),
            size: 1,
            flits: 1,
            came_by: 0,
            came_in: 0,
            leg: 0,
            legs: 1,
            scratch: 0,
            misrouted: 0,
            flags: 0,
            ejection_port: 0,
        }
    }

    /// Its flags of misrouting, without the other bits.
    #[inline]
    pub fn detours(&self) -> u8 {
        self.misrouted & (MISROUTED_GLOBALLY | MISROUTED_LOCALLY | MISROUTED_AT_INJECTION)
    }

    /// Number of times that it has been sent again after a loss.
    pub fn repeats(&self) -> u8 {
        self.misrouted >> REPEATED & MOST_REPEATS
    }

    /// Its class, if traffic has classes.
    #[inline]
    pub fn class(&self) -> u8 {
        self.repeats()
    }

    /// True if the congestion control has marked it, if there is congestion control.
    #[inline]
    pub fn is_marked(&self) -> bool {
        self.misrouted & MARKED != 0
    }

    /// The current leg, as an argument of the topology's hop rule.
    #[inline]
    pub fn current_leg(&self, to_group: bool) -> Leg {
        Leg { index: self.leg, of: self.legs, to_group }
    }

    /// Stream `number` of the packet's random numbers at `router`, where a cycle has so many ticks. It follows from the
    /// cycle of generation: a network draws the same however its cycles are divided into ticks.
    #[inline]
    pub(crate) fn stream(&self, router: u32, number: u8, ticks_per_cycle: Tick) -> Rng {
        Rng::keyed(self.key(ticks_per_cycle) ^ u64::from(number) << 56, router)
    }

    /// The packet's random numbers at `router`, where packets generated in one cycle by one source differ in `scratch`,
    /// and packets that are sent again in `flags`.
    #[inline]
    pub(crate) fn stream_of_each(&self, router: u32, ticks_per_cycle: Tick) -> Rng {
        // An odd factor spreads the numbers over all bits, and maps 0 to 0.
        let number = u64::from(self.scratch).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Rng::keyed(self.key(ticks_per_cycle) ^ number ^ u64::from(self.flags) << 24, router)
    }

    /// Source and cycle of generation.
    #[inline]
    fn key(&self, ticks_per_cycle: Tick) -> u64 {
        let cycle = if ticks_per_cycle == 1 { self.birth } else { self.birth / ticks_per_cycle };
        u64::from(self.source) << 32 | u64::from(cycle)
    }

    /// The packet's state, as an argument of the topology's hop rule.
    #[inline]
    pub fn hop_state(&self) -> HopState {
        HopState {
            came_by: self.came_by,
            came_in: self.came_in,
            leg_hops: Hops(self.hops.0.wrapping_sub(self.leg_start.0)),
        }
    }
}

/// The kinds of packets of a reservation protocol, as the class of a packet ([`Packet::class`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Role {
    /// A source asks for a time.
    Reservation,
    /// The destination answers with the time.
    Grant,
    /// The destination has received a speculative packet.
    Acknowledgement,
    /// Data that routers may drop.
    Speculative,
    /// Data that no router drops.
    Granted,
    /// A speculative packet has been dropped.
    Refusal,
    /// A speculative packet that the destination does not take.
    Unwanted,
}

impl Role {
    /// Virtual networks: reservations, grants, acknowledgements and refusals, speculative packets, granted packets.
    pub const NETWORKS: u16 = 5;

    /// The names of the virtual networks.
    pub const NAMES: [&'static str; Self::NETWORKS as usize] =
        ["reservations", "grants", "acknowledgements", "speculative", "granted"];

    const ALL: [Self; 7] = [
        Self::Reservation,
        Self::Grant,
        Self::Acknowledgement,
        Self::Speculative,
        Self::Granted,
        Self::Refusal,
        Self::Unwanted,
    ];

    /// The role of `packet`.
    #[inline]
    pub fn of(packet: &Packet) -> Self {
        Self::ALL[usize::from(packet.class()).min(Self::ALL.len() - 1)]
    }

    /// The role of a packet with this note ([`Self::mark`]).
    pub fn of_mark(mark: u8) -> Self {
        Self::of(&Packet { misrouted: mark, ..Packet::new(0, 0) })
    }

    /// The virtual network of such packets, of a protocol that has the last `networks` ones of [`Self::NAMES`].
    #[inline]
    pub fn network(self, networks: u16) -> u16 {
        let network = match self {
            Self::Refusal => Self::Acknowledgement as u16,
            Self::Unwanted => Self::Speculative as u16,
            role => role as u16,
        };
        network - (Self::NETWORKS - networks)
    }

    /// True for packets that carry no data.
    #[inline]
    pub fn is_control(self) -> bool {
        !matches!(self, Self::Speculative | Self::Granted | Self::Unwanted)
    }

    /// The rank for allocators that go by classes; the lowest goes first.
    #[inline]
    pub fn rank(self) -> Tick {
        match self {
            Self::Grant => 0,
            Self::Reservation => 1,
            Self::Acknowledgement | Self::Refusal => 2,
            Self::Granted => 3,
            Self::Speculative | Self::Unwanted => 4,
        }
    }

    /// The note in a packet of this role ([`Packet::misrouted`]).
    #[inline]
    pub fn mark(self) -> u8 {
        classified(self as u8) | if self.is_control() { REPLY } else { 0 }
    }
}

/// A part of a route towards one target: a minimal route has one leg, a Valiant route two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Leg {
    /// 0 for the first leg.
    pub index: u8,
    /// Legs of the whole route.
    pub of: u8,
    /// True if the earlier legs ended at any router of a group (or neighbourhood), false if at one given router.
    pub to_group: bool,
}

impl Leg {
    /// The leg of a route of one leg.
    pub const ONLY: Self = Self { index: 0, of: 1, to_group: false };

    /// The second leg of a Valiant route.
    pub const SECOND: Self = Self { index: 1, of: 2, to_group: false };

    /// The leg's part of `vcs` virtual channels, divided evenly among the legs of the route, as (first, number). A
    /// topology uses it for legs that must never wait for an earlier leg. With fewer VCs than legs, late legs share the
    /// last one: this is a valid range, but no longer free of deadlock.
    #[inline]
    pub fn share(self, vcs: u8) -> (u8, u8) {
        if self.of <= 1 {
            return (0, vcs.max(1));
        }
        let (vcs, of, index) = (u32::from(vcs.max(1)), u32::from(self.of), u32::from(self.index));
        let first = (vcs * index / of).min(vcs - 1);
        let end = (vcs * (index + 1) / of).clamp(first + 1, vcs);
        (first as u8, (end - first) as u8)
    }
}

/// The state of a packet that its next hop may depend on.
#[derive(Debug, Clone, Copy)]
pub struct HopState {
    /// Class of the link by which the packet came (0: injected here).
    pub came_by: u8,
    /// VC in which it came.
    pub came_in: u8,
    /// Hops taken so far in this leg, by class.
    pub leg_hops: Hops,
}

/// Most link classes of a network: a packet counts the hops of each class in a byte of one word.
pub const MOST_CLASSES: usize = 8;

/// Hops by link class, up to 255 of each, packed in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, FromBytes, IntoBytes, Immutable)]
#[repr(transparent)]
pub struct Hops(pub u64);

impl Hops {
    /// Hops of `class`.
    #[inline]
    pub fn of(self, class: u8) -> u8 {
        (self.0 >> (8 * class)) as u8
    }

    /// One more hop of `class`.
    #[inline]
    pub fn add(&mut self, class: u8) {
        self.0 += 1 << (8 * class);
    }

    /// One more hop over a link of `class`. Hops of class 0, the endpoints' links, are not counted.
    #[inline]
    pub fn add_link(&mut self, class: u8) {
        const ONE: [u64; MOST_CLASSES] = [0, 1 << 8, 1 << 16, 1 << 24, 1 << 32, 1 << 40, 1 << 48, 1 << 56];
        self.0 += ONE[class as usize % MOST_CLASSES];
    }

    /// Hops of all classes.
    #[inline]
    pub fn total(self) -> u32 {
        // Neighbouring classes are added to sums of 16 bits, then these to the highest of them.
        const EVEN: u64 = 0x00ff_00ff_00ff_00ff;
        let pairs = (self.0 & EVEN) + (self.0 >> 8 & EVEN);
        (pairs.wrapping_mul(0x0001_0001_0001_0001) >> 48) as u32
    }
}

/// Packets by 32-bit index. Free places are kept in a separate list, so that a place can be handed out without reading
/// it. Its content has often left the cache, and nothing should wait for it.
#[derive(Debug, Default)]
pub struct Arena {
    packets: Table<Packet>,
    free: Vec<u32>,
}

impl Arena {
    /// Stores a packet and returns its index.
    #[inline]
    pub fn insert(&mut self, packet: Packet) -> u32 {
        match self.free.pop() {
            Some(index) => {
                self.packets[index] = packet;
                index
            }
            None => self.packets.push(packet),
        }
    }

    /// Gives a place back.
    #[inline]
    pub fn remove(&mut self, index: u32) {
        reserve_gently(&mut self.free, 1);
        self.free.push(index);
    }

    /// For each place, whether it holds a packet.
    pub fn lives(&self) -> Vec<bool> {
        let mut lives = vec![true; self.packets.len()];
        self.free.iter().for_each(|&index| lives[index as usize] = false);
        lives
    }

    /// Packets held.
    pub fn live(&self) -> u32 {
        (self.packets.len() - self.free.len()) as u32
    }

    /// Brings a packet into the cache before it is needed.
    #[inline]
    pub(crate) fn prefetch(&self, index: u32) {
        self.packets.prefetch(index);
    }

    /// Brings the packets into the cache, see `Table::fetch`.
    pub fn fetch(&self) {
        self.packets.fetch();
    }

    /// Bytes of memory in use.
    pub fn bytes(&self) -> usize {
        self.packets.bytes() + self.free.capacity() * 4
    }
}

impl std::ops::Index<u32> for Arena {
    type Output = Packet;
    #[inline]
    fn index(&self, index: u32) -> &Packet {
        &self.packets[index]
    }
}

impl std::ops::IndexMut<u32> for Arena {
    #[inline]
    fn index_mut(&mut self, index: u32) -> &mut Packet {
        &mut self.packets[index]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Packets that differ in nothing but `flags` draw each of four ways about equally often: 64 times on average, with
    /// a standard deviation of 7.
    #[test]
    fn a_packet_that_is_sent_again_draws_again() {
        let way = |flags| Packet { birth: 7, scratch: 3, flags, ..Packet::new(1, 15) }.stream_of_each(2, 1).below(4);
        let mut ways = [0; 4];
        (0..=255).for_each(|flags| ways[way(flags) as usize] += 1);
        assert!(ways.iter().all(|count| (40..=90).contains(count)), "{ways:?}");
    }
}
