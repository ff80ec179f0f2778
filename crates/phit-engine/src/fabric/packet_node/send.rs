//! The next transmission of a free link, and the answers of its receiver.

use super::state::{ANSWER, MOST_SLOTS, Network, PACKET, Word, kind};
use crate::engine::{NONE, Tick};
use crate::fabric::seams::bubble::{ADAPTIVE, TO_DESTINATION, TO_INTERMEDIATE};

/// The order in which a link serves its queues.
pub(super) const SERVICE: [u8; 3] = [TO_DESTINATION, TO_INTERMEDIATE, ADAPTIVE];

impl Network {
    /// Sends something over `link` if it is free and something waits.
    #[inline(always)]
    pub(super) fn try_link(&mut self, link: u32) {
        if self.links[link].is_ready(self.now) {
            self.send_over(link);
        }
    }

    /// Sends the first of everything that waits for `link`, which is free. The choice is not a branch: the processor
    /// could not predict it.
    #[inline(never)]
    pub(super) fn send_over(&mut self, link: u32) {
        let there = &mut self.links[link];
        let answer = self.answers.take(there);
        let is_answer = answer != NONE;
        let choose = |answer: u32, packet: u32| if is_answer { answer } else { packet };
        let [first, second, third] = SERVICE;
        let or = |vc: u8, other: u8| if there.waiting[usize::from(vc)] != 0 { vc } else { other };
        let vc = or(first, or(second, third));
        let waiting = &mut there.waiting[usize::from(vc)];
        let oldest = *waiting;
        *waiting = choose(oldest, oldest & oldest.wrapping_sub(1));
        // For an answer, any slot will do. It is always the same slot, which is in the cache.
        let packet = self.slots[choose(0, self.slot(link, vc) + oldest.trailing_zeros() % MOST_SLOTS)];
        let word = choose(answer, Word::new(packet, vc).0);
        let kind = usize::from(is_answer);
        let class = self.classes[link];
        let times = &self.times[class.into()];
        let (mut phits, mut ticks, latency) = (self.phits[kind], times.ticks[kind], times.latency);
        if ticks == 0 {
            (phits, ticks) = self.size(packet, class);
        }
        let until = self.occupy(link, phits, ticks);
        let (free, there) = [(kind::FREE, kind::ARRIVAL), (kind::FREE_OF_ANSWER, kind::ANSWER)][kind];
        self.calendar.file_both(free, there, until, latency, link, word);
    }

    /// Puts an answer on `link`, which is free.
    #[inline(always)]
    pub(super) fn send_answer(&mut self, link: u32, word: Word) {
        let times = &self.times[self.classes[link].into()];
        let (ticks, latency) = (times.ticks[ANSWER], times.latency);
        let until = self.occupy(link, self.phits[ANSWER], ticks);
        self.calendar.file_both(kind::FREE_OF_ANSWER, kind::ANSWER, until, latency, link, word.0);
    }

    /// Phits of a packet, and its ticks on a link of `class`, where packets have several sizes.
    #[inline(never)]
    fn size(&self, packet: u32, class: u8) -> (u32, Tick) {
        let size = self.records[packet].size.into();
        (size, self.serialisation(class, size))
    }

    /// `link` carries `phits` from now on; returns the end.
    #[inline]
    fn occupy(&mut self, link: u32, phits: u32, ticks: Tick) -> Tick {
        let until = self.now + ticks;
        let there = &mut self.links[link];
        there.busy = until;
        there.phits += u64::from(phits);
        self.wires.note(link, (self.now, until), phits, false);
        until
    }

    /// The answer about a packet sent over `link`: its slot is free, or it is sent again from its old place.
    #[inline(always)]
    pub(super) fn answered(&mut self, link: u32, word: Word) {
        let queue = self.numbers.queue(link, word.vc());
        let (first, used) = ((queue * u32::from(self.capacity)) as usize, usize::from(self.used[queue]));
        let slots = (*self.slots).get_mut(first..first + usize::from(self.capacity)).unwrap_or_default();
        let Some(slot) = slots.iter().take(used).position(|&packet| packet == word.packet()) else {
            debug_assert!(false, "an answer about a packet that was not sent");
            return;
        };
        let waiting = &mut self.links[link].waiting[usize::from(word.vc())];
        if word.accepted() {
            let younger = !0u32 << slot;
            *waiting = *waiting & !younger | (*waiting >> 1) & younger;
            // Free slots are moved, too. Most often the oldest packet leaves, and then the processor predicts the
            // number of slots.
            slots.copy_within(slot + 1.., slot);
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
        let fixed = self.times[0].ticks[PACKET];
        let (size, on_link) = if fixed == 0 { self.size(packet, 0) } else { (self.phits[PACKET], fixed) };
        let end = self.now + on_link;
        let there = &mut self.ejections[endpoint];
        there.phits += u64::from(size);
        there.free = end;
        self.wires.note(self.links.len() as u32 + endpoint, (self.now, end), size, false);
        self.calendar.file(kind::EJECTION, end, endpoint, 0);
        let arrives = end + self.link_classes[0].ejection_latency;
        if fixed == 0 {
            return self.calendar.file(kind::DELIVERY, arrives, packet, 0);
        }
        self.origins.prefetch(packet);
        self.under_way.push_back((arrives, packet));
        self.deliver_before(self.now);
    }
}
