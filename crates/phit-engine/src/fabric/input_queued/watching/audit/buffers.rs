//! Queues, their buffers and virtual channels: credits, phits and packets add up.

use super::name;
use super::pending::{Coming, Pending, credited};
use crate::engine::NONE;
use crate::fabric::input_queued::partition::Partition;
use crate::fabric::input_queued::state::pauses::OPEN;
use crate::fabric::input_queued::state::records::{BROKEN, Input, Queue, SINK, TAIL_PENDING};
use crate::packet::Packet;
use std::collections::HashSet;

/// The first of the channels by which `sender` sends into `input`.
fn sending_channel(sender: &Partition, input: &Input) -> u32 {
    credited(sender, input.upstream, 0).0
}

/// The packets of a queue in order, or an error if its list is broken.
pub(super) fn members(partition: &Partition, queue: &Queue) -> Result<Vec<u32>, String> {
    let mut list = Vec::new();
    if queue.first == NONE {
        return match queue.last {
            NONE => Ok(list),
            last => Err(format!("is empty but ends with packet {last}")),
        };
    }
    let mut at = queue.first;
    loop {
        list.push(at);
        if at == queue.last {
            return Ok(list);
        }
        if list.len() > partition.packets.live() as usize {
            return Err("goes round in a circle".into());
        }
        at = partition.packets[at].next;
    }
}

/// The phits in a queue, and the phits on their way to it.
struct Load {
    /// Phits in the queue.
    inside: u64,
    /// Phits on the link before it.
    coming: u64,
    /// Flits sent so far of the last packet on the link or in the queue, if some are still to be sent upstream.
    unfinished: Option<u16>,
}

impl Load {
    fn of(partition: &Partition, pending: &Pending, index: u32, packets: &[u32]) -> Result<Self, String> {
        let config = &*partition.setup.config;
        let last_arrived = partition.progress(index).arrived;
        let mut inside = 0;
        for (place, &packet) in packets.iter().enumerate() {
            let packet = &partition.packets[packet];
            let arrived = if place + 1 == packets.len() { last_arrived } else { packet.flits };
            let sent = if place == 0 { partition.sent_flits(index) } else { 0 };
            if arrived == 0 || arrived > packet.flits || sent > arrived || sent >= packet.flits {
                return Err(format!("holds a packet of {} flits: {arrived} arrived, {sent} sent", packet.flits));
            }
            inside += u64::from(config.phits_of(packet.size, arrived) - config.phits_of(packet.size, sent));
        }
        let mut last = match partition.management.sorted(index) {
            None => packets.last().map(|&packet| (partition.packets[packet], last_arrived)),
            // The latest flits that entered here stand in another queue, or have gone on already.
            Some(NONE) => None,
            Some(queue) => {
                let last = partition.queues[queue].last;
                let arrived = partition.progress(queue).arrived;
                (last != NONE).then(|| (partition.packets[last], arrived))
            }
        };
        let entered = partition.management.sorted(index).unwrap_or(index);
        let dropped = partition.sending.reserving().and_then(|reserving| reserving.expiring().swallows(entered));
        if let Some((size, flits, come)) = dropped {
            // The rest of a dropped packet still comes.
            last = Some((Packet { size, flits, ..Packet::new(0, 0) }, come));
        }
        let mut coming = 0;
        let mut arrivals = pending.arrivals.get(&index).cloned().unwrap_or_default();
        arrivals.sort_by_key(|(at, coming)| (*at, matches!(coming, Coming::End)));
        for (_, coming_next) in arrivals {
            let (packet, flit) = match (coming_next, last) {
                (Coming::Head(_), Some((packet, count))) if count < packet.flits => {
                    return Err(format!("gets a head between flits {count} and {} of another packet", packet.flits));
                }
                (Coming::Head(packet), _) => (packet, 0),
                (Coming::Flit, Some((packet, count))) if count < packet.flits => (packet, count),
                (Coming::Flit, _) => return Err("gets a flit without a head".into()),
                (Coming::End, Some((packet, count))) if count < packet.flits => {
                    last = None;
                    continue;
                }
                (Coming::End, _) => return Err("hears that no more comes, of nothing".into()),
            };
            coming += u64::from(config.flit_phits(packet.size, flit));
            last = Some((packet, flit + 1));
        }
        let unfinished = last.and_then(|(packet, count)| (count < packet.flits).then_some(count));
        Ok(Self { inside, coming, unfinished })
    }
}

