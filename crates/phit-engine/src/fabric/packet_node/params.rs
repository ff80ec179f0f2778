//! `[router]` with `kind = "packet_node"`: the packet-level node.

use crate::fabric::links::LinkTable;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A router whose queues stand at its outputs. A packet is received as a whole, is put into the queue of the output by
/// which it will go on, and stays there until the next router has answered that it has taken it; a router that has no
/// room refuses a packet, and it is sent again (or keeps it until it has room, with credits). Links carry packets and
/// answers. With this table a run uses the packet-level node in place of the input-queued router; of `[router]` it
/// reads the links alone: bandwidth, latency, virtual channels, and `buffer`, which is the size of an output queue
/// (class `endpoint`: of the queue in front of an endpoint).
///
/// ```toml
/// [router.node]
/// answer = 80
/// injection_rate = 2.4
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct NodeParams {
    /// What becomes of a packet for which a router has no room. If left out, `"answers"`.
    // Left out of the document where it is the default, so that the same run has the same document whether it is said
    // or not.
    #[serde(skip_serializing_if = "Acceptance::is_default")]
    pub acceptance: Acceptance,
    /// Size of an answer, or of a credit, in phits; at least 1.
    #[schemars(range(min = 1, max = 1_000_000))]
    #[schemars(extend("x-unit" = "phits"))]
    pub answer: u32,
    /// An endpoint sends at most this much, as a multiple of the load that saturates the network's bisection: in the
    /// cycles of a clock that begins with the run. If left out, whenever it has a packet and the answer to the one
    /// before.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub injection_rate: Option<f64>,
    /// Room that a queue must have for a packet from an endpoint.
    pub injection_room: InjectionRoom,
}

/// What becomes of a packet for which a router has no room.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Acceptance {
    /// It is refused, and its sender sends it again.
    #[default]
    Answers,
    /// It waits where it has come in, in a place for which its sender had a credit: one for each slot of the queue that
    /// it left. The credit goes back, and the slot is free, when the packet has moved into a queue. The packets of a
    /// virtual channel move in the order in which they came. An endpoint has one credit.
    Credits,
}

impl Acceptance {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
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
        Self {
            acceptance: Acceptance::default(),
            answer: 1,
            injection_rate: None,
            injection_room: InjectionRoom::default(),
        }
    }
}

/// Routers that are packet-level nodes: queues at the outputs, packets accepted or refused as a whole. Of the links it
/// reads bandwidth, latency, virtual channels, and `buffer`, which is the size of an output queue.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PacketNode {
    /// What it may be said to do, because it does. Whether it is said or left out changes nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub switching: Option<Stated>,
    /// Links by class; `default` stands for the classes that are not listed.
    pub links: LinkTable,
    /// With this table the packet-level node takes the place of the input-queued router.
    pub node: NodeParams,
}

/// How a node moves packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Stated {
    /// A packet is received as a whole before it goes on.
    StoreAndForward,
}
