//! Hybrid: contention counters or credits, whichever asks for it (Fuentes et al., IPDPS 2015, section III-C).

use super::base::{Base, Contention, Statistics};
use super::crossing::{Alone, InTurn, Leave};
use super::{CONTENTION, Comparison, Crossing, Threshold};
use crate::error::ScenarioError;
use crate::fabric::seams::routing::{Changes, Proof};
use crate::measure::Observable;
use crate::packet::Packet;
use crate::routing::in_transit::{self, Awaited, Candidate, Draw, InTransit, Misrouting, Trigger};
use crate::routing::olm::{Credits, Most, Olm, Restriction};
use crate::routing::{RouterView, Routing, RoutingContext, RoutingParams, See, Site, Wants};
use crate::topology::{Hop, Topology};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which outputs a packet may take that leaves its minimal output because of the contention there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Candidates {
    /// The outputs that few heads want, as in Base.
    #[default]
    Counter,
    /// All (FOGSim).
    Any,
}

/// In-transit adaptive routing by contention counters or credits: a packet leaves its minimal route when either asks
/// for it (Fuentes et al., IPDPS 2015, section III-C).
///
/// Each threshold can then be higher than if it stood alone. For a Dragonfly.
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
/// kind = "contention_hybrid"
/// threshold = 5
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Hybrid {
    /// Heads that an output may have waiting for it before packets leave it.
    pub threshold: Threshold,
    /// Whether the threshold itself triggers.
    pub comparison: Comparison,
    /// The effect of a counter over the threshold.
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
    /// Where packets may go that leave because of contention.
    pub candidates: Candidates,
    /// Largest occupancy of a nonminimal output, as a share of the minimal output's, for a packet that leaves because
    /// of credits.
    #[schemars(range(min = 0.0))]
    pub credit_threshold: f64,
    /// A further condition on leaving a minimal global port because of credits, if any.
    pub restriction: Option<Restriction>,
}

impl Default for Hybrid {
    fn default() -> Self {
        Self {
            threshold: Threshold::Auto,
            comparison: Comparison::default(),
            trigger: Statistics::default(),
            crossing: Crossing::default(),
            draw: Draw::default(),
            misrouting: Misrouting::default(),
            candidates: Candidates::default(),
            credit_threshold: 0.35,
            restriction: None,
        }
    }
}

impl Hybrid {
    fn olm(&self) -> Olm {
        Olm { threshold: self.credit_threshold, restriction: self.restriction, ..Olm::default() }
    }
}

impl RoutingParams for Hybrid {
    fn check(&self, topology: &dyn Topology) -> Result<(), ScenarioError> {
        in_transit::check("contention_hybrid", topology)
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
            Crossing::Tail => {
                Box::new(InTransit::new(Either::<Alone>::new(self, context), context).by(self.draw, self.misrouting))
            }
            Crossing::Fifo => {
                Box::new(InTransit::new(Either::<InTurn>::new(self, context), context).by(self.draw, self.misrouting))
            }
        }
    }
}

struct Either<L> {
    contention: Contention<L>,
    credits: Credits,
    candidates: Candidates,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reason {
    Contention,
    /// With the largest occupancy of another output.
    Credits(Most),
}

impl<L: Leave> Either<L> {
    fn new(params: &Hybrid, context: &RoutingContext) -> Self {
        let &Hybrid { threshold, comparison, trigger, crossing, candidates, .. } = params;
        let base =
            Base { threshold, comparison, trigger, crossing, draw: Draw::Valid, misrouting: Misrouting::default() };
        let contention = Contention::new(&base, context);
        Self { contention, credits: Credits::new(&params.olm(), context), candidates }
    }
}

impl<L: Leave> Trigger for Either<L> {
    type Reason = Reason;

    fn wants(&self) -> Wants {
        self.contention.wants()
    }

    #[inline(always)]
    fn minimal_port(&self, view: &RouterView<'_>, port: u16, queue: u16, packet: &Packet) -> u16 {
        self.contention.minimal_port(view, port, queue, packet)
    }

    fn fired_by(&self) -> Changes {
        self.contention.fired_by().and(self.credits.fired_by())
    }

    fn admitted_by(&self) -> Changes {
        self.contention.admitted_by().and(self.credits.admitted_by())
    }

    #[inline]
    fn awaits(&self, view: &RouterView<'_>, head: &Candidate<'_>, reason: Reason, least: u32) -> Option<Awaited> {
        match reason {
            Reason::Contention => None,
            Reason::Credits(most) => self.credits.awaits(view, head, most, least),
        }
    }

    fn compares_global_ports(&self) -> bool {
        self.credits.compares_global_ports()
    }

    #[inline(always)]
    fn fires(&self, view: &RouterView<'_>, head: &Candidate<'_>) -> Option<Reason> {
        match self.contention.fires(view, head) {
            Some(()) => Some(Reason::Contention),
            None => self.credits.fires(view, head).map(Reason::Credits),
        }
    }

    #[inline]
    fn admits(&self, view: &RouterView<'_>, head: &Candidate<'_>, reason: Reason, other: (Hop, u32)) -> bool {
        match (reason, self.candidates) {
            (Reason::Contention, Candidates::Any) => true,
            (Reason::Contention, Candidates::Counter) => self.contention.admits(view, head, (), other),
            (Reason::Credits(most), _) => self.credits.admits(view, head, most, other),
        }
    }

    #[inline(always)]
    fn head_arrived(&mut self, at: &mut Site<'_>, port: u16, queue: u16, packet: &Packet) {
        self.contention.head_arrived(at, port, queue, packet);
    }

    #[inline(always)]
    fn tail_left(&mut self, at: &mut Site<'_>, port: u16, queue: u16) {
        self.contention.tail_left(at, port, queue);
    }

    #[inline(always)]
    fn departs(&mut self, at: &RouterView<'_>, port: u16, queue: u16, hop: Hop) {
        self.contention.departs(at, port, queue, hop);
    }

    fn observe(&self, router: u32, see: See<'_>) {
        self.contention.observe(router, see);
    }
}