/// Checks queues against their senders' credits. Returns the phits in queues and on links, and the ejected phits of
/// packets that are not delivered yet.
pub(super) fn buffers(partitions: &[Partition], pending: &[Pending], here: &Partition) -> Result<u64, String> {
    let config = &*here.setup.config;
    let mut held = 0;
    for input in here.inputs.iter() {
        let capacity = i64::from(config.links[input.class as usize].buffer);
        let division = config.buffers.division;
        // Phits in the queues that share a buffer with the one at hand and come after it.
        let mut others = 0;
        for lane in (0..u32::from(input.count)).rev() {
            let index = input.queues + lane;
            let queue = &here.queues[index];
            let wrong = |what: String| format!("{}: {what}", name(here, index));
            let packets = members(here, queue).map_err(wrong)?;
            let sorted = here.setup.settings.sorts && queue.first != NONE && queue.output != NONE;
            if sorted && (!here.setup.settings.reserves || here.is_sorted(queue.first)) {
                let first = here.tables.first_port[input.router];
                if queue.output - first != lane % division.queues {
                    return Err(wrong(format!("was sorted for another output than {}", queue.output - first)));
                }
            }
            let load = Load::of(here, &pending[here.setup.index as usize], index, &packets).map_err(wrong)?;
            held += load.inside + load.coming;
            let gone = here.sent_flits(index);
            if gone > 0 && !here.severed.drains(index) && here.tables.outputs[queue.output].far_partition == SINK {
                held += u64::from(config.phits_of(here.packets[queue.first].size, gone));
            }
            if input.upstream == NONE {
                continue;
            }
            let sender = &partitions[input.upstream_partition as usize];
            // Flits lost on a broken link keep their credits.
            if sender.tables.outputs.get(input.upstream as usize).is_some_and(|output| output.far_partition == BROKEN) {
                continue;
            }
            let channel = sending_channel(sender, input) + lane;
            let vc = &sender.tables.channels[channel];
            let back = pending[input.upstream_partition as usize].credits.get(&channel).copied().unwrap_or(0);
            let lane_credits = match &sender.tables.lines {
                Some(lines) if input.class > 0 => lines.credits(input.upstream, lane),
                _ => vc.credits,
            };
            let sum = i64::from(lane_credits) + (load.coming + load.inside + others + back) as i64;
            if division.shared && lane % division.queues > 0 {
                if load.coming > 0 || vc.credits != 0 || back > 0 {
                    return Err(wrong("packets come into a queue that others share their room with".into()));
                }
                others += load.inside;
                continue;
            }
            others = 0;
            if let Some(pauses) = here.signals.pauses() {
                let leaving = pending[here.setup.index as usize].leaving.get(&index).copied().unwrap_or(0);
                let (counted, there) = (u64::from(pauses.held(index)), load.inside + leaving);
                if counted != there || counted as i64 > capacity {
                    return Err(wrong(format!("{there} phits, counted as {counted}, in a buffer of {capacity}")));
                }
                let is_paused = sender.signals.pauses().is_some_and(|it| it.paused(input.upstream) & 1 << lane != 0);
                if vc.credits != if is_paused { 0 } else { OPEN } {
                    return Err(wrong(format!("its sender has {} credits; paused: {is_paused}", vc.credits)));
                }
            } else if let Some(pools) = &sender.pools {
                let (held, out) = (i64::from(pools.held(channel)), load.coming + load.inside + back);
                if held != out as i64 {
                    return Err(wrong(format!("{held} phits are charged to its sender, but {out} are out")));
                }
                pools.audit(input.upstream, &sender.tables.channels).map_err(wrong)?;
            } else if lane_credits < 0 || sum != capacity {
                return Err(wrong(format!(
                    "{} credits, {} phits coming, {} in the queue (and what shares its room), {back} phits of credit \
                     on their way back: not {capacity}",
                    lane_credits, load.coming, load.inside
                )));
            }
            let sender_sent = if input.class == 0 {
                let e = input.upstream - sender.tables.outputs.len() as u32;
                let endpoint = &sender.endpoints[e];
                sender.sending.unfinished(e, endpoint, lane)
            } else {
                let owner = sender.owner(channel);
                let sent = (owner != NONE).then(|| sender.sent_flits(owner));
                sent.filter(|&flits| flits > 0)
            };
            if load.unfinished != sender_sent {
                return Err(wrong(format!("{:?} flits came, but {sender_sent:?} were sent", load.unfinished)));
            }
        }
    }
    Ok(held)
}

