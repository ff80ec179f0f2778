//! `[router.node]`: the packet-level node.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A router whose queues stand at its outputs. A packet is received as a whole, is put into the queue of the output by which it
/// will go on, and stays there until the next router has answered that it has taken it; a router that has no room refuses
/// a packet, and it is sent again. Links carry packets and answers. With this table a run uses the packet-level node in
/// place of the input-queued router; of `[router]` it reads the links alone: bandwidth, latency, virtual channels, and
/// `buffer`, which is the size of an output queue (class `endpoint`: of the queue in front of an endpoint).
///
/// ```toml
/// [router.node]
/// answer = 80
/// injection_rate = 2.4
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct NodeParams {
    /// Size of an answer in phits; at least 1.
    #[schemars(extend("x-unit" = "phits"))]
    pub answer: u32,
    /// An endpoint sends at most this much, as a multiple of the load that saturates the network's bisection: in the
    /// cycles of a clock that begins with the run. If left out, whenever it has a packet and the answer to the one before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub injection_rate: Option<f64>,
    /// Room that a queue must have for a packet from an endpoint.
    pub injection_room: InjectionRoom,
}

/// Room that a queue must have for a packet from an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum InjectionRoom {
    /// A free slot in an adaptive queue, and the bubble rule in an escape queue.
    #[default]
    Bubble,
    /// More than half of the slots.
    MoreThanHalf,
}

impl Default for NodeParams {
    fn default() -> Self {
        Self { answer: 1, injection_rate: None, injection_room: InjectionRoom::default() }
    }
}
