//! The lonely output allocator: inputs request the output that fewest others want.

use super::partners::Partners;
use super::{Allocator, AllocatorContext, AllocatorParams, Best, Request, Round};
use crate::engine::bits::turn;
use crate::engine::{Memory, Tick};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Lonely output allocation (Gupta and McKeown, IEEE Micro 19(1), 1999). Every input requests the output that fewest
/// inputs want; among several, the first in turn. Every output grants one of the requesting inputs, in turn. If several
/// queues of one input want an output, one of them requests it, in turn.
///
/// ```toml
/// [router.allocator]
/// kind = "lonely_output"
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LonelyOutput {}

impl AllocatorParams for LonelyOutput {
    fn considers_all(&self) -> bool {
        true
    }

    fn build(&self, context: &AllocatorContext) -> Box<dyn Allocator> {
        Box::new(Rule {
            radix: context.radix,
            ask: vec![0; context.ports as usize],
            grant: vec![0; context.ports as usize],
            partners: Partners::new(context.ports, context.radix, context.queues),
            best: Best::new(context.radix),
            wanted: vec![0; context.radix as usize],
            asking: Vec::new(),
        })
    }
}

struct Rule {
    radix: u32,
    /// Pointer of each input over outputs.
    ask: Vec<u16>,
    /// Pointer of each output over inputs.
    grant: Vec<u16>,
    partners: Partners,
    best: Best,
    /// By output: the number of inputs that want it.
    wanted: Vec<u32>,
    /// Places of the requests that inputs make.
    asking: Vec<u32>,
}

impl Allocator for Rule {
    fn allocate(&mut self, round: Round<'_>, requests: &[Request], grants: &mut Vec<u32>) {
        let (first_port, radix) = (round.first_port, self.radix);
        self.partners.fill(&round, requests);
        let output = |place: u32| requests[place as usize].output - first_port;
        self.wanted.fill(0);
        for &place in self.partners.asking() {
            self.wanted[output(place) as usize] += 1;
        }
        for &place in self.partners.asking() {
            let input = u32::from(requests[place as usize].input);
            let pointer = self.ask[(first_port + input) as usize];
            let others = u64::from(self.wanted[output(place) as usize]);
            self.best.offer(input, others << 32 | turn(output(place), pointer, radix), place);
        }
        let asking = &mut self.asking;
        self.best.drain(|_, place| asking.push(place));
        for place in self.asking.drain(..) {
            let request = &requests[place as usize];
            let key = turn(request.input.into(), self.grant[request.output as usize], radix);
            self.best.offer(output(place), key | u64::from(request.class) << 62, place);
        }
        let Self { best, partners, ask, grant, .. } = self;
        best.drain(|output, place| {
            let request = &requests[place as usize];
            partners.pair(request.input.into(), output);
            advance(ask, grant, first_port, request, radix);
        });
        self.partners.grant(first_port, requests, grants);
    }

    fn grant_alone(&mut self, first_port: u32, _: Tick, request: &Request) {
        self.partners.serve(first_port, request);
        advance(&mut self.ask, &mut self.grant, first_port, request, self.radix);
    }

    fn remember(&self, memory: &mut Memory) {
        memory.add_all(self.ask.iter().chain(&self.grant).copied());
        self.partners.remember(memory);
    }

    fn bytes(&self) -> usize {
        2 * (self.ask.capacity() + self.grant.capacity())
            + 4 * (self.wanted.capacity() + self.asking.capacity())
            + self.partners.bytes()
            + self.best.bytes()
    }
}

/// A grant moves both its pointers by one, wherever they were.
fn advance(ask: &mut [u16], grant: &mut [u16], first_port: u32, request: &Request, radix: u32) {
    for pointer in [&mut ask[(first_port + u32::from(request.input)) as usize], &mut grant[request.output as usize]] {
        *pointer = if u32::from(*pointer) + 1 == radix { 0 } else { *pointer + 1 };
    }
}
