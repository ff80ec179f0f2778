//! The agenda: which queues and endpoints are looked at, and when.

use super::candidates::{Candidates, Members};
use crate::engine::{Bytes, Tick, tables_of};

/// Who is looked at next: queues in the next look at the routers, endpoints in this tick.
#[derive(Debug, Default)]
pub(crate) struct Agenda {
    /// Tick of the next look at the candidates: this one until it has taken place.
    next_look: Tick,
    /// Queues to be looked at at the next look.
    candidates: Candidates,
    /// Queues to be looked at in this tick, while those of the next gather; empty in between.
    present: Candidates,
    /// Queues whose heads hold a channel and request the crossbar at the next look, where these stand apart.
    holders: Candidates,
    /// Those that request it in this tick; empty in between.
    holding: Candidates,
    /// Queues that are being looked at.
    looking: Members,
    /// Queues of these to be looked at again in the next tick.
    again: Vec<u32>,
    /// Endpoints that may have something to send in this tick.
    senders: Vec<u32>,
}

impl Agenda {
    /// An empty agenda for so many queues, which are gone through in blocks, or of which those whose heads hold a
    /// channel stand apart.
    pub(crate) fn new(queues: usize, in_blocks: bool, apart: bool) -> Self {
        let if_so = |wanted: bool| Candidates::new(if wanted { queues } else { 0 });
        Self {
            candidates: Candidates::new(queues),
            present: if_so(in_blocks),
            holders: if_so(apart),
            holding: if_so(apart),
            ..Self::default()
        }
    }

    /// Tick of the next look: this one until the look has taken place.
    #[inline(always)]
    pub(crate) fn next_look(&self) -> Tick {
        self.next_look
    }

    /// The next look takes place in tick `at`.
    #[inline(always)]
    pub(crate) fn look_in(&mut self, at: Tick) {
        self.next_look = at;
    }

    /// Queue `queue` is looked at at the next look.
    #[inline(always)]
    pub(crate) fn add(&mut self, queue: u32) {
        self.candidates.insert(queue);
    }

    /// The queues from `first` on whose bits are set are looked at at the next look.
    #[inline(always)]
    pub(crate) fn add_all(&mut self, first: u32, bits: u64) {
        self.candidates.insert_all(first, bits);
    }

    /// The head of `queue` holds a channel: it requests the crossbar at the next look, after other heads have been
    /// looked at.
    #[inline(always)]
    pub(crate) fn add_holder(&mut self, queue: u32) {
        self.holders.insert(queue);
    }

    /// The head of `queue`, which is being looked at, holds a channel: it requests the crossbar in this tick.
    #[inline(always)]
    pub(crate) fn add_holding(&mut self, queue: u32) {
        self.holding.insert(queue);
    }

    /// Queue `queue`, which is being looked at, is to be looked at again in the next tick.
    #[inline(always)]
    pub(crate) fn add_again(&mut self, queue: u32) {
        self.again.push(queue);
    }

    /// Where the allocation of channels lists its winners, which are holders, and its losers, which are looked at
    /// again.
    #[inline(always)]
    pub(crate) fn of_channels(&mut self) -> (&mut Candidates, &mut Vec<u32>) {
        (&mut self.holders, &mut self.again)
    }

    /// Takes out one of the queues that are to be looked at again.
    #[inline(always)]
    pub(crate) fn next_again(&mut self) -> Option<u32> {
        self.again.pop()
    }

    /// True if some queue is looked at at the next look, of those whose heads hold a channel or of the others.
    #[inline(always)]
    pub(crate) fn has_queues(&self) -> bool {
        !self.candidates.is_empty()
    }

    /// True if some head holds a channel and requests the crossbar at the next look.
    #[inline(always)]
    pub(crate) fn has_holders(&self) -> bool {
        !self.holders.is_empty()
    }

    /// True if `queue` is looked at at the next look.
    pub(crate) fn has(&self, queue: u32) -> bool {
        self.candidates.contains(queue) || self.holders.contains(queue)
    }

    /// Takes out all queues, in ascending order. [`Self::looked`] gives their list back.
    #[inline(always)]
    pub(crate) fn take(&mut self) -> Members {
        let mut looking = std::mem::take(&mut self.looking);
        self.candidates.drain_into(&mut looking);
        looking
    }

    /// The queues of `looking` have been looked at.
    #[inline(always)]
    pub(crate) fn looked(&mut self, looking: Members) {
        self.looking = looking;
    }

    /// From now on, queues that are added are those of the next tick; those of this tick are taken out in parts.
    #[inline(always)]
    pub(crate) fn begin_blocks(&mut self) {
        std::mem::swap(&mut self.candidates, &mut self.present);
        std::mem::swap(&mut self.holders, &mut self.holding);
    }

    /// The queues of this tick have been taken out.
    #[inline(always)]
    pub(crate) fn end_blocks(&mut self) {
        self.present.forget();
        self.holding.forget();
    }

    /// The set of this tick's queues, and that of queues whose heads hold a channel.
    #[inline(always)]
    pub(crate) fn present(&mut self, holding: bool) -> &mut Candidates {
        if holding { &mut self.holding } else { &mut self.present }
    }

    /// Endpoint `endpoint` may have something to send in this tick.
    #[inline(always)]
    pub(crate) fn add_sender(&mut self, endpoint: u32) {
        self.senders.push(endpoint);
    }

    /// Takes out one of the endpoints that may have something to send.
    #[inline(always)]
    pub(crate) fn next_sender(&mut self) -> Option<u32> {
        self.senders.pop()
    }

    /// True if some endpoint may have something to send.
    #[inline(always)]
    pub(crate) fn has_senders(&self) -> bool {
        !self.senders.is_empty()
    }

    /// Bytes by table.
    pub(crate) fn tables(&self) -> Vec<(&'static str, usize)> {
        tables_of!(self, Self { candidates, present, holders, holding, looking, again, senders; next_look })
    }
}
