//! Queue organisations with a manager: its records, at one port and at both ends of a link.

use super::buffers::members;
use crate::engine::NONE;
use crate::fabric::input_queued::partition::Partition;
use std::collections::BTreeMap;

/// When no message is on its way, both ends of a link have equal records of the flows that are isolated behind it:
/// virtual channel and line, destinations, and whether they are held back.
pub(super) fn agreement(partitions: &[Partition]) -> Result<(), String> {
    type Known = BTreeMap<(u8, u8), (Vec<u32>, bool)>;
    let known = |partition: &Partition, port: u32, input: bool| -> Known {
        let mut known = Known::new();
        if let Some(manager) = partition.management.manager() {
            manager.trees(port, &mut |branch| {
                if branch.input == input && branch.mapped {
                    known.insert((branch.vc, branch.line), (branch.destinations.to_vec(), branch.stopped));
                }
            });
        }
        known
    };
    for here in partitions {
        for (port, input) in here.inputs.iter().enumerate().filter(|(_, input)| input.upstream != NONE) {
            let sender = &partitions[input.upstream_partition as usize];
            if input.class == 0 || input.upstream as usize >= sender.tables.outputs.len() {
                continue;
            }
            let (told, heard) = (known(here, port as u32, true), known(sender, input.upstream, false));
            if told != heard {
                let router = here.setup.routers.number(input.router);
                let (input, now) = (input.number, here.now);
                return Err(format!(
                    "input {input} of router {router} at tick {now} has told {told:?}, its sender knows {heard:?}"
                ));
            }
        }
    }
    Ok(())
}

/// The records of the manager agree with the queues.
pub(super) fn managed(partition: &Partition) -> Result<(), String> {
    let Some(manager) = partition.management.manager() else { return Ok(()) };
    for (port, input) in partition.inputs.iter().enumerate() {
        let held = |lane: u16| -> u32 {
            let queue = &partition.queues[input.queues + u32::from(lane)];
            let list = members(partition, queue).unwrap_or_default();
            list.iter().map(|&packet| u32::from(partition.packets[packet].size)).sum()
        };
        manager.audit(port as u32, &held).map_err(|what| {
            let router = partition.setup.routers.number(input.router);
            format!("input {} of router {router} at tick {}: {what}", input.number, partition.now)
        })?;
    }
    Ok(())
}
