//! Control messages of mechanisms, on their way between routers.

use crate::fabric::seams::routing::Payload;
use serde::{Deserialize, Serialize};

/// The receiver of a control message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Party {
    /// The routing mechanism of a router.
    Routing,
    /// A sender over a link, for its queue organisation: an output port of the receiving partition, or an endpoint.
    /// Endpoints are numbered after the partition's ports, and their number stands in the place of the router.
    Sender,
    /// A router on the way of a notification to the source of a packet.
    Source,
    /// An input port of the same partition, whose pause frame starts. Its index stands in the place of the router.
    Port,
    /// A sender over a link, numbered as for `Sender`, for which a pause frame is.
    Pauses,
    /// The source itself, whose number stands in the place of the router.
    Flow,
}

/// A control message on its way.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Message {
    /// Its receiver.
    pub party: Party,
    /// Receiving router.
    pub router: u32,
    /// Its port.
    pub port: u16,
    /// Its content.
    pub payload: Payload,
}
