//! Endpoints whose packets are of several classes: a source queue for each.
//!
//! An endpoint sends one flit at a time over the one link to its router. The flit is of the class with the highest
//! priority that can send one; classes of equal priority take turns. Flits of two packets never mix in one injection
//! queue.

use super::endpoint::Endpoint;
use super::exchange::Sending;
use super::room::Entering;
use super::seam::{Flit, Next, Sender, SenderContext, Site};
use crate::engine::{Table, Tick};
use crate::fabric::input_queued::options::kernel::{General, Kernel};
use crate::fabric::sources::Sources;
use crate::measure::Collector;
use crate::packet::{Packet, classified};
use crate::traffic::{Generated, Source};

/// The packets of one class of an endpoint.
#[derive(Debug)]
struct Stream {
    source: Source,
    /// Next packet to send; `None` if there is none for ever.
    next: Option<Generated>,
    sending: Sending,
}

/// The streams of a partition's endpoints, one of each class.
#[derive(Debug)]
pub(crate) struct Streams {
    /// By class: its rank. The lowest rank goes first.
    ranks: Vec<u8>,
    /// By endpoint of the partition and class: its stream.
    streams: Vec<Stream>,
    /// By endpoint: the class of its latest flit.
    last: Vec<u8>,
}

impl Streams {
    fn classes(&self) -> usize {
        self.ranks.len()
    }

    /// The streams of endpoint `e`, by class.
    fn of(&self, e: u32) -> &[Stream] {
        &self.streams[e as usize * self.classes()..][..self.classes()]
    }

    fn stream(&mut self, e: u32, class: usize) -> &mut Stream {
        let place = e as usize * self.classes() + class;
        &mut self.streams[place]
    }

    /// All streams of one class, by endpoint.
    fn of_class(&self, class: usize) -> impl Iterator<Item = &Stream> {
        self.streams.iter().skip(class).step_by(self.classes())
    }

    /// The rank of a packet for allocators: the lowest goes first.
    pub(crate) fn rank(&self, packet: &Packet) -> Tick {
        self.ranks[usize::from(packet.class())].into()
    }
}

impl Sender for Streams {
    fn new(context: &SenderContext<'_>) -> Option<Self> {
        let classes = context.traffic.classes()?;
        let mut streams = Vec::new();
        for endpoint in context.endpoints {
            streams.extend((0..).zip(&classes.traffic).map(|(class, traffic)| Stream {
                source: traffic.source(endpoint.number, classes.seed(context.seed, class)),
                next: None,
                sending: Sending::default(),
            }));
        }
        let last = vec![0; context.endpoints.len()];
        Some(Self { ranks: classes.ranks.clone(), streams, last })
    }

    fn next<K: Kernel>(&mut self, e: u32, at: &mut Site<'_>) -> Next {
        let (own, last) = (self.of(e), usize::from(self.last[e as usize]));
        // A packet that holds the crossbar also holds the link: until it is through, only higher classes come between.
        let held = at.setup.settings.choices.connects_packets && own[last].sending.sent > 0;
        let turns = (0..own.len()).map(|turn| (last + turn + usize::from(!held)) % own.len());
        let (mut next, mut blocked) = (None::<Tick>, false);
        let mut chosen = None::<(u8, Flit)>;
        for class in turns {
            let (Stream { next: drawn, sending, .. }, rank) = (&own[class], self.ranks[class]);
            let Some(packet) = *drawn else { continue };
            let tick = at.earliest(&packet).max(at.endpoint.free);
            if tick > at.now {
                next = next.into_iter().chain([tick]).min();
                continue;
            }
            if chosen.is_some_and(|(best, _)| best <= rank) {
                continue;
            }
            let size = at.setup.config.flit_phits(packet.size, sending.sent);
            let (stream, before) = (class as u8, sending.sent);
            match lane_of(own, *sending, packet, size, at) {
                Some(lane) => {
                    chosen = Some((rank, Flit { packet, size, lane, before, mark: classified(stream), stream }));
                }
                None => blocked = true,
            }
        }
        chosen.map_or(Next::Wait { at: next, blocked }, |(_, flit)| Next::Send(flit))
    }

