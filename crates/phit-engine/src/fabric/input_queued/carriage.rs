//! Mail for partitions of other processes: it travels as bytes, packets and events as they stand in memory.

use super::mail::{Mail, SLICES};
use crate::engine::parallel::{Carrier, Inboxes};
use crate::engine::peers::{self, garbled};
use crate::engine::{Pages, Spare, Team};
use std::ops::Range;
use zerocopy::{FromBytes, Immutable, IntoBytes};

/// Which process has which partitions, and what leads there.
pub(super) struct Carriage {
    team: Team,
    /// By process: the partition after its last; its first is where those of the process before it end.
    ends: Vec<usize>,
}

impl Carriage {
    /// Of these processes, whose partitions end before `ends`.
    pub(super) fn new(team: Team, ends: Vec<usize>) -> Self {
        Self { team, ends }
    }

    /// The processes.
    pub(super) fn team(&self) -> &Team {
        &self.team
    }

    /// The partitions of this process.
    pub(super) fn own(&self) -> Range<usize> {
        self.of(self.team.rank())
    }

    fn of(&self, process: usize) -> Range<usize> {
        process.checked_sub(1).map_or(0, |before| self.ends[before])..self.ends[process]
    }
}

impl Carrier<Mail> for Carriage {
    fn carry(&self, inboxes: &Inboxes<Mail>) {
        let letter = |process: usize| {
            let mut bytes = Vec::new();
            if process != self.team.rank() {
                for part in self.of(process) {
                    inboxes.take(part).iter().for_each(|mail| write(part, mail, &mut bytes));
                }
            }
            bytes
        };
        let own = self.own();
        let (mut heads, mut events) = (Spare::default(), Spare::default());
        for bytes in self.team.exchange((0..self.ends.len()).map(letter).collect()) {
            let mut left = Reader(&bytes);
            while !left.0.is_empty() {
                let part = left.number();
                let mut mail = Mail::default();
                for slice in &mut mail.slices {
                    left.list(&mut slice.heads, &mut heads);
                    left.list(&mut slice.events, &mut events);
                }
                let length = left.number();
                if length > 0 {
                    (mail.messages, mail.announced, mail.words, mail.again) = peers::read(left.bytes(length));
                }
                if !own.contains(&part) {
                    garbled(format_args!("mail for partition {part}"));
                }
                inboxes.put(part, mail);
            }
        }
    }
}

/// Writes what there is for partition `part`: its number; of every slice packets and events, each list after its
/// length; and the rest, which is rare, after its length in bytes.
fn write(part: usize, mail: &Mail, bytes: &mut Vec<u8>) {
    let Mail { slices, messages, announced, words, again } = mail;
    number(part, bytes);
    const { assert!(SLICES == 8, "readers and writers of mail are of one version") };
    for slice in slices {
        list(&slice.heads, bytes);
        list(&slice.events, bytes);
    }
    let nothing = messages.is_empty() && announced.is_empty() && words.is_empty() && again.is_empty();
    let rest = if nothing { Vec::new() } else { peers::written(&(messages, announced, words, again)) };
    number(rest.len(), bytes);
    bytes.extend_from_slice(&rest);
}

fn number(number: usize, bytes: &mut Vec<u8>) {
    bytes.extend_from_slice(&(number as u32).to_le_bytes());
}

fn list<T: IntoBytes + Immutable>(pages: &Pages<T>, bytes: &mut Vec<u8>) {
    number(pages.len(), bytes);
    bytes.reserve(pages.len() * size_of::<T>());
    pages.pages().for_each(|page| bytes.extend_from_slice(page.as_bytes()));
}

/// What is left of a letter.
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
    use crate::fabric::input_queued::control::{Message, Party};
    use crate::fabric::input_queued::mail::Timed;
    use crate::packet::Packet;

    #[test]
    fn mail_is_read_as_it_was_written() {
        let (mut heads, mut events) = (Spare::default(), Spare::default());
        let mail = |count: u32, heads: &mut Spare<Packet>, events: &mut Spare<Timed>| {
            let mut mail = Mail::default();
            for number in 0..count {
                let slice = &mut mail.slices[number as usize % 3];
                slice.heads.push(Packet { birth: number, size: 7, ..Packet::new(number, 2 * number) }, heads);
                slice.events.push(Timed { at: number + 9, event: Event { target: 3 * number, data: number } }, events);
            }
            if count > 1 {
                let payload = vec![1, count as u16].into();
                mail.messages.push((count, Message { party: Party::Sender, router: 5, port: 6, payload }));
            }
            mail
        };
        let mut bytes = Vec::new();
        let sent: Vec<Mail> = [0, 1, 100].map(|count| mail(count, &mut heads, &mut events)).into();
        sent.iter().zip([4, 6, 7]).for_each(|(mail, part)| write(part, mail, &mut bytes));
        let mut left = Reader(&bytes);
        for (mail, part) in sent.iter().zip([4, 6, 7]) {
            assert_eq!(left.number(), part);
            let mut again = Mail::default();
            for slice in &mut again.slices {
                left.list(&mut slice.heads, &mut heads);
                left.list(&mut slice.events, &mut events);
            }
            let length = left.number();
            if length > 0 {
                (again.messages, again.announced, again.words, again.again) = peers::read(left.bytes(length));
            }
            assert_eq!(format!("{again:?}"), format!("{mail:?}"));
        }
        assert!(left.0.is_empty());
    }
}
