//! Endpoints under congestion control: a queue for each destination, a queue of notifications, and the times at which
//! flows may send.

use super::endpoint::Endpoint;
use super::exchange::{Sending, injection_lanes};
use super::room::Entering;
use super::seam::{Flit, Next, Sender, SenderContext, Site};
use crate::bandwidth::Bandwidth;
use crate::engine::{Table, Tick};
use crate::fabric::input_queued::options::kernel::{General, Kernel};
use crate::fabric::input_queued::state::backlogs::Backlogs;
use crate::fabric::input_queued::state::lost::Kind;

use crate::fabric::seams::congestion::{
    Congestion, CongestionContext, DestinationTurns, Leaving, NotificationChannels, Notifications,
};
use crate::measure::Collector;
use crate::packet::Packet;
use crate::traffic::Generated;
use std::collections::VecDeque;

/// All packets from an endpoint to one destination.
#[derive(Debug)]
struct Flow {
    /// Its number in the mechanism.
    number: u32,
    destination: u32,
    /// Packets that have been generated and not been sent.
    waiting: VecDeque<Generated>,
    /// The queue organisation holds its packets back: the first switch has no room for them.
    stopped: bool,
}

/// The packets and notifications that one endpoint has to send.
#[derive(Debug, Default)]
struct Queues {
    /// In the order in which they began.
    flows: Vec<Flow>,
    /// Destination and place of each flow, by destination.
    places: Vec<(u32, u32)>,
    /// Flows with packets that wait, in turn. The flow of the packet that is being sent is the first.
    turns: VecDeque<u32>,
    /// Notifications to be sent.
    notifications: VecDeque<Generated>,
    /// Progress of the packet of data, and of the notification, that is being sent: by [`Kind`].
    sending: [Sending; 2],
    /// Tick in which the head of the packet of data was sent.
    started: Tick,
    /// The tick since which the mechanism alone keeps the endpoint from sending data.
    held: Option<Tick>,
    /// If destinations have their turns by number: the one whose turn it is.
    next_destination: u32,
    /// If notifications go beside data: the ticks from which on the next flit of data, and of a notification, may be
    /// sent, by [`Kind`].
    free: [Tick; 2],
}

impl Queues {
    /// True if anything waits to be sent.
    fn waits(&self) -> bool {
        !self.turns.is_empty() || !self.notifications.is_empty()
    }

    /// A flow has its first packet that waits: the places of the flows in front of it in the turns.
    fn turn_of(&self, destination: u32, turns: DestinationTurns) -> usize {
        let key = |destination: u32| destination.wrapping_sub(self.next_destination);
        match turns {
            DestinationTurns::LongestWaiting => self.turns.len(),
            DestinationTurns::Numbers => {
                self.turns.partition_point(|place| key(self.flows[*place as usize].destination) < key(destination))
            }
        }
    }

    fn bytes(&self) -> usize {
        let packets = self.flows.iter().map(|flow| flow.waiting.capacity()).sum::<usize>();
        self.flows.capacity() * size_of::<Flow>()
            + self.places.capacity() * size_of::<(u32, u32)>()
            + self.turns.capacity() * 4
            + (packets + self.notifications.capacity()) * size_of::<Generated>()
    }
}

/// The congestion control of a partition.
pub(crate) struct Throttle {
    rule: Box<dyn Congestion>,
    backlogs: Backlogs,
    notifications: Notifications,
    turns: DestinationTurns,
    /// Routers notify sources, and destinations do not.
    routers_notify: bool,
    /// By endpoint.
    queues: Vec<Queues>,
    /// Flows of all endpoints.
    flows: u32,
    /// Heads of data in output buffers: by output, in the order of their times.
    departing: Vec<VecDeque<Departing>>,
}

/// The head of a packet of data in an output buffer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Departing {
    /// The packet, if it goes to an endpoint; otherwise `NONE`.
    pub packet: u32,
    /// Its source and its destination.
    pub ends: (u32, u32),
    /// The tick in which the head is put on the link.
    pub start: Tick,
    /// Phits of the packet.
    pub phits: u16,
    /// Its virtual channel behind the output.
    pub vc: u16,
}

/// What has reached an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arrived {
    /// A packet of data.
    Data,
    /// A packet of data of which its source is notified.
    Notified,
    /// A notification.
    Notification,
}

/// The first packet of a flow.
struct Due {
    packet: Generated,
    /// The first tick in which it may be sent.
    at: Tick,
    /// True if the mechanism says so, and not the time of generation or the link.
    held: bool,
}

