//! Flits in output buffers in which packets without data go first, which are on their way like flits on links, and
//! packets in output buffers that wait for credits.

use super::pending::{Coming, Pending};
use crate::engine::{NONE, Tick};
use crate::fabric::input_queued::partition::Partition;
use crate::fabric::input_queued::state::records::SINK;

/// Adds the packets in the output buffers of `partition` that wait for credits. The room of every channel and its
/// packets add up.
pub(super) fn for_credits(partition: &Partition, pending: &mut Pending) -> Result<(), String> {
    let Some(lines) = &partition.tables.lines else { return Ok(()) };
    for (index, output) in (0..).zip(partition.tables.outputs.iter()) {
        let mut held = vec![0; output.vcs.into()];
        for packet in lines.packets(index) {
            held[usize::from(packet.vc)] += i64::from(packet.size);
            pending.travelling.push(packet.packet);
            pending.lined += u64::from(packet.size);
        }
        let capacity = i64::from(partition.setup.config.buffers.capacity[output.class as usize]);
        for (vc, held) in (output.vc..).zip(held) {
            let (room, back) = (partition.tables.channels[vc].credits, pending.rooms.get(&vc).copied().unwrap_or(0));
            let nowhere = output.far_queue == NONE && room == 0 && held == 0 && back == 0;
            if nowhere {
                continue;
            }
            if room < 0 || i64::from(room) + held + back as i64 != capacity {
                return Err(format!(
                    "output {index} of partition {} at tick {}: {held} phits in the buffer of channel {}, room for \
                     {room} and soon for {back} more: not {capacity}",
                    partition.setup.index,
                    partition.now,
                    vc - output.vc
                ));
            }
        }
    }
    Ok(())
}

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
