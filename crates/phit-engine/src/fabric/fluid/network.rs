//! Messages as flows, as hosts send them.

use super::flows::Key;
use super::ways::{Way, Ways};
use super::{Flows, Rule, Sources};
use crate::engine::{Tick, poll};
use crate::fabric::whole::{Carries, phits};
use crate::fabric::{Bandwidth, Blueprint};
use crate::topology::Peer;
use crate::workload::Workload;
use phit_workload::host::Message;
use phit_workload::network::{Hop, Network};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::Arc;

/// Phits per tick of all links: those behind ports, then those from endpoints.
fn rates(Blueprint { topology, links, .. }: &Blueprint) -> Vec<f64> {
    let topology = &**topology;
    let ticks = f64::from(links.ticks_per_cycle);
    let ports = (0..topology.routers()).flat_map(|router| (0..topology.ports(router)).map(move |port| (router, port)));
    let of_port = |(router, port)| match topology.port(router, port).peer {
        Peer::None => 1.0,
        Peer::Endpoint(_) | Peer::Router { .. } => links.of_port(topology, router, port).to_f64() / ticks,
    };
    let of_endpoint = |endpoint| {
        let rate = links.injection_of(endpoint).unwrap_or(Bandwidth::UNLIMITED);
        rate.to_f64() / ticks
    };
    ports.map(of_port).chain((0..topology.endpoints()).map(of_endpoint)).collect()
}

/// What carries the messages as flows.
pub(super) fn carrier(
    (rule, sources, latency): (Rule, Sources, Tick),
    blueprint: &Blueprint,
    of: &Arc<Workload>,
) -> Carrier {
    let rates = rates(blueprint);
    let by_link = vec![0.0; rates.len()];
    let endpoints = blueprint.topology.endpoints() as usize;
    Carrier {
        of: of.clone(),
        sources,
        cycle: blueprint.links.ticks_per_cycle.into(),
        ways: Ways::new(blueprint, latency),
        flows: match sources {
            Sources::InTurn => Flows::new(rates, rule).in_order(),
            Sources::Shared => Flows::new(rates, rule),
        },
        under_way: Vec::new(),
        free: Vec::new(),
        due: BinaryHeap::new(),
        number: 0,
        queues: vec![Queue::default(); if sources == Sources::InTurn { endpoints } else { 0 }],
        unsent: vec![0; endpoints],
        ended: Vec::new(),
        by_link,
        held: 0,
    }
}

/// Messages that an endpoint sends in turn.
#[derive(Debug, Clone, Default)]
struct Queue {
    /// True while it sends one.
    busy: bool,
    /// The message that it sends, after its flow has begun.
    sends: Option<u32>,
    /// The messages after it.
    next: VecDeque<u32>,
}

/// A message between its send and the end of its flow.
#[derive(Debug, Clone)]
struct Sending {
    message: Message,
    phits: u64,
    /// The endpoints.
    ends: (u32, u32),
    /// When its flow may begin.
    start: f64,
    /// Its way, from the time at which the flow begins or its latency starts.
    way: Option<Way>,
    /// Its flow.
    flow: u32,
    /// The hop that held its flow back at the end of the flow.
    held: Option<u32>,
    stage: Stage,
    /// When the link into the network has carried it, at the earliest.
    sent: f64,
    /// The number of its timer in [`Carrier::due`].
    timer: u64,
}

/// How far a message is, seen from its endpoint.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Stage {
    /// No message waits for the endpoint.
    Whole,
    /// A message waits. The flow ends when buffers can take the rest: this many phits.
    Bulk(f64),
    /// A message waits, and buffers can take the rest. The link into the network is still busy.
    Rest,
    /// Buffers have the rest.
    Sent,
}

/// Messages under way.
pub(super) struct Carrier {
    of: Arc<Workload>,
    sources: Sources,
    /// Ticks in a cycle.
    cycle: u64,
    ways: Ways,
    flows: Flows,
    under_way: Vec<Option<Sending>>,
    free: Vec<u32>,
    /// Messages whose flow begins at a known time, and timers (true) of messages at their time [`Sending::sent`].
    due: BinaryHeap<Reverse<(Key, u64, u32, bool)>>,
    number: u64,
    queues: Vec<Queue>,
    /// By endpoint: phits that have been posted and have not been sent completely.
    unsent: Vec<u64>,
    ended: Vec<u32>,
    /// Phits that each link has carried.
    by_link: Vec<f64>,
    /// Bytes of the flows, at most so far.
    held: usize,
}

