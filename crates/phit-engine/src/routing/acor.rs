//! ACOR: routing that is oblivious to congestion, and adapts the reach of its detours to blocked packets.

use super::exits::{self, Exits, Place, Reach, send_through};
use super::valiant::{SecondHalf, Via, check_second_half, next_routes};
use super::{Injection, Routing, RoutingContext, RoutingParams, See, View, Wants};
use crate::engine::Tick;
use crate::error::ScenarioError;
use crate::fabric::seams::routing::{Legs, Proof};
use crate::measure::Observable;
use crate::packet::Packet;
use crate::topology::{Hop, Leg, Routers, Topology};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A state: which detours packets take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Detour {
    /// To the group behind a random link of the source's router (CRG to a group).
    LinkGroup,
    /// To a random router of that group (CRG to a router).
    LinkRouter,
    /// To a random router of a group behind a random link of the source's group (RRG to a router).
    AnyRouter,
}

impl Detour {
    /// Where its intermediates are.
    fn place(self) -> Place {
        let (reach, via) = match self {
            Self::LinkGroup => (Reach::Router, Via::Group),
            Self::LinkRouter => (Reach::Router, Via::Router),
            Self::AnyRouter => (Reach::Group, Via::Router),
        };
        Place { reach, via, within: true, own_group: false }
    }
}

/// Who has a state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Per {
    /// Every packet: each decision takes the next state, up to the last one.
    Packet,
    /// Every router: its injected packets share the state.
    #[default]
    Router,
}

/// The states and the rules by which they change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct States {
    /// The states, from the shortest detours to the longest: two or three.
    #[schemars(length(min = 2, max = 3))]
    pub order: Vec<Detour>,
    /// Whether a packet or a router has a state.
    pub per: Per,
    /// With a state per router: cycles of a period.
    #[schemars(range(min = 1))]
    #[schemars(extend("x-unit" = "cycles"))]
    pub period: u32,
    /// With a state per router: repeated decisions in a period from which on the next state follows at once, for each
    /// state except the last.
    pub up: Vec<u32>,
    /// With a state per router: most repeated decisions in a whole period after which the state before follows, for
    /// each state except the first. Smaller than the entry of `up` in the same place.
    pub down: Vec<u32>,
}

impl Default for States {
    fn default() -> Self {
        Self {
            order: vec![Detour::LinkGroup, Detour::LinkRouter, Detour::AnyRouter],
            per: Per::Router,
            period: 100,
            up: vec![60, 60],
            down: vec![15, 15],
        }
    }
}

impl States {
    /// True if routers have states, not packets.
    pub(super) fn are_of_routers(&self) -> bool {
        self.per == Per::Router
    }

    pub(super) fn check(&self) -> Result<(), ScenarioError> {
        let count = self.order.len();
        let rises = self.order.windows(2).all(|pair| (pair[0] as u8) < pair[1] as u8);
        if !(2..=3).contains(&count) || !rises {
            let expected = "expected two or three of \"link_group\", \"link_router\", \"any_router\", in this order";
            return Err(ScenarioError::missing("order", expected));
        }
        for (key, values) in [("up", &self.up), ("down", &self.down)] {
            if self.per == Per::Router && values.len() != count - 1 {
                let expected = format!("expected {}: one for each change of state", count - 1);
                return Err(ScenarioError::new(key, format!("{values:?}"), expected));
            }
        }
        if self.per == Per::Router && self.up.iter().zip(&self.down).any(|(up, down)| up <= down) {
            let expected = format!("expected numbers below those of up, {:?}", self.up);
            return Err(ScenarioError::new("down", format!("{:?}", self.down), expected));
        }
        if self.period == 0 {
            return Err(ScenarioError::new("period", 0, "expected 1 or more"));
        }
        Ok(())
    }
}

/// The state of one router.
#[derive(Debug, Clone, Copy, Default)]
struct Standing {
    /// Place of the state among the states.
    state: u8,
    /// Decisions about packets that had been decided about before, since the period began.
    repeated: u32,
    /// Cycles until the period ends.
    remaining: u32,
    /// The cycle up to which the state is known.
    seen: u32,
}

/// The states of the routers of a partition.
#[derive(Debug)]
pub(super) struct Adapting {
    params: States,
    pub exits: Exits,
    routers: Routers,
    standing: Vec<Standing>,
    ticks_per_cycle: Tick,
}

/// In [`Packet::flags`]: the packet has been decided about. The bits below have its state.
const DECIDED: u8 = 4;
const STATE: u8 = 3;
/// In [`Packet::flags`]: it has been decided for a detour, at least once.
pub(super) const DETOURED_BEFORE: u8 = 8;

impl Adapting {
    pub(super) fn new(params: &States, context: &RoutingContext) -> Self {
        let begin = Standing { remaining: params.period, ..Standing::default() };
        Self {
            exits: Exits::new(context),
            routers: context.routers.clone(),
            standing: vec![begin; context.routers.len()],
            params: params.clone(),
            ticks_per_cycle: context.ticks_per_cycle,
        }
    }

