//! UGAL: universal globally-adaptive load-balanced routing, with local and with global information.

use super::source_adaptive::{self, Candidates, Cost, MOST_CANDIDATES, Queue, Sight, draw, hop, take};
use super::valiant::{SecondHalf, Stop, Valiant, Via, check_stop};
use super::{Injection, Routing, RoutingContext, RoutingParams, View};
use crate::error::ScenarioError;
use crate::fabric::seams::routing::{Legs, Proof};
use crate::packet::Packet;
use crate::topology::{Hop, Topology};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One of the UGALs: the same keys and checks, with its own view of queues and default threshold.
macro_rules! ugal {
    (
        $(#[$doc:meta])* $name:ident, $sight:path,
        reads_everything: $everything:literal, threshold: $threshold:literal
    ) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields, default)]
        pub struct $name {
            /// What the Valiant route leads through.
            pub via: Via,
            /// Where its intermediate router (or group) may be.
            pub stop: Stop,
            /// Advantage of the minimal route, in packets of the largest size; negative: of the Valiant route.
            pub threshold: i32,
            /// How queues are measured.
            pub queue: Queue,
            /// What the two routes are judged by.
            pub cost: Cost,
            /// Random minimal routes of which the cheaper is compared.
            #[schemars(range(min = 1, max = MOST_CANDIDATES))]
            pub minimal_candidates: u8,
            /// Random Valiant routes of which the cheaper is compared.
            #[schemars(range(min = 1, max = MOST_CANDIDATES))]
            pub valiant_candidates: u8,
        }

        impl Default for $name {
            fn default() -> Self {
                Self {
                    via: Via::default(),
                    stop: Stop::default(),
                    threshold: $threshold,
                    queue: Queue::Phits,
                    cost: Cost::QueueHops,
                    minimal_candidates: 1,
                    valiant_candidates: 1,
                }
            }
        }

        impl RoutingParams for $name {
            fn check(&self, topology: &dyn Topology) -> Result<(), ScenarioError> {
                routes(self.via).check(topology)?;
                check_stop(topology, self.via, self.stop)
            }
            fn vcs_needed(&self, topology: &dyn Topology) -> (Vec<u8>, String) {
                routes(self.via).vcs_needed(topology)
            }
            fn proof(&self) -> Proof {
                proof(self.via)
            }
            fn per_network(&self) -> bool {
                true
            }
            fn reads_everything(&self) -> bool {
                $everything
            }
            fn build(&self, context: &RoutingContext) -> Box<dyn Routing> {
                let candidates = Candidates {
                    via: self.via,
                    stop: self.stop,
                    minimal: self.minimal_candidates,
                    valiant: self.valiant_candidates,
                    sight: $sight(self.queue),
                };
                Box::new(Rule::new(candidates, self.cost, self.threshold, context))
            }
        }
    };
}

ugal! {
    /// Source routing by the queues of the source router: minimally, unless `queue x hops` of the first minimal hop
    /// exceeds that of the first hop of a random Valiant route by more than a threshold (Singh, 2005; on the Dragonfly
    /// Kim et al., ISCA 2008).
    ///
    /// A packet decides once, when it first stands at the head of its injection queue. Of several candidates of a kind,
    /// as in the Cray Cascade, the cheapest counts.
    UgalL, Sight::Local, reads_everything: false, threshold: 3
}

ugal! {
    /// UGAL with the queues of all hops of both routes, in all routers, known at once (UGAL-G): no router can know
    /// them, which makes it the ideal that others are measured against. Otherwise as `ugal_l`.
    UgalG, Sight::Global, reads_everything: true, threshold: 0
}

/// The Valiant mechanism whose routes and channels are used.
pub(super) fn routes(via: Via) -> Valiant {
    Valiant { via, ..Valiant::default() }
}

pub(super) fn proof(via: Via) -> Proof {
    Proof::legs_or_direct(if via == Via::Group { Legs::ToGroup } else { Legs::ToRouter })
}

struct Rule {
    candidates: Candidates,
    cost: Cost,
    /// Phits.
    threshold: i64,
}

impl Rule {
    fn new(candidates: Candidates, cost: Cost, packets: i32, context: &RoutingContext) -> Self {
        Self { candidates, cost, threshold: i64::from(packets) * i64::from(context.packet_size) }
    }
}

/// UGAL's inequality: the minimal route if it costs no more than the other plus the threshold.
pub(super) fn prefers_minimal(
    minimal: &source_adaptive::Route,
    valiant: &source_adaptive::Route,
    cost: Cost,
    threshold: i64,
) -> bool {
    cost.of(minimal) <= cost.of(valiant) + threshold
}

impl Routing for Rule {
    fn inject(&mut self, at: &mut Injection<'_>, packet: &mut Packet) {
        draw(at, packet, self.candidates.via, self.candidates.stop);
    }

    fn route(&mut self, view: &mut View<'_>, _: u16, _: u16, packet: &mut Packet) -> Option<Hop> {
        if packet.came_by == 0 {
            let minimal = self.candidates.minimal(view, packet, self.cost);
            let valiant = self.candidates.valiant(view, packet, self.cost);
            let minimally = prefers_minimal(&minimal, &valiant, self.cost, self.threshold);
            take(view, packet, if minimally { &minimal } else { &valiant });
        }
        Some(hop(view, packet, self.candidates.via, SecondHalf::Above))
    }
}