/// Times, or numbers of phits, that differ by less than this share are one.
const TOGETHER: f64 = 1e-9;

/// Rounding of a time to a tick: a flow that ends this little after a tick ends with it.
const ROUNDING: f64 = 1e-6;

/// The first tick that is not before a time.
fn tick(time: f64) -> u64 {
    (time - ROUNDING - time * 1e-12).ceil() as u64
}

impl Carrier {
    /// The flow of message `place` begins at its time.
    fn file(&mut self, place: u32, start: f64) {
        self.due.push(Reverse((Key(start), self.number, place, false)));
        self.number += 1;
    }

    /// The flow of message `place` begins now.
    fn begin(&mut self, place: u32) {
        let Some(sending) = &mut self.under_way[place as usize] else { return };
        let (from, to) = sending.ends;
        let way = sending.way.get_or_insert_with(|| self.ways.way(&self.flows, from, to));
        if let Some(queue) = self.queues.get_mut(from as usize) {
            queue.sends = Some(place);
        }
        for hop in &*way.hops {
            self.by_link[hop.link as usize] += sending.phits as f64 * hop.share;
        }
        let hops = way.hops.clone();
        let phits = sending.phits as f64;
        sending.sent = self.flows.now() + phits / self.flows.rate_of_link(hops[0].link);
        sending.stage = Stage::Whole;
        sending.flow = self.flows.begin(hops, phits, place);
        if self.queues.get(from as usize).is_some_and(|queue| !queue.next.is_empty()) {
            self.watch(place);
        }
    }

    /// A message waits for the endpoint that sends message `place`. The endpoint need not wait until the last phit has
    /// arrived: as in exact routers, buffers take the rest of the message.
    fn watch(&mut self, place: u32) {
        let Some(Sending { stage: Stage::Whole, flow, .. }) = self.under_way[place as usize] else { return };
        let held = self.flows.held_at(flow);
        let left = self.flows.withdraw(flow);
        self.follow(place, held, left);
    }

    /// Message `place`, which has no flow now, goes on with the phits that are `left`. Hop `held` holds it back.
    fn follow(&mut self, place: u32, held: Option<u32>, left: f64) {
        let now = self.flows.now();
        let Some(sending) = &mut self.under_way[place as usize] else { return };
        let Some(way) = &sending.way else { return };
        let hops = way.hops.clone();
        let room = way.room(held);
        if left > room * (1.0 + TOGETHER) {
            sending.stage = Stage::Bulk(room);
            sending.flow = self.flows.begin(hops, left - room, place);
        } else if sending.sent > now * (1.0 + TOGETHER) {
            sending.stage = Stage::Rest;
            sending.flow = self.flows.begin(hops, left, place);
            sending.timer = self.number;
            self.due.push(Reverse((Key(sending.sent), self.number, place, true)));
            self.number += 1;
        } else {
            sending.stage = Stage::Sent;
            sending.flow = self.flows.begin_after(hops, way.passed(held, left), left, place);
            let (from, phits) = (sending.ends.0 as usize, sending.phits);
            self.unsent[from] = self.unsent[from].saturating_sub(phits);
            self.send_next(from);
        }
    }

    /// The flow of message `place` has ended.
    fn end(&mut self, place: u32, arrived: &mut Vec<(u64, Message)>) {
        let Some(sending) = &self.under_way[place as usize] else { return };
        if let Stage::Bulk(room) = sending.stage {
            let held = sending.held;
            return self.follow(place, held, room);
        }
        let Some(sending) = self.under_way[place as usize].take() else { return };
        self.free.push(place);
        let now = self.flows.now();
        let from = sending.ends.0 as usize;
        let latency = match self.sources {
            Sources::InTurn => sending.way.map_or(0.0, |way| way.latency),
            Sources::Shared => 0.0,
        };
        arrived.push((tick(now + latency), sending.message));
        if sending.stage != Stage::Sent {
            self.unsent[from] = self.unsent[from].saturating_sub(sending.phits);
            self.send_next(from);
        }
    }

