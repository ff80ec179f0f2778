//! The counts of partitions about links and endpoints.

use crate::fabric::input_queued::endpoints::endpoint::Endpoint;
use crate::fabric::input_queued::partition::Partition;
use crate::fabric::input_queued::wiring::setup::{Map, Setup};
use crate::measure::{Rate, Share, Snapshot};
use crate::packet::MOST_CLASSES;
use std::collections::BTreeMap;

/// The data that the links of a partition have carried, in parts of a phit.
struct Carried {
    /// By output.
    outputs: Vec<u64>,
    /// By endpoint, from there into its router.
    endpoints: Vec<u64>,
    /// Control messages, by class.
    control: [u64; MOST_CLASSES],
}

impl Carried {
    fn of(partition: &Partition) -> Self {
        let Partition { setup, map: Map { topology, .. }, tables, endpoints, collector, .. } = partition;
        let Setup { config, routers, .. } = &**setup;
        let links = &config.links;
        let count = tables.outputs.len() as u32;
        let class = |output: u32| tables.outputs[output].class;
        let rate_of_output = |output: u32| {
            let router = tables.outputs[output].router;
            let port = (output - tables.first_port[router]) as u16;
            links.rate_of_port(&**topology, routers.number(router), port)
        };
        let mut control = [0; MOST_CLASSES];
        for (number, (sum, phits)) in
            (0..links.len() as u8).zip(control.iter_mut().zip(collector.counters.control.phits))
        {
            *sum = links.rate_of_class(number).parts(phits);
        }
        let sent_by = |output: u32| rate_of_output(output).parts(tables.outputs[output].phits);
        let sent = |endpoint: &Endpoint| links.injection_rate(endpoint.number).parts(endpoint.phits);
        let mut carried = Self {
            outputs: (0..count).map(sent_by).collect(),
            endpoints: endpoints.iter().map(sent).collect(),
            control,
        };
        let rate = |link: u32| -> Rate {
            match link.checked_sub(count) {
                Some(endpoint) => links.injection_rate(endpoints[endpoint].number),
                None => rate_of_output(link),
            }
        };
        partition.wires.to_come(rate, |link, parts, is_control| match link.checked_sub(count) {
            Some(endpoint) => carried.endpoints[endpoint as usize] -= parts,
            None => {
                carried.outputs[link as usize] -= parts;
                if is_control {
                    carried.control[usize::from(class(link))] -= parts;
                }
            }
        });
        carried
    }
}

impl Snapshot {
    /// The counters of all partitions.
    pub(crate) fn of(partitions: &[Partition]) -> Self {
        let mut control = ([0; MOST_CLASSES], 0);
        let mut queueing = BTreeMap::new();
        let (mut routers, mut endpoints) = (Vec::new(), Vec::new());
        let carried: Vec<Carried> = partitions.iter().map(Carried::of).collect();
        for (partition, carried) in partitions.iter().zip(&carried) {
            control.0.iter_mut().zip(carried.control).for_each(|(sum, parts)| *sum += parts);
            control.1 += partition.collector.counters.control.messages;
            for (total, count) in partition.queueing_totals() {
                queueing.entry(total.name).or_insert((total, 0)).1 += count;
            }
            let ends = partition.tables.first_port.windows(2);
            let ports = ends.map(|ends| &carried.outputs[ends[0] as usize..ends[1] as usize]);
            routers.extend(partition.setup.routers.iter().zip(ports));
            endpoints.extend(partition.endpoints.iter().map(|endpoint| endpoint.number).zip(&carried.endpoints));
        }
        // In the order of their numbers in the network.
        routers.sort_unstable_by_key(|(router, _)| *router);
        endpoints.sort_unstable_by_key(|(endpoint, _)| *endpoint);
        Self {
            control,
            queueing,
            ports: routers.into_iter().flat_map(|(_, ports)| ports).copied().collect(),
            injected: endpoints.into_iter().map(|(_, parts)| *parts).collect(),
            ejected: None,
            offered: partitions.iter().map(|p| p.offered_phits).sum(),
        }
    }
}

impl Share {
    /// The routers and endpoints of these partitions.
    pub(crate) fn of(partitions: &[Partition]) -> Self {
        let mut routers: Vec<u32> = partitions.iter().flat_map(|partition| partition.setup.routers.iter()).collect();
        let endpoints = partitions.iter().flat_map(|partition| partition.endpoints.iter());
        let mut endpoints: Vec<u32> = endpoints.map(|endpoint| endpoint.number).collect();
        routers.sort_unstable();
        endpoints.sort_unstable();
        Self { routers, endpoints }
    }
}
