//! Ports that the crossbar keeps connected until a packet's tail has crossed.
//!
//! A connection is made by a flit that has another flit of its packet behind it. While the connection lasts, the other
//! flit crosses without asking the allocator, and nobody else gets the two ports (with several paths of a port: the two
//! paths). The connection ends with the packet's tail. It also ends when the packet's next flit is not there yet, or
//! has no credit or no room: then the ports are idle for a tick.

use crate::engine::{NONE, Table};
use crate::fabric::seams::allocator::Request;

/// Two ports that are connected.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Connected {
    /// The input port.
    pub input: u32,
    /// Which of its paths.
    pub path: u32,
    /// The output port.
    pub output: u32,
    /// Its path, among the paths of all output ports.
    pub to: u32,
}

/// The connections of one partition's ports.
#[derive(Debug)]
pub(crate) struct Connections {
    /// Paths of each input and of each output port.
    paths: (u32, u32),
    /// By path: the queue whose packet it carries, or `NONE`.
    inputs: Table<u32>,
    outputs: Table<u32>,
    /// The connections that exist: the paths of an input and of an output.
    made: Vec<(u32, u32)>,
    /// Requests for ports that are connected otherwise.
    blocked: Vec<Request>,
    /// Requests of flits that need not ask.
    kept: Vec<Request>,
    /// Packets in control cross beside connected packets.
    beside: bool,
}

impl Connections {
    /// No connections yet, for `ports` ports with `paths` paths of each input and of each output. `beside`: packets in
    /// control cross beside connected packets.
    pub(crate) fn new(paths: (u32, u32), ports: u32, beside: bool) -> Self {
        Self {
            paths,
            inputs: vec![NONE; (paths.0 * ports) as usize].into(),
            outputs: vec![NONE; (paths.1 * ports) as usize].into(),
            made: Vec::new(),
            blocked: Vec::new(),
            kept: Vec::new(),
            beside,
        }
    }

    /// The paths of a request.
    fn paths(&self, request: &Request) -> (u32, u32) {
        let (inputs, outputs) = self.paths;
        let from = request.port * inputs + u32::from(request.lane) % inputs;
        (from, request.output * outputs + u32::from(request.input) % outputs)
    }

    /// Takes out of `requests` the flits that need not ask, and requests for ports that are connected otherwise.
    /// Returns both; [`Self::put_back`] gives the lists back. A connection whose packet has no flit here ends, unless
    /// its two paths are still `busy`. Requests of packets in `control` ask all the same: a connection whose input or
    /// output they ask for rests, and lasts, unless they cross beside it.
    pub(crate) fn sort_out(
        &mut self,
        requests: &mut Vec<Request>,
        control: &[bool],
        busy: impl Fn(Connected) -> bool,
    ) -> (Vec<Request>, Vec<Request>) {
        let (mut kept, mut blocked) = (std::mem::take(&mut self.kept), std::mem::take(&mut self.blocked));
        let asking = requests.iter().zip(control).filter(|(_, control)| **control && !self.beside);
        let first: Vec<(u32, u32)> = asking.map(|(request, _)| self.paths(request)).collect();
        let mut resting = Vec::new();
        let mut control = control.iter();
        requests.retain(|request| {
            let (from, to) = self.paths(request);
            if control.next() == Some(&true) {
                return true;
            }
            match (self.inputs[from], self.outputs[to]) {
                (NONE, NONE) => return true,
                (a, b) if a == request.queue && b == request.queue => {
                    match first.iter().any(|(input, output)| *input == from || *output == to) {
                        true => {
                            resting.push(request.queue);
                            blocked.push(*request);
                        }
                        false => kept.push(*request),
                    }
                }
                _ => blocked.push(*request),
            }
            false
        });
        let (inputs, outputs) = self.paths;
        for (from, to) in std::mem::take(&mut self.made) {
            let queue = self.inputs[from];
            let ports = Connected { input: from / inputs, path: from % inputs, output: to / outputs, to };
            let rests = resting.contains(&queue);
            if rests || busy(ports) && !kept.iter().any(|request| request.queue == queue) {
                self.made.push((from, to));
            } else {
                (self.inputs[from], self.outputs[to]) = (NONE, NONE);
            }
        }
        (kept, blocked)
    }

    /// Gives the lists of [`Self::sort_out`] back.
    pub(crate) fn put_back(&mut self, (mut kept, mut blocked): (Vec<Request>, Vec<Request>)) {
        kept.clear();
        blocked.clear();
        (self.kept, self.blocked) = (kept, blocked);
    }

    /// The ports of `grant` stay connected.
    pub(crate) fn connect(&mut self, grant: &Request) {
        let (from, to) = self.paths(grant);
        (self.inputs[from], self.outputs[to]) = (grant.queue, grant.queue);
        self.made.push((from, to));
    }

    /// The packet of `queue` sends no more.
    pub(crate) fn end(&mut self, queue: u32) {
        self.made.retain(|&(from, to)| {
            let other = self.inputs[from] != queue;
            if !other {
                (self.inputs[from], self.outputs[to]) = (NONE, NONE);
            }
            other
        });
    }

    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        let requests = self.blocked.capacity() + self.kept.capacity();
        self.inputs.bytes() + self.outputs.bytes() + self.made.capacity() * 8 + requests * size_of::<Request>()
    }
}
