//! Maximum matching: as many grants as there can be.

use super::matrix::{MOST_PORTS, Matrix};
use super::{Allocator, AllocatorContext, AllocatorParams, Request, Round};
use crate::engine::{NONE, Tick};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The largest number of grants that the requests allow, by shortest augmenting paths (Hopcroft and Karp, SIAM Journal
/// on Computing 2(4), 1973, one path at a time): what no allocator of a real router has time for. The search begins at
/// another input in every round. Of several queues of one input that want the same output, one asks, in turn.
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

    fn most_ports(&self) -> u32 {
        MOST_PORTS
    }

    fn build(&self, context: &AllocatorContext) -> Box<dyn Allocator> {
        Box::new(Rule {
            radix: context.radix,
            first: vec![0; context.ports as usize],
            matrix: Matrix::new(context.ports, context.radix, context.queues),
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
    matrix: Matrix,
    /// By output: the input from which the search has come to it.
    from: Vec<u32>,
    /// Inputs that the search has come to, and those one step beyond.
    at: Vec<u32>,
    beyond: Vec<u32>,
}

impl Rule {
    /// The end of a shortest path from an input without an output to an output without an input, if there is one.
    fn search(&mut self, first: u32) -> Option<u32> {
        let radix = self.radix;
        let Self { matrix, from, at, beyond, .. } = self;
        from.fill(NONE);
        at.clear();
        let inputs = (0..radix).map(|step| (first + step) % radix);
        at.extend(inputs.filter(|input| matrix.inputs[*input as usize] == NONE));
        while !at.is_empty() {
            for &input in at.iter() {
                for output in 0..radix {
                    let held = matrix.inputs[input as usize] == output;
                    if held || from[output as usize] != NONE || matrix.at(input, output).is_none() {
                        continue;
                    }
                    from[output as usize] = input;
                    match matrix.outputs[output as usize] {
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
        self.matrix.fill(&round, requests);
        let first = self.first[round.first_port as usize];
        while let Some(mut output) = self.search(first) {
            // Every input on the path gives up its output to the one behind it for the next.
            self.beyond.clear();
            while output != NONE {
                let input = self.from[output as usize];
                let given_up = self.matrix.inputs[input as usize];
                self.matrix.pair(input, output);
                output = given_up;
            }
        }
        self.beyond.clear();
        self.matrix.grant(round.first_port, requests, grants);
        self.move_on(round.first_port);
    }

    fn grant_alone(&mut self, first_port: u32, _: Tick, request: &Request) {
        self.matrix.serve(first_port, request);
        self.move_on(first_port);
    }

    /// A round moves the search on once, however many requests it has.
    fn grants_apart(&self) -> bool {
        false
    }

    fn bytes(&self) -> usize {
        let vectors = [&self.first, &self.from, &self.at, &self.beyond];
        4 * vectors.iter().map(|vector| vector.capacity()).sum::<usize>() + self.matrix.bytes()
    }
}
