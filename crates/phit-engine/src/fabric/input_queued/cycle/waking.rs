//! The sleep of heads that are decided about again, and their wake-up (`waiting/watchers.rs`).

use crate::engine::{NONE, Tick};
use crate::fabric::input_queued::options::kernel::Kernel;
use crate::fabric::input_queued::partition::Partition;
use crate::fabric::input_queued::state::records::Queue;
use crate::fabric::input_queued::waiting::watchers::Levels;
use crate::fabric::seams::routing::{Changes, Head, Output, Watched};
use smallvec::{SmallVec, smallvec};
use std::ops::Range;

/// All virtual channels of an output.
const ANY: Range<u32> = 0..u32::MAX;

impl Partition {
    /// Lets `queue` sleep until one of the changes that its mechanism has named takes place.
    #[inline(never)]
    pub(crate) fn watch<K: Kernel>(&mut self, queue: u32) {
        let &Queue { port, output, vc, vcs, .. } = &self.queues[queue];
        let (router, lane) = self.fall_asleep(port, queue);
        let (first, end) = (self.tables.first_port[router], self.tables.first_port[router + 1]);
        // A virtual channel of a mechanism may be one of several networks, or several queues.
        let divided = self.setup.settings.networks > 1 || self.tables.behind.division.queues != 1;
        // If the chosen output lacks time alone, its wake-up was filed when the head was looked at.
        if output != NONE {
            let vcs = vc.into()..u32::from(vc + vcs.max(1));
            let levels = Levels { to: u32::MAX, from: if divided { 0 } else { self.watched.chosen_from } };
            let changes = (self.watched.chosen, levels);
            self.watchers.enter(lane, changes, vcs, &mut self.tables.outputs[output], output);
        }
        if !self.watched.named {
            let all = Changes::ALL.without(Changes::ROOM);
            (first..end).for_each(|output| self.watch_output::<K>(output, lane, (all, Levels::ANY), ANY));
        }
        for index in 0..self.watched.outputs.len() {
            let Watched { ports, vcs, changes, to } = self.watched.outputs[index].clone();
            let outputs = first + u32::from(ports.start)..(first + u32::from(ports.end)).min(end);
            // By far the most frequent case: room in one channel of each output.
            if changes == Changes::ROOM && !divided && vcs.len() == 1 {
                for output in outputs {
                    self.watchers.enter_channel(lane, vcs.start.into(), &mut self.tables.outputs[output]);
                    self.waits_for_time::<K>(output, self.now);
                }
                continue;
            }
            let vcs = if divided { ANY } else { vcs.start.into()..vcs.end.into() };
            let levels = if divided { Levels::ANY } else { Levels { to, ..Levels::ANY } };
            for output in outputs {
                self.watch_output::<K>(output, lane, (changes, levels), vcs.clone());
            }
        }
    }

    /// Each of a router's `heads` that waits for output ports sleeps until one of the ports has room. Heads that wait
    /// for the same ports enter the sets of these ports together.
    pub(crate) fn lay_to_sleep<K: Kernel>(&mut self, router: u32, heads: &[Head]) {
        let first = self.tables.first_port[router];
        let mut rest = heads;
        while let Some(place) = rest.iter().position(|head| head.waits.count > 0) {
            let ports = rest[place].waits;
            let alike = rest[place..].iter().position(|head| head.waits != ports).map_or(rest.len(), |end| place + end);
            let mut together: SmallVec<[u64; 4]> = smallvec![0; self.watchers.words() as usize];
            for head in &rest[place..alike] {
                let port = first + u32::from(head.port);
                let (_, lane) = self.fall_asleep(port, self.inputs[port].queues + u32::from(head.queue));
                together[lane as usize / 64] |= 1 << (lane % 64);
            }
            for port in ports.numbers() {
                let output = first + u32::from(port);
                self.watchers.enter_for_room(&together, &mut self.tables.outputs[output]);
                self.waits_for_time::<K>(output, self.now);
            }
            rest = &rest[alike..];
        }
    }

    /// True if the head of `queue` of input `port` sleeps until an output has room, and has no decision.
    pub(crate) fn sleeps_undecided(&self, port: u32, queue: u32) -> bool {
        let router = self.inputs[port].router;
        self.setup.settings.batches_sleep && self.watchers.sleeps(router, self.watchers.lane(router, queue))
    }

    /// `queue` of input `port` falls asleep. Returns its router, and its number there.
    #[inline(always)]
    fn fall_asleep(&mut self, port: u32, queue: u32) -> (u32, u32) {
        let router = self.inputs[port].router;
        let lane = self.watchers.lane(router, queue);
        self.watchers.fall_asleep(router, lane);
        (router, lane)
    }

