//! Who waits for whom, when nothing moves any more.

use super::state::{BROKEN, Progress, Queue, TAIL_PENDING};
use super::{InputQueued, Partition};
use crate::engine::{NONE, Tick};
use std::collections::HashMap;
use std::fmt;

/// A queue whose first packet cannot move, and what it waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Waiting {
    /// Router.
    pub router: u32,
    /// Input port.
    pub port: u16,
    /// Queue of that port.
    pub queue: u16,
    /// Source endpoint of the packet.
    pub source: u32,
    /// Destination endpoint of the packet.
    pub destination: u32,
    /// Tick at which the packet was generated.
    pub birth: Tick,
    /// Output port that it waits for.
    pub output: u16,
    /// First of the virtual channels that it waits for.
    pub vc: u16,
    /// Number of these virtual channels.
    pub vcs: u16,
}

impl fmt::Display for Waiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { router, port, queue, source, destination, birth, output, vc, .. } = self;
        write!(
            f,
            "the packet from endpoint {source} to {destination} generated at tick {birth}, in queue {queue} of input \
             {port} of router {router}, waits for "
        )?;
        match self.vcs {
            1 => write!(f, "VC {vc} of output {output}"),
            count => write!(f, "VCs {vc} to {} of output {output}", vc + count - 1),
        }
    }
}

/// A queue by partition and index.
type Place = (u32, u32);

/// Queues that wait for one another in a circle and can never move again: each waits for virtual channels of which none
/// has room before the next of them has moved, and the last waits for the first. `None` if there is no such circle.
pub(super) fn find_cycle(network: &InputQueued) -> Option<Vec<Waiting>> {
    let (partitions, _) = network.parts();
    let mut waits: HashMap<Place, Vec<Place>> = HashMap::new();
    for partition in partitions {
        for queue in 0..partition.queues.len() as u32 {
            if let Some(others) = waits_for(partitions, partition, queue) {
                waits.insert((partition.index, queue), others);
            }
        }
    }
    // Whoever waits for one that may move may move: what is left waits for ever.
    loop {
        let free: Vec<Place> = waits
            .iter()
            .filter(|(_, others)| others.iter().any(|other| !waits.contains_key(other)))
            .map(|(place, _)| *place)
            .collect();
        if free.is_empty() {
            break;
        }
        free.iter().for_each(|place| {
            waits.remove(place);
        });
    }
    let mut at = *waits.keys().min()?;
    let mut path: Vec<Place> = Vec::new();
    loop {
        if let Some(start) = path.iter().position(|place| *place == at) {
            return Some(path[start..].iter().map(|&place| describe(partitions, place)).collect());
        }
        path.push(at);
        at = *waits.get(&at)?.first()?;
    }
}

/// The queues any of which must move before the front of `queue` can; `None` if it need not wait for another queue.
fn waits_for(partitions: &[Partition], partition: &Partition, queue: u32) -> Option<Vec<Place>> {
    let q = &partition.queues[queue];
    // What a manager holds back waits for a notification.
    let held = partition.held.get(queue as usize) == Some(&true);
    let Progress { arrived, sent, .. } = partition.progress(queue);
    if q.first == NONE || sent == TAIL_PENDING || q.output == NONE || held {
        return None;
    }
    let packet = &partition.packets[q.first];
    let available = if q.first == q.last { arrived } else { packet.flits };
    if sent >= available {
        return None;
    }
    let size = partition.config.flit_phits(packet.size, sent);
    let output = &partition.tables.outputs[q.output];
    let far = |vc: u32| (output.far_partition < BROKEN).then(|| (output.far_partition, output.far_queue + vc));
    let mut others = Vec::new();
    for vc in u32::from(q.vc)..u32::from(q.vc + q.vcs.max(1)) {
        match obstacle(partition, q, vc, size)? {
            NONE => {
                let (there, far) = far(vc)?;
                // Without a packet there, the room is on its way back.
                if partitions[there as usize].queues[far].first == NONE {
                    return None;
                }
                others.push((there, far));
            }
            owner => others.push((partition.index, owner)),
        }
    }
    Some(others)
}

/// What keeps a flit of `size` phits at the front of `q` from channel `vc` of the output chosen for it: the queue that
/// holds the channel, `NONE` if the buffer beyond it has no room; `None` if nothing does.
pub(super) fn obstacle(partition: &Partition, q: &Queue, vc: u32, size: u32) -> Option<u32> {
    let output = &partition.tables.outputs[q.output];
    let channel = output.vc + vc;
    let (owner, held) = (partition.owner(channel), q.vcs == 0);
    if owner != NONE && !held {
        return Some(owner);
    }
    let room = partition.tables.channels[channel].credits >= size as i32;
    let full = !room || !held && !partition.reusable(channel, output.class);
    full.then_some(NONE)
}

fn describe(partitions: &[Partition], (partition, queue): Place) -> Waiting {
    let partition = &partitions[partition as usize];
    let q = &partition.queues[queue];
    let input = &partition.inputs[q.port];
    let packet = &partition.packets[q.first];
    Waiting {
        router: partition.routers.number(input.router),
        port: input.number,
        queue: (queue - input.queues) as u16,
        source: packet.source,
        destination: packet.destination,
        birth: packet.birth,
        output: partition.inputs[q.output].number,
        vc: q.vc,
        vcs: q.vcs.max(1),
    }
}
