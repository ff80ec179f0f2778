//! The wavefront allocator: the diagonals of the matrix of requests one after another.

use super::partners::Partners;
use super::priority::{Equal, HighestFirst, OldestFirst, Order, Priority};
use super::{Allocator, AllocatorContext, AllocatorParams, Request, Round};
use crate::engine::{NONE, Tick};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which diagonal comes first in the next round.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Diagonal {
    /// The one after that of this round.
    #[default]
    Next,
    /// The one after the first in which somebody won.
    AfterFirst,
}

/// Wavefront allocation (Tamir and Chi, IEEE Transactions on Parallel and Distributed Systems 4(1), 1993): the cells on
/// a diagonal of the matrix of inputs and outputs have neither in common, so that all requests on it are granted whose
/// input and output are free, then those on the next. No grant can be added in the end. Of several queues of one input
/// that want the same output, one asks, in turn.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Wavefront {
    /// Which diagonal a round begins with.
    pub diagonal: Diagonal,
    /// Which requests go before others.
    #[serde(skip_serializing_if = "Priority::is_none")]
    pub priority: Priority,
}

impl AllocatorParams for Wavefront {
    fn considers_all(&self) -> bool {
        true
    }

    fn build(&self, context: &AllocatorContext) -> Box<dyn Allocator> {
        match self.priority {
            Priority::None => Box::new(Rule::<Equal>::new(self.diagonal, context)),
            Priority::Age => Box::new(Rule::<OldestFirst>::new(self.diagonal, context)),
            Priority::Class => Box::new(Rule::<HighestFirst>::new(self.diagonal, context)),
        }
    }
}

struct Rule<O: Order> {
    diagonal: Diagonal,
    radix: u32,
    /// The diagonal with which each router's next round begins, at its first port.
    first: Vec<u32>,
    partners: Partners<O>,
    /// Places of requests in the order in which the wave comes to them.
    wave: Vec<(O::Key, u32)>,
}

impl<O: Order> Rule<O> {
    fn new(diagonal: Diagonal, context: &AllocatorContext) -> Self {
        Self {
            diagonal,
            radix: context.radix,
            first: vec![0; context.ports as usize],
            partners: Partners::new(context.ports, context.radix, context.queues),
            wave: Vec::new(),
        }
    }

    /// The router's next round begins one behind `diagonal`, or behind this round's first.
    fn move_on(&mut self, first_port: u32, diagonal: u32) {
        let first = &mut self.first[first_port as usize];
        let last = if self.diagonal == Diagonal::Next { *first } else { diagonal };
        *first = (last + 1) % self.radix;
    }
}

impl<O: Order> Allocator for Rule<O> {
    fn allocate(&mut self, round: Round<'_>, requests: &[Request], grants: &mut Vec<u32>) {
        let (radix, start) = (self.radix, self.first[round.first_port as usize]);
        self.partners.fill(&round, requests);
        let mut first = None;
        let cell = |place: u32| {
            let request = &requests[place as usize];
            (u32::from(request.input), request.output - round.first_port)
        };
        // A wave for each rank: it sees those of the ranks before it as taken.
        self.wave.clear();
        self.wave.extend(self.partners.asking().iter().map(|&place| {
            let (input, output) = cell(place);
            let step = (input + output + radix - start) % radix;
            (O::at_output(&requests[place as usize], step.into()), place)
        }));
        self.wave.sort_unstable();
        for &(_, place) in &self.wave {
            let (input, output) = cell(place);
            if self.partners.inputs[input as usize] == NONE && self.partners.outputs[output as usize] == NONE {
                self.partners.pair(input, output);
                first.get_or_insert((input + output) % radix);
            }
        }
        self.partners.grant(round.first_port, requests, grants);
        self.move_on(round.first_port, first.unwrap_or(start));
    }

    fn grant_alone(&mut self, first_port: u32, _: Tick, request: &Request) {
        self.partners.serve(first_port, request);
        self.move_on(first_port, (u32::from(request.input) + request.output - first_port) % self.radix);
    }

    /// A round moves the diagonal on once, however many requests it has.
    fn grants_apart(&self) -> bool {
        false
    }

    fn by_age(&self) -> bool {
        O::BY_AGE
    }

    fn by_class(&self) -> bool {
        O::BY_CLASS
    }

    fn bytes(&self) -> usize {
        4 * self.first.capacity() + self.partners.bytes() + self.wave.capacity() * size_of::<(O::Key, u32)>()
    }
}
