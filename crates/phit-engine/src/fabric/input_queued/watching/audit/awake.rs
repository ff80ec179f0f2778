//! Lost wake-ups: every head that could move is ready, or an event will make it ready in time.

use super::name;
use super::pending::Pending;
use crate::engine::bits::{bit, short_bit};
use crate::engine::{NONE, Tick};
use crate::fabric::input_queued::options::kernel::General;
use crate::fabric::input_queued::partition::Partition;
use crate::fabric::input_queued::state::kind;
use crate::fabric::input_queued::state::records::{Progress, Queue, TAIL_PENDING};
use crate::fabric::input_queued::waiting::wait_lists::Waits;
use std::collections::HashMap;

/// Every queue whose front could move is ready, or an event will make it ready in time.
pub(super) fn awake(partition: &Partition, pending: &Pending) -> Result<(), String> {
    let now = partition.now;
    let listed = listed(partition)?;
    if let Some(repeats) = &partition.repeats {
        for (e, endpoint) in (0..).zip(partition.endpoints.iter()) {
            if repeats.waits(e) && !endpoint.blocked && !pending.wakes_ever(kind::SEND, e) {
                return Err(format!("endpoint {} has forgotten what it is to send again", endpoint.number));
            }
        }
    }
    for (e, endpoint) in (0..).zip(partition.endpoints.iter()) {
        if partition.sending.has_packets(e) && !endpoint.blocked && !pending.wakes_ever(kind::SEND, e) {
            return Err(format!("endpoint {} has forgotten what it is to send", endpoint.number));
        }
    }
    for (index, queue) in partition.queues.iter().enumerate() {
        let input = &partition.inputs[queue.port];
        let ports = partition.tables.first_port[input.router + 1] - partition.tables.first_port[input.router];
        if queue.first == NONE {
            continue;
        }
        let index = index as u32;
        let wrong = |what: &str| Err(format!("{} {what}", name(partition, index)));
        let Progress { arrived, sent, .. } = partition.progress(index);
        if sent == TAIL_PENDING {
            if !pending.wakes_ever(kind::TAIL, index) {
                return wrong("waits for a tail for ever");
            }
            continue;
        }
        let packet = &partition.packets[queue.first];
        let available = if queue.first == queue.last { arrived } else { packet.flits };
        if sent >= available || pending.wakes_ever(kind::READY, index) {
            continue;
        }
        if partition.management.may_hold(index) {
            continue;
        }
        if partition.agenda.has(index) {
            continue;
        }
        if let Some(&what) = listed.get(&index) {
            in_list(partition, pending, queue, what).map_err(|wrong| format!("{} {wrong}", name(partition, index)))?;
            continue;
        }
        let lane = short_bit(index - input.queues);
        if input.ready & lane != 0 {
            if !pending.wakes_ever(kind::INPUT, queue.port) {
                return wrong("waits for its port, which will not wake it");
            }
            continue;
        }
        let at_port = bit(input.number.into());
        let watches = partition.setup.settings.watches::<General>();
        let own = if watches { partition.watchers.lane(input.router, index) } else { 0 };
        let asleep = match () {
            () if partition.setup.settings.at_outputs => partition.sleeps_at_output(queue.port, index),
            () if watches => partition.watchers.sleeps(input.router, own),
            () => input.asleep & lane != 0,
        };
        if !asleep {
            return wrong("has been forgotten");
        }
        let known = |output: u32| match watches {
            true => partition.watchers.knows(&partition.tables.outputs[output], output, own),
            false => partition.tables.outputs[output].waiters & at_port != 0,
        };
        if queue.output == NONE {
            let first = partition.tables.first_port[input.router];
            if !(0..ports).any(|port| known(first + port)) {
                return wrong("sleeps without a decision, and no output knows");
            }
            continue;
        }
        if !known(queue.output) {
            return wrong("sleeps, but its output does not know");
        }
        let size = partition.setup.config.flit_phits(packet.size, sent);
        if could_move(partition, queue, size) && !woken(partition, pending, queue.output, now) {
            return wrong("sleeps, but could move");
        }
        let blocked_by_output =
            partition.output_path_busy(queue.output, input.number) > now || no_room(partition, queue.output, size);
        if has_channel(partition, queue, size)
            && blocked_by_output
            && !pending.wakes_ever(kind::OUTPUT, queue.output)
            && !woken(partition, pending, queue.output, now)
        {
            return wrong("waits for an output that will not wake it");
        }
    }
    Ok(())
}

/// The resource that each listed queue waits for. No queue may stand in two lists.
fn listed(partition: &Partition) -> Result<HashMap<u32, Waits>, String> {
    let mut listed = HashMap::new();
    let mut twice = None;
    let queues = |port: u32| partition.inputs[port].queues;
    partition.lists.for_each(queues, |queue, what| {
        if let Some(other) = listed.insert(queue, what) {
            twice = Some(format!("{} waits for {other:?} and for {what:?}", name(partition, queue)));
        }
    });
    twice.map_or(Ok(listed), Err)
}

