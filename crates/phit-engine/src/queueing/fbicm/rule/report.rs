//! The rule as seen from outside: quantities, lines, counts.

use super::{Buffer, Output, Rule};
use crate::engine::Tick;
use crate::measure::{Observable, Total, unit};
use crate::queueing::Branch;
use crate::queueing::fbicm::line::{Copy, Line};
use crate::queueing::fbicm::notification::{SENT, counted};

/// Quantities of a port, for probes.
pub(in crate::queueing::fbicm) static OBSERVABLES: [Observable; 5] = [
    Observable {
        name: "input lines",
        words: "lines in use at inputs",
        unit: "lines",
        about: "Lines in use in the memory of an input port.",
    },
    Observable {
        name: "output lines",
        words: "lines in use at outputs",
        unit: "lines",
        about: "Lines in use in the memory of an output port.",
    },
    Observable {
        name: "nfq phits",
        words: "phits in normal queues",
        unit: unit::PHITS,
        about: "Phits in the queues of an input port for packets that are not isolated.",
    },
    Observable {
        name: "cfq phits",
        words: "phits in queues for congested flows",
        unit: unit::PHITS,
        about: "Phits in the queues of an input port for isolated packets.",
    },
    Observable {
        name: "cam on",
        words: "memories switched on",
        unit: "share of memories",
        about: "1 for an input port whose memory is switched on, 0 for the others; the mean is a share of time.",
    },
];

/// The totals of a run.
pub(in crate::queueing::fbicm) static TOTALS: [Total; 9] = [
    counted("detections", "congested points detected", unit::NONE, "How often congestion was detected in a queue."),
    counted("lines_allocated", "lines allocated", unit::NONE, "Lines taken into use."),
    counted("lines_freed", "lines freed", unit::NONE, "Lines given up."),
    counted(
        "line_lifetime",
        "lifetimes of lines",
        unit::CYCLES,
        "For how long the lines given up were in use, all together; in cycles of the router where these are shorter.",
    ),
    counted(
        "without_line",
        "notifications without a line",
        unit::NONE,
        "How often a line was wanted and none was free.",
    ),
    counted("packets_moved", "packets isolated", unit::NONE, "Packets moved to a queue for congested flows."),
    counted(
        "cam_on",
        "time of memories switched on",
        unit::CYCLES,
        "For how long memories were switched on, all together; in cycles of the router where these are shorter.",
    ),
    Total {
        name: "cams",
        words: "memories",
        unit: unit::NONE,
        about: "Memories of lines in the network: one for each virtual channel of an input port.",
        standing: true,
    },
    Total {
        name: "cam_bytes",
        words: "size of all memories",
        unit: unit::BYTES,
        about: "Bytes that all of them take.",
        standing: true,
    },
];

impl Rule {
    /// Quantities of an input port, for probes.
    pub(super) fn quantities(&self, port: u32, see: &mut dyn FnMut(&'static Observable, u32)) {
        let first = self.buffer(port, 0);
        let (mut lines, mut copies, mut nfq, mut cfq, mut on) = (0, 0, 0, 0, 0);
        for b in first..first + self.vcs as usize {
            let buffer = &self.buffers[b];
            lines += buffer.active;
            on |= u32::from(buffer.active > 0);
            nfq += buffer.phits;
            cfq += buffer.lines.iter().map(|line| line.phits).sum::<u32>();
            copies += self.outputs[b].lines.iter().filter(|copy| copy.active).count() as u32;
        }
        OBSERVABLES.iter().zip([lines, copies, nfq, cfq, on]).for_each(|(quantity, value)| see(quantity, value));
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
            for (number, copy) in self.output(port, vc).lines.iter().enumerate().filter(|(_, copy)| copy.active) {
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

    /// The counts since the start of the run.
    pub(super) fn summary(&self, now: Tick) -> Vec<(&'static Total, u64)> {
        let counts = &self.counts;
        let still_on = |buffer: &&Buffer| buffer.active > 0;
        let on: u64 = self.buffers.iter().filter(still_on).map(|buffer| u64::from(now - buffer.on_since)).sum();
        let values = [
            counts.detections,
            counts.allocated,
            counts.freed,
            counts.lifetime,
            counts.without_line,
            counts.moved,
            counts.cam_on + on,
            self.buffers.len() as u64,
            self.buffers.len() as u64 * self.params.cam_bytes(self.table.endpoints()),
        ];
        let sent = SENT.iter().flatten().zip(counts.sent.iter().flat_map(|(messages, bits)| [*messages, *bits]));
        TOTALS.iter().zip(values).chain(sent).collect()
    }

    /// Bytes held.
    pub(super) fn size(&self) -> usize {
        let lists = |list: &Vec<u32>| list.capacity() * 4;
        let line = |line: &Line| size_of::<Line>() + lists(&line.destinations) + lists(&line.unsent);
        let lines = |buffer: &Buffer| buffer.lines.iter().map(line).sum::<usize>();
        let copies = |copy: &Copy| size_of::<Copy>() + lists(&copy.destinations);
        let output = |output: &Output| size_of::<Output>() + output.lines.iter().map(copies).sum::<usize>();
        self.buffers.iter().map(|buffer| size_of::<Buffer>() + lines(buffer)).sum::<usize>()
            + self.outputs.iter().map(output).sum::<usize>()
            + self.sources.iter().map(copies).sum::<usize>()
            + self.known.capacity() * 4
    }
}
