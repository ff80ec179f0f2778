//! Endpoints as senders: one packet at a time, the next when the router has answered.

use super::state::{Network, kind};
use crate::engine::Tick;
use std::ops::Range;

impl Network {
    /// Draws the first packet of every endpoint.
    pub(super) fn start(&mut self) {
        for endpoint in 0..self.endpoints.len() as u32 {
            self.draw(endpoint);
            self.schedule(endpoint, 0);
        }
    }

    fn draw(&mut self, endpoint: u32) {
        let there = &mut self.endpoints[endpoint];
        there.next = self.traffic.next(endpoint, &mut there.source).filter(|packet| packet.cycle < LAST_CYCLE);
        if let Some(packet) = there.next {
            self.collector.generated(packet.cycle, packet.size);
        }
    }

    /// Files the sending of the next packet of `endpoint`, from tick `from` on. A packet generated in one tick can be sent
    /// in the next.
    fn schedule(&mut self, endpoint: u32, from: Tick) {
        let Some(packet) = self.endpoints[endpoint].next else { return };
        let from = u64::from(from.max(packet.cycle + 1));
        let at = self.injection_period.map_or(from, |period| period.not_before(from));
        if let Ok(at) = Tick::try_from(at) {
            self.calendar.file(kind::SEND, at, endpoint, 0);
        }
    }

    /// The next packet of `endpoint` leaves for its router.
    pub(super) fn send(&mut self, endpoint: u32) {
        let Some(packet) = self.endpoints[endpoint].next else { return };
        let link = &self.link_classes[0];
        let on_link = match self.injection_times.0 {
            0 => {
                self.link_classes.serialisation(packet.size.into(), link.injection_bandwidth.unwrap_or(link.bandwidth))
            }
            fixed => fixed,
        };
        let at = self.now + on_link + link.latency;
        self.calendar.file(kind::OFFER, at, endpoint, 0);
    }

    /// The router has answered; a packet that it refused is sent again.
    pub(super) fn replied(&mut self, endpoint: u32, accepted: bool) {
        if accepted {
            self.draw(endpoint);
        }
        self.schedule(endpoint, self.now);
    }

    /// Opens the measured window, or moves its end: counts the packets that have been drawn but not sent.
    pub(crate) fn open_window(&mut self, span: Range<Tick>) {
        let before = self.collector.span();
        self.collector.open(span);
        for packet in self.endpoints.iter().filter_map(|endpoint| endpoint.next) {
            if !before.contains(&packet.cycle) {
                self.collector.generated(packet.cycle, packet.size);
            }
        }
    }

    /// At the end of the window: counts the packets generated in it that the sources have not been asked for yet. Returns
    /// the number of all packets generated in the window.
    pub(crate) fn close_window(&mut self) -> u64 {
        let span = self.collector.span();
        let (mut packets, mut phits) =
            (self.collector.counters.flow.generated_packets, self.collector.counters.flow.generated_phits);
        for (index, endpoint) in self.endpoints.iter().enumerate() {
            let mut source = endpoint.source.clone();
            let mut next = endpoint.next;
            while next.is_some_and(|packet| packet.cycle < span.end) {
                next = self.traffic.next(index as u32, &mut source);
                if let Some(packet) = next.filter(|packet| span.contains(&packet.cycle)) {
                    packets += 1;
                    phits += u64::from(packet.size);
                }
            }
        }
        self.offered_phits = phits;
        packets
    }
}

/// Packets of later cycles cannot be sent: ticks have 32 bits.
const LAST_CYCLE: Tick = Tick::MAX - 1;