    /// Puts queue number `lane` of the router into the sets of `output` for `changes`. If `output` lacks time alone,
    /// files its wake-up.
    #[inline(always)]
    fn watch_output<K: Kernel>(
        &mut self,
        output: u32,
        lane: u32,
        (changes, levels): (Changes, Levels),
        vcs: Range<u32>,
    ) {
        self.watchers.enter(lane, (changes, levels), vcs, &mut self.tables.outputs[output], output);
        if changes.meets(Changes::ROOM.and(Changes::FREE)) {
            self.waits_for_time::<K>(output, self.now);
        }
    }

    /// True if `output` is busy in tick `at`, or its buffer is full. Then its wake-up is filed.
    #[inline(always)]
    fn waits_for_time<K: Kernel>(&mut self, output: u32, at: Tick) -> bool {
        let busy = self.tables.outputs[output].busy;
        let free = if busy > at { Some(busy) } else { self.full_until::<K>(output, self.least::<K>()) };
        if let Some(free) = free {
            self.wake_output_at(output, free);
        }
        free.is_some()
    }

    /// The head of `queue`, which asks for channels of several outputs, sleeps until a channel of one of these `ports`
    /// of its router may be free.
    pub(crate) fn sleep_until_free(&mut self, queue: u32, ports: impl Iterator<Item = u16>) {
        let (router, lane) = self.fall_asleep(self.queues[queue].port, queue);
        let first = self.tables.first_port[router];
        for port in ports {
            let output = first + u32::from(port);
            self.watchers.enter(lane, (Changes::FREE, Levels::ANY), ANY, &mut self.tables.outputs[output], output);
        }
    }

    /// A virtual channel of `output` is free.
    #[inline(always)]
    pub(crate) fn free_channel<K: Kernel>(&mut self, output: u32) {
        match self.setup.settings.watches::<K>() && !self.watchers.is_exact() {
            true => self.rouse_watchers::<K>(output, Changes::ALL),
            false => self.wake::<K>(output),
        }
    }

    /// The changes that time or credits bring about, where changes are not told apart. These are all changes, unless
    /// heads ask for channels of several outputs: then they wait for a free channel.
    #[inline(always)]
    fn all_but_free<K: Kernel>(&self) -> Changes {
        let rules = self.setup.settings.choices.reuse_when_empty || self.setup.settings.choices.full_is_taken;
        match K::EXTRAS && self.setup.settings.wants.alternatives && !rules {
            true => Changes::ALL.without(Changes::FREE),
            false => Changes::ALL,
        }
    }

    /// The head of `queue`, of input `port`, sleeps until `output` has room. If only time has to pass for that, its
    /// wake-up has been filed.
    #[inline(always)]
    pub(crate) fn watch_for_room(&mut self, port: u32, queue: u32, output: u32) {
        let (_, lane) = self.fall_asleep(port, queue);
        self.watchers.enter(lane, (Changes::ROOM, Levels::ANY), ANY, &mut self.tables.outputs[output], output);
    }

    /// Phits of the smallest flit that a head may wait with, as far as the kernel knows.
    #[inline(always)]
    fn least<K: Kernel>(&self) -> u32 {
        if K::SIZED || self.setup.settings.alike { self.setup.settings.size } else { 1 }
    }

    /// `output` may have room, or has become free: heads that wait for such a change are looked at.
    #[inline(never)]
    pub(crate) fn call_watchers<K: Kernel>(&mut self, output: u32) {
        if !self.watchers.is_exact() {
            return self.rouse_watchers::<K>(output, self.all_but_free::<K>());
        }
        let &Output { waiters, vc, vcs, .. } = &self.tables.outputs[output];
        let changes = Changes::of_bits(waiters as u8);
        let awaited = changes.meets(Changes::ROOM.and(Changes::FREE));
        if !awaited || self.waits_for_time::<K>(output, self.agenda.next_look()) {
            return;
        }
        let size = self.least::<K>();
        if changes.has(Changes::FREE) {
            self.rouse_watchers::<K>(output, Changes::FREE);
        }
        if changes.has(Changes::ROOM) {
            let mut left = false;
            for channel in vc..vc + u32::from(vcs) {
                match self.tables.channels[channel].credits >= size as i32 {
                    true => self.rouse_for_room::<K>(output, channel),
                    false => left |= self.watchers.is_wanted(channel),
                }
            }
            if !left {
                self.tables.outputs[output].waiters &= !u64::from(Changes::ROOM.bits());
            }
        }
    }

