//! A traffic pattern written in Python.

use super::{Pattern, PatternParams};
use crate::engine::Rng;
use crate::error::ScenarioError;
use crate::foreign::{self, Chooses, Functions, Name, Parameters, Role, SourceCalls, SourceSeen};
use crate::topology::Topology;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A Python function, compiled by `numba`, returns the destination of each packet.
///
/// On the command line and in Python, `file` names the file of the function. Phit takes only the code that the function
/// needs from it. The file is executed only with consent (`--trust-python`).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PythonPattern {
    /// Name of the function, which is decorated by `phit.pattern`.
    pub function: String,
    /// Source text, line by line, of the function and the code that it needs.
    pub source: Vec<String>,
    /// Numbers for its parameters, by their names. Other parameters take their defaults.
    pub parameters: Parameters,
}

impl PatternParams for PythonPattern {
    fn build(&self, topology: &dyn Topology, _: u64) -> Result<Arc<dyn Pattern>, ScenarioError> {
        let chooses = match foreign::find(&Name::new(Role::Pattern, &self.function, &self.source)?) {
            Some(Functions::Pattern(chooses)) => Some(chooses),
            // A run without the function has been refused already (`Scenario::registered`). Here the pattern is built
            // only to be inspected.
            _ => None,
        };
        Ok(Arc::new(Rule {
            chooses,
            parameters: foreign::values(&self.parameters),
            attachments: (0..topology.endpoints()).map(|endpoint| topology.attachment(endpoint).0).collect(),
            routers: topology.routers(),
        }))
    }
}

#[derive(Debug)]
struct Rule {
    chooses: Option<Chooses>,
    parameters: Vec<f64>,
    /// The router of each endpoint.
    attachments: Vec<u32>,
    routers: u32,
}

impl Pattern for Rule {
    fn destination(&self, source: u32, rng: &mut Rng) -> Option<u32> {
        self.message_destination(source, 0, rng)
    }

    #[allow(unsafe_code)]
    fn message_destination(&self, source: u32, number: u32, rng: &mut Rng) -> Option<u32> {
        let chooses = self.chooses?;
        let seen = SourceSeen::new(&CALLS, (source, number), self.routers, &self.attachments, &self.parameters, rng);
        // SAFETY: whoever registered the function has promised that it can be called with a pointer to a `SourceSeen`
        // (`foreign::register`). The references in `seen` live until the end of the call.
        let said = unsafe { chooses(&seen) };
        u32::try_from(said).ok().filter(|to| (*to as usize) < self.attachments.len())
    }
}

static CALLS: SourceCalls = SourceCalls { random, below };

/// The stream that a function may draw from.
#[allow(unsafe_code)]
fn stream<'a>(seen: *const SourceSeen<'_>) -> &'a mut Rng {
    // SAFETY: a function may pass on only the pointer that it was given (`foreign::register`). This pointer leads to a
    // `SourceSeen` on the stack of `Rule::message_destination`, which holds the stream's mutable reference until the
    // function returns. The function waits for this call, so no other reference to the stream is in use.
    unsafe { &mut *(*seen).rng() }
}

extern "C" fn random(seen: *const SourceSeen<'_>) -> f64 {
    stream(seen).unit()
}

extern "C" fn below(seen: *const SourceSeen<'_>, number: i64) -> i64 {
    match u32::try_from(number) {
        Ok(number @ 1..) => stream(seen).below(number).into(),
        _ => 0,
    }
}
