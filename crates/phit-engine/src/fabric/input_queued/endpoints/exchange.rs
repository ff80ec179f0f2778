//! Endpoints whose packets are requests, which are answered: what each has under way, and what it has to send.
//!
//! An endpoint has two queues of packets, one of requests and one of replies, and sends from both over the one link to
//! its router: a packet of which flits are missing first, then replies, then requests. With virtual networks neither
//! waits for the other's virtual channels. Nothing here crosses from one endpoint to another but packets.

use super::endpoint::Endpoint;
use super::room::Entering;
use super::seam::{Flit, Next, Sender, SenderContext, Site};
use crate::engine::{Table, Tick};
use crate::fabric::input_queued::options::config::Config;
use crate::fabric::input_queued::options::kernel::{General, Kernel};
use crate::fabric::input_queued::options::settings::Settings;
use crate::fabric::input_queued::state::kind::{self, pack_credit};
use crate::fabric::input_queued::state::lost::{Again, Ending, Kind};
use crate::fabric::seams::reservation::Role;
use crate::fabric::sources::Sources;
use crate::measure::Collector;
use crate::packet::Packet;
use crate::traffic::{Generated, Requests};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::ops::Range;

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
    loops: Vec<Loop>,
}

impl Exchange {
    /// Requests of which endpoints will hear that there is no reply.
    pub(crate) fn given_up(&self) -> u64 {
        self.loops.iter().map(|it| it.given_up.len() as u64).sum()
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

/// A packet that an endpoint may send, the tick from which on it can, and what is noted in it.
type Candidate = (Generated, Tick, u8);

impl Sender for Exchange {
    fn new(context: &SenderContext<'_>) -> Option<Self> {
        let rule = context.traffic.requests()?;
        let free = (0..rule.outstanding.unwrap_or(0)).map(|_| 0).collect();
        Some(Self { rule: rule.clone(), loops: vec![Loop { free, ..Loop::default() }; context.endpoints.len()] })
    }

    fn next<K: Kernel>(&mut self, e: u32, at: &mut Site<'_>) -> Next {
        if at.setup.settings.repeats {
            self.hear_endings(e, at);
        }
        let (it, rule) = (&self.loops[e as usize], &self.rule);
        let first = match it.sending[Kind::Request as usize].sent {
            0 => [Kind::Reply, Kind::Request],
            _ => [Kind::Request, Kind::Reply],
        };
        let (mut next, mut blocked, mut chosen, mut committed) = (None::<Tick>, false, None, it.next_kind);
        for kind in first {
            if it.next_kind.is_some_and(|next| next != kind) {
                continue;
            }
            let sending = it.sending[kind as usize];
            let ways = it.next_of(e, kind, at);
            let Some((packet, _, mark)) = ways.into_iter().flatten().find(|(_, tick, _)| *tick <= at.now) else {
                next = ways.into_iter().flatten().map(|(_, tick, _)| tick).chain(next).min();
                continue;
            };
            let size = at.setup.config.flit_phits(packet.size, sending.sent);
            if rule.in_order {
                committed = Some(kind);
            }
            match lane_of(sending, kind, packet, size, at) {
                Some(lane) => {
                    let stream = kind as u8;
                    chosen = Some(Flit { packet, size, lane, before: sending.sent, mark, stream });
                    break;
                }
                None => blocked = true,
            }
            // Flits of two packets would mix in one queue.
            if rule.in_order || sending.sent > 0 && !rule.virtual_networks {
                break;
            }
        }
        self.loops[e as usize].next_kind = committed;
        chosen.map_or(Next::Wait { at: next, blocked }, Next::Send)
    }

    fn sent(&mut self, e: u32, flit: &Flit, at: &mut Site<'_>) {
        let sent = std::mem::take(&mut at.endpoint.sent);
        let kind = if flit.stream == Kind::Request as u8 { Kind::Request } else { Kind::Reply };
        let it = &mut self.loops[e as usize];
        it.sending[kind as usize] = Sending { sent, lane: flit.lane };
        if sent == 0 {
            it.next_kind = None;
        }
        match kind {
            _ if flit.mark != kind.mark() => at.sent_again(e, kind, sent > 0),
            _ if sent > 0 => {}
            Kind::Request => self.draw(e, at),
            Kind::Reply => {
                let reply = it.replies.pop_front();
                if let (Some(Reply { held: (phits, vc), .. }), Some(_)) = (reply, self.rule.room) {
                    // Its own port leads back to an endpoint.
                    let output = at.queues[at.endpoint.queues].port;
                    let back = at.now + at.setup.settings.ejection_credit_latency.max(1);
                    at.post.file((at.now, back), kind::CREDIT, output, pack_credit(vc.into(), phits.into()));
                }
            }
        }
    }

    /// Draws the next request of endpoint `e`, if it may have one.
    fn draw(&mut self, e: u32, at: &mut Site<'_>) {
        let (it, rule, endpoint) = (&mut self.loops[e as usize], &self.rule, &mut *at.endpoint);
        endpoint.next = None;
        if it.ended || rule.count.is_some_and(|count| it.requests >= count) {
            return;
        }
        let free = match rule.outstanding {
            None => Some(0),
            Some(_) => it.free.front().copied(),
        };
        let Some(free) = free else { return };
        let drawn = at.setup.traffic.request(rule, endpoint.number, &mut endpoint.source, free.max(it.next));
        let Some(packet) = drawn.filter(|packet| packet.cycle < at.setup.settings.cycles) else {
            it.ended = true;
            return;
        };
        it.free.pop_front();
        it.next = packet.cycle + 1;
        it.requests += 1;
        it.waiting.push(Waiting { destination: packet.destination, cycle: packet.cycle });
        endpoint.next = Some(packet);
        let under_way = it.waiting.len() as u64;
        at.collector.generated(packet.cycle * at.setup.settings.ticks_per_cycle, packet.size);
        at.collector.counters.transactions.requested(under_way);
    }

    fn drawn(&self, endpoints: &Table<Endpoint>) -> Vec<(usize, Generated)> {
        let drawn = endpoints.iter().filter_map(|endpoint| endpoint.next);
        let replies = self.loops.iter().flat_map(|it| &it.replies).map(|reply| reply.packet);
        drawn.chain(replies).map(|packet| (0, packet)).collect()
    }

    /// Those requests included that have not been drawn.
    fn generated(&self, endpoints: &Table<Endpoint>, sources: &Sources<'_>, collector: &mut Collector) -> (u64, u64) {
        let flow = &collector.counters.flow;
        let (mut all, span) = ((flow.generated_packets, flow.generated_phits), collector.span());
        let (rule, cycles) = (&self.rule, sources.cycles);
        let tick = |packet: &Generated| packet.cycle * sources.ticks_per_cycle;
        for (endpoint, it) in endpoints.iter().zip(&self.loops) {
            let (mut source, mut from, mut requests) = (endpoint.source.clone(), it.next, it.requests);
            let mut free = it.free.iter();
            while !it.ended && rule.count.is_none_or(|count| requests < count) {
                let Some(free) = rule.outstanding.map_or(Some(0), |_| free.next().copied()) else { break };
                let drawn = sources.traffic.request(rule, endpoint.number, &mut source, free.max(from));
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

    fn unfinished(&self, e: u32, _: &Endpoint, lane: u32) -> Option<u16> {
        let sending = self.loops[e as usize].sending.iter();
        sending.filter(|it| it.sent > 0 && u32::from(it.lane) == lane).map(|it| it.sent).next()
    }

    fn bytes(&self) -> usize {
        let of = |it: &Loop| {
            size_of::<Loop>()
                + it.replies.capacity() * size_of::<Reply>()
                + it.waiting.capacity() * size_of::<Waiting>()
                + it.free.capacity() * 4
                + it.given_up.capacity() * size_of::<Ending>()
        };
        self.loops.iter().map(of).sum()
    }
}

impl Exchange {
    /// The tail of `packet`, which came in virtual channel `vc`, has reached endpoint `e`.
    pub(crate) fn arrived(&mut self, e: u32, packet: &Packet, vc: u32, at: &mut Site<'_>) {
        let (it, rule, tick) = (&mut self.loops[e as usize], &self.rule, at.setup.settings.ticks_per_cycle);
        let now = at.now.div_ceil(tick);
        match Kind::of(packet) {
            Kind::Request => {
                let cycle = now + rule.service;
                let size = rule.sizes_of(packet.source, packet.birth / tick)[1];
                let reply = Generated { cycle, destination: packet.source, size };
                it.replies.push_back(Reply { packet: reply, held: (packet.size, vc as u16) });
                at.collector.generated(cycle * tick, size);
            }
            Kind::Reply => {
                // Of several requests to one endpoint the reply is taken for that of the first.
                let asked = it.waiting.iter().position(|waiting| waiting.destination == packet.source);
                let Some(Waiting { cycle, .. }) = asked.map(|asked| it.end(asked, now, rule)) else { return };
                let done = it.waiting.is_empty() && rule.count == Some(it.requests);
                let recorded = at.collector.span().contains(&at.now);
                at.collector.counters.transactions.answered(at.now - cycle * tick, recorded, done.then_some(now));
                if at.endpoint.next.is_none() {
                    self.draw(e, at);
                }
            }
        }
    }

    /// Endpoint `e` will hear that there is no reply.
    pub(crate) fn expect(&mut self, e: u32, ending: Ending) {
        self.loops[e as usize].given_up.push(Reverse(ending));
    }

    /// Endpoint `e` hears of requests to which there is no reply. It may have others in their places, as if they had
    /// been answered.
    fn hear_endings(&mut self, e: u32, at: &mut Site<'_>) {
        loop {
            let (it, rule) = (&mut self.loops[e as usize], &self.rule);
            let Some(&Reverse(ending)) = it.given_up.peek().filter(|Reverse(ending)| ending.at <= at.now) else {
                return;
            };
            it.given_up.pop();
            let now = at.now.div_ceil(at.setup.settings.ticks_per_cycle);
            let asked = |waiting: &Waiting| waiting.destination == ending.asked;
            // A reply to a later request to the same endpoint may have been taken for that of this one.
            let exact = it.waiting.iter().position(|waiting| asked(waiting) && waiting.cycle == ending.cycle);
            let Some(place) = exact.or_else(|| it.waiting.iter().position(asked)) else { continue };
            it.end(place, now, rule);
            let done = it.waiting.is_empty() && rule.count == Some(it.requests);
            at.collector.counters.transactions.given_up(done.then_some(now));
            if at.endpoint.next.is_none() {
                self.draw(e, at);
            }
        }
    }
}

impl Loop {
    /// What endpoint `e` may send next of a kind: again, and for the first time. Of a packet of which flits are missing
    /// that one alone.
    fn next_of(&self, e: u32, kind: Kind, at: &Site<'_>) -> [Option<Candidate>; 2] {
        let free = at.endpoint.free;
        let drawn = match kind {
            Kind::Request => at.endpoint.next,
            Kind::Reply => self.replies.front().map(|reply| reply.packet),
        };
        let own = drawn.map(|packet| (packet, at.earliest(&packet).max(free), kind.mark()));
        let Some(repeats) = &at.repeats else { return [None, own] };
        let mark = |again: &Again| again.mark() | kind.mark();
        let again = repeats.next(e, kind).map(|again| (again.generated(), again.at.max(free), mark(&again)));
        match (self.sending[kind as usize].sent > 0, repeats.has_begun(e, kind)) {
            (false, _) => [again, own],
            (true, true) => [again, None],
            (true, false) => [None, own],
        }
    }
}

/// The injection queue for the next flit of a request or reply, if it has room.
fn lane_of(sending: Sending, kind: Kind, packet: Generated, size: u32, at: &Site<'_>) -> Option<u16> {
    let channel = at.endpoint.channel;
    if sending.sent > 0 {
        return Some(sending.lane).filter(|lane| at.room.credits(channel, *lane) >= size as i32);
    }
    let entering = Entering { channel, last: sending.lane, destination: packet.destination, size };
    at.room.choose::<General>(entering, injection_lanes(&at.setup.config, &at.setup.settings, kind), |_| true)
}

/// The injection queues for requests, or for replies; with congestion control for data, or for notifications.
pub(crate) fn injection_lanes(config: &Config, settings: &Settings, kind: Kind) -> Range<u16> {
    let count = config.links[0].queues;
    match (settings.parts_injection, kind) {
        (false, _) => 0..count,
        (_, Kind::Request) => 0..count / 2,
        (_, Kind::Reply) => count / 2..count,
    }
}

/// The injection queues of a virtual network.
pub(crate) fn network_lanes(config: &Config, settings: &Settings, network: u16) -> Range<u16> {
    let each = config.links[0].queues / u16::from(settings.networks);
    network * each..(network + 1) * each
}

/// The virtual channels, or injection queues, that each network has over links of `class`.
pub(crate) fn channels_of_network(config: &Config, settings: &Settings, class: u8) -> u16 {
    match class {
        0 => config.links[0].queues / u16::from(settings.networks),
        _ => u16::from(config.buffers.vcs[usize::from(class)]) * config.buffers.division.queues as u16,
    }
}

/// The first virtual channel over links of `class` for `packet`, which the routing mechanism counts as 0. Endpoints
/// take replies in other ones than requests in any case.
#[inline]
pub(crate) fn first_channel(config: &Config, settings: &Settings, packet: &Packet, class: u8) -> u16 {
    if settings.reserves {
        return Role::of(packet).network(settings.networks.into()) * channels_of_network(config, settings, class);
    }
    match (Kind::of(packet), class, settings.networks) {
        (Kind::Request, ..) => 0,
        (Kind::Reply, 0, _) => config.links[0].queues / 2,
        (Kind::Reply, _, 1) => 0,
        (Kind::Reply, class, _) => {
            u16::from(config.buffers.vcs[usize::from(class)]) * config.buffers.division.queues as u16
        }
    }
}
