//! The seam `allocator`: the choice of the requests that win the crossbar in a tick.

use crate::engine::bits::bit;
use crate::engine::{Bytes, Memory, Rng, Table, Tick, bytes_of};
use crate::error::ScenarioError;

/// A request: a flit that could be transferred in this tick, because its output is idle and has room for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// Index of the queue in the partition.
    pub queue: u32,
    /// Index of the input port in the partition.
    pub port: u32,
    /// Index of the output port in the partition.
    pub output: u32,
    /// Index of the router in the partition.
    pub router: u32,
    /// For arbitration by age ([`Allocator::by_age`]): tick of generation of its packet. For [`Allocator::by_class`]:
    /// the rank of its class.
    pub birth: Tick,
    /// Input port number in the router.
    pub input: u16,
    /// Queue number in the input port.
    pub lane: u16,
    /// Output VC.
    pub vc: u16,
    /// Size of the flit in phits.
    pub size: u16,
    /// Precedence at an output: requests of a lower number go first. It is 1 for injected traffic under transit
    /// priority, plus 2 for a head without a virtual channel (also at an input that chooses among outputs).
    pub class: u8,
    /// True if it has won.
    pub granted: bool,
}

impl Request {
    /// The bits of its input and output in the router.
    #[inline(always)]
    fn ports(&self) -> [u64; 2] {
        let input = u32::from(self.input);
        [bit(input), bit(self.output - (self.port - input))]
    }
}

/// Scratch memory of allocation rounds. No round reads the contents that an earlier one left.
#[derive(Debug, Default)]
pub struct Scratch {
    /// The requests of one router that share a port with another.
    requests: Vec<Request>,
    /// The places of the winners.
    grants: Vec<u32>,
    /// Routers that may have several requests for one port, in ascending order, possibly repeated; for
    /// [`Allocator::allocate_noted`].
    pub contended: Vec<u32>,
    /// The input port of the latest request in this round.
    pub latest: u32,
}

impl Bytes for Scratch {
    fn bytes(&self) -> usize {
        bytes_of!(self, Self { requests, grants, contended; latest })
    }
}

/// One router's allocation round.
pub struct Round<'a> {
    /// Index of the router's first port in the partition.
    pub first_port: u32,
    /// Current tick; with several rounds in a tick, the number of this round.
    pub now: Tick,
    /// The router's random stream.
    pub rng: &'a mut Rng,
}

