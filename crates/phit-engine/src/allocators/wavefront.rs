//! The wavefront allocator: the diagonals of the matrix of requests one after another.

use super::matrix::{MOST_PORTS, Matrix};
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
}

impl AllocatorParams for Wavefront {
    fn considers_all(&self) -> bool {
        true
    }

    fn most_ports(&self) -> u32 {
        MOST_PORTS
    }

    fn build(&self, context: &AllocatorContext) -> Box<dyn Allocator> {
        Box::new(Rule {
            diagonal: self.diagonal,
            radix: context.radix,
            first: vec![0; context.ports as usize],
            matrix: Matrix::new(context.ports, context.radix, context.queues),
        })
    }
}

struct Rule {
    diagonal: Diagonal,
    radix: u32,
    /// The diagonal with which each router's next round begins, at its first port.
    first: Vec<u32>,
    matrix: Matrix,
}

impl Rule {
    /// The router's next round begins one behind `diagonal`, or behind this round's first.
    fn move_on(&mut self, first_port: u32, diagonal: u32) {
        let first = &mut self.first[first_port as usize];
        let last = if self.diagonal == Diagonal::Next { *first } else { diagonal };
        *first = (last + 1) % self.radix;
    }
}

impl Allocator for Rule {
    fn allocate(&mut self, round: Round<'_>, requests: &[Request], grants: &mut Vec<u32>) {
        let (radix, start) = (self.radix, self.first[round.first_port as usize]);
        self.matrix.fill(&round, requests);
        let mut first = None;
        // Those of a rank see those before them as taken.
        let last = requests.iter().map(|request| request.class).max().unwrap_or(0);
        for class in 0..=last {
            for diagonal in (0..radix).map(|step| (start + step) % radix) {
                for output in 0..radix {
                    let input = (diagonal + radix - output) % radix;
                    let Some(place) = self.matrix.at(input, output) else { continue };
                    let free =
                        self.matrix.inputs[input as usize] == NONE && self.matrix.outputs[output as usize] == NONE;
                    if free && requests[place as usize].class == class {
                        self.matrix.pair(input, output);
                        first.get_or_insert(diagonal);
                    }
                }
            }
        }
        self.matrix.grant(round.first_port, requests, grants);
        self.move_on(round.first_port, first.unwrap_or(start));
    }

    fn grant_alone(&mut self, first_port: u32, _: Tick, request: &Request) {
        self.matrix.serve(first_port, request);
        self.move_on(first_port, (u32::from(request.input) + request.output - first_port) % self.radix);
    }

    /// A round moves the diagonal on once, however many requests it has.
    fn grants_apart(&self) -> bool {
        false
    }

    fn bytes(&self) -> usize {
        4 * self.first.capacity() + self.matrix.bytes()
    }
}
