//! Notifications from an input port to the output port, or the endpoint, that sends into it.

use super::{Fbicm, Version};
use crate::fabric::seams::routing::Payload;
use crate::measure::Total;

/// Kinds of notifications, in the order of [`SENT`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Allocate a stopped line (in the first version: a Stop that finds no line).
    Allocation,
    /// Add a destination to a line (in the new version only).
    Update,
    /// Hold packets back.
    Stop,
    /// Let them go.
    Go,
    /// Release the line.
    Deallocation,
}

/// For the summary: messages and bits of each kind.
pub(super) static SENT: [[Total; 2]; 5] = [
    [
        counted("allocations_sent", "allocations sent", MESSAGES, "Notifications that allocate a line."),
        counted("allocation_bits", "bits of allocations", BITS, "Their bits."),
    ],
    [
        counted("updates_sent", "updates sent", MESSAGES, "Notifications that add a destination to a line."),
        counted("update_bits", "bits of updates", BITS, "Their bits."),
    ],
    [
        counted("stops_sent", "stops sent", MESSAGES, "Notifications that hold the packets of a line back."),
        counted("stop_bits", "bits of stops", BITS, "Their bits."),
    ],
    [
        counted("gos_sent", "gos sent", MESSAGES, "Notifications that let the packets of a line go."),
        counted("go_bits", "bits of gos", BITS, "Their bits."),
    ],
    [
        counted("deallocations_sent", "deallocations sent", MESSAGES, "Notifications that give a line up."),
        counted("deallocation_bits", "bits of deallocations", BITS, "Their bits."),
    ],
];

const MESSAGES: &str = "messages";
const BITS: &str = "bits";

/// The declaration of a counter.
pub(super) const fn counted(name: &'static str, words: &'static str, unit: &'static str, about: &'static str) -> Total {
    Total { name, words, unit, about, standing: false }
}

/// Bits that distinguish the five kinds.
const KIND_BITS: u32 = 3;
/// Bits of the field "hops".
const HOPS_BITS: u32 = 4;
/// Bits of the field "CP", the number of a port.
const PORT_BITS: u32 = 8;

/// A notification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Notification<'a> {
    pub kind: Kind,
    pub vc: u8,
    /// The line at the sending port: NextCAM of the receiver.
    pub line: u8,
    /// Links to the congested point, from the port that sends it.
    pub hops: u8,
    pub destinations: &'a [u32],
}

/// Number of bits for numbers below `count`.
fn bits_for(count: u32) -> u32 {
    32 - count.saturating_sub(1).leading_zeros()
}

impl Notification<'_> {
    /// Bits on the link. In the new version, an allocation carries a whole line, an update one destination, and others
    /// none. In the first version, every notification carries a whole line, because the receiver finds its line by its
    /// content.
    pub(super) fn bits(&self, params: &Fbicm) -> u32 {
        let list = self.destinations.len() as u32 * params.destination_bits;
        match (params.version, self.kind) {
            // The length of a list of up to 65536 destinations.
            (Version::First, _) => KIND_BITS + PORT_BITS + HOPS_BITS + 16 + list,
            (Version::New, kind) => {
                let line = KIND_BITS + bits_for(params.cfqs);
                match kind {
                    Kind::Allocation => line + HOPS_BITS + bits_for(params.destinations + 1) + list,
                    Kind::Update => line + params.destination_bits,
                    Kind::Stop | Kind::Go | Kind::Deallocation => line,
                }
            }
        }
    }

    /// As words. The line is named in both versions: no two lines of a port have a destination in common, so their
    /// contents determine which lines match.
    pub(super) fn encode(&self) -> Payload {
        let head = [self.kind as u16, self.vc.into(), self.line.into(), self.hops.into()];
        head.into_iter().chain(self.destinations.iter().map(|destination| *destination as u16)).collect()
    }
}

/// The header of an encoded notification, and its destinations.
pub(super) fn decode(payload: &[u16]) -> (Kind, u8, u8, u8, impl Iterator<Item = u32> + '_) {
    let kind = match payload[0] {
        0 => Kind::Allocation,
        1 => Kind::Update,
        2 => Kind::Stop,
        3 => Kind::Go,
        _ => Kind::Deallocation,
    };
    let destinations = payload[4..].iter().map(|&destination| u32::from(destination));
    (kind, payload[1] as u8, payload[2] as u8, payload[3] as u8, destinations)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notification(kind: Kind, destinations: &[u32]) -> Notification<'_> {
        Notification { kind, vc: 1, line: 5, hops: 2, destinations }
    }

    #[test]
    fn what_is_sent_is_heard() {
        for kind in [Kind::Allocation, Kind::Update, Kind::Stop, Kind::Go, Kind::Deallocation] {
            let sent = notification(kind, &[3, 65_535]).encode();
            let (heard, vc, line, hops, destinations) = decode(&sent);
            assert_eq!((heard, vc, line, hops), (kind, 1, 5, 2));
            assert_eq!(destinations.collect::<Vec<_>>(), [3, 65_535]);
        }
    }

    #[test]
    fn bits_follow_the_fields() {
        // Eight lines: 3 bits of kind, 3 of line. An allocation has 4 bits of hops, 4 of length, and its list.
        let new = Fbicm::default();
        let bits = |kind, list: &[u32], params: &Fbicm| notification(kind, list).bits(params);
        assert_eq!(bits(Kind::Stop, &[], &new), 6);
        assert_eq!(bits(Kind::Update, &[7], &new), 6 + 16);
        assert_eq!(bits(Kind::Allocation, &[1, 2, 3], &new), 6 + 4 + 4 + 48);
        // The first version always sends kind, CP, hops, length and list.
        let first = Fbicm { version: Version::First, ..new };
        for kind in [Kind::Allocation, Kind::Stop, Kind::Go, Kind::Deallocation] {
            assert_eq!(bits(kind, &[1, 2, 3], &first), 3 + 8 + 4 + 16 + 48);
        }
    }
}
