//! iSLIP: iterative round-robin matching with slipping pointers.

use super::pairs::{Pairs, after};
use super::priority::{Equal, HighestFirst, OldestFirst, Order, Priority};
use super::{Allocator, AllocatorContext, AllocatorParams, Best, InTurn, Request, Round};
use crate::engine::bits::{first_from, turn};
use crate::engine::{Memory, NONE, Tick};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// iSLIP (McKeown, IEEE/ACM Transactions on Networking 7(2), 1999). Every output grants one requesting input in turn,
/// then every input accepts one granting output in turn. Pointers move only for grants accepted in the first iteration.
/// If several queues of one input want an output, one of them requests it, in turn.
///
/// ```toml
/// [router.allocator]
/// kind = "islip"
/// iterations = 2
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Islip {
    /// Iterations per tick, at least 1.
    #[schemars(range(min = 1))]
    pub iterations: u8,
    /// Priority of requests over others.
    #[serde(skip_serializing_if = "Priority::is_none")]
    pub priority: Priority,
}

impl Default for Islip {
    fn default() -> Self {
        Self { iterations: 1, priority: Priority::None }
    }
}

impl AllocatorParams for Islip {
    fn considers_all(&self) -> bool {
        true
    }

    fn in_turn(&self) -> Option<InTurn> {
        (self.iterations == 1 && self.priority.is_none()).then_some(InTurn::OutputsFirst)
    }

    fn build(&self, context: &AllocatorContext) -> Box<dyn Allocator> {
        match self.priority {
            Priority::None => Box::new(Rule::<Equal>::new(self.iterations, context)),
            Priority::Age => Box::new(Rule::<OldestFirst>::new(self.iterations, context)),
            Priority::Class => Box::new(Rule::<HighestFirst>::new(self.iterations, context)),
        }
    }
}

struct Rule<O: Order> {
    iterations: u8,
    radix: u32,
    /// Pointer of each output over inputs.
    grant: Vec<u16>,
    /// Pointer of each input over outputs.
    accept: Vec<u16>,
    pairs: Pairs,
    best: Best<O::Key>,
    /// By output's number in the router, where ports are treated as sets: the inputs that request it.
    asking: Box<[u64; PORTS]>,
    /// By input's number in the router: the outputs that grant it. All these sets are empty between two rounds.
    granting: Box<[u64; PORTS]>,
    /// By input's number in the router: its accepted output, numbered in the partition.
    accepted_output: Box<[u32; PORTS]>,
    matched_inputs: Vec<bool>,
    matched_outputs: Vec<bool>,
    accepted: Vec<u32>,
}

/// Most ports of a router that are treated as a set.
const PORTS: usize = 64;

/// Up to this number, requests are compared pair by pair.
const FEW: usize = 4;

impl<O: Order> Rule<O> {
    fn new(iterations: u8, context: &AllocatorContext) -> Self {
        let ports = context.ports as usize;
        Self {
            iterations: iterations.max(1),
            radix: context.radix,
            grant: vec![0; ports],
            accept: vec![0; ports],
            pairs: Pairs::new(context.ports, context.queues),
            best: Best::new(context.radix),
            asking: Box::new([0; PORTS]),
            granting: Box::new([0; PORTS]),
            accepted_output: Box::new([NONE; PORTS]),
            matched_inputs: vec![false; context.radix as usize],
            matched_outputs: vec![false; context.radix as usize],
            accepted: Vec::new(),
        }
    }

    /// One iteration for a few requests, without tables of the best request by port.
    #[inline]
    fn match_few(&mut self, round: &Round<'_>, requests: &[Request], grants: &mut Vec<u32>) {
        let radix = self.radix;
        let input = |request: &Request| (round.first_port + u32::from(request.input)) as usize;
        let mut left = [true; FEW];
        // Of the queues of one input that want an output, one requests it. An output grants one of the requesting
        // inputs, and an input accepts one of its grants. In each comparison, the later one in turn drops out.
        let lane = |r: &Request| O::at_input(r, self.pairs.key(input(r) as u32, r));
        drop_out(requests, &mut left, |a, b| a.input == b.input && a.output == b.output, lane);
        let grant = |r: &Request| O::at_output(r, turn(r.input.into(), self.grant[r.output as usize], radix));
        drop_out(requests, &mut left, |a, b| a.output == b.output, grant);
        let accept = |r: &Request| O::at_input(r, turn(r.output - round.first_port, self.accept[input(r)], radix));
        drop_out(requests, &mut left, |a, b| a.input == b.input, accept);
        for (place, request) in requests.iter().enumerate().filter(|(place, _)| left[*place]) {
            self.grant_alone(round.first_port, round.now, request);
            grants.push(place as u32);
        }
    }
}

