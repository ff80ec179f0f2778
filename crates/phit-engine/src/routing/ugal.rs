//! UGAL: universal globally-adaptive load-balanced routing, with local and with global information.

use super::hop_count::{Counted, HopCount};
use super::in_transit::{GLOBAL, LOCAL};
use super::source_adaptive::{Candidates, Cost, MOST_CANDIDATES, Queue, Route, Sight, draw, hop, take};
use super::valiant::{SecondHalf, Stop, Valiant, Via, check_stop};
use super::{DRAWN_BY_CYCLE, Injection, RouterView, Routing, RoutingContext, RoutingParams, View};
use crate::engine::Memory;
use crate::error::ScenarioError;
use crate::fabric::seams::routing::{Legs, Proof, Site, Wants};
use crate::packet::{MISROUTED_AT_INJECTION, Packet};
use crate::topology::{Hop, Peer, Routers, Topology};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// When a packet chooses between its routes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Decide {
    /// When it first stands at the head of its injection queue.
    #[default]
    Head,
    /// When its endpoint begins to send it, by the queues before that cycle. Decisions of one cycle do not know of each
    /// other, nor of credits that arrive in it (BookSim, whose endpoints route ahead). With `queue = "port"` and one
    /// candidate of each kind.
    Sending,
    /// Whenever it may ask for its output at the head of its injection queue, until it has been decided for the Valiant
    /// route: that is for good (FOGSim).
    UntilNonminimal,
    /// When it first stands at the head of its injection queue, and again in the router by which both of its routes
    /// leave the group, if that is another one (SST's merlin). In a Dragonfly, with one candidate of each kind.
    HeadAndExit,
}

impl Decide {
    fn is_head(&self) -> bool {
        *self == Self::Head
    }
}

/// One of the UGALs: the same keys and checks, with its own view of queues and default threshold.
macro_rules! ugal {
    (
        $(#[$doc:meta])* $name:ident, $sight:path,
        reads_everything: $everything:literal, threshold: $threshold:literal $(, $decide:ident: $when:ident)?
    ) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields, default)]
        pub struct $name {
            /// Whether the Valiant route visits a router or a group.
            pub via: Via,
            /// Where its intermediate router (or group) may be.
            pub stop: Stop,
            /// Advantage of the minimal route, in packets of the largest size; negative: of the Valiant route.
            pub threshold: i32,
            /// How queues are measured.
            pub queue: Queue,
            /// The cost by which the two routes are compared.
            pub cost: Cost,
            /// The hops that count. Values other than the routes' hops: in a Dragonfly, with one candidate of each
            /// kind.
            #[serde(skip_serializing_if = "HopCount::is_of_routes")]
            pub hop_count: HopCount,
            $(
                /// When a packet is decided about.
                #[serde(skip_serializing_if = "Decide::is_head")]
                pub $decide: $when,
            )?
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
                    hop_count: HopCount::Routes,
                    $($decide: $when::Head,)?
                    minimal_candidates: 1,
                    valiant_candidates: 1,
                }
            }
        }

        impl $name {
            /// True if packets are decided about when they are sent.
            fn early(&self) -> bool {
                false $(|| self.$decide == $when::Sending)?
            }

            /// True if packets are decided about again where they leave the group.
            fn at_exit(&self) -> bool {
                false $(|| self.$decide == $when::HeadAndExit)?
            }

            /// True if packets that wait are decided about again.
            fn again(&self) -> bool {
                false $(|| self.$decide == $when::UntilNonminimal)?
            }
        }

        impl RoutingParams for $name {
            fn check(&self, topology: &dyn Topology) -> Result<(), ScenarioError> {
                routes(self.via).check(topology)?;
                check_stop(topology, self.via, self.stop)?;
                let one_each = self.minimal_candidates == 1 && self.valiant_candidates == 1;
                if self.early() && !(one_each && self.queue == Queue::Port) {
                    let expected = "needs queue = \"port\", and one minimal and one Valiant candidate";
                    return Err(ScenarioError::new("decide", "\"sending\"", expected));
                }
                let elsewhere = matches!(self.stop, Stop::Elsewhere | Stop::LikeDestination);
                let dragonfly = topology.is_dragonfly() && topology.groups() > 1 && elsewhere;
                if self.at_exit() && !(one_each && topology.is_dragonfly() && topology.groups() > 1) {
                    let expected = "needs topology.kind = \"dragonfly\" with at least two groups, one minimal and one \
                                    Valiant candidate";
                    return Err(ScenarioError::new("decide", "\"head_and_exit\"", expected));
                }
                let of_network = !matches!(self.hop_count, HopCount::Routes | HopCount::OneAndTwo);
                if of_network && !(one_each && dragonfly) {
                    let expected = "needs topology.kind = \"dragonfly\" with at least two groups, \
                                    stop = \"elsewhere\" or \"like_destination\", one minimal and one \
                                    Valiant candidate";
                    return Err(ScenarioError::missing("hop_count", expected));
                }
                Ok(())
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
            fn counts_phits(&self) -> bool {
                self.queue != Queue::Share
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
                let before = self.early().then(|| Before::new(context));
                let (counted, again) = (self.hop_count.counted(context), self.again());
                let rule = Rule::new(candidates, self.cost, self.threshold, context);
                Box::new(Rule { before, counted, again, at_exit: self.at_exit(), ..rule })
            }
        }
    };
}

