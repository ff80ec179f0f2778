//! Endpoints whose packets are requests, which are answered: what each has under way, and what it has to send.
//!
//! An endpoint has two queues of packets, one of requests and one of replies, and sends from both over the one link to
//! its router: a packet of which flits are missing first, then replies, then requests. With virtual networks neither
//! waits for the other's virtual channels. Nothing here crosses from one endpoint to another but packets.

use super::endpoint::Endpoint;
use super::repeats::{Again, Ending};
use crate::engine::Tick;
use crate::fabric::input_queued::options::kernel::{General, Kernel};
use crate::fabric::input_queued::partition::Partition;
use crate::fabric::input_queued::state::kind::{self, pack_credit};
use crate::packet::{Packet, REPLY};
use crate::traffic::{Generated, Requests};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::ops::Range;

/// The two kinds of packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Request,
    Reply,
}

impl Kind {
    /// That of `packet`.
    #[inline]
    pub(crate) fn of(packet: &Packet) -> Self {
        if packet.misrouted & REPLY == 0 { Self::Request } else { Self::Reply }
    }

    /// What is noted in its packets.
    fn mark(self) -> u8 {
        match self {
            Self::Request => 0,
            Self::Reply => REPLY,
        }
    }
}

/// How far the packet is that an endpoint is sending from one of its two queues.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Sending {
    /// Flits that have been sent.
    pub(crate) sent: u16,
    /// Injection queue of the packet being sent, and the one after the last used.
    pub(crate) lane: u16,
}

/// A reply to be sent.
#[derive(Debug, Clone, Copy)]
struct Reply {
    packet: Generated,
    /// Phits of the request, and the virtual channel in which it came: room that is free again when the reply has left.
    held: (u16, u16),
}

/// A request that has been generated and of which there is no reply.
#[derive(Debug, Clone, Copy)]
struct Waiting {
    destination: u32,
    /// Cycle of generation.
    cycle: u32,
}

/// What an endpoint has under way.
#[derive(Debug, Clone, Default)]
pub(crate) struct Loop {
    /// By [`Kind`].
    sending: [Sending; 2],
    /// In the order of their generation, the first of which may be being sent.
    replies: VecDeque<Reply>,
    /// In the order of their generation.
    waiting: Vec<Waiting>,
    /// Cycles from which on each of the requests that there may be still can be generated, in order.
    free: VecDeque<u32>,
    /// The first cycle in which the next request can be generated.
    next: u32,
    /// Requests that have been generated.
    requests: u32,
    /// No request will be generated any more.
    ended: bool,
    /// Requests of which it will hear that there is no reply, in the order of their times.
    given_up: BinaryHeap<Reverse<Ending>>,
    /// What is sent next, where requests and replies wait in one queue.
    next_kind: Option<Kind>,
}

impl Loop {
    /// Ends the request in this place, in cycle `now`.
    fn end(&mut self, place: usize, now: u32, rule: &Requests) -> Waiting {
        if rule.outstanding.is_some() {
            self.free.push_back(now + rule.think);
        }
        self.waiting.remove(place)
    }
}

/// What the endpoints of a partition have under way.
pub(crate) struct Exchange {
    rule: Requests,
    pub(crate) loops: Vec<Loop>,
}

