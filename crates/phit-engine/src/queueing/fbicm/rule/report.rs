//! What is seen of the rule from outside: quantities, lines, counts.

use super::{Buffer, Rule};
use crate::engine::Tick;
use crate::queueing::Branch;
use crate::queueing::fbicm::line::{Copy, Line};
use crate::queueing::fbicm::notification::NAMES;

impl Rule {
    /// Quantities of an input port, for probes.
    pub(super) fn quantities(&self, port: u32, see: &mut dyn FnMut(&str, u32)) {
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

    /// The active lines of a port, of its input and of its output.
    pub(super) fn branches(&self, port: u32, see: &mut dyn FnMut(&Branch<'_>)) {
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

    /// What has been counted since the start of the run, by name.
    pub(super) fn summary(&self, now: Tick) -> Vec<(&'static str, u64)> {
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

    /// Bytes held.
    pub(super) fn size(&self) -> usize {
        let lists = |list: &Vec<u32>| list.capacity() * 4;
        let line = |line: &Line| size_of::<Line>() + lists(&line.destinations) + lists(&line.unsent);
        let lines = |buffer: &Buffer| buffer.lines.iter().map(line).sum::<usize>();
        let copies = |copy: &Copy| size_of::<Copy>() + lists(&copy.destinations);
        self.buffers.iter().map(|buffer| size_of::<Buffer>() + lines(buffer)).sum::<usize>()
            + self.outputs.iter().chain(&self.sources).map(copies).sum::<usize>()
            + self.known.capacity() * 4
    }
}
