//! The requests of one router's round, and the inputs and outputs matched so far.

use super::pairs::Pairs;
use super::priority::{Equal, Order};
use super::{Best, Request, Round};
use crate::engine::{Memory, NONE};

/// At most one request for each pair of an input and an output, and the partners found so far.
pub(super) struct Partners<O: Order = Equal> {
    pairs: Pairs,
    best: Best<O::Key>,
    /// By input and by output: its partner; `NONE` if it has none yet.
    pub inputs: Vec<u32>,
    pub outputs: Vec<u32>,
}

impl<O: Order> Partners<O> {
    /// For routers with at most `radix` ports, `ports` in total, with at most `queues` queues each.
    pub(super) fn new(ports: u32, radix: u32, queues: u32) -> Self {
        Self {
            pairs: Pairs::new(ports, queues),
            best: Best::new(radix),
            inputs: vec![NONE; radix as usize],
            outputs: vec![NONE; radix as usize],
        }
    }

    /// Reads the requests of a round.
    pub(super) fn fill(&mut self, round: &Round<'_>, requests: &[Request]) {
        self.pairs.choose::<O>(round, requests, &mut self.best);
    }

    /// Returns the places of the requests whose input and output are partners, and removes all requests.
    pub(super) fn grant(&mut self, first_port: u32, requests: &[Request], grants: &mut Vec<u32>) {
        for index in 0..self.pairs.asking.len() {
            let place = self.pairs.asking[index];
            let request = &requests[place as usize];
            let (input, output) = (u32::from(request.input), request.output - first_port);
            if self.inputs[input as usize] == output {
                self.serve(first_port, request);
                grants.push(place);
            }
        }
        for place in &self.pairs.asking {
            let request = &requests[*place as usize];
            self.inputs[usize::from(request.input)] = NONE;
            self.outputs[(request.output - first_port) as usize] = NONE;
        }
    }

    /// The queue of `request` has had its turn.
    pub(super) fn serve(&mut self, first_port: u32, request: &Request) {
        self.pairs.serve(first_port + u32::from(request.input), request);
    }

    /// The places of the requests of this round.
    pub(super) fn asking(&self) -> &[u32] {
        &self.pairs.asking
    }

    /// Pairs `input` with `output`.
    #[inline]
    pub(super) fn pair(&mut self, input: u32, output: u32) {
        self.inputs[input as usize] = output;
        self.outputs[output as usize] = input;
    }

    /// Bytes held.
    /// Adds the turns to `memory`.
    pub(super) fn remember(&self, memory: &mut Memory) {
        self.pairs.remember(memory);
    }

    pub(super) fn bytes(&self) -> usize {
        4 * (self.inputs.capacity() + self.outputs.capacity()) + self.pairs.bytes() + self.best.bytes()
    }
}