impl Exchange {
    /// Of so many endpoints, before anything has happened.
    pub(crate) fn new(rule: &Requests, endpoints: usize) -> Self {
        let free = (0..rule.outstanding.unwrap_or(0)).map(|_| 0).collect();
        Self { rule: rule.clone(), loops: vec![Loop { free, ..Loop::default() }; endpoints] }
    }

    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        let of = |it: &Loop| {
            size_of::<Loop>()
                + it.replies.capacity() * size_of::<Reply>()
                + it.waiting.capacity() * size_of::<Waiting>()
                + it.free.capacity() * 4
                + it.given_up.capacity() * size_of::<Ending>()
        };
        self.loops.iter().map(of).sum()
    }

    /// Requests of which endpoints will hear that there is no reply.
    pub(crate) fn given_up(&self) -> u64 {
        self.loops.iter().map(|it| it.given_up.len() as u64).sum()
    }

    /// Flits that endpoint `e` has sent into injection queue `lane` of a packet of which some are missing.
    pub(crate) fn sent(&self, e: u32, lane: u32) -> Option<u16> {
        let sending = self.loops[e as usize].sending.iter();
        sending.filter(|it| it.sent > 0 && u32::from(it.lane) == lane).map(|it| it.sent).next()
    }

    /// Requests and replies that have been generated and of which nothing has been sent, where `drawn` are the requests
    /// that endpoints have drawn; `again`: what an endpoint is sending of a kind it sends again.
    pub(crate) fn unsent(&self, drawn: impl Iterator<Item = bool>, again: impl Fn(u32, Kind) -> bool) -> u64 {
        let of = |(e, (it, drawn)): (u32, (&Loop, bool))| {
            let begun = |kind: Kind| it.sending[kind as usize].sent > 0 && !again(e, kind);
            u64::from(drawn && !begun(Kind::Request)) + it.replies.len() as u64 - u64::from(begun(Kind::Reply))
        };
        (0..).zip(self.loops.iter().zip(drawn)).map(of).sum()
    }

    /// Requests that have been generated and of which there is no reply; or an endpoint that has more of them than it
    /// may have.
    pub(crate) fn waiting(&self) -> Result<u64, String> {
        for (e, Loop { waiting, free, .. }) in self.loops.iter().enumerate() {
            let (under_way, more) = (waiting.len(), free.len());
            if let Some(limit) = self.rule.outstanding.filter(|limit| under_way + more != *limit as usize) {
                return Err(format!(
                    "endpoint {e} of a partition has {under_way} requests and may have {more}: not {limit}"
                ));
            }
        }
        Ok(self.loops.iter().map(|it| it.waiting.len() as u64).sum())
    }

    /// Phits of requests at endpoint `e` whose room is not free, by virtual channel.
    pub(crate) fn kept(&self, e: u32) -> impl Iterator<Item = (u16, u16)> + '_ {
        let it = self.rule.room.map(|_| &self.loops[e as usize].replies);
        it.into_iter().flatten().map(|reply| (reply.held.1, reply.held.0))
    }
}

impl Partition {
    /// Draws the next request of endpoint `e`, if it may have one.
    pub(crate) fn draw_request(&mut self, e: u32) {
        let Some(exchange) = &mut self.exchange else { return };
        let (Exchange { rule, loops }, endpoint) = (&mut **exchange, &mut self.endpoints[e]);
        let it = &mut loops[e as usize];
        endpoint.next = None;
        if it.ended || rule.count.is_some_and(|count| it.requests >= count) {
            return;
        }
        let free = match rule.outstanding {
            None => Some(0),
            Some(_) => it.free.front().copied(),
        };
        let Some(free) = free else { return };
        let drawn = self.traffic.request(rule, endpoint.number, &mut endpoint.source, free.max(it.next));
        let Some(packet) = drawn.filter(|packet| packet.cycle < self.settings.cycles) else {
            it.ended = true;
            return;
        };
        it.free.pop_front();
        it.next = packet.cycle + 1;
        it.requests += 1;
        it.waiting.push(Waiting { destination: packet.destination, cycle: packet.cycle });
        endpoint.next = Some(packet);
        let under_way = it.waiting.len() as u64;
        self.collector.generated(packet.cycle * self.settings.ticks_per_cycle, packet.size);
        self.collector.counters.transactions.requested(under_way);
    }

