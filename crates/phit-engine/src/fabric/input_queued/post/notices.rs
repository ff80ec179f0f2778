//! Notifications from routers to the sources of packets.

use crate::fabric::seams::routing::Payload;

/// A notification at a router on its way. The order is that in which a router sends the notifications of a tick.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Notice {
    /// The router.
    pub router: u32,
    /// Source of the packet, where the notification goes.
    pub source: u32,
    /// Destination of the packet.
    pub destination: u32,
    /// How congested the router's output is.
    pub feedback: u8,
}

impl Notice {
    /// The notification as the content of a message.
    pub(crate) fn payload(&self) -> Payload {
        let halves = |number: u32| [(number >> 16) as u16, number as u16];
        let [[a, b], [c, d]] = [self.source, self.destination].map(halves);
        [a, b, c, d, self.feedback.into()].into()
    }

    /// The notification in a message that has come to `router`.
    pub(crate) fn of_payload(router: u32, payload: &[u16]) -> Self {
        let whole = |at: usize| u32::from(payload[at]) << 16 | u32::from(payload[at + 1]);
        Self { router, source: whole(0), destination: whole(2), feedback: payload[4] as u8 }
    }
}
