//! The executor of a program at endpoints: the hosts of some ranks, the messages that they have yet to send, and the
//! messages on their way to them.
//!
//! A message is sent as packets, of which only the next one is ever made. The executor of the destination learns size,
//! source and destination of a message separately, no later than its first packet arrives. An endpoint sends at most
//! one packet in a cycle. A rank may have several endpoints, its rails, and each has its own messages to send.
//!
//! Nothing here depends on the distribution of ranks among executors. Events of different ranks only interact through
//! messages and replies about them, which take at least a tick. Events of one rank in one tick are handled in a fixed
//! order: operations that became due before; then messages by source and order of sending; then replies that a receive
//! has matched a message.

use super::caller::Sent;
use super::incoming::{Announced, Come, Incoming, Times};
use super::reordering::{Came, Reordering};
use crate::engine::{Memory, Tick, fetch, poll};
use crate::measure::{MessageRow, OperationRow, PhaseRow, Programs, RankRow, Receivers, RequestRow, TrackRow};
use crate::packet::Packet;
use crate::traffic::Generated;
use crate::workload::Workload;
use phit_workload::host::{Arrived, Effects, Hosts, Left, Message, Ready, Taken};
use phit_workload::lists::{List, Lists};
use phit_workload::rails::Rails;
use phit_workload::run::Asked;
use phit_workload::{Operation, Queue, Ranks, Wait};
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

/// Number of events between two checks whether the run is to stop.
const POLLED: u32 = 1024;

/// The state of all hosts is prefetched if a turn handled at least one event per `BUSY` hosts. Reading it in order
/// takes a fraction of the time of reading it line by line.
const BUSY: usize = 4;

/// Something that happens to a rank.
#[derive(Debug, Clone, Copy)]
enum Event {
    /// Operation `number` of `rank` is due.
    Operation { rank: u32, number: u32, operation: Operation },
    /// A message has arrived.
    Message(Message),
    /// A receive has matched a message, and has said so at tick `told`.
    Taken { taken: Taken, told: u64 },
}

/// A message that is to be sent.
#[derive(Debug, Clone, Copy)]
struct Sending {
    message: Message,
    /// Cycle of its first packet.
    first: u32,
    /// Packets.
    packets: u32,
    /// Phits of the last one.
    last: u16,
}

/// A receive at another executor has matched a message, and its sender learns of it at tick `at`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Word {
    /// When.
    pub at: u64,
    /// The rank that has sent it.
    pub rank: u32,
    /// The number of the send.
    number: u32,
    /// The interface that it took.
    nic: u8,
    /// When the receive matched it.
    told: u64,
}

/// The position of a slot.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seat {
    /// Its endpoint.
    pub endpoint: u32,
    /// The partition of its endpoint.
    pub home: u32,
}

/// The messages that an endpoint has to send.
#[derive(Debug, Clone)]
struct Outgoing {
    /// Phits that have not been sent.
    phits: u64,
    /// The endpoint.
    from: u32,
    /// The first cycle in which no packet has been generated.
    next_cycle: u32,
    /// For the message that is being sent: its packets that have not been made,
    left: u32,
    /// the cycle of the next one,
    cycle: u32,
    /// the endpoint that it goes to,
    to: u32,
    /// and phits of its last packet.
    last: u16,
    /// Phits of the packet that is being sent.
    in_hand: u16,
    /// The messages after it, among [`Executor::sending`].
    messages: List,
}

impl Outgoing {
    /// Makes the packets of a message to endpoint `to` the next ones.
    #[inline]
    fn begin(&mut self, &Sending { packets, last, first, .. }: &Sending, to: u32) {
        (self.left, self.last, self.cycle, self.to) = (packets, last, first, to);
    }
}