/// Matches requests with outputs, and keeps the state of the arbiters of one partition's routers.
///
/// `requests` are in order of input port and queue. The indices of the winners are appended to `grants`. Except with
/// the ideal allocator, there is at most one per input port and one per output.
pub trait Allocator: Send {
    /// One round for one router.
    fn allocate(&mut self, round: Round<'_>, requests: &[Request], grants: &mut Vec<u32>);

    /// Records the grant of a request that shares its ports with no other.
    fn grant_alone(&mut self, first_port: u32, now: Tick, request: &Request);

    /// True if a request that shares its ports with no other always wins and needs no random number. Then
    /// [`Self::grant_alone`] replaces a round of such requests.
    fn grants_apart(&self) -> bool {
        true
    }

    /// True if the result for requests with shared ports does not depend on requests without. Then the latter need not
    /// be passed to [`Self::allocate`].
    fn splits(&self) -> bool {
        false
    }

    /// The queue whose turn it is at input port `port` of the partition. It is `Some` if only one request of an input
    /// matters, the first from that queue on in cyclic order. Then the others need not be made.
    fn turn(&self, _port: u32) -> Option<u16> {
        None
    }

    /// The input number whose turn it is at output port `port` of the partition. It is `Some` if only one input matters
    /// among requests of one class for this output alone: the first from that input on in cyclic order. Then the
    /// requests of other inputs need not be made.
    fn turn_at_output(&self, _port: u32) -> Option<u16> {
        None
    }

    /// True if every input proposes one request before outputs choose ([`Self::propose`]).
    fn proposes(&self) -> bool {
        false
    }

    /// The place of the request that an input would propose. All `requests` are of this input.
    fn propose(&mut self, _round: Round<'_>, _requests: &[Request]) -> Option<usize> {
        None
    }

    /// Records the proposal of a request that no output considers.
    fn waste(&mut self, _first_port: u32, _now: Tick, _request: &Request) {}

    /// True if [`Self::match_run`] is faster than [`Self::allocate`] for the requests that share ports.
    fn matches_runs(&self) -> bool {
        false
    }

    /// One round for one router: marks the winners. `grants` is scratch memory, empty before and after.
    fn match_run(&mut self, round: Round<'_>, requests: &mut [Request], grants: &mut Vec<u32>) {
        self.allocate(round, requests, grants);
        for place in grants.drain(..) {
            requests[place as usize].granted = true;
        }
    }

    /// By output port of the partition: the input number whose turn it is, for allocators that qualify.
    ///
    /// An allocator qualifies if its rounds are simple whenever every input has at most one request, and all requests
    /// for an output have one class. A simple round grants each output to the first input from the turn on, in cyclic
    /// order, and moves the turn behind that input. It changes nothing else that matters to simple rounds. The caller
    /// then does simple rounds itself.
    fn output_turns(&mut self) -> Option<&mut [u16]> {
        None
    }

    /// True if it reads [`Request::birth`].
    fn by_age(&self) -> bool {
        false
    }

    /// True if [`Request::birth`] must hold the rank of the packet's class; the lowest rank goes first.
    fn by_class(&self) -> bool {
        false
    }

    /// The rounds of all routers, whose requests follow one another: marks the winners. `now` increases from call to
    /// call.
    fn allocate_all(&mut self, now: Tick, rngs: &mut Table<Rng>, requests: &mut [Request], scratch: &mut Scratch) {
        let apart = self.grants_apart();
        for run in requests.chunk_by_mut(|a, b| a.router == b.router) {
            match run {
                [] => {}
                [alone] => self.grant_apart(now, alone),
                [first, second] if apart && first.input != second.input && first.output != second.output => {
                    self.grant_apart(now, first);
                    self.grant_apart(now, second);
                }
                run => self.allocate_run(now, rngs, run, scratch),
            }
        }
        scratch.contended.clear();
    }

    /// The rounds of all routers, where requests have noted the routers with shared ports. All other requests are
    /// granted. So the number of requests of a router, which the processor could not predict, need not be known.
    fn allocate_noted(&mut self, now: Tick, rngs: &mut Table<Rng>, requests: &mut [Request], scratch: &mut Scratch) {
        let contended = std::mem::take(&mut scratch.contended);
        let mut start = 0;
        for &router in &contended {
            // A router that is named again has been handled already.
            while let Some(request) = requests.get_mut(start).filter(|request| request.router < router) {
                self.grant_apart(now, request);
                start += 1;
            }
            let own = requests[start..].iter().take_while(|request| request.router == router).count();
            self.allocate_run(now, rngs, &mut requests[start..start + own], scratch);
            start += own;
        }
        requests[start..].iter_mut().for_each(|request| self.grant_apart(now, request));
        scratch.contended = contended;
        scratch.contended.clear();
    }

    /// Grants a request that shares its ports with no other.
    #[inline(always)]
    fn grant_apart(&mut self, now: Tick, request: &mut Request) {
        self.grant_alone(request.port - u32::from(request.input), now, request);
        request.granted = true;
    }

    /// The round of a router, some of whose requests may share a port.
    #[inline]
    fn allocate_run(&mut self, now: Tick, rngs: &mut Table<Rng>, run: &mut [Request], scratch: &mut Scratch) {
        let Scratch { requests: sharing, grants, .. } = scratch;
        let Some(&Request { router, port, input, .. }) = run.first() else { return };
        let round = Round { first_port: port - u32::from(input), now, rng: &mut rngs[router] };
        if self.matches_runs() {
            return self.match_run(round, run, grants);
        }
        // The inputs and outputs that several of its requests share, as bits. With more than 64 ports, several ports
        // share a bit.
        let (mut inputs, mut outputs, mut shared_inputs, mut shared_outputs) = (0, 0, 0, 0);
        for request in run.iter() {
            let [input, output] = request.ports();
            (shared_inputs, shared_outputs) = (shared_inputs | inputs & input, shared_outputs | outputs & output);
            (inputs, outputs) = (inputs | input, outputs | output);
        }
        if shared_inputs | shared_outputs == 0 && self.grants_apart() {
            return run.iter_mut().for_each(|request| self.grant_apart(now, request));
        }
        if !self.splits() {
            return self.match_run(round, run, grants);
        }
        let apart = |request: &Request| {
            let [input, output] = request.ports();
            shared_inputs & input | shared_outputs & output == 0
        };
        for request in run.iter_mut() {
            match apart(request) {
                true => self.grant_apart(now, request),
                false => sharing.push(*request),
            }
        }
        self.allocate(round, sharing, grants);
        for place in grants.drain(..) {
            sharing[place as usize].granted = true;
        }
        let mut decided = sharing.drain(..);
        for request in run.iter_mut().filter(|request| !apart(request)) {
            request.granted = decided.next().is_some_and(|request| request.granted);
        }
    }

    /// True if transfers take no time in the crossbar, so that no port is ever busy.
    fn ideal(&self) -> bool {
        false
    }

    /// Adds the state of its arbiters to `memory`. An allocator whose state cannot be compared need not define this.
    fn remember(&self, memory: &mut Memory) {
        memory.cannot("the allocator's state");
    }

    /// Brings the state of its arbiters into the cache, before many rounds.
    fn fetch(&self) {}

    /// Bytes held.
    fn bytes(&self) -> usize;
}

/// The ports for which an allocator keeps state.
pub struct AllocatorContext {
    /// Ports of the partition.
    pub ports: u32,
    /// Most ports of any router.
    pub radix: u32,
    /// Most queues of any input port.
    pub queues: u32,
}

/// A round in which all ports choose in turn: the first at or after a pointer. A grant moves the pointer past the
/// winner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InTurn {
    /// Every input requests one of the outputs that it wants. Then every output grants one of the requesting inputs.
    InputsFirst,
    /// Every output grants one of the inputs that want it. Then every input accepts one of its grants.
    OutputsFirst,
}

