//! The protocol: its state, and its reactions to events. `isolation` handles the packets of a port, `propagation` the
//! messages between ports. `report` and `audit` are views from outside.

use super::line::{Copy, Demand, Line, Signatures, has, insert};
use super::{Fbicm, Marks, Version};
use crate::engine::bits::{bit, for_each_member};
use crate::engine::{Memory, Tick};
use crate::fabric::seams::routing::{Payload, one_channel};
use crate::measure::{Observable, Total};
use crate::packet::Packet;
use crate::queueing::{Branch, Manager, PortPlace, QueueSite, QueueingContext};
use crate::topology::{Crossing, Hop, Leg, RouteTable, Topology};
use std::sync::Arc;

mod audit;
mod isolation;
mod memory;
mod propagation;
mod report;

pub(super) use report::{OBSERVABLES, TOTALS};
#[cfg(test)]
mod tests;

/// The input side of a virtual channel: its NFQ and its CAM.
#[derive(Debug, Clone, Default)]
struct Buffer {
    signatures: Signatures,
    /// Phits in the NFQ.
    phits: u32,
    /// True if a packet that arrived since the last review has made the NFQ too long.
    long: bool,
    /// True if a change may require the first packet of the NFQ to be moved.
    stirred: bool,
    /// The demand of the NFQ's first packet, once it has been computed.
    front: Option<Demand>,
    /// Number of active lines; without any, the CAM is switched off.
    active: u32,
    /// Active lines of all outputs of its router.
    known: u32,
    /// Tick at which the CAM was switched on.
    on_since: Tick,
    /// Lines to be tended: bit i for line i, i + 64 and so on. It includes all active lines that are stirred or have an
    /// empty CFQ.
    tending: u64,
    lines: Box<[Line]>,
}

// The signatures, and everything else that is read when a packet arrives and leaves: a cache line each.
const _: () = assert!(size_of::<Buffer>() == 128);

impl Buffer {
    /// True if there is congestion here, or known further on. Otherwise, the demand of the NFQ's first packet does not
    /// matter.
    #[inline]
    fn is_congested(&self) -> bool {
        self.active | self.known > 0
    }

    /// The active line of `destination`. No two lines of a buffer have a destination in common.
    #[inline]
    fn find(&self, destination: u32) -> Option<usize> {
        if self.active == 0 {
            return None;
        }
        self.signatures.find(destination, self.lines.len(), |line| has(&self.lines[line].destinations, destination))
    }

    /// The first active line for which `line` is true.
    #[inline]
    fn position(&self, line: impl Fn(&Line) -> bool) -> Option<usize> {
        if self.active == 0 { None } else { self.lines.iter().position(|each| each.active && line(each)) }
    }

    /// The first line that is not active.
    #[inline]
    fn vacant(&self) -> Option<usize> {
        if self.active == 0 { Some(0) } else { self.lines.iter().position(|line| !line.active) }
    }

    /// Adds a destination that no line has to line `line`. A mapped line records that the other end must be told.
    fn add(&mut self, line: usize, destination: u32) {
        let own = &mut self.lines[line];
        insert(&mut own.destinations, destination);
        self.signatures.add(line, destination);
        if own.mapped {
            insert(&mut own.unsent, destination);
            self.stir(line);
        }
    }

    /// Marks line `line` to be tended at the next review.
    #[inline]
    fn stir(&mut self, line: usize) {
        self.lines[line].stirred = true;
        self.tending |= bit(line as u32);
    }

    /// Releases line `line`.
    fn free(&mut self, line: usize) {
        self.lines[line].active = false;
        self.lines[line].destinations.clear();
        self.signatures.clear(line, self.lines.len(), |other| &self.lines[other].destinations);
    }
}

/// The output side of a virtual channel: copies of the lines of the input port behind it.
#[derive(Debug, Clone, Default)]
struct Output {
    signatures: Signatures,
    lines: Vec<Copy>,
}

impl Output {
    /// The line, if any, that has `destination`.
    #[inline]
    fn find(&self, destination: u32) -> Option<u8> {
        let has = |line: usize| has(&self.lines[line].destinations, destination);
        self.signatures.find(destination, self.lines.len(), has).map(|line| line as u8)
    }

    /// Adds a destination to line `line`.
    fn add(&mut self, line: usize, destination: u32) {
        insert(&mut self.lines[line].destinations, destination);
        self.signatures.add(line, destination);
    }

    /// Releases line `line`.
    fn free(&mut self, line: usize) {
        let copy = &mut self.lines[line];
        (copy.active, copy.stopped) = (false, false);
        copy.destinations.clear();
        self.signatures.clear(line, self.lines.len(), |other| &self.lines[other].destinations);
    }
}

