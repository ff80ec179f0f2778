//! Conservation laws: what must hold of the state of a network between any two ticks, whatever has happened before.
//!
//! An audit looks at everything and changes nothing. It is for tests: it costs far more than the ticks between two
//! audits.

mod awake;
mod buffers;
mod exchange;
mod managed;
mod pending;
mod ports;
mod waiting;

use crate::fabric::input_queued::partition::Partition;

use crate::engine::NONE;
use crate::engine::parallel::Inboxes;
use crate::fabric::input_queued::endpoints::admittance::Admittances;
use crate::fabric::input_queued::endpoints::throttle::Throttle;
use crate::fabric::input_queued::post::mail::{Mail, Slice, Timed};
use crate::fabric::input_queued::state::kind;
use crate::packet::Packet;
use awake::awake;
use buffers::{buffers, channels, packets};
use exchange::{answered, kept};
use managed::{agreement, managed};
use pending::{Coming, Pending, credited};
use ports::{ejections, outputs, turns};

/// Checks a network between two ticks, and says what is wrong first:
///
/// * of every virtual channel's buffer, the sender's credits, the phits on the link, the phits in the queue and the
///   credits on their way back add up to its size, and no part is negative;
/// * phits injected are phits delivered, in queues, on links or being ejected, or they have been lost; those of packets
///   that are sent again are injected again;
/// * queues are consistent lists, every packet of the arena is in exactly one place, flits of two packets never mix in
///   a virtual channel;
/// * of packets of which a part is lost the rest is thrown away, and counted once;
/// * a virtual channel is held by the one queue whose packet is in it, until the packet's tail has been granted;
/// * output buffers hold what was put into them and no more than they can, and endpoints no more than they have room
///   for;
/// * credits that wait for their turn come one in a cycle;
/// * every request that has no reply yet is in the network, at its destination, or its reply is; an endpoint has no
///   more of them than it may have, and has room for those that it keeps;
/// * what a congestion control counts for each output stands in the queues of its router;
/// * what a managed queue organisation keeps agrees with the queues, and at both ends of a link if no message is on its
///   way;
/// * whoever could move is awake or about to be woken.
///
/// `inboxes` is what is on its way between `partitions`, and `held_packets` are all packets of the network.
pub(crate) fn audit(partitions: &[Partition], inboxes: &Inboxes<Mail>, held_packets: u64) -> Result<(), String> {
    let mut pending: Vec<Pending> = partitions.iter().map(Pending::of).collect();
    let mut post = |to: usize, slice: &Slice| {
        let pending = &mut pending[to];
        slice.for_each_packet(partitions[to].setup.settings.size as u16, |packet| {
            pending.arrivals.entry(packet.next).or_default().push((packet.entry, Coming::Head(packet)));
        });
        for Timed { at, event } in slice.events.iter() {
            let (what, target) = kind::of_mail(*event);
            match what {
                kind::ARRIVAL => pending.arrivals.entry(target).or_default().push((*at, Coming::Flit)),
                kind::CUT => pending.arrivals.entry(target).or_default().push((*at, Coming::End)),
                kind::MARK => {}
                _ => {
                    let (channel, phits) = credited(&partitions[to], target, event.data);
                    *pending.credits.entry(channel).or_default() += phits;
                    pending.credit_times.entry(target).or_default().push(*at);
                    pending.wakes.entry((what, channel)).or_default().push(*at);
                }
            }
        }
    };
    inboxes.for_each(|to, mail| mail.slices.iter().for_each(|slice| post(to, slice)));
    for (to, partition) in partitions.iter().enumerate() {
        partition.post.coming().for_each(|slice| post(to, slice));
    }
    for partition in partitions {
        waiting::add(partition, &mut pending);
        waiting::for_credits(partition, &mut pending[partition.setup.index as usize])?;
    }
    let (mut injected, mut delivered, mut held, mut discarded) = (0, 0, 0, 0);
    for partition in partitions {
        let pending_here = &pending[partition.setup.index as usize];
        injected += partition.endpoints.iter().map(|e| e.phits).sum::<u64>();
        let counters = &partition.collector.counters;
        delivered += counters.flow.phits
            + counters.congestion.arrived_phits
            + counters.packets.lost_phits
            + counters.packets.repeated_phits;
        let again = partition.repeats.iter().flat_map(|repeats| repeats.all());
        held += again.map(|again| u64::from(again.size)).sum::<u64>();
        held += partition.sending.admittances().map_or(0, Admittances::phits_again);
        discarded += partition.severed.discarded();
        held += pending_here.delivering + pending_here.lined;
        held += buffers(partitions, &pending, partition)?;
        packets(partition, pending_here)?;
        channels(partition)?;
        outputs(partition)?;
        ejections(partition, pending_here)?;
        turns(partition, pending_here)?;
        kept(partition, pending_here)?;
        managed(partition)?;
        backlogs(partition)?;
        awake(partition, pending_here)?;
    }
    inboxes.for_each(|_, mail| held += mail.again.iter().map(|again| u64::from(again.size)).sum::<u64>());
    answered(partitions, inboxes, held_packets)?;
    let mut on_the_way = partitions.iter().any(|partition| partition.signals.has_messages());
    inboxes.for_each(|_, mail| on_the_way |= !mail.messages.is_empty());
    if !on_the_way {
        agreement(partitions)?;
    }
    match injected as i64 == (delivered + held) as i64 + discarded {
        true => Ok(()),
        false => Err(format!(
            "{injected} phits injected, but {delivered} delivered, {held} held and {discarded} thrown away"
        )),
    }
}

/// The backlogs of a congestion control are the phits in the queues.
fn backlogs(partition: &Partition) -> Result<(), String> {
    let Some(backlogs) = partition.sending.throttle().map(Throttle::backlogs) else { return Ok(()) };
    for (index, queue) in (0..).zip(partition.queues.iter()) {
        let (config, mut packet) = (&*partition.setup.config, queue.first);
        let mut phits = 0;
        while packet != NONE {
            let Packet { size, flits, next, .. } = partition.packets[packet];
            let is_last = packet == queue.last;
            phits += config.phits_of(size, if is_last { partition.progress(index).arrived } else { flits });
            packet = if is_last { NONE } else { next };
        }
        if queue.first != NONE {
            phits -= config.phits_of(partition.packets[queue.first].size, partition.sent_flits(index));
        }
        let counted = backlogs.in_queue(index);
        if phits != counted {
            return Err(format!("{}: {phits} phits, counted as {counted}", name(partition, index)));
        }
    }
    match backlogs.is_consistent() {
        true => Ok(()),
        false => Err(format!("the backlogs of outputs are not those of their queues at tick {}", partition.now)),
    }
}

/// The name of a queue for people.
fn name(partition: &Partition, queue: u32) -> String {
    let input = &partition.inputs[partition.queues[queue].port];
    let router = partition.setup.routers.number(input.router);
    format!("queue {} of input {} of router {router} at tick {}", queue - input.queues, input.number, partition.now)
}
