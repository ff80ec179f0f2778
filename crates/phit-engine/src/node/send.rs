//! What a free link carries next, and what its receiver has answered.

use super::state::{Network, Word, kind};
use crate::routing::bubble::{ADAPTIVE, TO_DESTINATION, TO_INTERMEDIATE};

/// The order in which a link serves its queues.
const SERVICE: [u8; 3] = [TO_DESTINATION, TO_INTERMEDIATE, ADAPTIVE];

impl Network {
    /// Puts something on `link` if it is free and there is something to send.
    #[inline]
    pub(super) fn try_link(&mut self, link: u32) {
        let there = &mut self.links[link as usize];
        if there.free > self.now {
            return;
        }
        if let Some(word) = self.answers.pop(there) {
            return self.transmit(link, word, self.answer, kind::FREE_OF_ANSWER, kind::ANSWER);
        }
        for vc in SERVICE {
            let queue = &mut there.queues[usize::from(vc)];
            if queue.waiting != 0 {
                let slot = queue.waiting.trailing_zeros() as usize;
                queue.waiting &= queue.waiting - 1;
                let packet = self.slots[self.slot(link, vc) + slot];
                let size = self.records[packet as usize].size.into();
                return self.transmit(link, Word::new(packet, vc), size, kind::FREE, kind::ARRIVAL);
            }
        }
    }

    #[inline]
    fn transmit(&mut self, link: u32, word: Word, phits: u32, freed: usize, arrived: usize) {
        let there = &mut self.links[link as usize];
        there.phits += u64::from(phits);
        let (class, far) = (there.class, there.far);
        let end = self.now + self.serialisation(class, phits);
        self.links[link as usize].free = end;
        self.calendar.file(freed, end, link, 0);
        self.calendar.file(arrived, end + self.config.links[class as usize].latency, far, word.0);
    }

    /// The answer about a packet sent over `link`: its slot is free, or it goes again from its old place.
    pub(super) fn answered(&mut self, link: u32, word: Word) {
        let base = self.slot(link, word.vc());
        let queue = &mut self.links[link as usize].queues[usize::from(word.vc())];
        let taken = &mut self.slots[base..base + usize::from(queue.used)];
        let Some(slot) = taken.iter().position(|packet| *packet == word.packet()) else {
            debug_assert!(false, "an answer about a packet that was not sent");
            return;
        };
        if word.accepted() {
            taken.copy_within(slot + 1.., slot);
            let younger = !0u32 << slot;
            queue.waiting = queue.waiting & !younger | (queue.waiting >> 1) & younger;
            queue.used -= 1;
        } else {
            queue.waiting |= 1 << slot;
            self.try_link(link);
        }
    }

    /// Sends the next packet to its endpoint, if the link is free.
    pub(super) fn try_ejection(&mut self, endpoint: u32) {
        let there = &mut self.endpoints[endpoint as usize];
        if there.ejection_free > self.now {
            return;
        }
        let Some(packet) = there.arrived.pop_front() else { return };
        let size = self.records[packet as usize].size;
        there.ejected += u64::from(size);
        let end = self.now + self.serialisation(0, size.into());
        self.endpoints[endpoint as usize].ejection_free = end;
        self.calendar.file(kind::EJECTION, end, endpoint, 0);
        self.calendar.file(kind::DELIVERY, end + self.config.links[0].ejection_latency, packet, 0);
    }
}
