//! iSLIP: iterative round-robin matching with slipping pointers.

use super::{Allocator, AllocatorContext, AllocatorParams, Best, Request, Round};
use crate::engine::Tick;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// iSLIP (McKeown, IEEE/ACM Transactions on Networking 7(2), 1999): every output grants one requesting input in turn,
/// every input accepts one granting output in turn; the pointers move only on what the first iteration accepts. Of
/// several queues of one input that want the same output, one asks, in turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Islip {
    /// Iterations per tick, at least 1.
    #[schemars(range(min = 1))]
    pub iterations: u8,
}

impl Default for Islip {
    fn default() -> Self {
        Self { iterations: 1 }
    }
}

impl AllocatorParams for Islip {
    fn considers_all(&self) -> bool {
        true
    }

    fn build(&self, context: &AllocatorContext) -> Box<dyn Allocator> {
        let ports = context.ports as usize;
        Box::new(Rule {
            iterations: self.iterations.max(1),
            radix: context.radix,
            queues: context.queues,
            grant: vec![0; ports],
            accept: vec![0; ports],
            lane: vec![0; ports],
            best: Best::new(context.radix),
            matched_inputs: vec![false; context.radix as usize],
            matched_outputs: vec![false; context.radix as usize],
            candidates: Vec::new(),
            accepted: Vec::new(),
        })
    }
}

struct Rule {
    iterations: u8,
    radix: u32,
    queues: u32,
    /// Pointer of each output over inputs.
    grant: Vec<u16>,
    /// Pointer of each input over outputs.
    accept: Vec<u16>,
    /// Pointer of each input over its queues.
    lane: Vec<u16>,
    best: Best,
    matched_inputs: Vec<bool>,
    matched_outputs: Vec<bool>,
    candidates: Vec<u32>,
    accepted: Vec<u32>,
}

/// Distance of `client` from `pointer` going round `n` clients.
#[inline]
fn turn(client: u32, pointer: u16, n: u32) -> u64 {
    let pointer = u32::from(pointer);
    u64::from(if client >= pointer { client - pointer } else { client + n - pointer })
}

#[inline]
fn after(client: u32, n: u32) -> u16 {
    (if client + 1 == n { 0 } else { client + 1 }) as u16
}

impl Rule {
    /// Of the requests of one input for one output, the one whose queue comes first in turn.
    fn one_queue_per_pair(&mut self, round: &Round<'_>, requests: &[Request]) {
        self.candidates.clear();
        let mut start = 0;
        while start < requests.len() {
            let input = requests[start].input;
            let end = start + requests[start..].iter().take_while(|r| r.input == input).count();
            if end - start == 1 {
                self.candidates.push(start as u32);
            } else {
                let pointer = self.lane[(round.first_port + u32::from(input)) as usize];
                for (index, request) in requests[start..end].iter().enumerate() {
                    let key = turn(u32::from(request.lane), pointer, self.queues);
                    self.best.offer(request.output - round.first_port, key, (start + index) as u32);
                }
                let candidates = &mut self.candidates;
                self.best.drain(|_, index| candidates.push(index));
            }
            start = end;
        }
    }
}

/// So many requests, or fewer, are compared two by two.
const FEW: usize = 4;

impl Rule {
    /// One iteration for a few requests, without tables of the best by port.
    #[inline]
    fn match_few(&mut self, round: &Round<'_>, requests: &[Request], grants: &mut Vec<u32>) {
        let (radix, queues) = (self.radix, self.queues);
        let input = |request: &Request| (round.first_port + u32::from(request.input)) as usize;
        let mut left = [true; FEW];
        // Of the queues of one input that want the same output, one asks; an output grants one of those who ask; and an
        // input accepts one of its grants. Whoever comes later in turn drops out.
        let lane = |r: &Request| turn(r.lane.into(), self.lane[input(r)], queues);
        drop_out(requests, &mut left, |a, b| a.input == b.input && a.output == b.output, lane);
        let grant = |r: &Request| turn(r.input.into(), self.grant[r.output as usize], radix) | u64::from(r.class) << 62;
        drop_out(requests, &mut left, |a, b| a.output == b.output, grant);
        let accept = |r: &Request| turn(r.output - round.first_port, self.accept[input(r)], radix);
        drop_out(requests, &mut left, |a, b| a.input == b.input, accept);
        for (place, request) in requests.iter().enumerate().filter(|(place, _)| left[*place]) {
            self.grant_alone(round.first_port, round.now, request);
            grants.push(place as u32);
        }
    }
}

