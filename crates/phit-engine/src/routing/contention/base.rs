//! Base: contention counters alone (Fuentes et al., IPDPS 2015, section III-B).

use super::counters::Counters;
use super::crossing::{Alone, Crossing, InTurn, Leave};
use super::{CONTENTION, Comparison, Limit, Threshold};
use crate::error::ScenarioError;
use crate::fabric::seams::routing::{Changes, Proof};
use crate::measure::Observable;
use crate::packet::Packet;
use crate::routing::in_transit::{self, Candidate, Draw, InTransit, Misrouting, Trigger, minimal_port};
use crate::routing::{RouterView, Routing, RoutingContext, RoutingParams, See, Site, Wants};
use crate::topology::{Hop, Topology};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// In-transit adaptive routing by contention counters: a packet leaves its minimal route when too many heads want its
/// minimal output, for an output that few want (Fuentes et al., IPDPS 2015, section III-B).
///
/// Where and over which channels is as in OLM. For a Dragonfly.
///
/// A Dragonfly needs local virtual channels 0 to 2 and global ones 0 and 1.
///
/// ```toml
/// [topology]
/// kind = "dragonfly"
/// p = 2
/// a = 4
/// h = 2
///
/// [routing]
/// kind = "contention_base"
/// threshold = 4
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Base {
    /// Heads that an output may have waiting for it before packets leave it.
    pub threshold: Threshold,
    /// Whether the threshold itself triggers.
    pub comparison: Comparison,
    /// Effect of a counter over the threshold.
    pub trigger: Statistics,
    /// Until when a head that is crossing the crossbar is counted.
    #[serde(skip_serializing_if = "Crossing::is_tail")]
    pub crossing: Crossing,
    /// The ports among which another output is drawn.
    #[serde(skip_serializing_if = "Draw::is_of_valid")]
    pub draw: Draw,
    /// Where packets leave their minimal route, and in which channels.
    #[serde(skip_serializing_if = "Misrouting::is_usual")]
    pub misrouting: Misrouting,
}

/// Effect of a contention counter over its threshold.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Statistics {
    /// All packets leave the output (the paper's mechanisms).
    #[default]
    Always,
    /// A packet leaves the output with a probability that grows with the counter, so that a certain share of packets
    /// takes the minimal route (section VI-C). The probability grows by this value for every head from the first that
    /// triggers on.
    Probability(#[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1))] f64),
}

impl Statistics {
    /// True if `packet` leaves the output of this router when its counter is `excess` heads over.
    ///
    /// Every packet has one number drawn at every router, so that a blocked packet does not try its luck again and
    /// again.
    pub(super) fn fires(self, excess: u16, packet: &Packet, view: &RouterView<'_>) -> bool {
        match self {
            Self::Always => excess > 0,
            Self::Probability(step) => excess > 0 && view.rng_of(packet).unit() < step * f64::from(excess),
        }
    }
}

impl RoutingParams for Base {
    fn check(&self, topology: &dyn Topology) -> Result<(), ScenarioError> {
        in_transit::check("contention_base", topology)
    }
    fn vcs_needed(&self, _: &dyn Topology) -> (Vec<u8>, String) {
        self.misrouting.vcs_needed()
    }
    fn proof(&self) -> Proof {
        self.misrouting.proof()
    }
    fn observables(&self) -> &'static [Observable] {
        &[CONTENTION]
    }
    fn build(&self, context: &RoutingContext) -> Box<dyn Routing> {
        match self.crossing {
            Crossing::Tail => Box::new(
                InTransit::new(Contention::<Alone>::new(self, context), context).by(self.draw, self.misrouting),
            ),
            Crossing::Fifo => Box::new(
                InTransit::new(Contention::<InTurn>::new(self, context), context).by(self.draw, self.misrouting),
            ),
        }
    }
}

/// The trigger by contention counters.
pub(super) struct Contention<L> {
    counters: Counters,
    transfers: L,
    limit: Limit,
    statistics: Statistics,
}

