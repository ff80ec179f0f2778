//! Several rounds of allocation in one tick.
//!
//! After a round, the ports of the winners are busy. Losers ask again in the next round. So does every head whose
//! mechanism decides again because of the grants: it sees the credits and the ports as the round before has left them.
//! State that a mechanism reads once in a tick ([`RouterView::occupancy_before`]) stays. Heads that are looked at in a
//! later round are therefore looked at again in the next tick.
//!
//! [`RouterView::occupancy_before`]: crate::fabric::seams::routing::RouterView::occupancy_before

use crate::engine::{Table, Tick};
use crate::fabric::input_queued::options::kernel::Kernel;
use crate::fabric::input_queued::partition::Partition;
use crate::fabric::seams::allocator::Request;
use crate::fabric::seams::routing::Granted;

/// The latest grant of each of `outputs` outputs.
pub(crate) fn grants(outputs: usize) -> Table<Granted> {
    vec![Granted { at: Tick::MAX, channel: 0, phits: 0 }; outputs].into()
}

impl Partition {
    /// All rounds of this tick after the first, which has left `losers`. Afterwards, `losers` are the losers of the
    /// last round.
    #[cold]
    #[inline(never)]
    pub(crate) fn further_rounds<K: Kernel>(&mut self, requests: &mut Vec<Request>, losers: &mut Vec<Request>) {
        for round in 1..self.setup.settings.choices.rounds {
            requests.clear();
            // A head that can do nothing more in this tick waits, or finds out when it is looked at.
            losers.drain(..).for_each(|loser| self.try_again::<K>(&loser));
            while let Some(queue) = self.agenda.next_again() {
                self.offer::<K>(self.queues[queue].port, queue);
            }
            if !self.agenda.has_queues() {
                break;
            }
            self.tables.round = round;
            self.round::<K>(requests, losers);
        }
        self.tables.round = 0;
    }

    /// The number of this round. With one round in a tick, this is the tick.
    #[inline(always)]
    pub(crate) fn turn<K: Kernel>(&self) -> Tick {
        match K::EXTRAS && self.setup.settings.choices.rounds > 1 {
            // It serves to tell what came before what, and ends with the cycles of a run.
            true => self.now.wrapping_mul(self.setup.settings.choices.rounds).wrapping_add(self.tables.round),
            false => self.now,
        }
    }

    /// Notes a grant, where later rounds of the same tick may want to leave it out.
    #[inline(always)]
    pub(crate) fn note_grant<K: Kernel>(&mut self, output: u32, channel: u32, phits: u32) {
        if K::EXTRAS
            && let Some(latest) = self.tables.granted.get_mut(output as usize)
        {
            *latest = Granted { at: self.now, channel, phits };
        }
    }
}
