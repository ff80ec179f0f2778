//! What a free link carries next, and what its receiver has answered.

use super::state::{Network, Word, kind};
use crate::engine::Tick;
use crate::fabric::seams::bubble::{ADAPTIVE, TO_DESTINATION, TO_INTERMEDIATE};

/// The order in which a link serves its queues.
pub(super) const SERVICE: [u8; 3] = [TO_DESTINATION, TO_INTERMEDIATE, ADAPTIVE];

impl Network {
    /// Puts something on `link` if it is free and there is something to send.
    #[inline]
    pub(super) fn try_link(&mut self, link: u32) {
        if self.busy[link] > self.now {
            return;
        }
        let class = self.classes[link];
        let times = self.times[class.into()];
        let there = &mut self.links[link];
        if let Some(word) = self.answers.pop(there) {
            let far = there.far;
            let end = self.occupy(link, self.answer, times.answer, kind::FREE_OF_ANSWER);
            return self.calendar.file(kind::ANSWER, end + times.latency, far, word.0);
        }
        for vc in SERVICE {
            let waiting = &mut there.waiting[usize::from(vc)];
            if *waiting != 0 {
                let slot = waiting.trailing_zeros();
                *waiting &= *waiting - 1;
                let far = there.far;
                let packet = self.slots[self.slot(link, vc) + slot];
                let (size, on_link) = self.size(packet, class, times.packet);
                let end = self.occupy(link, size, on_link, kind::FREE);
                return self.calendar.file(kind::ARRIVAL, end + times.latency, far, Word::new(packet, vc).0);
            }
        }
    }

    /// Phits of a packet, and its ticks on a link of `class`: `fixed`, unless packets have several sizes.
    #[inline]
    fn size(&self, packet: u32, class: u8, fixed: Tick) -> (u32, Tick) {
        match fixed {
            0 => {
                let size = self.records[packet].size.into();
                (size, self.serialisation(class, size))
            }
            fixed => (self.largest, fixed),
        }
    }

    /// `link` carries so many phits from now on; returns until when.
    #[inline]
    fn occupy(&mut self, link: u32, phits: u32, ticks: Tick, freed: usize) -> Tick {
        let end = self.now + ticks;
        self.busy[link] = end;
        self.links[link].phits += u64::from(phits);
        self.calendar.file(freed, end, link, 0);
        end
    }

    /// The answer about a packet sent over `link`: its slot is free, or it goes again from its old place.
    #[inline(always)]
    pub(super) fn answered(&mut self, link: u32, word: Word) {
        let queue = self.numbers.queue(link, word.vc());
        let used = u32::from(self.used[queue]);
        let first = queue * u32::from(self.capacity);
        let Some(slot) = (0..used).find(|slot| self.slots[first + slot] == word.packet()) else {
            debug_assert!(false, "an answer about a packet that was not sent");
            return;
        };
        let waiting = &mut self.links[link].waiting[usize::from(word.vc())];
        if word.accepted() {
            let younger = !0u32 << slot;
            *waiting = *waiting & !younger | (*waiting >> 1) & younger;
            for place in first + slot + 1..first + used {
                self.slots[place - 1] = self.slots[place];
            }
            self.used[queue] -= 1;
        } else {
            *waiting |= 1 << slot;
            self.try_link(link);
        }
    }

    /// Sends the next packet to its endpoint, if the link is free.
    pub(super) fn try_ejection(&mut self, endpoint: u32) {
        let capacity = self.ejection_capacity;
        let there = &mut self.ejections[endpoint];
        if there.free > self.now || there.held == 0 {
            return;
        }
        let packet = self.arrived[endpoint * u32::from(capacity) + u32::from(there.first)];
        there.first = if there.first + 1 == capacity { 0 } else { there.first + 1 };
        there.held -= 1;
        let (size, on_link) = self.size(packet, 0, self.times[0].packet);
        let end = self.now + on_link;
        let there = &mut self.ejections[endpoint];
        there.phits += u64::from(size);
        there.free = end;
        self.calendar.file(kind::EJECTION, end, endpoint, 0);
        self.calendar.file(kind::DELIVERY, end + self.link_classes[0].ejection_latency, packet, 0);
    }
}
