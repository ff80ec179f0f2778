//! A collective in chunks: several at once, and in each lane one chunk after another.

use super::{Step, Steps};
use std::sync::Arc;

/// The first `at_once` chunks begin together. A member begins chunk c when it has ended chunk c - `at_once`.
#[derive(Debug)]
pub(crate) struct Chunked {
    /// The chunks, with equal numbers of lanes.
    pub(crate) chunks: Vec<Arc<dyn Steps>>,
    pub(crate) at_once: u32,
}

impl Chunked {
    fn each(&self) -> u32 {
        self.chunks[0].lanes()
    }
}

impl Steps for Chunked {
    fn lanes(&self) -> u32 {
        self.each() * self.at_once
    }

    fn step(&self, member: u32, lane: u32, mut number: u32) -> Option<Step> {
        let (first, lane) = (lane / self.each(), lane % self.each());
        for chunk in self.chunks.iter().skip(first as usize).step_by(self.at_once as usize) {
            let count = chunk.count(member, lane);
            match number.checked_sub(count) {
                None => return chunk.step(member, lane, number),
                Some(later) => number = later,
            }
        }
        None
    }

    fn count(&self, member: u32, lane: u32) -> u32 {
        let (first, lane) = (lane / self.each(), lane % self.each());
        self.chunks.iter().skip(first as usize).step_by(self.at_once as usize).map(|c| c.count(member, lane)).sum()
    }
}