impl<L: Leave> Contention<L> {
    pub(super) fn new(params: &Base, context: &RoutingContext) -> Self {
        let counters = Counters::of_ports(context);
        Self {
            transfers: L::new(&counters),
            counters,
            limit: Limit::new(params.threshold, params.comparison, context),
            statistics: params.trigger,
        }
    }

    /// Counts a head that has come to the front of a queue and wants output `wanted`.
    #[inline(always)]
    pub(super) fn count(&mut self, at: &mut Site<'_>, port: u16, queue: u16, wanted: u16) {
        let count = self.counters.arrived(at, port, queue, wanted);
        self.tell(at, wanted, count);
    }

    /// The output that the head of a queue wants, if the head is counted.
    pub(super) fn wanted(&self, view: &RouterView<'_>, port: u16, queue: u16) -> Option<u16> {
        self.counters.wanted(view, port, queue)
    }

    /// True if enough heads want `port` for packets to leave it.
    pub(super) fn is_contended(&self, view: &RouterView<'_>, port: u16) -> bool {
        self.limit.is_over(self.counters.of(view, port))
    }

    /// True if so few heads want `port` that packets from elsewhere may take it.
    pub(super) fn is_calm(&self, view: &RouterView<'_>, port: u16) -> bool {
        self.limit.is_under(self.counters.of(view, port))
    }

    /// Heads that watch `port` must be asked again if the step between `higher` and one less means something to them.
    #[inline]
    fn tell(&self, at: &mut Site<'_>, port: u16, higher: u16) {
        // Beyond the limit every head makes a difference to a probability.
        let graded = || self.statistics != Statistics::Always && self.limit.is_over(higher);
        if self.limit.was_crossed(higher) || graded() {
            at.wake(port);
        }
    }
}

impl<L: Leave> Trigger for Contention<L> {
    type Reason = ();

    fn wants(&self) -> Wants {
        Wants { heads: true, ..Wants::default() }
    }

    #[inline(always)]
    fn minimal_port(&self, view: &RouterView<'_>, port: u16, queue: u16, packet: &Packet) -> u16 {
        self.counters.wanted(view, port, queue).unwrap_or_else(|| minimal_port(view, packet))
    }

    fn fired_by(&self) -> Changes {
        Changes::ANNOUNCED
    }

    fn admitted_by(&self) -> Changes {
        Changes::ANNOUNCED
    }

    #[inline(always)]
    fn fires(&self, view: &RouterView<'_>, head: &Candidate<'_>) -> Option<()> {
        let excess = self.limit.excess(self.counters.of(view, head.minimal.port));
        self.statistics.fires(excess, head.packet, view).then_some(())
    }

    #[inline]
    fn admits(&self, view: &RouterView<'_>, _: &Candidate<'_>, (): (), (other, _): (Hop, u32)) -> bool {
        self.is_calm(view, other.port)
    }

    #[inline(always)]
    fn head_arrived(&mut self, at: &mut Site<'_>, port: u16, queue: u16, packet: &Packet) {
        let wanted = minimal_port(at, packet);
        self.count(at, port, queue, wanted);
    }

    #[inline(always)]
    fn tail_left(&mut self, at: &mut Site<'_>, port: u16, queue: u16) {
        let Some(wanted) = self.counters.gone(at, port, queue) else { return };
        for _ in 0..self.transfers.ended(&self.counters, at, (port, queue), wanted) {
            let count = self.counters.fewer(at, wanted);
            self.tell(at, wanted, count + 1);
        }
    }

    #[inline(always)]
    fn departs(&mut self, at: &RouterView<'_>, port: u16, queue: u16, hop: Hop) {
        self.transfers.began(&self.counters, at, (port, queue), hop);
    }

    fn observe(&self, router: u32, see: See<'_>) {
        for (port, count) in self.counters.all(router).iter().enumerate() {
            see(&CONTENTION, Some(port as u16), (*count).into());
        }
    }
}