/// The hosts of some of the ranks, and the messages that they send and receive.
pub(crate) struct Executor {
    workload: Arc<Workload>,
    /// By slot of the network.
    seats: Arc<[Seat]>,
    asked: Asked,
    ticks_per_cycle: u64,
    /// First cycle whose packets cannot be sent any more.
    cycles: Tick,
    hosts: Hosts,
    effects: Effects,
    events: Queue<Event>,
    /// Messages that have arrived at a rank in this tick.
    arrived: Vec<Message>,
    /// Events in this turn of the partition.
    handled: u32,
    begun: bool,
    /// Number of endpoints of a rank.
    each: u32,
    /// By place of the rank, and rail.
    outgoing: Vec<Outgoing>,
    /// Messages of all of these.
    sending: Lists<Sending>,
    /// By place of the rank: messages that it has sent, if it has several rails.
    sent: Vec<u32>,
    /// Messages to be sent.
    unsent: usize,
    /// Bytes of a message, its packets and the phits of the last one.
    cut: (u64, (u64, u16)),
    incoming: Incoming,
    /// Receivers that deliver packets in order, if they do.
    reordering: Option<Reordering>,
    /// Words on their way to ranks of this executor.
    words: BinaryHeap<Reverse<Word>>,
    /// Places of slots that have received something to send in this tick.
    pub(crate) senders: Vec<u32>,
    /// Messages sent in this tick that their destinations must learn of, each with the destination's partition. With
    /// several rails these are all messages; otherwise, only those whose first packet is made next.
    pub(crate) posted: Vec<(u32, Announced)>,
    /// Replies for ranks, of this executor or another: the message, its receive, and the time.
    pub(crate) told: Vec<(Message, Taken, u64)>,
    /// Rows of messages that have arrived, by [`Message::mark`].
    rows: Vec<MessageRow>,
    /// Messages that have arrived, with their ticks, if a caller sends them.
    pub(crate) arrived_for_caller: Option<Vec<(u64, Message)>>,
    /// True if a message has more packets than there are cycles left.
    pub(crate) beyond: bool,
}

impl Executor {
    /// The executor of `ranks`, before anything has happened.
    pub(crate) fn new(
        workload: Arc<Workload>,
        seats: Arc<[Seat]>,
        ranks: Ranks,
        asked: Asked,
        ticks_per_cycle: Tick,
        cycles: Tick,
    ) -> Self {
        let (count, each, rails) = (ranks.len(), workload.each(), workload.rails);
        let slots = ranks.iter().flat_map(|rank| (0..each).map(move |rail| rank * each + rail));
        let outgoing = |slot| Outgoing {
            phits: 0,
            from: workload.endpoints[slot as usize],
            next_cycle: 0,
            left: 0,
            cycle: 0,
            to: 0,
            last: 0,
            in_hand: 0,
            messages: List::default(),
        };
        let outgoing = slots.map(outgoing).collect();
        let incoming = Incoming::new(ranks.clone(), rails.is_some(), asked.messages);
        let hosts = Hosts::new(workload.program.clone().plan(ranks), workload.hosts);
        let hosts = hosts.with_unit(workload.unit).with_rails(rails);
        let cut = (0, workload.packets.cut(0));
        let reordering = workload.reorder.map(|memory| Reordering::new(memory, count * each as usize));
        Self {
            hosts: asked.of(hosts),
            workload,
            seats,
            asked,
            ticks_per_cycle: ticks_per_cycle.into(),
            cycles,
            effects: Effects::default(),
            events: Queue::default(),
            arrived: Vec::new(),
            handled: 0,
            begun: false,
            each,
            outgoing,
            sending: Lists::default(),
            sent: vec![0; if rails.is_some() { count } else { 0 }],
            unsent: 0,
            cut,
            incoming,
            reordering,
            words: BinaryHeap::new(),
            senders: Vec::new(),
            posted: Vec::new(),
            told: Vec::new(),
            rows: Vec::new(),
            arrived_for_caller: None,
            beyond: false,
        }
    }

