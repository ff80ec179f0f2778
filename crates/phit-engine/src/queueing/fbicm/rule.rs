//! The protocol: the state, and what happens when. `isolation` is what a port does with its packets, `propagation` what
//! ports tell one another, `report` and `audit` what is seen from outside.

use super::line::{Copy, Demand, Line};
use super::{Fbicm, Version};
use crate::engine::Tick;
use crate::fabric::seams::routing::{Payload, one_channel};
use crate::measure::{Observable, Total};
use crate::packet::Packet;
use crate::queueing::{Branch, Manager, PortPlace, QueueSite, QueueingContext};
use crate::topology::{Crossing, Hop, Leg, RouteTable, Topology};
use std::sync::Arc;

mod audit;
mod isolation;
mod propagation;
mod report;

pub(super) use report::{OBSERVABLES, TOTALS};
#[cfg(test)]
mod tests;

/// The input side of a virtual channel: its NFQ and its CAM.
#[derive(Debug, Clone, Default)]
struct Buffer {
    /// Phits in the NFQ.
    phits: u32,
    /// A packet has come into the NFQ since the last review.
    arrival: bool,
    /// Something has changed by which the first packet of the NFQ may have to be moved.
    stirred: bool,
    /// Of the first packet of the NFQ, once it has been asked for.
    front: Option<Demand>,
    /// Active lines; without any the CAM is switched off.
    active: u32,
    /// Tick at which the CAM was switched on.
    on_since: Tick,
    lines: Vec<Line>,
}

impl Buffer {
    /// The active line of `destination`. No two lines of a buffer have a destination in common.
    #[inline]
    fn find(&self, destination: u32) -> Option<usize> {
        // Most buffers have none, and many lines are free.
        let mut active = self.lines.iter().enumerate().filter(|(_, line)| line.active).take(self.active as usize);
        active.find(|(_, line)| line.has(destination)).map(|(number, _)| number)
    }
}

/// The line of an output, if any, that has `destination`.
#[inline]
fn find_copy(copies: &[Copy], destination: u32) -> Option<u8> {
    copies.iter().position(|copy| copy.has(destination)).map(|line| line as u8)
}

/// What has been counted since the start of the run.
#[derive(Debug, Clone, Default)]
struct Counts {
    detections: u64,
    allocated: u64,
    freed: u64,
    lifetime: u64,
    cam_on: u64,
    without_line: u64,
    moved: u64,
    sent: [(u64, u64); 5],
}

/// FBICM at the ports and endpoints of one partition.
pub(super) struct Rule {
    params: Fbicm,
    table: Arc<RouteTable>,
    ticks_per_cycle: Tick,
    topology: Arc<dyn Topology>,
    /// By port.
    places: Vec<PortPlace>,
    /// Virtual channels per link class.
    channels: Vec<u8>,
    /// Most virtual channels of a port.
    vcs: u32,
    /// By port and virtual channel.
    buffers: Vec<Buffer>,
    /// Lines of outputs, by port, virtual channel and line.
    outputs: Vec<Copy>,
    /// Active lines of outputs, by port.
    known: Vec<u32>,
    /// Lines of endpoints.
    sources: Vec<Copy>,
    hops: Vec<Hop>,
    counts: Counts,
}

impl Rule {
    pub(super) fn new(
        params: Fbicm,
        context: &QueueingContext,
        table: Arc<RouteTable>,
        ports: u32,
        endpoints: u32,
    ) -> Self {
        let vcs = context.vcs.iter().copied().max().unwrap_or(1).into();
        let cfqs = params.cfqs as usize;
        let buffers = (ports * vcs) as usize;
        Self {
            buffers: vec![Buffer { lines: vec![Line::default(); cfqs], ..Buffer::default() }; buffers],
            outputs: vec![Copy::default(); buffers * cfqs],
            known: vec![0; ports as usize],
            sources: vec![Copy::default(); endpoints as usize * cfqs],
            ticks_per_cycle: context.ticks_per_cycle,
            topology: context.topology.clone(),
            places: context.places(),
            channels: context.vcs.clone(),
            vcs,
            table,
            params,
            hops: Vec::new(),
            counts: Counts::default(),
        }
    }

