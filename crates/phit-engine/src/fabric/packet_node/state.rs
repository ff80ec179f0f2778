//! The state of a network of packet-level nodes.

use super::ahead::Scores;
use super::calendar::{Calendar, Event, Run};
use super::landing::Landings;
use crate::engine::bytes_of;
use crate::engine::{Bytes, NONE, Rng, Table, Tick};
use crate::fabric::links::LinkClasses;
use crate::fabric::seams::bubble::choices::Choices;
use crate::fabric::seams::bubble::lattice::{Lattice, Offsets};
use crate::fabric::seams::bubble::profit::PackedDirections;
use crate::fabric::seams::bubble::{ADAPTIVE, Deroute, Derouted, Escape};
use crate::fabric::wires::Wires;
use crate::measure::Collector;
use crate::packet::{MISROUTED_GLOBALLY, MISROUTED_LOCALLY, Packet};
use crate::topology::{Hops, Topology};
use crate::traffic::{Generated, Source, Traffic};
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

/// The kinds of events.
pub(super) mod kind {
    /// A packet has arrived over link `target`; `data` is a [`Word`](super::Word).
    pub(crate) const ARRIVAL: usize = 0;
    /// Link `target` is free again after a packet.
    pub(crate) const FREE: usize = 1;
    /// Link `target` is free again after an answer.
    pub(crate) const FREE_OF_ANSWER: usize = 8;
    /// Number of kinds.
    pub(crate) const COUNT: usize = 9;
    /// The answer about a packet has arrived over link `target`, opposite to the link of the packet; `data` is a
    /// [`Word`](super::Word).
    pub(crate) const ANSWER: usize = 2;
    /// The next packet of endpoint `target` has reached its router.
    pub(crate) const OFFER: usize = 3;
    /// The answer about the packet has arrived at the endpoint: `data` is 1 if it was accepted.
    pub(crate) const REPLY: usize = 4;
    /// Endpoint `target` sends its next packet.
    pub(crate) const SEND: usize = 5;
    /// The link to endpoint `target` is free again.
    pub(crate) const EJECTION: usize = 6;
    /// Packet `target` has reached its endpoint. Only if packets have several sizes; see
    /// [`Network::under_way`](super::Network::under_way).
    pub(crate) const DELIVERY: usize = 7;
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

/// The routers' data about a packet in the network, half a cache line.
#[derive(Debug, Clone, Copy)]
#[repr(align(32))]
pub(super) struct Record {
    pub hops: Hops,
    pub destination: u32,
    /// Intermediate destination ahead; `NONE` if there is none.
    pub via: u32,
    /// The remaining route from the router where it is counted, to the intermediate destination or the destination.
    pub way: Offsets,
    /// Most hops that its plan allows.
    pub longest: u16,
    pub size: u16,
}

const _: () = assert!(size_of::<Record>() == 32);

/// The origin of a packet in the network.
#[derive(Debug, Clone, Copy)]
pub(super) struct Origin {
    pub birth: Tick,
    /// Tick at which its router accepted it.
    pub injected: Tick,
    pub source: u32,
    pub derouted: Derouted,
}

impl Origin {
    /// The packet in the form that the collector accepts.
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

/// Virtual channels that the bubble family uses.
pub(super) const MOST_VCS: usize = 3;

/// A directed link between routers, at the output of its sender: half a cache line.
#[derive(Debug, Clone, Copy)]
#[repr(align(32))]
pub(super) struct Link {
    /// By virtual channel, bit i: the packet in slot i of its queue is not under way.
    pub waiting: [u32; MOST_VCS],
    /// First tick at which it is free.
    pub busy: Tick,
    /// The first answer to be sent, a [`Word`]; `NONE` if there is none.
    pub answer: u32,
    /// The last of the answers behind it, in [`Answers`]; `NONE` if there are none.
    pub last: u32,
    /// Phits put on it since the start of the run.
    pub phits: u64,
}

const _: () = assert!(size_of::<Link>() == 32);

impl Link {
    /// Whether it is free at tick `now`, and anything waits for it. Both are in one number, so that the processor has
    /// only one branch to predict.
    #[inline(always)]
    pub(super) fn is_ready(&self, now: Tick) -> bool {
        let wanted = self.waiting.iter().fold(self.answer ^ NONE, |all, waiting| all | waiting);
        let free = (i64::from(self.busy) - i64::from(now) - 1) >> 32;
        i64::from(wanted) & free != 0
    }
}

/// Links in a cache line.
const LINKS_OF_LINE: u32 = 2;

/// Queues whose used slots are read together.
pub(super) const QUEUES_OF_WORD: usize = size_of::<u64>();

/// Numbers of links and queues. A router's links are padded to a power of two, so that no division is needed. Links
/// beyond its directions lead nowhere.
#[derive(Debug, Clone, Copy)]
pub(super) struct Numbers {
    /// Links of a router, without those that lead nowhere.
    pub directions: u32,
    /// Binary logarithm of the links of a router.
    shift: u32,
    /// Numbers given to links.
    pub links: u32,
}

impl Numbers {
    /// For this many routers and directions.
    pub(super) fn new(directions: u32, routers: u32) -> Self {
        let shift = directions.next_power_of_two().trailing_zeros();
        Self { directions, shift, links: routers << shift }
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

    /// The queue of a link in a virtual channel. A router's queues in one channel are adjacent, and the queue of the
    /// first channel has the number of its link.
    #[inline]
    pub(super) fn queue(self, link: u32, vc: u8) -> u32 {
        // For a speculative argument, any result will do.
        u32::from(vc).wrapping_mul(self.links).wrapping_add(link)
    }
}

/// Answers that wait for their links behind others: rings of nodes, each with the number of the next.
#[derive(Debug, Default)]
pub(super) struct Answers {
    nodes: Vec<(Word, u32)>,
    free: Vec<u32>,
}

impl Answers {
    /// Appends an answer to the answers of `link`.
    #[inline(always)]
    pub(super) fn push(&mut self, link: &mut Link, word: Word) {
        match link.answer {
            NONE => link.answer = word.0,
            _ => self.push_behind(link, word),
        }
    }