/// Every packet of the arena is in a queue or on its way to a queue or an endpoint.
pub(super) fn packets(partition: &Partition, pending: &Pending) -> Result<(), String> {
    // A packet that has lost a part may stand in several places.
    let parted = |packet: u32| partition.severed.has_parts(packet);
    let mut seen: HashSet<u32> = HashSet::new();
    let travels_twice = pending.travelling.iter().any(|&packet| !seen.insert(packet) && !parted(packet));
    let mut twice = travels_twice.then_some("travels twice");
    for (index, queue) in partition.queues.iter().enumerate() {
        for (place, packet) in members(partition, queue)?.into_iter().enumerate() {
            // Under wormhole switching the front packet may have its head elsewhere in the same partition.
            let straddles = place == 0 && partition.sent_flits(index as u32) > 0;
            if !seen.insert(packet) && !straddles && !parted(packet) && !tail_behind(partition, packet, index as u32) {
                twice = Some("stands in two queues");
            }
        }
    }
    if let Some(reserving) = partition.sending.reserving() {
        seen.extend(reserving.expiring().dropped());
    }
    if let Some(what) = twice {
        return Err(format!("a packet {what} at tick {}", partition.now));
    }
    match seen.len() == partition.packets.live() as usize {
        true => Ok(()),
        false => Err(format!(
            "{} packets in the arena at tick {}, but {} in queues and on links",
            partition.packets.live(),
            partition.now,
            seen.len()
        )),
    }
}

/// True if some other queue is still sending `packet`, which stands in queue `index`.
fn tail_behind(partition: &Partition, packet: u32, index: u32) -> bool {
    let sending = |at: u32| at != index && partition.queues[at].first == packet && partition.sent_flits(at) > 0;
    (0..partition.queues.len() as u32).any(sending)
}

/// Every held channel is used by the packet at the front of its holder, and every packet under way holds its channel.
pub(super) fn channels(partition: &Partition) -> Result<(), String> {
    let count = partition.tables.outputs.iter().map(|output| output.vcs as usize).sum::<usize>();
    for index in 0..count {
        let owner = partition.owner(index as u32);
        if owner == NONE {
            continue;
        }
        let queue = &partition.queues[owner];
        let wrong = |what: &str| Err(format!("{} holds a channel {what}", name(partition, owner)));
        let sent = partition.progress(owner).sent;
        if queue.first == NONE || sent == TAIL_PENDING || queue.output == NONE || queue.vcs != 0 {
            return wrong("without a packet for it");
        }
        if partition.tables.outputs[queue.output].vc as usize + queue.vc as usize != index {
            return wrong("that it does not use");
        }
    }
    for (index, queue) in partition.queues.iter().enumerate() {
        let multi = queue.first != NONE
            && (partition.packets[queue.first].flits > 1 || partition.vc_allocator.is_some())
            && partition.progress(index as u32).sent != TAIL_PENDING;
        if multi && queue.output != NONE && queue.vcs == 0 && !partition.severed.drains(index as u32) {
            let channel = partition.tables.outputs[queue.output].vc + u32::from(queue.vc);
            if partition.owner(channel) != index as u32 {
                return Err(format!("{} sends into a channel that it does not hold", name(partition, index as u32)));
            }
        }
    }
    Ok(())
}
