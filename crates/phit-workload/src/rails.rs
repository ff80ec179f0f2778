//! Rails: several interfaces of a rank, each at a place of its own in the network.

use crate::host::Message;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Which rail a message takes. It arrives at the same rail of its destination.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Choice {
    /// One after the other.
    #[default]
    RoundRobin,
    /// As a hash of source, destination and tag says: messages that have these in common take one rail.
    Hash,
    /// The one with the fewest phits that are to be sent; of equal ones that whose interface is free first, of these
    /// the first.
    LeastQueued,
    /// The interface (`nic`) that the operation names.
    Program,
}

/// The interfaces of every rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rails {
    /// How many there are.
    pub count: u8,
    /// Which a message takes.
    pub choice: Choice,
}

impl Rails {
    /// The rail of all messages of a source, destination and tag.
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

/// Lets messages of one source, destination and tag go on in the order in which they were sent, whichever way each of
/// them took. A message is known by its [`Message::mark`], which grows with each that its source sends.
#[derive(Debug)]
pub struct InOrder<T> {
    /// By destination, source, tag and mark: those that have come before one that was sent earlier.
    waiting: BTreeMap<(u32, u32, u32, u32), Option<T>>,
}

impl<T> Default for InOrder<T> {
    fn default() -> Self {
        Self { waiting: BTreeMap::new() }
    }
}

impl<T> InOrder<T> {
    /// A message is sent, after all others of its source that are known.
    pub fn sent(&mut self, message: &Message) {
        let &Message { source, destination, tag, mark, .. } = message;
        self.waiting.insert((destination, source, tag, mark), None);
    }

    /// A message has come that was sent, with what is known of it; calls `each` with what can go on now.
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
        /// In whatever order messages come, they go on in the order of their marks, each as soon as all before it have
        /// come.
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
        // 1,000 each, with a deviation of 27.
        assert!(counts.iter().all(|count| count.abs_diff(1000) < 110), "{counts:?}");
    }
}
