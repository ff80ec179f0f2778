//! Output buffers, endpoints and the turns of credits.

use super::pending::Pending;
use crate::engine::Tick;
use crate::fabric::input_queued::partition::Partition;

/// The credits for an endpoint's buffer and its credits on their way back add up to its size.
pub(super) fn ejections(partition: &Partition, pending: &Pending) -> Result<(), String> {
    let Some(capacity) = partition.setup.config.links[0].ejection_buffer else { return Ok(()) };
    for output in partition.tables.outputs.iter().filter(|output| output.class == 0) {
        // Queues that share a buffer have the credits of the first.
        let division = partition.setup.config.buffers.division;
        let apart = if division.shared { division.queues as usize } else { 1 };
        for channel in (output.vc..output.vc + u32::from(output.vcs)).step_by(apart) {
            let credits = i64::from(partition.tables.channels[channel].credits);
            let back = pending.credits.get(&channel).map_or(0, |&phits| phits as i64);
            if let Some(pools) = &partition.pools {
                if i64::from(pools.held(channel)) != back {
                    let router = partition.setup.routers.number(output.router);
                    return Err(format!(
                        "an endpoint of router {router}: {back} credits on their way back, {} out",
                        pools.held(channel)
                    ));
                }
                continue;
            }
            if credits < 0 || credits + back != i64::from(capacity) {
                let router = partition.setup.routers.number(output.router);
                return Err(format!(
                    "an endpoint of router {router}: {credits} credits, {back} on their way back: not {capacity}"
                ));
            }
        }
    }
    Ok(())
}

/// No sender gets two credits in one cycle, if credits wait for their turn.
pub(super) fn turns(partition: &Partition, pending: &Pending) -> Result<(), String> {
    let cycle = partition.setup.config.links.ticks_per_cycle;
    // An endpoint's credits go out as its flits come in.
    let from_routers =
        |target: u32| partition.tables.outputs.get(target as usize).is_none_or(|output| output.class != 0);
    for (target, times) in pending.credit_times.iter().filter(|(target, _)| from_routers(**target)) {
        let mut times = times.clone();
        times.sort_unstable();
        // Flits that leave at once send their credits at once.
        let settings = &partition.setup.settings;
        let choices = &settings.choices;
        let several = partition.paths.is_some()
            || choices.control_crosses_beside
            || choices.rounds > 1
            || settings.reserves
            || settings.ideal;
        let at_once = |apart: Tick| several && apart == 0;
        let crowded = times.windows(2).find(|pair| pair[1] - pair[0] < cycle && !at_once(pair[1] - pair[0]));
        if let Some(pair) = crowded.filter(|_| partition.setup.config.choices.credits_take_turns) {
            return Err(format!("sender {target} of partition {}: credits in ticks {pair:?}", partition.setup.index));
        }
    }
    Ok(())
}

/// The count of every output buffer is the sum of its flits.
pub(super) fn outputs(partition: &Partition) -> Result<(), String> {
    let buffers = &partition.tables.buffers;
    let Some(capacity) = partition.setup.config.buffers.output_buffer.filter(|_| !buffers.by_time()) else {
        return Ok(());
    };
    for index in 0..partition.tables.outputs.len() as u32 {
        let sum: u32 = buffers.flits(index).map(|(_, size)| size).sum();
        if sum != buffers.held(index) || sum > capacity {
            return Err(format!(
                "output {index} of partition {} at tick {}: {sum} phits in the buffer, {} counted, room for {capacity}",
                partition.setup.index,
                partition.now,
                buffers.held(index)
            ));
        }
        if !buffers.flits(index).map(|(start, _)| start).is_sorted() {
            return Err(format!("output {index} of partition {}: flits out of order", partition.setup.index));
        }
    }
    Ok(())
}
