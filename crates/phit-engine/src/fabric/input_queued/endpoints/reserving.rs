//! Endpoints under a reservation protocol: a queue for each destination, replies to be sent, and what has arrived.
//!
//! An endpoint sends replies (grants, acknowledgements, refusals) before reservations, and these before data. It goes
//! on with a packet that it has begun. Otherwise flows take turns, in the order of their destinations, and flows whose
//! packets are granted go first. Whatever arrives in a cycle takes effect in the next one.

use super::endpoint::Endpoint;
use super::exchange::network_lanes;
use super::seam::{Flit, Next, Sender, SenderContext, Site};
use crate::engine::{Bytes, Tick};
use crate::fabric::input_queued::options::kernel::{General, Kernel};
use crate::fabric::input_queued::state::expiring::Expiring;
use crate::fabric::seams::congestion::CongestionContext;
use crate::fabric::seams::reservation::{Dropping, Reservations, Reserving as Protocol, Role, Wish};
use crate::packet::Packet;
use crate::traffic::Generated;
use std::collections::VecDeque;

/// The packets of an endpoint to one destination.
#[derive(Debug, Clone, Copy)]
struct Flow {
    destination: u32,
    /// Its number in the protocol.
    number: u32,
}

/// The content of a packet without data.
#[derive(Debug, Clone, Copy)]
struct Note {
    role: Role,
    /// The other end.
    to: u32,
    /// A number of a packet.
    number: u32,
    /// A time, or phits.
    content: u32,
}

/// A packet without data that has arrived.
#[derive(Debug, Clone, Copy)]
struct Heard {
    at: Tick,
    note: Note,
    /// Ticks since it was sent.
    latency: Tick,
}

/// One endpoint.
#[derive(Debug, Default)]
struct Station {
    /// By destination.
    flows: Vec<Flow>,
    /// Places of flows with a message, in order.
    busy: Vec<u32>,
    /// Replies to be sent, with the ticks from which on they can be.
    replies: VecDeque<(Tick, Note)>,
    /// What has arrived and has had no effect.
    heard: VecDeque<Heard>,
    /// The flow whose packet is being sent, its role, the injection queue, and the flits that have been sent.
    sending: Option<(u32, Role)>,
    lane: u16,
    sent: u16,
    /// The flow that has its turn in tick `chosen_at`.
    chosen: Option<u32>,
    chosen_at: Tick,
    /// The destinations after those whose flows had their turn last: with data, and with a reservation.
    turns: [u32; 2],
    /// Ticks from which on the next reply, reservation and flit of data may be sent.
    free: [Tick; 3],
}

/// Streams of an endpoint.
const REPLIES: u8 = 0;
const RESERVATIONS: u8 = 1;
const DATA: u8 = 2;

impl Station {
    /// The place of the flow to `destination`, if there is one.
    fn place(&self, destination: u32) -> Result<usize, usize> {
        self.flows.binary_search_by_key(&destination, |flow| flow.destination)
    }

    /// The first of the flows `among`, by place, whose destination has its turn from `turn` on.
    fn in_turn(&self, among: impl Iterator<Item = u32>, turn: u32) -> Option<u32> {
        among.min_by_key(|place| {
            let destination = self.flows[*place as usize].destination;
            (destination < turn, destination)
        })
    }

    fn bytes(&self) -> usize {
        self.flows.capacity() * size_of::<Flow>()
            + self.busy.capacity() * 4
            + self.replies.capacity() * size_of::<(Tick, Note)>()
            + self.heard.capacity() * size_of::<Heard>()
    }
}

/// The reservation protocol of a partition.
pub(crate) struct Reserving {
    protocol: Box<dyn Protocol>,
    rule: Reservations,
    stations: Vec<Station>,
    /// Flows of all endpoints.
    flows: u32,
    /// The number and the content of the packet that is being sent.
    outgoing: (u32, u32),
    expiring: Expiring,
    /// By endpoint: phits of data for it at its router. A packet counts from the arrival of its head until its head
    /// starts on the link to the endpoint.
    waiting: Vec<u32>,
    /// By output, if speculative packets yield: granted packets that have a virtual channel behind it, or flits in its
    /// buffer.
    at_outputs: Vec<u16>,
}

