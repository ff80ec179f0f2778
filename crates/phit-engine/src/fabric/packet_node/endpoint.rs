//! Endpoints as senders: one packet at a time, the next when the router has answered.

use super::state::{Network, kind};
use crate::engine::Tick;
use crate::fabric::sources::{Sources, cycles};
use crate::traffic::Traffic;
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
        there.next = sources(&self.traffic).draw(endpoint, &mut there.source, &mut self.collector);
    }

    /// Files the sending of the next packet of `endpoint`, from tick `from` on. A packet generated in one tick can be
    /// sent in the next.
    fn schedule(&mut self, endpoint: u32, from: Tick) {
        let Some(packet) = self.endpoints[endpoint].next else { return };
        let from = u64::from(from.max(packet.cycle + 1));
        let at = self.injection_period.map_or(from, |period| period.not_before(from));
        if let Ok(at) = Tick::try_from(at) {
            self.calendar.file_some_time(kind::SEND, at, self.now, endpoint);
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

    /// Opens the measured window, or moves its end.
    pub(crate) fn open_window(&mut self, span: Range<Tick>) {
        let drawn = self.endpoints.iter().filter_map(|endpoint| endpoint.next);
        sources(&self.traffic).open(span, drawn, &mut self.collector);
    }

    /// At the end of the window: records the offered phits, and returns the number of packets generated in the window.
    pub(crate) fn close_window(&mut self) -> u64 {
        let senders =
            self.endpoints.iter().zip(0..).map(|(endpoint, number)| (number, &endpoint.source, endpoint.next));
        let (packets, phits) = sources(&self.traffic).close(senders, &self.collector);
        self.offered_phits = phits;
        packets
    }
}

/// A node's tick is a cycle.
#[inline(always)]
fn sources(traffic: &Traffic) -> Sources<'_> {
    Sources { traffic, ticks_per_cycle: 1, cycles: cycles(1) }
}
