//! Ports that the crossbar keeps connected until a packet's tail has crossed.
//!
//! A connection is made by a flit that has another of its packet behind it. While it lasts, that other flit crosses
//! without asking the allocator, and nobody else gets the two ports (with several paths of a port: the two paths). It
//! ends with the tail, when the packet's next flit is not there yet, or when that flit has no credit or no room: then
//! the ports are idle for a tick.

use crate::engine::{NONE, Table};
use crate::fabric::input_queued::options::kernel::Kernel;
use crate::fabric::input_queued::partition::Partition;
use crate::fabric::seams::allocator::Request;

/// The connections of one partition's ports.
#[derive(Debug)]
pub(crate) struct Connections {
    /// Paths of each input and of each output port.
    paths: (u32, u32),
    /// By path: the queue whose packet it carries, or `NONE`.
    inputs: Table<u32>,
    outputs: Table<u32>,
    /// Those that exist: the paths of an input and of an output.
    made: Vec<(u32, u32)>,
    /// Requests for ports that are connected otherwise.
    blocked: Vec<Request>,
    /// Requests of flits that need not ask.
    kept: Vec<Request>,
}

impl Connections {
    /// Of `ports` ports with so many paths each.
    pub(crate) fn new(paths: (u32, u32), ports: u32) -> Self {
        Self {
            paths,
            inputs: vec![NONE; (paths.0 * ports) as usize].into(),
            outputs: vec![NONE; (paths.1 * ports) as usize].into(),
            made: Vec::new(),
            blocked: Vec::new(),
            kept: Vec::new(),
        }
    }

    /// The paths of a request.
    fn paths(&self, request: &Request) -> (u32, u32) {
        let (inputs, outputs) = self.paths;
        let from = request.port * inputs + u32::from(request.lane) % inputs;
        (from, request.output * outputs + u32::from(request.input) % outputs)
    }

    /// Takes out of `requests` those that need not ask and those whose ports are connected otherwise.
    fn sort_out(&mut self, requests: &mut Vec<Request>) {
        let mut blocked = std::mem::take(&mut self.blocked);
        let mut kept = std::mem::take(&mut self.kept);
        requests.retain(|request| {
            let (from, to) = self.paths(request);
            match (self.inputs[from], self.outputs[to]) {
                (NONE, NONE) => return true,
                (a, b) if a == request.queue && b == request.queue => kept.push(*request),
                _ => blocked.push(*request),
            }
            false
        });
        (self.blocked, self.kept) = (blocked, kept);
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

impl Partition {
    /// Lets the flits cross whose ports are connected, and refuses all other requests for these ports.
    #[cold]
    #[inline(never)]
    pub(crate) fn keep_connections<K: Kernel>(&mut self, requests: &mut Vec<Request>) {
        let Some(connections) = &mut self.connections else { return };
        connections.sort_out(requests);
        let made = std::mem::take(&mut connections.made);
        let (mut kept, mut blocked) = (std::mem::take(&mut connections.kept), std::mem::take(&mut connections.blocked));
        let (inputs, outputs) = connections.paths;
        for &(from, to) in &made {
            let queue = connections.inputs[from];
            // Ports that are busy yet are connected yet.
            let port = from / inputs;
            let busy = match &self.paths {
                Some(paths) => paths.input_busy(port, from % inputs).max(paths.path_busy(to)),
                None => self.inputs[port].busy.max(self.tables.outputs[to / outputs].busy),
            };
            if busy > self.now && !kept.iter().any(|request| request.queue == queue) {
                connections.made.push((from, to));
            } else {
                (connections.inputs[from], connections.outputs[to]) = (NONE, NONE);
            }
        }
        for request in &kept {
            self.transfer::<K>(request);
        }
        self.collector.counters.work.flit_hops += kept.len() as u64;
        for request in &blocked {
            self.try_again::<K>(request);
        }
        kept.clear();
        blocked.clear();
        if let Some(connections) = &mut self.connections {
            (connections.kept, connections.blocked) = (kept, blocked);
        }
    }

    /// A flit has been granted: its ports stay connected if the next of its packet is there.
    #[cold]
    pub(crate) fn connect(&mut self, grant: &Request, tail: bool) {
        let Some(connections) = &mut self.connections else { return };
        let (q, progress) = (&self.queues[grant.queue], &self.progress[grant.queue]);
        if !tail && (q.first != q.last || progress.sent + 1 < progress.arrived) {
            let (from, to) = connections.paths(grant);
            (connections.inputs[from], connections.outputs[to]) = (grant.queue, grant.queue);
            connections.made.push((from, to));
        }
    }
}
