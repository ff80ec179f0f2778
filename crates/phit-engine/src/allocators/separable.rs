//! Separable input-first allocation: each input port proposes one request, each output accepts one.

use super::priority::{Equal, HighestFirst, OldestFirst, Order, Priority};
use super::{Allocator, AllocatorContext, AllocatorParams, Best, InTurn, Request, Round};
use crate::engine::{Memory, Table, Tick};
use crate::error::ScenarioError;
use crate::fabric::seams::allocator::Key;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The rule by which an arbiter chooses among requests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Arbiter {
    /// In turn: the first at or after a pointer, which then moves past the winner.
    #[default]
    RoundRobin,
    /// The client served longest ago.
    LeastRecentlyServed,
    /// Any client, with equal probability.
    Random,
    /// The packet generated first.
    Age,
}

/// The event for which an input arbiter counts a request as served.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Update {
    /// When the output has granted it (BookSim).
    #[default]
    Grant,
    /// Its proposal, whether it wins or not (FOGSim).
    Request,
}

/// The clients of an input's arbiter.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Among {
    /// The queues of the input that have requests.
    #[default]
    Queues,
    /// The outputs that they request. If several queues want an output, one of them requests it, in turn (BookSim).
    Outputs,
}

/// Separable input-first allocation, one round per tick (Dally and Towles, section 19.3). An arbiter per input port
/// chooses among its queues, or the outputs that they want. Then an arbiter per output chooses among the inputs.
///
/// ```toml
/// [router.allocator]
/// kind = "separable_input_first"
/// arbiter = "round_robin"
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SeparableInputFirst {
    /// The arbiters' rule.
    pub arbiter: Arbiter,
    /// The event after which the input arbiters move on.
    pub update: Update,
    /// The clients of the input arbiters.
    #[serde(skip_serializing_if = "Among::is_queues")]
    pub among: Among,
    /// Priority of requests over others.
    #[serde(skip_serializing_if = "Priority::is_none")]
    pub priority: Priority,
}

impl Among {
    fn is_queues(&self) -> bool {
        *self == Self::Queues
    }
}

impl AllocatorParams for SeparableInputFirst {
    fn check(&self) -> Result<(), ScenarioError> {
        if self.among == Among::Outputs && self.arbiter == Arbiter::Random {
            let expected = "expected another arbiter with among = \"outputs\"";
            return Err(ScenarioError::new("arbiter", "\"random\"", expected));
        }
        check_arbiter(self.arbiter, self.priority)
    }

    fn in_turn(&self) -> Option<InTurn> {
        let turns = self.arbiter == Arbiter::RoundRobin && self.priority.is_none();
        let outputs = self.among == Among::Outputs && self.update == Update::Grant;
        (turns && outputs).then_some(InTurn::InputsFirst)
    }

    fn build(&self, context: &AllocatorContext) -> Box<dyn Allocator> {
        match (self.priority, self.arbiter) {
            (Priority::None, Arbiter::RoundRobin) => Box::new(Rule::<Equal, true>::new(self, context)),
            (Priority::None, _) => Box::new(Rule::<Equal, false>::new(self, context)),
            (Priority::Age, Arbiter::RoundRobin) => Box::new(Rule::<OldestFirst, true>::new(self, context)),
            (Priority::Class, Arbiter::RoundRobin) => Box::new(Rule::<HighestFirst, true>::new(self, context)),
            (Priority::Age, _) => Box::new(Rule::<OldestFirst, false>::new(self, context)),
            (Priority::Class, _) => Box::new(Rule::<HighestFirst, false>::new(self, context)),
        }
    }
}

/// An arbiter by age reads the priority's number, too: it would choose the lowest.
pub(super) fn check_arbiter(arbiter: Arbiter, priority: Priority) -> Result<(), ScenarioError> {
    if priority != Priority::None && arbiter == Arbiter::Age {
        let expected = match priority {
            Priority::Class => {
                "expected another arbiter, which chooses among packets of one class, with priority = \"class\""
            }
            _ => "expected another arbiter, which chooses among packets of one cycle, with priority = \"age\"",
        };
        return Err(ScenarioError::new("arbiter", "\"age\"", expected));
    }
    Ok(())
}

