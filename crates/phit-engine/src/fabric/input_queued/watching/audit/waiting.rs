//! Flits in output buffers in which packets without data go first: they are on their way like flits on links.

use super::pending::{Coming, Pending};
use crate::engine::Tick;
use crate::fabric::input_queued::partition::Partition;
use crate::fabric::input_queued::state::records::SINK;

/// Adds the flits in the output buffers of `partition` to what is on its way.
pub(super) fn add(partition: &Partition, pending: &mut [Pending]) {
    let (Some(queues), here) = (&partition.tables.queues, partition.setup.index as usize) else { return };
    for (index, output) in (0..).zip(partition.tables.outputs.iter()) {
        let far = output.far_partition;
        for (place, flit) in (0..).zip(queues.flits(index)) {
            let packet = partition.packets[flit.packet];
            let travelling = &mut pending[here].travelling;
            // Its head is neither in a queue nor on the link; or all of it has left this partition's queues.
            let waits = flit.head || flit.tail && far != partition.setup.index;
            if waits && !travelling.contains(&flit.packet) {
                travelling.push(flit.packet);
            }
            if far == SINK {
                if partition.setup.config.links[0].ejection_buffer.is_some() {
                    let channel = output.vc + u32::from(flit.vc);
                    *pending[here].credits.entry(channel).or_default() += u64::from(flit.size);
                }
                if flit.tail {
                    pending[here].delivering += u64::from(packet.size);
                }
                continue;
            }
            // After everything that is on the link.
            let at = Tick::MAX / 2 + place;
            let coming = if flit.head { Coming::Head(packet) } else { Coming::Flit };
            let queue = output.far_queue + u32::from(flit.vc);
            pending[far as usize].arrivals.entry(queue).or_default().push((at, coming));
        }
    }
}