/// A queue in the list of `what` cannot move yet, and will be woken when it can.
fn in_list(partition: &Partition, pending: &Pending, queue: &Queue, what: Waits) -> Result<(), &'static str> {
    let now = partition.now;
    let size = u32::from(partition.packets[queue.first].size);
    let outputs = &partition.tables.outputs;
    match what {
        Waits::Input(port) if port != queue.port => Err("waits for another port"),
        Waits::Input(port) if !pending.wakes_ever(kind::INPUT, port) => {
            Err("waits for its port, which will not wake it")
        }
        Waits::Input(_) => Ok(()),
        Waits::Output(output) if output != queue.output => Err("waits for another output"),
        Waits::Output(output) => {
            let moves = could_move(partition, queue, size) && !woken(partition, pending, output, now);
            let time_alone = has_channel(partition, queue, size) && !pending.wakes_ever(kind::OUTPUT, output);
            if moves || time_alone { Err("waits for room, but could move or will not be woken") } else { Ok(()) }
        }
        Waits::Crossbar(port, number) => {
            let input = &partition.inputs[port];
            let own = partition.tables.first_port[input.router] + number;
            if port != queue.port || own != queue.output {
                return Err("waits for another way through the crossbar");
            }
            let free = input.busy <= now && outputs[own].busy <= now;
            let marked = partition.lists.is_known(own - number, input.number.into(), number);
            match free {
                _ if !marked => Err("waits for the crossbar, but not all know"),
                true if !pending.wakes_at(kind::INPUT, port, now) && !pending.wakes_at(kind::OUTPUT, own, now) => {
                    Err("waits for the crossbar, which is free")
                }
                false if !pending.wakes_ever(kind::INPUT, port) && !pending.wakes_ever(kind::OUTPUT, own) => {
                    Err("waits for the crossbar, and nobody will wake it")
                }
                _ => Ok(()),
            }
        }
        Waits::Channel(channel) => {
            let own = queue.vcs == 1 && channel == partition.tables.outputs[queue.output].vc + u32::from(queue.vc);
            let enough = partition.tables.channels[channel].credits >= size as i32;
            match (own, enough && !pending.wakes_at(kind::CREDIT, channel, now)) {
                (false, _) => Err("waits for another channel"),
                (_, true) => Err("waits for credits that it has"),
                _ => Ok(()),
            }
        }
    }
}

/// True if the heads that wait for `output` are woken in tick `now`, which has not begun.
fn woken(partition: &Partition, pending: &Pending, output: u32, now: Tick) -> bool {
    let record = &partition.tables.outputs[output];
    partition.at_outputs.is_due(output)
        || pending.wakes_at(kind::OUTPUT, output, now)
        || (0..u32::from(record.vcs)).any(|vc| pending.wakes_at(kind::CREDIT, record.vc + vc, now))
}

fn no_room(partition: &Partition, output: u32, size: u32) -> bool {
    if let Some(backlog) = partition.setup.settings.backlog {
        let record = &partition.tables.outputs[output];
        return record.free.saturating_sub(partition.now) >= backlog[record.class as usize];
    }
    let flits = partition.tables.buffers.flits(output);
    let kept = flits.filter(|(start, _)| *start >= partition.now).map(|(_, size)| size);
    partition.setup.config.buffers.output_buffer.is_some_and(|capacity| kept.sum::<u32>() + size > capacity)
}

/// True if some permitted channel of the front of `queue` is free and has room for its next flit.
fn has_channel(partition: &Partition, queue: &Queue, size: u32) -> bool {
    let output = &partition.tables.outputs[queue.output];
    let first = output.vc + u32::from(queue.vc);
    let channel = |vc: u32| &partition.tables.channels[first + vc];
    let free = |vc: u32| partition.owner(first + vc) == NONE && partition.reusable(first + vc, output.class);
    match queue.vcs {
        0 => channel(0).credits >= size as i32,
        // In a stage of its own the channel alone is asked for, whatever its credits, unless one without room is taken.
        vcs if partition.vc_allocator.is_some() && !partition.setup.settings.choices.full_is_taken => {
            (0..u32::from(vcs)).any(free)
        }
        vcs => {
            let whole = partition.setup.settings.choices.packet_needs_room;
            let size = if whole { partition.packets[queue.first].size.into() } else { size };
            (0..u32::from(vcs)).any(|vc| channel(vc).credits >= size as i32 && free(vc))
        }
    }
}

fn could_move(partition: &Partition, queue: &Queue, size: u32) -> bool {
    let busy = partition.output_path_busy(queue.output, partition.inputs[queue.port].number);
    let free = busy <= partition.now && !no_room(partition, queue.output, size);
    let asks = queue.vcs != 0 && partition.vc_allocator.is_some();
    has_channel(partition, queue, size) && (free || asks)
}
