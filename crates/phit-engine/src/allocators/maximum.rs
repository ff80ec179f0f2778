//! Maximum matching: the largest possible number of grants.

use super::partners::Partners;
use super::{Allocator, AllocatorContext, AllocatorParams, Request, Round};
use crate::engine::{Memory, NONE, Tick};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// The largest number of grants that the requests allow, by shortest augmenting paths (Hopcroft and Karp, SIAM Journal
/// on Computing 2(4), 1973, one path at a time). No allocator of a real router has the time for it. The search begins
/// at another input in every round. If several queues of one input want an output, one of them requests it, in turn.
///
/// ```toml
/// [router.allocator]
/// kind = "maximum_matching"
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MaximumMatching {}

impl AllocatorParams for MaximumMatching {
    fn considers_all(&self) -> bool {
        true
    }

    fn ranks(&self) -> bool {
        false
    }

    fn build(&self, context: &AllocatorContext) -> Box<dyn Allocator> {
        Box::new(Rule {
            radix: context.radix,
            first: vec![0; context.ports as usize],
            partners: Partners::new(context.ports, context.radix, context.queues),
            edges: Vec::new(),
            asked: vec![0..0; context.radix as usize],
            inputs: Vec::new(),
            from: vec![NONE; context.radix as usize],
            at: Vec::new(),
            beyond: Vec::new(),
        })
    }
}

struct Rule {
    radix: u32,
    /// The input at which each router's next search begins, at its first port.
    first: Vec<u32>,
    partners: Partners,
    /// Pairs of an input and a requested output, in their order.
    edges: Vec<(u32, u32)>,
    /// By input: its part of the edges.
    asked: Vec<Range<usize>>,
    /// The requesting inputs, from the first of the search on.
    inputs: Vec<u32>,
    /// By output: the input from which the search has reached it.
    from: Vec<u32>,
    /// Inputs that the search has reached, and inputs one step further.
    at: Vec<u32>,
    beyond: Vec<u32>,
}

impl Rule {
    /// Reads the requests. The search begins at input `first`.
    fn fill(&mut self, round: &Round<'_>, requests: &[Request], first: u32) {
        self.partners.fill(round, requests);
        let edge = |place: &u32| {
            let request = &requests[*place as usize];
            (u32::from(request.input), request.output - round.first_port)
        };
        self.edges.clear();
        self.edges.extend(self.partners.asking().iter().map(edge));
        self.edges.sort_unstable();
        self.inputs.clear();
        let mut start = 0;
        for run in self.edges.chunk_by(|a, b| a.0 == b.0) {
            self.asked[run[0].0 as usize] = start..start + run.len();
            self.inputs.push(run[0].0);
            start += run.len();
        }
        let turn = self.inputs.partition_point(|input| *input < first);
        self.inputs.rotate_left(turn);
    }

    /// The end of a shortest path from an input without an output to an output without an input, if there is one.
    fn search(&mut self) -> Option<u32> {
        let Self { partners, edges, asked, inputs, from, at, beyond, .. } = self;
        from.fill(NONE);
        at.clear();
        at.extend(inputs.iter().filter(|input| partners.inputs[**input as usize] == NONE));
        while !at.is_empty() {
            for &input in at.iter() {
                for &(_, output) in &edges[asked[input as usize].clone()] {
                    let held = partners.inputs[input as usize] == output;
                    if held || from[output as usize] != NONE {
                        continue;
                    }
                    from[output as usize] = input;
                    match partners.outputs[output as usize] {
                        NONE => return Some(output),
                        holder => beyond.push(holder),
                    }
                }
            }
            std::mem::swap(at, beyond);
            beyond.clear();
        }
        None
    }

    /// The router's next search begins one input later.
    fn move_on(&mut self, first_port: u32) {
        let first = &mut self.first[first_port as usize];
        *first = (*first + 1) % self.radix;
    }
}

impl Allocator for Rule {
    fn allocate(&mut self, round: Round<'_>, requests: &[Request], grants: &mut Vec<u32>) {
        self.fill(&round, requests, self.first[round.first_port as usize]);
        while let Some(mut output) = self.search() {
            // Every input on the path passes its output to the input before it, and takes the next output.
            self.beyond.clear();
            while output != NONE {
                let input = self.from[output as usize];
                let given_up = self.partners.inputs[input as usize];
                self.partners.pair(input, output);
                output = given_up;
            }
        }
        self.beyond.clear();
        self.partners.grant(round.first_port, requests, grants);
        self.move_on(round.first_port);
    }

    fn grant_alone(&mut self, first_port: u32, _: Tick, request: &Request) {
        self.partners.serve(first_port, request);
        self.move_on(first_port);
    }

    /// A round moves the search on once, however many requests it has.
    fn grants_apart(&self) -> bool {
        false
    }

    fn remember(&self, memory: &mut Memory) {
        memory.add_all(self.first.iter().copied());
        self.partners.remember(memory);
    }

    fn bytes(&self) -> usize {
        let vectors = [&self.first, &self.inputs, &self.from, &self.at, &self.beyond];
        4 * vectors.iter().map(|vector| vector.capacity()).sum::<usize>()
            + 8 * self.edges.capacity()
            + 16 * self.asked.capacity()
            + self.partners.bytes()
    }
}