    #[inline(never)]
    fn push_behind(&mut self, link: &mut Link, word: Word) {
        let node = self.free.pop().unwrap_or(self.nodes.len() as u32);
        if node as usize == self.nodes.len() {
            self.nodes.push((word, node));
        }
        let first = match link.last {
            NONE => node,
            last => std::mem::replace(&mut self.nodes[last as usize].1, node),
        };
        self.nodes[node as usize] = (word, first);
        link.last = node;
    }

    /// Takes the first answer of `link`; `NONE` if there is none.
    #[inline(always)]
    pub(super) fn take(&mut self, link: &mut Link) -> u32 {
        let word = link.answer;
        link.answer = if link.last == NONE { NONE } else { self.pop_behind(link).0 };
        word
    }

    #[inline(never)]
    fn pop_behind(&mut self, link: &mut Link) -> Word {
        let first = self.nodes[link.last as usize].1;
        let (word, next) = self.nodes[first as usize];
        match first == link.last {
            true => link.last = NONE,
            false => self.nodes[link.last as usize].1 = next,
        }
        self.free.push(first);
        word
    }

    /// Bytes held.
    pub(super) fn bytes(&self) -> usize {
        self.nodes.bytes() + self.free.bytes()
    }
}

/// An endpoint as sender.
#[derive(Debug, Clone)]
pub(super) struct Endpoint {
    /// Next packet to send, or the packet that is being offered.
    pub next: Option<Generated>,
    /// Phits accepted by its router.
    pub injected: u64,
    /// First tick after the time of these phits, if they follow one another from their acceptance on.
    pub counted: Tick,
    pub rng: Rng,
    pub source: Source,
}

/// The queue of a router in front of an endpoint, and the link to it. Its packets are in a ring of
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

/// Index of the packet's value in pairs of values for packets and answers on links.
pub(super) const PACKET: usize = 0;
/// Index of the answer's value in these pairs.
pub(super) const ANSWER: usize = 1;

/// The times of links of a class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Times {
    /// Ticks of a packet on the link (0 if packets have several sizes), and of an answer: see [`PACKET`].
    pub ticks: [Tick; 2],
    /// Latency in ticks.
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
    /// Slots that an adaptive and an escape queue must have free for a packet from an endpoint.
    pub(super) injection_room: (u16, u16),
    pub(super) numbers: Numbers,
    /// All directions of a router.
    pub(super) directions: PackedDirections,
    pub(super) endpoints_per_router: u32,
    /// Virtual channels of a link, at most three.
    pub(super) vcs: u8,
    /// Slots of an output queue, and of the queue in front of an endpoint.
    pub(super) capacity: u16,
    pub(super) ejection_capacity: u16,
    /// Phits of the largest packet, and of an answer: see [`PACKET`].
    pub(super) phits: [u32; 2],
    pub(super) injection_period: Option<Period>,
    /// By link class.
    pub(super) times: Table<Times>,
    /// Ticks of a packet on the link from an endpoint (0 if packets have several sizes), and of the answer back.
    pub(super) injection_times: (Tick, Tick),
    pub(super) now: Tick,
    pub(super) calendar: Calendar<{ kind::COUNT }>,
    pub(super) links: Table<Link>,
    /// The opposite link of each link, at the router at the far end. `NONE` at a mesh's edge.
    pub(super) far: Table<u32>,
    /// Class of each link.
    pub(super) classes: Table<u8>,
    /// The scores of dimensions whose adaptive queues are empty.
    pub(super) scores: Scores,
    /// Used slots of each queue, and [`QUEUES_OF_WORD`] more entries that belong to no queue.
    pub(super) used: Table<u8>,
    /// `capacity` slots of each queue, oldest packet first, and [`MOST_SLOTS`] more that belong to no queue. A packet
    /// under way to the next router keeps its slot.
    pub(super) slots: Table<u32>,
    pub(super) answers: Answers,
    /// Packets that wait for room, if links have credits.
    pub(super) landings: Option<Landings>,
    pub(super) endpoints: Table<Endpoint>,
    /// The choices of the packets of each endpoint.
    pub(super) choices: Table<Choices>,
    pub(super) ejections: Table<Ejection>,
    /// `ejection_capacity` packets in front of each endpoint.
    pub(super) arrived: Table<u32>,
    pub(super) records: Table<Record>,
    /// By packet, like `records`.
    pub(super) origins: Table<Origin>,
    pub(super) vacant: Vec<u32>,
    /// Packets on their links to endpoints, with the ticks of their arrival; sorted if all packets have one size.
    pub(super) under_way: VecDeque<(Tick, u32)>,
    /// Free slots of the adaptive queues of a router, for a decision.
    pub(super) free: Vec<Option<u16>>,
    pub(super) collector: Collector,
    pub(super) offered_phits: u64,
    /// Packets refused between routers, and packets refused from endpoints.
    pub(super) refused: (u64, u64),
    /// Packets that are not completely on their links yet: by link, then by destination endpoint, then by source
    /// endpoint.
    pub(super) wires: Wires,
}

impl Network {
    /// Runs all ticks before `end`.
    pub fn advance_to(&mut self, end: Tick) {
        self.wires.run_until(end);
        match self.landings.is_some() {
            false => self.run::<false>(end),
            true => self.run::<true>(end),
        }
    }