    fn buffer(&self, port: u32, vc: u8) -> usize {
        (port * self.vcs + u32::from(vc)) as usize
    }

    /// The lines of an output.
    fn copies(&self, port: u32, vc: u8) -> &[Copy] {
        let first = self.buffer(port, vc) * self.params.cfqs as usize;
        &self.outputs[first..first + self.params.cfqs as usize]
    }

    fn copies_mut(&mut self, port: u32, vc: u8) -> &mut [Copy] {
        let first = self.buffer(port, vc) * self.params.cfqs as usize;
        &mut self.outputs[first..first + self.params.cfqs as usize]
    }

    fn nfq(&self, vc: u8) -> u16 {
        (u32::from(vc) * self.params.queues()) as u16
    }

    fn cfq(&self, vc: u8, line: usize) -> u16 {
        self.nfq(vc) + 1 + line as u16
    }

    /// Virtual channel and line of a queue; no line for the NFQ.
    fn place(&self, queue: u16) -> (u8, Option<usize>) {
        let queues = self.params.queues();
        let (vc, place) = (u32::from(queue) / queues, u32::from(queue) % queues);
        (vc as u8, place.checked_sub(1).map(|line| line as usize))
    }

    /// What the first packet of the NFQ, or of the CFQ of a line, asks for. It is worked out once for each packet.
    #[inline]
    fn demand(&mut self, site: &dyn QueueSite, port: u32, vc: u8, line: Option<usize>) -> Option<Demand> {
        let b = self.buffer(port, vc);
        let kept = match line {
            None => self.buffers[b].front,
            Some(line) => self.buffers[b].lines[line].front,
        };
        if kept.is_some() {
            return kept;
        }
        let found = self.asked(site, port, line.map_or(self.nfq(vc), |line| self.cfq(vc, line)));
        match line {
            None => self.buffers[b].front = found,
            Some(line) => self.buffers[b].lines[line].front = found,
        }
        found
    }

    /// What the first packet of `queue` asks for, by the table.
    fn asked(&mut self, site: &dyn QueueSite, port: u32, queue: u16) -> Option<Demand> {
        let packet = site.head(port, queue)?;
        let PortPlace { router, first, .. } = self.places[port as usize];
        let output = self.table.port(router, packet.destination);
        let index = first + u32::from(output);
        let class = self.places[index as usize].class;
        let vc = match self.table.layers() {
            Some(_) => {
                let input = (port - first) as u16;
                self.table.channel(packet.flags, Crossing { router, input, output })
            }
            None => one_channel(&*self.topology, router, output, class, packet, &self.channels, &mut self.hops).vc,
        };
        Some(Demand { output: index, vc, destination: packet.destination, size: packet.size })
    }

    /// The lines of `output` have changed: whatever waits for it at the inputs of its router is to be looked at.
    fn stir(&mut self, output: u32) {
        let PortPlace { first, end, .. } = self.places[output as usize];
        for buffer in &mut self.buffers[(first * self.vcs) as usize..(end * self.vcs) as usize] {
            // With adaptive routing it depends on all outputs that the packet may take.
            buffer.stirred |= self.table.adaptive || buffer.front.is_none_or(|front| front.output == output);
            if buffer.active > 0 {
                buffer.lines.iter_mut().for_each(|line| line.stirred |= line.output == output);
            }
        }
    }

    /// With adaptive routing: the first packet of `queue` has another way than the one that the table says, and not all
    /// of its ways are known to be stopped further on. Such a packet is not isolated: it goes round.
    fn goes_round(&mut self, site: &dyn QueueSite, port: u32, queue: u16) -> bool {
        if !self.table.adaptive {
            return false;
        }
        let Some(packet) = site.head(port, queue) else { return false };
        let PortPlace { router, first, .. } = self.places[port as usize];
        self.hops.clear();
        const LEG: Leg = Leg { index: 0, of: 1, to_group: false };
        let (to, state) = (self.topology.attachment(packet.destination).0, packet.hop_state());
        if to == router {
            return false;
        }
        self.topology.minimal_hops(router, to, LEG, state, &self.channels, &mut self.hops);
        let stopped = |hop: &Hop| {
            self.known_at(first + u32::from(hop.port), hop.vc, packet.destination).is_some_and(|(_, stopped)| stopped)
        };
        self.hops.len() > 1 && !self.hops.iter().all(stopped)
    }

