//! PAR on any network: progressive adaptive routing, with virtual channels by the number of hops.

use super::source_adaptive::{Cost, Queue, choose};
use super::valiant::{self, Stop, Via};
use super::{Injection, RouterView, Routing, RoutingContext, RoutingParams, View, ladder};
use crate::engine::NONE;
use crate::error::ScenarioError;
use crate::fabric::seams::routing::{Adaptive, Ladder, Proof, Standing, Step};
use crate::packet::Packet;
use crate::topology::{Hop, Topology, stops};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Progressive adaptive routing (Jiang, Kim and Dally, ISCA 2009) on any network whose links lead both ways: UGAL-L
/// that a packet repeats after each of its first hops for as long as it has gone minimally; a Valiant route, once
/// chosen, stays. It was made for Dragonflies, where the first hops are those in the source group (`par`).
///
/// The virtual channel of a hop is the number of hops taken before it, so that channels rise along every route.
///
/// ```toml
/// [topology]
/// kind = "slim_fly"
/// q = 5
///
/// [routing]
/// kind = "par_graph"
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ParGraph {
    /// Hops after which a packet may still change its mind: each needs one virtual channel more than UGAL; 0 is UGAL-L.
    #[schemars(range(max = 64))]
    pub decisions: u32,
    /// Where the intermediate router may be.
    pub stop: Stop,
    /// Advantage of the minimal route, in packets of the largest size; negative: of the Valiant route.
    pub threshold: i32,
    /// How queues are measured.
    pub queue: Queue,
    /// The cost by which the two routes are compared.
    pub cost: Cost,
}

impl Default for ParGraph {
    fn default() -> Self {
        Self { decisions: 1, stop: Stop::default(), threshold: 3, queue: Queue::Phits, cost: Cost::QueueHops }
    }
}

impl ParGraph {
    fn longest(&self, topology: &dyn Topology) -> u32 {
        (2 * topology.diameter()).max(1) + self.decisions
    }
}

impl RoutingParams for ParGraph {
    fn check(&self, topology: &dyn Topology) -> Result<(), ScenarioError> {
        ladder::check("par_graph", topology)?;
        valiant::check("par_graph", topology)?;
        valiant::check_stop(topology, Via::Router, self.stop)?;
        ladder::check_hops("decisions", self.decisions, self.longest(topology))
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
        Box::new(Rule {
            params: self.clone(),
            hops: self.longest(&*context.topology),
            threshold: i64::from(self.threshold) * i64::from(context.packet_size),
        })
    }
}

/// True if a packet at `at` after `taken` hops can still go over `stop`.
fn fits(topology: &dyn Topology, at: u32, stop: u32, to: u32, taken: u32, hops: u32) -> bool {
    stop != at && taken + topology.distance(at, stop) + topology.distance(stop, to) <= hops
}

/// In a proof's memory of a packet: the packet's stop is behind it. 0 means that it goes minimally; other values are
/// the stop's number plus 1.
const ON_SECOND_LEG: u32 = NONE;

/// The steps for a proof, which hold for any queues.
struct Followed(ParGraph);

impl Adaptive for Followed {
    fn steps(&self, topology: &dyn Topology, packet: &Standing, vcs: &[u8], out: &mut Vec<Step>) {
        let &Standing { at, to, memo, .. } = packet;
        let (taken, hops) = (packet.hops.total(), self.0.longest(topology));
        let mut towards = |target: u32, memo: u32| {
            for port in ladder::minimal_ports(topology, packet, target) {
                let arrives = memo != 0 && ladder::behind(topology, at, port) == Some(target);
                let memo = if arrives { ON_SECOND_LEG } else { memo };
                out.push(Step { hop: ladder::step(topology, packet, port, hops, vcs), memo, escape: true });
            }
        };
        match memo {
            0 if at != to => {
                towards(to, 0);
                if taken <= self.0.decisions {
                    let stops = stops(topology).filter(|&stop| fits(topology, at, stop, to, taken, hops));
                    stops.for_each(|stop| towards(stop, stop + 1));
                }
            }
            0 | ON_SECOND_LEG => towards(to, ON_SECOND_LEG),
            stop => towards(stop - 1, stop),
        }
    }

    fn has_arrived(&self, packet: &Standing) -> bool {
        packet.at == packet.to && matches!(packet.memo, 0 | ON_SECOND_LEG)
    }

    fn longest(&self, topology: &dyn Topology) -> u32 {
        self.0.longest(topology)
    }
}

struct Rule {
    params: ParGraph,
    /// Hops of the longest route.
    hops: u32,
    /// Phits.
    threshold: i64,
}

impl Rule {
    /// The cost of a route whose next stop is `next` and that has `links` left.
    fn cost(&self, view: &RouterView<'_>, packet: &Packet, next: u32, links: u32) -> i64 {
        let hop = ladder::over(view, ladder::minimal_port(view, packet, next), packet, self.hops);
        self.params.cost.of_queue(self.params.queue.length(view, hop.port, hop.vc), links)
    }
}

impl Routing for Rule {
    fn inject(&mut self, at: &mut Injection<'_>, packet: &mut Packet) {
        let ends = (at.router, packet.destination_router);
        packet.scratch = valiant::draw(at.topology, ends, Via::Router, self.params.stop, at.rng);
        packet.legs = 1;
    }

    fn route(&mut self, view: &mut View<'_>, _: u16, _: u16, packet: &mut Packet) -> Option<Hop> {
        let (topology, at, taken) = (view.topology, view.router, packet.hops.total());
        let (stop, to) = (packet.scratch, packet.destination_router);
        let open = packet.legs == 1 && taken <= self.params.decisions;
        if open && fits(topology, at, stop, to, taken, self.hops) {
            let direct = self.cost(view, packet, to, topology.distance(at, to));
            let links = topology.distance(at, stop) + topology.distance(stop, to);
            choose(packet, direct > self.cost(view, packet, stop, links) + self.threshold);
        }
        let next = if packet.intermediate == NONE { to } else { packet.intermediate };
        Some(ladder::over(view, ladder::minimal_port(view, packet, next), packet, self.hops))
    }
}
