//! The seam `congestion`: which packets routers mark, what endpoints notify, and when a source may send.
//!
//! A kernel measures the backlog of every output. It carries the mark of a packet to its destination and a notification
//! back to its source. Every source has a queue for each destination. A mechanism decides about marks,
//! notifications and times. The mechanisms are in [`crate::congestion`], one file each.
//!
//! A notification is a packet: it has a size, takes a route, waits in queues, and takes the time of the links. Its
//! virtual channels are those of data, or channels of its own.

use super::reservation::{Reservations, Reserving};
use crate::engine::Tick;
use crate::error::ScenarioError;
use crate::packet::Packet;

/// The head of a packet of data is put on the link behind an output: it leaves the output buffer, if there is one.
#[derive(Debug, Clone, Copy)]
pub struct Leaving {
    /// The output, as an index in the partition.
    pub output: u32,
    /// Router of the output, by its number in the network.
    pub router: u32,
    /// Port of the output.
    pub port: u16,
    /// Link class of the output; 0 leads to an endpoint.
    pub class: u8,
    /// Phits of the packet.
    pub phits: u16,
    /// Phits in the router's input queues whose heads leave, or last left, through this output. The flit that leaves is
    /// not among them.
    pub backlog: u32,
    /// Phits for which the output lacks credits in the packet's virtual channel. They are on the link or in the next
    /// buffer, or their credits are on the way back. Phits in the router's output buffer are not among them. 0 to an
    /// endpoint that accepts every packet.
    pub outstanding: u32,
    /// True if the packet's virtual channel has room for another packet of the largest size after this packet.
    pub has_room: bool,
}

/// The rule of a mechanism for one partition.
///
/// A *flow* is all packets from one endpoint of the partition to one destination. The kernel numbers flows from 0 on.
pub trait Congestion: Send {
    /// True if the packet is marked. Called once for each packet of data and each router.
    fn leaves(&mut self, at: &Leaving) -> bool;

    /// True if the source of `packet` is notified. Called when the tail of a packet of data has reached `endpoint` of
    /// the partition, or the head with [`Notifications::by_head`].
    fn received(&mut self, endpoint: u32, packet: &Packet, now: Tick) -> bool;

    /// The feedback about a packet of data that leaves, of which its source is told by the router; `None` if it is not
    /// told. Called in place of [`Self::leaves`] where routers notify ([`CongestionParams::routers_notify`]).
    fn feedback(&mut self, _at: &Leaving) -> Option<u8> {
        None
    }

    /// The source of `flow` has received the feedback of a router.
    fn fed_back(&mut self, _flow: u32, _feedback: u8, _now: Tick) {}

    /// Flow `flow`, the next number, begins at `endpoint` of the partition.
    fn begins(&mut self, flow: u32, endpoint: u32);

    /// The source of `flow` has received a notification.
    fn notified(&mut self, flow: u32, now: Tick);

    /// The source has sent a packet of `flow` from tick `start` to tick `end`, the first tick after its tail.
    fn sent(&mut self, flow: u32, phits: u16, start: Tick, end: Tick);

    /// The first tick in which the next packet of `flow` may be sent, if no notification comes before. An earlier tick
    /// is allowed if the kernel should ask again then. A tick up to `now` means that the packet may be sent.
    fn ready(&mut self, flow: u32, now: Tick) -> Tick;

    /// Bytes of memory.
    fn bytes(&self) -> usize;
}

/// The virtual channels of notifications.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NotificationChannels {
    /// Those of data.
    #[default]
    Shared,
    /// Half of the virtual channels of every link. Data have the other half.
    Own,
}

/// The notifications of a mechanism.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Notifications {
    /// Their size.
    pub phits: u16,
    /// Their virtual channels.
    pub channels: NotificationChannels,
    /// True if they are sent when the head of a packet has arrived, and not its tail.
    pub by_head: bool,
    /// True if an endpoint sends a flit of a notification and a flit of data in one cycle.
    pub beside: bool,
}

/// The order in which an endpoint sends to its destinations.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DestinationTurns {
    /// The destination whose packets have waited longest, since the last packet was sent to it.
    #[default]
    LongestWaiting,
    /// The next destination by number, after the destination of the last packet.
    Numbers,
}

/// The context in which a mechanism is built for a partition.
#[non_exhaustive]
pub struct CongestionContext {
    /// Outputs of the partition.
    pub outputs: u32,
    /// Endpoints of the partition.
    pub endpoints: u32,
    /// Phits of the smallest input buffer of a virtual channel in the network.
    pub buffer: u32,
    /// Ticks per link cycle.
    pub ticks_per_cycle: u32,
    /// Phits per tick of the link from an endpoint into the network, by endpoint of the partition.
    pub rates: Vec<f64>,
    /// Seed of the scenario.
    pub seed: u64,
}

/// The parameters of a mechanism.
pub trait CongestionParams {
    /// Its notifications; `None` if there is no congestion control, or if sources reserve.
    fn notifications(&self) -> Option<Notifications>;

    /// The properties of a protocol by which sources reserve time at destinations; `None` for other mechanisms.
    fn reservations(&self) -> Option<Reservations> {
        None
    }

    /// True if there is congestion control.
    fn is_on(&self) -> bool {
        self.notifications().is_some() || self.reservations().is_some()
    }

    /// Phits of the smallest packet without data, if there are such packets.
    fn smallest(&self) -> Option<u16> {
        let of_protocol = self.reservations().map(|it| it.control);
        self.packets().map(|it| it.phits).or(of_protocol)
    }

    /// True if routers notify the sources of packets, and destinations do not. The notification of a router is a frame.
    /// Each router sends it on before data, on a minimal route. It takes the time of the links, and stands in no queue.
    fn routers_notify(&self) -> bool {
        false
    }

    /// The order in which a source sends to its destinations.
    fn turns(&self) -> DestinationTurns {
        DestinationTurns::LongestWaiting
    }

    /// Its notifications, if they are packets of endpoints.
    fn packets(&self) -> Option<Notifications> {
        self.notifications().filter(|_| !self.routers_notify())
    }

    /// Virtual networks that share the virtual channels of every link.
    fn networks(&self) -> u16 {
        match self.notifications() {
            Some(Notifications { channels: NotificationChannels::Own, .. }) => 2,
            _ => self.reservations().map_or(1, |it| it.networks()),
        }
    }

    /// Checks the parameters that depend on one another. Error paths are relative to `congestion`.
    fn check(&self) -> Result<(), ScenarioError> {
        Ok(())
    }

    /// The rule for one partition; `None` if there is no congestion control, or if sources reserve.
    fn build(&self, context: &CongestionContext) -> Option<Box<dyn Congestion>>;

    /// The rule of a protocol with [`Self::reservations`] for one partition.
    fn protocol(&self, _context: &CongestionContext) -> Option<Box<dyn Reserving>> {
        None
    }
}