impl Sender for Reserving {
    fn new(context: &SenderContext<'_>) -> Option<Self> {
        let rule = context.congestion.reservations()?;
        let cycle = context.config.links.ticks_per_cycle;
        let protocol = context.congestion.protocol(&CongestionContext {
            outputs: context.outputs,
            endpoints: context.endpoints.len() as u32,
            buffer: context.config.buffers.capacity.iter().copied().min().unwrap_or(0),
            ticks_per_cycle: cycle,
            rates: Vec::new(),
            seed: context.seed,
        })?;
        let stations = context.endpoints.iter().map(|_| Station::default()).collect();
        let expiry = match rule.dropping {
            Dropping::Late(expiry) => Some(expiry),
            Dropping::AtLastHop { .. } => None,
        };
        let expiring = Expiring::new(expiry, cycle);
        let waiting = vec![0; context.endpoints.len()];
        let at_outputs = vec![0; if rule.yields { context.outputs as usize } else { 0 }];
        Some(Self { protocol, rule, stations, flows: 0, outgoing: (0, 0), expiring, waiting, at_outputs })
    }

    fn next<K: Kernel>(&mut self, e: u32, at: &mut Site<'_>) -> Next {
        self.admit(e, at);
        self.listen(e, at);
        let now = at.now;
        let cycle = at.setup.settings.ticks_per_cycle;
        if !now.is_multiple_of(cycle) {
            // Credits may come within a cycle.
            return Next::Wait { at: Some(now.next_multiple_of(cycle)), blocked: false };
        }
        let mut wake = at.endpoint.next.map(|packet| at.earliest(&packet));
        let mut blocked = false;
        let station = &self.stations[e as usize];
        if let Some(heard) = station.heard.front() {
            sooner(&mut wake, heard.at + cycle);
        }
        let free = |stream: u8| free_of(station, &self.rule, stream, at);
        if let Some(&(from, note)) = station.replies.front() {
            match from.max(free(REPLIES)) {
                tick if tick > now => sooner(&mut wake, tick),
                _ => match self.control(&note, at) {
                    Some((lane, size)) => return self.send_note(note, (lane, size), REPLIES, at),
                    None => blocked = true,
                },
            }
        }
        if free(DATA) > now {
            if station.sending.is_some() || !station.busy.is_empty() {
                sooner(&mut wake, free(DATA));
            }
            return Next::Wait { at: wake, blocked };
        }
        // Without control packets beside data, a control packet may have taken the link from the flow.
        let may_send = |place: &u32| {
            let wish = self.protocol.wish(station.flows[*place as usize].number, now);
            !matches!(wish, Wish::Nothing | Wish::Wait(_))
        };
        let kept = station.chosen.filter(|place| station.chosen_at == now || !self.rule.beside && may_send(place));
        let chosen = match kept {
            Some(place) => Ok(place),
            None => self.choose(e, at),
        };
        let place = match chosen {
            Ok(place) => place,
            Err((tick, lacks)) => {
                tick.into_iter().for_each(|tick| sooner(&mut wake, tick));
                return Next::Wait { at: wake, blocked: blocked || lacks };
            }
        };
        let station = &mut self.stations[e as usize];
        (station.chosen, station.chosen_at) = (Some(place), now);
        let Flow { number, destination } = station.flows[place as usize];
        let asks = |flow: u32| self.protocol.wish(flow, now) == Wish::Reservation;
        let station = &self.stations[e as usize];
        let own = station.sending.is_none() && asks(number);
        let reservation_free = free_of(station, &self.rule, RESERVATIONS, at) <= now;
        let asking = match own {
            true => Some(place).filter(|_| reservation_free),
            false if self.rule.reservations_first && reservation_free => {
                let asking = station.busy.iter().copied();
                let asking = asking.filter(|place| asks(station.flows[*place as usize].number));
                station.in_turn(asking, station.turns[1])
            }
            false => None,
        };
        if let Some(asking) = asking {
            let Flow { number: flow, destination: to } = station.flows[asking as usize];
            let note = Note { role: Role::Reservation, to, number: 0, content: 0 };
            if let Some(room) = self.control(&note, at) {
                let (content, number) = self.protocol.reserve(flow, now);
                let station = &mut self.stations[e as usize];
                if !own {
                    station.turns[1] = to + 1;
                }
                if own {
                    // It takes the turn of a flit of data.
                    station.free[usize::from(DATA)] = now + at.setup.settings.ticks_per_cycle;
                    station.chosen = None;
                }
                return self.send_note(Note { number, content, ..note }, room, RESERVATIONS, at);
            }
            blocked |= own;
        }
        if own {
            return Next::Wait { at: wake, blocked };
        }
        let role = station.sending.map_or_else(
            || if self.protocol.wish(number, now) == Wish::Granted { Role::Granted } else { Role::Speculative },
            |(_, role)| role,
        );
        let (before, lane) = match station.sending {
            Some(_) => (station.sent, Some(station.lane)),
            None => (0, None),
        };
        let Some((packet, of_packet)) = self.protocol.head(number, now) else {
            return Next::Wait { at: wake, blocked };
        };
        debug_assert_eq!(packet.destination, destination);
        let size = at.setup.config.flit_phits(packet.size, before);
        let lane = match lane {
            Some(lane) => Some(lane).filter(|lane| at.room.credits(at.endpoint.channel, *lane) >= size as i32),
            None => self.room(role, packet, size, at),
        };
        let Some(lane) = lane else { return Next::Wait { at: wake, blocked: true } };
        if before == 0 {
            self.protocol.begin(number, now);
            self.stations[e as usize].sending = Some((place, role));
            self.outgoing = (of_packet, packet.cycle * at.setup.settings.ticks_per_cycle);
        }
        Next::Send(Flit { packet, size, lane, before, mark: role.mark(), stream: DATA })
    }

