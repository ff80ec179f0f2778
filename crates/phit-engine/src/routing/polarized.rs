//! Polarized routing: hops that lead away from the source and towards the destination.

use super::by_queue::ByQueue;
use super::distances::{Distances, Place};
use super::source_adaptive::Queue;
use super::{Injection, RouterView, Routing, RoutingContext, RoutingParams, View, Wants, ladder};
use crate::engine::Tick;
use crate::error::ScenarioError;
use crate::fabric::seams::routing::{Adaptive, Changes, Ladder, Proof, Standing, Step};
use crate::packet::{MISROUTED_LOCALLY, Packet};
use crate::topology::{Hop, RouteTable, Topology};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
use std::sync::Arc;

/// Polarized routing on any network whose links lead both ways (Camarero, Martínez and Beivide, "Polarized routing: an
/// efficient and versatile algorithm for large direct networks", HOTI 2021, and IEEE Micro 2022).
///
/// Each hop changes the difference between the distance from the source and the distance to the destination. A packet
/// may take any hop that raises the difference by 1 or 2. A hop that does not change it is allowed in two cases: it
/// leads away from both in the half of the source, or nearer to both in the half of the destination.
///
/// Among these hops, a packet takes the one with the shortest queue. A hop that raises the difference less than the
/// best hop counts as longer by `penalty`. Routes have at most 4 d - 3 hops in a network of diameter d (2 if d is 1).
/// In sparse networks, a packet may have no such hop left; it then continues minimally.
///
/// The virtual channel of a hop is the number of hops before it, so channels rise along every route.
///
/// ```toml
/// [topology]
/// kind = "slim_fly"
/// q = 5
///
/// [routing]
/// kind = "polarized"
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Polarized {
    /// Most hops of a route, each of which needs a virtual channel: 4 d - 3 in a network of diameter d if left out.
    /// With fewer, hops after which a minimal route would not fit are left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 255))]
    pub hops: Option<u32>,
    /// Whether every hop has to raise the difference: routes then have at most 2 d hops.
    pub strong: bool,
    /// Packets of the largest size that are added to a queue if its hop raises the difference by 0, 1 or 2 less than
    /// the best hop.
    pub penalty: [u32; 3],
    /// How queues are measured.
    pub queue: Queue,
}

impl Default for Polarized {
    fn default() -> Self {
        Self { hops: None, strong: false, penalty: [0, 4, 5], queue: Queue::Phits }
    }
}

impl Polarized {
    fn longest(&self, topology: &dyn Topology) -> u32 {
        let diameter = topology.diameter();
        let all = match (self.strong, diameter) {
            (true, _) => 2 * diameter,
            (false, 0 | 1) => 2,
            (false, _) => 4 * diameter - 3,
        };
        self.hops.map_or(all, |hops| hops.min(all)).max(1)
    }

    fn rule(&self, topology: &dyn Topology) -> Rules {
        Rules { strong: self.strong, hops: self.longest(topology) }
    }
}

impl RoutingParams for Polarized {
    fn check(&self, topology: &dyn Topology) -> Result<(), ScenarioError> {
        ladder::check("polarized", topology)?;
        let diameter = topology.diameter();
        match self.hops {
            Some(hops) if hops < diameter => {
                let expected = format!("minimal routes have up to {diameter} hops; expected as many or more");
                Err(ScenarioError::new("hops", hops, expected))
            }
            _ => ladder::check_hops("hops", self.longest(topology), self.longest(topology)),
        }
    }

    fn vcs_needed(&self, topology: &dyn Topology) -> (Vec<u8>, String) {
        ladder::vcs_needed(topology, self.longest(topology))
    }

    fn proof(&self) -> Proof {
        let params = self.clone();
        let longest = Box::new(move |topology: &dyn Topology| params.longest(topology));
        Proof::Ladder(Ladder { longest, steps: Some(Box::new(Followed(self.clone()))) })
    }

