//! What partitions have counted of links and endpoints.

use super::Partition;
use super::state::Output;
use crate::measure::{Share, Snapshot};
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
            ports: ports(partitions),
            injected: injected(partitions),
            offered: partitions.iter().map(|p| p.offered_phits).sum(),
        }
    }
}

impl Share {
    /// What is in these partitions.
    pub(crate) fn of(partitions: &[Partition]) -> Self {
        let mut routers: Vec<u32> = partitions.iter().flat_map(|partition| partition.routers.iter()).collect();
        let endpoints = partitions.iter().flat_map(|partition| partition.endpoints.iter());
        let mut endpoints: Vec<u32> = endpoints.map(|endpoint| endpoint.number).collect();
        routers.sort_unstable();
        endpoints.sort_unstable();
        Self { routers, endpoints }
    }
}

/// Phits sent by each port, router by router in the order of their numbers.
fn ports(partitions: &[Partition]) -> Vec<u64> {
    let mut routers: Vec<(u32, &[Output])> = Vec::new();
    for partition in partitions {
        let outputs: &[Output] = &partition.tables.outputs;
        let ports = partition.tables.first_port.windows(2).map(|ends| &outputs[ends[0] as usize..ends[1] as usize]);
        routers.extend(partition.routers.iter().zip(ports));
    }
    routers.sort_unstable_by_key(|(router, _)| *router);
    routers.into_iter().flat_map(|(_, outputs)| outputs.iter().map(|output| output.phits)).collect()
}

/// Phits injected by each endpoint, in the order of their numbers.
fn injected(partitions: &[Partition]) -> Vec<u64> {
    let all = partitions.iter().flat_map(|partition| partition.endpoints.iter());
    let mut phits: Vec<(u32, u64)> = all.map(|endpoint| (endpoint.number, endpoint.phits)).collect();
    phits.sort_unstable_by_key(|(number, _)| *number);
    phits.into_iter().map(|(_, phits)| phits).collect()
}
