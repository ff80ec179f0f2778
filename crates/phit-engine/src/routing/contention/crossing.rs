//! How long heads that are crossing the crossbar are counted.

use super::counters::Counters;
use crate::engine::{NONE, Tick};
use crate::routing::RouterView;
use crate::topology::Hop;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Until when a head that is crossing the crossbar is counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Crossing {
    /// Until its tail has left its queue (the paper's text, section III-B).
    #[default]
    Tail,
    /// Until its tail has left its queue, and the tails of all heads have left that are counted for this output and
    /// began to cross before it. So a packet that is still arriving holds up shorter transfers behind it (FOGSim, and
    /// therefore the paper's figures).
    Fifo,
}

impl Crossing {
    /// Not a choice that must be written down.
    pub(super) fn is_tail(&self) -> bool {
        *self == Self::Tail
    }
}

/// How long heads that are crossing are counted, as a mechanism is compiled for it: [`Alone`] asks for nothing.
pub(super) trait Leave: Send + 'static {
    /// For heads in `counters`.
    fn new(counters: &Counters) -> Self;

    /// The head of a queue begins to cross to the output of `hop`.
    fn began(&mut self, counters: &Counters, at: &RouterView<'_>, from: (u16, u16), hop: Hop);

    /// The tail of a head counted for `thing` has left its queue. Returns how many heads are no longer counted.
    fn ended(&mut self, counters: &Counters, at: &RouterView<'_>, from: (u16, u16), thing: u16) -> u16;
}

/// [`Crossing::Tail`]: every head leaves its counter alone.
pub(super) struct Alone;

impl Leave for Alone {
    fn new(_: &Counters) -> Self {
        Self
    }

    #[inline(always)]
    fn began(&mut self, _: &Counters, _: &RouterView<'_>, _: (u16, u16), _: Hop) {}

    #[inline(always)]
    fn ended(&mut self, _: &Counters, _: &RouterView<'_>, _: (u16, u16), _: u16) -> u16 {
        1
    }
}

/// [`Crossing::Fifo`]: the transfers of counted heads in the order in which they began, a list for each counter.
/// Transfers that begin in one round of allocation are ordered by output.
///
/// A transfer that is over leaves the list. If another began before it, it still counts until that one counts no
/// longer, as one of its followers. So each queue has one transfer in a list at most.
///
/// Ejections are not among them: no decision reads how many heads leave the network.
pub(super) struct InTurn {
    /// By queue.
    transfers: Vec<Transfer>,
    /// By counter, the queue whose transfer is the last of the list; `NONE` if there is none.
    last: Vec<u32>,
}

#[derive(Debug, Clone, Copy)]
struct Transfer {
    /// When it began, tick and round of allocation, and the output that it goes to.
    began: (Tick, u16, u16),
    /// The queue whose transfer comes before it in the list.
    before: u32,
    /// The queue whose transfer comes behind it.
    behind: u32,
    /// Transfers that are over and count as long as it does.
    followers: u16,
    /// It is in a list.
    listed: bool,
}

impl Transfer {
    const NONE: Self = Self { began: (0, 0, 0), before: NONE, behind: NONE, followers: 0, listed: false };
}

impl Leave for InTurn {
    fn new(counters: &Counters) -> Self {
        Self { transfers: vec![Transfer::NONE; counters.queues()], last: vec![NONE; counters.count()] }
    }

    #[inline]
    fn began(&mut self, counters: &Counters, at: &RouterView<'_>, from: (u16, u16), hop: Hop) {
        if let Some(thing) = counters.wanted(at, from.0, from.1) {
            let (last, queue) = (counters.place(at.local, thing), counters.queue(at.local, from.0, from.1));
            insert(&mut self.transfers, &mut self.last[last], queue, (at.now, at.round() as u16, hop.port));
        }
    }

    #[inline]
    fn ended(&mut self, counters: &Counters, at: &RouterView<'_>, from: (u16, u16), thing: u16) -> u16 {
        let (last, queue) = (counters.place(at.local, thing), counters.queue(at.local, from.0, from.1));
        end(&mut self.transfers, &mut self.last[last], queue)
    }
}

/// The transfer from `queue` begins.
#[inline]
fn insert(transfers: &mut [Transfer], last: &mut u32, queue: usize, began: (Tick, u16, u16)) {
    let (mut before, mut behind) = (*last, NONE);
    while before != NONE && transfers[before as usize].began > began {
        behind = before;
        before = transfers[before as usize].before;
    }
    transfers[queue] = Transfer { began, before, behind, followers: 0, listed: true };
    match before {
        NONE => (),
        before => transfers[before as usize].behind = queue as u32,
    }
    match behind {
        NONE => *last = queue as u32,
        behind => transfers[behind as usize].before = queue as u32,
    }
}

/// The transfer from `queue` is over: how many heads count no longer.
#[inline]
fn end(transfers: &mut [Transfer], last: &mut u32, queue: usize) -> u16 {
    let Transfer { before, behind, followers, listed, .. } = transfers[queue];
    if !listed {
        // It has left the network.
        return 1;
    }
    transfers[queue].listed = false;
    match behind {
        NONE => *last = before,
        behind => transfers[behind as usize].before = before,
    }
    match before {
        NONE => 1 + followers,
        before => {
            let before = &mut transfers[before as usize];
            before.behind = behind;
            before.followers += 1 + followers;
            0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The list of one counter, of transfers from some queues.
    struct List {
        transfers: Vec<Transfer>,
        last: u32,
    }

    impl List {
        fn new() -> Self {
            Self { transfers: vec![Transfer::NONE; 10], last: NONE }
        }

        fn begin(&mut self, began: (Tick, u16, u16), queue: usize) {
            insert(&mut self.transfers, &mut self.last, queue, began);
        }

        fn end(&mut self, queue: usize) -> u16 {
            end(&mut self.transfers, &mut self.last, queue)
        }

        /// The queues whose transfers are in it, the first one first.
        fn queues(&self) -> Vec<u32> {
            let before = |queue: &u32| Some(self.transfers[*queue as usize].before).filter(|before| *before != NONE);
            let mut queues: Vec<u32> =
                std::iter::successors(Some(self.last).filter(|last| *last != NONE), before).collect();
            queues.reverse();
            queues
        }
    }

    #[test]
    fn a_long_transfer_holds_up_those_behind_it() {
        let mut list = List::new();
        list.begin((10, 0, 3), 7);
        list.begin((12, 0, 4), 8);
        list.begin((12, 0, 5), 9);
        assert_eq!(list.end(9), 0, "those from 7 and 8 came before");
        // The next head of that queue.
        list.begin((16, 0, 3), 9);
        assert_eq!(list.end(8), 0, "that from 7 came before");
        assert_eq!(list.end(7), 3, "nothing holds these three up");
        assert_eq!(list.end(9), 1);
        assert_eq!(list.end(9), 1, "an ejection stands in no list");
        assert_eq!(list.queues(), [0; 0]);
    }

    #[test]
    fn one_that_is_first_leaves_alone() {
        let mut list = List::new();
        (1..=4).for_each(|queue| list.begin((queue, 0, 0), queue as usize));
        assert_eq!(list.end(3), 0);
        assert_eq!(list.end(1), 1, "that from 3 came behind the one from 2");
        assert_eq!(list.queues(), [2, 4]);
        assert_eq!(list.end(2), 2);
        assert_eq!(list.end(4), 1);
    }

    #[test]
    fn transfers_of_a_later_round_come_after_those_of_an_earlier_one() {
        let mut list = List::new();
        for (round, output) in [(0, 5), (0, 3), (1, 4), (1, 1)] {
            list.begin((2, round, output), output.into());
        }
        assert_eq!(list.queues(), [3, 5, 1, 4]);
    }

    #[test]
    fn transfers_of_one_tick_stand_in_the_order_of_their_outputs() {
        let mut list = List::new();
        for (since, output, queue) in [(1, 9, 0), (2, 5, 1), (2, 3, 2), (2, 4, 3)] {
            list.begin((since, 0, output), queue);
        }
        assert_eq!(list.queues(), [0, 2, 3, 1]);
    }
}
