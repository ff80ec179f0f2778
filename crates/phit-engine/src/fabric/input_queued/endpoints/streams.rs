//! Endpoints whose packets are of several classes: a source queue for each.
//!
//! An endpoint sends a flit at a time over the one link to its router, of the class with the highest priority that can
//! send one; classes of equal priority take turns. Flits of two packets never mix in one injection queue.

use super::exchange::Sending;
use crate::engine::Tick;
use crate::fabric::input_queued::options::kernel::{General, Kernel};
use crate::fabric::input_queued::partition::Partition;
use crate::fabric::sources::Sources;
use crate::packet::{Packet, classified};
use crate::traffic::{Classes, Generated, Source, Traffic};
use std::ops::Range;

/// The packets of one class of an endpoint.
#[derive(Debug)]
struct Stream {
    source: Source,
    /// Next packet to send; `None` if there is none for ever.
    next: Option<Generated>,
    sending: Sending,
}

/// What the endpoints of a partition have of each class.
#[derive(Debug)]
pub(crate) struct Streams {
    /// By class; the lowest goes first.
    ranks: Vec<u8>,
    /// By endpoint of the partition, and class.
    streams: Vec<Stream>,
    /// By endpoint: the class of which it has sent a flit last.
    last: Vec<u8>,
}

impl Streams {
    /// Of `endpoints`, by their numbers in the network, before anything has happened; `seed` is the scenario's.
    pub(crate) fn new(classes: &Classes, endpoints: impl Iterator<Item = u32>, seed: u64) -> Self {
        let mut streams = Vec::new();
        for endpoint in endpoints {
            streams.extend((0..).zip(&classes.traffic).map(|(class, traffic)| Stream {
                source: traffic.source(endpoint, classes.seed(seed, class)),
                next: None,
                sending: Sending::default(),
            }));
        }
        let last = vec![0; streams.len() / classes.ranks.len()];
        Self { ranks: classes.ranks.clone(), streams, last }
    }

    fn classes(&self) -> usize {
        self.ranks.len()
    }

    /// Of endpoint `e`, by class.
    fn of(&self, e: u32) -> &[Stream] {
        &self.streams[e as usize * self.classes()..][..self.classes()]
    }

    fn stream(&mut self, e: u32, class: usize) -> &mut Stream {
        let place = e as usize * self.classes() + class;
        &mut self.streams[place]
    }

    /// All of one class, by endpoint.
    fn of_class(&self, class: usize) -> impl Iterator<Item = &Stream> {
        self.streams.iter().skip(class).step_by(self.classes())
    }

    /// By what an allocator puts the packet before others: the lowest goes first.
    pub(crate) fn rank(&self, packet: &Packet) -> Tick {
        self.ranks[usize::from(packet.class())].into()
    }

    /// Flits that endpoint `e` has sent into injection queue `lane` of a packet of which some are missing.
    pub(crate) fn sent(&self, e: u32, lane: u32) -> Option<u16> {
        let sending = self.of(e).iter().map(|stream| stream.sending);
        sending.filter(|it| it.sent > 0 && u32::from(it.lane) == lane).map(|it| it.sent).next()
    }

    /// True if endpoint `e` has something to send, now or later.
    pub(crate) fn has_packets(&self, e: u32) -> bool {
        self.of(e).iter().any(|stream| stream.next.is_some())
    }

    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        self.streams.capacity() * size_of::<Stream>() + self.last.capacity() + self.ranks.capacity()
    }
}

impl Partition {
    /// By what allocators that go by classes put the packet before others.
    pub(crate) fn rank(&self, packet: u32) -> Tick {
        self.streams.as_ref().map_or(0, |streams| streams.rank(&self.packets[packet]))
    }

