//! A network of packet-level nodes, as runs see it.

use super::state::{Network, PACKET};
use crate::engine::Tick;
use crate::fabric::{Fabric, Progress, longest_wait};
use crate::measure::{Collector, Snapshot};
use std::any::Any;
use std::collections::BTreeMap;
use std::ops::Range;

impl Fabric for Network {
    fn advance(&mut self, end: Tick) {
        self.advance_to(end);
    }

    fn open_window(&mut self, span: Range<Tick>) {
        Network::open_window(self, span);
    }

    fn close_window(&mut self) -> u64 {
        Network::close_window(self)
    }

    fn snapshot(&self) -> Snapshot {
        Network::snapshot(self)
    }

    fn collectors(&self) -> Vec<&Collector> {
        vec![self.collector()]
    }

    fn tables(&self) -> BTreeMap<&'static str, usize> {
        BTreeMap::from([("all", Network::bytes(self))])
    }

    /// Refused packets are sent again for ever, so only accepted packets count as progress.
    fn progress(&self) -> Progress {
        Progress { done: [Network::progress(self), 0, 0], held: self.packets_held() }
    }

    fn longest_wait(&self) -> Tick {
        // A router takes no time of its own. A link serves the packets of its queues.
        let packets = u32::from(self.link_classes[0].queues) + 4;
        longest_wait(&self.link_classes, &[1], packets, self.phits[PACKET])
    }

    fn stuck(&self) -> String {
        self.describe_stop()
    }

    fn audit(&self) -> Result<(), String> {
        Network::audit(self)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }
}