    /// Handles everything that is due by tick `now`. Called once in a tick, when all packets of the tick have been
    /// delivered.
    pub(crate) fn execute(&mut self, now: Tick) {
        let now = u64::from(now);
        if !self.begun {
            self.begun = true;
            let ranks = self.hosts.ranks().clone();
            ranks.iter().for_each(|rank| self.hosts.begin(rank, &mut self.effects));
            self.settle(now, false);
        }
        self.events.reach(now);
        self.take_in(now);
        while let Some(Reverse(word)) = self.words.peek().copied().filter(|Reverse(word)| word.at <= now) {
            self.words.pop();
            let taken = Taken { source: word.rank, number: word.number, nic: word.nic };
            self.events.add(now, Event::Taken { taken, told: word.told });
        }
        self.handle(now);
    }

    /// The program has begun.
    pub(crate) fn has_begun(&self) -> bool {
        self.begun
    }

    /// The program, which has ended, begins again when tick `now` is executed.
    pub(crate) fn begin_again(&mut self, now: Tick) {
        let ranks = self.hosts.ranks().clone();
        self.hosts.begin_again(self.workload.program.clone().plan(ranks), now.into());
        self.begun = false;
    }

    /// Adds the state of hosts that have ended their program to `memory`, when nothing is on its way.
    pub(crate) fn remember(&self, memory: &mut Memory) {
        let now = memory.now();
        self.hosts.remember(now.into(), |word| memory.add(word));
        for outgoing in &self.outgoing {
            let cycle = u64::from(outgoing.next_cycle) * self.ticks_per_cycle;
            memory.add(cycle.saturating_sub(now.into()));
            memory.add_all([outgoing.phits, outgoing.in_hand.into()]);
        }
        if self.reordering.as_ref().is_some_and(|reordering| !reordering.is_empty()) {
            memory.cannot("receivers that deliver in order");
        }
    }

    /// A caller sends messages. Those that are due in the present tick go when the tick is executed, or executed again.
    pub(crate) fn call(&mut self, sent: &[Sent]) {
        for &Sent { rank, number, operation, at } in sent {
            self.events.add(at, Event::Operation { rank, number, operation });
        }
    }

    /// Handles all events that are due by `now`.
    fn handle(&mut self, now: u64) {
        while let Some((due, event)) = self.events.take(now) {
            match self.take_place(event, now) {
                Err(wait) => self.events.defer(due, event, wait),
                Ok(()) => {
                    self.events.end(due);
                    self.settle(now, false);
                }
            }
        }
    }

    /// Handles an event at `now`, or returns the time until which it must wait.
    fn take_place(&mut self, event: Event, now: u64) -> Result<(), Wait> {
        self.count(1);
        match event {
            Event::Operation { rank, number, operation } => {
                let (outgoing, each) = (&self.outgoing, self.each as usize);
                let place = self.hosts.ranks().place(rank);
                let queued = |rail| outgoing[place * each + usize::from(rail)].phits;
                self.hosts.perform((rank, number), operation, now, queued, &mut self.effects)
            }
            Event::Message(message) => self.hosts.arrive(message, now, &mut self.effects),
            Event::Taken { taken, told } => {
                self.hosts.taken(taken, told, now, &mut self.effects);
                Ok(())
            }
        }
    }

    /// Takes in the messages of one tick, by destination, source and order.
    ///
    /// If nothing else happens to the rank in this tick, its reaction to a message need not be queued.
    fn take_in(&mut self, now: u64) {
        if self.incoming.at_rest() {
            return;
        }
        let come = self.incoming.come();
        let is_due = self.is_due(now);
        let mut arrived = std::mem::take(&mut self.arrived);
        for of_rank in come.chunk_by(|one, other| one.place == other.place) {
            let Self { incoming, rows, asked, workload, arrived_for_caller, .. } = self;
            incoming.take_in(of_rank, |come| {
                let message = message_of(&come, asked.messages.then_some((&mut *rows, workload.rails)));
                arrived_for_caller.iter_mut().for_each(|list| list.push((now, message)));
                arrived.push(message);
            });
            let done = match &arrived[..] {
                [message] => !is_due && self.answer(message, of_rank[0].place as usize, now),
                _ => false,
            };
            if !done {
                self.hear(&arrived, is_due, now);
            }
            arrived.clear();
        }
        self.arrived = arrived;
        self.incoming.give_back(come);
    }

