//! Messages between ports, and the release of lines (sections 3.3, 3.5, 4.2 and 4.3).

use super::{Buffer, Rule};
use crate::engine::bits::bit;
use crate::fabric::seams::routing::Payload;
use crate::queueing::fbicm::Version;
use crate::queueing::fbicm::line::{Copy, Demand, insert};
use crate::queueing::fbicm::notification::{Kind, Notification, decode};
use crate::queueing::{PortPlace, QueueSite};

impl Rule {
    /// Tends a line if it is stirred, or if its CFQ is empty and it waits for its timer.
    #[inline]
    pub(super) fn tend_if_due(&mut self, site: &mut dyn QueueSite, port: u32, vc: u8, line: usize) {
        let b = self.buffer(port, vc);
        let own = &self.buffers[b].lines[line];
        if own.active && (own.stirred || own.phits == 0) {
            self.tend(site, port, vc, line);
            let buffer = &mut self.buffers[b];
            if buffer.lines[line].active && buffer.lines[line].phits == 0 {
                buffer.tending |= bit(line as u32);
            }
        }
    }

    /// Flow control and deallocation of one line.
    fn tend(&mut self, site: &mut dyn QueueSite, port: u32, vc: u8, line: usize) {
        let b = self.buffer(port, vc);
        let own = &mut self.buffers[b].lines[line];
        own.stirred = false;
        // All its packets go to its output.
        let asked = own.phits > 0 && self.known[own.output as usize] > 0;
        let demand = if asked { self.demand(site, port, vc, Some(line)) } else { None };
        let known = demand.and_then(|Demand { output, vc, destination, .. }| {
            let known = self.known_at(output, vc, destination).filter(|(_, stopped)| *stopped)?;
            Some(((vc, known.0), self.output(output, vc).lines[usize::from(known.0)].hops))
        });
        let queue = self.cfq(vc, line);
        let own = &mut self.buffers[b].lines[line];
        if own.held != known.is_some() {
            own.held = known.is_some();
            site.hold(port, queue, own.held);
        }
        if let Some((next, hops)) = known.filter(|_| own.next.is_none()) {
            // The presumed congested point is a branch of a tree whose root is further on.
            (own.next, own.hops) = (Some(next), hops);
        }
        let (phits, mapped, sent_stop) = (own.phits, own.mapped, own.sent_stop);
        if mapped && !own.unsent.is_empty() {
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

    /// Releases a line whose CFQ is empty, if it is not held back and its timer has expired.
    fn free(&mut self, site: &mut dyn QueueSite, port: u32, vc: u8, line: usize) {
        let b = self.buffer(port, vc);
        let l = &self.buffers[b].lines[line];
        if l.next.is_some_and(|(vc, next)| self.output(l.output, vc).lines[usize::from(next)].stopped) {
            return;
        }
        let due = l.empty_since.saturating_add(self.params.timer * self.ticks_per_cycle);
        if due > site.now() {
            let before = std::mem::replace(&mut self.buffers[b].lines[line].due, due);
            if before != due {
                site.review_at(port, due);
            }
            return;
        }
        if l.mapped {
            self.tell(site, port, vc, line, Kind::Deallocation);
        }
        let now = site.now();
        let buffer = &mut self.buffers[b];
        buffer.free(line);
        self.counts.freed += 1;
        self.counts.lifetime += u64::from(now - buffer.lines[line].since);
        buffer.active -= 1;
        if buffer.active == 0 {
            self.counts.cam_on += u64::from(now - buffer.on_since);
        }
    }

    /// Sends a notification about a whole line.
    fn tell(&mut self, site: &mut dyn QueueSite, port: u32, vc: u8, line: usize, kind: Kind) {
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

    fn notify(&mut self, site: &mut dyn QueueSite, port: u32, vc: u8, line: usize, kind: Kind, destinations: &[u32]) {
        let hops = self.buffers[self.buffer(port, vc)].lines[line].hops;
        let notification = Notification { kind, vc, line: line as u8, hops, destinations };
        let bits = notification.bits(&self.params);
        let count = &mut self.counts.sent[kind as usize];
        *count = (count.0 + 1, count.1 + u64::from(bits));
        site.notify(port, notification.encode(), bits.div_ceil(self.params.phit_bits));
    }

    /// Adds a destination to the input ports' lines that are linked to line `next` of an output, if it is behind that
    /// output.
    fn spread(&mut self, output: u32, next: (u8, u8), destination: u32) {
        if !self.leads(output, destination) {
            return;
        }
        let room = self.params.destinations as usize;
        self.each_linked(output, next, |buffer, line| {
            if buffer.lines[line].destinations.len() < room && buffer.find(destination).is_none() {
                buffer.add(line, destination);
            }
        });
    }

    /// Calls `change` with every line of the router's input ports that is linked to line `next`, by virtual channel and
    /// number, of an output.
    fn each_linked(&mut self, output: u32, next: (u8, u8), mut change: impl FnMut(&mut Buffer, usize)) {
        let PortPlace { first, end, .. } = self.places[output as usize];
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

    /// The number of active lines of `output` has changed.
    fn know(&mut self, output: u32, change: i32) {
        let known = |count: &mut u32| *count = count.saturating_add_signed(change);
        known(&mut self.known[output as usize]);
        let PortPlace { first, end, .. } = self.places[output as usize];
        let buffers = &mut self.buffers[(first * self.vcs) as usize..(end * self.vcs) as usize];
        buffers.iter_mut().for_each(|buffer| known(&mut buffer.known));
    }

    /// A message has arrived from the input port behind output `port`.
    pub(super) fn heard(&mut self, port: u32, message: &Payload) {
        let (kind, vc, line, hops, destinations) = decode(message);
        let output = self.output_mut(port, vc);
        let copy = &mut output.lines[usize::from(line)];
        match kind {
            Kind::Allocation => {
                (copy.active, copy.stopped, copy.hops) = (true, true, hops + 1);
                destinations.for_each(|destination| output.add(line.into(), destination));
                self.know(port, 1);
            }
            Kind::Update => {
                for destination in destinations {
                    self.output_mut(port, vc).add(line.into(), destination);
                    self.spread(port, (vc, line), destination);
                }
            }
            Kind::Stop => copy.stopped = true,
            Kind::Go => copy.stopped = false,
            Kind::Deallocation => {
                output.free(line.into());
                self.know(port, -1);
                self.each_linked(port, (vc, line), |buffer, line| buffer.lines[line].next = None);
            }
        }
        self.stir(port);
    }

    /// A message has arrived at an endpoint from its injection port.
    pub(super) fn heard_by_endpoint(&mut self, site: &mut dyn QueueSite, endpoint: u32, message: &Payload) {
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
}
