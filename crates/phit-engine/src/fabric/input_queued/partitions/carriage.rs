//! Mail for partitions of other processes: it travels as bytes, packets and events as they stand in memory.

use crate::engine::parallel::{Carrier, Inboxes};
use crate::engine::peers::{self, garbled};
use crate::engine::{Letters, Pages, Spare, Team};
use crate::fabric::input_queued::post::mail::{Mail, Room, SLICES};
use std::ops::Range;
use zerocopy::{FromBytes, Immutable, IntoBytes};

/// The processes that run a network together, and their partitions.
pub(crate) struct Carriage {
    team: Team,
    /// By process: the partition after its last, which is the first of the next process.
    ends: Vec<usize>,
}

impl Carriage {
    /// For the processes of `team`, whose partitions end before `ends`.
    pub(crate) fn new(team: Team, ends: Vec<usize>) -> Self {
        Self { team, ends }
    }

    /// The processes.
    pub(crate) fn team(&self) -> &Team {
        &self.team
    }

    /// The partitions of this process.
    pub(crate) fn own(&self) -> Range<usize> {
        self.of(self.team.rank())
    }

    fn of(&self, process: usize) -> Range<usize> {
        process.checked_sub(1).map_or(0, |before| self.ends[before])..self.ends[process]
    }
}

impl Carrier<Mail> for Carriage {
    fn carry(&self, inboxes: &Inboxes<Mail>, room: &mut Room) {
        let parcels_for = |process: usize| match process == self.team.rank() {
            true => Vec::new(),
            false => {
                let of = |part: usize| inboxes.take(part).into_iter().map(move |mail| Parcel::new(part, mail));
                self.of(process).flat_map(of).collect()
            }
        };
        let parcels: Vec<Vec<Parcel>> = (0..self.ends.len()).map(parcels_for).collect();
        let lengths: Vec<usize> = parcels.iter().map(|to| to.iter().map(Parcel::length).sum()).collect();
        // About as much comes as is sent.
        room.unbounded(|room| {
            let mut letters = Mails { parcels, own: self.own(), inboxes, room };
            self.team.exchange(&lengths, &mut letters);
        });
    }
}

/// The mail of an epoch.
struct Mails<'a> {
    /// By process: the parcels for it.
    parcels: Vec<Vec<Parcel>>,
    /// The partitions of this process.
    own: Range<usize>,
    inboxes: &'a Inboxes<Mail>,
    room: &'a mut Room,
}

impl Letters for Mails<'_> {
    fn write(&mut self, process: usize, letter: &mut [u8]) {
        let mut left = Writer(letter);
        for parcel in std::mem::take(&mut self.parcels[process]) {
            parcel.write(&mut left);
            for slice in parcel.mail.slices {
                slice.heads.give(&mut self.room.heads);
                slice.briefs.give(&mut self.room.briefs);
                slice.events.give(&mut self.room.events);
            }
        }
        debug_assert!(left.0.is_empty(), "{} bytes are left", left.0.len());
    }

    fn read(&mut self, _: usize, letter: &[u8]) {
        let mut left = Reader(letter);
        while !left.0.is_empty() {
            let (part, mail) = left.parcel(self.room);
            if !self.own.contains(&part) {
                garbled(format_args!("mail for partition {part}"));
            }
            self.inboxes.put(part, mail);
        }
    }
}

/// Mail for a partition in its written form. It begins with the number of the partition. The packets and events of
/// every slice follow, each list after its length. The rest, which is rare, comes last, after its length in bytes.
struct Parcel {
    part: usize,
    mail: Mail,
    rest: Vec<u8>,
}

/// Bytes of a number.
const NUMBER: usize = size_of::<u32>();

impl Parcel {
    fn new(part: usize, mail: Mail) -> Self {
        let Mail { slices: _, messages, announced, words, again, ended } = &mail;
        let lost = !again.is_empty() || !ended.is_empty();
        let nothing = messages.is_empty() && announced.is_empty() && words.is_empty() && !lost;
        let rest = if nothing { Vec::new() } else { peers::written(&(messages, announced, words, again, ended)) };
        Self { part, mail, rest }
    }

