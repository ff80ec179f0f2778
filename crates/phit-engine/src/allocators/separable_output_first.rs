//! Separable output-first allocation: outputs choose inputs, then inputs choose outputs.

use super::pairs::Pairs;
use super::priority::{Equal, HighestFirst, OldestFirst, Order, Priority};
use super::separable::{Arbiter, Turns, check_arbiter};
use super::{Allocator, AllocatorContext, AllocatorParams, Best, InTurn, Request, Round};
use crate::engine::{Memory, Tick};
use crate::error::ScenarioError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Separable output-first allocation, one round per tick (Dally and Towles, section 19.3). An arbiter per output
/// chooses among the inputs that want it. Then an arbiter per input chooses among the outputs that have chosen it. Only
/// a grant moves the arbiters on. If several queues of one input want an output, one of them requests it, in turn.
///
/// ```toml
/// [router.allocator]
/// kind = "separable_output_first"
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SeparableOutputFirst {
    /// The rule of the arbiters.
    pub arbiter: Arbiter,
    /// Priority of requests over others.
    #[serde(skip_serializing_if = "Priority::is_none")]
    pub priority: Priority,
}

impl AllocatorParams for SeparableOutputFirst {
    fn check(&self) -> Result<(), ScenarioError> {
        check_arbiter(self.arbiter, self.priority)
    }

    fn considers_all(&self) -> bool {
        true
    }

    fn in_turn(&self) -> Option<InTurn> {
        (self.arbiter == Arbiter::RoundRobin && self.priority.is_none()).then_some(InTurn::OutputsFirst)
    }

    fn build(&self, context: &AllocatorContext) -> Box<dyn Allocator> {
        match self.priority {
            Priority::None => Box::new(Rule::<Equal>::new(self.arbiter, context)),
            Priority::Age => Box::new(Rule::<OldestFirst>::new(self.arbiter, context)),
            Priority::Class => Box::new(Rule::<HighestFirst>::new(self.arbiter, context)),
        }
    }
}

struct Rule<O: Order> {
    arbiter: Arbiter,
    inputs: Turns,
    outputs: Turns,
    pairs: Pairs,
    best: Best<O::Key>,
    /// Places of requests that their outputs have chosen.
    chosen: Vec<u32>,
}

impl<O: Order> Rule<O> {
    fn new(arbiter: Arbiter, context: &AllocatorContext) -> Self {
        let (ports, radix) = (context.ports as usize, context.radix as usize);
        Self {
            arbiter,
            inputs: Turns::new(arbiter, ports, radix),
            outputs: Turns::new(arbiter, ports, radix),
            pairs: Pairs::new(context.ports, context.queues),
            best: Best::new(context.radix),
            chosen: Vec::new(),
        }
    }
}

impl<O: Order> Allocator for Rule<O> {
    fn allocate(&mut self, mut round: Round<'_>, requests: &[Request], grants: &mut Vec<u32>) {
        self.pairs.choose::<O>(&round, requests, &mut self.best);
        for &index in &self.pairs.asking {
            let request = &requests[index as usize];
            let key = self.outputs.key_of(request.output, request.input, request.birth, &mut round);
            self.best.offer(request.output - round.first_port, O::at_output(request, key), index);
        }
        let chosen = &mut self.chosen;
        self.best.drain(|_, index| chosen.push(index));
        for index in self.chosen.drain(..) {
            let request = &requests[index as usize];
            let (at, output) = (round.first_port + u32::from(request.input), request.output - round.first_port);
            let key = self.inputs.key_of(at, output as u16, request.birth, &mut round);
            self.best.offer(request.input.into(), O::among_outputs(request, key), index);
        }
        let first = grants.len();
        self.best.drain(|_, index| grants.push(index));
        for &index in &grants[first..] {
            self.grant_alone(round.first_port, round.now, &requests[index as usize]);
        }
    }

    fn grant_alone(&mut self, first_port: u32, now: Tick, request: &Request) {
        let at = first_port + u32::from(request.input);
        self.inputs.serve_one(at, (request.output - first_port) as u16, now);
        self.outputs.serve_one(request.output, request.input, now);
        self.pairs.serve(at, request);
    }

    fn grants_apart(&self) -> bool {
        self.arbiter != Arbiter::Random
    }

    fn by_age(&self) -> bool {
        O::BY_AGE || self.arbiter == Arbiter::Age
    }

    fn by_class(&self) -> bool {
        O::BY_CLASS
    }

    fn fetch(&self) {
        self.inputs.fetch();
        self.outputs.fetch();
    }

    fn remember(&self, memory: &mut Memory) {
        self.inputs.remember(memory);
        self.outputs.remember(memory);
        self.pairs.remember(memory);
    }

    fn bytes(&self) -> usize {
        self.inputs.bytes() + self.outputs.bytes() + self.pairs.bytes() + self.best.bytes() + 4 * self.chosen.capacity()
    }
}
