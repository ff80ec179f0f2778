//! Counters over a window of time (TPR paper, section III-A).

use crate::engine::Tick;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// The kind of a window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WindowKind {
    /// The last `window` cycles before the one at hand.
    #[default]
    Sliding,
    /// Time is cut into windows of `window` cycles, and the last complete one counts: two numbers per counter in
    /// hardware.
    Tumbling,
}

/// Counters in each of some routers, for events within a window. Each router counts a number of things, numbered from
/// 0.
#[derive(Debug)]
pub(crate) struct Windows {
    per_router: usize,
    /// Ticks.
    length: Tick,
    routers: Vec<Counters>,
}

/// The counters of one router.
#[derive(Debug)]
enum Counters {
    Sliding {
        counts: Vec<u32>,
        /// The counted events, in order of time.
        events: VecDeque<(Tick, u16)>,
    },
    Tumbling {
        /// Number of the window that is being filled.
        window: Tick,
        filling: Vec<u32>,
        complete: Vec<u32>,
    },
}

impl Counters {
    fn new(kind: WindowKind, things: usize) -> Self {
        match kind {
            WindowKind::Sliding => Self::Sliding { counts: vec![0; things], events: VecDeque::new() },
            WindowKind::Tumbling => Self::Tumbling { window: 0, filling: vec![0; things], complete: vec![0; things] },
        }
    }

    /// Forgets what lies outside the window of tick `now`.
    fn advance(&mut self, now: Tick, length: Tick) {
        match self {
            Self::Sliding { counts, events } => {
                while events.front().is_some_and(|&(at, _)| now - at > length) {
                    if let Some((_, thing)) = events.pop_front() {
                        counts[usize::from(thing)] -= 1;
                    }
                }
            }
            Self::Tumbling { window, filling, complete } => {
                let current = now / length;
                if current != *window {
                    std::mem::swap(filling, complete);
                    filling.fill(0);
                    if current != *window + 1 {
                        complete.fill(0);
                    }
                    *window = current;
                }
            }
        }
    }
}

impl Windows {
    /// All zero: `things` counters in each of `routers` routers, over windows of `length` ticks, at least 1.
    pub(crate) fn new(kind: WindowKind, length: Tick, routers: usize, things: usize) -> Self {
        let routers = (0..routers).map(|_| Counters::new(kind, things)).collect();
        Self { per_router: things, length, routers }
    }

    /// Counts `thing` in a router at tick `now`. Ticks never go back.
    #[inline]
    pub(crate) fn count(&mut self, router: usize, thing: usize, now: Tick) {
        let counters = &mut self.routers[router];
        counters.advance(now, self.length);
        match counters {
            Counters::Sliding { counts, events } => {
                counts[thing] += 1;
                events.push_back((now, thing as u16));
            }
            Counters::Tumbling { filling, .. } => filling[thing] += 1,
        }
    }

    /// The counter of `thing` for a decision at tick `now`: events in ticks before it, within its window.
    #[inline]
    pub(crate) fn of(&mut self, router: usize, thing: usize, now: Tick) -> u32 {
        let counters = &mut self.routers[router];
        counters.advance(now, self.length);
        match counters {
            Counters::Sliding { counts, .. } => counts[thing],
            Counters::Tumbling { complete, .. } => complete[thing],
        }
    }

    /// All counters of a router for a decision at tick `now`.
    pub(crate) fn all(&self, router: usize, now: Tick) -> Vec<u32> {
        match &self.routers[router] {
            Counters::Sliding { counts, events } => {
                let mut counts = counts.clone();
                let gone = events.iter().take_while(|&&(at, _)| now - at > self.length);
                gone.for_each(|&(_, thing)| counts[usize::from(thing)] -= 1);
                counts
            }
            Counters::Tumbling { window, filling, complete } => match now / self.length - window {
                0 => complete.clone(),
                1 => filling.clone(),
                _ => vec![0; self.per_router],
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The number of events in ticks `from..to`.
    fn recount(events: &[(Tick, usize)], thing: usize, from: Tick, to: Tick) -> u32 {
        events.iter().filter(|&&(at, what)| what == thing && (from..to).contains(&at)).count() as u32
    }

    proptest! {
        #[test]
        fn counters_are_what_a_recount_finds(
            steps in prop::collection::vec((0u32..7, 0usize..3, any::<bool>()), 1..200), length in 1u32..30
        ) {
            let mut sliding = Windows::new(WindowKind::Sliding, length, 2, 3);
            let mut tumbling = Windows::new(WindowKind::Tumbling, length, 2, 3);
            let (mut now, mut events) = (0, Vec::new());
            for (later, thing, ask) in steps {
                now += later;
                if ask {
                    let first = (now / length * length).saturating_sub(length);
                    let slid = recount(&events, thing, now.saturating_sub(length), now + 1);
                    prop_assert_eq!(sliding.all(1, now)[thing], slid);
                    prop_assert_eq!(sliding.of(1, thing, now), slid);
                    let tumbled = recount(&events, thing, first, now / length * length);
                    prop_assert_eq!(tumbling.all(1, now)[thing], tumbled);
                    prop_assert_eq!(tumbling.of(1, thing, now), tumbled);
                } else {
                    sliding.count(1, thing, now);
                    tumbling.count(1, thing, now);
                    events.push((now, thing));
                }
            }
            prop_assert_eq!(sliding.all(0, now), vec![0; 3]);
        }
    }

    #[test]
    fn a_window_of_two_ticks_by_hand() {
        let mut windows = Windows::new(WindowKind::Sliding, 2, 1, 1);
        windows.count(0, 0, 5);
        windows.count(0, 0, 6);
        // A decision in tick 7 sees ticks 5 and 6, one in tick 8 ticks 6 and 7.
        assert_eq!([7, 8, 9].map(|now| windows.of(0, 0, now)), [2, 1, 0]);
        let mut windows = Windows::new(WindowKind::Tumbling, 2, 1, 1);
        windows.count(0, 0, 5);
        windows.count(0, 0, 6);
        assert_eq!(windows.of(0, 0, 7), 1, "ticks 4 and 5");
        assert_eq!([8, 9, 10].map(|now| windows.of(0, 0, now)), [1, 1, 0], "ticks 6 and 7, then nothing");
    }
}
