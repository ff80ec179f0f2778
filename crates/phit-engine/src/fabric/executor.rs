//! What executes a program at endpoints: the hosts of some ranks, the messages that they have yet to send, and those
//! that come to them.
//!
//! A message is sent as packets, of which only the next one is ever made. What it is, from whom and for whom, is told
//! to the executor of its destination apart from the packets, when the first of them is made: no later than that comes.
//! A packet is known by its source and by the cycle of its generation, which no two packets of a source share, for an
//! endpoint sends at most one in a cycle; the packets of a message count on from its first.
//!
//! Nothing here depends on how ranks are shared out among executors. Events of different ranks touch only through
//! messages and words of these, which take at least a tick; those of one rank and one tick come in the order in which
//! they were said: operations that became due before, then messages by source and by the order in which they were
//! sent, then words that a receive has taken a message.

use crate::engine::{NONE, Tick};
use crate::measure::{MessageRow, OperationRow, PhaseRow, Programs, RankRow, TrackRow};
use crate::packet::Packet;
use crate::traffic::Generated;
use crate::workload::Workload;
use phit_workload::host::{Effects, Hosts, Left, Message, Taken};
use phit_workload::run::Asked;
use phit_workload::{Queue, Ranks};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::sync::Arc;

/// Something that a rank hears of.
#[derive(Debug, Clone, Copy)]
enum Event {
    /// Operation `number` of `rank` is due.
    Operation { rank: u32, number: u32 },
    /// A message has arrived.
    Message(Message),
    /// A receive has taken a message, and has said so at tick `told`.
    Taken { taken: Taken, told: u64 },
}

/// A message that is to be sent, or that is being sent.
#[derive(Debug, Clone, Copy)]
struct Sending {
    message: Message,
    /// Cycle of its first packet.
    first: u32,
    /// Packets.
    packets: u32,
    /// Packets that have been made.
    made: u32,
    /// Phits of the last one.
    last: u16,
}

/// What the executor of a message's destination hears of it before its first packet comes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Announced {
    message: Message,
    first: u32,
    packets: u32,
}

/// A receive at another executor has taken a message, whose sender hears of it at tick `at`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Word {
    /// When.
    pub at: u64,
    /// The rank that has sent it.
    pub rank: u32,
    /// The number of the send.
    number: u32,
    /// When the receive took it.
    told: u64,
}

/// A message on its way: by destination, source and the cycle of its first packet.
type Known = (u32, u32, u32);

/// What has come of a message.
#[derive(Debug, Clone, Copy)]
struct Coming {
    message: Message,
    /// Packets that have yet to come.
    left: u32,
    /// Tick at which the first of its packets was injected.
    injected: Tick,
    /// Tick of the first phit.
    first: Tick,
    /// Tick of the last phit, when all have come.
    last: Tick,
}

/// The hosts of a part of the ranks, and what they send and receive.
pub(crate) struct Executor {
    workload: Arc<Workload>,
    asked: Asked,
    ticks_per_cycle: u64,
    /// Packets of this cycle and later ones cannot be sent.
    cycles: Tick,
    hosts: Hosts,
    effects: Effects,
    events: Queue<Event>,
    begun: bool,
    /// By place of the rank: what it has to send.
    sending: Vec<VecDeque<Sending>>,
    /// By place of the rank: the first cycle in which no packet has been generated.
    next_cycle: Vec<u32>,
    /// Messages to be sent.
    unsent: usize,
    coming: BTreeMap<Known, Coming>,
    /// Messages that have come in this tick.
    come: Vec<Known>,
    /// Words on their way to ranks of this executor.
    words: BinaryHeap<Reverse<Word>>,
    /// Ranks that have got something to send in this tick.
    pub(crate) senders: Vec<u32>,
    /// Words for ranks, of this executor or another: who took what, from whom, when.
    pub(crate) told: Vec<(Message, Taken, u64)>,
    /// Rows of messages that have come; by [`Message::mark`].
    rows: Vec<MessageRow>,
    /// A message has more packets than there are cycles left.
    pub(crate) beyond: bool,
}

impl Executor {
    /// The executor of `ranks`, before anything has happened.
    pub(crate) fn new(
        workload: Arc<Workload>,
        ranks: Ranks,
        asked: Asked,
        ticks_per_cycle: Tick,
        cycles: Tick,
    ) -> Self {
        let count = ranks.len();
        let hosts = Hosts::new(workload.program.clone().plan(ranks), workload.hosts).with_unit(workload.unit);
        Self {
            hosts: asked.of(hosts),
            workload,
            asked,
            ticks_per_cycle: ticks_per_cycle.into(),
            cycles,
            effects: Effects::default(),
            events: Queue::default(),
            begun: false,
            sending: vec![VecDeque::new(); count],
            next_cycle: vec![0; count],
            unsent: 0,
            coming: BTreeMap::new(),
            come: Vec::new(),
            words: BinaryHeap::new(),
            senders: Vec::new(),
            told: Vec::new(),
            rows: Vec::new(),
            beyond: false,
        }
    }