    /// Compiled separately for answers and for credits, so that neither has to check. Functions that it calls for
    /// nearly every event are inlined into both.
    fn run<const CREDITS: bool>(&mut self, end: Tick) {
        while let Some(run) = self.calendar.next_run(end) {
            self.now = run.tick;
            match run.kind {
                kind::ARRIVAL => {
                    let mut reader = self.calendar.read(kind::ARRIVAL, run);
                    while let Some((link, word)) = self.calendar.next(kind::ARRIVAL, &mut reader) {
                        self.prepare_arrival(self.calendar.guess(&reader));
                        let back = self.far[link];
                        match CREDITS {
                            true => self.land(back, Word(word)),
                            false => self.arrive(back, Word(word)),
                        }
                    }
                }
                kind::FREE => self.free_links(kind::FREE, run),
                kind::FREE_OF_ANSWER => self.free_links(kind::FREE_OF_ANSWER, run),
                kind::ANSWER => {
                    let mut reader = self.calendar.read(kind::ANSWER, run);
                    while let Some((back, word)) = self.calendar.next(kind::ANSWER, &mut reader) {
                        self.prepare_answer(self.calendar.guess(&reader));
                        let link = self.far[back];
                        match CREDITS {
                            true => self.credited(link, Word(word)),
                            false => self.answered(link, Word(word)),
                        }
                    }
                }
                kind::COUNT => {
                    if let Some((kind, Event { target, data, .. })) = self.calendar.stray() {
                        self.handle::<CREDITS>(kind, target, data);
                    }
                }
                kind => {
                    let mut reader = self.calendar.read(kind, run);
                    while let Some((target, data)) = self.calendar.next(kind, &mut reader) {
                        self.prepare(kind, self.calendar.guess(&reader).0);
                        self.handle::<CREDITS>(kind, target, data);
                    }
                }
            }
        }
        self.now = end;
        self.deliver_before(end);
    }

