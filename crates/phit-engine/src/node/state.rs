//! What a network of packet-level nodes consists of.

use super::calendar::Calendar;
use crate::engine::rng::Rng;
use crate::engine::{NONE, Tick};
use crate::measure::collector::Collector;
use crate::router::config::Config;
use crate::router::packet::{MISROUTED_GLOBALLY, MISROUTED_LOCALLY, Packet};
use crate::routing::bubble::lattice::{Lattice, Offsets};
use crate::routing::bubble::{Deroute, Derouted, Escape};
use crate::topology::{Hops, Topology};
use crate::traffic::{Generated, Source, Traffic};
use std::collections::VecDeque;
use std::sync::Arc;

/// What an event does.
pub(super) mod kind {
    /// A packet has arrived: over the link opposite to link `target`; `data` is a [`Word`](super::Word).
    pub const ARRIVAL: usize = 0;
    /// Link `target` is free again after a packet.
    pub const FREE: usize = 1;
    /// Link `target` is free again after an answer.
    pub const FREE_OF_ANSWER: usize = 2;
    /// The answer about a packet sent over link `target` has come; `data` is a [`Word`](super::Word).
    pub const ANSWER: usize = 3;
    /// The next packet of endpoint `target` has reached its router.
    pub const OFFER: usize = 4;
    /// The answer about it is back at the endpoint: `data` is 1 if it was accepted.
    pub const REPLY: usize = 5;
    /// The link to endpoint `target` is free again.
    pub const EJECTION: usize = 6;
    /// Packet `target` has reached its endpoint.
    pub const DELIVERY: usize = 7;
    /// Endpoint `target` sends its next packet.
    pub const SEND: usize = 8;
    /// Number of kinds.
    pub const COUNT: usize = 9;
}

/// A packet with the virtual channel in which it was sent, and whether it was accepted.
#[derive(Debug, Clone, Copy)]
pub(super) struct Word(pub u32);

impl Word {
    const VC: u32 = 28;
    const ACCEPTED: u32 = 1 << 31;
    /// Largest index of a packet.
    pub const MOST_PACKETS: u32 = 1 << Self::VC;

    #[inline]
    pub fn new(packet: u32, vc: u8) -> Self {
        Self(packet | u32::from(vc) << Self::VC)
    }
    #[inline]
    pub fn answered(self, accepted: bool) -> Self {
        Self(self.0 | if accepted { Self::ACCEPTED } else { 0 })
    }
    #[inline]
    pub fn packet(self) -> u32 {
        self.0 & (Self::MOST_PACKETS - 1)
    }
    #[inline]
    pub fn vc(self) -> u8 {
        (self.0 >> Self::VC & 7) as u8
    }
    #[inline]
    pub fn accepted(self) -> bool {
        self.0 & Self::ACCEPTED != 0
    }
}

/// A packet in the network.
#[derive(Debug, Clone, Copy)]
pub(super) struct Record {
    pub birth: Tick,
    /// Tick at which its router accepted it.
    pub injected: Tick,
    pub source: u32,
    pub destination: u32,
    /// Intermediate destination ahead; `NONE` if there is none.
    pub via: u32,
    /// The way ahead of the router where it is counted, to the intermediate destination or the destination.
    pub way: Offsets,
    /// Most hops that its plan allows.
    pub longest: u16,
    pub size: u16,
    pub hops: Hops,
    pub derouted: Derouted,
}

impl Record {
    /// As the collector wants it.
    pub fn packet(&self) -> Packet {
        Packet {
            next: NONE,
            entry: self.injected,
            birth: self.birth,
            injected: self.injected,
            source: self.source,
            destination: self.destination,
            destination_router: NONE,
            intermediate: NONE,
            hops: self.hops,
            leg_start: Hops::default(),
            size: self.size,
            flits: 1,
            came_by: 0,
            came_in: 0,
            leg: 0,
            legs: 1,
            scratch: 0,
            misrouted: match self.derouted {
                Derouted::No => 0,
                Derouted::OutFlank => MISROUTED_LOCALLY,
                Derouted::Orthant | Derouted::Wraparound => MISROUTED_GLOBALLY,
            },
            flags: 0,
            ejection_port: 0,
        }
    }
}

/// The packets of one output queue, oldest first, stand in `Network::slots`. One on its way to the next router keeps its slot.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Queue {
    /// Slots taken.
    pub used: u16,
    /// Bit i: the packet in slot i is not on its way.
    pub waiting: u32,
}

/// Most slots of a queue.
pub(super) const MOST_SLOTS: u32 = 32;

/// Virtual channels that the bubble family uses.
pub(super) const MOST_VCS: usize = 3;

/// A directed link between routers, at the output of its sender: one cache line.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
pub(super) struct Link {
    /// Its queues by virtual channel.
    pub queues: [Queue; MOST_VCS],
    /// The opposite link: at the router at the far end. `NONE` at a mesh's edge.
    pub far: u32,
    /// First tick at which it is free.
    pub free: Tick,
    /// First and last of the answers to be sent, in [`Answers`].
    pub first: u32,
    pub last: u32,
    /// Link class.
    pub class: u8,
    /// Phits put on it since the start of the run.
    pub phits: u64,
}

const _: () = assert!(size_of::<Link>() == 64);

/// Answers that wait for their links, in lists.
#[derive(Debug, Default)]
pub(super) struct Answers {
    nodes: Vec<(Word, u32)>,
    free: Vec<u32>,
}

