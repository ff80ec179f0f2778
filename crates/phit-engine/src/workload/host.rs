//! `[workload.host]`: the host's time for a message.

use phit_workload::host::HostParams;
use phit_workload::rails::{Choice, Rails};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The host's time for a message, by the LogGOPS model (T. Hoefler, T. Schneider and A. Lumsdaine, "LogGOPSim:
/// Simulating Large-Scale Applications in the LogGOPS Model", 2010). The time in the network follows from routers and
/// links.
///
/// ```toml
/// [workload.host]
/// overhead = "1.5 us"
/// gap = "1 us"
/// eager = "64 KiB"
/// rails = { count = 4, choice = "least_queued" }
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HostTable {
    /// Cycles of a CPU for each message sent, and for each message received (o).
    #[schemars(extend("x-unit" = "cycles"))]
    pub overhead: u32,
    /// Cycles between two messages that an interface sends, and between two that it receives (g).
    #[schemars(extend("x-unit" = "cycles"))]
    pub gap: u32,
    /// Cycles of the host's interface for each byte of a message after the first (G), in addition to the links' cycles.
    #[schemars(extend("x-unit" = "cycles"))]
    pub gap_per_byte: u32,
    /// Cycles of a CPU for each byte of a message after the first (O).
    #[schemars(extend("x-unit" = "cycles"))]
    pub overhead_per_byte: u32,
    /// Largest message, in bytes, whose send ends without waiting for the receiver (S). The send of a larger message
    /// ends when its sender learns that a receive has matched it.
    #[schemars(extend("x-unit" = "bytes"))]
    pub eager: u64,
    /// Several interfaces for each rank, each at its own endpoint; one if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rails: Option<RailsTable>,
}

/// Interfaces of a rank, each at its own endpoint. A message is sent whole over one interface, and arrives at the
/// interface with that number at its destination. Messages with equal source, destination and tag are received in the
/// order of sending, even if a later one arrives first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct RailsTable {
    /// Number of interfaces.
    #[schemars(range(min = 1, max = 64))]
    pub count: u8,
    /// Which interface a message takes.
    #[serde(default)]
    pub choice: Choice,
}

impl Default for HostTable {
    fn default() -> Self {
        Self { overhead: 0, gap: 0, gap_per_byte: 0, overhead_per_byte: 0, eager: 65_535, rails: None }
    }
}

impl HostTable {
    /// These parameters in ticks.
    pub(super) fn in_ticks(&self, ticks_per_cycle: u64) -> HostParams {
        let &Self { overhead, gap, gap_per_byte, overhead_per_byte, eager, rails: _ } = self;
        let [overhead, gap, gap_per_byte, overhead_per_byte] =
            [overhead, gap, gap_per_byte, overhead_per_byte].map(|cycles| u64::from(cycles) * ticks_per_cycle);
        HostParams { overhead, gap, gap_per_byte, overhead_per_byte, eager }
    }

    /// The interfaces of each rank, if there are several.
    pub(super) fn rails(&self) -> Option<Rails> {
        let RailsTable { count, choice } = self.rails.clone()?;
        (count > 1).then_some(Rails { count, choice })
    }
}
