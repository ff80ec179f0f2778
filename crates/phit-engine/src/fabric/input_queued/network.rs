//! A network of input-queued routers: its partitions, and how they are run.

use super::audit::audit;
use super::build::Plan;
use super::stuck::{Waiting, find_cycle};
use super::{Mail, Partition};
use crate::engine::Tick;
use crate::engine::parallel::{Inboxes, advance};
use crate::fabric::{Fabric, Options, Progress};
use crate::measure::{Collector, Snapshot};
use crate::topology::Topology;
use std::any::Any;
use std::ops::Range;
use std::sync::Arc;

/// Contiguous ranges of whole groups, as equal as can be.
fn ranges(topology: &dyn Topology, parts: usize) -> Vec<Range<u32>> {
    let groups = topology.groups();
    let parts = (parts as u32).clamp(1, groups);
    (0..parts)
        .map(|part| {
            let bound = |part: u32| match (u64::from(groups) * u64::from(part) / u64::from(parts)) as u32 {
                group if group == groups => topology.routers(),
                group => topology.group_routers(group).start,
            };
            bound(part)..bound(part + 1)
        })
        .collect()
}

/// Epochs shorter than this do not pay for switching from one partition to the next on one thread.
const WORTHWHILE_EPOCH: Tick = 32;
/// Endpoints whose state fits a private cache while they run an epoch.
const ENDPOINTS_PER_BLOCK: u32 = 256;

/// A network of input-queued routers.
pub struct InputQueued {
    partitions: Vec<Partition>,
    inboxes: Inboxes<Mail>,
    /// Ticks that a partition may run ahead of the others.
    lookahead: Tick,
    threads: usize,
    now: Tick,
    longest_wait: Tick,
}

impl InputQueued {
    pub(super) fn new(plan: &Plan<'_>, options: Options) -> Self {
        let threads = options.threads.max(1);
        let topology = &*plan.topology;
        let blocked = |parts: usize| {
            let ranges = ranges(topology, parts);
            let lookahead = plan.lookahead(&ranges);
            (ranges, lookahead)
        };
        let alone = plan.routing.reads_everything().then_some(1);
        let (ranges, lookahead) = match alone.or(options.partitions) {
            Some(parts) => blocked(parts),
            None => {
                let blocks = (topology.endpoints() / ENDPOINTS_PER_BLOCK).max(1) as usize;
                let (fine, lookahead) = blocked(blocks.max(threads));
                if lookahead >= WORTHWHILE_EPOCH { (fine, lookahead) } else { blocked(threads) }
            }
        };
        let partitions = plan.build(ranges);
        Self {
            inboxes: Inboxes::new(partitions.len()),
            partitions,
            lookahead,
            threads,
            now: 0,
            longest_wait: plan.longest_wait(),
        }
    }

    /// The partitions and what is on its way between them, for checks of their state.
    pub fn parts(&self) -> (&[Partition], &Inboxes<Mail>) {
        (&self.partitions, &self.inboxes)
    }

    /// The partitions, for tests that put something of their own into them.
    #[cfg(test)]
    pub(crate) fn parts_mut(&mut self) -> &mut [Partition] {
        &mut self.partitions
    }
}

impl Fabric for InputQueued {
    fn advance(&mut self, end: Tick) {
        advance(&mut self.partitions, &self.inboxes, self.threads, self.lookahead, self.now, end);
        self.now = end;
    }

    fn epoch(&self) -> Tick {
        self.lookahead
    }

    fn open_window(&mut self, span: Range<Tick>) {
        self.partitions.iter_mut().for_each(|partition| partition.open_window(span.clone()));
    }

    fn close_window(&mut self) -> u64 {
        self.partitions.iter_mut().map(Partition::close_window).sum()
    }

    fn break_links(&mut self, dead: &[(u32, u16)]) {
        self.partitions.iter_mut().for_each(|partition| partition.break_links(dead));
    }

    fn reroute(&mut self, graph: &Arc<dyn Topology>, dead: &[(u32, u16)]) {
        self.partitions.iter_mut().for_each(|partition| partition.reroute(graph, dead));
    }

    fn snapshot(&self) -> Snapshot {
        Snapshot::of(&self.partitions)
    }

    fn collectors(&self) -> Vec<&Collector> {
        self.partitions.iter().map(Partition::collector).collect()
    }

    fn bytes(&self) -> usize {
        let mut bytes = self.partitions.iter().map(Partition::bytes).sum();
        self.inboxes.for_each(|_, mail| bytes += mail.bytes());
        bytes
    }

    fn partitions(&self) -> usize {
        self.partitions.len()
    }

    fn progress(&self) -> Progress {
        let mut progress = Progress::default();
        let [injected, delivered, hops] = &mut progress.done;
        for partition in &self.partitions {
            *injected += partition.endpoints.iter().map(|e| e.phits).sum::<u64>();
            *delivered += partition.collector.counters.flow.packets;
            *hops += partition.collector.counters.work.flit_hops;
            progress.held += u64::from(partition.packets.live());
        }
        self.inboxes.for_each(|_, mail| progress.held += mail.packets.len() as u64);
        progress
    }

    fn longest_wait(&self) -> Tick {
        self.longest_wait
    }

    fn stuck(&self) -> String {
        match find_cycle(self) {
            None => "no circle of waiting packets was found".to_owned(),
            Some(cycle) => cycle.iter().map(Waiting::to_string).collect::<Vec<_>>().join("; "),
        }
    }

    fn audit(&self) -> Result<(), String> {
        audit(self)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }
}