    /// True if something else than arrivals is due for a rank.
    #[inline]
    fn is_due(&self, now: u64) -> bool {
        self.events.is_due(now) || self.words.peek().is_some_and(|Reverse(word)| word.at <= now)
    }

    /// Messages have arrived at a rank.
    fn hear(&mut self, messages: &[Message], is_due: bool, now: u64) {
        match messages {
            &[message] if !is_due => match self.take_place(Event::Message(message), now) {
                Err(wait) => self.events.put_off(Event::Message(message), wait),
                Ok(()) => self.settle(now, true),
            },
            several => several.iter().for_each(|message| self.events.add(now, Event::Message(*message))),
        }
        if !is_due {
            self.handle(now);
        }
    }

    /// Takes in a message for the rank at `place`, and lets the rank go on with the next steps of a collective. If
    /// nothing else is due, this does the work of [`Self::take_place`] and [`Self::settle`] without a queue. False if
    /// the case is not that simple; then nothing has happened.
    #[inline]
    fn answer(&mut self, message: &Message, place: usize, now: u64) -> bool {
        if self.asked.messages {
            return false;
        }
        let Some(arrived) = self.hosts.take_at_once(message, place, now) else { return false };
        self.count(1);
        let Arrived::Awaited(mut number) = arrived else { return true };
        loop {
            let rank = message.destination;
            let Some((next, ended)) = self.hosts.exchange((rank, place), number, now, &mut self.effects) else {
                self.hosts.ended((rank, number), now, &mut self.effects);
                self.settle(now, true);
                self.handle(now);
                return true;
            };
            self.count(2);
            self.note(now);
            // Without rails a rank has one slot.
            self.send(next, place, now);
            match ended {
                Some(ended) => number = ended,
                None => return true,
            }
        }
    }

    /// Counts events; any number of messages may be posted in one tick.
    #[inline]
    fn count(&mut self, events: u32) {
        self.handled = self.handled.wrapping_add(events);
        if self.handled % POLLED < events {
            poll();
        }
    }

    /// Records the consequences of an event at `now` for other ranks.
    #[inline]
    fn note(&mut self, now: u64) {
        // In most runs nothing asks for them.
        if self.asked.messages || self.effects.taken.is_some() {
            self.note_matched(now);
        }
    }

    /// Records that a receive has matched a message.
    fn note_matched(&mut self, now: u64) {
        let Some((message, at)) = self.effects.matched.take() else { return };
        if self.asked.messages {
            self.rows[message.mark as usize].matched = Some(at);
        }
        match self.effects.taken.take() {
            Some(taken) if message.source == message.destination => {
                self.file_ready();
                self.events.add(now, Event::Taken { taken, told: now });
            }
            Some(taken) => self.told.push((message, taken, now)),
            None => {}
        }
    }

    /// Handles the consequences of an event at `now`: queues them, or, if nothing else is due for its rank, does
    /// `at_once` whatever is due.
    fn settle(&mut self, now: u64, at_once: bool) {
        loop {
            self.note(now);
            if let Some((message, left)) = self.effects.sent.take() {
                match message.source == message.destination {
                    true => self.send_to_itself(message, left),
                    false => {
                        let place = self.place(self.workload.slot(message.source, message.nic));
                        self.send(message, place as usize, left);
                    }
                }
            }
            self.hosts.order(&mut self.effects);
            if !at_once {
                return self.file_ready();
            }
            loop {
                let Some(Ready { rank, number, operation, at }) = Hosts::next_ready(&mut self.effects) else { return };
                let event = Event::Operation { rank, number, operation };
                // Queued events come before events that are released after them.
                if at != now || self.events.is_due(now) {
                    self.events.add(at, event);
                    continue;
                }
                match self.take_place(event, now) {
                    Err(wait) => self.events.put_off(event, wait),
                    Ok(()) => break,
                }
            }
        }
    }

