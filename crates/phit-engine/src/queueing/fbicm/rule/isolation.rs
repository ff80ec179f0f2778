//! The isolation of packets: detection, post-processing, allocation of lines (sections 3.1, 3.2 and 4.1).

use super::Rule;
use crate::queueing::fbicm::Version;
use crate::queueing::fbicm::line::{Demand, Line};
use crate::queueing::{PortPlace, QueueSite};

impl Rule {
    /// Post-processing: while the first packet of the NFQ belongs to a congested flow, it is moved to a CFQ.
    /// `may_detect`: a packet that arrived since the last time has made the NFQ too long.
    pub(super) fn post_process(&mut self, site: &mut dyn QueueSite, port: u32, vc: u8, mut may_detect: bool) {
        let (b, nfq) = (self.buffer(port, vc), self.nfq(vc));
        while let Some(Demand { output, vc: out_vc, destination, size }) = self.demand(site, port, vc, None) {
            let line = self.buffers[b].find(destination).or_else(|| {
                if self.goes_round(site, port, nfq) {
                    return None;
                }
                let known = self.known_at(output, out_vc, destination);
                let detected = may_detect && self.buffers[b].phits > self.params.detection;
                match known {
                    // Congestion further on holds this packet back or makes the queue long.
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
            site.move_head(port, nfq, self.cfq(vc, line));
            let buffer = &mut self.buffers[b];
            buffer.phits -= u32::from(size);
            let front = buffer.front.take();
            if buffer.lines[line].phits == 0 {
                buffer.lines[line].front = front;
            }
            buffer.lines[line].phits += u32::from(size);
            buffer.stir(line);
            self.counts.moved += 1;
            if buffer.phits == 0 {
                break;
            }
        }
    }

    /// The output of the NFQ's first packet is congested: allocates a line for the packet's destination.
    fn detect(
        &mut self,
        site: &dyn QueueSite,
        port: u32,
        vc: u8,
        (output, out_vc): (u32, u8),
        destination: u32,
    ) -> Option<usize> {
        self.counts.detections += 1;
        let b = self.buffer(port, vc);
        if self.params.version == Version::New {
            let room = self.params.destinations as usize;
            let open = |line: &Line| line.hops == 0 && line.output == output && line.destinations.len() < room;
            if let Some(line) = self.buffers[b].position(open) {
                self.buffers[b].add(line, destination);
                return Some(line);
            }
            return self.allocate(site, b, output, 0, None, &[destination]);
        }
        // All destinations behind the output, except those isolated here already or known to be stopped further on.
        let PortPlace { router, first, .. } = self.places[port as usize];
        let number = (output - first) as u16;
        let all: Vec<u32> = self
            .table
            .behind(router, number)
            .filter(|d| self.buffers[b].find(*d).is_none() && self.known_at(output, out_vc, *d).is_none())
            .collect();
        self.allocate(site, b, output, 0, None, &all)
    }

    /// A line for `destination` that is linked to line `next` of an output. In the new version, a line with room for
    /// it, if there is one. In the first version, the lines of both ends have equal lists, which do not change.
    fn link(
        &mut self,
        site: &dyn QueueSite,
        port: u32,
        vc: u8,
        (output, out_vc, next): (u32, u8, u8),
        destination: u32,
    ) -> Option<usize> {
        let b = self.buffer(port, vc);
        let first = self.params.version == Version::First;
        let room = self.params.destinations as usize;
        let linked = |line: &Line| line.output == output && line.next == Some((out_vc, next));
        let open = |line: &Line| !first && linked(line) && line.destinations.len() < room;
        if let Some(line) = self.buffers[b].position(open) {
            self.buffers[b].add(line, destination);
            return Some(line);
        }
        let copy = &self.output(output, out_vc).lines[usize::from(next)];
        let hops = copy.hops;
        let whole = first || self.buffers[b].position(linked).is_none();
        let list: Vec<u32> = match whole {
            true => {
                let here = |d: &u32| self.leads(output, *d) && self.buffers[b].find(*d).is_none();
                copy.destinations.iter().copied().filter(here).collect()
            }
            false => vec![destination],
        };
        self.allocate(site, b, output, hops, Some((out_vc, next)), &list)
    }

    /// True if packets for `destination` leave the router by `output`. The line of an output may also have other
    /// destinations: the next router's line gets packets for them from here by another output, where they are not held
    /// up.
    pub(super) fn leads(&self, output: u32, destination: u32) -> bool {
        let PortPlace { router, first, .. } = self.places[output as usize];
        first + u32::from(self.table.port(router, destination)) == output
    }

    /// A free line with its CFQ. `None` if all are in use: then the packet stays where it is.
    fn allocate(
        &mut self,
        site: &dyn QueueSite,
        b: usize,
        output: u32,
        hops: u8,
        next: Option<(u8, u8)>,
        destinations: &[u32],
    ) -> Option<usize> {
        let buffer = &mut self.buffers[b];
        let Some(line) = buffer.vacant() else {
            // The packet tries again at every review.
            self.counts.without_line += 1;
            buffer.stirred = true;
            return None;
        };
        if buffer.active == 0 {
            buffer.on_since = site.now();
        }
        buffer.active += 1;
        buffer.lines[line].allocate(output, hops, next, site.now());
        buffer.stir(line);
        destinations.iter().for_each(|destination| buffer.add(line, *destination));
        self.counts.allocated += 1;
        Some(line)
    }
}
