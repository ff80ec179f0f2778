//! What a network of packet-level nodes consists of.

use super::calendar::Calendar;
use super::landing::Landings;
use crate::engine::bytes_of;
use crate::engine::{Bytes, NONE, Rng, Table, Tick};
use crate::fabric::links::LinkClasses;
use crate::fabric::seams::bubble::choices::Choices;
use crate::fabric::seams::bubble::lattice::{Lattice, Offsets};
use crate::fabric::seams::bubble::{ADAPTIVE, Deroute, Derouted, Escape};
use crate::measure::Collector;
use crate::packet::{MISROUTED_GLOBALLY, MISROUTED_LOCALLY, Packet};
use crate::topology::{Hops, Topology};
use crate::traffic::{Generated, Source, Traffic};
use std::ops::Range;
use std::sync::Arc;

/// What an event does.
pub(super) mod kind {
    /// A packet has arrived: over the link opposite to link `target`; `data` is a [`Word`](super::Word).
    pub(crate) const ARRIVAL: usize = 0;
    /// Link `target` is free again after a packet.
    pub(crate) const FREE: usize = 1;
    /// Link `target` is free again after an answer.
    pub(crate) const FREE_OF_ANSWER: usize = 2;
    /// The answer about a packet sent over link `target` has come; `data` is a [`Word`](super::Word).
    pub(crate) const ANSWER: usize = 3;
    /// The next packet of endpoint `target` has reached its router.
    pub(crate) const OFFER: usize = 4;
    /// The answer about it is back at the endpoint: `data` is 1 if it was accepted.
    pub(crate) const REPLY: usize = 5;
    /// The link to endpoint `target` is free again.
    pub(crate) const EJECTION: usize = 6;
    /// Packet `target` has reached its endpoint.
    pub(crate) const DELIVERY: usize = 7;
    /// Endpoint `target` sends its next packet.
    pub(crate) const SEND: usize = 8;
    /// Number of kinds.
    pub(crate) const COUNT: usize = 9;
}

/// A packet with the virtual channel in which it was sent, and whether it was accepted.
#[derive(Debug, Clone, Copy)]
pub(super) struct Word(pub u32);

impl Word {
    const VC: u32 = 28;
    const ACCEPTED: u32 = 1 << 31;
    /// Largest index of a packet.
    pub(super) const MOST_PACKETS: u32 = 1 << Self::VC;

    #[inline]
    pub(super) fn new(packet: u32, vc: u8) -> Self {
        Self(packet | u32::from(vc) << Self::VC)
    }
    #[inline]
    pub(super) fn answered(self, accepted: bool) -> Self {
        Self(self.0 | if accepted { Self::ACCEPTED } else { 0 })
    }
    #[inline]
    pub(super) fn packet(self) -> u32 {
        self.0 & (Self::MOST_PACKETS - 1)
    }
    #[inline]
    pub(super) fn vc(self) -> u8 {
        (self.0 >> Self::VC & 7) as u8
    }
    #[inline]
    pub(super) fn accepted(self) -> bool {
        self.0 & Self::ACCEPTED != 0
    }
}

/// What routers must know of a packet in the network: half a cache line.
#[derive(Debug, Clone, Copy)]
#[repr(align(32))]
pub(super) struct Record {
    pub hops: Hops,
    pub destination: u32,
    /// Intermediate destination ahead; `NONE` if there is none.
    pub via: u32,
    /// The way ahead of the router where it is counted, to the intermediate destination or the destination.
    pub way: Offsets,
    /// Most hops that its plan allows.
    pub longest: u16,
    pub size: u16,
}

const _: () = assert!(size_of::<Record>() == 32);

/// Where a packet in the network has come from.
#[derive(Debug, Clone, Copy)]
pub(super) struct Origin {
    pub birth: Tick,
    /// Tick at which its router accepted it.
    pub injected: Tick,
    pub source: u32,
    pub derouted: Derouted,
}

impl Origin {
    /// The packet as the collector wants it.
    pub(super) fn packet(&self, record: &Record) -> Packet {
        Packet {
            entry: self.injected,
            birth: self.birth,
            injected: self.injected,
            hops: record.hops,
            size: record.size,
            misrouted: match self.derouted {
                Derouted::No => 0,
                Derouted::OutFlank => MISROUTED_LOCALLY,
                Derouted::Orthant | Derouted::Wraparound => MISROUTED_GLOBALLY,
            },
            ..Packet::new(self.source, record.destination)
        }
    }
}

/// Most slots of a queue.
pub(super) const MOST_SLOTS: u32 = 32;

/// How many events of a kind ahead what they need is fetched.
const AHEAD: u32 = 6;

/// Virtual channels that the bubble family uses.
pub(super) const MOST_VCS: usize = 3;

