//! Several paths between a port and the crossbar: input and output speedup.
//!
//! Elsewhere a port has one path, and the tick from which on it is free stands with the port ([`Input::busy`],
//! [`Output::busy`]). Here a port is free when one of its paths is free. The queues of an input are dealt out among its
//! paths in turn, and the inputs of a router among the paths of each output. To the allocator every path is a port.
//!
//! [`Input::busy`]: crate::fabric::input_queued::state::records::Input::busy
//! [`Output::busy`]: crate::fabric::input_queued::state::records::Output::busy

use crate::engine::{Table, Tick};
use crate::fabric::seams::allocator::Request;

/// The paths of one partition's ports.
#[derive(Debug)]
pub(crate) struct Paths {
    /// Paths of each input port.
    inputs: u32,
    /// Paths of each output port.
    outputs: u32,
    /// By path, in the order of ports: first tick at which it is free.
    input_busy: Table<Tick>,
    output_busy: Table<Tick>,
    /// Requests as the allocator sees them, with their places.
    expanded: Vec<(Request, u32)>,
    asked: Vec<Request>,
}

impl Paths {
    /// Free paths for `ports` ports: `inputs` for each input and `outputs` for each output.
    pub(crate) fn new(inputs: u32, outputs: u32, ports: u32) -> Self {
        Self {
            inputs,
            outputs,
            input_busy: vec![0; (inputs * ports) as usize].into(),
            output_busy: vec![0; (outputs * ports) as usize].into(),
            expanded: Vec::new(),
            asked: Vec::new(),
        }
    }

    /// The path of the queue with number `lane` of an input port.
    #[inline]
    fn from(&self, port: u32, lane: u32) -> u32 {
        port * self.inputs + lane % self.inputs
    }

    /// The path of input number `input` of a router to an output port.
    #[inline]
    fn to(&self, output: u32, input: u16) -> u32 {
        output * self.outputs + u32::from(input) % self.outputs
    }

    /// First tick at which the path of a queue is free.
    #[inline]
    pub(crate) fn input_busy(&self, port: u32, lane: u32) -> Tick {
        self.input_busy[self.from(port, lane)]
    }

    /// First tick at which the path from an input to an output is free.
    #[inline]
    pub(crate) fn output_busy(&self, output: u32, input: u16) -> Tick {
        self.output_busy[self.to(output, input)]
    }

    /// First tick at which path `to` of an output port is free, as [`Self::to`] numbers them.
    pub(crate) fn path_busy(&self, to: u32) -> Tick {
        self.output_busy[to]
    }

    /// Takes the paths of `grant` until `occupied` and `held`. Returns the first ticks at which its two ports have a
    /// free path.
    pub(crate) fn take(&mut self, grant: &Request, occupied: Tick, held: Tick) -> (Tick, Tick) {
        let (from, to) = (self.from(grant.port, grant.lane.into()), self.to(grant.output, grant.input));
        self.input_busy[from] = occupied;
        self.output_busy[to] = held;
        let first = |table: &Table<Tick>, port: u32, paths: u32| {
            (port * paths..(port + 1) * paths).map(|path| table[path]).min().unwrap_or(0)
        };
        (first(&self.input_busy, grant.port, self.inputs), first(&self.output_busy, grant.output, self.outputs))
    }

    /// Puts the requests as the allocator sees them into `asked`: in order of paths, with their places in `requests`.
    fn expand(&mut self, requests: &[Request]) {
        // Ports are numbered alike on both sides.
        let most = self.inputs.max(self.outputs);
        let path = |request: &Request| {
            let first = (request.port - u32::from(request.input)) * most;
            let input = u32::from(request.input) * most + u32::from(request.lane) % self.inputs;
            let output = (request.output * most) + u32::from(request.input) % self.outputs;
            Request { port: first + input, input: input as u16, output, granted: false, ..*request }
        };
        self.expanded.extend(requests.iter().map(path).zip(0..));
        self.expanded.sort_by_key(|(request, _)| (request.port, request.lane));
        self.asked.extend(self.expanded.iter().map(|(request, _)| *request));
    }

    /// Lets the allocator grant paths, each of which is a port to it.
    pub(crate) fn allocate(&mut self, requests: &mut [Request], allocate: impl FnOnce(&mut Vec<Request>)) {
        self.expand(requests);
        let mut asked = std::mem::take(&mut self.asked);
        allocate(&mut asked);
        let won = asked.iter().zip(&self.expanded).filter(|(asked, _)| asked.granted);
        won.for_each(|(_, (_, place))| requests[*place as usize].granted = true);
        asked.clear();
        self.expanded.clear();
        self.asked = asked;
    }

    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        self.input_busy.bytes()
            + self.output_busy.bytes()
            + self.expanded.capacity() * size_of::<(Request, u32)>()
            + self.asked.capacity() * size_of::<Request>()
    }
}