impl Sender for Throttle {
    fn new(context: &SenderContext<'_>) -> Option<Self> {
        let (config, endpoints) = (context.config, context.endpoints);
        let notifications = context.congestion.notifications()?;
        let rate = |endpoint: &Endpoint| {
            let bandwidth = config.links.injection_of(endpoint.number);
            bandwidth.map_or(1.0, Bandwidth::to_f64) / f64::from(config.links.ticks_per_cycle)
        };
        let rule = context.congestion.build(&CongestionContext {
            outputs: context.outputs,
            endpoints: endpoints.len() as u32,
            buffer: config.buffers.capacity.iter().copied().min().unwrap_or(0),
            ticks_per_cycle: config.links.ticks_per_cycle,
            rates: endpoints.iter().map(rate).collect(),
            seed: context.seed,
        })?;
        let backlogs = Backlogs::new(context.queues as usize, context.outputs as usize);
        let queues = endpoints.iter().map(|_| Queues::default()).collect();
        let departing = vec![VecDeque::new(); context.outputs as usize];
        let routers_notify = context.congestion.routers_notify();
        let turns = context.congestion.turns();
        Some(Self { rule, backlogs, notifications, turns, routers_notify, queues, flows: 0, departing })
    }

    /// Notifications go first. Flows take turns, and a flow that may not send yet is passed over.
    fn next<K: Kernel>(&mut self, e: u32, at: &mut Site<'_>) -> Next {
        self.admit(e, at);
        let queues = &self.queues[e as usize];
        let beside = self.notifications.beside;
        let [free, reply_free] = if beside { queues.free } else { [at.endpoint.free; 2] };
        let now = at.now;
        let drawn = at.endpoint.next.map(|packet| at.earliest(&packet));
        if free > now && !beside {
            let next = if queues.waits() { Some(free) } else { drawn.map(|tick| tick.max(free)) };
            return Next::Wait { at: next, blocked: false };
        }
        let (mut next, mut blocked, mut held) = (drawn, false, false);
        if let Some(packet) = queues.notifications.front().copied() {
            let tick = at.earliest(&packet).max(reply_free);
            match tick > now {
                true => next = next.into_iter().chain([tick]).min(),
                false => match self.flit(e, Kind::Reply, packet, at) {
                    Some(flit) => return Next::Send(flit),
                    None => blocked = true,
                },
            }
        }
        if free > now {
            if !queues.turns.is_empty() {
                next = next.into_iter().chain([free]).min();
            }
            return Next::Wait { at: next, blocked };
        }
        let mut chosen = None;
        let begun = queues.sending[Kind::Request as usize].sent > 0;
        let turns = if begun { 1 } else { queues.turns.len() };
        for turn in 0..turns {
            if !begun && self.is_stopped(e, turn) {
                blocked = true;
                continue;
            }
            let Some(due) = self.due(e, turn, free, now) else { continue };
            if due.at > now {
                held |= due.held;
                next = next.into_iter().chain([due.at]).min();
                continue;
            }
            match self.flit(e, Kind::Request, due.packet, at) {
                Some(flit) => {
                    chosen = Some((turn, flit));
                    break;
                }
                None => blocked = true,
            }
        }
        self.note_held(e, held && !blocked && chosen.is_none(), at);
        let Some((turn, flit)) = chosen else { return Next::Wait { at: next, blocked } };
        let queues = &mut self.queues[e as usize];
        if !begun {
            queues.started = now;
        }
        match self.turns {
            DestinationTurns::LongestWaiting => {
                if let Some(place) = queues.turns.remove(turn) {
                    queues.turns.push_front(place);
                }
            }
            DestinationTurns::Numbers => {
                queues.turns.rotate_left(turn);
                queues.next_destination = flit.packet.destination;
            }
        }
        Next::Send(flit)
    }

    fn sent(&mut self, e: u32, flit: &Flit, at: &mut Site<'_>) {
        let sent = std::mem::take(&mut at.endpoint.sent);
        let queues = &mut self.queues[e as usize];
        queues.free[usize::from(flit.stream)] = at.endpoint.free;
        queues.sending[usize::from(flit.stream)] = Sending { sent, lane: flit.lane };
        if sent > 0 {
            return;
        }
        if flit.stream == Kind::Reply as u8 {
            queues.notifications.pop_front();
            let recorded = at.collector.span().contains(&at.now);
            return at.collector.counters.congestion.sent(at.endpoint.number, flit.packet.size, recorded);
        }
        let Some(place) = queues.turns.pop_front() else { return };
        let flow = &mut queues.flows[place as usize];
        flow.waiting.pop_front();
        queues.next_destination = flow.destination.wrapping_add(1);
        if !flow.waiting.is_empty() {
            queues.turns.push_back(place);
        }
        self.rule.sent(flow.number, flit.packet.size, queues.started, at.endpoint.free);
    }