    /// The line of an output that has `destination`, and whether it is stopped.
    fn known_at(&self, output: u32, vc: u8, destination: u32) -> Option<(u8, bool)> {
        if self.known[output as usize] == 0 {
            return None;
        }
        let copies = self.copies(output, vc);
        find_copy(copies, destination).map(|line| (line, copies[usize::from(line)].stopped))
    }
}

impl Manager for Rule {
    fn arrived(&mut self, port: u32, queue: u16, packet: &Packet) {
        let (vc, _) = self.place(queue);
        let b = self.buffer(port, vc);
        let buffer = &mut self.buffers[b];
        buffer.phits += u32::from(packet.size);
        (buffer.arrival, buffer.stirred) = (true, true);
    }

    fn left(&mut self, port: u32, queue: u16, packet: &Packet, now: Tick) {
        let (vc, line) = self.place(queue);
        let b = self.buffer(port, vc);
        let buffer = &mut self.buffers[b];
        let size = u32::from(packet.size);
        match line {
            None => {
                buffer.phits -= size;
                (buffer.front, buffer.stirred) = (None, true);
            }
            Some(line) => {
                let line = &mut buffer.lines[line];
                line.phits -= size;
                (line.front, line.stirred) = (None, true);
                if line.phits == 0 {
                    line.empty_since = now;
                }
            }
        }
    }

    fn review(&mut self, site: &mut dyn QueueSite, port: u32) {
        for vc in 0..self.channels[usize::from(self.places[port as usize].class)] {
            let b = self.buffer(port, vc);
            let buffer = &mut self.buffers[b];
            let arrival = std::mem::take(&mut buffer.arrival);
            if std::mem::take(&mut buffer.stirred) && buffer.phits > 0 {
                self.post_process(site, port, vc, arrival);
            }
            let (mut number, mut open) = (0, self.buffers[b].active);
            while open > 0 {
                let line = &self.buffers[b].lines[number];
                if line.active {
                    // One that is empty waits for its timer.
                    if line.stirred || line.phits == 0 {
                        self.tend(site, port, vc, number);
                    }
                    open -= 1;
                }
                number += 1;
            }
        }
    }

    fn hear(&mut self, _: &mut dyn QueueSite, port: u32, message: &Payload) {
        self.heard(port, message);
    }

    fn hear_endpoint(&mut self, site: &mut dyn QueueSite, endpoint: u32, message: &Payload) {
        self.heard_by_endpoint(site, endpoint, message);
    }

    fn rank(&self, port: u32, queue: u16, entry: Tick) -> u64 {
        let (vc, line) = self.place(queue);
        let class = match (line, self.params.version) {
            (None, _) => 0,
            (Some(_), Version::First) => 1,
            (Some(line), Version::New) => 1 + u64::from(self.buffers[self.buffer(port, vc)].lines[line].next.is_some()),
        };
        class << 60 | u64::from(entry) << 16 | u64::from(queue)
    }

    fn observe(&self, port: u32, _: Tick, see: &mut dyn FnMut(&'static Observable, u32)) {
        self.quantities(port, see);
    }

    fn trees(&self, port: u32, see: &mut dyn FnMut(&Branch<'_>)) {
        self.branches(port, see);
    }

    fn totals(&self, now: Tick) -> Vec<(&'static Total, u64)> {
        self.summary(now)
    }

    fn audit(&self, port: u32, held: &dyn Fn(u16) -> u32) -> Result<(), String> {
        (0..self.vcs as u8).try_for_each(|vc| self.check(port, vc, held))
    }

    fn bytes(&self) -> usize {
        self.size()
    }
}