    fn sent(&mut self, e: u32, flit: &Flit, at: &mut Site<'_>) {
        let sent = std::mem::take(&mut at.endpoint.sent);
        let recorded = at.collector.span().contains(&at.now);
        let station = &mut self.stations[e as usize];
        station.free[usize::from(flit.stream)] = match flit.stream {
            DATA => at.endpoint.free,
            _ => at.now + at.setup.settings.ticks_per_cycle,
        };
        match flit.stream {
            REPLIES => drop(station.replies.pop_front()),
            RESERVATIONS => {}
            _ => {
                (station.sent, station.lane, station.chosen) = (sent, flit.lane, None);
                if sent > 0 {
                    return;
                }
                let Some((place, role)) = station.sending.take() else { return };
                self.protocol.end(station.flows[place as usize].number);
                self.tidy(e, place);
                if role == Role::Granted {
                    return;
                }
            }
        }
        let (endpoint, role) = (at.endpoint.number, Role::of_mark(flit.mark));
        at.collector.counters.congestion.played(endpoint, role, flit.packet.size, recorded);
    }

    fn unfinished(&self, e: u32, _: &Endpoint, lane: u32) -> Option<u16> {
        let station = &self.stations[e as usize];
        (station.sending.is_some() && u32::from(station.lane) == lane && station.sent > 0).then_some(station.sent)
    }

    fn has_packets(&self, e: u32) -> bool {
        let station = &self.stations[e as usize];
        !station.busy.is_empty() || !station.replies.is_empty() || !station.heard.is_empty()
    }

    fn bytes(&self) -> usize {
        let stations = self.stations.iter().map(|station| size_of::<Station>() + station.bytes()).sum::<usize>();
        self.protocol.bytes()
            + stations
            + self.expiring.bytes()
            + 4 * self.waiting.capacity()
            + 2 * self.at_outputs.capacity()
    }
}

