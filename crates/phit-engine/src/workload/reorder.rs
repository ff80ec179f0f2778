//! `[workload.reorder]`: receivers that need packets in order.

use crate::packet::Packet;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Whose packets share the memory of a receiver.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Sharing {
    /// All packets to an endpoint share its memory.
    #[default]
    Endpoint,
    /// Each source has memory of its own at every endpoint that it sends to.
    Source,
}

/// Receivers that deliver packets in order. If this table is left out, they count bytes: a message has arrived when all
/// its bytes have, in whatever order.
///
/// A packet that arrives before an earlier packet from the same endpoint waits in the receiver's memory. It is
/// delivered right after the packet before it. So a message arrives with its last packet in order, after all earlier
/// messages of its sender.
///
/// A packet for which there is no memory is refused, and its source sends it again (selective repeat). The next packet
/// in order needs no memory and is never refused. Notices of refusals take no capacity, but packets that are sent again
/// take it as other packets do. `packets_refused` and `packets_retransmitted` count both.
///
/// ```toml
/// [workload]
/// kind = "collective"
/// collective = "all_to_all"
/// bytes = 65536
///
/// [workload.reorder]
/// memory = 64              # phits
/// timeout = 200            # cycles
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(inline)]
pub struct ReorderTable {
    /// Phits of packets that wait; unlimited if left out. With 0, every packet out of order is refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-unit" = "phits"))]
    pub memory: Option<u32>,
    /// Whose packets share this memory.
    pub sharing: Sharing,
    /// With `memory`: cycles from the refusal of a packet until its source sends it again, ahead of packets that it has
    /// not sent yet. At least the time that a router and the longest link take.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = LATEST))]
    #[schemars(extend("x-unit" = "cycles"))]
    pub timeout: Option<u32>,
}

/// Longest timeout in cycles.
const LATEST: u32 = 1 << 30;

impl ReorderTable {
    /// The memory for packets that wait.
    pub(super) fn memory(&self) -> Memory {
        Memory { limit: self.memory, of_source: self.sharing == Sharing::Source }
    }
}

/// The memory of receivers for packets that wait for earlier ones.
#[derive(Debug, Clone, Copy)]
pub struct Memory {
    /// Phits; `None` without limit.
    limit: Option<u32>,
    /// Each source has this much at an endpoint.
    pub(crate) of_source: bool,
}

impl Memory {
    /// True if there is room for `packet` beside `used` phits.
    pub(crate) fn takes(self, packet: &Packet, used: u32) -> bool {
        self.limit.is_none_or(|limit| used + u32::from(packet.size) <= limit)
    }
}
