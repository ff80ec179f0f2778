//! Flow-based implicit congestion management.
//!
//! `line` has the lines of the content-addressable memories. `notification` has the messages between ports and their
//! sizes in bits. `rule` is the protocol. This file has its keys in a scenario.

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
/// The memory of an input port holds one queue for packets that are not congested (NFQ) and a few for congested packets
/// (CFQs), which share the memory. Packets arrive in the NFQ.
///
/// When the NFQ holds more than `detection` phits, the output of its first packet is taken as congested. A line of the
/// port's content-addressable memory (CAM), with a CFQ, is allocated for the destinations behind that output. From then
/// on, a packet for one of them that reaches the front of the NFQ is moved to that CFQ. A CFQ of more than `stop` phits
/// is announced to the output port that sends into it. The router there isolates these destinations when it meets them,
/// and holds them back until the CFQ has shrunk to `go` phits. A line is released, together with its copy at the output
/// port, when its CFQ is empty and not held back.
///
/// There are two versions. In the first (chapter 3 of the report), a line has all destinations behind the congested
/// output, and its list does not change. Ports send Stop, Go and deallocation, each with the whole line. The first Stop
/// for a line allocates one at the other end (counted as an allocation).
///
/// In the new version (chapter 4), a line has at most `destinations` destinations. Each is added when a packet for it
/// has met the congestion. Ports send an allocation, which has the whole list, or an update, which adds one
/// destination. Stop, Go and deallocation only name the line. CFQs without a linked line at the next router go before
/// those with one.
///
/// With adaptive routing (`routing.adaptive` of the tables), a packet is isolated only in two cases: it has no other
/// route, or a port further on holds back its destination on all of its routes. Isolated packets follow the tables. The
/// report has deterministic routing only.
///
/// Needs routing by tables, switching of whole packets, one injection queue, and at the endpoints a queue for each
/// destination, which obeys the notifications as output ports do. Admittance queues do, and so do the queues of a
/// congestion control.
///
/// ```toml
/// [topology]
/// kind = "k_ary_n_tree"
/// arity = 4
/// levels = 2
///
/// [router]
/// admittance = "per_destination"
///
/// [router.links.default]
/// vcs = 1
/// buffer = 2048
///
/// [routing]
/// kind = "table"
///
/// [queueing]
/// kind = "fbicm"
/// version = "new"
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Fbicm {
    /// The version: `first` or `new`.
    pub version: Version,
    /// CFQs of a virtual channel's buffer, and lines of its CAM: 1 to 255.
    #[schemars(range(min = 1, max = 255))]
    pub cfqs: u32,
    /// Most destinations of a line in the new version, 1 to 65,536. The first version has no limit.
    #[schemars(range(min = 1, max = 65536))]
    pub destinations: u32,
    /// Congestion is detected when an arrival makes the NFQ hold more phits than this.
    #[schemars(extend("x-unit" = "phits"))]
    pub detection: u32,
    /// A CFQ with more phits than this is stopped: packets for it are held back at the port before.
    #[schemars(extend("x-unit" = "phits"))]
    pub stop: u32,
    /// A stopped CFQ with no more phits than this is released: less than `stop`.
    #[schemars(extend("x-unit" = "phits"))]
    pub go: u32,
    /// Cycles that a CFQ must have been empty before its line is released.
    #[schemars(extend("x-unit" = "cycles"))]
    pub timer: u32,
    /// Bits of a phit: a notification takes as many phits as hold its bits, at least one.
    #[schemars(range(min = 1))]
    #[schemars(extend("x-unit" = "bits"))]
    pub phit_bits: u32,
    /// Bits of a destination in a notification: 1 to 64.
    #[schemars(range(min = 1, max = 64))]
    pub destination_bits: u32,
    /// Packets of which a congestion control may tell sources.
    #[serde(skip_serializing_if = "Marks::is_all")]
    pub marks: Marks,
}

/// Packets of which a congestion control may tell sources.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Marks {
    /// All that it chooses.
    #[default]
    All,
    /// Only packets that leave a CFQ: they are known to go to a congested point. Packets that leave the NFQ only share
    /// links with them (Merino, Escudero-Sahuquillo, Garcia and Quiles, "Improving dynamic congestion isolation in
    /// data-center networks", arXiv 2511.04639, 2025).
    Isolated,
}

impl Marks {
    fn is_all(&self) -> bool {
        *self == Self::All
    }
}

/// The versions of the report's chapters 3 and 4.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Version {
    /// Lists are complete and fixed, and messages carry whole lists. There are no updates: a later destination gets a
    /// line of its own.
    First,
    /// Lists are short and grow, and messages carry changes.
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
            marks: Marks::All,
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
        if self.marks == Marks::Isolated && !fit.throttled {
            let expected = "decides of which packets a congestion control tells sources; expected \"all\" without \
                            [congestion]";
            return Err(ScenarioError::new("marks", "\"isolated\"", expected));
        }
        for (fits, needs) in [
            (fit.deterministic, "needs routing.kind = \"table\""),
            (fit.whole_packets, "needs switching of whole packets, and virtual channels allocated with the switch"),
            (fit.by_destination, "needs router.admittance = \"per_destination\", or a [congestion] control"),
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

/// Every packet enters the NFQ of its virtual channel.
struct ToTheFirst {
    queues: u32,
}

impl Queueing for ToTheFirst {
    fn timeless(&self) -> bool {
        true
    }

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
