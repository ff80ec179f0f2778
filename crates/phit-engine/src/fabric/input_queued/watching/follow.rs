//! The places of single packets, tick by tick, and the obstacles that they wait for.
//!
//! A [`Follower`] looks at the network between two ticks and changes nothing: packets move as if nobody looked.

use super::stuck::obstacle;
use crate::engine::{NONE, Tick};
use crate::fabric::input_queued::partition::Partition;
use crate::fabric::input_queued::state::kind;
use crate::fabric::input_queued::state::records::{Progress, Queue, TAIL_PENDING};
use serde::Serialize;
use std::collections::HashMap;

/// The reason why a head stays in its queue during a tick.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// Packets before it in the queue.
    Behind,
    /// The pipeline of the router, or routing that has not chosen an output.
    Routing,
    /// Congestion management holds its queue back.
    Held,
    /// Other packets hold every virtual channel that it may take.
    Channel,
    /// The next buffer has no room for it.
    Credits,
    /// The crossbar: its input or its output serves another queue.
    Switch,
}

impl Wait {
    /// All reasons, with their names in results.
    pub const ALL: [(Self, &str); 6] = [
        (Self::Behind, "behind"),
        (Self::Routing, "routing"),
        (Self::Held, "held"),
        (Self::Channel, "channel"),
        (Self::Credits, "credits"),
        (Self::Switch, "switch"),
    ];

    fn index(self) -> usize {
        self as usize
    }
}

/// A packet at a router. Times are ticks.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Visit {
    /// Router.
    pub router: u32,
    /// Input port by which it came.
    pub input: u16,
    /// Class of the link that leads there.
    pub class: u8,
    /// Queue of that port in which it came.
    pub queue: u16,
    /// Its head entered the queue.
    pub entered: Tick,
    /// Ticks that its head waited there, by [`Wait`]: they add up to the time from `entered` to `left`.
    pub waited: [Tick; Wait::ALL.len()],
    /// Its head was granted the crossbar.
    pub left: Option<Tick>,
    /// Its tail was granted the crossbar.
    pub tail: Option<Tick>,
    /// Output port that it took or is to take, if one has been chosen.
    pub output: Option<u16>,
    /// The virtual channel beyond that port, once it is known.
    pub vc: Option<u16>,
}

/// A packet on its way. Times are ticks.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Journey {
    /// Source endpoint.
    pub source: u32,
    /// Its number among the packets that the source sends, from 0.
    pub number: u32,
    /// Destination endpoint.
    pub destination: u32,
    /// Size in phits.
    pub size: u16,
    /// Size in flits.
    pub flits: u16,
    /// It was generated.
    pub generated: Tick,
    /// The source began to send it.
    pub sent: Tick,
    /// Its tail came to the destination, or it was lost.
    pub end: Option<Tick>,
    /// It was lost over a link that has broken.
    pub lost: bool,
    /// The routers on its way.
    pub visits: Vec<Visit>,
}

/// A packet that has ended its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ended {
    /// Source endpoint.
    pub source: u32,
    /// Its number among the packets of the source.
    pub number: u32,
    /// Tick of generation.
    pub generated: Tick,
    /// The tick in which it came to its destination.
    pub end: Tick,
}

/// The identity of a packet in the arena: it differs from packets that had the place before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Known {
    source: u32,
    destination: u32,
    generated: Tick,
    number: u32,
}

/// Follows packets of a network that is in one partition.
#[derive(Debug, Default)]
pub struct Follower {
    /// The packets of the arena at the last look, by place.
    known: Vec<Option<Known>>,
    /// Packets that endpoints have sent, by endpoint.
    sent: HashMap<u32, u32>,
    /// Packets to follow that have not been sent, by source and number.
    wanted: Vec<(u32, u32)>,
    underway: Vec<Underway>,
    /// Journeys that have ended.
    done: Vec<Journey>,
}

impl Follower {
    /// Follows these packets, by source and number.
    pub fn new(wanted: Vec<(u32, u32)>) -> Self {
        Self { wanted, ..Self::default() }
    }

    /// True if all packets have been followed to their ends.
    pub fn is_done(&self) -> bool {
        self.has_begun() && self.underway.is_empty()
    }

    /// True if all packets have been sent.
    pub fn has_begun(&self) -> bool {
        self.wanted.is_empty()
    }

    /// Packets that `endpoint` has sent.
    pub fn sent_by(&self, endpoint: u32) -> u32 {
        self.sent.get(&endpoint).copied().unwrap_or(0)
    }

