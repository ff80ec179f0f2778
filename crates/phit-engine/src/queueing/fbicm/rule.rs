//! The protocol.

use super::line::{Copy, Line, insert};
use super::notification::{Kind, NAMES, Notification, decode};
use super::{Fbicm, Version};
use crate::engine::Tick;
use crate::queueing::{Branch, Manager, QueueSite, QueueingContext};
use crate::router::packet::Packet;
use crate::routing::{Payload, table};
use crate::topology::{Hop, RouteTable};
use std::sync::Arc;

/// The input side of a virtual channel: its NFQ and its CAM.
#[derive(Debug, Clone, Default)]
struct Buffer {
    /// Phits in the NFQ.
    phits: u32,
    /// A packet has come into the NFQ since the last review.
    arrival: bool,
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
        match self.active {
            0 => None,
            _ => self.lines.iter().position(|line| line.has(destination)),
        }
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
    pub fn new(params: Fbicm, context: &QueueingContext, table: Arc<RouteTable>, ports: u32, endpoints: u32) -> Self {
        let vcs = context.vcs.iter().copied().max().unwrap_or(1).into();
        let cfqs = params.cfqs as usize;
        let buffers = (ports * vcs) as usize;
        Self {
            buffers: vec![Buffer { lines: vec![Line::default(); cfqs], ..Buffer::default() }; buffers],
            outputs: vec![Copy::default(); buffers * cfqs],
            known: vec![0; ports as usize],
            sources: vec![Copy::default(); endpoints as usize * cfqs],
            ticks_per_cycle: context.ticks_per_cycle,
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

    /// The output (port in the partition, and virtual channel) that the first packet of `queue` asks for, and its destination.
    fn demand(&mut self, site: &QueueSite<'_>, port: u32, queue: u16) -> Option<(u32, u8, u32)> {
        let packet = site.head(port, queue)?;
        let router = site.router(port);
        let output = self.table.port(router, packet.destination);
        let index = site.ports(port).0 + u32::from(output);
        let class = site.class(index);
        let hop = table::one_channel(site.topology(), router, output, class, packet, site.vcs(), &mut self.hops);
        Some((index, hop.vc, packet.destination))
    }

    /// The line of an output that has `destination`, and whether it is stopped.
    fn known_at(&self, output: u32, vc: u8, destination: u32) -> Option<(u8, bool)> {
        if self.known[output as usize] == 0 {
            return None;
        }
        let copies = self.copies(output, vc);
        find_copy(copies, destination).map(|line| (line, copies[usize::from(line)].stopped))
    }

    /// Post-processing: as long as the first packet of the NFQ belongs to a congested flow, it is moved to a CFQ.
    fn post_process(&mut self, site: &mut QueueSite<'_>, port: u32, vc: u8) {
        let (b, nfq) = (self.buffer(port, vc), self.nfq(vc));
        let mut may_detect = std::mem::take(&mut self.buffers[b].arrival);
        while let Some((output, out_vc, destination)) = self.demand(site, port, nfq) {
            let line = self.buffers[b].find(destination).or_else(|| {
                let known = self.known_at(output, out_vc, destination);
                let detected = may_detect && self.buffers[b].phits > self.params.detection;
                match known {
                    // Congestion further on, which holds this packet back or makes the queue long.
                    Some((next, stopped)) if stopped || detected => {
                        may_detect &= !detected;
                        self.link(site, port, vc, (output, out_vc, next), destination)
                    }
                    None if detected => {
                        may_detect = false;
                        self.detect(site, port, vc, (output, out_vc), destination)
                    }
                    _ => None,
                }
            });
            let Some(line) = line else { break };
            let phits = site.head(port, nfq).map_or(0, |packet| u32::from(packet.size));
            site.move_head(port, nfq, self.cfq(vc, line));
            let buffer = &mut self.buffers[b];
            buffer.phits -= phits;
            buffer.lines[line].phits += phits;
            self.counts.moved += 1;
        }
    }

    /// The output that the first packet of the NFQ asks for is congested: a line for the packet's destination.
    fn detect(
        &mut self,
        site: &QueueSite<'_>,
        port: u32,
        vc: u8,
        (output, out_vc): (u32, u8),
        destination: u32,
    ) -> Option<usize> {
        self.counts.detections += 1;
        let b = self.buffer(port, vc);
        if self.params.version == Version::New {
            let room = self.params.destinations as usize;
            let open =
                |line: &Line| line.active && line.hops == 0 && line.output == output && line.destinations.len() < room;
            if let Some(line) = self.buffers[b].lines.iter().position(open) {
                self.buffers[b].lines[line].add(destination);
                return Some(line);
            }
            return self.allocate(site, b, output, 0, None, &[destination]);
        }
        // All that goes over the output, but for what is isolated already here or known to be held up further on.
        let number = (output - site.ports(port).0) as u16;
        let all: Vec<u32> = self
            .table
            .behind(site.router(port), number)
            .filter(|d| self.buffers[b].find(*d).is_none() && self.known_at(output, out_vc, *d).is_none())
            .collect();
        self.allocate(site, b, output, 0, None, &all)
    }

    /// A line for `destination` that is linked to line `next` of an output.
    fn link(
        &mut self,
        site: &QueueSite<'_>,
        port: u32,
        vc: u8,
        (output, out_vc, next): (u32, u8, u8),
        destination: u32,
    ) -> Option<usize> {
        let b = self.buffer(port, vc);
        let first = self.params.version == Version::First;
        let room = if first { usize::MAX } else { self.params.destinations as usize };
        let linked = |line: &Line| line.active && line.output == output && line.next == Some((out_vc, next));
        if let Some(line) = self.buffers[b].lines.iter().position(|l| linked(l) && l.destinations.len() < room) {
            self.buffers[b].lines[line].add(destination);
            return Some(line);
        }
        let copy = &self.copies(output, out_vc)[usize::from(next)];
        let hops = copy.hops;
        let whole = !self.buffers[b].lines.iter().any(linked);
        let list: Vec<u32> = match whole {
            true => {
                let here = |d: &u32| self.leads(site, output, *d) && self.buffers[b].find(*d).is_none();
                copy.destinations.iter().copied().filter(here).collect()
            }
            false => vec![destination],
        };
        self.allocate(site, b, output, hops, Some((out_vc, next)), &list)
    }

    /// Packets for `destination` leave the router by `output`. The line of an output may have others: the same line of the next
    /// router gets its packets from here by another output, and they are not held up there.
    fn leads(&self, site: &QueueSite<'_>, output: u32, destination: u32) -> bool {
        site.ports(output).0 + u32::from(self.table.port(site.router(output), destination)) == output
    }

    /// A free line with its CFQ; `None` if all are taken, and then the packet stays where it is.
    fn allocate(
        &mut self,
        site: &QueueSite<'_>,
        b: usize,
        output: u32,
        hops: u8,
        next: Option<(u8, u8)>,
        destinations: &[u32],
    ) -> Option<usize> {
        let buffer = &mut self.buffers[b];
        let Some(line) = buffer.lines.iter().position(|line| !line.active) else {
            self.counts.without_line += 1;
            return None;
        };
        if buffer.active == 0 {
            buffer.on_since = site.now();
        }
        buffer.active += 1;
        buffer.lines[line].allocate(output, hops, next, site.now());
        destinations.iter().for_each(|destination| buffer.lines[line].add(*destination));
        self.counts.allocated += 1;
        Some(line)
    }

    /// Flow control and deallocation of one line.
    fn tend(&mut self, site: &mut QueueSite<'_>, port: u32, vc: u8, line: usize) {
        let b = self.buffer(port, vc);
        let queue = self.cfq(vc, line);
        let demand = self.demand(site, port, queue);
        let known = demand.and_then(|(output, out_vc, destination)| {
            let known = self.known_at(output, out_vc, destination).filter(|(_, stopped)| *stopped)?;
            Some(((out_vc, known.0), self.copies(output, out_vc)[usize::from(known.0)].hops))
        });
        site.hold(port, queue, known.is_some());
        let own = &mut self.buffers[b].lines[line];
        if let Some((next, hops)) = known.filter(|_| own.next.is_none()) {
            // What was taken for the congested point is a branch of a tree whose root is further on.
            (own.next, own.hops) = (Some(next), hops);
        }
        let l = &self.buffers[b].lines[line];
        let (phits, mapped, sent_stop) = (l.phits, l.mapped, l.sent_stop);
        if mapped && !l.unsent.is_empty() {
            for destination in std::mem::take(&mut self.buffers[b].lines[line].unsent) {
                self.notify(site, port, vc, line, Kind::Update, &[destination]);
            }
        }
        if phits > self.params.stop && !sent_stop {
            let kind = if mapped { Kind::Stop } else { Kind::Allocation };
            self.tell(site, port, vc, line, kind);
            let l = &mut self.buffers[b].lines[line];
            (l.mapped, l.sent_stop) = (true, true);
        } else if phits <= self.params.go && sent_stop {
            self.tell(site, port, vc, line, Kind::Go);
            self.buffers[b].lines[line].sent_stop = false;
        }
        if phits == 0 {
            self.free(site, port, vc, line);
        }
    }

    /// Gives a line up whose CFQ is empty, if it is not held back and the timer has run out.
    fn free(&mut self, site: &mut QueueSite<'_>, port: u32, vc: u8, line: usize) {
        let b = self.buffer(port, vc);
        let l = &self.buffers[b].lines[line];
        if l.next.is_some_and(|(vc, next)| self.copies(l.output, vc)[usize::from(next)].stopped) {
            return;
        }
        let due = l.empty_since.saturating_add(self.params.timer * self.ticks_per_cycle);
        if due > site.now() {
            site.review_at(port, due);
            return;
        }
        if l.mapped {
            self.tell(site, port, vc, line, Kind::Deallocation);
        }
        let now = site.now();
        let buffer = &mut self.buffers[b];
        buffer.lines[line].active = false;
        self.counts.freed += 1;
        self.counts.lifetime += u64::from(now - buffer.lines[line].since);
        buffer.active -= 1;
        if buffer.active == 0 {
            self.counts.cam_on += u64::from(now - buffer.on_since);
        }
    }

    /// Sends a notification about all of a line.
    fn tell(&mut self, site: &mut QueueSite<'_>, port: u32, vc: u8, line: usize, kind: Kind) {
        let b = self.buffer(port, vc);
        let first = self.params.version == Version::First;
        let list = match first || kind == Kind::Allocation {
            true => std::mem::take(&mut self.buffers[b].lines[line].destinations),
            false => Vec::new(),
        };
        self.notify(site, port, vc, line, kind, &list);
        if !list.is_empty() {
            self.buffers[b].lines[line].destinations = list;
        }
    }

    fn notify(&mut self, site: &mut QueueSite<'_>, port: u32, vc: u8, line: usize, kind: Kind, destinations: &[u32]) {
        let hops = self.buffers[self.buffer(port, vc)].lines[line].hops;
        let notification = Notification { kind, vc, line: line as u8, hops, destinations };
        let bits = notification.bits(&self.params);
        let count = &mut self.counts.sent[kind as usize];
        *count = (count.0 + 1, count.1 + u64::from(bits));
        site.notify(port, notification.encode(), bits.div_ceil(self.params.phit_bits));
    }

    /// Adds a destination to the lines of input ports that are linked to line `next` of an output, if it is that output's.
    fn spread(&mut self, site: &QueueSite<'_>, output: u32, next: (u8, u8), destination: u32) {
        if !self.leads(site, output, destination) {
            return;
        }
        let first = self.params.version == Version::First;
        let room = if first { usize::MAX } else { self.params.destinations as usize };
        self.each_linked(site, output, next, |buffer, line| {
            if buffer.lines[line].destinations.len() < room && buffer.find(destination).is_none() {
                buffer.lines[line].add(destination);
            }
        });
    }

    /// Calls `change` with every line of the router's input ports that is linked to line `next`, by virtual channel and number, of
    /// an output.
    fn each_linked(
        &mut self,
        site: &QueueSite<'_>,
        output: u32,
        next: (u8, u8),
        mut change: impl FnMut(&mut Buffer, usize),
    ) {
        let (first, end) = site.ports(output);
        let buffers = (first * self.vcs) as usize..(end * self.vcs) as usize;
        for buffer in self.buffers[buffers].iter_mut().filter(|buffer| buffer.active > 0) {
            for line in 0..buffer.lines.len() {
                let l = &buffer.lines[line];
                if l.active && l.output == output && l.next == Some(next) {
                    change(buffer, line);
                }
            }
        }
    }
}

impl Manager for Rule {
    fn arrived(&mut self, port: u32, queue: u16, packet: &Packet) {
        let (vc, _) = self.place(queue);
        let b = self.buffer(port, vc);
        let buffer = &mut self.buffers[b];
        buffer.phits += u32::from(packet.size);
        buffer.arrival = true;
    }

    fn left(&mut self, port: u32, queue: u16, packet: &Packet, now: Tick) {
        let (vc, line) = self.place(queue);
        let b = self.buffer(port, vc);
        let buffer = &mut self.buffers[b];
        let size = u32::from(packet.size);
        match line {
            None => buffer.phits -= size,
            Some(line) => {
                let line = &mut buffer.lines[line];
                line.phits -= size;
                if line.phits == 0 {
                    line.empty_since = now;
                }
            }
        }
    }

    fn review(&mut self, site: &mut QueueSite<'_>, port: u32) {
        for vc in 0..site.vcs()[usize::from(site.class(port))] {
            self.post_process(site, port, vc);
            let b = self.buffer(port, vc);
            if self.buffers[b].active == 0 {
                continue;
            }
            for line in 0..self.params.cfqs as usize {
                if self.buffers[b].lines[line].active {
                    self.tend(site, port, vc, line);
                }
            }
        }
    }

    fn hear(&mut self, site: &mut QueueSite<'_>, port: u32, message: &Payload) {
        let (kind, vc, line, hops, destinations) = decode(message);
        let copy = &mut self.copies_mut(port, vc)[usize::from(line)];
        match kind {
            Kind::Allocation => {
                copy.active = true;
                copy.stopped = true;
                copy.hops = hops + 1;
                copy.destinations.clear();
                copy.destinations.extend(destinations);
                self.known[port as usize] += 1;
            }
            Kind::Update => {
                for destination in destinations {
                    insert(&mut self.copies_mut(port, vc)[usize::from(line)].destinations, destination);
                    self.spread(site, port, (vc, line), destination);
                }
            }
            Kind::Stop => copy.stopped = true,
            Kind::Go => copy.stopped = false,
            Kind::Deallocation => {
                copy.active = false;
                copy.stopped = false;
                self.known[port as usize] -= 1;
                self.each_linked(site, port, (vc, line), |buffer, line| buffer.lines[line].next = None);
            }
        }
    }

    fn hear_endpoint(&mut self, site: &mut QueueSite<'_>, endpoint: u32, message: &Payload) {
        let (kind, _, line, _, destinations) = decode(message);
        let source = &mut self.sources[(endpoint * self.params.cfqs + u32::from(line)) as usize];
        match kind {
            Kind::Allocation => {
                *source = Copy { active: true, stopped: true, hops: 0, destinations: destinations.collect() };
            }
            Kind::Update => destinations.for_each(|destination| insert(&mut source.destinations, destination)),
            Kind::Stop => source.stopped = true,
            Kind::Go => source.stopped = false,
            Kind::Deallocation => (source.active, source.stopped) = (false, false),
        }
        for &destination in &source.destinations {
            site.hold_destination(endpoint, destination, source.stopped);
        }
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

    fn observe(&self, port: u32, _: Tick, see: &mut dyn FnMut(&str, u32)) {
        let first = self.buffer(port, 0);
        let cfqs = self.params.cfqs as usize;
        let (mut lines, mut copies, mut nfq, mut cfq, mut on) = (0, 0, 0, 0, 0);
        for b in first..first + self.vcs as usize {
            let buffer = &self.buffers[b];
            lines += buffer.active;
            on |= u32::from(buffer.active > 0);
            nfq += buffer.phits;
            cfq += buffer.lines.iter().map(|line| line.phits).sum::<u32>();
            copies += self.outputs[b * cfqs..(b + 1) * cfqs].iter().filter(|copy| copy.active).count() as u32;
        }
        see("input lines", lines);
        see("output lines", copies);
        see("nfq phits", nfq);
        see("cfq phits", cfq);
        see("cam on", on);
    }

    fn trees(&self, port: u32, see: &mut dyn FnMut(&Branch<'_>)) {
        for vc in 0..self.vcs as u8 {
            let b = self.buffer(port, vc);
            for (number, line) in self.buffers[b].lines.iter().enumerate().filter(|(_, line)| line.active) {
                see(&Branch {
                    input: true,
                    vc,
                    line: number as u8,
                    hops: line.hops,
                    output: Some(line.output),
                    destinations: &line.destinations,
                    phits: line.phits,
                    stopped: line.sent_stop,
                    next: line.next,
                    mapped: line.mapped,
                });
            }
            for (number, copy) in self.copies(port, vc).iter().enumerate().filter(|(_, copy)| copy.active) {
                see(&Branch {
                    input: false,
                    vc,
                    line: number as u8,
                    hops: copy.hops,
                    output: None,
                    destinations: &copy.destinations,
                    phits: 0,
                    stopped: copy.stopped,
                    next: None,
                    mapped: true,
                });
            }
        }
    }

    fn totals(&self, now: Tick) -> Vec<(&'static str, u64)> {
        let counts = &self.counts;
        let still_on = |buffer: &&Buffer| buffer.active > 0;
        let on: u64 = self.buffers.iter().filter(still_on).map(|buffer| u64::from(now - buffer.on_since)).sum();
        let mut totals = vec![
            ("detections", counts.detections),
            ("lines_allocated", counts.allocated),
            ("lines_freed", counts.freed),
            ("line_lifetime", counts.lifetime),
            ("without_line", counts.without_line),
            ("packets_moved", counts.moved),
            ("cam_on", counts.cam_on + on),
            ("cams", self.buffers.len() as u64),
            ("cam_bytes", self.buffers.len() as u64 * self.params.cam_bytes(self.table.endpoints())),
        ];
        for ((messages, bits), sent) in NAMES.into_iter().zip(counts.sent) {
            totals.extend([(messages, sent.0), (bits, sent.1)]);
        }
        totals
    }

    fn audit(&self, port: u32, held: &dyn Fn(u16) -> u32) -> Result<(), String> {
        for vc in 0..self.vcs as u8 {
            let buffer = &self.buffers[self.buffer(port, vc)];
            let active = buffer.lines.iter().filter(|line| line.active).count() as u32;
            if active != buffer.active {
                return Err(format!("{active} active lines, {} counted", buffer.active));
            }
            if active == 0 && buffer.phits == 0 {
                continue;
            }
            if held(self.nfq(vc)) != buffer.phits {
                return Err(format!("{} phits in the NFQ, {} counted", held(self.nfq(vc)), buffer.phits));
            }
            let mut seen = Vec::new();
            for (number, line) in buffer.lines.iter().enumerate() {
                let phits = held(self.cfq(vc, number));
                if phits != line.phits || !line.active && phits > 0 {
                    return Err(format!(
                        "CFQ {number}: {phits} phits, {} counted, active: {}",
                        line.phits, line.active
                    ));
                }
                if line.active {
                    let full = self.params.version == Version::New
                        && line.destinations.len() > self.params.destinations as usize;
                    if full || line.destinations.is_empty() || !line.destinations.is_sorted() {
                        return Err(format!("line {number} has the destinations {:?}", line.destinations));
                    }
                    seen.extend_from_slice(&line.destinations);
                }
            }
            seen.sort_unstable();
            if let Some(twice) = seen.windows(2).find(|pair| pair[0] == pair[1]) {
                return Err(format!("destination {} stands in two lines", twice[0]));
            }
        }
        Ok(())
    }

    fn bytes(&self) -> usize {
        let lists = |list: &Vec<u32>| list.capacity() * 4;
        let line = |line: &Line| size_of::<Line>() + lists(&line.destinations) + lists(&line.unsent);
        let lines = |buffer: &Buffer| buffer.lines.iter().map(line).sum::<usize>();
        let copies = |copy: &Copy| size_of::<Copy>() + lists(&copy.destinations);
        self.buffers.iter().map(|buffer| size_of::<Buffer>() + lines(buffer)).sum::<usize>()
            + self.outputs.iter().chain(&self.sources).map(copies).sum::<usize>()
            + self.known.capacity() * 4
    }
}

#[cfg(test)]
mod tests;
