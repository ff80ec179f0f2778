//! The backlog of each output in its router's input queues, for a congestion control.
//!
//! A queue counts for one output: the output of its head or, before its head has been routed, that of the head before.
//! With one queue for each output this is what waits for the output. A flit counts from its arrival until it leaves.

use crate::engine::NONE;

/// The phits of a queue.
#[derive(Debug, Clone, Copy)]
struct Held {
    phits: u32,
    /// The output for which they count; `NONE` before the first head.
    output: u32,
}

/// The backlogs of a partition's outputs.
#[derive(Debug)]
pub(crate) struct Backlogs {
    queues: Vec<Held>,
    outputs: Vec<u32>,
}

impl Backlogs {
    pub(crate) fn new(queues: usize, outputs: usize) -> Self {
        Self { queues: vec![Held { phits: 0, output: NONE }; queues], outputs: vec![0; outputs] }
    }

    /// Phits that wait for `output`.
    pub(crate) fn of(&self, output: u32) -> u32 {
        self.outputs[output as usize]
    }

    /// A flit of `phits` enters `queue`.
    pub(crate) fn enters(&mut self, queue: u32, phits: u32) {
        let held = &mut self.queues[queue as usize];
        held.phits += phits;
        if let Some(backlog) = self.outputs.get_mut(held.output as usize) {
            *backlog += phits;
        }
    }

    /// The head of `queue` is to leave through `output`.
    pub(crate) fn turns(&mut self, queue: u32, output: u32) {
        let held = &mut self.queues[queue as usize];
        if held.output == output {
            return;
        }
        let before = std::mem::replace(&mut held.output, output);
        if let Some(backlog) = self.outputs.get_mut(before as usize) {
            *backlog -= held.phits;
        }
        self.outputs[output as usize] += held.phits;
    }

    /// A flit of `phits` leaves `queue`.
    pub(crate) fn leaves(&mut self, queue: u32, phits: u32) {
        let held = &mut self.queues[queue as usize];
        held.phits -= phits;
        if let Some(backlog) = self.outputs.get_mut(held.output as usize) {
            *backlog -= phits;
        }
    }

    /// A packet of `phits` moves from one queue to another.
    pub(crate) fn moves(&mut self, (from, to): (u32, u32), phits: u32) {
        self.leaves(from, phits);
        self.enters(to, phits);
    }

    /// Phits in `queue`.
    pub(crate) fn in_queue(&self, queue: u32) -> u32 {
        self.queues[queue as usize].phits
    }

    /// True if the backlogs of all outputs are those of the queues that count for them.
    pub(crate) fn is_consistent(&self) -> bool {
        let mut sums = vec![0; self.outputs.len()];
        for held in self.queues.iter().filter(|held| held.output != NONE) {
            sums[held.output as usize] += held.phits;
        }
        sums == self.outputs
    }

    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        self.queues.capacity() * size_of::<Held>() + self.outputs.capacity() * 4
    }
}
