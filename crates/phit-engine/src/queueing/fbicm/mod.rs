//! Flow-based implicit congestion management.
//!
//! `line` holds the lines of the content-addressable memories, `notification` what ports tell one another and how many
//! bits that takes, `rule` the protocol; this file what a scenario can say about it.

use super::{Division, Fit, Lanes, Manager, Queueing, QueueingContext, QueueingParams};
use crate::error::ScenarioError;
use crate::measure::{Observable, Total};
use crate::packet::Packet;
use crate::topology::{Hop, Topology};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

mod line;
mod notification;
mod rule;

/// Flow-based implicit congestion management, FBICM (Escudero-Sahuquillo, García, Quiles, Flich and Duato, "Efficient
/// congestion management for high-performance interconnection networks with distributed routing", report DIAB-10-04-1,
/// 2010).
///
/// The memory of an input port holds one queue for packets that are not congested (NFQ) and a few for those that are
/// (CFQ), which share it. Packets come into the NFQ. When it holds more than `detection` phits, the output that its
/// first packet asks for is taken for congested, and a line of the port's content-addressable memory (CAM) with a CFQ
/// is allocated for the destinations behind it; from then on a packet for one of these that reaches the front of the
/// NFQ is moved to that CFQ. A CFQ of more than `stop` phits is made known to the output port that sends into it, whose
/// router isolates the same destinations when it meets them and holds them back until the CFQ has shrunk to `go` phits.
/// A line whose CFQ is empty and that is not held back is given up, with that of the output port.
///
/// There are two versions. In the first (chapter 3 of the report) a line has all destinations behind the congested
/// output, and its list does not change; ports send Stop, Go and deallocation, each with all of the line, and a Stop
/// that is the first for its line allocates one at the other end (counted as an allocation). In the new one (chapter 4)
/// a line has at most `destinations` destinations, each added when a packet for it has met the congestion; ports send
/// allocation, which alone has the whole list, update, which adds one destination, and Stop, Go and deallocation, which
/// only name the line. CFQs that are linked to no line of the next router then go before those that are.
///
/// With adaptive routing (`routing.adaptive` of the tables) a packet is isolated only where it has no other way, or
/// where a port further on holds back its destination on all of its ways; isolated packets keep to the tables. The
/// report has deterministic routing alone.
///
/// Needs routing by tables, switching of whole packets, one injection queue and admittance queues for
/// each destination at the endpoints, which obey the notifications as output ports do.
///
/// ```toml
/// [queueing]
/// kind = "fbicm"
/// version = "new"
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Fbicm {
    /// Which of the two versions: `first` or `new`.
    pub version: Version,
    /// CFQs of a virtual channel's buffer, and lines of its CAM: 1 to 255.
    #[schemars(range(min = 1, max = 255))]
    pub cfqs: u32,
    /// Destinations of a line in the new version, 1 to 65,536; in the first there is no limit.
    #[schemars(range(min = 1, max = 65536))]
    pub destinations: u32,
    /// Congestion is detected when an arrival makes the NFQ hold more phits than that.
    #[schemars(extend("x-unit" = "phits"))]
    pub detection: u32,
    /// A CFQ of more phits is stopped: packets for it are held back at the port before.
    #[schemars(extend("x-unit" = "phits"))]
    pub stop: u32,
    /// A CFQ that is stopped and has no more phits than that is let go: less than `stop`.
    #[schemars(extend("x-unit" = "phits"))]
    pub go: u32,
    /// Cycles that a CFQ must have been empty before its line is given up.
    #[schemars(extend("x-unit" = "cycles"))]
    pub timer: u32,
    /// Bits of a phit: a notification takes as many phits as hold its bits, at least one.
    #[schemars(range(min = 1))]
    #[schemars(extend("x-unit" = "bits"))]
    pub phit_bits: u32,
    /// Bits of a destination in a notification: 1 to 64.
    #[schemars(range(min = 1, max = 64))]
    pub destination_bits: u32,
}

