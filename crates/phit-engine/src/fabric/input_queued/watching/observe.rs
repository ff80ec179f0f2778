//! The view of a partition that probes get.

use crate::engine::NONE;
use crate::fabric::input_queued::partition::Partition;
use crate::fabric::input_queued::state::records::{BROKEN, Queue};
use crate::fabric::seams::probe::Observation;
use crate::fabric::seams::queueing::Branch;
use crate::fabric::seams::routing::See;
use crate::measure::Observable;
use crate::packet::Packet;
use crate::topology::Topology;

/// The index in the partition of a port of a router of the network.
fn index(partition: &Partition, router: u32, port: u16) -> u32 {
    partition.tables.first_port[partition.setup.routers.place(router) as u32] + u32::from(port)
}

/// The number of a queue in the partition.
fn number(partition: &Partition, router: u32, port: u16, queue: u16) -> u32 {
    partition.inputs[index(partition, router, port)].queues + u32::from(queue)
}

/// The packets that stand in a queue, in their order.
fn packets(partition: &Partition, router: u32, port: u16, queue: u16) -> impl Iterator<Item = &Packet> {
    let queue = &partition.queues[number(partition, router, port, queue)];
    let known = |at: u32| (at != NONE).then_some(at);
    let following = move |at: &u32| known(if *at == queue.last { NONE } else { partition.packets[*at].next });
    std::iter::successors(known(queue.first), following).map(|at| &partition.packets[at])
}

impl Observation for Partition {
    fn topology(&self) -> &dyn Topology {
        &*self.map.topology
    }

    fn routers(&self) -> Box<dyn Iterator<Item = u32> + '_> {
        Box::new(self.setup.routers.iter())
    }

    fn mechanism(&self, router: u32, see: See<'_>) {
        self.routing.observe(router, self.now + 1, see);
    }

    fn queueing(&self, router: u32, port: u16, see: &mut dyn FnMut(&'static Observable, u32)) {
        if let Some(manager) = self.management.manager() {
            manager.observe(index(self, router, port), self.now, see);
        }
    }

    fn trees(&self, router: u32, port: u16, see: &mut dyn FnMut(&Branch<'_>)) {
        if let Some(manager) = self.management.manager() {
            manager.trees(index(self, router, port), see);
        }
    }

    fn queues(&self, router: u32, port: u16) -> u16 {
        self.inputs[index(self, router, port)].count
    }

    fn input_phits(&self, router: u32, port: u16, queue: u16) -> u32 {
        let number = number(self, router, port, queue);
        let all: u32 = packets(self, router, port, queue).map(|packet| u32::from(packet.size)).sum();
        let Queue { first, last, .. } = self.queues[number];
        if first == NONE {
            return 0;
        }
        // Some flits of the last packet may not have come yet, and some of the first may have gone.
        let (last, arrived) = (&self.packets[last], self.progress(number).arrived);
        let coming = u32::from(last.size) - self.setup.config.phits_of(last.size, arrived.min(last.flits));
        let gone = self.setup.config.phits_of(self.packets[first].size, self.sent_flits(number));
        all - coming - gone
    }

    fn arrivals(&self, router: u32, port: u16, queue: u16) -> u32 {
        let cycle = self.now - self.now % self.setup.settings.ticks_per_cycle;
        packets(self, router, port, queue).filter(|packet| packet.entry >= cycle).count() as u32
    }

    fn output_phits(&self, router: u32, port: u16, vc: u16) -> Option<u32> {
        let output = &self.tables.outputs[index(self, router, port)];
        let channel = output.vc + u32::from(vc);
        let capacity = self.setup.config.buffers.capacity[output.class as usize] as i32;
        let credits = match &self.pools {
            Some(pools) => capacity - pools.held(channel),
            None => self.tables.channels[channel].credits,
        };
        let division = self.setup.config.buffers.division;
        let charged = !division.shared || u32::from(vc) % division.queues == 0;
        // With pauses a router does not know how full the next buffer is.
        (output.far_partition < BROKEN && self.signals.pauses().is_none()).then_some(if charged {
            (capacity - credits).max(0) as u32
        } else {
            0
        })
    }
}
