//! Rails: several interfaces of a rank, each at its own place in the network.

use crate::host::Message;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The rail of a message. It arrives at the rail of equal number at its destination.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Choice {
    /// The rails in turn.
    #[default]
    RoundRobin,
    /// By a hash of source, destination and tag: messages with equal values take one rail.
    Hash,
    /// The rail with the fewest phits to be sent. Among equals, the one whose interface is free first; among these, the
    /// first.
    LeastQueued,
    /// The rail of the interface (`nic`) that the operation names.
    Program,
}

/// The interfaces of every rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rails {
    /// Number of rails.
    pub count: u8,
    /// The choice of a message's rail.
    pub choice: Choice,
}

impl Rails {
    /// The rail of all messages with this source, destination and tag.
    pub(crate) fn hashed(self, source: u32, destination: u32, tag: u32) -> u8 {
        // The end of splitmix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014).
        let mix = |mut bits: u64| {
            bits = (bits ^ bits >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            bits = (bits ^ bits >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
            bits ^ bits >> 31
        };
        let pair = mix((u64::from(source) << 32 | u64::from(destination)).wrapping_add(0x9E37_79B9_7F4A_7C15));
        (mix(pair ^ u64::from(tag)) % u64::from(self.count)) as u8
    }
}

/// Restores the order of messages with equal source, destination and tag after they have taken different rails.
/// Messages are identified by [`Message::mark`], which grows with each message of their source.
#[derive(Debug)]
pub struct InOrder<T> {
    /// By destination, source, tag and mark: messages that wait for an earlier one.
    waiting: BTreeMap<(u32, u32, u32, u32), Option<T>>,
}

impl<T> Default for InOrder<T> {
    fn default() -> Self {
        Self { waiting: BTreeMap::new() }
    }
}

impl<T> InOrder<T> {
    /// A message is sent, after all known messages of its source.
    pub fn sent(&mut self, message: &Message) {
        let &Message { source, destination, tag, mark, .. } = message;
        self.waiting.insert((destination, source, tag, mark), None);
    }

    /// A sent message has arrived, with data about it. Calls `each` with the messages that can go on now.
    pub fn come(&mut self, message: &Message, known: T, mut each: impl FnMut(T)) {
        let &Message { source, destination, tag, mark, .. } = message;
        self.waiting.insert((destination, source, tag, mark), Some(known));
        let all = (destination, source, tag, 0)..=(destination, source, tag, u32::MAX);
        while let Some((&first, Some(_))) = self.waiting.range(all.clone()).next() {
            self.waiting.remove(&first).flatten().into_iter().for_each(&mut each);
        }
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.waiting.len() * size_of::<((u32, u32, u32, u32), Option<T>)>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn message(source: u32, tag: u32, mark: u32) -> Message {
        Message { source, destination: 7, number: 0, bytes: 1, tag, cpu: 0, nic: 0, left: 0, mark }
    }

    proptest! {
        /// Messages go on in the order of their marks, however they arrive. Each goes on as soon as all before it have
        /// arrived.
        #[test]
        fn messages_go_on_in_their_order(
            sent in prop::collection::vec((0..2u32, 0..2u32), 1..30),
            shuffle in prop::collection::vec(any::<u32>(), 30),
        ) {
            let mut order = InOrder::default();
            let all: Vec<Message> = (0..).zip(&sent).map(|(mark, &(source, tag))| message(source, tag, mark)).collect();
            all.iter().for_each(|message| order.sent(message));
            let mut coming = all.clone();
            coming.sort_by_key(|message| shuffle[message.mark as usize]);
            let (mut come, mut gone) = (Vec::new(), Vec::new());
            for message in &coming {
                come.push(message.mark);
                order.come(message, *message, |message| gone.push(message));
                let ready = all.iter().filter(|one| {
                    let same = |other: &&Message| (other.source, other.tag) == (one.source, one.tag);
                    all.iter().filter(same).all(|other| other.mark > one.mark || come.contains(&other.mark))
                });
                prop_assert_eq!(gone.len(), ready.count());
            }
            for of in [(0, 0), (0, 1), (1, 0), (1, 1)] {
                let own: Vec<u32> = gone.iter().filter(|m| (m.source, m.tag) == of).map(|m| m.mark).collect();
                prop_assert!(own.is_sorted());
            }
            prop_assert_eq!(order.bytes(), 0);
        }
    }

    #[test]
    fn flows_are_shared_out_among_rails() {
        let rails = Rails { count: 4, choice: Choice::Hash };
        let mut counts = [0u32; 4];
        for flow in 0..4000u32 {
            counts[usize::from(rails.hashed(flow % 64, flow / 64, flow % 3))] += 1;
        }
        // Each has 1,000, with a standard deviation of 27.
        assert!(counts.iter().all(|count| count.abs_diff(1000) < 110), "{counts:?}");
    }
}