    /// Does what is due by tick `now`: once in a tick, when all packets of the tick have been delivered.
    pub(crate) fn execute(&mut self, now: Tick) {
        let now = u64::from(now);
        if !self.begun {
            self.begun = true;
            let ranks = self.hosts.ranks().clone();
            ranks.iter().for_each(|rank| self.hosts.begin(rank, &mut self.effects));
            self.settle();
        }
        self.take_in(now);
        while let Some(Reverse(word)) = self.words.peek().copied().filter(|Reverse(word)| word.at <= now) {
            self.words.pop();
            let taken = Taken { source: word.rank, number: word.number };
            self.events.add(now, Event::Taken { taken, told: word.told });
        }
        while let Some((due, event)) = self.events.take(now) {
            let outcome = match event {
                Event::Operation { rank, number } => self.hosts.perform(rank, number, now, &mut self.effects),
                Event::Message(message) => self.hosts.arrive(message, now, &mut self.effects),
                Event::Taken { taken, told } => {
                    self.hosts.taken(taken, told, now, &mut self.effects);
                    Ok(())
                }
            };
            match outcome {
                Err(later) => self.events.defer(due, later),
                Ok(()) => {
                    self.events.end(due);
                    self.note(now);
                    self.settle();
                }
            }
        }
    }

    /// Messages of one tick arrive by destination, source and order; one that was sent after another of the same
    /// source and tag does not overtake it.
    fn take_in(&mut self, now: u64) {
        let mut come = std::mem::take(&mut self.come);
        come.sort_unstable();
        for known in come.drain(..) {
            let (destination, source, _) = known;
            let Some(tag) = self.coming.get(&known).map(|coming| coming.message.tag) else { continue };
            let of_tag = self
                .coming
                .range((destination, source, 0)..=(destination, source, NONE))
                .filter(|(_, coming)| coming.message.tag == tag);
            let ready: Vec<Known> =
                of_tag.take_while(|(_, coming)| coming.left == 0).map(|(known, _)| *known).collect();
            for known in ready {
                if let Some(coming) = self.coming.remove(&known) {
                    self.arrive(coming, now);
                }
            }
        }
        self.come = come;
    }

    fn arrive(&mut self, coming: Coming, now: u64) {
        let Coming { mut message, injected, first, last, .. } = coming;
        if self.asked.messages {
            message.mark = self.rows.len() as u32;
            let at = |tick: Tick| Some(u64::from(tick));
            let row = MessageRow::new(&message);
            self.rows.push(MessageRow { injected: at(injected), first: at(first), last: at(last), ..row });
        }
        self.events.add(now, Event::Message(message));
    }

    /// Notes what an event at `now` has led to with other ranks.
    fn note(&mut self, now: u64) {
        let Some((message, at)) = self.effects.matched.take() else { return };
        if self.asked.messages {
            self.rows[message.mark as usize].matched = Some(at);
        }
        match self.effects.taken.take() {
            Some(taken) if message.source == message.destination => {
                self.events.add(now, Event::Taken { taken, told: now });
            }
            Some(taken) => self.told.push((message, taken, now)),
            None => {}
        }
    }

    /// Queues what an event has led to.
    fn settle(&mut self) {
        if let Some((message, left)) = self.effects.sent.take() {
            match message.source == message.destination {
                true => self.send_to_itself(message, left),
                false => self.send(message, left),
            }
        }
        let events = &mut self.events;
        self.hosts.ready(&mut self.effects, |ready| {
            events.add(ready.at, Event::Operation { rank: ready.rank, number: ready.number });
        });
    }

    /// What a rank sends to itself never enters the network.
    fn send_to_itself(&mut self, mut message: Message, left: u64) {
        if self.asked.messages {
            message.mark = self.rows.len() as u32;
            self.rows.push(MessageRow { last: Some(left), ..MessageRow::new(&message) });
        }
        self.events.add(left, Event::Message(message));
    }

    /// Cuts a message into packets, the first of which may be generated in the cycle in which its first byte leaves the
    /// host.
    fn send(&mut self, message: Message, left: u64) {
        let place = self.hosts.ranks().place(message.source);
        let (packets, last) = self.workload.packets.cut(message.bytes);
        let first = left.div_ceil(self.ticks_per_cycle).max(self.next_cycle[place].into());
        let end = first.saturating_add(packets);
        if end >= u64::from(self.cycles) {
            self.beyond = true;
            return;
        }
        self.next_cycle[place] = end as u32;
        let (first, packets) = (first as u32, packets as u32);
        self.sending[place].push_back(Sending { message, first, packets, made: 0, last });
        self.unsent += 1;
        self.senders.push(message.source);
    }