    /// All journeys, in the order of generation.
    pub fn finish(self) -> Vec<Journey> {
        let mut found = self.done;
        found.extend(self.underway.into_iter().map(|underway| underway.journey));
        found.sort_by_key(|journey| (journey.generated, journey.source, journey.number));
        found
    }

    /// Looks at a network between two ticks, and returns the packets that have ended their ways since the last look. It
    /// must be called after every tick in which anything happens.
    pub fn look(&mut self, partition: &Partition) -> Vec<Ended> {
        let now = partition.now - 1;
        let mut ended = Vec::new();
        let mut new = Vec::new();
        let live = partition.packets.lives();
        self.known.resize(live.len(), None);
        for (index, (known, live)) in self.known.iter_mut().zip(live).enumerate() {
            let packet = &partition.packets[index as u32];
            let same =
                |k: &Known| (k.source, k.destination, k.generated) == (packet.source, packet.destination, packet.birth);
            if live && known.as_ref().is_some_and(same) {
                continue;
            }
            if let Some(Known { source, number, generated, .. }) = known.take() {
                ended.push(Ended { source, number, generated, end: now });
            }
            if live {
                new.push(index as u32);
            }
        }
        for &Ended { source, number, .. } in &ended {
            let it = |u: &Underway| (u.journey.source, u.journey.number) == (source, number);
            if let Some(place) = self.underway.iter().position(it) {
                let mut one = self.underway.swap_remove(place);
                one.journey.end = Some(now);
                one.journey.lost = !one.leaving;
                self.done.push(one.journey);
            }
        }
        new.sort_by_key(|&index| (partition.packets[index].source, partition.packets[index].birth));
        for index in new {
            let packet = &partition.packets[index];
            let next = self.sent.entry(packet.source).or_default();
            let (source, destination, generated, number) = (packet.source, packet.destination, packet.birth, *next);
            *next += 1;
            self.known[index as usize] = Some(Known { source, destination, generated, number });
            if let Some(place) = self.wanted.iter().position(|wanted| *wanted == (source, number)) {
                self.wanted.swap_remove(place);
                self.underway.push(Underway::new(partition, index, number, now));
            }
        }
        self.underway.iter_mut().for_each(|one| one.update(partition, now));
        ended
    }
}

/// A packet that is being followed.
#[derive(Debug)]
struct Underway {
    index: u32,
    journey: Journey,
    /// Queues in which parts of the packet stand, with their visits.
    standing: Vec<(u32, usize)>,
    /// The queue to which its head is on its way, and the tick of its arrival.
    coming: Option<(u32, Tick)>,
    /// Its tail is on its way to its endpoint.
    leaving: bool,
}

/// The next place of a packet that has left a queue.
enum Onward {
    /// This queue, where it arrives in this tick.
    Queue(u32, Tick),
    /// Its endpoint, in this virtual channel.
    Endpoint(u16),
    /// None: its link has broken.
    Nowhere,
}

impl Underway {
    /// A packet that has appeared in tick `now`.
    fn new(partition: &Partition, index: u32, number: u32, now: Tick) -> Self {
        let packet = &partition.packets[index];
        let journey = Journey {
            source: packet.source,
            number,
            destination: packet.destination,
            size: packet.size,
            flits: packet.flits,
            generated: packet.birth,
            sent: now,
            end: None,
            lost: false,
            visits: Vec::new(),
        };
        let mut new = Self { index, journey, standing: Vec::new(), coming: None, leaving: false };
        if let Some(endpoint) = partition.endpoints.iter().find(|endpoint| endpoint.number == packet.source) {
            let port = partition.queues[endpoint.queues].port;
            match onward(partition, index) {
                Some(Onward::Queue(queue, at)) if partition.queues[queue].port == port => {
                    new.coming = Some((queue, at))
                }
                // The packet may have come to its first queue and left it, all in this tick.
                _ => {
                    let lane = endpoint.queues + u32::from(endpoint.lane);
                    new.enter(partition, find(partition, port, index).unwrap_or(lane), now);
                }
            }
        }
        new
    }

    fn enter(&mut self, partition: &Partition, queue: u32, at: Tick) {
        let input = &partition.inputs[partition.queues[queue].port];
        self.standing.push((queue, self.journey.visits.len()));
        self.journey.visits.push(Visit {
            router: partition.setup.routers.number(input.router),
            input: input.number,
            class: input.class,
            queue: (queue - input.queues) as u16,
            entered: at,
            waited: Default::default(),
            left: None,
            tail: None,
            output: None,
            vc: None,
        });
    }

