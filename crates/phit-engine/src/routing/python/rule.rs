//! A whole rule written in Python, on any network.

use super::calls::may_take;
use super::seen;
use crate::engine::Tick;
use crate::error::ScenarioError;
use crate::fabric::seams::routing::{Ladder, Proof};
use crate::foreign::{self, Functions, Name, Parameters, Role, RuleFunctions};
use crate::measure::Observable;
use crate::packet::{MISROUTED_LOCALLY, Packet};
use crate::routing::contention::{CONTENTION, Counters};
use crate::routing::{RouterView, Routing, RoutingContext, RoutingParams, See, Site, View, Wants, ladder};
use crate::topology::{Hop, Topology};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// In-transit adaptive routing whose rule is a Python function, compiled by `numba`: at every router it returns the
/// port over which a packet goes on. On any network whose links lead both ways.
///
/// The virtual channel of a hop is the number of hops taken before it, so channels rise along every route, whatever the
/// function returns. On the command line and in Python, `file` names the file of the function. Phit takes only the code
/// that the function needs from it. The file is executed only with consent (`--trust-python`).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PythonRule {
    /// Name of the function, which is decorated by `phit.rule`.
    pub function: String,
    /// Source text, line by line, of the function and the code that it needs.
    pub source: Vec<String>,
    /// Numbers for its parameters, by their names. Other parameters take their defaults.
    pub parameters: Parameters,
    /// Links of the longest route: a packet takes no hop after which a minimal route would exceed it. By default, twice
    /// the longest minimal route.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub hops: Option<u32>,
}

impl PythonRule {
    fn name(&self) -> Result<Name, ScenarioError> {
        Name::new(Role::Rule, &self.function, &self.source)
    }
}

/// Links of the longest route.
fn longest(hops: Option<u32>, topology: &dyn Topology) -> u32 {
    hops.unwrap_or_else(|| topology.diameter().saturating_mul(2)).max(1)
}

impl RoutingParams for PythonRule {
    fn check(&self, topology: &dyn Topology) -> Result<(), ScenarioError> {
        self.name()?;
        ladder::check("python_rule", topology)?;
        let hops = longest(self.hops, topology);
        if hops < topology.diameter() {
            let expected = format!("minimal routes have up to {} links; expected as many or more", topology.diameter());
            return Err(ScenarioError::new("hops", hops, expected));
        }
        ladder::check_hops("hops", hops, hops)
    }
    fn vcs_needed(&self, topology: &dyn Topology) -> (Vec<u8>, String) {
        ladder::vcs_needed(topology, longest(self.hops, topology))
    }
    fn proof(&self) -> Proof {
        let hops = self.hops;
        Proof::Ladder(Ladder { longest: Box::new(move |topology| longest(hops, topology)), steps: None })
    }
    fn observables(&self) -> &'static [Observable] {
        &[CONTENTION]
    }
    fn build(&self, context: &RoutingContext) -> Box<dyn Routing> {
        let functions = match self.name().ok().and_then(|name| foreign::find(&name)) {
            Some(Functions::Rule(functions)) => Some(functions),
            // A run is refused before (`Scenario::registered`): this network is built to be looked at.
            _ => None,
        };
        Box::new(Rule {
            functions,
            parameters: foreign::values(&self.parameters),
            counters: Counters::of_ports(context),
            hops: longest(self.hops, &*context.topology),
        })
    }
}

struct Rule {
    functions: Option<RuleFunctions>,
    parameters: Vec<f64>,
    counters: Counters,
    /// Links of the longest route.
    hops: u32,
}

impl Rule {
    /// The port over which a packet goes on; `None` for none yet.
    #[allow(unsafe_code)]
    fn decide(&mut self, view: &mut View<'_>, (port, queue): (u16, u16), packet: &Packet) -> Option<u16> {
        let minimal = ladder::minimal_port(view, packet, packet.destination_router);
        let Some(RuleFunctions { decides, .. }) = self.functions else { return Some(minimal) };
        let left = self.hops.saturating_sub(packet.hops.total() + 1);
        let View { at, rng, .. } = view;
        let seen = seen(at, &self.counters, &self.parameters).of_head(minimal, port, queue).of_route(left, rng);
        // SAFETY: whoever registered the function has promised that it can be called with a pointer to a `RouterSeen`
        // and one to a `Packet` (`foreign::register`). Both are borrowed until the end of the call.
        let said = unsafe { decides(&seen, packet) };
        if said < 0 {
            return None;
        }
        // The compiled function checks its own result, and an error ends the run. This check keeps channels in order.
        let permitted = u16::try_from(said).ok().filter(|port| *port < at.ports() && may_take(at, packet, *port, left));
        Some(permitted.unwrap_or(minimal))
    }
}

impl Routing for Rule {
    fn wants(&self) -> Wants {
        let heads = self.functions.is_some_and(|functions| functions.reads_heads);
        Wants { redecide: true, heads, departures: true, ..Wants::default() }
    }

    fn route(&mut self, view: &mut View<'_>, port: u16, queue: u16, packet: &mut Packet) -> Option<Hop> {
        let port = self.decide(view, (port, queue), packet)?;
        Some(ladder::over(view, port, packet, self.hops))
    }

    fn departs(&mut self, at: &RouterView<'_>, _: u16, _: u16, hop: Hop, packet: &mut Packet) {
        let to = packet.destination_router;
        let next = ladder::behind(at.topology, at.router, hop.port);
        if next.is_some_and(|next| at.topology.distance(next, to) >= at.topology.distance(at.router, to)) {
            packet.misrouted |= MISROUTED_LOCALLY;
        }
    }

    fn head_arrived(&mut self, at: &mut Site<'_>, port: u16, queue: u16, packet: &mut Packet) {
        let wanted = match packet.destination_router == at.router {
            true => packet.ejection_port,
            false => ladder::minimal_port(at, packet, packet.destination_router),
        };
        self.counters.arrived(at, port, queue, wanted);
        at.wake(wanted);
    }

    fn tail_left(&mut self, at: &mut Site<'_>, port: u16, queue: u16) {
        if let Some((wanted, _)) = self.counters.left(at, port, queue) {
            at.wake(wanted);
        }
    }

    fn observe(&self, router: u32, _: Tick, see: See<'_>) {
        for (port, count) in self.counters.all(router).iter().enumerate() {
            see(&CONTENTION, Some(port as u16), (*count).into());
        }
    }
}