/// A directed link between routers, at the output of its sender: half a cache line.
#[derive(Debug, Clone, Copy)]
#[repr(align(32))]
pub(super) struct Link {
    /// By virtual channel, bit i: the packet in slot i of its queue is not on its way.
    pub waiting: [u32; MOST_VCS],
    /// The opposite link: at the router at the far end. `NONE` at a mesh's edge.
    pub far: u32,
    /// First and last of the answers to be sent, in [`Answers`].
    pub first: u32,
    pub last: u32,
    /// Phits put on it since the start of the run.
    pub phits: u64,
}

const _: () = assert!(size_of::<Link>() == 32);

/// Links of a cache line.
const LINKS_OF_LINE: usize = 2;

/// Numbers of links and queues. The links of a router are as many as the next power of two, so that nothing need be
/// divided; those beyond its directions lead nowhere.
#[derive(Debug, Clone, Copy)]
pub(super) struct Numbers {
    /// Links of a router, without those that lead nowhere.
    pub directions: u32,
    /// Logarithm of the links of a router.
    shift: u32,
}

impl Numbers {
    /// For routers of so many directions.
    pub(super) fn new(directions: u32) -> Self {
        Self { directions, shift: directions.next_power_of_two().trailing_zeros() }
    }

    /// Numbers given to the links of so many routers.
    pub(super) fn links(self, routers: u32) -> u32 {
        routers << self.shift
    }

    /// First link of a router.
    #[inline]
    pub(super) fn first_link(self, router: u32) -> u32 {
        router << self.shift
    }

    /// Router at which a link begins.
    #[inline]
    pub(super) fn router(self, link: u32) -> u32 {
        link >> self.shift
    }

    /// Direction of a link.
    #[inline]
    pub(super) fn direction(self, link: u32) -> u32 {
        link & ((1 << self.shift) - 1)
    }

    /// The links of a router.
    pub(super) fn of_router(self, router: u32) -> Range<u32> {
        self.first_link(router)..self.first_link(router) + self.directions
    }

    /// The queue of a link in a virtual channel. Those of a router in one channel stand together.
    #[inline]
    pub(super) fn queue(self, link: u32, vc: u8) -> u32 {
        ((self.router(link) * MOST_VCS as u32 + u32::from(vc)) << self.shift) + self.direction(link)
    }
}

/// Answers that wait for their links, in lists.
#[derive(Debug, Default)]
pub(super) struct Answers {
    nodes: Vec<(Word, u32)>,
    free: Vec<u32>,
}

impl Answers {
    /// Puts an answer behind those of `link`.
    #[inline]
    pub(super) fn push(&mut self, link: &mut Link, word: Word) {
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

    /// Bytes held.
    pub(super) fn bytes(&self) -> usize {
        self.nodes.bytes() + self.free.bytes()
    }

    /// Takes the first answer of `link`.
    #[inline]
    pub(super) fn pop(&mut self, link: &mut Link) -> Option<Word> {
        if link.first == NONE {
            return None;
        }
        let (word, next) = self.nodes[link.first as usize];
        self.free.push(link.first);
        link.first = next;
        Some(word)
    }
}

/// An endpoint as sender.
#[derive(Debug, Clone)]
pub(super) struct Endpoint {
    /// Next packet to send, or the one that is being offered.
    pub next: Option<Generated>,
    /// Phits accepted by its router.
    pub injected: u64,
    pub rng: Rng,
    pub source: Source,
}

/// The queue of a router in front of an endpoint, and the link to it. Its packets stand in a ring of
/// [`Network::arrived`].
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Ejection {
    /// First tick at which the link is free.
    pub free: Tick,
    /// Place of the first packet that has arrived.
    pub first: u16,
    /// Packets that have arrived, without the one on the wire.
    pub held: u16,
    /// Phits put on the link.
    pub phits: u64,
}

/// What things take on the links of a class.
#[derive(Debug, Clone, Copy)]
pub(super) struct Times {
    /// Ticks of a packet on the link; 0 if packets have several sizes.
    pub packet: Tick,
    /// Ticks of an answer.
    pub answer: Tick,
    /// Ticks on the way.
    pub latency: Tick,
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
    pub(super) fn not_before(self, tick: u64) -> u64 {
        let beat = (tick * self.denominator).div_ceil(self.numerator);
        beat * self.numerator / self.denominator
    }
}

/// A network of packet-level nodes.
pub struct Network {
    pub(super) link_classes: LinkClasses,
    pub(super) topology: Arc<dyn Topology>,
    pub(super) traffic: Arc<Traffic>,
    pub(super) deroute: Arc<dyn Deroute>,
    pub(super) lattice: Lattice,
    pub(super) escape: Escape,
    /// Slots that an adaptive and an escape queue must have for a packet from an endpoint.
    pub(super) injection_room: (u16, u16),
    pub(super) numbers: Numbers,
    pub(super) endpoints_per_router: u32,
    /// Virtual channels of a link, three at most.
    pub(super) vcs: u8,
    /// Slots of an output queue, and of the queue in front of an endpoint.
    pub(super) capacity: u16,
    pub(super) ejection_capacity: u16,
    /// Phits of an answer.
    pub(super) answer: u32,
    /// Phits of the largest packet.
    pub(super) largest: u32,
    pub(super) injection_period: Option<Period>,
    /// By link class.
    pub(super) times: Table<Times>,
    /// Ticks of a packet on the link from an endpoint, 0 if packets have several sizes; and of the answer on its way
    /// back.
    pub(super) injection_times: (Tick, Tick),
    pub(super) now: Tick,
    pub(super) calendar: Calendar<{ kind::COUNT }>,
    pub(super) links: Table<Link>,
    /// First tick at which a link is free.
    pub(super) busy: Table<Tick>,
    /// Class of each link.
    pub(super) classes: Table<u8>,
    /// Slots taken of each queue.
    pub(super) used: Table<u8>,
    /// `capacity` slots of each queue, oldest packet first. One on its way to the next router keeps its slot.
    pub(super) slots: Table<u32>,
    pub(super) answers: Answers,
    /// Packets that wait for room, if links have credits.
    pub(super) landings: Option<Landings>,
    pub(super) endpoints: Table<Endpoint>,
    /// What the packets of each endpoint choose among.
    pub(super) choices: Table<Choices>,
    pub(super) ejections: Table<Ejection>,
    /// `ejection_capacity` packets in front of each endpoint.
    pub(super) arrived: Table<u32>,
    pub(super) records: Table<Record>,
    /// By packet, as `records`.
    pub(super) origins: Table<Origin>,
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
        match self.landings.is_some() {
            false => self.run::<false>(end),
            true => self.run::<true>(end),
        }
    }