ugal! {
    /// Source routing by the queues of the source router. A packet goes minimally, unless `queue x hops` of the first
    /// minimal hop exceeds that of the first hop of a random Valiant route by more than a threshold (Singh, 2005; on
    /// the Dragonfly Kim et al., ISCA 2008).
    ///
    /// By default, a packet decides once, when it first reaches the head of its injection queue. Among several
    /// candidates of a kind, as in the Cray Cascade, the cheapest counts.
    /// candidates of a kind, as in the Cray Cascade, the cheapest counts.
    ///
    /// A Dragonfly needs 4 local and 2 global virtual channels for routes through a router, and 3 local ones for routes
    /// through a group.
    ///
    /// ```toml
    /// [topology]
    /// kind = "dragonfly"
    /// p = 2
    /// a = 4
    /// h = 2
    ///
    /// [routing]
    /// kind = "ugal_l"
    /// threshold = 0
    /// minimal_candidates = 2
    /// ```
    UgalL, Sight::Local, reads_everything: false, threshold: 3, decide: Decide
}

ugal! {
    /// UGAL with the queues of all hops of both routes, in all routers, known at once (UGAL-G; Singh, 2005; on the
    /// Dragonfly Kim et al., ISCA 2008). No real router can know them, so it is the ideal against which others are
    /// measured. Apart from that, it works like `ugal_l`.
    ///
    /// A Dragonfly needs 4 local and 2 global virtual channels for routes through a router, and 3 local ones for routes
    /// through a group.
    ///
    /// ```toml
    /// [topology]
    /// kind = "dragonfly"
    /// p = 2
    /// a = 4
    /// h = 2
    ///
    /// [routing]
    /// kind = "ugal_g"
    /// via = "group"
    /// ```
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
    /// The queues as they were, if packets are decided about when they are sent.
    before: Option<Before>,
    /// An alternative count of hops, if one is chosen.
    counted: Option<Counted>,
    /// Packets that wait are decided about again until they are misrouted.
    again: bool,
    /// Packets are decided about again in the router by which both of their routes leave the group.
    at_exit: bool,
}

/// The phits of all virtual channels of every output to a router, as they were when the latest tick had ended.
pub(super) struct Before {
    routers: Routers,
    /// By router of the partition, then by port; empty for endpoints' ports.
    phits: Vec<Vec<u32>>,
}

impl Before {
    pub(super) fn new(context: &RoutingContext) -> Self {
        let routers = context.routers.clone();
        let phits = routers.iter().map(|router| vec![0; context.topology.ports(router).into()]).collect();
        Self { routers, phits }
    }

    /// The phits of `port`, which leads to a router.
    pub(super) fn phits(&self, at: &RouterView<'_>, port: u16) -> u32 {
        self.phits[self.routers.place(at.router)][usize::from(port)]
    }

    /// This route with its earlier queue.
    fn seen(&self, at: &RouterView<'_>, route: Route) -> Route {
        Route { queue: self.phits(at, route.first.port), ..route }
    }

    /// Notes the phits of all outputs of a router: what [`Routing::occupancy_changed`] is for, after all grants.
    pub(super) fn note(&mut self, at: &RouterView<'_>) {
        for (port, phits) in (0..).zip(&mut self.phits[self.routers.place(at.router)]) {
            if matches!(at.topology.port(at.router, port).peer, Peer::Router { .. }) {
                *phits = at.port_occupancy(port);
            }
        }
    }
}

