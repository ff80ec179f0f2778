//! A probe written in Python.

use super::{Observation, ProbeParams};
use crate::foreign::{self, Functions, Name, Parameters, PortCalls, PortSeen, Role};
use crate::measure::{Observable, Place, Record};
use crate::topology::Peer;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::{Mutex, PoisonError};

/// A Python function, compiled by `numba`, looks at every port and returns a whole number for it, or none.
///
/// On the command line and in Python, `file` names the file of the function. Phit takes only the code that the function
/// needs from it. The file is executed only with consent (`--trust-python`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PythonProbe {
    /// Name of the function, which is decorated by `phit.probe`.
    pub function: String,
    /// Source text, line by line, of the function and the code that it needs.
    pub source: Vec<String>,
    /// Numbers for its parameters, by their names. Other parameters take their defaults.
    pub parameters: Parameters,
    /// Cycles between two looks, at least 1.
    #[schemars(range(min = 1))]
    #[schemars(extend("x-unit" = "cycles"))]
    pub every: u32,
    /// Unit of the numbers, for tables and axes.
    pub unit: String,
    /// Which numbers are tallied together.
    pub by: By,
}

/// Which numbers of a probe are tallied together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum By {
    /// All numbers of a class of links.
    #[default]
    Class,
    /// All numbers of a router.
    Router,
    /// None: each port has a row.
    Port,
}

impl Default for PythonProbe {
    fn default() -> Self {
        let (function, source, parameters, unit) = Default::default();
        Self { function, source, parameters, every: 100, unit, by: By::default() }
    }
}

impl PythonProbe {
    /// The observable, named like the function. Declarations live for ever: there is one for each name and unit.
    fn observable(&self) -> &'static Observable {
        static DECLARED: Mutex<Vec<&'static Observable>> = Mutex::new(Vec::new());
        let mut declared = DECLARED.lock().unwrap_or_else(PoisonError::into_inner);
        let name = if self.function.is_empty() { "python" } else { &self.function };
        if let Some(known) = declared.iter().find(|known| known.name == name && known.unit == self.unit) {
            return known;
        }
        let text = |text: &str| &*Box::leak(text.to_owned().into_boxed_str());
        let words = text(&name.replace('_', " "));
        let about = "What a Python function says of a port.";
        let new: &Observable =
            Box::leak(Box::new(Observable { name: text(name), words, unit: text(&self.unit), about }));
        declared.push(new);
        new
    }
}

impl ProbeParams for PythonProbe {
    fn every(&self) -> u32 {
        self.every
    }

    fn observables(&self) -> &'static [Observable] {
        std::slice::from_ref(self.observable())
    }

    #[allow(unsafe_code)]
    fn look(&self, at: &dyn Observation, record: Record<'_>) {
        let name = Name::new(Role::Probe, &self.function, &self.source);
        let Some(Functions::Probe(looks)) = name.ok().and_then(|name| foreign::find(&name)) else { return };
        let (observable, parameters, here) =
            (self.observable(), foreign::values(&self.parameters), std::ptr::from_ref(&at));
        for router in at.routers() {
            for port in 0..at.topology().ports(router) {
                let graph = at.topology().port(router, port);
                let neighbour = match graph.peer {
                    Peer::Router { router, .. } => router,
                    Peer::Endpoint(_) | Peer::None => u32::MAX,
                };
                let of_link = (graph.class, at.queues(router, port));
                let seen = PortSeen::new(&CALLS, here.cast(), &parameters, (router, port), of_link, neighbour);
                // SAFETY: whoever registered the function has promised that it can be called with a pointer to a
                // `PortSeen` (`foreign::register`). The references in `seen` live until the end of this function.
                let said = unsafe { looks(&seen) };
                let place = match self.by {
                    By::Class => Place::class(graph.class),
                    By::Router => Place::router(router),
                    By::Port => Place::port(router, port),
                };
                if let Ok(value) = u32::try_from(said) {
                    record(observable, place, value);
                }
            }
        }
    }
}

static CALLS: PortCalls = PortCalls { input_phits, output_phits, arrivals };

/// The observation behind the calls, and the queue of that number.
#[allow(unsafe_code)]
fn queue<'a>(seen: *const PortSeen<'a>, number: i64) -> Option<(&'a dyn Observation, &'a PortSeen<'a>, u16)> {
    // SAFETY: a function may pass on only the pointer that it was given (`foreign::register`). This pointer leads to a
    // `PortSeen` on the stack of `PythonProbe::look`, made with the address of its argument `at`, a reference to an
    // observation that outlives the function's run. Both are only read.
    let (at, seen) = unsafe { (*(*seen).at().cast::<&'a dyn Observation>(), &*seen) };
    let queue = u16::try_from(number).ok().filter(|queue| *queue < seen.queues)?;
    Some((at, seen, queue))
}

extern "C" fn input_phits(seen: *const PortSeen<'_>, number: i64) -> i64 {
    queue(seen, number).map_or(-1, |(at, of, queue)| at.input_phits(of.router, of.port, queue).into())
}

extern "C" fn output_phits(seen: *const PortSeen<'_>, number: i64) -> i64 {
    let found = queue(seen, number).and_then(|(at, of, queue)| at.output_phits(of.router, of.port, queue));
    found.map_or(-1, Into::into)
}

extern "C" fn arrivals(seen: *const PortSeen<'_>, number: i64) -> i64 {
    queue(seen, number).map_or(-1, |(at, of, queue)| at.arrivals(of.router, of.port, queue).into())
}