/// The state of a row of arbiters: a pointer each, or the order in which their clients were served.
pub(super) struct Turns {
    arbiter: Arbiter,
    clients: u32,
    pointer: Table<u16>,
    served: Table<Tick>,
}

impl Turns {
    pub(super) fn new(arbiter: Arbiter, arbiters: usize, clients: usize) -> Self {
        let (pointers, stamps) = match arbiter {
            Arbiter::RoundRobin => (arbiters, 0),
            Arbiter::LeastRecentlyServed => (0, arbiters),
            Arbiter::Random | Arbiter::Age => (0, 0),
        };
        Self {
            arbiter,
            clients: clients as u32,
            pointer: vec![0; pointers].into(),
            served: vec![0; stamps * clients].into(),
        }
    }

    /// The priority of `client` at arbiter `at`: the smallest wins.
    #[inline]
    fn key<const IN_TURN: bool>(&self, at: u32, client: u16, birth: u32, round: &mut Round<'_>) -> u64 {
        match self.arbiter {
            _ if IN_TURN => {
                let (client, pointer) = (u32::from(client), u32::from(self.pointer[at]));
                u64::from(if client >= pointer { client - pointer } else { client + self.clients - pointer })
            }
            Arbiter::LeastRecentlyServed => {
                u64::from(self.served[at * self.clients + u32::from(client)]) << 16 | u64::from(client)
            }
            Arbiter::RoundRobin | Arbiter::Random => round.rng.bits() >> 2,
            Arbiter::Age => u64::from(birth) << 16 | u64::from(client),
        }
    }

    #[inline]
    fn serve<const IN_TURN: bool>(&mut self, at: u32, client: u16, now: Tick) {
        if IN_TURN {
            // One past the last client means the first: no client is at or after it.
            self.pointer[at] = client + 1;
        } else if self.arbiter == Arbiter::LeastRecentlyServed {
            // An arbiter serves at most one client in a tick, so ticks give the order. 0 means never served.
            self.served[at * self.clients + u32::from(client)] = now + 1;
        }
    }

    /// [`Self::key`], for any arbiter.
    pub(super) fn key_of(&self, at: u32, client: u16, birth: u32, round: &mut Round<'_>) -> u64 {
        match self.arbiter {
            Arbiter::RoundRobin => self.key::<true>(at, client, birth, round),
            _ => self.key::<false>(at, client, birth, round),
        }
    }

    /// Arbiter `at` has served `client`, for any arbiter.
    pub(super) fn serve_one(&mut self, at: u32, client: u16, now: Tick) {
        match self.arbiter {
            Arbiter::RoundRobin => self.serve::<true>(at, client, now),
            _ => self.serve::<false>(at, client, now),
        }
    }

    /// Adds the turns, or the order in which clients were served, to `memory`.
    pub(super) fn remember(&self, memory: &mut Memory) {
        memory.add_all(self.pointer.iter().copied());
        for served in self.served.chunks(self.clients.max(1) as usize) {
            let mut order: Vec<(Tick, u32)> = served.iter().copied().zip(0..).collect();
            order.sort_unstable();
            memory.add_all(order.into_iter().map(|(_, client)| client));
        }
    }

    /// Brings all state into the cache.
    pub(super) fn fetch(&self) {
        self.pointer.fetch();
        self.served.fetch();
    }

    pub(super) fn bytes(&self) -> usize {
        self.pointer.bytes() + self.served.bytes()
    }
}

/// Up to this number, requests of a round are compared pair by pair.
const FEW: usize = 6;

/// `IN_TURN`: compiled for round robin.
struct Rule<O: Order, const IN_TURN: bool> {
    params: SeparableInputFirst,
    inputs: Turns,
    outputs: Turns,
    /// If inputs choose among outputs: the turns of an input's queues.
    lanes: Option<Turns>,
    best: Best<O::Key>,
}

impl<O: Order, const IN_TURN: bool> Rule<O, IN_TURN> {
    fn new(params: &SeparableInputFirst, context: &AllocatorContext) -> Self {
        let (ports, radix, queues) = (context.ports as usize, context.radix as usize, context.queues as usize);
        let by_output = params.among == Among::Outputs;
        Self {
            inputs: Turns::new(params.arbiter, ports, if by_output { radix } else { queues }),
            outputs: Turns::new(params.arbiter, ports, radix),
            lanes: by_output.then(|| Turns::new(Arbiter::RoundRobin, ports, queues)),
            best: Best::new(context.radix),
            params: params.clone(),
        }
    }