/// Puts `wake` to `tick` if it is later.
fn sooner(wake: &mut Option<Tick>, tick: Tick) {
    *wake = Some(wake.map_or(tick, |before| before.min(tick)));
}

/// The tick from which on `station` may send in `stream`.
fn free_of(station: &Station, rule: &Reservations, stream: u8, at: &Site<'_>) -> Tick {
    match rule.beside {
        true => station.free[usize::from(stream)],
        false => station.free[usize::from(stream)].max(at.endpoint.free),
    }
}

impl Reserving {
    /// Puts the packets that endpoint `e` has generated, and that can be sent by now, into their flows.
    fn admit(&mut self, e: u32, at: &mut Site<'_>) {
        let mut new = Vec::new();
        while let Some(packet) = at.endpoint.next.filter(|packet| at.earliest(packet) <= at.now) {
            let place = self.flow(e, packet.destination);
            let number = self.stations[e as usize].flows[place].number;
            self.protocol.generated(number, packet);
            if new.last() != Some(&number) {
                new.push(number);
            }
            at.draw();
        }
        for number in new {
            self.protocol.complete(number);
            let station = &mut self.stations[e as usize];
            let place = station.flows.iter().position(|flow| flow.number == number).unwrap_or(0) as u32;
            if let Err(at) = station.busy.binary_search(&place) {
                station.busy.insert(at, place);
            }
        }
    }

    /// The place of the flow of endpoint `e` to `destination`, which begins if it is new.
    fn flow(&mut self, e: u32, destination: u32) -> usize {
        let station = &mut self.stations[e as usize];
        station.place(destination).unwrap_or_else(|place| {
            let number = self.flows;
            station.flows.insert(place, Flow { destination, number });
            // Flows behind it have moved.
            let moved = |at: &mut u32| *at += u32::from(*at >= place as u32);
            station.busy.iter_mut().for_each(moved);
            station.sending.iter_mut().for_each(|(at, _)| moved(at));
            station.chosen.iter_mut().for_each(moved);
            self.protocol.begins(number);
            self.flows += 1;
            place
        })
    }

    /// Forgets the flow at `place` of endpoint `e` while it has no message.
    fn tidy(&mut self, e: u32, place: u32) {
        let station = &mut self.stations[e as usize];
        if self.protocol.is_idle(station.flows[place as usize].number)
            && let Ok(at) = station.busy.binary_search(&place)
        {
            station.busy.remove(at);
        }
    }

    /// Handles the packets without data that have arrived before this cycle.
    fn listen(&mut self, e: u32, at: &mut Site<'_>) {
        let cycle = at.setup.settings.ticks_per_cycle;
        loop {
            let station = &mut self.stations[e as usize];
            if station.heard.front().is_none_or(|heard| heard.at + cycle > at.now) {
                return;
            }
            let Some(heard) = station.heard.pop_front() else { return };
            let Note { role, to, number, content } = heard.note;
            let Ok(place) = self.stations[e as usize].place(to) else { continue };
            let flow = self.stations[e as usize].flows[place].number;
            match role {
                Role::Grant => self.protocol.granted(flow, number, content, heard.latency),
                Role::Acknowledgement => self.protocol.acknowledged(flow, number),
                _ if self.reserves_at_last_hop() => {
                    self.protocol.granted(flow, number + 1, content, heard.latency);
                }
                _ => self.protocol.refused(flow, number, heard.at),
            }
            self.tidy(e, place as u32);
        }
    }