impl Answers {
    /// Puts an answer behind those of `link`.
    #[inline]
    pub fn push(&mut self, link: &mut Link, word: Word) {
        let node = match self.free.pop() {
            Some(node) => {
                self.nodes[node as usize] = (word, NONE);
                node
            }
            None => {
                self.nodes.push((word, NONE));
                self.nodes.len() as u32 - 1
            }
        };
        if link.first == NONE {
            link.first = node;
        } else {
            self.nodes[link.last as usize].1 = node;
        }
        link.last = node;
    }

    /// Takes the first answer of `link`.
    #[inline]
    pub fn pop(&mut self, link: &mut Link) -> Option<Word> {
        if link.first == NONE {
            return None;
        }
        let (word, next) = self.nodes[link.first as usize];
        self.free.push(link.first);
        link.first = next;
        Some(word)
    }
}

/// An endpoint as sender and as receiver.
#[derive(Debug, Clone)]
pub(super) struct Endpoint {
    pub source: Source,
    pub rng: Rng,
    /// Next packet to send, or the one that is being offered.
    pub next: Option<Generated>,
    /// Phits accepted by its router.
    pub injected: u64,
    /// Packets in front of it that have arrived, without the one on the wire.
    pub arrived: VecDeque<u32>,
    /// First tick at which the link to it is free.
    pub ejection_free: Tick,
    /// Phits put on the link to it.
    pub ejected: u64,
}

/// A rational number of ticks: the period of the clock by which endpoints send.
#[derive(Debug, Clone, Copy)]
pub(super) struct Period {
    pub numerator: u64,
    pub denominator: u64,
}

impl Period {
    /// The first tick of this clock that is not before `tick`.
    #[inline]
    pub fn not_before(self, tick: u64) -> u64 {
        let beat = (tick * self.denominator).div_ceil(self.numerator);
        beat * self.numerator / self.denominator
    }
}

/// A network of packet-level nodes.
pub struct Network {
    pub(super) config: Arc<Config>,
    pub(super) topology: Arc<dyn Topology>,
    pub(super) traffic: Arc<Traffic>,
    pub(super) deroute: Arc<dyn Deroute>,
    pub(super) lattice: Lattice,
    pub(super) escape: Escape,
    /// Slots that an adaptive and an escape queue must have for a packet from an endpoint.
    pub(super) injection_room: (u16, u16),
    /// Links of a router.
    pub(super) directions: u32,
    pub(super) endpoints_per_router: u32,
    /// Virtual channels of a link, three at most.
    pub(super) vcs: u8,
    /// Slots of an output queue, and of the queue in front of an endpoint.
    pub(super) capacity: u16,
    pub(super) ejection_capacity: u16,
    /// Phits of an answer.
    pub(super) answer: u32,
    pub(super) injection_period: Option<Period>,
    pub(super) now: Tick,
    pub(super) calendar: Calendar<{ kind::COUNT }>,
    pub(super) links: Vec<Link>,
    /// `capacity` slots of each queue, by link and virtual channel.
    pub(super) slots: Vec<u32>,
    pub(super) answers: Answers,
    pub(super) endpoints: Vec<Endpoint>,
    pub(super) records: Vec<Record>,
    pub(super) vacant: Vec<u32>,
    /// Free slots of the adaptive queues of a router, for a decision.
    pub(super) free: Vec<Option<u16>>,
    pub(super) collector: Collector,
    pub(super) offered_phits: u64,
    /// Packets that routers, and packets of endpoints that routers, have refused.
    pub(super) refused: (u64, u64),
}

impl Network {
    /// Runs all ticks before `end`.
    pub fn advance_to(&mut self, end: Tick) {
        while let Some((kind, event)) = self.calendar.next_before(end) {
            self.now = event.tick();
            match kind {
                kind::ARRIVAL => self.arrive(event.target, Word(event.data)),
                kind::FREE | kind::FREE_OF_ANSWER => self.try_link(event.target),
                kind::ANSWER => self.answered(event.target, Word(event.data)),
                kind::OFFER => self.offered(event.target),
                kind::REPLY => self.replied(event.target, event.data == 1),
                kind::EJECTION => self.try_ejection(event.target),
                kind::DELIVERY => self.deliver(event.target),
                _ => self.send(event.target),
            }
        }
        self.now = end;
    }

    /// What has been counted so far.
    pub fn collector(&self) -> &Collector {
        &self.collector
    }

    /// Packets in the network.
    pub fn packets_held(&self) -> u64 {
        (self.records.len() - self.vacant.len()) as u64
    }

    /// Packets refused so far: between routers, and at injection.
    pub fn refused(&self) -> (u64, u64) {
        self.refused
    }

    /// Bytes of all tables.
    pub fn bytes(&self) -> usize {
        self.calendar.bytes()
            + self.links.capacity() * size_of::<Link>()
            + self.slots.capacity() * 4
            + self.endpoints.capacity() * size_of::<Endpoint>()
            + self.records.capacity() * size_of::<Record>()
            + self.vacant.capacity() * 4
            + self.collector.bytes()
    }

    /// Router at which a link begins.
    #[inline]
    pub(super) fn router_of(&self, link: u32) -> u32 {
        link / self.directions
    }

    /// First slot of a queue.
    #[inline]
    pub(super) fn slot(&self, link: u32, vc: u8) -> usize {
        (link as usize * MOST_VCS + usize::from(vc)) * usize::from(self.capacity)
    }

    /// Free slots of a queue.
    #[inline]
    pub(super) fn free_slots(&self, link: u32, vc: u8) -> u16 {
        self.capacity - self.links[link as usize].queues[usize::from(vc)].used
    }

    /// Ticks of `phits` over a link of `class`.
    #[inline]
    pub(super) fn serialisation(&self, class: u8, phits: u32) -> Tick {
        self.config.serialisation(phits, self.config.links[class as usize].bandwidth)
    }
}