/// The parameters of an allocator.
pub trait AllocatorParams {
    /// Checks the parameters. Error paths are relative to the allocator.
    fn check(&self) -> Result<(), ScenarioError> {
        Ok(())
    }
    /// True if every input considers all its requests in a round; then the stage that allocates virtual channels does
    /// so, too. False if an input proposes one request.
    fn considers_all(&self) -> bool {
        false
    }
    /// The order of a single round, if all ports choose in turn, whatever the request, and only grants move the turns.
    fn in_turn(&self) -> Option<InTurn> {
        None
    }
    /// True if requests of a lower class go first at an output; false if it ignores classes.
    fn ranks(&self) -> bool {
        true
    }
    /// True if it matches: one request of each input and of each output wins. False if all requests win.
    fn matches(&self) -> bool {
        true
    }
    /// The allocator for one partition.
    fn build(&self, context: &AllocatorContext) -> Box<dyn Allocator>;
}

/// The key by which requests are compared: the smallest wins.
pub(crate) trait Key: Copy + Ord + Send + 'static {
    /// Larger than the key of any request.
    const LAST: Self;
}

impl Key for u64 {
    const LAST: Self = Self::MAX;
}

impl Key for u128 {
    const LAST: Self = Self::MAX;
}

/// For every output of a router, the best request so far. The cost of this scratch table depends only on the entries
/// used.
#[derive(Debug)]
pub(crate) struct Best<K = u64> {
    slots: Vec<(K, u32)>,
    touched: Vec<u32>,
}

impl<K> Default for Best<K> {
    fn default() -> Self {
        Self { slots: Vec::new(), touched: Vec::new() }
    }
}

impl<K: Key> Best<K> {
    pub(crate) fn new(radix: u32) -> Self {
        Self { slots: vec![(K::LAST, 0); radix as usize], touched: Vec::with_capacity(radix as usize) }
    }

    /// Offers `index` with `key` for `slot`. The smallest key stays; among equals, the first.
    #[inline]
    pub(crate) fn offer(&mut self, slot: u32, key: K, index: u32) {
        let best = &mut self.slots[slot as usize];
        if best.0 == K::LAST {
            self.touched.push(slot);
        }
        if key < best.0 {
            *best = (key, index);
        }
    }

    /// Returns `(slot, index)` of every winner and forgets all.
    #[inline]
    pub(crate) fn drain(&mut self, mut winner: impl FnMut(u32, u32)) {
        for slot in self.touched.drain(..) {
            let best = std::mem::replace(&mut self.slots[slot as usize], (K::LAST, 0));
            winner(slot, best.1);
        }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.slots.capacity() * size_of::<(K, u32)>() + self.touched.capacity() * 4
    }
}
