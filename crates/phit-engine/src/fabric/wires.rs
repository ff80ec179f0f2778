//! Phits on the wire, and the time when they are there.
//!
//! A kernel counts the phits of a flit at its grant, when it already knows the tick at which the flit will start on its
//! link. Behind a buffer, this tick can be long after. [`Wires`] remembers the flits that are not completely on the
//! wire at the tick up to which the network has been run. A snapshot, which is only taken at such a tick, subtracts
//! their remaining phits. So a link is never counted as used for more than it carries, and the cycle loop pays one
//! comparison for a flit.

use crate::bandwidth::Rate;
use crate::engine::{Bytes, Tick};

/// A flit, or control message, that is not completely on the wire at the tick up to which the network has been run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Late {
    /// The kernel's number of the link.
    link: u32,
    /// Its first phit is on the wire from this tick on,
    start: Tick,
    /// or up to this much earlier, in 65536ths of a tick.
    early: u16,
    /// The tick at which the link has carried all of it.
    end: Tick,
    /// Phits.
    phits: u32,
    /// True for a control message.
    control: bool,
}

/// The flits that are not completely on the wire at the tick up to which the network has been run.
#[derive(Debug, Default)]
pub(crate) struct Wires {
    /// The tick up to which the network has been run.
    until: Tick,
    /// In the order of their grants.
    late: Vec<Late>,
}

impl Wires {
    /// From now on the network is run up to tick `until`. No earlier call may have passed that tick.
    pub(crate) fn run_until(&mut self, until: Tick) {
        self.until = until;
        self.late.retain(|late| late.end > until);
    }

    /// A flit of `phits` has been granted, or a control message of `phits` is sent. `link` carries it from tick `start`
    /// to tick `end`.
    #[inline(always)]
    pub(crate) fn note(&mut self, link: u32, (start, end): (Tick, Tick), phits: u32, control: bool) {
        self.note_between(link, (start, 0, end), phits, control);
    }

    /// A flit or control message that starts between two ticks, `early` 65536ths of a tick before `start`. It has left
    /// no later than at `end`.
    #[inline(always)]
    pub(crate) fn note_between(
        &mut self,
        link: u32,
        (start, early, end): (Tick, u16, Tick),
        phits: u32,
        control: bool,
    ) {
        if end > self.until {
            self.keep(Late { link, start, early, end, phits, control });
        }
    }

    #[cold]
    #[inline(never)]
    fn keep(&mut self, late: Late) {
        self.late.push(late);
    }

    /// Calls `see` with each link that has not carried all of its granted phits: the remaining parts of phits, and
    /// whether they belong to a control message. `rate` returns the rate of a link.
    pub(crate) fn to_come(&self, rate: impl Fn(u32) -> Rate, mut see: impl FnMut(u32, u64, bool)) {
        for &Late { link, start, early, phits, control, .. } in &self.late {
            let rate = rate(link);
            let sent = match self.until.checked_sub(start) {
                Some(ticks) => rate.sent(phits, ticks, early),
                None => 0,
            };
            see(link, rate.parts(phits.into()) - sent, control);
        }
    }
}

impl Bytes for Wires {
    fn bytes(&self) -> usize {
        self.late.capacity() * size_of::<Late>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: Rate = Rate { per_phit: 3, per_tick: 2 };

    fn to_come(wires: &Wires) -> Vec<(u32, u64, bool)> {
        let mut found = Vec::new();
        wires.to_come(|_| RATE, |link, parts, control| found.push((link, parts, control)));
        found
    }

    #[test]
    fn what_lies_ahead_is_taken_off_part_by_part() {
        let mut wires = Wires::default();
        wires.run_until(10);
        wires.note(7, (4, 10), 4, false);
        wires.note(7, (10, 16), 4, false);
        wires.note(8, (9, 15), 4, true);
        // The whole second flit, and the remainder of the third after a tick.
        assert_eq!(to_come(&wires), [(7, 12, false), (8, 10, true)]);
        wires.run_until(15);
        assert_eq!(to_come(&wires), [(7, 2, false)]);
        wires.run_until(16);
        assert_eq!(to_come(&wires), []);
    }

    #[test]
    fn flits_that_follow_one_another_between_ticks_take_no_more_than_the_link_carries() {
        const PARTS: u32 = 1 << 16;
        for rate in [RATE, Rate { per_phit: 5, per_tick: 3 }, Rate { per_phit: 7, per_tick: 30 }] {
            for phits in [1, 2, 5] {
                let time = (phits * rate.per_phit as u32 * PARTS).div_ceil(rate.per_tick as u32);
                // Flits one after another, from some time after the start of a cycle.
                let ends = |number: u32| PARTS / 3 + number * time;
                let mut counted = vec![0];
                for until in 1..60 {
                    let mut wires = Wires::default();
                    wires.run_until(until);
                    let mut all = 0;
                    for number in 0..40 {
                        let (start, end) = (ends(number).div_ceil(PARTS), ends(number + 1).div_ceil(PARTS));
                        wires.note_between(0, (start, (start * PARTS - ends(number)) as u16, end), phits, false);
                        all += rate.parts(phits.into());
                    }
                    wires.to_come(|_| rate, |_, parts, _| all -= parts);
                    counted.push(all);
                }
                for (from, before) in counted.iter().enumerate() {
                    for (until, after) in counted.iter().enumerate().skip(from) {
                        let most = rate.capacity((until - from) as u64);
                        assert!(after >= before && after - before <= most, "{rate:?}, {phits}: {from} to {until}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_link_carries_no_more_than_it_can_and_then_idles() {
        // Two phits are six parts, which are all on the wire after three ticks.
        assert_eq!([0, 1, 2, 3, 4].map(|ticks| RATE.sent(2, ticks, 0)), [0, 2, 4, 6, 6]);
    }
}
