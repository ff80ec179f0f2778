//! `[router]` with `kind = "packet_node"`: the packet-level node.

use crate::fabric::links::LinkTable;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A router with queues at its outputs. It receives a packet as a whole and puts it into the queue of the packet's next
/// output. The packet stays there until the next router has accepted it. A router without room refuses a packet, and
/// the packet is sent again. With credits, the packet waits instead. Links carry packets and answers.
///
/// With this table, a run uses the packet-level node instead of the input-queued router. It uses only the links of
/// `[router]`: bandwidth, latency, virtual channels, and `buffer`, the size of an output queue (class `endpoint`: of
/// the queue in front of an endpoint).
///
/// ```toml
/// [router.node]
/// answer = 80
/// injection_rate = 2.4
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct NodeParams {
    /// The treatment of a packet for which a router has no room. If left out, `"answers"`.
    #[serde(skip_serializing_if = "Acceptance::is_default")]
    pub acceptance: Acceptance,
    /// Size of an answer, or of a credit, in phits; at least 1.
    #[schemars(range(min = 1, max = 1_000_000))]
    #[schemars(extend("x-unit" = "phits"))]
    pub answer: u32,
    /// Largest injection rate of an endpoint, as a multiple of the load that saturates the network's bisection. It
    /// holds for the cycles of a clock that starts with the run. If left out, an endpoint sends whenever it has a
    /// packet and the answer to the packet before.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub injection_rate: Option<f64>,
    /// Room that a queue must have for a packet from an endpoint.
    pub injection_room: InjectionRoom,
}

/// The treatment of a packet for which a router has no room.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Acceptance {
    /// The router refuses it, and its sender sends it again.
    #[default]
    Answers,
    /// It waits in a place at the input, for which its sender had a credit: one for each slot of the queue that it
    /// left. When the packet has moved into a queue, the credit returns and the slot is free. Packets of a virtual
    /// channel move in the order of arrival. An endpoint has one credit.
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

/// Packet-level nodes: routers with queues at the outputs, which accept or refuse packets as a whole. Nodes use these
/// parameters of links: bandwidth, latency, virtual channels, and `buffer`, the size of an output queue.
///
/// ```toml
/// [topology]
/// kind = "torus"
/// dims = [4, 4]
///
/// [router]
/// kind = "packet_node"
///
/// [router.node]
/// answer = 2
///
/// [router.links.default]
/// vcs = 3
///
/// [routing]
/// kind = "abr"
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PacketNode {
    /// The only accepted value, which describes this router. It may be left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub switching: Option<Stated>,
    /// Links by class; `default` stands for the classes that are not listed.
    pub links: LinkTable,
    /// With this table, the packet-level node replaces the input-queued router.
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