    pub(super) fn bytes(&self) -> usize {
        self.exits.bytes() + self.standing.capacity() * size_of::<Standing>()
    }

    /// The state of `router` in cycle `now`, place by place. A cycle begins with the changes that the decisions of the
    /// cycles before it bring about.
    fn standing(&self, place: usize, now: u32) -> Standing {
        let States { period, up, down, .. } = &self.params;
        let mut at = self.standing[place];
        while at.seen < now {
            let state = usize::from(at.state);
            let rises = up.get(state).is_some_and(|up| at.repeated >= *up);
            // A router counts no decision between two looks: only the first of these cycles can bring a rise.
            let step = if rises { 1 } else { at.remaining.min(now - at.seen) };
            at.seen += step;
            at.remaining -= step.min(at.remaining);
            let ends = at.remaining == 0;
            if rises {
                at.state += 1;
            } else if ends && state > 0 && at.repeated <= down[state - 1] {
                at.state -= 1;
            }
            if rises || ends {
                (at.repeated, at.remaining) = (0, *period);
            }
        }
        at
    }

    /// The detour of `packet`, which is decided about at the head of an injection queue, and its stop. `counts`: the
    /// decision counts if it is repeated.
    pub(super) fn draw(&mut self, view: &mut View<'_>, packet: &mut Packet, counts: bool) -> u32 {
        let again = packet.flags & DECIDED != 0;
        let last = (self.params.order.len() - 1) as u8;
        let state = match self.params.per {
            Per::Packet if again => (packet.flags & STATE).min(last - 1) + 1,
            Per::Packet => 0,
            Per::Router => {
                let place = self.routers.place(view.at.router);
                let mut at = self.standing(place, view.at.now / self.ticks_per_cycle);
                at.repeated += u32::from(again && counts);
                self.standing[place] = at;
                at.state
            }
        };
        packet.flags = packet.flags & DETOURED_BEFORE | DECIDED | state;
        let topology = view.at.topology;
        let (router, to) = (view.at.router, packet.destination_router);
        let detour = match topology.group_of(router) == topology.group_of(to) {
            true => Detour::AnyRouter,
            false => self.params.order[usize::from(state)],
        };
        self.exits.draw(topology, (router, to), detour.place(), view.rng)
    }

    /// Shows the state of `router`, if routers have states.
    pub(super) fn observe(&self, router: u32, now: Tick, see: See<'_>) {
        if !self.params.are_of_routers() {
            return;
        }
        let at = self.standing(self.routers.place(router), now / self.ticks_per_cycle);
        see(&STATE_OF_ROUTER, None, at.state.into());
    }
}

/// Observable: the state of a router.
pub(super) const STATE_OF_ROUTER: Observable = Observable {
    name: "state",
    words: "state of the router",
    unit: "place in `order`",
    about: "The detours of packets that the router's endpoints inject: 0 for the first of `order`.",
};

/// Adaptive congestion-oblivious routing: every packet takes a detour whose intermediate is redrawn in every decision.
/// The reach of detours depends on packets that had to be decided about again, not on queues (Benito et al., "ACOR:
/// Adaptive congestion-oblivious routing in dragonfly networks", JPDC 2019; as FOGSim, version 5, does).
///
/// States are per router or per packet. A router takes the next state as soon as its endpoints' packets were decided
/// about again `up` times within a period. It takes the state before at the end of a period with at most `down` such
/// decisions. A packet takes the next state whenever it is decided about again. Packets to the source's group go
/// through a router of the group. Fits topologies in which links join groups of routers, or routers, directly.
///
/// Virtual channels rise along a route. A Dragonfly needs 4 local and 2 global ones.
///
/// ```toml
/// [topology]
/// kind = "dragonfly"
/// p = 2
/// a = 4
/// h = 2
///
/// [routing]
/// kind = "acor"
/// states = { per = "router", period = 100, up = [60, 60], down = [15, 15] }
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Acor {
    /// The states and their changes.
    pub states: States,
    /// Virtual channels of the second half.
    pub second_half: SecondHalf,
}

impl RoutingParams for Acor {
    fn check(&self, topology: &dyn Topology) -> Result<(), ScenarioError> {
        exits::check("acor", topology)?;
        self.states.check().map_err(|error| error.under("states"))?;
        check_second_half(self.second_half, Via::Router, topology)
    }

    fn vcs_needed(&self, topology: &dyn Topology) -> (Vec<u8>, String) {
        topology.vcs_needed(Leg { index: 0, of: 2, to_group: false })
    }

    /// A route to a group is a route to the router by which it enters the group, over the same channels.
    fn proof(&self) -> Proof {
        match self.second_half {
            SecondHalf::Next => Proof::Order(vec![next_routes()]),
            SecondHalf::Above => Proof::legs(Legs::ToRouter),
        }
    }

