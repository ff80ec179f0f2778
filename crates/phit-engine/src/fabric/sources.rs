//! Injection: the sequences of packets that the endpoints' sources draw, and their counts.
//!
//! An endpoint's source queue is unlimited but virtual. Its packets are a sequence determined by its own random stream,
//! so only the next one is ever stored. A saturated run therefore needs no more memory than any other.

use crate::engine::Tick;
use crate::measure::Collector;
use crate::traffic::{Generated, Source, Traffic};
use std::ops::Range;

/// The sources of a network, or of a part of it.
pub(crate) struct Sources<'a> {
    /// The traffic.
    pub traffic: &'a Traffic,
    /// Ticks per link cycle.
    pub ticks_per_cycle: Tick,
    /// First cycle whose packets cannot be sent any more, see [`cycles`].
    pub cycles: Tick,
}

/// Number of cycles whose ticks fit in 32 bits.
pub(crate) fn cycles(ticks_per_cycle: Tick) -> Tick {
    Tick::MAX / ticks_per_cycle - 1
}

impl Sources<'_> {
    /// The next packet of `endpoint`; `None` also if its tick does not fit in 32 bits.
    #[inline(always)]
    pub(super) fn following(&self, endpoint: u32, source: &mut Source) -> Option<Generated> {
        self.traffic.next(endpoint, source).filter(|packet| packet.cycle < self.cycles)
    }

    #[inline(always)]
    fn birth(&self, packet: Generated) -> Tick {
        packet.cycle * self.ticks_per_cycle
    }

    /// Draws the next packet of `endpoint`, and counts it.
    #[inline(always)]
    pub(super) fn draw(&self, endpoint: u32, source: &mut Source, collector: &mut Collector) -> Option<Generated> {
        let next = self.following(endpoint, source);
        if let Some(packet) = next {
            collector.generated(self.birth(packet), packet.size);
        }
        next
    }

    /// Opens the measured window, or moves its end. Counts the packets in `drawn`, which have been drawn but not sent,
    /// and uncounts packets beyond an end that moves to an earlier tick.
    pub(super) fn open(&self, span: Range<Tick>, drawn: impl Iterator<Item = Generated>, collector: &mut Collector) {
        let before = collector.span();
        collector.open(span.clone());
        for packet in drawn {
            match (before.contains(&self.birth(packet)), span.contains(&self.birth(packet))) {
                (false, true) => collector.generated(self.birth(packet), packet.size),
                (true, false) => collector.counters.flow.not_generated(packet.size),
                _ => {}
            }
        }
    }

    /// At the end of the window: the number of packets generated in it, and of their phits. This includes packets that
    /// the sources have not drawn yet. `senders` are the endpoints by number, each with its source and its drawn
    /// packet.
    pub(super) fn close<'b>(
        &self,
        senders: impl Iterator<Item = (u32, &'b Source, Option<Generated>)>,
        collector: &Collector,
    ) -> (u64, u64) {
        // The first packet of a source queue has been counted already.
        let flow = &collector.counters.flow;
        let beyond = self.beyond(senders, collector.span());
        (flow.generated_packets + beyond.0, flow.generated_phits + beyond.1)
    }

    /// The packets generated in `span` after the drawn ones, and their phits.
    pub(super) fn beyond<'b>(
        &self,
        senders: impl Iterator<Item = (u32, &'b Source, Option<Generated>)>,
        span: Range<Tick>,
    ) -> (u64, u64) {
        let (mut packets, mut phits) = (0, 0);
        for (endpoint, source, mut next) in senders {
            let mut source = source.clone();
            if next.is_some_and(|packet| self.birth(packet) < span.end) {
                let cycle = |tick: Tick| u64::from(tick.div_ceil(self.ticks_per_cycle).min(self.cycles));
                if let Some(counted) = self.traffic.count(endpoint, &source, cycle(span.start)..cycle(span.end)) {
                    (packets, phits) = (packets + counted.0, phits + counted.1);
                    continue;
                }
            }
            while let Some(before) = next.filter(|packet| self.birth(*packet) < span.end) {
                let rest = self.traffic.rest_of_message(endpoint, &mut source);
                if span.contains(&self.birth(before)) {
                    packets += rest.0;
                    phits += rest.1;
                }
                next = self.following(endpoint, &mut source);
                if let Some(packet) = next.filter(|packet| span.contains(&self.birth(*packet))) {
                    packets += 1;
                    phits += u64::from(packet.size);
                }
            }
        }
        (packets, phits)
    }
}