    /// Counts the times that have not ended.
    fn close(&mut self, endpoints: &Table<Endpoint>, collector: &mut Collector) {
        let span = collector.span();
        for (queues, endpoint) in self.queues.iter_mut().zip(endpoints.iter()) {
            if let Some(since) = queues.held.take() {
                let ticks = span.end.saturating_sub(since.max(span.start));
                collector.counters.congestion.held(endpoint.number, ticks);
            }
        }
    }

    fn unfinished(&self, e: u32, _: &Endpoint, lane: u32) -> Option<u16> {
        let sending = self.queues[e as usize].sending.iter();
        sending.filter(|it| it.sent > 0 && u32::from(it.lane) == lane).map(|it| it.sent).next()
    }

    fn has_packets(&self, e: u32) -> bool {
        self.queues[e as usize].waits()
    }

    fn bytes(&self) -> usize {
        let queues = self.queues.iter().map(|queues| size_of::<Queues>() + queues.bytes());
        let heads = self.departing.iter().map(VecDeque::capacity).sum::<usize>() * size_of::<Departing>();
        let departing = self.departing.capacity() * size_of::<VecDeque<Departing>>() + heads;
        self.rule.bytes() + self.backlogs.bytes() + departing + queues.sum::<usize>()
    }
}

impl Throttle {
    /// Puts the packets that endpoint `e` has generated, and that can be sent by now, into the queues of their flows.
    fn admit(&mut self, e: u32, at: &mut Site<'_>) {
        while let Some(packet) = at.endpoint.next.filter(|packet| at.earliest(packet) <= at.now) {
            let place = self.flow(e, packet.destination);
            let queues = &mut self.queues[e as usize];
            if queues.flows[place as usize].waiting.is_empty() {
                let turn = queues.turn_of(packet.destination, self.turns);
                queues.turns.insert(turn, place);
            }
            queues.flows[place as usize].waiting.push_back(packet);
            at.draw();
        }
    }

    /// The place of the flow of endpoint `e` to `destination`, which begins if it is new.
    fn flow(&mut self, e: u32, destination: u32) -> u32 {
        let queues = &mut self.queues[e as usize];
        match queues.places.binary_search_by_key(&destination, |(to, _)| *to) {
            Ok(at) => queues.places[at].1,
            Err(at) => {
                let (place, number) = (queues.flows.len() as u32, self.flows);
                queues.places.insert(at, (destination, place));
                queues.flows.push(Flow { number, destination, waiting: VecDeque::new(), stopped: false });
                self.rule.begins(number, e);
                self.flows += 1;
                place
            }
        }
    }

    /// Holds the packets of endpoint `e` for `destination` back, or lets them go.
    pub(crate) fn hold(&mut self, e: u32, destination: u32, held: bool) {
        let place = self.flow(e, destination);
        self.queues[e as usize].flows[place as usize].stopped = held;
    }

    /// True if the flow at place `turn` of the turns of endpoint `e` is held back by the queue organisation.
    fn is_stopped(&self, e: u32, turn: usize) -> bool {
        let queues = &self.queues[e as usize];
        queues.turns.get(turn).is_some_and(|place| queues.flows[*place as usize].stopped)
    }

    /// The next packet of the flow at place `turn` of the turns of endpoint `e`, not before tick `free`.
    fn due(&mut self, e: u32, turn: usize, free: Tick, now: Tick) -> Option<Due> {
        let queues = &self.queues[e as usize];
        let flow = &queues.flows[*queues.turns.get(turn)? as usize];
        let packet = *flow.waiting.front()?;
        if queues.sending[Kind::Request as usize].sent > 0 {
            // A packet that has begun goes on.
            return Some(Due { packet, at: free, held: false });
        }
        let allowed = self.rule.ready(flow.number, now);
        Some(Due { packet, at: allowed.max(free), held: allowed > free.max(now) })
    }