    /// The next packet of `rank`, and what is to be said of its message if it is the first.
    pub(crate) fn next_packet(&mut self, rank: u32) -> Option<(Generated, Option<Announced>)> {
        let queue = &mut self.sending[self.hosts.ranks().place(rank)];
        let sending = queue.front_mut()?;
        let Sending { message, first, packets, made, last } = *sending;
        sending.made += 1;
        let is_last = sending.made == packets;
        let packet = Generated {
            cycle: first + made,
            destination: self.workload.endpoints[message.destination as usize],
            size: if is_last { last } else { self.workload.packets.full() },
        };
        if is_last {
            queue.pop_front();
            self.unsent -= 1;
        }
        Some((packet, (made == 0).then_some(Announced { message, first, packets })))
    }

    /// The rank for which a message is that was announced.
    pub(crate) fn destination(announced: &Announced) -> u32 {
        announced.message.destination
    }

    /// Hears of a message before its first packet comes.
    pub(crate) fn expect(&mut self, announced: Announced) {
        let Announced { message, first, packets } = announced;
        let known = (message.destination, message.source, first);
        self.coming.insert(known, Coming { message, left: packets, injected: NONE, first: NONE, last: 0 });
    }

    /// Hears that a receive elsewhere has taken a message; the word comes later than now.
    pub(crate) fn hear(&mut self, word: Word) {
        self.words.push(Reverse(word));
    }

    /// A word to the sender of `taken`, which takes `ticks`.
    pub(crate) fn word(taken: Taken, told: u64, ticks: Tick) -> Word {
        Word { at: told + u64::from(ticks).max(1), rank: taken.source, number: taken.number, told }
    }

    /// The tail of `packet` reaches its endpoint at tick `now`, its head `before` ticks earlier.
    pub(crate) fn delivered(&mut self, packet: &Packet, now: Tick, before: Tick) {
        let ranks = &self.workload.ranks;
        let (destination, source) = (ranks[packet.destination as usize], ranks[packet.source as usize]);
        let cycle = packet.birth / self.ticks_per_cycle as Tick;
        let range = (destination, source, 0)..=(destination, source, cycle);
        let Some((known, coming)) = self.coming.range_mut(range).next_back() else { return };
        let head = now.saturating_sub(before);
        // Packets of several injection queues may overtake one another.
        coming.injected = coming.injected.min(packet.injected);
        coming.first = coming.first.min(head);
        coming.left -= 1;
        if coming.left == 0 {
            coming.last = now;
            self.come.push(*known);
        }
    }

    /// The tick in which something is due next.
    pub(crate) fn next(&self) -> Option<u64> {
        let word = self.words.peek().map(|Reverse(word)| word.at);
        self.events.next().into_iter().chain(word).min()
    }

    /// True if nothing is due ever, and there is nothing to send.
    pub(crate) fn at_rest(&self) -> bool {
        self.begun && self.unsent == 0 && self.come.is_empty() && self.next().is_none()
    }

    /// True if every message has come that was announced.
    pub(crate) fn expects_nothing(&self) -> bool {
        self.coming.is_empty()
    }

    /// When the last of the operations ends that have been performed so far.
    pub(crate) fn finish(&self) -> u64 {
        self.hosts.ranks().iter().map(|rank| self.hosts.finish(rank)).max().unwrap_or(0)
    }

    /// Operations that have been performed.
    pub(crate) fn performed(&self) -> u64 {
        self.hosts.performed()
    }

    /// What is left of the program, with the messages of which not all packets have come.
    pub(crate) fn left(&self) -> (Left, Vec<Message>) {
        (self.hosts.left(), self.coming.values().map(|coming| coming.message).collect())
    }

    /// How the ranks have fared, and what else is asked for.
    pub(crate) fn rows(&self) -> Programs {
        let rank = |rank: u32| {
            let endpoint = self.workload.endpoints[rank as usize];
            let job = self.workload.job_of(rank).name.clone();
            RankRow { rank, job, endpoint, finish: self.hosts.finish(rank), usage: self.hosts.usage_of(rank) }
        };
        Programs {
            ranks: self.hosts.ranks().iter().map(rank).collect(),
            messages: self.rows.clone(),
            operations: self.hosts.spans().iter().map(|span| OperationRow(*span)).collect(),
            tracks: self.hosts.stretches().iter().map(|stretch| TrackRow(*stretch)).collect(),
            phases: self
                .hosts
                .ranks()
                .iter()
                .flat_map(|rank| PhaseRow::of(rank, self.hosts.plan().phases(rank)))
                .collect(),
            ..Programs::default()
        }
    }

    /// Bytes held, without the program's.
    pub(crate) fn bytes(&self) -> usize {
        let queues: usize = self.sending.iter().map(|queue| queue.capacity() * size_of::<Sending>()).sum();
        self.hosts.bytes()
            + self.events.bytes()
            + queues
            + self.sending.capacity() * size_of::<VecDeque<Sending>>()
            + self.next_cycle.capacity() * size_of::<u32>()
            + self.coming.len() * size_of::<(Known, Coming)>()
            + self.words.capacity() * size_of::<Word>()
            + self.rows.capacity() * size_of::<MessageRow>()
    }
}
