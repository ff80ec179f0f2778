//! A trigger written in Python.

use super::seen;
use crate::error::ScenarioError;
use crate::fabric::seams::routing::Proof;
use crate::foreign::{self, Functions, Name, Parameters, Role, RouterSeen, TriggerFunctions};
use crate::measure::Observable;
use crate::packet::Packet;
use crate::routing::contention::{CONTENTION, Counters};
use crate::routing::in_transit::{self, Candidate, InTransit, Trigger, minimal_port};
use crate::routing::{RouterView, Routing, RoutingContext, RoutingParams, See, Site, Wants};
use crate::topology::{Hop, Topology};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// In-transit adaptive routing whose trigger is a Python function, compiled by `numba`: it says when a packet leaves
/// its minimal route, and another one which outputs it may take instead.
///
/// Outputs and channels are as in OLM. For a Dragonfly. On the command line and in Python, `file` names the file of the
/// function. Phit takes only the code that the function needs from it. The file is executed only with consent
/// (`--trust-python`).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PythonTrigger {
    /// Name of the function, which is decorated by `phit.trigger`.
    pub function: String,
    /// Source text, line by line, of the function and the code that it needs.
    pub source: Vec<String>,
    /// Numbers for its parameters, by their names. Other parameters take their defaults.
    pub parameters: Parameters,
}

impl PythonTrigger {
    fn name(&self) -> Result<Name, ScenarioError> {
        Name::new(Role::Trigger, &self.function, &self.source)
    }
}

impl RoutingParams for PythonTrigger {
    fn check(&self, topology: &dyn Topology) -> Result<(), ScenarioError> {
        self.name()?;
        in_transit::check("python_trigger", topology)
    }
    fn vcs_needed(&self, _: &dyn Topology) -> (Vec<u8>, String) {
        in_transit::vcs_needed()
    }
    fn proof(&self) -> Proof {
        in_transit::proof()
    }
    fn observables(&self) -> &'static [Observable] {
        &[CONTENTION]
    }
    fn build(&self, context: &RoutingContext) -> Box<dyn Routing> {
        let Some(Functions::Trigger(functions)) = self.name().ok().and_then(|name| foreign::find(&name)) else {
            // A run is refused before (`Scenario::registered`): this network is built to be looked at.
            return Box::new(InTransit::new(Never, context));
        };
        let rule =
            Rule { functions, parameters: foreign::values(&self.parameters), counters: Counters::of_ports(context) };
        Box::new(InTransit::new(rule, context))
    }
}

/// A trigger that never fires.
struct Never;

impl Trigger for Never {
    type Reason = ();

    fn fires(&self, _: &RouterView<'_>, _: &Candidate<'_>) -> Option<()> {
        None
    }
    fn admits(&self, _: &RouterView<'_>, _: &Candidate<'_>, (): (), _: (Hop, u32)) -> bool {
        false
    }
}

struct Rule {
    functions: TriggerFunctions,
    parameters: Vec<f64>,
    counters: Counters,
}

impl Rule {
    /// The functions' view for a head's decision.
    #[inline]
    fn seen_by<'a>(&'a self, view: &'a RouterView<'_>, head: &Candidate<'_>) -> RouterSeen<'a> {
        seen(view, &self.counters, &self.parameters).of_head(head.minimal.port, head.port, head.queue)
    }

    /// Heads that watch `port` must be asked again if the step between `higher` and one less means something to them.
    #[inline]
    #[allow(unsafe_code)]
    fn tell(&self, at: &mut Site<'_>, port: u16, higher: u16) {
        let minded = self.functions.minds.is_none_or(|minds| {
            let seen = seen(at, &self.counters, &self.parameters);
            // SAFETY: whoever registered the function has promised that it can be called with a pointer to a
            // `RouterSeen` (`foreign::register`). The references in `seen` live until the end of the call.
            unsafe { minds(&seen, port.into(), higher.into()) != 0 }
        });
        if minded {
            at.wake(port);
        }
    }
}

impl Trigger for Rule {
    type Reason = ();

    fn wants(&self) -> Wants {
        Wants { heads: self.functions.reads_heads, ..Wants::default() }
    }

    fn reads_outputs(&self) -> bool {
        self.functions.reads_outputs
    }

    #[inline]
    fn minimal_port(&self, view: &RouterView<'_>, port: u16, queue: u16, packet: &Packet) -> u16 {
        self.counters.wanted(view, port, queue).unwrap_or_else(|| minimal_port(view, packet))
    }

    #[inline]
    #[allow(unsafe_code)]
    fn fires(&self, view: &RouterView<'_>, head: &Candidate<'_>) -> Option<()> {
        let seen = self.seen_by(view, head);
        // SAFETY: as in `tell`; the packet is a reference that outlives the call, too.
        let fires = unsafe { (self.functions.fires)(&seen, head.packet) };
        (fires != 0).then_some(())
    }

    #[inline]
    #[allow(unsafe_code)]
    fn admits(&self, view: &RouterView<'_>, head: &Candidate<'_>, (): (), (other, _): (Hop, u32)) -> bool {
        self.functions.admits.is_none_or(|admits| {
            let seen = self.seen_by(view, head);
            // SAFETY: as in `tell`; the packet is a reference that outlives the call, too.
            unsafe { admits(&seen, head.packet, other.port.into()) != 0 }
        })
    }

    #[inline]
    fn head_arrived(&mut self, at: &mut Site<'_>, port: u16, queue: u16, packet: &Packet) {
        let wanted = minimal_port(at, packet);
        let count = self.counters.arrived(at, port, queue, wanted);
        self.tell(at, wanted, count);
    }

    #[inline]
    fn tail_left(&mut self, at: &mut Site<'_>, port: u16, queue: u16) {
        if let Some((wanted, count)) = self.counters.left(at, port, queue) {
            self.tell(at, wanted, count + 1);
        }
    }

    fn observe(&self, router: u32, see: See<'_>) {
        for (port, count) in self.counters.all(router).iter().enumerate() {
            see(&CONTENTION, Some(port as u16), (*count).into());
        }
    }
}
