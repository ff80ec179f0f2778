//! The packets that wait for one another, when nothing moves any more.

use crate::engine::{NONE, Team, Tick};
use crate::fabric::input_queued::partition::Partition;
use crate::fabric::input_queued::state::records::{BROKEN, Progress, Queue, TAIL_PENDING};
use crate::topology::Words;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet};

/// A queue whose first packet cannot move, and the channels that it waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Waiting {
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

impl Waiting {
    /// The waiting packet, its place and its channels, in words.
    pub(crate) fn said(&self, words: Words<'_>) -> String {
        let &Self { router, port, queue, source, destination, birth, output, vc, vcs } = self;
        let (input, output) = (words.port_alone(router, port), words.port_alone(router, output));
        let lanes = match vcs {
            1 => format!("VC {vc}"),
            count => format!("VCs {vc} to {}", vc + count - 1),
        };
        let to = words.endpoint_again(destination);
        format!(
            "the packet from {} to {to} generated at tick {birth}, in queue {queue} of input {input} of {}, waits for \
             {lanes} of output {output}",
            words.endpoint(source),
            words.router(router)
        )
    }
}

/// A queue by partition and index.
type Place = (u32, u32);

/// The queues that keep the front of another queue waiting: one of them must move before it can. A flag says whether
/// the other queue must hold a packet: if it is empty, the room is on its way back.
type Waits = Vec<(Place, bool)>;

/// The knowledge of one process: queues that wait, and queues that hold packets.
type Known = (Vec<(Place, Waits)>, Vec<Place>);

/// The values of all processes that run the network; `own` alone if there is no team.
fn each<T: Serialize + DeserializeOwned>(team: Option<&Team>, own: T) -> Vec<T> {
    match team {
        None => vec![own],
        Some(team) => team.each(own),
    }
}

/// Queues that wait for one another in a cycle and can never move again. Each waits for virtual channels that have no
/// room before the next queue has moved, and the last queue waits for the first. `None` if there is no such cycle.
///
/// `partitions` are this process's own; `team` has all processes that run the network, if there are several.
pub(crate) fn find_cycle(partitions: &[Partition], team: Option<&Team>) -> Option<Vec<Waiting>> {
    let mut own: Known = Default::default();
    for partition in partitions {
        for queue in 0..partition.queues.len() as u32 {
            own.0.extend(waits_for(partition, queue).map(|waits| ((partition.setup.index, queue), waits)));
            if partition.queues[queue].first != NONE {
                own.1.push((partition.setup.index, queue));
            }
        }
    }
    let known = each(team, own);
    let held: HashSet<Place> = known.iter().flat_map(|(_, held)| held.iter().copied()).collect();
    let waiting = known.into_iter().flat_map(|(waits, _)| waits);
    let mut waits: HashMap<Place, Vec<Place>> = waiting
        .filter(|(_, waits)| waits.iter().all(|(other, holds)| !holds || held.contains(other)))
        .map(|(place, waits)| (place, waits.into_iter().map(|(other, _)| other).collect()))
        .collect();
    // A queue that waits for one that may move may move itself. The remaining queues wait for ever.
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
            let circle = path[start..].iter().enumerate();
            let own = circle.filter_map(|(turn, &place)| Some((turn, describe(partitions, place)?)));
            let mut all: Vec<(usize, Waiting)> = each(team, own.collect::<Vec<_>>()).into_iter().flatten().collect();
            all.sort_by_key(|(turn, _)| *turn);
            return Some(all.into_iter().map(|(_, waiting)| waiting).collect());
        }
        path.push(at);
        at = *waits.get(&at)?.first()?;
    }
}

/// The queues that the front of `queue` waits for; `None` if it need not wait for another queue.
fn waits_for(partition: &Partition, queue: u32) -> Option<Waits> {
    let q = &partition.queues[queue];
    // A queue that a manager holds back waits for a notification.
    let held = partition.management.may_hold(queue);
    let Progress { arrived, sent, .. } = partition.progress(queue);
    if q.first == NONE || sent == TAIL_PENDING || q.output == NONE || held {
        return None;
    }
    let packet = &partition.packets[q.first];
    let available = if q.first == q.last { arrived } else { packet.flits };
    if sent >= available {
        return None;
    }
    let size = partition.setup.config.flit_phits(packet.size, sent);
    let output = &partition.tables.outputs[q.output];
    let far = |vc: u32| (output.far_partition < BROKEN).then(|| (output.far_partition, output.far_queue + vc));
    let mut waits = Waits::new();
    for vc in u32::from(q.vc)..u32::from(q.vc + q.vcs.max(1)) {
        match obstacle(partition, q, vc, size)? {
            NONE => waits.push((far(vc)?, true)),
            owner => waits.push(((partition.setup.index, owner), false)),
        }
    }
    Some(waits)
}

/// The obstacle between a flit of `size` phits at the front of `q` and channel `vc` of its chosen output. It is the
/// queue that holds the channel, or `NONE` if the buffer beyond the channel has no room. `None` if there is no
/// obstacle.
pub(crate) fn obstacle(partition: &Partition, q: &Queue, vc: u32, size: u32) -> Option<u32> {
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

/// The packet that waits at a place, if the place is in one of these partitions.
fn describe(partitions: &[Partition], (partition, queue): Place) -> Option<Waiting> {
    let partition = partitions.iter().find(|own| own.setup.index == partition)?;
    let q = &partition.queues[queue];
    let input = &partition.inputs[q.port];
    let packet = &partition.packets[q.first];
    Some(Waiting {
        router: partition.setup.routers.number(input.router),
        port: input.number,
        queue: (queue - input.queues) as u16,
        source: packet.source,
        destination: packet.destination,
        birth: packet.birth,
        output: partition.inputs[q.output].number,
        vc: q.vc,
        vcs: q.vcs.max(1),
    })
}
