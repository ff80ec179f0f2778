//! Credits instead of answers: a packet that finds no room waits where it has arrived.
//!
//! A packet keeps its slot in the queue that it left until the next router has put it into a queue of its own. So a
//! queue sends no more packets than it has slots before the first of them is accepted. A place for each of its credits
//! at the far end is therefore enough. When a packet leaves its place, a credit returns in the place of an answer: with
//! equal phits on the same link. An endpoint, which sends one packet at a time, has one credit.
//!
//! Packets of a virtual channel leave their places in the order of arrival. Among channels and endpoints, the packet
//! that has waited longest goes first. A packet within an escape ring always keeps a slot of this ring, so the bubble
//! rule holds as it does with answers.

use super::state::{Network, Word};
use crate::engine::Table;

/// A packet that waits for room in a router.
#[derive(Debug, Clone, Copy)]
enum Landed {
    /// It has arrived over the link opposite to this one.
    Transit { back: u32, word: Word },
    /// It is the next packet of this endpoint.
    New { endpoint: u32 },
}

/// By router, the packets that wait for room there, in the order of arrival.
#[derive(Debug)]
pub(super) struct Landings(Table<Vec<Landed>>);

impl Landings {
    /// For this many routers.
    pub(super) fn new(routers: u32) -> Self {
        Self(vec![Vec::new(); routers as usize].into())
    }

    /// Bytes held.
    pub(super) fn bytes(&self) -> usize {
        self.0.bytes() + self.0.iter().map(|there| there.capacity() * size_of::<Landed>()).sum::<usize>()
    }
}

impl Network {
    /// A packet has arrived at the router of `back`, the link opposite to the one it came by.
    pub(super) fn land(&mut self, back: u32, word: Word) {
        self.wait(self.numbers.router(back), Landed::Transit { back, word });
    }

    /// The next packet of `endpoint` has arrived at its router.
    pub(super) fn land_new(&mut self, endpoint: u32) {
        self.wait(endpoint / self.endpoints_per_router, Landed::New { endpoint });
    }

    fn wait(&mut self, router: u32, landed: Landed) {
        let Some(Landings(there)) = &mut self.landings else { return };
        there[router].push(landed);
        self.admit(router);
    }

    /// A credit is back at the sender of a packet.
    pub(super) fn credited(&mut self, link: u32, word: Word) {
        self.answered(link, word);
        self.admit(self.numbers.router(link));
    }

    /// The link to `endpoint` is free.
    pub(super) fn ejected(&mut self, endpoint: u32) {
        self.try_ejection(endpoint);
        self.admit(endpoint / self.endpoints_per_router);
    }

    /// Puts the packets that wait at `router` into queues with room.
    fn admit(&mut self, router: u32) {
        let Some(Landings(there)) = &mut self.landings else { return };
        let mut waiting = std::mem::take(&mut there[router]);
        // By link and virtual channel: whether the first of its packets still waits.
        let mut blocked = 0u64;
        waiting.retain(|landed| match *landed {
            Landed::Transit { back, word } => {
                let channel = 1 << (4 * self.numbers.direction(back) + u32::from(word.vc()));
                let goes = blocked & channel == 0 && self.take(back, word);
                blocked |= if goes { 0 } else { channel };
                !goes
            }
            Landed::New { endpoint } => {
                let goes = self.take_new(endpoint);
                if goes {
                    self.reply(endpoint, true);
                }
                !goes
            }
        });
        if let Some(Landings(there)) = &mut self.landings {
            there[router] = waiting;
        }
    }

    /// Checks that every packet that waits for room has its slot in the queue that it left.
    pub(super) fn audit_landings(&self) -> Result<(), String> {
        let waiting = self.landings.iter().flat_map(|Landings(there)| there.iter().flatten());
        for landed in waiting {
            let Landed::Transit { back, word } = *landed else { continue };
            let (link, vc, packet) = (self.far[back], word.vc(), word.packet());
            let slot = self.packets_of(link, vc).position(|other| other == packet);
            if slot.is_none_or(|slot| self.links[link].waiting[usize::from(vc)] >> slot & 1 == 1) {
                return Err(format!("packet {packet} waits behind link {link} without a slot in its queue {vc}"));
            }
        }
        Ok(())
    }
}