    fn reads_buffers(&self) -> bool {
        false
    }

    fn observables(&self) -> &'static [Observable] {
        if self.states.are_of_routers() { &[STATE_OF_ROUTER] } else { &[] }
    }

    fn build(&self, context: &RoutingContext) -> Box<dyn Routing> {
        Box::new(Rule { adapting: Adapting::new(&self.states, context), second_half: self.second_half })
    }
}

struct Rule {
    adapting: Adapting,
    second_half: SecondHalf,
}

impl Routing for Rule {
    fn bytes(&self) -> usize {
        self.adapting.bytes()
    }

    fn wants(&self) -> Wants {
        Wants { redecide: true, every_tick: true, ..Wants::default() }
    }

    fn inject(&mut self, at: &mut Injection<'_>, packet: &mut Packet) {
        // A packet to its source's router is ejected at once, unless it has a stop already.
        if packet.destination_router == at.router {
            let place = Detour::AnyRouter.place();
            let stop = self.adapting.exits.draw(at.topology, (at.router, at.router), place, at.rng);
            send_through(at.topology, at.router, packet, stop);
        }
    }

    fn route(&mut self, view: &mut View<'_>, _: u16, _: u16, packet: &mut Packet) -> Option<Hop> {
        if packet.came_by == 0 {
            let stop = self.adapting.draw(view, packet, true);
            send_through(view.at.topology, view.at.router, packet, stop);
        }
        Some(exits::hop(view, packet, Via::Router, self.second_half))
    }

    fn observe(&self, router: u32, now: Tick, see: See<'_>) {
        self.adapting.observe(router, now, see);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::routing::exits::tests::context;

    /// The states of routers of which the first has `standing`.
    fn adapting(standing: Standing) -> Adapting {
        let mut adapting = Adapting::new(&States::default(), &context());
        adapting.standing[0] = standing;
        adapting
    }

    /// State, repeated decisions and cycles left of the first router in cycle `now`.
    fn at(standing: Standing, now: u32) -> (u8, u32, u32) {
        let Standing { state, repeated, remaining, .. } = adapting(standing).standing(0, now);
        (state, repeated, remaining)
    }

    #[test]
    fn a_router_rises_at_once_and_falls_at_the_end_of_a_period() {
        let begin = Standing { state: 0, repeated: 0, remaining: 100, seen: 0 };
        // 60 repeated decisions: the next state from the next cycle on, with a new period.
        assert_eq!(at(Standing { repeated: 60, ..begin }, 1), (1, 0, 100));
        assert_eq!(at(Standing { repeated: 59, ..begin }, 99), (0, 59, 1));
        assert_eq!(at(Standing { repeated: 59, ..begin }, 100), (0, 0, 100));
        // 15 in a whole period: the state before; not before the period has ended.
        let middle = Standing { state: 1, ..begin };
        assert_eq!(at(Standing { repeated: 15, ..middle }, 99), (1, 15, 1));
        assert_eq!(at(Standing { repeated: 15, ..middle }, 100), (0, 0, 100));
        assert_eq!(at(Standing { repeated: 16, ..middle }, 100), (1, 0, 100));
        // A rise in the last cycle of a period goes before the fall, and the last state has none above it.
        assert_eq!(at(Standing { repeated: 60, remaining: 1, ..middle }, 1), (2, 0, 100));
        assert_eq!(at(Standing { state: 2, repeated: 900, ..begin }, 100), (2, 0, 100));
        // Without packets, a state is lost in each period.
        assert_eq!(at(Standing { state: 2, repeated: 99, ..begin }, 250), (1, 0, 50));
        assert_eq!(at(Standing { state: 2, repeated: 99, ..begin }, 300), (0, 0, 100));
    }

    #[test]
    fn a_cycle_at_a_time_or_many_at_once() {
        for repeated in [0, 15, 16, 59, 60] {
            let begin = Standing { state: 1, repeated, remaining: 7, seen: 0 };
            let mut adapting = adapting(begin);
            for now in 1..320 {
                assert_eq!(at(begin, now), {
                    let one = adapting.standing(0, now);
                    adapting.standing[0] = one;
                    (one.state, one.repeated, one.remaining)
                });
            }
        }
    }

    #[test]
    fn states_are_two_or_three_in_order_and_thresholds_apart() {
        let refused = |states: States| states.check().unwrap_err().to_string();
        let usual = States::default;
        assert!(usual().check().is_ok());
        assert!(refused(States { order: vec![Detour::LinkRouter, Detour::LinkGroup], ..usual() }).contains("order"));
        assert!(refused(States { up: vec![60], ..usual() }).contains("up"));
        assert!(refused(States { down: vec![15, 60], ..usual() }).contains("down"));
        // A state per packet has no thresholds.
        assert!(States { per: Per::Packet, up: vec![], down: vec![], ..usual() }.check().is_ok());
    }
}