    fn sent(&mut self, e: u32, flit: &Flit, at: &mut Site<'_>) {
        let sent = std::mem::take(&mut at.endpoint.sent);
        let class = usize::from(flit.stream);
        self.last[e as usize] = flit.stream;
        self.stream(e, class).sending = Sending { sent, lane: flit.lane };
        if sent == 0 {
            self.draw_of(e, class, at);
        }
    }

    fn draw(&mut self, e: u32, at: &mut Site<'_>) {
        (0..self.classes()).for_each(|class| self.draw_of(e, class, at));
    }

    fn drawn(&self, _: &Table<Endpoint>) -> Vec<(usize, Generated)> {
        let of = |class| self.of_class(class).filter_map(move |stream| Some((class, stream.next?)));
        (0..self.classes()).flat_map(of).collect()
    }

    fn generated(&self, endpoints: &Table<Endpoint>, sources: &Sources<'_>, collector: &mut Collector) -> (u64, u64) {
        let flow = &collector.counters.flow;
        let (mut all, span) = ((flow.generated_packets, flow.generated_phits), collector.span());
        for (class, traffic) in (0..).zip(sources.traffic.by_class()) {
            let streams = endpoints.iter().zip(self.of_class(class));
            let senders = streams.map(|(endpoint, stream)| (endpoint.number, &stream.source, stream.next));
            let (packets, phits) = Sources { traffic, ..*sources }.beyond(senders, span.clone());
            all = (all.0 + packets, all.1 + phits);
            collector.counters.classes.closed(class, phits);
        }
        all
    }

    fn unfinished(&self, e: u32, _: &Endpoint, lane: u32) -> Option<u16> {
        let sending = self.of(e).iter().map(|stream| stream.sending);
        sending.filter(|it| it.sent > 0 && u32::from(it.lane) == lane).map(|it| it.sent).next()
    }

    fn has_packets(&self, e: u32) -> bool {
        self.of(e).iter().any(|stream| stream.next.is_some())
    }

    fn bytes(&self) -> usize {
        self.streams.capacity() * size_of::<Stream>() + self.last.capacity() + self.ranks.capacity()
    }
}

impl Streams {
    /// Draws the next packet of a class of endpoint `e`.
    fn draw_of(&mut self, e: u32, class: usize, at: &mut Site<'_>) {
        let Some(classes) = at.setup.traffic.classes() else { return };
        let (ticks_per_cycle, cycles) = (at.setup.settings.ticks_per_cycle, at.setup.settings.cycles);
        let sources = Sources { traffic: &classes.traffic[class], ticks_per_cycle, cycles };
        let stream = self.stream(e, class);
        stream.next = sources.draw(at.endpoint.number, &mut stream.source, at.collector);
        if let Some(packet) = stream.next
            && at.collector.span().contains(&(packet.cycle * ticks_per_cycle))
        {
            at.collector.counters.classes.drawn(class, packet.size);
        }
    }
}

/// The injection queue for the next flit of a class, if it has room: one into which no other class is sending a packet.
fn lane_of(own: &[Stream], sending: Sending, packet: Generated, size: u32, at: &Site<'_>) -> Option<u16> {
    let channel = at.endpoint.channel;
    if sending.sent > 0 {
        return Some(sending.lane).filter(|lane| at.room.credits(channel, *lane) >= size as i32);
    }
    let entering = Entering { channel, last: sending.lane, destination: packet.destination, size };
    let open = |lane: u16| !own.iter().any(|other| other.sending.sent > 0 && other.sending.lane == lane);
    at.room.choose::<General>(entering, 0..at.setup.settings.injection_queues, open)
}