    /// The endpoint sends its next message.
    fn send_next(&mut self, from: usize) {
        let now = self.flows.now();
        let Some(queue) = self.queues.get_mut(from) else { return };
        queue.sends = None;
        match queue.next.pop_front() {
            None => queue.busy = false,
            Some(next) => {
                let start = self.under_way[next as usize].as_ref().map_or(now, |sending| sending.start);
                match start <= now {
                    true => self.begin(next),
                    false => self.file(next, start),
                }
            }
        }
    }

    /// When something happens next.
    fn next_time(&mut self) -> Option<f64> {
        let due = self.due.peek().map(|Reverse((Key(time), ..))| *time);
        let end = self.flows.next_end();
        due.into_iter().chain(end).reduce(f64::min)
    }
}

impl Network for Carrier {
    fn hop(&mut self, message: &Message, _hops: u32, now: u64) -> Hop {
        if message.source == message.destination {
            return Hop::Arrives(now);
        }
        let ends @ (from, to) =
            (self.of.endpoint(message.source, message.nic), self.of.endpoint(message.destination, message.nic));
        let phits = phits(&self.of.packets, message.bytes);
        // Like every packet, it starts in the cycle after its generation.
        let start = now.div_ceil(self.cycle).saturating_add(1).saturating_mul(self.cycle) as f64;
        let mut sending = Sending {
            message: *message,
            phits,
            ends,
            start,
            way: None,
            flow: 0,
            held: None,
            stage: Stage::Whole,
            sent: 0.0,
            timer: 0,
        };
        self.unsent[from as usize] = self.unsent[from as usize].saturating_add(phits);
        if self.sources == Sources::Shared {
            let way = self.ways.way(&self.flows, from, to);
            sending.start += way.latency;
            sending.way = Some(way);
        }
        let start = sending.start;
        let place = self.free.pop().unwrap_or_else(|| {
            self.under_way.push(None);
            self.under_way.len() as u32 - 1
        });
        self.under_way[place as usize] = Some(sending);
        match self.queues.get_mut(from as usize) {
            Some(queue) if queue.busy => {
                queue.next.push_back(place);
                if let Some(sends) = queue.sends {
                    self.watch(sends);
                }
            }
            queue => {
                queue.into_iter().for_each(|queue| queue.busy = true);
                self.file(place, start);
            }
        }
        Hop::UnderWay
    }

    fn queued(&self, rank: u32, rail: u8, _now: u64) -> u64 {
        self.unsent[self.of.endpoint(rank, rail) as usize]
    }

    fn overtakes(&self) -> bool {
        // The next message begins while buffers have the rest of the one before.
        true
    }

    fn next(&mut self) -> Option<u64> {
        self.next_time().map(tick)
    }

    fn advance(&mut self, now: u64, arrived: &mut Vec<(u64, Message)>) {
        while let Some(time) = self.next_time()
            && tick(time) <= now
        {
            poll();
            let mut ended = std::mem::take(&mut self.ended);
            self.flows.advance(time, &mut ended);
            // Ends come in the order of the flows' clocks; messages are in the order of sending.
            ended.sort_unstable_by_key(|&place| {
                self.under_way[place as usize].as_ref().map(|sending| (sending.message.source, sending.message.number))
            });
            for &place in &ended {
                if let Some(sending) = &mut self.under_way[place as usize] {
                    sending.held = self.flows.held_of_ended(sending.flow);
                }
            }
            ended.drain(..).for_each(|place| self.end(place, arrived));
            self.ended = ended;
            while let Some(&Reverse((Key(start), number, place, is_timer))) = self.due.peek()
                && start <= time
            {
                self.due.pop();
                if !is_timer {
                    self.begin(place);
                } else if let Some(sending) = &self.under_way[place as usize]
                    && sending.timer == number
                    && sending.stage == Stage::Rest
                {
                    let held = self.flows.held_at(sending.flow);
                    let left = self.flows.withdraw(sending.flow);
                    self.follow(place, held, left);
                }
            }
        }
        self.held = self.held.max(self.flows.bytes_at_least());
    }
}

impl Carries for Carrier {
    fn carried(&self, number: usize, _router: u32, _port: u16) -> u64 {
        self.by_link[number].round() as u64
    }

    fn tables(&self) -> Vec<(&'static str, usize)> {
        vec![("carried", self.by_link.capacity() * size_of::<f64>()), ("flows", self.held)]
    }
}