impl Rule {
    fn new(candidates: Candidates, cost: Cost, packets: i32, context: &RoutingContext) -> Self {
        let threshold = i64::from(packets) * i64::from(context.packet_size);
        Self { candidates, cost, threshold, before: None, counted: None, again: false, at_exit: false }
    }
}

impl Rule {
    /// Sends `packet` over the route that costs less. Returns the first port of the other one if it is minimal.
    #[inline]
    fn decide(&self, at: &RouterView<'_>, packet: &mut Packet) -> Option<u16> {
        let (minimal, valiant) = self.routes(at, packet);
        let minimally = prefers_minimal(&minimal, &valiant, self.cost, self.threshold);
        take(at, packet, if minimally { &minimal } else { &valiant });
        minimally.then_some(valiant.first.port)
    }

    /// Decides again about a packet that has come over a local link of its source's group, if both of its routes leave
    /// the group here.
    fn decide_at_exit(&self, at: &RouterView<'_>, packet: &mut Packet) {
        let group = |router: u32| at.topology.group_of(router);
        let (source, here) = (at.topology.attachment(packet.source).0, group(at.router));
        if group(source) != here || group(packet.destination_router) == here {
            return;
        }
        let (minimal, valiant) = self.routes(at, packet);
        if [&minimal, &valiant].iter().all(|route| at.class(route.first.port) == GLOBAL) {
            let minimally = prefers_minimal(&minimal, &valiant, self.cost, self.threshold);
            take(at, packet, if minimally { &minimal } else { &valiant });
        }
    }

    /// The two routes of `packet` from here.
    #[inline]
    fn routes(&self, at: &RouterView<'_>, packet: &Packet) -> (Route, Route) {
        let mut minimal = self.candidates.minimal(at, packet, self.cost);
        let mut valiant = self.candidates.valiant(at, packet, self.cost);
        if let Some(before) = &self.before {
            (minimal, valiant) = (before.seen(at, minimal), before.seen(at, valiant));
        }
        if let Some(counted) = &self.counted {
            counted.count(at, packet, (&mut minimal, &mut valiant), None);
        }
        (minimal, valiant)
    }
}

/// UGAL's inequality: the minimal route if it costs no more than the other plus the threshold.
pub(super) fn prefers_minimal(minimal: &Route, valiant: &Route, cost: Cost, threshold: i64) -> bool {
    cost.of(minimal) <= cost.of(valiant) + threshold
}

impl Routing for Rule {
    fn remember(&self, memory: &mut Memory) {
        memory.cannot(DRAWN_BY_CYCLE);
    }

    fn inject(&mut self, at: &mut Injection<'_>, packet: &mut Packet) {
        draw(at, packet, self.candidates.via, self.candidates.stop);
    }

    fn wants(&self) -> Wants {
        let early = self.before.is_some();
        Wants { sends: early, occupancy: early, after_grants: early, redecide: self.again, ..Wants::default() }
    }

    fn sends(&mut self, at: &RouterView<'_>, packet: &mut Packet) {
        if packet.destination_router != at.router {
            self.decide(at, packet);
        }
    }

    fn occupancy_changed(&mut self, at: &mut Site<'_>) {
        if let Some(before) = &mut self.before {
            before.note(at);
        }
    }

    fn route(&mut self, view: &mut View<'_>, _: u16, _: u16, packet: &mut Packet) -> Option<Hop> {
        if self.again {
            view.watch_chosen();
        }
        let decided = self.again && packet.misrouted & MISROUTED_AT_INJECTION != 0;
        if packet.came_by == 0 && self.before.is_none() && !decided {
            let other = self.decide(view, packet);
            if let Some(other) = other.filter(|_| self.again) {
                // With several candidates, another one may be the cheapest next time.
                let single = self.candidates.minimal == 1 && self.candidates.valiant == 1;
                view.watch_occupancy(if single { other..other + 1 } else { 0..view.ports() });
            }
        }
        if self.at_exit && packet.came_by == LOCAL {
            self.decide_at_exit(view, packet);
        }
        Some(hop(view, packet, self.candidates.via, SecondHalf::Above))
    }
}
