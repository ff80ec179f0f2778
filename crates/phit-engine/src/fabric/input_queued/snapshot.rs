//! What partitions have counted of links and endpoints.

use super::Partition;
use crate::measure::Snapshot;
use crate::packet::MOST_CLASSES;
use std::collections::BTreeMap;

impl Snapshot {
    /// The counters of all partitions.
    pub(crate) fn of(partitions: &[Partition]) -> Self {
        let mut control = ([0; MOST_CLASSES], 0);
        for collector in partitions.iter().map(Partition::collector) {
            control.0.iter_mut().zip(collector.counters.control.phits).for_each(|(sum, phits)| *sum += phits);
            control.1 += collector.counters.control.messages;
        }
        let mut queueing = BTreeMap::new();
        for partition in partitions {
            for (total, count) in partition.queueing_totals() {
                queueing.entry(total.name).or_insert((total, 0)).1 += count;
            }
        }
        Self {
            control,
            queueing,
            ports: partitions.iter().flat_map(|p| p.outputs.iter().map(|o| o.phits)).collect(),
            injected: partitions.iter().flat_map(|p| p.endpoints.iter().map(|e| e.phits)).collect(),
            offered: partitions.iter().map(|p| p.offered_phits).sum(),
        }
    }
}
