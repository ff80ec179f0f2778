//! Pauses of links: the thresholds of each buffer, and the headroom that makes them lossless.
//!
//! A buffer whose phits exceed the threshold xoff asks for a pause. Up to the last phit that the sender still sends,
//! the following may come, and the headroom has room for it:
//!
//! 1. The frame waits for the link back: flits that have been granted before go first. These have left the crossbar
//!    after `through` cycles, are no more than the output buffer and the flit on the link, and may be behind one frame.
//! 2. The frame is sent, and takes the latency of the link.
//! 3. The sender grants nothing more. Flits that have been granted leave the crossbar and the output buffer.
//! 4. The last flit takes the latency of the link.
//!
//! In all this time the link brings phits at its rate. One flit more has made the buffer exceed xoff, and one may have
//! been on the link.

use super::params::{FlowControl, Pfc, RouterParams, Switching};
use crate::bandwidth::{Bandwidth, Injection};
use crate::fabric::described;
use crate::fabric::links::Phits;
use crate::packet::MOST_CLASSES;
use crate::topology::Topology;

/// Most virtual channels of a link with pauses: the priorities that a frame of IEEE 802.1Qbb can name.
pub(crate) const MOST_PRIORITIES: u16 = 8;

/// When buffers ask for pauses, by class of the links into them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PauseRule {
    /// Phits of a frame.
    pub frame: u32,
    /// A buffer with more phits asks its sender to pause.
    pub xoff: [u32; MOST_CLASSES],
    /// A buffer with no more phits lets its sender go on.
    pub xon: [u32; MOST_CLASSES],
}

/// The rates of a link, and its times.
struct Way {
    /// Phits per cycle towards the buffer, and back.
    rates: (f64, f64),
    /// Cycles towards the buffer, and back.
    latencies: (u32, u32),
    /// An endpoint sends.
    from_endpoint: bool,
}

impl<A> RouterParams<A> {
    /// The settings of pauses, if links pause.
    pub(crate) fn pfc(&self) -> Option<Pfc> {
        (self.flow_control == FlowControl::Pfc).then(|| self.pfc.unwrap_or_default())
    }

    /// The thresholds for packets of up to `largest` phits, if links pause.
    pub(crate) fn pause_rule(&self, topology: &dyn Topology, largest: u32) -> Option<PauseRule> {
        let pfc = self.pfc()?;
        let mut rule = PauseRule { frame: pfc.frame, xoff: [0; MOST_CLASSES], xon: [0; MOST_CLASSES] };
        let unit = self.unit(largest);
        for (number, class) in topology.classes().iter().enumerate().take(MOST_CLASSES) {
            let buffer = described(&self.links, class).1.buffer.or_huge();
            let headroom = pfc.headroom.unwrap_or_else(|| self.headroom(topology, number, unit, pfc.frame));
            let xoff = buffer.saturating_sub(headroom);
            rule.xoff[number] = xoff;
            rule.xon[number] = xoff - pfc.hysteresis.unwrap_or(largest).min(xoff);
        }
        Some(rule)
    }

    /// Phits of the largest flit.
    pub(crate) fn unit(&self, largest: u32) -> u32 {
        match self.switching {
            Switching::Wormhole => largest.min(self.flit_size),
            Switching::VirtualCutThrough | Switching::StoreAndForward => largest,
        }
    }

    /// The least headroom of buffers behind links of class `number` that loses nothing, in phits.
    pub(crate) fn headroom(&self, topology: &dyn Topology, number: usize, unit: u32, frame: u32) -> u32 {
        let way = self.way(topology, number, unit);
        let (unit, frame) = (f64::from(unit), f64::from(frame));
        let buffered = f64::from(self.output_buffer.finite().unwrap_or(0));
        let through = f64::from(self.latency) + unit / self.slowest(topology) + 1.0;
        let ((to, back), (coming, going)) = (way.rates, way.latencies);
        let waits = through + (buffered + unit + frame) / back;
        let reaches = waits + frame / back + f64::from(going.max(1)) + 1.0;
        let goes_on = if way.from_endpoint { 1.0 } else { through + buffered / to };
        let phits = to * (reaches + goes_on + f64::from(coming)) + 2.0 * unit;
        // The sizes of buffers are whole phits, and a float beyond the largest becomes the largest.
        phits.ceil() as u32
    }

    fn way(&self, topology: &dyn Topology, number: usize, unit: u32) -> Way {
        let link = described(&self.links, &topology.classes()[number]).1;
        let rate = link.bandwidth.to_f64();
        if number > 0 {
            return Way { rates: (rate, rate), latencies: (link.latency, link.latency), from_endpoint: false };
        }
        let own = (0..topology.endpoints()).filter_map(|endpoint| topology.endpoint_bandwidth(endpoint));
        let (least, most) =
            own.map(Bandwidth::to_f64).fold((rate, rate), |(least, most), own| (least.min(own), most.max(own)));
        let injects = match link.injection_bandwidth.map(Injection::finite) {
            None => most,
            Some(Some(own)) => own.to_f64(),
            // A packet in each cycle.
            Some(None) => most.max(unit.into()),
        };
        let back = link.ejection_latency.unwrap_or(link.latency);
        Way { rates: (injects, least), latencies: (link.latency, back), from_endpoint: true }
    }

    /// Phits per cycle of the slowest link, or of the crossbar if that is slower.
    fn slowest(&self, topology: &dyn Topology) -> f64 {
        let classes = topology.classes().iter().map(|class| described(&self.links, class).1.bandwidth.to_f64());
        let endpoints = self.way(topology, 0, 1).rates;
        let crossbar = self.crossbar_bandwidth.map_or(1.0, Bandwidth::to_f64);
        classes.chain([endpoints.0, endpoints.1, crossbar, 1.0]).fold(f64::INFINITY, f64::min)
    }

    /// True if the output buffer has a size, as pauses need it.
    pub(crate) fn buffers_end(&self) -> bool {
        self.output_buffer != Phits::Infinite
    }
}
