//! Everything that is on its way: the events that have been filed and not handled.

use crate::engine::{NONE, Tick};
use crate::fabric::input_queued::partition::Partition;
use crate::fabric::input_queued::state::kind::{self, ROOM, unpack_credit};
use crate::packet::Packet;
use std::collections::HashMap;

/// A flit or a notice on its way to a queue.
#[derive(Debug, Clone, Copy)]
pub(super) enum Coming {
    /// The head of a packet.
    Head(Packet),
    /// Another flit.
    Flit,
    /// The notice that no more of a packet comes.
    End,
}

/// The events of one partition that have been filed, in its wheel or its mail, and not handled.
#[derive(Default)]
pub(super) struct Pending {
    /// The flits and notices on their way to each queue, with their ticks.
    pub(super) arrivals: HashMap<u32, Vec<(Tick, Coming)>>,
    /// Phits of credit on their way to each channel.
    pub(super) credits: HashMap<u32, u64>,
    /// Phits of room in the output buffer of each channel that is about to be free, where packets wait there for
    /// credits.
    pub(super) rooms: HashMap<u32, u64>,
    /// Phits of packets that wait there.
    pub(super) lined: u64,
    /// Phits that are leaving each queue, where pauses make queues count them.
    pub(super) leaving: HashMap<u32, u64>,
    /// Ticks in which credits come to each sender, an output port or an endpoint.
    pub(super) credit_times: HashMap<u32, Vec<Tick>>,
    /// Packets in the arena that are on their way to a queue or an endpoint.
    pub(super) travelling: Vec<u32>,
    /// Phits of packets that have left the network and are not yet delivered or counted as lost.
    pub(super) delivering: u64,
    /// The packets among them that will be delivered.
    pub(super) ejected: Vec<u32>,
    /// Ticks of all other events, by kind and target.
    pub(super) wakes: HashMap<(u32, u32), Vec<Tick>>,
}

impl Pending {
    pub(super) fn of(partition: &Partition) -> Self {
        let mut pending = Self::default();
        partition.post.for_each(partition.now, |at, list, event| {
            let (what, target) = kind::of_listed(list, event);
            match what {
                kind::ARRIVAL => {
                    let coming = match event.data {
                        NONE => Coming::Flit,
                        packet => Coming::Head(partition.packets[packet]),
                    };
                    if event.data != NONE {
                        pending.travelling.push(event.data);
                    }
                    pending.arrivals.entry(target).or_default().push((at, coming));
                }
                kind::CUT => pending.arrivals.entry(target).or_default().push((at, Coming::End)),
                kind::CREDIT if target >= senders(partition) => {
                    let (lane, phits) = unpack_credit(event.data);
                    let queue = partition.inputs[target - senders(partition)].queues + lane;
                    *pending.leaving.entry(queue).or_default() += phits as u64;
                }
                kind::CREDIT if event.data & ROOM != 0 => {
                    let (channel, phits) = credited(partition, target, event.data & !ROOM);
                    *pending.rooms.entry(channel).or_default() += phits;
                    pending.wakes.entry((what, channel)).or_default().push(at);
                }
                kind::CREDIT => {
                    let (channel, phits) = credited(partition, target, event.data);
                    *pending.credits.entry(channel).or_default() += phits;
                    pending.credit_times.entry(target).or_default().push(at);
                    pending.wakes.entry((what, channel)).or_default().push(at);
                }
                kind::DELIVERY | kind::LOSS => {
                    pending.travelling.push(target);
                    pending.ejected.extend((what == kind::DELIVERY).then_some(target));
                    pending.delivering += u64::from(partition.packets[target].size);
                }
                _ => pending.wakes.entry((what, target)).or_default().push(at),
            }
        });
        pending
    }

    pub(super) fn wakes_at(&self, kind: u32, target: u32, at: Tick) -> bool {
        self.wakes.get(&(kind, target)).is_some_and(|ticks| ticks.iter().any(|&tick| tick <= at))
    }

    pub(super) fn wakes_ever(&self, kind: u32, target: u32) -> bool {
        self.wakes.contains_key(&(kind, target))
    }
}

/// Outputs and endpoints of `partition`.
fn senders(partition: &Partition) -> u32 {
    (partition.tables.outputs.len() + partition.endpoints.len()) as u32
}

/// The channel and the phits of a credit.
pub(super) fn credited(sender: &Partition, target: u32, data: u32) -> (u32, u64) {
    let (vc, phits) = unpack_credit(data);
    let ports = sender.tables.outputs.len() as u32;
    let first =
        if target < ports { sender.tables.outputs[target].vc } else { sender.endpoints[target - ports].channel };
    (first + vc, phits as u64)
}
