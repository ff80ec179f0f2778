//! Requests and replies: reads and writes between endpoints, each with a limited number of outstanding requests.

use super::packet_size::PacketSizeKind;
use crate::engine::Rng;
use crate::error::ScenarioError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Requests: every packet of the traffic is a request, and its destination answers with a reply to the source. This is
/// a closed loop (Dally and Towles, *Principles and Practices of Interconnection Networks*, chapters 14.1 and 23.1).
/// Pattern and process describe the requests; `load` counts the phits of requests and replies.
///
/// ```toml
/// [traffic]
/// load = 0.3
/// [traffic.requests]
/// outstanding = 4
/// writes = 0.5
/// read_reply = 5
/// write_request = 5
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(inline)]
pub struct RequestParams {
    /// Most outstanding requests of an endpoint: generated, but not yet answered. At the limit, the process pauses
    /// until a reply arrives. If left out, there is no limit. With a limit `load` may be left out: endpoints then
    /// generate a request whenever they may.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 65_535))]
    pub outstanding: Option<u32>,
    /// Share of the requests that are writes, from 0 to 1; the others are reads.
    #[schemars(range(min = 0, max = 1))]
    pub writes: f64,
    /// Phits of a read request; if left out, `packet_size`, here and in the next three keys.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1), extend("x-unit" = "phits"))]
    pub read_request: Option<u16>,
    /// Phits of the reply to a read, which carries the data.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1), extend("x-unit" = "phits"))]
    pub read_reply: Option<u16>,
    /// Phits of a write request, which carries the data.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1), extend("x-unit" = "phits"))]
    pub write_request: Option<u16>,
    /// Phits of the reply to a write, which is an acknowledgement.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1), extend("x-unit" = "phits"))]
    pub write_reply: Option<u16>,
    /// Cycles from the last phit of a request to the generation of its reply.
    #[schemars(range(max = 1_000_000), extend("x-unit" = "cycles"))]
    pub service: u32,
    /// Cycles from the last phit of a reply until a request that waited for it may be generated.
    #[schemars(range(max = 1_000_000), extend("x-unit" = "cycles"))]
    pub think: u32,
    /// Requests that each endpoint generates in total; if left out, it never stops.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub count: Option<u32>,
    /// Phits of requests for which an endpoint has room, in each virtual channel of its link. A request occupies its
    /// room from the moment when the last router sends it until its reply has left the endpoint. Other requests wait in
    /// the network. If left out, an endpoint accepts every request.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000_000_000), extend("x-unit" = "phits"))]
    pub room: Option<u32>,
    /// True: requests have the first half of the virtual channels of every link, and replies the second; of an odd
    /// number of injection queues, replies have one more. False: they share all virtual channels.
    pub virtual_networks: bool,
    /// Whether requests and replies have separate queues at their endpoint. If left out, `"apart"`.
    #[serde(skip_serializing_if = "SourceQueue::is_default")]
    pub source_queue: SourceQueue,
}

/// Whether requests and replies have separate queues at their endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum SourceQueue {
    /// A queue for each: replies go first, and neither waits for the other's virtual channels.
    #[default]
    Apart,
    /// One queue. Whenever a packet has left, the next is chosen, replies first, and no later packet overtakes it
    /// (BookSim). Not with `room`: replies would wait for requests.
    Together,
}

impl SourceQueue {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

impl Default for RequestParams {
    fn default() -> Self {
        Self {
            outstanding: None,
            writes: 0.0,
            read_request: None,
            read_reply: None,
            write_request: None,
            write_reply: None,
            service: 0,
            think: 0,
            count: None,
            room: None,
            virtual_networks: true,
            source_queue: SourceQueue::default(),
        }
    }
}

impl RequestParams {
    /// The phits of all messages, with `packet_size` for sizes left out. Error paths are relative to `traffic`.
    pub(super) fn build(&self, packet_size: &PacketSizeKind, seed: u64) -> Result<Requests, ScenarioError> {
        let (smallest, largest) = packet_size.params().build().map_err(|e| e.under("packet_size"))?.range();
        let given = [[self.read_request, self.read_reply], [self.write_request, self.write_reply]];
        if smallest != largest && given.iter().flatten().any(Option::is_none) {
            let expected = "expected a number of phits, or a size of each message in `requests`";
            return Err(ScenarioError::new("packet_size", format!("{:?}", packet_size.kind()), expected));
        }
        let sizes = given.map(|pair| pair.map(|size| size.unwrap_or(largest)));
        if let Some(room) = self.room {
            let most = sizes[0][0].max(sizes[1][0]);
            if room < u32::from(most) {
                let expected = format!("expected at least {most} phits, the largest request");
                return Err(ScenarioError::new("requests.room", room, expected));
            }
        }
        if let (Some(room), SourceQueue::Together) = (self.room, self.source_queue) {
            let expected = "expected source_queue = \"apart\": replies that make room would wait behind requests";
            return Err(ScenarioError::new("requests.room", room, expected));
        }
        let in_order = self.source_queue == SourceQueue::Together;
        let &Self { outstanding, writes, service, think, count, room, virtual_networks, .. } = self;
        Ok(Requests {
            outstanding,
            writes,
            sizes,
            service,
            think,
            count,
            room,
            virtual_networks,
            in_order,
            seed: seed as u32,
        })
    }
}

/// Requests and their replies, as endpoints send them.
#[derive(Debug, Clone)]
pub struct Requests {
    /// Most outstanding requests of an endpoint.
    pub outstanding: Option<u32>,
    /// Cycles from the last phit of a request to the generation of its reply.
    pub service: u32,
    /// Cycles from the last phit of a reply until a request that waited for it may be generated.
    pub think: u32,
    /// Requests that an endpoint generates in total.
    pub count: Option<u32>,
    /// Phits of requests for which an endpoint has room.
    pub room: Option<u32>,
    /// Requests and replies have separate virtual channels.
    pub virtual_networks: bool,
    /// Requests and replies wait at their endpoint in one queue.
    pub in_order: bool,
    writes: f64,
    /// Phits of (request, reply), for a read and for a write.
    sizes: [[u16; 2]; 2],
    seed: u32,
}

impl Requests {
    /// Number of virtual networks on the links: packets of one never stand in virtual channels of another.
    pub fn networks(&self) -> u16 {
        if self.virtual_networks { 2 } else { 1 }
    }

    /// Whether the request that `source` generates in `cycle` is a write. Both ends compute this alike.
    fn is_write(&self, source: u32, cycle: u32) -> bool {
        self.writes > 0.0 && Rng::keyed(u64::from(source) << 32 | u64::from(cycle), self.seed).chance(self.writes)
    }

    /// Phits of the request that `source` generates in `cycle`, and of its reply.
    pub fn sizes_of(&self, source: u32, cycle: u32) -> [u16; 2] {
        self.sizes[usize::from(self.is_write(source, cycle))]
    }

    /// Mean phits of a request with its reply.
    pub fn mean(&self) -> f64 {
        let [read, write] = self.sizes.map(|pair| pair.iter().map(|&size| f64::from(size)).sum::<f64>());
        read + self.writes * (write - read)
    }

    /// Phits of the smallest and of the largest packet.
    pub fn range(&self) -> (u16, u16) {
        let kinds = match self.writes {
            share if share <= 0.0 => &self.sizes[..1],
            share if share >= 1.0 => &self.sizes[1..],
            _ => &self.sizes[..],
        };
        let sizes = || kinds.iter().flatten().copied();
        (sizes().min().unwrap_or(1), sizes().max().unwrap_or(1))
    }
}
