//! Requests of the routing mechanism, and its news besides the heads that it decides about.

use crate::engine::{Bytes, Tick, tables_of};
use crate::fabric::input_queued::post::messages::Message;
use crate::fabric::input_queued::post::notices::Notice;
use crate::fabric::input_queued::state::pauses::Pauses;
use crate::fabric::input_queued::waiting::candidates::{Candidates, Members};
use crate::fabric::seams::routing::{Outgoing, RouterView, Site};

/// Wake-ups and control messages of the routing mechanism, its next period, and routers whose occupancy has changed.
#[derive(Debug)]
pub(crate) struct Signals {
    /// Tick of the next period; the last tick of all if there is none.
    next_period: Tick,
    /// Routers at which the occupancy of some output has changed, if the mechanism wants to know.
    changed: Candidates,
    /// Changed routers that are being visited.
    changing: Members,
    /// Outputs whose watchers are to wake.
    wakes: Vec<u32>,
    /// Messages to be sent.
    outgoing: Vec<Outgoing>,
    /// Messages on their way to this partition's routers, by the index that their events carry.
    messages: Vec<Option<Message>>,
    /// Free places in `messages`.
    free_messages: Vec<u32>,
    /// Notifications that routers send on in this tick.
    notices: Vec<Notice>,
    /// Pauses of links, if buffers pause their senders.
    pauses: Option<Box<Pauses>>,
}

impl Signals {
    /// No signals yet. The mechanism has periods (`periodic`), and is told of changes at `routers` routers. Buffers may
    /// pause their senders.
    pub(crate) fn new(periodic: bool, routers: usize, pauses: Option<Box<Pauses>>) -> Self {
        Self {
            next_period: if periodic { 0 } else { Tick::MAX },
            changed: Candidates::new(routers),
            changing: Members::default(),
            wakes: Vec::new(),
            outgoing: Vec::new(),
            messages: Vec::new(),
            free_messages: Vec::new(),
            notices: Vec::new(),
            pauses,
        }
    }

    /// Tick of the next period.
    #[inline(always)]
    pub(crate) fn next_period(&self) -> Tick {
        self.next_period
    }

    /// True if a period begins in tick `now`; the next one comes `length` ticks later.
    pub(crate) fn begins_period(&mut self, now: Tick, length: Tick) -> bool {
        let begins = now == self.next_period;
        if begins {
            self.next_period += length;
        }
        begins
    }

    /// The occupancy of an output of `router` has changed.
    #[inline(always)]
    pub(crate) fn change(&mut self, router: u32) {
        self.changed.insert(router);
    }

    /// True if there are changes that the mechanism has not been told of.
    #[inline(always)]
    pub(crate) fn has_changes(&self) -> bool {
        !self.changed.is_empty()
    }

    /// Routers with such changes, in order; [`Self::told`] gives the list back.
    pub(crate) fn take_changes(&mut self) -> Members {
        let mut changed = std::mem::take(&mut self.changing);
        self.changed.drain_into(&mut changed);
        changed
    }

    /// The mechanism has been told of `changed`.
    pub(crate) fn told(&mut self, changed: Members) {
        self.changing = changed;
    }

    /// The place at which the mechanism can ask for wake-ups and messages.
    #[inline(always)]
    pub(crate) fn site<'a>(&'a mut self, at: RouterView<'a>) -> Site<'a> {
        Site { at, wakes: &mut self.wakes, outgoing: &mut self.outgoing }
    }

    /// An output whose watchers are to wake.
    #[inline(always)]
    pub(crate) fn pop_wake(&mut self) -> Option<u32> {
        self.wakes.pop()
    }

    /// True if there are messages to be sent.
    #[inline(always)]
    pub(crate) fn has_outgoing(&self) -> bool {
        !self.outgoing.is_empty()
    }

    /// The messages to be sent; [`Self::sent`] gives the empty list back.
    pub(crate) fn take_outgoing(&mut self) -> Vec<Outgoing> {
        std::mem::take(&mut self.outgoing)
    }

    /// The messages have been sent.
    pub(crate) fn sent(&mut self, outgoing: Vec<Outgoing>) {
        self.outgoing = outgoing;
    }

    /// Keeps a message that is on its way; returns its place.
    pub(crate) fn keep(&mut self, message: Message) -> u32 {
        match self.free_messages.pop() {
            Some(place) => {
                self.messages[place as usize] = Some(message);
                place
            }
            None => {
                self.messages.push(Some(message));
                self.messages.len() as u32 - 1
            }
        }
    }

    /// The message at `place` has come.
    pub(crate) fn take_message(&mut self, place: u32) -> Option<Message> {
        let message = self.messages[place as usize].take()?;
        self.free_messages.push(place);
        Some(message)
    }

    /// Keeps the notification in `payload`, which has come to `router`, until all of this tick have come.
    pub(crate) fn keep_notice(&mut self, router: u32, payload: &[u16]) {
        self.notices.push(Notice::of_payload(router, payload));
    }

    /// True if there are notifications to be sent on.
    #[inline(always)]
    pub(crate) fn has_notices(&self) -> bool {
        !self.notices.is_empty()
    }

    /// The notifications to be sent on, in an order that does not depend on execution.
    pub(crate) fn take_notices(&mut self) -> Vec<Notice> {
        let mut notices = std::mem::take(&mut self.notices);
        notices.sort_unstable();
        notices
    }

    /// Pauses of links, if buffers pause their senders.
    pub(crate) fn pauses(&self) -> Option<&Pauses> {
        self.pauses.as_deref()
    }

    /// To note what fills and empties buffers, and the frames.
    pub(crate) fn pauses_mut(&mut self) -> Option<&mut Pauses> {
        self.pauses.as_deref_mut()
    }

    /// True if ports may have to send pause frames.
    #[inline(always)]
    pub(crate) fn pauses_change(&self) -> bool {
        self.pauses.as_ref().is_some_and(|pauses| pauses.has_news())
    }

    /// True if a message is on its way.
    pub(crate) fn has_messages(&self) -> bool {
        self.messages.iter().any(Option::is_some)
    }

    /// Bytes by table.
    pub(crate) fn tables(&self) -> Vec<(&'static str, usize)> {
        let mut tables = tables_of!(self, Self {
            changed, changing, wakes, outgoing, messages, free_messages, notices;
            next_period, pauses
        });
        tables.push(("pauses", self.pauses.as_ref().map_or(0, |pauses| pauses.bytes())));
        tables
    }
}