    /// The place of the request that an input proposes. The input has number `at` in the partition.
    #[cold]
    fn propose_output(&self, at: u32, requests: &[Request], round: &mut Round<'_>) -> usize {
        let mut key = |request: &Request| {
            let output = (request.output - round.first_port) as u16;
            let own = self.inputs.key::<IN_TURN>(at, output, request.birth, round);
            let lane = self.lanes.as_ref().map_or(0, |lanes| lanes.key::<true>(at, request.lane, 0, round));
            (O::among_outputs(request, own), lane)
        };
        let keys = requests.iter().map(&mut key);
        keys.enumerate().min_by_key(|(_, key)| *key).map_or(0, |(place, _)| place)
    }

    /// A round with so few requests that those for one output are compared pair by pair. False if some share an input,
    /// or there are too many.
    #[inline]
    fn allocate_few(&mut self, round: &mut Round<'_>, requests: &[Request], grants: &mut Vec<u32>) -> bool {
        let mut keys = [(u32::MAX, O::Key::LAST); FEW];
        let each_its_input = requests.is_sorted_by(|a, b| a.input < b.input);
        if requests.len() > FEW || !each_its_input {
            return false;
        }
        for (key, request) in keys.iter_mut().zip(requests) {
            if self.params.update == Update::Request {
                self.serve_input(round.first_port, round.now, request);
            }
            let own = self.outputs.key::<IN_TURN>(request.output, request.input, request.birth, round);
            *key = (request.output, O::at_output(request, own));
        }
        let keys = &keys[..requests.len()];
        for (place, request) in requests.iter().enumerate() {
            // Among equals the first wins. All are compared: the processor could not predict the first one that beats
            // it.
            let own = keys[place].1;
            let beats = |(at, key): (usize, &(u32, O::Key))| {
                (key.0 == request.output) & ((key.1 < own) | ((key.1 == own) & (at < place)))
            };
            if keys.iter().enumerate().map(beats).fold(false, |beaten, beats| beaten | beats) {
                continue;
            }
            if self.params.update == Update::Grant {
                self.serve_input(round.first_port, round.now, request);
            }
            self.outputs.serve::<IN_TURN>(request.output, request.input, round.now);
            grants.push(place as u32);
        }
        true
    }

    /// A round of the queues of one input: one of them wins. False if there are several inputs, or the choice is
    /// random.
    #[inline]
    fn allocate_one(&mut self, round: &mut Round<'_>, requests: &[Request], grants: &mut Vec<u32>) -> bool {
        let (Some(first), Some(last)) = (requests.first(), requests.last()) else { return true };
        if !IN_TURN || first.input != last.input || self.lanes.is_some() {
            return false;
        }
        let at = round.first_port + u32::from(first.input);
        let mut key = |request: &Request| {
            O::at_input(request, self.inputs.key::<IN_TURN>(at, request.lane, request.birth, round))
        };
        let (mut best, mut chosen) = (key(first), 0);
        for (place, request) in (1..).zip(&requests[1..]) {
            let key = key(request);
            if key < best {
                (best, chosen) = (key, place);
            }
        }
        let request = &requests[chosen];
        self.serve_input(round.first_port, round.now, request);
        self.outputs.serve::<IN_TURN>(request.output, request.input, round.now);
        grants.push(chosen as u32);
        true
    }

    /// The input arbiter moves on behind a request.
    #[inline]
    fn serve_input(&mut self, first_port: u32, now: Tick, request: &Request) {
        let at = first_port + u32::from(request.input);
        match &mut self.lanes {
            None => self.inputs.serve::<IN_TURN>(at, request.lane, now),
            Some(lanes) => {
                self.inputs.serve::<IN_TURN>(at, (request.output - first_port) as u16, now);
                lanes.serve::<true>(at, request.lane, now);
            }
        }
    }
}