/// If two requests both remain and `meet`, removes the one with the larger key.
#[inline(always)]
fn drop_out<K: Ord>(
    requests: &[Request],
    left: &mut [bool; FEW],
    meet: impl Fn(&Request, &Request) -> bool,
    key: impl Fn(&Request) -> K,
) {
    for (second, b) in requests.iter().enumerate().take(FEW) {
        for (first, a) in requests[..second].iter().enumerate() {
            if left[first] && left[second] && meet(a, b) {
                left[if key(b) < key(a) { first } else { second }] = false;
            }
        }
    }
}

impl<O: Order> Allocator for Rule<O> {
    fn allocate(&mut self, round: Round<'_>, requests: &[Request], grants: &mut Vec<u32>) {
        if self.iterations == 1 && requests.len() <= FEW {
            return self.match_few(&round, requests, grants);
        }
        self.pairs.choose::<O>(&round, requests, &mut self.best);
        let first_grant = grants.len();
        for iteration in 0..self.iterations {
            for &index in &self.pairs.asking {
                let request = &requests[index as usize];
                let output = request.output - round.first_port;
                if self.matched_inputs[request.input as usize] || self.matched_outputs[output as usize] {
                    continue;
                }
                let key = turn(u32::from(request.input), self.grant[request.output as usize], self.radix);
                self.best.offer(output, O::at_output(request, key), index);
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
                self.best.offer(u32::from(request.input), O::at_input(request, key), index);
            }
            let Self { best, grant, accept, pairs, matched_inputs, matched_outputs, .. } = self;
            best.drain(|input, index| {
                let request = &requests[index as usize];
                let output = request.output - round.first_port;
                let port = (round.first_port + input) as usize;
                if iteration == 0 {
                    grant[request.output as usize] = after(input);
                    accept[port] = after(output);
                }
                pairs.serve(port as u32, request);
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
        self.grant[request.output as usize] = after(input);
        self.accept[(first_port + input) as usize] = after(output);
        self.pairs.serve(first_port + input, request);
    }

    fn splits(&self) -> bool {
        true
    }

    fn matches_runs(&self) -> bool {
        self.iterations == 1 && !O::BY_AGE && self.radix <= PORTS as u32
    }

    /// Ports are sets, from which the next in turn is taken without a branch that must be predicted.
    fn match_run(&mut self, round: Round<'_>, requests: &mut [Request], grants: &mut Vec<u32>) {
        let first_port = round.first_port;
        let (mut wanted, mut accepting) = (0u64, 0u64);
        let mut classes = 0;
        for request in &*requests {
            let (input, output) = (request.input as usize % PORTS, (request.output - first_port) as usize % PORTS);
            self.asking[output] |= 1 << input;
            self.accepted_output[input] = NONE;
            (wanted, classes) = (wanted | 1 << output, classes | request.class);
        }
        if classes != 0 {
            self.asking.fill(0);
            self.allocate(round, requests, grants);
            return grants.drain(..).for_each(|place| requests[place as usize].granted = true);
        }
        while wanted != 0 {
            let output = wanted.trailing_zeros();
            wanted &= wanted - 1;
            let inputs = std::mem::take(&mut self.asking[output as usize]);
            let input = first_from(inputs, self.grant[(first_port + output) as usize].into()) % PORTS as u32;
            self.granting[input as usize] |= 1 << output;
            accepting |= 1u64 << input;
        }
        while accepting != 0 {
            let input = accepting.trailing_zeros();
            accepting &= accepting - 1;
            let outputs = std::mem::take(&mut self.granting[input as usize]);
            let turn = &mut self.accept[(first_port + input) as usize];
            let output = first_from(outputs, (*turn).into());
            *turn = after(output);
            self.grant[(first_port + output) as usize] = after(input);
            self.accepted_output[input as usize] = first_port + output;
        }
        // Of the queues of an input that want this output: the one whose turn it is, with its key.
        let (mut best, mut winner) = (u64::MAX, None);
        for place in 0..requests.len() {
            let request = &requests[place];
            if self.accepted_output[request.input as usize % PORTS] != request.output {
                continue;
            }
            let at = first_port + u32::from(request.input);
            let key = self.pairs.key(at, request);
            if let Some(before) = winner.filter(|before: &usize| requests[*before].input == request.input) {
                if key >= best {
                    continue;
                }
                requests[before].granted = false;
            } else if let Some(before) = winner {
                self.pairs.serve(first_port + u32::from(requests[before].input), &requests[before]);
            }
            requests[place].granted = true;
            (best, winner) = (key, Some(place));
        }
        if let Some(before) = winner {
            self.pairs.serve(first_port + u32::from(requests[before].input), &requests[before]);
        }
    }

    fn turn_at_output(&self, port: u32) -> Option<u16> {
        (!O::BY_AGE).then(|| self.grant[port as usize])
    }

    fn output_turns(&mut self) -> Option<&mut [u16]> {
        (!O::BY_AGE).then_some(&mut self.grant[..])
    }

    fn by_age(&self) -> bool {
        O::BY_AGE
    }

    fn by_class(&self) -> bool {
        O::BY_CLASS
    }

    fn remember(&self, memory: &mut Memory) {
        memory.add_all(self.grant.iter().chain(&self.accept).copied());
        self.pairs.remember(memory);
    }

    fn bytes(&self) -> usize {
        2 * (self.grant.capacity() + self.accept.capacity())
            + self.pairs.bytes()
            + self.best.bytes()
            + self.matched_inputs.capacity()
            + self.matched_outputs.capacity()
            + 4 * self.accepted.capacity()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Rng, Stream};
    use std::collections::BTreeSet;

    const RADIX: u32 = 5;
    const QUEUES: u32 = 3;

    /// Requests of some queues of the second router of a partition.
    fn requests(rng: &mut Rng, classes: u32) -> Vec<Request> {
        let queues = (0..RADIX * QUEUES).filter(|_| rng.below(2) == 0).collect::<Vec<_>>();
        let request = |queue: u32| Request {
            queue,
            port: RADIX + queue / QUEUES,
            output: RADIX + rng.below(RADIX),
            router: 1,
            birth: 0,
            input: (queue / QUEUES) as u16,
            lane: (queue % QUEUES) as u16,
            vc: 0,
            size: 1,
            class: rng.below(classes) as u8,
            granted: false,
        };
        queues.into_iter().map(request).collect()
    }

    #[test]
    fn sets_of_ports_choose_as_tables_do() {
        let context = AllocatorContext { ports: 2 * RADIX, radix: RADIX, queues: QUEUES };
        let (mut sets, mut tables) = (Rule::<Equal>::new(1, &context), Rule::<Equal>::new(1, &context));
        let mut rng = Rng::new(1, Stream::Router, 0);
        let mut unused = rng.clone();
        for now in 0..5_000 {
            let mut run = requests(&mut rng, 1 + now % 2);
            let mut grants = Vec::new();
            tables.allocate(Round { first_port: RADIX, now, rng: &mut unused.clone() }, &run, &mut grants);
            let mut none = Vec::new();
            sets.match_run(Round { first_port: RADIX, now, rng: &mut unused }, &mut run, &mut none);
            let granted = run.iter().zip(0..).filter(|(request, _)| request.granted).map(|(_, place)| place);
            assert_eq!(granted.collect::<BTreeSet<u32>>(), grants.into_iter().collect(), "{run:?}");
            assert_eq!((&sets.grant, &sets.accept), (&tables.grant, &tables.accept));
            assert!(none.is_empty() && sets.asking.iter().chain(&*sets.granting).all(|set| *set == 0));
        }
    }
}