    /// Queues the operations that have been released, and put in order.
    fn file_ready(&mut self) {
        while let Some(Ready { rank, number, operation, at }) = Hosts::next_ready(&mut self.effects) {
            self.events.add(at, Event::Operation { rank, number, operation });
        }
    }

    /// A message from a rank to itself never enters the network.
    fn send_to_itself(&mut self, mut message: Message, left: u64) {
        if self.asked.messages {
            message.mark = self.rows.len() as u32;
            self.rows.push(MessageRow { last: Some(left), ..MessageRow::new(&message, self.workload.rails) });
        }
        self.arrived_for_caller.iter_mut().for_each(|list| list.push((left, message)));
        self.file_ready();
        self.events.add(left, Event::Message(message));
    }

    /// Cuts a message of the slot at `place` into packets. The first may be generated in the cycle in which the first
    /// byte leaves the host.
    fn send(&mut self, mut message: Message, place: usize, left: u64) {
        // Most messages are as long as the message before.
        if self.cut.0 != message.bytes {
            self.cut = (message.bytes, self.workload.packets.cut(message.bytes));
        }
        let (packets, last) = self.cut.1;
        let outgoing = &mut self.outgoing[place];
        let left = match self.ticks_per_cycle {
            1 => left,
            ticks => left.div_ceil(ticks),
        };
        let first = left.max(outgoing.next_cycle.into());
        let end = first.saturating_add(packets);
        if end >= u64::from(self.cycles) {
            self.beyond = true;
            return;
        }
        outgoing.next_cycle = end as u32;
        outgoing.phits += (packets - 1) * u64::from(self.workload.packets.full()) + u64::from(last);
        let (first, packets) = (first as u32, packets as u32);
        let is_next = outgoing.left == 0 && outgoing.messages.is_empty();
        if !self.sent.is_empty() {
            let sent = &mut self.sent[self.hosts.ranks().place(message.source)];
            message.mark = *sent;
            *sent += 1;
        }
        let Seat { endpoint, home } = self.seats[self.workload.slot(message.destination, message.nic) as usize];
        if is_next || !self.sent.is_empty() {
            self.posted.push((home, Announced { message, from: outgoing.from, first, packets }));
        }
        self.unsent += 1;
        let sending = Sending { message, first, packets, last };
        match is_next {
            true => outgoing.begin(&sending, endpoint),
            false => drop(self.sending.push(&mut outgoing.messages, sending)),
        }
        self.senders.push(place as u32);
    }

    /// The place of a slot among those of this executor's ranks.
    fn place(&self, slot: u32) -> u32 {
        let (rank, rail) = rail_of(slot, self.each);
        self.hosts.ranks().place(rank) as u32 * self.each + rail as u32
    }

    /// The next packet from the slot at `place`, after its last one has been sent. If it is the first of a message that
    /// the destination does not know of, the message is [`Self::posted`].
    #[inline]
    pub(crate) fn next_packet(&mut self, place: u32) -> Option<Generated> {
        let outgoing = &mut self.outgoing[place as usize];
        outgoing.phits -= u64::from(std::mem::take(&mut outgoing.in_hand));
        if outgoing.left == 0 {
            let sending = self.sending.pop(&mut outgoing.messages)?;
            let Sending { message, first, packets, .. } = sending;
            let Seat { endpoint, home } = self.seats[self.workload.slot(message.destination, message.nic) as usize];
            outgoing.begin(&sending, endpoint);
            if self.sent.is_empty() {
                self.posted.push((home, Announced { message, from: outgoing.from, first, packets }));
            }
        }
        outgoing.left -= 1;
        let is_last = outgoing.left == 0;
        self.unsent -= usize::from(is_last);
        let size = if is_last { outgoing.last } else { self.workload.packets.full() };
        let packet = Generated { cycle: outgoing.cycle, destination: outgoing.to, size };
        outgoing.cycle += 1;
        outgoing.in_hand = size;
        Some(packet)
    }

