//! The wavefront allocator: the diagonals of the matrix of requests one after another.

use super::partners::Partners;
use super::priority::{Equal, HighestFirst, OldestFirst, Order, Priority};
use super::{Allocator, AllocatorContext, AllocatorParams, Request, Round};
use crate::engine::{Memory, NONE, Tick};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The first diagonal of the next round.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Diagonal {
    /// The diagonal after this round's first one.
    #[default]
    Next,
    /// The diagonal after the first one with a grant.
    AfterFirst,
}

/// Wavefront allocation (Tamir and Chi, IEEE Transactions on Parallel and Distributed Systems 4(1), 1993). Cells on a
/// diagonal of the matrix of inputs and outputs share neither input nor output. So all requests on it whose input and
/// output are free are granted, then those on the next diagonal. At the end, no further grant is possible. If several
/// queues of one input want an output, one of them requests it, in turn.
///
/// ```toml
/// [router.allocator]
/// kind = "wavefront"
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Wavefront {
    /// The diagonal with which a round begins.
    pub diagonal: Diagonal,
    /// Priority of requests over others.
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
    /// Places of requests in the order in which the wave reaches them.
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

    /// The router's next round begins one behind `diagonal`, or behind this round's first diagonal.
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
        // A wave for each rank: for it, the ports of earlier ranks are taken.
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

    fn remember(&self, memory: &mut Memory) {
        memory.add_all(self.first.iter().copied());
        self.partners.remember(memory);
    }

    fn bytes(&self) -> usize {
        4 * self.first.capacity() + self.partners.bytes() + self.wave.capacity() * size_of::<(O::Key, u32)>()
    }
}
