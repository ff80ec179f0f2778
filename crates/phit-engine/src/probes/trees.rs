//! The congestion trees at each port.

use super::{Observation, ProbeParams};
use crate::measure::{Line, Observable, Place, Record, unit};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The congestion trees that a managed queue organisation has found: a row for every line in use. A row has the router,
/// the port, the virtual channel, the side of the port and the number of the line. It also has the line's destinations,
/// the links to the congested point, and whether it is stopped. The value, `line phits`, is the phits in its queue, and
/// 0 at outputs.
///
/// ```toml
/// [topology]
/// kind = "k_ary_n_tree"
/// arity = 4
/// levels = 2
///
/// [router]
/// admittance = "per_destination"
///
/// [router.links.default]
/// vcs = 1
/// buffer = 256
///
/// [routing]
/// kind = "table"
///
/// [queueing]
/// kind = "fbicm"
/// detection = 16
/// stop = 16
/// go = 8
///
/// [[measure.probes]]
/// kind = "trees"
/// every = 50
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TreesProbe {
    /// Cycles between two looks, at least 1.
    #[schemars(range(min = 1))]
    #[schemars(extend("x-unit" = "cycles"))]
    pub every: u32,
}

impl Default for TreesProbe {
    fn default() -> Self {
        Self { every: 10_000 }
    }
}

const PHITS: Observable = Observable {
    name: "line phits",
    words: "phits in the queue of a line",
    unit: unit::PHITS,
    about: "Phits in the queue of a line in use, for each line; 0 at outputs.",
};

impl ProbeParams for TreesProbe {
    fn every(&self) -> u32 {
        self.every
    }

    fn observables(&self) -> &'static [Observable] {
        &[PHITS]
    }

    fn look(&self, at: &dyn Observation, record: Record<'_>) {
        for router in at.routers() {
            for port in 0..at.topology().ports(router) {
                at.trees(router, port, &mut |branch| {
                    let line = Line {
                        input: branch.input,
                        number: branch.line,
                        hops: branch.hops,
                        stopped: branch.stopped,
                        destinations: branch.destinations.to_vec(),
                    };
                    let vc = Some(branch.vc.into());
                    record(&PHITS, Place { vc, line: Some(Arc::new(line)), ..Place::port(router, port) }, branch.phits);
                });
            }
        }
    }
}