    /// Learns of a message before its first packet arrives.
    pub(crate) fn expect(&mut self, announced: Announced) {
        if self.reordering.is_some() {
            let Announced { message, from, first, packets } = announced;
            let slot = self.place(self.workload.slot(message.destination, message.nic));
            self.reordering.iter_mut().for_each(|reordering| reordering.expect(slot, from, first, packets));
        }
        self.incoming.expect(announced);
    }

    /// Learns that a receive elsewhere has matched a message. The reply is due later than now.
    pub(crate) fn hear_word(&mut self, word: Word) {
        self.words.push(Reverse(word));
    }

    /// A reply to the sender of `taken`, which takes `ticks`.
    pub(crate) fn word(taken: Taken, told: u64, ticks: Tick) -> Word {
        Word { at: told + u64::from(ticks).max(1), rank: taken.source, number: taken.number, nic: taken.nic, told }
    }

    /// The cycle in which `packet` was generated.
    #[inline]
    fn cycle_of(&self, packet: &Packet) -> u32 {
        match self.ticks_per_cycle {
            1 => packet.birth,
            ticks => packet.birth / ticks as Tick,
        }
    }

    /// True if the receiver of the slot at `place` delivers in order and has no room for `packet`.
    pub(crate) fn refuses(&self, packet: &Packet, place: u32) -> bool {
        let refuses = |reordering: &Reordering| reordering.refuses(place, self.cycle_of(packet), packet);
        self.reordering.as_ref().is_some_and(refuses)
    }

    /// True if receivers deliver packets in order.
    #[inline]
    pub(crate) fn delivers_in_order(&self) -> bool {
        self.reordering.is_some()
    }

    /// The tail of `packet` reaches the endpoint of the slot at `place`, at tick `now`, where packets are delivered in
    /// order; its head arrived `before` ticks earlier. Calls `took` for each message that arrives, with the ticks since
    /// its first byte left its host.
    pub(crate) fn delivered_in_order(
        &mut self,
        packet: &Packet,
        place: u32,
        (now, before): (Tick, Tick),
        tally: &mut Receivers,
        mut took: impl FnMut(u64),
    ) {
        let ((destination, _), cycle) = (rail_of(place, self.each), self.cycle_of(packet));
        let Self { reordering: Some(reordering), incoming, .. } = self else { return };
        let came = Came { packet: *packet, times: (now.saturating_sub(before), now) };
        reordering.came(place, cycle, came, tally, |cycle, came| {
            let Some(arrival) = incoming.packet(destination, cycle, &came.packet, came.times) else { return };
            took(u64::from(now).saturating_sub(arrival.posted));
            incoming.note(arrival);
        });
    }

    /// The tail of `packet` reaches the endpoint of the slot at `place`, at tick `now`; its head arrived `before` ticks
    /// earlier. For the last packet of a message, returns the ticks since the message's first byte left its host.
    pub(crate) fn delivered(&mut self, packet: &Packet, place: u32, (now, before): (Tick, Tick)) -> Option<u64> {
        let (destination, _) = rail_of(place, self.each);
        let cycle = self.cycle_of(packet);
        let times = (now.saturating_sub(before), now);
        let arrival = self.incoming.packet(destination, cycle, packet, times)?;
        // An endpoint receives packets one after another, so no other message arrives at the rank in this tick.
        let now = u64::from(now);
        let took = Some(now.saturating_sub(arrival.posted));
        if !self.is_due(now)
            && let Some(message) = self.incoming.alone(&arrival)
        {
            self.events.reach(now);
            if self.answer(&message, destination as usize, now) {
                self.incoming.taken(&arrival);
                return took;
            }
        }
        self.incoming.note(arrival);
        took
    }