    /// The flow that has its turn with data, or the tick in which one may have it, and whether one lacks room.
    fn choose(&mut self, e: u32, at: &Site<'_>) -> Result<u32, (Option<Tick>, bool)> {
        let station = &self.stations[e as usize];
        if let Some((place, _)) = station.sending {
            return Ok(place);
        }
        let (mut wake, mut lacks) = (None::<Tick>, false);
        let (mut granted, mut others) = (None, None);
        let first = |best: Option<u32>, place: u32| station.in_turn(best.into_iter().chain([place]), station.turns[0]);
        for &place in &station.busy {
            let flow = station.flows[place as usize].number;
            let wish = self.protocol.wish(flow, at.now);
            let role = match wish {
                Wish::Reservation if !self.rule.announces => Role::Reservation,
                Wish::Nothing => continue,
                Wish::Wait(tick) => {
                    wake = wake.into_iter().chain([tick]).min();
                    continue;
                }
                Wish::Granted => Role::Granted,
                Wish::Reservation | Wish::Speculative => Role::Speculative,
            };
            let Some((packet, _)) = self.protocol.head(flow, at.now) else { continue };
            let packet = match role {
                Role::Reservation => Generated { size: self.rule.control, ..packet },
                _ => packet,
            };
            let size = at.setup.config.flit_phits(packet.size, 0);
            if self.room(role, packet, size, at).is_none() {
                lacks = true;
                continue;
            }
            match wish {
                Wish::Granted => granted = first(granted, place),
                _ => others = first(others, place),
            }
        }
        let Some(place) = granted.or(others) else { return Err((wake, lacks)) };
        let station = &mut self.stations[e as usize];
        station.turns[0] = station.flows[place as usize].destination + 1;
        Ok(place)
    }

    /// The injection queue for the head of `packet`, of `size` phits, in this role, if there is room.
    fn room(&self, role: Role, packet: Generated, size: u32, at: &Site<'_>) -> Option<u16> {
        let needed = at.room.phits_to_begin::<General>(packet, size) as i32;
        let lanes =
            network_lanes(&at.setup.config, &at.setup.settings, role.network(at.setup.settings.networks.into()));
        let credits = |lane: &u16| at.room.credits(at.endpoint.channel, *lane);
        lanes.step_by(at.setup.settings.queues as usize).filter(|lane| credits(lane) >= needed).max_by_key(credits)
    }

    /// Injection queue and phits of a packet without data, if there is room for it.
    fn control(&self, note: &Note, at: &Site<'_>) -> Option<(u16, u16)> {
        let size = self.rule.control;
        let packet = Generated { cycle: 0, destination: note.to, size };
        self.room(note.role, packet, size.into(), at).map(|lane| (lane, size))
    }

    /// Sends a packet without data.
    fn send_note(&mut self, note: Note, (lane, size): (u16, u16), stream: u8, at: &Site<'_>) -> Next {
        self.outgoing = (note.number, note.content);
        let cycle = at.now / at.setup.settings.ticks_per_cycle;
        let packet = Generated { cycle, destination: note.to, size };
        Next::Send(Flit { packet, size: size.into(), lane, before: 0, mark: note.role.mark(), stream })
    }

    /// The number of the packet that is being sent, and its content: for data, the tick of generation.
    pub(crate) fn outgoing(&self) -> (u32, u32) {
        self.outgoing
    }

    /// The head of `packet` has reached endpoint `e`, and more of it comes; true if its source is to be told that it is
    /// not taken.
    pub(crate) fn head_arrived(&mut self, e: u32, packet: &Packet, at: &mut Site<'_>) -> bool {
        if self.protocol.expects(e, packet.source, packet.scratch) {
            return false;
        }
        self.reply(e, Role::Refusal, packet, at);
        true
    }

    /// Answers `packet`, which has arrived in this tick.
    fn reply(&mut self, e: u32, role: Role, packet: &Packet, at: &mut Site<'_>) {
        let from = at.now + at.setup.settings.ticks_per_cycle;
        let note = Note { role, to: packet.source, number: packet.scratch, content: 0 };
        self.stations[e as usize].replies.push_back((from, note));
    }

