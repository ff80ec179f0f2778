//! How long heads that are crossing the crossbar are counted.

use super::counters::Counters;
use crate::engine::Tick;
use crate::routing::RouterView;
use crate::topology::Hop;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Until when a head that is crossing the crossbar is counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Crossing {
    /// Until its tail has left its queue (the paper's text, section III-B).
    #[default]
    Tail,
    /// Until its tail has left its queue, and so have the tails of those that are counted for the same output and began
    /// to cross before it: a packet that is still arriving holds up shorter transfers behind it (FOGSim, and so the
    /// paper's figures).
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

/// [`Crossing::Fifo`]: the transfers of counted heads in the order in which they began, for each counter. Of transfers
/// that begin in one round of allocation those to lower outputs come first.
///
/// Ejections are not among them: no decision reads how many heads leave the network.
pub(super) struct InTurn {
    lists: Vec<VecDeque<Transfer>>,
}

#[derive(Debug, Clone, Copy)]
struct Transfer {
    /// When it began: tick and round of allocation.
    since: (Tick, u32),
    /// The output that it goes to.
    output: u16,
    /// Input port and queue from which it comes.
    from: (u16, u16),
    /// Its tail has left the queue.
    over: bool,
}

impl Leave for InTurn {
    fn new(counters: &Counters) -> Self {
        Self { lists: vec![VecDeque::new(); counters.count()] }
    }

    fn began(&mut self, counters: &Counters, at: &RouterView<'_>, from: (u16, u16), hop: Hop) {
        if let Some(thing) = counters.wanted(at, from.0, from.1) {
            let transfer = Transfer { since: (at.now, at.round()), output: hop.port, from, over: false };
            insert(&mut self.lists[counters.place(at.local, thing)], transfer);
        }
    }

    fn ended(&mut self, counters: &Counters, at: &RouterView<'_>, from: (u16, u16), thing: u16) -> u16 {
        end(&mut self.lists[counters.place(at.local, thing)], from)
    }
}

fn insert(list: &mut VecDeque<Transfer>, transfer: Transfer) {
    let later = |other: &Transfer| other.since == transfer.since && other.output > transfer.output;
    let behind = list.iter().rev().take_while(|other| later(other)).count();
    list.insert(list.len() - behind, transfer);
}

fn end(list: &mut VecDeque<Transfer>, from: (u16, u16)) -> u16 {
    let Some(transfer) = list.iter_mut().find(|transfer| transfer.from == from && !transfer.over) else {
        // It has left the network.
        return 1;
    };
    transfer.over = true;
    let over = list.iter().take_while(|transfer| transfer.over).count();
    list.drain(..over);
    over as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    fn transfer(since: Tick, output: u16, port: u16) -> Transfer {
        Transfer { since: (since, 0), output, from: (port, 0), over: false }
    }

    #[test]
    fn a_long_transfer_holds_up_those_behind_it() {
        let mut list = VecDeque::new();
        // From port 7 since tick 10, from ports 8 and 9 since tick 12.
        for begun in [transfer(10, 3, 7), transfer(12, 4, 8), transfer(12, 5, 9)] {
            insert(&mut list, begun);
        }
        assert_eq!(end(&mut list, (9, 0)), 0, "those from 7 and 8 came before");
        // The next head of that queue.
        insert(&mut list, transfer(16, 3, 9));
        assert_eq!(end(&mut list, (8, 0)), 0, "that from 7 came before");
        assert_eq!(end(&mut list, (7, 0)), 3, "nothing holds these three up");
        assert_eq!(end(&mut list, (9, 0)), 1);
        assert_eq!(end(&mut list, (9, 0)), 1, "an ejection stands in no list");
        assert!(list.is_empty());
    }

    #[test]
    fn transfers_of_a_later_round_come_after_those_of_an_earlier_one() {
        let mut list = VecDeque::new();
        let in_round = |round, output| Transfer { since: (2, round), ..transfer(2, output, output) };
        for begun in [in_round(0, 5), in_round(0, 3), in_round(1, 4), in_round(1, 1)] {
            insert(&mut list, begun);
        }
        let outputs: Vec<u16> = list.iter().map(|transfer| transfer.output).collect();
        assert_eq!(outputs, [3, 5, 1, 4]);
    }

    #[test]
    fn transfers_of_one_tick_stand_in_the_order_of_their_outputs() {
        let mut list = VecDeque::new();
        for begun in [transfer(1, 9, 0), transfer(2, 5, 1), transfer(2, 3, 2), transfer(2, 4, 3)] {
            insert(&mut list, begun);
        }
        let ports: Vec<u16> = list.iter().map(|transfer| transfer.from.0).collect();
        assert_eq!(ports, [0, 2, 3, 1]);
    }
}