    fn sources_of<'a>(&self, traffic: &'a Traffic) -> Sources<'a> {
        Sources { traffic, ticks_per_cycle: self.settings.ticks_per_cycle, cycles: self.settings.cycles }
    }

    /// Draws the first packets of endpoint `e`.
    pub(crate) fn draw_of_classes(&mut self, e: u32) {
        let classes = self.streams.as_ref().map_or(0, |streams| streams.classes());
        (0..classes).for_each(|class| self.draw_of_class(e, class));
    }

    /// Draws the next packet of a class of endpoint `e`.
    fn draw_of_class(&mut self, e: u32, class: usize) {
        let Some(classes) = self.traffic.classes() else { return };
        let sources = self.sources_of(&classes.traffic[class]);
        let Some(streams) = &mut self.streams else { return };
        let stream = streams.stream(e, class);
        stream.next = sources.draw(self.endpoints[e].number, &mut stream.source, &mut self.collector);
        if let Some(packet) = stream.next {
            let birth = packet.cycle * self.settings.ticks_per_cycle;
            if self.collector.span().contains(&birth) {
                self.collector.counters.classes.drawn(class, packet.size);
            }
        }
    }

    /// Opens the measured window, or moves its end.
    pub(crate) fn open_window_of_classes(&mut self, span: Range<Tick>) {
        let Some(streams) = &self.streams else { return };
        let (before, cycle) = (self.collector.span(), self.settings.ticks_per_cycle);
        let (traffic, classes) = (self.traffic.clone(), streams.classes());
        let drawn: Vec<(usize, Generated)> = (0..classes)
            .flat_map(|class| streams.of_class(class).filter_map(move |stream| Some((class, stream.next?))))
            .collect();
        let packets = drawn.iter().map(|(_, packet)| *packet);
        self.sources_of(&traffic).open(span.clone(), packets, &mut self.collector);
        for (class, packet) in drawn {
            let birth = packet.cycle * cycle;
            self.collector.counters.classes.moved(class, packet.size, before.contains(&birth), span.contains(&birth));
        }
    }

    /// At the end of the window: packets and phits generated in it.
    pub(crate) fn close_window_of_classes(&mut self) -> (u64, u64) {
        let (Some(streams), traffic) = (&self.streams, self.traffic.clone()) else { return (0, 0) };
        let flow = &self.collector.counters.flow;
        let mut all = (flow.generated_packets, flow.generated_phits);
        let span = self.collector.span();
        let beyond: Vec<(u64, u64)> = (0..)
            .zip(traffic.by_class())
            .map(|(class, traffic)| {
                let streams = self.endpoints.iter().zip(streams.of_class(class));
                let senders = streams.map(|(endpoint, stream)| (endpoint.number, &stream.source, stream.next));
                self.sources_of(traffic).beyond(senders, span.clone())
            })
            .collect();
        for (class, (packets, phits)) in beyond.into_iter().enumerate() {
            all = (all.0 + packets, all.1 + phits);
            self.collector.counters.classes.closed(class, phits);
        }
        all
    }

    /// Sends what endpoint `e` can send now, and files its next attempt if only time is missing.
    #[inline(never)]
    pub(crate) fn send_of_classes<K: Kernel>(&mut self, e: u32) {
        loop {
            let Some(streams) = &self.streams else { return };
            let (endpoint, cycle) = (&self.endpoints[e], self.settings.ticks_per_cycle);
            let free = endpoint.free;
            let (own, last) = (streams.of(e), usize::from(streams.last[e as usize]));
            // Where the crossbar is held for a packet, so is the link: until it is through, only higher classes come
            // between.
            let held = self.settings.connects_packets && own[last].sending.sent > 0;
            let turns = (0..own.len()).map(|turn| (last + turn + usize::from(!held)) % own.len());
            let (mut next, mut blocked) = (None::<Tick>, false);
            let mut chosen = None::<(usize, Generated, u16, u32)>;
            for class in turns {
                let (Stream { next: drawn, sending, .. }, rank) = (&own[class], streams.ranks[class]);
                let Some(packet) = *drawn else { continue };
                // A packet generated in one cycle can be sent in the next.
                let at = ((packet.cycle + 1) * cycle).max(free);
                if at > self.now {
                    next = next.into_iter().chain([at]).min();
                    continue;
                }
                if chosen.is_some_and(|(best, ..)| streams.ranks[best] <= rank) {
                    continue;
                }
                let size = self.config.flit_phits(packet.size, sending.sent);
                match self.lane_of_class(e, own, *sending, packet, size) {
                    Some(lane) => chosen = Some((class, packet, lane, size)),
                    None => blocked = true,
                }
            }
            let Some((class, packet, lane, size)) = chosen else {
                self.endpoints[e].blocked = blocked;
                return self.attempt_at(e, next);
            };
            self.endpoints[e].sent = own[class].sending.sent;
            self.send_flit::<K>(e, packet, lane, size, classified(class as u8));
            let sent = std::mem::take(&mut self.endpoints[e].sent);
            let Some(streams) = &mut self.streams else { return };
            streams.last[e as usize] = class as u8;
            streams.stream(e, class).sending = Sending { sent, lane };
            if sent == 0 {
                self.draw_of_class(e, class);
            }
        }
    }

    /// The injection queue for the next flit of a class, if it has room.
    fn lane_of_class(&self, e: u32, own: &[Stream], sending: Sending, packet: Generated, size: u32) -> Option<u16> {
        let channel = self.endpoints[e].channel;
        if sending.sent > 0 {
            let credits = self.tables.channels[channel + u32::from(sending.lane)].credits;
            return Some(sending.lane).filter(|_| credits >= size as i32);
        }
        let lanes = 0..self.settings.injection_queues;
        let open = |lane: u16| !own.iter().any(|other| other.sending.sent > 0 && other.sending.lane == lane);
        self.choose_lane::<General>(channel, sending.lane, lanes, packet.destination, size, open)
    }
}