    /// Packets that have been generated and not been sent.
    pub(crate) fn generated(&self) -> impl Iterator<Item = Generated> + '_ {
        let replies = self.exchange.iter().flat_map(|exchange| exchange.loops.iter().flat_map(|it| &it.replies));
        let drawn = self.endpoints.iter().filter_map(|endpoint| endpoint.next);
        drawn.chain(replies.map(|reply| reply.packet))
    }

    /// Packets and phits generated in the measured time, those requests included that have not been drawn.
    pub(crate) fn requested(&self) -> (u64, u64) {
        let flow = &self.collector.counters.flow;
        let mut all = (flow.generated_packets, flow.generated_phits);
        let (Some(exchange), span) = (&self.exchange, self.collector.span()) else { return all };
        let Exchange { rule, loops } = &**exchange;
        let tick = |packet: &Generated| packet.cycle * self.settings.ticks_per_cycle;
        for (endpoint, it) in self.endpoints.iter().zip(loops) {
            let (mut source, mut from, mut requests) = (endpoint.source.clone(), it.next, it.requests);
            let mut free = it.free.iter();
            while !it.ended && rule.count.is_none_or(|count| requests < count) {
                let Some(free) = rule.outstanding.map_or(Some(0), |_| free.next().copied()) else { break };
                let drawn = self.traffic.request(rule, endpoint.number, &mut source, free.max(from));
                let cycles = self.settings.cycles;
                let Some(packet) = drawn.filter(|packet| packet.cycle < cycles && tick(packet) < span.end) else {
                    break;
                };
                (from, requests) = (packet.cycle + 1, requests + 1);
                if span.contains(&tick(&packet)) {
                    (all.0, all.1) = (all.0 + 1, all.1 + u64::from(packet.size));
                }
            }
        }
        all
    }

    /// The tail of `packet`, which came in virtual channel `vc`, has reached its endpoint.
    #[cold]
    #[inline(never)]
    pub(crate) fn exchanged(&mut self, packet: u32, vc: u32) {
        let packet = &self.packets[packet];
        let Some(exchange) = &mut self.exchange else { return };
        let Exchange { rule, loops } = &mut **exchange;
        let Ok(e) = self.endpoints.binary_search_by_key(&packet.destination, |endpoint| endpoint.number) else {
            return;
        };
        let (it, tick) = (&mut loops[e], self.settings.ticks_per_cycle);
        let now = self.now.div_ceil(tick);
        match Kind::of(packet) {
            Kind::Request => {
                let cycle = now + rule.service;
                let size = rule.sizes_of(packet.source, packet.birth / tick)[1];
                let reply = Generated { cycle, destination: packet.source, size };
                it.replies.push_back(Reply { packet: reply, held: (packet.size, vc as u16) });
                self.collector.generated(cycle * tick, size);
            }
            Kind::Reply => {
                // Of several requests to one endpoint the reply is taken for that of the first.
                let asked = it.waiting.iter().position(|waiting| waiting.destination == packet.source);
                let Some(Waiting { cycle, .. }) = asked.map(|asked| it.end(asked, now, rule)) else { return };
                let done = it.waiting.is_empty() && rule.count == Some(it.requests);
                let recorded = self.collector.span().contains(&self.now);
                self.collector.counters.transactions.answered(self.now - cycle * tick, recorded, done.then_some(now));
                if self.endpoints[e as u32].next.is_none() {
                    self.draw_request(e as u32);
                }
            }
        }
        self.senders.push(e as u32);
    }

    /// An endpoint of this partition will hear that there is no reply; everything before tick `now` has been handled.
    pub(crate) fn expect_ending(&mut self, ending: Ending, now: Tick) {
        let Ok(e) = self.endpoints.binary_search_by_key(&ending.source, |endpoint| endpoint.number) else { return };
        let Some(exchange) = &mut self.exchange else { return };
        exchange.loops[e].given_up.push(Reverse(ending));
        self.file_after(now, ending.at, kind::SEND, e as u32, 0);
    }

    /// Endpoint `e` hears of requests to which there is no reply. It may have others in their places, as if they had
    /// been answered.
    fn hear_endings(&mut self, e: u32) {
        loop {
            let Some(exchange) = &mut self.exchange else { return };
            let Exchange { rule, loops } = &mut **exchange;
            let it = &mut loops[e as usize];
            let Some(&Reverse(ending)) = it.given_up.peek().filter(|Reverse(ending)| ending.at <= self.now) else {
                return;
            };
            it.given_up.pop();
            let now = self.now.div_ceil(self.settings.ticks_per_cycle);
            let asked = |waiting: &Waiting| waiting.destination == ending.asked;
            // A reply to a later request to the same endpoint may have been taken for that of this one.
            let exact = it.waiting.iter().position(|waiting| asked(waiting) && waiting.cycle == ending.cycle);
            let Some(place) = exact.or_else(|| it.waiting.iter().position(asked)) else { continue };
            it.end(place, now, rule);
            let done = it.waiting.is_empty() && rule.count == Some(it.requests);
            self.collector.counters.transactions.given_up(done.then_some(now));
            if self.endpoints[e].next.is_none() {
                self.draw_request(e);
            }
        }
    }

    /// What endpoint `e` may send next of a kind: again, and for the first time, each with the tick from which on it
    /// can. Of a packet of which flits are missing that one alone.
    fn next_of(&self, exchange: &Exchange, e: u32, kind: Kind) -> [Option<(Generated, Tick, u8)>; 2] {
        let (it, cycle) = (&exchange.loops[e as usize], self.settings.ticks_per_cycle);
        let drawn = match kind {
            Kind::Request => self.endpoints[e].next,
            Kind::Reply => it.replies.front().map(|reply| reply.packet),
        };
        // A packet generated in one cycle can be sent in the next.
        let own = drawn.map(|packet| (packet, (packet.cycle + 1) * cycle, kind.mark()));
        let Some(repeats) = &self.repeats else { return [None, own] };
        let mark = |again: &Again| again.mark() | kind.mark();
        let again = repeats.next(e, kind).map(|again| (again.generated(), again.at, mark(&again)));
        match (it.sending[kind as usize].sent > 0, repeats.has_begun(e, kind)) {
            (false, _) => [again, own],
            (true, true) => [again, None],
            (true, false) => [None, own],
        }
    }

    /// Sends what endpoint `e` can send now, and files its next attempt if only time is missing.
    #[inline(never)]
    pub(crate) fn send_exchanged<K: Kernel>(&mut self, e: u32) {
        if self.settings.repeats {
            self.hear_endings(e);
        }
        loop {
            let Some(exchange) = &self.exchange else { return };
            let (it, endpoint) = (&exchange.loops[e as usize], &self.endpoints[e]);
            let free = endpoint.free;
            let first = match it.sending[Kind::Request as usize].sent {
                0 => [Kind::Reply, Kind::Request],
                _ => [Kind::Request, Kind::Reply],
            };
            let (mut next, mut blocked, mut chosen, mut committed) = (None::<Tick>, false, None, None);
            for kind in first {
                if it.next_kind.is_some_and(|next| next != kind) {
                    continue;
                }
                let sending = it.sending[kind as usize];
                let ways = self
                    .next_of(exchange, e, kind)
                    .map(|way| way.map(|(packet, at, mark)| (packet, at.max(free), mark)));
                let Some((packet, _, mark)) = ways.into_iter().flatten().find(|(_, at, _)| *at <= self.now) else {
                    next = ways.into_iter().flatten().map(|(_, at, _)| at).chain(next).min();
                    continue;
                };
                let size = self.config.flit_phits(packet.size, sending.sent);
                if exchange.rule.in_order {
                    committed = Some(kind);
                }
                match self.lane_of(endpoint, sending, kind, packet, size) {
                    Some(lane) => {
                        chosen = Some((kind, packet, mark, lane, size));
                        break;
                    }
                    None => blocked = true,
                }
                // Flits of two packets would mix in one queue.
                if exchange.rule.in_order || sending.sent > 0 && !exchange.rule.virtual_networks {
                    break;
                }
            }
            if let (Some(exchange), Some(_)) = (&mut self.exchange, committed) {
                exchange.loops[e as usize].next_kind = committed;
            }
            let Some((kind, packet, mark, lane, size)) = chosen else {
                self.endpoints[e].blocked = blocked;
                return self.attempt_at(e, next);
            };
            self.send_of::<K>(e, (kind, mark), packet, lane, size);
        }
    }

    /// Sends a flit of a request or reply, in whose packet `mark` is noted.
    fn send_of<K: Kernel>(&mut self, e: u32, (kind, mark): (Kind, u8), packet: Generated, lane: u16, size: u32) {
        let Some(exchange) = &mut self.exchange else { return };
        let sending = exchange.loops[e as usize].sending[kind as usize];
        self.endpoints[e].sent = sending.sent;
        self.send_flit::<K>(e, packet, lane, size, mark);
        let sent = std::mem::take(&mut self.endpoints[e].sent);
        let Some(exchange) = &mut self.exchange else { return };
        let Exchange { rule, loops } = &mut **exchange;
        let it = &mut loops[e as usize];
        it.sending[kind as usize] = Sending { sent, lane };
        if sent == 0 {
            it.next_kind = None;
        }
        match kind {
            _ if mark != kind.mark() => self.sent_again(e, kind, sent > 0),
            _ if sent > 0 => {}
            Kind::Request => self.draw_request(e),
            Kind::Reply => {
                let reply = it.replies.pop_front();
                if let (Some(Reply { held: (phits, vc), .. }), Some(_)) = (reply, rule.room) {
                    // Its own port leads back to an endpoint.
                    let output = self.queues[self.endpoints[e].queues].port;
                    let at = self.now + self.settings.ejection_credit_latency.max(1);
                    self.file(at, kind::CREDIT, output, pack_credit(vc.into(), phits.into()));
                }
            }
        }
    }

    /// The injection queue for the next flit of a request or reply, if it has room.
    fn lane_of(&self, endpoint: &Endpoint, sending: Sending, kind: Kind, packet: Generated, size: u32) -> Option<u16> {
        if sending.sent > 0 {
            let credits = self.tables.channels[endpoint.channel + u32::from(sending.lane)].credits;
            return Some(sending.lane).filter(|_| credits >= size as i32);
        }
        self.choose_lane::<General>(
            endpoint.channel,
            sending.lane,
            self.injection_lanes(kind),
            packet.destination,
            size,
            |_| true,
        )
    }

    /// The injection queues for requests, or for replies.
    fn injection_lanes(&self, kind: Kind) -> Range<u16> {
        let count = self.config.links[0].queues;
        match (self.settings.networks, kind) {
            (1, _) => 0..count,
            (_, Kind::Request) => 0..count / 2,
            (_, Kind::Reply) => count / 2..count,
        }
    }

    /// The first virtual channel over links of `class` for `packet`, which the routing mechanism counts as 0. Endpoints
    /// take replies in other ones than requests in any case.
    #[inline]
    pub(crate) fn first_channel(&self, packet: u32, class: u8) -> u16 {
        match (Kind::of(&self.packets[packet]), class, self.settings.networks) {
            (Kind::Request, ..) => 0,
            (Kind::Reply, 0, _) => self.config.links[0].queues / 2,
            (Kind::Reply, _, 1) => 0,
            (Kind::Reply, class, _) => self.config.buffers.vcs[usize::from(class)].into(),
        }
    }

    /// Virtual channel `vc` of a link of `class` as the routing mechanism of `packet` counts it.
    #[inline]
    pub(crate) fn within(&self, packet: u32, class: u8, vc: u16) -> u16 {
        vc - self.first_channel(packet, class)
    }
}
