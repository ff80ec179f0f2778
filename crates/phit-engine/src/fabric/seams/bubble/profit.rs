//! The profit of a route for a new packet, which weighs congestion against dilation (Versaci, section 3.2).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Free slots of the adaptive queue of every direction of a router, in order of direction.
#[derive(Debug, Clone, Copy)]
pub struct Slots<'a> {
    /// Free slots by direction; a direction that leads nowhere (a mesh's edge) has `None`.
    pub free: &'a [Option<u16>],
    /// Slots of each queue.
    pub capacity: u16,
}

impl Slots<'_> {
    /// Fewest used slots of any queue: u* of equation (15).
    #[inline]
    pub fn least_used(&self) -> u16 {
        self.capacity - self.free.iter().flatten().copied().max().unwrap_or(0)
    }

    /// Free slots of the queues in these directions, one bit each, added up.
    #[inline]
    pub fn free_in(&self, directions: u16) -> u32 {
        let (mut free, mut rest) = (0, directions);
        while rest != 0 {
            free += u32::from(self.free[rest.trailing_zeros() as usize].unwrap_or(0));
            rest &= rest - 1;
        }
        free
    }
}

/// Free slots of the adaptive queues of a router, in a byte each, by direction: [`Slots`] for queues of fewer than 128
/// slots. A direction that leads nowhere has none.
#[derive(Debug, Clone, Copy)]
pub struct PackedSlots {
    /// Free slots of the first eight directions, and of the others.
    pub free: [u64; 2],
    /// Slots of each queue.
    pub capacity: u16,
}

/// Directions, as all bits of their bytes in [`PackedSlots`].
#[derive(Debug, Clone, Copy)]
pub struct PackedDirections {
    first: u64,
    rest: u32,
}

/// One in each byte.
const BYTES: u64 = 0x0101_0101_0101_0101;

impl PackedDirections {
    /// These directions, one bit each.
    pub fn new(directions: u16) -> Self {
        let byte = |direction: u32| u64::from(directions >> direction & 1) * 0xff;
        let word = |from: u32, behind: u32| (from..behind).map(|i| byte(i) << (8 * (i - from))).sum::<u64>();
        Self { first: word(0, 8), rest: word(8, 12) as u32 }
    }
}

impl PackedSlots {
    /// The free slots of queues whose used slots are given in a byte each, in all directions that lead somewhere.
    #[inline]
    pub fn new(used: [u64; 2], capacity: u16, somewhere: PackedDirections) -> Self {
        let full = u64::from(capacity) * BYTES;
        let free = [(full - used[0]) & somewhere.first, (full - used[1]) & u64::from(somewhere.rest)];
        Self { free, capacity }
    }

    /// See [`Slots::least_used`].
    #[inline]
    pub fn least_used(&self) -> u16 {
        let greater = |a: u64, b: u64| {
            let is = (((a | (0x80 * BYTES)) - b) >> 7 & BYTES) * 0xff;
            (a & is) | (b & !is)
        };
        let most = greater(self.free[0], self.free[1]);
        let most = greater(most, most >> 32);
        let most = greater(most, most >> 16);
        self.capacity - greater(most, most >> 8) as u8 as u16
    }

    /// See [`Slots::free_in`]. A route has at most one direction in each of its six dimensions.
    #[inline]
    pub fn free_in(&self, directions: PackedDirections) -> u32 {
        let sum = |free: u64| (free.wrapping_mul(BYTES) >> 56) as u32;
        let first = sum(self.free[0] & directions.first);
        match directions.rest {
            0 => first,
            rest => first + sum(self.free[1] & u64::from(rest)),
        }
    }
}

/// The congestion term if some queue of the router is empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum EmptyQueue {
    /// One for routes whose own queues are empty, zero for all others (the paper).
    #[default]
    OwnWay,
    /// One for every route, so that dilation alone decides (the author's simulator).
    EveryWay,
}

/// The profit of a route whose queues have no free slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum FullWay {
    /// The value of the formula (the paper).
    #[default]
    Counted,
    /// Nothing (the author's simulator).
    Worthless,
}

/// The rule by which routes are compared.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Profit {
    /// Weight of the dilation against the congestion.
    pub eta: f64,
    /// See [`EmptyQueue`].
    pub empty_queue: EmptyQueue,
    /// See [`FullWay`].
    pub full_way: FullWay,
}