impl<O: Order, const IN_TURN: bool> Allocator for Rule<O, IN_TURN> {
    fn allocate(&mut self, mut round: Round<'_>, requests: &[Request], grants: &mut Vec<u32>) {
        if self.allocate_one(&mut round, requests, grants) || self.allocate_few(&mut round, requests, grants) {
            return;
        }
        let mut start = 0;
        while start < requests.len() {
            let input = requests[start].input;
            let at = round.first_port + u32::from(input);
            let mut end = start + 1;
            let mut chosen = start;
            if end < requests.len() && requests[end].input == input && self.lanes.is_some() {
                end += requests[end..].iter().take_while(|request| request.input == input).count();
                chosen = start + self.propose_output(at, &requests[start..end], &mut round);
            } else if end < requests.len() && requests[end].input == input {
                let mut key = |request: &Request| {
                    O::at_input(request, self.inputs.key::<IN_TURN>(at, request.lane, request.birth, &mut round))
                };
                let mut best = key(&requests[start]);
                while end < requests.len() && requests[end].input == input {
                    let key = key(&requests[end]);
                    if key < best {
                        (best, chosen) = (key, end);
                    }
                    end += 1;
                }
            }
            start = end;
            let request = &requests[chosen];
            if self.params.update == Update::Request {
                self.serve_input(round.first_port, round.now, request);
            }
            let key = self.outputs.key::<IN_TURN>(request.output, input, request.birth, &mut round);
            self.best.offer(request.output - round.first_port, O::at_output(request, key), chosen as u32);
        }
        let mut best = std::mem::take(&mut self.best);
        best.drain(|_, index| {
            let request = &requests[index as usize];
            if self.params.update == Update::Grant {
                self.serve_input(round.first_port, round.now, request);
            }
            self.outputs.serve::<IN_TURN>(request.output, request.input, round.now);
            grants.push(index);
        });
        self.best = best;
    }

    fn grant_alone(&mut self, first_port: u32, now: Tick, request: &Request) {
        self.serve_input(first_port, now, request);
        self.outputs.serve::<IN_TURN>(request.output, request.input, now);
    }

    fn proposes(&self) -> bool {
        true
    }

    fn propose(&mut self, mut round: Round<'_>, requests: &[Request]) -> Option<usize> {
        let first = requests.first()?;
        let at = round.first_port + u32::from(first.input);
        if self.lanes.is_some() {
            return Some(self.propose_output(at, requests, &mut round));
        }
        let mut key = |request: &Request| {
            O::at_input(request, self.inputs.key::<IN_TURN>(at, request.lane, request.birth, &mut round))
        };
        let (mut best, mut chosen) = (key(first), 0);
        for (place, request) in (1..).zip(&requests[1..]) {
            let key = key(request);
            if key < best {
                (best, chosen) = (key, place);
            }
        }
        Some(chosen)
    }

    fn waste(&mut self, first_port: u32, now: Tick, request: &Request) {
        if self.params.update == Update::Request {
            self.serve_input(first_port, now, request);
        }
    }

    fn grants_apart(&self) -> bool {
        self.params.arbiter != Arbiter::Random
    }

    fn turn(&self, port: u32) -> Option<u16> {
        let alone = IN_TURN && !O::BY_AGE && self.lanes.is_none();
        alone.then(|| self.inputs.pointer[port])
    }

    fn turn_at_output(&self, port: u32) -> Option<u16> {
        // A proposal that loses must leave no trace at its input.
        let traceless = self.params.update == Update::Grant || self.inputs.clients == 1;
        (IN_TURN && !O::BY_AGE && traceless).then(|| self.outputs.pointer[port])
    }

    fn output_turns(&mut self) -> Option<&mut [u16]> {
        (IN_TURN && !O::BY_AGE).then(|| &mut *self.outputs.pointer)
    }

    fn by_age(&self) -> bool {
        O::BY_AGE || self.params.arbiter == Arbiter::Age
    }

    fn by_class(&self) -> bool {
        O::BY_CLASS
    }

    fn remember(&self, memory: &mut Memory) {
        [Some(&self.inputs), Some(&self.outputs), self.lanes.as_ref()]
            .iter()
            .flatten()
            .for_each(|t| t.remember(memory));
    }

    fn fetch(&self) {
        self.inputs.fetch();
        self.outputs.fetch();
    }

    fn bytes(&self) -> usize {
        let lanes = self.lanes.as_ref().map_or(0, Turns::bytes);
        self.inputs.bytes() + self.outputs.bytes() + lanes + self.best.bytes()
    }
}