    /// The next flit of `packet`, data (a request) or a notification (a reply), if there is room for it.
    fn flit(&self, e: u32, kind: Kind, packet: Generated, at: &Site<'_>) -> Option<Flit> {
        let sending = &self.queues[e as usize].sending;
        let (Sending { sent, lane: last }, other) = (sending[kind as usize], sending[1 - kind as usize]);
        let size = at.setup.config.flit_phits(packet.size, sent);
        let (room, channel) = (&at.room, at.endpoint.channel);
        let needed = if sent > 0 { size } else { room.phits_to_begin::<General>(packet, size) };
        let fits = |lane: &u16| room.credits(channel, *lane) >= needed as i32;
        // Flits of two packets never mix in one queue.
        let open = |lane: u16| other.sent == 0 || other.lane != lane;
        let own = self.notifications.channels == NotificationChannels::Own;
        let named = match at.setup.settings.transparent {
            true => None,
            false => room.queueing.inject(room.setup.routers.number(at.endpoint.router), packet.destination),
        };
        let lane = match named {
            _ if sent > 0 => Some(last).filter(fits),
            Some(lane) => {
                let first = if own { injection_lanes(&at.setup.config, &at.setup.settings, kind).start } else { 0 };
                Some(first + lane).filter(fits).filter(|lane| open(*lane))
            }
            None => {
                let all = 0..at.setup.settings.injection_queues;
                let lanes = if own { injection_lanes(&at.setup.config, &at.setup.settings, kind) } else { all };
                let entering = Entering { channel, last, destination: packet.destination, size: needed };
                room.choose::<General>(entering, lanes, open)
            }
        };
        let (mark, stream) = (kind.mark(), kind as u8);
        lane.map(|lane| Flit { packet, size, lane, before: sent, mark, stream })
    }

    /// Notes whether the mechanism alone keeps endpoint `e` from sending data, and counts such a time when it ends.
    fn note_held(&mut self, e: u32, held: bool, at: &mut Site<'_>) {
        let since = &mut self.queues[e as usize].held;
        if held {
            since.get_or_insert(at.now);
        } else if let Some(since) = since.take() {
            let span = at.collector.span();
            let ticks = at.now.min(span.end).saturating_sub(since.max(span.start));
            at.collector.counters.congestion.held(at.endpoint.number, ticks);
        }
    }

    /// The tail of `packet` has reached endpoint `e`.
    pub(crate) fn arrived(&mut self, e: u32, packet: &Packet, at: &mut Site<'_>) -> Arrived {
        let (now, recorded) = (at.now, at.collector.span().contains(&at.now));
        if Kind::of(packet) == Kind::Reply {
            let place = self.flow(e, packet.source);
            self.rule.notified(self.queues[e as usize].flows[place as usize].number, now);
            at.collector.counters.congestion.notified(packet.destination, packet.size, recorded);
            return Arrived::Notification;
        }
        match self.notifications.by_head && packet.flits > 1 {
            true => Arrived::Data,
            false => self.seen(e, packet, at),
        }
    }

    /// True if the head of a packet is enough for a notification.
    pub(crate) fn notifies_heads(&self) -> bool {
        self.notifications.by_head
    }

    /// The part of `packet` that a notification depends on has reached endpoint `e`.
    pub(crate) fn seen(&mut self, e: u32, packet: &Packet, at: &mut Site<'_>) -> Arrived {
        let now = at.now;
        if !self.rule.received(e, packet, now) {
            return Arrived::Data;
        }
        let (cycle, size) = (now.div_ceil(at.setup.settings.ticks_per_cycle), self.notifications.phits);
        let notification = Generated { cycle, destination: packet.source, size };
        self.queues[e as usize].notifications.push_back(notification);
        Arrived::Notified
    }

    /// True if no endpoint has anything to send.
    pub(crate) fn is_empty(&self) -> bool {
        self.queues.iter().all(|queues| !queues.waits())
    }

    /// What waits for each output.
    pub(crate) fn backlogs(&self) -> &Backlogs {
        &self.backlogs
    }

    /// To note what enters and leaves queues.
    pub(crate) fn backlogs_mut(&mut self) -> &mut Backlogs {
        &mut self.backlogs
    }

    /// A head will be put on the link behind `output`.
    pub(crate) fn departs(&mut self, output: u32, head: Departing) {
        self.departing[output as usize].push_back(head);
    }

    /// The head that is put on the link behind `output` now.
    pub(crate) fn departing(&mut self, output: u32) -> Option<Departing> {
        self.departing[output as usize].pop_front()
    }

    /// Phits of the notification that a router sends about a packet that leaves, and its feedback, if routers notify
    /// and this one does.
    pub(crate) fn notice(&mut self, at: &Leaving) -> Option<(u32, u8)> {
        match self.routers_notify {
            true => Some((self.notifications.phits.into(), self.rule.feedback(at)?)),
            false => None,
        }
    }

    /// Phits of a notification.
    pub(crate) fn notification_phits(&self) -> u32 {
        self.notifications.phits.into()
    }

    /// Endpoint `e` has received the feedback of a router about a packet to `destination`.
    pub(crate) fn fed_back(&mut self, e: u32, destination: u32, feedback: u8, now: Tick) {
        let place = self.flow(e, destination);
        let flow = self.queues[e as usize].flows[place as usize].number;
        self.rule.fed_back(flow, feedback, now);
    }

    /// True if the router marks the packet that leaves.
    pub(crate) fn marks(&mut self, at: &Leaving) -> bool {
        self.rule.leaves(at)
    }
}
