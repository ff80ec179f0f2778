//! The packets of each source at a destination: which have been reserved, and which have come.

use std::collections::VecDeque;

/// The packets of one source at a destination.
#[derive(Debug, Clone)]
pub(super) struct Incoming {
    source: u32,
    /// Packets below this number have been reserved.
    pub(super) reserved: u32,
    /// All packets below this number have come.
    pub(super) complete: u32,
    /// Whether each packet from this number on has come.
    come: VecDeque<bool>,
}

/// A destination.
#[derive(Debug, Clone, Default)]
pub(super) struct Destination {
    /// By source.
    pub(super) sources: Vec<Incoming>,
}

impl Destination {
    /// The packets of `source`.
    pub(super) fn of(&mut self, source: u32) -> &mut Incoming {
        let place = match self.sources.binary_search_by_key(&source, |incoming| incoming.source) {
            Ok(place) => place,
            Err(place) => {
                let none = Incoming { source, reserved: 0, complete: 0, come: VecDeque::new() };
                self.sources.insert(place, none);
                place
            }
        };
        &mut self.sources[place]
    }

    /// True if packet `number` of `source` has been reserved.
    pub(super) fn expects(&self, source: u32, number: u32) -> bool {
        let place = self.sources.binary_search_by_key(&source, |incoming| incoming.source);
        place.is_ok_and(|place| number < self.sources[place].reserved)
    }

    pub(super) fn bytes(&self) -> usize {
        let come = self.sources.iter().map(|incoming| incoming.come.capacity()).sum::<usize>();
        self.sources.capacity() * size_of::<Incoming>() + come
    }
}

impl Incoming {
    /// Packet `number` has come; false if it had come before.
    pub(super) fn received(&mut self, number: u32) -> bool {
        let Some(place) = number.checked_sub(self.complete) else { return false };
        let place = place as usize;
        if self.come.len() <= place {
            self.come.resize(place + 1, false);
        }
        if std::mem::replace(&mut self.come[place], true) {
            return false;
        }
        while self.come.front() == Some(&true) {
            self.come.pop_front();
            self.complete += 1;
        }
        true
    }
}
