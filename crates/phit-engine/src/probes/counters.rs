//! The counters of a routing mechanism.

use super::{LooksAt, Observation, ProbeParams};
use crate::error::ScenarioError;
use crate::measure::{Place, Record};
use crate::topology::{Lookup, Named, Topology};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The counters that the routing mechanism keeps in each router, by name.
///
/// - `contention`: heads that want an output port;
/// - `partial` and `combined` of ECtN: heads that want a global link of the group;
/// - `flag` of PB: 1 if a global link is flagged;
/// - `sent` and `through` of TPR: packets sent to a destination, and forwarded over a port, within the window.
///
/// Each value is one counter of one router.
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
///
/// [[measure.probes]]
/// kind = "counters"
/// every = 50
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CountersProbe {
    /// Cycles between two looks, at least 1.
    #[schemars(range(min = 1))]
    #[schemars(extend("x-unit" = "cycles"))]
    pub every: u32,
    /// The only router that is observed, by its number or its name; all routers if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub router: Option<Named>,
    /// Whether each counter is recorded by itself, with its `index`: the number of the port, or of another object that
    /// it counts for.
    pub by_index: bool,
}

impl Default for CountersProbe {
    fn default() -> Self {
        Self { every: 100, router: None, by_index: false }
    }
}

impl ProbeParams for CountersProbe {
    fn every(&self) -> u32 {
        self.every
    }

    fn looks_at(&self) -> LooksAt {
        LooksAt::Routing
    }

    fn check(&self, topology: &dyn Topology) -> Result<(), ScenarioError> {
        let found = self.router.as_ref().map(|router| Lookup::new(topology).router(|| "router".into(), router));
        found.transpose().map(drop)
    }

    fn look(&self, at: &dyn Observation, record: Record<'_>) {
        let words = at.topology().words();
        let wanted = |router: &u32| match &self.router {
            None => true,
            Some(Named::Number(only)) => only == router,
            Some(Named::Name(only)) => words.router_name(*router) == Some(only),
        };
        for router in at.routers().filter(wanted) {
            at.mechanism(router, &mut |quantity, index, value| {
                record(quantity, Place { index: index.filter(|_| self.by_index), ..Place::default() }, value);
            });
        }
    }
}