    /// Compiled for answers and for credits, so that neither asks which of the two it is; and what it calls for nearly
    /// every event is inlined into both.
    fn run<const CREDITS: bool>(&mut self, end: Tick) {
        while let Some((kind, event)) = self.calendar.next_before(end) {
            self.now = event.tick();
            self.prepare(kind);
            match kind {
                kind::ARRIVAL if CREDITS => self.land(event.target, Word(event.data)),
                kind::ANSWER if CREDITS => self.credited(event.target, Word(event.data)),
                kind::OFFER if CREDITS => self.land_new(event.target),
                kind::EJECTION if CREDITS => self.ejected(event.target),
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

    /// Fetches what a later event of this kind will need.
    #[inline(always)]
    fn prepare(&self, kind: usize) {
        let (target, data) = self.calendar.guess(kind, AHEAD);
        match kind {
            kind::ARRIVAL => {
                self.records.prefetch(Word(data).packet());
                let router = self.numbers.router(target);
                let first = self.numbers.first_link(router);
                self.busy.prefetch(first);
                self.used.prefetch(self.numbers.queue(first, ADAPTIVE));
                self.numbers.of_router(router).step_by(LINKS_OF_LINE).for_each(|link| self.links.prefetch(link));
            }
            kind::FREE => {
                self.busy.prefetch(target);
                self.links.prefetch(target);
                self.slots.prefetch(self.slot(target, ADAPTIVE));
            }
            kind::ANSWER => {
                self.links.prefetch(target);
                self.slots.prefetch(self.slot(target, Word(data).vc()));
            }
            kind::OFFER => {
                self.endpoints.prefetch(target);
                self.choices.prefetch(target);
                self.choices[self.calendar.guess(kind, 1).0].prefetch();
            }
            kind::REPLY | kind::SEND => self.endpoints.prefetch(target),
            kind::DELIVERY => {
                self.records.prefetch(target);
                self.origins.prefetch(target);
            }
            _ => {}
        }
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
        bytes_of!(self, Self {
            calendar, links, busy, classes, used, slots, answers, endpoints, choices, ejections, arrived, records,
            origins, vacant, free, collector;
            link_classes, topology, traffic, deroute, lattice, escape, injection_room, numbers, endpoints_per_router,
            vcs, capacity, ejection_capacity, answer, largest, injection_period, times, injection_times, now, landings,
            offered_phits, refused
        }) + self.choices.iter().map(Choices::bytes).sum::<usize>()
            + self.landings.as_ref().map_or(0, Landings::bytes)
    }

    /// First slot of a queue.
    #[inline]
    pub(super) fn slot(&self, link: u32, vc: u8) -> u32 {
        self.numbers.queue(link, vc).wrapping_mul(self.capacity.into())
    }

    /// Slots taken of a queue.
    #[inline]
    pub(super) fn used(&self, link: u32, vc: u8) -> u16 {
        self.used[self.numbers.queue(link, vc)].into()
    }

    /// Free slots of a queue.
    #[inline]
    pub(super) fn free_slots(&self, link: u32, vc: u8) -> u16 {
        self.capacity - self.used(link, vc)
    }

    /// Ticks of `phits` over a link of `class`.
    #[inline]
    pub(super) fn serialisation(&self, class: u8, phits: u32) -> Tick {
        self.link_classes.serialisation(phits, self.link_classes[class as usize].bandwidth)
    }
}