    /// True if nothing is due by tick `now`, and nothing has happened that others must learn of.
    pub(crate) fn is_idle(&self, now: Tick) -> bool {
        let Self { begun, incoming, senders, posted, told, .. } = self;
        *begun
            && incoming.at_rest()
            && (senders.is_empty() && posted.is_empty() && told.is_empty())
            && self.next().is_none_or(|next| next > u64::from(now))
    }

    /// True if the run asks for the arrival of messages' first phits.
    pub(crate) fn notes_messages(&self) -> bool {
        self.asked.messages
    }

    /// The tick in which something is due next.
    pub(crate) fn next(&self) -> Option<u64> {
        let word = self.words.peek().map(|Reverse(word)| word.at);
        self.events.next().into_iter().chain(word).min()
    }

    /// True if nothing will ever be due, and there is nothing to send.
    pub(crate) fn at_rest(&self) -> bool {
        self.begun && self.unsent == 0 && self.incoming.at_rest() && self.next().is_none()
    }

    /// True if every announced message has arrived.
    pub(crate) fn expects_nothing(&self) -> bool {
        self.incoming.left().next().is_none()
    }

    /// When the last of the operations performed so far ends.
    pub(crate) fn finish(&self) -> u64 {
        self.hosts.ranks().iter().map(|rank| self.hosts.finish(rank)).max().unwrap_or(0)
    }

    /// Operations that have been performed.
    pub(crate) fn performed(&self) -> u64 {
        self.hosts.performed()
    }

    /// The unfinished part of the program, with the messages that have not arrived completely.
    pub(crate) fn left(&self) -> (Left, Vec<Message>) {
        (self.hosts.left(), self.incoming.left().collect())
    }

    /// The records of the ranks, and other rows that were asked for.
    pub(crate) fn rows(&self) -> Programs {
        let rank = |rank: u32| {
            let endpoint = self.workload.endpoint(rank, 0);
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
            requests: self.hosts.plan().served().into_iter().map(|one| RequestRow::new(one, &self.workload)).collect(),
            ..Programs::default()
        }
    }

    /// A turn of the partition begins.
    pub(crate) fn begin_turn(&mut self) {
        self.handled = 0;
    }

    /// Brings the hosts' state into the cache, if they had much to do in the last turn.
    pub(crate) fn fetch(&self) {
        if self.handled as usize * BUSY < self.outgoing.len() {
            return;
        }
        self.hosts.fetch();
        fetch(&self.outgoing);
        self.incoming.fetch();
    }

    /// Bytes of memory, without the program.
    pub(crate) fn bytes(&self) -> usize {
        self.hosts.bytes()
            + self.events.bytes()
            + self.sending.bytes()
            + self.outgoing.capacity() * size_of::<Outgoing>()
            + self.sent.capacity() * size_of::<u32>()
            + self.incoming.bytes()
            + self.reordering.as_ref().map_or(0, Reordering::bytes)
            + self.words.capacity() * size_of::<Word>()
            + self.rows.capacity() * size_of::<MessageRow>()
    }
}

/// The rank and the rail of a slot. A rank has `each` rails.
fn rail_of(slot: u32, each: u32) -> (u32, usize) {
    match each {
        1 => (slot, 0),
        each => (slot / each, (slot % each) as usize),
    }
}

/// A message that has arrived. Its row is kept if rows are asked for.
fn message_of(come: &Come, rows: Option<(&mut Vec<MessageRow>, Option<Rails>)>) -> Message {
    let &Come { mut message, times: Times { injected, first, last, overtaken, .. }, .. } = come;
    if let Some((rows, rails)) = rows {
        message.mark = rows.len() as u32;
        let at = |tick: Tick| Some(u64::from(tick));
        let row = MessageRow::new(&message, rails);
        rows.push(MessageRow { injected: at(injected), first: at(first), last: at(last), overtaken, ..row });
    }
    message
}
