//! The watchdog: finds out that nothing moves any more, and who waits for whom.

use crate::engine::{NONE, Tick};
use crate::fabric::input_queued::Partition;
use crate::fabric::input_queued::state::BROKEN;
use crate::fabric::input_queued::state::TAIL_PENDING;
use crate::fabric::packet_node::Network;
use crate::run::Simulation;
use std::collections::HashMap;
use std::fmt;

/// A queue whose first packet cannot move, and what it waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
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
            "the packet from endpoint {source} to {destination} generated at tick {birth}, in queue {queue} of input {port} \
             of router {router}, waits for "
        )?;
        match self.vcs {
            1 => write!(f, "VC {vc} of output {output}"),
            count => write!(f, "VCs {vc} to {} of output {output}", vc + count - 1),
        }
    }
}

/// A queue by partition and index.
type Place = (u32, u32);

/// Queues that wait for one another in a circle and can never move again: each waits for virtual channels of which none has
/// room before the next of them has moved, and the last waits for the first. `None` if there is no such circle.
pub fn find_cycle(simulation: &Simulation) -> Option<Vec<Waiting>> {
    let (partitions, _) = simulation.parts();
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
    if q.first == NONE || q.sent == TAIL_PENDING || q.output == NONE || held {
        return None;
    }
    let packet = &partition.packets[q.first];
    let available = if q.first == q.last { q.arrived } else { packet.flits };
    if q.sent >= available {
        return None;
    }
    let size = partition.config.flit_phits(packet.size, q.sent);
    let output = &partition.outputs[q.output];
    let held = q.vcs == 0;
    let far = |vc: u32| (output.far_partition < BROKEN).then(|| (output.far_partition, output.far_queue + vc));
    let mut others = Vec::new();
    for vc in u32::from(q.vc)..u32::from(q.vc + q.vcs.max(1)) {
        let channel = &partition.channels[output.vc + vc];
        let owner = partition.owner(output.vc + vc);
        if owner != NONE && !held {
            others.push((partition.index, owner));
        } else if channel.credits < size as i32 {
            let (there, far) = far(vc)?;
            // Without a packet there, the room is on its way back.
            if partitions[there as usize].queues[far].first == NONE {
                return None;
            }
            others.push((there, far));
        } else {
            return None;
        }
    }
    Some(others)
}

fn describe(partitions: &[Partition], (partition, queue): Place) -> Waiting {
    let partition = &partitions[partition as usize];
    let q = &partition.queues[queue];
    let input = &partition.inputs[q.port];
    let packet = &partition.packets[q.first];
    Waiting {
        router: partition.routers.start + input.router,
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

/// What has happened in a network so far; two equal ones have nothing between them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Progress {
    injected: u64,
    delivered: u64,
    flit_hops: u64,
}

/// Watches a run at regular ticks.
#[derive(Debug, Clone)]
pub struct Watchdog {
    span: Tick,
    next: Tick,
    last: Progress,
}

impl Watchdog {
    /// A watchdog that looks every `span` ticks from tick `now` on.
    pub fn new(now: Tick, span: Tick) -> Self {
        Self { span, next: now.saturating_add(span), last: Progress::default() }
    }

    /// The tick at which it looks next.
    pub fn next(&self) -> Tick {
        self.next
    }

    /// Looks at a network that has reached [`Self::next`]; says what is wrong if packets are in it and none of their flits
    /// has moved since the last look.
    pub fn look(&mut self, simulation: &Simulation) -> Result<(), String> {
        let (partitions, inboxes) = simulation.parts();
        let mut progress = Progress::default();
        let mut held = 0;
        if let Some(network) = simulation.network() {
            // Refused packets are sent again for ever: what counts is what is taken.
            progress.flit_hops = network.progress();
            held = network.packets_held();
        }
        for partition in partitions {
            progress.injected += partition.endpoints.iter().map(|e| e.phits).sum::<u64>();
            progress.delivered += partition.collector.counters.flow.packets;
            progress.flit_hops += partition.collector.counters.work.flit_hops;
            held += u64::from(partition.packets.live());
        }
        inboxes.for_each(|_, mail| held += mail.packets.len() as u64);
        self.next = self.next.saturating_add(self.span);
        let moved = std::mem::replace(&mut self.last, progress) != progress;
        if moved || held == 0 {
            return Ok(());
        }
        let who = match find_cycle(simulation) {
            None if simulation.network().is_some() => {
                simulation.network().map_or_else(String::new, Network::describe_stop)
            }
            None => "no circle of waiting packets was found".to_owned(),
            Some(cycle) => cycle.iter().map(Waiting::to_string).collect::<Vec<_>>().join("; "),
        };
        Err(format!(
            "deadlock: {held} packets are in the network, and none has moved in the {} ticks before tick {}: {who}",
            self.span,
            simulation.now()
        ))
    }
}