/// The versions of the report's chapters 3 and 4.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Version {
    /// Lists are whole and fixed, messages full; no updates: a destination that joins later gets a line of its own.
    First,
    /// Lists are short and grow, messages say what is new.
    New,
}

impl Default for Fbicm {
    fn default() -> Self {
        Self {
            version: Version::New,
            cfqs: 8,
            destinations: 8,
            detection: 512,
            stop: 256,
            go: 128,
            timer: 0,
            phit_bits: 8,
            destination_bits: 16,
        }
    }
}

impl Fbicm {
    /// Queues of a virtual channel.
    fn queues(&self) -> u32 {
        1 + self.cfqs
    }

    /// Bytes of the CAM of one port in a network of `endpoints` endpoints, by the report's count (section 5.5): for
    /// each line 6 bytes and 2 for each destination that it can hold.
    pub fn cam_bytes(&self, endpoints: u32) -> u64 {
        let destinations = match self.version {
            Version::First => endpoints,
            Version::New => self.destinations,
        };
        u64::from(self.cfqs) * (6 + 2 * u64::from(destinations))
    }
}

impl QueueingParams for Fbicm {
    fn division(&self, _: &dyn Topology) -> Division {
        Division { queues: self.queues(), shared: true }
    }

    fn check(&self, fit: &Fit<'_>) -> Result<(), ScenarioError> {
        let refuse = |key: &str, value: u32, expected: String| Err(ScenarioError::new(key, value, expected));
        if self.go >= self.stop {
            return refuse("go", self.go, format!("expected less than `stop` = {}", self.stop));
        }
        for &buffer in fit.buffer {
            for (key, threshold) in [("detection", self.detection), ("stop", self.stop)] {
                if threshold >= buffer {
                    let expected = format!("expected less than the buffer of a virtual channel, {buffer} phits");
                    return refuse(key, threshold, expected);
                }
            }
        }
        if fit.topology.endpoints() > 1 << 16 {
            let expected = format!("fits up to 65536 endpoints; this topology has {}", fit.topology.endpoints());
            return Err(ScenarioError::new("kind", "\"fbicm\"", expected));
        }
        for (fits, needs) in [
            (fit.deterministic, "needs routing.kind = \"table\""),
            (fit.whole_packets, "needs switching of whole packets, and virtual channels allocated with the switch"),
            (fit.admits, "needs router.admittance = \"per_destination\""),
        ] {
            if !fits {
                return Err(ScenarioError::new("kind", "\"fbicm\"", needs));
            }
        }
        Ok(())
    }

    fn sends_messages(&self) -> bool {
        true
    }

    fn observables(&self) -> &'static [Observable] {
        &rule::OBSERVABLES
    }

    fn totals(&self) -> Vec<&'static Total> {
        rule::TOTALS.iter().chain(notification::SENT.iter().flatten()).collect()
    }

    fn build(&self, _: &QueueingContext) -> Box<dyn Queueing> {
        Box::new(ToTheFirst { queues: self.queues() })
    }

    fn manager(&self, context: &QueueingContext, ports: u32, endpoints: u32) -> Option<Box<dyn Manager>> {
        let table = context.routes()?;
        Some(Box::new(rule::Rule::new(self.clone(), context, table, ports, endpoints)))
    }
}

/// Every packet comes into the NFQ of its virtual channel.
struct ToTheFirst {
    queues: u32,
}

impl Queueing for ToTheFirst {
    #[inline]
    fn select(&self, _: &dyn Topology, _: u32, _: &Packet, hop: Hop) -> Lanes {
        Lanes::one((u32::from(hop.vc) * self.queues) as u16)
    }

    fn inject(&self, _: u32, _: u32) -> Option<u16> {
        Some(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_5_3() {
        for (endpoints, first) in [(64, 1072), (256, 4144), (1024, 16432)] {
            let bytes = |version| Fbicm { version, ..Fbicm::default() }.cam_bytes(endpoints);
            assert_eq!((bytes(Version::First), bytes(Version::New)), (first, 176));
        }
    }
}