/// The counts since the start of the run.
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
    /// By port and virtual channel.
    outputs: Vec<Output>,
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
            buffers: vec![Buffer { lines: vec![Line::default(); cfqs].into(), ..Buffer::default() }; buffers],
            outputs: vec![Output { lines: vec![Copy::default(); cfqs], ..Output::default() }; buffers],
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
    fn output(&self, port: u32, vc: u8) -> &Output {
        &self.outputs[self.buffer(port, vc)]
    }

    fn output_mut(&mut self, port: u32, vc: u8) -> &mut Output {
        let b = self.buffer(port, vc);
        &mut self.outputs[b]
    }

    fn nfq(&self, vc: u8) -> u16 {
        (u32::from(vc) * self.params.queues()) as u16
    }

    fn cfq(&self, vc: u8, line: usize) -> u16 {
        self.nfq(vc) + 1 + line as u16
    }

    /// Virtual channel and line of a queue; no line for the NFQ.
    #[inline]
    fn place(&self, queue: u16) -> (u8, Option<usize>) {
        let (queue, queues) = (u32::from(queue), self.params.queues());
        // No division for the first channel, which is often the only one.
        let (vc, place) = if queue < queues { (0, queue) } else { (queue / queues, queue % queues) };
        (vc as u8, place.checked_sub(1).map(|line| line as usize))
    }

    /// The demand of the first packet of the NFQ, or of a line's CFQ. It is computed once for each packet.
    #[inline(always)]
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

    /// The demand of the first packet of `queue`, from the table.
    #[inline(never)]
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

    /// The lines of `output` have changed: everything that waits for it at the inputs of its router must be checked.
    fn stir(&mut self, output: u32) {
        let PortPlace { first, end, .. } = self.places[output as usize];
        for buffer in &mut self.buffers[(first * self.vcs) as usize..(end * self.vcs) as usize] {
            // With adaptive routing, the demand depends on all outputs that the packet may take.
            buffer.stirred |= self.table.adaptive || buffer.front.is_none_or(|front| front.output == output);
            if buffer.active > 0 {
                for line in 0..buffer.lines.len() {
                    if buffer.lines[line].active && buffer.lines[line].output == output {
                        buffer.stir(line);
                    }
                }
            }
        }
    }

    /// For adaptive routing: true if the first packet of `queue` has another route than the table's, and not all its
    /// routes are known to be stopped further on. Such a packet is not isolated: it takes another route.
    #[inline(always)]
    fn goes_round(&mut self, site: &dyn QueueSite, port: u32, queue: u16) -> bool {
        self.table.adaptive && self.has_another_way(site, port, queue)
    }

    #[inline(never)]
    fn has_another_way(&mut self, site: &dyn QueueSite, port: u32, queue: u16) -> bool {
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
    #[inline]
    fn known_at(&self, output: u32, vc: u8, destination: u32) -> Option<(u8, bool)> {
        if self.known[output as usize] == 0 {
            return None;
        }
        let output = self.output(output, vc);
        output.find(destination).map(|line| (line, output.lines[usize::from(line)].stopped))
    }
}

impl Manager for Rule {
    fn remember(&self, memory: &mut Memory) {
        self.add_to(memory);
    }

    fn arrived(&mut self, port: u32, queue: u16, packet: &Packet) -> bool {
        let (vc, _) = self.place(queue);
        let b = self.buffer(port, vc);
        let buffer = &mut self.buffers[b];
        let first = buffer.phits == 0;
        buffer.phits += u32::from(packet.size);
        buffer.long |= buffer.phits > self.params.detection;
        // Behind others, its arrival does not affect the first packet, unless it makes the queue too long.
        buffer.stirred |= first || buffer.long;
        buffer.long || buffer.stirred && buffer.is_congested()
    }

    fn left(&mut self, port: u32, queue: u16, packet: &Packet, now: Tick) -> bool {
        let (vc, line) = self.place(queue);
        let b = self.buffer(port, vc);
        let buffer = &mut self.buffers[b];
        let size = u32::from(packet.size);
        match line {
            None => {
                buffer.phits -= size;
                (buffer.front, buffer.stirred) = (None, true);
                buffer.phits > 0 && buffer.is_congested()
            }
            Some(number) => {
                let line = &mut buffer.lines[number];
                line.phits -= size;
                line.front = None;
                if line.phits == 0 {
                    line.empty_since = now;
                }
                buffer.stir(number);
                true
            }
        }
    }

    fn review(&mut self, site: &mut dyn QueueSite, port: u32) {
        for vc in 0..self.channels[usize::from(self.places[port as usize].class)] {
            let b = self.buffer(port, vc);
            let buffer = &mut self.buffers[b];
            let long = std::mem::take(&mut buffer.long);
            if std::mem::take(&mut buffer.stirred) && buffer.phits > 0 && (long || buffer.is_congested()) {
                self.post_process(site, port, vc, long);
            }
            let tending = std::mem::take(&mut self.buffers[b].tending);
            for_each_member(tending, self.params.cfqs, |line| self.tend_if_due(site, port, vc, line as usize));
        }
    }

    fn hear(&mut self, _: &mut dyn QueueSite, port: u32, message: &Payload) {
        self.heard(port, message);
    }

    fn hear_endpoint(&mut self, site: &mut dyn QueueSite, endpoint: u32, message: &Payload) {
        self.heard_by_endpoint(site, endpoint, message);
    }

    fn spares(&self, queue: u16) -> bool {
        self.params.marks == Marks::Isolated && self.place(queue).1.is_none()
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

    fn first_leads(&self) -> bool {
        self.vcs == 1
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
