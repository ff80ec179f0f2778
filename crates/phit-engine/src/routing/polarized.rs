//! Polarized routing: hops that lead away from the source and towards the destination.

use super::source_adaptive::Queue;
use super::{Injection, RouterView, Routing, RoutingContext, RoutingParams, View, Wants, ladder};
use crate::error::ScenarioError;
use crate::fabric::seams::routing::{Adaptive, Ladder, Proof, Standing, Step};
use crate::packet::{MISROUTED_LOCALLY, Packet};
use crate::topology::{Hop, Topology};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Polarized routing on any network whose links lead both ways (Camarero, Martínez and Beivide, "Polarized routing: an
/// efficient and versatile algorithm for large direct networks", HOTI 2021, and IEEE Micro 2022).
///
/// A packet may take any hop that raises the distance from its source less the distance to its destination, by 1 or by
/// 2. A hop that leaves this difference as it is may be taken if it leads away from both in the half of the source, or
/// nearer to both in the half of the destination. Of these hops a packet takes the one with the shortest queue, where
/// those that raise the difference less than the best count as longer by `penalty`. Routes have at most 4 d - 3 hops in
/// a network of diameter d (2 where d is 1). A packet to which no such hop is left, as may be in sparse networks, goes
/// on minimally.
///
/// The virtual channel of a hop is the number of hops taken before it, so that channels rise along every route.
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
    /// What a queue counts as longer, in packets of the largest size, by what the hop raises the difference less than
    /// the best: 0, 1 and 2.
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
        Box::new(Rule { rules: self.rule(&*context.topology), penalty, queue: self.queue, found: Vec::new() })
    }
}

/// Where packets may go.
#[derive(Debug, Clone, Copy)]
struct Rules {
    strong: bool,
    /// Most hops of a route.
    hops: u32,
}

/// A packet on its way.
#[derive(Debug, Clone, Copy)]
struct Place {
    source: u32,
    at: u32,
    to: u32,
    /// Hops taken.
    taken: u32,
}

impl Rules {
    /// Calls `see` with the ports that a packet may take, and by how much each raises the difference.
    fn ways(self, topology: &dyn Topology, packet: Place, mut see: impl FnMut(u16, i64)) {
        let Place { source, at, to, taken } = packet;
        let apart = |a, b| i64::from(topology.distance(a, b));
        let (from, left) = (apart(source, at), apart(at, to));
        let most = i64::from(self.hops) - i64::from(taken) - 1;
        for port in 0..topology.ports(at) {
            let Some(next) = ladder::behind(topology, at, port) else { continue };
            let (away, nearer) = (apart(source, next) - from, left - apart(next, to));
            let onward = if from < left { away > 0 } else { nearer > 0 };
            let gain = away + nearer;
            if left - nearer <= most && (gain > 0 || gain == 0 && !self.strong && onward) {
                see(port, gain);
            }
        }
    }
}

/// In what a proof keeps of a packet: no hop of the rule was left to it. Below are its source's number and 1.
const DIRECT: u32 = 1 << 31;

/// What a proof follows: whatever the queues say.
struct Followed(Polarized);

impl Adaptive for Followed {
    fn steps(&self, topology: &dyn Topology, packet: &Standing, vcs: &[u8], out: &mut Vec<Step>) {
        let taken = packet.hops.total();
        let memo = if taken == 0 { packet.at + 1 } else { packet.memo };
        let (rules, place) = (
            self.0.rule(topology),
            Place { source: (memo & !DIRECT).saturating_sub(1), at: packet.at, to: packet.to, taken },
        );
        let step = |port, memo| Step { hop: ladder::step(topology, packet, port, rules.hops, vcs), memo, escape: true };
        if memo & DIRECT == 0 {
            rules.ways(topology, place, |port, _| out.push(step(port, memo)));
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

struct Rule {
    rules: Rules,
    /// Phits.
    penalty: [u32; 3],
    queue: Queue,
    /// Ports found for one head, with what they raise the difference.
    found: Vec<(u16, i64)>,
}

/// In [`Packet::flags`]: no hop of the rule was left to the packet.
const CORNERED: u8 = 1;

impl Rule {
    /// The hop with the shortest queue, of those that can take the packet now if there are any; of equals any, the same
    /// whenever it is asked for.
    fn best(&self, view: &RouterView<'_>, packet: &Packet) -> Option<Hop> {
        let most = self.found.iter().map(|&(_, gain)| gain).max()?;
        let cost = |&(port, gain): &(u16, i64)| {
            let hop = ladder::over(view, port, packet, self.rules.hops);
            let queue = self.queue.length(view, port, hop.vc);
            let behind = self.penalty[(most - gain).clamp(0, 2) as usize];
            let waits = !view.takes(port, hop.vc, packet.size.into());
            ((waits, u64::from(queue) + u64::from(behind)), hop)
        };
        let least = self.found.iter().map(|way| cost(way).0).min()?;
        let equal = || self.found.iter().map(cost).filter(|(cost, _)| *cost == least).map(|(_, hop)| hop);
        let drawn = packet.rng(view.router).below(equal().count() as u32);
        equal().nth(drawn as usize)
    }
}

impl Routing for Rule {
    fn wants(&self) -> Wants {
        Wants { redecide: true, departures: true, ..Wants::default() }
    }

    fn inject(&mut self, _: &mut Injection<'_>, packet: &mut Packet) {
        packet.flags = 0;
    }

    fn route(&mut self, view: &mut View<'_>, _: u16, _: u16, packet: &mut Packet) -> Option<Hop> {
        let (topology, to) = (view.topology, packet.destination_router);
        let source = topology.attachment(packet.source).0;
        let place = Place { source, at: view.router, to, taken: packet.hops.total() };
        self.found.clear();
        if packet.flags != CORNERED {
            let found = &mut self.found;
            self.rules.ways(topology, place, |port, gain| found.push((port, gain)));
        }
        if let Some(hop) = self.best(view, packet) {
            return Some(hop);
        }
        packet.flags = CORNERED;
        view.watch_chosen();
        Some(ladder::over(view, ladder::minimal_port(view, packet, to), packet, self.rules.hops))
    }

    fn departs(&mut self, at: &RouterView<'_>, _: u16, _: u16, hop: Hop, packet: &mut Packet) {
        let (topology, to) = (at.topology, packet.destination_router);
        let next = ladder::behind(topology, at.router, hop.port);
        if next.is_some_and(|next| topology.distance(next, to) >= topology.distance(at.router, to)) {
            packet.misrouted |= MISROUTED_LOCALLY;
        }
    }
}
