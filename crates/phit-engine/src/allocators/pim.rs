//! Parallel iterative matching: outputs and inputs draw lots.

use super::partners::Partners;
use super::{Allocator, AllocatorContext, AllocatorParams, Best, Request, Round};
use crate::engine::{NONE, Tick};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parallel iterative matching (Anderson et al., ACM Transactions on Computer Systems 11(4), 1993): every free output
/// grants one of the free inputs that want it, at random, every input accepts one of its grants, at random. Of several
/// queues of one input that want the same output, one asks, in turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Pim {
    /// Iterations per tick, at least 1.
    #[schemars(range(min = 1))]
    pub iterations: u8,
}

impl Default for Pim {
    fn default() -> Self {
        Self { iterations: 1 }
    }
}

impl AllocatorParams for Pim {
    fn considers_all(&self) -> bool {
        true
    }

    fn build(&self, context: &AllocatorContext) -> Box<dyn Allocator> {
        Box::new(Rule {
            iterations: self.iterations.max(1),
            partners: Partners::new(context.ports, context.radix, context.queues),
            best: Best::new(context.radix),
            granted: Vec::new(),
        })
    }
}

struct Rule {
    iterations: u8,
    partners: Partners,
    best: Best,
    /// Places of the requests that outputs grant in an iteration.
    granted: Vec<u32>,
}

impl Allocator for Rule {
    fn allocate(&mut self, round: Round<'_>, requests: &[Request], grants: &mut Vec<u32>) {
        self.partners.fill(&round, requests);
        for _ in 0..self.iterations {
            // The smallest of numbers drawn for all who ask.
            for &place in self.partners.asking() {
                let request = &requests[place as usize];
                let output = request.output - round.first_port;
                let free = self.partners.inputs[usize::from(request.input)] == NONE
                    && self.partners.outputs[output as usize] == NONE;
                if free {
                    self.best.offer(output, round.rng.bits() >> 2 | u64::from(request.class) << 62, place);
                }
            }
            let granted = &mut self.granted;
            self.best.drain(|_, place| granted.push(place));
            if self.granted.is_empty() {
                break;
            }
            for place in self.granted.drain(..) {
                self.best.offer(requests[place as usize].input.into(), round.rng.bits() >> 2, place);
            }
            let partners = &mut self.partners;
            self.best.drain(|input, place| partners.pair(input, requests[place as usize].output - round.first_port));
        }
        self.partners.grant(round.first_port, requests, grants);
    }

    fn grant_alone(&mut self, first_port: u32, _: Tick, request: &Request) {
        self.partners.serve(first_port, request);
    }

    /// A round draws lots for all who ask.
    fn grants_apart(&self) -> bool {
        false
    }

    fn bytes(&self) -> usize {
        self.partners.bytes() + self.best.bytes() + 4 * self.granted.capacity()
    }
}