/// Of two requests that are both left and `meet`, the one with the larger key is not.
#[inline(always)]
fn drop_out(
    requests: &[Request],
    left: &mut [bool; FEW],
    meet: impl Fn(&Request, &Request) -> bool,
    key: impl Fn(&Request) -> u64,
) {
    for (second, b) in requests.iter().enumerate().take(FEW) {
        for (first, a) in requests[..second].iter().enumerate() {
            if left[first] && left[second] && meet(a, b) {
                left[if key(b) < key(a) { first } else { second }] = false;
            }
        }
    }
}

impl Allocator for Rule {
    fn allocate(&mut self, round: Round<'_>, requests: &[Request], grants: &mut Vec<u32>) {
        if self.iterations == 1 && requests.len() <= FEW {
            return self.match_few(&round, requests, grants);
        }
        self.one_queue_per_pair(&round, requests);
        let first_grant = grants.len();
        for iteration in 0..self.iterations {
            for &index in &self.candidates {
                let request = &requests[index as usize];
                let output = request.output - round.first_port;
                if self.matched_inputs[request.input as usize] || self.matched_outputs[output as usize] {
                    continue;
                }
                let key = turn(u32::from(request.input), self.grant[request.output as usize], self.radix);
                self.best.offer(output, key | u64::from(request.class) << 62, index);
            }
            self.accepted.clear();
            let accepted = &mut self.accepted;
            self.best.drain(|_, index| accepted.push(index));
            if self.accepted.is_empty() {
                break;
            }
            for &index in &self.accepted {
                let request = &requests[index as usize];
                let pointer = self.accept[(round.first_port + u32::from(request.input)) as usize];
                let key = turn(request.output - round.first_port, pointer, self.radix);
                self.best.offer(u32::from(request.input), key, index);
            }
            let Self { best, grant, accept, lane, matched_inputs, matched_outputs, radix, queues, .. } = self;
            best.drain(|input, index| {
                let request = &requests[index as usize];
                let output = request.output - round.first_port;
                let port = (round.first_port + input) as usize;
                if iteration == 0 {
                    grant[request.output as usize] = after(input, *radix);
                    accept[port] = after(output, *radix);
                }
                lane[port] = after(u32::from(request.lane), *queues);
                matched_inputs[input as usize] = true;
                matched_outputs[output as usize] = true;
                grants.push(index);
            });
        }
        for &index in &grants[first_grant..] {
            let request = &requests[index as usize];
            self.matched_inputs[request.input as usize] = false;
            self.matched_outputs[(request.output - round.first_port) as usize] = false;
        }
    }

    fn grant_alone(&mut self, first_port: u32, _: Tick, request: &Request) {
        let (input, output) = (u32::from(request.input), request.output - first_port);
        self.grant[request.output as usize] = after(input, self.radix);
        self.accept[(first_port + input) as usize] = after(output, self.radix);
        self.lane[(first_port + input) as usize] = after(request.lane.into(), self.queues);
    }

    fn splits(&self) -> bool {
        true
    }

    fn bytes(&self) -> usize {
        2 * (self.grant.capacity() + self.accept.capacity() + self.lane.capacity())
            + self.best.bytes()
            + self.matched_inputs.capacity()
            + self.matched_outputs.capacity()
            + 4 * (self.candidates.capacity() + self.accepted.capacity())
    }
}
