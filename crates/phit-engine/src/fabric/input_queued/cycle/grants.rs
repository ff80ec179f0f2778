//! Grants that depend on more than the allocator: ideal allocators, several paths of a port, connections that last.

use super::speculation::SPECULATIVE;
use crate::engine::{NONE, Tick};
use crate::fabric::input_queued::options::kernel::{General, Kernel};
use crate::fabric::input_queued::partition::Partition;
use crate::fabric::input_queued::state::records::Output;
use crate::fabric::seams::allocator::Request;

impl Partition {
    /// An ideal allocator grants all requests, but there may not be room for all. Requests cross in turn, as far as
    /// there is room.
    #[cold]
    #[inline(never)]
    pub(crate) fn grant_in_turn<K: Kernel>(&mut self, requests: &mut [Request]) {
        for run in requests.chunk_by_mut(|a, b| a.router == b.router) {
            let turn = (self.now / self.setup.settings.fine) as usize % run.len();
            for place in (turn..run.len()).chain(0..turn) {
                if self.still_fits(&run[place]) {
                    run[place].granted = true;
                    self.transfer::<K>(&run[place]);
                }
            }
        }
    }

    /// Allocates paths. Several flits may be granted for one output, but there may not be room for all. They cross in
    /// turn, as far as there is room.
    #[cold]
    #[inline(never)]
    pub(crate) fn grant_paths<K: Kernel>(&mut self, requests: &mut [Request]) {
        let Some(paths) = &mut self.paths else { return };
        let (allocator, rngs, scratch, now) = (&mut self.allocator, &mut self.rngs, &mut self.scratch, self.now);
        paths.allocate(requests, |asked| allocator.allocate_all(now, rngs, asked, scratch));
        for run in requests.chunk_by_mut(|a, b| a.router == b.router) {
            let turn = (self.now / self.setup.settings.fine) as usize % run.len();
            for place in (turn..run.len()).chain(0..turn) {
                if run[place].granted {
                    run[place].granted = self.still_fits(&run[place]);
                    if run[place].granted {
                        self.transfer::<K>(&run[place]);
                    }
                }
            }
        }
    }

    /// True if the earlier grants of this tick have left `grant` its channel and enough room.
    #[cold]
    #[inline(never)]
    pub(crate) fn still_fits(&mut self, grant: &Request) -> bool {
        let &Output { vc, class, .. } = &self.tables.outputs[grant.output];
        let channel = vc + u32::from(grant.vc);
        let size = u32::from(grant.size);
        grant.vc != SPECULATIVE
            && self.tables.channels[channel].credits >= size as i32
            && (self.queues[grant.queue].vcs == 0 || self.owner(channel) == NONE && self.reusable(channel, class))
            && self.has_output_room::<General>(grant.output, size)
            && !self.lacks_room(grant.queue, grant.output, size)
    }

    /// First tick at which the paths of input `port` are free for queue number `lane`.
    #[cold]
    pub(crate) fn input_path_busy(&self, port: u32, lane: u32) -> Tick {
        self.paths.as_ref().map_or(self.inputs[port].busy, |paths| paths.input_busy(port, lane))
    }

    /// First tick at which `output` is free for input number `input` of its router.
    pub(crate) fn output_path_busy(&self, output: u32, input: u16) -> Tick {
        self.paths.as_ref().map_or(self.tables.outputs[output].busy, |paths| paths.output_busy(output, input))
    }

    /// Lets the flits cross whose ports are connected, and refuses all other requests for these ports.
    #[cold]
    #[inline(never)]
    pub(crate) fn keep_connections<K: Kernel>(&mut self, requests: &mut Vec<Request>) {
        let queued = self.tables.queues.is_some();
        let control: Vec<bool> = requests.iter().map(|request| queued && self.crosses_freely(request.queue)).collect();
        let Some(connections) = &mut self.connections else { return };
        let (kept, blocked) = connections.sort_out(requests, &control, |ports| {
            let busy = match &self.paths {
                Some(paths) => paths.input_busy(ports.input, ports.path).max(paths.path_busy(ports.to)),
                None => self.inputs[ports.input].busy.max(self.tables.outputs[ports.output].busy),
            };
            busy > self.now
        });
        kept.iter().for_each(|request| self.transfer::<K>(request));
        self.collector.counters.work.flit_hops += kept.len() as u64;
        blocked.iter().for_each(|request| self.try_again::<K>(request));
        if let Some(connections) = &mut self.connections {
            connections.put_back((kept, blocked));
        }
    }

    /// A flit has been granted: its ports stay connected if the packet's next flit is there.
    #[cold]
    pub(crate) fn connect(&mut self, grant: &Request, tail: bool) {
        let Some(connections) = &mut self.connections else { return };
        let (q, progress) = (&self.queues[grant.queue], &self.progress[grant.queue]);
        if !tail && (q.first != q.last || progress.sent + 1 < progress.arrived) {
            connections.connect(grant);
        }
    }
}