    /// An event of any kind.
    #[inline(never)]
    fn handle<const CREDITS: bool>(&mut self, kind: usize, target: u32, data: u32) {
        match kind {
            kind::ARRIVAL if CREDITS => self.land(self.far[target], Word(data)),
            kind::ANSWER if CREDITS => self.credited(self.far[target], Word(data)),
            kind::OFFER if CREDITS => self.land_new(target),
            kind::EJECTION if CREDITS => self.ejected(target),
            kind::ARRIVAL => self.arrive_out_of_order(self.far[target], Word(data)),
            kind::FREE | kind::FREE_OF_ANSWER => self.try_link(target),
            kind::ANSWER => self.answered(self.far[target], Word(data)),
            kind::OFFER => self.offered(target),
            kind::REPLY => self.replied(target, data == 1),
            kind::EJECTION => self.try_ejection(target),
            kind::DELIVERY => self.deliver(target, self.now),
            _ => self.send(target),
        }
    }

    /// Links become free.
    #[inline(always)]
    fn free_links(&mut self, kind: usize, run: Run) {
        let mut reader = self.calendar.read(kind, run);
        while let Some((link, _)) = self.calendar.next(kind, &mut reader) {
            let (later, _) = self.calendar.guess(&reader);
            self.links.prefetch(later);
            self.slots.prefetch(self.slot(later, ADAPTIVE));
            self.try_link(link);
        }
    }

    /// Prefetches the memory that a later arrival will need.
    #[inline(always)]
    fn prepare_arrival(&self, (link, word): (u32, u32)) {
        self.records.prefetch(Word(word).packet());
        let first = self.numbers.first_link(self.numbers.router(self.far_if_any(link)));
        self.used.prefetch(first);
        // Lines of three dimensions are prefetched without a check. A speculative link need not exist.
        let prefetch = |line: u32| self.links.prefetch(first.wrapping_add(line * LINKS_OF_LINE));
        (0..3).for_each(prefetch);
        if self.numbers.directions > 3 * LINKS_OF_LINE {
            (3..6).for_each(prefetch);
        }
    }

    /// Prefetches the memory that a later answer will need.
    #[inline(always)]
    fn prepare_answer(&self, (back, word): (u32, u32)) {
        let link = self.far_if_any(back);
        self.links.prefetch(link);
        self.slots.prefetch(self.slot(link, Word(word).vc()));
    }

    /// Prefetches the memory that a later event of an endpoint will need.
    #[inline(always)]
    fn prepare(&self, kind: usize, later: u32) {
        match kind {
            kind::OFFER => {
                self.endpoints.prefetch(later);
                self.choices.prefetch(later);
                // A speculative index may be out of range.
                (*self.choices).get(later as usize).inspect(|choices| choices.prefetch());
            }
            kind::REPLY | kind::SEND => self.endpoints.prefetch(later),
            _ => {}
        }
    }

    /// The link opposite to `link`; any link if `link` is speculative.
    #[inline(always)]
    fn far_if_any(&self, link: u32) -> u32 {
        (*self.far).get(link as usize).copied().unwrap_or(0)
    }

    /// The counts so far.
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
            calendar, links, far, classes, used, slots, answers, endpoints, choices, ejections, arrived, records,
            wires, origins, vacant, free, collector, under_way;
            link_classes, topology, traffic, deroute, lattice, escape, injection_room, numbers, endpoints_per_router,
            vcs, capacity, ejection_capacity, phits, injection_period, times, injection_times, now, landings,
            scores, directions,
            offered_phits, refused
        }) + self.choices.iter().map(Choices::bytes).sum::<usize>()
            + self.landings.as_ref().map_or(0, Landings::bytes)
    }

    /// First slot of a queue.
    #[inline]
    pub(super) fn slot(&self, link: u32, vc: u8) -> u32 {
        self.numbers.queue(link, vc).wrapping_mul(self.capacity.into())
    }

    /// Used slots of adjacent queues from `queue` on, as many as a word has bytes.
    #[inline(always)]
    pub(super) fn used_from(&self, queue: u32) -> u64 {
        let queues = (*self.used).get(queue as usize..).and_then(|queues| queues.first_chunk());
        u64::from_le_bytes(queues.copied().unwrap_or_default())
    }

    /// Used slots of a queue.
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