    /// Bytes of all of it.
    fn length(&self) -> usize {
        fn list<T>(pages: &Pages<T>) -> usize {
            NUMBER + pages.len() * size_of::<T>()
        }
        let slices =
            self.mail.slices.iter().map(|slice| list(&slice.heads) + list(&slice.briefs) + list(&slice.events));
        2 * NUMBER + slices.sum::<usize>() + self.rest.len()
    }

    fn write(&self, to: &mut Writer<'_>) {
        to.number(self.part);
        const { assert!(SLICES == 8, "readers and writers of mail are of one version") };
        for slice in &self.mail.slices {
            to.list(&slice.heads);
            to.list(&slice.briefs);
            to.list(&slice.events);
        }
        to.number(self.rest.len());
        to.bytes(&self.rest);
    }
}

/// The unwritten rest of a letter.
struct Writer<'a>(&'a mut [u8]);

impl Writer<'_> {
    fn bytes(&mut self, bytes: &[u8]) {
        let (place, rest) = std::mem::take(&mut self.0).split_at_mut(bytes.len());
        place.copy_from_slice(bytes);
        self.0 = rest;
    }

    fn number(&mut self, number: usize) {
        self.bytes(&(number as u32).to_le_bytes());
    }

    fn list<T: IntoBytes + Immutable>(&mut self, pages: &Pages<T>) {
        self.number(pages.len());
        pages.pages().for_each(|page| self.bytes(page.as_bytes()));
    }
}

/// The unread rest of a letter.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn bytes(&mut self, count: usize) -> &'a [u8] {
        let Some((bytes, rest)) = self.0.split_at_checked(count) else { garbled("mail ends too early") };
        self.0 = rest;
        bytes
    }

    fn number(&mut self) -> usize {
        let (number, rest) = u32::read_from_prefix(self.0).unwrap_or_else(|_| garbled("mail ends too early"));
        self.0 = rest;
        u32::from_le(number) as usize
    }

    /// Mail, and the partition that it is for.
    fn parcel(&mut self, room: &mut Room) -> (usize, Mail) {
        let (part, mut mail) = (self.number(), Mail::default());
        for slice in &mut mail.slices {
            self.list(&mut slice.heads, &mut room.heads);
            self.list(&mut slice.briefs, &mut room.briefs);
            self.list(&mut slice.events, &mut room.events);
        }
        let length = self.number();
        if length > 0 {
            (mail.messages, mail.announced, mail.words, mail.again, mail.ended) = peers::read(self.bytes(length));
        }
        (part, mail)
    }

    fn list<T: FromBytes>(&mut self, pages: &mut Pages<T>, spare: &mut Spare<T>) {
        let count = self.number();
        for item in self.bytes(count * size_of::<T>()).chunks_exact(size_of::<T>()) {
            // All of them are of the right size.
            if let Ok(item) = T::read_from_bytes(item) {
                pages.push(item, spare);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Event;
    use crate::fabric::input_queued::post::mail::{Brief, Timed};
    use crate::fabric::input_queued::post::messages::{Message, Party};
    use crate::packet::Packet;

    #[test]
    fn mail_is_read_as_it_was_written() {
        let mut room = Room::new(2);
        let mail = |count: u32, room: &mut Room| {
            let mut mail = Mail::default();
            for number in 0..count {
                let slice = &mut mail.slices[number as usize % 3];
                let packet = Packet { birth: number, size: 7, ..Packet::new(number, 2 * number) };
                slice.heads.push(packet, &mut room.heads);
                slice.briefs.push(Brief::of(&packet, number + 8, 4 * number), &mut room.briefs);
                slice.events.push(
                    Timed { at: number + 9, event: Event { target: 3 * number, data: number } },
                    &mut room.events,
                );
            }
            if count > 1 {
                let payload = vec![1, count as u16].into();
                mail.messages.push((count, Message { party: Party::Sender, router: 5, port: 6, payload }));
            }
            mail
        };
        for count in [0, 1, 100] {
            let parcel = Parcel::new(4, mail(count, &mut room));
            let mut bytes = vec![0; parcel.length()];
            let mut left = Writer(&mut bytes);
            parcel.write(&mut left);
            assert!(left.0.is_empty());
            let mut left = Reader(&bytes);
            let (part, again) = left.parcel(&mut room);
            assert_eq!((part, format!("{again:?}")), (4, format!("{:?}", parcel.mail)));
            assert!(left.0.is_empty());
        }
    }
}