impl Profit {
    /// Equation (15): u* / u + eta d / d'. The route has `free` free slots on average in its first queues, which have
    /// `capacity` slots. `shortness` is eta divided by the route's dilation.
    #[inline]
    pub fn of(&self, capacity: u16, least_used: u16, free: f64, shortness: f64) -> f64 {
        if free <= 0.0 && self.full_way == FullWay::Worthless {
            return 0.0;
        }
        let used = f64::from(capacity) - free;
        let congestion = match (least_used, self.empty_queue) {
            (0, EmptyQueue::EveryWay) => 1.0,
            (0, EmptyQueue::OwnWay) => f64::from(u8::from(used <= 0.0)),
            (least_used, _) => f64::from(least_used) / used,
        };
        congestion + shortness
    }
}

impl Profit {
    /// True if no route has a larger profit: no congestion term exceeds one, and no route is shorter than the minimal
    /// one.
    #[inline]
    pub fn is_most(&self, profit: f64) -> bool {
        profit >= 1.0 + self.eta
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Rng, Stream};

    fn slots(free: &[Option<u16>]) -> Slots<'_> {
        Slots { free, capacity: 8 }
    }

    fn rule(empty_queue: EmptyQueue, full_way: FullWay) -> Profit {
        Profit { eta: 2.0, empty_queue, full_way }
    }

    #[test]
    fn the_printed_formula_by_hand() {
        let free = [Some(2), Some(6), Some(4), Some(0)];
        let (slots, printed) = (slots(&free), rule(EmptyQueue::OwnWay, FullWay::Counted));
        assert_eq!(slots.least_used(), 2);
        assert_eq!(slots.free_in(0b0101), 6);
        // u = 8 - 6 / 2 = 5, twice as long: 2 / 5 + 2 / 2.
        assert_eq!(printed.of(8, 2, 3.0, 2.0 / 2.0), 0.4 + 1.0);
        // The least used queue itself, minimal: 1 + eta.
        assert_eq!(printed.of(8, 2, 6.0, 2.0), 3.0);
        // Full queues: 2 / 8 + eta; nothing in the author's simulator.
        assert_eq!(printed.of(8, 2, 0.0, 2.0), 2.25);
        assert_eq!(rule(EmptyQueue::OwnWay, FullWay::Worthless).of(8, 2, 0.0, 2.0), 0.0);
    }

    #[test]
    fn packed_slots_say_the_same() {
        let mut rng = Rng::new(1, Stream::Pattern, 0);
        for _ in 0..20_000 {
            let capacity = 1 + rng.below(32) as u16;
            let free: [Option<u16>; 12] =
                std::array::from_fn(|_| (rng.below(5) > 0).then(|| rng.below(u32::from(capacity) + 1) as u16));
            let used = |from: usize, behind: usize| {
                let of = |direction: usize| u64::from(free[direction].map_or(0, |free| capacity - free));
                (from..behind).map(|direction| of(direction) << (8 * (direction - from))).sum::<u64>()
            };
            let somewhere = (0..12).fold(0, |set, direction| set | u16::from(free[direction].is_some()) << direction);
            let packed = PackedSlots::new([used(0, 8), used(8, 12)], capacity, PackedDirections::new(somewhere));
            let slots = Slots { free: &free, capacity };
            assert_eq!(packed.least_used(), slots.least_used(), "{free:?}");
            let directions = (0..6).fold(0, |set, d| set | [0, 1, 2][rng.below(3) as usize] << (2 * d));
            assert_eq!(packed.free_in(PackedDirections::new(directions)), slots.free_in(directions), "{free:?}");
        }
    }

    #[test]
    fn an_empty_queue_makes_the_congestion_term_a_yes_or_no() {
        let free = [Some(8), Some(3), None, Some(8)];
        let slots = slots(&free);
        assert_eq!(slots.least_used(), 0);
        assert_eq!(rule(EmptyQueue::OwnWay, FullWay::Counted).of(8, 0, 8.0, 2.0), 3.0);
        assert_eq!(rule(EmptyQueue::OwnWay, FullWay::Counted).of(8, 0, 3.0, 2.0), 2.0);
        assert_eq!(rule(EmptyQueue::EveryWay, FullWay::Counted).of(8, 0, 3.0, 2.0), 3.0);
        assert_eq!(rule(EmptyQueue::EveryWay, FullWay::Worthless).of(8, 0, 0.0, 2.0), 0.0);
        let rule = rule(EmptyQueue::EveryWay, FullWay::Worthless);
        assert!(rule.is_most(rule.of(8, 0, 3.0, 2.0)) && !rule.is_most(2.9));
    }
}