    fn build(&self, context: &RoutingContext) -> Box<dyn Routing> {
        let penalty = self.penalty.map(|packets| packets.saturating_mul(context.packet_size));
        Box::new(Rule {
            rules: self.rule(&*context.topology),
            channels: ladder::Channels::new(&context.vcs, self.longest(&*context.topology)),
            penalty,
            queue: self.queue,
            distances: Distances::new(context),
            ways: ByQueue::new(context, Ways::new()),
            found: Vec::new(),
            best: Vec::new(),
        })
    }
}

/// Where packets may go.
#[derive(Debug, Clone, Copy)]
struct Rules {
    strong: bool,
    /// Most hops of a route.
    hops: u32,
}

/// Links from a router to both ends of a packet's way.
#[derive(Debug, Clone, Copy)]
struct Apart {
    source: u32,
    destination: u32,
}

impl Rules {
    /// By how much a hop to the `next` router raises the difference. `None` if a packet that has taken `taken` hops may
    /// not take it.
    #[inline]
    fn gain(self, here: Apart, next: Apart, taken: u32) -> Option<i64> {
        let away = i64::from(next.source) - i64::from(here.source);
        let nearer = i64::from(here.destination) - i64::from(next.destination);
        let onward = if here.source < here.destination { away > 0 } else { nearer > 0 };
        let gain = away + nearer;
        let fits = i64::from(next.destination) < i64::from(self.hops) - i64::from(taken);
        (fits && (gain > 0 || gain == 0 && !self.strong && onward)).then_some(gain)
    }
}

/// In what a proof keeps of a packet: no hop of the rule was left to it. Below are its source's number and 1.
const DIRECT: u32 = 1 << 31;

/// The mechanism for proofs: queues may have any lengths.
struct Followed(Polarized);

impl Adaptive for Followed {
    fn steps(&self, topology: &dyn Topology, packet: &Standing, vcs: &[u8], out: &mut Vec<Step>) {
        let taken = packet.hops.total();
        let memo = if taken == 0 { packet.at + 1 } else { packet.memo };
        let (rules, source) = (self.0.rule(topology), (memo & !DIRECT).saturating_sub(1));
        let apart = |router: u32| Apart {
            source: topology.distance(router, source),
            destination: topology.distance(router, packet.to),
        };
        let step = |port, memo| Step { hop: ladder::step(topology, packet, port, rules.hops, vcs), memo, escape: true };
        if memo & DIRECT == 0 {
            let here = apart(packet.at);
            for port in 0..topology.ports(packet.at) {
                let Some(next) = ladder::behind(topology, packet.at, port) else { continue };
                out.extend(rules.gain(here, apart(next), taken).map(|_| step(port, memo)));
            }
        }
        if out.is_empty() {
            let minimal = ladder::minimal_ports(topology, packet, packet.to);
            out.extend(minimal.into_iter().map(|port| step(port, memo | DIRECT)));
        }
    }

    fn longest(&self, topology: &dyn Topology) -> u32 {
        self.0.longest(topology)
    }
}

/// A hop that a packet may take at a router.
#[derive(Debug, Clone, Copy)]
struct Way {
    hop: Hop,
    /// By how much it raises the difference less than the best hop: 2 for more, too.
    behind: u8,
}

type Ways = SmallVec<[Way; 6]>;

struct Rule {
    rules: Rules,
    channels: ladder::Channels,
    /// Phits.
    penalty: [u32; 3],
    queue: Queue,
    distances: Distances,
    ways: ByQueue<Ways>,
    /// The ports for one packet, with their gains.
    found: Vec<(u16, i64)>,
    /// Hops of one packet that cost the least.
    best: Vec<Hop>,
}

/// In [`Packet::flags`]: no hop of the rule was left to the packet.
const CORNERED: u8 = 1;