    /// Wakes the heads that wait for room in `channel` of `output`.
    #[inline(always)]
    fn rouse_for_room<K: Kernel>(&mut self, output: u32, channel: u32) {
        let router = self.tables.outputs[output].router;
        for word in 0..self.watchers.words() {
            let woken = self.watchers.take_for_room(router, channel, word);
            self.rouse::<K>(router, word, woken);
        }
    }

    /// The queues `woken` of word `word` of `router` are looked at.
    #[inline(always)]
    fn rouse<K: Kernel>(&mut self, router: u32, word: u32, mut woken: u64) {
        let first = self.watchers.first_of(router, word);
        while woken != 0 {
            let queue = first + woken.trailing_zeros();
            woken &= woken - 1;
            self.offer::<K>(self.queues[queue].port, queue);
        }
    }

    /// A credit has come back to virtual channel `vc` of `output`, which had `before` phits of credits.
    #[inline(always)]
    pub(crate) fn credit_watchers<K: Kernel>(&mut self, output: u32, vc: u32, before: i32) {
        if !self.watchers.is_exact() {
            return self.rouse_watchers::<K>(output, self.all_but_free::<K>());
        }
        let changes = Changes::of_bits(self.tables.outputs[output].waiters as u8);
        let channel = self.tables.outputs[output].vc + vc;
        if changes.has(Changes::FALL) && self.watchers.minds_fall(output, vc, self.held_behind(output, channel)) {
            self.rouse_watchers::<K>(output, Changes::FALL);
        }
        let awaited =
            changes.has(Changes::ROOM) && before < self.setup.settings.enough && self.watchers.is_wanted(channel);
        if awaited && !self.waits_for_time::<K>(output, self.agenda.next_look()) {
            self.rouse_for_room::<K>(output, channel);
        }
    }

    /// Phits in the buffer behind virtual channel `channel` of `output`, and on their way to it.
    #[inline(always)]
    fn held_behind(&self, output: u32, channel: u32) -> u32 {
        let capacity = self.tables.behind.capacity[self.tables.outputs[output].class as usize];
        (capacity as i32 - self.tables.channels[channel].credits).max(0) as u32
    }

    /// `output` is about to be granted to a flit of `size` phits in virtual channel `vc`: heads that wait for such a
    /// rise of its occupancy are looked at again.
    #[inline(always)]
    pub(crate) fn grant_before_watchers<K: Kernel>(&mut self, output: u32, vc: u16, size: u32) {
        if !self.watchers.is_exact() {
            return self.rouse_watchers::<K>(output, Changes::ALL);
        }
        let channel = self.tables.outputs[output].vc + u32::from(vc);
        if self.watchers.minds_rise(output, self.held_behind(output, channel) + size) {
            self.rouse_watchers::<K>(output, Changes::RISE);
        }
    }

    /// `output` has been granted. If only time has to pass until it has room, heads that wait for room are looked at
    /// when it is free again.
    #[inline(always)]
    pub(crate) fn call_watchers_when_free<K: Kernel>(&mut self, output: u32) {
        let &Output { waiters, busy, vc, vcs, .. } = &self.tables.outputs[output];
        let (changes, size) = (Changes::of_bits(waiters as u8), self.least::<K>() as i32);
        let mut channels = vc..vc + u32::from(vcs);
        let room = |channel: u32| self.tables.channels[channel].credits >= size && self.watchers.is_wanted(channel);
        if changes.has(Changes::FREE) || changes.has(Changes::ROOM) && channels.any(room) {
            self.wake_output_at(output, busy);
        }
    }

    /// Wakes the heads that wait for one of `changes` of `output`.
    #[inline(never)]
    pub(crate) fn rouse_watchers<K: Kernel>(&mut self, output: u32, changes: Changes) {
        let record = &mut self.tables.outputs[output];
        let changes = Changes::of_bits(record.waiters as u8 & changes.bits());
        if changes == Changes::NONE {
            return;
        }
        record.waiters &= !u64::from(changes.bits());
        let (router, vc, vcs) = (record.router, record.vc, record.vcs);
        if changes.has(Changes::ROOM) {
            (vc..vc + u32::from(vcs)).for_each(|channel| self.rouse_for_room::<K>(output, channel));
        }
        for word in 0..self.watchers.words() {
            let woken = self.watchers.take(router, output, changes, word);
            self.rouse::<K>(router, word, woken);
        }
    }
}
