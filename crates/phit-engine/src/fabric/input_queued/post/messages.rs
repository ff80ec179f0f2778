//! Control messages of mechanisms, on their way between routers.

use crate::fabric::seams::routing::Payload;
use serde::{Deserialize, Serialize};

/// Who a control message is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Party {
    /// The routing mechanism of a router.
    Routing,
    /// The queue organisation, as what sends over a link: an output port of the receiving partition, or an endpoint
    /// counted from the number of its ports on, in the place of the router.
    Sender,
}

/// A control message on its way.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Message {
    /// Who it is for.
    pub party: Party,
    /// Receiving router.
    pub router: u32,
    /// Its port.
    pub port: u16,
    /// What it says.
    pub payload: Payload,
}