impl Rule {
    /// Notes the ways of `packet`. They stay the same as long as the packet stands here.
    #[inline(never)]
    fn find(&mut self, view: &RouterView<'_>, packet: &Packet, place: usize) {
        let (rules, taken, found) = (self.rules, packet.hops.total(), &mut self.found);
        let source = view.known.attachment(view.topology, packet.source).0;
        let apart = |place: Place| Apart {
            source: self.distances.between(view, place, source),
            destination: self.distances.between(view, place, packet.destination_router),
        };
        let here = apart(self.distances.here(view));
        found.clear();
        let mut most = i64::MIN;
        for (port, next) in self.distances.links(view) {
            if let Some(gain) = rules.gain(here, apart(next), taken) {
                most = most.max(gain);
                found.push((port, gain));
            }
        }
        let channels = &self.channels;
        let way = |&(port, gain): &(u16, i64)| Way {
            hop: channels.over(view, port, packet),
            behind: (most - gain).min(2) as u8,
        };
        let ways = &mut self.ways.notes[place];
        ways.clear();
        ways.extend(found.iter().map(way));
    }

    /// The hop with the shortest queue among those that can take the packet now. Among equals it is any, and the same
    /// whenever it is asked for. If no hop can take the packet, it waits for room at all of them.
    fn shortest(&mut self, view: &mut View<'_>, packet: &Packet, place: usize) -> Option<Hop> {
        let (at, best, phits) = (&view.at, &mut self.best, packet.size.into());
        let ways = &self.ways.notes[place];
        best.clear();
        let mut least = u64::MAX;
        let mut weigh = |way: &Way, queue: u32| {
            let cost = u64::from(queue) + u64::from(self.penalty[usize::from(way.behind)]);
            if cost < least {
                least = cost;
                best.clear();
            }
            if cost == least {
                best.push(way.hop);
            }
        };
        match at.outputs().filter(|_| self.queue == Queue::Phits) {
            Some(outputs) => {
                for way in ways {
                    if let Some(queue) = outputs.taking((way.hop.port, way.hop.vc), phits) {
                        weigh(way, queue);
                    }
                }
            }
            None => {
                for way in ways {
                    let Hop { port, vc, .. } = way.hop;
                    if at.takes(port, vc, phits) {
                        weigh(way, self.queue.length(at, port, vc));
                    }
                }
            }
        }
        match best[..] {
            [] => {
                view.watch_chosen_for(Changes::NONE);
                for &Way { hop: Hop { port, vc, vcs }, .. } in ways {
                    // With several channels, the packet may go over one that no measure looks at.
                    match vcs {
                        1 => view.watch_for(Changes::ROOM, port..port + 1, vc..vc + 1),
                        _ => view.watch(port..port + 1),
                    }
                }
                ways.last().map(|way| way.hop)
            }
            [only] => Some(only),
            ref equal => Some(equal[at.rng_of(packet).below(equal.len() as u32) as usize]),
        }
    }
}

impl Routing for Rule {
    fn bytes(&self) -> usize {
        self.ways.bytes()
    }

    fn wants(&self) -> Wants {
        Wants { redecide: true, departures: true, ..Wants::default() }
    }

    fn inject(&mut self, _: &mut Injection<'_>, packet: &mut Packet) {
        packet.flags = 0;
    }

    fn route(&mut self, view: &mut View<'_>, port: u16, queue: u16, packet: &mut Packet) -> Option<Hop> {
        if packet.flags != CORNERED {
            let (place, first) = self.ways.asked(view, (port, queue), packet, 0);
            if first {
                self.find(view, packet, place);
            }
            if let Some(hop) = self.shortest(view, packet, place) {
                return Some(hop);
            }
            packet.flags = CORNERED;
        }
        view.watch_chosen_for(Changes::NONE);
        let minimal = ladder::minimal_port(view, packet, packet.destination_router);
        Some(self.channels.over(view, minimal, packet))
    }

    fn departs(&mut self, at: &RouterView<'_>, _: u16, _: u16, hop: Hop, packet: &mut Packet) {
        let left = |place| self.distances.between(at, place, packet.destination_router);
        let here = left(self.distances.here(at));
        if self.distances.behind(at, hop.port).is_some_and(|next| left(next) >= here) {
            packet.misrouted |= MISROUTED_LOCALLY;
        }
    }

    fn rerouted(&mut self, _: Tick, _: usize, _: Option<&Arc<RouteTable>>) {
        self.distances.forget();
        self.ways.forget();
    }
}
