//! A partition's events, and its mail to and from other partitions.

use super::mail::{Brief, Mail, Room, SLICES, Slice, Slices, Timed};
use crate::engine::parallel::Outbox;
use crate::engine::{Bytes, Due, Event, Tick, Wheel};
use crate::fabric::input_queued::state::kind;
use crate::packet::{Arena, Packet};

/// The events of a partition that wait for their ticks, its outgoing mail, and mail that has come early.
#[derive(Debug)]
pub(crate) struct PostOffice {
    /// The partition.
    own: u32,
    wheel: Wheel,
    slices: Slices,
    /// Mail for later stretches of time, by stretch.
    coming: [Vec<Slice>; SLICES],
    /// Mail for other partitions; lent by the thread that runs this one.
    outbox: Outbox<Mail>,
}

impl PostOffice {
    /// An empty post office of partition `own`, whose wheel covers `horizon` ticks.
    pub(crate) fn new(own: u32, horizon: Tick) -> Self {
        Self {
            own,
            wheel: Wheel::new(horizon),
            slices: Slices::new(0),
            coming: Default::default(),
            outbox: Outbox { mail: Vec::new(), room: Room::new(0) },
        }
    }

    /// Sorts mail for epochs of `epoch` ticks.
    pub(crate) fn sort_for(&mut self, epoch: Tick) {
        self.slices = Slices::new(epoch);
    }

    /// True if this post office belongs to `partition`.
    #[inline(always)]
    pub(crate) fn is_own(&self, partition: u32) -> bool {
        partition == self.own
    }

    /// Files an event for tick `at`; everything up to tick `now` has been handled.
    #[inline(always)]
    pub(crate) fn file(&mut self, (now, at): (Tick, Tick), kind: u32, target: u32, data: u32) {
        kind::file_in(&mut self.wheel, (now, at), kind, target, data);
    }

    /// Files an event here or with another partition.
    #[inline(always)]
    pub(crate) fn send(&mut self, partition: u32, (now, at): (Tick, Tick), kind: u32, target: u32, data: u32) {
        if self.is_own(partition) {
            self.file((now, at), kind, target, data);
        } else {
            let event = kind::mailed(kind, target, data);
            let slice = &mut self.outbox.mail[partition as usize].slices[self.slices.of(at)];
            slice.events.push(Timed { at, event }, &mut self.outbox.room.events);
        }
    }

    /// Sends a head to `queue` of another partition, where it arrives at tick `at`. `brief`: the routing mechanism
    /// notes nothing in packets, and all of them have one size.
    #[inline(always)]
    pub(crate) fn send_head(&mut self, partition: u32, at: Tick, queue: u32, packet: &Packet, brief: bool) {
        let slice = &mut self.outbox.mail[partition as usize].slices[self.slices.of(at)];
        if brief {
            slice.briefs.push(Brief::of(packet, at, queue), &mut self.outbox.room.briefs);
        } else {
            // Its place in the queue means nothing on its way.
            let sent = Packet { entry: at, next: queue, ..*packet };
            slice.heads.push(sent, &mut self.outbox.room.heads);
        }
    }

    /// The mail for another partition.
    pub(crate) fn mail_to(&mut self, partition: u32) -> &mut Mail {
        &mut self.outbox.mail[partition as usize]
    }

    /// Takes the outgoing mail of the thread, or gives it back.
    pub(crate) fn swap_outbox(&mut self, outbox: &mut Outbox<Mail>) {
        std::mem::swap(&mut self.outbox, outbox);
    }

    /// The first tick after the stretch of time in which `now` is.
    pub(crate) fn end_of_stretch(&self, now: Tick) -> Tick {
        self.slices.end(now)
    }

    /// Files mail for the stretch of time in which `now` is, and keeps mail for later stretches. Packets go to
    /// `packets`; brief ones have `size` phits.
    pub(crate) fn receive(&mut self, slices: [Slice; SLICES], now: Tick, size: u16, packets: &mut Arena) {
        let current = self.slices.of(now);
        for (slice, there) in slices.into_iter().enumerate() {
            match slice == current {
                _ if there.is_empty() => {}
                true => self.take_in(there, now, size, packets),
                false => self.coming[slice].push(there),
            }
        }
    }

    /// Files the mail that has been kept for the stretch of time that begins at `now`.
    pub(crate) fn open_stretch(&mut self, now: Tick, size: u16, packets: &mut Arena) {
        let slice = self.slices.of(now);
        let mut there = std::mem::take(&mut self.coming[slice]);
        there.drain(..).for_each(|there| self.take_in(there, now, size, packets));
        self.coming[slice] = there;
    }

    /// Files mail.
    fn take_in(&mut self, there: Slice, now: Tick, size: u16, packets: &mut Arena) {
        // The wheel takes events later than a tick: the one before the current is as good.
        let before = now.saturating_sub(1);
        let (wheel, room) = (&mut self.wheel, &mut self.outbox.room);
        there.heads.consume(&mut room.heads, |packet| {
            let (at, queue) = (packet.entry, packet.next);
            let index = packets.insert(*packet);
            kind::file_in(wheel, (before, at), kind::ARRIVAL, queue, index);
        });
        there.briefs.consume(&mut room.briefs, |brief| {
            let index = packets.insert(brief.packet(size));
            kind::file_in(wheel, (before, brief.at), kind::ARRIVAL, brief.queue, index);
        });
        there.events.consume(&mut room.events, |&Timed { at, event }| {
            let (kind, target) = kind::of_mail(event);
            kind::file_in(wheel, (before, at), kind, target, event.data);
        });
    }

    /// Mail that has come and has not been filed.
    pub(crate) fn coming(&self) -> impl Iterator<Item = &Slice> {
        self.coming.iter().flatten()
    }

    /// Makes the events of tick `now` and the next ones ready.
    #[inline(always)]
    pub(crate) fn bring_near(&mut self, now: Tick) {
        self.wheel.bring_near(now);
    }

    /// Takes out the events of a list of tick `now`.
    #[inline(always)]
    pub(crate) fn take(&mut self, now: Tick, list: u32) -> Due {
        self.wheel.take(now, list)
    }

    /// The next of the events that have been taken out.
    #[inline(always)]
    pub(crate) fn pop(&mut self, due: &mut Due) -> Option<Event> {
        self.wheel.pop(due)
    }

    /// The first tick from `from` on for which there is an event; `limit` at the latest.
    #[inline(always)]
    pub(crate) fn next_tick(&self, from: Tick, limit: Tick) -> Tick {
        self.wheel.next_tick(from, limit)
    }

    /// Calls `see` with the events of a list of tick `at`, which is near.
    #[inline(always)]
    pub(crate) fn for_each_of(&self, at: Tick, list: u32, see: impl FnMut(Event)) {
        self.wheel.for_each_of(at, list, see);
    }

    /// Calls `see` with tick, list and event of everything that has been filed; `now` is the next tick.
    pub(crate) fn for_each(&self, now: Tick, see: impl FnMut(Tick, u32, Event)) {
        self.wheel.for_each(now, see);
    }

    /// Brings the events into the cache.
    pub(crate) fn fetch(&self) {
        self.wheel.fetch();
    }

    /// Bytes by table.
    pub(crate) fn tables(&self) -> [(&'static str, usize); 2] {
        let Self { own: _, wheel, slices: _, coming, outbox: _ } = self;
        let mail = coming.iter().map(|there| there.bytes() + there.iter().map(Bytes::bytes).sum::<usize>());
        [("wheel", wheel.bytes()), ("mail", mail.sum())]
    }
}