    /// Notes the moves of the packet in tick `now`.
    fn update(&mut self, partition: &Partition, now: Tick) {
        if let Some((queue, at)) = self.coming.filter(|(_, at)| *at <= now) {
            self.coming = None;
            self.enter(partition, queue, at);
        }
        for (queue, visit) in std::mem::take(&mut self.standing) {
            let (port, newest) = (partition.queues[queue].port, visit + 1 == self.journey.visits.len());
            let seen = &mut self.journey.visits[visit];
            // A queue organisation may have moved the packet to another queue of the port.
            let Some(queue) = find(partition, port, self.index) else {
                seen.tail = Some(now);
                let head = seen.left.is_none();
                seen.left.get_or_insert(now);
                // The head of a packet on its way to an endpoint stands nowhere before the tail has left.
                if head || newest && self.coming.is_none() {
                    self.go_on(partition, visit);
                }
                continue;
            };
            self.standing.push((queue, visit));
            let q = &partition.queues[queue];
            let Progress { sent, .. } = partition.progress(queue);
            let front = q.first == self.index && sent != TAIL_PENDING;
            if front && q.output != NONE {
                seen.output = Some(partition.inputs[q.output].number);
                seen.vc = (q.vcs <= 1).then_some(q.vc);
            }
            if seen.left.is_some() {
                continue;
            }
            if front && sent > 0 {
                seen.left = Some(now);
                self.go_on(partition, visit);
            } else {
                let why = if front { why(partition, queue, q, now) } else { Wait::Behind };
                seen.waited[why.index()] += 1;
            }
        }
    }

    /// The head, or the whole packet, has left the queue of a visit.
    fn go_on(&mut self, partition: &Partition, visit: usize) {
        let seen = &mut self.journey.visits[visit];
        match onward(partition, self.index) {
            Some(Onward::Queue(queue, at)) => {
                let input = &partition.inputs[partition.queues[queue].port];
                seen.output = partition.inputs.get(input.upstream as usize).map(|output| output.number);
                seen.vc = Some((queue - input.queues) as u16);
                self.coming = Some((queue, at));
            }
            Some(Onward::Endpoint(vc)) => {
                seen.output = Some(partition.packets[self.index].ejection_port);
                seen.vc = Some(vc);
                self.leaving = true;
            }
            Some(Onward::Nowhere) | None => {}
        }
    }
}

/// The queue of `port` in which packet `index` stands.
fn find(partition: &Partition, port: u32, index: u32) -> Option<u32> {
    let input = &partition.inputs[port];
    (input.queues..input.queues + u32::from(input.count)).find(|&queue| {
        let Queue { first, last, .. } = partition.queues[queue];
        let next = |at: &u32| (*at != last).then(|| partition.packets[*at].next);
        std::iter::successors((first != NONE).then_some(first), next).any(|at| at == index)
    })
}

/// The next place of a packet that is between two queues, or between its last queue and its endpoint.
fn onward(partition: &Partition, index: u32) -> Option<Onward> {
    let mut found = None;
    partition.post.for_each(partition.now, |at, list, event| {
        let (what, target) = kind::of_listed(list, event);
        match what {
            kind::ARRIVAL if event.data == index => found = Some(Onward::Queue(target, at)),
            kind::DELIVERY if target == index => found = Some(Onward::Endpoint(event.data as u16)),
            kind::LOSS if target == index => found = Some(Onward::Nowhere),
            _ => {}
        }
    });
    found
}

/// The reason why the head at the front of a queue has waited in tick `now`.
fn why(partition: &Partition, queue: u32, q: &Queue, now: Tick) -> Wait {
    if partition.management.may_hold(queue) {
        return Wait::Held;
    }
    if partition.inputs[q.port].busy > now {
        return Wait::Switch;
    }
    if q.output == NONE || partition.progress(queue).eligible > now {
        return Wait::Routing;
    }
    let size = partition.setup.config.flit_phits(partition.packets[q.first].size, 0);
    let mut owned = true;
    for vc in u32::from(q.vc)..u32::from(q.vc + q.vcs.max(1)) {
        match obstacle(partition, q, vc, size) {
            None => return Wait::Switch,
            Some(owner) => owned &= owner != NONE,
        }
    }
    if owned { Wait::Channel } else { Wait::Credits }
}