    /// The tail of `packet` has reached endpoint `e`; true if it is data that have not come before.
    pub(crate) fn arrived(&mut self, e: u32, packet: &Packet, at: &mut Site<'_>) -> bool {
        let role = Role::of(packet);
        let first = match role {
            Role::Granted => self.protocol.received(e, packet.source, packet.scratch),
            Role::Speculative if packet.flits == 1 && self.head_arrived(e, packet, at) => false,
            Role::Speculative => {
                let first = self.protocol.received(e, packet.source, packet.scratch);
                if first {
                    self.reply(e, Role::Acknowledgement, packet, at);
                }
                first
            }
            Role::Unwanted => false,
            Role::Reservation => {
                let start = self.protocol.asked(e, packet.source, packet.birth, packet.scratch, at.now);
                let from = at.now + at.setup.settings.ticks_per_cycle;
                let (to, number) = (packet.source, packet.scratch);
                let grant = Note { role: Role::Grant, to, number, content: start };
                self.stations[e as usize].replies.push_back((from, grant));
                false
            }
            _ => {
                let note = Note { role, to: packet.source, number: packet.scratch, content: packet.birth };
                self.stations[e as usize].heard.push_back(Heard {
                    at: at.now,
                    note,
                    latency: at.now - packet.injected,
                });
                false
            }
        };
        let (endpoint, recorded) = (at.endpoint.number, at.collector.span().contains(&at.now));
        at.collector.counters.congestion.came(endpoint, packet.size, first, recorded);
        first
    }

    /// The speculative packets in the partition's routers.
    pub(crate) fn expiring(&self) -> &Expiring {
        &self.expiring
    }

    /// To note what becomes of speculative packets.
    pub(crate) fn expiring_mut(&mut self) -> &mut Expiring {
        &mut self.expiring
    }

    /// A granted packet has been given a virtual channel behind `output`.
    pub(crate) fn comes_to_output(&mut self, output: u32) {
        self.at_outputs.get_mut(output as usize).into_iter().for_each(|granted| *granted += 1);
    }

    /// Its tail starts on the link.
    pub(crate) fn leaves_output(&mut self, output: u32) {
        self.at_outputs.get_mut(output as usize).into_iter().for_each(|granted| *granted -= 1);
    }

    /// True if speculative packets yield to a granted packet at `output`.
    pub(crate) fn has_granted(&self, output: u32) -> bool {
        self.at_outputs.get(output as usize).is_some_and(|granted| *granted > 0)
    }

    /// True if speculative packets are sorted into queues by output where granted packets are.
    pub(crate) fn sorts_speculative(&self) -> bool {
        self.rule.sorted
    }

    /// True if routers drop packets to their own endpoints only, and reserve for them.
    pub(crate) fn reserves_at_last_hop(&self) -> bool {
        matches!(self.rule.dropping, Dropping::AtLastHop { .. })
    }

    /// The head of a packet of data of `phits` has come to the router of endpoint `e`, its destination.
    pub(crate) fn comes(&mut self, e: u32, phits: u16) {
        self.waiting[e as usize] += u32::from(phits);
    }

    /// The packet starts on the link to the endpoint, or is to be dropped.
    pub(crate) fn goes(&mut self, e: u32, phits: u16) {
        let waiting = &mut self.waiting[e as usize];
        *waiting = waiting.saturating_sub(phits.into());
    }

    /// True if more data wait at the router of endpoint `e` than speculative packets may find there.
    pub(crate) fn is_congested(&self, e: u32) -> bool {
        match self.rule.dropping {
            Dropping::AtLastHop { threshold } => self.waiting[e as usize] > threshold,
            Dropping::Late(_) => false,
        }
    }

    /// Reserves time at endpoint `e` for `packet`, which its router drops in tick `now`: the first tick.
    pub(crate) fn reserve_at_last_hop(&mut self, e: u32, packet: &Packet, now: Tick) -> Tick {
        self.protocol.asked(e, packet.source, packet.size.into(), packet.scratch + 1, now)
    }

    /// Phits of a packet without data.
    pub(crate) fn control_phits(&self) -> u16 {
        self.rule.control
    }
}
